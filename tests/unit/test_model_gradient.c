/* Gradients: of sums of kernels against differences of their values, in blocks, over threads, at
 * points that are equal, zero and far away; and of predictors of every kind in raw units. */
#include "../../src/gram/gram.h"
#include "harness.h"
#include "predictors.h"

enum { N = 23, D = 4, P = 3 };

static double x[N * D], b[N * D], w[N * P];

static void fill(uint64_t seed, double *v, int count)
{
    for (int i = 0; i < count; i++) {
        v[i] = roll_bell(&seed);
    }
}

static far_kernel *kernel_of(const char *text, far_param param)
{
    far_kernel *k;
    far_kernel_opts o = {.size = sizeof o, .param = param};
    must(far_kernel_create(ctx, text, &o, &k));
    return k;
}

static void gradient(far_ctx *in, const far_kernel *k, far_kernel_kind kind, double *a, int64_t m,
                     double *at, int64_t n, double *weights, int64_t p, double *out)
{
    far_mat am = far_mat_view(a, m, D, FAR_F64), bm = far_mat_view(at, n, D, FAR_F64);
    far_mat wm = far_mat_view(weights, n, p, FAR_F64), om = far_mat_view(out, m, p * D, FAR_F64);
    must(far_kernel_gradient(in, k, kind, &am, &bm, &wm, &om));
}

/* sum_k w_ko K(a, b_k) */
static void sum_at(const far_kernel *k, far_kernel_kind kind, const double *a, double out[P])
{
    double row[N];
    far_mat am = far_mat_view((void *)a, 1, D, FAR_F64), bm = far_mat_view(b, N, D, FAR_F64);
    far_mat rm = far_mat_view(row, 1, N, FAR_F64);
    bool nngp = kind == FAR_KERNEL_NNGP;
    must(far_kernel_eval(ctx, k, &am, &bm, FAR_FILL_FULL, nngp ? &rm : NULL, nngp ? NULL : &rm));
    for (int o = 0; o < P; o++) {
        out[o] = 0;
        for (int i = 0; i < N; i++) {
            out[o] += w[i * P + o] * row[i];
        }
    }
}

static void gradients_are_what_differences_tend_to(void **unused)
{
    (void)unused;
    static const char *const nets[] = {
        "dense relu dense",
        "dense(b=0.5) ln relu dense leaky_relu(0.2) rms dense",
        "ln(groups=2) dense gelu ln(affine) dense",
        "rms(eps=0.1) tanh dense erf dense",
        "dense skip(ln relu(2) dense) tanh dense",
        "dense skip(relu dense) silu ln(eps=0.3) dense",
        "gelu dense sin rms(affine) dense abs dense relu(1.5) dense",
        "dense ln(affine) relu(3) dense batchnorm(affine) sin(w0=2) dense",
        "dense rms(affine) gelu dense ln(affine) silu dense",
    };
    double got[2 * P * D], high[P], low[P];
    fill(1, b, N * D);
    fill(2, w, N * P);
    fill(3, x, 2 * D);
    for (int net = 0; net < COUNT(nets); net++) {
        for (int kind = 0; kind < 2; kind++) {
            far_kernel *k = kernel_of(nets[net], FAR_PARAM_NTK);
            gradient(ctx, k, (far_kernel_kind)kind, x, 2, b, N, w, P, got);
            for (int at = 0; at < 2 * D; at++) {
                double kept = x[at], step = 1e-5;
                x[at] = kept + step;
                sum_at(k, (far_kernel_kind)kind, x + at / D * D, high);
                x[at] = kept - step;
                sum_at(k, (far_kernel_kind)kind, x + at / D * D, low);
                x[at] = kept;
                for (int o = 0; o < P; o++) {
                    double want = (high[o] - low[o]) / (2 * step);
                    assert_near(got[at / D * P * D + o * D + at % D], want,
                                2e-7 * (1 + fabs(want)));
                }
            }
            far_kernel_destroy(k);
        }
    }
}

