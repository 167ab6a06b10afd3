/*
 * The supremum of Theta(x, x) over all x. The diagonal depends on x only through the norm r of what
 * the first dense sees, so this is a search over one ray, closed at infinity: Theta(r) at r = 0 and
 * r = infinity is exact, in between a dense scan in log r is refined around its best point. That
 * finds the supremum but proves nothing; diagonal.c proves an upper bound on it.
 */
#include "supremum.h"
#include "diagonal.h"
#include "points.h"

#include <math.h>

#define SCAN_OCTAVES                                                                               \
    70                /* past 2^-70 and 2^70 nothing changes in double precision but the limits    \
                       */
#define SCAN_STEPS 16 /* per octave */
#define REFINE_STEPS 80
#define FLAT 1e-16L
#define VALUE_DOUBT 1e-14 /* of the diagonal at one point */

/* The norms that the input layers let through; without a bound, the largest one that points of norm
 * |x| / sqrt(d) = t reach is growth t^power. */
typedef struct range {
    long double most;  /* INFINITY: all */
    bool most_reached; /* finite: some x has it */
    bool ends_only;    /* nothing but most sqrt(k / groups), k = 0, 1, ... (a norm without eps) */
    int64_t groups;
    bool centred;   /* by a layer norm */
    bool activated; /* the bound comes from an activation: centring may keep it out of reach */
    long double growth, power;
} range;

typedef struct ray {
    const far_plan *plan;
    int64_t d;
    far_workbench *bench;
    const far_op *lost; /* of the first norm whose Theta cannot be computed */
    far_kernel_kind kind;
} ray;

static far_big theta_at(ray *r, far_big norm)
{
    far_point x = {.r = norm};
    far_point_run(r->plan, NULL, r->d, &x, r->bench);
    r->lost = r->lost || r->kind == FAR_KERNEL_NNGP ? r->lost : r->bench->lost;
    return r->kind == FAR_KERNEL_NNGP ? far_big_square(x.r) : x.theta;
}

static long double value_at(ray *r, long double norm)
{
    return far_big_coef(theta_at(r, far_big_from(norm)));
}

static range bounded_by(long double most, bool reached, bool ends_only)
{
    return (range){.most = most, .most_reached = reached, .ends_only = ends_only, .groups = 1};
}

/* With eps, of what already has a bound. */
static far_status tame(far_ctx *ctx, const far_input_op *op, range *now)
{
    long double square = now->most * now->most;
    bool centres = op->kind == FAR_LAYER_LN && !now->centred;
    if ((now->activated && op->kind == FAR_LAYER_LN) || now->groups > 1 || op->groups > 1) {
        return far_fail(ctx, FAR_ERR_ARCH,
                        "the supremum of Theta(x, x) is not known for these layers on the input; "
                        "put a dense between them");
    }
    *now = (range){.most = sqrtl(square / (square + op->eps)),
                   .most_reached = now->most_reached,
                   .ends_only = now->ends_only && !centres,
                   .groups = 1,
                   .activated = now->activated,
                   .centred = now->centred || centres};
    return FAR_OK;
}

static far_status after_norm(far_ctx *ctx, const far_input_op *op, int64_t d, range *now)
{
    bool centres = op->kind == FAR_LAYER_LN;
    if (now->most == 0 || (centres && d == op->groups)) { /* a feature minus itself */
        *now = bounded_by(0, true, true);
    } else if (op->eps == 0) { /* groups that are constant have norm 0, all others 1 */
        *now = bounded_by(1, true, true);
        now->groups = centres ? op->groups : 1;
        now->centred = centres;
    } else if (isinf(now->most)) {
        *now = bounded_by(1, false, false);
        now->centred = centres;
    } else {
        return tame(ctx, op, now);
    }
    return FAR_OK;
}

/* The steepest direction: a power above 1 grows fastest with all of x in one feature. */
static void grow(const far_input_op *op, int64_t d, range *now)
{
    long double power = op->kind == FAR_LAYER_RELU ? op->power : 1;
    long double focus = power > 1 ? powl(d, (power - 1) / 2) : 1;
    long double slope = op->kind == FAR_LAYER_LEAKY_RELU ? fmaxl(1, fabsl(op->slope)) : 1;
    now->growth = op->gain * slope * focus * powl(now->growth, power);
    now->power *= power;
}

