/* sin(w0=W): the frequency in kernels, networks, their start and their limits. */
#include "net/net_internal.h"

#include "measure_fixture.h"

enum { POINTS = 5, INPUTS = 3 };
static double points[POINTS * INPUTS];

static far_mat some_points(void)
{
    fill_noise(points, POINTS * INPUTS, 11);
    return mat(points, POINTS, INPUTS);
}

static void kernel_of(const char *arch, far_param param, double *nngp, double *ntk)
{
    far_mat x = some_points(), k = mat(nngp, POINTS, POINTS), t = mat(ntk, POINTS, POINTS);
    far_kernel_opts opts;
    far_kernel *kernel;
    opts = (far_kernel_opts){.size = sizeof opts};
    opts.param = param;
    OK(far_kernel_create(ctx, arch, &opts, &kernel));
    OK(far_kernel_eval(ctx, kernel, &x, NULL, FAR_FILL_FULL, &k, &t));
    far_kernel_destroy(kernel);
}

static void assert_same(const double *a, const double *b, int64_t n, double part)
{
    for (int64_t i = 0; i < n; i++) {
        assert_near(a[i], b[i], part * (fabs(b[i]) + 1e-3));
    }
}

/* In the ntk parametrisation a scale of the weights is a scale of what they are multiplied with. */
static void a_frequency_is_a_factor_of_the_layer_in_front(void **state)
{
    static const char *const pairs[][2] = {
        {"dense(w=0.6, b=0.3) sin(w0=30, gain=1) dense", "dense(w=18, b=9) sin(gain=1) dense"},
        {"dense sin(w0=7, gain=2) dense sin(w0=0.25) dense",
         "dense(w=7, b=0.7) sin(gain=2) dense sin(w0=0.25) dense"},
        {"dense ln(affine) sin(w0=3) dense relu dense", "dense ln(affine) identity(gain=3) "
                                                        "sin(w0=1, gain=1.414213571013) dense "
                                                        "relu dense"},
        {"sin(w0=4, gain=1) dense relu dense", "identity(gain=4) sin(gain=1) dense relu dense"},
    };
    double k[2][POINTS * POINTS], t[2][POINTS * POINTS];
    (void)state;
    for (int i = 0; i < COUNT(pairs); i++) {
        kernel_of(pairs[i][0], FAR_PARAM_NTK, k[0], t[0]);
        kernel_of(pairs[i][1], FAR_PARAM_NTK, k[1], t[1]);
        assert_same(k[0], k[1], POINTS * POINTS, i == 2 ? 1e-8 : 1e-12);
        assert_same(t[0], t[1], POINTS * POINTS, i == 2 ? 1e-8 : 1e-12);
    }
}

/* Of weights that are trained as they are, those in front of a frequency move it w0^2 times as
 * fast: Theta = K + 1 + w^2 w0^2 S (x.x' + 1). */
static void kernels_by_hand(void **state)
{
    double k[POINTS * POINTS], t[POINTS * POINTS], w0 = 5;
    (void)state;
    kernel_of("dense(1, w=0.5, b=0) sin(w0=5) dense(1, w=1, b=0)", FAR_PARAM_STANDARD, k, t);
    for (int i = 0; i < POINTS * POINTS; i++) {
        const double *a = points + i / POINTS * INPUTS, *b = points + i % POINTS * INPUTS;
        double dot = 0, of_a = 0, of_b = 0, scale = 0.25 * w0 * w0 / INPUTS;
        for (int j = 0; j < INPUTS; j++) {
            dot += a[j] * b[j];
            of_a += a[j] * a[j];
            of_b += b[j] * b[j];
        }
        double less = exp(-scale * (of_a + of_b) / 2 + scale * dot);
        double more = exp(-scale * (of_a + of_b) / 2 - scale * dot);
        double value = (less - more) / 2, slope = w0 * w0 * (less + more) / 2;
        assert_near(k[i], value, 1e-13);
        assert_near(t[i], value + 1 + slope * (dot + 1), 1e-12 * slope * 10);
    }
}

static void the_default_gain_makes_unit_variance(void **state)
{
    static const double frequencies[] = {0.01, 1, 30, 5000};
    double x[INPUTS] = {1, 1, 1}, variance, value;
    far_mat at = mat(x, 1, INPUTS), out = mat(&variance, 1, 1), z = mat(&value, 1, 1);
    (void)state;
    for (int i = 0; i < COUNT(frequencies); i++) {
        double w0 = frequencies[i], gain = sqrt(-2 / expm1(-2 * w0 * w0)), one = 0.7 / w0;
        char arch[64];
        far_kernel *kernel;
        far_net_opts opts;
        far_net *net;
        snprintf(arch, sizeof arch, "dense(b=0) sin(w0=%g)", w0);
        OK(far_kernel_create(ctx, arch, NULL, &kernel));
        OK(far_kernel_diag(ctx, kernel, &at, &out, NULL));
        assert_near(variance, 1, 1e-14);
        far_kernel_destroy(kernel);
        far_net_opts_init(&opts);
        opts.inputs = 1;
        opts.init = FAR_INIT_NTK;
        snprintf(arch, sizeof arch, "sin(w0=%g)", w0);
        OK(far_net_create(ctx, arch, &opts, &net));
        far_mat single = mat(&one, 1, 1);
        OK(far_net_eval(ctx, net, &single, &z));
        assert_near(value, gain * sin(0.7), 1e-14 * gain);
        far_net_destroy(net);
    }
}

