#include "big.h"

#include <float.h>
#include <math.h>

/* Far past anything that could matter, far from wrapping: repeated squares saturate here. */
#define EXPONENT_LIMIT ((int64_t)1 << 60)

/* Mantissas in this range are left alone: products and squares of two cannot overflow. */
#define PLAIN_MOST 0x1p4000L
#define PLAIN_LEAST 0x1p-4000L

static int64_t clamp_exponent(long double e)
{
    if (e > (long double)EXPONENT_LIMIT) {
        return EXPONENT_LIMIT;
    }
    return e < -(long double)EXPONENT_LIMIT ? -EXPONENT_LIMIT : (int64_t)e;
}

/* 1/2 <= |m| < 1 */
static far_big normalised(long double m, int64_t e, double k)
{
    int shift;
    m = frexpl(m, &shift);
    return (far_big){m, clamp_exponent((long double)e + shift), k};
}

far_big far_big_make(long double m, int64_t e, double k)
{
    if (m == 0) {
        return (far_big){0, 0, 0};
    }
    if (fabsl(m) < PLAIN_MOST && fabsl(m) > PLAIN_LEAST) {
        return (far_big){m, e, k};
    }
    return normalised(m, e, k);
}

far_big far_big_from(long double value)
{
    return far_big_make(value, 0, 0);
}

bool far_big_is_zero(far_big a)
{
    return a.m == 0;
}

far_big far_big_mul(far_big a, far_big b)
{
    return far_big_make(a.m * b.m, a.e + b.e, a.k + b.k);
}

far_big far_big_div(far_big a, far_big b)
{
    return b.m == 0 ? far_big_from(0) : far_big_make(a.m / b.m, a.e - b.e, a.k - b.k);
}

far_big far_big_scale(far_big a, long double factor)
{
    return far_big_make(a.m * factor, a.e, a.k);
}

far_big far_big_add(far_big a, far_big b)
{
    if (a.m == 0 || b.m == 0) {
        return a.m == 0 ? b : a;
    }
    if (a.k != b.k) {
        return a.k > b.k ? a : b;
    }
    if (a.e == b.e) {
        return far_big_make(a.m + b.m, a.e, a.k);
    }
    a = normalised(a.m, a.e, a.k);
    b = normalised(b.m, b.e, b.k);
    far_big large = a.e >= b.e ? a : b, small = a.e >= b.e ? b : a;
    int64_t shift = small.e - large.e;
    long double low = shift < -2 * LDBL_MANT_DIG ? 0 : ldexpl(small.m, (int)shift);
    return far_big_make(large.m + low, large.e, large.k);
}

far_big far_big_sqrt(far_big a)
{
    int odd = (int)(a.e & 1);
    return far_big_make(sqrtl(odd ? 2 * a.m : a.m), (a.e - odd) / 2, a.k / 2);
}

far_big far_big_square(far_big a)
{
    return far_big_mul(a, a);
}

far_big far_big_hypot(far_big a, far_big b)
{
    return far_big_sqrt(far_big_add(far_big_square(a), far_big_square(b)));
}

far_big far_big_pow(far_big a, long double power)
{
    if (a.m == 0) {
        return far_big_from(power == 0 ? 1 : 0);
    }
    a = normalised(a.m, a.e, a.k);
    long double whole = floorl(power * a.e); /* 2^(power e) = 2^whole 2^rest, rest in [0, 1) */
    long double rest = power * a.e - whole;
    return far_big_make(powl(a.m, power) * exp2l(rest), clamp_exponent(whole), a.k * (double)power);
}

long double far_big_coef(far_big a)
{
    int64_t e = a.e > 40000 ? 40000 : a.e < -40000 ? -40000 : a.e;
    return e == 0 ? a.m : ldexpl(a.m, (int)e);
}

long double far_big_limit(far_big a)
{
    if (a.m == 0 || a.k < 0) {
        return 0;
    }
    return a.k > 0 ? copysignl(INFINITY, a.m) : far_big_coef(a);
}
