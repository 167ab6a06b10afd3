/* What is known before tuning of the layers that are tuned: from the spectra of their tangent
 * kernels, when one more is added. */
#ifndef FAR_EXPERIMENTS_LAYER_CHOICE_H
#define FAR_EXPERIMENTS_LAYER_CHOICE_H

#include "reproduce.h"

#define LAYER_CHOICE_RIDGE 10      /* of bounds on the objective of a choice */
#define LAYER_CONDITION_RIDGE 1e-4 /* of condition numbers and residuals: the paper's */

/* A choice of layers: of its kernel K_S the eigenvalues, the largest first; of |y - f_start|^2 what
 * lies along each eigenvector; and the condition number of K_S + LAYER_CONDITION_RIDGE I. */
typedef struct layer_choice {
    const double *spectrum, *share;
    double condition;
} layer_choice;

/*
 * Over all pairs of a choice S and a layer l that is not in it. Weyl: how many eigenvalues of K_S +
 * K_l were looked at, and how many lie outside Weyl's intervals. The others are about what is known
 * of K_S + K_l from K_S and the extreme eigenvalues of K_l: the least of ridge regression, min |y -
 * f|^2 + ridge |p - start|^2, is E(K) = ridge e'(K + ridge)^-1 e with e = y - f_start, and falls as
 * K grows: E(K_S + largest of K_l) <= E(K_S + K_l) <= E(K_S). The condition number is at most that
 * of the sums of the extremes.
 */
typedef struct layer_bounds {
    int64_t weyl_checked, weyl_broken;
    int64_t checked, broken;
    double above, below, condition; /* sums over pairs of the bound over what it bounds; below: of
                                       the latter over the former */
} layer_bounds;

/* choices: that of mask m is m - 1, all of them with n rows. */
far_status check_layer_bounds(reproduction *r, int layers, int64_t n, const layer_choice *choices,
                              layer_bounds *out);
void add_layer_bounds(layer_bounds *sum, const layer_bounds *more);

/* Claims of what was found in all seeds. */
far_status claim_weyl(reproduction *r, const char *what, const layer_bounds *b, int64_t seeds);
far_status claim_choice(reproduction *r, const char *what, const layer_bounds *b, int64_t seeds);
/* worst: |p - start| over sqrt(2 R(start) / lambda). */
far_status claim_distance(reproduction *r, const char *what, double worst, int64_t seeds);

#endif
