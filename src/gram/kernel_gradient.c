/* Gradients of sums of kernels, far_kernel_gradient, and of single ones, far_kernel_slopes.
 *
 * With u, u' the directions of x and b_k, c = u . u' and V the kernel,
 *
 *     grad_x V = [dV/dln|x| u + dV/dc (u' - c u)] / |x|
 *
 * so two matrices of derivatives, from the tiles, and products with the points do it. */
#include "../solve/solve_internal.h"
#include "gram.h"
#include "sides.h"

#include <math.h>
#include <string.h>

/* Closer to each other, or to opposite, u' - c u is what is left of large terms: such pairs are
 * added one by one, from differences. */
#define CLOSE 1e-4
#define BLOCK_BYTES ((int64_t)64 << 20)

typedef struct gradient {
    far_ctx *ctx;
    const far_kernel *kernel;
    bool nngp;
    far_sides sides;
    int64_t rows; /* at a time */
    int64_t m, n, d, p;
    double *turn, *grow, *gap; /* rows x n */
    double *share;             /* n x p: weights times the scale of b_k */
    double *lever;             /* n x d: share of one output times u' */
    double *product;           /* rows x d */
    double *along;             /* rows x p: what lies along u */
    far_big unit;              /* what shares are in units of */
} gradient;

static void gradient_clear(gradient *g)
{
    far_sides_clear(g->ctx, &g->sides);
    FAR_FREE_ALL(g->ctx, g->turn, g->grow, g->gap, g->share, g->lever, g->product, g->along);
}

/* ---- shares: weights in a common unit, as scales may be past all doubles --------------------- */

static far_big share_of(const gradient *g, const far_mat *weights, int64_t k, int64_t o)
{
    far_big scale = g->nngp ? g->sides.b->r[k] : g->sides.b->p[k];
    return far_big_scale(scale, ((const double *)far_mat_row(weights, k))[o]);
}

static void fill_shares(gradient *g, const far_mat *weights)
{
    far_big most = far_big_from(0);
    for (int64_t at = 0; at < g->n * g->p; at++) {
        far_big a = far_big_normalised(share_of(g, weights, at / g->p, at % g->p));
        bool larger = a.m != 0 && (most.m == 0 || a.e > most.e);
        most = larger ? a : most;
    }
    g->unit = most.m == 0 ? far_big_from(1) : far_big_make(1, most.e, 0);
    for (int64_t at = 0; at < g->n * g->p; at++) {
        far_big a = share_of(g, weights, at / g->p, at % g->p);
        g->share[at] = (double)far_big_limit(far_big_div(a, g->unit));
    }
}

/* ---- tiles ----------------------------------------------------------------------------------- */

typedef struct slope_source {
    far_tile tile;
    far_slopes_fn run;
    far_slope_out out;
    bool nngp;
} slope_source;

static void run_tile(void *data, int64_t i0, int64_t i1, int64_t j0, int64_t j1, void *scratch)
{
    const slope_source *s = data;
    far_tile tile = s->tile;
    tile.i0 = s->out.first + i0;
    tile.i1 = s->out.first + i1;
    tile.j0 = j0;
    tile.j1 = j1;
    tile.scratch = scratch;
    s->run(&tile, s->nngp, &s->out);
}

static far_status fill_slopes(gradient *g, int64_t first, int64_t rows)
{
    const far_plan *plan = g->kernel->plan;
    far_sides *s = &g->sides;
    slope_source src = {.tile = {.plan = plan,
                                 .layout = &s->layout,
                                 .rows = &s->a,
                                 .cols = s->b,
                                 .zeros = s->a.zeros || s->b->zeros},
                        .run = far_slopes_select(),
                        .out = {g->turn, g->grow, g->gap, first, g->n},
                        .nngp = g->nngp};
    far_gram_job job = {.tile = run_tile,
                        .source = &src,
                        .rows = rows,
                        .cols = g->n,
                        .side = FAR_TILE_SIDE,
                        .scratch = far_slopes_scratch(plan, &s->layout, g->d)};
    return far_gram_fill(g->ctx, &job);
}

