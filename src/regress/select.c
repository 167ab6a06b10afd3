/*
 * Choosing the architecture and the ridge by closed forms on a subset of the rows: leave-one-out
 * (squared error, or the log loss of calibrated probabilities), or the marginal likelihood with its
 * best amplitudes.
 *
 * Every structure is first tried on few rows over a coarse grid of biases and ridges; the best ones
 * are then refined continuously on the whole subset. Leave-one-out cannot tell networks apart whose
 * losses differ by less than its standard error: among those, one may take the place of the best
 * that predicts the outermost tenth of the rows (the edge) better from the others, by more than
 * chance would have it. Where there are more rows than the subset, those on a larger one have
 * the last word (select_validate.c), since the best ridge falls as rows are added, and finer
 * structure can be learnt.
 */
#include "select.h"
#include "../solve/blas.h"

#include <math.h>
#include <string.h>

enum { REFINE_EVALS = 10, RIDGE_EVALS = 6, RIDGE_STEPS = 4 };
enum { LEAST_ROWS = 8, LEAST_ROWS_OF_AUTO = 40, SCREEN_ROWS = 500 };
enum { PLAIN_MEMBERS = 5, MOST_OF_AUTO = 5, MOST_ROWS_OF_COMMITTEE = 20000 };
enum { MOST_TRIALS = FAR_PLAIN_TRIALS + FAR_METRIC_TRIALS, PLAIN_CONTESTANTS = 3 };
#define TIED_RIDGES 0.5
#define EDGE_MARGIN 2.0   /* standard errors of the gain at the edge */
#define METRIC_MARGIN 1.0 /* standard errors of the gain on held-out rows */
#define LARGEST_STEP 30.0 /* beyond the best ridge no larger one is looked for */
#define MOST_RIDGE 10.0
#define FIRST_RIDGE 1e-2
#define MOST_WITHOUT_FACTOR 10000 /* rows, where all rows are too many for a factor */
#define LARGER_SUBSET 4           /* the last word takes n / 4 rows: some 20% of the fit's time; */
#define LATER_ROWS 6000           /* or so many, where n is less than four times that */
#define LAST_SUBSET 2             /* where it is more, the best meet once more on n / 2 rows */
#define MATRICES_OF_A_JOB 3

/* ---- tasks side by side -------------------------------------------------------------------- */

typedef struct task {
    const far_search *s;
    far_search_job *job;
    void *data;
} task;

static far_status run_task(far_ctx *ctx, void *data, int64_t index)
{
    const task *t = data;
    far_search own = *t->s;
    own.ctx = ctx;
    return t->job(&own, t->data, index);
}

far_status far_search_run(far_search *s, int64_t count, int64_t rows, far_search_job *job,
                          void *data)
{
    task t = {s, job, data};
    double each = MATRICES_OF_A_JOB * sizeof(double) * (double)rows * (double)rows;
    double most = each > 0 ? s->memory / each : (double)count;
    far_blas_scope scope = far_blas_enter(far_ctx_threads(s->ctx));
    far_status st =
        far_crew_run(s->crew, count, most < 1 ? 1 : (int64_t)fmin(most, 1e6), run_task, &t);
    far_blas_leave(scope);
    return st;
}

/* ---- what is tried ------------------------------------------------------------------------- */

double far_score_loss(const far_search *s, far_score v)
{
    bool classes = s->model->info.task == FAR_TASK_CLASSIFY;
    return s->opts->criterion == FAR_CRITERION_LIKELIHOOD ? -v.likelihood
           : classes                                      ? v.log_loss
                                                          : v.loo;
}

bool far_chooses_network(const far_fit_opts *o)
{
    return !o->arch || strcmp(o->arch, "auto") == 0;
}

/* One that was asked for, or that may be chosen with the network. */
static bool wants_metric(const far_fit_opts *o)
{
    bool judged = o->criterion == FAR_CRITERION_LOO && far_chooses_network(o);
    return o->metric == FAR_METRIC_AUTO ? judged : o->metric != FAR_METRIC_NONE;
}

bool far_trial_eligible(const far_search *s, const far_trial *t)
{
    return t->bounded || !t->structure || s->opts->allow_unbounded; /* what is given is */
}

