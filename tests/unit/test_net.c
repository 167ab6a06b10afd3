/*
 * Finite networks: what is refused and how it is said; names, tensors, scaling, metadata; that
 * values do not depend on threads, blocks, strides or instruction sets; numbers at the edge of
 * their range; linearised networks; limits along rays.
 */
#include "../../src/net/engine.h"

#include <farfield/farfield.h>
#include <float.h>

#define TEST_THREADS 2
#include "harness.h"

#define D 5
#define N 11
#define MANY 307 /* more than a block */
#define EVERYTHING                                                                                 \
    "dense(13) ln(groups=13, affine) relu skip(dense(7) batchnorm(affine) tanh dense(13)) rms "    \
    "gelu dense(3)"

/* ---- networks and matrices without ceremony ------------------------------------------------- */

static far_net_opts opts_of(int64_t inputs, far_init init)
{
    far_net_opts opts;
    far_net_opts_init(&opts);
    opts.inputs = inputs;
    opts.init = (int32_t)init;
    opts.seed = 3;
    return opts;
}

static far_net *net_of(const char *arch)
{
    far_net_opts opts = opts_of(D, FAR_INIT_KAIMING_NORMAL);
    far_net *net;
    must(far_net_create(ctx, arch, &opts, &net));
    return net;
}

static double wave(int64_t i)
{
    return sin(12.9898 * (double)i) * 1.5;
}

static far_mat filled(int64_t rows, int64_t cols, far_dtype dtype)
{
    far_mat m = far_mat_view(malloc((size_t)(rows * cols) * sizeof(double) + 1), rows, cols, dtype);
    for (int64_t i = 0; i < rows * cols; i++) {
        if (dtype == FAR_F64) {
            ((double *)m.data)[i] = wave(i);
        } else {
            ((float *)m.data)[i] = (float)wave(i);
        }
    }
    return m;
}

static double at(const far_mat *m, int64_t i, int64_t j)
{
    const void *row = far_mat_row(m, i);
    return m->dtype == FAR_F64 ? ((const double *)row)[j] : (double)((const float *)row)[j];
}

static bool same_bits(const far_mat *a, const far_mat *b)
{
    size_t size = far_dtype_size(a->dtype);
    return memcmp(a->data, b->data, (size_t)(a->rows * a->cols) * size) == 0;
}

/* ---- architectures that cannot be run -------------------------------------------------------- */

typedef struct bad_arch {
    const char *text;
    int64_t outputs;
    far_status status;
    const char *piece;
    int column;
} bad_arch;

static const bad_arch BAD[] = {
    {"dense relu dense(1)", 0, FAR_ERR_ARCH, "needs the width", 1},
    {"dense(3) relu dense", 0, FAR_ERR_ARCH, "needs the width", 15},
    {"dense(13) ln(groups=3) dense(1)", 0, FAR_ERR_ARCH, "3 groups do not divide the 13", 11},
    {"dense(4) skip(relu dense(3)) dense(1)", 0, FAR_ERR_ARCH, "adds 4 inputs to 3 outputs", 10},
    {"skip(dense(7)) dense(1)", 0, FAR_ERR_ARCH, "end it with dense(5)", 1},
    {"skip(dense(7) | dense(3)) dense(1)", 0, FAR_ERR_ARCH,
     "adds a vector of 3 behind its bar to a vector of 7: let both have one shape", 1},
    {"dense(4) relu dense(2)", 3, FAR_ERR_ARCH, "2 outputs", 15},
    {"dense(1000000000) dense(1000000000)", 0, FAR_ERR_ARCH, "too large", 19},
    {"[dense(100000)]x200", 0, FAR_ERR_ARCH, "more than 2^40", 2},
    {"dense(3) rleu", 0, FAR_ERR_PARSE, "relu", 10},
};

/* The last line is a caret under the place. */
static void assert_caret(int column)
{
    const char *caret = strrchr(far_ctx_message(ctx), '\n');
    char expected[80];
    snprintf(expected, sizeof expected, "\n%*s^", column - 1, "");
    assert_non_null(caret);
    assert_string_equal(caret, expected);
}

static void architectures_that_cannot_run_are_refused_with_their_column(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(BAD); i++) {
        far_net_opts opts = opts_of(D, FAR_INIT_KAIMING_NORMAL);
        far_net *net = (far_net *)&opts;
        opts.outputs = BAD[i].outputs;
        refused(far_net_create(ctx, BAD[i].text, &opts, &net), BAD[i].status, BAD[i].piece);
        assert_null(net);
        assert_caret(BAD[i].column);
    }
}

static void options_are_checked(void **state)
{
    (void)state;
    far_net *net;
    far_net_opts opts = opts_of(D, FAR_INIT_KAIMING_NORMAL);
    refused(far_net_create(ctx, "dense(1)", NULL, &net), FAR_ERR_ARG, "far_net_opts_init");
    opts.size = 3;
    refused(far_net_create(ctx, "dense(1)", &opts, &net), FAR_ERR_ARG, "far_net_opts_init");
    opts = opts_of(0, FAR_INIT_KAIMING_NORMAL);
    refused(far_net_create(ctx, "dense(1)", &opts, &net), FAR_ERR_ARG, "at least one input");
    opts = opts_of(D, (far_init)17);
    refused(far_net_create(ctx, "dense(1)", &opts, &net), FAR_ERR_ARG, "init 17");
    opts = opts_of(D, FAR_INIT_SIREN);
    opts.w0 = -1;
    refused(far_net_create(ctx, "dense(1)", &opts, &net), FAR_ERR_ARG, "w0 is -1");
    opts = opts_of(D, FAR_INIT_SIREN);
    opts.outputs = -2;
    refused(far_net_create(ctx, "dense(1)", &opts, &net), FAR_ERR_ARG, "-2 outputs");
}

