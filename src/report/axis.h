/* Axes: from values to places, and the ticks a person would choose. */
#ifndef FAR_AXIS_H
#define FAR_AXIS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#define FAR_TICKS_MOST 24
#define FAR_MINOR_MOST 120
#define FAR_TICK_BYTES 48
#define FAR_TIMES "\xc3\x97"
#define FAR_VALUE_MOST                                                                             \
    1e300 /* beyond it a value is not shown; on a log axis also below the inverse */

typedef struct far_tick {
    double value;
    char label[FAR_TICK_BYTES];
} far_tick;

typedef struct far_ticks {
    int count, minor_count;
    far_tick tick[FAR_TICKS_MOST];
    double minor[FAR_MINOR_MOST];
    char factor[160];       /* what to multiply (and add to) the labels; "" usually */
    int mantissa, exponent; /* of a linear axis: the step is mantissa * 10^exponent; else 0 */
} far_ticks;

/* At most so many labels, at least 2 if there is any choice. low < high; log: 0 < low. linear is
 * the c of a symlog axis. */
void far_ticks_choose(int scale, double low, double high, double linear, int most, far_ticks *out);

typedef struct far_axis {
    int scale; /* far_scale */
    double low, high, linear;
    double from, to; /* places of low and high */
    far_ticks ticks;
} far_axis;

/* Whether the value has a place on such an axis. */
static inline bool far_scale_shows(int scale, double value)
{
    return fabs(value) <= FAR_VALUE_MOST && (scale != 1 || value >= 1 / FAR_VALUE_MOST);
}
double far_scale_warp(int scale, double linear, double value);
double far_scale_unwarp(int scale, double linear, double warped);
double far_axis_place(const far_axis *a, double value);

#endif
