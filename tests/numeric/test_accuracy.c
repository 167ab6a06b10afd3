/*
 * test_accuracy.c: the float64 kernels against arbitrary precision, published numbers and closed
 * forms. Errors are |got - want| / sqrt(Theta(x,x) Theta(y,y)), for K with K's own diagonal. Asked:
 * 1e-13 where all is piecewise polynomial (relu, its integer powers, leaky_relu, abs), at any norm
 * and distance; 1e-12 elsewhere, at moderate norms.
 */

#define TEST_THREADS 0
#include "harness.h"
#include <float.h>

#include "mp_reference.h"
#include <farfield/farfield.h>

#define PI 3.14159265358979323846
#define MAX_N 24
#define MAX_D 13
#define EXACT 1e-13
#define SMOOTH 1e-12

/* ---- the library, without ceremony ------------------------------------------------------------
 */

static far_kernel *kernel_of(const char *arch, int standard)
{
    far_kernel *k = NULL;
    far_kernel_opts opts;
    opts = (far_kernel_opts){.size = sizeof opts};
    opts.param = standard ? FAR_PARAM_STANDARD : FAR_PARAM_NTK;
    must_do(far_kernel_create(ctx, arch, &opts, &k), arch);
    return k;
}

static mp_net net_of(const char *arch)
{
    mp_net net;
    if (mp_net_parse(arch, &net)) {
        fail_msg("the reference does not read %s", arch);
    }
    return net;
}

/* Theta(x, y) in one dimension or, with d given, of two vectors. */
static double theta(const char *arch, int d, double *x, double *y)
{
    double t;
    far_kernel *k = kernel_of(arch, 0);
    far_mat a = far_mat_view(x, 1, d, FAR_F64), b = far_mat_view(y, 1, d, FAR_F64);
    far_mat out = far_mat_view(&t, 1, 1, FAR_F64);
    must_do(far_kernel_eval(ctx, k, &a, &b, FAR_FILL_FULL, NULL, &out), arch);
    far_kernel_destroy(k);
    return t;
}

/* ---- points ---------------------------------------------------------------------------------- */

typedef struct cloud {
    int n, d;
    double x[MAX_N * MAX_D];
    const char *name[MAX_N];
} cloud;

static double unit(uint64_t i) /* in (-1, 1), the same every time */
{
    uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)(int64_t)(z ^ (z >> 31)) * 0x1p-63;
}

/* Appends (a + by r) s, a and r fixed directions number which and 7; offset goes to all features.
 */
static void put(cloud *c, const char *name, int which, double s, double by, double offset)
{
    assert_in_range(c->n, 0, MAX_N - 1);
    for (int i = 0; i < c->d; i++) {
        double a = unit((uint64_t)(100 * which + i)), r = unit((uint64_t)(700 + i));
        c->x[c->n * c->d + i] = (a + by * r) * s + offset;
    }
    c->name[c->n++] = name;
}

static cloud moderate_points(int d)
{
    cloud c = {.d = d};
    put(&c, "a", 1, 1, 0, 0);
    put(&c, "a(1+1e-9)", 1, 1, 1e-9, 0);
    put(&c, "a(1+1e-5)", 1, 1, 1e-5, 0);
    put(&c, "-a", 1, -1, 0, 0);
    put(&c, "-a(1+1e-9)", 1, -1, 1e-9, 0);
    put(&c, "2a", 1, 2, 0, 0);
    put(&c, "b", 2, 1, 0, 0);
    put(&c, "30b", 2, 30, 0, 0);
    put(&c, "1e-3b", 2, 1e-3, 0, 0);
    return c;
}

static cloud all_points(int d, int with_zero)
{
    cloud c = moderate_points(d);
    put(&c, "1e4+b", 2, 1, 0, 1e4);
    put(&c, "1e6a", 1, 1e6, 0, 0);
    put(&c, "1e6a(1+1e-9)", 1, 1e6, 1e-9, 0);
    put(&c, "1e-200a", 1, 1e-200, 0, 0);
    put(&c, "1e-200b", 2, 1e-200, 0, 0);
    put(&c, "1e200a", 1, 1e200, 0, 0);
    put(&c, "1e200a(1+1e-9)", 1, 1e200, 1e-9, 0);
    put(&c, "-1e200a", 1, -1e200, 0, 0);
    put(&c, "1e180b", 2, 1e180, 0, 0);
    put(&c, "1e-90b", 2, 1e-90, 0, 0);
    if (with_zero) {
        put(&c, "0", 1, 0, 0, 0);
    }
    return c;
}

/* ---- comparison ------------------------------------------------------------------------------ */

typedef struct worst {
    double error;
    char where[512];
} worst;

/* |got - want| / scale. An infinite answer stands for all beyond DBL_MAX: its distance is what is
 * missing to there. The last denormals may be lost. */
static double error_of(double got, mpfr_t want, mpfr_t scale)
{
    double e = 0;
    mpfr_t diff;
    if (isnan(got)) {
        return INFINITY;
    }
    mpfr_init2(diff, mpfr_get_prec(want));
    mpfr_sub_d(diff, want, isinf(got) ? copysign(DBL_MAX, got) : got, MPFR_RNDN);
    if (isinf(got) && mpfr_sgn(diff) * got > 0) {
        mpfr_set_zero(diff, 1);
    }
    mpfr_abs(diff, diff, MPFR_RNDN);
    if (mpfr_cmp_d(diff, 0x1p-1072) > 0) {
        mpfr_div(diff, diff, scale, MPFR_RNDN);
        e = mpfr_get_d(diff, MPFR_RNDN);
    }
    mpfr_clear(diff);
    return e;
}

typedef struct task {
    const char *arch;
    int standard;
    long bits;
    mp_net net;
    const cloud *c;
    double tolerance;
    int bad;
    worst *worst;
} task;

