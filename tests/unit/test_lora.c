/* Networks with lora: what is frozen, files, merging, certificates. That they compute what PyTorch
 * does is in golden/test_torch_lora.c. */
#define TEST_THREADS 2
#include "../harness.h"

#include "../chance.h"

#include <farfield/farfield.h>

#include "../../src/net/net_file.h"
#include "../../src/nonlinear/nonlinear_internal.h"

#define TUNED "dense(11, lora=3, alpha=6) ln relu dense(7, lora=2) tanh dense(2)"
#define PLAIN "dense(11) ln relu dense(7) tanh dense(2)"
enum { INPUTS = 5, ROWS = 13, OUTPUTS = 2 };

static far_net *net_of(const char *arch, uint64_t seed)
{
    far_net *net = NULL;
    far_net_opts o;
    far_net_opts_init(&o);
    o.inputs = INPUTS;
    o.seed = seed;
    must(far_net_create(ctx, arch, &o, &net));
    return net;
}

/* With B and everything else that trains moved away from its start. */
static far_net *tuned_net(uint64_t seed)
{
    far_net *net = net_of(TUNED, seed);
    uint64_t state = seed + 1;
    far_mat p = far_net_parameters(net);
    for (int64_t i = 0; i < p.cols; i++) {
        ((double *)p.data)[i] += roll_unit(&state) - 0.5;
    }
    return net;
}

static void inputs_of(double *x)
{
    for (int i = 0; i < ROWS * INPUTS; i++) {
        x[i] = 3 * sin(1.7 * i + 0.4);
    }
}

static void values_of(const far_net *net, double *out)
{
    double x[ROWS * INPUTS];
    inputs_of(x);
    far_mat in = far_mat_view(x, ROWS, INPUTS, FAR_F64);
    far_mat f = far_mat_view(out, ROWS, OUTPUTS, FAR_F64);
    must(far_net_eval(ctx, net, &in, &f));
}

static far_net_tensor_info tensor(far_net *net, const char *name)
{
    for (int64_t i = 0; i < far_net_describe(net).tensors; i++) {
        far_net_tensor_info t = far_net_tensor(net, i);
        if (strcmp(t.name, name) == 0) {
            return t;
        }
    }
    fail_msg("no tensor %s", name);
    return (far_net_tensor_info){0};
}

static void same_tensor(far_net *a, far_net *b, const char *name)
{
    far_mat x = tensor(a, name).values, y = tensor(b, name).values;
    assert_int_equal(x.rows * x.cols, y.rows * y.cols);
    assert_memory_equal(x.data, y.data, (size_t)(x.rows * x.cols) * sizeof(double));
}

/* ---- the language -------------------------------------------------------------------------- */

static void texts_are_canonical(void **state)
{
    (void)state;
    char *text = NULL;
    must(far_arch_canonical(ctx, "dense( 64 ,lora = 8) relu dense(1,alpha=2,lora=4,nobias)", &text,
                            NULL));
    assert_string_equal(text, "dense(64, lora=8) relu dense(1, nobias, lora=4, alpha=2)");
    far_text_free(ctx, text);
    refused(far_arch_canonical(ctx, "dense(3, alpha=2)", &text, NULL), FAR_ERR_PARSE,
            "alpha needs lora");
    refused(far_arch_canonical(ctx, "dense(3, lora=0)", &text, NULL), FAR_ERR_PARSE, "lora");
    refused(far_arch_canonical(ctx, "dense(3, lora=2, alpha=0)", &text, NULL), FAR_ERR_PARSE,
            "alpha");
    refused(far_arch_canonical(ctx, "embed(3, lora=2)", &text, NULL), FAR_ERR_PARSE, "embed");
}

static void infinite_width_has_none(void **state)
{
    (void)state;
    far_kernel *k = NULL;
    far_kernel_opts o = {.size = sizeof o};
    refused(far_kernel_create(ctx, "dense(4) relu dense(3, lora=2)", &o, &k), FAR_ERR_ARCH, "lora");
    assert_message("column 15");
}

/* ---- what trains --------------------------------------------------------------------------- */