static void a_last_dense_takes_its_width_from_the_options(void **state)
{
    (void)state;
    far_net_opts opts = opts_of(D, FAR_INIT_NTK);
    far_net *net;
    opts.outputs = 3;
    must(far_net_create(ctx, " dense( 7 )  relu dense(w=2)", &opts, &net));
    assert_string_equal(far_net_describe(net).arch, "dense(7) relu dense(3, w=2)");
    far_net_info info = far_net_describe(net);
    assert_int_equal(info.outputs, 3);
    assert_int_equal(info.parameters, 5 * 7 + 7 + 7 * 3 + 3);
    assert_int_equal(info.param, FAR_PARAM_NTK);
    assert_int_equal(info.init, FAR_INIT_NTK);
    assert_int_equal(info.linearized, 0);
    far_net_destroy(net);
    far_net_destroy(NULL);
}

/* ---- names, tensors, copies ------------------------------------------------------------------ */

static void tensors_are_named_and_placed_as_in_pytorch(void **state)
{
    (void)state;
    static const char *const NAMES[] = {
        "0.weight",   "0.bias",   "1.weight",         "1.bias",          "3.0.weight", "3.0.bias",
        "3.1.weight", "3.1.bias", "3.1.running_mean", "3.1.running_var", "3.3.weight", "3.3.bias",
        "6.weight",   "6.bias"};
    static const int64_t SIZES[][2] = {{13, 5}, {1, 13}, {1, 13}, {1, 13}, {7, 13},
                                       {1, 7},  {1, 7},  {1, 7},  {1, 7},  {1, 7},
                                       {13, 7}, {1, 13}, {3, 13}, {1, 3}};
    far_net *net = net_of(EVERYTHING);
    int64_t next = 0;
    assert_int_equal(far_net_describe(net).tensors, COUNT(NAMES));
    for (int64_t i = 0; i < COUNT(NAMES); i++) {
        far_net_tensor_info t = far_net_tensor(net, i);
        assert_string_equal(t.name, NAMES[i]);
        assert_int_equal(t.values.rows, SIZES[i][0]);
        assert_int_equal(t.values.cols, SIZES[i][1]);
        assert_int_equal(t.vector, SIZES[i][0] == 1);
        bool statistic = strstr(NAMES[i], "running") != NULL;
        assert_int_equal(t.parameter, statistic ? -1 : next);
        assert_int_equal(t.layer < 0, statistic);
        next += statistic ? 0 : t.values.rows * t.values.cols;
    }
    assert_int_equal(far_net_describe(net).parameters, next);
    assert_int_equal(far_net_parameters(net).cols, next);
    assert_null(far_net_tensor(net, COUNT(NAMES)).name);
    assert_null(far_net_tensor(net, -1).name);
    far_net_destroy(net);
}

static void layers_with_parameters_are_counted_and_named(void **state)
{
    (void)state;
    static const char *const LAYERS[] = {"0", "1", "3.0", "3.1", "3.3", "6"};
    far_net *net = net_of(EVERYTHING);
    assert_int_equal(far_net_describe(net).layers, COUNT(LAYERS));
    for (int i = 0; i < COUNT(LAYERS); i++) {
        assert_string_equal(far_net_layer(net, i), LAYERS[i]);
    }
    assert_null(far_net_layer(net, COUNT(LAYERS)));
    assert_null(far_net_layer(net, -1));
    far_net_destroy(net);
}

static void copies_are_whole_and_apart(void **state)
{
    (void)state;
    far_net *net = net_of(EVERYTHING), *copy;
    far_mat x = filled(N, D, FAR_F64), a = filled(N, 3, FAR_F64), b = filled(N, 3, FAR_F64);
    must(far_net_set_metadata(ctx, net, "who", "me"));
    must(far_net_linearize(ctx, net));
    ((double *)far_net_parameters(net).data)[2] += 0.25;
    must(far_net_copy(ctx, net, &copy));
    must(far_net_eval(ctx, net, &x, &a));
    far_net_destroy(net);
    must(far_net_eval(ctx, copy, &x, &b));
    assert_true(same_bits(&a, &b));
    assert_string_equal(far_net_metadata(copy, "who"), "me");
    assert_int_equal(far_net_describe(copy).linearized, 1);
    far_net_destroy(copy);
    free(x.data);
    free(a.data);
    free(b.data);
}

static void weights_are_those_of_the_seed(void **state)
{
    (void)state;
    static const far_init INITS[] = {FAR_INIT_KAIMING_NORMAL,
                                     FAR_INIT_KAIMING_UNIFORM,
                                     FAR_INIT_LECUN,
                                     FAR_INIT_SIREN,
                                     FAR_INIT_NTK,
                                     FAR_INIT_TORCH};
    static const double SPREAD[] = {2.0 / 211, 2.0 / 211,    1.0 / 211, 900.0 / 3 / 211 / 211,
                                    1.0,       1.0 / 3 / 211};
    for (int i = 0; i < COUNT(INITS); i++) {
        far_net_opts opts = opts_of(211, INITS[i]);
        far_net *net, *twin;
        double sum = 0;
        must(far_net_create(ctx, "dense(101)", &opts, &net));
        must(far_net_create(ctx, "dense(101)", &opts, &twin));
        far_mat p = far_net_parameters(net), q = far_net_parameters(twin);
        assert_true(same_bits(&p, &q));
        for (int64_t k = 0; k < 211 * 101; k++) {
            sum += at(&p, 0, k) * at(&p, 0, k) / (211 * 101);
        }
        assert_true(fabs(sum / SPREAD[i] - 1) < 0.05);
        far_net_destroy(net);
        far_net_destroy(twin);
    }
}

/* ---- scaling and metadata -------------------------------------------------------------------- */