static void note(task *t, double e, const char *what, int i, int j, double got, mpfr_t want)
{
    char where[sizeof t->worst->where];
    if (e <= t->worst->error && e <= t->tolerance) {
        return;
    }
    snprintf(where, sizeof where, "%s(%s, %s), d = %d, %s: %s: %.17g not %.17g", what,
             t->c->name[i], t->c->name[j], t->c->d, t->standard ? "standard" : "ntk", t->arch, got,
             mpfr_get_d(want, MPFR_RNDN));
    if (!(e <= t->tolerance) && t->bad++ < 3) {
        printf("error %.2e in %s\n", e, where);
    }
    if (!(e <= t->worst->error)) {
        t->worst->error = e;
        strcpy(t->worst->where, where);
    }
}

/* Of count numbers that came with st: it says so if some are too large. */
static void must_but_range(far_status st, const double *values, int count, const char *what)
{
    bool large = false;
    for (int i = 0; i < count; i++) {
        large = large || isinf(values[i]);
    }
    must_do(st == FAR_ERR_RANGE && large ? FAR_OK : st, what);
    assert_int_equal(st == FAR_ERR_RANGE, large);
}

/* What the library says: both ways of asking for the matrices, and the diagonal. */
typedef struct answer {
    double self[2][MAX_N * MAX_N], cross[2][MAX_N * MAX_N], diag[2][MAX_N];
} answer;

static void ask(const task *t, answer *a)
{
    static double copy[MAX_N * MAX_D];
    int n = t->c->n, d = t->c->d;
    far_kernel *k = kernel_of(t->arch, t->standard);
    memcpy(copy, t->c->x, sizeof copy);
    far_mat x = far_mat_view((void *)t->c->x, n, d, FAR_F64), y = far_mat_view(copy, n, d, FAR_F64);
    for (int cross = 0; cross < 2; cross++) {
        double(*m)[MAX_N * MAX_N] = cross ? a->cross : a->self;
        far_mat nngp = far_mat_view(m[0], n, n, FAR_F64), ntk = far_mat_view(m[1], n, n, FAR_F64);
        for (int what = 0; what < 2; what++) {
            far_status st = far_kernel_eval(ctx, k, &x, cross ? &y : NULL, FAR_FILL_FULL,
                                            what ? NULL : &nngp, what ? &ntk : NULL);
            must_but_range(st, m[what], n * n, t->arch);
        }
    }
    far_mat nngp = far_mat_view(a->diag[0], n, 1, FAR_F64);
    far_mat ntk = far_mat_view(a->diag[1], n, 1, FAR_F64);
    must_but_range(far_kernel_diag(ctx, k, &x, &nngp, NULL), a->diag[0], n, t->arch);
    must_but_range(far_kernel_diag(ctx, k, &x, NULL, &ntk), a->diag[1], n, t->arch);
    far_kernel_destroy(k);
}

static bool is_moderate(const cloud *c, int i)
{
    double most = 0;
    for (int at = 0; at < c->d; at++) {
        most = fmax(most, fabs(c->x[i * c->d + at]));
    }
    return most > 1e-9 && most < 1e9;
}

static void reference(const task *t, int i, int j, mpfr_t want[2])
{
    const double *x = t->c->x + i * t->c->d, *y = t->c->x + j * t->c->d;
    long bits = is_moderate(t->c, i) && is_moderate(t->c, j) ? MP_BITS_LOW : t->bits;
    const char *error = mp_net_eval(&t->net, t->standard, bits, t->c->d, x, y, want[0], want[1]);
    if (error) {
        fail_msg("no reference for %s: %s", t->arch, error);
    }
}

static void compare_entry(task *t, const answer *a, int i, int j, mpfr_t want[2], mpfr_t scale[2])
{
    static const char *const NAMES[2] = {"K", "Theta"};
    int n = t->c->n;
    for (int what = 0; what < 2; what++) {
        double got[5] = {a->self[what][i * n + j], a->self[what][j * n + i],
                         a->cross[what][i * n + j], a->cross[what][j * n + i], a->diag[what][i]};
        for (int way = 0; way < (i == j ? 5 : 4); way++) {
            double e = error_of(got[way], want[what], scale[what]);
            note(t, e, NAMES[what], i, j, got[way], want[what]);
        }
    }
}

static void init_pairs(mpfr_t (*m)[2], int n, long bits)
{
    for (int i = 0; i < n; i++) {
        mpfr_inits2(bits, m[i][0], m[i][1], (mpfr_ptr)NULL);
    }
}

static void clear_pairs(mpfr_t (*m)[2], int n)
{
    for (int i = 0; i < n; i++) {
        mpfr_clears(m[i][0], m[i][1], (mpfr_ptr)NULL);
    }
}

static int compare(const char *arch, int standard, long bits, const cloud *c, double tolerance,
                   worst *w)
{
    static answer a;
    task t = {arch, standard, bits, net_of(arch), c, tolerance, 0, w};
    mpfr_t diag[MAX_N][2], one[2][2]; /* one: the value and its scale */
    ask(&t, &a);
    init_pairs(diag, c->n, bits);
    init_pairs(one, 2, bits);
    for (int i = 0; i < c->n; i++) {
        reference(&t, i, i, diag[i]);
        for (int j = 0; j <= i; j++) {
            mpfr_set(one[0][0], diag[i][0], MPFR_RNDN);
            mpfr_set(one[0][1], diag[i][1], MPFR_RNDN);
            if (j < i) {
                reference(&t, i, j, one[0]);
            }
            for (int what = 0; what < 2; what++) {
                mpfr_mul(one[1][what], diag[i][what], diag[j][what], MPFR_RNDN);
                mpfr_sqrt(one[1][what], one[1][what], MPFR_RNDN);
            }
            compare_entry(&t, &a, i, j, one[0], one[1]);
        }
    }
    clear_pairs(diag, c->n);
    clear_pairs(one, 2);
    return t.bad;
}

