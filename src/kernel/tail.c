#include "tail.h"
#include "tile.h"

#include <math.h>
#include <string.h>

#define TOLERANCE 4e-15 /* of the value at rho = 1, at every place that is checked */

_Static_assert(FAR_TAIL_PIECES *FAR_TAIL_TERMS <= FAR_TILE_SIDE, "all nodes fit in one block");

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

/* Do values carry a mean into operation index? */
static bool mean_at(const far_plan *plan, int64_t index)
{
    bool mean = false;
    for (int64_t i = 0; i < index; i++) {
        const far_op *op = &plan->ops[i];
        if (op->kind == FAR_OP_DENSE || op->kind == FAR_OP_CENTER) {
            mean = false;
        } else if (op->kind == FAR_OP_ADD) {
            mean = !op->gaussian;
        } else if (op->kind == FAR_OP_ACTIVATE && op->activation->kind != FAR_LAYER_IDENTITY) {
            mean = !far_activation_is_odd(op->activation);
        }
    }
    return mean;
}

/* A layer norm subtracts the mean of what was before it. Where that lies in front of from, what is
 * left is no power series in rho with coefficients >= 0, on which the check below rests. */
static int64_t behind_means(const far_plan *plan, int64_t from)
{
    while (from < plan->count && mean_at(plan, from) && plan->ops[from].kind != FAR_OP_DENSE) {
        from = outside_skips(plan, from + 1);
    }
    return from;
}

/* The gap behind a first dense is a chord as well, and the curves have less to bend without it. */
static int64_t behind_first_dense(const far_plan *plan, int64_t from)
{
    bool dense = from == 0 && plan->ops[0].kind == FAR_OP_DENSE && plan->ops[0].plain;
    return dense ? 1 : from;
}

