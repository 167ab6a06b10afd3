/* Second copies of number columns as ranks: what they are, and that predictions, gradients, limits,
 * certificates and files go through them. */
#define _GNU_SOURCE
#include "harness.h"

#include "../../src/regress/model_file.h"
#include "predictors.h"

#include <math.h>

enum { MANY = 53, MOST_INPUTS = 2 * 66 };

/* a has a heavy tail and ties, b is plain; y is a step in the rank of a. */
static far_frame *heavy(uint64_t seed, bool ranks_too)
{
    static const char *const names[] = {"a", "b", "y", "ra", "rb"};
    double values[MANY * 5], sorted[2][MANY];
    uint64_t at = 0;
    int cols = ranks_too ? 5 : 3;
    for (int i = 0; i < MANY; i++) {
        double *row = values + cols * i, z = far_random_normal(seed, at++);
        row[0] = i % 6 == 0 ? 1 : exp(2.5 * z);
        row[1] = far_random_normal(seed, at++);
        row[2] = tanh(3 * z) + 0.3 * row[1];
        sorted[0][i] = row[0];
        sorted[1][i] = row[1];
    }
    for (int i = 0; ranks_too && i < MANY; i++) { /* the middle of those that are equal */
        for (int j = 0; j < 2; j++) {
            double below = 0, same = 0, v = values[cols * i + j];
            for (int k = 0; k < MANY; k++) {
                below += sorted[j][k] < v;
                same += sorted[j][k] == v;
            }
            values[cols * i + 3 + j] = sqrt(3) * ((2 * below + same) / MANY - 1);
        }
    }
    far_frame *frame;
    far_mat m = far_mat_view(values, MANY, cols, FAR_F64);
    must(far_frame_from_mat(ctx, &m, names, &frame));
    return frame;
}

static far_fit_opts options(const char *arch)
{
    far_fit_opts o;
    far_fit_opts_init(&o);
    o.target = "y";
    o.arch = arch;
    o.ridge = 1e-2;
    o.metric = FAR_METRIC_NONE;
    o.ranks = FAR_RANKS_ALL;
    o.memory = 1e9;
    return o;
}

static far_predictor *fit(const far_frame *frame, far_fit_opts o)
{
    far_predictor *p;
    must(far_predictor_fit(ctx, frame, &o, &p));
    return p;
}

static const char NORM[] = "dense(b=0.3) ln relu dense(b=0.3)";

static double value_at(const far_predictor *p, double a, double b)
{
    double x[MOST_INPUTS] = {a}, f;
    far_columns_info c = far_columns_describe(far_predictor_columns(p));
    x[far_columns_feature(far_predictor_columns(p), 1).first] = b;
    far_columns_set_ranks(far_predictor_columns(p), x);
    far_mat in = far_mat_view(x, 1, c.inputs, FAR_F64), out = far_mat_view(&f, 1, 1, FAR_F64);
    must(far_predictor_eval(ctx, p, &in, &out));
    return f;
}

/* ---- what they are ---- */

