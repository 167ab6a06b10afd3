/* The different rows of the data, and lines to project them to. */
#include "points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED_OF_KEYS 0x6c6e6e6574u

void far_ln_points_clear(far_ln_points *p)
{
    if (p->ctx) {
        FAR_FREE_ALL(p->ctx, p->values, p->label, p->row, p->scale);
    }
    *p = (far_ln_points){0};
}

static double element(const far_mat *x, int64_t i, int64_t j)
{
    const void *row = far_mat_row(x, i);
    return x->dtype == FAR_F64 ? ((const double *)row)[j] : (double)((const float *)row)[j];
}

static far_status check_rows(far_ctx *ctx, const far_mat *x, const int64_t *labels, int64_t classes)
{
    for (int64_t i = 0; i < x->rows; i++) {
        if (labels[i] < 0 || labels[i] >= classes) {
            return far_fail(ctx, FAR_ERR_ARG, "row %lld has label %lld; classes are 0 to %lld",
                            (long long)i + 1, (long long)labels[i], (long long)classes - 1);
        }
        for (int64_t j = 0; j < x->cols; j++) {
            if (!isfinite(element(x, i, j))) {
                return far_fail(ctx, FAR_ERR_VALUE,
                                "x: row %lld, column %lld is %g; remove or fill it first",
                                (long long)i + 1, (long long)j + 1, element(x, i, j));
            }
        }
    }
    return FAR_OK;
}

/* Centre and half the range of every column; halves first, so that nothing overflows. */
static void measure_columns(const far_mat *x, double *centre, double *scale)
{
    for (int64_t j = 0; j < x->cols; j++) {
        double low = element(x, 0, j), high = low;
        for (int64_t i = 1; i < x->rows; i++) {
            double value = element(x, i, j);
            low = value < low ? value : low;
            high = value > high ? value : high;
        }
        centre[j] = low / 2 + high / 2;
        scale[j] = high / 2 - low / 2;
        if (scale[j] == 0 && high > low) { /* two neighbours among the least of all numbers */
            scale[j] = high - low;
        }
    }
}

/* A row with a number that copies of it share. */
typedef struct keyed_row {
    double key;
    const double *values;
    int64_t d, row, label;
} keyed_row;

static int compare_values(const keyed_row *a, const keyed_row *b)
{
    if (a->key != b->key) {
        return a->key < b->key ? -1 : 1;
    }
    for (int64_t j = 0; j < a->d; j++) {
        if (a->values[j] != b->values[j]) {
            return a->values[j] < b->values[j] ? -1 : 1;
        }
    }
    return 0;
}

static int by_values(const void *a, const void *b)
{
    const keyed_row *x = a, *y = b;
    int order = compare_values(x, y);
    return order ? order : (x->row > y->row) - (x->row < y->row);
}

static int by_row(const void *a, const void *b)
{
    const keyed_row *x = a, *y = b;
    return (x->row > y->row) - (x->row < y->row);
}

static double key_of(const far_ln_points *p, const double *values)
{
    double key = 0;
    for (int64_t j = 0; j < p->d; j++) {
        double unit = p->scale[j] > 0 ? (values[j] - p->centre[j]) / p->scale[j] : 0;
        key += far_random_uniform(SEED_OF_KEYS, (uint64_t)j) * unit;
    }
    return key;
}

static far_status fail_twins(far_ctx *ctx, const keyed_row *a, const keyed_row *b)
{
    return far_fail(ctx, FAR_ERR_VALUE,
                    "rows %lld and %lld are identical, but their labels are %lld and %lld; no "
                    "function tells them apart: remove one",
                    (long long)a->row + 1, (long long)b->row + 1, (long long)a->label,
                    (long long)b->label);
}

