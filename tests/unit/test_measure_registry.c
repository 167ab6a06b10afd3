/* Measures by name: each against the function behind it, shared work, and refusals. */

#include "measure_fixture.h"

#include "../../src/measure/registry.h"

enum { SIDE = 7, N = SIDE * SIDE };
static double kernel[N * N], targets[N], values[N], places[N * 2];

/* A kernel of places, an image with an edge, and values of a model. */
static far_measure_input whole_input(void)
{
    static far_mat y, f, x;
    fill_noise(values, N, 5);
    for (int i = 0; i < N; i++) {
        places[2 * i] = i % SIDE;
        places[2 * i + 1] = (double)(i / SIDE);
        targets[i] = (i % SIDE > 2) + 0.01 * i;
    }
    for (int i = 0; i < N * N; i++) {
        const double *a = places + i / N * 2, *b = places + i % N * 2;
        double square = pow(a[0] - b[0], 2) + pow(a[1] - b[1], 2);
        kernel[i] = exp(0.1 * (a[0] + b[0])) * (0.2 + exp(-square / 4));
    }
    y = mat(targets, N, 1);
    f = mat(values, N, 1);
    x = mat(places, N, 2);
    return (far_measure_input){view_of(kernel, N, 0), &y, &f, &x, FAR_LOSS_MSE};
}

static double measured(const far_measure_input *in, const char *text)
{
    far_measure m;
    double out;
    OK(far_measure_find(ctx, text, &m));
    assert_int_equal(m.values, 1);
    OK(far_measure_apply(ctx, in, &m, 1, &out));
    return out;
}

static void every_measure_is_described(void **state)
{
    (void)state;
    assert_true(far_measure_count() >= 25);
    for (int64_t i = 0; i < far_measure_count(); i++) {
        const far_measure_info *info = far_measure_at(i);
        assert_true(strlen(info->name) > 1 && strlen(info->line) > 10 && strlen(info->formula) > 5);
        assert_null(strchr(info->line, '\n'));
        for (int64_t j = 0; j < i; j++) {
            assert_string_not_equal(info->name, far_measure_at(j)->name);
        }
    }
    assert_null(far_measure_at(-1));
    assert_null(far_measure_at(far_measure_count()));
}

static void names_and_arguments(void **state)
{
    far_measure m;
    char label[FAR_MEASURE_LABEL];
    (void)state;
    OK(far_measure_find(ctx, "align:5", &m));
    assert_int_equal(m.values, 5);
    far_measure_label(&m, 2, label);
    assert_string_equal(label, "align3");
    OK(far_measure_find(ctx, "align", &m));
    assert_int_equal(m.values, 20);
    OK(far_measure_find(ctx, "cond:1e-4", &m));
    far_measure_label(&m, 0, label);
    assert_string_equal(label, "cond(0.0001)");
    OK(far_measure_find(ctx, "nu:20:150", &m));
    assert_near(m.argument[1], 150, 0);
    far_measure_label(&m, 0, label);
    assert_string_equal(label, "nu(20:150)");
    OK(far_measure_find(ctx, "MINC", &m));
    far_measure_label(&m, 0, label);
    assert_string_equal(label, "minC");
}

