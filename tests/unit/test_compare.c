/* Comparisons: the rows, every score computed again, a network against the same fit by hand, the
 * verdicts, and every message. */
#define _GNU_SOURCE
#include "../../src/compare/compare_internal.h"
#include "../../src/predictor/predictor_internal.h"
#include "../../src/regress/baseline_internal.h"

#include <farfield/certify.h>
#include <farfield/train.h>

#define TEST_THREADS 2
#define TEST_CLOSE forget_xgboost
#include "harness.h"
#include "tables.h"

static int forget_xgboost(void **state)
{
    unsetenv("FARFIELD_XGBOOST");
    return close_context(state);
}

/* ---- tables ---- */

static double draw(uint64_t i)
{
    return far_random_uniform(42, i);
}

/* Columns a, b, y of rows rows; a in [-2, 2], b in [-3, 3]. */
static far_frame *table(int64_t rows, double (*y)(double a, double b))
{
    static const char *const names[] = {"a", "b", "y"};
    far_frame *frame;
    double *values = malloc((size_t)rows * 3 * sizeof *values);
    for (int64_t i = 0; i < rows; i++) {
        double a = 4 * draw(2 * (uint64_t)i) - 2, b = 6 * draw(2 * (uint64_t)i + 1) - 3;
        values[3 * i] = a;
        values[3 * i + 1] = b;
        values[3 * i + 2] = y(a, b);
    }
    far_mat m = far_mat_view(values, rows, 3, FAR_F64);
    assert_int_equal(far_frame_from_mat(ctx, &m, names, &frame), FAR_OK);
    free(values);
    return frame;
}

static double plane(double a, double b)
{
    return 3 * a - 0.5 * b + 1;
}

static double wave(double a, double b)
{
    return 2 * a + sin(b);
}

static double constant(double a, double b)
{
    (void)a;
    (void)b;
    return -7;
}

static double step(double a, double b)
{
    (void)b;
    return a > 1 ? 5 : a;
}

/* ---- options ---- */

static far_fit_opts fit;
static far_compare_opts opts;

static void set_opts(const char *models)
{
    far_fit_opts_init(&fit);
    fit.target = "y";
    fit.ridge = 1e-4;
    far_compare_opts_init(&opts);
    opts.fit = &fit;
    opts.shift = "a > 1";
    opts.models = models;
    opts.seeds = 2;
    opts.certify = 0;
    opts.certify_seconds = 0;
}

static far_comparison *compare(const far_frame *frame)
{
    far_comparison *c = NULL;
    if (far_comparison_create(ctx, frame, &opts, &c) != FAR_OK) {
        fail_msg("%s", far_ctx_message(ctx));
    }
    return c;
}

static void assert_refused(const far_frame *frame, far_status status, const char *piece)
{
    far_comparison *c = (far_comparison *)&opts;
    assert_int_equal(far_comparison_create(ctx, frame, &opts, &c), status);
    assert_null(c);
    assert_message(piece);
}

/* ---- rows ---- */

static const far_bound *bound_of(const far_comparison *c, int64_t model)
{
    const far_certificate *known = far_comparison_row(c, model)->certificate;
    return known ? far_certificate_bound(known, 0) : NULL;
}

static bool holds(const far_compare_points *p, int64_t row)
{
    for (int64_t i = 0; i < p->count; i++) {
        if (p->rows[i] == row) {
            return true;
        }
    }
    return false;
}

static void rows_are_split_as_promised(void **state)
{
    (void)state;
    far_frame *frame = table(101, wave);
    const double *a = far_frame_column(frame, 0).numbers, *y = far_frame_column(frame, 2).numbers;
    set_opts("mean");
    opts.seeds = 3;
    fit.seed = 17;
    far_comparison *c = compare(frame);
    far_comparison_info info = far_comparison_describe(c);
    assert_string_equal(info.target, "y");
    assert_string_equal(info.shift, "a > 1");
    assert_int_equal(info.rows_in + info.rows_out, 101);
    assert_int_equal(info.train_rows, llround(0.9 * (double)info.rows_in));
    assert_int_equal(info.test_rows, info.rows_in - info.train_rows);
    assert_int_equal(info.first_seed, 17);
    for (int64_t s = 0; s < 3; s++) {
        far_compare_points p = far_comparison_describe(c).points[s];
        int64_t out = 0;
        assert_int_equal(p.count, info.test_rows + info.rows_out);
        for (int64_t i = 0; i < p.count; i++) {
            assert_true(i == 0 || p.rows[i] > p.rows[i - 1]);
            assert_int_equal(p.out[i], a[p.rows[i]] > 1);
            assert_true(p.truth[i] == y[p.rows[i]]);
            out += p.out[i];
        }
        assert_int_equal(out, info.rows_out);
        assert_int_equal(far_comparison_row(c, 0)->runs[s].seed, 17 + s);
    }
    far_compare_points first = far_comparison_describe(c).points[0],
                       second = far_comparison_describe(c).points[1];
    assert_memory_not_equal(first.rows, second.rows, (size_t)first.count * sizeof *first.rows);
    assert_null(far_comparison_row(c, -1));
    far_comparison_destroy(c);
    far_frame_destroy(frame);
}

static void rows_left_out_count_nowhere(void **state)
{
    (void)state;
    unsigned char used[101];
    far_frame *frame = table(101, wave);
    for (int i = 0; i < 101; i++) {
        used[i] = i % 3 != 0;
    }
    set_opts("mean");
    fit.rows = used;
    opts.test_fraction = 0.25;
    far_comparison *c = compare(frame);
    far_comparison_info info = far_comparison_describe(c);
    far_compare_points p = far_comparison_describe(c).points[1];
    assert_int_equal(info.rows_in + info.rows_out, 67);
    assert_int_equal(info.train_rows, llround(0.75 * (double)info.rows_in));
    for (int64_t i = 0; i < p.count; i++) {
        assert_true(p.rows[i] % 3 != 0);
    }
    far_comparison_destroy(c);
    far_frame_destroy(frame);
}

/* Scores in the plain way. */
static void score(const far_compare_points *p, const double *f, int out, double *r2, double *rmse,
                  double *most)
{
    double mean = 0, error = 0, spread = 0, count = 0;
    *most = 0;
    for (int64_t i = 0; i < p->count; i++) {
        mean += p->out[i] == out ? p->truth[i] : 0;
        count += p->out[i] == out;
    }
    mean /= count;
    for (int64_t i = 0; i < p->count; i++) {
        if (p->out[i] == out) {
            error += (f[i] - p->truth[i]) * (f[i] - p->truth[i]);
            spread += (p->truth[i] - mean) * (p->truth[i] - mean);
            *most = fmax(*most, fabs(f[i]));
        }
    }
    *r2 = 1 - error / spread;
    *rmse = sqrt(error / count);
}

