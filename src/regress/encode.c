/* Columns of a table as the inputs of a network: scaled numbers, one indicator per word. */
#include "regress_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

far_status far_texts_alloc(far_ctx *ctx, int64_t count, char ***out)
{
    far_status st = far_alloc(ctx, count, out);
    if (st == FAR_OK) {
        memset(*out, 0, (size_t)count * sizeof **out);
    }
    return st;
}

void far_texts_free(far_ctx *ctx, char **texts, int64_t count)
{
    for (int64_t i = 0; texts && i < count; i++) {
        far_free(ctx, texts[i]);
    }
    far_free(ctx, texts);
}

void far_encoder_clear(far_ctx *ctx, far_encoder *e)
{
    for (int64_t j = 0; e->features && j < e->feature_count; j++) {
        far_texts_free(ctx, e->features[j].levels, e->features[j].level_count);
        far_free(ctx, e->features[j].name);
    }
    far_texts_free(ctx, e->input_names, e->width);
    far_free(ctx, e->features);
    far_free(ctx, e->centre);
    far_free(ctx, e->scale);
    *e = (far_encoder){0};
}

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

static far_status fail_missing(far_ctx *ctx, const char *name, int64_t row)
{
    return far_fail(ctx, FAR_ERR_VALUE,
                    "row %lld: column %s has no value; fill the gap, leave the row out, or fit "
                    "with imputation (--impute)",
                    (long long)row + 1, name);
}

/* ---- learning ------------------------------------------------------------------------------ */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The values of a number column in the chosen rows, without gaps, in ascending order. */
static far_status sorted_values(far_ctx *ctx, const double *column, const int64_t *index,
                                int64_t count, double **out, int64_t *present)
{
    far_status st = far_alloc(ctx, count, out);
    *present = 0;
    for (int64_t i = 0; st == FAR_OK && i < count; i++) {
        if (!isnan(column[index[i]])) {
            (*out)[(*present)++] = column[index[i]];
        }
    }
    if (st == FAR_OK) {
        qsort(*out, (size_t)*present, sizeof **out, by_value);
    }
    return st;
}

static far_status first_gap(far_ctx *ctx, const far_frame *frame, int64_t col, const int64_t *index,
                            int64_t count)
{
    const double *numbers = far_frame_numbers(frame, col);
    const int32_t *codes = far_frame_codes(frame, col);
    for (int64_t i = 0; i < count; i++) {
        if (numbers ? isnan(numbers[index[i]]) : codes[index[i]] < 0) {
            return fail_missing(ctx, far_frame_name(frame, col), index[i]);
        }
    }
    return FAR_OK;
}

static far_status fail_blank(far_ctx *ctx, const far_feature *f)
{
    return far_fail(ctx, FAR_ERR_VALUE, "column %s has no value in the rows chosen; leave it out",
                    f->name);
}

static far_status learn_number(far_ctx *ctx, const far_frame *frame, int64_t col,
                               const int64_t *index, int64_t count, far_feature *f)
{
    double *values = NULL;
    int64_t present;
    far_status st =
        sorted_values(ctx, far_frame_numbers(frame, col), index, count, &values, &present);
    if (st == FAR_OK && present == 0) {
        st = fail_blank(ctx, f);
    }
    if (st == FAR_OK) {
        f->fill = (values[(present - 1) / 2] + values[present / 2]) / 2;
    }
    far_free(ctx, values);
    f->width = 1;
    return st;
}

static far_status copy_levels(far_ctx *ctx, const far_frame *frame, int64_t col,
                              const int64_t *seen, int64_t level_count, far_feature *f)
{
    far_status st = far_texts_alloc(ctx, f->level_count, &f->levels);
    int64_t used = 0, most = 0;
    for (int64_t l = 0; st == FAR_OK && l < level_count; l++) {
        if (seen[l] > 0) {
            const char *text = far_frame_level(frame, col, l);
            f->fill_code = seen[l] > most ? used : f->fill_code;
            most = seen[l] > most ? seen[l] : most;
            st = far_copy_text(ctx, text, (int64_t)strlen(text), &f->levels[used++]);
        }
    }
    return st;
}

static far_status learn_words(far_ctx *ctx, const far_frame *frame, int64_t col,
                              const int64_t *index, int64_t count, far_feature *f)
{
    far_status st;
    int64_t *seen = NULL, levels = far_frame_level_count(frame, col);
    const int32_t *codes = far_frame_codes(frame, col);
    FAR_TRY(far_alloc(ctx, levels, &seen));
    memset(seen, 0, (size_t)levels * sizeof *seen);
    for (int64_t i = 0; i < count; i++) {
        if (codes[index[i]] >= 0) {
            seen[codes[index[i]]]++;
        }
    }
    for (int64_t l = 0; l < levels; l++) {
        f->level_count += seen[l] > 0;
    }
    f->width = f->level_count;
    FAR_TRY(f->width > 0 ? FAR_OK : fail_blank(ctx, f));
    FAR_TRY(copy_levels(ctx, frame, col, seen, levels, f));
done:
    far_free(ctx, seen);
    return st;
}

