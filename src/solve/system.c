/* The system: made of a matrix and a ridge, asked for what its factor knows. */
#include "blas.h"
#include "solve_internal.h"

#include <math.h>
#include <string.h>

#define SOME_COLUMNS 64
#define WHITEN_COLUMNS 256 /* at once */
#define INVERSE_COLUMNS 128

void far_system_destroy(far_system *s)
{
    if (s) {
        far_ctx *ctx = s->ctx;
        FAR_FREE_ALL(ctx, s->factor.data, s->diagonal, s);
    }
}

far_system_info far_system_diagnostics(const far_system *s)
{
    return s->info;
}

/* ---- making ---- */

static far_status allocate(far_ctx *ctx, const far_symmetric *a, int32_t storage, far_system **out)
{
    far_system *s = NULL;
    far_status st;
    FAR_TRY(far_alloc(ctx, 1, &s));
    *s = (far_system){.ctx = ctx, .a = *a};
    s->factor = far_lower_layout(a->n, storage == FAR_STORAGE_PACKED);
    FAR_TRY(far_alloc(ctx, a->n, &s->diagonal));
    FAR_TRY(far_alloc(ctx, far_lower_count(&s->factor), &s->factor.data));
    s->info = (far_system_info){
        .n = a->n,
        .storage = storage,
        .lambda_min = NAN,
        .lambda_max = NAN,
        .condition = NAN,
        .bytes = (double)sizeof(double) * ((double)far_lower_count(&s->factor) + (double)a->n) +
                 (double)sizeof *s,
    };
done:
    FAR_HAND_OVER(s, out, far_system_destroy);
    return st;
}

static void read_diagonal(far_system *s)
{
    long double sum = 0;
    for (int64_t i = 0; i < s->info.n; i++) {
        s->diagonal[i] = *far_lower_at(&s->factor, i, i);
        sum += s->diagonal[i];
    }
    s->info.mean_diagonal = (double)(sum / (long double)s->info.n);
}

static far_status set_ridge(far_ctx *ctx, far_system *s, const far_solve_opts *opts)
{
    double mean = s->info.mean_diagonal, ridge = opts->ridge;
    if (mean < 0) {
        return far_fail(ctx, FAR_ERR_SINGULAR,
                        "the mean of the diagonal is %g; a positive definite matrix has a positive "
                        "one",
                        mean);
    }
    s->info.ridge = opts->ridge_kind == FAR_RIDGE_RELATIVE ? ridge * mean : ridge;
    s->info.ridge_relative = s->info.ridge > 0 ? s->info.ridge / mean : 0;
    return FAR_OK;
}

/* scale[i] = (K + ridge I)_ii, also put into the matrix. */
static far_status add_ridge(far_ctx *ctx, far_system *s, double *scale)
{
    for (int64_t i = 0; i < s->info.n; i++) {
        scale[i] = s->diagonal[i] + s->info.ridge;
        if (!(scale[i] > 0) || isinf(scale[i])) {
            return far_fail(ctx, FAR_ERR_SINGULAR,
                            "the matrix is not positive definite: row %lld has %g on the diagonal, "
                            "the ridge included",
                            (long long)i + 1, scale[i]);
        }
        *far_lower_at(&s->factor, i, i) = scale[i];
    }
    return FAR_OK;
}

static double log_determinant(const far_system *s)
{
    long double sum = 0;
    for (int64_t i = 0; i < s->info.n; i++) {
        sum += 2 * log(*far_lower_at(&s->factor, i, i));
    }
    return (double)sum;
}

static far_status factor(far_ctx *ctx, far_system *s, const far_solve_opts *opts)
{
    double *scale = NULL;
    far_status st;
    FAR_TRY(far_lower_fill(ctx, &s->a, &s->factor, !s->factor.packed));
    read_diagonal(s);
    FAR_TRY(set_ridge(ctx, s, opts));
    FAR_TRY(far_alloc(ctx, s->info.n, &scale));
    FAR_TRY(add_ridge(ctx, s, scale));
    FAR_TRY(far_cholesky(ctx, &s->factor, scale));
    s->info.log_det = log_determinant(s);
done:
    far_free(ctx, scale);
    return st;
}

static far_status check_create(far_ctx *ctx, const far_symmetric *a, const far_solve_opts *opts)
{
    far_status st;
    FAR_TRY(far_check_symmetric(ctx, a));
    FAR_TRY(far_blas_fits(ctx, a->n));
    FAR_TRY(far_check_opts(ctx, opts));
done:
    return st;
}

