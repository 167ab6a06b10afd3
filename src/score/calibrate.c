/*
 * Probabilities from scores, and intervals from errors, by what predictions of rows that were left
 * out show.
 *
 * Classes: p_c ~ exp(t s_c + b_c), a temperature and an offset for each class. Scores that regress
 * on indicators order classes well but are no probabilities: how fast they change has to do with
 * the ridge, and where two of them are equal with how wide the classes are. t >= 0 and b are where
 *
 *     sum_i -log p_i(label_i)  +  |b|^2
 *
 * is least, each label counting n / (n + 1) and every class an equal part of the rest: n rows in
 * good order do not show that the next one cannot be wrong, and without it t would be infinite
 * wherever scores separate the classes. The sum is convex: Newton's steps, halved while they fail.
 */
#include "score_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OFFSET_PENALTY 1.0
#define FLOOR_SHARE 0.1 /* of one row among all: what is left for what no score tells */
enum { MOST_STEPS = 60, MOST_HALVINGS = 40 };

/* ---- classes ------------------------------------------------------------------------------- */

typedef struct calibration {
    const far_mat *scores;
    const int64_t *labels;
    int64_t classes, unknowns; /* 1 + classes */
    double smooth;             /* what a label leaves to all classes */
    double *p;                 /* room for a row */
    double *gradient, *hessian, *step, *trial;
} calibration;

double far_class_floor(int64_t rows)
{
    return FLOOR_SHARE / (double)(rows + 1);
}

/* out = softmax(t s + b); returns the logarithm of its denominator. link: t, b. */
static double soften(const double *link, const double *scores, int64_t classes, double *out)
{
    for (int64_t c = 0; c < classes; c++) {
        out[c] = link[0] * scores[c] + link[1 + c];
    }
    return far_softmax(out, classes);
}

void far_class_probability(const double *link, double floor, const double *scores, int64_t classes,
                           double *out)
{
    soften(link, scores, classes, out);
    for (int64_t c = 0; c < classes; c++) {
        out[c] = (1 - floor) * out[c] + floor / (double)classes;
    }
}

static double target(const calibration *k, int64_t i, int64_t c)
{
    return (k->labels[i] == c) * (1 - k->smooth) + k->smooth / (double)k->classes;
}

static double loss_at(const calibration *k, const double *link)
{
    double sum = 0;
    for (int64_t i = 0; i < k->scores->rows; i++) {
        const double *s = far_mat_row(k->scores, i);
        sum += soften(link, s, k->classes, k->p);
        for (int64_t c = 0; c < k->classes; c++) {
            sum -= target(k, i, c) * (link[0] * s[c] + link[1 + c]);
        }
    }
    for (int64_t c = 0; c < k->classes; c++) {
        sum += OFFSET_PENALTY * link[1 + c] * link[1 + c];
    }
    return sum;
}

/* Gradient and the upper triangle of the Hessian, sum of diag(p) - p p' seen from t and b. */
static void add_row(const calibration *k, const double *link, int64_t i)
{
    const double *s = far_mat_row(k->scores, i), *p = k->p;
    int64_t side = k->unknowns;
    double mean = 0, square = 0;
    soften(link, s, k->classes, k->p);
    for (int64_t c = 0; c < k->classes; c++) {
        double gap = p[c] - target(k, i, c);
        mean += p[c] * s[c];
        square += p[c] * s[c] * s[c];
        k->gradient[0] += gap * s[c];
        k->gradient[1 + c] += gap;
    }
    k->hessian[0] += fmax(square - mean * mean, 0);
    for (int64_t c = 0; c < k->classes; c++) {
        double *row = k->hessian + (1 + c) * side + 1;
        k->hessian[1 + c] += p[c] * (s[c] - mean);
        row[c] += p[c];
        for (int64_t e = c; e < k->classes; e++) {
            row[e] -= p[c] * p[e];
        }
    }
}

static void differentiate(const calibration *k, const double *link)
{
    int64_t side = k->unknowns;
    memset(k->gradient, 0, (size_t)side * sizeof *k->gradient);
    memset(k->hessian, 0, (size_t)(side * side) * sizeof *k->hessian);
    for (int64_t i = 0; i < k->scores->rows; i++) {
        add_row(k, link, i);
    }
    for (int64_t c = 1; c < side; c++) {
        k->gradient[c] += 2 * OFFSET_PENALTY * link[c];
        k->hessian[c * side + c] += 2 * OFFSET_PENALTY;
    }
    bool held = link[0] <= 0 && k->gradient[0] >= 0; /* the temperature stays at 0 */
    if (held || !(k->hessian[0] > 0)) {
        memset(k->hessian, 0, (size_t)side * sizeof *k->hessian);
        k->hessian[0] = 1;
        k->gradient[0] = 0;
    }
}

/* step = H^-1 gradient by Cholesky, H = U'U in its upper triangle; what is not positive to rounding
 * moves nothing. */