/* A first dense in the ntk parametrisation leaves Theta = K. */
static far_theta_in theta_before(const far_plan *plan, int64_t from)
{
    for (int64_t i = 0; i < from; i++) {
        bool dense = i == 0 && plan->ops[i].kind == FAR_OP_DENSE && plan->ops[i].plain;
        if (!dense && plan->ops[i].kind != FAR_OP_SCALE) {
            return FAR_THETA_CARRIED;
        }
    }
    return from > 0 ? FAR_THETA_RHO : FAR_THETA_ZERO;
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

/* ---- the layers at given places -------------------------------------------------------------- */

/* rho = 1 - least, or least - 1 where far. */
typedef struct place {
    double least;
    bool far;
} place;

/* H, F and G at FAR_TILE_SIDE places. */
typedef struct values {
    double of[3][FAR_TILE_SIDE];
} values;

/* The network behind from, ready to be run on arbitrary gaps. */
typedef struct probe {
    far_tile tile;
    far_points points; /* FAR_TILE_SIDE copies of one point */
    int64_t from;
    far_theta_in theta_in;
    bool positive; /* rho >= 0: the layers know nothing else */
    double theta;  /* the largest Theta_in */
    far_tile_probe_fn run;
    double nngp_scale, ntk_scale;
} probe;

/* A tile of the layers behind the first norm, at one point: there all points have the same scales,
 * so the coefficients of any of them (here the first) serve for every place that curves are fitted
 * at. */
static far_status probe_create(far_ctx *ctx, const far_plan *plan, const far_layout *layout,
                               const far_points *a, const far_tail *tail, probe *out)
{
    int64_t slots = layout->slots + 2;
    far_status st;
    *out = (probe){.points = {.n = FAR_TILE_SIDE, .ld = FAR_TILE_SIDE + FAR_PAD, .d = 1},
                   .from = tail->from,
                   .theta_in = tail->theta_in,
                   .positive = plan->ops[tail->from].sign == FAR_SIGN_POSITIVE,
                   .theta = 1,
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

/* K and Theta behind the layers for one Theta_in, or for rho. */
static void run_layers(probe *p, const place *at, int count, double theta, double *nngp,
                       double *ntk)
{
    double cogap[FAR_TILE_SIDE];
    for (int i = 0; i < FAR_TILE_SIDE; i++) {
        place here = i < count ? at[i] : at[0];
        nngp[i] = here.far ? 2 - here.least : here.least;
        cogap[i] = here.far ? here.least : 2 - here.least;
        ntk[i] = p->theta_in == FAR_THETA_RHO ? 1 - nngp[i] : theta;
    }
    p->run(&p->tile, p->from, nngp, cogap, ntk);
    for (int i = 0; i < count; i++) {
        nngp[i] = p->nngp_scale * (1 - nngp[i]);
        ntk[i] *= p->ntk_scale;
    }
}

static void evaluate(probe *p, const place *at, int count, values *out)
{
    double again[FAR_TILE_SIDE];
    run_layers(p, at, count, 0, out->of[0], out->of[1]);
    if (p->theta_in == FAR_THETA_CARRIED) {
        run_layers(p, at, count, p->theta, again, out->of[2]);
    }
    for (int i = 0; i < count; i++) {
        bool carried = p->theta_in == FAR_THETA_CARRIED;
        out->of[2][i] = carried ? (out->of[2][i] - out->of[1][i]) / p->theta : 0;
    }
}

/* ---- fitting --------------------------------------------------------------------------------- */

/* Chebyshev point k of n in [-1/2, 1/2]. */
static double node(int n, int k)
{
    return 0.5 * cos(M_PI * (k + 0.5) / n);
}

/* Powers of x through the values at the nodes, by divided differences. */
static void interpolate(int n, const double *f_at, double *power)
{
    long double f[FAR_TAIL_TERMS], c[FAR_TAIL_TERMS] = {0};
    for (int k = 0; k < n; k++) {
        f[k] = f_at[k];
    }
    for (int k = 1; k < n; k++) {
        for (int i = n - 1; i >= k; i--) {
            f[i] = (f[i] - f[i - 1]) / ((long double)node(n, i) - node(n, i - k));
        }
    }
    for (int k = n - 1; k >= 0; k--) {
        for (int i = n - 1; i > 0; i--) {
            c[i] = c[i - 1] - node(n, k) * c[i];
        }
        c[0] = f[k] - node(n, k) * c[0];
    }
    for (int k = 0; k < n; k++) {
        power[k] = (double)c[k];
    }
}

/* Curves with so many terms, and whether they still serve. */
typedef struct candidate {
    far_curve of[3]; /* H, F, G */
    int terms;
    bool serves;
} candidate;

/* Node k of a piece; where rho >= 0, the pieces of the far side stand for rho = 0 rounded. */
static place node_place(const probe *p, int terms, int piece, int k)
{
    double s = (piece + 0.5 + node(terms, k)) / 8, root = s > 1 ? 2 - s : s;
    return s > 1 && p->positive ? (place){1, false} : (place){root * root, s > 1};
}

static void fit(probe *p, int terms, candidate *out)
{
    place at[FAR_TILE_SIDE];
    values v;
    double power[FAR_TAIL_TERMS];
    for (int i = 0; i < FAR_TAIL_PIECES * terms; i++) {
        at[i] = node_place(p, terms, i / terms, i % terms);
    }
    evaluate(p, at, FAR_TAIL_PIECES * terms, &v);
    *out = (candidate){.terms = terms, .serves = true};
    for (int i = 0; i < 3 * FAR_TAIL_PIECES; i++) {
        int piece = i % FAR_TAIL_PIECES;
        interpolate(terms, v.of[i / FAR_TAIL_PIECES] + piece * terms, power);
        for (int k = 0; k < terms; k++) {
            out->of[i / FAR_TAIL_PIECES].c[k][piece] = power[k];
        }
    }
}

/* As in tile_tail.h. */
static double curve_at(const far_curve *curve, int terms, place at)
{
    double root = sqrt(at.least), s = at.far ? 0x1.fffffffffffffp0 - root : root;
    int piece = (int)(s * (FAR_TAIL_PIECES / 2));
    double x = s * (FAR_TAIL_PIECES / 2) - piece - 0.5, sum = 0;
    for (int k = terms - 1; k >= 0; k--) {
        sum = sum * x + curve->c[k][piece];
    }
    return sum;
}

/* ---- checking --------------------------------------------------------------------------------
 * H, F and G are power series in rho with coefficients >= 0: so are K and Theta behind every layer
 * (the duals of an activation for points of one scale, sums, products, and a layer norm takes off
 * the constant term). Hence, with f any of them,
 *
 *   1. |f(z)| <= f(1) in the disc |z| <= 1, where f is analytic inside;
 *   2. f increases on [0, 1], and |f(-1) - f(-1 + u)| <= f(1) - f(1 - u).
 *
 * Let u = 1 - rho or 1 + rho run over [l^2, h^2], where a curve is one polynomial in sqrt(u). The
 * ellipse with foci l^2 and h^2 that touches 0 lies in the disc. By 1. the difference between f and
 * its curve is analytic there and at most f(1) + M, M the curve's largest value on it. If it is at
 * most e at n Chebyshev points, then by a theorem of Bernstein it is everywhere at most
 *
 *     L e + 4 (f(1) + M) q^(1 - n) / (q - 1),   q = (h + l) / (h - l),   L = 1 + (2 / pi) ln n.
 *
 * The intervals are the pieces of the curves, the one next to 0 cut at every power of two, down to
 * sqrt(u) = 2^-LAST. Below, 2. leaves nothing but f(1) - f(1 - u) at its end. So no peak is too
 * narrow to be seen, and where all checks pass the curves are proven, up to rounding of the layers
 * at the places checked, to be within 1.5e-14 of f(1) of them everywhere. */
#define CHECK_NODES 40
#define LAST 56
#define INTERVALS (FAR_TAIL_PIECES / 2 + LAST - 4) /* on either side */
#define BETWEEN_LIMIT 1e-15                        /* of f(1): the second term above */

typedef struct interval {
    double low, high; /* of sqrt(u) */
    int piece;
} interval;

static interval interval_at(int i)
{
    int last = FAR_TAIL_PIECES / 2 - 1;
    if (i < last) {
        return (interval){(i + 1) / 8.0, (i + 2) / 8.0, i + 1};
    }
    return (interval){ldexp(1, last - 4 - i), ldexp(1, last - 3 - i), 0};
}

static place check_place(int i, bool far)
{
    interval in = interval_at(i / CHECK_NODES);
    double low = in.low * in.low, high = in.high * in.high;
    double u = (low + high) / 2 + node(CHECK_NODES, i % CHECK_NODES) * (high - low);
    return (place){u, far};
}

/* The largest |x| on the ellipse, x as in far_curve: there |sqrt(u)|^2 <= l^2 + h^2, at most 45
 * degrees from the real line. */
static double reach(interval in)
{
    double middle = (in.piece + 0.5) / 8, size = sqrt(in.low * in.low + in.high * in.high);
    double apart = size * size + middle * middle - M_SQRT2 * middle * size;
    return 8 * sqrt(fmax(apart, middle * middle));
}

/* The second term of the bound. */
static bool between_nodes(const candidate *c, int which, int piece, interval in, double size)
{
    double x = reach(in), most = 0, q = (in.high + in.low) / (in.high - in.low);
    for (int k = c->terms - 1; k >= 0; k--) {
        most = most * x + fabs(c->of[which].c[k][piece]);
    }
    return 4 * (size + most) * pow(q, 1 - CHECK_NODES) / (q - 1) <= BETWEEN_LIMIT * size;
}

static bool tame(const candidate *c, const double size[3])
{
    bool good = true;
    for (int i = 0; i < 3 * INTERVALS && good; i++) {
        interval in = interval_at(i / 3);
        good = size[i % 3] == 0 ||
               (between_nodes(c, i % 3, in.piece, in, size[i % 3]) &&
                between_nodes(c, i % 3, FAR_TAIL_PIECES - 1 - in.piece, in, size[i % 3]));
    }
    return good;
}

static bool matches(const candidate *c, const place *at, int count, const values *v,
                    const double size[3])
{
    for (int i = 0; i < 3 * count; i++) {
        int which = i / count, k = i % count;
        double error = fabs(curve_at(&c->of[which], c->terms, at[k]) - v->of[which][k]);
        if (!(error <= TOLERANCE * size[which])) {
            return false;
        }
    }
    return true;
}

/* Both ends, and how much happens below the last interval. */
static bool ends_match(probe *p, candidate *c, const double size[3], values *v)
{
    const place ends[] = {
        {0, false}, {p->positive ? 1 : 0, !p->positive}, {ldexp(1, -2 * LAST), false}};
    evaluate(p, ends, 3, v);
    for (int which = 0; which < 3; which++) {
        if (!(fabs(v->of[which][0] - v->of[which][2]) <= TOLERANCE * size[which])) {
            return false;
        }
    }
    return matches(c, ends, 3, v, size);
}

/* Checks all candidates at once, while one of them is left. */
static void check(probe *p, candidate c[2], const double size[3], values *v)
{
    place at[FAR_TILE_SIDE];
    int sides = p->positive ? 1 : 2, total = sides * INTERVALS * CHECK_NODES;
    for (int k = 0; k < 2; k++) {
        c[k].serves = tame(&c[k], size) && ends_match(p, &c[k], size, v);
    }
    for (int i = 0; i < total && (c[0].serves || c[1].serves); i += FAR_TILE_SIDE) {
        int count = total - i < FAR_TILE_SIDE ? total - i : FAR_TILE_SIDE;
        for (int k = 0; k < count; k++) {
            at[k] = check_place((i + k) / sides, (i + k) % sides);
        }
        evaluate(p, at, count, v);
        c[0].serves = c[0].serves && matches(&c[0], at, count, v, size);
        c[1].serves = c[1].serves && matches(&c[1], at, count, v, size);
    }
}

/* ---- deciding -------------------------------------------------------------------------------- */

static double largest(const far_points *points)
{
    double most = 0;
    for (int64_t i = 0; i < points->n; i++) {
        most = fmax(most, (double)far_big_coef(points->theta[i]));
    }
    return most;
}

/* What errors are measured by. Theta_in is at most T = Theta / G, so an error of F / T + G in G is
 * one of Theta, as is one of F in F. */
static void sizes_of(probe *p, double most, double size[3], values *v)
{
    const place one = {0, false};
    evaluate(p, &one, 1, v);
    if (p->theta_in == FAR_THETA_CARRIED && v->of[2][0] > 0) {
        p->theta = fmax(1, most / v->of[2][0]);
        evaluate(p, &one, 1, v);
    }
    for (int which = 0; which < 3; which++) {
        size[which] = v->of[which][0];
    }
    size[2] += p->theta_in == FAR_THETA_CARRIED ? size[1] / p->theta : 0;
}

typedef struct workspace {
    candidate c[2];
    values v;
} workspace;

static void choose(probe *p, double most, workspace *w, far_tail *out)
{
    double size[3];
    sizes_of(p, most, size, &w->v);
    fit(p, FAR_TAIL_TERMS_FEW, &w->c[0]);
    fit(p, FAR_TAIL_TERMS, &w->c[1]);
    check(p, w->c, size, &w->v);
    const candidate *best = w->c[0].serves ? &w->c[0] : &w->c[1];
    out->used = best->serves;
    out->terms = best->terms;
    out->nngp = best->of[0];
    out->constant = best->of[1];
    out->linear = best->of[2];
}

/* Behind a norm without eps what is left of the network is a function of the gap alone. It is
 * fitted from where all points look alike, outside of skips; unused where so few layers are left
 * that running them is as cheap as the curves. */
far_status far_tail_build(far_ctx *ctx, const far_plan *plan, const far_layout *layout,
                          const far_points *a, const far_points *b, far_tail *out)
{
    far_status st = FAR_OK;
    *out = (far_tail){0};
    if (a->dtype != FAR_F64 || a->n == 0 || b->n == 0 || !far_tile_select_probe()) {
        return FAR_OK;
    }
    out->from = behind_means(plan, outside_skips(plan, first_uniform(plan, layout, a, b)));
    out->from = behind_first_dense(plan, out->from);
    out->theta_in = theta_before(plan, out->from);
    int curves = out->theta_in == FAR_THETA_CARRIED ? 2 : 1; /* of Theta */
    if (cost_of_layers(plan, layout, out->from) <= curves) {
        return FAR_OK;
    }
    probe p = {0};
    workspace *w = NULL;
    FAR_TRY(far_alloc(ctx, 1, &w));
    FAR_TRY(probe_create(ctx, plan, layout, a, out, &p));
    choose(&p, fmax(largest(a), largest(b)), w, out);
done:
    probe_clear(ctx, &p);
    far_free(ctx, w);
    return st;
}
