/* A linear map in front of a network, learnt from a fitted function's own gradients: which inputs,
 * or mixtures of inputs, matter. docs/explanation/regression.md says how and why. */
#ifndef FAR_METRIC_H
#define FAR_METRIC_H

#include "../base/base_internal.h"

#include <farfield/model.h>

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
 * from the gradients of the fit at rows of x: of many, at some hundreds, evenly spread. */
far_status far_metric_learn(far_ctx *ctx, const far_kernel *k, double ridge, const far_metric *from,
                            far_metric_kind kind, double power, const far_mat *x, const far_mat *y,
                            far_metric *out);
/* ---- metric_tune.c ---- */

typedef struct far_tuning_opts {
    const int64_t *groups; /* of each input: those of a group share a weight */
    int64_t group_count;
    double ridge; /* relative, to begin with */
    bool free_ridge;
} far_tuning_opts;
/* A diagonal map that leave-one-out likes best, from equal weights: y (n x p) predicted at rows of
 * x behind it, of many at some hundreds, evenly spread. FAR_ERR_SINGULAR: there is none. */
far_status far_metric_tune(far_ctx *ctx, const far_kernel *k, far_kernel_kind kind,
                           const far_tuning_opts *o, const far_mat *x, const far_mat *y,
                           far_metric *out);
void far_metric_clear(far_ctx *ctx, far_metric *s);
far_status far_metric_copy(far_ctx *ctx, const far_metric *s, far_metric *out);

/* ---- model_metric.c ---- */

/* What follows from the map of a model; all 0 without one. */
typedef struct far_metric_facts {
    double *points;     /* n x d: S x_i */
    double size;        /* the root mean square of |S x_i| */
    double *importance; /* d */
    int64_t rank;       /* of S */
    double *axes;       /* rank x d, full: orthonormal eigenvectors, the largest value first */
    double *values;     /* rank: eigenvalues; diagonal: NULL, as axes */
    double *shares;     /* rank: of the squares of the values */
    double *null;       /* (d - rank) x d, raw: f(x + t null_k) = f(x) */
} far_metric_facts;
void far_metric_facts_clear(far_ctx *ctx, far_metric_facts *f);

#endif
