/* x and y as training uses them: checked, in its precision, packed. */
#include "train_internal.h"

#include <math.h>
#include <string.h>

static double element(const far_mat *m, int64_t i, int64_t j)
{
    const void *row = far_mat_row(m, i);
    return m->dtype == FAR_F64 ? ((const double *)row)[j] : (double)((const float *)row)[j];
}

static void put(far_train_data *d, void *to, int64_t at, double value)
{
    if (d->dtype == FAR_F64) {
        ((double *)to)[at] = value;
    } else {
        ((float *)to)[at] = (float)value;
    }
}

static far_status fail_value(far_ctx *ctx, const char *name, int64_t i, int64_t j, double value,
                             const char *why)
{
    return far_fail(ctx, FAR_ERR_VALUE, "%s: row %lld, column %lld is %g; %s", name,
                    (long long)i + 1, (long long)j + 1, value, why);
}

static far_status copy_mat(far_train_data *d, const far_mat *m, const char *name, void *to)
{
    for (int64_t i = 0; i < m->rows; i++) {
        for (int64_t j = 0; j < m->cols; j++) {
            double value = element(m, i, j);
            if (!isfinite(value)) {
                return fail_value(d->ctx, name, i, j, value, "remove or fill it first");
            }
            if (d->dtype == FAR_F32 && isinf((float)value)) {
                return fail_value(d->ctx, name, i, j, value,
                                  "too large for float32: scale it, or train in float64");
            }
            put(d, to, i * m->cols + j, value);
        }
    }
    return FAR_OK;
}

/* ---- targets ---- */

static far_status check_probabilities(far_ctx *ctx, const far_mat *y)
{
    for (int64_t i = 0; i < y->rows; i++) {
        for (int64_t j = 0; j < y->cols; j++) {
            double value = element(y, i, j);
            if (!(value >= 0 && value <= 1)) {
                return fail_value(ctx, "y", i, j, value,
                                  "this loss takes probabilities, from 0 to 1");
            }
        }
    }
    return FAR_OK;
}

#define MASS_SLACK 1e-4 /* probabilities that were rounded to a few digits */

/* At every position. */
static far_status check_mass(const far_train_data *d, const far_mat *y)
{
    int64_t positions = d->rule.positions, classes = d->rule.channels;
    for (int64_t i = 0; i < y->rows * positions; i++) {
        double mass = 0;
        for (int64_t j = 0; j < classes; j++) {
            mass += element(y, i / positions, i % positions * classes + j);
        }
        if (!(fabs(mass - 1) <= MASS_SLACK)) {
            return far_fail(d->ctx, FAR_ERR_VALUE,
                            "y: row %lld sums to %g%s; the probabilities of a %s sum to 1",
                            (long long)(i / positions) + 1, mass,
                            positions > 1 ? " at one of its positions" : "",
                            positions > 1 ? "position" : "row");
        }
    }
    return FAR_OK;
}

static far_status check_classes(const far_train_data *d, const far_mat *y)
{
    int64_t classes = d->rule.channels;
    for (int64_t i = 0; i < y->rows * y->cols; i++) {
        double value = element(y, i / y->cols, i % y->cols);
        if (!(value >= 0 && value < (double)classes) || value != floor(value)) {
            return far_fail(d->ctx, FAR_ERR_VALUE, "y: row %lld is %g, not a class from 0 to %lld",
                            (long long)(i / y->cols) + 1, value, (long long)classes - 1);
        }
    }
    return FAR_OK;
}

static far_status copy_targets(far_train_data *d, const far_mat *y)
{
    far_status st = FAR_OK;
    if (d->rule.classes) {
        FAR_TRY(check_classes(d, y));
    }
    FAR_TRY(copy_mat(d, y, "y", d->y));
    if (d->rule.loss != FAR_LOSS_MSE && !d->rule.classes) {
        FAR_TRY(check_probabilities(d->ctx, y));
    }
    if (d->rule.loss == FAR_LOSS_CE && !d->rule.classes) {
        FAR_TRY(check_mass(d, y));
    }
done:
    return st;
}

