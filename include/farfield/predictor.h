/*
 * farfield/predictor.h: whatever was fitted, trained or built, asked in one way.
 *
 *     far_predictor_load      any file that the library writes, and networks of PyTorch
 *     far_predictor_predict   the rows of a table
 *     far_predictor_eval      points; _limit: where they go far out
 *     far_model_gradient      how fast outputs change with inputs
 *     far_predictor_certify   bounded, unbounded or undecided, and by what
 *
 * All of it is in raw units: those of the table's columns.
 */
#ifndef FARFIELD_PREDICTOR_H
#define FARFIELD_PREDICTOR_H

#include <farfield/certify.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum far_predictor_kind {
    FAR_PREDICTOR_INFINITE = 0, /* a network of infinite width */
    FAR_PREDICTOR_FINITE = 1,   /* far_net */
    FAR_PREDICTOR_LINEAR = 2,
    FAR_PREDICTOR_TREES = 3,    /* boosted, by the XGBoost library */
    FAR_PREDICTOR_COMMITTEE = 4 /* the mean of other predictors */
} far_predictor_kind;

typedef struct far_predictor far_predictor; /* opaque, immutable */

/* arch: of a network whose file does not name it; else NULL. FAR_ERR_FORMAT: truncated,
 * damaged, inconsistent, of a newer version, or no predictor at all (said so); far_net_load has
 * more on networks. */
FAR_API FAR_NODISCARD far_status far_predictor_load(far_ctx *ctx, const char *path,
                                                    const char *arch, far_predictor **out);
FAR_API FAR_NODISCARD far_status far_predictor_save(far_ctx *ctx, const far_predictor *p,
                                                    const char *path);
FAR_API void far_predictor_destroy(far_predictor *p); /* NULL is fine */

/* A network as a predictor: it must live as long as that does. */
FAR_API FAR_NODISCARD far_status far_predictor_of_net(far_ctx *ctx, const far_net *net,
                                                      far_predictor **out);

/* A network of infinite width (model.h), fitted to the rows of frame, or with opts->committee the
 * mean of several. Reports progress "choose", "fill", "factor", "solve".
 * FAR_ERR_ARG: no such column, a target that cannot be one. FAR_ERR_VALUE: a missing value (row,
 * column, and what to do). FAR_ERR_SINGULAR: a ridge too small for these data; the message names
 * rows with the same inputs if that is why. FAR_ERR_BUDGET: more memory than allowed. */
FAR_API FAR_NODISCARD far_status far_predictor_fit(far_ctx *ctx, const far_frame *frame,
                                                   const far_fit_opts *opts, far_predictor **out);
/* Ridge linear regression with an intercept on columns scaled to unit variance (constant ones are
 * ignored), the ridge chosen by exact leave-one-out error over a grid, the largest within a
 * millionth of the best. Classes are regressed on their indicators. ridge: NAN to choose; INFINITY:
 * the mean of the targets. */
FAR_API FAR_NODISCARD far_status far_predictor_fit_linear(far_ctx *ctx, const far_frame *frame,
                                                          const far_columns_opts *opts,
                                                          double ridge, far_predictor **out);
/* Boosted trees by the XGBoost C library, opened at run time: the defaults of its versions 2 and 3
 * (which 1.7 is told: FAR_XGBOOST_SETTINGS), rounds rounds, seed; one target. Classes have scores
 * whose softmax are probabilities (multi:softprob; of two classes binary:logistic, the first scored
 * 0).
 * FAR_ERR_BACKEND: the library is not there (the message names the package) or refused, with its
 * own words. */
FAR_API FAR_NODISCARD far_status far_predictor_fit_trees(far_ctx *ctx, const far_frame *frame,
                                                         const far_columns_opts *opts,
                                                         int64_t rounds, uint64_t seed,
                                                         far_predictor **out);
#define FAR_XGBOOST_SETTINGS                                                                       \
    "tree_method=hist, max_bin=256, base_score=mean, max_depth=6, eta=0.3, lambda=1"
/* The library that would be taken: the file of the environment variable FARFIELD_XGBOOST; else
 * PyPI's under VIRTUAL_ENV or beside a python3 on PATH; else the system's. Valid until the next
 * call in this thread, or NULL with the reason in the context's message. */
typedef struct far_xgboost {
    const char *version; /* "1.7.4" */
    const char *file;    /* its path */
} far_xgboost;
FAR_API const far_xgboost *far_xgboost_find(far_ctx *ctx);
/* The mean of count predictors of the same inputs and outputs, which belong to it from then on; on
 * failure they stay the caller's. */
FAR_API FAR_NODISCARD far_status far_predictor_committee(far_ctx *ctx,
                                                         far_predictor *const *members,
                                                         int64_t count, far_predictor **out);

/* What a committee that was fitted as one knows of itself: rows left out of all members, predicted
 * by their mean. NAN: of the other task. */
typedef struct far_committee_info {
    int64_t members;  /* 0: it is no committee */
    int64_t loo_rows; /* 0: it was put together from fitted predictors; nothing below is known */
    double loo_r2, loo_rmse;
    double loo_accuracy, loo_log_loss, loo_brier, loo_ece;
    far_mat width; /* 1 x outputs: FAR_SPREAD_CALIBRATED is the mean of the members' times this,
                      so that 95% of the rows left out lie within 1.96 of it; 1 for classes, and
                      where nothing is known, which is never too narrow if the members' are right.
                      Lives as long as the predictor */
} far_committee_info;

