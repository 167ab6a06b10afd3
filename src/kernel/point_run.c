/* One point through the operations of a plan. */
#include "hermite.h"
#include "points.h"

#include <math.h>

#define ROOT_HALF 0.707106781186547524400844362104849039L

/* Stand for points at infinity in the sine, by lambdas of their own. */
#define SINE_SCALE_MAX 1e300L
#define SINE_SCALE_SECOND 1e299L

/* ---- coefficients: where they go ------------------------------------------------------------- */

typedef struct sink {
    double *next;     /* NULL: not wanted */
    double *slope;    /* how they change with ln |x|; NULL: not wanted, and no rates are kept */
    long double most; /* instead of infinity where that will not do */
} sink;

static void put(sink *s, long double value, long double slope)
{
    if (s->next) {
        *s->next++ = (double)value;
    }
    if (s->slope) {
        *s->slope++ = (double)slope;
    }
}

/* growth: how ln(a / b) changes */
static long double put_ratio(sink *s, far_big a, far_big b, long double growth)
{
    long double ratio = far_big_limit(far_big_div(a, b));
    put(s, ratio, ratio * growth);
    return ratio;
}

static long double square_ratio(far_big a, far_big b)
{
    long double ratio = far_big_limit(far_big_div(a, b));
    return ratio * ratio;
}

/* ---- one point through one operation ---------------------------------------------------------
 * Rates first: they need the scales before and after. All shares are of squares that add up to 1,
 * so no rate comes from a difference of large ones. */

static void run_dense(const far_op *op, int64_t d, far_point *x, sink *s)
{
    far_big input = x->r, wr = far_big_scale(x->r, op->w), wp = far_big_scale(x->p, op->w);
    far_big theta = far_big_scale(x->theta, op->w * op->w);
    x->r = far_big_hypot(wr, far_big_from(op->b));
    long double al = far_big_limit(far_big_div(wr, x->r)) * ROOT_HALF;
    long double be = far_big_limit(far_big_div(far_big_from(op->b), x->r)) * ROOT_HALF;
    long double rate = x->r_rate, kept = 2 * al * al * rate, lost = 2 * be * be * rate;
    put(s, al, al * lost);
    put(s, be, -be * kept);
    x->r_rate = kept;
    if (!op->standard) {
        x->p = op->level ? x->r : far_big_hypot(x->r, wp);
        x->theta = far_big_add(far_big_square(x->r), theta);
        long double excess = lost + x->p_excess;
        x->p_excess = op->level ? 0 : square_ratio(wp, x->p) * excess;
        if (!op->plain) {
            put_ratio(s, x->r, x->p, -x->p_excess);
            put_ratio(s, wp, x->p, excess - x->p_excess);
        }
    } else {
        far_big weights = far_big_scale(input, sqrtl(op->fan_in ? op->fan_in : d));
        far_big bias = far_big_from(op->bias ? 1 : 0);
        x->p = far_big_hypot(far_big_hypot(weights, bias), wp);
        x->theta = far_big_add(far_big_add(far_big_square(weights), bias), theta);
        long double still = square_ratio(bias, x->p) * rate;
        long double passed = square_ratio(wp, x->p) * x->p_excess;
        put_ratio(s, wp, x->p, still + x->p_excess - passed);
        put_ratio(s, weights, x->p, still - passed);
        put_ratio(s, bias, x->p, still - passed - rate);
        x->p_excess = lost - still + passed;
    }
    if (op->fine) {
        put(s, al - (double)al, 0);
        put(s, be - (double)be, 0);
    }
    x->mu = x->mu_rate = 0;
}

/* Divides values by sigma. */
static void divide(far_point *x, far_big sigma)
{
    x->r = far_big_div(x->r, sigma);
    x->p = far_big_div(x->p, sigma);
    x->theta = far_big_div(x->theta, far_big_square(sigma));
}

static void run_scale(const far_op *op, far_point *x)
{
    far_big scale = op->fixed ? far_big_from(1) : x->r, eps = far_big_from(sqrtl(op->eps));
    if (op->eps > 0) {
        scale = far_big_hypot(scale, eps);
    }
    x->r_rate *= op->fixed ? 1 : square_ratio(eps, scale);
    divide(x, scale); /* without eps r is then 1 to the last bit */
}