static void scaling_turns_raw_units_into_the_networks(void **state)
{
    (void)state;
    double centre[D] = {1, 2, 3, 4, 5}, scale[D] = {2, 3, 5, 7, 11}, mid[2] = {-1, 8},
           far[2] = {3, 4};
    far_net *net = net_of("dense(7) tanh dense(2)");
    far_scaling s = {far_mat_view(centre, 1, D, FAR_F64), far_mat_view(scale, 1, D, FAR_F64),
                     far_mat_view(mid, 1, 2, FAR_F64), far_mat_view(far, 1, 2, FAR_F64)};
    far_mat x = filled(N, D, FAR_F64), z = filled(N, D, FAR_F64);
    far_mat raw = filled(N, 2, FAR_F64), own = filled(N, 2, FAR_F64);
    assert_int_equal(far_net_describe(net).scaled, 0);
    must(far_net_set_scaling(ctx, net, &s));
    assert_int_equal(far_net_describe(net).scaled, 1);
    far_scaling held = far_columns_describe(far_net_describe(net).columns).scaling;
    assert_true(at(&held.input_scale, 0, 4) == 11 && at(&held.output_centre, 0, 1) == 8);
    for (int64_t i = 0; i < N * D; i++) {
        ((double *)z.data)[i] = (((double *)x.data)[i] - centre[i % D]) / scale[i % D];
    }
    must(far_net_eval_raw(ctx, net, &x, &raw));
    must(far_net_eval(ctx, net, &z, &own));
    for (int64_t i = 0; i < N * 2; i++) {
        double expected = mid[i % 2] + far[i % 2] * ((double *)own.data)[i];
        assert_true(fabs(((double *)raw.data)[i] - expected) <= 4e-16 * fabs(expected));
    }
    far_net_destroy(net);
    free(x.data);
    free(z.data);
    free(raw.data);
    free(own.data);
}

static void scaling_is_checked(void **state)
{
    (void)state;
    double one[D] = {1, 1, 1, 1, 1}, zero[D] = {1, 0, 1, 1, 1}, none[D] = {1, 1, NAN, 1, 1};
    far_net *net = net_of("dense(2)");
    far_scaling good = {far_mat_view(one, 1, D, FAR_F64), far_mat_view(one, 1, D, FAR_F64),
                        far_mat_view(one, 1, 2, FAR_F64), far_mat_view(one, 1, 2, FAR_F64)};
    far_scaling bad = good;
    bad.input_scale.data = zero;
    refused(far_net_set_scaling(ctx, net, &bad), FAR_ERR_VALUE, "input_scale: value 2 is 0");
    bad = good;
    bad.input_centre.data = none;
    refused(far_net_set_scaling(ctx, net, &bad), FAR_ERR_VALUE, "input_centre: value 3 is nan");
    bad = good;
    bad.output_centre.cols = 3;
    refused(far_net_set_scaling(ctx, net, &bad), FAR_ERR_SHAPE, "output_centre is 1 x 3");
    bad = good;
    bad.output_scale.dtype = FAR_F32;
    refused(far_net_set_scaling(ctx, net, &bad), FAR_ERR_ARG,
            "output_scale is not of type float64");
    assert_int_equal(far_net_describe(net).scaled, 0);
    far_net_destroy(net);
}

static void metadata_is_kept_replaced_and_removed(void **state)
{
    (void)state;
    far_net *net = net_of("dense(2)");
    assert_string_equal(far_net_metadata(net, "arch"), "dense(2)");
    assert_null(far_net_metadata(net, "colour"));
    must(far_net_set_metadata(ctx, net, "colour", "red"));
    must(far_net_set_metadata(ctx, net, "shape", "round"));
    must(far_net_set_metadata(ctx, net, "colour", "blue"));
    assert_string_equal(far_net_metadata(net, "colour"), "blue");
    must(far_net_set_metadata(ctx, net, "colour", NULL));
    assert_null(far_net_metadata(net, "colour"));
    assert_string_equal(far_net_metadata(net, "shape"), "round");
    refused(far_net_set_metadata(ctx, net, "arch", "x"), FAR_ERR_ARG,
            "'arch' is the library's own");
    far_net_destroy(net);
}

/* ---- arguments of the evaluation functions --------------------------------------------------- */

typedef struct call {
    far_net *net;
    far_mat x, out, u, grad, grad_x, v, dx, jacobian;
} call;

static call call_of(const char *arch, far_dtype dtype)
{
    call c = {.net = net_of(arch)};
    int64_t o = far_net_describe(c.net).outputs, p = far_net_describe(c.net).parameters;
    c.x = filled(N, D, dtype);
    c.out = filled(N, o, dtype);
    c.u = filled(N, o, dtype);
    c.grad = filled(1, p, dtype);
    c.grad_x = filled(N, D, dtype);
    c.v = filled(1, p, dtype);
    c.dx = filled(N, D, dtype);
    c.jacobian = filled(N * o, p, dtype);
    return c;
}

static void call_free(call *c)
{
    far_net_destroy(c->net);
    far_mat *all[] = {&c->x, &c->out, &c->u, &c->grad, &c->grad_x, &c->v, &c->dx, &c->jacobian};
    for (int i = 0; i < COUNT(all); i++) {
        free(all[i]->data);
    }
}

static far_status do_eval(call *c)
{
    return far_net_eval(ctx, c->net, &c->x, &c->out);
}

static far_status do_eval_raw(call *c)
{
    return far_net_eval_raw(ctx, c->net, &c->x, &c->out);
}

static far_status do_vjp(call *c)
{
    return far_net_vjp(ctx, c->net, &c->x, &c->u, &c->grad, &c->grad_x);
}

static far_status do_jvp(call *c)
{
    return far_net_jvp(ctx, c->net, &c->x, &c->v, &c->dx, &c->out);
}

static far_status do_jacobian(call *c)
{
    return far_net_jacobian(ctx, c->net, &c->x, &c->jacobian);
}

static far_status do_limit(call *c)
{
    return far_net_limit(ctx, c->net, &c->x, &c->out, NULL, NULL);
}

typedef far_status (*call_fn)(call *c);
static const call_fn CALLS[] = {do_eval, do_eval_raw, do_vjp, do_jvp, do_jacobian, do_limit};

static void inputs_are_checked_by_every_function(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(CALLS); i++) {
        call c = call_of("dense(3)", FAR_F64), bad = c;
        bad.net = NULL;
        refused(CALLS[i](&bad), FAR_ERR_ARG, "network must not be NULL");
        bad = c;
        bad.x.cols = 3;
        refused(CALLS[i](&bad), FAR_ERR_SHAPE, i == 5 ? "u is 11 x 3" : "x has 3 columns");
        bad = c;
        bad.x.data = NULL;
        refused(CALLS[i](&bad), FAR_ERR_ARG, "has no data");
        ((double *)c.x.data)[7] = INFINITY;
        refused(CALLS[i](&c), FAR_ERR_VALUE, "row 2, column 3 is inf");
        call_free(&c);
    }
}

