/*
 * farfield/compare.h: which model keeps its word out of range, or in cross-validation?
 *
 * The rows where a condition holds are out of range: no model is trained on them. The others are
 * split at random, once for each seed, into rows to train on and rows to test on in range. Or there
 * is no such condition, and folds: each is tested on once, after training on the others. Every
 * model learns the same rows and predicts the same others.
 */
#ifndef FARFIELD_COMPARE_H
#define FARFIELD_COMPARE_H

#include <farfield/predictor.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Models, between semicolons (or commas):
 *   none, ln-first, ln-second, ln-every  infinitely wide networks with two hidden layers of relu:
 *                 without a norm, with a layer norm before the first, the second, each activation
 *   auto          what far_predictor_fit chooses on the training rows
 *   xgboost       boosted trees, far_predictor_fit_trees
 *   linear        far_predictor_fit_linear
 *   mean          the mean of the training rows
 *   net:ARCH      a network of the widths in the text, trained: "net:dense(64) ln relu dense";
 *                 net:ARCH says the same
 *   FILE          a predictor from its file (.far, .safetensors), as it is: it learns nothing here,
 *                 and may have seen the rows that it is tested on
 *   any other     an architecture, "dense(64) ln gelu dense"
 * auto is not among the default ones: of a few thousand rows it takes as long as ten networks.
 */
#define FAR_COMPARE_MODELS "none;ln-first;ln-second;ln-every;xgboost;linear;mean"
#define FAR_COMPARE_SEEDS 5          /* by default, up to so many training rows; beyond, one */
#define FAR_COMPARE_SEEDS_ROWS 10000 /* (with one seed there are no intervals) */

typedef struct far_compare_run far_compare_run;
/* What opts.done is called with, from the calling thread. */
typedef void (*far_compare_fn)(void *user, const char *model, const far_compare_run *run);

typedef struct far_compare_opts {
    size_t size;             /* set by far_compare_opts_init */
    const far_fit_opts *fit; /* how networks are fitted: one target; rows are those to use at all;
                                seed is the first seed. arch and extremes do not count. features,
                                impute and task hold for every model */
    const char *shift;       /* out of range: where it holds (far_frame_where). It must not look at
                                the target. Where it compares a missing value it does not hold.
                                NULL with folds */
    int64_t folds;           /* 2 or more, without a shift: so many folds of shuffled rows, classes
                                in equal parts; default 0 */
    const char *fold_column; /* instead of folds: a column, and every value of it is a fold; no
                                feature; default NULL */
    const char *models;      /* default FAR_COMPARE_MODELS */
    int64_t seeds;           /* default 0: see FAR_COMPARE_SEEDS */
    double test_fraction;    /* of the rows in range; default 0.1. round((1 - test_fraction) rows)
                                are for training */
    int64_t rounds;          /* of boosting; default 100 */
    int64_t epochs;          /* that finite networks train; default 1000 */
    int32_t certify;         /* 1 (default): verdicts on all of R^d, on the fits of every seed; not
                                with folds */
    double certify_seconds;  /* as far_certify_opts.seconds, for each model, its seeds share it;
                                default 2. The bounds, and they alone, may change with it */
    far_compare_fn done;     /* told of every fit when it is over; may be NULL */
    void *done_user;
} far_compare_opts;

FAR_API void far_compare_opts_init(far_compare_opts *opts);

typedef struct far_compare_plan {
    int64_t rows_in, rows_out;     /* in and out of range */
    int64_t train_rows, test_rows; /* of rows_in, for each seed */
    int64_t models, networks;      /* networks: how many of the models are */
    int64_t seeds;
    far_estimate each; /* one network's system */
    double seconds;    /* everything, roughly */
} far_compare_plan;

/* What a comparison would take; it refuses what far_comparison_create does. frame NULL: the options
 * that do not depend on the data are validated, and no more: values in range, every model a name, a
 * file or a network with an exact kernel (FAR_ERR_PARSE, FAR_ERR_ARCH with a caret; FAR_ERR_ARG),
 * none twice; out may then be NULL. */
FAR_API FAR_NODISCARD far_status far_compare_estimate(far_ctx *ctx, const far_frame *frame,
                                                      const far_compare_opts *opts,
                                                      far_compare_plan *out);

typedef struct far_comparison far_comparison; /* opaque, immutable */

/* Fits every model for every seed. A model that fails does not stop the others: its run has the
 * status and the message. Progress as for far_predictor_fit, far_predictor_certify and
 * far_predictor_fit_trees. FAR_ERR_ARG: the shift holds for no row or for all, looks at the target,
 * or leaves less than two rows to train on; a target that is not one column of numbers.
 * FAR_ERR_PARSE: the shift does not parse. FAR_ERR_VALUE: a missing value (row, column, and what to
 * do), or a word that the training rows of a seed do not have. */
