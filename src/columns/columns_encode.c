/* Rows of a table as the inputs of a predictor: scaled numbers, one indicator per category. */
#include "columns_internal.h"

#include <math.h>
#include <stdio.h>
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

far_status far_fail_no_target(far_ctx *ctx, const char *target, int64_t row)
{
    return far_fail(ctx, FAR_ERR_VALUE,
                    "row %lld: the target %s has no value; leave such rows out (`rows` '%s is not "
                    "missing')",
                    (long long)row + 1, target, target);
}

/* Where the inputs of some rows go, and what is taken away from them. */
typedef struct target {
    far_ctx *ctx;
    const far_columns *columns;
    const far_frame *frame;
    const int64_t *index; /* rows of the frame */
    int64_t count;
    bool directions, raw; /* raw: nothing is scaled */
    double *out;
} target;

static void put(const target *t, int64_t i, int64_t input, double value)
{
    const far_columns *c = t->columns;
    double centre = t->directions ? 0 : far_input_centre(c)[input];
    t->out[i * c->info.inputs + input] =
        t->raw ? value : (value - centre) / far_input_scale(c)[input];
}

static void put_indicator(const target *t, int64_t i, const far_feature *f, int64_t code)
{
    for (int64_t l = 0; l < f->width; l++) {
        put(t, i, f->first + l, l == code);
    }
}

/* ---- a feature ----------------------------------------------------------------------------- */

enum { KIND_BYTES = 32 };

/* "dates, day first,", "numbers in %"; plain: of numbers without a mark. */
static const char *kind_name(far_notation notation, int mark, const char *plain,
                             char out[KIND_BYTES])
{
    snprintf(out, KIND_BYTES, "numbers in %s", far_marks[mark]);
    return notation == FAR_NOTATION_DMY   ? "dates, day first,"
           : notation == FAR_NOTATION_MDY ? "dates, month first,"
           : notation == FAR_NOTATION_YMD ? "dates"
           : mark                         ? out
                                          : plain;
}

static far_status fail_kind(const target *t, const far_feature *f, int64_t col)
{
    const far_column *c = &t->frame->columns[col];
    char kind[KIND_BYTES];
    if (f->kind == FAR_COLUMN_WORD) {
        return far_fail(t->ctx, FAR_ERR_FORMAT,
                        "column %s holds %s here, but words in the training data", f->name,
                        kind_name(c->notation, c->mark, "numbers", kind));
    }
    return far_fail(t->ctx, FAR_ERR_FORMAT,
                    "column %s holds words here ('%.60s'), but %s in the training data", f->name,
                    far_frame_level(t->frame, col, 0),
                    kind_name(f->notation, f->mark, "numbers", kind));
}

/* A cell that is no number in a column where most are, or that is one. */
static far_status fail_cell(const target *t, const far_feature *f, int64_t col, int64_t row)
{
    const far_column *c = &t->frame->columns[col];
    if (c->odd == 0 && !c->doubtful) {
        return fail_kind(t, f, col);
    }
    const char *text = far_frame_level(t->frame, col, c->codes[row]);
    if (c->doubtful) {
        bool date = far_notation_is_date(c->notation);
        return far_fail(t->ctx, FAR_ERR_FORMAT,
                        "row %lld: column %s: '%.40s' may be %s, and no other value of the column "
                        "tells; %s",
                        (long long)row + 1, f->name, text,
                        date ? "day first or month first" : "thousands or a decimal comma",
                        date ? "write dates as 2020-01-31" : "write it without the comma");
    }
    return far_fail(t->ctx, FAR_ERR_FORMAT,
                    "row %lld: column %s is '%.40s', no %s; mend it, or call it missing "
                    "(`missing` '%.40s')",
                    (long long)row + 1, f->name, text,
                    far_notation_is_date(f->notation) ? "date" : "number", text);
}

/* Dates are dates in both, in the same order of day and month, and a percentage is one in both. */
static far_status check_unit(const target *t, const far_feature *f, const far_column *c)
{
    bool date = far_notation_is_date(f->notation);
    bool orders = f->notation != c->notation && f->notation > FAR_NOTATION_YMD &&
                  c->notation > FAR_NOTATION_YMD;
    bool blank = c->missing == t->frame->rows;
    bool days = t->directions && c->notation == FAR_NOTATION_NUMBER && c->mark == 0;
    char here[KIND_BYTES], there[KIND_BYTES];
    if (!c->numbers || blank || days ||
        (date == far_notation_is_date(c->notation) && !orders && f->mark == c->mark)) {
        return FAR_OK;
    }
    return far_fail(t->ctx, FAR_ERR_FORMAT, "column %s holds %s here, but %s in the training data",
                    f->name, kind_name(c->notation, c->mark, "plain numbers", here),
                    kind_name(f->notation, f->mark, "plain numbers", there));
}

