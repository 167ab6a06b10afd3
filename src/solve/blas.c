#include "blas.h"

#include "lapack.h"

#include <limits.h>

#include <omp.h>

static const double one = 1;
static const int unit = 1;

/* An OpenBLAS built for OpenMP asks OpenMP, whose setting belongs to the calling thread. Its own
 * setter is left alone: it is of the process, and frees buffers that another thread may be using.
 */
static bool blas_asks_openmp(void)
{
    return openblas_get_parallel() == OPENBLAS_OPENMP;
}

far_blas_scope far_blas_enter(int threads)
{
    far_blas_scope scope = {openblas_get_num_threads(), omp_get_max_threads()};
    omp_set_num_threads(threads);
    if (!blas_asks_openmp()) {
        openblas_set_num_threads(threads);
    }
    return scope;
}

void far_blas_leave(far_blas_scope scope)
{
    omp_set_num_threads(scope.openmp);
    if (!blas_asks_openmp()) {
        openblas_set_num_threads(scope.blas);
    }
}

#define ALONE_UP_TO 2048 /* rows: a product takes a millisecond */

int far_blas_worth(int threads, int64_t n)
{
    return n <= ALONE_UP_TO ? 1 : threads;
}

/* Leading dimensions are padded by a few elements, hence the margin. */
far_status far_blas_fits(far_ctx *ctx, int64_t n)
{
    if (n > INT_MAX - 64) {
        return far_fail(ctx, FAR_ERR_SHAPE, "a dimension of %lld is more than BLAS can count (%d)",
                        (long long)n, INT_MAX - 64);
    }
    return FAR_OK;
}

void far_gemm(char transa, char transb, int64_t m, int64_t n, int64_t k, double alpha,
              const double *a, int64_t lda, const double *b, int64_t ldb, double *c, int64_t ldc)
{
    int im = (int)m, in = (int)n, ik = (int)k, ia = (int)lda, ib = (int)ldb, ic = (int)ldc;
    if (m > 0 && n > 0 && k > 0) {
        dgemm_(&transa, &transb, &im, &in, &ik, &alpha, a, &ia, b, &ib, &one, c, &ic, 1, 1);
    }
}

void far_gemv(char trans, int64_t m, int64_t n, double alpha, const double *a, int64_t lda,
              const double *x, double *y)
{
    int im = (int)m, in = (int)n, ia = (int)lda;
    if (m > 0 && n > 0) {
        dgemv_(&trans, &im, &in, &alpha, a, &ia, x, &unit, &one, y, &unit, 1);
    }
}

void far_symv(int64_t n, const double *a, int64_t lda, const double *x, double *y)
{
    const double zero = 0;
    int in = (int)n, ia = (int)lda;
    dsymv_("U", &in, &one, a, &ia, x, &unit, &zero, y, &unit, 1);
}

void far_syrk(int64_t n, int64_t k, const double *a, int64_t lda, double *c, int64_t ldc)
{
    const double minus = -1;
    int in = (int)n, ik = (int)k, ia = (int)lda, ic = (int)ldc;
    dsyrk_("U", "T", &in, &ik, &minus, a, &ia, &one, c, &ic, 1, 1);
}

void far_trsm(char trans, int64_t n, int64_t p, const double *u, int64_t ldu, double *b,
              int64_t ldb)
{
    int in = (int)n, ip = (int)p, iu = (int)ldu, ib = (int)ldb;
    if (p == 1) {
        dtrsv_("U", &trans, "N", &in, u, &iu, b, &unit, 1, 1, 1);
    } else {
        dtrsm_("L", "U", &trans, "N", &in, &ip, &one, u, &iu, b, &ib, 1, 1, 1, 1);
    }
}

void far_trmv(char trans, int64_t n, const double *u, int64_t ldu, double *x)
{
    int in = (int)n, iu = (int)ldu;
    dtrmv_("U", &trans, "N", &in, u, &iu, x, &unit, 1, 1, 1);
}

int far_potrf(int64_t n, double *a, int64_t lda)
{
    int in = (int)n, ia = (int)lda, info = 0;
    far_blas_scope scope = far_blas_enter(1);
    dpotrf_("U", &in, a, &ia, &info, 1);
    far_blas_leave(scope);
    return info;
}
