/*
 * farfield/model.h: the infinite-width network as a regressor or classifier: how it is fitted, what
 * is then known of it, and what a prediction is. far_predictor_fit (predictor.h) makes one.
 *
 * A model holds everything a prediction needs: how columns become inputs (scaling, one-hot words,
 * what fills missing values), the architecture, the training points and alpha = (K + ridge I)^-1 y,
 * so that f(x) = sum_i alpha_i K(S x, S x_i) for the kernel K of the network; S is a linear map
 * that was learnt with it, or (far_metric_info) there is none.
 */
#ifndef FARFIELD_MODEL_H
#define FARFIELD_MODEL_H

#include <farfield/columns.h>
#include <farfield/kernel.h>
#include <farfield/solve.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum far_criterion {
    FAR_CRITERION_LOO = 0,       /* leave-one-out: mean squared error, or log loss of classes */
    FAR_CRITERION_LIKELIHOOD = 1 /* marginal likelihood, the amplitude of each output at its best */
} far_criterion;

/* A linear map in front of the network, learnt from the fitted function's gradients. */
typedef enum far_metric_kind {
    FAR_METRIC_NONE = 0,     /* inputs as they are standardised */
    FAR_METRIC_DIAGONAL = 1, /* a weight for each input */
    FAR_METRIC_FULL = 2,     /* mixtures of inputs */
    FAR_METRIC_AUTO = 3      /* chosen with the network */
} far_metric_kind;

/* Second copies of number columns, as ranks (far_feature_info). */
typedef enum far_ranks {
    FAR_RANKS_NONE = 0,
    FAR_RANKS_ALL = 1,  /* of every number column */
    FAR_RANKS_AUTO = 2, /* where the network is chosen too, from 200 to 20000 rows: none or steps,
                           by rows held out and the edge; else none */
    FAR_RANKS_STEPS = 3 /* of every number column, cut in up to 64 steps, an input each */
} far_ranks;

/* Rows that are the same in inputs and targets as another, while a network is chosen. */
typedef enum far_copies {
    FAR_COPIES_KEEP = 0, /* rows like others: such rows will come again */
    FAR_COPIES_DROP = 1  /* one of each: they will not, and must not vouch for each other */
} far_copies;

/* How (K + ridge I) alpha = y is solved. */
typedef enum far_method {
    FAR_METHOD_AUTO = 0,  /* exact where the memory allows it, else cg (exact is refused without
                             a ridge: far_model_info.method tells) */
    FAR_METHOD_EXACT = 1, /* one factor of the whole matrix: 4 to 8 n^2 bytes */
    FAR_METHOD_CG = 2, /* conjugate gradients on tiles of K, which is not held: the same function,
                          to the tolerance. Needs a ridge */
    FAR_METHOD_NYSTROM = 3 /* the best sum over landmarks: another, smoother function, and a smaller
                              model. Needs a ridge */
} far_method;

typedef struct far_fit_opts {
    size_t size;               /* set by far_fit_opts_init */
    const char *target;        /* "RMSD" or "a,b" */
    const char *features;      /* "F1,F2"; NULL: every column that is no target */
    const unsigned char *rows; /* one byte a row, 0: leave it out; NULL: all rows */
    const char *arch;          /* NULL or "auto": chosen among networks with a bounded kernel */
    far_param param;           /* default FAR_PARAM_NTK */
    far_kernel_kind kernel;    /* default FAR_KERNEL_NTK */
    far_task task;             /* default FAR_TASK_AUTO */
    int32_t standardize;       /* 1 (default): inputs and targets to mean 0 and variance 1 */
    int32_t impute; /* 1: missing values become the median, or the most frequent category */
    double ridge;   /* NAN (default): chosen with the criterion */
    far_ridge_kind ridge_kind; /* default FAR_RIDGE_RELATIVE */
    far_criterion criterion;   /* default FAR_CRITERION_LOO */
    int64_t subset;            /* rows that choices are made on; default 2000 */
    uint64_t seed;             /* which rows those are; default 0 */
    far_storage storage;       /* default FAR_STORAGE_AUTO */
    double memory;             /* budget in bytes; 0: what the machine has available */
    int32_t allow_unbounded;   /* 1: auto may choose networks without a bounded kernel; default 0 */
    int32_t extremes;       /* lambda_min, lambda_max, condition: 1: computed, 0: not; 2 (default):
                               up to 2048 rows; above, they would cost more than the fit */
    int32_t careful;        /* as in far_columns_opts; default 0 */
    const char *keep;       /* the same */
    far_metric_kind metric; /* default FAR_METRIC_AUTO: where the network is chosen too, a kind or
                               none, whatever predicts rows held out best; none with the likelihood
                               as criterion */
    far_method method;      /* default FAR_METHOD_AUTO */
    int64_t landmarks; /* rows that precondition cg, or are all that nystrom keeps; 0 (default):
                          2048 (more from 50000 rows on) and 4096, at most a quarter of the rows */
    double tolerance;  /* cg: of |y - (K + ridge I) alpha| / |y|; default 1e-5 */
    far_ranks ranks;   /* default FAR_RANKS_AUTO */
    int64_t committee; /* 1 (default): one network; N: the mean of the best that were tried, at most
                          N; 0: as many as predict rows held out better together, one of more than
                          20000 rows. Needs FAR_CRITERION_LOO */
    far_copies copies; /* default FAR_COPIES_KEEP */
} far_fit_opts;

