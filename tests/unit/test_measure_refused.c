/* Measures, tangent kernels and products: every argument that can be refused is, by its name, and
 * every allocation fails in turn. */
#include "../../src/base/base_internal.h"
#include "gram/gram.h"
#include "measure/measure_internal.h"
#include "measure/registry.h"
#include "solve/solve_internal.h"

#include <farfield/farfield.h>

#include "measure_fixture.h"

enum { N = 7, D = 2, P = 3 };

static double kernel[N * N], inputs[N * D], targets[N * P], results[N * N];

static void fill_all(void)
{
    random_kernel(N, N + 2, 1, kernel);
    fill_noise(inputs, N * D, 2);
    fill_noise(targets, N * P, 3);
}

static far_net *make_net(const char *arch)
{
    far_net_opts opts;
    far_net *net;
    far_net_opts_init(&opts);
    opts.inputs = D;
    OK(far_net_create(ctx, arch, &opts, &net));
    return net;
}

/* ---- spectral filters ---- */

static far_spectral filter_with(double ridge, double rate, double time)
{
    far_spectral s;
    far_spectral_init(&s);
    s.ridge = ridge;
    s.rate = rate;
    s.time = time;
    return s;
}

static void filters_want_numbers_that_make_sense(void **state)
{
    (void)state;
    fill_all();
    far_view *view = view_of(kernel, N, N);
    far_mat y = mat(targets, N, 1), out = mat(results, N, 1);
    far_spectral broken = filter_with(0.1, 0, 1);
    static const struct {
        double ridge, rate, time;
        const char *part;
    } BAD[] = {
        {-1, 0, 1, "ridge"},  {INFINITY, 0, 1, "ridge"},  {NAN, 0, 1, "ridge"},
        {0.1, -1, 1, "rate"}, {0.1, INFINITY, 1, "rate"}, {0.1, NAN, 1, "rate"},
    };
    broken.size = 1;
    refused(far_spectral_fit(ctx, view, &broken, &y, NULL, &out, NULL, NULL), FAR_ERR_ARG, "init");
    refused(far_spectral_fit(ctx, view, NULL, &y, NULL, &out, NULL, NULL), FAR_ERR_ARG, "init");
    for (int i = 0; i < COUNT(BAD); i++) {
        far_spectral s = filter_with(BAD[i].ridge, BAD[i].rate, BAD[i].time);
        refused(far_spectral_fit(ctx, view, &s, &y, NULL, &out, NULL, NULL), FAR_ERR_ARG,
                BAD[i].part);
    }
    far_view_destroy(view);
}

static void predictions_want_shapes_that_agree(void **state)
{
    (void)state;
    fill_all();
    far_mat cross = mat(kernel, 5, N), weights = mat(targets, N, P), out = mat(results, 5, P);
    far_mat start = mat(inputs, 5, 2), short_out = mat(results, 5, 2), narrow = mat(targets, 6, P);
    refused(far_spectral_predict(ctx, NULL, &weights, NULL, &out), FAR_ERR_ARG, "cross");
    refused(far_spectral_predict(ctx, &cross, NULL, NULL, &out), FAR_ERR_ARG, "weights");
    refused(far_spectral_predict(ctx, &cross, &weights, NULL, NULL), FAR_ERR_ARG, "out");
    refused(far_spectral_predict(ctx, &cross, &narrow, NULL, &out), FAR_ERR_SHAPE, "cross");
    refused(far_spectral_predict(ctx, &cross, &weights, NULL, &short_out), FAR_ERR_SHAPE, "out");
    refused(far_spectral_predict(ctx, &cross, &weights, &start, &out), FAR_ERR_SHAPE, "start");
    OK(far_spectral_predict(ctx, &cross, &weights, NULL, &out));
    for (int i = 0; i < 5; i++) {
        double sum = 0;
        for (int k = 0; k < N; k++) {
            sum += kernel[i * N + k] * targets[k * P + 1];
        }
        assert_near(results[i * P + 1], sum, 1e-13);
    }
    kernel[3] = NAN;
    refused(far_spectral_predict(ctx, &cross, &weights, NULL, &out), FAR_ERR_VALUE, "cross: row 1");
    kernel[3] = 0;
    start = mat(kernel, 5, P);
    kernel[4] = INFINITY;
    cross = mat(kernel + P * 5 + 10, 2, N);
    start.rows = 2;
    out = mat(results, 2, P);
    refused(far_spectral_predict(ctx, &cross, &weights, &start, &out), FAR_ERR_VALUE,
            "start: row 2");
}

