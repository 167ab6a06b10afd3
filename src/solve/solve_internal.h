/* The system and the steps it is made and used by. */
#ifndef FAR_SOLVE_INTERNAL_H
#define FAR_SOLVE_INTERNAL_H

#include "../base/base_internal.h"
#include "lower.h"

#include <farfield/solve.h>

typedef struct far_system_info {
    int64_t n;
    double ridge;          /* absolute, as added to the diagonal */
    double ridge_relative; /* the same over mean_diagonal */
    double mean_diagonal;  /* of K */
    /* Of K + ridge I; NAN without extremes. To 1e-8, or for lambda_min to about n 1e-16 lambda_max
     * where that is more: the factor knows no better. To 1e-3, and from outside, if there are more
     * than 2048 rows and so many eigenvalues near the extreme one that Lanczos cannot part them;
     * NAN if not even that is reached. */
    double lambda_min, lambda_max, condition;
    double log_det; /* of K + ridge I */
    double bytes;   /* memory held */
    far_storage storage;
} far_system_info;

struct far_system {
    far_ctx *ctx;
    far_symmetric a;
    far_lower factor; /* L; if full, its strict upper triangle is K's */
    double *diagonal; /* of K */
    far_system_info info;
};

/* ---- blocks.c: the caller's matrix ---- */

/* Rows [row, row + rows) x columns [col, col + cols) into out; nothing where one is 0. */
far_status far_block_get(far_ctx *ctx, const far_symmetric *a, int64_t row, int64_t col,
                         int64_t rows, int64_t cols, double *out, int64_t ld);
/* The lower triangle of a, and if mirrored (full layout) the upper one; every value is finite. */
far_status far_lower_fill(far_ctx *ctx, const far_symmetric *a, const far_lower *l, bool mirrored);
/* The upper triangle of a square from its lower one. */
void far_mirror_square(double *square, int64_t n, int64_t ld);
far_status far_check_symmetric(far_ctx *ctx, const far_symmetric *a);
/* A caller's float64 matrix of that shape; rows or cols -1: any. */
far_status far_check_matrix(far_ctx *ctx, const far_mat *m, const char *name, int64_t rows,
                            int64_t cols);
far_status far_check_finite(far_ctx *ctx, const far_mat *m, const char *name);

/* ---- multiply.c ---- */

/* out_i = a_i b_i for so many, float64, side by side: for products too small to be shared out. */
FAR_NODISCARD far_status far_multiply_all(far_ctx *ctx, const far_mat *a, const far_mat *b,
                                          far_mat *out, int64_t count);
/* The lower triangle of m (n x n) += v' v, v any number of rows by n. */
FAR_NODISCARD far_status far_add_square(far_ctx *ctx, const far_mat *v, far_mat *m);

/* ---- cholesky.c ---- */

/* l := its Cholesky factor. scale is the diagonal of the matrix. Reports progress. */
far_status far_cholesky(far_ctx *ctx, const far_lower *l, const double *scale);
int64_t far_cholesky_workspace(int64_t n); /* doubles */
/* A relative ridge that would do for any matrix of that size. */
double far_ridge_advice(int64_t n);

/* ---- triangular.c: b is by columns, p of them, ldb apart, between far_blas_enter and _leave ----
 */

/* Its first row is row `first` of l; l's rows and columns before do not count. */
void far_lower_forward(const far_lower *l, int64_t first, double *b, int64_t p, int64_t ldb);
void far_lower_backward(const far_lower *l, double *b, int64_t p, int64_t ldb);
void far_lower_solve(const far_lower *l, double *b, int64_t p, int64_t ldb); /* both */
void far_lower_multiply(const far_lower *l, const double *x, double *y);     /* y = L L^T x */

/* ---- lanczos.c ---- */

/* y = M x */
typedef far_status (*far_operator)(void *user, const double *x, double *y);

typedef struct far_lanczos_job {
    far_operator apply;
    void *user;
    int64_t n, count;
    bool largest;  /* the algebraically largest, else the smallest */
    double tol;    /* of a residual, relative to its value; 0: machine precision */
    int64_t basis; /* vectors kept, count < basis <= n */
    int64_t restarts;
    const char *what;        /* for progress: applications, */
    int64_t earlier, budget; /* those before this job, and the most there can be with it */
} far_lanczos_job;

typedef struct far_lanczos_end {
    bool settled;       /* to tol; else it ran out of restarts, values and vectors are untouched */
    double best, error; /* of the most extreme value so far, and a bound for its error */
} far_lanczos_end;

/* values ascending; vectors (n x count by columns) may be NULL. */
far_status far_lanczos(far_ctx *ctx, const far_lanczos_job *job, double *values, double *vectors,
                       far_lanczos_end *end);
/* The count largest (or smallest) eigenvalues of a symmetric matrix where it lies, as far_symv
 * reads it: values ascending, vectors as above. settled 0: they crowd, nothing was written. */
far_status far_stored_eigen(far_ctx *ctx, int64_t n, const double *matrix, int64_t ld,
                            bool are_largest, int64_t count, double *values, double *vectors,
                            bool *settled);
int64_t far_lanczos_applications(int64_t basis, int64_t restarts);      /* at most */
int64_t far_lanczos_workspace(int64_t n, int64_t count, int64_t basis); /* doubles */

/* lambda_min, lambda_max, condition. */
far_status far_system_extremes(far_ctx *ctx, far_system *s);
int64_t far_extremes_workspace(int64_t n); /* doubles */

