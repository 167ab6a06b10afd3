/*
 * The C library's functions that proofs rest on, held against MPFR: the relative error must be at
 * most FAR_LIBRARY_ERROR, which bounds of networks add to every value.
 *
 *     test_libm [POINTS A BINADE [SEED]]
 *
 * Arguments are drawn in every binade of float64, next to zeros (multiples of pi), at the ends of
 * the range (overflow, underflow), and where rounding is known to be hardest. Then the activations
 * and their slopes as proofs use them, with rounded arguments and all. This is a test on so many
 * points, not a proof.
 */
#include "../../src/certify/net_certify.h"
#include "chance.h"

#include <mpfr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CI_POINTS = 3, BITS = 160, WIDE = 1300, LANES = 37 };

typedef int (*mp_function)(mpfr_t, const mpfr_t, mpfr_rnd_t);

typedef struct tried {
    const char *name;
    double (*own)(double);
    mp_function exact;
    double low, high; /* arguments that proofs have */
    bool periodic;
    double worst, at; /* in units of 2^-53, relative */
    int64_t points;
} tried;

static tried FUNCTIONS[] = {
    {"exp", exp, mpfr_exp, -750, 0, false, 0, 0, 0}, /* of -z^2, -|z| */
    {"exp up", exp, mpfr_exp, 0, 709.78, false, 0, 0, 0},
    {"erf", erf, mpfr_erf, -INFINITY, INFINITY, false, 0, 0, 0},
    {"erfc", erfc, mpfr_erfc, -INFINITY, 27.3, false, 0, 0, 0},
    {"tanh", tanh, mpfr_tanh, -INFINITY, INFINITY, false, 0, 0, 0},
    {"sin", sin, mpfr_sin, -INFINITY, INFINITY, true, 0, 0, 0},
    {"cos", cos, mpfr_cos, -INFINITY, INFINITY, true, 0, 0, 0},
    {"cbrt", cbrt, mpfr_cbrt, 0, INFINITY, false, 0, 0, 0},
    {"expm1", expm1, mpfr_expm1, -INFINITY, 0, false, 0, 0, 0}, /* elu */
    {"log1p", log1p, mpfr_log1p, 0, 1, false, 0, 0, 0},         /* softplus */
};

#define COUNT(array) ((int64_t)(sizeof(array) / sizeof(array)[0]))

typedef struct bench {
    mpfr_t x, y, z, pi;
    uint64_t seed, at;
} bench;

static void set_bits(bench *b, long bits)
{
    mpfr_set_prec(b->x, bits);
    mpfr_set_prec(b->y, bits);
    mpfr_set_prec(b->z, bits);
}

static double uniform(bench *b)
{
    return far_random_uniform(b->seed, b->at++);
}

/* |own - exact| in units of 2^-53 |exact|; 0 where what is lost is less than a speck. */
static double error_of(bench *b, double own)
{
    mpfr_sub_d(b->z, b->y, own, MPFR_RNDN);
    mpfr_abs(b->z, b->z, MPFR_RNDN);
    if (mpfr_cmp_d(b->z, FAR_SPECK) <= 0) {
        return 0;
    }
    mpfr_div(b->z, b->z, b->y, MPFR_RNDN);
    return fabs(mpfr_get_d(b->z, MPFR_RNDU)) / FAR_UNIT;
}

static void try_at(bench *b, tried *t, double x)
{
    if (!(x >= t->low && x <= t->high) || !isfinite(x)) {
        return;
    }
    mpfr_set_d(b->x, x, MPFR_RNDN);
    t->exact(b->y, b->x, MPFR_RNDN);
    double error = error_of(b, t->own(x));
    t->points++;
    if (!(error <= t->worst)) {
        t->worst = error;
        t->at = x;
    }
}

static void try_around(bench *b, tried *t, double x)
{
    for (int side = -1; side <= 1; side += 2) {
        double at = x;
        for (int i = 0; i < 4; i++, at = nextafter(at, side * INFINITY)) {
            try_at(b, t, at);
            try_at(b, t, -at);
        }
    }
}

