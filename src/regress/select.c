/*
 * Choosing the architecture and the ridge by closed forms on a subset of the rows: leave-one-out
 * (squared error, or the log loss of calibrated probabilities), or the marginal likelihood with its
 * best amplitudes.
 *
 * Every structure is first tried on few rows over a coarse grid of biases and ridges; the best ones
 * are then refined continuously on the whole subset. Leave-one-out cannot tell networks apart whose
 * losses differ by less than its standard error: among those, one may take the place of the best
 * that predicts the outermost tenth of the rows (the edge) better from the others, by more than
 * chance would have it. Where there are more rows than the subset, a contest on a larger one has
 * the last word (select_contest.c), since the best ridge falls as rows are added, and finer
 * structure can be learnt.
 */
#include "select.h"

#include <math.h>
#include <nlopt.h>
#include <string.h>

enum { SCREEN_ROWS = 500, MIDDLE_ROWS = 1000, FINALISTS = 3, CONTESTED = 4 };
enum { REFINE_EVALS = 20, LAST_EVALS = 6, RIDGE_EVALS = 6, RIDGE_STEPS = 4 };
enum { EDGE_LEAST_ROWS = 50, LEAST_ROWS = 8, LEAST_ROWS_OF_AUTO = 40 };
enum { PLAIN_MEMBERS = 5, MOST_OF_AUTO = 5, MOST_ROWS_OF_COMMITTEE = 20000 };
#define TIED_NETWORKS 1.0 /* standard errors of leave-one-out */
#define TIED_RIDGES 0.5
#define METRIC_MARGIN 1.0 /* standard errors of the gain on held-out rows */
#define EDGE_MARGIN 2.0   /* standard errors of the gain at the edge */
#define LARGEST_STEP 30.0 /* beyond the best ridge no larger one is looked for */
#define LEAST_RIDGE 1e-10
#define MOST_RIDGE 10.0
#define LEAST_BIAS 0.01
#define MOST_BIAS 3.0
#define MOST_WITHOUT_FACTOR 10000 /* rows, where all rows are too many for a factor */
#define LARGER_SUBSET 4           /* the last word takes n / 4 rows: some 20% of the fit's time; */
#define LATER_ROWS 6000           /* or so many, where n is less than four times that */

static const double SCREEN_BIASES[] = {0.1, 0.4, 1.0};
static const double EDGE_BIASES[] = {0.1, 0.2, 0.4, 0.7, 1.0};
static const double EDGE_RIDGES[] = {1.0, 3.0}; /* times the structure's own */
static const double SCREEN_RIDGES[] = {1e-8, 1e-5, 1e-3, 1e-2, 1e-1};
#define COUNT(array) ((int64_t)(sizeof(array) / sizeof((array)[0])))

/* %B stands for the bias. */
static const char *const STRUCTURES[] = {
    "dense(%B) ln relu dense(%B)",
    "dense(%B) ln relu dense(%B) relu dense(%B)",
    "dense(%B) relu dense(%B) ln relu dense(%B)",
    "[dense(%B) ln relu]x2 dense(%B)",
    "dense(%B) ln relu [dense(%B) relu]x2 dense(%B)",
    "[dense(%B) relu]x2 dense(%B) ln relu dense(%B)",
    "[dense(%B) ln relu]x3 dense(%B)",
    "[dense(%B) relu]x3 dense(%B) ln relu dense(%B)",
    "dense(%B) relu ln dense(%B) relu dense(%B)",
    "dense(%B) ln abs dense(%B) relu dense(%B)",
    "dense(%B) ln gelu dense(%B) gelu dense(%B)",
    "dense(%B) ln erf dense(%B) erf dense(%B)",
    "dense(%B) relu dense(%B)",
    "dense(%B) relu dense(%B) relu dense(%B)",
    "dense(%B)",
};

enum { MOST_TRIALS = sizeof STRUCTURES / sizeof STRUCTURES[0] + FAR_METRIC_TRIALS };
enum { PLAIN_CONTESTANTS = 3 };