/* More rows than a block, more columns than a tile; and a row at a time. */
static void rows_do_not_depend_on_company_or_threads(void **unused)
{
    (void)unused;
    enum { M = 700, B = 300 };
    static double a[M * D], at[B * D], weights[B], all[M * D], again[M * D], one[D];
    far_ctx *five = context_with(5);
    far_kernel *k = kernel_of("dense ln relu dense tanh dense", FAR_PARAM_NTK);
    fill(4, a, M * D);
    fill(5, at, B * D);
    fill(6, weights, B);
    memcpy(at, a, 40 * D * sizeof *a); /* some of the points are the same */
    gradient(ctx, k, FAR_KERNEL_NTK, a, M, at, B, weights, 1, all);
    gradient(five, k, FAR_KERNEL_NTK, a, M, at, B, weights, 1, again);
    assert_memory_equal(all, again, sizeof all);
    for (int i = 0; i < M; i += 83) {
        gradient(ctx, k, FAR_KERNEL_NTK, a + i * D, 1, at, B, weights, 1, one);
        assert_true(all[i * D] != 0);
        for (int j = 0; j < D; j++) {
            assert_near(one[j], all[i * D + j], 1e-12);
        }
    }
    far_kernel_destroy(k);
    far_ctx_destroy(five);
}

/* K(x, y) = |x| |y| kappa / d for relu without bias: at x = y the slope kernel has its tip, where
 * dK/dx = K / |x| u and Theta = 2 K. At opposite points all is flat. */
static void tips_and_opposites(void **unused)
{
    (void)unused;
    double y[D] = {1, -2, 0.5, 3}, other[D], one = 1, got[D];
    far_kernel *k = kernel_of("dense(nobias) relu dense(nobias)", FAR_PARAM_NTK);
    gradient(ctx, k, FAR_KERNEL_NTK, y, 1, y, 1, &one, 1, got);
    for (int j = 0; j < D; j++) {
        assert_near(got[j], 2 * y[j] / D, 1e-14);
        other[j] = -y[j];
    }
    gradient(ctx, k, FAR_KERNEL_NTK, other, 1, y, 1, &one, 1, got);
    for (int j = 0; j < D; j++) {
        assert_near(got[j], 0, 1e-14);
    }
    far_kernel_destroy(k);
}

/* Odd activations without bias: V(x, -y) = -V(x, y), also where a sine tells angles of 1e-7. */
static void odd_networks_are_odd(void **unused)
{
    (void)unused;
    double y[D] = {1e6, -2e6, 5e5, 3e6}, other[D], one = 1, got[2][D];
    far_kernel *k =
        kernel_of("dense(nobias) sin(w0=3) rms dense(nobias) erf dense(nobias)", FAR_PARAM_NTK);
    for (int j = 0; j < D; j++) {
        other[j] = -y[j];
    }
    gradient(ctx, k, FAR_KERNEL_NTK, y, 1, y, 1, &one, 1, got[0]);
    gradient(ctx, k, FAR_KERNEL_NTK, y, 1, other, 1, &one, 1, got[1]);
    for (int j = 0; j < D; j++) {
        assert_true(fabs(got[0][j]) > 1e5); /* Theta grows like |x|^2 in front of the sine */
        assert_near(got[1][j] / got[0][j], -1, 1e-12);
    }
    far_kernel_destroy(k);
}

/* At x = 0 in front of a bias: sum w K_s y / d with K_s the slope kernel at rho = b / sqrt(b^2 +
 * q). Without one there is no gradient. */
static void zero_rows(void **unused)
{
    (void)unused;
    double zero[D] = {0}, y[D] = {1, -2, 0.5, 3}, one = 1, got[D];
    far_kernel *k = kernel_of("dense(b=1) relu dense(nobias)", FAR_PARAM_NTK);
    far_kernel *free_zero = kernel_of("dense(nobias) relu dense(b=1)", FAR_PARAM_NTK);
    double q = (1 + 4 + 0.25 + 9) / D + 1, slope = 1 - acos(1 / sqrt(q)) / acos(-1);
    gradient(ctx, k, FAR_KERNEL_NNGP, zero, 1, y, 1, &one, 1, got);
    for (int j = 0; j < D; j++) {
        assert_near(got[j], slope * y[j] / D, 1e-14);
    }
    gradient(ctx, free_zero, FAR_KERNEL_NTK, zero, 1, y, 1, &one, 1, got);
    for (int j = 0; j < D; j++) {
        assert_true(got[j] == 0);
    }
    far_kernel_destroy(k);
    far_kernel_destroy(free_zero);
}

