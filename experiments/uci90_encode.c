/* Encodings of the features that look at no label; the others are in uci90_relevance.c. */
#include "uci90.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FEWEST_LEVELS = 3, MOST_LEVELS = 10 };

typedef struct levels {
    int64_t count; /* MOST_LEVELS + 1: too many */
    double value[MOST_LEVELS], share[MOST_LEVELS];
} levels;

/* ---- one-hot ---- */

static void count_level(levels *l, double value, int64_t n)
{
    int64_t k = 0;
    while (k < l->count && l->value[k] != value) {
        k++;
    }
    if (k == l->count && l->count++ < MOST_LEVELS) {
        l->value[k] = value;
        l->share[k] = 0;
    }
    if (k < MOST_LEVELS) {
        l->share[k] += 1 / (double)n;
    }
}

static levels find_levels(const uci90_set *set, int64_t column)
{
    levels l = {.count = 0};
    for (int64_t i = 0; i < set->n && l.count <= MOST_LEVELS; i++) {
        count_level(&l, set->x[i * set->d + column], set->n);
    }
    return l;
}

static bool is_category(const levels *l)
{
    return l->count >= FEWEST_LEVELS && l->count <= MOST_LEVELS;
}

static int64_t one_hot_width(const uci90_set *set)
{
    int64_t width = 0;
    for (int64_t j = 0; j < set->d; j++) {
        levels l = find_levels(set, j);
        width += is_category(&l) ? l.count : 1;
    }
    return width;
}

/* The indicators of one column, centred, with a total variance of 1: it still counts as one. */
static void write_indicators(const uci90_set *set, int64_t column, const levels *l, double *z,
                             int64_t width)
{
    double variance = 0;
    for (int64_t k = 0; k < l->count; k++) {
        variance += l->share[k] * (1 - l->share[k]);
    }
    for (int64_t i = 0; i < set->n; i++) {
        for (int64_t k = 0; k < l->count; k++) {
            double one = set->x[i * set->d + column] == l->value[k];
            z[i * width + k] = (one - l->share[k]) / sqrt(variance);
        }
    }
}

static void encode_one_hot(const uci90_set *set, uci90_features *f)
{
    double scale = sqrt((double)f->width / (double)set->d);
    double *z = f->z;
    for (int64_t j = 0; j < set->d; j++) {
        levels l = find_levels(set, j);
        if (is_category(&l)) {
            write_indicators(set, j, &l, z, f->width);
            z += l.count;
            continue;
        }
        for (int64_t i = 0; i < set->n; i++) {
            z[i * f->width] = set->x[i * set->d + j];
        }
        z++;
    }
    for (int64_t i = 0; i < f->rows * f->width; i++) {
        f->z[i] *= scale; /* the first layer divides by the width */
    }
}

/* ---- normal scores ---- */

typedef struct ranked {
    double value;
    int64_t row;
} ranked;

static int compare_ranked(const void *a, const void *b)
{
    double x = ((const ranked *)a)->value, y = ((const ranked *)b)->value;
    return (x > y) - (x < y);
}

/* x with erfc(x / sqrt 2) / 2 = 1 - p, by Newton from the logistic approximation. */
double uci90_normal_quantile(double p)
{
    double x = log(p / (1 - p)) / 1.702;
    for (int i = 0; i < 30; i++) {
        double step = (0.5 * erfc(-x * M_SQRT1_2) - p) * sqrt(2 * M_PI) * exp(0.5 * x * x);
        x -= fmax(-0.5, fmin(0.5, step));
        if (fabs(step) < 1e-14) {
            break;
        }
    }
    return x;
}

/* Equal values share the mean of their ranks. */
static void write_scores(const ranked *sorted, int64_t n, double *column, int64_t ld)
{
    for (int64_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && sorted[end].value == sorted[i].value; end++) {
        }
        double rank = 0.5 * (double)(i + 1 + end);
        double score = uci90_normal_quantile(rank / (double)(n + 1));
        for (int64_t k = i; k < end; k++) {
            column[sorted[k].row * ld] = score;
        }
    }
}

static void standardize(double *column, int64_t n, int64_t ld)
{
    double mean = 0, square = 0;
    for (int64_t i = 0; i < n; i++) {
        mean += column[i * ld] / (double)n;
    }
    for (int64_t i = 0; i < n; i++) {
        square += pow(column[i * ld] - mean, 2) / (double)n;
    }
    for (int64_t i = 0; i < n; i++) {
        column[i * ld] = square > 1e-20 ? (column[i * ld] - mean) / sqrt(square) : 0;
    }
}

static void encode_normal(const uci90_set *set, uci90_features *f)
{
    ranked *sorted = UCI90_ALLOC(set->n, ranked);
    for (int64_t j = 0; j < set->d; j++) {
        for (int64_t i = 0; i < set->n; i++) {
            sorted[i] = (ranked){.value = set->x[i * set->d + j], .row = i};
        }
        qsort(sorted, (size_t)set->n, sizeof *sorted, compare_ranked);
        write_scores(sorted, set->n, f->z + j, f->width);
        standardize(f->z + j, set->n, f->width);
    }
    free(sorted);
}

/* ---- by name ---- */

bool uci90_encoding_applies(const uci90_set *set, uci90_encoding encoding)
{
    return encoding != UCI90_ONE_HOT || one_hot_width(set) > set->d;
}

bool uci90_encoding_sees_labels(uci90_encoding encoding)
{
    return encoding == UCI90_RELEVANCE || encoding == UCI90_DIRECTIONS;
}

static uci90_features features_make(int64_t rows, int64_t width)
{
    return (uci90_features){.rows = rows, .width = width, .z = UCI90_ALLOC(rows * width, double)};
}

void uci90_features_free(uci90_features *f)
{
    free(f->z);
    *f = (uci90_features){.z = NULL};
}

static far_status encode_relevance(uci90_lab *lab, const uci90_set *set, const uci90_rows *train,
                                   bool turn, uci90_features *f)
{
    double *m = UCI90_ALLOC(set->d * set->d, double);
    far_status st;
    TRY(uci90_relevance(lab, set, train, m));
    TRY(uci90_weigh(lab, m, turn, train, f));
done:
    free(m);
    return st;
}

far_status uci90_encode(uci90_lab *lab, const uci90_set *set, uci90_encoding encoding,
                        const uci90_rows *train, uci90_features *out)
{
    bool one_hot = encoding == UCI90_ONE_HOT;
    *out = features_make(set->n, one_hot ? one_hot_width(set) : set->d);
    if (one_hot) {
        encode_one_hot(set, out);
        return FAR_OK;
    }
    if (encoding == UCI90_NORMAL) {
        encode_normal(set, out);
        return FAR_OK;
    }
    memcpy(out->z, set->x, (size_t)(set->n * set->d) * sizeof *out->z);
    return uci90_encoding_sees_labels(encoding)
               ? encode_relevance(lab, set, train, encoding == UCI90_DIRECTIONS, out)
               : FAR_OK;
}
