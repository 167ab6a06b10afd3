/*
 * Speed of the infinite-width kernels on this machine, next to what the machine can do.
 *
 *     bench_kernel [--json] [--threads N] [--n N]
 *
 * Prints: the network of the layer-norm paper at d = 9 (best of several runs), the cost of a layer
 * for depth 1 to 20, other activations, and the roofline of docs/benchmarks/performance.md, whose
 * ingredients are measured here in the same run.
 */
#define _GNU_SOURCE
#include "restart.h"

#include <farfield/farfield.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define PAPER "dense ln relu dense relu dense"
#define LAYERED "dense relu dense relu dense" /* no norm, so no shortcut */
#define RUNS 5

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void need(far_status st, far_ctx *ctx)
{
    if (st != FAR_OK) {
        fprintf(stderr, "bench_kernel: %s\n", far_ctx_message(ctx));
        exit(1);
    }
}

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static double *random_points(int64_t count)
{
    double *x = malloc((size_t)count * sizeof *x);
    for (int64_t i = 0; x && i < count; i++) {
        double u = ((double)(mix(2 * (uint64_t)i) >> 11) + 0.5) * 0x1p-53;
        double v = (double)(mix(2 * (uint64_t)i + 1) >> 11) * 0x1p-53;
        x[i] = sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
    }
    return x;
}

typedef struct workload {
    far_ctx *ctx;
    int64_t n, d;
    double *x, *out;
    float *x32, *out32;
} workload;

/* Seconds of the best run. */
static double time_eval(const workload *w, const char *arch, int64_t n, int64_t d, far_fill fill,
                        far_dtype dtype, int runs)
{
    far_kernel *k = NULL;
    need(far_kernel_create(w->ctx, arch, NULL, &k), w->ctx);
    far_mat x = far_mat_view(dtype == FAR_F32 ? (void *)w->x32 : w->x, n, d, dtype);
    far_mat out = far_mat_view(dtype == FAR_F32 ? (void *)w->out32 : w->out, n, n, dtype);
    double best = INFINITY;
    for (int i = 0; i < runs; i++) {
        double start = now();
        need(far_kernel_eval(w->ctx, k, &x, NULL, fill, NULL, &out), w->ctx);
        best = fmin(best, now() - start);
    }
    far_kernel_destroy(k);
    return best;
}

static double core_ns(const workload *w, double seconds, int64_t n)
{
    return 1e9 * seconds * far_ctx_threads(w->ctx) / (0.5 * (double)n * (double)(n + 1));
}

/* ---- the roofline: what the arithmetic and the memory of this machine allow -------------------
 */

#define BLOCK 1024
#define CHAIN 16

/* One pair of blocks a thread. Not static: what is written must be taken to be read by somebody. */
_Thread_local double bench_in[BLOCK] __attribute__((aligned(64)));
_Thread_local double bench_out[BLOCK] __attribute__((aligned(64)));

#define FOR_EACH_ISA                                                                               \
    __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"),                   \
                   optimize("O3", "no-math-errno", "no-trapping-math")))

FOR_EACH_ISA static void many_roots(void)
{
    for (int i = 0; i < BLOCK; i++) {
        bench_out[i] = __builtin_sqrt(bench_in[i]);
    }
}

/* Chains side by side, in vectors as wide as there are. */
typedef double vec __attribute__((vector_size(64)));
#define CHAINS 8

FOR_EACH_ISA static void many_fmas(void)
{
    const vec *in = (const vec *)bench_in;
    vec *out = (vec *)bench_out;
    for (int i = 0; i < BLOCK / 8; i += CHAINS) {
        vec p[CHAINS];
#pragma GCC unroll 8
        for (int c = 0; c < CHAINS; c++) {
            p[c] = in[i + c];
        }
#pragma GCC unroll 16
        for (int k = 0; k < CHAIN; k++) {
#pragma GCC unroll 8
            for (int c = 0; c < CHAINS; c++) {
                p[c] = p[c] * in[i + c] + in[i + c];
            }
        }
#pragma GCC unroll 8
        for (int c = 0; c < CHAINS; c++) {
            out[i + c] = p[c];
        }
    }
}

static void repeat(void (*fn)(void), int repeats)
{
    for (int i = 0; i < BLOCK; i++) {
        bench_in[i] = (i + 0.5) / BLOCK;
    }
    for (int i = 0; i < repeats; i++) {
        fn();
        __asm__ volatile("" ::: "memory");
    }
}

