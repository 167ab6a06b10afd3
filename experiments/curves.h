/*
 * Curves y over x: x ascends, values are finite, and between points they are straight. Numbers that
 * are not there, also because it is no such curve, are NAN.
 */
#ifndef FAR_EXPERIMENTS_CURVES_H
#define FAR_EXPERIMENTS_CURVES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct curve_peak {
    double x, y;        /* of the highest point; the first of several */
    double left, right; /* where the curve first falls to base + (y - base) / 2 on that side */
    double width;       /* right - left */
} curve_peak;
curve_peak curve_find_peak(const double *x, const double *y, int64_t n, double base);

/* The first x at which y passes through level, or touches it. */
double curve_crossing(const double *x, const double *y, int64_t n, double level);

/* y ~ low + (high - low) / (1 + exp(-(x - middle) / width)), width > 0, by least squares: levels
 * by a straight line, middle and width by a grid that is then refined. high < low where it falls.
 * At least 5 points, and no constant. Not settled: the middle lies outside of x or the width is
 * half of its range; it is no sigmoid there. */
typedef struct curve_sigmoid {
    double middle, width, low, high;
    double error; /* root mean square */
    bool settled;
} curve_sigmoid;
curve_sigmoid curve_fit_sigmoid(const double *x, const double *y, int64_t n);

/* Lam = (V_d / (2 pi)^d integral)^((d + alpha) / d) with integral = int (mu(x) a(x)
 * C)^(d / (d + alpha)) dx, mu the density of the points, C = power_symbol(d, alpha), the factor in
 * the Fourier transform of -|x|^alpha. V_d is the volume of the unit ball. */
double power_symbol(double d, double alpha);
double power_constant(double d, double alpha, double integral);
/* L(t) ~ (Kap / 2) Gamma(kappa / nu + 1) (2 Lam t)^-xi, xi = kappa / nu (measure.h). */
double power_loss(double lam, double nu, double kap, double kappa, double t);

#endif