static void ranks_rise_between_values_and_stand_beyond(void **state)
{
    (void)state;
    double values[2000];
    for (int i = 0; i < 2000; i++) {
        values[i] = i < 3 ? 7 : 10 + i;
    }
    const char *names[] = {"a"};
    far_frame *frame;
    far_mat m = far_mat_view(values, 2000, 1, FAR_F64);
    must(far_frame_from_mat(ctx, &m, names, &frame));
    far_columns_opts o;
    far_columns *c;
    far_columns_opts_init(&o);
    o.ranks = 1;
    must(far_columns_learn(ctx, frame, &o, &c));
    const far_feature *f = &c->features[0];
    assert_true(far_columns_feature(c, 0).ranked && far_columns_feature(c, 0).width == 2);
    assert_string_equal(far_columns_describe(c).input_names[1], "rank(a)");
    assert_true(f->knots > 200 && f->knots < 260);
    assert_near(far_feature_rank(f, 7), sqrt(3) * (3.0 / 2000 - 1), 1e-14);
    assert_near(far_feature_rank(f, 2009), sqrt(3) * (3999.0 / 2000 - 1), 1e-14);
    assert_true(far_feature_rank(f, -1e300) == far_feature_rank(f, 7));
    assert_true(far_feature_rank(f, INFINITY) == far_feature_rank(f, 2009));
    double before = -2;
    for (int i = 3; i < 2000; i++) { /* every value near its own, those between rise too */
        double at = far_feature_rank(f, values[i]), middle = far_feature_rank(f, values[i] - 0.5);
        assert_near(at, sqrt(3) * ((2.0 * i + 1) / 2000 - 1), 0.02);
        assert_true(middle > before && at > middle);
        before = at;
    }
    double point[] = {100, 0}, away[] = {1, 0}, rising[] = {0, 1};
    assert_false(far_columns_is_row(c, point, 0));
    far_columns_set_ranks(c, point);
    assert_true(far_columns_is_row(c, point, 0));
    assert_true(far_columns_is_row(c, away, 1));
    assert_false(far_columns_is_row(c, rising, 1));
    far_columns_destroy(c);
    o.arch = "image(1x40x50) flatten dense";
    refused(far_columns_learn(ctx, frame, &o, &c), FAR_ERR_ARG, "have no ranks");
    far_frame_destroy(frame);
}

/* Numbers next to 0 and as far apart as numbers can be. */
static void ranks_of_extreme_numbers(void **state)
{
    (void)state;
    double knots[][3] = {{5e-324, 1e-323, 1.5e-323}, {-1.7e308, 0, 1.7e308}, {1, 2, 3}};
    double rank[] = {-1, 0, 1};
    for (int k = 0; k < COUNT(knots); k++) {
        far_feature f = {.knots = 3, .knot = knots[k], .rank = rank};
        for (int i = 0; i < 3; i++) {
            assert_true(far_feature_rank(&f, knots[k][i]) == rank[i]);
        }
        assert_true(far_feature_rank(&f, knots[k][1] / 2 + knots[k][2] / 2) >= 0);
    }
}

/* Steps add up to the rank; each has rows on either side, and all together weigh as much as the
 * number. */
static void steps_are_parts_of_the_rank(void **state)
{
    (void)state;
    far_frame *frame = heavy(1, false);
    far_columns_opts o = columns();
    far_examples *e;
    o.ranks = 2;
    must(far_examples_learn(ctx, frame, &o, &e));
    const far_columns *c = e->columns;
    const far_feature *f = &c->features[0];
    double point[MOST_INPUTS] = {0}, spread[2] = {0};
    assert_true(f->steps > 20 && f->width == 1 + f->steps && far_columns_feature(c, 0).ranked);
    assert_string_equal(far_columns_describe(c).input_names[2], "step2(a)");
    for (double a = -1; a < 40; a += 0.37) {
        double sum = f->edge[0];
        point[0] = a;
        far_columns_set_ranks(c, point);
        for (int64_t l = 0; l < f->steps; l++) {
            assert_true(point[1 + l] >= 0 && point[1 + l] <= 1);
            sum += point[1 + l] * (f->edge[l + 1] - f->edge[l]);
        }
        assert_near(sum, far_feature_rank(f, a), 1e-13);
        assert_true(far_columns_is_row(c, point, 0));
        point[2] = 0.5 - 0.25 * point[2];
        assert_false(far_columns_is_row(c, point, 0));
    }
    for (int64_t i = 0; i < MANY; i++) {
        const double *x = (const double *)e->inputs.data + i * e->inputs.ld;
        for (int64_t l = 0; l < f->width; l++) {
            spread[l > 0] += x[l] * x[l] / MANY;
        }
    }
    assert_near(spread[0], (double)c->info.inputs / 4, 1e-9 * spread[0]);
    assert_near(spread[1], spread[0], 1e-9 * spread[0]);
    far_examples_destroy(e);
    far_frame_destroy(frame);
}

