/* Activations on an interval: the values they take there, and lines they stay between. */
#include "net_certify.h"

#include <stddef.h>

/* But the argument of erfc in gelu is rounded, which far out weighs z^2 times as much. */
#define GELU_TAIL 1e-20
#define MOST_PHASE 1e6 /* of a sine: further out it may be anything */
#define GELU_LEAST -0.16997120747990370
#define GELU_LEAST_AT -0.75179152469356450
#define SILU_LEAST -0.27846454276107380
#define SILU_LEAST_AT -1.27846454276107380
#define MISH_LEAST -0.30884341301725041
#define MISH_LEAST_AT -1.1924312145154952
#define GELU_TANH_LEAST -0.17004075057125406
#define GELU_TANH_LEAST_AT -0.75246142207101626
/* gelu(tanh) of numbers below 0 has the rounding of 1 + tanh in it, 35 units of |z| / 2; from here
 * on it is 0 but for 1e-30, and taken to be. */
#define GELU_TANH_END -10.0
#define GELU_TANH_SLACK 1e-13
/* What an activation of a few library functions is off. */
#define DOUBT (8 * FAR_LIBRARY_ERROR)

static double wide_up(double x)
{
    return x + fabs(x) * DOUBT + FAR_SPECK;
}

static double wide_down(double x)
{
    return -wide_up(-x);
}

static double tail_slack(const far_step *s)
{
    return s->layer == FAR_LAYER_GELU        ? GELU_TAIL
           : s->layer == FAR_LAYER_GELU_TANH ? GELU_TANH_SLACK
                                             : 0;
}

static double value(const far_step *s, double z)
{
    bool ended = s->layer == FAR_LAYER_GELU_TANH && z < GELU_TANH_END;
    return ended ? 0 : far_activation_value(s, z);
}

/* Below relu, with one least value. */
static bool is_relu_like(const far_step *s)
{
    return s->layer == FAR_LAYER_GELU || s->layer == FAR_LAYER_SILU || s->layer == FAR_LAYER_MISH ||
           s->layer == FAR_LAYER_GELU_TANH;
}

/* Two lines that meet at 0. */
static bool is_two_lines(const far_step *s)
{
    return s->layer == FAR_LAYER_LEAKY_RELU || s->layer == FAR_LAYER_ABS ||
           s->layer == FAR_LAYER_IDENTITY || (s->layer == FAR_LAYER_RELU && s->power == 1);
}

bool far_activation_is_bounded(const far_step *s)
{
    return s->layer == FAR_LAYER_TANH || s->layer == FAR_LAYER_ERF || s->layer == FAR_LAYER_SIN ||
           s->layer == FAR_LAYER_SIGMOID;
}

double far_activation_degree(const far_step *s, double before)
{
    return far_activation_is_bounded(s) ? 0
           : s->layer == FAR_LAYER_RELU ? before * s->power
                                        : before;
}

bool far_activation_is_homogeneous(const far_step *s)
{
    return is_two_lines(s) || s->layer == FAR_LAYER_RELU;
}

double far_activation_curvature(const far_step *s)
{
    switch (s->layer) {
    case FAR_LAYER_ERF: /* sqrt(8 / (pi e)) */
        return 0.968;
    case FAR_LAYER_GELU: /* 2 / sqrt(2 pi) */
    case FAR_LAYER_GELU_TANH:
        return 0.798;
    case FAR_LAYER_MISH: /* at -0.088 */
        return 0.645;
    case FAR_LAYER_SIGMOID: /* 1 / (6 sqrt(3)) */
        return 0.0963;
    case FAR_LAYER_SOFTPLUS:
        return 0.25;
    case FAR_LAYER_SILU:
        return 0.5;
    case FAR_LAYER_TANH: /* 4 / 27^(1/2) */
        return 0.77;
    case FAR_LAYER_SIN:
        return s->w0 == 1 ? 1 : far_up(s->w0 * s->w0);
    default:
        return INFINITY;
    }
}

double far_activation_lipschitz(const far_step *s)
{
    double gain = fabs(s->gain);
    switch (s->layer) {
    case FAR_LAYER_RELU:
        return s->power == 1 ? gain : INFINITY;
    case FAR_LAYER_LEAKY_RELU:
    case FAR_LAYER_ELU:
        return gain * fmax(1, fabs(s->slope));
    case FAR_LAYER_SIGMOID:
        return gain / 4;
    case FAR_LAYER_ERF: /* 2 / sqrt(pi) */
        return gain * 1.1284;
    case FAR_LAYER_SIN:
        return s->w0 == 1 ? gain : far_up(gain * s->w0);
    default: /* |gelu(z)|, |silu(z)|, |mish(z)| <= |z| */
        return gain;
    }
}

