/* Power laws: exact series, the spectrum of the circle, the interval, the theory, and refusals. */
#include "measure/measure_internal.h"
#include "measure_fixture.h"

/* ---- fits ---------------------------------------------------------------------------------- */

static void an_exact_power_law_is_found(void **state)
{
    double x[37], y[37];
    far_power p;
    (void)state;
    for (int i = 0; i < 37; i++) {
        x[i] = 0.5 + i;
        y[i] = 3 * pow(x[i], -1.75);
    }
    OK(far_power_fit(ctx, x, y, 37, 2, 20, &p));
    assert_near(p.exponent, 1.75, 1e-12);
    assert_near(p.prefactor, 3, 1e-11);
    assert_near(p.exponent_low, 1.75, 1e-11);
    assert_true(p.from == 2.5 && p.to == 19.5);
    assert_int_equal(p.points, 18);
    assert_null(p.warning);
}

/* By hand: log x = 0, 1, 2, 3, 4 and log y = 0, -1, -2, -3, -4 with 0.1 added in the middle. */
static void the_interval_is_that_of_a_line(void **state)
{
    double x[5], y[5];
    far_power p;
    (void)state;
    for (int i = 0; i < 5; i++) {
        x[i] = exp(i);
        y[i] = exp(-i + (i == 2 ? 0.1 : 0));
    }
    OK(far_power_fit(ctx, x, y, 5, 0.5, 100, &p));
    double spread = sqrt((4 * 0.02 * 0.02 + 0.08 * 0.08) / 3), t = 3.18245; /* 3 degrees */
    assert_near(p.exponent, 1, 1e-12);
    assert_near(p.spread, spread, 1e-12);
    assert_near(p.exponent_high - p.exponent, t * spread / sqrt(10), 2e-3 * t * spread);
    assert_near(p.prefactor, exp(0.02), 1e-12);
    assert_near(log(p.prefactor_high / p.prefactor), t * spread * sqrt(0.6), 2e-3 * t * spread);
}

/* With errors as assumed, 95 of 100 intervals hold the truth. */
static void intervals_cover(void **state)
{
    enum { RUNS = 400, N = 12 };
    int held = 0;
    (void)state;
    noise_state = 5;
    for (int run = 0; run < RUNS; run++) {
        double y[N];
        far_power p;
        for (int i = 0; i < N; i++) {
            y[i] = pow(i + 1, -2) * exp(0.1 * roll_bell(&noise_state));
        }
        OK(far_power_fit(ctx, NULL, y, N, 1, N, &p));
        held += p.exponent_low <= 2 && p.exponent_high >= 2;
    }
    assert_true(held > RUNS * 92 / 100 && held < RUNS * 98 / 100);
}

static void windows_are_watched(void **state)
{
    double y[300];
    far_power p;
    (void)state;
    for (int i = 0; i < 300; i++) {
        y[i] = pow(i + 1, -2) * (1 + 0.01 * (i % 2));
    }
    OK(far_power_fit(ctx, NULL, y, 300, 2, 10, &p));
    assert_null(p.warning);
    OK(far_power_fit(ctx, NULL, y, 300, 2, 11, &p));
    assert_non_null(strstr(p.warning, "thirtieth"));
    assert_int_equal(far_power_fit(ctx, NULL, y, 300, 2, 5, &p), FAR_ERR_ARG);
    assert_message("holds 4 points; a power law takes at least 5");
    assert_int_equal(far_power_fit(ctx, NULL, y, 300, 0, 20, &p), FAR_ERR_ARG);
    assert_int_equal(far_power_fit(ctx, NULL, y, 300, 20, 10, &p), FAR_ERR_ARG);
    assert_int_equal(far_power_fit(ctx, NULL, y, 300, 2, 301, &p), FAR_ERR_ARG);
    assert_message("must lie within 1:300");
    y[4] = 0;
    assert_int_equal(far_power_fit(ctx, NULL, y, 300, 2, 10, &p), FAR_ERR_VALUE);
    assert_message("at 5 the value is 0");
    y[4] = NAN;
    assert_int_equal(far_power_fit(ctx, NULL, y, 300, 2, 10, &p), FAR_ERR_VALUE);
    double same[6] = {1, 1, 1, 1, 1, 1};
    assert_int_equal(far_power_fit(ctx, same, same, 6, 0.5, 2, &p), FAR_ERR_ARG);
    assert_int_equal(far_power_fit(ctx, same, same, 6, 2, 1, &p), FAR_ERR_ARG);
    assert_int_equal(far_power_fit(ctx, same, same, 6, -1, 1, &p), FAR_ERR_ARG);
}