/* ---- from derivatives to gradients ----------------------------------------------------------- */

static const double *direction(const far_points *points, int64_t i)
{
    return (const double *)points->unit + i * points->d;
}

/* Adds dV/dc (u' - c u) of one pair to the gradients of all outputs, in the directions' units. */
static void add_close(const gradient *g, int64_t i, int64_t k, double turn, double *out)
{
    const double *u = direction(&g->sides.a, i), *v = direction(g->sides.b, k);
    double sign = 0, chord = 0;
    for (int64_t j = 0; j < g->d; j++) {
        sign += u[j] * v[j];
    }
    sign = sign < 0 ? -1 : 1;
    for (int64_t j = 0; j < g->d; j++) { /* 1 - |c| */
        chord += 0.5 * (v[j] - sign * u[j]) * (v[j] - sign * u[j]);
    }
    for (int64_t o = 0; o < g->p; o++) {
        double share = turn * g->share[k * g->p + o];
        for (int64_t j = 0; j < g->d; j++) {
            out[o * g->d + j] += share * ((v[j] - sign * u[j]) + sign * chord * u[j]);
        }
    }
}

/* Of one row: pairs that are close leave the matrix for out, the others take c u to what lies along
 * u. */
static void settle_row(const gradient *g, int64_t first, int64_t row, double *out)
{
    double *turn = g->turn + row * g->n, *grow = g->grow + row * g->n;
    const double *gap = g->gap + row * g->n;
    for (int64_t k = 0; k < g->n; k++) {
        if (gap[k] < CLOSE || gap[k] > 2 - CLOSE) {
            add_close(g, first + row, k, turn[k], out);
            turn[k] = 0;
        } else {
            grow[k] -= (1 - gap[k]) * turn[k];
        }
    }
}

static void settle_rows(const gradient *g, int64_t first, int64_t rows, far_mat *out)
{
#pragma omp parallel for num_threads(far_ctx_threads(g->ctx)) schedule(static)
    for (int64_t i = 0; i < rows; i++) {
        double *row = far_mat_row(out, first + i);
        memset(row, 0, (size_t)(g->p * g->d) * sizeof *row);
        settle_row(g, first, i, row);
    }
}

/* out += turn (share u'), one output at a time. */
static far_status add_turns(gradient *g, int64_t first, int64_t rows, far_mat *out)
{
    far_status st = FAR_OK;
    far_mat turn = far_mat_view(g->turn, rows, g->n, FAR_F64);
    far_mat lever = far_mat_view(g->lever, g->n, g->d, FAR_F64);
    far_mat product = far_mat_view(g->product, rows, g->d, FAR_F64);
    for (int64_t o = 0; o < g->p && st == FAR_OK; o++) {
        for (int64_t at = 0; at < g->n * g->d; at++) {
            int64_t k = at / g->d;
            g->lever[at] = g->share[k * g->p + o] * direction(g->sides.b, k)[at % g->d];
        }
        st = far_multiply(g->ctx, &turn, &lever, &product);
        for (int64_t at = 0; at < rows * g->d && st == FAR_OK; at++) {
            double *row = far_mat_row(out, first + at / g->d);
            row[o * g->d + at % g->d] += g->product[at];
        }
    }
    return st;
}

/* The part along u, the scale that all had in common, and layers on the raw input. */
static void finish_row(const gradient *g, int64_t first, int64_t i, const far_mat *a,
                       long double *work, double *out)
{
    const far_points *x = &g->sides.a;
    const double *u = direction(x, first + i), *along = g->along + i * g->p;
    far_big value = far_big_mul(g->nngp ? x->r[first + i] : x->p[first + i], g->unit);
    long double scale = far_big_limit(far_big_div(value, x->norm[first + i]));
    for (int64_t o = 0; o < g->p; o++) {
        for (int64_t j = 0; j < g->d; j++) {
            work[j] = scale * (out[o * g->d + j] + along[o] * u[j]);
        }
        far_input_pull(g->kernel->plan, a, first + i, work, work + g->d);
        for (int64_t j = 0; j < g->d; j++) {
            out[o * g->d + j] = (double)work[j];
        }
    }
}

