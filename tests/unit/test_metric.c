/* A map learnt from gradients: it finds the inputs and the directions that matter, keeps the size
 * of the points, and says what it cannot do. */
#include "../../src/regress/metric.h"

#include "harness.h"

enum { ROWS = 1000, INPUTS = 32 };

typedef struct problem {
    double x[ROWS * INPUTS], y[ROWS * 2];
    far_mat inputs, targets;
} problem;

static double smooth(const double *v)
{
    return sin(1.5 * v[0]) + v[1] * v[1] / 2 + v[2] + v[3] * v[0] / 2;
}

/* y: a smooth function of inputs 3, 11, 17 and 30, and 3% of noise; the second output, of 17 alone.
 */
static void make_sparse(problem *p, int64_t rows, int64_t outputs)
{
    static const int at[] = {3, 11, 17, 30};
    uint64_t seed = 3;
    for (int64_t i = 0; i < rows; i++) {
        double *x = p->x + i * INPUTS, v[4];
        for (int j = 0; j < INPUTS; j++) {
            x[j] = roll_bell(&seed);
        }
        for (int k = 0; k < 4; k++) {
            v[k] = x[at[k]];
        }
        p->y[i * outputs] = smooth(v) + 0.03 * 1.5 * roll_bell(&seed);
        if (outputs == 2) {
            p->y[i * 2 + 1] = v[2];
        }
    }
    p->inputs = far_mat_view(p->x, rows, INPUTS, FAR_F64);
    p->targets = far_mat_view(p->y, rows, outputs, FAR_F64);
}

static far_kernel *kernel_of(const char *text)
{
    far_kernel *k;
    must(far_kernel_create(ctx, text, NULL, &k));
    return k;
}

static far_metric learn(const far_kernel *k, far_metric_kind kind, double power, int rounds,
                        const far_mat *x, const far_mat *y)
{
    far_metric s = {0}, next;
    for (int i = 0; i < rounds; i++) {
        must(far_metric_learn(ctx, k, 1e-3, &s, kind, power, x, y, &next));
        far_metric_clear(ctx, &s);
        s = next;
    }
    return s;
}

static double mean_square(const double *v, int64_t count, int64_t rows)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += v[i] * v[i];
    }
    return sum / (double)rows;
}

static void diagonal_finds_the_inputs_that_matter(void **unused)
{
    (void)unused;
    static problem p;
    static double z[ROWS * INPUTS];
    far_kernel *k = kernel_of("dense relu dense");
    make_sparse(&p, ROWS, 1);
    far_metric s = learn(k, FAR_METRIC_DIAGONAL, 1, 3, &p.inputs, &p.targets);
    double least = INFINITY, other = 0;
    for (int j = 0; j < INPUTS; j++) {
        bool relevant = j == 3 || j == 11 || j == 17 || j == 30;
        least = relevant ? fmin(least, s.map[j]) : least;
        other = relevant ? other : fmax(other, s.map[j]);
    }
    assert_true(least > 3 * other);
    far_mat mapped = far_mat_view(z, ROWS, INPUTS, FAR_F64);
    must(far_metric_apply(ctx, &s, &p.inputs, &mapped));
    double before = mean_square(p.x, ROWS * INPUTS, ROWS);
    assert_true(fabs(mean_square(z, ROWS * INPUTS, ROWS) / before - 1) < 1e-12);
    far_metric_clear(ctx, &s);
    far_kernel_destroy(k);
}

