/*
 * The diagonal k(x, x) over whole ranges of |x|, by interval arithmetic.
 *
 * With X = |x|^2 / d the line of all X > 0 is two cells, 0 < u <= 1 with X = u or X = 1 / u, so
 * that both ends are u = 0. On a cell of u everything is an interval:
 *
 *     K(x, x) = c u^e        c an interval above 0, e a number: powers of u stay exact at u = 0
 *     t = Theta(x, x) / K(x, x)
 *     mu = mean / sqrt(K(x, x))
 *
 * Norms leave t alone. Activations need, of q = K(x, x), the duals V = E phi^2, S = E phi'^2,
 * G = E (z phi')^2 and the mean over an interval of q:
 *
 *     fold, powers    V / q^p, S q / V, G / V and mu are constants
 *     soft signs      V increases, V / q, S and G <= V decrease or follow from them, q S increases:
 *                     phi is odd, phi(z) / z and phi' decrease for z > 0, so that phi(sqrt x)^2 is
 *                     concave; each pair of S is proportional to (1 + s^2 + s'^2)^(-1/2)
 *     soft relus      V / q and mean / sqrt(q) increase; S and G / q change with log q by no more
 *                     than the constants below
 *     sine            V = (1 - exp(-2 q)) / 2, S q / V = q coth q
 *
 * so values at the ends of the interval, or at its middle, enclose all others. Long double with
 * every operation widened by more than it can have rounded.
 */
#include "diagonal.h"

#include <float.h>
#include <math.h>

#define PI 3.141592653589793238462643383279502884L
#define ROUNDING 4e-19L     /* relative, of one operation: four units of the last place */
#define LIBRARY 1e-17L      /* of expl, powl, tanhl, logl */
#define MOMENT_DOUBT 1e-14L /* of far_activation_moments, sums over the terms of a mixture */
#define GAMMA_DOUBT 1e-15L  /* of tgammal */
#define GAP 1e-4
#define AT_ONCE 1e-12
enum { MOST_CELLS = 1 << 11 };

/* ---- intervals ------------------------------------------------------------------------------- */

typedef struct interval {
    long double lo, hi;
} interval;

static interval widened(long double lo, long double hi, long double doubt)
{
    if (isnan(lo) || isnan(hi)) {
        return (interval){-INFINITY, INFINITY};
    }
    lo = fminl(lo, LDBL_MAX); /* a limit: what tends to it is finite */
    return (interval){lo - fabsl(lo) * doubt - LDBL_MIN, hi + fabsl(hi) * doubt + LDBL_MIN};
}

static interval positive(interval a)
{
    return (interval){fmaxl(a.lo, 0), a.hi};
}

static interval point(long double value)
{
    return (interval){value, value};
}

static interval plus(interval a, interval b)
{
    interval sum = widened(a.lo + b.lo, a.hi + b.hi, ROUNDING);
    return a.lo >= 0 && b.lo >= 0 ? positive(sum) : sum;
}

static bool is_zero(interval a)
{
    return a.lo == 0 && a.hi == 0;
}

/* 0 times infinity is 0: the ends of intervals are limits of finite numbers. */
static long double product(long double a, long double b)
{
    return a == 0 || b == 0 ? 0 : a * b;
}

static interval times(interval a, interval b)
{
    if (is_zero(a) || is_zero(b)) {
        return point(0);
    }
    long double p = product(a.lo, b.lo), q = product(a.lo, b.hi);
    long double r = product(a.hi, b.lo), s = product(a.hi, b.hi);
    interval all =
        widened(fminl(fminl(p, q), fminl(r, s)), fmaxl(fmaxl(p, q), fmaxl(r, s)), ROUNDING);
    return a.lo >= 0 && b.lo >= 0 ? positive(all) : all;
}

static interval scaled(interval a, long double by)
{
    return times(a, widened(by, by, ROUNDING));
}

