/* How a kernel falls off with distance. */
#include "measure_internal.h"

#include <math.h>

far_status far_check_coordinates(far_ctx *ctx, const far_mat *coordinates, int64_t points)
{
    far_status st;
    FAR_TRY(far_check_matrix(ctx, coordinates, "coordinates", -1, -1));
    if (coordinates->rows != points || points < 1 || coordinates->cols < 1) {
        return far_fail(ctx, FAR_ERR_SHAPE, "coordinates: %lld x %lld, but there are %lld points",
                        (long long)coordinates->rows, (long long)coordinates->cols,
                        (long long)points);
    }
    FAR_TRY(far_check_finite(ctx, coordinates, "coordinates"));
done:
    return st;
}

far_status far_check_diagonal(far_ctx *ctx, const far_view *v)
{
    for (int64_t i = 0; i < v->info.rows; i++) {
        if (!(far_view_row(v, i)[i] > 0)) {
            return far_fail(ctx, FAR_ERR_VALUE,
                            "kernel: row %lld, column %lld is %g; cosines need a positive diagonal",
                            (long long)i + 1, (long long)i + 1, far_view_row(v, i)[i]);
        }
    }
    return FAR_OK;
}

static double cosine(const far_view *v, int64_t i, int64_t j)
{
    return far_view_row(v, i)[j] / sqrt(far_view_row(v, i)[i]) / sqrt(far_view_row(v, j)[j]);
}

far_status far_view_cosine(far_ctx *ctx, const far_view *view, far_mat *out)
{
    int64_t n = view->info.rows;
    far_status st;
    FAR_TRY(far_view_needs_matrix(ctx, view, "the cosine kernel"));
    FAR_TRY(far_check_matrix(ctx, out, "out", n, n));
    FAR_TRY(far_check_diagonal(ctx, view));
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            far_put(out, i, j, i == j ? 1 : cosine(view, i, j));
        }
    }
done:
    return st;
}

/* ---- bins of distance ---- */

/* What is averaged: the cosine kernel of a view, or products of a field. */
typedef struct pairs_job {
    const far_mat *x;
    const far_view *view;
    const double *field;
    double mean, variance; /* of the field */
    int64_t bins;
    double width;   /* of a bin */
    double *sums;   /* of each bin */
    double *counts; /* pairs of each bin */
    double *scales; /* of the points: 1 / sqrt(K_ii), or nothing */
    double least;   /* value of a pair */
} pairs_job;

double far_largest_distance(const far_mat *x)
{
    double largest = 0;
    for (int64_t i = 0; i < x->rows; i++) {
        for (int64_t j = 0; j < i; j++) {
            largest = fmax(largest, far_distance(x, i, j));
        }
    }
    return largest;
}

static double pair_value(const pairs_job *p, int64_t i, int64_t j)
{
    return p->view ? far_view_row(p->view, i)[j] * p->scales[i] * p->scales[j]
                   : (p->field[i] - p->mean) * (p->field[j] - p->mean) / p->variance;
}

static void add_pairs(pairs_job *p)
{
    for (int64_t i = 0; i < p->x->rows; i++) {
        for (int64_t j = 0; j < i; j++) {
            double value = pair_value(p, i, j);
            int64_t bin = (int64_t)(far_distance(p->x, i, j) / p->width);
            bin = far_least(bin, p->bins - 1);
            p->sums[bin] += value;
            p->counts[bin]++;
            p->least = fmin(p->least, value);
        }
    }
}

/* sums and counts: bins zeros each. */
static far_status bin_pairs(far_ctx *ctx, pairs_job *p)
{
    if (p->bins < 2) {
        return far_fail(ctx, FAR_ERR_ARG, "%lld bin%s; there must be 2 or more", (long long)p->bins,
                        far_plural(p->bins));
    }
    p->width = far_largest_distance(p->x) / (double)p->bins;
    if (!(p->width > 0)) {
        return far_fail(ctx, FAR_ERR_VALUE, "coordinates: all points coincide");
    }
    far_status st = far_alloc(ctx, 2 * p->bins, &p->sums);
    if (st == FAR_OK) {
        for (int64_t b = 0; b < 2 * p->bins; b++) {
            p->sums[b] = 0;
        }
        p->counts = p->sums + p->bins;
        p->least = INFINITY;
        add_pairs(p);
    }
    return st;
}

static double bin_middle(const pairs_job *p, int64_t b)
{
    return ((double)b + 0.5) * p->width;
}

static double bin_mean(const pairs_job *p, int64_t b)
{
    return p->counts[b] > 0 ? p->sums[b] / p->counts[b] : NAN;
}

static void write_bins(const pairs_job *p, double *distance, double *mean, int64_t *counts)
{
    for (int64_t b = 0; b < p->bins; b++) {
        if (distance) {
            distance[b] = bin_middle(p, b);
        }
        if (mean) {
            mean[b] = bin_mean(p, b);
        }
        if (counts) {
            counts[b] = (int64_t)p->counts[b];
        }
    }
}

