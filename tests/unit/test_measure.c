/* Views, spectra, alignment and spectral filters: by hand, by identities, against explicit
 * training. */
#include "measure/measure_internal.h"
#include "measure_fixture.h"

/* ---- views --------------------------------------------------------------------------------- */

static double by_hand[4] = {2, 1, 1, 2};

static void a_view_by_hand(void **state)
{
    far_view *v = view_of(by_hand, 2, 0);
    far_view_info info = far_view_describe(v);
    (void)state;
    assert_int_equal(info.rows, 2);
    assert_int_equal(info.points, 2);
    assert_int_equal(info.outputs, 1);
    assert_near(info.trace, 4, 0);
    assert_near(info.frobenius, sqrt(10), 1e-15);
    assert_near(info.centred_frobenius, 1, 1e-15);
    assert_near(info.asymmetry, 0, 0);
    far_spectrum s;
    OK(far_view_spectrum(ctx, v, 0, 1, &s));
    assert_near(s.values[0], 3, 1e-14);
    assert_near(s.values[1], 1, 1e-14);
    assert_near(s.vectors[0], sqrt(0.5), 1e-14);
    assert_near(s.vectors[1], sqrt(0.5), 1e-14);
    assert_near(s.vectors[2] + s.vectors[3], 0, 1e-14);
    far_view_destroy(v);
    far_view_destroy(NULL);
}

static void bad_kernels_are_refused_in_words(void **state)
{
    double k[9] = {1, 0.5, 0, 0.5, 1, 0.25, 0, 0.75, 1};
    far_mat m = mat(k, 3, 3), wide = mat(k, 1, 3), empty = mat(k, 0, 0);
    far_view *v;
    (void)state;
    assert_int_equal(far_view_create(ctx, &m, 0, &v), FAR_ERR_VALUE);
    assert_null(v);
    assert_message("not symmetric; row 3, column 2 is 0.75, but row 2, column 3 is 0.25");
    assert_int_equal(far_view_create(ctx, &wide, 0, &v), FAR_ERR_SHAPE);
    assert_message("1 x 3 is not square");
    assert_int_equal(far_view_create(ctx, &empty, 0, &v), FAR_ERR_SHAPE);
    k[7] = 0.25;
    assert_int_equal(far_view_create(ctx, &m, 2, &v), FAR_ERR_SHAPE);
    assert_message("3 rows are no multiple of 2 points");
    k[4] = NAN;
    assert_int_equal(far_view_create(ctx, &m, 0, &v), FAR_ERR_VALUE);
    assert_message("row 2, column 2");
    assert_int_equal(far_view_create(ctx, NULL, 0, &v), FAR_ERR_ARG);
    m.dtype = FAR_F32;
    assert_int_equal(far_view_create(ctx, &m, 0, &v), FAR_ERR_ARG);
}

static void rounding_is_no_asymmetry(void **state)
{
    double k[4] = {1, 0.3, 0.3 + 1e-12, 1};
    far_view *v = view_of(k, 2, 0);
    (void)state;
    assert_true(far_view_describe(v).asymmetry > 1e-13);
    far_view_destroy(v);
}

static void semidefinite_or_not(void **state)
{
    double bad[4] = {1, 2, 2, 1}, k[13 * 13];
    far_view *v = view_of(bad, 2, 0);
    far_condition c;
    (void)state;
    OK(far_view_condition(ctx, v, 0, &c));
    assert_near(c.least, -1, 1e-14);
    assert_near(c.largest, 3, 1e-14);
    far_view_destroy(v);
    random_kernel(13, 5, 1, k); /* singular: eigenvalues at rounding, of both signs */
    v = view_of(k, 13, 0);
    OK(far_view_condition(ctx, v, 0, &c));
    assert_true(c.least >= -FAR_VIEW_PSD * c.largest);
    far_view_destroy(v);
}

/* ---- spectra ------------------------------------------------------------------------------- */

static void condition_is_that_of_its_ridge(void **state)
{
    far_view *v = view_of(by_hand, 2, 0);
    far_condition c;
    (void)state;
    OK(far_view_condition(ctx, v, 0.5, &c));
    assert_near(c.ridge, 0.5, 0);
    assert_near(c.condition, 3.5 / 1.5, 1e-14);
    assert_near(c.dimension, 3 / 3.5 + 1 / 1.5, 1e-14);
    assert_near(c.participation, 1.6, 1e-14);
    assert_int_equal(far_view_condition(ctx, v, -1, &c), FAR_ERR_ARG);
    assert_int_equal(far_view_condition(ctx, v, NAN, &c), FAR_ERR_ARG);
    far_view_destroy(v);
    double k[49];
    random_kernel(7, 3, 2, k);
    v = view_of(k, 7, 0);
    OK(far_view_condition(ctx, v, 0, &c));
    assert_true(isinf(c.condition));
    assert_near(c.dimension, 3, 1e-12);
    far_view_destroy(v);
}

static void few_eigenpairs_are_those_of_all(void **state)
{
    enum { N = 331, FEWER = 11 };
    double *k = malloc(sizeof(double) * N * N);
    far_spectrum all, few;
    (void)state;
    random_kernel(N, 37, 3, k);
    far_view *a = view_of(k, N, 0), *b = view_of(k, N, 0);
    OK(far_view_spectrum(ctx, a, 0, 1, &all));
    OK(far_view_spectrum(ctx, b, FEWER, 1, &few));
    assert_int_equal(few.count, FEWER);
    for (int j = 0; j < FEWER; j++) {
        assert_near(few.values[j], all.values[j], 1e-9 * all.values[0]);
        for (int i = 0; i < N; i++) {
            assert_near(few.vectors[j * N + i], all.vectors[j * N + i], 1e-7);
        }
    }
    far_view_destroy(a);
    far_view_destroy(b);
    free(k);
}

