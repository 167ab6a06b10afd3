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
    long double most; /* instead of infinity where that will not do */
} sink;

static void put(sink *s, long double value)
{
    if (s->next) {
        *s->next++ = (double)value;
    }
}

static void put_ratio(sink *s, far_big a, far_big b)
{
    put(s, far_big_limit(far_big_div(a, b)));
}

/* ---- one point through one operation --------------------------------------------------------- */

static void run_dense(const far_op *op, int64_t d, far_point *x, sink *s)
{
    far_big input = x->r, wr = far_big_scale(x->r, op->w), wp = far_big_scale(x->p, op->w);
    far_big theta = far_big_scale(x->theta, op->w * op->w);
    x->r = far_big_hypot(wr, far_big_from(op->b));
    long double al = far_big_limit(far_big_div(wr, x->r)) * ROOT_HALF;
    long double be = far_big_limit(far_big_div(far_big_from(op->b), x->r)) * ROOT_HALF;
    put(s, al);
    put(s, be);
    if (!op->standard) {
        x->p = op->level ? x->r : far_big_hypot(x->r, wp);
        x->theta = far_big_add(far_big_square(x->r), theta);
        if (!op->plain) {
            put_ratio(s, x->r, x->p);
            put_ratio(s, wp, x->p);
        }
    } else {
        far_big weights = far_big_scale(input, sqrtl(op->fan_in ? op->fan_in : d));
        far_big bias = far_big_from(op->bias ? 1 : 0);
        x->p = far_big_hypot(far_big_hypot(weights, bias), wp);
        x->theta = far_big_add(far_big_add(far_big_square(weights), bias), theta);
        put_ratio(s, wp, x->p);
        put_ratio(s, weights, x->p);
        put_ratio(s, bias, x->p);
    }
    if (op->fine) {
        put(s, al - (double)al);
        put(s, be - (double)be);
    }
    x->mu = 0;
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
    far_big scale = op->fixed ? far_big_from(1) : x->r;
    if (op->eps > 0) {
        scale = far_big_hypot(scale, far_big_from(sqrtl(op->eps)));
    }
    divide(x, scale); /* without eps r is then 1 to the last bit */
}

static void run_center(const far_op *op, far_point *x, sink *s)
{
    long double nu = sqrtl((1 - x->mu) * (1 + x->mu));
    put(s, x->mu);
    put(s, nu);
    put(s, 1 / nu);
    x->r = far_big_scale(x->r, nu);
    x->mu = 0;
    run_scale(op, x);
}

/* Theta <- Theta + gamma K + beta */
static void run_shift(const far_op *op, far_point *x, sink *s)
{
    far_big scale = far_big_scale(x->r, sqrtl(op->gamma)), shift = far_big_from(sqrtl(op->beta));
    far_big p = far_big_hypot(far_big_hypot(x->p, scale), shift);
    put_ratio(s, scale, p);
    put_ratio(s, x->p, p);
    put_ratio(s, shift, p);
    x->theta = far_big_add(far_big_add(x->theta, far_big_square(scale)), far_big_square(shift));
    x->p = p;
}

static void run_add(const far_op *op, const far_point *a, far_point *x, sink *s)
{
    far_point b = *x;
    far_big ma = far_big_scale(a->r, a->mu), mb = far_big_scale(b.r, b.mu);
    far_big sa = far_big_scale(a->r, sqrtl((1 - a->mu) * (1 + a->mu)));
    far_big sb = far_big_scale(b.r, sqrtl((1 - b.mu) * (1 + b.mu)));
    far_big mean = far_big_add(ma, mb), scale = far_big_scale(a->r, sqrtl(op->gamma));
    x->r = far_big_hypot(far_big_hypot(sa, sb), mean);
    x->p = far_big_hypot(far_big_hypot(a->p, b.p), scale);
    x->theta = far_big_add(far_big_add(a->theta, b.theta), far_big_square(scale));
    x->mu = far_big_limit(far_big_div(mean, x->r));
    put_ratio(s, a->r, x->r);
    put_ratio(s, b.r, x->r);
    put_ratio(s, a->p, x->p);
    put_ratio(s, b.p, x->p);
    put_ratio(s, scale, x->p);
    if (!op->gaussian) {
        put_ratio(s, sa, x->r);
        put_ratio(s, sb, x->r);
        put_ratio(s, mean, x->r);
        put_ratio(s, sa, a->r);
        put_ratio(s, ma, a->r);
        put_ratio(s, sb, b.r);
        put_ratio(s, mb, b.r);
    }
}

/* ---- activations ----------------------------------------------------------------------------- */

