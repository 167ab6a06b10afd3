/* Norms of one network side by side: none, layer norm, layer norm in groups; with and without an
 * activation; and what differs over seeds. */
#ifndef FAR_EXPERIMENTS_LNNET_VARIANTS_H
#define FAR_EXPERIMENTS_LNNET_VARIANTS_H

#include "parts.h"

enum { NORM_NONE, NORM_LN, NORM_BY_8, NORM_BY_4, NORMS };
extern const char *const NORM_NAMES[NORMS];

/* "ln(groups=4, eps=1e-5, affine) " of so many channels, "" for none; of a sabotaged run no norm is
 * but that of others (all are none, or all one group where there must be a norm). */
const char *norm_text(reproduction *r, int norm, int64_t channels, bool needed);

/* Scores of one variant over the seeds: their mean and half its 95% interval; less (may be NULL):
 * of the differences to these, seed by seed. */
typedef struct interval {
    double mean, half;
} interval;
far_status interval_of(reproduction *r, const double *scores, const double *less, int64_t seeds,
                       interval *out);

#endif
