/* Committees that are fitted as one: their members are what the folds chose, their mean, scores,
 * intervals, limits and bounds are those of the members together. */
#include "harness.h"

#include "predictors.h"

enum { MANY = 40 };

/* c says nothing, so that a metric and none differ; d is noise in the target. */
static far_frame *noisy(bool classes)
{
    static const char *const names[] = {"a", "b", "c", "y"};
    double values[MANY * 4];
    uint64_t at = 0;
    for (int64_t i = 0; i < MANY; i++) {
        double *row = values + 4 * i;
        for (int j = 0; j < 3; j++) {
            row[j] = far_random_normal(3, at++);
        }
        double y = sin(2 * row[0]) + row[1] + 0.1 * far_random_normal(3, at++);
        row[3] = classes ? y > 0 : 100 * y + 7;
    }
    far_frame *frame;
    far_mat m = far_mat_view(values, MANY, 4, FAR_F64);
    must(far_frame_from_mat(ctx, &m, names, &frame));
    return frame;
}

static far_fit_opts options(int64_t committee)
{
    far_fit_opts o;
    far_fit_opts_init(&o);
    o.target = "y";
    o.arch = "dense ln relu dense";
    o.metric = FAR_METRIC_DIAGONAL;
    o.committee = committee;
    o.memory = 1e9;
    return o;
}

static far_predictor *fit(const far_frame *frame, int64_t committee, far_task task)
{
    far_predictor *p;
    far_fit_opts o = options(committee);
    o.task = task;
    must(far_predictor_fit(ctx, frame, &o, &p));
    return p;
}

/* Three members for regression: fitted once, since fits are what takes the time here, then read. */
static far_predictor *three(const far_frame *frame)
{
    far_predictor *p;
    if (access("three.far", R_OK) == 0) {
        must(far_predictor_load(ctx, "three.far", NULL, &p));
        return p;
    }
    p = fit(frame, 3, FAR_TASK_REGRESS);
    must(far_predictor_save(ctx, p, "three.far"));
    return p;
}

static int leave(void **state)
{
    unlink("three.far");
    return leave_folder(state);
}

static far_prediction *ask(const far_predictor *p, const far_frame *frame, far_predict_opts o)
{
    far_prediction *out;
    must(far_predictor_predict(ctx, p, frame, &o, &out));
    return out;
}

static far_predict_opts asking(far_spread spread, double time)
{
    far_predict_opts o;
    far_predict_opts_init(&o);
    o.spread = spread;
    o.time = time;
    return o;
}

static void a_committee_is_the_mean_of_what_was_chosen(void **state)
{
    (void)state;
    static const double times[] = {INFINITY, 3.0};
    far_frame *frame = noisy(false);
    far_predictor *p = three(frame);
    far_committee_info info = far_predictor_committee_describe(p);
    assert_true(info.members >= 2 && info.members <= 3);
    assert_int_equal(info.loo_rows, MANY);
    assert_int_equal(far_predictor_describe(p).kind, FAR_PREDICTOR_COMMITTEE);
    assert_null(far_predictor_member(p, info.members));
    assert_null(far_predictor_member(p, -1));
    assert_null(far_predictor_member(far_predictor_member(p, 0), 0));
    assert_int_equal(far_predictor_committee_describe(far_predictor_member(p, 0)).members, 0);
    double width = *(const double *)info.width.data;
    for (int t = 0; t < COUNT(times); t++) {
        far_spread spread = t == 0 ? FAR_SPREAD_CALIBRATED : FAR_SPREAD_NONE;
        far_prediction *all = ask(p, frame, asking(spread, times[t]));
        double mean[MANY] = {0}, std[MANY] = {0};
        for (int64_t m = 0; m < info.members; m++) {
            far_prediction *one = ask(far_predictor_member(p, m), frame, asking(spread, times[t]));
            for (int i = 0; i < MANY; i++) {
                mean[i] += ((double *)one->mean.data)[i] / (double)info.members;
                std[i] += t ? 0 : ((double *)one->std.data)[i] / (double)info.members;
            }
            far_prediction_destroy(one);
        }
        for (int i = 0; i < MANY; i++) {
            assert_near(((double *)all->mean.data)[i], mean[i], 1e-10 * 100);
            if (t == 0) {
                assert_near(((double *)all->std.data)[i], width * std[i], 1e-10 * 100);
            }
        }
        far_prediction_destroy(all);
    }
    far_predictor_destroy(p);
    far_frame_destroy(frame);
}