static void scores_are_those_of_the_predictions(void **state)
{
    (void)state;
    far_frame *frame = table(89, wave);
    set_opts("none;ln-second;linear;mean");
    far_comparison *c = compare(frame);
    for (int64_t i = 0; i < 8; i++) {
        const far_compare_run *r = &far_comparison_row(c, i / 2)->runs[i % 2];
        far_compare_points p = far_comparison_describe(c).points[i % 2];
        double r2, rmse, most;
        assert_int_equal(r->status, FAR_OK);
        assert_null(r->message);
        score(&p, r->prediction, 0, &r2, &rmse, &most);
        assert_near(r->r2_in, r2, 1e-12);
        assert_near(r->rmse_in, rmse, 1e-12);
        assert_true(r->max_in == most);
        score(&p, r->prediction, 1, &r2, &rmse, &most);
        assert_near(r->r2_out, r2, 1e-11 * (1 + fabs(r2)));
        assert_near(r->rmse_out, rmse, 1e-12);
        assert_true(r->max_out == most);
    }
    far_comparison_destroy(c);
    far_frame_destroy(frame);
}

static void rows_of_the_table_sum_up_their_runs(void **state)
{
    (void)state;
    far_frame *frame = table(83, wave);
    set_opts("ln-first;mean");
    opts.seeds = 3;
    far_comparison *c = compare(frame);
    const far_compare_row *row = far_comparison_row(c, 0);
    double mean = 0, square = 0, most = 0, ridge = 0;
    for (int64_t s = 0; s < 3; s++) {
        const far_compare_run *r = &far_comparison_row(c, 0)->runs[s];
        mean += r->r2_out / 3;
        ridge += r->ridge / 3;
        most = fmax(most, r->max_out);
    }
    for (int64_t s = 0; s < 3; s++) {
        double off = far_comparison_row(c, 0)->runs[s].r2_out - mean;
        square += off * off;
    }
    assert_near(row->r2_out.mean, mean, 1e-14);
    assert_near(row->r2_out.ci95, 4.302652730 * sqrt(square / 2 / 3), 1e-9 * row->r2_out.ci95);
    assert_true(row->max_out == most);
    assert_near(row->ridge, ridge, 1e-12 * ridge);
    assert_near(row->ridge, 1e-4, 1e-12);
    assert_string_equal(row->model, "ln-first");
    assert_string_equal(row->arch, "dense ln relu dense relu dense");
    assert_int_equal(row->network, 1);
    assert_int_equal(row->state, FAR_COMPARED_OK);
    assert_null(row->message);
    assert_null(row->reason);
    assert_null(row->certificate);
    assert_null(far_comparison_row(c, 1)->arch);
    assert_int_equal(far_comparison_row(c, 1)->network, 0);
    assert_int_equal(far_comparison_describe(c).best, 0);
    far_comparison_destroy(c);
    far_frame_destroy(frame);
}

/* ---- models ---- */

static void a_network_is_the_fit_of_its_training_rows(void **state)
{
    (void)state;
    enum { ROWS = 97 };
    unsigned char train[ROWS], test[ROWS];
    far_frame *frame = table(ROWS, wave);
    set_opts("ln-every;dense(64) ln gelu dense");
    fit.ridge = NAN;
    fit.subset = 23;
    opts.seeds = 1;
    fit.seed = 5;
    far_comparison *c = compare(frame);
    far_compare_points p = far_comparison_describe(c).points[0];
    for (int64_t i = 0; i < ROWS; i++) {
        test[i] = holds(&p, i);
        train[i] = !test[i];
    }
    static const char *const archs[] = {"dense ln relu dense ln relu dense",
                                        "dense(64) ln gelu dense"};
    for (int k = 0; k < 2; k++) {
        const far_compare_run *r = &far_comparison_row(c, k)->runs[0];
        far_fit_opts own = fit;
        far_predict_opts how;
        far_model *m;
        far_prediction *f;
        own.rows = train;
        own.arch = archs[k];
        own.extremes = 0;
        assert_int_equal(far_model_fit(ctx, frame, &own, &m), FAR_OK);
        far_predict_opts_init(&how);
        how.rows = test;
        assert_int_equal(far_model_predict(ctx, m, frame, &how, &f), FAR_OK);
        const double *mean = f->mean.data;
        assert_int_equal(f->mean.rows, p.count);
        assert_memory_equal(r->prediction, mean, (size_t)p.count * sizeof *mean);
        assert_true(r->ridge == far_model_describe(m).ridge_relative);
        assert_string_equal(r->arch, m->arch);
        far_prediction_destroy(f);
        far_model_destroy(m);
    }
    far_comparison_destroy(c);
    far_frame_destroy(frame);
}

static void a_plane_is_found_out_of_range(void **state)
{
    (void)state;
    far_frame *frame = table(149, plane);
    set_opts("linear;mean;ln-first");
    far_comparison *c = compare(frame);
    const far_compare_row *linear = far_comparison_row(c, 0), *mean = far_comparison_row(c, 1);
    assert_near(linear->r2_in.mean, 1, 1e-9);
    assert_near(linear->r2_out.mean, 1, 1e-9);
    assert_true(mean->r2_in.mean <= 0 && mean->r2_in.mean > -0.5);
    assert_true(mean->r2_out.mean < -1);
    assert_true(far_comparison_row(c, 2)->r2_out.mean < linear->r2_out.mean);
    assert_int_equal(far_comparison_describe(c).best, 0);
    assert_true(isnan(mean->ridge));
    assert_true(linear->ridge > 0);
    far_comparison_destroy(c);
    far_frame_destroy(frame);
}

static void the_mean_is_that_of_the_training_rows(void **state)
{
    (void)state;
    far_frame *frame = table(61, wave);
    const double *y = far_frame_column(frame, 2).numbers;
    set_opts("mean");
    opts.certify = 1;
    far_comparison *c = compare(frame);
    far_compare_points p = far_comparison_describe(c).points[0];
    double sum = 0, count = 0;
    for (int64_t i = 0; i < 61; i++) {
        sum += holds(&p, i) ? 0 : y[i];
        count += !holds(&p, i);
    }
    assert_int_equal(count, far_comparison_describe(c).train_rows);
    for (int64_t i = 0; i < p.count; i++) {
        assert_near(far_comparison_row(c, 0)->runs[0].prediction[i], sum / count, 1e-14);
    }
    const far_bound *v = bound_of(c, 0);
    assert_int_equal(v->verdict, FAR_BOUNDED);
    double most = 0; /* of any seed */
    for (int64_t i = 0; i < far_comparison_describe(c).seeds; i++) {
        most = fmax(most, fabs(far_comparison_row(c, 0)->runs[i].prediction[0]));
    }
    assert_near(v->tightest, most, 1e-14);
    far_comparison_destroy(c);
    far_frame_destroy(frame);
}

