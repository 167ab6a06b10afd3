/* Correlations, ranks, and the area under the ROC curve. */
#include "measure_internal.h"

#include <math.h>
#include <stdlib.h>

far_status far_check_numbers(far_ctx *ctx, const double *values, int64_t n, const char *name)
{
    if (!values) {
        return far_fail(ctx, FAR_ERR_ARG, "%s is NULL", name);
    }
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(values[i])) {
            return far_fail(ctx, FAR_ERR_VALUE, "%s: number %lld is %g", name, (long long)i + 1,
                            values[i]);
        }
    }
    return FAR_OK;
}

typedef struct entry {
    double value;
    int64_t place;
} entry;

static int by_value(const void *a, const void *b)
{
    double x = ((const entry *)a)->value, y = ((const entry *)b)->value;
    return (x > y) - (x < y);
}

/* Ranks from 1, those that tie share their mean. */
static far_status rank_numbers(far_ctx *ctx, const double *x, int64_t n, double *ranks)
{
    entry *sorted = NULL;
    far_status st;
    FAR_TRY(far_alloc(ctx, n, &sorted));
    for (int64_t i = 0; i < n; i++) {
        sorted[i] = (entry){x[i], i};
    }
    qsort(sorted, (size_t)n, sizeof *sorted, by_value);
    for (int64_t i = 0, next; i < n; i = next) {
        for (next = i + 1; next < n && sorted[next].value == sorted[i].value; next++) {
        }
        for (int64_t k = i; k < next; k++) {
            ranks[sorted[k].place] = (double)(i + next + 1) / 2;
        }
    }
done:
    far_free(ctx, sorted);
    return st;
}

far_status far_roc_auc(far_ctx *ctx, const double *scores, const unsigned char *classes, int64_t n,
                       double *auc)
{
    double *ranks = NULL, sum = 0, ones = 0;
    far_status st;
    FAR_TRY(far_check_numbers(ctx, scores, n, "scores"));
    FAR_TRY(far_alloc(ctx, n, &ranks));
    FAR_TRY(rank_numbers(ctx, scores, n, ranks));
    for (int64_t i = 0; i < n; i++) {
        sum += classes[i] ? ranks[i] : 0;
        ones += classes[i] ? 1 : 0;
    }
    double zeros = (double)n - ones;
    if (ones == 0 || zeros == 0) {
        st = far_fail(ctx, FAR_ERR_VALUE, "classes: all %lld are %d, so nothing can be told apart",
                      (long long)n, ones > 0);
        goto done;
    }
    *auc = (sum - ones * (ones + 1) / 2) / (ones * zeros);
done:
    far_free(ctx, ranks);
    return st;
}

static double mean_of(const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += x[i] / (double)n;
    }
    return sum;
}

/* NAN where one is constant, up to the rounding of its mean. */
static double correlation(const double *x, const double *y, int64_t n)
{
    double x_mean = mean_of(x, n), y_mean = mean_of(y, n), xx = 0, yy = 0, xy = 0;
    for (int64_t i = 0; i < n; i++) {
        xx += (x[i] - x_mean) * (x[i] - x_mean);
        yy += (y[i] - y_mean) * (y[i] - y_mean);
        xy += (x[i] - x_mean) * (y[i] - y_mean);
    }
    double nothing = 1e-28 * (double)n;
    bool flat = xx <= nothing * x_mean * x_mean || yy <= nothing * y_mean * y_mean;
    return flat ? NAN : fmax(-1, fmin(xy / sqrt(xx) / sqrt(yy), 1));
}

static far_status check_pair(far_ctx *ctx, const double *x, const double *y, int64_t n)
{
    far_status st;
    if (n < 2) {
        return far_fail(ctx, FAR_ERR_ARG, "a correlation takes 2 pairs of numbers or more");
    }
    FAR_TRY(far_check_numbers(ctx, x, n, "x"));
    FAR_TRY(far_check_numbers(ctx, y, n, "y"));
done:
    return st;
}

far_status far_correlation(far_ctx *ctx, far_correlation_kind kind, const double *x,
                           const double *y, int64_t n, double *r)
{
    double *ranks = NULL;
    far_status st;
    FAR_TRY(check_pair(ctx, x, y, n));
    if (kind == FAR_SPEARMAN) {
        FAR_TRY(far_alloc(ctx, 2 * n, &ranks));
        FAR_TRY(rank_numbers(ctx, x, n, ranks));
        FAR_TRY(rank_numbers(ctx, y, n, ranks + n));
    }
    *r = ranks ? correlation(ranks, ranks + n, n) : correlation(x, y, n);
done:
    far_free(ctx, ranks);
    return st;
}
