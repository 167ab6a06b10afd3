/* Chains and passes in quadruple precision. */
#include "precision.h"

#include <quadmath.h>

static void append(far_text *out, __float128 value)
{
    char text[64];
    quadmath_snprintf(text, sizeof text, "%.36Qg", value);
    far_text_add(out, "%s", text);
}

#define REAL __float128
#define NAME(x) x##_quad
#define SQRT sqrtq
#define BITS 113
#define APPEND append
#define PARSE(text, end, to) (*(to) = strtoflt128(text, end))
#include "precision_plain.h"
/* then */
#include "precision_impl.h"

const far_ln_ops far_ln_quad = OPERATIONS(FAR_LNNET_QUAD, BITS);