static void try_binades(bench *b, tried *t, int points)
{
    for (int e = -1074; e < 1024; e++) {
        for (int i = 0; i < points; i++) {
            double x = ldexp(1 + uniform(b), e);
            try_at(b, t, uniform(b) < 0.5 ? x : -x);
        }
        try_around(b, t, ldexp(1, e));
    }
}

/* Where the function does most of its work. */
static void try_inside(bench *b, tried *t, int points)
{
    double low = fmax(t->low, -30), high = fmin(t->high, 30);
    for (int i = 0; i < 2000 * points; i++) {
        try_at(b, t, low + (high - low) * uniform(b));
    }
    for (int i = 0; isfinite(t->low) && isfinite(t->high) && i < 500 * points; i++) {
        try_at(b, t, t->low + (t->high - t->low) * uniform(b));
    }
    for (double end = 1; end > 1e-6; end /= 2) {
        try_around(b, t, isfinite(t->high) ? t->high - end : 5 + end);
        try_around(b, t, isfinite(t->low) ? t->low + end : 5 - end);
    }
}

/* The doubles next to k pi / 2, also for large k. */
static void try_zeros(bench *b, tried *t, int points)
{
    for (int e = 0; e < 1020; e++) {
        for (int i = 0; i < points; i++) {
            mpfr_mul_d(b->z, b->pi, floor(ldexp(1 + uniform(b), e < 52 ? e : 52)), MPFR_RNDN);
            mpfr_mul_2si(b->z, b->z, e < 52 ? -1 : e - 53, MPFR_RNDN);
            try_around(b, t, mpfr_get_d(b->z, MPFR_RNDN));
        }
    }
}

static void try_known(bench *b, tried *t)
{
    static const double HARD[] = {
        0x1.6ac5b262ca1ffp+849, /* closest of all doubles to a multiple of pi / 2 */
        0x1.5fdbbe9bba775p-1,
        0x1.921fb54442d18p+0,
        0x1.921fb54442d18p+1,
        0x1.2d97c7f3321d2p+2,
        0x1.8000000000001p-27,
        0x1.62e42fefa39efp-1,
        0x1.0a2b2p+1,
        0x1.b0ee06d938141p-1,
        0x1.85feb3p+2,
        1e22,
        0x1p-1022,
        0x1.74910d52d3053p+9};
    for (int64_t i = 0; i < COUNT(HARD); i++) {
        try_around(b, t, HARD[i]);
    }
}

static int try_functions(bench *b, int points)
{
    int wrong = 0;
    for (int64_t k = 0; k < COUNT(FUNCTIONS); k++) {
        tried *t = &FUNCTIONS[k];
        try_binades(b, t, points);
        try_inside(b, t, points);
        try_known(b, t);
        if (t->periodic) {
            try_zeros(b, t, (points + 3) / 4);
        }
        bool fine = t->worst * FAR_UNIT <= FAR_LIBRARY_ERROR;
        wrong += !fine;
        printf("%-8s %9lld points, at most %6.3f x 2^-53, at %a%s\n", t->name, (long long)t->points,
               t->worst, t->at, fine ? "" : "  TOO MUCH");
    }
    return wrong;
}

/* x^p for x > 0, and p as relu has it, or less 1 in its slope. */
static int try_powers(bench *b, int points)
{
    static const double POWERS[] = {0.75, 1.5, 2, 3, 0.51, 2.5, 7.3, 63.9, 64, -0.25, -0.49};
    double worst = 0, at = 0, by = 0;
    int64_t tried_points = 0;
    for (int i = 0; i < 20000 * points; i++) {
        double p = i % 3 ? POWERS[i % COUNT(POWERS)] : -0.5 + 64.5 * uniform(b);
        double most = fmin(1000, 1000 / fabs(p) - 2);
        double x = i % 2 ? ldexp(1 + uniform(b), (int)(most * (2 * uniform(b) - 1)))
                         : 1 + (uniform(b) - 0.5) * pow(10, -16 * uniform(b));
        mpfr_set_d(b->x, x, MPFR_RNDN);
        mpfr_set_d(b->z, p, MPFR_RNDN);
        mpfr_pow(b->y, b->x, b->z, MPFR_RNDN);
        double error = error_of(b, pow(x, p));
        tried_points++;
        if (!(error <= worst)) {
            worst = error;
            at = x;
            by = p;
        }
    }
    printf("%-8s %9lld points, at most %6.3f x 2^-53, at %a to the %.17g\n", "pow",
           (long long)tried_points, worst, at, by);
    return !(worst * FAR_UNIT <= FAR_LIBRARY_ERROR);
}

