/*
 * SSR and LSSR: values by hand, the formulas against each other, features that are constant or
 * depend on each other, more features than points; and one layer of LN that goes below LSSR.
 */
#include "../../src/nonlinear/ln_search.h"

#include <farfield/nonlinear.h>

#define TEST_THREADS 2
#include "harness.h"

#define MOST 13 /* features */

/* ---- points -------------------------------------------------------------------------------- */

static uint64_t noise_state;

typedef struct cloud {
    int64_t n, d, classes;
    double *x;
    int64_t *labels;
} cloud;

/* Gaussian classes whose means differ a little. */
static cloud cloud_of(int64_t n, int64_t d, int64_t classes, uint64_t seed)
{
    cloud c = {.n = n, .d = d, .classes = classes};
    c.x = malloc((size_t)(n * d) * sizeof *c.x);
    c.labels = malloc((size_t)n * sizeof *c.labels);
    noise_state = seed;
    for (int64_t i = 0; i < n; i++) {
        c.labels[i] = i < classes ? i : (int64_t)(fabs(roll_bell(&noise_state)) * 1000) % classes;
        for (int64_t j = 0; j < d; j++) {
            c.x[i * d + j] =
                roll_bell(&noise_state) * (double)(j + 1) + 0.3 * (double)((c.labels[i] + j) % 3);
        }
    }
    return c;
}

static void cloud_free(cloud *c)
{
    free(c->x);
    free(c->labels);
}

static far_mat mat_of(const cloud *c)
{
    return far_mat_view(c->x, c->n, c->d, FAR_F64);
}

static far_ssr measure(const cloud *c, double *direction)
{
    far_ssr s;
    far_mat x = mat_of(c), w = far_mat_view(direction, 1, c->d, FAR_F64);
    assert_int_equal(far_ssr_measure(ctx, &x, c->labels, c->classes, &s, direction ? &w : NULL),
                     FAR_OK);
    return s;
}

/* The points times a d x e matrix. */
static cloud mapped(const cloud *c, int64_t e, const double *map)
{
    cloud out = cloud_of(c->n, e, c->classes, 1);
    memcpy(out.labels, c->labels, (size_t)c->n * sizeof *c->labels);
    for (int64_t i = 0; i < c->n; i++) {
        for (int64_t j = 0; j < e; j++) {
            out.x[i * e + j] = 0;
            for (int64_t k = 0; k < c->d; k++) {
                out.x[i * e + j] += c->x[i * c->d + k] * map[k * e + j];
            }
        }
    }
    return out;
}

/* SSR of w . x, plainly. */
static double ssr_along(const cloud *c, const double *w)
{
    double *p = calloc((size_t)c->n, sizeof *p), total = 0, within = 0, all = 0;
    for (int64_t i = 0; i < c->n; i++) {
        for (int64_t j = 0; j < c->d; j++) {
            p[i] += w[j] * c->x[i * c->d + j];
        }
        all += p[i] / (double)c->n;
    }
    for (int64_t k = 0; k < c->classes; k++) {
        double mean = 0, count = 0;
        for (int64_t i = 0; i < c->n; i++) {
            mean += c->labels[i] == k ? p[i] : 0;
            count += c->labels[i] == k;
        }
        for (int64_t i = 0; i < c->n; i++) {
            within += c->labels[i] == k ? pow(p[i] - mean / count, 2) : 0;
        }
    }
    for (int64_t i = 0; i < c->n; i++) {
        total += pow(p[i] - all, 2);
    }
    free(p);
    return within / total;
}

/* ---- formulas, plainly --------------------------------------------------------------------- */

typedef struct scatter {
    double within[MOST * MOST], total[MOST * MOST], mean[2][MOST], count[2];
} scatter;

/* Of two classes. */
static scatter scatter_of(const cloud *c)
{
    scatter s = {0};
    double all[MOST] = {0};
    int64_t d = c->d;
    for (int64_t i = 0; i < c->n; i++) {
        s.count[c->labels[i]]++;
        for (int64_t j = 0; j < d; j++) {
            s.mean[c->labels[i]][j] += c->x[i * d + j];
            all[j] += c->x[i * d + j] / (double)c->n;
        }
    }
    for (int64_t j = 0; j < d; j++) {
        s.mean[0][j] /= s.count[0];
        s.mean[1][j] /= s.count[1];
    }
    for (int64_t i = 0; i < c->n; i++) {
        const double *x = c->x + i * d, *mean = s.mean[c->labels[i]];
        for (int64_t j = 0; j < d; j++) {
            for (int64_t k = 0; k < d; k++) {
                s.within[j * d + k] += (x[j] - mean[j]) * (x[k] - mean[k]);
                s.total[j * d + k] += (x[j] - all[j]) * (x[k] - all[k]);
            }
        }
    }
    return s;
}