static void summary(const char *family, const worst *w, int bad, double tolerance)
{
    printf("%s: worst error %.2e (asked: %.0e) in %s\n", family, w->error, tolerance, w->where);
    assert_int_equal(bad, 0);
}

/* ---- the families ---------------------------------------------------------------------------- */

typedef struct entry {
    const char *arch;
    int d[2];    /* two dimensions, 0: none */
    int no_zero; /* 1: what the zero vector gives is a matter of taste (0/0) */
} entry;

static const entry RELU[] = {
    {"dense relu dense", {1, 13}, 0},
    {"[dense relu]x2 dense", {2, 7}, 0},
    {"[dense relu]x20 dense", {1, 3}, 0},
    {"[dense(w=1.3, b=0.7) relu]x5 dense(b=0)", {2, 13}, 0},
    {"[dense(b=0) relu]x3 dense(b=0)", {1, 3}, 0},
    {"[dense(nobias) relu]x20 dense", {2, 7}, 0},
    {"[dense relu(gain=1)]x6 dense", {3, 0}, 0},
    {"dense identity(gain=1.5) dense relu dense", {2, 0}, 0},
};

static const entry RELU_NORMED[] = {
    {"dense ln relu dense relu dense", {1, 7}, 0},
    {"dense relu dense ln relu dense", {1, 3}, 0},
    {"[dense ln relu]x20 dense", {1, 2}, 0},
    {"[dense relu ln]x20 dense", {1, 13}, 0},
    {"dense relu ln dense relu dense", {3, 0}, 0},
    {"dense relu dense relu ln dense", {2, 0}, 0},
    {"[dense relu rms]x3 dense", {1, 7}, 0},
    {"[dense rms(eps=0.1) relu]x3 dense", {2, 0}, 0},
    {"[dense ln(eps=1e-5) relu]x3 dense", {3, 13}, 0},
    {"[dense relu ln(eps=1e-5)]x4 dense", {1, 2}, 0},
    {"[dense(b=0) ln(eps=1e-3) relu]x2 dense(b=0)", {2, 0}, 0},
    {"dense(b=0) relu dense(b=0) ln relu dense", {1, 3}, 1},
    {"[dense batchnorm(eps=0.3) relu]x3 dense", {1, 0}, 0},
    {"dense(8) ln(groups=4) relu dense(8) relu ln(groups=2) dense", {3, 0}, 0},
    {"dense ln ln relu rms dense", {2, 0}, 0},
    {"dense relu ln(eps=0.5) rms dense relu rms ln dense", {7, 0}, 0},
};

static const entry INPUT_NORMED[] = {
    {"ln [dense relu]x2 dense", {1, 3}, 0},
    {"ln [dense relu]x4 dense", {7, 13}, 0},
    {"rms [dense relu]x2 dense", {1, 2}, 0},
    {"rms dense ln relu dense", {7, 0}, 0},
    {"ln(eps=0.01) dense relu dense", {2, 13}, 0},
    {"rms(eps=1e-5) dense relu dense", {3, 0}, 0},
    {"batchnorm(eps=0.3) dense relu dense", {2, 0}, 0},
    {"relu dense relu dense", {3, 0}, 0},
    {"ln abs dense ln leaky_relu dense", {7, 0}, 0},
    {"rms relu(2, gain=0.5) ln dense", {13, 0}, 0},
    {"ln(groups=2) dense relu dense", {6, 0}, 0},
    {"ln(groups=3, eps=0.1) dense relu dense", {12, 0}, 0},
};

static const entry AFFINE[] = {
    {"dense ln(affine) relu dense", {1, 3}, 0},
    {"[dense ln(affine) relu]x5 dense", {2, 7}, 0},
    {"[dense relu ln(affine)]x5 dense", {1, 13}, 0},
    {"[dense relu rms(affine)]x3 dense", {3, 0}, 0},
    {"[dense rms(eps=0.2, affine) relu]x3 dense", {2, 0}, 0},
    {"[dense batchnorm(eps=0.5, affine) relu]x3 dense", {1, 0}, 0},
    {"dense(w=1.5, b=0.05) ln(groups=8, eps=1e-5, affine) leaky_relu(0.1) dense(1)", {13, 0}, 0},
    {"[dense ln(affine) abs]x3 dense", {2, 0}, 0},
    {"[dense ln(affine) relu(2)]x3 dense", {1, 3}, 0},
    {"dense ln(affine) skip(relu dense) dense", {3, 0}, 0},
    {"dense skip(ln(affine) relu dense) relu dense", {2, 0}, 0},
    {"dense ln(affine) batchnorm(eps=2) ln(eps=0.1, affine) relu dense", {3, 0}, 0},
    {"dense relu ln(affine) skip(dense relu) rms(affine) dense", {2, 0}, 0},
};

static const entry LEAKY[] = {
    {"[dense leaky_relu(0.2)]x20 dense", {1, 3}, 0},
    {"[dense ln leaky_relu(-0.7)]x4 dense", {2, 0}, 0},
    {"[dense leaky_relu ln]x4 dense", {1, 7}, 0},
    {"dense leaky_relu(3) dense leaky_relu(1) dense", {2, 0}, 0},
    {"[dense(nobias) leaky_relu(0.999999)]x3 dense relu dense", {1, 3}, 0},
    {"[dense abs]x6 dense", {1, 2}, 0},
    {"[dense abs]x20 dense", {3, 0}, 0},
    {"[dense abs ln]x6 dense", {7, 0}, 0},
    {"[dense rms abs]x20 dense", {1, 0}, 0},
};