FAR_API void far_fit_opts_init(far_fit_opts *opts);

/* What far_predictor_fit would take: rows are counted, nothing is computed. */
FAR_API FAR_NODISCARD far_status far_fit_estimate(far_ctx *ctx, const far_frame *frame,
                                                  const far_fit_opts *opts, far_estimate *out);

/* ---- what is in a model: far_predictor_model ---- */

/* One line of the table that "auto" chose from. */
typedef struct far_candidate {
    const char *arch;    /* lives as long as the model */
    double ridge;        /* relative to the mean diagonal */
    double loo_r2;       /* 1 - leave-one-out squared error / variance, on the subset; NAN: behind a
                            metric */
    double loo_log_loss; /* classes: of calibrated leave-one-out probabilities; else NAN */
    double edge_r2;      /* of the outermost tenth of the subset, predicted from the rest; NAN: not
                            looked at, or from a file in which it was not */
    double edge_log_loss;  /* classes: the same in log loss; else NAN */
    double edge_doubt;     /* standard error of edge_r2 (classes: edge_log_loss) less that of the
                              chosen one; NAN as above */
    double log_likelihood; /* per row and output, on the subset */
    int32_t bounded;       /* 0: chosen only with allow_unbounded */
    int32_t chosen;
    /* Behind a metric there is no leave-one-out, whose rows the metric would have seen: folds of
     * the subset judge it, each with a metric learnt from its own training rows. */
    far_metric_kind metric;
    double metric_power;   /* of gradients: 1/2 or 1; 0: tuned by leave-one-out, or none */
    int32_t metric_rounds; /* 0: none */
    double fold_r2;        /* of the rows held out; NAN: classes, not looked at, an older file */
    double fold_log_loss;  /* classes: the same in log loss; else NAN */
    double fold_doubt;     /* standard error of fold_r2 or fold_log_loss less the chosen one's */
} far_candidate;

/* The map S that inputs go through, x to S x, before the network sees them. Views live as long as
 * the model, and have no rows without a metric. */
typedef struct far_metric_info {
    far_metric_kind kind; /* none, diagonal or full */
    int64_t rank;         /* of S; inputs without a metric */
    far_mat map;          /* in standardised inputs. Diagonal: inputs x 1; full: inputs x inputs,
                             symmetric, positive semidefinite */
    far_mat importance;   /* inputs x 1, sum 1: how much the fit changes with each column, half the
                             mean square of what it changes by where the column is taken from
                             another row (over 512 pairs of rows, fewer of many), over the sum of
                             all; inputs of one column share it. All 0: f changes with none */
    far_mat directions;   /* full: rank x inputs, orthonormal, in standardised inputs: what the
                             network looks along, the strongest first */
    far_mat shares;       /* full: rank x 1, sum 1: the part of each of |S|^2 */
    far_mat null;         /* (inputs - rank) x inputs, in raw inputs: f(x + t v) = f(x) for every
                             row v and every t. One entry is 1; where others are not 0, it is so to
                             rounding. All 0: its units are too far apart for doubles */
} far_metric_info;

