/*
 * The kernel interface: what is refused and how it is said, and that results do not depend on
 * tiles, strides, threads, instruction sets or on which outputs are wanted.
 */
#include "../../src/kernel/supremum.h"
#include "../../src/kernel/tile.h"

#include <farfield/farfield.h>
#include <float.h>

#include "harness.h"

#define SENTINEL (-123.25)
#define ULP DBL_EPSILON

/* ---- kernels and matrices without ceremony ---- */

static far_status try_kernel(const char *text, far_param param, far_kernel **out)
{
    far_kernel_opts opts;
    opts = (far_kernel_opts){.size = sizeof opts};
    opts.param = (int32_t)param;
    return far_kernel_create(ctx, text, &opts, out);
}

static far_kernel *kernel_of(const char *text, far_param param)
{
    far_kernel *k;
    if (try_kernel(text, param, &k) != FAR_OK) {
        fail_msg("%s: %s", text, far_ctx_message(ctx));
    }
    return k;
}

static double get(const far_mat *m, int64_t i, int64_t j)
{
    const void *row = far_mat_row(m, i);
    return m->dtype == FAR_F32 ? ((const float *)row)[j] : ((const double *)row)[j];
}

static void set(const far_mat *m, int64_t i, int64_t j, double value)
{
    void *row = far_mat_row(m, i);
    if (m->dtype == FAR_F32) {
        ((float *)row)[j] = (float)value;
    } else {
        ((double *)row)[j] = value;
    }
}

static void fill_with(const far_mat *m, double value)
{
    for (int64_t i = 0; i < m->rows; i++) {
        for (int64_t j = 0; j < m->ld; j++) {
            set(m, i, j, value);
        }
    }
}

/* Every element, those behind the columns too, holds value. The test frees it. */
static far_mat make_mat_ld(int64_t rows, int64_t cols, int64_t ld, far_dtype dtype, double value)
{
    size_t bytes = (size_t)(rows * ld) * far_dtype_size(dtype);
    far_mat m = far_mat_view(malloc(bytes ? bytes : 1), rows, cols, dtype);
    assert_non_null(m.data);
    m.ld = ld;
    fill_with(&m, value);
    return m;
}

static far_mat make_mat(int64_t rows, int64_t cols, far_dtype dtype)
{
    return make_mat_ld(rows, cols, cols, dtype, SENTINEL);
}

static void free_mat(far_mat *m)
{
    free(m->data);
    *m = (far_mat){0};
}

static bool same_bits(const far_mat *a, const far_mat *b)
{
    size_t bytes = (size_t)a->cols * far_dtype_size(a->dtype);
    for (int64_t i = 0; i < a->rows; i++) {
        if (memcmp(far_mat_row(a, i), far_mat_row(b, i), bytes) != 0) {
            return false;
        }
    }
    return a->rows == b->rows && a->cols == b->cols;
}

static void assert_all(const far_mat *m, double value)
{
    for (int64_t i = 0; i < m->rows; i++) {
        for (int64_t j = 0; j < m->cols; j++) {
            assert_true(get(m, i, j) == value);
        }
    }
}

/* In (-1, 1), the same every time, and a float. */
static double noise(uint64_t counter)
{
    uint64_t z = (counter + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)(float)((double)(int64_t)(z ^ (z >> 31)) * 0x1p-63);
}

/* Row i is random, or the double of row i - 1 by 1, -1, 1024 or 0. */
static void fill_points(const far_mat *x, uint64_t seed)
{
    for (int64_t i = 0; i < x->rows; i++) {
        double by = i % 11 == 3    ? 1
                    : i % 11 == 5  ? -1
                    : i % 11 == 7  ? 1024
                    : i % 19 == 10 ? 0
                                   : NAN;
        for (int64_t j = 0; j < x->cols; j++) {
            uint64_t counter = seed * 1000003 + (uint64_t)(i * x->cols + j);
            set(x, i, j, isnan(by) ? noise(counter) : by * get(x, i - 1, j));
        }
    }
}

static far_mat make_points(int64_t n, int64_t d, far_dtype dtype, uint64_t seed)
{
    far_mat x = make_mat(n, d, dtype);
    fill_points(&x, seed);
    return x;
}

/* Sanitizers make a pair of points some ten times dearer. There fewer points do where their number
 * is not what is tested: bits are compared by the optimised build, memory at the borders of tiles
 * is watched all the same. */
static int64_t points_for(int64_t usual, int64_t sanitized)
{
#ifdef __SANITIZE_ADDRESS__
    (void)usual;
    return sanitized;
#else
    (void)sanitized;
    return usual;
#endif
}

/* Sanitized, a test of every architecture takes every third, from `first` on, so that the tests
 * together take all of them; optimised, it takes all. */
static int arch_from(int first)
{
    return (int)points_for(0, first);
}

static int arch_step(void)
{
    return (int)points_for(1, 3);
}

/* ---- architectures of every kind ---- */

typedef struct arch {
    const char *text;
    far_param param;
} arch;

static const arch archs[] = {
    {"dense", FAR_PARAM_NTK},
    {"dense(b=0)", FAR_PARAM_NTK},
    {"dense relu dense", FAR_PARAM_NTK},
    {"[dense relu]x5 dense", FAR_PARAM_NTK},
    {"[dense(nobias) relu]x3 dense(nobias)", FAR_PARAM_NTK},
    {"dense leaky_relu(0.3) dense abs dense", FAR_PARAM_NTK},
    {"dense leaky_relu(-0.5) dense leaky_relu(2) dense", FAR_PARAM_NTK},
    {"dense(w=1.5, b=0) relu(2) dense", FAR_PARAM_NTK},
    {"dense relu(3) dense relu dense", FAR_PARAM_NTK},
    {"dense relu(1.5) dense", FAR_PARAM_NTK},
    {"dense ln relu(0.75) dense", FAR_PARAM_NTK},
    {"dense erf dense erf dense", FAR_PARAM_NTK},
    {"dense gelu dense gelu dense", FAR_PARAM_NTK},
    {"dense tanh dense tanh dense", FAR_PARAM_NTK},
    {"dense ln tanh dense", FAR_PARAM_NTK},
    {"dense silu dense", FAR_PARAM_NTK},
    {"dense ln sin dense", FAR_PARAM_NTK},
    {"[dense ln relu]x2 dense", FAR_PARAM_NTK},
    {"[dense ln relu]x3 dense", FAR_PARAM_NTK},
    {"dense rms abs dense gelu dense", FAR_PARAM_NTK},
    {"dense relu ln(eps=0.1) dense gelu rms dense", FAR_PARAM_NTK},
    {"dense ln(affine) relu dense", FAR_PARAM_NTK},
    {"dense ln(affine) tanh dense", FAR_PARAM_NTK},
    {"dense ln(affine) erf dense", FAR_PARAM_NTK},
    {"dense rms(eps=0.5, affine) silu dense", FAR_PARAM_NTK},
    {"dense ln(affine) sin dense", FAR_PARAM_NTK},
    {"dense relu ln(affine) dense relu(2) dense", FAR_PARAM_NTK},
    {"dense skip(ln relu dense) relu dense", FAR_PARAM_NTK},
    {"dense relu skip(dense relu) ln dense", FAR_PARAM_NTK},
    {"dense [skip(rms gelu dense)]x2 dense", FAR_PARAM_NTK},
    {"dense skip(tanh dense skip(relu dense)) dense", FAR_PARAM_NTK},
    {"dense batchnorm(eps=0.5, affine) abs dense", FAR_PARAM_NTK},
    {"ln(affine) dense relu dense", FAR_PARAM_NTK},
    {"rms(eps=0.25) dense gelu dense", FAR_PARAM_NTK},
    {"tanh dense relu dense", FAR_PARAM_NTK},
    {"dense relu", FAR_PARAM_NTK},
    {"dense tanh", FAR_PARAM_NTK},
    {"dense identity(gain=2) relu dense", FAR_PARAM_NTK},
    {"dense(11) relu dense(7) tanh dense", FAR_PARAM_STANDARD},
    {"dense(5) skip(ln(affine) relu dense(5)) gelu dense(1)", FAR_PARAM_STANDARD},
};

/* One architecture of each kind of loop, for what takes long. */
static const arch few_archs[] = {
    {"[dense relu]x3 dense", FAR_PARAM_NTK},
    {"[dense ln relu]x3 dense", FAR_PARAM_NTK},
    {"dense tanh dense", FAR_PARAM_NTK},
    {"dense relu(1.5) dense", FAR_PARAM_NTK},
    {"dense relu skip(dense gelu) ln dense", FAR_PARAM_NTK},
    {"dense rms(affine) silu dense", FAR_PARAM_NTK},
    {"dense(5) ln(affine) sin dense(3) relu(2) dense(1)", FAR_PARAM_STANDARD},
};

/* ---- making kernels: arguments ---- */

static void kernel_options_start_with_their_size(void **state)
{
    (void)state;
    far_kernel_opts opts;
    memset(&opts, 0xff, sizeof opts);
    opts = (far_kernel_opts){.size = sizeof opts};
    assert_int_equal(opts.size, sizeof opts);
    assert_int_equal(opts.param, FAR_PARAM_NTK);
}

static void assert_options_refused(far_kernel_opts opts, const char *piece)
{
    far_kernel *k = (far_kernel *)&test_heap;
    assert_int_equal(far_kernel_create(ctx, "dense", &opts, &k), FAR_ERR_ARG);
    assert_null(k);
    assert_holds(far_ctx_message(ctx), piece);
}

static void kernel_options_are_checked(void **state)
{
    (void)state;
    far_kernel_opts opts;
    opts = (far_kernel_opts){.size = sizeof opts};
    opts.size = 0;
    assert_options_refused(opts, "sizeof(far_kernel_opts)");
    opts.size = sizeof opts + 8;
    assert_options_refused(opts, "sizeof(far_kernel_opts)");
    opts = (far_kernel_opts){.size = sizeof opts};
    opts.param = 2;
    assert_options_refused(opts, "parametrisation 2");
    opts.param = -1;
    assert_options_refused(opts, "parametrisation -1");
}

static void create_refuses_missing_pointers(void **state)
{
    (void)state;
    far_kernel *k = NULL;
    assert_int_equal(far_kernel_create(ctx, "dense", NULL, NULL), FAR_ERR_ARG);
    assert_holds(far_ctx_message(ctx), "must not be NULL");
    assert_int_equal(far_kernel_create(ctx, NULL, NULL, &k), FAR_ERR_ARG);
    assert_int_equal(far_kernel_create(NULL, "dense", NULL, &k), FAR_ERR_ARG);
    assert_null(k);
    far_kernel_destroy(NULL);
}

/* base.h: on failure an output pointer is NULL. */
static void create_clears_its_output_also_without_context_or_text(void **state)
{
    (void)state;
    far_kernel *k = (far_kernel *)&test_heap;
    assert_int_equal(far_kernel_create(ctx, NULL, NULL, &k), FAR_ERR_ARG);
    assert_null(k);
    k = (far_kernel *)&test_heap;
    assert_int_equal(far_kernel_create(NULL, "dense", NULL, &k), FAR_ERR_ARG);
    assert_null(k);
}

static void texts_that_do_not_parse_say_where(void **state)
{
    (void)state;
    far_kernel *k = (far_kernel *)&test_heap;
    assert_int_equal(try_kernel("dense rellu dense", FAR_PARAM_NTK, &k), FAR_ERR_PARSE);
    assert_null(k);
    assert_holds(far_ctx_message(ctx), "column 7");
    assert_int_equal(try_kernel("", FAR_PARAM_NTK, &k), FAR_ERR_PARSE);
}

static void the_text_is_canonical(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"dense", "dense"},
        {" dense( 128 )\n relu(1)  dense ( w = 1.50 )", "dense(128) relu dense(w=1.5)"},
        {"[dense ln(groups=1,eps=0) relu]x2 dense(1)", "[dense ln relu]x2 dense(1)"},
        {"dense skip( ln  relu dense )", "dense skip(ln relu dense)"},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        far_kernel *k = kernel_of(cases[i][0], FAR_PARAM_NTK);
        assert_string_equal(far_kernel_text(k), cases[i][1]);
        far_kernel_destroy(k);
    }
}