/* Far out they stand still: limits of a network with a norm are where rows go. */
static void limits_are_those_of_steps(void **state)
{
    (void)state;
    far_frame *frame = heavy(3, false);
    far_fit_opts o = options(NORM);
    o.ranks = FAR_RANKS_STEPS;
    far_predictor *p = fit(frame, o);
    int64_t d = far_predictor_describe(p).inputs;
    for (int way = -1; way <= 1; way += 2) {
        double u[MOST_INPUTS] = {way}, v, order;
        far_mat in = far_mat_view(u, 1, d, FAR_F64), value = far_mat_view(&v, 1, 1, FAR_F64);
        far_mat power = far_mat_view(&order, 1, 1, FAR_F64);
        must(far_predictor_limit(ctx, p, &in, &value, &power));
        assert_near(v, value_at(p, way * 1e9, 0), 1e-5);
    }
    far_predictor_destroy(p);
    far_frame_destroy(frame);
}

static void forged_steps_are_refused(void **state)
{
    (void)state;
    static const char *const edits[] = {"\"edges\":[2.5,", "\"edges\":[],\"was\":[",
                                        "\"edges\":[null,", "\"edges\":[1.9,"};
    far_frame *frame = heavy(4, false);
    far_columns_opts o = columns();
    far_columns *c, *again;
    char *text;
    o.ranks = 2;
    must(far_columns_learn(ctx, frame, &o, &c));
    must(far_columns_write(ctx, c, &text));
    must(far_columns_read(ctx, text, &again));
    assert_int_equal(again->info.inputs, c->info.inputs);
    assert_memory_equal(again->features[1].edge, c->features[1].edge,
                        (size_t)(c->features[1].steps + 1) * sizeof(double));
    far_columns_destroy(again);
    char *version = strstr(text, "\"version\":3");
    version[strlen("\"version\":")] = '2';
    refused(far_columns_read(ctx, text, &again), FAR_ERR_FORMAT,
            "\"version\" is 2, but ranks in steps came with version 3");
    version[strlen("\"version\":")] = '3';
    for (int i = 0; i < COUNT(edits); i++) {
        char *at = strstr(text, "\"edges\":["), *forged;
        assert_true(asprintf(&forged, "%.*s%s%s", (int)(at - text), text, edits[i], at + 9) > 0);
        assert_int_equal(far_columns_read(ctx, forged, &again), FAR_ERR_FORMAT);
        free(forged);
    }
    far_text_free(ctx, text);
    far_columns_destroy(c);
    far_frame_destroy(frame);
}

/* The same as columns of ranks that someone has computed. */
static void a_model_sees_them_as_columns(void **state)
{
    (void)state;
    static const char *const archs[] = {"dense(b=0.3) ln relu dense(b=0.3)",
                                        "dense(b=0.1) erf dense(b=0.1)"};
    far_frame *frame = heavy(1, false), *wide = heavy(1, true);
    for (int a = 0; a < COUNT(archs); a++) {
        far_fit_opts o = options(archs[a]), plain = o;
        plain.ranks = FAR_RANKS_NONE;
        far_predictor *p = fit(frame, o), *q = fit(wide, plain);
        far_predict_opts how;
        far_prediction *one, *two;
        far_predict_opts_init(&how);
        how.spread = FAR_SPREAD_CALIBRATED;
        must(far_predictor_predict(ctx, p, frame, &how, &one));
        must(far_predictor_predict(ctx, q, wide, &how, &two));
        for (int i = 0; i < MANY; i++) {
            assert_near(((double *)one->mean.data)[i], ((double *)two->mean.data)[i], 1e-10);
            assert_near(((double *)one->std.data)[i], ((double *)two->std.data)[i], 1e-10);
        }
        far_prediction_destroy(one);
        far_prediction_destroy(two);
        far_predictor_destroy(p);
        far_predictor_destroy(q);
    }
    far_frame_destroy(frame);
    far_frame_destroy(wide);
}

