/* One step of an optimiser, elementwise: from partial gradients to new parameters. */
#ifndef FAR_NET_OPTIMIZER_H
#define FAR_NET_OPTIMIZER_H

#include <farfield/train.h>

/* All arrays have one dtype; memory that a rule does not use is NULL. */
typedef struct far_update {
    int32_t rule; /* a far_optimizer */
    void *parts;  /* of the gradient: summed in order, and set to 0 for the next step */
    int64_t part_count, part_stride;
    void *params, *mean, *square; /* running means of the gradient and of its square; mean is also
                                     the velocity of momentum */
    const void *start;
    void *moved;   /* gets params - start; NULL: not wanted */
    double pull;   /* adds pull * (params - start) to the gradient */
    double decay;  /* adds decay * params to it */
    double shrink; /* AdamW: parameters lose this part of themselves first */
    double rate, beta1, beta2, epsilon, momentum;
    double unbias; /* Adam: 1 / sqrt(1 - beta2^step); that of the mean is in rate */
} far_update;

typedef void (*far_update_fn)(const far_update *u, int64_t from, int64_t to);
far_update_fn far_update_select(far_dtype dtype);

/* far_train_rate in an epoch, counted from 0, as the schedule has it. */
double far_train_rate_at(const far_train_opts *opts, int64_t epoch);
/* rate, unbias and the rest of the numbers for the step counted from 1, of that epoch. */
void far_update_rates(far_update *u, const far_train_opts *opts, int64_t epoch, int64_t step);
/* How many running values a parameter needs: Adam 2, momentum 1. */
int far_optimizer_memory(int32_t rule);

void far_update_f32_avx512(const far_update *u, int64_t from, int64_t to);
void far_update_f64_avx512(const far_update *u, int64_t from, int64_t to);
void far_update_f32_avx2(const far_update *u, int64_t from, int64_t to);
void far_update_f64_avx2(const far_update *u, int64_t from, int64_t to);
void far_update_f32_baseline(const far_update *u, int64_t from, int64_t to);
void far_update_f64_baseline(const far_update *u, int64_t from, int64_t to);

#endif
