/*
 * How time grows with rows, inputs, depth and threads on this machine, measured and drawn.
 *
 *     bench_growth [--threads N] [--seconds S] [--rows N] [--memory BYTES] [--out FILE]
 *
 * Four panels in FILE (growth.svg; .png and .csv are known too): seconds of the Gram matrix, of an
 * exact fit and of one by conjugate gradients against rows (1000 to --rows, 200000); nanoseconds a
 * pair a thread against inputs, and against depth; Gram matrix and exact fit against threads (1 to
 * --threads, all). A curve ends where the next point would take longer than S seconds (60; exact
 * fits a quarter of that) or more than half of the memory that is available; conjugate gradients
 * get --memory bytes (3.5e9).
 */
#define _GNU_SOURCE
#include "restart.h"

#include <farfield/extras.h>
#include <farfield/farfield.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define NETWORK "dense ln relu dense relu dense"
#define INPUTS 9
#define RIDGE 0.03
#define MOST 24 /* points of a curve */
#define CURVES 3

typedef struct growth {
    far_ctx *ctx;
    int threads;
    int64_t rows;
    double seconds, memory;
    const char *out;
} growth;

typedef struct curve {
    const char *label;
    double x[MOST], y[MOST];
    int count;
} curve;

typedef struct panel {
    const char *title, *x_label, *y_label;
    far_scale x_scale, y_scale;
    curve curves[CURVES];
    int count;
} panel;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void need(far_status st, far_ctx *ctx)
{
    if (st != FAR_OK) {
        fprintf(stderr, "bench_growth: %s\n", far_ctx_message(ctx));
        exit(1);
    }
}

static void *room(size_t bytes)
{
    void *at = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!at) {
        fprintf(stderr, "bench_growth: out of memory (%.3g bytes)\n", (double)bytes);
        exit(1);
    }
    return at;
}

static far_ctx *context(int threads)
{
    far_ctx *ctx;
    far_ctx_opts opts = {.size = sizeof opts, .threads = threads};
    if (far_ctx_create(&opts, &ctx) != FAR_OK) {
        fprintf(stderr, "bench_growth: no context with %d threads\n", threads);
        exit(1);
    }
    return ctx;
}

static double uniform(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return ((double)((x ^ (x >> 31)) >> 11) + 0.5) * 0x1p-53;
}

static void normal_values(double *x, int64_t count)
{
    uint64_t state = 1;
    for (int64_t i = 0; i < count; i++) {
        double u = uniform(&state), v = uniform(&state);
        x[i] = sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
    }
}

/* ---- what is measured ------------------------------------------------------------------------ */

/* Seconds of a lower triangle: the least of some runs, of one if that is long. */
static double time_gram(far_ctx *ctx, const char *arch, int64_t n, int64_t d)
{
    far_kernel *k;
    double best = INFINITY, *x = room((size_t)(n * d) * sizeof *x);
    double *out = room((size_t)(n * n) * sizeof *out);
    far_mat points = far_mat_view(x, n, d, FAR_F64), matrix = far_mat_view(out, n, n, FAR_F64);
    normal_values(x, n * d);
    memset(out, 0, (size_t)(n * n) * sizeof *out); /* pages are the system's work, not ours */
    need(far_kernel_create(ctx, arch, NULL, &k), ctx);
    for (int run = 0; run < 5 && (run == 0 || best < 2); run++) {
        double start = now();
        need(far_kernel_eval(ctx, k, &points, NULL, FAR_FILL_LOWER, NULL, &matrix), ctx);
        best = fmin(best, now() - start);
    }
    far_kernel_destroy(k);
    free(x);
    free(out);
    return best;
}

