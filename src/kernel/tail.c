#include "tail.h"
#include "tile.h"

#include <math.h>
#include <string.h>

#define NODES_MOST FAR_TAIL_TERMS
#define SAMPLES_MOST (FAR_TAIL_PIECES * NODES_MOST)
#define TOLERANCE 4e-15 /* of the value at rho = 1 */

_Static_assert(SAMPLES_MOST <= FAR_TILE_SIDE, "all samples fit in one block");

/* ---- from where on all points are alike ------------------------------------------------------ */

static bool slot_is_uniform(const far_points *p, int64_t slot, double value)
{
    const double *v = (const double *)p->coef + slot * p->ld;
    bool same = true;
    for (int64_t i = 0; i < p->n; i++) {
        same = same && v[i] == value;
    }
    return same;
}

static bool slots_are_uniform(const far_points *a, const far_points *b, int64_t begin, int64_t end)
{
    for (int64_t s = begin; s < end; s++) {
        double value = ((const double *)a->coef)[s * a->ld];
        if (!slot_is_uniform(a, s, value) || !slot_is_uniform(b, s, value)) {
            return false;
        }
    }
    return true;
}

static int64_t first_uniform(const far_plan *plan, const far_layout *layout, const far_points *a,
                             const far_points *b)
{
    int64_t end = layout->slots, from = plan->count;
    if (!slots_are_uniform(a, b, end, end + 2)) { /* the scales of the output */
        return from;
    }
    while (from > 0 && slots_are_uniform(a, b, layout->slot[from - 1], end)) {
        from--;
        end = layout->slot[from];
    }
    return from;
}

static int depth_at(const far_plan *plan, int64_t index)
{
    int depth = 0;
    for (int64_t i = 0; i < index; i++) {
        depth += plan->ops[i].kind == FAR_OP_PUSH;
        depth -= plan->ops[i].kind == FAR_OP_ADD;
    }
    return depth;
}

/* Skips are replaced whole or not at all. */
static int64_t outside_skips(const far_plan *plan, int64_t from)
{
    while (from < plan->count && depth_at(plan, from) > 0) {
        from++;
    }
    return from;
}

/* A first dense in the ntk parametrisation leaves Theta = K. */
static bool theta_is_rho(const far_plan *plan, int64_t from)
{
    for (int64_t i = 0; i < from; i++) {
        bool dense = i == 0 && plan->ops[i].kind == FAR_OP_DENSE && plan->ops[i].plain;
        if (!dense && plan->ops[i].kind != FAR_OP_SCALE) {
            return false;
        }
    }
    return from > 0;
}

/* In units of a relu, roughly. */
static double cost_of_layers(const far_plan *plan, const far_layout *layout, int64_t from)
{
    double cost = 0;
    for (int64_t i = from; i < plan->count; i++) {
        if (plan->ops[i].kind != FAR_OP_ACTIVATE) {
            continue;
        }
        switch (plan->ops[i].activation->family) {
        case FAR_FAMILY_FOLD:
            cost += plan->ops[i].activation->folded != 0;
            break;
        case FAR_FAMILY_POWER:
            cost += 2;
            break;
        case FAR_FAMILY_TABLE:
            cost += 10;
            break;
        default:
            cost += 3 + layout->series[i] / 8.0;
        }
    }
    return cost;
}

/* ---- sampling -------------------------------------------------------------------------------- */

typedef struct samples {
    double gap[FAR_TILE_SIDE], cogap[FAR_TILE_SIDE], t[FAR_TILE_SIDE];
} samples;

/* The network behind from, ready to be run on arbitrary gaps. */
typedef struct probe {
    far_tile tile;
    far_points points; /* FAR_TILE_SIDE copies of one point */
    int64_t from;
    far_tile_probe_fn run;
    double nngp_scale, ntk_scale;
} probe;

static far_status probe_create(far_ctx *ctx, const far_plan *plan, const far_layout *layout,
                               const far_points *a, int64_t from, probe *out)
{
    int64_t slots = layout->slots + 2;
    far_status st;
    *out = (probe){.points = {.n = FAR_TILE_SIDE, .ld = FAR_TILE_SIDE + FAR_PAD, .d = 1},
                   .from = from,
                   .run = far_tile_select_probe()};
    FAR_TRY(far_alloc_bytes(ctx, slots * out->points.ld, sizeof(double), &out->points.coef));
    FAR_TRY(far_alloc_bytes(ctx, far_tile_scratch(plan, layout, 1), 1, &out->tile.scratch));
    for (int64_t s = 0; s < slots; s++) {
        for (int64_t i = 0; i < out->points.ld; i++) {
            ((double *)out->points.coef)[s * out->points.ld + i] =
                ((const double *)a->coef)[s * a->ld];
        }
    }
    double r = (double)far_big_coef(a->r[0]), p = (double)far_big_coef(a->p[0]);
    out->nngp_scale = r * r;
    out->ntk_scale = p * p;
    out->tile.plan = plan;
    out->tile.layout = layout;
    out->tile.rows = out->tile.cols = &out->points;
    out->tile.j1 = FAR_TILE_SIDE;
done:
    return st;
}

static void probe_clear(far_ctx *ctx, probe *p)
{
    far_free(ctx, p->points.coef);
    far_free(ctx, p->tile.scratch);
}

static void place(double s, samples *x, int i)
{
    double gap = s <= 1 ? s * s : 2 - (2 - s) * (2 - s);
    x->gap[i] = gap;
    x->cogap[i] = s <= 1 ? 2 - gap : (2 - s) * (2 - s);
}