static void what_was_computed_is_kept(void **state)
{
    double k[17 * 17];
    far_spectrum s, again;
    (void)state;
    random_kernel(17, 19, 4, k);
    far_view *v = view_of(k, 17, 0);
    OK(far_view_spectrum(ctx, v, 0, 1, &s));
    int64_t calls = test_heap.calls;
    OK(far_view_spectrum(ctx, v, 5, 1, &again));
    assert_ptr_equal(again.vectors, s.vectors);
    OK(far_view_spectrum(ctx, v, 0, 0, &again));
    assert_null(again.vectors);
    assert_int_equal(test_heap.calls, calls);
    assert_int_equal(far_view_spectrum(ctx, v, 18, 0, &s), FAR_ERR_ARG);
    assert_int_equal(far_view_spectrum(ctx, v, -1, 0, &s), FAR_ERR_ARG);
    far_view_destroy(v);
}

/* ---- networks ------------------------------------------------------------------------------ */

enum { POINTS = 23, INPUTS = 5 };
static double inputs[POINTS * INPUTS];

static far_net *net_of(const char *text)
{
    far_net_opts o;
    far_net *net;
    far_net_opts_init(&o);
    o.inputs = INPUTS;
    o.seed = 7;
    fill_noise(inputs, POINTS * INPUTS, 11);
    OK(far_net_create(ctx, text, &o, &net));
    return net;
}

static void layers_add_up_within_weyl_intervals(void **state)
{
    double *k = malloc(sizeof(double) * POINTS * POINTS), spectra[3 * POINTS];
    double low[POINTS], high[POINTS];
    far_net *net = net_of("dense(7) tanh dense(11) tanh dense(1)");
    far_mat x = mat(inputs, POINTS, INPUTS), values = mat(spectra, 3, POINTS);
    far_mat kernel = mat(k, POINTS, POINTS);
    far_ntk_opts o;
    far_spectrum s;
    far_condition c;
    (void)state;
    o = (far_ntk_opts){.size = sizeof o};
    OK(far_layer_spectra(ctx, net, &x, &o, &values));
    for (int added = 0; added < 3; added++) { /* the two others, then all three */
        unsigned char two[3] = {1, 1, 1}, three[3] = {1, 1, 1};
        double before[POINTS], *layer = spectra + added * POINTS;
        two[added] = 0;
        o.layers = two;
        OK(far_net_ntk(ctx, net, &x, NULL, &o, &kernel));
        far_view *v = view_of(k, POINTS, 0);
        OK(far_view_spectrum(ctx, v, 0, 0, &s));
        memcpy(before, s.values, sizeof before);
        far_view_destroy(v);
        o.layers = three;
        OK(far_net_ntk(ctx, net, &x, NULL, &o, &kernel));
        v = view_of(k, POINTS, 0);
        OK(far_view_spectrum(ctx, v, 0, 0, &s));
        OK(far_weyl_intervals(ctx, before, POINTS, layer[POINTS - 1], layer[0], low, high));
        for (int i = 0; i < POINTS; i++) {
            assert_true(s.values[i] >= low[i] - 1e-9 && s.values[i] <= high[i] + 1e-9);
        }
        OK(far_view_condition(ctx, v, 0.1, &c));
        double bound = (high[0] + 0.1) / (low[POINTS - 1] + 0.1);
        assert_true(c.condition <= bound * (1 + 1e-9) && bound < 1e9);
        far_view_destroy(v);
    }
    static const double wrong[][3] = {{1, 2, 0}, {INFINITY, 1, 0}, {2, -INFINITY, 0}, {3, 2, NAN}};
    for (int i = 0; i < COUNT(wrong); i++) {
        assert_int_equal(far_weyl_intervals(ctx, wrong[i], 3, 0, 1, low, high), FAR_ERR_VALUE);
        assert_message("the largest first");
    }
    assert_int_equal(far_weyl_intervals(ctx, wrong[0], 0, 0, 1, low, high), FAR_ERR_VALUE);
    static const double ends[][2] = {{2, 1}, {-INFINITY, 1}, {0, INFINITY}, {NAN, 1}};
    for (int i = 0; i < COUNT(ends); i++) {
        assert_int_equal(far_weyl_intervals(ctx, wrong[0], 1, ends[i][0], ends[i][1], low, high),
                         FAR_ERR_VALUE);
        assert_message("the least eigenvalue is");
    }
    far_net_destroy(net);
    free(k);
}

static void layer_spectra_sum_to_the_trace(void **state)
{
    double spectra[3 * POINTS], k[POINTS * POINTS], sum = 0;
    far_net *net = net_of("dense(7) tanh dense(11) tanh dense(1)");
    far_mat x = mat(inputs, POINTS, INPUTS), values = mat(spectra, 3, POINTS);
    far_mat kernel = mat(k, POINTS, POINTS);
    far_ntk_opts o;
    (void)state;
    o = (far_ntk_opts){.size = sizeof o};
    OK(far_layer_spectra(ctx, net, &x, &o, &values));
    OK(far_net_ntk(ctx, net, &x, NULL, &o, &kernel));
    for (int i = 0; i < 3 * POINTS; i++) {
        sum += spectra[i];
    }
    far_view *v = view_of(k, POINTS, 0);
    assert_near(sum, far_view_describe(v).trace, 1e-10 * sum);
    unsigned char without[3] = {1, 0, 1};
    o.layers = without;
    OK(far_layer_spectra(ctx, net, &x, &o, &values));
    assert_true(spectra[POINTS] == 0 && spectra[0] > 0 && spectra[2 * POINTS] > 0);
    values.rows = 2;
    assert_int_equal(far_layer_spectra(ctx, net, &x, &o, &values), FAR_ERR_SHAPE);
    assert_int_equal(far_layer_spectra(ctx, NULL, &x, &o, &values), FAR_ERR_ARG);
    assert_int_equal(far_layer_spectra(ctx, net, &x, NULL, &values), FAR_ERR_ARG);
    far_view_destroy(v);
    far_net_destroy(net);
}

