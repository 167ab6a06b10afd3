/* How a network is chosen: ties are settled at the edge of the data, and nothing is lost or kept
 * when memory runs out or the caller stops it on the way. */
#define _GNU_SOURCE
#include "../../src/regress/select.h"

#include <dlfcn.h>
#include <nlopt.h>

#include "harness.h"

enum { ROWS = 60 };

static bool no_search; /* nlopt has no memory */

nlopt_opt nlopt_create(nlopt_algorithm algorithm, unsigned n)
{
    __typeof__(&nlopt_create) create = (__typeof__(&nlopt_create))dlsym(RTLD_NEXT, "nlopt_create");
    return no_search ? NULL : create(algorithm, n);
}

/* x1, x2 and y: a wave with some noise, in a square or on a circle. */
static far_frame *wave(int64_t rows, bool circle)
{
    far_frame *frame;
    uint64_t seed = 7;
    double values[4 * ROWS * 3];
    const char *names[] = {"x1", "x2", "y"};
    for (int64_t i = 0; i < rows; i++) {
        double *v = values + 3 * i, turn = 0.61803398875 * (double)i;
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        turn -= floor(turn);
        v[0] = circle ? cos(6.283 * turn) : 2 * turn - 1;
        v[1] = circle ? sin(6.283 * turn) : 2 * (double)i / (double)rows - 1;
        v[2] = sin(3 * v[0]) + v[1] + 0.1 * (double)(seed >> 40) / (1 << 24);
    }
    far_mat m = far_mat_view(values, rows, 3, FAR_F64);
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
    o.metric = FAR_METRIC_NONE;
    o.memory = 1e9; /* asking the machine takes longer than all the rest */
    return o;
}

static far_model *fit(const far_frame *frame, far_fit_opts o)
{
    far_model *m;
    must(far_model_fit(ctx, frame, &o, &m));
    return m;
}

/* ---- what is chosen ---- */

/* The network that leave-one-out likes best, unless another does better at the edge by more than
 * twice the standard error of the difference. */
static void the_edge_overrules_by_a_margin(void **state)
{
    (void)state;
    far_frame *frame = wave(ROWS, false);
    for (int i = 0; i < 2; i++) {
        far_model *m = fit(frame, options("auto", i ? 1e-3 : NAN));
        far_candidate best = {.loo_r2 = -INFINITY}, chosen = best;
        for (int64_t k = 0; k < m->candidate_count; k++) {
            far_candidate c = m->candidates[k];
            assert_true(c.edge_r2 <= 1 && c.edge_doubt >= 0);
            best = c.bounded && c.loo_r2 > best.loo_r2 ? c : best;
            chosen = c.chosen ? c : chosen;
        }
        assert_true(chosen.bounded);
        assert_true(best.chosen || chosen.edge_r2 - best.edge_r2 > 2 * best.edge_doubt);
        far_model_destroy(m);
    }
    far_frame_destroy(frame);
}

static void a_gain_is_measured_row_by_row(void **state)
{
    (void)state;
    const double a[] = {1, 2, 3, 6}, b[] = {0, 1, 2, 1};
    double error;
    assert_near(far_paired_gain(a, b, 4, &error), 2, 1e-15);
    assert_near(error, 1, 1e-15); /* gains 1, 1, 1, 5: variance 4, of a mean of 4 */
    assert_near(far_paired_gain(a, NULL, 4, &error), 3, 1e-15);
    far_paired_gain(a, b, 1, &error);
    assert_true(isinf(error));
}

static void without_an_edge_leave_one_out_decides(void **state)
{
    (void)state;
    far_frame *frame = wave(ROWS, true);
    far_fit_opts o = options("auto", 1e-3);
    o.standardize = 0;
    far_model *m = fit(frame, o);
    double best = -INFINITY, chosen = NAN;
    for (int64_t k = 0; k < m->candidate_count; k++) {
        far_candidate c = m->candidates[k];
        best = c.bounded ? fmax(best, c.loo_r2) : best;
        chosen = c.chosen ? c.loo_r2 : chosen;
    }
    assert_true(chosen <= best && chosen > 0.9);
    far_model_destroy(m);
    far_frame_destroy(frame);
}

/* The rows beyond the subset choose the ridge once more: by the likelihood its maximum, by
 * leave-one-out the largest that is as good. */