static far_status take_scales(far_ctx *ctx, pairs_job *p)
{
    far_status st = far_alloc(ctx, p->x->rows, &p->scales);
    for (int64_t i = 0; st == FAR_OK && i < p->x->rows; i++) {
        p->scales[i] = 1 / sqrt(far_view_row(p->view, i)[i]);
    }
    return st;
}

/* ---- numbers of the curve ---- */

static double far_mean(const pairs_job *p)
{
    int64_t last = p->bins * FAR_LOCAL_FAR / FAR_LOCAL_BINS;
    double sum = 0, filled = 0;
    for (int64_t b = p->bins - (last > 0 ? last : 1); b < p->bins; b++) {
        if (p->counts[b] > 0) {
            sum += bin_mean(p, b);
            filled++;
        }
    }
    return filled > 0 ? sum / filled : NAN;
}

/* The first distance at which the curve from (0, 1) on is at that level. */
static double first_fall(const pairs_job *p, double level)
{
    double x = 0, c = 1;
    for (int64_t b = 0; b < p->bins; b++) {
        if (p->counts[b] > 0) {
            double next_x = bin_middle(p, b), next = bin_mean(p, b);
            if (next <= level) {
                return x + (c - level) / (c - next) * (next_x - x);
            }
            x = next_x;
            c = next;
        }
    }
    return NAN;
}

static far_local local_of(const pairs_job *p)
{
    far_local l = {.c_inf = far_mean(p), .xi = NAN, .min_c = p->least, .spacing = p->width};
    if (l.c_inf < 1) {
        l.xi = first_fall(p, (1 + l.c_inf) / 2) / sqrt(2 * log(2));
    }
    return l;
}

far_status far_local_correlation(far_ctx *ctx, const far_view *view, const far_mat *coordinates,
                                 int64_t bins, double *distance, double *mean, int64_t *counts,
                                 far_local *out)
{
    pairs_job p = {.x = coordinates, .view = view, .bins = bins};
    far_status st;
    FAR_TRY(far_view_needs_matrix(ctx, view, "correlation by distance"));
    FAR_TRY(far_view_needs_one_output(ctx, view, "correlation by distance"));
    FAR_TRY(far_check_coordinates(ctx, coordinates, view->info.points));
    FAR_TRY(far_check_diagonal(ctx, view));
    FAR_TRY(take_scales(ctx, &p));
    FAR_TRY(bin_pairs(ctx, &p));
    write_bins(&p, distance, mean, counts);
    if (out) {
        *out = local_of(&p);
    }
done:
    far_free(ctx, p.scales);
    far_free(ctx, p.sums);
    return st;
}

far_status far_field_correlation(far_ctx *ctx, const double *field, const far_mat *coordinates,
                                 int64_t bins, double *distance, double *mean, int64_t *counts)
{
    pairs_job p = {.x = coordinates, .field = field, .bins = bins};
    far_status st;
    FAR_TRY(far_check_coordinates(ctx, coordinates, coordinates ? coordinates->rows : 0));
    double n = (double)coordinates->rows;
    FAR_TRY(far_check_numbers(ctx, field, coordinates->rows, "field"));
    for (int64_t i = 0; i < coordinates->rows; i++) {
        p.mean += field[i] / n;
    }
    for (int64_t i = 0; i < coordinates->rows; i++) {
        p.variance += (field[i] - p.mean) * (field[i] - p.mean) / n;
    }
    if (!(p.variance > 1e-26 * p.mean * p.mean)) {
        return far_fail(ctx, FAR_ERR_VALUE, "field: a constant correlates with nothing");
    }
    FAR_TRY(bin_pairs(ctx, &p));
    write_bins(&p, distance, mean, counts);
done:
    far_free(ctx, p.sums);
    return st;
}

/* ---- the first eigenvector ---- */

/* K 1 is scaled to one before its length is taken: squares of a large kernel would overflow. */
far_status far_view_first(far_ctx *ctx, far_view *view, far_mat *vector, double *cosine_out)
{
    int64_t n = view->info.rows;
    double *ones = NULL, *product;
    far_spectrum s;
    far_status st;
    if (vector) {
        FAR_TRY(far_check_matrix(ctx, vector, "vector", n, 1));
    }
    FAR_TRY(far_view_spectrum(ctx, view, 1, 1, &s));
    FAR_TRY(far_alloc(ctx, 2 * n, &ones));
    product = ones + n;
    for (int64_t i = 0; i < n; i++) {
        ones[i] = 1;
    }
    FAR_TRY(far_view_multiply(ctx, view, ones, product));
    double sign = far_dot(s.vectors, ones, n) < 0 ? -1 : 1;
    for (int64_t i = 0; vector && i < n; i++) {
        far_put(vector, i, 0, sign * s.vectors[i]);
    }
    far_scale_to_one(product, n);
    double length = sqrt(far_dot(product, product, n));
    *cosine_out = length > 0 ? sign * far_dot(s.vectors, product, n) / length : NAN;
done:
    far_free(ctx, ones);
    return st;
}
