/* Which of OpenBLAS's kernels suit a processor. */
#include "solve/core.h"

#include <farfield/solve.h>

#include "harness.h"

#define DYNAMIC "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH NO_AFFINITY USE_OPENMP "

static const struct {
    const char *config, *core;
    far_isa isa;
    bool amd;
    const char *better;
} CASES[] = {
    {DYNAMIC "Prescott", "Prescott", FAR_ISA_AVX512, false, "SKYLAKEX"},
    {DYNAMIC "Prescott", "Prescott", FAR_ISA_AVX2, false, "HASWELL"},
    {DYNAMIC "Barcelona", "Barcelona", FAR_ISA_AVX2, true, "ZEN"},
    {DYNAMIC "Prescott", "Prescott", FAR_ISA_AVX512, true, "SKYLAKEX"},
    {DYNAMIC "Nehalem", "Nehalem", FAR_ISA_AVX2, false, "HASWELL"},
    {DYNAMIC "Sandybridge", "Sandybridge", FAR_ISA_AVX2, false, "HASWELL"},
    {DYNAMIC "Haswell", "Haswell", FAR_ISA_AVX512, false, "SKYLAKEX"},
    {DYNAMIC "Zen", "Zen", FAR_ISA_AVX512, true, "SKYLAKEX"},
    {DYNAMIC "Unknown", "Unknown", FAR_ISA_AVX512, false, "SKYLAKEX"},
    {DYNAMIC "prescott", "prescott", FAR_ISA_AVX512, false, "SKYLAKEX"},
    /* right as they are */
    {DYNAMIC "SkylakeX", "SkylakeX", FAR_ISA_AVX512, false, NULL},
    {DYNAMIC "Cooperlake", "Cooperlake", FAR_ISA_AVX512, true, NULL},
    {DYNAMIC "SapphireRapids", "SapphireRapids", FAR_ISA_AVX512, false, NULL},
    {DYNAMIC "Haswell", "Haswell", FAR_ISA_AVX2, false, NULL},
    {DYNAMIC "Zen", "Zen", FAR_ISA_AVX2, true, NULL},
    {DYNAMIC "Haswell", "Haswell", FAR_ISA_AVX2, true, NULL},
    {DYNAMIC "Prescott", "Prescott", FAR_ISA_BASELINE, false, NULL},
    {DYNAMIC "Zen", "Zen", FAR_ISA_BASELINE, true, NULL},
    /* other processors, kernels that cannot be chosen, other libraries, nothing at all */
    {DYNAMIC "neoversen1", "neoversen1", FAR_ISA_BASELINE, false, NULL},
    {DYNAMIC "armv8", "armv8", FAR_ISA_AVX512, false, NULL},
    {"OpenBLAS 0.3.21 NO_LAPACKE Prescott SINGLE_THREADED", "Prescott", FAR_ISA_AVX512, false,
     NULL},
    {"Intel MKL 2024 DYNAMIC_ARCH", "Prescott", FAR_ISA_AVX512, false, NULL},
    {"", "", FAR_ISA_AVX512, false, NULL},
};

static void a_core_below_the_processor_is_noticed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        const char *got =
            far_core_better(CASES[i].config, CASES[i].core, CASES[i].isa, CASES[i].amd);
        const char *want = CASES[i].better;
        if ((got == NULL) != (want == NULL) || (got && strcmp(got, want) != 0)) {
            fail_msg("%s (%d): %s, not %s", CASES[i].config, (int)CASES[i].isa, got ? got : "none",
                     want ? want : "none");
        }
    }
}

static void a_warning_goes_with_what_is_better(void **state)
{
    (void)state;
    far_blas_info info = far_blas_describe();
    assert_non_null(strstr(info.library, info.core));
    assert_int_equal(info.better != NULL, *info.warning != 0);
    assert_true(!info.better || strstr(info.warning, info.better));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_core_below_the_processor_is_noticed),
        TEST(a_warning_goes_with_what_is_better),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