static void more_rows_choose_the_ridge_again(void **state)
{
    (void)state;
    far_frame *frame = wave(4 * ROWS, false);
    double ridges[2];
    for (int i = 0; i < 2; i++) {
        far_fit_opts o = options("dense(b=0.3) ln relu dense(b=0.3)", NAN);
        o.criterion = i ? FAR_CRITERION_LIKELIHOOD : FAR_CRITERION_LOO;
        o.subset = 12;
        far_model *m = fit(frame, o);
        ridges[i] = far_model_describe(m).ridge_relative;
        assert_true(ridges[i] > 0 && ridges[i] < 10);
        assert_true(ridges[i] != m->candidates[0].ridge);
        far_model_destroy(m);
    }
    assert_true(ridges[0] != ridges[1]);
    far_frame_destroy(frame);
}

static void a_kernel_without_a_known_supremum_is_not_bounded(void **state)
{
    (void)state;
    far_frame *frame = wave(12, false);
    far_model *m = fit(frame, options("ln relu dense", NAN));
    assert_int_equal(m->candidate_count, 1);
    assert_int_equal(m->candidates[0].bounded, 0);
    far_model_destroy(m);
    far_frame_destroy(frame);
}

/* ---- the edge ---- */

/* Points 1, ..., ROWS on a line: the last tenth is outermost. */
static _Atomic int64_t evaluations;

static void make_search(far_search *s, far_model *m, const far_fit_opts *o, double *x, double *y)
{
    m->info.inputs = m->info.outputs = 1;
    m->info.kernel = FAR_KERNEL_NTK;
    for (int i = 0; i < ROWS; i++) {
        x[i] = (i * 7 % ROWS + 1) / 10.0;
        y[i] = x[i] > 5.4 ? 2 * x[i] : 1;
    }
    *s = (far_search){
        .ctx = ctx, .opts = o, .model = m, .x = x, .y = y, .rows = ROWS, .memory = o->memory};
    s->evals = &evaluations;
}

static far_kernel *make_kernel(const char *arch)
{
    far_kernel *k;
    far_kernel_opts o;
    o = (far_kernel_opts){.size = sizeof o};
    must(far_kernel_create(ctx, arch, &o, &k));
    return k;
}

static void the_edge_is_the_outermost_tenth(void **state)
{
    (void)state;
    double x[ROWS], y[ROWS], losses[ROWS];
    far_score score;
    far_fit_opts o = options("auto", NAN);
    far_model m = {0};
    far_search s;
    far_kernel *k = make_kernel("dense relu dense");
    make_search(&s, &m, &o, x, y);
    must(far_edge_find(&s));
    assert_int_equal(s.edge.outer, ROWS / 10);
    assert_int_equal(s.edge.inner, ROWS - ROWS / 10);
    for (int i = 0; i < s.edge.outer; i++) {
        assert_true(s.edge.outer_x[i] > 5.4 && s.edge.outer_y[i] == 2 * s.edge.outer_x[i]);
    }
    for (int i = 0; i < s.edge.inner; i++) {
        assert_true(s.edge.inner_x[i] <= 5.4 && s.edge.inner_y[i] == 1);
    }
    must(far_edge_evaluate(&s, k, 1e-3, losses, &score));
    assert_true(score.edge > 1 && isfinite(score.edge) &&
                score.edge_loss == score.edge); /* the inner rows know nothing of the slope */
    for (int i = 0; i < s.edge.outer; i++) {
        s.edge.outer_y[i] = 0;
    }
    must(far_edge_evaluate(&s, k, 1e-3, losses, &score));
    assert_true(isinf(score.edge)); /* no variance to compare with */
    far_kernel_destroy(k);
    far_edge_clear(ctx, &s.edge);
}

/* Outputs of different size have an amplitude each, as in their standard deviations. */
static void the_likelihood_is_that_of_each_output(void **state)
{
    (void)state;
    double x[ROWS], y[ROWS], both[2 * ROWS];
    far_fit_opts o = options("auto", NAN);
    far_model m = {0};
    far_search s;
    far_score one, other, together;
    far_kernel *k = make_kernel("dense(b=1) relu dense");
    make_search(&s, &m, &o, x, y);
    must(far_score_evaluate(&s, k, 0.01, ROWS, &one));
    for (int i = 0; i < ROWS; i++) {
        both[2 * i] = y[i];
        both[2 * i + 1] = y[i] = 100 * sin(x[i]);
    }
    must(far_score_evaluate(&s, k, 0.01, ROWS, &other));
    s.y = both;
    m.info.outputs = 2;
    must(far_score_evaluate(&s, k, 0.01, ROWS, &together));
    assert_near(together.likelihood, (one.likelihood + other.likelihood) / 2, 1e-11);
    far_kernel_destroy(k);
}

