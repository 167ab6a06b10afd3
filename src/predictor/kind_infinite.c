/* A network of infinite width as a predictor. */
#include "../certify/certify_internal.h"
#include "../regress/model_file.h"
#include "predictor_internal.h"

static void destroy(void *self)
{
    far_model_destroy(self);
}

static void describe(const void *self, far_predictor_info *out)
{
    const far_model *m = self;
    out->arch = m->arch;
    out->rows = m->info.rows;
    out->ridge = m->info.ridge_relative;
    out->sealed = m->info.sealed;
}

static const far_columns *columns(const void *self)
{
    return ((const far_model *)self)->columns;
}

static far_status eval(far_ctx *ctx, const void *self, const far_mat *z, far_mat *out)
{
    return far_model_eval(ctx, self, z, out);
}

/* All outputs of a row grow with the same power of t. */
static far_status limit(far_ctx *ctx, const void *self, const far_mat *u, far_mat *value,
                        far_mat *order)
{
    double *orders = NULL;
    far_status st = far_alloc(ctx, u->rows, &orders);
    far_mat one = far_mat_view(orders, u->rows, 1, FAR_F64);
    st = st == FAR_OK ? far_model_limit(ctx, self, u, value, &one) : st;
    for (int64_t i = 0; st == FAR_OK && i < u->rows; i++) {
        for (int64_t k = 0; k < order->cols; k++) {
            ((double *)far_mat_row(order, i))[k] = orders[i];
        }
    }
    far_free(ctx, orders);
    return st;
}

static far_status gradient(far_ctx *ctx, const void *self, const far_mat *z, far_mat *out)
{
    return far_model_slopes(ctx, self, z, out);
}

static far_status predict(far_ctx *ctx, const void *self, const far_frame *frame,
                          const far_predict_opts *opts, far_prediction **out)
{
    return far_model_predict(ctx, self, frame, opts, out);
}

static far_status certify(far_ctx *ctx, const void *self, const far_certify_opts *opts,
                          far_certificate **out)
{
    return far_model_certify(ctx, self, opts, out);
}

static far_status check(far_ctx *ctx, const void *self, const char *json, double seconds)
{
    return far_model_certificate_check(ctx, self, json, seconds);
}

static far_status save(const void *self, far_output *out)
{
    return far_model_write(self, out);
}

static void share(const void *self, const double *scores, double *out)
{
    const far_model *m = self;
    far_scores_share(m->link, far_class_floor(m->info.rows), scores, m->info.outputs, out);
}

const far_predictor_ops far_infinite_ops = FAR_PREDICTOR_OPS(
    FAR_PREDICTOR_INFINITE, "infinite", .gradient = gradient, .predict = predict, .share = share);
