/* Rows of a table as the inputs of a predictor: scaled numbers, one indicator per category. */
#include "columns_internal.h"

#include <math.h>
#include <string.h>

far_status far_row_index(far_ctx *ctx, const far_frame *frame, const unsigned char *rows,
                         int64_t **index, int64_t *count)
{
    int64_t total = far_frame_rows(frame);
    *count = 0;
    far_status st = far_alloc(ctx, total, index);
    for (int64_t i = 0; st == FAR_OK && i < total; i++) {
        if (!rows || rows[i]) {
            (*index)[(*count)++] = i;
        }
    }
    return st;
}

far_status far_fail_missing(far_ctx *ctx, const char *column, int64_t row)
{
    return far_fail(ctx, FAR_ERR_VALUE,
                    "row %lld: column %s has no value; fill the gap, leave the row out, or fit "
                    "with imputation (`impute`)",
                    (long long)row + 1, column);
}

/* Where the inputs of some rows go, and what is taken away from them. */
typedef struct target {
    far_ctx *ctx;
    const far_columns *columns;
    const far_frame *frame;
    const int64_t *index; /* rows of the frame */
    int64_t count;
    bool directions;
    double *out;
} target;

static void put(const target *t, int64_t i, int64_t input, double value)
{
    const far_columns *c = t->columns;
    double centre = t->directions ? 0 : far_input_centre(c)[input];
    t->out[i * c->info.inputs + input] = (value - centre) / far_input_scale(c)[input];
}

static void put_indicator(const target *t, int64_t i, const far_feature *f, int64_t code)
{
    for (int64_t l = 0; l < f->width; l++) {
        put(t, i, f->first + l, l == code);
    }
}

/* ---- a feature ----------------------------------------------------------------------------- */

static far_status encode_numbers(const target *t, const far_feature *f, int64_t col)
{
    const double *column = far_frame_numbers(t->frame, col);
    for (int64_t i = 0; i < t->count; i++) {
        double value = column[t->index[i]];
        if (isnan(value) && !t->columns->info.impute) {
            return far_fail_missing(t->ctx, f->name, t->index[i]);
        }
        put(t, i, f->first, isnan(value) ? f->fill : value);
    }
    return FAR_OK;
}

/* The feature's code of each of the frame's levels, -1 for categories that were not there. */
static far_status match_levels(const target *t, const far_feature *f, int64_t col, int64_t **out)
{
    int64_t levels = far_frame_level_count(t->frame, col), l = 0;
    far_status st = far_alloc(t->ctx, levels, out);
    for (int64_t i = 0; st == FAR_OK && i < levels; i++) { /* both are in byte order */
        const char *text = far_frame_level(t->frame, col, i);
        while (l < f->level_count && strcmp(f->levels[l], text) < 0) {
            l++;
        }
        (*out)[i] = l < f->level_count && strcmp(f->levels[l], text) == 0 ? l : -1;
    }
    return st;
}

static far_status fail_word(far_ctx *ctx, const far_feature *f, const char *word, int64_t row)
{
    far_text t = {.ctx = ctx};
    for (int64_t l = 0; l < f->level_count && l < 8; l++) {
        far_text_add(&t, "%s%s", l ? ", " : "", f->levels[l]);
    }
    far_status st = far_fail(ctx, FAR_ERR_VALUE,
                             "row %lld: column %s is '%.60s', a word the training rows do not have "
                             "(they have %s%s); a model fitted with `impute` takes it as missing",
                             (long long)row + 1, f->name, word, t.data ? t.data : "none",
                             f->level_count > 8 ? ", ..." : "");
    far_free(ctx, t.data);
    return st;
}

static far_status encode_words(const target *t, const far_feature *f, int64_t col)
{
    const int32_t *codes = far_frame_codes(t->frame, col);
    int64_t *match = NULL;
    far_status st = match_levels(t, f, col, &match);
    for (int64_t i = 0; st == FAR_OK && i < t->count; i++) {
        int32_t code = codes[t->index[i]];
        int64_t known = code < 0 ? -1 : match[code];
        if (known < 0 && !t->columns->info.impute) {
            st = code < 0 ? far_fail_missing(t->ctx, f->name, t->index[i])
                          : fail_word(t->ctx, f, far_frame_level(t->frame, col, code), t->index[i]);
        } else {
            put_indicator(t, i, f, known < 0 ? f->fill_code : known);
        }
    }
    far_free(t->ctx, match);
    return st;
}

/* A column without any value reads as numbers: its values are missing, it is not of another kind.
 */