/* Gradients are taken at half of these rows: which half, hardly matters. */
static void some_rows_tell_what_others_do(void **unused)
{
    (void)unused;
    static problem p, turned;
    far_kernel *k = kernel_of("dense ln relu dense");
    make_sparse(&p, ROWS, 1);
    make_sparse(&turned, ROWS, 1);
    for (int64_t i = 0; i < ROWS; i++) { /* rows of even places go to odd ones */
        memcpy(turned.x + (i ^ 1) * INPUTS, p.x + i * INPUTS, INPUTS * sizeof *p.x);
        turned.y[i ^ 1] = p.y[i];
    }
    far_metric a = learn(k, FAR_METRIC_DIAGONAL, 1, 1, &p.inputs, &p.targets);
    far_metric b = learn(k, FAR_METRIC_DIAGONAL, 1, 1, &turned.inputs, &turned.targets);
    double apart = 0;
    for (int j = 0; j < INPUTS; j++) {
        apart = fmax(apart, fabs(a.map[j] - b.map[j]));
    }
    assert_true(apart > 0 && apart < 0.05 * a.map[17]);
    far_metric_clear(ctx, &a);
    far_metric_clear(ctx, &b);
    far_kernel_destroy(k);
}

/* y = sin of one mixture of eight inputs. */
static void full_finds_a_direction(void **unused)
{
    (void)unused;
    enum { D = 8, N = 400 };
    static double x[N * D], y[N];
    double u[D] = {0.6, -0.4, 0, 0.3, 0.5, -0.2, 0, 0.3}, size = sqrt(mean_square(u, D, 1));
    uint64_t seed = 9;
    for (int i = 0; i < N; i++) {
        double t = 0;
        for (int j = 0; j < D; j++) {
            x[i * D + j] = roll_bell(&seed);
            t += u[j] / size * x[i * D + j];
        }
        y[i] = sin(2 * t) + 0.03 * roll_bell(&seed);
    }
    far_mat inputs = far_mat_view(x, N, D, FAR_F64), targets = far_mat_view(y, N, 1, FAR_F64);
    far_kernel *k = kernel_of("dense gelu dense");
    far_metric s = learn(k, FAR_METRIC_FULL, 1, 3, &inputs, &targets);
    double caught = 0;
    for (int i = 0; i < D; i++) {
        double along = 0;
        for (int j = 0; j < D; j++) {
            along += s.map[i * D + j] * u[j] / size;
            assert_true(s.map[i * D + j] == s.map[j * D + i]);
        }
        caught += along * along;
    }
    assert_true(caught / mean_square(s.map, D * D, 1) > 0.95); /* S'S is nearly u u' */
    far_metric_clear(ctx, &s);
    far_kernel_destroy(k);
}

/* The second output adds to input 17 and takes nothing from the others. */
static void outputs_are_added(void **unused)
{
    (void)unused;
    static problem one, two;
    far_kernel *k = kernel_of("dense ln relu dense");
    make_sparse(&one, 200, 1);
    make_sparse(&two, 200, 2);
    far_metric a = learn(k, FAR_METRIC_DIAGONAL, 0.5, 1, &one.inputs, &one.targets);
    far_metric b = learn(k, FAR_METRIC_DIAGONAL, 0.5, 1, &two.inputs, &two.targets);
    assert_true(b.map[17] / b.map[3] > 1.05 * a.map[17] / a.map[3]);
    far_metric_clear(ctx, &a);
    far_metric_clear(ctx, &b);
    far_kernel_destroy(k);
}

/* A map in front and none differ by the coordinates alone: learning from x / c with the map c is
 * learning from x. */
static void gradients_are_those_before_the_map(void **unused)
{
    (void)unused;
    enum { D = 5, N = 60 };
    double x[N * D], scaled[N * D], y[N], weight[D] = {1, 2, 0.5, 4, 0.25};
    uint64_t seed = 21;
    for (int i = 0; i < N * D; i++) {
        x[i] = roll_bell(&seed);
        scaled[i] = x[i] / weight[i % D];
        y[i / D] = sin(x[i - i % D]) + x[i - i % D + (i % D > 0)];
    }
    far_mat a = far_mat_view(x, N, D, FAR_F64), b = far_mat_view(scaled, N, D, FAR_F64);
    far_mat t = far_mat_view(y, N, 1, FAR_F64);
    far_kernel *k = kernel_of("dense relu dense");
    far_metric none = {0}, start = {FAR_METRIC_DIAGONAL, D, weight}, from_x, from_b;
    must(far_metric_learn(ctx, k, 1e-3, &none, FAR_METRIC_DIAGONAL, 1, &a, &t, &from_x));
    must(far_metric_learn(ctx, k, 1e-3, &start, FAR_METRIC_DIAGONAL, 1, &b, &t, &from_b));
    double ratio = from_b.map[0] / (weight[0] * from_x.map[0]);
    for (int j = 0; j < D; j++) { /* d / d(x_j / c_j) = c_j d / dx_j */
        assert_true(fabs(from_b.map[j] / (weight[j] * from_x.map[j]) / ratio - 1) < 1e-9);
    }
    far_metric_clear(ctx, &from_x);
    far_metric_clear(ctx, &from_b);
    far_kernel_destroy(k);
}

