#include "hermite.h"

#include <math.h>

#define PI 3.141592653589793238462643383279502884L

/* Coefficients of erf(l z), z = r u, in normalised Hermite polynomials of u are
 * h_k c^k with (2/pi) asin x = sum h_k^2 x^k, alternating in sign. By ln r, c^k changes by
 * k e^2 c^k and e by -c^2 e. */
typedef struct erf_terms {
    long double f[FAR_SERIES_MAX + 2], over_r[FAR_SERIES_MAX + 2], scaled[FAR_SERIES_MAX + 2];
    long double over_rate[FAR_SERIES_MAX + 2], scaled_rate[FAR_SERIES_MAX + 2]; /* by ln r */
} erf_terms;

static void erf_series(const far_activation *a, far_big r, int terms, erf_terms *t)
{
    far_unit unit[FAR_MIXTURE_MAX];
    long double power[FAR_MIXTURE_MAX], h2 = 2 / PI, h;
    for (int m = 0; m < a->terms; m++) {
        unit[m] = far_unit_of(far_mixture_scale(a, m, r));
        power[m] = 1;
    }
    for (int k = 1; k < terms; k += 2) {
        long double f = 0, over = 0, scaled = 0, over_rate = 0, scaled_rate = 0;
        h = sqrtl(h2 / k) * (k % 4 == 1 ? 1 : -1);
        for (int m = 0; m < a->terms; m++) {
            long double e = far_big_limit(unit[m].e), c = unit[m].c;
            long double root = a->family == FAR_FAMILY_SOFT_SIGN ? sqrtl(2) : 1;
            long double w = a->weight[m] * h, part = w * power[m] * a->rate[m] * root * e;
            long double grown = w * power[m] * c * k * e * e;
            over += part;
            f += w * power[m] * c;
            scaled += grown;
            over_rate += part * ((k - 1) * e * e - c * c);
            scaled_rate += grown * (k * e * e - 2 * c * c);
            power[m] *= c * c;
        }
        t->f[k] = f;
        t->over_r[k] = over;
        t->scaled[k] = scaled;
        t->over_rate[k] = over_rate;
        t->scaled_rate[k] = scaled_rate;
        h2 *= (long double)k / (k + 1);
    }
}

static void sign_series(const erf_terms *t, int terms, far_series *out)
{
    for (int k = 0; k < terms; k++) {
        bool inside = k + 1 < terms;
        out->value[k] = t->f[k];
        out->value_rate[k] = out->scaled[k] = t->scaled[k];
        out->scaled_rate[k] = t->scaled_rate[k];
        out->slope[k] = inside ? sqrtl(k + 1) * t->over_r[k + 1] : 0;
        out->slope_rate[k] = inside ? sqrtl(k + 1) * t->over_rate[k + 1] : 0;
    }
}

/* u times a series: u h_k = sqrt(k+1) h_(k+1) + sqrt(k) h_(k-1). */
static long double times_u(const long double *f, int k)
{
    return (k ? sqrtl(k) * f[k - 1] : 0) + sqrtl(k + 1) * f[k + 1];
}

/* z Phi(l z) / r = u (1/2 + erf / 2) */
static void relu_series(erf_terms *t, int terms, far_series *out)
{
    t->f[0] = 1;
    for (int k = 0; k < terms; k++) {
        out->value[k] = times_u(t->f, k) / 2;
        out->value_rate[k] = times_u(t->scaled, k) / 2;
        out->scaled[k] = out->value[k] + out->value_rate[k];
        out->scaled_rate[k] = out->value_rate[k] + times_u(t->scaled_rate, k) / 2;
        out->slope[k] = sqrtl(k + 1) * times_u(t->f, k + 1) / 2;
        out->slope_rate[k] = sqrtl(k + 1) * times_u(t->scaled, k + 1) / 2;
    }
}

void far_series_of(const far_activation *a, far_big r, int terms, far_series *out)
{
    erf_terms t = {0};
    if (a->family == FAR_FAMILY_SOFT_SIGN) {
        erf_series(a, r, terms, &t);
        sign_series(&t, terms, out);
    } else {
        erf_series(a, r, terms + 2, &t);
        relu_series(&t, terms, out);
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
