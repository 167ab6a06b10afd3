/* far_eigen: spectra by LAPACK, or a few values by ARPACK. */
#include "blas.h"
#include "lapack.h"
#include "solve_internal.h"

#include <limits.h>
#include <math.h>

#define DENSE_UP_TO 200 /* rows at which LAPACK is as fast, however few are wanted */
#define FEW 16          /* ARPACK is for at most n / FEW values: more are slower than LAPACK */
#define BASIS_EXTRA 20  /* vectors beside twice the count */
#define RESTARTS 60     /* of Lanczos, before LAPACK takes over */

/* ---- LAPACK ---- */

typedef struct dense_job {
    int n, lda, from, to, found;
    double *a, *values, *vectors;
    double *work;
    int *iwork, *support;
    int lwork, liwork;
} dense_job;

static int call_dsyevr(dense_job *j)
{
    const double nothing = 0, precise = 0;
    double no_vectors[1];
    int info = 0;
    dsyevr_(j->vectors ? "V" : "N", j->to - j->from + 1 == j->n ? "A" : "I", "U", &j->n, j->a,
            &j->lda, &nothing, &nothing, &j->from, &j->to, &precise, &j->found, j->values,
            j->vectors ? j->vectors : no_vectors, &j->n, j->support, j->work, &j->lwork, j->iwork,
            &j->liwork, &info, 1, 1, 1);
    return info;
}

/* Asks for the best workspace. Its length comes back as a double, exact well beyond 32 bits. */
static far_status allocate_work(far_ctx *ctx, dense_job *j)
{
    double length = 0;
    int ilength = 0;
    far_status st;
    j->work = &length;
    j->iwork = &ilength;
    j->lwork = j->liwork = -1;
    int info = call_dsyevr(j);
    j->work = NULL;
    j->iwork = NULL;
    if (info != 0 || !(length >= 1 && length <= INT_MAX) || ilength < 1) {
        return far_fail(ctx, FAR_ERR_BACKEND,
                        "dsyevr asks for a workspace of %g and returned %d for n = %d", length,
                        info, j->n);
    }
    j->lwork = (int)length;
    j->liwork = ilength;
    FAR_TRY(far_alloc(ctx, (int64_t)j->lwork, &j->work));
    FAR_TRY(far_alloc(ctx, (int64_t)j->liwork, &j->iwork));
done:
    return st;
}

far_status far_dense_eigen(far_ctx *ctx, int64_t n, double *a, int64_t lda, int64_t from,
                           int64_t count, double *values, double *vectors)
{
    bool all = !vectors; /* some alone take bisection, which gives up where all are nearly equal */
    int64_t first = all ? 0 : from, wanted = all ? n : count;
    dense_job j = {.n = (int)n,
                   .lda = (int)lda,
                   .from = (int)first + 1,
                   .to = (int)(first + wanted),
                   .a = a,
                   .vectors = vectors};
    far_blas_scope scope = far_blas_enter(1);
    far_status st;
    FAR_TRY(far_alloc(ctx, 2 * n, &j.support));
    FAR_TRY(far_alloc(ctx, n, &j.values)); /* LAPACK wants room for all n */
    FAR_TRY(allocate_work(ctx, &j));
    int info = call_dsyevr(&j);
    if (info != 0 || j.found != wanted) {
        st = far_fail(ctx, FAR_ERR_BACKEND, "dsyevr returned %d with %d of %lld eigenvalues", info,
                      j.found, (long long)wanted);
        goto done;
    }
    for (int64_t i = 0; i < count; i++) {
        values[i] = j.values[from - first + i];
    }
done:
    far_blas_leave(scope);
    FAR_FREE_ALL(ctx, j.support, j.values, j.work, j.iwork);
    return st;
}

/* ---- which of the two ---- */

typedef struct stored {
    int64_t n, ld;
    const double *matrix;
    double *work;
} stored;

static far_status apply_stored(void *user, const double *x, double *y)
{
    const stored *s = user;
    far_symv(s->n, s->matrix, s->ld, x, y, s->work);
    return FAR_OK;
}

