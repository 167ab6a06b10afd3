/*
 * Whether certificates are true. The numbers of the worked examples; bounds against thousands of
 * points and limits of random models; the distance that branch and bound rests on against the
 * kernel, over every supported network; slopes against f far out; the power series of kappa against
 * closed forms.
 */
#define far_quadratic_interval quadratic_interval_of_this_file
#include "../../src/certify/quadratic.c"
#include "solve/solve_internal.h"
#undef far_quadratic_interval
far_status far_quadratic_interval(const far_single *p, far_interval *out);

#include <farfield/farfield.h>

#define TEST_THREADS 0
#include "harness.h"

#define NONE "dense relu dense relu dense"
#define FIRST "dense ln relu dense relu dense"
#define SECOND "dense relu dense ln relu dense"
#define EVERY "dense ln relu dense ln relu dense"

static far_single predictor_of(const far_model *m, int64_t output, double C)
{
    far_single all[8];
    assert_true(m->info.outputs <= 8);
    must_do(far_singles_fill(ctx, m, C, all), m->arch);
    return all[output];
}

/* As printed: half a unit of the last digit, and a little for a digit that was cut. */
static void assert_printed(const char *what, double value, double printed, double last_digit)
{
    if (!(fabs(value - printed) <= 0.6 * last_digit)) {
        fail_msg("%s is %.9g, not %.9g", what, value, printed);
    }
}

static void assert_close(const char *what, double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance)) {
        fail_msg("%s: %.17g is not %.17g within %g", what, value, expected, tolerance);
    }
}

/* ---- random numbers ---- */

static uint64_t drawn;

static double uniform(void)
{
    return far_random_uniform(20251115, drawn++);
}

static double normal(void)
{
    return far_random_normal(20251116, drawn++);
}

/* ---- models ---- */

#define MOST 16

/* x is n x d, y is n x p. */
static far_model *fit(const char *arch, const double *x, int64_t n, int64_t d, const double *y,
                      int64_t p, far_fit_opts o)
{
    far_frame *frame;
    far_model *m;
    double *all = malloc((size_t)(n * (d + p)) * sizeof *all);
    char text[MOST][8], target[MOST * 9] = "";
    const char *names[MOST];
    assert_true(all && d + p <= MOST);
    for (int64_t j = 0; j < d + p; j++) {
        snprintf(text[j], sizeof text[j], "%c%d", j < d ? 'x' : 'y', (int)(j < d ? j : j - d) % 99);
        names[j] = text[j];
        if (j >= d) {
            snprintf(target + strlen(target), sizeof target - strlen(target), "%s%s",
                     j > d ? "," : "", text[j]);
        }
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < d + p; j++) {
            all[i * (d + p) + j] = j < d ? x[i * d + j] : y[i * p + j - d];
        }
    }
    far_mat matrix = far_mat_view(all, n, d + p, FAR_F64);
    must_do(far_frame_from_mat(ctx, &matrix, names, &frame), arch);
    o.target = target;
    o.arch = arch;
    must_do(far_model_fit(ctx, frame, &o, &m), arch);
    far_frame_destroy(frame);
    free(all);
    return m;
}

static far_fit_opts as_it_is(double ridge)
{
    far_fit_opts o;
    far_fit_opts_init(&o);
    o.standardize = 0;
    o.ridge = ridge;
    return o;
}

static double f_at(const far_model *m, double x)
{
    double y;
    far_mat point = far_mat_view(&x, 1, 1, FAR_F64), mean = far_mat_view(&y, 1, 1, FAR_F64);
    must_do(far_model_eval(ctx, m, &point, &mean), "f");
    return y;
}

static double limit_at(const far_model *m, double direction, double expected_order)
{
    double y, order;
    far_mat u = far_mat_view(&direction, 1, 1, FAR_F64), mean = far_mat_view(&y, 1, 1, FAR_F64);
    far_mat orders = far_mat_view(&order, 1, 1, FAR_F64);
    must_do(far_model_limit(ctx, m, &u, &mean, &orders), "limit");
    assert_true(order == expected_order);
    return y;
}

static far_certificate *certify(const far_model *m, double seconds, double gap, double exceeds)
{
    far_certificate *c;
    far_certify_opts o;
    far_certify_opts_init(&o);
    o.seconds = seconds;
    o.gap = gap;
    o.starts = 24;
    o.exceeds = exceeds;
    must_do(far_model_certify(ctx, m, &o, &c), m->arch);
    return c;
}

/* ---- the worked examples ---- */

static void one_point_shows_it_all(void **state)
{
    (void)state;
    double x = 1, y = 1;
    far_model *m = fit(NONE, &x, 1, 1, &y, 1, as_it_is(0));
    assert_printed("slope", limit_at(m, 1, 1), 0.941576, 1e-6);
    assert_printed("slope back", limit_at(m, -1, 1), 0.099908, 1e-6);
    assert_close("slope", limit_at(m, 1, 1), 2.881221 / 3.06, 1e-6);
    far_certificate *c = certify(m, 1, 0.01, NAN);
    assert_printed("witness", far_certificate_bound(c, 0)->slope, 0.941576, 1e-6);
    far_certificate_destroy(c);
    far_model_destroy(m);
    static const struct {
        const char *arch;
        double limit;
    } cases[] = {{FIRST, 0.964479}, {SECOND, 0.954216}, {EVERY, 0.964480}};
    for (int i = 0; i < COUNT(cases); i++) {
        m = fit(cases[i].arch, &x, 1, 1, &y, 1, as_it_is(0));
        assert_printed(cases[i].arch, limit_at(m, 1, 0), cases[i].limit, 1e-6);
        far_model_destroy(m);
    }
}

enum { GRID = 100 };

static double itself(double x)
{
    return x;
}

static double squared(double x)
{
    return x * x;
}

static double sine_twice(double x)
{
    return sin(2 * x);
}

static far_model *fit_grid(const char *arch, double half, double (*f)(double), double factor,
                           double ridge)
{
    double x[GRID], y[GRID];
    for (int i = 0; i < GRID; i++) {
        x[i] = -half + 2 * half * i / (GRID - 1);
        y[i] = factor * f(x[i]);
    }
    return fit(arch, x, GRID, 1, y, 1, as_it_is(ridge));
}

