/*
 * Models: how tables become points, what is refused and how it is said, choices against brute
 * force, filters and spreads against their definitions, every failing allocation, cancelling at any
 * point.
 */
#include "../../src/data/frame_internal.h"
#include "../../src/regress/regress_internal.h"

#include <farfield/farfield.h>

#include "harness.h"
#include "tables.h"

#define LN_FIRST "dense ln relu dense relu dense"
#define NO_NORM "dense relu dense relu dense"

/* ---- tables and models without ceremony ---- */

/* Number columns x1, x2, ... from x (n x d) and y1, y2, ... from y (n x p). */
static far_frame *columns(const double *x, int64_t n, int64_t d, const double *y, int64_t p)
{
    far_frame *frame;
    char text[16][8];
    const char *names[16];
    double *all = malloc((size_t)(n * (d + p)) * sizeof *all);
    assert_true(all && d + p <= 16);
    for (int64_t j = 0; j < d + p; j++) {
        snprintf(text[j], sizeof text[j], "%c%d", j < d ? 'x' : 'y',
                 (int)(j < d ? j : j - d) % 100 + 1);
        names[j] = text[j];
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < d + p; j++) {
            all[i * (d + p) + j] = j < d ? x[i * d + j] : y[i * p + j - d];
        }
    }
    far_mat m = far_mat_view(all, n, d + p, FAR_F64);
    must(far_frame_from_mat(ctx, &m, names, &frame));
    free(all);
    return frame;
}

static far_fit_opts options(const char *target, const char *arch, double ridge)
{
    far_fit_opts o;
    far_fit_opts_init(&o);
    o.target = target;
    o.arch = arch;
    o.ridge = ridge;
    return o;
}

/* For tables of columns(): all but the targets are inputs, also targets that are not asked for. */
static far_fit_opts options_x(const char *target, const char *arch, double ridge)
{
    far_fit_opts o = options(target, arch, ridge);
    o.features = "x1,x2,x3";
    return o;
}

static far_model *fit(const far_frame *frame, far_fit_opts o)
{
    far_model *m;
    must(far_model_fit(ctx, frame, &o, &m));
    return m;
}

static void refuse_fit(const far_frame *frame, far_fit_opts o, far_status expected,
                       const char *piece)
{
    far_model *m = (far_model *)&o;
    refused(far_model_fit(ctx, frame, &o, &m), expected, piece);
    assert_null(m);
}

static void refuse_table(const char *csv, far_fit_opts o, far_status expected, const char *piece)
{
    far_frame *frame = table_of(csv);
    refuse_fit(frame, o, expected, piece);
    far_frame_destroy(frame);
}

static far_predict_opts predict_options(void)
{
    far_predict_opts o;
    far_predict_opts_init(&o);
    return o;
}

static far_prediction *predict(const far_model *m, const far_frame *frame, far_predict_opts o)
{
    far_prediction *p;
    must(far_model_predict(ctx, m, frame, &o, &p));
    return p;
}

static void refuse_predict(const far_model *m, const far_frame *frame, far_predict_opts o,
                           far_status expected, const char *piece)
{
    far_prediction *p = (far_prediction *)&o;
    refused(far_model_predict(ctx, m, frame, &o, &p), expected, piece);
    assert_null(p);
}

static void refuse_predict_table(const far_model *m, const char *csv, far_status expected,
                                 const char *piece)
{
    far_frame *frame = table_of(csv);
    refuse_predict(m, frame, predict_options(), expected, piece);
    far_frame_destroy(frame);
}

static double at(far_mat m, int64_t i, int64_t j)
{
    assert_true(i < m.rows && j < m.cols);
    return ((const double *)far_mat_row(&m, i))[j];
}

/* Input row i of a table as the model sees it. */
static void encode_row(const far_model *m, const char *csv, double *out)
{
    far_frame *frame = table_of(csv);
    far_mat row = far_mat_view(out, 1, far_model_describe(m).inputs, FAR_F64);
    must(far_columns_encode(ctx, m->columns, frame, NULL, &row));
    far_frame_destroy(frame);
}

/* ---- data ---- */

#define N 13
#define D 3
#define P 2

static double noise(uint64_t seed, int64_t i)
{
    return far_random_normal(seed, (uint64_t)i);
}

static void make_data(uint64_t seed, int64_t n, int64_t d, int64_t p, double *x, double *y)
{
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t j = 0; j < d; j++) {
            x[i * d + j] = 1 + (double)j + 2 * noise(seed, i * d + j);
            sum += x[i * d + j];
        }
        for (int64_t j = 0; j < p; j++) {
            y[i * p + j] = 5 + sin(sum + (double)j) * (1 + (double)j) + x[i * d] / 3;
        }
    }
}

static far_frame *some_data(void)
{
    double x[N * D], y[N * P];
    make_data(1, N, D, P, x, y);
    return columns(x, N, D, y, P);
}

/* The kernel of a model between rows of points, n x m. */
static void kernel_between(const far_model *m, far_kernel_kind kind, const far_mat *a,
                           const far_mat *b, double *out)
{
    far_kernel *k;
    far_kernel_opts o;
    o = (far_kernel_opts){.size = sizeof o};
    o.param = far_model_describe(m).param;
    must(far_kernel_create(ctx, m->arch, &o, &k));
    far_mat values = far_mat_view(out, a->rows, b->rows, FAR_F64);
    bool nngp = kind == FAR_KERNEL_NNGP;
    must(
        far_kernel_eval(ctx, k, a, b, FAR_FILL_FULL, nngp ? &values : NULL, nngp ? NULL : &values));
    far_kernel_destroy(k);
}

/* Gaussian elimination with pivots, long double: a (n x n) is destroyed, b (n x p) becomes x. */
static long double solve_long(long double *a, int64_t n, long double *b, int64_t p)
{
    long double log_det = 0;
    for (int64_t k = 0; k < n; k++) {
        int64_t best = k;
        for (int64_t i = k; i < n; i++) {
            best = fabsl(a[i * n + k]) > fabsl(a[best * n + k]) ? i : best;
        }
        for (int64_t j = 0; j < n; j++) {
            long double kept = a[k * n + j];
            a[k * n + j] = a[best * n + j];
            a[best * n + j] = kept;
        }
        for (int64_t j = 0; j < p; j++) {
            long double kept = b[k * p + j];
            b[k * p + j] = b[best * p + j];
            b[best * p + j] = kept;
        }
        log_det += logl(fabsl(a[k * n + k]));
        for (int64_t i = 0; i < n; i++) {
            long double f = i == k ? 0 : a[i * n + k] / a[k * n + k];
            for (int64_t j = k; j < n && f != 0; j++) {
                a[i * n + j] -= f * a[k * n + j];
            }
            for (int64_t j = 0; j < p; j++) {
                b[i * p + j] -= f * b[k * p + j];
            }
        }
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < p; j++) {
            b[i * p + j] /= a[i * n + i];
        }
    }
    return log_det;
}

/* ---- arguments ---- */

static void fit_checks_its_arguments(void **state)
{
    (void)state;
    far_frame *frame = some_data();
    far_fit_opts good = options("y1", LN_FIRST, 0.01), o = good;
    far_model *m;
    refused(far_model_fit(ctx, NULL, &o, &m), FAR_ERR_ARG, "frame");
    refused(far_model_fit(ctx, frame, NULL, &m), FAR_ERR_ARG, "opts");
    refused(far_model_fit(ctx, frame, &o, NULL), FAR_ERR_ARG, "out");
    o.size = 0;
    refuse_fit(frame, o, FAR_ERR_ARG, "initialised");
    o = good, o.target = NULL;
    refuse_fit(frame, o, FAR_ERR_ARG, "target");
    o = good, o.target = "";
    refuse_fit(frame, o, FAR_ERR_ARG, "target");
    o = good, o.target = "y1,y1";
    refuse_fit(frame, o, FAR_ERR_ARG, "y1");
    o = good, o.target = "y11";
    refuse_fit(frame, o, FAR_ERR_ARG, "y1");
    o = good, o.features = "x1,zz";
    refuse_fit(frame, o, FAR_ERR_ARG, "zz");
    o = good, o.features = "x1,y1";
    refuse_fit(frame, o, FAR_ERR_ARG, "y1 is both");
    o = good, o.ridge = -1e-3;
    refuse_fit(frame, o, FAR_ERR_ARG, "-0.001");
    o = good, o.ridge = INFINITY;
    refuse_fit(frame, o, FAR_ERR_ARG, "ridge");
    o = good, o.subset = 1;
    refuse_fit(frame, o, FAR_ERR_ARG, "subset");
    o = good, o.arch = "dense oops";
    refuse_fit(frame, o, FAR_ERR_PARSE, "column 7");
    unsigned char none[N] = {0};
    o = good, o.rows = none;
    refuse_fit(frame, o, FAR_ERR_ARG, "no rows");
    far_frame_destroy(frame);
}

/* A number that stands for no choice is an argument error, not the default. */
static void fit_knows_its_choices(void **state)
{
    (void)state;
    far_frame *frame = some_data();
    far_fit_opts good = options("y1", LN_FIRST, 0.01), o;
    o = good, o.param = 2;
    refuse_fit(frame, o, FAR_ERR_ARG, "");
    o = good, o.kernel = 2;
    refuse_fit(frame, o, FAR_ERR_ARG, "kernel");
    o = good, o.kernel = -1;
    refuse_fit(frame, o, FAR_ERR_ARG, "kernel");
    for (int32_t wrong = -1; wrong <= 3; wrong += 4) {
        o = good, o.task = wrong;
        refuse_fit(frame, o, FAR_ERR_ARG, "task");
        o = good, o.criterion = wrong;
        refuse_fit(frame, o, FAR_ERR_ARG, "criterion");
        o = good, o.ridge_kind = wrong;
        refuse_fit(frame, o, FAR_ERR_ARG, "ridge");
    }
    o = good, o.storage = 3;
    refuse_fit(frame, o, FAR_ERR_ARG, "storage");
    o = good, o.memory = -1;
    refuse_fit(frame, o, FAR_ERR_ARG, "");
    far_frame_destroy(frame);
}