static void maps_apply_in_place(void **unused)
{
    (void)unused;
    double x[] = {1, 2, 3, 4, 5, 6}, map[] = {2, 1, 1, 3}, weights[] = {10, 100};
    far_mat m = {.data = x, .rows = 2, .cols = 2, .ld = 3, .dtype = FAR_F64};
    far_metric full = {FAR_METRIC_FULL, 2, map}, diagonal = {FAR_METRIC_DIAGONAL, 2, weights};
    far_metric none = {0};
    must(far_metric_apply(ctx, &full, &m, &m));
    assert_true(x[0] == 4 && x[1] == 7 && x[2] == 3 && x[3] == 13 && x[4] == 19);
    must(far_metric_apply(ctx, &diagonal, &m, &m));
    assert_true(x[0] == 40 && x[1] == 700 && x[3] == 130 && x[4] == 1900);
    must(far_metric_apply(ctx, &none, &m, &m));
    assert_true(x[0] == 40 && x[1] == 700);
}

static void flat_and_flawed_gradients(void **unused)
{
    (void)unused;
    double x[] = {1, 2, 3, 4}, flat[4] = {0}, rank_one[] = {1, 1, 1, 1}, bad[] = {1, NAN, NAN, 1};
    far_mat m = far_mat_view(x, 2, 2, FAR_F64);
    far_metric s;
    must(far_metric_from_gradients(ctx, FAR_METRIC_FULL, 1, flat, &m, &s));
    assert_true(s.map[0] == 1 && s.map[1] == 0 && s.map[3] == 1);
    far_metric_clear(ctx, &s);
    must(far_metric_from_gradients(ctx, FAR_METRIC_FULL, 0.5, rank_one, &m, &s));
    assert_true(fabs(s.map[0] - s.map[1]) < 1e-12 && s.map[0] > 0.5); /* no part along (1, -1) */
    far_metric_clear(ctx, &s);
    refused(far_metric_from_gradients(ctx, FAR_METRIC_FULL, 1, bad, &m, &s), FAR_ERR_VALUE,
            "(1, 2)");
    refused(far_metric_from_gradients(ctx, FAR_METRIC_NONE, 1, flat, &m, &s), FAR_ERR_ARG,
            "diagonal or full");
    refused(far_metric_from_gradients(ctx, FAR_METRIC_FULL, 0, flat, &m, &s), FAR_ERR_ARG, "power");
    assert_null(s.map);
}

static problem failing;
static far_kernel *failing_kernel;

static far_status learn_once(void)
{
    far_metric none = {0}, s;
    far_status st = far_metric_learn(ctx, failing_kernel, 1e-3, &none, FAR_METRIC_FULL, 1,
                                     &failing.inputs, &failing.targets, &s);
    far_metric_clear(ctx, &s);
    return st;
}

static void every_allocation_may_fail(void **unused)
{
    (void)unused;
    make_sparse(&failing, 12, 2);
    failing_kernel = kernel_of("dense relu dense");
    fail_every_allocation(learn_once);
    far_kernel_destroy(failing_kernel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(diagonal_finds_the_inputs_that_matter),
        TEST(some_rows_tell_what_others_do),
        TEST(full_finds_a_direction),
        TEST(outputs_are_added),
        TEST(gradients_are_those_before_the_map),
        TEST(maps_apply_in_place),
        TEST(flat_and_flawed_gradients),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