/* x = a^-1 b by elimination; a is positive definite. */
static void solve(int64_t n, const double *matrix, const double *b, double *x)
{
    double a[MOST * MOST];
    memcpy(a, matrix, (size_t)(n * n) * sizeof *a);
    memcpy(x, b, (size_t)n * sizeof *x);
    for (int64_t k = 0; k < n; k++) {
        for (int64_t i = 0; i < n; i++) {
            double factor = i == k ? 0 : a[i * n + k] / a[k * n + k];
            for (int64_t j = 0; j < n; j++) {
                a[i * n + j] -= factor * a[k * n + j];
            }
            x[i] -= factor * x[k];
        }
    }
    for (int64_t k = 0; k < n; k++) {
        x[k] /= a[k * n + k];
    }
}

static double form(int64_t n, const double *a, const double *b)
{
    double x[MOST], sum = 0;
    solve(n, a, b, x);
    for (int64_t j = 0; j < n; j++) {
        sum += b[j] * x[j];
    }
    return sum;
}

/* 1 - R^2 of the least-squares fit of labels -1 and 1 by [x, 1]. */
static double unexplained(const cloud *c)
{
    int64_t d = c->d, e = d + 1;
    double a[MOST * MOST] = {0}, b[MOST] = {0}, beta[MOST], mean = 0, rest = 0, all = 0;
    for (int64_t i = 0; i < c->n; i++) {
        double y = c->labels[i] == 1 ? 1 : -1, row[MOST];
        memcpy(row, c->x + i * d, (size_t)d * sizeof *row);
        row[d] = 1;
        mean += y / (double)c->n;
        for (int64_t j = 0; j < e; j++) {
            b[j] += row[j] * y;
            for (int64_t k = 0; k < e; k++) {
                a[j * e + k] += row[j] * row[k];
            }
        }
    }
    solve(e, a, b, beta);
    for (int64_t i = 0; i < c->n; i++) {
        double y = c->labels[i] == 1 ? 1 : -1, fit = beta[d];
        for (int64_t j = 0; j < d; j++) {
            fit += beta[j] * c->x[i * d + j];
        }
        rest += (y - fit) * (y - fit);
        all += (y - mean) * (y - mean);
    }
    return rest / all;
}

/* ---- SSR and LSSR -------------------------------------------------------------------------- */

static double xor_x[] = {0, 0, 1, 1, 0, 1, 1, 0};
static int64_t xor_labels[] = {0, 0, 1, 1};
static const cloud XOR = {4, 2, 2, xor_x, xor_labels};
static double line_x[] = {0, 3, 1, 4};
static int64_t line_labels[] = {0, 1, 0, 1};
static const cloud LINE = {4, 1, 2, line_x, line_labels};

static void xor_has_no_linear_structure(void **state)
{
    double w[2] = {7, 7};
    far_ssr s = measure(&XOR, w);
    (void)state;
    assert_near(s.ssr, 1, 0);
    assert_near(s.lssr, 1, 0);
    assert_int_equal(s.defined, 0);
    assert_int_equal(s.rank, 2);
    assert_true(w[0] == 0 && w[1] == 0);
    assert_near(s.within, 2, 1e-15);
    assert_near(s.total, 2, 1e-15);
}

/* Classes 0, 1 and 3, 4 of the line: within 1 / 2 + 1 / 2, in total 4 + 1 + 1 + 4. */
static void a_line_by_hand(void **state)
{
    double w;
    far_ssr s = measure(&LINE, &w);
    (void)state;
    assert_near(s.within, 1, 1e-15);
    assert_near(s.total, 10, 1e-14);
    assert_near(s.ssr, 0.1, 1e-15);
    assert_near(s.lssr, 0.1, 1e-15);
    assert_near(w, 1 / sqrt(2.5), 1e-15);
    assert_true(s.points == 4 && s.inputs == 1 && s.classes == 2 && s.rank == 1 && s.defined == 1);
}

