/*
 * Second derivatives: closed forms by hand and against each other, whole networks against finite
 * differences of their gradients, what groups amplify, and what is left of groups at infinite
 * width.
 */
#include <farfield/nonlinear.h>

#define TEST_THREADS 2
#include "harness.h"
#include "net/net_internal.h"
#include "nonlinear/nonlinear_internal.h"

#define D 7
#define MOST_OUTPUTS 5

static uint64_t noise_state;

static void draw(int64_t count, double *out)
{
    for (int64_t i = 0; i < count; i++) {
        out[i] = roll_bell(&noise_state);
    }
}

/* A network whose parameters and running statistics are all moved from where they start. */
static far_net *net_of(const char *arch, int64_t inputs, uint64_t seed)
{
    far_net_opts opts;
    far_net *net;
    far_net_opts_init(&opts);
    opts.inputs = inputs;
    opts.seed = seed;
    noise_state = seed;
    assert_int_equal(far_net_create(ctx, arch, &opts, &net), FAR_OK);
    for (int64_t t = 0; t < far_net_describe(net).tensors; t++) {
        far_mat m = far_net_tensor(net, t).values;
        for (int64_t i = 0; i < m.rows * m.cols; i++) {
            ((double *)m.data)[i] += 0.1 * fabs(roll_bell(&noise_state));
        }
    }
    return net;
}

static double norm_of(far_net *net, double *x, int64_t d)
{
    double h;
    far_mat m = far_mat_view(x, 1, d, FAR_F64), out = far_mat_view(&h, 1, 1, FAR_F64);
    assert_int_equal(far_net_hessian_norm(ctx, net, &m, 0, &out), FAR_OK);
    return h;
}

static double closed(double *x, int64_t d, int64_t groups, double eps)
{
    double h;
    far_mat m = far_mat_view(x, 1, d, FAR_F64), out = far_mat_view(&h, 1, 1, FAR_F64);
    assert_int_equal(far_ln_hessian(ctx, &m, groups, eps, &out), FAR_OK);
    return h;
}

static void assert_close(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance * (1 + fabs(b)))) {
        fail_msg("%.17g is not %.17g", a, b);
    }
}

/* ---- closed forms -------------------------------------------------------------------------- */

static void ln_by_hand(void **state)
{
    double x[] = {1, 0, -1}, two[] = {3, 5}, pair[] = {1, 0, -1, 3, 0, -3}, same[] = {2, 2, 2};
    (void)state;
    assert_close(closed(x, 3, 1, 0), 2.25, 1e-15); /* variance 2/3: 3 / (3 (2/3)^2) */
    assert_close(closed(pair, 6, 2, 0), 2.25 + 2.25 / 81, 1e-15);
    assert_true(closed(two, 2, 1, 0) == 0);
    assert_true(closed(x, 3, 3, 0) == 0);
    assert_true(isinf(closed(same, 3, 1, 0)));
    assert_true(closed(same, 3, 1, 0.1) == 0);
    /* eps = 1/3: v + eps = 1, H = (2/3) / 3 (3 + 9 / 9) */
    assert_close(closed(x, 3, 1, 1.0 / 3), 8.0 / 9, 1e-15);
}

static void sizes_do_not_overflow(void **state)
{
    double small[] = {1e-60, 0, -1e-60}, large[] = {1e60, 0, -1e60}, ratio;
    double wide[] = {1e200, 0, -1e200, 2e200, 1e200, 5e200};
    far_mat x = far_mat_view(wide, 1, 6, FAR_F64), r = far_mat_view(&ratio, 1, 1, FAR_F64);
    (void)state;
    assert_close(closed(small, 3, 1, 0) / 2.25e240, 1, 1e-14);
    assert_close(closed(large, 3, 1, 0) / 2.25e-240, 1, 1e-14);
    assert_int_equal(far_ln_amplification(ctx, 6, 2, &x, &r, NULL), FAR_OK);
    assert_true(isfinite(ratio) && ratio > 0);
}

