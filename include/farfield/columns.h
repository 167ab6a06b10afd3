/*
 * farfield/columns.h: how a table becomes the numbers of a predictor, and back.
 *
 * Columns are learnt once, from the rows that a predictor is fitted to, and are part of it from
 * then on: features become inputs (numbers standardised, categories one-hot encoded, missing values
 * filled), targets become outputs, and every input, output and class keeps its name.
 */
#ifndef FARFIELD_COLUMNS_H
#define FARFIELD_COLUMNS_H

#include <farfield/frame.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum far_task {
    FAR_TASK_AUTO = 0, /* classify if the target is categorical or the loss is one of classes, else
                          regress; of columns that were learnt: no target is known */
    FAR_TASK_REGRESS = 1,
    FAR_TASK_CLASSIFY = 2 /* one target */
} far_task;

typedef enum far_loss {
    FAR_LOSS_NONE = -1, /* not trained by gradient descent: the exact fit of a kernel */
    FAR_LOSS_MSE = 0,   /* mean over rows and outputs of (f - y)^2 */
    FAR_LOSS_BCE = 1,   /* of logits, y in [0, 1]; mean over rows and outputs */
    FAR_LOSS_CE = 2     /* softmax over the outputs (of each position); y n x outputs, rows sum to
                           1 (or n x 1, n x positions: classes from 0 on); mean over rows and
                           positions */
} far_loss;

typedef enum far_standardize {
    FAR_STANDARDIZE_BOTH = 0,   /* inputs and (regression) targets to mean 0 and variance 1 */
    FAR_STANDARDIZE_INPUTS = 1, /* targets as they are */
    FAR_STANDARDIZE_NONE = 2
} far_standardize;

typedef struct far_columns_opts {
    size_t size;               /* set by far_columns_opts_init */
    const char *target;        /* "RMSD" or "a,b"; NULL: inputs alone */
    const char *features;      /* "F1,F2"; NULL: every column that is no target */
    const unsigned char *rows; /* one byte a row, 0: leave it out; NULL: all rows */
    far_task task;             /* default FAR_TASK_AUTO */
    far_loss loss;             /* default FAR_LOSS_NONE. It decides what classes become: one centred
                                  indicator a class (NONE), one that is 0 or 1 (MSE, CE), one output
                                  for the second of two classes (BCE) */
    far_standardize standardize; /* default FAR_STANDARDIZE_BOTH; targets with FAR_LOSS_NONE and
                                    FAR_LOSS_MSE only */
    int32_t impute;  /* 1: missing values become the median (numbers), the most frequent category */
    int32_t careful; /* 1: of a table that nobody has looked through: useless columns are left out,
                        data that teach nothing refused (see far_examples_learn); default 0 */
    const char *keep; /* columns that are not left out, "id,year"; NULL: none */
    const char *arch; /* of the finite network that is to learn from them. Of one that begins
                         with image or sequence all inputs get one centre and one scale, of one
                         that begins with tokens none; all must be numbers then, and none is
                         left out. NULL (default): each input by itself */
    int32_t ranks;    /* 1: every number column becomes a second input, its rank among the rows
                         learnt from (far_feature_info); 2: the steps of its rank; not with image,
                         sequence or tokens. Default 0 */
} far_columns_opts;

FAR_API void far_columns_opts_init(far_columns_opts *opts);

typedef struct far_columns far_columns; /* opaque, immutable */

/* f_raw(x) = output_centre + output_scale * f((x - input_centre) / input_scale): 1 x inputs and 1 x
 * outputs. */
typedef struct far_scaling {
    far_mat input_centre, input_scale, output_centre, output_scale;
} far_scaling;