static void the_four_formulas_of_lssr_agree(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 5; seed++) {
        cloud c = cloud_of(53 + (int64_t)seed, 5, 2, seed);
        double w[5], delta[5], weight;
        far_ssr s = measure(&c, w);
        scatter q = scatter_of(&c);
        for (int j = 0; j < 5; j++) {
            delta[j] = q.mean[0][j] - q.mean[1][j];
        }
        weight = q.count[0] * q.count[1] / (double)c.n;
        assert_near(s.lssr, 1 - weight * form(5, q.total, delta), 1e-12);
        assert_near(s.lssr, 1 / (1 + weight * form(5, q.within, delta)), 1e-12);
        assert_near(s.lssr, unexplained(&c), 1e-12);
        assert_near(s.lssr, ssr_along(&c, w), 1e-12);
        for (int j = 0; j < 5; j++) { /* Sw w = lambda St w */
            double left = 0, right = 0;
            for (int k = 0; k < 5; k++) {
                left += q.within[j * 5 + k] * w[k];
                right += s.lssr * q.total[j * 5 + k] * w[k];
            }
            assert_near(left, right, 1e-9 * fabs(right) + 1e-9);
        }
        cloud_free(&c);
    }
}

/* Variance of w . x. */
static double spread_along(const cloud *c, const double *w)
{
    double square = 0, mean = 0;
    for (int64_t i = 0; i < c->n; i++) {
        double p = 0;
        for (int64_t j = 0; j < c->d; j++) {
            p += w[j] * c->x[i * c->d + j];
        }
        mean += p / (double)c->n;
        square += p * p / (double)c->n;
    }
    return square - mean * mean;
}

static void the_direction_has_unit_spread(void **state)
{
    cloud c = cloud_of(101, 7, 3, 11);
    double w[7];
    (void)state;
    measure(&c, w);
    assert_near(spread_along(&c, w), 1, 1e-10);
    cloud_free(&c);
}

static void no_direction_is_below_lssr(void **state)
{
    (void)state;
    for (int64_t classes = 2; classes < 8; classes++) {
        cloud c = cloud_of(61, 5, classes, (uint64_t)classes);
        double w[5];
        far_ssr s = measure(&c, w);
        assert_int_equal(s.classes, classes);
        assert_near(ssr_along(&c, w), s.lssr, 1e-12);
        assert_true(s.lssr <= s.ssr);
        for (int trial = 0; trial < 200; trial++) {
            double v[5];
            for (int j = 0; j < 5; j++) {
                v[j] = trial % 2 == 0 ? roll_bell(&noise_state)
                                      : w[j] * (1 + 0.01 * roll_bell(&noise_state));
            }
            assert_true(ssr_along(&c, v) > s.lssr - 1e-12);
        }
        cloud_free(&c);
    }
}

/* More classes than features: the other of the two small eigenproblems. */
static void classes_may_outnumber_features(void **state)
{
    cloud c = cloud_of(97, 2, 11, 5);
    double w[2];
    far_ssr s = measure(&c, w);
    (void)state;
    assert_near(ssr_along(&c, w), s.lssr, 1e-12);
    for (int k = 0; k < 1000; k++) {
        double v[2] = {cos(k * 0.00314159265), sin(k * 0.00314159265)};
        assert_true(ssr_along(&c, v) > s.lssr - 1e-12);
    }
    cloud_free(&c);
}

static void lssr_does_not_see_linear_maps_and_units(void **state)
{
    cloud c = cloud_of(47, 3, 2, 3);
    double lssr = measure(&c, NULL).lssr;
    const double map[9] = {1, 2, 0.5, -1, 1, 3, 0.25, -2, 1};
    const double units[] = {1e-150, 1e-3, 1e150};
    (void)state;
    cloud m = mapped(&c, 3, map);
    assert_near(measure(&m, NULL).lssr, lssr, 1e-12);
    cloud_free(&m);
    for (int u = 0; u < COUNT(units); u++) {
        double diagonal[9] = {units[u], 0, 0, 0, 1, 0, 0, 0, 1 / units[u]};
        m = mapped(&c, 3, diagonal);
        far_ssr s = measure(&m, NULL);
        assert_near(s.lssr, lssr, 1e-12);
        assert_true(s.ssr > 0 && s.ssr <= 1);
        cloud_free(&m);
    }
    for (int64_t i = 0; i < c.n * c.d; i++) {
        c.x[i] += 1e6;
    }
    assert_near(measure(&c, NULL).lssr, lssr, 1e-9);
    cloud_free(&c);
}

