/* Tables for finite networks: how columns become inputs and targets, what a network remembers of
 * them through a file, and predictions against what the network itself computes. */
#include "../../src/data/frame_internal.h"
#include "../../src/net/net_file.h"
#include "../../src/net/net_internal.h"
#include "../../src/regress/regress_internal.h"

#include <farfield/predictor.h>

#include "harness.h"
#include "tables.h"

/* Two numbers and a word of three, so 5 inputs; targets of every kind; 7 rows. */
#define TABLE                                                                                      \
    "a,kind,b,y,p,q,species,digit\n"                                                               \
    "1,red,10,100,0,0.5,cat,1\n"                                                                   \
    "2,green,20,300,1,0.25,dog,2\n"                                                                \
    "4,red,15,200,0.5,1,cat,2\n"                                                                   \
    "3,blue,-5,-50,0.25,0,owl,1\n"                                                                 \
    "7,red,0,120,1,0,dog,1\n"                                                                      \
    "5,green,3,75,0,1,owl,2\n"                                                                     \
    "6,red,8,60,0.75,0.5,cat,1\n"

enum { ROWS = 7, INPUTS = 5 };
#define FEATURES "a,kind,b"

static far_columns_opts options(const char *target, int32_t loss)
{
    far_columns_opts o;
    far_columns_opts_init(&o);
    o.target = target;
    o.features = FEATURES;
    o.loss = loss;
    return o;
}

static far_examples *data_of(const far_frame *frame, const far_columns_opts *o)
{
    far_examples *d;
    must(far_examples_learn(ctx, frame, o, &d));
    return d;
}

static far_net *net_of(const char *arch, int64_t inputs)
{
    far_net *net;
    far_net_opts o;
    far_net_opts_init(&o);
    o.inputs = inputs;
    o.seed = 7;
    must(far_net_create(ctx, arch, &o, &net));
    return net;
}

/* An untrained network that knows the columns. */
static far_net *attached(const far_frame *frame, const far_columns_opts *o, const char *arch)
{
    far_examples *d = data_of(frame, o);
    far_net *net = net_of(arch, d->inputs.cols);
    must(far_net_set_columns(ctx, net, d->columns));
    far_examples_destroy(d);
    return net;
}

static double at(far_mat m, int64_t i, int64_t j)
{
    return ((const double *)far_mat_row(&m, i))[j];
}

static void expect_column(far_mat m, int64_t j, const double *values)
{
    for (int64_t i = 0; i < m.rows; i++) {
        assert_near(at(m, i, j), values[i], 1e-14);
    }
}

#define COLUMN(...)                                                                                \
    (const double[])                                                                               \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* ---- inputs and targets ---- */

static void both_sides_are_standardised(void **state)
{
    (void)state;
    far_frame *frame = table_of(TABLE);
    far_columns_opts o = options("y,p", FAR_LOSS_MSE);
    far_examples *d = data_of(frame, &o);
    far_mat x = d->inputs, y = d->targets;
    assert_int_equal(x.rows, ROWS);
    assert_int_equal(x.cols, INPUTS);
    assert_int_equal(y.rows, ROWS);
    assert_int_equal(y.cols, 2);
    for (int k = 0; k < 2; k++) {
        double sum = 0, squares = 0;
        for (int i = 0; i < ROWS; i++) {
            sum += at(y, i, k);
            squares += at(y, i, k) * at(y, i, k);
        }
        assert_near(sum, 0, 1e-14);
        assert_near(squares, ROWS, 1e-13);
    }
    expect_column(x, 0, COLUMN(-1.5, -1, 0, -0.5, 1.5, 0.5, 1)); /* a: mean 4, deviation 2 */
    assert_int_equal(far_columns_describe(d->columns).task, FAR_TASK_REGRESS);
    assert_int_equal(strlen(far_columns_describe(d->columns).hash), 64);
    far_examples_destroy(d);
    far_frame_destroy(frame);
}

static void values_stay_as_they_are_if_asked(void **state)
{
    (void)state;
    far_frame *frame = table_of(TABLE);
    far_columns_opts o = options("y", FAR_LOSS_MSE);
    const double raw[] = {100, 300, 200, -50, 120, 75, 60};
    o.standardize = FAR_STANDARDIZE_INPUTS;
    far_examples *d = data_of(frame, &o);
    expect_column(d->targets, 0, raw);
    expect_column(d->inputs, 0, COLUMN(-1.5, -1, 0, -0.5, 1.5, 0.5, 1));
    far_examples_destroy(d);
    o.standardize = FAR_STANDARDIZE_NONE;
    d = data_of(frame, &o);
    expect_column(d->targets, 0, raw);
    expect_column(d->inputs, 0, COLUMN(1, 2, 4, 3, 7, 5, 6));
    expect_column(d->inputs, 3, COLUMN(1, 0, 1, 0, 1, 0, 1)); /* kind=red */
    far_examples_destroy(d);
    far_frame_destroy(frame);
}

