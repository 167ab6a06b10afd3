/* Put in front of the networks' inner loops where clang compiles them: see clang_kernels.h. */
#ifndef CLANG_ENGINE_H
#define CLANG_ENGINE_H

#include "clang_kernels.h"

#undef __builtin_shuffle
#define __builtin_shuffle(v, at)                                                                   \
    ({                                                                                             \
        __typeof__(v) shuffled_ = (v), shuffled_to_ = shuffled_;                                   \
        __typeof__(at) shuffled_at_ = (at);                                                        \
        for (size_t i_ = 0; i_ < sizeof shuffled_ / sizeof shuffled_[0]; i_++) {                   \
            shuffled_to_[i_] = shuffled_[shuffled_at_[i_]];                                        \
        }                                                                                          \
        shuffled_to_;                                                                              \
    })

#endif
