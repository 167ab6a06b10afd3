/*
 * Points of a certificate that a row of a table can be at.
 *
 * Proofs take the one-hot inputs of a category for real numbers, and hold for all of them. What a
 * search met there may be a third of red and two thirds of blue; so the largest |f| is looked for
 * again where every category is one that exists: in each combination of categories by itself while
 * they are few, else from many of them, changing one at a time. Ranks are taken for real numbers in
 * the same way, and are those of their numbers here.
 */
#include "predictor_internal.h"

#include <math.h>
#include <string.h>

enum {
    MOST_COMBINATIONS = 256, /* that are tried, with numbers beside them; without: */
    MOST_OF_CATEGORIES = 4096,
    MOST_TRIES = 32, /* a round, of numbers and of categories */
    MOST_ROUNDS = 120,
    DOUBLINGS = 60,
    LEAST_ROWS = 2000 /* of those fitted that are looked at */
};
#define FIRST_STEP 0.3
#define LAST_STEP 1e-7
#define FURTHEST 1e6         /* spreads of the data */
#define NEAR_INFINITY 100    /* where a limit is worth a look */
#define ROWS_SHARE 0.1       /* of the time, for the rows fitted */
#define PAIRS_PER_SECOND 1e8 /* values of a kernel, as a rough budget */

static const double SPREADS[] = {0, 0, 1, 1, 10, 100}; /* of the first points of a combination */
enum { FIRST_POINTS = sizeof SPREADS / sizeof SPREADS[0] };

typedef struct row_search {
    far_ctx *ctx;
    const far_predictor *p;
    const far_columns *c;
    int64_t d, outputs, output;
    int64_t numbers, *number; /* inputs that are numbers */
    int64_t levels;           /* and how many are not */
    double combinations;
    uint64_t seed, counter;
} row_search;

static double centre(const row_search *h, int64_t i)
{
    return far_input_centre(h->c)[i];
}

static double scale(const row_search *h, int64_t i)
{
    return far_input_scale(h->c)[i];
}

static far_status row_search_open(far_ctx *ctx, const far_predictor *p, uint64_t seed,
                                  row_search *h)
{
    const far_columns *c = far_predictor_columns(p);
    *h = (row_search){.ctx = ctx,
                      .p = p,
                      .c = c,
                      .d = c->info.inputs,
                      .outputs = c->info.outputs,
                      .combinations = 1,
                      .seed = seed};
    far_status st = far_alloc(ctx, h->d, &h->number);
    for (int64_t j = 0; st == FAR_OK && j < c->info.features; j++) {
        const far_feature *f = &c->features[j];
        if (f->kind == FAR_COLUMN_NUMBER) {
            h->number[h->numbers++] = f->first;
        } else {
            h->combinations *= (double)f->width;
            h->levels += f->width;
        }
    }
    return st;
}

static int64_t draw(row_search *h, int64_t count)
{
    return (int64_t)(far_random_bits(h->seed, h->counter++) % (uint64_t)count);
}

static void set_category(const far_feature *f, int64_t level, double *x)
{
    memset(x + f->first, 0, (size_t)f->width * sizeof *x);
    x[f->first + level] = 1;
}

/* Combination number q of all of them, which then begin again, or (-1) one by chance. */
static void set_combination(row_search *h, int64_t q, double *x)
{
    for (int64_t j = 0; j < h->c->info.features; j++) {
        const far_feature *f = &h->c->features[j];
        if (f->kind == FAR_COLUMN_WORD) {
            set_category(f, q < 0 ? draw(h, f->width) : q % f->width, x);
            q = q < 0 ? q : q / f->width;
        }
    }
}

static far_status values(const row_search *h, double *x, int64_t count, double *room, double *out)
{
    for (int64_t i = 0; i < count; i++) {
        far_columns_set_ranks(h->c, x + i * h->d);
    }
    far_mat in = far_mat_view(x, count, h->d, FAR_F64);
    far_mat f = far_mat_view(room, count, h->outputs, FAR_F64);
    far_status st = far_predictor_eval(h->ctx, h->p, &in, &f);
    for (int64_t i = 0; st == FAR_OK && i < count; i++) {
        double value = fabs(room[i * h->outputs + h->output]);
        out[i] = isfinite(value) ? value : -1;
    }
    return st;
}