static void a_network_needs_no_matrix(void **state)
{
    enum { ROWS = 3 * POINTS, K = 5 };
    double *k = malloc(sizeof(double) * ROWS * ROWS), targets[ROWS], a[K], b[K];
    far_net *net = net_of("dense(13) tanh dense(3)");
    far_mat x = mat(inputs, POINTS, INPUTS), kernel = mat(k, ROWS, ROWS), y = mat(targets, ROWS, 1);
    far_ntk_opts o;
    far_view *without;
    far_alignment with_matrix, by_products;
    far_spectrum s, t;
    far_condition c;
    (void)state;
    o = (far_ntk_opts){.size = sizeof o};
    o.outputs = FAR_NTK_FULL;
    fill_noise(targets, ROWS, 21);
    OK(far_net_ntk(ctx, net, &x, NULL, &o, &kernel));
    OK(far_view_of_net(ctx, net, &x, &o, &without));
    far_view *with = view_of(k, ROWS, POINTS);
    assert_int_equal(far_view_describe(without).outputs, 3);
    assert_int_equal(far_view_describe(with).outputs, 3);
    OK(far_view_align(ctx, with, &y, &with_matrix));
    OK(far_view_align(ctx, without, &y, &by_products));
    assert_near(with_matrix.rayleigh, by_products.rayleigh, 1e-10 * with_matrix.rayleigh);
    assert_true(isnan(by_products.kta) && with_matrix.kta > 0);
    OK(far_view_cosines(ctx, with, &y, K, a, NULL));
    OK(far_view_cosines(ctx, without, &y, K, b, NULL));
    OK(far_view_spectrum(ctx, with, K, 1, &s));
    OK(far_view_spectrum(ctx, without, K, 1, &t));
    for (int i = 0; i < K; i++) {
        assert_near(s.values[i], t.values[i], 1e-8 * s.values[0]);
        assert_near(a[i], b[i], 1e-7);
    }
    far_view_destroy(without);
    OK(far_view_of_net(ctx, net, &x, &o, &without)); /* values alone */
    OK(far_view_spectrum(ctx, without, 2, 0, &t));
    assert_near(t.values[1], s.values[1], 1e-8 * s.values[0]);
    assert_int_equal(far_view_condition(ctx, without, 0, &c), FAR_ERR_ARG);
    assert_message("needs the matrix");
    far_view_destroy(with);
    far_view_destroy(without);
    o.outputs = FAR_NTK_TRACE;
    assert_int_equal(far_view_of_net(ctx, net, &x, &o, &without), FAR_ERR_ARG);
    assert_null(without);
    assert_int_equal(far_view_of_net(ctx, NULL, &x, &o, &without), FAR_ERR_ARG);
    assert_int_equal(far_view_of_net(ctx, net, &x, NULL, &without), FAR_ERR_ARG);
    far_net_destroy(net);
    free(k);
}

/* ---- alignment ----------------------------------------------------------------------------- */

static void alignment_by_hand(void **state)
{
    double same[2] = {1, 1}, opposite[2] = {1, -1}, one[2] = {1, 0};
    far_view *v = view_of(by_hand, 2, 0);
    far_mat y = mat(same, 2, 1);
    far_alignment a;
    (void)state;
    OK(far_view_align(ctx, v, &y, &a));
    assert_near(a.kta, 3 / sqrt(10), 1e-15);
    assert_true(isnan(a.centred_kta));
    assert_near(a.rayleigh, 3, 1e-15);
    y.data = opposite;
    OK(far_view_align(ctx, v, &y, &a));
    assert_near(a.kta, 1 / sqrt(10), 1e-15);
    assert_near(a.centred_kta, 1, 1e-14);
    y.data = one;
    OK(far_view_align(ctx, v, &y, &a));
    assert_near(a.kta, 2 / sqrt(10), 1e-15);
    double cosines[2], cumulative[2];
    OK(far_view_cosines(ctx, v, &y, 0, cosines, cumulative));
    assert_near(cosines[0], 0.5, 1e-14);
    assert_near(cumulative[1], 1, 1e-14);
    far_view_destroy(v);
}

/* KTA = sum lambda_i / |K|_F cos^2, and cosines of all add up to 1. */
static void kta_is_a_sum_over_eigenvectors(void **state)
{
    enum { N = 29 };
    double k[N * N], targets[N], cosines[N], cumulative[N], sum = 0;
    far_mat y = mat(targets, N, 1);
    far_alignment a;
    far_spectrum s;
    (void)state;
    random_kernel(N, 31, 5, k);
    fill_noise(targets, N, 6);
    far_view *v = view_of(k, N, 0);
    OK(far_view_align(ctx, v, &y, &a));
    OK(far_view_cosines(ctx, v, &y, 0, cosines, cumulative));
    OK(far_view_spectrum(ctx, v, 0, 0, &s));
    for (int i = 0; i < N; i++) {
        sum += s.values[i] / a.frobenius * cosines[i];
    }
    assert_near(sum, a.kta, 1e-12);
    assert_near(a.rayleigh / a.frobenius, a.kta, 1e-13);
    assert_near(cumulative[N - 1], 1, 1e-12);
    assert_true(cumulative[3] >= cumulative[2]);
    far_view_destroy(v);
}

