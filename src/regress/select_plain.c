/*
 * Networks without a metric: every structure on few rows over a coarse grid of biases and ridges,
 * the best ones refined continuously on more of them, those that leave-one-out cannot tell apart
 * told apart at the edge. Trials do not depend on each other and run side by side.
 */
#include "select.h"

#include <math.h>
#include <nlopt.h>
#include <stdlib.h>
#include <string.h>

enum {
    SCREEN_ROWS = 500,
    MIDDLE_ROWS = 1000,
    FINALISTS = 3,
    LAST = 2,
    CHALLENGED = 4,
    OF_A_RIVAL = 6,
    FINALISTS_OF_A_RIVAL = 2
};
enum { REFINE_EVALS = 14, LAST_EVALS = 6, EDGE_LEAST_ROWS = 50 };
#define TIED_NETWORKS 1.0 /* standard errors of leave-one-out */
#define EDGE_MARGIN 2.0   /* standard errors of the gain at the edge */
#define HOPELESS 1.2      /* times the loss of its rival on few rows: a rival gives up */
#define LEAST_RIDGE 1e-10
#define MOST_RIDGE 10.0
#define LEAST_BIAS 0.01
#define MOST_BIAS 3.0

static const double SCREEN_BIASES[] = {0.1, 0.4, 1.0};
static const double EDGE_BIASES[] = {0.1, 0.2, 0.4, 0.7, 1.0};
static const double EDGE_RIDGES[] = {1.0, 3.0}; /* times the structure's own */
static const double SCREEN_RIDGES[] = {1e-8, 1e-5, 1e-3, 1e-2, 1e-1};
#define COUNT(array) ((int64_t)(sizeof(array) / sizeof((array)[0])))
enum { BIASES = COUNT(SCREEN_BIASES), RIDGES = COUNT(SCREEN_RIDGES) };

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
    "[dense(%B) relu]x6 dense(%B) ln relu dense(%B)",
    "dense(%B) relu ln dense(%B) relu dense(%B)",
    "dense(%B) ln abs dense(%B) relu dense(%B)",
    "dense(%B) ln gelu dense(%B) gelu dense(%B)",
    "dense(%B) ln erf dense(%B) erf dense(%B)",
    "dense(%B) relu dense(%B)",
    "dense(%B) relu dense(%B) relu dense(%B)",
    "dense(%B)",
};
_Static_assert(sizeof STRUCTURES / sizeof STRUCTURES[0] == FAR_PLAIN_TRIALS, "as select.h has it");

/* ---- the coarse grid ----------------------------------------------------------------------- */

/* Which of the ridges are tried. */
static int64_t screen_ridges(const far_search *s, const double **ridges)
{
    bool fixed = !isnan(s->fixed_ridge);
    *ridges = fixed ? &s->fixed_ridge : SCREEN_RIDGES;
    return fixed ? 1 : RIDGES;
}

static int64_t screen_rows(const far_search *s)
{
    return far_least(s->rows, SCREEN_ROWS);
}

/* Takes over what is better than what t has. */
static void keep_best(const far_search *s, const far_score *scores, double bias, far_trial *t)
{
    const double *ridges;
    int64_t count = screen_ridges(s, &ridges);
    for (int64_t i = 0; i < count; i++) {
        if (far_score_loss(s, scores[i]) < far_score_loss(s, t->score)) {
            t->score = scores[i];
            t->ridge = ridges[i];
            t->bias = bias;
        }
    }
}

far_status far_trial_screen(far_search *s, far_trial *t)
{
    far_score scores[RIDGES];
    const double *ridges;
    int64_t count = screen_ridges(s, &ridges);
    far_status st = far_score_ridges(s, t->kernel, ridges, count, screen_rows(s), scores);
    if (st == FAR_OK) {
        keep_best(s, scores, 0, t);
    }
    return st;
}

/* One structure with one bias, at every ridge. */
static far_status screen_job(far_search *s, void *data, int64_t i)
{
    far_score *scores = (far_score *)data + i * RIDGES;
    far_kernel *k = NULL;
    const double *ridges;
    int64_t count = screen_ridges(s, &ridges);
    far_status st = far_structure_kernel(s, STRUCTURES[i / BIASES], SCREEN_BIASES[i % BIASES], &k);
    if (st == FAR_OK) {
        st = far_score_ridges(s, k, ridges, count, screen_rows(s), scores);
    }
    far_kernel_destroy(k);
    return st;
}

