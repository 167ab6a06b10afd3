/* Ascent by gradients from many starts: for large values on the half sphere of (u, s), and for
 * steep slopes among directions. */
#include "net_certify.h"

#include <string.h>

enum { MOST_STEPS = 120 };
#define FIRST_STEP 0.3
#define LAST_STEP 1e-10
#define LEAST_WITHOUT_LIMIT 1e-6 /* of s */

/* What is climbed: |value| or value of one output, over unit vectors of dim entries. */
typedef struct hill {
    const far_net_plan *plan;
    bool rays; /* directions in raw units, s = 0; else (u, s) */
    bool rows; /* those that leave categories 0 */
    int64_t dim, output;
    double sign;  /* 1, -1; 0: the absolute value */
    double raw;   /* the value last looked at */
    double least; /* of s */
    far_net_point *point;
    double *u;        /* inputs */
    double *gradient; /* inputs + 1 */
    double *trial, *slope;
} hill;

static double height(hill *h, const double *x)
{
    const far_net_plan *plan = h->plan;
    int64_t d = plan->net->info.inputs;
    for (int64_t i = 0; i < d; i++) {
        h->u[i] = h->rays ? x[i] / (plan->input_scale[i] * plan->unit) : x[i];
    }
    h->raw = far_net_point_value(h->point, h->u, h->rays ? 0 : x[d])[h->output];
    return h->sign == 0 ? fabs(h->raw) : h->sign * h->raw;
}

static void to_sphere(const hill *h, double *x)
{
    double square = 0;
    if (!h->rays) {
        x[h->dim - 1] = fmax(x[h->dim - 1], 0);
    }
    for (int64_t i = 0; i < h->dim; i++) {
        x[i] = h->rows && far_columns_is_still(h->plan->net->columns, i) ? 0 : x[i];
        square += x[i] * x[i];
    }
    for (int64_t i = 0; square > 0 && i < h->dim; i++) {
        x[i] /= sqrt(square);
    }
    if (!h->rays) {
        x[h->dim - 1] = fmax(x[h->dim - 1], h->least);
    }
}

/* The unit vector along the sphere that climbs fastest, after height at x; false: none does. */
static bool uphill(hill *h, const double *x)
{
    const far_net_plan *plan = h->plan;
    double dot = 0, square = 0, sign = h->sign != 0 ? h->sign : h->raw < 0 ? -1 : 1;
    far_net_point_gradient(h->point, h->output, h->gradient);
    for (int64_t i = 0; i < h->dim; i++) {
        double part =
            h->rays ? h->gradient[i] / (plan->input_scale[i] * plan->unit) : h->gradient[i];
        bool still = h->rows && far_columns_is_still(plan->net->columns, i);
        h->slope[i] = still ? 0 : sign * part;
        dot += h->slope[i] * x[i];
    }
    for (int64_t i = 0; i < h->dim; i++) {
        h->slope[i] -= dot * x[i];
        if (!h->rays && i == h->dim - 1 && x[i] <= h->least && h->slope[i] < 0) {
            h->slope[i] = 0;
        }
        square += h->slope[i] * h->slope[i];
    }
    for (int64_t i = 0; square > 0 && i < h->dim; i++) {
        h->slope[i] /= sqrt(square);
    }
    return square > 0 && isfinite(square);
}

static double climb(hill *h, double *x)
{
    double best = height(h, x), step = FIRST_STEP;
    bool moved = true;
    for (int i = 0; i < MOST_STEPS && step > LAST_STEP; i++) {
        if (moved && !uphill(h, x)) {
            break;
        }
        for (int64_t k = 0; k < h->dim; k++) {
            h->trial[k] = x[k] + step * h->slope[k];
        }
        to_sphere(h, h->trial);
        double value = height(h, h->trial);
        moved = value > best;
        if (moved) {
            memcpy(x, h->trial, (size_t)h->dim * sizeof *x);
            best = value;
        }
        step *= moved ? 1.5 : 0.4;
    }
    return best;
}

/* ---- many starts --------------------------------------------------------------------------- */

static void random_start(const hill *h, uint64_t seed, int64_t k, double *x)
{
    static const double SPREADS[] = {1, 0.1, 10, 0.01};
    uint64_t counter = (uint64_t)k << 20;
    for (int64_t i = 0; i < h->dim; i++) {
        x[i] = far_random_normal(seed, counter++);
    }
    if (!h->rays) {
        double s = fabs(x[h->dim - 1]) * SPREADS[k % 4];
        x[h->dim - 1] = k % 5 == 4 ? 0 : s * sqrt((double)h->dim);
    }
    to_sphere(h, x);
}

/* Axes first: along one input alone the answer is easiest to read. */
static void axis_start(const hill *h, int64_t k, double *x)
{
    memset(x, 0, (size_t)h->dim * sizeof *x);
    x[k / 2] = k % 2 ? -1 : 1;
    to_sphere(h, x);
}

