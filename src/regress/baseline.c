#include "baseline_internal.h"

#include "../solve/solve_internal.h"

far_status far_baseline_check(far_ctx *ctx, const far_mat *x, const far_mat *y, const far_mat *xt,
                              const far_mat *out)
{
    far_status st;
    if (!ctx) {
        return FAR_ERR_ARG;
    }
    FAR_TRY(far_check_matrix(ctx, x, "x", -1, -1));
    if (x->rows == 0) {
        return far_fail(ctx, FAR_ERR_SHAPE, "x has no rows; there is nothing to learn from");
    }
    FAR_TRY(far_check_matrix(ctx, y, "y", x->rows, 1));
    FAR_TRY(far_check_matrix(ctx, xt, "xt", -1, x->cols));
    FAR_TRY(far_check_matrix(ctx, out, "out", xt->rows, 1));
    FAR_TRY(far_check_finite(ctx, x, "x"));
    FAR_TRY(far_check_finite(ctx, y, "y"));
    FAR_TRY(far_check_finite(ctx, xt, "xt"));
done:
    return st;
}
