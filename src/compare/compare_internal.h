/* Shared by the files of the comparison: its models, its rows, one fit. */
#ifndef FAR_COMPARE_INTERNAL_H
#define FAR_COMPARE_INTERNAL_H

#include "../certify/certificate.h"
#include "../regress/regress_internal.h"

#include <farfield/compare.h>

/* ---- compare_models.c: the list of models ---- */

typedef enum far_rival_kind {
    FAR_RIVAL_NETWORK, /* of infinite width */
    FAR_RIVAL_FINITE,  /* trained */
    FAR_RIVAL_XGBOOST,
    FAR_RIVAL_LINEAR,
    FAR_RIVAL_MEAN,
    FAR_RIVAL_FILE /* fitted elsewhere, and taken as it is */
} far_rival_kind;

typedef struct far_rival {
    far_rival_kind kind;
    char *name; /* as it was given */
    char *arch; /* of a network, "auto" included; else NULL */
    far_predictor *file;
} far_rival;

typedef struct far_rivals {
    far_rival *items;
    int64_t count, networks;
} far_rivals;

/* Zero-initialise; clear also on failure. */
far_status far_rivals_parse(far_ctx *ctx, const char *text, int32_t param, far_rivals *out);
void far_rivals_clear(far_ctx *ctx, far_rivals *r);

/* ---- compare_split.c: which rows, and their inputs ---- */

/* The table as the comparison sees it. */
typedef struct far_arena {
    far_ctx *ctx;
    const far_frame *frame;
    const far_compare_opts *opts;
    int64_t target;
    far_columns *columns;            /* as learnt from the rows in range */
    char *features;                  /* a list of those that every model learns from */
    unsigned char *out;              /* a byte for each row of the frame: 1 out of range */
    int64_t *inside, inside_count;   /* rows in range */
    int64_t *outside, outside_count; /* rows out of range */
    double *y;                       /* for each row of the frame: the target, or its class */
    int64_t classes;                 /* 0: numbers */
    int64_t fold_column, *folds;     /* -1: none; of each row of the frame (-1: unused), or NULL */
    int64_t train_count, seeds;
    bool certify;
} far_arena;

/* Zero-initialise; clear also on failure. */
far_status far_arena_open(far_ctx *ctx, const far_frame *frame, const far_compare_opts *opts,
                          const far_rivals *rivals, far_arena *out);
void far_arena_clear(far_arena *a);
/* How every model learns its columns from those rows. */
far_columns_opts far_arena_columns(const far_arena *a, const unsigned char *rows);

/* One seed's rows. */
typedef struct far_split {
    uint64_t seed;
    unsigned char *train, *test; /* a byte for each row of the frame */
    int64_t *train_rows, *test_rows;
    int64_t n, m;
    double *yt;         /* m: the truth */
    unsigned char *out; /* m: out of range */
} far_split;

/* Zero-initialise; clear also on failure. */
far_status far_split_open(const far_arena *a, uint64_t seed, far_split *out);
void far_split_clear(far_ctx *ctx, far_split *s);

/* ---- compare_fit.c: one model on one split ---- */

/* What is known of a fit over all inputs. Zero-initialise. */
typedef struct far_judgement {
    far_certificate *certificate; /* NULL: it failed, or was not asked for */
    char *reason;                 /* the theorem, or what failed; NULL: not asked for */
    uint64_t seed;
    int64_t output; /* of classes: that whose bound is the worst */
} far_judgement;
void far_judgement_clear(far_ctx *ctx, far_judgement *j);
/* NULL: there is no certificate. */
const far_bound *far_judgement_bound(const far_judgement *j);
/* Running away is worse than not being known, and that than a bound. NULL: not known. */
bool far_bound_is_worse(const far_bound *b, const far_bound *than);

/* Fills run, and the judgement if it is not NULL. A failed fit is FAR_OK with the status in run;
 * what ends the comparison is a status other than that. */
far_status far_rival_fit(const far_arena *a, const far_split *s, const far_rival *r,
                         far_compare_run *run, far_judgement *judgement);
void far_run_clear(far_ctx *ctx, far_compare_run *run);

/* ---- compare_score.c ---- */

/* Of the rows of the split: their probabilities, or means and (if std is not NULL) deviations. */
far_status far_run_score(far_ctx *ctx, const far_split *s, const far_mat *probability,
                         const far_mat *std, far_compare_run *run);
/* The mean of the values that are there; NAN if one is not. */
FAR_SHARED far_compare_average far_average(const double *values, int64_t count);

/* ---- compare.c ---- */

struct far_comparison {
    far_ctx *ctx;
    far_comparison_info info; /* its texts are owned here */
    far_rivals rivals;
    far_columns *columns;
    far_compare_row *rows;
    far_judgement *judgements; /* of each model the worst */
    far_compare_run *runs;     /* models x seeds */
    far_compare_points *points;
};

#endif
