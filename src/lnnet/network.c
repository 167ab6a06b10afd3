#include "network.h"

#include <stdlib.h>
#include <string.h>

static far_status fail_form(far_ctx *ctx, const far_net *net)
{
    return far_fail(ctx, FAR_ERR_ARG,
                    "'%.200s' is no network of far_lnnet_build: [dense(3) ln]xL dense(K), or "
                    "[dense(3 g) ln(groups=g)]xL dense(K)",
                    net->text);
}

static bool is_plain_dense(const far_step *s, int64_t out)
{
    return s->kind == FAR_STEP_DENSE && s->out == out && s->bias >= 0 && s->weight_scale == 1 &&
           s->bias_scale == 1;
}

static bool is_plain_norm(const far_step *s, int64_t groups, double eps)
{
    return s->kind == FAR_STEP_NORM && s->layer == FAR_LAYER_LN && s->groups == groups &&
           s->weight < 0 && s->eps == eps;
}

far_status far_ln_form_read(far_ctx *ctx, const far_net *net, far_ln_form *form, double *eps)
{
    int64_t steps = net->step_count, groups = steps >= 3 ? net->steps[1].groups : 0;
    bool good = steps >= 3 && steps % 2 == 1 && net->steps[1].kind == FAR_STEP_NORM && !net->start;
    *eps = good ? net->steps[1].eps : 0;
    for (int64_t i = 0; good && i + 1 < steps; i += 2) {
        good = is_plain_dense(&net->steps[i], FAR_LN_NEURONS * groups) &&
               is_plain_norm(&net->steps[i + 1], groups, *eps);
    }
    if (!good || !is_plain_dense(&net->steps[steps - 1], net->info.outputs)) {
        return fail_form(ctx, net);
    }
    *form = (far_ln_form){.d = net->info.inputs,
                          .classes = net->info.outputs,
                          .groups = groups,
                          .layers = (steps - 1) / 2};
    return FAR_OK;
}

far_status far_ln_stored_precision(far_ctx *ctx, const far_net *net, far_lnnet_precision *precision,
                                   int64_t *bits)
{
    const char *name = far_net_metadata(net, FAR_LN_KEY_PRECISION);
    const char *digits = far_net_metadata(net, FAR_LN_KEY_BITS);
    char *end = NULL;
    *precision = FAR_LNNET_DOUBLE;
    *bits = 53;
    if (!name) {
        return FAR_OK;
    }
    for (int32_t p = FAR_LNNET_DOUBLE; p <= FAR_LNNET_MPFR; p++) {
        if (strcmp(name, far_lnnet_precision_name(p)) == 0) {
            *precision = p;
            *bits = digits ? strtoll(digits, &end, 10) : 0;
        }
    }
    if (*precision == FAR_LNNET_DOUBLE || !end || *end || *bits < 64 || *bits > 100000) {
        return far_fail(ctx, FAR_ERR_FORMAT,
                        "metadata: %s is '%.40s' and %s '%.40s'; expected quad or mpfr, and 64 to "
                        "100000",
                        FAR_LN_KEY_PRECISION, name, FAR_LN_KEY_BITS, digits ? digits : "");
    }
    return FAR_OK;
}

static far_status choose_ops(far_ctx *ctx, far_lnnet_precision precision, int64_t bits,
                             far_ln_ops *out)
{
    *out = precision == FAR_LNNET_QUAD   ? far_ln_quad
           : precision == FAR_LNNET_MPFR ? far_ln_mpfr(bits)
                                         : far_ln_double;
    if (out->precision != precision) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "this library was built without MPFR, which the network needs");
    }
    return FAR_OK;
}

static far_status read_parameters(far_ln_network *n, const far_net *net)
{
    const char *digits = far_net_metadata(net, FAR_LN_KEY_PARAMETERS);
    int64_t count = net->info.parameters;
    if (!digits || n->ops.precision == FAR_LNNET_DOUBLE) {
        n->ops.widen(&n->ops, net->params, count, n->parameters);
    } else if (!n->ops.parse(&n->ops, digits, count, n->parameters)) {
        return far_fail(n->ctx, FAR_ERR_FORMAT,
                        "metadata: %s is damaged: it should be %lld numbers with single blanks "
                        "between them",
                        FAR_LN_KEY_PARAMETERS, (long long)count);
    }
    return FAR_OK;
}

far_status far_ln_network_read(far_ctx *ctx, const far_net *net, far_lnnet_precision precision,
                               int64_t bits, far_ln_network *out)
{
    far_status st = FAR_OK;
    *out = (far_ln_network){.ctx = ctx};
    FAR_TRY(far_ln_form_read(ctx, net, &out->form, &out->eps));
    FAR_TRY(choose_ops(ctx, precision, bits, &out->ops));
    FAR_TRY(far_alloc_bytes(ctx, net->info.parameters, out->ops.size, &out->parameters));
    FAR_TRY(read_parameters(out, net));
done:
    return st;
}

void far_ln_network_clear(far_ln_network *n)
{
    if (n->ctx) {
        far_free(n->ctx, n->parameters);
    }
    *n = (far_ln_network){0};
}
