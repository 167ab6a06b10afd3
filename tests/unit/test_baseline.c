/* The baselines: the linear model against one that leaves each row out in earnest, the trees
 * against a leaf worked out by hand, and every message. */
#define _GNU_SOURCE
#include "../../src/base/base_internal.h"
#include "../../src/regress/baseline_internal.h"

#include <farfield/predictor.h>
#include <fcntl.h>
#include <float.h>

#define TEST_THREADS 2
#define TEST_CLOSE forget_xgboost
#include "harness.h"

static int forget_xgboost(void **state)
{
    unsetenv("FARFIELD_XGBOOST");
    return close_context(state);
}

/* ---- data ---- */

static uint64_t random_state;

static double normal(void)
{
    return sqrt(-2 * log(1 - roll_unit(&random_state))) * cos(2 * M_PI * roll_unit(&random_state));
}

/* n training and m test rows of d columns; y is linear with noise. Strides larger than width. */
typedef struct problem {
    int64_t n, d, m;
    far_mat x, y, xt, out;
} problem;

static far_mat new_matrix(int64_t rows, int64_t cols, int64_t ld)
{
    far_mat m = far_mat_view(calloc((size_t)(rows * ld + 1), sizeof(double)), rows, cols, FAR_F64);
    m.ld = ld;
    return m;
}

static double *at(const far_mat *m, int64_t i, int64_t j)
{
    return (double *)m->data + i * m->ld + j;
}

static void fill_normal(far_mat *m)
{
    for (int64_t i = 0; i < m->rows; i++) {
        for (int64_t j = 0; j < m->cols; j++) {
            *at(m, i, j) = normal();
        }
    }
}

static problem problem_new(int64_t n, int64_t d, int64_t m, double noise)
{
    random_state = 7;
    problem p = {n,
                 d,
                 m,
                 new_matrix(n, d, d + 3),
                 new_matrix(n, 1, 2),
                 new_matrix(m, d, d + 5),
                 new_matrix(m, 1, 3)};
    fill_normal(&p.x);
    fill_normal(&p.xt);
    for (int64_t i = 0; i < n; i++) {
        double y = 11 + noise * normal();
        for (int64_t j = 0; j < d; j++) {
            y += *at(&p.x, i, j) * (double)(j % 5 - 1);
        }
        *at(&p.y, i, 0) = y;
    }
    return p;
}

static void problem_free(problem *p)
{
    free(p->x.data);
    free(p->y.data);
    free(p->xt.data);
    free(p->out.data);
}

static double truth(const problem *p, int64_t i)
{
    double y = 11;
    for (int64_t j = 0; j < p->d; j++) {
        y += *at(&p->xt, i, j) * (double)(j % 5 - 1);
    }
    return y;
}

static double solve_linear(problem *p)
{
    double ridge = -1;
    far_status st = far_linear_predict(ctx, &p->x, &p->y, &p->xt, &ridge, &p->out);
    if (st != FAR_OK) {
        fail_msg("%s", far_ctx_message(ctx));
    }
    for (int64_t i = 0; i < p->m; i++) {
        assert_true(isfinite(*at(&p->out, i, 0)));
    }
    return ridge;
}

/* ---- the linear model, the slow way ---- */

#define MOST 24

typedef struct slow_model {
    int64_t d;
    double mean[MOST], sd[MOST], b[MOST + 1]; /* b[d] is the intercept */
} slow_model;

static void slow_standardise(const problem *p, slow_model *s)
{
    s->d = p->d;
    for (int64_t j = 0; j < p->d; j++) {
        s->mean[j] = s->sd[j] = 0;
        for (int64_t i = 0; i < p->n; i++) {
            s->mean[j] += *at(&p->x, i, j) / (double)p->n;
        }
        for (int64_t i = 0; i < p->n; i++) {
            s->sd[j] += pow(*at(&p->x, i, j) - s->mean[j], 2) / (double)p->n;
        }
        s->sd[j] = sqrt(s->sd[j]);
    }
}

static double slow_z(const slow_model *s, const far_mat *x, int64_t i, int64_t j)
{
    return j == s->d ? 1 : (*at(x, i, j) - s->mean[j]) / s->sd[j];
}

