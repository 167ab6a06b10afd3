/* Layers of a chain in the very arithmetic of far_net_eval: what is right here is right there, to
 * the bit. */
#ifndef FAR_LNNET_ENGINE_H
#define FAR_LNNET_ENGINE_H

#include "points.h"

typedef struct far_ln_engine {
    far_ctx *ctx;
    far_net *first, *next; /* dense(3) ln of d inputs, and of three */
    double *in, *out;      /* most x max(d, 3), most x 3 */
    far_status status;     /* the first that failed */
} far_ln_engine;

/* For at most so many points at a time. */
far_status far_ln_engine_open(far_ctx *ctx, int64_t d, int64_t most, far_ln_engine *out);
void far_ln_engine_close(far_ln_engine *e);

/* y[i] = the third neuron behind the first layer, of point index[i]; rows are its weights, 3 x d.
 */
void far_ln_engine_first(far_ln_engine *e, const double *rows, const double *shifts,
                         const far_ln_points *p, const int64_t *index, int64_t n, double *y);
/* y[i] becomes that behind the layer w (three slopes, three shifts). */
void far_ln_engine_next(far_ln_engine *e, const double *w, double *y, int64_t n);

#endif
