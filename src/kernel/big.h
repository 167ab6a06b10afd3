/*
 * Numbers of a single point: long doubles with an exponent of their own, times a power of lambda,
 * the size of a point that runs off to infinity.
 *
 *     value = m 2^e lambda^k        m = 0 or 2^-4000 < |m| < 2^4000; e = 0 while that suffices
 *
 * Finite points have k = 0 throughout. For a point at infinity sums keep only their leading power,
 * so a limit lambda -> infinity is one ordinary evaluation. Only O(n layers) of these are computed;
 * pairs of points use plain vector arithmetic.
 *
 * A hundred layers that square each the one before have exponents of 2^100. Past FAR_BIG_EXPONENT a
 * number is lost: m is NaN from there on, and far_point_run takes note of it.
 */
#ifndef FAR_BIG_H
#define FAR_BIG_H

#include <stdbool.h>
#include <stdint.h>

__extension__ typedef __int128 far_exponent;

typedef struct far_big {
    long double m;
    far_exponent e;
    double k;
} far_big;

#define FAR_BIG_EXPONENT_BITS 120
#define FAR_BIG_EXPONENT ((far_exponent)1 << FAR_BIG_EXPONENT_BITS) /* the largest |e| */

/* Mantissas in this range are left alone: products and squares of two cannot overflow. */
#define FAR_BIG_MOST 0x1p4000L
#define FAR_BIG_LEAST 0x1p-4000L

/* The same value with 1/2 <= |m| < 1, or lost. */
far_big far_big_normalised(far_big a);
far_big far_big_add_apart(far_big a, far_big b); /* exponents differ */
far_big far_big_pow(far_big a, long double power);

static inline bool far_big_is_zero(far_big a)
{
    return a.m == 0;
}

static inline bool far_big_is_lost(far_big a)
{
    return a.m != a.m || !(a.k - a.k == 0);
}

/* |e| <= 2 FAR_BIG_EXPONENT */
static inline far_big far_big_make(long double m, far_exponent e, double k)
{
    long double size = m < 0 ? -m : m;
    bool near = e <= FAR_BIG_EXPONENT && e >= -FAR_BIG_EXPONENT;
    if (size < FAR_BIG_MOST && size > FAR_BIG_LEAST && near) {
        return (far_big){m, e, k};
    }
    return m == 0 ? (far_big){0, 0, 0} : far_big_normalised((far_big){m, e, k});
}

static inline far_big far_big_from(long double value)
{
    return far_big_make(value, 0, 0);
}

/* Orders are sums and products of the powers of relu(p), rounded: what is left of two that cancel
 * is nothing. */
#define FAR_BIG_ORDER_ROUNDING 1e-12
static inline double far_big_orders(double a, double b)
{
    double sum = a + b, size = a < 0 ? -a : a, rest = sum < 0 ? -sum : sum;
    return rest <= FAR_BIG_ORDER_ROUNDING * size ? 0 : sum;
}

static inline far_big far_big_mul(far_big a, far_big b)
{
    return far_big_make(a.m * b.m, a.e + b.e, far_big_orders(a.k, b.k));
}

/* a / 0 = 0: a point without variance stays at zero. */
static inline far_big far_big_div(far_big a, far_big b)
{
    return b.m == 0 ? b : far_big_make(a.m / b.m, a.e - b.e, far_big_orders(a.k, -b.k));
}

static inline far_big far_big_scale(far_big a, long double factor)
{
    return far_big_make(a.m * factor, a.e, a.k);
}

static inline far_big far_big_add(far_big a, far_big b)
{
    if (a.m == 0 || b.m == 0) {
        return a.m == 0 ? b : a;
    }
    if (far_big_orders(a.k, -b.k) != 0) {
        return a.k > b.k ? a : b;
    }
    return a.e == b.e ? far_big_make(a.m + b.m, a.e, a.k) : far_big_add_apart(a, b);
}

static inline far_big far_big_sqrt(far_big a)
{
    int odd = (int)(a.e & 1);
    return far_big_make(__builtin_sqrtl(odd ? 2 * a.m : a.m), (a.e - odd) / 2, a.k / 2);
}

static inline far_big far_big_square(far_big a)
{
    return far_big_mul(a, a);
}

static inline far_big far_big_hypot(far_big a, far_big b)
{
    return far_big_sqrt(far_big_add(far_big_square(a), far_big_square(b)));
}

/* The coefficient m 2^e, rounded; overflows to inf, underflows to 0. */
static inline long double far_big_coef(far_big a)
{
    int e = a.e > 40000 ? 40000 : a.e < -40000 ? -40000 : (int)a.e;
    return e == 0 ? a.m : __builtin_ldexpl(a.m, e);
}

/* The limit lambda -> infinity: 0, the coefficient, or inf by the sign of k. */
static inline long double far_big_limit(far_big a)
{
    if (a.k == 0 || a.m == 0) {
        return far_big_coef(a);
    }
    return a.k < 0 ? 0 : a.m < 0 ? -__builtin_infl() : __builtin_infl();
}

#endif