static void norms_are_bounded_and_nothing_else(void **state)
{
    (void)state;
    far_frame *frame = table(67, wave);
    set_opts("none;ln-first;ln-second;ln-every");
    opts.certify = 1;
    fit.ridge = 0.01;
    far_comparison *c = compare(frame);
    const far_compare_row *row = far_comparison_row(c, 0);
    const far_bound *none = bound_of(c, 0);
    assert_int_equal(none->verdict, FAR_UNBOUNDED);
    assert_true(isinf(none->tightest));
    assert_true(none->order == 1 && none->slope != 0);
    assert_int_equal(far_certificate_describe(row->certificate).inputs, 2);
    assert_string_equal(far_certificate_describe(row->certificate).input_names[0], "a");
    assert_near(hypot(none->direction[0], none->direction[1]), 1, 1e-12);
    assert_non_null(strstr(row->reason, "Theorem"));
    assert_int_equal(row->certificate_seed, fit.seed);
    for (int k = 1; k < 4; k++) {
        const far_bound *v = bound_of(c, k);
        double found = far_comparison_row(c, k)->found;
        const far_compare_run *r = &far_comparison_row(c, k)->runs[0];
        assert_int_equal(v->verdict, FAR_BOUNDED);
        assert_true(v->tightest >= found && found >= r->max_in * (1 - 1e-9));
        assert_null(v->direction);
        assert_true(isnan(v->slope));
    }
    far_comparison_destroy(c);
    far_frame_destroy(frame);
}

static void a_plane_runs_away_along_its_steepest_input(void **state)
{
    (void)state;
    far_frame *frame = table(71, plane);
    set_opts("linear");
    opts.certify = 1;
    far_comparison *c = compare(frame);
    const far_bound *v = bound_of(c, 0);
    assert_int_equal(v->verdict, FAR_UNBOUNDED);
    assert_near(v->direction[0] * v->slope, 3, 1e-6); /* the slope of the first input */
    assert_near(hypot(v->direction[0], v->direction[1]), 1, 1e-12);
    assert_true(v->order == 1 && isinf(v->tightest));
    far_comparison_destroy(c);
    far_frame_destroy(frame);
}

static void a_constant_runs_nowhere(void **state)
{
    (void)state;
    far_frame *frame = table(73, constant);
    set_opts("linear;ln-first;none");
    opts.certify = 1;
    far_comparison *c = compare(frame);
    for (int k = 0; k < 3; k++) {
        const far_compare_row *row = far_comparison_row(c, k);
        assert_int_equal(bound_of(c, k)->verdict, FAR_BOUNDED);
        assert_near(bound_of(c, k)->tightest, 7, 1e-12);
        assert_true(isnan(row->r2_in.mean) && isnan(row->r2_out.mean));
        assert_near(row->rmse_out.mean, 0, 1e-12);
    }
    assert_int_equal(far_comparison_describe(c).best, -1);
    far_comparison_destroy(c);
    far_frame_destroy(frame);
}

/* Two neighbouring doubles, one seldom, in no order: a slope that is lost beside the intercept. */
static double flicker(double a, double b)
{
    return fmod(1e4 * a + 7e3 * b, 1) < 0.8 ? -7 : nextafter(-7, 0);
}

/* A coefficient is 0 or it is not, however small. */
static void the_smallest_slope_runs_away(void **state)
{
    (void)state;
    far_frame *frame = table(73, flicker);
    set_opts("linear");
    opts.certify = 1;
    far_comparison *c = compare(frame);
    const far_bound *v = bound_of(c, 0);
    assert_int_equal(v->verdict, FAR_UNBOUNDED);
    assert_true(isinf(v->tightest) && v->slope != 0 && fabs(v->slope) < 1e-15);
    far_comparison_destroy(c);
    far_frame_destroy(frame);
}

static void trees_are_those_of_the_baseline(void **state)
{
    (void)state;
    if (!far_xgboost_find(ctx)) {
        print_message("skipped: %s\n", far_ctx_message(ctx));
        skip();
    }
    enum { ROWS = 113 };
    far_frame *frame = table(ROWS, wave);
    set_opts("xgboost");
    opts.certify = 1;
    opts.rounds = 7;
    far_comparison *c = compare(frame);
    far_compare_points p = far_comparison_describe(c).points[1];
    double x[ROWS * 2], y[ROWS], xt[ROWS * 2], out[ROWS];
    int64_t n = 0, m = 0;
    for (int64_t i = 0; i < ROWS; i++) {
        double *to = holds(&p, i) ? &xt[2 * m++] : &x[2 * n];
        to[0] = far_frame_column(frame, 0).numbers[i];
        to[1] = far_frame_column(frame, 1).numbers[i];
        if (!holds(&p, i)) {
            y[n++] = far_frame_column(frame, 2).numbers[i];
        }
    }
    far_mat mx = far_mat_view(x, n, 2, FAR_F64), my = far_mat_view(y, n, 1, FAR_F64);
    far_mat mxt = far_mat_view(xt, m, 2, FAR_F64), mout = far_mat_view(out, m, 1, FAR_F64);
    assert_int_equal(far_xgboost_predict(ctx, &mx, &my, &mxt, 7, 1, &mout), FAR_OK);
    assert_memory_equal(out, far_comparison_row(c, 0)->runs[1].prediction, (size_t)m * sizeof *out);
    const far_bound *v = bound_of(c, 0);
    assert_int_equal(v->verdict, FAR_BOUNDED);
    assert_true(v->tightest >= far_comparison_row(c, 0)->max_in && isfinite(v->tightest));
    assert_true(v->tightest >= far_comparison_row(c, 0)->max_out);
    assert_non_null(strstr(v->theorem, "leaves"));
    far_comparison_destroy(c);
    far_frame_destroy(frame);
}

/* Asked for the rows that a seed predicted, the same bits. */
static void assert_predicts(const far_comparison *c, int64_t model, int64_t seed,
                            const far_frame *frame, const far_predictor *predictor)
{
    far_compare_points p = far_comparison_describe(c).points[seed];
    const far_compare_run *run = &far_comparison_row(c, model)->runs[seed];
    far_prediction *made;
    far_predict_opts how;
    far_predict_opts_init(&how);
    must(far_predictor_predict(ctx, predictor, frame, &how, &made));
    const double *mean = made->mean.data;
    assert_int_equal(run->status, FAR_OK);
    for (int64_t i = 0; i < p.count; i++) {
        assert_true(run->prediction[i] == mean[p.rows[i]]);
    }
    far_prediction_destroy(made);
}

static far_predictor *trained_by_hand(const far_frame *frame, const unsigned char *rows,
                                      far_standardize standardize, uint64_t seed)
{
    far_columns_opts o;
    far_examples *e;
    far_net_opts shape;
    far_train_opts how;
    far_net *net;
    far_predictor *p;
    far_columns_opts_init(&o);
    o.target = "y";
    o.rows = rows;
    o.loss = FAR_LOSS_MSE;
    o.standardize = standardize;
    must(far_examples_learn(ctx, frame, &o, &e));
    far_net_opts_init(&shape);
    shape.inputs = 2;
    shape.outputs = 1;
    shape.seed = seed;
    must(far_net_create(ctx, "dense(4) ln relu dense", &shape, &net));
    must(far_net_set_columns(ctx, net, e->columns));
    far_train_opts_init(&how);
    how.seed = seed;
    how.epochs = 3;
    far_mat x = e->inputs, y = e->targets;
    must(far_net_train(ctx, net, &x, &y, &how, NULL));
    must(far_predictor_own(ctx, &far_finite_ops, FAR_OK, net, &p));
    far_examples_destroy(e);
    return p;
}

