/* Predictors of every kind: the calls that they share. */
#include "predictor_internal.h"

#include "../net/net_internal.h"

#include <math.h>

static far_status wrap(far_ctx *ctx, const far_predictor_ops *ops, void *self, bool borrowed,
                       far_predictor **out)
{
    far_status st = far_alloc(ctx, 1, out);
    if (st == FAR_OK) {
        **out = (far_predictor){.ctx = ctx, .ops = ops, .self = self, .borrowed = borrowed};
        if (ops == &far_infinite_ops) {
            (*out)->model = far_model_describe(self);
        }
    }
    return st;
}

far_status far_predictor_own(far_ctx *ctx, const far_predictor_ops *ops, far_status st, void *self,
                             far_predictor **out)
{
    st = st == FAR_OK ? wrap(ctx, ops, self, false, out) : st;
    if (st != FAR_OK && self) {
        ops->destroy(self);
    }
    return st;
}

void far_predictor_destroy(far_predictor *p)
{
    if (p) {
        if (!p->borrowed) {
            p->ops->destroy(p->self);
        }
        far_free(p->ctx, p);
    }
}

far_status far_predictor_of_model(far_ctx *ctx, const far_model *m, far_predictor **out)
{
    return m && out ? wrap(ctx, &far_infinite_ops, (void *)m, true, out)
                    : far_fail(ctx, FAR_ERR_ARG, "the model or out is NULL");
}

far_status far_predictor_of_net(far_ctx *ctx, const far_net *net, far_predictor **out)
{
    return net && out ? wrap(ctx, &far_finite_ops, (void *)net, true, out)
                      : far_fail(ctx, FAR_ERR_ARG, "the network or out is NULL");
}

/* ---- asking -------------------------------------------------------------------------------- */

const far_columns *far_predictor_columns(const far_predictor *p)
{
    return p->ops->columns(p->self);
}

far_predictor_info far_predictor_describe(const far_predictor *p)
{
    const far_columns *c = far_predictor_columns(p);
    far_predictor_info info = {.kind = p->ops->kind,
                               .name = p->ops->name,
                               .inputs = c->info.inputs,
                               .outputs = c->info.outputs,
                               .members = 1,
                               .rows = -1,
                               .ridge = NAN,
                               .sealed = 1,
                               .columns = c,
                               .loo_r2 = NAN,
                               .loo_rmse = NAN};
    p->ops->describe(p->self, &info);
    return info;
}

const far_model_info *far_predictor_model(const far_predictor *p)
{
    return p->ops == &far_infinite_ops ? &p->model : NULL;
}

const far_net *far_predictor_net(const far_predictor *p)
{
    return p->ops == &far_finite_ops ? p->self : NULL;
}

/* ---- points -------------------------------------------------------------------------------- */

/* Raw points in the units of the columns; directions have no origin. */
static far_status standardize(far_ctx *ctx, const far_columns *c, const far_mat *x, bool directions,
                              double **out)
{
    const double *centre = far_input_centre(c), *scale = far_input_scale(c);
    far_status st = far_alloc(ctx, x->rows * x->cols, out);
    for (int64_t i = 0; st == FAR_OK && i < x->rows; i++) {
        const double *row = far_mat_row(x, i);
        for (int64_t j = 0; j < x->cols; j++) {
            (*out)[i * x->cols + j] = (row[j] - (directions ? 0 : centre[j])) / scale[j];
        }
    }
    return st;
}

static far_status check_points(far_ctx *ctx, const far_predictor *p, const far_mat *x,
                               const char *name)
{
    if (!p) {
        return far_fail(ctx, FAR_ERR_ARG, "the predictor is NULL");
    }
    return far_mat_expect(ctx, x, name, -1, far_predictor_columns(p)->info.inputs, FAR_F64);
}

far_status far_predictor_eval(far_ctx *ctx, const far_predictor *p, const far_mat *x, far_mat *out)
{
    far_status st;
    double *z = NULL;
    FAR_TRY(check_points(ctx, p, x, "x"));
    const far_columns *c = far_predictor_columns(p);
    FAR_TRY(far_mat_expect(ctx, out, "out", x->rows, c->info.outputs, FAR_F64));
    FAR_TRY(standardize(ctx, c, x, false, &z));
    far_mat points = far_mat_view(z, x->rows, x->cols, FAR_F64);
    FAR_TRY(p->ops->eval(ctx, p->self, &points, out));
done:
    far_free(ctx, z);
    return st;
}

