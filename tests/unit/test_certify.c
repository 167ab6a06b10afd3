/*
 * Certificates: what they say of small models, that the check accepts them and nothing that was
 * changed, every failing allocation, cancelling at any point. Whether the bounds hold is for
 * numeric/test_certify_numbers.c.
 */
#include "../../src/certify/certify_internal.h"
#include "../../src/data/frame_internal.h"

#include <farfield/farfield.h>
#include <jansson.h>

#include "certificates.h"
#include "tables.h"

#define LN_FIRST "dense ln relu dense relu dense"
#define NO_NORM "dense relu dense relu dense"

/* ---- models and certificates without ceremony ---- */

static far_model *fit_with(const char *csv, far_fit_opts o)
{
    far_frame *frame = table_of(csv);
    far_model *m;
    must(far_model_fit(ctx, frame, &o, &m));
    far_frame_destroy(frame);
    return m;
}

static far_fit_opts options(const char *target, const char *arch, double ridge)
{
    far_fit_opts o;
    far_fit_opts_init(&o);
    o.target = target;
    o.arch = arch;
    o.ridge = ridge;
    return o;
}

static far_model *fit(const char *csv, const char *target, const char *arch)
{
    return fit_with(csv, options(target, arch, 0.01));
}

static far_certify_opts quick(void)
{
    far_certify_opts o;
    far_certify_opts_init(&o);
    o.seconds = 0.3;
    o.starts = 6;
    o.gap = 0.2;
    return o;
}

static far_certificate *certify_with(const far_model *m, far_certify_opts o)
{
    far_certificate *c;
    must(far_model_certify(ctx, m, &o, &c));
    return c;
}

static far_certificate *certify(const far_model *m)
{
    return certify_with(m, quick());
}

static void refuse(const far_model *m, far_certify_opts o, far_status expected, const char *piece)
{
    far_certificate *c = (far_certificate *)&o;
    refused(far_model_certify(ctx, m, &o, &c), expected, piece);
    assert_null(c);
}

/* |f| of output j at a raw point, or its limit (and order) along a raw direction. */
static double value_at(const far_model *m, int64_t j, const double *raw, bool infinite,
                       double *order)
{
    int64_t d = far_model_describe(m).inputs, p = far_model_describe(m).outputs;
    const double *centre = far_columns_describe(m->columns).scaling.input_centre.data,
                 *scale = far_columns_describe(m->columns).scaling.input_scale.data;
    double x[8], y[8], own_order = 0;
    assert_true(d <= 8 && p <= 8);
    for (int64_t i = 0; i < d; i++) {
        x[i] = (raw[i] - (infinite ? 0 : centre[i])) / scale[i];
    }
    far_mat point = far_mat_view(x, 1, d, FAR_F64), mean = far_mat_view(y, 1, p, FAR_F64);
    far_mat orders = far_mat_view(&own_order, 1, 1, FAR_F64);
    must(infinite ? far_model_limit(ctx, m, &point, &mean, &orders)
                  : far_model_eval(ctx, m, &point, &mean));
    if (order) {
        *order = own_order;
    }
    return y[j];
}

static double norm(const double *v, int64_t d)
{
    double square = 0;
    for (int64_t i = 0; i < d; i++) {
        square += v[i] * v[i];
    }
    return sqrt(square);
}

/* ---- data ---- */

#define LINE "a,y\n1,3\n2,5\n4,-1\n5.5,2\n8,4\n9,4.5\n11,0\n"
#define PLANE                                                                                      \
    "a,b,y,z\n1,0,3,1\n2,5,5,-2\n4,1,-1,4\n5.5,-3,2,2\n8,2,4,7\n9,0.5,4.5,1\n11,3,0,-3\n"          \
    "3,-2,1,0\n7,4,2,9\n6,6,1,1\n12,-4,2,5\n"
#define PETS "a,b,who\n1,0,cat\n2,5,dog\n3,1,cat\n4.5,2,ant\n6,-3,dog\n7,0,cat\n8,3,ant\n"
#define FLAT_AND_NOT "a,y,z\n1,3,7\n2,5,7\n4,-1,7\n5.5,2,7\n8,4,7\n"

/* ---- arguments ---- */

static void certify_checks_its_arguments(void **state)
{
    (void)state;
    far_model *m = fit(LINE, "y", LN_FIRST);
    far_certify_opts good = quick(), o = good;
    far_certificate *c;
    refused(far_model_certify(ctx, m, &o, NULL), FAR_ERR_ARG, "out");
    refused(far_model_certify(ctx, NULL, &o, &c), FAR_ERR_ARG, "model");
    refused(far_model_certify(ctx, m, NULL, &c), FAR_ERR_ARG, "opts");
    o.size = 0;
    refuse(m, o, FAR_ERR_ARG, "far_certify_opts_init");
    o = good, o.starts = 0;
    refuse(m, o, FAR_ERR_ARG, "starts");
    o = good, o.gap = 0;
    refuse(m, o, FAR_ERR_ARG, "gap");
    o = good, o.gap = NAN;
    refuse(m, o, FAR_ERR_ARG, "gap");
    o = good, o.seconds = -1;
    refuse(m, o, FAR_ERR_ARG, "seconds");
    o = good, o.seconds = NAN;
    refuse(m, o, FAR_ERR_ARG, "seconds");
    o = good, o.exceeds = -1;
    refuse(m, o, FAR_ERR_ARG, "exceed");
    o = good, o.exceeds = INFINITY;
    refuse(m, o, FAR_ERR_ARG, "exceed");
    char *text = NULL;
    far_certificate *made = certify(m);
    assert_null(far_certificate_bound(made, -1));
    assert_null(far_certificate_bound(made, 1));
    refused(far_certificate_json(ctx, NULL, &text), FAR_ERR_ARG, "certificate");
    refused(far_certificate_json(ctx, made, NULL), FAR_ERR_ARG, "out");
    far_certificate_destroy(made);
    far_certificate_destroy(NULL);
    far_text_free(ctx, NULL);
    far_model_destroy(m);
}

