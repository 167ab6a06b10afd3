#include "tile.h"

int64_t far_tile_scratch(const far_plan *plan, const far_layout *layout, int64_t d)
{
    int64_t panels = plan->fine ? 2 : 1;
    int64_t blocks = panels * d + 14 + 3 * (plan->depth + 1); /* and chords, sums, states */
    return (blocks * FAR_TILE_SIDE + panels * 4 * d + layout->slots + 2) * (int64_t)sizeof(double);
}

int64_t far_slopes_scratch(const far_plan *plan, const far_layout *layout, int64_t d)
{
    int64_t blocks = 13 + 4 * (plan->depth + 1); /* before, jets, the first gaps; slopes */
    int64_t own = (blocks * FAR_TILE_SIDE + layout->slots + 2) * (int64_t)sizeof(double);
    return far_tile_scratch(plan, layout, d) + own;
}

far_slopes_fn far_slopes_select(void)
{
    static const far_slopes_fn table[] = {far_slopes_baseline, far_slopes_avx2, far_slopes_avx512};
    return table[far_isa_chosen()];
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

far_emit_fn far_emit_select(far_dtype dtype)
{
    static const far_emit_fn table[][2] = {
        {far_emit_f64_baseline, far_emit_f32_baseline},
        {far_emit_f64_avx2, far_emit_f32_avx2},
        {far_emit_f64_avx512, far_emit_f32_avx512},
    };
    return table[far_isa_chosen()][dtype == FAR_F32];
}

far_tile_probe_fn far_tile_select_probe(void)
{
    return far_isa_chosen() == FAR_ISA_AVX512 ? far_tile_probe_avx512 : NULL;
}
