/*
 * Speed of finite networks on this machine, next to its matrix product.
 *
 *     bench_net [--threads N] [--steps N]
 *
 * The network of the layer-norm paper, 2 x 128 with a norm in each layer: a step of full-batch Adam
 * on 40132 x 9, an epoch of minibatches of 128 on 20000 x 512, and the tangent kernel of 2048
 * points. Everything but the last in float32. A convolutional network (images of 3 x 32 x 32,
 * batches of 128, and its tangent kernel, 512 images, ten outputs traced) and a transformer of two
 * blocks (sequences of 30, batches of 128), both in float32. Then what a track costs beside the
 * training it watches. One JSON line at the end.
 */
#define _GNU_SOURCE
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
#define TRACK_EVERY 50
#define TRACK_STEPS 500

typedef struct tracked {
    double steps, row; /* seconds of as many steps as lie between rows, and of a row */
} tracked;

/* Adam, 64-width-width-1 with tanh; a row is lambda_max, KTA and 20 alignments. */
static tracked track(far_ctx *ctx, int width, int64_t batch)
{
    far_mat x = random_matrix(TRACK_ROWS, TRACK_INPUTS, FAR_F64);
    far_mat y = random_matrix(TRACK_ROWS, 1, FAR_F64);
    tracked best = {INFINITY, INFINITY};
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
        how.epochs = batch ? TRACK_STEPS / ((TRACK_ROWS + batch - 1) / batch) : TRACK_STEPS;
        need(far_net_create(ctx, arch, &o, &net), ctx);
        far_track_opts_init(&what, &how);
        what.measures = "lmax,kta,align:20";
        need(far_track_create(ctx, net, &x, &y, &what, &kept), ctx);
        how.callback = far_track_callback;
        how.callback_user = &kept;
        how.callback_every = TRACK_EVERY;
        need(far_net_train(ctx, net, &x, &y, &how, &r), ctx);
        double rows = far_track_describe(kept).seconds,
               count = (double)far_track_describe(kept).rows.rows;
        best.row = fmin(best.row, rows / count);
        best.steps = fmin(best.steps, (r.seconds - rows) * TRACK_EVERY / (double)r.steps);
        far_track_destroy(kept);
        far_net_destroy(net);
    }
    free(x.data);
    free(y.data);
    return best;
}

static tracked show_track(far_ctx *ctx, int width, int64_t batch)
{
    tracked t = track(ctx, width, batch);
    printf("track, n = %d, width %d, %-13s %8.2f ms a row, %8.2f ms of %d steps\n", TRACK_ROWS,
           width, batch ? "batch 128:" : "full batch:", 1e3 * t.row, 1e3 * t.steps, TRACK_EVERY);
    return t;
}

/* ---- the program --------------------------------------------------------------------------- */

static int argument(int argc, char **argv, const char *name, int fallback)
{
    for (int i = 1; i + 1 < argc; i++) {
        if (strcmp(argv[i], name) == 0) {
            return atoi(argv[i + 1]);
        }
    }
    return fallback;
}

int main(int argc, char **argv)
{
    int threads = argument(argc, argv, "--threads", 2), steps = argument(argc, argv, "--steps", 40);
    far_ctx_opts opts;
    far_ctx *ctx;
    opts = (far_ctx_opts){.size = sizeof opts};
    opts.threads = threads;
    need(far_ctx_create(&opts, &ctx), NULL);
    double sgemm = product_rate(FAR_F32, threads), dgemm = product_rate(FAR_F64, threads);
    printf("matrix product, %d threads: %.0f GFLOP/s float32, %.0f float64\n", threads, sgemm,
           dgemm);
    timing full = train(ctx, NETWORK, 40132, 9, 0, 0, steps);
    printf("full-batch Adam, 40132 x 9:        %8.2f ms a step, %5.1f GFLOP/s, %.0f%% of sgemm\n",
           1e3 * full.seconds, full.rate, 100 * full.rate / sgemm);
    timing mini = train(ctx, NETWORK, 20000, 512, 0, 128, 3);
    printf("Adam, batches of 128, 20000 x 512: %8.2f ms an epoch, %5.1f GFLOP/s, %.0f%% of sgemm\n",
           1e3 * mini.seconds, mini.rate, 100 * mini.rate / sgemm);
    double wide = ntk_seconds(ctx, NETWORK, 2048, 9, FAR_F64, REPEATS);
    double narrow = ntk_seconds(ctx, NETWORK, 2048, 9, FAR_F32, REPEATS);
    printf("tangent kernel, n = 2048:          %8.2f ms float64, %.2f ms float32\n", 1e3 * wide,
           1e3 * narrow);
    timing cnn = train(ctx, CNN, 1280, 3072, 10, 128, 2);
    printf("CNN, batches of 128, 1280 images:  %8.2f ms an epoch, %5.1f GFLOP/s, %.0f%% of sgemm\n",
           1e3 * cnn.seconds, cnn.rate, 100 * cnn.rate / sgemm);
    timing former = train(ctx, TRANSFORMER, 2560, 30, 0, 128, 2);
    printf("transformer, batches of 128, 2560: %8.2f ms an epoch, %5.1f GFLOP/s, %.0f%% of sgemm\n",
           1e3 * former.seconds, former.rate, 100 * former.rate / sgemm);
    double images = ntk_seconds(ctx, CNN, 512, 3072, FAR_F32, 2);
    printf("tangent kernel of the CNN, n = 512: %7.0f ms float32, ten outputs traced\n",
           1e3 * images);
    tracked wide_track = show_track(ctx, 100, 0), narrow_track = show_track(ctx, 50, 0);
    show_track(ctx, 100, 128);
    show_track(ctx, 50, 128);
    printf("{\"sgemm\": %.4g, \"full_ms\": %.4g, \"full_gflops\": %.4g, \"epoch_ms\": %.4g, "
           "\"ntk64_ms\": %.4g, \"ntk32_ms\": %.4g, \"cnn_ms\": %.4g, \"former_ms\": %.4g, "
           "\"cnn_ntk_ms\": %.4g, \"track100\": %.4g, \"track50\": %.4g}\n",
           sgemm, 1e3 * full.seconds, full.rate, 1e3 * mini.seconds, 1e3 * wide, 1e3 * narrow,
           1e3 * cnn.seconds, 1e3 * former.seconds, 1e3 * images, wide_track.row / wide_track.steps,
           narrow_track.row / narrow_track.steps);
    far_ctx_destroy(ctx);
    return 0;
}