static const entry POWERS[] = {
    {"dense relu(2) dense", {1, 13}, 0},
    {"[dense relu(2)]x3 dense", {2, 0}, 0},
    {"dense(b=0) relu(2) dense(b=0)", {1, 3}, 0},
    {"[dense ln relu(2)]x20 dense", {1, 2}, 0},
    {"[dense relu(2) ln]x10 dense", {3, 0}, 0},
    {"dense relu(2) dense relu(2) dense ln relu(2) dense", {1, 2}, 0},
    {"[dense relu(3)]x2 dense", {1, 7}, 0},
    {"[dense ln relu(3)]x10 dense", {2, 0}, 0},
    {"[dense relu(3) rms]x4 dense", {3, 0}, 0},
    {"dense ln relu(4) dense relu(5) dense", {2, 0}, 0},
};

static const entry SKIPS[] = {
    {"dense [skip(relu dense)]x10 relu dense", {1, 3}, 0},
    {"dense [skip(ln relu dense)]x8 ln relu dense", {2, 13}, 0},
    {"dense relu skip(dense relu) dense relu dense", {1, 7}, 0},
    {"dense relu skip(dense relu) ln dense relu dense", {1, 2}, 0},
    {"dense relu [skip(dense relu ln)]x5 rms dense", {3, 0}, 0},
    {"dense skip(relu dense skip(abs dense(w=0.5)) relu dense) relu dense", {2, 0}, 0},
    {"dense(b=0) skip(relu dense(b=0)) relu dense(b=0)", {1, 0}, 0},
    {"dense skip(relu(2) dense) relu dense", {1, 3}, 0},
    {"dense skip(dense) skip(dense(w=0.01, b=3)) relu dense", {2, 0}, 0},
};

static const entry STANDARD[] = {
    {"[dense(64) relu]x20 dense(1)", {1, 3}, 0},
    {"[dense(128) ln relu]x3 dense(1)", {2, 13}, 0},
    {"[dense(32) relu ln(affine)]x3 dense(1)", {1, 0}, 0},
    {"dense(64) skip(ln relu dense(64)) dense(1)", {7, 0}, 0},
    {"dense(16, nobias) relu(2) dense(8) abs dense(1)", {3, 0}, 1},
    {"ln dense(1000, w=0.5, b=0) relu dense(10) ln(affine) relu dense(1)", {7, 0}, 1},
    {"dense(5) leaky_relu(0.3) skip(dense(5) relu) rms dense(1)", {2, 0}, 0},
};

static const entry ERF[] = {
    {"dense erf dense", {1, 3}, 0},
    {"dense(nobias) erf dense(nobias) relu dense", {1, 3}, 0},
    {"dense ln erf dense relu dense", {3, 0}, 0},
    {"[dense erf]x5 dense", {2, 13}, 0},
    {"[dense ln erf]x5 dense", {1, 7}, 0},
    {"[dense erf ln]x3 dense", {2, 0}, 0},
    {"[dense ln(affine) erf]x3 dense", {3}, 0},
    {"dense skip(erf dense) rms erf dense", {2, 0}, 0},
};

static const entry GELU[] = {
    {"dense gelu dense", {1, 13}, 0},
    {"[dense gelu]x5 dense", {2, 3}, 0},
    {"[dense ln gelu]x10 dense", {1, 7}, 0},
    {"[dense gelu ln]x3 dense", {2, 0}, 0},
    {"[dense ln(affine) gelu]x3 dense", {3, 0}, 0},
    {"dense batchnorm(eps=1, affine) gelu dense", {1, 0}, 0},
    {"dense gelu skip(dense gelu) ln dense", {3, 0}, 0},
};

static const entry SIN[] = {
    {"dense sin dense", {1, 3}, 0},
    {"dense(nobias) ln sin dense(nobias) relu dense", {3, 0}, 0},
    {"[dense sin]x3 dense", {2, 13}, 0},
    {"[dense ln sin]x5 dense", {1, 7}, 0},
    {"[dense ln(affine) sin]x3 dense", {2, 0}, 0},
    {"dense rms(eps=0.1) sin rms dense", {3, 0}, 0},
    {"sin dense gelu(gain=2) dense", {7, 0}, 0},
    {"dense sin dense abs dense", {2, 0}, 0},
    {"ln gelu dense erf dense", {3, 0}, 0},
};

static const entry SMOOTH_STANDARD[] = {
    {"[dense(50) erf]x2 dense(1)", {3, 0}, 0},
    {"[dense(50) ln(affine) gelu]x2 dense(1)", {2, 0}, 0},
    {"dense(20) sin dense(30) gelu dense(1, nobias)", {7, 0}, 0},
};

static const entry FRACTIONS[] = {
    {"dense relu(1.5) dense", {2, 0}, 0},
    {"[dense ln relu(0.75)]x2 dense", {3, 0}, 0},
    {"[dense relu(2.5)]x2 dense", {1, 0}, 0},
    {"dense relu(0.6) ln(affine) dense", {2, 0}, 0},
};

#define FAMILY(table, text)                                                                        \
    {                                                                                              \
        table, COUNT(table), text                                                                  \
    }

typedef struct family {
    const entry *table;
    int count;
    const char *name;
} family;

static int run_family(const family *f, int standard, int everywhere, double tolerance, worst *w)
{
    int bad = 0;
    for (int i = 0; i < f->count; i++) {
        for (int j = 0; j < 2 && f->table[i].d[j]; j++) {
            int d = f->table[i].d[j];
            cloud c = everywhere ? all_points(d, !f->table[i].no_zero) : moderate_points(d);
            long bits = everywhere ? MP_BITS : MP_BITS_LOW;
            bad += compare(f->table[i].arch, standard, bits, &c, tolerance, w);
        }
    }
    return bad;
}

