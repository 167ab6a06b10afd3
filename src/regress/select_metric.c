/*
 * Which metric, if any: kinds and powers climb round by round on few rows, held-out rows judging
 * every round; networks are then tried anew behind the best map of each kind, since what suits all
 * inputs need not suit the few that matter; the best of these climb again on the whole subset.
 */
#include "select.h"

#include <math.h>
#include <string.h>

enum { SCREEN_ROWS = 500, SCREEN_FOLDS = 2, TEACHERS = 3, PER_KIND = 2 };
enum { FEW_ROWS = 1000, FOLDS_OF_FEW = 5, FOLDS = 2 };
#define HOPELESS 1.1     /* times the best loss so far: no further round mends that */
#define OUT_OF_REACH 1.3 /* times the best loss on few rows: no row more mends that */
#define LEAST_RIDGE 1e-10
#define MOST_RIDGE 10.0
#define COARSE 10.0 /* steps between ridges */
#define FINE 3.0

static const double POWERS[] = {0.5, 1.0};
static const double BIASES[] = {0.1, 0.4, 1.0};
static const double CLOSER_BIASES[] = {0.5, 0.7, 1.4, 2.0}; /* times the bias that was found */
static const double RIDGES[] = {1e-8, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1};
#define COUNT(array) ((int64_t)(sizeof(array) / sizeof((array)[0])))

typedef struct hunt {
    far_search *s;
    far_folds folds;
    double *losses; /* COUNT(RIDGES) x rows */
    double *misses; /* the same, of each output */
} hunt;

static far_status hunt_open(hunt *h, far_search *s, int64_t rows, int64_t folds)
{
    far_status st;
    h->s = s;
    FAR_TRY(far_folds_make(s, rows, folds, &h->folds));
    FAR_TRY(far_alloc(s->ctx, COUNT(RIDGES) * rows, &h->losses));
    FAR_TRY(far_alloc(s->ctx, COUNT(RIDGES) * rows * s->model->info.outputs, &h->misses));
done:
    return st;
}

static void hunt_close(hunt *h)
{
    if (h->s) {
        FAR_FREE_ALL(h->s->ctx, h->losses, h->misses);
        far_folds_clear(h->s->ctx, &h->folds);
    }
}

/* ---- ridges -------------------------------------------------------------------------------- */

/* Takes over ridge and losses where they are better than what t has. */
static far_status try_ridges(hunt *h, const far_kernel *k, const double *ridges, int64_t count,
                             far_trial *t)
{
    double means[COUNT(RIDGES)], squares[COUNT(RIDGES)];
    int64_t best = 0, rows = h->folds.rows, each = rows * h->s->model->info.outputs;
    far_status st;
    FAR_TRY(
        far_folds_score(h->s, &h->folds, k, ridges, count, h->misses, h->losses, means, squares));
    for (int64_t r = 1; r < count; r++) {
        best = means[r] < means[best] ? r : best;
    }
    if (!t->fold) {
        FAR_TRY(far_alloc(h->s->ctx, rows, &t->fold));
        FAR_TRY(far_alloc(h->s->ctx, each, &t->fold_miss));
    }
    if (means[best] < t->fold_loss) {
        t->ridge = ridges[best];
        t->fold_loss = means[best];
        t->fold_square = squares[best];
        memcpy(t->fold, h->losses + best * rows, (size_t)rows * sizeof *t->fold);
        memcpy(t->fold_miss, h->misses + best * each, (size_t)each * sizeof *t->fold_miss);
    }
done:
    return st;
}

static far_status try_all_ridges(hunt *h, const far_kernel *k, far_trial *t)
{
    bool fixed = !isnan(h->s->fixed_ridge);
    return try_ridges(h, k, fixed ? &h->s->fixed_ridge : RIDGES, fixed ? 1 : COUNT(RIDGES), t);
}

static far_status try_ridges_near(hunt *h, const far_kernel *k, double ridge, double step,
                                  far_trial *t)
{
    double ridges[] = {ridge, fmax(ridge / step, LEAST_RIDGE), fmin(ridge * step, MOST_RIDGE)};
    return try_ridges(h, k, ridges, isnan(h->s->fixed_ridge) ? 3 : 1, t);
}