void far_trial_forget_maps(far_ctx *ctx, far_trial *t)
{
    for (int64_t i = 0; i < t->map_count; i++) {
        far_metric_clear(ctx, &t->maps[i]);
    }
    far_free(ctx, t->maps);
    t->maps = NULL;
    t->map_count = 0;
}

void far_trial_clear(far_ctx *ctx, far_trial *t)
{
    far_kernel_destroy(t->kernel);
    far_kernel_destroy(t->teacher);
    FAR_FREE_ALL(ctx, t->edge, t->fold, t->fold_miss, t->late, t->late_miss);
    far_trial_forget_maps(ctx, t);
    *t = (far_trial){0};
}

void far_picks_clear(far_ctx *ctx, far_picks *c)
{
    for (int64_t i = 0; i < c->count; i++) {
        far_kernel_destroy(c->items[i].kernel);
        far_metric_clear(ctx, &c->items[i].metric);
    }
    far_free(ctx, c->items);
    *c = (far_picks){0};
}

/* ---- architectures ------------------------------------------------------------------------- */

far_status far_structure_kernel(const far_search *s, const char *structure, double bias,
                                far_kernel **out)
{
    far_text t = {.ctx = s->ctx};
    far_kernel_opts o;
    o = (far_kernel_opts){.size = sizeof o};
    o.param = s->opts->param;
    for (const char *p = structure; *p; p++) {
        if (strncmp(p, "%B", 2) == 0) {
            far_text_add(&t, "b=%.3g", bias);
            p++;
        } else {
            far_text_add(&t, "%c", *p);
        }
    }
    far_status st = t.status;
    if (st == FAR_OK) {
        st = far_kernel_create(s->ctx, t.data, &o, out);
    }
    far_free(s->ctx, t.data);
    return st;
}

far_status far_trial_kernel(far_search *s, const far_trial *t, double bias, far_kernel **out)
{
    return far_structure_kernel(s, t->structure ? t->structure : far_kernel_text(t->kernel), bias,
                                out);
}

far_status far_trial_bounded(far_search *s, far_trial *t)
{
    far_supremum sup;
    far_status st = far_kernel_supremum(s->ctx, t->kernel, s->model->info.inputs, &sup);
    t->bounded = st == FAR_OK && sup.bounded;
    return st == FAR_ERR_ARCH ? FAR_OK : st; /* not known to be bounded */
}

/* ---- the subset ---------------------------------------------------------------------------- */

/* Inputs and targets side by side. */
static far_status whole_rows(far_ctx *ctx, const far_model *m, double **out)
{
    int64_t d = m->info.inputs, p = m->info.outputs;
    far_status st = far_alloc(ctx, m->info.rows * (d + p), out);
    for (int64_t i = 0; st == FAR_OK && i < m->info.rows; i++) {
        memcpy(*out + i * (d + p), m->x + i * d, (size_t)d * sizeof **out);
        memcpy(*out + i * (d + p) + d, m->y + i * p, (size_t)p * sizeof **out);
    }
    return st;
}

/* Rows in random order. Copies of rows count, as they do in any cross-validation: if such rows come
 * again, what predicts them is worth having. Where they do not (`copies` drop), a copy must not
 * vouch for its original; rows with the same inputs and different targets stay: they tell how much
 * noise there is. */
static far_status order_rows(far_ctx *ctx, const far_fit_opts *o, const far_model *m,
                             int64_t **index, int64_t *count)
{
    far_status st;
    double *rows = NULL;
    int64_t *original = NULL;
    far_duplicates copies;
    *count = 0;
    FAR_TRY(whole_rows(ctx, m, &rows));
    FAR_TRY(far_alloc(ctx, m->info.rows, &original));
    FAR_TRY(far_alloc(ctx, m->info.rows, index));
    FAR_TRY(far_duplicates_find(ctx, rows, m->info.rows, m->info.inputs + m->info.outputs, m->y,
                                m->info.outputs, original, &copies));
    for (int64_t i = 0; i < m->info.rows; i++) {
        if (original[i] == i || o->copies == FAR_COPIES_KEEP) {
            (*index)[(*count)++] = i;
        }
    }
    far_random_shuffle(o->seed, *index, *count);
done:
    far_free(ctx, rows);
    far_free(ctx, original);
    return st;
}

