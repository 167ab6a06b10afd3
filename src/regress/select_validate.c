/*
 * Validation: what was chosen on the subset is put to the test on more rows.
 *
 * What suits 2000 rows need not suit all. With more of them finer structure can be learnt, a metric
 * that sees the coarse one alone begins to cost, and the best ridge falls. So where there are more
 * rows, the best networks, each behind its metric, learn from three quarters of a larger subset and
 * predict the last quarter, which has had no say in anything before. Of very many rows the best of
 * these do so once more on half of all: what leads at an eighth may have learnt all it can.
 */
#include "select.h"

#include <math.h>
#include <string.h>

enum { CANDIDATES = 12, FINALISTS = 4, LAST_FINALISTS = 5, LEAST_HELD = 200, HELD_PART = 4 };
#define LEAST_RIDGE 1e-10
#define MOST_RIDGE 10.0
#define TIED_RIDGES 0.5 /* standard errors of the loss between two ridges */

static const double FIRST_RIDGES[] = {0.3};
static const double FURTHER_RIDGES[] = {0.03, 0.1, 1.0, 3.0}; /* times that of the subset */
static const double LAST_RIDGES[] = {1.0}; /* times that of the first validation */
enum { FIRST = 1, FURTHER = 4, ALL = FIRST + FURTHER };

/* One network at all ridges that it was tried with. */
typedef struct candidate {
    far_trial *trial;
    double ridge; /* what steps are times of */
    double ridges[ALL], means[ALL];
    double *losses, *misses; /* ALL x rows, ALL x rows x outputs */
    int64_t tried, best;
} candidate;

typedef struct validation {
    far_search *s;
    far_folds held; /* one fold: the last rows */
    candidate of[CANDIDATES];
    int64_t count;
} validation;

int64_t far_validation_rows(const far_search *s)
{
    int64_t held = far_least(s->later / HELD_PART, s->later - s->rows);
    bool loo = s->opts->criterion == FAR_CRITERION_LOO;
    return loo && isnan(s->fixed_ridge) && held >= LEAST_HELD ? held : 0;
}

/* A factor of three quarters of the rows is a sixth of a score of all of them. */
int64_t far_validation_evaluations(void)
{
    return (CANDIDATES * FIRST + FINALISTS * FURTHER) / 6;
}

/* Puts the rows behind the metric of a trial, learnt from the subset alone. */
static far_status put_behind(validation *c, const far_trial *t)
{
    far_status st;
    far_search *s = c->s;
    int64_t d = s->model->info.inputs, p = s->model->info.outputs;
    far_metric metric = {0};
    far_mat x = far_mat_view(s->x, s->rows, d, FAR_F64);
    far_mat y = far_mat_view(s->y, s->rows, p, FAR_F64);
    if (t->recipe.rounds == 0) {
        return far_folds_forget(s, &c->held);
    }
    FAR_TRY(far_recipe_learn(s, t->teacher, &t->recipe, &x, &y, &metric));
    FAR_TRY(far_fold_behind(s, &metric, &c->held.fold[0]));
done:
    return st;
}

static far_status try_ridges(validation *c, candidate *one, const double *steps, int64_t count)
{
    far_status st;
    double squares[ALL];
    int64_t rows = c->held.rows, p = c->s->model->info.outputs, first = one->tried;
    for (int64_t r = 0; r < count; r++) {
        one->ridges[first + r] = fmin(fmax(one->ridge * steps[r], LEAST_RIDGE), MOST_RIDGE);
    }
    FAR_TRY(put_behind(c, one->trial));
    FAR_TRY(far_folds_score(c->s, &c->held, one->trial->kernel, one->ridges + first, count,
                            one->misses + first * rows * p, one->losses + first * rows,
                            one->means + first, squares));
    one->tried += count;
    for (int64_t r = first; r < one->tried; r++) {
        one->best = one->means[r] < one->means[one->best] ? r : one->best;
    }
done:
    return st;
}

/* One more, at one ridge. */
static far_status enter(validation *c, far_trial *t, double ridge, const double *step)
{
    far_status st;
    candidate *one = &c->of[c->count++];
    int64_t rows = c->held.rows;
    one->trial = t;
    one->ridge = ridge;
    FAR_TRY(far_alloc(c->s->ctx, ALL * rows, &one->losses));
    FAR_TRY(far_alloc(c->s->ctx, ALL * rows * c->s->model->info.outputs, &one->misses));
    FAR_TRY(try_ridges(c, one, step, 1));
done:
    return st;
}

/* The best of those that have not been tried with all ridges. */
static candidate *best_left(validation *c)
{
    candidate *best = NULL;
    for (int64_t i = 0; i < c->count; i++) {
        candidate *one = &c->of[i];
        bool left = one->tried < ALL && isfinite(one->means[one->best]);
        if (left && (!best || one->means[one->best] < best->means[best->best])) {
            best = one;
        }
    }
    return best;
}