static void closed_forms_have_no_tolerance_and_expansions_a_small_one(void **state)
{
    (void)state;
    static const char *const closed[] = {
        "dense",
        "[dense relu]x3 dense",
        "dense relu(2) dense relu(7) dense",
        "dense abs",
        "dense leaky_relu",
        "dense erf dense gelu dense",
        "dense sin",
        "dense identity",
        "dense ln(affine) relu rms batchnorm dense",
        "ln relu dense",
        "dense skip(ln relu dense)",
    };
    static const char *const expanded[] = {
        "dense tanh dense",
        "dense silu",
        "dense relu(1.5) dense",
        "dense relu(0.75)",
        "dense relu dense skip(tanh dense)",
    };
    for (int i = 0; i < COUNT(closed); i++) {
        far_kernel *k = kernel_of(closed[i], FAR_PARAM_NTK);
        assert_true(far_kernel_tolerance(k) == 0);
        far_kernel_destroy(k);
    }
    for (int i = 0; i < COUNT(expanded); i++) {
        far_kernel *k = kernel_of(expanded[i], FAR_PARAM_NTK);
        assert_true(far_kernel_tolerance(k) > 0 && far_kernel_tolerance(k) <= 1e-12);
        far_kernel_destroy(k);
    }
}

/* ---- making kernels: architectures without one ---- */

static const struct {
    const char *text;
    far_param param;
    const char *start, *piece;
} refusals[] = {
    {"dense relu relu", FAR_PARAM_NTK, "column 12: relu", "not Gaussian"},
    {"dense tanh ln gelu dense", FAR_PARAM_NTK, "column 15: gelu", "put a dense before it"},
    {"dense relu identity abs", FAR_PARAM_NTK, "column 21: abs", "not Gaussian"},
    {"dense [relu]x2", FAR_PARAM_NTK, "column 8: relu", "not Gaussian"},
    {"dense relu skip(dense) relu", FAR_PARAM_NTK, "column 24: relu", "not Gaussian"},
    {"dense skip(dense relu) sin", FAR_PARAM_NTK, "column 24: sin", "not Gaussian"},
    {"dense skip(relu)", FAR_PARAM_NTK, "column 7: skip", "needs a dense in its body"},
    {"dense [skip(ln)]x2", FAR_PARAM_NTK, "column 8: skip", "same neurons"},
    {"dense skip(dense skip(rms))", FAR_PARAM_NTK, "column 18: skip", "needs a dense"},
    {"skip(dense)", FAR_PARAM_NTK, "column 1: skip", "raw input"},
    {"ln skip(dense) dense", FAR_PARAM_NTK, "column 4: skip", "put a dense before it"},
    {"dense relu dense", FAR_PARAM_STANDARD, "column 12: dense", "width"},
    {"dense(8) relu dense ln dense(1)", FAR_PARAM_STANDARD, "column 24: dense", "dense(128)"},
    {"dense(8) skip(dense) dense", FAR_PARAM_STANDARD, "column 22: dense", "width"},
    {"relu", FAR_PARAM_NTK, "", "no dense"},
    {"ln identity rms", FAR_PARAM_STANDARD, "", "no dense"},
    {"dense(8) skip(dense(9))", FAR_PARAM_NTK, "column 10: skip", "adds 9 neurons to 8"},
    {"dense(3) relu skip(dense(5) relu dense(7))", FAR_PARAM_NTK, "column 15: skip",
     "adds 7 neurons to 3"},
    {"dense ln(affine) skip(dense) relu", FAR_PARAM_NTK, "column 30: relu", "affine"},
    {"dense skip(dense rms(affine)) gelu", FAR_PARAM_NTK, "column 31: gelu", "affine"},
    {"ln(affine) relu dense", FAR_PARAM_NTK, "column 12: relu", "affine terms on the raw input"},
};

static void architectures_without_a_kernel_are_refused_by_column(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(refusals); i++) {
        far_kernel *k = (far_kernel *)&test_heap;
        far_status st = try_kernel(refusals[i].text, refusals[i].param, &k);
        const char *message = far_ctx_message(ctx), *start = refusals[i].start;
        if (st != FAR_ERR_ARCH || k || strncmp(message, start, strlen(start)) != 0) {
            fail_msg("%s: %s, '%s'", refusals[i].text, far_status_name(st), message);
        }
        assert_holds(message, refusals[i].piece);
    }
}

static void their_neighbours_are_accepted(void **state)
{
    (void)state;
    static const arch fine[] = {
        {"dense relu dense relu", FAR_PARAM_NTK},
        {"dense relu identity dense abs", FAR_PARAM_NTK},
        {"relu tanh ln gelu dense", FAR_PARAM_NTK},
        {"dense relu skip(dense) dense relu", FAR_PARAM_NTK},
        {"dense skip(relu dense) relu", FAR_PARAM_NTK},
        {"dense(8) relu dense", FAR_PARAM_STANDARD},
        {"dense(8) skip(dense(8)) dense", FAR_PARAM_STANDARD},
        {"dense(8) skip(dense)", FAR_PARAM_NTK},
        {"dense ln(affine) skip(dense) dense relu", FAR_PARAM_NTK},
        {"dense ln(affine) skip(dense) identity", FAR_PARAM_NTK},
        {"ln(affine) dense relu", FAR_PARAM_NTK},
    };
    for (int i = 0; i < COUNT(fine); i++) {
        far_kernel_destroy(kernel_of(fine[i].text, fine[i].param));
    }
}

static double value_of(const far_kernel *k, double x, bool tangent)
{
    double value = NAN;
    far_mat point = far_mat_view(&x, 1, 1, FAR_F64), out = far_mat_view(&value, 1, 1, FAR_F64);
    must_do(far_kernel_eval(ctx, k, &point, NULL, FAR_FILL_FULL, tangent ? NULL : &out,
                            tangent ? &out : NULL),
            far_kernel_text(k));
    return value;
}

/* skip(skip(dense)) is 2 x + W x: the neurons of x come twice, so K is 4 K + K', not 2 K + K'. */
static void skips_whose_bodies_pass_their_input_on_are_refused_or_right(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double nngp, ntk; /* at x = 1 in one dimension */
    } cases[] = {
        {"dense(b=0) skip(skip(dense(b=0)))", 5, 6},
        {"dense(b=0) skip(batchnorm(eps=3) skip(dense(b=0)))", 2.5, 2.75},
        {"dense(b=0) skip(dense(b=0) skip(dense(b=0)))", 3, 6},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        far_kernel *k;
        if (try_kernel(cases[i].text, FAR_PARAM_NTK, &k) == FAR_OK) {
            double nngp = value_of(k, 1, false), ntk = value_of(k, 1, true);
            far_kernel_destroy(k);
            if (fabs(nngp - cases[i].nngp) > 1e-14 || fabs(ntk - cases[i].ntk) > 1e-14) {
                fail_msg("%s: K(1, 1) = %g not %g, Theta(1, 1) = %g not %g", cases[i].text, nngp,
                         cases[i].nngp, ntk, cases[i].ntk);
            }
        } else {
            assert_holds(far_ctx_message(ctx), "column");
        }
    }
}

/* rms(affine), then a factor 1/2: K = 1/4; Theta = 1/4 (weights) + 1/4 (scale) + 1/4 (shift). */
static void affine_terms_pass_through_the_norms_behind_them(void **state)
{
    (void)state;
    far_kernel *k;
    if (try_kernel("rms(affine) batchnorm(eps=3) dense(b=0)", FAR_PARAM_NTK, &k) == FAR_OK) {
        double nngp = value_of(k, 1, false), ntk = value_of(k, 1, true);
        far_kernel_destroy(k);
        assert_true(fabs(nngp - 0.25) <= 1e-15);
        if (fabs(ntk - 0.75) > 1e-15) {
            fail_msg("Theta(1, 1) = %.17g, not 0.75", ntk);
        }
    }
    k = kernel_of("dense(b=0) rms(affine) batchnorm(eps=3) dense(b=0)", FAR_PARAM_NTK);
    assert_true(fabs(value_of(k, 1, true) - 1) <= 1e-15);
    far_kernel_destroy(k);
}

/* ---- evaluating: arguments ---- */

/* A call that is right: 7 and 11 points in 3 dimensions. Tests spoil one thing. */
typedef struct eval_call {
    far_ctx *ctx;
    far_kernel *k, *own_k;
    far_mat x1, x2, nngp, ntk;
    bool no_x1, no_x2;
    int fill;
} eval_call;

static eval_call good_call(far_dtype dtype)
{
    eval_call c = {.ctx = ctx, .fill = FAR_FILL_FULL};
    c.k = c.own_k = kernel_of("dense relu dense", FAR_PARAM_NTK);
    c.x1 = make_points(7, 3, dtype, 1);
    c.x2 = make_points(11, 3, dtype, 2);
    c.nngp = make_mat(7, 11, dtype);
    c.ntk = make_mat(7, 11, dtype);
    return c;
}

static far_status run_call(eval_call *c)
{
    return far_kernel_eval(c->ctx, c->k, c->no_x1 ? NULL : &c->x1, c->no_x2 ? NULL : &c->x2,
                           (far_fill)c->fill, &c->nngp, &c->ntk);
}

static void free_call(eval_call *c)
{
    far_kernel_destroy(c->own_k);
    free_mat(&c->x1);
    free_mat(&c->x2);
    free_mat(&c->nngp);
    free_mat(&c->ntk);
}

/* The call fails in this way and leaves the outputs alone. */
static void assert_call_fails(eval_call c, far_status status, const char *piece)
{
    far_status st = run_call(&c);
    if (st != status) {
        fail_msg("%s instead of %s ('%s')", far_status_name(st), far_status_name(status), piece);
    }
    if (c.ctx) {
        assert_holds(far_ctx_message(c.ctx), piece);
    }
    far_mat whole[] = {far_mat_view(c.nngp.data, 7, 11, FAR_F64),
                       far_mat_view(c.ntk.data, 7, 11, FAR_F64)};
    for (int i = 0; i < COUNT(whole); i++) {
        if (whole[i].data) {
            assert_all(&whole[i], SENTINEL);
        }
    }
}

#define SPOILED(change, status, piece)                                                             \
    do {                                                                                           \
        eval_call c = good;                                                                        \
        change;                                                                                    \
        assert_call_fails(c, status, piece);                                                       \
    } while (0)

static void eval_refuses_missing_things(void **state)
{
    (void)state;
    eval_call good = good_call(FAR_F64);
    SPOILED(c.ctx = NULL, FAR_ERR_ARG, "");
    SPOILED(c.k = NULL, FAR_ERR_ARG, "kernel must not be NULL");
    SPOILED(c.no_x1 = true, FAR_ERR_ARG, "x1 is NULL");
    SPOILED(c.x1.data = NULL, FAR_ERR_ARG, "x1 has no data");
    SPOILED(c.x2.data = NULL, FAR_ERR_ARG, "x2 has no data");
    SPOILED(c.nngp.data = NULL, FAR_ERR_ARG, "nngp has no data");
    SPOILED(c.ntk.data = NULL, FAR_ERR_ARG, "ntk has no data");
    assert_int_equal(run_call(&good), FAR_OK);
    free_call(&good);
}

static void eval_refuses_shapes_that_do_not_agree(void **state)
{
    (void)state;
    eval_call good = good_call(FAR_F64);
    SPOILED(c.x1.rows = 5, FAR_ERR_SHAPE, "nngp is 7 x 11 but must be 5 x 11");
    SPOILED(c.x2.rows = 5, FAR_ERR_SHAPE, "nngp is 7 x 11 but must be 7 x 5");
    SPOILED(c.x1.cols = 2, FAR_ERR_SHAPE, "x1 has 2 columns but x2 has 3");
    SPOILED(c.x2.cols = 2, FAR_ERR_SHAPE, "x1 has 3 columns but x2 has 2");
    SPOILED(c.nngp.cols = 5, FAR_ERR_SHAPE, "nngp is 7 x 5 but must be 7 x 11");
    SPOILED(c.ntk.rows = 5, FAR_ERR_SHAPE, "ntk is 5 x 11 but must be 7 x 11");
    SPOILED(c.ntk.cols = 3, FAR_ERR_SHAPE, "ntk is 7 x 3 but must be 7 x 11");
    SPOILED(c.no_x2 = true, FAR_ERR_SHAPE, "nngp is 7 x 11 but must be 7 x 7");
    SPOILED(c.x1.rows = -7, FAR_ERR_SHAPE, "x1 is -7 x 3");
    SPOILED(c.ntk.cols = -11, FAR_ERR_SHAPE, "ntk is 7 x -11");
    SPOILED(c.x1.ld = 2, FAR_ERR_SHAPE, "x1 has ld 2 but 3 columns");
    SPOILED(c.x2.ld = 0, FAR_ERR_SHAPE, "x2 has ld 0 but 3 columns");
    SPOILED(c.nngp.ld = 10, FAR_ERR_SHAPE, "nngp has ld 10 but 11 columns");
    SPOILED(c.ntk.ld = -11, FAR_ERR_SHAPE, "ntk has ld -11 but 11 columns");
    free_call(&good);
}

