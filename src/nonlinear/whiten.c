/* Coordinates in which labelled points have covariance I, and the discriminants there. */
#include "nonlinear_internal.h"

#include <math.h>
#include <string.h>

#define BLOCK_ROWS 512
#define NO_SHARE 1e-16 /* below it the means coincide */

void far_white_clear(far_ctx *ctx, far_white *w)
{
    FAR_FREE_ALL(ctx, w->map, w->means, w->axes, w->share);
}

static far_mat view(double *data, int64_t rows, int64_t cols)
{
    return far_mat_view(data, rows, cols, FAR_F64);
}

static void transpose(int64_t rows, int64_t cols, const double *from, double *to)
{
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++) {
            to[j * rows + i] = from[i * cols + j];
        }
    }
}

/* z of rows [first, first + rows). */
static void get_block(const far_labelled *p, int64_t first, int64_t rows, double *z)
{
#pragma omp parallel for num_threads(far_ctx_threads(p->ctx)) schedule(static)
    for (int64_t i = 0; i < rows; i++) {
        far_labelled_row(p, first + i, z + i * p->d);
    }
}

/* ---- scatter matrices ---------------------------------------------------------------------- */

/* c (d x d) = sum z z' / n, block after block. */
static far_status correlate_features(const far_labelled *p, double *c)
{
    double *z = NULL, *t = NULL, *part = NULL;
    int64_t d = p->d, most = far_least(BLOCK_ROWS, p->n);
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(p->ctx, most * d, &z));
    FAR_TRY(far_alloc(p->ctx, most * d, &t));
    FAR_TRY(far_alloc(p->ctx, d * d, &part));
    memset(c, 0, (size_t)(d * d) * sizeof *c);
    for (int64_t i = 0; i < p->n; i += most) {
        int64_t rows = far_least(most, p->n - i);
        far_mat left = view(t, d, rows), right = view(z, rows, d), out = view(part, d, d);
        FAR_TRY(far_progress(p->ctx, "scatter", i, p->n));
        get_block(p, i, rows, z);
        transpose(rows, d, z, t);
        FAR_TRY(far_multiply(p->ctx, &left, &right, &out));
        for (int64_t k = 0; k < d * d; k++) {
            c[k] += part[k] / (double)p->n;
        }
    }
    FAR_TRY(far_progress(p->ctx, "scatter", p->n, p->n));
done:
    FAR_FREE_ALL(p->ctx, z, t, part);
    return st;
}

/* Eigenvectors by rows (the k-th is vectors + k size), values ascending; a is destroyed. */
static far_status all_eigen(const far_labelled *p, int64_t size, double *a, double *values,
                            double *vectors)
{
    return far_dense_eigen(p->ctx, size, a, size, 0, size, values, vectors);
}

/* How many of the ascending values are no larger than nothing. */
static int64_t count_null(int64_t count, const double *values)
{
    int64_t null = 0;
    while (null < count && !(values[null] > FAR_SSR_RANK_TOLERANCE * values[count - 1])) {
        null++;
    }
    return null;
}

/* T = V lambda^(-1/2) from the correlations of features. */
static far_status map_by_features(const far_labelled *p, far_white *w)
{
    double *c = NULL, *values = NULL, *vectors = NULL;
    int64_t d = p->d;
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(p->ctx, d * d, &c));
    FAR_TRY(far_alloc(p->ctx, d, &values));
    FAR_TRY(far_alloc(p->ctx, d * d, &vectors));
    FAR_TRY(correlate_features(p, c));
    FAR_TRY(all_eigen(p, d, c, values, vectors));
    int64_t null = count_null(d, values);
    w->rank = d - null;
    FAR_TRY(far_alloc(p->ctx, d * w->rank, &w->map));
    for (int64_t k = 0; k < w->rank; k++) {
        for (int64_t j = 0; j < d; j++) {
            w->map[j * w->rank + k] = vectors[(null + k) * d + j] / sqrt(values[null + k]);
        }
    }
