/*
 * Second-order forward differentiation. A jet is what is known of one point behind a layer: for
 * every neuron a row
 *
 *     value | first derivatives along `along` directions q | for each of `block` directions p, from
 *     `from` on: second derivatives along p and every q
 *
 * padded to `stride` numbers. A dense layer is one product with such rows.
 */
#ifndef FAR_JET_H
#define FAR_JET_H

#include "../net/net_internal.h"

#define FAR_JET_BLOCK                                                                              \
    8 /* directions p at a time: the first derivatives are carried along again                     \
       */

typedef struct far_jet {
    double *now, *next; /* rows of the layer at hand, and room for those of the one behind it */
    double *kept;       /* what the skips that are open have kept, `room` numbers each */
    double *work;       /* 2 stride */
    int64_t open;       /* skips */
    int64_t room;       /* widest * stride_most */
    int64_t from, block, along, stride;
    bool undefined; /* a norm with eps = 0 met a constant vector */
} far_jet;

/* The numbers one row takes: of the largest jet for that many directions. */
int64_t far_jet_stride(int64_t along, int64_t block);
static inline int64_t far_jet_block(int64_t directions)
{
    return directions < FAR_JET_BLOCK ? directions : FAR_JET_BLOCK;
}

far_status far_jet_create(far_ctx *ctx, const far_net *net, int64_t directions, far_jet *jet);
void far_jet_clear(far_ctx *ctx, far_jet *jet);

/* Second derivative of phi, without gain; 0 at a kink. */
double far_activation_second(const far_step *step, double z);

/* Carries the rows in jet->now through steps [first, step_count). */
void far_jet_run(const far_net *net, int64_t first, far_jet *jet);

/* The second derivatives of a row along p (counted from 0 within the block). */
static inline double *far_jet_second(const far_jet *jet, double *row, int64_t p)
{
    return row + 1 + jet->along * (1 + p);
}

#endif
