/*
 * Which of the networks that were tried predict best together: the mean of their predictions of the
 * rows held out, a member more at a time.
 *
 * The loss of a mean is never above the mean of the losses, and members that err in different
 * places take each other's errors away. So a tie between two networks, with a metric and without
 * one say, need not be decided.
 */
#include "select.h"

#include <math.h>
#include <string.h>

#define WORTH_A_MEMBER 0.998 /* of the loss before: every member costs as much as a fit */

typedef struct party {
    const far_search *s;
    double *sum; /* of the members: misses (rows x outputs), or of classes what they give the true
                    one (rows) */
    int64_t size;
} party;

static bool classes(const far_search *s)
{
    return s->model->info.task == FAR_TASK_CLASSIFY;
}

/* The rows held out, in validation or in the folds, and how t did. */
int64_t far_judged_rows(const far_search *s)
{
    return s->validated > 0 ? s->validated : s->rows;
}

static const double *losses_of(const far_search *s, const far_trial *t)
{
    return s->validated > 0 ? t->late : t->fold;
}

static const double *misses_of(const far_search *s, const far_trial *t)
{
    return s->validated > 0 ? t->late_miss : t->fold_miss;
}

static bool is_judged(const far_search *s, const far_trial *t)
{
    return losses_of(s, t) && isfinite(s->validated > 0 ? t->late_loss : t->fold_loss);
}

static void add_member(party *c, const far_trial *t)
{
    int64_t rows = far_judged_rows(c->s), p = c->s->model->info.outputs;
    for (int64_t i = 0; i < rows * (classes(c->s) ? 1 : p); i++) {
        c->sum[i] += classes(c->s) ? exp(-losses_of(c->s, t)[i]) : misses_of(c->s, t)[i];
    }
    c->size++;
}

/* The mean loss over the rows held out, were t a member too. */
static double loss_with(const party *c, const far_trial *t)
{
    int64_t rows = far_judged_rows(c->s), p = c->s->model->info.outputs;
    double members = (double)(c->size + 1);
    long double loss = 0;
    for (int64_t i = 0; classes(c->s) && i < rows; i++) {
        loss -= logl((c->sum[i] + expl(-losses_of(c->s, t)[i])) / members);
    }
    for (int64_t i = 0; !classes(c->s) && i < rows * p; i++) {
        long double miss = (c->sum[i] + (long double)misses_of(c->s, t)[i]) / members;
        loss += miss * miss / (long double)p;
    }
    return (double)(loss / (long double)rows);
}

static bool is_member(const int64_t *members, int64_t size, int64_t i)
{
    for (int64_t k = 0; k < size; k++) {
        if (members[k] == i) {
            return true;
        }
    }
    return false;
}

/* What the members lose together, row by row. */
static far_status losses_together(const party *c, double **out)
{
    int64_t rows = far_judged_rows(c->s), p = c->s->model->info.outputs;
    far_status st = far_alloc(c->s->ctx, rows, out);
    for (int64_t i = 0; st == FAR_OK && i < rows; i++) {
        for (int64_t j = i * p; !classes(c->s) && j < (i + 1) * p; j++) {
            (*out)[i] += pow(c->sum[j] / (double)c->size, 2) / (double)p;
        }
        if (classes(c->s)) {
            (*out)[i] = -log(c->sum[i] / (double)c->size);
        }
    }
    return st;
}

/* The one that helps most, and the loss with it; -1: there is none left. */
static int64_t best_addition(const party *c, const far_trial *trials, int64_t count,
                             const int64_t *members, double *loss)
{
    int64_t best = -1;
    for (int64_t i = 0; i < count; i++) {
        const far_trial *t = &trials[i];
        bool known = is_judged(c->s, t) && far_trial_eligible(c->s, t);
        double with = known && !is_member(members, c->size, i) ? loss_with(c, t) : INFINITY;
        if (with < INFINITY && (best < 0 || with < *loss)) {
            best = i;
            *loss = with;
        }
    }
    return best;
}

far_status far_committee_choose(const far_search *s, const far_trial *trials, int64_t count,
                                int64_t first, int64_t most, bool eager,
                                int64_t members[FAR_MOST_MEMBERS], int64_t *size, double *loss,
                                double **losses)
{
    party c = {.s = s};
    members[0] = first;
    *size = 1;
    *loss = INFINITY;
    if (!is_judged(s, &trials[first])) {
        return FAR_OK; /* there were no folds: too few rows */
    }
    far_status st = far_alloc(s->ctx, far_judged_rows(s) * s->model->info.outputs, &c.sum);
    if (st != FAR_OK) {
        return st;
    }
    double now = loss_with(&c, &trials[first]);
    add_member(&c, &trials[first]);
    while (c.size < far_least(most, FAR_MOST_MEMBERS)) {
        double with = INFINITY;
        int64_t next = best_addition(&c, trials, count, members, &with);
        if (next < 0 || (!eager && !(with < WORTH_A_MEMBER * now))) {
            break;
        }
        members[c.size] = next;
        add_member(&c, &trials[next]);
        now = with;
    }
    *size = c.size;
    *loss = now;
    st = losses_together(&c, losses);
    far_free(s->ctx, c.sum);
    return st;
}
