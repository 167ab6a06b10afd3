/* The best layer along one line: a grid, then Nelder-Mead. */
#include "ln_search.h"

#include <math.h>
#include <nlopt.h>
#include <stdlib.h>

/* t has variance 1. */
static const double QUANTILES[] = {0, 0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95, 1};
static const double SLOPES[] = {1, 0.3, 3, 0.1, 10, 0.03, 100};
static const double SKEWS[] = {0, -0.3, 0.3, -1, 1};
#define COUNT(array) ((int64_t)(sizeof(array) / sizeof *(array)))
#define LOG_SLOPE_MOST 7.0 /* |log k|: beyond it all points are two, or one */
#define TRIALS 150
#define NO_GAIN 1e-12 /* the layer that was found first is kept */

/* hinge z, log k, mu */
typedef struct fold {
    double v[3];
} fold;

typedef struct line {
    far_sample *s;
    const double *t;
    double best;
    fold where;
} line;

static double try_fold(line *l, const fold *f)
{
    far_sample *s = l->s;
    double q[2], z = f->v[0], k = exp(f->v[1]), mu = f->v[2];
    if (!(fabs(f->v[1]) <= LOG_SLOPE_MOST)) {
        return 1;
    }
    for (int64_t i = 0; i < s->n; i++) {
        double x = k * (l->t[i] - z), y = 1 + mu * (l->t[i] - z), length = sqrt(x * x + y * y);
        s->circle.s[2 * i] = length > 0 ? x / length : 0;
        s->circle.s[2 * i + 1] = length > 0 ? y / length : 0;
    }
    double lssr = far_circle_lssr(&s->circle, q);
    s->tried++;
    if (lssr < l->best - NO_GAIN) {
        l->best = lssr;
        l->where = *f;
    }
    return lssr;
}

static double objective(unsigned count, const double *v, double *gradient, void *data)
{
    (void)count;
    (void)gradient;
    return try_fold(data, &(fold){{v[0], v[1], v[2]}});
}

static far_status polish(line *l)
{
    double v[3] = {l->where.v[0], l->where.v[1], l->where.v[2]}, step[3] = {0.2, 0.4, 0.2}, least;
    nlopt_opt search = nlopt_create(NLOPT_LN_NELDERMEAD, 3);
    if (!search) {
        return far_fail(l->s->ctx, FAR_ERR_MEMORY, "out of memory searching along a line");
    }
    nlopt_set_min_objective(search, objective, l);
    nlopt_set_initial_step(search, step);
    nlopt_set_maxeval(search, TRIALS);
    nlopt_set_xtol_rel(search, 1e-9);
    nlopt_optimize(search, v, &least); /* the best point is kept by the objective */
    nlopt_destroy(search);
    return FAR_OK;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void try_grid(line *l, const double *sorted)
{
    for (int64_t a = 0; a < COUNT(QUANTILES); a++) {
        double z = sorted[(int64_t)(QUANTILES[a] * (double)(l->s->n - 1) + 0.5)];
        for (int64_t b = 0; b < COUNT(SLOPES); b++) {
            for (int64_t c = 0; c < COUNT(SKEWS); c++) {
                try_fold(l, &(fold){{z, log(SLOPES[b]), SKEWS[c]}});
            }
        }
    }
}

static void set_plane(const line *l, const double *axis, far_plane *out)
{
    const fold *f = &l->where;
    int64_t rank = l->s->rank;
    double k = exp(f->v[1]), mu = f->v[2];
    for (int64_t j = 0; j < rank; j++) {
        out->a[2 * j] = k * axis[j];
        out->a[2 * j + 1] = mu * axis[j];
    }
    out->a[2 * rank] = -k * f->v[0];
    out->a[2 * rank + 1] = 1 - mu * f->v[0];
    out->lssr = l->best;
}

far_status far_ln_line(far_sample *s, const double *axis, far_plane *best)
{
    double *t = NULL, *sorted = NULL;
    line l = {.s = s, .best = INFINITY};
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(s->ctx, s->n, &t));
    FAR_TRY(far_alloc(s->ctx, s->n, &sorted));
    for (int64_t i = 0; i < s->n; i++) {
        t[i] = 0;
        for (int64_t j = 0; j < s->rank; j++) {
            t[i] += s->u[i * s->rank + j] * axis[j];
        }
        sorted[i] = t[i];
    }
    qsort(sorted, (size_t)s->n, sizeof *sorted, ascending);
    l.t = t;
    try_grid(&l, sorted);
    FAR_TRY(polish(&l));
    set_plane(&l, axis, best);
done:
    far_free(s->ctx, t);
    far_free(s->ctx, sorted);
    return st;
}
