/* Networks in safetensors files: ours come back bit by bit, PyTorch's compute what PyTorch
 * computes, and whatever does not fit is explained. */
#define _GNU_SOURCE
#include "../../src/net/net_file.h"

#include <float.h>

#include "harness.h"

#define DATA TEST_DATA_DIR "/unit/data/"

/* ---- networks ---- */

static far_net *make_net(const char *arch, int64_t inputs, far_init init)
{
    far_net *net;
    far_net_opts o;
    far_net_opts_init(&o);
    o.inputs = inputs;
    o.init = (int32_t)init;
    o.seed = 12345678901234567890u;
    must(far_net_create(ctx, arch, &o, &net));
    return net;
}

/* Values that need float64, and none that is where a network starts. */
static void fill(far_net *net)
{
    far_mat p = far_net_parameters(net);
    for (int64_t i = 0; i < p.cols; i++) {
        ((double *)p.data)[i] = sin((double)i + 1) * exp2((double)(i % 23) - 11);
    }
    for (int64_t i = 0; i < net->statistic_count; i++) {
        net->statistics[i] = fabs(cos((double)i)) + 0.1;
    }
}

static void set_scaling(far_net *net)
{
    far_scaling s = far_columns_describe(far_net_describe(net).columns).scaling;
    double values[64];
    int64_t at = 0;
    far_mat *parts[] = {&s.input_centre, &s.input_scale, &s.output_centre, &s.output_scale};
    for (int k = 0; k < 4; k++) {
        parts[k]->data = values + at;
        for (int64_t j = 0; j < parts[k]->cols; j++) {
            values[at] = (k % 2 ? 1 : -1) * (0.1 + (double)at / 3);
            at++;
        }
    }
    values[0] = 0x1.fffffffffffffp1023;
    values[1] = -5e-324;
    must(far_net_set_scaling(ctx, net, &s));
}

static void same_info(const far_net *a, const far_net *b)
{
    far_net_info i = far_net_describe(a), j = far_net_describe(b);
    assert_int_equal(i.inputs, j.inputs);
    assert_int_equal(i.outputs, j.outputs);
    assert_int_equal(i.layers, j.layers);
    assert_int_equal(i.tensors, j.tensors);
    assert_int_equal(i.parameters, j.parameters);
    assert_int_equal(i.param, j.param);
    assert_int_equal(i.init, j.init);
    assert_memory_equal(&i.w0, &j.w0, sizeof i.w0);
    assert_int_equal(i.seed, j.seed);
    assert_int_equal(i.linearized, j.linearized);
    assert_int_equal(i.scaled, j.scaled);
}

static void same_numbers(const double *a, const double *b, int64_t count)
{
    assert_memory_equal(a, b, (size_t)count * sizeof *a);
}

static void same_net(far_net *a, far_net *b)
{
    same_info(a, b);
    assert_string_equal(far_net_describe(a).arch, far_net_describe(b).arch);
    same_numbers(a->params, b->params, a->info.parameters);
    same_numbers(a->statistics, b->statistics, a->statistic_count);
    same_numbers(a->columns->scaling, b->columns->scaling, 2 * (a->info.inputs + a->info.outputs));
    assert_int_equal(!a->start, !b->start);
    if (a->start) {
        same_numbers(a->start, b->start, a->info.parameters);
    }
    assert_int_equal(a->meta_count, b->meta_count);
    for (int64_t i = 0; i < a->meta_count; i++) {
        assert_string_equal(far_net_metadata(b, a->meta[i].key), a->meta[i].value);
    }
}

/* Saved, loaded, and saved again to the same bytes. */
static void expect_round_trip(far_net *net)
{
    far_net *again;
    size_t sizes[2];
    must(far_net_save(ctx, net, "a.safetensors"));
    must(far_net_load(ctx, "a.safetensors", NULL, &again));
    same_net(net, again);
    must(far_net_save(ctx, again, "b.safetensors"));
    char *a = read_whole("a.safetensors", &sizes[0]), *b = read_whole("b.safetensors", &sizes[1]);
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(a, b, sizes[0]);
    assert_int_equal(count_files(), 2);
    free(a);
    free(b);
    far_net_destroy(again);
    far_net_destroy(net);
    unlink("a.safetensors");
    unlink("b.safetensors");
}

#define EVERY_LAYER                                                                                \
    "batchnorm(affine) dense(12, w=1.3, b=0.2) ln(groups=3, eps=1e-05, affine) gelu "              \
    "[dense(12, nobias) rms(affine) relu(2)]x2 skip(dense(7) silu skip(leaky_relu(0.3) ln) "       \
    "dense(12)) batchnorm(eps=0.001) sin(gain=1.5) dense(5)"

/* ---- round trips ---- */

static void every_layer_comes_back_bit_by_bit(void **state)
{
    (void)state;
    for (int init = FAR_INIT_KAIMING_NORMAL; init <= FAR_INIT_TORCH; init++) {
        expect_round_trip(make_net(EVERY_LAYER, 3, (far_init)init));
        far_net *net = make_net(EVERY_LAYER, 3, (far_init)init);
        fill(net);
        expect_round_trip(net);
    }
}

