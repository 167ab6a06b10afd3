/*
 * test_gradient.c: gradients of kernels against arbitrary precision, for networks drawn from the
 * whole language and points that are near, far, opposite, equal and zero.
 *
 *     test_gradient [CASES [SEED]]      cases 0 .. CASES - 1 of a seed
 *     test_gradient CASE@SEED           that case alone, with every pair
 *
 * With the identity for weights far_kernel_gradient gives the gradient of every pair. The reference
 * is a difference of two values in MPFR, at a step so small that it is the derivative to twenty
 * digits. Errors are relative to the pair's gradient, or to a hundredth of what gradients of this
 * network may be where that is larger: the root of V(x, x) V(x', x') over |x|, times how steep it
 * is.
 */
#include <farfield/farfield.h>

#include "chance.h"
#include "draw_net.h"
#include "gram/gram.h"
#include "mp_reference.h"

#include <math.h>
#include <stdint.h>

#define CASES_DEFAULT 16
#define SEED_DEFAULT 5
#define SLOW_EVERY 16 /* the reference of tanh, silu and relu(p) takes seconds a case */
#define D_MOST 12
#define ROWS 4
#define COLS 9
#define ALLOWED 1e-10
#define ALLOWED_NEAR 1e-9 /* of pairs at a distance of 1e-5 |x| from a tip */

static uint64_t state;

static int below(void *source, int limit)
{
    (void)source;
    return (int)(roll(&state) % (uint64_t)limit);
}

static double uniform(void)
{
    return 2 * roll_unit(&state) - 1;
}

typedef struct one_case {
    uint64_t seed;
    long number;
    drawn_net net;
    mp_net mp;
    far_kernel *kernel;
    int d;
    double a[ROWS * D_MOST], b[COLS * D_MOST];
    double got[2][ROWS * COLS * D_MOST];
    bool slow;      /* quadrature in the reference */
    bool extreme;   /* scales that take many bits */
    bool free_zero; /* zeros stay zero: no gradient there */
    bool waves;     /* sin of the raw input: nobody knows it at 1e150 */
    bool sharp;     /* relu(p < 1): no difference of two values is the mean of all sides */
    double steep;
} one_case;

static far_ctx *ctx;
static double worst[2][2]; /* K, Theta; other pairs, near ones */
static char where[2][2][2304];
static long compared, refused, without, failed;

/* ---- a case ---- */

static void draw_points(one_case *c)
{
    static const double scales[] = {1, 1, 1, 30, 0.01, 1e6, 1e150, 1e-120};
    /* b_k from a_0: equal, near at three distances, opposite, nearly so, on the same ray, zero,
     * elsewhere */
    static const double factor[COLS] = {1, 1, 1, 1, -1, -1, 0.5, 0, 0};
    static const double apart[COLS] = {0, 1e-3, 1e-5, 1e-1, 0, 1e-3, 0, 0, 1};
    int most = c->slow || c->waves ? 4 : 8;
    double size = scales[below(NULL, most)];
    c->d = c->net.groups * (1 + below(NULL, 3)) + (c->net.groups == 1 ? below(NULL, 3) : 0);
    for (int i = 0; i < ROWS; i++) {
        double own = i == 2 ? scales[below(NULL, most)] : size;
        c->extreme |= own > 100 || own < 1e-3;
        for (int j = 0; j < c->d; j++) {
            c->a[i * c->d + j] = i == 3 && c->number % 3 == 0 ? 0 : own * uniform();
        }
    }
    for (int k = 0; k < COLS; k++) {
        for (int j = 0; j < c->d; j++) {
            c->b[k * c->d + j] = factor[k] * c->a[j] + apart[k] * size * uniform();
        }
    }
}

static bool keeps_zero(const mp_net *net)
{
    int i = 0;
    while (net->op[i].kind != MP_DENSE) {
        i++;
    }
    return net->op[i].no_bias || net->op[i].b == 0;
}

