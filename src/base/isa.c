/* Which of the instruction sets that inner loops are compiled for runs them. */
#include "base_internal.h"

#include <stdlib.h>
#include <string.h>

static const char *const NAMES[] = {"baseline", "avx2", "avx512"};

static far_isa best_isa(void)
{
    if (__builtin_cpu_supports("x86-64-v4")) {
        return FAR_ISA_AVX512;
    }
    return __builtin_cpu_supports("x86-64-v3") ? FAR_ISA_AVX2 : FAR_ISA_BASELINE;
}

far_isa far_isa_chosen(void)
{
    far_isa best = best_isa();
    const char *asked = getenv("FARFIELD_ISA");
    for (int i = 0; asked && i < (int)best; i++) {
        if (strcmp(asked, NAMES[i]) == 0) {
            return (far_isa)i;
        }
    }
    return best;
}

const char *far_isa_name(far_isa isa)
{
    return NAMES[isa];
}
