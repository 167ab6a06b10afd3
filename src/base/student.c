/* Student's distribution. */
#include "base_internal.h"

#include <math.h>

/* Few degrees of freedom from a table, more by the expansion in 1 / freedom (Abramowitz and Stegun
 * 26.7.5), which is off by less than 3e-6 of it there. */
double far_student_95(int64_t freedom)
{
    static const double TABLE[] = {12.706204736, 4.302652730, 3.182446305, 2.776445105,
                                   2.570581836,  2.446911851, 2.364624252, 2.306004135,
                                   2.262157163,  2.228138852};
    if (freedom < 1) {
        return NAN;
    }
    if (freedom <= 10) {
        return TABLE[freedom - 1];
    }
    double z = 1.959963984540054, q = z * z, v = (double)freedom;
    double g1 = z * (q + 1) / 4;
    double g2 = z * ((5 * q + 16) * q + 3) / 96;
    double g3 = z * (((3 * q + 19) * q + 17) * q - 15) / 384;
    double g4 = z * ((((79 * q + 776) * q + 1482) * q - 1920) * q - 945) / 92160;
    return z + (g1 + (g2 + (g3 + g4 / v) / v) / v) / v;
}
