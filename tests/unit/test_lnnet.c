/*
 * Networks that are built: every mode small, confirmed by far_net_eval and by a forward pass of our
 * own; how many layers; what is refused and how it is said; higher precision through a file; every
 * allocation fails in turn.
 */
#include <farfield/farfield.h>
#include <float.h>

#define TEST_THREADS 2
#include "harness.h"

#include "lnnet/lnnet_internal.h"

#define OWN_ROWS 300 /* that go through a pass of our own; of more, every tenth */

/* ---- points -------------------------------------------------------------------------------- */

typedef struct task {
    int64_t n, d, classes;
    double *x;
    int64_t *labels;
} task;

static uint64_t dice;

static double uniform(void)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return ((double)(dice >> 11) + 0.5) * 0x1p-53;
}

static double normal(void)
{
    double r = sqrt(-2 * log(uniform()));
    return r * cos(6.283185307179586 * uniform());
}

static task make_task(int64_t n, int64_t d, int64_t classes, uint64_t seed)
{
    task t = {n, d, classes, malloc((size_t)(n * d) * sizeof *t.x),
              malloc((size_t)n * sizeof *t.labels)};
    dice = seed + 12345;
    for (int64_t i = 0; i < n * d; i++) {
        t.x[i] = normal();
    }
    for (int64_t i = 0; i < n; i++) {
        t.labels[i] = (int64_t)(uniform() * (double)classes);
    }
    return t;
}

static void drop(task *t)
{
    free(t->x);
    free(t->labels);
}

static far_mat rows_of(const task *t)
{
    return far_mat_view(t->x, t->n, t->d, FAR_F64);
}

static far_lnnet_opts options(int32_t mode, int64_t groups)
{
    far_lnnet_opts o;
    o = (far_lnnet_opts){.size = sizeof o};
    o.mode = mode;
    o.groups = groups;
    return o;
}

/* ---- a forward pass of our own ------------------------------------------------------------- */

/* Another arithmetic: sums backwards, nothing fused, and what every operation gives moved by one
 * unit up or down at random, if so asked. */
typedef struct arithmetic {
    double eps;
    bool shaken;
} arithmetic;

static double rounded(const arithmetic *a, double value)
{
    volatile double kept = value; /* not fused with what follows */
    return a->shaken ? kept * (uniform() < 0.5 ? 1 + DBL_EPSILON : 1 - DBL_EPSILON) : kept;
}

static void plain_norm(const arithmetic *a, double *z, int64_t size)
{
    double mean = 0, square = 0;
    for (int64_t i = size - 1; i >= 0; i--) {
        mean = rounded(a, mean + z[i]);
    }
    mean = rounded(a, mean / (double)size);
    for (int64_t i = size - 1; i >= 0; i--) {
        z[i] = rounded(a, z[i] - mean);
        square = rounded(a, square + rounded(a, z[i] * z[i]));
    }
    double sigma = rounded(a, sqrt(rounded(a, square / (double)size) + a->eps));
    for (int64_t i = 0; i < size; i++) {
        z[i] = rounded(a, z[i] / sigma);
    }
}

/* out = f(x) for [dense(width) ln(groups)]xL dense(K), from the tensors alone. */
static void plain_forward(const arithmetic *a, far_net *net, int64_t groups, const double *x,
                          double *out)
{
    far_net_info info = far_net_describe(net);
    int64_t layers = info.tensors / 2, width = 3 * groups;
    double *in = malloc((size_t)(info.inputs + width) * sizeof *in);
    double *z = malloc((size_t)(info.outputs + width) * sizeof *z);
    memcpy(in, x, (size_t)info.inputs * sizeof *in);
    for (int64_t l = 0; l < layers; l++) {
        far_mat w = far_net_tensor(net, 2 * l).values, b = far_net_tensor(net, 2 * l + 1).values;
        for (int64_t r = w.rows - 1; r >= 0; r--) {
            z[r] = ((double *)b.data)[r];
            for (int64_t j = w.cols - 1; j >= 0; j--) {
                double term = rounded(a, ((double *)w.data)[r * w.cols + j] * in[j]);
                z[r] = term == 0 ? z[r] : rounded(a, z[r] + term);
            }
        }
        for (int64_t g = 0; l + 1 < layers && g < groups; g++) {
            plain_norm(a, z + 3 * g, 3);
        }
        memcpy(l + 1 < layers ? in : out, z, (size_t)w.rows * sizeof *z);
    }
    free(in);
    free(z);
}