static void scaling_metadata_and_start_come_back(void **state)
{
    (void)state;
    far_net *net = make_net(EVERY_LAYER, 3, FAR_INIT_SIREN);
    must(far_net_linearize(ctx, net));
    fill(net);
    set_scaling(net);
    must(far_net_set_metadata(ctx, net, "zebra", "\xE6\xB0\xB4 \"quoted\"\n"));
    must(far_net_set_metadata(ctx, net, "rows", "{\"a\": [1, 2]}"));
    must(far_net_set_metadata(ctx, net, "", ""));
    assert_int_equal(far_net_describe(net).scaled, 1);
    expect_round_trip(net);
}

static void networks_without_weights_keep_their_inputs(void **state)
{
    (void)state;
    expect_round_trip(make_net("relu ln", 7, FAR_INIT_LECUN));
    expect_round_trip(make_net("ln(affine)", 7, FAR_INIT_LECUN));
    expect_round_trip(make_net("tanh batchnorm", 5, FAR_INIT_NTK));
    expect_round_trip(make_net("relu ln dense(2)", 5, FAR_INIT_TORCH));
}

/* Linearised, its names are out of the order of layers. */
static void ten_layers_stay_in_order(void **state)
{
    (void)state;
    far_net *net = make_net("[dense(5) relu]x11 dense(2)", 5, FAR_INIT_KAIMING_NORMAL);
    must(far_net_linearize(ctx, net));
    fill(net);
    expect_round_trip(net);
}

static void metadata_are_what_other_readers_look_for(void **state)
{
    (void)state;
    far_safetensors f = {0};
    far_net *net = make_net("dense(5) rms(affine) relu dense(2)", 3, FAR_INIT_SIREN);
    must(far_net_set_metadata(ctx, net, "b", "2"));
    must(far_net_set_metadata(ctx, net, "a", "1"));
    must(far_net_save(ctx, net, "a.safetensors"));
    must(far_safetensors_load(ctx, "a.safetensors", &f));
    const char *const expected[][2] = {{"format", "pt"},
                                       {"farfield", far_version()},
                                       {"arch", "dense(5) rms(affine) relu dense(2)"},
                                       {"param", "standard"},
                                       {"init", "siren"},
                                       {"seed", "12345678901234567890"},
                                       {"w0", "30"},
                                       {"a", "1"},
                                       {"b", "2"},
                                       {"farfield.checksum", "sha256"}};
    assert_int_equal(f.metadata_count, COUNT(expected) + 1);
    assert_string_equal(f.metadata[COUNT(expected)].key, "farfield.sha256");
    for (int i = 0; i < COUNT(expected); i++) {
        assert_string_equal(f.metadata[i].key, expected[i][0]);
        assert_string_equal(f.metadata[i].value, expected[i][1]);
    }
    assert_int_equal(f.tensor_count, 5); /* RMSNorm has no bias */
    far_safetensors_clear(&f);
    far_net_destroy(net);
    unlink("a.safetensors");
}

/* ---- what PyTorch wrote ---- */

typedef struct torch_case {
    const char *name, *arch;
} torch_case;

#define LN "ln(eps=1e-5, affine)"

static const torch_case torch_cases[] = {
    {"sequential", "dense(5) " LN " relu dense"},
    {"sequential", "dense(5) " LN " relu dense(2)"},
    {"batchnorm", NULL},
    {"batchnorm", "batchnorm(affine, eps=1e-05) dense(7) batchnorm(eps=1e-5) gelu dense"},
    {"skip", "dense(5) rms(eps=1e-6, affine) skip(dense(11) silu dense(5)) " LN " dense"},
    {"named", "dense(11) " LN " tanh dense(7) " LN " tanh dense(2, nobias)"},
    {"half", "dense(5) relu dense(2)"},
    {"bfloat", "dense(5) relu dense(2)"},
    {"wrapped", "dense(5) relu dense"},
};

static void read_matrix(const far_safetensors *f, const char *name, double *out)
{
    for (int64_t i = 0; i < f->tensor_count; i++) {
        const far_stored *a = &f->tensors[i].values;
        if (strcmp(f->tensors[i].name, name) == 0) {
            far_stored_numbers(a, out, a->cols, 1);
            return;
        }
    }
    fail_msg("no %s", name);
}

