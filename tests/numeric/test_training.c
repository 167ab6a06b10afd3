/*
 * Training against others: PyTorch's numbers (golden/torch_training.txt), plain loops over
 * far_net_eval and far_net_vjp, and what gradient descent on a linearised network must end as,
 * kernel ridge regression.
 */
#include "net/net_internal.h"

#include <farfield/farfield.h>

#define TEST_THREADS 0
#include "harness.h"

#define MOST_VALUES 4096

static far_mat view(double *data, int64_t rows, int64_t cols)
{
    return far_mat_view(data, rows, cols, FAR_F64);
}

static far_net *make_net(const char *arch, int64_t inputs, far_init init)
{
    far_net_opts opts;
    far_net *net;
    far_net_opts_init(&opts);
    opts.inputs = inputs;
    opts.init = (int32_t)init;
    opts.seed = 3;
    must_do(far_net_create(ctx, arch, &opts, &net), arch);
    return net;
}

static double *params_of(far_net *net)
{
    return far_net_parameters(net).data;
}

/* Largest difference, each relative to the size of the number where that is above 1. */
static double gap(const double *a, const double *b, int64_t count)
{
    double most = 0;
    for (int64_t i = 0; i < count; i++) {
        double size = fabs(b[i]) > 1 ? fabs(b[i]) : 1;
        most = fmax(most, fabs(a[i] - b[i]) / size);
        assert_true(isfinite(a[i]) && isfinite(b[i]));
    }
    return most;
}

static void assert_close(const double *a, const double *b, int64_t count, double most,
                         const char *what)
{
    double found = gap(a, b, count);
    if (!(found <= most)) {
        fail_msg("%s: off by %g, allowed is %g", what, found, most);
    }
}

static void fill_normal(double *out, int64_t count, uint64_t seed)
{
    for (int64_t i = 0; i < count; i++) {
        out[i] = far_random_normal(seed, (uint64_t)i);
    }
}

/* ---- PyTorch -------------------------------------------------------------------------------- */

typedef struct values {
    int rows, cols;
    double v[MOST_VALUES];
} values;

typedef struct record {
    char name[64], arch[256], optimizer[16], loss[16];
    double lr;
    int steps;
    values x, y, before, after, statistics, losses;
} record;

static void read_values(FILE *f, const char *name, int dims, values *out)
{
    char word[32];
    assert_int_equal(fscanf(f, "%31s %d", word, &out->cols), 2);
    assert_string_equal(word, name);
    out->rows = 1;
    if (dims == 2) {
        out->rows = out->cols;
        assert_int_equal(fscanf(f, "%d", &out->cols), 1);
    }
    assert_in_range(out->rows * out->cols, 0, MOST_VALUES);
    for (int i = 0; i < out->rows * out->cols; i++) {
        assert_int_equal(fscanf(f, "%lf", &out->v[i]), 1);
    }
}

static bool read_record(FILE *f, record *r)
{
    if (fscanf(f, " case %63s", r->name) != 1) {
        return false;
    }
    assert_int_equal(fscanf(f, " arch %255[^\n]", r->arch), 1);
    assert_int_equal(fscanf(f, " run %15s %15s %lf %d", r->optimizer, r->loss, &r->lr, &r->steps),
                     4);
    read_values(f, "x", 2, &r->x);
    read_values(f, "y", 2, &r->y);
    read_values(f, "before", 1, &r->before);
    read_values(f, "after", 1, &r->after);
    read_values(f, "statistics", 1, &r->statistics);
    read_values(f, "losses", 1, &r->losses);
    return true;
}

static int32_t index_of(const char *word, const char *const *names, int count)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(word, names[i]) == 0) {
            return i;
        }
    }
    fail_msg("unknown: %s", word);
    return -1;
}

static const char *const OPTIMIZERS[] = {"adam", "sgd", "momentum", "gd", "adamw"};
static const char *const LOSSES[] = {"mse", "bce", "ce"};

static void check_statistics(far_net *net, const record *r)
{
    int at = 0;
    for (int64_t i = 0; i < far_net_describe(net).tensors; i++) {
        far_net_tensor_info t = far_net_tensor(net, i);
        if (t.parameter < 0) {
            assert_close(t.values.data, r->statistics.v + at, t.values.cols, 1e-13, r->name);
            at += (int)t.values.cols;
        }
    }
    assert_int_equal(at, r->statistics.cols);
}

