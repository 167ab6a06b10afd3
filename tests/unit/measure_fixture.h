/* What the tests of measures share: a context with the counting allocator, and random kernels. */
#ifndef TEST_MEASURE_FIXTURE_H
#define TEST_MEASURE_FIXTURE_H

#include <farfield/measure.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "heap.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))
#define PI 3.14159265358979323846
#define OK(call) assert_int_equal(call, FAR_OK)
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_context, close_context)

#define assert_near(a, b, gap) assert_near_at(a, b, gap, #a, __FILE__, __LINE__)

static inline void assert_near_at(double a, double b, double gap, const char *text,
                                  const char *file, int line)
{
    if (!(fabs(a - b) <= gap)) {
        print_error("%s is %.17g, not %.17g to %g\n", text, a, b, gap);
        _fail(file, line);
    }
}

static heap test_heap;
static far_ctx *ctx;

static int open_context(void **state)
{
    far_ctx_opts opts;
    (void)state;
    test_heap = (heap){.fail_at = -1};
    far_ctx_opts_init(&opts);
    opts.threads = 2;
    opts.alloc = heap_alloc;
    opts.free = heap_free;
    opts.alloc_user = &test_heap;
    OK(far_ctx_create(&opts, &ctx));
    return 0;
}

static int close_context(void **state)
{
    (void)state;
    far_ctx_destroy(ctx);
    assert_int_equal(test_heap.live_blocks, 0);
    return 0;
}

static uint64_t noise_state;

/* About a standard normal number. */
static inline double noise(void)
{
    double sum = 0;
    for (int k = 0; k < 12; k++) {
        noise_state = noise_state * 6364136223846793005u + 1442695040888963407u;
        sum += (double)(noise_state >> 11) * 0x1p-53;
    }
    return sum - 6;
}

static inline void fill_noise(double *x, int64_t n, uint64_t seed)
{
    noise_state = seed;
    for (int64_t i = 0; i < n; i++) {
        x[i] = noise();
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

static inline void assert_message(const char *part)
{
    if (!strstr(far_ctx_message(ctx), part)) {
        fail_msg("\"%s\" is not in \"%s\"", part, far_ctx_message(ctx));
    }
}

/* Makes every allocation of a call fail in turn. */
static inline void fail_every_allocation(far_status (*call)(void))
{
    far_status st = FAR_ERR_MEMORY;
    for (int64_t k = 0; st != FAR_OK; k++) {
        int64_t live = test_heap.live_blocks;
        test_heap.fail_at = test_heap.calls + k;
        st = call();
        assert_true(st == FAR_OK || st == FAR_ERR_MEMORY);
        assert_int_equal(test_heap.live_blocks, live);
    }
    test_heap.fail_at = -1;
}

#endif