static void state_dicts_compute_what_pytorch_computes(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(torch_cases); i++) {
        char path[512];
        far_safetensors xy = {0};
        far_net *net;
        double x[13 * 3], y[13 * 2], found[13 * 2];
        snprintf(path, sizeof path, DATA "%s.safetensors", torch_cases[i].name);
        must(far_net_load(ctx, path, torch_cases[i].arch, &net));
        assert_int_equal(far_net_describe(net).param, FAR_PARAM_STANDARD);
        assert_int_equal(far_net_describe(net).init, -1);
        snprintf(path, sizeof path, DATA "%s_xy.safetensors", torch_cases[i].name);
        must(far_safetensors_load(ctx, path, &xy));
        read_matrix(&xy, "x", x);
        read_matrix(&xy, "y", y);
        far_mat in = far_mat_view(x, 13, 3, FAR_F64), out = far_mat_view(found, 13, 2, FAR_F64);
        must(far_net_eval(ctx, net, &in, &out));
        for (int j = 0; j < 13 * 2; j++) {
            if (!(fabs(found[j] - y[j]) <= 1e-13 * (1 + fabs(y[j])))) {
                fail_msg("%s: %.17g is not %.17g", torch_cases[i].name, found[j], y[j]);
            }
        }
        far_safetensors_clear(&xy);
        far_net_destroy(net);
    }
}

static void texts_of_a_state_dict_are_kept(void **state)
{
    (void)state;
    far_net *net;
    must(far_net_load(ctx, DATA "batchnorm.safetensors", NULL, &net));
    assert_string_equal(far_net_metadata(net, "author"), "gr\xC3\xBCn");
    assert_string_equal(far_net_metadata(net, "arch"),
                        "batchnorm(eps=1e-05, affine) dense(7) batchnorm(eps=1e-05) gelu dense(2)");
    far_net_destroy(net);
}

/* ---- files made of a list of shapes ---- */

typedef struct bytes {
    char *data;
    size_t size;
} bytes;

enum { TENSORS_MOST = 16, VALUES_MOST = 4096 };

typedef struct sketch {
    char text[512];
    far_tensor_out tensors[TENSORS_MOST];
    int64_t count;
    double values[VALUES_MOST];
    int64_t used;
} sketch;

/* "0.weight 5 3; 0.bias 5": values 1, 2, 3, ... through the whole file. */
static void draw_sketch(const char *text, sketch *s)
{
    char *rest = s->text, *item;
    s->count = s->used = 0;
    snprintf(s->text, sizeof s->text, "%s", text);
    while ((item = strtok_r(rest, ";", &rest))) {
        far_tensor_out *t = &s->tensors[s->count++];
        int64_t count = 1;
        char *word = strtok_r(item, " ", &item);
        *t = (far_tensor_out){.name = word, .values = s->values + s->used};
        while ((word = strtok_r(item, " ", &item))) {
            t->shape[t->dims] = atoll(word);
            count *= t->shape[t->dims++];
        }
        for (int64_t i = 0; i < count; i++) {
            s->values[s->used] = (double)s->used + 1;
            s->used++;
        }
    }
}

static bytes write_sketch(const sketch *s, const far_pair *texts, int64_t text_count)
{
    bytes b = {0};
    far_output o;
    FILE *stream = open_memstream(&b.data, &b.size);
    must(far_output_open_stream(ctx, stream, &o));
    must(far_safetensors_write(&o, s->tensors, s->count, texts, text_count));
    must(far_output_commit(&o));
    far_output_close(&o);
    fclose(stream);
    return b;
}

static bytes sketched(const char *text, const far_pair *texts, int64_t text_count)
{
    sketch s;
    draw_sketch(text, &s);
    return write_sketch(&s, texts, text_count);
}

static far_net *parse(const char *shapes, const char *arch)
{
    far_net *net;
    bytes b = sketched(shapes, NULL, 0);
    must(far_net_parse_bytes(ctx, "f", b.data, (int64_t)b.size, arch, &net));
    free(b.data);
    return net;
}

static double weight_at(far_net *net, int64_t tensor, int64_t i)
{
    return ((double *)far_net_tensor(net, tensor).values.data)[i];
}

static void numbers_in_names_count_as_numbers(void **state)
{
    (void)state;
    far_net *net = parse("l10.weight 2 5; l9.weight 5 5; l2.weight 5 3", "dense(5, nobias) "
                                                                         "dense(5, nobias) "
                                                                         "dense(2, nobias)");
    assert_int_equal(far_net_describe(net).inputs, 3);
    assert_true(weight_at(net, 0, 0) == 36 && weight_at(net, 1, 0) == 11);
    assert_true(weight_at(net, 2, 0) == 1);
    far_net_destroy(net);
    net = parse("010.weight 2 7; 9.weight 7 3", "dense(7, nobias) dense(nobias)");
    assert_int_equal(far_net_describe(net).outputs, 2);
    far_net_destroy(net);
}

static void a_module_without_a_name_is_read(void **state)
{
    (void)state;
    far_net *net = parse("weight 2 3; bias 2", "dense");
    assert_int_equal(far_net_describe(net).inputs, 3);
    assert_int_equal(far_net_describe(net).outputs, 2);
    assert_true(weight_at(net, 0, 5) == 6 && weight_at(net, 1, 1) == 8);
    far_net_destroy(net);
}