static const struct {
    const char *arch;
    int64_t groups;
    double eps;
} NORMS[] = {{"ln", 1, 0},
             {"ln(eps=0.3)", 1, 0.3},
             {"ln(groups=2)", 2, 0},
             {"ln(groups=3, eps=1e-5)", 3, 1e-5},
             {"ln(groups=6, eps=0.5)", 6, 0.5},
             {"ln(groups=4, eps=2)", 4, 2}};

static void closed_forms_are_those_of_networks(void **state)
{
    double x[12];
    (void)state;
    for (int i = 0; i < COUNT(NORMS); i++) {
        far_net *net = net_of(NORMS[i].arch, 12, (uint64_t)i);
        draw(12, x);
        assert_close(norm_of(net, x, 12), closed(x, 12, NORMS[i].groups, NORMS[i].eps), 1e-12);
        far_net_destroy(net);
    }
}

/* ---- amplification ------------------------------------------------------------------------- */

static double bound_of(int64_t d, int64_t groups)
{
    double bound;
    assert_int_equal(far_ln_amplification(ctx, d, groups, NULL, NULL, &bound), FAR_OK);
    return bound;
}

static void the_bound_by_hand(void **state)
{
    (void)state;
    assert_close(bound_of(24, 1), 1, 1e-15);
    assert_close(bound_of(24, 6), 6 * 12 / 22.0, 1e-15);
    assert_close(bound_of(24, 6), 24 * 24 / (8 * 22.0), 1e-15);
    assert_true(bound_of(24, 12) == 0 && bound_of(24, 24) == 0);
    assert_true(bound_of(24, 6) > bound_of(24, 4) && bound_of(24, 6) > bound_of(24, 8));
}

static void no_ratio_is_below_the_bound(void **state)
{
    double x[53 * 24], ratio[53];
    far_mat m = far_mat_view(x, 53, 24, FAR_F64), r = far_mat_view(ratio, 53, 1, FAR_F64);
    const int64_t groups[] = {1, 2, 3, 4, 6, 8, 12};
    (void)state;
    draw(53 * 24, x);
    for (int k = 0; k < COUNT(groups); k++) {
        double bound;
        assert_int_equal(far_ln_amplification(ctx, 24, groups[k], &m, &r, &bound), FAR_OK);
        for (int i = 0; i < 53; i++) {
            double *row = x + i * 24;
            assert_true(ratio[i] >= bound * (1 - 1e-12));
            assert_close(ratio[i], closed(row, 24, groups[k], 0) / closed(row, 24, 1, 0), 1e-12);
        }
    }
}

/* Groups of one mean and one variance. */
static void the_bound_is_reached(void **state)
{
    double x[12] = {1, 2, 4, -3, -3, 1, 4, 2, 2, 4, -3, 1}, ratio, bound;
    far_mat m = far_mat_view(x, 1, 12, FAR_F64), r = far_mat_view(&ratio, 1, 1, FAR_F64);
    (void)state;
    assert_int_equal(far_ln_amplification(ctx, 12, 3, &m, &r, &bound), FAR_OK);
    assert_close(ratio, bound, 1e-14);
    for (int j = 0; j < 12; j++) {
        x[j] = 5;
    }
    assert_int_equal(far_ln_amplification(ctx, 12, 3, &m, &r, &bound), FAR_OK);
    assert_true(isnan(ratio));
}

/* ---- whole networks ------------------------------------------------------------------------ */

static const char *const ARCHS[] = {
    "dense(5) ln dense(3)",
    "dense(12) ln(groups=3, eps=0.1) tanh dense(3)",
    "ln dense(5) gelu skip(ln(affine) silu dense(5)) dense(2)",
    "dense(5) skip(tanh dense(9) | skip(sin | ln dense(5)) erf dense(9)) gelu dense(2)",
    "dense(9) rms(affine) sin skip(dense(9) erf skip(relu(3) dense(9))) batchnorm(affine) dense(4)",
    "dense(13) leaky_relu(0.3) dense(11) ln relu dense(3)",
    "[dense(3) ln]x5 dense(2)",
    "dense(3) ln(eps=0.01) abs dense(3) rms(eps=0.2) gelu(gain=1.7) dense(5)",
    "skip(tanh) ln dense(2)",
    "dense(2) ln dense(19) relu(2.5) dense(1)",
    "dense(24) ln(groups=8) dense(24) ln(groups=6) dense(2)",
    "tanh",
};

