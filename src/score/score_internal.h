/* What the rooms that make probabilities share with their scores. */
#ifndef FAR_SCORE_INTERNAL_H
#define FAR_SCORE_INTERNAL_H

#include "../base/base_internal.h"

#include <farfield/score.h>

#define FAR_QUANTILE_975 1.959963984540054236 /* of the standard normal */

/* One row or more, two classes or more, and every row sums to 1. */
far_status far_check_probability(far_ctx *ctx, const far_mat *p);
far_status far_check_labels(far_ctx *ctx, const int64_t *labels, int64_t count, int64_t classes);

/* ---- calibrate.c ---- */

/* link (1 + C: a temperature, an offset for each class) so that far_class_probability of the scores
 * (m x C, of rows that were left out of their own prediction, finite) suits the labels. */
far_status far_class_calibrate(far_ctx *ctx, const far_mat *scores, const int64_t *labels,
                               double *link);
/* What rows of training leave to every class alike: probabilities are never 0 or 1. */
double far_class_floor(int64_t rows);
/* out = (1 - floor) softmax(temperature scores + offsets) + floor / classes */
void far_class_probability(const double *link, double floor, const double *scores, int64_t classes,
                           double *out);

/* Errors of rows that were left out, and the variance (noise `ridge` included, up to a factor) that
 * they were predicted with. */
typedef struct far_errors {
    const double *miss, *variance;
    int64_t count, stride; /* of miss */
} far_errors;
/* The standard deviation of a new observation is size sqrt(variance without noise + noise). */
typedef struct far_band {
    double size, noise;
} far_band;
enum { FAR_LEAST_FOR_QUANTILE = 19 };
/* How much wider than normal errors are at 95%, from their sizes in standard deviations, which are
 * put in order: the conformal rule; of fewer than 19 Student's. */
double far_widening(double *sizes, int64_t n);
/* ridge <= noise <= ridge + most. */
far_status far_band_fit(far_ctx *ctx, const far_errors *e, double ridge, double most,
                        far_band *out);

#endif
