/* The different rows of the data, and lines to project them to. */
#ifndef FAR_LNNET_POINTS_H
#define FAR_LNNET_POINTS_H

#include "lnnet_internal.h"

#define FAR_LN_LINES 16 /* drawn at once */

typedef struct far_ln_lines {
    const far_ln_points *points;
    double *directions; /* FAR_LN_LINES x d; the points take up a range of 1 */
    int64_t *order;     /* FAR_LN_LINES x count: points along the line */
    double *places;     /* the same: where */
} far_ln_lines;

/* Zero-initialise before the first; draws again into the same memory. */
far_status far_ln_lines_draw(const far_ln_points *p, uint64_t seed, far_ln_lines *out);
void far_ln_lines_clear(far_ln_lines *l);
/* The direction with the widest least gap between different labels; few_runs: among those with at
 * least a quarter of it, the one with the fewest runs. Negative labels are left out. */
const double *far_ln_lines_choose(const far_ln_lines *l, const int32_t *labels, bool few_runs,
                                  int64_t *runs);

/* Turns a direction a little, so that the least gap between different labels gets wider. */
far_status far_ln_polish(const far_ln_points *p, const int32_t *labels, double *direction);

#endif