/* Centred KTA is CKA with y y', whatever constant is added to the targets. */
static void centring_is_cka(void **state)
{
    enum { N = 19, Q = 3 };
    double k[N * N], b[N * N], targets[N * Q], cka;
    far_mat y = mat(targets, N, Q), other = mat(b, N, N);
    far_alignment a, shifted;
    (void)state;
    random_kernel(N, 7, 8, k);
    fill_noise(targets, N * Q, 9);
    for (int i = 0; i < N * N; i++) {
        b[i] = 0;
        for (int c = 0; c < Q; c++) {
            b[i] += targets[i / N * Q + c] * targets[i % N * Q + c];
        }
    }
    far_view *v = view_of(k, N, 0);
    OK(far_view_align(ctx, v, &y, &a));
    OK(far_view_cka(ctx, v, &other, &cka));
    assert_near(a.centred_kta, cka, 1e-13);
    for (int i = 0; i < N * Q; i++) {
        targets[i] += i % Q + 1;
    }
    OK(far_view_align(ctx, v, &y, &shifted));
    assert_near(shifted.centred_kta, cka, 1e-12);
    assert_true(fabs(shifted.kta - a.kta) > 1e-3);
    other = mat(k, N, N);
    OK(far_view_cka(ctx, v, &other, &cka));
    assert_near(cka, 1, 1e-13);
    for (int i = 0; i < N * N; i++) {
        b[i] = 2;
    }
    other = mat(b, N, N);
    OK(far_view_cka(ctx, v, &other, &cka));
    assert_true(isnan(cka));
    other.rows = 5;
    assert_int_equal(far_view_cka(ctx, v, &other, &cka), FAR_ERR_SHAPE);
    far_view_destroy(v);
}

static void a_column_is_a_view_of_the_targets(void **state)
{
    enum { N = 11, Q = 2 };
    double k[N * N], targets[N * Q], first[N];
    far_alignment a, b;
    (void)state;
    random_kernel(N, 13, 10, k);
    fill_noise(targets, N * Q, 11);
    far_mat column = mat(targets, N, 1), packed = mat(first, N, 1);
    column.ld = Q;
    for (int i = 0; i < N; i++) {
        first[i] = targets[i * Q];
    }
    far_view *v = view_of(k, N, 0);
    OK(far_view_align(ctx, v, &column, &a));
    OK(far_view_align(ctx, v, &packed, &b));
    assert_near(a.kta, b.kta, 0);
    far_view_destroy(v);
}

static void columns_count_together(void **state)
{
    enum { N = 7, Q = 3 };
    double k[N * N], targets[N * Q], cosines[N], cumulative[N], rayleigh = 0, squares = 0;
    far_mat y = mat(targets, N, Q);
    far_alignment a, one;
    far_spectrum s;
    (void)state;
    random_kernel(N, 11, 16, k);
    fill_noise(targets, N * Q, 17);
    far_view *v = view_of(k, N, 0);
    OK(far_view_align(ctx, v, &y, &a));
    OK(far_view_cosines(ctx, v, &y, 0, cosines, cumulative));
    OK(far_view_spectrum(ctx, v, 0, 0, &s));
    assert_near(cumulative[N - 1], 1, 1e-12);
    for (int c = 0; c < Q; c++) {
        far_mat column = mat(targets + c, N, 1);
        double square = 0;
        column.ld = Q;
        OK(far_view_align(ctx, v, &column, &one));
        for (int i = 0; i < N; i++) {
            square += pow(targets[i * Q + c], 2);
        }
        rayleigh += one.rayleigh * square;
        squares += square;
    }
    assert_near(a.rayleigh, rayleigh / squares, 1e-12 * a.rayleigh);
    for (int i = 0; i < N; i++) {
        rayleigh -= s.values[i] * cosines[i] * squares;
    }
    assert_near(rayleigh, 0, 1e-10);
    assert_true(a.kta > a.rayleigh / a.frobenius); /* |YY'|_F < |Y|_F^2 */
    far_view_destroy(v);
}

static void eigenvectors_make_tasks(void **state)
{
    enum { N = 13 };
    double k[N * N], labels[N], u[N];
    far_mat out = mat(labels, N, 1), target = mat(u, N, 1);
    far_spectrum s;
    far_alignment a;
    (void)state;
    random_kernel(N, 17, 12, k);
    far_view *v = view_of(k, N, 0);
    OK(far_view_task(ctx, v, 3, &out));
    OK(far_view_spectrum(ctx, v, 0, 1, &s));
    for (int i = 0; i < N; i++) {
        u[i] = s.vectors[2 * N + i];
        assert_true(labels[i] == (u[i] < 0 ? -1 : 1));
    }
    OK(far_view_align(ctx, v, &target, &a)); /* the eigenvector itself */
    assert_near(a.rayleigh, s.values[2], 1e-12 * s.values[0]);
    assert_int_equal(far_view_task(ctx, v, 0, &out), FAR_ERR_ARG);
    assert_int_equal(far_view_task(ctx, v, N + 1, &out), FAR_ERR_ARG);
    out.rows = 3;
    assert_int_equal(far_view_task(ctx, v, 1, &out), FAR_ERR_SHAPE);
    far_view_destroy(v);
}