/* The largest ridge that predicts as well as the best one: it is the flatter one far away. */
static int64_t largest_tied(const validation *c, const candidate *one)
{
    int64_t chosen = one->best, rows = c->held.rows;
    for (int64_t r = 0; r < one->tried; r++) {
        double error, gain;
        if (one->ridges[r] <= one->ridges[chosen] || !isfinite(one->means[r])) {
            continue;
        }
        gain =
            far_paired_gain(one->losses + r * rows, one->losses + one->best * rows, rows, &error);
        chosen = gain <= TIED_RIDGES * error ? r : chosen;
    }
    return chosen;
}

static void forget(far_ctx *ctx, far_trial *t)
{
    FAR_FREE_ALL(ctx, t->late, t->late_miss);
    t->late = t->late_miss = NULL;
}

/* The trial remembers how it did. */
static far_status remember(validation *c, const candidate *one)
{
    far_status st;
    far_trial *t = one->trial;
    int64_t rows = c->held.rows, each = rows * c->s->model->info.outputs;
    int64_t chosen = largest_tied(c, one);
    if (!isfinite(one->means[chosen])) {
        return FAR_OK; /* singular at every ridge */
    }
    forget(c->s->ctx, t);
    FAR_TRY(far_alloc(c->s->ctx, rows, &t->late));
    FAR_TRY(far_alloc(c->s->ctx, each, &t->late_miss));
    memcpy(t->late, one->losses + chosen * rows, (size_t)rows * sizeof *t->late);
    memcpy(t->late_miss, one->misses + chosen * each, (size_t)each * sizeof *t->late_miss);
    t->late_loss = one->means[chosen];
    t->late_ridge = one->ridges[chosen];
    c->s->validated = rows;
done:
    return st;
}

static void close_validation(validation *c)
{
    for (int64_t i = 0; i < c->count; i++) {
        FAR_FREE_ALL(c->s->ctx, c->of[i].losses, c->of[i].misses);
    }
    far_folds_clear(c->s->ctx, &c->held);
}

/* ---- once more on all rows taken ------------------------------------------------------------ */

/* The first and the best others, best first; out: LAST_FINALISTS at most. */
static int64_t pick_last(const validation *c, const candidate **out)
{
    bool taken[CANDIDATES] = {true};
    int64_t count = 1;
    out[0] = &c->of[0];
    for (; count < LAST_FINALISTS; count++) {
        int64_t best = -1;
        for (int64_t i = 0; i < c->count; i++) {
            double loss = c->of[i].means[c->of[i].best];
            bool left = !taken[i] && isfinite(loss);
            best = left && (best < 0 || loss < c->of[best].means[c->of[best].best]) ? i : best;
        }
        if (best < 0) {
            break;
        }
        taken[best] = true;
        out[count] = &c->of[best];
    }
    return count;
}

static far_status validate_on_more(validation *before)
{
    far_status st;
    far_search *s = before->s;
    validation c = {.s = s};
    const candidate *best[LAST_FINALISTS];
    int64_t count = pick_last(before, best);
    FAR_TRY(far_folds_last(s, s->taken, s->taken / HELD_PART, &c.held));
    for (int64_t i = 0; i < before->count; i++) {
        forget(s->ctx, before->of[i].trial);
    }
    for (int64_t i = 0; i < count; i++) {
        double ridge = best[i]->ridges[largest_tied(before, best[i])];
        FAR_TRY(enter(&c, best[i]->trial, ridge, LAST_RIDGES));
        FAR_TRY(remember(&c, &c.of[i]));
    }
done:
    close_validation(&c);
    return st;
}

/* ---- all of it ------------------------------------------------------------------------------ */

far_status far_validate(far_search *s, far_trial *const *trials, int64_t count)
{
    far_status st;
    validation c = {.s = s};
    FAR_TRY(far_folds_last(s, s->later, far_validation_rows(s), &c.held));
    for (int64_t i = 0; i < far_least(count, CANDIDATES); i++) {
        FAR_TRY(enter(&c, trials[i], trials[i]->ridge, FIRST_RIDGES));
    }
    for (int64_t i = 0; i < FINALISTS; i++) {
        candidate *one = i == 0 ? &c.of[0] : best_left(&c);
        if (one) {
            FAR_TRY(try_ridges(&c, one, FURTHER_RIDGES, FURTHER));
            FAR_TRY(remember(&c, one));
        }
    }
    FAR_TRY(s->taken > s->later ? validate_on_more(&c) : FAR_OK);
done:
    close_validation(&c);
    return st;
}