static void an_exponential_is_told(void **state)
{
    double y[900];
    far_power p;
    (void)state;
    for (int i = 0; i < 900; i++) {
        y[i] = exp(-0.3 * i);
    }
    OK(far_power_fit(ctx, NULL, y, 900, 2, 30, &p));
    assert_non_null(strstr(p.warning, "exponential"));
}

static void tails_by_hand(void **state)
{
    double x[4] = {1, 2, 3, 4};
    (void)state;
    far_tail_sums(x, 4, x);
    assert_near(x[0], 10, 0);
    assert_near(x[3], 4, 0);
    assert_near(x[2], 7, 0);
}

/* ---- theory -------------------------------------------------------------------------------- */

static void exponents_of_the_theory(void **state)
{
    far_power_theory t;
    (void)state;
    for (int d = 1; d <= 3; d++) {
        OK(far_power_expect(ctx, d, 0, 1, FAR_KERNEL_NTK, FAR_TARGET_JUMP, &t));
        assert_near(t.nu, 1 + 1.0 / d, 1e-15);
        assert_near(t.kappa, 1.0 / d, 1e-15);
        assert_near(t.xi, 1.0 / (d + 1), 1e-15);
        OK(far_power_expect(ctx, d, 0, 1, FAR_KERNEL_NTK, FAR_TARGET_NET, &t));
        assert_near(t.xi, 3.0 / (d + 1), 1e-15);
        OK(far_power_expect(ctx, d + 1, 1, 2, FAR_KERNEL_NTK, FAR_TARGET_NET,
                            &t)); /* a sphere, degree 2 */
        assert_near(t.xi, 5.0 / (d + 3), 1e-15);
        OK(far_power_expect(ctx, d, 0, 1, FAR_KERNEL_NNGP, FAR_TARGET_JUMP, &t)); /* NNGP */
        assert_near(t.alpha, 3, 0);
        assert_near(t.nu, 1 + 3.0 / d, 1e-15);
    }
    assert_int_equal(far_power_expect(ctx, 0, 0, 1, FAR_KERNEL_NTK, FAR_TARGET_JUMP, &t),
                     FAR_ERR_ARG);
    assert_int_equal(far_power_expect(ctx, 1, 1, 1, FAR_KERNEL_NTK, FAR_TARGET_JUMP, &t),
                     FAR_ERR_ARG);
    assert_int_equal(far_power_expect(ctx, 1, 0, 0.5, FAR_KERNEL_NTK, FAR_TARGET_JUMP, &t),
                     FAR_ERR_ARG);
    assert_int_equal(far_power_expect(ctx, 1, 0, NAN, FAR_KERNEL_NTK, FAR_TARGET_JUMP, &t),
                     FAR_ERR_ARG);
    refused(far_power_expect(ctx, 1, 0, INFINITY, FAR_KERNEL_NTK, FAR_TARGET_JUMP, &t), FAR_ERR_ARG,
            "of degree inf");
    refused(far_power_expect(ctx, 1, 0, -0.25, FAR_KERNEL_NNGP, FAR_TARGET_JUMP, &t), FAR_ERR_ARG,
            "of degree -0.25");
    assert_int_equal(far_power_expect(ctx, 1, 0, 1, FAR_KERNEL_NTK, (far_power_target)7, &t),
                     FAR_ERR_ARG);
}

static void a_prefactor_out_of_range_is_refused(void **state)
{
    (void)state;
    double x[6], steep[6], rough[6];
    far_power p;
    for (int i = 0; i < 6; i++) {
        x[i] = (double)(1 + i / 2) * 1e200;
        steep[i] = pow(1 + i / 2, -3);
        rough[i] = i % 2 ? 1e110 : 1e90;
    }
    assert_int_equal(far_power_fit(ctx, x, steep, 6, 1, 1e300, &p), FAR_ERR_RANGE);
    assert_non_null(strstr(far_ctx_message(ctx), "is too large for float64"));
    OK(far_power_fit(ctx, x, rough, 6, 1, 1e300, &p));
    assert_near(p.prefactor / 1e100, 1, 1e-9);
    assert_true(isnan(p.prefactor_high) && p.prefactor_low == 0);
}