static void a_singular_edge_scores_worst(void **state)
{
    (void)state;
    double x[ROWS], y[ROWS], losses[ROWS];
    far_fit_opts o = options("auto", NAN);
    far_model m = {0};
    far_search s;
    far_score score;
    far_kernel *k = make_kernel("dense");
    make_search(&s, &m, &o, x, y);
    must(far_edge_find(&s));
    must(far_edge_evaluate(&s, k, 0, losses, &score));
    assert_true(isinf(score.edge) && score.edge > 0);
    must(far_score_evaluate(&s, k, 0, ROWS, &score));
    assert_true(isinf(score.loo) && score.loo > 0);
    far_kernel_destroy(k);
    far_edge_clear(ctx, &s.edge);
}

static void every_allocation_at_the_edge_may_fail(void **state)
{
    (void)state;
    double x[ROWS], y[ROWS], losses[ROWS];
    far_score score;
    far_fit_opts o = options("auto", NAN);
    far_model m = {0};
    far_search s;
    far_status st = FAR_ERR_MEMORY;
    far_kernel *k = make_kernel("dense relu dense");
    for (int64_t i = 0; st != FAR_OK; i++) {
        int64_t blocks = test_heap.live_blocks;
        make_search(&s, &m, &o, x, y);
        test_heap.fail_at = test_heap.calls + i;
        st = far_edge_find(&s);
        st = st == FAR_OK ? far_edge_evaluate(&s, k, 1e-3, losses, &score) : st;
        test_heap.fail_at = -1;
        far_edge_clear(ctx, &s.edge);
        assert_true((st == FAR_OK || st == FAR_ERR_MEMORY) && i < 200);
        assert_int_equal(test_heap.live_blocks, blocks);
    }
    far_kernel_destroy(k);
}

/* ---- the metric ---- */

enum { NOISY = 6 }; /* inputs, the first of which matters */

/* y = sin 2 x1 + size * noise, among columns that say nothing. */
static far_frame *needle(int64_t rows, uint64_t seed, double size)
{
    far_frame *frame;
    double *values = malloc((size_t)rows * (NOISY + 1) * sizeof *values);
    const char *names[] = {"x1", "x2", "x3", "x4", "x5", "x6", "y"};
    for (int64_t i = 0; i < rows; i++) {
        double *v = values + i * (NOISY + 1);
        for (int64_t j = 0; j <= NOISY; j++) {
            v[j] = far_random_normal(seed, (uint64_t)(i * (NOISY + 1) + j));
        }
        v[NOISY] = sin(2 * v[0]) + size * v[NOISY];
    }
    far_mat m = far_mat_view(values, rows, NOISY + 1, FAR_F64);
    must(far_frame_from_mat(ctx, &m, names, &frame));
    free(values);
    return frame;
}

static double error_on(const far_model *m, const far_frame *frame)
{
    far_prediction *p;
    far_predict_opts o;
    int64_t rows = far_frame_rows(frame);
    double sum = 0, *y = malloc((size_t)rows * sizeof *y);
    far_mat truth = far_mat_view(y, rows, 1, FAR_F64);
    far_predict_opts_init(&o);
    must(far_model_predict(ctx, m, frame, &o, &p));
    must(far_columns_encode_targets(ctx, m->columns, frame, NULL, NULL, &truth));
    for (int64_t i = 0; i < rows; i++) {
        double t = far_output_centre(m->columns)[0] + far_output_scale(m->columns)[0] * y[i];
        sum += pow(*(double *)far_mat_row(&p->mean, i) - t, 2);
    }
    far_prediction_destroy(p);
    free(y);
    return sqrt(sum / (double)rows);
}

