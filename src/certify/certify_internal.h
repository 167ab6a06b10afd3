/*
 * Shared inside src/certify. One output of a model is f = centre + scale g, where
 * g(x) = sum_i alpha_i k(x, x_i) lies in the reproducing kernel Hilbert space of k.
 *
 * With a metric S in front f(x) is that at S x. Proofs are about all of R^d behind it, which holds
 * every S x, rounded or not; points that were met and directions are those of x.
 */
#ifndef FAR_CERTIFY_INTERNAL_H
#define FAR_CERTIFY_INTERNAL_H

#include "../regress/regress_internal.h"
#include "certificate.h"

/* One output. */
typedef struct far_single {
    far_ctx *ctx;
    const far_model *model;
    int64_t output;
    double centre, scale;
    double norm;     /* of g, rounded up by what rounding can hide */
    double norm_1;   /* sum |alpha_i| */
    double largest;  /* max |y_i|, standardised */
    double C;        /* >= k(x, x) for all x; INFINITY */
    double rounding; /* what evaluating f anywhere can add to it, in target units */
} far_single;

/* An interval that holds every value of f, and what proves it. */
typedef struct far_interval {
    double low, high;
    const char *method; /* NULL: none */
} far_interval;

/* ---- reason.c: what a verdict rests on, in words ---- */

typedef enum far_open {
    FAR_OPEN_KERNEL, /* k(x, x) is unbounded, and no direction was found */
    FAR_OPEN_ZERO,   /* it runs away as x nears 0 */
    FAR_OPEN_SEARCH  /* its bound is numerical */
} far_open;
/* by: how C is known. */
const char *far_reason_bounded(const far_model *m, const char *by);
const char *far_reason_unbounded(const far_model *m);
const char *far_reason_open(far_open open);

/* ---- what the methods of far_bound.proofs are ---- */

enum { FAR_BY_NORM, FAR_BY_BIAS, FAR_BY_QUADRATIC, FAR_BY_BRANCH };
#define FAR_BRANCH "branch and bound"

/* ---- evidence.c ---- */

/* A predictor for every output, from alpha and the training points alone. FAR_ERR_FORMAT, with the
 * name of the field, where the model does not agree with itself. One pass over half of the kernel
 * matrix: O(n^2 (d + layers + outputs)). */
far_status far_singles_fill(far_ctx *ctx, const far_model *m, double C, far_single *out);
/* How far kernel values may be off, relative to the diagonal. */
double far_kernel_doubt(const far_model *m);

/* ---- bounds.c: whole-space bounds in closed form ---- */

long double far_alpha_at(const far_single *p, int64_t i);
/* C |g| by the reproducing property. */
far_interval far_norm_interval(const far_single *p);
/* The same with the last layer's bias, a constant in g, taken out exactly. */
far_interval far_bias_interval(const far_single *p);
/* Networks that begin with dense and a norm: the constant, linear and quadratic parts of g on the
 * sphere exactly, the rest by its norm. */
far_status far_quadratic_interval(const far_single *p, far_interval *out);
/* b1, and the lambda_min forms of the paper, NAN where lambda_min is not known. */
void far_loose_bounds(const far_single *p, far_bound *b);

/* ---- sphere.c: R^d with its points at infinity is half of a sphere ---- */

/* s = (x / (sqrt(d) unit), 1), normalised; s_d = 0 are the directions at infinity. unit is the size
 * at which the first layer's bias and weights weigh the same (1 where it has no bias, or where that
 * size is beyond 1e150). */
#define FAR_HEIGHT_OF_INFINITY 1e-12 /* below it the limit is the better value */
double far_sphere_unit(const far_model *m);
/* Whether s is also what the first dense makes of x: proofs that work on the sphere need that. */
bool far_sphere_is_ours(const far_model *m);
void far_sphere_from_point(const double *x, int64_t d, double unit, double *s);
void far_sphere_to_point(const double *s, int64_t d, double unit, double *x);
/* f at count points of the half sphere (count x (d + 1)), infinity included, for every output:
 * out is count x p. FAR_ERR_ARCH where there is no limit at infinity. */
far_status far_sphere_eval(far_ctx *ctx, const far_model *m, double unit, const double *s,
                           int64_t count, double *out);
/* f of output j at a raw point, or its limit along a raw direction. */
far_status far_raw_value(far_ctx *ctx, const far_model *m, int64_t j, const double *raw,
                         bool infinite, double *out);

/* ---- search.c ---- */

/* Large values: for every output the largest |f| met and where (p x (d + 1) on the sphere), behind
 * the model's metric. */
far_status far_search_supremum(far_ctx *ctx, const far_model *m, const far_certify_opts *o,
                               double *found, double *where);
/* Large |slope| among directions (p x d, unit norm in standardised inputs), and its order. rows:
 * among those along which rows of a table can go, 0 in every category. */
far_status far_search_direction(far_ctx *ctx, const far_model *m, const far_certify_opts *o,
                                bool rows, double *slope, double *order, double *direction);

/* ---- cell.c: how far k moves inside a piece of the sphere ---- */

/* Whether the network is made of what far_cell_distance knows. */
bool far_cell_supported(const far_model *m);
/* An upper bound on |k(x, .) - k(c, .)| in the Hilbert space, for all x within angle (of the
 * sphere) of c that have height (last coordinate of s) in [low, high]. */
double far_cell_distance(const far_model *m, double height, double angle, double low, double high);

/* ---- branch.c ---- */

typedef struct far_branch_result {
    double bound, found; /* proven: |f| <= bound; met: |f| = found */
    int64_t cells;
    bool finished; /* bound <= max(target, found (1 + gap)) */
} far_branch_result;
/* target: NAN, or a bound that is to be confirmed; the search ends when it is refuted. */
far_status far_branch_bound(const far_single *p, double gap, double target, double seconds,
                            double start, far_branch_result *out);

/* ---- witness.c ---- */

far_status far_witness_fill(far_ctx *ctx, const far_model *m, const far_certify_opts *o,
                            const far_single *singles, far_certificate *c);
/* Makes the verdict on an output unbounded, with all that goes with it (beyond unless level is
 * NAN), if it runs away along direction, which b then keeps. */
far_status far_witness_output(const far_single *p, double level, const double *direction,
                              far_bound *b);

/* Along t direction, raw, the data lie this far from 0, or are as large, as the kernel sees them.
 */
double far_ray_extent(const far_model *m, const double *direction);

/* A certificate with all that needs no search: what far_certificate_check recomputes. *open: why
 * outputs that are neither bounded nor unbounded are so. */
far_status far_bounds_fill(far_ctx *ctx, const far_model *m, far_single *singles, far_open *open,
                           far_certificate **out);

far_status far_model_certify(far_ctx *ctx, const far_model *m, const far_certify_opts *opts,
                             far_certificate **out);
/* far_certificate_check of a model, with so much time for branch and bound. */
far_status far_model_certificate_check(far_ctx *ctx, const far_model *m, const char *json,
                                       double seconds);

#endif