/* (gradient at x + e - gradient at x - e) / 2 e */
static void difference(far_net *net, double *x, int64_t output, int64_t i, double *out)
{
    const double e = 1e-5;
    double u[MOST_OUTPUTS] = {0}, g[2][D], kept = x[i];
    far_mat m = far_mat_view(x, 1, D, FAR_F64);
    far_mat um = far_mat_view(u, 1, far_net_describe(net).outputs, FAR_F64);
    u[output] = 1;
    for (int side = 0; side < 2; side++) {
        far_mat gm = far_mat_view(g[side], 1, D, FAR_F64);
        x[i] = kept + (side == 0 ? e : -e);
        assert_int_equal(far_net_vjp(ctx, net, &m, &um, NULL, &gm), FAR_OK);
    }
    x[i] = kept;
    for (int j = 0; j < D; j++) {
        out[j] = (g[0][j] - g[1][j]) / (2 * e);
    }
}

/* The matrix of one output, checked; the sum of its squares. */
static double check_matrix(far_net *net, double *x, int64_t output)
{
    double h[D * D], line[D], sum = 0;
    far_mat m = far_mat_view(x, 1, D, FAR_F64), out = far_mat_view(h, D, D, FAR_F64);
    assert_int_equal(far_net_hessian(ctx, net, &m, output, 0, &out), FAR_OK);
    for (int i = 0; i < D; i++) {
        difference(net, x, output, i, line);
        for (int j = 0; j < D; j++) {
            assert_close(line[j], h[i * D + j], 1e-6);
            assert_true(h[i * D + j] == h[j * D + i]);
            sum += h[i * D + j] * h[i * D + j];
        }
    }
    return sum;
}

static void networks_agree_with_finite_differences(void **state)
{
    (void)state;
    for (int a = 0; a < COUNT(ARCHS); a++) {
        double x[D], terms[D], total = 0;
        far_net *net = net_of(ARCHS[a], D, (uint64_t)a + 5);
        int64_t outputs = far_net_describe(net).outputs;
        far_mat m = far_mat_view(x, 1, D, FAR_F64), h = far_mat_view(terms, 1, outputs, FAR_F64);
        draw(D, x);
        assert_int_equal(far_net_hessian_norm(ctx, net, &m, 0, &h), FAR_OK);
        for (int64_t k = 0; k < outputs && outputs <= MOST_OUTPUTS; k++) {
            assert_close(terms[k], check_matrix(net, x, k), 1e-12);
        }
        for (int64_t k = 0; k < outputs; k++) {
            total += terms[k];
        }
        assert_close(norm_of(net, x, D), total, 1e-13);
        assert_true(total > 0);
        far_net_destroy(net);
    }
}

static void set_weights(far_net *net, double bias)
{
    double *p = far_net_parameters(net).data;
    p[0] = 0.6;
    p[1] = -0.8; /* |w| = 1 */
    p[2] = bias;
}

/* phi(w . x + b): H = phi''^2 |w|^4. */
static double curvature(const char *activation, double z)
{
    char arch[64];
    double x[2] = {0, 0};
    snprintf(arch, sizeof arch, "dense(1) %s", activation);
    far_net *net = net_of(arch, 2, 1);
    set_weights(net, z);
    double h = norm_of(net, x, 2);
    far_net_destroy(net);
    return sqrt(h);
}

