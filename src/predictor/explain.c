/* Why a predictor of any kind says what it says: by asking it at other points, and by the rows that
 * are near. */
#include "predictor_internal.h"

#include <math.h>
#include <string.h>

/* ---- features ------------------------------------------------------------------------------ */

/* Columns without names have a feature for each input. */
static int64_t feature_count(const far_columns *c)
{
    return c->info.named ? c->info.features : c->info.inputs;
}

static far_feature_info feature_at(const far_columns *c, int64_t i)
{
    return c->info.named
               ? far_columns_feature(c, i)
               : (far_feature_info){c->inputs[i], FAR_COLUMN_NUMBER, i, 1, NULL, "", 0, NAN, NAN};
}

static const double *row_of(const far_mat *m, int64_t i)
{
    return far_mat_row(m, i);
}

static far_status check_rows(far_ctx *ctx, const far_predictor *p, const far_mat *x)
{
    if (!p) {
        return far_fail(ctx, FAR_ERR_ARG, "the predictor is NULL");
    }
    far_status st = far_mat_expect(ctx, x, "x", -1, far_predictor_columns(p)->info.inputs, FAR_F64);
    return st == FAR_OK && x->rows < 1 ? far_fail(ctx, FAR_ERR_SHAPE, "x has no rows") : st;
}

static far_status packed_copy(far_ctx *ctx, const far_mat *x, double **out)
{
    far_status st = far_alloc(ctx, x->rows * x->cols, out);
    for (int64_t i = 0; st == FAR_OK && i < x->rows; i++) {
        memcpy(*out + i * x->cols, far_mat_row(x, i), (size_t)x->cols * sizeof **out);
    }
    return st;
}

/* ---- how much is lost without a feature ---------------------------------------------------- */

/* Adds what the predictor tells of each class, times part, to sum (rows x classes). f: room for
 * rows x outputs, one for classes. */
static far_status add_classes(far_ctx *ctx, const far_predictor *p, const far_mat *x, double part,
                              far_mat *f, double *one, double *sum)
{
    int64_t count, classes = far_predictor_columns(p)->info.classes;
    far_predictor *const *members = far_predictor_members(p, &count);
    far_status st = members ? FAR_OK : far_predictor_eval(ctx, p, x, f);
    for (int64_t i = 0; st == FAR_OK && i < count; i++) {
        st = add_classes(ctx, members[i], x, part / (double)count, f, one, sum);
    }
    for (int64_t i = 0; st == FAR_OK && !members && i < x->rows; i++) {
        p->ops->share(p->self, row_of(f, i), one);
        for (int64_t k = 0; k < classes; k++) {
            sum[i * classes + k] += part * one[k];
        }
    }
    return st;
}

/* The part of the rows whose class is right; one output is that of the second of two. */
static far_status accuracy(far_ctx *ctx, const far_predictor *p, const far_mat *x, const far_mat *y,
                           far_mat *f, double *out)
{
    int64_t right = 0, classes = far_predictor_columns(p)->info.classes;
    double *sum = NULL;
    far_status st;
    FAR_TRY(far_alloc(ctx, (x->rows + 1) * classes, &sum));
    FAR_TRY(add_classes(ctx, p, x, 1, f, sum + x->rows * classes, sum));
    for (int64_t i = 0; i < y->rows; i++) {
        const double *truth = row_of(y, i);
        int64_t is = y->cols == 1 ? *truth > 0.5 : far_place_of_largest(truth, y->cols);
        right += far_place_of_largest(sum + i * classes, classes) == is;
    }
    *out = (double)right / (double)y->rows;
done:
    far_free(ctx, sum);
    return st;
}

/* The mean over the outputs, of those that vary. The mean of a target is taken from its first
 * value: then one that does not vary has no deviation, not even of rounding. */
static double explained(const far_mat *y, const double *f)
{
    double sum = 0, varied = 0;
    for (int64_t k = 0; k < y->cols; k++) {
        long double mean = 0, total = 0, left = 0, first = row_of(y, 0)[k];
        for (int64_t i = 0; i < y->rows; i++) {
            mean += (row_of(y, i)[k] - first) / (long double)y->rows;
        }
        for (int64_t i = 0; i < y->rows; i++) {
            long double truth = row_of(y, i)[k] - first, off = truth + first - f[i * y->cols + k];
            total += (truth - mean) * (truth - mean);
            left += off * off;
        }
        sum += total > 0 ? (double)(1 - left / total) : 0;
        varied += total > 0;
    }
    return varied > 0 ? sum / varied : NAN;
}

