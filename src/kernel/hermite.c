#include "hermite.h"

#include <math.h>

#define PI 3.141592653589793238462643383279502884L

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

static void sign_series(const far_activation *a, far_big r, int terms, far_series *out)
{
    long double over[FAR_SERIES_MAX + 2];
    erf_series(a, r, terms, out->value, over, out->scaled);
    for (int k = 0; k < terms; k++) {
        out->slope[k] = k + 1 < terms ? sqrtl(k + 1) * over[k + 1] : 0;
    }
}

/* z Phi(l z) / r = u (1/2 + erf / 2), and u h_k = sqrt(k+1) h_(k+1) + sqrt(k) h_(k-1). */
static void relu_series(const far_activation *a, far_big r, int terms, far_series *out)
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

void far_series_of(const far_activation *a, far_big r, int terms, far_series *out)
{
    if (a->family == FAR_FAMILY_SOFT_SIGN) {
        sign_series(a, r, terms, out);
    } else {
        relu_series(a, r, terms, out);
    }
}

/* The fewest terms that leave less than the tolerance of the activation's mean square and of its
 * slope's, at the largest scale among the points; 0: no series is good enough, take the closed
 * forms. By Parseval what is left of the squares bounds the error for every pair. */
int far_series_terms(const far_activation *a, double widest)
{
    static const int sizes[] = {16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, FAR_SERIES_MAX};
    if (a->terms < 2 || !(widest > 0) || isinf(widest)) {
        return 0;
    }
    far_big r = far_big_from(widest);
    far_moments m = far_activation_moments(a, r);
    long double unit = a->family == FAR_FAMILY_SOFT_RELU ? widest : 1;
    far_series coef;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        long double value = far_big_coef(m.square) / (unit * unit), slope = far_big_coef(m.slope);
        long double value_left = value, slope_left = slope;
        far_series_of(a, r, sizes[i], &coef);
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