static void run_center(const far_op *op, far_point *x, sink *s)
{
    long double nu = sqrtl((1 - x->mu) * (1 + x->mu)), nu_rate = -x->mu * x->mu_rate / nu;
    put(s, x->mu, x->mu_rate);
    put(s, nu, nu_rate);
    put(s, 1 / nu, -nu_rate / (nu * nu));
    x->r = far_big_scale(x->r, nu);
    x->r_rate += nu_rate / nu;
    x->p_excess -= nu_rate / nu;
    x->mu = x->mu_rate = 0;
    run_scale(op, x);
}

/* Theta <- Theta + gamma K + beta */
static void run_shift(const far_op *op, far_point *x, sink *s)
{
    far_big scale = far_big_scale(x->r, sqrtl(op->gamma)), shift = far_big_from(sqrtl(op->beta));
    far_big p = far_big_hypot(far_big_hypot(x->p, scale), shift);
    long double excess = square_ratio(x->p, p) * x->p_excess - square_ratio(shift, p) * x->r_rate;
    put_ratio(s, scale, p, -excess);
    put_ratio(s, x->p, p, x->p_excess - excess);
    put_ratio(s, shift, p, -x->r_rate - excess);
    x->theta = far_big_add(far_big_add(x->theta, far_big_square(scale)), far_big_square(shift));
    x->p = p;
    x->p_excess = excess;
}

/* Of one branch of a sum: nu = sqrt(1 - mu^2), its rate, and that of the mean over r. */
typedef struct branch {
    long double nu, nu_rate, spread_rate, mean_rate;
} branch;

static branch branch_of(const far_point *x)
{
    long double nu = sqrtl((1 - x->mu) * (1 + x->mu)), nu_rate = -x->mu * x->mu_rate / nu;
    return (branch){nu, nu_rate, x->r_rate + nu_rate / nu, x->mu * x->r_rate + x->mu_rate};
}

static void run_add(const far_op *op, const far_point *a, far_point *x, sink *s)
{
    far_point b = *x;
    branch of_a = branch_of(a), of_b = branch_of(&b);
    far_big ma = far_big_scale(a->r, a->mu), mb = far_big_scale(b.r, b.mu);
    far_big sa = far_big_scale(a->r, of_a.nu), sb = far_big_scale(b.r, of_b.nu);
    far_big mean = far_big_add(ma, mb), scale = far_big_scale(a->r, sqrtl(op->gamma));
    x->r = far_big_hypot(far_big_hypot(sa, sb), mean);
    x->p = far_big_hypot(far_big_hypot(a->p, b.p), scale);
    x->theta = far_big_add(far_big_add(a->theta, b.theta), far_big_square(scale));
    x->mu = far_big_limit(far_big_div(mean, x->r));
    long double share_a = far_big_limit(far_big_div(a->r, x->r));
    long double share_b = far_big_limit(far_big_div(b.r, x->r));
    long double mean_rate = share_a * of_a.mean_rate + share_b * of_b.mean_rate;
    long double pa_rate = a->r_rate + a->p_excess, pb_rate = b.r_rate + b.p_excess;
    long double rate = square_ratio(sa, x->r) * of_a.spread_rate +
                       square_ratio(sb, x->r) * of_b.spread_rate + x->mu * mean_rate;
    long double p_rate = square_ratio(a->p, x->p) * pa_rate + square_ratio(b.p, x->p) * pb_rate +
                         square_ratio(scale, x->p) * a->r_rate;
    x->r_rate = rate;
    x->p_excess = p_rate - rate;
    x->mu_rate = mean_rate - x->mu * rate;
    put_ratio(s, a->r, x->r, a->r_rate - rate);
    put_ratio(s, b.r, x->r, b.r_rate - rate);
    put_ratio(s, a->p, x->p, pa_rate - p_rate);
    put_ratio(s, b.p, x->p, pb_rate - p_rate);
    put_ratio(s, scale, x->p, a->r_rate - p_rate);
    if (!op->gaussian) {
        put_ratio(s, sa, x->r, of_a.spread_rate - rate);
        put_ratio(s, sb, x->r, of_b.spread_rate - rate);
        put(s, x->mu, x->mu_rate);
        put(s, far_big_limit(far_big_div(sa, a->r)), of_a.nu_rate);
        put(s, far_big_limit(far_big_div(ma, a->r)), a->mu_rate);
        put(s, far_big_limit(far_big_div(sb, b.r)), of_b.nu_rate);
        put(s, far_big_limit(far_big_div(mb, b.r)), b.mu_rate);
    }
}