/* Of the rank: far along a direction it stands still. */
static void put_copies(const target *t, int64_t i, const far_feature *f, double value)
{
    double copies[FAR_MOST_STEPS];
    far_feature_set_copies(f, value, copies);
    for (int64_t l = 0; l < f->width - 1; l++) {
        put(t, i, f->first + 1 + l, t->directions ? 0 : copies[l]);
    }
}

static far_status encode_numbers(const target *t, const far_feature *f, int64_t col)
{
    const far_column *c = &t->frame->columns[col];
    far_status st = check_unit(t, f, c);
    for (int64_t i = 0; st == FAR_OK && i < t->count; i++) {
        int64_t row = t->index[i];
        const char *text =
            c->numbers || c->codes[row] < 0 ? NULL : far_frame_level(t->frame, col, c->codes[row]);
        double value = c->numbers ? c->numbers[row]
                       : text     ? far_notation_value(text, f->notation, f->mark)
                                  : NAN;
        if (isnan(value) && text) {
            return fail_cell(t, f, col, row);
        }
        if (isnan(value) && !t->columns->info.impute) {
            return far_fail_missing(t->ctx, f->name, row);
        }
        value = isnan(value) ? f->fill : value;
        put(t, i, f->first, value);
        if (f->knots > 0) {
            put_copies(t, i, f, value);
        }
    }
    return st;
}

/* ---- categories ---------------------------------------------------------------------------- */

enum { MISSING = -1, UNSEEN = -2 };

/* The feature's code of each of the frame's levels. */
static far_status match_levels(const target *t, const far_feature *f, int64_t col, int64_t **out)
{
    int64_t levels = far_frame_column(t->frame, col).level_count, l = 0;
    far_status st = far_alloc(t->ctx, levels, out);
    for (int64_t i = 0; st == FAR_OK && i < levels; i++) { /* both are in byte order */
        const char *text = far_frame_level(t->frame, col, i);
        while (l < f->level_count && strcmp(f->levels[l], text) < 0) {
            l++;
        }
        (*out)[i] = l < f->level_count && strcmp(f->levels[l], text) == 0 ? l : UNSEEN;
    }
    return st;
}

/* The category that a number is, as that column writes numbers: 7 may be "7" or "07", not both. */
static far_status match_number(const target *t, const far_feature *f, const double *values,
                               double value, int64_t *out)
{
    *out = UNSEEN;
    for (int64_t l = 0; l < f->level_count; l++) {
        if (values[l] == value && *out != UNSEEN) {
            return far_fail(t->ctx, FAR_ERR_FORMAT,
                            "column %s holds numbers here, and %g may be '%s' or '%s'; read it as "
                            "text (`categorical` %s)",
                            f->name, value, f->levels[*out], f->levels[l], f->name);
        }
        *out = values[l] == value ? l : *out;
    }
    return FAR_OK;
}

/* A column of categories that are numbers, or dates, may read as numbers. */
static far_status codes_of_numbers(const target *t, const far_feature *f, int64_t col,
                                   int64_t *codes)
{
    const far_column *c = &t->frame->columns[col];
    double *values = NULL;
    bool any = false;
    far_status st = far_alloc(t->ctx, f->level_count, &values);
    for (int64_t l = 0; st == FAR_OK && l < f->level_count; l++) {
        values[l] = far_notation_value(f->levels[l], c->notation, c->mark);
        any |= !isnan(values[l]);
    }
    if (st == FAR_OK && !any) {
        st = fail_kind(t, f, col);
    }
    for (int64_t i = 0; st == FAR_OK && i < t->count; i++) {
        double value = c->numbers[t->index[i]];
        codes[i] = MISSING;
        st = isnan(value) ? FAR_OK : match_number(t, f, values, value, &codes[i]);
    }
    far_free(t->ctx, values);
    return st;
}