static void shapes_and_types_are_checked(void **state)
{
    (void)state;
    call c = call_of("dense(3)", FAR_F64), bad;
#define TRIP(field, change, fn, status, piece)                                                     \
    bad = c;                                                                                       \
    bad.field change;                                                                              \
    refused(fn(&bad), status, piece)
    TRIP(out.rows, = 3, do_eval, FAR_ERR_SHAPE, "out is 3 x 3, not 11 x 3");
    TRIP(out.dtype, = FAR_F32, do_eval, FAR_ERR_ARG, "out is not of type float64");
    TRIP(out.cols, = 2, do_eval_raw, FAR_ERR_SHAPE, "out is 11 x 2");
    TRIP(u.cols, = 2, do_vjp, FAR_ERR_SHAPE, "u is 11 x 2");
    TRIP(grad.cols, = 2, do_vjp, FAR_ERR_SHAPE, "grad is 1 x 2, not 1 x 18");
    TRIP(grad_x.rows, = 2, do_vjp, FAR_ERR_SHAPE, "grad_x is 2 x 5");
    TRIP(v.cols, = 2, do_jvp, FAR_ERR_SHAPE, "v is 1 x 2");
    TRIP(dx.cols, = 2, do_jvp, FAR_ERR_SHAPE, "dx is 11 x 2");
    TRIP(out.cols, = 2, do_jvp, FAR_ERR_SHAPE, "out is 11 x 2");
    TRIP(jacobian.rows, = 11, do_jacobian, FAR_ERR_SHAPE, "out is 11 x 18, not 33 x 18");
    TRIP(out.cols, = 2, do_limit, FAR_ERR_SHAPE, "value is 11 x 2");
    TRIP(x.dtype, = FAR_F32, do_eval_raw, FAR_ERR_ARG, "x is not of type float64");
    TRIP(x.dtype, = FAR_F32, do_limit, FAR_ERR_ARG, "u is not of type float64");
#undef TRIP
    far_mat small = far_mat_view(c.out.data, 1, 1, FAR_F64);
    refused(far_net_limit(ctx, c.net, &c.x, &c.out, &small, NULL), FAR_ERR_SHAPE, "order is 1 x 1");
    refused(far_net_limit(ctx, c.net, &c.x, &c.out, NULL, &small), FAR_ERR_SHAPE, "rest is 1 x 1");
    refused(far_net_limit(ctx, c.net, &c.x, NULL, NULL, NULL), FAR_ERR_ARG, "value");
    call_free(&c);
}

static void no_rows_are_no_work(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(CALLS); i++) {
        call c = call_of("dense(13) ln relu dense(1)", FAR_F64);
        c.x.rows = c.u.rows = c.out.rows = c.dx.rows = c.grad_x.rows = c.jacobian.rows = 0;
        must(CALLS[i](&c));
        for (int64_t k = 0; CALLS[i] == do_vjp && k < c.grad.cols; k++) {
            assert_true(at(&c.grad, 0, k) == 0);
        }
        call_free(&c);
    }
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(CALLS); i++) {
        call c = call_of(EVERYTHING, FAR_F64);
        int64_t live = test_heap.live_blocks;
        far_status st = FAR_ERR_MEMORY;
        for (int64_t k = 0; st != FAR_OK; k++) {
            test_heap.fail_at = test_heap.calls + k;
            st = CALLS[i](&c);
            assert_true(st == FAR_OK || st == FAR_ERR_MEMORY);
            assert_int_equal(test_heap.live_blocks, live);
        }
        test_heap.fail_at = -1;
        call_free(&c);
    }
}

static void making_a_network_may_fail_anywhere(void **state)
{
    (void)state;
    far_status st = FAR_ERR_MEMORY;
    far_net *net = NULL;
    for (int64_t k = 0; st != FAR_OK; k++) {
        far_net_opts opts = opts_of(D, FAR_INIT_LECUN);
        int64_t live = test_heap.live_blocks;
        test_heap.fail_at = test_heap.calls + k;
        st = far_net_create(ctx, EVERYTHING, &opts, &net);
        assert_true(st == FAR_OK || (st == FAR_ERR_MEMORY && !net));
        assert_true(st == FAR_OK || test_heap.live_blocks == live);
    }
    test_heap.fail_at = -1;
    must(far_net_set_metadata(ctx, net, "a", "b"));
    must(far_net_linearize(ctx, net));
    st = FAR_ERR_MEMORY;
    for (int64_t k = 0; st != FAR_OK; k++) {
        far_net *copy;
        int64_t live = test_heap.live_blocks;
        test_heap.fail_at = test_heap.calls + k;
        st = far_net_copy(ctx, net, &copy);
        assert_true(st == FAR_OK || (st == FAR_ERR_MEMORY && !copy));
        far_net_destroy(copy);
        assert_int_equal(test_heap.live_blocks, live);
    }
    test_heap.fail_at = -1;
    far_net_destroy(net);
}

static void long_calls_can_be_cancelled(void **state)
{
    (void)state;
    far_net *net = net_of("dense(13) ln relu dense(1)");
    far_mat x = filled(5 * MANY, D, FAR_F64), out = filled(5 * MANY, 1, FAR_F64);
    far_ctx *alone = context_with(1);
    ear.stop_at = 2;
    assert_int_equal(far_net_eval(alone, net, &x, &out), FAR_ERR_CANCELLED);
    assert_int_equal(ear.calls, 2);
    far_ctx_destroy(alone);
    far_net_destroy(net);
    free(x.data);
    free(out.data);
}

/* ---- the same bits --------------------------------------------------------------------------- */

static const char *const SOME[] = {
    EVERYTHING,
    "dense(67) ln relu dense(17) rms(affine) silu dense(1)",
    "dense(19) sin dense(33) erf dense(2)",
    "ln(affine) dense(31) relu(1.5) skip(dense(31) abs) dense(9)",
};