static void weights_that_lie_in_x_out_are_turned(void **state)
{
    (void)state;
    const char *arch = "dense(5, nobias) relu dense(5, nobias) relu dense(2, nobias)";
    far_net *net = parse("0.weight 3 5; 1.weight 5 5; 2.weight 5 2", arch);
    assert_int_equal(far_net_describe(net).inputs, 3);
    assert_true(weight_at(net, 0, 1) == 6 && weight_at(net, 0, 3) == 2);
    assert_true(weight_at(net, 1, 1) == 15 + 6); /* the square one as well */
    assert_true(weight_at(net, 2, 1) == 40 + 3);
    far_net_destroy(net);
    net = parse("0.weight 3 5; 1.weight 5 2", "dense(5, nobias) relu dense(nobias)");
    assert_int_equal(far_net_describe(net).outputs, 2);
    far_net_destroy(net);
    net = parse("0.weight 5 5", "dense(5, nobias)"); /* as in PyTorch when nothing tells */
    assert_true(weight_at(net, 0, 1) == 2);
    far_net_destroy(net);
}

static void counters_are_ignored_and_shifts_may_be_missing(void **state)
{
    (void)state;
    far_net *net = parse("0.weight 5 3; 0.bias 5; 1.weight 5; 1.running_mean 5; 1.running_var 5; "
                         "1.bias 5; 1.num_batches_tracked 1; 2.weight 5",
                         "dense(5) batchnorm(affine) rms(affine)");
    assert_true(weight_at(net, 6, 0) == 42 && weight_at(net, 7, 4) == 0);
    far_net_destroy(net);
}

/* ---- what does not fit ---- */

typedef struct fit_case {
    const char *shapes, *arch, *message;
} fit_case;

#define TWO "0.weight 5 3; 0.bias 5; 2.weight 2 5; 2.bias 2"

static const fit_case fit_cases[] = {
    /* layers */
    {TWO, "dense(5) relu dense(5) relu dense(2)",
     "has 2 dense layers (0.weight 5 x 3, 2.weight 2 x 5), but 'dense(5) relu dense(5) relu "
     "dense(2)' has 3"},
    {"0.weight 5 3; 0.bias 5", "dense(5) relu dense(2)",
     "has 1 dense layer (0.weight 5 x 3), but 'dense(5) relu dense(2)' has 2"},
    {"1.weight 5; 1.bias 5", "dense(5) ln(affine)",
     "has no weights of a dense layer, which the architecture begins with"},
    {TWO, "ln(affine) dense(5) relu dense(2)",
     "has no weights of a ln layer, which the architecture begins with"},
    {TWO "; 1.weight 5; 1.bias 5", "dense(5) ln relu dense(2)",
     "has 1 norm with a scale (1.weight 5), but 'dense(5) ln relu dense(2)' has none; write "
     "ln(affine)"},
    {TWO "; 1.weight 5", "dense(5) rms relu dense(2)",
     "has 1 norm with a scale (1.weight 5), but 'dense(5) rms relu dense(2)' has none; write "
     "rms(affine)"},
    {TWO "; 1.weight 5", "dense(5) relu dense(2)",
     "has 1 norm with a scale (1.weight 5), but 'dense(5) relu dense(2)' has none; write "
     "ln(affine) where they stand"},
    {TWO, "dense(5) ln(affine) relu dense(2)",
     "has no norm with a scale, but 'dense(5) ln(affine) relu dense(2)' has 1; "
     "write ln for ln(affine) where there is no scale"},
    {TWO "; 1.running_mean 5; 1.running_var 5", "dense(5) relu dense(2)",
     "has 1 batchnorm layer (1.running_mean 5), but 'dense(5) relu dense(2)' has none"},
    {TWO, "relu", "has weights, but no layer of its architecture has any"},
    {"", "relu", "has no weights, so nothing says how many inputs there are"},
    /* shapes */
    {TWO, "dense(7) relu dense(2)",
     "tensor '0.weight': is 5 x 3, but the architecture begins with dense(7)"},
    {TWO, "dense(5) relu dense(7)",
     "tensor '2.weight': is 2 x 5, but 2.weight of the architecture, a dense(7), is 7 x 5"},
    {"net.a.weight 5 3; net.a.bias 7; net.b.weight 2 5; net.b.bias 2", "dense(5) relu dense(2)",
     "tensor 'net.a.bias': is 7, but 0.bias of the architecture, a dense(5), is 5"},
    {TWO "; 1.weight 7; 1.bias 7", "dense(5) ln(affine) relu dense(2)",
     "tensor '1.weight': is 7, but 1.weight of the architecture, a ln, is 5"},
    {"0.weight 5 3; 1.weight 7 5; 2.weight 7 2",
     "dense(5, nobias) dense(7, nobias) dense(2, nobias)",
     "tensor '2.weight': fits the architecture only if it is in x out, but tensor '1.weight' only "
     "if it is out x in; is the order of the layers another?"},
    {"0.weight 5 0; 0.bias 5", "dense(5)",
     "its first layer has no inputs (a tensor without values)"},
    {"0.weight 0 3; 0.bias 0", "dense(5)",
     "tensor '0.weight': is 0 x 3, but the architecture begins with dense(5)"},
    /* parts */
    {"0.weight 5 3", "dense(5)",
     "tensor '0.bias' is missing; if layer 0 of the architecture has none, write dense(5, nobias)"},
    {"0.weight 5 3; 0.bias 5", "dense(5, nobias)",
     "tensor '0.bias': layer 0 of the architecture has no bias; write dense(5)"},
    {"1.weight 5; 1.bias 5; 1.running_mean 5; 1.running_var 5", "batchnorm",
     "tensor '1.weight': layer 0 of the architecture has no weight; write batchnorm(affine)"},
    {"1.running_mean 5; 1.running_var 5", "batchnorm(affine)",
     "tensor '1.weight' is missing; if layer 0 of the architecture has none, write batchnorm"},
    {"1.running_mean 5", "batchnorm", "tensor '1.running_var' is missing"},
    {"1.running_var 5", "batchnorm", "tensor '1.running_mean' is missing"},
    {"x.bias 5", "dense(5)", "tensor 'x.weight' is missing, but its bias is there"},
    {"bias 5", "dense(5)", "tensor 'weight' is missing, but its bias is there"},
    {"1.weight 5 5; 1.running_mean 5; 1.running_var 5", "batchnorm(affine)",
     "tensor '1.weight': a layer with running statistics has a vector of weights"},
    {"0.weight_g 5", "dense(5)",
     "tensor '0.weight_g': no layer of the language has such a part (they have weight, bias, "
     "running_mean, running_var); take it out of the file"},
    {"0.weight 5 3; 0.bias 5 1", "dense(5)",
     "tensor '0.bias': is 5 x 1; only layers with a matrix (dense), four dimensions (conv) or a "
     "vector (norms) of weights "
     "can be read"},
    {"0.weight", "dense(5)",
     "tensor '0.weight': is a single number; only layers with a matrix (dense), four dimensions "
     "(conv) or a vector "
     "(norms) of weights can be read"},
};