static void bad_names_are_refused_in_words(void **state)
{
    static const char *const bad[][2] = {
        {"kat", "did you mean \"kta\"?"},
        {"zzzzzzzz", "no measure \"zzzzzzzz\""},
        {"", "no measure"},
        {"cond", "cond:RIDGE, RIDGE not negative"},
        {"cond:-1", "RIDGE not negative"},
        {"kta:3", "it is written kta"},
        {"align:0", "K a whole number"},
        {"align:2.5", "K a whole number"},
        {"align:x", "K a whole number"},
        {"align:2:3", "K a whole number"},
        {"nu:20", "FROM:TO"},
        {"nu:20:10", "FROM < TO"},
        {"nu:1:2:3", "FROM:TO"},
        {"auc:1", "PART between 0 and 1"},
        {"cka:0", "positive"},
        {"eos", "eos:RATE"},
        {"align:", "K a whole number"},
        {"cond:nan", "RIDGE not negative"},
        {"align:1e30", "K a whole number"},
        {"align:nan", "K a whole number"},
        {"align:3x", "K a whole number"},
        {"cond:inf", "RIDGE not negative"},
        {"cka:inf", "positive"},
        {"cka:nan", "positive"},
        {"auc:0", "PART between 0 and 1"},
        {"auc:nan", "PART between 0 and 1"},
        {"nu:0:10", "FROM < TO"},
        {"nu:1:10.5", "FROM < TO"},
        {"averyveryverylongnamethatisnomeasureatall", "no measure"}};
    far_measure m;
    (void)state;
    for (int i = 0; i < COUNT(bad); i++) {
        assert_int_equal(far_measure_find(ctx, bad[i][0], &m), FAR_ERR_ARG);
        assert_message(bad[i][1]);
    }
    assert_int_equal(far_measure_find(ctx, NULL, &m), FAR_ERR_ARG);
}

static void lists_of_names(void **state)
{
    far_measure m[3];
    int64_t count;
    (void)state;
    OK(far_measure_find_all(ctx, "lmax,kta,align:20", m, 3, &count));
    assert_int_equal(count, 3);
    assert_string_equal(m[1].info->name, "kta");
    assert_int_equal(m[2].values, 20);
    assert_int_equal(far_measure_find_all(ctx, "lmax,kta,align:20", m, 2, &count), FAR_ERR_ARG);
    assert_message("\"align:20\" is one too many");
    assert_int_equal(far_measure_find_all(ctx, "lmax,,kta", m, 3, &count), FAR_ERR_ARG);
    assert_int_equal(far_measure_find_all(ctx, "lmax,", m, 3, &count), FAR_ERR_ARG);
    assert_int_equal(far_measure_find_all(ctx, NULL, m, 3, &count), FAR_ERR_ARG);
    assert_int_equal(far_measure_find_all(ctx, "lmax,kat", m, 3, &count), FAR_ERR_ARG);
    assert_message("did you mean");
    assert_int_equal(count, 0);
}

static void measures_are_the_functions_behind_them(void **state)
{
    far_measure_input in = whole_input();
    far_alignment a;
    far_condition c;
    far_spectrum s;
    far_local l;
    far_power p;
    double number;
    (void)state;
    OK(far_view_align(ctx, in.view, in.targets, &a));
    OK(far_view_condition(ctx, in.view, 0.5, &c));
    OK(far_view_spectrum(ctx, in.view, 0, 0, &s));
    OK(far_local_correlation(ctx, in.view, in.coordinates, 50, NULL, NULL, NULL, &l));
    OK(far_power_fit(ctx, NULL, s.values, N, 2, 10, &p));
    OK(far_view_first(ctx, in.view, NULL, &number));
    assert_near(measured(&in, "v0cos"), number, 1e-14);
    assert_near(measured(&in, "kta"), a.kta, 0);
    assert_near(measured(&in, "ckta"), a.centred_kta, 0);
    assert_near(measured(&in, "alpha"), a.rayleigh, 0);
    assert_near(measured(&in, "cond:0.5"), c.condition, 0);
    assert_near(measured(&in, "dim:0.5"), c.dimension, 0);
    assert_near(measured(&in, "rank"), c.participation, 0);
    assert_near(measured(&in, "lmax"), s.values[0] / N, 0);
    assert_near(measured(&in, "lmin"), s.values[N - 1] / N, 0);
    assert_near(measured(&in, "ratio"), s.values[1] / s.values[0], 0);
    assert_near(measured(&in, "eos:0.3"), 0.15 * s.values[0] / N, 1e-15);
    assert_near(measured(&in, "norm"), a.frobenius / N, 0);
    assert_near(measured(&in, "trace"), far_view_describe(in.view).trace / N, 0);
    assert_near(measured(&in, "nu:2:10"), p.exponent, 0);
    assert_near(measured(&in, "cinf"), l.c_inf, 0);
    assert_near(measured(&in, "xi"), l.xi, 0);
    assert_near(measured(&in, "minC"), l.min_c, 0);
    assert_true(measured(&in, "kappa:2:10") > 0);
    far_view_destroy(in.view);
}

