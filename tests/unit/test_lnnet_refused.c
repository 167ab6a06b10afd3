/* Networks of layer norms: what is refused, by what name, and what is read from metadata. */
#include <farfield/lnnet.h>
#include <farfield/nonlinear.h>

#include "harness.h"
#include "lnnet/lnnet_internal.h"

enum { ROWS = 5, INPUTS = 2, CLASSES = 2 };

static double points[ROWS * INPUTS] = {0, 0, 1, 0.5, 2, -1, 3, 0.25, 5, 4};
static const int64_t LABELS[ROWS] = {0, 1, 0, 1, 0};

static far_mat rows_of_points(void)
{
    return far_mat_view(points, ROWS, INPUTS, FAR_F64);
}

static far_net *make_net(const char *arch, int32_t init)
{
    far_net_opts opts;
    far_net *net;
    far_net_opts_init(&opts);
    opts.inputs = INPUTS;
    opts.init = init;
    must(far_net_create(ctx, arch, &opts, &net));
    return net;
}

static far_net *built(int32_t precision)
{
    far_mat x = rows_of_points();
    far_lnnet_opts opts;
    far_net *net;
    opts = (far_lnnet_opts){.size = sizeof opts};
    opts.precision = precision;
    must(far_lnnet_build(ctx, &x, LABELS, CLASSES, &opts, &net, NULL));
    return net;
}

static void other_networks_are_named(void **state)
{
    (void)state;
    static const char *const OTHER[] = {
        "dense(2)",
        "dense(3) relu dense(2)",
        "dense(3) rms dense(2)",
        "dense(4) ln dense(2)",
        "dense(3, nobias) ln dense(2)",
        "dense(3) ln dense(2, nobias)",
        "dense(3) ln(eps=1e-5) dense(3) ln dense(2)",
        "dense(6) ln(groups=2) dense(6) ln dense(2)",
        "dense(3) ln dense(3) relu dense(2)",
        "dense(3) ln dense(3) ln",
        "dense(3) ln(affine) dense(2)",
        "dense(3) ln dense(3) rms dense(2)",
    };
    for (int i = 0; i <= COUNT(OTHER); i++) {
        far_lnnet_shape shape;
        far_net_opts opts;
        far_net *net;
        far_net_opts_init(&opts);
        opts.inputs = INPUTS;
        opts.init = i < COUNT(OTHER) ? FAR_INIT_TORCH : FAR_INIT_NTK; /* whose weights are scaled */
        must(
            far_net_create(ctx, i < COUNT(OTHER) ? OTHER[i] : "dense(3) ln dense(2)", &opts, &net));
        refused(far_lnnet_describe(ctx, net, &shape), FAR_ERR_ARG,
                "is no network of far_lnnet_build");
        far_net_destroy(net);
    }
    far_net *scaled = make_net("dense(3) ln dense(2)", FAR_INIT_NTK);
    far_lnnet_shape shape;
    refused(far_lnnet_describe(ctx, scaled, &shape), FAR_ERR_ARG, "is no network");
    far_net_destroy(scaled);
}

static void shapes_are_told(void **state)
{
    (void)state;
    far_lnnet_shape shape;
    far_net *net = make_net("dense(6) ln(groups=2) dense(6) ln(groups=2) dense(2)", FAR_INIT_TORCH);
    must(far_lnnet_describe(ctx, net, &shape));
    assert_int_equal(shape.layers, 2);
    assert_int_equal(shape.groups, 2);
    assert_int_equal(shape.classes, CLASSES);
    assert_int_equal(shape.mode, FAR_LNNET_AUTO);
    must(far_net_set_metadata(ctx, net, "lnnet.mode", "runs"));
    must(far_lnnet_describe(ctx, net, &shape));
    assert_int_equal(shape.mode, FAR_LNNET_RUNS);
    must(far_net_set_metadata(ctx, net, "lnnet.mode", "upside down"));
    must(far_lnnet_describe(ctx, net, &shape));
    assert_int_equal(shape.mode, FAR_LNNET_AUTO);
    refused(far_lnnet_describe(ctx, NULL, &shape), FAR_ERR_ARG, "a network and an output");
    refused(far_lnnet_describe(ctx, net, NULL), FAR_ERR_ARG, "a network and an output");
    assert_int_equal(far_lnnet_describe(NULL, net, &shape), FAR_ERR_ARG);
    far_net_destroy(net);
}