/* Of one structure the best bias and ridge. */
static far_status found_job(far_search *s, void *data, int64_t i)
{
    far_trial *t = (far_trial *)data + i;
    far_status st = far_structure_kernel(s, t->structure, t->bias, &t->kernel);
    return st == FAR_OK ? far_trial_bounded(s, t) : st;
}

static far_status screen(far_search *s, far_trial *trials)
{
    far_status st;
    far_score *scores = NULL;
    FAR_TRY(far_alloc(s->ctx, FAR_PLAIN_TRIALS * BIASES * RIDGES, &scores));
    FAR_TRY(far_search_run(s, FAR_PLAIN_TRIALS * BIASES, screen_rows(s), screen_job, scores));
    for (int64_t i = 0; i < FAR_PLAIN_TRIALS; i++) {
        trials[i] = (far_trial){.structure = STRUCTURES[i],
                                .bias = SCREEN_BIASES[0],
                                .ridge = isnan(s->fixed_ridge) ? SCREEN_RIDGES[3] : s->fixed_ridge,
                                .score = far_score_worst()};
        for (int64_t b = 0; b < BIASES; b++) {
            keep_best(s, scores + (i * BIASES + b) * RIDGES, SCREEN_BIASES[b], &trials[i]);
        }
    }
    FAR_TRY(far_search_run(s, FAR_PLAIN_TRIALS, screen_rows(s), found_job, trials));
done:
    far_free(s->ctx, scores);
    return st;
}

/* ---- the continuous search ------------------------------------------------------------------- */

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
        s->status = far_structure_kernel(s, r->best->structure, exp(x[count - 1]), &k);
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

far_status far_trial_refine(far_search *s, far_trial *t, int64_t rows, bool free_bias, int evals)
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

