/*
 * Behind a norm without eps all points have the same scale. What is left of the network is then a
 * function of rho alone, affine in the Theta that comes in:
 *
 *     K = H(rho),   Theta = F(rho) + G(rho) Theta_in
 *
 * however deep it is. With s = sqrt(1 - rho) for rho >= 0 and 2 - sqrt(1 + rho) below, s in [0, 2],
 * each of F, G, H is analytic (angles are analytic in s at both ends), so sixteen polynomials, one
 * for every eighth of s, replace all the layers. They are fitted to the layers themselves at every
 * evaluation, and used only where a check proves that they are the same functions (see tail.c).
 */
#ifndef FAR_TAIL_H
#define FAR_TAIL_H

#include "points.h"

#define FAR_TAIL_PIECES 16
#define FAR_TAIL_TERMS 15     /* for networks twenty layers deep */
#define FAR_TAIL_TERMS_FEW 11 /* for most */

/* Coefficient k of all pieces, in powers of the distance to the middle of a piece, in pieces. */
typedef struct far_curve {
    double c[FAR_TAIL_TERMS][FAR_TAIL_PIECES];
} far_curve;

/* What Theta_in is. Unless it is carried, no operation is run pair by pair: the curves stand right
 * behind the chords. */
typedef enum far_theta_in {
    FAR_THETA_CARRIED, /* t behind the operations before from */
    FAR_THETA_ZERO,    /* from is 0 */
    FAR_THETA_RHO      /* F includes G rho; the bias of the first dense is one more feature */
} far_theta_in;

typedef struct far_tail {
    bool used;
    int64_t from; /* first operation that it replaces */
    far_theta_in theta_in;
    int terms;                        /* one of the two above; further coefficients are not used */
    far_curve nngp, constant, linear; /* H, F, G */
} far_tail;

/* Decides, fits and checks; out->used says whether it serves. Does not ask which of K and Theta are
 * wanted, so that each has the same bits with and without the other. */
far_status far_tail_build(far_ctx *ctx, const far_plan *plan, const far_layout *layout,
                          const far_points *a, const far_points *b, far_tail *out);

#endif