static void newton_step(const calibration *k)
{
    int64_t side = k->unknowns;
    double *h = k->hessian, *x = k->step;
    memcpy(x, k->gradient, (size_t)side * sizeof *x);
    for (int64_t i = 0; i < side; i++) {
        double pivot = h[i * side + i], scale = pivot > 0 ? 1 / sqrt(pivot) : 0;
        for (int64_t j = i; j < side; j++) {
            h[i * side + j] *= scale;
        }
        x[i] *= scale;
        for (int64_t r = i + 1; r < side; r++) {
            double factor = h[i * side + r];
            for (int64_t j = r; j < side; j++) {
                h[r * side + j] -= factor * h[i * side + j];
            }
            x[r] -= factor * x[i];
        }
    }
    for (int64_t i = side - 1; i >= 0; i--) {
        for (int64_t j = i + 1; j < side; j++) {
            x[i] -= h[i * side + j] * x[j];
        }
        x[i] = h[i * side + i] > 0 ? x[i] / h[i * side + i] : 0;
    }
}

/* Moves link down along the step; false: there is nothing left to gain. */
static bool descend(const calibration *k, double *link, double *loss)
{
    double gain = 0, share = 1;
    for (int64_t c = 0; c < k->unknowns; c++) {
        gain += k->gradient[c] * k->step[c];
    }
    if (!(gain > 1e-12 * (double)k->scores->rows)) {
        return false;
    }
    for (int i = 0; i < MOST_HALVINGS; i++, share /= 2) {
        for (int64_t c = 0; c < k->unknowns; c++) {
            k->trial[c] = link[c] - share * k->step[c];
        }
        k->trial[0] = fmax(k->trial[0], 0);
        double now = loss_at(k, k->trial);
        if (now < *loss) {
            memcpy(link, k->trial, (size_t)k->unknowns * sizeof *link);
            *loss = now;
            return true;
        }
    }
    return false;
}

far_status far_class_calibrate(far_ctx *ctx, const far_mat *scores, const int64_t *labels,
                               double *link)
{
    far_status st;
    int64_t classes = scores->cols, side = classes + 1;
    double *room = NULL;
    calibration k = {.scores = scores,
                     .labels = labels,
                     .classes = classes,
                     .unknowns = side,
                     .smooth = 1 / (double)(scores->rows + 1)};
    FAR_TRY(far_alloc(ctx, side * (side + 4), &room));
    k.hessian = room;
    k.gradient = room + side * side;
    k.step = k.gradient + side;
    k.trial = k.step + side;
    k.p = k.trial + side;
    memset(link, 0, (size_t)side * sizeof *link);
    double loss = loss_at(&k, link);
    for (int i = 0; i < MOST_STEPS; i++) {
        differentiate(&k, link);
        newton_step(&k);
        if (!descend(&k, link, &loss)) {
            break;
        }
    }
done:
    far_free(ctx, room);
    return st;
}

/* ---- intervals ------------------------------------------------------------------------------
 *
 * The variance of a new observation is size^2 (variance at x + noise). Which noise, from the ridge
 * up to the size of the kernel, is told by the density of the errors of the rows left out; size is
 * then such that 95% of them lie within 1.96 standard deviations.
 */

enum { NOISES = 33, NOISES_A_DECADE = 4 };

static double noise_at(double ridge, double most, int i)
{
    return i == 0 ? ridge : ridge + most * pow(10, (double)(i - NOISES) / (double)NOISES_A_DECADE);
}

static double total_variance(double variance, double ridge, double noise)
{
    return fmax(variance - ridge, 0) + noise;
}

/* Minus twice the mean log density of the errors, its best amplitude in *amplitude; less 1 + log 2
 * pi. */
static double density(const far_errors *e, double ridge, double noise, double *amplitude)
{
    double logs = 0;
    *amplitude = 0;
    for (int64_t i = 0; i < e->count; i++) {
        double miss = e->miss[i * e->stride], v = total_variance(e->variance[i], ridge, noise);
        *amplitude += miss * miss / v / (double)e->count;
        logs += log(v) / (double)e->count;
    }
    return logs + log(*amplitude);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double far_widening(double *sizes, int64_t n)
{
    if (n < FAR_LEAST_FOR_QUANTILE) {
        return far_student_95(n) / FAR_QUANTILE_975;
    }
    qsort(sizes, (size_t)n, sizeof *sizes, by_size);
    int64_t place = (int64_t)ceil(0.95 * (double)(n + 1)) - 1; /* below n from 19 rows on */
    return sizes[place] / FAR_QUANTILE_975;
}

/* In their standard deviations. */
static void size_errors(const far_errors *e, double ridge, double noise, double amplitude,
                        double *sizes)
{
    for (int64_t i = 0; i < e->count; i++) {
        double v = total_variance(e->variance[i], ridge, noise);
        sizes[i] = fabs(e->miss[i * e->stride]) / sqrt(amplitude * v);
    }
}

far_status far_band_fit(far_ctx *ctx, const far_errors *e, double ridge, double most, far_band *out)
{
    double *sizes = NULL, best = INFINITY, amplitude = 0;
    far_status st = far_alloc(ctx, e->count, &sizes);
    *out = (far_band){0, ridge};
    for (int i = 0; st == FAR_OK && i <= NOISES; i++) {
        double noise = noise_at(ridge, most, i), size, value = density(e, ridge, noise, &size);
        if (size > 0 && value < best) { /* size 0: every row is met exactly */
            best = value;
            amplitude = size;
            out->noise = noise;
        }
    }
    if (st == FAR_OK && amplitude > 0) {
        size_errors(e, ridge, out->noise, amplitude, sizes);
        out->size = sqrt(amplitude) * far_widening(sizes, e->count);
    }
    far_free(ctx, sizes);
    return st;
}
