/* Shared by the files that choose a network: what is tried, and how it scores. */
#ifndef FAR_SELECT_H
#define FAR_SELECT_H

#include "metric.h"
#include "regress_internal.h"

typedef struct far_score {
    double loo;        /* leave-one-out squared error over variance */
    double log_loss;   /* classes: of calibrated leave-one-out probabilities; NAN: a regression */
    double likelihood; /* per row and output, each output with an amplitude of its own */
    double doubt;      /* standard error of log_loss, or of loo for a regression */
    double edge;       /* squared error at the edge over the variance there; INFINITY: not known */
    double edge_loss;  /* classes: log loss there; a regression: as edge */
} far_score;

/* The first rows of the subset once more, the outermost apart. */
typedef struct far_edge {
    double *inner_x, *inner_y, *outer_x, *outer_y;
    int64_t inner, outer;
    bool *is_outer; /* which rows of the subset */
} far_edge;

typedef struct far_search {
    far_ctx *ctx;
    const far_fit_opts *opts;
    far_model *model;
    double *x, *y;       /* the subset, in a random order: its first rows are a subset too */
    int64_t taken, rows; /* rows at x, and how many of them the choices are made on */
    int64_t later; /* how many of them validation takes; the best meet once more on all taken */
    int64_t seen;  /* the first of them that a metric was learnt from: left out of no score */
    int64_t least_evals;          /* for progress */
    _Atomic int64_t done, *evals; /* its own, which every view of it counts on */
    far_crew *crew;
    const struct far_search
        *rival;         /* with other inputs, which it is to beat; NULL: there is none */
    double stages[3];   /* the best losses on few rows, on more of them and on all */
    bool hopeless;      /* beside the rival's */
    double fixed_ridge; /* NAN: free */
    double memory;      /* budget in bytes; the machine is asked once */
    far_status status;  /* the first failure inside a callback */
    far_edge edge;
    int64_t *groups, group_count; /* of each input, whose weights are tuned together */
    bool only_tuned;     /* hundreds of inputs: outer products are too dear for what they gain */
    int64_t committee;   /* how many networks are wanted; 0: as many as help */
    int64_t validated;   /* rows that were predicted in validation; 0: there was none */
    double chosen_ridge; /* of the network that the model becomes */
    far_picks *others;   /* and the further members */
} far_search;

/* One of several tasks; s: a view of the search with a context of one thread. */
typedef far_status far_search_job(far_search *s, void *data, int64_t index);
/* Tasks 0 .. count - 1 side by side, each with matrices of so many rows. */
far_status far_search_run(far_search *s, int64_t count, int64_t rows, far_search_job *job,
                          void *data);
/* About what so many scores take. */
double far_scores_seconds(far_ctx *ctx, int64_t rows, int64_t evals);

/* One more evaluation begins. */
far_status far_search_progress(far_search *s);

far_score far_score_worst(void);
double far_score_loss(const far_search *s, far_score v);          /* what is minimised */
far_solve_opts far_score_opts(const far_search *s, double ridge); /* of solving for a score */
/* Leave-one-out and likelihood on the first rows of the subset. A matrix that is singular at this
 * ridge scores worst; that is no failure. */
far_status far_score_evaluate(far_search *s, const far_kernel *k, double ridge, int64_t rows,
                              far_score *out);
/* The kernel matrix of the first rows, to be freed: its lower triangle. */
far_status far_score_gram(far_search *s, const far_kernel *k, int64_t rows, double **out);
/* The same at several ridges, of one kernel matrix. */
far_status far_score_ridges(far_search *s, const far_kernel *k, const double *ridges, int64_t count,
                            int64_t rows, far_score *out);
/* alpha = A^-1 y (n x p) and every row left out of it, without refinement. */
far_status far_score_left_out(const far_search *s, const far_system *system, const far_mat *y,
                              double *alpha, far_left_out *out);
/* Of each of count rows: its squared miss over spread (0: there is none), a mean over p outputs. */
void far_squared_losses(const double *miss, int64_t count, int64_t p, double spread,
                        double *losses);