/* Where one input of many matters, the metric that finds it is chosen, and weighs it most. */
static void a_metric_is_chosen_where_inputs_say_nothing(void **state)
{
    (void)state;
    far_frame *frame = needle(150, 3, 0.05), *other = needle(300, 4, 0.05);
    far_fit_opts o = options("auto", NAN);
    far_model *plain = fit(frame, o), *m;
    o.metric = FAR_METRIC_AUTO;
    m = fit(frame, o);
    far_metric_info info = far_model_describe(m).metric;
    assert_int_not_equal(info.kind, FAR_METRIC_NONE);
    for (int64_t j = 1; j < NOISY; j++) {
        assert_true(((double *)info.importance.data)[0] > 5 * ((double *)info.importance.data)[j]);
    }
    assert_true(error_on(m, other) < 0.8 * error_on(plain, other));
    for (int64_t k = 0; k < m->candidate_count; k++) {
        far_candidate c = m->candidates[k];
        assert_true(c.metric == FAR_METRIC_NONE || (isnan(c.loo_r2) && c.metric_rounds > 0));
        assert_true(!c.chosen || (c.metric == info.kind && c.fold_r2 > 0.5 && c.edge_r2 <= 1));
    }
    far_model_destroy(m);
    far_model_destroy(plain);
    far_frame_destroy(frame);
    far_frame_destroy(other);
}

/* Where every metric is chance, learning one costs next to nothing. */
static void a_metric_learnt_from_noise_is_left_alone(void **state)
{
    (void)state;
    if (only_watched()) {
        skip();
    }
    far_frame *frame = needle(200, 5, 30), *other = needle(300, 6, 30);
    far_fit_opts o = options("auto", NAN);
    far_model *plain = fit(frame, o), *m;
    o.metric = FAR_METRIC_AUTO;
    m = fit(frame, o);
    assert_true(error_on(m, other) <= 1.05 * error_on(plain, other));
    far_model_destroy(m);
    far_model_destroy(plain);
    far_frame_destroy(frame);
    far_frame_destroy(other);
}

/* The map of a fold is the same whatever its held-out targets are. */
static void fold_sees_its_own_rows(const far_kernel *k, double power)
{
    double x[ROWS], y[ROWS], maps[2][2];
    int64_t groups[] = {0, 1};
    far_recipe r = {.kind = FAR_METRIC_DIAGONAL, .power = power};
    far_fit_opts o = options("auto", NAN);
    far_model m = {0};
    far_search s;
    far_folds f;
    for (int i = 0; i < 2; i++) {
        make_search(&s, &m, &o, x, y);
        m.info.inputs = 2; /* pairs of x */
        s.groups = groups;
        s.group_count = 2;
        y[0] += i;
        must(far_folds_make(&s, ROWS / 2, 3, &f));
        must(far_folds_learn(&s, &f, k, &r, 1e-3));
        assert_int_equal(f.fold[0].train, 20);
        assert_int_equal(f.fold[0].held, 10);
        memcpy(maps[i], f.fold[0].metric.map, sizeof maps[i]);
        assert_true(i == 0 || f.fold[1].metric.map[0] != maps[0][0]);
        far_folds_clear(ctx, &f);
    }
    assert_memory_equal(maps[0], maps[1], sizeof maps[0]);
}

static void a_fold_does_not_see_what_it_holds_out(void **state)
{
    (void)state;
    far_kernel *k = make_kernel("dense ln relu dense");
    fold_sees_its_own_rows(k, 1);
    fold_sees_its_own_rows(k, 0); /* tuned */
    far_kernel_destroy(k);
}

static void the_choice_is_the_same_for_any_threads(void **state)
{
    (void)state;
    far_frame *frame = needle(90, 7, 0.1);
    far_fit_opts o = options("auto", NAN);
    far_model *m[2];
    far_ctx *pair[2];
    o.metric = FAR_METRIC_FULL;
    for (int i = 0; i < 2; i++) {
        far_ctx_opts c;
        c = (far_ctx_opts){.size = sizeof c, .threads = i + 1};
        must(far_ctx_create(&c, &pair[i]));
        must(far_model_fit(pair[i], frame, &o, &m[i]));
    }
    assert_string_equal(m[0]->arch, m[1]->arch);
    assert_true(m[0]->info.ridge == m[1]->info.ridge);
    assert_memory_equal(m[0]->metric.map, m[1]->metric.map,
                        (size_t)(NOISY * NOISY) * sizeof(double));
    for (int i = 0; i < 2; i++) {
        far_model_destroy(m[i]);
        far_ctx_destroy(pair[i]);
    }
    far_frame_destroy(frame);
}

/* ---- ranks and copies ---- */

enum { MANY = 240 };