static void measures_of_targets_and_places(void **state)
{
    far_measure_input in = whole_input();
    double loss = 0, number, *b = malloc(sizeof(double) * N * N);
    far_mat other = mat(b, N, N);
    (void)state;
    for (int i = 0; i < N; i++) {
        loss += pow(targets[i] - values[i], 2) / (2 * N);
    }
    assert_near(measured(&in, "loss"), loss, 1e-14);
    OK(far_target_kernel(ctx, in.targets, 0.2, &other));
    OK(far_view_cka(ctx, in.view, &other, &number));
    assert_near(measured(&in, "cka:0.2"), number, 0);
    free(b);
    /* K(x, x) = 1.2 exp(0.2 x): log |g| has slope 0.1. */
    assert_near(measured(&in, "magma"), 0.1, 1e-12);
    double edges = measured(&in, "gradcorr");
    assert_true(edges > -1 && edges < 1 && edges != 0);
    double auc = measured(&in, "auc:0.3");
    assert_true(auc > 0 && auc < 1);
    assert_near(measured(&in, "residual:0"), 0, 1e-6);
    double mild = measured(&in, "residual:1"), strong = measured(&in, "residual:1e9");
    assert_true(mild > 0 && mild < 1);
    assert_near(strong, 1, 1e-6);
    far_view_destroy(in.view);
}

/* |u_1| high exactly on the edge: area 1. */
static void edges_are_found(void **state)
{
    far_measure_input in = whole_input();
    (void)state;
    far_view_destroy(in.view);
    memset(kernel, 0, sizeof kernel);
    for (int i = 0; i < N; i++) {
        kernel[i * N + i] = 1e-3;
        for (int j = 0; j < N; j++) {
            double a = i % SIDE == 2 || i % SIDE == 3 ? 1 : 0.1;
            double b = j % SIDE == 2 || j % SIDE == 3 ? 1 : 0.1;
            kernel[i * N + j] += a * b;
        }
        targets[i] = i % SIDE > 2;
    }
    in.view = view_of(kernel, N, 0);
    assert_near(measured(&in, "auc:0.3"), 1, 0);
    assert_near(measured(&in, "gradcorr"), 1, 1e-9);
    for (int i = 0; i < N; i++) {
        targets[i] = 1; /* no edges */
    }
    assert_true(isnan(measured(&in, "auc")));
    assert_true(isnan(measured(&in, "gradcorr")));
    assert_true(isnan(measured(&in, "ckta")));
    far_view_destroy(in.view);
}

/* The variance of gradients, from the gradients themselves, with two outputs a point. */
static void the_variance_of_gradients(void **state)
{
    enum { POINTS = 5, ROWS = 10, P = 3 };
    double g[ROWS * P], k[ROWS * ROWS], y[ROWS], f[ROWS], mean[P] = {0}, squares = 0;
    far_mat to_y = mat(y, ROWS, 1), to_f = mat(f, ROWS, 1);
    (void)state;
    fill_noise(g, ROWS * P, 1);
    fill_noise(y, ROWS, 2);
    fill_noise(f, ROWS, 3);
    for (int i = 0; i < ROWS * ROWS; i++) {
        k[i] = 0;
        for (int p = 0; p < P; p++) {
            k[i] += g[i / ROWS * P + p] * g[i % ROWS * P + p];
        }
    }
    for (int i = 0; i < POINTS; i++) {
        for (int p = 0; p < P; p++) {
            double one = 0;
            for (int c = 2 * i; c < 2 * i + 2; c++) {
                one += (y[c] - f[c]) * g[c * P + p];
            }
            mean[p] += one / POINTS;
            squares += one * one / POINTS;
        }
    }
    for (int p = 0; p < P; p++) {
        squares -= mean[p] * mean[p];
    }
    far_measure_input in = {view_of(k, ROWS, POINTS), &to_y, &to_f, NULL, FAR_LOSS_MSE};
    assert_near(measured(&in, "sigma"), squares, 1e-12);
    far_view_destroy(in.view);
}