/* 1 / a for a >= 0. */
static interval inverse(interval a)
{
    return positive(widened(1 / a.hi, a.lo > 0 ? 1 / a.lo : INFINITY, ROUNDING));
}

static interval over(interval a, interval b)
{
    return times(a, inverse(b));
}

static interval root(interval a)
{
    return positive(widened(sqrtl(fmaxl(a.lo, 0)), sqrtl(a.hi), ROUNDING));
}

/* a^p for a >= 0, p >= 0. */
static interval power(interval a, long double p)
{
    return p == 0 ? point(1) : positive(widened(powl(a.lo, p), powl(a.hi, p), LIBRARY));
}

static interval meet(interval a, interval b)
{
    return (interval){fmaxl(a.lo, b.lo), fminl(a.hi, b.hi)};
}

/* ---- c u^e ----------------------------------------------------------------------------------- */

typedef struct size {
    interval c;
    long double e;
} size;

static size plain(interval c)
{
    return (size){c, 0};
}

static size size_plus(interval u, size a, size b)
{
    long double e = fminl(a.e, b.e);
    return (size){plus(times(a.c, power(u, a.e - e)), times(b.c, power(u, b.e - e))), e};
}

static size size_times(size a, interval by)
{
    return (size){times(a.c, by), a.e};
}

static interval size_value(interval u, size a)
{
    return a.e >= 0 ? times(a.c, power(u, a.e)) : over(a.c, power(u, -a.e));
}

static interval size_over(interval u, size a, size b)
{
    return size_value(u, (size){over(a.c, b.c), a.e - b.e});
}

/* ---- activations over an interval of q ------------------------------------------------------- */

typedef struct duals {
    size q;          /* V gain^2 */
    interval slope;  /* S q / V */
    interval scaled; /* G / V */
    interval mu;
} duals;

static long double sign_of(long double value)
{
    return value < 0 ? -1 : 1;
}

static duals fold_duals(const far_activation *a, size q, interval mu)
{
    long double all = a->linear * a->linear + a->folded * a->folded;
    long double mean = a->folded * sqrtl(2 / PI) / sqrtl(all) * sign_of(a->gain);
    bool same = a->kind == FAR_LAYER_IDENTITY;
    interval gain = widened(a->gain * a->gain * all, a->gain * a->gain * all, 4 * ROUNDING);
    return (duals){size_times(q, positive(gain)), point(1), point(1),
                   same ? scaled(mu, sign_of(a->gain)) : widened(mean, mean, 4 * ROUNDING)};
}

static interval half_moment(long double p) /* E[max(u, 0)^p], u ~ N(0, 1) */
{
    long double m = exp2l(p / 2) * tgammal((p + 1) / 2) / (2 * sqrtl(PI));
    return positive(widened(m, m, GAMMA_DOUBT));
}

/* max(z, 0)^p: S q / V = p^2 m_{2p-2} / m_{2p} = p^2 / (2 p - 1). */
static duals power_duals(const far_activation *a, size q)
{
    long double p = a->power;
    interval all = half_moment(2 * p),
             gain = widened(a->gain * a->gain, a->gain * a->gain, ROUNDING);
    size v = {times(times(power(q.c, p), all), gain), q.e * p};
    long double slope = p * p / (2 * p - 1);
    return (duals){v, widened(slope, slope, 8 * ROUNDING), widened(p * p, p * p, ROUNDING),
                   scaled(over(half_moment(p), root(all)), sign_of(a->gain))};
}

/* What is needed at a single q, with the units taken out: V / unit, S, G / unit, mean / sqrt(q). */
typedef struct moments {
    long double square, slope, scaled, mean;
} moments;

static moments moments_at(const far_activation *a, long double q, bool in_q)
{
    far_moments m = far_activation_moments(a, far_big_from(sqrtl(q)));
    far_big unit = far_big_from(in_q ? q : 1);
    return (moments){far_big_coef(far_big_div(m.square, unit)), far_big_coef(m.slope),
                     far_big_coef(far_big_div(m.scaled, unit)),
                     far_big_coef(far_big_div(m.mean, far_big_from(sqrtl(q))))};
}

