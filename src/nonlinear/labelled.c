/* Labelled points: checks, features brought to one size, scatter. */
#include "nonlinear_internal.h"

#include <math.h>
#include <string.h>

void far_labelled_clear(far_labelled *p)
{
    FAR_FREE_ALL(p->ctx, p->counts, p->size, p->mean, p->sd, p->class_means);
}

int64_t far_labelled_present(const far_labelled *p)
{
    int64_t present = 0;
    for (int64_t k = 0; k < p->classes; k++) {
        present += p->counts[k] > 0;
    }
    return present;
}

static far_status count_classes(far_labelled *p)
{
    memset(p->counts, 0, (size_t)p->classes * sizeof *p->counts);
    for (int64_t i = 0; i < p->n; i++) {
        int64_t k = p->labels[i];
        if (k < 0 || k >= p->classes) {
            return far_fail(p->ctx, FAR_ERR_ARG, "labels: row %lld is %lld, not in 0 to %lld",
                            (long long)i + 1, (long long)k, (long long)p->classes - 1);
        }
        p->counts[k]++;
    }
    if (far_labelled_present(p) < 2) {
        return far_fail(p->ctx, FAR_ERR_VALUE,
                        "all points are of one class; scatter is compared between at least two");
    }
    return FAR_OK;
}

/* ---- features ------------------------------------------------------------------------------ */

static const double *row_of(const far_labelled *p, int64_t i)
{
    return far_mat_row(p->x, i);
}

static double unit_at(const far_labelled *p, const double *row, int64_t j)
{
    return p->size[j] > 0 ? (row[j] - row_of(p, 0)[j]) / p->size[j] : 0;
}

static far_status measure_sizes(far_labelled *p)
{
    const double *pivot = row_of(p, 0);
    memset(p->size, 0, (size_t)p->d * sizeof *p->size);
    for (int64_t i = 0; i < p->n; i++) {
        const double *row = row_of(p, i);
        for (int64_t j = 0; j < p->d; j++) {
            p->size[j] = fmax(p->size[j], fabs(row[j] - pivot[j]));
        }
    }
    for (int64_t j = 0; j < p->d; j++) {
        if (isinf(p->size[j])) {
            return far_fail(p->ctx, FAR_ERR_VALUE,
                            "x: column %lld spans more than a number can hold; divide it by 2",
                            (long long)j + 1);
        }
    }
    return FAR_OK;
}

/* Means of classes are of differences from their first point: copies of it have scatter 0. */
static far_status measure_means(far_labelled *p)
{
    int64_t *first = NULL, d = p->d;
    far_status st = far_alloc(p->ctx, p->classes, &first);
    if (st != FAR_OK) {
        return st;
    }
    for (int64_t i = p->n - 1; i >= 0; i--) {
        first[p->labels[i]] = i;
    }
    memset(p->class_means, 0, (size_t)(p->classes * d) * sizeof *p->class_means);
    for (int64_t i = 0; i < p->n; i++) {
        int64_t k = p->labels[i];
        const double *row = row_of(p, i), *pivot = row_of(p, first[k]);
        for (int64_t j = 0; j < d; j++) {
            double step = unit_at(p, row, j) - unit_at(p, pivot, j);
            p->class_means[k * d + j] += step / (double)p->counts[k];
        }
    }
    memset(p->mean, 0, (size_t)d * sizeof *p->mean);
    for (int64_t k = 0; k < p->classes; k++) {
        for (int64_t j = 0; j < d && p->counts[k] > 0; j++) {
            p->class_means[k * d + j] += unit_at(p, row_of(p, first[k]), j);
            p->mean[j] += p->class_means[k * d + j] * (double)p->counts[k] / (double)p->n;
        }
    }
    far_free(p->ctx, first);
    return FAR_OK;
}

