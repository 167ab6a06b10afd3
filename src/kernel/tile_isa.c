/* Compiled once per instruction set with -DFAR_ISA=avx512|avx2|baseline; see cmake/library.cmake.
 */
#include "tile.h"

#include <math.h>
#include <string.h>
#ifdef __AVX512F__
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

/* glibc's vector exp and expm1; declared here because <math.h> offers it only under -ffast-math,
 * which would change the rounding mode flags of the host program. */
__attribute__((simd("notinbranch"))) double exp(double);
__attribute__((simd("notinbranch"))) float expf(float);
__attribute__((simd("notinbranch"))) double expm1(double);
__attribute__((simd("notinbranch"))) float expm1f(float);

#define PASTE(a, b) a##b
#define EXPAND(a, b) PASTE(a, b)

#ifdef __AVX512F__
#define HAS_TAIL /* permutations of sixteen doubles at once */
#define HAS_TURN
#endif
#define HAS_SLOPES
#define REAL double
#define MASK_INT int64_t
#define NAME(x) x##_f64
#define TILE_FN EXPAND(far_tile_f64_, FAR_ISA)
#define SQRT sqrt
#define FABS fabs
#define COPYSIGN copysign
#define EXP exp
#define EXPM1 expm1
#include "tile_impl.h"

#ifdef HAS_TAIL
void far_tile_probe_avx512(const far_tile *tile, int64_t from, double *gap, double *cogap,
                           double *t)
{
    probe_f64(tile, from, gap, cogap, t);
}
#undef HAS_TAIL
#undef HAS_TURN
#endif

void EXPAND(far_emit_f64_, FAR_ISA)(const far_emit *e)
{
    emit_f64(e);
}

#undef HAS_SLOPES
void EXPAND(far_slopes_, FAR_ISA)(const far_tile *tile, bool nngp, const far_slope_out *out)
{
    run_slopes_f64(tile, nngp, out);
}

#define REAL float
#define MASK_INT int32_t
#define NAME(x) x##_f32
#define TILE_FN EXPAND(far_tile_f32_, FAR_ISA)
#define SQRT sqrtf
#define FABS fabsf
#define COPYSIGN copysignf
#define EXP expf
#define EXPM1 expm1f
#include "tile_impl.h"

void EXPAND(far_emit_f32_, FAR_ISA)(const far_emit *e)
{
    emit_f32(e);
}
