/*
 * A direction along which f runs away. With s = 1 / t, s^order f(t direction) is a function of s on
 * a line through (direction, 0): its value at 0 is the slope, and forms over pieces of the line
 * prove where |f| stays above a level.
 */
#include "net_certify.h"

#define FAR_AWAY 1e6  /* sizes of the data, where the leading term is confirmed */
#define FURTHEST 1e12 /* where looking ends */
#define STRAIGHT 1e-9 /* a remainder that is rounding, relative to the slope */
#define CLOSE 1e-10   /* how closely beyond is found, relatively */
enum { LINE_STEPS = 20000, HALVINGS = 100 };

typedef struct ray {
    const far_net_plan *plan;
    int64_t output;
    const double *direction;
    double order, centre;
    far_net_point *point;
    far_cell *cell;
    far_form *forms;
    double *u;
} ray;

static void ray_close(ray *r)
{
    far_net_point_destroy(r->point);
    far_cell_destroy(r->cell);
    far_free(r->plan->ctx, r->forms);
    far_free(r->plan->ctx, r->u);
}

static far_status ray_open(const far_net_plan *plan, int64_t j, const double *direction, ray *r)
{
    far_status st;
    int64_t d = plan->net->info.inputs;
    *r = (ray){.plan = plan,
               .output = j,
               .direction = direction,
               .order = plan->degree,
               .centre = plan->centre[j]};
    FAR_TRY(far_net_point_create(plan, &r->point));
    FAR_TRY(far_cell_create(plan, 1, &r->cell));
    FAR_TRY(far_alloc(plan->ctx, d, &r->forms));
    FAR_TRY(far_alloc(plan->ctx, d, &r->u));
done:
    return st;
}

/* x = t direction is unit u / s for u = (direction - s centre) / (scale unit). */
static double ray_at(const ray *r, int64_t i, double s, double *size)
{
    const far_net_plan *plan = r->plan;
    double a = r->direction[i] / (plan->input_scale[i] * plan->unit);
    double b = plan->input_centre[i] / (plan->input_scale[i] * plan->unit);
    *size = fabs(a) + fabs(s * b);
    return a - s * b;
}

/* s^order f without the centre. */
static double ray_value(ray *r, double s)
{
    double size;
    for (int64_t i = 0; i < r->plan->net->info.inputs; i++) {
        r->u[i] = ray_at(r, i, s, &size);
    }
    return far_net_point_value(r->point, r->u, s)[r->output];
}

/* The same over [low, high] as a form. */
static far_form ray_form(ray *r, double low, double high, far_form *s)
{
    double middle = low + (high - low) / 2, half = fmax(high - middle, middle - low);
    *s = (far_form){.c = middle, .r = middle * (2 * FAR_UNIT), .a = {half}};
    for (int64_t i = 0; i < r->plan->net->info.inputs; i++) {
        double size, zero, at = ray_at(r, i, middle, &size);
        double turn = ray_at(r, i, 1, &zero) - ray_at(r, i, 0, &zero);
        r->forms[i] = (far_form){.c = at, .a = {turn * half}};
        r->forms[i].r = 16 * FAR_UNIT * (size + (zero + fabs(turn)) * high) + FAR_SPECK;
    }
    return far_cell_run(r->cell, r->forms, s)[r->output];
}

/* ---- slope and intercept ------------------------------------------------------------------- */

/* t at which t direction is as far out as a typical training point, or as the data's middle. */
static double data_extent(const ray *r)
{
    const far_net_plan *plan = r->plan;
    double square = 0, dot = 0;
    int64_t d = plan->net->info.inputs;
    for (int64_t i = 0; i < d; i++) {
        double z = r->direction[i] / plan->input_scale[i];
        dot += z * (plan->input_centre[i] / plan->input_scale[i]);
        square += z * z;
    }
    return fmax(plan->unit * sqrt((double)d / square), fabs(dot) / square);
}

/* From the longest piece next to infinity on which the form is a line. */
static double intercept(ray *r, double slope, double extent)
{
    double s = 1 / extent;
    for (int i = 0; i < HALVINGS; i++, s /= 2) {
        far_form piece, f = ray_form(r, 0, s, &piece);
        if (f.r <= STRAIGHT * fabs(slope)) {
            return r->centre + (ray_value(r, s) - slope) / s;
        }
    }
    return NAN;
}

/* f itself, far enough out for the leading term to stand out from the centre as well. */
static far_status confirm(ray *r, double slope, double extent, double *out)
{
    double rest = fabs(r->centre) + r->plan->scale[r->output], value;
    double t = fmax(FAR_AWAY * extent, pow(FAR_AWAY * rest / fabs(slope), 1 / r->order));
    for (int64_t i = 0; i < r->plan->net->info.inputs; i++) {
        r->u[i] = t * r->direction[i];
    }
    far_status st = far_net_raw_value(r->plan, r->output, r->u, false, &value);
    *out = value / (slope * pow(t, r->order));
    return st;
}

/* ---- beyond a level ------------------------------------------------------------------------ */

/* Whether sign f > level all over [low, high]: a form is above 0. */
static bool stays_above(ray *r, double sign, double level, double low, double high)
{
    far_form s, f = ray_form(r, low, high, &s);
    far_strip power = far_power_strip(r->order, (far_range){low, high});
    double lift = sign * r->centre - level, slope = lift * power.slope;
    double ends = fmin(lift * power.low, lift * power.high);
    double c = sign * f.c + slope * s.c + ends, a = sign * f.a[0] + slope * s.a[0];
    double size = fabs(f.c) + fabs(f.a[0]) + fabs(slope) * high * 2 + fabs(ends);
    double least = c - fabs(a) - f.r - fabs(slope) * s.r - 64 * FAR_UNIT * size - FAR_SPECK;
    return least > 0;
}

/* s grows from infinity inwards as far as it can be proven. */
static double find_beyond(ray *r, double slope, double level, double extent)
{
    double sign = slope > 0 ? 1 : -1, reached = 0, step = 1 / extent, end = FURTHEST / extent;
    for (int i = 0; i < LINE_STEPS && reached < end; i++) {
        bool above = stays_above(r, sign, level, reached, reached + step);
        reached += above ? step : 0;
        step *= above ? 2 : 0.5;
        if (step < CLOSE * reached || step < 1e-290) {
            break;
        }
    }
    return reached > 0 ? far_up(1 / reached) : NAN;
}

far_status far_net_witness_measure(const far_net_plan *plan, int64_t j, far_bound *b)
{
    far_status st;
    ray r;
    b->confirmed = b->intercept = b->beyond = NAN;
    FAR_TRY(ray_open(plan, j, b->direction, &r));
    double extent = data_extent(&r);
    b->order = plan->degree;
    b->slope = ray_value(&r, 0);
    far_form s, f = ray_form(&r, 0, 0, &s);
    if (!(fabs(f.c) > f.r)) { /* it may be rounding */
        b->slope = 0;
    }
    if (b->slope != 0) {
        FAR_TRY(confirm(&r, b->slope, extent, &b->confirmed));
        b->intercept = b->order == 1 ? intercept(&r, b->slope, extent) : NAN;
        b->beyond = isnan(b->level) ? NAN : find_beyond(&r, b->slope, b->level, extent);
        b->beyond_proven = 1;
    }
done:
    ray_close(&r);
    return st;
}
