/* Class probabilities from Gaussian outputs. */
#include "laplace_internal.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#define PROBIT 0.39269908169872415481 /* pi / 8 */
#define PIVOT_ROUNDING 1e-13          /* of the largest variance: what is left is rounding */
#define NEGATIVE_ROUNDING 1e-8

#define SAMPLES_DEFAULT 512

far_status far_check_probability_opts(far_ctx *ctx, const far_probability_opts *o)
{
    if (o->size != sizeof *o) {
        return far_fail(ctx, FAR_ERR_ARG, "opts->size is not sizeof(far_probability_opts)");
    }
    if (o->rule < FAR_PROBABILITY_PROBIT || o->rule > FAR_PROBABILITY_MEAN) {
        return far_fail(ctx, FAR_ERR_ARG, "opts: rule %d is no far_probability_rule", (int)o->rule);
    }
    if (o->rule == FAR_PROBABILITY_SAMPLES && o->samples < 0) {
        return far_fail(ctx, FAR_ERR_ARG, "opts: %lld samples; there must be at least 1",
                        (long long)o->samples);
    }
    return FAR_OK;
}

/* One row: C means, and C x C covariances ld apart. */
typedef struct row {
    const double *mean, *covariance;
    int64_t outputs, ld;
} row;

static double covariance_at(const row *r, int64_t a, int64_t b)
{
    return r->covariance[a * r->ld + b];
}

/* One output is the logit of the second of two classes. */
static int64_t classes_of(int64_t outputs)
{
    return outputs == 1 ? 2 : outputs;
}

/* In place, room for 2: logits become probabilities. */
static void squash(double *v, int64_t outputs)
{
    if (outputs == 1) {
        v[1] = v[0];
        v[0] = 0;
    }
    far_softmax(v, classes_of(outputs));
}

/* ---- probit -------------------------------------------------------------------------------- */

static void probit_pair(const row *r, double *out)
{
    double spread = covariance_at(r, 0, 0) + covariance_at(r, 1, 1) - 2 * covariance_at(r, 0, 1);
    double d = (r->mean[1] - r->mean[0]) / sqrt(1 + PROBIT * fmax(spread, 0));
    out[0] = d;
    squash(out, 1);
}

static void probit(const row *r, double *out)
{
    for (int64_t c = 0; c < r->outputs; c++) {
        out[c] = r->mean[c] / sqrt(1 + PROBIT * fmax(covariance_at(r, c, c), 0));
    }
    squash(out, r->outputs);
}

/* ---- samples ------------------------------------------------------------------------------- */

static double largest_variance(const row *r)
{
    double most = 0;
    for (int64_t c = 0; c < r->outputs; c++) {
        most = fmax(most, covariance_at(r, c, c));
    }
    return most;
}

/* root root' = covariance, lower; directions without variance are left out. */
static void semidefinite_root(const row *r, double *root)
{
    int64_t n = r->outputs;
    double least = PIVOT_ROUNDING * largest_variance(r);
    memset(root, 0, (size_t)(n * n) * sizeof *root);
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = j; i < n; i++) {
            double left = covariance_at(r, i, j);
            for (int64_t k = 0; k < j; k++) {
                left -= root[i * n + k] * root[j * n + k];
            }
            double pivot = root[j * n + j];
            root[i * n + j] = i == j      ? (left > least ? sqrt(left) : 0)
                              : pivot > 0 ? left / pivot
                                          : 0;
        }
    }
}

static void draw(const row *r, const double *root, uint64_t seed, uint64_t counter, double *noise,
                 double *f)
{
    int64_t n = r->outputs;
    for (int64_t c = 0; c < n; c++) {
        noise[c] = far_random_normal(seed, counter + (uint64_t)c);
        f[c] = r->mean[c];
        for (int64_t k = 0; k <= c; k++) {
            f[c] += root[c * n + k] * noise[k];
        }
    }
    squash(f, n);
}

