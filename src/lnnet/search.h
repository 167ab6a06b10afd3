/*
 * The search for the next fold, in double whatever the precision of the chain: it only decides
 * where the hinge goes; the chain works the fold out in its own numbers.
 */
#ifndef FAR_LNNET_SEARCH_H
#define FAR_LNNET_SEARCH_H

#include "lnnet_internal.h"

#include <math.h>

/* x -> -h_2 / |h|, h = (k t, 1 + mu t), t = x - z */
typedef struct far_ln_fold {
    double z, k, mu;
} far_ln_fold;

/* Where a hinge goes: shares of intervals, so that they mean the same in any precision. */
typedef struct far_ln_choice {
    double zeta, eta, omega;
} far_ln_choice;

typedef struct far_ln_search {
    int64_t n;
    double *lo, *hi; /* of the objects, from the front */
    const int32_t *label;
    int64_t blocks;
    double *place;        /* where blocks begin; one more than there are */
    double *block_cost;   /* sum over the block's gaps of 1 / gap^2 */
    int64_t *block_start; /* one more than there are */
    double *weight;       /* of a gap by its rank, squared */
    double profile;       /* factor on the length over which weights fall */
    uint64_t seed;
    uint64_t layer;
    far_ln_choice warm; /* the last choice */
    bool warmed;
} far_ln_search;

/* The fold with f(a) = f(b) = 1 / sqrt(1 + omega^2), hinge at z. */
static inline far_ln_fold far_ln_merging(double a, double b, double z, double omega)
{
    double left = 1 / (z - a), right = 1 / (b - z);
    return (far_ln_fold){.z = z, .k = omega * (left + right) / 2, .mu = (left - right) / 2};
}

static inline double far_ln_image(const far_ln_fold *f, double x)
{
    double t = x - f->z, h1 = f->k * t, h2 = 1 + f->mu * t;
    return -h2 / sqrt(h1 * h1 + h2 * h2);
}

/* ---- search_score.c ---- */

#define FAR_LN_EXACT                                                                               \
    64 /* objects, behind those that a fold turns around, that are looked at singly */

/* Weights 1 / (1 + j / length)^power and blocks, for a fold that turns at most `turned` objects
 * around. */
void far_ln_search_prepare(far_ln_search *s, int64_t turned, double length, double power);
/* How bad the gaps are after a fold; INFINITY: labels mix, or no better than best. The first
 * `turned` objects may lie left of the hinge. wide: objects are intervals. */
double far_ln_score(const far_ln_search *s, const far_ln_fold *f, int64_t turned, bool wide,
                    double best);

/* Random steps of zeta and omega around the best so far, which attempt may move, smaller each
 * round. */
void far_ln_refine(const far_ln_search *s, const far_ln_choice *best,
                   void (*attempt)(void *user, double zeta, double omega), void *user);

/* ---- search_merge.c, search_runs.c, search_gather.c ---- */

/* zeta: where the hinge lies between a and b; omega: |h_1 / h_2| there. False: every fold mixes
 * labels. */
bool far_ln_search_merge(far_ln_search *s, int64_t a, int64_t b, int32_t classes,
                         far_ln_choice *out);
/* The hinge: zeta in (0, 3), a third each for the gap before the second run, that run, and the gap
 * behind it. eta in (0, 1): 2 mu from its upper bound down to the lower, or to minus infinity. */
bool far_ln_search_runs(far_ln_search *s, far_ln_choice *out);
/* The first `gathered` objects are the reservoir; the one behind them goes to the place of object a
 * or, if a is negative, to a free one: eta of its distance from the first in front of that. zeta:
 * where the hinge lies between the last of them and it. */
bool far_ln_search_gather(far_ln_search *s, int64_t gathered, int64_t a, far_ln_choice *out);

#endif
