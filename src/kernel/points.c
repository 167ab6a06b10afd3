#include "points.h"

#include <float.h>
#include <math.h>

#define ROOT_HALF 0.707106781186547524400844362104849039L
#define PI 3.141592653589793238462643383279502884L

/* Stands for points at infinity in the sine. */
#define SINE_SCALE_MAX 1e300

/* ---- coefficients: where they go ------------------------------------------------------------- */

typedef struct sink {
    double *next; /* NULL: not wanted */
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

/* Coefficients of erf(l z), z = r u, in normalised Hermite polynomials of u are
 * h_k c^k with (2/pi) asin x = sum h_k^2 x^k, alternating in sign. */
static void erf_series(const far_activation *a, far_big r, int terms, long double *f,
                       long double *f_over_r, long double *f_scaled)
{
    far_unit unit[FAR_MIXTURE_MAX];
    long double power[FAR_MIXTURE_MAX], h2 = 2 / PI, h;
    for (int m = 0; m < a->terms; m++) {
        unit[m] = far_unit_of(far_mixture_scale(a, m, r));
        power[m] = 1;
    }
    for (int k = 1; k < terms; k += 2) {
        h = sqrtl(h2 / k) * (k % 4 == 1 ? 1 : -1);
        f[k - 1] = f_over_r[k - 1] = f_scaled[k - 1] = 0;
        f[k] = f_over_r[k] = f_scaled[k] = 0;
        for (int m = 0; m < a->terms; m++) {
            long double e = far_big_limit(unit[m].e), c = unit[m].c;
            long double root = a->family == FAR_FAMILY_SOFT_SIGN ? sqrtl(2) : 1;
            long double w = a->weight[m] * h;
            f_over_r[k] += w * power[m] * a->rate[m] * root * e;
            f[k] += w * power[m] * c;
            f_scaled[k] += w * power[m] * c * k * e * e;
            power[m] *= c * c;
        }
        h2 *= (long double)k / (k + 1);
    }
}

typedef struct series {
    long double value[FAR_SERIES_MAX];  /* of phi(r u); soft relu: of phi(r u) / r */
    long double slope[FAR_SERIES_MAX];  /* of phi'(r u) */
    long double scaled[FAR_SERIES_MAX]; /* of z phi'(z); soft relu: over r */
} series;

static void sign_series(const far_activation *a, far_big r, int terms, series *out)
{
    long double over[FAR_SERIES_MAX + 2];
    erf_series(a, r, terms, out->value, over, out->scaled);
    for (int k = 0; k < terms; k++) {
        out->slope[k] = k + 1 < terms ? sqrtl(k + 1) * over[k + 1] : 0;
    }
}

/* z Phi(l z) / r = u (1/2 + erf / 2), and u h_k = sqrt(k+1) h_(k+1) + sqrt(k) h_(k-1). */
static void relu_series(const far_activation *a, far_big r, int terms, series *out)
{
    long double f[FAR_SERIES_MAX + 2] = {0}, over[FAR_SERIES_MAX + 2], g[FAR_SERIES_MAX + 2] = {0};
    long double value[FAR_SERIES_MAX + 2] = {0};
    erf_series(a, r, terms + 2, f, over, g);
    f[0] = 1;
    for (int k = 0; k <= terms; k++) {
        long double below = k ? sqrtl(k) : 0;
        value[k] = (below * (k ? f[k - 1] : 0) + sqrtl(k + 1) * f[k + 1]) / 2;
        if (k < terms) {
            out->value[k] = value[k];
            out->scaled[k] = value[k] + (below * (k ? g[k - 1] : 0) + sqrtl(k + 1) * g[k + 1]) / 2;
        }
    }
    for (int k = 0; k < terms; k++) {
        out->slope[k] = sqrtl(k + 1) * value[k + 1];
    }
}

static void series_of(const far_activation *a, far_big r, int terms, series *out)
{
    if (a->family == FAR_FAMILY_SOFT_SIGN) {
        sign_series(a, r, terms, out);
    } else {
        relu_series(a, r, terms, out);
    }
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
        series coef;
        series_of(a, x->r, terms, &coef);
        long double value = far_big_limit(far_big_div(y->value_unit, y->r));
        long double slope = far_big_limit(far_big_div(far_big_from(a->gain), y->slope));
        put_series(coef.value, terms, value, s);
        put_series(coef.slope, terms, slope, s);
        put_series(coef.scaled, gamma ? terms : 0, 1, s);
    } else if (a->terms) {
        put_ratio(s, y->value_unit, y->r);
        put_units(a, x->r, far_big_scale(y->slope, 1 / a->gain), s);
    } else if (a->family == FAR_FAMILY_SINE) {
        put(s, fminl(far_big_limit(x->r), SINE_SCALE_MAX));
        put_ratio(s, y->value_unit, y->r);
        put(s, fminl(far_big_limit(far_big_hypot(far_big_from(1), x->r)), SINE_SCALE_MAX));
    }
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

static void run_activation(const far_op *op, int terms, far_memo *memo, far_point *x, sink *s)
{
    const far_activation *a = op->activation;
    bool same = recall(memo, a, x->r);
    far_moments m = memo->moments;
    passage y = pass_through(a, x, &m);
    if (same) {
        skip_activation(op, terms, s);
    } else {
        put_activation(a, x, &y, terms, op->gamma, s);
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

static int op_slots(const far_op *op, int terms)
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

void far_point_run(const far_plan *plan, const far_layout *layout, int64_t d, far_point *x,
                   far_workbench *w)
{
    sink s = {w->coef};
    far_point *stack = w->stack;
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
            run_activation(op, layout ? layout->series[i] : 0, &w->memo[i], x, &s);
            break;
        case FAR_OP_PUSH:
            *stack++ = *x;
            break;
        case FAR_OP_ADD:
            run_add(op, --stack, x, &s);
            break;
        }
    }
}

/* ---- layout ---------------------------------------------------------------------------------- */

/* How many Hermite terms leave less than the tolerance of the variance of phi and phi' for standard
 * deviations up to r (by Parseval, so no term is forgotten); 0 if the mixture must serve. */
static int series_terms(const far_activation *a, double widest)
{
    static const int sizes[] = {16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, FAR_SERIES_MAX};
    if (a->terms < 2 || !(widest > 0) || isinf(widest)) {
        return 0;
    }
    far_big r = far_big_from(widest);
    far_moments m = far_activation_moments(a, r);
    long double unit = a->family == FAR_FAMILY_SOFT_RELU ? widest : 1;
    series coef;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        long double value = far_big_coef(m.square) / (unit * unit), slope = far_big_coef(m.slope);
        long double value_left = value, slope_left = slope;
        series_of(a, r, sizes[i], &coef);
        for (int k = 0; k < sizes[i]; k++) {
            value_left -= coef.value[k] * coef.value[k];
            slope_left -= coef.slope[k] * coef.slope[k];
        }
        if (value_left <= FAR_SERIES_TOLERANCE * value &&
            slope_left <= FAR_SERIES_TOLERANCE * slope) {
            return sizes[i];
        }
    }
    return 0;
}