double far_score_loss(const far_search *s, far_score v)
{
    bool classes = s->model->info.task == FAR_TASK_CLASSIFY;
    return s->opts->criterion == FAR_CRITERION_LIKELIHOOD ? -v.likelihood
           : classes                                      ? v.log_loss
                                                          : v.loo;
}

static bool chooses_network(const far_fit_opts *o)
{
    return !o->arch || strcmp(o->arch, "auto") == 0;
}

/* One that was asked for, or that may be chosen with the network. */
static bool wants_metric(const far_fit_opts *o)
{
    bool judged = o->criterion == FAR_CRITERION_LOO && chooses_network(o);
    return o->metric == FAR_METRIC_AUTO ? judged : o->metric != FAR_METRIC_NONE;
}

bool far_trial_eligible(const far_search *s, const far_trial *t)
{
    return t->bounded || !t->structure || s->opts->allow_unbounded; /* what is given is */
}

void far_trial_clear(far_ctx *ctx, far_trial *t)
{
    far_kernel_destroy(t->kernel);
    far_kernel_destroy(t->teacher);
    FAR_FREE_ALL(ctx, t->edge, t->fold, t->fold_miss, t->late, t->late_miss);
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

static far_status make_kernel(far_search *s, const char *structure, double bias, far_kernel **out)
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
    return make_kernel(s, t->structure ? t->structure : far_kernel_text(t->kernel), bias, out);
}

far_status far_trial_bounded(far_search *s, far_trial *t)
{
    far_supremum sup;
    far_status st = far_kernel_supremum(s->ctx, t->kernel, s->model->info.inputs, &sup);
    t->bounded = st == FAR_OK && sup.bounded;
    return st == FAR_ERR_ARCH ? FAR_OK : st; /* not known to be bounded */
}

static far_status replace_kernel(far_search *s, far_trial *t, double bias)
{
    far_kernel *k;
    far_status st = make_kernel(s, t->structure, bias, &k);
    if (st == FAR_OK) {
        far_kernel_destroy(t->kernel);
        t->kernel = k;
        t->bias = bias;
    }
    return st;
}

/* ---- the coarse grid ----------------------------------------------------------------------- */

static far_status screen_ridges(far_search *s, const far_kernel *k, double bias, int64_t rows,
                                far_trial *best)
{
    bool fixed = !isnan(s->fixed_ridge);
    const double *ridges = fixed ? &s->fixed_ridge : SCREEN_RIDGES;
    int64_t count = fixed ? 1 : COUNT(SCREEN_RIDGES);
    far_score scores[COUNT(SCREEN_RIDGES)];
    far_status st = far_score_ridges(s, k, ridges, count, rows, scores);
    for (int64_t i = 0; st == FAR_OK && i < count; i++) {
        if (far_score_loss(s, scores[i]) < far_score_loss(s, best->score)) {
            best->score = scores[i];
            best->ridge = ridges[i];
            best->bias = bias;
        }
    }
    return st;
}

static int64_t screen_rows(const far_search *s)
{
    return s->rows < SCREEN_ROWS ? s->rows : SCREEN_ROWS;
}

static far_status screen(far_search *s, const char *structure, far_trial *out)
{
    far_status st = FAR_OK;
    *out =
        (far_trial){.structure = structure, .bias = SCREEN_BIASES[0], .score = far_score_worst()};
    out->ridge = isnan(s->fixed_ridge) ? SCREEN_RIDGES[3] : s->fixed_ridge;
    for (int64_t i = 0; st == FAR_OK && i < COUNT(SCREEN_BIASES); i++) {
        far_kernel *k = NULL;
        st = make_kernel(s, structure, SCREEN_BIASES[i], &k);
        if (st == FAR_OK) {
            st = screen_ridges(s, k, SCREEN_BIASES[i], screen_rows(s), out);
        }
        far_kernel_destroy(k);
    }
    if (st == FAR_OK) {
        st = replace_kernel(s, out, out->bias);
    }
    return st == FAR_OK ? far_trial_bounded(s, out) : st;
}

