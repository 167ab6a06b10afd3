/* Images with labels at random: what a network can fit there it has by its form, not by any rule in
 * the data. */
#ifndef FAR_EXPERIMENTS_LNNET_RANDOM_H
#define FAR_EXPERIMENTS_LNNET_RANDOM_H

#include "parts.h"

enum { RANDOM_MNIST, RANDOM_CIFAR10, RANDOM_SETS, RANDOM_CLASSES = 10 };
extern const char *const RANDOM_NAMES[RANDOM_SETS];
extern const char *const RANDOM_WORDS[RANDOM_SETS]; /* for files */

typedef struct random_task {
    int set;
    int64_t n, d;
    double *x;       /* n x d, each pixel standardised */
    double *classes; /* n numbers from 0, as training takes them */
    int64_t *labels; /* the same */
} random_task;

/* The first n images. side: of the pictures after averaging neighbouring pixels (0: as they are;
 * colours are averaged then, too). */
far_status random_task_open(reproduction *r, int set, int64_t n, int64_t side, random_task *out);
void random_task_free(random_task *t);
far_mat random_task_points(const random_task *t);

/* One network to train, and what came of it. */
typedef struct random_run {
    const random_task *task;
    const char *arch;
    double rate; /* of Adam; a tenth of it in the last third of the epochs */
    int64_t epochs, batch;
    uint64_t seed;
    /* found: */
    double accuracy; /* on the training points */
    double bending;  /* the median, over points, of H of the first norm; NAN: there is none */
} random_run;

/* Trains them side by side. groups of the first norm are read off the text. */
far_status random_train(reproduction *r, random_run *runs, int64_t count);

/* The mean of accuracies (or bendings) over count runs from first on, and half its 95% interval. */
far_status random_mean(reproduction *r, const random_run *first, int64_t count, double *mean,
                       double *half);

#endif
