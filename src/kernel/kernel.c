#include "plan.h"
#include "points.h"

#include <math.h>

static far_status check_opts(far_ctx *ctx, const far_kernel_opts *opts)
{
    if (opts->size != sizeof *opts) {
        return far_fail(ctx, FAR_ERR_ARG, "opts->size is not sizeof(far_kernel_opts)");
    }
    if (opts->param != FAR_PARAM_NTK && opts->param != FAR_PARAM_STANDARD) {
        return far_fail(ctx, FAR_ERR_ARG, "unknown parametrisation %d", opts->param);
    }
    return FAR_OK;
}

far_status far_kernel_create(far_ctx *ctx, const char *arch, const far_kernel_opts *opts,
                             far_kernel **out)
{
    far_kernel_opts chosen;
    far_kernel *k = NULL;
    far_status st;
    if (out) {
        *out = NULL;
    }
    if (!ctx || !arch || !out) {
        return far_fail(ctx, FAR_ERR_ARG, "context, architecture and output must not be NULL");
    }
    chosen = (far_kernel_opts){.size = sizeof chosen};
    if (opts) {
        FAR_TRY(check_opts(ctx, opts));
        chosen = *opts;
    }
    FAR_TRY(far_alloc(ctx, 1, &k));
    *k = (far_kernel){.ctx = ctx, .param = (far_param)chosen.param};
    FAR_TRY(far_arch_parse(ctx, arch, &k->arch));
    FAR_TRY(far_plan_create(ctx, k->arch, arch, k->param, &k->plan));
done:
    FAR_HAND_OVER(k, out, far_kernel_destroy);
    return st;
}

void far_kernel_destroy(far_kernel *k)
{
    if (k) {
        far_plan_destroy(k->ctx, k->plan);
        far_arch_destroy(k->arch);
        far_free(k->ctx, k);
    }
}

const char *far_kernel_text(const far_kernel *k)
{
    return far_arch_text(k->arch);
}

double far_kernel_tolerance(const far_kernel *k)
{
    return k->plan->tolerance;
}

static far_status check_column(far_ctx *ctx, const far_mat *m, const char *name, const far_mat *x)
{
    if (!m) {
        return FAR_OK;
    }
    far_status st = far_mat_check(ctx, m, name);
    if (st == FAR_OK && (m->rows != x->rows || m->cols != 1)) {
        st = far_fail(ctx, FAR_ERR_SHAPE, "%s is %lld x %lld but must be %lld x 1", name,
                      (long long)m->rows, (long long)m->cols, (long long)x->rows);
    }
    if (st == FAR_OK && m->dtype != x->dtype) {
        st = far_fail(ctx, FAR_ERR_ARG, "%s must have the dtype of x", name);
    }
    return st;
}

/* FAR_ERR_RANGE if it does not fit; st: of the rows before. */
static far_status write_column(far_ctx *ctx, far_mat *m, int64_t i, far_big value,
                               const char *kernel, far_status st)
{
    void *at = far_mat_row(m, i);
    bool single = m->dtype == FAR_F32, finite;
    if (single) {
        *(float *)at = (float)far_big_coef(value);
        finite = isfinite(*(float *)at);
    } else {
        *(double *)at = (double)far_big_coef(value);
        finite = isfinite(*(double *)at);
    }
    return finite || st
               ? st
               : far_fail(ctx, FAR_ERR_RANGE,
                          "x: row %lld: %s(x, x) is too large for float%d; scale the point down, "
                          "or put a norm in the network",
                          (long long)i + 1, kernel, single ? 32 : 64);
}

far_status far_kernel_diag(far_ctx *ctx, const far_kernel *k, const far_mat *x, far_mat *nngp,
                           far_mat *ntk)
{
    far_points points = {0};
    far_status st;
    if (!ctx || !k) {
        return far_fail(ctx, FAR_ERR_ARG, "the context and the kernel must not be NULL");
    }
    FAR_TRY(far_mat_check(ctx, x, "x"));
    FAR_TRY(check_column(ctx, nngp, "nngp", x));
    FAR_TRY(check_column(ctx, ntk, "ntk", x));
    FAR_TRY(far_points_create(ctx, k->plan, x, "x", false, &points));
    FAR_TRY(far_points_survey(k->plan, &points));
    for (int64_t i = 0; i < x->rows; i++) {
        if (nngp) {
            st = write_column(ctx, nngp, i, far_big_square(points.r[i]), "K", st);
        }
        if (ntk) {
            st = write_column(ctx, ntk, i, points.theta[i], "Theta", st);
        }
    }
done:
    far_points_clear(&points);
    return st;
}