static void piecewise_polynomials_are_exact_everywhere(void **state)
{
    static const family ALL[] = {FAMILY(RELU, "relu"),
                                 FAMILY(RELU_NORMED, "relu with norms"),
                                 FAMILY(INPUT_NORMED, "norms on the input"),
                                 FAMILY(AFFINE, "affine norms"),
                                 FAMILY(LEAKY, "leaky_relu and abs"),
                                 FAMILY(POWERS, "relu powers"),
                                 FAMILY(SKIPS, "skips")};
    static const family OTHER = FAMILY(STANDARD, "standard parametrisation");
    int bad = 0;
    (void)state;
    for (int i = 0; i < COUNT(ALL); i++) {
        worst w = {0, ""};
        int b = run_family(&ALL[i], 0, 1, EXACT, &w);
        printf("%s: worst error %.2e in %s\n", ALL[i].name, w.error, w.where);
        bad += b;
    }
    worst w = {0, ""};
    bad += run_family(&OTHER, 1, 1, EXACT, &w);
    summary(OTHER.name, &w, bad, EXACT);
}

static void smooth_activations_are_exact_at_moderate_norms(void **state)
{
    static const family ALL[] = {FAMILY(ERF, "erf"), FAMILY(GELU, "gelu"), FAMILY(SIN, "sin"),
                                 FAMILY(FRACTIONS, "fractional powers")};
    static const family OTHER = FAMILY(SMOOTH_STANDARD, "smooth, standard parametrisation");
    int bad = 0;
    (void)state;
    for (int i = 0; i < COUNT(ALL); i++) {
        worst w = {0, ""};
        bad += run_family(&ALL[i], 0, 0, SMOOTH, &w);
        printf("%s: worst error %.2e in %s\n", ALL[i].name, w.error, w.where);
    }
    worst w = {0, ""};
    bad += run_family(&OTHER, 1, 0, SMOOTH, &w);
    summary(OTHER.name, &w, bad, SMOOTH);
}

/* ---- two hidden layers, in closed form --------------------------------------------------------
 */

#define NONE "[dense relu]x2 dense"
#define PRE1 "dense ln relu dense relu dense"
#define PRE2 "dense relu dense ln relu dense"
#define PRE12 "[dense ln relu]x2 dense"
#define POST1 "dense relu ln dense relu dense"
#define POST2 "dense relu dense relu ln dense"
#define POST12 "[dense relu ln]x2 dense"
static const double BETA = 0.01, ALPHA = 1 - 1 / PI;

static const struct {
    const char *arch;
    double k00, k01, k02, k11, k12, k22; /* Theta on {-1, 0, 2}, from 40-digit arithmetic */
} ONE_D[] = {
    {NONE, 3.06, 0.11338914254373288, 0.61775135505297371, 0.06, 0.19269719551976932, 12.06},
    {PRE1, 3.03, 0.81363293706463354, 0.31819681322117825, 3.03, 0.76117993224194018, 3.03},
    {PRE2, 3.0001960784313725, 0.73386878604361082, 0.31013236014899399, 2.51, 0.65432332944765215,
     3.0075124378109453},
    {PRE12, 3.0000990099009901, 0.80567617531151836, 0.31514535962492896, 3.0000990099009901,
     0.7537425071702378, 3.0000990099009901},
    {POST1, 3.4969422069242599, 0.46112829924354332, -0.047614213960231575, 3.4969422069242599,
     0.39921595782944231, 3.4969422069242599},
    {POST2, 3.929502627506125, 0.60493146759813947, -0.016665380157907841, 3.2104133103863898,
     0.48824287994846594, 3.9402353038810464},
    {POST12, 4.6075555123260599, 0.19828466723248405, -0.54062212987181294, 4.6075555123260599,
     0.10836206649005872, 4.6075555123260599},
};

static void one_dimensional_values_are_the_published_ones(void **state)
{
    double worst_error = 0;
    (void)state;
    for (int i = 0; i < COUNT(ONE_D); i++) {
        double x[3] = {-1, 0, 2}, got[9];
        double want[9] = {ONE_D[i].k00, ONE_D[i].k01, ONE_D[i].k02, ONE_D[i].k01, ONE_D[i].k11,
                          ONE_D[i].k12, ONE_D[i].k02, ONE_D[i].k12, ONE_D[i].k22};
        far_kernel *k = kernel_of(ONE_D[i].arch, 0);
        far_mat in = far_mat_view(x, 3, 1, FAR_F64), out = far_mat_view(got, 3, 3, FAR_F64);
        must_do(far_kernel_eval(ctx, k, &in, NULL, FAR_FILL_FULL, NULL, &out), ONE_D[i].arch);
        far_kernel_destroy(k);
        for (int j = 0; j < 9; j++) {
            double e = fabs(got[j] - want[j]) / sqrt(want[4 * (j / 3)] * want[4 * (j % 3)]);
            worst_error = fmax(worst_error, e);
            assert_true(e <= EXACT);
        }
    }
    printf("published one-dimensional values: worst error %.2e\n", worst_error);
}

static double k0(double rho)
{
    return (PI - acos(rho)) / PI;
}

static double k1(double rho)
{
    return (sqrt(1 - rho * rho) + rho * (PI - acos(rho))) / PI;
}

static double k1_centred(double rho)
{
    return (k1(rho) - 1 / PI) / ALPHA;
}

/* The table of two-layer networks, in terms of x.x/d, x.y/d and y.y/d. */
static void closed_forms(double xx, double xy, double yy, double out[7])
{
    double b = BETA, a = ALPHA, q = xx + b, r = yy + b, kxy = xy + b;
    double s1 = sqrt(q * r), s2 = sqrt((q + b) * (r + b)), r1 = kxy / s1;
    double plain = (s1 * k1(r1) + b) / s2, pre = (k1(r1) + b) / (1 + b);
    double post = (k1_centred(r1) + b) / (1 + b);
    out[0] = s2 * k1(plain) + b + (s1 * k1(r1) + b) * k0(plain) + kxy * k0(r1) * k0(plain);
    out[1] = (1 + b) * k1(pre) + b + (k1(r1) + b + r1 * k0(r1)) * k0(pre);
    out[2] = k1(plain) + b + k0(plain) * (plain + kxy * k0(r1) / s2);
    out[3] = k1(pre) + b + k0(pre) * (pre + r1 * k0(r1) / (1 + b));
    out[4] = (1 + b) * k1(post) + b + (k1_centred(r1) + b + r1 * k0(r1) / a) * k0(post);
    out[5] = k1_centred(plain) + b + k0(plain) * (plain + kxy * k0(r1) / s2) / a;
    out[6] = k1_centred(post) + b + k0(post) * (post + r1 * k0(r1) / (a * (1 + b))) / a;
}

