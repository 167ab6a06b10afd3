/*
 * A plan is an architecture compiled for infinite width: a flat list of operations on the state of
 * a pair of points. What depends on one point alone is worked out once per point (points.c); what
 * is left per pair runs over whole blocks of pairs (tile.c).
 *
 * The state of a pair (x, x'), free of scale:
 *
 *     gap    = 1 - rho,  rho = K / (r r'),  r = sqrt(K(x, x))
 *     cogap  = 1 + rho   (carried while rho may come near -1, else 2 - gap)
 *     t      = Theta / (p p')
 *
 * r and p belong to the points. Gaps rather than cosines keep the digits of near-duplicates.
 */
#ifndef FAR_PLAN_H
#define FAR_PLAN_H

#include "../arch/arch_internal.h"
#include "activation.h"
#include "big.h"
#include <farfield/kernel.h>

typedef enum far_op_kind {
    FAR_OP_DENSE,
    FAR_OP_SCALE,  /* a norm of centred values, rms, batchnorm: changes r and p only */
    FAR_OP_CENTER, /* layer norm of values with a mean */
    FAR_OP_SHIFT,  /* trainable affine terms: Theta += gamma K + beta */
    FAR_OP_ACTIVATE,
    FAR_OP_PUSH, /* skip: remember the state */
    FAR_OP_ADD   /* skip: add the remembered state */
} far_op_kind;

/* What is known about rho on the way into an operation. */
typedef enum far_sign {
    FAR_SIGN_ANY,     /* down to -1: cogap is carried */
    FAR_SIGN_MILD,    /* may be negative but stays away from -1: cogap = 2 - gap is accurate */
    FAR_SIGN_POSITIVE /* rho >= 0 */
} far_sign;

typedef struct far_op {
    far_op_kind kind;
    far_layer_kind layer; /* that it belongs to, */
    int64_t place;        /* and which one that is, counting repeats; from 1, for messages */
    far_sign sign;
    bool gaussian; /* ADD: both branches have mean zero */
    /* dense */
    long double w, b;
    bool standard;  /* parametrisation */
    bool level;     /* sets p = r: without affine terms Theta / K stays moderate */
    bool fine;      /* al and be come with their rounding errors */
    bool plain;     /* level, and p = r was so before: only scales and folds since the last */
    bool bias;      /* standard: there is a bias parameter */
    int64_t fan_in; /* standard: 0 means the input dimension */
    /* norms: r^2 -> r^2 / (r^2 + eps); batchnorm: r^2 -> r^2 / (1 + eps) */
    long double eps;
    bool fixed; /* batchnorm */
    /* affine terms */
    bool sharp; /* ACTIVATE, smooth: kinks or steep sines follow, so the gap must keep its digits */
    int gamma, beta; /* SHIFT, ACTIVATE: how many scales wait to pass */
    const far_activation *activation;
} far_op;

/* A layer that acts on the raw input vector, feature by feature or over features. */
typedef struct far_input_op {
    far_layer_kind kind;
    int64_t groups;
    double eps;
    long double gain, power, slope, w0;
} far_input_op;

typedef struct far_plan {
    far_op *ops;
    int64_t count, capacity;
    far_input_op *inputs;
    int64_t input_count;
    far_activation *activations; /* one per distinct activation */
    int64_t activation_count;
    bool positive;    /* K >= 0 for all pairs */
    int depth;        /* of the stack that skips need */
    bool fine;        /* some activation tells angles of 1e-16 apart: chords need 19 digits */
    bool mixtures;    /* tanh or silu is among the activations */
    double tolerance; /* of the expansions in use */
    double steepness; /* what sines multiply errors of a gap by, all together; 1: there are none */
} far_plan;

/* text: what arch was parsed from, for messages. */
far_status far_plan_create(far_ctx *ctx, const far_arch *arch, const char *text, far_param param,
                           far_plan **out);
void far_plan_destroy(far_ctx *ctx, far_plan *plan);

struct far_kernel {
    far_ctx *ctx;
    far_arch *arch;
    far_plan *plan;
    far_param param;
};

/* A bound on the error that quadrature or expansion adds to a unit-variance kernel value: 0 when
 * every layer has a closed form, 1e-12 or less otherwise. Rounding comes on top. */
double far_kernel_tolerance(const far_kernel *k);

#endif
