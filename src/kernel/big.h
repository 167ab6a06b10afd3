/*
 * Numbers of a single point: long doubles with an exponent that does not overflow, times a power
 * of lambda, the size of a point that runs off to infinity.
 *
 *     value = m 2^e lambda^k        m = 0 or 2^-4000 < |m| < 2^4000; e = 0 while that suffices
 *
 * Finite points have k = 0 throughout. For a point at infinity sums keep only their leading power,
 * so a limit lambda -> infinity is one ordinary evaluation. Only O(n layers) of these are computed;
 * pairs of points use plain vector arithmetic.
 */
#ifndef FAR_BIG_H
#define FAR_BIG_H

#include <stdbool.h>
#include <stdint.h>

typedef struct far_big {
    long double m;
    int64_t e;
    double k;
} far_big;

/* Mantissas in this range are left alone: products and squares of two cannot overflow. */
#define FAR_BIG_MOST 0x1p4000L
#define FAR_BIG_LEAST 0x1p-4000L

/* The same value with 1/2 <= |m| < 1; saturates at exponents past +-2^60. */
far_big far_big_normalised(far_big a);
far_big far_big_add_apart(far_big a, far_big b); /* exponents differ */
far_big far_big_pow(far_big a, long double power);

static inline bool far_big_is_zero(far_big a)
{
    return a.m == 0;
}

static inline far_big far_big_make(long double m, int64_t e, double k)
{
    long double size = m < 0 ? -m : m;
    if (size < FAR_BIG_MOST && size > FAR_BIG_LEAST) {
        return (far_big){m, e, k};
    }
    return m == 0 ? (far_big){0, 0, 0} : far_big_normalised((far_big){m, e, k});
}

static inline far_big far_big_from(long double value)
{
    return far_big_make(value, 0, 0);
}

static inline far_big far_big_mul(far_big a, far_big b)
{
    return far_big_make(a.m * b.m, a.e + b.e, a.k + b.k);
}

/* a / 0 = 0: a point without variance stays at zero. */
static inline far_big far_big_div(far_big a, far_big b)
{
    return b.m == 0 ? b : far_big_make(a.m / b.m, a.e - b.e, a.k - b.k);
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
    if (a.k != b.k) {
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
    int64_t e = a.e > 40000 ? 40000 : a.e < -40000 ? -40000 : a.e;
    return e == 0 ? a.m : __builtin_ldexpl(a.m, (int)e);
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