static int64_t larger_subset(far_method method, int64_t n)
{
    int64_t larger = n / LARGER_SUBSET;
    larger = larger > LATER_ROWS ? larger : far_least(n, LATER_ROWS);
    return method == FAR_METHOD_EXACT ? larger : far_least(larger, MOST_WITHOUT_FACTOR);
}

/* 0: there is none. */
static int64_t last_subset(far_method method, int64_t n)
{
    bool worth = method == FAR_METHOD_EXACT && n / LARGER_SUBSET > LATER_ROWS;
    return worth ? n / LAST_SUBSET : 0;
}

static int64_t most_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static far_status take_subset(far_search *s)
{
    far_status st;
    const far_model *m = s->model;
    int64_t *index = NULL, count, d = m->info.inputs, p = m->info.outputs;
    far_method method = m->info.method;
    bool free_ridge = isnan(s->fixed_ridge);
    FAR_TRY(order_rows(s->ctx, s->opts, m, &index, &count));
    int64_t later = free_ridge ? larger_subset(method, m->info.rows) : 0;
    int64_t last = free_ridge ? last_subset(method, m->info.rows) : 0;
    s->later = far_least(most_of(later, s->opts->subset), count);
    int64_t take = far_least(most_of(last, s->later), count);
    FAR_TRY(far_alloc(s->ctx, take * d, &s->x));
    FAR_TRY(far_alloc(s->ctx, take * p, &s->y));
    for (int64_t i = 0; i < take; i++) {
        memcpy(s->x + i * d, m->x + index[i] * d, (size_t)d * sizeof *s->x);
        memcpy(s->y + i * p, m->y + index[i] * p, (size_t)p * sizeof *s->y);
    }
    s->taken = take;
    s->rows = take < s->opts->subset ? take : s->opts->subset;
done:
    far_free(s->ctx, index);
    return st;
}

/* A number has a weight and its rank, or all steps of it, another; a category has one. */
static far_status group_inputs(far_search *s)
{
    const far_columns *c = s->model->columns;
    int64_t d = s->model->info.inputs;
    far_status st = far_alloc(s->ctx, d, &s->groups);
    for (int64_t i = 0; st == FAR_OK && i < d; i++) {
        s->groups[i] = -1;
    }
    for (int64_t f = 0; st == FAR_OK && f < far_columns_describe(c).features; f++) {
        far_feature_info e = far_columns_feature(c, f);
        for (int64_t k = 0; k < e.width && e.first + k < d; k++) {
            bool new = k == 0 || (k == 1 && !e.levels);
            s->group_count += new;
            s->groups[e.first + k] = s->group_count - 1;
        }
    }
    for (int64_t i = 0; st == FAR_OK && i < d; i++) { /* inputs that are no columns */
        s->groups[i] = s->groups[i] < 0 ? s->group_count++ : s->groups[i];
    }
    return st;
}

/* ---- how long it takes ---- */

#define SCORE_COST 2.5 /* factor, inverse and solution, in factors */

double far_scores_seconds(far_ctx *ctx, int64_t rows, int64_t evals)
{
    far_solve_opts o;
    far_estimate e;
    far_solve_opts_init(&o);
    o.extremes = 0;
    bool known = far_solve_estimate(ctx, rows > 0 ? rows : 1, &o, &e) == FAR_OK;
    return known ? SCORE_COST * (double)evals * e.seconds : 0;
}

double far_select_seconds(far_ctx *ctx, const far_fit_opts *o, far_method method, int64_t n)
{
    bool any = far_chooses_network(o), free_ridge = isnan(o->ridge);
    int64_t subset = far_least(n, o->subset), larger = larger_subset(method, n);
    double seconds = any          ? far_plain_seconds(ctx, subset, free_ridge)
                     : free_ridge ? far_scores_seconds(ctx, subset, REFINE_EVALS)
                                  : 0;
    if (wants_metric(o)) {
        double rows, evals = far_metric_evaluations(o, subset, &rows);
        seconds += far_scores_seconds(ctx, (int64_t)rows, (int64_t)evals);
    }
    if (free_ridge && larger > subset) {
        bool loo = o->criterion == FAR_CRITERION_LOO;
        int64_t evals = loo ? far_validation_evaluations() : RIDGE_EVALS + RIDGE_STEPS + 1;
        seconds += far_scores_seconds(ctx, larger, evals);
        seconds += loo ? far_scores_seconds(ctx, last_subset(method, n), 1) : 0;
    }
    return seconds;
}

