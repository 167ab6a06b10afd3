/* The rule of the LN-Net paper on a line, one fold at a time, without a network (lnnet.h). */
#ifndef FAR_EXPERIMENTS_LNNET_LINE_H
#define FAR_EXPERIMENTS_LNNET_LINE_H

#include <farfield/base.h>

/* One layer on the line: t = x - hinge, h = (k t, 1 + mu t), k > 0. */
typedef struct lnnet_fold {
    double hinge, k, mu;
} lnnet_fold;

/* Where x goes: h = (abscissa, height) before the norm, (circle_x, circle_y) on the circle; the new
 * state is circle_y. */
typedef struct lnnet_place {
    double abscissa, height, circle_x, circle_y;
} lnnet_place;

lnnet_place lnnet_fold_at(const lnnet_fold *fold, double x);

/* The fold that merges a < b: f(a) = f(b). hinge in (a, b), or NAN: halfway, then mu = 0. angle
 * above 0: |h_1 / h_2| at a and b, the tangent of the angle on the circle between the merged points
 * and the top; NAN: 1, as in the paper. */
lnnet_fold lnnet_fold_merge(double a, double b, double hinge, double angle);

/* x has n different numbers, labels their classes; fold is the next one, a and b the two points it
 * merges (a < b), confused and with the first two points of different classes that the hinge
 * halfway would merge (within 1e-9 of the range), -1 if none; fold then has its hinge moved. All
 * indices into x. FAR_ERR_ARG: nothing is left to merge. */
typedef struct lnnet_step {
    lnnet_fold fold, halfway;
    int64_t a, b;
    int64_t confused, with;
} lnnet_step;

far_status lnnet_paper_step(const double *x, const int64_t *labels, int64_t n, lnnet_step *out);

#endif