/* The code of the feature's category in each row, MISSING or UNSEEN. */
static far_status find_codes(const target *t, const far_feature *f, int64_t col, int64_t *codes)
{
    const far_column *c = &t->frame->columns[col];
    int64_t *match = NULL;
    if (c->numbers && c->missing < t->frame->rows) {
        return codes_of_numbers(t, f, col, codes);
    }
    far_status st = match_levels(t, f, col, &match);
    for (int64_t i = 0; st == FAR_OK && i < t->count; i++) {
        int32_t code = c->codes ? c->codes[t->index[i]] : -1;
        codes[i] = code < 0 ? MISSING : match[code];
    }
    far_free(t->ctx, match);
    return st;
}

/* A row that goes on and on along a direction stays in its category: the direction has none. */
static void encode_standing(const target *t, const far_feature *f)
{
    for (int64_t i = 0; i < t->count; i++) {
        put_indicator(t, i, f, UNSEEN);
    }
}

static far_status encode_words(const target *t, const far_feature *f, int64_t col)
{
    far_status st;
    int64_t *codes = NULL;
    FAR_TRY(far_alloc(t->ctx, t->count, &codes));
    FAR_TRY(find_codes(t, f, col, codes));
    for (int64_t i = 0; i < t->count; i++) {
        if (codes[i] == MISSING && !t->columns->info.impute) {
            FAR_TRY(far_fail_missing(t->ctx, f->name, t->index[i]));
        }
        put_indicator(t, i, f, codes[i] == MISSING ? f->fill_code : codes[i]);
    }
done:
    far_free(t->ctx, codes);
    return st;
}

static far_status encode_feature(const target *t, const far_feature *f)
{
    int64_t col;
    if (t->directions && f->kind == FAR_COLUMN_WORD) {
        encode_standing(t, f);
        return FAR_OK;
    }
    far_status st = far_frame_find(t->ctx, t->frame, f->name, &col);
    if (st != FAR_OK) {
        return st;
    }
    return f->kind == FAR_COLUMN_NUMBER ? encode_numbers(t, f, col) : encode_words(t, f, col);
}

/* ---- columns by their places --------------------------------------------------------------- */

static far_status check_places(const target *t)
{
    int64_t cols = far_frame_inputs(t->frame), inputs = t->columns->info.inputs;
    if (cols != inputs) {
        return far_fail(t->ctx, FAR_ERR_SHAPE,
                        "the table has %lld column%s, but the network takes %lld input%s and knows "
                        "no names to choose by",
                        (long long)cols, far_plural(cols), (long long)inputs, far_plural(inputs));
    }
    for (int64_t j = 0; j < cols; j++) {
        if (far_frame_column(t->frame, j).kind != FAR_COLUMN_NUMBER) {
            return far_fail(t->ctx, FAR_ERR_FORMAT,
                            "column %s holds words; this network knows no words, only numbers",
                            far_frame_column(t->frame, j).name);
        }
    }
    return FAR_OK;
}

static far_status encode_places(const target *t)
{
    far_status st = check_places(t);
    for (int64_t j = 0; st == FAR_OK && j < t->columns->info.inputs; j++) {
        const double *column = far_frame_column(t->frame, j).numbers;
        for (int64_t i = 0; i < t->count; i++) {
            if (isnan(column[t->index[i]])) {
                return far_fail(t->ctx, FAR_ERR_VALUE,
                                "row %lld: column %s has no value; fill the gap or leave the row "
                                "out",
                                (long long)t->index[i] + 1, far_frame_column(t->frame, j).name);
            }
            put(t, i, j, column[t->index[i]]);
        }
    }
    return st;
}

/* ---- rows ---------------------------------------------------------------------------------- */

static far_status encode_rows(const target *t)
{
    const far_columns *c = t->columns;
    far_status st = c->info.named ? FAR_OK : encode_places(t);
    for (int64_t j = 0; st == FAR_OK && j < c->info.features; j++) {
        st = encode_feature(t, &c->features[j]);
    }
    return st;
}