/* hypot of what lengths are made of. */
static int try_hypot(bench *b, int points)
{
    double worst = 0;
    for (int i = 0; i < 5000 * points; i++) {
        int e = (int)(2000 * uniform(b)) - 1000;
        double x = ldexp(1 + uniform(b), e), y = ldexp(1 + uniform(b), e - (int)(60 * uniform(b)));
        mpfr_set_d(b->x, x, MPFR_RNDN);
        mpfr_set_d(b->z, y, MPFR_RNDN);
        mpfr_hypot(b->y, b->x, b->z, MPFR_RNDN);
        worst = fmax(worst, error_of(b, hypot(x, y)));
    }
    printf("%-8s %9d points, at most %6.3f x 2^-53\n", "hypot", 5000 * points, worst);
    return !(worst <= 4);
}

/* ---- activations as they are used ----------------------------------------------------------- */

/* log(1 + e^x) = max(x, 0) + log(1 + e^-|x|) */
static void exact_softplus(bench *b)
{
    mpfr_abs(b->z, b->x, MPFR_RNDN);
    mpfr_neg(b->z, b->z, MPFR_RNDN);
    mpfr_exp(b->z, b->z, MPFR_RNDN);
    mpfr_log1p(b->y, b->z, MPFR_RNDN);
    if (mpfr_sgn(b->x) > 0) {
        mpfr_add(b->y, b->y, b->x, MPFR_RNDN);
    }
}

/* x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2 */
static void exact_gelu_tanh(bench *b)
{
    mpfr_sqr(b->z, b->x, MPFR_RNDN);
    mpfr_mul_ui(b->z, b->z, 44715, MPFR_RNDN);
    mpfr_div_ui(b->z, b->z, 1000000, MPFR_RNDN);
    mpfr_add_ui(b->z, b->z, 1, MPFR_RNDN);
    mpfr_mul(b->z, b->z, b->x, MPFR_RNDN);
    mpfr_const_pi(b->y, MPFR_RNDN);
    mpfr_ui_div(b->y, 2, b->y, MPFR_RNDN);
    mpfr_sqrt(b->y, b->y, MPFR_RNDN);
    mpfr_mul(b->z, b->z, b->y, MPFR_RNDN);
    mpfr_tanh(b->y, b->z, MPFR_RNDN);
    mpfr_add_ui(b->y, b->y, 1, MPFR_RNDN);
    mpfr_mul(b->y, b->y, b->x, MPFR_RNDN);
    mpfr_div_ui(b->y, b->y, 2, MPFR_RNDN);
}

static void exact_value(bench *b, const far_step *s, double z)
{
    mpfr_set_d(b->x, z, MPFR_RNDN);
    switch (s->layer) {
    case FAR_LAYER_SIGMOID:
        mpfr_neg(b->z, b->x, MPFR_RNDN);
        mpfr_exp(b->z, b->z, MPFR_RNDN);
        mpfr_add_ui(b->z, b->z, 1, MPFR_RNDN);
        mpfr_ui_div(b->y, 1, b->z, MPFR_RNDN);
        break;
    case FAR_LAYER_ELU:
        mpfr_expm1(b->y, b->x, MPFR_RNDN);
        mpfr_mul_d(b->y, b->y, s->slope, MPFR_RNDN);
        mpfr_set(b->y, z > 0 ? b->x : b->y, MPFR_RNDN);
        break;
    case FAR_LAYER_SOFTPLUS:
        exact_softplus(b);
        break;
    case FAR_LAYER_MISH:
        exact_softplus(b);
        mpfr_tanh(b->y, b->y, MPFR_RNDN);
        mpfr_mul(b->y, b->y, b->x, MPFR_RNDN);
        break;
    case FAR_LAYER_GELU_TANH:
        exact_gelu_tanh(b);
        break;
    case FAR_LAYER_ERF:
        mpfr_erf(b->y, b->x, MPFR_RNDN);
        break;
    case FAR_LAYER_TANH:
        mpfr_tanh(b->y, b->x, MPFR_RNDN);
        break;
    case FAR_LAYER_GELU:
        mpfr_sqrt_ui(b->z, 2, MPFR_RNDN);
        mpfr_div(b->z, b->x, b->z, MPFR_RNDN);
        mpfr_neg(b->z, b->z, MPFR_RNDN);
        mpfr_erfc(b->y, b->z, MPFR_RNDN);
        mpfr_mul(b->y, b->y, b->x, MPFR_RNDN);
        mpfr_div_ui(b->y, b->y, 2, MPFR_RNDN);
        break;
    case FAR_LAYER_SILU:
        mpfr_neg(b->z, b->x, MPFR_RNDN);
        mpfr_exp(b->z, b->z, MPFR_RNDN);
        mpfr_add_ui(b->z, b->z, 1, MPFR_RNDN);
        mpfr_div(b->y, b->x, b->z, MPFR_RNDN);
        break;
    default:
        mpfr_mul_d(b->x, b->x, s->w0, MPFR_RNDN);
        mpfr_sin(b->y, b->x, MPFR_RNDN);
    }
}