static void only_a_and_b_are_parameters(void **state)
{
    (void)state;
    far_net *net = net_of(TUNED, 3);
    far_net_info info = far_net_describe(net);
    assert_int_equal(info.layers, 3);
    assert_int_equal(info.parameters, 3 * (11 + INPUTS) + 2 * (7 + 11) + 7 * 2 + 2);
    assert_int_equal(info.frozen, 11 * INPUTS + 11 + 7 * 11 + 7);
    assert_int_equal(info.untuned, 1);
    assert_int_equal(tensor(net, "0.weight").parameter, -1);
    assert_int_equal(tensor(net, "0.bias").layer, -1);
    assert_int_equal(tensor(net, "0.lora_A.weight").parameter, 0);
    assert_int_equal(tensor(net, "3.lora_B.weight").layer, 1);
    ((double *)far_net_parameters(net).data)[3 * INPUTS] = 1e-30; /* of B */
    assert_int_equal(far_net_describe(net).untuned, 0);
    far_net_destroy(net);
}

static void bases_are_those_of_the_text_without_lora(void **state)
{
    (void)state;
    far_net *net = net_of(TUNED, 3), *plain = net_of(PLAIN, 3);
    double f[ROWS * OUTPUTS], g[ROWS * OUTPUTS];
    const char *const names[] = {"0.weight", "0.bias", "3.weight", "3.bias", "5.weight", "5.bias"};
    for (int i = 0; i < COUNT(names); i++) {
        same_tensor(net, plain, names[i]);
    }
    values_of(net, f);
    values_of(plain, g);
    assert_memory_equal(f, g, sizeof f); /* B is 0 */
    far_net_destroy(net);
    far_net_destroy(plain);
}

static void training_leaves_the_base_alone(void **state)
{
    (void)state;
    far_net *net = net_of(TUNED, 3), *start = net_of(TUNED, 3);
    double x[ROWS * INPUTS], y[ROWS * OUTPUTS];
    inputs_of(x);
    for (int i = 0; i < ROWS * OUTPUTS; i++) {
        y[i] = cos(0.3 * i);
    }
    far_mat in = far_mat_view(x, ROWS, INPUTS, FAR_F64);
    far_mat out = far_mat_view(y, ROWS, OUTPUTS, FAR_F64);
    far_train_opts o;
    far_train_result found;
    far_train_opts_init(&o);
    o.epochs = 30;
    o.weight_decay = 0.1;
    must(far_net_train(ctx, net, &in, &out, &o, &found));
    assert_true(found.final_loss < found.first_loss);
    same_tensor(net, start, "0.weight");
    same_tensor(net, start, "3.bias");
    assert_int_equal(far_net_describe(net).untuned, 0);
    far_net_destroy(net);
    far_net_destroy(start);
}

/* f(x; start) + J (p - start), from the derivative itself. */
static void linearised_networks_move_along_a_and_b(void **state)
{
    (void)state;
    far_net *net = tuned_net(4), *start = tuned_net(4);
    double x[ROWS * INPUTS], f[ROWS * OUTPUTS], at[ROWS * OUTPUTS], along[ROWS * OUTPUTS];
    inputs_of(x);
    far_mat in = far_mat_view(x, ROWS, INPUTS, FAR_F64);
    far_mat moved = far_mat_view(along, ROWS, OUTPUTS, FAR_F64);
    far_mat p = far_net_parameters(net);
    double *step = calloc((size_t)p.cols, sizeof *step);
    must(far_net_linearize(ctx, net));
    for (int64_t i = 0; i < p.cols; i++) {
        step[i] = sin(0.7 * (double)i);
        ((double *)p.data)[i] += step[i];
    }
    values_of(net, f);
    values_of(start, at);
    far_mat v = far_mat_view(step, 1, p.cols, FAR_F64);
    must(far_net_jvp(ctx, start, &in, &v, NULL, &moved));
    for (int i = 0; i < ROWS * OUTPUTS; i++) {
        assert_near(f[i], at[i] + along[i], 1e-12 * (1 + fabs(f[i])));
    }
    free(step);
    far_net_destroy(net);
    far_net_destroy(start);
}

/* ---- files --------------------------------------------------------------------------------- */

static const char *in_folder(const char *name)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/lora-%d-%s", P_tmpdir, (int)getpid(), name);
    return path;
}

