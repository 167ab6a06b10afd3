/* Layers with lora: outputs, gradients, tangent kernels and steps of training are those of modules
 * of our own in PyTorch (torch_lora.txt, make_torch_lora.py); and what holds of such networks. */
#define TEST_THREADS 2
#include "../harness.h"

#include <farfield/farfield.h>

#define TOLERANCE 1e-12
#define RATE 0.02
enum { STEPS = 5, CASES = 6 };

typedef struct numbers {
    int64_t rows, cols;
    double *values;
} numbers;

typedef struct record {
    char arch[400];
    numbers x, y, tensors, out, gradient, kernel, losses, after;
} record;

/* The word, one or two sizes, and so many numbers. */
static numbers read_numbers(FILE *file, const char *word, int sizes)
{
    char found[32];
    long long rows = 1, cols;
    assert_int_equal(fscanf(file, "%31s", found), 1);
    assert_string_equal(found, word);
    if (sizes == 2) {
        assert_int_equal(fscanf(file, "%lld", &rows), 1);
    }
    assert_int_equal(fscanf(file, "%lld", &cols), 1);
    numbers n = {rows, cols, calloc((size_t)(rows * cols), sizeof(double))};
    for (int64_t i = 0; i < rows * cols; i++) {
        assert_int_equal(fscanf(file, "%lf", &n.values[i]), 1);
    }
    return n;
}

static bool read_record(FILE *file, record *r)
{
    if (fscanf(file, " arch %399[^\n]", r->arch) != 1) {
        return false;
    }
    r->x = read_numbers(file, "x", 2);
    r->y = read_numbers(file, "y", 2);
    r->tensors = read_numbers(file, "tensors", 1);
    r->out = read_numbers(file, "out", 1);
    r->gradient = read_numbers(file, "gradient", 1);
    r->kernel = read_numbers(file, "kernel", 1);
    r->losses = read_numbers(file, "losses", 1);
    r->after = read_numbers(file, "after", 1);
    return true;
}

static void forget(record *r)
{
    numbers *all[] = {&r->x,        &r->y,      &r->tensors, &r->out,
                      &r->gradient, &r->kernel, &r->losses,  &r->after};
    for (int i = 0; i < COUNT(all); i++) {
        free(all[i]->values);
    }
}

static far_mat view(const numbers *n)
{
    return far_mat_view(n->values, n->rows, n->cols, FAR_F64);
}

static void same(const record *r, const char *what, const double *ours, const numbers *theirs)
{
    double most = 0;
    for (int64_t i = 0; i < theirs->rows * theirs->cols; i++) {
        most = fmax(most, fabs(theirs->values[i]));
    }
    for (int64_t i = 0; i < theirs->rows * theirs->cols; i++) {
        if (!(fabs(ours[i] - theirs->values[i]) <= TOLERANCE * most)) {
            fail_msg("%s: %s %lld is %.17g, PyTorch has %.17g", r->arch, what, (long long)i,
                     ours[i], theirs->values[i]);
        }
    }
}

/* With PyTorch's tensors, frozen ones and others. */
static far_net *make(far_ctx *in, const record *r)
{
    far_net *net = NULL;
    far_net_opts o;
    far_net_opts_init(&o);
    o.inputs = r->x.cols;
    must(far_net_create(in, r->arch, &o, &net));
    int64_t at = 0;
    for (int64_t i = 0; i < far_net_describe(net).tensors; i++) {
        far_net_tensor_info t = far_net_tensor(net, i);
        int64_t count = t.values.rows * t.values.cols;
        assert_true(at + count <= r->tensors.cols);
        memcpy(t.values.data, r->tensors.values + at, (size_t)count * sizeof(double));
        at += count;
    }
    assert_int_equal(at, r->tensors.cols);
    return net;
}

static double *room(int64_t count)
{
    double *values = calloc((size_t)count, sizeof *values);
    assert_non_null(values);
    return values;
}

/* ---- what is PyTorch's --------------------------------------------------------------------- */

static void compare_values(const record *r)
{
    far_net *net = make(ctx, r);
    far_net_info info = far_net_describe(net);
    far_mat x = view(&r->x), y = view(&r->y);
    double *out = room(r->out.cols), *gradient = room(info.parameters);
    far_mat f = far_mat_view(out, x.rows, info.outputs, FAR_F64);
    far_mat g = far_mat_view(gradient, 1, info.parameters, FAR_F64);
    assert_int_equal(info.parameters, r->gradient.cols);
    must(far_net_eval(ctx, net, &x, &f));
    same(r, "output", out, &r->out);
    must(far_net_vjp(ctx, net, &x, &y, &g, NULL));
    same(r, "gradient", gradient, &r->gradient);
    free(out);
    free(gradient);
    far_net_destroy(net);
}

static void compare_kernel(const record *r)
{
    far_net *net = make(ctx, r);
    far_mat x = view(&r->x);
    double *kernel = room(r->kernel.cols);
    far_mat k = far_mat_view(kernel, x.rows, x.rows, FAR_F64);
    far_ntk_opts o = {.size = sizeof o, .outputs = FAR_NTK_ONE};
    must(far_net_ntk(ctx, net, &x, NULL, &o, &k));
    same(r, "kernel", kernel, &r->kernel);
    free(kernel);
    far_net_destroy(net);
}

static far_train_opts steps(double *history)
{
    far_train_opts o;
    far_train_opts_init(&o);
    o.lr = RATE;
    o.epochs = STEPS;
    o.dtype = FAR_F64;
    o.history = history;
    return o;
}