static void predict_checks_its_arguments(void **state)
{
    (void)state;
    far_frame *frame = some_data();
    far_model *m = fit(frame, options("y1,y2", LN_FIRST, 0.01));
    far_prediction *p;
    far_predict_opts good = predict_options(), o = good;
    refused(far_model_predict(ctx, NULL, frame, &o, &p), FAR_ERR_ARG, "model");
    refused(far_model_predict(ctx, m, NULL, &o, &p), FAR_ERR_ARG, "frame");
    refused(far_model_predict(ctx, m, frame, NULL, &p), FAR_ERR_ARG, "opts");
    refused(far_model_predict(ctx, m, frame, &o, NULL), FAR_ERR_ARG, "out");
    o.size = 1;
    refuse_predict(m, frame, o, FAR_ERR_ARG, "initialised");
    o = good, o.time = -1;
    refuse_predict(m, frame, o, FAR_ERR_ARG, "time");
    o = good, o.time = NAN;
    refuse_predict(m, frame, o, FAR_ERR_ARG, "time");
    o = good, o.steps = -1;
    refuse_predict(m, frame, o, FAR_ERR_ARG, "steps");
    o = good, o.steps = 3;
    refuse_predict(m, frame, o, FAR_ERR_ARG, "rate");
    o = good, o.steps = 3, o.rate = INFINITY;
    refuse_predict(m, frame, o, FAR_ERR_ARG, "rate");
    o = good, o.steps = 3, o.rate = 1e-3, o.time = 7;
    refuse_predict(m, frame, o, FAR_ERR_ARG, "one of them");
    o = good, o.time = 3, o.spread = FAR_SPREAD_CALIBRATED;
    refuse_predict(m, frame, o, FAR_ERR_ARG, "ensemble");
    o = good, o.steps = 2, o.rate = 1e-3, o.spread = FAR_SPREAD_CALIBRATED;
    refuse_predict(m, frame, o, FAR_ERR_ARG, "ensemble");
    o = good, o.at_infinity = 1, o.time = 3;
    refuse_predict(m, frame, o, FAR_ERR_ARG, "infinity");
    o = good, o.at_infinity = 1, o.spread = FAR_SPREAD_ENSEMBLE;
    refuse_predict(m, frame, o, FAR_ERR_ARG, "infinity");
    o = good, o.spread = 5;
    refuse_predict(m, frame, o, FAR_ERR_ARG, "spread");
    o = good, o.spread = -1;
    refuse_predict(m, frame, o, FAR_ERR_ARG, "spread");
    far_model_destroy(m);
    far_frame_destroy(frame);
}

static void points_must_fit_the_model(void **state)
{
    (void)state;
    far_frame *frame = some_data();
    far_model *m = fit(frame, options("y1,y2", LN_FIRST, 0.01));
    double points[5 * D] = {0}, mean[5 * P] = {0}, orders[5] = {0};
    far_mat x = far_mat_view(points, 5, D, FAR_F64), y = far_mat_view(mean, 5, P, FAR_F64);
    far_mat order = far_mat_view(orders, 5, 1, FAR_F64), bad;
    for (int i = 0; i < 5 * D; i++) {
        points[i] = 1 + i;
    }
    must(far_model_eval(ctx, m, &x, &y));
    must(far_model_limit(ctx, m, &x, &y, &order));
    refused(far_model_eval(ctx, NULL, &x, &y), FAR_ERR_ARG, "model");
    refused(far_model_eval(ctx, m, NULL, &y), FAR_ERR_ARG, "points");
    refused(far_model_eval(ctx, m, &x, NULL), FAR_ERR_ARG, "mean");
    refused(far_model_limit(ctx, NULL, &x, &y, &order), FAR_ERR_ARG, "model");
    refused(far_model_limit(ctx, m, &x, &y, NULL), FAR_ERR_ARG, "order");
    refused(far_columns_encode(ctx, NULL, frame, NULL, &x), FAR_ERR_ARG, "columns");
    refused(far_columns_encode(ctx, m->columns, NULL, NULL, &x), FAR_ERR_ARG, "frame");
    bad = x, bad.cols = D - 1;
    refused(far_model_eval(ctx, m, &bad, &y), FAR_ERR_SHAPE, "5 x 2");
    bad = y, bad.rows = 4;
    refused(far_model_eval(ctx, m, &x, &bad), FAR_ERR_SHAPE, "4 x 2");
    bad = y, bad.dtype = FAR_F32;
    refused(far_model_eval(ctx, m, &x, &bad), FAR_ERR_SHAPE, "float64");
    bad = order, bad.rows = 4;
    refused(far_model_limit(ctx, m, &x, &y, &bad), FAR_ERR_SHAPE, "order");
    bad = order, bad.cols = 2, bad.rows = 2;
    refused(far_model_limit(ctx, m, &x, &y, &bad), FAR_ERR_SHAPE, "order");
    bad = x;
    refused(far_columns_encode(ctx, m->columns, frame, NULL, &bad), FAR_ERR_SHAPE, "13 x 3");
    points[4] = NAN;
    refused(far_model_eval(ctx, m, &x, &y), FAR_ERR_VALUE, "");
    far_model_destroy(m);
    far_frame_destroy(frame);
}

static void what_is_not_there_has_no_name(void **state)
{
    (void)state;
    far_frame *frame = some_data();
    far_model *m = fit(frame, options("y1,y2", LN_FIRST, 0.01));
    assert_string_equal(far_columns_describe(m->columns).target_names[1], "y2");
    assert_null(far_columns_describe(m->columns).class_names);
    assert_string_equal(far_columns_describe(m->columns).input_names[2], "x3");
    assert_int_equal(m->candidate_count, 0);
    assert_int_equal(strlen(far_columns_describe(m->columns).hash), 64);
    far_prediction *p = predict(m, frame, predict_options());
    assert_null(p->classes);
    assert_int_equal(p->std.rows, 0);
    assert_int_equal(p->probability.rows, 0);
    assert_int_equal(p->order.rows, 0);
    far_prediction_destroy(p);
    far_prediction_destroy(NULL);
    far_model_destroy(NULL);
    far_model_destroy(m);
    far_frame_destroy(frame);
}

static void an_estimate_counts_the_rows(void **state)
{
    (void)state;
    far_frame *frame = some_data();
    far_estimate all, some, fixed;
    unsigned char rows[N] = {1, 1, 0, 1, 1};
    far_fit_opts o = options("y1", LN_FIRST, 0.01);
    o.storage = FAR_STORAGE_FULL;
    must(far_fit_estimate(ctx, frame, &o, &all));
    o.rows = rows;
    must(far_fit_estimate(ctx, frame, &o, &some));
    far_solve_opts s;
    far_solve_opts_init(&s);
    s.storage = FAR_STORAGE_FULL;
    must(far_solve_estimate(ctx, 4, &s, &fixed));
    assert_true(some.bytes == fixed.bytes && all.bytes > some.bytes);
    o.target = NULL;
    refused(far_fit_estimate(ctx, frame, &o, &all), FAR_ERR_ARG, "target");
    far_frame_destroy(frame);
}

/* ---- numbers as inputs ---- */

static void numbers_get_mean_zero_and_variance_one(void **state)
{
    (void)state;
    far_frame *frame = table_of("a,b,y\n1,10,0\n2,10,1\n6,10,0\n3,10,5\n");
    far_model *m = fit(frame, options("y", LN_FIRST, 0.01));
    far_mat centre = far_columns_describe(m->columns).scaling.input_centre,
            scale = far_columns_describe(m->columns).scaling.input_scale;
    assert_near(at(centre, 0, 0), 3, 1e-15);
    assert_near(at(scale, 0, 0), sqrt(3.5), 1e-15);
    assert_true(at(centre, 0, 1) == 10 && at(scale, 0, 1) == 1); /* a constant column */
    far_mat x = far_model_points(m), y = far_model_targets(m);
    assert_near(at(x, 2, 0), 3 / sqrt(3.5), 1e-15);
    assert_true(at(x, 2, 1) == 0);
    assert_near(at(far_columns_describe(m->columns).scaling.output_centre, 0, 0), 1.5, 1e-15);
    assert_near(at(far_columns_describe(m->columns).scaling.output_scale, 0, 0), sqrt(4.25), 1e-15);
    assert_near(at(y, 3, 0), 3.5 / sqrt(4.25), 1e-15);
    double row[2];
    encode_row(m, "y,b,a\n9,12,4\n", row); /* in any order, with columns that do not count */
    assert_near(row[0], 1 / sqrt(3.5), 1e-15);
    assert_near(row[1], 2, 1e-15);
    far_model_destroy(m);
    far_frame_destroy(frame);
}

static void standardising_can_be_left_out(void **state)
{
    (void)state;
    far_frame *frame = table_of("a,y\n1,10\n2,20\n6,31\n");
    far_fit_opts o = options("y", LN_FIRST, 0.01);
    o.standardize = 0;
    far_model *m = fit(frame, o);
    assert_true(at(far_model_points(m), 2, 0) == 6 && at(far_model_targets(m), 2, 0) == 31);
    assert_true(at(far_columns_describe(m->columns).scaling.input_centre, 0, 0) == 0);
    assert_true(at(far_columns_describe(m->columns).scaling.input_scale, 0, 0) == 1);
    assert_true(at(far_columns_describe(m->columns).scaling.output_centre, 0, 0) == 0);
    assert_true(at(far_columns_describe(m->columns).scaling.output_scale, 0, 0) == 1);
    far_model_destroy(m);
    far_frame_destroy(frame);
}

/* Squares of these leave the range of a double. */
static void any_size_of_number_can_be_scaled(void **state)
{
    (void)state;
    static const double sizes[] = {1e-200, 1e-160, 1e160, 1e300};
    for (int i = 0; i < COUNT(sizes); i++) {
        double x[3] = {1 * sizes[i], 2 * sizes[i], 4 * sizes[i]}, y[3] = {1, 2, 3};
        far_frame *frame = columns(x, 3, 1, y, 1);
        far_model *m = fit(frame, options("y1", LN_FIRST, 0.01));
        assert_near(at(far_model_points(m), 2, 0), 5 / sqrt(14), 1e-14);
        far_model_destroy(m);
        far_frame_destroy(frame);
    }
}

/* A fit is linear in its targets: those of extreme size are fitted as they are, and every score,
 * norm and deviation is a number. */
static void targets_of_any_size_are_fitted(void **state)
{
    (void)state;
    enum { POINTS = 13 };
    static const double sizes[] = {1, 0x1p-900, 0x1p600, 0x1p-400};
    double x[POINTS * 2], y[POINTS], scaled[POINTS], first[POINTS];
    make_data(3, POINTS, 2, 1, x, y);
    for (int k = 0; k < COUNT(sizes); k++) {
        for (int i = 0; i < POINTS; i++) {
            scaled[i] = sizes[k] * y[i];
        }
        far_frame *frame = columns(x, POINTS, 2, scaled, 1);
        far_fit_opts o = options("y1", LN_FIRST, 0.01);
        far_predict_opts p = predict_options();
        o.standardize = 0;
        p.spread = FAR_SPREAD_CALIBRATED;
        far_model *m = fit(frame, o);
        far_prediction *out = predict(m, frame, p);
        for (int i = 0; i < POINTS; i++) {
            double mean = at(out->mean, i, 0) / sizes[k];
            first[i] = k == 0 ? mean : first[i];
            assert_near(mean, first[i], 1e-13 * fabs(first[i]));
            assert_true(isfinite(at(out->std, i, 0)));
        }
        assert_true(far_model_describe(m).lambda_min > 0);
        far_prediction_destroy(out);
        far_model_destroy(m);
        far_frame_destroy(frame);
    }
}

static void nearly_constant_is_constant(void **state)
{
    (void)state;
    double x[5] = {0.1, 0.1, 0.1, 0.1, 0.1 + 1e-16}, y[5] = {1e9, 1e9, 1e9, 1e9, 1e9};
    far_frame *frame = columns(x, 5, 1, y, 1);
    far_model *m = fit(frame, options("y1", NO_NORM, 0.01));
    assert_true(at(far_columns_describe(m->columns).scaling.input_scale, 0, 0) == 1);
    assert_true(at(far_columns_describe(m->columns).scaling.output_scale, 0, 0) == 1);
    far_prediction *p = predict(m, frame, predict_options());
    assert_true(at(p->mean, 3, 0) == 1e9);
    far_prediction_destroy(p);
    far_model_destroy(m);
    far_frame_destroy(frame);
}