static bool open_case(one_case *c)
{
    far_kernel_opts opts = {.size = sizeof opts,
                            .param = c->net.standard ? FAR_PARAM_STANDARD : FAR_PARAM_NTK};
    c->slow = c->sharp = c->waves = false;
    if (far_kernel_create(ctx, c->net.text, &opts, &c->kernel) != FAR_OK ||
        mp_net_parse(c->net.text, &c->mp) != 0) {
        return false;
    }
    for (int i = 0; i < c->mp.count; i++) {
        const mp_op *op = &c->mp.op[i];
        c->slow |= (op->kind == MP_RELU && op->arg != floor(op->arg)) || op->kind == MP_SILU ||
                   op->kind == MP_TANH;
        c->sharp |= op->kind == MP_RELU && op->arg < 1;
    }
    c->free_zero = keeps_zero(&c->mp);
    for (int i = 0; c->mp.op[i].kind != MP_DENSE; i++) {
        c->waves |= c->mp.op[i].kind == MP_SIN;
    }
    return c->slow == (c->number % SLOW_EVERY == SLOW_EVERY - 1);
}

static void draw_case(one_case *c, uint64_t seed, long number)
{
    *c = (one_case){.seed = seed, .number = number};
    state = mix(seed) ^ mix((uint64_t)number * 77 + 5);
    do {
        far_kernel_destroy(c->kernel);
        c->kernel = NULL;
        net_draw(&c->net, (chooser){.below = below});
    } while (!open_case(c));
    draw_points(c);
    c->steep = fmax(1, mp_net_steepness(&c->mp, c->net.standard, c->d, c->a));
}

static bool ask(one_case *c)
{
    double identity[COLS * COLS] = {0};
    for (int k = 0; k < COLS; k++) {
        identity[k * COLS + k] = 1;
    }
    far_mat a = far_mat_view(c->a, ROWS, c->d, FAR_F64);
    far_mat b = far_mat_view(c->b, COLS, c->d, FAR_F64);
    far_mat w = far_mat_view(identity, COLS, COLS, FAR_F64);
    far_status st = FAR_OK;
    for (int what = 0; what < 2 && st == FAR_OK; what++) {
        far_mat out = far_mat_view(c->got[what], ROWS, COLS * c->d, FAR_F64);
        far_kernel_kind kind = what ? FAR_KERNEL_NTK : FAR_KERNEL_NNGP;
        st = far_kernel_gradient(ctx, c->kernel, kind, &a, &b, &w, &out);
    }
    if (st != FAR_OK && st != FAR_ERR_RANGE) {
        printf("case %ld: %s\n", c->number, far_ctx_message(ctx));
        failed++;
    }
    return st == FAR_OK;
}

/* ---- comparing ---- */

static double length(const double *v, int d)
{
    double most = 0, sum = 0;
    for (int j = 0; j < d; j++) {
        most = fmax(most, fabs(v[j]));
    }
    for (int j = 0; j < d && most > 0; j++) {
        sum += (v[j] / most) * (v[j] / most);
    }
    return most * sqrt(sum);
}

/* Over what length x moves: its own; for x = 0 that of y, or that of biases. */
static double reach(const one_case *c, const double *x, const double *y)
{
    double own = length(x, c->d), other = length(y, c->d);
    return own > 0 ? own : other > 0 ? fmin(other, 1) : 1;
}

/* steepness sqrt(V(x, x) V(y, y)) / |x| */
static double natural(one_case *c, int what, const double *x, const double *y, long bits)
{
    mpfr_t v[2][2];
    double size = 0;
    mpfr_inits2(bits, v[0][0], v[0][1], v[1][0], v[1][1], (mpfr_ptr)NULL);
    if (!mp_net_eval(&c->mp, c->net.standard, bits, c->d, x, x, v[0][0], v[0][1]) &&
        !mp_net_eval(&c->mp, c->net.standard, bits, c->d, y, y, v[1][0], v[1][1])) {
        mpfr_mul(v[0][what], v[0][what], v[1][what], MPFR_RNDN);
        mpfr_sqrt(v[0][what], v[0][what], MPFR_RNDN);
        size = c->steep * mpfr_get_d(v[0][what], MPFR_RNDN) / reach(c, x, y);
    }
    mpfr_clears(v[0][0], v[0][1], v[1][0], v[1][1], (mpfr_ptr)NULL);
    return size;
}

static const char *reference(one_case *c, const double *x, const double *y, long bits,
                             double want[2][D_MOST])
{
    double step = reach(c, x, y) * (c->extreme ? 0x1p-300 : c->slow ? 0x1p-60 : 0x1p-80);
    mpfr_t v[2];
    const char *error = NULL;
    mpfr_inits2(bits, v[0], v[1], (mpfr_ptr)NULL);
    for (int j = 0; j < c->d && !error; j++) {
        error = mp_net_slope(&c->mp, c->net.standard, bits, c->d, x, y, j, step, v[0], v[1]);
        want[0][j] = mpfr_get_d(v[0], MPFR_RNDN);
        want[1][j] = mpfr_get_d(v[1], MPFR_RNDN);
    }
    mpfr_clears(v[0], v[1], (mpfr_ptr)NULL);
    return error;
}

