/* Local structure: cosines, correlation by distance, jets, grids. */
#include "../../src/base/base_internal.h"
#include "measure/measure_internal.h"
#include "net/net_internal.h"

#include "measure_fixture.h"

enum { SIDE = 23, GRID = SIDE * SIDE };
static double places[GRID * 2];

/* A grid of [-1, 1]^2, its points in a scrambled order. */
static far_mat grid_points(void)
{
    for (int i = 0; i < GRID; i++) {
        int j = (int)((int64_t)i * 101 % GRID);
        places[2 * i] = -1 + 2.0 * (j % SIDE) / (SIDE - 1);
        places[2 * i + 1] = -1 + 2.0 * (j / SIDE) / (SIDE - 1);
    }
    return mat(places, GRID, 2);
}

static void cosines_by_hand(void **state)
{
    double k[4] = {4, 1, 1, 1}, c[4];
    far_mat out = mat(c, 2, 2);
    far_view *v = view_of(k, 2, 0);
    (void)state;
    OK(far_view_cosine(ctx, v, &out));
    assert_near(c[0], 1, 0);
    assert_near(c[1], 0.5, 1e-15);
    assert_near(c[2], 0.5, 1e-15);
    far_view_destroy(v);
    k[3] = 0;
    v = view_of(k, 2, 0);
    assert_int_equal(far_view_cosine(ctx, v, &out), FAR_ERR_VALUE);
    assert_message("row 2, column 2 is 0");
    far_view_destroy(v);
}

/* a^2 (c_inf + (1 - c_inf) exp(-r^2 / (2 xi^2))), with an a that varies. */
static double *gaussian_kernel(double c_inf, double xi)
{
    double *k = malloc(sizeof(double) * GRID * GRID);
    for (int i = 0; i < GRID; i++) {
        for (int j = 0; j < GRID; j++) {
            double dx = places[2 * i] - places[2 * j], dy = places[2 * i + 1] - places[2 * j + 1];
            double a = (1 + 0.3 * places[2 * i]) * (1 + 0.3 * places[2 * j]);
            k[i * GRID + j] = a * (c_inf + (1 - c_inf) * exp(-(dx * dx + dy * dy) / (2 * xi * xi)));
        }
    }
    return k;
}

static void a_gaussian_has_its_length(void **state)
{
    far_mat x = grid_points();
    double distance[FAR_LOCAL_BINS], mean[FAR_LOCAL_BINS];
    int64_t counts[FAR_LOCAL_BINS], pairs = 0;
    (void)state;
    for (int i = 1; i <= 2; i++) {
        double xi = 0.15 * i, *k = gaussian_kernel(0.1, xi);
        far_view *v = view_of(k, GRID, 0);
        far_local l;
        OK(far_local_correlation(ctx, v, &x, FAR_LOCAL_BINS, distance, mean, counts, &l));
        assert_near(l.c_inf, 0.1, 1e-9);
        assert_near(l.xi, xi, 0.05 * xi);
        assert_near(l.min_c, 0.1, 1e-9);
        assert_near(l.spacing, sqrt(8) / FAR_LOCAL_BINS, 1e-12);
        assert_near(distance[1], 1.5 * l.spacing, 1e-12);
        assert_true(mean[2] > mean[5]);
        far_view_destroy(v);
        free(k);
    }
    for (int b = 0; b < FAR_LOCAL_BINS; b++) {
        pairs += counts[b];
    }
    assert_int_equal(pairs, GRID * (GRID - 1) / 2);
}

