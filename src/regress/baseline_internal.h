/* What the baselines share. */
#ifndef FAR_BASELINE_INTERNAL_H
#define FAR_BASELINE_INTERNAL_H

#include "../base/base_internal.h"

#include <farfield/baseline.h>

/* The arguments of a baseline: shapes agree, float64, at least one row, every value finite. */
far_status far_baseline_check(far_ctx *ctx, const far_mat *x, const far_mat *y, const far_mat *xt,
                              const far_mat *out);

#endif