/* ---- the continuous far_search -----------------------------------------------------------------
 */

typedef struct refinement {
    far_search *s;
    far_trial *best;
    nlopt_opt nlopt;
    int64_t rows;
} refinement;

/* x is log ridge, log bias; either may be missing. */
static double objective(unsigned count, const double *x, double *gradient, void *data)
{
    refinement *r = data;
    far_search *s = r->s;
    bool free_ridge = isnan(s->fixed_ridge);
    double ridge = free_ridge ? exp(x[0]) : s->fixed_ridge;
    bool free_bias = count == (free_ridge ? 2u : 1u);
    far_kernel *k = NULL;
    far_score v = far_score_worst();
    (void)gradient;
    if (s->status == FAR_OK && free_bias) {
        s->status = make_kernel(s, r->best->structure, exp(x[count - 1]), &k);
    }
    if (s->status == FAR_OK) {
        s->status = far_score_evaluate(s, k ? k : r->best->kernel, ridge, r->rows, &v);
    }
    if (s->status == FAR_OK && far_score_loss(s, v) < far_score_loss(s, r->best->score)) {
        r->best->score = v;
        r->best->ridge = ridge;
        if (k) {
            far_kernel_destroy(r->best->kernel);
            r->best->kernel = k;
            r->best->bias = exp(x[count - 1]);
            k = NULL;
        }
    }
    far_kernel_destroy(k);
    if (s->status != FAR_OK) {
        nlopt_force_stop(r->nlopt);
    }
    double value = far_score_loss(s, v);
    return isfinite(value) ? value : 1e30;
}

static far_status run_nlopt(refinement *r, unsigned count, double *x, const double *low,
                            const double *high, int evals)
{
    bool last = count == 2 && evals <= LAST_EVALS; /* fewer rows have refined it already */
    double step[2] = {last ? 0.7 : 1.5, last ? 0.3 : 0.7}, least;
    r->nlopt = nlopt_create(NLOPT_LN_SBPLX, count);
    if (!r->nlopt) {
        return far_fail(r->s->ctx, FAR_ERR_MEMORY, "out of memory choosing the ridge");
    }
    nlopt_set_min_objective(r->nlopt, objective, r);
    nlopt_set_lower_bounds(r->nlopt, low);
    nlopt_set_upper_bounds(r->nlopt, high);
    nlopt_set_initial_step(r->nlopt, step);
    nlopt_set_maxeval(r->nlopt, evals);
    nlopt_set_xtol_abs1(r->nlopt, 0.05);
    nlopt_optimize(r->nlopt, x, &least); /* the best point is kept by the objective */
    nlopt_destroy(r->nlopt);
    return r->s->status;
}