/* 95% of the rows that were left out lie within 1.96 of the committee's standard deviation, and its
 * scores are those of the mean of what the members say of them. */
static void rows_left_out_score_it(void **state)
{
    (void)state;
    far_frame *frame = noisy(false);
    far_predictor *p = three(frame);
    far_committee_info info = far_predictor_committee_describe(p);
    double square = 0;
    int covered = 0;
    for (int i = 0; i < MANY; i++) {
        double mean = 0, std = 0, y = far_frame_column(frame, 3).numbers[i];
        for (int64_t m = 0; m < info.members; m++) {
            const far_model *model = far_predictor_member(p, m)->self;
            assert_int_equal(model->tested.rows[i], i);
            mean += model->loo[i] / (double)info.members;
            std += model->tested.std[i] / (double)info.members;
        }
        square += (y - mean) * (y - mean) / MANY;
        covered += fabs(y - mean) <=
                   FAR_QUANTILE_975 * std * *(const double *)info.width.data * (1 + 1e-12);
    }
    assert_near(info.loo_rmse, sqrt(square), 1e-9 * 100);
    assert_int_equal(covered, 39); /* the ceil(0.95 (40 + 1))th smallest is on the edge */
    far_predictor_destroy(p);
    far_frame_destroy(frame);
}

/* Landmarks keep none of the rows that were held out: the committee knows them all the same. */
static void landmarks_are_scored_too(void **state)
{
    (void)state;
    far_frame *frame = noisy(false);
    far_fit_opts o = options(2);
    far_predictor *p;
    o.metric = FAR_METRIC_AUTO;
    o.method = FAR_METHOD_NYSTROM;
    o.landmarks = 20;
    must(far_predictor_fit(ctx, frame, &o, &p));
    far_committee_info info = far_predictor_committee_describe(p);
    assert_int_equal(info.members, 2);
    const far_tested *a = &((const far_model *)far_predictor_member(p, 0)->self)->tested;
    const far_tested *b = &((const far_model *)far_predictor_member(p, 1)->self)->tested;
    double square = 0;
    assert_true(info.loo_rows > 0 && info.loo_rows == a->count);
    for (int64_t i = 0; i < a->count; i++) {
        double y = far_frame_column(frame, 3).numbers[a->rows[i]];
        double miss = y - (a->mean[i] + b->mean[i]) / 2;
        assert_int_equal(a->rows[i], b->rows[i]);
        assert_near(a->y[i], y, 1e-11 * 100);
        square += miss * miss / (double)a->count;
    }
    assert_near(info.loo_rmse, sqrt(square), 1e-9 * 100);
    assert_true(((const double *)info.width.data)[0] != 1);
    far_predictor_destroy(p);
    far_frame_destroy(frame);
}

static void auto_takes_members_that_help(void **state)
{
    (void)state;
    far_frame *frame = noisy(false);
    far_predictor *one = fit(frame, 1, FAR_TASK_REGRESS), *any = fit(frame, 0, FAR_TASK_REGRESS);
    assert_non_null(far_predictor_model(one));
    int64_t members = far_predictor_committee_describe(any).members;
    assert_true(members <= 5);
    const far_model_info *first =
        far_predictor_model(members > 0 ? far_predictor_member(any, 0) : any);
    int64_t chosen = 0;
    for (int64_t k = 0; k < first->candidate_count; k++) {
        chosen += first->candidates[k].chosen;
    }
    assert_int_equal(chosen, members > 0 ? members : 1);
    assert_string_equal(first->arch, far_predictor_model(one)->arch); /* it leads */
    assert_true(first->ridge_relative == far_predictor_model(one)->ridge_relative);
    far_predictor_destroy(one);
    far_predictor_destroy(any);
    far_frame_destroy(frame);
}