double far_activation_at_zero(const far_step *s)
{
    bool any = s->layer == FAR_LAYER_SIGMOID || s->layer == FAR_LAYER_SOFTPLUS;
    return any ? far_up(s->gain * wide_up(value(s, 0))) : 0;
}

double far_activation_slope_doubt(const far_step *s, double z)
{
    bool cancels = s->layer == FAR_LAYER_MISH || s->layer == FAR_LAYER_GELU_TANH;
    return !cancels ? 0 : fabs(z) <= 20 ? 1e-11 : INFINITY;
}

static double least_at(const far_step *s)
{
    return s->layer == FAR_LAYER_GELU        ? GELU_LEAST_AT
           : s->layer == FAR_LAYER_GELU_TANH ? GELU_TANH_LEAST_AT
           : s->layer == FAR_LAYER_MISH      ? MISH_LEAST_AT
                                             : SILU_LEAST_AT;
}

static double least(const far_step *s)
{
    return s->layer == FAR_LAYER_GELU        ? GELU_LEAST
           : s->layer == FAR_LAYER_GELU_TANH ? GELU_TANH_LEAST
           : s->layer == FAR_LAYER_MISH      ? MISH_LEAST
                                             : SILU_LEAST;
}

/* Of a bounded one. */
static far_range whole_range(const far_step *s)
{
    return (far_range){s->layer == FAR_LAYER_SIGMOID ? 0 : -1, 1};
}

/* phi at an end, which may be infinite. */
static double value_at(const far_step *s, double z)
{
    if (isfinite(z)) {
        return value(s, z);
    }
    if (far_activation_is_bounded(s)) {
        return z > 0 ? 1 : whole_range(s).low;
    }
    if (z < 0 && s->layer == FAR_LAYER_ELU) {
        return -s->slope;
    }
    if (z < 0 &&
        (is_relu_like(s) || s->layer == FAR_LAYER_RELU || s->layer == FAR_LAYER_SOFTPLUS)) {
        return 0;
    }
    return s->layer == FAR_LAYER_ABS                   ? INFINITY
           : s->layer == FAR_LAYER_LEAKY_RELU && z < 0 ? (s->slope == 0 ? 0 : s->slope * z)
                                                       : z;
}

/* Whether the range may hold top + 2 pi k. */
static bool holds_phase(far_range z, double top)
{
    const double turn = 2 * M_PI, slack = 1e-9;
    return floor((z.high - top) / turn + slack) >= ceil((z.low - top) / turn - slack);
}

static far_range sine_range(double w0, far_range at)
{
    far_range z = w0 == 1 ? at : (far_range){far_down(w0 * at.low), far_up(w0 * at.high)};
    if (!(far_range_size(z) < MOST_PHASE) || z.high - z.low > 7) {
        return (far_range){-1, 1};
    }
    double a = sin(z.low), b = sin(z.high);
    return (far_range){holds_phase(z, -M_PI / 2) ? -1 : wide_down(fmin(a, b)),
                       holds_phase(z, M_PI / 2) ? 1 : wide_up(fmax(a, b))};
}

/* phi without gain. All but sin fall, then rise, with one least value at most. */
static far_range plain_range(const far_step *s, far_range z)
{
    if (s->layer == FAR_LAYER_SIN) {
        return sine_range(s->w0, z);
    }
    double a = value_at(s, z.low), b = value_at(s, z.high);
    far_range r = {wide_down(fmin(a, b)) - tail_slack(s), wide_up(fmax(a, b)) + tail_slack(s)};
    double turn = is_relu_like(s) ? least_at(s) : 0;
    bool turns = is_relu_like(s) || s->layer == FAR_LAYER_ABS || s->layer == FAR_LAYER_LEAKY_RELU;
    if (turns && z.low < turn && z.high > turn) {
        double at = is_relu_like(s) ? least(s) : 0;
        r = (far_range){fmin(r.low, wide_down(at)), fmax(r.high, at)};
    }
    if (far_activation_is_bounded(s)) {
        r = far_range_meet(r, whole_range(s));
    }
    return r;
}

static far_range times(double gain, far_range r)
{
    double a = r.low == 0 ? 0 : gain * r.low, b = r.high == 0 ? 0 : gain * r.high;
    return gain == 0 ? (far_range){0, 0} : (far_range){far_down(fmin(a, b)), far_up(fmax(a, b))};
}

far_range far_activation_range(const far_step *s, far_range z)
{
    return times(s->gain, plain_range(s, z));
}