static void classes_are_indicators(void **state)
{
    (void)state;
    far_frame *frame = table_of(TABLE);
    for (int32_t loss = FAR_LOSS_MSE; loss <= FAR_LOSS_CE; loss += FAR_LOSS_CE) {
        far_columns_opts o = options("species", loss);
        far_examples *d = data_of(frame, &o);
        far_mat y = d->targets;
        assert_int_equal(far_columns_describe(d->columns).task, FAR_TASK_CLASSIFY);
        assert_int_equal(y.cols, 3);
        expect_column(y, 0, COLUMN(1, 0, 1, 0, 0, 0, 1));
        expect_column(y, 1, COLUMN(0, 1, 0, 0, 1, 0, 0));
        expect_column(y, 2, COLUMN(0, 0, 0, 1, 0, 1, 0));
        far_examples_destroy(d);
    }
    far_columns_opts o = options("digit", FAR_LOSS_CE); /* numbers are classes too */
    far_examples *d = data_of(frame, &o);
    assert_int_equal(d->targets.cols, 2);
    far_examples_destroy(d);
    o.loss = FAR_LOSS_BCE; /* and two of them one output */
    d = data_of(frame, &o);
    assert_int_equal(far_columns_describe(d->columns).task, FAR_TASK_CLASSIFY);
    assert_int_equal(d->targets.cols, 1);
    expect_column(d->targets, 0, COLUMN(0, 1, 1, 0, 0, 1, 0));
    far_examples_destroy(d);
    far_frame_destroy(frame);
}

static void bce_takes_probabilities_as_they_are(void **state)
{
    (void)state;
    far_frame *frame = table_of(TABLE);
    far_columns_opts o = options("p,q", FAR_LOSS_BCE); /* several targets: a regression */
    far_examples *d = data_of(frame, &o);
    assert_int_equal(far_columns_describe(d->columns).task, FAR_TASK_REGRESS);
    expect_column(d->targets, 0, COLUMN(0, 1, 0.5, 0.25, 1, 0, 0.75));
    expect_column(d->targets, 1, COLUMN(0.5, 0.25, 1, 0, 0, 1, 0.5));
    far_examples_destroy(d);
    o.target = "p";
    o.task = FAR_TASK_REGRESS;
    d = data_of(frame, &o);
    assert_int_equal(d->targets.cols, 1);
    far_examples_destroy(d);
    far_frame_destroy(frame);
}

static void rows_features_and_gaps_are_as_in_a_fit(void **state)
{
    (void)state;
    far_frame *frame = table_of("a,b,y\n1,2,3\n2,,4\n5,6,7\n0,1,2\n");
    const unsigned char rows[] = {1, 0, 1, 1};
    far_columns_opts o = options("y", FAR_LOSS_MSE);
    far_examples *d, *whole;
    o.features = NULL;
    assert_int_equal(far_examples_learn(ctx, frame, &o, &d), FAR_ERR_VALUE);
    assert_null(d);
    o.rows = rows;
    d = data_of(frame, &o);
    assert_int_equal(d->inputs.rows, 3);
    assert_int_equal(d->inputs.cols, 2);
    o.rows = NULL;
    o.impute = 1;
    whole = data_of(frame, &o);
    assert_int_equal(whole->inputs.rows, 4);
    assert_string_not_equal(far_columns_describe(d->columns).hash,
                            far_columns_describe(whole->columns).hash);
    far_examples_destroy(d);
    far_examples_destroy(whole);
    far_frame_destroy(frame);
}

/* ---- what is refused ---- */

static void expect_refusal(const far_frame *frame, far_columns_opts o, far_status status,
                           const char *message)
{
    far_examples *d = (far_examples *)&test_heap;
    assert_int_equal(far_examples_learn(ctx, frame, &o, &d), status);
    assert_null(d);
    assert_string_equal(far_ctx_message(ctx), message);
}

static void bad_options_are_refused(void **state)
{
    (void)state;
    far_frame *frame = table_of(TABLE);
    far_columns_opts o = options("y", FAR_LOSS_MSE);
    assert_int_equal(far_examples_learn(ctx, frame, &o, NULL), FAR_ERR_ARG);
    expect_refusal(NULL, o, FAR_ERR_ARG, "frame is NULL or opts not initialised");
    o.size = 3;
    expect_refusal(frame, o, FAR_ERR_ARG, "frame is NULL or opts not initialised");
    expect_refusal(frame, options("", 0), FAR_ERR_ARG, "no target column was named");
    const char *none = "task, loss or standardize is none of those there are";
    expect_refusal(frame, options("y", 3), FAR_ERR_ARG, none);
    expect_refusal(frame, options("y", -2), FAR_ERR_ARG, none);
    o = options("y", FAR_LOSS_MSE);
    o.standardize = 3;
    expect_refusal(frame, o, FAR_ERR_ARG, none);
    o = options("y", FAR_LOSS_MSE);
    o.task = 3;
    expect_refusal(frame, o, FAR_ERR_ARG, none);
    o = options("y", FAR_LOSS_CE);
    o.task = FAR_TASK_REGRESS;
    expect_refusal(frame, o, FAR_ERR_ARG,
                   "the loss ce is for classes; regress with mse or bce (`loss`), or classify "
                   "(`task` classify)");
    expect_refusal(frame, options("species", FAR_LOSS_BCE), FAR_ERR_ARG,
                   "the loss bce takes two classes, but the target species has 3; use ce (`loss`), "
                   "or regress (`task` regress)");
    far_frame_destroy(frame);
}

static void bce_refuses_what_is_no_probability(void **state)
{
    (void)state;
    far_frame *frame = table_of(TABLE);
    const unsigned char rows[ROWS] = {0, 0, 0, 1, 0, 1, 1};
    far_columns_opts o = options("p,y", FAR_LOSS_BCE);
    o.rows = rows;
    expect_refusal(frame, o, FAR_ERR_VALUE,
                   "row 4: the target y is -50, but the loss bce takes values from 0 to 1; use mse "
                   "(`loss`), or change the column");
    o.rows = NULL;
    expect_refusal(frame, o, FAR_ERR_VALUE,
                   "row 1: the target y is 100, but the loss bce takes values from 0 to 1; use mse "
                   "(`loss`), or change the column");
    far_frame_destroy(frame);
}