/* ---- the choice ---------------------------------------------------------------------------- */

/* The standard error of the losses of a less those of b, row by row; NAN: one is not known. */
static double doubt_between(const double *a, const double *b, int64_t count)
{
    double doubt = NAN;
    if (a && b) {
        far_paired_gain(a, b, count, &doubt);
    }
    return isfinite(doubt) ? doubt : NAN;
}

static double known(double value)
{
    return isfinite(value) ? value : NAN;
}

static far_status keep_candidates(far_search *s, const far_trial *trials, int64_t count,
                                  const int64_t *members, int64_t size)
{
    far_model *m = s->model;
    bool classes = m->info.task == FAR_TASK_CLASSIFY;
    const far_trial *best = &trials[members[0]];
    far_status st = far_alloc(s->ctx, count, &m->candidates);
    for (int64_t i = 0; st == FAR_OK && i < count; i++) {
        const far_trial *t = &trials[i];
        if (t->dropped) {
            continue;
        }
        const char *text = far_kernel_text(t->kernel);
        bool mapped = t->recipe.rounds > 0;
        double fold = t->fold ? known(t->fold_loss) : NAN;
        bool chosen = false;
        for (int64_t k = 0; k < size; k++) {
            chosen = chosen || members[k] == i;
        }
        char *copy;
        st = far_copy_text(s->ctx, text, (int64_t)strlen(text), &copy);
        if (st == FAR_OK) {
            m->candidates[m->candidate_count++] =
                (far_candidate){.arch = copy,
                                .ridge = t->ridge,
                                .loo_r2 = mapped ? NAN : 1 - t->score.loo,
                                .loo_log_loss = mapped ? NAN : t->score.log_loss,
                                .edge_r2 = 1 - known(t->score.edge),
                                .edge_log_loss = classes ? known(t->score.edge_loss) : NAN,
                                .edge_doubt = doubt_between(best->edge, t->edge, s->edge.outer),
                                .log_likelihood = mapped ? NAN : t->score.likelihood,
                                .bounded = t->bounded,
                                .chosen = chosen,
                                .metric = mapped ? t->recipe.kind : FAR_METRIC_NONE,
                                .metric_power = mapped ? t->recipe.power : 0,
                                .metric_rounds = (int32_t)t->recipe.rounds,
                                .fold_r2 = classes ? NAN : 1 - fold,
                                .fold_log_loss = classes ? fold : NAN,
                                .fold_doubt = doubt_between(best->fold, t->fold, s->rows)};
        }
    }
    return st;
}

/* The largest ridge that leave-one-out cannot tell from the best one. */
static far_status largest_tied_ridge(far_search *s, int64_t rows, far_trial *t)
{
    far_status st = FAR_OK;
    double limit = far_score_loss(s, t->score) + TIED_RIDGES * t->score.doubt;
    double low = log(t->ridge), high = log(fmin(t->ridge * LARGEST_STEP, MOST_RIDGE));
    for (int i = 0; st == FAR_OK && i < RIDGE_STEPS; i++) {
        double middle = (low + high) / 2;
        far_score v;
        st = far_score_evaluate(s, t->kernel, exp(middle), rows, &v);
        *(far_score_loss(s, v) <= limit ? &low : &high) = middle;
    }
    t->ridge = exp(low);
    return st;
}

static far_status larger_ridge(far_search *s, far_trial *t)
{
    int64_t larger = s->later;
    if (!isnan(s->fixed_ridge) || larger <= s->rows) {
        return FAR_OK;
    }
    if (t->late) {
        t->ridge = t->late_ridge;
        return FAR_OK;
    }
    far_trial copy = *t; /* the scores of the table stay those of the subset */
    far_status st = far_trial_refine(s, &copy, larger, false, RIDGE_EVALS);
    if (st == FAR_OK && s->opts->criterion == FAR_CRITERION_LOO) {
        st = largest_tied_ridge(s, larger, &copy);
    }
    t->kernel = copy.kernel;
    t->ridge = copy.ridge;
    return st;
}

