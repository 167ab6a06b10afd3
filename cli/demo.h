/* farfield demo: what one layer norm changes, on data whose truth is known everywhere. */
#ifndef FAR_CLI_DEMO_H
#define FAR_CLI_DEMO_H

#include "report.h"

#include <farfield/certify.h>

enum {
    DEMO_COFFEE = 0,
    DEMO_TOYS = 3, /* behind it */
    DEMO_SETS = 1 + DEMO_TOYS,
    DEMO_MODELS = 6,
    DEMO_INPUTS = 4,
    DEMO_TRAIN = 400,
    DEMO_TEST = 300,  /* in range and out of range together */
    DEMO_CURVE = 241, /* points of a line through the inputs */
    DEMO_FAR = 73,    /* points of the same line, to where nobody has been */
    DEMO_POINTS = DEMO_TEST + DEMO_CURVE + DEMO_FAR
};

/* A function, rows to learn it from, and points where it is asked for. */
typedef struct demo_set {
    const char *name, *law, *shift, *target;
    const char *inputs[DEMO_INPUTS];
    int64_t input_count, train_count;
    int64_t in_count, out_count, curve_count, far_count; /* points lie in this order */
    int64_t epochs;                                      /* that a finite network trains */
    double train_x[DEMO_TRAIN * DEMO_INPUTS], train_y[DEMO_TRAIN];
    double x[DEMO_POINTS * DEMO_INPUTS], truth[DEMO_POINTS];
} demo_set;

int64_t demo_points(const demo_set *set);
/* Where the curve and the far part begin among the points. */
int64_t demo_curve(const demo_set *set);
int64_t demo_far(const demo_set *set);
/* The first input of count points from start on. */
void demo_along(const demo_set *set, int64_t start, int64_t count, double *out);
void demo_make_sets(demo_set sets[DEMO_SETS]);

typedef struct demo_score {
    double mean, half; /* half of the 95% interval over seeds; NAN for one */
} demo_score;

/* What a model makes of a set. */
typedef struct demo_result {
    bool there; /* false: it could not be had, see reason */
    char reason[200];
    demo_score r2_in, r2_out;
    double largest;      /* |prediction| out of range, over all seeds */
    far_verdict verdict; /* of all seeds the worst */
    double bound;        /* bounded: |f| <= bound everywhere, for all seeds; else NAN */
    double slope, order; /* unbounded: f grows like slope t^order */
    double mean[DEMO_POINTS], low[DEMO_POINTS], high[DEMO_POINTS]; /* over seeds */
} demo_result;

typedef struct demo_args {
    common_args common;
    bool kernels, quick, no_report;
    int64_t seeds;
} demo_args;

typedef struct demo {
    demo_args args;
    session s;
    report report; /* what it tells */
    demo_set sets[DEMO_SETS];
    demo_result results[DEMO_SETS][DEMO_MODELS];
    double seconds;
} demo;

const char *demo_model_name(int model);
/* The text of a network; NULL for other models. */
const char *demo_model_arch(int model);
/* Learns a set. A model whose library is missing is no failure: its result says so. */
far_status demo_learn(demo *d, int set, int model);

/* The tables, and what to see in them; in a page also pictures. */
void demo_tell(demo *d);

/* The kernels behind it, in one table. */
int demo_kernels(session *s, const demo_args *args);

#endif