static void smooth_activations_are_refused_in_words(void **state)
{
    double q = 0;
    (void)state;
    OK(far_power_degree(ctx, "dense relu dense", &q));
    assert_near(q, 1, 0);
    OK(far_power_degree(ctx, "dense tanh [dense relu(2)]x3 dense", &q));
    assert_near(q, 2, 0);
    OK(far_power_degree(ctx, "dense relu(3) dense skip(abs dense) dense", &q));
    assert_near(q, 1, 0);
    OK(far_power_degree(ctx, "dense relu(3) dense leaky_relu(0.2) dense", &q));
    assert_near(q, 1, 0);
    OK(far_power_degree(ctx, "dense identity dense relu(2) dense", &q));
    assert_near(q, 2, 0);
    assert_int_equal(far_power_degree(ctx, "dense identity dense", &q), FAR_ERR_ARCH);
    assert_message("linear");
    assert_int_equal(far_power_degree(ctx, "dense leaky_relu(1) dense", &q), FAR_ERR_ARCH);
    assert_int_equal(far_power_degree(ctx, "dense ln tanh dense", &q), FAR_ERR_ARCH);
    assert_message("tanh is smooth");
    assert_message("faster than any power");
    assert_int_equal(far_power_degree(ctx, "dense ln dense", &q), FAR_ERR_ARCH);
    assert_message("linear");
    assert_int_equal(far_power_degree(ctx, "dense rleu dense", &q), FAR_ERR_PARSE);
}

/* ---- spectra that are known ---------------------------------------------------------------- */

enum { CIRCLE = 1024 };

/* |x| |x'| (u k0 + k1) of rows x, the tangent kernel of one hidden relu layer. */
static void relu_kernel(double *x, int64_t n, int64_t d, double *k)
{
    far_kernel *kernel;
    for (int64_t i = 0; i < n * d; i++) {
        x[i] *= sqrt((double)d); /* the library divides |x|^2 by d */
    }
    far_mat rows = mat(x, n, d), out = mat(k, n, n);
    OK(far_kernel_create(ctx, "dense(b=0) relu dense(b=0)", NULL, &kernel));
    OK(far_kernel_eval(ctx, kernel, &rows, NULL, FAR_FILL_FULL, NULL, &out));
    far_kernel_destroy(kernel);
}

static far_view *circle_view(bool bias, double *k)
{
    double *x = malloc(sizeof(double) * CIRCLE * 3);
    int64_t d = bias ? 3 : 2;
    for (int i = 0; i < CIRCLE; i++) {
        double angle = 2 * PI * i / CIRCLE;
        x[i * d] = cos(angle);
        x[i * d + 1] = sin(angle);
        if (bias) {
            x[i * d + 2] = 1;
        }
    }
    relu_kernel(x, CIRCLE, d, k);
    free(x);
    return view_of(k, CIRCLE, 0);
}

/* cos(k angle) is an eigenvector; of K / N. */
static double circle_eigenvalue(far_view *v, int k)
{
    static double y[CIRCLE];
    far_mat targets = mat(y, CIRCLE, 1);
    far_alignment a;
    for (int i = 0; i < CIRCLE; i++) {
        y[i] = cos(2 * PI * k * i / CIRCLE);
    }
    OK(far_view_align(ctx, v, &targets, &a));
    return a.rayleigh / CIRCLE;
}

/* Frequencies k + m N look the same on a grid: sum over m of 1 / (k + m N)^2, times k^2. */
static double folded(int k)
{
    return pow(PI * k / CIRCLE / sin(PI * k / CIRCLE), 2);
}

/* In closed form, 2 / pi^2 (k^2 + 3) / (k^2 - 1)^2 for even k, with all that the grid folds. */
static double circle_expected(int k)
{
    double sum = 0;
    for (int m = -4000; m <= 4000; m++) {
        double square = pow(k + (double)m * CIRCLE, 2);
        sum += 2 / (PI * PI) * (square + 3) / pow(square - 1, 2);
    }
    return sum;
}