/* The largest interval with these ends, whichever is the larger. */
static interval between(long double a, long double b)
{
    return positive(widened(fminl(a, b), fmaxl(a, b), MOMENT_DOUBT));
}

static long double mixture_rate(const far_activation *a, long double p)
{
    long double sum = 0;
    for (int m = 0; m < a->terms; m++) {
        sum += a->weight[m] * powl(a->rate[m], p);
    }
    return sum * (1 + GAMMA_DOUBT);
}

/* Soft signs. sup |z phi'| and sup |z^2 phi''| are those of erf, 0.4840 and 0.9251, for every term
 * of a mixture: so |dG / dlog q| = |E[z phi' (z phi' + z^2 phi'')]| is below 0.69. */
#define SIGN_SCALED_RATE 0.69L
#define SIGN_SCALED_MOST 0.2343L /* sup (z phi')^2 */

static moments sign_at(const far_activation *a, long double q)
{
    long double slope = 2 / sqrtl(PI) * mixture_rate(a, 1);
    if (q == 0) {
        return (moments){0, slope * slope, 0, 0};
    }
    return isinf(q) ? (moments){1, 0, 0, 0} : moments_at(a, q, false);
}

static interval sign_scaled(const far_activation *a, interval q, interval v)
{
    interval g = {0, SIGN_SCALED_MOST};
    if (q.lo > 0 && !isinf(q.hi)) {
        long double middle = sqrtl(q.lo) * sqrtl(q.hi);
        long double at = sign_at(a, middle).scaled, slack = SIGN_SCALED_RATE * logl(q.hi / q.lo);
        g = meet(g, positive(widened(at - slack, at + slack, MOMENT_DOUBT)));
    }
    return meet(over(g, v), (interval){0, 1}); /* z phi' <= phi */
}

static duals sign_duals(const far_activation *a, interval u, size q)
{
    interval at = size_value(u, q);
    moments low = sign_at(a, at.lo), high = sign_at(a, at.hi);
    interval v = between(low.square, high.square), s = between(high.slope, low.slope);
    long double start = sign_at(a, 0).slope; /* V / q at 0: phi'(0)^2 */
    long double most = at.lo > 0 && !isinf(at.lo) ? low.square / at.lo : start;
    interval share = between(isinf(at.hi) ? 0 : high.square / at.hi, most);
    long double bulk = isinf(at.hi) ? INFINITY : high.slope * at.hi;
    interval slope = over(between(isinf(at.lo) ? 0 : low.slope * at.lo, bulk), v);
    interval gain = widened(a->gain * a->gain, a->gain * a->gain, ROUNDING);
    size out = q.e > 0 ? size_times(q, share) : plain(v);
    return (duals){size_times(out, gain), meet(slope, over(s, share)), sign_scaled(a, at, v),
                   point(0)};
}

/* Soft relus, term by term with x = l z: phi' = Phi(x) + x n(x) lies in [-0.13, 1.13], and z phi''
 * = n(x) (2 x - x^3), of size at most 0.3314 and 0.798 |x|, has integral 1.175 in size. So
 * |dS / dlog q| = |E[z phi' phi'']| is at most 0.3745, 0.53 / (l sqrt q) and 0.72 l sqrt q, which
 * sum from q to infinity, and from 0 to q, to the two below; and likewise for G / q =
 * E[u^2 phi'^2], where E[u^2 |z phi''|] is at most 3.83 / (l sqrt q)^3 and 1.28 l sqrt q. */
#define RELU_RATE 0.3745L
#define RELU_SLOPE_FAR 1.06L
#define RELU_SLOPE_NEAR 1.45L
#define RELU_SCALED_FAR 2.9L
#define RELU_SCALED_NEAR 2.9L