/* ---- what they say ---- */

static void check_bounded(const far_model *m, const far_certificate *c)
{
    far_certificate_info info = far_certificate_describe(c);
    far_model_info own = far_model_describe(m);
    assert_true(info.verdict == FAR_BOUNDED && info.outputs == own.outputs && isfinite(info.C));
    assert_true(info.lambda_min == own.lambda_min && info.condition == own.condition &&
                info.ridge == own.ridge);
    assert_non_null(info.C_by);
    for (int64_t j = 0; j < info.outputs; j++) {
        const far_bound *b = far_certificate_bound(c, j);
        double centre =
            fabs(((const double *)far_columns_describe(m->columns).scaling.output_centre.data)[j]);
        assert_int_equal(b->verdict, FAR_BOUNDED);
        assert_non_null(b->theorem);
        assert_non_null(b->method);
        assert_true(b->b1 - centre <= b->b2 - centre + 1e-12);
        assert_true(b->b2 - centre <= (b->b3 - centre) / sqrt((double)own.rows) + 1e-9);
        assert_true(b->tightest <= b->b1 && b->sup_found <= b->tightest);
        assert_true(b->lowest <= b->highest);
        assert_true(-b->tightest <= b->lowest + 1e-12 && b->highest <= b->tightest + 1e-12);
        assert_true(isnan(b->slope) && isnan(b->order) && isnan(b->beyond) && !b->direction);
        double order = 0, value = value_at(m, j, b->at, b->at_infinity, &order);
        assert_near(fabs(value), b->sup_found, 1e-9 * (b->sup_found + centre));
        assert_true(order == 0);
        assert_true(b->lowest <= value + 1e-12 && value <= b->highest + 1e-12);
        assert_true(!b->at_infinity || fabs(norm(b->at, own.inputs) - 1) < 1e-12);
    }
}

static void check_unbounded(const far_model *m, const far_certificate *c, double order)
{
    assert_int_equal(far_certificate_describe(c).verdict, FAR_UNBOUNDED);
    for (int64_t j = 0; j < far_model_describe(m).outputs; j++) {
        const far_bound *b = far_certificate_bound(c, j);
        double own_order;
        assert_int_equal(b->verdict, FAR_UNBOUNDED);
        assert_true(isinf(b->tightest) && isinf(b->b1) && isinf(b->highest) && b->lowest < 0);
        assert_near(norm(b->direction, far_model_describe(m).inputs), 1, 1e-12);
        assert_near(value_at(m, j, b->direction, true, &own_order), b->slope,
                    1e-9 * fabs(b->slope));
        assert_true(b->order == own_order && b->slope != 0);
        assert_near(b->order, order, 1e-12);
        assert_near(b->confirmed, 1, 0.01);
        assert_true(isnan(b->intercept) == (order != 1));
    }
}

/* Its own text is accepted, and comes out the same from the same model. */
static void check_text(const far_model *m, const far_certificate *c)
{
    char *text;
    must(far_certificate_json(ctx, c, &text));
    must(far_model_certificate_check(ctx, m, text, FAR_PROOF_CHECK_SECONDS));
    far_text_free(ctx, text);
}

static void bounded_networks_are_certified(void **state)
{
    (void)state;
    static const struct {
        const char *csv, *target, *arch;
        far_kernel_kind kernel;
        far_param param;
    } cases[] = {
        {LINE, "y", "dense(7) ln relu dense(1)", FAR_KERNEL_NTK, FAR_PARAM_STANDARD},
        {LINE, "y", "dense(7) ln relu dense(1, nobias)", FAR_KERNEL_NTK, FAR_PARAM_STANDARD},
        {PLANE, "y", "dense(7) ln relu dense(1)", FAR_KERNEL_NNGP, FAR_PARAM_STANDARD},
        {LINE, "y", "dense ln relu", FAR_KERNEL_NNGP, FAR_PARAM_NTK},
        {LINE, "y", LN_FIRST, FAR_KERNEL_NTK, FAR_PARAM_NTK},
        {LINE, "y", "[dense ln relu]x2 dense", FAR_KERNEL_NNGP, FAR_PARAM_NTK},
        {PLANE, "y,z", "dense relu dense ln relu dense", FAR_KERNEL_NTK, FAR_PARAM_NTK},
        {PLANE, "z", "dense ln(eps=0.1) gelu dense", FAR_KERNEL_NTK, FAR_PARAM_NTK},
        {PLANE, "z,y", "dense ln erf dense(nobias)", FAR_KERNEL_NNGP, FAR_PARAM_NTK},
        {PETS, "who", "dense ln(affine) relu dense", FAR_KERNEL_NTK, FAR_PARAM_NTK},
        {PETS, "who", "dense rms leaky_relu(0.3) dense", FAR_KERNEL_NTK, FAR_PARAM_NTK},
        {PLANE, "y", "dense(nobias) ln relu dense", FAR_KERNEL_NTK, FAR_PARAM_NTK},
        {PLANE, "y", "ln dense relu dense", FAR_KERNEL_NTK, FAR_PARAM_NTK},
        {PLANE, "y", "erf dense relu dense", FAR_KERNEL_NTK, FAR_PARAM_NTK},
        {PLANE, "y", "relu dense ln relu dense", FAR_KERNEL_NTK, FAR_PARAM_NTK},
        {PLANE, "y", "dense(w=0) ln relu dense", FAR_KERNEL_NTK, FAR_PARAM_NTK},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        far_fit_opts o = options(cases[i].target, cases[i].arch, 0.01);
        o.kernel = cases[i].kernel;
        o.param = cases[i].param;
        far_model *m = fit_with(cases[i].csv, o);
        far_certificate *c = certify(m);
        check_bounded(m, c);
        check_text(m, c);
        far_certificate_destroy(c);
        far_model_destroy(m);
    }
}