static void compare_training(const record *r)
{
    far_net *net = make(ctx, r);
    double losses[STEPS];
    far_train_opts o = steps(losses);
    far_mat x = view(&r->x), y = view(&r->y);
    must(far_net_train(ctx, net, &x, &y, &o, NULL));
    same(r, "loss", losses, &r->losses);
    same(r, "parameter", far_net_parameters(net).data, &r->after);
    far_net_destroy(net);
}

static void for_all(void (*check)(const record *r))
{
    FILE *file = fopen(TEST_DATA_DIR "/golden/torch_lora.txt", "r");
    record r;
    int count = 0;
    assert_non_null(file);
    while (read_record(file, &r)) {
        check(&r);
        forget(&r);
        count++;
    }
    fclose(file);
    assert_int_equal(count, CASES);
}

static void outputs_and_gradients_are_those_of_pytorch(void **state)
{
    (void)state;
    for_all(compare_values);
}

static void tangent_kernels_are_those_of_pytorch(void **state)
{
    (void)state;
    for_all(compare_kernel);
}

static void steps_of_training_are_those_of_pytorch(void **state)
{
    (void)state;
    for_all(compare_training);
}

/* ---- what holds of such networks ----------------------------------------------------------- */

/* u' J v both ways. */
static void check_tangent(const record *r)
{
    far_net *net = make(ctx, r);
    far_net_info info = far_net_describe(net);
    far_mat x = view(&r->x);
    double *v = room(info.parameters), *out = room(r->out.cols), forwards = 0, backwards = 0;
    for (int64_t i = 0; i < info.parameters; i++) {
        v[i] = sin(1.3 * (double)i + 0.2);
        backwards += v[i] * r->gradient.values[i];
    }
    far_mat along = far_mat_view(v, 1, info.parameters, FAR_F64);
    far_mat f = far_mat_view(out, x.rows, info.outputs, FAR_F64);
    must(far_net_jvp(ctx, net, &x, &along, NULL, &f));
    for (int64_t i = 0; i < r->out.cols; i++) {
        forwards += out[i] * r->y.values[i];
    }
    assert_near(forwards, backwards, 1e-11 * (1 + fabs(backwards)));
    free(v);
    free(out);
    far_net_destroy(net);
}

static void tangents_agree_with_gradients(void **state)
{
    (void)state;
    for_all(check_tangent);
}

/* W + B A in a plain network. */
static void check_merged(const record *r)
{
    far_net *net = make(ctx, r), *merged = NULL;
    far_mat x = view(&r->x);
    double *out = room(r->out.cols);
    must(far_net_merge(ctx, net, &merged));
    far_net_info info = far_net_describe(merged);
    assert_int_equal(info.frozen, 0);
    assert_null(strstr(info.arch, "lora"));
    far_mat f = far_mat_view(out, x.rows, info.outputs, FAR_F64);
    must(far_net_eval(ctx, merged, &x, &f));
    same(r, "output of the merged network", out, &r->out);
    free(out);
    far_net_destroy(merged);
    far_net_destroy(net);
}

static void merged_networks_are_the_same_function(void **state)
{
    (void)state;
    for_all(check_merged);
}

static void train_with(int threads, const record *r, bool linearized, double *out)
{
    far_ctx *own = context_with(threads);
    far_net *net = make(own, r);
    far_train_opts o = steps(NULL);
    far_mat x = view(&r->x), y = view(&r->y);
    o.linearized = linearized;
    o.batch = 3;
    o.l2_to_init = 0.5;
    if (far_net_train(own, net, &x, &y, &o, NULL) != FAR_OK) {
        fail_msg("%s: %s", r->arch, far_ctx_message(own));
    }
    far_mat p = far_net_parameters(net);
    memcpy(out, p.data, (size_t)p.cols * sizeof *out);
    far_net_destroy(net);
    far_ctx_destroy(own);
}

static void check_threads(const record *r)
{
    size_t bytes = (size_t)r->gradient.cols * sizeof(double);
    double *one = room(r->gradient.cols), *many = room(r->gradient.cols);
    for (int linearized = 0; linearized < 2; linearized++) {
        train_with(1, r, linearized, one);
        for (int threads = 2; threads <= 5; threads++) {
            train_with(threads, r, linearized, many);
            assert_memory_equal(one, many, bytes);
        }
    }
    free(one);
    free(many);
}

static void any_number_of_threads_gives_the_same_bits(void **state)
{
    (void)state;
    for_all(check_threads);
}

/* float32 on the way, held against float64. */
static void check_single(const record *r)
{
    far_net *net = make(ctx, r);
    far_mat x = view(&r->x), y = view(&r->y);
    far_train_opts o = steps(NULL);
    o.dtype = FAR_F32;
    o.optimizer = FAR_OPTIMIZER_GD;
    must(far_net_train(ctx, net, &x, &y, &o, NULL));
    far_net *exact = make(ctx, r);
    o.dtype = FAR_F64;
    must(far_net_train(ctx, exact, &x, &y, &o, NULL));
    const double *p = far_net_parameters(net).data, *q = far_net_parameters(exact).data;
    for (int64_t i = 0; i < far_net_describe(net).parameters; i++) {
        assert_near(p[i], q[i], 1e-5);
    }
    far_net_destroy(net);
    far_net_destroy(exact);
}

static void float32_is_near_float64(void **state)
{
    (void)state;
    for_all(check_single);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(outputs_and_gradients_are_those_of_pytorch),
                                       TEST(tangent_kernels_are_those_of_pytorch),
                                       TEST(steps_of_training_are_those_of_pytorch),
                                       TEST(tangents_agree_with_gradients),
                                       TEST(merged_networks_are_the_same_function),
                                       TEST(any_number_of_threads_gives_the_same_bits),
                                       TEST(float32_is_near_float64)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
