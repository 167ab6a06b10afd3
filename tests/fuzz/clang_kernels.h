/* Put in front of the kernels' sources where clang compiles them (MemorySanitizer, libFuzzer): what
 * gcc has and clang 14 has not. */
#ifndef CLANG_KERNELS_H
#define CLANG_KERNELS_H

#ifdef __AVX512F__
#include <immintrin.h>

#define __builtin_shuffle(a, b, at)                                                                \
    ((__typeof__(a))_mm512_permutex2var_pd((__m512d)(a), (__m512i)(at), (__m512d)(b)))
#endif

/* The levels by the features that tell them apart. */
static inline int clang_cpu_supports(const char *name)
{
    if (__builtin_strcmp(name, "x86-64-v4") == 0) {
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512cd");
    }
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi2");
}
#define __builtin_cpu_supports(name) clang_cpu_supports(name)

#endif
