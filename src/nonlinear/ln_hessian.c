/* H of LN and of grouped LN, in closed form. */
#include "nonlinear_internal.h"

#include <math.h>

static double largest(int64_t n, const double *x, double pivot)
{
    double size = 0;
    for (int64_t j = 0; j < n; j++) {
        size = fmax(size, fabs(x[j] - pivot));
    }
    return size;
}

/* Variance of x / size; x is finite and size > 0 at least its largest difference from x[0]. */
static double variance(int64_t n, const double *x, double size)
{
    double mean = 0, sum = 0;
    for (int64_t j = 0; j < n; j++) {
        mean += (x[j] - x[0]) / size / (double)n;
    }
    for (int64_t j = 0; j < n; j++) {
        double c = (x[j] - x[0]) / size - mean;
        sum += c * c / (double)n;
    }
    return sum;
}

/* v r^6 / n (3 (n - 2) + 9 eps^2 r^4), of the numbers over their size: H falls like size^-4. */
static double group_hessian(int64_t n, const double *x, double eps)
{
    if (n == 1) {
        return 0;
    }
    double size = largest(n, x, x[0]);
    if (size == 0) {
        return eps > 0 ? 0 : INFINITY;
    }
    double v = variance(n, x, size), e = eps / size / size, share = v / (v + e);
    double bend = share * (3 * (double)(n - 2) + 9 * (1 - share) * (1 - share)) / (double)n;
    double square = v * size * size + eps;
    return bend > 0 ? bend / square / square : 0; /* square may be 0, or beyond range */
}

static double row_hessian(int64_t d, int64_t groups, const double *x, double eps)
{
    double sum = 0;
    for (int64_t k = 0, n = d / groups; k < groups; k++) {
        sum += group_hessian(n, x + k * n, eps);
    }
    return sum;
}

static far_status check_groups(far_ctx *ctx, int64_t d, int64_t groups)
{
    if (groups < 1) {
        return far_fail(ctx, FAR_ERR_ARG, "%lld groups; there must be at least 1",
                        (long long)groups);
    }
    if (d % groups != 0) {
        return far_fail(ctx, FAR_ERR_SHAPE, "%lld groups do not divide %lld features",
                        (long long)groups, (long long)d);
    }
    return FAR_OK;
}

far_status far_ln_hessian(far_ctx *ctx, const far_mat *x, int64_t groups, double eps, far_mat *h)
{
    far_status st = FAR_OK;
    FAR_TRY(far_check_matrix(ctx, x, "x", -1, -1));
    FAR_TRY(far_check_matrix(ctx, h, "h", x->rows, 1));
    FAR_TRY(check_groups(ctx, x->cols, groups));
    FAR_TRY(far_check_finite(ctx, x, "x"));
    if (!(eps >= 0) || isinf(eps)) {
        return far_fail(ctx, FAR_ERR_ARG, "eps is %g; it must be at least 0", eps);
    }
    for (int64_t i = 0; i < x->rows; i++) {
        *(double *)far_mat_row(h, i) = row_hessian(x->cols, groups, far_mat_row(x, i), eps);
    }
done:
    return st;
}

/* ---- amplification ------------------------------------------------------------------------- */

/* H of every group over H of the whole, from variances of numbers of one size: neither H need be in
 * range. */
static double amplification(int64_t d, int64_t groups, const double *x)
{
    int64_t n = d / groups;
    double size = largest(d, x, x[0]), sum = 0;
    if (size == 0) {
        return NAN;
    }
    double whole = variance(d, x, size), unit = 3 * (double)(d - 2) / (double)d;
    for (int64_t k = 0; k < groups && n > 2; k++) {
        double ratio = whole / variance(n, x + k * n, size);
        sum += 3 * (double)(n - 2) / (double)n * ratio * ratio;
    }
    return sum / unit;
}

static far_status check_amplification(far_ctx *ctx, int64_t d, int64_t groups, const far_mat *x,
                                      const far_mat *ratio)
{
    far_status st = FAR_OK;
    if (d < 3) {
        return far_fail(ctx, FAR_ERR_ARG, "LN of %lld features has H = 0: take at least 3",
                        (long long)d);
    }
    FAR_TRY(check_groups(ctx, d, groups));
    if (x || ratio) {
        FAR_TRY(far_check_matrix(ctx, x, "x", -1, d));
        FAR_TRY(far_check_matrix(ctx, ratio, "ratio", x->rows, 1));
        FAR_TRY(far_check_finite(ctx, x, "x"));
    }
done:
    return st;
}

far_status far_ln_amplification(far_ctx *ctx, int64_t d, int64_t groups, const far_mat *x,
                                far_mat *ratio, double *bound)
{
    far_status st = check_amplification(ctx, d, groups, x, ratio);
    if (st != FAR_OK) {
        return st;
    }
    for (int64_t i = 0; x && i < x->rows; i++) {
        *(double *)far_mat_row(ratio, i) = amplification(d, groups, far_mat_row(x, i));
    }
    if (bound) {
        double g = (double)groups, n = (double)d;
        *bound = g * fmax(n - 2 * g, 0) / (n - 2);
    }
    return FAR_OK;
}
