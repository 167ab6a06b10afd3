/*
 * BLAS with 64-bit arguments. Matrices are seen by columns, as Fortran does: a row-major lower
 * triangle L is an upper triangle U = L^T. Callers have checked that every dimension fits 32 bits.
 */
#ifndef FAR_BLAS_H
#define FAR_BLAS_H

#include "../base/base_internal.h"

/* Between enter and leave the functions below share their work among so many threads, tile by tile,
 * with the same bits for any number of them; BLAS, LAPACK and ARPACK themselves run on one. */
typedef struct far_blas_scope {
    int blas, openmp, team;
} far_blas_scope;
far_blas_scope far_blas_enter(int threads);
void far_blas_leave(far_blas_scope scope);
/* FAR_ERR_SHAPE where a dimension does not fit the 32-bit integers of BLAS. */
far_status far_blas_fits(far_ctx *ctx, int64_t n);

/* c += alpha op(a) op(b); c is m x n, k is summed over. */
void far_gemm(char transa, char transb, int64_t m, int64_t n, int64_t k, double alpha,
              const double *a, int64_t lda, const double *b, int64_t ldb, double *c, int64_t ldc);
/* The same of one thread's own: for callers that share out products themselves, between enter and
 * leave. */
void far_gemm_alone(char transa, char transb, int64_t m, int64_t n, int64_t k, double alpha,
                    const double *a, int64_t lda, const double *b, int64_t ldb, double *c,
                    int64_t ldc);
/* y += alpha op(a) x; a is m x n. */
void far_gemv(char trans, int64_t m, int64_t n, double alpha, const double *a, int64_t lda,
              const double *x, double *y);
/* y = a x; a is symmetric, its upper triangle is read. work: FAR_SYMV_LANES n doubles. */
#define FAR_SYMV_LANES 8
void far_symv(int64_t n, const double *a, int64_t lda, const double *x, double *y, double *work);
/* The upper triangle of c -= a^T a; a is k x n. */
void far_syrk(int64_t n, int64_t k, const double *a, int64_t lda, double *c, int64_t ldc);
/* b := op(u)^-1 b with u upper; b is n x p. */
void far_trsm(char trans, int64_t n, int64_t p, const double *u, int64_t ldu, double *b,
              int64_t ldb);
/* x := op(u) x */
void far_trmv(char trans, int64_t n, const double *u, int64_t ldu, double *x);
/* a = u^T u in place; blocks are small. The failing column counted from 1, or 0. */
int far_potrf(int64_t n, double *a, int64_t lda);

#endif