/* ---- eigen.c ---- */

/* Eigenvalues [from, from + count) counted from the smallest, by LAPACK; the upper triangle of a
 * by columns is read and destroyed. vectors: n x count by columns, or NULL. */
far_status far_dense_eigen(far_ctx *ctx, int64_t n, double *a, int64_t lda, int64_t from,
                           int64_t count, double *values, double *vectors);

/* ---- residual.c ---- */

/* r = b - (K + ridge I) (x + x_low), all n x p by columns, in doubled precision. work: 2 n p. */
far_status far_residual(far_ctx *ctx, const far_system *s, int64_t p, const double *b,
                        const double *x, const double *x_low, double *work, double *r);
int64_t far_residual_workspace(const far_lower *l); /* doubles, beside work */

/* ---- nystrom.c: what the first rows of a matrix, its landmarks, know of the others ----
 *
 * K_mm = L L', B = K_nm L^-T: then B B' is K as the landmarks see it, never above it. */
typedef struct far_nystrom {
    far_ctx *ctx;
    far_symmetric a;
    int64_t m;
    double ridge;
    double captured; /* the trace of B B', over the rows that were added */
    far_lower root;  /* L */
    far_lower inner; /* the factor of B'B + ridge */
    double *gram;    /* B'B, m x m, its upper triangle by columns */
} far_nystrom;
/* m < a->n landmarks; ridge > 0, absolute. Rows are added later. */
far_status far_nystrom_create(far_ctx *ctx, const far_symmetric *a, int64_t m, double ridge,
                              far_nystrom **out);
void far_nystrom_destroy(far_nystrom *s); /* NULL is fine */
/* Rows [first, first + count) of a become part of B. Reports progress "landmarks". */
far_status far_nystrom_add(far_ctx *ctx, far_nystrom *s, int64_t first, int64_t count);
/* b := L^-T (B'B + ridge)^-1 L^-1 b; b is m x p by columns. */
void far_nystrom_solve(far_ctx *ctx, const far_nystrom *s, double *b, int64_t p);
double far_nystrom_bytes(int64_t m);

/* ---- cg.c: conjugate gradients, with a matrix that is multiplied and not held ---- */

/* y = K[:, :cols] x, or transposed K[:cols, :] x; p columns, row by row. */
typedef struct far_stream {
    int64_t n;
    far_status (*apply)(far_ctx *ctx, void *user, int64_t cols, bool transposed, int64_t p,
                        const double *x, double *y);
    void *user;
} far_stream;

typedef struct far_cg_job {
    far_stream k;
    const far_nystrom *landmarks; /* the preconditioner */
    int64_t p;
    const double *b;  /* n x p */
    int64_t active;   /* rows that the system has; x is 0 in the others */
    double ridge;     /* absolute, above 0 */
    double tolerance; /* of |b - (K + ridge) x| / |b|, in every column */
    int64_t most;     /* iterations */
    const char *what; /* for progress */
} far_cg_job;

typedef struct far_cg_end {
    double residual; /* the largest over columns, of x as it is returned */
    int64_t iterations;
    bool converged;
} far_cg_end;

/* From x (n x p) on. rest: n x p: b - (K + ridge) x, without the ridge b - K x in rows that are not
 * active. It never fails to converge silently: end tells. */
far_status far_cg(far_ctx *ctx, const far_cg_job *job, double *x, double *rest, far_cg_end *end);
double far_cg_bytes(int64_t n, int64_t p);

/* ---- estimate.c ---- */

far_status far_check_opts(far_ctx *ctx, const far_solve_opts *opts);
/* Without the speed: bytes, storage, fits. */
far_estimate far_estimate_memory(int64_t n, const far_solve_opts *opts);

/* The same for a symmetric matrix by blocks, which is never held whole. */
FAR_NODISCARD far_status far_symmetric_multiply(far_ctx *ctx, const far_symmetric *a,
                                                const far_mat *b, far_mat *out);
/* b := L^-1 b with K + ridge I = L L^T, in place; b is n x p. |column|^2 is then b^T A^-1 b. */
FAR_NODISCARD far_status far_system_whiten(far_ctx *ctx, const far_system *s, far_mat *b);
/* out (n x n, packed) = L^-1, in a third of the operations of whitening the identity. */
FAR_NODISCARD far_status far_system_inverse_factor(far_ctx *ctx, const far_system *s, double *out);
/* A^-1 (n x n), all of it. */
FAR_NODISCARD far_status far_system_inverse(far_ctx *ctx, const far_system *s, double *out);
/* b := (K + ridge I)^-1 b in place, as well as the factor can: no refinement, no residual. For
 * choices, which the digits that this loses cannot sway. */
FAR_NODISCARD far_status far_system_solve_once(far_ctx *ctx, const far_system *s, far_mat *b);

/* diag[i] = ((K + ridge I)^-1)_ii, n x 1. As many operations as the factor took; 128 n extra
 * values. Reports progress "inverse". */
FAR_NODISCARD far_status far_system_inverse_diagonal(far_ctx *ctx, const far_system *s,
                                                     far_mat *diag);
/* out[k] = that of row rows[k]; they ascend. At most n^2 operations each; 64 n extra values a
 * thread. The same progress. */
FAR_NODISCARD far_status far_system_inverse_some(far_ctx *ctx, const far_system *s,
                                                 const int64_t *rows, int64_t count, double *out);

far_system_info far_system_diagnostics(const far_system *s);

#endif