/* Of x1 and x2: jumps, or a wave. */
static far_frame *terrain(bool jumps)
{
    far_frame *frame;
    static double values[MANY * 3];
    const char *names[] = {"x1", "x2", "y"};
    for (int64_t i = 0; i < MANY; i++) {
        double *v = values + 3 * i;
        v[0] = far_random_normal(3, (uint64_t)(2 * i));
        v[1] = far_random_normal(3, (uint64_t)(2 * i + 1));
        v[2] = jumps ? (v[0] > 0.3) + 2 * (v[1] > -0.4) - 3 * (v[0] > 1) : sin(v[0] + v[1]);
    }
    far_mat m = far_mat_view(values, MANY, 3, FAR_F64);
    must(far_frame_from_mat(ctx, &m, names, &frame));
    return frame;
}

static int64_t inputs_taken(const far_frame *frame, far_fit_opts o)
{
    far_model **models;
    int64_t count;
    must(far_models_fit(ctx, frame, &o, &models, &count));
    assert_int_equal(count, 1);
    int64_t inputs = models[0]->info.inputs;
    far_model_destroy(models[0]);
    far_free(ctx, models);
    return inputs;
}

static void steps_are_taken_for_jumps_alone(void **state)
{
    (void)state;
    far_frame *jumps = terrain(true), *smooth = terrain(false);
    far_fit_opts o = options("auto", NAN), given = options("dense ln relu dense", NAN), few = o;
    unsigned char rows[MANY] = {0};
    assert_int_equal(o.ranks, FAR_RANKS_AUTO);
    assert_true(inputs_taken(jumps, o) > 2);
    assert_int_equal(inputs_taken(smooth, o), 2);
    assert_int_equal(inputs_taken(jumps, given), 2); /* auto is for what is chosen */
    memset(rows, 1, 150);
    few.rows = rows;
    assert_int_equal(inputs_taken(jumps, few), 2);
    far_frame_destroy(jumps);
    far_frame_destroy(smooth);
}

/* Half of the rows stand there twice, noise and all: what predicts them so is a small ridge. */
static void copies_count_unless_they_are_dropped(void **state)
{
    (void)state;
    double values[90 * 2], ridges[2];
    const char *names[] = {"x", "y"};
    far_frame *frame;
    for (int i = 0; i < 90; i++) {
        uint64_t row = (uint64_t)(i < 60 ? i : i - 60);
        values[2 * i] = far_random_normal(5, 2 * row);
        values[2 * i + 1] = values[2 * i] + far_random_normal(5, 2 * row + 1);
    }
    far_mat m = far_mat_view(values, 90, 2, FAR_F64);
    must(far_frame_from_mat(ctx, &m, names, &frame));
    for (int i = 0; i < 2; i++) {
        far_fit_opts o = options("dense ln relu dense", NAN);
        o.copies = i ? FAR_COPIES_DROP : FAR_COPIES_KEEP;
        far_model *made = fit(frame, o);
        ridges[i] = made->info.ridge_relative;
        far_model_destroy(made);
    }
    assert_true(ridges[0] < ridges[1] / 2);
    far_fit_opts wrong = options("auto", NAN);
    far_model *none;
    wrong.copies = (far_copies)2;
    refused(far_model_fit(ctx, frame, &wrong, &none), FAR_ERR_ARG, "copies are neither");
    far_frame_destroy(frame);
}

/* ---- validation ---- */

enum { LATE = 900, EARLY = 150, HELD = LATE / 4 };

/* What a candidate misses the last quarter by is what a model misses it by that is fitted to the
 * rows before, with the ridge that validation has chosen. */
static void check_late_misses(const far_frame *frame, const far_trial *t)
{
    unsigned char rows[LATE], last[LATE];
    double y[HELD];
    far_prediction *p;
    far_predict_opts how;
    far_mat truth = far_mat_view(y, HELD, 1, FAR_F64);
    far_fit_opts o = options(far_kernel_text(t->kernel), t->late_ridge);
    for (int i = 0; i < LATE; i++) {
        rows[i] = i < LATE - HELD;
        last[i] = !rows[i];
    }
    o.standardize = 0;
    o.rows = rows;
    far_model *m = fit(frame, o);
    far_predict_opts_init(&how);
    how.rows = last;
    must(far_model_predict(ctx, m, frame, &how, &p));
    must(far_columns_encode_targets(ctx, m->columns, frame, last, NULL, &truth));
    for (int i = 0; i < HELD; i++) {
        assert_near(t->late_miss[i], y[i] - *(double *)far_mat_row(&p->mean, i), 1e-9);
    }
    far_prediction_destroy(p);
    far_model_destroy(m);
}