/* ---- where to begin ------------------------------------------------------------------------ */

/* Point t of a combination: the numbers of what was met, of the middle of the data, by chance. */
static void first_point(row_search *h, const far_bound *met, int64_t t, double *x)
{
    for (int64_t k = 0; k < h->numbers; k++) {
        int64_t i = h->number[k];
        double z = SPREADS[t] * far_random_normal(h->seed, h->counter++);
        double there =
            met->at_infinity ? centre(h, i) + FURTHEST * scale(h, i) * met->at[i] : met->at[i];
        x[i] = t == 0 ? there : centre(h, i) + z * scale(h, i);
    }
}

/* Groups of first points, a combination each, all in turn if there are so many groups. The best of
 * the best groups: climbers of them in at and best. */
static far_status begin(row_search *h, const far_bound *met, int64_t groups, int64_t climbers,
                        double *at, double *best)
{
    far_status st;
    int64_t each = h->numbers > 0 ? FIRST_POINTS : 1, count = groups * each;
    bool all = h->combinations <= (double)groups;
    double *x = NULL, *room = NULL, *f = NULL;
    FAR_TRY(far_alloc(h->ctx, count * h->d, &x));
    FAR_TRY(far_alloc(h->ctx, count * h->outputs, &room));
    FAR_TRY(far_alloc(h->ctx, count, &f));
    for (int64_t q = 0; q < groups; q++) {
        set_combination(h, all ? q : -1, x + q * each * h->d);
        for (int64_t t = 0; t < each; t++) {
            double *point = x + (q * each + t) * h->d;
            if (t > 0) {
                memcpy(point, x + q * each * h->d, (size_t)h->d * sizeof *x);
            }
            first_point(h, met, t, point);
        }
    }
    FAR_TRY(values(h, x, count, room, f));
    for (int64_t k = 0; k < climbers; k++) {
        int64_t top = 0;
        for (int64_t i = 1; i < count; i++) {
            top = f[i] > f[top] ? i : top;
        }
        best[k] = f[top];
        memcpy(at + k * h->d, x + top * h->d, (size_t)h->d * sizeof *at);
        for (int64_t i = top / each * each, end = i + each; i < end; i++) {
            f[i] = -2; /* the group is taken */
        }
    }
done:
    FAR_FREE_ALL(h->ctx, x, room, f);
    return st;
}

/* The rows that f was fitted to, or its first member, raw; *count 0: they are not kept. */
static far_status fitted_rows(const row_search *h, double **x, int64_t *count)
{
    far_status st = FAR_OK;
    double *y = NULL;
    const far_predictor *p = h->p;
    far_predictor_info info = far_predictor_describe(p);
    if (info.members > 0 && far_predictor_member(p, 0)) {
        p = far_predictor_member(p, 0);
        info = far_predictor_describe(p);
    }
    *count = far_predictor_model(p) ? info.rows : 0;
    if (*count > 0) {
        FAR_TRY(far_alloc(h->ctx, *count * h->d, x));
        FAR_TRY(far_alloc(h->ctx, *count * h->outputs, &y));
        far_mat rows = far_mat_view(*x, *count, h->d, FAR_F64);
        far_mat targets = far_mat_view(y, *count, h->outputs, FAR_F64);
        FAR_TRY(far_predictor_rows(h->ctx, p, &rows, &targets));
    }
done:
    far_free(h->ctx, y);
    return st;
}

/* The rows where |f| is largest take the place of climbers that stand lower, but of half of them
 * at most. Of very many rows some are looked at, evenly spread. */
static far_status begin_at_rows(const row_search *h, const far_certify_opts *o, int64_t climbers,
                                double *at, double *best)
{
    far_status st;
    double *x = NULL, *room = NULL, *f = NULL;
    int64_t rows, count;
    FAR_TRY(fitted_rows(h, &x, &rows));
    double most = rows > 0 ? o->seconds * ROWS_SHARE * PAIRS_PER_SECOND / (double)rows : 0;
    count = (int64_t)fmin((double)rows, fmax(most, LEAST_ROWS));
    for (int64_t i = 0; i < count; i++) {
        memmove(x + i * h->d, x + i * rows / count * h->d, (size_t)h->d * sizeof *x);
    }
    FAR_TRY(far_alloc(h->ctx, count * h->outputs, &room));
    FAR_TRY(far_alloc(h->ctx, count, &f));
    FAR_TRY(count > 0 ? values(h, x, count, room, f) : FAR_OK);
    for (int64_t n = 0; count > 0 && n < (climbers + 1) / 2; n++) {
        int64_t top = 0, low = 0;
        for (int64_t i = 1; i < count; i++) {
            top = f[i] > f[top] ? i : top;
        }
        for (int64_t k = 1; k < climbers; k++) {
            low = best[k] < best[low] ? k : low;
        }
        if (f[top] <= best[low]) {
            break;
        }
        memcpy(at + low * h->d, x + top * h->d, (size_t)h->d * sizeof *at);
        best[low] = f[top];
        f[top] = -2; /* taken */
    }
done:
    FAR_FREE_ALL(h->ctx, x, room, f);
    return st;
}

