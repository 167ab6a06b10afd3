/*
 * Training: the same bits whatever the threads, the interruptions and the company; what is refused
 * and how that is said; ends by loss, by divergence, by the caller; memory. That the steps are
 * right is the matter of numeric/test_training.c.
 */
#define _GNU_SOURCE
#include "net/net_internal.h"

#include <farfield/farfield.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#define TEST_THREADS 2
#define TEST_OPEN open_anew
#include "harness.h"

#include "seal.h"

#define ROWS 211
#define INPUTS 3
#define ARCH "dense(7) ln relu dense(5) tanh dense(1)"
#define LAYERS 3
#define MOST_PARAMETERS 256

static char checkpoint[96];

/* Without a checkpoint, listening to training alone. */
static int open_anew(void **state)
{
    int failed = open_context(state);
    ear.only = "train";
    unlink(checkpoint);
    return failed;
}

/* ---- networks and data ---------------------------------------------------------------------- */

static double x_values[ROWS * INPUTS], y_values[ROWS];
#define VAL_ROWS 45
static double val_x_values[VAL_ROWS * INPUTS], val_y_values[VAL_ROWS];
static const far_mat val_x = {
    .data = val_x_values, .rows = VAL_ROWS, .cols = INPUTS, .ld = INPUTS, .dtype = FAR_F64};
static const far_mat val_y = {
    .data = val_y_values, .rows = VAL_ROWS, .cols = 1, .ld = 1, .dtype = FAR_F64};

static void fill_data(void)
{
    for (int i = 0; i < VAL_ROWS * INPUTS; i++) {
        val_x_values[i] = far_random_normal(8, (uint64_t)i);
    }
    for (int i = 0; i < VAL_ROWS; i++) {
        val_y_values[i] = sin(2 * val_x_values[i * INPUTS]) + far_random_normal(9, (uint64_t)i);
    }
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < INPUTS; j++) {
            x_values[i * INPUTS + j] = far_random_normal(1, (uint64_t)(i * INPUTS + j));
        }
        y_values[i] = sin(2 * x_values[i * INPUTS]) + 0.3 * x_values[i * INPUTS + 1];
    }
}

static far_mat all_x(void)
{
    return far_mat_view(x_values, ROWS, INPUTS, FAR_F64);
}

static far_mat all_y(void)
{
    return far_mat_view(y_values, ROWS, 1, FAR_F64);
}

static far_net *make_net(const char *arch, uint64_t seed)
{
    far_net_opts opts;
    far_net *net;
    far_net_opts_init(&opts);
    opts.inputs = INPUTS;
    opts.seed = seed;
    must_do(far_net_create(ctx, arch, &opts, &net), arch);
    assert_in_range(far_net_describe(net).parameters, 0, MOST_PARAMETERS);
    return net;
}

static far_train_opts new_opts(int64_t epochs, int64_t batch)
{
    far_train_opts o;
    far_train_opts_init(&o);
    o.epochs = epochs;
    o.batch = batch;
    o.seed = 5;
    o.progress_seconds = 0;
    return o;
}

static far_status train(far_net *net, const far_train_opts *o, far_train_result *result)
{
    far_mat x = all_x(), y = all_y();
    far_train_result unused;
    return far_net_train(ctx, net, &x, &y, o, result ? result : &unused);
}

static double *params_of(far_net *net)
{
    return far_net_parameters(net).data;
}

/* Everything training changes, in every bit. */
static bool same_net(far_net *a, far_net *b)
{
    bool same = far_net_start(a).rows == far_net_start(b).rows;
    for (int64_t i = 0; i < far_net_describe(a).tensors; i++) {
        far_mat v = far_net_tensor(a, i).values, w = far_net_tensor(b, i).values;
        same = same && memcmp(v.data, w.data, (size_t)(v.rows * v.cols) * sizeof(double)) == 0;
    }
    if (same && far_net_start(a).rows) {
        size_t bytes = (size_t)far_net_describe(a).parameters * sizeof(double);
        same = memcmp(far_net_start(a).data, far_net_start(b).data, bytes) == 0;
    }
    return same;
}

static bool same_number(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

/* But for the time it took, and where it was taken up. */
static bool same_result(const far_train_result *a, const far_train_result *b)
{
    return a->end == b->end && a->epochs == b->epochs && a->steps == b->steps &&
           same_number(a->first_loss, b->first_loss) && same_number(a->loss, b->loss) &&
           same_number(a->final_loss, b->final_loss) && same_number(a->best_loss, b->best_loss) &&
           same_number(a->val_loss, b->val_loss) && a->best_epoch == b->best_epoch &&
           same_number(a->distance, b->distance) && same_number(a->flops, b->flops);
}

/* ---- runs that must agree ------------------------------------------------------------------- */

typedef struct kind {
    const char *name, *arch;
    int64_t epochs, batch;
    int32_t optimizer, dtype, linearized;
    double pull;
    bool validated; /* with a rate that falls and weights that decay */
} kind;

static const kind KINDS[] = {
    {"full batch", ARCH, 9, 0, FAR_OPTIMIZER_ADAM, FAR_F32, 0, 0, false},
    {"full batch, float64", ARCH, 5, 0, FAR_OPTIMIZER_GD, FAR_F64, 0, 2, false},
    {"minibatches", ARCH, 5, 37, FAR_OPTIMIZER_ADAM, FAR_F32, 0, 0, false},
    {"minibatches, momentum", ARCH, 3, 64, FAR_OPTIMIZER_MOMENTUM, FAR_F64, 0, 0.5, false},
    {"single rows", ARCH, 2, 1, FAR_OPTIMIZER_SGD, FAR_F32, 0, 0, false},
    {"linearised", ARCH, 4, 53, FAR_OPTIMIZER_ADAM, FAR_F32, 1, 0.5, false},
    {"batch norm", "dense(7) batchnorm(affine) relu dense(1)", 4, 53, FAR_OPTIMIZER_ADAM, FAR_F32,
     0, 0, false},
    {"batch norm, all rows", "batchnorm dense(7) batchnorm relu dense(1)", 6, 0,
     FAR_OPTIMIZER_MOMENTUM, FAR_F32, 0, 0, false},
    {"validated", ARCH, 6, 53, FAR_OPTIMIZER_ADAMW, FAR_F32, 0, 0, true},
    {"validated, batch norm", "dense(7) batchnorm(affine) relu dense(1)", 8, 37,
     FAR_OPTIMIZER_MOMENTUM, FAR_F64, 0, 0, true},
    {"validated, linearised", ARCH, 5, 0, FAR_OPTIMIZER_ADAM, FAR_F32, 1, 0, true},
};

static far_train_opts opts_of(const kind *k)
{
    far_train_opts o = new_opts(k->epochs, k->batch);
    o.optimizer = k->optimizer;
    o.dtype = k->dtype;
    o.linearized = k->linearized;
    o.l2_to_init = k->pull;
    if (k->validated) {
        o.lr = 0.3; /* so much that the last epoch is not the best */
        o.schedule = (far_schedule){FAR_SCHEDULE_STEP, 2, 0.7};
        o.weight_decay = 0.01;
        o.val_x = &val_x;
        o.val_y = &val_y;
    }
    return o;
}

static far_net *trained(const kind *k, int threads, far_train_result *result)
{
    far_ctx *kept = ctx;
    far_train_opts o = opts_of(k);
    far_net *net = make_net(k->arch, 3), *out;
    ear = (listener){.only = "train"};
    ctx = context_with(threads);
    must_do(train(net, &o, result), k->name);
    far_ctx_destroy(ctx);
    ctx = kept;
    must_do(far_net_copy(ctx, net, &out), k->name);
    far_net_destroy(net);
    return out;
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(KINDS); i++) {
        far_train_result one, more;
        far_net *alone = trained(&KINDS[i], 1, &one);
        for (int threads = 2; threads <= 5; threads++) {
            far_net *net = trained(&KINDS[i], threads, &more);
            if (!same_net(alone, net) || !same_result(&one, &more)) {
                fail_msg("%s: %d threads", KINDS[i].name, threads);
            }
            far_net_destroy(net);
        }
        far_net_destroy(alone);
    }
}

/* As many chunks as there can be, the last block cut short. */
static void threads_change_no_bit_of_a_large_batch(void **state)
{
    (void)state;
    enum { MANY = 10007 };
    float *x = malloc(MANY * INPUTS * sizeof *x), *y = malloc(MANY * sizeof *y);
    for (int i = 0; i < MANY * INPUTS; i++) {
        x[i] = (float)far_random_normal(4, (uint64_t)i);
    }
    for (int i = 0; i < MANY; i++) {
        y[i] = fabsf(x[i * INPUTS]);
    }
    far_mat mx = far_mat_view(x, MANY, INPUTS, FAR_F32), my = far_mat_view(y, MANY, 1, FAR_F32);
    far_train_opts o = new_opts(3, 0);
    far_net *nets[3];
    far_train_result results[3];
    for (int i = 0; i < 3; i++) {
        far_ctx *team = context_with(i + 1);
        nets[i] = make_net(ARCH, 3);
        must_do(far_net_train(team, nets[i], &mx, &my, &o, &results[i]), "train");
        assert_true(same_net(nets[0], nets[i]));
        assert_true(same_result(&results[0], &results[i]));
        far_ctx_destroy(team);
    }
    for (int i = 0; i < 3; i++) {
        far_net_destroy(nets[i]);
    }
    free(x);
    free(y);
}

