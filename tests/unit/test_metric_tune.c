/* Weights tuned by leave-one-out: what is descended on is what refits say, its derivatives are
 * those of finite differences, and inputs that matter come out heavier. */
#include "../../src/regress/metric_tune.c"

#include "harness.h"

static far_kernel *kernel_of(const char *text)
{
    far_kernel *k;
    must(far_kernel_create(ctx, text, NULL, &k));
    return k;
}

/* ---- one evaluation against refits and differences ---- */

enum { N = 24, D = 4, P = 2, GROUPS = 3 };
static const int64_t SHARED[D] = {0, 1, 1, 2};

typedef struct small {
    double x[N * D], y[N * P];
    tuning t;
} small;

static void open_small(small *s, const far_kernel *k, far_kernel_kind kind, bool free_ridge,
                       uint64_t seed)
{
    for (int i = 0; i < N * D; i++) {
        s->x[i] = roll_bell(&seed);
    }
    for (int i = 0; i < N; i++) {
        s->y[i * P] = sin(s->x[i * D]) + 0.3 * roll_bell(&seed);
        s->y[i * P + 1] = s->x[i * D + 1] * s->x[i * D + 3] + 0.3 * roll_bell(&seed);
    }
    far_mat x = far_mat_view(s->x, N, D, FAR_F64), y = far_mat_view(s->y, N, P, FAR_F64);
    s->t = (tuning){.ctx = ctx,
                    .kernel = k,
                    .kind = kind,
                    .groups = SHARED,
                    .group_count = GROUPS,
                    .count = GROUPS + free_ridge,
                    .free_ridge = free_ridge,
                    .ridge = 0.02,
                    .d = D,
                    .p = P};
    must(make_room(&s->t, N));
    take_rows(&s->t, &x, &y, N);
}

/* Solves a b = c in place by elimination; b: n x P. */
static void eliminate(long double *a, long double *b, int n)
{
    for (int k = 0; k < n; k++) {
        for (int i = k + 1; i < n; i++) {
            long double f = a[i * n + k] / a[k * n + k];
            for (int j = k; j < n; j++) {
                a[i * n + j] -= f * a[k * n + j];
            }
            for (int o = 0; o < P; o++) {
                b[i * P + o] -= f * b[k * P + o];
            }
        }
    }
    for (int k = n - 1; k >= 0; k--) {
        for (int o = 0; o < P; o++) {
            for (int j = k + 1; j < n; j++) {
                b[k * P + o] -= a[k * n + j] * b[j * P + o];
            }
            b[k * P + o] /= a[k * n + k];
        }
    }
}

/* Squared errors of row i by a fit to all others. */
static double refit_without(const small *s, const double *kernel, double ridge, int left)
{
    enum { M = N - 1 };
    static long double a[M * M], b[M * P];
    double error = 0;
    for (int i = 0; i < M; i++) {
        int from = i + (i >= left);
        for (int j = 0; j < M; j++) {
            a[i * M + j] = kernel[from * N + j + (j >= left)] + (i == j ? ridge : 0);
        }
        for (int o = 0; o < P; o++) {
            b[i * P + o] = s->y[from * P + o];
        }
    }
    eliminate(a, b, M);
    for (int o = 0; o < P; o++) {
        long double miss = s->y[left * P + o];
        for (int i = 0; i < M; i++) {
            miss -= kernel[left * N + i + (i >= left)] * b[i * P + o];
        }
        error += (double)(miss * miss);
    }
    return error;
}

static double refits(const small *s, const double *w)
{
    static double z[N * D], kernel[N * N];
    double map[D], before = 0, after = 0, mean = 0, sum = 0, pull = 0;
    for (int at = 0; at < N * D; at++) {
        double weight = exp(w[SHARED[at % D]]);
        before += s->x[at] * s->x[at];
        after += weight * weight * s->x[at] * s->x[at];
        map[at % D] = weight;
    }
    for (int at = 0; at < N * D; at++) {
        z[at] = s->x[at] * map[at % D] * sqrt(before / after);
    }
    far_mat points = far_mat_view(z, N, D, FAR_F64), k = far_mat_view(kernel, N, N, FAR_F64);
    bool nngp = s->t.kind == FAR_KERNEL_NNGP;
    must(far_kernel_eval(ctx, s->t.kernel, &points, NULL, FAR_FILL_FULL, nngp ? &k : NULL,
                         nngp ? NULL : &k));
    for (int i = 0; i < N; i++) {
        mean += kernel[i * N + i] / N;
    }
    double ridge = mean * (s->t.free_ridge ? exp(w[GROUPS]) : s->t.ridge);
    for (int i = 0; i < N; i++) {
        sum += refit_without(s, kernel, ridge, i);
    }
    for (int g = 0; g < GROUPS; g++) {
        pull += PULL * w[g] * w[g] / N;
    }
    return 0.5 * log(sum / (N * P)) + pull;
}

