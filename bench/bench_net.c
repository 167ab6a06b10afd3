/*
 * Speed of finite networks on this machine, next to its matrix product.
 *
 *     bench_net [--threads N] [--steps N] [--only PART]
 *
 * The network of the layer-norm paper, 2 x 128 with a norm in each layer: a step of full-batch Adam
 * on 40132 x 9, an epoch of minibatches of 128 on 20000 x 512, and the tangent kernel of 2048
 * points. Everything but the last in float32. A convolutional network (images of 3 x 32 x 32,
 * batches of 128, and its tangent kernel, 512 images, ten outputs traced) and a transformer of two
 * blocks (sequences of 30, batches of 128), both in float32. Then what a track costs beside the
 * training it watches. One JSON line at the end.
 *
 * PART is one of full, epoch, ntk, cnn, transformer, cnn-ntk and track.
 */
#define _GNU_SOURCE
#include "restart.h"

#include <farfield/ntk.h>
#include <farfield/track.h>
#include <farfield/train.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NETWORK "dense(128) ln(eps=1e-5) relu dense(128) ln(eps=1e-5) relu dense(1)"
#define CNN                                                                                        \
    "image(3x32x32) conv(32, 3x3, pad=1) relu maxpool(2) conv(64, 3x3, pad=1) relu maxpool(2) "    \
    "conv(64, 3x3, pad=1) relu maxpool(2) flatten dense(10)"
#define TRANSFORMER                                                                                \
    "sequence(30x1) dense(64) position "                                                           \
    "[skip(ln(eps=1e-5, affine) attention(4, causal)) "                                            \
    "skip(ln(eps=1e-5, affine) dense(256) gelu dense(64))]x2 last dense(1)"
#define PRODUCT 2048
#define REPEATS 5

extern void sgemm_(const char *, const char *, const int *, const int *, const int *, const float *,
                   const float *, const int *, const float *, const int *, const float *, float *,
                   const int *);
extern void dgemm_(const char *, const char *, const int *, const int *, const int *,
                   const double *, const double *, const int *, const double *, const int *,
                   const double *, double *, const int *);
extern void openblas_set_num_threads(int);

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void need(far_status st, far_ctx *ctx)
{
    if (st != FAR_OK) {
        fprintf(stderr, "bench_net: %s\n", far_ctx_message(ctx));
        exit(1);
    }
}