/* Rows by threads, all at once, one by one, and with a stride. */
static void check_row_bits(const char *arch, far_dtype dtype)
{
    far_net *net = net_of(arch);
    int64_t o = far_net_describe(net).outputs;
    size_t size = far_dtype_size(dtype);
    far_mat x = filled(MANY, D, dtype), whole = filled(MANY, o, dtype),
            out = filled(MANY, o, dtype);
    must(far_net_eval(ctx, net, &x, &whole));
    far_ctx *other = context_with(3);
    must(far_net_eval(other, net, &x, &out));
    far_ctx_destroy(other);
    assert_true(same_bits(&whole, &out));
    for (int64_t i = 0; i < MANY; i += 37) {
        far_mat row = far_mat_view(far_mat_row(&x, i), 1, D, dtype);
        far_mat one = far_mat_view(out.data, 1, o, dtype);
        must(far_net_eval(ctx, net, &row, &one));
        assert_memory_equal(out.data, far_mat_row(&whole, i), (size_t)o * size);
    }
    far_mat apart = filled(MANY, D + 2, dtype), wide = filled(MANY, o + 3, dtype);
    apart.cols = D;
    wide.cols = o;
    for (int64_t i = 0; i < MANY; i++) {
        memcpy(far_mat_row(&apart, i), far_mat_row(&x, i), D * size);
    }
    must(far_net_eval(ctx, net, &apart, &wide));
    for (int64_t i = 0; i < MANY; i++) {
        assert_memory_equal(far_mat_row(&wide, i), far_mat_row(&whole, i), (size_t)o * size);
    }
    far_net_destroy(net);
    far_mat *all[] = {&x, &whole, &out, &apart, &wide};
    for (int i = 0; i < COUNT(all); i++) {
        free(all[i]->data);
    }
}

static void a_row_has_the_same_bits_wherever_it_stands(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(SOME); i++) {
        check_row_bits(SOME[i], FAR_F64);
        check_row_bits(SOME[i], FAR_F32);
    }
}

static void gradients_have_the_same_bits_for_any_number_of_threads(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(SOME); i++) {
        far_net *net = net_of(SOME[i]);
        int64_t o = far_net_describe(net).outputs, p = far_net_describe(net).parameters;
        far_mat x = filled(7 * MANY, D, FAR_F32), u = filled(7 * MANY, o, FAR_F32);
        far_mat a = filled(1, p, FAR_F32), b = filled(1, p, FAR_F32);
        far_ctx *other = context_with(5);
        must(far_net_vjp(ctx, net, &x, &u, &a, NULL));
        must(far_net_vjp(other, net, &x, &u, &b, NULL));
        assert_true(same_bits(&a, &b));
        far_ctx_destroy(other);
        far_net_destroy(net);
        far_mat *all[] = {&x, &u, &a, &b};
        for (int k = 0; k < COUNT(all); k++) {
            free(all[k]->data);
        }
    }
}

static void instruction_sets_agree_up_to_rounding(void **state)
{
    (void)state;
    static const char *const SETS[] = {"avx512", "avx2", "baseline"};
    for (int i = 0; i < COUNT(SOME); i++) {
        call c = call_of(SOME[i], FAR_F64);
        far_mat first = filled(1, c.grad.cols, FAR_F64);
        for (int k = 0; k < COUNT(SETS); k++) {
            setenv("FARFIELD_ISA", SETS[k], 1);
            must(do_vjp(&c));
            for (int64_t j = 0; j < c.grad.cols; j++) {
                double *was = (double *)first.data + j, is = at(&c.grad, 0, j);
                *was = k == 0 ? is : *was;
                assert_true(fabs(*was - is) <= 1e-12 * (1 + fabs(is)));
            }
        }
        unsetenv("FARFIELD_ISA");
        free(first.data);
        call_free(&c);
    }
}

/* ---- numbers at the edge of their range ------------------------------------------------------ */

static void norms_do_not_see_the_size_of_float64(void **state)
{
    (void)state;
    static const char *const FREE[] = {"dense(13, nobias) ln relu dense(2)",
                                       "dense(13, nobias) rms relu dense(2)",
                                       "ln dense(7) relu dense(2)"};
    for (int i = 0; i < COUNT(FREE); i++) {
        far_net *net = net_of(FREE[i]);
        far_mat x = filled(N, D, FAR_F64), far_x = filled(N, D, FAR_F64);
        far_mat out = filled(N, 2, FAR_F64), far_out = filled(N, 2, FAR_F64);
        must(far_net_eval(ctx, net, &x, &out));
        for (int e = -996; e <= 990; e += 662) {
            for (int64_t k = 0; k < N * D; k++) {
                ((double *)far_x.data)[k] = ldexp(((double *)x.data)[k], e);
            }
            must(far_net_eval(ctx, net, &far_x, &far_out));
            for (int64_t k = 0; k < N * 2; k++) {
                double a = ((double *)out.data)[k], b = ((double *)far_out.data)[k];
                assert_true(fabs(a - b) <= 1e-13 * (1 + fabs(a)));
            }
        }
        far_net_destroy(net);
        free(x.data);
        free(far_x.data);
        free(out.data);
        free(far_out.data);
    }
}

static void check_constant_vector(far_dtype dtype)
{
    far_net *net = net_of("ln dense(3, nobias)");
    far_mat x = filled(3, D, dtype), out = filled(3, 3, dtype), u = filled(3, 3, dtype);
    far_mat grad_x = filled(3, D, dtype);
    const double values[3] = {0.1, 0, -1e-30};
    for (int64_t i = 0; i < 3 * D; i++) {
        if (dtype == FAR_F64) {
            ((double *)x.data)[i] = values[i / D];
        } else {
            ((float *)x.data)[i] = (float)values[i / D];
        }
    }
    must(far_net_eval(ctx, net, &x, &out));
    must(far_net_vjp(ctx, net, &x, &u, NULL, &grad_x));
    for (int64_t i = 0; i < 3; i++) {
        for (int64_t k = 0; k < 3; k++) {
            assert_true(at(&out, i, k) == 0);
        }
        for (int64_t j = 0; j < D; j++) {
            assert_true(at(&grad_x, i, j) == 0);
        }
    }
    far_net_destroy(net);
    free(x.data);
    free(out.data);
    free(u.data);
    free(grad_x.data);
}

static void a_constant_vector_is_normalised_to_zero(void **state)
{
    (void)state;
    check_constant_vector(FAR_F64);
    check_constant_vector(FAR_F32);
}