static far_lanczos_job few(far_operator apply, void *user, int64_t n, int64_t extra, bool largest,
                           int64_t count)
{
    int64_t basis = far_least(n, 2 * count + extra);
    return (far_lanczos_job){.apply = apply,
                             .user = user,
                             .n = n,
                             .count = count,
                             .largest = largest,
                             .basis = basis,
                             .restarts = RESTARTS,
                             .what = "eigen",
                             .budget = far_lanczos_applications(basis, RESTARTS)};
}

far_status far_stored_eigen(far_ctx *ctx, int64_t n, const double *matrix, int64_t ld,
                            bool are_largest, int64_t count, double *values, double *vectors,
                            bool *settled)
{
    stored s = {.n = n, .ld = ld, .matrix = matrix};
    far_lanczos_end end = {0};
    far_lanczos_job job = few(apply_stored, &s, n, BASIS_EXTRA, are_largest, count);
    far_status st;
    FAR_TRY(far_alloc(ctx, FAR_SYMV_LANES * n, &s.work));
    FAR_TRY(far_lanczos(ctx, &job, values, vectors, &end));
done:
    far_free(ctx, s.work);
    *settled = end.settled;
    return st;
}

/* ---- without room for the matrix ---- */

#define BASIS_EXTRA_BY_BLOCKS 8 /* every application computes the matrix anew */

typedef struct by_blocks {
    far_ctx *ctx;
    const far_symmetric *a;
} by_blocks;

static far_status apply_blocks(void *user, const double *x, double *y)
{
    const by_blocks *b = user;
    far_mat in = far_mat_view((void *)x, b->a->n, 1, FAR_F64);
    far_mat out = far_mat_view(y, b->a->n, 1, FAR_F64);
    far_progress_hold(b->ctx);
    far_status st = far_symmetric_multiply(b->ctx, b->a, &in, &out);
    far_progress_release(b->ctx);
    return st;
}

static far_status few_by_blocks(far_ctx *ctx, const far_symmetric *a, bool are_largest,
                                int64_t count, double *values, double *vectors)
{
    by_blocks blocks = {ctx, a};
    far_lanczos_end end;
    far_lanczos_job job =
        few(apply_blocks, &blocks, a->n, BASIS_EXTRA_BY_BLOCKS, are_largest, count);
    far_status st = far_lanczos(ctx, &job, values, vectors, &end);
    if (st == FAR_OK && !end.settled) {
        st = far_fail(ctx, FAR_ERR_BUDGET,
                      "these eigenvalues crowd, and there is no memory to hold the %lld x %lld "
                      "matrix and part them; allow more, or ask for fewer of the largest",
                      (long long)a->n, (long long)a->n);
    }
    return st;
}

static bool are_few(int64_t n, int64_t count)
{
    return n > DENSE_UP_TO && count <= n / FEW;
}

/* Small eigenvalues often crowd near zero, where Lanczos does not tell them apart: LAPACK then. */
static far_status compute(far_ctx *ctx, far_lower *l, bool are_largest, int64_t count,
                          double *values, double *vectors)
{
    bool settled = false;
    far_status st;
    if (are_few(l->n, count)) {
        FAR_TRY(far_stored_eigen(ctx, l->n, l->data, far_lower_ld(l, 0), are_largest, count, values,
                                 vectors, &settled));
    }
    if (!settled) {
        FAR_TRY(far_progress(ctx, "spectrum", 0, 1));
        FAR_TRY(far_dense_eigen(ctx, l->n, l->data, far_lower_ld(l, 0),
                                are_largest ? l->n - count : 0, count, values, vectors));
        FAR_TRY(far_progress(ctx, "spectrum", 1, 1));
    }
done:
    return st;
}

/* ---- results ---- */

static double largest_entry(const double *x, int64_t n)
{
    double largest = 0;
    for (int64_t i = 0; i < n; i++) {
        largest = fabs(x[i]) > fabs(largest) ? x[i] : largest;
    }
    return largest;
}