/* Behind a norm f is constant along rays far out; what is left falls like 1 / |x|. */
static void far_away(void **unused)
{
    (void)unused;
    double near[D] = {1e6, -2e6, 5e5, 3e6}, far[D], got[2][D];
    far_kernel *k = kernel_of("dense ln relu dense", FAR_PARAM_NTK);
    far_kernel *power = kernel_of("dense relu(8) dense relu(8) dense", FAR_PARAM_NTK);
    fill(7, b, N * D);
    fill(8, w, N);
    for (int j = 0; j < D; j++) {
        far[j] = 1e144 * near[j];
    }
    gradient(ctx, k, FAR_KERNEL_NTK, near, 1, b, N, w, 1, got[0]);
    gradient(ctx, k, FAR_KERNEL_NTK, far, 1, b, N, w, 1, got[1]);
    for (int j = 0; j < D; j++) {
        assert_true(got[1][j] != 0);
        assert_near(1e144 * got[1][j] / got[0][j], 1, 1e-5);
    }
    far_mat a = far_mat_view(far, 1, D, FAR_F64), o = far_mat_view(got[0], 1, D, FAR_F64);
    far_mat one = far_mat_view(w, 1, 1, FAR_F64);
    refused(far_kernel_gradient(ctx, power, FAR_KERNEL_NTK, &a, &a, &one, &o), FAR_ERR_RANGE,
            "row 1: the gradient is too large");
    far_kernel_destroy(power);
    far_kernel_destroy(k);
}

/* Against far_kernel_gradient with the identity for weights, also where the kernel has a kink. */
static void slopes_are_gradients_pair_by_pair(void **unused)
{
    (void)unused;
    static const char *const nets[] = {"dense relu dense", "ln(groups=2) dense gelu ln dense",
                                       "dense skip(ln relu dense) tanh dense"};
    enum { M = 5 };
    static double a[M * D], identity[N * N], all[M * N * D], got[M * N * D];
    double weights[M * N], sums[M * D];
    fill(21, a, M * D);
    fill(22, b, N * D);
    fill(23, weights, M * N);
    memcpy(a, b, D * sizeof *a);
    for (int i = 0; i < N; i++) {
        identity[i * N + i] = 1;
    }
    far_mat am = far_mat_view(a, M, D, FAR_F64), bm = far_mat_view(b, N, D, FAR_F64);
    far_mat wm = far_mat_view(weights, M, N, FAR_F64), sm = far_mat_view(sums, M, D, FAR_F64);
    far_mat gm = far_mat_view(got, M, N * D, FAR_F64);
    for (int t = 0; t < 6; t++) {
        far_kernel_kind kind = t % 2 ? FAR_KERNEL_NNGP : FAR_KERNEL_NTK;
        far_kernel *k = kernel_of(nets[t / 2], FAR_PARAM_NTK);
        gradient(ctx, k, kind, a, M, b, N, identity, N, all);
        must(far_kernel_slopes(ctx, k, kind, &am, &bm, NULL, &gm));
        must(far_kernel_slopes(ctx, k, kind, &am, &bm, &wm, &sm));
        for (int i = 0; i < M * N * D; i++) {
            assert_near(got[i], all[i], 1e-13 * (1 + fabs(all[i])));
        }
        for (int i = 0; i < M * D; i++) {
            double sum = 0;
            for (int o = 0; o < N; o++) {
                sum += weights[i / D * N + o] * all[(i / D * N + o) * D + i % D];
            }
            assert_near(sums[i], sum, 1e-12 * (1 + fabs(sum)));
        }
        far_kernel_destroy(k);
    }
}

