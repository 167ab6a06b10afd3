/* How good predictions are. */
#include "../solve/solve_internal.h"
#include "score_internal.h"

#include <math.h>

#define SUM_ROUNDING 1e-6
#define PROBABILITY_LEAST 1e-300
#define TWO_PI 6.283185307179586477

/* ---- classes ------------------------------------------------------------------------------- */

far_status far_check_labels(far_ctx *ctx, const int64_t *labels, int64_t count, int64_t classes)
{
    if (!labels) {
        return far_fail(ctx, FAR_ERR_ARG, "labels must not be NULL");
    }
    for (int64_t i = 0; i < count; i++) {
        if (labels[i] < 0 || labels[i] >= classes) {
            return far_fail(ctx, FAR_ERR_ARG, "labels: row %lld is %lld, not in 0 to %lld",
                            (long long)i + 1, (long long)labels[i], (long long)classes - 1);
        }
    }
    return FAR_OK;
}

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

far_status far_check_probability(far_ctx *ctx, const far_mat *p)
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
        int64_t guess = far_place_of_largest(row, p->cols);
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
    FAR_TRY(far_check_probability(ctx, probability));
    FAR_TRY(far_check_labels(ctx, labels, probability->rows, probability->cols));
    FAR_TRY(far_alloc(ctx, bins, &gaps));
    score_rows(probability, labels, bins, gaps, &score);
    *out = score;
done:
    far_free(ctx, gaps);
    return st;
}

/* ---- regression ---------------------------------------------------------------------------- */

static far_status check_regression(far_ctx *ctx, const far_mat *mean, const far_mat *std,
                                   const far_mat *y)
{
    far_status st;
    FAR_TRY(far_check_matrix(ctx, mean, "mean", -1, -1));
    if (mean->rows < 1 || mean->cols < 1) {
        return far_fail(ctx, FAR_ERR_SHAPE, "mean is %lld x %lld; there is nothing to score",
                        (long long)mean->rows, (long long)mean->cols);
    }
    FAR_TRY(far_check_matrix(ctx, y, "y", mean->rows, mean->cols));
    FAR_TRY(far_check_finite(ctx, mean, "mean"));
    FAR_TRY(far_check_finite(ctx, y, "y"));
    if (std) {
        FAR_TRY(far_check_matrix(ctx, std, "std", mean->rows, mean->cols));
        FAR_TRY(far_check_finite(ctx, std, "std"));
    }
    for (int64_t k = 0; std && k < std->rows * std->cols; k++) {
        double value = ((double *)far_mat_row(std, k / std->cols))[k % std->cols];
        if (!(value > 0)) {
            return far_fail(ctx, FAR_ERR_VALUE, "std: row %lld is %g, not above 0",
                            (long long)(k / std->cols) + 1, value);
        }
    }
done:
    return st;
}

static double at(const far_mat *m, int64_t i, int64_t j)
{
    return ((const double *)far_mat_row(m, i))[j];
}

/* The squared error of output j, and the squared distance of y from its mean: 0 if it is constant.
 */
static void output_squares(const far_mat *mean, const far_mat *y, int64_t j, long double *error,
                           long double *spread)
{
    long double middle = 0, about = 0;
    bool varies = false;
    *error = 0;
    for (int64_t i = 0; i < y->rows; i++) {
        long double miss = (long double)at(y, i, j) - at(mean, i, j);
        *error += miss * miss;
        middle += at(y, i, j) / (long double)y->rows;
        varies = varies || at(y, i, j) != at(y, 0, j);
    }
    for (int64_t i = 0; i < y->rows; i++) {
        about += (at(y, i, j) - middle) * (at(y, i, j) - middle);
    }
    *spread = varies ? about : 0;
}

static void score_means(const far_mat *mean, const far_mat *y, far_regression_score *s)
{
    long double r2 = 0, squares = 0, error, spread;
    int64_t varying = 0;
    for (int64_t j = 0; j < y->cols; j++) {
        output_squares(mean, y, j, &error, &spread);
        squares += error;
        r2 += spread > 0 ? 1 - error / spread : 0;
        varying += spread > 0;
    }
    s->r2 = varying > 0 ? (double)(r2 / (long double)varying) : NAN;
    s->rmse = (double)sqrtl(squares / (long double)(y->rows * y->cols));
}

static void score_intervals(const far_mat *mean, const far_mat *std, const far_mat *y,
                            far_regression_score *s)
{
    double nll = 0, covered = 0, numbers = (double)(y->rows * y->cols);
    for (int64_t k = 0; k < y->rows * y->cols; k++) {
        int64_t i = k / y->cols, j = k % y->cols;
        double sd = at(std, i, j), z = (at(y, i, j) - at(mean, i, j)) / sd;
        nll += 0.5 * (log(TWO_PI) + z * z) + log(sd);
        covered += fabs(z) <= FAR_QUANTILE_975;
    }
    s->nll = nll / numbers;
    s->coverage = covered / numbers;
}

far_status far_regression_scores(far_ctx *ctx, const far_mat *mean, const far_mat *std,
                                 const far_mat *y, far_regression_score *out)
{
    if (!ctx || !out) {
        return far_fail(ctx, FAR_ERR_ARG, "the context and out must not be NULL");
    }
    far_status st = check_regression(ctx, mean, std, y);
    if (st != FAR_OK) {
        return st;
    }
    far_regression_score s = {.nll = NAN, .coverage = NAN};
    score_means(mean, y, &s);
    if (std) {
        score_intervals(mean, std, y, &s);
    }
    *out = s;
    return FAR_OK;
}
