/* Inside the room: labelled points and what is found about them. */
#ifndef FAR_NONLINEAR_INTERNAL_H
#define FAR_NONLINEAR_INTERNAL_H

#include "../solve/solve_internal.h"

#include <farfield/nonlinear.h>

/* ---- labelled.c ---- */

/* Points with labels, and their features one by one: y = (x - pivot) / size lies in [-1, 1], and
 * z = (y - mean) / sd has mean 0 and variance 1 (a constant feature has size 0, and z = 0). */
typedef struct far_labelled {
    far_ctx *ctx;
    const far_mat *x;
    const int64_t *labels;
    int64_t n, d, classes;
    int64_t *counts;                  /* of each class */
    double *size, *mean, *sd;         /* of each feature; pivot is the first row */
    double *class_means;              /* of y, classes x d */
    double within, total, total_unit; /* scatter of x over total_unit^2 */
} far_labelled;

far_status far_labelled_create(far_ctx *ctx, const far_mat *x, const int64_t *labels,
                               int64_t classes, far_labelled *p);
void far_labelled_clear(far_labelled *p);
/* z of row i. */
void far_labelled_row(const far_labelled *p, int64_t i, double *z);
int64_t far_labelled_present(const far_labelled *p); /* classes that have points */
/* SSR of one number a point. */
far_status far_labelled_ssr(const far_labelled *p, const double *numbers, double *ssr);

/* ---- whiten.c ---- */

/* Coordinates u = z T in which the points have covariance I: as many as their rank. */
typedef struct far_white {
    int64_t rank;
    double *map;   /* T, d x rank; the widest directions of z come last */
    double *means; /* of the classes, classes x rank */
    double *axes;  /* discriminants, axis_count x rank, unit vectors, the best first */
    double *share; /* of the variance along an axis that lies between classes, 1 - SSR */
    int64_t axis_count;
} far_white;

far_status far_white_create(const far_labelled *p, far_white *w);
void far_white_clear(far_ctx *ctx, far_white *w);
/* Which row is number i of count that are spread over all. */
static inline int64_t far_labelled_spread(const far_labelled *p, int64_t count, int64_t i)
{
    return (int64_t)((double)i * (double)p->n / (double)count);
}
/* u of count rows that are spread over all, rank numbers each. */
far_status far_white_points(const far_labelled *p, const far_white *w, int64_t count, double *u);

/* ---- ssr.c ---- */

/* As far_ssr_measure, of points that are there already. */
far_status far_ssr_of(const far_labelled *p, const far_white *w, far_ssr *out, double *direction);

/* out (inputs x inputs) = d2 f_output / dx2 at the one row of x, symmetric; output counts from 0.
 * NAN where a norm with eps = 0 meets a constant vector. */
FAR_NODISCARD far_status far_net_hessian(far_ctx *ctx, const far_net *net, const far_mat *x,
                                         int64_t output, int raw, far_mat *out);

#endif
