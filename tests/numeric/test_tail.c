/*
 * Behind the first norm a network is replaced by fitted curves where the machine makes that worth
 * while. The layers themselves, run one by one on a lower instruction set, are the reference: they
 * are checked against arbitrary precision in test_accuracy.c.
 */
#include <farfield/farfield.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N 191
#define D 3
#define TOLERANCE 2e-14

static const char *const ARCHS[] = {
    "dense ln relu dense relu dense",
    "[dense ln relu]x5 dense",
    "[dense ln relu]x20 dense",
    "[dense rms abs]x6 dense",
    "dense relu dense ln relu dense relu dense relu dense",
    "dense relu ln dense relu dense relu dense",
    "dense ln(affine) relu dense ln(affine) relu dense",
    "dense ln leaky_relu(0.3) dense leaky_relu(-0.5) dense",
    "dense ln relu(2) dense relu(3) dense",
    "dense ln erf dense gelu dense",
    "dense ln tanh dense silu dense",
    "dense ln sin dense relu dense",
    "dense ln gelu dense ln gelu dense relu dense",
    "dense ln skip(relu dense) relu dense relu dense",
    "dense skip(relu dense) ln relu dense relu dense relu dense",
    "dense ln relu(0.75) dense relu dense",
    "dense ln relu(1.5) dense relu dense",
    "rms dense relu dense relu dense",
    "rms dense ln gelu dense",
    "ln dense ln erf dense relu dense",
    "rms(affine) dense relu dense relu dense relu dense",
    "dense(nobias) ln tanh rms dense",
    "dense(nobias) rms relu dense(nobias) relu dense relu dense",
    "dense(nobias) gelu dense(nobias) ln relu dense relu dense relu dense",
    "dense relu(2) dense ln relu(2) dense relu(3) dense",
    "dense ln sin(w0=30) dense sin(w0=30) dense sin(w0=30) dense",
    "dense ln sin(w0=1e6) dense relu dense",
    "dense ln sin(w0=5) dense sin(w0=1e9) dense",
    "dense ln erf dense(w=50) erf dense(w=50) erf dense",
    "dense ln gelu dense(w=50) gelu dense(w=50) ln gelu dense",
    "dense ln tanh dense(w=30) tanh dense",
    "dense ln relu(30) dense ln relu(64) dense",
    "dense ln abs dense(b=1e-6) abs dense(b=1e-9) abs dense",
    "dense skip(relu dense) ln skip(ln gelu dense) relu ln dense relu dense",
};
#define ARCH_COUNT ((int)(sizeof ARCHS / sizeof *ARCHS))

static double uniform(uint64_t i)
{
    uint64_t z = i * 0x9e3779b97f4a7c15u + 0x1234567u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53 * 2 - 1;
}

/* Plain points, near-duplicates, opposite points, huge and tiny ones; or all in one orthant, where
 * no two are opposite. */
static void make_points(double *x, bool positive)
{
    static const double factor[] = {1, 1 + 1e-9, -1, 1e200, -1e200, 1e-200, 1 + 1e-5, 30};
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < D; j++) {
            int base = i % 3 ? i : i - i % 24;
            double value = uniform((uint64_t)(base * D + j)) * (i % 3 ? 1 : factor[i / 3 % 8]);
            x[i * D + j] = positive ? fabs(value) : value;
        }
    }
}

typedef struct grams {
    double nngp[N * N], ntk[N * N];
} grams;

/* How a Gram matrix is asked for: which kernels, and the points against themselves or others. */
typedef struct way {
    bool nngp, ntk, rectangular;
    far_fill fill;
} way;

static const way WAYS[] = {{true, true, false, FAR_FILL_FULL},
                           {true, false, false, FAR_FILL_LOWER},
                           {false, true, false, FAR_FILL_LOWER},
                           {false, true, true, FAR_FILL_FULL},
                           {true, true, true, FAR_FILL_FULL}};
#define WAY_COUNT ((int)(sizeof WAYS / sizeof *WAYS))

static void evaluate(far_ctx *ctx, const char *arch, double *x, way how, grams *out,
                     const char *isa)
{
    far_kernel *k = NULL;
    far_mat points = far_mat_view(x, N, D, FAR_F64);
    far_mat nngp = far_mat_view(out->nngp, N, N, FAR_F64);
    far_mat ntk = far_mat_view(out->ntk, N, N, FAR_F64);
    if (isa) {
        setenv("FARFIELD_ISA", isa, 1);
    }
    assert_int_equal(far_kernel_create(ctx, arch, NULL, &k), FAR_OK);
    assert_int_equal(far_kernel_eval(ctx, k, &points, how.rectangular ? &points : NULL, how.fill,
                                     how.nngp ? &nngp : NULL, how.ntk ? &ntk : NULL),
                     FAR_OK);
    far_kernel_destroy(k);
    unsetenv("FARFIELD_ISA");
}

static double worst(const double *a, const double *b, far_fill fill)
{
    double most = 0;
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < (fill == FAR_FILL_LOWER ? i + 1 : N); j++) {
            double scale = sqrt(b[i * N + i]) * sqrt(b[j * N + j]);
            double e = fabs(a[i * N + j] - b[i * N + j]) / scale;
            most = e > most || isnan(e) ? e : most;
        }
    }
    return most;
}

static int compare_arch(far_ctx *ctx, const char *arch, double *x)
{
    static grams fast, layers;
    double k = 0, t = 0;
    evaluate(ctx, arch, x, WAYS[0], &layers, "baseline");
    for (int i = 0; i < WAY_COUNT; i++) {
        evaluate(ctx, arch, x, WAYS[i], &fast, NULL);
        k = fmax(k, WAYS[i].nngp ? worst(fast.nngp, layers.nngp, WAYS[i].fill) : 0);
        t = fmax(t, WAYS[i].ntk ? worst(fast.ntk, layers.ntk, WAYS[i].fill) : 0);
    }
    bool good = k <= TOLERANCE && t <= TOLERANCE;
    printf("%sK %.1e  Theta %.1e  %s\n", good ? "" : "FAILED ", k, t, arch);
    return !good;
}

static void curves_equal_the_layers_they_replace(void **state)
{
    static double x[N * D];
    far_ctx *ctx = NULL;
    int bad = 0;
    (void)state;
    assert_int_equal(far_ctx_create(NULL, &ctx), FAR_OK);
    for (int i = 0; i < 2 * ARCH_COUNT; i++) {
        make_points(x, i % 2);
        bad += compare_arch(ctx, ARCHS[i / 2], x);
    }
    far_ctx_destroy(ctx);
    assert_int_equal(bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(curves_equal_the_layers_they_replace),
    };
    if (strcmp(far_kernel_isa(), "baseline") == 0) {
        printf("skipped: this machine has no faster instruction set to compare with\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