static void outputs_have_names(void **state)
{
    (void)state;
    far_model *m = fit(PETS, "who", LN_FIRST);
    far_certificate *c = certify(m);
    assert_string_equal(far_certificate_bound(c, 0)->output, "who=ant");
    assert_string_equal(far_certificate_bound(c, 2)->output, "who=dog");
    far_certificate_destroy(c);
    far_model_destroy(m);
    m = fit(PLANE, "z,y", LN_FIRST);
    c = certify(m);
    assert_string_equal(far_certificate_bound(c, 0)->output, "z");
    assert_string_equal(far_certificate_bound(c, 1)->output, "y");
    far_certificate_destroy(c);
    far_model_destroy(m);
}

static void unbounded_networks_have_a_witness(void **state)
{
    (void)state;
    static const struct {
        const char *csv, *target, *arch;
        double order;
        far_kernel_kind kernel;
        far_param param;
    } cases[] = {
        {LINE, "y", NO_NORM, 1, FAR_KERNEL_NTK, FAR_PARAM_NTK},
        {PLANE, "y,z", "dense leaky_relu(0.2) dense", 1, FAR_KERNEL_NTK, FAR_PARAM_NTK},
        {PLANE, "z", "dense gelu dense", 1, FAR_KERNEL_NNGP, FAR_PARAM_NTK},
        {PLANE, "z", "dense silu dense", 1, FAR_KERNEL_NTK, FAR_PARAM_NTK},
        {PETS, "who", NO_NORM, 1, FAR_KERNEL_NTK, FAR_PARAM_NTK},
        {LINE, "y", "dense relu(2) dense", 2, FAR_KERNEL_NTK, FAR_PARAM_NTK},
        {LINE, "y", "[dense relu(2)]x3 dense", 8, FAR_KERNEL_NTK, FAR_PARAM_NTK},
        {LINE, "y", "dense relu(0.75) dense", 0.75, FAR_KERNEL_NTK, FAR_PARAM_NTK},
        {LINE, "y", "[dense relu(0.6)]x3 dense", 0.216, FAR_KERNEL_NTK, FAR_PARAM_NTK},
        {LINE, "y", "dense(5) relu dense(1)", 1, FAR_KERNEL_NTK, FAR_PARAM_STANDARD},
        {PLANE, "y", "dense batchnorm relu dense", 1, FAR_KERNEL_NTK, FAR_PARAM_NTK},
        {PLANE, "y", "relu dense relu dense", 1, FAR_KERNEL_NTK, FAR_PARAM_NTK},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        far_fit_opts o = options(cases[i].target, cases[i].arch, 0.01);
        o.kernel = cases[i].kernel;
        o.param = cases[i].param;
        far_model *m = fit_with(cases[i].csv, o);
        far_certify_opts q = quick();
        q.exceeds = i % 2 ? 100 : NAN;
        far_certificate *c = certify_with(m, q);
        check_unbounded(m, c, cases[i].order);
        for (int64_t j = 0; j < far_model_describe(m).outputs; j++) {
            const far_bound *b = far_certificate_bound(c, j);
            assert_true(isnan(b->beyond) == (i % 2 == 0) && isnan(b->level) == (i % 2 == 0));
            assert_true(i % 2 == 0 || (b->level == 100 && b->beyond > 0));
        }
        check_text(m, c);
        far_certificate_destroy(c);
        far_model_destroy(m);
    }
}

/* What is large beside the slope does not hide it. */
static void a_large_offset_does_not_hide_the_slope(void **state)
{
    (void)state;
    static const char *const tables[] = {
        "a,y\n1,1600000003\n2,1600000005\n4,1599999999\n5.5,1600000002\n8,1600000004\n",
        "a,y\n1,1e6\n2,1000001\n4,1000004\n5,1000002\n",
        "a,y\n1600000001,3\n1600000002,5\n1600000004,-1\n1600000009,2\n",
    };
    for (int i = 0; i < COUNT(tables); i++) {
        far_model *m = fit(tables[i], "y", NO_NORM);
        far_certify_opts o = quick();
        o.exceeds = 1e11;
        far_certificate *c = certify_with(m, o);
        check_unbounded(m, c, 1);
        check_text(m, c);
        far_certificate_destroy(c);
        far_model_destroy(m);
        m = fit(tables[i], "y", LN_FIRST);
        c = certify(m);
        check_bounded(m, c);
        check_text(m, c);
        far_certificate_destroy(c);
        far_model_destroy(m);
    }
}

static void a_constant_fit_is_bounded(void **state)
{
    (void)state;
    static const char *const archs[] = {NO_NORM, LN_FIRST, "dense relu(2) dense"};
    for (int i = 0; i < COUNT(archs); i++) {
        far_model *m = fit(FLAT_AND_NOT, "z", archs[i]);
        far_certificate *c = certify(m);
        const far_bound *b = far_certificate_bound(c, 0);
        assert_int_equal(far_certificate_describe(c).verdict, FAR_BOUNDED);
        assert_int_equal(b->verdict, FAR_BOUNDED);
        assert_true(b->tightest == 7 && b->lowest == 7 && b->highest == 7 && b->b1 == 7);
        assert_true(b->sup_found == 7);
        check_text(m, c);
        far_certificate_destroy(c);
        far_model_destroy(m);
    }
    far_model *m = fit(FLAT_AND_NOT, "y,z", NO_NORM);
    far_certificate *c = certify(m);
    assert_int_equal(far_certificate_describe(c).verdict, FAR_UNBOUNDED);
    assert_int_equal(far_certificate_bound(c, 0)->verdict, FAR_UNBOUNDED);
    assert_int_equal(far_certificate_bound(c, 1)->verdict, FAR_BOUNDED);
    assert_true(far_certificate_bound(c, 1)->tightest == 7);
    check_text(m, c);
    far_certificate_destroy(c);
    far_model_destroy(m);
}