static bool is_largest(const double *row, int64_t classes, int64_t own)
{
    for (int64_t k = 0; k < classes; k++) {
        if (k != own && !(row[own] > row[k])) {
            return false;
        }
    }
    return true;
}

/* By far_net_eval and in arithmetics of our own. */
static void assert_classifies(far_net *net, const task *t, int64_t groups)
{
    static const arithmetic OTHERS[] = {{0, false}, {1e-5, false}, {0, true}};
    far_mat x = rows_of(t);
    double *all = malloc((size_t)(t->n * t->classes) * sizeof *all);
    double *row = malloc((size_t)t->classes * sizeof *row);
    far_mat out = far_mat_view(all, t->n, t->classes, FAR_F64);
    assert_int_equal(far_net_eval(ctx, net, &x, &out), FAR_OK);
    for (int64_t i = 0; i < t->n; i++) {
        assert_true(is_largest(all + i * t->classes, t->classes, t->labels[i]));
        for (size_t k = 0; k < 3 && (i < OWN_ROWS || i % 10 == 0); k++) { /* it is slow */
            plain_forward(&OTHERS[k], net, groups, t->x + i * t->d, row);
            assert_true(is_largest(row, t->classes, t->labels[i]));
        }
    }
    free(all);
    free(row);
}

/* Builds, confirms, and gives what is known about it. */
static far_lnnet_info build_and_confirm(const task *t, const far_lnnet_opts *o)
{
    far_net *net;
    far_lnnet_info info;
    far_lnnet_checked checked;
    far_mat x = rows_of(t);
    far_status st = far_lnnet_build(ctx, &x, t->labels, t->classes, o, &net, &info);
    if (st != FAR_OK) {
        print_message("%s\n", far_ctx_message(ctx));
    }
    assert_int_equal(st, FAR_OK);
    assert_int_equal(far_lnnet_check(ctx, net, &x, t->labels, 0, 0, &checked), FAR_OK);
    assert_int_equal(checked.wrong, 0);
    assert_int_equal(checked.first_wrong, -1);
    assert_true(checked.margin == info.margin);
    assert_int_equal(checked.precision, info.precision);
    assert_true(info.robust && info.noise <= FAR_LNNET_NOISE_MOST);
    if (info.precision == FAR_LNNET_DOUBLE) {
        assert_classifies(net, t, info.groups);
    }
    far_net_destroy(net);
    return info;
}

/* ---- modes --------------------------------------------------------------------------------- */

static void every_mode_classifies(void **state)
{
    (void)state;
    static const struct {
        int32_t mode;
        int64_t n, d, classes, groups;
    } CASES[] = {{FAR_LNNET_PAPER, 41, 3, 2, 1},   {FAR_LNNET_PAPER, 53, 2, 5, 1},
                 {FAR_LNNET_MERGE, 101, 7, 2, 1},  {FAR_LNNET_MERGE, 151, 5, 3, 1},
                 {FAR_LNNET_MERGE, 113, 3, 11, 1}, {FAR_LNNET_RUNS, 211, 5, 2, 1},
                 {FAR_LNNET_RUNS, 101, 1, 2, 1},   {FAR_LNNET_AUTO, 97, 2, 7, 7},
                 {FAR_LNNET_AUTO, 97, 5, 3, 13},   {FAR_LNNET_RUNS, 103, 3, 2, 5},
                 {FAR_LNNET_AUTO, 61, 3, 2, 1},    {FAR_LNNET_AUTO, 67, 13, 4, 1}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        task t = make_task(CASES[i].n, CASES[i].d, CASES[i].classes, i);
        far_lnnet_opts o = options(CASES[i].mode, CASES[i].groups);
        far_lnnet_info info = build_and_confirm(&t, &o);
        assert_int_equal(info.precision, FAR_LNNET_DOUBLE);
        assert_true(info.robust);
        assert_int_equal(info.width, 3 * CASES[i].groups);
        assert_int_equal(info.points, t.n);
        assert_true(info.gap > 0 && info.final_gap >= info.gap);
        if (CASES[i].mode != FAR_LNNET_AUTO) {
            assert_int_equal(info.mode, CASES[i].mode);
        }
        if (CASES[i].groups == 1) {
            assert_true(info.layers <= t.n - t.classes);
            assert_true(info.margin > 0 && info.margin <= 0.5);
        } else {
            assert_true(info.margin > 0.99);
        }
        drop(&t);
    }
}

