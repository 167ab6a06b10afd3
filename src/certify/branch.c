/*
 * Branch and bound over the half sphere. On a cell around c, |f(x)| <= |f(c)| + scale |g| distance,
 * with the distance of cell.c; cells whose bound is above what is wanted are cut in two. The
 * largest bound left is proven for every x, infinity included.
 */
#include "certify_internal.h"

#include <math.h>
#include <string.h>

enum { BATCH = 512, MOST_DIMENSIONS = 3 };
#define MOST_CELLS 4000000

/* A spherical simplex: its d + 1 corners, and what is known. */
typedef struct heap {
    far_ctx *ctx;
    int64_t d, count, capacity;
    double *corners; /* (d + 1) x (d + 1) a cell */
    double *bound;
    double *spare; /* room for one cell */
} heap;

static int64_t cell_size(const heap *h)
{
    return (h->d + 1) * (h->d + 1);
}

static double *cell_at(const heap *h, int64_t i)
{
    return h->corners + i * cell_size(h);
}

static void heap_clear(heap *h)
{
    FAR_FREE_ALL(h->ctx, h->corners, h->bound, h->spare);
}

static void swap_cells(heap *h, int64_t a, int64_t b)
{
    size_t bytes = (size_t)cell_size(h) * sizeof(double);
    double kept = h->bound[a];
    memcpy(h->spare, cell_at(h, a), bytes);
    memcpy(cell_at(h, a), cell_at(h, b), bytes);
    memcpy(cell_at(h, b), h->spare, bytes);
    h->bound[a] = h->bound[b];
    h->bound[b] = kept;
}

static far_status heap_push(heap *h, const double *corners, double bound)
{
    far_status st = FAR_OK;
    if (h->count == h->capacity) {
        int64_t grown = h->capacity ? 2 * h->capacity : 1024;
        FAR_TRY(far_grow(h->ctx, h->count * cell_size(h), grown * cell_size(h), &h->corners));
        FAR_TRY(far_grow(h->ctx, h->count, grown, &h->bound));
        h->capacity = grown;
    }
    memcpy(cell_at(h, h->count), corners, (size_t)cell_size(h) * sizeof *corners);
    h->bound[h->count] = bound;
    for (int64_t i = h->count++; i > 0 && h->bound[(i - 1) / 2] < h->bound[i]; i = (i - 1) / 2) {
        swap_cells(h, i, (i - 1) / 2);
    }
done:
    return st;
}

static void heap_pop(heap *h, double *corners)
{
    memcpy(corners, cell_at(h, 0), (size_t)cell_size(h) * sizeof *corners);
    swap_cells(h, 0, --h->count);
    for (int64_t i = 0, child; (child = 2 * i + 1) < h->count; i = child) {
        child += child + 1 < h->count && h->bound[child + 1] > h->bound[child];
        if (h->bound[i] >= h->bound[child]) {
            break;
        }
        swap_cells(h, i, child);
    }
}

/* ---- the geometry of a cell ---------------------------------------------------------------- */

static double angle_between(const double *a, const double *b, int64_t dim)
{
    double plus = 0, minus = 0;
    for (int64_t i = 0; i < dim; i++) {
        plus += (a[i] + b[i]) * (a[i] + b[i]);
        minus += (a[i] - b[i]) * (a[i] - b[i]);
    }
    return 2 * atan2(sqrt(minus), sqrt(plus));
}

static void normalise(double *s, int64_t dim)
{
    double square = 0;
    for (int64_t i = 0; i < dim; i++) {
        square += s[i] * s[i];
    }
    for (int64_t i = 0; i < dim; i++) {
        s[i] /= sqrt(square);
    }
}

