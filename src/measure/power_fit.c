/* Straight lines through logarithms. */
#include "measure_internal.h"

#include <math.h>

#define BENDS 0.5 /* an exponential that leaves this part of the spread is the better curve */

typedef struct line {
    double slope, at_zero, slope_error, at_zero_error, spread;
    int64_t points;
} line;

/* Least squares of v against u. */
static line fit_line(const double *u, const double *v, int64_t n)
{
    double u_mean = 0, v_mean = 0, uu = 0, uv = 0, squares = 0, count = (double)n;
    for (int64_t i = 0; i < n; i++) {
        u_mean += u[i] / count;
        v_mean += v[i] / count;
    }
    for (int64_t i = 0; i < n; i++) {
        uu += (u[i] - u_mean) * (u[i] - u_mean);
        uv += (u[i] - u_mean) * (v[i] - v_mean);
    }
    line l = {.slope = uv / uu, .points = n};
    l.at_zero = v_mean - l.slope * u_mean;
    for (int64_t i = 0; i < n; i++) {
        double off = v[i] - v_mean - l.slope * (u[i] - u_mean);
        squares += off * off;
    }
    l.spread = sqrt(squares / (count - 2));
    l.slope_error = l.spread / sqrt(uu);
    l.at_zero_error = l.spread * sqrt(1 / count + u_mean * u_mean / uu);
    return l;
}

static double in_range(double value)
{
    return isinf(value) ? NAN : value;
}

static far_power power_of(const line *l)
{
    double half = far_student_95(l->points - 2);
    double exponent = 0 - l->slope; /* -slope would be -0 of a flat curve */
    return (far_power){.exponent = exponent,
                       .exponent_low = exponent - half * l->slope_error,
                       .exponent_high = exponent + half * l->slope_error,
                       .prefactor = exp(l->at_zero),
                       .prefactor_low = exp(l->at_zero - half * l->at_zero_error),
                       .prefactor_high = in_range(exp(l->at_zero + half * l->at_zero_error)),
                       .spread = l->spread,
                       .points = l->points};
}

static far_status take_window(far_ctx *ctx, const double *x, const double *y, int64_t n,
                              double from, double to, double *u, double *v, int64_t *count)
{
    *count = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!(x[i] >= from && x[i] <= to)) {
            continue;
        }
        if (!(y[i] > 0 && y[i] < INFINITY)) {
            return far_fail(ctx, FAR_ERR_VALUE,
                            "at %g the value is %g; a power law needs positive numbers, so end the "
                            "window before, or leave such points out",
                            x[i], y[i]);
        }
        u[*count] = log(x[i]);
        v[(*count)++] = log(y[i]);
    }
    return FAR_OK;
}

static far_status check_count(far_ctx *ctx, int64_t count, double from, double to)
{
    return count >= FAR_POWER_LEAST
               ? FAR_OK
               : far_fail(ctx, FAR_ERR_ARG,
                          "the window from %g to %g holds %lld point%s; a power law takes at least "
                          "%d",
                          from, to, (long long)count, far_plural(count), FAR_POWER_LEAST);
}

/* u holds logarithms, and is overwritten. */
static bool is_exponential(double *u, const double *v, int64_t n, double spread)
{
    for (int64_t i = 0; i < n; i++) {
        u[i] = exp(u[i]);
    }
    return spread > 1e-6 && fit_line(u, v, n).spread < BENDS * spread;
}

/* The ends of what lies in the window, as they are and not through logarithms. */
static void find_ends(const double *x, int64_t n, double from, double to, far_power *out)
{
    out->from = INFINITY;
    out->to = 0;
    for (int64_t i = 0; i < n; i++) {
        if (x[i] >= from && x[i] <= to) {
            out->from = fmin(out->from, x[i]);
            out->to = fmax(out->to, x[i]);
        }
    }
}

/* A straight line through the logarithms of the window. The prefactor is the line at log x = 0, far
 * outside of most windows, so it may leave the range of a double where the exponent does not. */
