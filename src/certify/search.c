/*
 * Ascent from many starts at once: every round tries steps along random directions of the sphere
 * from each start, moves to the best and lengthens the step, or stays and halves it. Points at
 * infinity are the rim of the half sphere and are entered and left like any others.
 */
#include "certify_internal.h"

#include <math.h>
#include <string.h>

enum { MOST_TRIES = 32, MOST_ROUNDS = 200, RANKED_ROWS = 4096 };
#define FIRST_STEP 0.3
#define LAST_STEP 1e-7
#define LEAST_WITHOUT_RIM 1e-6 /* height */
#define PAIRS_PER_SECOND 1e8   /* kernel values, as a rough budget */

/* What climbs: the rows of a batch of unit vectors to p values each, of which |value j| counts. */
typedef far_status (*value_fn)(far_ctx *ctx, void *user, const double *s, int64_t count,
                               double *out);

typedef struct climb {
    far_ctx *ctx;
    value_fn value;
    void *user;
    int64_t dim, outputs, starts, tries; /* starts of every output */
    bool half;                           /* the last coordinate stays >= least */
    double least;                        /* 0 with the rim, above it without */
    const far_columns *rows;             /* coordinates of what stands still stay 0; NULL: none */
    const far_model *mapped;             /* points stay where its metric can bring them; NULL */
    uint64_t seed, counter;
    double *at;    /* outputs x starts x dim */
    double *best;  /* outputs x starts */
    double *step;  /* outputs x starts */
    double *trial; /* tries x dim for every climber */
    double *out;   /* values of the trials */
    double *room;  /* dim */
} climb;

static void climb_clear(climb *c)
{
    FAR_FREE_ALL(c->ctx, c->at, c->best, c->step, c->trial, c->out, c->room);
}

static far_status climb_open(climb *c)
{
    far_status st;
    int64_t climbers = c->outputs * c->starts, batch = climbers * c->tries;
    FAR_TRY(far_alloc(c->ctx, climbers * c->dim, &c->at));
    FAR_TRY(far_alloc(c->ctx, climbers, &c->best));
    FAR_TRY(far_alloc(c->ctx, climbers, &c->step));
    FAR_TRY(far_alloc(c->ctx, batch * c->dim, &c->trial));
    FAR_TRY(far_alloc(c->ctx, batch * c->outputs, &c->out));
    FAR_TRY(far_alloc(c->ctx, c->dim, &c->room));
done:
    return st;
}

static void unit_vector(const climb *c, double *s)
{
    double square = 0;
    if (c->mapped) {
        far_model_project(c->mapped, c->room, s);
        s[c->dim - 1] = far_largest_size(s, c->dim) > 0 ? s[c->dim - 1] : 1;
    }
    if (c->half && s[c->dim - 1] < c->least) {
        s[c->dim - 1] = c->least;
    }
    for (int64_t i = 0; i < c->dim; i++) {
        s[i] = c->rows && far_columns_is_still(c->rows, i) ? 0 : s[i];
        square += s[i] * s[i];
    }
    for (int64_t i = 0; square > 0 && i < c->dim; i++) {
        s[i] /= sqrt(square);
    }
}

/* Axes in turn, both ways, while they are few; random directions otherwise. */
static void try_step(climb *c, const double *from, double step, int64_t t, double *to)
{
    memcpy(to, from, (size_t)c->dim * sizeof *to);
    if (2 * c->dim <= c->tries && t < 2 * c->dim) {
        to[t / 2] += t % 2 ? -step : step;
    } else {
        for (int64_t i = 0; i < c->dim; i++) {
            to[i] += step * far_random_normal(c->seed, c->counter++) / sqrt((double)c->dim);
        }
    }
    unit_vector(c, to);
}

static far_status climb_round(climb *c, bool *moving)
{
    int64_t climbers = c->outputs * c->starts;
    for (int64_t k = 0; k < climbers * c->tries; k++) {
        int64_t who = k / c->tries;
        try_step(c, c->at + who * c->dim, c->step[who], k % c->tries, c->trial + k * c->dim);
    }
    far_status st = c->value(c->ctx, c->user, c->trial, climbers * c->tries, c->out);
    *moving = false;
    for (int64_t who = 0; st == FAR_OK && who < climbers; who++) {
        bool better = false;
        for (int64_t t = 0; t < c->tries; t++) {
            int64_t k = who * c->tries + t;
            double value = fabs(c->out[k * c->outputs + who / c->starts]);
            if (value > c->best[who]) {
                c->best[who] = value;
                memcpy(c->at + who * c->dim, c->trial + k * c->dim, (size_t)c->dim * sizeof *c->at);
                better = true;
            }
        }
        c->step[who] *= better ? 1.5 : 0.5;
        *moving |= c->step[who] > LAST_STEP;
    }
    return st;
}

