/* The factor of a system with its prior. */
#include "laplace_internal.h"

void far_posterior_destroy(far_ctx *ctx, far_posterior *p)
{
    if (p) {
        far_system_destroy(p->system);
        far_free(ctx, p);
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

far_status far_posterior_create(const far_laplace *la, int64_t side, double prior,
                                far_posterior **out)
{
    far_posterior *p = NULL;
    far_status st = FAR_OK;
    *out = NULL;
    FAR_TRY(far_alloc(la->ctx, 1, &p));
    *p = (far_posterior){.matrix = la->matrix, .prior = prior};
    p->matrix.rows = p->matrix.cols = side;
    FAR_TRY(factor(la, p));
    *out = p;
    p = NULL;
done:
    far_posterior_destroy(la->ctx, p);
    return st;
}

far_status far_posterior_effective(far_ctx *ctx, const far_posterior *p, double *out)
{
    double *inverse = NULL, left = 0;
    int64_t side = p->matrix.rows;
    far_status st = FAR_OK;
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