static void a_finite_network_is_trained_on_the_training_rows(void **state)
{
    (void)state;
    enum { ROWS = 61 };
    far_frame *frame = table(ROWS, wave);
    for (int standardize = 0; standardize < 2; standardize++) {
        set_opts("net:dense(4) ln relu dense");
        opts.certify = 1;
        opts.epochs = 3;
        fit.standardize = standardize;
        far_comparison *c = compare(frame);
        for (int64_t seed = 0; seed < 2; seed++) {
            far_compare_points p = far_comparison_describe(c).points[seed];
            unsigned char rows[ROWS];
            for (int64_t i = 0; i < ROWS; i++) {
                rows[i] = !holds(&p, i);
            }
            far_predictor *own = trained_by_hand(
                frame, rows, standardize ? FAR_STANDARDIZE_BOTH : FAR_STANDARDIZE_NONE,
                (uint64_t)seed);
            assert_predicts(c, 0, seed, frame, own);
            far_predictor_destroy(own);
        }
        assert_string_equal(far_comparison_row(c, 0)->runs[0].arch, "dense(4) ln relu dense(1)");
        assert_int_equal(bound_of(c, 0)->verdict, FAR_BOUNDED);
        far_comparison_destroy(c);
    }
    far_frame_destroy(frame);
}

/* A line fitted to all rows, or to two targets. */
static void save_line(const far_frame *frame, const char *target, const char *path)
{
    far_predictor *p;
    far_columns_opts o;
    far_columns_opts_init(&o);
    o.target = target;
    must(far_predictor_fit_linear(ctx, frame, &o, NAN, &p));
    must(far_predictor_save(ctx, p, path));
    far_predictor_destroy(p);
}

static void files_are_taken_as_they_are(void **state)
{
    (void)state;
    char path[] = "/tmp/farfield-compare-XXXXXX.far", models[64];
    far_frame *frame = table(43, wave);
    far_predictor *p;
    close(mkstemps(path, 4));
    save_line(frame, "y", path);
    must(far_predictor_load(ctx, path, NULL, &p));
    snprintf(models, sizeof models, "mean;%s", path);
    set_opts(models);
    opts.certify = 1;
    far_comparison *c = compare(frame);
    assert_predicts(c, 1, 0, frame, p);
    assert_predicts(c, 1, 1, frame, p);
    assert_int_equal(bound_of(c, 1)->verdict, FAR_UNBOUNDED);
    far_comparison_destroy(c);
    save_line(frame, "y,b", path);
    c = compare(frame);
    assert_int_equal(far_comparison_row(c, 0)->state, FAR_COMPARED_OK);
    assert_int_equal(far_comparison_row(c, 1)->state, FAR_COMPARED_FAILED);
    assert_holds(far_comparison_row(c, 1)->message, "it has 2 outputs");
    far_comparison_destroy(c);
    far_predictor_destroy(p);
    far_frame_destroy(frame);
    unlink(path);
}

static void absent_trees_are_a_row_with_the_reason(void **state)
{
    (void)state;
    far_frame *frame = table(59, wave);
    setenv("FARFIELD_XGBOOST", "/nonexistent", 1);
    set_opts("xgboost;mean");
    far_comparison *c = compare(frame);
    const far_compare_row *row = far_comparison_row(c, 0);
    assert_int_equal(row->state, FAR_COMPARED_ABSENT);
    assert_non_null(strstr(row->message, "/nonexistent"));
    assert_true(isnan(row->r2_out.mean) && isnan(row->max_out));
    assert_null(far_comparison_row(c, 0)->runs[0].prediction);
    assert_int_equal(far_comparison_row(c, 1)->state, FAR_COMPARED_OK);
    assert_int_equal(far_comparison_describe(c).best, 1);
    far_comparison_destroy(c);
    far_frame_destroy(frame);
}

static void auto_chooses_on_the_training_rows(void **state)
{
    (void)state;
    far_frame *frame = table(43, wave);
    set_opts("auto");
    fit.ridge = NAN;
    fit.subset = 13;
    opts.seeds = 1;
    far_comparison *c = compare(frame);
    const far_compare_row *row = far_comparison_row(c, 0);
    assert_int_equal(row->state, FAR_COMPARED_OK);
    assert_string_equal(row->model, "auto");
    assert_non_null(strstr(row->arch, "ln"));
    far_comparison_destroy(c);
    far_frame_destroy(frame);
}

static void a_model_that_fails_does_not_stop_the_others(void **state)
{
    (void)state;
    far_frame *frame = table(53, wave);
    set_opts("none;linear");
    fit.memory = 64; /* bytes */
    opts.certify = 1;
    far_comparison *c = compare(frame);
    const far_compare_row *row = far_comparison_row(c, 0);
    assert_int_equal(row->state, FAR_COMPARED_FAILED);
    assert_int_equal(far_comparison_row(c, 0)->runs[1].status, FAR_ERR_BUDGET);
    assert_non_null(strstr(row->message, "memory"));
    assert_null(row->certificate);
    assert_int_equal(far_comparison_row(c, 1)->state, FAR_COMPARED_OK);
    assert_non_null(bound_of(c, 1));
    far_comparison_destroy(c);
    far_frame_destroy(frame);
}

/* Without a ridge two rows with the same inputs and other targets cannot both be fitted: a seed
 * that trains on both fails. */
static void seeds_that_fail_leave_the_others(void **state)
{
    (void)state;
    far_frame *frame = table_of("a,y\n0,1\n0,2\n0.5,1\n-0.7,0\n0.9,1\n-1,4\n3,2\n4,5\n");
    set_opts("ln-first");
    opts.shift = "a > 2";
    opts.test_fraction = 0.5;
    opts.seeds = 20;
    opts.certify = 1;
    fit.ridge = 0;
    far_comparison *c = compare(frame);
    const far_compare_row *row = far_comparison_row(c, 0);
    double mean = 0;
    int64_t good = 0, first = -1;
    for (int64_t i = 0; i < 20; i++) {
        const far_compare_run *r = &far_comparison_row(c, 0)->runs[i];
        far_compare_points p = far_comparison_describe(c).points[i];
        bool both = !holds(&p, 0) && !holds(&p, 1);
        assert_int_equal(r->status, both ? FAR_ERR_SINGULAR : FAR_OK);
        mean += both ? 0 : r->r2_out;
        good += !both;
        first = first < 0 && !both ? i : first;
    }
    assert_in_range(good, 1, 19);
    assert_int_equal(row->state, FAR_COMPARED_PARTLY);
    assert_non_null(strstr(row->message, "same inputs and different targets"));
    assert_near(row->r2_out.mean, mean / (double)good, 1e-12 * fabs(mean));
    const far_bound *b = bound_of(c, 0);
    assert_int_equal(b->verdict, FAR_BOUNDED);
    assert_true(row->certificate_seed >= (uint64_t)first); /* the worst of those that are there */
    assert_true(row->max_in <= b->tightest && row->max_out <= b->tightest);
    far_comparison_destroy(c);
    far_frame_destroy(frame);
}