/* Of logits: gradients of the cross-entropy itself, by its residual y - p. */
static void losses_of_classes(void **state)
{
    enum { POINTS = 5, ROWS = 15, OUTPUTS = 3, P = 7 };
    double g[ROWS * P], k[ROWS * ROWS], y[ROWS] = {0}, f[ROWS], r[ROWS], mean[P] = {0};
    double softmax = 0, logistic = 0, squares = 0;
    far_mat to_y = mat(y, ROWS, 1), to_f = mat(f, ROWS, 1);
    (void)state;
    fill_noise(g, ROWS * P, 1);
    fill_noise(f, ROWS, 3);
    for (int i = 0; i < ROWS * ROWS; i++) {
        k[i] = 0;
        for (int p = 0; p < P; p++) {
            k[i] += g[i / ROWS * P + p] * g[i % ROWS * P + p];
        }
    }
    for (int i = 0; i < POINTS; i++) {
        double whole = 0, pull[P] = {0};
        y[OUTPUTS * i + i % OUTPUTS] = 1;
        for (int c = OUTPUTS * i; c < OUTPUTS * (i + 1); c++) {
            whole += exp(f[c]);
            logistic -= log(y[c] > 0 ? 1 / (1 + exp(-f[c])) : 1 / (1 + exp(f[c]))) / ROWS;
        }
        for (int c = OUTPUTS * i; c < OUTPUTS * (i + 1); c++) {
            r[c] = y[c] - exp(f[c]) / whole;
            softmax -= y[c] * log(exp(f[c]) / whole) / POINTS;
            for (int p = 0; p < P; p++) {
                pull[p] += r[c] * g[c * P + p];
            }
        }
        for (int p = 0; p < P; p++) {
            mean[p] += pull[p] / POINTS;
            squares += pull[p] * pull[p] / POINTS;
        }
    }
    for (int p = 0; p < P; p++) {
        squares -= mean[p] * mean[p];
    }
    far_measure_input in = {view_of(k, ROWS, POINTS), &to_y, &to_f, NULL, FAR_LOSS_CE};
    assert_near(measured(&in, "loss"), softmax, 1e-14);
    assert_near(measured(&in, "sigma"), squares, 1e-12);
    in.loss = FAR_LOSS_BCE;
    assert_near(measured(&in, "loss"), logistic, 1e-14);
    far_view_destroy(in.view);
    /* of one output alone there is no softmax */
    far_measure m;
    double out;
    in = (far_measure_input){view_of(k, ROWS, ROWS), &to_y, &to_f, NULL, FAR_LOSS_CE};
    OK(far_measure_find(ctx, "sigma", &m));
    assert_int_equal(far_measure_apply(ctx, &in, &m, 1, &out), FAR_ERR_ARG);
    assert_message("of all outputs, not of one");
    far_view_destroy(in.view);
}

/* All at once are the same numbers, and the kernel is decomposed once. */
static void many_measures_share_the_work(void **state)
{
    static const char *const names[] = {"lmax",  "kta",      "align:4",
                                        "cum:4", "cond:0.1", "residual:1"};
    far_measure_input in = whole_input();
    far_measure m[6];
    double out[9], single[4];
    (void)state;
    for (int i = 0; i < 6; i++) {
        OK(far_measure_find(ctx, names[i], &m[i]));
    }
    OK(far_measure_apply(ctx, &in, m, 6, out));
    OK(far_measure_apply(ctx, &in, m + 2, 1, single));
    far_view *fresh = in.view;
    assert_near(out[0], measured(&in, "lmax"), 0);
    assert_near(out[1], measured(&in, "kta"), 0);
    for (int i = 0; i < 4; i++) {
        assert_near(out[2 + i], single[i], 0);
    }
    assert_near(out[6], out[2] + out[3] + out[4] + out[5], 1e-14);
    assert_near(out[7], measured(&in, "cond:0.1"), 1e-9 * out[7]);
    assert_near(out[8], measured(&in, "residual:1"), 0);
    far_spectrum s;
    int64_t calls = test_heap.calls;
    OK(far_view_spectrum(ctx, fresh, 0, 1, &s)); /* it is there */
    assert_int_equal(test_heap.calls, calls);
    OK(far_measure_apply(ctx, &in, m, 0, NULL));
    far_view_destroy(in.view);
}