static void a_weight_that_is_nan_comes_through(void **state)
{
    (void)state;
    static const char *const ALL[] = {"dense(13) relu dense(1)",       "dense(13) ln relu dense(1)",
                                      "dense(13) relu(2) dense(1)",    "dense(13) gelu dense(1)",
                                      "dense(13) rms abs dense(1)",    "dense(13) tanh dense(1)",
                                      "dense(13) leaky_relu dense(1)", "dense(13) silu dense(1)"};
    for (int i = 0; i < COUNT(ALL); i++) {
        call c = call_of(ALL[i], FAR_F32);
        ((double *)far_net_parameters(c.net).data)[3] = NAN;
        must(do_eval(&c));
        assert_true(isnan(at(&c.out, 0, 0)));
        call_free(&c);
    }
}

/* A first layer so large that its weights are turned panel by panel: u' (J dx) = (J' u)' dx. */
static void derivatives_by_large_inputs_are_dual(void **state)
{
    (void)state;
    enum { INPUTS = 131, OUTPUTS = 3 };
    far_net_opts opts = opts_of(INPUTS, FAR_INIT_KAIMING_NORMAL);
    far_net *net;
    must(far_net_create(ctx, "dense(67) tanh dense(3)", &opts, &net));
    for (int single = 0; single < 2; single++) {
        far_dtype dtype = single ? FAR_F32 : FAR_F64;
        far_mat x = filled(N, INPUTS, dtype), dx = filled(N, INPUTS, dtype);
        far_mat u = filled(N, OUTPUTS, dtype), out = filled(N, OUTPUTS, dtype);
        far_mat back = filled(N, INPUTS, dtype);
        must(far_net_jvp(ctx, net, &x, NULL, &dx, &out));
        must(far_net_vjp(ctx, net, &x, &u, NULL, &back));
        for (int64_t i = 0; i < N; i++) {
            double forward = 0, backward = 0, size = 0;
            for (int64_t k = 0; k < OUTPUTS; k++) {
                forward += at(&u, i, k) * at(&out, i, k);
                size += fabs(at(&u, i, k) * at(&out, i, k));
            }
            for (int64_t k = 0; k < INPUTS; k++) {
                backward += at(&back, i, k) * at(&dx, i, k);
            }
            assert_true(size > 0 && fabs(forward - backward) <= (single ? 1e-4 : 1e-12) * size);
        }
        far_mat *owned[] = {&x, &dx, &u, &out, &back};
        for (int i = 0; i < COUNT(owned); i++) {
            free(owned[i]->data);
        }
    }
    far_net_destroy(net);
}

/* In float32 as in float64, and with each allocation failing in turn. */
static void a_linearised_network_is_evaluated_in_both_types(void **state)
{
    (void)state;
    far_net *net = net_of("dense(7) ln(affine) tanh dense(3)");
    far_mat wide = filled(N, 3, FAR_F64), narrow = filled(N, 3, FAR_F32);
    far_mat x = filled(N, D, FAR_F64), x32 = filled(N, D, FAR_F32);
    must(far_net_linearize(ctx, net));
    for (int64_t i = 0; i < far_net_describe(net).parameters; i++) {
        ((double *)far_net_parameters(net).data)[i] += 0.1 * wave(i);
    }
    far_status st = FAR_ERR_MEMORY;
    int64_t failed = 0;
    for (; st == FAR_ERR_MEMORY; failed++) {
        test_heap.fail_at = test_heap.calls + failed;
        st = far_net_eval(ctx, net, &x, &wide);
    }
    test_heap.fail_at = -1;
    must(st);
    assert_true(failed > 3);
    must(far_net_eval(ctx, net, &x32, &narrow));
    for (int64_t i = 0; i < N; i++) {
        for (int64_t k = 0; k < 3; k++) {
            assert_true(fabs(at(&wide, i, k) - at(&narrow, i, k)) <= 1e-4);
        }
    }
    far_mat *owned[] = {&x, &x32, &wide, &narrow};
    for (int i = 0; i < COUNT(owned); i++) {
        free(owned[i]->data);
    }
    far_net_destroy(net);
}

/* ---- linearised networks --------------------------------------------------------------------- */

static void a_linearised_network_is_linear_in_its_parameters(void **state)
{
    (void)state;
    call c = call_of(EVERYTHING, FAR_F64);
    far_mat start = filled(N, 3, FAR_F64), step = filled(N, 3, FAR_F64);
    must(far_net_eval(ctx, c.net, &c.x, &start));
    must(far_net_jvp(ctx, c.net, &c.x, &c.v, NULL, &step));
    must(far_net_vjp(ctx, c.net, &c.x, &c.u, &c.grad, NULL));
    assert_int_equal(far_net_start(c.net).rows, 0);
    must(far_net_linearize(ctx, c.net));
    refused(far_net_linearize(ctx, c.net), FAR_ERR_ARG, "linearised already");
    assert_int_equal(far_net_start(c.net).cols, far_net_parameters(c.net).cols);
    for (int64_t i = 0; i < c.v.cols; i++) {
        ((double *)far_net_parameters(c.net).data)[i] += at(&c.v, 0, i);
    }
    must(far_net_eval(ctx, c.net, &c.x, &c.out));
    for (int64_t i = 0; i < N * 3; i++) {
        double sum = ((double *)start.data)[i] + ((double *)step.data)[i];
        assert_true(fabs(((double *)c.out.data)[i] - sum) <= 1e-13 * (1 + fabs(sum)));
    }
    far_mat again = filled(1, c.grad.cols, FAR_F64);
    must(far_net_vjp(ctx, c.net, &c.x, &c.u, &again, NULL)); /* the Jacobian has not moved */
    assert_true(same_bits(&again, &c.grad));
    refused(do_vjp(&c), FAR_ERR_ARG, "grad_x: derivatives of a linearised network");
    refused(do_jvp(&c), FAR_ERR_ARG, "dx: derivatives of a linearised network");
    refused(do_limit(&c), FAR_ERR_ARG, "linearised");
    free(start.data);
    free(step.data);
    free(again.data);
    call_free(&c);
}

/* ---- the engine ------------------------------------------------------------------------------ */