/* ---- climbing ------------------------------------------------------------------------------ */

static double reach(const row_search *h, const double *x)
{
    double square = 0;
    for (int64_t k = 0; k < h->numbers; k++) {
        double z = (x[h->number[k]] - centre(h, h->number[k])) / scale(h, h->number[k]);
        square += z * z;
    }
    return h->numbers > 0 ? sqrt(square / (double)h->numbers) : 0;
}

static int64_t number_tries(const row_search *h)
{
    return h->numbers == 0 ? 0 : 2 * h->numbers < MOST_TRIES ? 2 * h->numbers + 2 : MOST_TRIES;
}

static int64_t level_tries(const row_search *h)
{
    return h->levels < MOST_TRIES ? h->levels : MOST_TRIES;
}

/* Axes in turn, both ways, while they are few; then out and in; random directions otherwise. */
static void move_numbers(row_search *h, double step, int64_t t, double *x)
{
    double length = step * (1 + reach(h, x));
    bool axes = 2 * h->numbers < MOST_TRIES;
    for (int64_t k = 0; k < h->numbers; k++) {
        int64_t i = h->number[k];
        double axis = t / 2 == k ? (t % 2 ? -length : length) : 0;
        double ray = (t % 2 ? -step : step) * (x[i] - centre(h, i)) / scale(h, i);
        double any = axes ? 0 : length * far_random_normal(h->seed, h->counter++);
        x[i] += scale(h, i) * (!axes ? any : t < 2 * h->numbers ? axis : ray);
    }
}

/* Level t of all, in the order of the inputs, or one by chance. */
static void move_category(row_search *h, int64_t t, double *x)
{
    t = h->levels <= MOST_TRIES ? t : draw(h, h->levels);
    for (int64_t j = 0; j < h->c->info.features; j++) {
        const far_feature *f = &h->c->features[j];
        if (f->kind == FAR_COLUMN_WORD) {
            if (t >= 0 && t < f->width) {
                set_category(f, t, x);
            }
            t -= f->width;
        }
    }
}

/* One round for all climbers: from each the best of its tries. */
static far_status climb_round(row_search *h, int64_t climbers, double *at, double *best,
                              double *step, double *trial, double *room, double *f)
{
    int64_t numbers = number_tries(h), tries = numbers + level_tries(h);
    for (int64_t k = 0; k < climbers * tries; k++) {
        double *x = trial + k * h->d;
        memcpy(x, at + k / tries * h->d, (size_t)h->d * sizeof *x);
        if (k % tries < numbers) {
            move_numbers(h, step[k / tries], k % tries, x);
        } else {
            move_category(h, k % tries - numbers, x);
        }
    }
    far_status st = values(h, trial, climbers * tries, room, f);
    for (int64_t who = 0; st == FAR_OK && who < climbers; who++) {
        int64_t top = -1;
        for (int64_t k = who * tries; k < (who + 1) * tries; k++) {
            bool here = f[k] > best[who] && reach(h, trial + k * h->d) <= FURTHEST;
            top = here ? k : top;
            best[who] = here ? f[k] : best[who];
        }
        if (top >= 0) {
            memcpy(at + who * h->d, trial + top * h->d, (size_t)h->d * sizeof *at);
        }
        step[who] *= top >= 0 ? 1.5 : 0.5;
    }
    return st;
}

