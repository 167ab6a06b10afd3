/*
 * farfield/solve.h: symmetric positive definite systems (K + ridge I) x = b, their diagnostics,
 * and spectra.
 *
 * A system never returns NaN: it either solves to the residual it reports, or fails with
 * FAR_ERR_SINGULAR and a message. Everything is float64, with the same bits for any number of
 * threads. far_eigen runs LAPACK on one thread for that; the rest is shared among the context's.
 */
#ifndef FARFIELD_SOLVE_H
#define FARFIELD_SOLVE_H

#include <farfield/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The library that matrices are multiplied with. OpenBLAS chooses kernels for the processor when it
 * is loaded, and its slowest for one that is newer than itself; OPENBLAS_CORETYPE in the
 * environment, set before the program starts, makes the choice. (The farfield command does that by
 * itself.) */
typedef struct far_blas_info {
    const char *library; /* "OpenBLAS 0.3.21 DYNAMIC_ARCH ...": its version and configuration */
    const char *core;    /* "SkylakeX": the processor whose kernels it runs */
    const char *better;  /* the OPENBLAS_CORETYPE that this processor deserves; NULL: core does */
    char warning[256];   /* that in words; "" */
} far_blas_info;
FAR_API far_blas_info far_blas_describe(void);

/* A symmetric n x n matrix that is computed by blocks. block fills out, a float64 view, with rows
 * [row, row + out->rows) and columns [col, col + out->cols); it may be asked for any block, more
 * than once, in any order, from the calling thread only. When row == col and out is square it may
 * fill the lower triangle (j <= i) alone. */
typedef far_status (*far_block_fn)(far_ctx *ctx, void *user, int64_t row, int64_t col,
                                   far_mat *out);
typedef struct far_symmetric {
    int64_t n;
    far_block_fn block;
    void *user;
} far_symmetric;

/* A far_symmetric over a matrix in memory (its lower triangle is read); m must outlive it. */
FAR_API far_symmetric far_symmetric_of(const far_mat *m);

typedef enum far_ridge_kind {
    FAR_RIDGE_RELATIVE = 0, /* times the mean of K's diagonal */
    FAR_RIDGE_ABSOLUTE = 1
} far_ridge_kind;

typedef enum far_storage {
    FAR_STORAGE_AUTO = 0,  /* full if the memory allows it, else packed */
    FAR_STORAGE_FULL = 1,  /* 8 n^2 bytes: factor in one triangle, K kept in the other */
    FAR_STORAGE_PACKED = 2 /* 4 n^2 bytes: the factor alone; K is computed again when needed */
} far_storage;

typedef struct far_solve_opts {
    size_t size;               /* set by far_solve_opts_init */
    double ridge;              /* >= 0; default 0 */
    far_ridge_kind ridge_kind; /* default FAR_RIDGE_RELATIVE */
    far_storage storage;       /* default FAR_STORAGE_AUTO */
    double memory;    /* budget in bytes; 0: nine tenths of what the machine has available */
    int32_t extremes; /* 1 (default): lambda_min and lambda_max by Lanczos on the factor */
} far_solve_opts;

FAR_API void far_solve_opts_init(far_solve_opts *opts);

/* What a system of that size takes. bytes: the most that is allocated at a time, from making it to
 * solving for one column; a matrix block by block and BLAS may need some more. seconds: without
 * computing the matrix; from the speed of this machine's matrix product, measured once in a process
 * (about 0.05 s). */
typedef struct far_estimate {
    double bytes, seconds;
    far_storage storage; /* FULL or PACKED: what AUTO chooses within the budget; AUTO: of a fit that
                            makes no factor of all rows */
    int32_t fits;        /* 1: bytes are within the budget */
} far_estimate;
FAR_API FAR_NODISCARD far_status far_solve_estimate(far_ctx *ctx, int64_t n,
                                                    const far_solve_opts *opts, far_estimate *out);

typedef struct far_system far_system; /* opaque: the factor of K + ridge I */

/* Fills and factors a + ridge I. a is kept by value and must stay callable as long as the system
 * lives (packed storage computes K again to refine, in the same blocks). Reports progress "fill",
 * "factor" and, with extremes, "lambda_max" and "lambda_min".
 * FAR_ERR_BUDGET: beyond the memory budget; the message has both numbers. FAR_ERR_VALUE: a block
 * had a value that is not finite, with its place. FAR_ERR_SINGULAR: not positive definite to
 * working precision, with the row (counted from 1) at which that showed. */
FAR_API FAR_NODISCARD far_status far_system_create(far_ctx *ctx, const far_symmetric *a,
                                                   const far_solve_opts *opts, far_system **out);
FAR_API void far_system_destroy(far_system *s); /* NULL is fine */

/* x + x_low solves (K + ridge I) x = b, by iterative refinement with residuals in doubled
 * precision; b, x, x_low are n x p and do not overlap. x_low holds the digits below those of x; it
 * may be NULL, and x alone is then the rounded solution. residuals (p values, may be NULL) are
 * |b - A (x + x_low)| / |b| in the 2-norm, measured in doubled precision (0 where b is 0), and at
 * most 1e-12. Extra memory: 6 n p values, and a strip of 512 n with packed storage.
 * FAR_ERR_SINGULAR: refinement does not get there, the condition number is too large. */
FAR_API FAR_NODISCARD far_status far_system_solve(far_ctx *ctx, const far_system *s,
                                                  const far_mat *b, far_mat *x, far_mat *x_low,
                                                  double *residuals);

/* Eigenvalues of a symmetric matrix, ascending: the count largest (which = FAR_EIGEN_LARGEST), the
 * count smallest, or all n (count = n). values is count x 1; vectors, n x count with eigenvector j
 * in column j, may be NULL. All: LAPACK dsyevr, whatever n. Few (count <= n / 16): ARPACK on
 * products with the stored matrix; LAPACK where that does not settle, as with small eigenvalues
 * that crowd near 0. Each vector's sign makes its largest entry positive. Reports progress "fill",
 * "eigen" (ARPACK), "spectrum" (LAPACK). memory: budget in bytes; 0: as in far_solve_opts.
 * Memory: 8 n^2 bytes, and 8 n more a vector (beside the caller's output). Where the budget does
 * not allow that, a few are found without holding the matrix: every product then computes it anew.
 */
typedef enum far_eigen_part { FAR_EIGEN_LARGEST = 0, FAR_EIGEN_SMALLEST = 1 } far_eigen_part;
FAR_API FAR_NODISCARD far_status far_eigen(far_ctx *ctx, const far_symmetric *a,
                                           far_eigen_part which, int64_t count, double memory,
                                           far_mat *values, far_mat *vectors);

/* out = a b, float64: a n x k, b k x p, out n x p; out overlaps neither. */
FAR_API FAR_NODISCARD far_status far_multiply(far_ctx *ctx, const far_mat *a, const far_mat *b,
                                              far_mat *out);

#ifdef __cplusplus
}
#endif
#endif
