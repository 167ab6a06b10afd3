#include "metric.h"

#include "../gram/gram.h"
#include "../solve/blas.h"
#include "../solve/solve_internal.h"
#include "regress_internal.h"

#include <math.h>
#include <string.h>

enum { BLOCK_ROWS = 256, LEAST_POINTS = 500, POINTS_PER_INPUT = 8 };
#define NOTHING 1e-14 /* times the largest, for each dimension: an eigenvalue that is rounding */

void far_metric_clear(far_ctx *ctx, far_metric *s)
{
    far_free(ctx, s->map);
    *s = (far_metric){0};
}

far_status far_metric_copy(far_ctx *ctx, const far_metric *s, far_metric *out)
{
    int64_t d = s->inputs, count = s->kind == FAR_METRIC_FULL ? d * d : d;
    *out = (far_metric){.kind = s->kind, .inputs = d};
    if (s->kind == FAR_METRIC_NONE) {
        return FAR_OK;
    }
    far_status st = far_alloc(ctx, count, &out->map);
    if (st == FAR_OK) {
        memcpy(out->map, s->map, (size_t)count * sizeof *s->map);
    }
    return st;
}

/* ---- z = S x --------------------------------------------------------------------------------- */

static void apply_diagonal(const far_metric *s, const far_mat *x, far_mat *z)
{
    for (int64_t i = 0; i < x->rows; i++) {
        const double *from = far_mat_row(x, i);
        double *to = far_mat_row(z, i);
        for (int64_t j = 0; j < x->cols; j++) {
            to[j] = s->kind == FAR_METRIC_NONE ? from[j] : s->map[j] * from[j];
        }
    }
}

/* By blocks of rows, each copied first: z may be x. */
static far_status apply_full(far_ctx *ctx, const far_metric *s, const far_mat *x, far_mat *z)
{
    int64_t d = x->cols;
    far_mat map = far_mat_view(s->map, d, d, FAR_F64);
    double *block = NULL;
    far_status st;
    FAR_TRY(far_alloc(ctx, BLOCK_ROWS * d, &block));
    for (int64_t first = 0; first < x->rows; first += BLOCK_ROWS) {
        int64_t rows = far_least(BLOCK_ROWS, x->rows - first);
        far_mat from = far_mat_view(block, rows, d, FAR_F64), to = *z;
        for (int64_t i = 0; i < rows; i++) {
            memcpy(block + i * d, far_mat_row(x, first + i), (size_t)d * sizeof *block);
        }
        to.data = far_mat_row(z, first);
        to.rows = rows;
        FAR_TRY(far_multiply(ctx, &from, &map, &to));
    }
done:
    far_free(ctx, block);
    return st;
}

far_status far_metric_apply(far_ctx *ctx, const far_metric *s, const far_mat *x, far_mat *z)
{
    far_status st;
    int64_t d = s->kind == FAR_METRIC_NONE ? -1 : s->inputs;
    FAR_TRY(far_mat_expect(ctx, x, "x", -1, d, FAR_F64));
    FAR_TRY(far_mat_expect(ctx, z, "z", x->rows, x->cols, FAR_F64));
    if (s->kind == FAR_METRIC_FULL) {
        return apply_full(ctx, s, x, z);
    }
    apply_diagonal(s, x, z);
done:
    return st;
}

/* ---- from gradients to the next map ---------------------------------------------------------- */

static double mean_square(const far_mat *x)
{
    double sum = 0;
    for (int64_t i = 0; i < x->rows; i++) {
        sum += far_dot(far_mat_row(x, i), far_mat_row(x, i), x->cols);
    }
    return sum / (double)(x->rows > 0 ? x->rows : 1);
}

/* The mean of |S x|^2 becomes that of |x|^2. */
static far_status rescale(far_ctx *ctx, const far_mat *x, far_metric *s)
{
    int64_t d = s->inputs, count = s->kind == FAR_METRIC_FULL ? d * d : d;
    double *mapped = NULL;
    far_status st;
    FAR_TRY(far_alloc(ctx, x->rows * d, &mapped));
    far_mat z = far_mat_view(mapped, x->rows, d, FAR_F64);
    FAR_TRY(far_metric_apply(ctx, s, x, &z));
    double now = mean_square(&z), factor = now > 0 ? sqrt(mean_square(x) / now) : 1;
    for (int64_t k = 0; k < count && factor > 0; k++) {
        s->map[k] *= factor;
    }
done:
    far_free(ctx, mapped);
    return st;
}

