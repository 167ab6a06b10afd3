/*
 * Models: how tables become points, what is refused and how it is said, choices against brute
 * force, filters and spreads against their definitions, every failing allocation, cancelling at any
 * point.
 */
#include "../../src/data/frame_internal.h"
#include "../../src/regress/regress_internal.h"

#include <farfield/farfield.h>
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))
#define LN_FIRST "dense ln relu dense relu dense"
#define NO_NORM "dense relu dense relu dense"

/* ---- a context whose allocator counts, and fails when told ---- */

typedef struct heap {
    int64_t calls, fail_at, live_blocks, live_bytes;
} heap;

/* Progress: stops the running call at the stop_at-th report, and remembers the first words. */
typedef struct listener {
    int64_t calls, stop_at;
    char said[4096]; /* "choose fill factor": each once in a row */
    bool orderly;
} listener;

static heap test_heap;
static listener ear;
static far_ctx *ctx;

static void *heap_alloc(void *user, size_t bytes)
{
    heap *h = user;
    void *block = h->calls++ == h->fail_at ? NULL : aligned_alloc(64, bytes);
    if (block) {
        memset(block, 0xa5, bytes); /* nothing may count on zeros beyond what far_alloc promises */
        h->live_blocks++;
        h->live_bytes += (int64_t)bytes;
    }
    return block;
}

static void heap_free(void *user, void *ptr, size_t bytes)
{
    heap *h = user;
    h->live_blocks--;
    h->live_bytes -= (int64_t)bytes;
    memset(ptr, 0x5a, bytes);
    free(ptr);
}

static void remember(listener *l, const char *what)
{
    size_t length = strlen(l->said), own = strlen(what);
    bool again = length >= own && strcmp(l->said + length - own, what) == 0;
    if (!again && length + own + 2 < sizeof l->said) {
        snprintf(l->said + length, sizeof l->said - length, "%s%s", length ? " " : "", what);
    }
}

static int listen(void *user, const char *what, int64_t done, int64_t total)
{
    listener *l = user;
    l->orderly = l->orderly && what && done >= 0 && done <= total;
    if (what) {
        remember(l, what);
    }
    return ++l->calls == l->stop_at;
}

static int open_context(void **state)
{
    (void)state;
    far_ctx_opts opts;
    far_ctx_opts_init(&opts);
    test_heap = (heap){.fail_at = -1};
    ear = (listener){.orderly = true};
    opts.threads = 1;
    opts.alloc = heap_alloc;
    opts.free = heap_free;
    opts.alloc_user = &test_heap;
    opts.progress = listen;
    opts.progress_user = &ear;
    return far_ctx_create(&opts, &ctx);
}

/* Every test must give back all it took, and leave progress where it was. */
static int close_context(void **state)
{
    (void)state;
    far_ctx_destroy(ctx);
    return test_heap.live_blocks != 0 || test_heap.live_bytes != 0 || !ear.orderly;
}

static void must(far_status st)
{
    if (st != FAR_OK) {
        fail_msg("%s: %s", far_status_name(st), far_ctx_message(ctx));
    }
}

static void assert_holds(const char *text, const char *piece)
{
    if (!strstr(text, piece)) {
        fail_msg("no '%s' in '%s'", piece, text);
    }
}

static void assert_status(far_status st, far_status expected, const char *piece)
{
    if (st != expected) {
        fail_msg("%s instead of %s: %s", far_status_name(st), far_status_name(expected),
                 far_ctx_message(ctx));
    }
    assert_holds(far_ctx_message(ctx), piece);
}

static void assert_close(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance)) {
        fail_msg("%.17g is not %.17g within %g", value, expected, tolerance);
    }
}

/* ---- tables and models without ceremony ---- */

static far_frame *table(const char *csv)
{
    far_frame *frame;
    must(far_frame_parse_bytes(ctx, "test", csv, (int64_t)strlen(csv), NULL, &frame));
    return frame;
}

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
    assert_status(far_model_fit(ctx, frame, &o, &m), expected, piece);
    assert_null(m);
}

static void refuse_table(const char *csv, far_fit_opts o, far_status expected, const char *piece)
{
    far_frame *frame = table(csv);
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
    assert_status(far_model_predict(ctx, m, frame, &o, &p), expected, piece);
    assert_null(p);
}

