/*
 * The watch of the trainer and the track: training is the same to the bit with them, moments are
 * those that were promised, rows are what the measures give by hand, a run that was stopped and
 * resumed has the rows of one that was not, and what is refused is refused before anything begins.
 */
#define _GNU_SOURCE
#include "base/base_internal.h"
#include "measure/track.h"

#include <farfield/farfield.h>

#define TEST_THREADS 2
#define TEST_OPEN open_anew
#include "harness.h"

#define ROWS 43
#define INPUTS 3
#define OUTPUTS 2
#define ARCH "dense(7) tanh dense(5) tanh dense(1)"

static char checkpoint[96], csv[96];

/* Without files of the test before. */
static int open_anew(void **state)
{
    unlink(checkpoint);
    unlink(csv);
    return open_context(state);
}

/* ---- data ---------------------------------------------------------------------------------- */

static double x_values[ROWS * INPUTS], y_values[ROWS * OUTPUTS];

static void fill_data(void)
{
    for (int i = 0; i < ROWS * INPUTS; i++) {
        x_values[i] = far_random_normal(1, (uint64_t)i);
    }
    for (int i = 0; i < ROWS; i++) {
        y_values[i] = sin(2 * x_values[i * INPUTS]);
    }
    for (int i = ROWS; i < ROWS * OUTPUTS; i++) {
        y_values[i] = far_random_normal(2, (uint64_t)i);
    }
}

static far_mat inputs(void)
{
    return far_mat_view(x_values, ROWS, INPUTS, FAR_F64);
}

static far_mat targets(int outputs)
{
    return far_mat_view(y_values, ROWS, outputs, FAR_F64);
}

static far_net *make_net(const char *arch, uint64_t seed)
{
    far_net_opts opts;
    far_net *net;
    far_net_opts_init(&opts);
    opts.inputs = INPUTS;
    opts.seed = seed;
    must(far_net_create(ctx, arch, &opts, &net));
    return net;
}

static far_train_opts gd(int64_t epochs)
{
    far_train_opts o;
    far_train_opts_init(&o);
    o.optimizer = FAR_OPTIMIZER_GD;
    o.lr = 0.05;
    o.epochs = epochs;
    o.progress_seconds = 0;
    return o;
}

static far_track *make_track(const far_net *net, const char *measures, int64_t every,
                             const far_train_opts *train, const char *file)
{
    far_track *track;
    far_track_opts o;
    far_mat x = inputs(), y = targets((int)far_net_describe(net).outputs);
    far_track_opts_init(&o, train);
    o.measures = measures;
    o.every = every;
    o.file = file;
    must(far_track_create(ctx, net, &x, &y, &o, &track));
    return track;
}

static void watch_by(far_train_opts *o, far_track **track, int64_t every)
{
    o->callback = far_track_callback;
    o->callback_user = track;
    o->callback_every = every;
}

static double at(const far_track *track, int64_t row, const char *name)
{
    far_mat m = far_track_describe(track).rows;
    int64_t column = far_track_find(track, name);
    assert_in_range(column, 0, m.cols - 1);
    assert_in_range(row, 0, m.rows - 1);
    return ((const double *)m.data)[row * m.cols + column];
}

static void assert_same_rows(const far_track *a, const far_track *b)
{
    far_mat m = far_track_describe(a).rows, n = far_track_describe(b).rows;
    assert_int_equal(m.rows, n.rows);
    assert_int_equal(m.cols, n.cols);
    assert_memory_equal(m.data, n.data, (size_t)(m.rows * m.cols) * sizeof(double));
}

/* ---- the watch ----------------------------------------------------------------------------- */

typedef struct diary {
    int64_t steps[64];
    double losses[64], rates[64], times[64];
    int count, saves, last;
    int fail_at; /* the moment, counted from 1, that fails; 0: none */
} diary;

static far_status note(far_ctx *c, void *user, const far_train_moment *m)
{
    diary *d = user;
    if (m->kind == FAR_MOMENT_SAVE) {
        d->saves++;
        return FAR_OK;
    }
    d->steps[d->count] = m->step;
    d->rates[d->count] = m->rate;
    d->times[d->count] = m->time;
    d->losses[d->count++] = m->loss;
    d->last += m->last;
    return d->count == d->fail_at ? far_fail(c, FAR_ERR_ARG, "enough of it") : FAR_OK;
}