static void slopes_and_limits_of_the_grid(void **state)
{
    (void)state;
    static const struct {
        double (*f)(double);
        double slope, slope_back, intercept, at_25; /* no norm */
        double first_25, first_up, first_down;      /* ln first */
        double second_25, second_up, every_up;      /* ln second, every */
        double digit_25, first_digit_25;
    } rows[] = {
        {sin, -0.217539, 0.217539, 0.126902, -5.3112, -0.97717, -0.981644, 0.981644, -0.97833,
         -0.983021, -0.981644, 1e-4, 1e-5},
        {itself, 0.986431, -0.986431, 0.067713, 24.7285, 5.04216, 5.052325, -5.052325, 5.03930,
         5.048445, 5.052325, 1e-4, 1e-5},
        {squared, 5.096837, 5.096837, -0.480719, 126.9395, 25.29472, 25.366089, 25.366089, 25.40826,
         25.507287, 25.366100, 1e-4, 1e-5},
    };
    for (int i = 0; i < COUNT(rows); i++) {
        far_model *m = fit_grid(NONE, 5, rows[i].f, 1, 0);
        assert_printed("slope", limit_at(m, 1, 1), rows[i].slope, 1e-6);
        assert_printed("slope back", limit_at(m, -1, 1), rows[i].slope_back, 1e-6);
        assert_printed("f(25)", f_at(m, 25), rows[i].at_25, rows[i].digit_25);
        double up = 1;
        far_bound witness = {.verdict = FAR_UNDECIDED};
        far_single p = predictor_of(m, 0, INFINITY);
        must_do(far_witness_output(&p, NAN, &up, &witness), "witness");
        assert_printed("intercept", witness.intercept, rows[i].intercept, 1e-6);
        assert_close("confirmed", witness.confirmed, 1, 1e-4);
        far_model_destroy(m);
        m = fit_grid(FIRST, 5, rows[i].f, 1, 0);
        assert_printed("first f(25)", f_at(m, 25), rows[i].first_25, rows[i].first_digit_25);
        assert_printed("first, up", limit_at(m, 1, 0), rows[i].first_up, 1e-6);
        assert_printed("first, down", limit_at(m, -1, 0), rows[i].first_down, 1e-6);
        far_model_destroy(m);
        m = fit_grid(SECOND, 5, rows[i].f, 1, 0);
        assert_printed("second f(25)", f_at(m, 25), rows[i].second_25, rows[i].first_digit_25);
        assert_printed("second, up", limit_at(m, 1, 0), rows[i].second_up, 1e-6);
        far_model_destroy(m);
        m = fit_grid(EVERY, 5, rows[i].f, 1, 0);
        assert_printed("every, up", limit_at(m, 1, 0), rows[i].every_up, 1e-6);
        far_model_destroy(m);
    }
}

static void bounds_of_the_grid(void **state)
{
    (void)state;
    static const char *const archs[] = {FIRST, SECOND, EVERY};
    static const struct {
        double (*f)(double);
        double sup[3], b1[3], b2[3], b3[3];
        double sup_digit, b1_digit, b2_digit, b3_digit;
    } rows[] = {
        {sin, /* whose largest y is 0.999987 already */
         {0.99999, 0.99999, 0.99999},
         {22.70, 20.03, 22.70},
         {1159, 1023, 1159},
         {1.34e6, 1.05e6, 1.34e6},
         1e-5,
         0.01,
         1,
         0.01e6},
        {itself,
         {5.052, 5.048, 5.052},
         {35.9, 31.7, 35.9},
         {5793, 5113, 5793},
         {6.7e6, 5.2e6, 6.7e6},
         1e-3,
         0.1,
         1,
         0.1e6},
        {squared,
         {25.37, 25.51, 25.37},
         {279, 245, 279},
         {2.9e4, NAN, 2.9e4},
         {3.4e7, NAN, 3.4e7},
         0.01,
         1,
         0.1e4,
         0.1e7},
    };
    static const double C[] = {3.03, 3.01, 3.000099}, lambda[] = {2.26e-4, 2.88e-4, 2.23e-4};
    for (int i = 0; i < COUNT(rows); i++) {
        for (int a = 0; a < 3; a++) {
            far_model *m = fit_grid(archs[a], 5, rows[i].f, 1, 0);
            far_certificate *c = certify(m, 0.05, 0.5, NAN);
            far_certificate_info info = far_certificate_describe(c);
            const far_bound *b = far_certificate_bound(c, 0);
            assert_printed("C", info.C, C[a], 1e-6);
            assert_printed("lambda_min", info.lambda_min, lambda[a], 0.01e-4);
            assert_true(info.condition >= 4.5e5 && info.condition <= 7.5e5);
            assert_printed("sup", b->sup_found, rows[i].sup[a], rows[i].sup_digit);
            assert_printed("B1", b->b1, rows[i].b1[a], rows[i].b1_digit);
            assert_true(b->sup_found <= b->tightest && b->tightest <= b->b1);
            if (!isnan(rows[i].b2[a])) {
                assert_printed("B2", b->b2, rows[i].b2[a], rows[i].b2_digit);
                assert_printed("B3", b->b3, rows[i].b3[a], rows[i].b3_digit);
            }
            far_certificate_destroy(c);
            far_model_destroy(m);
        }
    }
    far_model *m = fit_grid(NONE, 5, sin, 1, 0);
    assert_printed("lambda_min", far_model_describe(m).lambda_min, 6.0e-3, 0.1e-3);
    assert_printed("condition", far_model_describe(m).condition, 2.3e5, 0.1e5);
    far_model_destroy(m);
    m = fit_grid(FIRST, 1, sine_twice, 1, 0);
    far_certificate *c = certify(m, 0.05, 0.5, NAN);
    assert_printed("lambda_min", far_model_describe(m).lambda_min, 1.1e-3, 0.1e-3);
    assert_printed("B1", far_certificate_bound(c, 0)->b1, 2.41, 0.01);
    assert_printed("sup", far_certificate_bound(c, 0)->sup_found, 0.9999, 1e-4);
    far_certificate_destroy(c);
    far_model_destroy(m);
}