static far_status finish_rows(gradient *g, int64_t first, int64_t rows, const far_mat *a,
                              far_mat *out)
{
    int threads = far_ctx_threads(g->ctx);
    int64_t room = (g->kernel->plan->input_count + 2) * g->d;
    long double *work = NULL;
    far_status st = far_alloc(g->ctx, threads * room, &work);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int t = 0; t < threads; t++) {
        for (int64_t i = rows * t / threads; st == FAR_OK && i < rows * (t + 1) / threads; i++) {
            finish_row(g, first, i, a, work + t * room, far_mat_row(out, first + i));
        }
    }
    far_free(g->ctx, work);
    return st;
}

static far_status check_sound(far_ctx *ctx, const far_mat *out)
{
    for (int64_t at = 0; at < out->rows * out->cols; at++) {
        const double *row = far_mat_row(out, at / out->cols);
        if (!isfinite(row[at % out->cols])) {
            return far_fail(ctx, FAR_ERR_RANGE,
                            "row %lld: the gradient is too large for a double; scale the points "
                            "down, or put a norm in the network",
                            (long long)(at / out->cols) + 1);
        }
    }
    return FAR_OK;
}

/* Weights of single pairs. */
static void weigh_pairs(const gradient *g, int64_t first, int64_t rows, const far_mat *weights)
{
    for (int64_t i = 0; i < rows; i++) {
        const double *weight = far_mat_row(weights, first + i);
        for (int64_t k = 0; k < g->n; k++) {
            g->turn[i * g->n + k] *= weight[k];
            g->grow[i * g->n + k] *= weight[k];
        }
    }
}

/* pairs (rows of a x rows of b), or NULL: a weight for each pair beside those of the outputs. */
static far_status run_block(gradient *g, int64_t first, int64_t rows, const far_mat *a,
                            const far_mat *pairs, far_mat *out)
{
    far_status st;
    far_mat grow = far_mat_view(g->grow, rows, g->n, FAR_F64);
    far_mat share = far_mat_view(g->share, g->n, g->p, FAR_F64);
    far_mat along = far_mat_view(g->along, rows, g->p, FAR_F64);
    FAR_TRY(fill_slopes(g, first, rows));
    if (pairs) {
        weigh_pairs(g, first, rows, pairs);
    }
    settle_rows(g, first, rows, out);
    FAR_TRY(add_turns(g, first, rows, out));
    FAR_TRY(far_multiply(g->ctx, &grow, &share, &along));
    FAR_TRY(finish_rows(g, first, rows, a, out));
done:
    return st;
}

/* ---- the whole of it ------------------------------------------------------------------------- */

static far_status check_arguments(far_ctx *ctx, const far_kernel *k, const far_mat *a,
                                  const far_mat *b, const far_mat *weights, const far_mat *out)
{
    far_status st;
    if (!ctx || !k) {
        return far_fail(ctx, FAR_ERR_ARG, "the context and the kernel must not be NULL");
    }
    FAR_TRY(far_mat_expect(ctx, a, "a", -1, -1, FAR_F64));
    FAR_TRY(far_mat_expect(ctx, b, "b", -1, a->cols, FAR_F64));
    FAR_TRY(far_mat_expect(ctx, weights, "weights", b->rows, -1, FAR_F64));
    FAR_TRY(far_check_finite(ctx, weights, "weights"));
    FAR_TRY(far_mat_expect(ctx, out, "out", a->rows, weights->cols * a->cols, FAR_F64));
done:
    return st;
}

/* Few, so that they stay in the caches, and as many for every number of threads: products round by
 * the shape of their matrices. */
static int64_t rows_at_a_time(int64_t n)
{
    int64_t fit = BLOCK_BYTES / (3 * (int64_t)sizeof(double) * (n + 1)) / 32 * 32;
    return fit < 32 ? 32 : far_least(fit, 2 * FAR_TILE_SIDE);
}