static void check_record(record *r)
{
    far_train_opts opts;
    far_train_result result;
    bool next = r->y.rows == 0;
    far_net *net = make_net(r->arch, next ? 0 : r->x.cols, FAR_INIT_TORCH);
    far_mat x = view(r->x.v, r->x.rows, r->x.cols), y = view(r->y.v, r->y.rows, r->y.cols);
    int64_t count = far_net_describe(net).parameters;
    assert_int_equal(count, r->before.cols);
    memcpy(params_of(net), r->before.v, (size_t)count * sizeof(double));
    far_train_opts_init(&opts);
    opts.optimizer = index_of(r->optimizer, OPTIMIZERS, COUNT(OPTIMIZERS));
    opts.loss = index_of(r->loss, LOSSES, COUNT(LOSSES));
    opts.next = next;
    opts.lr = r->lr;
    opts.epochs = r->steps;
    opts.dtype = FAR_F64;
    must_do(far_net_train(ctx, net, &x, next ? NULL : &y, &opts, &result), r->name);
    assert_close(params_of(net), r->after.v, count, 1e-12, r->name);
    assert_close(&result.first_loss, r->losses.v, 1, 1e-13, r->name);
    assert_close(&result.loss, r->losses.v + r->steps - 1, 1, 1e-13, r->name);
    check_statistics(net, r);
    far_net_destroy(net);
}

static void steps_are_those_of_pytorch(void **state)
{
    (void)state;
    static record r;
    char line[256];
    int count = 0;
    FILE *f = fopen(TEST_DATA_DIR "/golden/torch_training.txt", "r");
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f));
    for (; read_record(f, &r); count++) {
        check_record(&r);
    }
    fclose(f);
    assert_int_equal(count, 20);
}

/* ---- plain loops ---------------------------------------------------------------------------- */

#define ROWS 23
#define INPUTS 3
#define OUTPUTS 5
#define HIDDEN "dense(7) ln tanh dense(11, w=2) silu "

typedef struct trial {
    far_train_opts opts;
    double x[ROWS * INPUTS], y[ROWS * OUTPUTS];
    int64_t count; /* of parameters */
    double *p, *start, *g, *m, *v;
    double loss; /* of the last epoch */
} trial;

/* Probabilities for all losses: squares take them too. */
static void fill_trial(trial *t)
{
    fill_normal(t->x, COUNT(t->x), 11);
    for (int i = 0; i < ROWS; i++) {
        double sum = 0;
        for (int k = 0; k < OUTPUTS; k++) {
            sum += t->y[i * OUTPUTS + k] = far_random_uniform(12, (uint64_t)(i * OUTPUTS + k));
        }
        for (int k = 0; k < OUTPUTS; k++) {
            t->y[i * OUTPUTS + k] /= sum;
        }
    }
}

static double logistic(double z)
{
    return 1 / (1 + exp(-z));
}

/* Loss of one row, and its slope: straight from the definitions. */
static double row_loss(int32_t loss, const double *f, const double *y, double *slope)
{
    double sum = 0, whole = 0;
    for (int k = 0; k < OUTPUTS; k++) {
        whole += exp(f[k]);
    }
    for (int k = 0; k < OUTPUTS; k++) {
        double s = logistic(f[k]);
        if (loss == FAR_LOSS_MSE) {
            sum += (f[k] - y[k]) * (f[k] - y[k]) / OUTPUTS;
            slope[k] = 2 * (f[k] - y[k]) / OUTPUTS;
        } else if (loss == FAR_LOSS_BCE) {
            sum -= (y[k] * log(s) + (1 - y[k]) * log(1 - s)) / OUTPUTS;
            slope[k] = (s - y[k]) / OUTPUTS;
        } else {
            sum -= y[k] * log(exp(f[k]) / whole);
            slope[k] = exp(f[k]) / whole - y[k];
        }
    }
    return sum;
}

static bool is_trained(far_net *net, const far_train_opts *o, int64_t parameter)
{
    for (int64_t i = 0; o->layers && i < far_net_describe(net).tensors; i++) {
        far_net_tensor_info t = far_net_tensor(net, i);
        int64_t size = t.values.rows * t.values.cols;
        if (t.parameter >= 0 && parameter >= t.parameter && parameter < t.parameter + size) {
            return o->layers[t.layer];
        }
    }
    return true;
}

