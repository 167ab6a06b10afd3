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

static const far_recipe WAYS[] = {
    {.kind = FAR_METRIC_DIAGONAL, .power = 0.5}, {.kind = FAR_METRIC_DIAGONAL, .power = 1.0},
    {.kind = FAR_METRIC_FULL, .power = 0.5},     {.kind = FAR_METRIC_FULL, .power = 1.0},
    {.kind = FAR_METRIC_DIAGONAL, .power = 0},
};
static const double BIASES[] = {0.1, 0.4, 1.0};
static const double CLOSER_BIASES[] = {0.5, 0.7, 1.4, 2.0}; /* times the bias that was found */
static const double RIDGES[] = {1e-8, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1};
#define COUNT(array) ((int64_t)(sizeof(array) / sizeof((array)[0])))

/* Folds, and what one ridge after the other makes of them. */
typedef struct metric_search {
    far_search *s;
    far_folds folds;
    double *losses; /* COUNT(RIDGES) x rows */
    double *misses; /* the same, of each output */
    bool shared;    /* the folds are another's */
} metric_search;

static far_status metric_search_room(metric_search *h)
{
    far_status st;
    int64_t rows = h->folds.rows;
    FAR_TRY(far_alloc(h->s->ctx, COUNT(RIDGES) * rows, &h->losses));
    FAR_TRY(far_alloc(h->s->ctx, COUNT(RIDGES) * rows * h->s->model->info.outputs, &h->misses));
done:
    return st;
}

static far_status metric_search_open(metric_search *h, far_search *s, int64_t rows, int64_t folds)
{
    far_status st;
    *h = (metric_search){.s = s};
    FAR_TRY(far_folds_make(s, rows, folds, &h->folds));
    FAR_TRY(metric_search_room(h));
done:
    return st;
}

/* In the folds of another, which stay as they are. */
static far_status metric_search_share(metric_search *h, far_search *s, const metric_search *other)
{
    *h = (metric_search){.s = s, .folds = other->folds, .shared = true};
    return metric_search_room(h);
}

static void metric_search_close(metric_search *h)
{
    if (h->s) {
        FAR_FREE_ALL(h->s->ctx, h->losses, h->misses);
        if (!h->shared) {
            far_folds_clear(h->s->ctx, &h->folds);
        }
    }
}

static far_status open_screen(metric_search *h, far_search *s)
{
    return metric_search_open(h, s, far_least(s->rows, SCREEN_ROWS), SCREEN_FOLDS);
}

static far_status open_whole(metric_search *h, far_search *s)
{
    return metric_search_open(h, s, s->rows, s->rows < FEW_ROWS ? FOLDS_OF_FEW : FOLDS);
}

/* ---- ridges -------------------------------------------------------------------------------- */

/* Takes over ridge and losses where they are better than what t has. */
static far_status try_ridges(metric_search *h, const far_kernel *k, const double *ridges,
                             int64_t count, far_trial *t)
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

static far_status try_all_ridges(metric_search *h, const far_kernel *k, far_trial *t)
{
    bool fixed = !isnan(h->s->fixed_ridge);
    return try_ridges(h, k, fixed ? &h->s->fixed_ridge : RIDGES, fixed ? 1 : COUNT(RIDGES), t);
}

static far_status try_ridges_near(metric_search *h, const far_kernel *k, double ridge, double step,
                                  far_trial *t)
{
    double ridges[] = {ridge, fmax(ridge / step, LEAST_RIDGE), fmin(ridge * step, MOST_RIDGE)};
    return try_ridges(h, k, ridges, isnan(h->s->fixed_ridge) ? 3 : 1, t);
}

/* ---- rounds -------------------------------------------------------------------------------- */

static bool is_tuned(const far_recipe *r)
{
    return r->power == 0;
}

/* Learns round after round from t's own kernel, and keeps in t what the best of them gave. ridge:
 * of the first fit, without a metric. */
