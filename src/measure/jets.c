/* Derivatives of a kernel on its diagonal, and the Cauchy model made of them. */
#include "measure_internal.h"

#include <math.h>

far_status far_pair_of(far_ctx *ctx, void *user, const far_mat *x1, const far_mat *x2, far_mat *out)
{
    const far_any_kernel *k = user;
    bool nngp = k->kind == FAR_KERNEL_NNGP;
    return k->kernel ? far_kernel_eval(ctx, k->kernel, x1, x2, FAR_FILL_FULL, nngp ? out : NULL,
                                       nngp ? NULL : out)
                     : far_net_ntk(ctx, k->net, x1, x2, k->opts, out);
}

far_status far_check_any(far_ctx *ctx, const far_any_kernel *k)
{
    return k && (k->kernel || k->net) ? FAR_OK : far_fail(ctx, FAR_ERR_ARG, "the kernel is NULL");
}

/* ---- by differences ---- */

/* Row 0 is x, rows 1 + 2 i and 2 + 2 i are x + step e_i and x - step e_i. */
static void fill_stencil(const double *x, int64_t d, double step, double *points)
{
    for (int64_t r = 0; r < 2 * d + 1; r++) {
        for (int64_t k = 0; k < d; k++) {
            points[r * d + k] = x[k];
        }
        if (r > 0) {
            points[r * d + (r - 1) / 2] += r % 2 ? step : -step;
        }
    }
}

static void write_jet(const double *k, int64_t d, double step, double *gradient, double *h)
{
    int64_t n = 2 * d + 1;
    for (int64_t i = 0; i < d; i++) {
        int64_t up = 1 + 2 * i, down = 2 + 2 * i;
        gradient[i] = (k[up * n + up] - k[down * n + down]) / (2 * step);
        for (int64_t j = 0; j < d; j++) {
            int64_t right = 1 + 2 * j, left = 2 + 2 * j;
            h[i * d + j] =
                (k[up * n + right] - k[up * n + left] - k[down * n + right] + k[down * n + left]) /
                (4 * step * step);
        }
    }
}

static far_status check_jets(far_ctx *ctx, const far_mat *x, double step, const far_mat *a2,
                             const far_mat *d, const far_mat *h)
{
    far_status st;
    if (!(step > 0 && step < INFINITY)) {
        return far_fail(ctx, FAR_ERR_ARG, "step is %g but must be positive", step);
    }
    FAR_TRY(far_check_matrix(ctx, x, "x", -1, -1));
    FAR_TRY(far_check_finite(ctx, x, "x"));
    FAR_TRY(far_check_matrix(ctx, a2, "a2", x->rows, 1));
    FAR_TRY(far_check_matrix(ctx, d, "d", x->rows, x->cols));
    FAR_TRY(far_check_matrix(ctx, h, "h", x->rows, x->cols * x->cols));
done:
    return st;
}

/* A stencil of 2 d + 1 points around each row: the kernel among them has all differences, of either
 * argument, that a jet needs. */
far_status far_jets_of(far_ctx *ctx, far_pair_fn pair, void *user, const far_mat *x, double step,
                       far_mat *a2, far_mat *d, far_mat *h)
{
    double *points = NULL, *block = NULL;
    far_status st;
    FAR_TRY(check_jets(ctx, x, step, a2, d, h));
    int64_t dimension = x->cols, n = 2 * dimension + 1;
    FAR_TRY(far_alloc(ctx, n * dimension, &points));
    FAR_TRY(far_alloc(ctx, n * n, &block));
    far_mat stencil = far_mat_view(points, n, dimension, FAR_F64);
    far_mat values = far_mat_view(block, n, n, FAR_F64);
    for (int64_t i = 0; i < x->rows; i++) {
        FAR_TRY(far_progress(ctx, "jets", i, x->rows));
        fill_stencil(far_mat_row(x, i), dimension, step, points);
        far_progress_hold(ctx);
        st = pair(ctx, user, &stencil, &stencil, &values);
        far_progress_release(ctx);
        FAR_TRY(st);
        far_put(a2, i, 0, block[0]);
        write_jet(block, dimension, step, far_mat_row(d, i), far_mat_row(h, i));
    }
    FAR_TRY(far_progress(ctx, "jets", x->rows, x->rows));
done:
    far_free(ctx, points);
    far_free(ctx, block);
    return st;
}

