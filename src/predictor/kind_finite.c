/* A finite network as a predictor. */
#include "../certify/net_certify.h"
#include "../net/net_file.h"
#include "../net/net_internal.h"
#include "predictor_internal.h"

static void destroy(void *self)
{
    far_net_destroy(self);
}

static void describe(const void *self, far_predictor_info *out)
{
    out->arch = ((const far_net *)self)->text;
    out->sealed = ((const far_net *)self)->info.sealed;
}

static const far_columns *columns(const void *self)
{
    return ((const far_net *)self)->columns;
}

/* From the network's own units to raw ones: a value has a centre, a slope has none. */
static void to_raw(const far_columns *c, const far_mat *order, far_mat *values)
{
    const double *centre = far_output_centre(c), *scale = far_output_scale(c);
    for (int64_t i = 0; i < values->rows; i++) {
        double *row = far_mat_row(values, i);
        const double *powers = order ? far_mat_row(order, i) : NULL;
        for (int64_t k = 0; k < values->cols; k++) {
            row[k] = scale[k] * row[k] + (!powers || powers[k] == 0 ? centre[k] : 0);
        }
    }
}

static far_status eval(far_ctx *ctx, const void *self, const far_mat *z, far_mat *out)
{
    far_status st = far_net_eval(ctx, self, z, out);
    if (st == FAR_OK) {
        to_raw(columns(self), NULL, out);
    }
    return st;
}

static far_status limit(far_ctx *ctx, const void *self, const far_mat *u, far_mat *value,
                        far_mat *order)
{
    far_status st = far_net_limit(ctx, self, u, value, order, NULL);
    if (st == FAR_OK) {
        to_raw(columns(self), order, value);
    }
    return st;
}

/* Backwards once for each output. */
static far_status gradient(far_ctx *ctx, const void *self, const far_mat *z, far_mat *out)
{
    const far_net *net = self;
    int64_t p = net->info.outputs, d = z->cols;
    double *unit = NULL;
    far_status st;
    if (net->info.vocabulary > 0) {
        return far_fail(ctx, FAR_ERR_ARG, "tokens are whole numbers: there is no gradient by them");
    }
    FAR_TRY(far_alloc(ctx, z->rows * p, &unit));
    far_mat u = far_mat_view(unit, z->rows, p, FAR_F64);
    for (int64_t k = 0; k < p; k++) {
        far_mat part = {.data = (double *)out->data + k * d,
                        .rows = out->rows,
                        .cols = d,
                        .ld = out->ld,
                        .dtype = FAR_F64};
        for (int64_t i = 0; i < z->rows * p; i++) {
            unit[i] = i % p == k ? far_output_scale(net->columns)[k] : 0;
        }
        FAR_TRY(far_net_vjp(ctx, net, z, &u, NULL, &part));
    }
done:
    far_free(ctx, unit);
    return st;
}

static far_status predict(far_ctx *ctx, const void *self, const far_frame *frame,
                          const far_predict_opts *opts, far_prediction **out)
{
    return far_net_predict(ctx, self, frame, opts, out);
}

static far_status certify(far_ctx *ctx, const void *self, const far_certify_opts *opts,
                          far_certificate **out)
{
    return far_net_certify(ctx, self, opts, out);
}

static far_status found(far_ctx *ctx, const void *self, int64_t k, const double *raw, bool infinite,
                        const far_bound *b, double *out)
{
    far_net_plan *plan = NULL;
    far_certificate *closed = NULL;
    far_net_value value = {0};
    far_range range = {b->lowest, b->highest};
    if (far_net_shaped(self)) {
        far_status st = far_shape_found(ctx, self, k, raw, range, &value);
        *out = value.value;
        return st;
    }
    far_status st = far_net_closed_bounds(ctx, self, &plan, &closed); /* enclosures rest on them */
    st = st == FAR_OK ? far_net_found(plan, k, raw, infinite, range, &value) : st;
    *out = value.value;
    far_net_plan_destroy(plan);
    far_certificate_destroy(closed);
    return st;
}

static far_status check(far_ctx *ctx, const void *self, const char *json, double seconds)
{
    return far_net_certificate_check(ctx, self, json, seconds);
}

static far_status save(const void *self, far_output *out)
{
    return far_net_write(self, out);
}

static void share(const void *self, const double *scores, double *out)
{
    far_net_share(columns(self), scores, out);
}

const far_predictor_ops far_finite_ops =
    FAR_PREDICTOR_OPS(FAR_PREDICTOR_FINITE, "finite", .gradient = gradient, .predict = predict,
                      .found = found, .share = share);
