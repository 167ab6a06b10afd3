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

/* The first n images as bytes are, from 0 to 255. side: of the pictures after averaging
 * neighbouring pixels, and colours (0: as they are). out: n rows. FAR_ERR_IO: they are not here. */
far_status random_images(reproduction *r, int set, int64_t n, int64_t side, double *out);
/* The first n images. */
far_status random_task_open(reproduction *r, int set, int64_t n, int64_t side, random_task *out);
void random_task_free(random_task *t);
far_mat random_task_points(const random_task *t);

/* Refuses fewer than two: claims are about intervals over seeds. */
far_status random_check_seeds(reproduction *r, int64_t seeds);

/* One network to train, and what came of it. */
typedef struct random_run {
    const random_task *task;
    const char *arch;
    double rate; /* of Adam; halved every 20 epochs */
    int64_t epochs, batch;
    uint64_t seed;
    int64_t bend_points; /* that H is measured at; 0: it is not */
    /* found: */
    double accuracy;      /* on the training points */
    double before, after; /* the median of H of the whole network, before and after training */
} random_run;

/* Trains them side by side. */
far_status random_train(reproduction *r, random_run *runs, int64_t count);

/* The mean of accuracies over count runs from first on, and half its 95% interval; less (may be
 * NULL): of the differences to these, run by run. */
far_status random_mean(reproduction *r, const random_run *first, const random_run *less,
                       int64_t count, double *mean, double *half);

/* The best linear classifier: dense(10) at the best of five rates, trained as `like` with twice the
 * epochs. out has a run for each seed. */
far_status random_classifier(reproduction *r, const random_run *like, int64_t seeds,
                             random_run *out);

#endif