/* A target of equal numbers is fitted by that number, whatever rounding makes of its mean. */
static void a_constant_target_is_its_own_fit(void **state)
{
    (void)state;
    enum { ROWS = 3001 };
    double *x = malloc(ROWS * sizeof *x), *y = malloc(ROWS * sizeof *y);
    assert_true(x && y);
    for (int i = 0; i < ROWS; i++) {
        x[i] = i % 7; /* few rows are different: the system is small */
        y[i] = 0.1;
    }
    unsigned char rows[ROWS] = {0};
    for (int i = 0; i < ROWS; i++) {
        rows[i] = i < 7 || i > 2990;
    }
    far_frame *frame = columns(x, ROWS, 1, y, 1);
    far_fit_opts o = options("y1", NO_NORM, 0.01);
    o.rows = rows;
    far_model *m = fit(frame, o);
    for (int64_t i = 0; i < far_model_describe(m).rows; i++) {
        assert_true(at(far_model_targets(m), i, 0) == 0 && at(far_model_alpha(m), i, 0) == 0);
    }
    far_model_destroy(m);
    far_frame_destroy(frame);
    free(x);
    free(y);
}

/* ---- words as inputs ---- */

#define COLOURS "kind,a,y\nred,1,0\nblue,2,1\nred,3,0\nred,4,2\ngreen,5,1\nblue,7,3\nred,8,1\n"

static void a_word_is_one_input_a_level(void **state)
{
    (void)state;
    far_frame *frame = table_of(COLOURS);
    far_model *m = fit(frame, options("y", LN_FIRST, 0.01));
    assert_int_equal(far_model_describe(m).inputs, 4);
    assert_string_equal(far_columns_describe(m->columns).input_names[0], "kind=blue");
    assert_string_equal(far_columns_describe(m->columns).input_names[1], "kind=green");
    assert_string_equal(far_columns_describe(m->columns).input_names[2], "kind=red");
    assert_string_equal(far_columns_describe(m->columns).input_names[3], "a");
    double share[3] = {2 / 7.0, 1 / 7.0, 4 / 7.0}, variance = 0, row[4];
    for (int l = 0; l < 3; l++) {
        variance += share[l] * (1 - share[l]);
    }
    encode_row(m, "a,kind\n3,red\n", row);
    for (int l = 0; l < 3; l++) {
        assert_near(at(far_columns_describe(m->columns).scaling.input_centre, 0, l), share[l],
                    1e-15);
        assert_near(at(far_columns_describe(m->columns).scaling.input_scale, 0, l), sqrt(variance),
                    1e-15);
        assert_near(row[l], ((l == 2) - share[l]) / sqrt(variance), 1e-15);
    }
    far_model_destroy(m);
    far_frame_destroy(frame);
}

/* Levels of a table come from all its rows; those of a model from the rows it was fitted on. */
static void only_the_words_of_chosen_rows_count(void **state)
{
    (void)state;
    far_frame *frame = table_of(COLOURS);
    unsigned char rows[7] = {1, 1, 1, 1, 0, 1, 1};
    far_fit_opts o = options("y", LN_FIRST, 0.01);
    o.rows = rows;
    far_model *m = fit(frame, o);
    assert_int_equal(far_model_describe(m).inputs, 3);
    assert_int_equal(far_model_describe(m).rows, 6);
    assert_string_equal(far_columns_describe(m->columns).input_names[1], "kind=red");
    far_predict_opts p = predict_options();
    far_unseen u;
    must(far_columns_unseen(ctx, m->columns, frame, NULL, NULL, &u));
    assert_true(u.rows == 1 && u.row == 4);
    assert_string_equal(u.category, "green");
    p.rows = rows;
    far_prediction *made = predict(m, frame, p);
    assert_int_equal(made->mean.rows, 6);
    far_prediction_destroy(made);
    far_model_destroy(m);
    far_frame_destroy(frame);
}

static void a_word_column_without_words_is_refused(void **state)
{
    (void)state;
    far_frame *frame = table_of("kind,a,y\nred,1,0\n,2,1\n,3,0\n,4,2\n");
    unsigned char rows[4] = {0, 1, 1, 1};
    far_fit_opts o = options("y", LN_FIRST, 0.01);
    o.rows = rows;
    refuse_fit(frame, o, FAR_ERR_VALUE, "row 2: column kind has no value");
    o.impute = 1;
    refuse_fit(frame, o, FAR_ERR_VALUE, "column kind has no value in the rows chosen");
    far_frame_destroy(frame);
    o = options("y", LN_FIRST, 0.01);
    refuse_table("kind,a,y\n,1,0\n,2,1\n", o, FAR_ERR_VALUE, "row 1: column kind has no value");
    o.impute = 1;
    refuse_table("kind,a,y\n,1,0\n,2,1\n", o, FAR_ERR_VALUE,
                 "column kind has no value in the rows chosen");
}

static void gaps_are_refused_or_filled(void **state)
{
    (void)state;
    static const char *const gappy =
        "kind,a,y\nred,1,0\nblue,,1\nred,3,0\n,4,2\ngreen,5,1\nblue,7,3\nred,100,1\n";
    refuse_table(gappy, options("y", LN_FIRST, 0.01), FAR_ERR_VALUE,
                 "row 4: column kind has no value");
    far_fit_opts o = options("y", LN_FIRST, 0.01);
    o.features = "a";
    refuse_table(gappy, o, FAR_ERR_VALUE, "row 2: column a has no value");
    o = options("y", LN_FIRST, 0.01);
    o.impute = 1;
    far_frame *frame = table_of(gappy);
    far_model *m = fit(frame, o);
    double full[4], filled[4];
    encode_row(m, "kind,a\nred,4.5\n", full); /* the median of 1 3 4 5 7 100, the commonest word */
    encode_row(m, "kind,a\n,\n", filled);
    assert_memory_equal(full, filled, sizeof full);
    encode_row(m, "kind,a\npink,NA\n", filled); /* a word never seen is none of the others */
    assert_true(full[2] > 0 && filled[2] < 0 && full[3] == filled[3]);
    far_mat x = far_model_points(m);
    for (int l = 0; l < 3; l++) {
        assert_true(at(x, 3, l) == full[l]);
    }
    assert_true(at(x, 1, 3) == full[3]);
    far_model_destroy(m);
    far_frame_destroy(frame);
}

static void a_strange_row_is_refused_at_prediction(void **state)
{
    (void)state;
    far_frame *frame = table_of(COLOURS);
    far_model *m = fit(frame, options("y", LN_FIRST, 0.01));
    refuse_predict_table(m, "kind,a\nred,1\n,2\n", FAR_ERR_VALUE,
                         "row 2: column kind has no value");
    refuse_predict_table(m, "kind,a\nred,1\nblue,NA\n", FAR_ERR_VALUE,
                         "row 2: column a has no value");
    refuse_predict_table(m, "a\n1\n", FAR_ERR_ARG, "kind");
    refuse_predict_table(m, "kinds,a\nred,1\n", FAR_ERR_ARG, "kind");
    refuse_predict_table(m, "kind,a\nred,one\n", FAR_ERR_FORMAT, "column a holds words");
    refuse_predict_table(m, "kind,a\n3,1\n", FAR_ERR_FORMAT, "column kind holds numbers");
    far_model_destroy(m);
    far_frame_destroy(frame);
}

/* A column without any value has no kind of its own. */
static void blank_columns_are_gaps(void **state)
{
    (void)state;
    far_frame *frame = table_of(COLOURS);
    far_fit_opts o = options("y", LN_FIRST, 0.01);
    far_model *strict = fit(frame, o);
    o.impute = 1;
    far_model *lenient = fit(frame, o);
    refuse_predict_table(strict, "kind,a\n,1\n,2\n", FAR_ERR_VALUE,
                         "row 1: column kind has no value");
    refuse_predict_table(strict, "kind,a\nred,\nblue,\n", FAR_ERR_VALUE,
                         "row 1: column a has no value");
    double blank[4], full[4];
    encode_row(lenient, "kind,a\n,2\n", blank);
    encode_row(lenient, "kind,a\nred,2\n", full);
    assert_memory_equal(blank, full, sizeof full);
    encode_row(lenient, "kind,a\nblue,\n", blank);
    encode_row(lenient, "kind,a\nblue,4\n", full);
    assert_memory_equal(blank, full, sizeof full);
    far_model_destroy(strict);
    far_model_destroy(lenient);
    far_frame_destroy(frame);
}

static void an_empty_selection_predicts_nothing(void **state)
{
    (void)state;
    far_frame *frame = some_data();
    far_model *m = fit(frame, options("y1", LN_FIRST, 0.01));
    unsigned char none[N] = {0};
    for (int spread = FAR_SPREAD_NONE; spread <= FAR_SPREAD_ENSEMBLE; spread++) {
        far_predict_opts o = predict_options();
        o.rows = none;
        o.spread = spread;
        far_prediction *p = predict(m, frame, o);
        assert_int_equal(p->mean.rows, 0);
        far_prediction_destroy(p);
    }
    far_model_destroy(m);
    far_frame_destroy(frame);
}

/* Directions are differences: the centre does not count, however large it is. */
static void directions_know_no_centre(void **state)
{
    (void)state;
    double x[7 * 2], y[7];
    for (int i = 0; i < 7; i++) {
        x[2 * i] = 1.6e9 + 1e3 * i * i;
        x[2 * i + 1] = sin(i);
        y[i] = cos(i);
    }
    far_frame *frame = columns(x, 7, 2, y, 1);
    far_model *m = fit(frame, options("y1", NO_NORM, 1e-3));
    double u[4] = {1, 1e-4, -3, 0.5}, v[4], mean[2], orders[2];
    for (int i = 0; i < 4; i++) {
        v[i] = u[i] / at(far_columns_describe(m->columns).scaling.input_scale, 0, i % 2);
    }
    far_mat direction = far_mat_view(v, 2, 2, FAR_F64), slope = far_mat_view(mean, 2, 1, FAR_F64);
    far_mat order = far_mat_view(orders, 2, 1, FAR_F64);
    must(far_model_limit(ctx, m, &direction, &slope, &order));
    double none[2] = {0, 0};
    far_frame *rows = columns(u, 2, 2, none, 1);
    far_predict_opts o = predict_options();
    o.at_infinity = 1;
    far_prediction *p = predict(m, rows, o);
    for (int i = 0; i < 2; i++) {
        assert_near(at(p->mean, i, 0), mean[i], 1e-13 * fabs(mean[i]));
        assert_true(at(p->order, i, 0) == 1 && orders[i] == 1);
    }
    far_prediction_destroy(p);
    far_frame_destroy(rows);
    double still[2] = {0, 0};
    rows = columns(still, 1, 2, none, 1);
    refuse_predict(m, rows, o, FAR_ERR_VALUE, "");
    far_frame_destroy(rows);
    far_model_destroy(m);
    far_frame_destroy(frame);
}

