/* What a network was trained for, and targets of other tables as it was trained on them. */
#include "../../src/data/frame_internal.h"

#include "harness.h"
#include "tables.h"

#include <farfield/predictor.h>

enum { ROWS = 5 };
#define TABLE                                                                                      \
    "a,b,y,kind,digit,yes\n"                                                                       \
    "1,10,100,red,10,no\n"                                                                         \
    "2,20,300,blue,2,yes\n"                                                                        \
    "4,15,200,red,7,yes\n"                                                                         \
    "3,-5,-50,tin,2,no\n"                                                                          \
    "7,11,70,red,10,no\n"

static far_net *plain(int64_t outputs)
{
    far_net *net;
    far_net_opts o;
    far_net_opts_init(&o);
    o.inputs = 2;
    o.outputs = outputs;
    must(far_net_create(ctx, "dense(3) relu dense", &o, &net));
    return net;
}

static far_net *trained_for(const far_frame *frame, const char *target, int32_t loss, int32_t task)
{
    far_columns_opts o;
    far_examples *d;
    far_columns_opts_init(&o);
    o.target = target;
    o.features = "a,b";
    o.loss = loss;
    o.task = task;
    must(far_examples_learn(ctx, frame, &o, &d));
    far_net *net = plain(d->targets.cols);
    must(far_net_set_columns(ctx, net, d->columns));
    far_examples_destroy(d);
    return net;
}

/* The targets of a table are those that training sees. */
static void check_same(const far_frame *frame, const char *target, int32_t loss, int32_t task)
{
    double values[ROWS * 4];
    far_columns_opts o;
    far_examples *d;
    far_net *net = trained_for(frame, target, loss, task);
    far_columns_opts_init(&o);
    o.target = target;
    o.features = "a,b";
    o.loss = loss;
    o.task = task;
    must(far_examples_learn(ctx, frame, &o, &d));
    far_mat y = d->targets, mine = far_mat_view(values, ROWS, y.cols, FAR_F64);
    must(far_columns_encode_targets(ctx, far_net_describe(net).columns, frame, NULL, NULL, &mine));
    for (int64_t i = 0; i < ROWS * y.cols; i++) {
        assert_near(values[i], ((double *)y.data)[i], 1e-15);
    }
    assert_int_equal(far_columns_describe(far_net_describe(net).columns).loss, loss);
    assert_int_equal(far_columns_describe(far_net_describe(net).columns).task,
                     far_columns_describe(d->columns).task);
    far_examples_destroy(d);
    far_net_destroy(net);
}

static void targets_are_those_of_training(void **state)
{
    (void)state;
    far_frame *frame = table_of(TABLE);
    check_same(frame, "y", FAR_LOSS_MSE, FAR_TASK_AUTO);
    check_same(frame, "y,digit", FAR_LOSS_MSE, FAR_TASK_AUTO);
    check_same(frame, "kind", FAR_LOSS_CE, FAR_TASK_AUTO);
    check_same(frame, "kind", FAR_LOSS_MSE, FAR_TASK_AUTO);
    check_same(frame, "digit", FAR_LOSS_CE, FAR_TASK_CLASSIFY);
    check_same(frame, "yes", FAR_LOSS_BCE, FAR_TASK_AUTO);
    far_frame_destroy(frame);
}

static void names_are_those_of_the_columns(void **state)
{
    (void)state;
    far_frame *frame = table_of(TABLE);
    far_net *net = trained_for(frame, "y,digit", FAR_LOSS_MSE, FAR_TASK_AUTO), *other = plain(2);
    assert_string_equal(far_columns_describe(far_net_describe(net).columns).target_names[0], "y");
    assert_string_equal(far_columns_describe(far_net_describe(net).columns).target_names[1],
                        "digit");
    assert_null(far_columns_describe(far_net_describe(other).columns).target_names);
    assert_int_equal(far_columns_describe(far_net_describe(other).columns).loss, -1);
    assert_int_equal(far_columns_describe(far_net_describe(other).columns).task, FAR_TASK_AUTO);
    far_net_destroy(net);
    far_net_destroy(other);
    far_frame_destroy(frame);
}

/* Another table: classes in another order, not all of them, a number as a word. */
static void classes_go_by_their_names(void **state)
{
    (void)state;
    far_frame *frame = table_of(TABLE), *other = table_of("a,b,digit\n1,1,7.0\n1,1,1e1\n");
    far_frame *words = table_of("a,b,digit\n1,1,7\n1,1,many\n");
    far_net *net = trained_for(frame, "digit", FAR_LOSS_CE, FAR_TASK_CLASSIFY);
    const double wanted[] = {0, 1, 0, 0, 0, 1};
    const unsigned char first[] = {1, 0};
    double values[6] = {0};
    far_mat out = far_mat_view(values, 2, 3, FAR_F64);
    must(far_columns_encode_targets(ctx, far_net_describe(net).columns, other, NULL, NULL, &out));
    assert_memory_equal(values, wanted, sizeof wanted);
    memset(values, 0, sizeof values);
    far_mat one = far_mat_view(values, 1, 3, FAR_F64);
    must(far_columns_encode_targets(ctx, far_net_describe(net).columns, words, first, NULL, &one));
    assert_memory_equal(values, wanted, 3 * sizeof *wanted);
    assert_int_equal(
        far_columns_encode_targets(ctx, far_net_describe(net).columns, words, NULL, NULL, &out),
        FAR_ERR_VALUE);
    assert_non_null(strstr(far_ctx_message(ctx), "row 2: the target digit is many, no class"));
    far_frame_destroy(frame);
    far_frame_destroy(other);
    far_frame_destroy(words);
    far_net_destroy(net);
}

