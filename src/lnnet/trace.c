/* The way of points through a chain. */
#include "network.h"

#include <string.h>

far_status far_lnnet_describe(far_ctx *ctx, const far_net *net, far_lnnet_shape *out)
{
    far_ln_form form;
    double eps;
    if (!ctx || !net || !out) {
        return far_fail(ctx, FAR_ERR_ARG, "a network and an output are needed");
    }
    far_status st = far_ln_form_read(ctx, net, &form, &eps);
    if (st != FAR_OK) {
        return st;
    }
    const char *mode = far_net_metadata(net, FAR_LN_KEY_MODE);
    *out = (far_lnnet_shape){form.layers, form.groups, form.classes, FAR_LNNET_AUTO};
    for (far_lnnet_mode m = FAR_LNNET_PAPER; mode && m <= FAR_LNNET_RUNS; m++) {
        out->mode = strcmp(mode, far_lnnet_mode_name(m)) == 0 ? m : out->mode;
    }
    return FAR_OK;
}

static far_status check_outputs(far_ctx *ctx, const far_ln_form *f, const far_mat *x, int64_t chain,
                                const far_mat *states, const far_mat *circle)
{
    far_status st = FAR_OK;
    if (chain < 0 || chain >= f->groups) {
        return far_fail(ctx, FAR_ERR_ARG, "chain %lld: the network has %lld, counted from 0",
                        (long long)chain, (long long)f->groups);
    }
    if (states) {
        FAR_TRY(far_mat_expect(ctx, states, "states", x->rows, f->layers + 1, FAR_F64));
    }
    if (circle) {
        FAR_TRY(far_mat_expect(ctx, circle, "circle", x->rows, 2 * f->layers, FAR_F64));
    }
done:
    return st;
}

far_status far_lnnet_trace(far_ctx *ctx, const far_net *net, const far_mat *x, int64_t chain,
                           far_mat *states, far_mat *circle)
{
    far_status st = FAR_OK;
    far_ln_network n = {0};
    far_lnnet_precision precision;
    int64_t bits;
    if (!ctx || !net) {
        return far_fail(ctx, FAR_ERR_ARG, "the network is NULL");
    }
    FAR_TRY(far_net_check_inputs(ctx, net, x));
    FAR_TRY(far_ln_stored_precision(ctx, net, &precision, &bits));
    FAR_TRY(far_ln_network_read(ctx, net, precision, bits, &n));
    FAR_TRY(check_outputs(ctx, &n.form, x, chain, states, circle));
    far_ln_tap tap = {.chain = chain, .states = states, .circle = circle};
    far_ln_rows rows = {.x = x, .eps = n.eps, .tap = &tap};
    FAR_TRY(n.ops.pass(&n.ops, ctx, &n.form, n.parameters, &rows, NULL));
done:
    far_ln_network_clear(&n);
    return st;
}