typedef struct far_columns_info {
    int64_t features; /* columns that are read */
    int64_t inputs;   /* the numbers they become: one, or one a category */
    int64_t targets;  /* columns that are predicted; 0: unknown */
    int64_t outputs;  /* the numbers they become */
    int64_t classes;  /* 0 for a regression */
    far_task task;
    far_loss loss;
    int32_t impute;
    int32_t named; /* 0: the predictor came without names (a network made elsewhere); it takes the
                      columns of a table in their order, and names are x1, x2, ..., y1, y2, ... */
    int64_t summaries; /* see far_columns_summary; 0: columns from a file */

    /* All of this lives as long as the columns. Inputs are "F1", or "kind=red" for a category; an
     * output is a target, or the class that it is of. */
    const char *const *input_names, *const *output_names;
    const char *const *target_names; /* NULL: unknown */
    const char *const *class_names;  /* NULL for a regression */
    far_scaling scaling;
    const char *hash; /* SHA-256 of the rows and columns learnt from, as far_frame_hash; NULL:
                         unknown */
} far_columns_info;
FAR_API far_columns_info far_columns_describe(const far_columns *c);

/* A column that is read, and the inputs that it becomes: first to first + width - 1. Columns
 * without names (named is 0) have none. A number with a rank becomes two: itself, and "rank(F1)", a
 * monotone function of it that runs from -1.7 to 1.7 as the share of training rows below it runs
 * from 0 to 1, linear between the values learnt from and constant beyond them. With its rank in
 * steps it becomes 1 + N: itself, and "step1(F1)" to "stepN(F1)", of which each rises from 0 to 1
 * while the rank runs through its part of the way. */
typedef struct far_feature_info {
    const char *name; /* NULL: there is no such feature */
    far_column_kind kind;
    int64_t first, width;
    const char *const *levels; /* width categories, one for each input; NULL: a number */
    const char *unit;          /* as unit of far_column_info; "" for categories */
    int32_t ranked;            /* 1: a number with a rank, in steps or not */
    double low, high; /* of numbers: the range of the rows learnt from. NAN: a category, or not
                         known (a file from before ranges were kept) */
} far_feature_info;
FAR_API far_feature_info far_columns_feature(const far_columns *c, int64_t i);
/* Whether a row of a table can be at a raw point: one category of every categorical column is 1 and
 * the others 0, and ranks are those of their numbers; or go along a raw direction, which leaves all
 * of them 0. */
FAR_API int far_columns_is_row(const far_columns *c, const double *point, int direction);
/* Sets the ranks of a raw point to those of its numbers; without ranks it does nothing. */
FAR_API void far_columns_set_ranks(const far_columns *c, double *point);

typedef enum far_column_role {
    FAR_ROLE_FEATURE = 0,
    FAR_ROLE_TARGET = 1,
    FAR_ROLE_LEFT_OUT = 2
} far_column_role;

typedef enum far_taken {
    FAR_TAKEN_NUMBER = 0,
    FAR_TAKEN_CATEGORY = 1,
    FAR_TAKEN_DATE = 2,
    FAR_TAKEN_CONSTANT = 3,
    FAR_TAKEN_IDENTIFIER = 4, /* another value in every row: text, a counter, an id */
    FAR_TAKEN_TEXT = 5,       /* too many categories */
    FAR_TAKEN_EMPTY = 6
} far_taken;

/* What a column was taken for and what was done with it. Texts live as long as the columns. */
typedef struct far_column_summary {
    const char *name;
    far_column_role role;
    far_taken taken;
    const char *taken_name; /* "number" */
    const char *written;    /* of numbers and dates that were not plainly written: "decimal comma",
                               "thousands commas", "day first", "month first"; else NULL */
    const char *unit;       /* as in far_column_info */
    int64_t levels;         /* of categories and text */
    int64_t missing;        /* among the rows learnt from */
    double low, high;       /* of numbers and dates; else NAN */
    int32_t labels; /* a target of a regression that may be classes: so many whole numbers, at
                       most 20, each of five rows or more on average; else 0 */
} far_column_summary;
/* The targets, then the features and the columns that were left out, in the order of the table or
 * list. Known of columns that were learnt, not of those from a file. */
FAR_API far_column_summary far_columns_summary(const far_columns *c, int64_t i);

