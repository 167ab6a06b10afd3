/* How well a kernel agrees with targets. */
#include "measure_internal.h"

#include <math.h>

#define NOTHING 1e-13 /* what is left after centring, of what was there, that counts as nothing */

/* |Y Y'|_F from the inner products of the columns. */
static double outer_norm(const double *y, int64_t n, int64_t q)
{
    double squares = 0;
    for (int64_t a = 0; a < q; a++) {
        for (int64_t b = 0; b < q; b++) {
            double inner = far_dot(y + a * n, y + b * n, n);
            squares += inner * inner;
        }
    }
    return sqrt(squares);
}

/* sum over columns of y'Ky. */
static far_status quadratic(far_ctx *ctx, const far_view *v, const double *y, int64_t q,
                            double *out)
{
    int64_t n = v->info.rows;
    double *product = NULL;
    far_status st;
    *out = 0;
    FAR_TRY(far_alloc(ctx, n, &product));
    for (int64_t c = 0; c < q; c++) {
        FAR_TRY(far_view_multiply(ctx, v, y + c * n, product));
        *out += far_dot(y + c * n, product, n);
    }
done:
    far_free(ctx, product);
    return st;
}

static void centre(double *y, int64_t n, int64_t q)
{
    for (int64_t c = 0; c < q; c++) {
        double mean = 0;
        for (int64_t i = 0; i < n; i++) {
            mean += y[c * n + i] / (double)n;
        }
        for (int64_t i = 0; i < n; i++) {
            y[c * n + i] -= mean;
        }
    }
}

/* The sum of the squares of n targets, which are scaled: all that is said of them is the same at
 * any scale. */
static far_status square(far_ctx *ctx, double *y, int64_t n, double *squares)
{
    far_scale_to_one(y, n);
    *squares = far_dot(y, y, n);
    return *squares > 0 ? FAR_OK
                        : far_fail(ctx, FAR_ERR_VALUE,
                                   "targets: all are 0, as constant ones are once they are "
                                   "standardised; nothing can be aligned with them");
}

/* y is centred in place. */
static far_status align_centred(far_ctx *ctx, const far_view *v, double *y, int64_t q, double whole,
                                double *kta)
{
    int64_t n = v->info.rows;
    double product = 0;
    far_status st = FAR_OK;
    *kta = NAN;
    centre(y, n, q);
    if (far_dot(y, y, n * q) > NOTHING * NOTHING * whole &&
        v->info.centred_frobenius > NOTHING * v->info.frobenius) {
        FAR_TRY(quadratic(ctx, v, y, q, &product));
        *kta = product / v->info.centred_frobenius / outer_norm(y, n, q);
    }
done:
    return st;
}

far_status far_view_align(far_ctx *ctx, far_view *view, const far_mat *targets, far_alignment *out)
{
    double *y = NULL, product, squares;
    far_alignment a = {.kta = NAN, .centred_kta = NAN, .frobenius = view->info.frobenius};
    far_status st;
    FAR_TRY(far_view_take(ctx, view, targets, NULL, "targets", &y));
    FAR_TRY(square(ctx, y, targets->rows * targets->cols, &squares));
    FAR_TRY(quadratic(ctx, view, y, targets->cols, &product));
    a.rayleigh = product / squares;
    if (a.frobenius > 0) { /* not NAN, not 0 */
        a.kta = product / a.frobenius / outer_norm(y, targets->rows, targets->cols);
        FAR_TRY(align_centred(ctx, view, y, targets->cols, squares, &a.centred_kta));
    }
    *out = a;
done:
    far_free(ctx, y);
    return st;
}

/* ---- along eigenvectors ---- */

static double share(const double *u, const double *y, int64_t n, int64_t q)
{
    double sum = 0;
    for (int64_t c = 0; c < q; c++) {
        double inner = far_dot(u, y + c * n, n);
        sum += inner * inner;
    }
    return sum;
}

far_status far_view_cosines(far_ctx *ctx, far_view *view, const far_mat *targets, int64_t count,
                            double *cosines, double *cumulative)
{
    double *y = NULL, squares, sum = 0;
    far_spectrum s;
    far_status st;
    FAR_TRY(far_view_take(ctx, view, targets, NULL, "targets", &y));
    FAR_TRY(square(ctx, y, targets->rows * targets->cols, &squares));
    FAR_TRY(far_view_spectrum(ctx, view, count, 1, &s));
    for (int64_t j = 0; j < s.count; j++) {
        double cosine = fmin(share(s.vectors + j * s.rows, y, s.rows, targets->cols) / squares, 1);
        sum += cosine;
        if (cosines) {
            cosines[j] = cosine;
        }
        if (cumulative) {
            cumulative[j] = fmin(sum, 1);
        }
    }
done:
    far_free(ctx, y);
    return st;
}

far_status far_view_coefficients(far_ctx *ctx, far_view *view, const far_mat *targets,
                                 const far_mat *start, double *squares)
{
    double *y = NULL;
    far_spectrum s;
    far_status st;
    FAR_TRY(far_view_take(ctx, view, targets, start, "targets", &y));
    FAR_TRY(far_view_spectrum(ctx, view, 0, 1, &s));
    for (int64_t j = 0; j < s.count; j++) {
        squares[j] = share(s.vectors + j * s.rows, y, s.rows, targets->cols);
        squares[j] /= (double)view->info.points;
    }
done:
    far_free(ctx, y);
    return st;
}

far_status far_view_task(far_ctx *ctx, far_view *view, int64_t index, far_mat *labels)
{
    far_spectrum s;
    far_status st;
    FAR_TRY(far_check_matrix(ctx, labels, "labels", view->info.rows, 1));
    if (index < 1 || index > view->info.rows) {
        return far_fail(ctx, FAR_ERR_ARG, "eigenvector %lld of a kernel with %lld rows",
                        (long long)index, (long long)view->info.rows);
    }
    FAR_TRY(far_view_spectrum(ctx, view, index, 1, &s));
    const double *u = s.vectors + (index - 1) * s.rows;
    for (int64_t i = 0; i < s.rows; i++) {
        far_put(labels, i, 0, u[i] < 0 ? -1 : 1);
    }
done:
    return st;
}
