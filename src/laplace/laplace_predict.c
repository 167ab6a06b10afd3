/* Mean and covariance at new points; how far features are from the kernel. */
#include "laplace_internal.h"

#include <math.h>
#include <string.h>

static void copy_rows(const double *from, int64_t first, int64_t rows, far_mat *to)
{
    for (int64_t i = 0; i < rows; i++) {
        memcpy(far_mat_row(to, first + i), from + i * to->cols, (size_t)to->cols * sizeof(double));
    }
}

typedef struct spread {
    const far_laplace *la;
    far_mat *covariance;
} spread;

static far_status predict_covariance(void *user, const far_mat *x, int64_t first)
{
    const spread *s = user;
    const far_laplace *la = s->la;
    const far_posterior *posterior = la->posterior;
    int64_t classes = la->info.outputs;
    double *blocks = NULL;
    far_projection p = {0};
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(la->ctx, x->rows * classes * classes, &blocks));
    if (la->values) {
        FAR_TRY(far_blocks_covariance(la, &posterior, 1, x, blocks, 0));
    } else {
        FAR_TRY(far_projection_create(la, x, la->info.side, &p));
        FAR_TRY(far_projection_spread(la, posterior, &p, blocks));
    }
    copy_rows(blocks, first * classes, x->rows * classes, s->covariance);
done:
    far_projection_clear(&p);
    far_free(la->ctx, blocks);
    return st;
}

/* A few points at a time. */
static far_status predict_covariances(const far_laplace *la, const far_mat *x, far_mat *covariance)
{
    spread s = {la, covariance};
    int64_t chunk = far_laplace_chunk(la, la->values ? 1 : la->info.side, x->rows);
    far_status st = far_laplace_walk(la, "laplace", x, chunk, predict_covariance, &s);
    return st == FAR_OK ? far_progress(la->ctx, "laplace", x->rows, x->rows) : st;
}

static far_status predict_mean(const far_laplace *la, const far_mat *x, far_mat *mean)
{
    far_status st = far_net_eval(la->ctx, la->net, x, mean);
    return st == FAR_OK ? far_check_finite(la->ctx, mean, "the network's outputs") : st;
}

/* Both from one pass through the network. */
static far_status predict_last(const far_laplace *la, const far_mat *x, far_mat *mean,
                               far_mat *covariance)
{
    double *outputs = NULL;
    far_status st = FAR_OK;
    FAR_TRY(mean ? far_alloc(la->ctx, x->rows * mean->cols, &outputs) : FAR_OK);
    FAR_TRY(far_last_covariance(la, la->posterior, x, outputs, covariance));
    if (mean) {
        copy_rows(outputs, 0, x->rows, mean);
    }
done:
    far_free(la->ctx, outputs);
    return st;
}

far_status far_laplace_predict(far_ctx *ctx, const far_laplace *la, const far_mat *x, far_mat *mean,
                               far_mat *covariance)
{
    far_status st = FAR_OK;
    FAR_TRY(far_laplace_check(ctx, la, x));
    int64_t classes = la->info.outputs;
    if (mean) {
        FAR_TRY(far_check_matrix(ctx, mean, "mean", x->rows, classes));
    }
    if (covariance) {
        FAR_TRY(far_check_matrix(ctx, covariance, "covariance", x->rows * classes, classes));
    }
    if (covariance && far_last_spreads(la, x->rows)) {
        return predict_last(la, x, mean, covariance);
    }
    FAR_TRY(mean ? predict_mean(la, x, mean) : FAR_OK);
    FAR_TRY(covariance ? predict_covariances(la, x, covariance) : FAR_OK);
done:
    return st;
}

/* ---- all pairs ----------------------------------------------------------------------------- */

/* out += factor v' v; v side x m C. */
static far_status add_products(far_ctx *ctx, const double *v, int64_t side, double factor,
                               far_mat *out)
{
    int64_t n = out->rows;
    double *turned = NULL, *product = NULL;
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(ctx, side * n, &turned));
    FAR_TRY(far_alloc(ctx, n * n, &product));
    far_mat right = far_mat_view((void *)v, side, n, FAR_F64);
    far_mat left = far_mat_view(turned, n, side, FAR_F64);
    far_mat both = far_mat_view(product, n, n, FAR_F64);
    far_transpose(ctx, &right, turned);
    FAR_TRY(far_multiply(ctx, &left, &right, &both));
    for (int64_t i = 0; i < n; i++) {
        double *row = far_mat_row(out, i);
        for (int64_t j = 0; j < n; j++) {
            row[j] += factor * product[i * n + j];
        }
    }
done:
    far_free(ctx, turned);
    far_free(ctx, product);
    return st;
}

/* out = factor K */
static far_status fill_kernel(const far_laplace *la, const far_mat *x, double factor, far_mat *out)
{
    far_ntk_opts opts;
    opts = (far_ntk_opts){.size = sizeof opts};
    opts.outputs = FAR_NTK_FULL;
    opts.memory = la->memory;
    far_status st = factor != 0 ? far_net_ntk(la->ctx, la->net, x, NULL, &opts, out) : FAR_OK;
    for (int64_t i = 0; st == FAR_OK && i < out->rows; i++) {
        double *row = far_mat_row(out, i);
        for (int64_t j = 0; j < out->cols; j++) {
            row[j] = factor != 0 ? factor * row[j] : 0;
        }
    }
    return st;
}