static double clamp(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

/* Improves a trial on the first rows of the subset. */
static far_status refine(far_search *s, far_trial *t, int64_t rows, bool free_bias, int evals)
{
    bool free_ridge = isnan(s->fixed_ridge);
    double x[2], low[2], high[2];
    unsigned count = 0;
    refinement r = {.s = s, .best = t, .rows = rows};
    if (free_ridge) {
        x[count] = log(clamp(t->ridge, LEAST_RIDGE, MOST_RIDGE));
        low[count] = log(LEAST_RIDGE);
        high[count++] = log(MOST_RIDGE);
    }
    if (free_bias) {
        x[count] = log(t->bias);
        low[count] = log(LEAST_BIAS);
        high[count++] = log(MOST_BIAS);
    }
    far_status st = far_score_evaluate(s, t->kernel, t->ridge, rows, &t->score);
    return st != FAR_OK || count == 0 ? st : run_nlopt(&r, count, x, low, high, evals);
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

/* Different rows in random order: a copy of a row must not vouch for it. Rows with the same inputs
 * and different targets stay: they tell how much noise there is. */
static far_status distinct_rows(far_ctx *ctx, const far_model *m, uint64_t seed, int64_t **index,
                                int64_t *count)
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
        if (original[i] == i) {
            (*index)[(*count)++] = i;
        }
    }
    far_random_shuffle(seed, *index, *count);
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

static int64_t largest_subset(const far_search *s)
{
    const far_model_info *i = &s->model->info;
    int64_t larger = isnan(s->fixed_ridge) ? larger_subset(i->method, i->rows) : 0;
    return larger > s->opts->subset ? larger : s->opts->subset;
}

static far_status take_subset(far_search *s)
{
    far_status st;
    const far_model *m = s->model;
    int64_t *index = NULL, distinct, d = m->info.inputs, p = m->info.outputs;
    FAR_TRY(distinct_rows(s->ctx, m, s->opts->seed, &index, &distinct));
    int64_t take = largest_subset(s) < distinct ? largest_subset(s) : distinct;
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

/* ---- how long it takes ---- */

#define SCORE_COST 2.5 /* factor, inverse and solution, in factors */

static far_status add_seconds(far_ctx *ctx, int64_t rows, int64_t evals, double *seconds)
{
    far_solve_opts o;
    far_estimate e;
    far_solve_opts_init(&o);
    o.extremes = 0;
    far_status st = far_solve_estimate(ctx, rows > 0 ? rows : 1, &o, &e);
    if (st == FAR_OK) {
        *seconds += SCORE_COST * (double)evals * e.seconds;
    }
    return st;
}

far_status far_select_seconds(far_ctx *ctx, const far_fit_opts *o, far_method method, int64_t n,
                              double *seconds)
{
    far_status st = FAR_OK;
    bool any = chooses_network(o), free_ridge = isnan(o->ridge);
    int64_t ridges = free_ridge ? COUNT(SCREEN_RIDGES) : 1, subset = far_least(n, o->subset);
    *seconds = 0;
    if (any) {
        int64_t screened = COUNT(STRUCTURES) * COUNT(SCREEN_BIASES) * ridges;
        int64_t edges = COUNT(STRUCTURES) + CONTESTED * COUNT(EDGE_BIASES) * COUNT(EDGE_RIDGES);
        int64_t whole = COUNT(STRUCTURES) + 2 * LAST_EVALS + edges / 2;
        FAR_TRY(add_seconds(ctx, far_least(subset, SCREEN_ROWS), screened, seconds));
        FAR_TRY(add_seconds(ctx, far_least(subset, MIDDLE_ROWS), (FINALISTS + 1) * REFINE_EVALS,
                            seconds));
        FAR_TRY(add_seconds(ctx, subset, whole, seconds));
    } else if (free_ridge) {
        FAR_TRY(add_seconds(ctx, subset, REFINE_EVALS / 2, seconds));
    }
    if (wants_metric(o)) {
        double rows, evals = far_metric_evaluations(o, subset, &rows);
        FAR_TRY(add_seconds(ctx, (int64_t)rows, (int64_t)evals, seconds));
    }
    if (free_ridge && larger_subset(method, n) > subset) {
        int64_t larger = larger_subset(method, n);
        int64_t evals = o->criterion == FAR_CRITERION_LOO ? far_contest_evaluations()
                                                          : RIDGE_EVALS + RIDGE_STEPS + 1;
        FAR_TRY(add_seconds(ctx, larger, evals, seconds));
    }
done:
    return st;
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

/* The best of those that are eligible, or of the others; -1: there is none. */
static int64_t best_trial(const far_search *s, const far_trial *trials, int64_t count, bool wanted,
                          const bool *taken)
{
    int64_t best = -1;
    for (int64_t i = 0; i < count; i++) {
        bool counts = far_trial_eligible(s, &trials[i]) == wanted && !(taken && taken[i]);
        if (counts && (best < 0 || far_score_loss(s, trials[i].score) <
                                       far_score_loss(s, trials[best].score))) {
            best = i;
        }
    }
    return best;
}

/* The best structures and the best that is not eligible get the continuous search on some of the
 * rows. */
static far_status refine_finalists(far_search *s, far_trial *trials, int64_t count)
{
    far_status st = FAR_OK;
    bool finalist[COUNT(STRUCTURES)] = {false};
    for (int i = 0; i <= FINALISTS; i++) {
        int64_t t = best_trial(s, trials, count, i < FINALISTS, finalist);
        if (t >= 0) {
            finalist[t] = true;
        }
    }
    for (int64_t i = 0; st == FAR_OK && i < count; i++) {
        if (finalist[i]) {
            st = refine(s, &trials[i], far_least(s->rows, MIDDLE_ROWS), true, REFINE_EVALS);
        }
    }
    return st;
}

/* Every structure on the whole subset, so that the table compares like with like; the best two are
 * refined there once more. */
static far_status refine_best(far_search *s, far_trial *trials, int64_t count)
{
    far_status st = FAR_OK;
    bool taken[COUNT(STRUCTURES)] = {false};
    for (int64_t i = 0; st == FAR_OK && i < count; i++) {
        st = far_score_evaluate(s, trials[i].kernel, trials[i].ridge, s->rows, &trials[i].score);
    }
    for (int i = 0; st == FAR_OK && s->rows > MIDDLE_ROWS && i < 2; i++) {
        int64_t t = best_trial(s, trials, count, true, taken);
        if (t >= 0) {
            taken[t] = true;
            st = refine(s, &trials[t], s->rows, true, LAST_EVALS);
        }
    }
    return st;
}

/* ---- the edge ------------------------------------------------------------------------------ */

static far_status look_at_edge(far_search *s, far_trial *t)
{
    far_status st;
    if (!t->edge) {
        FAR_TRY(far_alloc(s->ctx, s->edge.outer, &t->edge));
    }
    FAR_TRY(far_edge_evaluate(s, t->kernel, t->ridge, t->edge, &t->score));
done:
    return st;
}

/* Takes over what other is; other is left with what can be destroyed. */
static void swap_trials(far_trial *t, far_trial *other)
{
    far_trial own = *t;
    *t = *other;
    *other = own;
}

/* Tries another bias and ridge of a structure; it becomes the challenger if it ties with the best
 * and does better at the edge than the challenger there is. */
static far_status contend(far_search *s, const far_trial *t, double bias, double ridge,
                          double limit, far_trial *challenger)
{
    far_status st;
    far_trial other = *t;
    other.kernel = NULL;
    other.edge = NULL;
    other.bias = bias;
    other.ridge = ridge;
    FAR_TRY(make_kernel(s, t->structure, bias, &other.kernel));
    FAR_TRY(look_at_edge(s, &other)); /* half as dear as leave-one-out */
    double edge = other.score.edge, edge_loss = other.score.edge_loss;
    if (edge_loss < challenger->score.edge_loss) {
        FAR_TRY(far_score_evaluate(s, other.kernel, ridge, s->rows, &other.score));
        other.score.edge = edge;
        other.score.edge_loss = edge_loss;
        if (far_score_loss(s, other.score) <= limit) {
            swap_trials(challenger, &other);
        }
    }
done:
    far_trial_clear(s->ctx, &other);
    return st;
}

static far_status contend_all(far_search *s, const far_trial *t, double limit,
                              far_trial *challenger)
{
    far_status st = FAR_OK;
    int64_t ridges = isnan(s->fixed_ridge) ? COUNT(EDGE_RIDGES) : 1;
    FAR_TRY(contend(s, t, t->bias, t->ridge, limit, challenger));
    for (int64_t b = 0; b < COUNT(EDGE_BIASES); b++) {
        for (int64_t r = 0; r < ridges; r++) {
            FAR_TRY(contend(s, t, EDGE_BIASES[b], t->ridge * EDGE_RIDGES[r], limit, challenger));
        }
    }
done:
    return st;
}

/* The challenger takes the place of its structure, which is chosen, if it does better at the edge
 * than what was chosen by more than chance: each row there is predicted by both. */
static void judge_challenger(far_search *s, far_trial *trials, int64_t count, far_trial *challenger,
                             int64_t *chosen)
{
    double error, gain;
    if (!challenger->edge) {
        return;
    }
    gain = far_paired_gain(trials[*chosen].edge, challenger->edge, s->edge.outer, &error);
    if (!(gain > EDGE_MARGIN * error)) {
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        if (trials[i].structure == challenger->structure) {
            swap_trials(&trials[i], challenger);
            *chosen = i;
            return;
        }
    }
}

/* Of those that leave-one-out likes as well as that, the one that predicts the edge best. */
static int64_t best_at_edge(const far_search *s, const far_trial *trials, int64_t count,
                            double limit, const bool *tried)
{
    int64_t best = -1;
    for (int64_t i = 0; i < count; i++) {
        bool tied = far_trial_eligible(s, &trials[i]) &&
                    far_score_loss(s, trials[i].score) <= limit && !tried[i];
        if (tied && (best < 0 || trials[i].score.edge_loss < trials[best].score.edge_loss)) {
            best = i;
        }
    }
    return best;
}

/* Networks that leave-one-out cannot tell from the best are told apart at the edge. */
static far_status settle_at_edge(far_search *s, far_trial *trials, int64_t count, int64_t *chosen)
{
    far_status st;
    far_trial challenger = {.score = far_score_worst()};
    const far_score best = trials[*chosen].score;
    bool tried[COUNT(STRUCTURES)] = {false};
    double limit = far_score_loss(s, best) + TIED_NETWORKS * best.doubt;
    FAR_TRY(far_edge_find(s));
    if (s->edge.outer == 0) {
        return FAR_OK;
    }
    for (int64_t i = 0; i < count; i++) {
        FAR_TRY(look_at_edge(s, &trials[i]));
    }
    for (int i = 0; i < CONTESTED; i++) {
        int64_t next = best_at_edge(s, trials, count, limit, tried);
        if (next >= 0) {
            tried[next] = true;
            FAR_TRY(contend_all(s, &trials[next], limit, &challenger));
        }
    }
    judge_challenger(s, trials, count, &challenger, chosen);
done:
    far_trial_clear(s->ctx, &challenger);
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
    int64_t larger = s->taken;
    if (!isnan(s->fixed_ridge) || larger <= s->rows) {
        return FAR_OK;
    }
    if (t->late) {
        t->ridge = t->late_ridge;
        return FAR_OK;
    }
    far_trial copy = *t; /* the scores of the table stay those of the subset */
    far_status st = refine(s, &copy, larger, false, RIDGE_EVALS);
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

/* By how much leave-one-out squared errors behind the metric are too small: what folds say of it
 * over what they say without one, both relative to leave-one-out. Only the rows that the metric was
 * learnt from are concerned. */
static far_status measure_optimism(far_search *s, const far_trial *plain, const far_trial *t,
                                   double *out)
{
    far_score v;
    far_status st;
    s->seen = 0;
    st = far_score_evaluate(s, t->kernel, t->ridge, s->rows, &v);
    s->seen = s->rows;
    double without = fmax(plain->fold_square / plain->score.loo, 1);
    double factor = t->fold_square / v.loo / without;
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
        int64_t next = best_trial(s, trials, count, true, judged);
        if (next >= 0) {
            judged[next] = true;
        }
    }
}

static far_status choose_metric(far_search *s, far_trial *trials, int64_t *count, int64_t *chosen)
{
    far_status st;
    bool judged[COUNT(STRUCTURES)] = {false};
    bool asked = wants_metric(s->opts) && s->opts->metric != FAR_METRIC_AUTO;
    int64_t found, least = asked ? LEAST_ROWS : LEAST_ROWS_OF_AUTO;
    bool judge = wants_metric(s->opts) || s->committee != 1 || (s->others && s->others->judge);
    if (!judge || (!asked && s->rows < least)) {
        return FAR_OK;
    }
    if (s->rows < least) {
        return far_fail(s->ctx, FAR_ERR_ARG,
                        "a metric is learnt from %lld different rows or more, and there are %lld; "
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
    s->plain = *chosen;
    *chosen = wins ? *count : *chosen;
    *count += found;
done:
    return st;
}

/* ---- the choice ---------------------------------------------------------------------------- */

/* What t becomes: its metric learnt from the whole subset, its ridge after a last look. The subset
 * is left as it was. */
static far_status settle(far_search *s, const far_trial *plain, far_trial *t, far_pick *out)
{
    far_status st;
    double *x = NULL;
    size_t size = (size_t)(s->taken * s->model->info.inputs) * sizeof *x;
    *out = (far_pick){0};
    if (t->recipe.rounds > 0) {
        FAR_TRY(far_alloc(s->ctx, s->taken * s->model->info.inputs, &x));
        memcpy(x, s->x, size);
        FAR_TRY(take_metric(s, t, &out->metric));
        FAR_TRY(measure_optimism(s, plain, t, &out->optimism));
    }
    FAR_TRY(larger_ridge(s, t));
    out->ridge = t->ridge;
    out->kernel = t->kernel;
    t->kernel = NULL;
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
static int64_t pick_contestants(const far_search *s, far_trial *trials, int64_t count,
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
        int64_t next = best_trial(s, trials, count, true, taken);
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

/* The best in the contest, if it beats the one that was chosen on the subset, which may have been
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
                                far_paired_gain(trials[chosen].late, trials[best].late, s->contest,
                                                &error) > METRIC_MARGIN * error);
    return beaten ? best : chosen;
}

static far_status contest(far_search *s, far_trial *trials, int64_t count, int64_t *chosen)
{
    far_trial *contestants[MOST_TRIALS];
    if (far_contest_rows(s) == 0) {
        return FAR_OK;
    }
    far_status st =
        far_contest_hold(s, contestants, pick_contestants(s, trials, count, *chosen, contestants));
    *chosen = st == FAR_OK ? winner_of(s, trials, count, *chosen) : *chosen;
    return st;
}

static far_status conclude(far_search *s, far_trial *trials, int64_t count, int64_t chosen)
{
    far_status st;
    int64_t members[FAR_MOST_MEMBERS] = {0}, size = 1;
    far_pick first = {0};
    bool any = s->committee == 0;
    FAR_TRY(contest(s, trials, count, &chosen));
    FAR_TRY(far_committee_choose(s, trials, count, chosen, any ? MOST_OF_AUTO : s->committee, !any,
                                 members, &size, &s->model->fold_loss));
    if (size > 1) {
        FAR_TRY(far_alloc(s->ctx, size, &s->others->items));
    }
    for (int64_t k = 0; k < size; k++) {
        far_trial *t = &trials[members[k]];
        FAR_TRY(t->recipe.rounds > 0 ? far_edge_behind(s, t) : FAR_OK);
    }
    FAR_TRY(keep_candidates(s, trials, count, members, size));
    FAR_TRY(settle(s, &trials[s->plain], &trials[members[0]], &first));
    FAR_TRY(take_choice(s, &first));
    for (int64_t k = 1; k < size; k++) {
        s->others->count = k;
        FAR_TRY(settle(s, &trials[s->plain], &trials[members[k]], &s->others->items[k - 1]));
    }
done:
    far_kernel_destroy(first.kernel);
    far_metric_clear(s->ctx, &first.metric);
    return st;
}

static far_status choose_architecture(far_search *s)
{
    far_status st = FAR_OK;
    far_trial trials[COUNT(STRUCTURES) + FAR_METRIC_TRIALS] = {0};
    int64_t count = COUNT(STRUCTURES);
    int64_t contested = CONTESTED * COUNT(EDGE_BIASES) * COUNT(EDGE_RIDGES);
    s->least_evals = count * COUNT(SCREEN_BIASES) * COUNT(SCREEN_RIDGES) +
                     (FINALISTS + 1) * REFINE_EVALS + count + contested;
    for (int64_t i = 0; i < count; i++) {
        FAR_TRY(screen(s, STRUCTURES[i], &trials[i]));
    }
    FAR_TRY(refine_finalists(s, trials, count));
    FAR_TRY(refine_best(s, trials, count));
    int64_t chosen = best_trial(s, trials, count, true, NULL);
    if (s->opts->criterion == FAR_CRITERION_LOO && s->rows >= EDGE_LEAST_ROWS) {
        FAR_TRY(settle_at_edge(s, trials, count, &chosen));
    }
    FAR_TRY(choose_metric(s, trials, &count, &chosen));
    FAR_TRY(conclude(s, trials, count, chosen));
done:
    for (int64_t i = 0; i < COUNT(STRUCTURES) + FAR_METRIC_TRIALS; i++) {
        far_trial_clear(s->ctx, &trials[i]);
    }
    return st;
}

/* Of a network that is given: its ridge, unless given too, and the metric in front of it. */
static far_status choose_for_given(far_search *s)
{
    far_status st;
    far_trial trials[1 + FAR_METRIC_TRIALS] = {
        {.ridge = SCREEN_RIDGES[3], .score = far_score_worst()}};
    int64_t count = 1, chosen = 0;
    s->least_evals = COUNT(SCREEN_RIDGES) + REFINE_EVALS / 2;
    trials[0].kernel = s->model->kernel;
    s->model->kernel = NULL;
    FAR_TRY(far_trial_bounded(s, &trials[0]));
    FAR_TRY(screen_ridges(s, trials[0].kernel, 0, screen_rows(s), &trials[0]));
    FAR_TRY(refine(s, &trials[0], s->rows, false, REFINE_EVALS / 2));
    FAR_TRY(choose_metric(s, trials, &count, &chosen));
    FAR_TRY(conclude(s, trials, count, chosen));
done:
    for (int64_t i = 0; i < 1 + FAR_METRIC_TRIALS; i++) {
        far_trial_clear(s->ctx, &trials[i]);
    }
    return st;
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

far_status far_select(far_ctx *ctx, const far_fit_opts *o, far_model *m, double *ridge,
                      far_ridge_kind *ridge_kind, far_picks *others)
{
    far_status st = FAR_OK;
    far_search s = {.ctx = ctx, .opts = o, .model = m, .fixed_ridge = o->ridge, .others = others};
    s.memory = far_budget(o->memory);
    s.committee = committee_of(o, m, others);
    bool any = chooses_network(o);
    *ridge = o->ridge;
    *ridge_kind = isnan(o->ridge) ? FAR_RIDGE_RELATIVE : o->ridge_kind;
    if (any && *ridge_kind == FAR_RIDGE_ABSOLUTE) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "an absolute ridge has no meaning while the architecture, and with it the "
                        "size of the kernel, is being chosen; give a relative one or none");
    }
    if (any && o->param == FAR_PARAM_STANDARD) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "the networks to choose from have no widths, which the standard "
                        "parametrisation needs; give an architecture, or use `param` ntk");
    }
    if (!any) {
        FAR_TRY(given_kernel(ctx, o, m));
    }
    bool judge = s.committee != 1 || (others && others->judge);
    if (any || isnan(o->ridge) || wants_metric(o) || judge) {
        FAR_TRY(take_subset(&s));
        FAR_TRY(any ? FAR_OK : make_relative(&s, *ridge_kind));
        FAR_TRY(any ? choose_architecture(&s) : choose_for_given(&s));
        *ridge = isnan(o->ridge) ? s.chosen_ridge : o->ridge;
    }
    FAR_TRY(name_architecture(ctx, m));
done:
    far_edge_clear(ctx, &s.edge);
    far_free(ctx, s.x);
    far_free(ctx, s.y);
    return st;
}