/* Gauss and Jordan with the largest pivot; a has a column more for the right side. */
static void eliminate(int64_t n, long double a[MOST + 1][MOST + 2], double *x)
{
    for (int64_t c = 0; c < n; c++) {
        int64_t pivot = c;
        for (int64_t r = c; r < n; r++) {
            pivot = fabsl(a[r][c]) > fabsl(a[pivot][c]) ? r : pivot;
        }
        for (int64_t k = 0; k <= n; k++) {
            long double keep = a[c][k];
            a[c][k] = a[pivot][k];
            a[pivot][k] = keep;
        }
        for (int64_t r = 0; r < n; r++) {
            long double factor = r == c ? 0 : a[r][c] / a[c][c];
            for (int64_t k = 0; k <= n; k++) {
                a[r][k] -= factor * a[c][k];
            }
        }
    }
    for (int64_t c = 0; c < n; c++) {
        x[c] = (double)(a[c][n] / a[c][c]);
    }
}

/* Least squares plus n ridge |b|^2, the intercept free, without row left (-1: with all). */
static void slow_fit(const problem *p, slow_model *s, double ridge, int64_t left)
{
    long double a[MOST + 1][MOST + 2] = {{0}};
    for (int64_t i = 0; i < p->n; i++) {
        for (int64_t j = 0; i != left && j <= s->d; j++) {
            for (int64_t k = 0; k <= s->d; k++) {
                a[j][k] += (long double)slow_z(s, &p->x, i, j) * slow_z(s, &p->x, i, k);
            }
            a[j][s->d + 1] += (long double)slow_z(s, &p->x, i, j) * *at(&p->y, i, 0);
        }
    }
    for (int64_t j = 0; j < s->d; j++) {
        a[j][j] += ridge * (double)p->n;
    }
    eliminate(s->d + 1, a, s->b);
}

static double slow_predict(const slow_model *s, const far_mat *x, int64_t i)
{
    double sum = 0;
    for (int64_t j = 0; j <= s->d; j++) {
        sum += slow_z(s, x, i, j) * s->b[j];
    }
    return sum;
}

static double slow_error(const problem *p, slow_model *s, double ridge)
{
    double sum = 0;
    for (int64_t i = 0; i < p->n; i++) {
        slow_fit(p, s, ridge, i);
        sum += pow(*at(&p->y, i, 0) - slow_predict(s, &p->x, i), 2);
    }
    return sum;
}

/* The largest of those that are within a millionth of the best. */
static double slow_choice(const problem *p, slow_model *s)
{
    double errors[25], least = INFINITY, best = NAN;
    for (int k = 0; k < 25; k++) {
        errors[k] = slow_error(p, s, pow(10, -8 + k / 2.0));
        least = fmin(least, errors[k]);
    }
    for (int k = 0; k < 25; k++) {
        best = errors[k] <= least * (1 + 1e-6) ? pow(10, -8 + k / 2.0) : best;
    }
    return best;
}

static void the_ridge_is_the_best_of_really_leaving_out(void **state)
{
    (void)state;
    static const struct {
        int64_t n, d;
        double noise;
    } cases[] = {{29, 5, 0.3}, {29, 5, 5}, {29, 5, 40}, {13, 17, 2}, {67, 3, 1e-3}};
    double seen[COUNT(cases)];
    for (int c = 0; c < COUNT(cases); c++) {
        problem p = problem_new(cases[c].n, cases[c].d, 7, cases[c].noise);
        slow_model slow;
        slow_standardise(&p, &slow);
        seen[c] = solve_linear(&p);
        assert_near(log10(seen[c]), log10(slow_choice(&p, &slow)), 1e-9);
        slow_fit(&p, &slow, seen[c], -1);
        for (int64_t i = 0; i < p.m; i++) {
            double expected = slow_predict(&slow, &p.xt, i);
            assert_near(*at(&p.out, i, 0), expected, 1e-9 * (1 + fabs(expected)));
        }
        problem_free(&p);
    }
    assert_true(seen[0] < seen[1] && seen[1] < seen[2] && seen[4] < seen[0]);
}