/* later: the rows of validation; where they are not all, the best meet once more on these. */
static void validate_late(const far_frame *frame, int64_t later)
{
    static double x[LATE * NOISY], y[LATE];
    static const char *const nets[] = {"dense(b=0.1)",
                                       "dense ln relu dense",
                                       "dense ln gelu dense",
                                       "dense(b=1) ln relu dense",
                                       "dense(b=0.5) ln relu dense",
                                       "dense(b=2) ln relu dense",
                                       "dense ln abs dense"};
    enum { COUNT = sizeof nets / sizeof *nets };
    far_fit_opts o = options("auto", NAN);
    far_model m = {.info = {.inputs = NOISY, .outputs = 1, .kernel = FAR_KERNEL_NTK}};
    far_search s = {.ctx = ctx, .opts = &o, .model = &m, .x = x, .y = y, .taken = LATE};
    far_trial trials[COUNT] = {0}, *all[COUNT];
    int late = 0;
    s.later = later;
    s.rows = EARLY;
    s.evals = &evaluations;
    s.memory = o.memory;
    s.fixed_ridge = NAN;
    for (int64_t i = 0; i < LATE; i++) {
        for (int64_t j = 0; j < NOISY; j++) {
            x[i * NOISY + j] = far_frame_column(frame, j).numbers[i];
        }
        y[i] = far_frame_column(frame, NOISY).numbers[i];
    }
    for (int i = 0; i < COUNT; i++) {
        trials[i] = (far_trial){.kernel = make_kernel(nets[i]), .ridge = 1e-3};
        all[i] = &trials[i];
    }
    assert_int_equal(far_validation_rows(&s), later / 4);
    must(far_validate(&s, all, COUNT));
    assert_int_equal(s.validated, HELD);
    assert_non_null(trials[0].late); /* a line: told as the first, and beaten */
    double first = trials[0].late_loss, least = INFINITY;
    for (int i = 0; i < COUNT; i++) {
        if (trials[i].late) {
            late++;
            least = fmin(least, trials[i].late_loss);
            check_late_misses(frame, &trials[i]);
        }
        far_trial_clear(ctx, &trials[i]);
    }
    assert_true(least < first);
    assert_int_equal(late, later < LATE ? 5 : 4);
    s.rows = later - later / 4 + 30; /* too few are left, or the ridge is given */
    assert_int_equal(far_validation_rows(&s), 0);
    s.rows = EARLY;
    s.fixed_ridge = 0.1;
    assert_int_equal(far_validation_rows(&s), 0);
}

static void validation_is_on_rows_not_seen_before(void **state)
{
    (void)state;
    far_frame *frame = needle(LATE, 8, 0.05);
    validate_late(frame, LATE);
    validate_late(frame, 820);
    far_frame_destroy(frame);
}

/* The ridge is one of those that validation tries; the same with one thread and with two. */
static void validation_chooses_the_ridge(void **state)
{
    (void)state;
    static const double steps[] = {0.03, 0.1, 0.3, 1, 3};
    far_frame *frame = needle(LATE, 9, 0.3);
    far_fit_opts o = options("dense(b=0.3) ln relu dense(b=0.3)", NAN);
    o.metric = FAR_METRIC_DIAGONAL;
    o.subset = EARLY;
    far_model *m[2];
    far_ctx *pair[2];
    for (int i = 0; i < 2; i++) {
        far_ctx_opts c;
        c = (far_ctx_opts){.size = sizeof c, .threads = i + 1};
        must(far_ctx_create(&c, &pair[i]));
        must(far_model_fit(pair[i], frame, &o, &m[i]));
    }
    bool tried = false;
    for (int64_t k = 0; k < m[0]->candidate_count; k++) {
        far_candidate c = m[0]->candidates[k];
        for (int r = 0; c.chosen && r < 5; r++) {
            double ratio = m[0]->info.ridge_relative / (c.ridge * steps[r]);
            tried = tried || fabs(ratio - 1) < 1e-9;
        }
    }
    assert_true(tried);
    assert_true(m[0]->info.ridge == m[1]->info.ridge);
    assert_memory_equal(m[0]->metric.map, m[1]->metric.map, NOISY * sizeof(double));
    for (int i = 0; i < 2; i++) {
        far_model_destroy(m[i]);
        far_ctx_destroy(pair[i]);
    }
    far_frame_destroy(frame);
}