/* ---- the metric ---------------------------------------------------------------------------- */

/* Whether held-out rows are predicted better behind the metric by more than chance. */
static bool metric_wins(const far_search *s, const far_trial *plain, const far_trial *t)
{
    double error;
    if (!t->fold || !isfinite(t->fold_loss)) {
        return false;
    }
    return s->opts->metric != FAR_METRIC_AUTO || !isfinite(plain->fold_loss) ||
           far_paired_gain(plain->fold, t->fold, s->rows, &error) > METRIC_MARGIN * error;
}

/* Learns the map from the whole subset; from here on the subset lies behind it, and its rows no
 * longer vouch for anything. */
static far_status take_metric(far_search *s, const far_trial *t, far_metric *out)
{
    far_status st;
    int64_t d = s->model->info.inputs, p = s->model->info.outputs;
    far_mat x = far_mat_view(s->x, s->rows, d, FAR_F64),
            all = far_mat_view(s->x, s->taken, d, FAR_F64);
    far_mat y = far_mat_view(s->y, s->rows, p, FAR_F64);
    FAR_TRY(far_recipe_learn(s, t->teacher, &t->recipe, &x, &y, out));
    FAR_TRY(far_metric_apply(s->ctx, out, &all, &all));
    s->seen = s->rows;
done:
    return st;
}

/* By how much leave-one-out squared errors behind the metric, which the subset lies behind, are too
 * small: rows held out in folds are missed by so much more behind maps that have not seen them.
 * Only the rows that the metric was learnt from are concerned. */
static far_status measure_optimism(far_search *s, const far_trial *t, double *out)
{
    double seen;
    far_status st = far_metric_seen_square(s, t, &seen);
    double factor = t->fold_square / seen;
    double share = (double)s->rows / (double)s->model->info.rows;
    *out = isfinite(factor) && factor > 1 ? 1 + (factor - 1) * share : 1;
    return st;
}

/* The trials without a metric that folds judge too: the chosen one, and of a committee the best. */
static void pick_judged(const far_search *s, const far_trial *trials, int64_t count, int64_t chosen,
                        bool *judged)
{
    judged[chosen] = true;
    for (int64_t k = 1; s->committee != 1 && k < PLAIN_MEMBERS; k++) {
        int64_t next = far_trial_best(s, trials, count, true, judged);
        if (next >= 0) {
            judged[next] = true;
        }
    }
}

static far_status choose_metric(far_search *s, far_trial *trials, int64_t *count, int64_t *chosen)
{
    far_status st;
    bool judged[FAR_PLAIN_TRIALS] = {false};
    bool asked = wants_metric(s->opts) && s->opts->metric != FAR_METRIC_AUTO;
    int64_t found, least = asked ? LEAST_ROWS : LEAST_ROWS_OF_AUTO;
    bool judge = wants_metric(s->opts) || s->committee != 1 || (s->others && s->others->judge);
    if (!judge || (!asked && s->rows < least)) {
        return FAR_OK;
    }
    if (s->rows < least) {
        return far_fail(s->ctx, FAR_ERR_ARG,
                        "a metric is learnt from %lld rows or more, and there are %lld; "
                        "fit without one (`metric` none)",
                        (long long)least, (long long)s->rows);
    }
    pick_judged(s, trials, *count, *chosen, judged);
    FAR_TRY(far_metric_search(s, trials, *count, judged, trials + *count, &found));
    bool wins = found > 0 && metric_wins(s, &trials[*chosen], &trials[*count]);
    if (!wins && asked) {
        return far_fail(s->ctx, FAR_ERR_SINGULAR,
                        "no metric could be learnt: every kernel matrix that was tried is "
                        "singular; use a larger ridge, or none (`metric` none)");
    }
    *chosen = wins ? *count : *chosen;
    *count += found;
done:
    return st;
}

/* ---- the choice ---------------------------------------------------------------------------- */

