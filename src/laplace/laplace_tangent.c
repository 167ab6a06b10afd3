/* Layer factors: the tangent kernel of points with themselves. */
#include "laplace_internal.h"

#include <string.h>

int64_t far_net_factor_numbers(const far_net *net)
{
    int64_t numbers = 0;
    for (int64_t i = 0; i < net->step_count; i++) {
        const far_step *s = &net->steps[i];
        if (s->unit >= 0) {
            numbers += far_step_is_spread(s)       ? far_step_parameters(s)
                       : s->kind == FAR_STEP_DENSE ? s->in + s->out
                                                   : 2 * s->out;
        }
    }
    return numbers;
}

far_status far_tangent_open(far_ctx *ctx, const far_net *net, far_ntk_outputs outputs,
                            far_tangent *t)
{
    *t = (far_tangent){.ctx = ctx};
    t->opts = (far_ntk_opts){.size = sizeof t->opts};
    t->opts.outputs = outputs;
    far_status st = far_tangent_weights(ctx, net, FAR_F64, &t->engine, &t->weights);
    t->plan =
        (far_factor_plan){.net = net, .engine = t->engine, .weights = t->weights, .opts = &t->opts};
    return st;
}

void far_tangent_close(far_tangent *t)
{
    far_weights_destroy(t->weights);
    far_engine_destroy(t->engine);
}

/* One layer's share of k(x_i, x_i). */
static void add_layer(const far_factor *f, int64_t i, int64_t outputs, double *out)
{
    int64_t width = f->inputs.length, length = f->gradients.length;
    const double *h = width > 0 ? (const double *)f->inputs.rows + i * outputs * width : NULL;
    const double *d = (const double *)f->gradients.rows + i * outputs * length;
    double weight = f->constant + (h ? f->by_input * far_dot(h, h, width) : 0);
    for (int64_t a = 0; a < outputs; a++) {
        for (int64_t b = 0; b <= a; b++) {
            double share = weight * far_dot(d + a * length, d + b * length, length);
            out[a * outputs + b] += share;
            out[b * outputs + a] += a == b ? 0 : share;
        }
    }
}

void far_factors_blocks(const far_factors *f, int64_t outputs, double *out)
{
    int64_t points = f->n / outputs, square = outputs * outputs;
    memset(out, 0, (size_t)(points * square) * sizeof *out);
#pragma omp parallel for num_threads(far_ctx_threads(f->ctx)) schedule(static)
    for (int64_t i = 0; i < points; i++) {
        for (int64_t l = 0; l < f->count; l++) {
            add_layer(&f->items[l], i, outputs, out + i * square);
        }
    }
}

far_status far_tangent_blocks(const far_tangent *t, const far_mat *x, double *out)
{
    far_factors f = {0};
    far_status st = far_factors_create(t->ctx, &t->plan, x, &f);
    if (st == FAR_OK) {
        far_factors_blocks(&f, t->plan.net->info.outputs, out);
    }
    far_factors_clear(&f);
    return st;
}