static void what_is_left_is_that_of_really_leaving_out(void **state)
{
    (void)state;
    problem p = problem_new(31, 3, 1, 0.5);
    double slopes[3], intercept, ridge, left[31];
    slow_model s;
    slow_standardise(&p, &s);
    must(far_linear_solve(ctx, &p.x, &p.y, slopes, &intercept, &ridge, left));
    for (int64_t i = 0; i < p.n; i++) {
        slow_fit(&p, &s, ridge, i);
        assert_near(left[i], *at(&p.y, i, 0) - slow_predict(&s, &p.x, i), 1e-10);
    }
    problem_free(&p);
}

static void a_linear_truth_is_found(void **state)
{
    (void)state;
    problem p = problem_new(101, 7, 11, 0);
    assert_true(solve_linear(&p) < 2e-8);
    for (int64_t i = 0; i < p.m; i++) {
        assert_near(*at(&p.out, i, 0), truth(&p, i), 1e-6);
    }
    problem_free(&p);
}

static void units_and_origins_change_nothing(void **state)
{
    (void)state;
    static const double units[] = {1, 1e-300, 3e290, 1e-9, 7};
    static const double origins[] = {0, 0, 0, 1, 1e9};
    problem a = problem_new(53, 5, 7, 2), b = problem_new(53, 5, 7, 2);
    for (int64_t j = 0; j < 5; j++) {
        for (int64_t i = 0; i < 53; i++) {
            *at(&b.x, i, j) = *at(&b.x, i, j) * units[j] + origins[j];
        }
        for (int64_t i = 0; i < 7; i++) {
            *at(&b.xt, i, j) = *at(&b.xt, i, j) * units[j] + origins[j];
        }
    }
    assert_near(solve_linear(&a), solve_linear(&b), 0);
    for (int64_t i = 0; i < 7; i++) { /* 1 + 1e-9 z and 1e9 + 7 z keep 7 digits of z */
        assert_near(*at(&a.out, i, 0), *at(&b.out, i, 0), 1e-5);
    }
    problem_free(&a);
    problem_free(&b);
}

static void huge_and_tiny_targets_are_targets(void **state)
{
    (void)state;
    static const double units[] = {1e300, 1e-300, 1e-310};
    problem p = problem_new(31, 3, 5, 1);
    double ridge = solve_linear(&p), plain[5];
    for (int i = 0; i < 5; i++) {
        plain[i] = *at(&p.out, i, 0);
    }
    for (int u = 0; u < COUNT(units); u++) {
        problem q = problem_new(31, 3, 5, 1);
        for (int64_t i = 0; i < 31; i++) {
            *at(&q.y, i, 0) *= units[u];
        }
        assert_near(solve_linear(&q), ridge, 0);
        for (int i = 0; i < 5; i++) {
            double digits = units[u] < DBL_MIN ? 1e-12 : 1e-13; /* 1e-310 has fewer */
            assert_near(*at(&q.out, i, 0) / units[u], plain[i], digits * fabs(plain[i]));
        }
        problem_free(&q);
    }
    problem_free(&p);
}

/* Column 2 as column 1 again, column 3 constant (at a number that no sum of it meets exactly). */
static void spoil_columns(far_mat *m)
{
    for (int64_t i = 0; i < m->rows; i++) {
        *at(m, i, 2) = *at(m, i, 1);
        *at(m, i, 3) = 0.1;
    }
}

static void constant_columns_are_ignored_and_twins_share(void **state)
{
    (void)state;
    problem p = problem_new(61, 5, 7, 1);
    spoil_columns(&p.x);
    spoil_columns(&p.xt);
    double with = solve_linear(&p), first[7];
    for (int64_t i = 0; i < 7; i++) {
        first[i] = *at(&p.out, i, 0);
        *at(&p.xt, i, 3) = DBL_MAX; /* not seen in training, so it has no say */
    }
    assert_near(solve_linear(&p), with, 0);
    for (int64_t i = 0; i < 7; i++) {
        assert_near(*at(&p.out, i, 0), first[i], 0);
        *at(&p.xt, i, 1) += 1; /* what one twin gains the other loses */
        *at(&p.xt, i, 2) -= 1;
    }
    solve_linear(&p);
    for (int64_t i = 0; i < 7; i++) {
        assert_near(*at(&p.out, i, 0), first[i], 1e-7);
    }
    problem_free(&p);
}

