/*
 * Activations at infinite width. For z, z' Gaussian with standard deviations r, r' and
 * correlation rho an activation phi gives
 *
 *     K   = gain^2 E[phi(z) phi(z')]          the dual
 *     Kd  = gain^2 E[phi'(z) phi'(z')]        what multiplies Theta
 *     Kg  = gain^2 E[z phi'(z) z' phi'(z')]   what trainable scales in front add to Theta
 *
 * Six families cover the language:
 *
 *     fold       a z + b |z|                     relu, leaky_relu, abs, identity
 *     power      max(z, 0)^n, n = 2, 3, ...      arc-cosine kernels of higher order
 *     table      max(z, 0)^p, p fractional       hypergeometric, tabulated by binary exponent
 *     soft sign  sum_m c_m erf(l_m z)            erf; tanh as a mixture of 25
 *     soft relu  sum_m c_m z Phi(l_m z)          gelu; silu as a mixture of 25
 *     sine       sin(w0 z)
 */
#ifndef FAR_ACTIVATION_H
#define FAR_ACTIVATION_H

#include "../arch/arch_internal.h"
#include "big.h"

typedef enum far_family {
    FAR_FAMILY_FOLD,
    FAR_FAMILY_POWER,
    FAR_FAMILY_TABLE,
    FAR_FAMILY_SOFT_SIGN,
    FAR_FAMILY_SOFT_RELU,
    FAR_FAMILY_SINE
} far_family;

#define FAR_MIXTURE_MAX 32
#define FAR_POWER_MAX 64

/* Arc-cosine kernel of order n, normalised to 1 at rho = 1, with c = rho, s = sqrt(1 - c^2):
 *     kappa_n = c-polynomial q(c) + (s p(c) - theta q(c)) / pi,
 * and 1 - q(c) = (1 - c) gap(c) without cancellation. */
typedef struct far_arccos {
    int order;
    double p[FAR_POWER_MAX + 1], q[FAR_POWER_MAX + 1], gap[FAR_POWER_MAX + 1];
} far_arccos;

/* kappa_v for real v > -1/2 as a function of u = min(1 - rho, 1 + rho) in [0, 1]: two functions,
 * 1 - kappa_v(1 - u) and kappa_v(u - 1), each a polynomial on every quarter of an octave of u.
 * Below 2^-FAR_TABLE_OCTAVES (points closer than 1e-21) u counts as zero. */
#define FAR_TABLE_TERMS 13
#define FAR_TABLE_OCTAVES 140
#define FAR_TABLE_ROWS (4 * FAR_TABLE_OCTAVES)
typedef struct far_power_table {
    double near[FAR_TABLE_ROWS][FAR_TABLE_TERMS]; /* 1 - kappa at rho = 1 - u */
    double far[FAR_TABLE_ROWS][FAR_TABLE_TERMS];  /* kappa at rho = u - 1 */
} far_power_table;
void far_power_table_fill(long double order, int threads, far_power_table *table);

typedef struct far_activation {
    far_layer_kind kind;
    far_family family;
    double asked_gain; /* as in the text; NAN: the default */
    long double gain;  /* resolved */
    long double power, slope, w0;
    long double linear, folded; /* fold: weights of z and |z| */
    far_arccos *arccos;         /* power: orders n, n - 1 and n - 2 */
    far_power_table *table;     /* table: orders p and p - 1 */
    int terms;                  /* mixtures */
    long double weight[FAR_MIXTURE_MAX], rate[FAR_MIXTURE_MAX];
} far_activation;

/* gain NAN: one over the root mean square of phi(N(0, 1)) if unit, else 1. */
far_status far_activation_init(far_ctx *ctx, const far_layer *layer, bool unit,
                               far_activation *out);
void far_activation_clear(far_ctx *ctx, far_activation *a);
bool far_activation_is_odd(const far_activation *a);

/* What one point contributes, without the gain; r may be at infinity (r.k > 0). Of a sine, r is
 * that of w0 z. */
typedef struct far_moments {
    far_big square; /* E[phi^2] */
    far_big slope;  /* E[phi'^2] */
    far_big scaled; /* E[(z phi')^2] */
    far_big mean;   /* E[phi] */
} far_moments;
far_moments far_activation_moments(const far_activation *a, far_big r);

/* How they grow: by ln r, of ln sqrt(E[phi^2]), of ln E[phi], and of ln of the scale that slopes
 * have in common (point_run.c). excess = 1 + slope - value, exactly 0 for powers. */
typedef struct far_growth {
    long double value, mean, slope, excess;
} far_growth;
far_growth far_activation_growth(const far_activation *a, far_big r);

/* The unit vector (c, e) = (s, 1) / sqrt(1 + s^2) of a scale s; c in the limit at infinity. */
typedef struct far_unit {
    long double c;
    far_big e;
} far_unit;
far_unit far_unit_of(far_big s);
/* s of mixture term m: rate r for soft relu, sqrt(2) rate r for soft sign. */
far_big far_mixture_scale(const far_activation *a, int m, far_big r);

#endif
