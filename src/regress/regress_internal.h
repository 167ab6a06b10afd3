/* Shared inside src/regress: what a model holds. */
#ifndef FAR_REGRESS_INTERNAL_H
#define FAR_REGRESS_INTERNAL_H

#include "../columns/columns_internal.h"
#include "../score/score_internal.h"
#include "metric.h"

#include <farfield/model.h>
#include <farfield/net.h>

/* Rows that were left out of a fit, in target units or probabilities, whatever rows it keeps. */
typedef struct far_tested {
    int64_t count;
    int64_t *rows;          /* of the table */
    double *mean, *std, *y; /* count x p; std: calibrated; y of classes: indicators */
} far_tested;

typedef struct far_model {
    far_ctx *ctx;
    far_kernel *kernel;
    char *arch; /* canonical */
    far_columns *columns;
    double *x, *y;          /* n x d, n x p, standardised */
    far_metric metric;      /* what was chosen; its map belongs to the model */
    far_metric_facts facts; /* what follows from it */
    double fold_loss; /* of what was chosen, of rows held out; INFINITY: there were no folds */
    double optimism;  /* behind it: leave-one-out squared errors are too small by that factor */
    double *alpha, *alpha_low; /* n x p each; the solution is their sum */
    double *link;              /* classes: far_class_probability's; NULL: an older file has none */
    far_band *interval;        /* p; NULL: an older file has none */
    double *loo;       /* n x p, target units or probabilities, NAN for rows that were not left
                          out; NULL: loaded from a file */
    far_tested tested; /* the same rows with their truth; empty: loaded from a file */
    far_model_info info;
    far_candidate *candidates; /* their arch texts are owned here */
    int64_t candidate_count;
} far_model;

/* An empty model; far_model_destroy frees it however far it was filled. */
far_status far_model_new(far_ctx *ctx, far_model **out);
far_status far_model_fit(far_ctx *ctx, const far_frame *frame, const far_fit_opts *opts,
                         far_model **out);
/* The same behind this metric, whatever the options say of one. */
far_status far_model_fit_behind(far_ctx *ctx, const far_frame *frame, const far_fit_opts *opts,
                                const far_metric *given, far_model **out);
/* The members of the committee that opts ask for: one or more models of the same columns and rows,
 * each to be destroyed, the array to be freed. */
enum { FAR_MOST_MEMBERS = 16 }; /* of a committee that is fitted */
far_status far_models_fit(far_ctx *ctx, const far_frame *frame, const far_fit_opts *opts,
                          far_model ***out, int64_t *count);
void far_model_destroy(far_model *m); /* NULL is fine */
far_model_info far_model_describe(const far_model *m);
/* mean[i] = f(points_i) in target units; points m x d standardised, mean m x p. */
far_status far_model_eval(far_ctx *ctx, const far_model *m, const far_mat *points, far_mat *mean);

/* out[i][k d + j] = df_k/dpoints_ij in target units. */
far_status far_model_slopes(far_ctx *ctx, const far_model *m, const far_mat *points, far_mat *out);

/* A prediction with room for the means; room for one array more. */
far_status far_prediction_create(far_ctx *ctx, int64_t rows, int64_t outputs, far_prediction **out);
far_status far_prediction_room(far_prediction *p, int64_t cols, far_mat *out);
/* The likeliest class of each row, from the probabilities as they are now. */
far_status far_prediction_classes(far_prediction *p);

/* Predictions for the rows of frame, which needs the columns the model was fitted on (in any order;
 * others are ignored). std factors the training matrix again: far_solve_estimate tells what that
 * takes. A finite time needs all eigenpairs: 16 n^2 bytes. */
far_status far_model_predict(far_ctx *ctx, const far_model *m, const far_frame *frame,
                             const far_predict_opts *opts, far_prediction **out);
/* f(t u_i) ~ mean[i] t^order[i] (target units) as t grows; u m x d in standardised inputs. Where
 * the order is 0 mean is the limit; where f does not depend on u_i, f at the origin of the table's
 * columns. */
far_status far_model_limit(far_ctx *ctx, const far_model *m, const far_mat *u, far_mat *mean,
                           far_mat *order);

/* The same for a finite network: for classes the mean holds probabilities (ce: softmax, bce: of
 * both classes, mse: the outputs) and probability the same. Of the options only at_infinity
 * applies. */
far_status far_net_predict(far_ctx *ctx, const far_net *net, const far_frame *frame,
                           const far_predict_opts *opts, far_prediction **out);
/* What a network of these columns tells of each class for a row of scores: probabilities, or
 * without logits the scores themselves. */
void far_net_share(const far_columns *c, const double *scores, double *out);
/* The same of scores that sum to 1: by link (NULL: the nearest probabilities). */
void far_scores_share(const double *link, double floor, const double *scores, int64_t classes,
                      double *out);
