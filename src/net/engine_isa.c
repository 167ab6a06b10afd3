/* Compiled once per instruction set with -DFAR_ISA=avx512|avx2|baseline; see cmake/library.cmake.
 */
#include "engine_plan.h"

#include <math.h>
#include <string.h>

/* glibc's vector functions; declared here because <math.h> offers them only under -ffast-math,
 * which would change the rounding mode flags of the host program. */
#define VECTOR_FUNCTION(name)                                                                      \
    __attribute__((simd("notinbranch"))) double name(double);                                      \
    __attribute__((simd("notinbranch"))) float name##f(float);
VECTOR_FUNCTION(exp)
VECTOR_FUNCTION(erf)
VECTOR_FUNCTION(erfc)
VECTOR_FUNCTION(tanh)
VECTOR_FUNCTION(sin)
VECTOR_FUNCTION(cos)
VECTOR_FUNCTION(expm1)
VECTOR_FUNCTION(log1p)
__attribute__((simd("notinbranch"))) double pow(double, double);
__attribute__((simd("notinbranch"))) float powf(float, float);

#define PASTE(a, b) a##b
#define EXPAND(a, b) PASTE(a, b)
#define INLINE static inline __attribute__((always_inline))

/* Sums in registers: TILE_ROWS x 2 vectors, two more for the panel, one for the factor. */
#if defined __AVX512F__
#define VECTOR_BYTES 64
#define TILE_ROWS 14
#define STRIP_ROWS 14
#elif defined __AVX2__
#define VECTOR_BYTES 32
#define TILE_ROWS 6
#define STRIP_ROWS 12
#else
#define VECTOR_BYTES 16
#define TILE_ROWS 4
#define STRIP_ROWS 12
#endif
#define STRIP_WEIGHT_BYTES (512 << 10)
#define PRODUCT_DEPTH 256 /* of multiply_rows, in numbers */

#define REAL double
#define LANE_INT int64_t
#define NAME(x) x##_f64
#define OPS EXPAND(far_engine_f64_, FAR_ISA)
#define SAFE_LEAST 1e-280
#define SAFE_MOST 1e280
#define F(function) function
#include "engine_impl.h"

#define REAL float
#define LANE_INT int32_t
#define NAME(x) x##_f32
#define OPS EXPAND(far_engine_f32_, FAR_ISA)
#define SAFE_LEAST 1e-30f
#define SAFE_MOST 1e30f
#define F(function) function##f
#include "engine_impl.h"