static moments relu_at(const far_activation *a, long double q)
{
    if (q == 0) {
        return (moments){0.25L, 0.25L, 0.25L, 0};
    }
    return isinf(q) ? (moments){0.5L, 0.5L, 0.5L, 1 / sqrtl(2 * PI)} : moments_at(a, q, true);
}

static interval around(long double middle, long double slack)
{
    return positive(widened(middle - slack, middle + slack, MOMENT_DOUBT));
}

typedef struct relu_slopes {
    interval s, g; /* S, G / q */
} relu_slopes;

static relu_slopes soft_slopes(const far_activation *a, interval q)
{
    relu_slopes out = {{0, 1.28L}, {0, 1.28L}};
    if (q.lo > 0 && !isinf(q.hi)) {
        moments m = relu_at(a, sqrtl(q.lo) * sqrtl(q.hi));
        long double far = 0.53L * mixture_rate(a, -1) / sqrtl(q.lo);
        long double near = 0.72L * mixture_rate(a, 1) * sqrtl(q.hi);
        long double most = logl(q.hi / q.lo) * (1 + GAMMA_DOUBT) / 2 + GAMMA_DOUBT;
        out.s = meet(out.s, around(m.slope, most * fminl(RELU_RATE, fminl(far, near))));
        out.g = meet(out.g, around(m.scaled, most * RELU_RATE));
    }
    if (q.lo > 0) {
        long double end = sqrtl(q.lo), cube = q.lo * end;
        out.s = meet(out.s, around(0.5L, RELU_SLOPE_FAR * mixture_rate(a, -1) / end));
        out.g = meet(out.g, around(0.5L, RELU_SCALED_FAR * mixture_rate(a, -3) / cube));
    }
    long double start = sqrtl(q.hi) * mixture_rate(a, 1);
    out.s = meet(out.s, around(0.25L, RELU_SLOPE_NEAR * start));
    out.g = meet(out.g, around(0.25L, RELU_SCALED_NEAR * start));
    return out;
}

static duals relu_duals(const far_activation *a, interval u, size q)
{
    interval at = size_value(u, q), gain = widened(a->gain * a->gain, a->gain * a->gain, ROUNDING);
    moments low = relu_at(a, at.lo), high = relu_at(a, at.hi);
    interval v = between(low.square, high.square), mean = between(low.mean, high.mean);
    relu_slopes s = soft_slopes(a, at);
    return (duals){size_times(q, times(v, gain)), over(s.s, v), over(s.g, v),
                   scaled(over(mean, root(v)), sign_of(a->gain))};
}

/* q coth q and q / (1 - exp(-2 q)), both increasing. */
static long double cotangent(long double q)
{
    return q == 0 ? 1 : q / tanhl(q);
}

static long double sine_share(long double q)
{
    return q == 0 ? 0.5L : q / -expm1l(-2 * q);
}

/* 1 + (1 - 4 q) exp(-2 q) falls to q = 3/4 and rises from there; 2 at 0, 1 at infinity. */
static interval sine_wave(interval q)
{
    long double low = isinf(q.lo) ? 1 : 1 + (1 - 4 * q.lo) * expl(-2 * q.lo);
    long double high = isinf(q.hi) ? 1 : 1 + (1 - 4 * q.hi) * expl(-2 * q.hi);
    bool inside = q.lo < 0.75L && q.hi > 0.75L;
    long double least = inside ? 1 - 2 * expl(-1.5L) : fminl(low, high);
    return positive(widened(least, fmaxl(low, high), 10 * LIBRARY));
}