/* What happens at 1e121 is far from 0 and not yet infinity. */
static void no_scale_is_too_far_out(void **state)
{
    (void)state;
    far_fit_opts o = options("y", "dense(b=1) relu dense(w=1e-121, b=1) ln relu dense", 1e-6);
    o.standardize = 0;
    far_model *m = fit_with("x,y\n-1e126,0\n-1,0\n1,0\n1e121,10\n1e122,-5\n1e126,0\n", o);
    far_certificate *c = certify(m);
    const far_bound *b = far_certificate_bound(c, 0);
    assert_int_equal(b->verdict, FAR_BOUNDED);
    assert_true(b->tightest > 9.99 && b->highest > 9.99);
    check_text(m, c);
    far_certificate_destroy(c);
    far_model_destroy(m);
}

static void one_row_is_certified(void **state)
{
    (void)state;
    static const char *const archs[] = {NO_NORM, LN_FIRST};
    for (int i = 0; i < 4; i++) {
        far_fit_opts o = options("y", archs[i / 2], 0);
        o.standardize = i % 2;
        far_model *m = fit_with("a,b,y\n3,4,7\n", o);
        far_certificate *c = certify(m);
        assert_int_equal(far_certificate_describe(c).verdict, i != 0 ? FAR_BOUNDED : FAR_UNBOUNDED);
        check_text(m, c);
        far_certificate_destroy(c);
        far_model_destroy(m);
    }
}

/* Without eigenvalues the paper's looser forms are not known, and not missed. */
static void extremes_may_be_left_out(void **state)
{
    (void)state;
    far_fit_opts o = options("y", LN_FIRST, 0.01);
    o.extremes = 0;
    far_model *m = fit_with(LINE, o);
    far_certificate *c = certify(m);
    const far_bound *b = far_certificate_bound(c, 0);
    assert_true(isnan(b->b2) && isnan(b->b3) && isfinite(b->b1));
    assert_true(isfinite(b->tightest) && b->tightest <= b->b1);
    check_text(m, c);
    far_certificate_destroy(c);
    far_model_destroy(m);
}

static void what_no_theorem_covers_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *arch;
        far_kernel_kind kernel;
        far_param param;
        far_status status;
        const char *piece;
    } cases[] = {
        {"ln relu dense relu dense", FAR_KERNEL_NTK, FAR_PARAM_NTK, FAR_ERR_ARCH, "supremum"},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        far_fit_opts o = options("y", cases[i].arch, 0.01);
        o.kernel = cases[i].kernel;
        o.param = cases[i].param;
        far_model *m = fit_with(PLANE, o);
        refuse(m, quick(), cases[i].status, cases[i].piece);
        far_model_destroy(m);
    }
}

static void what_neither_theorem_decides_is_undecided(void **state)
{
    (void)state;
    static const struct {
        const char *arch;
        far_kernel_kind kernel;
    } cases[] = {
        {"dense erf dense", FAR_KERNEL_NTK},
        {"dense tanh dense", FAR_KERNEL_NTK},
        {"dense sin dense", FAR_KERNEL_NTK},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        far_fit_opts o = options("y,z", cases[i].arch, 0.01);
        o.kernel = cases[i].kernel;
        far_model *m = fit_with(PLANE, o);
        far_certify_opts q = quick();
        q.exceeds = i % 2 ? 100 : NAN;
        far_certificate *c = certify_with(m, q);
        assert_int_equal(far_certificate_describe(c).verdict, FAR_UNDECIDED);
        for (int64_t j = 0; j < 2; j++) {
            const far_bound *b = far_certificate_bound(c, j);
            assert_int_equal(b->verdict, FAR_UNDECIDED);
            assert_non_null(strstr(b->theorem, "no direction was found"));
            assert_true(isinf(b->tightest) && isinf(b->lowest) && isinf(b->highest) && !b->method);
            assert_true(!b->direction && !b->at && isnan(b->slope) && isnan(b->confirmed));
        }
        check_text(m, c);
        far_certificate_destroy(c);
        far_model_destroy(m);
    }
}

/* A sine of the input has a bound, but no limits at infinity. */
static void no_limit_is_no_obstacle(void **state)
{
    (void)state;
    static const char *const archs[] = {"sin dense ln relu dense", "sin dense relu dense"};
    for (int i = 0; i < COUNT(archs); i++) {
        far_model *m = fit(PLANE, "y", archs[i]);
        far_certify_opts o = quick();
        o.starts = 40;
        o.seconds = 1;
        far_certificate *c = certify_with(m, o);
        check_bounded(m, c);
        assert_false(far_certificate_bound(c, 0)->at_infinity);
        check_text(m, c);
        far_certificate_destroy(c);
        far_model_destroy(m);
    }
}

static void no_time_still_gives_a_certificate(void **state)
{
    (void)state;
    static const char *const archs[] = {LN_FIRST, NO_NORM};
    for (int i = 0; i < COUNT(archs); i++) {
        far_model *m = fit(PLANE, "y,z", archs[i]);
        far_certify_opts o = quick();
        o.seconds = 0;
        o.starts = 1;
        far_certificate *c = certify_with(m, o);
        if (i == 1) {
            check_unbounded(m, c, 1);
        } else {
            check_bounded(m, c);
        }
        check_text(m, c);
        far_certificate_destroy(c);
        far_model_destroy(m);
    }
}