/* Probabilities of a prediction whose mean holds scores of classes. link: how they become
 * probabilities, with that floor; NULL: the nearest point of the simplex. */
far_status far_prediction_scores(far_prediction *p, const double *link, double floor);
/* FAR_ERR_FORMAT: truncated, not a model, inconsistent, or of a newer version (said so). */
far_status far_model_load(far_ctx *ctx, const char *path, far_model **out);
far_status far_model_save(far_ctx *ctx, const far_model *m, const char *path);

/* What info repeats of the columns. */
void far_model_summarize(far_model *m);

/* ---- duplicate.c ---- */

typedef struct far_duplicates {
    int64_t rows;      /* whose inputs equal those of an earlier row */
    int64_t conflicts; /* those of them whose targets differ from that row's */
    int64_t first[2];  /* a pair of such rows (a conflicting one if there is one), else -1 */
} far_duplicates;
/* original[i] (may be NULL) is the first row with the inputs of row i. */
far_status far_duplicates_find(far_ctx *ctx, const double *x, int64_t n, int64_t d, const double *y,
                               int64_t p, int64_t *original, far_duplicates *out);

/* ---- points.c: a kernel over points as the solver wants it ---- */

typedef struct far_kernel_points {
    const far_kernel *kernel;
    far_mat x;
    far_kernel_kind kind;
    double seconds; /* spent filling */
} far_kernel_points;
far_symmetric far_kernel_points_matrix(far_kernel_points *p);
/* A matrix whose lower triangle is there already, for several ridges. */
far_symmetric far_stored_matrix(far_mat *k);
/* out = K(a, b), of that kind; b NULL: K(a, a), its lower triangle. */
far_status far_kernel_eval_kind(far_ctx *ctx, const far_kernel *k, far_kernel_kind kind,
                                const far_mat *a, const far_mat *b, far_mat *out);

/* ---- left_out.c ---- */

/* Rows predicted from all others, one at a time; clear also on failure. */
typedef struct far_left_out {
    int64_t count, outputs;
    int64_t *rows;    /* which, ascending */
    double *miss;     /* count x outputs: target less prediction, in the units of y */
    double *variance; /* count: of such a miss, at amplitude one and with the ridge as noise */
    double *fitted;   /* all rows x p, what the fit of all of them misses; NULL: ridge alpha */
} far_left_out;
/* y, alpha n x p with (K + ridge) alpha = y. centred: how many rows the centre of y was learnt
 * from; 0: it was not learnt. At most `most` rows, a random sample, are left out. As many
 * operations as the factor took for all rows, n^2 for each of a sample. */
far_status far_left_out_find(far_ctx *ctx, const far_system *s, const far_mat *y,
                             const far_mat *alpha, int64_t centred, int64_t most,
                             far_left_out *out);
/* The same with beta = (K + ridge)^-1 1 at hand (not read unless centred > 1). */
far_status far_left_out_from(far_ctx *ctx, const far_system *s, const far_mat *y,
                             const far_mat *alpha, const double *beta, int64_t centred,
                             int64_t most, far_left_out *out);
void far_left_out_clear(far_ctx *ctx, far_left_out *l);

/* ---- model_score.c ---- */

/* How many rows the centre of the targets was learnt from: 0 if they were taken as they are. */
int64_t far_model_centred(const far_model *m);
/* The class of each row of y (n x p, indicators less a centre). */
void far_class_labels(const double *y, int64_t n, int64_t p, int64_t *out);
/* Scores of the fit, how sure its predictions are, and m->loo, from the factored system. */
far_status far_model_score(far_ctx *ctx, const far_system *s, far_model *m);
/* The same from rows that were left out. */
far_status far_model_score_rows(far_ctx *ctx, far_left_out *l, far_model *m);
/* R2, a mean over outputs, of a fit that misses y (n x p) by so many times miss. */
double far_fitted_r2(const double *y, const double *miss, double times, int64_t n, int64_t p);

/* ---- select.c ---- */

/* A network that was chosen, its relative ridge and the metric in front of it. */
typedef struct far_pick {
    far_kernel *kernel;
    double ridge;
    far_metric metric;
    double optimism; /* as of far_model */
} far_pick;
typedef struct far_picks {
    far_pick *items;
    int64_t count;
    bool judge; /* rows held out are to judge what is chosen: far_model.fold_loss */
} far_picks;
void far_picks_clear(far_ctx *ctx, far_picks *c);
/* A choice in stages, so that two of them can be compared before either is finished: of m->arch and
 * m->kernel (unless arch is given), the relative ridge (unless given) and m->metric (as opts ask
 * for), on a subset of m->x, m->y. others: the further members of a committee, where opts ask for
 * one (clear them also on failure); NULL: one network, whatever they ask for. */