/* At random points, near and far, |f| is never above the bound; the bound is at most the mean of
 * the members' own. */
static void no_point_is_above_its_bound(void **state)
{
    (void)state;
    far_frame *frame = noisy(false);
    far_predictor *p = three(frame);
    far_certify_opts o;
    far_certificate *c;
    far_certify_opts_init(&o);
    o.seconds = 0.3;
    must(far_predictor_certify(ctx, p, &o, &c));
    const far_bound *b = far_certificate_bound(c, 0);
    assert_int_equal(b->verdict, FAR_BOUNDED);
    double x[3], f;
    far_mat in = far_mat_view(x, 1, 3, FAR_F64), out = far_mat_view(&f, 1, 1, FAR_F64);
    for (uint64_t i = 0; i < 3000; i++) {
        double size = pow(10, (double)(i % 9) - 2);
        for (uint64_t j = 0; j < 3; j++) {
            x[j] = size * far_random_normal(5, 3 * i + j);
        }
        must(far_predictor_eval(ctx, p, &in, &out));
        assert_true(f <= b->highest && f >= b->lowest);
    }
    char *json;
    must(far_certificate_json(ctx, c, &json));
    must(far_predictor_check_within(ctx, p, json, 3)); /* ten times what it was found in */
    char *forged = strdup(json), *digits = strstr(forged, "\"highest\": ");
    assert_non_null(digits);
    digits[11] = digits[11] == '1' ? '2' : '1';
    assert_int_not_equal(far_predictor_check_within(ctx, p, forged, 3), FAR_OK);
    free(forged);
    far_text_free(ctx, json);
    far_certificate_destroy(c);
    far_predictor_destroy(p);
    far_frame_destroy(frame);
}

static void classes_share_probabilities(void **state)
{
    (void)state;
    far_frame *frame = noisy(true);
    far_predictor *p = fit(frame, 3, FAR_TASK_CLASSIFY);
    far_committee_info info = far_predictor_committee_describe(p);
    assert_true(info.members >= 2 && info.loo_accuracy > 0.8 && info.loo_log_loss < 0.6);
    assert_true(isnan(info.loo_r2) && *(const double *)info.width.data == 1);
    far_predict_opts o = asking(FAR_SPREAD_NONE, INFINITY);
    for (int far = 0; far < 2; far++) {
        o.at_infinity = far;
        far_prediction *all = ask(p, frame, o);
        double share[MANY] = {0};
        for (int64_t m = 0; m < info.members; m++) {
            far_prediction *one = ask(far_predictor_member(p, m), frame, o);
            for (int i = 0; i < MANY; i++) {
                share[i] += ((double *)one->probability.data)[2 * i] / (double)info.members;
            }
            far_prediction_destroy(one);
        }
        for (int i = 0; i < MANY; i++) {
            assert_near(((double *)all->probability.data)[2 * i], share[i], 1e-12);
            assert_int_equal(all->classes[i], share[i] < 0.5);
        }
        far_prediction_destroy(all);
    }
    far_predictor_destroy(p);
    far_frame_destroy(frame);
}

