/* The numbers of an optimiser's step, and which code runs it. */
#include "optimizer.h"

#include "../base/base_internal.h"

#include <math.h>

int far_optimizer_memory(int32_t rule)
{
    return rule == FAR_OPTIMIZER_ADAM ? 2 : rule == FAR_OPTIMIZER_MOMENTUM;
}

void far_update_rates(far_update *u, const far_train_opts *opts, int64_t step)
{
    u->rule = opts->optimizer;
    u->rate = opts->lr;
    u->beta1 = opts->beta1;
    u->beta2 = opts->beta2;
    u->epsilon = opts->epsilon;
    u->momentum = opts->momentum;
    if (opts->optimizer == FAR_OPTIMIZER_ADAM) {
        u->rate = opts->lr / (1 - pow(opts->beta1, (double)step));
        u->unbias = 1 / sqrt(1 - pow(opts->beta2, (double)step));
    }
}

far_update_fn far_update_select(far_dtype dtype)
{
    static const far_update_fn table[][2] = {
        {far_update_f64_baseline, far_update_f32_baseline},
        {far_update_f64_avx2, far_update_f32_avx2},
        {far_update_f64_avx512, far_update_f32_avx512},
    };
    return table[far_isa_chosen()][dtype == FAR_F32];
}