/* The same seed gives the same certificate. */
static void certificates_are_repeatable(void **state)
{
    (void)state;
    far_model *m = fit(PLANE, "y", "dense ln gelu dense");
    far_certify_opts o = quick();
    o.seconds = 20; /* far from enough to matter: the search ends by itself */
    far_certificate *a = certify_with(m, o), *b = certify_with(m, o);
    const far_bound *one = far_certificate_bound(a, 0), *two = far_certificate_bound(b, 0);
    assert_true(one->tightest == two->tightest && one->sup_found == two->sup_found);
    assert_memory_equal(one->at, two->at, 2 * sizeof *one->at);
    far_certificate_destroy(a);
    far_certificate_destroy(b);
    far_model_destroy(m);
}

/* ---- the check ---- */

static json_t *parsed(const far_certificate *c)
{
    char *text;
    must(far_certificate_json(ctx, c, &text));
    json_t *o = json_loads(text, 0, NULL);
    assert_non_null(o);
    far_text_free(ctx, text);
    return o;
}

static far_status check_json(const far_model *m, const json_t *o)
{
    char *text = json_dumps(o, JSON_REAL_PRECISION(17));
    assert_non_null(text);
    far_status st = far_model_certificate_check(ctx, m, text, FAR_PROOF_CHECK_SECONDS);
    free(text);
    return st;
}

/* Sets key of the object, checks that the whole is refused, and puts back what was there. */
static void assert_refused(const far_model *m, const json_t *whole, json_t *object, const char *key,
                           json_t *value)
{
    json_t *kept = json_incref(json_object_get(object, key));
    assert_non_null(kept);
    json_object_set_new(object, key, value);
    far_status st = check_json(m, whole);
    if (st != FAR_ERR_VALUE && st != FAR_ERR_FORMAT) {
        fail_msg("%s changed: %s", key, far_status_name(st));
    }
    json_object_set_new(object, key, kept);
}

static void assert_number_matters(const far_model *m, const json_t *whole, json_t *object,
                                  const char *key)
{
    double value = json_number_value(json_object_get(object, key));
    assert_true(json_is_number(json_object_get(object, key)));
    static const double factors[] = {0.5, 0.999, 1.001, -1, 1e6};
    for (int i = 0; i < COUNT(factors); i++) {
        assert_refused(m, whole, object, key, json_real(value * factors[i] + (value == 0)));
    }
    assert_refused(m, whole, object, key, json_string("inf"));
    assert_refused(m, whole, object, key, json_string("1.5"));
    assert_refused(m, whole, object, key, json_null());
}

/* A wrong bound is one that is too small; a larger one is true as well. */
static void assert_bound_matters(const far_model *m, const json_t *whole, json_t *object,
                                 const char *key, double sign)
{
    double value = json_number_value(json_object_get(object, key));
    double truth = json_number_value(json_object_get(object, "sup_found"));
    assert_refused(m, whole, object, key, json_real(value - sign * (fabs(value) + 1)));
    assert_refused(m, whole, object, key, json_real(sign * 0.5 * truth));
    assert_refused(m, whole, object, key, json_string(sign > 0 ? "-inf" : "inf"));
    assert_refused(m, whole, object, key, json_string("none"));
    assert_refused(m, whole, object, key, json_true());
    assert_refused(m, whole, object, key, json_null());
}

static void assert_vector_matters(const far_model *m, const json_t *whole, json_t *object,
                                  const char *key)
{
    json_t *list = json_object_get(object, key);
    size_t d = json_array_size(list);
    assert_true(d > 0);
    for (size_t i = 0; i < d; i++) {
        double value = json_number_value(json_array_get(list, i));
        json_t *changed = json_deep_copy(list);
        json_array_set_new(changed, i, json_real(value * 1.5 + 0.25));
        assert_refused(m, whole, object, key, changed);
        changed = json_deep_copy(list);
        json_array_set_new(changed, i, json_string("1"));
        assert_refused(m, whole, object, key, changed);
    }
    json_t *longer = json_deep_copy(list), *shorter = json_deep_copy(list);
    json_array_append_new(longer, json_real(1));
    json_array_remove(shorter, 0);
    assert_refused(m, whole, object, key, longer);
    assert_refused(m, whole, object, key, shorter);
    assert_refused(m, whole, object, key, json_null());
}

static void check_statements(const far_model *m, const json_t *whole, json_t *object)
{
    bool bounded = strcmp(json_string_value(json_object_get(object, "verdict")), "bounded") == 0;
    assert_refused(m, whole, object, "verdict", json_string(bounded ? "unbounded" : "bounded"));
    assert_refused(m, whole, object, "verdict", json_string("BOUNDED"));
    assert_refused(m, whole, object, "verdict", json_null());
    assert_refused(m, whole, object, "output", json_string("other"));
    if (!bounded) {
        json_t *w = json_object_get(object, "witness");
        assert_refused(m, whole, object, "witness", json_null());
        assert_refused(m, whole, object, "C", json_real(3));
        assert_refused(m, whole, object, "tightest", json_real(1e9));
        assert_refused(m, whole, object, "B1", json_real(1e9));
        assert_number_matters(m, whole, w, "slope");
        assert_number_matters(m, whole, w, "order");
        assert_vector_matters(m, whole, w, "direction");
        assert_refused(m, whole, w, "beyond",
                       json_real(0.5 * json_number_value(json_object_get(w, "beyond"))));
        assert_refused(m, whole, w, "level",
                       json_real(2 * json_number_value(json_object_get(w, "level"))));
        return;
    }
    assert_number_matters(m, whole, object, "C");
    assert_number_matters(m, whole, object, "B1");
    assert_number_matters(m, whole, object, "B2");
    assert_number_matters(m, whole, object, "B3");
    assert_number_matters(m, whole, object, "sup_found");
    assert_bound_matters(m, whole, object, "tightest", 1);
    assert_bound_matters(m, whole, object, "highest", 1);
    assert_bound_matters(m, whole, object, "lowest", -1);
    assert_vector_matters(m, whole, object, "at");
    assert_refused(m, whole, object, "at_infinity",
                   json_boolean(!json_is_true(json_object_get(object, "at_infinity"))));
}