static void without_a_column_the_mean_is_left(void **state)
{
    (void)state;
    problem p = problem_new(5, 0, 3, 1);
    double mean = 0;
    for (int64_t i = 0; i < 5; i++) {
        mean += *at(&p.y, i, 0) / 5;
    }
    solve_linear(&p);
    for (int64_t i = 0; i < 3; i++) {
        assert_near(*at(&p.out, i, 0), mean, 1e-14);
    }
    problem_free(&p);
}

static void one_row_says_its_own_value(void **state)
{
    (void)state;
    problem p = problem_new(1, 3, 5, 1);
    assert_near(solve_linear(&p), 1e4, 1e-9);
    for (int64_t i = 0; i < 5; i++) {
        assert_near(*at(&p.out, i, 0), *at(&p.y, 0, 0), 0);
    }
    problem_free(&p);
}

/* Leaving one of two out leaves one, whatever the ridge: nothing speaks for a slope. */
static void two_rows_say_their_mean(void **state)
{
    (void)state;
    for (int64_t d = 1; d <= 3; d += 2) {
        problem p = problem_new(2, d, 3, 1);
        double a = *at(&p.y, 0, 0), b = *at(&p.y, 1, 0);
        assert_near(solve_linear(&p), 1e4, 1e-9);
        for (int64_t i = 0; i < 3; i++) {
            assert_near(*at(&p.out, i, 0), (a + b) / 2, 1e-2 * fabs(a - b));
        }
        problem_free(&p);
    }
}

static void a_constant_target_is_met_exactly(void **state)
{
    (void)state;
    problem p = problem_new(19, 3, 5, 0);
    for (int64_t i = 0; i < 19; i++) {
        *at(&p.y, i, 0) = 0.1;
    }
    solve_linear(&p);
    for (int64_t i = 0; i < 5; i++) {
        assert_near(*at(&p.out, i, 0), 0.1, 0);
    }
    problem_free(&p);
}

static void more_columns_than_rows_are_fine(void **state)
{
    (void)state;
    problem p = problem_new(11, 137, 5, 0.1);
    double ridge = solve_linear(&p);
    assert_in_range((int64_t)(1e9 * ridge), 9, (int64_t)1.1e13);
    problem_free(&p);
}

/* Our sums keep their order; LAPACK's, in the decomposition, do not. */
static void threads_change_no_more_than_rounding(void **state)
{
    (void)state;
    problem p = problem_new(331, 149, 7, 3);
    double ridge[3], out[3][7];
    far_ctx_destroy(ctx);
    for (int t = 0; t < 3; t++) {
        ctx = context_with(1 + 2 * t);
        ridge[t] = solve_linear(&p);
        for (int64_t i = 0; i < 7; i++) {
            out[t][i] = *at(&p.out, i, 0);
        }
        far_ctx_destroy(ctx);
    }
    ctx = context_with(1);
    for (int t = 1; t < 3; t++) {
        assert_near(ridge[t], ridge[0], 0);
        for (int64_t i = 0; i < 7; i++) {
            assert_near(out[t][i], out[0][i], 1e-12 * (1 + fabs(out[0][i])));
        }
    }
    problem_free(&p);
}

static void the_ridge_need_not_be_asked_for_nor_any_row(void **state)
{
    (void)state;
    problem p = problem_new(7, 3, 0, 1);
    assert_int_equal(far_linear_predict(ctx, &p.x, &p.y, &p.xt, NULL, &p.out), FAR_OK);
    problem_free(&p);
}

static void a_row_beyond_all_numbers_is_refused(void **state)
{
    (void)state;
    problem p = problem_new(7, 3, 5, 1);
    for (int64_t i = 0; i < 7; i++) {
        *at(&p.x, i, 1) *= 1e-300;
    }
    *at(&p.xt, 3, 1) = 1e300;
    *at(&p.out, 0, 0) = 5;
    assert_int_equal(far_linear_predict(ctx, &p.x, &p.y, &p.xt, NULL, &p.out), FAR_ERR_VALUE);
    assert_message("xt: row 4");
    assert_near(*at(&p.out, 0, 0), 5, 0);
    problem_free(&p);
}