static far_status learn_feature(far_ctx *ctx, const far_frame *frame, int64_t col,
                                const int64_t *index, int64_t count, far_feature *f)
{
    const char *name = far_frame_name(frame, col);
    far_status st = far_copy_text(ctx, name, (int64_t)strlen(name), &f->name);
    if (st != FAR_OK) {
        return st;
    }
    f->kind = far_frame_kind(frame, col);
    return f->kind == FAR_COLUMN_NUMBER ? learn_number(ctx, frame, col, index, count, f)
                                        : learn_words(ctx, frame, col, index, count, f);
}

far_status far_encoder_name(far_ctx *ctx, far_encoder *e)
{
    far_status st = far_texts_alloc(ctx, e->width, &e->input_names);
    for (int64_t j = 0; st == FAR_OK && j < e->feature_count; j++) {
        const far_feature *f = &e->features[j];
        for (int64_t l = 0; st == FAR_OK && l < f->width; l++) {
            far_text t = {.ctx = ctx};
            bool number = f->kind == FAR_COLUMN_NUMBER;
            far_text_add(&t, "%s%s%s", f->name, number ? "" : "=", number ? "" : f->levels[l]);
            e->input_names[f->first + l] = t.data;
            st = t.status;
        }
    }
    return st;
}

/* ---- applying ------------------------------------------------------------------------------ */

static far_status encode_numbers(far_ctx *ctx, const far_encoder *e, const far_feature *f,
                                 const far_frame *frame, int64_t col, const int64_t *index,
                                 int64_t count, double *out)
{
    const double *column = far_frame_numbers(frame, col);
    double centre = e->centre[f->first], scale = e->scale[f->first];
    for (int64_t i = 0; i < count; i++) {
        double value = column[index[i]];
        if (isnan(value) && !e->impute) {
            return fail_missing(ctx, f->name, index[i]);
        }
        out[i * e->width + f->first] = ((isnan(value) ? f->fill : value) - centre) / scale;
    }
    return FAR_OK;
}

/* The feature's code of each of the frame's levels, -1 for words that were not there in training.
 */
static far_status match_levels(far_ctx *ctx, const far_feature *f, const far_frame *frame,
                               int64_t col, int64_t **out)
{
    int64_t levels = far_frame_level_count(frame, col), l = 0;
    far_status st = far_alloc(ctx, levels, out);
    for (int64_t i = 0; st == FAR_OK && i < levels; i++) { /* both are in byte order */
        const char *text = far_frame_level(frame, col, i);
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
                             "(they have %s%s); a model fitted with --impute takes it as missing",
                             (long long)row + 1, f->name, word, t.data ? t.data : "none",
                             f->level_count > 8 ? ", ..." : "");
    far_free(ctx, t.data);
    return st;
}

static void put_indicator(const far_encoder *e, const far_feature *f, int64_t code, double *row)
{
    for (int64_t l = 0; l < f->width; l++) {
        row[f->first + l] = ((l == code) - e->centre[f->first + l]) / e->scale[f->first + l];
    }
}

static far_status encode_words(far_ctx *ctx, const far_encoder *e, const far_feature *f,
                               const far_frame *frame, int64_t col, const int64_t *index,
                               int64_t count, double *out)
{
    const int32_t *codes = far_frame_codes(frame, col);
    int64_t *match = NULL;
    far_status st = match_levels(ctx, f, frame, col, &match);
    for (int64_t i = 0; st == FAR_OK && i < count; i++) {
        int32_t code = codes[index[i]];
        int64_t known = code < 0 ? -1 : match[code];
        if (known < 0 && !e->impute) {
            st = code < 0 ? fail_missing(ctx, f->name, index[i])
                          : fail_word(ctx, f, far_frame_level(frame, col, code), index[i]);
        } else {
            put_indicator(e, f, known < 0 ? f->fill_code : known, out + i * e->width);
        }
    }
    far_free(ctx, match);
    return st;
}

static far_status fail_kind(far_ctx *ctx, const far_feature *f, const far_frame *frame, int64_t col)
{
    if (f->kind == FAR_COLUMN_WORD) {
        return far_fail(ctx, FAR_ERR_FORMAT,
                        "column %s holds numbers here, but words in the "
                        "training data",
                        f->name);
    }
    return far_fail(ctx, FAR_ERR_FORMAT,
                    "column %s holds words here ('%.60s'), but numbers in the training data",
                    f->name, far_frame_level(frame, col, 0));
}