static void expect_failure(bytes b, const char *arch, far_status status, const char *message)
{
    char expected[1024];
    far_net *net = (far_net *)&test_heap;
    snprintf(expected, sizeof expected, "net.st: %s", message);
    assert_int_equal(far_net_parse_bytes(ctx, "net.st", b.data, (int64_t)b.size, arch, &net),
                     status);
    assert_null(net);
    assert_string_equal(far_ctx_message(ctx), expected);
    free(b.data);
}

static void what_does_not_fit_is_explained(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(fit_cases); i++) {
        const fit_case *c = &fit_cases[i];
        expect_failure(sketched(c->shapes, NULL, 0), c->arch, FAR_ERR_FORMAT, c->message);
        far_pair arch = {"arch", c->arch}; /* it makes no difference who says it */
        expect_failure(sketched(c->shapes, &arch, 1), NULL, FAR_ERR_FORMAT, c->message);
    }
}

static void many_layers_are_not_all_listed(void **state)
{
    (void)state;
    bytes b = sketched("0.weight 2 2; 1.weight 2 2; 2.weight 2 2; 3.weight 2 2; 4.weight 2 2; "
                       "5.weight 2 2; 6.weight 2 2; 7.weight 2 2; 8.weight 2 2; 9.weight 2 2",
                       NULL, 0);
    expect_failure(b, "dense(2)", FAR_ERR_FORMAT,
                   "has 10 dense layers (0.weight 2 x 2, 1.weight 2 x 2, 2.weight 2 x 2, 3.weight "
                   "2 x 2, 4.weight 2 x 2, 5.weight 2 x 2, 6.weight 2 x 2, 7.weight 2 x 2 and 2 "
                   "more), but 'dense(2)' has 1");
}

/* ---- the architecture ---- */

static void a_file_without_an_architecture_gets_a_suggestion(void **state)
{
    (void)state;
    expect_failure(sketched(TWO "; 1.weight 5; 1.bias 5", NULL, 0), NULL, FAR_ERR_ARG,
                   "does not say its architecture; give it (`arch`), for example 'dense(5) "
                   "ln(eps=1e-5, affine) relu dense(2)'");
    expect_failure(sketched("a.running_mean 3; a.running_var 3; b.weight 5 3; c.weight 5", NULL, 0),
                   NULL, FAR_ERR_ARG,
                   "does not say its architecture; give it (`arch`), for example "
                   "'batchnorm(eps=1e-5) dense(5, nobias) rms(eps=1e-5, affine)'");
    expect_failure(sketched("fc1.weight 5 3; fc2.weight 7 5; fc3.weight 2 7; ln1.weight 5; "
                            "ln1.bias 5; ln2.weight 7",
                            NULL, 0),
                   NULL, FAR_ERR_ARG,
                   "does not say its architecture; give it (`arch`), for example 'dense(5, nobias) "
                   "ln(eps=1e-5, affine) relu dense(7, nobias) rms(eps=1e-5, affine) relu dense(2, "
                   "nobias)'");
    expect_failure(sketched("", NULL, 0), NULL, FAR_ERR_ARG,
                   "does not say its architecture; give it (`arch`), for example 'dense(128) relu "
                   "dense(1)'");
}