static void bad_targets_are_refused(void **state)
{
    double y[3] = {0, 0, 0}, cosines[2];
    far_view *v = view_of(by_hand, 2, 0);
    far_mat targets = mat(y, 2, 1), longer = mat(y, 3, 1);
    far_alignment a;
    (void)state;
    assert_int_equal(far_view_align(ctx, v, &targets, &a), FAR_ERR_VALUE);
    assert_message("all are 0");
    assert_int_equal(far_view_align(ctx, v, &longer, &a), FAR_ERR_SHAPE);
    assert_message("targets: 3 x 1, but the kernel has 2 rows");
    y[1] = NAN;
    assert_int_equal(far_view_align(ctx, v, &targets, &a), FAR_ERR_VALUE);
    assert_message("targets: row 2, column 1");
    assert_int_equal(far_view_cosines(ctx, v, &targets, 1, cosines, NULL), FAR_ERR_VALUE);
    assert_int_equal(far_view_align(ctx, v, NULL, &a), FAR_ERR_ARG);
    far_view_destroy(v);
}

typedef struct sizeless {
    double frobenius, participation, v0cos;
    far_alignment a;
    double cosine;
} sizeless;

/* Of scale times a kernel, and targets scaled the other way; what has a size is divided by it. */
static sizeless scaled_by(double scale)
{
    enum { N = 9 };
    double k[N * N], y[N];
    far_mat targets = mat(y, N, 1);
    far_condition c;
    sizeless out;
    random_kernel(N, N, 3, k);
    for (int i = 0; i < N * N; i++) {
        k[i] *= scale;
    }
    for (int i = 0; i < N; i++) {
        y[i] = (i % 4 - 1.2) / scale;
    }
    far_view *v = view_of(k, N, 0);
    OK(far_view_align(ctx, v, &targets, &out.a));
    OK(far_view_cosines(ctx, v, &targets, 1, &out.cosine, NULL));
    OK(far_view_condition(ctx, v, 0, &c));
    OK(far_view_first(ctx, v, NULL, &out.v0cos));
    out.frobenius = far_view_describe(v).frobenius / scale;
    out.a.rayleigh /= scale;
    out.participation = c.participation;
    far_view_destroy(v);
    return out;
}

static void sizes_do_not_matter(void **state)
{
    static const double SCALES[] = {1e-300, 1e-160, 1e-80, 1e80, 1e150, 1e300};
    sizeless one = scaled_by(1);
    (void)state;
    for (int i = 0; i < COUNT(SCALES); i++) {
        sizeless s = scaled_by(SCALES[i]);
        assert_near(s.frobenius, one.frobenius, 1e-12 * one.frobenius);
        assert_near(s.participation, one.participation, 1e-11);
        assert_near(s.v0cos, one.v0cos, 1e-11);
        assert_near(s.a.kta, one.a.kta, 1e-12);
        assert_near(s.a.centred_kta, one.a.centred_kta, 1e-12);
        assert_near(s.a.rayleigh, one.a.rayleigh, 1e-12 * one.a.rayleigh);
        assert_near(s.cosine, one.cosine, 1e-11);
    }
}

static void targets_have_a_kernel_too(void **state)
{
    double y[3] = {0, 0.1, 0.3}, k[9];
    far_mat targets = mat(y, 3, 1), out = mat(k, 3, 3);
    (void)state;
    OK(far_target_kernel(ctx, &targets, 0.1, &out));
    assert_near(k[0], 1, 0);
    assert_near(k[1], exp(-0.5), 1e-14);
    assert_near(k[6], exp(-4.5), 1e-14);
    assert_int_equal(far_target_kernel(ctx, &targets, 0, &out), FAR_ERR_ARG);
    out.rows = 2;
    assert_int_equal(far_target_kernel(ctx, &targets, 1, &out), FAR_ERR_SHAPE);
}

/* ---- filters ------------------------------------------------------------------------------- */

enum { ROWS = 17, COLUMNS = 2 };
static double gram[ROWS * ROWS], wanted[ROWS * COLUMNS], begun[ROWS * COLUMNS];

static far_view *filtered_view(void)
{
    random_kernel(ROWS, 19, 13, gram);
    fill_noise(wanted, ROWS * COLUMNS, 14);
    fill_noise(begun, ROWS * COLUMNS, 15);
    return view_of(gram, ROWS, 0);
}

typedef struct filtered {
    double fitted[ROWS * COLUMNS], residuals[ROWS * COLUMNS], weights[ROWS * COLUMNS];
} filtered;

static filtered run(far_view *v, double ridge, double time, double rate)
{
    filtered out;
    far_spectral s;
    far_spectral_init(&s);
    s.ridge = ridge;
    s.time = time;
    s.rate = rate;
    far_mat y = mat(wanted, ROWS, COLUMNS), start = mat(begun, ROWS, COLUMNS);
    far_mat f = mat(out.fitted, ROWS, COLUMNS), r = mat(out.residuals, ROWS, COLUMNS);
    far_mat w = mat(out.weights, ROWS, COLUMNS);
    OK(far_spectral_fit(ctx, v, &s, &y, &start, &f, &r, &w));
    return out;
}

/* Explicit gradient descent on the weights of the linear model, with decay to the start. */
static void descend(double ridge, double rate, int steps, double *fitted)
{
    double a[ROWS * COLUMNS] = {0};
    for (int s = 0; s <= steps; s++) {
        double next[ROWS * COLUMNS];
        for (int i = 0; i < ROWS * COLUMNS; i++) {
            double f = begun[i];
            for (int j = 0; j < ROWS; j++) {
                f += gram[i / COLUMNS * ROWS + j] * a[j * COLUMNS + i % COLUMNS];
            }
            fitted[i] = f;
            next[i] = a[i] - rate / ROWS * (f - wanted[i] + ridge * a[i]);
        }
        memcpy(a, next, sizeof a);
    }
}