/* The certificate fails, the predictions stand. */
static void a_certificate_that_fails_leaves_the_scores(void **state)
{
    (void)state;
    far_frame *frame = table(47, wave);
    set_opts("rms sin dense"); /* the supremum of its kernel is not known */
    opts.certify = 1;
    far_comparison *c = compare(frame);
    const far_compare_row *row = far_comparison_row(c, 0);
    assert_int_equal(row->state, FAR_COMPARED_OK);
    assert_null(row->certificate);
    assert_non_null(strstr(row->reason, "is not known"));
    far_comparison_destroy(c);
    far_frame_destroy(frame);
}

static void models_fitted(void *user, const char *model, const far_compare_run *run)
{
    char *seen = user;
    sprintf(seen + strlen(seen), "%s/%d ", model, (int)run->seed);
}

static void every_fit_is_told_of(void **state)
{
    (void)state;
    char seen[100] = "";
    far_frame *frame = table(41, wave);
    set_opts("mean,linear");
    opts.done = models_fitted;
    opts.done_user = seen;
    far_comparison_destroy(compare(frame));
    assert_string_equal(seen, "mean/0 linear/0 mean/1 linear/1 ");
    far_frame_destroy(frame);
}

static void seeds_repeat_and_threads_do_not_matter(void **state)
{
    (void)state;
    far_frame *frame = table(79, wave);
    set_opts("ln-second;linear");
    fit.ridge = NAN;
    far_comparison *first = compare(frame), *again = compare(frame);
    far_ctx *two = ctx;
    ctx = context_with(1);
    far_comparison *alone = compare(frame);
    for (int64_t i = 0; i < 4; i++) {
        const far_compare_run *a = &far_comparison_row(first, i / 2)->runs[i % 2];
        const far_compare_run *b = &far_comparison_row(again, i / 2)->runs[i % 2];
        const far_compare_run *s = &far_comparison_row(alone, i / 2)->runs[i % 2];
        int64_t count = far_comparison_describe(first).points[i % 2].count;
        assert_memory_equal(a->prediction, b->prediction, (size_t)count * sizeof(double));
        for (int64_t k = 0; k < count; k++) {
            assert_near(a->prediction[k], s->prediction[k], 1e-9);
        }
    }
    far_comparison_destroy(alone);
    far_ctx_destroy(ctx);
    ctx = two;
    far_comparison_destroy(first);
    far_comparison_destroy(again);
    far_frame_destroy(frame);
}

/* ---- the list of models ---- */

static void assert_models(const char *text, int32_t param, const char *wanted)
{
    far_rivals r = {0};
    char got[400] = "";
    if (far_rivals_parse(ctx, text, param, &r) != FAR_OK) {
        fail_msg("%s: %s", text, far_ctx_message(ctx));
    }
    for (int64_t i = 0; i < r.count; i++) {
        sprintf(got + strlen(got), "%s=%s|", r.items[i].name,
                r.items[i].arch ? r.items[i].arch : "");
    }
    assert_string_equal(got, wanted);
    far_rivals_clear(ctx, &r);
}

static void models_are_names_or_networks(void **state)
{
    (void)state;
    assert_models("ln-second;dense(64, w=1.5) ln gelu dense;xgboost", FAR_PARAM_NTK,
                  "ln-second=dense relu dense ln relu dense|dense(64, w=1.5) ln gelu "
                  "dense=dense(64, w=1.5) ln gelu dense|xgboost=|");
    assert_models(" mean , auto,\tnone ;", FAR_PARAM_NTK,
                  "mean=|auto=auto|none=dense relu dense relu dense|");
    assert_models("[dense(3, b=0) relu]x2 dense,linear", FAR_PARAM_NTK,
                  "[dense(3, b=0) relu]x2 dense=[dense(3, b=0) relu]x2 dense|linear=|");
    assert_models("dense", FAR_PARAM_NTK, "dense=dense|");
    assert_models("net:dense(3) ln relu dense,mean", FAR_PARAM_NTK,
                  "net:dense(3) ln relu dense=dense(3) ln relu dense|mean=|");
    assert_models("none,ln-every", FAR_PARAM_STANDARD,
                  "none=dense(128) relu dense(128) relu dense(1)|ln-every=dense(128) ln relu "
                  "dense(128) ln relu dense(1)|");
    far_rivals r = {0};
    assert_int_equal(far_rivals_parse(ctx, FAR_COMPARE_MODELS, FAR_PARAM_NTK, &r), FAR_OK);
    assert_int_equal(r.count, 7);
    assert_int_equal(r.networks, 4);
    far_rivals_clear(ctx, &r);
}

static void bad_models_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        far_status status;
        const char *piece;
    } bad[] = {
        {"ln-frist", FAR_ERR_ARG, "did you mean ln-first?"},
        {"none;qqqqqqqqq", FAR_ERR_ARG, "there is no model 'qqqqqqqqq'. Models are"},
        {"dense ln rleu dense", FAR_ERR_PARSE, "^"},
        {"net:dense(3) rleu dense", FAR_ERR_PARSE, "^"},
        {"mean;nowhere.far", FAR_ERR_IO, "nowhere.far"},
        {"nowhere.safetensors", FAR_ERR_IO, "nowhere.safetensors"},
        {".far", FAR_ERR_ARG, "there is no model '.far'"},
        {"mean;none;mean", FAR_ERR_ARG, "'mean' is named twice"},
        {" ; ,", FAR_ERR_ARG, "empty"},
        {"", FAR_ERR_ARG, "empty"},
    };
    for (int i = 0; i < COUNT(bad); i++) {
        set_opts(bad[i].text);
        assert_int_equal(far_compare_estimate(ctx, NULL, &opts, NULL), bad[i].status);
        assert_message(bad[i].piece);
    }
}

/* ---- refusals ---- */