/* map = V (lambda / mean)^(power / 2) V' */
static far_status full_map(far_ctx *ctx, double power, double mean, const double *g, far_metric *s)
{
    int64_t d = s->inputs;
    double *copy = NULL, *values = NULL, *vectors = NULL;
    far_status st;
    FAR_TRY(far_alloc(ctx, d * d, &copy));
    FAR_TRY(far_alloc(ctx, d, &values));
    FAR_TRY(far_alloc(ctx, d * d, &vectors)); /* eigenvector k is row k */
    memcpy(copy, g, (size_t)(d * d) * sizeof *copy);
    FAR_TRY(far_dense_eigen(ctx, d, copy, d, 0, d, values, vectors));
    for (int64_t k = 0; k < d; k++) { /* half of the power on either side keeps it symmetric */
        bool counts = values[k] > NOTHING * (double)d * values[d - 1];
        double half = counts ? pow(values[k] / mean, power / 4) : 0;
        for (int64_t j = 0; j < d; j++) {
            vectors[k * d + j] *= half;
        }
    }
    memset(s->map, 0, (size_t)(d * d) * sizeof *s->map);
    far_blas_scope scope = far_blas_enter(far_ctx_threads(ctx));
    far_gemm('N', 'T', d, d, d, 1, vectors, d, vectors, d, s->map, d);
    far_blas_leave(scope);
    far_mirror_square(s->map, d, d);
done:
    FAR_FREE_ALL(ctx, copy, values, vectors);
    return st;
}

static void diagonal_map(double power, double mean, const double *g, far_metric *s)
{
    for (int64_t j = 0; j < s->inputs; j++) {
        double own = g[j * s->inputs + j] / mean;
        s->map[j] = own > 0 ? pow(own, power / 2) : 0;
    }
}

static far_status check_gradients(far_ctx *ctx, far_metric_kind kind, double power, const double *g,
                                  int64_t d, double *mean)
{
    if ((kind != FAR_METRIC_DIAGONAL && kind != FAR_METRIC_FULL) || !(power > 0 && power <= 4)) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "a metric is learnt as diagonal or full, with a power in (0, 4], not %d "
                        "with %g",
                        (int)kind, power);
    }
    for (int64_t k = 0; k < d * d; k++) {
        if (!isfinite(g[k])) {
            return far_fail(ctx, FAR_ERR_VALUE,
                            "the gradient's outer product has %g at (%lld, %lld)", g[k],
                            (long long)(k / d) + 1, (long long)(k % d) + 1);
        }
        *mean += k / d == k % d ? g[k] / (double)d : 0;
    }
    return FAR_OK;
}

far_status far_metric_from_gradients(far_ctx *ctx, far_metric_kind kind, double power,
                                     const double *g, const far_mat *x, far_metric *out)
{
    int64_t d = x->cols, count = kind == FAR_METRIC_FULL ? d * d : d;
    far_metric s = {.kind = kind, .inputs = d};
    double mean = 0;
    far_status st;
    *out = (far_metric){0};
    FAR_TRY(check_gradients(ctx, kind, power, g, d, &mean));
    FAR_TRY(far_alloc(ctx, count, &s.map));
    if (!(mean > 0)) { /* a constant: no input matters more than another */
        for (int64_t j = 0; j < d; j++) {
            s.map[kind == FAR_METRIC_FULL ? j * d + j : j] = 1;
        }
    } else if (kind == FAR_METRIC_FULL) {
        FAR_TRY(full_map(ctx, power, mean, g, &s));
    } else {
        diagonal_map(power, mean, g, &s);
    }
    FAR_TRY(rescale(ctx, x, &s));
    *out = s;
    s = (far_metric){0};
done:
    far_metric_clear(ctx, &s);
    return st;
}

/* ---- one round ------------------------------------------------------------------------------- */

/* alpha = (K + ridge I)^-1 y for the kernel of the rows of z; no refinement, since a map that is
 * off in its last digits is as good. */