static void files_come_back_whole(void **state)
{
    (void)state;
    far_net *net = tuned_net(5), *back = NULL;
    double f[ROWS * OUTPUTS], g[ROWS * OUTPUTS];
    const char *path = in_folder("whole.safetensors");
    for (int linearized = 0; linearized < 2; linearized++) {
        if (linearized) {
            must(far_net_linearize(ctx, net));
            ((double *)far_net_parameters(net).data)[1] += 0.25;
        }
        must(far_net_save(ctx, net, path));
        must(far_net_load(ctx, path, linearized ? NULL : TUNED, &back));
        values_of(net, f);
        values_of(back, g);
        assert_memory_equal(f, g, sizeof f);
        assert_string_equal(far_net_describe(back).arch, TUNED);
        far_net_destroy(back);
    }
    unlink(path);
    far_net_destroy(net);
}

static void a_plain_file_becomes_the_base(void **state)
{
    (void)state;
    far_net *plain = net_of(PLAIN, 6), *net = NULL, *other = NULL;
    double f[ROWS * OUTPUTS], g[ROWS * OUTPUTS];
    const char *path = in_folder("plain.safetensors");
    must(far_net_save(ctx, plain, path));
    must(far_net_load(ctx, path, TUNED, &net));
    same_tensor(net, plain, "0.weight");
    values_of(net, f);
    values_of(plain, g);
    assert_memory_equal(f, g, sizeof f);
    assert_int_equal(far_net_describe(net).untuned, 1);
    must(far_net_load(ctx, path, TUNED, &other));
    same_tensor(net, other, "0.lora_A.weight");
    must(far_net_draw_lora(ctx, other, 77));
    assert_memory_not_equal(tensor(net, "0.lora_A.weight").values.data,
                            tensor(other, "0.lora_A.weight").values.data, 3 * sizeof(double));
    far_net_destroy(other);
    refused(far_net_load(ctx, path, "dense(11, lora=3) ln relu dense(8) tanh dense(2)", &other),
            FAR_ERR_ARG, "was saved with the architecture");
    must(far_net_save(ctx, net, path));
    refused(far_net_load(ctx, path, PLAIN, &other), FAR_ERR_ARG, "was saved with");
    unlink(path);
    far_net_destroy(net);
    far_net_destroy(plain);
}

/* Tensors of these shapes, all of ones. */
typedef struct sketch {
    const char *name;
    int dims;
    int64_t shape[4];
} sketch;

static far_status parse_sketch(const sketch *tensors, int count, const char *arch, far_net **out)
{
    far_tensor_out list[8];
    double ones[64];
    char *data = NULL;
    size_t size = 0;
    far_output o;
    FILE *stream = open_memstream(&data, &size);
    for (int i = 0; i < COUNT(ones); i++) {
        ones[i] = 1;
    }
    for (int i = 0; i < count; i++) {
        list[i] =
            (far_tensor_out){.name = tensors[i].name, .values = ones, .dims = tensors[i].dims};
        memcpy(list[i].shape, tensors[i].shape, sizeof list[i].shape);
    }
    must(far_output_open_stream(ctx, stream, &o));
    must(far_safetensors_write(&o, list, count, NULL, 0));
    must(far_output_commit(&o));
    far_output_close(&o);
    fclose(stream);
    far_status st = far_net_parse_bytes(ctx, "f", data, (int64_t)size, arch, out);
    free(data);
    return st;
}

static void names_of_peft_are_read(void **state)
{
    (void)state;
    const sketch ours[] = {{"0.weight", 2, {3, 5}},
                           {"0.bias", 1, {3}},
                           {"0.lora_A.weight", 2, {2, 5}},
                           {"0.lora_B.weight", 2, {3, 2}}};
    const sketch peft[] = {{"m.0.base_layer.weight", 2, {3, 5}},
                           {"m.0.base_layer.bias", 1, {3}},
                           {"m.0.lora_A.default.weight", 2, {2, 5}},
                           {"m.0.lora_B.default.weight", 2, {3, 2}}};
    const sketch *const both[] = {ours, peft};
    for (int i = 0; i < 2; i++) {
        far_net *net = NULL;
        must(parse_sketch(both[i], 4, "dense(3, lora=2)", &net));
        assert_int_equal(far_net_describe(net).untuned, 0);
        assert_true(((double *)tensor(net, "0.lora_B.weight").values.data)[5] == 1);
        far_net_destroy(net);
    }
}