static void two_layer_kernels_have_their_closed_forms(void **state)
{
    double pairs[][2][3] = {{{0.5, -1, 2}, {1.5, 0.25, -0.75}},
                            {{-3, 0.1, 0.4}, {1, 1, 1}},
                            {{0.01, 0.02, -0.01}, {10, -20, 5}},
                            {{4, 5, 6}, {5, 4, 7}}};
    double worst_error = 0;
    (void)state;
    for (int i = 0; i < COUNT(pairs); i++) {
        double *x = pairs[i][0], *y = pairs[i][1], want[7];
        double xx = 0, xy = 0, yy = 0;
        for (int j = 0; j < 3; j++) {
            xx += x[j] * x[j] / 3;
            xy += x[j] * y[j] / 3;
            yy += y[j] * y[j] / 3;
        }
        closed_forms(xx, xy, yy, want);
        for (int j = 0; j < 7; j++) {
            const char *arch = ONE_D[j].arch;
            double scale = sqrt(theta(arch, 3, x, x) * theta(arch, 3, y, y));
            double e = fabs(theta(arch, 3, x, y) - want[j]) / scale;
            worst_error = fmax(worst_error, e);
            assert_true(e <= EXACT);
        }
        double first = theta(PRE1, 3, x, y), every = theta(PRE12, 3, x, y);
        assert_true(fabs(first - (1 + BETA) * every + BETA * BETA) <= 3 * EXACT);
    }
    printf("closed forms of two layers: worst error %.2e\n", worst_error);
}

/* ---- suprema --------------------------------------------------------------------------------- */

static far_supremum supremum(const char *arch, int d)
{
    far_supremum s;
    far_kernel *k = kernel_of(arch, 0);
    must_do(far_kernel_supremum(ctx, k, d, &s), arch);
    far_kernel_destroy(k);
    return s;
}

static void check_supremum(const char *arch, double value, int constant)
{
    for (int d = 1; d <= 7; d += 2) {
        far_supremum s = supremum(arch, d);
        if (!(s.bounded && fabs(s.value - value) <= EXACT * value && s.constant == constant &&
              (constant || (!s.attained && isinf(s.radius))))) {
            fail_msg("%s: value %.17g not %.17g, bounded %d, constant %d, attained %d, radius %g",
                     arch, s.value, value, s.bounded, s.constant, s.attained, s.radius);
        }
    }
}

static void suprema_of_two_layers_are_the_known_ones(void **state)
{
    (void)state;
    check_supremum(PRE1, 3 + 3 * BETA, 1);
    check_supremum(PRE2, 3 + BETA, 0);
    check_supremum(PRE12, 2 + BETA + 1 / (1 + BETA), 1);
    check_supremum(POST1, 2 + 3 * BETA + 1 / ALPHA, 1);
    check_supremum(POST2, 1 + BETA + 2 / ALPHA, 0);
    check_supremum(POST12, 1 + BETA + 1 / ALPHA + 1 / (ALPHA * ALPHA * (1 + BETA)), 1);
    far_supremum s = supremum(NONE, 3);
    assert_false(s.bounded);
    assert_true(isinf(s.value));
    assert_true(fabs(s.order - 2) <= 1e-15 && fabs(s.slope - 3) <= 3 * EXACT);
    /* erf'(z)^2 falls like 1/sqrt(q) only: a norm behind it does not bound Theta ~ sqrt(q). */
    s = supremum("dense erf ln dense", 3);
    assert_false(s.bounded);
    assert_true(fabs(s.order - 1) <= 1e-15 && fabs(s.slope - 2 / PI) <= EXACT);
}

/* One layer norm after linear layer h of L: C = (L + 1) + beta (L + 1 - h) (L + 2 - h) / 2. */
static void suprema_of_any_depth_follow_the_formula(void **state)
{
    (void)state;
    for (int layers = 1; layers <= 6; layers++) {
        char arch[512];
        for (int h = 1; h <= layers; h++) {
            snprintf(arch, sizeof arch, "%.*s dense ln relu %.*s dense", 11 * (h - 1),
                     "dense relu dense relu dense relu dense relu dense relu dense relu ",
                     11 * (layers - h),
                     "dense relu dense relu dense relu dense relu dense relu dense relu ");
            int rest = layers + 1 - h;
            check_supremum(arch, layers + 1 + BETA * rest * (rest + 1) / 2, h == 1);
        }
        snprintf(arch, sizeof arch, "[dense ln relu]x%d dense", layers);
        double c = 1 + BETA + (1 + BETA) / BETA * (1 - pow(1 + BETA, -layers));
        check_supremum(arch, c, 1);
    }
    /* relu(2) below the norm: Theta/q there tends to (chi^2 - 1) / (chi - 1), chi = 4/3. */
    double chi = 4.0 / 3;
    check_supremum("dense relu(2) dense ln relu dense", 1 + BETA + 1 + chi, 0);
}

/* Theta(x, x) at radius r in d dimensions by the reference. */
static double diagonal_at(const char *arch, int d, double r)
{
    double x[MAX_D], t;
    mp_net net = net_of(arch);
    mpfr_t k, ntk;
    mpfr_inits2(MP_BITS_LOW, k, ntk, (mpfr_ptr)NULL);
    for (int i = 0; i < d; i++) {
        x[i] = i % 2 ? -r : r;
    }
    assert_null(mp_net_eval(&net, 0, 1024, d, x, x, k, ntk));
    t = mpfr_get_d(ntk, MPFR_RNDN);
    mpfr_clears(k, ntk, (mpfr_ptr)NULL);
    return t;
}

