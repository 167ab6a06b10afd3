/* The search for one layer that breaks the linear bound; all in the coordinates u of far_white. */
#ifndef FAR_LN_SEARCH_H
#define FAR_LN_SEARCH_H

#include "nonlinear_internal.h"

/* ---- circle.c ---- */

/* Points on the unit circle with labels. */
typedef struct far_circle {
    int64_t n, classes;
    int64_t *labels;
    double *counts; /* of each class */
    double *s;      /* n x 2 */
    double *means;  /* classes x 2 */
} far_circle;

/* With the labels of n rows that are spread over all. */
far_status far_circle_create(const far_labelled *p, int64_t n, far_circle *c);
void far_circle_clear(far_ctx *ctx, far_circle *c);
/* LSSR of s, and the direction q it is reached along, with q' St q = 1 (0 where s is one point). */
double far_circle_lssr(far_circle *c, double q[2]);
/* Derivatives of LSSR by s, into g (n x 2). */
void far_circle_gradient(const far_circle *c, const double q[2], double lssr, double *g);

/* ---- the layer ---- */

/* h = u A + b: A is rank x 2 and b its last row. */
typedef struct far_plane {
    double *a; /* (rank + 1) x 2 */
    double lssr;
} far_plane;

/* Points to search on. */
typedef struct far_sample {
    far_ctx *ctx;
    int64_t n, rank;
    double *u; /* n x rank */
    far_circle circle;
    int64_t tried; /* layers */
} far_sample;

/* ---- ln_sample.c ---- */

/* At most `most` points, spread over the rows. */
far_status far_sample_create(const far_labelled *p, const far_white *w, int64_t most,
                             far_sample *s);
void far_sample_clear(far_sample *s);

/* ---- ln_directions.c ---- */

/* Up to `most` unit vectors (rows of out, most x rank), the first discriminant first if there is
 * one; how many. */
far_status far_ln_directions(const far_labelled *p, const far_white *w, const far_sample *s,
                             int64_t most, uint64_t seed, double *out, int64_t *count);

/* ---- ln_line.c ---- */

/* The best h = (k t, 1 + mu t), t = u . axis - z. */
far_status far_ln_line(far_sample *s, const double *axis, far_plane *best);

/* ---- ln_plane.c ---- */

/* Improves a plane by at most `steps` steps. */
far_status far_ln_plane(far_sample *s, int64_t steps, far_plane *plane);

#endif