/* On all threads at once: two of them may share a core. */
static double per_element(void (*fn)(void), int threads, int repeats)
{
    double best = INFINITY;
    for (int run = 0; run < RUNS; run++) {
        double start = now();
#pragma omp parallel num_threads(threads)
        repeat(fn, repeats);
        best = fmin(best, now() - start);
    }
    return 1e9 * best / repeats / BLOCK;
}

/* Past the caches where that can be said, as large matrices are. */
static void write_span(double *out, int64_t count, double value)
{
#ifdef __SSE2__
    __m128d both = _mm_set1_pd(value);
    for (int64_t i = 0; i + 1 < count; i += 2) {
        _mm_stream_pd(out + i, both);
    }
#else
    for (int64_t i = 0; i < count; i++) {
        out[i] = value;
    }
#endif
}

static double write_bandwidth(double *out, int64_t count,
                              int threads) /* bytes a second, all cores */
{
    double best = INFINITY;
    int64_t span = count / threads / 8 * 8;
    for (int run = 0; run < RUNS; run++) {
        double start = now();
#pragma omp parallel for num_threads(threads) schedule(static, 1)
        for (int t = 0; t < threads; t++) {
            write_span(out + t * span, span, run);
        }
        best = fmin(best, now() - start);
    }
    return (double)(span * threads) * sizeof *out / best;
}

typedef struct roofline {
    double root_ns, fma_ns, bandwidth;
    double layers_ns, curve_ns, memory_ns; /* a pair a core */
} roofline;

/* Operations per pair at d = 9, counted in the inner loops: additions, multiplications, fused
 * multiply-adds, comparisons and permutations, which share their units; square roots have one of
 * their own.
 *   layer by layer: chord 20, first dense and relu 48, second 41, last dense 10; 2 square roots;
 *   behind the norm as a curve: inner product 10 (the bias is one more feature), 1 - |rho|, its
 * sign and whether it is small 4, place 4, polynomial 11 and permutations for its coefficients 11;
 * 1 square root. */
#define LAYER_OPERATIONS (20 + 48 + 41 + 10)
#define CURVE_OPERATIONS (10 + 4 + 4 + 11 + 11)

static roofline measure_roofline(const workload *w)
{
    int threads = far_ctx_threads(w->ctx);
    roofline r = {.root_ns = per_element(many_roots, threads, 20000),
                  .fma_ns = per_element(many_fmas, threads, 20000) / CHAIN,
                  .bandwidth = write_bandwidth(w->out, w->n * w->n, threads)};
    r.layers_ns = fmax(2 * r.root_ns, LAYER_OPERATIONS * r.fma_ns);
    r.curve_ns = fmax(r.root_ns, CURVE_OPERATIONS * r.fma_ns);
    r.memory_ns = 1e9 * 8 * threads / r.bandwidth;
    return r;
}

/* ---- reports --------------------------------------------------------------------------------- */

static void report_paper(const workload *w)
{
    double lower = time_eval(w, PAPER, w->n, 9, FAR_FILL_LOWER, FAR_F64, RUNS);
    double full = time_eval(w, PAPER, w->n, 9, FAR_FILL_FULL, FAR_F64, RUNS);
    double single = time_eval(w, PAPER, w->n, 9, FAR_FILL_FULL, FAR_F32, RUNS);
    double layers = time_eval(w, LAYERED, w->n, 9, FAR_FILL_LOWER, FAR_F64, RUNS);
    roofline r = measure_roofline(w);
    bool curve = strcmp(far_kernel_isa(), "avx512") == 0;
    double ns = core_ns(w, lower, w->n), layered_ns = core_ns(w, layers, w->n);
    double limit = fmax(curve ? r.curve_ns : r.layers_ns, r.memory_ns);
    printf("%s, d = 9, n = %lld, %d threads, %s\n", PAPER, (long long)w->n, far_ctx_threads(w->ctx),
           far_kernel_isa());
    printf("  lower triangle, float64   %8.1f ms   %5.2f ns a pair a core\n", 1e3 * lower, ns);
    printf("  full, mirrored, float64   %8.1f ms\n", 1e3 * full);
    printf("  full, mirrored, float32   %8.1f ms\n", 1e3 * single);
    printf("%s, layer by layer\n", LAYERED);
    printf("  lower triangle, float64   %8.1f ms   %5.2f ns a pair a core\n", 1e3 * layers,
           layered_ns);
    printf("roofline, measured now: sqrt %.3f ns, fma %.4f ns, writes %.1f GB/s\n", r.root_ns,
           r.fma_ns, 1e-9 * r.bandwidth);
    printf("  ns a pair a core: layer by layer %.2f, as a curve %.2f, memory %.2f\n", r.layers_ns,
           r.curve_ns, r.memory_ns);
    printf("  we are at %.2f times the limit, layer by layer at %.2f times its own\n", ns / limit,
           layered_ns / fmax(r.layers_ns, r.memory_ns));
    printf("{\"bench\":\"ntk\",\"n\":%lld,\"seconds_lower\":%.6g,\"seconds_full\":%.6g,"
           "\"ns_pair_core\":%.4g,\"roofline_ns\":%.4g}\n",
           (long long)w->n, lower, full, ns, limit);
}