static void centre_of(const double *corners, int64_t dim, double *out)
{
    memset(out, 0, (size_t)dim * sizeof *out);
    for (int64_t k = 0; k < dim; k++) {
        for (int64_t i = 0; i < dim; i++) {
            out[i] += corners[k * dim + i];
        }
    }
    if (out[dim - 1] <= FAR_HEIGHT_OF_INFINITY * dim) { /* where f is evaluated as its limit */
        out[dim - 1] = 0;
    }
    normalise(out, dim);
}

/* Caps of less than a quarter turn are convex, so one that holds the corners holds the cell. */
static double radius_of(const double *corners, const double *centre, int64_t dim)
{
    double most = 0;
    for (int64_t k = 0; k < dim; k++) {
        most = fmax(most, angle_between(corners + k * dim, centre, dim));
    }
    return most * (1 + 1e-14) + 1e-15;
}

/* The height is the sine of the elevation, which changes by no more than the radius; a cell's least
 * height is at a corner, since the points below a height are no convex set but those above are. */
static double lowest_height(const double *corners, int64_t dim)
{
    double least = 1;
    for (int64_t k = 0; k < dim; k++) {
        least = fmin(least, corners[k * dim + dim - 1]);
    }
    return fmax(least * (1 - 1e-14), 0);
}

static double highest_height(const double *centre, double radius, int64_t dim)
{
    double elevation = asin(fmin(centre[dim - 1], 1));
    return fmin(sin(fmin(elevation + radius, M_PI / 2)) * (1 + 1e-14), 1);
}

static void bisect(const double *corners, int64_t dim, double *one, double *two)
{
    int64_t from = 0, to = 1;
    double longest = -1;
    for (int64_t a = 0; a < dim; a++) {
        for (int64_t b = a + 1; b < dim; b++) {
            double length = angle_between(corners + a * dim, corners + b * dim, dim);
            if (length > longest) {
                longest = length;
                from = a;
                to = b;
            }
        }
    }
    size_t bytes = (size_t)(dim * dim) * sizeof *corners;
    memcpy(one, corners, bytes);
    memcpy(two, corners, bytes);
    for (int64_t i = 0; i < dim; i++) {
        one[from * dim + i] += corners[to * dim + i];
    }
    normalise(one + from * dim, dim);
    memcpy(two + to * dim, one + from * dim, (size_t)dim * sizeof *two);
}

/* ---- the search ---------------------------------------------------------------------------- */

typedef struct branching {
    const far_single *p;
    far_model
        inner; /* what lies behind a metric: bounded on all of R^d, whatever S reaches of it */
    heap heap;
    double unit, gap, target;
    double *cells, *centres, *values; /* a batch */
    far_branch_result *out;
    double dropped; /* the largest bound among cells that needed no cutting */
} branching;

static double wanted(const branching *b)
{
    return fmax(isnan(b->target) ? 0 : b->target, b->out->found * (1 + b->gap));
}

static double cell_bound(const branching *b, const double *corners, const double *centre,
                         double value)
{
    int64_t dim = b->heap.d + 1;
    double radius = radius_of(corners, centre, dim);
    double distance = radius < M_PI / 2 ? far_cell_distance(b->p->model, centre[dim - 1], radius,
                                                            lowest_height(corners, dim),
                                                            highest_height(centre, radius, dim))
                                        : INFINITY;
    double most = fabs(b->p->centre) + b->p->scale * sqrt(b->p->C) * b->p->norm;
    double apart = fabs(value) + b->p->scale * b->p->norm * distance;
    return fmin(isnan(apart) ? INFINITY : apart, most) + b->p->rounding;
}