static double plain_rate(const far_train_opts *o, int64_t epoch)
{
    double done = (double)epoch / (double)o->epochs, rate = o->lr;
    switch (o->schedule.kind) {
    case FAR_SCHEDULE_COSINE:
        return o->lr * cos(acos(-1) * done / 2) * cos(acos(-1) * done / 2);
    case FAR_SCHEDULE_LINEAR:
        return o->lr - o->lr * done;
    case FAR_SCHEDULE_STEP:
        for (int64_t e = o->schedule.every; e <= epoch; e += o->schedule.every) {
            rate *= o->schedule.factor;
        }
        return rate;
    default:
        return rate;
    }
}

static void plain_update(trial *t, far_net *net, double lr, int64_t step)
{
    const far_train_opts *o = &t->opts;
    bool decoupled = o->optimizer == FAR_OPTIMIZER_ADAMW;
    double terms = ROWS * (o->loss == FAR_LOSS_CE ? 1 : OUTPUTS);
    double pull = (o->loss == FAR_LOSS_MSE ? 2 : 1) * o->l2_to_init / terms;
    for (int64_t i = 0; i < t->count; i++) {
        double g = t->g[i] + pull * (t->p[i] - t->start[i]);
        if (!is_trained(net, o, i)) {
            continue;
        }
        g += decoupled ? 0 : o->weight_decay * t->p[i];
        t->p[i] -= decoupled ? lr * o->weight_decay * t->p[i] : 0;
        if (o->optimizer == FAR_OPTIMIZER_ADAM || decoupled) {
            t->m[i] = o->beta1 * t->m[i] + (1 - o->beta1) * g;
            t->v[i] = o->beta2 * t->v[i] + (1 - o->beta2) * g * g;
            double m = t->m[i] / (1 - pow(o->beta1, (double)step));
            double v = t->v[i] / (1 - pow(o->beta2, (double)step));
            t->p[i] -= lr * m / (sqrt(v) + o->epsilon);
        } else if (o->optimizer == FAR_OPTIMIZER_MOMENTUM) {
            t->m[i] = o->momentum * t->m[i] + g;
            t->p[i] -= lr * t->m[i];
        } else {
            t->p[i] -= lr * g;
        }
    }
}

/* The sum of losses over the rows of a step; g becomes the gradient of their mean. */
static double plain_gradient(trial *t, far_net *net, const int64_t *order, int rows)
{
    double x[ROWS * INPUTS], f[ROWS * OUTPUTS], u[ROWS * OUTPUTS], sum = 0;
    for (int i = 0; i < rows; i++) {
        memcpy(x + i * INPUTS, t->x + order[i] * INPUTS, INPUTS * sizeof *x);
    }
    far_mat mx = view(x, rows, INPUTS), mf = view(f, rows, OUTPUTS), mu = view(u, rows, OUTPUTS);
    far_mat mg = view(t->g, 1, t->count);
    memcpy(params_of(net), t->p, (size_t)t->count * sizeof *t->p);
    must_do(far_net_eval(ctx, net, &mx, &mf), "eval");
    for (int i = 0; i < rows; i++) {
        sum += row_loss(t->opts.loss, f + i * OUTPUTS, t->y + order[i] * OUTPUTS, u + i * OUTPUTS);
    }
    for (int i = 0; i < rows * OUTPUTS; i++) {
        u[i] /= rows;
    }
    must_do(far_net_vjp(ctx, net, &mx, &mu, &mg, NULL), "vjp");
    return sum;
}

static void plain_train(trial *t, far_net *net)
{
    int64_t batch = t->opts.batch ? t->opts.batch : ROWS, step = 0;
    for (int64_t epoch = 0; epoch < t->opts.epochs; epoch++) {
        int64_t order[ROWS];
        double sum = 0;
        for (int64_t i = 0; i < ROWS; i++) {
            order[i] = i;
        }
        if (batch < ROWS) {
            uint64_t key = far_random_bits(t->opts.seed, (uint64_t)epoch);
            far_random_shuffle(key, order, ROWS);
        }
        for (int64_t first = 0; first < ROWS; first += batch) {
            int64_t rows = ROWS - first < batch ? ROWS - first : batch;
            sum += plain_gradient(t, net, order + first, (int)rows);
            plain_update(t, net, plain_rate(&t->opts, epoch), ++step);
        }
        t->loss = sum / ROWS;
    }
}

static double *copy_of(const double *from, int64_t count)
{
    double *to = calloc((size_t)count, sizeof *to);
    if (from) {
        memcpy(to, from, (size_t)count * sizeof *to);
    }
    return to;
}

