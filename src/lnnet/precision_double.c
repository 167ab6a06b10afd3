/* Chains and passes in double. */
#include "precision.h"

#define REAL double
#define NAME(x) x##_double
#define SQRT sqrt
#define BITS 53
#define APPEND(text, value) far_text_add(text, "%.17g", value)
#define PARSE(text, end, to) (*(to) = strtod(text, end))
#include "precision_plain.h"
/* then */
#include "precision_impl.h"

const far_ln_ops far_ln_double = OPERATIONS(FAR_LNNET_DOUBLE, BITS);