static void runs_take_half_as_many_layers_as_points(void **state)
{
    (void)state;
    task t = make_task(2000, 11, 2, 3);
    far_lnnet_opts o = options(FAR_LNNET_AUTO, 1);
    far_lnnet_info info = build_and_confirm(&t, &o);
    assert_int_equal(info.mode, FAR_LNNET_RUNS);
    assert_int_equal(info.precision, FAR_LNNET_DOUBLE);
    assert_true(info.layers <= 2000 / 2 + 2);
    drop(&t);
}

static void ten_classes_merge_in_every_seed(void **state)
{
    (void)state;
    static const int64_t POINTS[] = {400, 700, 1300};
    for (uint64_t seed = 0; seed < (only_watched() ? 1 : 3); seed++) {
        task t = make_task(POINTS[seed], 5, 10, seed);
        far_lnnet_opts o = options(FAR_LNNET_AUTO, 1);
        o.seed = seed;
        far_lnnet_info info = build_and_confirm(&t, &o);
        assert_int_equal(info.precision, FAR_LNNET_DOUBLE);
        assert_int_equal(info.mode, FAR_LNNET_MERGE);
        assert_true(2 * info.layers <= 3 * (t.n - t.classes));
        drop(&t);
    }
}

/* 2 m (1 - 1 / K) / g runs for a chain, or so. */
static void groups_make_it_shallow(void **state)
{
    (void)state;
    task t = make_task(700, 5, 10, 1);
    far_lnnet_opts o = options(FAR_LNNET_AUTO, 20);
    far_lnnet_info info = build_and_confirm(&t, &o);
    assert_int_equal(info.width, 60);
    assert_true(info.layers < 2 * 700 / 20 + 15);
    drop(&t);
}

static void seeds_and_threads(void **state)
{
    (void)state;
    task t = make_task(83, 3, 5, 9);
    far_mat x = rows_of(&t);
    far_ctx *alone = context_with(1);
    far_lnnet_opts o = options(FAR_LNNET_AUTO, 7);
    far_net *a, *b, *c;
    assert_int_equal(far_lnnet_build(ctx, &x, t.labels, 5, &o, &a, NULL), FAR_OK);
    assert_int_equal(far_lnnet_build(alone, &x, t.labels, 5, &o, &b, NULL), FAR_OK);
    o.seed = 1;
    assert_int_equal(far_lnnet_build(ctx, &x, t.labels, 5, &o, &c, NULL), FAR_OK);
    far_mat pa = far_net_parameters(a), pb = far_net_parameters(b), pc = far_net_parameters(c);
    assert_int_equal(pa.cols, pb.cols);
    assert_memory_equal(pa.data, pb.data, (size_t)pa.cols * sizeof(double));
    assert_true(pc.cols != pa.cols ||
                memcmp(pa.data, pc.data, (size_t)pa.cols * sizeof(double)) != 0);
    far_net_destroy(a);
    far_net_destroy(b);
    far_net_destroy(c);
    far_ctx_destroy(alone);
    drop(&t);
}

/* ---- odd data ------------------------------------------------------------------------------ */

/* Symmetric about every middle: what the rule of the paper confuses. */
static void the_paper_avoids_confusion(void **state)
{
    (void)state;
    double x[] = {0, 1, 2, 3, 4, 5, 6};
    int64_t labels[] = {0, 1, 2, 3, 4, 5, 0};
    task t = {7, 1, 6, x, labels};
    far_lnnet_opts o = options(FAR_LNNET_PAPER, 1);
    far_lnnet_info info = build_and_confirm(&t, &o);
    assert_true(info.confusions >= 1);
    assert_true(info.layers <= 7 - 6 + 1);
}

static void lattices_and_alternating_labels(void **state)
{
    (void)state;
    task t = make_task(121, 2, 3, 2);
    for (int64_t i = 0; i < 121; i++) {
        t.x[2 * i] = (double)(i % 11);
        t.x[2 * i + 1] = (double)(i / 11);
    }
    far_lnnet_opts o = options(FAR_LNNET_AUTO, 1);
    build_and_confirm(&t, &o);
    drop(&t);
    t = make_task(101, 1, 2, 2);
    for (int64_t i = 0; i < 101; i++) {
        t.x[i] = (double)i;
        t.labels[i] = i % 2;
    }
    far_lnnet_info info = build_and_confirm(&t, &o);
    assert_int_equal(info.layers, 101 - 2);
    o.mode = FAR_LNNET_MERGE;
    build_and_confirm(&t, &o);
    drop(&t);
}