/* ---- products ---- */

static far_status identity_block(far_ctx *own, void *user, int64_t row, int64_t col, far_mat *out)
{
    (void)own;
    (void)user;
    for (int64_t i = 0; i < out->rows; i++) {
        for (int64_t j = 0; j < out->cols; j++) {
            ((double *)far_mat_row(out, i))[j] = row + i == col + j;
        }
    }
    return FAR_OK;
}

static void products_want_float64_of_one_shape(void **state)
{
    (void)state;
    fill_all();
    float small[4] = {0};
    far_mat a = mat(kernel, 2, 3), b = mat(inputs, 3, 2), out = mat(results, 2, 2);
    far_mat f = far_mat_view(small, 2, 2, FAR_F32), odd = mat(results, 2, 3), none = a;
    far_mat tall = mat(results, 3, 2);
    far_symmetric one = {.n = 3, .block = identity_block};
    none.data = NULL;
    refused(far_multiply(ctx, NULL, &b, &out), FAR_ERR_ARG, "a");
    refused(far_multiply(ctx, &none, &b, &out), FAR_ERR_ARG, "a");
    refused(far_multiply(ctx, &a, NULL, &out), FAR_ERR_ARG, "b");
    refused(far_multiply(ctx, &a, &b, NULL), FAR_ERR_ARG, "out");
    refused(far_multiply(ctx, &f, &b, &out), FAR_ERR_ARG, "float64");
    refused(far_multiply(ctx, &a, &f, &out), FAR_ERR_ARG, "float64");
    refused(far_multiply(ctx, &a, &b, &f), FAR_ERR_ARG, "float64");
    refused(far_multiply(ctx, &a, &a, &out), FAR_ERR_SHAPE, "2 x 3 times 2 x 3 into 2 x 2");
    refused(far_multiply(ctx, &a, &b, &odd), FAR_ERR_SHAPE, "into 2 x 3");
    refused(far_multiply(ctx, &a, &b, &tall), FAR_ERR_SHAPE, "into 3 x 2");
    assert_int_equal(far_symmetric_multiply(NULL, &one, &b, &tall), FAR_ERR_ARG);
    refused(far_symmetric_multiply(ctx, NULL, &b, &tall), FAR_ERR_ARG, "matrix");
    refused(far_symmetric_multiply(ctx, &one, &a, &tall), FAR_ERR_SHAPE, "b");
    refused(far_symmetric_multiply(ctx, &one, &b, &out), FAR_ERR_SHAPE, "out");
    OK(far_symmetric_multiply(ctx, &one, &b, &tall));
    assert_memory_equal(results, inputs, 6 * sizeof(double));
}

/* ---- tangent kernels by products ---- */