static void descent_is_descent(void **state)
{
    far_view *v = filtered_view();
    double fitted[ROWS * COLUMNS], rate = 0.2;
    (void)state;
    for (int steps = 0; steps < 50; steps += 7) {
        filtered f = run(v, 0.3, rate * steps, rate);
        descend(0.3, rate, steps, fitted);
        for (int i = 0; i < ROWS * COLUMNS; i++) {
            assert_near(f.fitted[i], fitted[i], 1e-11);
            assert_near(f.fitted[i] + f.residuals[i], wanted[i], 1e-13);
        }
    }
    far_view_destroy(v);
}

/* Descent to convergence with l2 to the start is ridge regression, and that solves the system. */
static void ridge_is_where_descent_ends(void **state)
{
    far_view *v = filtered_view();
    double fitted[ROWS * COLUMNS];
    filtered ridge = run(v, 2, INFINITY, 0), steps = run(v, 2, INFINITY, 0.2);
    (void)state;
    descend(2, 0.2, 2000, fitted);
    for (int i = 0; i < ROWS; i++) {
        for (int c = 0; c < COLUMNS; c++) {
            double left = begun[i * COLUMNS + c] - wanted[i * COLUMNS + c];
            left += 2 * ridge.weights[i * COLUMNS + c];
            for (int j = 0; j < ROWS; j++) {
                left += gram[i * ROWS + j] * ridge.weights[j * COLUMNS + c];
            }
            assert_near(left, 0, 1e-11);
            assert_near(ridge.residuals[i * COLUMNS + c], 2 * ridge.weights[i * COLUMNS + c],
                        1e-12);
            assert_near(fitted[i * COLUMNS + c], ridge.fitted[i * COLUMNS + c], 1e-10);
            assert_near(fitted[i * COLUMNS + c], steps.fitted[i * COLUMNS + c], 1e-10);
        }
    }
    far_view_destroy(v);
}

static void flow_is_the_limit_of_descent(void **state)
{
    far_view *v = filtered_view();
    filtered flow = run(v, 0.3, 2, 0), fine = run(v, 0.3, 2, 1e-6), begin = run(v, 0, 1e-9, 0);
    (void)state;
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        assert_near(flow.fitted[i], fine.fitted[i], 1e-4);
        /* At first weights grow as (y - f0) t / N. */
        assert_near(begin.weights[i], (wanted[i] - begun[i]) * 1e-9 / ROWS, 1e-16);
    }
    far_view_destroy(v);
}

static void predictions_at_training_points_are_the_fit(void **state)
{
    far_view *v = filtered_view();
    filtered f = run(v, 0.1, 3, 0);
    double out[ROWS * COLUMNS];
    far_mat cross = mat(gram, ROWS, ROWS), weights = mat(f.weights, ROWS, COLUMNS);
    far_mat start = mat(begun, ROWS, COLUMNS), to = mat(out, ROWS, COLUMNS);
    (void)state;
    OK(far_spectral_predict(ctx, &cross, &weights, &start, &to));
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        assert_near(out[i], f.fitted[i], 1e-11);
    }
    OK(far_spectral_predict(ctx, &cross, &weights, NULL, &to));
    assert_near(out[3], f.fitted[3] - begun[3], 1e-11);
    cross.cols = 3;
    assert_int_equal(far_spectral_predict(ctx, &cross, &weights, NULL, &to), FAR_ERR_SHAPE);
    far_view_destroy(v);
}

static void losses_are_those_of_the_residuals(void **state)
{
    far_view *v = filtered_view();
    double times[4] = {0, 0.5, 3, INFINITY}, losses[4], at_start = 0;
    double squares[ROWS], sum = 0;
    far_spectral s;
    far_mat y = mat(wanted, ROWS, COLUMNS), start = mat(begun, ROWS, COLUMNS);
    (void)state;
    far_spectral_init(&s);
    s.ridge = 0.7;
    OK(far_spectral_loss(ctx, v, &s, &y, &start, times, 4, losses));
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        at_start += pow(wanted[i] - begun[i], 2) / (2 * ROWS);
    }
    assert_near(losses[0], at_start, 1e-13 * at_start);
    for (int k = 0; k < 4; k++) {
        filtered f = run(v, 0.7, times[k], 0);
        double loss = 0;
        for (int i = 0; i < ROWS * COLUMNS; i++) {
            loss += f.residuals[i] * f.residuals[i] / (2 * ROWS);
        }
        assert_near(losses[k], loss, 1e-12 * at_start);
    }
    OK(far_view_coefficients(ctx, v, &y, &start, squares));
    for (int i = 0; i < ROWS; i++) {
        sum += squares[i] / 2;
    }
    assert_near(sum, at_start, 1e-12 * at_start);
    times[1] = -1;
    assert_int_equal(far_spectral_loss(ctx, v, &s, &y, &start, times, 4, losses), FAR_ERR_ARG);
    far_view_destroy(v);
}