static void scales_do_not_matter(void **state)
{
    (void)state;
    static const double SCALES[][3] = {
        {1e150, 1e150, 1e150}, {1e-150, 1e-150, 1e-150}, {1e100, 1, 1e-100}};
    for (int s = 0; s < 3; s++) {
        task t = make_task(61, 3, 2, 7);
        for (int64_t i = 0; i < t.n * 3; i++) {
            t.x[i] *= SCALES[s][i % 3];
        }
        far_lnnet_opts o = options(FAR_LNNET_AUTO, 1);
        far_lnnet_info info = build_and_confirm(&t, &o);
        assert_int_equal(info.precision, FAR_LNNET_DOUBLE);
        drop(&t);
    }
}

static void small_and_degenerate_data(void **state)
{
    (void)state;
    double x[] = {3, 7, 3, 8, 3, 9, 3, 7, 3, 5};
    int64_t labels[] = {1, 1, 0, 1, 4};
    far_lnnet_opts o = options(FAR_LNNET_AUTO, 1);
    task one_point = {1, 2, 3, x, labels};
    far_lnnet_info info = build_and_confirm(&one_point, &o);
    assert_int_equal(info.layers, 1);
    assert_true(info.margin == 1);
    task copies = {5, 2, 6, x, labels}; /* rows 1 and 4; a constant column; classes without a row */
    info = build_and_confirm(&copies, &o);
    assert_int_equal(info.points, 4);
    o.groups = 3;
    build_and_confirm(&copies, &o);
    int64_t zeros[5] = {0};
    task one_class = {5, 2, 1, x, zeros};
    info = build_and_confirm(&one_class, &o);
    assert_true(isinf(info.margin));
    one_class.classes = 3;
    build_and_confirm(&one_class, &o);
    o.groups = 7; /* more chains than points */
    build_and_confirm(&one_class, &o);
    one_class.n = 1;
    info = build_and_confirm(&one_class, &o);
    assert_true(info.margin > 2 * 7 + 1 - 2e-3); /* every chain has the point, and votes for it */
    build_and_confirm(&copies, &o);
    o.groups = 0;
    build_and_confirm(&one_class, &o);
}

static void float32_rows(void **state)
{
    (void)state;
    task t = make_task(53, 3, 3, 5);
    float *narrow = malloc((size_t)(53 * 3) * sizeof *narrow);
    for (int i = 0; i < 53 * 3; i++) {
        narrow[i] = (float)t.x[i];
    }
    far_mat x = far_mat_view(narrow, 53, 3, FAR_F32);
    far_lnnet_opts o = options(FAR_LNNET_AUTO, 1);
    far_net *net;
    far_lnnet_checked checked;
    assert_int_equal(far_lnnet_build(ctx, &x, t.labels, 3, &o, &net, NULL), FAR_OK);
    assert_int_equal(far_lnnet_check(ctx, net, &x, t.labels, FAR_LNNET_QUAD, 0, &checked), FAR_OK);
    assert_int_equal(checked.wrong, 0);
    assert_int_equal(checked.bits, 113);
    far_net_destroy(net);
    free(narrow);
    drop(&t);
}

/* ---- refusals ------------------------------------------------------------------------------ */

static void refuses(const task *t, const far_lnnet_opts *o, far_status status, const char *text)
{
    far_net *net = (far_net *)(uintptr_t)1;
    far_mat x = rows_of(t);
    assert_int_equal(far_lnnet_build(ctx, &x, t->labels, t->classes, o, &net, NULL), status);
    assert_null(net);
    if (!strstr(far_ctx_message(ctx), text)) {
        fail_msg("'%s' is not in '%s'", text, far_ctx_message(ctx));
    }
}