static void any_changed_statement_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *csv, *target, *arch;
    } cases[] = {{LINE, "y", LN_FIRST},
                 {PLANE, "y,z", LN_FIRST},
                 {PLANE, "y,z", "dense ln gelu dense"},
                 {PETS, "who", "dense relu dense ln relu dense"},
                 {LINE, "y", NO_NORM},
                 {PLANE, "z,y", NO_NORM}};
#ifdef __SANITIZE_ADDRESS__
    enum { STEP = 2 }; /* every field of three of them; the optimised build takes all */
#else
    enum { STEP = 1 };
#endif
    for (int i = 0; i < COUNT(cases); i += STEP) {
        far_model *m = fit(cases[i].csv, cases[i].target, cases[i].arch);
        far_certify_opts q = quick();
        q.exceeds = 50;
        q.seconds = 1e-9; /* bounds in closed form: they are checked some hundred times */
        far_certificate *c = certify_with(m, q);
        json_t *o = parsed(c);
        must(check_json(m, o));
        assert_refused(m, o, o, "format", json_string("farfield certificates"));
        assert_refused(m, o, o, "version", json_integer(4));
        assert_refused(m, o, o, "version", json_null());
        assert_refused(m, o, o, "arch", json_string("dense ln relu dense relu dense(b=0.2)"));
        assert_refused(m, o, o, "arch", json_null());
        assert_refused(m, o, o, "data_hash", json_string("00"));
        assert_refused(m, o, o, "data_hash", json_integer(0));
        assert_refused(m, o, o, "n", json_integer(1000));
        assert_refused(m, o, o, "inputs", json_array());
        assert_refused(m, o, o, "ridge", json_real(7));
        assert_refused(m, o, o, "lambda_min", json_real(7));
        assert_refused(m, o, o, "outputs", json_array());
        check_statements(m, o, o);
        for (size_t j = 0; j < json_array_size(json_object_get(o, "outputs")); j++) {
            check_statements(m, o, json_array_get(json_object_get(o, "outputs"), j));
        }
        must(check_json(m, o)); /* all is as it was */
        json_decref(o);
        far_certificate_destroy(c);
        far_model_destroy(m);
    }
}

static far_status check_model(const void *m, const char *text)
{
    return far_model_certificate_check(ctx, m, text, FAR_PROOF_CHECK_SECONDS);
}

static void certificates_survive_jansson_without_memory(void **state)
{
    (void)state;
    far_model *m = fit(PLANE, "y,z", NO_NORM);
    far_certificate *c = certify(m);
    survives_json_without_memory(c, check_model, m);
    far_certificate_destroy(c);
    far_model_destroy(m);
}

/* An output that is said to be bounded and runs away is called what it is. */
static void a_forged_bound_is_called_unbounded(void **state)
{
    (void)state;
    far_model *m = fit(PLANE, "y,z", NO_NORM);
    far_certificate *c = certify(m);
    json_t *o = parsed(c), *outputs = json_object_get(o, "outputs");
    json_object_set_new(json_array_get(outputs, 1), "verdict", json_string("bounded"));
    refused(check_json(m, o), FAR_ERR_VALUE,
            "z: the verdict is stated as \"bounded\", but is \"unbounded\"");
    json_decref(o);
    far_certificate_destroy(c);
    far_model_destroy(m);
}

/* Whichever output is called the worst, it must be it. */
static void the_worst_output_comes_first(void **state)
{
    (void)state;
    far_model *m = fit(PLANE, "y,z", LN_FIRST);
    far_certificate *c = certify(m);
    json_t *o = parsed(c), *outputs = json_object_get(o, "outputs");
    const char *worst = json_string_value(json_object_get(o, "output"));
    assert_string_equal(
        worst,
        far_certificate_bound(c, 1)->tightest > far_certificate_bound(c, 0)->tightest ? "z" : "y");
    json_t *other = json_array_get(outputs, strcmp(worst, "y") == 0 ? 1 : 0);
    json_object_update(o, other);
    assert_int_equal(check_json(m, o), FAR_ERR_VALUE);
    json_decref(o);
    far_certificate_destroy(c);
    far_model_destroy(m);
}

static void whatever_stands_in_a_field_is_read(const far_model *m, const json_t *whole,
                                               json_t *object)
{
    static const char *const values[] = {"null", "true",  "-1e308", "\"x\"",        "[]",
                                         "{}",   "[1,2]", "[null]", "{\"a\": [[]]}"};
    const char *key;
    json_t *value, *keys = json_array();
    json_object_foreach(object, key, value)
    {
        json_array_append_new(keys, json_string(key));
    }
    for (size_t k = 0; k < json_array_size(keys); k++) {
        key = json_string_value(json_array_get(keys, k));
        json_t *kept = json_incref(json_object_get(object, key));
        for (int i = 0; i < COUNT(values); i++) {
            json_object_set_new(object, key,
                                json_loads(values[i], JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL));
            far_status st = check_json(m, whole);
            assert_true(st == FAR_OK || st == FAR_ERR_VALUE || st == FAR_ERR_FORMAT);
        }
        json_object_del(object, key);
        far_status st = check_json(m, whole);
        assert_true(st == FAR_OK || st == FAR_ERR_VALUE || st == FAR_ERR_FORMAT);
        json_object_set_new(object, key, kept);
    }
    json_decref(keys);
}

