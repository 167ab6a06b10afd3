/*
 * farfield/ntk.h: the tangent kernel of a finite network, K(x, x') = J(x) J(x')', J =
 * df/dparameters.
 *
 * Computed from layer factors, K = sum over layers of (h h' + 1) (d d') with the layer's inputs h
 * and its output gradients d; the Jacobian is never formed. For a linearised network J is that of
 * its start.
 */
#ifndef FARFIELD_NTK_H
#define FARFIELD_NTK_H

#include <farfield/net.h>
#include <farfield/solve.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum far_ntk_outputs {
    FAR_NTK_TRACE = 0, /* sum over outputs k of K_kk, over the number of outputs: n x m */
    FAR_NTK_ONE = 1,   /* K_kk of one output: n x m */
    FAR_NTK_FULL = 2   /* all pairs: (n outputs) x (m outputs), entry (i o + a, j o + b) */
} far_ntk_outputs;

typedef struct far_ntk_opts {
    size_t size;                 /* sizeof(far_ntk_opts); all other defaults are 0 */
    far_ntk_outputs outputs;     /* default FAR_NTK_TRACE */
    int64_t output;              /* which, from 0, for FAR_NTK_ONE */
    const unsigned char *layers; /* one byte a layer, 0: leave it out; NULL: all */
    double memory; /* budget in bytes for factors; 0: what the machine has available */
} far_ntk_opts;

/* out[i][j] = K(x1_i, x2_j); x2 NULL: x1 itself, the matrix is symmetric. One dtype throughout, the
 * precision of the computation. Memory beside the result: O((n + m) outputs widths). Same bits for
 * any number of threads. Progress "gram". */
FAR_API FAR_NODISCARD far_status far_net_ntk(far_ctx *ctx, const far_net *net, const far_mat *x1,
                                             const far_mat *x2, const far_ntk_opts *opts,
                                             far_mat *out);
/* The same, layer by layer: out[l] for every layer that opts->layers holds (others may be NULL);
 * their sum is far_net_ntk's. */
FAR_API FAR_NODISCARD far_status far_net_ntk_layers(far_ctx *ctx, const far_net *net,
                                                    const far_mat *x1, const far_mat *x2,
                                                    const far_ntk_opts *opts, far_mat *const *out);

#ifdef __cplusplus
}
#endif
#endif