static void bad_data_is_refused_with_its_place(void **state)
{
    (void)state;
    task t = make_task(23, 3, 4, 1);
    far_lnnet_opts o = options(FAR_LNNET_AUTO, 1);
    t.x[3 * 6 + 1] = NAN;
    refuses(&t, &o, FAR_ERR_VALUE, "row 7, column 2 is nan");
    t.x[3 * 6 + 1] = -INFINITY;
    refuses(&t, &o, FAR_ERR_VALUE, "row 7, column 2 is -inf");
    memcpy(t.x + 3 * 6, t.x + 3 * 17, 3 * sizeof *t.x);
    t.labels[6] = 2;
    t.labels[17] = 1;
    refuses(&t, &o, FAR_ERR_VALUE, "rows 7 and 18 are identical, but their labels are 2 and 1");
    t.x[18] = 0.5;
    t.labels[4] = 4;
    refuses(&t, &o, FAR_ERR_ARG, "row 5 has label 4; classes are 0 to 3");
    drop(&t);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    task t = make_task(23, 3, 4, 1);
    far_lnnet_opts o = options(FAR_LNNET_RUNS, 1);
    refuses(&t, &o, FAR_ERR_ARG, "runs takes two classes at a time");
    o = options(FAR_LNNET_AUTO, 3);
    refuses(&t, &o, FAR_ERR_ARG, "3 groups are too few for 4 classes: take one, or at least 4");
    o = options(FAR_LNNET_MERGE, 5);
    refuses(&t, &o, FAR_ERR_ARG, "not merge; use mode auto or runs");
    o = options(7, 1);
    refuses(&t, &o, FAR_ERR_ARG, "mode 7");
    o = options(FAR_LNNET_AUTO, 1);
    o.precision = 9;
    refuses(&t, &o, FAR_ERR_ARG, "precision 9");
    o = options(FAR_LNNET_AUTO, 1);
    o.tries = -1;
    refuses(&t, &o, FAR_ERR_ARG, "-1 tries");
    o = options(FAR_LNNET_AUTO, 1);
    o.bits = 3;
    refuses(&t, &o, FAR_ERR_ARG, "3 bits");
    o.size = 0;
    refuses(&t, &o, FAR_ERR_ARG, "sizeof(far_lnnet_opts)");
    drop(&t);
}

/* Two points of different classes closer than double can tell on any line. */
static void close_points_need_more_precision(void **state)
{
    (void)state;
    task t = make_task(31, 2, 2, 4);
    t.x[2] = t.x[0] * (1 + 4 * DBL_EPSILON);
    t.x[3] = t.x[1];
    t.labels[0] = 0;
    t.labels[1] = 1;
    far_lnnet_opts o = options(FAR_LNNET_AUTO, 1);
    far_lnnet_info info = build_and_confirm(&t, &o);
    assert_int_equal(info.precision, FAR_LNNET_QUAD);
    o.precision = FAR_LNNET_DOUBLE;
    refuses(&t, &o, FAR_ERR_VALUE, "try a higher precision");
    t.x[2] = t.x[0] + 1e-9; /* but this near is nothing special */
    o.precision = FAR_LNNET_PRECISION_AUTO;
    info = build_and_confirm(&t, &o);
    assert_int_equal(info.precision, FAR_LNNET_DOUBLE);
    drop(&t);
}

/* Columns of points of one height: the search, in double, sees each as one number. */
static void points_that_double_does_not_tell_apart(void **state)
{
    (void)state;
    task t = make_task(7, 2, 3, 4);
    for (int64_t i = 0; i < t.n; i++) {
        t.x[2 * i] = (double)(i / 2);
        t.x[2 * i + 1] = (double)(i % 2) * 1e-19;
    }
    t.x[1] = 1; /* else that is the scale of the column */
    far_lnnet_opts o = options(FAR_LNNET_MERGE, 1);
    for (int32_t p = FAR_LNNET_QUAD; p <= FAR_LNNET_QUAD + far_lnnet_has_mpfr(); p++) {
        o.precision = p;
        o.bits = p == FAR_LNNET_MPFR ? 300 : 0;
        assert_int_equal(build_and_confirm(&t, &o).precision, p);
    }
    drop(&t);
}

/* The same folds, whatever they are computed in. */
static void precisions_agree(void **state)
{
    (void)state;
    task t = make_task(41, 3, 3, 9);
    far_mat x = rows_of(&t);
    double *s = malloc(3 * 41 * 42 * sizeof *s);
    for (int p = 0; p < 2 + far_lnnet_has_mpfr(); p++) {
        far_lnnet_opts o = options(FAR_LNNET_PAPER, 1);
        far_lnnet_info info;
        far_net *net;
        o.precision = FAR_LNNET_DOUBLE + p;
        assert_int_equal(far_lnnet_build(ctx, &x, t.labels, 3, &o, &net, &info), FAR_OK);
        far_mat states = far_mat_view(s + p * 41 * 42, 41, info.layers + 1, FAR_F64);
        assert_int_equal(far_lnnet_trace(ctx, net, &x, 0, &states, NULL), FAR_OK);
        for (int64_t i = 0; i < 41 * states.cols; i++) {
            assert_true(fabs(s[p * 41 * 42 + i] - s[i]) < 1e-9);
        }
        far_net_destroy(net);
    }
    free(s);
    drop(&t);
}