static far_status fit_points(far_ctx *ctx, const double *x, const double *y, int64_t n, double from,
                             double to, far_power *out)
{
    double *u = NULL, *v;
    int64_t count;
    far_status st;
    if (!(from > 0 && from < to && to < INFINITY)) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "a window goes from a positive number to a larger one, not from %g to %g",
                        from, to);
    }
    FAR_TRY(far_alloc(ctx, 2 * n, &u));
    v = u + n;
    FAR_TRY(take_window(ctx, x, y, n, from, to, u, v, &count));
    FAR_TRY(check_count(ctx, count, from, to));
    far_power ends;
    find_ends(x, n, from, to, &ends);
    if (ends.from == ends.to) {
        st = far_fail(ctx, FAR_ERR_ARG, "all points of the window lie at %g", ends.from);
        goto done;
    }
    line l = fit_line(u, v, count);
    if (isinf(exp(l.at_zero))) {
        st = far_fail(ctx, FAR_ERR_RANGE,
                      "the prefactor, e^%.6g, is too large for float64; scale the values, or x",
                      l.at_zero);
        goto done;
    }
    *out = power_of(&l);
    out->from = ends.from;
    out->to = ends.to;
    if (is_exponential(u, v, count, l.spread)) {
        out->warning = "an exponential fits this window better than a power law";
    }
done:
    far_free(ctx, u);
    return st;
}

/* Values 1, 2, ..., n. */
static far_status fit_series(far_ctx *ctx, const double *values, int64_t n, int64_t from,
                             int64_t to, far_power *out)
{
    double *number = NULL;
    far_status st;
    if (from < 1 || to <= from || to > n) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "the window %lld:%lld must lie within 1:%lld, and hold %d numbers or more",
                        (long long)from, (long long)to, (long long)n, FAR_POWER_LEAST);
    }
    int64_t count = to - from + 1;
    FAR_TRY(far_alloc(ctx, count, &number));
    for (int64_t i = 0; i < count; i++) {
        number[i] = (double)(from + i);
    }
    FAR_TRY(fit_points(ctx, number, values + from - 1, count, (double)from, (double)to, out));
    if (to > n / FAR_POWER_PART && !out->warning) {
        out->warning = "the window ends beyond a thirtieth of the rows, where the spectrum and the "
                       "tails of a sample bend; take more points, or an earlier window";
    }
done:
    far_free(ctx, number);
    return st;
}

far_status far_power_fit(far_ctx *ctx, const double *x, const double *y, int64_t n, double from,
                         double to, far_power *out)
{
    if (x) {
        return fit_points(ctx, x, y, n, from, to, out);
    }
    if (!(fabs(from) < 0x1p53 && fabs(to) < 0x1p53) || from != rint(from) || to != rint(to)) {
        return far_fail(ctx, FAR_ERR_ARG, "the window %g:%g must be of whole numbers", from, to);
    }
    return fit_series(ctx, y, n, (int64_t)from, (int64_t)to, out);
}

far_status far_power_check(far_ctx *ctx, const far_spectrum *s, int64_t to)
{
    double least = (double)s->rows * 1e-16 * s->values[0];
    if (to >= 1 && to <= s->count && s->values[to - 1] <= least) {
        return far_fail(ctx, FAR_ERR_VALUE,
                        "eigenvalue %lld is %.3g, beside a largest one of %.3g no more than "
                        "rounding: the kernel is of low rank, or smooth (then there is no power "
                        "law), or has zeros (a relu network without biases: odd frequencies)",
                        (long long)to, s->values[to - 1], s->values[0]);
    }
    return FAR_OK;
}

void far_tail_sums(const double *squares, int64_t n, double *tails)
{
    double sum = 0;
    for (int64_t i = n - 1; i >= 0; i--) {
        sum += squares[i];
        tails[i] = sum;
    }
}
