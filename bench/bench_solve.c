/*
 * Speed of systems on this machine, next to its matrix product.
 *
 *     bench_solve [--n N] [--storage full|packed|both] [--threads N] [--columns P]
 *                 [--extremes] [--inverse]
 *
 * The matrix is the NTK of a network with layer norm on random points in 9 dimensions. Rates are
 * given by the clock and per second of processor time; the second is the one to look at on a
 * machine that others use, too. Ends with the peak of memory.
 */
#define _GNU_SOURCE
#include "restart.h"
#include "solve/blas.h"
#include "solve/solve_internal.h"

#include <farfield/kernel.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define NETWORK "dense ln relu dense relu dense"
#define FEATURES 9
#define PRODUCT 4096
#define RIDGE 1e-6

typedef struct moment {
    double clock, processor;
} moment;

static double seconds_of(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static moment now(void)
{
    return (moment){seconds_of(CLOCK_MONOTONIC), seconds_of(CLOCK_PROCESS_CPUTIME_ID)};
}

static moment since(moment start)
{
    moment end = now();
    return (moment){end.clock - start.clock, end.processor - start.processor};
}

static void need(far_status st, far_ctx *ctx)
{
    if (st != FAR_OK) {
        fprintf(stderr, "bench_solve: %s\n", far_ctx_message(ctx));
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

static double *random_values(int64_t count)
{
    double *x = malloc((size_t)count * sizeof *x);
    for (int64_t i = 0; x && i < count; i++) {
        x[i] = (double)(mix((uint64_t)i) >> 11) * 0x1p-52 - 1;
    }
    return x;
}

/* ---- the matrix ---- */

typedef struct source {
    far_kernel *kernel;
    double *x;
} source;

static far_status kernel_block(far_ctx *ctx, void *user, int64_t row, int64_t col, far_mat *out)
{
    const source *s = user;
    far_mat a = far_mat_view(s->x + row * FEATURES, out->rows, FEATURES, FAR_F64);
    far_mat b = far_mat_view(s->x + col * FEATURES, out->cols, FEATURES, FAR_F64);
    bool square = row == col && out->rows == out->cols;
    return far_kernel_eval(ctx, s->kernel, &a, square ? NULL : &b,
                           square ? FAR_FILL_LOWER : FAR_FILL_FULL, NULL, out);
}

/* ---- the steps, as the progress function sees them ---- */

typedef struct step {
    moment start, took;
    bool begun, done;
} step;

typedef struct watch {
    step fill, factor;
    int lambda_max, lambda_min; /* applications */
} watch;

/* Reports may be repeated: the first one of a kind counts. */
static void note_step(step *s, int64_t done, int64_t total)
{
    if (!s->begun) {
        s->begun = true;
        s->start = now();
    } else if (done == total && !s->done) {
        s->done = true;
        s->took = since(s->start);
    }
}

static int note(void *user, const char *what, int64_t done, int64_t total)
{
    watch *w = user;
    if (strcmp(what, "fill") == 0) {
        note_step(&w->fill, done, total);
    } else if (strcmp(what, "factor") == 0) {
        note_step(&w->factor, done, total);
    }
    w->lambda_max += strcmp(what, "lambda_max") == 0;
    w->lambda_min += strcmp(what, "lambda_min") == 0;
    return 0;
}

/* ---- measuring ---- */

typedef struct bench {
    far_ctx *ctx;
    far_symmetric a;
    int64_t n, columns;
    bool extremes, inverse;
    watch watch;
} bench;

/* Operations a second: by the clock, and by processor time. */
static moment product_rate(const bench *b)
{
    double *x = random_values((int64_t)PRODUCT * PRODUCT);
    double *y = calloc((size_t)PRODUCT * PRODUCT, sizeof *y),
           flops = 2.0 * PRODUCT * PRODUCT * PRODUCT;
    moment best = {0, 0};
    far_blas_scope scope = far_blas_enter(far_ctx_threads(b->ctx));
    for (int run = 0; run < 3; run++) {
        moment start = now();
        far_gemm('T', 'N', PRODUCT, PRODUCT, PRODUCT, 1, x, PRODUCT, x, PRODUCT, y, PRODUCT);
        moment took = since(start);
        best.clock = fmax(best.clock, flops / took.clock);
        best.processor = fmax(best.processor, flops / took.processor);
    }
    far_blas_leave(scope);
    free(x);
    free(y);
    return best;
}

static void print_time(const char *what, moment took)
{
    printf("  %-34s %9.3f s   processor %9.3f s\n", what, took.clock, took.processor);
    fflush(stdout);
}

static void bench_solves(const bench *b, const far_system *s)
{
    int64_t count = b->n * b->columns;
    double *rhs = random_values(count), *x = calloc((size_t)(6 * count), sizeof *x);
    double *low = x + count, *r = x + 2 * count, *work = x + 3 * count, worst = 0;
    double *residuals = calloc((size_t)b->columns, sizeof *residuals);
    far_blas_scope scope = far_blas_enter(far_ctx_threads(b->ctx));
    memcpy(r, rhs, (size_t)count * sizeof *r);
    moment start = now();
    far_lower_solve(&s->factor, r, b->columns, b->n);
    print_time("one solve", since(start));
    far_blas_leave(scope);
    start = now();
    need(far_residual(b->ctx, s, b->columns, rhs, rhs, low, work, r), b->ctx);
    print_time("one residual in doubled precision", since(start));
    far_mat rhs_mat = far_mat_view(rhs, b->n, b->columns, FAR_F64);
    far_mat x_mat = far_mat_view(x, b->n, b->columns, FAR_F64);
    start = now();
    need(far_system_solve(b->ctx, s, &rhs_mat, &x_mat, NULL, residuals), b->ctx);
    print_time("far_system_solve", since(start));
    for (int64_t c = 0; c < b->columns; c++) {
        worst = fmax(worst, residuals[c]);
    }
    printf("  %-34s %9.1e\n", "relative residual", worst);
    free(rhs);
    free(x);
    free(residuals);
}

static void bench_extremes(bench *b, far_system *s)
{
    b->watch.lambda_max = b->watch.lambda_min = 0;
    moment start = now();
    need(far_system_extremes(b->ctx, s), b->ctx);
    print_time("extreme eigenvalues", since(start));
    printf("  %-34s %9.3e after %d and %d applications\n", "condition",
           far_system_diagnostics(s).condition, b->watch.lambda_max, b->watch.lambda_min);
}

static void bench_inverse(const bench *b, const far_system *s)
{
    far_mat diag = far_mat_view(malloc((size_t)b->n * sizeof(double)), b->n, 1, FAR_F64);
    moment start = now();
    need(far_system_inverse_diagonal(b->ctx, s, &diag), b->ctx);
    print_time("inverse diagonal", since(start));
    free(diag.data);
}

static void bench_storage(bench *b, far_storage storage)
{
    far_solve_opts opts;
    far_system *s = NULL;
    far_estimate estimate;
    moment product = product_rate(b);
    far_solve_opts_init(&opts);
    opts.storage = (int32_t)storage;
    opts.ridge = RIDGE;
    opts.extremes = 0;
    b->watch = (watch){0};
    need(far_solve_estimate(b->ctx, b->n, &opts, &estimate), b->ctx);
    need(far_system_create(b->ctx, &b->a, &opts, &s), b->ctx);
    double flops = (double)b->n * (double)b->n * (double)b->n / 3;
    moment took = b->watch.factor.took;
    printf("%s, n = %lld\n", storage == FAR_STORAGE_FULL ? "full" : "packed", (long long)b->n);
    printf("  estimate: %.1f s, %.3f GiB\n", estimate.seconds, estimate.bytes / (1 << 30));
    print_time("fill", b->watch.fill.took);
    print_time("factor", took);
    printf("  %-34s %6.1f GFlop/s, %5.1f a processor; product %.1f, %.1f: %.0f %%, %.0f %%\n",
           "speed of the factor", 1e-9 * flops / took.clock, 1e-9 * flops / took.processor,
           1e-9 * product.clock, 1e-9 * product.processor, 100 * flops / took.clock / product.clock,
           100 * flops / took.processor / product.processor);
    bench_solves(b, s);
    if (b->extremes) {
        bench_extremes(b, s);
    }
    if (b->inverse) {
        bench_inverse(b, s);
    }
    far_system_destroy(s);
}

/* ---- the command line ---- */

static int64_t count_of(const char *text)
{
    char *end;
    long long value = strtoll(text ? text : "", &end, 10);
    if (value < 1 || *end) {
        fprintf(stderr, "bench_solve: '%s' is not a count\n", text ? text : "");
        exit(2);
    }
    return value;
}

static void usage(void)
{
    fprintf(stderr, "bench_solve [--n N] [--storage full|packed|both] [--threads N] [--columns P] "
                    "[--extremes] [--inverse]\n");
    exit(2);
}

typedef struct choices {
    int64_t n, columns, threads;
    const char *storage;
    bool extremes, inverse;
} choices;

static choices read_choices(char **argv)
{
    choices c = {.n = 8000, .columns = 1, .storage = "both"};
    for (char **arg = argv + 1; *arg; arg++) {
        if (strcmp(*arg, "--extremes") == 0) {
            c.extremes = true;
        } else if (strcmp(*arg, "--inverse") == 0) {
            c.inverse = true;
        } else if (strcmp(*arg, "--n") == 0) {
            c.n = count_of(*++arg);
        } else if (strcmp(*arg, "--columns") == 0) {
            c.columns = count_of(*++arg);
        } else if (strcmp(*arg, "--threads") == 0) {
            c.threads = count_of(*++arg);
        } else if (strcmp(*arg, "--storage") == 0 && arg[1]) {
            c.storage = *++arg;
        } else {
            usage();
        }
    }
    return c;
}

int main(int argc, char **argv)
{
    start_again(argv);
    (void)argc;
    choices c = read_choices(argv);
    bench b = {.n = c.n, .columns = c.columns, .extremes = c.extremes, .inverse = c.inverse};
    far_ctx_opts opts;
    opts = (far_ctx_opts){.size = sizeof opts};
    opts.threads = (int)c.threads;
    opts.progress = note;
    opts.progress_user = &b.watch;
    if (far_ctx_create(&opts, &b.ctx) != FAR_OK) {
        return 1;
    }
    source src = {.x = random_values(b.n * FEATURES)};
    need(far_kernel_create(b.ctx, NETWORK, NULL, &src.kernel), b.ctx);
    b.a = (far_symmetric){.n = b.n, .block = kernel_block, .user = &src};
    if (strcmp(c.storage, "packed") != 0) {
        bench_storage(&b, FAR_STORAGE_FULL);
    }
    if (strcmp(c.storage, "full") != 0) {
        bench_storage(&b, FAR_STORAGE_PACKED);
    }
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    printf("peak of memory: %.3f GiB\n", (double)used.ru_maxrss / (1 << 20));
    far_kernel_destroy(src.kernel);
    free(src.x);
    far_ctx_destroy(b.ctx);
    return 0;
}
