/* A result as its renderers see it: pieces in the order of the calls. */
#ifndef FAR_RESULT_INTERNAL_H
#define FAR_RESULT_INTERNAL_H

#include "../base/base_internal.h"

#include <farfield/result.h>

enum { FAR_RESULT_DIMS = 8, FAR_RESULT_DEPTH = 32 };

typedef enum far_piece_kind {
    FAR_PIECE_FACT,
    FAR_PIECE_OPEN,
    FAR_PIECE_OPEN_LIST,
    FAR_PIECE_CLOSE,
    FAR_PIECE_TABLE,
    FAR_PIECE_FIGURE,
    FAR_PIECE_VERDICT,
    FAR_PIECE_HEADING,
    FAR_PIECE_LINE,
    FAR_PIECE_FIELDS,
    FAR_PIECE_ORIGIN
} far_piece_kind;

/* Of facts and cells. */
typedef enum far_value_kind {
    FAR_VALUE_NONE, /* words alone */
    FAR_VALUE_NUMBER,
    FAR_VALUE_COUNT,
    FAR_VALUE_TEXT,
    FAR_VALUE_FLAG,
    FAR_VALUE_NULL,
    FAR_VALUE_ARRAY,
    FAR_VALUE_TEXTS
} far_value_kind;

typedef struct far_value {
    far_value_kind kind;
    double number;
    int64_t count; /* or the flag */
    char *text;    /* or the reason of a null */
    double *numbers;
    int64_t shape[FAR_RESULT_DIMS], total;
    int32_t dims, digits; /* digits 0: the fewest that read back */
    char **texts;         /* total of them */
    char *words;          /* for people; NULL: they do not see it */
} far_value;

typedef struct far_piece {
    far_piece_kind kind;
    int32_t readers;
    char *key, *label; /* or the name of a figure */
    char *text;        /* caption, sentence */
    far_value value;
    far_tone tone;
    far_figure *figure;
    char **keys, **heads, **formats; /* of the columns of a table */
    int64_t cols, cell_count, cell_room;
    far_value *cells;
} far_piece;

struct far_result {
    far_ctx *ctx;
    far_status status;
    int32_t readers;
    char *title;
    far_piece *pieces;
    int64_t count, room;
    int64_t depth; /* of groups that are open */
};

/* FAR_ERR_ARG for NULL, the failure of a call that added something, a group that is open. */
far_status far_result_ready(far_ctx *ctx, const far_result *r);
/* Whether a reader sees the piece. */
bool far_piece_seen(const far_piece *p, int32_t reader);
/* Why there is no number: NULL if there is. */
const char *far_value_reason(const far_value *v);
/* What people see; "-" where there is no number in a table. */
const char *far_cell_words(const far_value *v);

/* ---- the renderers; result.c calls them ---- */

void far_result_put_text(const far_result *r, far_text *t);
void far_result_put_json(const far_result *r, far_text *t);
far_status far_result_page(far_ctx *ctx, const far_result *r, char **out);

#endif