static void a_singular_kernel_interpolates_what_it_can(void **state)
{
    double k[9] = {1, 1, 0, 1, 1, 0, 0, 0, 2}, y[3] = {1, 3, 4}, f[3], w[3];
    far_view *v = view_of(k, 3, 0);
    far_mat targets = mat(y, 3, 1), fitted = mat(f, 3, 1), weights = mat(w, 3, 1);
    far_spectral s;
    (void)state;
    far_spectral_init(&s);
    OK(far_spectral_fit(ctx, v, &s, &targets, NULL, &fitted, NULL, &weights));
    const double expected[3] = {2, 2, 4}, expected_w[3] = {1, 1, 2};
    for (int i = 0; i < 3; i++) {
        assert_near(f[i], expected[i], 1e-13);
        assert_near(w[i], expected_w[i], 1e-13);
    }
    s.time = 0.6; /* along (1, -1, 0), where K is 0, weights grow for ever: t / N a unit */
    OK(far_spectral_fit(ctx, v, &s, &targets, NULL, &fitted, NULL, &weights));
    assert_near(w[1] - w[0], 0.6 / 3 * (y[1] - y[0]), 1e-13);
    assert_near(f[1] - f[0], 0, 1e-13);
    far_view_destroy(v);
}

static void bad_filters_are_refused(void **state)
{
    far_view *v = filtered_view();
    far_spectral s, good;
    far_mat y = mat(wanted, ROWS, COLUMNS), out = mat(begun, ROWS, 1);
    (void)state;
    far_spectral_init(&good);
    s = good;
    s.ridge = -1;
    assert_int_equal(far_spectral_fit(ctx, v, &s, &y, NULL, NULL, NULL, NULL), FAR_ERR_ARG);
    s = good;
    s.time = NAN;
    assert_int_equal(far_spectral_fit(ctx, v, &s, &y, NULL, NULL, NULL, NULL), FAR_ERR_ARG);
    s = good;
    s.rate = 50;
    assert_int_equal(far_spectral_fit(ctx, v, &s, &y, NULL, NULL, NULL, NULL), FAR_ERR_ARG);
    assert_message("gradient descent diverges");
    s.rate = 0.1;
    s.time = 0.25;
    assert_int_equal(far_spectral_fit(ctx, v, &s, &y, NULL, NULL, NULL, NULL), FAR_ERR_ARG);
    assert_message("no whole number of steps");
    s.size = 0;
    assert_int_equal(far_spectral_fit(ctx, v, &s, &y, NULL, NULL, NULL, NULL), FAR_ERR_ARG);
    assert_int_equal(far_spectral_fit(ctx, v, &good, &y, NULL, &out, NULL, NULL), FAR_ERR_SHAPE);
    assert_int_equal(far_spectral_fit(ctx, v, &good, &y, &out, NULL, NULL, NULL), FAR_ERR_SHAPE);
    far_view_destroy(v);
    double bad[4] = {1, 2, 2, 1};
    v = view_of(bad, 2, 0);
    y = mat(wanted, 2, 1);
    assert_int_equal(far_spectral_fit(ctx, v, &good, &y, NULL, NULL, NULL, NULL), FAR_ERR_VALUE);
    assert_message("not positive semidefinite");
    far_view_destroy(v);
}

/* N is the number of points, not of rows: three points of two outputs. */
static void time_counts_points(void **state)
{
    enum { R = 6, P = 3 };
    double k[R * R], y[R], f[R], squares[R], loss, time = 0;
    far_mat targets = mat(y, R, 1), fitted = mat(f, R, 1), by_point = mat(y, P, 2);
    far_spectral s;
    (void)state;
    random_kernel(R, 7, 41, k);
    fill_noise(y, R, 42);
    far_view *v = view_of(k, R, P);
    far_spectral_init(&s);
    s.rate = s.time = 0.01;
    OK(far_spectral_fit(ctx, v, &s, &targets, NULL, &fitted, NULL, NULL));
    OK(far_spectral_loss(ctx, v, &s, &targets, NULL, &time, 1, &loss));
    OK(far_view_coefficients(ctx, v, &targets, NULL, squares));
    double parts = -2 * loss;
    for (int i = 0; i < R; i++) {
        double step = 0;
        for (int j = 0; j < R; j++) {
            step += 0.01 / P * k[i * R + j] * y[j];
        }
        assert_near(f[i], step, 1e-13);
        loss -= y[i] * y[i] / (2 * P);
        parts += squares[i];
    }
    assert_near(parts, 0, 1e-13);
    assert_near(loss, 0, 1e-13);
    assert_int_equal(far_spectral_fit(ctx, v, &s, &by_point, NULL, NULL, NULL, NULL),
                     FAR_ERR_SHAPE);
    assert_message("give them as one column");
    far_view_destroy(v);
}

/* A network that is linear in its parameters trains exactly as its kernel says. */
static void one_linear_layer_trains_as_its_kernel_says(void **state)
{
    double k[POINTS * POINTS], y[POINTS], f0[POINTS], f[POINTS], fitted[POINTS], u[POINTS];
    double gradient[INPUTS + 1], rate = 0.1;
    far_net *net = net_of("dense(1)");
    far_mat x = mat(inputs, POINTS, INPUTS), kernel = mat(k, POINTS, POINTS);
    far_mat targets = mat(y, POINTS, 1), start = mat(f0, POINTS, 1), now = mat(f, POINTS, 1);
    far_mat fit = mat(fitted, POINTS, 1), slope = mat(u, POINTS, 1),
            g = mat(gradient, 1, INPUTS + 1);
    far_mat parameters = far_net_parameters(net);
    far_ntk_opts o;
    far_spectral s;
    (void)state;
    o = (far_ntk_opts){.size = sizeof o};
    fill_noise(y, POINTS, 31);
    OK(far_net_ntk(ctx, net, &x, NULL, &o, &kernel));
    OK(far_net_eval(ctx, net, &x, &start));
    for (int step = 0; step < 20; step++) {
        OK(far_net_eval(ctx, net, &x, &now));
        for (int i = 0; i < POINTS; i++) {
            u[i] = (f[i] - y[i]) / POINTS;
        }
        OK(far_net_vjp(ctx, net, &x, &slope, &g, NULL));
        for (int i = 0; i <= INPUTS; i++) {
            ((double *)parameters.data)[i] -= rate * gradient[i];
        }
    }
    OK(far_net_eval(ctx, net, &x, &now));
    far_view *v = view_of(k, POINTS, 0);
    far_spectral_init(&s);
    s.rate = rate;
    s.time = 20 * rate;
    OK(far_spectral_fit(ctx, v, &s, &targets, &start, &fit, NULL, NULL));
    for (int i = 0; i < POINTS; i++) {
        assert_near(fitted[i], f[i], 1e-11);
    }
    far_view_destroy(v);
    far_net_destroy(net);
}

