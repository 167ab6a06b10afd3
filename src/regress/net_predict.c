/* Predictions of a finite network for the rows of a table, in the units of its targets. */
#include "../net/net_internal.h"
#include "regress_internal.h"

#include <math.h>
#include <string.h>

typedef struct job {
    far_ctx *ctx;
    const far_net *net;
    double *raw;    /* rows x outputs of the network, in its own units */
    double *orders; /* the same, at infinity; else NULL */
} job;

static far_status check_opts(far_ctx *ctx, const far_net *net, const far_frame *frame,
                             const far_predict_opts *o)
{
    if (!net || !frame || !o || o->size != sizeof *o) {
        return far_fail(ctx, FAR_ERR_ARG, "network or frame is NULL, or opts not initialised");
    }
    if (o->spread != FAR_SPREAD_NONE) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "one finite network has no spread; train several (`seeds`) and compare "
                        "them");
    }
    if (isfinite(o->time) || o->steps != 0 || o->rate != 0) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "times and steps are for models of infinite width; a finite network "
                        "predicts with the weights it has");
    }
    if (o->memory != 0) {
        return far_fail(ctx, FAR_ERR_ARG, "`memory` is for models of infinite width");
    }
    return FAR_OK;
}

/* ---- classes ------------------------------------------------------------------------------- */

static double sigmoid(double z)
{
    return z >= 0 ? 1 / (1 + exp(-z)) : exp(z) / (1 + exp(z));
}

/* How output k compares as t grows: by its power of t with the sign it has, then by the factor. */
static bool grows_faster(const double *order, const double *value, int64_t a, int64_t b)
{
    double p = order[a] > 0 ? copysign(order[a], value[a]) : 0;
    double q = order[b] > 0 ? copysign(order[b], value[b]) : 0;
    return p > q || (p == q && p != 0 && value[a] > value[b]);
}

static int64_t fastest(const double *order, const double *value, int64_t count)
{
    int64_t best = 0;
    for (int64_t k = 1; order && k < count; k++) {
        best = grows_faster(order, value, k, best) ? k : best;
    }
    return best;
}

/* Of outputs that grow without end the fastest takes all (several share it); among outputs that
 * stay finite it is the usual softmax. order NULL: all stay. */
static void softmax(const double *order, const double *value, int64_t count, double *out)
{
    int64_t best = fastest(order, value, count);
    bool finite = !order || !(order[best] > 0);
    for (int64_t k = 0; k < count; k++) {
        bool loses = order && grows_faster(order, value, best, k);
        out[k] = loses ? -INFINITY : finite ? value[k] : 0;
    }
    far_softmax(out, count);
}

/* sigmoid of a value t^order as t grows. */
static double sigmoid_at(const double *order, const double *value, int64_t k)
{
    if (order && order[k] > 0 && value[k] != 0) {
        return value[k] > 0;
    }
    return sigmoid(order && order[k] > 0 ? 0 : value[k]);
}

/* ---- a row --------------------------------------------------------------------------------- */

/* The largest power of t among the outputs; those of a smaller one vanish beside it. */
static double row_order(const double *order, const double *value, int64_t count)
{
    double most = 0;
    for (int64_t k = 0; k < count; k++) {
        most = value[k] != 0 ? fmax(most, order[k]) : most;
    }
    return most;
}

static void finish_numbers(const job *j, const double *value, const double *order, double *mean,
                           double *power)
{
    const far_columns *c = j->net->columns;
    const double *centre = far_output_centre(c), *scale = far_output_scale(c);
    int64_t count = j->net->info.outputs;
    double most = order ? row_order(order, value, count) : 0;
    for (int64_t k = 0; k < count; k++) {
        bool counts = !order || most == 0 || order[k] == most;
        mean[k] = (counts ? scale[k] * value[k] : 0) + (most > 0 ? 0 : centre[k]);
    }
    if (power) {
        *power = most;
    }
}

/* Where a logit leaves the others so far behind that a double holds nothing else: a probability is
 * not 0 or 1 all the same. Limits may be. */
static void leave_a_doubt(double *p, int64_t count)
{
    const double least = 1e-15;
    bool certain = false;
    for (int64_t k = 0; k < count; k++) {
        certain = certain || p[k] < least;
    }
    for (int64_t k = 0; certain && k < count; k++) {
        p[k] = (1 - (double)count * least) * p[k] + least;
    }
}

static bool has_logits(const far_columns *c)
{
    return c->info.loss == FAR_LOSS_CE || c->info.loss == FAR_LOSS_BCE;
}

static void share(const far_columns *c, const double *order, const double *value, double *out)
{
    if (c->info.loss == FAR_LOSS_CE) {
        softmax(order, value, c->info.outputs, out);
    } else if (c->info.classes > 0 && c->info.outputs == 1) {
        out[1] = sigmoid_at(order, value, 0);
        out[0] = 1 - out[1];
    } else {
        for (int64_t k = 0; k < c->info.outputs; k++) {
            out[k] = sigmoid_at(order, value, k);
        }
        return;
    }
    if (!order) {
        leave_a_doubt(out, far_columns_predicted(c));
    }
}