static bool is_in(const bench *b, double low, double high)
{
    return mpfr_cmp_d(b->y, low) >= 0 && mpfr_cmp_d(b->y, high) <= 0;
}

/* The range and the strip of a narrow interval hold the exact values at its ends and inside. */
static int try_strip(bench *b, const far_step *s, double m, double reach)
{
    far_range z = {m - reach, m + reach}, r = far_activation_range(s, z);
    far_strip strip = far_activation_strip(s, z);
    int wrong = 0;
    for (int i = 0; i < 3; i++) {
        double at = i == 0 ? z.low : i == 1 ? z.high : z.low + (z.high - z.low) * uniform(b);
        exact_value(b, s, at);
        bool fine = is_in(b, r.low, r.high);
        mpfr_set_d(b->z, strip.slope, MPFR_RNDN);
        mpfr_mul_d(b->z, b->z, at, MPFR_RNDN);
        mpfr_sub(b->y, b->y, b->z, MPFR_RNDN);
        fine &= is_in(b, strip.low, strip.high);
        wrong += !fine;
        if (!fine) {
            printf("activation %d (w0 %g) at %.17g of %.17g +- %.3g is out of its strip\n",
                   (int)s->layer, s->w0, at, m, reach);
        }
    }
    return wrong;
}

static int try_activations(bench *b, int points)
{
    static const far_step STEPS[] = {{.layer = FAR_LAYER_ERF, .gain = 1, .w0 = 1},
                                     {.layer = FAR_LAYER_TANH, .gain = 1, .w0 = 1},
                                     {.layer = FAR_LAYER_GELU, .gain = 1, .w0 = 1},
                                     {.layer = FAR_LAYER_SILU, .gain = 1, .w0 = 1},
                                     {.layer = FAR_LAYER_SIN, .gain = 1, .w0 = 1},
                                     {.layer = FAR_LAYER_SIN, .gain = 1, .w0 = 5.3},
                                     {.layer = FAR_LAYER_SIN, .gain = 1, .w0 = 30},
                                     {.layer = FAR_LAYER_SIGMOID, .gain = 1},
                                     {.layer = FAR_LAYER_ELU, .gain = 1, .slope = 1},
                                     {.layer = FAR_LAYER_ELU, .gain = 1, .slope = 0.3},
                                     {.layer = FAR_LAYER_ELU, .gain = 1, .slope = 2.5},
                                     {.layer = FAR_LAYER_SOFTPLUS, .gain = 1},
                                     {.layer = FAR_LAYER_MISH, .gain = 1},
                                     {.layer = FAR_LAYER_GELU_TANH, .gain = 1}};
    int wrong = 0, total = 0;
    set_bits(b, WIDE); /* z - silu(z) is below 1e-300 soon */
    for (int64_t k = 0; k < COUNT(STEPS); k++) {
        for (int i = 0; i < 300 * points; i++, total++) {
            bool wide = i % 4 == 0;
            double m = wide ? ldexp(2 * uniform(b) - 1, (int)(600 * uniform(b)) - 300)
                            : 40 * (uniform(b) - 0.5);
            double reach = i % 5 == 0 ? 0 : fmin(fabs(m), 1) * pow(10, -18 * uniform(b));
            reach = i % 7 == 0 ? 20 * uniform(b) : reach;
            wrong += try_strip(b, &STEPS[k], m, reach);
        }
    }
    set_bits(b, BITS);
    printf("activations: %d intervals, %d values outside\n", total, wrong);
    return wrong;
}

