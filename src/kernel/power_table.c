/*
 * kappa_v(rho) = E[z_+^v z'_+^v] / E[z_+^(2v)] for real v > -1/2, z and z' of unit variance and
 * correlation rho. With w = (1 - rho) / 2 and y = (1 + rho) / 2:
 *
 *     kappa_v = C y^(v+1/2) F(1/2, 1/2; v + 3/2; y)
 *             = F(-v, -v; 1/2 - v; w) - C / cos(pi v) w^(v+1/2) F(1/2, 1/2; v + 3/2; w)
 *
 * C = Gamma(v+1)^2 / (Gamma(v+3/2) Gamma(v+1/2)), F Gauss's hypergeometric function. The first form
 * serves rho < 0, the second rho > 0, where 1 - kappa loses no digits. At half-integer v the second
 * form is the difference of two poles; quadruple precision and the mean of v +- 1e-10 remove them.
 * Evaluated only here, once per architecture, then replaced by piecewise polynomials.
 */
#include "activation.h"

#include <quadmath.h>

#define HALF_INTEGER_SHIFT 1e-10Q
#define SERIES_LIMIT 400

/* sum over k >= first of (a)_k^2 / (c)_k x^k / k! */
static __float128 hypergeometric(__float128 a, __float128 c, __float128 x, int first)
{
    __float128 term = 1, sum = first == 0 ? 1 : 0;
    for (int k = 0; k < SERIES_LIMIT; k++) {
        term *= (a + k) * (a + k) / ((c + k) * (k + 1)) * x;
        sum += term;
        if (fabsq(term) <= FLT128_EPSILON * fabsq(sum)) {
            break;
        }
    }
    return sum;
}

static __float128 constant(__float128 v)
{
    return expq(2 * lgammaq(v + 1) - lgammaq(v + 1.5Q) - lgammaq(v + 0.5Q));
}

/* C x^(v+1/2) F(1/2, 1/2; v+3/2; x): kappa_v at y = x, and the singular part at w = x. */
static __float128 branch(__float128 v, __float128 c, __float128 x)
{
    return c * powq(x, v + 0.5Q) * hypergeometric(0.5Q, v + 1.5Q, x, 0);
}

static __float128 near_gap(__float128 v, __float128 c, __float128 u)
{
    return branch(v, c, u / 2) / cosq(M_PIq * v) - hypergeometric(-v, 0.5Q - v, u / 2, 1);
}

typedef struct curve {
    __float128 order[2], scale[2]; /* v, or v -+ shift, with their constants */
    bool near;
} curve;

static curve curve_of(__float128 v, bool near)
{
    bool pole = near && fabsq(cosq(M_PIq * v)) < HALF_INTEGER_SHIFT;
    __float128 shift = pole ? HALF_INTEGER_SHIFT : 0;
    curve c = {.order = {v - shift, v + shift}, .near = near};
    c.scale[0] = constant(c.order[0]);
    c.scale[1] = constant(c.order[1]);
    return c;
}

static __float128 curve_at(const curve *c, __float128 u)
{
    if (!c->near) {
        return branch(c->order[0], c->scale[0], u / 2);
    }
    __float128 value = near_gap(c->order[0], c->scale[0], u);
    if (c->order[1] != c->order[0]) {
        value = (value + near_gap(c->order[1], c->scale[1], u)) / 2;
    }
    return value;
}

/* Polynomial through the Chebyshev points of [low, high], in powers of t in [-1, 1], by Newton's
 * divided differences (13 points and 34 digits: nothing is lost). */
static void interpolate(const curve *c, __float128 low, __float128 high, double *out)
{
    __float128 t[FAR_TABLE_TERMS], f[FAR_TABLE_TERMS], power[FAR_TABLE_TERMS] = {0};
    for (int i = 0; i < FAR_TABLE_TERMS; i++) {
        t[i] = cosq(M_PIq * (i + 0.5Q) / FAR_TABLE_TERMS);
        f[i] = curve_at(c, (low + high) / 2 + t[i] * (high - low) / 2);
    }
    for (int k = 1; k < FAR_TABLE_TERMS; k++) {
        for (int i = FAR_TABLE_TERMS - 1; i >= k; i--) {
            f[i] = (f[i] - f[i - 1]) / (t[i] - t[i - k]);
        }
    }
    for (int k = FAR_TABLE_TERMS - 1; k >= 0; k--) { /* power <- power (t - t_k) + f_k */
        for (int i = FAR_TABLE_TERMS - 1; i > 0; i--) {
            power[i] = power[i - 1] - t[k] * power[i];
        }
        power[0] = f[k] - t[k] * power[0];
    }
    for (int i = 0; i < FAR_TABLE_TERMS; i++) {
        out[i] = (double)power[i];
    }
}

static void fill_rows(const curve *c, int threads, double rows[FAR_TABLE_ROWS][FAR_TABLE_TERMS])
{
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16)
    for (int row = 0; row < FAR_TABLE_ROWS; row++) {
        __float128 octave = scalbnq(1, row / 4 - FAR_TABLE_OCTAVES);
        __float128 low = octave * (1 + (row % 4) / 4.0Q);
        interpolate(c, low, low + octave / 4, rows[row]);
    }
}

void far_power_table_fill(long double order, int threads, far_power_table *table)
{
    curve near = curve_of(order, true), far = curve_of(order, false);
    fill_rows(&near, threads, table->near);
    fill_rows(&far, threads, table->far);
}