static void products_of_networks_want_their_options(void **state)
{
    (void)state;
    fill_all();
    far_net *net = make_net("dense(3) tanh dense(2)");
    far_ntk_opts o;
    o = (far_ntk_opts){.size = sizeof o};
    o.outputs = FAR_NTK_FULL;
    float small[N * D] = {0};
    far_mat x = mat(inputs, N, D), v = mat(targets, 2 * N, 1), out = mat(results, 2 * N, 1);
    far_mat f = far_mat_view(small, N, D, FAR_F32), values = mat(results, 2, 1),
            odd = mat(results, 3, 1);
    far_ntk_opts broken = o, one = o;
    broken.size = 3;
    one.outputs = FAR_NTK_ONE;
    refused(far_net_ntk_multiply(ctx, net, &x, NULL, &v, &out), FAR_ERR_ARG,
            "sizeof(far_ntk_opts)");
    refused(far_net_ntk_multiply(ctx, net, &x, &broken, &v, &out), FAR_ERR_ARG,
            "sizeof(far_ntk_opts)");
    refused(far_net_ntk_multiply(ctx, net, &f, &o, &v, &out), FAR_ERR_ARG, "float64");
    refused(far_net_ntk_multiply(ctx, net, &x, &o, &odd, &out), FAR_ERR_SHAPE, "v");
    refused(far_net_ntk_multiply(ctx, net, &x, &o, &v, &odd), FAR_ERR_SHAPE, "out");
    one.output = 2;
    refused(far_net_ntk_multiply(ctx, net, &x, &one, &v, &out), FAR_ERR_ARG, "output 2");
    one.output = -1;
    refused(far_net_ntk_multiply(ctx, net, &x, &one, &v, &out), FAR_ERR_ARG, "output -1");
    refused(far_net_ntk_eigen(ctx, net, &x, &broken, 2, &values, NULL), FAR_ERR_ARG, "sizeof");
    refused(far_net_ntk_eigen(ctx, net, &x, &o, 2, &odd, NULL), FAR_ERR_SHAPE, "values");
    refused(far_net_ntk_eigen(ctx, net, &x, &o, 2, &values, &odd), FAR_ERR_SHAPE, "vectors");
    refused(far_net_ntk_eigen(ctx, net, &x, &o, 2 * N, &values, NULL), FAR_ERR_ARG, "eigenvalues");
    far_net_destroy(net);
}

static far_net *shared_net;

static far_status multiply_by_network(void)
{
    far_ntk_opts o;
    o = (far_ntk_opts){.size = sizeof o};
    o.outputs = FAR_NTK_ONE;
    o.output = 1;
    far_mat x = mat(inputs, N, D), v = mat(targets, N, 2), out = mat(results, N, 2);
    return far_net_ntk_multiply(ctx, shared_net, &x, &o, &v, &out);
}

static far_status eigen_of_network(void)
{
    far_ntk_opts o;
    o = (far_ntk_opts){.size = sizeof o};
    o.outputs = FAR_NTK_ONE;
    far_mat x = mat(inputs, N, D), values = mat(results, 2, 1), vectors = mat(results + 2, N, 2);
    return far_net_ntk_eigen(ctx, shared_net, &x, &o, 2, &values, &vectors);
}

static far_status measure_network(void)
{
    far_measure measures[16];
    int64_t count = 0;
    far_view *view = NULL;
    far_ntk_opts o;
    o = (far_ntk_opts){.size = sizeof o};
    o.outputs = FAR_NTK_ONE;
    far_mat x = mat(inputs, N, D);
    far_status st = far_measure_find_all(ctx, "lmax", measures, 16, &count);
    st = st == FAR_OK ? far_view_of_net(ctx, shared_net, &x, &o, &view) : st;
    if (st == FAR_OK) {
        far_measure_input in = {.view = view};
        st = far_measure_apply(ctx, &in, measures, count, results);
    }
    far_view_destroy(view);
    return st;
}

static void every_allocation_of_products_can_fail(void **state)
{
    (void)state;
    fill_all();
    shared_net = make_net("dense(3) tanh dense(2)");
    fail_every_allocation(multiply_by_network);
    fail_every_allocation(eigen_of_network);
    fail_every_allocation(measure_network);
    far_net_destroy(shared_net);
}

static const char *measures_asked;

static far_status measure_kernel(void)
{
    far_measure measures[16];
    int64_t count = 0;
    far_view *view = NULL;
    far_mat k = mat(kernel, N, N), y = mat(targets, N, P);
    far_status st = far_measure_find_all(ctx, measures_asked, measures, 16, &count);
    st = st == FAR_OK ? far_view_create(ctx, &k, N, &view) : st;
    if (st == FAR_OK) {
        far_measure_input in = {.view = view, .targets = &y};
        st = far_measure_apply(ctx, &in, measures, count, results);
    }
    far_view_destroy(view);
    return st;
}

static void every_allocation_of_measures_can_fail(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"lmax",   "top:3",   "eos:0.1", "ratio", "lmin",
                                        "cond:1", "dim:0.1", "rank",    "kta",   "ckta",
                                        "cum:2",  "align:2", "nu:1:6",  "trace"};
    fill_all();
    for (int i = 0; i < COUNT(NAMES); i++) {
        far_measure known;
        if (far_measure_find(ctx, NAMES[i], &known) != FAR_OK) {
            fail_msg("%s", far_ctx_message(ctx));
        }
        measures_asked = NAMES[i];
        fail_every_allocation(measure_kernel);
    }
}

