/* Numbers that must be near each other, in double: assert_float_equal of cmocka rounds to float. */
#ifndef FAR_TESTS_NEAR_H
#define FAR_TESTS_NEAR_H

#include <math.h>

#define assert_near(a, b, tolerance)                                                               \
    do {                                                                                           \
        double near_a = (a), near_b = (b), near_tolerance = (tolerance);                           \
        if (!(fabs(near_a - near_b) <= near_tolerance) && near_a != near_b) {                      \
            fail_msg("%.17g is not %.17g to %g", near_a, near_b, near_tolerance);                  \
        }                                                                                          \
    } while (0)

#endif