static void nothing_in_a_field_breaks_the_check(void **state)
{
    (void)state;
    static const char *const archs[] = {LN_FIRST, NO_NORM};
    for (int i = 0; i < COUNT(archs); i++) {
        far_model *m = fit(i ? LINE : PLANE, i ? "y" : "y,z", archs[i]);
        far_certify_opts q = quick();
        q.exceeds = 50;
        q.seconds = 1e-9;
        far_certificate *c = certify_with(m, q);
        json_t *o = parsed(c), *last = json_array_get(json_object_get(o, "outputs"), (size_t)!i);
        whatever_stands_in_a_field_is_read(m, o, o);
        whatever_stands_in_a_field_is_read(m, o, last);
        if (i == 1) {
            whatever_stands_in_a_field_is_read(m, o, json_object_get(last, "witness"));
        }
        must(check_json(m, o));
        json_decref(o);
        far_certificate_destroy(c);
        far_model_destroy(m);
    }
}

static void other_texts_are_no_certificates(void **state)
{
    (void)state;
    far_model *m = fit(LINE, "y", LN_FIRST), *other = fit(LINE, "y", "dense ln relu dense");
    far_model *data = fit("a,y\n1,3\n2,5\n4,-1\n", "y", LN_FIRST);
    far_fit_opts o = options("y", LN_FIRST, 0.02);
    far_model *ridge = fit_with(LINE, o);
    o = options("y", LN_FIRST, 0.01);
    o.kernel = FAR_KERNEL_NNGP;
    far_model *prior = fit_with(LINE, o);
    far_certificate *c = certify(m);
    char *text;
    static const char *const texts[] = {"",         " ",
                                        "{",        "[]",
                                        "{}",       "null",
                                        "3",        "\"a\"",
                                        "[{}]",     "{\"format\": \"farfield certificate\"}",
                                        "\xff\xfe", "{\"a\":1,\"a\":2}"};
    for (int i = 0; i < COUNT(texts); i++) {
        refused(far_model_certificate_check(ctx, m, texts[i], FAR_PROOF_CHECK_SECONDS),
                FAR_ERR_FORMAT, "certificate");
    }
    must(far_certificate_json(ctx, c, &text));
    must(far_model_certificate_check(ctx, m, text, FAR_PROOF_CHECK_SECONDS));
    refused(far_model_certificate_check(ctx, other, text, FAR_PROOF_CHECK_SECONDS), FAR_ERR_FORMAT,
            "another architecture");
    refused(far_model_certificate_check(ctx, data, text, FAR_PROOF_CHECK_SECONDS), FAR_ERR_FORMAT,
            "other training data");
    assert_int_not_equal(far_model_certificate_check(ctx, ridge, text, FAR_PROOF_CHECK_SECONDS),
                         FAR_OK);
    assert_int_not_equal(far_model_certificate_check(ctx, prior, text, FAR_PROOF_CHECK_SECONDS),
                         FAR_OK);
    size_t length = strlen(text);
    for (size_t cut = 0; cut < length - 1; cut++) {
        char kept = text[cut];
        text[cut] = 0;
        assert_int_equal(far_model_certificate_check(ctx, m, text, FAR_PROOF_CHECK_SECONDS),
                         FAR_ERR_FORMAT);
        text[cut] = kept;
    }
    far_text_free(ctx, text);
    far_certificate_destroy(c);
    far_model_destroy(m);
    far_model_destroy(other);
    far_model_destroy(data);
    far_model_destroy(ridge);
    far_model_destroy(prior);
}

/* A bound that only branch and bound proves is confirmed again; one that is false is refused
 * without a long search. */
static void bounds_of_a_search_are_confirmed(void **state)
{
    (void)state;
    far_fit_opts f = options("y", LN_FIRST, 0);
    far_model *m = fit_with(LINE, f);
    far_certify_opts q = quick();
    q.seconds = 20;
    q.gap = 0.05;
    far_certificate *c = certify_with(m, q);
    const far_bound *b = far_certificate_bound(c, 0);
    assert_string_equal(b->method, "branch and bound");
    assert_true(b->tightest <= 1.051 * b->sup_found);
    json_t *o = parsed(c);
    must(check_json(m, o));
    json_t *output = json_array_get(json_object_get(o, "outputs"), 0);
    static const double shares[] = {0.5, 0.9, 0.999};
    for (int i = 0; i < COUNT(shares); i++) {
        double start = far_seconds();
        assert_refused(m, o, output, "tightest", json_real(shares[i] * b->sup_found));
        assert_true(far_seconds() - start < 5);
    }
    json_decref(o);
    far_certificate_destroy(c);
    far_model_destroy(m);
}

/* Names are bytes; JSON is UTF-8. */
static void odd_names_are_written(void **state)
{
    (void)state;
    static const char *const tables[] = {"a \"b\\\",y\n1,3\n2,5\n4,-1\n",
                                         "gr\xc3\xb6\xc3\x9f"
                                         "e,y\n1,3\n2,5\n4,-1\n",
                                         "gr\xf6\xdf"
                                         "e,y\n1,3\n2,5\n4,-1\n",
                                         "a,y\n1,k\xe4se\n2,brot\n4,k\xe4se\n"};
    for (int i = 0; i < COUNT(tables); i++) {
        far_frame *frame;
        far_status st =
            far_frame_parse_bytes(ctx, "test", tables[i], (int64_t)strlen(tables[i]), NULL, &frame);
        if (st == FAR_OK) { /* what a table may be called, a certificate can say */
            far_fit_opts o = options("y", LN_FIRST, 0.01);
            far_model *m;
            must(far_model_fit(ctx, frame, &o, &m));
            far_certificate *c = certify(m);
            check_text(m, c);
            json_t *json = parsed(c);
            assert_int_equal(json_array_size(json_object_get(json, "inputs")), 1);
            assert_true(json_is_string(json_object_get(json, "output")));
            json_decref(json);
            far_certificate_destroy(c);
            far_model_destroy(m);
            far_frame_destroy(frame);
        }
    }
}

