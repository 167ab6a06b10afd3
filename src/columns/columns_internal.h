/* Columns from the inside, for the rooms that hold them: models and networks. */
#ifndef FAR_COLUMNS_INTERNAL_H
#define FAR_COLUMNS_INTERNAL_H

#include "../data/frame_internal.h"
#include "../data/json_value.h"

#include <farfield/columns.h>

enum { FAR_MOST_STEPS = 256 };

/* A column of the table as one input (a number) or several (a category: one indicator a level). */
typedef struct far_feature {
    char *name;
    far_column_kind kind;
    int64_t first, width; /* the inputs it becomes */
    int64_t level_count;
    char **levels;         /* categories: level_count of them, in byte order */
    double fill;           /* numbers: what a missing value becomes */
    int64_t fill_code;     /* categories: which level it becomes */
    far_notation notation; /* numbers: how they were written, and marked */
    int mark;
    bool ranged;              /* numbers: the next are known; files from before do not have them */
    double low, high, spread; /* of the rows learnt from; spread: standard deviation */
    int64_t knots;            /* numbers with a rank: so many, or 0; then width is 2 */
    double *knot, *rank;      /* ascending values and their ranks, ascending too */
    int64_t steps; /* those whose rank is cut in steps: so many, and width is 1 + steps */
    double *edge;  /* steps + 1 ranks, ascending, where one ends and the next begins */
} far_feature;

/* What far_columns_summary tells of a column. */
typedef struct far_note_of_column {
    char *name;
    int64_t col; /* of the table learnt from */
    far_column_role role;
    far_taken taken;
    far_notation notation;
    char unit[8];
    int64_t levels, missing;
    double low, high;
    bool whole; /* numbers: all of them are */
    int32_t labels;
} far_note_of_column;

/* Input j of a row is (value - centre[j]) / scale[j], and outputs likewise. */
struct far_columns {
    far_ctx *ctx;
    far_feature *features;
    char **inputs;   /* names: info.inputs of them */
    char **targets;  /* info.targets */
    char **classes;  /* info.classes */
    double *scaling; /* input centre, input scale, output centre, output scale */
    char hash[65];   /* "": unknown */
    far_note_of_column *notes;
    int64_t note_count;
    far_columns_info info;
};

static inline double *far_input_centre(const far_columns *c)
{
    return c->scaling;
}

static inline double *far_input_scale(const far_columns *c)
{
    return c->scaling + c->info.inputs;
}

static inline double *far_output_centre(const far_columns *c)
{
    return c->scaling + 2 * c->info.inputs;
}

static inline double *far_output_scale(const far_columns *c)
{
    return c->scaling + 2 * c->info.inputs + c->info.outputs;
}

/* Numbers in all four parts of the scaling. */
static inline int64_t far_scaling_count(const far_columns *c)
{
    return 2 * (c->info.inputs + c->info.outputs);
}

/* ---- columns.c ---- */

/* Nothing yet; far_columns_destroy frees it however far it was filled. */
far_status far_columns_new(far_ctx *ctx, far_columns **out);
/* Columns without names, in their order, scaled by nothing. */
far_status far_columns_unnamed(far_ctx *ctx, int64_t inputs, int64_t outputs, far_columns **out);
far_status far_columns_copy(far_ctx *ctx, const far_columns *c, far_columns **out);
/* The scaling, as the identity. */
far_status far_columns_unscaled(far_columns *c);
/* The names of the inputs, from the features. */
far_status far_columns_name(far_columns *c);
/* The names of the outputs. */
const char *const *far_columns_outputs(const far_columns *c);
/* What a prediction has: one for each class, or for each output. */
int64_t far_columns_predicted(const far_columns *c);

/* The rank of a value: linear between knots, constant beyond them. */
double far_feature_rank(const far_feature *f, double value);
/* Inputs first + 1 to first + width - 1 of a number with a rank: the rank, or its steps. */
void far_feature_set_copies(const far_feature *f, double value, double *copies);
bool far_columns_ranked(const far_columns *c);  /* whether any feature has a rank, */
bool far_columns_stepped(const far_columns *c); /* or has it in steps */

/* Whether an input stands for a category, and how many do. */
bool far_columns_is_category(const far_columns *c, int64_t input);
int64_t far_columns_categories(const far_columns *c);
/* Whether no rows of a table take an input to infinity, being of a category or a rank; how many. */
bool far_columns_is_still(const far_columns *c, int64_t input);
int64_t far_columns_still(const far_columns *c);
/* Rows far along a direction: the ranks that stand still in it are those of the point's numbers. */
void far_columns_follow(const far_columns *c, const double *direction, double *point);

/* ---- columns_encode.c ---- */

/* Rows index[0..count) of frame into out, count x inputs. Directions have no origin: nothing is
 * taken away from them. */
far_status far_columns_apply(far_ctx *ctx, const far_columns *c, const far_frame *frame,
                             const int64_t *index, int64_t count, bool directions, double *out);
/* The rows where rows is not 0 (all without rows), ascending. */
far_status far_row_index(far_ctx *ctx, const far_frame *frame, const unsigned char *rows,
                         int64_t **index, int64_t *count);
far_status far_fail_missing(far_ctx *ctx, const char *column, int64_t row);
far_status far_fail_no_target(far_ctx *ctx, const char *target, int64_t row);

/* ---- columns_choose.c ---- */

/* Refuses a column most of whose cells are numbers (or dates), but not all. */
far_status far_cells_check(far_ctx *ctx, const far_frame *frame, int64_t col, bool target);

/* ---- columns_json.c ---- */

/* Keys of the columns in an object. scaling: with the numbers of the scaling. */
void far_columns_put(far_json_out *w, json_t *object, const far_columns *c, bool scaling);
/* Reads them into new columns, whose inputs and outputs the caller has announced in info (-1: they
 * are as the keys say). scaling: it is there, too; else it is the identity. */
far_status far_columns_take(const far_json *j, bool scaling, far_columns *c);
/* One line of JSON; out->ctx must be set. */
far_status far_columns_print(const far_columns *c, bool scaling, far_text *out);
/* far_columns_take of such a text; label stands for its file in messages. */
far_status far_columns_parse(far_ctx *ctx, const char *label, const char *text, bool scaling,
                             far_columns *c);

/* All of it as JSON text (far_text_free it), and back. FAR_ERR_FORMAT names the place. */
FAR_NODISCARD far_status far_columns_write(far_ctx *ctx, const far_columns *c, char **out);
FAR_NODISCARD far_status far_columns_read(far_ctx *ctx, const char *text, far_columns **out);

/* Whether inputs belong together: the pixels of an image, the values of a series, the tokens of a
 * text. */
typedef enum far_together {
    FAR_APART,
    FAR_TOGETHER,    /* one centre and one scale for all */
    FAR_TOGETHER_RAW /* as they are */
} far_together;
/* By the shape that an architecture begins with. */
FAR_NODISCARD far_status far_arch_together(far_ctx *ctx, const char *arch, far_together *out);

/* The part of far_examples_learn that learns. */
FAR_NODISCARD far_status far_columns_learn(far_ctx *ctx, const far_frame *frame,
                                           const far_columns_opts *opts, far_columns **out);
void far_columns_destroy(far_columns *c); /* NULL is fine */

#endif