static far_status score_of(far_ctx *ctx, const far_predictor *p, double *x, const far_mat *y,
                           double *f, double *out)
{
    far_columns_info info = far_predictor_columns(p)->info;
    far_mat points = far_mat_view(x, y->rows, info.inputs, FAR_F64);
    far_mat values = far_mat_view(f, y->rows, info.outputs, FAR_F64);
    if (info.classes > 0) {
        return accuracy(ctx, p, &points, y, &values, out);
    }
    far_status st = far_predictor_eval(ctx, p, &points, &values);
    *out = st == FAR_OK ? explained(y, f) : NAN;
    return st;
}

/* All inputs of a feature move together: a category stays one. */
static void permute(const far_mat *x, far_feature_info f, const int64_t *order, double *out)
{
    for (int64_t i = 0; i < x->rows; i++) {
        memcpy(out + i * x->cols + f.first, row_of(x, order[i]) + f.first,
               (size_t)f.width * sizeof *out);
    }
}

far_status far_predictor_importance(far_ctx *ctx, const far_predictor *p, const far_mat *x,
                                    const far_mat *y, int64_t repeats, uint64_t seed, double *score,
                                    double *lost)
{
    far_status st;
    double *room = NULL, *f = NULL, one;
    int64_t *order = NULL;
    FAR_TRY(check_rows(ctx, p, x));
    const far_columns *c = far_predictor_columns(p);
    FAR_TRY(far_mat_expect(ctx, y, "y", x->rows, c->info.outputs, FAR_F64));
    if (repeats < 1 || !score || !lost) {
        FAR_TRY(far_fail(ctx, FAR_ERR_ARG, "repeats is below 1, or an output is NULL"));
    }
    FAR_TRY(packed_copy(ctx, x, &room));
    FAR_TRY(far_alloc(ctx, y->rows * y->cols, &f));
    FAR_TRY(far_alloc(ctx, x->rows, &order));
    FAR_TRY(score_of(ctx, p, room, y, f, score));
    for (int64_t j = 0; j < feature_count(c); j++) {
        far_feature_info feature = feature_at(c, j);
        lost[j] = 0;
        for (int64_t t = 0; t < repeats; t++) {
            for (int64_t i = 0; i < x->rows; i++) {
                order[i] = i;
            }
            far_random_shuffle(seed + (uint64_t)t, order, x->rows);
            permute(x, feature, order, room);
            FAR_TRY(score_of(ctx, p, room, y, f, &one));
            lost[j] += (*score - one) / (double)repeats;
        }
        for (int64_t i = 0; i < x->rows; i++) {
            order[i] = i;
        }
        permute(x, feature, order, room); /* as it was */
        FAR_TRY(far_progress(ctx, "explain", j + 1, feature_count(c)));
    }
done:
    FAR_FREE_ALL(ctx, room, f, order);
    return st;
}

/* ---- what a feature does, the others as they are ------------------------------------------- */

static far_status set_feature(far_ctx *ctx, const far_columns *c, far_feature_info f, double value,
                              int64_t rows, int64_t cols, double *x)
{
    bool word = f.kind == FAR_COLUMN_WORD;
    if (!isfinite(value) || (word && (value != floor(value) || value < 0 || value >= f.width))) {
        return far_fail(ctx, FAR_ERR_VALUE, word ? "%s has no category %g" : "%s cannot be %g",
                        f.name, value);
    }
    for (int64_t i = 0; i < rows; i++) {
        double *at = x + i * cols + f.first;
        memset(at, 0, (size_t)f.width * sizeof *at);
        at[word ? (int64_t)value : 0] = word ? 1 : value;
        if (f.ranked) {
            far_columns_set_ranks(c, x + i * cols);
        }
    }
    return FAR_OK;
}

