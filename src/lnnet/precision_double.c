/* Chains and passes in double. */
#include <stdio.h>
#include <stdlib.h>

#define REAL double
#define NAME(x) x##_double
#define SQRT sqrt
#define BITS 53
#define PRINT(text, size, value) snprintf(text, size, "%.17g", value)
#define PARSE strtod
#define PRECISION FAR_LNNET_DOUBLE
#define OPS far_ln_double
#include "precision_impl.h"
