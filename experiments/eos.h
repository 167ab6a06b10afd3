/* The tangent kernel at the edge of stability: networks trained at several rates until they have
 * the same loss, and what their kernels were on the way. */
#ifndef FAR_EXPERIMENTS_EOS_H
#define FAR_EXPERIMENTS_EOS_H

#include "digits.h"

enum { EOS_RATES_MOST = 8, EOS_SHAPES = 3, EOS_TOP = 20, EOS_LEVELS = 24 };
enum { EOS_TANH, EOS_RELU, EOS_LINEAR };

typedef struct eos_shape {
    const char *name, *arch;
    far_init init;
    bool has_floor; /* the loss ends above the level: steps are counted instead */
} eos_shape;
extern const eos_shape EOS_SHAPE[EOS_SHAPES];

typedef struct eos_plan {
    const eos_shape *shapes;
    int shape_count;
    int64_t rows; /* digits */
    int64_t seeds, steps_most, linear_steps, linear_rows;
    double level; /* the loss to stop at, L */
    double apart; /* time between rows of a track */
    int rates;
    double rate[EOS_RATES_MOST]; /* of L, ascending */
} eos_plan;

/* One network. */
typedef struct eos_run {
    int shape, rate; /* which */
    int64_t seed;
    int64_t steps;
    bool reached;                                 /* the level */
    int64_t rows;                                 /* of the track */
    double *time, *loss, *sharpness, *kta, *ckta; /* sharpness: rate lmax / 2 */
    double by_loss[EOS_LEVELS]; /* KTA where the loss first falls to each of eos_levels */
    double top5;                /* at the end: of y, by the first 5 eigenvectors */
    double share[EOS_TOP];      /* and by the first i */
} eos_run;

/* Shapes, seeds and rates, the rates of one network side by side. */
typedef struct eos_study {
    eos_plan plan;
    double *x, *y; /* plan.rows of digits, centred, and -1 or 1 */
    int64_t count;
    eos_run *runs;
} eos_study;

far_status eos_train(reproduction *r, const eos_plan *plan, eos_study *out);
void eos_free(eos_study *s);
const eos_run *eos_run_of(const eos_study *s, int shape, int64_t seed, int rate);
/* Two-layer linear networks on the same digits: theory beside simulation. */
far_status eos_linear(reproduction *r, const eos_study *study);
/* A convolutional network and a transformer on the same digits. */
far_status eos_architectures(reproduction *r);
/* Losses to compare at: from 0.4 down to the one to stop at. */
void eos_levels(const eos_plan *p, double levels[EOS_LEVELS]);
/* The last row of a curve. */
double eos_last(const eos_run *run, const double *curve);
/* Which rate it is; -1: none. */
int eos_rate(const eos_plan *p, double rate);

/* Numbers of a run at its end. */
double eos_last_loss(const eos_run *run);
double eos_last_edge(const eos_run *run);
double eos_last_kta(const eos_run *run);
double eos_last_ckta(const eos_run *run);
double eos_top2(const eos_run *run); /* of the targets, in the first two eigenvectors */
double eos_top5(const eos_run *run);

/* Over the seeds of one shape at one rate: mean, half its 95% interval, least and most. */
typedef struct eos_over_seeds {
    double mean, half, low, high;
} eos_over_seeds;
far_status eos_mean_at(reproduction *r, const eos_study *s, int shape, int rate,
                       double (*value)(const eos_run *), eos_over_seeds *out);
/* A row for each shape and rate, at the end of training. */
far_status eos_keep_table(reproduction *r, const eos_study *s, const char *name,
                          const char *caption);

#endif
