#include "tile.h"

#include <stdlib.h>
#include <string.h>

int64_t far_tile_scratch(const far_plan *plan, const far_layout *layout, int64_t d)
{
    int64_t panels = plan->fine ? 2 : 1;
    int64_t blocks = panels * d + 14 + 3 * (plan->depth + 1); /* and chords, sums, states */
    return (blocks * FAR_TILE_SIDE + panels * 4 * d + layout->slots + 2) * (int64_t)sizeof(double);
}

typedef enum isa { ISA_BASELINE, ISA_AVX2, ISA_AVX512 } isa;

static const char *const isa_names[] = {"baseline", "avx2", "avx512"};

static isa best_isa(void)
{
    if (__builtin_cpu_supports("x86-64-v4")) {
        return ISA_AVX512;
    }
    return __builtin_cpu_supports("x86-64-v3") ? ISA_AVX2 : ISA_BASELINE;
}

static isa chosen_isa(void)
{
    isa best = best_isa();
    const char *asked = getenv("FARFIELD_ISA");
    for (int i = 0; asked && i < (int)best; i++) {
        if (strcmp(asked, isa_names[i]) == 0) {
            return (isa)i;
        }
    }
    return best;
}

const char *far_kernel_isa(void)
{
    return isa_names[chosen_isa()];
}

far_tile_fn far_tile_select(int32_t dtype)
{
    static const far_tile_fn table[][2] = {
        {far_tile_f64_baseline, far_tile_f32_baseline},
        {far_tile_f64_avx2, far_tile_f32_avx2},
        {far_tile_f64_avx512, far_tile_f32_avx512},
    };
    return table[chosen_isa()][dtype == FAR_F32];
}

far_tile_probe_fn far_tile_select_probe(void)
{
    return chosen_isa() == ISA_AVX512 ? far_tile_probe_avx512 : NULL;
}
