#include "big.h"

#include <float.h>
#include <math.h>

far_big far_big_normalised(far_big a)
{
    int shift;
    long double m = frexpl(a.m, &shift);
    far_exponent e = a.e + shift;
    bool lost = e > FAR_BIG_EXPONENT || e < -FAR_BIG_EXPONENT || !isfinite(a.m);
    return lost ? (far_big){NAN, 0, a.k} : (far_big){m, e, a.k};
}

far_big far_big_add_apart(far_big a, far_big b)
{
    a = far_big_normalised(a);
    b = far_big_normalised(b);
    far_big large = a.e >= b.e ? a : b, small = a.e >= b.e ? b : a;
    far_exponent shift = small.e - large.e;
    long double low = shift < -2 * LDBL_MANT_DIG ? 0 * small.m : ldexpl(small.m, (int)shift);
    return far_big_make(large.m + low, large.e, large.k);
}

/* 2^(power e) = 2^whole 2^rest, rest in [0, 1); exact for whole powers. */
far_big far_big_pow(far_big a, long double power)
{
    if (a.m == 0) {
        return far_big_from(power == 0 ? 1 : 0);
    }
    a = far_big_normalised(a);
    long double steps = floorl(power), part = (power - steps) * a.e, below = floorl(part);
    if (!(fabsl(power) * fabsl((long double)a.e) <= (long double)FAR_BIG_EXPONENT)) {
        return (far_big){NAN, 0, a.k};
    }
    far_exponent whole = (far_exponent)steps * a.e + (far_exponent)below;
    return far_big_make(powl(a.m, power) * exp2l(part - below), whole, a.k * (double)power);
}