static far_status encode_blank(const target *t, const far_feature *f)
{
    if (!t->columns->info.impute && t->count > 0) {
        return far_fail_missing(t->ctx, f->name, t->index[0]);
    }
    for (int64_t i = 0; i < t->count; i++) {
        if (f->kind == FAR_COLUMN_WORD) {
            put_indicator(t, i, f, f->fill_code);
        } else {
            put(t, i, f->first, f->fill);
        }
    }
    return FAR_OK;
}

static far_status fail_kind(const target *t, const far_feature *f, int64_t col)
{
    if (f->kind == FAR_COLUMN_WORD) {
        return far_fail(t->ctx, FAR_ERR_FORMAT,
                        "column %s holds numbers here, but words in the training data", f->name);
    }
    return far_fail(t->ctx, FAR_ERR_FORMAT,
                    "column %s holds words here ('%.60s'), but numbers in the training data",
                    f->name, far_frame_level(t->frame, col, 0));
}

static far_status encode_feature(const target *t, const far_feature *f)
{
    int64_t col;
    far_status st = far_frame_find(t->ctx, t->frame, f->name, &col);
    if (st != FAR_OK) {
        return st;
    }
    if (far_frame_kind(t->frame, col) != f->kind) {
        bool blank = far_frame_missing(t->frame, col) == far_frame_rows(t->frame);
        return blank ? encode_blank(t, f) : fail_kind(t, f, col);
    }
    return f->kind == FAR_COLUMN_NUMBER ? encode_numbers(t, f, col) : encode_words(t, f, col);
}

/* ---- columns by their places --------------------------------------------------------------- */

static far_status check_places(const target *t)
{
    int64_t cols = far_frame_cols(t->frame), inputs = t->columns->info.inputs;
    if (cols != inputs) {
        return far_fail(t->ctx, FAR_ERR_SHAPE,
                        "the table has %lld column%s, but the network takes %lld input%s and knows "
                        "no names to choose by",
                        (long long)cols, far_plural(cols), (long long)inputs, far_plural(inputs));
    }
    for (int64_t j = 0; j < cols; j++) {
        if (far_frame_kind(t->frame, j) != FAR_COLUMN_NUMBER) {
            return far_fail(t->ctx, FAR_ERR_FORMAT,
                            "column %s holds words; this network knows no words, only numbers",
                            far_frame_name(t->frame, j));
        }
    }
    return FAR_OK;
}

static far_status encode_places(const target *t)
{
    far_status st = check_places(t);
    for (int64_t j = 0; st == FAR_OK && j < t->columns->info.inputs; j++) {
        const double *column = far_frame_numbers(t->frame, j);
        for (int64_t i = 0; i < t->count; i++) {
            if (isnan(column[t->index[i]])) {
                return far_fail(t->ctx, FAR_ERR_VALUE,
                                "row %lld: column %s has no value; fill the gap or leave the row "
                                "out",
                                (long long)t->index[i] + 1, far_frame_name(t->frame, j));
            }
            put(t, i, j, column[t->index[i]]);
        }
    }
    return st;
}

/* ---- rows ---------------------------------------------------------------------------------- */

far_status far_columns_apply(far_ctx *ctx, const far_columns *c, const far_frame *frame,
                             const int64_t *index, int64_t count, bool directions, double *out)
{
    target t = {ctx, c, frame, index, count, directions, out};
    far_status st = c->info.named ? FAR_OK : encode_places(&t);
    for (int64_t j = 0; st == FAR_OK && j < c->info.features; j++) {
        st = encode_feature(&t, &c->features[j]);
    }
    return st;
}

far_status far_columns_encode(far_ctx *ctx, const far_columns *c, const far_frame *frame,
                              const unsigned char *rows, far_mat *out)
{
    far_status st;
    int64_t *index = NULL, count;
    double *points = NULL;
    if (!c || !frame) {
        return far_fail(ctx, FAR_ERR_ARG, "the columns or the frame is NULL");
    }
    int64_t d = c->info.inputs;
    FAR_TRY(far_row_index(ctx, frame, rows, &index, &count));
    FAR_TRY(far_mat_expect(ctx, out, "out", count, d, FAR_F64));
    FAR_TRY(far_alloc(ctx, count * d, &points));
    FAR_TRY(far_columns_apply(ctx, c, frame, index, count, false, points));
    for (int64_t i = 0; i < count; i++) {
        memcpy(far_mat_row(out, i), points + i * d, (size_t)d * sizeof *points);
    }
done:
    far_free(ctx, index);
    far_free(ctx, points);
    return st;
}