static void compare_with_plain(trial *t, far_init init, double allowed, const char *what)
{
    far_train_result result;
    far_net *net = make_net(HIDDEN "dense(5)", INPUTS, init), *plain;
    fill_trial(t);
    t->count = far_net_describe(net).parameters;
    must_do(far_net_copy(ctx, net, &plain), what);
    if (t->opts.linearized) {
        must_do(far_net_linearize(ctx, plain), what);
    }
    t->p = copy_of(params_of(net), t->count);
    t->start = copy_of(params_of(net), t->count);
    t->g = copy_of(NULL, t->count);
    t->m = copy_of(NULL, t->count);
    t->v = copy_of(NULL, t->count);
    plain_train(t, plain);
    far_mat x = view(t->x, ROWS, INPUTS), y = view(t->y, ROWS, OUTPUTS);
    must_do(far_net_train(ctx, net, &x, &y, &t->opts, &result), what);
    assert_close(params_of(net), t->p, t->count, allowed, what);
    assert_close(&result.loss, &t->loss, 1, allowed, what);
    assert_int_equal(far_net_describe(net).linearized, t->opts.linearized);
    double *owned[] = {t->p, t->start, t->g, t->m, t->v};
    for (int i = 0; i < COUNT(owned); i++) {
        free(owned[i]);
    }
    far_net_destroy(net);
    far_net_destroy(plain);
}

static trial new_trial(int32_t optimizer, int32_t loss, int64_t epochs)
{
    trial t = {0};
    far_train_opts_init(&t.opts);
    t.opts.optimizer = optimizer;
    t.opts.loss = loss;
    t.opts.epochs = epochs;
    t.opts.lr = optimizer == FAR_OPTIMIZER_ADAM ? 0.01 : 0.05;
    t.opts.dtype = FAR_F64;
    t.opts.seed = 77;
    return t;
}

static void every_optimizer_and_loss_agrees_with_plain_loops(void **state)
{
    (void)state;
    for (int32_t o = FAR_OPTIMIZER_ADAM; o <= FAR_OPTIMIZER_ADAMW; o++) {
        for (int32_t l = FAR_LOSS_MSE; l <= FAR_LOSS_CE; l++) {
            for (int64_t epochs = 1; epochs <= 20; epochs += 19) {
                char what[64];
                trial t = new_trial(o, l, epochs);
                snprintf(what, sizeof what, "%s %s %d", OPTIMIZERS[o], LOSSES[l], (int)epochs);
                compare_with_plain(&t, FAR_INIT_KAIMING_NORMAL, 1e-12, what);
            }
        }
    }
}

static void minibatches_agree_with_plain_loops(void **state)
{
    (void)state;
    static const int64_t batches[] = {1, 7, 19, 23, 29};
    for (int i = 0; i < COUNT(batches); i++) {
        trial t = new_trial(i % 3, i % 2 ? FAR_LOSS_CE : FAR_LOSS_MSE, 4);
        t.opts.batch = batches[i] > ROWS ? 0 : batches[i];
        compare_with_plain(&t, FAR_INIT_LECUN, 1e-12, "minibatches");
    }
}

static void pull_layers_and_linearisation_agree_with_plain_loops(void **state)
{
    (void)state;
    static const unsigned char layers[] = {1, 0, 1};
    for (int i = 0; i < 16; i++) {
        char what[64];
        trial t = new_trial(i % 3, i % 3, 6);
        t.opts.batch = i & 1 ? 11 : 0;
        t.opts.l2_to_init = i & 2 ? 3.5 : 0;
        t.opts.layers = i & 4 ? layers : NULL;
        t.opts.linearized = i & 8 ? 1 : 0;
        snprintf(what, sizeof what, "combination %d", i);
        compare_with_plain(&t, FAR_INIT_NTK, 1e-12, what);
    }
}

static void schedules_and_decay_agree_with_plain_loops(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        char what[64];
        trial t = new_trial(i % 5, i % 3, 7);
        t.opts.batch = i & 1 && i % 5 != FAR_OPTIMIZER_GD ? 9 : 0;
        t.opts.schedule = (far_schedule){i % 4, 2, 0.6};
        t.opts.weight_decay = i & 2 ? 0.3 : 0;
        snprintf(what, sizeof what, "schedule %d, %s", i % 4, OPTIMIZERS[i % 5]);
        compare_with_plain(&t, FAR_INIT_LECUN, 1e-12, what);
    }
}

static void float32_follows_float64(void **state)
{
    (void)state;
    for (int32_t l = FAR_LOSS_MSE; l <= FAR_LOSS_CE; l++) {
        trial t = new_trial(FAR_OPTIMIZER_MOMENTUM, l, 20);
        t.opts.dtype = FAR_F32;
        compare_with_plain(&t, FAR_INIT_KAIMING_NORMAL, 1e-5, LOSSES[l]);
    }
}