/* df/da of a row is that by a and that by its rank, times the slope of the rank there. */
static void gradients_add_up(void **state)
{
    (void)state;
    far_frame *frame = heavy(2, false);
    far_predictor *p = fit(frame, options(NORM));
    const far_feature *f = &far_predictor_columns(p)->features[0];
    for (int k = 1; k < f->knots; k += 5) {
        double a = 0.6 * f->knot[k] + 0.4 * f->knot[k - 1],
               h = 1e-5 * (f->knot[k] - f->knot[k - 1]);
        double x[4] = {a, far_feature_rank(f, a), 0.2, 0}, g[4];
        far_columns_set_ranks(far_predictor_columns(p), x);
        far_mat in = far_mat_view(x, 1, 4, FAR_F64), out = far_mat_view(g, 1, 4, FAR_F64);
        must(far_model_gradient(ctx, p, &in, &out));
        double rise = (f->rank[k] - f->rank[k - 1]) / (f->knot[k] - f->knot[k - 1]);
        double slope = (value_at(p, a + h, 0.2) - value_at(p, a - h, 0.2)) / (2 * h);
        assert_near(g[0] + rise * g[1], slope, 1e-5 * (1 + fabs(slope)));
    }
    far_predictor_destroy(p);
    far_frame_destroy(frame);
}

/* ---- far away ---- */

static void limits_are_where_rows_go(void **state)
{
    (void)state;
    double map[] = {0, 1.2, 1, 0.7}; /* a counts by its rank alone */
    far_metric s = {FAR_METRIC_DIAGONAL, 4, map};
    far_frame *frame = heavy(3, false);
    for (int mapped = 0; mapped < 2; mapped++) {
        far_fit_opts o = options(NORM);
        far_model *m;
        far_predictor *p;
        must(far_model_fit_behind(ctx, frame, &o, mapped ? &s : NULL, &m));
        must(far_predictor_own(ctx, &far_infinite_ops, FAR_OK, m, &p));
        for (int way = -1; way <= 1; way += 2) {
            double u[4] = {way, 0, 0, 0}, v, order;
            far_mat in = far_mat_view(u, 1, 4, FAR_F64), value = far_mat_view(&v, 1, 1, FAR_F64);
            far_mat power = far_mat_view(&order, 1, 1, FAR_F64);
            must(far_predictor_limit(ctx, p, &in, &value, &power));
            assert_true(order == 0);
            assert_near(v, value_at(p, way * 1e9, 0), mapped ? 1e-12 : 1e-5);
        }
        far_predictor_destroy(p);
    }
    far_frame_destroy(frame);
}

/* Random fits with ranks, a metric and a committee: rows near and far, their ranks as they are or
 * anything else, are within the bound; what the certificate met is a row; forged ones are refused.
 */