far_status far_predictor_dependence(far_ctx *ctx, const far_predictor *p, const far_mat *x,
                                    int64_t feature, const double *values, int64_t count,
                                    far_mat *out)
{
    far_status st;
    double *room = NULL, *f = NULL;
    FAR_TRY(check_rows(ctx, p, x));
    const far_columns *c = far_predictor_columns(p);
    int64_t outputs = c->info.outputs;
    FAR_TRY(far_mat_expect(ctx, out, "out", count, outputs, FAR_F64));
    if (feature < 0 || feature >= feature_count(c) || !values) {
        FAR_TRY(far_fail(ctx, FAR_ERR_ARG, "there is no such feature, or values is NULL"));
    }
    FAR_TRY(packed_copy(ctx, x, &room));
    FAR_TRY(far_alloc(ctx, x->rows * outputs, &f));
    far_mat points = far_mat_view(room, x->rows, x->cols, FAR_F64);
    far_mat means = far_mat_view(f, x->rows, outputs, FAR_F64);
    for (int64_t g = 0; g < count; g++) {
        FAR_TRY(set_feature(ctx, c, feature_at(c, feature), values[g], x->rows, x->cols, room));
        FAR_TRY(far_predictor_eval(ctx, p, &points, &means));
        for (int64_t k = 0; k < outputs; k++) {
            long double sum = 0;
            for (int64_t i = 0; i < x->rows; i++) {
                sum += f[i * outputs + k];
            }
            ((double *)out->data)[g * out->ld + k] = (double)(sum / (long double)x->rows);
        }
    }
done:
    far_free(ctx, room);
    far_free(ctx, f);
    return st;
}

/* ---- rows that are near -------------------------------------------------------------------- */

static double distance(const far_columns *c, const double *a, const double *b)
{
    double square = 0;
    for (int64_t i = 0; i < c->info.inputs; i++) {
        double z = (a[i] - b[i]) / far_input_scale(c)[i];
        square += z * z;
    }
    return sqrt(square);
}

/* Keeps the nearest so far in order; of equal ones the first. */
static void keep_near(double away, int64_t row, int64_t count, int64_t *rows, double *distances)
{
    int64_t k = count - 1;
    if (!(away < distances[k])) {
        return;
    }
    for (; k > 0 && away < distances[k - 1]; k--) {
        distances[k] = distances[k - 1];
        rows[k] = rows[k - 1];
    }
    distances[k] = away;
    rows[k] = row;
}

far_status far_predictor_nearest(far_ctx *ctx, const far_predictor *p, const far_mat *x,
                                 const far_mat *points, int64_t count, int64_t *rows,
                                 double *distances)
{
    far_status st;
    FAR_TRY(check_rows(ctx, p, x));
    const far_columns *c = far_predictor_columns(p);
    FAR_TRY(far_mat_expect(ctx, points, "points", -1, c->info.inputs, FAR_F64));
    if (count < 1 || count > x->rows || !rows || !distances) {
        FAR_TRY(far_fail(ctx, FAR_ERR_ARG, "count is not 1 to %lld, or an output is NULL",
                         (long long)x->rows));
    }
    for (int64_t q = 0; q < points->rows; q++) {
        for (int64_t k = 0; k < count; k++) {
            distances[q * count + k] = INFINITY;
            rows[q * count + k] = -1;
        }
        for (int64_t i = 0; i < x->rows; i++) {
            keep_near(distance(c, far_mat_row(x, i), far_mat_row(points, q)), i, count,
                      rows + q * count, distances + q * count);
        }
    }
done:
    return st;
}

far_status far_predictor_rows(far_ctx *ctx, const far_predictor *p, far_mat *x, far_mat *y)
{
    const far_model *m = p && p->ops == &far_infinite_ops ? p->self : NULL;
    if (!m) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "this predictor does not keep the rows it was fitted to (those of infinite "
                        "width do)");
    }
    far_status st;
    const far_columns *c = m->columns;
    int64_t n = m->info.rows, d = m->info.inputs, o = m->info.outputs;
    FAR_TRY(far_mat_expect(ctx, x, "x", n, d, FAR_F64));
    FAR_TRY(far_mat_expect(ctx, y, "y", n, o, FAR_F64));
    for (int64_t i = 0; i < n * d; i++) {
        double value = far_input_centre(c)[i % d] + far_input_scale(c)[i % d] * m->x[i];
        bool word = far_columns_is_category(c, i % d); /* 0 or 1, but for rounding */
        ((double *)x->data)[i / d * x->ld + i % d] = word ? rint(value) : value;
    }
    for (int64_t i = 0; i < n * o; i++) {
        ((double *)y->data)[i / o * y->ld + i % o] =
            far_output_centre(c)[i % o] + far_output_scale(c)[i % o] * m->y[i];
    }
done:
    return st;
}
