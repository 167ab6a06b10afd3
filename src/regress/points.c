/* The kernel of a network over points, as the solver asks for it. */
#include "regress_internal.h"

#include <string.h>

far_status far_kernel_eval_kind(far_ctx *ctx, const far_kernel *k, far_kernel_kind kind,
                                const far_mat *a, const far_mat *b, far_mat *out)
{
    bool nngp = kind == FAR_KERNEL_NNGP;
    return far_kernel_eval(ctx, k, a, b, b ? FAR_FILL_FULL : FAR_FILL_LOWER, nngp ? out : NULL,
                           nngp ? NULL : out);
}

static far_mat rows_of(const far_mat *x, int64_t first, int64_t count)
{
    far_mat rows = *x;
    rows.data = far_mat_row(x, first);
    rows.rows = count;
    return rows;
}

static far_status kernel_block(far_ctx *ctx, void *user, int64_t row, int64_t col, far_mat *out)
{
    far_kernel_points *p = user;
    double start = far_seconds();
    far_mat a = rows_of(&p->x, row, out->rows), b = rows_of(&p->x, col, out->cols);
    bool symmetric = row == col && out->rows == out->cols;
    far_progress_hold(ctx);
    far_status st = far_kernel_eval_kind(ctx, p->kernel, p->kind, &a, symmetric ? NULL : &b, out);
    far_progress_release(ctx);
    p->seconds += far_seconds() - start;
    return st;
}

far_symmetric far_kernel_points_matrix(far_kernel_points *p)
{
    return (far_symmetric){.n = p->x.rows, .block = kernel_block, .user = p};
}

/* ---- a kernel's matrix that is at hand ---- */

static far_status stored_block(far_ctx *ctx, void *user, int64_t row, int64_t col, far_mat *out)
{
    const far_mat *k = user;
    (void)ctx;
    for (int64_t i = 0; i < out->rows; i++) {
        memcpy(far_mat_row(out, i), (const double *)far_mat_row(k, row + i) + col,
               (size_t)out->cols * sizeof(double));
    }
    return FAR_OK;
}

far_symmetric far_stored_matrix(far_mat *k)
{
    return (far_symmetric){.n = k->rows, .block = stored_block, .user = k};
}