far_status far_system_create(far_ctx *ctx, const far_symmetric *a, const far_solve_opts *opts,
                             far_system **out)
{
    if (!ctx || !out) {
        return far_fail(ctx, FAR_ERR_ARG, "the context and out must not be NULL");
    }
    *out = NULL;
    far_solve_opts chosen;
    far_solve_opts_init(&chosen);
    chosen = opts ? *opts : chosen;
    far_status st = check_create(ctx, a, &chosen);
    if (st != FAR_OK) {
        return st;
    }
    far_system *s = NULL;
    far_estimate estimate = far_estimate_memory(a->n, &chosen);
    FAR_TRY(far_budget_check(ctx, "the system", estimate.bytes, chosen.memory));
    FAR_TRY(allocate(ctx, a, estimate.storage, &s));
    FAR_TRY(factor(ctx, s, &chosen));
    if (chosen.extremes) {
        FAR_TRY(far_system_extremes(ctx, s));
    }
done:
    FAR_HAND_OVER(s, out, far_system_destroy);
    return st;
}

/* ---- whitening, and solving without refinement ---- */

static void apply_columns(const far_system *s, void (*apply)(const far_system *, double *, int64_t),
                          far_mat *b, int64_t first, int64_t p, double *work)
{
    int64_t n = s->info.n;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t c = 0; c < p; c++) {
            work[c * n + i] = ((const double *)far_mat_row(b, i))[first + c];
        }
    }
    apply(s, work, p);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t c = 0; c < p; c++) {
            ((double *)far_mat_row(b, i))[first + c] = work[c * n + i];
        }
    }
}

static void whiten(const far_system *s, double *b, int64_t p)
{
    far_lower_forward(&s->factor, 0, b, p, s->info.n);
}

static void solve(const far_system *s, double *b, int64_t p)
{
    far_lower_solve(&s->factor, b, p, s->info.n);
}

static far_status apply_factor(far_ctx *ctx, const far_system *s,
                               void (*apply)(const far_system *, double *, int64_t), far_mat *b)
{
    if (!ctx || !s) {
        return far_fail(ctx, FAR_ERR_ARG, "the context and the system must not be NULL");
    }
    double *work = NULL;
    far_status st;
    FAR_TRY(far_check_matrix(ctx, b, "b", s->info.n, -1));
    FAR_TRY(far_check_finite(ctx, b, "b"));
    FAR_TRY(far_alloc(ctx, s->info.n * far_least(b->cols, WHITEN_COLUMNS), &work));
    far_blas_scope scope = far_blas_enter(far_ctx_threads(ctx));
    for (int64_t c = 0; c < b->cols; c += WHITEN_COLUMNS) {
        apply_columns(s, apply, b, c, far_least(WHITEN_COLUMNS, b->cols - c), work);
    }
    far_blas_leave(scope);
done:
    far_free(ctx, work);
    return st;
}

far_status far_system_whiten(far_ctx *ctx, const far_system *s, far_mat *b)
{
    return apply_factor(ctx, s, whiten, b);
}

far_status far_system_solve_once(far_ctx *ctx, const far_system *s, far_mat *b)
{
    return apply_factor(ctx, s, solve, b);
}

/* ---- the inverse of the factor, and the diagonal of the inverse ---- */

/* work (columns one after another): a block of columns of L^-1, whose rows before them are zero and
 * left out. Returns how many. */
static int64_t inverse_block(const far_system *s, int64_t first, double *work)
{
    int64_t rows = s->info.n - first, cols = far_least(INVERSE_COLUMNS, rows);
    memset(work, 0, (size_t)(rows * cols) * sizeof *work);
    for (int64_t j = 0; j < cols; j++) {
        work[j * rows + j] = 1;
    }
    far_lower_forward(&s->factor, first, work, cols, rows);
    return cols;
}

far_status far_system_inverse_factor(far_ctx *ctx, const far_system *s, double *out)
{
    int64_t n = s->info.n;
    double *work = NULL;
    far_status st = far_alloc(ctx, n * far_least(n, INVERSE_COLUMNS), &work);
    far_blas_scope scope = far_blas_enter(far_ctx_threads(ctx));
    memset(out, 0, (size_t)(st == FAR_OK ? n * n : 0) * sizeof *out);
    for (int64_t first = 0; st == FAR_OK && first < n; first += INVERSE_COLUMNS) {
        int64_t cols = inverse_block(s, first, work), rows = n - first;
#pragma omp parallel for num_threads(far_ctx_threads(ctx))
        for (int64_t i = 0; i < rows; i++) {
            for (int64_t j = 0; j < far_least(cols, i + 1); j++) {
                out[(first + i) * n + first + j] = work[j * rows + i];
            }
        }
    }
    far_blas_leave(scope);
    far_free(ctx, work);
    return st;
}

