/* The tree behind far_arch, for the rooms that read it (kernel, net). */
#ifndef FAR_ARCH_INTERNAL_H
#define FAR_ARCH_INTERNAL_H

#include "../base/base_internal.h"
#include <farfield/arch.h>

typedef struct far_arch far_arch; /* immutable */

typedef enum far_layer_kind {
    FAR_LAYER_DENSE,
    FAR_LAYER_RELU, /* rectified power: max(z, 0)^power, power > 1/2, default 1 */
    FAR_LAYER_LEAKY_RELU,
    FAR_LAYER_ABS,
    FAR_LAYER_ERF,
    FAR_LAYER_GELU,
    FAR_LAYER_SILU,
    FAR_LAYER_TANH,
    FAR_LAYER_SIN,
    FAR_LAYER_IDENTITY,
    FAR_LAYER_SIGMOID, /* these five in finite networks alone */
    FAR_LAYER_ELU,
    FAR_LAYER_SOFTPLUS,
    FAR_LAYER_MISH,
    FAR_LAYER_GELU_TANH, /* gelu(tanh): its usual approximation */
    FAR_LAYER_LN,
    FAR_LAYER_RMS,
    FAR_LAYER_BATCHNORM,
    FAR_LAYER_IMAGE, /* the shape of the inputs: these three stand first or nowhere */
    FAR_LAYER_SEQUENCE,
    FAR_LAYER_TOKENS,
    FAR_LAYER_CONV,
    FAR_LAYER_MAXPOOL,
    FAR_LAYER_AVGPOOL,
    FAR_LAYER_ATTENTION,
    FAR_LAYER_POSITION,
    FAR_LAYER_EMBED,
    FAR_LAYER_GAP,     /* from positions to one vector: their mean, */
    FAR_LAYER_FLATTEN, /* all of them, */
    FAR_LAYER_LAST,    /* the last one */
    FAR_LAYER_DROPOUT,
    FAR_LAYER_SKIP,  /* body(x) + x, or body(x) + shortcut(x) */
    FAR_LAYER_REPEAT /* [body]xN */
} far_layer_kind;

/* "3x32x32": up to three whole numbers; those not given are 0. */
#define FAR_SIZE_PARTS 3
typedef struct far_size {
    int64_t part[FAR_SIZE_PARTS];
} far_size;

/* A number left out of the text is NAN (0 for width): its default depends on the reading. */
typedef struct far_layer {
    far_layer_kind kind;
    int column;    /* 1-based column in the parsed text */
    int64_t width; /* dense, conv, embed: outputs, or channels; 0: not given */
    far_size size; /* image: channels, height, width; sequence: positions, channels; conv and
                      pools: height and width of the window (the second may be left out) */
    int64_t positions, vocabulary; /* tokens */
    int64_t stride;                /* conv, pools; 0: not given: 1, and the window for pools */
    int64_t pad;                   /* conv, maxpool */
    int64_t heads;                 /* attention; 0: not given */
    bool causal;                   /* attention: only to positions that are not behind */
    bool sines;                    /* position: fixed, by sines and cosines; else learnt */
    double rate;                   /* dropout */
    double w, b;  /* dense: standard deviations of weights and biases; NAN: the default */
    bool no_bias; /* dense(nobias): the layer has no bias parameter */
    int64_t
        lora; /* dense, conv, attention: rank of what is trained beside fixed weights; 0: none */
    double alpha;   /* with lora: W + alpha / lora B A; NAN: alpha = lora */
    double power;   /* relu */
    double slope;   /* leaky_relu; elu: alpha, of alpha (e^z - 1) below 0 */
    double w0;      /* sin: sin(w0 z); default 1 */
    bool by_tanh;   /* gelu, until it is read: gelu(tanh) is a kind of its own */
    double gain;    /* activations: factor in front; NAN: the default of the parametrisation */
    int64_t groups; /* ln; default 1 */
    double eps;     /* ln, rms, batchnorm; default FAR_EPS_DEFAULT */
    bool affine;    /* ln, rms, batchnorm: trainable scale and shift, at 1 and 0 */
    int64_t count;  /* repeat */
    struct far_layer *body; /* skip, repeat */
    int64_t body_count;
    int64_t main_count; /* skip(main | shortcut): layers of the body in front of the bar; 0: there
                           is no bar */
} far_layer;

/* Every default stands here and nowhere else; far_arch_grammar prints them. */
#define FAR_B_DEFAULT 0.1
#define FAR_W_NTK_DEFAULT 1.0
#define FAR_W_STANDARD_DEFAULT 1.4142135623730951
#define FAR_EPS_DEFAULT 0.0
#define FAR_LEAKY_SLOPE_DEFAULT 0.01
#define FAR_ELU_ALPHA_DEFAULT 1
#define FAR_W0_DEFAULT 1

/* Limits that keep hostile texts harmless. */
#define FAR_ARCH_MAX_TEXT 65536
#define FAR_ARCH_MAX_NESTING 64
#define FAR_ARCH_MAX_LAYERS 100000 /* after repetitions are written out */

/* Fails with three lines: "column N: ...", the text (or a window of it), a caret under place. */
__attribute__((format(printf, 6, 7))) far_status far_arch_fail_at(far_ctx *ctx, far_status status,
                                                                  const char *text, int length,
                                                                  int place, const char *format,
                                                                  ...);

/* The top-level sequence of layers; they live as long as arch. */
FAR_SHARED const far_layer *far_arch_layers(const far_arch *arch, int64_t *count);
/* "relu", "dense", ... */
const char *far_layer_name(far_layer_kind kind);
bool far_layer_is_activation(far_layer_kind kind);
bool far_layer_is_finite_only(far_layer_kind kind); /* an activation without a kernel here */
bool far_layer_is_norm(far_layer_kind kind);        /* ln, rms, batchnorm */
/* Of images and sequences: from image to dropout above. */
bool far_layer_is_shaped(far_layer_kind kind);

/* 1 if the two describe the same network (equal canonical texts), else 0. */
int far_arch_equal(const far_arch *a, const far_arch *b);

/* Errors as of far_arch_canonical. */
FAR_SHARED FAR_NODISCARD far_status far_arch_parse(far_ctx *ctx, const char *text, far_arch **out);
/* Parses text. FAR_ERR_PARSE: the message holds the column, the text with a caret line under the
 * place, and what was expected (three lines). Cost: O(length). */
FAR_SHARED void far_arch_destroy(far_arch *arch); /* NULL is fine */
/* The canonical text: single blanks, defaults left out, arguments in a fixed order, numbers in
 * the fewest digits that read back to the same double. Parsing it gives an equal architecture.
 * The string belongs to arch and lives as long. */
const char *far_arch_text(const far_arch *arch);
/* Its text without lora and alpha, for the caller to free: the network before it was tuned. */
FAR_NODISCARD far_status far_arch_plain_text(far_ctx *ctx, const char *text, char **out);
/* Number of layers after repetitions are written out; a skip counts its body. */
int64_t far_arch_depth(const far_arch *arch);

#endif
