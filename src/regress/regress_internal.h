/* Shared inside src/regress: how columns become numbers, and what a model holds. */
#ifndef FAR_REGRESS_INTERNAL_H
#define FAR_REGRESS_INTERNAL_H

#include "../base/base_internal.h"

#include <farfield/model.h>

/* A column of the table as one input (a number) or several (a word: one indicator a level). */
typedef struct far_feature {
    char *name;
    far_column_kind kind;
    int64_t first, width; /* the inputs it becomes */
    int64_t level_count;
    char **levels;     /* words: level_count of them */
    double fill;       /* numbers: what a gap becomes */
    int64_t fill_code; /* words: which level a gap becomes */
} far_feature;

/* Input j of a row is (value - centre[j]) / scale[j]. */
typedef struct far_encoder {
    far_feature *features;
    int64_t feature_count, width;
    char **input_names; /* width of them: "F1", "kind=red" */
    double *centre, *scale;
    bool impute;
} far_encoder;

struct far_model {
    far_ctx *ctx;
    far_kernel *kernel;
    char *arch; /* canonical */
    far_encoder encoder;
    char **targets;                 /* info.targets of them */
    char **classes;                 /* info.outputs of them; NULL for a regression */
    double *out_centre, *out_scale; /* p */
    double *x, *y;                  /* n x d, n x p, standardised */
    double *alpha, *alpha_low;      /* n x p each; the solution is their sum */
    char data_hash[65];
    far_model_info info;
    far_candidate *candidates; /* their arch texts are owned here */
    int64_t candidate_count;
};

struct far_prediction {
    far_ctx *ctx;
    int64_t rows, outputs;
    double *mean, *std, *probability, *order; /* NULL: not asked for */
};

/* An empty model; far_model_destroy frees it however far it was filled. */
far_status far_model_new(far_ctx *ctx, far_model **out);

/* ---- fit.c ---- */

/* Fills what the model knows about its data (encoder, targets, classes, x, y, data_hash) by the
 * target, features, rows, task, standardize and impute of o. */
far_status far_data_learn(far_ctx *ctx, const far_frame *frame, const far_fit_opts *o,
                          bool standardize_targets, far_model *m);

/* ---- encode.c ---- */

/* Learns the encoding of these columns from the chosen rows (count of them, in index). */
far_status far_encoder_learn(far_ctx *ctx, const far_frame *frame, const int64_t *cols,
                             int64_t col_count, const int64_t *index, int64_t count,
                             bool standardize, bool impute, far_encoder *out);
/* Rows index[0..count) of frame into out, count x width. Columns are found by name. */
far_status far_encoder_apply(far_ctx *ctx, const far_encoder *e, const far_frame *frame,
                             const int64_t *index, int64_t count, double *out);
void far_encoder_clear(far_ctx *ctx, far_encoder *e);
/* Makes input_names from the features. */
far_status far_encoder_name(far_ctx *ctx, far_encoder *e);
/* The rows where rows is not 0 (all without rows), ascending. */
far_status far_row_index(far_ctx *ctx, const far_frame *frame, const unsigned char *rows,
                         int64_t **index, int64_t *count);
/* count texts, all NULL, and the end of them. */
far_status far_texts_alloc(far_ctx *ctx, int64_t count, char ***out);
void far_texts_free(far_ctx *ctx, char **texts, int64_t count);

/* ---- target.c ---- */

/* Fills targets, classes, out_centre, out_scale, y and info.{task, targets, outputs} of the model
 * from the target columns. */
far_status far_targets_learn(far_ctx *ctx, const far_frame *frame, const int64_t *cols,
                             int64_t col_count, const int64_t *index, int64_t count, int32_t task,
                             bool standardize, far_model *m);

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
    int32_t prior;  /* which of the two kernels */
    double seconds; /* spent filling */
} far_kernel_points;
far_symmetric far_kernel_points_matrix(far_kernel_points *p);
/* out = K(a, b), whichever kernel prior says. */
far_status far_prior_eval(far_ctx *ctx, const far_kernel *k, int32_t prior, const far_mat *a,
                          const far_mat *b, far_mat *out);

/* ---- select.c ---- */

/* Chooses m->arch and m->kernel (unless arch is given) and the relative ridge (unless given), on a
 * subset of m->x, m->y; fills m->candidates. */
far_status far_select(far_ctx *ctx, const far_fit_opts *opts, far_model *m, double *ridge,
                      int32_t *ridge_kind);
/* About how long that takes for n rows. */
far_status far_select_seconds(far_ctx *ctx, const far_fit_opts *o, int64_t n, double *seconds);

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

#endif