static void packing_turns_weights_and_back(void **state)
{
    (void)state;
    far_net *net = net_of(EVERYTHING);
    int64_t p = far_net_describe(net).parameters;
    double *packed = malloc((size_t)p * sizeof *packed), *back = calloc((size_t)p, sizeof *back);
    far_net_pack(net, net->params, FAR_F64, packed);
    assert_true(packed[13] == net->params[1] && packed[1] == net->params[5]); /* 13 x 5 turned */
    assert_true(packed[65] == net->params[65]);
    far_net_unpack(net, FAR_F64, packed, back);
    assert_memory_equal(back, net->params, (size_t)p * sizeof *back);
    free(packed);
    free(back);
    far_net_destroy(net);
}

static void slices_of_weights_make_the_whole(void **state)
{
    (void)state;
    far_net *net = net_of("dense(131) ln(affine) relu dense(37) relu dense(2)");
    int64_t p = far_net_describe(net).parameters;
    float *packed = malloc((size_t)p * sizeof *packed);
    far_mat x = filled(N, D, FAR_F32);
    far_engine *e;
    far_weights *whole, *sliced;
    far_pass *pass;
    float first[N * 2];
    must(far_engine_create(ctx, net, FAR_F32, &e));
    must(far_weights_create(ctx, e, &whole));
    must(far_weights_create(ctx, e, &sliced));
    must(far_pass_create(ctx, e, N, 0, &pass));
    far_net_pack(net, net->params, FAR_F32, packed);
    far_weights_set(whole, packed, 0, 1);
    for (int64_t k = 6; k >= 0; k--) {
        far_weights_set(sliced, packed, k, 7);
    }
    far_pass_forward(pass, whole, x.data, D, N);
    memcpy(first, far_pass_output(pass), sizeof first);
    far_pass_forward(pass, sliced, x.data, D, N);
    assert_memory_equal(far_pass_output(pass), first, sizeof first);
    assert_true(far_engine_flops(e) == 2 * (2 * 5 * 131 + 3 * 131 * 37 + 3 * 37 * 2));
    assert_true(far_engine_rows(e) > 0);
    far_pass_destroy(pass);
    far_weights_destroy(whole);
    far_weights_destroy(sliced);
    far_engine_destroy(e);
    free(packed);
    free(x.data);
    far_net_destroy(net);
}

/* Values and gradients that other rooms read: inputs of dense layers, normalised values, deltas. */
static void a_pass_keeps_what_kernels_need(void **state)
{
    (void)state;
    far_net *net = net_of("ln(affine) dense(13) ln(affine) relu dense(3)");
    int64_t p = far_net_describe(net).parameters, ld;
    double *packed = malloc((size_t)p * sizeof *packed),
           *gradient = calloc((size_t)p, sizeof *packed);
    far_mat x = filled(N, D, FAR_F64), u = filled(N, 3, FAR_F64);
    far_engine *e;
    far_weights *w;
    far_pass *pass;
    must(far_engine_create(ctx, net, FAR_F64, &e));
    must(far_weights_create(ctx, e, &w));
    must(far_pass_create(ctx, e, N, FAR_PASS_BACKWARD, &pass));
    far_net_pack(net, net->params, FAR_F64, packed);
    far_weights_set(w, packed, 0, 1);
    far_pass_forward(pass, w, x.data, D, N);
    far_pass_backward(pass, w, u.data, gradient, NULL);
    assert_ptr_equal(far_pass_value(pass, -1, &ld), x.data);
    assert_int_equal(ld, D);
    for (int64_t i = 0; i < net->step_count; i++) { /* gradients once more, from what was kept */
        const far_step *s = &net->steps[i];
        const double *delta = s->unit >= 0 ? far_pass_delta(pass, i) : NULL;
        const double *unit = s->kind == FAR_STEP_NORM ? far_pass_normalized(pass, i) : NULL;
        const double *in = s->kind == FAR_STEP_DENSE ? far_pass_value(pass, i - 1, &ld) : NULL;
        double bias = 0, weight = 0;
        for (int64_t r = 0; delta && r < N; r++) {
            bias += delta[r * s->out + 1];
            weight += delta[r * s->out + 1] * (unit ? unit[r * s->out + 1] : in[r * ld]);
        }
        if (delta) {
            assert_true(fabs(gradient[s->bias + 1] - bias) <= 1e-13 * (1 + fabs(bias)));
            assert_true(fabs(gradient[s->weight + 1] - weight) <= 1e-13 * (1 + fabs(weight)));
        }
    }
    far_pass_destroy(pass);
    far_weights_destroy(w);
    far_engine_destroy(e);
    free(packed);
    free(gradient);
    free(x.data);
    free(u.data);
    far_net_destroy(net);
}

/* ---- limits ---------------------------------------------------------------------------------- */

typedef struct asymptote {
    const char *arch;
    double u, value, order, rest;
} asymptote;

/* One input; every weight is 2, every bias 1. */
static const asymptote ASYMPTOTES[] = {
    {"dense(1)", 3, 6, 1, 1},
    {"dense(1) relu dense(1)", 3, 12, 1, 3},
    {"dense(1) relu dense(1)", -3, 1, 0, 0},
    {"dense(1) abs dense(1)", -3, 12, 1, -1},
    {"dense(1) leaky_relu(0.5) dense(1)", -3, -6, 1, 2},
    {"dense(1) gelu dense(1)", 3, 12, 1, 3},
    {"dense(1) silu dense(1)", -3, 1, 0, 0},
    {"dense(1) tanh dense(1)", -3, -1, 0, 0},
    {"dense(1) erf(gain=4) dense(1)", 3, 9, 0, 0},
    {"dense(1) relu(2) dense(1)", 3, 72, 2, NAN},
    {"dense(1) relu(2) dense(1)", -3, 1, 0, 0},
    {"dense(1) relu(0.75) dense(1)", 8, 16, 0.75, NAN},
    {"dense(1) identity relu(3) dense(1) tanh", 3, 1, 0, 0},
    {"skip(relu(2)) dense(1)", 3, 18, 2, NAN},
    {"skip(relu(0.75)) dense(1)", 16, 32, 1, NAN},
    {"skip(relu) dense(1)", -3, -6, 1, 1},
    {"skip(relu | identity) dense(1)", -3, -6, 1, 1},
    {"skip(identity | relu) dense(1)", -3, -6, 1, 1},
    {"skip(relu | tanh) dense(1)", -3, -1, 0, 0},
    {"dense(1) skip(abs) dense(1)", -3, 1, 0, 0},
    {"dense(1) rms dense(1)", -3, -1, 0, 0},
    {"dense(1) ln dense(1)", -3, 1, 0, 0},
    {"dense(1) relu(2) rms dense(1)", 3, 3, 0, 0},
    {"dense(3) ln sin dense(1)", 3, 1, 0, 0},
    {"dense(1) batchnorm(eps=3) dense(1)", 3, 6, 1, 2},
    {"dense(1) batchnorm(eps=3, affine) dense(1)", 3, 12, 1, 5},
    {"dense(1) tanh dense(1) sin dense(1)", 3, 1, 0, 0},
};

