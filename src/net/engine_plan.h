/* The engine's plan and memory, for engine*.c alone. */
#ifndef FAR_NET_ENGINE_PLAN_H
#define FAR_NET_ENGINE_PLAN_H

#include "engine.h"

typedef enum far_stage_kind {
    FAR_STAGE_LINEAR, /* a dense layer or a convolution */
    FAR_STAGE_POINT,  /* a norm, an activation, or a norm and the activation behind it */
    FAR_STAGE_SKIP_IN,
    FAR_STAGE_SKIP_TURN,
    FAR_STAGE_SKIP_OUT,
    FAR_STAGE_INPUT,
    FAR_STAGE_TABLE, /* embed, position */
    FAR_STAGE_POOL,
    FAR_STAGE_ATTEND,
    FAR_STAGE_GATHER, /* gap, flatten, last; last may stand further in front than in the text */
    FAR_STAGE_KINDS
} far_stage_kind;

/* Steps that run as one. Values, gradients and tangents are counted; number 0 is that of the
 * inputs, -1 says there is none. Elementwise stages turn gradients and tangents over in place. */
typedef struct far_stage {
    far_stage_kind kind;
    const far_step *linear, *norm, *activation; /* NULL: not in this stage */
    const far_step *step;                       /* the first one */
    int64_t in, out;                            /* channels */
    int64_t before, after;                      /* positions of the input and of the output */
    int64_t depth;                              /* linear: rows of its weights */
    int64_t input, output;                      /* values */
    int64_t kept;                               /* value: normalised, before scale and shift */
    int64_t twin;                               /* skip out: the value it adds */
    int64_t joined;                             /* skips: positions of their sum */
    int64_t from, to;                           /* gradients */
    int64_t twin_gradient;                      /* skip in and turn: that of what adds its input */
    int64_t delta;                              /* gradient behind an affine norm */
    int64_t tangent_from, tangent_to, tangent_twin;
    int64_t inverse;  /* norm: where 1 / sigma starts, in numbers a row */
    bool idle;        /* nothing in front of it has parameters: a gradient of its input is wanted
                         only with that of the inputs */
    int64_t column;   /* batchnorm: where its 4 vectors start */
    int64_t panels;   /* in far_weights: weights in x out, in panels; scale of affine norms */
    int64_t turned;   /* the same out x in, in panels; -1: not needed */
    int64_t shift;    /* bias or shift */
    int64_t mean, sd; /* batchnorm: mean and 1 / standard deviation */
    int64_t merged;   /* with lora: W + s B A, in x out; A, in x rank; B, rank x out; */
    int64_t lora_a, lora_b, lora_turned; /* B turned, in panels */
    bool narrow; /* few outputs: forwards by dot products with the turned weights */
} far_stage;

/* One after another, each rows x width, so that offsets and total are in numbers a row. Width is
 * that of all positions, each with so many channels. */
typedef struct far_buffers {
    int64_t *offset, *width, *channels;
    int64_t count, total;
    int64_t unit; /* offsets are multiples of this */
} far_buffers;
/* Numbers that are a cache line at least: buffers of so many rows, or of such a unit, are aligned.
 */
#define FAR_BUFFER_UNIT 16

typedef struct far_engine_ops far_engine_ops;

/* One term of a sum of products: where its factors lie. */
typedef struct far_pick {
    int32_t a, b;
} far_pick;

/* Gradients of a convolution's outputs, those that are not 0 for one output of the network at
 * least, position by position; scratch of far_pass_backward_each. */
typedef struct far_active {
    int32_t *start;      /* by position, and the end */
    int32_t *channel;    /* of each */
    void *value;         /* of each, for every output of the network */
    int32_t *by_channel; /* in picks, and the end */
    far_pick *picks;
    int32_t *where; /* scratch: which pixel a pool takes, by its position and channel, */
    void *slope;    /* and the slope of the activation there */
} far_active;