/* f and every bound double with y; scaling the kernel changes neither. */
static void bounds_scale_as_they_should(void **state)
{
    (void)state;
    static const struct {
        const char *one, *scaled; /* the same network with its last layer 3 times as large */
    } pairs[] = {{"dense ln relu dense", "dense ln relu dense(w=3, b=0.3)"},
                 {"dense relu dense ln relu dense", "dense relu dense ln relu dense(w=3, b=0.3)"}};
    for (int i = 0; i < COUNT(pairs); i++) {
        far_fit_opts o = as_it_is(0);
        o.kernel = FAR_KERNEL_NNGP; /* there, K alone is what the last layer scales */
        double x[23], y[23], y2[23];
        for (int r = 0; r < 23; r++) {
            x[r] = normal();
            y[r] = sin(3 * x[r]) + 0.5;
            y2[r] = -2 * y[r];
        }
        far_model *m[3] = {fit(pairs[i].one, x, 23, 1, y, 1, o),
                           fit(pairs[i].one, x, 23, 1, y2, 1, o),
                           fit(pairs[i].scaled, x, 23, 1, y, 1, o)};
        far_certificate *c[3];
        for (int k = 0; k < 3; k++) {
            c[k] = certify(m[k], 1e-9, 0.1, NAN);
            const far_bound *b = far_certificate_bound(c[k], 0);
            double largest = 0, size = k == 1 ? 2 : 1;
            for (int r = 0; r < 23; r++) {
                largest = fmax(largest, size * fabs(y[r]));
            }
            assert_true(largest <= b->b1 && b->b1 <= b->b2 && b->b2 <= b->b3 / sqrt(23));
            const far_bound *one = far_certificate_bound(c[0], 0);
            if (k < 2) {
                assert_close("B1", b->b1, size * one->b1, 1e-9 * b->b1);
                assert_close("B2", b->b2, size * one->b2, 1e-9 * b->b2);
                assert_close("B3", b->b3, size * one->b3, 1e-9 * b->b3);
                assert_close("tightest", b->tightest, size * one->tightest, 1e-6 * b->tightest);
            }
            for (int t = 0; t < 11; t++) {
                double at = 5 * normal(), f = f_at(m[k], at);
                double expected = k == 1 ? -2 * f_at(m[0], at) : f_at(m[0], at);
                assert_close("f", f, expected, 1e-9 * b->b1);
            }
        }
        /* the norm of f falls by 3 as sqrt(K) grows by 3; C is Theta's, which grows less */
        far_single p = predictor_of(m[0], 0, 1), q = predictor_of(m[2], 0, 9);
        assert_close("norm", 3 * q.norm, p.norm, 1e-5 * p.norm);
        assert_close("lambda", far_model_describe(m[2]).lambda_min,
                     9 * far_model_describe(m[0]).lambda_min,
                     1e-6 * far_model_describe(m[2]).lambda_min);
        for (int k = 0; k < 3; k++) {
            far_certificate_destroy(c[k]);
            far_model_destroy(m[k]);
        }
    }
}

/* |f_t| in the Hilbert space, from its values at the training points. */
static double norm_at_training(const far_model *m, const double *f)
{
    far_kernel *k;
    far_system *s;
    double matrix[23 * 23], b[23], sum = 0;
    far_mat x = far_model_points(m), out = far_mat_view(matrix, 23, 23, FAR_F64);
    must_do(far_kernel_create(ctx, m->arch, NULL, &k), "kernel");
    must_do(far_kernel_eval(ctx, k, &x, NULL, FAR_FILL_FULL, NULL, &out), "gram");
    far_symmetric a = far_symmetric_of(&out);
    must_do(far_system_create(ctx, &a, NULL, &s), "system");
    memcpy(b, f, sizeof b);
    far_mat column = far_mat_view(b, 23, 1, FAR_F64);
    must_do(far_system_whiten(ctx, s, &column), "whiten");
    for (int i = 0; i < 23; i++) {
        sum += b[i] * b[i];
    }
    far_system_destroy(s);
    far_kernel_destroy(k);
    return sqrt(sum);
}

static void the_norm_grows_with_training(void **state)
{
    (void)state;
    double x[23 * 2], y[23], z[53 * 2];
    for (int i = 0; i < 23; i++) {
        x[2 * i] = normal();
        x[2 * i + 1] = normal();
        y[i] = sin(2 * x[2 * i]) + x[2 * i + 1];
    }
    for (int i = 0; i < 53 * 2; i++) {
        z[i] = pow(10, 4 * uniform() - 1) * normal();
    }
    far_model *m = fit(FIRST, x, 23, 2, y, 1, as_it_is(0));
    far_certificate *c = certify(m, 1e-9, 0.1, NAN);
    double C = far_certificate_describe(c).C, b1 = far_certificate_bound(c, 0)->b1, before = 0;
    const char *names[] = {"x0", "x1"};
    far_frame *training, *others;
    far_mat own = far_mat_view(x, 23, 2, FAR_F64), away = far_mat_view(z, 53, 2, FAR_F64);
    must_do(far_frame_from_mat(ctx, &own, names, &training), "frame");
    must_do(far_frame_from_mat(ctx, &away, names, &others), "frame");
    static const double times[] = {0.001, 0.01, 0.1, 1, 10, 1e3, 1e6, INFINITY};
    for (int t = 0; t < COUNT(times); t++) {
        far_prediction *p, *q;
        far_predict_opts o;
        far_predict_opts_init(&o);
        o.time = times[t];
        must_do(far_model_predict(ctx, m, training, &o, &p), "predict");
        must_do(far_model_predict(ctx, m, others, &o, &q), "predict");
        double norm = norm_at_training(m, p->mean.data);
        assert_true(norm > before || (t > 4 && norm > before * (1 - 1e-9)));
        assert_true(sqrt(C) * norm <= b1 * (1 + 1e-9));
        for (int i = 0; i < 53; i++) {
            const double *f = q->mean.data;
            assert_true(fabs(f[i]) <= sqrt(C) * norm);
        }
        before = norm;
        far_prediction_destroy(p);
        far_prediction_destroy(q);
    }
    assert_close("B1", sqrt(C) * before, b1, 1e-6 * b1);
    far_frame_destroy(training);
    far_frame_destroy(others);
    far_certificate_destroy(c);
    far_model_destroy(m);
}

/* ---- bounds are never beaten ---- */

static const char *const BOUNDED[] = {
    "dense ln relu dense",
    FIRST,
    SECOND,
    EVERY,
    "dense relu ln dense relu dense",
    "dense relu dense relu ln dense",
    "[dense relu ln]x2 dense",
    "dense(b=1) rms leaky_relu(0.3) dense",
    "dense(b=0.5) ln(eps=0.1) relu dense relu dense",
    "dense abs ln dense relu dense",
    "dense ln abs dense(nobias)",
    "dense relu rms ln dense",
    "dense relu identity ln dense",
    "dense relu batchnorm ln dense relu dense",
    "dense leaky_relu(-0.5) dense ln relu dense",
    "[dense relu]x3 dense ln relu dense",
    "[dense(b=0.4) ln relu]x3 dense",
    "dense ln identity dense",
    "dense(w=3, b=0.01) ln relu dense(w=0.2, b=2)",
    "dense relu ln(eps=0.3) dense",
    "dense ln(eps=0.01) relu(gain=3) dense(b=0) leaky_relu(3) dense",
    "dense ln batchnorm(eps=0.5) relu dense",
    "dense ln relu(gain=0.1) dense(b=3) relu dense",
    "dense ln leaky_relu(-3) dense",
    "dense(b=2) relu rms dense(w=0.5) ln(eps=1e-3) abs dense",
};

