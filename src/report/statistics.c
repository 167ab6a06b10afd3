/* Quantiles, means with intervals, histograms. */
#include "statistics.h"
#include "figure_internal.h"

#include "../compare/compare_internal.h"

#include <math.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

far_status far_finite_copy(far_ctx *ctx, const double *values, int64_t n, bool sorted, double **out,
                           int64_t *count)
{
    *out = NULL;
    *count = 0;
    if (n < 0 || (n > 0 && !values)) {
        return far_fail(ctx, FAR_ERR_ARG, "values is NULL, or n negative");
    }
    far_status st = far_alloc(ctx, n, out);
    for (int64_t i = 0; st == FAR_OK && i < n; i++) {
        if (isfinite(values[i])) {
            (*out)[(*count)++] = values[i];
        }
    }
    if (st == FAR_OK && *count == 0) {
        st = far_fail(ctx, FAR_ERR_VALUE, "none of %lld values is finite", (long long)n);
    }
    if (st == FAR_OK && sorted) {
        qsort(*out, (size_t)*count, sizeof **out, ascending);
    }
    return st;
}

/* ---- quantiles and means ---- */

double far_sorted_quantile(const double *sorted, int64_t n, double p)
{
    double at = p * (double)(n - 1);
    int64_t below = (int64_t)at < n - 1 ? (int64_t)at : n - 2;
    if (n == 1) {
        return sorted[0];
    }
    double share = at - (double)below;
    return (1 - share) * sorted[below] + share * sorted[below + 1];
}

far_status far_quantile(far_ctx *ctx, const double *values, int64_t n, double p, double *out)
{
    far_status st;
    double *sorted = NULL;
    int64_t count;
    if (!out || !(p >= 0 && p <= 1)) {
        return far_fail(ctx, FAR_ERR_ARG, "out is NULL, or p = %g not from 0 to 1", p);
    }
    FAR_TRY(far_finite_copy(ctx, values, n, true, &sorted, &count));
    *out = far_sorted_quantile(sorted, count, p);
done:
    far_free(ctx, sorted);
    return st;
}

far_status far_mean_interval(far_ctx *ctx, const double *values, int64_t n, double *mean,
                             double *half_width)
{
    far_status st;
    double *finite = NULL;
    int64_t count;
    if (!mean || !half_width) {
        return far_fail(ctx, FAR_ERR_ARG, "mean or half_width is NULL");
    }
    FAR_TRY(far_finite_copy(ctx, values, n, false, &finite, &count));
    far_compare_average a = far_average(finite, count);
    *mean = a.mean;
    *half_width = a.ci95;
done:
    far_free(ctx, finite);
    return st;
}

/* ---- histograms ---- */

#define BINS_LEAST 5

/* The width of Freedman and Diaconis; where half of the values are the same, that of Sturges. */
static double usual_width(const double *sorted, int64_t n)
{
    double range = sorted[n - 1] - sorted[0];
    double iqr = far_sorted_quantile(sorted, n, 0.75) - far_sorted_quantile(sorted, n, 0.25);
    double width = 2 * iqr / cbrt((double)n);
    return width > 0 ? width : range / (log2((double)n) + 1);
}

/* ... 0.5, 1, 2, 5, 10 ...; 1 has the index 0. */
static double round_step(int index)
{
    static const int MANTISSA[] = {1, 2, 5};
    int exponent = index >= 0 ? index / 3 : -((2 - index) / 3);
    int mantissa = MANTISSA[index - 3 * exponent];
    return exponent < 0 ? mantissa / pow(10, -exponent) : mantissa * pow(10, exponent);
}

static double bins_between(double low, double high, double step)
{
    double first = floor(low / step), last = ceil(high / step);
    return fmax(1, last - first);
}

static void round_edges(double low, double high, double width, double *edges, int64_t *used)
{
    int index = 3 * (int)floor(log10(width));
    while (log(round_step(index + 1) / width) < -log(round_step(index) / width)) {
        index++;
    }
    while (bins_between(low, high, round_step(index)) < BINS_LEAST) {
        index--;
    }
    while (bins_between(low, high, round_step(index)) > FAR_BINS_MOST) {
        index++;
    }
    double step = round_step(index), first = floor(low / step);
    *used = (int64_t)bins_between(low, high, step);
    for (int64_t i = 0; i <= *used; i++) {
        edges[i] = (first + (double)i) * step;
    }
    edges[0] = fmin(edges[0], low); /* rounding must not leave a value out */
    edges[*used] = fmax(edges[*used], high);
}

static void equal_edges(double low, double high, int64_t bins, double *edges, int64_t *used)
{
    *used = bins;
    for (int64_t i = 0; i <= bins; i++) {
        double share = (double)i / (double)bins;
        edges[i] = (1 - share) * low + share * high;
    }
}

static void choose_edges(const double *sorted, int64_t n, int64_t bins, double *edges,
                         int64_t *used)
{
    double low = sorted[0], high = sorted[n - 1], size = fmax(fabs(low), fabs(high));
    if (high - low <= 1e-12 * size || high == low) {
        double half = size > 0 ? size * 0.05 : 0.5;
        equal_edges(low - half, high + half, bins > 0 ? bins : 1, edges, used);
    } else if (bins > 0) {
        equal_edges(low, high, bins, edges, used);
    } else {
        round_edges(low, high, usual_width(sorted, n), edges, used);
    }
}

far_status far_histogram_edges(far_ctx *ctx, const double *values, int64_t n, int64_t bins,
                               double *edges, int64_t *used)
{
    far_status st;
    double *sorted = NULL;
    int64_t count;
    if (!edges || !used || bins < 0 || bins > FAR_BINS_MOST) {
        return far_fail(ctx, FAR_ERR_ARG, "edges or used is NULL, or bins = %lld not from 0 to %d",
                        (long long)bins, FAR_BINS_MOST);
    }
    FAR_TRY(far_finite_copy(ctx, values, n, true, &sorted, &count));
    if (!(sorted[count - 1] - sorted[0] < 1e300) || fabs(sorted[0]) > 1e300) {
        st = far_fail(ctx, FAR_ERR_VALUE, "values from %g to %g are too far apart for bins",
                      sorted[0], sorted[count - 1]);
        goto done;
    }
    choose_edges(sorted, count, bins, edges, used);
done:
    far_free(ctx, sorted);
    return st;
}

/* The bin of a value within the borders. */
static int64_t find_bin(const double *edges, int64_t bins, double value)
{
    int64_t low = 0, high = bins - 1;
    while (low < high) {
        int64_t middle = (low + high + 1) / 2;
        if (value >= edges[middle]) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

far_status far_histogram_count(far_ctx *ctx, const double *values, int64_t n, const double *edges,
                               int64_t bins, double *counts)
{
    if (n < 0 || (n > 0 && !values) || !edges || !counts || bins < 1) {
        return far_fail(ctx, FAR_ERR_ARG, "an array is NULL, or n or bins out of range");
    }
    for (int64_t i = 0; i < bins; i++) {
        if (!(edges[i] < edges[i + 1])) {
            return far_fail(ctx, FAR_ERR_ARG, "edges[%lld] is %g and the next %g: they ascend",
                            (long long)i, edges[i], edges[i + 1]);
        }
        counts[i] = 0;
    }
    for (int64_t i = 0; i < n; i++) {
        if (values[i] >= edges[0] && values[i] <= edges[bins]) {
            counts[find_bin(edges, bins, values[i])]++;
        }
    }
    return FAR_OK;
}