typedef struct expedition {
    hill *hills; /* one a thread */
    double *rooms, *at, *value;
    int threads;
    int64_t starts;
} expedition;

static void expedition_clear(far_ctx *ctx, expedition *e)
{
    for (int t = 0; e->hills && t < e->threads; t++) {
        far_net_point_destroy(e->hills[t].point);
    }
    FAR_FREE_ALL(ctx, e->hills, e->rooms, e->at, e->value);
}

static far_status expedition_open(const far_net_plan *plan, const hill *model, int64_t starts,
                                  expedition *e)
{
    far_status st;
    far_ctx *ctx = plan->ctx;
    int64_t d = plan->net->info.inputs, room = 4 * (d + 1);
    e->threads = far_ctx_threads(ctx);
    e->starts = starts;
    FAR_TRY(far_alloc(ctx, e->threads, &e->hills));
    for (int t = 0; t < e->threads; t++) {
        e->hills[t] = *model;
    }
    FAR_TRY(far_alloc(ctx, e->threads * room, &e->rooms));
    FAR_TRY(far_alloc(ctx, starts * model->dim, &e->at));
    FAR_TRY(far_alloc(ctx, starts, &e->value));
    for (int t = 0; t < e->threads; t++) {
        hill *h = &e->hills[t];
        h->u = e->rooms + t * room;
        h->gradient = h->u + (d + 1);
        h->trial = h->u + 2 * (d + 1);
        h->slope = h->u + 3 * (d + 1);
        FAR_TRY(far_net_point_create(plan, &h->point));
    }
done:
    return st;
}

/* The best of all starts; the first of equals. */
static int64_t explore(expedition *e, int64_t output, double sign, uint64_t seed)
{
    int64_t dim = e->hills[0].dim, best = 0;
#pragma omp parallel for num_threads(e->threads) schedule(static)
    for (int t = 0; t < e->threads; t++) {
        hill *h = &e->hills[t];
        h->output = output;
        h->sign = sign;
        for (int64_t k = t; k < e->starts; k += e->threads) {
            double *x = e->at + k * dim;
            int64_t axes = 2 * h->plan->net->info.inputs;
            if (k < axes && axes <= e->starts / 2) {
                axis_start(h, k, x);
            } else {
                random_start(h, seed, k, x);
            }
            e->value[k] = climb(h, x);
        }
    }
    for (int64_t k = 1; k < e->starts; k++) {
        best = e->value[k] > e->value[best] || isnan(e->value[best]) ? k : best;
    }
    return best;
}

/* Fewer starts where each is dear: a rough count of multiplications, a tenth of the time. */
static int64_t affordable(const far_net_plan *plan, const far_certify_opts *o, int64_t each)
{
    double once = 1;
    for (int64_t i = 0; i < plan->count; i++) {
        const far_step *s = plan->layers[i].step;
        once += s->kind == FAR_STEP_DENSE ? 3.0 * (double)s->in * (double)s->out : 20.0;
    }
    double most = o->seconds * 2e8 / (once * MOST_STEPS * (double)each);
    int64_t starts = (int64_t)fmin((double)o->starts, most);
    return starts < 4 ? 4 : starts;
}

far_status far_net_climb(const far_net_plan *plan, const far_certify_opts *o, double *value,
                         double *where)
{
    far_status st;
    int64_t p = plan->net->info.outputs, dim = plan->net->info.inputs + 1;
    hill model = {.plan = plan, .dim = dim, .least = plan->endless ? LEAST_WITHOUT_LIMIT : 0};
    expedition e = {0};
    FAR_TRY(expedition_open(plan, &model, affordable(plan, o, 2 * p), &e));
    for (int64_t k = 0; k < 2 * p; k++) {
        double sign = k % 2 ? 1 : -1;
        FAR_TRY(far_progress(plan->ctx, "search", k, 2 * p));
        int64_t best = explore(&e, k / 2, sign, o->seed);
        value[k] = sign * e.value[best];
        memcpy(where + k * dim, e.at + best * dim, (size_t)dim * sizeof *where);
    }
done:
    expedition_clear(plan->ctx, &e);
    return st;
}

far_status far_net_climb_rays(const far_net_plan *plan, const far_certify_opts *o, bool rows,
                              double *slope, double *direction)
{
    far_status st;
    int64_t p = plan->net->info.outputs, d = plan->net->info.inputs;
    hill model = {.plan = plan, .rays = true, .rows = rows, .dim = d};
    expedition e = {0};
    FAR_TRY(expedition_open(plan, &model, affordable(plan, o, p), &e));
    for (int64_t j = 0; j < p; j++) {
        FAR_TRY(far_progress(plan->ctx, "search", j, p));
        int64_t best = explore(&e, j, 0, o->seed);
        slope[j] = e.value[best];
        memcpy(direction + j * d, e.at + best * d, (size_t)d * sizeof *direction);
    }
done:
    expedition_clear(plan->ctx, &e);
    return st;
}