typedef struct kind {
    const char *arch;
    int64_t batch;
    int32_t linearized, dtype, optimizer;
} kind;

static const kind KINDS[] = {
    {"dense(7) ln relu dense(1)", 0, 0, FAR_F32, FAR_OPTIMIZER_GD},
    {"dense(7) batchnorm tanh dense(1)", 11, 0, FAR_F32, FAR_OPTIMIZER_ADAM},
    {"dense(7) tanh dense(1)", 13, 1, FAR_F64, FAR_OPTIMIZER_MOMENTUM},
};

static far_train_opts opts_of(const kind *k)
{
    far_train_opts o = gd(9);
    o.optimizer = k->optimizer;
    o.batch = k->batch;
    o.linearized = k->linearized;
    o.dtype = k->dtype;
    o.lr = 0.01;
    return o;
}

static far_train_result train(far_net *net, const far_train_opts *o)
{
    far_train_result r;
    far_mat x = inputs(), y = targets(1);
    must(far_net_train(ctx, net, &x, &y, o, &r));
    return r;
}

static void assert_same_net(far_net *a, far_net *b)
{
    far_mat p = far_net_parameters(a), q = far_net_parameters(b);
    assert_memory_equal(p.data, q.data, (size_t)p.cols * sizeof(double));
}

static void a_watch_changes_no_bit(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(KINDS); i++) {
        far_train_opts o = opts_of(&KINDS[i]);
        diary d = {0};
        far_net *plain = make_net(KINDS[i].arch, 1), *seen = make_net(KINDS[i].arch, 1);
        far_train_result a = train(plain, &o);
        o.callback = note;
        o.callback_user = &d;
        o.callback_every = 4;
        far_train_result b = train(seen, &o);
        assert_same_net(plain, seen);
        assert_true(a.final_loss == b.final_loss && a.loss == b.loss && a.steps == b.steps);
        assert_int_equal(d.count, a.steps / 4 + 1 + (a.steps % 4 != 0));
        assert_true(d.last == 1 && d.losses[d.count - 1] == a.final_loss);
        far_net_destroy(plain);
        far_net_destroy(seen);
    }
}

static void moments_see_the_network_of_their_step(void **state)
{
    (void)state;
    diary d = {0};
    far_train_opts o = gd(10);
    o.callback = note;
    o.callback_user = &d;
    o.callback_every = 3;
    far_net *net = make_net(ARCH, 1);
    train(net, &o);
    const int64_t steps[] = {0, 3, 6, 9, 10};
    assert_int_equal(d.count, COUNT(steps));
    assert_memory_equal(d.steps, steps, sizeof steps);
    for (int i = 0; i < d.count; i++) {
        far_train_opts shorter = gd(steps[i]);
        far_net *other = make_net(ARCH, 1);
        assert_true(train(other, &shorter).final_loss == d.losses[i]);
        far_net_destroy(other);
    }
    far_net_destroy(net);
}

/* Two steps an epoch, of rates 1, 1, f, f, f^2, .. in units of lr; time adds them up. */
static void moments_tell_rate_and_time_of_a_schedule(void **state)
{
    (void)state;
    const double f = 0.25;
    diary d = {0};
    far_train_opts o = gd(4);
    o.optimizer = FAR_OPTIMIZER_SGD;
    o.batch = (ROWS + 1) / 2;
    o.schedule = (far_schedule){.kind = FAR_SCHEDULE_STEP, .factor = f, .every = 1};
    o.callback = note;
    o.callback_user = &d;
    o.callback_every = 1;
    far_net *net = make_net(ARCH, 1);
    train(net, &o);
    assert_int_equal(d.count, 9);
    double time = 0;
    for (int i = 0; i < d.count; i++) {
        double rate = pow(f, i == 0 ? 0 : (i - 1) / 2); /* of the last step done */
        time += i == 0 ? 0 : rate;
        assert_int_equal(d.steps[i], i);
        assert_near(d.rates[i], rate, 1e-15);
        assert_near(d.times[i], time, 1e-15);
    }
    far_net_destroy(net);
}