static void flawed_slopes(void **unused)
{
    (void)unused;
    double v[D] = {1, 2, 3, NAN}, out[D], one = 1;
    far_kernel *k = kernel_of("dense relu dense", FAR_PARAM_NTK);
    far_mat a = far_mat_view(v, 1, 3, FAR_F64), bad = far_mat_view(v, 1, D, FAR_F64);
    far_mat weight = far_mat_view(&one, 1, 1, FAR_F64), o = far_mat_view(out, 1, 3, FAR_F64);
    far_mat wide = far_mat_view(out, 1, D, FAR_F64);
    far_kernel_kind ntk = FAR_KERNEL_NTK;
    must(far_kernel_slopes(ctx, k, ntk, &a, NULL, &weight, &o));
    refused(far_kernel_slopes(ctx, NULL, ntk, &a, NULL, NULL, &o), FAR_ERR_ARG, "NULL");
    refused(far_kernel_slopes(ctx, k, ntk, NULL, NULL, NULL, &o), FAR_ERR_ARG, "x1");
    refused(far_kernel_slopes(ctx, k, ntk, &a, &bad, NULL, &o), FAR_ERR_SHAPE, "x2 is");
    refused(far_kernel_slopes(ctx, k, ntk, &a, NULL, &a, &o), FAR_ERR_SHAPE, "weights is");
    refused(far_kernel_slopes(ctx, k, ntk, &a, NULL, NULL, &wide), FAR_ERR_SHAPE, "out is");
    refused(far_kernel_slopes(ctx, k, ntk, &bad, NULL, NULL, &wide), FAR_ERR_VALUE,
            "row 1, column 4 is nan");
    one = INFINITY;
    refused(far_kernel_slopes(ctx, k, ntk, &a, NULL, &weight, &o), FAR_ERR_VALUE, "weights");
    far_kernel_destroy(k);
}

static void flawed_calls(void **unused)
{
    (void)unused;
    double v[D] = {1, 2, 3, NAN}, out[D], one = 1;
    far_kernel *k = kernel_of("dense relu dense", FAR_PARAM_NTK);
    far_mat a = far_mat_view(v, 1, 3, FAR_F64), bad = far_mat_view(v, 1, D, FAR_F64);
    far_mat weight = far_mat_view(&one, 1, 1, FAR_F64), o = far_mat_view(out, 1, 3, FAR_F64);
    far_kernel_kind ntk = FAR_KERNEL_NTK;
    refused(far_kernel_gradient(ctx, NULL, ntk, &a, &a, &weight, &o), FAR_ERR_ARG, "NULL");
    refused(far_kernel_gradient(ctx, k, ntk, &a, &bad, &weight, &o), FAR_ERR_SHAPE, "b is");
    refused(far_kernel_gradient(ctx, k, ntk, &a, &a, &a, &o), FAR_ERR_SHAPE, "out is");
    refused(far_kernel_gradient(ctx, k, ntk, &bad, &a, &weight, &o), FAR_ERR_SHAPE, "b is");
    refused(far_kernel_gradient(ctx, k, ntk, &a, &bad, &weight, &bad), FAR_ERR_SHAPE, "b is");
    far_mat wide = far_mat_view(out, 1, D, FAR_F64);
    refused(far_kernel_gradient(ctx, k, ntk, &bad, &bad, &weight, &wide), FAR_ERR_VALUE,
            "row 1, column 4 is nan");
    one = INFINITY;
    refused(far_kernel_gradient(ctx, k, ntk, &a, &a, &weight, &o), FAR_ERR_VALUE, "weights");
    far_kernel_destroy(k);
}

/* ---- predictors ---------------------------------------------------------------------------- */