static far_status prepare(gradient *g, const far_mat *a, const far_mat *b, const far_mat *weights)
{
    far_ctx *ctx = g->ctx;
    const far_plan *plan = g->kernel->plan;
    far_status st;
    g->sides.b = &g->sides.own_b;
    FAR_TRY(far_points_create(ctx, plan, a, "a", false, &g->sides.a));
    g->sides.a.moving = true;
    FAR_TRY(far_points_create(ctx, plan, b, "b", false, &g->sides.own_b));
    FAR_TRY(far_sides_prepare(ctx, plan, &g->sides));
    FAR_TRY(far_check_blind(&g->sides.a, !g->nngp));
    FAR_TRY(far_check_blind(g->sides.b, !g->nngp));
    g->rows = far_least(g->m, rows_at_a_time(g->n));
    FAR_TRY(far_alloc(ctx, g->rows * g->n, &g->turn));
    FAR_TRY(far_alloc(ctx, g->rows * g->n, &g->grow));
    FAR_TRY(far_alloc(ctx, g->rows * g->n, &g->gap));
    FAR_TRY(far_alloc(ctx, g->n * g->p, &g->share));
    FAR_TRY(far_alloc(ctx, g->n * g->d, &g->lever));
    FAR_TRY(far_alloc(ctx, g->rows * g->d, &g->product));
    FAR_TRY(far_alloc(ctx, g->rows * g->p, &g->along));
    fill_shares(g, weights);
done:
    return st;
}

far_status far_kernel_gradient(far_ctx *ctx, const far_kernel *k, far_kernel_kind kind,
                               const far_mat *a, const far_mat *b, const far_mat *weights,
                               far_mat *out)
{
    gradient g = {.ctx = ctx, .kernel = k, .nngp = kind == FAR_KERNEL_NNGP};
    far_status st = check_arguments(ctx, k, a, b, weights, out);
    if (st != FAR_OK) {
        return st;
    }
    g.m = a->rows;
    g.n = b->rows;
    g.d = a->cols;
    g.p = weights->cols;
    FAR_TRY(prepare(&g, a, b, weights));
    for (int64_t i = 0; i < g.m; i += g.rows) {
        FAR_TRY(run_block(&g, i, far_least(g.rows, g.m - i), a, NULL, out));
    }
    FAR_TRY(check_sound(ctx, out));
done:
    gradient_clear(&g);
    return st;
}

/* ---- pair by pair ---------------------------------------------------------------------------- */

/* u' - c u of a pair, from differences where the two are close to each other or to opposite. */
static void lean(const gradient *g, int64_t i, int64_t k, double gap, double *out)
{
    const double *u = direction(&g->sides.a, i), *v = direction(g->sides.b, k);
    double sign = gap < 1 ? 1 : -1, chord = 0;
    bool close = gap < CLOSE || gap > 2 - CLOSE;
    for (int64_t j = 0; close && j < g->d; j++) { /* 1 - |c| */
        chord += 0.5 * (v[j] - sign * u[j]) * (v[j] - sign * u[j]);
    }
    for (int64_t j = 0; j < g->d; j++) {
        out[j] = close ? (v[j] - sign * u[j]) + sign * chord * u[j] : v[j] - (1 - gap) * u[j];
    }
}

/* The gradient of the pair, but for what finish_slope does. */
static void start_slope(const gradient *g, int64_t first, int64_t row, int64_t k, double *side,
                        double *out)
{
    const double *u = direction(&g->sides.a, first + row);
    int64_t at = row * g->n + k;
    double turn = g->share[k] * g->turn[at], grow = g->share[k] * g->grow[at];
    lean(g, first + row, k, g->gap[at], side);
    for (int64_t j = 0; j < g->d; j++) {
        out[j] = turn * side[j] + grow * u[j];
    }
}

