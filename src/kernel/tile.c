#include "tile.h"

int64_t far_tile_scratch(const far_plan *plan, const far_layout *layout, int64_t d)
{
    int64_t panels = plan->fine ? 2 : 1;
    int64_t blocks = panels * d + 14 + 3 * (plan->depth + 1); /* and chords, sums, states */
    return (blocks * FAR_TILE_SIDE + panels * 4 * d + layout->slots + 2) * (int64_t)sizeof(double);
}

const char *far_kernel_isa(void)
{
    return far_isa_name(far_isa_chosen());
}

far_tile_fn far_tile_select(far_dtype dtype)
{
    static const far_tile_fn table[][2] = {
        {far_tile_f64_baseline, far_tile_f32_baseline},
        {far_tile_f64_avx2, far_tile_f32_avx2},
        {far_tile_f64_avx512, far_tile_f32_avx512},
    };
    return table[far_isa_chosen()][dtype == FAR_F32];
}

far_tile_probe_fn far_tile_select_probe(void)
{
    return far_isa_chosen() == FAR_ISA_AVX512 ? far_tile_probe_avx512 : NULL;
}