static far_status solve(far_ctx *ctx, const far_kernel *k, double ridge, const far_mat *z,
                        const far_mat *y, double *alpha)
{
    int64_t n = z->rows, p = y->cols;
    far_kernel_points points = {.kernel = k, .x = *z, .kind = FAR_KERNEL_NTK};
    far_symmetric matrix = far_kernel_points_matrix(&points);
    far_system *s = NULL;
    double *columns = NULL;
    far_solve_opts opts;
    far_status st;
    far_solve_opts_init(&opts);
    opts.ridge = ridge;
    opts.extremes = 0;
    FAR_TRY(far_system_create(ctx, &matrix, &opts, &s));
    FAR_TRY(far_alloc(ctx, n * p, &columns));
    for (int64_t at = 0; at < n * p; at++) {
        columns[at] = ((const double *)far_mat_row(y, at % n))[at / n];
    }
    far_blas_scope scope = far_blas_enter(far_ctx_threads(ctx));
    far_lower_solve(&s->factor, columns, p, n);
    far_blas_leave(scope);
    for (int64_t at = 0; at < n * p; at++) {
        alpha[at % n * p + at / n] = columns[at];
    }
done:
    far_free(ctx, columns);
    far_system_destroy(s);
    return st;
}

/* Of every so-manieth row: where gradients are taken. */
static far_status take_points(far_ctx *ctx, const far_mat *z, int64_t count, far_mat *out)
{
    double *data = NULL;
    far_status st = far_alloc(ctx, count * z->cols, &data);
    *out = far_mat_view(data, count, z->cols, FAR_F64);
    for (int64_t i = 0; st == FAR_OK && i < count; i++) {
        memcpy(far_mat_row(out, i), far_mat_row(z, i * z->rows / count),
               (size_t)z->cols * sizeof(double));
    }
    return st;
}

/* G = S' H S of H = 1/n sum of grad grad', all gradients by z; gradients: (n p) x d. S is
 * symmetric.
 */
static far_status outer_product(far_ctx *ctx, const far_metric *from, const far_mat *gradients,
                                int64_t n, double *g)
{
    int64_t d = gradients->cols;
    far_mat back = *gradients;
    far_status st = far_metric_apply(ctx, from, gradients, &back);
    memset(g, 0, (size_t)(d * d) * sizeof *g);
    far_blas_scope scope = far_blas_enter(far_ctx_threads(ctx));
    far_gemm('N', 'T', d, d, gradients->rows, 1 / (double)n, back.data, d, back.data, d, g, d);
    far_blas_leave(scope);
    return st;
}

/* The mean over some hundreds of rows says what that over all would, and a gradient is as dear as a
 * row of the factor. */
static int64_t gradient_points(int64_t n, int64_t d)
{
    int64_t enough = POINTS_PER_INPUT * d;
    return far_least(n, enough > LEAST_POINTS ? enough : LEAST_POINTS);
}

far_status far_metric_learn(far_ctx *ctx, const far_kernel *k, double ridge, const far_metric *from,
                            far_metric_kind kind, double power, const far_mat *x, const far_mat *y,
                            far_metric *out)
{
    int64_t n = x->rows, d = x->cols, p = y->cols, m = gradient_points(n, d);
    double *mapped = NULL, *alpha = NULL, *gradients = NULL, *g = NULL;
    far_mat points = {0};
    far_status st;
    *out = (far_metric){0};
    FAR_TRY(far_mat_expect(ctx, y, "y", n, -1, FAR_F64));
    FAR_TRY(far_alloc(ctx, n * d, &mapped));
    FAR_TRY(far_alloc(ctx, n * p, &alpha));
    FAR_TRY(far_alloc(ctx, m * p * d, &gradients));
    FAR_TRY(far_alloc(ctx, d * d, &g));
    far_mat z = far_mat_view(mapped, n, d, FAR_F64), weights = far_mat_view(alpha, n, p, FAR_F64);
    far_mat slopes = far_mat_view(gradients, m, p * d, FAR_F64);
    far_mat each = far_mat_view(gradients, m * p, d, FAR_F64);
    FAR_TRY(far_metric_apply(ctx, from, x, &z));
    FAR_TRY(solve(ctx, k, ridge, &z, y, alpha));
    FAR_TRY(take_points(ctx, &z, m, &points));
    FAR_TRY(far_kernel_gradient(ctx, k, FAR_KERNEL_NTK, &points, &z, &weights, &slopes));
    FAR_TRY(outer_product(ctx, from, &each, m, g));
    FAR_TRY(far_metric_from_gradients(ctx, kind, power, g, x, out));
done:
    FAR_FREE_ALL(ctx, mapped, alpha, gradients, g, points.data);
    return st;
}