static void a_network_of_another_width_is_refused(void **state)
{
    (void)state;
    far_frame *frame = table_of(TABLE);
    far_columns_opts o = options("y", FAR_LOSS_MSE);
    far_examples *d = data_of(frame, &o);
    far_net *narrow = net_of("dense(1)", 3), *many = net_of("dense(2)", INPUTS);
    assert_int_equal(far_net_set_columns(ctx, narrow, d->columns), FAR_ERR_SHAPE);
    assert_string_equal(far_ctx_message(ctx), "the columns make 5 inputs, but the network takes 3");
    assert_int_equal(far_net_set_columns(ctx, many, d->columns), FAR_ERR_SHAPE);
    assert_string_equal(far_ctx_message(ctx), "the targets make 1 output, but the network has 2");
    assert_int_equal(far_net_set_columns(ctx, NULL, d->columns), FAR_ERR_ARG);
    assert_int_equal(far_net_set_columns(ctx, many, NULL), FAR_ERR_ARG);
    assert_int_equal(far_columns_describe(far_net_describe(many).columns).named, 0);
    assert_int_equal(far_net_describe(many).scaled, 0);
    far_net_destroy(narrow);
    far_net_destroy(many);
    far_examples_destroy(d);
    far_frame_destroy(frame);
}

/* ---- what a network remembers ---- */

/* The network, and what comes out of its file. */
static far_net *through_a_file(const far_net *net)
{
    char *bytes;
    size_t size;
    far_net *again;
    far_output o;
    FILE *stream = open_memstream(&bytes, &size);
    must(far_output_open_stream(ctx, stream, &o));
    must(far_net_write(net, &o));
    must(far_output_commit(&o));
    far_output_close(&o);
    fclose(stream);
    must(far_net_parse_bytes(ctx, "f", bytes, (int64_t)size, NULL, &again));
    free(bytes);
    return again;
}

static void names_survive_a_file(void **state)
{
    (void)state;
    static const char *const inputs[] = {"a", "kind=blue", "kind=green", "kind=red", "b"};
    far_frame *frame = table_of(TABLE);
    far_columns_opts o = options("species", FAR_LOSS_CE);
    far_net *net = attached(frame, &o, "dense(3)"), *again = through_a_file(net);
    far_net *both[] = {net, again};
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < INPUTS; i++) {
            assert_string_equal(
                far_columns_describe(far_net_describe(both[k]).columns).input_names[i], inputs[i]);
        }
        assert_string_equal(far_columns_describe(far_net_describe(both[k]).columns).output_names[2],
                            "owl");
    }
    far_net_destroy(net);
    far_net_destroy(again);
    o = options("y,q", FAR_LOSS_MSE);
    net = attached(frame, &o, "dense(2)");
    assert_string_equal(far_columns_describe(far_net_describe(net).columns).output_names[1], "q");
    assert_int_equal(far_net_set_metadata(ctx, net, "columns", NULL), FAR_ERR_ARG); /* ours */
    far_net_destroy(net);
    o = options("digit", FAR_LOSS_BCE);
    net = attached(frame, &o, "dense(1)");
    assert_string_equal(far_columns_describe(far_net_describe(net).columns).output_names[0],
                        "2"); /* of two classes */
    assert_string_equal(far_columns_describe(far_net_describe(net).columns).class_names[0], "1");
    far_net_destroy(net);
    net = net_of("dense(1)", 3);
    assert_string_equal(far_columns_describe(far_net_describe(net).columns).input_names[2], "x3");
    assert_string_equal(far_columns_describe(far_net_describe(net).columns).output_names[0], "y1");
    assert_null(far_columns_describe(far_net_describe(net).columns).target_names);
    assert_null(far_columns_describe(far_net_describe(net).columns).hash);
    far_net_destroy(net);
    far_frame_destroy(frame);
}

static void copies_know_their_columns(void **state)
{
    (void)state;
    far_frame *frame = table_of(TABLE);
    far_columns_opts o = options("y", FAR_LOSS_MSE);
    far_net *net = attached(frame, &o, "dense(1)"), *copy;
    assert_string_equal(far_columns_describe(far_net_describe(net).columns).input_names[0], "a");
    must(far_net_copy(ctx, net, &copy));
    far_net_destroy(net);
    assert_string_equal(far_columns_describe(far_net_describe(copy).columns).input_names[4], "b");
    far_net_destroy(copy);
    far_frame_destroy(frame);
}