static duals sine_duals(const far_activation *a, interval u, size q)
{
    interval w2 = widened(a->w0 * a->w0, a->w0 * a->w0, ROUNDING);
    interval gain = widened(a->gain * a->gain, a->gain * a->gain, ROUNDING);
    size z = size_times(q, w2);
    interval at = size_value(u, z);
    interval v = positive(widened(-0.5L * expm1l(-2 * at.lo), -0.5L * expm1l(-2 * at.hi), LIBRARY));
    interval share = positive(widened(sine_share(at.lo), sine_share(at.hi), 2 * LIBRARY));
    size out = z.e > 0 ? size_times(z, inverse(scaled(share, 2))) : plain(v);
    return (duals){size_times(out, gain),
                   positive(widened(cotangent(at.lo), cotangent(at.hi), 2 * LIBRARY)),
                   times(share, sine_wave(at)), point(0)};
}

static duals duals_of(const far_activation *a, interval u, size q, interval mu)
{
    switch (a->family) {
    case FAR_FAMILY_FOLD:
        return fold_duals(a, q, mu);
    case FAR_FAMILY_POWER:
    case FAR_FAMILY_TABLE:
        return power_duals(a, q);
    case FAR_FAMILY_SOFT_SIGN:
        return sign_duals(a, u, q);
    case FAR_FAMILY_SOFT_RELU:
        return relu_duals(a, u, q);
    case FAR_FAMILY_SINE:
        break;
    }
    return sine_duals(a, u, q);
}

/* ---- operations over a cell ------------------------------------------------------------------ */

typedef struct state {
    size q;
    interval t, mu;
    bool lost; /* Theta without K: t says nothing */
} state;

/* Weights of 0 (and no bias) make K = 0 for every x, and a norm leaves it at that. */
static bool is_nothing(const state *x)
{
    return is_zero(x->q.c);
}

static void make_nothing(state *x)
{
    x->q = plain(point(0));
    x->t = point(1);
    x->mu = point(0);
}

/* share = w^2 q / q_new. */
static void cell_dense(const far_op *op, int64_t d, interval u, state *x)
{
    interval w2 = widened(op->w * op->w, op->w * op->w, ROUNDING);
    size bias = plain(positive(widened(op->b * op->b, op->b * op->b, ROUNDING)));
    size old = x->q, carried = size_times(old, positive(w2));
    if (op->w == 0 || is_nothing(x)) {
        carried = plain(point(0));
    }
    if (is_nothing(&(state){.q = carried}) && op->b == 0) {
        make_nothing(x);
        x->lost = x->lost || (op->standard && (op->bias || !is_zero(old.c)));
        return;
    }
    x->q = op->b == 0 ? carried : size_plus(u, carried, bias);
    x->mu = point(0);
    interval share = is_zero(carried.c) ? point(0)
                     : op->b == 0       ? point(1)
                                        : inverse(plus(point(1), size_over(u, bias, carried)));
    if (!op->standard) {
        x->t = plus(point(1), times(x->t, share));
        return;
    }
    interval weights = scaled(size_over(u, old, x->q), (long double)(op->fan_in ? op->fan_in : d));
    interval one = op->bias ? inverse(size_value(u, x->q)) : point(0);
    if (op->w != 0) {
        weights = scaled(share, (long double)(op->fan_in ? op->fan_in : d) / (op->w * op->w));
    }
    x->t = plus(plus(weights, one), times(x->t, share));
}

/* q / (q + eps), with q used once. */
static size eps_size(interval u, size q, long double eps)
{
    if (q.e > 0) {
        return (size){inverse(plus(power(u, q.e), over(point(eps), q.c))), q.e};
    }
    return plain(inverse(plus(point(1), over(point(eps), size_value(u, q)))));
}

static void cell_scale(const far_op *op, interval u, state *x)
{
    if (is_nothing(x)) {
        make_nothing(x);
    } else if (op->fixed) {
        x->q = size_times(x->q, inverse(widened(1 + op->eps, 1 + op->eps, ROUNDING)));
    } else if (op->eps == 0) {
        x->q = plain(point(1));
    } else {
        x->q = eps_size(u, x->q, op->eps);
    }
}

