/* Layers with lora without it: W + lora_scale B A, rounded once. */
#include "net_internal.h"

#include <math.h>
#include <string.h>

bool far_net_is_untuned(const far_net *net)
{
    bool zero = far_net_adapted(net);
    for (int64_t i = 0; zero && i < net->step_count; i++) {
        const far_step *s = &net->steps[i];
        int64_t count = s->rank > 0 ? s->rank * far_step_weights(s).rows : 0;
        for (int64_t k = 0; zero && k < count; k++) {
            zero = net->params[s->lora_b + k] == 0;
        }
    }
    return zero;
}

far_status far_net_draw_lora(far_ctx *ctx, far_net *net, uint64_t seed)
{
    if (!net) {
        return far_fail(ctx, FAR_ERR_ARG, "the network is NULL");
    }
    if (net->start) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "the network is linearised at its adapters, which cannot be drawn anew");
    }
    for (int64_t i = 0; i < net->step_count; i++) {
        if (net->steps[i].rank > 0) {
            far_step_draw_adapter(net, &net->steps[i], seed);
        }
    }
    return FAR_OK;
}

/* ---- exact sums ---------------------------------------------------------------------------- */

/*
 * A sum of numbers without any error, as numbers of growing size whose bits do not overlap
 * (Shewchuk 1997): a certificate may say something of W + s B A itself only if what it computes
 * with is that number to a rounding, also where W and B A cancel.
 */
#define EXPANSION_MOST 64 /* parts of 53 bits: the range of float64 has 40 of them */

typedef struct expansion {
    double part[EXPANSION_MOST];
    int count;
    bool lost; /* a product was too small for its error to be a number */
} expansion;

static void add(expansion *e, double x)
{
    int kept = 0;
    for (int i = 0; i < e->count; i++) {
        double sum = x + e->part[i], y = sum - x;
        double error = (x - (sum - y)) + (e->part[i] - y);
        x = sum;
        if (error != 0) {
            e->part[kept++] = error;
        }
    }
    if (x != 0 && kept < EXPANSION_MOST) {
        e->part[kept++] = x;
    }
    e->count = kept;
}

#define SMALL 0x1p-900 /* a product below that has an error that may be no number */

static void add_product(expansion *e, double a, double b)
{
    double product = a * b;
    e->lost |= a != 0 && b != 0 && fabs(product) < SMALL;
    add(e, product);
    add(e, fma(a, b, -product));
}

static double rounded(const expansion *e)
{
    double sum = 0;
    for (int i = 0; i < e->count; i++) {
        sum += e->part[i];
    }
    return sum;
}

/* ---- one layer ----------------------------------------------------------------------------- */

/* w + scale sum_k b_k a_k. False: it is out of the range of numbers. */
static bool merge_weight(const far_step *s, double w, const double *b, const double *a,
                         int64_t apart, double *out)
{
    expansion e = {0};
    bool tuned = false;
    add(&e, w);
    for (int64_t k = 0; k < s->rank; k++) {
        double high = s->lora_scale * b[k], low = fma(s->lora_scale, b[k], -high);
        e.lost |= b[k] != 0 && fabs(high) < SMALL;
        tuned |= b[k] != 0;
        add_product(&e, high, a[k * apart]);
        if (low != 0) {
            add_product(&e, low, a[k * apart]);
        }
    }
    *out = rounded(&e);
    bool small = tuned && *out != 0 && fabs(*out) < SMALL;
    return isfinite(*out) && !(tuned && e.lost && fabs(*out) < SMALL) && !small;
}

static far_status merge_step(far_ctx *ctx, const far_net *net, const far_step *s, double *out)
{
    far_weights_shape shape = far_step_weights(s);
    const double *w = net->frozen + s->frozen_weight, *a = net->params + s->lora_a;
    for (int64_t o = 0; o < shape.rows; o++) {
        const double *b = net->params + s->lora_b + o * s->rank;
        for (int64_t i = 0; i < shape.cols; i++) {
            int64_t at = o * shape.cols + i;
            if (!merge_weight(s, w[at], b, a + i, shape.cols, &out[at])) {
                return far_fail(ctx, FAR_ERR_VALUE,
                                "layer %s: W + B A in row %lld, column %lld is %g, out of the "
                                "range where it can be trusted",
                                s->name, (long long)o + 1, (long long)i + 1, out[at]);
            }
        }
    }
    return FAR_OK;
}

/* ---- the network --------------------------------------------------------------------------- */

/* Steps of both are the same but for lora. */
static far_status merge_values(far_ctx *ctx, const far_net *net, far_net *out)
{
    far_status st = FAR_OK;
    for (int64_t i = 0; i < net->step_count; i++) {
        const far_step *from = &net->steps[i], *to = &out->steps[i];
        for (int part = 0; part < FAR_PARTS; part++) {
            double *values = far_net_part(out, to, (far_part)part);
            far_weights_shape shape = far_part_matrix(to, (far_part)part);
            if (far_step_has(to, (far_part)part)) {
                memcpy(values, far_net_part(net, from, (far_part)part),
                       (size_t)(shape.rows * shape.cols) * sizeof *values);
            }
        }
        if (from->rank > 0) {
            FAR_TRY(merge_step(ctx, net, from, out->params + to->weight));
        }
    }
done:
    return st;
}

static far_status merge_rest(far_ctx *ctx, const far_net *net, far_net *out)
{
    far_status st;
    FAR_TRY(far_net_set_columns(ctx, out, net->columns));
    for (int64_t i = 0; i < net->meta_count; i++) {
        FAR_TRY(far_net_set_metadata(ctx, out, net->meta[i].key, net->meta[i].value));
    }
    out->info.init = net->info.init;
    out->info.seed = net->info.seed;
    out->info.w0 = net->info.w0;
    out->info.sealed = net->info.sealed;
done:
    return st;
}

static far_status merge(far_ctx *ctx, const far_net *net, far_net **out)
{
    far_status st;
    char *text = NULL;
    far_net *merged = NULL;
    FAR_TRY(far_arch_plain_text(ctx, net->text, &text));
    FAR_TRY(far_net_compile(ctx, text, net->info.inputs, net->info.outputs,
                            (far_param)net->info.param, &merged));
    FAR_TRY(merge_values(ctx, net, merged));
    FAR_TRY(merge_rest(ctx, net, merged));
    *out = merged;
    merged = NULL;
done:
    far_net_destroy(merged);
    far_free(ctx, text);
    return st;
}

far_status far_net_merge(far_ctx *ctx, const far_net *net, far_net **out)
{
    if (!net || !out) {
        return far_fail(ctx, FAR_ERR_ARG, "the network or out is NULL");
    }
    *out = NULL;
    if (!far_net_adapted(net)) {
        return far_net_copy(ctx, net, out);
    }
    if (net->start) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "a linearised network is linear in A and B, and is no network with W + B A "
                        "in it; train it without `linearized`");
    }
    return merge(ctx, net, out);
}

far_status far_net_plain(far_ctx *ctx, const far_net *net, far_net **own, const far_net **out)
{
    *own = NULL;
    *out = net;
    if (!far_net_adapted(net) || net->start) { /* linearised ones are refused by who asks */
        return FAR_OK;
    }
    far_status st = merge(ctx, net, own);
    *out = *own;
    return st;
}