static void write_values(const double *from, far_mat *to)
{
    for (int64_t i = 0; i < to->rows; i++) {
        *(double *)far_mat_row(to, i) = from[i];
    }
}

static void write_vectors(const double *from, far_mat *to)
{
    for (int64_t j = 0; to && j < to->cols; j++) {
        const double *column = from + j * to->rows;
        double sign = largest_entry(column, to->rows) < 0 ? -1 : 1;
        for (int64_t i = 0; i < to->rows; i++) {
            ((double *)far_mat_row(to, i))[j] = sign * column[i];
        }
    }
}

static far_status check_eigen(far_ctx *ctx, const far_symmetric *a, far_eigen_part which,
                              int64_t count, double memory, const far_mat *values,
                              const far_mat *vectors)
{
    far_status st;
    FAR_TRY(far_check_symmetric(ctx, a));
    FAR_TRY(far_blas_fits(ctx, a->n));
    if (which != FAR_EIGEN_LARGEST && which != FAR_EIGEN_SMALLEST) {
        return far_fail(ctx, FAR_ERR_ARG, "which is neither FAR_EIGEN_LARGEST nor _SMALLEST");
    }
    if (count < 1 || count > a->n) {
        return far_fail(ctx, FAR_ERR_ARG, "%lld eigenvalues are wanted of a matrix with %lld rows",
                        (long long)count, (long long)a->n);
    }
    if (!(memory >= 0)) {
        return far_fail(ctx, FAR_ERR_ARG, "memory is %g but must not be negative", memory);
    }
    FAR_TRY(far_check_matrix(ctx, values, "values", count, 1));
    if (vectors) {
        FAR_TRY(far_check_matrix(ctx, vectors, "vectors", a->n, count));
    }
done:
    return st;
}

static double bytes_needed(const far_lower *l, int64_t count, bool with_vectors)
{
    double doubles = (double)far_lower_count(l) + 40.0 * (double)l->n;
    if (with_vectors) {
        doubles += (double)l->n * (double)count;
    }
    if (are_few(l->n, count)) {
        doubles += (double)far_lanczos_workspace(l->n, count, 2 * count + BASIS_EXTRA);
        doubles += (double)FAR_SYMV_LANES * (double)l->n;
    }
    return (double)sizeof(double) * doubles;
}

/* Holds one triangle where the budget allows it. Otherwise the few largest or smallest are found by
 * products that compute the matrix anew each time; for many that would take for ever, and it is
 * refused. */
far_status far_eigen(far_ctx *ctx, const far_symmetric *a, far_eigen_part which, int64_t count,
                     double memory, far_mat *values, far_mat *vectors)
{
    if (!ctx) {
        return FAR_ERR_ARG;
    }
    far_status st = check_eigen(ctx, a, which, count, memory, values, vectors);
    if (st != FAR_OK) {
        return st;
    }
    far_lower l = far_lower_layout(a->n, false);
    double *found = NULL, *columns = NULL;
    far_blas_scope scope = far_blas_enter(far_ctx_threads(ctx));
    bool held = bytes_needed(&l, count, vectors) <= far_budget(memory);
    if (!held && !are_few(l.n, count)) {
        FAR_TRY(far_budget_check(ctx, "the spectrum", bytes_needed(&l, count, vectors), memory));
    }
    FAR_TRY(far_alloc(ctx, count, &found));
    if (vectors) {
        FAR_TRY(far_alloc(ctx, l.n * count, &columns));
    }
    if (held) {
        FAR_TRY(far_alloc(ctx, far_lower_count(&l), &l.data));
        FAR_TRY(far_lower_fill(ctx, a, &l, false));
        FAR_TRY(compute(ctx, &l, which == FAR_EIGEN_LARGEST, count, found, columns));
    } else {
        FAR_TRY(few_by_blocks(ctx, a, which == FAR_EIGEN_LARGEST, count, found, columns));
    }
    write_values(found, values);
    write_vectors(columns, vectors);
done:
    far_blas_leave(scope);
    FAR_FREE_ALL(ctx, l.data, found, columns);
    return st;
}