static far_status encode_feature(far_ctx *ctx, const far_encoder *e, const far_feature *f,
                                 const far_frame *frame, const int64_t *index, int64_t count,
                                 double *out)
{
    int64_t col;
    far_status st = far_frame_find(ctx, frame, f->name, &col);
    if (st != FAR_OK) {
        return st;
    }
    /* A column without any value reads as numbers: that is a gap, not another kind. */
    bool blank = far_frame_missing(frame, col) == far_frame_rows(frame);
    if (far_frame_kind(frame, col) != f->kind) {
        if (!blank) {
            return fail_kind(ctx, f, frame, col);
        }
        if (!e->impute && count > 0) {
            return fail_missing(ctx, f->name, index[0]);
        }
        for (int64_t i = 0; i < count; i++) {
            if (f->kind == FAR_COLUMN_WORD) {
                put_indicator(e, f, f->fill_code, out + i * e->width);
            } else {
                out[i * e->width + f->first] = (f->fill - e->centre[f->first]) / e->scale[f->first];
            }
        }
        return FAR_OK;
    }
    return f->kind == FAR_COLUMN_NUMBER ? encode_numbers(ctx, e, f, frame, col, index, count, out)
                                        : encode_words(ctx, e, f, frame, col, index, count, out);
}

far_status far_encoder_apply(far_ctx *ctx, const far_encoder *e, const far_frame *frame,
                             const int64_t *index, int64_t count, double *out)
{
    far_status st = FAR_OK;
    for (int64_t j = 0; st == FAR_OK && j < e->feature_count; j++) {
        st = encode_feature(ctx, e, &e->features[j], frame, index, count, out);
    }
    return st;
}

/* ---- scales -------------------------------------------------------------------------------- */

/* The variance in long double: squares of values that a double holds may leave its range. */
static void column_moments(const double *x, int64_t count, int64_t width, int64_t j, double *mean,
                           long double *variance)
{
    long double sum = 0, square = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += x[i * width + j];
    }
    *mean = (double)(sum / (long double)count);
    for (int64_t i = 0; i < count; i++) {
        long double off = x[i * width + j] - sum / (long double)count;
        square += off * off;
    }
    *variance = square / (long double)count;
}

/* A column whose spread is rounding is constant. */
static double scale_of(long double variance, double mean)
{
    double scale = (double)sqrtl(variance);
    return scale > 1e-12 * fabs(mean) ? scale : 1;
}

/* The indicators of a word share one scale, so that together they weigh as much as a number: a
 * word that is rare must not become a huge input. */
static void learn_scales(const double *x, int64_t count, far_encoder *e)
{
    for (int64_t k = 0; k < e->feature_count; k++) {
        const far_feature *f = &e->features[k];
        long double total = 0;
        double largest = 0;
        for (int64_t j = f->first; j < f->first + f->width; j++) {
            long double variance;
            column_moments(x, count, e->width, j, &e->centre[j], &variance);
            total += variance;
            largest = fmax(largest, fabs(e->centre[j]));
        }
        for (int64_t j = f->first; j < f->first + f->width; j++) {
            e->scale[j] = scale_of(total, largest);
        }
    }
}

static far_status learn_standard(far_ctx *ctx, const far_frame *frame, const int64_t *index,
                                 int64_t count, far_encoder *e)
{
    far_status st;
    double *raw = NULL;
    FAR_TRY(far_alloc(ctx, count * e->width, &raw));
    FAR_TRY(far_encoder_apply(ctx, e, frame, index, count, raw));
    learn_scales(raw, count, e);
done:
    far_free(ctx, raw);
    return st;
}

static far_status learn_all(far_ctx *ctx, const far_frame *frame, const int64_t *cols,
                            const int64_t *index, int64_t count, far_encoder *e)
{
    far_status st = FAR_OK;
    for (int64_t j = 0; st == FAR_OK && j < e->feature_count; j++) {
        if (!e->impute) {
            st = first_gap(ctx, frame, cols[j], index, count);
        }
        if (st == FAR_OK) {
            st = learn_feature(ctx, frame, cols[j], index, count, &e->features[j]);
        }
        e->features[j].first = e->width;
        e->width += e->features[j].width;
    }
    return st;
}

far_status far_encoder_learn(far_ctx *ctx, const far_frame *frame, const int64_t *cols,
                             int64_t col_count, const int64_t *index, int64_t count,
                             bool standardize, bool impute, far_encoder *out)
{
    far_status st;
    far_encoder e = {.impute = impute};
    FAR_TRY(far_alloc(ctx, col_count, &e.features));
    memset(e.features, 0, (size_t)col_count * sizeof *e.features);
    e.feature_count = col_count;
    FAR_TRY(learn_all(ctx, frame, cols, index, count, &e));
    FAR_TRY(far_encoder_name(ctx, &e));
    FAR_TRY(far_alloc(ctx, e.width, &e.centre));
    FAR_TRY(far_alloc(ctx, e.width, &e.scale));
    for (int64_t j = 0; j < e.width; j++) {
        e.centre[j] = 0;
        e.scale[j] = 1;
    }
    if (standardize) {
        FAR_TRY(learn_standard(ctx, frame, index, count, &e));
    }
    *out = e;
    e = (far_encoder){0};
done:
    far_encoder_clear(ctx, &e);
    return st;
}