static double noise(uint64_t i)
{
    i = (i + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
    i = (i ^ (i >> 29)) * 0x94d049bb133111ebu;
    return (double)(i >> 11) * 0x1p-53 * 2 - 1;
}

static far_mat random_matrix(int64_t rows, int64_t cols, far_dtype dtype)
{
    far_mat m = far_mat_view(NULL, rows, cols, dtype);
    m.data = malloc((size_t)(rows * cols) * sizeof(double));
    for (int64_t i = 0; i < rows * cols; i++) {
        if (dtype == FAR_F64) {
            ((double *)m.data)[i] = noise((uint64_t)i);
        } else {
            ((float *)m.data)[i] = (float)noise((uint64_t)i);
        }
    }
    return m;
}

/* ---- what the machine can do --------------------------------------------------------------- */

static double product_rate(far_dtype dtype, int threads)
{
    far_mat a = random_matrix(PRODUCT, PRODUCT, dtype), b = random_matrix(PRODUCT, PRODUCT, dtype);
    far_mat c = random_matrix(PRODUCT, PRODUCT, dtype);
    const int n = PRODUCT;
    const float one = 1, zero = 0;
    const double one_wide = 1, zero_wide = 0;
    double best = INFINITY;
    openblas_set_num_threads(threads);
    for (int i = 0; i < REPEATS; i++) {
        double start = now();
        if (dtype == FAR_F32) {
            sgemm_("N", "N", &n, &n, &n, &one, a.data, &n, b.data, &n, &zero, c.data, &n);
        } else {
            dgemm_("N", "N", &n, &n, &n, &one_wide, a.data, &n, b.data, &n, &zero_wide, c.data, &n);
        }
        best = fmin(best, now() - start);
    }
    free(a.data);
    free(b.data);
    free(c.data);
    return 2e-9 * (double)n * n * n / best;
}

/* ---- training ------------------------------------------------------------------------------ */

typedef struct timing {
    double seconds; /* an epoch */
    double rate;    /* GFLOP/s of the matrix products it must do */
} timing;

/* classes: 0 for a regression. */
static timing train(far_ctx *ctx, const char *arch, int64_t n, int64_t d, int classes,
                    int64_t batch, int64_t epochs)
{
    far_mat x = random_matrix(n, d, FAR_F32), y = random_matrix(n, 1, FAR_F32);
    for (int64_t i = 0; classes > 0 && i < n; i++) {
        ((float *)y.data)[i] = (float)(i * 7919 % classes);
    }
    timing best = {.seconds = INFINITY};
    for (int i = 0; i < 3; i++) {
        far_net_opts o;
        far_train_opts how;
        far_train_result r;
        far_net *net;
        far_net_opts_init(&o);
        far_train_opts_init(&how);
        o.inputs = d;
        how.epochs = epochs;
        how.batch = batch;
        how.loss = classes > 0 ? FAR_LOSS_CE : FAR_LOSS_MSE;
        need(far_net_create(ctx, arch, &o, &net), ctx);
        need(far_net_train(ctx, net, &x, &y, &how, &r), ctx);
        best.seconds = fmin(best.seconds, r.seconds / (double)epochs);
        best.rate = 1e-9 * r.flops / best.seconds;
        far_net_destroy(net);
    }
    free(x.data);
    free(y.data);
    return best;
}

/* ---- the tangent kernel -------------------------------------------------------------------- */

static double ntk_seconds(far_ctx *ctx, const char *arch, int64_t n, int64_t d, far_dtype dtype,
                          int repeats)
{
    far_mat x = random_matrix(n, d, dtype), k = random_matrix(n, n, dtype);
    far_net_opts o;
    far_ntk_opts how;
    far_net *net;
    double best = INFINITY;
    far_net_opts_init(&o);
    how = (far_ntk_opts){.size = sizeof how};
    o.inputs = d;
    need(far_net_create(ctx, arch, &o, &net), ctx);
    for (int i = 0; i < repeats; i++) {
        double start = now();
        need(far_net_ntk(ctx, net, &x, NULL, &how, &k), ctx);
        best = fmin(best, now() - start);
    }
    far_net_destroy(net);
    free(x.data);
    free(k.data);
    return best;
}

/* ---- tracks -------------------------------------------------------------------------------- */

#define TRACK_ROWS 1000
#define TRACK_INPUTS 64
#define TRACK_TIMES 4 /* rows but for the first */

typedef struct tracked {
    double steps, row; /* seconds of as many steps as lie between rows, and of a row */
    int64_t every;     /* so many */
} tracked;

/* Adam, 64-width-width-1 with tanh; a row is lambda_max, KTA and 20 alignments. */
static tracked track(far_ctx *ctx, int width, int64_t batch)
{
    far_mat x = random_matrix(TRACK_ROWS, TRACK_INPUTS, FAR_F64);
    far_mat y = random_matrix(TRACK_ROWS, 1, FAR_F64);
    tracked best = {INFINITY, INFINITY, far_track_every(TRACK_ROWS, batch)};
    int64_t steps = TRACK_TIMES * best.every;
    char arch[96];
    snprintf(arch, sizeof arch, "dense(%d) tanh dense(%d) tanh dense(1)", width, width);
    for (int i = 0; i < REPEATS; i++) {
        far_net_opts o;
        far_train_opts how;
        far_train_result r;
        far_track_opts what;
        far_track *kept;
        far_net *net;
        far_net_opts_init(&o);
        far_train_opts_init(&how);
        o.inputs = TRACK_INPUTS;
        how.batch = batch;
        how.epochs = batch ? steps / ((TRACK_ROWS + batch - 1) / batch) : steps;
        need(far_net_create(ctx, arch, &o, &net), ctx);
        far_track_opts_init(&what, &how);
        what.measures = "lmax,kta,align:20";
        need(far_track_create(ctx, net, &x, &y, &what, &kept), ctx);
        how.callback = far_track_callback;
        how.callback_user = &kept;
        how.callback_every = best.every;
        need(far_net_train(ctx, net, &x, &y, &how, &r), ctx);
        double rows = far_track_describe(kept).seconds,
               count = (double)far_track_describe(kept).rows.rows;
        best.row = fmin(best.row, rows / count);
        best.steps = fmin(best.steps, (r.seconds - rows) * (double)best.every / (double)r.steps);
        far_track_destroy(kept);
        far_net_destroy(net);
    }
    free(x.data);
    free(y.data);
    return best;
}

/* ---- the parts ----------------------------------------------------------------------------- */

typedef struct bench {
    far_ctx *ctx;
    int threads, steps;
    double sgemm;     /* GFLOP/s */
    const char *only; /* NULL: everything */
    char json[1024];  /* fields so far */
} bench;

static void keep(bench *b, const char *name, double value)
{
    size_t used = strlen(b->json);
    snprintf(b->json + used, sizeof b->json - used, "%s\"%s\": %.4g", used ? ", " : "", name,
             value);
}

static void show_training(const bench *b, const char *what, const char *span, timing t)
{
    printf("%-36s %8.2f ms %s, %5.1f GFLOP/s, %.0f%% of sgemm\n", what, 1e3 * t.seconds, span,
           t.rate, 100 * t.rate / b->sgemm);
}

static void bench_full(bench *b)
{
    timing t = train(b->ctx, NETWORK, 40132, 9, 0, 0, b->steps);
    show_training(b, "full-batch Adam, 40132 x 9:", "a step", t);
    keep(b, "full_ms", 1e3 * t.seconds);
    keep(b, "full_gflops", t.rate);
}

static void bench_epoch(bench *b)
{
    timing t = train(b->ctx, NETWORK, 20000, 512, 0, 128, 3);
    show_training(b, "Adam, batches of 128, 20000 x 512:", "an epoch", t);
    keep(b, "epoch_ms", 1e3 * t.seconds);
}

static void bench_ntk(bench *b)
{
    double wide = ntk_seconds(b->ctx, NETWORK, 2048, 9, FAR_F64, REPEATS);
    double narrow = ntk_seconds(b->ctx, NETWORK, 2048, 9, FAR_F32, REPEATS);
    printf("%-36s %8.2f ms float64, %.2f ms float32\n", "tangent kernel, n = 2048:", 1e3 * wide,
           1e3 * narrow);
    keep(b, "ntk64_ms", 1e3 * wide);
    keep(b, "ntk32_ms", 1e3 * narrow);
}

static void bench_cnn(bench *b)
{
    timing t = train(b->ctx, CNN, 1280, 3072, 10, 128, 2);
    show_training(b, "CNN, batches of 128, 1280 images:", "an epoch", t);
    keep(b, "cnn_ms", 1e3 * t.seconds);
}

static void bench_transformer(bench *b)
{
    timing t = train(b->ctx, TRANSFORMER, 2560, 30, 0, 128, 2);
    show_training(b, "transformer, batches of 128, 2560:", "an epoch", t);
    keep(b, "former_ms", 1e3 * t.seconds);
}

static void bench_cnn_ntk(bench *b)
{
    double seconds = ntk_seconds(b->ctx, CNN, 512, 3072, FAR_F32, 2);
    printf("%-36s %8.0f ms float32, ten outputs traced\n",
           "tangent kernel of the CNN, n = 512:", 1e3 * seconds);
    keep(b, "cnn_ntk_ms", 1e3 * seconds);
}

static void bench_track(bench *b)
{
    static const struct {
        int width;
        int64_t batch;
        const char *field;
    } cases[] = {
        {100, 0, "track100"}, {50, 0, "track50"}, {100, 128, "track100b"}, {50, 128, "track50b"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tracked t = track(b->ctx, cases[i].width, cases[i].batch);
        printf("track, n = %d, width %d, %-13s %8.2f ms a row, %8.2f ms of %lld steps\n",
               TRACK_ROWS, cases[i].width,
               cases[i].batch ? "batch 128:" : "full batch:", 1e3 * t.row, 1e3 * t.steps,
               (long long)t.every);
        keep(b, cases[i].field, t.row / t.steps);
    }
}

static const struct {
    const char *name;
    void (*run)(bench *b);
} PARTS[] = {
    {"full", bench_full},   {"epoch", bench_epoch},     {"ntk", bench_ntk},
    {"cnn", bench_cnn},     {"cnn-ntk", bench_cnn_ntk}, {"transformer", bench_transformer},
    {"track", bench_track},
};
#define PART_COUNT (sizeof PARTS / sizeof PARTS[0])

/* ---- the program --------------------------------------------------------------------------- */

static void usage(FILE *to)
{
    fprintf(to, "usage: bench_net [--threads N] [--steps N] [--only PART]\nPART:");
    for (size_t i = 0; i < PART_COUNT; i++) {
        fprintf(to, " %s", PARTS[i].name);
    }
    fprintf(to, "\n");
    exit(to == stdout ? 0 : 2);
}

static int count_of(const char *text)
{
    char *end = NULL;
    long value = text ? strtol(text, &end, 10) : 0;
    if (!text || *end || value < 1 || value > 1 << 20) {
        usage(stderr);
    }
    return (int)value;
}

static const char *part_of(const char *text)
{
    for (size_t i = 0; text && i < PART_COUNT; i++) {
        if (strcmp(text, PARTS[i].name) == 0) {
            return text;
        }
    }
    usage(stderr);
    return NULL;
}

static bench read_arguments(char **argv)
{
    bench b = {.threads = 2, .steps = 40};
    for (char **arg = argv + 1; *arg; arg += 2) {
        if (strcmp(*arg, "--help") == 0 || strcmp(*arg, "-h") == 0) {
            usage(stdout);
        } else if (strcmp(*arg, "--threads") == 0) {
            b.threads = count_of(arg[1]);
        } else if (strcmp(*arg, "--steps") == 0) {
            b.steps = count_of(arg[1]);
        } else if (strcmp(*arg, "--only") == 0) {
            b.only = part_of(arg[1]);
        } else {
            usage(stderr);
        }
    }
    return b;
}

int main(int argc, char **argv)
{
    start_again(argv);
    (void)argc;
    bench b = read_arguments(argv);
    far_ctx_opts opts;
    opts = (far_ctx_opts){.size = sizeof opts};
    opts.threads = b.threads;
    need(far_ctx_create(&opts, &b.ctx), NULL);
    b.sgemm = product_rate(FAR_F32, b.threads);
    printf("matrix product, %d threads: %.0f GFLOP/s float32, %.0f float64\n", b.threads, b.sgemm,
           product_rate(FAR_F64, b.threads));
    keep(&b, "sgemm", b.sgemm);
    for (size_t i = 0; i < PART_COUNT; i++) {
        if (!b.only || strcmp(b.only, PARTS[i].name) == 0) {
            PARTS[i].run(&b);
        }
    }
    printf("{%s}\n", b.json);
    far_ctx_destroy(b.ctx);
    return 0;
}
