/*
 * The selective pull towards the start: counted in steps where it goes down the slope of the loss,
 * left out in others, so that the loss never rises.
 */
#define _GNU_SOURCE
#include "net/net_internal.h"

#include <farfield/farfield.h>

#define TEST_THREADS 2
#define TEST_OPEN open_anew
#define TEST_CLOSE close_clean
#include "harness.h"

#include "seal.h"

#define ROWS 211
#define INPUTS 3
#define ARCH "dense(7) tanh dense(5) tanh dense(1)"
#define RATE 0.03
#define RIDGE 40.0

static char checkpoint[96];
static double x_values[ROWS * INPUTS], y_values[ROWS];

/* Without a checkpoint, listening to training alone. */
static int open_anew(void **state)
{
    int failed = open_context(state);
    ear.only = "train";
    unlink(checkpoint);
    return failed;
}

static int close_clean(void **state)
{
    unlink(checkpoint);
    return close_context(state);
}

static void fill_data(void)
{
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < INPUTS; j++) {
            x_values[i * INPUTS + j] = far_random_normal(1, (uint64_t)(i * INPUTS + j));
        }
        y_values[i] = sin(2 * x_values[i * INPUTS]) + 0.3 * x_values[i * INPUTS + 1];
    }
}

static far_net *make_net(void)
{
    far_net_opts opts;
    far_net *net;
    far_net_opts_init(&opts);
    opts.inputs = INPUTS;
    opts.seed = 3;
    must_do(far_net_create(ctx, ARCH, &opts, &net), ARCH);
    return net;
}

static far_train_opts new_opts(int64_t epochs, int selective)
{
    far_train_opts o;
    far_train_opts_init(&o);
    o.optimizer = FAR_OPTIMIZER_GD;
    o.dtype = FAR_F64;
    o.lr = RATE;
    o.epochs = epochs;
    o.l2_to_init = RIDGE;
    o.selective = selective;
    o.progress_seconds = 0;
    return o;
}

static far_status train(far_net *net, const far_train_opts *o)
{
    far_mat x = far_mat_view(x_values, ROWS, INPUTS, FAR_F64);
    far_mat y = far_mat_view(y_values, ROWS, 1, FAR_F64);
    return far_net_train(ctx, net, &x, &y, o, NULL);
}

static bool same_parameters(far_net *a, far_net *b)
{
    far_mat p = far_net_parameters(a), q = far_net_parameters(b);
    return memcmp(p.data, q.data, (size_t)p.cols * sizeof(double)) == 0;
}

/* ---- one step by hand ----------------------------------------------------------------------- */

/* The gradient of the mean of squares. */
static void gradient_of(const far_net *net, double *gradient, int64_t count)
{
    double f[ROWS], slope[ROWS];
    far_mat x = far_mat_view(x_values, ROWS, INPUTS, FAR_F64);
    far_mat out = far_mat_view(f, ROWS, 1, FAR_F64), u = far_mat_view(slope, ROWS, 1, FAR_F64);
    far_mat g = far_mat_view(gradient, 1, count, FAR_F64);
    must_do(far_net_eval(ctx, net, &x, &out), "eval");
    for (int i = 0; i < ROWS; i++) {
        slope[i] = 2 * (f[i] - y_values[i]) / ROWS;
    }
    must_do(far_net_vjp(ctx, net, &x, &u, &g, NULL), "vjp");
}

/* How far a linearised network has moved along the gradient at its start: all layers but the last,
 * and the last one. */
typedef struct moved {
    double first, last;
} moved;

static far_net *moved_net(moved much)
{
    far_net *net = make_net();
    far_mat p = far_net_parameters(net);
    int64_t tensors = far_net_describe(net).tensors;
    double *gradient = malloc((size_t)p.cols * sizeof *gradient);
    gradient_of(net, gradient, p.cols);
    must_do(far_net_linearize(ctx, net), "linearize");
    int64_t last = far_net_tensor(net, tensors - 2).parameter;
    for (int64_t i = 0; i < p.cols; i++) {
        ((double *)p.data)[i] += (i < last ? much.first : much.last) * gradient[i];
    }
    free(gradient);
    return net;
}

/* One step of all layers, or of the last alone, from there; pulls: whether it shall. */
static void assert_step(moved much, bool last_alone, bool pulls)
{
    static const unsigned char LAST[] = {0, 0, 1};
    far_net *net = moved_net(much);
    far_mat p = far_net_parameters(net), start = far_net_start(net);
    size_t bytes = (size_t)p.cols * sizeof(double);
    int64_t last = far_net_tensor(net, far_net_describe(net).tensors - 2).parameter;
    double *gradient = malloc(bytes), *before = malloc(bytes);
    far_train_opts o = new_opts(1, 1);
    o.layers = last_alone ? LAST : NULL;
    gradient_of(net, gradient, p.cols);
    memcpy(before, p.data, bytes);
    must_do(train(net, &o), "train");
    for (int64_t i = 0; i < p.cols; i++) {
        double pull = pulls ? 2 * RIDGE / ROWS * (before[i] - ((double *)start.data)[i]) : 0;
        double step = last_alone && i < last ? 0 : RATE * (gradient[i] + pull);
        assert_near(((double *)p.data)[i], before[i] - step, 1e-12);
    }
    free(gradient);
    free(before);
    far_net_destroy(net);
}