/* ---- kernel ridge regression ---------------------------------------------------------------- */

#define POINTS 13
#define RIDGE 0.5

/* Solves a c = b, a symmetric and positive definite, n x n: a becomes its factor. */
static void solve(double *a, double *b, int n)
{
    for (int j = 0; j < n; j++) {
        for (int k = 0; k < j; k++) {
            for (int i = j; i < n; i++) {
                a[i * n + j] -= a[i * n + k] * a[j * n + k];
            }
        }
        double root = sqrt(a[j * n + j]);
        for (int i = j; i < n; i++) {
            a[i * n + j] /= root;
        }
        for (int k = 0; k < j; k++) {
            b[j] -= a[j * n + k] * b[k];
        }
        b[j] /= root;
    }
    for (int j = n - 1; j >= 0; j--) {
        for (int i = j + 1; i < n; i++) {
            b[j] -= a[i * n + j] * b[i];
        }
        b[j] /= a[j * n + j];
    }
}

/* alpha = (J J' + ridge)^-1 (y - f), and trace J J' as a bound on its largest eigenvalue. */
static double regress(const double *jacobian, int64_t count, const double *f, const double *y,
                      double *alpha)
{
    double k[POINTS * POINTS] = {0}, trace = 0;
    for (int i = 0; i < POINTS; i++) {
        for (int j = 0; j < POINTS; j++) {
            for (int64_t p = 0; p < count; p++) {
                k[i * POINTS + j] += jacobian[i * count + p] * jacobian[j * count + p];
            }
        }
        trace += k[i * POINTS + i];
        k[i * POINTS + i] += RIDGE;
        alpha[i] = y[i] - f[i];
    }
    solve(k, alpha, POINTS);
    return trace;
}

static void linearised_descent_ends_as_kernel_regression(void **state)
{
    (void)state;
    double x[POINTS * INPUTS], y[POINTS], f[POINTS], alpha[POINTS];
    fill_normal(x, COUNT(x), 21);
    fill_normal(y, COUNT(y), 22);
    far_net *net = make_net("dense(17) ln relu dense(1)", INPUTS, FAR_INIT_NTK);
    int64_t count = far_net_describe(net).parameters;
    double *jacobian = copy_of(NULL, POINTS * count), *want = copy_of(params_of(net), count);
    far_mat mx = view(x, POINTS, INPUTS), my = view(y, POINTS, 1), mf = view(f, POINTS, 1);
    far_mat mj = view(jacobian, POINTS, count);
    must_do(far_net_eval(ctx, net, &mx, &mf), "eval");
    must_do(far_net_jacobian(ctx, net, &mx, &mj), "jacobian");
    double most = regress(jacobian, count, f, y, alpha);
    for (int i = 0; i < POINTS; i++) {
        for (int64_t p = 0; p < count; p++) {
            want[p] += jacobian[i * count + p] * alpha[i];
        }
    }
    far_train_opts opts;
    far_train_opts_init(&opts);
    opts.optimizer = FAR_OPTIMIZER_GD;
    opts.lr = POINTS / (most + RIDGE);
    opts.epochs = (int64_t)(12 * (most + RIDGE) / RIDGE);
    opts.l2_to_init = RIDGE;
    opts.linearized = 1;
    opts.dtype = FAR_F64;
    must_do(far_net_train(ctx, net, &mx, &my, &opts, NULL), "train");
    assert_close(params_of(net), want, count, 1e-6, "parameters");
    must_do(far_net_eval(ctx, net, &mx, &mf), "eval");
    for (int i = 0; i < POINTS; i++) { /* f = y - ridge alpha at the data */
        assert_true(fabs(f[i] - (y[i] - RIDGE * alpha[i])) <= 1e-6);
    }
    free(jacobian);
    free(want);
    far_net_destroy(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_those_of_pytorch),
        cmocka_unit_test(every_optimizer_and_loss_agrees_with_plain_loops),
        cmocka_unit_test(minibatches_agree_with_plain_loops),
        cmocka_unit_test(pull_layers_and_linearisation_agree_with_plain_loops),
        cmocka_unit_test(schedules_and_decay_agree_with_plain_loops),
        cmocka_unit_test(float32_follows_float64),
        cmocka_unit_test(linearised_descent_ends_as_kernel_regression),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