/* ---- rounds -------------------------------------------------------------------------------- */

/* Learns round after round from t's own kernel, and keeps in t what the best of them gave. ridge:
 * of the first fit, without a metric. */
static far_status climb(hunt *h, far_metric_kind kind, double power, double ridge, far_trial *t)
{
    far_status st = far_folds_forget(h->s, &h->folds);
    far_recipe path = {.kind = kind, .power = power};
    double best = INFINITY;
    far_trial now = {0};
    FAR_TRY(st);
    for (int64_t failed = 0; path.rounds < FAR_MOST_ROUNDS && failed < 2;) {
        path.ridges[path.rounds++] = ridge;
        st = far_folds_learn(h->s, &h->folds, t->kernel, ridge, kind, power);
        if (st == FAR_ERR_SINGULAR) {
            st = FAR_OK;
            break;
        }
        FAR_TRY(st);
        now.fold_loss = INFINITY;
        now.ridge = ridge;
        FAR_TRY(try_ridges_near(h, t->kernel, ridge, COARSE, &now));
        ridge = now.ridge;
        failed = now.fold_loss < best ? 0 : now.fold_loss > HOPELESS * best ? 2 : failed + 1;
        best = fmin(best, now.fold_loss);
        if (now.fold_loss < t->fold_loss) {
            double *room = t->fold, *miss = t->fold_miss;
            t->recipe = path;
            t->fold_loss = now.fold_loss;
            t->fold_square = now.fold_square;
            t->ridge = now.ridge;
            t->fold = now.fold;
            t->fold_miss = now.fold_miss;
            now.fold = room;
            now.fold_miss = miss;
        }
    }
done:
    FAR_FREE_ALL(h->s->ctx, now.fold, now.fold_miss);
    return st;
}

/* A network like t, with that bias, about which nothing is known yet. */
static far_status start_trial(hunt *h, const far_trial *t, double bias, far_trial *out)
{
    *out = (far_trial){.structure = t->structure,
                       .bias = bias,
                       .ridge = t->ridge,
                       .bounded = t->bounded,
                       .score = far_score_worst(),
                       .fold_loss = INFINITY};
    return far_trial_kernel(h->s, t, bias, &out->kernel);
}

static void keep_better(far_ctx *ctx, far_trial *best, far_trial *other)
{
    if (other->fold_loss < best->fold_loss) {
        far_trial worse = *best;
        *best = *other;
        *other = worse;
    }
    far_trial_clear(ctx, other);
}

/* ---- on few rows --------------------------------------------------------------------------- */

/* The best powers and rounds of a kind among those that these networks teach. */
static far_status best_of_kind(hunt *h, const far_trial *const *teachers, int64_t count,
                               far_metric_kind kind, far_trial *best)
{
    far_status st = FAR_OK;
    far_trial t = {0}, plain = {0};
    for (int64_t i = 0; i < count; i++) {
        FAR_TRY(start_trial(h, teachers[i], teachers[i]->bias, &plain));
        FAR_TRY(far_folds_forget(h->s, &h->folds));
        FAR_TRY(try_all_ridges(h, plain.kernel, &plain));
        for (int64_t p = 0; isfinite(plain.fold_loss) && p < COUNT(POWERS); p++) {
            FAR_TRY(start_trial(h, teachers[i], teachers[i]->bias, &t));
            FAR_TRY(climb(h, kind, POWERS[p], plain.ridge, &t));
            keep_better(h->s->ctx, best, &t);
        }
        far_trial_clear(h->s->ctx, &plain);
    }
done:
    far_trial_clear(h->s->ctx, &t);
    far_trial_clear(h->s->ctx, &plain);
    return st;
}

/* Puts t among the best, which are in order; one of them goes. One of each structure stays. */
static void rank_trial(far_ctx *ctx, far_trial *best, int64_t count, far_trial *t)
{
    int64_t last = count - 1;
    for (int64_t i = 0; i < count; i++) {
        if (best[i].structure == t->structure && best[i].kernel) {
            last = i;
            break;
        }
    }
    keep_better(ctx, &best[last], t);
    for (int64_t i = last; i > 0 && best[i].fold_loss < best[i - 1].fold_loss; i--) {
        far_trial worse = best[i - 1];
        best[i - 1] = best[i];
        best[i] = worse;
    }
}