static void options_out_of_range_are_refused(void **state)
{
    (void)state;
    far_comparison *c;
    far_compare_plan plan;
    far_frame *frame = table(37, wave);
    set_opts("mean");
    assert_int_equal(far_compare_estimate(ctx, NULL, &opts, NULL), FAR_OK);
    opts.seeds = -1;
    assert_refused(frame, FAR_ERR_ARG, "seeds is -1");
    set_opts("mean");
    opts.test_fraction = 1;
    assert_refused(frame, FAR_ERR_ARG, "fraction to test on is 1");
    opts.test_fraction = NAN;
    assert_refused(frame, FAR_ERR_ARG, "fraction to test on");
    set_opts("mean");
    opts.rounds = 0;
    assert_refused(frame, FAR_ERR_ARG, "rounds is 0");
    set_opts("mean");
    opts.epochs = 0;
    assert_refused(frame, FAR_ERR_ARG, "epochs is 0");
    set_opts("mean");
    fit.target = "y,b";
    assert_refused(frame, FAR_ERR_ARG, "one target, not on 2");
    set_opts("mean");
    opts.certify_seconds = -1;
    assert_refused(frame, FAR_ERR_ARG, "seconds for a certificate");
    set_opts("mean");
    opts.shift = NULL;
    assert_refused(frame, FAR_ERR_ARG, "no shift");
    set_opts("mean");
    fit.target = NULL;
    assert_refused(frame, FAR_ERR_ARG, "no target");
    fit.target = "";
    assert_refused(frame, FAR_ERR_ARG, "no target");
    set_opts("mean");
    fit.size = 3;
    assert_refused(frame, FAR_ERR_ARG, "not initialised");
    set_opts("mean");
    fit.ridge = -1;
    assert_refused(frame, FAR_ERR_ARG, "the ridge is -1");
    set_opts(NULL);
    assert_refused(frame, FAR_ERR_ARG, "opts->models");
    set_opts("mean");
    opts.size = 3;
    assert_refused(frame, FAR_ERR_ARG, "not initialised");
    set_opts("mean");
    opts.fit = NULL;
    assert_refused(frame, FAR_ERR_ARG, "not initialised");
    set_opts("mean");
    assert_refused(NULL, FAR_ERR_ARG, "frame is NULL");
    assert_int_equal(far_comparison_create(ctx, frame, &opts, NULL), FAR_ERR_ARG);
    assert_int_equal(far_compare_estimate(ctx, frame, &opts, NULL), FAR_ERR_ARG);
    assert_int_equal(far_comparison_create(ctx, frame, NULL, &c), FAR_ERR_ARG);
    opts.shift = "a > 100";
    assert_int_equal(far_compare_estimate(ctx, frame, &opts, &plan), FAR_ERR_ARG);
    far_frame_destroy(frame);
}

static void shifts_that_split_nothing_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *shift;
        far_status status;
        const char *piece;
    } bad[] = {
        {"a > 100", FAR_ERR_ARG, "holds for none of the 37 rows"},
        {"a < 100", FAR_ERR_ARG, "holds for all of the 37 rows"},
        {"y > 1", FAR_ERR_ARG, "looks at the target y"},
        {"a > 1 or not (b < 0 and 0 < y)", FAR_ERR_ARG, "looks at the target y"},
        {"a >", FAR_ERR_PARSE, "^"},
        {"aa > 1", FAR_ERR_PARSE, "aa"},
    };
    far_frame *frame = table(37, wave);
    for (int i = 0; i < COUNT(bad); i++) {
        set_opts("mean");
        opts.shift = bad[i].shift;
        assert_refused(frame, bad[i].status, bad[i].piece);
    }
    far_frame_destroy(frame);
}

static void tables_that_cannot_be_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *target, *features;
        far_status status;
        const char *piece;
    } bad[] = {
        {"a,y\n0,1\n1,2\n3,4\n", "y", NULL, FAR_ERR_ARG, "1 of them to train on; two at least"},
        {"a,y\n0,1\n1,2\n0.5,0\n3,4\n", "z", NULL, FAR_ERR_ARG, "z"},
        {"a,y\n0,1\n1,2\n0.5,0\n3,4\n", "y", "a,y", FAR_ERR_ARG, "both a feature and a target"},
        {"a,y\n0,1\n1,2\n0.5,0\n3,4\n", "a,y", NULL, FAR_ERR_ARG, "one target, not on 2"},
        {"a,y\n0,1\n1,2\n0.5,\n3,4\n", "y", NULL, FAR_ERR_VALUE, "row 3: the target y has no"},
        {"a,y\n0,1\n1,2\n0.5,1\n3,\n", "y", NULL, FAR_ERR_VALUE, "row 4: the target y has no"},
        {"a,b,y\n0,1,1\n1,,2\n0.5,2,1\n3,1,2\n", "y", NULL, FAR_ERR_VALUE, "row 2: column b"},
        {"a,b,y\n0,1,1\n1,3,2\n0.5,2,1\n3,,2\n", "y", NULL, FAR_ERR_VALUE, "row 4: column b"},
    };
    for (int i = 0; i < COUNT(bad); i++) {
        far_frame *frame = table_of(bad[i].text);
        set_opts("mean");
        opts.shift = "a > 2";
        opts.test_fraction = i == 0 ? 0.5 : 0;
        fit.target = bad[i].target;
        fit.features = bad[i].features;
        assert_refused(frame, bad[i].status, bad[i].piece);
        far_frame_destroy(frame);
    }
}

static void folds_that_cannot_be_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *shift, *fold_column;
        int64_t folds;
        far_task task;
        far_status status;
        const char *piece;
    } bad[] = {
        {"a,g,y\n0,p,1\n1,q,2\n", "a > 0", NULL, 2, 0, FAR_ERR_ARG, "one of them"},
        {"a,g,y\n0,p,1\n1,q,2\n", NULL, "g", 2, 0, FAR_ERR_ARG, "one of them"},
        {"a,g,y\n0,p,1\n1,q,2\n", NULL, NULL, 1, 0, FAR_ERR_ARG, "folds is 1"},
        {"a,g,y\n0,p,1\n1,q,2\n", NULL, NULL, 3, 0, FAR_ERR_ARG, "2 rows are too few for 3"},
        {"a,g,y\n0,p,1\n1,q,2\n", NULL, "h", 0, 0, FAR_ERR_ARG, "h"},
        {"a,g,y\n0,p,1\n1,q,2\n", NULL, "y", 0, 0, FAR_ERR_ARG, "cannot name the folds"},
        {"a,g,y\n0,p,1\n1,,2\n2,q,3\n", NULL, "g", 0, 0, FAR_ERR_VALUE, "row 2: the column g"},
        {"a,g,y\n0,1,1\n1,,2\n2,2,3\n", NULL, "g", 0, 0, FAR_ERR_VALUE, "row 2: the column g"},
        {"a,g,y\n0,p,1\n1,p,2\n2,p,3\n", NULL, "g", 0, 0, FAR_ERR_ARG, "one value only"},
        {"a,g,y\n0,p,1\n1,q,2\n2,q,3\n", NULL, "g", 0, 0, FAR_ERR_ARG, "leaves 1 of the 3 rows"},
        {"g,y\n1,1\n2,2\n1,3\n2,4\n", NULL, "g", 0, 0, FAR_ERR_ARG, "no column beside the target"},
        {"a,g,y\n0,p,u\n1,q,v\n2,p,u\n3,q,v\n", NULL, "g", 0, 0, FAR_ERR_VALUE, "fold 2"},
        {"a,g,y\n0,p,u\n1,q,v\n2,p,u\n3,q,v\n", NULL, "g", 0, FAR_TASK_REGRESS, FAR_ERR_ARG,
         "holds words"},
    };
    for (int i = 0; i < COUNT(bad); i++) {
        far_frame *frame = table_of(bad[i].text);
        set_opts("mean");
        opts.shift = bad[i].shift;
        opts.folds = bad[i].folds;
        opts.fold_column = bad[i].fold_column;
        opts.fit = &fit;
        fit.task = bad[i].task;
        assert_refused(frame, bad[i].status, bad[i].piece);
        far_frame_destroy(frame);
    }
}

