/* The Fortran routines we call. Only src/solve includes this. Integers are of 32 bits; every
 * character argument has its length at the end of the list. */
#ifndef FAR_LAPACK_H
#define FAR_LAPACK_H

#include <stddef.h>

void dgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k,
            const double *alpha, const double *a, const int *lda, const double *b, const int *ldb,
            const double *beta, double *c, const int *ldc, size_t, size_t);
void dgemv_(const char *trans, const int *m, const int *n, const double *alpha, const double *a,
            const int *lda, const double *x, const int *incx, const double *beta, double *y,
            const int *incy, size_t);
void dsymv_(const char *uplo, const int *n, const double *alpha, const double *a, const int *lda,
            const double *x, const int *incx, const double *beta, double *y, const int *incy,
            size_t);
void dsyrk_(const char *uplo, const char *trans, const int *n, const int *k, const double *alpha,
            const double *a, const int *lda, const double *beta, double *c, const int *ldc, size_t,
            size_t);
void dtrmv_(const char *uplo, const char *trans, const char *diag, const int *n, const double *a,
            const int *lda, double *x, const int *incx, size_t, size_t, size_t);
void dtrsv_(const char *uplo, const char *trans, const char *diag, const int *n, const double *a,
            const int *lda, double *x, const int *incx, size_t, size_t, size_t);
void dtrsm_(const char *side, const char *uplo, const char *trans, const char *diag, const int *m,
            const int *n, const double *alpha, const double *a, const int *lda, double *b,
            const int *ldb, size_t, size_t, size_t, size_t);

void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info, size_t);
void dsyevr_(const char *jobz, const char *range, const char *uplo, const int *n, double *a,
             const int *lda, const double *vl, const double *vu, const int *il, const int *iu,
             const double *abstol, int *m, double *w, double *z, const int *ldz, int *isuppz,
             double *work, const int *lwork, int *iwork, const int *liwork, int *info, size_t,
             size_t, size_t);

void dsaupd_(int *ido, const char *bmat, const int *n, const char *which, const int *nev,
             const double *tol, double *resid, const int *ncv, double *v, const int *ldv,
             int *iparam, int *ipntr, double *workd, double *workl, const int *lworkl, int *info,
             size_t, size_t);
void dseupd_(const int *rvec, const char *howmny, int *select, double *d, double *z, const int *ldz,
             const double *sigma, const char *bmat, const int *n, const char *which, const int *nev,
             const double *tol, double *resid, const int *ncv, double *v, const int *ldv,
             int *iparam, int *ipntr, double *workd, double *workl, const int *lworkl, int *info,
             size_t, size_t, size_t);

void openblas_set_num_threads(int threads);
int openblas_get_num_threads(void);
#define OPENBLAS_OPENMP 2
char *openblas_get_config(void);
char *openblas_get_corename(void);
int openblas_get_parallel(void); /* 0: one thread, 1: its own threads, 2: OpenMP's */

#endif