static void wide_networks_come_near_the_kernel(void **state)
{
    enum { SEEDS = 12 };
    const char *arch = "dense(1024) sin(w0=3) dense(1024) sin(w0=2) dense(1)";
    double k[POINTS * POINTS], t[POINTS * POINTS], one[POINTS * POINTS];
    double mean[POINTS * POINTS] = {0};
    far_mat x, out = mat(one, POINTS, POINTS);
    far_ntk_opts ntk;
    (void)state;
    kernel_of(arch, FAR_PARAM_NTK, k, t);
    x = some_points();
    ntk = (far_ntk_opts){.size = sizeof ntk};
    for (int seed = 0; seed < SEEDS; seed++) {
        far_net_opts opts;
        far_net *net;
        far_net_opts_init(&opts);
        opts.inputs = INPUTS;
        opts.init = FAR_INIT_NTK;
        opts.seed = (uint64_t)seed;
        OK(far_net_create(ctx, arch, &opts, &net));
        OK(far_net_ntk(ctx, net, &x, NULL, &ntk, &out));
        for (int i = 0; i < POINTS * POINTS; i++) {
            mean[i] += one[i] / SEEDS;
        }
        far_net_destroy(net);
    }
    for (int i = 0; i < POINTS * POINTS; i++) {
        double size = sqrt(t[i / POINTS * (POINTS + 1)] * t[i % POINTS * (POINTS + 1)]);
        assert_near(mean[i], t[i], 0.08 * size);
    }
}

/* Theta grows like (w0^2 / 2) g^2 r^2, with no limit of its own. */
static void suprema_and_limits_see_the_frequency(void **state)
{
    double u[INPUTS] = {0, 2, -1}, value;
    far_mat along = mat(u, 1, INPUTS), out = mat(&value, 1, 1);
    far_supremum supremum;
    far_kernel *kernel;
    far_net_opts opts;
    far_net *net;
    (void)state;
    OK(far_kernel_create(ctx, "dense(b=0) sin(w0=6, gain=1) dense(b=0)", NULL, &kernel));
    OK(far_kernel_supremum(ctx, kernel, INPUTS, &supremum));
    assert_int_equal(supremum.bounded, 0);
    assert_near(supremum.order, 2, 1e-12);
    assert_near(supremum.slope, 18, 1e-9);
    far_kernel_destroy(kernel);
    far_net_opts_init(&opts);
    opts.inputs = INPUTS;
    OK(far_net_create(ctx, "rms sin(w0=6) dense(1)", &opts, &net));
    const double *w = far_net_parameters(net).data;
    OK(far_net_limit(ctx, net, &along, &out, NULL, NULL));
    double expected = w[INPUTS];
    for (int j = 0; j < INPUTS; j++) {
        expected += w[j] * sin(6 * u[j] / sqrt(5.0 / INPUTS));
    }
    assert_near(value, expected, 1e-13);
    far_net_destroy(net);
}

static void assert_fills(far_net *net, const char *name, double most)
{
    for (int64_t i = 0; i < far_net_describe(net).tensors; i++) {
        far_net_tensor_info t = far_net_tensor(net, i);
        double largest = 0;
        for (int64_t j = 0; j < t.values.rows * t.values.cols; j++) {
            largest = fmax(largest, fabs(((const double *)t.values.data)[j]));
        }
        if (strcmp(t.name, name) == 0) {
            assert_near(largest, 0.9 * most, 0.1 * most);
            return;
        }
    }
    fail_msg("no tensor %s", name);
}

static far_net *siren(const char *arch, double w0)
{
    far_net_opts opts;
    far_net *net;
    far_net_opts_init(&opts);
    opts.inputs = 2;
    opts.init = FAR_INIT_SIREN;
    opts.w0 = w0;
    OK(far_net_create(ctx, arch, &opts, &net));
    return net;
}

static void a_siren_starts_as_published(void **state)
{
    far_net *net = siren("dense(64) sin(w0=30) dense(96) sin(w0=20) dense(7)", 5);
    (void)state;
    assert_true(isnan(far_net_describe(net).w0));
    assert_fills(net, "0.weight", 1.0 / 2);
    assert_fills(net, "0.bias", 1 / sqrt(2));
    assert_fills(net, "2.weight", sqrt(6.0 / 64) / 20);
    assert_fills(net, "2.bias", 1 / sqrt(64));
    assert_fills(net, "4.weight", sqrt(6.0 / 96) / 20);
    far_net_destroy(net);
}

static void a_plain_sin_has_the_frequency_in_its_first_layer(void **state)
{
    far_net *net = siren("dense(64) sin dense(96) sin dense(7)", 5);
    (void)state;
    assert_near(far_net_describe(net).w0, 5, 0);
    assert_fills(net, "0.weight", 5.0 / 2);
    assert_fills(net, "0.bias", 5 / sqrt(2));
    assert_fills(net, "2.weight", sqrt(6.0 / 64));
    assert_fills(net, "4.weight", sqrt(6.0 / 96));
    far_net_destroy(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_frequency_is_a_factor_of_the_layer_in_front),
        TEST(kernels_by_hand),
        TEST(the_default_gain_makes_unit_variance),
        TEST(wide_networks_come_near_the_kernel),
        TEST(suprema_and_limits_see_the_frequency),
        TEST(a_siren_starts_as_published),
        TEST(a_plain_sin_has_the_frequency_in_its_first_layer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