static void a_watch_that_fails_stops_training(void **state)
{
    (void)state;
    diary d = {.fail_at = 3};
    far_train_opts o = gd(50);
    far_train_result r;
    far_mat x = inputs(), y = targets(1);
    o.callback = note;
    o.callback_user = &d;
    o.callback_every = 5;
    o.checkpoint = checkpoint;
    far_net *net = make_net(ARCH, 1);
    refused(far_net_train(ctx, net, &x, &y, &o, &r), FAR_ERR_ARG, "enough of it");
    assert_true(r.steps == 10 && d.count == 3 && d.last == 0 && d.saves >= 2);
    assert_int_equal(access(checkpoint, F_OK), 0);
    o.callback_every = 0;
    refused(far_net_train(ctx, net, &x, &y, &o, &r), FAR_ERR_ARG, "callback_every is 0");
    far_net_destroy(net);
}

static void a_network_that_diverges_has_no_last_moment(void **state)
{
    (void)state;
    diary d = {0};
    far_train_opts o = gd(64);
    far_mat x = inputs(), y = targets(1);
    o.lr = 1e30;
    o.callback = note;
    o.callback_user = &d;
    o.callback_every = 1;
    far_net *net = make_net("dense(7) relu dense(1)", 1);
    assert_int_equal(far_net_train(ctx, net, &x, &y, &o, NULL), FAR_ERR_VALUE);
    assert_true(d.count > 0 && d.last == 0 && isfinite(d.losses[d.count - 1]));
    far_net_destroy(net);
}

/* ---- rows ---------------------------------------------------------------------------------- */

static void rows_are_the_measures_by_hand(void **state)
{
    (void)state;
    far_train_opts o = gd(10);
    far_net *net = make_net(ARCH, 1);
    far_track *track = make_track(net, "lmax,eos,kta,align:3,sigma", 4, &o, NULL);
    watch_by(&o, &track, 4);
    far_train_result r = train(net, &o);
    double kernel[ROWS * ROWS], values[ROWS], wanted[7];
    far_mat x = inputs(), y = targets(1), k = far_mat_view(kernel, ROWS, ROWS, FAR_F64);
    far_mat f = far_mat_view(values, ROWS, 1, FAR_F64);
    far_ntk_opts how;
    far_view *view;
    far_measure measures[8];
    int64_t count;
    how = (far_ntk_opts){.size = sizeof how};
    must(far_net_ntk(ctx, net, &x, NULL, &how, &k));
    must(far_net_eval(ctx, net, &x, &f));
    must(far_view_create(ctx, &k, 0, &view));
    must(far_measure_find_all(ctx, "lmax,eos:0.1,kta,align:3,sigma", measures, 8, &count));
    far_measure_input in = {.view = view, .targets = &y, .values = &f};
    must(far_measure_apply(ctx, &in, measures, count, wanted));
    far_mat rows = far_track_describe(track).rows;
    assert_true(rows.rows == 4 && rows.cols == 10);
    const double *row = (const double *)rows.data + 3 * rows.cols;
    for (int i = 0; i < 7; i++) {
        assert_near(row[FAR_TRACK_FIRST + i], wanted[i], 0);
    }
    assert_near(at(track, 3, "eos(0.1)"), 0.05 * at(track, 3, "lmax"), 1e-15);
    assert_near(at(track, 3, "loss"), r.final_loss / 2, 0);
    assert_near(at(track, 3, "time"), 10 * 2 * 0.05, 1e-15);
    assert_near(at(track, 1, "step"), 4, 0);
    far_view_destroy(view);
    far_track_destroy(track);
    far_net_destroy(net);
}

/* With two outputs: L is the mean square itself, lr its rate. The squared loss of the registry says
 * the same of the points. */
static void two_outputs(int32_t which, const char *measures, int64_t columns)
{
    far_mat x = inputs(), y = targets(OUTPUTS);
    far_train_opts o = gd(5);
    far_train_result r;
    far_track *track;
    far_track_opts how;
    far_net *net = make_net("dense(7) tanh dense(2)", 1);
    far_track_opts_init(&how, &o);
    how.measures = measures;
    how.outputs = which;
    how.output = 1;
    must(far_track_create(ctx, net, &x, &y, &how, &track));
    watch_by(&o, &track, 1);
    must(far_net_train(ctx, net, &x, &y, &o, &r));
    assert_int_equal(far_track_describe(track).columns, columns);
    assert_near(at(track, 5, "loss"), r.final_loss, 1e-15);
    assert_near(at(track, 5, "time"), 5 * 0.05, 1e-15);
    assert_true(at(track, 5, "kta") > 0 && at(track, 5, "kta") <= 1);
    far_track_destroy(track);
    far_net_destroy(net);
}

