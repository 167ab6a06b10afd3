/*
 * farfield/kernel.h: the infinite-width reading of an architecture.
 *
 * At infinite width a random network is a Gaussian process with covariance K (the NNGP kernel),
 * and its training by gradient descent is governed by Theta (the neural tangent kernel, NTK).
 * Both are computed exactly, for finite points and for points at infinity.
 */
#ifndef FARFIELD_KERNEL_H
#define FARFIELD_KERNEL_H

#include <farfield/arch.h>
#include <farfield/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum far_param {
    FAR_PARAM_NTK = 0,     /* z = w W h / sqrt(fan_in) + b beta, W and beta ~ N(0, 1) */
    FAR_PARAM_STANDARD = 1 /* z = W h + beta, W ~ N(0, w^2 / fan_in), beta ~ N(0, b^2) */
} far_param;

/* A network of infinite width has two kernels: what its training sees, and what its outputs are at
 * initialisation. */
typedef enum far_kernel_kind {
    FAR_KERNEL_NTK = 0, /* Theta: gradient descent on all weights, to the end */
    FAR_KERNEL_NNGP = 1 /* K: the Bayesian posterior, or gradient descent on the last layer */
} far_kernel_kind;

typedef struct far_kernel far_kernel; /* opaque: parsed architecture and plan, immutable */

typedef struct far_kernel_opts {
    size_t size;     /* sizeof(far_kernel_opts); all other defaults are 0 */
    far_param param; /* default FAR_PARAM_NTK */
} far_kernel_opts;

/* Reads arch (see far_arch_grammar) as a kernel. opts may be NULL.
 * FAR_ERR_PARSE: the text does not parse. FAR_ERR_ARCH: it has no exact infinite-width kernel
 * (an activation whose input is not Gaussian, a standard-parametrised layer without its width...);
 * the message is made like that of far_arch_canonical. */
FAR_API FAR_NODISCARD far_status far_kernel_create(far_ctx *ctx, const char *arch,
                                                   const far_kernel_opts *opts, far_kernel **out);
FAR_API void far_kernel_destroy(far_kernel *k); /* NULL is fine */

/* The canonical text of the architecture; lives as long as k. */
FAR_API const char *far_kernel_text(const far_kernel *k);

typedef enum far_fill {
    FAR_FILL_FULL = 0, /* both triangles (the upper one mirrored, not computed again) */
    FAR_FILL_LOWER = 1 /* j <= i only; the rest of the output is left as it was */
} far_fill;

/* nngp[i][j] = K(x1_i, x2_j) and ntk[i][j] = Theta(x1_i, x2_j).
 * x1 is n x d, x2 m x d or NULL for x1 itself (then fill says which part is wanted; with x2 it must
 * be FAR_FILL_FULL). nngp and ntk are n x m, either may be NULL; they must not overlap the inputs
 * or each other. All share one dtype, which is also the precision of the computation.
 * Inputs must be finite (FAR_ERR_VALUE names row and column). Results are the same bits for any
 * number of threads. FAR_ERR_RANGE: a value is too large for its type; the message names
 * its rows, and the output holds inf there (or a point is beyond all exponents; then nothing).
 * Cost: O(n m (d + layers)); memory beside the result: O((n + m) (d + layers) + tile). */
FAR_API FAR_NODISCARD far_status far_kernel_eval(far_ctx *ctx, const far_kernel *k,
                                                 const far_mat *x1, const far_mat *x2,
                                                 far_fill fill, far_mat *nngp, far_mat *ntk);

/* nngp[i] = K(x_i, x_i), ntk[i] = Theta(x_i, x_i); both n x 1, either may be NULL. O(n (d +
 * layers)). FAR_ERR_RANGE: as above. */
FAR_API FAR_NODISCARD far_status far_kernel_diag(far_ctx *ctx, const far_kernel *k,
                                                 const far_mat *x, far_mat *nngp, far_mat *ntk);