static far_frame *table_of(far_ctx *ctx, int64_t n)
{
    static const char *const NAMES[] = {"x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "y"};
    far_frame *table;
    double *v = room((size_t)(n * (INPUTS + 1)) * sizeof *v);
    normal_values(v, n * (INPUTS + 1));
    for (int64_t i = 0; i < n; i++) {
        double *x = v + i * (INPUTS + 1);
        x[9] = sin(2 * x[0]) + x[1] * x[2] + fabs(x[3]) / 2 + cos(x[4] * x[5]) + 0.3 * x[9];
    }
    far_mat m = far_mat_view(v, n, INPUTS + 1, FAR_F64);
    need(far_frame_from_mat(ctx, &m, NAMES, &table), ctx);
    free(v);
    return table;
}

static double time_fit(far_ctx *ctx, int64_t n, far_method method, double memory)
{
    far_fit_opts opts;
    far_predictor *model;
    far_frame *table = table_of(ctx, n);
    far_fit_opts_init(&opts);
    opts.target = "y";
    opts.arch = NETWORK;
    opts.metric = FAR_METRIC_NONE;
    opts.ridge = RIDGE;
    opts.method = method;
    opts.memory = memory;
    double start = now();
    need(far_predictor_fit(ctx, table, &opts, &model), ctx);
    double took = now() - start;
    const far_model_info *info = far_predictor_model(model);
    if (method == FAR_METHOD_CG) {
        printf("    %lld iterations, residual %.1e, RMSE of %lld rows held out %.5f (noise 0.3)\n",
               (long long)info->iterations, info->residual, (long long)info->held_out,
               info->loo_rmse);
    }
    far_predictor_destroy(model);
    far_frame_destroy(table);
    return took;
}

/* ---- curves ---------------------------------------------------------------------------------- */

static curve *begin(panel *p, const char *label)
{
    curve *c = &p->curves[p->count++];
    *c = (curve){.label = label};
    return c;
}

static void add(curve *c, double x, double y)
{
    printf("  %-34s %10g %12.4g\n", c->label, x, y);
    fflush(stdout);
    c->x[c->count] = x;
    c->y[c->count++] = y;
}

/* Would n rows, at this power of n, take longer than that? */
static bool too_long(const curve *c, double n, double power, double seconds)
{
    if (c->count == 0) {
        return false;
    }
    double last = c->x[c->count - 1], took = c->y[c->count - 1];
    return took * pow(n / last, power) > seconds;
}

static bool too_large(double bytes)
{
    return bytes > 0.5 * (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
}

static const int64_t ROWS[] = {1000,  2000,  4000,  8000,  16000,  24000,
                               32000, 48000, 64000, 96000, 128000, 200000};
#define ROW_COUNT ((int)(sizeof ROWS / sizeof *ROWS))

/* First of all, so that the peak of memory is theirs. */
static void by_gradients(const growth *g, curve *c)
{
    struct rusage used;
    for (int i = 2; i < ROW_COUNT && ROWS[i] <= g->rows; i++) {
        if (too_long(c, (double)ROWS[i], 2, g->seconds)) {
            break;
        }
        add(c, (double)ROWS[i], time_fit(g->ctx, ROWS[i], FAR_METHOD_CG, g->memory));
        getrusage(RUSAGE_SELF, &used);
        printf("    peak of memory %.2f GiB\n", (double)used.ru_maxrss / (1 << 20));
    }
}

static void exactly(const growth *g, curve *c)
{
    for (int i = 0; i < ROW_COUNT && ROWS[i] <= g->rows; i++) {
        double n = (double)ROWS[i];
        if (too_long(c, n, 3, g->seconds / 4) || too_large(8 * n * n)) {
            break;
        }
        add(c, n, time_fit(g->ctx, ROWS[i], FAR_METHOD_EXACT, 0));
    }
}

static void against_rows(const growth *g, panel *p)
{
    curve *gram = begin(p, "Gram matrix, lower triangle"), *exact = begin(p, "exact fit");
    by_gradients(g, begin(p, "fit by conjugate gradients"));
    exactly(g, exact);
    for (int i = 0; i < ROW_COUNT && ROWS[i] <= g->rows; i++) {
        double n = (double)ROWS[i];
        if (too_long(gram, n, 2, g->seconds) || too_large(8 * n * n)) {
            break;
        }
        add(gram, n, time_gram(g->ctx, NETWORK, ROWS[i], INPUTS));
    }
}

static double pair_ns(const growth *g, const char *arch, int64_t n, int64_t d)
{
    double pairs = 0.5 * (double)n * (double)(n + 1);
    return 1e9 * time_gram(g->ctx, arch, n, d) * g->threads / pairs;
}

static void against_inputs(const growth *g, panel *p)
{
    curve *norm = begin(p, NETWORK);
    for (int64_t d = 1; d <= 1024; d *= 2) {
        add(norm, (double)d, pair_ns(g, NETWORK, 3000, d));
    }
    curve *plain = begin(p, "dense relu dense relu dense");
    for (int64_t d = 1; d <= 1024; d *= 2) {
        add(plain, (double)d, pair_ns(g, plain->label, 3000, d));
    }
}

static void against_depth(const growth *g, panel *p)
{
    static const int DEPTHS[] = {1, 2, 3, 5, 7, 10, 15, 20};
    static const char *const LAYERS[] = {"dense ln relu", "dense relu"};
    static const char *const LABELS[] = {"[dense ln relu]xL dense", "[dense relu]xL dense"};
    for (int which = 0; which < 2; which++) {
        curve *c = begin(p, LABELS[which]);
        for (size_t i = 0; i < sizeof DEPTHS / sizeof *DEPTHS; i++) {
            char arch[64];
            snprintf(arch, sizeof arch, "[%s]x%d dense", LAYERS[which], DEPTHS[i]);
            add(c, DEPTHS[i], pair_ns(g, arch, 3000, INPUTS));
        }
    }
}

/* Powers of two, and all. */
static int next_threads(const growth *g, int threads)
{
    return threads < g->threads && 2 * threads > g->threads ? g->threads : 2 * threads;
}

static void against_threads(const growth *g, panel *p)
{
    curve *gram = begin(p, "Gram matrix, n = 8000"), *exact = begin(p, "exact fit, n = 8000");
    for (int threads = 1; threads <= g->threads; threads = next_threads(g, threads)) {
        far_ctx *ctx = context(threads);
        add(gram, threads, time_gram(ctx, NETWORK, 8000, INPUTS));
        add(exact, threads, time_fit(ctx, 8000, FAR_METHOD_EXACT, 0));
        far_ctx_destroy(ctx);
    }
}

/* ---- drawing --------------------------------------------------------------------------------- */

static far_figure *draw_panel(far_ctx *ctx, const panel *p)
{
    far_figure *figure;
    far_figure_opts opts;
    far_figure_opts_init(&opts);
    opts.title = p->title;
    opts.x_label = p->x_label;
    opts.y_label = p->y_label;
    opts.x_scale = p->x_scale;
    opts.y_scale = p->y_scale;
    need(far_figure_create(ctx, &opts, &figure), ctx);
    for (int i = 0; i < p->count; i++) {
        const curve *c = &p->curves[i];
        far_mark_opts mark;
        far_mark_opts_init(&mark);
        mark.label = c->label;
        need(far_figure_line(ctx, figure, c->x, c->y, c->count, &mark), ctx);
        mark.label = NULL;
        mark.colour = FAR_COLOUR_SAME;
        mark.width = 5;
        need(far_figure_points(ctx, figure, c->x, c->y, c->count, &mark), ctx);
    }
    return figure;
}

static void draw(const growth *g, const panel *panels)
{
    char note[160];
    far_figure *parts[4], *grid;
    far_grid_opts opts;
    far_grid_opts_init(&opts);
    snprintf(note, sizeof note,
             "%d threads, %s; %d inputs, ridge %g. bench/bench_growth draws this.", g->threads,
             far_kernel_isa(), INPUTS, RIDGE);
    opts.width = 960;
    opts.height = 760;
    opts.shared_legend = 0;
    opts.note = note;
    opts.description = "Time against rows, inputs, depth and threads";
    for (int i = 0; i < 4; i++) {
        parts[i] = draw_panel(g->ctx, &panels[i]);
    }
    need(far_figure_grid(g->ctx, parts, 2, 2, &opts, &grid), g->ctx);
    need(far_figure_save(g->ctx, grid, g->out), g->ctx);
    far_figure_destroy(grid);
    for (int i = 0; i < 4; i++) {
        far_figure_destroy(parts[i]);
    }
}

static void run(const growth *g)
{
    static panel panels[] = {
        {.title = "rows", .x_label = "rows", .y_label = "seconds", FAR_SCALE_LOG, FAR_SCALE_LOG},
        {.title = "inputs",
         .x_label = "inputs",
         .y_label = "ns a pair a thread",
         FAR_SCALE_LOG,
         FAR_SCALE_LOG},
        {.title = "depth", .x_label = "L", .y_label = "ns a pair a thread"},
        {.title = "threads",
         .x_label = "threads",
         .y_label = "seconds",
         FAR_SCALE_LOG,
         FAR_SCALE_LOG}};
    static void (*const measure[])(const growth *, panel *) = {against_rows, against_inputs,
                                                               against_depth, against_threads};
    for (int i = 0; i < 4; i++) {
        printf("against %s\n", panels[i].title);
        measure[i](g, &panels[i]);
    }
    draw(g, panels);
    printf("written: %s\n", g->out);
}

static double positive(const char *option, const char *text)
{
    char *end = NULL;
    double value = text ? strtod(text, &end) : 0;
    if (!text || *end || !(value > 0)) {
        fprintf(stderr, "bench_growth: %s needs a number above 0, not '%s'\n", option,
                text ? text : "");
        exit(2);
    }
    return value;
}

int main(int argc, char **argv)
{
    start_again(argv);
    growth g = {.rows = 200000, .seconds = 60, .memory = 3.5e9, .out = "growth.svg"};
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--out") == 0 && value) {
            g.out = value;
        } else if (strcmp(argv[i], "--threads") == 0) {
            g.threads = (int)positive(argv[i], value);
        } else if (strcmp(argv[i], "--seconds") == 0) {
            g.seconds = positive(argv[i], value);
        } else if (strcmp(argv[i], "--rows") == 0) {
            g.rows = (int64_t)positive(argv[i], value);
        } else if (strcmp(argv[i], "--memory") == 0) {
            g.memory = positive(argv[i], value);
        } else {
            fprintf(stderr, "bench_growth [--threads N] [--seconds S] [--rows N] [--memory BYTES] "
                            "[--out FILE]\n");
            return 2;
        }
    }
    g.ctx = context(g.threads);
    g.threads = far_ctx_threads(g.ctx);
    run(&g);
    far_ctx_destroy(g.ctx);
    return 0;
}
