/* The caller's matrix: asked for by blocks, checked, put into a lower triangle. */
#include "solve_internal.h"

#include <math.h>
#include <string.h>

#define MIRROR_TILE 32

far_status far_block_get(far_ctx *ctx, const far_symmetric *a, int64_t row, int64_t col,
                         int64_t rows, int64_t cols, double *out, int64_t ld)
{
    far_mat block = {.data = out, .rows = rows, .cols = cols, .ld = ld, .dtype = FAR_F64};
    if (rows == 0 || cols == 0) {
        return FAR_OK;
    }
    far_progress_hold(ctx);
    far_status st = a->block(ctx, a->user, row, col, &block);
    far_progress_release(ctx);
    return st;
}

far_status far_check_symmetric(far_ctx *ctx, const far_symmetric *a)
{
    if (!a || !a->block) {
        return far_fail(ctx, FAR_ERR_ARG, "the matrix is NULL or has no block function");
    }
    if (a->n < 1) {
        return far_fail(ctx, FAR_ERR_SHAPE, "the matrix has %lld rows but needs at least one",
                        (long long)a->n);
    }
    return FAR_OK;
}

far_status far_check_matrix(far_ctx *ctx, const far_mat *m, const char *name, int64_t rows,
                            int64_t cols)
{
    far_status st = far_mat_check(ctx, m, name);
    if (st != FAR_OK) {
        return st;
    }
    if ((rows >= 0 && m->rows != rows) || (cols >= 0 && m->cols != cols)) {
        return far_fail(ctx, FAR_ERR_SHAPE, "%s is %lld x %lld but must be %lld x %lld", name,
                        (long long)m->rows, (long long)m->cols,
                        (long long)(rows >= 0 ? rows : m->rows),
                        (long long)(cols >= 0 ? cols : m->cols));
    }
    if (m->dtype != FAR_F64) {
        return far_fail(ctx, FAR_ERR_ARG, "%s must be float64", name);
    }
    return FAR_OK;
}

/* ---- finite values ---- */

/* By bits, so that the loop has no order to keep and becomes vector code. */
static bool row_is_finite(const double *row, int64_t count)
{
    const uint64_t exponent = (uint64_t)0x7ff << 52;
    int64_t bad = 0;
    for (int64_t j = 0; j < count; j++) {
        uint64_t bits;
        memcpy(&bits, row + j, sizeof bits);
        bad += (bits & exponent) == exponent;
    }
    return bad == 0;
}

static far_status fail_value(far_ctx *ctx, const char *name, int64_t i, const double *row)
{
    int64_t j = 0;
    while (isfinite(row[j])) {
        j++;
    }
    return far_fail(ctx, FAR_ERR_VALUE, "%s: row %lld, column %lld is %s", name, (long long)i + 1,
                    (long long)j + 1,
                    isnan(row[j]) ? "nan"
                    : row[j] < 0  ? "-inf"
                                  : "inf");
}

far_status far_check_finite(far_ctx *ctx, const far_mat *m, const char *name)
{
    for (int64_t i = 0; i < m->rows; i++) {
        if (!row_is_finite(far_mat_row(m, i), m->cols)) {
            return fail_value(ctx, name, i, far_mat_row(m, i));
        }
    }
    return FAR_OK;
}

static far_status check_rows(far_ctx *ctx, const far_lower *l, int64_t begin, int64_t end)
{
    int64_t bad = end;
#pragma omp parallel for num_threads(far_ctx_threads(ctx)) reduction(min : bad)
    for (int64_t i = begin; i < end; i++) {
        if (!row_is_finite(far_lower_at(l, i, 0), i + 1)) {
            bad = far_least(bad, i);
        }
    }
    return bad < end ? fail_value(ctx, "the matrix", bad, far_lower_at(l, bad, 0)) : FAR_OK;
}

/* ---- filling ---- */

/* Column j of rows [begin, end) becomes row j, tile by tile: j from the tile's first column on. */
static void mirror_tile(const far_lower *l, int64_t begin, int64_t end, int64_t col)
{
    int64_t ld = far_lower_ld(l, begin), stop = far_least(col + MIRROR_TILE, end);
    for (int64_t j = col; j < stop; j++) {
        double *to = far_lower_at(l, j, 0);
        const double *from = far_lower_at(l, 0, j);
        for (int64_t i = begin > j ? begin : j + 1; i < end; i++) {
            to[i] = from[i * ld];
        }
    }
}

static void mirror_rows(far_ctx *ctx, const far_lower *l, int64_t begin, int64_t end)
{
#pragma omp parallel for num_threads(far_ctx_threads(ctx)) schedule(static, 1)
    for (int64_t col = 0; col < end; col += MIRROR_TILE) {
        for (int64_t i = begin; i < end; i += MIRROR_TILE) {
            mirror_tile(l, i, far_least(i + MIRROR_TILE, end), col);
        }
    }
}

void far_mirror_square(double *square, int64_t n, int64_t ld)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < i; j++) {
            square[j * ld + i] = square[i * ld + j];
        }
    }
}

static far_status fill_rows(far_ctx *ctx, const far_symmetric *a, const far_lower *l, bool mirrored,
                            int64_t begin, int64_t end)
{
    far_status st;
    int64_t rows = end - begin, ld = far_lower_ld(l, begin);
    FAR_TRY(far_block_get(ctx, a, begin, 0, rows, begin, far_lower_at(l, begin, 0), ld));
    FAR_TRY(far_block_get(ctx, a, begin, begin, rows, rows, far_lower_at(l, begin, begin), ld));
    FAR_TRY(check_rows(ctx, l, begin, end));
    if (mirrored) {
        mirror_rows(ctx, l, begin, end);
    }
done:
    return st;
}

far_status far_lower_fill(far_ctx *ctx, const far_symmetric *a, const far_lower *l, bool mirrored)
{
    far_status st = far_progress(ctx, "fill", 0, l->n * l->n);
    for (int64_t i = 0; st == FAR_OK && i < l->n; i = far_lower_next(l, i)) {
        int64_t end = far_lower_next(l, i);
        st = fill_rows(ctx, a, l, mirrored, i, end);
        if (st == FAR_OK) {
            st = far_progress(ctx, "fill", end * end, l->n * l->n);
        }
    }
    return st;
}

/* ---- a matrix in memory ---- */

static double element(const far_mat *m, int64_t i, int64_t j)
{
    const void *row = far_mat_row(m, i > j ? i : j);
    int64_t k = i > j ? j : i;
    return m->dtype == FAR_F32 ? (double)((const float *)row)[k] : ((const double *)row)[k];
}

static far_status copy_block(far_ctx *ctx, void *user, int64_t row, int64_t col, far_mat *out)
{
    const far_mat *m = user;
    far_status st = far_mat_check(ctx, m, "the matrix");
    if (st == FAR_OK && m->rows != m->cols) {
        st = far_fail(ctx, FAR_ERR_SHAPE, "the matrix is %lld x %lld, not square",
                      (long long)m->rows, (long long)m->cols);
    }
    if (st != FAR_OK) {
        return st;
    }
#pragma omp parallel for num_threads(far_ctx_threads(ctx))
    for (int64_t i = 0; i < out->rows; i++) {
        double *to = far_mat_row(out, i);
        for (int64_t j = 0; j < out->cols; j++) {
            to[j] = element(m, row + i, col + j);
        }
    }
    return FAR_OK;
}

far_symmetric far_symmetric_of(const far_mat *m)
{
    return (far_symmetric){.n = m ? m->rows : 0, .block = copy_block, .user = (void *)m};
}