/* Derivatives of V, the kernel of that kind, by its first point, in closed form. With weights (n x
 * m) summed over the second: out (n x d) has d/dx1_i of sum_j weights[i][j] V(x1_i, x2_j) in row i,
 * which is what backpropagation asks for. Without (NULL) pair by pair: out (n x (m d)),
 * out[i][j d + l] = dV(x1_i, x2_j)/dx1_il. x1 is n x d, x2 m x d or NULL for x1; all float64, and
 * out overlaps none of them. Where V has a kink it is the mean over all ways to get there: Theta
 * behind relu has one at x1_i = x2_j, where its smooth part alone counts, half the derivative of
 * Theta(x, x). Same bits for any number of threads. O(n m (d + layers)). FAR_ERR_RANGE: a
 * derivative too large for a double. */
FAR_API FAR_NODISCARD far_status far_kernel_slopes(far_ctx *ctx, const far_kernel *k,
                                                   far_kernel_kind kind, const far_mat *x1,
                                                   const far_mat *x2, const far_mat *weights,
                                                   far_mat *out);

/*
 * Behaviour at infinity. Row i of u is a direction; its point is lambda u_i with lambda ->
 * infinity.
 *
 *     K(lambda u_i, x_j)          ~  nngp[i][j] lambda^(nngp_order[i])
 *     Theta(lambda u_i, x_j)      ~  ntk[i][j]  lambda^(ntk_order[i])
 *
 * With x NULL both arguments go to infinity, along u_i and u_j with independent lambdas, and the
 * order is that of u_i plus that of u_j (erf and tanh without a norm make Theta(x, x) itself grow;
 * there is then no limit along parallel directions, and those entries are +-inf). Order 0:
 * the value is the limit. Order > 0: the kernel runs away along u_i, and the value is its slope
 * (for order 1) or leading coefficient. u is m x d (no zero rows: FAR_ERR_VALUE), x n x d or NULL;
 * nngp and ntk are m x n (m x m), orders m x 1, all float64, any of the four may be NULL.
 * FAR_ERR_ARCH: the limit does not exist (a sin of the raw input). FAR_ERR_RANGE: a coefficient too
 * large for float64.
 */
FAR_API FAR_NODISCARD far_status far_kernel_limit(far_ctx *ctx, const far_kernel *k,
                                                  const far_mat *u, const far_mat *x, far_mat *nngp,
                                                  far_mat *nngp_order, far_mat *ntk,
                                                  far_mat *ntk_order);

/* The supremum of Theta(x, x) over all x in R^d. */
typedef struct far_supremum {
    int32_t bounded;  /* 1 or 0 */
    int32_t attained; /* 1: at some finite x (of norm radius sqrt(d)); 0: only in the limit */
    double value;     /* C; INFINITY if not bounded */
    double radius;    /* |x| / sqrt(d) where it is reached; INFINITY: as |x| -> infinity; NAN: at
                         some finite x, but layers on the raw input make it no matter of |x| */
    double order;     /* not bounded: Theta(x, x) ~ slope (|x| / sqrt(d))^order, along the steepest
                         direction; order < 0 (and radius 0): it runs away as x -> 0 */
    double slope;
    int32_t constant;      /* 1: Theta(x, x) = C for every x (radius is then 0) */
    double proven;         /* value is what a scan along |x| found. This is proven, by interval
                              arithmetic: Theta(x, x) <= proven for every x; INFINITY if nothing is */
    const char *proven_by; /* "constant" (Theta(x, x) is the same everywhere), "monotone" (it never
                              is above its limit), "branch and bound" (the line of |x| was cut into
                              pieces); NULL: not proven */
} far_supremum;

/* d is the input dimension (it matters to norms that stand on the input). FAR_ERR_RANGE: C, or the
 * slope, is outside the range of float64. */
FAR_API FAR_NODISCARD far_status far_kernel_supremum(far_ctx *ctx, const far_kernel *k, int64_t d,
                                                     far_supremum *out);

/* Which instruction set the tiles run with on this machine: "avx512", "avx2" or "baseline".
 * FARFIELD_ISA=avx2|baseline in the environment chooses a lower one. */
FAR_API const char *far_kernel_isa(void);

#ifdef __cplusplus
}
#endif
#endif