static void eval_refuses_points_without_columns(void **state)
{
    (void)state;
    eval_call good = good_call(FAR_F64);
    SPOILED(c.x1.cols = c.x2.cols = 0, FAR_ERR_SHAPE, "x1 has no columns");
    free_call(&good);
}

static void eval_refuses_types_devices_and_fills_it_does_not_know(void **state)
{
    (void)state;
    eval_call good = good_call(FAR_F64);
    SPOILED(c.x1.dtype = FAR_F32, FAR_ERR_ARG, "x1 and x2 must have one dtype");
    SPOILED(c.x1.dtype = c.x2.dtype = FAR_F32, FAR_ERR_ARG, "nngp must have the dtype");
    SPOILED(c.nngp.dtype = FAR_F32, FAR_ERR_ARG, "nngp must have the dtype");
    SPOILED(c.ntk.dtype = FAR_F32, FAR_ERR_ARG, "ntk must have the dtype");
    SPOILED(c.x1.dtype = 7, FAR_ERR_ARG, "x1 has unknown dtype 7");
    SPOILED(c.ntk.dtype = -1, FAR_ERR_ARG, "ntk has unknown dtype -1");
    SPOILED(c.x1.device = 1, FAR_ERR_ARG, "x1 is on device 1");
    SPOILED(c.x2.device = 2, FAR_ERR_ARG, "x2 is on device 2");
    SPOILED(c.nngp.device = 1, FAR_ERR_ARG, "nngp is on device 1");
    SPOILED(c.ntk.device = -1, FAR_ERR_ARG, "ntk is on device -1");
    SPOILED(c.fill = FAR_FILL_LOWER, FAR_ERR_ARG, "without x2");
    SPOILED(c.fill = 2, FAR_ERR_ARG, "FAR_FILL_FULL");
    SPOILED(c.fill = -1, FAR_ERR_ARG, "FAR_FILL_FULL");
    free_call(&good);
}

static void assert_bad_value_is_named(far_dtype dtype, double value, const char *word)
{
    eval_call c = good_call(dtype);
    char expected[64];
    set(&c.x1, 4, 1, value);
    assert_int_equal(run_call(&c), FAR_ERR_VALUE);
    snprintf(expected, sizeof expected, "x1: row 5, column 2 is %s", word);
    assert_holds(far_ctx_message(ctx), expected);
    set(&c.x1, 4, 1, 0);
    set(&c.x2, 10, 2, value);
    assert_int_equal(run_call(&c), FAR_ERR_VALUE);
    snprintf(expected, sizeof expected, "x2: row 11, column 3 is %s", word);
    assert_holds(far_ctx_message(ctx), expected);
    assert_all(&c.nngp, SENTINEL);
    assert_all(&c.ntk, SENTINEL);
    free_call(&c);
}

static void values_that_are_not_finite_are_named_by_row_and_column(void **state)
{
    (void)state;
    static const far_dtype types[] = {FAR_F64, FAR_F32};
    for (int i = 0; i < COUNT(types); i++) {
        assert_bad_value_is_named(types[i], NAN, "nan");
        assert_bad_value_is_named(types[i], INFINITY, "inf");
        assert_bad_value_is_named(types[i], -INFINITY, "inf");
    }
}

static void input_groups_must_divide_the_features(void **state)
{
    (void)state;
    eval_call good = good_call(FAR_F64);
    far_kernel *k = kernel_of("ln(groups=2) dense", FAR_PARAM_NTK);
    SPOILED(c.k = k, FAR_ERR_SHAPE, "ln(groups=2) on the input does not divide its 3 features");
    far_kernel_destroy(k);
    free_call(&good);
}

static void eval_without_outputs_still_checks(void **state)
{
    (void)state;
    eval_call c = good_call(FAR_F64);
    assert_int_equal(far_kernel_eval(ctx, c.k, &c.x1, NULL, FAR_FILL_FULL, NULL, NULL), FAR_OK);
    set(&c.x1, 0, 0, NAN);
    assert_int_equal(far_kernel_eval(ctx, c.k, &c.x1, NULL, FAR_FILL_FULL, NULL, NULL),
                     FAR_ERR_VALUE);
    free_call(&c);
}

/* ---- the diagonal: arguments ---- */

static void assert_diag_fails(const far_mat *x, far_mat *nngp, far_mat *ntk, far_status status,
                              const char *piece)
{
    far_kernel *k = kernel_of("dense relu dense", FAR_PARAM_NTK);
    far_status st = far_kernel_diag(ctx, k, x, nngp, ntk);
    far_kernel_destroy(k);
    assert_int_equal(st, status);
    assert_holds(far_ctx_message(ctx), piece);
}

static void diag_checks_its_arguments(void **state)
{
    (void)state;
    far_mat x = make_points(7, 3, FAR_F64, 1), v = make_mat(7, 1, FAR_F64), bad;
    assert_int_equal(far_kernel_diag(ctx, NULL, &x, &v, NULL), FAR_ERR_ARG);
    assert_holds(far_ctx_message(ctx), "kernel must not be NULL");
    assert_diag_fails(NULL, &v, NULL, FAR_ERR_ARG, "x is NULL");
    bad = x;
    bad.device = 3;
    assert_diag_fails(&bad, &v, NULL, FAR_ERR_ARG, "x is on device 3");
    bad = x;
    bad.cols = 0;
    assert_diag_fails(&bad, &v, NULL, FAR_ERR_SHAPE, "x has no columns");
    bad = x;
    bad.ld = 2;
    assert_diag_fails(&bad, &v, NULL, FAR_ERR_SHAPE, "x has ld 2 but 3 columns");
    bad = v;
    bad.rows = 5;
    assert_diag_fails(&x, &bad, NULL, FAR_ERR_SHAPE, "must be 7 x 1");
    bad = far_mat_view(v.data, 1, 7, FAR_F64);
    assert_diag_fails(&x, NULL, &bad, FAR_ERR_SHAPE, "must be 7 x 1");
    bad = v;
    bad.data = NULL;
    assert_diag_fails(&x, NULL, &bad, FAR_ERR_ARG, "ntk has no data");
    assert_all(&v, SENTINEL);
    set(&x, 2, 2, -INFINITY);
    assert_diag_fails(&x, &v, NULL, FAR_ERR_VALUE, "x: row 3, column 3 is inf");
    free_mat(&x);
    free_mat(&v);
}

/* As far_kernel_eval does. */
static void diag_says_argument_not_shape_when_the_type_is_wrong(void **state)
{
    (void)state;
    far_mat x = make_points(7, 3, FAR_F64, 1), v = make_mat(7, 1, FAR_F32);
    assert_diag_fails(&x, &v, NULL, FAR_ERR_ARG, "dtype");
    assert_diag_fails(&x, NULL, &v, FAR_ERR_ARG, "dtype");
    free_mat(&x);
    free_mat(&v);
}

/* ---- limits: arguments ---- */

/* 5 directions and 7 points in 3 dimensions. */
typedef struct limit_call {
    far_ctx *ctx;
    far_kernel *k, *own_k;
    far_mat u, x, out[4]; /* nngp, nngp_order, ntk, ntk_order */
    bool no_u, no_x;
} limit_call;

static limit_call good_limit(void)
{
    limit_call c = {.ctx = ctx};
    c.k = c.own_k = kernel_of("dense relu dense", FAR_PARAM_NTK);
    c.u = make_points(5, 3, FAR_F64, 3);
    c.x = make_points(7, 3, FAR_F64, 4);
    for (int i = 0; i < 4; i++) {
        c.out[i] = make_mat(5, i % 2 ? 1 : 7, FAR_F64);
    }
    return c;
}

static far_status run_limit(limit_call *c)
{
    return far_kernel_limit(c->ctx, c->k, c->no_u ? NULL : &c->u, c->no_x ? NULL : &c->x,
                            &c->out[0], &c->out[1], &c->out[2], &c->out[3]);
}

static void free_limit(limit_call *c)
{
    far_kernel_destroy(c->own_k);
    free_mat(&c->u);
    free_mat(&c->x);
    for (int i = 0; i < 4; i++) {
        free_mat(&c->out[i]);
    }
}

static void assert_limit_fails(limit_call c, far_status status, const char *piece)
{
    far_status st = run_limit(&c);
    if (st != status) {
        fail_msg("%s instead of %s ('%s')", far_status_name(st), far_status_name(status), piece);
    }
    if (c.ctx) {
        assert_holds(far_ctx_message(c.ctx), piece);
    }
}

#define SPOILED_LIMIT(change, status, piece)                                                       \
    do {                                                                                           \
        limit_call c = good;                                                                       \
        change;                                                                                    \
        assert_limit_fails(c, status, piece);                                                      \
    } while (0)

static void limit_checks_its_arguments(void **state)
{
    (void)state;
    limit_call good = good_limit();
    SPOILED_LIMIT(c.ctx = NULL, FAR_ERR_ARG, "");
    SPOILED_LIMIT(c.k = NULL, FAR_ERR_ARG, "kernel must not be NULL");
    SPOILED_LIMIT(c.no_u = true, FAR_ERR_ARG, "is NULL");
    SPOILED_LIMIT(c.u.data = NULL, FAR_ERR_ARG, "has no data");
    SPOILED_LIMIT(c.u.cols = 2, FAR_ERR_SHAPE, "2 columns");
    SPOILED_LIMIT(c.u.cols = c.x.cols = 0, FAR_ERR_SHAPE, "u has no columns");
    SPOILED_LIMIT(c.u.device = 1, FAR_ERR_ARG, "on device 1");
    SPOILED_LIMIT(c.u.dtype = FAR_F32, FAR_ERR_ARG, "dtype");
    SPOILED_LIMIT(c.u.dtype = c.x.dtype = FAR_F32, FAR_ERR_ARG, "float64");
    SPOILED_LIMIT(c.no_x = true, FAR_ERR_SHAPE, "nngp is 5 x 7 but must be 5 x 5");
    SPOILED_LIMIT(c.out[0].cols = 3, FAR_ERR_SHAPE, "nngp is 5 x 3 but must be 5 x 7");
    SPOILED_LIMIT(c.out[1].rows = 3, FAR_ERR_SHAPE, "nngp_order is 3 x 1 but must be 5 x 1");
    SPOILED_LIMIT(c.out[2].rows = 2, FAR_ERR_SHAPE, "ntk is 2 x 7 but must be 5 x 7");
    SPOILED_LIMIT(c.out[3].cols = 0, FAR_ERR_SHAPE, "ntk_order is 5 x 0 but must be 5 x 1");
    SPOILED_LIMIT(c.out[2].ld = 6, FAR_ERR_SHAPE, "ntk has ld 6 but 7 columns");
    SPOILED_LIMIT(c.out[3].dtype = FAR_F32, FAR_ERR_ARG, "ntk_order");
    SPOILED_LIMIT(c.out[1].data = NULL, FAR_ERR_ARG, "nngp_order has no data");
    for (int i = 0; i < 4; i++) {
        assert_all(&good.out[i], SENTINEL);
    }
    assert_int_equal(run_limit(&good), FAR_OK);
    free_limit(&good);
}

static void limit_calls_its_arguments_by_their_names(void **state)
{
    (void)state;
    char message[3][200];
    limit_call good = good_limit(), bad[] = {good, good, good};
    bad[0].no_u = true;
    bad[1].x.data = NULL;
    bad[2].u.cols = 2;
    for (int i = 0; i < COUNT(bad); i++) {
        assert_int_not_equal(run_limit(&bad[i]), FAR_OK);
        snprintf(message[i], sizeof message[i], "%s", far_ctx_message(ctx));
    }
    free_limit(&good);
    assert_holds(message[0], "u is NULL");
    assert_holds(message[1], "x has no data");
    assert_holds(message[2], "u has 2 columns but x has 3");
}

