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

far_big far_big_from(long double value);
far_big far_big_make(long double m, int64_t e, double k);
far_big far_big_mul(far_big a, far_big b);
far_big far_big_div(far_big a, far_big b); /* a / 0 = 0: a point without variance stays at zero */
far_big far_big_add(far_big a, far_big b);
far_big far_big_scale(far_big a, long double factor);
far_big far_big_sqrt(far_big a);
far_big far_big_square(far_big a);
far_big far_big_hypot(far_big a, far_big b);
far_big far_big_pow(far_big a, long double power);
bool far_big_is_zero(far_big a);
/* The coefficient m 2^e, rounded; overflows to inf, underflows to 0. */
long double far_big_coef(far_big a);
/* The limit lambda -> infinity: 0, the coefficient, or inf by the sign of k. */
long double far_big_limit(far_big a);

#endif