static void the_circle_without_bias(void **state)
{
    double *k = malloc(sizeof(double) * CIRCLE * CIRCLE);
    far_view *v = circle_view(false, k);
    (void)state;
    for (int f = 3; f < 60; f += 2) {
        assert_near(circle_eigenvalue(v, f), 0, 1e-14);
    }
    for (int f = 8; f <= 128; f *= 2) {
        double value = f * f * circle_eigenvalue(v, f) / folded(f);
        assert_near(value, 2 / (PI * PI), 2 / (PI * PI) * 6 / (f * f));
        assert_near(circle_eigenvalue(v, f), circle_expected(f), 1e-9);
    }
    far_spectrum s;
    OK(far_view_spectrum(ctx, v, 0, 0, &s));
    assert_int_equal(far_power_check(ctx, &s, 600), FAR_ERR_VALUE);
    assert_message("odd frequencies");
    far_view_destroy(v);
    free(k);
}

static void the_circle_with_bias(void **state)
{
    double *k = malloc(sizeof(double) * CIRCLE * CIRCLE);
    far_view *v = circle_view(true, k);
    far_spectrum s;
    far_power p;
    (void)state;
    for (int f = 9; f <= 144; f *= 2) { /* odd and even */
        double value = f * f * circle_eigenvalue(v, f) / folded(f);
        assert_near(value, sqrt(2) / (PI * PI), sqrt(2) / (PI * PI) * 8 / (f * f));
    }
    OK(far_view_spectrum(ctx, v, 0, 0, &s));
    OK(far_power_fit(ctx, NULL, s.values, CIRCLE, 40, 120, &p));
    assert_near(p.exponent, 2, 0.03);
    far_view_destroy(v);
    free(k);
}

/* The spectrum on an interval: nu = 2, with the constant of theory. */
static void an_interval(void **state)
{
    enum { N = 900 };
    double *k = malloc(sizeof(double) * N * N), x[N * 2];
    far_spectrum s;
    far_power p;
    (void)state;
    for (int i = 0; i < N; i++) {
        x[2 * i] = -1 + (2 * i + 1.0) / N;
        x[2 * i + 1] = 1;
    }
    relu_kernel(x, N, 2, k);
    far_view *v = view_of(k, N, 0);
    OK(far_view_spectrum(ctx, v, 0, 0, &s));
    OK(far_power_fit(ctx, NULL, s.values, N, 20, 80, &p));
    assert_near(p.exponent, 2, 0.08);
    assert_near(60 * 60 * s.values[59] / N, 4 / pow(PI, 3), 0.1 * 4 / pow(PI, 3));
    assert_non_null(strstr(p.warning, "thirtieth"));
    far_view_destroy(v);
    free(k);
}

/* ---- memory -------------------------------------------------------------------------------- */

enum { SMALL = 41 };
static double small_kernel[SMALL * SMALL];

static far_status fit_all(void)
{
    far_mat k = mat(small_kernel, SMALL, SMALL);
    far_view *v = NULL;
    far_spectrum s;
    far_power p;
    double degree;
    far_status st = far_view_create(ctx, &k, 0, &v);
    st = st ? st : far_view_spectrum(ctx, v, 0, 0, &s);
    st = st ? st : far_power_fit(ctx, NULL, s.values, SMALL, 2, 20, &p);
    st = st ? st : far_power_degree(ctx, "dense relu dense", &degree);
    far_view_destroy(v);
    return st;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    random_kernel(SMALL, SMALL + 2, 3, small_kernel);
    fail_every_allocation(fit_all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_exact_power_law_is_found),
        TEST(the_interval_is_that_of_a_line),
        TEST(intervals_cover),
        TEST(windows_are_watched),
        TEST(an_exponential_is_told),
        TEST(tails_by_hand),
        TEST(exponents_of_the_theory),
        TEST(a_prefactor_out_of_range_is_refused),
        TEST(smooth_activations_are_refused_in_words),
        TEST(the_circle_without_bias),
        TEST(the_circle_with_bias),
        TEST(an_interval),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
