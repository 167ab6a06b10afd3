/*
 * L^-1, L^-T and L L^T times a few columns, block row by block row. All but the diagonal blocks is
 * a product with a panel, which BLAS spreads over threads; its own triangular solves it does not.
 */
#include "blas.h"
#include "solve_internal.h"

#include <string.h>

#define COLUMNS_FOR_GEMM 4 /* fewer are faster one by one */

/* out += alpha P in (trans 'T') or alpha P^T in ('N'), where P = L[i.., first..i) of one block row.
 */
static void panel_times(const far_lower *l, int64_t first, int64_t i, char trans, double alpha,
                        const double *in, double *out, int64_t p, int64_t ldb)
{
    int64_t cols = i - first, rows = far_lower_next(l, i) - i, ld = far_lower_ld(l, i);
    const double *panel = far_lower_at(l, i, first);
    if (p >= COLUMNS_FOR_GEMM) {
        int64_t outs = trans == 'T' ? rows : cols;
        far_gemm(trans, 'N', outs, p, rows + cols - outs, alpha, panel, ld, in, ldb, out, ldb);
        return;
    }
    for (int64_t c = 0; c < p; c++) {
        far_gemv(trans, cols, rows, alpha, panel, ld, in + c * ldb, out + c * ldb);
    }
}

void far_lower_forward(const far_lower *l, int64_t first, double *b, int64_t p, int64_t ldb)
{
    for (int64_t i = first; i < l->n; i = far_lower_next(l, i)) {
        double *own = b + (i - first);
        panel_times(l, first, i, 'T', -1, b, own, p, ldb);
        far_trsm('T', far_lower_next(l, i) - i, p, far_lower_at(l, i, i), far_lower_ld(l, i), own,
                 ldb);
    }
}

void far_lower_backward(const far_lower *l, double *b, int64_t p, int64_t ldb)
{
    for (int64_t i = (l->n - 1) / l->side * l->side; i >= 0; i -= l->side) {
        far_trsm('N', far_lower_next(l, i) - i, p, far_lower_at(l, i, i), far_lower_ld(l, i), b + i,
                 ldb);
        panel_times(l, 0, i, 'N', -1, b + i, b, p, ldb);
    }
}

void far_lower_solve(const far_lower *l, double *b, int64_t p, int64_t ldb)
{
    far_lower_forward(l, 0, b, p, ldb);
    far_lower_backward(l, b, p, ldb);
}

/* y = L^T x, first to last: block i of x is needed by the blocks of y up to i. */
static void multiply_transposed(const far_lower *l, const double *x, double *y)
{
    for (int64_t i = 0; i < l->n; i = far_lower_next(l, i)) {
        int64_t rows = far_lower_next(l, i) - i;
        memcpy(y + i, x + i, (size_t)rows * sizeof *y);
        far_trmv('N', rows, far_lower_at(l, i, i), far_lower_ld(l, i), y + i);
        panel_times(l, 0, i, 'N', 1, x + i, y, 1, l->n);
    }
}

void far_lower_multiply(const far_lower *l, const double *x, double *y)
{
    multiply_transposed(l, x, y);
    for (int64_t i = (l->n - 1) / l->side * l->side; i >= 0; i -= l->side) {
        far_trmv('T', far_lower_next(l, i) - i, far_lower_at(l, i, i), far_lower_ld(l, i), y + i);
        panel_times(l, 0, i, 'T', 1, y, y + i, 1, l->n);
    }
}
