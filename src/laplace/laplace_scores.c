/* Scores of probabilities, of Gaussian predictions, and of domains told apart. */
#include "laplace_internal.h"

#include <farfield/measure.h>
#include <math.h>
#include <string.h>

#define SUM_ROUNDING 1e-6
#define PROBABILITY_LEAST 1e-300
#define TWO_PI 6.283185307179586477
#define QUANTILE 1.959963984540054236 /* of the standard normal, 0.975 */

/* ---- classes ------------------------------------------------------------------------------- */

static far_status check_row(far_ctx *ctx, const far_mat *p, int64_t i)
{
    const double *row = far_mat_row(p, i);
    double sum = 0;
    for (int64_t c = 0; c < p->cols; c++) {
        if (!(row[c] >= 0)) {
            return far_fail(ctx, FAR_ERR_VALUE, "probability: row %lld, class %lld is %g",
                            (long long)i + 1, (long long)c + 1, row[c]);
        }
        sum += row[c];
    }
    return fabs(sum - 1) <= SUM_ROUNDING
               ? FAR_OK
               : far_fail(ctx, FAR_ERR_VALUE, "probability: row %lld sums to %.9g, not 1",
                          (long long)i + 1, sum);
}

static far_status check_probability(far_ctx *ctx, const far_mat *p)
{
    far_status st = far_check_matrix(ctx, p, "probability", -1, -1);
    if (st == FAR_OK && (p->rows < 1 || p->cols < 2)) {
        st = far_fail(ctx, FAR_ERR_SHAPE,
                      "probability is %lld x %lld; there must be 1 row and 2 classes",
                      (long long)p->rows, (long long)p->cols);
    }
    for (int64_t i = 0; st == FAR_OK && i < p->rows; i++) {
        st = check_row(ctx, p, i);
    }
    return st;
}

static int64_t most_probable(const double *p, int64_t classes)
{
    int64_t best = 0;
    for (int64_t c = 1; c < classes; c++) {
        best = p[c] > p[best] ? c : best;
    }
    return best;
}

static double brier_of(const double *p, int64_t classes, int64_t label)
{
    double sum = 0;
    for (int64_t c = 0; c < classes; c++) {
        double gap = p[c] - (c == label);
        sum += gap * gap;
    }
    return sum;
}

/* Bin b takes (b / bins, (b + 1) / bins]. */
static int64_t bin_of(double confidence, int64_t bins)
{
    int64_t bin = (int64_t)ceil(confidence * (double)bins) - 1;
    return bin < 0 ? 0 : far_least(bin, bins - 1);
}

/* gaps[b] collects hits minus confidences of bin b. */
static void score_rows(const far_mat *p, const int64_t *labels, int64_t bins, double *gaps,
                       far_class_score *score)
{
    double n = (double)p->rows;
    for (int64_t i = 0; i < p->rows; i++) {
        const double *row = far_mat_row(p, i);
        int64_t guess = most_probable(row, p->cols);
        double hit = guess == labels[i];
        score->nll -= log(fmax(row[labels[i]], PROBABILITY_LEAST)) / n;
        score->brier += brier_of(row, p->cols, labels[i]) / n;
        score->accuracy += hit;
        gaps[bin_of(row[guess], bins)] += hit - row[guess];
    }
    for (int64_t b = 0; b < bins; b++) {
        score->ece += fabs(gaps[b]) / n;
    }
    score->accuracy /= n;
}

far_status far_class_scores(far_ctx *ctx, const far_mat *probability, const int64_t *labels,
                            int64_t bins, far_class_score *out)
{
    double *gaps = NULL;
    far_class_score score = {0};
    far_status st = FAR_OK;
    if (!ctx || !out || bins < 0) {
        return far_fail(ctx, FAR_ERR_ARG, "the context and out must not be NULL, bins at least 0");
    }
    bins = bins > 0 ? bins : FAR_ECE_BINS;
    FAR_TRY(check_probability(ctx, probability));
    FAR_TRY(far_check_labels(ctx, labels, probability->rows, probability->cols));
    FAR_TRY(far_alloc(ctx, bins, &gaps));
    score_rows(probability, labels, bins, gaps, &score);
    *out = score;
done:
    far_free(ctx, gaps);
    return st;
}

far_status far_class_entropy(far_ctx *ctx, const far_mat *probability, double *out)
{
    if (!ctx || !out) {
        return far_fail(ctx, FAR_ERR_ARG, "the context and out must not be NULL");
    }
    far_status st = check_probability(ctx, probability);
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

static far_status check_gauss(far_ctx *ctx, const far_mat *mean, const far_mat *covariance,
                              const far_mat *y, double noise)
{
    far_status st = FAR_OK;
    if (!(noise > 0) || !isfinite(noise)) {
        return far_fail(ctx, FAR_ERR_ARG, "the noise variance is %g; it must be positive", noise);
    }
    FAR_TRY(far_check_matrix(ctx, mean, "mean", -1, -1));
    if (mean->rows < 1 || mean->cols < 1) {
        return far_fail(ctx, FAR_ERR_SHAPE, "mean is %lld x %lld; there is nothing to score",
                        (long long)mean->rows, (long long)mean->cols);
    }
    FAR_TRY(far_check_matrix(ctx, y, "y", mean->rows, mean->cols));
    FAR_TRY(far_check_finite(ctx, mean, "mean"));
    FAR_TRY(far_check_finite(ctx, y, "y"));
    if (covariance) {
        FAR_TRY(
            far_check_matrix(ctx, covariance, "covariance", mean->rows * mean->cols, mean->cols));
        FAR_TRY(far_check_finite(ctx, covariance, "covariance"));
    }
done:
    return st;
}

static double variance_at(const far_mat *covariance, int64_t i, int64_t c)
{
    return covariance ? fmax(((double *)far_mat_row(covariance, i * covariance->cols + c))[c], 0)
                      : 0;
}

far_status far_gauss_scores(far_ctx *ctx, const far_mat *mean, const far_mat *covariance,
                            const far_mat *y, double noise, far_gauss_score *out)
{
    if (!ctx || !out) {
        return far_fail(ctx, FAR_ERR_ARG, "the context and out must not be NULL");
    }
    far_status st = check_gauss(ctx, mean, covariance, y, noise);
    if (st != FAR_OK) {
        return st;
    }
    double nll = 0, squares = 0, covered = 0;
    for (int64_t i = 0; i < mean->rows; i++) {
        for (int64_t c = 0; c < mean->cols; c++) {
            double gap = ((double *)far_mat_row(y, i))[c] - ((double *)far_mat_row(mean, i))[c];
            double variance = variance_at(covariance, i, c) + noise;
            nll += 0.5 * (log(TWO_PI * variance) + gap * gap / variance);
            squares += gap * gap;
            covered += fabs(gap) <= QUANTILE * sqrt(variance);
        }
    }
    double numbers = (double)(mean->rows * mean->cols);
    *out = (far_gauss_score){nll / (double)mean->rows, sqrt(squares / numbers), covered / numbers};
    return FAR_OK;
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