/* Others: no distance within a cell is known for them. */
static const char *const SMOOTH[] = {
    "dense ln gelu dense",
    "dense ln erf dense erf dense",
    "dense ln sin dense",
    "dense(b=1) rms tanh dense relu dense",
    "dense ln silu dense(b=0.5)",
    "dense ln relu(2) dense",
    "dense gelu dense ln gelu dense",
    "dense ln(affine) relu dense",
    "dense skip(ln relu dense) ln relu dense",
    "ln dense relu dense",
    "erf dense relu dense",
    "dense(nobias) ln relu dense",
};

typedef struct problem {
    int64_t n, d, p;
    double x[53 * 7], y[53 * 3];
} problem;

static problem random_problem(int64_t n, int64_t d, int64_t p)
{
    problem q = {.n = n, .d = d, .p = p};
    double shift = 3 * normal();
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t j = 0; j < d; j++) {
            q.x[i * d + j] = normal() + (j == 0 ? shift : 0);
            sum += q.x[i * d + j];
        }
        for (int64_t j = 0; j < p; j++) {
            q.y[i * p + j] = sin(2 * sum + (double)j) + shift + 0.3 * normal();
        }
    }
    return q;
}

static far_model *random_model(const char *arch, int64_t d, int64_t p, int variant)
{
    static const int64_t rows[] = {23, 29, 5, 17};
    problem q = random_problem(rows[variant % 4], d, p);
    far_fit_opts o = as_it_is(variant % 2 ? 0.01 : 1e-8);
    o.standardize = variant % 3 > 0;
    o.kernel = variant % 5 == 4;
    return fit(arch, q.x, q.n, d, q.y, p, o);
}

static void assert_within(const far_model *m, const far_bound *b, double f)
{
    double slack = 1e-12 * b->tightest;
    if (!(fabs(f) <= b->tightest + slack && b->lowest - slack <= f && f <= b->highest + slack)) {
        fail_msg("%s: f = %.17g, bound %.17g (%s), range %.17g to %.17g", m->arch, f, b->tightest,
                 b->method, b->lowest, b->highest);
    }
}

/* Points of all sizes, near the training points, and limits. */
static void try_to_beat(const far_model *m, const far_certificate *c, bool limits)
{
    enum { POINTS = 700 };
    int64_t d = far_model_describe(m).inputs, p = far_model_describe(m).outputs;
    double *x = malloc((size_t)(POINTS * d) * sizeof *x), *f = malloc(POINTS * 4 * sizeof *f);
    double orders[POINTS];
    assert_true(x && f && p <= 4);
    far_mat points = far_mat_view(x, POINTS, d, FAR_F64),
            mean = far_mat_view(f, POINTS, p, FAR_F64);
    far_mat order = far_mat_view(orders, POINTS, 1, FAR_F64), own = far_model_points(m);
    for (int part = 0; part < (limits ? 2 : 1); part++) {
        for (int64_t i = 0; i < POINTS; i++) {
            const double *near = far_mat_row(&own, (int64_t)(uniform() * (double)own.rows));
            double size = pow(10, 12 * uniform() - 3), close = i % 3 ? 0 : pow(10, -6 * uniform());
            for (int64_t j = 0; j < d; j++) {
                x[i * d + j] = i % 3 ? size * normal() : near[j] + close * normal();
            }
        }
        must_do(part ? far_model_limit(ctx, m, &points, &mean, &order)
                     : far_model_eval(ctx, m, &points, &mean),
                m->arch);
        for (int64_t i = 0; i < POINTS * p; i++) {
            assert_within(m, far_certificate_bound(c, i % p), f[i]);
        }
    }
    free(x);
    free(f);
}

/* Every closed form by itself, also those that another one beats. */
static void try_each_form(const far_model *m, const far_certificate *c)
{
    enum { POINTS = 300 };
    int64_t d = far_model_describe(m).inputs, p = far_model_describe(m).outputs;
    double x[POINTS * 7], f[POINTS * 4];
    far_mat points = far_mat_view(x, POINTS, d, FAR_F64),
            mean = far_mat_view(f, POINTS, p, FAR_F64);
    for (int64_t i = 0; i < POINTS; i++) {
        double size = pow(10, 8 * uniform() - 3);
        for (int64_t j = 0; j < d; j++) {
            x[i * d + j] = size * normal();
        }
    }
    must_do(far_model_eval(ctx, m, &points, &mean), m->arch);
    for (int64_t j = 0; j < p; j++) {
        far_single q = predictor_of(m, j, far_certificate_describe(c).C);
        far_interval forms[3] = {far_norm_interval(&q), far_bias_interval(&q)};
        must_do(far_quadratic_interval(&q, &forms[2]), m->arch);
        for (int k = 0; k < 3; k++) {
            for (int64_t i = 0; forms[k].method && i < POINTS; i++) {
                if (!(f[i * p + j] >= forms[k].low && f[i * p + j] <= forms[k].high)) {
                    fail_msg("%s: %s says %.17g to %.17g, f is %.17g", m->arch, forms[k].method,
                             forms[k].low, forms[k].high, f[i * p + j]);
                }
            }
        }
    }
}

static void bounds_are_never_beaten(void **state)
{
    (void)state;
    static const int64_t dims[] = {1, 2, 3, 7};
    int variant = 0, quadratic = 0, branch = 0;
    for (int a = 0; a < COUNT(BOUNDED) + COUNT(SMOOTH); a++) {
        const char *arch = a < COUNT(BOUNDED) ? BOUNDED[a] : SMOOTH[a - COUNT(BOUNDED)];
        for (int k = 0; k < 2; k++, variant++) {
            int64_t d = dims[(2 * a + k + a / 2) % 4];
            d = strncmp(arch, "ln ", 3) == 0 && d < 3 ? 3 : d;
            far_model *m = random_model(arch, d, k ? 1 : 2, variant);
            far_certificate *c = certify(m, 0.06, 0.01, NAN);
            try_to_beat(m, c, true);
            try_each_form(m, c);
            quadratic += strcmp(far_certificate_bound(c, 0)->method, "quadratic") == 0;
            branch += strcmp(far_certificate_bound(c, 0)->method, "branch and bound") == 0;
            far_certificate_destroy(c);
            far_model_destroy(m);
        }
    }
    assert_true(quadratic > 5 && branch > 5);
}