static far_status after_activation(far_ctx *ctx, const far_input_op *op, int64_t d, range *now)
{
    if (!isinf(now->most)) {
        return far_fail(ctx, FAR_ERR_ARCH,
                        "the supremum of Theta(x, x) is not known for an activation on a "
                        "normalised input; put a dense before the activation");
    }
    if (op->kind == FAR_LAYER_ERF || op->kind == FAR_LAYER_TANH || op->kind == FAR_LAYER_SIN) {
        *now = bounded_by(op->gain, op->kind == FAR_LAYER_SIN, false);
        now->activated = true;
    } else {
        grow(op, d, now);
    }
    return FAR_OK;
}

static far_status input_range(far_ctx *ctx, const far_plan *plan, int64_t d, range *out)
{
    *out = (range){.most = INFINITY, .groups = 1, .growth = 1, .power = 1};
    far_status st = FAR_OK;
    for (int64_t i = 0; i < plan->input_count && st == FAR_OK; i++) {
        const far_input_op *op = &plan->inputs[i];
        if (op->kind == FAR_LAYER_BATCHNORM) {
            out->most /= sqrtl(1 + op->eps);
            out->growth /= sqrtl(1 + op->eps);
        } else if (far_layer_is_norm(op->kind)) {
            st = after_norm(ctx, op, d, out);
        } else {
            st = after_activation(ctx, op, d, out);
        }
    }
    return st;
}

static long double scan_point(const range *r, int step)
{
    long double norm = exp2l((long double)step / SCAN_STEPS);
    return isinf(r->most) ? norm : r->most * norm / (1 + norm);
}

/* Golden section between two neighbours of the best scanned point. */
static void refine(ray *r, long double low, long double high, far_supremum *best)
{
    const long double golden = (sqrtl(5) - 1) / 2;
    for (int i = 0; i < REFINE_STEPS; i++) {
        long double a = high - golden * (high - low), b = low + golden * (high - low);
        long double fa = value_at(r, a), fb = value_at(r, b);
        long double f = fmaxl(fa, fb);
        if ((double)f > best->value) {
            best->value = (double)f;
            best->radius = (double)(fa >= fb ? a : b);
        }
        if (fa >= fb) {
            high = b;
        } else {
            low = a;
        }
    }
}

static void consider(far_supremum *best, long double value, long double radius, bool attained)
{
    if ((double)value > best->value) {
        best->value = (double)value;
        best->radius = (double)radius;
        best->attained = attained;
    }
}

/* All norms from 2^-70 to 2^70; beyond, nothing changes in double precision but the limits. A
 * function that is flat to rounding is called constant, so that noise does not choose a norm. */
static void scan(ray *r, const range *norms, far_supremum *best)
{
    long double at_zero = value_at(r, 0), least = INFINITY, most = 0;
    int at = 0;
    for (int step = -SCAN_OCTAVES * SCAN_STEPS; step <= SCAN_OCTAVES * SCAN_STEPS; step++) {
        long double value = value_at(r, scan_point(norms, step));
        least = fminl(least, value);
        if (value > most) {
            most = value;
            at = step;
        }
        consider(best, value, scan_point(norms, step), true);
    }
    bool flat = most - least <= FLAT * most; /* the same everywhere, but perhaps at the ends */
    if (flat && best->value <= (double)fmaxl(most, at_zero)) {
        best->constant = fabsl(most - at_zero) <= FLAT * most;
        best->radius = at_zero > most ? 0 : 1;
        best->attained = true;
        return;
    }
    if (best->attained && best->radius > 0) {
        refine(r, scan_point(norms, at - 1), scan_point(norms, at + 1), best);
    }
}

static far_supremum runs_away(far_big theta, double radius, const range *norms)
{
    double order = theta.k * (double)norms->power;
    return (far_supremum){.value = INFINITY,
                          .radius = radius,
                          .order = radius > 0 ? order : -order,
                          .slope = (double)(far_big_coef(theta) * powl(norms->growth, theta.k))};
}

static void try_ends(ray *r, const range *norms, far_supremum *best)
{
    long double least = value_at(r, 0);
    for (int64_t k = 1; k <= norms->groups; k++) {
        long double norm = norms->most * sqrtl((long double)k / norms->groups);
        long double value = value_at(r, norm);
        least = fminl(least, value);
        consider(best, value, norm, true);
    }
    best->constant = best->value == (double)least;
}

/* The ends of the ray first, where Theta is exact as a leading power of the norm: a positive one
 * means that there is no supremum. Then what lies between them. */
