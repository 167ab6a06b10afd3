/*
 * farfield/lnnet.h: networks of linear layers and layer norm that are built, not trained.
 *
 * Any labelled points, with any labels, are classified without an error by a network of linear
 * layers and layer norms alone, three neurons wide:
 *
 *     [dense(3) ln]xL dense(K)                    one chain
 *     [dense(3 g) ln(groups=g)]xL dense(K)        g chains side by side
 *
 * Output r belongs to class r: a point's class is its largest output. The result is an ordinary
 * far_net: it can be evaluated, saved, certified, and run by PyTorch.
 *
 * How. Three neurons under a layer norm are a point of the plane sent to the unit circle. The first
 * layer projects the data to a line; every layer then folds the line once: the number x (the state
 * of the chain) becomes
 *
 *     t = x - hinge,   h = (k t, 1 + mu t),   f(x) = (1 + mu t) / |h|
 *
 * the ordinate of h on the circle. f has one maximum, at the hinge; two points left and right of it
 * with f equal are merged. When each class is one interval of the line, a linear layer reads it.
 * Weights are scaled so that an eps of up to 1e-5 in the norms (the default of PyTorch) changes
 * nothing; the text has eps = 0.
 */
#ifndef FARFIELD_LNNET_H
#define FARFIELD_LNNET_H

#include <farfield/net.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum far_lnnet_mode {
    FAR_LNNET_AUTO = 0,  /* runs for two classes or several groups, merge for more */
    FAR_LNNET_PAPER = 1, /* the leftmost point and the next of its label, hinge halfway, mu = 0: at
                            most m - K layers, but gaps shrink as 2^(-m/4): double up to a hundred
                            points, then quad, then mpfr */
    FAR_LNNET_MERGE = 2, /* two points of one class a layer, near the front, hinge and mu chosen so
                            that gaps stay wide: at most m - K layers; where that does not bear
                            rounding, points are gathered in front one by one: at most m - 1 */
    FAR_LNNET_RUNS = 3   /* two classes, or several groups: two runs of neighbours of one class a
                            layer: R - 2 layers for R runs along the line, about m / 2 */
} far_lnnet_mode;

typedef enum far_lnnet_precision {
    FAR_LNNET_PRECISION_AUTO = 0, /* double that bears another rounding; if that fails, quad; then,
                                     for the mode paper, mpfr */
    FAR_LNNET_DOUBLE = 1,
    FAR_LNNET_QUAD = 2, /* 113 bits */
    FAR_LNNET_MPFR = 3  /* any number of bits, where the library was built with MPFR */
} far_lnnet_precision;

typedef struct far_lnnet_opts {
    size_t size;         /* sizeof(far_lnnet_opts); all other defaults are 0 */
    far_lnnet_mode mode; /* default FAR_LNNET_AUTO */
    int64_t groups;      /* g, chains side by side; 0 or 1 (default): one. More are shared among the
                            classes in proportion to their points: at least one a class for three
                            classes and more, any number for two. Mode auto or runs only */
    far_lnnet_precision precision; /* default FAR_LNNET_PRECISION_AUTO */
    int64_t bits;  /* of FAR_LNNET_MPFR, 64 to 100000; 0 (default): m / 3 + 128, doubled where
                      that is too few */
    int64_t tries; /* projections to try for each chain and precision; 0: 20 */
    uint64_t seed; /* of the projections and the search; default 0 */
} far_lnnet_opts;

typedef struct far_lnnet_info {
    far_lnnet_mode mode;           /* what was used, never auto */
    far_lnnet_precision precision; /* in which the network classifies every point; never auto */
    const char *mode_name, *precision_name; /* "paper", "merge", "runs"; "double", "quad", "mpfr" */
    int64_t bits;                           /* of the significand: 53, 113, or those of mpfr */
    int64_t points;                         /* that are different: copies of a row count once */
    int64_t classes;                        /* K */
    int64_t layers;                         /* norms, L */
    int64_t groups;                         /* g */
    int64_t width;                          /* 3 g */
    int64_t tries;                          /* projections tried, of all chains together */
    int64_t confusions; /* mode paper: layers where the hinge halfway would have merged two
                           points of different classes, and was moved */
    double gap;         /* the least distance, after any layer, of the states of two points that
                           the chain must tell apart; states lie in [-1, 1] */
    int64_t gap_layer;  /* there, counted from 1; 0: before the first layer (states scaled to
                           [0, 1] there) */
    double final_gap;   /* the same behind the last layer */
    double margin;      /* the least, over all points, of the output of a point's own class less
                           its largest other output, in the forward pass that confirmed the
                           network. One chain: the read-out scales the states to range 1, so that
                           it is at most 1 / 2 (1 if there are points of one class only). Several:
                           every chain votes 0 or 2, and it is near 2 (two classes: 1). INFINITY
                           for classes = 1 */
    double noise;       /* the part of margin by which the margin of a point (of runs: the least
                           one) changes when every state in every layer is moved at random by its
                           last two bits, in double with eps = 1e-5 as well: more than another
                           order of operations does */
    int32_t robust;     /* always 1: noise is at most FAR_LNNET_NOISE_MOST, and every point is right
                           in the passes that were moved, too: other programs, PyTorch among them,
                           may round as they like */
    double seconds;
} far_lnnet_info;