static void limit_refuses_values_that_are_no_direction(void **state)
{
    (void)state;
    limit_call c = good_limit();
    for (int j = 0; j < 3; j++) {
        set(&c.u, 3, j, j ? 0.0 : -0.0);
    }
    assert_limit_fails(c, FAR_ERR_VALUE, "u: row 4 is zero");
    set(&c.u, 3, 2, NAN);
    assert_limit_fails(c, FAR_ERR_VALUE, "u: row 4, column 3 is nan");
    set(&c.u, 3, 2, 1e-300);
    assert_int_equal(run_limit(&c), FAR_OK);
    set(&c.x, 6, 0, INFINITY);
    assert_limit_fails(c, FAR_ERR_VALUE, "x: row 7, column 1 is inf");
    free_limit(&c);
}

static void limit_refuses_a_sine_of_the_raw_input(void **state)
{
    (void)state;
    limit_call good = good_limit();
    far_kernel *raw = kernel_of("sin dense", FAR_PARAM_NTK);
    far_kernel *behind = kernel_of("batchnorm sin dense", FAR_PARAM_NTK);
    far_kernel *fine = kernel_of("rms sin dense", FAR_PARAM_NTK);
    SPOILED_LIMIT(c.k = raw, FAR_ERR_ARCH, "sin of the raw input has no limit");
    SPOILED_LIMIT(c.k = behind, FAR_ERR_ARCH, "put a dense before it");
    limit_call c = good;
    c.k = fine;
    assert_int_equal(run_limit(&c), FAR_OK);
    far_kernel_destroy(raw);
    far_kernel_destroy(behind);
    far_kernel_destroy(fine);
    free_limit(&good);
}

/* tanh(lambda u) tends to a sign, whose sine is a number like any other. */
static void limit_accepts_a_sine_of_a_bounded_input(void **state)
{
    (void)state;
    double u = 2, x = 0.5, k_far = NAN, order = NAN, distant = 1e300, expected = NAN;
    far_kernel *k = kernel_of("tanh sin dense", FAR_PARAM_NTK);
    far_mat mu = far_mat_view(&u, 1, 1, FAR_F64), mx = far_mat_view(&x, 1, 1, FAR_F64);
    far_mat mk = far_mat_view(&k_far, 1, 1, FAR_F64), mo = far_mat_view(&order, 1, 1, FAR_F64);
    far_mat mf = far_mat_view(&distant, 1, 1, FAR_F64);
    far_mat me = far_mat_view(&expected, 1, 1, FAR_F64);
    must_do(far_kernel_eval(ctx, k, &mf, &mx, FAR_FILL_FULL, &me, NULL), "tanh sin dense");
    far_status st = far_kernel_limit(ctx, k, &mu, &mx, &mk, &mo, NULL, NULL);
    far_kernel_destroy(k);
    must_do(st, "tanh sin dense");
    assert_true(order == 0 && fabs(k_far - expected) <= 1e-14 * expected);
}

static void any_output_of_a_limit_may_be_left_out(void **state)
{
    (void)state;
    limit_call c = good_limit();
    assert_int_equal(run_limit(&c), FAR_OK);
    for (int wanted = 0; wanted < 16; wanted++) {
        far_mat got[4], *out[4];
        for (int i = 0; i < 4; i++) {
            got[i] = make_mat(5, i % 2 ? 1 : 7, FAR_F64);
            out[i] = wanted >> i & 1 ? &got[i] : NULL;
        }
        assert_int_equal(far_kernel_limit(ctx, c.k, &c.u, &c.x, out[0], out[1], out[2], out[3]),
                         FAR_OK);
        for (int i = 0; i < 4; i++) {
            assert_true(!out[i] || same_bits(&got[i], &c.out[i]));
            free_mat(&got[i]);
        }
    }
    free_limit(&c);
}

/* ---- suprema ---- */

static far_supremum supremum_of(const char *text, int64_t d)
{
    far_kernel *k = kernel_of(text, FAR_PARAM_NTK);
    far_supremum s;
    far_status st = far_kernel_supremum(ctx, k, d, &s);
    far_kernel_destroy(k);
    must_do(st, text);
    return s;
}

static void supremum_checks_its_arguments(void **state)
{
    (void)state;
    far_kernel *k = kernel_of("dense ln relu dense", FAR_PARAM_NTK);
    far_supremum s;
    assert_int_equal(far_kernel_supremum(NULL, k, 3, &s), FAR_ERR_ARG);
    assert_int_equal(far_kernel_supremum(ctx, NULL, 3, &s), FAR_ERR_ARG);
    assert_holds(far_ctx_message(ctx), "kernel");
    assert_int_equal(far_kernel_supremum(ctx, k, 3, NULL), FAR_ERR_ARG);
    assert_holds(far_ctx_message(ctx), "output");
    assert_int_equal(far_kernel_supremum(ctx, k, 0, &s), FAR_ERR_ARG);
    assert_holds(far_ctx_message(ctx), "d >= 1");
    assert_int_equal(far_kernel_supremum(ctx, k, -5, &s), FAR_ERR_ARG);
    assert_int_equal(far_kernel_supremum(ctx, k, 3, &s), FAR_OK);
    assert_true(s.bounded && s.value > 0);
    far_kernel_destroy(k);
}

static void supremum_refuses_what_it_does_not_know(void **state)
{
    (void)state;
    far_kernel *k = kernel_of("rms(eps=1) tanh dense", FAR_PARAM_NTK);
    far_supremum s;
    assert_int_equal(far_kernel_supremum(ctx, k, 3, &s), FAR_ERR_ARCH);
    assert_holds(far_ctx_message(ctx), "put a dense before the activation");
    far_kernel_destroy(k);
    static const char *const between[] = {"tanh ln(eps=1) dense", "ln(groups=3) rms(eps=1) dense",
                                          "rms(eps=1) ln(groups=3, eps=1) dense"};
    for (int i = 0; i < COUNT(between); i++) {
        k = kernel_of(between[i], FAR_PARAM_NTK);
        assert_int_equal(far_kernel_supremum(ctx, k, 6, &s), FAR_ERR_ARCH);
        assert_holds(far_ctx_message(ctx), "put a dense between them");
        far_kernel_destroy(k);
    }
}

/* Flat as far as a scan goes, 0.01, and 2.01 beyond 1e50. */
static void supremum_is_no_constant_for_being_flat_near_the_data(void **state)
{
    (void)state;
    far_supremum s = supremum_of("dense(w=1e-100, b=1e-100) rms(eps=1e-100) relu dense", 2);
    assert_true(s.bounded && !s.constant && !s.attained && isinf(s.radius));
    assert_true(fabs(s.value - 2.01) < 1e-14);
    assert_string_equal(s.proven_by, "monotone");
    assert_true(s.proven >= s.value && s.proven < s.value * (1 + 1e-12));
}

/* A norm of values that are 0 for every x leaves them at 0: there is no branch to cancel with. */
static void supremum_is_proven_behind_weights_of_zero(void **state)
{
    (void)state;
    static const char *const bodies[] = {"rms relu(gain=0.3)",
                                         "relu dense(nobias) rms relu(gain=0.3)",
                                         "erf dense(nobias) ln relu(gain=0.3)",
                                         "relu(2) rms dense(nobias) rms(eps=1) dense(nobias) rms "
                                         "relu(gain=0.3)"};
    for (int i = 0; i < 4; i++) {
        char text[200];
        snprintf(text, sizeof text,
                 "dense rms(eps=1) leaky_relu(1000) skip(dense(w=0, nobias) %s) dense", bodies[i]);
        far_supremum s = supremum_of(text, 2);
        assert_true(s.bounded && fabs(s.value - 2.01) < 1e-14);
        assert_true(s.proven_by && s.proven >= s.value && s.proven < s.value * (1 + 2e-4));
    }
}

/* Theta of weights behind which K is 0: nothing is proven, and nothing false. */
static void supremum_is_not_proven_where_theta_has_no_kernel(void **state)
{
    (void)state;
    static const char *const cases[] = {"dense(4) ln dense(1, w=0, nobias)",
                                        "dense(4) ln dense(4, w=0, b=0) relu dense(1)",
                                        "dense(4) ln skip(dense(4, w=0, nobias)) dense(1)"};
    for (int i = 0; i < 3; i++) {
        far_kernel *k = kernel_of(cases[i], FAR_PARAM_STANDARD);
        far_supremum s;
        must_do(far_kernel_supremum(ctx, k, 2, &s), cases[i]);
        assert_true(s.bounded && s.value >= 4 && !s.proven_by && isinf(s.proven));
        far_kernel_destroy(k);
    }
}

/* There is no such input: far_kernel_eval says FAR_ERR_SHAPE. */
static void supremum_refuses_input_groups_that_do_not_divide(void **state)
{
    (void)state;
    far_kernel *k = kernel_of("ln(groups=3) dense relu dense", FAR_PARAM_NTK);
    far_supremum s;
    far_status st = far_kernel_supremum(ctx, k, 7, &s);
    far_kernel_destroy(k);
    assert_int_equal(st, FAR_ERR_SHAPE);
    assert_holds(far_ctx_message(ctx), "groups=3");
}

/* With one feature a layer norm leaves zero, and so does what stands behind it. */
static void supremum_of_a_normalised_single_feature_is_constant(void **state)
{
    (void)state;
    static const char *const cases[] = {"ln dense relu dense", "ln ln dense relu dense",
                                        "ln batchnorm dense relu dense", "ln rms dense relu dense"};
    for (int i = 0; i < COUNT(cases); i++) {
        far_supremum s = supremum_of(cases[i], 1);
        if (!(s.bounded && s.constant && s.attained && fabs(s.value - 0.03) <= 1e-15)) {
            fail_msg("%s: bounded %d, constant %d, attained %d, value %.17g", cases[i], s.bounded,
                     s.constant, s.attained, s.value);
        }
    }
}

/* Theta(x, x) ~ slope (|x| / sqrt(d))^order, in terms of x itself. */
static void growth_counts_the_layers_on_the_input(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double order, slope;
    } cases[] = {
        {"dense(b=0)", 2, 1},
        {"dense(w=2) relu dense", 2, 8},
        {"batchnorm(eps=3) dense(b=0)", 2, 0.25},
        {"identity(gain=3) dense(b=0)", 2, 9},
        {"abs(gain=1) relu(2, gain=1) dense(b=0)", 4, 1},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        far_supremum s = supremum_of(cases[i].text, 1);
        if (s.bounded || fabs(s.order - cases[i].order) > 1e-15 ||
            fabs(s.slope - cases[i].slope) > 1e-14 * cases[i].slope) {
            fail_msg("%s: Theta ~ %.17g r^%g instead of %g r^%g", cases[i].text, s.slope, s.order,
                     cases[i].slope, cases[i].order);
        }
    }
}

/* rms(tanh x) has norm 1 for every x but zero, so the largest Theta is reached. */
static void a_norm_behind_a_saturating_input_reaches_its_end(void **state)
{
    (void)state;
    far_supremum s = supremum_of("tanh rms dense relu dense", 3);
    assert_true(s.bounded && fabs(s.value - 2.03) <= 1e-14);
    assert_true(s.attained);
}

/* At x = 0 a shift meets the infinite slope of max(z, 0)^0.75: Theta(x, x) ~ |x|^-0.5. */
static void a_slope_that_is_infinite_at_zero_is_not_bounded(void **state)
{
    (void)state;
    far_kernel *k = kernel_of("dense(nobias) rms(eps=1, affine) relu(0.75) dense", FAR_PARAM_NTK);
    double near_zero = value_of(k, 1e-200, true);
    far_kernel_destroy(k);
    assert_true(near_zero > 1e90);
    far_supremum s = supremum_of("dense(nobias) rms(eps=1, affine) relu(0.75) dense", 1);
    if (s.bounded) {
        fail_msg("bounded by %g, but Theta(1e-200, 1e-200) = %g", s.value, near_zero);
    }
}