static void features_may_be_constant_or_depend_on_each_other(void **state)
{
    cloud c = cloud_of(59, 3, 2, 9);
    const double map[3 * 7] = {1, 0, 0, 1, 0, 2, 0, /* x0, x1, x2, x0 + x1, 0, 2 x0 - x2, x1 */
                               0, 1, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, -1, 0};
    double w[7];
    (void)state;
    cloud m = mapped(&c, 7, map);
    for (int64_t i = 0; i < m.n; i++) {
        m.x[i * 7 + 4] = 0.1;
    }
    far_ssr s = measure(&m, w);
    assert_int_equal(s.rank, 3);
    assert_near(s.lssr, measure(&c, NULL).lssr, 1e-11);
    assert_near(ssr_along(&m, w), s.lssr, 1e-9);
    assert_true(w[4] == 0);
    cloud_free(&c);
    cloud_free(&m);
}

static void there_may_be_more_features_than_points(void **state)
{
    cloud c = cloud_of(7, 11, 2, 4), narrow = cloud_of(10, 3, 2, 21);
    double w[MOST], map[3 * MOST];
    far_ssr s = measure(&c, w);
    (void)state;
    assert_int_equal(s.rank, 6);
    assert_true(s.lssr < 1e-20);
    assert_true(ssr_along(&c, w) < 1e-20);
    assert_near(spread_along(&c, w), 1, 1e-10);
    for (int j = 0; j < 3 * MOST; j++) {
        map[j] = roll_bell(&noise_state);
    }
    cloud wide = mapped(&narrow, MOST, map);
    s = measure(&wide, w);
    assert_int_equal(s.rank, 3);
    assert_near(s.lssr, measure(&narrow, NULL).lssr, 1e-10);
    assert_near(ssr_along(&wide, w), s.lssr, 1e-8);
    cloud_free(&c);
    cloud_free(&narrow);
    cloud_free(&wide);
}

static void many_points_are_read_in_blocks(void **state)
{
    cloud c = cloud_of(20011, 3, 2, 8);
    scatter q = scatter_of(&c);
    double delta[3];
    (void)state;
    for (int j = 0; j < 3; j++) {
        delta[j] = q.mean[0][j] - q.mean[1][j];
    }
    double weight = q.count[0] * q.count[1] / (double)c.n;
    assert_near(measure(&c, NULL).lssr, 1 - weight * form(3, q.total, delta), 1e-11);
    assert_true(test_heap.peak_bytes < 2 * 8 * 20011);
    cloud_free(&c);
}

static void strides_and_empty_classes_do_not_matter(void **state)
{
    cloud c = cloud_of(31, 3, 2, 6);
    double wide[31 * 5];
    int64_t labels[31];
    far_ssr s, plain = measure(&c, NULL);
    (void)state;
    for (int64_t i = 0; i < 31; i++) {
        memcpy(wide + i * 5, c.x + i * 3, 3 * sizeof *wide);
        wide[i * 5 + 3] = wide[i * 5 + 4] = NAN;
        labels[i] = 4 * c.labels[i] + 1;
    }
    far_mat x = {.data = wide, .rows = 31, .cols = 3, .ld = 5, .dtype = FAR_F64};
    assert_int_equal(far_ssr_measure(ctx, &x, labels, 7, &s, NULL), FAR_OK);
    assert_near(s.lssr, plain.lssr, 1e-14);
    assert_true(s.ssr == plain.ssr && s.classes == 2);
    cloud_free(&c);
}

static void copies_of_a_point_a_class_have_no_scatter(void **state)
{
    double x[] = {0.1, 0.3, 0.1, 0.3, 0.1, 0.3, 0.7, -0.2, 0.7, -0.2};
    int64_t labels[] = {0, 0, 0, 1, 1};
    cloud c = {5, 2, 2, x, labels};
    far_ssr s = measure(&c, NULL);
    (void)state;
    assert_true(s.ssr == 0 && s.lssr < 1e-30);
    assert_int_equal(s.rank, 1);
}

/* ---- what is refused ----------------------------------------------------------------------- */

typedef struct refusal {
    const char *name;
    double x[4];
    int64_t labels[4], rows, cols, classes;
    int32_t dtype;
    far_status status;
    const char *message;
} refusal;

