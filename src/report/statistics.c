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