/* ---- interrupted ---------------------------------------------------------------------------- */

/* Cancels again and again, after a number of calls of the progress function that chance decides,
 * and resumes with a new network, other threads, until the run is done. */
static far_net *trained_in_pieces(const kind *k, uint64_t chance, far_train_result *result,
                                  int *pieces)
{
    far_ctx *kept = ctx;
    far_train_opts o = opts_of(k);
    far_status st = FAR_ERR_CANCELLED;
    far_net *net = NULL;
    o.checkpoint = checkpoint;
    for (*pieces = 0; st == FAR_ERR_CANCELLED; (*pieces)++) {
        far_net_destroy(net);
        net = make_net(k->arch, 3);
        ear.calls = 0;
        ear.last = 0;
        ear.stop_at = 1 + (int)(far_random_bits(chance, (uint64_t)*pieces) % 12);
        ctx = context_with(1 + *pieces % 3);
        st = train(net, &o, result);
        if (st == FAR_ERR_CANCELLED) {
            assert_message("training cancelled after ");
            assert_message(checkpoint);
            assert_int_equal(result->end, FAR_TRAIN_CANCELLED);
        }
        far_ctx_destroy(ctx);
        ctx = kept;
        o.resume = access(checkpoint, F_OK) == 0;
        assert_true(o.resume || st != FAR_ERR_CANCELLED);
    }
    must_do(st, k->name);
    ear.stop_at = 0;
    assert_int_not_equal(access(checkpoint, F_OK), 0); /* the run that finishes removes it */
    return net;
}

static void resumed_runs_end_with_the_same_bits(void **state)
{
    (void)state;
    int most = 0;
    for (int i = 0; i < COUNT(KINDS); i++) {
        far_train_result whole, result;
        far_net *once = trained(&KINDS[i], 2, &whole);
        for (uint64_t chance = 0; chance < 3; chance++) {
            int pieces;
            far_net *net = trained_in_pieces(&KINDS[i], chance, &result, &pieces);
            if (!same_net(once, net) || !same_result(&whole, &result)) {
                fail_msg("%s: after %d pieces", KINDS[i].name, pieces);
            }
            most = pieces > most ? pieces : most;
            far_net_destroy(net);
        }
        far_net_destroy(once);
    }
    assert_true(most > 5);
    assert_true(orderly());
}

/* Saves at every step, until something kills it. */
static void train_until_killed(const far_train_opts *o)
{
    far_net *net = make_net(ARCH, 3);
    ctx = context_with(1); /* a fork has one thread, and OpenMP does not know */
    _exit(train(net, o, NULL) == FAR_OK ? 0 : 1);
}

/* What was being written when the run was killed. */
static void remove_leftovers(void)
{
    char path[512];
    struct dirent *entry;
    DIR *d = opendir(folder);
    while ((entry = readdir(d))) {
        if (strstr(entry->d_name, ".tmp")) {
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            unlink(path);
        }
    }
    closedir(d);
}

static void a_killed_run_continues_to_the_same_bits(void **state)
{
    (void)state;
    kind k = KINDS[2];
    far_train_result result;
    k.epochs = 40;
    far_net *once = trained(&k, 2, &result), *net = make_net(ARCH, 3);
    far_train_opts o = opts_of(&k);
    o.checkpoint = checkpoint;
    o.checkpoint_seconds = 0;
    for (int round = 0; round < 6; round++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            train_until_killed(&o);
        }
        int status;
        const struct timespec nap = {.tv_nsec = 3000000 + 1700000 * round};
        do {
            nanosleep(&nap, NULL);
        } while (access(checkpoint, F_OK) != 0 && waitpid(child, &status, WNOHANG) == 0);
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        o.resume = access(checkpoint, F_OK) == 0;
    }
    remove_leftovers();
    must_do(train(net, &o, &result), "resumed");
    assert_true(same_net(once, net));
    far_net_destroy(once);
    far_net_destroy(net);
}

static void a_resumed_run_can_go_further(void **state)
{
    (void)state;
    kind longer = KINDS[2];
    far_train_result whole, result;
    longer.epochs = 8;
    far_net *once = trained(&longer, 2, &whole), *net = make_net(ARCH, 3);
    far_train_opts o = opts_of(&KINDS[2]); /* 5 epochs */
    o.checkpoint = checkpoint;
    ear.stop_done = 2;
    assert_int_equal(train(net, &o, &result), FAR_ERR_CANCELLED);
    assert_int_equal(result.epochs, 2);
    ear.stop_done = 0;
    o.resume = 1;
    o.epochs = 8;
    must_do(train(net, &o, &result), "further"); /* the network that was stopped will do as well */
    assert_int_equal(result.resumed_at, 2);
    assert_true(same_net(once, net));
    assert_true(same_result(&whole, &result));
    far_net_destroy(once);
    far_net_destroy(net);
}

static void a_finished_run_can_leave_its_checkpoint(void **state)
{
    (void)state;
    far_net *net = make_net(ARCH, 3), *again = make_net(ARCH, 3);
    far_train_opts o = opts_of(&KINDS[2]);
    far_train_result once, twice;
    o.checkpoint = checkpoint;
    o.keep_checkpoint = 1;
    must_do(train(net, &o, &once), "train");
    o.resume = 1;
    must_do(train(again, &o, &twice), "nothing is left to do");
    assert_int_equal(twice.resumed_at, o.epochs);
    assert_true(same_net(net, again));
    assert_true(same_result(&once, &twice));
    o.keep_checkpoint = 0;
    must_do(train(again, &o, &twice), "and now it is removed");
    assert_int_not_equal(access(checkpoint, F_OK), 0);
    far_net_destroy(net);
    far_net_destroy(again);
}

static void cancel(far_net *net, far_train_opts *o, int64_t epochs)
{
    o->checkpoint = checkpoint;
    ear = (listener){.only = "train", .stop_done = epochs};
    assert_int_equal(train(net, o, NULL), FAR_ERR_CANCELLED);
    ear.stop_done = 0;
    o->resume = 1;
}

static void a_checkpoint_is_a_network(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(KINDS); i++) {
        far_net *net = make_net(KINDS[i].arch, 3), *loaded;
        far_train_opts o = opts_of(&KINDS[i]);
        must_do(far_net_set_metadata(ctx, net, "colour", "blue"), "metadata");
        cancel(net, &o, 1);
        must_do(far_net_load(ctx, checkpoint, NULL, &loaded), "load");
        assert_true(same_net(net, loaded));
        assert_string_equal(far_net_describe(net).arch, far_net_describe(loaded).arch);
        assert_string_equal(far_net_metadata(loaded, "colour"), "blue");
        assert_null(far_net_metadata(loaded, "train.lr"));
        far_net_destroy(loaded);
        far_net_destroy(net);
    }
}

typedef struct change {
    const char *told;
    void (*make)(far_train_opts *o);
} change;

static void other_lr(far_train_opts *o)
{
    o->lr = 0.25;
}

static void other_optimizer(far_train_opts *o)
{
    o->optimizer = FAR_OPTIMIZER_SGD;
    o->lr = 1e-3;
}

static void other_batch(far_train_opts *o)
{
    o->batch = 41;
}

static void other_seed(far_train_opts *o)
{
    o->seed = 6;
}

static void other_dtype(far_train_opts *o)
{
    o->dtype = FAR_F64;
}

static void other_layers(far_train_opts *o)
{
    static const unsigned char layers[LAYERS] = {1, 1, 0};
    o->layers = layers;
}

static void other_pull(far_train_opts *o)
{
    o->l2_to_init = 1;
}

static void other_stop(far_train_opts *o)
{
    o->stop_loss = 0.5;
}

static void other_map(far_train_opts *o)
{
    o->linearized = 1;
}

static void fewer_epochs(far_train_opts *o)
{
    o->epochs = 0;
}