void far_layout_clear(far_ctx *ctx, far_layout *layout)
{
    far_free(ctx, layout->slot);
    far_free(ctx, layout->series);
    *layout = (far_layout){0};
}

static int layout_order(const far_plan *plan, const far_points *a, const far_points *b, int64_t i)
{
    if (plan->ops[i].kind != FAR_OP_ACTIVATE) {
        return 0;
    }
    double widest = b ? fmax(a->widest[i], b->widest[i]) : a->widest[i];
    return series_terms(plan->ops[i].activation, widest);
}

far_status far_layout_create(far_ctx *ctx, const far_plan *plan, const far_points *a,
                             const far_points *b, far_layout *out)
{
    far_status st;
    *out = (far_layout){0};
    FAR_TRY(far_alloc(ctx, plan->count, &out->slot));
    FAR_TRY(far_alloc(ctx, plan->count, &out->series));
    for (int64_t i = 0; i < plan->count; i++) {
        out->series[i] = layout_order(plan, a, b, i);
        out->slot[i] = out->slots;
        out->slots += op_slots(&plan->ops[i], out->series[i]);
    }
done:
    if (st != FAR_OK) {
        far_layout_clear(ctx, out);
    }
    return st;
}

/* ---- many points ----------------------------------------------------------------------------- */