FAR_API FAR_NODISCARD far_status far_comparison_create(far_ctx *ctx, const far_frame *frame,
                                                       const far_compare_opts *opts,
                                                       far_comparison **out);
FAR_API void far_comparison_destroy(far_comparison *c); /* NULL is fine */

/* What was predicted for one seed: rows of the frame (from 0) in ascending order. */
typedef struct far_compare_points {
    int64_t count;
    const int64_t *rows;
    const unsigned char *out; /* 1: out of range */
    const double *truth;
} far_compare_points;

typedef struct far_comparison_info {
    const char *target, *shift; /* shift NULL: folds. These, columns and points live as long as the
                                   comparison */
    int64_t classes;            /* 0: numbers are compared */
    int64_t rows_in, rows_out, train_rows, test_rows;
    int64_t models, networks, seeds;
    uint64_t first_seed;
    double largest_in, largest_out; /* |truth|: in the rows in range, in those out of range */
    int64_t best; /* the model with the largest mean r2_out, with folds r2_in, of classes
                     the least log loss there; -1: none has one */
    double seconds;
    const far_columns *columns; /* that all models learn from, as learnt from the rows in range */
    const far_compare_points *points; /* what was predicted, for each seed */
} far_comparison_info;
FAR_API far_comparison_info far_comparison_describe(const far_comparison *c);

/* Scores beside R^2 and RMSE; NAN where a model has none. */
typedef enum far_compare_score {
    FAR_COMPARE_NLL = 0,      /* numbers: far_regression_score, of models with a spread, in folds */
    FAR_COMPARE_COVERAGE = 1, /* of 95% intervals; the same */
    FAR_COMPARE_ACCURACY = 2, /* classes: far_class_score */
    FAR_COMPARE_LOG_LOSS = 3,
    FAR_COMPARE_BRIER = 4,
    FAR_COMPARE_ECE = 5
} far_compare_score;
#define FAR_COMPARE_SCORES 6

/* One model and one seed, or fold (seed is then the first seed plus the number of the fold). R^2 is
 * 1 - (sum of squared errors) / (sum of squares about the mean of the very rows that are
 * predicted); NAN for fewer than two rows and for a constant truth. */
struct far_compare_run {
    uint64_t seed;
    far_status status;
    const char *message;    /* what went wrong; NULL: nothing */
    const char *arch;       /* canonical; NULL: no network */
    far_metric_kind metric; /* in front of the network; of a committee of its first member */
    double ridge;           /* relative to the mean diagonal of what it is added to; NAN: none */
    double r2_in, r2_out, rmse_in, rmse_out;
    double max_in, max_out;              /* the largest |prediction| */
    double seconds_fit, seconds_predict; /* of baselines the sum of both, and NAN */
    const double *prediction;            /* for each of the points of its seed: a number, or the
                                            place of the likeliest class; NULL if it failed */
    double in[FAR_COMPARE_SCORES], out[FAR_COMPARE_SCORES];
};

/* The mean over seeds, and the half width of its 95% interval (Student's t); NAN for one seed. */
typedef struct far_compare_average {
    double mean, ci95;
} far_compare_average;

typedef enum far_compare_state {
    FAR_COMPARED_OK = 0,
    FAR_COMPARED_PARTLY = 1, /* some seeds failed: the numbers are those of the others */
    FAR_COMPARED_FAILED = 2,
    FAR_COMPARED_ABSENT = 3 /* the XGBoost library is not there */
} far_compare_state;

/* One model over all seeds. */
typedef struct far_compare_row {
    const char *model; /* as it was named */
    const char *arch;  /* as in the first run that succeeded */
    int32_t network;   /* 1: it is one */
    far_compare_state state;
    const char *state_name; /* "ok", "partial", "failed", "unavailable" */
    const char *message;    /* of the first run that failed; NULL: none did */
    far_compare_average r2_in, r2_out, rmse_in, rmse_out;
    far_compare_average in[FAR_COMPARE_SCORES], out[FAR_COMPARE_SCORES];
    double max_in, max_out;                     /* the largest of all seeds */
    double ridge, seconds_fit, seconds_predict; /* means */
    /* What is known of its predictions over all inputs: the worst of what is known of the fits of
     * its seeds (unbounded, then undecided, then the largest bound), so that it holds for all of
     * them. */
    const far_certificate *certificate; /* NULL: it failed, or was not asked for */
    uint64_t certificate_seed;          /* whose fit that is: the first of them */
    int64_t certificate_output;         /* the worst of its outputs: of classes these are scores */
    const char *reason;                 /* the theorem, or what failed; NULL: not asked for */
    double found; /* bounded: the largest |f| a search met, with any seed; else NAN */
    const far_compare_run *runs; /* for each seed */
} far_compare_row;

/* NULL if there is no such model (counted from 0). */
FAR_API const far_compare_row *far_comparison_row(const far_comparison *c, int64_t model);

#ifdef __cplusplus
}
#endif
#endif