far_status far_predictor_limit(far_ctx *ctx, const far_predictor *p, const far_mat *u,
                               far_mat *value, far_mat *order)
{
    far_status st;
    double *z = NULL;
    FAR_TRY(check_points(ctx, p, u, "u"));
    const far_columns *c = far_predictor_columns(p);
    FAR_TRY(far_mat_expect(ctx, value, "value", u->rows, c->info.outputs, FAR_F64));
    FAR_TRY(far_mat_expect(ctx, order, "order", u->rows, c->info.outputs, FAR_F64));
    FAR_TRY(standardize(ctx, c, u, true, &z));
    far_mat directions = far_mat_view(z, u->rows, u->cols, FAR_F64);
    FAR_TRY(p->ops->limit(ctx, p->self, &directions, value, order));
done:
    far_free(ctx, z);
    return st;
}

/* From standardised inputs to raw ones. */
static far_status to_raw_inputs(far_ctx *ctx, const far_columns *c, far_mat *out)
{
    const double *scale = far_input_scale(c);
    for (int64_t i = 0; i < out->rows; i++) {
        double *row = far_mat_row(out, i);
        for (int64_t k = 0; k < out->cols; k++) {
            row[k] /= scale[k % c->info.inputs];
            if (!isfinite(row[k])) {
                return far_fail(ctx, FAR_ERR_RANGE,
                                "row %lld: the gradient by input %lld is too large for a double",
                                (long long)i + 1, (long long)(k % c->info.inputs) + 1);
            }
        }
    }
    return FAR_OK;
}

far_status far_model_gradient(far_ctx *ctx, const far_predictor *p, const far_mat *x, far_mat *out)
{
    far_status st;
    double *z = NULL;
    FAR_TRY(check_points(ctx, p, x, "x"));
    const far_columns *c = far_predictor_columns(p);
    FAR_TRY(far_mat_expect(ctx, out, "out", x->rows, c->info.outputs * x->cols, FAR_F64));
    if (!p->ops->gradient) {
        st =
            far_fail(ctx, FAR_ERR_ARG,
                     "%s have no gradient: their outputs are steps; use `far_predictor_importance`",
                     p->ops->name);
        goto done;
    }
    FAR_TRY(standardize(ctx, c, x, false, &z));
    far_mat points = far_mat_view(z, x->rows, x->cols, FAR_F64);
    FAR_TRY(p->ops->gradient(ctx, p->self, &points, out));
    FAR_TRY(to_raw_inputs(ctx, c, out));
done:
    far_free(ctx, z);
    return st;
}

/* ---- rows of a table ----------------------------------------------------------------------- */

/* Kinds without a kernel have no spread, and their training is over. */
static far_status check_plain(far_ctx *ctx, const far_predict_opts *o)
{
    bool early = isfinite(o->time) || o->steps != 0 || o->rate != 0;
    return o->spread == FAR_SPREAD_NONE && !early
               ? FAR_OK
               : far_fail(ctx, FAR_ERR_ARG,
                          "a spread, a time and steps are for models of infinite width");
}

/* One order for each row: that of the output that grows fastest; slower ones vanish beside it. */
static void join_orders(const double *orders, far_prediction *p)
{
    int64_t outputs = p->mean.cols;
    for (int64_t i = 0; i < p->mean.rows; i++) {
        double most = 0, *mean = far_mat_row(&p->mean, i);
        const double *order = orders + i * outputs;
        for (int64_t k = 0; k < outputs; k++) {
            most = mean[k] != 0 ? fmax(most, order[k]) : most;
        }
        for (int64_t k = 0; k < outputs; k++) {
            mean[k] = order[k] == most ? mean[k] : 0;
        }
        ((double *)p->order.data)[i] = most;
    }
}

static far_status predict_points(far_ctx *ctx, const far_predictor *p, const far_mat *z,
                                 bool directions, const double *link, double floor,
                                 far_prediction *out)
{
    far_status st;
    double *orders = NULL;
    int64_t rows = out->mean.rows, outputs = out->mean.cols;
    if (!directions) {
        FAR_TRY(p->ops->eval(ctx, p->self, z, &out->mean));
    } else {
        FAR_TRY(far_alloc(ctx, rows * outputs, &orders));
        FAR_TRY(far_prediction_room(out, 1, &out->order));
        far_mat order = far_mat_view(orders, rows, outputs, FAR_F64);
        FAR_TRY(p->ops->limit(ctx, p->self, z, &out->mean, &order));
        join_orders(orders, out);
    }
    if (far_predictor_columns(p)->info.classes > 0) {
        FAR_TRY(far_prediction_scores(out, link, floor));
    }
done:
    far_free(ctx, orders);
    return st;
}

