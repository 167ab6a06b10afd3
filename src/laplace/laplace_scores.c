/* Scores of Gaussian predictions, of doubt, and of domains told apart. */
#include "../measure/rank.h"
#include "laplace_internal.h"

#include <math.h>
#include <string.h>

far_status far_class_entropy(far_ctx *ctx, const far_mat *probability, double *out)
{
    if (!ctx || !out) {
        return far_fail(ctx, FAR_ERR_ARG, "the context and out must not be NULL");
    }
    far_status st = far_check_probability(ctx, probability);
    for (int64_t i = 0; st == FAR_OK && i < probability->rows; i++) {
        const double *p = far_mat_row(probability, i);
        out[i] = 0;
        for (int64_t c = 0; c < probability->cols; c++) {
            out[i] -= p[c] > 0 ? p[c] * log(p[c]) : 0;
        }
    }
    return st;
}

/* ---- regression ---------------------------------------------------------------------------- */

far_status far_laplace_variance(far_ctx *ctx, const far_mat *covariance, double *out)
{
    if (!ctx || !out) {
        return far_fail(ctx, FAR_ERR_ARG, "the context and out must not be NULL");
    }
    far_status st = far_check_matrix(ctx, covariance, "covariance", -1, -1);
    if (st != FAR_OK) {
        return st;
    }
    int64_t outputs = covariance->cols;
    if (outputs < 1 || covariance->rows % outputs != 0) {
        return far_fail(ctx, FAR_ERR_SHAPE, "covariance is %lld x %lld, not rows C x C",
                        (long long)covariance->rows, (long long)outputs);
    }
    for (int64_t i = 0; i < covariance->rows / outputs; i++) {
        out[i] = 0;
        for (int64_t c = 0; c < outputs; c++) {
            out[i] += ((const double *)far_mat_row(covariance, i * outputs + c))[c];
        }
    }
    return FAR_OK;
}

/* std[i][c] is the root of variance c of row i and the noise. */
static void total_std(const far_mat *covariance, double noise, far_mat *std)
{
    int64_t outputs = std->cols;
    for (int64_t k = 0; k < std->rows * outputs; k++) {
        double own = covariance ? ((double *)far_mat_row(covariance, k))[k % outputs] : 0;
        ((double *)std->data)[k] = sqrt(fmax(own, 0) + noise);
    }
}

far_status far_gauss_scores(far_ctx *ctx, const far_mat *mean, const far_mat *covariance,
                            const far_mat *y, double noise, far_gauss_score *out)
{
    far_status st;
    far_regression_score score;
    double *room = NULL;
    if (!ctx || !out) {
        return far_fail(ctx, FAR_ERR_ARG, "the context and out must not be NULL");
    }
    if (!(noise > 0) || !isfinite(noise)) {
        return far_fail(ctx, FAR_ERR_ARG, "the noise variance is %g; it must be positive", noise);
    }
    FAR_TRY(far_check_matrix(ctx, mean, "mean", -1, -1));
    if (covariance) {
        FAR_TRY(
            far_check_matrix(ctx, covariance, "covariance", mean->rows * mean->cols, mean->cols));
        FAR_TRY(far_check_finite(ctx, covariance, "covariance"));
    }
    FAR_TRY(far_alloc(ctx, mean->rows * mean->cols, &room));
    far_mat std = far_mat_view(room, mean->rows, mean->cols, FAR_F64);
    total_std(covariance, noise, &std);
    FAR_TRY(far_regression_scores(ctx, mean, &std, y, &score));
    *out = (far_gauss_score){score.nll * (double)mean->cols, score.rmse, score.coverage};
done:
    far_free(ctx, room);
    return st;
}

/* ---- domains ------------------------------------------------------------------------------- */

static far_status take_scores(far_ctx *ctx, const char *name, const double *scores, int64_t count,
                              double *to)
{
    for (int64_t i = 0; i < count; i++) {
        if (!isfinite(scores[i])) {
            return far_fail(ctx, FAR_ERR_VALUE, "%s: score %lld is %g", name, (long long)i + 1,
                            scores[i]);
        }
        to[i] = scores[i];
    }
    return FAR_OK;
}

far_status far_domain_auroc(far_ctx *ctx, const double *in, int64_t in_count, const double *out_of,
                            int64_t out_count, double *auroc)
{
    double *scores = NULL;
    unsigned char *outside = NULL;
    far_status st = FAR_OK;
    if (!ctx || !in || !out_of || !auroc) {
        return far_fail(ctx, FAR_ERR_ARG, "the context, scores and auroc must not be NULL");
    }
    if (in_count < 1 || out_count < 1) {
        return far_fail(ctx, FAR_ERR_SHAPE, "%lld scores in and %lld out of domain; 1 of each",
                        (long long)in_count, (long long)out_count);
    }
    FAR_TRY(far_alloc(ctx, in_count + out_count, &scores));
    FAR_TRY(far_alloc(ctx, in_count + out_count, &outside));
    FAR_TRY(take_scores(ctx, "in", in, in_count, scores));
    FAR_TRY(take_scores(ctx, "out_of", out_of, out_count, scores + in_count));
    memset(outside + in_count, 1, (size_t)out_count);
    FAR_TRY(far_roc_auc(ctx, scores, outside, in_count + out_count, auroc));
done:
    far_free(ctx, scores);
    far_free(ctx, outside);
    return st;
}
