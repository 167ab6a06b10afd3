/* SSR and its linear lower bound. */
#include "nonlinear_internal.h"

#include <math.h>

/* The first discriminant by z, its largest entry positive. */
static void best_axis(const far_labelled *p, const far_white *w, double *by_z)
{
    double largest = 0;
    for (int64_t j = 0; j < p->d; j++) {
        by_z[j] = 0;
        for (int64_t k = 0; k < w->rank; k++) {
            by_z[j] += w->map[j * w->rank + k] * w->axes[k];
        }
        largest = fabs(by_z[j]) > fabs(largest) ? by_z[j] : largest;
    }
    for (int64_t j = 0; largest < 0 && j < p->d; j++) {
        by_z[j] = -by_z[j];
    }
}

static double project(const far_labelled *p, const double *by_z, const double *z)
{
    double sum = 0;
    for (int64_t j = 0; j < p->d; j++) {
        sum += by_z[j] * z[j];
    }
    return sum;
}

/* SSR of by_z . z, over the points themselves: where nothing is left within the classes, that is
 * seen better so than by 1 - share. */
static far_status ssr_along(const far_labelled *p, const double *by_z, double *ssr)
{
    double *numbers = NULL, *z = NULL;
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(p->ctx, p->n, &numbers));
    FAR_TRY(far_alloc(p->ctx, p->d, &z));
    for (int64_t i = 0; i < p->n; i++) {
        far_labelled_row(p, i, z);
        numbers[i] = project(p, by_z, z);
    }
    FAR_TRY(far_labelled_ssr(p, numbers, ssr));
done:
    far_free(p->ctx, numbers);
    far_free(p->ctx, z);
    return st;
}

/* SSR of the points as they are, and LSSR, the least that a linear map can reach: that of the
 * projection onto one best axis of the whitened points. direction is that axis in the caller's
 * units. */
far_status far_ssr_of(const far_labelled *p, const far_white *w, far_ssr *out, double *direction)
{
    double *by_z = NULL, unit = p->total_unit;
    far_status st = FAR_OK;
    *out = (far_ssr){.points = p->n,
                     .inputs = p->d,
                     .classes = far_labelled_present(p),
                     .rank = w->rank,
                     .within = p->within * unit * unit,
                     .total = p->total * unit * unit,
                     .ssr = fmin(p->within / p->total, 1),
                     .lssr = 1,
                     .defined = w->axis_count > 0};
    FAR_TRY(far_alloc(p->ctx, p->d, &by_z));
    if (out->defined) {
        best_axis(p, w, by_z);
        FAR_TRY(ssr_along(p, by_z, &out->lssr));
    }
    for (int64_t j = 0; direction && j < p->d; j++) {
        direction[j] = p->sd[j] > 0 ? by_z[j] / p->sd[j] / p->size[j] : 0;
    }
done:
    far_free(p->ctx, by_z);
    return st;
}

far_status far_ssr_measure(far_ctx *ctx, const far_mat *x, const int64_t *labels, int64_t classes,
                           far_ssr *out, far_mat *direction)
{
    far_labelled p = {0};
    far_white w = {0};
    far_status st = FAR_OK;
    FAR_TRY(far_labelled_create(ctx, x, labels, classes, &p));
    if (direction) {
        FAR_TRY(far_check_matrix(ctx, direction, "direction", 1, x->cols));
    }
    FAR_TRY(far_white_create(&p, &w));
    FAR_TRY(far_ssr_of(&p, &w, out, direction ? direction->data : NULL));
done:
    far_white_clear(ctx, &w);
    far_labelled_clear(&p);
    return st;
}