/* A training set that makes the bound of the norm as tight as it can be: one point. */
static void one_point_reaches_its_bound(void **state)
{
    (void)state;
    for (int a = 0; a < COUNT(BOUNDED); a++) {
        double x[2] = {0.3, -0.7}, y = -2;
        far_model *m = fit(BOUNDED[a], x, 1, 2, &y, 1, as_it_is(0));
        far_certificate *c = certify(m, 0.02, 0.01, NAN);
        const far_bound *b = far_certificate_bound(c, 0);
        try_to_beat(m, c, true);
        assert_true(b->sup_found >= 2 * (1 - 1e-12));
        assert_true(b->tightest <=
                    2 * sqrt(far_certificate_describe(c).C / far_model_describe(m).mean_diagonal) *
                        (1 + 1e-6));
        far_certificate_destroy(c);
        far_model_destroy(m);
    }
}

/* Targets from 1e-150 to 1e150, and an offset that dwarfs the spread. */
static void size_does_not_matter(void **state)
{
    (void)state;
    static const double sizes[] = {1e-150, 1e-9, 1e9, 1e150};
    for (int i = 0; i < COUNT(sizes); i++) {
        problem q = random_problem(17, 2, 1);
        for (int r = 0; r < 17; r++) {
            q.y[r] = sizes[i] * (q.y[r] + (i % 2 ? 1e6 : 0));
        }
        for (int standardize = 0; standardize < 2; standardize++) {
            far_fit_opts o = as_it_is(1e-6);
            o.standardize = standardize;
            far_model *m = fit(i % 2 ? FIRST : SECOND, q.x, 17, 2, q.y, 1, o);
            far_certificate *c = certify(m, 0.05, 0.1, NAN);
            try_to_beat(m, c, true);
            far_certificate_destroy(c);
            far_model_destroy(m);
        }
    }
}

/* ---- branch and bound ---- */

static double scan(const far_model *m, int64_t j, int64_t steps)
{
    int64_t d = far_model_describe(m).inputs, p = far_model_describe(m).outputs;
    int64_t rings = d == 1 ? 1 : 160, count = steps * rings;
    double *s = malloc((size_t)(count * (d + 1)) * sizeof *s), unit = far_sphere_unit(m);
    double *out = malloc((size_t)(count * p) * sizeof *out), most = 0;
    assert_true(s && out);
    for (int64_t i = 0; i < count; i++) {
        double along = (double)(i % steps) / (double)(steps - 1);
        double ring = (double)(i / steps) / (double)rings;
        double *at = s + i * (d + 1);
        if (d == 1) {
            at[0] = cos(M_PI * along);
            at[1] = fmax(sin(M_PI * along), 0);
        } else {
            at[0] = cos(M_PI / 2 * along) * cos(2 * M_PI * ring);
            at[1] = cos(M_PI / 2 * along) * sin(2 * M_PI * ring);
            at[2] = sin(M_PI / 2 * along);
        }
    }
    must_do(far_sphere_eval(ctx, m, unit, s, count, out), "scan");
    for (int64_t i = 0; i < count; i++) {
        most = fmax(most, fabs(out[i * p + j]));
    }
    free(s);
    free(out);
    return most;
}

static void branch_and_bound_holds_the_maximum(void **state)
{
    (void)state;
    int finished = 0;
    for (int a = 0; a < COUNT(BOUNDED); a++) {
        int64_t d = 1 + a % 2;
        far_model *m = random_model(BOUNDED[a], d, 2, a);
        far_supremum sup;
        must_do(far_kernel_supremum(ctx, m->kernel, d, &sup), BOUNDED[a]);
        far_single q = predictor_of(m, a % 2, sup.value);
        double most = scan(m, a % 2, d == 1 ? 4001 : 160);
        static const double gaps[] = {0.5, 0.02};
        for (int g = 0; g < 2; g++) {
            far_branch_result r;
            must_do(far_branch_bound(&q, gaps[g], NAN, 0.25, 0, &r), BOUNDED[a]);
            assert_true(r.bound >= most && r.found <= r.bound);
            assert_true(!r.finished || r.bound <= r.found * (1 + gaps[g]));
            finished += r.finished;
            far_branch_result confirmed, refuted; /* a bound with room, and one that is false */
            must_do(far_branch_bound(&q, 1e-9, r.bound * 1.5, 0.25, 0, &confirmed), BOUNDED[a]);
            assert_true(confirmed.bound >= most);
            must_do(far_branch_bound(&q, 1e-9, most * 0.99, 5, 0, &refuted), BOUNDED[a]);
            assert_true(refuted.bound > most * 0.99);
        }
        far_model_destroy(m);
    }
    assert_true(finished > COUNT(BOUNDED)); /* of two each */
}

/* ---- the distance within a cell ---- */

/* Kernel values of two points of the half sphere, infinity included. */
static void pair_values(const far_model *m, const double *s, double k[4])
{
    int64_t d = m->info.inputs;
    bool nngp = m->info.kernel == FAR_KERNEL_NNGP;
    double points[2 * 7], orders[2];
    bool infinite[2] = {s[d] == 0, s[d + 1 + d] == 0};
    for (int i = 0; i < 2; i++) {
        far_sphere_to_point(s + i * (d + 1), d, far_sphere_unit(m), points + i * d);
    }
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 2; j++) {
            far_mat a = far_mat_view(points + i * d, 1, d, FAR_F64);
            far_mat b = far_mat_view(points + j * d, 1, d, FAR_F64);
            far_mat out = far_mat_view(&k[2 * i + j], 1, 1, FAR_F64);
            far_mat order = far_mat_view(orders, 1, 1, FAR_F64);
            if (!infinite[i] && !infinite[j]) {
                must_do(far_kernel_eval(ctx, m->kernel, &a, &b, FAR_FILL_FULL, nngp ? &out : NULL,
                                        nngp ? NULL : &out),
                        "eval");
            } else if (infinite[i] && infinite[j]) {
                double all[4];
                far_mat both = far_mat_view(points, 2, d, FAR_F64);
                far_mat values = far_mat_view(all, 2, 2, FAR_F64);
                order = far_mat_view(orders, 2, 1, FAR_F64);
                must_do(far_kernel_limit(ctx, m->kernel, &both, NULL, nngp ? &values : NULL,
                                         nngp ? &order : NULL, nngp ? NULL : &values,
                                         nngp ? NULL : &order),
                        "limits");
                k[2 * i + j] = all[2 * i + j];
            } else {
                must_do(far_kernel_limit(ctx, m->kernel, infinite[i] ? &a : &b,
                                         infinite[i] ? &b : &a, nngp ? &out : NULL,
                                         nngp ? &order : NULL, nngp ? NULL : &out,
                                         nngp ? NULL : &order),
                        "limit");
            }
        }
    }
}