static far_status first_values(climb *c)
{
    far_status st;
    int64_t climbers = c->outputs * c->starts;
    FAR_TRY(c->value(c->ctx, c->user, c->at, climbers, c->out));
    for (int64_t who = 0; who < climbers; who++) {
        c->best[who] = fabs(c->out[who * c->outputs + who / c->starts]);
        c->step[who] = FIRST_STEP;
    }
done:
    return st;
}

static far_status climb_all(climb *c, double seconds)
{
    bool moving = true;
    double start = far_seconds();
    far_status st = far_progress(c->ctx, "search", 0, MOST_ROUNDS);
    for (int round = 0; st == FAR_OK && moving && round < MOST_ROUNDS; round++) {
        far_progress_hold(c->ctx);
        st = round == 0 ? first_values(c) : climb_round(c, &moving);
        far_progress_release(c->ctx);
        if (st == FAR_OK) {
            st = far_progress(c->ctx, "search", round + 1, MOST_ROUNDS);
        }
        if (far_seconds() - start > seconds) {
            break;
        }
    }
    return st;
}

static void keep_best(const climb *c, double *found, double *where)
{
    for (int64_t j = 0; j < c->outputs; j++) {
        int64_t best = j * c->starts;
        for (int64_t who = best; who < (j + 1) * c->starts; who++) {
            best = c->best[who] > c->best[best] ? who : best;
        }
        found[j] = c->best[best];
        memcpy(where + j * c->dim, c->at + best * c->dim, (size_t)c->dim * sizeof *where);
    }
}

/* Fewer starts where each one is dear. */
static void plan_effort(climb *c, const far_model *m, const far_certify_opts *o)
{
    double row = (double)m->info.rows, rounds = 60;
    double affordable = o->seconds * PAIRS_PER_SECOND / (row * rounds);
    c->tries = 2 * c->dim < MOST_TRIES ? 2 * c->dim + 2 : MOST_TRIES;
    c->starts = (int64_t)fmin((double)o->starts, affordable / (double)(c->tries * c->outputs));
    c->starts = c->starts < 4 ? 4 : c->starts;
}

/* ---- the largest |f| ----------------------------------------------------------------------- */

typedef struct surface {
    const far_model *m;
    double unit;
    bool rim; /* there are limits at infinity */
} surface;

static far_status surface_value(far_ctx *ctx, void *user, const double *s, int64_t count,
                                double *out)
{
    surface *f = user;
    return far_sphere_eval(ctx, f->m, f->unit, s, count, out);
}

/* |f| at training row i: y - ridge alpha is the fit there. */
static double fit_at(const far_model *m, int64_t i, int64_t j)
{
    int64_t at = i * m->info.outputs + j;
    double g = m->y[at] - m->info.ridge * m->alpha[at];
    return fabs(far_output_centre(m->columns)[j] + far_output_scale(m->columns)[j] * g);
}

/* The training row with the largest |f| below a limit: repeated, the rows in order of |f|. */
static int64_t next_row(const far_model *m, int64_t j, double below)
{
    int64_t best = -1;
    for (int64_t i = 0; i < m->info.rows; i++) {
        double value = fit_at(m, i, j);
        if (value < below && (best < 0 || value > fit_at(m, best, j))) {
            best = i;
        }
    }
    return best;
}

static void random_start(climb *c, bool rim, double *s)
{
    for (int64_t i = 0; i < c->dim; i++) {
        s[i] = far_random_normal(c->seed, c->counter++);
    }
    if (c->half) {
        s[c->dim - 1] = rim ? 0 : fabs(s[c->dim - 1]);
    }
    unit_vector(c, s);
}

/* A third of the starts are the training rows with the largest |f|, a third the directions to them,
 * the rest random. */
static void surface_starts(climb *c, const surface *f)
{
    const far_model *m = f->m;
    int64_t d = m->info.inputs;
    for (int64_t j = 0; j < c->outputs; j++) {
        double below = INFINITY;
        for (int64_t k = 0; k < c->starts; k++) {
            double *s = c->at + (j * c->starts + k) * c->dim;
            int64_t row = k < 2 * c->starts / 3 ? next_row(m, j, below) : -1;
            if (row < 0) {
                random_start(c, f->rim && k % 2, s);
                continue;
            }
            far_sphere_from_point(m->x + row * d, d, f->unit, s);
            if (k % 2) { /* the same row once as it is, once from infinitely far */
                s[d] = f->rim && s[d] < 1 ? 0 : s[d];
                below = fit_at(m, row, j);
                unit_vector(c, s);
            }
        }
    }
}

