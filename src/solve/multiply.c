/* Products of matrices, and with a symmetric matrix that is never held whole. */
#include "blas.h"
#include "solve_internal.h"

#include <string.h>

enum { BLOCK_ROWS = 256 };

static far_status check(far_ctx *ctx, const far_mat *a, const far_mat *b, const far_mat *out)
{
    far_status st;
    FAR_TRY(far_mat_check(ctx, a, "a"));
    FAR_TRY(far_mat_check(ctx, b, "b"));
    FAR_TRY(far_mat_check(ctx, out, "out"));
    if (a->dtype != FAR_F64 || b->dtype != FAR_F64 || out->dtype != FAR_F64) {
        return far_fail(ctx, FAR_ERR_ARG, "a product takes float64 matrices");
    }
    if (a->cols != b->rows || out->rows != a->rows || out->cols != b->cols) {
        return far_fail(ctx, FAR_ERR_SHAPE, "%lld x %lld times %lld x %lld into %lld x %lld",
                        (long long)a->rows, (long long)a->cols, (long long)b->rows,
                        (long long)b->cols, (long long)out->rows, (long long)out->cols);
    }
    FAR_TRY(far_blas_fits(ctx, a->rows));
    FAR_TRY(far_blas_fits(ctx, a->cols > a->ld ? a->cols : a->ld));
    FAR_TRY(far_blas_fits(ctx, b->cols > b->ld ? b->cols : b->ld));
done:
    return st;
}

/* With one row or none ld may be anything. */
static int64_t stride(const far_mat *m)
{
    int64_t least = m->cols > 0 ? m->cols : 1;
    return m->ld > least ? m->ld : least;
}

static void clear(far_mat *m)
{
    for (int64_t i = 0; i < m->rows; i++) {
        memset(far_mat_row(m, i), 0, (size_t)m->cols * sizeof(double));
    }
}

/* By columns, as BLAS sees them, this is out^T = b^T a^T. */
static void multiply(const far_mat *a, const far_mat *b, far_mat *out)
{
    clear(out);
    far_gemm('N', 'N', b->cols, a->rows, a->cols, 1, b->data, stride(b), a->data, stride(a),
             out->data, stride(out));
}

far_status far_multiply(far_ctx *ctx, const far_mat *a, const far_mat *b, far_mat *out)
{
    far_status st = check(ctx, a, b, out);
    if (st == FAR_OK) {
        far_blas_scope scope = far_blas_enter(far_ctx_threads(ctx));
        multiply(a, b, out);
        far_blas_leave(scope);
    }
    return st;
}

static far_status check_symmetric(far_ctx *ctx, const far_symmetric *a, const far_mat *b,
                                  const far_mat *out)
{
    far_status st;
    if (!ctx) {
        return FAR_ERR_ARG;
    }
    FAR_TRY(far_check_symmetric(ctx, a));
    FAR_TRY(far_check_matrix(ctx, b, "b", a->n, -1));
    FAR_TRY(far_check_matrix(ctx, out, "out", a->n, b->cols));
done:
    return st;
}

far_status far_symmetric_multiply(far_ctx *ctx, const far_symmetric *a, const far_mat *b,
                                  far_mat *out)
{
    far_status st;
    double *block = NULL;
    FAR_TRY(check_symmetric(ctx, a, b, out));
    int64_t n = a->n;
    FAR_TRY(far_alloc(ctx, BLOCK_ROWS * n, &block));
    for (int64_t i = 0; i < n; i += BLOCK_ROWS) {
        int64_t rows = n - i < BLOCK_ROWS ? n - i : BLOCK_ROWS;
        far_mat left = far_mat_view(block, rows, n, FAR_F64), part = *out;
        part.data = far_mat_row(out, i);
        part.rows = rows;
        FAR_TRY(far_block_get(ctx, a, i, 0, rows, n, block, n));
        if (rows == n) { /* asked for as a square, it may come as one triangle */
            far_mirror_square(block, n, n);
        }
        FAR_TRY(far_multiply(ctx, &left, b, &part));
    }
done:
    far_free(ctx, block);
    return st;
}