/* All networks once more behind the map that the teacher has found. */
static far_status screen_behind(hunt *h, const far_trial *teacher, const far_trial *plain,
                                int64_t plains, far_trial *best)
{
    far_status st;
    far_trial t = {0};
    FAR_TRY(far_folds_follow(h->s, &h->folds, teacher->kernel, &teacher->recipe));
    for (int64_t i = 0; i < plains; i++) {
        int64_t biases = plain[i].structure ? COUNT(BIASES) : 1;
        for (int64_t b = 0; far_trial_eligible(h->s, &plain[i]) && b < biases; b++) {
            FAR_TRY(start_trial(h, &plain[i], BIASES[b], &t));
            t.recipe = teacher->recipe;
            FAR_TRY(try_all_ridges(h, t.kernel, &t));
            rank_trial(h->s->ctx, best, PER_KIND, &t);
        }
    }
done:
    far_trial_clear(h->s->ctx, &t);
    return st;
}

/* The best eligible networks without a metric. */
static int64_t pick_teachers(const far_search *s, const far_trial *plain, int64_t plains,
                             const far_trial **out)
{
    int64_t count = 0;
    for (; count < TEACHERS; count++) {
        const far_trial *best = NULL;
        for (int64_t i = 0; i < plains; i++) {
            bool taken = false;
            for (int64_t j = 0; j < count; j++) {
                taken = taken || out[j] == &plain[i];
            }
            if (!taken && far_trial_eligible(s, &plain[i]) &&
                (!best || far_score_loss(s, plain[i].score) < far_score_loss(s, best->score))) {
                best = &plain[i];
            }
        }
        if (!best) {
            break;
        }
        out[count] = best;
    }
    return count;
}

static far_status screen_kinds(far_search *s, const far_trial *plain, int64_t plains,
                               far_trial *out, int64_t *count)
{
    far_status st;
    hunt h = {0};
    const far_trial *teachers[TEACHERS];
    int64_t found = pick_teachers(s, plain, plains, teachers);
    far_trial teacher = {.fold_loss = INFINITY};
    FAR_TRY(hunt_open(&h, s, far_least(s->rows, SCREEN_ROWS), SCREEN_FOLDS));
    for (int kind = FAR_METRIC_DIAGONAL; kind <= FAR_METRIC_FULL; kind++) {
        if (s->opts->metric != FAR_METRIC_AUTO && (int)s->opts->metric != kind) {
            continue;
        }
        FAR_TRY(best_of_kind(&h, teachers, found, (far_metric_kind)kind, &teacher));
        for (int64_t i = 0; i < PER_KIND; i++) {
            out[*count + i].fold_loss = INFINITY;
        }
        if (teacher.kernel) {
            FAR_TRY(screen_behind(&h, &teacher, plain, plains, out + *count));
        }
        for (int64_t i = 0; i < PER_KIND; i++) {
            *count += out[*count].kernel != NULL;
        }
        far_trial_clear(s->ctx, &teacher);
        teacher.fold_loss = INFINITY;
    }
done:
    far_trial_clear(s->ctx, &teacher);
    hunt_close(&h);
    return st;
}

/* ---- on the whole subset ------------------------------------------------------------------- */

/* Climbs again, from the ridge that a fit without a metric has. */
static far_status climb_again(hunt *h, far_trial *t)
{
    far_status st;
    far_trial plain = {.fold_loss = INFINITY, .ridge = t->recipe.ridges[0]};
    FAR_FREE_ALL(h->s->ctx, t->fold, t->fold_miss);
    t->fold = t->fold_miss = NULL;
    t->fold_loss = INFINITY;
    FAR_TRY(far_folds_forget(h->s, &h->folds));
    FAR_TRY(try_ridges_near(h, t->kernel, plain.ridge, COARSE, &plain));
    FAR_TRY(climb(h, t->recipe.kind, t->recipe.power, plain.ridge, t));
    FAR_TRY(far_trial_kernel(h->s, t, t->bias, &t->teacher));
done:
    far_trial_clear(h->s->ctx, &plain);
    return st;
}