/* ---- memory -------------------------------------------------------------------------------- */

static far_status measure_all(void)
{
    static double cosines[ROWS];
    far_view *v = NULL;
    far_mat k = mat(gram, ROWS, ROWS), y = mat(wanted, ROWS, COLUMNS);
    double out[ROWS * COLUMNS], labels[ROWS], cka, time = 1;
    far_mat fitted = mat(out, ROWS, COLUMNS), task = mat(labels, ROWS, 1);
    far_alignment a;
    far_spectral s;
    far_condition c;
    far_spectral_init(&s);
    far_status st = far_view_create(ctx, &k, 0, &v);
    assert_true((st == FAR_OK) == (v != NULL));
    st = st ? st : far_view_align(ctx, v, &y, &a);
    st = st ? st : far_view_condition(ctx, v, 1, &c);
    st = st ? st : far_view_cosines(ctx, v, &y, 3, cosines, NULL);
    st = st ? st : far_view_task(ctx, v, 2, &task);
    st = st ? st : far_view_cka(ctx, v, &k, &cka);
    st = st ? st : far_spectral_fit(ctx, v, &s, &y, NULL, &fitted, NULL, NULL);
    st = st ? st : far_spectral_loss(ctx, v, &s, &y, NULL, &time, 1, cosines);
    st = st ? st : far_view_coefficients(ctx, v, &y, NULL, cosines);
    far_view_destroy(v);
    return st;
}

static int stop(void *user, const char *what, int64_t done, int64_t total)
{
    (void)what;
    (void)done;
    (void)total;
    return *(int *)user;
}

static void a_spectrum_can_be_cancelled(void **state)
{
    int stopping = 1;
    far_ctx_opts opts;
    far_ctx *other;
    far_view *v;
    far_mat k = mat(by_hand, 2, 2);
    far_spectrum s;
    (void)state;
    opts = (far_ctx_opts){.size = sizeof opts};
    opts.progress = stop;
    opts.progress_user = &stopping;
    OK(far_ctx_create(&opts, &other));
    OK(far_view_create(other, &k, 0, &v));
    assert_int_equal(far_view_spectrum(other, v, 0, 1, &s), FAR_ERR_CANCELLED);
    stopping = 0;
    OK(far_view_spectrum(other, v, 0, 1, &s));
    assert_near(s.values[0], 3, 1e-14);
    far_view_destroy(v);
    far_ctx_destroy(other);
}

static far_net *tested;

static far_status measure_net(void)
{
    double spectra[2 * POINTS];
    far_view *v = NULL;
    far_mat x = mat(inputs, POINTS, INPUTS), values = mat(spectra, 2, POINTS);
    far_ntk_opts o;
    far_spectrum s;
    o = (far_ntk_opts){.size = sizeof o};
    far_status st = far_view_of_net(ctx, tested, &x, &o, &v);
    st = st ? st : far_view_spectrum(ctx, v, 2, 1, &s);
    st = st ? st : far_layer_spectra(ctx, tested, &x, &o, &values);
    far_view_destroy(v);
    return st;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    far_view_destroy(filtered_view());
    fail_every_allocation(measure_all);
    tested = net_of("dense(3) tanh dense(1)");
    fail_every_allocation(measure_net);
    far_net_destroy(tested);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_view_by_hand),
        TEST(bad_kernels_are_refused_in_words),
        TEST(rounding_is_no_asymmetry),
        TEST(semidefinite_or_not),
        TEST(condition_is_that_of_its_ridge),
        TEST(few_eigenpairs_are_those_of_all),
        TEST(what_was_computed_is_kept),
        TEST(layers_add_up_within_weyl_intervals),
        TEST(layer_spectra_sum_to_the_trace),
        TEST(a_network_needs_no_matrix),
        TEST(alignment_by_hand),
        TEST(kta_is_a_sum_over_eigenvectors),
        TEST(centring_is_cka),
        TEST(a_column_is_a_view_of_the_targets),
        TEST(columns_count_together),
        TEST(eigenvectors_make_tasks),
        TEST(bad_targets_are_refused),
        TEST(sizes_do_not_matter),
        TEST(targets_have_a_kernel_too),
        TEST(descent_is_descent),
        TEST(ridge_is_where_descent_ends),
        TEST(flow_is_the_limit_of_descent),
        TEST(predictions_at_training_points_are_the_fit),
        TEST(losses_are_those_of_the_residuals),
        TEST(a_singular_kernel_interpolates_what_it_can),
        TEST(bad_filters_are_refused),
        TEST(time_counts_points),
        TEST(a_spectrum_can_be_cancelled),
        TEST(one_linear_layer_trains_as_its_kernel_says),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
