/*
 * test_montecarlo.c: finite random networks tend to the infinite-width kernels.
 *
 * Every network is drawn at three widths in the ntk parametrisation. Its K is that of the last
 * layer given the layers below, its NTK the exact inner product of the gradients of the scalar
 * output by backpropagation. What is asserted, with errors relative to sqrt(Theta(x,x) Theta(y,y)):
 *
 *   - the mean over the networks is the library's kernel within 4.5 standard errors plus BIAS /
 * width (a finite width shifts the mean by O(1/width));
 *   - the root mean square deviation of a network falls like width^(-1/2): by a factor of 2.8
 * to 5.7 from width 64 to 1024.
 *
 * The weights are a function of (seed, layer, index), and all architectures share them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mp_reference.h"
#include <farfield/farfield.h>

#define D 3
#define POINTS 3
#define PAIRS 6
#define MATRICES 2 /* square weight matrices a network may use */
#define MAX_WIDTH 1024
#define MAX_LAYERS 16
#define SEED 20260611u
#define SIGMAS 4.5
#define BIAS 5.0 /* measured at widths 32, 64, 128: up to 4.4, where a norm follows each relu */

static const double X[POINTS][D] = {{0.9, -0.3, 1.1}, {0.2, 0.8, -0.5}, {-0.4, -0.7, -1.3}};

static const struct {
    int width, nets;
} SIZES[] = {{64, 1200}, {256, 400}, {1024, 72}};
#define SIZE_COUNT 3

/* may_refuse: the network has no kernel, or none by a simple rule; FAR_ERR_ARCH is as good as the
 * right answer. Scales that an activation sees through a norm or a skip are not T + K + 1 there.
 * random_ntk: scales of the d input features do not average out, so that NTK stays random at any
 * width; the kernel is its mean, and only the mean is checked. */
static const struct {
    const char *text;
    int may_refuse, random_ntk;
} ARCHS[] = {
    {"dense relu dense relu dense", 0, 0},
    {"dense ln relu dense ln relu dense", 0, 0},
    {"dense relu ln dense relu ln dense", 0, 0},
    {"dense relu rms dense relu rms dense", 0, 0},
    {"dense ln(affine) relu dense ln(affine) relu dense", 0, 0},
    {"dense relu ln(affine) dense relu ln(affine) dense", 0, 0},
    {"dense ln(groups=2, affine) relu dense relu ln(groups=2) dense", 0, 0},
    {"dense relu skip(dense relu) ln dense", 0, 0},
    {"dense relu skip(dense relu) dense relu dense", 0, 0},
    {"dense ln(affine) skip(relu dense) dense", 0, 0},
    {"dense skip(ln(affine) relu dense) skip(ln relu dense) dense", 0, 0},
    {"dense batchnorm(eps=0.5, affine) relu dense relu dense", 0, 0},
    {"ln dense relu dense relu dense", 0, 0},
    {"dense rms(affine) gelu dense gelu(gain=1) ln dense", 0, 0},
    {"dense(w=1.5) tanh(gain=1.2) dense tanh(gain=1.2) dense", 0, 0},
    {"dense ln(affine) ln relu dense", 1, 0},
    {"dense ln(affine) batchnorm(eps=1) relu dense", 1, 0},
    {"dense ln(affine) skip(dense(w=0.3)) relu dense", 1, 0},
    {"ln(affine) dense relu dense", 0, 1},
};
#define ARCH_COUNT ((int)(sizeof ARCHS / sizeof *ARCHS))

/* ---- random weights -------------------------------------------------------------------------- */