static void resuming_another_run_names_what_differs(void **state)
{
    (void)state;
    static const change changes[] = {
        {"lr was 0.001, and is 0.25 now", other_lr},
        {"optimizer was adam, and is sgd now", other_optimizer},
        {"batch was 37, and is 41 now", other_batch},
        {": seed was 5, and is 6 now", other_seed},
        {"dtype was float32, and is float64 now", other_dtype},
        {"layers was all, and is 110 now", other_layers},
        {"l2_to_init was 0, and is 1 now", other_pull},
        {"stop_loss was nan, and is 0.5 now", other_stop},
        {"linearized was 0, and is 1 now", other_map},
        {"epochs behind it, more than the 0 asked for", fewer_epochs},
    };
    far_net *net = make_net(ARCH, 3), *before, *other;
    far_train_opts o = opts_of(&KINDS[2]);
    cancel(net, &o, 2);
    must_do(far_net_copy(ctx, net, &before), "copy");
    for (int i = 0; i < COUNT(changes); i++) {
        far_train_opts changed = o;
        changes[i].make(&changed);
        far_status st = train(net, &changed, NULL);
        assert_true(st == FAR_ERR_FORMAT || (st == FAR_ERR_ARG && i == COUNT(changes) - 1));
        assert_message(changes[i].told);
        assert_message(checkpoint);
        assert_true(same_net(net, before));
    }
    y_values[7] += 1e-3;
    assert_int_equal(train(net, &o, NULL), FAR_ERR_FORMAT);
    assert_message("another run: the values of targets are others now");
    fill_data();
    other = make_net(ARCH, 4);
    assert_int_equal(train(other, &o, NULL), FAR_ERR_FORMAT);
    assert_message("weights_seed was 3, and is 4 now");
    far_net_destroy(other);
    other = make_net("dense(7) relu dense(1)", 3);
    assert_int_equal(train(other, &o, NULL), FAR_ERR_FORMAT);
    assert_message("arch was dense(7) ln relu dense(5) tanh dense(1), and is dense(7) relu dense");
    far_net_destroy(other);
    must_do(train(net, &o, NULL), "the run itself");
    far_net_destroy(net);
    far_net_destroy(before);
}

/* Puts other bytes of the same length where the checkpoint has some. */
static void change_checkpoint(const char *from, const char *to)
{
    char bytes[16384];
    FILE *f = fopen(checkpoint, "r+b");
    size_t size = fread(bytes, 1, sizeof bytes, f);
    char *at = memmem(bytes, size, from, strlen(from));
    assert_non_null(at);
    assert_int_equal(strlen(from), strlen(to));
    memcpy(at, to, strlen(to));
    seal_tensors(bytes, size);
    rewind(f);
    fwrite(bytes, 1, size, f);
    fclose(f);
}

static void resuming_needs_a_whole_checkpoint(void **state)
{
    (void)state;
    far_net *net = make_net(ARCH, 3);
    far_train_opts o = opts_of(&KINDS[2]);
    char bytes[16384];
    o.checkpoint = checkpoint;
    o.resume = 1;
    assert_int_equal(train(net, &o, NULL), FAR_ERR_IO);
    assert_message(checkpoint);
    must_do(far_net_save(ctx, net, checkpoint), "save");
    assert_int_equal(train(net, &o, NULL), FAR_ERR_FORMAT);
    assert_message("is no checkpoint of a training run");
    o.resume = 0;
    assert_int_equal(train(net, &o, NULL), FAR_ERR_ARG); /* nor is the network replaced by one */
    assert_message("is no checkpoint of a training run, so it is not replaced");
    assert_int_equal(far_checkpoint_is(checkpoint), 0);
    unlink(checkpoint);
    cancel(net, &o, 1);
    assert_int_equal(far_checkpoint_is(checkpoint), 1);
    assert_int_equal(far_checkpoint_is(NULL), 0);
    assert_int_equal(far_checkpoint_is("/none/such"), 0);
    FILE *f = fopen(checkpoint, "rb");
    size_t size = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    assert_in_range(size, 1000, sizeof bytes - 1);
    for (size_t cut = 1; cut < size; cut += size / 9) {
        f = fopen(checkpoint, "wb");
        fwrite(bytes, 1, cut, f);
        fclose(f);
        assert_int_equal(train(net, &o, NULL), FAR_ERR_FORMAT);
        assert_message(checkpoint);
    }
    f = fopen(checkpoint, "wb");
    fwrite(bytes, 1, size, f);
    fclose(f);
    change_checkpoint("state.square", "state.sqvare"); /* a tensor is missing */
    assert_int_equal(train(net, &o, NULL), FAR_ERR_FORMAT);
    assert_message("state.square");
    far_net_destroy(net);
}

/* Puts another number at a place of state.numbers: epoch, step, steps, sum, ... */
static void change_state(int place, double value)
{
    char bytes[16384];
    FILE *f = fopen(checkpoint, "r+b");
    size_t size = fread(bytes, 1, sizeof bytes, f);
    char *entry = memmem(bytes, size, "\"state.numbers\"", 15);
    assert_non_null(entry);
    char *offsets = memmem(entry, 200, "\"data_offsets\":[", 16);
    assert_non_null(offsets);
    uint64_t header;
    memcpy(&header, bytes, sizeof header);
    size_t at = 8 + header + strtoul(offsets + 16, NULL, 10) + (size_t)place * sizeof value;
    assert_true(at + sizeof value <= size);
    memcpy(bytes + at, &value, sizeof value);
    seal_tensors(bytes, size);
    rewind(f);
    fwrite(bytes, 1, size, f);
    fclose(f);
}

static void states_that_cannot_be_are_refused(void **state)
{
    (void)state;
    static const struct {
        int place;
        double value;
    } wrong[] = {{0, -1}, {0, 0.5}, {0, 1e17}, {1, 1e6}, {1, -3}, {2, NAN}, {2, 1.25}, {3, NAN}};
    far_net *net = make_net(ARCH, 3);
    far_train_opts o = opts_of(&KINDS[2]);
    for (int i = 0; i < COUNT(wrong); i++) {
        unlink(checkpoint);
        o.resume = 0;
        cancel(net, &o, 1);
        change_state(wrong[i].place, wrong[i].value);
        assert_int_equal(train(net, &o, NULL), FAR_ERR_FORMAT);
        assert_message("state.numbers");
        assert_message("holds what cannot be: the checkpoint is damaged");
    }
    far_net_destroy(net);
}

/* The checkpoint of dense(5), relabelled: what it names is not what it holds. */
static void weights_of_another_network_are_refused(void **state)
{
    (void)state;
    far_net *small = make_net("dense(5) relu dense(1)", 3);
    far_net *large = make_net("dense(7) relu dense(1)", 3);
    far_train_opts o = opts_of(&KINDS[2]);
    cancel(small, &o, 1);
    change_checkpoint("\"train.arch\":\"dense(5)", "\"train.arch\":\"dense(7)");
    assert_int_equal(train(large, &o, NULL), FAR_ERR_FORMAT);
    assert_message("is damaged: its weights are not those of the run it names");
    far_net_destroy(small);
    far_net_destroy(large);
}

static void a_run_linearised_elsewhere_is_another(void **state)
{
    (void)state;
    far_net *net = make_net(ARCH, 3), *other = make_net(ARCH, 3);
    far_train_opts o = opts_of(&KINDS[2]);
    params_of(other)[0] += 0.5;
    must_do(far_net_linearize(ctx, net), "linearise");
    must_do(far_net_linearize(ctx, other), "linearise");
    cancel(net, &o, 1);
    assert_int_equal(train(other, &o, NULL), FAR_ERR_FORMAT);
    assert_message("is the checkpoint of another run: linearised elsewhere");
    must_do(train(net, &o, NULL), "the run itself");
    far_net_destroy(net);
    far_net_destroy(other);
}

static void a_checkpoint_that_cannot_be_written_fails_at_once(void **state)
{
    (void)state;
    char path[128];
    far_net *net = make_net(ARCH, 3);
    far_train_opts o = new_opts(1000000000, 0);
    snprintf(path, sizeof path, "%s/none/net.checkpoint", folder);
    o.checkpoint = path;
    assert_int_equal(train(net, &o, NULL), FAR_ERR_IO);
    assert_message("none/net.checkpoint: cannot write: no such directory");
    far_net_destroy(net);
}

/* ---- several networks ----------------------------------------------------------------------- */

#define CROWD 5

typedef struct crowd {
    far_net *nets[CROWD];
    uint64_t seeds[CROWD];
    far_train_result results[CROWD];
} crowd;

static void make_crowd(crowd *c, const char *arch)
{
    for (int i = 0; i < CROWD; i++) {
        c->nets[i] = make_net(arch, (uint64_t)(10 + i));
        c->seeds[i] = (uint64_t)(20 + i);
    }
}

static void free_crowd(crowd *c)
{
    for (int i = 0; i < CROWD; i++) {
        far_net_destroy(c->nets[i]);
    }
}

static void train_one_by_one(crowd *c, far_train_opts o)
{
    for (int i = 0; i < CROWD; i++) {
        o.seed = c->seeds[i];
        must_do(train(c->nets[i], &o, &c->results[i]), "one by one");
    }
}

static far_status train_many(crowd *c, int threads, const far_train_opts *o,
                             const char *const *checkpoints)
{
    far_ctx *team = context_with(threads);
    far_mat x = all_x(), y = all_y();
    far_status st =
        far_net_train_many(team, c->nets, CROWD, &x, &y, o, c->seeds, checkpoints, c->results);
    far_ctx_destroy(team);
    return st;
}