/* Fewer climbers where each is dear. */
static int64_t affordable(const row_search *h, const far_certify_opts *o)
{
    double rows = fmax(1, (double)far_predictor_describe(h->p).rows);
    double tries = (double)(number_tries(h) + level_tries(h));
    double most = o->seconds * PAIRS_PER_SECOND / (rows * tries * 60 * (double)h->outputs);
    return (int64_t)fmax(4, fmin((double)o->starts, most));
}

static far_status climb_all(row_search *h, const far_certify_opts *o, int64_t climbers, double *at,
                            double *best)
{
    far_status st;
    double start = far_seconds(), *step = NULL, *trial = NULL, *room = NULL, *f = NULL, most = 1;
    int64_t batch = climbers * (number_tries(h) + level_tries(h));
    FAR_TRY(far_alloc(h->ctx, climbers, &step));
    FAR_TRY(far_alloc(h->ctx, batch * h->d, &trial));
    FAR_TRY(far_alloc(h->ctx, batch * h->outputs, &room));
    FAR_TRY(far_alloc(h->ctx, batch, &f));
    for (int64_t k = 0; k < climbers; k++) {
        step[k] = FIRST_STEP;
    }
    for (int round = 0; round < MOST_ROUNDS && most > LAST_STEP; round++) {
        FAR_TRY(far_progress(h->ctx, "categories", round, MOST_ROUNDS));
        far_progress_hold(h->ctx);
        st = climb_round(h, climbers, at, best, step, trial, room, f);
        far_progress_release(h->ctx);
        FAR_TRY(st);
        most = 0;
        for (int64_t k = 0; k < climbers; k++) {
            most = fmax(most, step[k]);
        }
        if (far_seconds() - start > o->seconds / (double)h->outputs) {
            break;
        }
    }
    st = far_progress(h->ctx, "categories", MOST_ROUNDS, MOST_ROUNDS);
done:
    FAR_FREE_ALL(h->ctx, step, trial, room, f);
    return st;
}

/* ---- the largest of all rows --------------------------------------------------------------- */

/* |f| far along the numbers of a raw direction, whatever the categories; -1: it has no limit. */
static far_status limit_along(const row_search *h, const double *from, bool direction, double *u,
                              double *out)
{
    far_status st;
    double square = 0, *room = NULL;
    *out = -1;
    FAR_TRY(far_alloc(h->ctx, 2 * h->outputs, &room));
    memset(u, 0, (size_t)h->d * sizeof *u);
    for (int64_t k = 0; k < h->numbers; k++) {
        int64_t i = h->number[k];
        u[i] = from[i] - (direction ? 0 : centre(h, i));
        square += u[i] * u[i];
    }
    if (!(square > 0) || !isfinite(square)) {
        goto done;
    }
    for (int64_t i = 0; i < h->d; i++) {
        u[i] /= sqrt(square);
    }
    far_mat in = far_mat_view(u, 1, h->d, FAR_F64), f = far_mat_view(room, 1, h->outputs, FAR_F64);
    far_mat order = far_mat_view(room + h->outputs, 1, h->outputs, FAR_F64);
    st = far_predictor_limit(h->ctx, h->p, &in, &f, &order);
    if (st == FAR_OK && room[h->outputs + h->output] == 0 && isfinite(room[h->output])) {
        *out = fabs(room[h->output]);
    }
    st = st == FAR_ERR_ARCH ? FAR_OK : st; /* no limits: a sine of the input */
done:
    far_free(h->ctx, room);
    return st;
}

/* What the certificate says of its point. */
static far_status state(const row_search *h, const double *x, bool infinite, double *vector,
                        far_bound *b)
{
    double value = 0;
    memcpy(vector, x, (size_t)h->d * sizeof *vector);
    const far_predictor_ops *ops = h->p->ops;
    far_status st = ops->found
                        ? ops->found(h->ctx, h->p->self, h->output, vector, infinite, b, &value)
                        : far_predictor_value(h->ctx, h->p, h->output, vector, infinite, &value);
    b->at = vector;
    b->at_infinity = infinite;
    b->sup_found = fabs(value);
    return st;
}

