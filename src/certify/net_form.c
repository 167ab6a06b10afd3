/* Arithmetic on c + sum_k a_k t_k + e, |t_k| <= 1, |e| <= r: what is not linear in t, and what
 * rounding loses, goes to r. */
#include "net_cell.h"

bool far_form_is_zero(const far_form *f, int64_t vars)
{
    bool zero = f->c == 0 && f->r == 0;
    for (int64_t k = 0; k < vars; k++) {
        zero &= f->a[k] == 0;
    }
    return zero;
}

double far_form_reach(const far_form *f, int64_t vars)
{
    double sum = 0;
    for (int64_t k = 0; k < vars; k++) {
        sum += fabs(f->a[k]);
    }
    return sum;
}

double far_form_size(const far_form *f, int64_t vars)
{
    return fabs(f->c) + far_form_reach(f, vars) + f->r;
}

far_range far_form_range(const far_form *f, int64_t vars)
{
    double off = (far_form_reach(f, vars) + f->r) * (1 + far_lost(vars));
    double slack = fabs(f->c) * (2 * FAR_UNIT) + off * (2 * FAR_UNIT) + FAR_SPECK;
    return (far_range){f->c - off - slack, f->c + off + slack};
}

far_form far_form_strip(const far_form *f, far_strip s, int64_t vars)
{
    if (s.low == 0 && s.high == 0 && (s.slope == 1 || s.slope == 0 || far_form_is_zero(f, vars))) {
        return s.slope == 1 ? *f : (far_form){0};
    }
    double middle = s.low + (s.high - s.low) / 2;
    far_form out = {.c = s.slope * f->c + middle};
    for (int64_t k = 0; k < vars; k++) {
        out.a[k] = s.slope * f->a[k];
    }
    out.r = fmax(s.high - middle, middle - s.low) + fabs(s.slope) * f->r;
    double size = fabs(s.slope) * far_form_size(f, vars) + fabs(middle);
    out.r = out.r * (1 + far_lost(0)) + size * far_lost(0) + FAR_SPECK;
    return out;
}

far_form far_form_add(const far_form *x, const far_form *y, int64_t vars)
{
    if (far_form_is_zero(x, vars) || far_form_is_zero(y, vars)) {
        return far_form_is_zero(x, vars) ? *y : *x;
    }
    far_form out = {.c = x->c + y->c};
    for (int64_t k = 0; k < vars; k++) {
        out.a[k] = x->a[k] + y->a[k];
    }
    double size = far_form_size(x, vars) + far_form_size(y, vars);
    out.r = far_up(x->r + y->r) + size * (2 * FAR_UNIT);
    return out;
}

far_form far_form_constant(double value, double error)
{
    return (far_form){.c = value, .r = error};
}

/* Squares of t lie in [0, 1]: half of their factor is certain. */
far_form far_form_multiply(const far_form *x, const far_form *y, int64_t vars)
{
    if (far_form_is_zero(x, vars) || far_form_is_zero(y, vars)) {
        return (far_form){0};
    }
    far_form out = {.c = x->c * y->c};
    double quadratic = 0;
    for (int64_t k = 0; k < vars; k++) {
        double half = x->a[k] * y->a[k] / 2;
        out.a[k] = x->c * y->a[k] + y->c * x->a[k];
        out.c += half;
        quadratic += fabs(half);
        for (int64_t j = 0; j < k; j++) {
            quadratic += fabs(x->a[j] * y->a[k] + x->a[k] * y->a[j]);
        }
    }
    double xs = fabs(x->c) + far_form_reach(x, vars), ys = fabs(y->c) + far_form_reach(y, vars);
    out.r = (quadratic + x->r * (ys + y->r) + y->r * xs) * (1 + far_lost(vars * vars)) +
            (xs + x->r) * (ys + y->r) * far_lost(vars * vars) + FAR_SPECK;
    return out;
}

far_form far_form_power(const far_form *s, double degree, int64_t vars)
{
    if (degree == 0) {
        return far_form_constant(1, 0);
    }
    far_range z = far_form_range(s, vars);
    z.low = fmax(z.low, 0);
    return far_form_strip(s, far_power_strip(degree, z), vars);
}

/* Convex and falling: below the chord, above the tangent that is parallel to it. */
far_strip far_inverse_strip(far_range z, bool half)
{
    double rl = half ? sqrt(z.low) : z.low, rh = half ? sqrt(z.high) : z.high;
    double slope = half ? -1 / (rl * rh * (rl + rh)) : -1 / (rl * rh);
    double at_low = 1 / rl - slope * z.low, at_high = 1 / rh - slope * z.high;
    double least = half ? 1.5 * cbrt(-2 * slope) : 2 * sqrt(-slope);
    double slack = 64 * FAR_UNIT * (1 / rl + fabs(slope) * z.high + least) + FAR_SPECK;
    return (far_strip){slope, least - slack, fmax(at_low, at_high) + slack};
}