static void no_point_exceeds_the_supremum(void **state)
{
    static const char *const ARCHS[] = {
        PRE2,
        POST2,
        "dense(w=2, b=1) relu dense(w=0.1, b=2) ln relu dense",
        "dense ln(eps=0.1) relu dense relu dense",
        "dense relu dense ln(affine) relu dense",
        "dense relu(2) dense relu dense rms(eps=1) relu dense",
        "dense skip(relu dense) ln relu dense",
        "dense skip(ln relu dense) ln relu dense",
        "dense gelu dense ln gelu dense",
        "dense ln erf dense gelu dense",
        "dense relu ln(eps=3) dense relu dense",
        "rms dense relu dense",
    };
    (void)state;
    for (int i = 0; i < COUNT(ARCHS); i++) {
        far_supremum s = supremum(ARCHS[i], 2);
        double most = 0;
        for (double r = 1e-8; r < 1e9; r *= 1.3) {
            double t = diagonal_at(ARCHS[i], 2, r);
            most = fmax(most, t);
            if (!(t <= s.value * (1 + EXACT))) {
                fail_msg("%s: Theta = %.17g at %g, supremum %.17g", ARCHS[i], t, r, s.value);
            }
        }
        double end = isinf(s.radius) ? 1e50 : isnan(s.radius) ? 1 : s.radius;
        double reached = diagonal_at(ARCHS[i], 2, s.constant ? 1 : end);
        printf("supremum %.12g at %g (scan: %.12g) for %s\n", s.value, s.radius, most, ARCHS[i]);
        assert_true(s.bounded);
        assert_true(fabs(reached - s.value) <= SMOOTH * s.value);
    }
}

/* ---- limits ---------------------------------------------------------------------------------- */

#define LIMIT_D 3
#define LIMIT_U 4
#define LIMIT_X 3

typedef struct limit {
    const char *arch;
    int both; /* also with both arguments at infinity */
} limit;

static const limit LIMITS[] = {
    {NONE, 1},
    {PRE1, 1},
    {PRE2, 1},
    {PRE12, 1},
    {POST1, 1},
    {POST2, 1},
    {POST12, 1},
    {"[dense relu]x6 dense", 1},
    {"[dense(b=0) relu]x2 dense(b=0)", 1},
    {"dense relu dense(b=2) ln(eps=0.5) relu dense", 1},
    {"dense relu(2) dense relu dense", 1},
    {"dense relu(2) dense ln relu(3) dense", 1},
    {"dense leaky_relu(0.3) dense abs dense", 1},
    {"dense ln(affine) relu dense", 1},
    {"dense relu rms(affine) dense relu dense", 1},
    {"dense skip(relu dense) relu dense", 1},
    {"dense relu skip(dense relu) ln dense", 1},
    {"dense skip(ln relu dense) relu dense", 1},
    {"dense skip(ln relu dense) ln relu dense", 1},
    {"dense batchnorm(eps=0.5) relu dense", 1},
    {"ln dense relu dense", 1},
    {"rms(eps=0.5) dense relu dense", 1},
    {"dense gelu dense", 1},
    {"dense gelu dense ln gelu dense", 1},
    {"dense ln gelu dense gelu dense", 1},
    {"dense erf dense", 0},
    {"dense ln erf dense", 1},
    {"dense ln sin dense", 1},
};

static const double U[LIMIT_U][LIMIT_D] = {
    {1, 0.5, -0.25}, {-1, -0.5, 0.25}, {0.3, 2, 1}, {-0.6, 0.1, 0.2}};
static const double LIMIT_POINTS[LIMIT_X][LIMIT_D] = {{1, 0.5, -0.25}, {0.2, -1, 0.7}, {0, 0, 0}};

static const double LAMBDA = 0x1p200; /* the limit is met up to 1/lambda, about 1e-60 */

static void scaled_point(const double *x, double by, double *out)
{
    for (int i = 0; i < LIMIT_D; i++) {
        out[i] = by * x[i];
    }
}

/* (value / lambda^order, scale / lambda^order) of the reference, what = 0: K, 1: Theta. */
static double limit_error(const mp_net *net, const double *x, const double *y, int what,
                          double order, double got)
{
    mpfr_t v[3][2], f;
    init_pairs(v, 3, MP_BITS);
    mpfr_init2(f, MP_BITS);
    assert_null(mp_net_eval(net, 0, MP_BITS, LIMIT_D, x, y, v[0][0], v[0][1]));
    assert_null(mp_net_eval(net, 0, MP_BITS, LIMIT_D, x, x, v[1][0], v[1][1]));
    assert_null(mp_net_eval(net, 0, MP_BITS, LIMIT_D, y, y, v[2][0], v[2][1]));
    mpfr_set_d(f, -order * 200, MPFR_RNDN);
    mpfr_exp2(f, f, MPFR_RNDN);
    mpfr_mul(v[1][what], v[1][what], v[2][what], MPFR_RNDN);
    mpfr_sqrt(v[1][what], v[1][what], MPFR_RNDN);
    mpfr_mul(v[0][what], v[0][what], f, MPFR_RNDN);
    mpfr_mul(v[1][what], v[1][what], f, MPFR_RNDN);
    double e = error_of(got, v[0][what], v[1][what]);
    mpfr_clear(f);
    clear_pairs(v, 3);
    return e;
}

typedef struct limits_got {
    double m[2][LIMIT_U * LIMIT_U], order[2][LIMIT_U];
    int cols;
} limits_got;