/* The layers at s[0..count) with Theta_in = theta (or rho), as H and F + G theta. */
static void run_samples(probe *p, const double *s, int count, bool rho_in, double theta, samples *x)
{
    for (int i = 0; i < FAR_TILE_SIDE; i++) {
        place(i < count ? s[i] : 1, x, i);
        x->t[i] = rho_in ? 1 - x->gap[i] : theta;
    }
    p->run(&p->tile, p->from, x->gap, x->cogap, x->t);
    for (int i = 0; i < count; i++) {
        x->gap[i] = p->nngp_scale * (1 - x->gap[i]);
        x->t[i] *= p->ntk_scale;
    }
}

/* ---- fitting --------------------------------------------------------------------------------- */

/* Place k of n in [-1/2, 1/2]. The Chebyshev points have shift 1/2; shift 0 lies between them,
 * where an interpolation is worst. */
typedef struct grid {
    int n;
    double shift;
} grid;

static double node(grid g, int k)
{
    return 0.5 * cos(M_PI * (k + g.shift) / g.n);
}

/* Powers of x through the values at the nodes, by divided differences. */
static void interpolate(grid g, const double *values, double *power)
{
    long double f[NODES_MOST], c[NODES_MOST] = {0};
    for (int k = 0; k < g.n; k++) {
        f[k] = values[k];
    }
    for (int k = 1; k < g.n; k++) {
        for (int i = g.n - 1; i >= k; i--) {
            f[i] = (f[i] - f[i - 1]) / ((long double)node(g, i) - node(g, i - k));
        }
    }
    for (int k = g.n - 1; k >= 0; k--) {
        for (int i = g.n - 1; i > 0; i--) {
            c[i] = c[i - 1] - node(g, k) * c[i];
        }
        c[0] = f[k] - node(g, k) * c[0];
    }
    for (int k = 0; k < g.n; k++) {
        power[k] = (double)c[k];
    }
}

static void fit(grid g, const double *values, far_curve *out)
{
    double power[NODES_MOST];
    for (int piece = 0; piece < FAR_TAIL_PIECES; piece++) {
        interpolate(g, values + piece * g.n, power);
        for (int k = 0; k < g.n; k++) {
            out->c[k][piece] = power[k];
        }
    }
}

static double curve_at(const far_curve *curve, int terms, int piece, double x)
{
    double sum = 0;
    for (int k = terms - 1; k >= 0; k--) {
        sum = sum * x + curve->c[k][piece];
    }
    return sum;
}

/* H in zero.gap, F in zero.t, G in linear, at the points of a grid. */
typedef struct sampled {
    samples zero;
    double linear[FAR_TILE_SIDE];
    double nngp_size, ntk_size; /* at rho = 1 */
} sampled;

static void sample(probe *p, grid g, bool rho_in, sampled *out)
{
    double s[FAR_TILE_SIDE], at_one = 0;
    samples one;
    run_samples(p, &at_one, 1, rho_in, 1, &one);
    out->nngp_size = fabs(one.gap[0]);
    out->ntk_size = fabs(one.t[0]);
    for (int i = 0; i < FAR_TAIL_PIECES * g.n; i++) {
        s[i] = (i / g.n + 0.5 + node(g, i % g.n)) / 8;
    }
    run_samples(p, s, FAR_TAIL_PIECES * g.n, rho_in, 0, &out->zero);
    run_samples(p, s, FAR_TAIL_PIECES * g.n, rho_in, 1, &one);
    for (int i = 0; i < FAR_TAIL_PIECES * g.n; i++) {
        out->linear[i] = one.t[i] - out->zero.t[i];
    }
}

static bool matches(grid g, const far_curve *curve, int terms, const double *values, double size)
{
    for (int i = 0; i < FAR_TAIL_PIECES * g.n; i++) {
        double e = fabs(curve_at(curve, terms, i / g.n, node(g, i % g.n)) - values[i]);
        if (!(e <= TOLERANCE * size)) {
            return false;
        }
    }
    return true;
}

static bool fits(far_tail *tail, probe *p, int terms, sampled *x)
{
    grid nodes = {terms, 0.5}, between = {terms, 0};
    tail->terms = terms;
    sample(p, nodes, tail->rho_in, x);
    fit(nodes, x->zero.gap, &tail->nngp);
    fit(nodes, x->zero.t, &tail->constant);
    fit(nodes, x->linear, &tail->linear);
    sample(p, between, tail->rho_in, x);
    return matches(between, &tail->nngp, terms, x->zero.gap, x->nngp_size) &&
           matches(between, &tail->constant, terms, x->zero.t, x->ntk_size) &&
           matches(between, &tail->linear, terms, x->linear, x->ntk_size);
}

/* ---- deciding -------------------------------------------------------------------------------- */

far_status far_tail_build(far_ctx *ctx, const far_plan *plan, const far_layout *layout,
                          const far_points *a, const far_points *b, far_tail *out)
{
    far_status st = FAR_OK;
    *out = (far_tail){0};
    if (a->dtype != FAR_F64 || a->n == 0 || b->n == 0 || !far_tile_select_probe()) {
        return FAR_OK;
    }
    out->from = outside_skips(plan, first_uniform(plan, layout, a, b));
    out->rho_in = theta_is_rho(plan, out->from);
    int curves = out->rho_in ? 1 : 2; /* of Theta */
    if (cost_of_layers(plan, layout, out->from) <= curves) {
        return FAR_OK;
    }
    probe p = {0};
    sampled *x = NULL;
    FAR_TRY(far_alloc(ctx, 1, &x));
    FAR_TRY(probe_create(ctx, plan, layout, a, out->from, &p));
    out->used = fits(out, &p, FAR_TAIL_TERMS_FEW, x) || fits(out, &p, FAR_TAIL_TERMS, x);
done:
    probe_clear(ctx, &p);
    far_free(ctx, x);
    return st;
}