static void a_file_keeps_all_of_it(void **state)
{
    (void)state;
    far_frame *frame = noisy(false);
    far_predictor *p = fit(frame, 2, FAR_TASK_REGRESS), *again;
    must(far_predictor_save(ctx, p, "c.far"));
    must(far_predictor_load(ctx, "c.far", NULL, &again));
    far_committee_info a = far_predictor_committee_describe(p),
                       b = far_predictor_committee_describe(again);
    assert_true(a.loo_rmse == b.loo_rmse && a.loo_r2 == b.loo_r2 && isnan(b.loo_accuracy));
    assert_int_equal(a.loo_rows, b.loo_rows);
    far_prediction *one = ask(p, frame, asking(FAR_SPREAD_CALIBRATED, INFINITY));
    far_prediction *two = ask(again, frame, asking(FAR_SPREAD_CALIBRATED, INFINITY));
    assert_memory_equal(one->mean.data, two->mean.data, MANY * sizeof(double));
    assert_memory_equal(one->std.data, two->std.data, MANY * sizeof(double));
    far_prediction_destroy(one);
    far_prediction_destroy(two);
    far_predictor_destroy(again);
    far_predictor_destroy(p);
    unlink("c.far");
    far_frame_destroy(frame);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    far_frame *frame = noisy(false);
    far_predictor *p = NULL;
    far_prediction *told = NULL;
    far_fit_opts o = options(-1);
    refused(far_predictor_fit(ctx, frame, &o, &p), FAR_ERR_ARG, "1 to 16 members");
    o = options(17);
    refused(far_predictor_fit(ctx, frame, &o, &p), FAR_ERR_ARG, "1 to 16 members");
    o = options(2);
    o.criterion = FAR_CRITERION_LIKELIHOOD;
    o.metric = FAR_METRIC_NONE;
    refused(far_predictor_fit(ctx, frame, &o, &p), FAR_ERR_ARG, "`criterion` loo");
    p = fit(frame, 2, FAR_TASK_REGRESS);
    far_predict_opts how = asking(FAR_SPREAD_POSTERIOR, INFINITY);
    refused(far_predictor_predict(ctx, p, frame, &how, &told), FAR_ERR_ARG, "no prior of its own");
    far_predictor *pair[] = {p, line(frame, NAN)}, *mixed;
    refused(far_predictor_committee(ctx, pair, 2, &mixed), FAR_ERR_ARG, "take its members");
    far_predictor_destroy(pair[1]);
    far_predictor_destroy(p);
    far_frame_destroy(frame);
}

static far_frame *shared;

static far_status fit_it(void)
{
    far_predictor *p = NULL;
    far_fit_opts o = options(2);
    o.ridge = 1e-3;
    far_status st = far_predictor_fit(ctx, shared, &o, &p);
    far_predictor_destroy(p);
    return st;
}

/* Every early allocation, then ever fewer, and the last ones, where members are joined. */
static void allocations_may_fail(void **state)
{
    (void)state;
    shared = noisy(false);
    int64_t before = test_heap.calls;
    must(fit_it());
    int64_t needed = test_heap.calls - before, live = test_heap.live_blocks;
    for (int64_t i = 0; i < needed; i += i < 30 ? 1 : 1 + i / 4) {
        test_heap.fail_at = test_heap.calls + i;
        assert_int_equal(fit_it(), FAR_ERR_MEMORY);
        test_heap.fail_at = -1;
        assert_int_equal(test_heap.live_blocks, live);
    }
    for (int64_t back = 7; back < 140; back += 7) {
        test_heap.fail_at = test_heap.calls + needed - back;
        assert_int_equal(fit_it(), FAR_ERR_MEMORY);
        test_heap.fail_at = -1;
        assert_int_equal(test_heap.live_blocks, live);
    }
    far_frame_destroy(shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rows_left_out_score_it), /* first: files do not keep what it looks at */
        TEST(a_committee_is_the_mean_of_what_was_chosen),
        TEST(landmarks_are_scored_too),
        TEST(auto_takes_members_that_help),
        TEST(no_point_is_above_its_bound),
        TEST(classes_share_probabilities),
        TEST(a_file_keeps_all_of_it),
        TEST(what_cannot_be_is_refused),
        TEST(allocations_may_fail),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave);
}