static void refuse_predict_table(const far_model *m, const char *csv, far_status expected,
                                 const char *piece)
{
    far_frame *frame = table(csv);
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
    far_frame *frame = table(csv);
    far_mat row = far_mat_view(out, 1, far_model_describe(m).inputs, FAR_F64);
    must(far_model_encode(ctx, m, frame, NULL, &row));
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
static void kernel_between(const far_model *m, int32_t prior, const far_mat *a, const far_mat *b,
                           double *out)
{
    far_kernel *k;
    far_kernel_opts o;
    far_kernel_opts_init(&o);
    o.param = far_model_describe(m).param;
    must(far_kernel_create(ctx, far_model_arch(m), &o, &k));
    far_mat values = far_mat_view(out, a->rows, b->rows, FAR_F64);
    bool nngp = prior == FAR_PRIOR_NNGP;
    must(far_kernel_eval(ctx, k, a, b, FAR_FILL_FULL, nngp ? &values : NULL,
                         nngp ? NULL : &values));
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
    assert_status(far_model_fit(ctx, NULL, &o, &m), FAR_ERR_ARG, "frame");
    assert_status(far_model_fit(ctx, frame, NULL, &m), FAR_ERR_ARG, "opts");
    assert_status(far_model_fit(ctx, frame, &o, NULL), FAR_ERR_ARG, "out");
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
    o = good, o.arch = "dense relu";
    refuse_fit(frame, (o.arch = "dense oops", o), FAR_ERR_PARSE, "column 7");
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
    o = good, o.prior = 2;
    refuse_fit(frame, o, FAR_ERR_ARG, "prior");
    o = good, o.prior = -1;
    refuse_fit(frame, o, FAR_ERR_ARG, "prior");
    o = good, o.task = 3;
    refuse_fit(frame, o, FAR_ERR_ARG, "task");
    o = good, o.criterion = 2;
    refuse_fit(frame, o, FAR_ERR_ARG, "criterion");
    o = good, o.ridge_kind = 2;
    refuse_fit(frame, o, FAR_ERR_ARG, "ridge");
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
    assert_status(far_model_predict(ctx, NULL, frame, &o, &p), FAR_ERR_ARG, "model");
    assert_status(far_model_predict(ctx, m, NULL, &o, &p), FAR_ERR_ARG, "frame");
    assert_status(far_model_predict(ctx, m, frame, NULL, &p), FAR_ERR_ARG, "opts");
    assert_status(far_model_predict(ctx, m, frame, &o, NULL), FAR_ERR_ARG, "out");
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
    o = good, o.time = 3, o.spread = FAR_SPREAD_POSTERIOR;
    refuse_predict(m, frame, o, FAR_ERR_ARG, "ensemble");
    o = good, o.steps = 2, o.rate = 1e-3, o.spread = FAR_SPREAD_CALIBRATED;
    refuse_predict(m, frame, o, FAR_ERR_ARG, "ensemble");
    o = good, o.at_infinity = 1, o.time = 3;
    refuse_predict(m, frame, o, FAR_ERR_ARG, "infinity");
    o = good, o.at_infinity = 1, o.spread = FAR_SPREAD_ENSEMBLE;
    refuse_predict(m, frame, o, FAR_ERR_ARG, "infinity");
    o = good, o.spread = 4;
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
    assert_status(far_model_eval(ctx, NULL, &x, &y), FAR_ERR_ARG, "model");
    assert_status(far_model_eval(ctx, m, NULL, &y), FAR_ERR_ARG, "points");
    assert_status(far_model_eval(ctx, m, &x, NULL), FAR_ERR_ARG, "mean");
    assert_status(far_model_limit(ctx, NULL, &x, &y, &order), FAR_ERR_ARG, "model");
    assert_status(far_model_limit(ctx, m, &x, &y, NULL), FAR_ERR_ARG, "order");
    assert_status(far_model_encode(ctx, NULL, frame, NULL, &x), FAR_ERR_ARG, "model");
    assert_status(far_model_encode(ctx, m, NULL, NULL, &x), FAR_ERR_ARG, "frame");
    bad = x, bad.cols = D - 1;
    assert_status(far_model_eval(ctx, m, &bad, &y), FAR_ERR_SHAPE, "5 x 2");
    bad = y, bad.rows = 4;
    assert_status(far_model_eval(ctx, m, &x, &bad), FAR_ERR_SHAPE, "4 x 2");
    bad = y, bad.dtype = FAR_F32;
    assert_status(far_model_eval(ctx, m, &x, &bad), FAR_ERR_SHAPE, "float64");
    bad = order, bad.rows = 4;
    assert_status(far_model_limit(ctx, m, &x, &y, &bad), FAR_ERR_SHAPE, "order");
    bad = order, bad.cols = 2, bad.rows = 2;
    assert_status(far_model_limit(ctx, m, &x, &y, &bad), FAR_ERR_SHAPE, "order");
    bad = x;
    assert_status(far_model_encode(ctx, m, frame, NULL, &bad), FAR_ERR_SHAPE, "13 x 3");
    points[4] = NAN;
    assert_status(far_model_eval(ctx, m, &x, &y), FAR_ERR_VALUE, "");
    far_model_destroy(m);
    far_frame_destroy(frame);
}

static void what_is_not_there_has_no_name(void **state)
{
    (void)state;
    far_frame *frame = some_data();
    far_model *m = fit(frame, options("y1,y2", LN_FIRST, 0.01));
    assert_string_equal(far_model_target(m, 1), "y2");
    assert_null(far_model_target(m, 2));
    assert_null(far_model_target(m, -1));
    assert_null(far_model_class(m, 0));
    assert_string_equal(far_model_input(m, 2), "x3");
    assert_null(far_model_input(m, 3));
    assert_null(far_model_candidate(m, 7).arch);
    assert_int_equal(far_model_candidate_count(m), 0);
    assert_int_equal(strlen(far_model_data_hash(m)), 64);
    far_prediction *p = predict(m, frame, predict_options());
    assert_int_equal(far_prediction_class(p, 0), -1);
    assert_int_equal(far_prediction_std(p).rows, 0);
    assert_int_equal(far_prediction_probability(p).rows, 0);
    assert_int_equal(far_prediction_order(p).rows, 0);
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
    assert_status(far_fit_estimate(ctx, frame, &o, &all), FAR_ERR_ARG, "target");
    far_frame_destroy(frame);
}

/* ---- numbers as inputs ---- */

static void numbers_get_mean_zero_and_variance_one(void **state)
{
    (void)state;
    far_frame *frame = table("a,b,y\n1,10,0\n2,10,1\n6,10,0\n3,10,5\n");
    far_model *m = fit(frame, options("y", LN_FIRST, 0.01));
    far_mat centre = far_model_input_centre(m), scale = far_model_input_scale(m);
    assert_close(at(centre, 0, 0), 3, 1e-15);
    assert_close(at(scale, 0, 0), sqrt(3.5), 1e-15);
    assert_true(at(centre, 0, 1) == 10 && at(scale, 0, 1) == 1); /* a constant column */
    far_mat x = far_model_points(m), y = far_model_targets(m);
    assert_close(at(x, 2, 0), 3 / sqrt(3.5), 1e-15);
    assert_true(at(x, 2, 1) == 0);
    assert_close(at(far_model_output_centre(m), 0, 0), 1.5, 1e-15);
    assert_close(at(far_model_output_scale(m), 0, 0), sqrt(4.25), 1e-15);
    assert_close(at(y, 3, 0), 3.5 / sqrt(4.25), 1e-15);
    double row[2];
    encode_row(m, "y,b,a\n9,12,4\n", row); /* in any order, with columns that do not count */
    assert_close(row[0], 1 / sqrt(3.5), 1e-15);
    assert_close(row[1], 2, 1e-15);
    far_model_destroy(m);
    far_frame_destroy(frame);
}

static void standardising_can_be_left_out(void **state)
{
    (void)state;
    far_frame *frame = table("a,y\n1,10\n2,20\n6,31\n");
    far_fit_opts o = options("y", LN_FIRST, 0.01);
    o.standardize = 0;
    far_model *m = fit(frame, o);
    assert_true(at(far_model_points(m), 2, 0) == 6 && at(far_model_targets(m), 2, 0) == 31);
    assert_true(at(far_model_input_centre(m), 0, 0) == 0);
    assert_true(at(far_model_input_scale(m), 0, 0) == 1);
    assert_true(at(far_model_output_centre(m), 0, 0) == 0);
    assert_true(at(far_model_output_scale(m), 0, 0) == 1);
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
        assert_close(at(far_model_points(m), 2, 0), 5 / sqrt(14), 1e-14);
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
    assert_true(at(far_model_input_scale(m), 0, 0) == 1);
    assert_true(at(far_model_output_scale(m), 0, 0) == 1);
    far_prediction *p = predict(m, frame, predict_options());
    assert_true(at(far_prediction_mean(p), 3, 0) == 1e9);
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

#define COLOURS                                                                                    \
    "kind,a,y\nred,1,0\nblue,2,1\nred,3,0\nred,4,2\ngreen,5,1\nblue,7,3\nred,8,1\n"

static void a_word_is_one_input_a_level(void **state)
{
    (void)state;
    far_frame *frame = table(COLOURS);
    far_model *m = fit(frame, options("y", LN_FIRST, 0.01));
    assert_int_equal(far_model_describe(m).inputs, 4);
    assert_string_equal(far_model_input(m, 0), "kind=blue");
    assert_string_equal(far_model_input(m, 1), "kind=green");
    assert_string_equal(far_model_input(m, 2), "kind=red");
    assert_string_equal(far_model_input(m, 3), "a");
    double share[3] = {2 / 7.0, 1 / 7.0, 4 / 7.0}, variance = 0, row[4];
    for (int l = 0; l < 3; l++) {
        variance += share[l] * (1 - share[l]);
    }
    encode_row(m, "a,kind\n3,red\n", row);
    for (int l = 0; l < 3; l++) {
        assert_close(at(far_model_input_centre(m), 0, l), share[l], 1e-15);
        assert_close(at(far_model_input_scale(m), 0, l), sqrt(variance), 1e-15);
        assert_close(row[l], ((l == 2) - share[l]) / sqrt(variance), 1e-15);
    }
    far_model_destroy(m);
    far_frame_destroy(frame);
}

/* Levels of a table come from all its rows; those of a model from the rows it was fitted on. */
static void only_the_words_of_chosen_rows_count(void **state)
{
    (void)state;
    far_frame *frame = table(COLOURS);
    unsigned char rows[7] = {1, 1, 1, 1, 0, 1, 1};
    far_fit_opts o = options("y", LN_FIRST, 0.01);
    o.rows = rows;
    far_model *m = fit(frame, o);
    assert_int_equal(far_model_describe(m).inputs, 3);
    assert_int_equal(far_model_describe(m).rows, 6);
    assert_string_equal(far_model_input(m, 1), "kind=red");
    far_predict_opts p = predict_options();
    refuse_predict(m, frame, p, FAR_ERR_VALUE, "row 5: column kind is 'green'");
    assert_holds(far_ctx_message(ctx), "blue, red");
    p.rows = rows;
    far_prediction *made = predict(m, frame, p);
    assert_int_equal(far_prediction_mean(made).rows, 6);
    far_prediction_destroy(made);
    far_model_destroy(m);
    far_frame_destroy(frame);
}

static void a_word_column_without_words_is_refused(void **state)
{
    (void)state;
    far_frame *frame = table("kind,a,y\nred,1,0\n,2,1\n,3,0\n,4,2\n");
    unsigned char rows[4] = {0, 1, 1, 1};
    far_fit_opts o = options("y", LN_FIRST, 0.01);
    o.rows = rows;
    refuse_fit(frame, o, FAR_ERR_VALUE, "row 2: column kind has no value");
    o.impute = 1;
    refuse_fit(frame, o, FAR_ERR_VALUE, "column kind has no value in the rows chosen");
    far_frame_destroy(frame);
    refuse_table("kind,a,y\n,1,0\n,2,1\n", o = options("y", LN_FIRST, 0.01), FAR_ERR_VALUE,
                 "row 1: column kind has no value");
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
    far_frame *frame = table(gappy);
    far_model *m = fit(frame, o);
    double full[4], filled[4];
    encode_row(m, "kind,a\nred,4.5\n", full); /* the median of 1 3 4 5 7 100, the commonest word */
    encode_row(m, "kind,a\n,\n", filled);
    assert_memory_equal(full, filled, sizeof full);
    encode_row(m, "kind,a\npink,NA\n", filled); /* a word never seen counts as a gap */
    assert_memory_equal(full, filled, sizeof full);
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
    far_frame *frame = table(COLOURS);
    far_model *m = fit(frame, options("y", LN_FIRST, 0.01));
    refuse_predict_table(m, "kind,a\nred,1\npink,2\n", FAR_ERR_VALUE,
                         "row 2: column kind is 'pink'");
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
    far_frame *frame = table(COLOURS);
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
        assert_int_equal(far_prediction_mean(p).rows, 0);
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
        v[i] = u[i] / at(far_model_input_scale(m), 0, i % 2);
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
        assert_close(at(far_prediction_mean(p), i, 0), mean[i], 1e-13 * fabs(mean[i]));
        assert_true(at(far_prediction_order(p), i, 0) == 1 && orders[i] == 1);
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
    far_frame *frame = table("a,who\n1,cat\n2,dog\n3,cat\n4.5,ant\n6,dog\n7,cat\n9,cat\n");
    far_model *m = fit(frame, options("who", LN_FIRST, 0.01));
    far_model_info i = far_model_describe(m);
    assert_true(i.task == FAR_TASK_CLASSIFY && i.outputs == 3 && i.targets == 1 && i.rows == 7);
    assert_string_equal(far_model_class(m, 0), "ant");
    assert_string_equal(far_model_class(m, 1), "cat");
    assert_string_equal(far_model_class(m, 2), "dog");
    assert_null(far_model_class(m, 3));
    assert_close(at(far_model_output_centre(m), 0, 1), 4 / 7.0, 1e-15);
    assert_true(at(far_model_output_scale(m), 0, 1) == 1);
    assert_close(at(far_model_targets(m), 0, 1), 3 / 7.0, 1e-15);
    assert_close(at(far_model_targets(m), 0, 2), -2 / 7.0, 1e-15);
    far_prediction *p = predict(m, frame, predict_options());
    static const int64_t truth[] = {1, 2, 1, 0, 2, 1, 1};
    for (int64_t r = 0; r < 7; r++) {
        assert_int_equal(far_prediction_class(p, r), truth[r]);
    }
    assert_int_equal(far_prediction_class(p, 7), -1);
    assert_int_equal(far_prediction_class(p, -1), -1);
    far_prediction_destroy(p);
    far_model_destroy(m);
    far_frame_destroy(frame);
}

static void numbers_can_be_classes(void **state)
{
    (void)state;
    far_frame *frame = table("a,y\n1,10\n2,-0.5\n3,10\n4.5,2\n6,2\n");
    far_fit_opts o = options("y", LN_FIRST, 0.01);
    far_model *m = fit(frame, o);
    assert_int_equal(far_model_describe(m).task, FAR_TASK_REGRESS);
    far_model_destroy(m);
    o.task = FAR_TASK_CLASSIFY;
    m = fit(frame, o);
    assert_int_equal(far_model_describe(m).outputs, 3);
    assert_string_equal(far_model_class(m, 0), "-0.5");
    assert_string_equal(far_model_class(m, 1), "2");
    assert_string_equal(far_model_class(m, 2), "10");
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
    far_frame *frame = table("a,b,y\n3,4,7\n"), *far = table("a,b\n100,-200\n");
    for (int i = 0; i < 2 * COUNT(archs); i++) {
        far_fit_opts o = options("y", archs[i / 2], i % 2 ? NAN : 0.01);
        far_model *m = fit(frame, o);
        far_prediction *p = predict(m, far, predict_options());
        assert_true(at(far_prediction_mean(p), 0, 0) == 7);
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
    far_frame *frame = table("a,b,y\n3,4,7\n1,-1,12\n");
    for (int i = 0; i < COUNT(archs); i++) {
        far_model *m = fit(frame, options("y", archs[i], 0));
        far_prediction *p = predict(m, frame, predict_options());
        assert_close(at(far_prediction_mean(p), 0, 0), 7, 1e-12);
        assert_close(at(far_prediction_mean(p), 1, 0), 12, 1e-12);
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
    far_frame *twins = table(TWINS), *conflict = table(CONFLICT);
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
        assert_true(at(far_prediction_mean(p), 7, 0) == at(far_prediction_mean(p), 22, 0));
        assert_close(at(far_prediction_mean(p), 7, 0), y[7] + 0.5, 0.6);
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
        double side = i % 3;
        used += (size_t)snprintf(text + used, sizeof text - used, "%.1f,%.1f,%s\n",
                                 side + 0.4 * noise(3, i), 2 * side + 0.3 * noise(4, i),
                                 i % 3 == 0 ? "setosa" : i % 3 == 1 ? "versicolor" : "virginica");
    }
    far_frame *frame = table(text);
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
                double share = at(far_prediction_probability(p), r, c);
                assert_true(share >= 0 && share <= 1);
                assert_true(at(far_prediction_std(p), r, c) >= 0);
                assert_true(isfinite(at(far_prediction_std(p), r, c)));
                sum += share;
                scores += at(far_prediction_mean(p), r, c);
            }
            assert_close(sum, 1, 1e-15);
            assert_close(scores, 1, 1e-9);
            right += far_prediction_class(p, r) == r % 3;
        }
        assert_true(right > ROWS / 2);
        far_prediction_destroy(p);
        far_model_destroy(m);
    }
    far_frame_destroy(frame);
}

