/*
 * The toy networks of "Just One Layer Norm Guarantees Stable Extrapolation", trained: 100 points on
 * [-5, 5], three functions, four networks of width 128, five seeds. Without a norm f(1e6) is what
 * the certificate's slope says; with one the certificate is a bound, and no point of a million,
 * from 1e-3 to 1e30 and where adversaries look, is beyond it.
 */
#include "../../src/certify/net_certify.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <farfield/farfield.h>

#define ROWS 100
#define SEEDS 5
#define EPOCHS 600   /* a fifth of the paper's: the claims hold at any time */
#define POINTS 20000 /* for each of the 60 networks: 1.2 million */
#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

static const char *const NETWORKS[] = {
    "dense(128) relu dense(128) relu dense(1)",
    "dense(128) ln(eps=1e-5) relu dense(128) relu dense(1)",
    "dense(128) relu dense(128) ln(eps=1e-5) relu dense(1)",
    "dense(128) ln(eps=1e-5) relu dense(128) ln(eps=1e-5) relu dense(1)",
};

static double sine(double x)
{
    return sin(x);
}

static double line(double x)
{
    return x;
}

static double square(double x)
{
    return x * x;
}

static double (*const FUNCTIONS[])(double) = {sine, line, square};
static const char *const NAMES[] = {"sin x", "x", "x^2"};

static void train(far_ctx *ctx, double (*target)(double), const char *arch, far_net **nets)
{
    double x[ROWS], y[ROWS];
    uint64_t seeds[SEEDS];
    far_train_result results[SEEDS];
    for (int i = 0; i < ROWS; i++) {
        x[i] = -5 + 10.0 * i / (ROWS - 1);
        y[i] = target(x[i]);
    }
    for (int s = 0; s < SEEDS; s++) {
        far_net_opts o;
        far_net_opts_init(&o);
        o.inputs = 1;
        o.seed = seeds[s] = (uint64_t)s;
        assert_int_equal(far_net_create(ctx, arch, &o, &nets[s]), FAR_OK);
    }
    far_mat in = far_mat_view(x, ROWS, 1, FAR_F64), out = far_mat_view(y, ROWS, 1, FAR_F64);
    far_train_opts how;
    far_train_opts_init(&how);
    how.epochs = EPOCHS;
    assert_int_equal(far_net_train_many(ctx, nets, SEEDS, &in, &out, &how, seeds, NULL, results),
                     FAR_OK);
    for (int s = 0; s < SEEDS; s++) {
        assert_int_equal(results[s].end, FAR_TRAIN_EPOCHS);
        assert_true(results[s].final_loss < 0.3 * results[s].first_loss);
    }
}

static double value(far_ctx *ctx, const far_net *net, double x)
{
    double f;
    far_mat in = far_mat_view(&x, 1, 1, FAR_F64), out = far_mat_view(&f, 1, 1, FAR_F64);
    assert_int_equal(far_net_eval(ctx, net, &in, &out), FAR_OK);
    return f;
}

/* Three kinds of points: of every size from 1e-3 to 1e30, near the place of the largest value
 * found, and among the data, each with both signs. */
static double adversary(int i, const far_bound *b)
{
    double part = (i * 0.6180339887498949) - floor(i * 0.6180339887498949), sign = i % 2 ? 1 : -1;
    switch (i % 3) {
    case 0:
        return sign * pow(10, -3 + 33 * part);
    case 1:
        return b->at_infinity ? b->at[0] * pow(10, 30 * part)
                              : b->at[0] * (1 + sign * pow(10, -16 * part));
    default:
        return sign * 8 * part;
    }
}

static void check_bounded(far_ctx *ctx, const far_net *net, const far_bound *b)
{
    static double x[POINTS], f[POINTS];
    assert_int_equal(b->verdict, FAR_BOUNDED);
    for (int i = 0; i < POINTS; i++) {
        x[i] = adversary(i, b);
    }
    far_mat in = far_mat_view(x, POINTS, 1, FAR_F64), out = far_mat_view(f, POINTS, 1, FAR_F64);
    assert_int_equal(far_net_eval(ctx, net, &in, &out), FAR_OK);
    for (int i = 0; i < POINTS; i++) {
        if (!(fabs(f[i]) <= b->tightest)) {
            fail_msg("f(%.17g) = %.17g is beyond %.17g", x[i], f[i], b->tightest);
        }
    }
    assert_true(b->tightest <= 1.02 * b->sup_found);
}

static void check_unbounded(far_ctx *ctx, const far_net *net, const far_bound *b)
{
    assert_int_equal(b->verdict, FAR_UNBOUNDED);
    double far_out = value(ctx, net, 1e6 * b->direction[0]);
    assert_true(fabs(far_out - 1e6 * b->slope) < 0.02 * fabs(far_out));
    assert_true(fabs(far_out - 1e6 * b->slope - b->intercept) < 1e-9 * fabs(far_out));
}

static void check(far_ctx *ctx, const far_net *net, bool norm, double *bound)
{
    far_certify_opts o;
    far_certificate *c;
    far_certify_opts_init(&o);
    assert_int_equal(far_net_certify(ctx, net, &o, &c), FAR_OK);
    const far_bound *b = far_certificate_bound(c, 0);
    (norm ? check_bounded : check_unbounded)(ctx, net, b);
    *bound = norm ? b->tightest : b->slope;
    far_certificate_destroy(c);
}

static void trained_toy_networks_keep_their_certificates(void **state)
{
    (void)state;
    far_ctx *ctx;
    assert_int_equal(far_ctx_create(NULL, &ctx), FAR_OK);
    for (int t = 0; t < COUNT(FUNCTIONS); t++) {
        for (int k = 0; k < COUNT(NETWORKS); k++) {
            far_net *nets[SEEDS];
            double bounds[SEEDS];
            train(ctx, FUNCTIONS[t], NETWORKS[k], nets);
            for (int s = 0; s < SEEDS; s++) {
                check(ctx, nets[s], k > 0, &bounds[s]);
            }
            printf("%-6s %-68s f(1e6) %10.4g, %s %.4g %.4g %.4g %.4g %.4g\n", NAMES[t], NETWORKS[k],
                   value(ctx, nets[0], 1e6), k > 0 ? "bounds" : "slopes", bounds[0], bounds[1],
                   bounds[2], bounds[3], bounds[4]);
            for (int s = 0; s < SEEDS; s++) {
                far_net_destroy(nets[s]);
            }
        }
    }
    far_ctx_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trained_toy_networks_keep_their_certificates),
    };
    return cmocka_run_group_tests_name("toy_networks", tests, NULL, NULL);
}