static void cell_center(const far_op *op, interval u, state *x)
{
    interval mean2 = times(x->mu, x->mu);
    interval left = positive(widened(1 - mean2.hi, 1 - fmaxl(mean2.lo, 0), ROUNDING));
    x->q = size_times(x->q, left);
    x->t = over(x->t, left);
    x->mu = point(0);
    cell_scale(op, u, x);
}

static void cell_shift(const far_op *op, interval u, state *x)
{
    x->lost = x->lost || (op->beta && is_nothing(x));
    interval shift = op->beta ? scaled(inverse(size_value(u, x->q)), op->beta) : point(0);
    x->t = plus(plus(x->t, point(op->gamma)), shift);
}

/* With s = sqrt(q_b / q_a) and m = mu_a mu_b, q = q_a (1 + s (s + 2 m)). */
static interval part(interval s, interval m)
{
    interval rest = times(s, plus(s, scaled(m, 2)));
    return inverse(positive(plus(point(1), rest)));
}

static void cell_add(const far_op *op, interval u, const state *a, state *x)
{
    state b = *x;
    x->lost = a->lost || b.lost;
    if (is_nothing(a)) {
        return;
    }
    if (is_nothing(&b)) {
        x->q = a->q;
        x->t = plus(a->t, point(op->gamma));
        x->mu = a->mu;
        return;
    }
    interval m = times(a->mu, b.mu), s = root(size_over(u, b.q, a->q));
    interval of_a = part(s, m), of_b = part(root(size_over(u, a->q, b.q)), m);
    size cross = {scaled(times(root(times(a->q.c, b.q.c)), m), 2), (a->q.e + b.q.e) / 2};
    x->q = size_plus(u, a->q, b.q);
    x->q = is_zero(m) ? x->q : size_plus(u, x->q, cross);
    x->q.c = positive(x->q.c);
    x->t = plus(times(plus(a->t, point(op->gamma)), of_a), times(b.t, of_b));
    x->mu = plus(times(a->mu, root(of_a)), times(b.mu, root(of_b)));
}

static void cell_activate(const far_op *op, interval u, state *x)
{
    if (is_nothing(x)) {
        make_nothing(x); /* phi(0) = 0 */
        return;
    }
    duals y = duals_of(op->activation, u, x->q, x->mu);
    x->t = plus(times(x->t, y.slope), scaled(y.scaled, op->gamma));
    x->q = y.q;
    x->mu = y.mu;
}

/* One operation on intervals: x holds bounds for every input whose norm lies in the cell. The same
 * operations as in point_run.c, which has them for one norm. */
static void cell_step(const far_op *op, int64_t d, interval u, state **stack, state *x)
{
    switch (op->kind) {
    case FAR_OP_DENSE:
        cell_dense(op, d, u, x);
        break;
    case FAR_OP_SCALE:
        cell_scale(op, u, x);
        break;
    case FAR_OP_CENTER:
        cell_center(op, u, x);
        break;
    case FAR_OP_SHIFT:
        cell_shift(op, u, x);
        break;
    case FAR_OP_ACTIVATE:
        cell_activate(op, u, x);
        break;
    case FAR_OP_PUSH:
        *(*stack)++ = *x;
        break;
    case FAR_OP_ADD:
        cell_add(op, u, --*stack, x);
        break;
    }
}

/* ---- branch and bound ------------------------------------------------------------------------ */

/* X = u, or 1 / u if far. */
typedef struct cell {
    interval u;
    bool far;
    double upper, lower;
} cell;

typedef struct search {
    far_ctx *ctx;
    const far_plan *plan;
    int64_t d;
    bool nngp;
    state *stack;
    cell *heap; /* the largest upper first */
    int64_t count;
} search;

static double round_up(long double value)
{
    double near = (double)value;
    return (long double)near >= value ? near : nextafter(near, INFINITY);
}