/* Scores that run away still make probabilities. */
static void probabilities_hold_out_far(void **state)
{
    (void)state;
    far_frame *frame = table("a,b,who\n1,0,cat\n2,5,dog\n3,1,cat\n4.5,2,ant\n6,-3,dog\n7,0,cat\n");
    far_frame *away = table("a,b\n1e3,-2\n-1e9,1e8\n1e16,1\n-3e17,2e17\n1e30,-1e29\n1e200,1\n");
    static const char *const archs[] = {NO_NORM, LN_FIRST, "dense relu(2) dense"};
    for (int i = 0; i < COUNT(archs); i++) {
        far_model *m = fit(frame, options("who", archs[i], 0.01));
        far_predict_opts o = predict_options();
        unsigned char rows[6] = {1, 1, 1, 1, 1, i < 2};
        o.rows = rows;
        far_prediction *p = predict(m, away, o);
        for (int64_t r = 0; r < far_prediction_mean(p).rows; r++) {
            double sum = 0;
            for (int64_t c = 0; c < 3; c++) {
                double share = at(far_prediction_probability(p), r, c);
                assert_true(share >= 0 && share <= 1);
                sum += share;
            }
            assert_close(sum, 1, 1e-15);
        }
        far_prediction_destroy(p);
        far_model_destroy(m);
    }
    far_frame_destroy(away);
    far_frame_destroy(frame);
}