/* The chosen rows of a table (NULL: all), which needs the features, in any order; others are
 * ignored. out has a row for each of them: inputs, standardised. A category that the rows learnt
 * from do not have is none of them: all its indicators are 0 (far_columns_unseen counts them).
 * FAR_ERR_VALUE: a missing value (filled if impute was set). FAR_ERR_FORMAT: text where numbers
 * were, dates where none were, or the reverse. */
FAR_API FAR_NODISCARD far_status far_columns_encode(far_ctx *ctx, const far_columns *c,
                                                    const far_frame *frame,
                                                    const unsigned char *rows, far_mat *out);
/* Rows with categories that the rows learnt from do not have. */
typedef struct far_unseen {
    int64_t rows;
    int64_t row;        /* the first of them in the table, from 0; -1: none */
    const char *column; /* and there the first such column */
    char category[64];  /* and its value, perhaps shortened */
} far_unseen;
/* counts (one for each chosen row) may be NULL: how many such categories it has. */
FAR_API FAR_NODISCARD far_status far_columns_unseen(far_ctx *ctx, const far_columns *c,
                                                    const far_frame *frame,
                                                    const unsigned char *rows, double *counts,
                                                    far_unseen *out);
/* How far each chosen row lies outside of the range of the rows learnt from: distance gets the
 * largest over the number columns, in standard deviations of that column (of one that was constant,
 * in its own units), 0 inside; input which it is, -1 inside. FAR_ERR_FORMAT: the file of the
 * columns is from before ranges were kept, or they came without names. */
FAR_API FAR_NODISCARD far_status far_columns_outside(far_ctx *ctx, const far_columns *c,
                                                     const far_frame *frame,
                                                     const unsigned char *rows, double *distance,
                                                     int64_t *input);
/* The same for targets: outputs, standardised, classes by their names. target: the columns, NULL:
 * those learnt from. FAR_ERR_ARG: none known and none named. FAR_ERR_SHAPE: not as many as are
 * predicted. FAR_ERR_VALUE: one has no value, or is no known class. */
FAR_API FAR_NODISCARD far_status far_columns_encode_targets(far_ctx *ctx, const far_columns *c,
                                                            const far_frame *frame,
                                                            const unsigned char *rows,
                                                            const char *target, far_mat *out);

/* Columns together with the rows that they were learnt from; to be read, not changed. */
typedef struct far_examples {
    far_ctx *ctx; /* that they were made with */
    far_columns *columns;
    far_mat inputs;  /* n x inputs, float64 */
    far_mat targets; /* n x outputs, float64 */
} far_examples;
/* Learns the columns of the rows that opts->rows chooses, then these rows as inputs and targets.
 * Without a list of features every column that is no target is one. With careful, those are left
 * out that are
 *   - constant, or empty, in the chosen rows;
 *   - categorical with more than 10 levels, and for each of them fewer than 4 of the chosen rows
 *     on average (10 if there are more than 100 levels);
 *   - counters: the rows of the table, more than 10, have the whole numbers from some k on, once
 *     each, in any order (unless all are from 1500 to 2200: years), and there are other features;
 *   - identifiers: the rows, more than 10, have different whole numbers, the last word of the name
 *     is id, idx, index, key, uuid, guid or identifier, and there are other features.
 * Those named in keep, or in categorical of far_frame_opts, stay; far_columns_summary tells.
 * FAR_ERR_ARG: no such column, a target that cannot be one. FAR_ERR_VALUE: a missing value (row,
 * column, and what to do); with careful and a target: fewer than 3 rows, a target or inputs that
 * are the same in all of them. FAR_ERR_FORMAT: most cells of a column are numbers or dates, but not
 * all. Most: more than half of those present, and they have more than 10 distinct values, or at
 * most a tenth of the cells, or a single one, are not. */
FAR_API FAR_NODISCARD far_status far_examples_learn(far_ctx *ctx, const far_frame *frame,
                                                    const far_columns_opts *opts,
                                                    far_examples **out);
FAR_API void far_examples_destroy(far_examples *e); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
