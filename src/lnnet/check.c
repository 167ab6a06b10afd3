/* A fresh pass over labelled rows. */
#include "network.h"

#include <string.h>

static far_status check_labels(far_ctx *ctx, const far_net *net, const far_mat *x,
                               const int64_t *labels)
{
    for (int64_t i = 0; i < x->rows; i++) {
        if (labels[i] < 0 || labels[i] >= net->info.outputs) {
            return far_fail(
                ctx, FAR_ERR_ARG, "row %lld has label %lld; the network's classes are 0 to %lld",
                (long long)i + 1, (long long)labels[i], (long long)net->info.outputs - 1);
        }
    }
    return FAR_OK;
}

/* Rows as double: far_net_eval computes in the type of its inputs. */
static far_status widen_rows(far_ctx *ctx, const far_mat *x, double **out)
{
    far_status st = far_alloc(ctx, x->rows * x->cols, out);
    for (int64_t i = 0; st == FAR_OK && i < x->rows; i++) {
        for (int64_t j = 0; j < x->cols; j++) {
            const void *row = far_mat_row(x, i);
            (*out)[i * x->cols + j] =
                x->dtype == FAR_F64 ? ((const double *)row)[j] : (double)((const float *)row)[j];
        }
    }
    return st;
}

static far_status check_double(far_ctx *ctx, const far_net *net, const far_ln_rows *rows,
                               far_lnnet_checked *out)
{
    far_status st = FAR_OK;
    double *values = NULL, *outputs = NULL;
    far_ln_form form = {.classes = net->info.outputs};
    FAR_TRY(widen_rows(ctx, rows->x, &values));
    FAR_TRY(far_alloc(ctx, rows->x->rows * form.classes, &outputs));
    far_mat x = far_mat_view(values, rows->x->rows, rows->x->cols, FAR_F64);
    far_mat y = far_mat_view(outputs, x.rows, form.classes, FAR_F64);
    FAR_TRY(far_net_eval(ctx, net, &x, &y));
    far_ln_double.judge(outputs, &form, rows, out);
done:
    far_free(ctx, values);
    far_free(ctx, outputs);
    return st;
}

static far_status check_above(far_ctx *ctx, const far_net *net, far_lnnet_precision precision,
                              int64_t bits, far_ln_rows *rows, far_lnnet_checked *out)
{
    far_status st = FAR_OK;
    far_ln_network n = {0};
    void *outputs = NULL;
    FAR_TRY(far_ln_network_read(ctx, net, precision, bits, &n));
    FAR_TRY(far_alloc_bytes(ctx, rows->x->rows * n.form.classes, n.ops.size, &outputs));
    rows->eps = n.eps;
    FAR_TRY(n.ops.pass(&n.ops, ctx, &n.form, n.parameters, rows, outputs));
    n.ops.judge(outputs, &n.form, rows, out);
    out->bits = n.ops.bits;
done:
    far_free(ctx, outputs);
    far_ln_network_clear(&n);
    return st;
}

far_status far_lnnet_check(far_ctx *ctx, const far_net *net, const far_mat *x,
                           const int64_t *labels, far_lnnet_precision precision, int64_t bits,
                           far_lnnet_checked *out)
{
    far_status st = FAR_OK;
    far_lnnet_precision stored;
    int64_t stored_bits;
    if (!ctx || !net || !labels || !out) {
        return far_fail(ctx, FAR_ERR_ARG, "a network, labels and an output are needed");
    }
    if (precision > FAR_LNNET_MPFR || (bits != 0 && (bits < 64 || bits > 100000))) {
        return far_fail(ctx, FAR_ERR_ARG, "no such precision");
    }
    FAR_TRY(far_net_check_inputs(ctx, net, x));
    FAR_TRY(check_labels(ctx, net, x, labels));
    FAR_TRY(far_ln_stored_precision(ctx, net, &stored, &stored_bits));
    precision = precision == FAR_LNNET_PRECISION_AUTO ? stored : precision;
    bits = bits ? bits : stored_bits < 128 ? 128 : stored_bits;
    far_ln_rows rows = {.x = x, .labels = labels};
    *out = (far_lnnet_checked){
        .precision = precision, .precision_name = far_lnnet_precision_name(precision), .bits = 53};
    FAR_TRY(precision == FAR_LNNET_DOUBLE ? check_double(ctx, net, &rows, out)
                                          : check_above(ctx, net, precision, bits, &rows, out));
done:
    return st;
}