/* K(x, x) and Theta(x, x) at norms from 1e-9 to 1e9, along a direction that mixes signs. */
static void must_stay_below(const far_kernel *k, const char *text, double most_k, double most_theta)
{
    enum { NORMS = 73, D = 3 };
    double x[NORMS * D], nngp[NORMS], ntk[NORMS];
    for (int i = 0; i < NORMS; i++) {
        double r = pow(10, (i - NORMS / 2) / 4.0);
        memcpy(x + i * D, (double[D]){r, -0.5 * r, 2 * r}, D * sizeof *x);
    }
    far_mat points = far_mat_view(x, NORMS, D, FAR_F64);
    far_mat k_out = far_mat_view(nngp, NORMS, 1, FAR_F64),
            out = far_mat_view(ntk, NORMS, 1, FAR_F64);
    must_do(far_kernel_diag(ctx, k, &points, &k_out, &out), text);
    for (int i = 0; i < NORMS; i++) {
        if (nngp[i] > most_k * (1 + 4 * ULP) || ntk[i] > most_theta * (1 + 4 * ULP)) {
            fail_msg("%s: K %.17g and Theta %.17g at x = %g, proven: %.17g and %.17g", text,
                     nngp[i], ntk[i], x[i * D], most_k, most_theta);
        }
    }
}

static double proven_of(const far_kernel *k, bool nngp, const char *text)
{
    far_supremum s;
    must_do(far_supremum_of(ctx, k, nngp ? FAR_KERNEL_NNGP : FAR_KERNEL_NTK, 3, &s), text);
    assert_true(s.bounded ? s.proven >= s.value * (1 - 1e-12) : isinf(s.proven));
    return s.proven;
}

/* Every activation behind a norm of each kind, and each kind of layer on the raw input. */
static void proven_suprema_are_above_every_value(void **state)
{
    (void)state;
    static const char *const inputs[] = {"dense(7) ",
                                         "dense(7) ln(eps=0.1) ",
                                         "dense(7) rms(eps=1e-5, affine) ",
                                         "dense(7, nobias) ln ",
                                         "rms(eps=0.5) dense(7) ",
                                         "ln(eps=2) rms(eps=0.1) dense(7) ",
                                         "rms(eps=0.3) ln(eps=0.7) dense(7) ",
                                         "tanh rms(eps=1) dense(7) ",
                                         "erf dense(7) ",
                                         "tanh dense(7) ",
                                         "sin dense(7) ",
                                         "batchnorm(eps=1) ln(eps=1) dense(7, w=0) "};
    static const char *const middles[] = {"relu",     "leaky_relu(0.3)", "abs",  "erf",
                                          "gelu",     "sin(w0=3)",       "tanh", "silu",
                                          "identity", "relu(2)"};
    int proven = 0;
    for (int i = 0; i < 3 * COUNT(inputs); i++) {
        char text[160];
        const char *input = inputs[i % COUNT(inputs)], *middle = middles[i % COUNT(middles)];
        snprintf(text, sizeof text, "%s%s dense(5) skip(%s dense(5)) dense(1)", input, middle,
                 middle);
        far_kernel *k = kernel_of(text, i % 5 < 3 ? FAR_PARAM_NTK : FAR_PARAM_STANDARD);
        double most_k = proven_of(k, true, text), most = proven_of(k, false, text);
        must_stay_below(k, text, most_k, most);
        proven += isfinite(most_k) + isfinite(most);
        far_kernel_destroy(k);
    }
    assert_true(proven > 30);
}

/* ---- running out of memory ---- */

typedef struct workload {
    far_mat x1, x2, u, nngp, ntk, diag, limit, order;
    far_kernel *k;
} workload;

/* So many pairs that curves are fitted behind norms. */
static workload make_workload(void)
{
    return (workload){.x1 = make_points(211, 3, FAR_F64, 5),
                      .x2 = make_points(163, 3, FAR_F64, 6),
                      .u = make_points(2, 3, FAR_F64, 7),
                      .nngp = make_mat(211, 163, FAR_F64),
                      .ntk = make_mat(211, 163, FAR_F64),
                      .diag = make_mat(211, 1, FAR_F64),
                      .limit = make_mat(2, 211, FAR_F64),
                      .order = make_mat(2, 1, FAR_F64)};
}

static void free_workload(workload *w)
{
    far_mat *all[] = {&w->x1, &w->x2, &w->u, &w->nngp, &w->ntk, &w->diag, &w->limit, &w->order};
    for (int i = 0; i < COUNT(all); i++) {
        free_mat(all[i]);
    }
}

/* Everything the library can be asked, one by one. */
typedef enum request { CREATE, EVAL, DIAG, LIMIT, SUPREMUM, REQUESTS } request;

static far_status ask(workload *w, const arch *a, request what)
{
    far_supremum s;
    switch (what) {
    case CREATE:
        w->k = (far_kernel *)&test_heap;
        return try_kernel(a->text, a->param, &w->k);
    case EVAL:
        return far_kernel_eval(ctx, w->k, &w->x1, &w->x2, FAR_FILL_FULL, &w->nngp, &w->ntk);
    case DIAG:
        return far_kernel_diag(ctx, w->k, &w->x1, &w->diag, NULL);
    case LIMIT:
        return far_kernel_limit(ctx, w->k, &w->u, &w->x1, &w->limit, NULL, NULL, &w->order);
    default:
        return far_kernel_supremum(ctx, w->k, 3, &s);
    }
}

/* Fails the first allocation, then the second, ... until the request succeeds. */
static int fail_each_allocation(workload *w, const arch *a, request what)
{
    heap before = test_heap;
    for (int k = 0;; k++) {
        test_heap.fail_at = test_heap.calls + k;
        far_status st = ask(w, a, what);
        test_heap.fail_at = -1;
        if (st == FAR_OK) {
            return k;
        }
        if (st != FAR_ERR_MEMORY) {
            fail_msg("%s: %s at allocation %d", a->text, far_status_name(st), k);
        }
        assert_holds(far_ctx_message(ctx), "out of memory");
        assert_int_equal(test_heap.live_blocks, before.live_blocks);
        assert_int_equal(test_heap.live_bytes, before.live_bytes);
        if (what == CREATE) {
            assert_null(w->k);
        }
    }
}

static void every_failed_allocation_is_clean(void **state)
{
    (void)state;
    static const arch cases[] = {
        {"dense relu dense", FAR_PARAM_NTK},
        {"dense tanh dense", FAR_PARAM_NTK},
        {"[dense ln relu]x3 dense", FAR_PARAM_NTK},
        {"dense relu(1.5) dense", FAR_PARAM_NTK},
        {"dense [skip(ln relu(2) dense)]x2 dense", FAR_PARAM_NTK},
        {"ln(affine) dense ln(affine) silu dense rms(affine) abs dense", FAR_PARAM_NTK},
        {"dense(5) skip(rms gelu dense(5)) dense(1)", FAR_PARAM_STANDARD},
    };
    workload w = make_workload();
    far_ctx_destroy(ctx);
    ctx = context_with(3); /* each thread has memory of its own */
    for (int i = 0; i < COUNT(cases); i++) {
        heap before = test_heap;
        for (int what = CREATE; what < REQUESTS; what++) {
            assert_true(fail_each_allocation(&w, &cases[i], (request)what) >= 4);
        }
        far_kernel_destroy(w.k);
        assert_int_equal(test_heap.live_blocks, before.live_blocks);
        assert_int_equal(test_heap.live_bytes, before.live_bytes);
    }
    free_workload(&w);
}

/* ---- few points ---- */

static void no_points_are_no_work(void **state)
{
    (void)state;
    far_mat none = far_mat_view(NULL, 0, 3, FAR_F64), x = make_points(7, 3, FAR_F64, 1);
    far_mat empty = far_mat_view(NULL, 0, 0, FAR_F64), column = far_mat_view(NULL, 0, 1, FAR_F64);
    far_mat wide = far_mat_view(NULL, 0, 7, FAR_F64), tall = far_mat_view(NULL, 7, 0, FAR_F64);
    for (int i = 0; i < COUNT(few_archs); i++) {
        const char *text = few_archs[i].text;
        far_kernel *k = kernel_of(text, few_archs[i].param);
        must_do(far_kernel_eval(ctx, k, &none, NULL, FAR_FILL_FULL, &empty, &empty), text);
        must_do(far_kernel_eval(ctx, k, &none, NULL, FAR_FILL_LOWER, &empty, NULL), text);
        must_do(far_kernel_eval(ctx, k, &none, &none, FAR_FILL_FULL, &empty, &empty), text);
        must_do(far_kernel_eval(ctx, k, &none, &x, FAR_FILL_FULL, &wide, &wide), text);
        must_do(far_kernel_eval(ctx, k, &x, &none, FAR_FILL_FULL, &tall, &tall), text);
        must_do(far_kernel_diag(ctx, k, &none, &column, &column), text);
        must_do(far_kernel_limit(ctx, k, &none, &x, &wide, &column, &wide, &column), text);
        must_do(far_kernel_limit(ctx, k, &none, NULL, &empty, &column, &empty, &column), text);
        far_kernel_destroy(k);
    }
    free_mat(&x);
}

/* base.h: ld is ignored when rows <= 1. */
static void one_row_needs_no_ld(void **state)
{
    (void)state;
    double point[3] = {0.5, -1.25, 2}, k_out = NAN, t_out = NAN, k_diag = NAN, t_diag = NAN;
    far_kernel *k = kernel_of("dense relu dense", FAR_PARAM_NTK);
    far_mat x = {point, 1, 3, -9, FAR_F64, 0}, mk = {&k_out, 1, 1, 0, FAR_F64, 0};
    far_mat mt = {&t_out, 1, 1, -5, FAR_F64, 0}, dk = {&k_diag, 1, 1, 0, FAR_F64, 0};
    far_mat dt = {&t_diag, 1, 1, 0, FAR_F64, 0};
    assert_int_equal(far_kernel_eval(ctx, k, &x, NULL, FAR_FILL_FULL, &mk, &mt), FAR_OK);
    assert_int_equal(far_kernel_diag(ctx, k, &x, &dk, &dt), FAR_OK);
    assert_true(k_out == k_diag && t_out == t_diag && k_out > 0 && t_out > k_out);
    assert_int_equal(far_kernel_eval(ctx, k, &x, &x, FAR_FILL_FULL, &mk, &mt), FAR_OK);
    assert_true(fabs(k_out - k_diag) <= 4 * ULP * k_diag);
    assert_true(fabs(t_out - t_diag) <= 4 * ULP * t_diag);
    far_kernel_destroy(k);
}

/* ---- Gram matrices of one kernel, in both ways to ask ---- */

typedef struct gram {
    far_mat x, nngp, ntk, nngp_diag, ntk_diag;
    far_kernel *k;
    const arch *a;
    bool borrowed; /* the kernel */
} gram;

static gram gram_of(far_kernel *k, const arch *a, int64_t n, int64_t d, far_dtype dtype)
{
    gram g = {.x = make_points(n, d, dtype, 11),
              .nngp = make_mat(n, n, dtype),
              .ntk = make_mat(n, n, dtype),
              .nngp_diag = make_mat(n, 1, dtype),
              .ntk_diag = make_mat(n, 1, dtype),
              .k = k,
              .a = a};
    must_do(far_kernel_eval(ctx, g.k, &g.x, NULL, FAR_FILL_FULL, &g.nngp, &g.ntk), a->text);
    must_do(far_kernel_diag(ctx, g.k, &g.x, &g.nngp_diag, &g.ntk_diag), a->text);
    return g;
}

static gram make_gram(const arch *a, int64_t n, int64_t d, far_dtype dtype)
{
    return gram_of(kernel_of(a->text, a->param), a, n, d, dtype);
}

/* The same once more, with the same kernel (relu(1.5) is slow to make). */
static gram gram_again(const gram *g, far_dtype dtype)
{
    gram again = gram_of(g->k, g->a, g->x.rows, g->x.cols, dtype);
    again.borrowed = true;
    return again;
}

static void free_gram(gram *g)
{
    free_mat(&g->x);
    free_mat(&g->nngp);
    free_mat(&g->ntk);
    free_mat(&g->nngp_diag);
    free_mat(&g->ntk_diag);
    far_kernel_destroy(g->borrowed ? NULL : g->k);
}

/* |a - b| over the root of the product of the diagonal values; 0 / 0 is 0. */
static double relative(double a, double b, double diag_i, double diag_j)
{
    double scale = sqrt(diag_i) * sqrt(diag_j), apart = fabs(a - b);
    return apart == 0 ? 0 : apart / scale;
}

static bool holds_any(const char *text, const char *const *words, int count)
{
    for (int i = 0; i < count; i++) {
        if (strstr(text, words[i])) {
            return true;
        }
    }
    return false;
}

/* What one kernel value may differ by when it is computed in another way: a few ulps, somewhat more
 * where gaps are what a smooth activation leaves of 1 - kappa; the error of expansions; and that of
 * the curves that may stand for all layers behind a norm (TOLERANCE in src/kernel/tail.c). */