static uint64_t mix(uint64_t z) /* splitmix64's finaliser */
{
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void normals(uint64_t seed, uint64_t stream, int64_t n, double *out)
{
    uint64_t key = mix(mix(seed) + stream);
    for (int64_t i = 0; i < n; i += 2) {
        double u = ((double)(mix(key + 2 * (uint64_t)i) >> 11) + 0.5) * 0x1p-53;
        double v = ((double)(mix(key + 2 * (uint64_t)i + 1) >> 11) + 0.5) * 0x1p-53;
        double r = sqrt(-2 * log(u));
        out[i] = r * cos(6.283185307179586 * v);
        if (i + 1 < n) {
            out[i + 1] = r * sin(6.283185307179586 * v);
        }
    }
}

/* The weights of one network: input to hidden, hidden to hidden, hidden to the output; biases. */
typedef struct weights {
    int width;
    double *input, *square[MATRICES], *output;
    double *bias[MATRICES + 2];
} weights;

static double *doubles(int64_t n)
{
    double *p = malloc((size_t)n * sizeof *p);
    assert_non_null(p);
    return p;
}

static weights weights_make(void)
{
    weights w = {.input = doubles((int64_t)MAX_WIDTH * D), .output = doubles(MAX_WIDTH)};
    for (int i = 0; i < MATRICES; i++) {
        w.square[i] = doubles((int64_t)MAX_WIDTH * MAX_WIDTH);
    }
    for (int i = 0; i < MATRICES + 2; i++) {
        w.bias[i] = doubles(MAX_WIDTH);
    }
    return w;
}

static void weights_free(weights *w)
{
    free(w->input);
    free(w->output);
    for (int i = 0; i < MATRICES; i++) {
        free(w->square[i]);
    }
    for (int i = 0; i < MATRICES + 2; i++) {
        free(w->bias[i]);
    }
}

static void weights_draw(weights *w, int width, int net)
{
    uint64_t seed = mix(SEED + (uint64_t)width) + (uint64_t)net;
    w->width = width;
    normals(seed, 0, (int64_t)width * D, w->input);
    normals(seed, 1, width, w->output);
    for (int i = 0; i < MATRICES; i++) {
        normals(seed, 2 + (uint64_t)i, (int64_t)width * width, w->square[i]);
    }
    for (int i = 0; i < MATRICES + 2; i++) {
        normals(seed, 10 + (uint64_t)i, width, w->bias[i]);
    }
}

/* ---- layers ---------------------------------------------------------------------------------- */

typedef double rows[POINTS][MAX_WIDTH]; /* one vector for each point */

static double dot(int n, const double *a, const double *b)
{
    double s[4] = {0, 0, 0, 0};
    int i = 0;
    for (; i + 4 <= n; i += 4) {
        for (int j = 0; j < 4; j++) {
            s[j] += a[i + j] * b[i + j];
        }
    }
    for (; i < n; i++) {
        s[0] += a[i] * b[i];
    }
    return s[0] + s[1] + s[2] + s[3];
}

/* What one layer keeps of the forward pass. */
typedef struct layer {
    const mp_op *op;
    int in, out; /* dimensions */
    const double *w, *bias;
    double scale, b;      /* dense: w / sqrt(fan_in) and the bias's standard deviation */
    rows x;               /* the input */
    rows y;               /* the output */
    double sd[POINTS][2]; /* norms: by group */
} layer;

static void dense_forward(layer *l)
{
    for (int j = 0; j < l->out; j++) {
        for (int p = 0; p < POINTS; p++) {
            double z = dot(l->in, l->w + (int64_t)j * l->in, l->x[p]);
            l->y[p][j] = l->scale * z + l->b * l->bias[j];
        }
    }
}

static void dense_backward(const layer *l, rows g)
{
    static rows h;
    memset(h, 0, sizeof h);
    for (int j = 0; j < l->out; j++) {
        const double *w = l->w + (int64_t)j * l->in;
        for (int p = 0; p < POINTS; p++) {
            double f = l->scale * g[p][j];
            for (int i = 0; i < l->in; i++) {
                h[p][i] += f * w[i];
            }
        }
    }
    memcpy(g, h, sizeof h);
}

static double slope_and_value(const mp_op *op, double z, double *slope)
{
    double a;
    switch (op->kind) {
    case MP_RELU:
        *slope = z > 0;
        return z > 0 ? z : 0;
    case MP_GELU:
        a = 0.5 * erfc(-z * 0.7071067811865476);
        *slope = a + z * 0.3989422804014327 * exp(-0.5 * z * z);
        return z * a;
    default:
        a = tanh(z);
        *slope = 1 - a * a;
        return a;
    }
}

static void act_forward(layer *l)
{
    double slope;
    for (int p = 0; p < POINTS; p++) {
        for (int i = 0; i < l->in; i++) {
            l->y[p][i] = l->op->gain * slope_and_value(l->op, l->x[p][i], &slope);
        }
    }
}

static void act_backward(const layer *l, rows g)
{
    double slope;
    for (int p = 0; p < POINTS; p++) {
        for (int i = 0; i < l->in; i++) {
            slope_and_value(l->op, l->x[p][i], &slope);
            g[p][i] *= l->op->gain * slope;
        }
    }
}

static void norm_group(const mp_op *op, int n, const double *x, double *y, double *sd)
{
    double mean = 0, square = 0;
    for (int i = 0; i < n; i++) {
        mean += op->kind == MP_LN ? x[i] / n : 0;
    }
    for (int i = 0; i < n; i++) {
        square += (x[i] - mean) * (x[i] - mean) / n;
    }
    *sd = sqrt(op->eps + (op->kind == MP_BATCHNORM ? 1 : square));
    for (int i = 0; i < n; i++) {
        y[i] = (x[i] - mean) / *sd;
    }
}

static void norm_group_backward(const mp_op *op, int n, const double *y, double sd, double *g)
{
    double mean = 0, along = 0;
    for (int i = 0; i < n; i++) {
        mean += op->kind == MP_LN ? g[i] / n : 0;
        along += op->kind == MP_BATCHNORM ? 0 : g[i] * y[i] / n;
    }
    for (int i = 0; i < n; i++) {
        g[i] = (g[i] - mean - y[i] * along) / sd;
    }
}

static void norm_forward(layer *l)
{
    int size = l->in / (int)l->op->groups;
    for (int p = 0; p < POINTS; p++) {
        for (int g = 0; g < l->op->groups; g++) {
            norm_group(l->op, size, l->x[p] + g * size, l->y[p] + g * size, &l->sd[p][g]);
        }
    }
}

static void norm_backward(const layer *l, rows g)
{
    int size = l->in / (int)l->op->groups;
    for (int p = 0; p < POINTS; p++) {
        for (int i = 0; i < l->op->groups; i++) {
            norm_group_backward(l->op, size, l->y[p] + i * size, l->sd[p][i], g[p] + i * size);
        }
    }
}

/* ---- one network ----------------------------------------------------------------------------- */

typedef struct sample {
    double k[PAIRS], t[PAIRS];
} sample;

/* Adds the parameters of layer l to the NTK; g is the gradient at its output. */
static void collect(const layer *l, rows g, sample *out)
{
    int at = 0;
    for (int p = 0; p < POINTS; p++) {
        for (int q = 0; q <= p; q++, at++) {
            double gg = dot(l->out, g[p], g[q]);
            if (l->op->kind == MP_DENSE) {
                double k = l->scale * l->scale * dot(l->in, l->x[p], l->x[q]) + l->b * l->b;
                out->t[at] += gg * k;
                out->k[at] = l->out == 1 ? k : out->k[at];
            } else if (l->op->affine) {
                out->t[at] += gg;
                for (int i = 0; i < l->in; i++) {
                    out->t[at] += g[p][i] * l->y[p][i] * g[q][i] * l->y[q][i];
                }
            }
        }
    }
}

static void set_dense(layer *l, const weights *w, int is_last, int *count)
{
    double std = isnan(l->op->w) ? 1 : l->op->w;
    l->scale = std / sqrt(l->in);
    l->b = isnan(l->op->b) ? 0.1 : l->op->b;
    l->out = is_last ? 1 : w->width;
    l->bias = w->bias[is_last ? MATRICES + 1 : *count];
    l->w = is_last ? w->output : *count == 0 ? w->input : w->square[*count - 1];
    assert_true(is_last || *count <= MATRICES);
    ++*count;
}

static void add_rows(int n, rows to, rows from)
{
    for (int p = 0; p < POINTS; p++) {
        for (int i = 0; i < n; i++) {
            to[p][i] += from[p][i];
        }
    }
}

static void forward(const mp_net *net, const weights *w, layer *ls)
{
    int open[8], depth = 0, dense_count = 0;
    for (int i = 0; i < net->count; i++) {
        layer *l = &ls[i];
        l->op = &net->op[i];
        l->in = l->out = i ? ls[i - 1].out : D;
        for (int p = 0; p < POINTS; p++) {
            memcpy(l->x[p], i ? ls[i - 1].y[p] : X[p], (size_t)l->in * sizeof(double));
        }
        if (l->op->kind == MP_DENSE) {
            set_dense(l, w, i == net->count - 1, &dense_count);
            dense_forward(l);
        } else if (l->op->kind == MP_SKIP_BEGIN || l->op->kind == MP_SKIP_END) {
            memcpy(l->y, l->x, sizeof l->y);
            if (l->op->kind == MP_SKIP_BEGIN) {
                open[depth++] = i;
            } else {
                add_rows(l->in, l->y, ls[open[--depth]].x);
            }
        } else if (l->op->kind >= MP_LN) {
            norm_forward(l);
        } else {
            act_forward(l);
        }
    }
}

static void backward(const mp_net *net, layer *ls, sample *out)
{
    static rows g, kept[8];
    int depth = 0;
    memset(out, 0, sizeof *out);
    for (int p = 0; p < POINTS; p++) {
        g[p][0] = 1;
    }
    for (int i = net->count - 1; i >= 0; i--) {
        const layer *l = &ls[i];
        collect(l, g, out);
        if (l->op->kind == MP_DENSE) {
            dense_backward(l, g);
        } else if (l->op->kind == MP_SKIP_END) {
            memcpy(kept[depth++], g, sizeof g);
        } else if (l->op->kind == MP_SKIP_BEGIN) {
            add_rows(l->in, g, kept[--depth]);
        } else if (l->op->kind >= MP_LN) {
            norm_backward(l, g);
        } else {
            act_backward(l, g);
        }
    }
}

/* ---- statistics ------------------------------------------------------------------------------ */

/* Sums over the networks of (value - kernel) / scale, and of its square. */
typedef struct tally {
    double sum[2][PAIRS], square[2][PAIRS]; /* 0: K, 1: NTK */
} tally;

typedef struct truth {
    double value[2][PAIRS], scale[2][PAIRS];
} truth;

static int refused(far_ctx *ctx, int arch)
{
    far_kernel *kernel = NULL;
    far_status st = far_kernel_create(ctx, ARCHS[arch].text, NULL, &kernel);
    far_kernel_destroy(kernel);
    if (st != FAR_ERR_ARCH || !ARCHS[arch].may_refuse) {
        return 0;
    }
    printf("refused, as it may be: %s\n", ARCHS[arch].text);
    return 1;
}

static truth truth_of(far_ctx *ctx, const char *arch)
{
    double x[POINTS * D], m[2][POINTS * POINTS];
    far_kernel *kernel = NULL;
    truth t;
    memcpy(x, X, sizeof x);
    far_mat in = far_mat_view(x, POINTS, D, FAR_F64);
    far_mat k = far_mat_view(m[0], POINTS, POINTS, FAR_F64);
    far_mat ntk = far_mat_view(m[1], POINTS, POINTS, FAR_F64);
    far_status st = far_kernel_create(ctx, arch, NULL, &kernel);
    if (!st) {
        st = far_kernel_eval(ctx, kernel, &in, NULL, FAR_FILL_FULL, &k, &ntk);
    }
    if (st) {
        fail_msg("%s: %s", arch, far_ctx_message(ctx));
    }
    far_kernel_destroy(kernel);
    for (int what = 0; what < 2; what++) {
        for (int p = 0, at = 0; p < POINTS; p++) {
            for (int q = 0; q <= p; q++, at++) {
                t.value[what][at] = m[what][p * POINTS + q];
                t.scale[what][at] = sqrt(m[what][p * (POINTS + 1)] * m[what][q * (POINTS + 1)]);
            }
        }
    }
    return t;
}

static void count_in(tally *y, const truth *t, const sample *s)
{
    for (int i = 0; i < PAIRS; i++) {
        double e[2] = {(s->k[i] - t->value[0][i]) / t->scale[0][i],
                       (s->t[i] - t->value[1][i]) / t->scale[1][i]};
        for (int what = 0; what < 2; what++) {
            y->sum[what][i] += e[what];
            y->square[what][i] += e[what] * e[what];
        }
    }
}

static double rms(const tally *y, int what, int nets)
{
    double s = 0;
    for (int i = 0; i < PAIRS; i++) {
        s += y->square[what][i];
    }
    return sqrt(s / PAIRS / nets);
}

/* The largest |mean - kernel| in units of what is allowed. */
static double worst_mean(const tally *y, int what, int size, double *mean_out)
{
    double worst = 0;
    int nets = SIZES[size].nets;
    for (int i = 0; i < PAIRS; i++) {
        double mean = y->sum[what][i] / nets;
        double var = (y->square[what][i] - nets * mean * mean) / (nets - 1);
        double allowed = SIGMAS * sqrt(var / nets) + BIAS / SIZES[size].width;
        if (fabs(mean) / allowed > worst) {
            worst = fabs(mean) / allowed;
            *mean_out = mean;
        }
    }
    return worst;
}

static int report(const char *arch, int what, int random, const tally y[SIZE_COUNT])
{
    int bad = 0;
    double r[SIZE_COUNT];
    printf("%-4s %s:", what ? "ntk" : "nngp", arch);
    for (int s = 0; s < SIZE_COUNT; s++) {
        double mean = 0, worst = worst_mean(&y[s], what, s, &mean);
        r[s] = rms(&y[s], what, SIZES[s].nets);
        printf("  n=%d rms %.4f mean %+.4f (%.2f of allowed)", SIZES[s].width, r[s], mean, worst);
        bad += !(worst <= 1);
    }
    double ratio = r[0] / r[SIZE_COUNT - 1];
    bad += !random && !(ratio >= 2.8 && ratio <= 5.7);
    printf("  ratio %.2f%s\n", ratio, bad ? "  <-- FAILS" : "");
    return bad;
}

/* One architecture: what it is, what the library says, what the networks say. */
typedef struct subject {
    const char *text;
    int random_ntk;
    mp_net net;
    truth truth;
    tally tally[SIZE_COUNT];
} subject;

static void subject_make(far_ctx *ctx, int arch, subject *s)
{
    const char *text = ARCHS[arch].text;
    memset(s, 0, sizeof *s);
    s->text = text;
    s->random_ntk = ARCHS[arch].random_ntk;
    assert_int_equal(mp_net_parse(text, &s->net), 0);
    assert_in_range(s->net.count, 1, MAX_LAYERS);
    for (int i = 0; i < s->net.count; i++) {
        s->net.op[i].gain = mp_op_gain(&s->net.op[i], 0);
    }
    s->truth = truth_of(ctx, text);
}

static void draw_networks(subject *subjects, int count)
{
    weights w = weights_make();
    layer *ls = malloc(MAX_LAYERS * sizeof *ls);
    sample one;
    assert_non_null(ls);
    for (int size = 0; size < SIZE_COUNT; size++) {
        for (int i = 0; i < SIZES[size].nets; i++) {
            weights_draw(&w, SIZES[size].width, i);
            for (int a = 0; a < count; a++) {
                forward(&subjects[a].net, &w, ls);
                backward(&subjects[a].net, ls, &one);
                count_in(&subjects[a].tally[size], &subjects[a].truth, &one);
            }
        }
    }
    free(ls);
    weights_free(&w);
}

static void finite_networks_tend_to_the_kernel(void **state)
{
    static subject subjects[ARCH_COUNT];
    far_ctx *ctx = NULL;
    int bad = 0, count = 0;
    (void)state;
    assert_int_equal(far_ctx_create(NULL, &ctx), FAR_OK);
    printf("seed %u; deviations relative to the kernel's diagonal\n", SEED);
    for (int a = 0; a < ARCH_COUNT; a++) {
        if (!refused(ctx, a)) {
            subject_make(ctx, a, &subjects[count++]);
        }
    }
    draw_networks(subjects, count);
    for (int a = 0; a < count; a++) {
        for (int what = 0; what < 2; what++) {
            int random = what == 1 && subjects[a].random_ntk;
            bad += report(subjects[a].text, what, random, subjects[a].tally);
        }
    }
    far_ctx_destroy(ctx);
    mp_release();
    assert_int_equal(bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(finite_networks_tend_to_the_kernel)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