/* What t becomes: its metric learnt from the whole subset, its ridge after a last look. The subset
 * is left as it was. */
static far_status settle(far_search *s, far_trial *t, far_pick *out)
{
    far_status st;
    double *x = NULL;
    size_t size = (size_t)(s->taken * s->model->info.inputs) * sizeof *x;
    *out = (far_pick){0};
    if (t->recipe.rounds > 0) {
        FAR_TRY(far_alloc(s->ctx, s->taken * s->model->info.inputs, &x));
        memcpy(x, s->x, size);
        FAR_TRY(take_metric(s, t, &out->metric));
        FAR_TRY(measure_optimism(s, t, &out->optimism));
    }
    FAR_TRY(larger_ridge(s, t));
    out->ridge = t->ridge;
    FAR_TRY(far_trial_kernel(s, t, t->bias, &out->kernel)); /* t's may borrow a worker's context */
done:
    if (x) {
        memcpy(s->x, x, size);
        s->seen = 0;
    }
    far_free(s->ctx, x);
    return st;
}

/* The first becomes the model's own. */
static far_status take_choice(far_search *s, far_pick *c)
{
    far_kernel_destroy(s->model->kernel);
    s->model->kernel = c->kernel;
    s->model->metric = c->metric;
    s->model->optimism = c->optimism;
    s->chosen_ridge = c->ridge;
    *c = (far_pick){0};
    return FAR_OK;
}

/* The one that was chosen first, then those that folds have judged, and the best without a metric.
 */
static int64_t pick_candidates(const far_search *s, far_trial *trials, int64_t count,
                               int64_t chosen, far_trial **out)
{
    bool taken[MOST_TRIALS] = {false};
    int64_t found = 1, plains = 0;
    out[0] = &trials[chosen];
    for (int64_t i = 0; i < count; i++) {
        bool mapped = trials[i].recipe.rounds > 0;
        taken[i] = mapped || (trials[i].fold && isfinite(trials[i].fold_loss));
        plains += taken[i] && !mapped;
    }
    for (; plains < PLAIN_CONTESTANTS; plains++) {
        int64_t next = far_trial_best(s, trials, count, true, taken);
        if (next >= 0) {
            taken[next] = true;
        }
    }
    for (int64_t i = 0; i < count; i++) {
        if (taken[i] && i != chosen && far_trial_eligible(s, &trials[i])) {
            out[found++] = &trials[i];
        }
    }
    return found;
}

/* The best in validation, if it beats the one that was chosen on the subset, which may have been
 * so for the edge, by more than chance; behind a metric if one was asked for. */
static int64_t winner_of(const far_search *s, const far_trial *trials, int64_t count,
                         int64_t chosen)
{
    bool asked = s->opts->metric != FAR_METRIC_AUTO && s->opts->metric != FAR_METRIC_NONE;
    int64_t best = -1;
    for (int64_t i = 0; i < count; i++) {
        bool fits = trials[i].late && (!asked || trials[i].recipe.rounds > 0);
        if (fits && (best < 0 || trials[i].late_loss < trials[best].late_loss)) {
            best = i;
        }
    }
    double error;
    bool beaten = best >= 0 && (!trials[chosen].late ||
                                far_paired_gain(trials[chosen].late, trials[best].late,
                                                s->validated, &error) > METRIC_MARGIN * error);
    return beaten ? best : chosen;
}

static far_status validate(far_search *s, far_trial *trials, int64_t count, int64_t *chosen)
{
    far_trial *candidates[MOST_TRIALS];
    if (far_validation_rows(s) == 0) {
        return FAR_OK;
    }
    far_status st =
        far_validate(s, candidates, pick_candidates(s, trials, count, *chosen, candidates));
    *chosen = st == FAR_OK ? winner_of(s, trials, count, *chosen) : *chosen;
    return st;
}

/* ---- in stages ----------------------------------------------------------------------------- */

struct far_choice {
    far_search s;
    far_fit_opts opts;
    bool free; /* there is something to choose */
    far_trial trials[MOST_TRIALS];
    int64_t count, chosen;
    int64_t members[FAR_MOST_MEMBERS], size;
    double *losses; /* of the rows held out, by the members together; NULL: not judged */
};