/* Rows of classes that are told by a; the rows where rows is 0 are in no fold. */
static far_frame *classes_table(unsigned char rows[40])
{
    char *csv;
    size_t length;
    FILE *out = open_memstream(&csv, &length);
    fprintf(out, "`a``1`,b,y\n"); /* a name with quotes in it */
    for (int i = 0; i < 40; i++) {
        rows[i] = i % 9 != 0;
        fprintf(out, "%.6f,%.6f,%s\n", draw((uint64_t)i) + i % 3, draw(100 + (uint64_t)i),
                i % 3 ? i % 3 == 1 ? "p" : "q" : "r");
    }
    fclose(out);
    far_frame *frame = table_of(csv);
    free(csv);
    return frame;
}

static void classes_are_in_every_fold_alike(void **state)
{
    (void)state;
    unsigned char rows[40];
    int met[40] = {0};
    far_frame *frame = classes_table(rows);
    set_opts("linear;mean");
    opts.shift = NULL;
    opts.folds = 4;
    fit.rows = rows;
    far_comparison *c = compare(frame);
    assert_int_equal(far_comparison_describe(c).seeds, 4);
    for (int64_t f = 0; f < 4; f++) {
        far_compare_points q = far_comparison_describe(c).points[f], *p = &q;
        int count[3] = {0};
        for (int64_t i = 0; i < p->count; i++) {
            met[p->rows[i]]++;
            count[far_frame_column(frame, 2).codes[p->rows[i]]]++;
        }
        assert_true(count[0] >= 2 && count[1] >= 2 && count[2] >= 2);
        assert_true(far_comparison_row(c, 0)->runs[f].status == FAR_OK);
    }
    for (int i = 0; i < 40; i++) {
        assert_int_equal(met[i], rows[i]);
    }
    far_comparison_destroy(c);
    far_frame_destroy(frame);
}

static void no_row_at_all_is_refused(void **state)
{
    (void)state;
    unsigned char none[31] = {0};
    far_frame *frame = table(31, wave);
    set_opts("mean");
    fit.rows = none;
    assert_refused(frame, FAR_ERR_ARG, "selection is empty");
    far_frame_destroy(frame);
}

static void gaps_and_new_words_can_be_filled(void **state)
{
    (void)state;
    far_frame *frame = table_of("a,b,k,y\n0,1,u,1\n1,,v,2\n0.5,2,v,1\n0.7,2,v,1\n3,,w,2\n"
                                "4,1,,5\n");
    set_opts("mean;linear;ln-first");
    opts.shift = "a > 2";
    opts.test_fraction = 0;
    fit.impute = 1;
    far_comparison *c = compare(frame);
    for (int k = 0; k < 3; k++) {
        assert_int_equal(far_comparison_row(c, k)->state, FAR_COMPARED_OK);
        assert_true(isnan(far_comparison_row(c, k)->r2_in.mean)); /* nothing to test on in range */
        assert_false(isnan(far_comparison_row(c, k)->r2_out.mean));
    }
    far_comparison_destroy(c);
    far_frame_destroy(frame);
}

/* ---- undefined scores ---- */

static void r2_of_one_row_is_undefined(void **state)
{
    (void)state;
    far_frame *frame = table_of("a,y\n0,1\n1,2\n0.5,1\n0.7,1\n0.9,1\n3,2\n");
    set_opts("mean");
    opts.shift = "a > 2";
    far_comparison *c = compare(frame);
    const far_compare_row *row = far_comparison_row(c, 0);
    assert_true(isnan(row->r2_out.mean) && isnan(row->r2_out.ci95));
    assert_false(isnan(row->rmse_out.mean));
    assert_int_equal(far_comparison_describe(c).best, -1);
    far_comparison_destroy(c);
    far_frame_destroy(frame);
}

static void r2_of_a_constant_truth_is_undefined(void **state)
{
    (void)state;
    far_frame *frame = table(103, step);
    set_opts("mean");
    far_comparison *c = compare(frame);
    const far_compare_row *row = far_comparison_row(c, 0);
    assert_true(far_comparison_describe(c).rows_out > 1);
    assert_true(isnan(row->r2_out.mean));
    assert_false(isnan(row->r2_in.mean));
    assert_true(row->rmse_out.mean > 4);
    assert_true(far_comparison_describe(c).largest_out == 5);
    assert_true(far_comparison_describe(c).largest_in <= 2);
    far_comparison_destroy(c);
    far_frame_destroy(frame);
}

/* ---- intervals ---- */

static void student_is_the_tables(void **state)
{
    (void)state;
    static const struct {
        int64_t freedom;
        double value;
    } known[] = {{1, 12.7062047362}, {2, 4.3026527297},  {4, 2.7764451052},  {9, 2.2621571628},
                 {10, 2.2281388520}, {11, 2.2009851601}, {20, 2.0859634473}, {40, 2.0210753903}};
    for (int i = 0; i < COUNT(known); i++) {
        assert_near(far_student_95(known[i].freedom), known[i].value, 3e-6 * known[i].value);
    }
    assert_near(far_student_95(1000000000), 1.959963985, 1e-8);
    assert_true(isnan(far_student_95(0)));
}

static void averages_have_intervals_from_two_values_on(void **state)
{
    (void)state;
    double values[] = {1, 2, 4};
    far_compare_average three = far_average(values, 3), one = far_average(values, 1);
    assert_near(three.mean, 7.0 / 3, 1e-15);
    assert_near(three.ci95, 4.3026527297 * sqrt(7.0 / 3 / 3), 1e-8);
    assert_true(one.mean == 1 && isnan(one.ci95));
    assert_true(isnan(far_average(values, 0).mean));
    values[1] = NAN;
    assert_true(isnan(far_average(values, 3).mean) && isnan(far_average(values, 3).ci95));
}

/* ---- estimates ---- */