typedef struct far_model_info {
    int64_t rows;    /* n, training points */
    int64_t inputs;  /* d, after one-hot encoding */
    int64_t outputs; /* p: targets, or classes */
    int64_t targets;
    far_task task;
    far_param param;
    far_kernel_kind kernel;
    int32_t standardize, impute;
    double ridge, ridge_relative, mean_diagonal; /* the ridge itself; relative to the mean of K's
                                                    diagonal, which is the third */
    double lambda_min, lambda_max, condition, log_det;
    double residual;    /* the largest over outputs of |y - (K + ridge I) alpha| / |y| */
    int64_t duplicates; /* rows whose inputs equal those of an earlier row */
    int64_t conflicts;  /* those of them whose targets differ */
    double r2_train;    /* mean over outputs */
    /* Leave-one-out: rows predicted from all others, at this architecture and ridge. Units are
     * those of the targets; NAN: of the other task, or from an older file. Classes are scored with
     * calibrated probabilities. */
    int64_t loo_rows; /* that were left out, one at a time: all of up to 4000, else 2000 */
    int64_t held_out; /* 0; else these rows were not left out one at a time: so many (loo_rows) were
                         predicted by a fit of all others, and that is what all loo_... are of */
    double loo_r2, loo_rmse;
    double loo_accuracy, loo_log_loss, loo_brier, loo_ece;
    double rmse_train, accuracy_train, log_loss_train;
    double temperature; /* of the classes' scores; NAN: a regression, or from an older file */
    int32_t noise_free; /* 1: the ridge was chosen, and is the smallest there is to choose */
    double seconds_choose, seconds_fill, seconds_factor, seconds_solve, seconds_total;
    double bytes; /* of the system that was factored */
    far_storage storage;
    far_method method;     /* never FAR_METHOD_AUTO */
    int64_t trained_rows;  /* rows of the table; nystrom: not `rows`, which are landmarks. Their y
                              are  then (K + ridge I) alpha: the model is the exact fit of those */
    int64_t landmarks;     /* 0: exact */
    double landmarks_miss; /* the share of the trace of K that landmarks do not see */
    int64_t iterations;    /* cg */
    double tolerance;
    int32_t converged;   /* 0: residual is above the tolerance: alpha is not the fit */
    double ridge_raised; /* times the ridge that was chosen, for conjugate gradients to converge; 1:
                            as chosen or given; 0: exact, or from an older file */
    uint64_t seed;       /* that landmarks and rows held out were drawn with */
    int32_t sealed; /* 1: it was fitted here, or loaded from a file whose checksum holds; 0: from an
                       older file, which has none */
    /* What follows lives as long as the model. f in target units is centre + scale * sum_i alpha_i
     * K(S x, S x_i), x the standardised input (scaling of far_columns_info), S the metric. */
    const char *arch;           /* the canonical text */
    const far_columns *columns; /* how the table becomes inputs and targets */
    far_mat x, y;               /* points n x d and targets n x p, standardised */
    far_mat loo; /* n x p: rows as predicted from all others, in target units or as probabilities of
                    classes; NAN in rows that were not left out; empty: from a file */
    far_mat interval; /* outputs x 2, size and noise: FAR_SPREAD_CALIBRATED is size sqrt(variance +
                         noise), of FAR_SPREAD_POSTERIOR's variance, in standardised targets; empty:
                         from an older file */
    const far_candidate *candidates;
    int64_t candidate_count; /* 0: neither network nor ridge was chosen */
    far_metric_info metric;
} far_model_info;

/* ---- predict ---- */

typedef enum far_spread {
    FAR_SPREAD_NONE = 0,
    FAR_SPREAD_CALIBRATED = 1, /* of a new observation: the posterior plus noise, both scaled so
                                  that 95% of the training rows, each predicted from the others, lie
                                  within 1.96 of it (an older file: as FAR_SPREAD_LIKELIHOOD) */
    FAR_SPREAD_POSTERIOR = 2,  /* sqrt(K(x,x) - k (K + ridge)^-1 k), amplitude one, no noise */
    FAR_SPREAD_ENSEMBLE = 3,   /* over trained infinitely wide networks, from their random start */
    FAR_SPREAD_LIKELIHOOD = 4  /* of a new observation, were the data as the Gaussian process
                                  believes: its amplitude at the likelihood's maximum, the ridge as
                                  noise */
} far_spread;

typedef struct far_predict_opts {
    size_t size;               /* set by far_predict_opts_init */
    const unsigned char *rows; /* as in far_fit_opts */
    far_spread spread;         /* default FAR_SPREAD_NONE */
    double time;   /* gradient flow on 1/2 sum (f - y)^2 from f = 0; INFINITY (default): the end */
    int64_t steps; /* > 0: that many steps of gradient descent with rate instead */
    double rate;
    int32_t at_infinity; /* 1: rows are directions; mean is the limit of f(t row) as t grows, or
                            its leading coefficient, order its power of t. Where f does not depend
                            on the direction (a metric) that is f at the origin, of order 0 */
    double memory;
} far_predict_opts;

FAR_API void far_predict_opts_init(far_predict_opts *opts);

/* To be read, not changed. What does not apply, or was not asked for, has no rows. */
typedef struct far_prediction {
    far_ctx *ctx;        /* that it was made with */
    far_mat mean;        /* rows x outputs, in target units; for classes the scores, sum 1 */
    far_mat std;         /* of the same shape, with a spread */
    far_mat probability; /* of the same shape, of classes */
    far_mat order;       /* rows x 1, at infinity */
    int64_t *classes;    /* the likeliest class of each row; NULL for a regression */
} far_prediction;

FAR_API void far_prediction_destroy(far_prediction *p); /* NULL is fine */

/*
 * Model files: a zip with manifest.json and npy arrays, which NumPy opens too. The comment at its
 * end is "sha256:" and the SHA-256 of every byte before the digits: a file that does not match is
 * refused (FAR_ERR_FORMAT). Files of version 1 have none and load (far_model_info.sealed is 0); a
 * program that changes a file on purpose writes the comment anew, or sets "version" to 1 in the
 * manifest.
 */

#ifdef __cplusplus
}
#endif
#endif
