/* Shared by the files of the room. */
#ifndef FAR_LNNET_INTERNAL_H
#define FAR_LNNET_INTERNAL_H

#include "../net/net_internal.h"

#include <farfield/lnnet.h>

#define FAR_LN_NEURONS 3
#define FAR_LN_EPS 1e-5 /* what a network must bear; the default of PyTorch */

/* Last bits by which a state is moved to see what rounding can do (a dense layer and a norm of
 * three neurons err by about one), and how often, with other dice each time. */
#define FAR_LN_SHAKE_BITS 2
#define FAR_LN_SHAKES 2

#define FAR_LN_KEY_MODE "lnnet.mode"
#define FAR_LN_KEY_PRECISION "lnnet.precision"
#define FAR_LN_KEY_BITS "lnnet.bits"
#define FAR_LN_KEY_PARAMETERS "lnnet.parameters"

/* ---- points.c ---- */

/* The different rows of the caller's matrix. */
typedef struct far_ln_points {
    far_ctx *ctx;
    int64_t count, d;
    double *values; /* count x d */
    int32_t *label;
    int64_t *row;   /* of the caller, the first of its copies */
    double *scale;  /* of each column, half its range; 0: constant */
    double *centre; /* of each column, half way */
} far_ln_points;

far_status far_ln_points_read(far_ctx *ctx, const far_mat *x, const int64_t *labels,
                              int64_t classes, far_ln_points *out);
void far_ln_points_clear(far_ln_points *p);
/* Why there is no network, if the range of a column is to blame. */
far_status far_ln_points_check_range(const far_ln_points *p);
static inline const double *far_ln_point(const far_ln_points *p, int64_t i)
{
    return p->values + i * p->d;
}

/* 1 if FAR_LNNET_MPFR can be had. */
int far_lnnet_has_mpfr(void);
/* "auto", "paper", "merge", "runs"; "auto", "double", "quad", "mpfr". Never NULL. */
const char *far_lnnet_mode_name(far_lnnet_mode mode);
const char *far_lnnet_precision_name(far_lnnet_precision precision);

#endif