/* What a file says of its precision: only what a builder writes is taken. */
static void metadata_of_the_precision_is_checked(void **state)
{
    (void)state;
    static const struct {
        const char *precision, *bits;
        bool good;
    } CASES[] = {
        {"double", "53", false}, {"octuple", "256", false}, {"quad", "63", false},
        {"quad", "many", false}, {"quad", "113x", false},   {"quad", "100001", false},
        {"quad", "", false},     {"quad", "113", true},
    };
    far_mat x = rows_of_points();
    far_net *net = built(FAR_LNNET_QUAD);
    for (int i = 0; i < COUNT(CASES); i++) {
        far_lnnet_checked checked;
        must(far_net_set_metadata(ctx, net, "lnnet.precision", CASES[i].precision));
        must(far_net_set_metadata(ctx, net, "lnnet.bits", CASES[i].bits));
        far_status st = far_lnnet_check(ctx, net, &x, LABELS, 0, 0, &checked);
        if (CASES[i].good) {
            must(st);
            assert_int_equal(checked.wrong, 0);
            assert_int_equal(checked.precision, FAR_LNNET_QUAD);
        } else {
            refused(st, FAR_ERR_FORMAT, "expected quad or mpfr");
        }
    }
    far_net_destroy(net);
}

/* A precision alone says too little. */
static void a_precision_without_bits_is_refused(void **state)
{
    (void)state;
    far_mat x = rows_of_points();
    far_lnnet_checked checked;
    far_net *net = make_net("dense(3) ln dense(2)", FAR_INIT_TORCH);
    must(far_net_set_metadata(ctx, net, "lnnet.precision", "quad"));
    refused(far_lnnet_check(ctx, net, &x, LABELS, 0, 0, &checked), FAR_ERR_FORMAT, "lnnet.bits ''");
    far_net_destroy(net);
}

/* A label below 0, and columns that have the least of all ranges, or none. */
static void rows_that_no_network_tells_apart_are_refused(void **state)
{
    (void)state;
    double narrow[] = {7, 0, 1, 7, 0x1p-1074, 1}, same[] = {7, 7, 7, 7};
    int64_t labels[] = {0, 1}, wrong[] = {0, -1}, one[] = {0, 0};
    far_mat x = far_mat_view(narrow, 2, 3, FAR_F64), y = far_mat_view(same, 2, 2, FAR_F64);
    far_lnnet_opts opts;
    far_lnnet_checked checked;
    far_net *net;
    opts = (far_lnnet_opts){.size = sizeof opts};
    refused(far_lnnet_build(ctx, &x, wrong, 2, &opts, &net, NULL), FAR_ERR_ARG,
            "row 2 has label -1; classes are 0 to 1");
    refused(far_lnnet_build(ctx, &x, labels, 2, &opts, &net, NULL), FAR_ERR_VALUE,
            "column 2 has a range of");
    refused(far_lnnet_build(ctx, &y, labels, 2, &opts, &net, NULL), FAR_ERR_VALUE,
            "rows 1 and 2 are identical");
    must(far_lnnet_build(ctx, &y, one, 2, &opts, &net, NULL));
    must(far_lnnet_check(ctx, net, &y, one, 0, 0, &checked));
    assert_int_equal(checked.wrong, 0);
    far_net_destroy(net);
}