/* The nearest point of the simplex, in a case done by hand. */
static void probabilities_are_the_nearest_ones(void **state)
{
    (void)state;
    far_frame *frame = table("a,who\n1,cat\n2,dog\n3,cat\n4.5,ant\n6,dog\n7,cat\n");
    far_model *m = fit(frame, options("who", LN_FIRST, 1e-4));
    far_frame *between = table("a\n1.5\n2.2\n4\n5\n-3\n40\n");
    far_prediction *p = predict(m, between, predict_options());
    bool clipped = false;
    for (int64_t r = 0; r < 6; r++) {
        double shift = NAN;
        for (int64_t c = 0; c < 3; c++) {
            double score = at(far_prediction_mean(p), r, c);
            double share = at(far_prediction_probability(p), r, c);
            if (share > 0) { /* all that is kept is moved alike */
                assert_true(isnan(shift) || fabs(score - share - shift) < 1e-12);
                shift = score - share;
            }
        }
        for (int64_t c = 0; c < 3; c++) {
            if (at(far_prediction_probability(p), r, c) == 0) {
                assert_true(at(far_prediction_mean(p), r, c) <= shift + 1e-12);
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
    far_frame *frame = table("a,b,who\n1,0,cat\n2,5,dog\n3,1,cat\n4.5,2,ant\n6,-3,dog\n7,0,cat\n");
    far_frame *ways = table("a,b\n1,0\n-1,0.5\n0,-1\n");
    far_frame *away = table("a,b\n1e9,0\n-1e9,0.5e9\n0,-1e9\n");
    static const char *const archs[] = {NO_NORM, LN_FIRST};
    for (int i = 0; i < COUNT(archs); i++) {
        far_model *m = fit(frame, options("who", archs[i], 0.01));
        far_predict_opts o = predict_options();
        far_prediction *near = predict(m, away, o);
        o.at_infinity = 1;
        far_prediction *limit = predict(m, ways, o);
        for (int64_t r = 0; r < 3; r++) {
            assert_int_equal(far_prediction_class(limit, r), far_prediction_class(near, r));
            for (int64_t c = 0; c < 3; c++) {
                assert_close(at(far_prediction_probability(limit, r).rows ? far_prediction_probability(limit) : far_prediction_mean(limit), r, c),
                             at(far_prediction_probability(near), r, c), 1e-6);
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