static void every_failing_allocation_is_reported(void **state)
{
    (void)state;
    problem p = problem_new(71, 5, 3, 1);
    int64_t live = test_heap.live_blocks;
    far_status st = FAR_ERR_MEMORY;
    int failures = 0;
    for (; st == FAR_ERR_MEMORY; failures++) {
        *at(&p.out, 0, 0) = 5;
        test_heap.fail_at = test_heap.calls + failures;
        st = far_linear_predict(ctx, &p.x, &p.y, &p.xt, NULL, &p.out);
        assert_int_equal(test_heap.live_blocks, live);
        assert_true((st == FAR_OK) == (*at(&p.out, 0, 0) != 5));
    }
    assert_int_equal(st, FAR_OK);
    assert_true(failures > 8);
    problem_free(&p);
}

static void fitting_can_be_cancelled(void **state)
{
    (void)state;
    problem p = problem_new(71, 5, 3, 1);
    cancel_next();
    assert_int_equal(far_linear_predict(ctx, &p.x, &p.y, &p.xt, NULL, &p.out), FAR_ERR_CANCELLED);
    problem_free(&p);
}

/* ---- arguments ---- */

typedef far_status (*predict_fn)(problem *p);

static far_status by_line(problem *p)
{
    return far_linear_predict(ctx, &p->x, &p->y, &p->xt, NULL, &p->out);
}

static far_status by_trees(problem *p)
{
    return far_xgboost_predict(ctx, &p->x, &p->y, &p->xt, 3, 1, &p->out);
}

static const struct {
    const char *what;
    size_t matrix, field;
    int64_t value;
    far_status status;
    const char *message;
} bad_shapes[] = {
    {"no rows", offsetof(problem, x), offsetof(far_mat, rows), 0, FAR_ERR_SHAPE, "x has no rows"},
    {"short y", offsetof(problem, y), offsetof(far_mat, rows), 6, FAR_ERR_SHAPE,
     "y is 6 x 1 but must be 7 x 1"},
    {"wide y", offsetof(problem, y), offsetof(far_mat, cols), 2, FAR_ERR_SHAPE,
     "y is 7 x 2 but must be 7 x 1"},
    {"narrow xt", offsetof(problem, xt), offsetof(far_mat, cols), 2, FAR_ERR_SHAPE,
     "xt is 5 x 2 but must be 5 x 3"},
    {"short out", offsetof(problem, out), offsetof(far_mat, rows), 3, FAR_ERR_SHAPE,
     "out is 3 x 1 but must be 5 x 1"},
    {"x without data", offsetof(problem, x), offsetof(far_mat, data), 0, FAR_ERR_ARG,
     "x has no data"},
    {"y without data", offsetof(problem, y), offsetof(far_mat, data), 0, FAR_ERR_ARG,
     "y has no data"},
    {"xt without data", offsetof(problem, xt), offsetof(far_mat, data), 0, FAR_ERR_ARG,
     "xt has no data"},
    {"out without data", offsetof(problem, out), offsetof(far_mat, data), 0, FAR_ERR_ARG,
     "out has no data"},
};

static void expect_refusal(problem *p, far_status status, const char *message)
{
    static const predict_fn models[] = {by_line, by_trees};
    for (int m = 0; m < COUNT(models); m++) {
        assert_int_equal(models[m](p), status);
        assert_message(message);
    }
}

static void shapes_that_do_not_agree_are_refused(void **state)
{
    (void)state;
    for (int c = 0; c < COUNT(bad_shapes); c++) {
        problem p = problem_new(7, 3, 5, 1), spoilt = p;
        char *field = (char *)&spoilt + bad_shapes[c].matrix + bad_shapes[c].field;
        memcpy(field, &bad_shapes[c].value, sizeof bad_shapes[c].value);
        expect_refusal(&spoilt, bad_shapes[c].status, bad_shapes[c].message);
        problem_free(&p);
    }
}

static void float32_is_refused(void **state)
{
    (void)state;
    static const size_t matrices[] = {offsetof(problem, x), offsetof(problem, y),
                                      offsetof(problem, xt), offsetof(problem, out)};
    problem p = problem_new(7, 3, 5, 1);
    for (int c = 0; c < COUNT(matrices); c++) {
        problem spoilt = p;
        ((far_mat *)((char *)&spoilt + matrices[c]))->dtype = FAR_F32;
        expect_refusal(&spoilt, FAR_ERR_ARG, "must be float64");
    }
    problem_free(&p);
}