/* ---- targets ---- */

static void words_are_classes(void **state)
{
    (void)state;
    far_frame *frame = table_of("a,who\n1,dog\n2,dog\n3,ant\n4.5,ant\n6,cat\n7,cat\n9,cat\n"
                                "10,cat\n");
    far_model *m = fit(frame, options("who", LN_FIRST, 0.01));
    far_model_info i = far_model_describe(m);
    assert_true(i.task == FAR_TASK_CLASSIFY && i.outputs == 3 && i.targets == 1 && i.rows == 8);
    assert_string_equal(far_columns_describe(m->columns).class_names[0], "ant");
    assert_string_equal(far_columns_describe(m->columns).class_names[1], "cat");
    assert_string_equal(far_columns_describe(m->columns).class_names[2], "dog");
    assert_near(at(far_columns_describe(m->columns).scaling.output_centre, 0, 1), 0.5, 1e-15);
    assert_true(at(far_columns_describe(m->columns).scaling.output_scale, 0, 1) == 1);
    assert_near(at(far_model_targets(m), 0, 1), -0.5, 1e-15);
    assert_near(at(far_model_targets(m), 0, 2), 0.75, 1e-15);
    far_prediction *p = predict(m, frame, predict_options());
    static const int64_t truth[] = {2, 2, 0, 0, 1, 1, 1, 1};
    for (int64_t r = 0; r < 8; r++) {
        assert_int_equal(p->classes[r], truth[r]);
    }
    far_prediction_destroy(p);
    far_model_destroy(m);
    far_frame_destroy(frame);
}

static void numbers_can_be_classes(void **state)
{
    (void)state;
    far_frame *frame = table_of("a,y\n1,10\n2,-0.5\n3,10\n4.5,2\n6,2\n");
    far_fit_opts o = options("y", LN_FIRST, 0.01);
    far_model *m = fit(frame, o);
    assert_int_equal(far_model_describe(m).task, FAR_TASK_REGRESS);
    far_model_destroy(m);
    o.task = FAR_TASK_CLASSIFY;
    m = fit(frame, o);
    assert_int_equal(far_model_describe(m).outputs, 3);
    assert_string_equal(far_columns_describe(m->columns).class_names[0], "-0.5");
    assert_string_equal(far_columns_describe(m->columns).class_names[1], "2");
    assert_string_equal(far_columns_describe(m->columns).class_names[2], "10");
    far_model_destroy(m);
    far_frame_destroy(frame);
}

static void targets_that_cannot_be_are_refused(void **state)
{
    (void)state;
    far_fit_opts o = options("y", LN_FIRST, 0.01), c = o;
    c.task = FAR_TASK_CLASSIFY;
    refuse_table("a,y\n1,2\n2,\n3,4\n", o, FAR_ERR_VALUE, "row 2: the target y has no value");
    refuse_table("a,y\n1,q\n2,\n3,r\n", o, FAR_ERR_VALUE, "row 2: the target y has no value");
    refuse_table("a,y\n1,q\n2,q\n", o, FAR_ERR_ARG, "one class");
    refuse_table("a,y\n1,3\n", c, FAR_ERR_ARG, "one class");
    refuse_table("a,y,z\n1,q,1\n2,r,2\n", options("y,z", LN_FIRST, 0.01), FAR_ERR_ARG,
                 "one target column, not 2");
    far_fit_opts r = o;
    r.task = FAR_TASK_REGRESS;
    refuse_table("a,y\n1,q\n2,r\n", r, FAR_ERR_ARG, "words");
    refuse_table("y\n1\n2\n", o, FAR_ERR_ARG, "beside the target");
}

static void too_many_classes_are_refused(void **state)
{
    (void)state;
    enum { ROWS = 1009 };
    double x[ROWS], y[ROWS];
    for (int i = 0; i < ROWS; i++) {
        x[i] = y[i] = i;
    }
    far_frame *frame = columns(x, ROWS, 1, y, 1);
    far_fit_opts o = options("y1", LN_FIRST, 0.01);
    o.task = FAR_TASK_CLASSIFY;
    refuse_fit(frame, o, FAR_ERR_ARG, "1009 distinct values");
    far_frame_destroy(frame);
}

/* One row is a constant; with a target that is not centred, a bump. */
static void one_row_is_enough(void **state)
{
    (void)state;
    static const char *const archs[] = {NULL, LN_FIRST, NO_NORM};
    far_frame *frame = table_of("a,b,y\n3,4,7\n"), *far = table_of("a,b\n100,-200\n");
    for (int i = 0; i < 2 * COUNT(archs); i++) {
        far_fit_opts o = options("y", archs[i / 2], i % 2 ? NAN : 0.01);
        far_model *m = fit(frame, o);
        far_prediction *p = predict(m, far, predict_options());
        assert_true(at(p->mean, 0, 0) == 7);
        assert_true(far_model_describe(m).residual <= 1e-12);
        far_prediction_destroy(p);
        far_model_destroy(m);
        o.standardize = 0;
        m = fit(frame, o);
        assert_true(isfinite(at(far_model_alpha(m), 0, 0)));
        far_model_destroy(m);
    }
    far_frame_destroy(far);
    far_frame_destroy(frame);
}

static void two_rows_are_met(void **state)
{
    (void)state;
    static const char *const archs[] = {NULL, LN_FIRST, NO_NORM};
    far_frame *frame = table_of("a,b,y\n3,4,7\n1,-1,12\n");
    for (int i = 0; i < COUNT(archs); i++) {
        far_model *m = fit(frame, options("y", archs[i], 0));
        far_prediction *p = predict(m, frame, predict_options());
        assert_near(at(p->mean, 0, 0), 7, 1e-12);
        assert_near(at(p->mean, 1, 0), 12, 1e-12);
        far_prediction_destroy(p);
        far_model_destroy(m);
        m = fit(frame, options("y", archs[i], NAN));
        assert_true(isfinite(at(far_model_alpha(m), 0, 0)));
        far_model_destroy(m);
    }
    far_frame_destroy(frame);
}

/* ---- duplicates ---- */

#define TWINS "a,b,y\n1,2,3\n4,5,6\n1,2,3\n0,0,1\n4,5,6\n1,2,3\n"
#define CONFLICT "a,b,y\n1,2,3\n4,5,6\n1,2,3\n0,0,1\n4,5,7\n1,2,3\n9,-1,4\n"

static void duplicates_are_counted(void **state)
{
    (void)state;
    far_frame *twins = table_of(TWINS), *conflict = table_of(CONFLICT);
    far_model *m = fit(twins, options("y", LN_FIRST, 1e-3));
    assert_int_equal(far_model_describe(m).duplicates, 3);
    assert_int_equal(far_model_describe(m).conflicts, 0);
    far_model_destroy(m);
    m = fit(conflict, options("y", LN_FIRST, 1e-3));
    assert_int_equal(far_model_describe(m).duplicates, 3);
    assert_int_equal(far_model_describe(m).conflicts, 1);
    far_model_destroy(m);
    far_frame_destroy(twins);
    far_frame_destroy(conflict);
}

static void minus_zero_is_zero(void **state)
{
    (void)state;
    double x[3] = {0.0, -0.0, 1}, y[3] = {1, 2, 3};
    far_duplicates twins;
    int64_t original[3];
    must(far_duplicates_find(ctx, x, 3, 1, y, 1, original, &twins));
    assert_true(twins.rows == 1 && twins.conflicts == 1 && original[1] == 0 && original[2] == 2);
    assert_true(twins.first[0] == 0 && twins.first[1] == 1);
}

static void duplicates_without_a_ridge_are_named(void **state)
{
    (void)state;
    static const char *const archs[] = {LN_FIRST, NO_NORM, "dense ln erf dense", "dense abs dense"};
    for (int i = 0; i < COUNT(archs); i++) {
        far_fit_opts o = options("y", archs[i], 0);
        refuse_table(CONFLICT, o, FAR_ERR_SINGULAR, "rows 2 and 5 have the same inputs and");
        o.ridge = 1e-12;
        refuse_table(CONFLICT, o, FAR_ERR_SINGULAR, "rows 2 and 5 have the same inputs and");
        o = options("y", archs[i], 0);
        refuse_table(TWINS, o, FAR_ERR_SINGULAR, "rows 1 and 3 have the same inputs");
        o.ridge_kind = FAR_RIDGE_ABSOLUTE;
        refuse_table(TWINS, o, FAR_ERR_SINGULAR, "rows 1 and 3 have the same inputs");
        o.ridge = 1e-18;
        refuse_table(TWINS, o, FAR_ERR_SINGULAR, "rows 1 and 3 have the same inputs");
    }
}

/* Whatever the data and the way it fails, the duplicates are named. */
static void any_duplicate_without_a_ridge_is_named(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        double x[N * D], y[N];
        make_data(seed, N, D, 1, x, y);
        memcpy(x + 11 * D, x + 4 * D, D * sizeof *x);
        y[11] = y[4];
        far_frame *frame = columns(x, N, D, y, 1);
        refuse_fit(frame, options("y1", seed % 2 ? LN_FIRST : NO_NORM, 0), FAR_ERR_SINGULAR,
                   "rows 5 and 12 have the same inputs");
        far_frame_destroy(frame);
    }
}

/* The ridge that is chosen copes with rows that contradict each other. */
static void a_chosen_ridge_takes_conflicts(void **state)
{
    (void)state;
    enum { ROWS = 23 };
    double x[ROWS], y[ROWS];
    for (int i = 0; i < ROWS; i++) {
        x[i] = i;
        y[i] = 3 * x[i] - 1; /* without noise: the best ridge for the other rows is none */
    }
    x[22] = x[7];
    y[22] = y[7] + 1;
    far_frame *frame = columns(x, ROWS, 1, y, 1);
    for (int i = 0; i < 4; i++) {
        far_fit_opts o = options("y1", i % 2 ? NULL : NO_NORM, NAN);
        o.criterion = i / 2 ? FAR_CRITERION_LIKELIHOOD : FAR_CRITERION_LOO;
        far_model *m = fit(frame, o);
        far_prediction *p = predict(m, frame, predict_options());
        assert_near(at(p->mean, 22, 0), at(p->mean, 7, 0), 1e-9);
        assert_near(at(p->mean, 7, 0), y[7] + 0.5, 0.6);
        assert_true(far_model_describe(m).residual <= 1e-12);
        far_prediction_destroy(p);
        far_model_destroy(m);
    }
    far_frame_destroy(frame);
}

