/* Bytes choose an architecture, points and the way of asking. Whatever comes: a kernel is refused
 * in words, or its matrix is finite, symmetric, within Cauchy-Schwarz, positive semidefinite up to
 * rounding, and the same on every instruction set. */
#include <farfield/farfield.h>

#include "draw_net.h"

#include <math.h>
#include <stdint.h>

#define N_MOST 190  /* curves stand for layers from 182 points on */
#define D_MOST 30   /* 5 times the groups of a norm, 6 at most */
#define PSD 1e-12   /* of the trace of the correlations */
#define AGREE 1e-11 /* of the diagonal: two errors of documented size, and some slack */
#define STEEP 1e-15 /* times Theta / K, about what an error in a cosine is multiplied by */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct feed {
    const uint8_t *at, *end;
} feed;

static int below(void *source, int limit)
{
    feed *f = source;
    return f->at < f->end ? *f->at++ % limit : 0;
}

typedef struct trial {
    drawn_net net;
    far_kernel *k;
    int n, d;
    bool float32;
    bool positive;  /* no feature is negative */
    double steep;   /* STEEP times the largest Theta / K */
    double largest; /* feature */
    double x[N_MOST * D_MOST];
    double gram[2][N_MOST * N_MOST];
} trial;

#ifdef MEMORY_ONLY /* MemorySanitizer: clang rounds otherwise; what was never written is what      \
                      counts */
#define NUMBERS_COUNT false
#else
#define NUMBERS_COUNT true
#endif

static void require(const trial *t, bool holds, const char *what, int i, int j)
{
    if (!holds && NUMBERS_COUNT) {
        fprintf(stderr,
                "fuzz_kernel: not so: %s, at (%d, %d) of %d points in %d dimensions\n%s:%s\n", what,
                i, j, t->n, t->d, t->net.standard ? "standard" : "ntk", t->net.text);
        for (int r = 0; r < t->n; r++) {
            for (int c = 0; c < t->d && (r == i || r == j); c++) {
                fprintf(stderr, "%s%.17g", c ? "," : "", t->x[r * t->d + c]);
            }
            fprintf(stderr, r == i || r == j ? "\n" : "");
        }
        abort();
    }
}

/* ---- points ---- */

static double value(feed *f, int i)
{
    static const double values[] = {1, 0, -1, 0.5, 2, 1e-3, -3, 30, 0.1, -0.7, 1e-8, 1e8};
    int which = below(f, 24);
    if (f->at == f->end || which >= (int)(sizeof values / sizeof *values)) { /* scattered */
        return fmod(0.6180339887498949 * (i + 1) * (which + 1), 2) - 1;
    }
    return values[which];
}

/* A row of its own, or one that lies close to, opposite or along an earlier one. */
static void fill_row(feed *f, trial *t, int i)
{
    static const double factors[] = {1, -1,  2,   0.3,  1, -1,    7,      1,
                                     1, 0.5, -30, 1e-3, 1, 1e200, 1e-200, -1e100};
    static const double distances[] = {0, 1e-15, 1e-8, 1e-4, 1e-12};
    int kind = i == 0 ? 0 : below(f, 3);
    double *row = t->x + i * t->d;
    const double *from = t->x + (kind ? below(f, i) : 0) * t->d;
    double by = factors[kind ? below(f, 16) : 0], apart = distances[kind ? below(f, 5) : 0];
    for (int j = 0; j < t->d; j++) {
        row[j] = kind ? from[j] * by * (1 + apart * (j + 1)) : value(f, i * t->d + j);
        row[j] = fabs(row[j]) < 1e250 ? row[j] : 1;
        row[j] = t->positive ? fabs(row[j]) : row[j];
        row[j] = t->float32 ? (float)row[j] : row[j];
        row[j] = isfinite(row[j]) ? row[j] : 1;
    }
}

static void draw_points(feed *f, trial *t)
{
    static const int counts[] = {7, 3, 17, 2, 5, 1, 33, N_MOST};
    t->n = counts[below(f, 8)];
    t->d = (1 + below(f, 5)) * t->net.groups;
    t->float32 = below(f, 8) == 7;
    t->positive = below(f, 3) == 2;
    for (int i = 0; i < t->n; i++) {
        fill_row(f, t, i);
    }
}

/* ---- asking ---- */

static far_ctx *context(void)
{
    static far_ctx *ctx;
    if (!ctx) {
        far_ctx_opts opts;
        opts = (far_ctx_opts){.size = sizeof opts};
        opts.threads = 1;
        if (far_ctx_create(&opts, &ctx) != FAR_OK) {
            abort();
        }
    }
    return ctx;
}

static far_status evaluate(trial *t, double out[2][N_MOST * N_MOST])
{
    static float x32[N_MOST * D_MOST], out32[2][N_MOST * N_MOST];
    far_dtype type = t->float32 ? FAR_F32 : FAR_F64;
    for (int at = 0; t->float32 && at < t->n * t->d; at++) {
        x32[at] = (float)t->x[at];
    }
    far_mat x = far_mat_view(t->float32 ? (void *)x32 : t->x, t->n, t->d, type);
    far_mat k = far_mat_view(t->float32 ? (void *)out32[0] : out[0], t->n, t->n, type);
    far_mat th = far_mat_view(t->float32 ? (void *)out32[1] : out[1], t->n, t->n, type);
    far_status st = far_kernel_eval(context(), t->k, &x, NULL, FAR_FILL_FULL, &k, &th);
    for (int at = 0; t->float32 && st == FAR_OK && at < 2 * t->n * t->n; at++) {
        out[at % 2][at / 2] = out32[at % 2][at / 2];
    }
    return st;
}