static void forged_files_are_refused(void **state)
{
    (void)state;
    far_net *net = NULL;
    const sketch w = {"0.weight", 2, {3, 5}}, b = {"0.bias", 1, {3}};
    const sketch A = {"0.lora_A.weight", 2, {2, 5}}, B = {"0.lora_B.weight", 2, {3, 2}};
    const sketch thin = {"0.lora_A.weight", 2, {1, 5}}, flat = {"0.lora_A.weight", 1, {10}};
    const sketch turned = {"0.lora_B.weight", 2, {2, 3}}, bias = {"0.lora_A.bias", 1, {2}};
    const sketch twice = {"0.lora_A.default.weight", 2, {2, 5}};
    const char *arch = "dense(3, lora=2)";
    refused(parse_sketch((sketch[]){w, b, A}, 3, arch, &net), FAR_ERR_FORMAT,
            "lora_B.weight' is missing");
    refused(parse_sketch((sketch[]){w, b, B}, 3, arch, &net), FAR_ERR_FORMAT,
            "lora_A.weight' is missing");
    refused(parse_sketch((sketch[]){A, B}, 2, arch, &net), FAR_ERR_FORMAT, "adapters alone");
    refused(parse_sketch((sketch[]){w, b, thin, B}, 4, arch, &net), FAR_ERR_FORMAT, "2 x 5");
    refused(parse_sketch((sketch[]){w, b, A, turned}, 4, arch, &net), FAR_ERR_FORMAT, "3 x 2");
    refused(parse_sketch((sketch[]){w, b, flat, B}, 4, arch, &net), FAR_ERR_FORMAT, "is 10");
    refused(parse_sketch((sketch[]){w, b, A, B, bias}, 5, arch, &net), FAR_ERR_FORMAT, "no layer");
    refused(parse_sketch((sketch[]){w, b, A, B, twice}, 5, arch, &net), FAR_ERR_FORMAT,
            "one too many");
    refused(parse_sketch((sketch[]){w, b, A, B}, 4, "dense(3)", &net), FAR_ERR_FORMAT, "lora=2");
    assert_null(net);
}

/* ---- merging ------------------------------------------------------------------------------- */

static void weights_are_merged_to_a_rounding(void **state)
{
    (void)state;
    far_net *net = tuned_net(8), *merged = NULL;
    must(far_net_merge(ctx, net, &merged));
    assert_string_equal(far_net_describe(merged).arch, PLAIN);
    const double *w = tensor(net, "0.weight").values.data,
                 *a = tensor(net, "0.lora_A.weight").values.data;
    const double *b = tensor(net, "0.lora_B.weight").values.data;
    const double *found = tensor(merged, "0.weight").values.data;
    for (int o = 0; o < 11; o++) {
        for (int i = 0; i < INPUTS; i++) {
            long double sum = w[o * INPUTS + i];
            for (int k = 0; k < 3; k++) {
                sum += 2.0L * b[o * 3 + k] * a[k * INPUTS + i];
            }
            assert_near(found[o * INPUTS + i], (double)sum, 0x1p-52 * fabs((double)sum));
        }
    }
    far_net_destroy(merged);
    far_net_destroy(net);
}

/* W and B A cancel to the last bit but one. */
static void what_cancels_keeps_its_digits(void **state)
{
    (void)state;
    far_net *net = NULL, *merged = NULL;
    far_net_opts o;
    far_net_opts_init(&o);
    o.inputs = 1;
    must(far_net_create(ctx, "dense(1, nobias, lora=2)", &o, &net));
    *(double *)tensor(net, "0.weight").values.data = -(1 + 0x1p-40);
    double *a = tensor(net, "0.lora_A.weight").values.data,
           *b = tensor(net, "0.lora_B.weight").values.data;
    a[0] = b[0] = 1 + 0x1p-41; /* squared: 1 + 2^-40 + 2^-82 */
    a[1] = 0x1p-60;
    b[1] = 0x1p-70;
    must(far_net_merge(ctx, net, &merged));
    assert_true(*(double *)tensor(merged, "0.weight").values.data == 0x1p-82 + 0x1p-130);
    far_net_destroy(merged);
    b[1] = 1e308;
    a[1] = 1e308;
    refused(far_net_merge(ctx, net, &merged), FAR_ERR_VALUE, "layer 0");
    b[1] = a[1] = 1e-200;
    *(double *)tensor(net, "0.weight").values.data = 0;
    b[0] = 0;
    refused(far_net_merge(ctx, net, &merged), FAR_ERR_VALUE, "out of the range");
    assert_null(merged);
    far_net_destroy(net);
}