/* Rounded measurements: many rows twice, some with another class. */
static void rounded_data_never_give_nan(void **state)
{
    (void)state;
    enum { ROWS = 97 };
    static char text[ROWS * 32];
    size_t used = (size_t)snprintf(text, sizeof text, "w,l,kind\n");
    for (int i = 0; i < ROWS; i++) {
        double side = 0.4 * (i % 3);
        used += (size_t)snprintf(text + used, sizeof text - used, "%.1f,%.1f,%s\n",
                                 side + 0.3 * noise(3, i), side + 0.3 * noise(4, i),
                                 i % 3 == 0   ? "setosa"
                                 : i % 3 == 1 ? "versicolor"
                                              : "virginica");
    }
    far_frame *frame = table_of(text);
    static const double ridges[] = {NAN, 1e-8, 1e-2};
    for (int i = 0; i < COUNT(ridges); i++) {
        far_model *m = fit(frame, options("kind", LN_FIRST, ridges[i]));
        far_model_info info = far_model_describe(m);
        assert_true(info.duplicates > 0 && info.conflicts > 0);
        assert_true(info.residual <= 1e-12);
        far_predict_opts o = predict_options();
        o.spread = i == 2 ? FAR_SPREAD_ENSEMBLE : FAR_SPREAD_CALIBRATED;
        far_prediction *p = predict(m, frame, o);
        int right = 0;
        for (int64_t r = 0; r < ROWS; r++) {
            double sum = 0, scores = 0;
            for (int64_t c = 0; c < 3; c++) {
                double share = at(p->probability, r, c);
                assert_true(share >= 0 && share <= 1);
                assert_true(at(p->std, r, c) >= 0);
                assert_true(isfinite(at(p->std, r, c)));
                sum += share;
                scores += at(p->mean, r, c);
            }
            assert_near(sum, 1, 1e-15);
            assert_near(scores, 1, 1e-14 / info.ridge_relative); /* alpha is that large */
            right += p->classes[r] == r % 3;
        }
        assert_true(right > ROWS / 2); /* a third by chance */
        far_prediction_destroy(p);
        far_model_destroy(m);
    }
    far_frame_destroy(frame);
}

/* Scores that run away still make probabilities. */
static void probabilities_hold_out_far(void **state)
{
    (void)state;
    far_frame *frame =
        table_of("a,b,who\n1,0,cat\n2,5,dog\n3,1,cat\n4.5,2,ant\n6,-3,dog\n7,0,cat\n");
    far_frame *away = table_of("a,b\n1e3,-2\n-1e9,1e8\n1e16,1\n-3e17,2e17\n1e30,-1e29\n1e200,1\n");
    static const char *const archs[] = {NO_NORM, LN_FIRST, "dense relu(2) dense"};
    for (int i = 0; i < COUNT(archs); i++) {
        far_model *m = fit(frame, options("who", archs[i], 0.01));
        far_predict_opts o = predict_options();
        unsigned char rows[6] = {1, 1, 1, 1, 1, i < 2};
        o.rows = rows;
        far_prediction *p = predict(m, away, o);
        for (int64_t r = 0; r < p->mean.rows; r++) {
            double sum = 0;
            for (int64_t c = 0; c < 3; c++) {
                double share = at(p->probability, r, c);
                assert_true(share >= 0 && share <= 1);
                sum += share;
            }
            assert_near(sum, 1, 1e-15);
        }
        far_prediction_destroy(p);
        far_model_destroy(m);
    }
    far_frame_destroy(away);
    far_frame_destroy(frame);
}

/* Of a model from an older file, which has no calibration: the nearest point of the simplex. */
static void probabilities_are_the_nearest_ones(void **state)
{
    (void)state;
    far_frame *frame = table_of("a,who\n1,cat\n2,dog\n3,cat\n4.5,ant\n6,dog\n7,cat\n");
    far_model *m = fit(frame, options("who", LN_FIRST, 1e-4));
    far_free(ctx, m->link);
    m->link = NULL;
    far_frame *between = table_of("a\n1.5\n2.2\n4\n5\n-3\n40\n");
    far_prediction *p = predict(m, between, predict_options());
    bool clipped = false;
    for (int64_t r = 0; r < 6; r++) {
        double shift = NAN;
        for (int64_t c = 0; c < 3; c++) {
            double score = at(p->mean, r, c);
            double share = at(p->probability, r, c);
            if (share > 0) { /* all that is kept is moved alike */
                assert_true(isnan(shift) || fabs(score - share - shift) < 1e-12);
                shift = score - share;
            }
        }
        for (int64_t c = 0; c < 3; c++) {
            if (at(p->probability, r, c) == 0) {
                assert_true(at(p->mean, r, c) <= shift + 1e-12);
                clipped = true;
            }
        }
    }
    assert_true(clipped);
    far_prediction_destroy(p);
    far_frame_destroy(between);
    far_model_destroy(m);
    far_frame_destroy(frame);
}

/* At infinity a class is what points far out tend to. */
static void classes_have_limits(void **state)
{
    (void)state;
    far_frame *frame =
        table_of("a,b,who\n1,0,cat\n2,5,dog\n3,1,cat\n4.5,2,ant\n6,-3,dog\n7,0,cat\n");
    far_frame *ways = table_of("a,b\n1,0\n-1,0.5\n0,-1\n");
    far_frame *away = table_of("a,b\n1e9,0\n-1e9,0.5e9\n0,-1e9\n");
    static const char *const archs[] = {NO_NORM, LN_FIRST};
    for (int i = 0; i < COUNT(archs); i++) {
        far_model *m = fit(frame, options("who", archs[i], 0.01));
        far_predict_opts o = predict_options();
        far_prediction *near = predict(m, away, o);
        o.at_infinity = 1;
        far_prediction *limit = predict(m, ways, o);
        for (int64_t r = 0; r < 3; r++) {
            assert_int_equal(limit->classes[r], near->classes[r]);
            for (int64_t c = 0; c < 3; c++) {
                assert_near(at(limit->probability, r, c), at(near->probability, r, c), 1e-6);
            }
        }
        far_prediction_destroy(limit);
        far_prediction_destroy(near);
        far_model_destroy(m);
    }
    far_frame_destroy(away);
    far_frame_destroy(ways);
    far_frame_destroy(frame);
}

/* ---- the solution ---- */

/* Kernels between the model's points, plus ridge, in long double. */
static void ridged_kernel(const far_model *m, long double *out)
{
    int64_t n = far_model_describe(m).rows;
    far_mat x = far_model_points(m);
    double *k = malloc((size_t)(n * n) * sizeof *k);
    assert_non_null(k);
    kernel_between(m, far_model_describe(m).kernel, &x, &x, k);
    for (int64_t i = 0; i < n * n; i++) {
        out[i] = (long double)k[i] + (i / n == i % n ? far_model_describe(m).ridge : 0);
    }
    free(k);
}

static void predictions_are_kernels_times_alpha(void **state)
{
    (void)state;
    static const struct {
        const char *arch;
        double ridge;
        int32_t kind, kernel, param, standardize;
    } cases[] = {
        {LN_FIRST, 0, FAR_RIDGE_RELATIVE, FAR_KERNEL_NTK, FAR_PARAM_NTK, 1},
        {LN_FIRST, 0.1, FAR_RIDGE_RELATIVE, FAR_KERNEL_NNGP, FAR_PARAM_NTK, 1},
        {NO_NORM, 0.3, FAR_RIDGE_ABSOLUTE, FAR_KERNEL_NTK, FAR_PARAM_NTK, 0},
        {NO_NORM, 0, FAR_RIDGE_ABSOLUTE, FAR_KERNEL_NNGP, FAR_PARAM_NTK, 1},
        {"dense(7) ln relu dense(1)", 0.01, FAR_RIDGE_RELATIVE, FAR_KERNEL_NTK, FAR_PARAM_STANDARD,
         1},
        {"dense ln gelu dense", 1e-3, FAR_RIDGE_RELATIVE, FAR_KERNEL_NTK, FAR_PARAM_NTK, 0},
    };
    far_frame *frame = some_data();
    for (int i = 0; i < COUNT(cases); i++) {
        far_fit_opts o = options("y2,y1", cases[i].arch, cases[i].ridge);
        o.ridge_kind = cases[i].kind;
        o.kernel = cases[i].kernel;
        o.param = cases[i].param;
        o.standardize = cases[i].standardize;
        far_model *m = fit(frame, o);
        far_model_info info = far_model_describe(m);
        assert_true(info.rows == N && info.inputs == D && info.outputs == P);
        assert_true(info.residual <= 1e-12);
        assert_true(info.condition >= 1 && info.lambda_min > 0 &&
                    info.lambda_max >= info.lambda_min);
        assert_near(info.ridge,
                    cases[i].kind == FAR_RIDGE_ABSOLUTE ? cases[i].ridge
                                                        : cases[i].ridge * info.mean_diagonal,
                    1e-15 * info.mean_diagonal);
        long double k[N * N], b[N * P];
        ridged_kernel(m, k);
        for (int64_t r = 0; r < N * P; r++) {
            b[r] = at(far_model_targets(m), r / P, r % P);
        }
        long double log_det = solve_long(k, N, b, P);
        assert_near(info.log_det, (double)log_det, 1e-10 * (1 + fabs((double)log_det)));
        far_prediction *p = predict(m, frame, predict_options());
        double cross[N * N], r2 = 0;
        far_mat x = far_model_points(m);
        kernel_between(m, info.kernel, &x, &x, cross);
        for (int64_t c = 0; c < P; c++) {
            double scale = at(far_columns_describe(m->columns).scaling.output_scale, 0, c),
                   error = 0, spread = 0, mean = 0;
            for (int64_t r = 0; r < N; r++) {
                mean += at(far_model_targets(m), r, c) / N;
            }
            for (int64_t r = 0; r < N; r++) {
                long double g = 0, size = 0;
                for (int64_t s = 0; s < N; s++) {
                    g += cross[r * N + s] * b[s * P + c];
                    size += fabsl(cross[r * N + s] * b[s * P + c]);
                }
                double f = at(far_columns_describe(m->columns).scaling.output_centre, 0, c) +
                           scale * (double)g;
                assert_near(at(p->mean, r, c), f, 1e-15 * (20 + scale * (double)size));
                assert_near(at(far_model_alpha(m), r, c), (double)b[r * P + c],
                            1e-10 * fabs((double)b[r * P + c]) + 1e-13);
                double y = at(far_model_targets(m), r, c);
                error += (y - (double)g) * (y - (double)g);
                spread += (y - mean) * (y - mean);
            }
            r2 += (1 - error / spread) / P;
        }
        assert_near(info.r2_train, r2, 1e-12);
        far_prediction_destroy(p);
        far_model_destroy(m);
    }
    far_frame_destroy(frame);
}

static void storage_changes_nothing(void **state)
{
    (void)state;
    far_frame *frame = some_data();
    far_fit_opts o = options("y1", LN_FIRST, 0);
    o.storage = FAR_STORAGE_FULL;
    far_model *full = fit(frame, o);
    o.storage = FAR_STORAGE_PACKED;
    o.extremes = 0;
    far_model *packed = fit(frame, o);
    assert_int_equal(far_model_describe(packed).storage, FAR_STORAGE_PACKED);
    assert_true(isnan(far_model_describe(packed).lambda_min));
    for (int64_t i = 0; i < N; i++) {
        double a = at(far_model_alpha(full), i, 0);
        assert_near(at(far_model_alpha(packed), i, 0), a, 1e-13 * fabs(a));
    }
    o.memory = 100;
    refuse_fit(frame, o, FAR_ERR_BUDGET, "");
    o.storage = FAR_STORAGE_FULL;
    refuse_fit(frame, o, FAR_ERR_BUDGET, "allow more (`memory`) or fit fewer rows");
    far_model_destroy(full);
    far_model_destroy(packed);
    far_frame_destroy(frame);
}

