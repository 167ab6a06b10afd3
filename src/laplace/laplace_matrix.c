/* Small steps with matrices. */
#include "laplace_internal.h"

#include <math.h>
#include <string.h>

enum { SQUARE = 32, STRIP = 256 };

far_mat far_mat_part(const far_mat *m, int64_t first, int64_t rows)
{
    far_mat part = *m;
    part.data = far_mat_row(m, first);
    part.rows = rows;
    return part;
}

static void transpose_square(const far_mat *a, int64_t row, int64_t col, double *out)
{
    int64_t rows = far_least(row + SQUARE, a->rows), cols = far_least(col + SQUARE, a->cols);
    for (int64_t i = row; i < rows; i++) {
        const double *from = far_mat_row(a, i);
        for (int64_t j = col; j < cols; j++) {
            out[j * a->rows + i] = from[j];
        }
    }
}

void far_transpose(far_ctx *ctx, const far_mat *a, double *out)
{
#pragma omp parallel for num_threads(far_ctx_threads(ctx)) schedule(static)
    for (int64_t col = 0; col < a->cols; col += SQUARE) {
        for (int64_t row = 0; row < a->rows; row += SQUARE) {
            transpose_square(a, row, col, out);
        }
    }
}

static void add_strip(const double *strip, int64_t first, int64_t cols, far_mat *m)
{
    for (int64_t i = first; i < m->rows; i++) {
        double *to = (double *)far_mat_row(m, i) + first;
        for (int64_t j = 0; j < cols; j++) {
            to[j] += strip[(i - first) * cols + j];
        }
    }
}

far_status far_add_outer(far_ctx *ctx, const far_mat *z, const far_mat *zt, far_mat *m)
{
    double *strip = NULL;
    far_status st = far_alloc(ctx, m->rows * far_least(m->rows, STRIP), &strip);
    for (int64_t first = 0; st == FAR_OK && first < m->rows; first += STRIP) {
        int64_t cols = far_least(STRIP, m->rows - first), rows = m->rows - first;
        far_mat left = far_mat_part(z, first, rows), right = *zt;
        far_mat product = far_mat_view(strip, rows, cols, FAR_F64);
        right.data = (double *)zt->data + first;
        right.cols = cols;
        st = far_multiply(ctx, &left, &right, &product);
        if (st == FAR_OK) {
            add_strip(strip, first, cols, m);
        }
    }
    far_free(ctx, strip);
    return st;
}

far_status far_largest_eigenvalue(far_ctx *ctx, const far_mat *m, double memory, double *out)
{
    far_mat value = far_mat_view(out, 1, 1, FAR_F64);
    far_symmetric a = far_symmetric_of(m);
    far_status st = far_eigen(ctx, &a, FAR_EIGEN_LARGEST, 1, memory, &value, NULL);
    *out = st == FAR_OK ? fmax(*out, 0) : *out;
    return st;
}
