/*
 * farfield/score.h: how good predictions are, whoever made them: probabilities of classes, numbers,
 * and numbers with a standard deviation.
 */
#ifndef FARFIELD_SCORE_H
#define FARFIELD_SCORE_H

#include <farfield/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FAR_ECE_BINS 15

typedef struct far_class_score {
    double nll;      /* log loss: mean of -log p of the true class; p at least 1e-300 */
    double brier;    /* mean of the sum over classes of (p_c - [c is true])^2, in [0, 2] */
    double ece;      /* sum over bins of (rows in it / rows) |accuracy - mean confidence| */
    double accuracy; /* share of rows whose largest p (the first, in a tie) is the true class's */
} far_class_score;

/* probability m x C, rows sum to 1 (to 1e-6); labels: m classes from 0. The confidence of a row is
 * its largest probability; bin b of `bins` (0: FAR_ECE_BINS) takes confidences in
 * (b / bins, (b + 1) / bins]. */
FAR_API FAR_NODISCARD far_status far_class_scores(far_ctx *ctx, const far_mat *probability,
                                                  const int64_t *labels, int64_t bins,
                                                  far_class_score *out);

typedef struct far_regression_score {
    double r2; /* 1 - squared error / squared distance of y from its mean; over several outputs the
                  mean of those that vary, NAN if none does */
    double rmse;     /* over rows and outputs */
    double nll;      /* mean over rows and outputs of -log N(y; mean, std^2); NAN without std */
    double coverage; /* share of y within 1.96 std of mean; NAN without std */
} far_regression_score;

/* mean, std and y are m x p; std may be NULL (not asked for), and is above 0. */
FAR_API FAR_NODISCARD far_status far_regression_scores(far_ctx *ctx, const far_mat *mean,
                                                       const far_mat *std, const far_mat *y,
                                                       far_regression_score *out);

#ifdef __cplusplus
}
#endif
#endif