void far_net_share(const far_columns *c, const double *scores, double *out)
{
    if (has_logits(c)) {
        share(c, NULL, scores, out);
    } else if (c->info.classes > 0) { /* trained on their indicators by squares */
        far_scores_share(NULL, 0, scores, c->info.outputs, out);
        leave_a_doubt(out, c->info.outputs);
    } else {
        memcpy(out, scores, (size_t)c->info.outputs * sizeof *out);
    }
}

/* Probabilities have a limit whatever the outputs do. */
static void finish_row(const job *j, const double *value, const double *order, double *mean,
                       double *power)
{
    if (!has_logits(j->net->columns)) {
        finish_numbers(j, value, order, mean, power);
        return;
    }
    if (power) {
        *power = 0;
    }
    share(j->net->columns, order, value, mean);
}

static far_status check_row(far_ctx *ctx, const double *values, int64_t count, int64_t row)
{
    for (int64_t k = 0; k < count; k++) {
        if (!isfinite(values[k])) {
            return far_fail(ctx, FAR_ERR_RANGE,
                            "row %lld: the prediction is too large for a double; this network's "
                            "output runs away there",
                            (long long)row + 1);
        }
    }
    return FAR_OK;
}

static far_status finish(const job *j, const int64_t *index, far_prediction *p)
{
    far_status st = FAR_OK;
    int64_t count = j->net->info.outputs;
    double *powers = p->order.data;
    for (int64_t i = 0; i < p->mean.rows; i++) {
        const double *value = j->raw + i * count, *order = j->orders ? j->orders + i * count : NULL;
        double *mean = far_mat_row(&p->mean, i);
        FAR_TRY(check_row(j->ctx, value, count, index[i]));
        finish_row(j, value, order, mean, powers ? &powers[i] : NULL);
        FAR_TRY(check_row(j->ctx, mean, p->mean.cols, index[i]));
    }
done:
    return st;
}

/* ---- all rows ------------------------------------------------------------------------------ */

static far_status find_limits(job *j, const far_mat *u, far_mat *raw, far_prediction *p)
{
    far_status st;
    FAR_TRY(far_alloc(j->ctx, raw->rows * raw->cols, &j->orders));
    FAR_TRY(far_prediction_room(p, 1, &p->order));
    far_mat orders = far_mat_view(j->orders, raw->rows, raw->cols, FAR_F64);
    FAR_TRY(far_net_limit(j->ctx, j->net, u, raw, &orders, NULL));
done:
    return st;
}

/* Scores of indicators: the nearest probabilities. */
static far_status share_scores(far_prediction *p)
{
    far_status st = far_prediction_scores(p, NULL, 0);
    for (int64_t i = 0; st == FAR_OK && !p->order.data && i < p->mean.rows; i++) {
        leave_a_doubt(far_mat_row(&p->probability, i), p->mean.cols);
    }
    return st;
}

static far_status add_probabilities(const job *j, far_prediction *p)
{
    const far_columns *c = j->net->columns;
    if (c->info.classes == 0) {
        return FAR_OK;
    }
    if (!has_logits(c)) {
        return share_scores(p);
    }
    far_status st = far_prediction_room(p, p->mean.cols, &p->probability);
    if (st == FAR_OK) {
        memcpy(p->probability.data, p->mean.data,
               (size_t)(p->mean.rows * p->mean.cols) * sizeof(double));
    }
    return st == FAR_OK ? far_prediction_classes(p) : st;
}

static far_status predict(job *j, const far_frame *frame, const far_predict_opts *o,
                          far_prediction **out)
{
    far_status st;
    far_prediction *p = NULL;
    const far_columns *columns = j->net->columns;
    int64_t *index = NULL, rows, d = j->net->info.inputs, outputs = j->net->info.outputs;
    double *points = NULL;
    FAR_TRY(far_row_index(j->ctx, frame, o->rows, &index, &rows));
    FAR_TRY(far_alloc(j->ctx, rows * d, &points));
    FAR_TRY(far_alloc(j->ctx, rows * outputs, &j->raw));
    FAR_TRY(far_prediction_create(j->ctx, rows, far_columns_predicted(columns), &p));
    FAR_TRY(far_columns_apply(j->ctx, columns, frame, index, rows, o->at_infinity, points));
    far_mat x = far_mat_view(points, rows, d, FAR_F64);
    far_mat raw = far_mat_view(j->raw, rows, outputs, FAR_F64);
    FAR_TRY(o->at_infinity ? find_limits(j, &x, &raw, p) : far_net_eval(j->ctx, j->net, &x, &raw));
    FAR_TRY(finish(j, index, p));
    FAR_TRY(add_probabilities(j, p));
done:
    FAR_HAND_OVER(p, out, far_prediction_destroy);
    far_free(j->ctx, index);
    far_free(j->ctx, points);
    return st;
}

far_status far_net_predict(far_ctx *ctx, const far_net *net, const far_frame *frame,
                           const far_predict_opts *opts, far_prediction **out)
{
    far_status st;
    job j = {.ctx = ctx, .net = net};
    if (!out) {
        return far_fail(ctx, FAR_ERR_ARG, "out is NULL");
    }
    *out = NULL;
    FAR_TRY(check_opts(ctx, net, frame, opts));
    FAR_TRY(predict(&j, frame, opts, out));
done:
    far_free(ctx, j.raw);
    far_free(ctx, j.orders);
    return st;
}