static void kernels_of_several_outputs(void **state)
{
    (void)state;
    two_outputs(FAR_NTK_TRACE, "kta,residual:0.1", 5);
    two_outputs(FAR_NTK_ONE, "kta,sigma", 5);
    two_outputs(FAR_NTK_FULL, "kta,sigma,align:60", 65);
    assert_near(far_track_rate(FAR_LOSS_MSE, 0.3, 1), 0.6, 1e-16);
    assert_near(far_track_rate(FAR_LOSS_BCE, 0.3, 3), 0.1, 1e-16);
    assert_near(far_track_rate(FAR_LOSS_CE, 0.3, 3), 0.3, 1e-16);
}

static void without_the_matrix_where_none_is_needed(void **state)
{
    (void)state;
    far_mat x = inputs(), y = targets(1);
    far_train_opts o = gd(4);
    far_track *track;
    far_track_opts how;
    far_net *net = make_net(ARCH, 1);
    far_track *formed = make_track(net, "lmax,align:2", 2, &o, NULL);
    far_track_opts_init(&how, &o);
    how.memory = 2e4; /* the matrix has 3e4 bytes, and is there twice */
    how.measures = "lmax,kta";
    refused(far_track_create(ctx, net, &x, &y, &how, &track), FAR_ERR_BUDGET, "tangent kernel");
    assert_null(track);
    how.measures = "lmax,align:2";
    must(far_track_create(ctx, net, &x, &y, &how, &track));
    far_train_moment m = {.net = net, .loss = 1, .rate = 1};
    must(far_track_callback(ctx, &formed, &m));
    must(far_track_callback(ctx, &track, &m));
    assert_near(at(track, 0, "lmax"), at(formed, 0, "lmax"), 1e-9);
    assert_near(at(track, 0, "align2"), at(formed, 0, "align2"), 1e-7);
    far_track_destroy(formed);
    far_track_destroy(track);
    far_net_destroy(net);
}

static void a_kernel_that_is_not_finite_is_a_row_of_nan(void **state)
{
    (void)state;
    far_train_opts o = gd(1);
    far_net *net = make_net("dense(7) relu dense(1)", 1);
    far_track *track = make_track(net, "lmax,kta", 1, &o, NULL);
    far_mat p = far_net_parameters(net);
    for (int64_t i = 0; i < p.cols; i++) {
        ((double *)p.data)[i] *= 1e200;
    }
    far_train_moment m = {.net = net, .step = 1, .loss = 3, .rate = 1, .time = 1};
    must(far_track_callback(ctx, &track, &m));
    assert_true(isnan(at(track, 0, "lmax")) && isnan(at(track, 0, "kta")));
    assert_near(at(track, 0, "loss"), 1.5, 0);
    far_track_destroy(track);
    far_net_destroy(net);
}

/* A frozen layer leaves the kernel; what a track holds can be asked of it. */
static void a_track_of_some_layers(void **state)
{
    (void)state;
    far_train_opts o = gd(1);
    unsigned char layers[2] = {1, 1};
    far_net *net = make_net("dense(7) tanh dense(1)", 1);
    far_track *all = make_track(net, "lmax,kta", 1, &o, NULL);
    far_train_moment m = {.net = net, .step = 1, .loss = 3, .rate = 1, .time = 1};
    double lmax[3];
    must(far_track_callback(ctx, &all, &m));
    lmax[0] = at(all, 0, "lmax");
    for (int i = 0; i < 2; i++) {
        layers[0] = i == 0;
        layers[1] = i == 1;
        o.layers = layers;
        far_track *some = make_track(net, "lmax,kta", 1, &o, NULL);
        layers[0] = layers[1] = 0; /* the track has its own copy */
        must(far_track_callback(ctx, &some, &m));
        lmax[1 + i] = at(some, 0, "lmax");
        assert_true(far_track_describe(some).seconds > 0);
        far_track_destroy(some);
    }
    assert_true(lmax[0] > lmax[1] && lmax[0] > lmax[2]);
    assert_true(lmax[0] <= (lmax[1] + lmax[2]) * (1 + 1e-12)); /* of a sum of two kernels */
    assert_string_equal(far_track_describe(all).names[3], "lmax");
    assert_int_equal(far_track_describe(all).columns, 5);
    assert_int_equal(far_track_find(all, "sigma"), -1);
    assert_int_equal(far_track_describe(all).measure_count, 2);
    far_ctx *other = context_with(1);
    assert_int_equal(far_track_callback(other, &all, &m), FAR_ERR_ARG);
    assert_non_null(strstr(far_ctx_message(other), "another context"));
    far_ctx_destroy(other);
    far_track_destroy(all);
    far_net_destroy(net);
}