/* A^-1 = U U', where U = L^-T is upper triangular: columns before the own one are 0. */
far_status far_system_inverse(far_ctx *ctx, const far_system *s, double *out)
{
    int64_t n = s->info.n;
    double *u = NULL;
    far_status st;
    far_blas_scope scope = far_blas_enter(far_ctx_threads(ctx));
    FAR_TRY(far_alloc(ctx, n * n, &u));
    FAR_TRY(far_system_inverse_factor(ctx, s, u));
    memset(out, 0, (size_t)(n * n) * sizeof *out);
    for (int64_t j = 0; j < n; j += INVERSE_COLUMNS) {
        int64_t cols = far_least(INVERSE_COLUMNS, n - j);
        far_gemm('N', 'T', j + cols, cols, n - j, 1, u + j * n, n, u + j * n + j, n, out + j * n,
                 n);
    }
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i < j; i++) {
            out[i * n + j] = out[j * n + i];
        }
    }
done:
    far_blas_leave(scope);
    far_free(ctx, u);
    return st;
}

/* |column j of a block of L^-1|^2; rows before the diagonal are zero. */
static double column_square(const double *column, int64_t rows)
{
    double sum = 0;
    for (int64_t i = 0; i < rows; i++) {
        sum += column[i] * column[i];
    }
    return sum;
}

/* out[j] = |column j of L^-1|^2 for one block of columns. */
static void inverse_columns(const far_system *s, int threads, int64_t first, double *work,
                            double *out)
{
    int64_t rows = s->info.n - first, cols = inverse_block(s, first, work);
#pragma omp parallel for num_threads(threads)
    for (int64_t j = 0; j < cols; j++) {
        out[j] = column_square(work + j * rows + j, rows - j);
    }
}

/* Columns of L^-1 cost the square of the rows below them. */
static far_status report_inverse(far_ctx *ctx, int64_t n, int64_t rest)
{
    double share = pow((double)rest / (double)n, 3);
    return far_progress(ctx, "inverse", n - (int64_t)(share * (double)n), n);
}

far_status far_system_inverse_diagonal(far_ctx *ctx, const far_system *s, far_mat *diag)
{
    if (!ctx || !s) {
        return far_fail(ctx, FAR_ERR_ARG, "the context and the system must not be NULL");
    }
    double *work = NULL, *out = NULL;
    int64_t n = s->info.n;
    far_blas_scope scope = far_blas_enter(far_ctx_threads(ctx));
    far_status st;
    FAR_TRY(far_check_matrix(ctx, diag, "diag", n, 1));
    FAR_TRY(far_alloc(ctx, n, &out));
    FAR_TRY(far_alloc(ctx, n * far_least(n, INVERSE_COLUMNS), &work));
    for (int64_t j = 0; j < n; j += INVERSE_COLUMNS) {
        FAR_TRY(report_inverse(ctx, n, n - j));
        inverse_columns(s, far_ctx_threads(ctx), j, work, out + j);
    }
    FAR_TRY(report_inverse(ctx, n, 0));
    for (int64_t i = 0; i < n; i++) {
        *(double *)far_mat_row(diag, i) = out[i];
    }
done:
    far_blas_leave(scope);
    far_free(ctx, work);
    far_free(ctx, out);
    return st;
}

/* The same of a few columns anywhere, from the block row of the first of them on. */
static void inverse_at(const far_system *s, const int64_t *at, int64_t cols, double *work,
                       double *out)
{
    int64_t first = at[0] / s->factor.side * s->factor.side, rows = s->info.n - first;
    memset(work, 0, (size_t)(rows * cols) * sizeof *work);
    for (int64_t j = 0; j < cols; j++) {
        work[j * rows + at[j] - first] = 1;
    }
    far_lower_forward(&s->factor, first, work, cols, rows);
    for (int64_t j = 0; j < cols; j++) {
        out[j] = column_square(work + j * rows, rows);
    }
}

/* A block of columns is one thread's: products with so few would not feed several. */
far_status far_system_inverse_some(far_ctx *ctx, const far_system *s, const int64_t *rows,
                                   int64_t count, double *out)
{
    far_status st;
    double *work = NULL;
    int64_t n = s->info.n, threads = far_ctx_threads(ctx), wave = threads * SOME_COLUMNS;
    far_blas_scope scope = far_blas_enter(1);
    FAR_TRY(far_alloc(ctx, n * far_least(wave, count), &work));
    for (int64_t begin = 0; begin < count; begin += wave) {
        int64_t end = far_least(begin + wave, count);
        FAR_TRY(far_progress(ctx, "inverse", begin, count));
#pragma omp parallel for num_threads((int)threads) schedule(dynamic)
        for (int64_t k = begin; k < end; k += SOME_COLUMNS) {
            inverse_at(s, rows + k, far_least(SOME_COLUMNS, end - k), work + (k - begin) * n,
                       out + k);
        }
    }
    FAR_TRY(far_progress(ctx, "inverse", count, count));
done:
    far_blas_leave(scope);
    far_free(ctx, work);
    return st;
}