static void a_step_is_pulled_down_the_slope_alone(void **state)
{
    (void)state;
    assert_step((moved){0.05, 0.05}, false, true);    /* the way back goes down the slope */
    assert_step((moved){-0.05, -0.05}, false, false); /* and here up */
}

static void layers_that_stay_do_not_count(void **state)
{
    (void)state;
    assert_step((moved){0.5, -0.01}, false, true);
    assert_step((moved){0.5, -0.01}, true, false);
    assert_step((moved){-0.5, 0.01}, false, false);
    assert_step((moved){-0.5, 0.01}, true, true);
}

/* ---- many steps ----------------------------------------------------------------------------- */

/* The largest rise of the loss from one epoch to the next, of a network that has fitted the data
 * before it is pulled back to where it started. */
static double largest_rise(int selective)
{
    enum { EPOCHS = 200 };
    double history[EPOCHS], rise = -INFINITY;
    far_net *net = make_net();
    far_train_opts o = new_opts(300, 0);
    o.linearized = 1;
    o.l2_to_init = 0;
    must_do(train(net, &o), "without a pull");
    o = new_opts(EPOCHS, selective);
    o.history = history;
    must_do(train(net, &o), "with it");
    for (int i = 1; i < EPOCHS; i++) {
        rise = fmax(rise, history[i] - history[i - 1]);
    }
    far_net_destroy(net);
    return rise;
}

static void the_loss_never_rises(void **state)
{
    (void)state;
    assert_true(largest_rise(0) > 1e-4);
    assert_true(largest_rise(1) <= 0);
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    far_ctx *kept = ctx;
    far_net *nets[3];
    for (int i = 0; i < 3; i++) {
        far_train_opts o = new_opts(7, 1);
        o.optimizer = FAR_OPTIMIZER_SGD;
        o.batch = 97;
        o.dtype = FAR_F32;
        nets[i] = make_net();
        ctx = context_with(i + 1);
        must_do(train(nets[i], &o), "train");
        far_ctx_destroy(ctx);
        ctx = kept;
        assert_true(same_parameters(nets[0], nets[i]));
    }
    for (int i = 0; i < 3; i++) {
        far_net_destroy(nets[i]);
    }
}

/* Without a pull there is nothing to choose. */
static void without_a_pull_it_changes_nothing(void **state)
{
    (void)state;
    far_net *a = make_net(), *b = make_net();
    far_train_opts o = new_opts(9, 0), p = new_opts(9, 1);
    o.l2_to_init = p.l2_to_init = 0;
    must_do(train(a, &o), "plain");
    must_do(train(b, &p), "selective");
    assert_true(same_parameters(a, b));
    far_net_destroy(a);
    far_net_destroy(b);
}

/* ---- checkpoints ---------------------------------------------------------------------------- */

static void interrupt(int selective)
{
    far_net *net = make_net();
    far_train_opts o = new_opts(8, selective);
    o.checkpoint = checkpoint;
    ear.stop_done = 3;
    assert_int_equal(train(net, &o), FAR_ERR_CANCELLED);
    ear.stop_done = 0;
    far_net_destroy(net);
}

static far_status resume(int selective, far_net *net)
{
    far_train_opts o = new_opts(8, selective);
    o.checkpoint = checkpoint;
    o.resume = 1;
    return train(net, &o);
}

static void a_checkpoint_knows_the_rule(void **state)
{
    (void)state;
    far_net *net = make_net(), *whole = make_net();
    far_train_opts o = new_opts(8, 1);
    interrupt(1);
    assert_int_equal(resume(0, net), FAR_ERR_FORMAT);
    assert_non_null(strstr(far_ctx_message(ctx), "selective was 1, and is 0 now"));
    must_do(resume(1, net), "resumed");
    must_do(train(whole, &o), "at once");
    assert_true(same_parameters(net, whole));
    far_net_destroy(net);
    far_net_destroy(whole);
}

/* The checkpoint as a program wrote it that did not know the rule. */
static void forget_the_rule(void)
{
    static const char KEY[] = "train.selective";
    FILE *file = fopen(checkpoint, "r+b");
    char bytes[16384];
    size_t count = fread(bytes, 1, sizeof bytes, file);
    char *key = memmem(bytes, count, KEY, sizeof KEY - 1);
    assert_non_null(key);
    memcpy(key, "train.forgotten", sizeof KEY - 1);
    seal_tensors(bytes, count);
    rewind(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

static void an_older_checkpoint_had_no_rule(void **state)
{
    (void)state;
    far_net *net = make_net();
    interrupt(0);
    forget_the_rule();
    assert_int_equal(resume(1, net), FAR_ERR_FORMAT);
    must_do(resume(0, net), "resumed");
    far_net_destroy(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_step_is_pulled_down_the_slope_alone),
        TEST(the_loss_never_rises),
        TEST(threads_change_no_bit),
        TEST(without_a_pull_it_changes_nothing),
        TEST(layers_that_stay_do_not_count),
        TEST(a_checkpoint_knows_the_rule),
        TEST(an_older_checkpoint_had_no_rule),
    };
    const char *parent = getenv("TMPDIR");
    snprintf(checkpoint, sizeof checkpoint, "%.40s/farfield-selective-%d", parent ? parent : "/tmp",
             (int)getpid());
    fill_data();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