/* Of each of count rows, truth new_y less new_miss predicted: its log loss, with the probabilities
 * that suit the rows left out of y. */
far_status far_log_losses(const far_search *s, const double *y, const far_left_out *l,
                          const double *new_y, const double *new_miss, int64_t count,
                          double *losses);
double far_mean(const double *values, int64_t count);
/* The mean square of y (m x p) about the means of its columns; about 0 where they are constant. */
double far_target_variance(const double *y, int64_t m, int64_t p);

/* Sets the outermost rows of the subset apart; predicts them from the others. */
far_status far_edge_find(far_search *s);
/* Sets edge and edge_loss of out, the latter also for each row (losses, as many as outer rows);
 * INFINITY: singular. */
far_status far_edge_evaluate(far_search *s, const far_kernel *k, double ridge, double *losses,
                             far_score *out);
/* The mean of a - b (b NULL: 0) over count rows, and its standard error. */
double far_paired_gain(const double *a, const double *b, int64_t count, double *error);
void far_edge_clear(far_ctx *ctx, far_edge *e);

/* ---- select_fold.c ---- */

/* Training rows first, then those held out: x as standardised, y centred on the training rows, z
 * behind the metric. */
typedef struct far_fold {
    int64_t train, held;
    double *x, *y, *z;
    far_metric metric;
} far_fold;

/* The first rows of the subset, each held out once, in their order; or the last ones alone. */
typedef struct far_folds {
    int64_t rows, count;
    int64_t first; /* of the rows held out */
    far_fold *fold;
} far_folds;

/* How a metric is learnt: rounds of that kind and power, each from a fit with its relative ridge.
 */
enum { FAR_MOST_ROUNDS = 5 };
typedef struct far_recipe {
    far_metric_kind kind;
    double power; /* 0: tuned by leave-one-out, in one round */
    int64_t rounds;
    double ridges[FAR_MOST_ROUNDS];
} far_recipe;

/* ---- a network that is tried ---- */

typedef struct far_trial {
    const char *structure; /* %B stands for the bias; NULL: the kernel is given */
    far_kernel *kernel;
    double bias, ridge;
    bool bounded;
    bool dropped; /* after few rows: a rival's */
    far_score score;
    double *edge; /* losses of the rows at the edge; NULL: not looked at */
    /* Behind a metric, and for what is compared with it: */
    far_recipe recipe;   /* rounds 0: none */
    far_kernel *teacher; /* whose gradients it is learnt from; NULL: none */
    far_metric *maps;    /* what each of the folds learnt that judged it; NULL: not kept */
    int64_t map_count;
    double fold_loss;   /* of rows held out; INFINITY: not known */
    double fold_square; /* their squared error over variance */
    double *fold;       /* of the rows of the subset, each in its turn held out; NULL: not known */
    double *fold_miss;  /* by how much they are missed: rows x outputs; NULL as fold */
    /* In validation, of its rows: */
    double *late, *late_miss; /* as fold; NULL: it did not take part, or was not among the best */
    double late_loss, late_ridge;
} far_trial;

void far_trial_clear(far_ctx *ctx, far_trial *t);
void far_trial_forget_maps(far_ctx *ctx, far_trial *t);
/* %B in the structure stands for the bias. */
far_status far_structure_kernel(const far_search *s, const char *structure, double bias,
                                far_kernel **out);
/* The kernel of t with another bias; with its own if it has none to set. */
far_status far_trial_kernel(far_search *s, const far_trial *t, double bias, far_kernel **out);
bool far_trial_eligible(const far_search *s, const far_trial *t);
far_status far_trial_bounded(far_search *s, far_trial *t);

/* ---- select_plain.c ---- */