static void another_architecture_than_the_files_is_refused(void **state)
{
    (void)state;
    far_net *net;
    far_pair arch = {"arch", "dense(5) relu dense(2)"};
    expect_failure(sketched(TWO, &arch, 1), "dense(5) tanh dense(2)", FAR_ERR_ARG,
                   "was saved with the architecture 'dense(5) relu dense(2)', not 'dense(5) tanh "
                   "dense(2)'; leave `arch` out");
    bytes b = sketched(TWO, &arch, 1);
    must(far_net_parse_bytes(ctx, "f", b.data, (int64_t)b.size, " dense( 5 )  relu dense", &net));
    far_net_destroy(net);
    assert_int_equal(far_net_parse_bytes(ctx, "f", b.data, (int64_t)b.size, "dense(5) rleu", &net),
                     FAR_ERR_PARSE);
    free(b.data);
}

static void bad_architectures_are_the_files_fault_or_the_callers(void **state)
{
    (void)state;
    far_net *net;
    far_pair bad[] = {{"arch", "dense(5) rleu dense(2)"}, {"arch", "dense(5) relu dense dense(2)"}};
    expect_failure(sketched(TWO, &bad[0], 1), NULL, FAR_ERR_FORMAT,
                   "metadata: arch: column 10: there is no layer 'rleu'; did you mean relu?");
    expect_failure(sketched(TWO, &bad[1], 1), NULL, FAR_ERR_FORMAT,
                   "metadata: arch: column 15: a finite network needs the width of this layer: "
                   "dense(128)");
    bytes b = sketched(TWO, NULL, 0);
    assert_int_equal(far_net_parse_bytes(ctx, "f", b.data, (int64_t)b.size, bad[0].value, &net),
                     FAR_ERR_PARSE);
    assert_int_equal(far_net_parse_bytes(ctx, "f", b.data, (int64_t)b.size, bad[1].value, &net),
                     FAR_ERR_ARCH);
    assert_non_null(strchr(far_ctx_message(ctx), '^'));
    free(b.data);
}

static void an_absurd_architecture_allocates_nothing(void **state)
{
    (void)state;
    static const char *const absurd[] = {
        "dense(5) relu dense(1000000000) relu dense(1000000000) relu dense(2)",
        "dense(5) relu [dense(1000000)]x1000 dense(2)",
        "dense(5) relu skip([dense(5)]x9000) dense(2)"};
    for (int i = 0; i < COUNT(absurd); i++) {
        far_net *net;
        far_pair arch = {"arch", absurd[i]};
        bytes b = sketched(TWO, &arch, 1);
        test_heap.peak_bytes = 0;
        assert_int_equal(far_net_parse_bytes(ctx, "f", b.data, (int64_t)b.size, NULL, &net),
                         FAR_ERR_FORMAT);
        assert_in_range(test_heap.peak_bytes, 0, 16 << 20);
        free(b.data);
    }
}

/* ---- metadata ---- */

typedef struct text_case {
    const char *key, *value, *message;
} text_case;

static const text_case text_cases[] = {
    {"param", "mup", "metadata: param is 'mup', not ntk or standard"},
    {"init", "xavier", "metadata: init is 'xavier', not a way to start that this version knows"},
    {"seed", "-3", "metadata: seed is '-3', not a whole number"},
    {"seed", "3 ", "metadata: seed is '3 ', not a whole number"},
    {"seed", "", "metadata: seed is '', not a whole number"},
    {"w0", "0", "metadata: w0 is '0', not a number above 0"},
    {"w0", "30 1", "metadata: w0 is '30 1', not a number above 0"},
    {"input_centre", "1 2",
     "metadata: input_centre is '1 2', not 3 numbers with single blanks between them"},
    {"input_centre", "1 2 3 4",
     "metadata: input_centre is '1 2 3 4', not 3 numbers with single blanks between them"},
    {"input_centre", "1  2 3",
     "metadata: input_centre is '1  2 3', not 3 numbers with single blanks between them"},
    {"input_centre", "1 2 nan",
     "metadata: input_centre is '1 2 nan', not 3 numbers with single blanks between them"},
    {"input_scale", "1 2 0",
     "metadata: input_scale is '1 2 0', not 3 numbers above 0 with single blanks between them"},
    {"output_centre", "1,2",
     "metadata: output_centre is '1,2', not 2 numbers with single blanks between them"},
    {"output_scale", "1 -2",
     "metadata: output_scale is '1 -2', not 2 numbers above 0 with single blanks between them"},
};

static void bad_metadata_are_named(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(text_cases); i++) {
        const text_case *c = &text_cases[i];
        far_pair texts[] = {
            {"arch", "dense(5) relu dense(2)"}, {"farfield", "0.1"}, {c->key, c->value}};
        expect_failure(sketched(TWO, texts, 3), NULL, FAR_ERR_FORMAT, c->message);
    }
}