/* A centre of some height, and a point at some angle from it; false if that is below the rim. */
static bool random_pair(int64_t d, int t, double *height, double *angle, double *used, double *s)
{
    double *x = s, *c = s + d + 1, e[8], square = 0, dot = 0, off = 0;
    *height = t % 11 == 0 ? 0 : t % 3 == 0 ? uniform() : pow(10, -9 * uniform());
    *angle = M_PI / 2 * (t % 5 == 0 ? uniform() : pow(10, -9 * uniform()));
    *used = t % 2 ? *angle : *angle * uniform();
    for (int64_t i = 0; i < d; i++) {
        c[i] = normal();
        square += c[i] * c[i];
    }
    for (int64_t i = 0; i < d; i++) {
        c[i] *= sqrt((1 - *height) * (1 + *height)) / sqrt(square);
    }
    c[d] = *height;
    for (int64_t i = 0; i <= d; i++) {
        e[i] = t % 13 == 0 && i == d ? 0 : normal(); /* also along the rim */
        dot += e[i] * c[i];
    }
    for (int64_t i = 0; i <= d; i++) {
        e[i] -= dot * c[i];
        off += e[i] * e[i];
    }
    for (int64_t i = 0; i <= d; i++) {
        x[i] = cos(*used) * c[i] + sin(*used) * (off > 0 ? e[i] / sqrt(off) : 0);
    }
    if (fabs(x[d]) < 1e-11) {
        x[d] = 0; /* as good as infinity */
    }
    return x[d] >= 0 && off > 1e-20;
}

static void cells_are_no_larger_than_said(void **state)
{
    (void)state;
    static const int64_t dims[] = {1, 2, 3, 7};
    for (int a = 0; a < COUNT(BOUNDED); a++) {
        far_model m = {.ctx = ctx};
        must_do(far_kernel_create(ctx, BOUNDED[a], NULL, &m.kernel), BOUNDED[a]);
        assert_true(far_cell_supported(&m));
        int tried = 0, tight = 0;
        for (int t = 0; t < 3000; t++) {
            int64_t d = dims[t % 4];
            m.info.inputs = d;
            m.info.kernel = t / 4 % 2 ? FAR_KERNEL_NNGP : FAR_KERNEL_NTK;
            double height, angle, used, s[16], k[4];
            if (!random_pair(d, t, &height, &angle, &used, s)) {
                continue;
            }
            pair_values(&m, s, k);
            bool narrow = t % 7 < 3; /* the height of x known well, or hardly */
            double low = s[d] * (1 - 1e-14) * (narrow ? 1 : uniform());
            double high = fmin(s[d] * (1 + 1e-14) + 1e-14 + (narrow ? 0 : uniform()), 1);
            double said = far_cell_distance(&m, height, angle * (1 + 1e-14) + 1e-15, low, high);
            double square = k[0] + k[3] - k[1] - k[2];
            if (!(said * said >= square)) {
                fail_msg("%s, prior %d, d = %d: |k_x - k_c|^2 = %.17g > %.17g at angle %.17g, "
                         "height %.17g of x %.17g",
                         BOUNDED[a], m.info.kernel, (int)d, square, said * said, used, height,
                         s[d]);
            }
            tried++;
            tight += narrow && used == angle && said * said < 2 * square;
        }
        assert_true(tried > 2000 && tight > 150);
        far_kernel_destroy(m.kernel);
    }
}

static void other_networks_have_no_cells(void **state)
{
    (void)state;
    static const char *const others[] = {
        "dense ln gelu dense",   "dense(nobias) ln relu dense", "dense ln(affine) relu dense",
        "ln dense relu dense",   "dense(w=0) ln relu dense",    "dense skip(relu dense) ln",
        "dense ln relu(2) dense"};
    for (int i = 0; i < COUNT(others); i++) {
        far_model m = {.ctx = ctx};
        must_do(far_kernel_create(ctx, others[i], NULL, &m.kernel), others[i]);
        assert_false(far_cell_supported(&m));
        far_kernel_destroy(m.kernel);
    }
}

/* Where C is said to come from a monotone diagonal, it does. */
static void a_monotone_diagonal_is_monotone(void **state)
{
    (void)state;
    for (int a = 0; a < COUNT(BOUNDED); a++) {
        double x[121 * 3], k[121], q[121];
        far_kernel *kernel;
        far_supremum sup;
        for (int i = 0; i < 121; i++) {
            for (int j = 0; j < 3; j++) {
                x[3 * i + j] = pow(10, (i - 60) / 10.0) * (j - 0.7);
            }
        }
        far_mat points = far_mat_view(x, 121, 3, FAR_F64), t = far_mat_view(k, 121, 1, FAR_F64);
        far_mat n = far_mat_view(q, 121, 1, FAR_F64);
        must_do(far_kernel_create(ctx, BOUNDED[a], NULL, &kernel), BOUNDED[a]);
        must_do(far_kernel_diag(ctx, kernel, &points, &n, &t), BOUNDED[a]);
        must_do(far_kernel_supremum(ctx, kernel, 3, &sup), BOUNDED[a]);
        for (int i = 1; i < 121; i++) {
            assert_true(k[i] >= k[i - 1] * (1 - 1e-14) && q[i] >= q[i - 1] * (1 - 1e-14));
        }
        assert_true(k[120] <= sup.value * (1 + 1e-14));
        assert_close(BOUNDED[a], k[120], sup.value, 1e-9 * sup.value);
        far_kernel_destroy(kernel);
    }
}

/* ---- the power series of kappa ---- */