enum { MOST_EPOCHS = 16 };

static void side_by_side_is_one_by_one(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(KINDS); i++) {
        far_train_opts o = opts_of(&KINDS[i]);
        double history[CROWD * MOST_EPOCHS];
        crowd single, many;
        make_crowd(&single, KINDS[i].arch);
        train_one_by_one(&single, o);
        assert_in_range(o.epochs, 1, MOST_EPOCHS);
        o.history = history;
        for (int threads = 1; threads <= 7; threads += 2) {
            make_crowd(&many, KINDS[i].arch);
            ear = (listener){.only = "train"};
            must_do(train_many(&many, threads, &o, NULL), KINDS[i].name);
            for (int k = 0; k < CROWD; k++) {
                assert_true(same_net(single.nets[k], many.nets[k]));
                assert_true(same_result(&single.results[k], &many.results[k]));
                assert_true(history[k * o.epochs] == single.results[k].first_loss);
                assert_true(history[(k + 1) * o.epochs - 1] == single.results[k].loss);
            }
            assert_true(orderly());
            assert_int_equal(ear.last, CROWD * KINDS[i].epochs);
            assert_int_equal(ear.total, CROWD * KINDS[i].epochs);
            free_crowd(&many);
        }
        assert_false(same_net(single.nets[0], single.nets[1]));
        free_crowd(&single);
    }
}

static void a_crowd_can_be_resumed(void **state)
{
    (void)state;
    char paths[CROWD][128];
    const char *checkpoints[CROWD];
    far_train_opts o = opts_of(&KINDS[2]);
    crowd single, many;
    far_status st = FAR_ERR_CANCELLED;
    int pieces = 0;
    make_crowd(&single, ARCH);
    train_one_by_one(&single, o);
    for (int i = 0; i < CROWD; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/net-%d.checkpoint", folder, i);
        checkpoints[i] = i == 3 ? NULL : paths[i]; /* that one always starts anew */
    }
    for (; st == FAR_ERR_CANCELLED; pieces++) {
        if (pieces) {
            free_crowd(&many);
        }
        make_crowd(&many, ARCH);
        ear = (listener){.only = "train", .stop_done = 4 + 5 * pieces};
        st = train_many(&many, 1 + pieces % 3, &o, checkpoints);
        o.resume = 1;
    }
    must_do(st, "resumed");
    assert_true(pieces > 1); /* how often it could be stopped depends on the machine's load */
    for (int i = 0; i < CROWD; i++) {
        assert_true(same_net(single.nets[i], many.nets[i]));
        assert_true(same_result(&single.results[i], &many.results[i]));
        assert_int_not_equal(access(paths[i], F_OK), 0);
    }
    ear.stop_done = 0;
    assert_int_equal(train_many(&many, 2, &o, checkpoints), FAR_ERR_IO);
    assert_int_equal(train_many(&many, 2, &o, NULL), FAR_ERR_IO);
    free_crowd(&single);
    free_crowd(&many);
}

static void one_that_diverges_does_not_stop_the_others(void **state)
{
    (void)state;
    crowd c;
    far_train_opts o = new_opts(3, 0);
    make_crowd(&c, ARCH);
    params_of(c.nets[2])[0] = 1e30;
    params_of(c.nets[2])[far_net_describe(c.nets[2]).parameters - 1] = 1e200;
    must_do(train_many(&c, 2, &o, NULL), "many");
    for (int i = 0; i < CROWD; i++) {
        assert_int_equal(c.results[i].end, i == 2 ? FAR_TRAIN_DIVERGED : FAR_TRAIN_EPOCHS);
    }
    assert_int_equal(c.results[2].epochs, 0);
    free_crowd(&c);
}

static void a_crowd_must_be_of_one_kind(void **state)
{
    (void)state;
    far_mat x = all_x(), y = all_y();
    far_train_opts o = new_opts(1, 0);
    far_net *nets[3] = {make_net(ARCH, 1), make_net(ARCH, 2), make_net("dense(1)", 3)};
    far_net *twins[3] = {nets[0], nets[1], nets[1]}, *gap[2] = {nets[0], NULL};
    far_train_result results[2];
    assert_int_equal(far_net_train_many(ctx, nets, 3, &x, &y, &o, NULL, NULL, NULL), FAR_ERR_ARG);
    assert_message("networks 1 and 3 differ in their architecture");
    far_net_opts other;
    for (int i = 0; i < 2; i++) {
        far_net_opts_init(&other);
        other.inputs = INPUTS + (i == 0);
        other.init = i == 1 ? FAR_INIT_NTK : other.init;
        far_net_destroy(nets[2]);
        must_do(far_net_create(ctx, ARCH, &other, &nets[2]), "other");
        assert_int_equal(far_net_train_many(ctx, nets, 3, &x, &y, &o, NULL, NULL, NULL),
                         FAR_ERR_ARG);
        assert_message("networks 1 and 3 differ in their architecture");
    }
    assert_int_equal(far_net_train_many(ctx, NULL, 3, &x, &y, &o, NULL, NULL, NULL), FAR_ERR_ARG);
    assert_message("no network");
    assert_int_equal(far_net_train_many(ctx, twins, 3, &x, &y, &o, NULL, NULL, NULL), FAR_ERR_ARG);
    assert_message("networks 2 and 3 are the same one");
    assert_int_equal(far_net_train_many(ctx, gap, 2, &x, &y, &o, NULL, NULL, NULL), FAR_ERR_ARG);
    assert_message("network 2 is NULL");
    assert_int_equal(far_net_train_many(ctx, nets, 0, &x, &y, &o, NULL, NULL, NULL), FAR_ERR_ARG);
    assert_message("no network");
    assert_int_equal(far_net_train_many(ctx, nets, 2, &x, &y, NULL, NULL, NULL, NULL), FAR_ERR_ARG);
    memset(results, 0, sizeof results);
    o.checkpoint = checkpoint;
    assert_int_equal(far_net_train_many(ctx, nets, 2, &x, &y, &o, NULL, NULL, results),
                     FAR_ERR_ARG);
    assert_message("one checkpoint a network");
    assert_true(isnan(results[0].loss) && isnan(results[1].final_loss));
    for (int i = 0; i < 3; i++) {
        far_net_destroy(nets[i]);
    }
}

/* ---- ends ----------------------------------------------------------------------------------- */

static void without_epochs_nothing_moves(void **state)
{
    (void)state;
    far_net *net = make_net(ARCH, 3), *before;
    far_train_opts o = new_opts(0, 0);
    far_train_result r;
    must_do(far_net_copy(ctx, net, &before), "copy");
    for (int i = 0; i < MOST_PARAMETERS && i < far_net_describe(net).parameters; i++) {
        params_of(before)[i] = (float)params_of(before)[i]; /* but to the precision of training */
    }
    must_do(train(net, &o, &r), "no epochs");
    assert_true(same_net(net, before));
    assert_int_equal(r.end, FAR_TRAIN_EPOCHS);
    assert_int_equal(r.epochs + r.steps + r.best_epoch, 0);
    assert_true(isnan(r.first_loss) && isnan(r.loss) && isnan(r.best_loss) && r.final_loss > 0);
    assert_true(r.distance == 0);
    far_net_destroy(net);
    far_net_destroy(before);
}

static double mse(far_net *net)
{
    double f[ROWS], sum = 0;
    far_mat x = all_x(), out = far_mat_view(f, ROWS, 1, FAR_F64);
    must_do(far_net_eval(ctx, net, &x, &out), "eval");
    for (int i = 0; i < ROWS; i++) {
        sum += (f[i] - y_values[i]) * (f[i] - y_values[i]);
    }
    return sum / ROWS;
}

static void the_result_describes_the_run(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(KINDS); i++) {
        far_train_opts o = opts_of(&KINDS[i]);
        far_train_result r;
        far_net *net = make_net(KINDS[i].arch, 3);
        double first = mse(net), step = KINDS[i].batch ? (double)KINDS[i].batch : ROWS;
        o.dtype = FAR_F64;
        ear = (listener){.only = "train"};
        must_do(train(net, &o, &r), KINDS[i].name);
        assert_int_equal(r.epochs, o.epochs);
        assert_int_equal(r.steps, o.epochs * (int64_t)ceil(ROWS / step));
        assert_true(fabs(r.final_loss - mse(net)) <= 1e-12 * (1 + r.final_loss));
        if (KINDS[i].validated) {
            assert_true(r.best_loss == r.val_loss);
        } else {
            assert_true(r.best_loss <= r.loss && r.best_loss <= r.first_loss &&
                        r.best_loss <= r.final_loss && isnan(r.val_loss));
        }
        assert_in_range(r.best_epoch, 1, r.epochs);
        assert_true(r.distance > 0 && r.seconds > 0 && r.flops > 0 && r.resumed_at == 0);
        if (step == ROWS && !strstr(KINDS[i].arch, "batchnorm")) {
            assert_true(fabs(r.first_loss - first) <= 1e-12 * (1 + first));
        }
        assert_true(ear.calls > 1 && orderly());
        assert_int_equal(ear.last, o.epochs);
        assert_non_null(strstr(ear.what, "train, loss "));
        far_net_destroy(net);
    }
}

