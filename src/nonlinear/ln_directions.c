/* Directions that are worth a line. */
#include "ln_search.h"

#include <math.h>
#include <string.h>

#define AXES_MOST 256    /* scatter of classes is compared along the widest of the axes */
#define CLASSES_MOST 8   /* that are compared */
#define ENDS 2           /* eigenvectors from each end of the spectrum */
#define PRINCIPAL_PART 8 /* principal axes: one in so many directions */

typedef struct list {
    int64_t rank, most, count;
    double *out;
} list;

static void add(list *l, const double *direction)
{
    double square = 0;
    for (int64_t j = 0; j < l->rank; j++) {
        square += direction[j] * direction[j];
    }
    if (l->count == l->most || !(square > 0)) {
        return;
    }
    for (int64_t j = 0; j < l->rank; j++) {
        l->out[l->count * l->rank + j] = direction[j] / sqrt(square);
    }
    l->count++;
}

/* ---- scatter of classes -------------------------------------------------------------------- */

/* Covariance of one class, over the last `axes` coordinates, added to m with that weight. */
static void add_covariance(const far_sample *s, const double *mean, int64_t k, int64_t axes,
                           double weight, double *m)
{
    int64_t skip = s->rank - axes;
    for (int64_t i = 0; i < s->n; i++) {
        const double *u = s->u + i * s->rank + skip;
        for (int64_t a = 0; s->circle.labels[i] == k && a < axes; a++) {
            double factor = weight * (u[a] - mean[skip + a]) / s->circle.counts[k];
            for (int64_t b = 0; b <= a; b++) {
                m[a * axes + b] += factor * (u[b] - mean[skip + b]);
            }
        }
    }
}

/* The lower triangle by rows is the upper one by columns. */
static far_status add_ends(const far_sample *s, int64_t axes, double *m, double *values,
                           double *vectors, double *direction, list *l)
{
    far_status st = far_dense_eigen(s->ctx, axes, m, axes, 0, axes, values, vectors);
    memset(direction, 0, (size_t)s->rank * sizeof *direction);
    for (int64_t e = 0; st == FAR_OK && e < 2 * ENDS && e < axes; e++) {
        int64_t which = e % 2 == 0 ? axes - 1 - e / 2 : e / 2;
        memcpy(direction + s->rank - axes, vectors + which * axes,
               (size_t)axes * sizeof *direction);
        add(l, direction);
    }
    return st;
}

/* Eigenvectors of the scatter of a class less that within all: where it is wide, where narrow. */
static far_status add_scatters(const far_labelled *p, const far_white *w, const far_sample *s,
                               list *l)
{
    int64_t axes = far_least(s->rank, AXES_MOST), cells = axes * axes, compared = 0;
    int64_t compare = far_labelled_present(p) == 2 ? 1 : CLASSES_MOST;
    double *all = NULL, *m = NULL, *values = NULL, *vectors = NULL, *direction = NULL;
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(p->ctx, cells, &all));
    FAR_TRY(far_alloc(p->ctx, cells, &m));
    FAR_TRY(far_alloc(p->ctx, axes, &values));
    FAR_TRY(far_alloc(p->ctx, cells, &vectors));
    FAR_TRY(far_alloc(p->ctx, s->rank, &direction));
    for (int64_t k = 0; k < p->classes; k++) {
        add_covariance(s, w->means + k * s->rank, k, axes, s->circle.counts[k] / (double)s->n, all);
    }
    for (int64_t k = 0; k < p->classes && compared < compare; k++) {
        if (s->circle.counts[k] < 2) {
            continue;
        }
        for (int64_t c = 0; c < cells; c++) {
            m[c] = -all[c];
        }
        add_covariance(s, w->means + k * s->rank, k, axes, 1, m);
        FAR_TRY(add_ends(s, axes, m, values, vectors, direction, l));
        compared++;
    }
done:
    FAR_FREE_ALL(p->ctx, all, m, values, vectors, direction);
    return st;
}

/* ---- others -------------------------------------------------------------------------------- */

static void add_axes(const far_white *w, list *l)
{
    int64_t most = l->most / 4 > 1 ? l->most / 4 : 1;
    for (int64_t a = 0; a < w->axis_count && a < most; a++) {
        add(l, w->axes + a * w->rank);
    }
}

/* The widest first. */
static void add_principal(double *direction, list *l)
{
    for (int64_t a = 0; a < l->rank && a < l->most / PRINCIPAL_PART; a++) {
        memset(direction, 0, (size_t)l->rank * sizeof *direction);
        direction[l->rank - 1 - a] = 1;
        add(l, direction);
    }
}

static void add_random(uint64_t seed, double *direction, list *l)
{
    uint64_t counter = 0;
    while (l->count < l->most) {
        for (int64_t j = 0; j < l->rank; j++) {
            direction[j] = far_random_normal(seed, counter++);
        }
        add(l, direction);
    }
}

far_status far_ln_directions(const far_labelled *p, const far_white *w, const far_sample *s,
                             int64_t most, uint64_t seed, double *out, int64_t *count)
{
    list l = {.rank = w->rank, .most = w->rank == 1 ? 1 : most, .out = out};
    double *direction = NULL;
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(p->ctx, w->rank, &direction));
    add_axes(w, &l);
    FAR_TRY(add_scatters(p, w, s, &l));
    add_principal(direction, &l);
    add_random(seed, direction, &l);
    *count = l.count;
done:
    far_free(p->ctx, direction);
    return st;
}