static void coefficients_stay_below_the_series(void **state)
{
    (void)state;
    double b = 0.01, pi = M_PI, erf2 = 1 / (2 / pi * asin(2.0 / 3)), sin2 = 2 / (1 - exp(-2));
    double r = (1 / pi + b) / (1 + b), k0 = 1 - acos(r) / pi;
    double k1 = (sqrt(1 - r * r) + r * (pi - acos(r))) / pi, k0d = 1 / (pi * sqrt(1 - r * r));
    struct {
        const char *arch;
        far_kernel_kind kernel;
        double c[3];
    } cases[] = {
        {"dense ln relu dense", FAR_KERNEL_NNGP, {1 / pi + b, 0.5, 1 / (2 * pi)}},
        {"dense ln relu dense", FAR_KERNEL_NTK, {1 / pi + b, 1, 3 / (2 * pi)}},
        {"dense(w=7, b=3) rms relu dense(nobias)", FAR_KERNEL_NTK, {1 / pi, 1, 3 / (2 * pi)}},
        {"dense ln abs dense", FAR_KERNEL_NNGP, {2 / pi + b, 0, 1 / pi}},
        {"dense ln abs dense", FAR_KERNEL_NTK, {2 / pi + b, 0, 3 / pi}},
        {"dense ln identity dense(w=2)", FAR_KERNEL_NTK, {b, 8, 0}},
        {"dense ln erf dense", FAR_KERNEL_NNGP, {b, erf2 * 4 / (3 * pi), 0}},
        {"dense ln sin dense", FAR_KERNEL_NNGP, {b, sin2 * exp(-1), 0}},
        {"dense ln sin dense", FAR_KERNEL_NTK, {b, 2 * sin2 * exp(-1), 0}},
        {FIRST, FAR_KERNEL_NNGP, {(1 + b) * k1 + b, k0 / 2, k0 / (2 * pi) + k0d / (1 + b) / 8}},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        far_model m = {.ctx = ctx, .info = {.kernel = cases[i].kernel, .inputs = 2}};
        must_do(far_kernel_create(ctx, cases[i].arch, NULL, &m.kernel), cases[i].arch);
        assert_true(on_the_sphere(&m));
        far_supremum sup;
        must_do(far_kernel_supremum(ctx, m.kernel, 2, &sup), cases[i].arch);
        far_single p = {.ctx = ctx, .model = &m, .C = sup.proven};
        double c[TERMS];
        must_do(coefficients(&p, c), cases[i].arch);
        for (int k = 0; k < TERMS; k++) {
            if (!(c[k] <= cases[i].c[k] && c[k] >= cases[i].c[k] * (1 - 1e-5) - 1e-8)) {
                fail_msg("%s, prior %d: c_%d = %.15g, the series has %.15g", cases[i].arch,
                         cases[i].kernel, k, c[k], cases[i].c[k]);
            }
        }
        far_kernel_destroy(m.kernel);
    }
}

static void only_spheres_have_a_series(void **state)
{
    (void)state;
    static const char *const others[] = {
        "dense relu dense ln relu dense", "dense relu dense",       "dense(nobias) ln relu dense",
        "dense ln(eps=1e-3) relu dense",  "ln dense ln relu dense", "dense batchnorm relu dense"};
    for (int i = 0; i < COUNT(others); i++) {
        far_model m = {.ctx = ctx, .info = {.inputs = 2}};
        must_do(far_kernel_create(ctx, others[i], NULL, &m.kernel), others[i]);
        assert_false(on_the_sphere(&m));
        far_kernel_destroy(m.kernel);
    }
}

/* The largest value of c2 s.Ms + c1 w.s over the sphere, against many s. */
static void the_quadratic_range_is_exact(void **state)
{
    (void)state;
    for (int t = 0; t < 60; t++) {
        enum { DIM = 3 };
        double values[DIM], weight[DIM], w[DIM], most = -INFINITY;
        for (int i = 0; i < DIM; i++) {
            values[i] = t % 3 == 0 ? 0 : normal();
            w[i] = t % 4 == 0 ? 0 : normal();
            w[i] = t % 5 == 1 && i < 2 ? 0 : w[i];
            weight[i] = w[i] * w[i];
        }
        form f = {values, weight, DIM, t % 2 ? 1 : -1, 0.5 + uniform(), uniform()};
        for (int k = 0; k < 20000; k++) {
            double s[DIM], size = 0, sum = 0;
            for (int i = 0; i < DIM; i++) {
                s[i] = normal();
                size += s[i] * s[i];
            }
            for (int i = 0; i < DIM; i++) {
                sum += f.sign *
                       (f.c2 * values[i] * s[i] * s[i] / size + f.c1 * w[i] * s[i] / sqrt(size));
            }
            most = fmax(most, sum);
        }
        double said = largest_on_sphere(&f);
        assert_true(said >= most - 1e-12);
        assert_true(said <= most + 0.03 * (fabs(most) + 1));
    }
}

/* ---- running away ---- */

static const struct {
    const char *arch;
    double order;
} RUNAWAYS[] = {{"dense relu dense", 1},
                {NONE, 1},
                {"[dense relu]x3 dense", 1},
                {"dense(b=1) leaky_relu(0.2) dense relu dense", 1},
                {"dense abs dense", 1},
                {"dense gelu dense", 1},
                {"dense silu dense", 1},
                {"dense relu(2) dense", 2},
                {"dense relu(2) dense relu dense", 2},
                {"dense relu(0.75) dense", 0.75},
                {"dense relu(3) dense", 3},
                {"dense batchnorm(eps=0.1) relu dense", 1},
                {"dense identity dense", 1}};

static double f_along(const far_model *m, int64_t j, const double *direction, double t)
{
    int64_t d = m->info.inputs, p = m->info.outputs;
    double x[7], y[4];
    for (int64_t i = 0; i < d; i++) {
        x[i] =
            (t * direction[i] - far_input_centre(m->columns)[i]) / far_input_scale(m->columns)[i];
    }
    far_mat point = far_mat_view(x, 1, d, FAR_F64), mean = far_mat_view(y, 1, p, FAR_F64);
    must_do(far_model_eval(ctx, m, &point, &mean), "along");
    return y[j];
}