/* ---- activations ----------------------------------------------------------------------------- */

static void put_units(const far_activation *a, far_big r, far_big slope_scale, const far_growth *g,
                      sink *s)
{
    for (int m = 0; m < a->terms && s->next; m++) {
        far_unit u = far_unit_of(far_mixture_scale(a, m, r));
        long double e = far_big_limit(u.e);
        put(s, u.c, u.c * e * e);
        put(s, e, -u.c * u.c * e);
        if (a->family == FAR_FAMILY_SOFT_SIGN) {
            far_big scaled = far_big_scale(u.e, a->weight[m] * a->rate[m]);
            put_ratio(s, scaled, slope_scale, -u.c * u.c - g->slope);
        }
    }
}

/* The scale that a soft sign's slope has in common with all partners of this point: at infinity it
 * falls faster than the slope at the point itself. */
static far_big soft_sign_slope(const far_activation *a, far_big r)
{
    far_big sum = far_big_from(0);
    for (int m = 0; m < a->terms; m++) {
        far_unit u = far_unit_of(far_mixture_scale(a, m, r));
        sum = far_big_add(sum, far_big_scale(u.e, a->weight[m] * a->rate[m]));
    }
    return sum;
}

/* growth: of factor, by ln r */
static void put_series(const long double *value, const long double *rate, int terms,
                       long double factor, long double growth, sink *s)
{
    for (int k = 0; k < terms; k++) {
        put(s, value[k] * factor, (rate[k] + value[k] * growth) * factor);
    }
}

/* Scales of a point before and after an activation. */
typedef struct passage {
    far_big r, p;       /* after; p without the trainable scales */
    far_big slope;      /* p after / p before */
    far_big value_unit; /* what a dual of 1 stands for: gain, or gain r for soft relu */
} passage;

static passage pass_through(const far_activation *a, const far_point *x, const far_moments *m)
{
    passage out = {.r = far_big_scale(far_big_sqrt(m->square), a->gain)};
    far_big root_slope = far_big_sqrt(m->slope);
    if (a->family == FAR_FAMILY_SOFT_SIGN) {
        root_slope = soft_sign_slope(a, x->r);
    } else if (a->family == FAR_FAMILY_SOFT_RELU) {
        root_slope = far_big_from(1);
    } else if (a->family == FAR_FAMILY_SINE) { /* far apart, slopes have no common scale left */
        root_slope = far_unit_of(x->r).e;
    }
    out.slope = far_big_scale(root_slope, a->gain);
    out.p = far_big_mul(x->p, out.slope);
    out.value_unit =
        far_big_scale(a->family == FAR_FAMILY_SOFT_RELU ? x->r : far_big_from(1), a->gain);
    return out;
}

/* Slopes of these coefficients are by ln r, so that points of one scale share them. */
static void put_activation(const far_activation *a, const far_point *x, const passage *y,
                           const far_growth *g, int terms, int gamma, sink *s)
{
    long double unit_growth = (a->family == FAR_FAMILY_SOFT_RELU ? 1 : 0) - g->value;
    if (!s->next) {
        return;
    }
    if (terms) {
        far_series coef;
        far_series_of(a, x->r, terms, &coef);
        long double value = far_big_limit(far_big_div(y->value_unit, y->r));
        long double slope = far_big_limit(far_big_div(far_big_from(a->gain), y->slope));
        put_series(coef.value, coef.value_rate, terms, value, unit_growth, s);
        put_series(coef.slope, coef.slope_rate, terms, slope, -g->slope, s);
        put_series(coef.scaled, coef.scaled_rate, gamma ? terms : 0, 1, 0, s);
    } else if (a->terms) {
        put_ratio(s, y->value_unit, y->r, unit_growth);
        put_units(a, x->r, far_big_scale(y->slope, 1 / a->gain), g, s);
    } else if (a->family == FAR_FAMILY_SINE) {
        long double r = fminl(far_big_limit(x->r), s->most);
        long double size = fminl(far_big_limit(far_big_hypot(far_big_from(1), x->r)), s->most);
        put(s, r, r);
        put_ratio(s, y->value_unit, y->r, unit_growth);
        put(s, size, -size * g->slope);
    }
}

