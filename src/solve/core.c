/* Whose kernels OpenBLAS runs. It knows processors by their model numbers: one that is newer than
 * the library is given kernels without vector instructions, at a fifth of the speed. */
#include "core.h"

#include "lapack.h"

#include <farfield/solve.h>

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Names as the library reports them; others (of other architectures, of versions to come) are
 * taken to be right. */
static const struct {
    const char *name;
    far_isa isa;
} CORES[] = {
    {"Unknown", FAR_ISA_BASELINE},     {"Katmai", FAR_ISA_BASELINE},
    {"Coppermine", FAR_ISA_BASELINE},  {"Northwood", FAR_ISA_BASELINE},
    {"Prescott", FAR_ISA_BASELINE},    {"Banias", FAR_ISA_BASELINE},
    {"Atom", FAR_ISA_BASELINE},        {"Core2", FAR_ISA_BASELINE},
    {"Penryn", FAR_ISA_BASELINE},      {"Dunnington", FAR_ISA_BASELINE},
    {"Nehalem", FAR_ISA_BASELINE},     {"Athlon", FAR_ISA_BASELINE},
    {"Opteron", FAR_ISA_BASELINE},     {"Opteron_SSE3", FAR_ISA_BASELINE},
    {"Barcelona", FAR_ISA_BASELINE},   {"Bobcat", FAR_ISA_BASELINE},
    {"Nano", FAR_ISA_BASELINE},        {"Sandybridge", FAR_ISA_BASELINE},
    {"Bulldozer", FAR_ISA_BASELINE},   {"Piledriver", FAR_ISA_BASELINE},
    {"Steamroller", FAR_ISA_BASELINE}, {"Excavator", FAR_ISA_BASELINE},
    {"Haswell", FAR_ISA_AVX2},         {"Zen", FAR_ISA_AVX2},
};

/* Cooper Lake and Sapphire Rapids differ from Skylake in bfloat16 alone, which nobody here uses,
 * and fewer builds have them. */
const char *far_core_better(const char *config, const char *core, far_isa processor, bool amd)
{
    if (strncmp(config, "OpenBLAS ", 9) != 0 || !strstr(config, " DYNAMIC_ARCH")) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof CORES / sizeof CORES[0]; i++) {
        if (strcasecmp(core, CORES[i].name) == 0 && CORES[i].isa < processor) {
            return processor == FAR_ISA_AVX512 ? "SKYLAKEX" : amd ? "ZEN" : "HASWELL";
        }
    }
    return NULL;
}

far_blas_info far_blas_describe(void)
{
    far_blas_info info = {.library = openblas_get_config(), .core = openblas_get_corename()};
    far_isa processor = far_isa_best();
    info.better = far_core_better(info.library, info.core, processor, far_is_amd());
    if (info.better) {
        snprintf(info.warning, sizeof info.warning,
                 "OpenBLAS runs kernels for %s, which leave the %s instructions of this processor "
                 "unused: matrix products take several times as long; set OPENBLAS_CORETYPE=%s "
                 "before the program starts",
                 info.core, processor == FAR_ISA_AVX512 ? "AVX-512" : "AVX2", info.better);
    }
    return info;
}
