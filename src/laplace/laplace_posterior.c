/* The factor of a system with its prior. */
#include "laplace_internal.h"

#include <math.h>

void far_posterior_destroy(far_ctx *ctx, far_posterior *p)
{
    if (p) {
        far_system_destroy(p->system);
        FAR_FREE_ALL(ctx, p->roots, p);
    }
}

static far_status factor(const far_laplace *la, far_posterior *p)
{
    far_symmetric a = far_symmetric_of(&p->matrix);
    far_solve_opts opts;
    far_solve_opts_init(&opts);
    opts.ridge = 1 / p->prior;
    opts.ridge_kind = FAR_RIDGE_ABSOLUTE;
    opts.extremes = 0;
    opts.memory = la->memory;
    far_status st = far_system_create(la->ctx, &a, &opts, &p->system);
    if (st == FAR_ERR_SINGULAR) {
        st = far_fail(la->ctx, st,
                      "with a prior variance of %g the posterior is singular to working precision; "
                      "try a smaller one",
                      p->prior);
    }
    return st;
}

static far_status take_roots(const far_laplace *la, far_posterior *p)
{
    far_status st = far_alloc(la->ctx, p->matrix.rows, &p->roots);
    for (int64_t k = 0; st == FAR_OK && k < p->matrix.rows; k++) {
        p->roots[k] = 1 / sqrt(la->values[k] + 1 / p->prior);
    }
    return st;
}

far_status far_posterior_create(const far_laplace *la, int64_t side, double prior,
                                far_posterior **out)
{
    far_posterior *p = NULL;
    far_status st = FAR_OK;
    *out = NULL;
    FAR_TRY(far_alloc(la->ctx, 1, &p));
    *p = (far_posterior){.matrix = la->matrix, .prior = prior};
    p->matrix.rows = p->matrix.cols = side;
    FAR_TRY(la->values ? take_roots(la, p) : factor(la, p));
    *out = p;
    p = NULL;
done:
    far_posterior_destroy(la->ctx, p);
    return st;
}

far_status far_posterior_whiten(far_ctx *ctx, const far_posterior *p, far_mat *w)
{
    if (p->system) {
        return far_system_whiten(ctx, p->system, w);
    }
#pragma omp parallel for num_threads(far_ctx_threads(ctx)) schedule(static)
    for (int64_t k = 0; k < w->rows; k++) {
        double *row = far_mat_row(w, k);
        for (int64_t i = 0; i < w->cols; i++) {
            row[i] *= p->roots[k];
        }
    }
    return FAR_OK;
}

far_status far_posterior_effective(const far_laplace *la, const far_posterior *p, double *out)
{
    far_ctx *ctx = la->ctx;
    double *inverse = NULL, left = 0;
    int64_t side = p->matrix.rows;
    far_status st = FAR_OK;
    *out = 0;
    for (int64_t k = 0; la->values && k < side; k++) {
        *out += la->values[k] * p->roots[k] * p->roots[k];
    }
    if (la->values) {
        return FAR_OK;
    }
    FAR_TRY(far_alloc(ctx, side, &inverse));
    far_mat diagonal = far_mat_view(inverse, side, 1, FAR_F64);
    FAR_TRY(far_system_inverse_diagonal(ctx, p->system, &diagonal));
    for (int64_t i = 0; i < side; i++) {
        left += inverse[i] / p->prior;
    }
    *out = (double)side - left;
done:
    far_free(ctx, inverse);
    return st;
}
