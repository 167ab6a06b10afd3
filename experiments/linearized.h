/* Tasks made of the tangent kernel's own eigenvectors: what a network learns of them, and what the
 * kernel learns that it starts with and that it ends with. */
#ifndef FAR_EXPERIMENTS_LINEARIZED_H
#define FAR_EXPERIMENTS_LINEARIZED_H

#include "digits.h"
#include "parts.h"

enum {
    EIGEN_TASKS = 9,
    PARITY = EIGEN_TASKS, /* whether a digit is odd, for comparison */
    TASKS = EIGEN_TASKS + 1,
    MOST_SIZES = 4
};
#define TASK_ARCH "dense(100) relu dense(100) relu dense(1)"
#define TASK_RIDGE 1e-4 /* relative: times the mean of the kernel's diagonal */
extern const int64_t TASK_INDICES[EIGEN_TASKS];

/* One task with so many training rows. */
typedef struct task_score {
    double network, linear, linear_end; /* accuracies on the tests; linear: by the kernel */
    double kta, kta_end;                /* of the kernel of the training rows and the labels */
    double centred, centred_end;        /* the same, both centred */
    double fitted;                      /* accuracy of the network on its training rows */
} task_score;

typedef struct task_plan {
    int64_t seeds, tests, epochs;
    int64_t size_count;
    int64_t sizes[MOST_SIZES]; /* training rows; the first is the largest, which is looked at with
                                  the kernel at the end, the others without */
} task_plan;

/* out: seeds x size_count x TASKS. What a size other than the first does not have is NAN. */
far_status task_scores(reproduction *r, const task_plan *p, task_score *out);
const task_score *score_at(const task_plan *p, const task_score *scores, int64_t seed, int64_t size,
                           int64_t task);

/* On images, with networks that fit them: the form --cifar2. */
far_status run_linearized_cifar(reproduction *r);

/* Linear tasks along the directions that the kernel agrees with most, and least: a claim, a text
 * and a figure. */
far_status keep_directions(reproduction *r, int64_t seeds);

#endif
