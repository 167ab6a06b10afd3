#ifndef FAR_STATISTICS_H
#define FAR_STATISTICS_H

#include "../base/base_internal.h"

#include <farfield/plot.h>

/* The finite ones among n values, sorted if asked; FAR_ERR_VALUE if there is none. */
far_status far_finite_copy(far_ctx *ctx, const double *values, int64_t n, bool sorted, double **out,
                           int64_t *count);
/* Of sorted values, by straight lines between them. */
double far_sorted_quantile(const double *sorted, int64_t n, double p);

#endif