/* Every epoch's loss is that of a run which ends there. */
static void the_history_has_every_loss(void **state)
{
    (void)state;
    enum { EPOCHS = 5 };
    double history[EPOCHS];
    for (int i = 0; i < COUNT(KINDS); i++) {
        far_train_opts o = opts_of(&KINDS[i]);
        far_train_result r;
        far_net *net = make_net(KINDS[i].arch, 3);
        o.epochs = EPOCHS;
        o.history = history;
        must_do(train(net, &o, &r), KINDS[i].name);
        far_net_destroy(net);
        o.history = NULL;
        for (o.epochs = 1; o.epochs <= EPOCHS; o.epochs++) {
            net = make_net(KINDS[i].arch, 3);
            must_do(train(net, &o, &r), KINDS[i].name);
            assert_true(r.loss == history[o.epochs - 1]);
            far_net_destroy(net);
        }
    }
}

/* ---- validation ----------------------------------------------------------------------------- */

static double val_mse(far_net *net)
{
    double f[VAL_ROWS], sum = 0;
    far_mat out = far_mat_view(f, VAL_ROWS, 1, FAR_F64);
    must_do(far_net_eval(ctx, net, &val_x, &out), "eval");
    for (int i = 0; i < VAL_ROWS; i++) {
        sum += (f[i] - val_y_values[i]) * (f[i] - val_y_values[i]) / VAL_ROWS;
    }
    return sum;
}

/* Against runs without validation that end with each of the epochs. */
static void the_network_ends_with_its_best_epoch(void **state)
{
    (void)state;
    enum { EPOCHS = 12 };
    int not_last = 0;
    for (int i = 0; i < COUNT(KINDS); i++) {
        far_train_opts o = opts_of(&KINDS[i]);
        far_train_result r, plain;
        double losses[EPOCHS], best = INFINITY;
        int64_t best_epoch = 0;
        far_net *net = make_net(KINDS[i].arch, 3), *best_net = NULL;
        if (!KINDS[i].validated) {
            far_net_destroy(net);
            continue;
        }
        o.epochs = EPOCHS;
        o.val_history = losses;
        must_do(train(net, &o, &r), KINDS[i].name);
        o.val_x = o.val_y = NULL;
        o.val_history = NULL;
        for (o.epochs = 1; o.epochs <= EPOCHS; o.epochs++) {
            far_net *other = make_net(KINDS[i].arch, 3);
            must_do(train(other, &o, &plain), KINDS[i].name);
            double loss = val_mse(other);
            assert_true(fabs(loss - losses[o.epochs - 1]) <= 1e-5 * loss);
            if (losses[o.epochs - 1] < best) {
                best = losses[o.epochs - 1];
                best_epoch = o.epochs;
                far_net_destroy(best_net);
                best_net = other;
            } else {
                far_net_destroy(other);
            }
        }
        assert_int_equal(r.best_epoch, best_epoch);
        assert_true(r.val_loss == best && same_net(net, best_net));
        assert_true(fabs(r.final_loss - mse(net)) <= 1e-5 * r.final_loss);
        not_last += best_epoch < EPOCHS;
        far_net_destroy(net);
        far_net_destroy(best_net);
    }
    assert_true(not_last > 0);
}

static void patience_ends_a_run(void **state)
{
    (void)state;
    enum { EPOCHS = 4000, PATIENCE = 7 };
    static double losses[EPOCHS];
    kind k = KINDS[0];
    k.validated = true;
    far_train_opts o = opts_of(&k);
    far_train_result r, again;
    far_net *net = make_net(ARCH, 3), *stopped = make_net(ARCH, 3);
    o.epochs = EPOCHS;
    o.patience = PATIENCE;
    o.val_history = losses;
    o.schedule.kind = FAR_SCHEDULE_CONSTANT;
    must_do(train(net, &o, &r), "patience");
    assert_int_equal(r.end, FAR_TRAIN_PATIENCE);
    assert_int_equal(r.epochs, r.best_epoch + PATIENCE);
    for (int64_t e = 0; e < r.epochs; e++) {
        assert_true(losses[e] >= r.val_loss);
    }
    assert_true(isnan(losses[r.epochs]));
    o.val_history = NULL;
    cancel(stopped, &o, r.best_epoch + 3); /* behind the best: the checkpoint has it */
    must_do(train(stopped, &o, &again), "resumed");
    assert_true(same_net(net, stopped) && same_result(&r, &again));
    far_net_destroy(net);
    far_net_destroy(stopped);
}

/* A cosine over more epochs is another run. */
static void a_schedule_over_epochs_cannot_be_stretched(void **state)
{
    (void)state;
    far_train_opts o = new_opts(6, 0);
    far_net *net = make_net(ARCH, 3);
    o.schedule.kind = FAR_SCHEDULE_COSINE;
    cancel(net, &o, 2);
    o.epochs = 7;
    assert_int_equal(train(net, &o, NULL), FAR_ERR_FORMAT);
    assert_message("schedule was cosine over 6 epochs, and is cosine over 7 epochs now");
    o.epochs = 6;
    must_do(train(net, &o, NULL), "the same");
    far_net_destroy(net);
}

/* Interrupted twice; who resumes wants the history, who began may not have. */
static void a_resumed_run_has_the_whole_history(void **state)
{
    (void)state;
    enum { EPOCHS = 8 };
    double whole[EPOCHS], parts[EPOCHS];
    for (int i = 0; i < COUNT(KINDS); i++) {
        far_train_opts o = opts_of(&KINDS[i]);
        far_train_result r;
        far_net *once = make_net(KINDS[i].arch, 3), *net = make_net(KINDS[i].arch, 3);
        o.epochs = EPOCHS;
        o.history = whole;
        must_do(train(once, &o, &r), KINDS[i].name);
        o.checkpoint = checkpoint;
        o.history = i % 2 ? parts : NULL;
        ear.stop_done = 3;
        assert_int_equal(train(net, &o, &r), FAR_ERR_CANCELLED);
        if (i % 2) {
            assert_memory_equal(parts, whole, 3 * sizeof *parts);
            assert_true(isnan(parts[3]) && isnan(parts[EPOCHS - 1]));
        }
        o.resume = 1;
        ear.stop_done = 5;
        assert_int_equal(train(net, &o, &r), FAR_ERR_CANCELLED);
        ear.stop_done = 0;
        memset(parts, 0, sizeof parts);
        o.history = parts;
        must_do(train(net, &o, &r), "the rest");
        assert_int_equal(r.resumed_at, 5);
        assert_memory_equal(parts, whole, sizeof parts);
        assert_true(same_net(once, net));
        far_net_destroy(once);
        far_net_destroy(net);
    }
}

/* Of a program that kept no history, and wrote numbers in another way. */
static void a_checkpoint_without_history_resumes(void **state)
{
    (void)state;
    enum { EPOCHS = 8 };
    double whole[EPOCHS], rest[EPOCHS] = {0};
    far_train_opts o = opts_of(&KINDS[2]);
    far_train_result r;
    far_net *once = make_net(ARCH, 3), *net = make_net(ARCH, 3);
    o.epochs = EPOCHS;
    o.history = whole;
    must_do(train(once, &o, &r), "whole");
    o.checkpoint = checkpoint;
    o.history = NULL;
    ear.stop_done = 3;
    assert_int_equal(train(net, &o, &r), FAR_ERR_CANCELLED);
    change_checkpoint("state.history", "state.hystory");
    change_checkpoint("\"train.momentum\":\"0.9\"", "\"train.momentum\":\".90\"");
    ear.stop_done = 0;
    o.resume = 1;
    o.history = rest;
    must_do(train(net, &o, &r), "the rest");
    assert_true(isnan(rest[0]) && isnan(rest[2]));
    assert_memory_equal(rest + 3, whole + 3, (EPOCHS - 3) * sizeof *rest);
    assert_true(same_net(once, net));
    far_net_destroy(once);
    far_net_destroy(net);
}

static void a_loss_can_be_enough(void **state)
{
    (void)state;
    far_net *net = make_net(ARCH, 3), *shorter = make_net(ARCH, 3);
    far_train_opts o = new_opts(5000, 37);
    far_train_result r;
    o.stop_loss = 0.3;
    must_do(train(net, &o, &r), "stop");
    assert_int_equal(r.end, FAR_TRAIN_STOP_LOSS);
    assert_true(r.loss <= 0.3 && r.epochs > 1 && r.epochs < 5000);
    o.epochs = r.epochs;
    o.stop_loss = NAN;
    must_do(train(shorter, &o, &r), "as many epochs");
    assert_true(same_net(net, shorter));
    o.epochs--;
    far_net_destroy(shorter);
    shorter = make_net(ARCH, 3);
    must_do(train(shorter, &o, &r), "one less");
    assert_true(r.loss > 0.3);
    far_net_destroy(net);
    far_net_destroy(shorter);
}