static void no_row_is_above_its_bound(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 5; seed++) {
        far_frame *frame = heavy(10 + seed, false);
        far_fit_opts o = options(seed % 2 ? "dense ln gelu dense" : NORM);
        o.metric = seed < 2 ? FAR_METRIC_DIAGONAL : FAR_METRIC_FULL;
        o.committee = 1 + (int64_t)seed % 3;
        o.ranks = seed == 4 ? FAR_RANKS_STEPS : FAR_RANKS_ALL;
        o.features = seed == 4 ? "b" : NULL;
        o.metric = seed == 4 ? FAR_METRIC_NONE : o.metric;
        far_predictor *p = fit(frame, o);
        uint64_t d = (uint64_t)far_predictor_describe(p).inputs;
        far_certify_opts how;
        far_certificate *c;
        char *json;
        far_certify_opts_init(&how);
        how.seconds = 0.3;
        must(far_predictor_certify(ctx, p, &how, &c));
        const far_bound *b = far_certificate_bound(c, 0);
        assert_int_equal(b->verdict, FAR_BOUNDED);
        assert_true(!b->at || far_columns_is_row(far_predictor_columns(p), b->at, b->at_infinity));
        for (uint64_t i = 0; i < 1500; i++) {
            double x[MOST_INPUTS], f, size = pow(10, (double)(i % 8) - 1);
            for (uint64_t j = 0; j < d; j++) {
                x[j] = size * far_random_normal(seed, d * i + j);
            }
            if (i % 2) {
                far_columns_set_ranks(far_predictor_columns(p), x);
            }
            far_mat in = far_mat_view(x, 1, (int64_t)d, FAR_F64);
            far_mat out = far_mat_view(&f, 1, 1, FAR_F64);
            must(far_predictor_eval(ctx, p, &in, &out));
            assert_true(f >= b->lowest && f <= b->highest);
        }
        must(far_certificate_json(ctx, c, &json));
        must(far_certificate_check(ctx, p, json));
        char *forged = strdup(json), *digits = strstr(forged, "\"highest\": ");
        digits[11] = digits[11] == '1' ? '2' : '1';
        assert_int_not_equal(far_certificate_check(ctx, p, forged), FAR_OK);
        free(forged);
        far_text_free(ctx, json);
        far_certificate_destroy(c);
        far_predictor_destroy(p);
        far_frame_destroy(frame);
    }
}

/* No row takes a rank to infinity: what runs away does so along numbers, with the ranks that the
 * rows there have. */
static void what_runs_away_is_rows(void **state)
{
    (void)state;
    far_frame *frame = heavy(31, false);
    far_predictor *p = fit(frame, options("dense relu dense"));
    const far_columns *columns = far_predictor_columns(p);
    far_certify_opts how;
    far_certificate *c;
    char *json;
    far_certify_opts_init(&how);
    how.seconds = 0.3;
    how.exceeds = 50;
    must(far_predictor_certify(ctx, p, &how, &c));
    const far_bound *b = far_certificate_bound(c, 0);
    assert_int_equal(b->verdict, FAR_UNBOUNDED);
    assert_true(far_columns_is_row(columns, b->direction, 1));
    assert_true(b->direction[1] == 0 && b->direction[3] == 0);
    double t = 1e6, line = b->slope * t + b->intercept;
    double u = b->direction[0], v = b->direction[2];
    assert_near(value_at(p, t * u, t * v), line, 1e-3);
    assert_near(fabs(value_at(p, b->beyond * u, b->beyond * v)), 50, 1e-6);
    must(far_certificate_json(ctx, c, &json));
    must(far_certificate_check(ctx, p, json));
    far_text_free(ctx, json);
    far_certificate_destroy(c);
    far_predictor_destroy(p);
    far_frame_destroy(frame);
}

/* A committee has one table of ranks: members with others would be asked for other points. */
static void a_committee_has_the_same_ranks(void **state)
{
    (void)state;
    far_frame *frames[] = {heavy(3, false), heavy(4, false)};
    far_predictor *p[] = {fit(frames[0], options(NORM)), fit(frames[1], options(NORM))}, *both;
    refused(far_predictor_committee(ctx, p, 2, &both), FAR_ERR_SHAPE, "other ranks");
    for (int i = 0; i < 2; i++) {
        far_predictor_destroy(p[i]);
        far_frame_destroy(frames[i]);
    }
}

/* ---- files ---- */