/* scratch: C x C + 2 C + 1 numbers. */
static void sample(const row *r, const far_probability_opts *o, int64_t index, double *scratch,
                   double *out)
{
    int64_t n = r->outputs, classes = classes_of(n);
    double *root = scratch, *noise = root + n * n, *f = noise + n;
    semidefinite_root(r, root);
    memset(out, 0, (size_t)classes * sizeof *out);
    for (int64_t s = 0; s < o->samples; s++) {
        uint64_t counter = ((uint64_t)index * (uint64_t)o->samples + (uint64_t)s) * (uint64_t)n;
        draw(r, root, o->seed, counter, noise, f);
        for (int64_t c = 0; c < classes; c++) {
            out[c] += f[c] / (double)o->samples;
        }
    }
}

/* ---- rows ---------------------------------------------------------------------------------- */

static void fill_row(const row *r, const far_probability_opts *o, int64_t index, double *scratch,
                     double *out)
{
    if (o->rule == FAR_PROBABILITY_MEAN) {
        memcpy(out, r->mean, (size_t)r->outputs * sizeof *out);
        squash(out, r->outputs);
    } else if (o->rule == FAR_PROBABILITY_SAMPLES) {
        sample(r, o, index, scratch, out);
    } else if (r->outputs == 2) {
        probit_pair(r, out);
    } else {
        probit(r, out);
    }
}

static row row_at(const far_mat *mean, const far_mat *covariance, int64_t i)
{
    return (row){.mean = far_mat_row(mean, i),
                 .covariance = covariance ? far_mat_row(covariance, i * mean->cols) : NULL,
                 .outputs = mean->cols,
                 .ld = covariance ? covariance->ld : 0};
}

static far_status check_variances(far_ctx *ctx, const far_mat *mean, const far_mat *covariance)
{
    for (int64_t i = 0; i < mean->rows; i++) {
        row r = row_at(mean, covariance, i);
        double least = -NEGATIVE_ROUNDING * largest_variance(&r);
        for (int64_t c = 0; c < mean->cols; c++) {
            if (covariance_at(&r, c, c) < least) {
                return far_fail(ctx, FAR_ERR_VALUE,
                                "covariance: row %lld, output %lld has the variance %g",
                                (long long)i + 1, (long long)c + 1, covariance_at(&r, c, c));
            }
        }
    }
    return FAR_OK;
}

static far_status check(far_ctx *ctx, const far_mat *mean, const far_mat *covariance,
                        const far_probability_opts *o, const far_mat *out)
{
    far_status st = FAR_OK;
    FAR_TRY(far_check_probability_opts(ctx, o));
    FAR_TRY(far_check_matrix(ctx, mean, "mean", -1, -1));
    if (mean->cols < 1) {
        return far_fail(ctx, FAR_ERR_SHAPE, "mean has no columns; there must be an output");
    }
    FAR_TRY(far_check_matrix(ctx, out, "out", mean->rows, classes_of(mean->cols)));
    FAR_TRY(far_check_finite(ctx, mean, "mean"));
    if (o->rule != FAR_PROBABILITY_MEAN) {
        int64_t rows = mean->rows * mean->cols;
        FAR_TRY(far_check_matrix(ctx, covariance, "covariance", rows, mean->cols));
        FAR_TRY(far_check_finite(ctx, covariance, "covariance"));
        FAR_TRY(check_variances(ctx, mean, covariance));
    }
done:
    return st;
}

far_status far_laplace_probability(far_ctx *ctx, const far_mat *mean, const far_mat *covariance,
                                   const far_probability_opts *opts, far_mat *out)
{
    far_probability_opts o;
    double *scratch = NULL;
    far_status st = FAR_OK;
    if (!ctx) {
        return FAR_ERR_ARG;
    }
    o = opts ? *opts : (far_probability_opts){.size = sizeof o};
    FAR_TRY(check(ctx, mean, covariance, &o, out));
    o.samples = o.samples == 0 ? SAMPLES_DEFAULT : o.samples;
    covariance = o.rule == FAR_PROBABILITY_MEAN ? NULL : covariance;
    int64_t outputs = mean->cols, room = outputs * outputs + 2 * outputs + 1;
    int threads = far_ctx_threads(ctx);
    FAR_TRY(far_alloc(ctx, threads * room, &scratch));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < mean->rows; i++) {
        row r = row_at(mean, covariance, i);
        fill_row(&r, &o, i, scratch + omp_get_thread_num() * room, far_mat_row(out, i));
    }
done:
    far_free(ctx, scratch);
    return st;
}