/* Every step overshoots some ninefold: it takes a while to leave the range of float32. */
static void divergence_is_named_and_undone(void **state)
{
    (void)state;
    static const int64_t batches[] = {0, 37};
    for (int i = 0; i < COUNT(batches); i++) {
        far_net *net = make_net("dense(1)", 3);
        far_net *good = make_net("dense(1)", 3), *kept;
        far_train_opts o = new_opts(400, batches[i]);
        far_train_result r, shorter;
        o.optimizer = FAR_OPTIMIZER_SGD;
        o.lr = 5;
        o.checkpoint = checkpoint;
        o.checkpoint_seconds = 0;
        assert_int_equal(train(net, &o, &r), FAR_ERR_VALUE);
        assert_message("training diverged in epoch ");
        assert_message("the loss went ");
        assert_message("try a smaller lr (it was ");
        assert_message("or a norm in the network");
        assert_int_equal(r.end, FAR_TRAIN_DIVERGED);
        assert_true(r.epochs > 1 && isfinite(r.loss) && isfinite(r.final_loss));
        must_do(far_net_load(ctx, checkpoint, NULL, &kept), "the checkpoint is there, and finite");
        o.epochs = r.epochs - 1;
        o.checkpoint = NULL;
        must_do(train(good, &o, &shorter), "the epochs that went well, but for the last");
        assert_true(same_net(net, good));
        far_net_destroy(net);
        far_net_destroy(good);
        far_net_destroy(kept);
    }
}

static void divergence_from_the_beginning_and_at_the_end(void **state)
{
    (void)state;
    far_net *net = make_net("dense(5) ln relu dense(1)", 3);
    far_train_opts o = new_opts(3, 0);
    far_train_result r;
    int64_t last = far_net_describe(net).parameters - 1;
    params_of(net)[last] = 1e300;
    assert_int_equal(train(net, &o, &r), FAR_ERR_VALUE);
    assert_message("in epoch 1: the loss was inf from the beginning; try a smaller lr");
    assert_null(strstr(far_ctx_message(ctx), "a norm"));
    params_of(net)[last] = 0;
    o.lr = 1e38;
    o.epochs = 1;
    o.optimizer = FAR_OPTIMIZER_SGD;
    double before = params_of(net)[0];
    assert_int_equal(train(net, &o, &r), FAR_ERR_VALUE);
    assert_message("at the end of epoch 1: the loss went ");
    assert_true((float)params_of(net)[0] == (float)before);
    assert_int_equal(r.epochs, 1);
    far_net_destroy(net);
}

/* ---- layers --------------------------------------------------------------------------------- */

static void layers_left_out_keep_every_bit(void **state)
{
    (void)state;
    for (int mask = 1; mask < 1 << LAYERS; mask++) {
        unsigned char layers[LAYERS];
        far_net *net = make_net(ARCH, 3), *before;
        far_train_opts o = new_opts(3, mask % 2 ? 0 : 37);
        must_do(far_net_copy(ctx, net, &before), "copy");
        for (int i = 0; i < LAYERS; i++) {
            layers[i] = mask >> i & 1;
        }
        o.layers = layers;
        o.linearized = mask == 5;
        must_do(train(net, &o, NULL), "layers");
        for (int64_t i = 0; i < far_net_describe(net).tensors; i++) {
            far_net_tensor_info t = far_net_tensor(net, i), was = far_net_tensor(before, i);
            size_t bytes = (size_t)(t.values.rows * t.values.cols) * sizeof(double);
            bool same = memcmp(t.values.data, was.values.data, bytes) == 0;
            assert_int_equal(same, !layers[t.layer]);
        }
        far_net_destroy(net);
        far_net_destroy(before);
    }
}

/* ---- what is refused ------------------------------------------------------------------------ */

static void defaults_are_as_documented(void **state)
{
    (void)state;
    far_train_opts o;
    far_train_opts_init(&o);
    assert_true(o.size == sizeof o && o.optimizer == FAR_OPTIMIZER_ADAM && o.loss == FAR_LOSS_MSE);
    assert_true(isnan(o.lr) && o.beta1 == 0.9 && o.beta2 == 0.999 && o.epsilon == 1e-8);
    assert_true(o.momentum == 0.9 && o.epochs == 1000 && o.batch == 0 && o.l2_to_init == 0);
    assert_true(!o.layers && !o.linearized && isnan(o.stop_loss) && o.seed == 0 && !o.resume);
    assert_true(o.dtype == FAR_F32 && !o.checkpoint && o.checkpoint_seconds == 10);
    assert_true(o.progress_seconds == 0.2);
}

#define SET(name, field, value)                                                                    \
    static void name(far_train_opts *o)                                                            \
    {                                                                                              \
        o->field = value;                                                                          \
    }
SET(bad_size, size, 3)
SET(bad_optimizer, optimizer, 5)
SET(bad_schedule, schedule.kind, 4)
SET(bad_decay, weight_decay, -1)
SET(bad_patience, patience, 5)
SET(bad_val, val_x, &val_x)
SET(bad_optimizer2, optimizer, -1)
SET(bad_loss, loss, 3)
SET(bad_loss2, loss, -1)
SET(bad_dtype, dtype, 2)
SET(bad_lr, lr, 0)
SET(bad_lr2, lr, -1)
SET(bad_lr3, lr, INFINITY)
SET(bad_beta1, beta1, 1)
SET(bad_beta2, beta2, -0.1)
SET(bad_epsilon, epsilon, NAN)
SET(bad_momentum, momentum, 1.5)
SET(bad_epochs, epochs, -1)
SET(bad_batch, batch, -1)
SET(bad_pull, l2_to_init, -1)
SET(bad_stop, stop_loss, INFINITY)
SET(bad_interval, checkpoint_seconds, NAN)
SET(bad_report, progress_seconds, -1)
SET(bad_resume, resume, 1)

static void bad_step(far_train_opts *o)
{
    o->schedule = (far_schedule){FAR_SCHEDULE_STEP, 0, 0.5};
}

static void bad_factor(far_train_opts *o)
{
    o->schedule = (far_schedule){FAR_SCHEDULE_STEP, 1, 1.5};
}

static void bad_batch_of_gd(far_train_opts *o)
{
    o->optimizer = FAR_OPTIMIZER_GD;
    o->batch = 10;
}

static void no_layers(far_train_opts *o)
{
    static const unsigned char none[LAYERS] = {0};
    o->layers = none;
}

static void absurd_options_are_refused(void **state)
{
    (void)state;
    static const change changes[] = {
        {"far_train_opts_init", bad_size},
        {"optimizer 5", bad_optimizer},
        {"schedule 4", bad_schedule},
        {"schedule.every is 0; it must be at least 1", bad_step},
        {"schedule.factor is 1.5; it must be above 0 and at most 1", bad_factor},
        {"weight_decay is -1", bad_decay},
        {"patience needs validation rows", bad_patience},
        {"val_x and val_y go together", bad_val},
        {"optimizer -1", bad_optimizer2},
        {"loss 3", bad_loss},
        {"loss -1", bad_loss2},
        {"dtype 2", bad_dtype},
        {"lr is 0; it must be above 0", bad_lr},
        {"lr is -1; it must be above 0", bad_lr2},
        {"lr is inf", bad_lr3},
        {"beta1 is 1; it must be at least 0 and below 1", bad_beta1},
        {"beta2 is -0.1", bad_beta2},
        {"epsilon is nan", bad_epsilon},
        {"momentum is 1.5", bad_momentum},
        {"epochs is -1", bad_epochs},
        {"batch is -1", bad_batch},
        {"l2_to_init is -1", bad_pull},
        {"stop_loss is inf", bad_stop},
        {"checkpoint_seconds is nan", bad_interval},
        {"progress_seconds is -1", bad_report},
        {"name the checkpoint", bad_resume},
        {"for minibatches of 10 use sgd", bad_batch_of_gd},
        {"layers chooses none of the 3 layers", no_layers},
    };
    far_net *net = make_net(ARCH, 3), *before, *bare;
    must_do(far_net_copy(ctx, net, &before), "copy");
    for (int i = 0; i < COUNT(changes); i++) {
        far_train_opts o = new_opts(1, 0);
        changes[i].make(&o);
        assert_int_equal(train(net, &o, NULL), FAR_ERR_ARG);
        assert_message(changes[i].told);
    }
    far_mat x = all_x(), y = all_y();
    far_train_opts o = new_opts(1, 0);
    assert_int_equal(far_net_train(ctx, net, &x, &y, NULL, NULL), FAR_ERR_ARG);
    assert_int_equal(far_net_train(ctx, NULL, &x, &y, &o, NULL), FAR_ERR_ARG);
    assert_message("the network is NULL");
    assert_true(same_net(net, before));
    must_do(far_net_train(ctx, net, &x, &y, &o, NULL), "without a result");
    bare = make_net("tanh ln", 1);
    far_mat same = all_x();
    assert_int_equal(far_net_train(ctx, bare, &x, &same, &o, NULL), FAR_ERR_ARG);
    assert_message("no parameters to train");
    far_net_destroy(bare);
    far_net_destroy(net);
    far_net_destroy(before);
}