static const refusal REFUSALS[] = {
    {"one class", {1, 2, 3, 4}, {0, 0, 0, 0}, 4, 1, 2, FAR_F64, FAR_ERR_VALUE, "of one class"},
    {"a label", {1, 2, 3, 4}, {0, 1, 2, 0}, 4, 1, 2, FAR_F64, FAR_ERR_ARG, "row 3 is 2"},
    {"a label", {1, 2, 3, 4}, {0, -1, 0, 0}, 4, 1, 2, FAR_F64, FAR_ERR_ARG, "row 2 is -1"},
    {"nan", {1, 2, NAN, 4}, {0, 1, 1, 0}, 2, 2, 2, FAR_F64, FAR_ERR_VALUE, "row 2, column 1"},
    {"inf", {1, INFINITY, 3, 4}, {0, 1, 1, 0}, 2, 2, 2, FAR_F64, FAR_ERR_VALUE, "row 1, column 2"},
    {"constant", {2, 2, 2, 2}, {0, 1, 1, 0}, 4, 1, 2, FAR_F64, FAR_ERR_VALUE, "coincide"},
    {"wide",
     {-1e308, 1e308, 0, 0},
     {0, 1, 1, 0},
     4,
     1,
     2,
     FAR_F64,
     FAR_ERR_VALUE,
     "column 1 spans"},
    {"few", {1, 2, 3, 4}, {0, 1, 1, 0}, 1, 4, 2, FAR_F64, FAR_ERR_SHAPE, "2 points"},
    {"classes", {1, 2, 3, 4}, {0, 0, 0, 0}, 4, 1, 1, FAR_F64, FAR_ERR_ARG, "at least 2"},
    {"float", {1, 2, 3, 4}, {0, 1, 0, 1}, 4, 1, 2, FAR_F32, FAR_ERR_ARG, "float64"},
};

static void bad_points_are_refused_in_words(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(REFUSALS); i++) {
        const refusal *r = &REFUSALS[i];
        far_mat x = far_mat_view((double *)r->x, r->rows, r->cols, (far_dtype)r->dtype);
        far_ssr s;
        far_net *net = (far_net *)&s;
        assert_int_equal(far_ssr_measure(ctx, &x, r->labels, r->classes, &s, NULL), r->status);
        assert_non_null(strstr(far_ctx_message(ctx), r->message));
        assert_int_equal(far_ln_layer_search(ctx, &x, r->labels, r->classes, NULL, &net, NULL),
                         r->status);
        assert_null(net);
    }
}

static void bad_arguments_are_refused(void **state)
{
    far_mat x = mat_of(&XOR), w = far_mat_view(xor_x, 1, 3, FAR_F64);
    far_ssr s;
    far_net *net;
    far_ln_layer_opts opts;
    (void)state;
    assert_int_equal(far_ssr_measure(ctx, &x, NULL, 2, &s, NULL), FAR_ERR_ARG);
    assert_int_equal(far_ssr_measure(ctx, NULL, xor_labels, 2, &s, NULL), FAR_ERR_ARG);
    assert_int_equal(far_ssr_measure(ctx, &x, xor_labels, 2, &s, &w), FAR_ERR_SHAPE);
    far_ln_layer_opts_init(&opts);
    opts.directions = 0;
    assert_int_equal(far_ln_layer_search(ctx, &x, xor_labels, 2, &opts, &net, NULL), FAR_ERR_ARG);
    far_ln_layer_opts_init(&opts);
    opts.steps = -1;
    assert_int_equal(far_ln_layer_search(ctx, &x, xor_labels, 2, &opts, &net, NULL), FAR_ERR_ARG);
    opts = (far_ln_layer_opts){.directions = 1};
    assert_int_equal(far_ln_layer_search(ctx, &x, xor_labels, 2, &opts, &net, NULL), FAR_ERR_ARG);
    assert_non_null(strstr(far_ctx_message(ctx), "far_ln_layer_opts_init"));
}

/* ---- one layer ----------------------------------------------------------------------------- */

static far_ln_layer_info search(const cloud *c, const far_ln_layer_opts *opts, far_net **net)
{
    far_ln_layer_info info;
    far_mat x = mat_of(c);
    assert_int_equal(far_ln_layer_search(ctx, &x, c->labels, c->classes, opts, net, &info), FAR_OK);
    return info;
}