static void rows_become_the_inputs_of_training(void **state)
{
    (void)state;
    far_frame *frame = table_of(TABLE);
    /* the same columns in another order, among others */
    far_frame *other = table_of("z,b,kind,a\nx,15,red,4\ny,-5,blue,3\n");
    far_columns_opts o = options("y", FAR_LOSS_MSE);
    far_examples *d = data_of(frame, &o);
    far_net *first = net_of("dense(1)", INPUTS);
    must(far_net_set_columns(ctx, first, d->columns));
    far_net *net = through_a_file(first);
    double values[ROWS * INPUTS];
    far_mat x = d->inputs, out = far_mat_view(values, ROWS, INPUTS, FAR_F64);
    must(far_columns_encode(ctx, far_net_describe(net).columns, frame, NULL, &out));
    assert_memory_equal(values, x.data, sizeof values);
    out = far_mat_view(values, 2, INPUTS, FAR_F64);
    must(far_columns_encode(ctx, far_net_describe(net).columns, other, NULL, &out));
    assert_memory_equal(values, far_mat_row(&x, 2), 2 * INPUTS * sizeof *values);
    const unsigned char second[] = {0, 1};
    out = far_mat_view(values, 1, INPUTS, FAR_F64);
    must(far_columns_encode(ctx, far_net_describe(net).columns, other, second, &out));
    assert_memory_equal(values, far_mat_row(&x, 3), INPUTS * sizeof *values);
    out = far_mat_view(values, 3, INPUTS, FAR_F64);
    assert_int_equal(far_columns_encode(ctx, far_net_describe(net).columns, other, NULL, &out),
                     FAR_ERR_SHAPE);
    assert_string_equal(far_ctx_message(ctx), "out is 3 x 5, not 2 x 5");
    assert_int_equal(far_columns_encode(ctx, NULL, other, NULL, &out), FAR_ERR_ARG);
    assert_int_equal(far_columns_encode(ctx, far_net_describe(net).columns, NULL, NULL, &out),
                     FAR_ERR_ARG);
    far_net_destroy(net);
    far_net_destroy(first);
    far_examples_destroy(d);
    far_frame_destroy(frame);
    far_frame_destroy(other);
}

static void a_network_without_columns_takes_numbers_in_their_order(void **state)
{
    (void)state;
    far_net *net = net_of("dense(2)", 3);
    double values[2 * 3], numbers[] = {1, 2, 4, 1, 1, 1, 2, 1};
    far_mat out = far_mat_view(values, 2, 3, FAR_F64);
    far_frame *frame = table_of("a,b,c\n1,2,3\n4,5,6\n");
    must(far_columns_encode(ctx, far_net_describe(net).columns, frame, NULL, &out));
    assert_memory_equal(values, COLUMN(1, 2, 3, 4, 5, 6), sizeof values);
    far_scaling s = {far_mat_view(numbers, 1, 3, FAR_F64), far_mat_view(numbers + 3, 1, 3, FAR_F64),
                     far_mat_view(numbers, 1, 2, FAR_F64),
                     far_mat_view(numbers + 6, 1, 2, FAR_F64)};
    must(far_net_set_scaling(ctx, net, &s)); /* raw units are still raw units */
    must(far_columns_encode(ctx, far_net_describe(net).columns, frame, NULL, &out));
    assert_memory_equal(values, COLUMN(0, 0, -1, 3, 3, 2), sizeof values);
    far_frame_destroy(frame);
    const char *const bad[][2] = {
        {"a,b\n1,2\n3,4\n", "the table has 2 columns, but the network takes 3 inputs and knows no "
                            "names to choose by"},
        {"a,b,c\n1,2,x\n3,4,y\n",
         "column c holds words; this network knows no words, only numbers"},
        {"a,b,c\n1,2,3\n3,,5\n",
         "row 2: column b has no value; fill the gap or leave the row out"}};
    for (int i = 0; i < COUNT(bad); i++) {
        frame = table_of(bad[i][0]);
        assert_int_not_equal(
            far_columns_encode(ctx, far_net_describe(net).columns, frame, NULL, &out), FAR_OK);
        assert_string_equal(far_ctx_message(ctx), bad[i][1]);
        far_frame_destroy(frame);
    }
    far_net_destroy(net);
}

/* ---- columns that are not ours ---- */

typedef struct edit {
    const char *old, *new, *message;
} edit;

static const edit edits[] = {
    {"{\"version\"", "[\"version\"", NULL}, /* jansson's words */
    {"\"version\":1", "\"version\":4", "were written by a newer farfield; update farfield"},
    {"\"task\":\"classify\"", "\"task\":\"regress\"",
     "\"classes\" is not null, but the task is to regress"},
    {"\"task\":\"classify\"", "\"task\":\"guess\"", "\"task\" is not auto or regress or classify"},
    {"\"loss\":\"ce\"", "\"loss\":\"hinge\"", "\"loss\" is not mse or bce or ce"},
    {"\"impute\":false", "\"impute\":0", "\"impute\" is neither true nor false"},
    {"{\"name\":\"a\",\"kind\":\"number\",\"fill\":4.0,\"low\":1.0,\"high\":7.0,\"spread\":2.0},",
     "", "\"features\" make 4 inputs where 5 were announced"},
    {"\"name\":\"a\"", "\"name\":\"b\"", "\"features\" has 'b' twice"},
    {"\"owl\"", "\"owl\",\"elk\"", "\"classes\" has 4 entries where 3 outputs were announced"},
    {"\"data_hash\":\"", "\"data_hash\":\"x", "\"data_hash\" is not 64 hexadecimal digits"},
};

static char *replaced(const char *text, const char *old, const char *new)
{
    const char *place = strstr(text, old);
    if (!place) {
        fail_msg("%s has no %s", text, old);
    }
    char *out = malloc(strlen(text) + strlen(new) + 1);
    sprintf(out, "%.*s%s%s", (int)(place - text), text, new, place + strlen(old));
    return out;
}