static void parameters_of_metadata_are_read_whole_or_not(void **state)
{
    (void)state;
    static const char *const DAMAGED[] = {"", "1", "1 2 x", "1  2", "nan"};
    static const int32_t PRECISIONS[] = {FAR_LNNET_QUAD, FAR_LNNET_MPFR};
    far_mat x = rows_of_points();
    for (int p = 0; p < COUNT(PRECISIONS); p++) {
        far_lnnet_checked checked;
        if (PRECISIONS[p] == FAR_LNNET_MPFR && !far_lnnet_has_mpfr()) {
            continue;
        }
        far_net *net = built(PRECISIONS[p]);
        must(far_lnnet_check(ctx, net, &x, LABELS, PRECISIONS[p], 0, &checked));
        assert_int_equal(checked.wrong, 0);
        for (int i = 0; i < COUNT(DAMAGED); i++) {
            must(far_net_set_metadata(ctx, net, "lnnet.parameters", DAMAGED[i]));
            refused(far_lnnet_check(ctx, net, &x, LABELS, PRECISIONS[p], 0, &checked),
                    FAR_ERR_FORMAT, "lnnet.parameters is damaged");
        }
        far_net_destroy(net);
    }
}

static void checks_want_all_their_arguments(void **state)
{
    (void)state;
    far_mat x = rows_of_points(), narrow = far_mat_view(points, ROWS, 1, FAR_F64);
    far_lnnet_checked out;
    int64_t wrong[ROWS] = {0, 1, 2, 0, 0}, negative[ROWS] = {0, -1, 0, 0, 0};
    far_net *net = built(FAR_LNNET_DOUBLE);
    assert_int_equal(far_lnnet_check(NULL, net, &x, LABELS, 0, 0, &out), FAR_ERR_ARG);
    refused(far_lnnet_check(ctx, NULL, &x, LABELS, 0, 0, &out), FAR_ERR_ARG, "are needed");
    refused(far_lnnet_check(ctx, net, &x, NULL, 0, 0, &out), FAR_ERR_ARG, "are needed");
    refused(far_lnnet_check(ctx, net, &x, LABELS, 0, 0, NULL), FAR_ERR_ARG, "are needed");
    refused(far_lnnet_check(ctx, net, &x, LABELS, -1, 0, &out), FAR_ERR_ARG, "no such precision");
    refused(far_lnnet_check(ctx, net, &x, LABELS, FAR_LNNET_MPFR + 1, 0, &out), FAR_ERR_ARG,
            "no such precision");
    refused(far_lnnet_check(ctx, net, &x, LABELS, 0, 63, &out), FAR_ERR_ARG, "no such precision");
    refused(far_lnnet_check(ctx, net, &x, LABELS, 0, 100001, &out), FAR_ERR_ARG,
            "no such precision");
    refused(far_lnnet_check(ctx, net, &narrow, LABELS, 0, 0, &out), FAR_ERR_SHAPE, "1");
    refused(far_lnnet_check(ctx, net, &x, wrong, 0, 0, &out), FAR_ERR_ARG, "row 3 has label 2");
    refused(far_lnnet_check(ctx, net, &x, negative, 0, 0, &out), FAR_ERR_ARG, "row 2 has label -1");
    must(far_lnnet_check(ctx, net, &x, LABELS, FAR_LNNET_QUAD, 200, &out));
    assert_int_equal(out.wrong, 0);
    far_net_destroy(net);
}