static void enclose(const search *s, cell *c)
{
    state x = {.q = {point(1), c->far ? -1 : 1}}, *stack = s->stack;
    for (int64_t i = 0; i < s->plan->count; i++) {
        cell_step(&s->plan->ops[i], s->d, c->u, &stack, &x);
    }
    interval q = size_value(c->u, x.q), k = s->nngp ? q : times(x.t, q);
    c->upper = k.hi >= 0 && (s->nngp || !x.lost) ? round_up(k.hi) : INFINITY;
    c->lower = (double)k.lo;
}

static void push(search *s, cell c)
{
    enclose(s, &c);
    int64_t i = s->count++;
    for (; i > 0 && s->heap[(i - 1) / 2].upper < c.upper; i = (i - 1) / 2) {
        s->heap[i] = s->heap[(i - 1) / 2];
    }
    s->heap[i] = c;
}

static cell pop(search *s)
{
    cell top = s->heap[0], last = s->heap[--s->count];
    int64_t i = 0;
    for (int64_t child; (child = 2 * i + 1) < s->count; i = child) {
        child += child + 1 < s->count && s->heap[child + 1].upper > s->heap[child].upper;
        if (last.upper >= s->heap[child].upper) {
            break;
        }
        s->heap[i] = s->heap[child];
    }
    s->heap[i] = last;
    return top;
}

static long double cut_at(interval u)
{
    return u.lo > 0 ? sqrtl(u.lo) * sqrtl(u.hi) : u.hi / 16;
}

static void first_cells(search *s, const far_norm_range *norms)
{
    long double most = norms->most * norms->most;
    for (int64_t k = 1; norms->ends_only && k <= norms->groups; k++) {
        long double x = most * ((long double)k / norms->groups);
        push(s, (cell){.u = positive(widened(x, x, 8 * ROUNDING))});
    }
    if (norms->ends_only) {
        return;
    }
    push(s, (cell){.u = {0, fminl(1, most * (1 + 8 * ROUNDING))}});
    if (most > 1) {
        push(s, (cell){.u = {1 / most * (1 - 8 * ROUNDING), 1}, .far = true});
    }
}

static void branch(search *s, double reached, far_diagonal_bound *out)
{
    out->at_once = s->heap[0].upper <= reached * (1 + AT_ONCE);
    out->flat = out->at_once;
    for (int64_t i = 0; i < s->count; i++) {
        out->flat = out->flat && s->heap[i].lower >= reached * (1 - AT_ONCE);
    }
    out->cells = s->count;
    while (s->heap[0].upper > reached * (1 + GAP) && out->cells < MOST_CELLS) {
        cell worst = pop(s), half = worst;
        long double middle = cut_at(worst.u);
        if (!(middle > worst.u.lo && middle < worst.u.hi)) {
            push(s, worst);
            break;
        }
        worst.u.hi = half.u.lo = middle;
        push(s, worst);
        push(s, half);
        out->cells += 2;
    }
    out->upper = s->heap[0].upper;
}

far_status far_diagonal_enclose(far_ctx *ctx, const far_plan *plan, int64_t d, far_kernel_kind kind,
                                const far_norm_range *norms, double reached,
                                far_diagonal_bound *out)
{
    far_status st;
    search s = {.ctx = ctx, .plan = plan, .d = d, .nngp = kind == FAR_KERNEL_NNGP};
    int64_t room = MOST_CELLS + 4 + (norms->ends_only ? norms->groups : 0);
    *out = (far_diagonal_bound){.upper = 0, .at_once = true, .flat = true};
    if (norms->most == 0) { /* no norm but 0 */
        return FAR_OK;
    }
    FAR_TRY(far_alloc(ctx, plan->depth + 1, &s.stack));
    FAR_TRY(far_alloc(ctx, room, &s.heap));
    first_cells(&s, norms);
    branch(&s, reached, out);
done:
    far_free(ctx, s.stack);
    far_free(ctx, s.heap);
    return st;
}