static void damaged_columns_are_refused(void **state)
{
    (void)state;
    far_frame *frame = table_of(TABLE);
    far_columns_opts o = options("species", FAR_LOSS_CE);
    far_net *net = attached(frame, &o, "dense(3)");
    far_text whole = {.ctx = ctx};
    must(far_columns_print(net->columns, false, &whole));
    for (int i = 0; i < COUNT(edits); i++) {
        char expected[256];
        far_columns *c;
        char *text = replaced(whole.data, edits[i].old, edits[i].new);
        must(far_columns_new(ctx, &c));
        c->info.inputs = INPUTS;
        c->info.outputs = 3;
        assert_int_equal(far_columns_parse(ctx, "the network's columns", text, false, c),
                         FAR_ERR_FORMAT);
        snprintf(expected, sizeof expected, "the network's columns: %s",
                 edits[i].message ? edits[i].message : "line 1, column ");
        size_t length = edits[i].message ? sizeof expected : strlen(expected);
        assert_int_equal(strncmp(far_ctx_message(ctx), expected, length), 0);
        free(text);
        far_columns_destroy(c);
    }
    far_free(ctx, whole.data);
    far_net_destroy(net);
    far_frame_destroy(frame);
}

/* Text out and in: the same columns, which encode to the same bits. */
static void columns_survive_as_text(void **state)
{
    (void)state;
    static const char *const targets[] = {"y,q", "species", "digit"};
    static const int32_t losses[] = {FAR_LOSS_NONE, FAR_LOSS_CE, FAR_LOSS_BCE};
    far_frame *frame = table_of(TABLE);
    for (int k = 0; k < COUNT(targets); k++) {
        far_columns_opts o = options(targets[k], losses[k]);
        far_examples *d = data_of(frame, &o);
        char *text, *second;
        far_columns *again;
        must(far_columns_write(ctx, d->columns, &text));
        must(far_columns_read(ctx, text, &again));
        must(far_columns_write(ctx, again, &second));
        assert_string_equal(text, second);
        far_mat x = d->inputs, y = d->targets;
        double inputs[ROWS * INPUTS], outputs[ROWS * 3];
        far_mat in = far_mat_view(inputs, ROWS, INPUTS, FAR_F64);
        far_mat out = far_mat_view(outputs, ROWS, y.cols, FAR_F64);
        must(far_columns_encode(ctx, again, frame, NULL, &in));
        must(far_columns_encode_targets(ctx, again, frame, NULL, NULL, &out));
        assert_memory_equal(inputs, x.data, sizeof inputs);
        assert_memory_equal(outputs, y.data, (size_t)(ROWS * y.cols) * sizeof *outputs);
        far_free(ctx, text);
        far_free(ctx, second);
        far_columns_destroy(again);
        far_examples_destroy(d);
    }
    far_frame_destroy(frame);
}

/* ---- predictions ---- */

static far_prediction *predicted(const far_net *net, const far_frame *frame, int32_t at_infinity)
{
    far_prediction *p;
    far_predict_opts o;
    far_predict_opts_init(&o);
    o.at_infinity = at_infinity;
    must(far_net_predict(ctx, net, frame, &o, &p));
    return p;
}

/* f at the inputs, in the network's own units. */
static void outputs_of(const far_net *net, const far_frame *frame, double *out)
{
    double *x = malloc((size_t)far_frame_rows(frame) * INPUTS * sizeof *x);
    far_mat points = far_mat_view(x, far_frame_rows(frame), INPUTS, FAR_F64);
    far_mat values = far_mat_view(out, points.rows, far_net_describe(net).outputs, FAR_F64);
    must(far_columns_encode(ctx, far_net_describe(net).columns, frame, NULL, &points));
    must(far_net_eval(ctx, net, &points, &values));
    free(x);
}

static void regressions_are_in_target_units(void **state)
{
    (void)state;
    far_frame *frame = table_of(TABLE);
    far_columns_opts o = options("y,q", FAR_LOSS_MSE);
    far_net *net = attached(frame, &o, "dense(11) ln relu dense(2)");
    double f[ROWS * 2];
    far_prediction *p = predicted(net, frame, 0);
    far_mat mean = p->mean;
    far_scaling s = far_columns_describe(far_net_describe(net).columns).scaling;
    outputs_of(net, frame, f);
    for (int i = 0; i < ROWS; i++) {
        for (int k = 0; k < 2; k++) {
            double raw = at(s.output_centre, 0, k) + at(s.output_scale, 0, k) * f[2 * i + k];
            assert_near(at(mean, i, k), raw, 1e-12 * (1 + fabs(raw)));
        }
    }
    assert_true(fabs(at(s.output_centre, 0, 0) - 115) < 1e-12);
    assert_int_equal(p->probability.rows, 0);
    assert_int_equal(p->std.rows, 0);
    assert_int_equal(p->order.rows, 0);
    assert_null(p->classes);
    far_prediction_destroy(p);
    far_net_destroy(net);
    far_frame_destroy(frame);
}

static void rows_can_be_chosen(void **state)
{
    (void)state;
    far_frame *frame = table_of(TABLE);
    far_columns_opts o = options("y", FAR_LOSS_MSE);
    far_net *net = attached(frame, &o, "dense(7) tanh dense(1)");
    far_prediction *all = predicted(net, frame, 0), *some;
    const unsigned char rows[ROWS] = {0, 0, 1, 0, 0, 1, 0};
    far_predict_opts predict;
    far_predict_opts_init(&predict);
    predict.rows = rows;
    must(far_net_predict(ctx, net, frame, &predict, &some));
    assert_int_equal(some->mean.rows, 2);
    assert_near(at(some->mean, 1, 0), at(all->mean, 5, 0), 1e-12);
    far_prediction_destroy(all);
    far_prediction_destroy(some);
    far_net_destroy(net);
    far_frame_destroy(frame);
}