/* Of a network that is given: its ridge, unless given too. */
static far_status search_given(far_choice *c)
{
    far_status st;
    far_search *s = &c->s;
    far_trial *t = &c->trials[0];
    *t = (far_trial){.kernel = s->model->kernel, .ridge = FIRST_RIDGE, .score = far_score_worst()};
    s->model->kernel = NULL;
    s->least_evals = REFINE_EVALS;
    c->count = 1;
    FAR_TRY(far_trial_bounded(s, t));
    FAR_TRY(far_trial_screen(s, t));
    FAR_TRY(far_trial_refine(s, t, s->rows, false, REFINE_EVALS));
done:
    return st;
}

static far_status search_any(far_choice *c)
{
    c->count = FAR_PLAIN_TRIALS;
    return far_plain_search(&c->s, c->trials, &c->chosen);
}

static far_ridge_kind ridge_kind(const far_fit_opts *o)
{
    return isnan(o->ridge) ? FAR_RIDGE_RELATIVE : o->ridge_kind;
}

static far_status given_kernel(far_ctx *ctx, const far_fit_opts *o, far_model *m)
{
    far_kernel_opts k;
    k = (far_kernel_opts){.size = sizeof k};
    k.param = o->param;
    return far_kernel_create(ctx, o->arch, &k, &m->kernel);
}

/* Choices are made with relative ridges. */
static far_status make_relative(far_search *s, far_ridge_kind kind)
{
    int64_t rows = far_least(s->rows, SCREEN_ROWS);
    double *k = NULL, mean = 0;
    if (kind == FAR_RIDGE_RELATIVE) {
        return FAR_OK;
    }
    far_status st = far_score_gram(s, s->model->kernel, rows, &k);
    for (int64_t i = 0; st == FAR_OK && i < rows; i++) {
        mean += k[i * rows + i] / (double)rows;
    }
    s->fixed_ridge = mean > 0 ? s->fixed_ridge / mean : s->fixed_ridge;
    far_free(s->ctx, k);
    return st;
}

static far_status name_architecture(far_ctx *ctx, far_model *m)
{
    const char *text = far_kernel_text(m->kernel);
    return far_copy_text(ctx, text, (int64_t)strlen(text), &m->arch);
}

/* Of very many rows every member more costs too much to be taken unasked. */
static int64_t committee_of(const far_fit_opts *o, const far_model *m, const far_picks *others)
{
    bool one = !others || o->criterion != FAR_CRITERION_LOO ||
               (o->committee == 0 && m->info.rows > MOST_ROWS_OF_COMMITTEE);
    return one ? 1 : o->committee;
}

static far_status check_choice(far_ctx *ctx, const far_fit_opts *o)
{
    bool any = far_chooses_network(o);
    if (any && !isnan(o->ridge) && o->ridge_kind == FAR_RIDGE_ABSOLUTE) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "an absolute ridge has no meaning while the architecture, and with it the "
                        "size of the kernel, is being chosen; give a relative one or none");
    }
    if (any && o->param == FAR_PARAM_STANDARD) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "the networks to choose from have no widths, which the standard "
                        "parametrisation needs; give an architecture, or use `param` ntk");
    }
    return FAR_OK;
}

static far_status search_plain(far_choice *c)
{
    far_status st;
    bool any = far_chooses_network(&c->opts);
    FAR_TRY(far_crew_create(c->s.ctx, &c->s.crew));
    FAR_TRY(take_subset(&c->s));
    FAR_TRY(group_inputs(&c->s));
    FAR_TRY(any ? FAR_OK : make_relative(&c->s, ridge_kind(&c->opts)));
    FAR_TRY(any ? search_any(c) : search_given(c));
done:
    return st;
}