static void columns_are_kept_and_checked(void **state)
{
    (void)state;
    static const char *const edits[][2] = {
        {"\"knots\":[", "\"knots\":[9e9,"},   {"\"ranks\":[", "\"ranks\":[2.5,"},
        {"\"ranks\":[", "\"ranks\":[-1,-1,"}, {"\"knots\":[", "\"knots\":[],\"was\":["},
        {"\"knots\":[", "\"knots\":[null,"},  {"\"version\":2", "\"version\":4"},
        {"\"version\":2", "\"version\":1"},
    };
    far_frame *frame = heavy(4, false);
    far_columns_opts o = columns();
    far_columns *c, *again;
    char *text;
    o.ranks = 1;
    must(far_columns_learn(ctx, frame, &o, &c));
    must(far_columns_write(ctx, c, &text));
    must(far_columns_read(ctx, text, &again));
    for (int k = 0; k < 2; k++) {
        const far_feature *f = &c->features[k], *g = &again->features[k];
        assert_int_equal(f->knots, g->knots);
        assert_memory_equal(f->knot, g->knot, (size_t)f->knots * sizeof *f->knot);
        assert_memory_equal(f->rank, g->rank, (size_t)f->knots * sizeof *f->rank);
    }
    far_columns_destroy(again);
    for (int i = 0; i < COUNT(edits); i++) {
        char *at = strstr(text, edits[i][0]), *forged;
        assert_non_null(at);
        assert_true(asprintf(&forged, "%.*s%s%s", (int)(at - text), text, edits[i][1],
                             at + strlen(edits[i][0])) > 0);
        assert_int_equal(far_columns_read(ctx, forged, &again), FAR_ERR_FORMAT);
        free(forged);
    }
    far_text_free(ctx, text);
    far_columns_destroy(c);
    far_frame_destroy(frame);
}

static void a_file_keeps_them(void **state)
{
    (void)state;
    far_frame *frame = heavy(5, false);
    far_fit_opts o = options(NORM);
    o.metric = FAR_METRIC_DIAGONAL;
    o.ranks = FAR_RANKS_STEPS;
    far_predictor *p = fit(frame, o), *again;
    must(far_predictor_save(ctx, p, "r.far"));
    must(far_predictor_load(ctx, "r.far", NULL, &again));
    for (int i = 0; i < 20; i++) {
        assert_true(value_at(p, i - 5, 1) == value_at(again, i - 5, 1));
    }
    far_predictor_destroy(p);
    far_predictor_destroy(again);
    unlink("r.far");
    far_frame_destroy(frame);
}

/* Reads the manifest of a model again under another version. */
static far_status read_as_version(const char *manifest, char digit)
{
    far_model *m;
    char *text = strdup(manifest);
    far_input in = {.ctx = ctx, .data = (unsigned char *)text, .size = (int64_t)strlen(text)};
    snprintf(in.label, sizeof in.label, "r.far");
    strstr(text, "\"version\": ")[strlen("\"version\": ")] = digit;
    must(far_model_new(ctx, &m));
    m->info.sealed = 1;
    far_status st = far_manifest_read(&in, m);
    far_model_destroy(m);
    free(text);
    return st;
}

static void a_file_that_hides_its_version_is_refused(void **state)
{
    (void)state;
    static const struct {
        far_metric_kind metric;
        far_ranks ranks;
        char version;
        const char *message;
    } kinds[] = {
        {FAR_METRIC_NONE, FAR_RANKS_NONE, '2', NULL},
        {FAR_METRIC_DIAGONAL, FAR_RANKS_NONE, '3', "but a metric came with version 3; fit again"},
        {FAR_METRIC_NONE, FAR_RANKS_ALL, '4', "but ranks came with version 4; fit again"},
        {FAR_METRIC_DIAGONAL, FAR_RANKS_STEPS, '5', "but ranks in steps came with version 5"},
    };
    far_frame *frame = heavy(5, false);
    for (int i = 0; i < COUNT(kinds); i++) {
        far_fit_opts o = options(NORM);
        far_text manifest = {.ctx = ctx};
        far_model *m;
        o.metric = kinds[i].metric;
        o.ranks = kinds[i].ranks;
        far_predictor *p = fit(frame, o);
        must(far_predictor_save(ctx, p, "r.far"));
        must(far_model_load(ctx, "r.far", &m));
        must(far_manifest_write(m, &manifest));
        for (char version = '1'; version <= '5'; version++) {
            far_status st = read_as_version(manifest.data, version);
            if (version >= kinds[i].version || !kinds[i].message) {
                must(st);
            } else {
                refused(st, FAR_ERR_FORMAT, kinds[i].message);
            }
        }
        far_free(ctx, manifest.data);
        far_model_destroy(m);
        far_predictor_destroy(p);
        unlink("r.far");
    }
    far_frame_destroy(frame);
}