static void check_slope(small *s, const double *w, unsigned g, double slope, double size)
{
    double h = 1e-5, at[GROUPS + 1], value[2];
    for (int side = 0; side < 2; side++) {
        memcpy(at, w, s->t.count * sizeof *w);
        at[g] += side ? h : -h;
        must(evaluate(&s->t, at, &value[side], NULL));
    }
    assert_near(slope, (value[1] - value[0]) / (2 * h), 1e-7 * (1 + size));
}

static void values_are_refits_and_slopes_differences(void **unused)
{
    (void)unused;
    static const char *const nets[] = {"dense ln relu dense", "dense relu dense relu dense",
                                       "ln dense gelu dense", "dense skip(ln relu dense) erf dense",
                                       "dense(b=0.4) abs ln dense relu dense"};
    uint64_t seed = 77;
    for (int i = 0; i < 5 * 2 * 2; i++) {
        far_kernel *k = kernel_of(nets[i / 4]);
        small s;
        open_small(&s, k, i % 2 ? FAR_KERNEL_NNGP : FAR_KERNEL_NTK, i / 2 % 2, 100 + i);
        double w[GROUPS + 1], slope[GROUPS + 1] = {0}, value, size = 0;
        for (unsigned g = 0; g < s.t.count; g++) {
            w[g] = g < GROUPS ? 0.7 * roll_bell(&seed) : -4 + roll_bell(&seed);
        }
        must(evaluate(&s.t, w, &value, slope));
        assert_near(value, refits(&s, w), 1e-9);
        for (unsigned g = 0; g < s.t.count; g++) {
            size = fmax(size, fabs(slope[g]));
        }
        assert_true(size > 1e-4);
        for (unsigned g = 0; g < s.t.count; g++) {
            check_slope(&s, w, g, slope[g], size);
        }
        tuning_clear(&s.t);
        far_kernel_destroy(k);
    }
}

/* ---- all of it ---- */

enum { ROWS = 700, INPUTS = 16 };

typedef struct sparse {
    double x[ROWS * INPUTS], y[ROWS];
    int64_t groups[INPUTS];
    far_mat inputs, targets;
} sparse;

/* Inputs 3, 7, 10 and 14 matter; every input has a group of its own, but 10 and 11. */
static void make_sparse(sparse *p, int64_t rows)
{
    uint64_t seed = 5;
    for (int64_t i = 0; i < rows; i++) {
        double *x = p->x + i * INPUTS;
        for (int j = 0; j < INPUTS; j++) {
            x[j] = roll_bell(&seed);
        }
        p->y[i] =
            sin(1.5 * x[3]) + x[7] * x[7] / 2 + x[10] + x[14] * x[3] / 2 + 0.05 * roll_bell(&seed);
    }
    for (int j = 0; j < INPUTS; j++) {
        p->groups[j] = j - (j >= 11);
    }
    p->inputs = far_mat_view(p->x, rows, INPUTS, FAR_F64);
    p->targets = far_mat_view(p->y, rows, 1, FAR_F64);
}

static far_tuning_opts options_of(const sparse *p)
{
    return (far_tuning_opts){p->groups, INPUTS - 1, 1e-3, true};
}

static double mapped_size(const sparse *p, const double *map)
{
    double sum = 0;
    for (int64_t at = 0; at < p->inputs.rows * INPUTS; at++) {
        double z = p->x[at] * (map ? map[at % INPUTS] : 1);
        sum += z * z;
    }
    return sum;
}