/* W x + b and LN with eps = 1e-5, plainly. */
static void plain_layer(far_net *net, int64_t d, const double *x, double out[3])
{
    const double *w = far_net_parameters(net).data;
    double mean = 0, square = 0;
    for (int o = 0; o < 3; o++) {
        out[o] = w[3 * d + o];
        for (int64_t j = 0; j < d; j++) {
            out[o] += w[o * d + j] * x[j];
        }
        mean += out[o] / 3;
    }
    for (int o = 0; o < 3; o++) {
        out[o] -= mean;
        square += out[o] * out[o] / 3;
    }
    for (int o = 0; o < 3; o++) {
        out[o] /= sqrt(square + 1e-5);
    }
}

/* The outputs as points of their own. */
static cloud behind(far_net *net, const cloud *c)
{
    cloud out = cloud_of(c->n, 3, c->classes, 1);
    memcpy(out.labels, c->labels, (size_t)c->n * sizeof *c->labels);
    for (int64_t i = 0; i < c->n; i++) {
        plain_layer(net, c->d, c->x + i * c->d, out.x + i * 3);
    }
    return out;
}

static void one_layer_solves_xor(void **state)
{
    far_net *net;
    far_ln_layer_info info = search(&XOR, NULL, &net);
    cloud out = behind(net, &XOR);
    (void)state;
    assert_true(info.before.lssr == 1 && info.lssr < 1e-20 && info.broken == 1);
    assert_true(isnan(info.along) && info.line < 1e-20 && info.candidates > 0);
    assert_true(ssr_along(&out, info.readout) < 1e-20);
    assert_string_equal(far_net_describe(net).arch, "dense(3) ln");
    cloud_free(&out);
    far_net_destroy(net);
}

static void one_layer_parts_the_middle_of_a_line(void **state)
{
    double x[] = {-1, 0, 1};
    int64_t labels[] = {0, 1, 0};
    cloud c = {3, 1, 2, x, labels};
    far_net *net;
    far_ln_layer_info info = search(&c, NULL, &net);
    (void)state;
    assert_true(info.before.lssr == 1 && info.lssr < 1e-20 && info.broken == 1);
    far_net_destroy(net);
}

static void the_bound_is_broken_on_random_labels(void **state)
{
    int broken = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        cloud c = cloud_of(41, 3, seed % 2 == 0 ? 2 : 3, seed);
        far_ln_layer_opts opts;
        far_net *net;
        far_ln_layer_opts_init(&opts);
        opts.directions = 8;
        opts.steps = 50;
        far_ln_layer_info info = search(&c, &opts, &net);
        cloud out = behind(net, &c);
        broken += info.broken;
        assert_true(info.lssr <= info.line && info.line <= info.along);
        assert_true(info.lssr <= info.ssr + 1e-12);
        assert_near(ssr_along(&out, info.readout), info.lssr, 1e-8);
        cloud_free(&out);
        cloud_free(&c);
        far_net_destroy(net);
    }
    assert_true(broken >= 19);
}

/* Class 1 outside of a sphere: linear maps see nothing, lines some of it. */
static void a_shell_is_seen(void **state)
{
    cloud c = cloud_of(503, 3, 2, 2);
    far_net *net;
    (void)state;
    for (int64_t i = 0; i < c.n; i++) {
        double square = 0;
        for (int j = 0; j < 3; j++) {
            c.x[i * 3 + j] = roll_bell(&noise_state);
            square += c.x[i * 3 + j] * c.x[i * 3 + j];
        }
        c.labels[i] = square > 2.4;
    }
    far_ln_layer_info info = search(&c, NULL, &net);
    assert_true(info.before.lssr > 0.97 && info.line < 0.8 && info.lssr <= info.line);
    cloud_free(&c);
    far_net_destroy(net);
}

/* The quadrant of two of seven features. A plane that is a line through the origin makes LN a sign;
 * on the way there all weights move. */
static void planes_find_what_lines_do_not(void **state)
{
    cloud c = cloud_of(307, 7, 4, 2);
    far_net *net;
    (void)state;
    for (int64_t i = 0; i < c.n; i++) {
        for (int j = 0; j < 7; j++) {
            c.x[i * 7 + j] = roll_bell(&noise_state);
        }
        c.labels[i] = (c.x[i * 7] > 0) + 2 * (c.x[i * 7 + 1] > 0);
    }
    far_ln_layer_info info = search(&c, NULL, &net);
    assert_true(info.line > 0.05 && info.lssr < 1e-3);
    cloud_free(&c);
    far_net_destroy(net);
}