static void activations_by_hand(void **state)
{
    double t = tanh(0.4), s = 1 / (1 + exp(-0.4)), density = exp(-0.08) / sqrt(2 * acos(-1));
    (void)state;
    assert_close(curvature("sin", 0.4), sin(0.4), 1e-14);
    assert_close(curvature("tanh", 0.4), 2 * t * (1 - t * t), 1e-14);
    assert_close(curvature("tanh", -0.4), 2 * t * (1 - t * t), 1e-14);
    assert_close(curvature("erf", 0.4), 1.6 / sqrt(acos(-1)) * exp(-0.16), 1e-14);
    assert_close(curvature("gelu", 0.4), density * (2 - 0.16), 1e-14);
    assert_close(curvature("silu", 0.4), s * (1 - s) * (2 + 0.4 * (1 - 2 * s)), 1e-14);
    assert_close(curvature("silu", -0.4), s * (1 - s) * (2 + 0.4 * (1 - 2 * s)), 1e-14);
    assert_close(curvature("relu(2)", 0.4), 2, 1e-14);
    assert_close(curvature("relu(3)", 0.4), 2.4, 1e-14);
    assert_close(curvature("sin(gain=3)", 0.4), 3 * sin(0.4), 1e-14);
    assert_close(curvature("sin(w0=5, gain=3)", 0.4), 3 * 25 * sin(2.0), 1e-12);
    assert_true(curvature("relu(3)", -0.4) == 0 && curvature("relu", 0.4) == 0);
    assert_true(curvature("abs", 0) == 0 && curvature("leaky_relu(0.2)", 0.4) == 0);
    assert_true(curvature("identity", 0.4) == 0);
    assert_true(curvature("gelu", 1e200) == 0 && curvature("tanh", -1e200) == 0);
    assert_true(curvature("silu", 1e200) == 0 && curvature("erf", 1e200) == 0);
}

/* Directions that a narrow first layer does not see are left out: nothing is lost. */
static void a_first_layer_of_any_rank(void **state)
{
    double x[D], h[D * D];
    far_mat m = far_mat_view(x, 1, D, FAR_F64), out = far_mat_view(h, D, D, FAR_F64);
    (void)state;
    for (int rank = 0; rank <= 3; rank++) {
        far_net *net = net_of("dense(5) tanh dense(1)", D, 3);
        double *w = far_net_parameters(net).data, sum = 0;
        for (int i = rank; i < 5; i++) {
            for (int j = 0; j < D; j++) {
                w[i * D + j] = rank > 0 ? 0.5 * w[i % rank * D + j] : 0;
            }
        }
        draw(D, x);
        assert_int_equal(far_net_hessian(ctx, net, &m, 0, 0, &out), FAR_OK);
        for (int i = 0; i < D * D; i++) {
            sum += h[i] * h[i];
        }
        assert_close(norm_of(net, x, D), sum, 1e-12);
        assert_true((sum == 0) == (rank == 0));
        far_net_destroy(net);
    }
}

static void raw_units_go_through_the_scaling(void **state)
{
    const char *const archs[] = {"dense(3) ln tanh dense(2)", "dense(11) sin dense(2)"};
    double centre[] = {1, -2, 3, 0.5, 10, 0, 7}, scale[] = {2, 0.5, 4, 1, 3, 0.25, 9};
    double to[] = {100, -1}, by[] = {50, 0.1};
    far_scaling s = {far_mat_view(centre, 1, D, FAR_F64), far_mat_view(scale, 1, D, FAR_F64),
                     far_mat_view(to, 1, 2, FAR_F64), far_mat_view(by, 1, 2, FAR_F64)};
    (void)state;
    for (int a = 0; a < COUNT(archs); a++) {
        double x[D], own[D], h[D * D], plain[D * D], terms[2], sum = 0;
        far_net *net = net_of(archs[a], D, 8);
        far_mat m = far_mat_view(x, 1, D, FAR_F64), mo = far_mat_view(own, 1, D, FAR_F64);
        far_mat hm = far_mat_view(h, D, D, FAR_F64), pm = far_mat_view(plain, D, D, FAR_F64);
        far_mat tm = far_mat_view(terms, 1, 2, FAR_F64);
        assert_int_equal(far_net_set_scaling(ctx, net, &s), FAR_OK);
        draw(D, x);
        for (int j = 0; j < D; j++) {
            own[j] = (x[j] - centre[j]) / scale[j];
        }
        assert_int_equal(far_net_hessian(ctx, net, &m, 1, 1, &hm), FAR_OK);
        assert_int_equal(far_net_hessian(ctx, net, &mo, 1, 0, &pm), FAR_OK);
        for (int i = 0; i < D * D; i++) {
            assert_close(h[i], 0.1 * plain[i] / scale[i / D] / scale[i % D], 1e-13);
            sum += h[i] * h[i];
        }
        assert_int_equal(far_net_hessian_norm(ctx, net, &m, 1, &tm), FAR_OK);
        assert_close(terms[1], sum, 1e-12);
        far_net_destroy(net);
    }
}

