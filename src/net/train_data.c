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

static far_status check_mass(far_ctx *ctx, const far_mat *y)
{
    for (int64_t i = 0; i < y->rows; i++) {
        double mass = 0;
        for (int64_t j = 0; j < y->cols; j++) {
            mass += element(y, i, j);
        }
        if (!(fabs(mass - 1) <= MASS_SLACK)) {
            return far_fail(ctx, FAR_ERR_VALUE,
                            "y: row %lld sums to %g; the probabilities of a row sum to 1",
                            (long long)i + 1, mass);
        }
    }
    return FAR_OK;
}

static far_status copy_classes(far_train_data *d, const far_mat *y)
{
    for (int64_t i = 0; i < y->rows; i++) {
        double value = element(y, i, 0);
        if (!(value >= 0 && value < (double)d->outputs) || value != floor(value)) {
            return far_fail(d->ctx, FAR_ERR_VALUE, "y: row %lld is %g, not a class from 0 to %lld",
                            (long long)i + 1, value, (long long)d->outputs - 1);
        }
        for (int64_t k = 0; k < d->outputs; k++) {
            put(d, d->y, i * d->outputs + k, k == (int64_t)value);
        }
    }
    return FAR_OK;
}

static far_status copy_targets(far_train_data *d, const far_mat *y, int32_t loss)
{
    far_status st = FAR_OK;
    if (loss == FAR_LOSS_CE && y->cols == 1) {
        return copy_classes(d, y);
    }
    FAR_TRY(copy_mat(d, y, "y", d->y));
    if (loss != FAR_LOSS_MSE) {
        FAR_TRY(check_probabilities(d->ctx, y));
    }
    if (loss == FAR_LOSS_CE) {
        FAR_TRY(check_mass(d->ctx, y));
    }
done:
    return st;
}

/* ---- shapes ---- */

static far_status check_shapes(far_ctx *ctx, const far_net *net, const far_mat *x, const far_mat *y,
                               int32_t loss)
{
    far_status st = FAR_OK;
    int64_t outputs = net->info.outputs;
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
    if (loss == FAR_LOSS_CE && outputs < 2) {
        return far_fail(ctx, FAR_ERR_SHAPE,
                        "the loss ce needs an output for each class, at least 2; use bce");
    }
    if (y->cols != outputs && !(loss == FAR_LOSS_CE && y->cols == 1)) {
        return far_fail(ctx, FAR_ERR_SHAPE, "y has %lld columns, but the network %lld outputs",
                        (long long)y->cols, (long long)outputs);
    }
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

far_status far_train_data_create(far_ctx *ctx, const far_net *net, const far_mat *x,
                                 const far_mat *y, const far_train_opts *opts, bool hashed,
                                 far_train_data *out)
{
    far_status st = FAR_OK;
    *out = (far_train_data){.ctx = ctx, .dtype = opts->dtype};
    FAR_TRY(check_shapes(ctx, net, x, y, opts->loss));
    out->rows = x->rows;
    out->inputs = x->cols;
    out->outputs = net->info.outputs;
    size_t size = far_dtype_size(opts->dtype);
    FAR_TRY(far_alloc_bytes(ctx, out->rows * out->inputs, size, &out->x));
    FAR_TRY(far_alloc_bytes(ctx, out->rows * out->outputs, size, &out->y));
    FAR_TRY(copy_mat(out, x, "x", out->x));
    FAR_TRY(copy_targets(out, y, opts->loss));
    if (hashed) {
        out->x_hash = hash(out->x, out->rows * out->inputs, out->dtype, out->inputs);
        out->y_hash = hash(out->y, out->rows * out->outputs, out->dtype, out->outputs);
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