static void traces_want_the_shapes_they_fill(void **state)
{
    (void)state;
    enum { MOST = 64 };
    double room[ROWS * 2 * MOST];
    far_mat x = rows_of_points(), narrow = far_mat_view(points, ROWS, 1, FAR_F64);
    far_net *net = built(FAR_LNNET_DOUBLE);
    far_lnnet_shape shape;
    must(far_lnnet_describe(ctx, net, &shape));
    far_mat states = far_mat_view(room, ROWS, shape.layers + 1, FAR_F64);
    far_mat circle = far_mat_view(room, ROWS, 2 * shape.layers, FAR_F64);
    assert_int_equal(far_lnnet_trace(NULL, net, &x, 0, &states, NULL), FAR_ERR_ARG);
    refused(far_lnnet_trace(ctx, NULL, &x, 0, &states, NULL), FAR_ERR_ARG, "NULL");
    refused(far_lnnet_trace(ctx, net, &narrow, 0, &states, NULL), FAR_ERR_SHAPE, "1");
    refused(far_lnnet_trace(ctx, net, &x, -1, &states, NULL), FAR_ERR_ARG, "chain -1");
    refused(far_lnnet_trace(ctx, net, &x, shape.groups, &states, NULL), FAR_ERR_ARG,
            "counted from 0");
    refused(far_lnnet_trace(ctx, net, &x, 0, &narrow, NULL), FAR_ERR_SHAPE, "states");
    refused(far_lnnet_trace(ctx, net, &x, 0, NULL, &narrow), FAR_ERR_SHAPE, "circle");
    must(far_lnnet_trace(ctx, net, &x, 0, &states, NULL));
    must(far_lnnet_trace(ctx, net, &x, 0, NULL, &circle));
    for (int64_t i = 0; i < ROWS * shape.layers; i++) { /* on the unit circle */
        assert_true(fabs(hypot(room[2 * i], room[2 * i + 1]) - 1) < 1e-12);
    }
    must(far_net_set_metadata(ctx, net, "lnnet.precision", "half"));
    refused(far_lnnet_trace(ctx, net, &x, 0, NULL, &circle), FAR_ERR_FORMAT, "half");
    far_net_destroy(net);
}

/* A network of doubles, traced in each precision: the same places, but for rounding. */
static void traces_agree_in_every_precision(void **state)
{
    (void)state;
    enum { MOST = 64 };
    static const char *const NAMES[] = {NULL, "quad", "mpfr"};
    double places[3][ROWS * MOST], circles[3][ROWS * 2 * MOST];
    far_mat x = rows_of_points();
    far_net *net = built(FAR_LNNET_DOUBLE);
    far_lnnet_shape shape;
    far_lnnet_checked checked;
    must(far_lnnet_describe(ctx, net, &shape));
    for (int k = 0; k < 2 + far_lnnet_has_mpfr(); k++) {
        far_mat states = far_mat_view(places[k], ROWS, shape.layers + 1, FAR_F64);
        far_mat circle = far_mat_view(circles[k], ROWS, 2 * shape.layers, FAR_F64);
        must(far_net_set_metadata(ctx, net, "lnnet.precision", NAMES[k]));
        must(far_net_set_metadata(ctx, net, "lnnet.bits", NAMES[k] ? "160" : NULL));
        must(far_lnnet_trace(ctx, net, &x, 0, &states, &circle));
        must(far_lnnet_check(ctx, net, &x, LABELS, 0, 0, &checked));
        assert_int_equal(checked.wrong, 0);
        for (int64_t i = 0; i < ROWS * (shape.layers + 1); i++) {
            assert_true(fabs(places[k][i] - places[0][i]) < 1e-9);
        }
        for (int64_t i = 0; i < ROWS * 2 * shape.layers; i++) {
            assert_true(fabs(circles[k][i] - circles[0][i]) < 1e-9);
        }
    }
    far_net_destroy(net);
}