/* Someone else's "seed" may mean anything; a scaling is asked for by its name. */
static void origins_are_read_from_our_files_only(void **state)
{
    (void)state;
    far_net *net;
    far_pair texts[] = {{"seed", "none"},
                        {"init", "xavier"},
                        {"linearized", "1"},
                        {"input_scale", "1 2 4"},
                        {"param", "ntk"}};
    bytes b = sketched(TWO, texts, COUNT(texts));
    must(far_net_parse_bytes(ctx, "f", b.data, (int64_t)b.size, "dense(5) relu dense(2)", &net));
    far_net_info info = far_net_describe(net);
    assert_int_equal(info.init, -1);
    assert_int_equal(info.seed, 0);
    assert_int_equal(info.linearized, 0);
    assert_int_equal(info.scaled, 1);
    assert_int_equal(info.param, FAR_PARAM_NTK);
    assert_true(((double *)far_columns_describe(far_net_describe(net).columns)
                     .scaling.input_scale.data)[2] == 4);
    assert_true(((double *)far_columns_describe(far_net_describe(net).columns)
                     .scaling.output_scale.data)[1] == 1);
    assert_null(far_net_metadata(net, "seed"));
    far_net_destroy(net);
    free(b.data);
}

/* ---- values ---- */

static void expect_value_failure(double value, int64_t at, const char *message)
{
    sketch s;
    draw_sketch("0.weight 2 3; 0.bias 2; 1.running_mean 2; 1.running_var 2", &s);
    s.values[at] = value;
    expect_failure(write_sketch(&s, NULL, 0), "dense(2) batchnorm", FAR_ERR_VALUE, message);
}

static void values_that_cannot_be_are_named(void **state)
{
    (void)state;
    const char *why = "the network is of no use (did training diverge?)";
    char message[200];
    snprintf(message, sizeof message, "tensor '0.weight': row 2, column 3 is inf; %s", why);
    expect_value_failure((double)INFINITY, 5, message);
    snprintf(message, sizeof message, "tensor '0.bias': value 1 is nan; %s", why);
    expect_value_failure((double)NAN, 6, message);
    snprintf(message, sizeof message, "tensor '1.running_mean': value 2 is -inf; %s", why);
    expect_value_failure(-(double)INFINITY, 9, message);
    expect_value_failure(-0.5, 11,
                         "tensor '1.running_var': value 2 is -0.5; a variance is 0 or more");
    sketch s;
    draw_sketch("0.weight 3 2", &s);
    s.values[2] = (double)INFINITY; /* the place in the file, not in the network */
    snprintf(message, sizeof message, "tensor '0.weight': row 2, column 1 is inf; %s", why);
    expect_failure(write_sketch(&s, NULL, 0), "dense(2, nobias)", FAR_ERR_VALUE, message);
}

static void starts_must_be_whole(void **state)
{
    (void)state;
    far_pair texts[] = {{"farfield", "0.1"}, {"linearized", "1"}};
    const char *missing = "tensor 'start.0.bias': is missing; a linearised network has a start for "
                          "every weight";
    expect_failure(sketched("0.weight 2 3; 0.bias 2; start.0.weight 2 3", texts, 2), "dense(2)",
                   FAR_ERR_FORMAT, missing);
    expect_failure(sketched("0.weight 2 3; 0.bias 2; start.0.weight 2 3; start.0.bias 3", texts, 2),
                   "dense(2)", FAR_ERR_FORMAT, "tensor 'start.0.bias': is 3, but 0.bias is 2");
    expect_failure(sketched("0.weight 2 3; 0.bias 2; start.0.weight 3 2; start.0.bias 2", texts, 2),
                   "dense(2)", FAR_ERR_FORMAT,
                   "tensor 'start.0.weight': is 3 x 2, but 0.weight is 2 x 3");
    expect_failure(sketched("0.weight 2 3; 0.bias 2; start.0.weight 2 3; start.0.bias 2; "
                            "start.1.bias 2",
                            texts, 2),
                   "dense(2)", FAR_ERR_FORMAT,
                   "has 3 tensors named start...., but its architecture has 2");
}

/* ---- files ---- */

static void a_network_that_diverged_does_not_replace_a_good_file(void **state)
{
    (void)state;
    far_net *net = make_net("dense(5) relu dense(2)", 3, FAR_INIT_TORCH), *again;
    must(far_net_save(ctx, net, "a.safetensors"));
    double *p = far_net_parameters(net).data, old = p[16];
    p[16] = NAN;
    assert_int_equal(far_net_save(ctx, net, "a.safetensors"), FAR_ERR_VALUE);
    assert_string_equal(far_ctx_message(ctx), "tensor '0.bias': value 2 is nan, so nothing was "
                                              "written; did training diverge?");
    p[16] = old;
    must(far_net_load(ctx, "a.safetensors", NULL, &again));
    same_net(net, again);
    assert_int_equal(count_files(), 1);
    far_net_destroy(again);
    far_net_destroy(net);
    unlink("a.safetensors");
}