/* More rows than are done at a time, more directions than a block. */
static void bits_do_not_depend_on_threads(void **state)
{
    enum { ROWS = 1031, WIDE = 29 };
    static double x[ROWS * WIDE], h[2][ROWS];
    far_mat m = far_mat_view(x, ROWS, WIDE, FAR_F64);
    far_net *net = net_of("dense(31) ln(groups=31, eps=0.1) tanh dense(2)", WIDE, 2);
    (void)state;
    draw(ROWS * WIDE, x);
    for (int t = 0; t < 2; t++) {
        far_ctx *other = context_with(t == 0 ? 1 : 3);
        far_mat out = far_mat_view(h[t], ROWS, 1, FAR_F64);
        assert_int_equal(far_net_hessian_norm(other, net, &m, 0, &out), FAR_OK);
        far_ctx_destroy(other);
    }
    assert_memory_equal(h[0], h[1], sizeof h[0]);
    assert_true(h[0][ROWS - 1] == norm_of(net, x + (ROWS - 1) * WIDE, WIDE));
    far_net_destroy(net);
}

static void a_constant_vector_has_no_derivative_without_eps(void **state)
{
    double x[] = {0.3, -1}, h[4];
    far_mat m = far_mat_view(x, 1, 2, FAR_F64), out = far_mat_view(h, 2, 2, FAR_F64);
    far_net *net = net_of("dense(3) ln dense(2)", 2, 1), *soft = net_of("dense(3) ln(eps=1)", 2, 1);
    (void)state;
    for (int i = 0; i < 9; i++) {
        ((double *)far_net_parameters(net).data)[i] = i < 6 ? 0 : 4;
        ((double *)far_net_parameters(soft).data)[i] = i < 6 ? (double)(i < 2) : x[0] + x[1];
    }
    ((double *)far_net_parameters(soft).data)[6] = 0; /* all three are x0 + x1 at x */
    assert_true(isinf(norm_of(net, x, 2)));
    assert_int_equal(far_net_hessian(ctx, net, &m, 0, 0, &out), FAR_OK);
    assert_true(isnan(h[0]));
    assert_close(norm_of(soft, x, 2), 0, 1e-15); /* c = 0: LN is odd about it */
    far_net_destroy(net);
    far_net_destroy(soft);
}

/* ---- infinite width ------------------------------------------------------------------------ */

static void tangent_kernel(const char *arch, const far_mat *x, double *kernel)
{
    far_kernel *k;
    far_mat out = far_mat_view(kernel, x->rows, x->rows, FAR_F64);
    assert_int_equal(far_kernel_create(ctx, arch, NULL, &k), FAR_OK);
    assert_int_equal(far_kernel_eval(ctx, k, x, NULL, FAR_FILL_FULL, NULL, &out), FAR_OK);
    far_kernel_destroy(k);
}

static void add_finite_kernel(const char *arch, const far_mat *x, uint64_t seed, double *sum)
{
    far_net_opts opts;
    far_net *net;
    far_net_opts_init(&opts);
    opts.inputs = x->cols;
    opts.init = FAR_INIT_NTK;
    opts.seed = seed;
    assert_int_equal(far_net_create(ctx, arch, &opts, &net), FAR_OK);
    int64_t p = far_net_describe(net).parameters, n = x->rows;
    double *jacobian = malloc((size_t)(n * p) * sizeof *jacobian);
    far_mat j = far_mat_view(jacobian, n, p, FAR_F64);
    assert_int_equal(far_net_jacobian(ctx, net, x, &j), FAR_OK);
    for (int64_t a = 0; a < n; a++) {
        for (int64_t b = 0; b < n; b++) {
            for (int64_t i = 0; i < p; i++) {
                sum[a * n + b] += jacobian[a * p + i] * jacobian[b * p + i];
            }
        }
    }
    free(jacobian);
    far_net_destroy(net);
}

