/* The network as a list of operations over rows, for the rooms that run or study it. */
#ifndef FAR_NET_INTERNAL_H
#define FAR_NET_INTERNAL_H

#include "../arch/arch_internal.h"
#include "../columns/columns_internal.h"

#include <farfield/net.h>

typedef enum far_step_kind {
    FAR_STEP_DENSE,      /* z = weight_scale W h + bias_scale beta */
    FAR_STEP_ACTIVATION, /* gain phi(z) */
    FAR_STEP_NORM,       /* ln or rms, then scale and shift if affine */
    FAR_STEP_BATCHNORM,  /* (z - mean) / sqrt(variance + eps), then scale and shift if affine */
    FAR_STEP_SKIP_IN,    /* keeps its input for its mate; passes it on */
    FAR_STEP_SKIP_TURN, /* keeps its input for the end; passes on what its mate, the beginning, kept
                         */
    FAR_STEP_SKIP_OUT,  /* adds what its mate kept: the turn's, or where there is none the
                           beginning's input */
    FAR_STEP_INPUT,     /* a row of numbers as positions with channels */
    FAR_STEP_EMBED,     /* tokens: row of W */
    FAR_STEP_POSITION,  /* adds W, or sines */
    FAR_STEP_CONV,      /* as dense, of the window around each position */
    FAR_STEP_MAXPOOL,
    FAR_STEP_AVGPOOL,
    FAR_STEP_ATTEND,  /* softmax(Q K' / sqrt(size of a head)) V, from channels that hold Q, K, V */
    FAR_STEP_GAP,     /* mean over positions */
    FAR_STEP_FLATTEN, /* all positions as one vector, in PyTorch's order */
    FAR_STEP_LAST     /* the last position */
} far_step_kind;

/* Where the vectors of a value stand: width and height are 1 for a plain vector, and width is 1 in
 * a sequence. In a row of the engine channels lie next to each other, then columns, then rows. */
typedef enum far_grid_kind { FAR_GRID_VECTOR, FAR_GRID_SEQUENCE, FAR_GRID_IMAGE } far_grid_kind;
typedef struct far_grid {
    far_grid_kind kind;
    int64_t height, width;
} far_grid;

static inline int64_t far_positions(far_grid g)
{
    return g.height * g.width;
}

typedef struct far_step {
    far_step_kind kind;
    far_layer_kind layer; /* which activation; FAR_LAYER_LN or FAR_LAYER_RMS */
    int64_t in, out;      /* widths: channels of a position */
    far_grid from, to;    /* positions of the input and of the output */
    far_grid window;      /* conv and pools */
    int64_t stride, pad;
    int64_t heads; /* attend */
    bool causal;
    int64_t vocabulary; /* embed */
    double w, b;        /* dense: as in the text; NAN where it does not say */
    double weight_scale, bias_scale;
    double gain, power, slope, w0, eps;
    int64_t groups;
    int64_t weight, bias; /* offsets of W (far_step_weights) or scale, and of beta or shift, among
                             the parameters; -1: none */
    int64_t rank; /* dense and conv with lora: weight and bias are -1, and W + lora_scale B A and
                     beta come from lora_a (rank x cols), lora_b (rows x rank), parameters, and
                     frozen_weight, frozen_bias (-1: none), which do not train; 0: no lora */
    double lora_scale;
    int64_t lora_a, lora_b, frozen_weight, frozen_bias;
    const char *weight_name, *bias_name; /* of tensors, behind name and a point */
    int64_t mean, variance;              /* batchnorm: offsets among the statistics; -1: none */
    int64_t mate;                        /* SKIP_OUT: the step whose input it adds; TURN: SKIP_IN */
    int64_t end;                         /* SKIP_IN: the TURN or SKIP_OUT, TURN: the SKIP_OUT, that
                                            takes what it kept */
    int64_t unit;                        /* which of the layers with parameters; -1: none */
    int64_t tensor;                      /* how many tensors lie in front of its own */
    int column;                          /* in the text, from 1 */
    char *name;                          /* "3", "2.1" */
} far_step;