done:
    FAR_FREE_ALL(p->ctx, c, values, vectors);
    return st;
}

/* vectors (by rows) z / (lambda sqrt n), by columns: T where there are fewer points than features.
 */
static far_status map_from_points(const far_labelled *p, double *z, const double *values,
                                  double *vectors, far_white *w)
{
    double *back = NULL;
    int64_t n = p->n, null = n - w->rank;
    far_mat left = view(vectors + null * n, w->rank, n), right = view(z, n, p->d);
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(p->ctx, w->rank * p->d, &back));
    FAR_TRY(far_alloc(p->ctx, w->rank * p->d, &w->map));
    far_mat out = view(back, w->rank, p->d);
    for (int64_t k = 0; k < w->rank; k++) {
        for (int64_t i = 0; i < n; i++) {
            vectors[(null + k) * n + i] /= values[null + k] * sqrt((double)n);
        }
    }
    FAR_TRY(far_multiply(p->ctx, &left, &right, &out));
    transpose(w->rank, p->d, back, w->map);
done:
    far_free(p->ctx, back);
    return st;
}

/* The same from products of points: with z = sqrt(n) U lambda^(1/2) V', T = z' U / (lambda sqrt n).
 */
static far_status map_by_points(const far_labelled *p, far_white *w)
{
    double *z = NULL, *t = NULL, *g = NULL, *values = NULL, *vectors = NULL;
    int64_t n = p->n;
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(p->ctx, n * p->d, &z));
    FAR_TRY(far_alloc(p->ctx, n * p->d, &t));
    FAR_TRY(far_alloc(p->ctx, n * n, &g));
    FAR_TRY(far_alloc(p->ctx, n, &values));
    FAR_TRY(far_alloc(p->ctx, n * n, &vectors));
    get_block(p, 0, n, z);
    transpose(n, p->d, z, t);
    far_mat left = view(z, n, p->d), right = view(t, p->d, n), out = view(g, n, n);
    FAR_TRY(far_multiply(p->ctx, &left, &right, &out));
    for (int64_t i = 0; i < n * n; i++) {
        g[i] /= (double)n;
    }
    FAR_TRY(all_eigen(p, n, g, values, vectors));
    w->rank = n - count_null(n, values);
    FAR_TRY(map_from_points(p, z, values, vectors, w));
done:
    FAR_FREE_ALL(p->ctx, z, t, g, values, vectors);
    return st;
}

/* ---- classes ------------------------------------------------------------------------------- */

/* means = (means of z) T */
static far_status place_means(const far_labelled *p, far_white *w)
{
    double *z = NULL;
    int64_t d = p->d;
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(p->ctx, p->classes * d, &z));
    FAR_TRY(far_alloc(p->ctx, p->classes * w->rank, &w->means));
    for (int64_t k = 0; k < p->classes; k++) {
        for (int64_t j = 0; j < d; j++) {
            bool counts = p->counts[k] > 0 && p->sd[j] > 0;
            z[k * d + j] = counts ? (p->class_means[k * d + j] - p->mean[j]) / p->sd[j] : 0;
        }
    }
    far_mat left = view(z, p->classes, d), right = view(w->map, d, w->rank);
    far_mat out = view(w->means, p->classes, w->rank);
    FAR_TRY(far_multiply(p->ctx, &left, &right, &out));
done:
    far_free(p->ctx, z);
    return st;
}

/* spread (classes x rank) = sqrt(n_k / n) means: between classes the points scatter as spread'
 * spread. */
static void weigh_means(const far_labelled *p, const far_white *w, double *spread)
{
    for (int64_t k = 0; k < p->classes; k++) {
        double weight = sqrt((double)p->counts[k] / (double)p->n);
        for (int64_t j = 0; j < w->rank; j++) {
            spread[k * w->rank + j] = weight * w->means[k * w->rank + j];
        }
    }
}