static void search(ray *r, const range *norms, far_supremum *best)
{
    bool whole_line = isinf(norms->most);
    far_big end = theta_at(r, whole_line ? far_big_make(1, 0, 1) : far_big_from(norms->most));
    far_big start = theta_at(r, far_big_make(1, 0, -1)); /* r -> 0, but not 0 */
    if (end.k > 0) {
        *best = runs_away(end, INFINITY, norms);
        return;
    }
    if (start.k > 0 && !norms->ends_only) {
        *best = runs_away(start, 0, norms);
        return;
    }
    best->bounded = 1;
    best->value = -INFINITY;
    consider(best, value_at(r, 0), 0, true);
    consider(best, far_big_coef(end), norms->most, !whole_line && norms->most_reached);
    if (norms->ends_only) {
        try_ends(r, norms, best);
    } else {
        scan(r, norms, best);
    }
    if (best->constant) {
        best->radius = 0;
        best->attained = 1;
    }
}

static far_status check_range(far_ctx *ctx, const ray *r, const far_supremum *found)
{
    if (r->lost) {
        return far_fail_lost(ctx, r->lost, "the supremum of Theta(x, x)");
    }
    bool out_there = !found->bounded && found->radius > 0;
    if (!isfinite(found->slope) || (out_there && found->slope == 0)) {
        return far_fail(ctx, FAR_ERR_RANGE,
                        "Theta(x, x) is unbounded: it grows like (|x| / sqrt(d))^%g, with a factor "
                        "outside the range of float64; put a norm in the network",
                        found->order);
    }
    if (found->bounded && !isfinite(found->value)) {
        return far_fail(ctx, FAR_ERR_RANGE,
                        "the supremum of Theta(x, x) is finite but too large for float64; use "
                        "smaller weights behind the norm");
    }
    return FAR_OK;
}

/* The point 0 is no part of diagonal.c's cells. */
static far_status prove(ray *r, far_ctx *ctx, const range *norms, far_supremum *out)
{
    far_diagonal_bound bound;
    far_norm_range all = {norms->most, norms->ends_only, norms->groups};
    far_status st = far_diagonal_enclose(ctx, r->plan, r->d, r->kind, &all, out->value, &bound);
    if (st != FAR_OK) {
        return st;
    }
    out->proven = fmax(bound.upper, (double)value_at(r, 0) * (1 + VALUE_DOUBT));
    out->constant = out->constant && bound.flat;
    out->proven_by = isinf(out->proven)               ? NULL
                     : bound.at_once && out->constant ? "constant"
                     : bound.at_once                  ? "monotone"
                                                      : "branch and bound";
    return FAR_OK;
}

far_status far_kernel_supremum(far_ctx *ctx, const far_kernel *k, int64_t d, far_supremum *out)
{
    return far_supremum_of(ctx, k, FAR_KERNEL_NTK, d, out);
}

/* First the largest value along a ray of norms (the kernel depends on |x| alone), then a proof that
 * nothing is above it by more than the gap. With activations on the raw input the
 * value is known, but not the norm of an input that takes it. */
far_status far_supremum_of(far_ctx *ctx, const far_kernel *k, far_kernel_kind kind, int64_t d,
                           far_supremum *out)
{
    far_status st;
    far_workbench bench = {0};
    range norms;
    if (!ctx || !k || !out || d < 1) {
        return far_fail(ctx, FAR_ERR_ARG, "needs a kernel, d >= 1 and an output");
    }
    *out = (far_supremum){0};
    ray r = {.plan = k->plan, .d = d, .bench = &bench, .kind = kind};
    FAR_TRY(far_check_groups(ctx, k->plan, d));
    FAR_TRY(far_workbench_create(ctx, k->plan, d, 0, false, &bench));
    FAR_TRY(input_range(ctx, k->plan, d, &norms));
    search(&r, &norms, out);
    FAR_TRY(check_range(ctx, &r, out));
    out->proven = INFINITY;
    if (out->bounded) {
        FAR_TRY(prove(&r, ctx, &norms, out));
    }
    if (k->plan->input_count > 0 && out->bounded && !out->constant) {
        out->radius = out->attained ? NAN : INFINITY;
    }
done:
    if (st != FAR_OK) {
        *out = (far_supremum){0};
    }
    far_workbench_clear(ctx, &bench);
    return st;
}