static void alignments_of_kernels_want_a_matrix(void **state)
{
    (void)state;
    fill_all();
    double cka, flat[N * N];
    far_net *net = make_net("dense(3) tanh dense(1)");
    far_ntk_opts o;
    o = (far_ntk_opts){.size = sizeof o};
    far_mat x = mat(inputs, N, D), square = mat(kernel, N, N), y = mat(targets, N, P);
    far_mat out = mat(results, N, N), level = mat(flat, N, N);
    far_view *view = view_of(kernel, N, N), *of_net;
    OK(far_view_of_net(ctx, net, &x, &o, &of_net));
    refused(far_view_cka(ctx, of_net, &square, &cka), FAR_ERR_ARG, "CKA");
    OK(far_view_cka(ctx, view, &square, &cka));
    assert_near(cka, 1, 1e-12);
    for (int i = 0; i < N * N; i++) {
        flat[i] = 3;
    }
    OK(far_view_cka(ctx, view, &level, &cka));
    assert_true(isnan(cka));
    static const double WIDTHS[] = {0, -1, INFINITY, NAN};
    for (int i = 0; i < COUNT(WIDTHS); i++) {
        refused(far_target_kernel(ctx, &y, WIDTHS[i], &out), FAR_ERR_ARG, "width");
    }
    refused(far_target_kernel(ctx, NULL, 1, &out), FAR_ERR_ARG, "targets");
    targets[1] = NAN;
    refused(far_target_kernel(ctx, &y, 1, &out), FAR_ERR_VALUE, "targets: row 1, column 2");
    far_view_destroy(view);
    far_view_destroy(of_net);
    far_net_destroy(net);
}

/* ---- local structure ---- */

static far_status squared_distance(far_ctx *own, void *user, const far_mat *a, const far_mat *b,
                                   far_mat *out)
{
    (void)own;
    far_status *st = user;
    for (int64_t i = 0; i < a->rows; i++) {
        for (int64_t j = 0; j < b->rows; j++) {
            double sum = 0;
            for (int64_t k = 0; k < a->cols; k++) {
                double gap = ((double *)far_mat_row(a, i))[k] - ((double *)far_mat_row(b, j))[k];
                sum += gap * gap;
            }
            ((double *)far_mat_row(out, i))[j] = exp(-sum);
        }
    }
    return *st;
}

static void jets_want_points_and_room(void **state)
{
    (void)state;
    fill_all();
    far_status answer = FAR_OK;
    far_mat x = mat(inputs, N, D), a2 = mat(results, N, 1), d = mat(results + N, N, D);
    far_mat h = mat(kernel, N, D * D), odd = mat(results, N, 3);
    static const double STEPS[] = {0, -1, INFINITY, NAN};
    for (int i = 0; i < COUNT(STEPS); i++) {
        refused(far_jets_of(ctx, squared_distance, &answer, &x, STEPS[i], &a2, &d, &h), FAR_ERR_ARG,
                "step");
    }
    refused(far_jets_of(ctx, squared_distance, &answer, NULL, 1e-3, &a2, &d, &h), FAR_ERR_ARG, "x");
    refused(far_jets_of(ctx, squared_distance, &answer, &x, 1e-3, &odd, &d, &h), FAR_ERR_SHAPE,
            "a2");
    refused(far_jets_of(ctx, squared_distance, &answer, &x, 1e-3, &a2, &odd, &h), FAR_ERR_SHAPE,
            "d");
    refused(far_jets_of(ctx, squared_distance, &answer, &x, 1e-3, &a2, &d, &odd), FAR_ERR_SHAPE,
            "h");
    OK(far_jets_of(ctx, squared_distance, &answer, &x, 1e-3, &a2, &d, &h));
    assert_near(results[0], 1, 1e-12); /* exp(0) */
    assert_near(kernel[0], 2, 1e-4);   /* d/dx d/dx' exp(-|x - x'|^2) */
    assert_near(results[N], 0, 1e-6);
    answer = FAR_ERR_VALUE;
    assert_int_equal(far_jets_of(ctx, squared_distance, &answer, &x, 1e-3, &a2, &d, &h),
                     FAR_ERR_VALUE);
    answer = FAR_OK;
    inputs[3] = NAN;
    refused(far_jets_of(ctx, squared_distance, &answer, &x, 1e-3, &a2, &d, &h), FAR_ERR_VALUE,
            "x: row 2");
}

