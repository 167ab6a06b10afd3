/* Where MPFR is missing. */
#include "precision.h"

far_ln_ops far_ln_mpfr(int64_t bits)
{
    return (far_ln_ops){.bits = bits};
}