static void groups_do_not_matter_at_infinite_width(void **state)
{
    double x[3 * 5], plain[9], grouped[9], finite[9] = {0};
    far_mat m = far_mat_view(x, 3, 5, FAR_F64);
    const int networks = 8;
    (void)state;
    noise_state = 4;
    draw(3 * 5, x);
    tangent_kernel("dense(8) ln relu dense(1)", &m, plain);
    tangent_kernel("dense(8) ln(groups=4) relu dense(1)", &m, grouped);
    for (int s = 0; s < networks; s++) {
        add_finite_kernel("dense(1024) ln(groups=4) relu dense(1)", &m, (uint64_t)s, finite);
    }
    for (int i = 0; i < 9; i++) {
        assert_true(plain[i] == grouped[i]);
        assert_near(finite[i] / networks, plain[i], 0.05 * plain[0]);
    }
}

/* ---- what is refused ----------------------------------------------------------------------- */

static void bad_arguments_are_refused(void **state)
{
    double x[12] = {1, 2, 3}, h[12], bound;
    far_mat m = far_mat_view(x, 2, 6, FAR_F64), row = far_mat_view(x, 1, 2, FAR_F64);
    far_mat out = far_mat_view(h, 2, 1, FAR_F64), wide = far_mat_view(h, 2, 3, FAR_F64);
    far_mat square = far_mat_view(h, 2, 2, FAR_F64), one = far_mat_view(h, 1, 1, FAR_F64);
    far_mat floats = far_mat_view(x, 1, 2, FAR_F32);
    far_net *net = net_of("dense(3) ln dense(2)", 2, 1);
    (void)state;
    assert_int_equal(far_ln_hessian(ctx, &m, 0, 0, &out), FAR_ERR_ARG);
    assert_int_equal(far_ln_hessian(ctx, &m, 4, 0, &out), FAR_ERR_SHAPE);
    assert_non_null(strstr(far_ctx_message(ctx), "4 groups do not divide 6"));
    assert_int_equal(far_ln_hessian(ctx, &m, 1, -1, &out), FAR_ERR_ARG);
    assert_int_equal(far_ln_hessian(ctx, &m, 1, NAN, &out), FAR_ERR_ARG);
    refused(far_ln_hessian(ctx, &m, 1, INFINITY, &out), FAR_ERR_ARG, "eps is inf");
    refused(far_ln_hessian(ctx, NULL, 1, 0, &out), FAR_ERR_ARG, "x");
    assert_int_equal(far_ln_hessian(ctx, &m, 1, 0, &wide), FAR_ERR_SHAPE);
    assert_int_equal(far_ln_amplification(ctx, 2, 1, NULL, NULL, &bound), FAR_ERR_ARG);
    assert_int_equal(far_ln_amplification(ctx, 6, 4, NULL, NULL, &bound), FAR_ERR_SHAPE);
    assert_int_equal(far_ln_amplification(ctx, 5, 1, &m, &out, &bound), FAR_ERR_SHAPE);
    assert_int_equal(far_ln_amplification(ctx, 6, 1, &m, NULL, &bound), FAR_ERR_ARG);
    assert_int_equal(far_net_hessian_norm(ctx, NULL, &row, 0, &one), FAR_ERR_ARG);
    assert_int_equal(far_net_hessian_norm(ctx, net, &m, 0, &out), FAR_ERR_SHAPE);
    assert_int_equal(far_net_hessian_norm(ctx, net, &floats, 0, &one), FAR_ERR_ARG);
    assert_int_equal(far_net_hessian_norm(ctx, net, &row, 0, &out), FAR_ERR_SHAPE);
    far_mat three = far_mat_view(h, 1, 3, FAR_F64);
    assert_int_equal(far_net_hessian_norm(ctx, net, &row, 0, &three), FAR_ERR_SHAPE);
    assert_int_equal(far_net_hessian(ctx, net, &row, 2, 0, &square), FAR_ERR_ARG);
    assert_int_equal(far_net_hessian(ctx, net, &row, -1, 0, &square), FAR_ERR_ARG);
    assert_int_equal(far_net_hessian(ctx, net, &row, 0, 0, &one), FAR_ERR_SHAPE);
    x[1] = NAN;
    assert_int_equal(far_ln_hessian(ctx, &m, 1, 0, &out), FAR_ERR_VALUE);
    assert_int_equal(far_ln_amplification(ctx, 6, 1, &m, &out, NULL), FAR_ERR_VALUE);
    assert_int_equal(far_net_hessian_norm(ctx, net, &row, 0, &one), FAR_ERR_VALUE);
    x[1] = 0;
    assert_int_equal(far_net_linearize(ctx, net), FAR_OK);
    assert_int_equal(far_net_hessian_norm(ctx, net, &row, 0, &one), FAR_ERR_ARG);
    assert_int_equal(far_net_hessian(ctx, net, &row, 0, 0, &square), FAR_ERR_ARG);
    far_net_destroy(net);
}