static void packed_storage_is_advised_where_it_fits(void **state)
{
    enum { ROWS = 4000 };
    (void)state;
    static double values[ROWS * 2];
    far_frame *frame;
    const char *const names[] = {"x", "y"};
    far_mat table = far_mat_view(values, ROWS, 2, FAR_F64);
    for (int i = 0; i < ROWS; i++) {
        values[2 * i] = i;
        values[2 * i + 1] = sin(i);
    }
    must(far_frame_from_mat(ctx, &table, names, &frame));
    far_fit_opts o = options("y", LN_FIRST, 0.1);
    o.extremes = 0;
    o.method = FAR_METHOD_EXACT;
    o.storage = FAR_STORAGE_FULL;
    far_solve_opts solving;
    far_estimate full, packed;
    far_solve_opts_init(&solving);
    solving.extremes = 0;
    solving.storage = FAR_STORAGE_FULL;
    must(far_solve_estimate(ctx, ROWS, &solving, &full));
    solving.storage = FAR_STORAGE_PACKED;
    must(far_solve_estimate(ctx, ROWS, &solving, &packed));
    o.memory = (full.bytes + packed.bytes) / 2;
    refuse_fit(frame, o, FAR_ERR_BUDGET, "packed storage takes half of it");
    far_frame_destroy(frame);
}

static void predictions_too_large_are_refused(void **state)
{
    (void)state;
    far_frame *frame = table_of("a,y\n1,3\n2,5\n4,-1\n"), *away = table_of("a\n1\n1e300\n");
    far_model *m = fit(frame, options("y", "dense relu(3) dense", 0.01));
    refuse_predict(m, away, predict_options(), FAR_ERR_RANGE, "row 2: the prediction is too large");
    far_model_destroy(m);
    far_frame_destroy(frame);
    frame = table_of("a,y\n1,3e300\n2,5e300\n4,-1e300\n"); /* the kernel is still a number */
    m = fit(frame, options("y", "dense relu dense", 0.01));
    far_frame_destroy(away);
    away = table_of("a\n1\n1e150\n");
    refuse_predict(m, away, predict_options(), FAR_ERR_RANGE, "row 2: the prediction is too large");
    far_model_destroy(m);
    far_frame_destroy(away);
    far_frame_destroy(frame);
}

/* ---- choices ---- */

/* The mean squared error of leaving out each row in turn, by fits. */
static double error_left_out(const far_frame *frame, far_fit_opts o, int64_t n, const double *y,
                             int64_t p)
{
    double error = 0;
    for (int64_t i = 0; i < n; i++) {
        unsigned char in[N], out[N];
        for (int64_t r = 0; r < n; r++) {
            in[r] = r != i;
            out[r] = r == i;
        }
        o.rows = in;
        far_model *m = fit(frame, o);
        far_predict_opts q = predict_options();
        q.rows = out;
        far_prediction *made = predict(m, frame, q);
        for (int64_t c = 0; c < p; c++) {
            double miss = at(made->mean, 0, c) - y[i * p + c];
            error += miss * miss;
        }
        far_prediction_destroy(made);
        far_model_destroy(m);
    }
    return error;
}

static double spread_of(const double *y, int64_t n, int64_t p)
{
    double sum = 0;
    for (int64_t c = 0; c < p; c++) {
        double mean = 0;
        for (int64_t i = 0; i < n; i++) {
            mean += y[i * p + c] / (double)n;
        }
        for (int64_t i = 0; i < n; i++) {
            sum += (y[i * p + c] - mean) * (y[i * p + c] - mean);
        }
    }
    return sum;
}

static double mean_diagonal(const far_model *m)
{
    double k[N * N], sum = 0;
    far_mat x = far_model_points(m);
    kernel_between(m, far_model_describe(m).kernel, &x, &x, k);
    for (int i = 0; i < N; i++) {
        sum += k[i * N + i];
    }
    return sum / N;
}

static void leaving_out_equals_the_closed_form(void **state)
{
    (void)state;
    double x[N * D], y[N * P];
    make_data(1, N, D, P, x, y);
    far_frame *frame = columns(x, N, D, y, P);
    static const char *const archs[] = {LN_FIRST, NO_NORM, "dense ln erf dense"};
    for (int i = 0; i < 2 * COUNT(archs); i++) {
        far_fit_opts o = options("y1,y2", archs[i / 2], NAN);
        o.standardize = 0;
        o.kernel = i % 2 ? FAR_KERNEL_NNGP : FAR_KERNEL_NTK;
        far_model *m = fit(frame, o);
        assert_int_equal(m->candidate_count, 1);
        far_candidate c = m->candidates[0];
        assert_string_equal(c.arch, m->arch);
        assert_int_equal(c.chosen, 1);
        assert_int_equal(c.bounded, i / 2 != 1);
        assert_near(far_model_describe(m).ridge_relative, c.ridge, 1e-12 * c.ridge);
        o.ridge = c.ridge * mean_diagonal(m);
        o.ridge_kind = FAR_RIDGE_ABSOLUTE;
        double error = error_left_out(frame, o, N, y, P);
        assert_near(c.loo_r2, 1 - error / spread_of(y, N, P), 1e-10);
        far_model_destroy(m);
    }
    far_frame_destroy(frame);
}

/* The criterion is what is minimised: neighbouring ridges are no better. */
static void the_chosen_ridge_is_a_good_one(void **state)
{
    (void)state;
    double x[N * D], y[N];
    make_data(5, N, D, 1, x, y);
    far_frame *frame = columns(x, N, D, y, 1);
    far_fit_opts o = options("y1", LN_FIRST, NAN);
    o.standardize = 0;
    far_model *m = fit(frame, o);
    double ridge = far_model_describe(m).ridge;
    o.ridge_kind = FAR_RIDGE_ABSOLUTE;
    o.ridge = ridge;
    double best = error_left_out(frame, o, N, y, 1);
    static const double factors[] = {1e-4, 0.1, 0.5, 2, 10, 1e3};
    for (int i = 0; i < COUNT(factors); i++) {
        o.ridge = ridge * factors[i];
        assert_true(error_left_out(frame, o, N, y, 1) > best * (1 - 1e-3));
    }
    far_model_destroy(m);
    far_frame_destroy(frame);
}

/* log N(y; 0, s A) per row and output, s at its best. */
static double log_density(const far_model *m, double ridge)
{
    long double k[N * N], b[N * P], total = 0;
    double plain[N * N];
    far_mat x = far_model_points(m);
    kernel_between(m, far_model_describe(m).kernel, &x, &x, plain);
    for (int i = 0; i < N * N; i++) {
        k[i] = plain[i] + (i / N == i % N ? (long double)ridge : 0);
    }
    for (int i = 0; i < N * P; i++) {
        b[i] = at(far_model_targets(m), i / P, i % P);
    }
    long double log_det = solve_long(k, N, b, P);
    for (int j = 0; j < P; j++) {
        long double fit_term = 0, best = -INFINITY;
        for (int i = 0; i < N; i++) {
            fit_term += b[i * P + j] * at(far_model_targets(m), i, j);
        }
        /* each output by trying amplitudes around the one of the closed form */
        for (int step = -200; step <= 200; step++) {
            long double s = fit_term / N * expl(step * 0.01L);
            best = fmaxl(best, -0.5L * (fit_term / N / s + log_det / N + logl(s)));
        }
        total += (best - 0.5L * logl(2 * (long double)M_PI)) / P;
    }
    return (double)total;
}

static void the_likelihood_is_the_density(void **state)
{
    (void)state;
    far_frame *frame = some_data();
    static const char *const archs[] = {LN_FIRST, NO_NORM};
    for (int i = 0; i < 4; i++) {
        far_fit_opts o = options("y1,y2", archs[i / 2], NAN);
        o.criterion = FAR_CRITERION_LIKELIHOOD;
        o.kernel = i % 2;
        far_model *m = fit(frame, o);
        far_candidate c = m->candidates[0];
        double ridge = c.ridge * mean_diagonal(m), density = log_density(m, ridge);
        assert_near(c.log_likelihood, density, 1e-10);
        static const double factors[] = {0.3, 3};
        for (int f = 0; f < COUNT(factors); f++) {
            bool inside = c.ridge * factors[f] > 1e-10 && c.ridge * factors[f] < 10;
            assert_true(!inside || log_density(m, ridge * factors[f]) < density + 1e-3);
        }
        far_model_destroy(m);
    }
    far_frame_destroy(frame);
}

static void auto_chooses_a_bounded_network(void **state)
{
    (void)state;
    far_frame *frame = some_data();
    static const char *const asked[] = {NULL, "auto"};
    for (int i = 0; i < 4; i++) {
        far_fit_opts o = options("y1", asked[i % 2], i == 3 ? 0.01 : NAN);
        o.kernel = i == 2 ? FAR_KERNEL_NNGP : FAR_KERNEL_NTK;
        far_model *m = fit(frame, o);
        int chosen = 0, unbounded = 0;
        double best = -INFINITY, own = NAN;
        for (int64_t c = 0; c < m->candidate_count; c++) {
            far_candidate line = m->candidates[c];
            chosen += line.chosen;
            unbounded += !line.bounded;
            assert_false(line.chosen && !line.bounded);
            best = line.bounded ? fmax(best, line.loo_r2) : best;
            if (line.chosen) {
                own = line.loo_r2;
                assert_string_equal(line.arch, m->arch);
                assert_near(line.ridge, far_model_describe(m).ridge_relative, 1e-12 * line.ridge);
            }
            if (i == 3) {
                assert_near(line.ridge, 0.01, 1e-15);
            }
        }
        assert_true(chosen == 1 && unbounded > 0 && own == best);
        far_model_destroy(m);
    }
    far_fit_opts o = options("y1", NULL, 0.01);
    o.ridge_kind = FAR_RIDGE_ABSOLUTE;
    refuse_fit(frame, o, FAR_ERR_ARG, "absolute ridge");
    o = options("y1", "auto", NAN);
    o.param = FAR_PARAM_STANDARD; /* where a network has widths, and auto has none to offer */
    refuse_fit(frame, o, FAR_ERR_ARG, "standard");
    far_frame_destroy(frame);
}

/* More rows than the subset: which ones is a matter of the seed. */
static void choices_are_made_on_a_subset(void **state)
{
    (void)state;
    enum { ROWS = 101 };
    double x[ROWS * D], y[ROWS];
    make_data(9, ROWS, D, 1, x, y);
    far_frame *frame = columns(x, ROWS, D, y, 1);
    far_fit_opts o = options("y1", LN_FIRST, NAN);
    o.subset = 11;
    far_model *one = fit(frame, o), *same = fit(frame, o);
    o.seed = 1;
    far_model *other = fit(frame, o);
    assert_true(one->candidates[0].loo_r2 == same->candidates[0].loo_r2);
    assert_true(far_model_describe(one).ridge == far_model_describe(same).ridge);
    assert_true(one->candidates[0].loo_r2 != other->candidates[0].loo_r2);
    assert_int_equal(far_model_describe(one).rows, ROWS);
    far_model_destroy(one);
    far_model_destroy(same);
    far_model_destroy(other);
    far_frame_destroy(frame);
}