/* One point, no class but one, and classes that lie in the same place. */
static void circles_without_scatter(void **state)
{
    (void)state;
    int64_t labels[4] = {0, 0, 2, 2};
    double counts[3] = {2, 0, 2}, means[6], q[2], one[8] = {1, 0, 1, 0, 1, 0, 1, 0};
    double cross[8] = {1, 0, -1, 0, 0, 1, 0, -1};
    double apart[8] = {1, 0, 1, 0, -1, 0, -1, 0}; /* on one line */
    far_circle c = {4, 3, labels, counts, one, means};
    assert_near(far_circle_lssr(&c, q), 1, 0);
    assert_true(q[0] == 0 && q[1] == 0);
    c.s = cross;
    assert_near(far_circle_lssr(&c, q), 1, 1e-15);
    assert_near(2 * (q[0] * q[0] + q[1] * q[1]), 1, 1e-15); /* q' St q */
    c.s = apart;
    assert_near(far_circle_lssr(&c, q), 0, 1e-15);
    assert_near(4 * q[0] * q[0], 1, 1e-15);
}

static void slopes_on_the_circle_agree_with_differences(void **state)
{
    enum { POINTS = 11 };
    int64_t labels[POINTS];
    double s[2 * POINTS], means[6], counts[3] = {0}, q[2], g[2 * POINTS], e = 1e-6;
    far_circle c = {POINTS, 3, labels, counts, s, means};
    (void)state;
    noise_state = 3;
    for (int i = 0; i < POINTS; i++) {
        labels[i] = i % 3;
        counts[i % 3]++;
        s[2 * i] = cos(roll_bell(&noise_state));
        s[2 * i + 1] = sin(roll_bell(&noise_state));
    }
    double lssr = far_circle_lssr(&c, q);
    far_circle_gradient(&c, q, lssr, g);
    for (int k = 0; k < 2 * POINTS; k++) {
        double kept = s[k], unused[2];
        s[k] = kept + e;
        double up = far_circle_lssr(&c, unused);
        s[k] = kept - e;
        double down = far_circle_lssr(&c, unused);
        s[k] = kept;
        assert_near(g[k], (up - down) / (2 * e), 1e-8);
    }
}

/* More points than lines are compared on, and features in raw units. */
static void large_data_are_sampled_and_measured_whole(void **state)
{
    cloud c = cloud_of(5003, 2, 2, 17);
    far_ln_layer_opts opts;
    far_net *net;
    (void)state;
    for (int64_t i = 0; i < c.n; i++) {
        c.x[2 * i] = 1000 + 50 * roll_bell(&noise_state);
        c.x[2 * i + 1] = 1e-4 * roll_bell(&noise_state);
        c.labels[i] = (c.x[2 * i] > 1000) != (c.x[2 * i + 1] > 0);
    }
    far_ln_layer_opts_init(&opts);
    opts.directions = 4;
    opts.steps = 20;
    far_ln_layer_info info = search(&c, &opts, &net);
    cloud out = behind(net, &c);
    assert_true(info.before.lssr > 0.99 && info.lssr < 0.7);
    assert_near(ssr_along(&out, info.readout), info.lssr, 1e-8);
    cloud_free(&out);
    cloud_free(&c);
    far_net_destroy(net);
}

static void the_search_is_deterministic_and_may_stop_at_lines(void **state)
{
    cloud c = cloud_of(37, 5, 3, 1);
    far_ln_layer_opts opts;
    far_net *a, *b;
    (void)state;
    far_ln_layer_opts_init(&opts);
    opts.steps = 0;
    opts.directions = 5;
    far_ln_layer_info first = search(&c, &opts, &a), second = search(&c, &opts, &b);
    assert_true(first.lssr == first.line && first.lssr == second.lssr);
    assert_memory_equal(far_net_parameters(a).data, far_net_parameters(b).data,
                        18 * sizeof(double));
    far_net_destroy(a);
    far_net_destroy(b);
    cloud_free(&c);
}

