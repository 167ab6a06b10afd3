/* Chance for tests, of any kind: the same numbers in every run. */
#ifndef TEST_CHANCE_H
#define TEST_CHANCE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* make test-long: all draws, not those alone that make test has time for. */
static inline bool long_tests(void)
{
    const char *tests = getenv("FARFIELD_TESTS");
    return tests && strcmp(tests, "long") == 0;
}

static inline int64_t draws(int64_t few, int64_t all)
{
    return long_tests() ? all : few;
}

#define CHANCE_STEP 0x9e3779b97f4a7c15u

/* splitmix64's finaliser behind one step. */
static inline uint64_t mix(uint64_t x)
{
    uint64_t z = x + CHANCE_STEP;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* The next bits of a sequence. */
static inline uint64_t roll(uint64_t *state)
{
    uint64_t bits = mix(*state);
    *state += CHANCE_STEP;
    return bits;
}

/* In [0, 1). */
static inline double roll_unit(uint64_t *state)
{
    return (double)(roll(state) >> 11) * 0x1p-53;
}

/* About a standard normal number. */
static inline double roll_bell(uint64_t *state)
{
    double sum = 0;
    for (int k = 0; k < 12; k++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        sum += (double)(*state >> 11) * 0x1p-53;
    }
    return sum - 6;
}

#endif
