/* A network under construction. */
#ifndef FAR_LNNET_BUILD_H
#define FAR_LNNET_BUILD_H

#include "points.h"
#include "precision.h"

typedef struct far_ln_build {
    far_ctx *ctx;
    far_lnnet_opts opts;
    far_ln_points points;
    far_ln_lines lines;
    far_ln_plan plan;
    far_ln_watch watch;
    int32_t *labels;       /* groups x points: what each chain is to tell apart */
    double *directions;    /* groups x d */
    unsigned char *wanted; /* chains still to be run */
    int32_t mode;
    int64_t tries;          /* projections so far */
    int64_t deepest;        /* layers of the best try that failed */
    far_ln_outcome outcome; /* why it failed */
    far_net *net;
    far_lnnet_info info;
} far_ln_build;

/* ---- plan.c ---- */

/* How many chains, and what each is to tell apart; checks mode and groups. */
far_status far_ln_plan_make(far_ln_build *b, int64_t classes);
void far_ln_plan_clear(far_ln_build *b);

/* ---- verify.c ---- */

/* Makes the network of the chains and passes all points through it. *good: every one is right, with
 * room to spare; b->net is set then, and b->info told about it. */
far_status far_ln_verify(far_ln_build *b, const far_ln_ops *ops, bool *good);

#endif