/* ---- failing and stopping ---- */

static void expect(const far_frame *frame, far_fit_opts o, far_status expected)
{
    far_model *m = NULL;
    int64_t blocks = test_heap.live_blocks;
    assert_int_equal(far_model_fit(ctx, frame, &o, &m), expected);
    assert_null(m);
    assert_int_equal(test_heap.live_blocks, blocks);
}

/* Every early allocation, then ever fewer, since each takes as long as the choice up to there. */
static void allocations_of_a_choice_may_fail(void **state)
{
    (void)state;
    far_frame *frame = wave(52, false);
    far_fit_opts o = options("auto", 1e-3);
    o.metric = FAR_METRIC_AUTO;
    int64_t before = test_heap.calls;
    far_model_destroy(fit(frame, o));
    int64_t needed = test_heap.calls - before;
    assert_true(needed > 1000);
    for (int64_t i = 0; i < needed; i += i < 100 ? 1 : 1 + i / 3) {
        test_heap.fail_at = test_heap.calls + i;
        expect(frame, o, FAR_ERR_MEMORY);
        test_heap.fail_at = -1;
    }
    for (int64_t i = 1; i <= 5; i++) {
        test_heap.fail_at = test_heap.calls + needed - 3 * i;
        expect(frame, o, FAR_ERR_MEMORY);
        test_heap.fail_at = -1;
    }
    far_frame_destroy(frame);
}

static void a_choice_can_be_stopped(void **state)
{
    (void)state;
    far_frame *frame = wave(52, false);
    far_fit_opts o = options("auto", 1e-3);
    o.metric = FAR_METRIC_AUTO;
    far_model_destroy(fit(frame, o));
    int64_t whole = ear.calls;
    for (int64_t i = 1; i <= whole; i += 1 + i / 2) {
        ear.calls = 0;
        ear.stop_at = i;
        expect(frame, o, FAR_ERR_CANCELLED);
        assert_int_equal(ear.calls, i); /* and nothing is asked after the answer */
    }
    ear.stop_at = 0;
    far_frame_destroy(frame);
}

static void too_few_rows_for_a_metric_are_told(void **state)
{
    (void)state;
    far_frame *frame = wave(7, false);
    far_fit_opts o = options("dense ln relu dense", 1e-3);
    o.metric = FAR_METRIC_DIAGONAL;
    expect(frame, o, FAR_ERR_ARG);
    assert_message("a metric is learnt from 8 rows or more");
    far_frame_destroy(frame);
}

static void a_search_without_memory_is_told(void **state)
{
    (void)state;
    far_frame *frame = wave(12, false);
    no_search = true;
    expect(frame, options("dense ln relu dense", NAN), FAR_ERR_MEMORY);
    assert_string_equal(far_ctx_message(ctx), "out of memory choosing the ridge");
    no_search = false;
    far_frame_destroy(frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_edge_overrules_by_a_margin),
        TEST(a_gain_is_measured_row_by_row),
        TEST(the_likelihood_is_that_of_each_output),
        TEST(without_an_edge_leave_one_out_decides),
        TEST(more_rows_choose_the_ridge_again),
        TEST(a_kernel_without_a_known_supremum_is_not_bounded),
        TEST(the_edge_is_the_outermost_tenth),
        TEST(a_singular_edge_scores_worst),
        TEST(every_allocation_at_the_edge_may_fail),
        TEST(a_metric_is_chosen_where_inputs_say_nothing),
        TEST(a_metric_learnt_from_noise_is_left_alone),
        TEST(a_fold_does_not_see_what_it_holds_out),
        TEST(the_choice_is_the_same_for_any_threads),
        TEST(steps_are_taken_for_jumps_alone),
        TEST(copies_count_unless_they_are_dropped),
        TEST(validation_is_on_rows_not_seen_before),
        TEST(validation_chooses_the_ridge),
        TEST(too_few_rows_for_a_metric_are_told),
        TEST(allocations_of_a_choice_may_fail),
        TEST(a_choice_can_be_stopped),
        TEST(a_search_without_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