far_status far_local_jets(far_ctx *ctx, const far_any_kernel *kernel, const far_mat *x, double step,
                          far_mat *a2, far_mat *d, far_mat *h)
{
    far_status st = far_check_any(ctx, kernel);
    return st == FAR_OK ? far_jets_of(ctx, far_pair_of, (void *)kernel, x, step, a2, d, h) : st;
}

/* ---- from features ---- */

far_status far_local_jet_exact(far_ctx *ctx, const double *g, const far_mat *jacobian, double *a2,
                               double *gradient, double *h)
{
    far_status st = far_check_matrix(ctx, jacobian, "jacobian", -1, -1);
    if (st != FAR_OK) {
        return st;
    }
    int64_t d = jacobian->cols;
    *a2 = far_dot(g, g, jacobian->rows);
    for (int64_t i = 0; i < d; i++) {
        gradient[i] = 0;
        for (int64_t j = 0; j < d; j++) {
            h[i * d + j] = 0;
        }
    }
    for (int64_t p = 0; p < jacobian->rows; p++) {
        const double *row = far_mat_row(jacobian, p);
        for (int64_t i = 0; i < d; i++) {
            gradient[i] += 2 * g[p] * row[i];
            for (int64_t j = 0; j < d; j++) {
                h[i * d + j] += row[i] * row[j];
            }
        }
    }
    return FAR_OK;
}

/* ---- the Cauchy model ---- */

/* l := Cholesky factor of h, by rows; false if h is not positive definite. */
static bool factor(const double *h, int64_t d, double *l)
{
    for (int64_t i = 0; i < d; i++) {
        for (int64_t j = 0; j <= i; j++) {
            double rest = h[i * d + j] - far_dot(l + i * d, l + j * d, j);
            if (i == j && !(rest > 0 && rest < INFINITY)) {
                return false;
            }
            l[i * d + j] = i == j ? sqrt(rest) : rest / l[j * d + j];
        }
    }
    return true;
}

/* D' H^-1 D = |L^-1 D|^2. */
static double whitened_square(const double *l, const double *gradient, int64_t d, double *z)
{
    for (int64_t i = 0; i < d; i++) {
        z[i] = (gradient[i] - far_dot(l + i * d, z, i)) / l[i * d + i];
    }
    return far_dot(z, z, d);
}

static far_status check_cauchy(far_ctx *ctx, int64_t d, double a2, double c_inf)
{
    if (d < 1 || !(a2 > 0 && a2 < INFINITY)) {
        return far_fail(ctx, FAR_ERR_ARG, "a jet of %lld dimension%s with K(x, x) = %g",
                        (long long)d, far_plural(d), a2);
    }
    if (!(c_inf > -1 && c_inf < 1)) {
        return far_fail(ctx, FAR_ERR_ARG, "c_inf is %g but must lie between -1 and 1", c_inf);
    }
    return FAR_OK;
}

far_status far_local_cauchy(far_ctx *ctx, int64_t dimension, double a2, const double *gradient,
                            const double *h, double c_inf, far_cauchy *out)
{
    double *l = NULL, root = 0, c = (1 + c_inf) / 2, rise = (1 - c) / c;
    far_status st;
    FAR_TRY(check_cauchy(ctx, dimension, a2, c_inf));
    FAR_TRY(far_alloc(ctx, dimension * (dimension + 1), &l));
    if (!factor(h, dimension, l)) {
        st = far_fail(ctx, FAR_ERR_SINGULAR,
                      "H is not positive definite: the kernel does not vary in some direction");
        goto done;
    }
    out->delta = whitened_square(l, gradient, dimension, l + dimension * dimension);
    for (int64_t i = 0; i < dimension; i++) {
        root += 2 * log(l[i * dimension + i]) / (double)dimension;
    }
    out->xi = sqrt((rise * 2 * a2 + rise * rise / 4 * out->delta) / exp(root));
    out->min_c = -out->delta / (8 * a2 - out->delta);
done:
    far_free(ctx, l);
    return st;
}