static void shattering_wants_points_that_differ(void **state)
{
    (void)state;
    double same[] = {0, 0, 1, 1, 0, 0}, far[] = {0, 0, 1, NAN, 2, 2};
    float narrow[6] = {0};
    far_shatter out;
    far_mat x = far_mat_view(same, 3, 2, FAR_F64), y = far_mat_view(far, 3, 2, FAR_F64);
    far_mat z = far_mat_view(narrow, 3, 2, FAR_F32), empty = far_mat_view(same, 3, 0, FAR_F64);
    far_mat none = x;
    none.data = NULL;
    refused(far_lnnet_shatter(ctx, 0, NULL, 1, &out), FAR_ERR_ARG, "0 layers");
    refused(far_lnnet_shatter(ctx, FAR_SHATTER_LAYERS_MOST + 1, NULL, 1, &out), FAR_ERR_ARG,
            "layers");
    refused(far_lnnet_shatter(ctx, 1, &x, 1, &out), FAR_ERR_VALUE, "rows 1 and 3 are the same");
    refused(far_lnnet_shatter(ctx, 1, &y, 1, &out), FAR_ERR_VALUE, "row 2, column 2 is nan");
    refused(far_lnnet_shatter(ctx, 1, &z, 1, &out), FAR_ERR_ARG, "float64");
    refused(far_lnnet_shatter(ctx, 2, &x, 1, &out), FAR_ERR_SHAPE, "2 layers shatter 4 points");
    refused(far_lnnet_shatter(ctx, 1, &empty, 1, &out), FAR_ERR_SHAPE, "3 x 0");
    refused(far_lnnet_shatter(ctx, 1, &none, 1, &out), FAR_ERR_ARG, "x");
    must(far_lnnet_shatter(ctx, 1, NULL, 1, &out));
    assert_int_equal(out.realised, out.labellings);
}

static void builders_want_rows_labels_and_options(void **state)
{
    (void)state;
    static const struct {
        int64_t groups, tries, bits, classes, rows, cols;
        far_status status;
        const char *part;
    } BAD[] = {
        {-1, 1, 0, 2, ROWS, INPUTS, FAR_ERR_ARG, "-1 groups"},
        {0, -1, 0, 2, ROWS, INPUTS, FAR_ERR_ARG, "-1 tries"},
        {0, 1, 3, 2, ROWS, INPUTS, FAR_ERR_ARG, "3 bits"},
        {0, 1, 1 << 30, 2, ROWS, INPUTS, FAR_ERR_ARG, "bits"},
        {0, 1, 0, 0, ROWS, INPUTS, FAR_ERR_ARG, "number of classes"},
        {0, 1, 0, INT32_MAX, ROWS, INPUTS, FAR_ERR_ARG, "number of classes"},
        {0, 1, 0, 2, 0, INPUTS, FAR_ERR_SHAPE, "x is 0 x 2"},
        {0, 1, 0, 2, ROWS, 0, FAR_ERR_SHAPE, "x is 5 x 0"},
    };
    far_net *net;
    far_lnnet_opts opts;
    for (int i = 0; i < COUNT(BAD); i++) {
        far_mat x = far_mat_view(points, BAD[i].rows, BAD[i].cols, FAR_F64);
        opts = (far_lnnet_opts){.size = sizeof opts};
        opts.groups = BAD[i].groups;
        opts.tries = BAD[i].tries;
        opts.bits = BAD[i].bits;
        refused(far_lnnet_build(ctx, &x, LABELS, BAD[i].classes, &opts, &net, NULL), BAD[i].status,
                BAD[i].part);
    }
    far_mat x = rows_of_points(), none = x;
    none.data = NULL;
    opts = (far_lnnet_opts){.size = sizeof opts};
    refused(far_lnnet_build(ctx, &x, NULL, 2, &opts, &net, NULL), FAR_ERR_ARG, "labels");
    refused(far_lnnet_build(ctx, &none, LABELS, 2, &opts, &net, NULL), FAR_ERR_ARG, "x");
    refused(far_lnnet_build(ctx, &x, LABELS, 2, NULL, &net, NULL), FAR_ERR_ARG, "sizeof(far_lnnet_opts)");
    refused(far_lnnet_build(ctx, &x, LABELS, 2, &opts, NULL, NULL), FAR_ERR_ARG, "out is NULL");
    opts.size = 1;
    refused(far_lnnet_build(ctx, &x, LABELS, 2, &opts, &net, NULL), FAR_ERR_ARG, "sizeof(far_lnnet_opts)");
}