/* ---- what must hold ---- */

static double scale_of(const trial *t, int what, int i, int j)
{
    return sqrt(t->gram[what][i * t->n + i]) * sqrt(t->gram[what][j * t->n + j]);
}

static void check_entries(const trial *t, int what)
{
    double slack = t->float32 ? 1e-4 : 1e-12 + t->steep;
    for (int at = 0; at < t->n * t->n; at++) {
        int i = at / t->n, j = at % t->n;
        double v = t->gram[what][at], mirror = t->gram[what][j * t->n + i];
        require(t, isfinite(v), what ? "Theta is finite" : "K is finite", i, j);
        require(t, v == mirror, "the matrix is symmetric", i, j);
        require(t, i != j || v >= 0, "the diagonal is not negative", i, j);
        require(t, fabs(v) <= scale_of(t, what, i, j) * (1 + slack) + 0x1p-1060,
                what ? "|Theta| <= sqrt(Theta Theta)" : "|K| <= sqrt(K K)", i, j);
    }
}

static void measure(trial *t)
{
    t->steep = t->largest = 0;
    for (int i = 0; i < t->n; i++) {
        double k = t->gram[0][i * t->n + i], theta = t->gram[1][i * t->n + i];
        t->steep = fmax(t->steep, k > 0 ? STEEP * theta / k : 0);
    }
    for (int at = 0; at < t->n * t->d; at++) {
        t->largest = fmax(t->largest, fabs(t->x[at]));
    }
}

/* Cholesky of the correlations plus a shift. */
static void check_positive(const trial *t, int what)
{
    static double a[N_MOST * N_MOST];
    int n = t->n;
    double shift = (PSD + t->steep) * n;
    for (int at = 0; at < n * n; at++) {
        double scale = scale_of(t, what, at / n, at % n);
        a[at] = scale > 1e-290 ? t->gram[what][at] / scale : at / n == at % n;
    }
    for (int j = 0; j < n; j++) {
        double pivot = a[j * n + j] + shift;
        for (int k = 0; k < j; k++) {
            pivot -= a[j * n + k] * a[j * n + k];
        }
        require(t, pivot > 0, what ? "Theta is semidefinite" : "K is semidefinite", j, j);
        a[j * n + j] = sqrt(pivot);
        for (int i = j + 1; i < n; i++) {
            for (int k = 0; k < j; k++) {
                a[i * n + j] -= a[i * n + k] * a[j * n + k];
            }
            a[i * n + j] /= a[j * n + j];
        }
    }
}

static void compare(const trial *t, double other[2][N_MOST * N_MOST])
{
    double agree = (t->float32 ? 1e-3 : AGREE) + t->steep * (t->float32 ? 1e8 : 1);
    bool steps = strstr(t->net.text, "erf") || strstr(t->net.text, "tanh");
    int compared = steps && t->largest > 1e4 ? 1 : 2; /* Theta of steps far out is less accurate */
    for (int at = 0; at < 2 * t->n * t->n; at++) {
        int what = at % 2, i = at / 2 / t->n, j = at / 2 % t->n;
        if (what >= compared) {
            continue;
        }
        double apart = fabs(other[what][at / 2] - t->gram[what][at / 2]);
        require(t, apart <= agree * scale_of(t, what, i, j) + 0x1p-1060,
                what ? "instruction sets agree on Theta" : "instruction sets agree on K", i, j);
    }
}

static void check(trial *t)
{
    static const char *const lower[] = {"avx2", "baseline"};
    static double other[2][N_MOST * N_MOST];
    unsetenv("FARFIELD_ISA");
    far_status st = evaluate(t, t->gram);
    require(t, st == FAR_OK || far_ctx_message(context())[0], "a refusal says why", 0, 0);
    if (st == FAR_OK) {
        measure(t);
    }
    for (int what = 0; what < 2 && st == FAR_OK; what++) {
        check_entries(t, what);
        if (!t->float32) {
            check_positive(t, what);
        }
    }
    bool mixtures = strstr(t->net.text, "tanh") || strstr(t->net.text, "silu");
    for (int i = 0; i < (mixtures && t->n == N_MOST ? 1 : 2); i++) { /* they take long */
        setenv("FARFIELD_ISA", lower[i], 1);
        require(t, evaluate(t, other) == st, "instruction sets agree on the status", 0, 0);
        if (st == FAR_OK) {
            compare(t, other);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static trial t;
    feed f = {data, data + size};
    far_kernel_opts opts;
    memset(&t, 0, sizeof t);
    net_draw(&t.net, (chooser){below, &f, .cheap = below(&f, 32) != 31});
    opts = (far_kernel_opts){.size = sizeof opts};
    opts.param = t.net.standard ? FAR_PARAM_STANDARD : FAR_PARAM_NTK;
    far_status st = far_kernel_create(context(), t.net.text, &opts, &t.k);
    if (st == FAR_OK) {
        draw_points(&f, &t);
        check(&t);
    } else {
        require(&t, st == FAR_ERR_ARCH, "what is drawn parses", 0, 0);
    }
    far_kernel_destroy(t.k);
    return 0;
}