static void cauchy_wants_a_positive_form(void **state)
{
    (void)state;
    const double gradient[2] = {0.1, 0.2}, flat[4] = {0}, good[4] = {2, 0, 0, 3},
                 huge[4] = {INFINITY, 0, 0, 1};
    far_cauchy out;
    refused(far_local_cauchy(ctx, 0, 1, gradient, good, 0, &out), FAR_ERR_ARG, "a jet of");
    refused(far_local_cauchy(ctx, 2, 0, gradient, good, 0, &out), FAR_ERR_ARG, "a jet of");
    refused(far_local_cauchy(ctx, 2, INFINITY, gradient, good, 0, &out), FAR_ERR_ARG, "a jet of");
    refused(far_local_cauchy(ctx, 2, 1, gradient, good, 1, &out), FAR_ERR_ARG, "c_inf");
    refused(far_local_cauchy(ctx, 2, 1, gradient, good, -1, &out), FAR_ERR_ARG, "c_inf");
    assert_int_not_equal(far_local_cauchy(ctx, 2, 1, gradient, flat, 0, &out), FAR_OK);
    assert_int_not_equal(far_local_cauchy(ctx, 2, 1, gradient, huge, 0, &out), FAR_OK);
    OK(far_local_cauchy(ctx, 2, 1, gradient, good, 0, &out));
    assert_near(out.delta, 0.1 * 0.1 / 2 + 0.2 * 0.2 / 3, 1e-15);
}

static void correlations_want_coordinates_and_a_diagonal(void **state)
{
    (void)state;
    fill_all();
    double distance[4], mean[4], cosine;
    int64_t counts[4];
    far_local out;
    far_net *net = make_net("dense(3) tanh dense(1)");
    far_ntk_opts o;
    o = (far_ntk_opts){.size = sizeof o};
    far_mat x = mat(inputs, N, D), odd = mat(inputs, N - 1, D), none = mat(inputs, N, 0);
    far_mat square = mat(results, N, N), small = mat(results, N, 1);
    far_view *view = view_of(kernel, N, N), *of_net;
    OK(far_view_of_net(ctx, net, &x, &o, &of_net));
    refused(far_local_correlation(ctx, of_net, &x, 4, distance, mean, counts, &out), FAR_ERR_ARG,
            "");
    refused(far_view_cosine(ctx, of_net, &square), FAR_ERR_ARG, "cosine");
    refused(far_view_cosine(ctx, view, &small), FAR_ERR_SHAPE, "out");
    refused(far_local_correlation(ctx, view, &odd, 4, distance, mean, counts, &out), FAR_ERR_SHAPE,
            "");
    refused(far_local_correlation(ctx, view, &none, 4, distance, mean, counts, &out), FAR_ERR_SHAPE,
            "");
    refused(far_local_correlation(ctx, view, NULL, 4, distance, mean, counts, &out), FAR_ERR_ARG,
            "coordinates");
    refused(far_field_correlation(ctx, targets, NULL, 4, distance, mean, counts), FAR_ERR_ARG,
            "coordinates");
    OK(far_local_correlation(ctx, view, &x, 4, distance, mean, counts, NULL));
    OK(far_local_correlation(ctx, view, &x, 4, NULL, NULL, counts, &out));
    assert_int_equal(counts[0] + counts[1] + counts[2] + counts[3], N * (N - 1) / 2);
    OK(far_view_first(ctx, of_net, &small, &cosine));
    assert_true(cosine >= -1 - 1e-12 && cosine <= 1 + 1e-12);
    far_view_destroy(view);
    kernel[0] = -1;
    view = view_of(kernel, N, N);
    refused(far_local_correlation(ctx, view, &x, 4, distance, mean, counts, &out), FAR_ERR_VALUE,
            "diagonal");
    inputs[1] = INFINITY;
    refused(far_field_correlation(ctx, targets, &x, 4, distance, mean, counts), FAR_ERR_VALUE,
            "coordinates: row 1");
    far_view_destroy(view);
    far_view_destroy(of_net);
    far_net_destroy(net);
}