/* The kernel of a network of zeros is 0: no power law, but a largest eigenvalue. */
static void a_measure_without_a_value_leaves_the_others(void **state)
{
    (void)state;
    far_train_opts o = gd(1);
    far_net *net = make_net("dense(7, nobias) relu dense(1, nobias)", 1);
    far_mat p = far_net_parameters(net);
    far_track *track = make_track(net, "lmax,nu:1:5,sigma", 1, &o, NULL);
    memset(p.data, 0, (size_t)p.cols * sizeof(double));
    far_train_moment m = {.net = net, .step = 1, .loss = 3, .rate = 1, .time = 1};
    must(far_track_callback(ctx, &track, &m));
    assert_true(at(track, 0, "lmax") == 0);
    assert_true(isnan(((const double *)far_track_describe(track).rows.data)[4])); /* nu */
    far_track_destroy(track);
    far_net_destroy(net);
}

/* ---- several, and resumed ------------------------------------------------------------------ */

enum { SEEDS = 5 };

static void train_many(far_track **tracks, far_net **nets)
{
    far_mat x = inputs(), y = targets(1);
    far_train_opts o = gd(12);
    uint64_t seeds[SEEDS];
    far_train_result results[SEEDS];
    for (int i = 0; i < SEEDS; i++) {
        seeds[i] = (uint64_t)i;
        nets[i] = make_net(ARCH, seeds[i]);
        tracks[i] = make_track(nets[i], "lmax,kta", 5, &o, NULL);
    }
    o.callback = far_track_callback;
    o.callback_user = tracks;
    o.callback_every = 5;
    must(far_net_train_many(ctx, nets, SEEDS, &x, &y, &o, seeds, NULL, results));
    for (int i = 0; i < SEEDS; i++) {
        assert_int_equal(results[i].steps, 12);
    }
}

static void side_by_side_as_one_by_one(void **state)
{
    (void)state;
    far_track *tracks[SEEDS];
    far_net *nets[SEEDS];
    train_many(tracks, nets);
    for (int i = 0; i < SEEDS; i++) {
        far_train_opts o = gd(12);
        far_net *net = make_net(ARCH, (uint64_t)i);
        far_track *track = make_track(net, "lmax,kta", 5, &o, NULL);
        watch_by(&o, &track, 5);
        o.seed = (uint64_t)i;
        train(net, &o);
        assert_same_net(net, nets[i]);
        assert_int_equal(far_track_describe(track).rows.rows, 4);
        assert_same_rows(track, tracks[i]);
        far_track_destroy(track);
        far_track_destroy(tracks[i]);
        far_net_destroy(net);
        far_net_destroy(nets[i]);
    }
}

/* Fails in one network: all stop. */
static void one_of_many_fails(void **state)
{
    (void)state;
    far_mat x = inputs(), y = targets(1);
    far_net *nets[SEEDS];
    diary d = {.fail_at = 4};
    far_train_opts o = gd(12);
    for (int i = 0; i < SEEDS; i++) {
        nets[i] = make_net(ARCH, (uint64_t)i);
    }
    o.callback = note;
    o.callback_user = &d;
    o.callback_every = 5;
    refused(far_net_train_many(ctx, nets, SEEDS, &x, &y, &o, NULL, NULL, NULL), FAR_ERR_ARG,
            "enough of it");
    assert_true(d.count == 4 && d.last == 0);
    for (int i = 0; i < SEEDS; i++) {
        far_net_destroy(nets[i]);
    }
}

/* Also when only the last network is left, which is not in the first place any more. */
static void many_can_be_cancelled(void **state)
{
    (void)state;
    far_mat x = inputs(), y = targets(1);
    const int64_t counts[] = {2, 3, 5};
    for (int i = 0; i < COUNT(counts); i++) {
        far_net *nets[SEEDS];
        diary d = {0};
        far_train_opts o = gd(40);
        for (int k = 0; k < counts[i]; k++) {
            nets[k] = make_net(ARCH, (uint64_t)k);
        }
        o.callback = note;
        o.callback_user = &d;
        o.callback_every = 8;
        ear.stop_at = ear.calls + 20 * (int)(counts[i] - 1) + 30;
        assert_int_equal(far_net_train_many(ctx, nets, counts[i], &x, &y, &o, NULL, NULL, NULL),
                         FAR_ERR_CANCELLED);
        ear.stop_at = 0;
        for (int k = 0; k < counts[i]; k++) {
            far_net_destroy(nets[k]);
        }
    }
}