/* The engine's, which run over vectors: f(x)_i = phi(x_i). They are not part of any proof. */
static double engine_error(bench *b, far_ctx *ctx, const char *name, const far_step *s, int rows)
{
    far_net_opts o;
    far_net *net;
    char arch[64];
    double worst = 0, *x = malloc((size_t)(2 * rows * LANES) * sizeof *x), *f = x + rows * LANES;
    far_mat in = far_mat_view(x, rows, LANES, FAR_F64), out = far_mat_view(f, rows, LANES, FAR_F64);
    far_net_opts_init(&o);
    o.inputs = LANES;
    snprintf(arch, sizeof arch, "dense(%d, nobias) %s", LANES, name);
    for (int i = 0; i < rows * LANES; i++) {
        x[i] = i % 3 ? 24 * (uniform(b) - 0.5)
                     : ldexp(2 * uniform(b) - 1, (int)(1000 * uniform(b)) - 980);
    }
    if (far_net_create(ctx, arch, &o, &net) != FAR_OK) {
        printf("%s\n", far_ctx_message(ctx));
        return INFINITY;
    }
    for (int i = 0; i < LANES * LANES; i++) {
        net->params[i] = i % (LANES + 1) == 0;
    }
    if (far_net_eval(ctx, net, &in, &out) != FAR_OK) {
        worst = INFINITY;
    }
    for (int i = 0; i < rows * LANES; i++) {
        exact_value(b, s, x[i]);
        double tail = mpfr_cmpabs_ui(b->y, 1) < 0 && fabs(f[i]) < 1e-5 && x[i] < -4 ? 1 : 0;
        worst = fmax(worst, tail ? 0 : error_of(b, f[i]));
    }
    far_net_destroy(net);
    free(x);
    return worst;
}

static int try_engine(bench *b, int points)
{
    static const far_step STEPS[] = {{.layer = FAR_LAYER_ERF, .w0 = 1},
                                     {.layer = FAR_LAYER_TANH, .w0 = 1},
                                     {.layer = FAR_LAYER_GELU, .w0 = 1},
                                     {.layer = FAR_LAYER_SILU, .w0 = 1},
                                     {.layer = FAR_LAYER_SIN, .w0 = 1}};
    static const char *const NAMES[] = {"erf", "tanh", "gelu", "silu", "sin"};
    far_ctx *ctx;
    int wrong = 0;
    if (far_ctx_create(NULL, &ctx) != FAR_OK) {
        return 1;
    }
    for (int64_t k = 0; k < COUNT(STEPS); k++) {
        double worst = engine_error(b, ctx, NAMES[k], &STEPS[k], 40 * points);
        printf("engine's %-5s %6d points, at most %6.3f x 2^-53\n", NAMES[k], 40 * points * LANES,
               worst);
        wrong += !(worst * FAR_UNIT <= FAR_LIBRARY_ERROR);
    }
    far_ctx_destroy(ctx);
    return wrong;
}

int main(int argc, char **argv)
{
    int points = argc > 1 ? atoi(argv[1]) : (int)draws(CI_POINTS, 2 * CI_POINTS), wrong = 0;
    bench b = {.seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1};
    mpfr_inits2(BITS, b.x, b.y, b.z, (mpfr_ptr)0);
    mpfr_init2(b.pi, WIDE);
    mpfr_const_pi(b.pi, MPFR_RNDN);
    printf("seed %llu; allowed: %g x 2^-53\n", (unsigned long long)b.seed,
           FAR_LIBRARY_ERROR / FAR_UNIT);
    wrong += try_functions(&b, points);
    wrong += try_powers(&b, points);
    wrong += try_hypot(&b, points);
    wrong += try_activations(&b, points);
    wrong += try_engine(&b, points);
    mpfr_clears(b.x, b.y, b.z, b.pi, (mpfr_ptr)0);
    mpfr_free_cache();
    return wrong > 0;
}