static void progress_names_its_steps(void **state)
{
    (void)state;
    far_frame *frame = some_data();
    ear.seen[0] = 0;
    far_model_destroy(fit(frame, options("y1", LN_FIRST, NAN)));
    assert_int_equal(strncmp(ear.seen, "choose fill factor", 18), 0);
    far_frame_destroy(frame);
}

/* ---- training that stops early ---- */

/* alpha of gradient flow on 1/2 |f - y|^2 (with the ridge as its brake), by Runge and Kutta. */
static void flow(const long double *k, int64_t n, const double *y, double time, int steps,
                 long double *alpha)
{
    long double h = (long double)time / steps, slope[4][N];
    memset(alpha, 0, (size_t)n * sizeof *alpha);
    for (int step = 0; step < steps; step++) {
        for (int stage = 0; stage < 4; stage++) {
            long double ahead = stage == 0 ? 0 : stage == 3 ? h : h / 2;
            for (int64_t i = 0; i < n; i++) {
                slope[stage][i] = y[i];
                for (int64_t j = 0; j < n; j++) {
                    slope[stage][i] -=
                        k[i * n + j] * (alpha[j] + (stage ? ahead * slope[stage - 1][j] : 0));
                }
            }
        }
        for (int64_t i = 0; i < n; i++) {
            alpha[i] += h / 6 * (slope[0][i] + 2 * slope[1][i] + 2 * slope[2][i] + slope[3][i]);
        }
    }
}

static double value_of(const far_model *m, const long double *alpha, const double *cross, int64_t n)
{
    long double sum = 0;
    for (int64_t j = 0; j < n; j++) {
        sum += alpha[j] * cross[j];
    }
    return at(far_columns_describe(m->columns).scaling.output_centre, 0, 0) +
           at(far_columns_describe(m->columns).scaling.output_scale, 0, 0) * (double)sum;
}

/* New points, and the kernel between them and the model's. */
static far_frame *new_points(const far_model *m, double *cross)
{
    double x[5 * D], y[5];
    make_data(77, 5, D, 1, x, y);
    far_frame *frame = columns(x, 5, D, y, 1);
    double points[5 * D];
    far_mat encoded = far_mat_view(points, 5, D, FAR_F64), own = far_model_points(m);
    must(far_columns_encode(ctx, m->columns, frame, NULL, &encoded));
    kernel_between(m, far_model_describe(m).kernel, &encoded, &own, cross);
    return frame;
}

static void stopped_training_is_gradient_flow(void **state)
{
    (void)state;
    far_frame *frame = some_data();
    for (int i = 0; i < 4; i++) {
        far_fit_opts o = options_x("y1", i % 2 ? NO_NORM : LN_FIRST, i < 2 ? 0 : 0.02);
        o.kernel = i == 3;
        far_model *m = fit(frame, o);
        double cross[5 * N], y[N];
        long double k[N * N], alpha[N];
        far_frame *new = new_points(m, cross);
        ridged_kernel(m, k);
        for (int r = 0; r < N; r++) {
            y[r] = at(far_model_targets(m), r, 0);
        }
        static const double times[] = {0, 1e-9, 0.01, 0.3, 2};
        for (int t = 0; t < COUNT(times); t++) {
            far_predict_opts q = predict_options();
            q.time = times[t];
            far_prediction *p = predict(m, new, q);
            flow(k, N, y, times[t], 2000, alpha);
            for (int r = 0; r < 5; r++) {
                double expected = value_of(m, alpha, cross + r * N, N);
                double moved = fabs(
                    expected - at(far_columns_describe(m->columns).scaling.output_centre, 0, 0));
                assert_near(at(p->mean, r, 0), expected, 1e-11 * moved + 1e-14);
            }
            far_prediction_destroy(p);
        }
        far_frame_destroy(new);
        far_model_destroy(m);
    }
    far_frame_destroy(frame);
}

static void steps_are_gradient_descent(void **state)
{
    (void)state;
    far_frame *frame = some_data();
    for (int i = 0; i < 2; i++) {
        far_model *m = fit(frame, options_x("y1", i ? NO_NORM : LN_FIRST, i ? 0.02 : 0));
        double cross[5 * N];
        long double k[N * N], alpha[N], next[N];
        far_frame *new = new_points(m, cross);
        ridged_kernel(m, k);
        double limit = 2 / far_model_describe(m).lambda_max;
        static const struct {
            double rate; /* of the largest that converges */
            int64_t steps;
        } cases[] = {{0.5, 1},  {0.5, 7},    {0.99, 30}, {0.9, 31},  {0.1, 100},
                     {1e-9, 3}, {1e-10, 11}, {1e-4, 2},  {1e-12, 1}, {3e-9, 5}};
        for (int c = 0; c < COUNT(cases); c++) {
            double rate = cases[c].rate * limit;
            memset(alpha, 0, sizeof alpha);
            for (int64_t step = 0; step < cases[c].steps; step++) {
                for (int r = 0; r < N; r++) {
                    next[r] = at(far_model_targets(m), r, 0);
                    for (int s = 0; s < N; s++) {
                        next[r] -= k[r * N + s] * alpha[s];
                    }
                }
                for (int r = 0; r < N; r++) {
                    alpha[r] += rate * next[r];
                }
            }
            far_predict_opts q = predict_options();
            q.steps = cases[c].steps;
            q.rate = rate;
            far_prediction *p = predict(m, new, q);
            far_mat mean = p->mean;
            for (int r = 0; r < 5; r++) {
                double centre = at(far_columns_describe(m->columns).scaling.output_centre, 0, 0);
                double expected = value_of(m, alpha, cross + r * N, N) - centre;
                assert_near(at(mean, r, 0) - centre, expected, 1e-11 * fabs(expected) + 4e-15);
            }
            far_prediction_destroy(p);
        }
        far_predict_opts q = predict_options();
        char text[64];
        q.steps = 5;
        q.rate = 1.0001 * limit;
        snprintf(text, sizeof text, "below %.4g", limit);
        text[strlen(text) - 1] = 0;
        refuse_predict(m, new, q, FAR_ERR_ARG, "diverges");
        assert_holds(far_ctx_message(ctx), text);
        far_frame_destroy(new);
        far_model_destroy(m);
    }
    far_frame_destroy(frame);
}

/* The gains themselves, where predictions hide them behind a centre. */
static void gains_keep_their_digits(void **state)
{
    (void)state;
    far_frame *frame = some_data();
    far_model *m = fit(frame, options_x("y1", LN_FIRST, 0));
    double largest = far_model_describe(m).lambda_max;
    static const struct {
        double shrink; /* rate times the largest eigenvalue */
        int64_t steps;
    } cases[] = {{3e-9, 3}, {1e-10, 99}, {1e-7, 17}, {1e-5, 1000}, {0.3, 5}, {1.5, 4}, {1, 3}};
    for (int c = 0; c < COUNT(cases); c++) {
        far_filter f;
        far_predict_opts o = predict_options();
        o.steps = cases[c].steps;
        o.rate = cases[c].shrink / largest;
        must(far_filter_create(ctx, m, &o, &f));
        for (int64_t i = 0; i < N; i++) {
            long double sum = 0, power = 1; /* rate times the sum of (1 - rate lambda)^k */
            for (int64_t k = 0; k < cases[c].steps; k++) {
                sum += power;
                power *= 1 - (long double)o.rate * f.values[i];
            }
            double expected = (double)(o.rate * sum);
            assert_near(f.gain[i], expected, 1e-13 * fabs(expected));
        }
        far_filter_clear(&f);
        o = predict_options();
        o.time = cases[c].shrink / largest * (double)cases[c].steps;
        must(far_filter_create(ctx, m, &o, &f));
        for (int64_t i = 0; i < N; i++) {
            long double grown = (long double)o.time * f.values[i];
            double expected = (double)(-expm1l(-grown) / f.values[i]);
            assert_near(f.gain[i], expected, 1e-14 * fabs(expected));
        }
        far_filter_clear(&f);
    }
    far_model_destroy(m);
    far_frame_destroy(frame);
}

static void the_end_of_training_is_the_solution(void **state)
{
    (void)state;
    far_frame *frame = some_data();
    far_model *m = fit(frame, options_x("y1,y2", LN_FIRST, 0.01));
    far_predict_opts o = predict_options();
    far_prediction *end = predict(m, frame, o);
    static const double times[] = {1e6, 1e300};
    for (int t = 0; t < COUNT(times); t++) {
        o.time = times[t];
        far_prediction *late = predict(m, frame, o);
        for (int64_t i = 0; i < N * P; i++) {
            assert_near(at(late->mean, i / P, i % P), at(end->mean, i / P, i % P), 1e-11);
        }
        far_prediction_destroy(late);
    }
    o.time = 0;
    far_prediction *start = predict(m, frame, o);
    for (int64_t i = 0; i < N * P; i++) {
        assert_true(at(start->mean, i / P, i % P) ==
                    at(far_columns_describe(m->columns).scaling.output_centre, 0, i % P));
    }
    far_prediction_destroy(start);
    far_prediction_destroy(end);
    far_model_destroy(m);
    far_frame_destroy(frame);
}

/* ---- spreads ---- */

static void spreads_follow_their_formulas(void **state)
{
    (void)state;
    far_frame *frame = some_data();
    for (int i = 0; i < 6; i++) {
        far_fit_opts o = options_x("y2,y1", i % 2 ? NO_NORM : LN_FIRST, i < 2 ? 0 : 0.05);
        o.kernel = i >= 4;
        far_model *m = fit(frame, o);
        double cross[5 * N], start[5 * N], own[25], own_start[25], start_xx[N * N], points[5 * D];
        long double k[N * N], w[N * 5], alpha[N * P];
        far_frame *new = new_points(m, cross);
        far_mat encoded = far_mat_view(points, 5, D, FAR_F64), x = far_model_points(m);
        must(far_columns_encode(ctx, m->columns, new, NULL, &encoded));
        kernel_between(m, far_model_describe(m).kernel, &encoded, &encoded, own);
        kernel_between(m, FAR_KERNEL_NNGP, &encoded, &encoded, own_start);
        kernel_between(m, FAR_KERNEL_NNGP, &encoded, &x, start);
        kernel_between(m, FAR_KERNEL_NNGP, &x, &x, start_xx);
        ridged_kernel(m, k);
        for (int r = 0; r < N; r++) {
            for (int c = 0; c < 5; c++) {
                w[r * 5 + c] = cross[c * N + r];
            }
        }
        solve_long(k, N, w, 5);
        ridged_kernel(m, k);
        for (int r = 0; r < N * P; r++) {
            alpha[r] = at(far_model_targets(m), r / P, r % P);
        }
        solve_long(k, N, alpha, P);
        for (int spread = FAR_SPREAD_CALIBRATED; spread <= FAR_SPREAD_LIKELIHOOD; spread++) {
            far_predict_opts q = predict_options();
            q.spread = spread;
            far_prediction *p = predict(m, new, q);
            for (int c = 0; c < 5; c++) {
                long double left = own[c * 5 + c], networks = own_start[c * 5 + c];
                for (int r = 0; r < N; r++) {
                    left -= w[r * 5 + c] * cross[c * N + r];
                    networks -= 2 * w[r * 5 + c] * start[c * N + r];
                    for (int s = 0; s < N; s++) {
                        networks += w[r * 5 + c] * start_xx[r * N + s] * w[s * 5 + c];
                    }
                }
                for (int j = 0; j < P; j++) {
                    long double amplitude = 0;
                    for (int r = 0; r < N; r++) {
                        amplitude += alpha[r * P + j] * at(far_model_targets(m), r, j) / N;
                    }
                    double scale = at(far_columns_describe(m->columns).scaling.output_scale, 0, j);
                    far_band band = m->interval[j];
                    long double variance = spread == FAR_SPREAD_ENSEMBLE    ? networks
                                           : spread == FAR_SPREAD_POSTERIOR ? left
                                           : spread == FAR_SPREAD_CALIBRATED
                                               ? band.size * band.size * (left + band.noise)
                                               : amplitude * (left + far_model_describe(m).ridge);
                    double std = at(p->std, c, j);
                    assert_near(std * std, scale * scale * (double)variance,
                                1e-11 * scale * scale * (1 + (double)amplitude));
                }
            }
            far_prediction_destroy(p);
        }
        far_frame_destroy(new);
        far_model_destroy(m);
    }
    far_frame_destroy(frame);
}