static void linearised_networks_are_not_merged(void **state)
{
    (void)state;
    far_net *net = tuned_net(9), *merged = NULL;
    must(far_net_linearize(ctx, net));
    refused(far_net_merge(ctx, net, &merged), FAR_ERR_ARG, "linear in A and B");
    refused(far_net_draw_lora(ctx, net, 1), FAR_ERR_ARG, "linearised");
    far_net_destroy(net);
}

static far_net *given;

static far_status merge_given(void)
{
    far_net *merged = NULL;
    far_status st = far_net_merge(ctx, given, &merged);
    far_net_destroy(merged);
    return st;
}

static far_status train_given(void)
{
    double x[ROWS * INPUTS], y[ROWS * OUTPUTS] = {0};
    inputs_of(x);
    far_mat in = far_mat_view(x, ROWS, INPUTS, FAR_F64);
    far_mat out = far_mat_view(y, ROWS, OUTPUTS, FAR_F64);
    far_train_opts o;
    far_train_opts_init(&o);
    o.epochs = 1;
    return far_net_train(ctx, given, &in, &out, &o, NULL);
}

static void memory_that_runs_out_is_told(void **state)
{
    (void)state;
    given = tuned_net(10);
    fail_every_allocation(merge_given);
    fail_every_allocation(train_given);
    far_net_destroy(given);
}

/* ---- certificates -------------------------------------------------------------------------- */

static far_certificate *certified(const far_net *net, char **json)
{
    far_predictor *p = NULL;
    far_certificate *c = NULL;
    far_certify_opts o;
    far_certify_opts_init(&o);
    o.seconds = 0.2;
    must(far_predictor_of_net(ctx, net, &p));
    must(far_predictor_certify(ctx, p, &o, &c));
    if (json) {
        must(far_certificate_json(ctx, c, json));
        must(far_certificate_check(ctx, p, *json));
    }
    far_predictor_destroy(p);
    return c;
}

/* Inputs near and far, some of them steps uphill, stay below what is certified. */
static void certificates_hold_for_w_plus_b_a(void **state)
{
    (void)state;
    uint64_t state_of_chance = 11;
    for (uint64_t seed = 20; seed < 22; seed++) {
        far_net *net = tuned_net(seed);
        char *json = NULL;
        far_certificate *c = certified(net, &json);
        for (int j = 0; j < OUTPUTS; j++) {
            assert_int_equal(far_certificate_bound(c, j)->verdict, FAR_BOUNDED);
        }
        for (int trial = 0; trial < 60; trial++) {
            double x[INPUTS], f[OUTPUTS], u[OUTPUTS] = {0}, g[INPUTS];
            int j = trial % OUTPUTS;
            far_mat in = far_mat_view(x, 1, INPUTS, FAR_F64),
                    out = far_mat_view(f, 1, OUTPUTS, FAR_F64);
            far_mat way = far_mat_view(u, 1, OUTPUTS, FAR_F64),
                    slope = far_mat_view(g, 1, INPUTS, FAR_F64);
            double size = pow(10, 6 * roll_unit(&state_of_chance) - 2);
            for (int i = 0; i < INPUTS; i++) {
                x[i] = size * (2 * roll_unit(&state_of_chance) - 1);
            }
            for (int step = 0; step < 12; step++) {
                must(far_net_eval(ctx, net, &in, &out));
                const far_bound *b = far_certificate_bound(c, j);
                assert_true(f[j] <= b->highest && f[j] >= b->lowest);
                u[j] = f[j] > 0 ? 1 : -1;
                must(far_net_vjp(ctx, net, &in, &way, NULL, &slope));
                for (int i = 0; i < INPUTS; i++) {
                    x[i] += 0.1 * size * g[i];
                }
            }
        }
        far_text_free(ctx, json);
        far_certificate_destroy(c);
        far_net_destroy(net);
    }
}