/* Leaves the first of every group of copies, in the order of the rows. */
static far_status drop_copies(far_ctx *ctx, keyed_row *rows, int64_t *count)
{
    int64_t kept = 0;
    qsort(rows, (size_t)*count, sizeof *rows, by_values);
    for (int64_t i = 0; i < *count; i++) {
        if (kept > 0 && compare_values(&rows[kept - 1], &rows[i]) == 0) {
            if (rows[kept - 1].label != rows[i].label) {
                return fail_twins(ctx, &rows[kept - 1], &rows[i]);
            }
        } else {
            rows[kept++] = rows[i];
        }
    }
    qsort(rows, (size_t)kept, sizeof *rows, by_row);
    *count = kept;
    return FAR_OK;
}

static void copy_values(const far_mat *x, double *values)
{
    for (int64_t i = 0; i < x->rows; i++) {
        for (int64_t j = 0; j < x->cols; j++) {
            values[i * x->cols + j] = element(x, i, j);
        }
    }
}

static far_status keep_different(far_ctx *ctx, const far_mat *x, const int64_t *labels,
                                 far_ln_points *p)
{
    far_status st = FAR_OK;
    keyed_row *rows = NULL;
    FAR_TRY(far_alloc(ctx, x->rows, &rows));
    copy_values(x, p->values);
    for (int64_t i = 0; i < x->rows; i++) {
        const double *values = p->values + i * p->d;
        rows[i] = (keyed_row){key_of(p, values), values, p->d, i, labels[i]};
    }
    p->count = x->rows;
    FAR_TRY(drop_copies(ctx, rows, &p->count));
    for (int64_t i = 0; i < p->count; i++) {
        p->label[i] = (int32_t)rows[i].label;
        p->row[i] = rows[i].row;
        memmove(p->values + i * p->d, rows[i].values, (size_t)p->d * sizeof *p->values);
    }
done:
    far_free(ctx, rows);
    return st;
}

far_status far_ln_points_read(far_ctx *ctx, const far_mat *x, const int64_t *labels,
                              int64_t classes, far_ln_points *out)
{
    far_status st = FAR_OK;
    *out = (far_ln_points){.ctx = ctx, .d = x->cols};
    FAR_TRY(check_rows(ctx, x, labels, classes));
    FAR_TRY(far_alloc(ctx, x->rows * x->cols, &out->values));
    FAR_TRY(far_alloc(ctx, x->rows, &out->label));
    FAR_TRY(far_alloc(ctx, x->rows, &out->row));
    FAR_TRY(far_alloc(ctx, 2 * x->cols, &out->scale));
    out->centre = out->scale + x->cols;
    measure_columns(x, out->centre, out->scale);
    FAR_TRY(keep_different(ctx, x, labels, out));
done:
    return st;
}

static int64_t narrowest_column(const far_ln_points *p)
{
    int64_t best = 0;
    for (int64_t j = 1; j < p->d; j++) {
        bool less = p->scale[best] == 0 || p->scale[j] < p->scale[best];
        best = p->scale[j] > 0 && less ? j : best;
    }
    return best;
}

#define TINY_RANGE 1e-200

far_status far_ln_points_check_range(const far_ln_points *p)
{
    int64_t j = narrowest_column(p);
    if (p->scale[j] == 0 || p->scale[j] >= TINY_RANGE) {
        return FAR_OK;
    }
    return far_fail(p->ctx, FAR_ERR_VALUE,
                    "column %lld has a range of %.3g, so small that weights overflow; multiply it "
                    "first",
                    (long long)j + 1, 2 * p->scale[j]);
}

/* ---- lines --------------------------------------------------------------------------------- */

typedef struct place {
    double at;
    int64_t point;
} place;

static int by_place(const void *a, const void *b)
{
    const place *x = a, *y = b;
    int order = (x->at > y->at) - (x->at < y->at);
    return order ? order : (x->point > y->point) - (x->point < y->point);
}

static void draw_direction(const far_ln_points *p, uint64_t seed, double *v)
{
    for (int64_t j = 0; j < p->d; j++) {
        v[j] = p->scale[j] > 0 ? far_random_normal(seed, (uint64_t)j) / p->scale[j] : 0;
    }
}