static double slack(const gram *g)
{
    static const char *const smooth[] = {"erf", "gelu", "sin", "tanh", "silu"};
    static const char *const norms[] = {"ln", "rms"};
    double ulps = holds_any(g->a->text, smooth, COUNT(smooth)) ? 16 : 8;
    double curves = holds_any(g->a->text, norms, COUNT(norms)) ? 4e-15 : 0;
    return ulps * ULP + curves + far_kernel_tolerance(g->k);
}

static void assert_cell(const gram *g, bool tangent, int64_t i, int64_t j, double value, double tol)
{
    const far_mat *m = tangent ? &g->ntk : &g->nngp;
    const far_mat *diag = tangent ? &g->ntk_diag : &g->nngp_diag;
    double e = relative(get(m, i, j), value, get(diag, i, 0), get(diag, j, 0));
    if (!(e <= tol)) {
        fail_msg("%s: %s[%d][%d] = %.17g and %.17g, apart by %.3g, not %.3g", g->a->text,
                 tangent ? "ntk" : "nngp", (int)i, (int)j, get(m, i, j), value, e, tol);
    }
}

static void assert_close(const gram *g, const far_mat *nngp, const far_mat *ntk, double tol)
{
    for (int64_t i = 0; i < g->x.rows; i++) {
        for (int64_t j = 0; j < g->x.rows; j++) {
            assert_cell(g, false, i, j, get(nngp, i, j), tol);
            assert_cell(g, true, i, j, get(ntk, i, j), tol);
        }
    }
}

static void assert_symmetric(const far_mat *m, const char *text)
{
    for (int64_t i = 0; i < m->rows; i++) {
        for (int64_t j = 0; j < i; j++) {
            if (get(m, i, j) != get(m, j, i)) {
                fail_msg("%s: [%d][%d] = %.17g but [%d][%d] = %.17g", text, (int)i, (int)j,
                         get(m, i, j), (int)j, (int)i, get(m, j, i));
            }
        }
    }
}

static void assert_diagonal_is(const far_mat *m, const far_mat *diag, const char *text)
{
    for (int64_t i = 0; i < m->rows; i++) {
        if (get(m, i, i) != get(diag, i, 0)) {
            fail_msg("%s: [%d][%d] = %.17g, diag %.17g", text, (int)i, (int)i, get(m, i, i),
                     get(diag, i, 0));
        }
    }
}

static void full_matrices_are_symmetric_and_have_the_diagonal(void **state)
{
    (void)state;
    for (int i = arch_from(0); i < 2 * COUNT(archs); i += arch_step()) {
        gram g = make_gram(&archs[i / 2], i % 2 ? 61 : 37, 3, i % 2 ? FAR_F32 : FAR_F64);
        assert_symmetric(&g.nngp, g.a->text);
        assert_symmetric(&g.ntk, g.a->text);
        assert_diagonal_is(&g.nngp, &g.nngp_diag, g.a->text);
        assert_diagonal_is(&g.ntk, &g.ntk_diag, g.a->text);
        free_gram(&g);
    }
}

static void points_against_themselves_give_the_same_matrix(void **state)
{
    (void)state;
    for (int i = arch_from(1); i < COUNT(archs); i += arch_step()) {
        int64_t n = points_for(67, 37);
        gram g = make_gram(&archs[i], n, 5, FAR_F64);
        far_mat nngp = make_mat(n, n, FAR_F64), ntk = make_mat(n, n, FAR_F64);
        must_do(far_kernel_eval(ctx, g.k, &g.x, &g.x, FAR_FILL_FULL, &nngp, &ntk), g.a->text);
        assert_close(&g, &nngp, &ntk, slack(&g));
        free_mat(&nngp);
        free_mat(&ntk);
        free_gram(&g);
    }
}

/* ---- tiles ---- */

static far_mat row_of(const far_mat *m, int64_t i)
{
    far_mat row = *m;
    row.data = far_mat_row(m, i);
    row.rows = 1;
    return row;
}

static bool near_a_border(int64_t i)
{
    return i % FAR_TILE_SIDE <= 1 || i % FAR_TILE_SIDE == FAR_TILE_SIDE - 1;
}

/* Columns at the borders of tiles, and some between. */
static void assert_row_matches_single_pairs(const gram *g, int64_t i)
{
    double nngp, ntk;
    far_mat one = row_of(&g->x, i), mk = far_mat_view(&nngp, 1, 1, FAR_F64);
    far_mat mt = far_mat_view(&ntk, 1, 1, FAR_F64);
    for (int64_t j = 0; j < g->x.rows; j++) {
        if (near_a_border(j) || j % 7 == i % 7) {
            far_mat other = row_of(&g->x, j);
            must_do(far_kernel_eval(ctx, g->k, &one, &other, FAR_FILL_FULL, &mk, &mt), g->a->text);
            assert_cell(g, false, i, j, nngp, slack(g));
            assert_cell(g, true, i, j, ntk, slack(g));
        }
    }
}

static void assert_tiles_match_single_pairs(int64_t n, int first)
{
    for (int a = arch_from(first); a < COUNT(few_archs); a += arch_step()) {
        gram g = make_gram(&few_archs[a], n, 3, FAR_F64);
        for (int64_t i = 0; i < n; i++) {
            if (near_a_border(i) || i == n - 1) {
                assert_row_matches_single_pairs(&g, i);
            }
        }
        free_gram(&g);
    }
}

static void one_point_past_a_tile_matches_single_pairs(void **state)
{
    (void)state;
    assert_tiles_match_single_pairs(257, 0);
}

static void part_of_a_second_tile_matches_single_pairs(void **state)
{
    (void)state;
    assert_tiles_match_single_pairs(300, 1);
}

static void three_tiles_match_single_pairs(void **state)
{
    (void)state;
    assert_tiles_match_single_pairs(513, 2);
}

/* 263 x 521: three tiles across, two down, neither symmetric; or two each way. */
static void rectangles_are_parts_of_the_square(void **state)
{
    (void)state;
    int64_t rows = points_for(263, 257), cols = points_for(521, 269);
    for (int i = arch_from(1); i < COUNT(few_archs); i += arch_step()) {
        gram g = make_gram(&few_archs[i], cols, 3, FAR_F64);
        far_mat part = g.x, nngp = make_mat(rows, cols, FAR_F64),
                ntk = make_mat(rows, cols, FAR_F64);
        part.rows = rows;
        must_do(far_kernel_eval(ctx, g.k, &part, &g.x, FAR_FILL_FULL, &nngp, &ntk), g.a->text);
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t c = 0; c < cols; c++) {
                assert_cell(&g, false, r, c, get(&nngp, r, c), slack(&g));
                assert_cell(&g, true, r, c, get(&ntk, r, c), slack(&g));
            }
        }
        free_mat(&nngp);
        free_mat(&ntk);
        free_gram(&g);
    }
}

/* ---- strides ---- */

static far_mat spread_out(const far_mat *x, int64_t ld, double behind)
{
    far_mat wide = make_mat_ld(x->rows, x->cols, ld, (far_dtype)x->dtype, behind);
    for (int64_t i = 0; i < x->rows; i++) {
        for (int64_t j = 0; j < x->cols; j++) {
            set(&wide, i, j, get(x, i, j));
        }
    }
    return wide;
}

static void assert_guard(const far_mat *m)
{
    for (int64_t i = 0; i < m->rows; i++) {
        for (int64_t j = m->cols; j < m->ld; j++) {
            assert_true(get(m, i, j) == SENTINEL);
        }
    }
}

/* What stands behind the columns is neither read (it is nan) nor written. */
static void check_strides(const arch *a, far_dtype dtype)
{
    gram g = make_gram(a, 269, 3, dtype);
    far_mat x = spread_out(&g.x, 7, NAN), nngp = make_mat_ld(269, 269, 281, dtype, SENTINEL);
    far_mat ntk = make_mat_ld(269, 269, 277, dtype, SENTINEL);
    must_do(far_kernel_eval(ctx, g.k, &x, NULL, FAR_FILL_FULL, &nngp, &ntk), a->text);
    assert_true(same_bits(&nngp, &g.nngp));
    assert_true(same_bits(&ntk, &g.ntk));
    assert_guard(&nngp);
    assert_guard(&ntk);
    fill_with(&nngp, SENTINEL);
    fill_with(&ntk, SENTINEL);
    x.rows = nngp.rows = ntk.rows = points_for(269, 31);
    must_do(far_kernel_eval(ctx, g.k, &x, &g.x, FAR_FILL_FULL, &nngp, &ntk), a->text);
    assert_guard(&nngp);
    assert_guard(&ntk);
    free_mat(&x);
    free_mat(&nngp);
    free_mat(&ntk);
    free_gram(&g);
}

static void strides_change_nothing(void **state)
{
    (void)state;
    for (int i = arch_from(2); i < COUNT(few_archs); i += arch_step()) {
        check_strides(&few_archs[i], FAR_F64);
        check_strides(&few_archs[i], FAR_F32);
    }
}

static void columns_may_have_strides(void **state)
{
    (void)state;
    gram g = make_gram(&archs[2], 13, 3, FAR_F64);
    far_mat x = spread_out(&g.x, 5, NAN), nngp = make_mat_ld(13, 1, 3, FAR_F64, SENTINEL);
    far_mat ntk = make_mat_ld(13, 1, 2, FAR_F64, SENTINEL);
    assert_int_equal(far_kernel_diag(ctx, g.k, &x, &nngp, &ntk), FAR_OK);
    assert_true(same_bits(&nngp, &g.nngp_diag));
    assert_true(same_bits(&ntk, &g.ntk_diag));
    assert_guard(&nngp);
    assert_guard(&ntk);
    free_mat(&x);
    free_mat(&nngp);
    free_mat(&ntk);
    free_gram(&g);
}

static void limits_may_have_strides(void **state)
{
    (void)state;
    limit_call c = good_limit();
    assert_int_equal(run_limit(&c), FAR_OK);
    far_mat u = spread_out(&c.u, 11, NAN), x = spread_out(&c.x, 5, NAN), out[4];
    for (int i = 0; i < 4; i++) {
        out[i] = make_mat_ld(5, i % 2 ? 1 : 7, 13, FAR_F64, SENTINEL);
    }
    assert_int_equal(far_kernel_limit(ctx, c.k, &u, &x, &out[0], &out[1], &out[2], &out[3]),
                     FAR_OK);
    for (int i = 0; i < 4; i++) {
        assert_true(same_bits(&out[i], &c.out[i]));
        assert_guard(&out[i]);
        free_mat(&out[i]);
    }
    free_mat(&u);
    free_mat(&x);
    free_limit(&c);
}

/* ---- which part and which output is wanted ---- */

static void assert_lower_of(const far_mat *lower, const far_mat *full, const char *text)
{
    for (int64_t i = 0; i < full->rows; i++) {
        for (int64_t j = 0; j < full->rows; j++) {
            double want = j <= i ? get(full, i, j) : SENTINEL;
            if (get(lower, i, j) != want) {
                fail_msg("%s: [%d][%d] is %.17g, not %.17g", text, (int)i, (int)j, get(lower, i, j),
                         want);
            }
        }
    }
}

static void check_lower(far_kernel *k, const arch *a, int64_t n, far_dtype dtype)
{
    gram g = gram_of(k, a, n, 3, dtype);
    g.borrowed = true;
    far_mat nngp = make_mat(n, n, dtype), ntk = make_mat(n, n, dtype);
    must_do(far_kernel_eval(ctx, g.k, &g.x, NULL, FAR_FILL_LOWER, &nngp, &ntk), a->text);
    assert_lower_of(&nngp, &g.nngp, a->text);
    assert_lower_of(&ntk, &g.ntk, a->text);
    free_mat(&nngp);
    free_mat(&ntk);
    free_gram(&g);
}

static void lower_fill_leaves_the_upper_triangle_alone(void **state)
{
    (void)state;
    for (int i = arch_from(1); i < COUNT(archs) + COUNT(few_archs); i += arch_step()) {
        const arch *a = i < COUNT(archs) ? &archs[i] : &few_archs[i - COUNT(archs)];
        far_kernel *k = kernel_of(a->text, a->param);
        check_lower(k, a, i < COUNT(archs) ? 43 : 269, FAR_F64);
        check_lower(k, a, i < COUNT(archs) ? 41 : points_for(293, 257), FAR_F32);
        far_kernel_destroy(k);
    }
}

