/* Peaks, crossings and mid-points of curves. */
#include "measure_internal.h"

#include <math.h>

far_status far_check_numbers(far_ctx *ctx, const double *values, int64_t n, const char *name)
{
    if (!values) {
        return far_fail(ctx, FAR_ERR_ARG, "%s is NULL", name);
    }
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(values[i])) {
            return far_fail(ctx, FAR_ERR_VALUE, "%s: number %lld is %g", name, (long long)i + 1,
                            values[i]);
        }
    }
    return FAR_OK;
}

static far_status check_curve(far_ctx *ctx, const double *x, const double *y, int64_t n,
                              int64_t least)
{
    far_status st;
    if (n < least) {
        return far_fail(ctx, FAR_ERR_ARG, "a curve of %lld point%s; %lld are needed", (long long)n,
                        far_plural(n), (long long)least);
    }
    FAR_TRY(far_check_numbers(ctx, x, n, "x"));
    FAR_TRY(far_check_numbers(ctx, y, n, "y"));
    for (int64_t i = 1; i < n; i++) {
        if (!(x[i] > x[i - 1])) {
            return far_fail(ctx, FAR_ERR_ARG, "x must ascend, but number %lld is %g after %g",
                            (long long)i + 1, x[i], x[i - 1]);
        }
    }
done:
    return st;
}

/* Where the line from point i to point j is at that level. */
static double between(const double *x, const double *y, int64_t i, int64_t j, double level)
{
    return y[i] == y[j] ? x[i] : x[i] + (level - y[i]) / (y[j] - y[i]) * (x[j] - x[i]);
}

/* From the top in steps of `step`, the first place at or below level. */
static double half_place(const double *x, const double *y, int64_t n, int64_t top, int64_t step,
                         double level)
{
    for (int64_t i = top; i + step >= 0 && i + step < n; i += step) {
        if (y[i + step] <= level) {
            return between(x, y, i, i + step, level);
        }
    }
    return NAN;
}

far_status far_peak_find(far_ctx *ctx, const double *x, const double *y, int64_t n, double base,
                         far_peak *out)
{
    int64_t top = 0;
    far_status st;
    FAR_TRY(check_curve(ctx, x, y, n, 1));
    FAR_TRY(far_check_numbers(ctx, &base, 1, "base"));
    for (int64_t i = 1; i < n; i++) {
        top = y[i] > y[top] ? i : top;
    }
    double level = base + (y[top] - base) / 2;
    *out = (far_peak){.x = x[top], .y = y[top], .left = NAN, .right = NAN, .width = NAN};
    if (y[top] > base) {
        out->left = half_place(x, y, n, top, -1, level);
        out->right = half_place(x, y, n, top, 1, level);
        out->width = out->right - out->left;
    }
done:
    return st;
}

far_status far_crossing_find(far_ctx *ctx, const double *x, const double *y, int64_t n,
                             double level, double *at)
{
    far_status st;
    FAR_TRY(check_curve(ctx, x, y, n, 1));
    *at = y[0] == level ? x[0] : NAN;
    for (int64_t i = 1; i < n && isnan(*at); i++) {
        if ((y[i - 1] < level) != (y[i] < level) || y[i] == level) {
            *at = between(x, y, i - 1, i, level);
        }
    }
done:
    return st;
}

/* ---- sigmoids ---- */

typedef struct sigmoid_job {
    const double *x, *y;
    int64_t n;
    double range; /* of x */
} sigmoid_job;

static double logistic(double z)
{
    return 1 / (1 + exp(-z));
}

/* For a middle and a width, low and high are a matter of straight lines. */
static far_sigmoid best_levels(const sigmoid_job *j, double middle, double width)
{
    double s_mean = 0, y_mean = 0, ss = 0, sy = 0, squares = 0, n = (double)j->n;
    for (int64_t i = 0; i < j->n; i++) {
        s_mean += logistic((j->x[i] - middle) / width) / n;
        y_mean += j->y[i] / n;
    }
    for (int64_t i = 0; i < j->n; i++) {
        double s = logistic((j->x[i] - middle) / width) - s_mean;
        ss += s * s;
        sy += s * (j->y[i] - y_mean);
    }
    double rise = ss > 1e-20 * n ? sy / ss : 0;
    for (int64_t i = 0; i < j->n; i++) {
        double s = logistic((j->x[i] - middle) / width) - s_mean;
        double off = j->y[i] - y_mean - rise * s;
        squares += off * off;
    }
    double low = y_mean - rise * s_mean;
    return (far_sigmoid){middle, width, low, low + rise, sqrt(squares / n), 0};
}

enum { MIDDLES = 40, WIDTHS = 14, ROUNDS = 400 };

static far_sigmoid best_of_grid(const sigmoid_job *j)
{
    far_sigmoid best = {.error = INFINITY};
    for (int a = 0; a <= MIDDLES; a++) {
        for (int b = 0; b < WIDTHS; b++) {
            double width = j->range * pow(2, -b);
            far_sigmoid s = best_levels(j, j->x[0] + j->range * a / MIDDLES, width);
            best = s.error < best.error ? s : best;
        }
    }
    return best;
}

/* To the eight neighbours as long as one is better, then with half the step. */
static far_sigmoid refine(const sigmoid_job *j, far_sigmoid best)
{
    double step = 1;
    for (int round = 0; round < ROUNDS && step > 1e-9; round++) {
        far_sigmoid centre = best;
        for (int k = 0; k < 9; k++) {
            double middle = centre.middle + (k % 3 - 1) * step * centre.width;
            double width = centre.width * exp((k / 3 - 1) * step * 0.5);
            far_sigmoid s = best_levels(j, middle, width);
            best = s.error < best.error ? s : best;
        }
        step *= best.error < centre.error ? 1 : 0.5;
    }
    return best;
}

far_status far_sigmoid_fit(far_ctx *ctx, const double *x, const double *y, int64_t n,
                           far_sigmoid *out)
{
    bool constant = true;
    far_status st;
    FAR_TRY(check_curve(ctx, x, y, n, 5));
    for (int64_t i = 1; i < n; i++) {
        constant = constant && y[i] == y[0];
    }
    if (constant) {
        return far_fail(ctx, FAR_ERR_VALUE, "y: a constant curve has no mid-point");
    }
    sigmoid_job j = {x, y, n, x[n - 1] - x[0]};
    *out = refine(&j, best_of_grid(&j));
    out->settled = out->middle > x[0] && out->middle < x[n - 1] && out->width < j.range / 2;
done:
    return st;
}