static void put_units(const far_activation *a, far_big r, far_big slope_scale, sink *s)
{
    for (int m = 0; m < a->terms && s->next; m++) {
        far_unit u = far_unit_of(far_mixture_scale(a, m, r));
        put(s, u.c);
        put(s, far_big_limit(u.e));
        if (a->family == FAR_FAMILY_SOFT_SIGN) {
            put_ratio(s, far_big_scale(u.e, a->weight[m] * a->rate[m]), slope_scale);
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

static void put_series(const long double *value, int terms, long double factor, sink *s)
{
    for (int k = 0; k < terms; k++) {
        put(s, value[k] * factor);
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

static void put_activation(const far_activation *a, const far_point *x, const passage *y, int terms,
                           int gamma, sink *s)
{
    if (!s->next) {
        return;
    }
    if (terms) {
        far_series coef;
        far_series_of(a, x->r, terms, &coef);
        long double value = far_big_limit(far_big_div(y->value_unit, y->r));
        long double slope = far_big_limit(far_big_div(far_big_from(a->gain), y->slope));
        put_series(coef.value, terms, value, s);
        put_series(coef.slope, terms, slope, s);
        put_series(coef.scaled, gamma ? terms : 0, 1, s);
    } else if (a->terms) {
        put_ratio(s, y->value_unit, y->r);
        put_units(a, x->r, far_big_scale(y->slope, 1 / a->gain), s);
    } else if (a->family == FAR_FAMILY_SINE) {
        put(s, fminl(far_big_limit(x->r), s->most));
        put_ratio(s, y->value_unit, y->r);
        put(s, fminl(far_big_limit(far_big_hypot(far_big_from(1), x->r)), s->most));
    }
}

/* Below this scale all smooth activations are linear, to far more digits than there are, and
 * products of two scales would leave the range of doubles. So pairs see no smaller one. */
#define LINEAR_BELOW 1e-60L

static void put_smooth(const far_op *op, const far_point *x, const passage *y, int terms, sink *s)
{
    const far_activation *a = op->activation;
    bool tiny = a->family > FAR_FAMILY_TABLE && x->r.k <= 0 && far_big_coef(x->r) < LINEAR_BELOW;
    if (!tiny || far_big_is_zero(x->r)) {
        put_activation(a, x, y, terms, op->gamma, s);
        return;
    }
    far_point stand_in = *x;
    stand_in.r = far_big_from(LINEAR_BELOW);
    far_moments m = far_activation_moments(a, stand_in.r);
    passage instead = pass_through(a, &stand_in, &m);
    put_activation(a, &stand_in, &instead, terms, op->gamma, s);
}

static int activation_slots(const far_op *op, int terms);

/* Coefficients of the last point are still in place when this one has the same r. */
static void skip_activation(const far_op *op, int terms, sink *s)
{
    if (s->next) {
        s->next += activation_slots(op, terms) - (op->gamma ? 2 : 0);
    }
}

static bool recall(far_memo *memo, const far_activation *a, far_big r)
{
    bool same = memo->set && memo->r.m == r.m && memo->r.e == r.e && memo->r.k == r.k;
    if (!same) {
        *memo = (far_memo){.r = r, .moments = far_activation_moments(a, r), .set = true};
    }
    return same;
}

/* What an activation does to the scales of one point. Moments are integrals of r alone, and all
 * points behind a norm share theirs: the last ones are remembered. With affine terms waiting
 * (gamma) their kernel, that of the layer's own parameters, is added here. */
static void run_activation(const far_op *op, int terms, far_memo *memo, far_point *x, sink *s)
{
    const far_activation *a = op->activation;
    if (a->w0 != 1) { /* a factor in front: only r and p see it */
        divide(x, far_big_from(1 / a->w0));
    }
    bool same = recall(memo, a, x->r);
    far_moments m = memo->moments;
    passage y = pass_through(a, x, &m);
    if (same) {
        skip_activation(op, terms, s);
    } else {
        put_smooth(op, x, &y, terms, s);
    }
    far_big mean = far_big_scale(m.mean, a->gain);
    if (a->kind == FAR_LAYER_IDENTITY) {
        mean = far_big_scale(x->r, x->mu * a->gain);
    }
    x->theta = far_big_mul(x->theta, far_big_scale(m.slope, a->gain * a->gain));
    x->r = y.r;
    x->p = y.p;
    x->mu = far_big_limit(far_big_div(mean, y.r));
    if (op->gamma) {
        bool homogeneous = a->family <= FAR_FAMILY_TABLE;
        far_big unit = homogeneous ? y.r : y.value_unit;
        long double power = homogeneous && a->kind == FAR_LAYER_RELU ? a->power : 1;
        far_big scale = far_big_scale(unit, power * sqrtl(op->gamma));
        far_big added = far_big_scale(m.scaled, a->gain * a->gain * op->gamma);
        x->p = far_big_hypot(y.p, scale);
        x->theta = far_big_add(x->theta, added);
        put_ratio(s, scale, x->p);
        put_ratio(s, y.p, x->p);
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
    sink s = {w->coef, w->second ? SINE_SCALE_SECOND : SINE_SCALE_MAX};
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