static far_track *interrupted_then_resumed(int calls, far_net **net)
{
    far_mat x = inputs(), y = targets(1);
    far_train_opts o = gd(40);
    o.batch = 17;
    o.optimizer = FAR_OPTIMIZER_SGD;
    o.checkpoint = checkpoint;
    o.checkpoint_seconds = 0;
    *net = make_net(ARCH, 1);
    far_track *track = make_track(*net, "lmax,kta", 7, &o, csv);
    watch_by(&o, &track, 7);
    ear.stop_at = ear.calls + calls;
    assert_int_equal(far_net_train(ctx, *net, &x, &y, &o, NULL), FAR_ERR_CANCELLED);
    ear.stop_at = 0;
    far_track_destroy(track);
    far_net_destroy(*net);
    *net = make_net(ARCH, 1);
    track = make_track(*net, "lmax,kta", 7, &o, csv);
    must(far_track_load(ctx, track, csv));
    watch_by(&o, &track, 7);
    o.resume = 1;
    must(far_net_train(ctx, *net, &x, &y, &o, NULL));
    return track;
}

static void a_resumed_run_has_the_rows_of_one_that_was_not_stopped(void **state)
{
    (void)state;
    far_train_opts o = gd(40);
    o.batch = 17;
    o.optimizer = FAR_OPTIMIZER_SGD;
    far_net *net = make_net(ARCH, 1), *again;
    far_track *whole = make_track(net, "lmax,kta", 7, &o, NULL);
    watch_by(&o, &whole, 7);
    train(net, &o);
    const int calls[] = {12, 61, 200}; /* also in the middle of a row */
    for (int i = 0; i < COUNT(calls); i++) {
        far_track *track = interrupted_then_resumed(calls[i], &again);
        assert_same_rows(track, whole);
        assert_same_net(net, again);
        far_track_destroy(track);
        far_net_destroy(again);
    }
    far_track_destroy(whole);
    far_net_destroy(net);
}

/* ---- files --------------------------------------------------------------------------------- */

static void put(far_track *track, double step, double loss, double value)
{
    double row[] = {step, 2 * step, loss, value, NAN};
    must(far_track_append(track, row));
}

static void a_file_comes_back(void **state)
{
    (void)state;
    far_train_opts o = gd(1);
    far_net *net = make_net(ARCH, 1);
    far_track *a = make_track(net, "lmax,kta", 5, &o, NULL);
    far_track *b = make_track(net, "lmax,kta", 5, &o, NULL);
    put(a, 0, 0.1, 1.0 / 3);
    put(a, 5, 1e-300, 7);
    put(a, 7, 0.01, 8); /* the end of a run */
    must(far_track_save(ctx, a, csv));
    must(far_track_load(ctx, b, csv));
    assert_int_equal(far_track_describe(b).rows.rows, 2);
    assert_true(at(b, 0, "lmax") == 1.0 / 3 && isnan(at(b, 0, "kta")) && at(b, 1, "time") == 10);
    put(b, 5, 0.5, 9); /* replaces, and so does one before */
    assert_true(far_track_describe(b).rows.rows == 2 && at(b, 1, "lmax") == 9);
    put(b, 0, 0.5, 9);
    assert_int_equal(far_track_describe(b).rows.rows, 1);
    far_track_destroy(a);
    far_track_destroy(b);
    far_net_destroy(net);
}

static void files_of_others_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "step,time,loss,lmax\n0,0,1,2\n",     "",
        "step,time,loss,lmax,kta\n0,0,1,2\n", "step,time,loss,lmax,kta\n0,0,1,2,x\n",
        "step,time,loss,lmax,kta\n0,0,1,2,3", "step,time,loss,lmax,kta\n0,0,1,2,3,4\n",
        "step,time,loss,lmax,kta\n,0,1,2,3\n"};
    far_train_opts o = gd(1);
    far_net *net = make_net(ARCH, 1);
    far_track *track = make_track(net, "lmax,kta", 5, &o, NULL);
    for (int i = 0; i < COUNT(texts); i++) {
        write_text(csv, texts[i]);
        refused(far_track_load(ctx, track, csv), FAR_ERR_FORMAT,
                i < 2   ? "another run"
                : i < 6 ? "line 2: not 5 numbers"
                        : "line 2: no step");
    }
    far_track_destroy(track);
    far_net_destroy(net);
}

