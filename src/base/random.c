/* Counter-based random numbers: the value depends on seed and counter alone. */
#include "base_internal.h"

#include <math.h>

uint64_t far_random_bits(uint64_t seed, uint64_t counter)
{
    uint64_t z = (seed ^ 0xD1B54A32D192ED03u) * 0x9E3779B97F4A7C15u + counter * 0xBF58476D1CE4E5B9u;
    for (int round = 0; round < 2; round++) {
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        z ^= z >> 31;
    }
    return z;
}

double far_random_uniform(uint64_t seed, uint64_t counter)
{
    return ((double)(far_random_bits(seed, counter) >> 11) + 0.5) * 0x1p-53;
}

double far_random_normal(uint64_t seed, uint64_t counter)
{
    double u = far_random_uniform(seed, 2 * counter), v = far_random_uniform(seed, 2 * counter + 1);
    return sqrt(-2 * log(u)) * cos(6.283185307179586477 * v);
}

void far_random_shuffle(uint64_t seed, int64_t *items, int64_t count)
{
    for (int64_t i = count - 1; i > 0; i--) {
        int64_t j = (int64_t)(far_random_uniform(seed, (uint64_t)i) * (double)(i + 1));
        int64_t kept = items[i];
        items[i] = items[j];
        items[j] = kept;
    }
}
