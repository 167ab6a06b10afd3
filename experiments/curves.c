/* Peaks, crossings and mid-points of curves; the constants of power laws. */
#include "curves.h"

#include <math.h>

#define PI 3.14159265358979323846

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

static bool is_curve(const double *x, const double *y, int64_t n)
{
    bool good = n > 0;
    for (int64_t i = 0; good && i < n; i++) {
        good = isfinite(x[i]) && isfinite(y[i]) && (i == 0 || x[i] > x[i - 1]);
    }
    return good;
}

curve_peak curve_find_peak(const double *x, const double *y, int64_t n, double base)
{
    curve_peak p = {NAN, NAN, NAN, NAN, NAN};
    int64_t top = 0;
    if (!is_curve(x, y, n)) {
        return p;
    }
    for (int64_t i = 1; i < n; i++) {
        top = y[i] > y[top] ? i : top;
    }
    double level = base + (y[top] - base) / 2;
    p.x = x[top];
    p.y = y[top];
    if (y[top] > base) {
        p.left = half_place(x, y, n, top, -1, level);
        p.right = half_place(x, y, n, top, 1, level);
        p.width = p.right - p.left;
    }
    return p;
}

double curve_crossing(const double *x, const double *y, int64_t n, double level)
{
    bool good = is_curve(x, y, n);
    double at = good && y[0] == level ? x[0] : NAN;
    for (int64_t i = 1; good && i < n && isnan(at); i++) {
        if ((y[i - 1] < level) != (y[i] < level) || y[i] == level) {
            at = between(x, y, i - 1, i, level);
        }
    }
    return at;
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
static curve_sigmoid best_levels(const sigmoid_job *j, double middle, double width)
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
    return (curve_sigmoid){middle, width, low, low + rise, sqrt(squares / n), 0};
}

enum { MIDDLES = 40, WIDTHS = 14, ROUNDS = 400 };

static curve_sigmoid best_of_grid(const sigmoid_job *j)
{
    curve_sigmoid best = {.error = INFINITY};
    for (int a = 0; a <= MIDDLES; a++) {
        for (int b = 0; b < WIDTHS; b++) {
            double width = j->range * pow(2, -b);
            curve_sigmoid s = best_levels(j, j->x[0] + j->range * a / MIDDLES, width);
            best = s.error < best.error ? s : best;
        }
    }
    return best;
}

/* To the eight neighbours as long as one is better, then with half the step. */
static curve_sigmoid refine(const sigmoid_job *j, curve_sigmoid best)
{
    double step = 1;
    for (int round = 0; round < ROUNDS && step > 1e-9; round++) {
        curve_sigmoid centre = best;
        for (int k = 0; k < 9; k++) {
            double middle = centre.middle + (k % 3 - 1) * step * centre.width;
            double width = centre.width * exp((k / 3 - 1) * step * 0.5);
            curve_sigmoid s = best_levels(j, middle, width);
            best = s.error < best.error ? s : best;
        }
        step *= best.error < centre.error ? 1 : 0.5;
    }
    return best;
}

curve_sigmoid curve_fit_sigmoid(const double *x, const double *y, int64_t n)
{
    bool constant = true, good = n >= 5 && is_curve(x, y, n);
    for (int64_t i = 1; good && i < n; i++) {
        constant = constant && y[i] == y[0];
    }
    if (constant) {
        return (curve_sigmoid){NAN, NAN, NAN, NAN, NAN, false};
    }
    sigmoid_job j = {x, y, n, x[n - 1] - x[0]};
    curve_sigmoid s = refine(&j, best_of_grid(&j));
    s.settled = s.middle > x[0] && s.middle < x[n - 1] && s.width < j.range / 2;
    return s;
}

/* ---- constants ---- */

double power_symbol(double d, double alpha)
{
    double pole = fmod(alpha, 2) == 0 ? INFINITY : fabs(tgamma(-alpha / 2));
    return pow(2, d + alpha) * pow(PI, d / 2) * tgamma((d + alpha) / 2) / pole;
}

double power_constant(double d, double alpha, double integral)
{
    double ball = pow(PI, d / 2) / tgamma(d / 2 + 1);
    return pow(ball / pow(2 * PI, d) * integral, (d + alpha) / d);
}

double power_loss(double lam, double nu, double kap, double kappa, double t)
{
    double xi = kappa / nu;
    return kap / 2 * tgamma(xi + 1) * pow(2 * lam * t, -xi);
}
