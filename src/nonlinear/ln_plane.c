/* The best layer of all near a given one: every weight moves, downhill. */
#include "ln_search.h"

#include <math.h>
#include <nlopt.h>
#include <string.h>

typedef struct descent {
    far_sample *s;
    nlopt_opt search;
    far_plane *best;
    double *h;    /* n x 2: the plane, then derivatives by it */
    double *g;    /* 2 x n */
    double *back; /* 2 x rank */
    far_status status;
} descent;

static far_mat view(double *data, int64_t rows, int64_t cols)
{
    return far_mat_view(data, rows, cols, FAR_F64);
}

/* h = u A + b, and s its points on the circle. */
static far_status project(descent *e, const double *a)
{
    far_sample *s = e->s;
    far_mat u = view(s->u, s->n, s->rank), map = view((double *)a, s->rank, 2);
    far_mat h = view(e->h, s->n, 2);
    far_status st = far_multiply(s->ctx, &u, &map, &h);
    for (int64_t i = 0; st == FAR_OK && i < s->n; i++) {
        double *at = e->h + 2 * i, *to = s->circle.s + 2 * i;
        at[0] += a[2 * s->rank];
        at[1] += a[2 * s->rank + 1];
        double length = hypot(at[0], at[1]);
        to[0] = length > 0 ? at[0] / length : 0;
        to[1] = length > 0 ? at[1] / length : 0;
    }
    return st;
}

/* From derivatives by points of the circle (in g, n x 2) to those by A and b. */
static far_status pull_back(descent *e, double *gradient)
{
    far_sample *s = e->s;
    int64_t n = s->n;
    double *by_h = e->h, sum[2] = {0, 0};
    for (int64_t i = 0; i < n; i++) {
        const double *to = s->circle.s + 2 * i, *g = e->g + 2 * i;
        double length = hypot(by_h[2 * i], by_h[2 * i + 1]);
        double along = g[0] * to[0] + g[1] * to[1], inverse = length > 0 ? 1 / length : 0;
        by_h[2 * i] = (g[0] - along * to[0]) * inverse;
        by_h[2 * i + 1] = (g[1] - along * to[1]) * inverse;
        sum[0] += by_h[2 * i];
        sum[1] += by_h[2 * i + 1];
    }
    for (int64_t i = 0; i < n; i++) {
        e->g[i] = by_h[2 * i];
        e->g[n + i] = by_h[2 * i + 1];
    }
    far_mat left = view(e->g, 2, n), right = view(s->u, n, s->rank),
            out = view(e->back, 2, s->rank);
    far_status st = far_multiply(s->ctx, &left, &right, &out);
    for (int64_t j = 0; j < s->rank; j++) {
        gradient[2 * j] = e->back[j];
        gradient[2 * j + 1] = e->back[s->rank + j];
    }
    gradient[2 * s->rank] = sum[0];
    gradient[2 * s->rank + 1] = sum[1];
    return st;
}

static double objective(unsigned count, const double *a, double *gradient, void *data)
{
    descent *e = data;
    double q[2], lssr = 1;
    if (e->status == FAR_OK) {
        e->status = project(e, a);
    }
    if (e->status == FAR_OK) {
        lssr = far_circle_lssr(&e->s->circle, q);
        e->s->tried++;
        if (lssr < e->best->lssr) {
            e->best->lssr = lssr;
            memcpy(e->best->a, a, count * sizeof *a);
        }
    }
    if (gradient && e->status == FAR_OK) {
        far_circle_gradient(&e->s->circle, q, lssr, e->g);
        e->status = pull_back(e, gradient);
    }
    e->status = e->status == FAR_OK ? far_progress(e->s->ctx, "layer", 0, 1) : e->status;
    if (e->status != FAR_OK) {
        nlopt_force_stop(e->search);
    }
    return lssr;
}

static far_status descend(descent *e, int64_t steps, double *a)
{
    double least;
    e->search = nlopt_create(NLOPT_LD_LBFGS, (unsigned)(2 * (e->s->rank + 1)));
    if (!e->search) {
        return far_fail(e->s->ctx, FAR_ERR_MEMORY, "out of memory searching a plane");
    }
    nlopt_set_min_objective(e->search, objective, e);
    nlopt_set_maxeval(e->search, (int)far_least(steps, 1000000));
    nlopt_set_ftol_rel(e->search, 1e-10);
    nlopt_optimize(e->search, a, &least); /* the best point is kept by the objective */
    nlopt_destroy(e->search);
    return e->status;
}

far_status far_ln_plane(far_sample *s, int64_t steps, far_plane *plane)
{
    descent e = {.s = s, .best = plane};
    int64_t numbers = 2 * (s->rank + 1);
    double *a = NULL;
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(s->ctx, numbers, &a));
    FAR_TRY(far_alloc(s->ctx, 2 * s->n, &e.h));
    FAR_TRY(far_alloc(s->ctx, 2 * s->n, &e.g));
    FAR_TRY(far_alloc(s->ctx, 2 * s->rank, &e.back));
    memcpy(a, plane->a, (size_t)numbers * sizeof *a);
    plane->lssr = INFINITY; /* of these points, not of others */
    FAR_TRY(descend(&e, steps, a));
done:
    FAR_FREE_ALL(s->ctx, a, e.h, e.g, e.back);
    return st;
}
