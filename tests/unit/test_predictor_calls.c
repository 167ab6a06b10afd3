/* Predictors: limits by rows of a table, models and networks that are borrowed, arguments that are
 * refused by name, and every call with its allocations failing in turn. */
#include "../../src/predictor/predictor_internal.h"

#include "harness.h"

enum { ROWS = 17, INPUTS = 2 };

static far_frame *table(void)
{
    static const char *const names[] = {"a", "b", "y"};
    double values[ROWS * 3];
    for (int i = 0; i < ROWS; i++) {
        double *row = values + 3 * i;
        row[0] = sin(i + 1.0);
        row[1] = cos(2.0 * i);
        row[2] = row[0] * row[1] + row[0];
    }
    far_frame *frame;
    far_mat m = far_mat_view(values, ROWS, 3, FAR_F64);
    must(far_frame_from_mat(ctx, &m, names, &frame));
    return frame;
}

static far_columns_opts columns(void)
{
    far_columns_opts o;
    far_columns_opts_init(&o);
    o.target = "y";
    return o;
}

static far_fit_opts fit_options(void)
{
    far_fit_opts o;
    far_fit_opts_init(&o);
    o.target = "y";
    o.arch = "dense ln relu dense";
    o.ridge = 1e-2;
    return o;
}

static far_status make_committee(const far_frame *frame, double first_ridge, far_predictor **out)
{
    far_predictor *members[2] = {NULL, NULL};
    far_columns_opts o = columns();
    far_fit_opts f = fit_options();
    far_status st = far_predictor_fit_linear(ctx, frame, &o, first_ridge, &members[0]);
    *out = NULL;
    st = st ? st : far_predictor_fit(ctx, frame, &f, &members[1]);
    st = st ? st : far_predictor_committee(ctx, members, 2, out);
    if (st != FAR_OK) { /* they stay ours */
        far_predictor_destroy(members[0]);
        far_predictor_destroy(members[1]);
    }
    return st;
}

static double at(far_mat m, int64_t i, int64_t j)
{
    return ((const double *)far_mat_row(&m, i))[j];
}

/* By rows of the table as by points: the same leading powers. */
static void limits_of_rows_are_those_of_points(void **state)
{
    (void)state;
    far_frame *frame = table();
    for (int k = 0; k < 2; k++) {
        far_predictor *p;
        far_columns_opts c = columns();
        must(k ? make_committee(frame, NAN, &p)
               : far_predictor_fit_linear(ctx, frame, &c, NAN, &p));
        far_predict_opts o;
        far_predict_opts_init(&o);
        o.at_infinity = 1;
        far_prediction *made;
        must(far_predictor_predict(ctx, p, frame, &o, &made));
        for (int i = 0; i < ROWS; i++) {
            double u[INPUTS] = {sin(i + 1.0), cos(2.0 * i)}, value, order;
            far_mat x = far_mat_view(u, 1, INPUTS, FAR_F64),
                    v = far_mat_view(&value, 1, 1, FAR_F64);
            far_mat w = far_mat_view(&order, 1, 1, FAR_F64);
            must(far_predictor_limit(ctx, p, &x, &v, &w));
            assert_near(at(made->mean, i, 0), value, 1e-12 * (1 + fabs(value)));
            assert_true(at(made->order, i, 0) == order && order == 1);
        }
        far_prediction_destroy(made);
        far_predictor_destroy(p);
    }
    far_frame_destroy(frame);
}

static void models_and_networks_can_be_borrowed(void **state)
{
    (void)state;
    far_frame *frame = table();
    far_fit_opts f = fit_options();
    far_model *m;
    far_net *net;
    far_net_opts how;
    far_predictor *p;
    must(far_model_fit(ctx, frame, &f, &m));
    must(far_predictor_of_model(ctx, m, &p));
    assert_int_equal(far_predictor_model(p)->rows, far_model_describe(m).rows);
    assert_null(far_predictor_net(p));
    far_predictor_destroy(p);
    far_net_opts_init(&how);
    how.inputs = INPUTS;
    must(far_net_create(ctx, "dense(3) relu dense(1)", &how, &net));
    must(far_predictor_of_net(ctx, net, &p));
    assert_ptr_equal(far_predictor_net(p), net);
    assert_null(far_predictor_model(p));
    far_predictor_destroy(p);
    refused(far_predictor_of_model(ctx, NULL, &p), FAR_ERR_ARG, "NULL");
    refused(far_predictor_of_model(ctx, m, NULL), FAR_ERR_ARG, "NULL");
    refused(far_predictor_of_net(ctx, NULL, &p), FAR_ERR_ARG, "NULL");
    refused(far_predictor_of_net(ctx, net, NULL), FAR_ERR_ARG, "NULL");
    far_net_destroy(net);
    far_model_destroy(m);
    far_frame_destroy(frame);
}

