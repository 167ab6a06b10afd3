#include "lnnet_variants.h"

const char *const NORM_NAMES[NORMS] = {"no norm", "LN", "LN-G, groups of 8", "LN-G, groups of 4"};

const char *norm_text(reproduction *r, int norm, int64_t channels, bool needed)
{
    static const int64_t SIZES[NORMS] = {0, 0, 8, 4};
    int kind = r->sabotage ? (needed ? NORM_LN : NORM_NONE) : norm;
    if (kind == NORM_NONE) {
        return "";
    }
    return SIZES[kind] == 0 ? "ln(eps=1e-5, affine) "
                            : words(r, "ln(groups=%lld, eps=1e-5, affine) ",
                                    (long long)(channels / SIZES[kind]));
}

far_status interval_of(reproduction *r, const double *scores, const double *less, int64_t seeds,
                       interval *out)
{
    double *values = ROOM(seeds, double);
    for (int64_t i = 0; i < seeds; i++) {
        values[i] = scores[i] - (less ? less[i] : 0);
    }
    far_status st = far_mean_interval(r->ctx, values, seeds, &out->mean, &out->half);
    free(values);
    return st;
}