static void inputs_that_matter_are_heavier(void **unused)
{
    (void)unused;
    static sparse p;
    far_kernel *k = kernel_of("dense(b=1) ln relu dense(b=1) relu dense(b=1)");
    make_sparse(&p, ROWS);
    far_tuning_opts o = options_of(&p);
    far_metric s;
    must(far_metric_tune(ctx, k, FAR_KERNEL_NTK, &o, &p.inputs, &p.targets, &s));
    assert_int_equal(s.kind, FAR_METRIC_DIAGONAL);
    assert_true(s.map[10] == s.map[11]);
    double least = INFINITY, other = 0;
    for (int j = 0; j < INPUTS; j++) {
        bool relevant = j == 3 || j == 7 || j == 10 || j == 11 || j == 14;
        least = relevant ? fmin(least, s.map[j]) : least;
        other = relevant ? other : fmax(other, s.map[j]);
    }
    assert_true(least > 2 * other);
    assert_near(mapped_size(&p, s.map) / mapped_size(&p, NULL), 1, 1e-12);
    far_metric_clear(ctx, &s);
    far_kernel_destroy(k);
}

/* A relative ridge and a map whose size is fixed know nothing of units. */
static void units_of_targets_do_not_matter(void **unused)
{
    (void)unused;
    static sparse p;
    far_kernel *k = kernel_of("dense relu dense");
    far_metric a, b;
    make_sparse(&p, 120);
    far_tuning_opts o = options_of(&p);
    must(far_metric_tune(ctx, k, FAR_KERNEL_NTK, &o, &p.inputs, &p.targets, &a));
    for (int i = 0; i < 120; i++) {
        p.y[i] *= 0x1p40;
    }
    must(far_metric_tune(ctx, k, FAR_KERNEL_NTK, &o, &p.inputs, &p.targets, &b));
    for (int j = 0; j < INPUTS; j++) {
        assert_near(a.map[j], b.map[j], 1e-6 * a.map[j]);
    }
    far_metric_clear(ctx, &a);
    far_metric_clear(ctx, &b);
    far_kernel_destroy(k);
}

static void threads_do_not_matter(void **unused)
{
    (void)unused;
    static sparse p;
    far_metric s[2];
    make_sparse(&p, 150);
    far_tuning_opts o = options_of(&p);
    for (int i = 0; i < 2; i++) {
        far_ctx *other = context_with(i ? 3 : 1);
        far_kernel *k;
        assert_non_null(other);
        must(far_kernel_create(other, "dense ln gelu dense", NULL, &k));
        must(far_metric_tune(other, k, FAR_KERNEL_NTK, &o, &p.inputs, &p.targets, &s[i]));
        far_kernel_destroy(k);
        if (i) {
            assert_memory_equal(s[0].map, s[1].map, INPUTS * sizeof(double));
            far_metric_clear(other, &s[1]);
            far_metric_clear(other, &s[0]);
        }
        far_ctx_destroy(other);
    }
}

static void what_cannot_be_tuned(void **unused)
{
    (void)unused;
    static sparse p;
    static int64_t many[MOST_GROUPS + 1];
    far_kernel *k = kernel_of("dense relu dense");
    far_metric s;
    make_sparse(&p, 30);
    far_tuning_opts o = options_of(&p), wide = {many, MOST_GROUPS + 1, 1e-3, true};
    memset(p.y, 0, sizeof p.y);
    refused(far_metric_tune(ctx, k, FAR_KERNEL_NTK, &o, &p.inputs, &p.targets, &s),
            FAR_ERR_SINGULAR, "no weights");
    refused(far_metric_tune(ctx, k, FAR_KERNEL_NTK, &wide, &p.inputs, &p.targets, &s),
            FAR_ERR_SINGULAR, "too many weights to tune: 2001");
    assert_null(s.map);
    far_kernel_destroy(k);
}

static sparse failing;
static far_kernel *failing_kernel;

static far_status tune_once(void)
{
    far_tuning_opts o = options_of(&failing);
    far_metric s;
    far_status st = far_metric_tune(ctx, failing_kernel, FAR_KERNEL_NTK, &o, &failing.inputs,
                                    &failing.targets, &s);
    far_metric_clear(ctx, &s);
    return st;
}

static void every_allocation_may_fail(void **unused)
{
    (void)unused;
    make_sparse(&failing, 12);
    failing_kernel = kernel_of("dense relu dense");
    fail_every_allocation(tune_once);
    far_kernel_destroy(failing_kernel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(values_are_refits_and_slopes_differences),
        TEST(inputs_that_matter_are_heavier),
        TEST(units_of_targets_do_not_matter),
        TEST(threads_do_not_matter),
        TEST(what_cannot_be_tuned),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