#define FAR_LNNET_NOISE_MOST 0.1

/* Builds a network that classifies every row of x (n x d, float64 or float32; n, d >= 1): labels[i]
 * in 0..classes - 1 is the class of row i. Classes without a row are allowed; their output is never
 * the largest. info may be NULL.
 *
 * A network is given back only after a forward pass through its stored weights, by itself, has
 * classified every row: far_net_eval in double, and once more with eps = 1e-5 and every state
 * shaken (noise, above); above double two passes at that precision. A network that needs more than
 * double has its parameters, in their order and with all digits, in the metadata "lnnet.parameters"
 * ("lnnet.precision" and "lnnet.bits" say in which precision); its tensors are these numbers
 * rounded, and far_lnnet_check reads the digits.
 *
 * FAR_ERR_VALUE: a value that is not finite; or two identical rows with different labels (rows are
 * counted from 1 in messages); or no precision that was allowed separates the points: says how far
 * it got and what can be tried. FAR_ERR_ARG: a mode, number of groups or label that cannot be.
 * FAR_ERR_ARCH: more layers than the language allows.
 * Progress "lnnet", layers of all chains; chains run on the context's threads. The same network for
 * any number of threads. */
FAR_API FAR_NODISCARD far_status far_lnnet_build(far_ctx *ctx, const far_mat *x,
                                                 const int64_t *labels, int64_t classes,
                                                 const far_lnnet_opts *opts, far_net **out,
                                                 far_lnnet_info *info);

typedef struct far_lnnet_checked {
    far_lnnet_precision precision; /* of the pass; never auto */
    const char *precision_name;
    int64_t bits;
    int64_t wrong; /* rows whose own output is not the largest alone (equal counts as wrong) */
    int64_t first_wrong; /* counted from 0; -1: none */
    double margin;       /* as in far_lnnet_info; not positive if a row is wrong */
} far_lnnet_checked;

/* A fresh forward pass of a network that far_lnnet_build made, or that was loaded from its file; in
 * double it may be any far_net with at least two outputs or one class. precision: auto takes what
 * the file names (double if it names none); double uses the tensors and far_net_eval; quad and mpfr
 * the digits of the metadata, or the tensors where there are none. bits: 0, or of mpfr. labels are
 * 0..outputs - 1. FAR_ERR_FORMAT: the digits are damaged. Progress "lnnet check". */
FAR_API FAR_NODISCARD far_status far_lnnet_check(far_ctx *ctx, const far_net *net, const far_mat *x,
                                                 const int64_t *labels,
                                                 far_lnnet_precision precision, int64_t bits,
                                                 far_lnnet_checked *out);

/* ---- for figures ---- */

typedef struct far_lnnet_shape {
    int64_t layers, groups, classes;
    far_lnnet_mode mode; /* FAR_LNNET_AUTO: the file does not say */
} far_lnnet_shape;

/* FAR_ERR_ARG: the network has not the form above. */
FAR_API FAR_NODISCARD far_status far_lnnet_describe(far_ctx *ctx, const far_net *net,
                                                    far_lnnet_shape *out);

/* The way of n rows of x through chain 0..groups - 1. states is n x (layers + 1), float64: column
 * 0 is the projection (its own units), column l the state after l norms: the number in [-1, 1] that
 * the next layer reads, which is the ordinate on the circle (the abscissa in the last layers of
 * grouped chains). circle is n x (2 layers), columns 2 l and 2 l + 1 are abscissa and ordinate
 * after l + 1 norms; either may be NULL. At the precision of the file, then rounded. */
FAR_API FAR_NODISCARD far_status far_lnnet_trace(far_ctx *ctx, const far_net *net, const far_mat *x,
                                                 int64_t chain, far_mat *states, far_mat *circle);

#ifdef __cplusplus
}
#endif
#endif
