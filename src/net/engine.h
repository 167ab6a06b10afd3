/*
 * Runs a network over a block of rows, forwards, backwards and along a tangent, in float32 or
 * float64. Everything a block needs stays in cache; nothing is allocated while it runs.
 *
 * Packed parameters are in far_net's order and offsets, but every dense weight lies in x out, and
 * they have the engine's dtype. Gradients and directions are packed too.
 */
#ifndef FAR_NET_ENGINE_H
#define FAR_NET_ENGINE_H

#include "net_internal.h"

void far_net_pack(const far_net *net, const double *params, far_dtype dtype, void *packed);
void far_net_unpack(const far_net *net, far_dtype dtype, const void *packed, double *params);

/* What every thread shares: immutable. */
typedef struct far_engine far_engine;
far_status far_engine_create(far_ctx *ctx, const far_net *net, far_dtype dtype, far_engine **out);
void far_engine_destroy(far_engine *e);
int32_t far_engine_dtype(const far_engine *e);
/* The micro-kernel for others: out (rows x cols, ldo apart) = a (rows x inner) times b' (b cols x
 * inner), the rows of both ld apart, by the calling thread. inner is 1 or more. */
void far_engine_multiply(const far_engine *e, int64_t rows, int64_t cols, int64_t inner,
                         const void *a, const void *b, int64_t ld, void *out, int64_t ldo);
int64_t far_engine_panel(const far_engine *e); /* so many columns it takes at once */
/* Rows of a block that suits the cache; depends on the network only, not on the machine's load or
 * thread count. */
int64_t far_engine_rows(const far_engine *e);
/* Operations (additions and multiplications) of the matrix products a row takes, forwards and
 * backwards without gradients of the inputs. */
double far_engine_flops(const far_engine *e);

/* Parameters as the passes read them: scaled (ntk parametrisation) and, where the way back needs
 * it, transposed. Statistics of batch norm are those of the network unless set. */
typedef struct far_weights far_weights;
far_status far_weights_create(far_ctx *ctx, const far_engine *e, far_weights **out);
/* A direction at point, whose A and B it needs where there is lora: point stays, and is set first.
 */
far_status far_direction_create(far_ctx *ctx, const far_engine *e, const far_weights *point,
                                far_weights **out);
void far_weights_destroy(far_weights *w);
/* From packed parameters, all of which have to be there; slice of slices lets several threads share
 * the work: rows in * slice / slices, .. of every dense weight (in x out), and the first slice also
 * all vectors. */
void far_weights_set(far_weights *w, const void *packed, int64_t slice, int64_t slices);
void far_weights_set_statistics(far_weights *w, const double *statistics);

/* One thread's values for a block of at most `rows` rows. */
typedef struct far_pass far_pass;
typedef enum far_pass_need {
    FAR_PASS_BACKWARD = 1, /* room for gradients of values */
    FAR_PASS_TANGENT = 2,
    FAR_PASS_BATCH = 4, /* batch norm by the statistics of the block itself, as in training */
    FAR_PASS_EACH = 8
} far_pass_need;
far_status far_pass_create(far_ctx *ctx, const far_engine *e, int64_t rows, int needs,
                           far_pass **out);
void far_pass_destroy(far_pass *p);

/* Keeps the values of every step. x: rows x inputs, ld apart. */
void far_pass_forward(far_pass *p, const far_weights *w, const void *x, int64_t ld, int64_t rows);
/* rows x step->out, packed by rows; step -1: the inputs as given to forward (their own ld). Fused
 * steps may leave out values that no derivative needs: those are NULL. What is always there: the
 * input of every dense layer (the value of the step before it), and the output. */
const void *far_pass_output(const far_pass *p);
const void *far_pass_value(const far_pass *p, int64_t step, int64_t *ld);
/* The normalised values of a norm, before its scale and shift: rows x step->out, packed by rows. */
const void *far_pass_normalized(const far_pass *p, int64_t step);

/* Gradients at every step from those of the output (rows x outputs); adds those of parameters
 * to packed gradient (NULL: not wanted), writes those of inputs to dx (rows x inputs; NULL). After
 * forward on the same weights. */
void far_pass_backward(far_pass *p, const far_weights *w, const void *dout, void *gradient,
                       void *dx);
/* The gradients by the parameters of one layer that are wanted, one row for each of several outputs
 * of the network. Those of a convolution without lora: of channels [first, first + channels), each
 * with all of its weights and its bias; others: all, as packed. */
typedef struct far_jacobian {
    void *out; /* NULL: none */
    int64_t ld;
    int64_t first, channels;
} far_jacobian;

/* So many of that many outputs suit far_pass_backward_each at a time. */
int64_t far_engine_each(const far_engine *e, int64_t outputs);
/* Gradients of count outputs (douts: count x outputs, at most as many as the pass has rows) after
 * forward on a single row. parts: by step. Steps in front of `lowest` are left out. gradient:
 * scratch, packed. far_pass_delta has count rows then. Needs FAR_PASS_EACH. */
void far_pass_backward_each(far_pass *p, const far_weights *w, const void *douts, int64_t count,
                            int64_t lowest, const far_jacobian *parts, void *gradient);
/* The gradient at the output of a layer with parameters, after backward; rows x positions x
 * step->out. */
const void *far_pass_delta(const far_pass *p, int64_t step);
/* Adds to packed gradient what one row of the block adds to that of a layer's parameters, after a
 * backward without gradients. Not for norms. */
void far_pass_layer_gradient(far_pass *p, const far_weights *w, int64_t step, int64_t row,
                             void *gradient);
/* Positions that a layer with parameters runs at: fewer than the text says where `last` comes
 * later. */
int64_t far_engine_positions(const far_engine *e, int64_t step);
/* What that layer reads: rows x positions of its input x step->in. */
const void *far_pass_input(const far_pass *p, int64_t step, int64_t *ld);

/* out (rows x outputs) = J v + df/dx dx, v the packed direction as weights (of
 * far_direction_create; NULL: none), dx rows x inputs (NULL). After forward on w. */
void far_pass_tangent(far_pass *p, const far_weights *w, const far_weights *v, const void *dx,
                      int64_t ldx, void *out);

/* Mean and variance (biased) of the block at the batch norms, as in far_net's statistics; after
 * forward with FAR_PASS_BATCH. */
void far_pass_statistics(const far_pass *p, double *statistics);

#endif