/* f_t = f0 + w_t (y - f0(X)) with w_t = k(x, X) gain(K). */
static void the_ensemble_spreads_from_its_start(void **state)
{
    (void)state;
    far_frame *frame = some_data();
    far_model *m = fit(frame, options_x("y1", LN_FIRST, 0.01));
    double cross[5 * N], start[5 * N], own[25], start_xx[N * N], points[5 * D], unit[N];
    long double k[N * N], gain[N][N];
    far_frame *new = new_points(m, cross);
    far_mat encoded = far_mat_view(points, 5, D, FAR_F64), x = far_model_points(m);
    must(far_columns_encode(ctx, m->columns, new, NULL, &encoded));
    kernel_between(m, FAR_KERNEL_NNGP, &encoded, &encoded, own);
    kernel_between(m, FAR_KERNEL_NNGP, &encoded, &x, start);
    kernel_between(m, FAR_KERNEL_NNGP, &x, &x, start_xx);
    ridged_kernel(m, k);
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            unit[j] = i == j;
        }
        flow(k, N, unit, 0.7, 1500, gain[i]);
    }
    far_predict_opts o = predict_options();
    o.spread = FAR_SPREAD_ENSEMBLE;
    o.time = 0.7;
    far_prediction *p = predict(m, new, o);
    double scale = at(far_columns_describe(m->columns).scaling.output_scale, 0, 0);
    for (int c = 0; c < 5; c++) {
        long double w[N], variance = own[c * 5 + c];
        for (int r = 0; r < N; r++) {
            w[r] = 0;
            for (int s = 0; s < N; s++) {
                w[r] += gain[s][r] * cross[c * N + s];
            }
        }
        for (int r = 0; r < N; r++) {
            variance -= 2 * w[r] * start[c * N + r];
            for (int s = 0; s < N; s++) {
                variance += w[r] * start_xx[r * N + s] * w[s];
            }
        }
        double std = at(p->std, c, 0);
        assert_near(std * std, scale * scale * (double)variance, 1e-10 * scale * scale);
    }
    far_prediction_destroy(p);
    o.time = 0;
    p = predict(m, new, o);
    for (int c = 0; c < 5; c++) {
        assert_near(at(p->std, c, 0), scale * sqrt(own[c * 5 + c]), 1e-13 * scale);
    }
    far_prediction_destroy(p);
    far_frame_destroy(new);
    far_model_destroy(m);
    far_frame_destroy(frame);
}

/* Near-duplicates, copies with a ridge, the training points themselves. */
static void spreads_are_never_negative(void **state)
{
    (void)state;
    double x[N * D], y[N];
    make_data(2, N, D, 1, x, y);
    for (int j = 0; j < D; j++) {
        x[3 * D + j] = x[2 * D + j] + 1e-9 * (j + 1);
        x[7 * D + j] = x[5 * D + j];
    }
    static const double ridges[] = {1e-12, 1e-6, 0.1};
    far_frame *frame = columns(x, N, D, y, 1);
    for (int i = 0; i < 2 * COUNT(ridges); i++) {
        far_fit_opts o = options("y1", i % 2 ? NO_NORM : LN_FIRST, ridges[i / 2]);
        unsigned char rows[N];
        memset(rows, 1, sizeof rows);
        rows[7] = i / 2 > 0; /* a conflict needs more than a tiny ridge */
        o.rows = rows;
        far_model *m = fit(frame, o);
        assert_true(far_model_describe(m).residual <= 1e-12);
        for (int spread = FAR_SPREAD_CALIBRATED; spread <= FAR_SPREAD_ENSEMBLE; spread++) {
            far_predict_opts q = predict_options();
            q.spread = spread;
            far_prediction *p = predict(m, frame, q);
            for (int r = 0; r < N; r++) {
                double std = at(p->std, r, 0);
                assert_true(isfinite(std) && std >= 0);
                assert_true(isfinite(at(p->mean, r, 0)));
            }
            far_prediction_destroy(p);
        }
        far_model_destroy(m);
    }
    far_frame_destroy(frame);
}

/* ---- failing and stopping ---- */

/* One whole life: choose, fit, predict with a spread, stop early, go to infinity. */
static far_status live(const far_frame *frame, const far_frame *classes)
{
    far_status st;
    far_model *m = NULL, *c = NULL;
    far_prediction *p = NULL;
    far_fit_opts o = options("y1", "dense ln relu dense", NAN);
    far_predict_opts q = predict_options();
    o.subset = 3;
    o.memory = q.memory = 1e9; /* asking the machine takes longer than all the rest */
    FAR_TRY(far_model_fit(ctx, frame, &o, &m));
    q.spread = FAR_SPREAD_CALIBRATED;
    FAR_TRY(far_model_predict(ctx, m, frame, &q, &p));
    far_prediction_destroy(p);
    p = NULL;
    q.spread = FAR_SPREAD_ENSEMBLE;
    q.time = 1;
    FAR_TRY(far_model_predict(ctx, m, frame, &q, &p));
    far_prediction_destroy(p);
    p = NULL;
    o = options("who", "dense ln relu dense", 0.01);
    o.impute = 1;
    o.memory = 1e9;
    FAR_TRY(far_model_fit(ctx, classes, &o, &c));
    q = predict_options();
    q.at_infinity = 1;
    FAR_TRY(far_model_predict(ctx, c, classes, &q, &p));
done:
    far_prediction_destroy(p);
    far_model_destroy(m);
    far_model_destroy(c);
    return st;
}

static far_frame *few_rows(void)
{
    double x[5] = {1, 2, 4, 7, 11}, y[5] = {1, 3, 2, 5, 4};
    return columns(x, 5, 1, y, 1);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    far_frame *frame = few_rows(), *classes = table_of("a,b,who\n1,u,cat\n2,v,dog\n3,,cat\n");
    int64_t before = test_heap.calls;
    must(live(frame, classes));
    int64_t needed = test_heap.calls - before, blocks = test_heap.live_blocks;
    assert_true(needed > 100);
    for (int64_t i = 0; i < needed; i++) {
        test_heap.fail_at = test_heap.calls + i;
        refused(live(frame, classes), FAR_ERR_MEMORY, "memory");
        assert_int_equal(test_heap.live_blocks, blocks);
    }
    test_heap.fail_at = -1;
    must(live(frame, classes));
    far_frame_destroy(frame);
    far_frame_destroy(classes);
}

static void any_report_may_cancel(void **state)
{
    (void)state;
    far_frame *frame = few_rows(), *classes = table_of("a,b,who\n1,u,cat\n2,v,dog\n3,,cat\n");
    int64_t blocks = test_heap.live_blocks;
    ear = (listener){0};
    must(live(frame, classes));
    listener whole = ear;
    assert_true(whole.calls > 20);
    for (int64_t i = 1; i <= whole.calls; i++) {
        ear = (listener){.stop_at = i};
        refused(live(frame, classes), FAR_ERR_CANCELLED, "cancelled");
        assert_int_equal(ear.calls, i); /* and nothing is asked after the answer */
        assert_int_equal(test_heap.live_blocks, blocks);
    }
    ear = (listener){0}; /* what was cancelled leaves no trace in later reports */
    must(live(frame, classes));
    assert_string_equal(ear.seen, whole.seen);
    assert_int_equal(ear.calls, whole.calls);
    far_frame_destroy(frame);
    far_frame_destroy(classes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(fit_checks_its_arguments),
        TEST(fit_knows_its_choices),
        TEST(predict_checks_its_arguments),
        TEST(points_must_fit_the_model),
        TEST(what_is_not_there_has_no_name),
        TEST(an_estimate_counts_the_rows),
        TEST(numbers_get_mean_zero_and_variance_one),
        TEST(standardising_can_be_left_out),
        TEST(any_size_of_number_can_be_scaled),
        TEST(targets_of_any_size_are_fitted),
        TEST(nearly_constant_is_constant),
        TEST(a_constant_target_is_its_own_fit),
        TEST(a_word_is_one_input_a_level),
        TEST(only_the_words_of_chosen_rows_count),
        TEST(a_word_column_without_words_is_refused),
        TEST(gaps_are_refused_or_filled),
        TEST(a_strange_row_is_refused_at_prediction),
        TEST(blank_columns_are_gaps),
        TEST(an_empty_selection_predicts_nothing),
        TEST(directions_know_no_centre),
        TEST(words_are_classes),
        TEST(numbers_can_be_classes),
        TEST(targets_that_cannot_be_are_refused),
        TEST(too_many_classes_are_refused),
        TEST(one_row_is_enough),
        TEST(two_rows_are_met),
        TEST(duplicates_are_counted),
        TEST(minus_zero_is_zero),
        TEST(duplicates_without_a_ridge_are_named),
        TEST(any_duplicate_without_a_ridge_is_named),
        TEST(a_chosen_ridge_takes_conflicts),
        TEST(rounded_data_never_give_nan),
        TEST(probabilities_hold_out_far),
        TEST(probabilities_are_the_nearest_ones),
        TEST(classes_have_limits),
        TEST(predictions_are_kernels_times_alpha),
        TEST(storage_changes_nothing),
        TEST(packed_storage_is_advised_where_it_fits),
        TEST(predictions_too_large_are_refused),
        TEST(leaving_out_equals_the_closed_form),
        TEST(the_chosen_ridge_is_a_good_one),
        TEST(the_likelihood_is_the_density),
        TEST(auto_chooses_a_bounded_network),
        TEST(choices_are_made_on_a_subset),
        TEST(progress_names_its_steps),
        TEST(stopped_training_is_gradient_flow),
        TEST(steps_are_gradient_descent),
        TEST(gains_keep_their_digits),
        TEST(the_end_of_training_is_the_solution),
        TEST(spreads_follow_their_formulas),
        TEST(the_ensemble_spreads_from_its_start),
        TEST(spreads_are_never_negative),
        TEST(every_allocation_may_fail),
        TEST(any_report_may_cancel),
    };
    return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