static void numbers_of_an_unknown_network_are_raw(void **state)
{
    (void)state;
    far_frame *frame = table_of(TABLE);
    far_net *net = plain(1);
    const double wanted[] = {100, 300, 200, -50, 70};
    double values[ROWS];
    far_mat out = far_mat_view(values, ROWS, 1, FAR_F64);
    must(far_columns_encode_targets(ctx, far_net_describe(net).columns, frame, NULL, "y", &out));
    assert_memory_equal(values, wanted, sizeof wanted);
    assert_int_equal(
        far_columns_encode_targets(ctx, far_net_describe(net).columns, frame, NULL, NULL, &out),
        FAR_ERR_ARG);
    assert_non_null(strstr(far_ctx_message(ctx), "does not know its targets"));
    far_net_destroy(net);
    far_frame_destroy(frame);
}

static void refuse(const far_net *net, const far_frame *frame, const char *target, far_mat *out,
                   far_status wanted, const char *words)
{
    assert_int_equal(far_columns_encode_targets(ctx, net ? far_net_describe(net).columns : NULL,
                                                frame, NULL, target, out),
                     wanted);
    if (!strstr(far_ctx_message(ctx), words)) {
        fail_msg("\"%s\" does not say \"%s\"", far_ctx_message(ctx), words);
    }
}

static void bad_targets_are_refused(void **state)
{
    (void)state;
    far_frame *frame = table_of(TABLE), *gaps = table_of("a,b,y,kind\n1,2,,red\n1,2,3,\n");
    far_net *net = trained_for(frame, "y", FAR_LOSS_MSE, FAR_TASK_AUTO);
    far_net *kinds = trained_for(frame, "kind", FAR_LOSS_CE, FAR_TASK_AUTO);
    double values[ROWS * 3];
    far_mat out = far_mat_view(values, ROWS, 1, FAR_F64);
    far_mat two = far_mat_view(values, 2, 1, FAR_F64), three = far_mat_view(values, 2, 3, FAR_F64);
    refuse(net, frame, "z", &out, FAR_ERR_ARG, "z");
    refuse(net, frame, "kind", &out, FAR_ERR_FORMAT, "kind holds words");
    refuse(net, frame, "y,a", &out, FAR_ERR_SHAPE, "2 target columns, but the network has 1");
    refuse(net, frame, "y", &two, FAR_ERR_SHAPE, "out");
    refuse(net, gaps, NULL, &two, FAR_ERR_VALUE, "row 1: the target y has no value");
    refuse(kinds, gaps, NULL, &three, FAR_ERR_VALUE, "row 2: the target kind has no value");
    refuse(kinds, frame, "kind,y", &out, FAR_ERR_SHAPE, "out");
    refuse(NULL, frame, NULL, &out, FAR_ERR_ARG, "NULL");
    refuse(net, NULL, NULL, &out, FAR_ERR_ARG, "NULL");
    far_net_destroy(net);
    far_net_destroy(kinds);
    far_frame_destroy(frame);
    far_frame_destroy(gaps);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    far_frame *frame = table_of(TABLE);
    far_net *net = trained_for(frame, "kind", FAR_LOSS_CE, FAR_TASK_AUTO);
    double values[ROWS * 3];
    far_mat out = far_mat_view(values, ROWS, 3, FAR_F64);
    must(far_columns_encode_targets(ctx, far_net_describe(net).columns, frame, NULL, NULL, &out));
    int64_t live = test_heap.live_blocks;
    far_status st = FAR_ERR_MEMORY;
    for (int64_t k = 0; st == FAR_ERR_MEMORY; k++) {
        test_heap.calls = 0;
        test_heap.fail_at = k;
        st = far_columns_encode_targets(ctx, far_net_describe(net).columns, frame, NULL, "kind",
                                        &out);
        assert_int_equal(test_heap.live_blocks, live);
    }
    test_heap.fail_at = -1;
    must(st);
    far_net_destroy(net);
    far_frame_destroy(frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(targets_are_those_of_training), TEST(names_are_those_of_the_columns),
        TEST(classes_go_by_their_names),     TEST(numbers_of_an_unknown_network_are_raw),
        TEST(bad_targets_are_refused),       TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