static far_status judge(branching *b, int64_t count)
{
    far_status st;
    int64_t dim = b->heap.d + 1, p = b->p->model->info.outputs;
    for (int64_t i = 0; i < count; i++) {
        centre_of(b->cells + i * dim * dim, dim, b->centres + i * dim);
    }
    far_progress_hold(b->p->ctx);
    st = far_sphere_eval(b->p->ctx, &b->inner, b->unit, b->centres, count, b->values);
    far_progress_release(b->p->ctx);
    FAR_TRY(st);
    for (int64_t i = 0; i < count; i++) {
        b->out->found = fmax(b->out->found, fabs(b->values[i * p + b->p->output]));
    }
    for (int64_t i = 0; i < count; i++) {
        const double *corners = b->cells + i * dim * dim;
        double bound =
            cell_bound(b, corners, b->centres + i * dim, b->values[i * p + b->p->output]);
        if (bound <= wanted(b)) {
            b->dropped = fmax(b->dropped, bound);
        } else {
            FAR_TRY(heap_push(&b->heap, corners, bound));
        }
    }
    b->out->cells += count;
done:
    return st;
}

/* One simplex for every sign of the first d coordinates. */
static int64_t first_cells(branching *b)
{
    int64_t d = b->heap.d, dim = d + 1, count = (int64_t)1 << d;
    memset(b->cells, 0, (size_t)(count * dim * dim) * sizeof *b->cells);
    for (int64_t c = 0; c < count; c++) {
        for (int64_t k = 0; k < dim; k++) {
            b->cells[(c * dim + k) * dim + k] = k < d && (c >> k & 1) ? -1 : 1;
        }
    }
    return count;
}

static int64_t cut_worst(branching *b)
{
    int64_t dim = b->heap.d + 1, count = 0;
    double corners[(MOST_DIMENSIONS + 1) * (MOST_DIMENSIONS + 1)];
    while (count + 2 <= BATCH && b->heap.count > 0 && b->heap.bound[0] > wanted(b)) {
        heap_pop(&b->heap, corners);
        bisect(corners, dim, b->cells + count * dim * dim, b->cells + (count + 1) * dim * dim);
        count += 2;
    }
    return count;
}

static far_status branching_open(branching *b)
{
    far_status st;
    far_ctx *ctx = b->p->ctx;
    int64_t dim = b->heap.d + 1;
    FAR_TRY(far_alloc(ctx, dim * dim, &b->heap.spare));
    FAR_TRY(far_alloc(ctx, BATCH * dim * dim, &b->cells));
    FAR_TRY(far_alloc(ctx, BATCH * dim, &b->centres));
    FAR_TRY(far_alloc(ctx, BATCH * b->p->model->info.outputs, &b->values));
done:
    return st;
}

static bool refuted(const branching *b)
{
    return b->out->found > b->target * (1 + 1e-9); /* not for a target of NAN */
}

static far_status run(branching *b, double seconds)
{
    double start = far_seconds();
    far_status st = judge(b, first_cells(b));
    while (st == FAR_OK && !refuted(b) && b->out->cells < MOST_CELLS &&
           far_seconds() - start < seconds) {
        int64_t count = cut_worst(b);
        if (count == 0) {
            break;
        }
        st = judge(b, count);
    }
    double left = b->heap.count > 0 ? b->heap.bound[0] : 0;
    b->out->bound = fmax(fmax(left, b->dropped), b->out->found);
    b->out->finished = left <= wanted(b);
    return st;
}

far_status far_branch_bound(const far_single *p, double gap, double target, double seconds,
                            double start, far_branch_result *out)
{
    far_status st;
    int64_t d = p->model->info.inputs;
    branching b = {
        .p = p, .heap = {.ctx = p->ctx, .d = d}, .gap = gap, .target = target, .out = out};
    *out = (far_branch_result){.bound = INFINITY, .found = start};
    if (d > MOST_DIMENSIONS || !far_cell_supported(p->model)) {
        return FAR_OK;
    }
    b.inner = far_model_behind(p->model);
    b.unit = far_sphere_unit(p->model);
    FAR_TRY(branching_open(&b));
    FAR_TRY(run(&b, seconds));
done:
    heap_clear(&b.heap);
    FAR_FREE_ALL(p->ctx, b.cells, b.centres, b.values);
    return st;
}
