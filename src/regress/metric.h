/* A linear map in front of a network, learnt from a fitted function's own gradients: which inputs,
 * or mixtures of inputs, matter. docs/regression.md says how and why. */
#ifndef FAR_METRIC_H
#define FAR_METRIC_H

#include "regress_internal.h"

/* x becomes S x. */
typedef struct far_metric {
    far_metric_kind kind; /* none: the identity; map is NULL */
    int64_t inputs;       /* d */
    double *map;          /* diagonal: d; full: d x d by rows, symmetric, positive semidefinite */
} far_metric;

/* z = S x; m x d each, may be the same memory. */
far_status far_metric_apply(far_ctx *ctx, const far_metric *s, const far_mat *x, far_mat *z);
/* The next map from the average gradient outer product g (d x d) of a function in the inputs before
 * the map: g over its mean diagonal, to the power p / 2, and scaled so that the mean of |S x|^2
 * over the rows of x stays what it is for x. */
far_status far_metric_from_gradients(far_ctx *ctx, far_metric_kind kind, double power,
                                     const double *g, const far_mat *x, far_metric *out);
/* One round: fits y (n x p) on the kernel of S x with that relative ridge, and takes the next map
 * from the gradients of the fit at the rows of x. */
far_status far_metric_learn(far_ctx *ctx, const far_kernel *k, double ridge, const far_metric *from,
                            far_metric_kind kind, double power, const far_mat *x, const far_mat *y,
                            far_metric *out);
void far_metric_clear(far_ctx *ctx, far_metric *s);

#endif