typedef struct far_predictor_info {
    far_predictor_kind kind;
    const char *name; /* of the kind: "infinite", "finite", "linear", "trees", "committee" */
    const char *arch; /* canonical; NULL: it is no network */
    int64_t inputs, outputs;
    int64_t members; /* of a committee; else 1 */
    int64_t rows;    /* that it was fitted to; -1: unknown */
    double ridge;    /* relative to the mean diagonal of what it was added to; NAN: none */
    int32_t sealed;  /* 1: made here, or loaded from a file whose checksum holds */
    const far_columns *columns; /* how a table becomes its inputs and outputs */
    double loo_r2, loo_rmse; /* linear, of numbers: rows predicted from all others, exactly, at this
                                ridge; NAN: of another kind (far_predictor_model), or from a file */
} far_predictor_info;
FAR_API far_predictor_info far_predictor_describe(const far_predictor *p);
/* What is inside, for those who want more of it; NULL if it is of another kind. */
FAR_API const far_model_info *far_predictor_model(const far_predictor *p);
FAR_API const far_net *far_predictor_net(const far_predictor *p);
FAR_API far_committee_info far_predictor_committee_describe(const far_predictor *p);
/* Member i of a committee, from 0, which it belongs to; NULL: there is none. */
FAR_API const far_predictor *far_predictor_member(const far_predictor *p, int64_t i);

/* out (m x outputs) = f(x), x m x inputs. For classes the outputs are scores or logits. */
FAR_API FAR_NODISCARD far_status far_predictor_eval(far_ctx *ctx, const far_predictor *p,
                                                    const far_mat *x, far_mat *out);
/* f_k(t u_i) ~ value[i, k] t^order[i, k] as t grows; where the order is 0 value is the limit (f at
 * the origin, if f does not depend on u_i). */
FAR_API FAR_NODISCARD far_status far_predictor_limit(far_ctx *ctx, const far_predictor *p,
                                                     const far_mat *u, far_mat *value,
                                                     far_mat *order);
/* out[i, k inputs + j] = df_k/dx_j at row i of x: m x (outputs inputs), both in raw units, x as for
 * far_predictor_eval; for classes of the scores or logits. In closed form for networks of infinite
 * width, backwards through finite ones, by members of a committee. Where f has a kink: finite
 * networks take one side. An infinite network with relu has kinks at the rows it was fitted to
 * only, where the mean over all ways to get there counts. The same bits for any number of threads.
 * FAR_ERR_ARG: trees, whose outputs are steps; networks of tokens; linearised networks.
 * FAR_ERR_RANGE: a gradient beyond float64. */
FAR_API FAR_NODISCARD far_status far_model_gradient(far_ctx *ctx, const far_predictor *p,
                                                    const far_mat *x, far_mat *out);
/* Rows of a table, which needs the features (others are ignored). For classes the mean holds scores
 * that sum to 1 (infinite width) or probabilities. FAR_ERR_ARG: an option that this kind does not
 * have, in words. */
FAR_API FAR_NODISCARD far_status far_predictor_predict(far_ctx *ctx, const far_predictor *p,
                                                       const far_frame *frame,
                                                       const far_predict_opts *opts,
                                                       far_prediction **out);

/* ---- why: any kind, asked at other points. x: rows, n x inputs in raw units ---- */

/* How much each feature counts. score: on these rows with targets y (n x outputs, raw; classes: 1
 * for the class of the row): R2, the mean over the outputs, or of classes accuracy. lost (one for
 * each feature; without names, for each input): score less that with the feature's values handed
 * to other rows, the mean over so many permutations. Two features that tell the same can both have
 * 0. Cost: 1 + features x repeats evaluations of n rows. Progress "explain". */
FAR_API FAR_NODISCARD far_status far_predictor_importance(far_ctx *ctx, const far_predictor *p,
                                                          const far_mat *x, const far_mat *y,
                                                          int64_t repeats, uint64_t seed,
                                                          double *score, double *lost);
/* Partial dependence: out (count x outputs) = the mean of f over the rows with the feature set to
 * values[i], a raw number or the index of a category (levels of far_feature_info). */
FAR_API FAR_NODISCARD far_status far_predictor_dependence(far_ctx *ctx, const far_predictor *p,
                                                          const far_mat *x, int64_t feature,
                                                          const double *values, int64_t count,
                                                          far_mat *out);
/* Of each of m points (raw) the nearest rows of x, nearest first, of equal ones the first: rows and
 * distances are m x count. The distance is that of standardised inputs. */
FAR_API FAR_NODISCARD far_status far_predictor_nearest(far_ctx *ctx, const far_predictor *p,
                                                       const far_mat *x, const far_mat *points,
                                                       int64_t count, int64_t *rows,
                                                       double *distances);
/* The rows it was fitted to and their targets, raw: n x inputs, n x outputs. FAR_ERR_ARG: it does
 * not keep them; those of infinite width do. */
FAR_API FAR_NODISCARD far_status far_predictor_rows(far_ctx *ctx, const far_predictor *p,
                                                    far_mat *x, far_mat *y);

/* Progress "search", "bound" and, with categorical columns, "categories". The same bits for any
 * number of threads, unless time runs out. FAR_ERR_ARCH: a linearised network. FAR_ERR_VALUE: a
 * weight that is not finite, or a bound beyond float64. FAR_ERR_BACKEND: the C library's functions
 * are not good enough, or a value that was met lies beyond what was proven: our mistake, and no
 * certificate then. */
FAR_API FAR_NODISCARD far_status far_predictor_certify(far_ctx *ctx, const far_predictor *p,
                                                       const far_certify_opts *opts,
                                                       far_certificate **out);
/* The check of far_certificate_json's text against a predictor (certify.h). */
FAR_API FAR_NODISCARD far_status far_certificate_check(far_ctx *ctx, const far_predictor *p,
                                                       const char *json);

#ifdef __cplusplus
}
#endif
#endif
