/* Fits without a factor of the whole matrix. */
#ifndef FAR_FIT_ITERATIVE_H
#define FAR_FIT_ITERATIVE_H

#include "regress_internal.h"

enum { FAR_LEAST_ITERATIVE = 40 }; /* rows */

/* Fits m, whose data, kernel and method are there, as far_fit_opts says. */
far_status far_fit_iterative(far_ctx *ctx, const far_fit_opts *o, double ridge, far_ridge_kind kind,
                             far_model *m);
int64_t far_landmark_count(const far_fit_opts *o, far_method method, int64_t n);
/* Roughly: how many iterations there will be is not known. */
far_estimate far_iterative_estimate(far_ctx *ctx, const far_fit_opts *o, far_method method,
                                    int64_t n);
double far_iterative_bytes(int64_t n, int64_t d, int64_t p, int64_t landmarks);

/* Which row comes i-th: the first are the landmarks. */
void far_landmark_order(uint64_t seed, int64_t n, int64_t *order);
#endif
