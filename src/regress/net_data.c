/* A table as the inputs and targets of a network. */
#include "model_file.h"
#include "net_columns.h"

#include <math.h>
#include <string.h>

struct far_net_data {
    far_ctx *ctx;
    far_model *model; /* what far_model_fit would learn about the data: encoder, targets, x, y */
    int32_t loss;
    int64_t outputs;
    double *classes; /* rows x outputs, the targets of a classification; NULL: those of the model */
};

void far_net_data_opts_init(far_net_data_opts *opts)
{
    *opts = (far_net_data_opts){.size = sizeof *opts};
}

static far_status check_opts(far_ctx *ctx, const far_frame *frame, const far_net_data_opts *o)
{
    if (!frame || !o || o->size != sizeof *o) {
        return far_fail(ctx, FAR_ERR_ARG, "frame is NULL or opts not initialised");
    }
    if (!o->target || !*o->target) {
        return far_fail(ctx, FAR_ERR_ARG, "no target column was named");
    }
    if (o->task < FAR_TASK_AUTO || o->task > FAR_TASK_CLASSIFY || o->loss < FAR_LOSS_MSE ||
        o->loss > FAR_LOSS_CE || o->standardize < FAR_STANDARDIZE_BOTH ||
        o->standardize > FAR_STANDARDIZE_NONE) {
        return far_fail(ctx, FAR_ERR_ARG, "task, loss or standardize is none of those there are");
    }
    if (o->task == FAR_TASK_REGRESS && o->loss == FAR_LOSS_CE) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "the loss ce is for classes; regress with mse or bce (--loss), or classify "
                        "(--task classify)");
    }
    return FAR_OK;
}

/* ---- what kind of task --------------------------------------------------------------------- */

/* bce of several targets is a regression: each is a probability of its own. */
static far_status decide_task(far_ctx *ctx, const far_frame *frame, const far_net_data_opts *o,
                              int32_t *task)
{
    int64_t *cols = NULL, count = 0;
    far_status st = FAR_OK;
    *task = o->task == FAR_TASK_AUTO && o->loss == FAR_LOSS_CE ? FAR_TASK_CLASSIFY : o->task;
    if (o->task == FAR_TASK_AUTO && o->loss == FAR_LOSS_BCE) {
        FAR_TRY(far_alloc(ctx, far_frame_cols(frame), &cols));
        FAR_TRY(far_frame_list(ctx, frame, o->target, cols, &count));
        *task = count == 1 ? FAR_TASK_CLASSIFY : FAR_TASK_AUTO;
    }
done:
    far_free(ctx, cols);
    return st;
}

static far_status learn(far_ctx *ctx, const far_frame *frame, const far_net_data_opts *o,
                        far_model *m)
{
    far_fit_opts fit;
    far_fit_opts_init(&fit);
    fit.target = o->target;
    fit.features = o->features;
    fit.rows = o->rows;
    fit.standardize = o->standardize != FAR_STANDARDIZE_NONE;
    fit.impute = o->impute;
    bool targets = o->standardize == FAR_STANDARDIZE_BOTH && o->loss == FAR_LOSS_MSE;
    far_status st = decide_task(ctx, frame, o, &fit.task);
    return st == FAR_OK ? far_data_learn(ctx, frame, &fit, targets, m) : st;
}

/* ---- targets ------------------------------------------------------------------------------- */

/* The row of the frame that is the i-th chosen one. */
static int64_t chosen_row(const unsigned char *rows, int64_t i)
{
    int64_t row = 0;
    for (; rows; row++) {
        if (rows[row] && i-- == 0) {
            return row;
        }
    }
    return i;
}

static far_status check_probabilities(far_ctx *ctx, const far_model *m, const unsigned char *rows)
{
    int64_t p = m->info.outputs;
    for (int64_t i = 0; i < m->info.rows * p; i++) {
        if (!(m->y[i] >= 0 && m->y[i] <= 1)) {
            return far_fail(ctx, FAR_ERR_VALUE,
                            "row %lld: the target %s is %g, but the loss bce takes values from 0 "
                            "to 1; use mse (--loss), or change the column",
                            (long long)chosen_row(rows, i / p) + 1, m->targets[i % p], m->y[i]);
        }
    }
    return FAR_OK;
}

/* The model's targets are centred indicators: those of the class itself lie above 0. */
static far_status make_indicators(far_ctx *ctx, far_net_data *d)
{
    const far_model *m = d->model;
    int64_t n = m->info.rows, classes = m->info.outputs;
    int64_t first = d->loss == FAR_LOSS_BCE ? 1 : 0;
    if (d->loss == FAR_LOSS_BCE && classes != 2) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "the loss bce takes two classes, but the target %s has %lld; use ce "
                        "(--loss), or regress (--task regress)",
                        m->targets[0], (long long)classes);
    }
    d->outputs = classes - first;
    far_status st = far_alloc(ctx, n * d->outputs, &d->classes);
    for (int64_t i = 0; st == FAR_OK && i < n; i++) {
        for (int64_t k = 0; k < d->outputs; k++) {
            d->classes[i * d->outputs + k] = m->y[i * classes + first + k] > 0;
        }
    }
    return st;
}