static void a_flat_kernel_has_no_length(void **state)
{
    double k[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, x[3] = {0, 1, 2};
    far_mat places_1d = mat(x, 3, 1);
    far_view *v = view_of(k, 3, 0), *two = view_of(k, 3, 1);
    far_local l;
    (void)state;
    OK(far_local_correlation(ctx, v, &places_1d, 4, NULL, NULL, NULL, &l));
    assert_near(l.c_inf, 1, 0);
    assert_true(isnan(l.xi));
    assert_int_equal(far_local_correlation(ctx, two, &places_1d, 4, NULL, NULL, NULL, &l),
                     FAR_ERR_SHAPE);
    assert_message("one output");
    assert_int_equal(far_local_correlation(ctx, v, &places_1d, 1, NULL, NULL, NULL, &l),
                     FAR_ERR_ARG);
    places_1d.rows = 2;
    assert_int_equal(far_local_correlation(ctx, v, &places_1d, 4, NULL, NULL, NULL, &l),
                     FAR_ERR_SHAPE);
    assert_message("coordinates: 2 x 1, but there are 3 points");
    places_1d.rows = 3;
    x[1] = x[2] = 0;
    assert_int_equal(far_local_correlation(ctx, v, &places_1d, 4, NULL, NULL, NULL, &l),
                     FAR_ERR_VALUE);
    assert_message("coincide");
    far_view_destroy(v);
    far_view_destroy(two);
}

static void fields_correlate_by_distance(void **state)
{
    double x[3] = {0, 1, 2}, field[3] = {1, 0, -1}, distance[2], mean[2];
    int64_t counts[2];
    far_mat at = mat(x, 3, 1);
    (void)state;
    OK(far_field_correlation(ctx, field, &at, 2, distance, mean, counts));
    assert_near(distance[1], 1.5, 0);
    assert_true(isnan(mean[0]) && counts[0] == 0);
    assert_near(mean[1], -0.5, 1e-15);
    field[0] = field[2] = 0;
    assert_int_equal(far_field_correlation(ctx, field, &at, 2, distance, mean, counts),
                     FAR_ERR_VALUE);
    field[0] = NAN;
    assert_int_equal(far_field_correlation(ctx, field, &at, 2, distance, mean, counts),
                     FAR_ERR_VALUE);
}

/* ---- jets ---------------------------------------------------------------------------------- */

enum { FEATURES = 5 };

static void features(const double *x, double *g, double *jacobian)
{
    double values[FEATURES] = {sin(x[0]), x[0] * x[1], exp(0.5 * x[1]), 1, cos(x[0] + 2 * x[1])};
    double slopes[FEATURES * 2] = {cos(x[0]),
                                   0,
                                   x[1],
                                   x[0],
                                   0,
                                   0.5 * exp(0.5 * x[1]),
                                   0,
                                   0,
                                   -sin(x[0] + 2 * x[1]),
                                   -2 * sin(x[0] + 2 * x[1])};
    memcpy(g, values, sizeof values);
    memcpy(jacobian, slopes, sizeof slopes);
}

static far_status feature_kernel(far_ctx *unused, void *user, const far_mat *x1, const far_mat *x2,
                                 far_mat *out)
{
    double a[FEATURES], b[FEATURES], none[FEATURES * 2];
    (void)unused;
    (void)user;
    for (int64_t i = 0; i < x1->rows; i++) {
        for (int64_t j = 0; j < x2->rows; j++) {
            double *to = (double *)out->data + i * out->ld + j;
            features((double *)x1->data + i * x1->ld, a, none);
            features((double *)x2->data + j * x2->ld, b, none);
            *to = 0;
            for (int k = 0; k < FEATURES; k++) {
                *to += a[k] * b[k];
            }
        }
    }
    return FAR_OK;
}

static void stencils_come_near_the_exact_jet(void **state)
{
    double x[6] = {0.3, -0.7, 1.1, 0.4, -0.2, 0.9}, a2[3], d[6], h[12];
    far_mat at = mat(x, 3, 2), out_a = mat(a2, 3, 1), out_d = mat(d, 3, 2), out_h = mat(h, 3, 4);
    (void)state;
    OK(far_jets_of(ctx, feature_kernel, NULL, &at, 1e-3, &out_a, &out_d, &out_h));
    for (int i = 0; i < 3; i++) {
        double g[FEATURES], j[FEATURES * 2], square, gradient[2], second[4];
        far_mat jacobian = mat(j, FEATURES, 2);
        features(x + 2 * i, g, j);
        OK(far_local_jet_exact(ctx, g, &jacobian, &square, gradient, second));
        assert_near(a2[i], square, 1e-12);
        for (int k = 0; k < 2; k++) {
            assert_near(d[2 * i + k], gradient[k], 1e-5);
        }
        for (int k = 0; k < 4; k++) {
            assert_near(h[4 * i + k], second[k], 1e-5);
        }
    }
    assert_int_equal(far_local_jets(ctx, NULL, &at, 1e-3, &out_a, &out_d, &out_h), FAR_ERR_ARG);
    assert_int_equal(far_jets_of(ctx, feature_kernel, NULL, &at, 0, &out_a, &out_d, &out_h),
                     FAR_ERR_ARG);
    out_h.cols = 3;
    assert_int_equal(far_jets_of(ctx, feature_kernel, NULL, &at, 1e-3, &out_a, &out_d, &out_h),
                     FAR_ERR_SHAPE);
}

/* H of a network's tangent kernel is Jx'Jx, with Jx by differences of its Jacobian. */
static void networks_have_jets(void **state)
{
    enum { P = 3 * 7 + 8 };
    double x[2] = {0.4, -0.3}, g[P], up[P], down[P], jx[P * 2], step = 1e-4;
    double a2, d[2], h[4], square, gradient[2], second[4];
    far_mat at = mat(x, 1, 2), jacobian = mat(jx, P, 2);
    far_mat out_a = mat(&a2, 1, 1), out_d = mat(d, 1, 2), out_h = mat(h, 1, 4);
    far_net_opts o;
    far_ntk_opts ntk;
    far_net *net;
    (void)state;
    far_net_opts_init(&o);
    o.inputs = 2;
    ntk = (far_ntk_opts){.size = sizeof ntk};
    OK(far_net_create(ctx, "dense(7) sin dense(1)", &o, &net));
    assert_int_equal(far_net_describe(net).parameters, P);
    far_mat to_g = mat(g, 1, P), to_up = mat(up, 1, P), to_down = mat(down, 1, P);
    OK(far_net_jacobian(ctx, net, &at, &to_g));
    for (int k = 0; k < 2; k++) {
        double kept = x[k];
        x[k] = kept + step;
        OK(far_net_jacobian(ctx, net, &at, &to_up));
        x[k] = kept - step;
        OK(far_net_jacobian(ctx, net, &at, &to_down));
        x[k] = kept;
        for (int p = 0; p < P; p++) {
            jx[2 * p + k] = (up[p] - down[p]) / (2 * step);
        }
    }
    far_any_kernel tangent = {.net = net, .opts = &ntk};
    OK(far_local_jets(ctx, &tangent, &at, 1e-3, &out_a, &out_d, &out_h));
    OK(far_local_jet_exact(ctx, g, &jacobian, &square, gradient, second));
    assert_near(a2, square, 1e-10 * square);
    for (int k = 0; k < 4; k++) {
        assert_near(h[k], second[k], 1e-4 * square);
        assert_near(d[k % 2], gradient[k % 2], 1e-4 * square);
    }
    far_net_destroy(net);
}

static void infinite_kernels_have_jets(void **state)
{
    double x[3] = {0.5, -0.2, 1}, a2, d[3], h[9], diagonal;
    far_mat at = mat(x, 1, 3), out_a = mat(&a2, 1, 1), out_d = mat(d, 1, 3), out_h = mat(h, 1, 9);
    far_mat exact = mat(&diagonal, 1, 1);
    far_kernel *k;
    (void)state;
    OK(far_kernel_create(ctx, "dense erf dense", NULL, &k));
    OK(far_local_jets(ctx, &(far_any_kernel){.kernel = k}, &at, 1e-3, &out_a, &out_d, &out_h));
    OK(far_kernel_diag(ctx, k, &at, NULL, &exact));
    assert_near(a2, diagonal, 1e-12);
    assert_near(h[1], h[3], 1e-6);
    assert_near(h[5], h[7], 1e-6);
    /* It knows |x| only, so its gradient points along x. */
    assert_near(d[0] / x[0], d[1] / x[1], 1e-5);
    assert_near(d[0] / x[0], d[2] / x[2], 1e-5);
    assert_true(d[2] > 0 && h[0] > 0);
    far_kernel_destroy(k);
}

static void the_cauchy_model_by_hand(void **state)
{
    double d[2] = {1, 0}, h[4] = {4, 0, 0, 1}, least = 1;
    far_cauchy c;
    (void)state;
    OK(far_local_cauchy(ctx, 2, 1, d, h, 0, &c));
    assert_near(c.delta, 0.25, 1e-15);
    assert_near(c.xi, sqrt(2.0625 / 2), 1e-14);
    for (double u = -20; u < 20; u += 1e-3) {
        least = fmin(least, (2 + u) / (2 + u + 4 * u * u));
    }
    assert_near(c.min_c, least, 1e-7);
    h[3] = 0;
    assert_int_equal(far_local_cauchy(ctx, 2, 1, d, h, 0, &c), FAR_ERR_SINGULAR);
    assert_int_equal(far_local_cauchy(ctx, 2, 0, d, h, 0, &c), FAR_ERR_ARG);
    assert_int_equal(far_local_cauchy(ctx, 2, 1, d, h, 1, &c), FAR_ERR_ARG);
}

/* ---- the first eigenvector ----------------------------------------------------------------- */

static void the_first_eigenvector(void **state)
{
    double k[9] = {3, 1, 1, 1, 3, 1, 1, 1, 3}, u[3], cosine;
    far_mat vector = mat(u, 3, 1);
    far_view *v = view_of(k, 3, 0);
    (void)state;
    OK(far_view_first(ctx, v, &vector, &cosine));
    assert_near(cosine, 1, 1e-14);
    assert_near(u[1], 1 / sqrt(3), 1e-14);
    far_view_destroy(v);
    double two[4] = {2, 0, 0, 1};
    v = view_of(two, 2, 0);
    OK(far_view_first(ctx, v, NULL, &cosine));
    assert_near(cosine, 2 / sqrt(5), 1e-14);
    assert_int_equal(far_view_first(ctx, v, &vector, &cosine), FAR_ERR_SHAPE);
    far_view_destroy(v);
}

/* ---- grids --------------------------------------------------------------------------------- */

static void gradients_on_a_grid(void **state)
{
    far_mat x = grid_points();
    double *field = malloc(sizeof(double) * GRID), *g = malloc(sizeof(double) * GRID * 2);
    far_mat out = mat(g, GRID, 2);
    (void)state;
    for (int i = 0; i < GRID; i++) {
        field[i] = 3 * places[2 * i] - 2 * places[2 * i + 1] + pow(places[2 * i + 1], 2);
    }
    OK(far_grid_gradient(ctx, &x, field, &out));
    for (int i = 0; i < GRID; i++) {
        double y = places[2 * i + 1];
        double inner = fabs(fabs(y) - 1) > 0.01; /* central differences of squares are exact */
        assert_near(g[2 * i], 3, 1e-11);
        assert_near(g[2 * i + 1], -2 + 2 * y, inner ? 1e-11 : 0.1);
    }
    places[0] += 0.01;
    assert_int_equal(far_grid_gradient(ctx, &x, field, &out), FAR_ERR_VALUE);
    assert_message("no full grid");
    grid_points();
    memcpy(places, places + 2, 2 * sizeof *places); /* one twice, one missing */
    assert_int_equal(far_grid_gradient(ctx, &x, field, &out), FAR_ERR_VALUE);
    double line[3] = {0, 1, 3}, values[3] = {0, 1, 9}, slope[3];
    x = mat(line, 3, 1);
    out = mat(slope, 3, 1);
    OK(far_grid_gradient(ctx, &x, values, &out));
    assert_near(slope[0], 1, 0);
    assert_near(slope[1], 3, 0);
    assert_near(slope[2], 4, 0);
    refused(far_grid_gradient(ctx, NULL, values, &out), FAR_ERR_ARG, "coordinates");
    refused(far_grid_gradient(ctx, &x, NULL, &out), FAR_ERR_ARG, "field");
    refused(far_grid_gradient(ctx, &x, values, NULL), FAR_ERR_ARG, "out");
    line[2] = 1; /* twice */
    refused(far_grid_gradient(ctx, &x, values, &out), FAR_ERR_VALUE, "no full grid");
    double street[4] = {5, 0, 5, 2}, slopes[4]; /* of one house number more than of streets */
    x = mat(street, 2, 2);
    out = mat(slopes, 2, 2);
    OK(far_grid_gradient(ctx, &x, values, &out));
    assert_true(slopes[0] == 0 && slopes[1] == 0.5 && slopes[2] == 0 && slopes[3] == 0.5);
    far_mat none = mat(line, 0, 1), flat = mat(line, 3, 0);
    refused(far_check_coordinates(ctx, &none, 0), FAR_ERR_SHAPE, "there are 0 points");
    refused(far_check_coordinates(ctx, &flat, 3), FAR_ERR_SHAPE, "coordinates: 3 x 0");
    free(field);
    free(g);
}

/* ---- memory -------------------------------------------------------------------------------- */

static far_status look_around(void)
{
    static double k[GRID];
    double x[6] = {0.3, -0.7, 1.1, 0.4, -0.2, 0.9}, a2[3], d[6], h[12], kernel[9], cosine;
    double line[3] = {0, 1, 3};
    far_mat at = mat(x, 3, 2), out_a = mat(a2, 3, 1), out_d = mat(d, 3, 2), out_h = mat(h, 3, 4);
    far_mat places_1d = mat(line, 3, 1), slope = mat(k, 3, 1), m = mat(kernel, 3, 3);
    far_view *v = NULL;
    far_local l;
    far_cauchy c;
    random_kernel(3, 5, 1, kernel);
    far_status st = far_view_create(ctx, &m, 0, &v);
    st = st ? st : far_local_correlation(ctx, v, &at, 5, NULL, NULL, NULL, &l);
    st = st ? st : far_jets_of(ctx, feature_kernel, NULL, &at, 1e-3, &out_a, &out_d, &out_h);
    st = st ? st : far_local_cauchy(ctx, 2, a2[0], d, h, 0, &c);
    st = st ? st : far_view_first(ctx, v, NULL, &cosine);
    st = st ? st : far_grid_gradient(ctx, &places_1d, line, &slope);
    st = st ? st : far_field_correlation(ctx, line, &places_1d, 2, NULL, NULL, NULL);
    far_view_destroy(v);
    return st;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    fail_every_allocation(look_around);
}

static int odd_part_linear(const char *arch, int64_t dimension)
{
    far_kernel *kernel;
    int linear = -1;
    OK(far_kernel_create(ctx, arch, NULL, &kernel));
    OK(far_odd_part_linear(ctx, &(far_any_kernel){.kernel = kernel}, dimension, &linear));
    far_kernel_destroy(kernel);
    return linear;
}

static void odd_parts(void **state)
{
    (void)state;
    for (int64_t d = 1; d <= 5; d++) {
        assert_int_equal(odd_part_linear("dense(nobias) relu dense", d), 1);
        assert_int_equal(odd_part_linear("dense(nobias) relu dense(nobias)", d), 1);
        assert_int_equal(odd_part_linear("dense(nobias) abs dense", d), 1);
        assert_int_equal(odd_part_linear("dense relu dense(nobias)", d), 0);
        assert_int_equal(odd_part_linear("dense(nobias) erf dense", d), 0);
    }
    assert_int_equal(odd_part_linear("[dense(nobias) relu]x2 dense", 1), 1);
    assert_int_equal(odd_part_linear("[dense(nobias) relu]x2 dense", 2), 0);
    int linear;
    assert_int_equal(far_odd_part_linear(ctx, NULL, 2, &linear), FAR_ERR_ARG);
    assert_int_equal(far_odd_part_of(ctx, far_pair_of, NULL, 0, &linear), FAR_ERR_ARG);
}

/* |<p, x>| from the first probe's side only: there the odd part does not add up, elsewhere it does.
 */
static far_status pair_of_one_side(far_ctx *own, void *user, const far_mat *a, const far_mat *b,
                                   far_mat *out)
{
    const int *odd_row = user;
    (void)own;
    for (int64_t i = 0; i < a->rows; i++) {
        for (int64_t j = 0; j < b->rows; j++) {
            double sum = 0;
            for (int64_t c = 0; c < a->cols; c++) {
                sum += ((double *)far_mat_row(a, i))[c] * ((double *)far_mat_row(b, j))[c];
            }
            ((double *)far_mat_row(out, i))[j] = i == *odd_row ? sum * sum * sum : sum;
        }
    }
    return FAR_OK;
}

static far_status odd_part_of_one_side(void)
{
    int odd_row = 1, linear = -1;
    far_status st = far_odd_part_of(ctx, pair_of_one_side, &odd_row, 3, &linear);
    assert_true(st != FAR_OK || linear == 0);
    return st;
}

static far_status pair_that_fails(far_ctx *own, void *user, const far_mat *a, const far_mat *b,
                                  far_mat *out)
{
    (void)own;
    (void)user;
    (void)a;
    (void)b;
    (void)out;
    return FAR_ERR_VALUE;
}

/* Each probe counts, and what goes wrong in a kernel is passed on. */
static void odd_parts_of_any_function(void **state)
{
    (void)state;
    for (int odd_row = -1; odd_row < 2; odd_row++) {
        int linear = -1;
        OK(far_odd_part_of(ctx, pair_of_one_side, &odd_row, 3, &linear));
        assert_int_equal(linear, odd_row < 0);
    }
    fail_every_allocation(odd_part_of_one_side);
    int linear = -1;
    assert_int_equal(far_odd_part_of(ctx, pair_that_fails, NULL, 3, &linear), FAR_ERR_VALUE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(odd_parts),
        TEST(odd_parts_of_any_function),
        TEST(cosines_by_hand),
        TEST(a_gaussian_has_its_length),
        TEST(a_flat_kernel_has_no_length),
        TEST(fields_correlate_by_distance),
        TEST(stencils_come_near_the_exact_jet),
        TEST(networks_have_jets),
        TEST(infinite_kernels_have_jets),
        TEST(the_cauchy_model_by_hand),
        TEST(the_first_eigenvector),
        TEST(gradients_on_a_grid),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
