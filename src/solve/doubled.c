#include "doubled.h"

#include "../base/base_internal.h"
#include "doubled_sum.h"

far_doubled_fn far_doubled_rows(void)
{
    static const far_doubled_fn table[] = {far_doubled_rows_baseline, far_doubled_rows_avx2,
                                           far_doubled_rows_avx512};
    return table[far_isa_chosen()];
}

far_doubled_fn far_doubled_cols(void)
{
    static const far_doubled_fn table[] = {far_doubled_cols_baseline, far_doubled_cols_avx2,
                                           far_doubled_cols_avx512};
    return table[far_isa_chosen()];
}

/* b, y and a x nearly cancel, so y is subtracted first and nothing is rounded away. */
double far_doubled_rest(double b, far_pair y, double a, far_pair x)
{
    double sum = b, low = 0;
    add_pair(&sum, &low, -y.high, -y.low);
    add_product(&sum, &low, -a, x.high, x.low);
    return sum + low;
}

far_pair far_pair_add(far_pair x, double d)
{
    add_pair(&x.high, &x.low, d, 0);
    double high = x.high + x.low;
    return (far_pair){high, x.low - (high - x.high)};
}