static void seeds_are_five_or_one(void **state)
{
    (void)state;
    far_compare_plan plan;
    far_frame *few = table(211, wave), *many = table(15013, wave);
    set_opts(FAR_COMPARE_MODELS);
    opts.seeds = 0;
    assert_int_equal(far_compare_estimate(ctx, few, &opts, &plan), FAR_OK);
    assert_int_equal(plan.seeds, 5);
    assert_int_equal(plan.models, 7);
    assert_int_equal(plan.networks, 4);
    assert_int_equal(plan.rows_in + plan.rows_out, 211);
    assert_int_equal(plan.train_rows + plan.test_rows, plan.rows_in);
    double fast = plan.seconds;
    assert_true(fast > 0);
    opts.models = "auto;" FAR_COMPARE_MODELS;
    fit.ridge = NAN;
    assert_int_equal(far_compare_estimate(ctx, few, &opts, &plan), FAR_OK);
    assert_true(plan.seconds > fast);
    assert_int_equal(far_compare_estimate(ctx, many, &opts, &plan), FAR_OK);
    assert_true(plan.train_rows > FAR_COMPARE_SEEDS_ROWS);
    assert_int_equal(plan.seeds, 1);
    assert_true(plan.each.bytes > 4.0 * (double)plan.train_rows * (double)plan.train_rows);
    far_frame_destroy(few);
    far_frame_destroy(many);
}

static void what_is_not_there_is_nothing(void **state)
{
    (void)state;
    far_frame *frame = table(37, wave);
    set_opts("mean");
    far_comparison *c = compare(frame);
    assert_null(far_comparison_row(c, -1));
    assert_null(far_comparison_row(c, 1));
    far_comparison_destroy(c);
    far_frame_destroy(frame);
}

/* ---- trouble ---- */

static void cancelling_ends_it(void **state)
{
    (void)state;
    far_frame *frame = table(29, wave);
    for (int64_t at = 0;; at++) {
        far_comparison *c = (far_comparison *)&opts;
        set_opts("mean;ln-first;linear");
        ear = (listener){.stop_at = at + 1};
        far_status st = far_comparison_create(ctx, frame, &opts, &c);
        if (ear.calls <= at) { /* it did not get that far */
            assert_int_equal(st, FAR_OK);
            far_comparison_destroy(c);
            assert_true(at > 6);
            break;
        }
        assert_int_equal(st, FAR_ERR_CANCELLED);
        assert_null(c);
    }
    ear.stop_at = 0;
    far_frame_destroy(frame);
}

/* What fails inside a model is that model's; what fails elsewhere ends the comparison. */
static bool ran_out_of_memory(const far_comparison *c)
{
    far_comparison_info info = far_comparison_describe(c);
    for (int64_t i = 0; i < info.models * info.seeds; i++) {
        const far_compare_run *r = &far_comparison_row(c, i / info.seeds)->runs[i % info.seeds];
        if (r->status == FAR_ERR_MEMORY) {
            assert_non_null(r->message);
            return true;
        }
        assert_int_equal(r->status, FAR_OK);
    }
    return false;
}

/* Each of the first ones, then ever fewer: fits repeat themselves. */
static void fail_allocations(const far_frame *frame)
{
    far_comparison_destroy(compare(frame)); /* what is measured once is measured now */
    int64_t before = test_heap.live_blocks, k = 0;
    for (bool failed = true; failed; k += k < 200 ? 1 : k / 20) {
        far_comparison *c = (far_comparison *)&opts;
        test_heap.calls = 0;
        test_heap.fail_at = k;
        far_status st = far_comparison_create(ctx, frame, &opts, &c);
        failed = test_heap.calls > k;
        test_heap.fail_at = -1;
        if (st == FAR_OK) {
            assert_int_equal(ran_out_of_memory(c), failed);
            far_comparison_destroy(c);
        } else {
            assert_int_equal(st, FAR_ERR_MEMORY);
            assert_null(c);
        }
        assert_int_equal(test_heap.live_blocks, before);
    }
    assert_true(k > 40);
}

static void fail_each_allocation(const char *models, bool certify)
{
    far_frame *frame = table(19, wave);
    set_opts(models);
    opts.certify = certify;
    opts.epochs = 1;
    fail_allocations(frame);
    far_frame_destroy(frame);
}

static void every_allocation_of_folds_may_fail(void **state)
{
    (void)state;
    unsigned char rows[40];
    far_frame *frame = classes_table(rows);
    set_opts("linear;mean");
    opts.shift = NULL;
    opts.folds = 2;
    fail_allocations(frame);
    far_frame_destroy(frame);
    opts.folds = 0;
    opts.fold_column = "b";
    frame = table_of("a,b,y\n0,p,1\n1,p,2\n2,q,4\n3,q,3\n4,p,7\n5,q,1\n");
    fail_allocations(frame);
    far_frame_destroy(frame);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    fail_each_allocation("mean;ln-first;linear", false);
}

static void every_allocation_of_a_training_may_fail(void **state)
{
    (void)state;
    fail_each_allocation("net:dense(2) relu dense;mean", false);
}

static void every_allocation_of_a_verdict_may_fail(void **state)
{
    (void)state;
    fail_each_allocation("linear;mean", true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rows_are_split_as_promised),
        TEST(rows_left_out_count_nowhere),
        TEST(scores_are_those_of_the_predictions),
        TEST(rows_of_the_table_sum_up_their_runs),
        TEST(a_network_is_the_fit_of_its_training_rows),
        TEST(a_plane_is_found_out_of_range),
        TEST(the_mean_is_that_of_the_training_rows),
        TEST(norms_are_bounded_and_nothing_else),
        TEST(a_plane_runs_away_along_its_steepest_input),
        TEST(a_constant_runs_nowhere),
        TEST(the_smallest_slope_runs_away),
        TEST(trees_are_those_of_the_baseline),
        TEST(a_finite_network_is_trained_on_the_training_rows),
        TEST(files_are_taken_as_they_are),
        TEST(absent_trees_are_a_row_with_the_reason),
        TEST(auto_chooses_on_the_training_rows),
        TEST(a_model_that_fails_does_not_stop_the_others),
        TEST(seeds_that_fail_leave_the_others),
        TEST(a_certificate_that_fails_leaves_the_scores),
        TEST(every_fit_is_told_of),
        TEST(seeds_repeat_and_threads_do_not_matter),
        TEST(models_are_names_or_networks),
        TEST(bad_models_are_refused),
        TEST(options_out_of_range_are_refused),
        TEST(shifts_that_split_nothing_are_refused),
        TEST(tables_that_cannot_be_are_refused),
        TEST(folds_that_cannot_be_are_refused),
        TEST(classes_are_in_every_fold_alike),
        TEST(every_allocation_of_folds_may_fail),
        TEST(no_row_at_all_is_refused),
        TEST(gaps_and_new_words_can_be_filled),
        TEST(r2_of_one_row_is_undefined),
        TEST(r2_of_a_constant_truth_is_undefined),
        TEST(student_is_the_tables),
        TEST(averages_have_intervals_from_two_values_on),
        TEST(seeds_are_five_or_one),
        TEST(what_is_not_there_is_nothing),
        TEST(cancelling_ends_it),
        TEST(every_allocation_may_fail),
        TEST(every_allocation_of_a_training_may_fail),
        TEST(every_allocation_of_a_verdict_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