static far_status climb(metric_search *h, const far_recipe *way, double ridge, far_trial *t)
{
    far_status st = far_folds_forget(h->s, &h->folds);
    far_recipe path = {.kind = way->kind, .power = way->power};
    int64_t most = is_tuned(way) ? 1 : FAR_MOST_ROUNDS;
    double best = INFINITY;
    far_trial now = {0};
    FAR_TRY(st);
    for (int64_t failed = 0; path.rounds < most && failed < 2;) {
        path.ridges[path.rounds++] = ridge;
        st = far_folds_learn(h->s, &h->folds, t->kernel, way, ridge);
        if (st == FAR_ERR_SINGULAR) {
            st = FAR_OK;
            break;
        }
        FAR_TRY(st);
        now.fold_loss = INFINITY;
        now.ridge = ridge;
        FAR_TRY(is_tuned(way) ? try_all_ridges(h, t->kernel, &now)
                              : try_ridges_near(h, t->kernel, ridge, COARSE, &now));
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
            FAR_TRY(far_folds_keep(h->s, &h->folds, t));
        }
    }
done:
    FAR_FREE_ALL(h->s->ctx, now.fold, now.fold_miss);
    return st;
}

/* A network like t, with that bias, about which nothing is known yet. */
static far_status start_trial(metric_search *h, const far_trial *t, double bias, far_trial *out)
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

/* Ways to learn and networks that teach: each climbs by itself. */
typedef struct climbs {
    const far_trial *teachers[TEACHERS];
    const far_recipe *ways[COUNT(WAYS)];
    int64_t way_count, count; /* of teachers */
    far_trial found[TEACHERS * COUNT(WAYS)];
} climbs;

static far_status climb_job(far_search *s, void *data, int64_t i)
{
    far_status st;
    climbs *c = data;
    const far_trial *teacher = c->teachers[i % c->count];
    far_trial plain = {0}, *t = &c->found[i];
    metric_search h = {0};
    FAR_TRY(open_screen(&h, s));
    FAR_TRY(start_trial(&h, teacher, teacher->bias, &plain));
    FAR_TRY(start_trial(&h, teacher, teacher->bias, t));
    FAR_TRY(try_all_ridges(&h, plain.kernel, &plain));
    if (isfinite(plain.fold_loss)) {
        FAR_TRY(climb(&h, c->ways[i / c->count], plain.ridge, t));
    }
done:
    far_trial_clear(s->ctx, &plain);
    metric_search_close(&h);
    return st;
}

/* Powers compete with each other, tuned weights with other tuned ones. */
static bool same_party(const far_recipe *a, const far_recipe *b)
{
    return a->kind == b->kind && is_tuned(a) == is_tuned(b);
}

