/* Leave-one-out against fits without the row, and what models make of it: scores, probabilities,
 * intervals, choices. */
#include "../../src/regress/regress_internal.h"
#include "../../src/solve/solve_internal.h"

#include "chance.h"
#include "harness.h"

enum { N = 23, P = 2 };

/* ---- leave-one-out by hand ----------------------------------------------------------------- */

typedef struct small {
    double k[N * N], y[N * P];
    far_mat matrix;
} small;

/* A kernel matrix, and targets without a mean. */
static void small_make(small *s, bool centred)
{
    uint64_t seed = 3;
    double x[N * 3], mean[P] = {0};
    for (int i = 0; i < N * 3; i++) {
        x[i] = roll_bell(&seed);
    }
    for (int i = 0; i < N * N; i++) {
        double gap = 0;
        for (int j = 0; j < 3; j++) {
            gap += (x[i / N * 3 + j] - x[i % N * 3 + j]) * (x[i / N * 3 + j] - x[i % N * 3 + j]);
        }
        s->k[i] = exp(-gap / 4);
    }
    for (int i = 0; i < N * P; i++) {
        s->y[i] = 1 + roll_bell(&seed);
        mean[i % P] += s->y[i] / N;
    }
    for (int i = 0; centred && i < N * P; i++) {
        s->y[i] -= mean[i % P];
    }
    s->matrix = far_mat_view(s->k, N, N, FAR_F64);
}

static far_system *factor(const far_mat *m, far_symmetric *matrix)
{
    far_system *system;
    far_solve_opts o;
    far_solve_opts_init(&o);
    o.ridge = 0.1;
    o.ridge_kind = FAR_RIDGE_ABSOLUTE;
    o.extremes = 0;
    o.memory = 1e9;
    *matrix = far_symmetric_of(m);
    must(far_system_create(ctx, matrix, &o, &system));
    return system;
}

/* Output j of row i, from a fit of the others about their own mean. */
static double without(const small *s, int i, int j, bool centred, double *variance)
{
    double k[(N - 1) * (N - 1)], y[N - 1], cross[N - 1], a[N - 1], mean = 0, sum = 0, used = 0;
    far_symmetric matrix;
    for (int r = 0; r < N - 1; r++) {
        int from = r + (r >= i);
        for (int c = 0; c < N - 1; c++) {
            k[r * (N - 1) + c] = s->k[from * N + c + (c >= i)];
        }
        cross[r] = s->k[i * N + from];
        mean += centred ? s->y[from * P + j] / (N - 1) : 0;
    }
    for (int r = 0; r < N - 1; r++) {
        y[r] = s->y[(r + (r >= i)) * P + j] - mean;
    }
    far_mat m = far_mat_view(k, N - 1, N - 1, FAR_F64), b = far_mat_view(y, N - 1, 1, FAR_F64);
    far_mat alpha = far_mat_view(a, N - 1, 1, FAR_F64);
    far_system *system = factor(&m, &matrix);
    must(far_system_solve(ctx, system, &b, &alpha, NULL, NULL));
    for (int r = 0; r < N - 1; r++) {
        sum += cross[r] * a[r];
    }
    far_mat c = far_mat_view(cross, N - 1, 1, FAR_F64);
    must(far_system_whiten(ctx, system, &c));
    for (int r = 0; r < N - 1; r++) {
        used += cross[r] * cross[r];
    }
    *variance = s->k[i * N + i] - used + 0.1;
    far_system_destroy(system);
    return mean + sum;
}

static void check_rows(const small *s, const far_left_out *l, bool centred)
{
    for (int64_t k = 0; k < l->count; k++) {
        int i = (int)l->rows[k];
        for (int j = 0; j < P; j++) {
            double variance, predicted = without(s, i, j, centred, &variance);
            assert_near(l->miss[k * P + j], s->y[i * P + j] - predicted, 1e-11);
            assert_near(l->variance[k], variance, 1e-11);
        }
    }
}

static void a_row_left_out_is_one_that_was_never_there(void **state)
{
    (void)state;
    static small s;
    far_symmetric matrix;
    double a[N * P];
    for (int centred = 0; centred < 2; centred++) {
        far_left_out l;
        small_make(&s, centred);
        far_system *system = factor(&s.matrix, &matrix);
        far_mat y = far_mat_view(s.y, N, P, FAR_F64), alpha = far_mat_view(a, N, P, FAR_F64);
        must(far_system_solve(ctx, system, &y, &alpha, NULL, NULL));
        must(far_left_out_find(ctx, system, &y, &alpha, centred ? N : 0, N, &l));
        assert_int_equal(l.count, N);
        check_rows(&s, &l, centred);
        far_left_out_clear(ctx, &l);
        must(far_left_out_find(ctx, system, &y, &alpha, centred ? N : 0, 7, &l)); /* a sample */
        assert_int_equal(l.count, 7);
        check_rows(&s, &l, centred);
        far_left_out_clear(ctx, &l);
        far_system_destroy(system);
    }
}