static bool has_trees(const far_predictor *p)
{
    far_predictor_info info = far_predictor_describe(p);
    bool any = info.kind == FAR_PREDICTOR_TREES;
    for (int64_t i = 0; info.kind == FAR_PREDICTOR_COMMITTEE && i < info.members; i++) {
        any |= has_trees(far_predictor_member(p, i));
    }
    return any;
}

/* Far along a direction networks forget the categories, which it does not have; trees do not. */
static far_status check_directions(far_ctx *ctx, const far_predictor *p, const far_predict_opts *o)
{
    const far_columns *c = far_predictor_columns(p);
    bool words = false;
    for (int64_t j = 0; c->features && j < c->info.features; j++) {
        words |= c->features[j].kind == FAR_COLUMN_WORD;
    }
    return o->at_infinity && words && has_trees(p)
               ? far_fail(ctx, FAR_ERR_ARG,
                          "the limits of trees depend on the categories, of which a direction has "
                          "none; predict rows far away instead")
               : FAR_OK;
}

far_status far_predict_plain(far_ctx *ctx, const far_predictor *p, const far_frame *frame,
                             const far_predict_opts *o, const double *link, double floor,
                             far_prediction **out)
{
    far_status st;
    const far_columns *c = far_predictor_columns(p);
    far_prediction *made = NULL;
    int64_t *index = NULL, rows;
    double *z = NULL;
    FAR_TRY(check_plain(ctx, o));
    FAR_TRY(check_directions(ctx, p, o));
    FAR_TRY(far_row_index(ctx, frame, o->rows, &index, &rows));
    FAR_TRY(far_alloc(ctx, rows * c->info.inputs, &z));
    FAR_TRY(far_prediction_create(ctx, rows, c->info.outputs, &made));
    FAR_TRY(far_columns_apply(ctx, c, frame, index, rows, o->at_infinity, z));
    far_mat points = far_mat_view(z, rows, c->info.inputs, FAR_F64);
    FAR_TRY(predict_points(ctx, p, &points, o->at_infinity, link, floor, made));
done:
    FAR_HAND_OVER(made, out, far_prediction_destroy);
    far_free(ctx, index);
    far_free(ctx, z);
    return st;
}

far_status far_predictor_predict(far_ctx *ctx, const far_predictor *p, const far_frame *frame,
                                 const far_predict_opts *opts, far_prediction **out)
{
    if (!p || !frame || !out || !opts || opts->size != sizeof *opts) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "predictor, frame or out is NULL, or opts not initialised");
    }
    *out = NULL;
    return p->ops->predict ? p->ops->predict(ctx, p->self, frame, opts, out)
                           : far_predict_plain(ctx, p, frame, opts, NULL, 0, out);
}

/* ---- certificates -------------------------------------------------------------------------- */

static far_status certify(far_ctx *ctx, const void *predictor, const far_certify_opts *opts,
                          far_certificate **out)
{
    const far_predictor *p = predictor;
    if (!isnan(opts->box_low) && far_predictor_describe(p).kind != FAR_PREDICTOR_FINITE) {
        return far_fail(ctx, FAR_ERR_ARG, "a box is for finite networks");
    }
    far_status st = p->ops->certify(ctx, p->self, opts, out);
    return st == FAR_OK ? far_certificate_of_rows(ctx, p, opts, *out) : st;
}

far_status far_predictor_certify(far_ctx *ctx, const far_predictor *p, const far_certify_opts *opts,
                                 far_certificate **out)
{
    return far_certificate_make(ctx, "predictor", p, certify, opts, out);
}

far_status far_predictor_check_within(far_ctx *ctx, const far_predictor *p, const char *json,
                                      double seconds)
{
    return p->ops->check(ctx, p->self, json, seconds);
}

far_status far_certificate_check(far_ctx *ctx, const far_predictor *p, const char *json)
{
    return p && json ? far_predictor_check_within(ctx, p, json, FAR_PROOF_CHECK_SECONDS)
                     : far_fail(ctx, FAR_ERR_ARG, "the predictor or the certificate is NULL");
}

/* ---- files --------------------------------------------------------------------------------- */

far_status far_predictor_save(far_ctx *ctx, const far_predictor *p, const char *path)
{
    return p ? far_output_save(ctx, path, p->self, p->ops->write)
             : far_fail(ctx, FAR_ERR_ARG, "the predictor is NULL");
}
