/* Which of the instruction sets that inner loops are compiled for runs them. */
#include "base_internal.h"

#include <stdlib.h>
#include <string.h>

static const char *const NAMES[] = {"baseline", "avx2", "avx512"};

/* A processor of one level has all of those below. */
far_isa far_isa_best(void)
{
    bool avx2 = __builtin_cpu_supports("x86-64-v3"), avx512 = __builtin_cpu_supports("x86-64-v4");
    return (far_isa)(avx2 + avx512);
}

far_isa far_isa_chosen(void)
{
    far_isa best = far_isa_best();
    const char *asked = getenv("FARFIELD_ISA");
    for (int i = 0; asked && i < (int)best; i++) {
        if (strcmp(asked, NAMES[i]) == 0) {
            return (far_isa)i;
        }
    }
    return best;
}

bool far_is_amd(void)
{
    return __builtin_cpu_is("amd");
}

const char *far_isa_name(far_isa isa)
{
    return NAMES[isa];
}