typedef struct far_meta {
    char *key, *value;
} far_meta;

struct far_net {
    far_ctx *ctx;
    char *text; /* canonical, with every width */
    far_step *steps;
    int64_t step_count;
    double *params; /* parameters of them, PyTorch's layout */
    double *start;  /* where it is linearised; NULL: it is not */
    double *frozen; /* info.frozen of them: weights and biases of layers with lora */
    double *statistics;
    int64_t statistic_count;
    far_columns *columns; /* always there; without names unless it was trained on a table */
    far_meta *meta;       /* what is not written by the library itself */
    int64_t meta_count;
    char **tensor_names; /* info.tensors of them, in the order of far_net_tensor */
    far_net_info info;
};

/* The matrix at step->weight, by rows as in PyTorch. */
typedef struct far_weights_shape {
    int64_t rows, cols;
    bool vector; /* 1 x cols, one-dimensional in files */
} far_weights_shape;
far_weights_shape far_step_weights(const far_step *step);
/* How many numbers that are. */
int64_t far_step_weight_count(const far_step *step);
/* Its parameters lie one behind the other: where they start (-1: there are none), how many. */
int64_t far_step_first(const far_step *step);
int64_t far_step_parameters(const far_step *step);
/* Numbers in a row of the output. */
static inline int64_t far_step_width(const far_step *step)
{
    return far_positions(step->to) * step->out;
}
/* Dense layers and convolutions: a matrix times what stands at a position or around it. */
static inline bool far_step_is_linear(const far_step *step)
{
    return step->kind == FAR_STEP_DENSE || step->kind == FAR_STEP_CONV;
}
/* The tensors a layer can have, in the order of far_net_tensor. */
typedef enum far_part {
    FAR_PART_WEIGHT,
    FAR_PART_BIAS,
    FAR_PART_LORA_A,
    FAR_PART_LORA_B,
    FAR_PART_MEAN,
    FAR_PART_VARIANCE,
    FAR_PARTS
} far_part;

extern const char *const far_part_names[FAR_PARTS]; /* "weight", "running_mean" */
bool far_step_has(const far_step *step, far_part part);
/* Where it starts among the parameters; -1: it does not train, or is not there. */
int64_t far_step_parameter(const far_step *step, far_part part);
/* Its numbers, wherever they are; NULL: the step has none. */
double *far_net_part(const far_net *net, const far_step *step, far_part part);
/* As a matrix, and its dimensions in a file: returns how many. */
far_weights_shape far_part_matrix(const far_step *step, far_part part);
int far_part_shape(const far_step *step, far_part part, int64_t shape[4]);

/* It has layers with lora. */
static inline bool far_net_adapted(const far_net *net)
{
    return net->info.frozen > 0;
}
/* How many inputs a text that starts with this layer takes; 0: it does not say. */
int64_t far_layer_inputs(const far_layer *layer);
/* It has an input with a shape: image, sequence or tokens. */
bool far_net_shaped(const far_net *net);
/* How many tokens there are; 0: the inputs are numbers. */
int64_t far_net_vocabulary(const far_net *net);
/* FAR_ERR_ARCH if it has: what cannot be done is not done for such networks yet. */
far_status far_net_refuse_shaped(far_ctx *ctx, const far_net *net, const char *what);

/* ---- program.c ---- */

/* steps, text, widths, offsets and names, but no numbers: a file's architecture must not make us
 * allocate before its tensors were seen to fit. outputs: as in far_net_opts. */
far_status far_net_outline(far_ctx *ctx, const char *arch, int64_t inputs, int64_t outputs,
                           far_param param, far_net **out);
