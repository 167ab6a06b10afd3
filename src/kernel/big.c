#include "big.h"

#include <float.h>
#include <math.h>

/* Far past anything that could matter, far from wrapping: repeated squares saturate here. */
#define EXPONENT_LIMIT ((int64_t)1 << 60)

static int64_t clamp_exponent(long double e)
{
    if (e > (long double)EXPONENT_LIMIT) {
        return EXPONENT_LIMIT;
    }
    return e < -(long double)EXPONENT_LIMIT ? -EXPONENT_LIMIT : (int64_t)e;
}

far_big far_big_normalised(far_big a)
{
    int shift;
    long double m = frexpl(a.m, &shift);
    return (far_big){m, clamp_exponent((long double)a.e + shift), a.k};
}

far_big far_big_add_apart(far_big a, far_big b)
{
    a = far_big_normalised(a);
    b = far_big_normalised(b);
    far_big large = a.e >= b.e ? a : b, small = a.e >= b.e ? b : a;
    int64_t shift = small.e - large.e;
    long double low = shift < -2 * LDBL_MANT_DIG ? 0 : ldexpl(small.m, (int)shift);
    return far_big_make(large.m + low, large.e, large.k);
}

far_big far_big_pow(far_big a, long double power)
{
    if (a.m == 0) {
        return far_big_from(power == 0 ? 1 : 0);
    }
    a = far_big_normalised(a);
    long double whole = floorl(power * a.e); /* 2^(power e) = 2^whole 2^rest, rest in [0, 1) */
    long double rest = power * a.e - whole;
    return far_big_make(powl(a.m, power) * exp2l(rest), clamp_exponent(whole), a.k * (double)power);
}
