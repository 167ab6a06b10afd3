#include "base_internal.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The double nearest to value as printed. */
static double as_printed(double value, int digits)
{
    char text[64];
    snprintf(text, sizeof text, "%.*e", digits - 1, value);
    return strtod(text, NULL);
}

double far_round_up(double value, int digits)
{
    double near = as_printed(value, digits);
    if (!(near < value)) { /* nan too */
        return near;
    }
    int exponent = (int)floor(log10(fabs(value))); /* may round, so once is not always enough */
    double step = fmax(pow(10, exponent - (digits - 1)), DBL_TRUE_MIN);
    for (double from = isinf(near) ? value : near; near < value; step *= 2) {
        near = as_printed(from + step, digits);
    }
    return near;
}

double far_round_down(double value, int digits)
{
    return -far_round_up(-value, digits);
}