far_range far_activation_tail(const far_step *s, double least_size)
{
    if (s->layer == FAR_LAYER_ELU) {
        return times(s->gain, (far_range){wide_down(-s->slope), 0});
    }
    if (s->layer == FAR_LAYER_SOFTPLUS) { /* log(1 + e^-|z|) */
        return times(s->gain, (far_range){0, wide_up(value(s, least_size > 0 ? -least_size : 0))});
    }
    double least_value = least(s);
    if (least_size > -least_at(s)) { /* phi(-1000) is 0 even without rounding, almost */
        least_value = least_size < 1000 ? value(s, -least_size) : -FAR_SPECK;
    }
    /* relu(z) - phi(z) = -phi(-|z|), or less for mish of z > 0 */
    return times(s->gain, (far_range){wide_down(least_value) - tail_slack(s), 0});
}

/* ---- strips -------------------------------------------------------------------------------- */

static far_strip constant_strip(const far_step *s, far_range z)
{
    far_range r = plain_range(s, z);
    return (far_strip){0, r.low, r.high};
}

/* Widens the strip so that it holds the point (z, y). */
static void hold(far_strip *strip, double z, double y)
{
    double off = y - strip->slope * z;
    double slack = DOUBT * (fabs(y) + fabs(strip->slope * z)) + FAR_SPECK;
    strip->low = fmin(strip->low, off - slack);
    strip->high = fmax(strip->high, off + slack);
}

static far_strip empty_strip(double slope)
{
    return (far_strip){slope, INFINITY, -INFINITY};
}

static double chord(const far_step *s, far_range z)
{
    double a = value(s, z.low), b = value(s, z.high);
    return z.high > z.low ? (b - a) / (z.high - z.low) : far_activation_slope(s, z.low);
}

static far_strip two_lines_strip(const far_step *s, far_range z)
{
    if (z.low >= 0) {
        return (far_strip){1, 0, 0};
    }
    if (z.high <= 0) {
        double slope = s->layer == FAR_LAYER_RELU         ? 0
                       : s->layer == FAR_LAYER_ABS        ? -1
                       : s->layer == FAR_LAYER_LEAKY_RELU ? s->slope
                                                          : 1;
        return (far_strip){slope, 0, 0};
    }
    if (s->layer == FAR_LAYER_IDENTITY) {
        return (far_strip){1, 0, 0};
    }
    far_strip strip = empty_strip(chord(s, z));
    hold(&strip, z.low, value(s, z.low));
    hold(&strip, 0, 0);
    hold(&strip, z.high, value(s, z.high));
    return strip;
}

/* Convex (or concave, turn -1) on the range: between the chord and a tangent. */
static far_strip bent_strip(const far_step *s, far_range z, double turn)
{
    far_strip strip = empty_strip(chord(s, z));
    hold(&strip, z.low, value(s, z.low));
    hold(&strip, z.high, value(s, z.high));
    double m = z.low + (z.high - z.low) / 2, y = value(s, m);
    double slope = far_activation_slope(s, m), reach = z.high - z.low;
    hold(&strip, m, y - turn * fabs(slope - strip.slope) * reach * (0.5 + 1e-9));
    double slack = DOUBT * (fabs(slope) + fabs(strip.slope)) * (fabs(m) + reach);
    strip.low -= slack;
    strip.high += slack;
    return strip;
}

static far_strip power_strip(const far_step *s, far_range z)
{
    if (s->power > 1) {
        return bent_strip(s, z, 1);
    }
    bool concave = z.low >= 0 && z.high > 0;
    return concave ? bent_strip(s, z, -1) : constant_strip(s, z);
}

far_strip far_power_strip(double power, far_range z)
{
    far_step s = {.layer = FAR_LAYER_RELU, .power = power, .gain = 1};
    return power == 1 ? (far_strip){1, 0, 0} : power_strip(&s, z);
}

/* The error of a slope at m, in units of the library's. That of sin(w0 z) has a rounded argument.
 */
static double slope_slack(const far_step *s, double m)
{
    if (far_activation_slope_doubt(s, m) > 0) {
        return far_activation_slope_doubt(s, m) / DOUBT;
    }
    bool rounded = s->layer == FAR_LAYER_SIN && s->w0 != 1;
    return rounded ? s->w0 * (1 + s->w0 * fabs(m)) : 1;
}

/* phi(m) + phi'(m) (z - m), off by at most half the curvature times the square of the reach. */
static far_strip tangent_strip(const far_step *s, far_range z)
{
    double m = z.low + (z.high - z.low) / 2, reach = (z.high - z.low) / 2 * (1 + 1e-9);
    double slope = far_activation_slope(s, m), y = value(s, m);
    double bend = far_up(far_activation_curvature(s) * reach * reach / 2);
    double turn = slope_slack(s, m) * reach;
    double slack = DOUBT * (fabs(y) + fabs(slope) * (fabs(m) + reach) + turn) + FAR_SPECK;
    slack += tail_slack(s);
    return (far_strip){slope, y - slope * m - bend - slack, y - slope * m + bend + slack};
}