static far_status check_finite(far_ctx *ctx, const far_mat *x, const char *name)
{
    for (int64_t i = 0; i < x->rows; i++) {
        const void *row = far_mat_row(x, i);
        for (int64_t j = 0; j < x->cols; j++) {
            double v = x->dtype == FAR_F32 ? ((const float *)row)[j] : ((const double *)row)[j];
            if (!isfinite(v)) {
                return far_fail(ctx, FAR_ERR_VALUE,
                                "%s: row %lld, column %lld is %s; remove or fill it first", name,
                                (long long)i + 1, (long long)j + 1, isnan(v) ? "nan" : "infinite");
            }
        }
    }
    return FAR_OK;
}

static far_status check_directions(far_ctx *ctx, const far_mat *u, const char *name)
{
    for (int64_t i = 0; i < u->rows; i++) {
        const double *row = far_mat_row(u, i);
        bool zero = true;
        for (int64_t j = 0; j < u->cols; j++) {
            zero = zero && row[j] == 0;
        }
        if (zero) {
            return far_fail(ctx, FAR_ERR_VALUE, "%s: row %lld is zero, which is no direction", name,
                            (long long)i + 1);
        }
    }
    return FAR_OK;
}

far_status far_check_groups(far_ctx *ctx, const far_plan *plan, int64_t d)
{
    for (int64_t i = 0; i < plan->input_count; i++) {
        if (plan->inputs[i].kind == FAR_LAYER_LN && d % plan->inputs[i].groups != 0) {
            return far_fail(ctx, FAR_ERR_SHAPE,
                            "ln(groups=%lld) on the input does not divide its %lld features",
                            (long long)plan->inputs[i].groups, (long long)d);
        }
    }
    return FAR_OK;
}

void far_workbench_clear(far_ctx *ctx, far_workbench *w)
{
    far_free(ctx, w->unit);
    far_free(ctx, w->stack);
    far_free(ctx, w->memo);
    far_free(ctx, w->coef);
    far_free(ctx, w->widest);
    *w = (far_workbench){0};
}

far_status far_workbench_create(far_ctx *ctx, const far_plan *plan, int64_t d, int slots,
                                far_workbench *out)
{
    far_status st;
    *out = (far_workbench){0};
    FAR_TRY(far_alloc(ctx, d, &out->unit));
    FAR_TRY(far_alloc(ctx, plan->depth, &out->stack));
    FAR_TRY(far_alloc(ctx, plan->count, &out->memo));
    FAR_TRY(far_alloc(ctx, plan->count, &out->widest));
    if (slots > 0) {
        FAR_TRY(far_alloc(ctx, slots, &out->coef));
    }
    for (int64_t i = 0; i < plan->count; i++) {
        out->memo[i].set = false;
        out->widest[i] = 0;
    }
done:
    if (st != FAR_OK) {
        far_workbench_clear(ctx, out);
    }
    return st;
}

static void set(void *array, int32_t dtype, int64_t index, long double value)
{
    if (dtype == FAR_F32) {
        ((float *)array)[index] = (float)value;
    } else {
        ((double *)array)[index] = (double)value;
    }
}

static void store_coefficients(far_points *points, const double *coef, int slots, int64_t i)
{
    for (int s = 0; s < slots; s++) {
        set(points->coef, points->dtype, s * points->ld + i, coef[s]);
    }
    set(points->coef, points->dtype, slots * points->ld + i, far_big_coef(points->r[i]));
    set(points->coef, points->dtype, (slots + 1) * points->ld + i, far_big_coef(points->p[i]));
}

static void store_point(far_points *points, const far_point *x, const long double *unit, int64_t i)
{
    points->r[i] = x->r;
    points->p[i] = x->p;
    points->theta[i] = x->theta;
    for (int64_t j = 0; j < points->d; j++) {
        set(points->unit, points->dtype, i * points->d + j, unit[j]);
        if (points->unit_rest) {
            points->unit_rest[i * points->d + j] = (double)(unit[j] - (double)unit[j]);
        }
    }
}

static void run_one(const far_plan *plan, const far_layout *layout, far_points *points, int64_t i,
                    far_workbench *w)
{
    far_point x = {.r = far_input_row(plan, &points->x, i, points->at_infinity, w->unit)};
    far_point_run(plan, layout, points->d, &x, w);
    store_point(points, &x, w->unit, i);
    if (layout) {
        store_coefficients(points, w->coef, layout->slots, i);
    }
}

static void collect(const far_plan *plan, far_points *points, const far_workbench *w)
{
    for (int64_t i = 0; i < plan->count; i++) {
        points->widest[i] = fmax(points->widest[i], w->widest[i]);
    }
    points->zeros = points->zeros || w->zeros;
}

