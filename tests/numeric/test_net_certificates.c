/*
 * Certificates of the paper's toy networks at their full width, and of networks with more inputs:
 * within 2% of what is taken for one input, and never passed by any of a million points.
 */
#include "../../src/certify/net_certify.h"

#define TEST_THREADS 0
#include "harness.h"

enum { BLOCK = 20000 };

static far_net *network(const char *arch, int64_t inputs, uint64_t seed, double factor)
{
    far_net_opts o;
    far_net *net;
    far_net_opts_init(&o);
    o.inputs = inputs;
    o.seed = seed;
    assert_int_equal(far_net_create(ctx, arch, &o, &net), FAR_OK);
    for (int64_t i = 0; i < net->info.parameters; i++) {
        net->params[i] *= factor;
    }
    return net;
}

static far_certificate *certify(const far_net *net, double seconds)
{
    far_certify_opts o;
    far_certificate *c;
    far_certify_opts_init(&o);
    o.seconds = seconds;
    assert_int_equal(far_net_certify(ctx, net, &o, &c), FAR_OK);
    return c;
}

/* From 1e-3 to 1e30, the data's neighbourhood, and close to the largest value found. */
static double coordinate(const far_bound *b, uint64_t i, uint64_t j, uint64_t d)
{
    double size = pow(10, -3 + 33 * far_random_uniform(11, i));
    double z = far_random_normal(12, i * d + j);
    double near = b->at_infinity ? b->at[j] * size : b->at[j];
    switch (i % 4) {
    case 0:
        return z * 3 * far_random_uniform(13, i);
    case 1:
        return near + z * fabs(near) * pow(10, -1 - 15 * far_random_uniform(14, i));
    default:
        return size * z;
    }
}

static void assert_never_passed(const far_net *net, const far_bound *b, int64_t points)
{
    int64_t d = net->info.inputs;
    double *x = malloc((size_t)(BLOCK * d) * sizeof *x), *f = malloc(BLOCK * sizeof *f);
    far_mat in = far_mat_view(x, BLOCK, d, FAR_F64), out = far_mat_view(f, BLOCK, 1, FAR_F64);
    for (int64_t first = 0; first < points; first += BLOCK) {
        for (int64_t i = 0; i < BLOCK * d; i++) {
            x[i] = coordinate(b, (uint64_t)(first + i / d), (uint64_t)(i % d), (uint64_t)d);
        }
        assert_int_equal(far_net_eval_raw(ctx, net, &in, &out), FAR_OK);
        for (int64_t i = 0; i < BLOCK; i++) {
            assert_true(f[i] >= b->lowest && f[i] <= b->highest && fabs(f[i]) <= b->tightest);
        }
    }
    free(x);
    free(f);
}

static void toy_networks_of_full_width(void **state)
{
    static const char *const NETWORKS[] = {
        "dense(128) ln relu dense(128) relu dense(1)",
        "dense(128) relu dense(128) ln relu dense(1)",
        "dense(128) ln relu dense(128) ln relu dense(1)",
        "dense(128) relu dense(128) relu dense(1)",
    };
    (void)state;
    for (int k = 0; k < COUNT(NETWORKS); k++) {
        for (uint64_t seed = 0; seed < 5; seed++) {
            far_net *net = network(NETWORKS[k], 1, seed, seed % 2 ? 3 : 1);
            far_certificate *c = certify(net, 20);
            const far_bound *b = far_certificate_bound(c, 0);
            if (k < 3) {
                assert_true(b->tightest <= 1.02 * b->sup_found);
                assert_never_passed(net, b, BLOCK);
            } else {
                assert_int_equal(b->verdict, FAR_UNBOUNDED);
                assert_true(fabs(b->confirmed - 1) < 1e-4);
            }
            far_certificate_destroy(c);
            far_net_destroy(net);
        }
    }
}

static void a_million_points_pass_no_bound(void **state)
{
    static const struct {
        const char *arch;
        int64_t inputs, points;
    } CASES[] = {
        {"dense(43) ln relu dense(41) ln relu dense(1)", 1, 1000000},
        {"dense(31) gelu dense(29) ln(affine, eps=1e-5) gelu dense(1)", 2, 200000},
        {"dense(31) relu skip(ln relu dense(31)) ln tanh dense(1)", 3, 200000},
    };
    (void)state;
    for (int k = 0; k < COUNT(CASES); k++) {
        far_net *net = network(CASES[k].arch, CASES[k].inputs, 3, 2);
        far_certificate *c = certify(net, 1);
        assert_never_passed(net, far_certificate_bound(c, 0), CASES[k].points);
        far_certificate_destroy(c);
        far_net_destroy(net);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(toy_networks_of_full_width),
        cmocka_unit_test(a_million_points_pass_no_bound),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
