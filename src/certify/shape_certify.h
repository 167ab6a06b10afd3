/* Certificates of networks of images and sequences, and of any network over a box of inputs. */
#ifndef FAR_SHAPE_CERTIFY_H
#define FAR_SHAPE_CERTIFY_H

#include "net_certify.h"

/* ---- shape_certify.c ---- */

/* Completes a certificate that says nothing yet but for its box: all but the search. */
far_status far_shape_bounds(far_ctx *ctx, const far_net *net, far_certificate *c);
/* The same with the largest values that a search met. */
far_status far_shape_certify(far_ctx *ctx, const far_net *net, const far_certify_opts *o,
                             far_certificate *c);
/* What a checker completes: own holds far_shape_bounds. */
far_status far_shape_complete(far_ctx *ctx, const far_net *net, const json_t *outputs,
                              far_certificate *own);
/* The box of a certificate's text. */
far_status far_shape_stated_box(far_ctx *ctx, const char *json, far_certify_opts *out);

#endif
