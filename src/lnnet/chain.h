/*
 * One chain of three neurons: points on a line, folded layer by layer until every label is one
 * interval.
 *
 * The state y of a point behind a norm is its third neuron u_3 = -sqrt(2) f, so that the hinge of
 * the last fold lies at the left end, the front. A layer is six numbers: z_i = slope_i y + shift_i
 * for the three neurons.
 */
#ifndef FAR_LNNET_CHAIN_H
#define FAR_LNNET_CHAIN_H

#include "points.h"

#include <stdatomic.h>

#define FAR_LN_KEPT 8  /* states that a chain can go back to */
#define FAR_LN_LAYER 6 /* numbers of a layer: three slopes, three shifts */

/* Another way to merge: one more layer for each label, and errors that do not grow. */
#define FAR_LN_GATHER (FAR_LNNET_RUNS + 1)

typedef enum far_ln_outcome {
    FAR_LN_DONE = 0,
    FAR_LN_COLLIDED,  /* points to be told apart have the same projection */
    FAR_LN_MIXED,     /* points of different labels met in a layer */
    FAR_LN_NARROW,    /* a gap is too small for the precision */
    FAR_LN_SPREAD,    /* merged points lie too far apart, measured by the gap beside them */
    FAR_LN_STUCK,     /* no fold merges the next pair */
    FAR_LN_CANCELLED, /* elsewhere */
    FAR_LN_OUTCOMES
} far_ln_outcome;

/* What the chains of one build share. */
typedef struct far_ln_watch {
    far_ctx *ctx;
    const char *what;
    int64_t every;             /* how many between two reports */
    int64_t reported;          /* how often that was, by the first thread */
    atomic_int_least64_t done; /* layers of all chains */
    int64_t total;
    atomic_int stop; /* the far_status of whoever asked to stop */
} far_ln_watch;

typedef struct far_ln_chain {
    const far_ln_points *points;
    const int32_t *labels;   /* of the points, 0..classes - 1; negative: leave it out */
    int32_t classes;         /* labels that can be */
    int32_t mode;            /* FAR_LNNET_PAPER, _MERGE or _RUNS, or FAR_LN_GATHER */
    uint64_t seed;           /* of the search */
    const double *direction; /* of the projection, of as many entries as a point */
    far_ln_watch *watch;

    far_ln_outcome outcome;
    int64_t layers;     /* those of the vote not counted */
    int64_t confusions; /* met, and avoided */
    double gap, final_gap;
    int64_t gap_layer;
    int32_t runs; /* behind the last layer */
    void *memory; /* everything below lies in it */
    void *line;
    void *weights;      /* layers x FAR_LN_LAYER */
    void *thresholds;   /* runs - 1 of them, increasing */
    void *ends;         /* the least and the largest state */
    int32_t *run_label; /* of each */
} far_ln_chain;

/* Counts a layer and, on the calling thread, reports. False: stop. */
bool far_ln_watch_layer(far_ln_watch *w);

#endif