static void report_depth(const workload *w, int64_t n)
{
    double base = 0;
    printf("depth L, d = 9, n = %lld: ns a pair a core\n", (long long)n);
    printf("        [dense relu]xL dense            [dense ln relu]xL dense\n");
    for (int depth = 1; depth <= 20; depth++) {
        char plain[64], norms[64];
        snprintf(plain, sizeof plain, "[dense relu]x%d dense", depth);
        snprintf(norms, sizeof norms, "[dense ln relu]x%d dense", depth);
        double a = core_ns(w, time_eval(w, plain, n, 9, FAR_FILL_LOWER, FAR_F64, 3), n);
        double b = core_ns(w, time_eval(w, norms, n, 9, FAR_FILL_LOWER, FAR_F64, 3), n);
        base = depth == 1 ? a : base;
        printf("  %2d  %8.2f", depth, a);
        printf(depth > 1 ? "  (%.2f a layer)" : "                ", (a - base) / (depth - 1));
        printf("      %8.2f\n", b);
    }
}

static void report_activations(const workload *w, int64_t n)
{
    static const char *const archs[] = {"dense ln leaky_relu(0.1) dense",
                                        "dense ln abs dense",
                                        "dense ln relu(2) dense",
                                        "dense ln relu(1.5) dense",
                                        "dense ln erf dense",
                                        "dense ln gelu dense",
                                        "dense ln sin dense",
                                        "dense ln tanh dense",
                                        "dense ln silu dense",
                                        "dense tanh dense",
                                        "dense silu dense",
                                        "dense relu ln dense",
                                        "dense relu skip(dense relu) dense"};
    printf("other networks: ns a pair a core, d = 9, n = %lld\n", (long long)n);
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
        double ns = core_ns(w, time_eval(w, archs[i], n, 9, FAR_FILL_LOWER, FAR_F64, 2), n);
        printf("  %-36s %8.2f\n", archs[i], ns);
    }
}

int main(int argc, char **argv)
{
    start_again(argv);
    far_ctx_opts opts;
    workload w = {.n = 8000, .d = 9};
    opts = (far_ctx_opts){.size = sizeof opts};
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--threads") == 0) {
            opts.threads = (int)strtol(argv[i + 1], NULL, 10);
        } else if (strcmp(argv[i], "--n") == 0) {
            w.n = strtoll(argv[i + 1], NULL, 10);
        }
    }
    if (far_ctx_create(&opts, &w.ctx) != FAR_OK || w.n < 1) {
        fprintf(stderr, "bench_kernel: bad options\n");
        return 2;
    }
    int64_t count = w.n * w.d, cells = w.n * w.n;
    w.x = random_points(count);
    w.x32 = malloc((size_t)count * sizeof *w.x32);
    w.out = aligned_alloc(64, (size_t)cells * sizeof *w.out + 64);
    w.out32 = (float *)w.out;
    if (!w.x || !w.x32 || !w.out) {
        fprintf(stderr, "bench_kernel: out of memory\n");
        return 1;
    }
    for (int64_t i = 0; i < count; i++) {
        w.x32[i] = (float)w.x[i];
    }
    report_paper(&w);
    report_depth(&w, w.n < 3000 ? w.n : 3000);
    report_activations(&w, w.n < 2000 ? w.n : 2000);
    free(w.x);
    free(w.x32);
    free(w.out);
    far_ctx_destroy(w.ctx);
    return 0;
}
