/* The tangent kernel of a finite network, tile by tile from layer factors. */
#include "gram.h"
#include "net_factors.h"

#include <string.h>

/* ---- tiles --------------------------------------------------------------------------------- */

typedef struct source {
    const far_engine *engine;
    const far_factors *a, *b;
    int64_t from, to; /* which factors */
    double scale;     /* of the sum */
    far_mat *out;
} source;

/* The scratch of a thread: one tile of h h', one of d d'. */
#define TILE_NUMBERS ((int64_t)FAR_TILE * FAR_TILE)

/* out (rows x FAR_TILE) = vectors [i0, i1) of a times those of b from j0 on. */
static void multiply(const far_engine *e, far_dtype dtype, const far_vectors *a,
                     const far_vectors *b, int64_t i0, int64_t i1, int64_t j0, void *out)
{
    size_t bytes = far_dtype_size(dtype);
    const char *rows = (const char *)a->rows + (size_t)(i0 * a->length) * bytes;
    const char *panel = (const char *)b->panels + (size_t)(j0 * b->length) * bytes;
    far_engine_multiply(e, i1 - i0, FAR_TILE, a->length, rows, panel, out, FAR_TILE);
}

#define DEFINE_COMBINE(T, NAME)                                                                    \
    static void NAME(const source *s, const far_factor *f, int64_t i0, int64_t i1, int64_t j0,     \
                     int64_t j1, const T *hh, const T *dd, bool first)                             \
    {                                                                                              \
        T by_input = (T)(s->scale * f->by_input), constant = (T)(s->scale * f->constant);          \
        for (int64_t i = i0; i < i1; i++) {                                                        \
            T *row = (T *)far_mat_row(s->out, i) + j0;                                             \
            const T *h = hh + (i - i0) * FAR_TILE, *d = dd + (i - i0) * FAR_TILE;                  \
            for (int64_t j = 0; j < j1 - j0; j++) {                                                \
                T weight = f->inputs.length > 0 ? by_input * h[j] + constant : constant;           \
                row[j] = (first ? 0 : row[j]) + weight * d[j];                                     \
            }                                                                                      \
        }                                                                                          \
    }
DEFINE_COMBINE(double, combine_f64)
DEFINE_COMBINE(float, combine_f32)

static void run_tile(void *data, int64_t i0, int64_t i1, int64_t j0, int64_t j1, void *scratch)
{
    const source *s = data;
    far_dtype dtype = s->out->dtype;
    void *hh = scratch, *dd = (char *)scratch + (size_t)TILE_NUMBERS * far_dtype_size(dtype);
    for (int64_t k = s->from; k < s->to; k++) {
        const far_factor *a = &s->a->items[k], *b = &s->b->items[k];
        if (a->inputs.length > 0) {
            multiply(s->engine, dtype, &a->inputs, &b->inputs, i0, i1, j0, hh);
        }
        multiply(s->engine, dtype, &a->gradients, &b->gradients, i0, i1, j0, dd);
        if (dtype == FAR_F64) {
            combine_f64(s, a, i0, i1, j0, j1, hh, dd, k == s->from);
        } else {
            combine_f32(s, a, i0, i1, j0, j1, hh, dd, k == s->from);
        }
    }
}

/* ---- what a call needs --------------------------------------------------------------------- */

typedef struct call {
    far_ctx *ctx;
    far_engine *engine;
    far_weights *weights;
    far_factors a, own_b, *b;
    far_factor_plan plan;
} call;

static far_status check_layers(far_ctx *ctx, const far_net *net, const far_ntk_opts *o)
{
    for (int64_t l = 0; o->layers && l < net->info.layers; l++) {
        if (o->layers[l]) {
            return FAR_OK;
        }
    }
    return o->layers || net->info.layers == 0
               ? far_fail(ctx, FAR_ERR_ARG, "no layer with parameters is chosen")
               : FAR_OK;
}

static far_status check_opts(far_ctx *ctx, const far_net *net, const far_ntk_opts *o)
{
    if (!o || o->size != sizeof *o) {
        return far_fail(ctx, FAR_ERR_ARG, "opts->size is not sizeof(far_ntk_opts)");
    }
    if (o->outputs < FAR_NTK_TRACE || o->outputs > FAR_NTK_FULL) {
        return far_fail(ctx, FAR_ERR_ARG, "opts: outputs %d is no far_ntk_outputs",
                        (int)o->outputs);
    }
    if (o->outputs == FAR_NTK_ONE && (o->output < 0 || o->output >= net->info.outputs)) {
        return far_fail(ctx, FAR_ERR_ARG, "opts: output %lld of a network with %lld",
                        (long long)o->output, (long long)net->info.outputs);
    }
    return check_layers(ctx, net, o);
}

static far_status check_points(far_ctx *ctx, const far_net *net, const far_mat *x1,
                               const far_mat *x2)
{
    far_status st = far_net_check_inputs(ctx, net, x1);
    if (st == FAR_OK && x2) {
        st = far_net_check_inputs(ctx, net, x2);
    }
    if (st == FAR_OK && x2 && x2->dtype != x1->dtype) {
        st = far_fail(ctx, FAR_ERR_ARG, "x1 and x2 differ in type");
    }
    return st;
}

