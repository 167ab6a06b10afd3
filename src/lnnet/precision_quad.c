/* Chains and passes in quadruple precision. */
#include <quadmath.h>

#define REAL __float128
#define NAME(x) x##_quad
#define SQRT sqrtq
#define BITS 113
#define PRINT(text, size, value) quadmath_snprintf(text, size, "%.36Qg", value)
#define PARSE strtoflt128
#define PRECISION FAR_LNNET_QUAD
#define OPS far_ln_quad
#include "precision_impl.h"