/* ---- precision ----------------------------------------------------------------------------- */

/* Saved, loaded and checked in its own precision; the rounded tensors alone are wrong. */
static void through_a_file(const task *t, const far_lnnet_opts *o, int32_t precision)
{
    char path[] = "/tmp/test_lnnet_XXXXXX";
    far_net *net, *back;
    far_lnnet_info info;
    far_lnnet_checked checked;
    far_mat x = rows_of(t);
    close(mkstemp(path));
    assert_int_equal(far_lnnet_build(ctx, &x, t->labels, t->classes, o, &net, &info), FAR_OK);
    assert_int_equal(info.precision, precision);
    assert_int_equal(far_net_save(ctx, net, path), FAR_OK);
    assert_int_equal(far_net_load(ctx, path, NULL, &back), FAR_OK);
    assert_int_equal(far_lnnet_check(ctx, back, &x, t->labels, 0, 0, &checked), FAR_OK);
    assert_int_equal(checked.wrong, 0);
    assert_int_equal(checked.bits, info.bits);
    assert_true(checked.margin == info.margin);
    assert_int_equal(far_lnnet_check(ctx, back, &x, t->labels, FAR_LNNET_DOUBLE, 0, &checked),
                     FAR_OK);
    assert_true(checked.wrong > 0 && checked.first_wrong >= 0 && checked.margin <= 0);
    assert_int_equal(far_net_set_metadata(ctx, back, "lnnet.parameters", "1 2 x"), FAR_OK);
    assert_int_equal(far_lnnet_check(ctx, back, &x, t->labels, 0, 0, &checked), FAR_ERR_FORMAT);
    assert_int_equal(far_net_set_metadata(ctx, back, "lnnet.bits", "many"), FAR_OK);
    assert_int_equal(far_lnnet_check(ctx, back, &x, t->labels, 0, 0, &checked), FAR_ERR_FORMAT);
    far_net_destroy(net);
    far_net_destroy(back);
    unlink(path);
}

static void the_paper_goes_beyond_double(void **state)
{
    (void)state;
    far_lnnet_opts o = options(FAR_LNNET_PAPER, 1);
    task t = make_task(223, 3, 3, 6);
    through_a_file(&t, &o, FAR_LNNET_QUAD);
    drop(&t);
    t = make_task(167, 3, 2, 6);
    o.precision = FAR_LNNET_MPFR;
    if (far_lnnet_has_mpfr()) {
        through_a_file(&t, &o, FAR_LNNET_MPFR);
    } else {
        refuses(&t, &o, FAR_ERR_ARG, "without MPFR");
    }
    drop(&t);
}

static void other_modes_in_every_precision(void **state)
{
    (void)state;
    for (int32_t p = FAR_LNNET_DOUBLE; p <= FAR_LNNET_QUAD + far_lnnet_has_mpfr(); p++) {
        task t = make_task(47, 2, 3, 8);
        far_lnnet_opts o = options(FAR_LNNET_MERGE, 1);
        o.precision = p;
        assert_int_equal(build_and_confirm(&t, &o).precision, p);
        o = options(FAR_LNNET_AUTO, 5);
        o.precision = p;
        assert_int_equal(build_and_confirm(&t, &o).precision, p);
        drop(&t);
    }
}

/* ---- looking at it ------------------------------------------------------------------------- */

static void trace_folds(int32_t precision)
{
    task t = make_task(29, 3, 2, 3);
    far_mat x = rows_of(&t);
    far_lnnet_opts o = options(FAR_LNNET_AUTO, 1);
    o.precision = precision;
    far_net *net;
    far_lnnet_info info;
    far_lnnet_shape shape;
    assert_int_equal(far_lnnet_build(ctx, &x, t.labels, 2, &o, &net, &info), FAR_OK);
    assert_int_equal(far_lnnet_describe(ctx, net, &shape), FAR_OK);
    assert_int_equal(shape.layers, info.layers);
    assert_int_equal(shape.mode, FAR_LNNET_RUNS);
    int64_t cols = info.layers + 1;
    double *s = malloc((size_t)(29 * cols) * sizeof *s);
    double *c = malloc((size_t)(29 * 2 * info.layers) * sizeof *c);
    far_mat states = far_mat_view(s, 29, cols, FAR_F64);
    far_mat circle = far_mat_view(c, 29, 2 * info.layers, FAR_F64);
    assert_int_equal(far_lnnet_trace(ctx, net, &x, 0, &states, &circle), FAR_OK);
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    for (int64_t i = 0; i < 29; i++) {
        for (int64_t l = 0; l < info.layers; l++) {
            const double *place = c + (i * info.layers + l) * 2;
            assert_true(fabs(hypot(place[0], place[1]) - 1) < 1e-13);
            assert_true(fabs(s[i * cols + l + 1] - place[1]) < 1e-13);
        }
        double last = s[i * cols + info.layers];
        low[t.labels[i]] = fmin(low[t.labels[i]], last);
        high[t.labels[i]] = fmax(high[t.labels[i]], last);
    }
    double between = fmax(low[0] - high[1], low[1] - high[0]);
    assert_true(fabs(between * sqrt(2) - info.final_gap) < 1e-9);
    assert_int_equal(far_lnnet_trace(ctx, net, &x, 1, &states, NULL), FAR_ERR_ARG);
    states.cols--;
    assert_int_equal(far_lnnet_trace(ctx, net, &x, 0, &states, NULL), FAR_ERR_SHAPE);
    far_net_destroy(net);
    free(s);
    free(c);
    drop(&t);
}