static void more_eigenvectors_than_rows_are_missing(void **state)
{
    double k[4] = {2, 1, 1, 2}, y[2] = {1, 0}, out[3];
    far_mat to_y = mat(y, 2, 1);
    far_measure_input in = {view_of(k, 2, 0), &to_y, NULL, NULL, FAR_LOSS_MSE};
    far_measure m;
    (void)state;
    OK(far_measure_find(ctx, "align:3", &m));
    OK(far_measure_apply(ctx, &in, &m, 1, out));
    assert_near(out[0] + out[1], 1, 1e-14);
    assert_true(isnan(out[2]));
    OK(far_measure_find(ctx, "top:3", &m));
    OK(far_measure_apply(ctx, &in, &m, 1, out));
    assert_near(out[0], 1.5, 1e-14);
    assert_true(isnan(out[2]));
    far_view_destroy(in.view);
}

static void what_is_missing_is_named(void **state)
{
    far_measure_input whole = whole_input(), in = {whole.view, NULL, NULL, NULL, FAR_LOSS_MSE};
    far_measure m;
    double out, shorter[3] = {1, 2, 3};
    far_mat y = mat(shorter, 3, 1);
    (void)state;
    OK(far_measure_find(ctx, "kta", &m));
    assert_int_equal(far_measure_apply(ctx, &in, &m, 1, &out), FAR_ERR_ARG);
    assert_message("kta: needs targets");
    in.targets = &y;
    assert_int_equal(far_measure_apply(ctx, &in, &m, 1, &out), FAR_ERR_SHAPE);
    assert_message("kta: targets: 3 x 1, but the kernel has 49 rows");
    OK(far_measure_find(ctx, "xi", &m));
    assert_int_equal(far_measure_apply(ctx, &in, &m, 1, &out), FAR_ERR_ARG);
    assert_message("xi: needs coordinates");
    OK(far_measure_find(ctx, "loss", &m));
    assert_int_equal(far_measure_apply(ctx, &in, &m, 1, &out), FAR_ERR_ARG);
    assert_message("loss: needs the present values");
    places[0] = 0.3; /* no grid any more */
    OK(far_measure_find(ctx, "magma", &m));
    assert_int_equal(far_measure_apply(ctx, &whole, &m, 1, &out), FAR_ERR_VALUE);
    assert_message("magma: coordinates: the 49 points are no full grid");
    OK(far_measure_find(ctx, "nu:2:60", &m));
    assert_int_equal(far_measure_apply(ctx, &whole, &m, 1, &out), FAR_ERR_ARG);
    assert_message("nu: the window 2:60");
    far_measure foreign = m;
    foreign.info = NULL;
    assert_int_equal(far_measure_apply(ctx, &whole, &foreign, 1, &out), FAR_ERR_ARG);
    in.view = NULL;
    assert_int_equal(far_measure_apply(ctx, &in, &m, 1, &out), FAR_ERR_ARG);
    far_view_destroy(whole.view);
}

