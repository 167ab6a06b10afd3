/*
 * farfield/nonlinear.h: how nonlinear layer norm is, in numbers.
 *
 *     far_ssr_measure      SSR of labelled points, and LSSR: the least any linear map can reach
 *     far_ln_layer_search  one layer of linear and LN that goes below LSSR
 *     far_ln_hessian       H = sum_i |d2 f_i / dx2|_F^2 of LN and grouped LN, in closed form
 *     far_ln_amplification what grouping does to it, and the bound
 *     far_net_hessian_norm H of a whole network, exactly
 *     far_lnnet_shatter    L + 2 points, all labellings, at most L layers: VC dimension >= L + 2
 *
 * LN is x -> (x - mean) / sqrt(variance + eps), with the biased variance. The measures are those of
 * "On the Nonlinearity of Layer Normalization" (Ni, Guo, Jia, Huang, 2024).
 *
 * Grouping is a matter of finite width. For a fixed number g of groups and width to infinity every
 * group has the same mean and variance, so that the kernel of ln(groups=g) is that of ln, whatever
 * g; only in front of the first dense layer, where groups are groups of features, do they matter
 * (docs/explanation/kernels.md). Groups of a fixed size, which bend most, have no kernel here.
 */
#ifndef FARFIELD_NONLINEAR_H
#define FARFIELD_NONLINEAR_H

#include <farfield/net.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Labelled points: x is n x d, float64 and finite; labels has n numbers from 0 to classes - 1.
 *
 *     SS(X)  = sum_i |x_i - mean|^2
 *     SSR    = sum over classes SS(X_k) / SS(X)              in [0, 1]; 0: each class is one point
 *     LSSR   = least SSR of phi(X) over all linear maps phi  (that do not send X to one point)
 *            = least lambda of  Sw w = lambda St w  on the range of St,
 *
 * Sw and St the scatter within classes and in total. For two classes this is the definition of the
 * paper, LSSR = 1 - (n1 n2 / n) delta' St^+ delta with delta the difference of the means and
 * w = St^+ delta, Fisher's direction; for more classes it is the same infimum, reached along the
 * first discriminant. LSSR is 0 if and only if some linear functional is constant on each class,
 * and 1 if and only if all class means coincide (XOR).
 */
typedef struct far_ssr {
    int64_t points, inputs;
    int64_t classes;      /* that have points */
    int64_t rank;         /* of the centred points, to FAR_SSR_RANK_TOLERANCE */
    double within, total; /* scatter; inf where it is out of range, and the ratios are still good */
    double ssr, lssr;
    int32_t defined; /* 1: there is a direction; 0: the means coincide, LSSR is 1 */
} far_ssr;

/* Features are divided by their standard deviation first (LSSR does not see it). A direction counts
 * as one in which the points do not spread when its eigenvalue of the correlation matrix is below
 * this part of the largest: St^+ is the pseudo-inverse on the others. Constant features have
 * weight 0. */
#define FAR_SSR_RANK_TOLERANCE 1e-12

/* direction (1 x d, may be NULL) is w with w' St w / n = 1, zeros if it is not defined; its largest
 * entry times its feature's standard deviation is positive. lssr is the SSR of the numbers w . x,
 * measured on the points: where it is 0 it comes out as 0 to the square of rounding.
 * Points are read in blocks: memory is 32 d min(n, d) bytes and a few blocks, cost n d min(n, d).
 * Progress "scatter".
 * FAR_ERR_ARG: a label outside of 0 .. classes - 1. FAR_ERR_VALUE: a value that is not finite, with
 * its place; points of one class only; points that all coincide. */
FAR_API FAR_NODISCARD far_status far_ssr_measure(far_ctx *ctx, const far_mat *x,
                                                 const int64_t *labels, int64_t classes,
                                                 far_ssr *out, far_mat *direction);

/*
 * One layer that breaks the bound. A network of linear layers cannot go below LSSR. One `dense(3)
 * ln` can: three neurons under LN are a plane h in R^2 projected to its unit circle, and LSSR of
 * the points on the circle may be lower than that of the points.
 *
 * The search is deterministic: the same points and options give the same layer.
 * 1. Lines. h = (k t, 1 + mu t) with t = w . x - z, over a grid of z, k and mu and then by
 *    Nelder-Mead, along each of these w: the discriminants; the directions in which the scatter of
 *    one class differs most from that of all (in XOR they are the diagonals); principal axes;
 *    random ones until there are `directions`.
 * 2. Planes. From the best lines and some random planes, all of h = A x + b at once by BFGS with
 *    limited memory, at most `steps` steps each. LSSR has many local minima: what is found is good,
 *    not proven best.
 * Many points or features: lines are compared on 4096 of the points, spread over the rows; planes
 * start on as many, fewer of them, and go on over all points (or 2^25 / d of them).
 */
typedef struct far_ln_layer_opts {
    size_t size;        /* set by far_ln_layer_opts_init */
    int64_t directions; /* default 32; at least 1 */
    int64_t steps;      /* default 200; 0: lines only */
    uint64_t seed;      /* of the random directions; default 0 */
} far_ln_layer_opts;
FAR_API void far_ln_layer_opts_init(far_ln_layer_opts *opts);

/* Every number is measured on the outputs of far_net_eval. */
typedef struct far_ln_layer_info {
    far_ssr before; /* of x */
    double along;   /* LSSR behind the best layer along w, LSSR's own direction; NAN: none */
    double line;    /* LSSR behind the best line */
    double ssr;     /* of the three outputs of the layer that is returned */
    double lssr;    /* of these outputs: the SSR of readout . outputs */
    double readout[3];
    int32_t broken;     /* 1: lssr < before.lssr by more than 1e-9 */
    int64_t candidates; /* layers that were tried */
    double seconds;
} far_ln_layer_info;