/* Returns how many of the two outputs have other bits when asked for alone. */
static int check_alone(const gram *g, const far_mat *x2, const far_mat *nngp, const far_mat *ntk)
{
    far_mat one = make_mat(nngp->rows, nngp->cols, (far_dtype)nngp->dtype);
    must_do(far_kernel_eval(ctx, g->k, &g->x, x2, FAR_FILL_FULL, &one, NULL), g->a->text);
    bool same_nngp = same_bits(&one, nngp);
    must_do(far_kernel_eval(ctx, g->k, &g->x, x2, FAR_FILL_FULL, NULL, &one), g->a->text);
    bool same_ntk = same_bits(&one, ntk);
    free_mat(&one);
    if (!same_nngp || !same_ntk) {
        print_message("%s%s: other bits for%s%s alone\n", g->a->text, x2 ? " with x2" : "",
                      same_nngp ? "" : " nngp", same_ntk ? "" : " ntk");
    }
    return !same_nngp + !same_ntk;
}

static int check_outputs_alone(far_kernel *k, const arch *a, far_dtype dtype)
{
    int64_t rows = points_for(71, 37), cols = points_for(61, 23);
    gram g = gram_of(k, a, rows, 3, dtype);
    far_mat x2 = make_points(cols, 3, dtype, 12), nngp = make_mat(rows, cols, dtype);
    far_mat ntk = make_mat(rows, cols, dtype);
    g.borrowed = true;
    must_do(far_kernel_eval(ctx, k, &g.x, &x2, FAR_FILL_FULL, &nngp, &ntk), a->text);
    int faults = check_alone(&g, NULL, &g.nngp, &g.ntk) + check_alone(&g, &x2, &nngp, &ntk);
    free_mat(&x2);
    free_mat(&nngp);
    free_mat(&ntk);
    free_gram(&g);
    return faults;
}

static void either_output_alone_has_the_same_bits(void **state)
{
    (void)state;
    int faults = 0;
    for (int i = arch_from(2); i < COUNT(archs); i += arch_step()) {
        far_kernel *k = kernel_of(archs[i].text, archs[i].param);
        faults += check_outputs_alone(k, &archs[i], FAR_F64);
        faults += check_outputs_alone(k, &archs[i], FAR_F32);
        far_kernel_destroy(k);
    }
    assert_int_equal(faults, 0);
}

/* ---- threads ---- */

/* All the matrices there are, with so many threads. */
typedef struct results {
    far_mat m[8];
} results;

static results results_with(const arch *a, int threads, int64_t n, far_dtype dtype)
{
    far_ctx *usual = ctx;
    ctx = context_with(threads);
    gram g = make_gram(a, n, 3, dtype);
    far_mat x2 = make_points(67, 3, dtype, 13), u = make_points(5, 3, FAR_F64, 14);
    results r = {{g.nngp, g.ntk, g.nngp_diag, g.ntk_diag, make_mat(n, 67, dtype),
                  make_mat(n, 67, dtype), make_mat(5, 5, FAR_F64), make_mat(5, 5, FAR_F64)}};
    must_do(far_kernel_eval(ctx, g.k, &g.x, &x2, FAR_FILL_FULL, &r.m[4], &r.m[5]), a->text);
    must_do(far_kernel_limit(ctx, g.k, &u, NULL, &r.m[6], NULL, &r.m[7], NULL), a->text);
    free_mat(&x2);
    free_mat(&u);
    free_mat(&g.x);
    far_kernel_destroy(g.k);
    far_ctx_destroy(ctx);
    ctx = usual;
    return r;
}

static void free_results(results *r)
{
    for (int i = 0; i < COUNT(r->m); i++) {
        free_mat(&r->m[i]);
    }
}

static void check_threads(const arch *a, far_dtype dtype)
{
    static const int threads[] = {2, 7};
    int64_t n = points_for(521, 263); /* three tiles a side, or two */
    results one = results_with(a, 1, n, dtype);
    for (int t = (int)points_for(0, COUNT(threads) - 1); t < COUNT(threads); t++) {
        results many = results_with(a, threads[t], n, dtype);
        for (int i = 0; i < COUNT(one.m); i++) {
            if (!same_bits(&one.m[i], &many.m[i])) {
                fail_msg("%s: matrix %d differs with %d threads", a->text, i, threads[t]);
            }
        }
        free_results(&many);
    }
    free_results(&one);
}

static void any_number_of_threads_gives_the_same_bits(void **state)
{
    (void)state;
    for (int i = arch_from(0); i < COUNT(few_archs); i += arch_step()) {
        check_threads(&few_archs[i], i % 2 ? FAR_F32 : FAR_F64);
    }
}

/* ---- precisions and instruction sets ---- */

static void assert_grams_close(const gram *wide, const gram *narrow, double tol)
{
    for (int64_t i = 0; i < wide->x.rows; i++) {
        for (int64_t j = 0; j < wide->x.rows; j++) {
            assert_cell(wide, false, i, j, get(&narrow->nngp, i, j), tol);
            assert_cell(wide, true, i, j, get(&narrow->ntk, i, j), tol);
        }
    }
}

static void floats_are_close_to_doubles(void **state)
{
    (void)state;
    for (int i = arch_from(0); i < COUNT(archs); i += arch_step()) {
        gram wide = make_gram(&archs[i], 59, 5, FAR_F64);
        gram narrow = gram_again(&wide, FAR_F32);
        assert_grams_close(&wide, &narrow, 2e-5);
        free_gram(&wide);
        free_gram(&narrow);
    }
}

static void check_isa(const gram *best, const char *isa, double tol)
{
    assert_int_equal(setenv("FARFIELD_ISA", isa, 1), 0);
    gram other = gram_again(best, (far_dtype)best->x.dtype);
    assert_int_equal(unsetenv("FARFIELD_ISA"), 0);
    assert_grams_close(best, &other, tol);
    free_gram(&other);
}

/* Enough pairs for curves, with norms on the input, without biases, behind skips; all points in one
 * orthant, where no cogap is worked out, and all around. */
static void curves_agree_with_single_rows(void **state)
{
    (void)state;
    static const arch tails[] = {
        {"rms dense ln gelu dense", FAR_PARAM_NTK},
        {"dense(nobias) ln tanh rms dense", FAR_PARAM_NTK},
        {"ln(affine) dense relu dense relu dense relu dense", FAR_PARAM_NTK},
        {"dense relu dense ln relu dense relu dense relu dense", FAR_PARAM_NTK},
        {"dense skip(relu dense) ln relu dense relu dense relu dense", FAR_PARAM_NTK},
        {"dense(7) ln relu dense(11) relu dense(13) relu dense", FAR_PARAM_STANDARD},
        {"dense ln sin(w0=30) dense sin(w0=30) dense sin(w0=30) dense", FAR_PARAM_NTK},
    };
    for (int i = 0; i < 2 * COUNT(tails); i++) {
        far_kernel *k = kernel_of(tails[i / 2].text, tails[i / 2].param);
        far_mat x = make_points(191, 3, FAR_F64, 17), all = make_mat(191, 191, FAR_F64);
        far_mat row = make_mat(1, 191, FAR_F64);
        for (int64_t j = 0; i % 2 && j < 3 * 191; j++) {
            set(&x, j / 3, j % 3, fabs(get(&x, j / 3, j % 3)));
        }
        far_mat first = far_mat_view(x.data, 1, 3, FAR_F64);
        for (int tangent = 0; tangent < 2; tangent++) {
            must_do(far_kernel_eval(ctx, k, &x, NULL, FAR_FILL_FULL, tangent ? NULL : &all,
                                    tangent ? &all : NULL),
                    tails[i / 2].text);
            must_do(far_kernel_eval(ctx, k, &first, &x, FAR_FILL_FULL, tangent ? NULL : &row,
                                    tangent ? &row : NULL),
                    tails[i / 2].text);
            for (int64_t j = 0; j < 191; j++) {
                double most = sqrt(get(&all, 0, 0) * get(&all, j, j));
                assert_true(fabs(get(&all, 0, j) - get(&row, 0, j)) <= 1e-13 * most);
            }
        }
        free_mat(&x);
        free_mat(&all);
        free_mat(&row);
        far_kernel_destroy(k);
    }
}

/* ---- results that do not fit ---- */

static void assert_range(far_status st, const char *piece)
{
    assert_int_equal(st, FAR_ERR_RANGE);
    assert_holds(far_ctx_message(ctx), piece);
}

/* ---- matrices larger than caches, which are written past them ---- */

enum { LARGE = 1009, PART = 97 };

/* Rows of 64 bytes, or ones that begin anywhere. */
static far_mat large_mat(far_dtype dtype, bool aligned, double **memory)
{
    int64_t ld = aligned ? 1024 : LARGE + 2;
    size_t bytes = (size_t)(LARGE * ld + 16) * sizeof(double);
    *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    assert_non_null(*memory);
    char *from = (char *)*memory + (aligned ? 0 : far_dtype_size(dtype));
    far_mat m = far_mat_view(from, LARGE, LARGE, dtype);
    m.ld = ld;
    fill_with(&m, SENTINEL);
    return m;
}

/* m against rectangles of PART rows, which are too small for that; what was not asked for is as it
 * was. */
static void assert_large(const far_kernel *k, const far_mat *x, const far_mat *m, bool lower,
                         bool nngp)
{
    double tolerance = x->dtype == FAR_F32 ? 2e-5 : 1e-13;
    for (int64_t i0 = 0; i0 < LARGE; i0 += PART) {
        int64_t rows = far_least(PART, LARGE - i0);
        far_mat part = far_mat_view(far_mat_row(x, i0), rows, x->cols, x->dtype);
        far_mat values = make_mat(rows, LARGE, x->dtype);
        must(far_kernel_eval(ctx, k, &part, x, FAR_FILL_FULL, nngp ? &values : NULL,
                             nngp ? NULL : &values));
        for (int64_t i = 0; i < rows; i++) {
            for (int64_t j = 0; j < LARGE; j++) {
                bool asked = !lower || j <= i0 + i;
                double most =
                    get(m, j, j) > get(m, i0 + i, i0 + i) ? get(m, j, j) : get(m, i0 + i, i0 + i);
                double expected = asked ? get(&values, i, j) : SENTINEL;
                if (!(fabs(get(m, i0 + i, j) - expected) <= (asked ? tolerance * most : 0))) {
                    fail_msg("%s[%lld][%lld] is %.17g, not %.17g", nngp ? "K" : "Theta",
                             (long long)(i0 + i), (long long)j, get(m, i0 + i, j), expected);
                }
            }
            for (int64_t j = LARGE; j < m->ld && i0 + i + 1 < LARGE; j++) {
                assert_true(get(m, i0 + i, j) == SENTINEL);
            }
        }
        free_mat(&values);
    }
}

static void large_matrices_have_the_values_of_small_ones(void **state)
{
    (void)state;
    static const char *const networks[] = {"dense ln relu dense relu dense",
                                           "dense relu dense ln erf dense", "dense relu dense"};
    for (int which = 0; which < 8; which++) {
        bool lower = which % 2, aligned = which / 2 % 2, single = which / 4 % 2;
        far_dtype dtype = single ? FAR_F32 : FAR_F64;
        far_kernel *k = kernel_of(networks[which % 3], FAR_PARAM_NTK);
        far_mat x = make_mat(LARGE, 3, dtype);
        for (int64_t i = 0; i < LARGE; i++) {
            for (int64_t j = 0; j < 3; j++) {
                set(&x, i, j, i % 13 == 5 ? -get(&x, i - 1, j) : noise((uint64_t)(3 * i + j)));
            }
        }
        double *memory[2];
        far_mat nngp = large_mat(dtype, aligned, &memory[0]);
        far_mat ntk = large_mat(dtype, aligned, &memory[1]);
        far_fill fill = lower ? FAR_FILL_LOWER : FAR_FILL_FULL;
        must(far_kernel_eval(ctx, k, &x, NULL, fill, &nngp, &ntk));
        assert_large(k, &x, &nngp, lower, true);
        assert_large(k, &x, &ntk, lower, false);
        free(memory[0]);
        free(memory[1]);
        free_mat(&x);
        far_kernel_destroy(k);
    }
}