static void values_that_are_not_finite_are_named(void **state)
{
    (void)state;
    problem p = problem_new(7, 3, 5, 1);
    *at(&p.xt, 4, 0) = -INFINITY;
    expect_refusal(&p, FAR_ERR_VALUE, "xt: row 5, column 1 is -inf");
    *at(&p.y, 2, 0) = NAN;
    expect_refusal(&p, FAR_ERR_VALUE, "y: row 3, column 1 is nan");
    *at(&p.x, 6, 1) = NAN;
    expect_refusal(&p, FAR_ERR_VALUE, "x: row 7, column 2 is nan");
    problem_free(&p);
}

static void missing_arguments_are_refused(void **state)
{
    (void)state;
    problem p = problem_new(7, 3, 5, 1);
    assert_int_equal(far_linear_predict(NULL, &p.x, &p.y, &p.xt, NULL, &p.out), FAR_ERR_ARG);
    assert_int_equal(far_linear_predict(ctx, NULL, &p.y, &p.xt, NULL, &p.out), FAR_ERR_ARG);
    assert_message("x is NULL");
    assert_int_equal(far_linear_predict(ctx, &p.x, &p.y, &p.xt, NULL, NULL), FAR_ERR_ARG);
    assert_message("out is NULL");
    assert_int_equal(far_xgboost_predict(NULL, &p.x, &p.y, &p.xt, 3, 1, &p.out), FAR_ERR_ARG);
    assert_int_equal(far_xgboost_predict(ctx, &p.x, NULL, &p.xt, 3, 1, &p.out), FAR_ERR_ARG);
    assert_message("y is NULL");
    problem_free(&p);
}

static void trees_need_rounds_and_columns(void **state)
{
    (void)state;
    problem p = problem_new(7, 3, 5, 1), none = problem_new(7, 0, 5, 1);
    assert_int_equal(far_xgboost_predict(ctx, &p.x, &p.y, &p.xt, 0, 1, &p.out), FAR_ERR_ARG);
    assert_message("rounds is 0 but must be between 1 and");
    assert_int_equal(far_xgboost_predict(ctx, &p.x, &p.y, &p.xt, (int64_t)1 << 31, 1, &p.out),
                     FAR_ERR_ARG);
    assert_int_equal(by_trees(&none), FAR_ERR_SHAPE);
    assert_message("x has no columns");
    problem_free(&p);
    problem_free(&none);
}

/* ---- trees ---- */

static void need_xgboost(void)
{
    if (!far_xgboost_find(ctx)) {
        print_message("skipped: %s\n", far_ctx_message(ctx));
        skip();
    }
}

static void a_missing_library_is_explained(void **state)
{
    (void)state;
    problem p = problem_new(7, 3, 5, 1);
    setenv("FARFIELD_XGBOOST", "/nowhere/libxgboost.so", 1);
    assert_null(far_xgboost_find(ctx));
    assert_message("/nowhere/libxgboost.so");
    assert_int_equal(by_trees(&p), FAR_ERR_BACKEND);
    assert_message("libxgboost0");
    assert_message("FARFIELD_XGBOOST=");
    problem_free(&p);
}

static void another_library_is_not_taken_for_it(void **state)
{
    (void)state;
    problem p = problem_new(7, 3, 5, 1);
    setenv("FARFIELD_XGBOOST", "libm.so.6", 1);
    assert_null(far_xgboost_find(ctx));
    assert_message("has no function XGBoostVersion");
    assert_int_equal(by_trees(&p), FAR_ERR_BACKEND);
    problem_free(&p);
}

static void the_version_is_three_numbers(void **state)
{
    (void)state;
    need_xgboost();
    int major, minor, patch;
    char rest;
    const char *version = far_xgboost_find(ctx)->version;
    assert_int_equal(sscanf(version, "%d.%d.%d%c", &major, &minor, &patch, &rest), 3);
}

/* One round on one column that says which half a row is in: two leaves, each at eta times the sum
 * of its residuals over its rows plus lambda, with eta 0.3 and lambda 1 as published. It
 * starts at the mean, with any version of the library. */