static far_status check_out(far_ctx *ctx, const call *c, const far_mat *x1, const far_mat *x2,
                            const far_mat *out)
{
    int64_t side = c->plan.opts->outputs == FAR_NTK_FULL ? c->plan.net->info.outputs : 1;
    int64_t cols = (x2 ? x2->rows : x1->rows) * side;
    return far_mat_expect(ctx, out, "out", x1->rows * side, cols, x1->dtype);
}

static far_status check_memory(const call *c, int64_t n, int64_t m)
{
    double bytes = far_factors_bytes(&c->plan, n, true, m == 0) +
                   (m > 0 ? far_factors_bytes(&c->plan, m, false, true) : 0);
    return far_budget_check(c->ctx, "the layer factors", bytes, c->plan.opts->memory);
}

static far_status make_factors(call *c, const far_mat *x1, const far_mat *x2)
{
    far_status st = FAR_OK;
    FAR_TRY(check_memory(c, x1->rows, x2 ? x2->rows : 0));
    FAR_TRY(far_factors_create(c->ctx, &c->plan, x1, true, !x2, &c->a));
    c->b = &c->a;
    if (x2) {
        FAR_TRY(far_factors_create(c->ctx, &c->plan, x2, false, true, &c->own_b));
        c->b = &c->own_b;
    }
done:
    return st;
}

static void call_close(call *c)
{
    far_factors_clear(&c->a);
    far_factors_clear(&c->own_b);
    far_weights_destroy(c->weights);
    far_engine_destroy(c->engine);
}

static far_status call_open(far_ctx *ctx, const far_net *net, const far_mat *x1, const far_mat *x2,
                            const far_ntk_opts *opts, call *c)
{
    far_status st = FAR_OK;
    *c = (call){.ctx = ctx};
    FAR_TRY(check_opts(ctx, net, opts));
    FAR_TRY(check_points(ctx, net, x1, x2));
    FAR_TRY(far_tangent_weights(c->ctx, net, x1->dtype, &c->engine, &c->weights));
    c->plan = (far_factor_plan){net, c->engine, c->weights, opts};
done:
    return st;
}

static far_status fill(call *c, int64_t from, int64_t to, far_mat *out)
{
    bool trace = c->plan.opts->outputs == FAR_NTK_TRACE;
    source s = {.engine = c->engine,
                .a = &c->a,
                .b = c->b,
                .from = from,
                .to = to,
                .scale = trace ? 1.0 / (double)c->plan.net->info.outputs : 1,
                .out = out};
    bool symmetric = c->b == &c->a;
    far_gram_job job = {.tile = run_tile,
                        .source = &s,
                        .rows = out->rows,
                        .cols = out->cols,
                        .side = FAR_TILE,
                        .scratch = 2 * TILE_NUMBERS * (int64_t)far_dtype_size(out->dtype),
                        .symmetric = symmetric,
                        .mirror = {symmetric ? out : NULL}};
    return far_gram_fill(c->ctx, &job);
}

far_status far_net_ntk_kept(far_ctx *ctx, const far_net *net, const far_mat *x,
                            const far_ntk_opts *opts, far_factors *kept, far_mat *out)
{
    call c;
    far_status st = FAR_OK;
    FAR_TRY(call_open(ctx, net, x, NULL, opts, &c));
    FAR_TRY(check_out(ctx, &c, x, NULL, out));
    c.a = *kept;
    *kept = (far_factors){0};
    FAR_TRY(make_factors(&c, x, NULL));
    FAR_TRY(fill(&c, 0, c.a.count, out));
    *kept = c.a;
    c.a = (far_factors){0};
done:
    call_close(&c);
    return st;
}

far_status far_net_ntk(far_ctx *ctx, const far_net *net, const far_mat *x1, const far_mat *x2,
                       const far_ntk_opts *opts, far_mat *out)
{
    call c;
    far_status st = FAR_OK;
    FAR_TRY(call_open(ctx, net, x1, x2, opts, &c));
    FAR_TRY(check_out(ctx, &c, x1, x2, out));
    FAR_TRY(make_factors(&c, x1, x2));
    FAR_TRY(fill(&c, 0, c.a.count, out));
done:
    call_close(&c);
    return st;
}

static far_status check_outs(far_ctx *ctx, const call *c, const far_mat *x1, const far_mat *x2,
                             far_mat *const *out)
{
    far_status st = FAR_OK;
    const unsigned char *layers = c->plan.opts->layers;
    for (int64_t l = 0; l < c->plan.net->info.layers && st == FAR_OK; l++) {
        st = !layers || layers[l] ? check_out(ctx, c, x1, x2, out[l]) : FAR_OK;
    }
    return st;
}

far_status far_net_ntk_layers(far_ctx *ctx, const far_net *net, const far_mat *x1,
                              const far_mat *x2, const far_ntk_opts *opts, far_mat *const *out)
{
    call c;
    far_status st = FAR_OK;
    FAR_TRY(call_open(ctx, net, x1, x2, opts, &c));
    FAR_TRY(check_outs(ctx, &c, x1, x2, out));
    FAR_TRY(make_factors(&c, x1, x2));
    for (int64_t k = 0; k < c.a.count; k++) {
        FAR_TRY(fill(&c, k, k + 1, out[c.a.items[k].unit]));
    }
done:
    call_close(&c);
    return st;
}
