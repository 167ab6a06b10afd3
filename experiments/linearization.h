/* Fine-tuning near its start: a network held there by a penalty, beside its linearisation, which is
 * kernel ridge regression in closed form; and what the layers that are trained decide. */
#ifndef FAR_EXPERIMENTS_LINEARIZATION_H
#define FAR_EXPERIMENTS_LINEARIZATION_H

#include "digits.h"
#include "layer_choice.h"
#include "parts.h"

enum {
    TUNE_ROWS = 100,
    TUNE_TESTS = 500,
    TUNE_LAYERS = 4,
    TUNE_SUBSETS = (1 << TUNE_LAYERS) - 1, /* of the layers, but for the empty one */
    TUNE_RIDGES = 8,
    TUNE_SUBSET_STEPS = 300
};
#define TUNE_ARCH "dense(32) tanh dense(32) tanh dense(32) tanh dense(1)"
/* A point counts as converged where the gradient of the objective has fallen to this part of what
 * it was at the start. */
#define TUNE_SETTLED 1e-4
extern const double TUNE_LAMBDAS[TUNE_RIDGES];

/* Trained on R + lambda / 2 |p - start|^2, R = 1/2 sum of squares, beside its linearisation. */
typedef struct tuned {
    double distance, bound;           /* |p - start|, and sqrt(2 R(start) / lambda) */
    double gap;                       /* |f - f_lin| / |f_lin - f_start|, on the tests */
    double accuracy, accuracy_linear; /* on the tests */
    double slope;                     /* |gradient of the objective|, over that at the start */
    int64_t steps;
} tuned;

/* Layers that are trained: bit l of mask stands for layer l + 1. */
typedef struct subset {
    unsigned mask;
    double condition; /* of K_S + LAYER_CONDITION_RIDGE I */
    double residual;  /* |ridge (K_S + ridge I)^-1 (y - f_start)| */
    double loss;      /* 1/(2N) sum of squares after TUNE_SUBSET_STEPS steps of descent */
    double accuracy;  /* on the tests */
    double spectrum[TUNE_ROWS];
    double share[TUNE_ROWS]; /* of |y - f_start|^2, along the eigenvectors */
} subset;

/* Correlations of logarithms with that of the loss. */
typedef struct relation {
    double all, with_first, without_first;
} relation;

typedef struct study {
    double pretrained; /* accuracy on the task before, on the tests */
    double start_accuracy;
    tuned tuned[TUNE_RIDGES];
    subset subsets[TUNE_SUBSETS]; /* that of mask m is m - 1 */
    relation condition, residual;
    double condition_accuracy; /* log condition and accuracy on the tests */
    layer_bounds bounds;
    double rise; /* under the selective rule: the largest of R in a step, over R at the start */
} study;

/* Which study is wanted. */
typedef struct tune_order {
    uint64_t seed;
    int64_t epochs;   /* of pretraining */
    bool layers_only; /* nothing but subsets and correlations */
} tune_order;

/* The studies, side by side. */
far_status tune_studies(reproduction *r, const tune_order *orders, study *out, int64_t count);

/* Whether the subset trains the first layer. */
bool trains_first(const subset *s);

#endif