static void one_round_is_the_published_one(void **state)
{
    (void)state;
    need_xgboost();
    problem p = problem_new(16, 1, 2, 0);
    for (int64_t i = 0; i < 16; i++) {
        *at(&p.x, i, 0) = i < 5 ? 0 : 1;
        *at(&p.y, i, 0) = i < 5 ? -3 : 8;
    }
    *at(&p.xt, 0, 0) = 0;
    *at(&p.xt, 1, 0) = 1;
    double start = (5 * -3.0 + 11 * 8.0) / 16;
    assert_int_equal(far_xgboost_predict(ctx, &p.x, &p.y, &p.xt, 1, 1, &p.out), FAR_OK);
    assert_near(*at(&p.out, 0, 0), start + 0.3 * 5 * (-3 - start) / (5 + 1), 1e-6);
    assert_near(*at(&p.out, 1, 0), start + 0.3 * 11 * (8 - start) / (11 + 1), 1e-6);
    problem_free(&p);
}

static double bend(const far_mat *x, int64_t i)
{
    return (*at(x, i, 0) > 0 ? 3 : -1) + *at(x, i, 1) * *at(x, i, 1);
}

static double mean_square_error(const problem *p)
{
    double sum = 0;
    for (int64_t i = 0; i < p->m; i++) {
        sum += pow(*at(&p->out, i, 0) - bend(&p->xt, i), 2) / (double)p->m;
    }
    return sum;
}

static problem bent_problem(void)
{
    problem p = problem_new(997, 3, 101, 1);
    for (int64_t i = 0; i < p.n; i++) {
        *at(&p.y, i, 0) = bend(&p.x, i);
    }
    return p;
}

static void trees_learn_what_a_line_cannot(void **state)
{
    (void)state;
    need_xgboost();
    problem p = bent_problem();
    solve_linear(&p);
    double line = mean_square_error(&p);
    assert_int_equal(far_xgboost_predict(ctx, &p.x, &p.y, &p.xt, 100, 1, &p.out), FAR_OK);
    assert_true(mean_square_error(&p) < 0.1 * line);
    problem_free(&p);
}

/* Version 3.1 writes "[5E-1]", which 1.7 and 2 would take for another number. */
static void a_base_score_in_brackets_is_read_by_every_version(void **state)
{
    (void)state;
    static const char KEY[] = "\"base_score\":\"";
    need_xgboost();
    problem p = bent_problem();
    for (int64_t i = 0; i < p.n; i++) {
        *at(&p.y, i, 0) += 1000;
    }
    far_booster *b, *again;
    far_text text = {.ctx = ctx}, edited = {.ctx = ctx};
    must(far_booster_fit(ctx, &p.x, &p.y, 0, 5, 1, &b));
    must(far_booster_eval(ctx, b, &p.xt, &p.out));
    must(far_booster_save(b, &text));
    const char *value = strstr(text.data, KEY) + strlen(KEY);
    const char *end = strchr(value, '"');
    bool list = *value == '[';
    far_text_add_bytes(&edited, text.data, value - text.data);
    far_text_add_bytes(&edited, "[", !list);
    far_text_add_bytes(&edited, value, end - value);
    far_text_add_bytes(&edited, "]", !list);
    far_text_add_bytes(&edited, end, text.data + text.length - end);
    must(far_booster_load(ctx, edited.data, edited.length, &again));
    double first = *at(&p.out, 0, 0);
    must(far_booster_eval(ctx, again, &p.xt, &p.out));
    assert_true(first > 900 && *at(&p.out, 0, 0) == first);
    far_booster_destroy(b);
    far_booster_destroy(again);
    far_free(ctx, text.data);
    far_free(ctx, edited.data);
    problem_free(&p);
}