static void every_allocation_may_fail(void **state)
{
    double x[D] = {1, 2, 3, 5, 8, 13, 21}, h[D * D];
    far_mat m = far_mat_view(x, 1, D, FAR_F64), one = far_mat_view(h, 1, 1, FAR_F64);
    far_mat square = far_mat_view(h, D, D, FAR_F64);
    far_net *net = net_of("dense(5) ln skip(tanh skip(sin)) dense(1)", D, 1);
    (void)state;
    for (int whole = 0; whole < 2; whole++) {
        far_status st = FAR_ERR_MEMORY;
        int64_t live = test_heap.live_blocks;
        for (int64_t k = 0; st != FAR_OK; k++) {
            test_heap.fail_at = test_heap.calls + k;
            st = whole ? far_net_hessian(ctx, net, &m, 0, 0, &square)
                       : far_net_hessian_norm(ctx, net, &m, 0, &one);
            assert_true(st == FAR_OK || st == FAR_ERR_MEMORY);
            assert_int_equal(test_heap.live_blocks, live);
        }
        test_heap.fail_at = -1;
    }
    far_net_destroy(net);
}

static void many_rows_can_be_cancelled(void **state)
{
    enum { ROWS = 9001 };
    static double x[ROWS * 2], h[ROWS];
    far_mat m = far_mat_view(x, ROWS, 2, FAR_F64), out = far_mat_view(h, ROWS, 1, FAR_F64);
    far_net *net = net_of("dense(3) tanh", 2, 1);
    (void)state;
    ear = (listener){.stop_at = 2};
    assert_int_equal(far_net_hessian_norm(ctx, net, &m, 0, &out), FAR_ERR_CANCELLED);
    assert_string_equal(ear.what, "hessian");
    ear = (listener){0};
    assert_int_equal(far_net_hessian_norm(ctx, net, &m, 0, &out), FAR_OK);
    assert_true(orderly());
    far_net_destroy(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(ln_by_hand),
        TEST(sizes_do_not_overflow),
        TEST(closed_forms_are_those_of_networks),
        TEST(the_bound_by_hand),
        TEST(no_ratio_is_below_the_bound),
        TEST(the_bound_is_reached),
        TEST(networks_agree_with_finite_differences),
        TEST(activations_by_hand),
        TEST(a_first_layer_of_any_rank),
        TEST(raw_units_go_through_the_scaling),
        TEST(bits_do_not_depend_on_threads),
        TEST(a_constant_vector_has_no_derivative_without_eps),
        TEST(groups_do_not_matter_at_infinite_width),
        TEST(bad_arguments_are_refused),
        TEST(every_allocation_may_fail),
        TEST(many_rows_can_be_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