/* Against differences of far_predictor_eval, at rows with gaps between them. */
static void check_predictor(const far_predictor *p, const double *at, int64_t rows,
                            double tolerance)
{
    far_predictor_info info = far_predictor_describe(p);
    int64_t d = info.inputs, outputs = info.outputs, ld = outputs * d + 3, members;
    far_predictor *const *first = far_predictor_members(p, &members); /* whose units are raw */
    const far_columns *units = members ? far_predictor_columns(first[0]) : info.columns;
    double got[512], high[8], low[8], point[16];
    assert_true(rows * ld <= 512 && outputs <= 8 && d <= 16);
    far_mat m = far_mat_view((void *)at, rows, d, FAR_F64);
    far_mat g = {.data = got, .rows = rows, .cols = outputs * d, .ld = ld, .dtype = FAR_F64};
    must(far_model_gradient(ctx, p, &m, &g));
    far_mat one = far_mat_view(point, 1, d, FAR_F64);
    far_mat h = far_mat_view(high, 1, outputs, FAR_F64), l = far_mat_view(low, 1, outputs, FAR_F64);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < d; j++) {
            double step = 1e-5 * far_input_scale(units)[j];
            memcpy(point, at + i * d, (size_t)d * sizeof *point);
            point[j] = at[i * d + j] + step;
            must(far_predictor_eval(ctx, p, &one, &h));
            point[j] = at[i * d + j] - step;
            must(far_predictor_eval(ctx, p, &one, &l));
            for (int64_t k = 0; k < outputs; k++) {
                double want = (high[k] - low[k]) / (2 * step);
                double unit = far_output_scale(units)[k] / far_input_scale(units)[j];
                assert_near(got[i * ld + k * d + j], want, tolerance * (fabs(want) + unit));
            }
        }
    }
}

static const double PLACES[2 * INPUTS] = {0.31, 4.7, 2e-3, -0.8, 5.9, 5e-3};

static void predictors_of_every_kind(void **unused)
{
    (void)unused;
    far_frame *frame = table();
    far_predictor *members[2], *p = model(frame, "dense relu dense gelu dense"), *both;
    check_predictor(p, PLACES, 2, 1e-6);
    members[0] = p;
    members[1] = line(frame, NAN);
    check_predictor(members[1], PLACES, 2, 1e-6);
    must(far_predictor_committee(ctx, members, 2, &both));
    check_predictor(both, PLACES, 2, 1e-6);
    far_predictor_destroy(both);
    far_frame_destroy(frame);
}

static void models_behind_a_metric(void **unused)
{
    (void)unused;
    far_frame *frame = table();
    for (int kind = FAR_METRIC_DIAGONAL; kind <= FAR_METRIC_FULL; kind++) {
        far_fit_opts o;
        far_predictor *p;
        far_fit_opts_init(&o);
        o.target = "y";
        o.arch = "dense relu dense";
        o.ridge = 1e-3;
        o.metric = (far_metric_kind)kind;
        must(far_predictor_fit(ctx, frame, &o, &p));
        assert_int_equal(far_predictor_model(p)->metric.kind, kind);
        check_predictor(p, PLACES, 2, 1e-6);
        far_predictor_destroy(p);
    }
    far_frame_destroy(frame);
}

/* Three classes and a category among the inputs; several targets. */
static void classes_and_categories(void **unused)
{
    (void)unused;
    far_frame *frame;
    far_fit_opts o;
    far_predictor *p;
    char text[4096] = "a,kind,class,t\n";
    for (int i = 0; i < 60; i++) {
        double a = sin(i * 1.7);
        sprintf(text + strlen(text), "%.6f,%s,%s,%.6f\n", a, i % 3 ? "red" : "blue",
                a > 0.3         ? "high"
                : a + i % 3 > 1 ? "mid"
                                : "low",
                a * a);
    }
    write_text("t.csv", text);
    must(far_frame_read(ctx, "t.csv", NULL, NULL, &frame));
    remove("t.csv");
    far_fit_opts_init(&o);
    o.arch = "dense ln relu dense";
    o.ridge = 1e-2;
    double at[8] = {0.2, 1, 0, 0, -0.4, 0, 1, 1};
    o.target = "class";
    o.features = "a,kind";
    must(far_predictor_fit(ctx, frame, &o, &p));
    assert_int_equal(far_predictor_describe(p).outputs, 3);
    check_predictor(p, at, 2, 1e-6);
    far_predictor_destroy(p);
    o.target = "a,t";
    o.features = "kind";
    o.kernel = FAR_KERNEL_NNGP;
    must(far_predictor_fit(ctx, frame, &o, &p));
    check_predictor(p, at, 1, 1e-6);
    far_predictor_destroy(p);
    far_frame_destroy(frame);
}