static void a_seed_gives_the_same_trees_and_no_noise(void **state)
{
    (void)state;
    need_xgboost();
    problem p = bent_problem(), q = bent_problem();
    char noise;
    int pipes[2], keep = dup(STDERR_FILENO);
    assert_int_equal(pipe2(pipes, O_NONBLOCK), 0);
    dup2(pipes[1], STDERR_FILENO);
    far_status first = far_xgboost_predict(ctx, &p.x, &p.y, &p.xt, 17, UINT64_MAX, &p.out);
    far_status again = far_xgboost_predict(ctx, &q.x, &q.y, &q.xt, 17, UINT64_MAX, &q.out);
    dup2(keep, STDERR_FILENO);
    close(keep);
    close(pipes[1]);
    assert_int_equal(read(pipes[0], &noise, 1), 0);
    close(pipes[0]);
    assert_int_equal(first, FAR_OK);
    assert_int_equal(again, FAR_OK);
    assert_int_equal(ear.last, 17);
    assert_int_equal(ear.total, 17);
    assert_memory_equal(p.out.data, q.out.data, sizeof(double) * (size_t)(p.m * p.out.ld));
    problem_free(&p);
    problem_free(&q);
}

static void one_row_and_none_are_enough_for_trees(void **state)
{
    (void)state;
    need_xgboost();
    problem one = problem_new(1, 3, 5, 1), none = problem_new(7, 3, 0, 1);
    assert_int_equal(far_xgboost_predict(ctx, &one.x, &one.y, &one.xt, 100, 1, &one.out), FAR_OK);
    for (int64_t i = 0; i < 5; i++) {
        assert_near(*at(&one.out, i, 0), *at(&one.y, 0, 0), 1e-3);
    }
    assert_int_equal(by_trees(&none), FAR_OK);
    problem_free(&one);
    problem_free(&none);
}

/* Finite for us, infinite in the float32 of the trees. */
static void its_own_words_are_passed_on(void **state)
{
    (void)state;
    need_xgboost();
    static const struct {
        size_t matrix;
        const char *message;
    } cases[] = {{offsetof(problem, x), "XGBoost could not take x: "},
                 {offsetof(problem, xt), "XGBoost could not take xt: "},
                 {offsetof(problem, y), "XGBoost could not "}};
    for (int c = 0; c < COUNT(cases); c++) {
        problem p = problem_new(7, 3, 5, 1);
        *at((far_mat *)((char *)&p + cases[c].matrix), 0, 0) = 1e300;
        *at(&p.out, 0, 0) = 5;
        assert_int_equal(by_trees(&p), FAR_ERR_BACKEND);
        assert_message(cases[c].message);
        assert_message("Check failed");
        assert_null(strpbrk(far_ctx_message(ctx), "\n[")); /* no stack trace, no time */
        assert_near(*at(&p.out, 0, 0), 5, 0);
        problem_free(&p);
    }
}

static void boosting_can_be_cancelled(void **state)
{
    (void)state;
    need_xgboost();
    problem p = problem_new(7, 3, 5, 1);
    cancel_next();
    assert_int_equal(by_trees(&p), FAR_ERR_CANCELLED);
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_ridge_is_the_best_of_really_leaving_out),
        TEST(what_is_left_is_that_of_really_leaving_out),
        TEST(a_linear_truth_is_found),
        TEST(units_and_origins_change_nothing),
        TEST(huge_and_tiny_targets_are_targets),
        TEST(constant_columns_are_ignored_and_twins_share),
        TEST(without_a_column_the_mean_is_left),
        TEST(one_row_says_its_own_value),
        TEST(two_rows_say_their_mean),
        TEST(a_constant_target_is_met_exactly),
        TEST(more_columns_than_rows_are_fine),
        TEST(threads_change_no_more_than_rounding),
        TEST(the_ridge_need_not_be_asked_for_nor_any_row),
        TEST(a_row_beyond_all_numbers_is_refused),
        TEST(every_failing_allocation_is_reported),
        TEST(fitting_can_be_cancelled),
        TEST(shapes_that_do_not_agree_are_refused),
        TEST(float32_is_refused),
        TEST(values_that_are_not_finite_are_named),
        TEST(missing_arguments_are_refused),
        TEST(trees_need_rounds_and_columns),
        TEST(a_missing_library_is_explained),
        TEST(another_library_is_not_taken_for_it),
        TEST(the_version_is_three_numbers),
        TEST(one_round_is_the_published_one),
        TEST(trees_learn_what_a_line_cannot),
        TEST(a_base_score_in_brackets_is_read_by_every_version),
        TEST(a_seed_gives_the_same_trees_and_no_noise),
        TEST(one_row_and_none_are_enough_for_trees),
        TEST(its_own_words_are_passed_on),
        TEST(boosting_can_be_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