enum { FAR_PLAIN_TRIALS = 16 };
/* Every structure once, and which of them is chosen. */
far_status far_plain_search(far_search *s, far_trial *trials, int64_t *chosen);
double far_plain_seconds(far_ctx *ctx, int64_t subset, bool free_ridge);
/* The best of the coarse ridges on few rows; then improved on the first rows of the subset. */
far_status far_trial_screen(far_search *s, far_trial *t);
far_status far_trial_refine(far_search *s, far_trial *t, int64_t rows, bool free_bias, int evals);
/* The best of those that are eligible (wanted), or of the others; -1: there is none. */
int64_t far_trial_best(const far_search *s, const far_trial *trials, int64_t count, bool wanted,
                       const bool *taken);

/* The edge behind t's metric, learnt from the inner rows alone; nothing where there is no edge. */
far_status far_edge_behind(far_search *s, far_trial *t);

/* ---- select_metric.c ---- */

enum { FAR_METRIC_TRIALS = 6 };
/* Looks for networks behind metrics of the kinds that are asked for, best first, starting from
 * plain trials. Those of them that are judged get their losses over the same folds. */
far_status far_metric_search(far_search *s, far_trial *plain, int64_t plains, const bool *judged,
                             far_trial out[FAR_METRIC_TRIALS], int64_t *count);

/* The mean squared error of t over the same folds, relative as fold_square is, behind the one map
 * that s->x lies behind. */
far_status far_metric_seen_square(far_search *s, const far_trial *t, double *out);

/* What that takes, in scores of so many rows each. */
double far_metric_evaluations(const far_fit_opts *o, int64_t subset, double *rows);

/* ---- folds ---- */

far_status far_folds_make(const far_search *s, int64_t rows, int64_t count, far_folds *out);
/* One fold: the last of these rows are held out. */
far_status far_folds_last(const far_search *s, int64_t rows, int64_t held, far_folds *out);
/* Takes over the metric, whether it succeeds or not. */
far_status far_fold_behind(const far_search *s, far_metric *metric, far_fold *f);
void far_folds_clear(far_ctx *ctx, far_folds *f);
/* Back to no metric; one more round of a recipe, from a fit with that ridge. */
far_status far_folds_forget(const far_search *s, far_folds *f);
far_status far_folds_learn(const far_search *s, far_folds *f, const far_kernel *k,
                           const far_recipe *r, double ridge);
/* Copies of the folds' maps into t, in place of those it has; and the folds behind them again. */
far_status far_folds_keep(const far_search *s, const far_folds *f, far_trial *t);
far_status far_folds_restore(const far_search *s, far_folds *f, const far_trial *t);
/* The same on any rows. */
far_status far_recipe_learn(const far_search *s, const far_kernel *k, const far_recipe *r,
                            const far_mat *x, const far_mat *y, far_metric *out);
/* Misses (count x rows x outputs) and losses (count x rows), the means of these and mean squared
 * errors over variance at each of count ridges. INFINITY: singular there. */
far_status far_folds_score(far_search *s, const far_folds *f, const far_kernel *k,
                           const double *ridges, int64_t count, double *misses, double *losses,
                           double *means, double *squares);

/* ---- select_validate.c ---- */

/* How many rows validation would predict; 0: there are not enough beyond the subset. */
int64_t far_validation_rows(const far_search *s);
/* What it takes, in scores of all its rows. */
int64_t far_validation_evaluations(void);
/* Holds it between these: late and what belongs to it are set of the first and of the best. */
far_status far_validate(far_search *s, far_trial *const *trials, int64_t count);

/* ---- select_committee.c ---- */

/* The trials whose mean predicts the rows held out best: first is one of them, the others join one
 * at a time, at most `most` in all; eager: also where they do not help. loss: of their mean, and
 * row by row; INFINITY and NULL: there are no folds. */
far_status far_committee_choose(const far_search *s, const far_trial *trials, int64_t count,
                                int64_t first, int64_t most, bool eager,
                                int64_t members[FAR_MOST_MEMBERS], int64_t *size, double *loss,
                                double **losses);
/* How many rows held out judge: those of validation, or of the folds. */
int64_t far_judged_rows(const far_search *s);

#endif