/* ---- equal loss ---------------------------------------------------------------------------- */

static void rows_at_a_loss(void **state)
{
    (void)state;
    far_train_opts o = gd(1);
    double row[5];
    far_net *net = make_net(ARCH, 1);
    far_track *track = make_track(net, "lmax,kta", 5, &o, NULL);
    put(track, 0, 1, 10);
    put(track, 10, 0.01, 20);
    put(track, 20, 0.5, 30); /* the first fall counts */
    put(track, 30, 0.0001, 40);
    must(far_track_at_loss(ctx, track, 0.1, row));
    assert_near(row[FAR_TRACK_STEP], 5, 1e-12);
    assert_near(row[FAR_TRACK_TIME], 10, 1e-12);
    assert_near(row[FAR_TRACK_LOSS], 0.1, 0);
    assert_near(row[3], 15, 1e-12);
    assert_true(isnan(row[4]));
    must(far_track_at_loss(ctx, track, 0.01, row));
    assert_true(row[FAR_TRACK_STEP] == 10 && row[3] == 20);
    must(far_track_at_loss(ctx, track, 3, row));
    assert_true(row[FAR_TRACK_STEP] == 0 && row[FAR_TRACK_LOSS] == 1);
    must(far_track_at_loss(ctx, track, 1e-9, row));
    assert_true(isnan(row[FAR_TRACK_STEP]) && isnan(row[3]));
    refused(far_track_at_loss(ctx, track, 0, row), FAR_ERR_ARG, "loss is 0");
    refused(far_track_at_loss(ctx, track, INFINITY, row), FAR_ERR_ARG, "loss is");
    refused(far_track_at_loss(ctx, track, NAN, row), FAR_ERR_ARG, "loss is");
    far_track_destroy(track);
    far_net_destroy(net);
}

/* ---- what is refused ----------------------------------------------------------------------- */

typedef struct refusal {
    const char *measures;
    far_status status;
    const char *part;
} refusal;

/* As much data between rows as in 50 steps of the whole batch. */
static void small_batches_are_measured_less_often(void **state)
{
    (void)state;
    assert_int_equal(far_track_every(1000, 0), 50);
    assert_int_equal(far_track_every(1000, 1000), 50);
    assert_int_equal(far_track_every(1000, 5000), 50);
    assert_int_equal(far_track_every(1000, 128), 391);
    assert_int_equal(far_track_every(1000, 1), 50000);
    assert_int_equal(far_track_every(1, 128), 50);
}

static void mistakes_are_refused_before_training(void **state)
{
    (void)state;
    static const refusal all[] = {
        {NULL, FAR_ERR_ARG, "name the measures"},
        {"lmx", FAR_ERR_ARG, "did you mean \"lmax\""},
        {"cond", FAR_ERR_ARG, "cond:RIDGE"},
        {"lmax,lmax", FAR_ERR_ARG, "lmax would be there twice"},
        {"align:3,align:2", FAR_ERR_ARG, "align1 would be there twice"},
        {"loss", FAR_ERR_ARG, "every track has it"},
        {"magma", FAR_ERR_VALUE, "no full grid"},
        {"nu:20:90", FAR_ERR_ARG, "nu"},
    };
    far_mat x = inputs(), y = targets(1), wide = targets(OUTPUTS);
    far_train_opts train_opts = gd(1);
    far_track *track;
    far_track_opts o;
    far_net *net = make_net(ARCH, 1);
    for (int i = 0; i < COUNT(all); i++) {
        far_track_opts_init(&o, &train_opts);
        o.measures = all[i].measures;
        refused(far_track_create(ctx, net, &x, &y, &o, &track), all[i].status, all[i].part);
        assert_null(track);
    }
    o.measures = "kta";
    refused(far_track_create(ctx, net, &x, NULL, &o, &track), FAR_ERR_ARG, "kta: needs targets");
    refused(far_track_create(ctx, net, &x, &wide, &o, &track), FAR_ERR_SHAPE, "y");
    refused(far_track_create(ctx, net, &y, &y, &o, &track), FAR_ERR_SHAPE, "x");
    refused(far_track_create(ctx, NULL, &x, &y, &o, &track), FAR_ERR_ARG, "network is NULL");
    far_mat empty = x;
    empty.rows = 0;
    refused(far_track_create(ctx, net, &empty, NULL, &o, &track), FAR_ERR_SHAPE, "x has no rows");
    for (int i = 0; i < 2; i++) { /* a number that is none, in x and in y */
        double *at = i == 0 ? &x_values[3] : &y_values[2], kept = *at;
        *at = NAN;
        refused(far_track_create(ctx, net, &x, &y, &o, &track), FAR_ERR_VALUE, i == 0 ? "x" : "y");
        *at = kept;
    }
    o.every = 0;
    refused(far_track_create(ctx, net, &x, &y, &o, &track), FAR_ERR_ARG, "every is 0");
    far_track_opts_init(&o, NULL);
    o.measures = "kta";
    refused(far_track_create(ctx, net, &x, &y, &o, &track), FAR_ERR_ARG, "lr is");
    o.lr = INFINITY;
    refused(far_track_create(ctx, net, &x, &y, &o, &track), FAR_ERR_ARG, "lr is");
    refused(far_track_create(ctx, net, &x, &y, NULL, &track), FAR_ERR_ARG, "far_track_opts_init");
    o.lr = 1;
    o.loss = 7;
    refused(far_track_create(ctx, net, &x, &y, &o, &track), FAR_ERR_ARG, "no far_loss");
    o.size = 0;
    refused(far_track_create(ctx, net, &x, &y, &o, &track), FAR_ERR_ARG, "far_track_opts_init");
    refused(far_track_callback(ctx, NULL, &(far_train_moment){0}), FAR_ERR_ARG, "track is NULL");
    far_net_destroy(net);
}