static far_status make_targets(far_ctx *ctx, const unsigned char *rows, far_net_data *d)
{
    d->outputs = d->model->info.outputs;
    if (d->model->info.task == FAR_TASK_CLASSIFY) {
        return make_indicators(ctx, d);
    }
    return d->loss == FAR_LOSS_BCE ? check_probabilities(ctx, d->model, rows) : FAR_OK;
}

/* ---- the whole ----------------------------------------------------------------------------- */

far_status far_net_data_create(far_ctx *ctx, const far_frame *frame, const far_net_data_opts *opts,
                               far_net_data **out)
{
    far_status st;
    far_net_data *d = NULL;
    if (!out) {
        return far_fail(ctx, FAR_ERR_ARG, "out is NULL");
    }
    *out = NULL;
    FAR_TRY(check_opts(ctx, frame, opts));
    FAR_TRY(far_alloc(ctx, 1, &d));
    *d = (far_net_data){.ctx = ctx, .loss = opts->loss};
    FAR_TRY(far_model_new(ctx, &d->model));
    FAR_TRY(learn(ctx, frame, opts, d->model));
    FAR_TRY(make_targets(ctx, opts->rows, d));
    *out = d;
    d = NULL;
done:
    far_net_data_destroy(d);
    return st;
}

void far_net_data_destroy(far_net_data *d)
{
    if (d) {
        far_model_destroy(d->model);
        far_free(d->ctx, d->classes);
        far_free(d->ctx, d);
    }
}

far_mat far_net_data_inputs(const far_net_data *d)
{
    return far_model_points(d->model);
}

far_mat far_net_data_targets(const far_net_data *d)
{
    double *y = d->classes ? d->classes : d->model->y;
    return far_mat_view(y, d->model->info.rows, d->outputs, FAR_F64);
}

int32_t far_net_data_task(const far_net_data *d)
{
    return d->model->info.task;
}

const char *far_net_data_input(const far_net_data *data, int64_t i)
{
    return far_model_input(data->model, i);
}

const char *far_net_data_class(const far_net_data *data, int64_t k)
{
    return far_model_class(data->model, k);
}

const char *far_net_data_hash(const far_net_data *d)
{
    return d->model->data_hash;
}

/* ---- into a network ------------------------------------------------------------------------ */

static far_status check_net(far_ctx *ctx, const far_net_data *d, const far_net *net)
{
    if (!d || !net) {
        return far_fail(ctx, FAR_ERR_ARG, "the data or the network is NULL");
    }
    int64_t inputs = d->model->info.inputs;
    if (net->info.inputs != inputs) {
        return far_fail(ctx, FAR_ERR_SHAPE,
                        "the columns make %lld input%s, but the network takes %lld",
                        (long long)inputs, far_plural(inputs), (long long)net->info.inputs);
    }
    if (net->info.outputs != d->outputs) {
        return far_fail(
            ctx, FAR_ERR_SHAPE, "the targets make %lld output%s, but the network has %lld",
            (long long)d->outputs, far_plural(d->outputs), (long long)net->info.outputs);
    }
    return FAR_OK;
}

/* Classes are as the network gives them; numbers as the model has them. */
static far_status scale(far_ctx *ctx, const far_net_data *d, far_net *net)
{
    far_model *m = d->model;
    far_scaling s = {.input_centre = far_model_input_centre(m),
                     .input_scale = far_model_input_scale(m),
                     .output_centre = far_model_output_centre(m),
                     .output_scale = far_model_output_scale(m)};
    double *unit = NULL;
    far_status st = far_alloc(ctx, 2 * d->outputs, &unit);
    for (int64_t k = 0; st == FAR_OK && k < 2 * d->outputs; k++) {
        unit[k] = k < d->outputs ? 0 : 1;
    }
    if (st == FAR_OK && d->classes) {
        s.output_centre = far_mat_view(unit, 1, d->outputs, FAR_F64);
        s.output_scale = far_mat_view(unit + d->outputs, 1, d->outputs, FAR_F64);
    }
    if (st == FAR_OK) {
        st = far_net_set_scaling(ctx, net, &s);
    }
    far_free(ctx, unit);
    return st;
}

far_status far_net_data_attach(far_ctx *ctx, const far_net_data *d, far_net *net)
{
    far_status st;
    far_text text = {.ctx = ctx};
    FAR_TRY(check_net(ctx, d, net));
    FAR_TRY(far_columns_write(d->model, d->loss, &text));
    FAR_TRY(far_net_set_metadata(ctx, net, FAR_COLUMNS_KEY, text.data));
    FAR_TRY(scale(ctx, d, net));
done:
    far_free(ctx, text.data);
    return st;
}
