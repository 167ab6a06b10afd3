/* A text transformer, pretrained to predict the next byte, tuned with LoRA to say which file a line
 * is from; beside its linearisation, which is kernel regression with the tangent kernel of A and B.
 */
#ifndef FAR_EXPERIMENTS_TUNING_H
#define FAR_EXPERIMENTS_TUNING_H

#include "fortunes.h"
#include "layer_choice.h"
#include "parts.h"

enum {
    TUNING_BLOCKS = 2,
    TUNING_PARTS = 2 * TUNING_BLOCKS,         /* attention and dense layers of each block */
    TUNING_CHOICES = (1 << TUNING_PARTS) - 1, /* of parts that are trained, but for none */
    TUNING_PULLS = 6
};
#define TUNING_SETTLED 1e-3 /* of the gradient at the start: converged */
/* lambda over the largest eigenvalue of the kernel of all parts. */
extern const double TUNING_PULL[TUNING_PULLS];
extern const char *const TUNING_PART_NAMES[TUNING_PARTS];

typedef struct tuning_plan {
    int64_t seeds, epochs;            /* of pretraining */
    int64_t places, tokens, channels; /* of the transformer */
    int64_t heads, rank, alpha, batch;
    int64_t classes, rows, tests; /* rows and tests of each class */
    int64_t choice_steps, pull_steps;
    int64_t shortest;  /* line that counts */
    char *base, *head; /* texts of the networks: what is pretrained, what is tuned */
    shelf shelf;
    int64_t books[16]; /* the classes */
} tuning_plan;

/* Under a pull, beside the linearised network. */
typedef struct pulled {
    double lambda, distance, bound; /* |p - start|, and sqrt(2 R(start) / lambda) */
    double gap;                     /* |f - f_lin| / |f_lin - f_start|, on the tests */
    double accuracy, linear;        /* on the tests */
    double slope;                   /* |gradient of the objective|, over that at the start */
    double steps;
} pulled;

typedef struct choice {
    double condition;         /* of K_S + LAYER_CONDITION_RIDGE I */
    double residual;          /* |ridge (K_S + ridge I)^-1 (y - f_start)| */
    double loss;              /* 1/2 mean square after choice_steps steps of descent */
    double accuracy;          /* on the tests */
    double *spectrum, *share; /* n each: of K_S; of |y - f_start|^2, along the eigenvectors */
} choice;

typedef struct tuning {
    uint64_t seed;
    double bits;  /* a byte, of text kept aside, after pretraining */
    double start; /* accuracy on the tests before tuning */
    pulled pulled[TUNING_PULLS];
    choice choices[TUNING_CHOICES]; /* that of mask m is m - 1 */
    layer_bounds bounds;
    double with_condition, with_residual, with_accuracy; /* correlations over choices: log condition
                                                            or residual with log loss; log condition
                                                            with accuracy */
} tuning;

int64_t tuning_numbers(const tuning_plan *p); /* rows times classes: side of the kernel */

/* ---- tuning_text.c ---- */

/* Text and classes: the largest files; quick: made. */
far_status tuning_open(reproduction *r, tuning_plan *p);
void tuning_close(tuning_plan *p);

/* What one seed sees. */
typedef struct tuning_data {
    far_mat x, y, test;    /* lines, and their classes (numbers - mean) */
    int64_t *labels;       /* of the tests */
    far_mat windows, kept; /* of the rest of the text, to pretrain on and kept aside */
} tuning_data;
far_status tuning_draw(reproduction *r, const tuning_plan *p, uint64_t seed, tuning_data *out);
void tuning_data_free(tuning_data *d);

/* ---- tuning_study.c ---- */

/* out: one for each seed; tuning_free each. */
far_status tuning_studies(reproduction *r, const tuning_plan *p, tuning *out);
void tuning_free(tuning *t);

#endif