/* ---- failing and stopping ---- */

static far_status live(const far_model *m, double level)
{
    far_status st;
    far_certificate *c = NULL;
    char *text = NULL;
    far_certify_opts o = quick();
    o.seconds = 1e-9; /* a round of search and the first cells of the branching */
    o.starts = 1;
    o.exceeds = level;
    FAR_TRY(far_model_certify(ctx, m, &o, &c));
    FAR_TRY(far_certificate_json(ctx, c, &text));
    FAR_TRY(far_model_certificate_check(ctx, m, text, FAR_PROOF_CHECK_SECONDS));
done:
    far_text_free(ctx, text);
    far_certificate_destroy(c);
    return st;
}

/* Each of the first ones, then ever fewer: searches repeat themselves. */
static int64_t next_of(int64_t i)
{
    return i < 200 ? i + 1 : i + i / 10;
}

static const char *const FATES[] = {LN_FIRST, NO_NORM, "dense ln gelu dense"};

static void every_allocation_may_fail(void **state)
{
    (void)state;
    for (int a = 0; a < COUNT(FATES); a++) {
        far_model *m = fit(a == 1 ? LINE : PETS, a == 1 ? "y" : "who", FATES[a]);
        int64_t before = test_heap.calls;
        must(live(m, 50));
        int64_t needed = test_heap.calls - before, blocks = test_heap.live_blocks;
        assert_true(needed > 30);
        for (int64_t i = 0; i < needed; i = next_of(i)) {
            test_heap.fail_at = test_heap.calls + i;
            far_status st = live(m, 50);
            bool reached = test_heap.calls > test_heap.fail_at; /* time decides how many rounds */
            assert_true(st == FAR_ERR_MEMORY || (st == FAR_OK && !reached));
            assert_int_equal(test_heap.live_blocks, blocks);
        }
        test_heap.fail_at = -1;
        must(live(m, 50));
        far_model_destroy(m);
    }
}

static void any_report_may_cancel(void **state)
{
    (void)state;
    for (int a = 0; a < COUNT(FATES); a++) {
        far_model *m = fit(a == 1 ? LINE : PETS, a == 1 ? "y" : "who", FATES[a]);
        int64_t blocks = test_heap.live_blocks;
        ear = (listener){0};
        must(live(m, 50));
        int64_t calls = ear.calls;
        assert_true(calls > 5);
        for (int64_t i = 1; i <= calls; i = next_of(i)) {
            ear = (listener){.stop_at = i};
            far_status st = live(m, 50);
            bool reached = ear.calls >= i;
            assert_true(st == FAR_ERR_CANCELLED || (st == FAR_OK && !reached));
            assert_int_equal(test_heap.live_blocks, blocks);
        }
        ear = (listener){0};
        must(live(m, 50));
        far_model_destroy(m);
    }
}

/* The check of a bound that takes a search can be stopped, also as the first thing a context does.
 */
static void a_long_check_can_be_cancelled(void **state)
{
    (void)state;
    far_model *m = fit_with(PLANE, options("y", "dense relu dense ln relu dense", 0));
    far_certificate *c = certify(m);
    json_t *o = parsed(c), *output = json_array_get(json_object_get(o, "outputs"), 0);
    double found = far_certificate_bound(c, 0)->sup_found;
    json_object_set_new(output, "tightest",
                        json_real(found * 1.0001)); /* true, but hard to prove */
    json_object_set_new(o, "tightest", json_real(found * 1.0001));
    far_ctx *first = ctx, *fresh;
    far_ctx_opts opts;
    opts = (far_ctx_opts){.size = sizeof opts};
    opts.progress = hear;
    opts.progress_user = &ear;
    must(far_ctx_create(&opts, &fresh));
    ctx = fresh;
    ear = (listener){.stop_at = 2};
    far_status st = check_json(m, o);
    ctx = first;
    assert_int_equal(st, FAR_ERR_CANCELLED);
    far_ctx_destroy(fresh);
    json_decref(o);
    far_certificate_destroy(c);
    far_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(certify_checks_its_arguments),
        TEST(bounded_networks_are_certified),
        TEST(outputs_have_names),
        TEST(unbounded_networks_have_a_witness),
        TEST(a_large_offset_does_not_hide_the_slope),
        TEST(a_constant_fit_is_bounded),
        TEST(no_scale_is_too_far_out),
        TEST(one_row_is_certified),
        TEST(extremes_may_be_left_out),
        TEST(what_no_theorem_covers_is_refused),
        TEST(what_neither_theorem_decides_is_undecided),
        TEST(no_limit_is_no_obstacle),
        TEST(no_time_still_gives_a_certificate),
        TEST(certificates_are_repeatable),
        TEST(any_changed_statement_is_refused),
        TEST(certificates_survive_jansson_without_memory),
        TEST(a_forged_bound_is_called_unbounded),
        TEST(the_worst_output_comes_first),
        TEST(nothing_in_a_field_breaks_the_check),
        TEST(other_texts_are_no_certificates),
        TEST(bounds_of_a_search_are_confirmed),
        TEST(odd_names_are_written),
        TEST(every_allocation_may_fail),
        TEST(any_report_may_cancel),
        TEST(a_long_check_can_be_cancelled),
    };
    return cmocka_run_group_tests_name("certify", tests, NULL, NULL);
}