static void slopes_are_what_f_tends_to(void **state)
{
    (void)state;
    static const int64_t dims[] = {1, 2, 3, 7};
    for (int a = 0; a < COUNT(RUNAWAYS); a++) {
        far_model *m = random_model(RUNAWAYS[a].arch, dims[a % 4], 2, a);
        int64_t d = m->info.inputs;
        far_certificate *c = certify(m, 0.3, 0.1, NAN);
        assert_int_equal(far_certificate_describe(c).verdict, FAR_UNBOUNDED);
        for (int64_t j = 0; j < 2; j++) {
            const far_bound *b = far_certificate_bound(c, j);
            if (!(b->order == RUNAWAYS[a].order && b->verdict == FAR_UNBOUNDED)) {
                fail_msg("%s: %s, order %g", RUNAWAYS[a].arch, far_verdict_text(b->verdict),
                         b->order);
            }
            double t = pow(1e8, 1 / fmin(b->order, 1)), centre = far_output_centre(m->columns)[j];
            double ratio =
                (f_along(m, j, b->direction, t) - centre) / (b->slope * pow(t, b->order));
            /* weights of a kernel of rank d + 1 (identity) reach 1e8: what cancels is allowed for
             */
            double rounding =
                1e-15 * predictor_of(m, j, 1).norm_1 * far_output_scale(m->columns)[j];
            assert_close(RUNAWAYS[a].arch, ratio, 1, 1e-5 + rounding / fabs(b->slope));
            assert_close("confirmed", b->confirmed, 1, 1e-3);
            if (b->order == 1) {
                double off = 2 * (f_along(m, j, b->direction, 6e5) - b->slope * 6e5) -
                             (f_along(m, j, b->direction, 3e5) - b->slope * 3e5);
                assert_close(RUNAWAYS[a].arch, b->intercept, off,
                             1e-3 * (1 + fabs(off)) + 6e5 * rounding);
            }
            for (int64_t k = 0; k < 200; k++) { /* no other direction is much steeper */
                double u[7], square = 0, mean[2], order;
                for (int64_t i = 0; i < d; i++) {
                    u[i] = normal();
                    square += u[i] * u[i];
                }
                for (int64_t i = 0; i < d; i++) {
                    u[i] /= sqrt(square);
                }
                far_mat way = far_mat_view(u, 1, d, FAR_F64), f = far_mat_view(mean, 1, 2, FAR_F64);
                far_mat orders = far_mat_view(&order, 1, 1, FAR_F64);
                must_do(far_model_limit(ctx, m, &way, &f, &orders), "limit");
                double back = 0; /* the found one in standardised units of norm 1 */
                for (int64_t i = 0; i < d; i++) {
                    back += pow(b->direction[i] / far_input_scale(m->columns)[i], 2);
                }
                assert_true(fabs(mean[j]) <= 1.05 * fabs(b->slope) / pow(back, b->order / 2));
            }
        }
        far_certificate_destroy(c);
        far_model_destroy(m);
    }
}

/* f has the rounding of its large coefficients. */
static void check_beyond(const far_model *m, const far_bound *b, int64_t j)
{
    double size = fmax(fabs(b->beyond), 1), alphas = predictor_of(m, j, 1).norm_1;
    double rounding = 1e-15 * alphas * far_output_scale(m->columns)[j] * pow(size, b->order);
    double slack = 1e-6 * (1 + b->level) + rounding;
    for (int k = 0; k < 150; k++) {
        double t = b->beyond + fmax(b->beyond, 1e-3) * pow(10, 15 * uniform() - 9);
        double f = f_along(m, j, b->direction, t);
        if (!(fabs(f) > b->level - slack)) {
            fail_msg("%s: |f| = %.17g at %.17g, beyond %.17g, level %g", m->arch, fabs(f), t,
                     b->beyond, b->level);
        }
    }
    if (b->beyond > 0) {
        double below = b->beyond - fmax(1e-9, 1e-15 * b->beyond);
        double f = f_along(m, j, b->direction, below);
        if (!(fabs(f) <= b->level + slack)) {
            fail_msg("%s: |f| = %.17g at %.17g already, beyond %.17g, level %g", m->arch, fabs(f),
                     below, b->beyond, b->level);
        }
    }
}

static void levels_are_passed_for_good(void **state)
{
    (void)state;
    static const double levels[] = {0, 0.3, 5, 1e3, 1e7};
    for (int a = 0; a < COUNT(RUNAWAYS); a++) {
        for (int l = 0; l < COUNT(levels); l++) {
            far_model *m = random_model(RUNAWAYS[a].arch, 1 + a % 2, 1, a + l);
            far_certificate *c = certify(m, 0.05, 0.1, levels[l]);
            const far_bound *b = far_certificate_bound(c, 0);
            assert_true(b->level == levels[l]);
            check_beyond(m, b, 0);
            far_certificate_destroy(c);
            far_model_destroy(m);
        }
    }
}

/* Data far from the origin: rays start at raw 0 and meet them late. */
static void levels_are_passed_by_data_far_out(void **state)
{
    (void)state;
    static const double places[] = {50, -50, 1e4, 1.6e9};
    for (int i = 0; i < COUNT(places); i++) {
        for (int l = 0; l < 3; l++) {
            problem q = random_problem(17, 1, 1);
            for (int r = 0; r < 17; r++) {
                q.x[r] += places[i];
            }
            far_fit_opts o;
            far_fit_opts_init(&o);
            o.ridge = 1e-6;
            far_model *m = fit(NONE, q.x, 17, 1, q.y, 1, o);
            double level[] = {0.5, 20, 1e6}, ways[2] = {1, -1};
            for (int w = 0; w < 2; w++) {
                far_bound b = {.verdict = FAR_UNDECIDED, .output = "y"};
                far_single p = predictor_of(m, 0, INFINITY);
                must_do(far_witness_output(&p, level[l], &ways[w], &b), "witness");
                assert_int_equal(b.verdict, FAR_UNBOUNDED);
                check_beyond(m, &b, 0);
            }
            far_model_destroy(m);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_point_shows_it_all),
        TEST(slopes_and_limits_of_the_grid),
        TEST(bounds_of_the_grid),
        TEST(bounds_scale_as_they_should),
        TEST(the_norm_grows_with_training),
        TEST(bounds_are_never_beaten),
        TEST(one_point_reaches_its_bound),
        TEST(size_does_not_matter),
        TEST(branch_and_bound_holds_the_maximum),
        TEST(cells_are_no_larger_than_said),
        TEST(other_networks_have_no_cells),
        TEST(a_monotone_diagonal_is_monotone),
        TEST(coefficients_stay_below_the_series),
        TEST(only_spheres_have_a_series),
        TEST(the_quadratic_range_is_exact),
        TEST(slopes_are_what_f_tends_to),
        TEST(levels_are_passed_for_good),
        TEST(levels_are_passed_by_data_far_out),
    };
    return cmocka_run_group_tests_name("certify numbers", tests, NULL, NULL);
}