/* The best climber, or a limit that is no less. u: room for a direction. */
static far_status settle(const row_search *h, int64_t climbers, const double *at,
                         const double *best, double *u, double *vector, far_bound *b)
{
    far_status st;
    int64_t top = 0;
    double limit = -1;
    for (int64_t k = 1; k < climbers; k++) {
        top = best[k] > best[top] ? k : top;
    }
    const double *x = at + top * h->d;
    if (b->at_infinity) {
        FAR_TRY(limit_along(h, b->at, true, u, &limit));
    }
    if (limit < best[top] && reach(h, x) > NEAR_INFINITY) {
        FAR_TRY(limit_along(h, x, false, u, &limit));
    }
    FAR_TRY(state(h, limit >= best[top] ? u : x, limit >= best[top], vector, b));
done:
    return st;
}

static far_status largest_row(row_search *h, const far_certify_opts *o, double *vector,
                              far_bound *b)
{
    far_status st;
    double *at = NULL, *best = NULL, *u = NULL;
    bool whole = h->numbers == 0 && h->combinations <= MOST_OF_CATEGORIES; /* all are looked at */
    int64_t groups = whole            ? (int64_t)h->combinations
                     : h->numbers > 0 ? MOST_COMBINATIONS
                                      : MOST_OF_CATEGORIES;
    int64_t climbers = whole ? 1 : (int64_t)fmin((double)affordable(h, o), (double)groups);
    FAR_TRY(far_alloc(h->ctx, climbers * h->d, &at));
    FAR_TRY(far_alloc(h->ctx, climbers, &best));
    FAR_TRY(far_alloc(h->ctx, h->d, &u));
    FAR_TRY(begin(h, b, groups, climbers, at, best));
    if (!whole) {
        FAR_TRY(begin_at_rows(h, o, climbers, at, best));
        FAR_TRY(climb_all(h, o, climbers, at, best));
    }
    FAR_TRY(settle(h, climbers, at, best, u, vector, b));
done:
    FAR_FREE_ALL(h->ctx, at, best, u);
    return st;
}

/* ---- a row beyond a level ------------------------------------------------------------------ */

/* Further and further along the direction, in every combination of categories (many: by chance). */
static far_status row_beyond(row_search *h, double *vector, far_bound *b)
{
    far_status st;
    double *x = NULL, *room = NULL, *f = NULL, t = b->beyond > 0 ? b->beyond : 1;
    int64_t count = (int64_t)fmin(h->combinations, MOST_COMBINATIONS);
    bool all = h->combinations <= MOST_COMBINATIONS;
    FAR_TRY(far_alloc(h->ctx, count * h->d, &x));
    FAR_TRY(far_alloc(h->ctx, count * h->outputs, &room));
    FAR_TRY(far_alloc(h->ctx, count, &f));
    for (int n = 0; n < DOUBLINGS && !b->row; n++, t *= n < 20 ? 1.05 : 2) {
        for (int64_t i = 0; i < count * h->d; i++) {
            x[i] = t * b->direction[i % h->d];
        }
        for (int64_t q = 0; q < count; q++) {
            set_combination(h, all ? q : -1, x + q * h->d);
        }
        FAR_TRY(values(h, x, count, room, f));
        for (int64_t q = 0; q < count && !b->row; q++) {
            if (f[q] > b->level) {
                memcpy(vector, x + q * h->d, (size_t)h->d * sizeof *vector);
                b->row = vector;
            }
        }
    }
done:
    FAR_FREE_ALL(h->ctx, x, room, f);
    return st;
}

far_status far_certificate_of_rows(far_ctx *ctx, const far_predictor *p, const far_certify_opts *o,
                                   far_certificate *c)
{
    far_status st = FAR_OK;
    row_search h = {0};
    const far_columns *columns = far_predictor_columns(p);
    if (far_columns_categories(columns) == 0 && !far_columns_ranked(columns)) {
        return st;
    }
    FAR_TRY(row_search_open(ctx, p, o->seed, &h));
    for (h.output = 0; h.output < c->info.outputs; h.output++) {
        far_bound *b = &c->bounds[h.output];
        double *vector = c->vectors + h.output * h.d, *row = vector + c->info.outputs * h.d;
        bool away = b->verdict == FAR_UNBOUNDED;
        if (b->verdict == FAR_BOUNDED && b->at && !far_columns_is_row(h.c, b->at, b->at_infinity)) {
            FAR_TRY(largest_row(&h, o, vector, b));
        } else if (away && !isnan(b->level) && far_columns_is_row(h.c, b->direction, 1)) {
            FAR_TRY(row_beyond(&h, row, b));
        }
    }
done:
    far_free(ctx, h.number);
    return st;
}