/* Weights must be doubles; a range whose inverse is none is named by its column. */
static void a_range_that_is_too_small_is_named(void **state)
{
    (void)state;
    double tiny[ROWS * INPUTS];
    static const int32_t PRECISIONS[] = {FAR_LNNET_QUAD, FAR_LNNET_MPFR};
    for (int i = 0; i < ROWS * INPUTS; i++) {
        tiny[i] = i % INPUTS == 1 ? points[i] * 1e-305 : 7;
    }
    far_mat x = far_mat_view(tiny, ROWS, INPUTS, FAR_F64);
    for (int p = 0; p < (far_lnnet_has_mpfr() ? 2 : 1); p++) {
        far_net *net;
        far_lnnet_opts opts;
        opts = (far_lnnet_opts){.size = sizeof opts};
        opts.precision = PRECISIONS[p];
        refused(far_lnnet_build(ctx, &x, LABELS, CLASSES, &opts, &net, NULL), FAR_ERR_VALUE,
                "column 2 has a range of 5e-305");
    }
}

/* The next precision is the way out, where there is one; then the mode, or the data. */
static void a_failed_build_says_what_to_try(void **state)
{
    (void)state;
    enum { MANY = 40 };
    double line[MANY];
    int64_t labels[MANY];
    for (int i = 0; i < MANY; i++) {
        line[i] = i % 2 == 0 ? i : line[i - 1] * (1 + 4e-16) + 1e-300;
        labels[i] = i % 2;
    }
    far_mat x = far_mat_view(line, MANY, 1, FAR_F64);
    far_net *net;
    far_lnnet_opts opts;
    opts = (far_lnnet_opts){.size = sizeof opts};
    opts.tries = 2;
    opts.mode = FAR_LNNET_PAPER;
    opts.precision = FAR_LNNET_DOUBLE;
    refused(far_lnnet_build(ctx, &x, labels, CLASSES, &opts, &net, NULL), FAR_ERR_VALUE,
            "try a higher precision");
    if (far_lnnet_has_mpfr()) {
        opts.precision = FAR_LNNET_MPFR;
        opts.bits = 64;
        refused(far_lnnet_build(ctx, &x, labels, CLASSES, &opts, &net, NULL), FAR_ERR_VALUE,
                "try the mode merge");
        opts.mode = FAR_LNNET_MERGE;
        refused(far_lnnet_build(ctx, &x, labels, CLASSES, &opts, &net, NULL), FAR_ERR_VALUE,
                "try ");
    }
}

/* One class: a layer that folds nothing, in every precision. */
static void one_class_is_one_layer(void **state)
{
    (void)state;
    static const int64_t SAME[ROWS] = {0};
    static const int32_t PRECISIONS[] = {FAR_LNNET_DOUBLE, FAR_LNNET_QUAD, FAR_LNNET_MPFR};
    far_mat x = rows_of_points();
    for (int p = 0; p < COUNT(PRECISIONS) - !far_lnnet_has_mpfr(); p++) {
        for (int rows = 1; rows <= ROWS; rows += ROWS - 1) {
            far_lnnet_opts opts;
            far_lnnet_info info;
            far_lnnet_checked checked;
            far_net *net;
            x.rows = rows;
            opts = (far_lnnet_opts){.size = sizeof opts};
            opts.mode = FAR_LNNET_PAPER;
            opts.precision = PRECISIONS[p];
            must(far_lnnet_build(ctx, &x, SAME, CLASSES, &opts, &net, &info));
            must(far_lnnet_check(ctx, net, &x, SAME, 0, 0, &checked));
            assert_int_equal(info.layers, 1);
            assert_int_equal(checked.wrong, 0);
            must(far_lnnet_check(ctx, net, &x, LABELS, 0, 0, &checked));
            assert_int_equal(checked.wrong, rows / 2);
            far_net_destroy(net);
        }
    }
}

