/* The theorems of the layer-norm paper, one by one; each function makes its claims and pictures. */
#ifndef FAR_EXPERIMENTS_LN_THEOREMS_H
#define FAR_EXPERIMENTS_LN_THEOREMS_H

#include "ln_toy.h"

enum { RAY = 49 };                        /* points along a ray, for figures */
static const double SIX_DIGITS = 6e-7;    /* what values with six decimals may differ by */
static const double BIAS_VARIANCE = 0.01; /* of the architecture language, by default */

far_status check_theorem_31(reproduction *r);       /* without a norm some data make it run away */
far_status check_theorem_31_cases(reproduction *r); /* over depths, activations, dimensions */
far_status check_theorem_32(reproduction *r);       /* with one Theta(x, x) is bounded */
far_status check_theorem_33(reproduction *r);       /* and so is every prediction */
far_status check_proposition_34(reproduction *r);   /* but not every network that fits is */
far_status check_theorem_c1(reproduction *r);       /* behind a first norm only angles count */
far_status check_theorem_c2(reproduction *r);       /* other activations */

/* The supremum of Theta(x, x) over all x of one variable, in the NTK parametrisation. */
far_status supremum_of(reproduction *r, const char *arch, far_supremum *out);
/* Theta(x1_i, x2_j), or of x1 with itself; rows of any width. Takes arch_of by itself. */
far_status theta_of(reproduction *r, const char *arch, const far_mat *x1, const far_mat *x2,
                    double *out);
/* Theta(x_i, x_i) */
far_status diagonal_of(reproduction *r, const char *arch, const far_mat *x, double *out);

#endif