/* ---- memory -------------------------------------------------------------------------------- */

static far_status whole(far_net *net, const far_train_opts *train_opts)
{
    far_mat x = inputs(), y = targets(1);
    far_train_opts o = *train_opts;
    far_track_opts how;
    far_track *track = NULL;
    far_track_opts_init(&how, &o);
    how.measures = "lmax,kta,sigma";
    how.file = csv;
    far_status st = far_track_create(ctx, net, &x, &y, &how, &track);
    if (st == FAR_OK) {
        watch_by(&o, &track, 2);
        st = far_net_train(ctx, net, &x, &y, &o, NULL);
    }
    if (st == FAR_OK) {
        st = far_track_load(ctx, track, csv);
    }
    far_track_destroy(track);
    return st;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    far_train_opts o = gd(3);
    far_net *net = make_net(ARCH, 1);
    int64_t before = test_heap.live_blocks, failures = 0;
    for (;; failures++) {
        test_heap.calls = 0;
        test_heap.fail_at = failures;
        far_status st = whole(net, &o);
        test_heap.fail_at = -1;
        assert_int_equal(test_heap.live_blocks, before);
        if (st == FAR_OK) {
            break;
        }
        assert_int_equal(st, FAR_ERR_MEMORY);
    }
    assert_true(failures > 50);
    far_net_destroy(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_watch_changes_no_bit),
        TEST(a_track_of_some_layers),
        TEST(a_measure_without_a_value_leaves_the_others),
        TEST(moments_see_the_network_of_their_step),
        TEST(moments_tell_rate_and_time_of_a_schedule),
        TEST(a_watch_that_fails_stops_training),
        TEST(a_network_that_diverges_has_no_last_moment),
        TEST(rows_are_the_measures_by_hand),
        TEST(kernels_of_several_outputs),
        TEST(without_the_matrix_where_none_is_needed),
        TEST(a_kernel_that_is_not_finite_is_a_row_of_nan),
        TEST(side_by_side_as_one_by_one),
        TEST(one_of_many_fails),
        TEST(many_can_be_cancelled),
        TEST(a_resumed_run_has_the_rows_of_one_that_was_not_stopped),
        TEST(a_file_comes_back),
        TEST(files_of_others_are_refused),
        TEST(rows_at_a_loss),
        TEST(small_batches_are_measured_less_often),
        TEST(mistakes_are_refused_before_training),
        TEST(every_allocation_may_fail),
    };
    fill_data();
    if (enter_folder(NULL)) {
        perror(folder);
        return 1;
    }
    snprintf(checkpoint, sizeof checkpoint, "%s/run.checkpoint", folder);
    snprintf(csv, sizeof csv, "%s/track.csv", folder);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(checkpoint);
    unlink(csv);
    return failed || leave_folder(NULL);
}