static void traces_follow_the_folds(void **state)
{
    (void)state;
    for (int32_t p = FAR_LNNET_DOUBLE; p <= FAR_LNNET_QUAD + far_lnnet_has_mpfr(); p++) {
        trace_folds(p);
    }
}

static void trace_votes(int32_t precision)
{
    task t = make_task(37, 3, 3, 3);
    far_mat x = rows_of(&t);
    far_lnnet_opts o = options(FAR_LNNET_AUTO, 3);
    o.precision = precision;
    far_net *net;
    far_lnnet_info info;
    assert_int_equal(far_lnnet_build(ctx, &x, t.labels, 3, &o, &net, &info), FAR_OK);
    int64_t cols = info.layers + 1;
    double *s = malloc((size_t)(37 * cols) * sizeof *s);
    far_mat states = far_mat_view(s, 37, cols, FAR_F64);
    for (int64_t chain = 0; chain < 3; chain++) {
        int64_t own = -1; /* which class a chain votes for is not promised */
        assert_int_equal(far_lnnet_trace(ctx, net, &x, chain, &states, NULL), FAR_OK);
        for (int64_t i = 0; i < 37; i++) {
            own = s[i * cols + info.layers] > 0 ? t.labels[i] : own;
        }
        assert_true(own >= 0);
        for (int64_t i = 0; i < 37; i++) {
            double vote = s[i * cols + info.layers];
            assert_true(fabs(vote) > 0.999);
            assert_int_equal(vote > 0, t.labels[i] == own);
        }
    }
    far_net_destroy(net);
    free(s);
    drop(&t);
}

static void votes_are_traced_by_their_abscissa(void **state)
{
    (void)state;
    for (int32_t p = FAR_LNNET_DOUBLE; p <= FAR_LNNET_QUAD + far_lnnet_has_mpfr(); p++) {
        trace_votes(p);
    }
}

static void other_networks_are_not_traced(void **state)
{
    (void)state;
    far_net_opts o;
    far_net *net;
    far_lnnet_shape shape;
    far_net_opts_init(&o);
    o.inputs = 2;
    assert_int_equal(far_net_create(ctx, "dense(3) ln relu dense(2)", &o, &net), FAR_OK);
    assert_int_equal(far_lnnet_describe(ctx, net, &shape), FAR_ERR_ARG);
    far_net_destroy(net);
}

static void names(void **state)
{
    (void)state;
    assert_string_equal(far_lnnet_mode_name(FAR_LNNET_MERGE), "merge");
    assert_string_equal(far_lnnet_mode_name(-1), "unknown");
    assert_string_equal(far_lnnet_precision_name(FAR_LNNET_QUAD), "quad");
    assert_string_equal(far_lnnet_precision_name(9), "unknown");
}

/* ---- interruptions ------------------------------------------------------------------------- */

static void cancelling_stops_it(void **state)
{
    (void)state;
    task t = make_task(400, 3, 2, 3);
    far_mat x = rows_of(&t);
    far_lnnet_opts o = options(FAR_LNNET_AUTO, 1);
    far_net *net;
    far_ctx *two = ctx;
    ctx = context_with(1); /* of two the other may do all the work */
    for (int64_t at = 1; at <= 3; at++) {
        ear.calls = 0;
        ear.stop_at = at;
        assert_int_equal(far_lnnet_build(ctx, &x, t.labels, 2, &o, &net, NULL), FAR_ERR_CANCELLED);
        assert_null(net);
    }
    ear.stop_at = 0;
    far_ctx_destroy(ctx);
    ctx = two;
    drop(&t);
}