/* Below this scale all smooth activations are linear, to far more digits than there are, and
 * products of two scales would leave the range of doubles. So pairs see no smaller one. */
#define LINEAR_BELOW 1e-60L

static void put_smooth(const far_op *op, const far_point *x, const passage *y, const far_growth *g,
                       int terms, sink *s)
{
    const far_activation *a = op->activation;
    bool tiny = a->family > FAR_FAMILY_TABLE && x->r.k <= 0 && far_big_coef(x->r) < LINEAR_BELOW;
    if (!tiny || far_big_is_zero(x->r)) {
        put_activation(a, x, y, g, terms, op->gamma, s);
        return;
    }
    far_point stand_in = *x;
    stand_in.r = far_big_from(LINEAR_BELOW);
    far_moments m = far_activation_moments(a, stand_in.r);
    passage instead = pass_through(a, &stand_in, &m);
    put_activation(a, &stand_in, &instead, g, terms, op->gamma, s);
}

static int activation_slots(const far_op *op, int terms);

/* Coefficients of the last point are still in place when this one has the same r. */
static void skip_activation(const far_op *op, int terms, sink *s)
{
    int64_t slots = activation_slots(op, terms) - (op->gamma ? 2 : 0);
    s->next += s->next ? slots : 0;
    s->slope += s->slope ? slots : 0;
}

static bool recall(far_memo *memo, const far_activation *a, far_big r, bool moving)
{
    bool same = memo->set && memo->r.m == r.m && memo->r.e == r.e && memo->r.k == r.k;
    if (!same) {
        *memo = (far_memo){.r = r, .moments = far_activation_moments(a, r), .set = true};
        memo->growth = moving ? far_activation_growth(a, r) : (far_growth){0};
    }
    return same;
}

/* The kernel of trainable scales in front of an activation, that of the layer's own parameters. */
static void add_scaled(const far_op *op, const passage *y, far_big moment, long double before,
                       far_point *x, sink *s)
{
    const far_activation *a = op->activation;
    bool homogeneous = a->family <= FAR_FAMILY_TABLE;
    far_big unit = homogeneous ? y->r : y->value_unit;
    long double power = homogeneous && a->kind == FAR_LAYER_RELU ? a->power : 1;
    long double unit_rate = homogeneous                         ? x->r_rate
                            : a->family == FAR_FAMILY_SOFT_RELU ? before
                                                                : 0;
    far_big scale = far_big_scale(unit, power * sqrtl(op->gamma));
    x->p = far_big_hypot(y->p, scale);
    x->theta = far_big_add(x->theta, far_big_scale(moment, a->gain * a->gain * op->gamma));
    long double apart = x->r_rate + x->p_excess - unit_rate; /* of y.p over scale */
    long double still = square_ratio(y->p, x->p), own = square_ratio(scale, x->p);
    put_ratio(s, scale, x->p, -still * apart);
    put_ratio(s, y->p, x->p, own * apart);
    x->p_excess -= own * apart;
}

/* What an activation does to the scales of one point. Moments are integrals of r alone, and all
 * points behind a norm share theirs: the last ones are remembered. With affine terms waiting
 * (gamma) their kernel is added here. */
static void run_activation(const far_op *op, int terms, far_memo *memo, far_point *x, sink *s)
{
    const far_activation *a = op->activation;
    if (a->w0 != 1) { /* a factor in front: only r and p see it */
        divide(x, far_big_from(1 / a->w0));
    }
    bool same = recall(memo, a, x->r, s->slope != NULL);
    far_moments m = memo->moments;
    far_growth g = memo->growth;
    passage y = pass_through(a, x, &m);
    if (same) {
        skip_activation(op, terms, s);
    } else {
        put_smooth(op, x, &y, &g, terms, s);
    }
    long double rate = x->r_rate;
    far_big mean = far_big_scale(m.mean, a->gain);
    if (a->kind == FAR_LAYER_IDENTITY) {
        mean = far_big_scale(x->r, x->mu * a->gain);
    }
    x->theta = far_big_mul(x->theta, far_big_scale(m.slope, a->gain * a->gain));
    x->r = y.r;
    x->p = y.p;
    x->mu = far_big_limit(far_big_div(mean, y.r));
    x->r_rate = g.value * rate;
    x->p_excess += g.excess * rate;
    x->mu_rate = a->kind == FAR_LAYER_IDENTITY ? x->mu_rate : x->mu * (g.mean - g.value) * rate;
    if (op->gamma) {
        add_scaled(op, &y, m.scaled, rate, x, s);
    }
}

