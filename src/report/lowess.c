/* Robust locally weighted regression, and how sure it is. */
#include "statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_POINTS 2000
#define ANCHORS 1000
#define NORMAL_95 1.959963984540054
#define FREEDOM_LEAST 0.05 /* of a point's own residual: a lone point is not infinitely unsure */

typedef struct pair {
    double x, y;
    int64_t index;
} pair;

/* The points in the order of x, and what is known of each. */
typedef struct smoother {
    int64_t n, k;
    double *x, *y;
    double *trust;    /* of robustness, 0 to 1 */
    double *residual; /* y minus the fit */
    double *leverage; /* the weight of a point in the fit at its own place */
    double *weight;   /* in the local line of the moment */
} smoother;

/* One straight line: where it is, and over which points. */
typedef struct local {
    int64_t from, to;
    double at, reach;         /* reach: where weights end; 0: all points are at the same place */
    bool trusting;            /* without the weights of robustness: they were all 0 */
    double sum, mean, spread; /* of weights, of x, of squares about it; spread 0: no slope */
} local;

static double weight_of(const smoother *s, const local *f, int64_t i)
{
    double distance = f->reach > 0 ? fabs(s->x[i] - f->at) / f->reach : 0;
    if (distance >= 1) {
        return 0;
    }
    double cube = 1 - distance * distance * distance;
    return cube * cube * cube * (f->trusting ? 1 : s->trust[i]);
}

/* The k nearest points of the sorted x, the first such; if they are all at one place, every one
 * there. */