static void arguments_are_checked(void **state)
{
    (void)state;
    far_net *net = make_net("dense(2)", 3, FAR_INIT_TORCH), *out = net;
    assert_int_equal(far_net_save(ctx, NULL, "a"), FAR_ERR_ARG);
    assert_string_equal(far_ctx_message(ctx), "the network is NULL");
    assert_int_equal(far_net_save(NULL, net, "a"), FAR_ERR_ARG);
    assert_int_equal(far_net_save(ctx, net, NULL), FAR_ERR_ARG);
    assert_string_equal(far_ctx_message(ctx), "the path is empty");
    assert_int_equal(far_net_save(ctx, net, ""), FAR_ERR_ARG);
    assert_int_equal(far_net_save(ctx, net, "no/where"), FAR_ERR_IO);
    assert_string_equal(far_ctx_message(ctx), "no/where: cannot write: no such directory");
    assert_int_equal(far_net_load(ctx, "a", NULL, NULL), FAR_ERR_ARG);
    assert_string_equal(far_ctx_message(ctx), "out is NULL");
    assert_int_equal(far_net_load(NULL, "a", NULL, &out), FAR_ERR_ARG);
    assert_int_equal(far_net_load(ctx, NULL, NULL, &out), FAR_ERR_ARG);
    assert_null(out);
    assert_int_equal(far_net_load(ctx, "", NULL, &out), FAR_ERR_ARG);
    assert_int_equal(far_net_load(ctx, "none", NULL, &out), FAR_ERR_IO);
    assert_string_equal(far_ctx_message(ctx), "none: no such file");
    assert_int_equal(count_files(), 0);
    far_net_destroy(net);
}

static void loading_survives_every_failing_allocation(void **state)
{
    (void)state;
    far_net *net = make_net(EVERY_LAYER, 3, FAR_INIT_SIREN), *again;
    must(far_net_linearize(ctx, net));
    set_scaling(net);
    must(far_net_set_metadata(ctx, net, "note", "text"));
    must(far_net_save(ctx, net, "a.safetensors"));
    int64_t live = test_heap.live_blocks;
    far_status st = FAR_ERR_MEMORY;
    for (int64_t k = 0; st == FAR_ERR_MEMORY; k++) {
        test_heap.calls = 0;
        test_heap.fail_at = k;
        st = far_net_load(ctx, "a.safetensors", EVERY_LAYER, &again);
        test_heap.fail_at = -1;
        assert_true((st == FAR_OK) == (again != NULL));
        assert_true(st == FAR_OK || test_heap.live_blocks == live);
        assert_in_range(k, 0, 2000);
    }
    must(st);
    same_net(net, again);
    far_net_destroy(again);
    far_net_destroy(net);
    unlink("a.safetensors");
}

static void saving_survives_every_failing_allocation(void **state)
{
    (void)state;
    far_net *net = make_net(EVERY_LAYER, 3, FAR_INIT_SIREN);
    must(far_net_linearize(ctx, net));
    set_scaling(net);
    must(far_net_set_metadata(ctx, net, "note", "text"));
    int64_t live = test_heap.live_blocks;
    far_status st = FAR_ERR_MEMORY;
    for (int64_t k = 0; st == FAR_ERR_MEMORY; k++) {
        test_heap.calls = 0;
        test_heap.fail_at = k;
        st = far_net_save(ctx, net, "a.safetensors");
        test_heap.fail_at = -1;
        assert_int_equal(test_heap.live_blocks, live);
        assert_int_equal(count_files(), st == FAR_OK);
        assert_in_range(k, 0, 2000);
    }
    must(st);
    far_net_destroy(net);
    unlink("a.safetensors");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_layer_comes_back_bit_by_bit),
        TEST(scaling_metadata_and_start_come_back),
        TEST(networks_without_weights_keep_their_inputs),
        TEST(ten_layers_stay_in_order),
        TEST(metadata_are_what_other_readers_look_for),
        TEST(state_dicts_compute_what_pytorch_computes),
        TEST(texts_of_a_state_dict_are_kept),
        TEST(numbers_in_names_count_as_numbers),
        TEST(a_module_without_a_name_is_read),
        TEST(weights_that_lie_in_x_out_are_turned),
        TEST(counters_are_ignored_and_shifts_may_be_missing),
        TEST(what_does_not_fit_is_explained),
        TEST(many_layers_are_not_all_listed),
        TEST(a_file_without_an_architecture_gets_a_suggestion),
        TEST(another_architecture_than_the_files_is_refused),
        TEST(bad_architectures_are_the_files_fault_or_the_callers),
        TEST(an_absurd_architecture_allocates_nothing),
        TEST(bad_metadata_are_named),
        TEST(origins_are_read_from_our_files_only),
        TEST(values_that_cannot_be_are_named),
        TEST(starts_must_be_whole),
        TEST(a_network_that_diverged_does_not_replace_a_good_file),
        TEST(arguments_are_checked),
        TEST(loading_survives_every_failing_allocation),
        TEST(saving_survives_every_failing_allocation),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