static void make_unit(int64_t n, double *v)
{
    double square = 0;
    for (int64_t j = 0; j < n; j++) {
        square += v[j] * v[j];
    }
    for (int64_t j = 0; j < n; j++) {
        v[j] /= sqrt(square);
    }
}

/* Axis number a = vector, or for products of classes vector . spread. */
static void set_axis(const far_labelled *p, far_white *w, bool by_class, const double *spread,
                     const double *vector, int64_t a)
{
    double *axis = w->axes + a * w->rank;
    if (!by_class) {
        memcpy(axis, vector, (size_t)w->rank * sizeof *axis);
        return;
    }
    memset(axis, 0, (size_t)w->rank * sizeof *axis);
    for (int64_t k = 0; k < p->classes; k++) {
        for (int64_t j = 0; j < w->rank; j++) {
            axis[j] += vector[k] * spread[k * w->rank + j];
        }
    }
    make_unit(w->rank, axis);
}

/* The eigenvectors of spread' spread, through the smaller of it and spread spread'. */
static far_status find_axes(const far_labelled *p, far_white *w)
{
    bool by_class = p->classes <= w->rank;
    int64_t size = by_class ? p->classes : w->rank;
    double *spread = NULL, *turned = NULL, *matrix = NULL, *values = NULL, *vectors = NULL;
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(p->ctx, p->classes * w->rank, &spread));
    FAR_TRY(far_alloc(p->ctx, p->classes * w->rank, &turned));
    FAR_TRY(far_alloc(p->ctx, size * size, &matrix));
    FAR_TRY(far_alloc(p->ctx, size, &values));
    FAR_TRY(far_alloc(p->ctx, size * size, &vectors));
    FAR_TRY(far_alloc(p->ctx, size * w->rank, &w->axes));
    FAR_TRY(far_alloc(p->ctx, size, &w->share));
    weigh_means(p, w, spread);
    transpose(p->classes, w->rank, spread, turned);
    far_mat a = view(spread, p->classes, w->rank), b = view(turned, w->rank, p->classes);
    far_mat out = view(matrix, size, size);
    FAR_TRY(by_class ? far_multiply(p->ctx, &a, &b, &out) : far_multiply(p->ctx, &b, &a, &out));
    FAR_TRY(all_eigen(p, size, matrix, values, vectors));
    for (int64_t k = size - 1; k >= 0 && values[k] > NO_SHARE; k--) {
        set_axis(p, w, by_class, spread, vectors + k * size, w->axis_count);
        w->share[w->axis_count++] = fmin(values[k], 1);
    }
done:
    FAR_FREE_ALL(p->ctx, spread, turned, matrix, values, vectors);
    return st;
}

far_status far_white_create(const far_labelled *p, far_white *w)
{
    far_status st = FAR_OK;
    *w = (far_white){0};
    FAR_TRY(p->d <= p->n ? map_by_features(p, w) : map_by_points(p, w));
    FAR_TRY(place_means(p, w));
    FAR_TRY(find_axes(p, w));
done:
    if (st != FAR_OK) {
        far_white_clear(p->ctx, w);
        *w = (far_white){0};
    }
    return st;
}

far_status far_white_points(const far_labelled *p, const far_white *w, int64_t count, double *u)
{
    double *z = NULL;
    int64_t most = far_least(BLOCK_ROWS, count);
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(p->ctx, most * p->d, &z));
    for (int64_t i = 0; i < count; i += most) {
        int64_t rows = far_least(most, count - i);
        far_mat left = view(z, rows, p->d), right = view(w->map, p->d, w->rank);
        far_mat out = view(u + i * w->rank, rows, w->rank);
        for (int64_t r = 0; r < rows; r++) {
            far_labelled_row(p, far_labelled_spread(p, count, i + r), z + r * p->d);
        }
        FAR_TRY(far_multiply(p->ctx, &left, &right, &out));
    }
done:
    far_free(p->ctx, z);
    return st;
}
