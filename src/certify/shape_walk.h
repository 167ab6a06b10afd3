/*
 * A network of images or sequences, walked with a box around every channel of every position.
 *
 * The boxes hold for all inputs in given boxes, from the whole space down to a single point; or, in
 * the limit, hold what s^degree h(u / s) tends to as s falls to 0, for inputs u that are directions
 * then (as for other networks, net_certify.h: the degree of the inputs is 1, of norms and bounded
 * activations 0).
 */
#ifndef FAR_SHAPE_WALK_H
#define FAR_SHAPE_WALK_H

#include "net_certify.h"

typedef struct far_walk_boxes {
    far_ctx *ctx;
    const far_net *net;
    const far_range *inputs;
    far_range **boxes; /* of every step: positions x channels of its output */
    double *degree;    /* of every step's output; all 0 unless in the limit */
    double start;      /* degree of the inputs */
} far_walk_boxes;

/* ---- numbers ---- */

/* A sum of products, each end rounded as often: what its rounding is relative to is kept. */
typedef struct far_total {
    double low, high, low_size, high_size;
    int64_t count;
} far_total;

void far_total_add(far_total *t, far_range r);
far_range far_total_range(const far_total *t);
/* w z; 0 times anything that is finite is 0. */
far_range far_range_times(double w, far_range z);
far_range far_range_add(far_range a, far_range b);

/* ---- steps that are linear: dense, conv, means, copies, batch norms ---- */

/* Weights scale w[k stride] (w NULL: scale alone) of count numbers from `from` on of what a step
 * reads. */
typedef struct far_run {
    const double *w;
    int64_t stride;
    double scale;
    int64_t from, count;
} far_run;

bool far_step_is_affine(const far_step *s);
/* The runs that output k of step i sums up: how many. room for far_run_count(net) of them. */
int64_t far_step_runs(const far_net *net, int64_t i, int64_t k, far_run *runs);
int64_t far_run_count(const far_net *net);
/* Not 0 unless a factor is: what is exactly 0 tells whether a way is open. */
double far_run_weight(const far_run *r, int64_t k);
/* What such a weight may be off by underflow, which no relative error covers. */
double far_run_speck(const far_run *r, double weight);
/* What is added to output k. */
far_range far_step_shift(const far_walk_boxes *w, int64_t i, int64_t k);

/* ---- places ---- */

const far_range *far_boxes_before(const far_walk_boxes *w, int64_t i);
double far_boxes_degree_before(const far_walk_boxes *w, int64_t i);
/* The norm that step i reads, beginnings of skips aside; -1: none. */
int64_t far_norm_before(const far_net *net, int64_t i);
/* sum_c w_c z_c over what position p of norm i can be. room: as many numbers as channels. */
far_range far_norm_reach(const far_walk_boxes *w, int64_t i, int64_t p, const double *weights,
                         double *room);

/* ---- attention ---- */

/* Weights of one query, each at least weight[j]; one that is below 0 is 0. They sum to 1. scores:
 * room for as many. */
void far_attention_weights(const far_walk_boxes *w, int64_t i, int64_t head, int64_t query,
                           far_range *scores, double *weight);
/* How many positions it looks at. */
int64_t far_attention_reach(const far_step *s, int64_t query);
/* At least sum_j a_j u_j for such weights a_j. */
double far_attention_mean(const double *weight, const double *u, int64_t n);

/* ---- the walk ---- */

/* Boxes of all steps. tight: those in front of activations are narrowed by linear relaxation where
 * that is cheap (shape_back.c). */
far_status far_walk_open(far_walk_boxes *w, bool tight);
void far_walk_close(far_walk_boxes *w);
/* Channels, positions or inputs, whatever there is most of. */
int64_t far_walk_widest(const far_net *net);

/* ---- shape_back.c ---- */

/* Narrows the box of output k of step i (-1: of all): it is followed back as a linear form. */
far_status far_walk_narrow(const far_walk_boxes *w, int64_t i, int64_t k);
/* Multiplications that costs. */
double far_walk_work(const far_net *net, int64_t i);

#endif