static void batchnorm_needs_two_rows(void **state)
{
    (void)state;
    far_net *net = make_net("dense(3) batchnorm dense(1)", 3);
    far_train_opts o = new_opts(1, 1);
    assert_int_equal(train(net, &o, NULL), FAR_ERR_ARG);
    assert_message("at least 2 rows in every minibatch, but each has 1");
    o.batch = ROWS - 1;
    assert_int_equal(train(net, &o, NULL), FAR_ERR_ARG);
    assert_message("but the last has 1");
    o.linearized = 1; /* that one does not look at the batch */
    must_do(train(net, &o, NULL), "linearised");
    far_net_destroy(net);
}

typedef struct target {
    far_status status;
    const char *told;
    int32_t loss;
    int64_t rows, cols;
    double y[6];
} target;

static void bad_data_is_named(void **state)
{
    (void)state;
    static const target targets[] = {
        {FAR_ERR_SHAPE, "x has 2 rows, but y has 3", FAR_LOSS_MSE, 3, 2, {0}},
        {FAR_ERR_SHAPE, "y has 1 columns, but the network 2 outputs", FAR_LOSS_MSE, 2, 1, {0}},
        {FAR_ERR_SHAPE, "y has 3 columns", FAR_LOSS_CE, 2, 3, {0}},
        {FAR_ERR_VALUE, "y: row 2, column 1 is nan; remove", FAR_LOSS_MSE, 2, 2, {0, 0, NAN, 0}},
        {FAR_ERR_VALUE,
         "y: row 1, column 2 is 1e+39; too large for float32",
         FAR_LOSS_MSE,
         2,
         2,
         {0, 1e39, 0, 0}},
        {FAR_ERR_VALUE, "y: row 2, column 2 is 1.5; this loss", FAR_LOSS_BCE, 2, 2, {0, 0, 0, 1.5}},
        {FAR_ERR_VALUE,
         "y: row 1, column 1 is -0.5; this loss",
         FAR_LOSS_CE,
         2,
         2,
         {-0.5, 1.5, 0, 1}},
        {FAR_ERR_VALUE, "y: row 2 sums to 0.75", FAR_LOSS_CE, 2, 2, {0.5, 0.5, 0.5, 0.25}},
        {FAR_ERR_VALUE, "y: row 2 is 2, not a class from 0 to 1", FAR_LOSS_CE, 2, 1, {1, 2}},
        {FAR_ERR_VALUE, "y: row 1 is 0.5, not a class", FAR_LOSS_CE, 2, 1, {0.5, 1}},
        {FAR_ERR_VALUE, "y: row 2 is nan, not a class", FAR_LOSS_CE, 2, 1, {0, NAN}},
        {FAR_OK, "", FAR_LOSS_CE, 2, 1, {0, 1}},
        {FAR_OK, "", FAR_LOSS_BCE, 2, 2, {0, 1, 0.5, 0.25}},
    };
    double rows[2 * INPUTS] = {1, 2, 3, 4, 5, 6};
    far_mat x = far_mat_view(rows, 2, INPUTS, FAR_F64);
    far_net *net = make_net("dense(2)", 3), *single = make_net("dense(1)", 3);
    for (int i = 0; i < COUNT(targets); i++) {
        double values[6];
        far_train_opts o = new_opts(1, 0);
        o.loss = targets[i].loss;
        memcpy(values, targets[i].y, sizeof values);
        far_mat y = far_mat_view(values, targets[i].rows, targets[i].cols, FAR_F64);
        assert_int_equal(far_net_train(ctx, net, &x, &y, &o, NULL), targets[i].status);
        assert_message(targets[i].told);
    }
    far_train_opts o = new_opts(1, 0);
    far_mat y = all_y(), narrow = far_mat_view(rows, 2, 2, FAR_F64);
    far_mat none = far_mat_view(rows, 0, INPUTS, FAR_F64);
    assert_int_equal(far_net_train(ctx, single, &narrow, &y, &o, NULL), FAR_ERR_SHAPE);
    assert_message("x has 2 columns, but the network takes 3 inputs");
    assert_int_equal(far_net_train(ctx, single, &none, &y, &o, NULL), FAR_ERR_SHAPE);
    assert_message("no rows");
    assert_int_equal(far_net_train(ctx, single, NULL, &y, &o, NULL), FAR_ERR_ARG);
    assert_int_equal(far_net_train(ctx, single, &x, NULL, &o, NULL), FAR_ERR_ARG);
    rows[4] = INFINITY;
    y.rows = 2;
    assert_int_equal(far_net_train(ctx, single, &x, &y, &o, NULL), FAR_ERR_VALUE);
    assert_message("x: row 2, column 2 is inf");
    rows[4] = 5;
    o.loss = FAR_LOSS_CE;
    assert_int_equal(far_net_train(ctx, single, &x, &y, &o, NULL), FAR_ERR_SHAPE);
    assert_message("use bce");
    far_net_destroy(net);
    far_net_destroy(single);
}

static void classes_are_indicators(void **state)
{
    (void)state;
    double classes[ROWS], ones[ROWS * 3] = {0};
    for (int i = 0; i < ROWS; i++) {
        classes[i] = i * i % 3;
        ones[i * 3 + (i * i % 3)] = 1;
    }
    far_net *a = make_net("dense(3)", 1), *b = make_net("dense(3)", 1);
    far_train_opts o = new_opts(3, 0);
    far_mat x = all_x(), y = far_mat_view(classes, ROWS, 1, FAR_F64);
    far_mat z = far_mat_view(ones, ROWS, 3, FAR_F64);
    o.loss = FAR_LOSS_CE;
    must_do(far_net_train(ctx, a, &x, &y, &o, NULL), "classes");
    must_do(far_net_train(ctx, b, &x, &z, &o, NULL), "indicators");
    assert_true(same_net(a, b));
    far_net_destroy(a);
    far_net_destroy(b);
}

/* ---- what comes next ------------------------------------------------------------------------ */

enum { WINDOWS = 37, PLACES = 5, TOKENS = 7 };
#define CAUSAL "embed(4) position skip(ln attention(2, causal)) "

static far_net *sequence_net(const char *arch)
{
    far_net_opts o;
    far_net *net;
    far_net_opts_init(&o);
    must_do(far_net_create(ctx, arch, &o, &net), arch);
    return net;
}

static far_mat windows(double *values)
{
    for (int i = 0; i < WINDOWS * (PLACES + 1); i++) {
        values[i] = (i * i + i / 3) % TOKENS;
    }
    return far_mat_view(values, WINDOWS, PLACES + 1, FAR_F64);
}

static far_train_opts next_opts(far_loss loss)
{
    far_train_opts o = new_opts(2, 8);
    o.next = 1;
    o.loss = loss;
    return o;
}

/* As classes at every position, and as probabilities, written out by the caller. */
static void the_next_position_is_the_target(void **state)
{
    (void)state;
    double both[WINDOWS * (PLACES + 1)], ones[WINDOWS * PLACES * TOKENS] = {0};
    far_mat x = windows(both), before = x, behind = x;
    far_mat spread = far_mat_view(ones, WINDOWS, PLACES * TOKENS, FAR_F64);
    before.cols = behind.cols = PLACES;
    behind.data = both + 1;
    for (int i = 0; i < WINDOWS * PLACES; i++) {
        ones[i * TOKENS + (int)both[i / PLACES * (PLACES + 1) + i % PLACES + 1]] = 1;
    }
    far_train_opts o = next_opts(FAR_LOSS_CE), plain = o;
    plain.next = 0;
    o.val_x = &x;
    far_net *nets[4];
    far_train_result r[4];
    for (int i = 0; i < 4; i++) {
        nets[i] = sequence_net("tokens(5, 7) " CAUSAL "dense(7)");
    }
    far_net_info info = far_net_describe(nets[0]);
    assert_int_equal(info.positions, PLACES);
    assert_int_equal(info.output_positions, PLACES);
    assert_int_equal(info.vocabulary, TOKENS);
    must(far_net_train(ctx, nets[0], &x, NULL, &o, &r[0]));
    far_ctx *alone = context_with(1);
    must(far_net_train(alone, nets[1], &x, NULL, &o, &r[1]));
    far_ctx_destroy(alone);
    must(far_net_train(ctx, nets[2], &before, &behind, &plain, &r[2]));
    must(far_net_train(ctx, nets[3], &before, &spread, &plain, &r[3]));
    for (int i = 1; i < 4; i++) {
        assert_true(same_net(nets[0], nets[i]));
        assert_true(r[i].final_loss == r[0].final_loss);
    }
    assert_true(r[0].val_loss == r[0].final_loss);
    far_train_opts look = next_opts(FAR_LOSS_CE); /* without learning: the loss there is */
    look.epochs = 0;
    must(far_net_train(ctx, nets[1], &x, NULL, &look, &r[1]));
    assert_true(r[1].final_loss == r[0].final_loss);
    assert_true(same_net(nets[0], nets[1]));
    for (int i = 0; i < 4; i++) {
        far_net_destroy(nets[i]);
    }
}