static far_status fill_joint(const far_laplace *la, const far_mat *x, far_mat *out)
{
    int64_t side = la->info.side, cols = out->cols;
    far_blend blend = far_laplace_blend(la, la->info.prior);
    double *z = NULL;
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(la->ctx, side * cols, &z));
    far_mat w = far_mat_view(z, side, cols, FAR_F64);
    FAR_TRY(far_laplace_project(la, x, side, z));
    FAR_TRY(fill_kernel(la, x, blend.kernel, out));
    FAR_TRY(blend.projected != 0 ? add_products(la->ctx, z, side, blend.projected, out) : FAR_OK);
    FAR_TRY(far_posterior_whiten(la->ctx, la->posterior, &w));
    FAR_TRY(add_products(la->ctx, z, side, blend.whitened, out));
done:
    far_free(la->ctx, z);
    return st;
}

static far_status check_joint(const far_laplace *la, const far_mat *x)
{
    double cols = (double)x->rows * (double)la->info.outputs;
    double bytes = 8 * cols * (cols + 2 * (double)la->info.side);
    return far_budget_check(la->ctx, "the joint covariance", bytes, la->memory);
}

far_status far_laplace_joint(far_ctx *ctx, const far_laplace *la, const far_mat *x, far_mat *out)
{
    far_status st = FAR_OK;
    FAR_TRY(far_laplace_check(ctx, la, x));
    int64_t side = x->rows * la->info.outputs;
    FAR_TRY(far_check_matrix(ctx, out, "out", side, side));
    FAR_TRY(check_joint(la, x));
    FAR_TRY(far_progress(ctx, "laplace", 0, x->rows));
    far_progress_hold(ctx);
    st = fill_joint(la, x, out);
    far_progress_release(ctx);
    FAR_TRY(st);
    FAR_TRY(far_progress(ctx, "laplace", x->rows, x->rows));
done:
    return st;
}

/* ---- errors of the features ---------------------------------------------------------------- */

/* |a|: the largest of the eigenvalues' sizes. */
static far_status spectral_norm(const far_laplace *la, far_mat *a, double *out)
{
    double up, down;
    far_status st = FAR_OK;
    FAR_TRY(far_largest_eigenvalue(la->ctx, a, la->memory, &up));
    for (int64_t i = 0; i < a->rows * a->cols; i++) {
        ((double *)a->data)[i] = -((double *)a->data)[i];
    }
    FAR_TRY(far_largest_eigenvalue(la->ctx, a, la->memory, &down));
    *out = fmax(up, down);
done:
    return st;
}

static far_status kernel_error(const far_laplace *la, const far_mat *x, far_mat *k, double *out)
{
    int64_t side = la->info.side;
    double whole, rest, *z = NULL;
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(la->ctx, side * k->cols, &z));
    FAR_TRY(far_laplace_project(la, x, side, z));
    FAR_TRY(fill_kernel(la, x, 1, k));
    FAR_TRY(far_largest_eigenvalue(la->ctx, k, la->memory, &whole));
    FAR_TRY(add_products(la->ctx, z, side, -1, k));
    FAR_TRY(spectral_norm(la, k, &rest));
    *out = whole > 0 ? rest / whole : 0;
done:
    far_free(la->ctx, z);
    return st;
}

static far_status posterior_error(const far_laplace *la, const far_laplace *exact, const far_mat *x,
                                  far_mat *k, double *out)
{
    double whole, rest, *other = NULL;
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(la->ctx, k->rows * k->cols, &other));
    far_mat mine = far_mat_view(other, k->rows, k->cols, FAR_F64);
    FAR_TRY(fill_joint(exact, x, k));
    FAR_TRY(fill_joint(la, x, &mine));
    FAR_TRY(far_largest_eigenvalue(la->ctx, k, la->memory, &whole));
    for (int64_t i = 0; i < k->rows * k->cols; i++) {
        other[i] -= ((const double *)k->data)[i];
    }
    FAR_TRY(spectral_norm(la, &mine, &rest));
    *out = whole > 0 ? rest / whole : 0;
done:
    far_free(la->ctx, other);
    return st;
}

static far_status check_nystrom(far_ctx *ctx, const far_laplace *la, const far_laplace *exact,
                                const far_nystrom_error *out)
{
    if (!out) {
        return far_fail(ctx, FAR_ERR_ARG, "out must not be NULL");
    }
    if (la->info.system != FAR_LAPLACE_FEATURES ||
        (exact && exact->info.method != FAR_LAPLACE_EXACT)) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "the approximation must be by features (ELLA) and `exact` exact");
    }
    if (exact && (exact->info.outputs != la->info.outputs ||
                  exact->info.parameters != la->info.parameters)) {
        return far_fail(ctx, FAR_ERR_SHAPE, "the two approximations are of different networks");
    }
    return FAR_OK;
}

far_status far_laplace_nystrom(far_ctx *ctx, const far_laplace *la, const far_laplace *exact,
                               const far_mat *x, far_nystrom_error *out)
{
    double *numbers = NULL;
    far_nystrom_error error = {.posterior = NAN};
    far_status st = FAR_OK;
    FAR_TRY(far_laplace_check(ctx, la, x));
    FAR_TRY(check_nystrom(ctx, la, exact, out));
    int64_t side = x->rows * la->info.outputs;
    FAR_TRY(check_joint(la, x));
    FAR_TRY(far_alloc(ctx, side * side, &numbers));
    far_mat k = far_mat_view(numbers, side, side, FAR_F64);
    FAR_TRY(far_progress(ctx, "laplace", 0, 2));
    far_progress_hold(ctx);
    st = kernel_error(la, x, &k, &error.kernel);
    st = st == FAR_OK && exact ? posterior_error(la, exact, x, &k, &error.posterior) : st;
    far_progress_release(ctx);
    FAR_TRY(st);
    *out = error;
done:
    far_free(ctx, numbers);
    return st;
}