static void cross_entropy_gives_the_softmax(void **state)
{
    (void)state;
    far_frame *frame = table_of(TABLE);
    far_columns_opts o = options("species", FAR_LOSS_CE);
    far_net *net = attached(frame, &o, "dense(11) relu dense(3)");
    far_mat params = far_net_parameters(net);
    for (int64_t i = 0; i < params.cols; i++) {
        ((double *)params.data)[i] *= 40; /* logits far beyond exp's range */
    }
    double f[ROWS * 3];
    far_prediction *p = predicted(net, frame, 0);
    far_mat mean = p->mean, probability = p->probability;
    outputs_of(net, frame, f);
    for (int i = 0; i < ROWS; i++) {
        double largest = fmax(f[3 * i], fmax(f[3 * i + 1], f[3 * i + 2])), sum = 0;
        for (int k = 0; k < 3; k++) {
            sum += exp(f[3 * i + k] - largest);
        }
        for (int k = 0; k < 3; k++) {
            assert_near(at(mean, i, k), exp(f[3 * i + k] - largest) / sum, 1e-12);
            assert_true(at(probability, i, k) == at(mean, i, k));
        }
        int64_t best = p->classes[i];
        assert_true(f[3 * i + best] == largest);
    }
    far_prediction_destroy(p);
    far_net_destroy(net);
    far_frame_destroy(frame);
}

static void binary_cross_entropy_gives_both_classes(void **state)
{
    (void)state;
    far_frame *frame = table_of(TABLE);
    far_columns_opts o = options("digit", FAR_LOSS_BCE);
    far_net *net = attached(frame, &o, "dense(11) relu dense(1)");
    double f[ROWS];
    far_prediction *p = predicted(net, frame, 0);
    far_mat mean = p->mean;
    assert_int_equal(mean.cols, 2);
    outputs_of(net, frame, f);
    for (int i = 0; i < ROWS; i++) {
        assert_near(at(mean, i, 1), 1 / (1 + exp(-f[i])), 1e-13);
        assert_near(at(mean, i, 0) + at(mean, i, 1), 1, 1e-15);
        assert_int_equal(p->classes[i], f[i] > 0);
    }
    far_prediction_destroy(p);
    far_net_destroy(net);
    o = options("p,q", FAR_LOSS_BCE);
    net = attached(frame, &o, "dense(2)");
    double g[ROWS * 2];
    p = predicted(net, frame, 0);
    outputs_of(net, frame, g);
    for (int i = 0; i < 2 * ROWS; i++) {
        assert_near(at(p->mean, i / 2, i % 2), 1 / (1 + exp(-g[i])), 1e-13);
    }
    assert_null(p->classes);
    far_prediction_destroy(p);
    far_net_destroy(net);
    far_frame_destroy(frame);
}

static void squared_loss_gives_scores_and_probabilities(void **state)
{
    (void)state;
    far_frame *frame = table_of(TABLE);
    far_columns_opts o = options("species", FAR_LOSS_MSE);
    far_net *net = attached(frame, &o, "dense(3)");
    double f[ROWS * 3];
    far_prediction *p = predicted(net, frame, 0);
    outputs_of(net, frame, f);
    assert_memory_equal(p->mean.data, f, sizeof f);
    for (int i = 0; i < ROWS; i++) { /* the nearest point of the simplex, kept off its sides */
        double sum = 0;
        int best = 0;
        for (int k = 0; k < 3; k++) {
            double q = at(p->probability, i, k);
            assert_true(q > 0 && q < 1);
            sum += q;
            best = f[i * 3 + k] > f[i * 3 + best] ? k : best;
        }
        assert_near(sum, 1, 1e-12);
        assert_int_equal(p->classes[i], best);
        for (int k = 0; k < 3; k++) {
            assert_true(at(p->probability, i, best) >= at(p->probability, i, k));
        }
    }
    far_prediction_destroy(p);
    far_net_destroy(net);
    far_frame_destroy(frame);
}

static void options_of_infinite_models_are_refused(void **state)
{
    (void)state;
    far_frame *frame = table_of(TABLE);
    far_columns_opts o = options("y", FAR_LOSS_MSE);
    far_net *net = attached(frame, &o, "dense(1)");
    far_predict_opts predict;
    far_prediction *p = (far_prediction *)&test_heap;
    const char *times = "times and steps are for models of infinite width; a finite network "
                        "predicts with the weights it has";
    far_predict_opts_init(&predict);
    assert_int_equal(far_net_predict(ctx, net, frame, &predict, NULL), FAR_ERR_ARG);
    assert_int_equal(far_net_predict(ctx, NULL, frame, &predict, &p), FAR_ERR_ARG);
    assert_null(p);
    assert_int_equal(far_net_predict(ctx, net, NULL, &predict, &p), FAR_ERR_ARG);
    assert_int_equal(far_net_predict(ctx, net, frame, NULL, &p), FAR_ERR_ARG);
    predict.size = 3;
    assert_int_equal(far_net_predict(ctx, net, frame, &predict, &p), FAR_ERR_ARG);
    far_predict_opts_init(&predict);
    predict.spread = FAR_SPREAD_CALIBRATED;
    assert_int_equal(far_net_predict(ctx, net, frame, &predict, &p), FAR_ERR_ARG);
    assert_string_equal(
        far_ctx_message(ctx),
        "one finite network has no spread; train several (`seeds`) and compare them");
    far_predict_opts_init(&predict);
    predict.time = 3;
    assert_int_equal(far_net_predict(ctx, net, frame, &predict, &p), FAR_ERR_ARG);
    assert_string_equal(far_ctx_message(ctx), times);
    far_predict_opts_init(&predict);
    predict.steps = 5;
    predict.rate = 0.1;
    assert_int_equal(far_net_predict(ctx, net, frame, &predict, &p), FAR_ERR_ARG);
    assert_string_equal(far_ctx_message(ctx), times);
    far_net_destroy(net);
    far_frame_destroy(frame);
}