/* ---- models -------------------------------------------------------------------------------- */

static far_frame *frame_of(const double *values, int64_t rows, int64_t cols)
{
    static const char *const names[] = {"x", "y", "z"};
    far_frame *frame;
    far_mat m = far_mat_view((void *)values, rows, cols, FAR_F64);
    must(far_frame_from_mat(ctx, &m, names, &frame));
    return frame;
}

static far_fit_opts options(const char *arch, double ridge)
{
    far_fit_opts o;
    far_fit_opts_init(&o);
    o.target = "y";
    o.arch = arch;
    o.ridge = ridge;
    o.memory = 1e9;
    return o;
}

static far_model *fit(const far_frame *frame, far_fit_opts o)
{
    far_model *m;
    must(far_model_fit(ctx, frame, &o, &m));
    return m;
}

/* x, and y = sin 3x with noise that now and then is large. */
static void noisy(uint64_t seed, int rows, double *out)
{
    for (int i = 0; i < rows; i++) {
        double x = 4 * roll_unit(&seed) - 2, size = roll_unit(&seed) < 0.1 ? 2 : 0.3;
        out[2 * i] = x;
        out[2 * i + 1] = sin(3 * x) + size * roll_bell(&seed);
    }
}

static double coverage(const far_model *m, far_spread kind, const double *values, int rows)
{
    far_frame *frame = frame_of(values, rows, 2);
    far_prediction *p;
    far_predict_opts o;
    double held = 0;
    far_predict_opts_init(&o);
    o.spread = kind;
    o.memory = 1e9;
    must(far_model_predict(ctx, m, frame, &o, &p));
    const double *mean = p->mean.data, *std = p->std.data;
    for (int i = 0; i < rows; i++) {
        held += fabs(values[2 * i + 1] - mean[i]) <= 1.959964 * std[i];
    }
    far_prediction_destroy(p);
    far_frame_destroy(frame);
    return held / rows;
}

/* A ridge far too small for the noise: the theory's intervals hold much less than they should. */
static void intervals_cover_new_observations(void **state)
{
    (void)state;
    enum { ROWS = 211, NEW = 1009 };
    static double train[2 * ROWS], new[2 * NEW];
    noisy(5, ROWS, train);
    noisy(6, NEW, new);
    far_frame *frame = frame_of(train, ROWS, 2);
    static const double ridges[] = {1e-6, 1e-3, NAN};
    for (int k = 0; k < COUNT(ridges); k++) {
        far_model *m = fit(frame, options("dense(b=1) ln relu dense(b=1) relu dense", ridges[k]));
        double share = coverage(m, FAR_SPREAD_CALIBRATED, new, NEW);
        assert_true(share > 0.92 && share < 0.98);
        double theory = coverage(m, FAR_SPREAD_LIKELIHOOD, new, NEW);
        assert_true(k > 0 || fabs(theory - 0.95) > 0.03);
        far_model_destroy(m);
    }
    far_frame_destroy(frame);
}

/* Scores are those of the predictions that are kept; a second fit without a row predicts it so. */
static void the_headline_is_of_rows_not_seen(void **state)
{
    (void)state;
    enum { ROWS = 61 };
    double values[2 * ROWS], square = 0, all = 0, mean = 0;
    noisy(8, ROWS, values);
    far_frame *frame = frame_of(values, ROWS, 2);
    far_fit_opts o = options("dense(b=1) relu dense", 0.01);
    far_model *m = fit(frame, o);
    far_model_info i = far_model_describe(m);
    const double *left = i.loo.data;
    for (int k = 0; k < ROWS; k++) {
        mean += values[2 * k + 1] / ROWS;
    }
    for (int k = 0; k < ROWS; k++) {
        square += pow(values[2 * k + 1] - left[k], 2);
        all += pow(values[2 * k + 1] - mean, 2);
    }
    assert_int_equal(i.loo_rows, ROWS);
    assert_near(i.loo_rmse, sqrt(square / ROWS), 1e-12);
    assert_near(i.loo_r2, 1 - square / all, 1e-12);
    assert_true(i.loo_rmse > i.rmse_train && i.loo_r2 < i.r2_train);
    assert_true(isnan(i.loo_accuracy) && isnan(i.temperature) && !i.noise_free);
    far_model_destroy(m);
    far_frame_destroy(frame);
}

