/*
 * Layer factors of a finite network's tangent kernel. A layer adds
 *
 *     (by_input h h' + constant) (d d')
 *
 * to K, h its inputs and d the gradient of the output by what it gives. For a norm's scale and
 * shift there is no h, and d holds both gradients; nor for a layer at several positions, where d
 * holds the gradient by all of its parameters.
 */
#ifndef FAR_NET_FACTORS_H
#define FAR_NET_FACTORS_H

#include "../net/engine.h"

#include <farfield/ntk.h>

#define FAR_TILE 128 /* side of a tile: a multiple of the engine's panel */

typedef struct far_vectors {
    int64_t length;
    void *rows; /* n x length */
} far_vectors;

typedef struct far_factor {
    int64_t unit;
    double by_input, constant;
    far_vectors inputs, gradients; /* inputs.length 0: none */
    int64_t positions; /* of a layer taken apart: inputs has a row for each point and position,
                          gradients for each row of the kernel and position. Else 0 */
} far_factor;

typedef struct far_factors {
    far_ctx *ctx;
    far_dtype dtype;
    int64_t n; /* rows of the kernel: points, or points x outputs */
    far_factor *items;
    int64_t count;
    void *room; /* where all of them lie */
    size_t bytes;
} far_factors;

/* How a network's outputs become rows. */
typedef struct far_factor_plan {
    const far_net *net;
    const far_engine *engine;
    const far_weights *weights;
    const far_ntk_opts *opts;
    int64_t first, some; /* of a trace: so many outputs from this one on; some 0: all of them */
    bool apart;          /* layers at several positions: see far_factor. Not for kernels */
    void *outputs;       /* the network's at these weights too, points x outputs; NULL: no */
    bool by_channel;     /* whole gradients of convolutions channel by channel: for kernels, which
                            do not care for the order */
    int64_t begin, end;  /* by_channel: places [begin, end) of far_factors_places; end 0: all */
    double room;         /* bytes a point that later calls with the same memory need, or 0 */
} far_factor_plan;

/* What can be asked for by itself: the channels of convolutions, and all other layers whole, from
 * the first to the last. */
int64_t far_factors_places(const far_factor_plan *plan);

/* It stands at several positions (a convolution too) or has lora, and has its whole gradient for a
 * factor; as many numbers as it has parameters, weights first. */
bool far_step_is_spread(const far_step *step);
/* It is spread and a matrix times inputs, which may be one-hot (embed, position); how many inputs,
 * without bias. 0: a norm. */
int64_t far_step_spread_inputs(const far_step *step);

/* The engine of a network and the weights that tangents are taken at: those it started from if it
 * is linearised. Both are the caller's, also after a failure. */
far_status far_tangent_weights(far_ctx *ctx, const far_net *net, far_dtype dtype,
                               far_engine **engine, far_weights **weights);

/* out is zero, or has factors of an earlier call, whose memory is used again where it fits. */
far_status far_factors_create(far_ctx *ctx, const far_factor_plan *plan, const far_mat *x,
                              far_factors *out);
void far_factors_clear(far_factors *f);
/* Room for n rows of the same factors, none of them taken apart. The caller's to clear, also after
 * a failure. */
far_status far_factors_like(far_ctx *ctx, const far_factors *some, int64_t n, far_factors *out);
/* far_net_ntk of x with itself, again and again: kept, zero at first, has the memory in between;
 * far_factors_clear frees it. */
far_status far_net_ntk_kept(far_ctx *ctx, const far_net *net, const far_mat *x,
                            const far_ntk_opts *opts, far_factors *kept, far_mat *out);
/* Bytes that factors take for n points. */
double far_factors_bytes(const far_factor_plan *plan, int64_t n);

#endif