static void finish_slope(const gradient *g, int64_t i, const far_mat *a, long double *work,
                         double *sum)
{
    const far_points *x = &g->sides.a;
    far_big value = far_big_mul(g->nngp ? x->r[i] : x->p[i], g->unit);
    long double scale = far_big_limit(far_big_div(value, x->norm[i]));
    for (int64_t j = 0; j < g->d; j++) {
        work[j] = scale * sum[j];
    }
    far_input_pull(g->kernel->plan, a, i, work, work + g->d);
    for (int64_t j = 0; j < g->d; j++) {
        sum[j] = (double)work[j];
    }
}

static far_status slope_rows(gradient *g, int64_t first, int64_t rows, const far_mat *a,
                             far_mat *out)
{
    far_status st;
    int threads = far_ctx_threads(g->ctx);
    int64_t room = (g->kernel->plan->input_count + 2) * g->d;
    long double *work = NULL;
    double *sides = NULL;
    FAR_TRY(far_alloc(g->ctx, threads * room, &work));
    FAR_TRY(far_alloc(g->ctx, threads * g->d, &sides));
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int t = 0; t < threads; t++) {
        for (int64_t at = rows * t / threads * g->n; at < rows * (t + 1) / threads * g->n; at++) {
            int64_t i = at / g->n, k = at % g->n;
            double *slope = (double *)far_mat_row(out, first + i) + k * g->d;
            start_slope(g, first, i, k, sides + t * g->d, slope);
            finish_slope(g, first + i, a, work + t * room, slope);
        }
    }
done:
    FAR_FREE_ALL(g->ctx, work, sides);
    return st;
}

static far_status check_slopes(far_ctx *ctx, const far_kernel *k, const far_mat *a,
                               const far_mat *b, const far_mat *weights, const far_mat *out)
{
    far_status st;
    if (!ctx || !k) {
        return far_fail(ctx, FAR_ERR_ARG, "the context and the kernel must not be NULL");
    }
    FAR_TRY(far_mat_expect(ctx, a, "x1", -1, -1, FAR_F64));
    FAR_TRY(far_mat_expect(ctx, b, "x2", -1, a->cols, FAR_F64));
    if (weights) {
        FAR_TRY(far_mat_expect(ctx, weights, "weights", a->rows, b->rows, FAR_F64));
        FAR_TRY(far_check_finite(ctx, weights, "weights"));
    }
    FAR_TRY(far_mat_expect(ctx, out, "out", a->rows, (weights ? 1 : b->rows) * a->cols, FAR_F64));
done:
    return st;
}

/* Shares of weights that are all 1. */
static far_status prepare_slopes(gradient *g, const far_mat *a, const far_mat *b)
{
    far_status st;
    double *ones = NULL;
    FAR_TRY(far_alloc(g->ctx, g->n, &ones));
    for (int64_t k = 0; k < g->n; k++) {
        ones[k] = 1;
    }
    far_mat weights = far_mat_view(ones, g->n, 1, FAR_F64);
    FAR_TRY(prepare(g, a, b, &weights));
done:
    far_free(g->ctx, ones);
    return st;
}

far_status far_kernel_slopes(far_ctx *ctx, const far_kernel *k, far_kernel_kind kind,
                             const far_mat *x1, const far_mat *x2, const far_mat *weights,
                             far_mat *out)
{
    gradient g = {.ctx = ctx, .kernel = k, .nngp = kind == FAR_KERNEL_NNGP, .p = 1};
    x2 = x2 ? x2 : x1;
    far_status st = check_slopes(ctx, k, x1, x2, weights, out);
    if (st != FAR_OK) {
        return st;
    }
    g.m = x1->rows;
    g.n = x2->rows;
    g.d = x1->cols;
    FAR_TRY(prepare_slopes(&g, x1, x2));
    for (int64_t i = 0; i < g.m; i += g.rows) {
        int64_t rows = far_least(g.rows, g.m - i);
        if (weights) {
            FAR_TRY(run_block(&g, i, rows, x1, weights, out));
            continue;
        }
        FAR_TRY(fill_slopes(&g, i, rows));
        FAR_TRY(slope_rows(&g, i, rows, x1, out));
    }
    FAR_TRY(check_sound(ctx, out));
done:
    gradient_clear(&g);
    return st;
}
