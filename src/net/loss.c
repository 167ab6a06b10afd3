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

int64_t far_loss_targets(const far_loss_rule *rule)
{
    return rule->positions * (rule->classes ? 1 : rule->channels);
}

double far_loss_rows(const far_loss_rule *rule, const void *f, const void *y, int64_t rows,
                     double scale, void *slope)
{
    int64_t lines = rows * rule->positions;
    return rule->dtype == FAR_F32 ? loss_f32(rule, f, y, lines, scale, slope)
                                  : loss_f64(rule, f, y, lines, scale, slope);
}

double far_loss_terms(const far_loss_rule *rule, int64_t rows)
{
    return (double)(rows * rule->positions) *
           (rule->loss == FAR_LOSS_CE ? 1.0 : (double)rule->channels);
}