static void arguments_are_refused_by_name(void **state)
{
    (void)state;
    far_frame *frame = table();
    far_predictor *p, *other;
    far_prediction *made;
    far_certificate *c;
    far_predict_opts o, broken = {0};
    far_certify_opts how;
    far_columns_opts columns_opts = columns();
    far_predict_opts_init(&o);
    far_certify_opts_init(&how);
    must(make_committee(frame, NAN, &p));
    refused(far_predictor_predict(ctx, NULL, frame, &o, &made), FAR_ERR_ARG, "");
    refused(far_predictor_predict(ctx, p, NULL, &o, &made), FAR_ERR_ARG, "");
    refused(far_predictor_predict(ctx, p, frame, NULL, &made), FAR_ERR_ARG, "");
    refused(far_predictor_predict(ctx, p, frame, &broken, &made), FAR_ERR_ARG, "");
    refused(far_predictor_predict(ctx, p, frame, &o, NULL), FAR_ERR_ARG, "");
    for (int i = 0; i < 4; i++) {
        far_predict_opts wrong = o;
        wrong.spread = i == 0 ? FAR_SPREAD_POSTERIOR : FAR_SPREAD_NONE;
        wrong.time = i == 1 ? 2 : wrong.time;
        wrong.steps = i == 2 ? 3 : 0;
        wrong.rate = i == 3 ? 0.1 : 0;
        refused(far_predictor_predict(ctx, p, frame, &wrong, &made), FAR_ERR_ARG, "");
    }
    refused(far_predictor_certify(ctx, NULL, &how, &c), FAR_ERR_ARG, "NULL");
    refused(far_predictor_certify(ctx, p, &how, NULL), FAR_ERR_ARG, "NULL");
    refused(far_predictor_save(ctx, NULL, "x.far"), FAR_ERR_ARG, "NULL");
    refused(far_predictor_save(ctx, p, ""), FAR_ERR_ARG, "");
    refused(far_predictor_save(ctx, p, NULL), FAR_ERR_ARG, "");
    refused(far_predictor_load(ctx, "", NULL, &other), FAR_ERR_ARG, "");
    refused(far_predictor_load(ctx, NULL, NULL, &other), FAR_ERR_ARG, "");
    refused(far_predictor_load(ctx, "x.far", NULL, NULL), FAR_ERR_ARG, "NULL");
    refused(far_predictor_committee(ctx, NULL, 2, &other), FAR_ERR_ARG, "NULL");
    refused(far_predictor_committee(ctx, &p, 1, NULL), FAR_ERR_ARG, "NULL");
    refused(far_predictor_committee(ctx, &p, 1, &other), FAR_ERR_ARG, "is a committee");
    refused(far_predictor_fit_trees(ctx, frame, &columns_opts, 1, 0, NULL), FAR_ERR_ARG, "NULL");
    refused(far_predictor_fit_trees(ctx, frame, NULL, 1, 0, &other), FAR_ERR_ARG, "");
    refused(far_predictor_fit(ctx, frame, NULL, NULL), FAR_ERR_ARG, "NULL");
    far_predictor_destroy(p);
    far_frame_destroy(frame);
}

/* A committee from its fits to its file and back. */
static far_status live(const far_frame *frame, const char *path, double ridge)
{
    far_predictor *p = NULL, *again = NULL;
    far_prediction *rows = NULL, *limits = NULL;
    far_predict_opts o, directions;
    far_predict_opts_init(&o);
    directions = o;
    directions.at_infinity = 1;
    far_status st = make_committee(frame, ridge, &p);
    st = st ? st : far_predictor_predict(ctx, p, frame, &o, &rows);
    st = st ? st : far_predictor_predict(ctx, p, frame, &directions, &limits);
    st = st ? st : far_predictor_save(ctx, p, path);
    st = st ? st : far_predictor_load(ctx, path, NULL, &again);
    far_prediction_destroy(rows);
    far_prediction_destroy(limits);
    far_predictor_destroy(again);
    far_predictor_destroy(p);
    return st;
}

/* Ever fewer: searches repeat themselves. */
static void every_allocation_may_fail(void **state)
{
    (void)state;
    char path[] = "/tmp/farfield-predictor-XXXXXX";
    far_frame *frame = table();
    close(mkstemp(path));
    for (int bounded = 0; bounded < 2; bounded++) {
        double ridge = bounded ? INFINITY : NAN;
        must(live(frame, path, ridge));
        int64_t before = test_heap.live_blocks, k = 0;
        for (bool failed = true; failed; k += 1 + k / 12) {
            test_heap.calls = 0;
            test_heap.fail_at = k;
            far_status st = live(frame, path, ridge);
            failed = test_heap.calls > k;
            test_heap.fail_at = -1;
            if (!(failed ? st == FAR_ERR_MEMORY : st == FAR_OK)) {
                fail_msg("allocation %d: %s, %s", (int)k, far_status_name(st),
                         far_ctx_message(ctx));
            }
            assert_int_equal(test_heap.live_blocks, before);
        }
        assert_true(k > 40);
    }
    unlink(path);
    far_frame_destroy(frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(limits_of_rows_are_those_of_points),
        TEST(models_and_networks_can_be_borrowed),
        TEST(arguments_are_refused_by_name),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
