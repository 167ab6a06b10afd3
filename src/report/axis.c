#include "axis.h"

#include <farfield/plot.h>

double far_scale_warp(int scale, double linear, double value)
{
    if (scale == FAR_SCALE_LOG) {
        return log10(value);
    }
    return scale == FAR_SCALE_SYMLOG ? asinh(value / linear) : value;
}

double far_scale_unwarp(int scale, double linear, double warped)
{
    if (scale == FAR_SCALE_LOG) {
        return pow(10, warped);
    }
    return scale == FAR_SCALE_SYMLOG ? linear * sinh(warped) : warped;
}

double far_axis_place(const far_axis *a, double value)
{
    double low = far_scale_warp(a->scale, a->linear, a->low);
    double high = far_scale_warp(a->scale, a->linear, a->high);
    double at = far_scale_warp(a->scale, a->linear, value);
    return a->from + (at - low) / (high - low) * (a->to - a->from);
}