static void limits_are_exact(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(ASYMPTOTES); i++) {
        const asymptote *a = &ASYMPTOTES[i];
        far_net_opts opts = opts_of(1, FAR_INIT_KAIMING_NORMAL);
        far_net *net;
        double u = a->u, value = -7, order = -7, rest = -7, expected = a->value;
        must(far_net_create(ctx, a->arch, &opts, &net));
        for (int64_t k = 0; k < net->step_count; k++) {
            const far_step *s = &net->steps[k];
            for (int64_t j = 0; s->weight >= 0 && j < s->in * (s->unit >= 0 ? s->out : 0); j++) {
                net->params[s->weight + (s->kind == FAR_STEP_DENSE ? j : j % s->out)] = 2;
            }
            for (int64_t j = 0; s->bias >= 0 && j < s->out; j++) {
                net->params[s->bias + j] = 1;
            }
        }
        far_mat um = far_mat_view(&u, 1, 1, FAR_F64), vm = far_mat_view(&value, 1, 1, FAR_F64);
        far_mat om = far_mat_view(&order, 1, 1, FAR_F64), rm = far_mat_view(&rest, 1, 1, FAR_F64);
        must(far_net_limit(ctx, net, &um, &vm, &om, &rm));
        if (strstr(a->arch, "tanh dense(1) sin")) {
            expected = 1 + 2 * sin(3.0);
        } else if (a->order == 0.75) {
            expected = 2 * pow(16, 0.75);
        } else if (strstr(a->arch, "relu(3)")) {
            expected = 1;
        }
        if (!(fabs(value - expected) <= 1e-14 * fabs(expected) && order == a->order &&
              (isnan(a->rest) ? isnan(rest) : fabs(rest - a->rest) <= 1e-14))) {
            fail_msg("%s: %.17g t^%g + %g, not %.17g t^%g + %g", a->arch, value, order, rest,
                     expected, a->order, a->rest);
        }
        far_net_destroy(net);
    }
}

static void a_sin_of_what_grows_has_no_limit(void **state)
{
    (void)state;
    call c = call_of("dense(13) relu dense(2) sin dense(1)", FAR_F64);
    far_mat before = filled(N, 1, FAR_F64);
    refused(do_limit(&c), FAR_ERR_ARCH, "layer 3 is a sin of something that grows");
    assert_true(same_bits(&before, &c.out)); /* untouched */
    free(before.data);
    call_free(&c);
}

static void zero_is_no_direction(void **state)
{
    (void)state;
    call c = call_of("dense(3)", FAR_F64);
    memset(far_mat_row(&c.x, 6), 0, (size_t)c.x.cols * sizeof(double));
    refused(do_limit(&c), FAR_ERR_VALUE, "u: row 7 is zero, which is no direction");
    call_free(&c);
}

/* The slope of all neurons is the same: only their intercepts differ, and eps counts again. */
static void a_norm_looks_behind_a_constant_leading_vector(void **state)
{
    (void)state;
    far_net_opts opts = opts_of(1, FAR_INIT_KAIMING_NORMAL);
    far_net *net;
    double u = 1, out[3];
    must(far_net_create(ctx, "dense(3) ln(eps=2)", &opts, &net));
    const double bias[3] = {1, 2, 6};
    for (int k = 0; k < 3; k++) {
        net->params[k] = 0.1;
        net->params[3 + k] = bias[k];
    }
    far_mat um = far_mat_view(&u, 1, 1, FAR_F64), om = far_mat_view(out, 1, 3, FAR_F64);
    must(far_net_limit(ctx, net, &um, &om, NULL, NULL));
    for (int k = 0; k < 3; k++) {
        assert_true(fabs(out[k] - (bias[k] - 3) / sqrt(14.0 / 3 + 2)) < 1e-14);
    }
    far_net_destroy(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(architectures_that_cannot_run_are_refused_with_their_column),
        TEST(options_are_checked),
        TEST(a_last_dense_takes_its_width_from_the_options),
        TEST(tensors_are_named_and_placed_as_in_pytorch),
        TEST(layers_with_parameters_are_counted_and_named),
        TEST(copies_are_whole_and_apart),
        TEST(weights_are_those_of_the_seed),
        TEST(scaling_turns_raw_units_into_the_networks),
        TEST(scaling_is_checked),
        TEST(metadata_is_kept_replaced_and_removed),
        TEST(inputs_are_checked_by_every_function),
        TEST(shapes_and_types_are_checked),
        TEST(no_rows_are_no_work),
        TEST(every_allocation_may_fail),
        TEST(making_a_network_may_fail_anywhere),
        TEST(long_calls_can_be_cancelled),
        TEST(a_row_has_the_same_bits_wherever_it_stands),
        TEST(gradients_have_the_same_bits_for_any_number_of_threads),
        TEST(instruction_sets_agree_up_to_rounding),
        TEST(norms_do_not_see_the_size_of_float64),
        TEST(a_constant_vector_is_normalised_to_zero),
        TEST(a_weight_that_is_nan_comes_through),
        TEST(derivatives_by_large_inputs_are_dual),
        TEST(a_linearised_network_is_evaluated_in_both_types),
        TEST(a_linearised_network_is_linear_in_its_parameters),
        TEST(packing_turns_weights_and_back),
        TEST(slices_of_weights_make_the_whole),
        TEST(a_pass_keeps_what_kernels_need),
        TEST(limits_are_exact),
        TEST(a_sin_of_what_grows_has_no_limit),
        TEST(zero_is_no_direction),
        TEST(a_norm_looks_behind_a_constant_leading_vector),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