/* The best of a party among those that were tried; NULL: none could be learnt. */
static far_trial *best_of_party(climbs *c, const far_recipe *way)
{
    far_trial *best = NULL;
    for (int64_t i = 0; i < c->way_count * c->count; i++) {
        far_trial *t = &c->found[i];
        bool fits = t->recipe.rounds > 0 && same_party(&t->recipe, way);
        if (fits && (!best || t->fold_loss < best->fold_loss)) {
            best = t;
        }
    }
    return best;
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
typedef struct screening {
    const metric_search *behind;
    const far_trial *teacher, *plain;
    far_trial found[FAR_PLAIN_TRIALS * COUNT(BIASES)];
} screening;

static far_status screen_job(far_search *s, void *data, int64_t i)
{
    far_status st = FAR_OK;
    screening *c = data;
    const far_trial *plain = &c->plain[i / COUNT(BIASES)];
    far_trial *t = &c->found[i];
    metric_search h = {0};
    if (!far_trial_eligible(s, plain) || (!plain->structure && i % COUNT(BIASES) > 0)) {
        return FAR_OK; /* without a bias to set once is enough */
    }
    FAR_TRY(metric_search_share(&h, s, c->behind));
    FAR_TRY(start_trial(&h, plain, BIASES[i % COUNT(BIASES)], t));
    t->recipe = c->teacher->recipe;
    FAR_TRY(try_all_ridges(&h, t->kernel, t));
done:
    metric_search_close(&h);
    return st;
}

static far_status screen_behind(far_search *s, const far_trial *teacher, const far_trial *plain,
                                int64_t plains, far_trial *best)
{
    far_status st;
    metric_search h = {0};
    screening c = {.behind = &h, .teacher = teacher, .plain = plain};
    FAR_TRY(open_screen(&h, s));
    FAR_TRY(far_folds_restore(s, &h.folds, teacher));
    FAR_TRY(far_search_run(s, plains * COUNT(BIASES), h.folds.rows, screen_job, &c));
    for (int64_t i = 0; i < plains * COUNT(BIASES); i++) {
        if (c.found[i].kernel) {
            rank_trial(s->ctx, best, PER_KIND, &c.found[i]);
        }
    }
done:
    for (int64_t i = 0; i < plains * COUNT(BIASES); i++) {
        far_trial_clear(s->ctx, &c.found[i]);
    }
    metric_search_close(&h);
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

static bool is_asked(const far_search *s, const far_recipe *way)
{
    bool kind = s->opts->metric == FAR_METRIC_AUTO || s->opts->metric == way->kind;
    return kind && (is_tuned(way) || !s->only_tuned);
}

static far_status screen_ways(far_search *s, const far_trial *plain, int64_t plains, far_trial *out,
                              int64_t *count)
{
    far_status st;
    climbs c = {0};
    c.count = pick_teachers(s, plain, plains, c.teachers);
    for (int64_t w = 0; w < COUNT(WAYS); w++) {
        if (is_asked(s, &WAYS[w])) {
            c.ways[c.way_count++] = &WAYS[w];
        }
    }
    FAR_TRY(far_search_run(s, c.way_count * c.count, SCREEN_ROWS, climb_job, &c));
    for (int64_t w = 0; w < c.way_count; w++) {
        if (w > 0 && same_party(c.ways[w], c.ways[w - 1])) {
            continue;
        }
        far_trial *teacher = best_of_party(&c, c.ways[w]);
        for (int64_t i = 0; i < PER_KIND; i++) {
            out[*count + i].fold_loss = INFINITY;
        }
        if (teacher) {
            FAR_TRY(screen_behind(s, teacher, plain, plains, out + *count));
        }
        for (int64_t i = 0; i < PER_KIND; i++) {
            *count += out[*count].kernel != NULL;
        }
    }
done:
    for (int64_t i = 0; i < c.way_count * c.count; i++) {
        far_trial_clear(s->ctx, &c.found[i]);
    }
    return st;
}

/* ---- on the whole subset ------------------------------------------------------------------- */

/* Climbs again, from the ridge that a fit without a metric has. */
static far_status climb_again(metric_search *h, far_trial *t)
{
    far_status st;
    const far_recipe way = t->recipe;
    far_trial plain = {.fold_loss = INFINITY, .ridge = way.ridges[0]};
    FAR_FREE_ALL(h->s->ctx, t->fold, t->fold_miss);
    t->fold = t->fold_miss = NULL;
    t->fold_loss = INFINITY;
    FAR_TRY(far_folds_forget(h->s, &h->folds));
    FAR_TRY(try_ridges_near(h, t->kernel, plain.ridge, COARSE, &plain));
    FAR_TRY(climb(h, &way, plain.ridge, t));
    FAR_TRY(far_trial_kernel(h->s, t, t->bias, &t->teacher));
done:
    far_trial_clear(h->s->ctx, &plain);
    return st;
}

/* Other biases behind the same maps; the last one is t's own, at closer ridges. */
typedef struct polishing {
    const metric_search *behind;
    const far_trial *t;
    far_trial found[COUNT(CLOSER_BIASES) + 1];
} polishing;

static far_status polish_job(far_search *s, void *data, int64_t i)
{
    far_status st;
    polishing *c = data;
    metric_search h = {0};
    double bias = c->t->bias * (i < COUNT(CLOSER_BIASES) ? CLOSER_BIASES[i] : 1);
    FAR_TRY(metric_search_share(&h, s, c->behind));
    FAR_TRY(start_trial(&h, c->t, bias, &c->found[i]));
    FAR_TRY(try_ridges_near(&h, c->found[i].kernel, c->t->ridge, FINE, &c->found[i]));
done:
    metric_search_close(&h);
    return st;
}

/* Biases and closer ridges of the best. */
static far_status polish(far_search *s, far_trial *t)
{
    far_status st;
    metric_search h = {0};
    polishing c = {.behind = &h, .t = t};
    int64_t first = t->structure ? 0 : COUNT(CLOSER_BIASES); /* what is given has no bias to set */
    FAR_TRY(open_whole(&h, s));
    FAR_TRY(far_folds_restore(s, &h.folds, t));
    FAR_TRY(far_search_run(s, COUNT(CLOSER_BIASES) + 1, s->rows, polish_job, &c));
    for (int64_t i = first; i <= COUNT(CLOSER_BIASES); i++) {
        far_trial *other = &c.found[i];
        if (other->fold_loss < t->fold_loss) {
            other->teacher = t->teacher;
            other->recipe = t->recipe;
            t->teacher = NULL;
            keep_better(s->ctx, t, other);
        }
    }
done:
    for (int64_t i = 0; i <= COUNT(CLOSER_BIASES); i++) {
        far_trial_clear(s->ctx, &c.found[i]);
    }
    metric_search_close(&h);
    return st;
}

far_status far_metric_seen_square(far_search *s, const far_trial *t, double *out)
{
    far_status st;
    metric_search h = {0};
    double mean;
    FAR_TRY(open_whole(&h, s));
    FAR_TRY(far_folds_score(s, &h.folds, t->kernel, &t->ridge, 1, h.misses, h.losses, &mean, out));
done:
    metric_search_close(&h);
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
    int64_t folds = few ? FOLDS_OF_FEW : FOLDS, parties = 0;
    for (int64_t w = 0; w < COUNT(WAYS); w++) {
        bool asked = o->metric == FAR_METRIC_AUTO || o->metric == WAYS[w].kind;
        parties += asked && (w == 0 || !same_party(&WAYS[w], &WAYS[w - 1]));
    }
    *rows = (double)subset * (double)(folds - 1) / (double)folds;
    /* A round is three factors and the gradients, which are as dear as two; a score is 2.5. Tuning,
     * mostly on fewer rows, is about as dear as all rounds. */
    return (double)(parties * PER_KIND * FAR_MOST_ROUNDS * folds * 5) / 2.5;
}

/* Without a metric, in the folds of the others; the ridge stays what leave-one-out chose. */
static far_status judge_plain(metric_search *h, far_trial *t)
{
    double ridge = t->ridge;
    t->fold_loss = INFINITY;
    far_status st = try_ridges_near(h, t->kernel, ridge, FINE, t);
    t->ridge = ridge;
    return st;
}

/* Those without a metric that are judged, then those behind one. */
typedef struct last_round {
    far_trial *trials[FAR_PLAIN_TRIALS + FAR_METRIC_TRIALS];
    int64_t plains, count;
} last_round;

static far_status last_job(far_search *s, void *data, int64_t i)
{
    far_status st;
    const last_round *c = data;
    int64_t k = (i + c->plains) % c->count; /* the longest first */
    metric_search h = {0};
    FAR_TRY(open_whole(&h, s));
    FAR_TRY(k < c->plains ? judge_plain(&h, c->trials[k]) : climb_again(&h, c->trials[k]));
done:
    metric_search_close(&h);
    return st;
}

far_status far_metric_search(far_search *s, far_trial *plain, int64_t plains, const bool *judged,
                             far_trial out[FAR_METRIC_TRIALS], int64_t *count)
{
    far_status st;
    last_round last = {0};
    *count = 0;
    if (s->opts->metric != FAR_METRIC_NONE) {
        FAR_TRY(screen_ways(s, plain, plains, out, count));
    }
    sort_trials(out, *count);
    *count = *count > 0 ? drop_hopeless(s->ctx, out, *count) : 0;
    for (int64_t i = 0; i < plains; i++) {
        if (judged[i]) {
            last.trials[last.plains++] = &plain[i];
        }
    }
    last.count = last.plains;
    for (int64_t i = 0; i < *count; i++) {
        last.trials[last.count++] = &out[i];
    }
    FAR_TRY(far_search_run(s, last.count, s->rows, last_job, &last));
    sort_trials(out, *count);
    if (*count > 0 && isfinite(out[0].fold_loss)) {
        FAR_TRY(polish(s, &out[0]));
    }
done:
    return st;
}
