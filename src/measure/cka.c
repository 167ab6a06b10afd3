/* Two kernels side by side. */
#include "measure_internal.h"

#include <math.h>

#define NOTHING 1e-13 /* what is left after centring, of what was there, that counts as nothing */

/* <HKH, HBH> = sum of K_ij (HBH)_ij, but both are centred: less is lost to rounding. */
static double inner_product(const far_view *a, const far_view *b)
{
    double sum = 0;
    for (int64_t i = 0; i < a->info.rows; i++) {
        const double *x = far_view_row(a, i), *y = far_view_row(b, i);
        double x_shift = a->mean - a->row_means[i], y_shift = b->mean - b->row_means[i];
        for (int64_t j = 0; j < a->info.rows; j++) {
            sum += (x[j] - a->row_means[j] + x_shift) * (y[j] - b->row_means[j] + y_shift);
        }
    }
    return sum;
}

static bool is_flat(const far_view *v)
{
    return !(v->info.centred_frobenius > NOTHING * v->info.frobenius);
}

far_status far_view_cka(far_ctx *ctx, const far_view *view, const far_mat *b, double *cka)
{
    far_view *other = NULL;
    far_status st;
    FAR_TRY(far_view_needs_matrix(ctx, view, "CKA"));
    FAR_TRY(far_check_matrix(ctx, b, "b", view->info.rows, view->info.rows));
    FAR_TRY(far_view_create(ctx, b, 0, &other));
    *cka = NAN;
    if (!is_flat(view) && !is_flat(other)) {
        *cka = inner_product(view, other) / view->info.centred_frobenius /
               other->info.centred_frobenius;
    }
done:
    far_view_destroy(other);
    return st;
}

static double squared_distance(const far_mat *m, int64_t i, int64_t j)
{
    double sum = 0;
    for (int64_t c = 0; c < m->cols; c++) {
        double gap = far_at(m, i, c) - far_at(m, j, c);
        sum += gap * gap;
    }
    return sum;
}

far_status far_target_kernel(far_ctx *ctx, const far_mat *targets, double width, far_mat *out)
{
    far_status st;
    FAR_TRY(far_check_matrix(ctx, targets, "targets", -1, -1));
    FAR_TRY(far_check_finite(ctx, targets, "targets"));
    FAR_TRY(far_check_matrix(ctx, out, "out", targets->rows, targets->rows));
    if (!(width > 0 && width < INFINITY)) {
        return far_fail(ctx, FAR_ERR_ARG, "width is %g but must be positive", width);
    }
    for (int64_t i = 0; i < targets->rows; i++) {
        for (int64_t j = 0; j <= i; j++) {
            double value = exp(-squared_distance(targets, i, j) / (2 * width * width));
            far_put(out, i, j, value);
            far_put(out, j, i, value);
        }
    }
done:
    return st;
}