/* Places of the points about the centre, which keeps them in range; then v and places are scaled so
 * that the points take up a range of 1. */
static void project(const far_ln_points *p, double *v, place *places)
{
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < p->count; i++) {
        const double *x = far_ln_point(p, i);
        double sum = 0;
        for (int64_t j = 0; j < p->d; j++) {
            sum += v[j] * (x[j] - p->centre[j]);
        }
        places[i] = (place){sum, i};
        low = sum < low ? sum : low;
        high = sum > high ? sum : high;
    }
    double range = high > low ? high - low : 1;
    for (int64_t j = 0; j < p->d; j++) {
        v[j] /= range;
    }
    for (int64_t i = 0; i < p->count; i++) {
        places[i].at /= range;
    }
}

void far_ln_lines_clear(far_ln_lines *l)
{
    if (l->points) {
        FAR_FREE_ALL(l->points->ctx, l->directions, l->order, l->places);
    }
    *l = (far_ln_lines){0};
}

/* Random directions and the points in order along each; equal places keep the order of the points,
 * so that the result does not depend on qsort. Room is made once and used again for other seeds. */
far_status far_ln_lines_draw(const far_ln_points *p, uint64_t seed, far_ln_lines *out)
{
    far_status st = FAR_OK;
    far_ctx *ctx = p->ctx;
    place *places = NULL;
    if (!out->points) {
        out->points = p;
        FAR_TRY(far_alloc(ctx, FAR_LN_LINES * p->d, &out->directions));
        FAR_TRY(far_alloc(ctx, FAR_LN_LINES * p->count, &out->order));
        FAR_TRY(far_alloc(ctx, FAR_LN_LINES * p->count, &out->places));
    }
    FAR_TRY(far_alloc(ctx, p->count, &places));
    for (int64_t q = 0; q < FAR_LN_LINES; q++) {
        double *v = out->directions + q * p->d;
        draw_direction(p, far_random_bits(seed, (uint64_t)q), v);
        project(p, v, places);
        qsort(places, (size_t)p->count, sizeof *places, by_place);
        for (int64_t i = 0; i < p->count; i++) {
            out->order[q * p->count + i] = places[i].point;
            out->places[q * p->count + i] = places[i].at;
        }
    }
done:
    far_free(ctx, places);
    return st;
}

/* The least gap between different labels, and the number of runs. */
static void look_along(const far_ln_lines *l, int64_t q, const int32_t *labels, double *gap,
                       int64_t *runs)
{
    int64_t n = l->points->count, last = -1;
    const int64_t *order = l->order + q * n;
    const double *places = l->places + q * n;
    *gap = INFINITY;
    *runs = 0;
    for (int64_t i = 0; i < n; i++) {
        if (labels[order[i]] < 0) {
            continue;
        }
        if (last >= 0 && labels[order[i]] != labels[order[last]]) {
            double here = places[i] - places[last];
            *gap = here < *gap ? here : *gap;
            ++*runs;
        }
        last = i;
    }
    ++*runs;
}

const double *far_ln_lines_choose(const far_ln_lines *l, const int32_t *labels, bool few_runs,
                                  int64_t *runs)
{
    double gaps[FAR_LN_LINES], widest = 0;
    int64_t counts[FAR_LN_LINES], best = 0;
    for (int64_t q = 0; q < FAR_LN_LINES; q++) {
        look_along(l, q, labels, &gaps[q], &counts[q]);
        widest = gaps[q] > widest ? gaps[q] : widest;
        best = gaps[q] > gaps[best] ? q : best;
    }
    for (int64_t q = 0; few_runs && q < FAR_LN_LINES; q++) {
        if (gaps[q] >= widest / 4 && counts[q] < counts[best]) {
            best = q;
        }
    }
    *runs = counts[best];
    return l->directions + best * l->points->d;
}