typedef struct far_choice far_choice;
/* Networks without a metric. rival: with other inputs, which it is to beat, and whose rows at the
 * edge it shares; may be NULL. */
far_status far_choice_open(far_ctx *ctx, const far_fit_opts *opts, far_model *m, far_picks *others,
                           const far_choice *rival, far_choice **out);
/* What the best of them loses; INFINITY: nothing was to be chosen, or all are far behind the
 * rival. */
double far_choice_loss(const far_choice *c);
/* Rows held out judge: metrics, validation, the committee; sets m->fold_loss. */
far_status far_choice_judge(far_choice *c);
/* Whether c predicts rows held out better than other by more than chance, and the edge no worse by
 * more than chance. Both judged, on the same rows of the same table. */
bool far_choice_beats(const far_choice *c, const far_choice *other);
/* m becomes what was chosen; fills m->candidates and others. */
far_status far_choice_take(far_choice *c, double *ridge, far_ridge_kind *ridge_kind);
void far_choice_close(far_choice *c); /* NULL is fine */
/* Whether the network is to be chosen. */
bool far_chooses_network(const far_fit_opts *o);
/* About how long all that takes for n rows. */
double far_select_seconds(far_ctx *ctx, const far_fit_opts *o, far_method method, int64_t n);

/* ---- filter.c: training stopped at a finite time ---- */

typedef struct far_filter {
    far_ctx *ctx;
    double *values, *vectors; /* eigenpairs of K: n, and n x n by columns */
    double *gain;             /* n: what training has made of 1 / (lambda + ridge) by then */
    int64_t n;
} far_filter;
far_status far_filter_create(far_ctx *ctx, const far_model *m, const far_predict_opts *o,
                             far_filter *out);
/* out = V gain V^T b; both n x p. */
far_status far_filter_apply(const far_filter *f, const far_mat *b, far_mat *out);
void far_filter_clear(far_filter *f);

/* ---- spread.c ---- */

/* std (points x outputs, target units) at the points. filter: NULL for the end of training. */
far_status far_spread_eval(far_ctx *ctx, const far_model *m, const far_predict_opts *o,
                           const far_filter *filter, const far_mat *points, far_mat *std);

/* variance[i]: the posterior's at points, amplitude one, no noise, were the rows x (of which a
 * factor is made) all that was seen. */
far_status far_posterior_variance(far_ctx *ctx, const far_model *m, const far_mat *x, double memory,
                                  const far_mat *points, double *variance);

far_mat far_model_alpha(const far_model *m); /* n x p */

far_mat
far_model_points(const far_model *m); /* n x d, as the kernel gets them: behind the metric */

/* ---- model_metric.c: what stands between the inputs and the kernel ---- */

/* Fills m->facts from m->metric and m->x. FAR_ERR_FORMAT: it is no metric of these inputs;
 * FAR_ERR_RANGE: a point does not fit a double behind it. */
far_status far_model_take_metric(far_ctx *ctx, far_model *m);
/* How much the fit changes with each input (far_metric_info); once alpha is known. */
far_status far_model_weigh_inputs(far_ctx *ctx, far_model *m);
/* The model without its metric, over the points behind it: f(x) is its value at S x. A view. */
far_model far_model_behind(const far_model *m);
/* *out = S x, a view of x itself where there is no metric; *room is to be freed. */
far_status far_model_map(far_ctx *ctx, const far_model *m, const far_mat *x, double **room,
                         far_mat *out);
/* z = S u over 2^exponent, u a direction: where f(t u) ~ v t^order, v is 2^(exponent order) times
 * that of z. doubt: the part of z that may be rounding. false: all of it may, and f does not depend
 * on u. Without a metric z is u. */
bool far_model_direction(const far_model *m, const double *u, double *z, int *exponent,
                         double *doubt);
/* A ray t direction, in raw units, beside the data as the kernel sees them: t at which it is as far
 * out as a typical training point, and t at which it is nearest to their middle. */
typedef struct far_ray {
    double size, place;
} far_ray;
far_ray far_model_ray(const far_model *m, const double *direction);
/* z := the nearest point to z that is S x for some x; room for d. */
void far_model_project(const far_model *m, double *room, double *z);
/* x = S^+ z: the shortest x that S maps to z. */
void far_model_unmap(const far_model *m, const double *z, double *x);
far_metric_info far_model_metric(const far_model *m);

/* How the table becomes inputs and targets; f in target units is centre + scale * sum_i alpha_i
 * K(x, x_i), x the standardised input (far_columns_scaling). Views live as long as the model. */
far_mat far_model_targets(const far_model *m); /* n x p, standardised */

#endif