static void results_too_large_are_named_and_the_rest_is_there(void **state)
{
    (void)state;
    double points[] = {1, 1e100}, values[4] = {0}, column[2];
    far_mat x = far_mat_view(points, 2, 1, FAR_F64), out = far_mat_view(values, 2, 2, FAR_F64);
    far_mat diag = far_mat_view(column, 2, 1, FAR_F64), one = far_mat_view(points, 1, 1, FAR_F64);
    far_kernel *k = kernel_of("dense(nobias) relu(2) dense(nobias)", FAR_PARAM_NTK);
    assert_range(far_kernel_eval(ctx, k, &x, NULL, FAR_FILL_FULL, &out, NULL),
                 "x1: row 2: K with row 2 is about 1e400, too large for float64");
    assert_true(isfinite(values[0]) && isfinite(values[1]) && isinf(values[3]));
    assert_range(far_kernel_diag(ctx, k, &x, NULL, &diag), "x: row 2: Theta(x, x) is too large");
    assert_true(isfinite(column[0]) && isinf(column[1]));
    far_mat cross = far_mat_view(values, 2, 1, FAR_F64);
    must_do(far_kernel_eval(ctx, k, &x, &one, FAR_FILL_FULL, &cross, NULL), "in range");
    far_kernel_destroy(k);
}

static void scales_past_all_exponents_are_refused_by_row_and_layer(void **state)
{
    (void)state;
    double points[] = {1, 2}, values[4];
    far_mat x = far_mat_view(points, 2, 1, FAR_F64), out = far_mat_view(values, 2, 2, FAR_F64);
    far_mat diag = far_mat_view(values, 2, 1, FAR_F64);
    far_supremum s;
    far_kernel *k = kernel_of("[dense(nobias) relu(64)]x21 dense ln relu dense", FAR_PARAM_NTK);
    const char *where = "row 2: behind layer 40 (relu)";
    assert_range(far_kernel_eval(ctx, k, &x, NULL, FAR_FILL_FULL, &out, NULL), where);
    assert_range(far_kernel_diag(ctx, k, &x, NULL, &diag), where);
    assert_range(far_kernel_supremum(ctx, k, 1, &s), "the supremum of Theta(x, x): behind layer");
    far_kernel_destroy(k);
}

static void angles_that_are_no_doubles_are_refused(void **state)
{
    (void)state;
    double points[] = {1, 1e190}, values[4];
    far_mat x = far_mat_view(points, 2, 1, FAR_F64), out = far_mat_view(values, 2, 2, FAR_F64);
    far_kernel *sine = kernel_of("dense sin dense", FAR_PARAM_NTK);
    far_kernel *soft = kernel_of("dense tanh dense", FAR_PARAM_NTK);
    assert_range(far_kernel_eval(ctx, sine, &x, NULL, FAR_FILL_FULL, &out, NULL),
                 "x1: row 2: in front of layer 2 (sin)");
    assert_range(far_kernel_eval(ctx, soft, &x, NULL, FAR_FILL_FULL, NULL, &out),
                 "x1: row 2: in front of layer 2 (tanh)");
    must_do(far_kernel_eval(ctx, soft, &x, NULL, FAR_FILL_FULL, &out, NULL), "K");
    far_kernel_destroy(sine);
    far_kernel_destroy(soft);
}

static void suprema_too_large_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *piece;
    } cases[] = {
        {"[dense(w=2) relu(2)]x12 dense", "it grows like (|x| / sqrt(d))^8192, with a factor"},
        {"dense ln relu dense(w=1e200) relu dense", "finite but too large for float64"},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        far_supremum s;
        far_kernel *k = kernel_of(cases[i].text, FAR_PARAM_NTK);
        assert_range(far_kernel_supremum(ctx, k, 1, &s), cases[i].piece);
        far_kernel_destroy(k);
    }
}

static void lower_instruction_sets_agree(void **state)
{
    (void)state;
    assert_int_equal(unsetenv("FARFIELD_ISA"), 0);
    for (int i = arch_from(1); i < COUNT(archs); i += arch_step()) {
        gram wide = make_gram(&archs[i], points_for(73, 41), 5, FAR_F64);
        gram narrow = gram_again(&wide, FAR_F32);
        check_isa(&wide, "avx2", 1e-13);
        check_isa(&wide, "baseline", 1e-13);
        check_isa(&narrow, "avx2", 2e-5);
        check_isa(&narrow, "baseline", 2e-5);
        free_gram(&narrow);
        free_gram(&wide);
    }
}

static const char *isa_when_asked(const char *isa)
{
    assert_int_equal(setenv("FARFIELD_ISA", isa, 1), 0);
    const char *got = far_kernel_isa();
    assert_int_equal(unsetenv("FARFIELD_ISA"), 0);
    return got;
}

static void the_instruction_set_can_only_be_lowered(void **state)
{
    (void)state;
    assert_int_equal(unsetenv("FARFIELD_ISA"), 0);
    const char *best = far_kernel_isa();
    assert_true(!strcmp(best, "avx512") || !strcmp(best, "avx2") || !strcmp(best, "baseline"));
    assert_string_equal(isa_when_asked("baseline"), "baseline");
    assert_string_equal(isa_when_asked("avx512"), best);
    assert_string_equal(isa_when_asked("sse9"), best);
    assert_string_equal(isa_when_asked(""), best);
    assert_string_equal(isa_when_asked("avx2"), strcmp(best, "baseline") ? "avx2" : "baseline");
}

/* ---- many features ---- */

static double dot(const far_mat *x, int64_t i, int64_t j)
{
    long double sum = 0;
    for (int64_t k = 0; k < x->cols; k++) {
        sum += (long double)get(x, i, k) * get(x, j, k);
    }
    return (double)(sum / x->cols);
}

static void any_number_of_features_works(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 2, 17, 127, 128, 129, 257, 1000};
    static const arch linear = {"dense(b=0)", FAR_PARAM_NTK};
    for (int s = 0; s < COUNT(sizes); s++) {
        gram g = make_gram(&linear, 29, sizes[s], FAR_F64);
        for (int64_t i = 0; i < 29; i++) {
            for (int64_t j = 0; j < 29; j++) {
                assert_cell(&g, false, i, j, dot(&g.x, i, j), 1e-14);
                assert_cell(&g, true, i, j, dot(&g.x, i, j), 1e-14);
            }
        }
        free_gram(&g);
    }
}

static void a_thousand_features_work_everywhere(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(few_archs); i++) {
        gram wide = make_gram(&few_archs[i], 23, 1000, FAR_F64);
        gram narrow = gram_again(&wide, FAR_F32);
        assert_grams_close(&wide, &narrow, 2e-5);
        free_gram(&wide);
        free_gram(&narrow);
    }
}

/* ---- progress ---- */

/* 601 points are six tiles of the lower triangle. */
static far_status eval_601(far_ctx *with, int stop_at)
{
    far_ctx *usual = ctx;
    ctx = with;
    far_kernel *k = kernel_of("dense relu dense", FAR_PARAM_NTK);
    far_mat x = make_points(601, 2, FAR_F32, 15), ntk = make_mat(601, 601, FAR_F32);
    ear = (listener){.stop_at = stop_at};
    far_status st = far_kernel_eval(ctx, k, &x, NULL, FAR_FILL_LOWER, NULL, &ntk);
    far_kernel_destroy(k);
    free_mat(&x);
    free_mat(&ntk);
    ctx = usual;
    return st;
}

static void progress_goes_up_to_the_total(void **state)
{
    (void)state;
    far_ctx *one = context_with(1);
    assert_int_equal(eval_601(one, 0), FAR_OK);
    assert_true(ear.calls > 1 && orderly());
    assert_true(ear.last == ear.total && ear.total >= ear.calls);
    far_ctx_destroy(one);
}

static void the_callback_cancels(void **state)
{
    (void)state;
    far_ctx *one = context_with(1);
    for (int stop_at = 1; stop_at <= 3; stop_at++) {
        assert_int_equal(eval_601(one, stop_at), FAR_ERR_CANCELLED);
        assert_int_equal(ear.calls, stop_at);
        assert_holds(far_ctx_message(one), "cancelled");
    }
    assert_int_equal(eval_601(one, 0), FAR_OK);
    far_ctx_destroy(one);
}

/* The calling thread may be so late that others have done all the work: then nobody asks. */
static void the_callback_cancels_a_team(void **state)
{
    (void)state;
    for (int threads = 2; threads <= 7; threads += 5) {
        far_ctx *team = context_with(threads);
        far_status st = eval_601(team, 1);
        assert_int_equal(st, ear.calls ? FAR_ERR_CANCELLED : FAR_OK);
        assert_true(ear.calls <= 1);
        far_ctx_destroy(team);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(kernel_options_start_with_their_size),
        TEST(kernel_options_are_checked),
        TEST(create_refuses_missing_pointers),
        TEST(create_clears_its_output_also_without_context_or_text),
        TEST(texts_that_do_not_parse_say_where),
        TEST(the_text_is_canonical),
        TEST(closed_forms_have_no_tolerance_and_expansions_a_small_one),
        TEST(architectures_without_a_kernel_are_refused_by_column),
        TEST(their_neighbours_are_accepted),
        TEST(skips_whose_bodies_pass_their_input_on_are_refused_or_right),
        TEST(affine_terms_pass_through_the_norms_behind_them),
        TEST(eval_refuses_missing_things),
        TEST(eval_refuses_shapes_that_do_not_agree),
        TEST(eval_refuses_points_without_columns),
        TEST(eval_refuses_types_devices_and_fills_it_does_not_know),
        TEST(values_that_are_not_finite_are_named_by_row_and_column),
        TEST(input_groups_must_divide_the_features),
        TEST(eval_without_outputs_still_checks),
        TEST(diag_checks_its_arguments),
        TEST(diag_says_argument_not_shape_when_the_type_is_wrong),
        TEST(limit_checks_its_arguments),
        TEST(limit_calls_its_arguments_by_their_names),
        TEST(limit_refuses_values_that_are_no_direction),
        TEST(limit_refuses_a_sine_of_the_raw_input),
        TEST(limit_accepts_a_sine_of_a_bounded_input),
        TEST(any_output_of_a_limit_may_be_left_out),
        TEST(supremum_checks_its_arguments),
        TEST(proven_suprema_are_above_every_value),
        TEST(supremum_refuses_what_it_does_not_know),
        TEST(supremum_refuses_input_groups_that_do_not_divide),
        TEST(supremum_is_no_constant_for_being_flat_near_the_data),
        TEST(supremum_is_proven_behind_weights_of_zero),
        TEST(supremum_is_not_proven_where_theta_has_no_kernel),
        TEST(supremum_of_a_normalised_single_feature_is_constant),
        TEST(growth_counts_the_layers_on_the_input),
        TEST(a_norm_behind_a_saturating_input_reaches_its_end),
        TEST(a_slope_that_is_infinite_at_zero_is_not_bounded),
        TEST(every_failed_allocation_is_clean),
        TEST(no_points_are_no_work),
        TEST(one_row_needs_no_ld),
        TEST(full_matrices_are_symmetric_and_have_the_diagonal),
        TEST(points_against_themselves_give_the_same_matrix),
        TEST(one_point_past_a_tile_matches_single_pairs),
        TEST(part_of_a_second_tile_matches_single_pairs),
        TEST(three_tiles_match_single_pairs),
        TEST(rectangles_are_parts_of_the_square),
        TEST(strides_change_nothing),
        TEST(columns_may_have_strides),
        TEST(limits_may_have_strides),
        TEST(lower_fill_leaves_the_upper_triangle_alone),
        TEST(either_output_alone_has_the_same_bits),
        TEST(any_number_of_threads_gives_the_same_bits),
        TEST(floats_are_close_to_doubles),
        TEST(curves_agree_with_single_rows),
        TEST(large_matrices_have_the_values_of_small_ones),
        TEST(results_too_large_are_named_and_the_rest_is_there),
        TEST(scales_past_all_exponents_are_refused_by_row_and_layer),
        TEST(angles_that_are_no_doubles_are_refused),
        TEST(suprema_too_large_are_refused),
        TEST(lower_instruction_sets_agree),
        TEST(the_instruction_set_can_only_be_lowered),
        TEST(any_number_of_features_works),
        TEST(a_thousand_features_work_everywhere),
        TEST(progress_goes_up_to_the_total),
        TEST(the_callback_cancels),
        TEST(the_callback_cancels_a_team),
    };
    return cmocka_run_group_tests_name("kernel", tests, NULL, NULL);
}