/* Column 2 lies 1e-5 |x| from row 0; far out a bias is as little beside equal and opposite
 * directions. */
static bool is_near(const one_case *c, int i, int k)
{
    return i == 0 && (k == 2 || (c->extreme && (k == 0 || k == 4 || k == 6)));
}

static void judge(one_case *c, int what, int i, int k, double error)
{
    bool near = is_near(c, i, k);
    char *place = where[what][near];
    compared++;
    if (!(error <= worst[what][near])) {
        worst[what][near] = error;
        snprintf(place, sizeof where[0][0], "case %ld@%llu a%d b%d d=%d:%s", c->number,
                 (unsigned long long)c->seed, i, k, c->d, c->net.text);
    }
    if (!(error < (near ? ALLOWED_NEAR : ALLOWED))) {
        printf("case %ld@%llu %s a%d b%d d=%d %s: off by %.2e:%s\n", c->number,
               (unsigned long long)c->seed, what ? "Theta" : "K", i, k, c->d,
               c->net.standard ? "standard" : "ntk", error, c->net.text);
        failed++;
    }
}

static void compare_pair(one_case *c, int i, int k, bool verbose)
{
    const double *x = c->a + i * c->d, *y = c->b + k * c->d;
    long bits = c->extreme ? MP_BITS : MP_BITS_LOW;
    double want[2][D_MOST];
    bool zero = length(x, c->d) == 0 || length(y, c->d) == 0;
    if ((zero && (c->free_zero || c->net.on_input)) || (c->sharp && i == 0 && (k == 0 || k == 6))) {
        return; /* what 0/0 is there is a matter of convention */
    }
    if (reference(c, x, y, bits, want)) {
        without++;
        return;
    }
    for (int what = 0; what < 2; what++) {
        double scale = fmax(length(want[what], c->d), 0.01 * natural(c, what, x, y, bits));
        double miss = 0;
        for (int j = 0; j < c->d; j++) {
            double got = c->got[what][i * COLS * c->d + k * c->d + j];
            miss = fmax(miss, fabs(got - want[what][j]));
            if (verbose) {
                printf("  %s a%d b%d axis %d: got %.17g want %.17g (scale %g)\n",
                       what ? "Theta" : "K", i, k, j, got, want[what][j], scale);
            }
        }
        judge(c, what, i, k, miss > 0 ? miss / scale : 0);
    }
}

static void run_case(uint64_t seed, long number, bool verbose)
{
    static one_case c;
    draw_case(&c, seed, number);
    if (verbose) {
        printf("%s:%s\n", c.net.standard ? "standard" : "ntk", c.net.text);
    }
    bool there = ask(&c);
    refused += !there;
    for (int at = 0; there && at < ROWS * COLS; at++) {
        if (!c.slow || at % 5 == 0 || at < COLS) {
            compare_pair(&c, at / COLS, at % COLS, verbose);
        }
    }
    far_kernel_destroy(c.kernel);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : SEED_DEFAULT;
    long first = 0, end = argc > 1 ? strtol(argv[1], NULL, 10) : CASES_DEFAULT;
    bool one = argc > 1 && strchr(argv[1], '@');
    far_ctx_opts opts = {.size = sizeof opts, .threads = 1};
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (one) {
        first = end++;
        seed = strtoull(strchr(argv[1], '@') + 1, NULL, 10);
    }
    if (far_ctx_create(&opts, &ctx) != FAR_OK) {
        return 1;
    }
    for (long n = first; n < end; n++) {
        run_case(seed, n, one);
    }
    printf("%ld gradients of %ld cases; %ld cases refused, %ld pairs without a reference, %ld "
           "failed\n",
           compared, end - first, refused, without, failed);
    for (int at = 0; at < 4; at++) {
        printf("worst of %s%s: %.1e in %s\n", at % 2 ? "Theta" : "K", at < 2 ? "" : ", near",
               worst[at % 2][at / 2], where[at % 2][at / 2]);
    }
    far_ctx_destroy(ctx);
    mp_release();
    return failed > 0 || compared == 0;
}