/* ---- by themselves ---- */

/* Auto is for networks that are chosen (test_select.c has those). */
static void auto_is_none_for_a_network_that_is_given(void **state)
{
    (void)state;
    far_frame *frame = heavy(6, false);
    far_fit_opts o = options(NORM);
    o.ranks = FAR_RANKS_AUTO;
    far_predictor *p = fit(frame, o);
    assert_int_equal(far_predictor_describe(p).inputs, 2);
    far_predictor_destroy(p);
    o.ranks = (far_ranks)4;
    p = NULL;
    refused(far_predictor_fit(ctx, frame, &o, &p), FAR_ERR_ARG, "ranks");
    far_frame_destroy(frame);
}

/* Partial dependence moves a number and its rank together. */
static void dependence_is_that_of_rows(void **state)
{
    (void)state;
    far_frame *frame = heavy(7, false);
    far_predictor *p = fit(frame, options(NORM));
    double x[] = {2, 0, -0.4, 0}, values[] = {0.5, 30}, f[2];
    far_columns_set_ranks(far_predictor_columns(p), x);
    far_mat in = far_mat_view(x, 1, 4, FAR_F64), out = far_mat_view(f, 2, 1, FAR_F64);
    must(far_predictor_dependence(ctx, p, &in, 0, values, 2, &out));
    assert_near(f[0], value_at(p, 0.5, -0.4), 1e-12);
    assert_near(f[1], value_at(p, 30, -0.4), 1e-12);
    far_predictor_destroy(p);
    far_frame_destroy(frame);
}

static far_frame *shared;
static const char *shared_text;

static far_status learn_them(void)
{
    far_columns_opts o = columns();
    far_columns *c = NULL, *copy = NULL;
    char *text = NULL;
    o.ranks = 2;
    far_status st = far_columns_learn(ctx, shared, &o, &c);
    st = st == FAR_OK ? far_columns_copy(ctx, c, &copy) : st;
    st = st == FAR_OK ? far_columns_write(ctx, copy, &text) : st;
    far_columns_destroy(c);
    far_columns_destroy(copy);
    far_free(ctx, text);
    return st;
}

static far_status read_them(void)
{
    far_columns *c = NULL;
    far_status st = far_columns_read(ctx, shared_text, &c);
    far_columns_destroy(c);
    return st;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    shared = heavy(8, false);
    fail_every_allocation(learn_them);
    far_columns_opts o = columns();
    far_columns *c;
    char *text;
    o.ranks = 2;
    must(far_columns_learn(ctx, shared, &o, &c));
    must(far_columns_write(ctx, c, &text));
    shared_text = text;
    fail_every_allocation(read_them);
    far_text_free(ctx, text);
    far_columns_destroy(c);
    far_frame_destroy(shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(ranks_rise_between_values_and_stand_beyond),
        TEST(ranks_of_extreme_numbers),
        TEST(steps_are_parts_of_the_rank),
        TEST(limits_are_those_of_steps),
        TEST(forged_steps_are_refused),
        TEST(a_model_sees_them_as_columns),
        TEST(gradients_add_up),
        TEST(limits_are_where_rows_go),
        TEST(no_row_is_above_its_bound),
        TEST(what_runs_away_is_rows),
        TEST(a_committee_has_the_same_ranks),
        TEST(columns_are_kept_and_checked),
        TEST(a_file_keeps_them),
        TEST(a_file_that_hides_its_version_is_refused),
        TEST(auto_is_none_for_a_network_that_is_given),
        TEST(dependence_is_that_of_rows),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