static void a_layer_can_be_saved(void **state)
{
    char path[] = "/tmp/far_nonlinear_XXXXXX";
    far_net *net, *back;
    far_ln_layer_info info = search(&XOR, NULL, &net);
    int file = mkstemp(path);
    double out[12];
    far_ssr s;
    far_mat x = mat_of(&XOR), o = far_mat_view(out, 4, 3, FAR_F64);
    (void)state;
    assert_true(file >= 0);
    close(file);
    assert_int_equal(far_net_save(ctx, net, path), FAR_OK);
    assert_int_equal(far_net_load(ctx, path, NULL, &back), FAR_OK);
    assert_int_equal(far_net_eval(ctx, back, &x, &o), FAR_OK);
    assert_int_equal(far_ssr_measure(ctx, &o, xor_labels, 2, &s, NULL), FAR_OK);
    assert_true(s.lssr < 1e-20 && fabs(s.ssr - info.ssr) < 1e-12);
    unlink(path);
    far_net_destroy(net);
    far_net_destroy(back);
}

/* ---- memory and progress ------------------------------------------------------------------- */

static far_status call_measure(const cloud *c)
{
    far_ssr s;
    far_mat x = mat_of(c);
    return far_ssr_measure(ctx, &x, c->labels, c->classes, &s, NULL);
}

static far_status call_search(const cloud *c)
{
    far_mat x = mat_of(c);
    far_net *net = NULL;
    far_ln_layer_opts opts;
    far_ln_layer_opts_init(&opts);
    opts.directions = 3;
    opts.steps = 3;
    far_status st = far_ln_layer_search(ctx, &x, c->labels, c->classes, &opts, &net, NULL);
    assert_true((st == FAR_OK) == (net != NULL));
    far_net_destroy(net);
    return st;
}

static far_status (*const CALLS[])(const cloud *) = {call_measure, call_search};

static void every_allocation_may_fail(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(CALLS); i++) {
        for (int64_t d = 3; d < 12; d += 8) { /* fewer than points, and more */
            cloud c = cloud_of(7, d, 2, 1);
            far_status st = FAR_ERR_MEMORY;
            for (int64_t k = 0; st != FAR_OK; k++) {
                int64_t live = test_heap.live_blocks;
                test_heap.fail_at = test_heap.calls + k;
                st = CALLS[i](&c);
                assert_true(st == FAR_OK || st == FAR_ERR_MEMORY);
                assert_int_equal(test_heap.live_blocks, live);
            }
            test_heap.fail_at = -1;
            cloud_free(&c);
        }
    }
}

static void long_calls_can_be_cancelled(void **state)
{
    cloud c = cloud_of(1500, 3, 2, 1);
    (void)state;
    for (int i = 0; i < COUNT(CALLS); i++) {
        for (int at = 1; at < 20; at += 3) {
            ear.calls = 0;
            ear.stop_at = at;
            far_status st = CALLS[i](&c);
            assert_int_equal(st, ear.calls >= at ? FAR_ERR_CANCELLED : FAR_OK);
        }
        assert_true(ear.calls > 0);
    }
    ear.stop_at = 0;
    assert_int_equal(call_search(&c), FAR_OK);
    cloud_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(circles_without_scatter),
        TEST(xor_has_no_linear_structure),
        TEST(a_line_by_hand),
        TEST(the_four_formulas_of_lssr_agree),
        TEST(the_direction_has_unit_spread),
        TEST(no_direction_is_below_lssr),
        TEST(classes_may_outnumber_features),
        TEST(lssr_does_not_see_linear_maps_and_units),
        TEST(features_may_be_constant_or_depend_on_each_other),
        TEST(there_may_be_more_features_than_points),
        TEST(many_points_are_read_in_blocks),
        TEST(strides_and_empty_classes_do_not_matter),
        TEST(copies_of_a_point_a_class_have_no_scatter),
        TEST(bad_points_are_refused_in_words),
        TEST(bad_arguments_are_refused),
        TEST(one_layer_solves_xor),
        TEST(one_layer_parts_the_middle_of_a_line),
        TEST(the_bound_is_broken_on_random_labels),
        TEST(a_shell_is_seen),
        TEST(planes_find_what_lines_do_not),
        TEST(slopes_on_the_circle_agree_with_differences),
        TEST(large_data_are_sampled_and_measured_whole),
        TEST(the_search_is_deterministic_and_may_stop_at_lines),
        TEST(a_layer_can_be_saved),
        TEST(every_allocation_may_fail),
        TEST(long_calls_can_be_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
