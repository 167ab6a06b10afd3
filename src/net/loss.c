#include "loss.h"

#include <math.h>

#define REAL float
#define NAME(x) x##_f32
#include "loss_impl.h"
#undef REAL
#undef NAME
#define REAL double
#define NAME(x) x##_f64
#include "loss_impl.h"

double far_loss_rows(int32_t loss, far_dtype dtype, const void *f, const void *y, int64_t rows,
                     int64_t outputs, double scale, void *slope)
{
    return dtype == FAR_F32 ? loss_f32(loss, f, y, rows, outputs, scale, slope)
                            : loss_f64(loss, f, y, rows, outputs, scale, slope);
}

double far_loss_terms(int32_t loss, int64_t rows, int64_t outputs)
{
    return (double)rows * (loss == FAR_LOSS_CE ? 1.0 : (double)outputs);
}
