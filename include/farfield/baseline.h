/*
 * farfield/baseline.h: what a network has to beat. Matrices are float64 on the host, x n x d,
 * y n x 1; predictions for xt (m x d) go to out (m x 1).
 */
#ifndef FARFIELD_BASELINE_H
#define FARFIELD_BASELINE_H

#include <farfield/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Ridge linear regression with an intercept on columns scaled to unit variance (constant ones are
 * ignored), the ridge chosen by exact leave-one-out error over a grid, the largest within a
 * millionth of the best. *ridge (may be NULL): the one chosen, relative to n. FAR_ERR_VALUE: a
 * value that is not finite, or a row of xt whose prediction would not be, with its place. */
FAR_API FAR_NODISCARD far_status far_linear_predict(far_ctx *ctx, const far_mat *x,
                                                    const far_mat *y, const far_mat *xt,
                                                    double *ridge, far_mat *out);

/* Boosted trees by the XGBoost C library, opened at run time: its defaults, squared error, rounds
 * rounds, seed. FAR_ERR_BACKEND: the library is not there (the message names the package) or
 * refused, with its own words. */
FAR_API FAR_NODISCARD far_status far_xgboost_predict(far_ctx *ctx, const far_mat *x,
                                                     const far_mat *y, const far_mat *xt,
                                                     int64_t rounds, uint64_t seed, far_mat *out);
/* "1.7.4", valid until the next call in this thread, or NULL with the reason in the context's
 * message. */
FAR_API const char *far_xgboost_version(far_ctx *ctx);

#ifdef __cplusplus
}
#endif
#endif