static local find_window(const smoother *s, double at)
{
    int64_t low = 0, high = s->n - s->k;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (at - s->x[middle] > s->x[middle + s->k] - at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    local f = {.from = low, .to = low + s->k, .at = at};
    f.reach = fmax(fabs(at - s->x[f.from]), fabs(s->x[f.to - 1] - at));
    while (f.reach == 0 && f.to < s->n && s->x[f.to] == at) {
        f.to++;
    }
    return f;
}

static void set_weights(smoother *s, local *f)
{
    double sum = 0, moment = 0, spread = 0;
    for (int64_t i = f->from; i < f->to; i++) {
        double w = s->weight[i] = weight_of(s, f, i);
        sum += w;
        moment += w * (s->x[i] - f->at); /* about the place: no digits are lost */
    }
    f->sum = sum;
    f->mean = sum > 0 ? f->at + moment / sum : f->at;
    for (int64_t i = f->from; i < f->to; i++) {
        spread += s->weight[i] * (s->x[i] - f->mean) * (s->x[i] - f->mean);
    }
    f->spread = spread > 1e-12 * sum * f->reach * f->reach ? spread : 0;
}

/* k points may have no weight at all: all at the distance of the farthest, or none trusted. */
static local fit_at(smoother *s, double at)
{
    local f = find_window(s, at);
    set_weights(s, &f);
    if (f.sum <= 0) {
        f.trusting = true;
        set_weights(s, &f);
    }
    if (f.sum <= 0) {
        f.reach *= 1.001;
        set_weights(s, &f);
    }
    return f;
}

/* How much y_i counts in the fitted value; of the last line that was fitted. */
static double share_of(const smoother *s, const local *f, int64_t i)
{
    double slope = f->spread > 0 ? (f->at - f->mean) * (s->x[i] - f->mean) / f->spread : 0;
    return s->weight[i] * (1 / f->sum + slope);
}

static double fitted_value(const smoother *s, const local *f)
{
    double sum = 0;
    for (int64_t i = f->from; i < f->to; i++) {
        sum += share_of(s, f, i) * s->y[i];
    }
    return sum;
}

/* ---- residuals ---- */

typedef struct anchor {
    int64_t index;
    double fitted, leverage;
} anchor;

static anchor anchor_at(smoother *s, int64_t index)
{
    local f = fit_at(s, s->x[index]);
    return (anchor){index, fitted_value(s, &f), share_of(s, &f, index)};
}

/* Points between two anchors, the second included. */
static void fill_between(smoother *s, const anchor *a, const anchor *b)
{
    double length = s->x[b->index] - s->x[a->index];
    for (int64_t i = a->index; i <= b->index; i++) {
        double share = length > 0 ? (s->x[i] - s->x[a->index]) / length : 0;
        s->residual[i] = s->y[i] - ((1 - share) * a->fitted + share * b->fitted);
        s->leverage[i] = (1 - share) * a->leverage + share * b->leverage;
    }
}

static void find_residuals(smoother *s)
{
    int64_t anchors = s->n <= EXACT_POINTS ? s->n : ANCHORS;
    anchor last = anchor_at(s, 0);
    fill_between(s, &last, &last);
    for (int64_t j = 1; j < anchors; j++) {
        anchor next = anchor_at(s, j * (s->n - 1) / (anchors - 1));
        fill_between(s, &last, &next);
        last = next;
    }
}

/* ---- robustness ---- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_size(const smoother *s, double *work)
{
    for (int64_t i = 0; i < s->n; i++) {
        work[i] = fabs(s->residual[i]);
    }
    qsort(work, (size_t)s->n, sizeof *work, ascending);
    return far_sorted_quantile(work, s->n, 0.5);
}

/* False: there is nothing left to doubt. */
static bool doubt(smoother *s, double *work)
{
    double size = 0, limit = 6 * median_size(s, work);
    for (int64_t i = 0; i < s->n; i++) {
        size = fmax(size, fabs(s->y[i]));
    }
    if (limit <= 1e-13 * size) {
        return false;
    }
    for (int64_t i = 0; i < s->n; i++) {
        double u = s->residual[i] / limit, rest = 1 - u * u;
        s->trust[i] = rest > 0 ? rest * rest : 0;
    }
    return true;
}

/* ---- how sure ---- */

static double half_width_at(const smoother *s, const local *f)
{
    double sum = 0;
    int64_t count = 0;
    for (int64_t i = f->from; i < f->to; i++) {
        double share = share_of(s, f, i);
        double error = s->residual[i] / fmax(1 - s->leverage[i], FREEDOM_LEAST);
        count += s->weight[i] > 0;
        sum += share * share * error * error;
    }
    return count < 3 ? NAN : NORMAL_95 * sqrt(sum);
}

/* ---- the points ---- */

static int by_x(const void *a, const void *b)
{
    const pair *p = a, *q = b;
    if (p->x != q->x) {
        return p->x < q->x ? -1 : 1;
    }
    return (p->index > q->index) - (p->index < q->index);
}

/* The finite pairs by ascending x, equal ones in their order, so that the result does not depend on
 * qsort. */
static far_status load(far_ctx *ctx, const double *x, const double *y, int64_t n, smoother *s)
{
    far_status st;
    pair *pairs = NULL;
    FAR_TRY(far_alloc(ctx, n, &pairs));
    for (int64_t i = 0; i < n; i++) {
        if (isfinite(x[i]) && isfinite(y[i])) {
            pairs[s->n++] = (pair){x[i], y[i], i};
        }
    }
    if (s->n < 2) {
        st = far_fail(ctx, FAR_ERR_VALUE, "of %lld points %lld are finite; lowess takes 2 or more",
                      (long long)n, (long long)s->n);
        goto done;
    }
    qsort(pairs, (size_t)s->n, sizeof *pairs, by_x);
    FAR_TRY(far_alloc(ctx, 6 * s->n, &s->x));
    s->y = s->x + s->n;
    s->trust = s->y + s->n;
    s->residual = s->trust + s->n;
    s->leverage = s->residual + s->n;
    s->weight = s->leverage + s->n;
    for (int64_t i = 0; i < s->n; i++) {
        s->x[i] = pairs[i].x;
        s->y[i] = pairs[i].y;
        s->trust[i] = 1;
    }
done:
    far_free(ctx, pairs);
    return st;
}

static far_status check_lowess(far_ctx *ctx, const double *x, const double *y, int64_t n,
                               double fraction, int64_t iterations, const double *grid, int64_t m,
                               const double *fitted)
{
    if (!x || !y || n < 0 || m < 0 || (m > 0 && (!grid || !fitted))) {
        return far_fail(ctx, FAR_ERR_ARG, "an array is NULL, or n or m negative");
    }
    if (!(fraction > 0 && fraction <= 1) || iterations < 0 || iterations > 100) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "fraction is %g and iterations %lld; they are above 0 and up to 1, and 0 "
                        "to 100",
                        fraction, (long long)iterations);
    }
    for (int64_t i = 0; i < m; i++) {
        if (!isfinite(grid[i])) {
            return far_fail(ctx, FAR_ERR_VALUE, "grid[%lld] is %g", (long long)i, grid[i]);
        }
    }
    return FAR_OK;
}

far_status far_lowess(far_ctx *ctx, const double *x, const double *y, int64_t n, double fraction,
                      int64_t iterations, const double *grid, int64_t m, double *fitted,
                      double *half_width)
{
    far_status st;
    smoother s = {0};
    double *work = NULL;
    FAR_TRY(check_lowess(ctx, x, y, n, fraction, iterations, grid, m, fitted));
    FAR_TRY(load(ctx, x, y, n, &s));
    FAR_TRY(far_alloc(ctx, s.n, &work));
    int64_t k = (int64_t)(fraction * (double)s.n + 1e-9);
    s.k = k < 2 ? 2 : k;
    bool doubting = true;
    for (int64_t i = 0; i < iterations && doubting; i++) {
        find_residuals(&s);
        doubting = doubt(&s, work);
    }
    if (half_width) {
        find_residuals(&s);
    }
    for (int64_t j = 0; j < m; j++) {
        local f = fit_at(&s, grid[j]);
        fitted[j] = fitted_value(&s, &f);
        if (half_width) {
            half_width[j] = half_width_at(&s, &f);
        }
    }
done:
    far_free(ctx, work);
    far_free(ctx, s.x);
    return st;
}