/* ---- shapes ---- */

static far_status check_targets(far_ctx *ctx, const far_net *net, const far_mat *y, int32_t loss)
{
    int64_t outputs = net->info.outputs, positions = net->info.output_positions;
    if (loss == FAR_LOSS_CE && outputs / positions < 2) {
        return far_fail(ctx, FAR_ERR_SHAPE,
                        "the loss ce needs an output for each class, at least 2; use bce");
    }
    if (y->cols != outputs && !(loss == FAR_LOSS_CE && y->cols == positions)) {
        return far_fail(ctx, FAR_ERR_SHAPE, "y has %lld columns, but the network %lld outputs",
                        (long long)y->cols, (long long)outputs);
    }
    return FAR_OK;
}

static far_status check_shapes(far_ctx *ctx, const far_net *net, const far_mat *x, const far_mat *y,
                               int32_t loss)
{
    far_status st = FAR_OK;
    FAR_TRY(far_mat_check(ctx, x, "x"));
    FAR_TRY(far_mat_check(ctx, y, "y"));
    if (x->rows < 1) {
        return far_fail(ctx, FAR_ERR_SHAPE, "x has no rows to train on");
    }
    if (x->cols != net->info.inputs) {
        return far_fail(ctx, FAR_ERR_SHAPE,
                        "x has %lld column%s, but the network takes %lld input%s",
                        (long long)x->cols, far_plural(x->cols), (long long)net->info.inputs,
                        far_plural(net->info.inputs));
    }
    if (y->rows != x->rows) {
        return far_fail(ctx, FAR_ERR_SHAPE, "x has %lld rows, but y has %lld", (long long)x->rows,
                        (long long)y->rows);
    }
    FAR_TRY(check_targets(ctx, net, y, loss));
    FAR_TRY(far_net_check_tokens(ctx, net, x));
done:
    return st;
}

/* ---- the next position ---- */

/* Nothing but attention looks at other positions and keeps them. */
static far_status check_causal(far_ctx *ctx, const far_net *net)
{
    for (int64_t i = 0; i < net->step_count; i++) {
        const far_step *s = &net->steps[i];
        if (s->kind == FAR_STEP_ATTEND && !s->causal && far_positions(s->from) > 1) {
            return far_fail(ctx, FAR_ERR_ARCH,
                            "attention(%lld) sees the positions behind each one, and so what it is "
                            "to predict; write attention(%lld, causal)",
                            (long long)s->heads, (long long)s->heads);
        }
    }
    return FAR_OK;
}

static far_status check_next(far_ctx *ctx, const far_net *net, int32_t loss)
{
    const far_net_info *n = &net->info;
    int64_t given = n->outputs / n->output_positions;
    int64_t wanted = n->vocabulary > 0 ? n->vocabulary : n->inputs / n->positions;
    if (!far_net_shaped(net) || net->steps[0].to.kind != FAR_GRID_SEQUENCE) {
        return far_fail(ctx, FAR_ERR_ARCH,
                        "what comes next is known of sequences: begin the network with "
                        "tokens(64, 256) or sequence(30x1)");
    }
    if (n->output_positions != n->positions) {
        return far_fail(ctx, FAR_ERR_ARCH,
                        "each of the %lld positions is to predict the next one, but the network "
                        "ends with %lld; leave out gap, flatten and last",
                        (long long)n->positions, (long long)n->output_positions);
    }
    if (given != wanted) {
        return far_fail(ctx, FAR_ERR_ARCH,
                        "the next position has %lld %s, but the network ends with %lld channels; "
                        "end it with dense(%lld)",
                        (long long)wanted, n->vocabulary > 0 ? "possible tokens" : "channels",
                        (long long)given, (long long)wanted);
    }
    if ((n->vocabulary > 0) != (loss == FAR_LOSS_CE)) {
        return far_fail(ctx, FAR_ERR_ARG, "the loss of the next %s is another: take `loss` %s",
                        n->vocabulary > 0 ? "token" : "value",
                        n->vocabulary > 0 ? "ce" : "mse or bce");
    }
    return check_causal(ctx, net);
}