struct far_engine {
    far_ctx *ctx;
    const far_net *net;
    far_dtype dtype;
    const far_engine_ops *ops;
    far_stage *stages;
    int64_t stage_count;
    int64_t tail; /* networks with positions: from this stage on there is one alone */
    far_buffers values, gradients, tangents;
    int64_t *step_value, *step_kept, *step_delta; /* by step */
    int64_t inverses, columns, weights;           /* numbers: a row, in all, in all */
    int64_t widest;
    int64_t positions; /* of the value that has most */
    int64_t scratch;   /* numbers that a stage may need beside its values */
    int64_t entries;   /* convolutions: outputs of all positions, and terms of a list, at most */
    int64_t picks;
    int64_t adapter; /* numbers of the largest weight with lora, */
    int64_t deepest; /* and rows of the deepest */
    void *frozen;    /* what does not train, as packed parameters are; NULL: nothing */
    bool shaped;
    bool input_parameters; /* an affine norm stands in front of the first dense layer */
};

struct far_weights {
    far_ctx *ctx;
    const far_engine *engine;
    const far_weights *point; /* of a direction: where it starts from; else NULL */
    void *data;
};

struct far_pass {
    far_ctx *ctx;
    const far_engine *engine;
    int needs;
    int64_t
        capacity; /* rows, rounded up where buffers have no unit, so that every one is aligned */
    void *values, *gradients, *tangents;
    void *inverses;
    void *columns; /* batchnorm: vectors of statistics and sums */
    void *panel;   /* scratch */
    void *line;    /* scratch: one row */
    void *scratch;
    void *adapter; /* scratch: the gradient by a weight with lora */
    far_active active;
    const void *x; /* of the last forward */
    int64_t ldx, rows;
};

/* Networks with positions: a weight gradient takes so many lines (rows times positions) at a time,
 * a row at least, so that what it copies stays in cache. */
static inline int64_t far_engine_lines(const far_engine *e)
{
    return e->positions > 1024 ? e->positions : 1024;
}

#define FAR_COLUMN_VECTORS 5 /* mean, variance, 1 / sd, two sums */

struct far_engine_ops {
    int64_t panel; /* columns */
    void (*set)(far_weights *w, const void *packed, int64_t slice, int64_t slices);
    void (*forward)(far_pass *p, const far_weights *w);
    void (*backward)(far_pass *p, const far_weights *w, const void *dout, void *gradient, void *dx);
    void (*layer_gradient)(far_pass *p, const far_weights *w, const far_stage *s, int64_t row,
                           void *gradient);
    void (*backward_each)(far_pass *p, const far_weights *w, const void *douts, int64_t count,
                          int64_t lowest, const far_jacobian *parts, void *gradient);
    void (*tangent)(far_pass *p, const far_weights *w, const far_weights *v, const void *dx,
                    int64_t ldx, void *out);
    void (*multiply)(int64_t rows, int64_t cols, int64_t inner, const void *a, const void *b,
                     int64_t ld, void *out, int64_t ldo);
};

/* engine_plan.c: the input of a convolution with zeros around it, and its gradients spread over the
 * strides with zeros around them; in numbers. */
int64_t far_conv_padded(const far_step *s);
int64_t far_conv_spread(const far_step *s);
/* engine.c: the parameters of a step in a packed gradient: put to 0, and copied to out. */
void far_step_clear(const far_step *s, void *gradient, size_t size);
void far_step_copy(const far_step *s, const void *gradient, size_t size, void *out);
/* engine_plan.c: fills in all but ctx, net, dtype and ops. */
far_status far_engine_plan(far_engine *e);

#define FAR_ENGINE_DECLARE(isa)                                                                    \
    extern const far_engine_ops far_engine_f64_##isa, far_engine_f32_##isa;
FAR_ENGINE_DECLARE(avx512)
FAR_ENGINE_DECLARE(avx2)
FAR_ENGINE_DECLARE(baseline)

#endif
