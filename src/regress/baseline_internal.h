/* What the baselines share. */
#ifndef FAR_BASELINE_INTERNAL_H
#define FAR_BASELINE_INTERNAL_H

#include "../base/base_internal.h"

#include <farfield/predictor.h>

/* Matrices are float64 on the host, x n x d, y n x 1; predictions for xt (m x d) go to out (m x 1).
 */
/* Ridge linear regression with an intercept on columns scaled to unit variance (constant ones are
 * ignored), the ridge chosen by exact leave-one-out error over a grid, the largest within a
 * millionth of the best. *ridge (may be NULL): the one chosen, relative to n. FAR_ERR_VALUE: a
 * value that is not finite, or a row of xt whose prediction would not be, with its place. */
far_status far_linear_predict(far_ctx *ctx, const far_mat *x, const far_mat *y, const far_mat *xt,
                              double *ridge, far_mat *out);

/* Boosted trees by the XGBoost C library, opened at run time, with FAR_XGBOOST_SETTINGS: rounds
 * rounds, seed. FAR_ERR_BACKEND: the library is not there (the message names the package) or
 * refused, with its own words. */
far_status far_xgboost_predict(far_ctx *ctx, const far_mat *x, const far_mat *y, const far_mat *xt,
                               int64_t rounds, uint64_t seed, far_mat *out);
/* The linear fit itself: f(x) = intercept + slopes . x. left (n; may be NULL): what it misses of
 * each y where that row is left out. */
far_status far_linear_solve(far_ctx *ctx, const far_mat *x, const far_mat *y, double *slopes,
                            double *intercept, double *ridge, double *left);

/* Boosted trees that stay. classes: 0 for numbers; else y holds classes from 0, each of which is
 * there, and what the trees give are the scores whose softmax are probabilities: one for each
 * class, but of two classes only that of the second, the first's being 0. */
typedef struct far_booster far_booster;
far_status far_booster_fit(far_ctx *ctx, const far_mat *x, const far_mat *y, int64_t classes,
                           int64_t rounds, uint64_t seed, far_booster **out);
far_status far_booster_load(far_ctx *ctx, const void *data, int64_t size, far_booster **out);
/* XGBoost's own JSON, at the end of out. */
far_status far_booster_save(const far_booster *b, far_text *out);
/* What is boosted, in XGBoost's words. */
const char *far_booster_objective(int64_t classes);
/* out: as many columns as the trees give. */
far_status far_booster_eval(far_ctx *ctx, const far_booster *b, const far_mat *x, far_mat *out);
void far_booster_destroy(far_booster *b);

/* The arguments of a baseline: shapes agree, float64, at least one row, every value finite. */
far_status far_baseline_check(far_ctx *ctx, const far_mat *x, const far_mat *y, const far_mat *xt,
                              const far_mat *out);

#endif