/* A network may have no limit at infinity (a sine of the input); then the rim is left out. */
static far_status has_rim(far_ctx *ctx, surface *f)
{
    int64_t d = f->m->info.inputs;
    double *s = NULL, *out = NULL;
    far_status st;
    FAR_TRY(far_alloc(ctx, d + 1, &s));
    FAR_TRY(far_alloc(ctx, f->m->info.outputs, &out));
    s[0] = 1;
    st = far_sphere_eval(ctx, f->m, f->unit, s, 1, out);
    f->rim = st == FAR_OK;
    st = st == FAR_ERR_ARCH ? FAR_OK : st;
done:
    far_free(ctx, s);
    far_free(ctx, out);
    return st;
}

far_status far_search_supremum(far_ctx *ctx, const far_model *m, const far_certify_opts *o,
                               double *found, double *where)
{
    far_status st;
    far_model inner = far_model_behind(m);
    surface f = {.m = &inner, .unit = far_sphere_unit(m)};
    climb c = {.ctx = ctx,
               .mapped = m->metric.kind == FAR_METRIC_NONE ? NULL : m,
               .value = surface_value,
               .user = &f,
               .dim = m->info.inputs + 1,
               .outputs = m->info.outputs,
               .half = true,
               .seed = o->seed};
    FAR_TRY(has_rim(ctx, &f));
    c.least = f.rim ? 0 : LEAST_WITHOUT_RIM;
    plan_effort(&c, m, o);
    FAR_TRY(climb_open(&c));
    surface_starts(&c, &f);
    FAR_TRY(climb_all(&c, o->seconds));
    keep_best(&c, found, where);
done:
    climb_clear(&c);
    return st;
}

/* ---- the steepest direction ---------------------------------------------------------------- */

typedef struct slopes {
    const far_model *m;
    double order; /* directions of a lower one count as 0 */
} slopes;

static far_status slope_value(far_ctx *ctx, void *user, const double *u, int64_t count, double *out)
{
    slopes *f = user;
    double *orders = NULL;
    int64_t p = f->m->info.outputs;
    far_status st;
    FAR_TRY(far_alloc(ctx, count, &orders));
    far_mat directions = far_mat_view((void *)u, count, f->m->info.inputs, FAR_F64);
    far_mat values = far_mat_view(out, count, p, FAR_F64);
    far_mat order = far_mat_view(orders, count, 1, FAR_F64);
    FAR_TRY(far_model_limit(ctx, f->m, &directions, &values, &order));
    for (int64_t i = 0; i < count; i++) {
        f->order = fmax(f->order, orders[i]);
    }
    for (int64_t i = 0; i < count * p; i++) {
        out[i] = orders[i / p] < f->order ? 0 : out[i];
    }
done:
    far_free(ctx, orders);
    return st;
}

/* Axes first: along one input alone the answer is easiest to read. */
static void slope_starts(climb *c, const far_model *m)
{
    int64_t d = m->info.inputs;
    for (int64_t who = 0; who < c->outputs * c->starts; who++) {
        double *s = c->at + who * c->dim;
        int64_t k = who % c->starts;
        if (k < 2 * d && !(c->rows && far_columns_is_still(c->rows, k / 2))) {
            memset(s, 0, (size_t)d * sizeof *s);
            s[k / 2] = k % 2 ? -1 : 1;
        } else {
            random_start(c, false, s);
        }
    }
}

far_status far_search_direction(far_ctx *ctx, const far_model *m, const far_certify_opts *o,
                                bool rows, double *slope, double *order, double *direction)
{
    far_status st;
    slopes f = {.m = m};
    climb c = {.ctx = ctx,
               .value = slope_value,
               .user = &f,
               .dim = m->info.inputs,
               .outputs = m->info.outputs,
               .rows = rows ? m->columns : NULL,
               .seed = o->seed};
    plan_effort(&c, m, o);
    FAR_TRY(climb_open(&c));
    slope_starts(&c, m);
    FAR_TRY(climb_all(&c, o->seconds));
    keep_best(&c, slope, direction);
    *order = f.order;
done:
    climb_clear(&c);
    return st;
}