/* params (0), statistics and columns of an outline. */
far_status far_net_allocate(far_net *net);
/* Both; nothing is drawn. */
far_status far_net_compile(far_ctx *ctx, const char *arch, int64_t inputs, int64_t outputs,
                           far_param param, far_net **out);

/* ---- init.c ---- */

void far_net_draw(far_net *net, far_init init, double w0, uint64_t seed);
/* A and B of a layer with lora alone: A is drawn, B is 0. */
void far_step_draw_adapter(far_net *net, const far_step *step, uint64_t seed);

/* ---- lora.c ---- */

/* There are, and B is 0 in all of them. */
bool far_net_is_untuned(const far_net *net);
/* The network itself if it has no layer with lora, and *own is NULL; else *own is the same function
 * without them, which the caller destroys. Weights are W + lora_scale B A to the nearest number:
 * each is off by one rounding at most, and 0 only where that is 0. FAR_ERR_VALUE: one is out of the
 * range of numbers. */
FAR_NODISCARD far_status far_net_plain(far_ctx *ctx, const far_net *net, far_net **own,
                                       const far_net **out);
/* 1 / sqrt(E phi(u)^2), u ~ N(0, 1). */
double far_activation_unit_gain(const far_layer *layer);

/* ---- activation of one number, for those who do not run blocks of rows ---- */

/* phi(z) without gain, and its derivative (0 at a kink). */
double far_activation_value(const far_step *step, double z);
double far_activation_slope(const far_step *step, double z);

/* ---- checks that several files share ---- */

#define FAR_COLUMNS_KEY "columns" /* of the metadata: what far_columns_print writes */
#define FAR_TRAIN_PREFIX "train." /* keys of a checkpoint */
/* A key of the metadata that the library itself writes. */
bool far_net_reserved(const char *key);

/* x is finite, n x inputs. */
far_status far_net_check_inputs(far_ctx *ctx, const far_net *net, const far_mat *x);
/* Whole numbers within the vocabulary, if there is one. */
far_status far_net_check_tokens(far_ctx *ctx, const far_net *net, const far_mat *x);

/* The learning rate: lr, or the optimiser's default. */
struct far_train_opts;
double far_train_rate(const struct far_train_opts *opts);

/* ---- asked of networks themselves, in their own units ---- */

/* Linearises the network at its present parameters: from now on those can move, and f is linear in
 * them. FAR_ERR_ARG if it is linearised already. */
FAR_NODISCARD far_status far_net_linearize(far_ctx *ctx, far_net *net);
/* The parameters it is linearised at; else empty. */
far_mat far_net_start(far_net *net);
/* far_net_eval from raw inputs to raw outputs, float64. */
FAR_NODISCARD far_status far_net_eval_raw(far_ctx *ctx, const far_net *net, const far_mat *x,
                                          far_mat *out);
/* out is (n outputs) x parameters, row i * outputs + k = df_k(x_i)/dparameters. For small networks:
 * everything else does without it. */
FAR_NODISCARD far_status far_net_jacobian(far_ctx *ctx, const far_net *net, const far_mat *x,
                                          far_mat *out);
/* f(t u_i) ~ value_ik t^(order_ik) + rest_ik as t grows, exactly: row i of u is a direction. order
 * 0: value is the limit, and rest 0. order 1 (networks of dense, batchnorm, skip, and activations
 * that are eventually linear): rest is the intercept. Other orders: rest is NAN. All n x outputs,
 * float64; rest and order may be NULL. FAR_ERR_ARCH: no limit (a sin of something that grows);
 * FAR_ERR_VALUE: a direction is zero. */
FAR_NODISCARD far_status far_net_limit(far_ctx *ctx, const far_net *net, const far_mat *u,
                                       far_mat *value, far_mat *order, far_mat *rest);

/* Copies; scales must be positive and finite. */
FAR_NODISCARD far_status far_net_set_scaling(far_ctx *ctx, far_net *net,
                                             const far_scaling *scaling);

#endif