static int activation_slots(const far_op *op, int terms)
{
    const far_activation *a = op->activation;
    int slots = op->gamma ? 2 : 0;
    if (terms) {
        return slots + terms * (op->gamma ? 3 : 2);
    }
    if (a->family == FAR_FAMILY_SOFT_SIGN) {
        return slots + 1 + 3 * a->terms;
    }
    if (a->family == FAR_FAMILY_SOFT_RELU) {
        return slots + 1 + 2 * a->terms;
    }
    return slots + (a->family == FAR_FAMILY_SINE ? 3 : 0);
}

int far_op_slots(const far_op *op, int terms)
{
    switch (op->kind) {
    case FAR_OP_DENSE:
        return (op->standard ? 5 : op->plain ? 2 : 4) + (op->fine ? 2 : 0);
    case FAR_OP_CENTER:
    case FAR_OP_SHIFT:
        return 3;
    case FAR_OP_ADD:
        return op->gaussian ? 5 : 12;
    case FAR_OP_ACTIVATE:
        return activation_slots(op, terms);
    case FAR_OP_SCALE:
    case FAR_OP_PUSH:
        break;
    }
    return 0;
}

/* Past this scale biases and differences of norms change angles by less than 1e-140. Their squares
 * are then no doubles, but to a sine, and to the slope of a soft sign, they matter. */
#define TELLS_BELOW 1e140L

static void note_blind(const far_op *op, const far_point *x, far_workbench *w)
{
    far_family family = op->activation->family;
    bool far_out = x->r.k == 0 && far_big_coef(x->r) * op->activation->w0 > TELLS_BELOW;
    if (family == FAR_FAMILY_SINE && far_out && !w->blind_nngp) {
        w->blind_nngp = op;
    } else if (family == FAR_FAMILY_SOFT_SIGN && far_out && !w->blind_ntk) {
        w->blind_ntk = op;
    }
}

static bool is_lost(const far_point *x)
{
    return far_big_is_lost(x->r) || far_big_is_lost(x->p) || far_big_is_lost(x->theta);
}

/* Runs one point through the plan: its scales after every layer, and the coefficients that tiles
 * need of it into w->coef, in the order of the layout. Stops at the operation where a scale is lost
 * (w->lost), which the caller turns into a message with row and layer. */
void far_point_run(const far_plan *plan, const far_layout *layout, int64_t d, far_point *x,
                   far_workbench *w)
{
    sink s = {w->coef, w->slope, w->second ? SINE_SCALE_SECOND : SINE_SCALE_MAX};
    far_point *stack = w->stack;
    w->lost = w->blind_nngp = w->blind_ntk = NULL;
    for (int64_t i = 0; i < plan->count; i++) {
        const far_op *op = &plan->ops[i];
        switch (op->kind) {
        case FAR_OP_DENSE:
            run_dense(op, d, x, &s);
            w->zeros = w->zeros || far_big_is_zero(x->r);
            break;
        case FAR_OP_SCALE:
            run_scale(op, x);
            break;
        case FAR_OP_CENTER:
            run_center(op, x, &s);
            break;
        case FAR_OP_SHIFT:
            run_shift(op, x, &s);
            break;
        case FAR_OP_ACTIVATE:
            w->widest[i] = fmax(w->widest[i], (double)far_big_limit(x->r));
            note_blind(op, x, w);
            w->rate[i] = (double)x->r_rate;
            run_activation(op, layout ? layout->series[i] : 0, &w->memo[i], x, &s);
            break;
        case FAR_OP_PUSH:
            *stack++ = *x;
            break;
        case FAR_OP_ADD:
            run_add(op, --stack, x, &s);
            break;
        }
        if (is_lost(x)) {
            w->lost = op;
            return;
        }
    }
}