far_status far_columns_apply(far_ctx *ctx, const far_columns *c, const far_frame *frame,
                             const int64_t *index, int64_t count, bool directions, double *out)
{
    return encode_rows(&(target){ctx, c, frame, index, count, directions, false, out});
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

/* ---- what is not like the rows learnt from --------------------------------------------------- */

static void count_unseen(const target *t, const far_feature *f, int64_t col, const int64_t *codes,
                         double *counts, far_unseen *out)
{
    for (int64_t i = 0; i < t->count; i++) {
        if (codes[i] != UNSEEN) {
            continue;
        }
        out->rows += counts[i] == 0;
        counts[i]++;
        if (out->row < 0 || t->index[i] < out->row) {
            const far_column *c = &t->frame->columns[col];
            out->row = t->index[i];
            out->column = f->name;
            if (c->codes) {
                const char *text = far_frame_level(t->frame, col, c->codes[out->row]);
                far_show(out->category, sizeof out->category, text, (int64_t)strlen(text));
            } else {
                snprintf(out->category, sizeof out->category, "%.10g", c->numbers[out->row]);
            }
        }
    }
}

static far_status look_for_unseen(const target *t, int64_t *codes, double *counts, far_unseen *out)
{
    far_status st = FAR_OK;
    for (int64_t j = 0; j < t->columns->info.features; j++) {
        const far_feature *f = &t->columns->features[j];
        int64_t col;
        if (f->kind == FAR_COLUMN_WORD) {
            FAR_TRY(far_frame_find(t->ctx, t->frame, f->name, &col));
            FAR_TRY(find_codes(t, f, col, codes));
            count_unseen(t, f, col, codes, counts, out);
        }
    }
done:
    return st;
}

far_status far_columns_unseen(far_ctx *ctx, const far_columns *c, const far_frame *frame,
                              const unsigned char *rows, double *counts, far_unseen *out)
{
    far_status st;
    int64_t *index = NULL, *codes = NULL, count;
    double *own = NULL;
    if (!c || !frame || !out) {
        return far_fail(ctx, FAR_ERR_ARG, "the columns, the frame or out is NULL");
    }
    *out = (far_unseen){.row = -1};
    FAR_TRY(far_row_index(ctx, frame, rows, &index, &count));
    FAR_TRY(far_alloc(ctx, count, &codes));
    FAR_TRY(far_alloc(ctx, count, &own));
    target t = {.ctx = ctx, .columns = c, .frame = frame, .index = index, .count = count};
    FAR_TRY(look_for_unseen(&t, codes, own, out));
    if (counts) {
        memcpy(counts, own, (size_t)count * sizeof *counts);
    }
done:
    FAR_FREE_ALL(ctx, index, codes, own);
    return st;
}

static far_status check_ranges(far_ctx *ctx, const far_columns *c)
{
    for (int64_t j = 0; j < c->info.features; j++) {
        if (c->features[j].kind == FAR_COLUMN_NUMBER && !c->features[j].ranged) {
            return far_fail(ctx, FAR_ERR_FORMAT,
                            "the file was written before the ranges of columns were kept in it, so "
                            "nothing can be said about them; fit or train again");
        }
    }
    return c->info.named ? FAR_OK
                         : far_fail(ctx, FAR_ERR_FORMAT,
                                    "the network came without the range of its training data");
}

/* The input that lies farthest outside, and by how much; -1: none. */
static int64_t farthest(const far_columns *c, const double *row, double *distance)
{
    int64_t input = -1;
    *distance = 0;
    for (int64_t j = 0; j < c->info.features; j++) {
        const far_feature *f = &c->features[j];
        double value = row[f->first];
        double off = f->kind == FAR_COLUMN_NUMBER ? fmax(f->low - value, value - f->high) : 0;
        off /= f->spread > 0 ? f->spread : 1;
        if (off > *distance) {
            *distance = off;
            input = f->first;
        }
    }
    return input;
}

far_status far_columns_outside(far_ctx *ctx, const far_columns *c, const far_frame *frame,
                               const unsigned char *rows, double *distance, int64_t *input)
{
    far_status st;
    int64_t *index = NULL, count;
    double *x = NULL;
    if (!c || !frame || !distance || !input) {
        return far_fail(ctx, FAR_ERR_ARG, "the columns, the frame, distance or input is NULL");
    }
    FAR_TRY(check_ranges(ctx, c));
    FAR_TRY(far_row_index(ctx, frame, rows, &index, &count));
    FAR_TRY(far_alloc(ctx, count * c->info.inputs, &x));
    FAR_TRY(encode_rows(&(target){ctx, c, frame, index, count, false, true, x}));
    for (int64_t i = 0; i < count; i++) {
        input[i] = farthest(c, x + i * c->info.inputs, &distance[i]);
    }
done:
    far_free(ctx, index);
    far_free(ctx, x);
    return st;
}