static far_status build_and_check(int32_t mode, int32_t precision, int64_t groups)
{
    far_mat x = rows_of_points();
    far_lnnet_opts opts;
    far_lnnet_checked checked;
    far_net *net = NULL;
    opts = (far_lnnet_opts){.size = sizeof opts};
    opts.mode = mode;
    opts.precision = precision;
    opts.groups = groups;
    far_status st = far_lnnet_build(ctx, &x, LABELS, CLASSES, &opts, &net, NULL);
    if (st == FAR_OK) {
        st = far_lnnet_check(ctx, net, &x, LABELS, precision, 0, &checked);
        assert_true(st != FAR_OK || checked.wrong == 0);
    }
    far_net_destroy(net);
    return st;
}

static void every_allocation_of_builders_can_fail(void **state)
{
    (void)state;
    static const int32_t MODES[] = {FAR_LNNET_PAPER, FAR_LNNET_MERGE, FAR_LNNET_RUNS};
    int last = far_lnnet_has_mpfr() ? FAR_LNNET_MPFR : FAR_LNNET_QUAD;
    for (int m = 0; m < 3 * (last + 1); m++) {
        int32_t mode = MODES[m % 3], precision = m / 3;
        int64_t groups = m % 2 && mode == FAR_LNNET_RUNS ? 2 : 0;
        far_status st = FAR_ERR_MEMORY;
        for (int64_t k = 0; st == FAR_ERR_MEMORY; k++) {
            int64_t before = test_heap.live_blocks;
            test_heap.calls = 0;
            test_heap.fail_at = k;
            st = build_and_check(mode, precision, groups);
            test_heap.fail_at = -1;
            assert_int_equal(test_heap.live_blocks, before);
        }
        must(st);
    }
}

/* Traces, checks and shattering, with every allocation failing in turn. */
static void every_allocation_can_fail(void **state)
{
    (void)state;
    far_mat x = rows_of_points();
    far_net *net = built(FAR_LNNET_QUAD);
    far_lnnet_shape shape;
    double room[ROWS * 64];
    must(far_lnnet_describe(ctx, net, &shape));
    far_mat states = far_mat_view(room, ROWS, shape.layers + 1, FAR_F64);
    for (int which = 0; which < 3; which++) {
        far_status st = FAR_ERR_MEMORY;
        for (int64_t k = 0; st == FAR_ERR_MEMORY; k++) {
            far_lnnet_checked checked;
            far_shatter shattered;
            int64_t before = test_heap.live_blocks;
            test_heap.calls = 0;
            test_heap.fail_at = k;
            if (which == 0) {
                st = far_lnnet_trace(ctx, net, &x, 0, &states, NULL);
            } else if (which == 1) {
                st = far_lnnet_check(ctx, net, &x, LABELS, FAR_LNNET_DOUBLE, 0, &checked);
            } else {
                st = far_lnnet_shatter(ctx, 1, NULL, 1, &shattered);
            }
            test_heap.fail_at = -1;
            assert_int_equal(test_heap.live_blocks, before);
        }
        must(st);
    }
    far_net_destroy(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(other_networks_are_named),
        TEST(shapes_are_told),
        TEST(metadata_of_the_precision_is_checked),
        TEST(a_precision_without_bits_is_refused),
        TEST(rows_that_no_network_tells_apart_are_refused),
        TEST(parameters_of_metadata_are_read_whole_or_not),
        TEST(checks_want_all_their_arguments),
        TEST(traces_want_the_shapes_they_fill),
        TEST(traces_agree_in_every_precision),
        TEST(shattering_wants_points_that_differ),
        TEST(builders_want_rows_labels_and_options),
        TEST(a_range_that_is_too_small_is_named),
        TEST(a_failed_build_says_what_to_try),
        TEST(one_class_is_one_layer),
        TEST(every_allocation_of_builders_can_fail),
        TEST(every_allocation_can_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
