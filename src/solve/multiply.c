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

enum { CLEAR_ROWS = 64 };

/* New memory is slow to be touched for the first time: by every thread. */
static void clear_shared(far_mat *m, int threads)
{
#pragma omp parallel for num_threads(threads) schedule(static) if (m->rows > CLEAR_ROWS)
    for (int64_t first = 0; first < m->rows; first += CLEAR_ROWS) {
        far_mat part = *m;
        part.data = far_mat_row(m, first);
        part.rows = far_least(CLEAR_ROWS, m->rows - first);
        clear(&part);
    }
}

/* By columns, as BLAS sees them, this is out^T = b^T a^T. */
static void multiply(const far_mat *a, const far_mat *b, far_mat *out, int threads)
{
    clear_shared(out, threads);
    far_gemm('N', 'N', b->cols, a->rows, a->cols, 1, b->data, stride(b), a->data, stride(a),
             out->data, stride(out));
}

far_status far_multiply(far_ctx *ctx, const far_mat *a, const far_mat *b, far_mat *out)
{
    far_status st = check(ctx, a, b, out);
    if (st == FAR_OK) {
        far_blas_scope scope = far_blas_enter(far_ctx_threads(ctx));
        multiply(a, b, out, far_ctx_threads(ctx));
        far_blas_leave(scope);
    }
    return st;
}

far_status far_multiply_all(far_ctx *ctx, const far_mat *a, const far_mat *b, far_mat *out,
                            int64_t count)
{
    far_status st = FAR_OK;
    for (int64_t i = 0; st == FAR_OK && i < count; i++) {
        st = check(ctx, &a[i], &b[i], &out[i]);
    }
    if (st != FAR_OK) {
        return st;
    }
    far_blas_scope scope = far_blas_enter(far_ctx_threads(ctx));
#pragma omp parallel for num_threads(far_ctx_threads(ctx)) schedule(dynamic)
    for (int64_t i = 0; i < count; i++) {
        clear(&out[i]);
        far_gemm_alone('N', 'N', b[i].cols, a[i].rows, a[i].cols, 1, b[i].data, stride(&b[i]),
                       a[i].data, stride(&a[i]), out[i].data, stride(&out[i]));
    }
    far_blas_leave(scope);
    return FAR_OK;
}

/* ---- sums of squares ----------------------------------------------------------------------- */

/* A sum over many rows of few columns is made in parts, whose number depends on the shape alone. */
enum { PART_ROWS = 2048, PARTS_MOST = 32, PART_COLS = 384 };

static int64_t parts_of(const far_mat *v)
{
    int64_t parts = (v->rows + PART_ROWS - 1) / PART_ROWS;
    return v->cols > PART_COLS || parts < 1 ? 1 : far_least(parts, PARTS_MOST);
}

/* out (n x n) += v' v of the rows of one part */
static void add_part(const far_mat *v, int64_t part, int64_t parts, double *out)
{
    int64_t first = v->rows * part / parts, end = v->rows * (part + 1) / parts, n = v->cols;
    far_gemm_alone('N', 'T', n, n, end - first, 1, far_mat_row(v, first), stride(v),
                   far_mat_row(v, first), stride(v), out, n);
}

/* Many columns: strips of the triangle, each down from the diagonal. */
static void add_strips(const far_mat *v, far_mat *m)
{
    for (int64_t first = 0; first < v->cols; first += PART_COLS) {
        const double *from = (const double *)v->data + first;
        far_gemm('N', 'T', far_least(PART_COLS, v->cols - first), v->cols - first, v->rows, 1, from,
                 stride(v), from, stride(v), (double *)far_mat_row(m, first) + first, stride(m));
    }
}

far_status far_add_square(far_ctx *ctx, const far_mat *v, far_mat *m)
{
    int64_t parts = parts_of(v), n = v->cols;
    double *sums = NULL;
    far_status st;
    FAR_TRY(far_check_matrix(ctx, v, "v", -1, -1));
    FAR_TRY(far_check_matrix(ctx, m, "m", n, n));
    FAR_TRY(far_blas_fits(ctx, v->rows));
    FAR_TRY(far_blas_fits(ctx, stride(v)));
    FAR_TRY(far_alloc(ctx, n <= PART_COLS ? parts * n * n : 0, &sums));
    far_blas_scope scope = far_blas_enter(far_ctx_threads(ctx));
    if (n > PART_COLS) {
        add_strips(v, m);
        parts = 0;
    }
#pragma omp parallel for num_threads(far_ctx_threads(ctx)) schedule(dynamic)
    for (int64_t part = 0; part < parts; part++) {
        add_part(v, part, parts, sums + part * n * n);
    }
    far_blas_leave(scope);
    for (int64_t k = 0; k < parts * n; k++) {
        double *to = far_mat_row(m, k % n);
        for (int64_t j = 0; j <= k % n; j++) {
            to[j] += sums[k * n + j];
        }
    }
done:
    far_free(ctx, sums);
    return st;
}

/* ---- symmetric matrices -------------------------------------------------------------------- */

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