/* The slope of tanh, erf, sigmoid and elu is least at one of the ends: less that line, they rise.
 */
static far_strip rising_strip(const far_step *s, far_range z)
{
    double slope = fmin(far_activation_slope(s, z.low), far_activation_slope(s, z.high));
    far_strip strip = empty_strip(fmax(0, slope * (1 - 4 * DOUBT) - 4 * DOUBT));
    hold(&strip, z.low, value(s, z.low));
    hold(&strip, z.high, value(s, z.high));
    return strip;
}

static far_strip tail_strip(const far_step *s, far_range z)
{
    far_step relu = {.layer = FAR_LAYER_RELU, .power = 1, .gain = 1}, plain = *s;
    plain.gain = 1;
    far_strip strip = two_lines_strip(&relu, z);
    double near = z.low > 0 ? z.low : z.high < 0 ? -z.high : 0;
    far_range tail = far_activation_tail(&plain, near);
    strip.low = far_down(strip.low + tail.low);
    strip.high = far_up(strip.high + tail.high);
    return strip;
}

static double width(far_strip s)
{
    return s.high - s.low;
}

static far_strip narrower(far_strip a, far_strip b)
{
    return width(b) < width(a) ? b : a;
}

/* Where w0 z is rounded, sin(w0 z) far out is that of another place. */
static bool is_out_of_phase(const far_step *s, far_range z)
{
    return s->layer == FAR_LAYER_SIN && s->w0 != 1 && !(s->w0 * far_range_size(z) < MOST_PHASE);
}

static far_strip smooth_strip(const far_step *s, far_range z)
{
    far_strip best = constant_strip(s, z);
    if (is_out_of_phase(s, z)) {
        return best;
    }
    bool soft = s->layer == FAR_LAYER_SOFTPLUS, elu = s->layer == FAR_LAYER_ELU;
    best = elu ? best : narrower(best, tangent_strip(s, z));
    if (is_relu_like(s) || soft) {
        best = narrower(best, tail_strip(s, z));
    } else if (s->layer != FAR_LAYER_SIN) {
        best = narrower(best, rising_strip(s, z));
    }
    bool convex = soft || (elu && (s->slope <= 1 || z.high <= 0));
    return convex ? narrower(best, bent_strip(s, z, 1)) : best;
}

static far_strip plain_strip(const far_step *s, far_range z)
{
    if (is_two_lines(s) && (z.low >= 0 || z.high <= 0 || s->layer == FAR_LAYER_IDENTITY)) {
        return two_lines_strip(s, z);
    }
    if (!isfinite(z.low) || !isfinite(z.high)) {
        return constant_strip(s, z);
    }
    return is_two_lines(s)              ? two_lines_strip(s, z)
           : s->layer == FAR_LAYER_RELU ? power_strip(s, z)
                                        : smooth_strip(s, z);
}

far_strip far_activation_strip(const far_step *s, far_range z)
{
    far_strip strip = plain_strip(s, z);
    if (s->gain == 1) {
        return strip;
    }
    double slope = s->gain * strip.slope;
    far_range r = times(s->gain, (far_range){strip.low, strip.high});
    double size = strip.slope == 0 ? 0 : far_range_size(z);
    double slack = strip.slope == 0 ? 0 : 2 * FAR_UNIT * fabs(slope) * size;
    return (far_strip){slope, r.low - slack, r.high + slack};
}

/* ---- lines --------------------------------------------------------------------------------- */

/* Where relu turns, the line below may have any slope between 0 and 1: the one that is nearer. */
static void relu_lines(double gain, far_range z, far_line *below, far_line *above)
{
    double slope = z.high / (z.high - z.low);
    double slack = gain == 1 ? 0 : 4 * FAR_UNIT * gain * far_range_size(z);
    double most = far_up(fmax(-slope * z.low, z.high - slope * z.high));
    *above = (far_line){gain * slope, far_up(gain * most + slack)};
    *below = (far_line){z.high > -z.low ? gain : 0, -slack};
}

void far_activation_lines(const far_step *s, far_range z, far_line *below, far_line *above)
{
    bool turns = z.low < 0 && z.high > 0 && isfinite(z.low) && isfinite(z.high);
    if (s->layer == FAR_LAYER_RELU && s->power == 1 && s->gain > 0 && turns) {
        relu_lines(s->gain, z, below, above);
        return;
    }
    far_strip strip = far_activation_strip(s, z);
    *below = (far_line){strip.slope, strip.low};
    *above = (far_line){strip.slope, strip.high};
}
