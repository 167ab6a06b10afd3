/* The numbers of an optimiser's step, and which code runs it. */
#include "optimizer.h"

#include "../base/base_internal.h"

#include <math.h>

static bool is_adam(int32_t rule)
{
    return rule == FAR_OPTIMIZER_ADAM || rule == FAR_OPTIMIZER_ADAMW;
}

int far_optimizer_memory(int32_t rule)
{
    return is_adam(rule) ? 2 : rule == FAR_OPTIMIZER_MOMENTUM;
}

void far_update_rates(far_update *u, const far_train_opts *opts, int64_t epoch, int64_t step)
{
    double rate = far_train_rate_at(opts, epoch);
    bool decoupled = opts->optimizer == FAR_OPTIMIZER_ADAMW;
    u->rule = opts->optimizer;
    u->rate = rate;
    u->decay = decoupled ? 0 : opts->weight_decay;
    u->shrink = decoupled ? rate * opts->weight_decay : 0;
    u->beta1 = opts->beta1;
    u->beta2 = opts->beta2;
    u->epsilon = opts->epsilon;
    u->momentum = opts->momentum;
    if (is_adam(opts->optimizer)) {
        u->rate = rate / (1 - pow(opts->beta1, (double)step));
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