static void finite_networks(void **unused)
{
    (void)unused;
    far_net *net;
    far_net_opts o;
    far_predictor *p;
    double tokens[4] = {0, 1, 2, 1}, out[8];
    far_net_opts_init(&o);
    o.inputs = 3;
    must(far_net_create(ctx, "dense(7) tanh dense(5) ln gelu dense(2)", &o, &net));
    must(far_predictor_of_net(ctx, net, &p));
    check_predictor(p, PLACES, 2, 1e-6);
    far_predictor_destroy(p);
    far_net_destroy(net);
    far_net_opts_init(&o);
    must(far_net_create(ctx, "tokens(4, 3) embed(4) flatten dense(2)", &o, &net));
    must(far_predictor_of_net(ctx, net, &p));
    far_mat m = far_mat_view(tokens, 1, 4, FAR_F64), g = far_mat_view(out, 1, 8, FAR_F64);
    refused(far_model_gradient(ctx, p, &m, &g), FAR_ERR_ARG, "tokens are whole numbers");
    far_predictor_destroy(p);
    far_net_destroy(net);
}

static void what_has_no_gradient_says_so(void **unused)
{
    (void)unused;
    far_frame *frame = table();
    far_predictor *p = line(frame, NAN);
    far_predictor_ops steps = *p->ops;
    const far_predictor_ops *own = p->ops;
    double out[INPUTS];
    far_mat m = far_mat_view((void *)PLACES, 1, INPUTS, FAR_F64);
    far_mat g = far_mat_view(out, 1, INPUTS, FAR_F64), small = far_mat_view(out, 1, 2, FAR_F64);
    assert_null(far_trees_ops.gradient);
    steps.gradient = NULL;
    steps.name = far_trees_ops.name;
    p->ops = &steps;
    refused(far_model_gradient(ctx, p, &m, &g), FAR_ERR_ARG, "trees have no gradient");
    p->ops = own;
    refused(far_model_gradient(ctx, NULL, &m, &g), FAR_ERR_ARG, "NULL");
    refused(far_model_gradient(ctx, p, &small, &g), FAR_ERR_SHAPE, "x is 1 x 2");
    refused(far_model_gradient(ctx, p, &m, &small), FAR_ERR_SHAPE, "out is 1 x 2");
    far_predictor_destroy(p);
    far_frame_destroy(frame);
}

/* ---- memory -------------------------------------------------------------------------------- */

static far_predictor *subject;

static far_status ask_subject(void)
{
    double out[2 * INPUTS];
    far_mat m = far_mat_view((void *)PLACES, 2, INPUTS, FAR_F64);
    far_mat g = far_mat_view(out, 2, INPUTS, FAR_F64);
    return far_model_gradient(ctx, subject, &m, &g);
}

static far_kernel *asked;

static far_status ask_slopes(void)
{
    double out[N * D];
    far_mat a = far_mat_view(b, 1, D, FAR_F64), at = far_mat_view(b, N, D, FAR_F64);
    far_mat o = far_mat_view(out, 1, N * D, FAR_F64);
    return far_kernel_slopes(ctx, asked, FAR_KERNEL_NTK, &a, &at, NULL, &o);
}

static void every_allocation_may_fail(void **unused)
{
    (void)unused;
    asked = kernel_of("ln dense relu dense", FAR_PARAM_NTK);
    fail_every_allocation(ask_slopes);
    far_kernel_destroy(asked);
    far_frame *frame = table();
    far_predictor *members[2] = {model(frame, "dense tanh dense"), line(frame, NAN)};
    must(far_predictor_committee(ctx, members, 2, &subject));
    fail_every_allocation(ask_subject);
    far_predictor_destroy(subject);
    far_frame_destroy(frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(gradients_are_what_differences_tend_to),
        TEST(rows_do_not_depend_on_company_or_threads),
        TEST(tips_and_opposites),
        TEST(odd_networks_are_odd),
        TEST(zero_rows),
        TEST(far_away),
        TEST(slopes_are_gradients_pair_by_pair),
        TEST(flawed_slopes),
        TEST(flawed_calls),
        TEST(predictors_of_every_kind),
        TEST(models_behind_a_metric),
        TEST(classes_and_categories),
        TEST(finite_networks),
        TEST(what_has_no_gradient_says_so),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