/* sd holds the sum of squares of y, feature by feature, until the end. */
static void measure_scatter(far_labelled *p)
{
    for (int64_t j = 0; j < p->d; j++) {
        p->sd[j] = 0;
        p->total_unit = fmax(p->total_unit, p->size[j]);
    }
    for (int64_t i = 0; i < p->n; i++) {
        const double *row = row_of(p, i), *mean = p->class_means + p->labels[i] * p->d;
        for (int64_t j = 0; j < p->d; j++) {
            double y = unit_at(p, row, j), part = p->size[j] / p->total_unit;
            double from_class = (y - mean[j]) * part, from_all = (y - p->mean[j]) * part;
            p->within += from_class * from_class;
            p->total += from_all * from_all;
            p->sd[j] += (y - p->mean[j]) * (y - p->mean[j]);
        }
    }
    for (int64_t j = 0; j < p->d; j++) {
        p->sd[j] = sqrt(p->sd[j] / (double)p->n);
    }
}

static far_status check(far_ctx *ctx, const far_mat *x, const int64_t *labels, int64_t classes)
{
    far_status st = FAR_OK;
    FAR_TRY(far_check_matrix(ctx, x, "x", -1, -1));
    if (!labels) {
        return far_fail(ctx, FAR_ERR_ARG, "labels must not be NULL");
    }
    if (x->rows < 2 || x->cols < 1) {
        return far_fail(ctx, FAR_ERR_SHAPE,
                        "x is %lld x %lld; there must be 2 points and 1 feature",
                        (long long)x->rows, (long long)x->cols);
    }
    if (classes < 2) {
        return far_fail(ctx, FAR_ERR_ARG, "%lld classes; there must be at least 2",
                        (long long)classes);
    }
    FAR_TRY(far_check_finite(ctx, x, "x"));
done:
    return st;
}

far_status far_labelled_create(far_ctx *ctx, const far_mat *x, const int64_t *labels,
                               int64_t classes, far_labelled *p)
{
    far_status st = FAR_OK;
    *p = (far_labelled){.ctx = ctx, .x = x, .labels = labels, .classes = classes};
    FAR_TRY(check(ctx, x, labels, classes));
    p->n = x->rows;
    p->d = x->cols;
    FAR_TRY(far_alloc(ctx, classes, &p->counts));
    FAR_TRY(far_alloc(ctx, p->d, &p->size));
    FAR_TRY(far_alloc(ctx, p->d, &p->mean));
    FAR_TRY(far_alloc(ctx, p->d, &p->sd));
    FAR_TRY(far_alloc(ctx, classes * p->d, &p->class_means));
    FAR_TRY(count_classes(p));
    FAR_TRY(measure_sizes(p));
    FAR_TRY(measure_means(p));
    measure_scatter(p);
    if (!(p->total > 0)) {
        st = far_fail(ctx, FAR_ERR_VALUE, "all points coincide: they have no scatter to compare");
    }
done:
    if (st != FAR_OK) {
        far_labelled_clear(p);
        *p = (far_labelled){0};
    }
    return st;
}

void far_labelled_row(const far_labelled *p, int64_t i, double *z)
{
    const double *row = row_of(p, i);
    for (int64_t j = 0; j < p->d; j++) {
        z[j] = p->sd[j] > 0 ? (unit_at(p, row, j) - p->mean[j]) / p->sd[j] : 0;
    }
}

/* ---- one number a point -------------------------------------------------------------------- */

far_status far_labelled_ssr(const far_labelled *p, const double *numbers, double *ssr)
{
    double *means = NULL, mean = 0, within = 0, total = 0;
    far_status st = far_alloc(p->ctx, p->classes, &means);
    if (st != FAR_OK) {
        return st;
    }
    for (int64_t i = 0; i < p->n; i++) {
        mean += numbers[i] / (double)p->n;
        means[p->labels[i]] += numbers[i] / (double)p->counts[p->labels[i]];
    }
    for (int64_t i = 0; i < p->n; i++) {
        double from_class = numbers[i] - means[p->labels[i]], from_all = numbers[i] - mean;
        within += from_class * from_class;
        total += from_all * from_all;
    }
    *ssr = total > 0 ? fmin(within / total, 1) : 1;
    far_free(p->ctx, means);
    return FAR_OK;
}