/* x has a position more than the network: all but the last, and all but the first. */
static far_status split_next(far_ctx *ctx, const far_net *net, const far_mat *both, int32_t loss,
                             far_mat *x, far_mat *y)
{
    far_status st = FAR_OK;
    int64_t inputs = net->info.inputs, channels = inputs / net->info.positions;
    FAR_TRY(check_next(ctx, net, loss));
    FAR_TRY(far_mat_check(ctx, both, "x"));
    if (both->cols != inputs + channels) {
        return far_fail(ctx, FAR_ERR_SHAPE,
                        "x has %lld column%s; to predict what comes next it must have %lld, those "
                        "of %lld positions and of the one behind them",
                        (long long)both->cols, far_plural(both->cols),
                        (long long)(inputs + channels), (long long)net->info.positions);
    }
    *x = *y = *both;
    x->cols = y->cols = inputs;
    y->data = (char *)both->data + (size_t)channels * far_dtype_size(both->dtype);
done:
    return st;
}

/* ---- to tell data from other data ---- */

/* Not against malice: against the wrong file. */
static uint64_t hash(const void *data, int64_t count, far_dtype dtype, int64_t cols)
{
    size_t bytes = (size_t)count * far_dtype_size(dtype), whole = bytes / sizeof(uint64_t);
    const unsigned char *p = data;
    uint64_t h = far_random_bits((uint64_t)count, (uint64_t)cols), word;
    for (size_t i = 0; i < whole; i++) {
        memcpy(&word, p + i * sizeof word, sizeof word);
        h = far_random_bits(h, word);
    }
    word = 0;
    memcpy(&word, p + whole * sizeof word, bytes - whole * sizeof word);
    return far_random_bits(h, word);
}

static far_status take_data(far_train_data *d, const far_net *net, const far_mat *x,
                            const far_mat *y)
{
    far_status st = FAR_OK;
    size_t size = far_dtype_size(d->dtype);
    FAR_TRY(check_shapes(d->ctx, net, x, y, d->rule.loss));
    d->rows = x->rows;
    d->inputs = x->cols;
    d->outputs = net->info.outputs;
    d->rule.classes = y->cols != d->outputs;
    FAR_TRY(far_alloc_bytes(d->ctx, d->rows * d->inputs, size, &d->x));
    FAR_TRY(far_alloc_bytes(d->ctx, d->rows * y->cols, size, &d->y));
    FAR_TRY(copy_mat(d, x, "x", d->x));
    FAR_TRY(copy_targets(d, y));
done:
    return st;
}

far_status far_train_data_create(far_ctx *ctx, const far_net *net, const far_mat *x,
                                 const far_mat *y, const far_train_opts *opts, bool hashed,
                                 far_train_data *out)
{
    far_status st = FAR_OK;
    far_mat before, behind;
    int64_t positions = net->info.output_positions;
    *out = (far_train_data){.ctx = ctx, .dtype = opts->dtype};
    out->rule = (far_loss_rule){.loss = opts->loss,
                                .dtype = opts->dtype,
                                .positions = positions,
                                .channels = net->info.outputs / positions};
    if (opts->next && y) {
        FAR_TRY(far_fail(ctx, FAR_ERR_ARG, "y: with next the targets are in x; give NULL"));
    } else if (opts->next) {
        FAR_TRY(split_next(ctx, net, x, opts->loss, &before, &behind));
        FAR_TRY(take_data(out, net, &before, &behind));
    } else {
        FAR_TRY(take_data(out, net, x, y));
    }
    if (hashed) {
        int64_t targets = far_loss_targets(&out->rule);
        out->x_hash = hash(out->x, out->rows * out->inputs, out->dtype, out->inputs);
        out->y_hash = hash(out->y, out->rows * targets, out->dtype, targets);
    }
done:
    return st;
}

void far_train_data_clear(far_train_data *d)
{
    if (d->ctx) {
        far_free(d->ctx, d->x);
        far_free(d->ctx, d->y);
    }
}