static void a_prediction_that_runs_away_is_named(void **state)
{
    (void)state;
    far_frame *frame = table_of("a,b,c\n1,2,3\n1e300,1e300,1e300\n");
    far_net *net = net_of("dense(1)", 3);
    double *w = far_net_parameters(net).data;
    w[0] = w[1] = w[2] = 1e200;
    far_prediction *p;
    far_predict_opts o;
    far_predict_opts_init(&o);
    assert_int_equal(far_net_predict(ctx, net, frame, &o, &p), FAR_ERR_RANGE);
    assert_string_equal(far_ctx_message(ctx), "row 2: the prediction is too large for a double; "
                                              "this network's output runs away there");
    far_net_destroy(net);
    far_frame_destroy(frame);
}

/* ---- at infinity ---- */

/* What the network does at t times the direction, in raw units. */
static void expect_limit(const far_net *net, const far_frame *frame, double t, double tolerance)
{
    enum { MOST = 32 };
    int64_t d = far_net_describe(net).inputs, o = far_net_describe(net).outputs;
    double x[MOST], y[MOST];
    far_prediction *p = predicted(net, frame, 1);
    far_mat mean = p->mean, order = p->order;
    for (int64_t i = 0; i < far_frame_rows(frame); i++) {
        for (int64_t j = 0; j < d; j++) {
            x[j] = t * far_frame_column(frame, j).numbers[i];
        }
        far_mat point = far_mat_view(x, 1, d, FAR_F64), value = far_mat_view(y, 1, o, FAR_F64);
        must(far_net_eval_raw(ctx, net, &point, &value));
        for (int64_t k = 0; k < o; k++) {
            double found = y[k] / pow(t, at(order, i, 0));
            assert_near(found, at(mean, i, k), tolerance * (1 + fabs(found)));
        }
    }
    far_prediction_destroy(p);
}

static far_net *scaled_net(const char *arch, int64_t outputs)
{
    far_net *net = net_of(arch, 3);
    double numbers[] = {10, -20, 5, 2, 3, 7, 100, -30, 4, 0.5};
    far_scaling s = {far_mat_view(numbers, 1, 3, FAR_F64), far_mat_view(numbers + 3, 1, 3, FAR_F64),
                     far_mat_view(numbers + 6, 1, outputs, FAR_F64),
                     far_mat_view(numbers + 8, 1, outputs, FAR_F64)};
    must(far_net_set_scaling(ctx, net, &s));
    return net;
}

static void limits_are_what_the_network_does_far_out(void **state)
{
    (void)state;
    far_frame *frame = table_of("a,b,c\n1,2,3\n-1,0.5,2\n0,-1,0\n");
    far_net *net = scaled_net("dense(11) relu dense(7) relu dense(2)", 2);
    far_prediction *p = predicted(net, frame, 1);
    for (int i = 0; i < 3; i++) {
        assert_true(at(p->order, i, 0) == 1);
    }
    far_prediction_destroy(p);
    expect_limit(net, frame, 1e9, 1e-6);
    far_net_destroy(net);
    net = scaled_net("dense(11) ln relu dense(2)", 2);
    p = predicted(net, frame, 1);
    assert_true(at(p->order, 0, 0) == 0);
    far_prediction_destroy(p);
    expect_limit(net, frame, 1e12, 1e-9);
    far_net_destroy(net);
    far_frame_destroy(frame);
}

/* Where one output runs away and the other does not, the second is nothing beside the first. */
static void outputs_of_a_smaller_order_vanish(void **state)
{
    (void)state;
    far_frame *frame = table_of("a,b,c\n1,0,0\n0,1,0\n");
    far_net *net = scaled_net("dense(2)", 2);
    memcpy(far_net_parameters(net).data, COLUMN(1, 0, 0, 0, 0, 0, 3, 5), 8 * sizeof(double));
    far_prediction *p = predicted(net, frame, 1);
    far_mat mean = p->mean, order = p->order;
    assert_true(at(order, 0, 0) == 1 && at(order, 1, 0) == 0);
    assert_near(at(mean, 0, 0), 4 * 0.5, 1e-15); /* scale 4, input scale 2 */
    assert_true(at(mean, 0, 1) == 0);
    assert_near(at(mean, 1, 0), 100 + 4 * 3, 1e-13);
    assert_near(at(mean, 1, 1), -30 + 0.5 * 5, 1e-13);
    far_prediction_destroy(p);
    far_net_destroy(net);
    far_frame_destroy(frame);
}

/* dense(3) whose output k has slope slopes[k] along a, and bias k. */
static far_net *classifier(const far_frame *frame, const double *slopes)
{
    far_columns_opts o = options("species", FAR_LOSS_CE);
    o.features = "a";
    o.standardize = FAR_STANDARDIZE_NONE;
    far_net *net = attached(frame, &o, "dense(3)");
    double *w = far_net_parameters(net).data;
    for (int k = 0; k < 3; k++) {
        w[k] = slopes[k];
        w[3 + k] = k;
    }
    return net;
}