/* Other biases and closer ridges behind the same maps. */
static far_status polish(hunt *h, far_trial *t)
{
    far_status st;
    far_trial other = {0};
    double bias = t->bias;
    FAR_TRY(far_folds_follow(h->s, &h->folds, t->teacher, &t->recipe));
    for (int64_t b = 0; t->structure && b < COUNT(CLOSER_BIASES); b++) {
        FAR_TRY(start_trial(h, t, bias * CLOSER_BIASES[b], &other));
        FAR_TRY(try_ridges_near(h, other.kernel, t->ridge, FINE, &other));
        if (other.fold_loss < t->fold_loss) {
            far_kernel *teacher = t->teacher;
            t->teacher = NULL;
            other.recipe = t->recipe;
            keep_better(h->s->ctx, t, &other);
            t->teacher = teacher;
        }
        far_trial_clear(h->s->ctx, &other);
    }
    FAR_TRY(try_ridges_near(h, t->kernel, t->ridge, FINE, t));
done:
    far_trial_clear(h->s->ctx, &other);
    return st;
}

static void sort_trials(far_trial *t, int64_t count)
{
    for (int64_t i = 1; i < count; i++) {
        for (int64_t j = i; j > 0 && t[j].fold_loss < t[j - 1].fold_loss; j--) {
            far_trial worse = t[j - 1];
            t[j - 1] = t[j];
            t[j] = worse;
        }
    }
}

/* Those that are left after the screening on few rows, of which losses that are 0 say nothing. */
static int64_t drop_hopeless(far_ctx *ctx, far_trial *t, int64_t count)
{
    double limit = OUT_OF_REACH * t[0].fold_loss;
    for (; count > 1 && t[count - 1].fold_loss > limit; count--) {
        far_trial_clear(ctx, &t[count - 1]);
    }
    return count;
}

double far_metric_evaluations(const far_fit_opts *o, int64_t subset, double *rows)
{
    bool few = subset < FEW_ROWS;
    int64_t kinds = o->metric == FAR_METRIC_AUTO ? 2 : 1, folds = few ? FOLDS_OF_FEW : FOLDS;
    *rows = (double)subset * (double)(folds - 1) / (double)folds;
    /* A round is three factors and the gradients, which are as dear as two; a score is 2.5. */
    return (double)(kinds * PER_KIND * FAR_MOST_ROUNDS * folds * 5) / 2.5;
}

/* Without a metric, in the folds of the others; the ridge stays what leave-one-out chose. */
static far_status judge_plain(hunt *h, far_trial *t)
{
    double ridge = t->ridge;
    t->fold_loss = INFINITY;
    far_status st = try_ridges_near(h, t->kernel, ridge, FINE, t);
    t->ridge = ridge;
    return st;
}

far_status far_metric_search(far_search *s, far_trial *plain, int64_t plains, const bool *judged,
                             far_trial out[FAR_METRIC_TRIALS], int64_t *count)
{
    far_status st;
    hunt h = {0};
    *count = 0;
    if (s->opts->metric != FAR_METRIC_NONE) {
        FAR_TRY(screen_kinds(s, plain, plains, out, count));
    }
    sort_trials(out, *count);
    *count = *count > 0 ? drop_hopeless(s->ctx, out, *count) : 0;
    FAR_TRY(hunt_open(&h, s, s->rows, s->rows < FEW_ROWS ? FOLDS_OF_FEW : FOLDS));
    for (int64_t i = 0; i < plains; i++) {
        FAR_TRY(judged[i] ? judge_plain(&h, &plain[i]) : FAR_OK);
    }
    for (int64_t i = 0; i < *count; i++) {
        FAR_TRY(climb_again(&h, &out[i]));
    }
    sort_trials(out, *count);
    if (*count > 0 && isfinite(out[0].fold_loss)) {
        FAR_TRY(polish(&h, &out[0]));
    }
done:
    hunt_close(&h);
    return st;
}
