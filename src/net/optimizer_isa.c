/* Compiled once per instruction set with -DFAR_ISA=avx512|avx2|baseline; see cmake/library.cmake.
 */
#include "optimizer.h"

#include <math.h>
#include <string.h>

#define PASTE(a, b) a##b
#define EXPAND(a, b) PASTE(a, b)
#define TILE 512

#define REAL float
#define SQRT sqrtf
#define UPDATE EXPAND(far_update_f32_, FAR_ISA)
#define NAME(x) x##_f32
#include "optimizer_impl.h"
#undef REAL
#undef SQRT
#undef UPDATE
#undef NAME

#define REAL double
#define SQRT sqrt
#define UPDATE EXPAND(far_update_f64_, FAR_ISA)
#define NAME(x) x##_f64
#include "optimizer_impl.h"