static void a_network_without_its_matrix(void **state)
{
    far_net_opts o;
    far_ntk_opts ntk;
    far_net *net;
    far_measure m;
    double x[13 * 3], y[13], out[5];
    far_mat at = mat(x, 13, 3), to_y = mat(y, 13, 1);
    far_measure_input in = {NULL, &to_y, NULL, NULL, FAR_LOSS_MSE};
    (void)state;
    fill_noise(x, 13 * 3, 1);
    fill_noise(y, 13, 2);
    far_net_opts_init(&o);
    ntk = (far_ntk_opts){.size = sizeof ntk};
    o.inputs = 3;
    OK(far_net_create(ctx, "dense(5) tanh dense(1)", &o, &net));
    OK(far_view_of_net(ctx, net, &at, &ntk, &in.view));
    OK(far_measure_find(ctx, "align:5", &m));
    OK(far_measure_apply(ctx, &in, &m, 1, out));
    assert_true(out[0] >= 0 && out[0] <= 1);
    assert_true(measured(&in, "lmax") > 0 && measured(&in, "alpha") > 0);
    OK(far_measure_find(ctx, "kta", &m));
    assert_int_equal(far_measure_apply(ctx, &in, &m, 1, out), FAR_ERR_ARG);
    assert_message("kta: needs the kernel matrix");
    far_view_destroy(in.view);
    far_net_destroy(net);
}

/* ---- memory -------------------------------------------------------------------------------- */

static far_measure_input tested;

/* Measure number i, with an argument where it takes one. */
static far_status find_with_argument(int64_t i, far_measure *m)
{
    static const char *const arguments[] = {"", ":4", ":0.1", ":2:9"};
    const far_measure_info *info = far_measure_at(i);
    const char *a = info->argument ? info->argument : "";
    int kind = !*a ? 0 : strcmp(a, "K") == 0 ? 1 : strchr(a, ':') ? 3 : 2;
    char text[40];
    snprintf(text, sizeof text, "%s%s", info->name, arguments[kind]);
    return far_measure_find(ctx, text, m);
}

static far_status measure_everything(void)
{
    far_measure_input in = tested;
    far_mat k = mat(kernel, N, N);
    far_measure m[28];
    double out[28 * 4];
    int64_t count = 0;
    far_status st = FAR_OK;
    for (int64_t i = 0; i < far_measure_count() && st == FAR_OK; i++) {
        st = find_with_argument(i, &m[count++]);
    }
    assert_true(count <= 28);
    st = st ? st : far_view_create(ctx, &k, 0, &in.view);
    st = st ? st : far_measure_apply(ctx, &in, m, count, out);
    far_view_destroy(in.view != tested.view ? in.view : NULL);
    return st;
}

static int64_t single;

/* By itself a measure makes the spectrum and the sums that others would have left it: within
 * far_measure_apply, and when asked directly. */
static far_status measure_one(bool directly)
{
    far_measure_input in = tested;
    far_work w = {.in = &in};
    far_mat k = mat(kernel, N, N);
    far_measure m;
    double out[4] = {0};
    in.view = NULL;
    far_status st = find_with_argument(single, &m);
    st = st ? st : far_view_create(ctx, &k, 0, &in.view);
    st = st         ? st
         : directly ? far_measure_entry_of(&m)->apply(ctx, &w, &m, out)
                    : far_measure_apply(ctx, &in, &m, 1, out);
    far_view_destroy(in.view);
    return st;
}

static far_status apply_one(void)
{
    return measure_one(false);
}

static far_status ask_one(void)
{
    return measure_one(true);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    tested = whole_input();
    fail_every_allocation(measure_everything);
    for (single = 0; single < far_measure_count(); single++) {
        fail_every_allocation(apply_one);
        fail_every_allocation(ask_one);
    }
    far_view_destroy(tested.view);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_measure_is_described),
        TEST(names_and_arguments),
        TEST(bad_names_are_refused_in_words),
        TEST(lists_of_names),
        TEST(measures_are_the_functions_behind_them),
        TEST(measures_of_targets_and_places),
        TEST(edges_are_found),
        TEST(the_variance_of_gradients),
        TEST(losses_of_classes),
        TEST(many_measures_share_the_work),
        TEST(more_eigenvectors_than_rows_are_missing),
        TEST(what_is_missing_is_named),
        TEST(a_network_without_its_matrix),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