far_status far_choice_open(far_ctx *ctx, const far_fit_opts *o, far_model *m, far_picks *others,
                           const far_choice *rival, far_choice **out)
{
    far_status st;
    far_choice *c = NULL;
    FAR_TRY(check_choice(ctx, o));
    FAR_TRY(far_alloc(ctx, 1, &c));
    c->opts = *o;
    c->s = (far_search){.ctx = ctx,
                        .opts = &c->opts,
                        .model = m,
                        .fixed_ridge = o->ridge,
                        .others = others,
                        .rival = rival ? &rival->s : NULL};
    c->s.evals = &c->s.done;
    c->s.memory = far_budget(o->memory);
    c->s.committee = committee_of(o, m, others);
    c->s.only_tuned = rival && o->metric == FAR_METRIC_AUTO;
    FAR_TRY(far_chooses_network(o) ? FAR_OK : given_kernel(ctx, o, m));
    bool judge = c->s.committee != 1 || (others && others->judge);
    c->free = far_chooses_network(o) || isnan(o->ridge) || wants_metric(o) || judge;
    FAR_TRY(c->free ? search_plain(c) : FAR_OK);
done:
    FAR_HAND_OVER(c, out, far_choice_close);
    return st;
}

void far_choice_close(far_choice *c)
{
    if (c) {
        far_ctx *ctx = c->s.ctx;
        for (int64_t i = 0; i < MOST_TRIALS; i++) {
            far_trial_clear(ctx, &c->trials[i]);
        }
        far_edge_clear(ctx, &c->s.edge);
        FAR_FREE_ALL(ctx, c->s.x, c->s.y, c->s.groups, c->losses);
        far_crew_destroy(c->s.crew);
        far_free(ctx, c);
    }
}

double far_choice_loss(const far_choice *c)
{
    return c->free && !c->s.hopeless ? far_score_loss(&c->s, c->trials[c->chosen].score) : INFINITY;
}

far_status far_choice_judge(far_choice *c)
{
    far_status st = FAR_OK;
    far_search *s = &c->s;
    bool any = s->committee == 0;
    if (!c->free) {
        return FAR_OK;
    }
    FAR_TRY(choose_metric(s, c->trials, &c->count, &c->chosen));
    FAR_TRY(validate(s, c->trials, c->count, &c->chosen));
    FAR_TRY(far_committee_choose(s, c->trials, c->count, c->chosen,
                                 any ? MOST_OF_AUTO : s->committee, !any, c->members, &c->size,
                                 &s->model->fold_loss, &c->losses));
done:
    return st;
}

/* Rows held out and the edge are the same rows for both. */
bool far_choice_beats(const far_choice *c, const far_choice *other)
{
    double error, edge_error;
    int64_t rows = far_judged_rows(&c->s);
    if (!c->losses || !other->losses || rows != far_judged_rows(&other->s)) {
        return false;
    }
    bool better = far_paired_gain(other->losses, c->losses, rows, &error) > METRIC_MARGIN * error;
    const double *own = c->trials[c->chosen].edge, *its = other->trials[other->chosen].edge;
    bool worse = own && its && c->s.edge.outer == other->s.edge.outer &&
                 far_paired_gain(own, its, c->s.edge.outer, &edge_error) > EDGE_MARGIN * edge_error;
    return better && !worse;
}

far_status far_choice_take(far_choice *c, double *ridge, far_ridge_kind *kind)
{
    far_status st = FAR_OK;
    far_search *s = &c->s;
    far_pick first = {0};
    *ridge = c->opts.ridge;
    *kind = ridge_kind(&c->opts);
    if (c->free) {
        for (int64_t k = 0; k < c->size; k++) {
            far_trial *t = &c->trials[c->members[k]];
            FAR_TRY(t->recipe.rounds > 0 && !t->edge ? far_edge_behind(s, t) : FAR_OK);
        }
        FAR_TRY(c->size > 1 ? far_alloc(s->ctx, c->size, &s->others->items) : FAR_OK);
        FAR_TRY(keep_candidates(s, c->trials, c->count, c->members, c->size));
        FAR_TRY(settle(s, &c->trials[c->members[0]], &first));
        FAR_TRY(take_choice(s, &first));
        for (int64_t k = 1; k < c->size; k++) {
            s->others->count = k;
            FAR_TRY(settle(s, &c->trials[c->members[k]], &s->others->items[k - 1]));
        }
        *ridge = isnan(c->opts.ridge) ? s->chosen_ridge : c->opts.ridge;
    }
    FAR_TRY(name_architecture(s->ctx, s->model));
done:
    far_kernel_destroy(first.kernel);
    far_metric_clear(s->ctx, &first.metric);
    return st;
}
