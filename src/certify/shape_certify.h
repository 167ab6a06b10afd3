/* Certificates of networks of images and sequences. */
#ifndef FAR_SHAPE_CERTIFY_H
#define FAR_SHAPE_CERTIFY_H

#include "net_certify.h"

/* ---- shape_walk.c ---- */

/* A box around every output of the network, in its own units, for all inputs in the boxes given (as
 * many as it has inputs; those of tokens are whole numbers, or everything). */
far_status far_shape_walk(far_ctx *ctx, const far_net *net, const far_range *inputs,
                          far_range *out);

/* ---- shape_certify.c ---- */

/* Completes a certificate that says nothing yet: all but the search. */
far_status far_shape_bounds(far_ctx *ctx, const far_net *net, far_certificate *c);
/* The same with the largest values that a search met. */
far_status far_shape_certify(far_ctx *ctx, const far_net *net, const far_certify_opts *o,
                             far_certificate *c);
/* What a checker completes: own holds far_shape_bounds. */
far_status far_shape_complete(far_ctx *ctx, const far_net *net, const json_t *outputs,
                              far_certificate *own);

#endif