static far_status run_all(const far_plan *plan, const far_layout *layout, far_points *points)
{
    far_ctx *ctx = points->ctx;
    int threads = far_ctx_threads(ctx), slots = layout ? layout->slots : 0;
    far_workbench *benches = NULL;
    far_status st;
    FAR_TRY(far_alloc(ctx, threads, &benches));
    __builtin_memset(benches, 0, (size_t)threads * sizeof *benches);
    for (int t = 0; t < threads; t++) {
        FAR_TRY(far_workbench_create(ctx, plan, points->d, slots, &benches[t]));
    }
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int t = 0; t < threads; t++) {
        for (int64_t i = points->n * t / threads; i < points->n * (t + 1) / threads; i++) {
            run_one(plan, layout, points, i, &benches[t]);
        }
    }
    for (int t = 0; t < threads; t++) {
        collect(plan, points, &benches[t]);
    }
done:
    for (int t = 0; benches && t < threads; t++) {
        far_workbench_clear(ctx, &benches[t]);
    }
    far_free(ctx, benches);
    return st;
}

static bool is_wide(far_big a, int32_t dtype)
{
    long double size = fabsl(far_big_coef(a)), most = dtype == FAR_F32 ? 0x1p120L : 0x1p1000L;
    return size > most || (size < 1 / most && !far_big_is_zero(a));
}

bool far_points_are_wide(const far_points *points)
{
    for (int64_t i = 0; i < points->n; i++) {
        if (is_wide(points->r[i], points->dtype) || is_wide(points->p[i], points->dtype)) {
            return true;
        }
    }
    return false;
}

static int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

far_status far_points_create(far_ctx *ctx, const far_plan *plan, const far_mat *x, const char *name,
                             bool at_infinity, far_points *out)
{
    far_status st;
    *out = (far_points){.ctx = ctx,
                        .n = x->rows,
                        .ld = round_up(x->rows, FAR_PAD) + FAR_PAD,
                        .d = x->cols,
                        .dtype = x->dtype,
                        .at_infinity = at_infinity,
                        .x = *x};
    if (x->cols < 1) {
        return far_fail(ctx, FAR_ERR_SHAPE, "%s has no columns", name);
    }
    FAR_TRY(check_finite(ctx, x, name));
    FAR_TRY(far_check_groups(ctx, plan, x->cols));
    if (at_infinity) {
        FAR_TRY(check_directions(ctx, x, name));
    }
    FAR_TRY(far_alloc(ctx, out->n, &out->r));
    FAR_TRY(far_alloc(ctx, out->n, &out->p));
    FAR_TRY(far_alloc(ctx, out->n, &out->theta));
    FAR_TRY(far_alloc(ctx, plan->count, &out->widest));
    FAR_TRY(far_alloc_bytes(ctx, out->n * out->d, far_dtype_size(x->dtype), &out->unit));
    if (plan->fine && x->dtype == FAR_F64) {
        FAR_TRY(far_alloc(ctx, out->n * out->d, &out->unit_rest));
    }
done:
    if (st != FAR_OK) {
        far_points_clear(out);
    }
    return st;
}

far_status far_points_survey(const far_plan *plan, far_points *points)
{
    return run_all(plan, NULL, points);
}

far_status far_points_fill(const far_plan *plan, const far_layout *layout, far_points *points)
{
    size_t size = far_dtype_size(points->dtype);
    int64_t slots = layout->slots + 2, count = points->ld * slots; /* two for r and p */
    far_status st = far_alloc_bytes(points->ctx, count, size, &points->coef);
    if (st == FAR_OK) {
        for (int64_t s = 0; s < slots; s++) { /* padding is read, so it must be numbers */
            char *row = (char *)points->coef + (size_t)(s * points->ld) * size;
            __builtin_memset(row + (size_t)points->n * size, 0,
                             (size_t)(points->ld - points->n) * size);
        }
        st = run_all(plan, layout, points);
    }
    return st;
}

void far_points_clear(far_points *points)
{
    if (points->ctx) {
        far_free(points->ctx, points->unit);
        far_free(points->ctx, points->unit_rest);
        far_free(points->ctx, points->coef);
        far_free(points->ctx, points->r);
        far_free(points->ctx, points->p);
        far_free(points->ctx, points->theta);
        far_free(points->ctx, points->widest);
        *points = (far_points){0};
    }
}