static void what_cannot_come_next_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *arch;
        far_loss loss;
        far_status status;
        const char *told;
    } CASES[] = {
        {"tokens(5, 7) embed(4) attention(2) dense(7)", FAR_LOSS_CE, FAR_ERR_ARCH,
         "write attention(2, causal)"},
        {"tokens(5, 7) " CAUSAL "last dense(7)", FAR_LOSS_CE, FAR_ERR_ARCH,
         "each of the 5 positions is to predict the next one, but the network ends with 1"},
        {"tokens(5, 7) " CAUSAL "dense(6)", FAR_LOSS_CE, FAR_ERR_ARCH, "end it with dense(7)"},
        {"tokens(5, 7) " CAUSAL "dense(7)", FAR_LOSS_MSE, FAR_ERR_ARG,
         "the next token is another: take `loss` ce"},
        {"sequence(5x1) dense(1)", FAR_LOSS_CE, FAR_ERR_ARG, "take `loss` mse or bce"},
        {"sequence(5x1) dense(2)", FAR_LOSS_MSE, FAR_ERR_ARCH, "end it with dense(1)"},
        {"image(1x5x1) conv(1, 1)", FAR_LOSS_MSE, FAR_ERR_ARCH, "known of sequences"},
        {"sequence(3x2) dense(2)", FAR_LOSS_MSE, FAR_ERR_SHAPE, "it must have 8, those of 3"},
        {"tokens(5, 6) " CAUSAL "dense(6)", FAR_LOSS_CE, FAR_ERR_VALUE,
         "a token is a whole number from 0 to 5"},
    };
    double both[WINDOWS * (PLACES + 1)];
    far_mat x = windows(both);
    for (int i = 0; i < COUNT(CASES); i++) {
        far_net *net = sequence_net(CASES[i].arch);
        far_train_opts o = next_opts(CASES[i].loss);
        refused(far_net_train(ctx, net, &x, NULL, &o, NULL), CASES[i].status, CASES[i].told);
        far_net_destroy(net);
    }
    far_net *net = sequence_net("sequence(5x1) dense(1)");
    far_train_opts o = next_opts(FAR_LOSS_MSE);
    refused(far_net_train(ctx, net, &x, &x, &o, NULL), FAR_ERR_ARG, "give NULL");
    o.val_x = o.val_y = &x;
    refused(far_net_train(ctx, net, &x, NULL, &o, NULL), FAR_ERR_ARG, "val_y does not go with");
    far_net_destroy(net);
}

/* A token that is none would be looked up where there is nothing. */
static void tokens_that_are_none_are_refused(void **state)
{
    (void)state;
    far_net *net = sequence_net("tokens(3, 7) embed(4) gap dense(1)");
    far_train_opts o = new_opts(1, 0);
    for (int k = 0; k < 3; k++) {
        static const double BAD[] = {7, -1, 2.5};
        double values[] = {1, 2, BAD[k]}, one = 1;
        far_mat x = far_mat_view(values, 1, 3, FAR_F64), y = far_mat_view(&one, 1, 1, FAR_F64);
        refused(far_net_train(ctx, net, &x, &y, &o, NULL), FAR_ERR_VALUE,
                "a token is a whole number from 0 to 6");
    }
    far_net_destroy(net);
}

/* ---- memory --------------------------------------------------------------------------------- */

/* Counted from when the networks are there. */
static int64_t fail_after = -1;

static void arm(void)
{
    test_heap.fail_at = fail_after < 0 ? -1 : test_heap.calls + fail_after;
}

static far_status linearised_run(void)
{
    far_net *net = make_net(ARCH, 3);
    far_train_opts o = opts_of(&KINDS[5]);
    arm();
    far_status st = train(net, &o, NULL);
    far_net_destroy(net);
    return st;
}

static far_status run_with_checkpoints(void)
{
    far_net *net = make_net(KINDS[6].arch, 3);
    far_train_opts o = opts_of(&KINDS[6]);
    o.epochs = 1;
    o.checkpoint = checkpoint;
    o.checkpoint_seconds = 0;
    arm();
    far_status st = train(net, &o, NULL);
    far_net_destroy(net);
    return st;
}

static far_status run_of_several(void)
{
    crowd c;
    far_mat x = all_x(), y = all_y();
    far_train_opts o = new_opts(1, 0);
    make_crowd(&c, "dense(3) relu dense(1)");
    arm();
    far_status st = far_net_train_many(ctx, c.nets, CROWD, &x, &y, &o, c.seeds, NULL, c.results);
    free_crowd(&c);
    return st;
}

static void fail_each_run(far_status (*run)(void))
{
    int64_t live = test_heap.live_blocks;
    bool failed = true;
    for (fail_after = 0; failed; fail_after++) {
        far_status st = run();
        failed = test_heap.calls > test_heap.fail_at;
        test_heap.fail_at = -1;
        assert_int_equal(test_heap.live_blocks, live);
        assert_int_equal(st, failed ? FAR_ERR_MEMORY : FAR_OK);
    }
    assert_in_range(fail_after, 30, 100000);
    fail_after = -1;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    fail_each_run(linearised_run);
    fail_each_run(run_with_checkpoints);
    fail_each_run(run_of_several);
}

static void resuming_may_run_out_of_memory(void **state)
{
    (void)state;
    far_ctx_destroy(ctx);
    ctx = context_with(1); /* which reports before its first step is over */
    far_net *net = make_net(ARCH, 3), *before;
    far_train_opts o = opts_of(&KINDS[5]);
    far_status st = FAR_ERR_MEMORY;
    cancel(net, &o, 1);
    must_do(far_net_copy(ctx, net, &before), "copy");
    for (int k = 0; st != FAR_ERR_CANCELLED; k++) {
        int64_t live = test_heap.live_blocks;
        ear = (listener){.only = "train", .stop_at = 1};
        test_heap.fail_at = test_heap.calls + k;
        st = train(net, &o, NULL);
        test_heap.fail_at = -1;
        assert_true(st == FAR_ERR_MEMORY || st == FAR_ERR_CANCELLED);
        assert_int_equal(test_heap.live_blocks, live);
        assert_true(same_net(net, before)); /* no step was taken */
    }
    far_net_destroy(net);
    far_net_destroy(before);
}

static int make_folder(void **state)
{
    fill_data();
    int failed = enter_folder(state);
    snprintf(checkpoint, sizeof checkpoint, "%s/net.checkpoint", folder);
    return failed;
}

static int remove_folder(void **state)
{
    unlink(checkpoint);
    return leave_folder(state); /* also shows that no temporary file was left */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(defaults_are_as_documented),
        TEST(absurd_options_are_refused),
        TEST(bad_data_is_named),
        TEST(batchnorm_needs_two_rows),
        TEST(classes_are_indicators),
        TEST(the_next_position_is_the_target),
        TEST(what_cannot_come_next_is_refused),
        TEST(tokens_that_are_none_are_refused),
        TEST(without_epochs_nothing_moves),
        TEST(the_result_describes_the_run),
        TEST(the_history_has_every_loss),
        TEST(a_resumed_run_has_the_whole_history),
        TEST(the_network_ends_with_its_best_epoch),
        TEST(patience_ends_a_run),
        TEST(a_schedule_over_epochs_cannot_be_stretched),
        TEST(a_checkpoint_without_history_resumes),
        TEST(a_loss_can_be_enough),
        TEST(layers_left_out_keep_every_bit),
        TEST(divergence_is_named_and_undone),
        TEST(divergence_from_the_beginning_and_at_the_end),
        TEST(a_killed_run_continues_to_the_same_bits),
        TEST(threads_change_no_bit),
        TEST(threads_change_no_bit_of_a_large_batch),
        TEST(resumed_runs_end_with_the_same_bits),
        TEST(a_resumed_run_can_go_further),
        TEST(a_finished_run_can_leave_its_checkpoint),
        TEST(a_checkpoint_is_a_network),
        TEST(resuming_another_run_names_what_differs),
        TEST(resuming_needs_a_whole_checkpoint),
        TEST(states_that_cannot_be_are_refused),
        TEST(weights_of_another_network_are_refused),
        TEST(a_run_linearised_elsewhere_is_another),
        TEST(a_checkpoint_that_cannot_be_written_fails_at_once),
        TEST(side_by_side_is_one_by_one),
        TEST(a_crowd_can_be_resumed),
        TEST(one_that_diverges_does_not_stop_the_others),
        TEST(a_crowd_must_be_of_one_kind),
        TEST(every_allocation_may_fail),
        TEST(resuming_may_run_out_of_memory),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