/* One certificate for the network and the one it is merged into. */
static void merged_files_have_the_same_certificate(void **state)
{
    (void)state;
    far_net *net = tuned_net(30), *merged = NULL;
    char *json = NULL;
    far_predictor *p = NULL;
    far_certificate *c = certified(net, &json);
    must(far_net_merge(ctx, net, &merged));
    must(far_predictor_of_net(ctx, merged, &p));
    must(far_certificate_check(ctx, p, json));
    far_predictor_destroy(p);
    *(double *)tensor(net, "0.lora_B.weight").values.data += 1e-3;
    must(far_predictor_of_net(ctx, net, &p));
    assert_true(far_certificate_check(ctx, p, json) != FAR_OK); /* of another network */
    far_predictor_destroy(p);
    far_text_free(ctx, json);
    far_certificate_destroy(c);
    far_net_destroy(merged);
    far_net_destroy(net);
}

/* Limits along rays and second derivatives are those of the merged network. */
static void limits_and_second_derivatives_see_b_a(void **state)
{
    (void)state;
    far_net *net = tuned_net(31), *merged = NULL;
    double u[INPUTS] = {1, -2, 0.5, 3, 1}, a[OUTPUTS], b[OUTPUTS], h[2][INPUTS * INPUTS];
    far_mat ray = far_mat_view(u, 1, INPUTS, FAR_F64);
    far_mat one = far_mat_view(a, 1, OUTPUTS, FAR_F64), two = far_mat_view(b, 1, OUTPUTS, FAR_F64);
    must(far_net_merge(ctx, net, &merged));
    must(far_net_limit(ctx, net, &ray, &one, NULL, NULL));
    must(far_net_limit(ctx, merged, &ray, &two, NULL, NULL));
    assert_memory_equal(a, b, sizeof a);
    for (int k = 0; k < 2; k++) {
        far_mat out = far_mat_view(h[k], INPUTS, INPUTS, FAR_F64);
        must(far_net_hessian(ctx, k ? merged : net, &ray, 0, 0, &out));
    }
    assert_memory_equal(h[0], h[1], sizeof h[0]);
    far_net_destroy(merged);
    far_net_destroy(net);
}

static void every_laplace_takes_it(void **state)
{
    (void)state;
    far_net *net = tuned_net(32);
    double x[ROWS * INPUTS];
    inputs_of(x);
    far_mat in = far_mat_view(x, ROWS, INPUTS, FAR_F64);
    far_laplace *la = NULL;
    far_laplace_opts o;
    far_laplace_opts_init(&o);
    static const far_laplace_method METHODS[] = {FAR_LAPLACE_EXACT, FAR_LAPLACE_ELLA,
                                                 FAR_LAPLACE_DIAGONAL, FAR_LAPLACE_LAST_LAYER,
                                                 FAR_LAPLACE_KFAC};
    for (int i = 0; i < COUNT(METHODS); i++) {
        o.method = METHODS[i];
        must(far_laplace_fit(ctx, net, &in, &o, &la));
        far_laplace_destroy(la);
    }
    far_net_destroy(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(texts_are_canonical),
                                       TEST(infinite_width_has_none),
                                       TEST(only_a_and_b_are_parameters),
                                       TEST(bases_are_those_of_the_text_without_lora),
                                       TEST(training_leaves_the_base_alone),
                                       TEST(linearised_networks_move_along_a_and_b),
                                       TEST(files_come_back_whole),
                                       TEST(a_plain_file_becomes_the_base),
                                       TEST(names_of_peft_are_read),
                                       TEST(forged_files_are_refused),
                                       TEST(weights_are_merged_to_a_rounding),
                                       TEST(what_cancels_keeps_its_digits),
                                       TEST(linearised_networks_are_not_merged),
                                       TEST(memory_that_runs_out_is_told),
                                       TEST(certificates_hold_for_w_plus_b_a),
                                       TEST(merged_files_have_the_same_certificate),
                                       TEST(limits_and_second_derivatives_see_b_a),
                                       TEST(every_laplace_takes_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