static void no_noise_is_told(void **state)
{
    (void)state;
    enum { ROWS = 41 };
    double values[2 * ROWS];
    for (int i = 0; i < ROWS; i++) {
        values[2 * i] = (i - 20) / 10.0;
        values[2 * i + 1] = exp(values[2 * i]);
    }
    far_frame *frame = frame_of(values, ROWS, 2);
    far_model *m = fit(frame, options("dense(b=1) erf dense", NAN));
    assert_int_equal(far_model_describe(m).noise_free, 1);
    far_model_destroy(m);
    m = fit(frame, options("dense(b=1) erf dense", 1e-9)); /* given, not chosen */
    assert_int_equal(far_model_describe(m).noise_free, 0);
    far_model_destroy(m);
    far_frame_destroy(frame);
}

/* A steep line: networks without a norm are better at the edge, and chosen only where allowed. */
static void unbounded_networks_are_chosen_when_allowed(void **state)
{
    (void)state;
    enum { ROWS = 101 };
    double values[2 * ROWS];
    uint64_t seed = 9;
    for (int i = 0; i < ROWS; i++) {
        values[2 * i] = roll_bell(&seed);
        values[2 * i + 1] = 3 * values[2 * i] + 0.1 * roll_bell(&seed);
    }
    far_frame *frame = frame_of(values, ROWS, 2);
    for (int allowed = 0; allowed < 2; allowed++) {
        far_fit_opts o = options("auto", NAN);
        o.allow_unbounded = allowed;
        far_model *m = fit(frame, o);
        int lines = 0;
        bool edges = true;
        for (int64_t k = 0; k < m->candidate_count; k++) {
            far_candidate c = m->candidates[k];
            assert_true(!c.chosen || c.bounded == !allowed);
            bool plain = c.metric == FAR_METRIC_NONE;
            lines += plain && !strchr(c.arch, ' '); /* "dense(b=1)": a linear model */
            edges = edges && (!(plain || c.chosen) || !isnan(c.edge_r2));
        }
        assert_true(lines == 1 && edges);
        far_model_destroy(m);
    }
    far_frame_destroy(frame);
}

/* ---- classes ------------------------------------------------------------------------------- */

static void classes_get_probabilities(void **state)
{
    (void)state;
    enum { ROWS = 83 };
    double values[2 * ROWS], sum = 0;
    uint64_t seed = 12;
    for (int i = 0; i < ROWS; i++) { /* 0, 1 or 2 by x, now and then by chance */
        values[2 * i] = 3 * roll_unit(&seed);
        values[2 * i + 1] = floor(roll_unit(&seed) < 0.2 ? 3 * roll_unit(&seed) : values[2 * i]);
    }
    far_frame *frame = frame_of(values, ROWS, 2);
    far_fit_opts o = options("dense(b=1) ln relu dense", NAN);
    o.task = FAR_TASK_CLASSIFY;
    far_model *m = fit(frame, o);
    far_model_info i = far_model_describe(m);
    const double *left = i.loo.data;
    double hits = 0;
    for (int k = 0; k < ROWS; k++) {
        const double *p = left + 3 * k;
        int best = p[1] > p[0] ? 1 : 0, label = (int)values[2 * k + 1];
        best = p[2] > p[best] ? 2 : best;
        hits += best == label;
        sum -= log(p[label]);
        assert_near(p[0] + p[1] + p[2], 1, 1e-12);
        assert_true(p[0] > 0 && p[1] > 0 && p[2] > 0);
    }
    assert_near(i.loo_accuracy, hits / ROWS, 1e-12);
    assert_near(i.loo_log_loss, sum / ROWS, 1e-12);
    assert_true(i.loo_log_loss < 0.9 && i.temperature > 0 && isnan(i.loo_r2));
    far_prediction *p;
    far_predict_opts how;
    far_predict_opts_init(&how);
    must(far_model_predict(ctx, m, frame, &how, &p));
    const double *fitted = p->probability.data;
    for (int k = 0; k < 3 * ROWS; k++) {
        assert_true(fitted[k] > 0 && fitted[k] < 1);
    }
    far_prediction_destroy(p);
    far_model_destroy(m);
    far_frame_destroy(frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_row_left_out_is_one_that_was_never_there), TEST(intervals_cover_new_observations),
        TEST(the_headline_is_of_rows_not_seen),           TEST(no_noise_is_told),
        TEST(unbounded_networks_are_chosen_when_allowed), TEST(classes_get_probabilities),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