static void expect_probabilities(const far_frame *frame, const double *slopes,
                                 const double *expected)
{
    far_frame *direction = table_of("a\n1\n");
    far_net *net = classifier(frame, slopes);
    far_prediction *p = predicted(net, direction, 1);
    for (int k = 0; k < 3; k++) {
        assert_near(at(p->mean, 0, k), expected[k], 1e-15);
    }
    assert_true(at(p->order, 0, 0) == 0);
    far_prediction_destroy(p);
    far_net_destroy(net);
    far_frame_destroy(direction);
}

static void classes_have_a_limit_even_where_outputs_have_none(void **state)
{
    (void)state;
    double e = exp(1), sum = 1 + e + e * e;
    far_frame *frame = table_of(TABLE);
    expect_probabilities(frame, COLUMN(1, 3, 2), COLUMN(0, 1, 0));
    expect_probabilities(frame, COLUMN(3, 3, 2), COLUMN(0.5, 0.5, 0));
    expect_probabilities(frame, COLUMN(-1, 0, 0), COLUMN(0, 1 / (1 + e), e / (1 + e)));
    expect_probabilities(frame, COLUMN(-1, -3, -2), COLUMN(1, 0, 0));
    expect_probabilities(frame, COLUMN(0, 0, 0), COLUMN(1 / sum, e / sum, e * e / sum));
    expect_probabilities(frame, COLUMN(0, 1e-9, -1), COLUMN(0, 1, 0));
    far_frame_destroy(frame);
}

static void two_classes_have_one_too(void **state)
{
    (void)state;
    far_frame *frame = table_of(TABLE), *direction = table_of("a\n1\n-1\n");
    far_columns_opts o = options("digit", FAR_LOSS_BCE);
    o.features = "a";
    o.standardize = FAR_STANDARDIZE_NONE;
    far_net *net = attached(frame, &o, "dense(1)");
    double *w = far_net_parameters(net).data;
    w[0] = 2;
    w[1] = -50;
    far_prediction *p = predicted(net, direction, 1);
    far_mat mean = p->mean;
    assert_true(at(mean, 0, 1) == 1 && at(mean, 0, 0) == 0);
    assert_true(at(mean, 1, 1) == 0 && at(mean, 1, 0) == 1);
    far_prediction_destroy(p);
    w[0] = 0;
    w[1] = 0.25;
    p = predicted(net, direction, 1);
    assert_near(at(p->mean, 0, 1), 1 / (1 + exp(-0.25)), 1e-15);
    far_prediction_destroy(p);
    far_net_destroy(net);
    far_frame_destroy(frame);
    far_frame_destroy(direction);
}

/* ---- no memory ---- */

static void everything_survives_every_failing_allocation(void **state)
{
    (void)state;
    far_frame *frame = table_of(TABLE);
    far_columns_opts o = options("species", FAR_LOSS_CE);
    far_net *net = net_of("dense(7) ln relu dense(3)", INPUTS);
    far_predict_opts predict;
    far_predict_opts_init(&predict);
    far_columns *plain;
    must(far_columns_unnamed(ctx, INPUTS, 3, &plain));
    must(far_net_set_columns(ctx, net, plain));
    int64_t live = test_heap.live_blocks;
    far_status st = FAR_ERR_MEMORY;
    for (int64_t k = 0; st == FAR_ERR_MEMORY; k++) {
        far_examples *d;
        far_prediction *p = NULL;
        test_heap.calls = 0;
        test_heap.fail_at = k;
        st = far_examples_learn(ctx, frame, &o, &d);
        assert_true((st == FAR_OK) == (d != NULL));
        st = st == FAR_OK ? far_net_set_columns(ctx, net, d->columns) : st;
        st = st == FAR_OK ? far_net_predict(ctx, net, frame, &predict, &p) : st;
        assert_true((st == FAR_OK) == (p != NULL));
        predict.at_infinity = 1;
        far_prediction_destroy(p);
        p = NULL;
        st = st == FAR_OK ? far_net_predict(ctx, net, frame, &predict, &p) : st;
        predict.at_infinity = 0;
        test_heap.fail_at = -1;
        far_prediction_destroy(p);
        far_examples_destroy(d);
        must(far_net_set_columns(ctx, net, plain));
        assert_int_equal(test_heap.live_blocks, live);
        assert_in_range(k, 0, 1000);
    }
    far_columns_destroy(plain);
    must(st);
    far_net_destroy(net);
    far_frame_destroy(frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(both_sides_are_standardised),
        TEST(values_stay_as_they_are_if_asked),
        TEST(classes_are_indicators),
        TEST(bce_takes_probabilities_as_they_are),
        TEST(rows_features_and_gaps_are_as_in_a_fit),
        TEST(bad_options_are_refused),
        TEST(bce_refuses_what_is_no_probability),
        TEST(a_network_of_another_width_is_refused),
        TEST(names_survive_a_file),
        TEST(copies_know_their_columns),
        TEST(rows_become_the_inputs_of_training),
        TEST(a_network_without_columns_takes_numbers_in_their_order),
        TEST(damaged_columns_are_refused),
        TEST(columns_survive_as_text),
        TEST(regressions_are_in_target_units),
        TEST(rows_can_be_chosen),
        TEST(cross_entropy_gives_the_softmax),
        TEST(binary_cross_entropy_gives_both_classes),
        TEST(squared_loss_gives_scores_and_probabilities),
        TEST(options_of_infinite_models_are_refused),
        TEST(a_prediction_that_runs_away_is_named),
        TEST(limits_are_what_the_network_does_far_out),
        TEST(outputs_of_a_smaller_order_vanish),
        TEST(classes_have_a_limit_even_where_outputs_have_none),
        TEST(two_classes_have_one_too),
        TEST(everything_survives_every_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