static void ask_limit(const char *arch, int both, limits_got *g)
{
    far_kernel *k = kernel_of(arch, 0);
    g->cols = both ? LIMIT_U : LIMIT_X;
    far_mat u = far_mat_view((void *)U, LIMIT_U, LIMIT_D, FAR_F64);
    far_mat x = far_mat_view((void *)LIMIT_POINTS, LIMIT_X, LIMIT_D, FAR_F64);
    far_mat nngp = far_mat_view(g->m[0], LIMIT_U, g->cols, FAR_F64);
    far_mat ntk = far_mat_view(g->m[1], LIMIT_U, g->cols, FAR_F64);
    far_mat nngp_order = far_mat_view(g->order[0], LIMIT_U, 1, FAR_F64);
    far_mat ntk_order = far_mat_view(g->order[1], LIMIT_U, 1, FAR_F64);
    must_do(far_kernel_limit(ctx, k, &u, both ? NULL : &x, &nngp, &nngp_order, &ntk, &ntk_order),
            arch);
    far_kernel_destroy(k);
}

static int compare_limit(const char *arch, int both, worst *w)
{
    limits_got g;
    mp_net net = net_of(arch);
    int bad = 0;
    ask_limit(arch, both, &g);
    for (int at = 0; at < 2 * LIMIT_U * g.cols; at++) {
        int what = at % 2, i = at / 2 / g.cols, j = at / 2 % g.cols;
        double x[LIMIT_D], y[LIMIT_D], got = g.m[what][i * g.cols + j];
        scaled_point(U[i], LAMBDA, x);
        scaled_point(both ? U[j] : LIMIT_POINTS[j], both ? LAMBDA : 1, y);
        double order = g.order[what][i] + (both ? g.order[what][j] : 0);
        double e = limit_error(&net, x, y, what, order, got);
        if (!(e <= SMOOTH) && bad++ < 3) {
            printf("%s[%d][%d] = %.17g, order %g, error %.2e: %s%s\n", what ? "ntk" : "nngp", i, j,
                   got, order, e, arch, both ? " (both)" : "");
        }
        if (!(e <= w->error)) {
            w->error = e;
            snprintf(w->where, sizeof w->where, "%s%s", arch, both ? " (both)" : "");
        }
    }
    return bad;
}

static void limits_are_met_at_a_large_lambda(void **state)
{
    worst w = {0, ""};
    int bad = 0;
    (void)state;
    for (int i = 0; i < COUNT(LIMITS); i++) {
        bad += compare_limit(LIMITS[i].arch, 0, &w);
        bad += LIMITS[i].both ? compare_limit(LIMITS[i].arch, 1, &w) : 0;
    }
    summary("limits", &w, bad, SMOOTH);
}

/* Theta(lambda u, x) in one dimension, for the numbers below; x NULL: both at infinity. */
static double limit_1d(const char *arch, double u, const double *x, double *order)
{
    double us[2] = {1, u}, t[4], orders[2];
    far_kernel *k = kernel_of(arch, 0);
    far_mat mu = far_mat_view(x ? &us[1] : us, x ? 1 : 2, 1, FAR_F64);
    far_mat mx = far_mat_view((void *)x, 1, 1, FAR_F64);
    far_mat ntk = far_mat_view(t, x ? 1 : 2, x ? 1 : 2, FAR_F64);
    far_mat o = far_mat_view(orders, x ? 1 : 2, 1, FAR_F64);
    must_do(far_kernel_limit(ctx, k, &mu, x ? &mx : NULL, NULL, NULL, &ntk, &o), arch);
    far_kernel_destroy(k);
    *order = orders[0];
    return x ? t[0] : t[2];
}

static void limits_are_the_printed_ones(void **state)
{
    static const struct {
        const char *arch;
        double u, x, order, value, digits; /* x NAN: both at infinity, along 1 and u */
    } PRINTED[] = {
        {NONE, 1, 1, 1, 2.881221, 5e-7},
        {NONE, -1, 1, 1, 0.099908 * 3.06, 2e-6},
        {PRE1, 1, 1, 0, 0.964479 * 3.03, 2e-6},
        {PRE2, 1, 1, 0, 0.954216 * 3.0001960784313725, 2e-6},
        {PRE12, 1, 1, 0, 0.964480 * 3.0000990099009901, 2e-6},
        {PRE1, 1, NAN, 0, 3.03, 1e-13},
        {PRE1, -1, NAN, 0, 0.3415, 5e-5},
        {PRE2, 1, NAN, 0, 3.01, 1e-13},
        {PRE2, -1, NAN, 0, 0.3283, 5e-5},
        {PRE12, 1, NAN, 0, 3.0000990099009901, 1e-13},
        {PRE12, -1, NAN, 0, 0.3383, 5e-5},
    };
    (void)state;
    for (int i = 0; i < COUNT(PRINTED); i++) {
        double order, x = PRINTED[i].x;
        double got = limit_1d(PRINTED[i].arch, PRINTED[i].u, isnan(x) ? NULL : &x, &order);
        if (!(fabs(got - PRINTED[i].value) <= PRINTED[i].digits && order == PRINTED[i].order)) {
            fail_msg("%s along %g: %.17g of order %g, not %g of order %g", PRINTED[i].arch,
                     PRINTED[i].u, got, order, PRINTED[i].value, PRINTED[i].order);
        }
    }
}

static int close_all(void **state)
{
    mp_release();
    return close_context(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_dimensional_values_are_the_published_ones),
        cmocka_unit_test(two_layer_kernels_have_their_closed_forms),
        cmocka_unit_test(suprema_of_two_layers_are_the_known_ones),
        cmocka_unit_test(suprema_of_any_depth_follow_the_formula),
        cmocka_unit_test(no_point_exceeds_the_supremum),
        cmocka_unit_test(limits_are_the_printed_ones),
        cmocka_unit_test(limits_are_met_at_a_large_lambda),
        cmocka_unit_test(piecewise_polynomials_are_exact_everywhere),
        cmocka_unit_test(smooth_activations_are_exact_at_moderate_norms),
    };
    return cmocka_run_group_tests(tests, open_context, close_all);
}