/* *out is a network `dense(3) ln` with d inputs, which can be saved; its weights are so large that
 * an eps of 1e-5, as PyTorch has it, would change nothing. It is the best of lines and planes, as
 * measured on all points. opts may be NULL for the defaults; out and info may be NULL. Errors as
 * far_ssr_measure. Memory: as far_ssr_measure, and 8 n min(n, d) bytes, at most 2^28. 10000 points
 * with 784 features take half a minute, small data a fraction of a second. Progress "layer". */
FAR_API FAR_NODISCARD far_status far_ln_layer_search(far_ctx *ctx, const far_mat *x,
                                                     const int64_t *labels, int64_t classes,
                                                     const far_ln_layer_opts *opts, far_net **out,
                                                     far_ln_layer_info *info);

/*
 * H(f; x) = sum_i |d2 f_i / dx2|_F^2.
 *
 * Of LN in d dimensions, with v the variance of x and r = 1 / sqrt(v + eps),
 *
 *     H = v r^6 / d (3 (d - 2) + 9 eps^2 r^4)           = 3 (d - 2) / (d v^2) for eps = 0,
 *
 * and of grouped LN the sum of that over the groups. Groups of 2 have H = 0 for eps = 0 (LN of two
 * numbers is a sign); groups of 1 are 0 altogether.
 */
/* h (n x 1): row i is H at row i of x (n x d, float64, finite). groups divides d. A group that is
 * constant has no derivative for eps = 0: INFINITY. FAR_ERR_SHAPE: groups does not divide d. */
FAR_API FAR_NODISCARD far_status far_ln_hessian(far_ctx *ctx, const far_mat *x, int64_t groups,
                                                double eps, far_mat *h);

/* ratio (n x 1, may be NULL) = H(LN with groups) / H(LN) at the rows of x, eps = 0, and *bound
 * (may be NULL) = g (d - 2 g) / (d - 2), or 0 where that is negative: no ratio is below it. The
 * bound is at least 1 for 1 <= g <= (d - 2) / 2 and largest, d^2 / (8 (d - 2)), for groups of 4.
 * NAN at a constant row. x NULL with ratio NULL: the bound alone, of d dimensions. FAR_ERR_ARG: d <
 * 3, where H(LN) is 0.
 */
FAR_API FAR_NODISCARD far_status far_ln_amplification(far_ctx *ctx, int64_t d, int64_t groups,
                                                      const far_mat *x, far_mat *ratio,
                                                      double *bound);

/*
 * Of a whole network: second derivatives by inputs, exactly, forwards through all layers. An
 * activation with kinks (relu, leaky_relu, abs) has second derivative 0 wherever it has one, and at
 * the kink too; relu(p) has p (p - 1) z^(p - 2) for z > 0. Batch norm uses its running statistics.
 * raw 0: f in its own units; raw 1: raw inputs to raw outputs, through the scaling of its columns.
 *
 * The rows of x do not depend on each other and are done by several threads; the bits do not depend
 * on their number. float64 only. FAR_ERR_ARG: a linearised network.
 */

/* h is n x 1: H at the rows of x (n x inputs); or n x outputs: column k is the k-th term of the
 * sum. INFINITY where a norm with eps = 0 meets a constant vector.
 * Cost of a row: about m^2 times that of evaluating it, with m the number of inputs, or that of the
 * first layer's neurons where it is dense and they are fewer (directions that it does not see have
 * no second derivative). Memory a thread: O(width m). Progress "hessian". */
FAR_API FAR_NODISCARD far_status far_net_hessian_norm(far_ctx *ctx, const far_net *net,
                                                      const far_mat *x, int raw, far_mat *h);

/*
 * Shattering. L + 2 distinct points; each of their 2^(L + 2) labellings with two classes is
 * realised by a network `[dense(3) ln]xl dense(2)`, l <= L, that is built (farfield/lnnet.h) and
 * then run on the points. So the VC dimension of three neurons and L layers of LN is at least
 * L + 2. Of a labelling and its complement only one is built: exchanging the two rows of the last
 * layer makes the other.
 */
typedef struct far_shatter {
    int64_t layers, points;
    int64_t labellings;  /* 2^(L + 2) */
    int64_t built;       /* networks built and run */
    int64_t realised;    /* of the labellings, complements counted; all of them: shattered */
    int64_t most_layers; /* any of them took */
    double margin;       /* the least: see far_lnnet_info; NAN: none was built */
    int64_t failed;      /* the first that was not realised, bit i = class of point i; -1: none */
    double seconds;
} far_shatter;

#define FAR_SHATTER_LAYERS_MOST 20

/* x: (layers + 2) x d, any d; NULL: Gaussian points of the plane, from seed. layers from 1 to
 * FAR_SHATTER_LAYERS_MOST. A labelling that cannot be realised is no error: it is counted. Errors
 * are FAR_ERR_SHAPE for another number of points and FAR_ERR_VALUE for points that coincide or are
 * not finite. Progress "labellings". */
FAR_API FAR_NODISCARD far_status far_lnnet_shatter(far_ctx *ctx, int64_t layers, const far_mat *x,
                                                   uint64_t seed, far_shatter *out);

#ifdef __cplusplus
}
#endif
#endif