static void every_allocation_can_fail(void **state)
{
    (void)state;
    static const struct {
        int32_t mode, precision;
        int64_t groups;
    } CASES[] = {{FAR_LNNET_AUTO, FAR_LNNET_DOUBLE, 1},
                 {FAR_LNNET_AUTO, FAR_LNNET_QUAD, 3},
                 {FAR_LNNET_PAPER, FAR_LNNET_MPFR, 1},
                 {FAR_LNNET_MERGE, FAR_LNNET_MPFR, 1}};
    task t = make_task(13, 2, 3, 3);
    far_mat x = rows_of(&t);
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        far_lnnet_opts o = options(CASES[i].mode, CASES[i].groups);
        far_status st = FAR_ERR_MEMORY;
        o.precision = CASES[i].precision;
        if (o.precision == FAR_LNNET_MPFR && !far_lnnet_has_mpfr()) {
            continue;
        }
        for (int64_t k = 0; st == FAR_ERR_MEMORY; k++) {
            far_net *net;
            far_lnnet_checked checked;
            int64_t before = test_heap.live_blocks;
            test_heap.calls = 0;
            test_heap.fail_at = k;
            st = far_lnnet_build(ctx, &x, t.labels, 3, &o, &net, NULL);
            if (st == FAR_OK) {
                st = far_lnnet_check(ctx, net, &x, t.labels, 0, 0, &checked);
            } else {
                assert_null(net);
            }
            test_heap.fail_at = -1;
            far_net_destroy(net);
            assert_int_equal(test_heap.live_blocks, before);
        }
        assert_int_equal(st, FAR_OK);
    }
    drop(&t);
}

/* ---- depth --------------------------------------------------------------------------------- */

static void deep_networks_are_quick(void **state)
{
    (void)state;
    char path[] = "/tmp/test_lnnet_XXXXXX";
    far_net_opts o;
    far_net *net, *back;
    double x[6] = {1, 2, 3, 4, 5, 6}, a[4], b[4];
    far_mat in = far_mat_view(x, 2, 3, FAR_F64);
    far_mat first = far_mat_view(a, 2, 2, FAR_F64), second = far_mat_view(b, 2, 2, FAR_F64);
    close(mkstemp(path));
    far_net_opts_init(&o);
    o.inputs = 3;
    assert_int_equal(far_net_create(ctx, "[dense(3) ln]x20000 dense(2)", &o, &net), FAR_OK);
    assert_int_equal(far_net_save(ctx, net, path), FAR_OK);
    assert_int_equal(far_net_load(ctx, path, NULL, &back), FAR_OK);
    assert_int_equal(far_net_eval(ctx, net, &in, &first), FAR_OK);
    assert_int_equal(far_net_eval(ctx, back, &in, &second), FAR_OK);
    for (int64_t i = 0; i < far_net_describe(net).tensors; i++) {
        far_net_tensor_info t = far_net_tensor(net, i), u = far_net_tensor(back, i);
        assert_string_equal(t.name, u.name);
        assert_int_equal(t.parameter, u.parameter);
    }
    assert_null(far_net_tensor(net, 40002).name);
    assert_null(far_net_tensor(net, -1).name);
    far_net_destroy(net);
    far_net_destroy(back);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(every_mode_classifies),
                                       TEST(runs_take_half_as_many_layers_as_points),
                                       TEST(ten_classes_merge_in_every_seed),
                                       TEST(groups_make_it_shallow),
                                       TEST(seeds_and_threads),
                                       TEST(the_paper_avoids_confusion),
                                       TEST(lattices_and_alternating_labels),
                                       TEST(scales_do_not_matter),
                                       TEST(small_and_degenerate_data),
                                       TEST(float32_rows),
                                       TEST(bad_data_is_refused_with_its_place),
                                       TEST(what_cannot_be_is_refused),
                                       TEST(close_points_need_more_precision),
                                       TEST(points_that_double_does_not_tell_apart),
                                       TEST(precisions_agree),
                                       TEST(the_paper_goes_beyond_double),
                                       TEST(other_modes_in_every_precision),
                                       TEST(traces_follow_the_folds),
                                       TEST(votes_are_traced_by_their_abscissa),
                                       TEST(other_networks_are_not_traced),
                                       TEST(names),
                                       TEST(cancelling_stops_it),
                                       TEST(every_allocation_can_fail),
                                       TEST(deep_networks_are_quick)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