int64_t far_trial_best(const far_search *s, const far_trial *trials, int64_t count, bool wanted,
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

/* Some of the trials, refined on so many rows. */
typedef struct refine_task {
    far_trial *trials[FINALISTS + 1];
    int64_t count, rows;
    int evals;
} refine_task;

static far_status refine_job(far_search *s, void *data, int64_t i)
{
    const refine_task *t = data;
    return far_trial_refine(s, t->trials[i], t->rows, true, t->evals);
}

/* The best structures and the best that is not eligible get the continuous search on some of the
 * rows. */
static far_status refine_finalists(far_search *s, far_trial *trials)
{
    bool finalist[FAR_PLAIN_TRIALS] = {false};
    refine_task task = {.rows = far_least(s->rows, MIDDLE_ROWS), .evals = REFINE_EVALS};
    for (int i = 0; i <= FINALISTS && (!s->rival || i < FINALISTS_OF_A_RIVAL); i++) {
        int64_t t = far_trial_best(s, trials, FAR_PLAIN_TRIALS, i < FINALISTS, finalist);
        if (t >= 0) {
            finalist[t] = true;
            task.trials[task.count++] = &trials[t];
        }
    }
    return far_search_run(s, task.count, task.rows, refine_job, &task);
}

static far_status score_job(far_search *s, void *data, int64_t i)
{
    far_trial *t = (far_trial *)data + i;
    return t->dropped ? FAR_OK : far_score_evaluate(s, t->kernel, t->ridge, s->rows, &t->score);
}

/* A rival is held to what it can win with: the best on few rows go on, the others are out. */
static void drop_others(const far_search *s, far_trial *trials)
{
    bool best[FAR_PLAIN_TRIALS] = {false};
    for (int i = 0; i < OF_A_RIVAL; i++) {
        int64_t t = far_trial_best(s, trials, FAR_PLAIN_TRIALS, true, best);
        if (t >= 0) {
            best[t] = true;
        }
    }
    for (int64_t i = 0; i < FAR_PLAIN_TRIALS; i++) {
        trials[i].dropped = !best[i];
        trials[i].score = best[i] ? trials[i].score : far_score_worst();
    }
}

/* Every structure on the whole subset, so that the table compares like with like. */
static far_status score_all(far_search *s, far_trial *trials)
{
    return far_search_run(s, FAR_PLAIN_TRIALS, s->rows, score_job, trials);
}

/* The best two are refined there once more. */
static far_status refine_best(far_search *s, far_trial *trials)
{
    bool taken[FAR_PLAIN_TRIALS] = {false};
    refine_task task = {.rows = s->rows, .evals = LAST_EVALS};
    for (int i = 0; s->rows > MIDDLE_ROWS && i < (s->rival ? 1 : LAST); i++) {
        int64_t t = far_trial_best(s, trials, FAR_PLAIN_TRIALS, true, taken);
        if (t >= 0) {
            taken[t] = true;
            task.trials[task.count++] = &trials[t];
        }
    }
    return far_search_run(s, task.count, task.rows, refine_job, &task);
}

/* ---- the edge ------------------------------------------------------------------------------ */

static far_status edge_job(far_search *s, void *data, int64_t i)
{
    far_trial *t = (far_trial *)data + i;
    far_status st;
    if (t->dropped) {
        return FAR_OK;
    }
    FAR_TRY(far_alloc(s->ctx, s->edge.outer, &t->edge));
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

/* Other biases and ridges of the structures that tie with the best. */
typedef struct rivals {
    far_trial *items;
    int64_t count;
} rivals;

static void add_rival(rivals *r, const far_trial *t, double bias, double ridge)
{
    r->items[r->count++] = (far_trial){.structure = t->structure,
                                       .bias = bias,
                                       .ridge = ridge,
                                       .bounded = t->bounded,
                                       .score = far_score_worst()};
}

static void add_rivals(const far_search *s, const far_trial *t, rivals *r)
{
    int64_t ridges = isnan(s->fixed_ridge) ? COUNT(EDGE_RIDGES) : 1;
    add_rival(r, t, t->bias, t->ridge);
    for (int64_t b = 0; b < COUNT(EDGE_BIASES); b++) {
        for (int64_t k = 0; k < ridges; k++) {
            add_rival(r, t, EDGE_BIASES[b], t->ridge * EDGE_RIDGES[k]);
        }
    }
}

static far_status rival_job(far_search *s, void *data, int64_t i)
{
    far_trial *t = (far_trial *)data + i;
    far_status st = far_structure_kernel(s, t->structure, t->bias, &t->kernel);
    return st == FAR_OK ? edge_job(s, data, i) : st;
}

static int by_edge(const void *a, const void *b)
{
    double x = ((const far_trial *)a)->score.edge_loss, y = ((const far_trial *)b)->score.edge_loss;
    return (x > y) - (x < y);
}

/* Of those that leave-one-out likes as well as that, the one that predicts the edge best. */
static int64_t best_at_edge(const far_search *s, const far_trial *trials, double limit,
                            const bool *tried)
{
    int64_t best = -1;
    for (int64_t i = 0; i < FAR_PLAIN_TRIALS; i++) {
        bool tied = far_trial_eligible(s, &trials[i]) &&
                    far_score_loss(s, trials[i].score) <= limit && !tried[i];
        if (tied && (best < 0 || trials[i].score.edge_loss < trials[best].score.edge_loss)) {
            best = i;
        }
    }
    return best;
}

/* Does better at the edge than what was chosen by more than chance: each row there is predicted by
 * both. */
static bool wins_at_edge(const far_search *s, const far_trial *chosen, const far_trial *t)
{
    double error, gain = far_paired_gain(chosen->edge, t->edge, s->edge.outer, &error);
    return gain > EDGE_MARGIN * error;
}

/* The first of them, best at the edge first, that ties with the best in leave-one-out takes the
 * place of its structure, which is chosen. */
static far_status judge_rivals(far_search *s, rivals *r, double limit, far_trial *trials,
                               int64_t *chosen)
{
    far_status st = FAR_OK;
    for (int64_t i = 0; i < r->count; i++) {
        far_trial *t = &r->items[i];
        far_score at_edge = t->score;
        if (!wins_at_edge(s, &trials[*chosen], t)) {
            continue;
        }
        FAR_TRY(far_score_evaluate(s, t->kernel, t->ridge, s->rows, &t->score));
        t->score.edge = at_edge.edge;
        t->score.edge_loss = at_edge.edge_loss;
        for (int64_t k = 0; far_score_loss(s, t->score) <= limit && k < FAR_PLAIN_TRIALS; k++) {
            if (trials[k].structure == t->structure) {
                swap_trials(&trials[k], t);
                *chosen = k;
                return FAR_OK;
            }
        }
    }
done:
    return st;
}

static far_status challenge(far_search *s, far_trial *trials, double limit, int64_t *chosen)
{
    far_status st;
    bool tried[FAR_PLAIN_TRIALS] = {false};
    rivals r = {0};
    FAR_TRY(
        far_alloc(s->ctx, CHALLENGED * (COUNT(EDGE_BIASES) * COUNT(EDGE_RIDGES) + 1), &r.items));
    for (int i = 0; i < CHALLENGED; i++) {
        int64_t next = best_at_edge(s, trials, limit, tried);
        if (next >= 0) {
            tried[next] = true;
            add_rivals(s, &trials[next], &r);
        }
    }
    FAR_TRY(far_search_run(s, r.count, s->rows, rival_job, r.items));
    qsort(r.items, (size_t)r.count, sizeof *r.items, by_edge);
    FAR_TRY(judge_rivals(s, &r, limit, trials, chosen));
done:
    for (int64_t i = 0; i < r.count; i++) {
        far_trial_clear(s->ctx, &r.items[i]);
    }
    far_free(s->ctx, r.items);
    return st;
}

/* Networks that leave-one-out cannot tell from the best are told apart at the edge. */
static far_status settle_at_edge(far_search *s, far_trial *trials, int64_t *chosen)
{
    far_status st;
    const far_score best = trials[*chosen].score;
    double limit = far_score_loss(s, best) + TIED_NETWORKS * best.doubt;
    FAR_TRY(far_edge_find(s));
    if (s->edge.outer == 0) {
        return FAR_OK;
    }
    if (s->rival) { /* what it is compared by is enough */
        return edge_job(s, trials, *chosen);
    }
    FAR_TRY(far_search_run(s, FAR_PLAIN_TRIALS, s->rows, edge_job, trials));
    FAR_TRY(challenge(s, trials, limit, chosen));
done:
    return st;
}

/* ---- all of it ----------------------------------------------------------------------------- */

enum { SCREENED, REFINED, SCORED };

/* Notes the best loss after a stage; true: a rival need not go on. */
static bool falls_behind(far_search *s, const far_trial *trials, int stage)
{
    int64_t best = far_trial_best(s, trials, FAR_PLAIN_TRIALS, true, NULL);
    s->stages[stage] = far_score_loss(s, trials[best].score);
    s->hopeless = s->rival && !(s->stages[stage] <= HOPELESS * s->rival->stages[stage]);
    return s->hopeless;
}

far_status far_plain_search(far_search *s, far_trial *trials, int64_t *chosen)
{
    far_status st;
    int64_t challenged = CHALLENGED * COUNT(EDGE_BIASES) * COUNT(EDGE_RIDGES);
    s->least_evals = FAR_PLAIN_TRIALS * BIASES * RIDGES + (FINALISTS + 1) * REFINE_EVALS +
                     FAR_PLAIN_TRIALS + challenged;
    FAR_TRY(screen(s, trials));
    if (falls_behind(s, trials, SCREENED)) {
        return FAR_OK;
    }
    if (s->rival) {
        drop_others(s, trials);
    }
    FAR_TRY(refine_finalists(s, trials));
    if (falls_behind(s, trials, REFINED)) {
        return FAR_OK;
    }
    FAR_TRY(score_all(s, trials));
    if (falls_behind(s, trials, SCORED)) {
        return FAR_OK;
    }
    FAR_TRY(refine_best(s, trials));
    *chosen = far_trial_best(s, trials, FAR_PLAIN_TRIALS, true, NULL);
    if (s->opts->criterion == FAR_CRITERION_LOO && s->rows >= EDGE_LEAST_ROWS) {
        FAR_TRY(settle_at_edge(s, trials, chosen));
    }
done:
    return st;
}

/* ---- how long it takes ---- */

double far_plain_seconds(far_ctx *ctx, int64_t subset, bool free_ridge)
{
    int64_t screened = FAR_PLAIN_TRIALS * BIASES * (free_ridge ? RIDGES : 1);
    int64_t edges = FAR_PLAIN_TRIALS + CHALLENGED * COUNT(EDGE_BIASES) * COUNT(EDGE_RIDGES);
    int64_t whole = FAR_PLAIN_TRIALS + LAST * LAST_EVALS + edges / 2;
    return far_scores_seconds(ctx, far_least(subset, SCREEN_ROWS), screened) +
           far_scores_seconds(ctx, far_least(subset, MIDDLE_ROWS), (FINALISTS + 1) * REFINE_EVALS) +
           far_scores_seconds(ctx, subset, whole);
}
