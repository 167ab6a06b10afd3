/*
 * An upper bound on k(x, x) over all x that is proven: interval arithmetic along |x|, on which
 * alone the diagonal depends, from 0 to infinity.
 */
#ifndef FAR_DIAGONAL_H
#define FAR_DIAGONAL_H

#include "plan.h"

/* The norms |features| / sqrt(d) that the first dense may see. */
typedef struct far_norm_range {
    long double most; /* INFINITY: all from 0 on */
    bool ends_only;   /* nothing but most sqrt(k / groups), k = 0, 1, ... (a norm without eps) */
    int64_t groups;
} far_norm_range;

typedef struct far_diagonal_bound {
    double upper; /* >= k(x, x) for every x but those of norm 0; INFINITY: nothing is proven */
    bool at_once; /* the range as a whole gave it, without being cut */
    bool flat;    /* no k(x, x) is below reached (but for rounding), as no k(x, x) is above it */
    int64_t cells;
} far_diagonal_bound;

/* k is the kernel of that kind. reached: a value of k(x, x), or its limit; cutting stops when the
 * bound is within 1e-4 of it. */
far_status far_diagonal_enclose(far_ctx *ctx, const far_plan *plan, int64_t d, far_kernel_kind kind,
                                const far_norm_range *norms, double reached,
                                far_diagonal_bound *out);

#endif