static void views_want_a_kernel_or_a_network(void **state)
{
    (void)state;
    fill_all();
    far_view *view;
    far_mat k = mat(kernel, N, N), wide = mat(kernel, N - 1, N), x = mat(inputs, N, D);
    far_mat none = mat(inputs, 0, D), narrow = mat(inputs, N, D - 1);
    static const int64_t POINTS[] = {-1, N + 1, 3};
    refused(far_view_create(ctx, &wide, 0, &view), FAR_ERR_SHAPE, "is not square");
    for (int i = 0; i < COUNT(POINTS); i++) {
        refused(far_view_create(ctx, &k, POINTS[i], &view), FAR_ERR_SHAPE, "are no multiple of");
    }
    far_net *net = make_net("dense(3) tanh dense(2)");
    far_ntk_opts o, broken = {0};
    o = (far_ntk_opts){.size = sizeof o};
    refused(far_view_of_net(ctx, NULL, &x, &o, &view), FAR_ERR_ARG, "network is NULL");
    refused(far_view_of_net(ctx, net, &x, NULL, &view), FAR_ERR_ARG, "sizeof(far_ntk_opts)");
    refused(far_view_of_net(ctx, net, &x, &broken, &view), FAR_ERR_ARG, "sizeof(far_ntk_opts)");
    refused(far_view_of_net(ctx, net, &x, &o, &view), FAR_ERR_ARG, "the trace over 2 outputs");
    o.outputs = FAR_NTK_FULL;
    refused(far_view_of_net(ctx, net, &none, &o, &view), FAR_ERR_SHAPE, "x has no rows");
    refused(far_view_of_net(ctx, net, &narrow, &o, &view), FAR_ERR_SHAPE, "x is");
    inputs[1] = NAN;
    refused(far_view_of_net(ctx, net, &x, &o, &view), FAR_ERR_VALUE, "nan");
    far_net_destroy(net);
}

/* A kernel of N points with two outputs each: what fits is said. */
static void targets_want_a_row_for_each_of_the_kernels(void **state)
{
    (void)state;
    fill_all();
    double whole[4 * N * N];
    random_kernel(2 * N, 2 * N, 5, whole);
    far_view *view = view_of(whole, 2 * N, N);
    far_mat by_point = mat(targets, N, 2), other = mat(targets, N - 1, 2),
            out = mat(results, 14, 1);
    far_mat right = mat(targets, 2 * N, 1), start = mat(targets, N, 1);
    far_spectral s = filter_with(0.1, 0, 1);
    refused(far_spectral_fit(ctx, view, &s, &by_point, NULL, &out, NULL, NULL), FAR_ERR_SHAPE,
            "give them as one column");
    refused(far_spectral_fit(ctx, view, &s, &other, NULL, &out, NULL, NULL), FAR_ERR_SHAPE,
            "but the kernel has 14 rows");
    refused(far_spectral_fit(ctx, view, &s, &right, &start, &out, NULL, NULL), FAR_ERR_SHAPE,
            "start: 7 x 1");
    targets[3] = NAN;
    refused(far_spectral_fit(ctx, view, &s, &right, NULL, &out, NULL, NULL), FAR_ERR_VALUE, "nan");
    far_view_destroy(view);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(filters_want_numbers_that_make_sense),
        TEST(predictions_want_shapes_that_agree),
        TEST(products_want_float64_of_one_shape),
        TEST(products_of_networks_want_their_options),
        TEST(every_allocation_of_products_can_fail),
        TEST(every_allocation_of_measures_can_fail),
        TEST(alignments_of_kernels_want_a_matrix),
        TEST(jets_want_points_and_room),
        TEST(cauchy_wants_a_positive_form),
        TEST(correlations_want_coordinates_and_a_diagonal),
        TEST(views_want_a_kernel_or_a_network),
        TEST(targets_want_a_row_for_each_of_the_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
