/* What the tests of measures share: a context with the counting allocator, and random kernels. */
#ifndef TEST_MEASURE_FIXTURE_H
#define TEST_MEASURE_FIXTURE_H

#include <farfield/measure.h>

#define TEST_THREADS 2
#include "harness.h"

#define PI 3.14159265358979323846
#define OK(call) assert_int_equal(call, FAR_OK)

static uint64_t noise_state;

static inline void fill_noise(double *x, int64_t n, uint64_t seed)
{
    noise_state = seed;
    for (int64_t i = 0; i < n; i++) {
        x[i] = roll_bell(&noise_state);
    }
}

static inline far_mat mat(double *data, int64_t rows, int64_t cols)
{
    return far_mat_view(data, rows, cols, FAR_F64);
}

/* out = F F' with F n x rank of noise. */
static inline void random_kernel(int64_t n, int64_t rank, uint64_t seed, double *out)
{
    double *f = malloc((size_t)(n * rank) * sizeof *f);
    fill_noise(f, n * rank, seed);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            out[i * n + j] = 0;
            for (int64_t k = 0; k < rank; k++) {
                out[i * n + j] += f[i * rank + k] * f[j * rank + k];
            }
        }
    }
    free(f);
}

static inline far_view *view_of(double *k, int64_t n, int64_t points)
{
    far_view *view;
    far_mat m = mat(k, n, n);
    OK(far_view_create(ctx, &m, points, &view));
    return view;
}

#endif
