/* The tangent kernel of a finite network, tile by tile from layer factors. */
#include "gram.h"
#include "net_factors.h"

#include <string.h>

/* ---- tiles --------------------------------------------------------------------------------- */

typedef struct source {
    const far_engine *engine;
    const far_factors *a, *b;
    int64_t from, to; /* which factors */
    int64_t first,
        some;     /* of their gradients' numbers; some 0: all, but no factors that are long */
    bool add;     /* to what out has */
    double scale; /* of the sum */
    far_mat *out;
} source;

/* The scratch of a thread: one tile of h h', one of d d'. */
#define TILE_NUMBERS ((int64_t)FAR_TILE * FAR_TILE)

/* Long gradients are taken some numbers at a time, those of all points together in cache. */
#define SLICE_LEAST 1024
#define SLICE_BYTES (2 << 20)

static int64_t slice_numbers(const far_factors *f)
{
    int64_t fit = SLICE_BYTES / (int64_t)far_dtype_size(f->dtype) / (f->n > 0 ? f->n : 1);
    return fit < SLICE_LEAST ? SLICE_LEAST : fit / SLICE_LEAST * SLICE_LEAST;
}

static bool is_long(const far_factors *all, const far_factor *f)
{
    return f->inputs.length == 0 && f->gradients.length > slice_numbers(all);
}

/* out (FAR_TILE numbers a row) = vectors [i0, i1) of a times vectors [j0, j1) of b, some of their
 * numbers. On the diagonal of a symmetric matrix some columns at a time, from the diagonal down:
 * nobody reads the rest. */
static void multiply(const source *s, const far_vectors *a, const far_vectors *b, int64_t first,
                     int64_t inner, int64_t i0, int64_t i1, int64_t j0, int64_t j1, void *out)
{
    size_t bytes = far_dtype_size(s->out->dtype);
    bool half = s->a == s->b && i0 == j0;
    int64_t width = half ? far_engine_panel(s->engine) : FAR_TILE;
    for (int64_t j = 0; j < j1 - j0; j += width) {
        int64_t i = half ? j : 0, some = far_least(width, j1 - j0 - j);
        const char *rows = (const char *)a->rows + (size_t)((i0 + i) * a->length + first) * bytes;
        const char *cols = (const char *)b->rows + (size_t)((j0 + j) * b->length + first) * bytes;
        char *to = (char *)out + (size_t)(i * FAR_TILE + j) * bytes;
        far_engine_multiply(s->engine, i1 - i0 - i, some, inner, rows, cols, a->length, to,
                            FAR_TILE);
    }
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
    bool first = !s->add;
    for (int64_t k = s->from; k < s->to; k++) {
        const far_factor *a = &s->a->items[k], *b = &s->b->items[k];
        int64_t inner = s->some > 0 ? s->some : a->gradients.length;
        if (s->some == 0 && is_long(s->a, a)) {
            continue;
        }
        if (a->inputs.length > 0) {
            multiply(s, &a->inputs, &b->inputs, 0, a->inputs.length, i0, i1, j0, j1, hh);
        }
        multiply(s, &a->gradients, &b->gradients, s->first, inner, i0, i1, j0, j1, dd);
        if (dtype == FAR_F64) {
            combine_f64(s, a, i0, i1, j0, j1, hh, dd, first);
        } else {
            combine_f32(s, a, i0, i1, j0, j1, hh, dd, first);
        }
        first = false;
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

/* Layers at several positions keep gradients by all of their parameters. Only so many bytes of them
 * are made at a time, since fresh memory costs more than going forwards again: channels of
 * convolutions and whole layers one after another, and of a trace over many outputs some. */
#define GROUP_BYTES 256e6
#define GROUP_OUTPUTS 7 /* so many at a time, or a few more, are fast */

/* Bytes for places [begin, end), n points on both sides. */
static double place_bytes(call *c, int64_t begin, int64_t end, int64_t n)
{
    c->plan.begin = begin;
    c->plan.end = end;
    return far_factors_bytes(&c->plan, n);
}

static double most_bytes(const call *c)
{
    double memory = c->plan.opts->memory;
    return memory > 0 && memory < GROUP_BYTES ? memory : GROUP_BYTES;
}

/* A divisor of their number: as few as are fast, and fewer where one place does not fit. */
static void choose_outputs(call *c, int64_t n)
{
    int64_t all = c->plan.net->info.outputs, *some = &c->plan.some;
    *some = all;
    if (c->plan.opts->outputs != FAR_NTK_TRACE || !far_net_shaped(c->plan.net)) {
        return;
    }
    *some = far_least(all, GROUP_OUTPUTS);
    while (all % *some != 0) {
        ++*some;
    }
    for (int64_t k = 0; k < far_factors_places(&c->plan); k++) {
        while (*some > 1 && (all % *some != 0 || place_bytes(c, k, k + 1, n) > most_bytes(c))) {
            --*some;
        }
    }
}

/* The end of the places that begin there and fit together; one of them at least. */
static int64_t group_end(call *c, int64_t begin, int64_t n)
{
    int64_t places = far_factors_places(&c->plan), end = begin + 1;
    if (!far_net_shaped(c->plan.net)) {
        return places;
    }
    while (end < places && place_bytes(c, begin, end + 1, n) <= most_bytes(c)) {
        end++;
    }
    return end;
}

/* What the largest group takes, so that memory is asked for once. */
static double group_room(call *c, int64_t n)
{
    double most = 0;
    int64_t places = far_factors_places(&c->plan), end;
    for (int64_t begin = 0; begin < places; begin = end) {
        end = group_end(c, begin, n);
        double bytes = place_bytes(c, begin, end, 1);
        most = bytes > most ? bytes : most;
    }
    return most;
}

static far_status make_factors(call *c, const far_mat *x1, const far_mat *x2)
{
    far_status st = FAR_OK;
    FAR_TRY(far_factors_create(c->ctx, &c->plan, x1, &c->a));
    c->b = &c->a;
    if (x2) {
        FAR_TRY(far_factors_create(c->ctx, &c->plan, x2, &c->own_b));
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
    c->plan = (far_factor_plan){
        .net = net, .engine = c->engine, .weights = c->weights, .opts = opts, .by_channel = true};
done:
    return st;
}

/* Every tile, of some factors or of a slice of one; the last one also writes the upper half. */
static far_status fill_tiles(call *c, source *s, bool last)
{
    bool symmetric = c->b == &c->a;
    far_gram_job job = {.tile = run_tile,
                        .source = s,
                        .rows = s->out->rows,
                        .cols = s->out->cols,
                        .side = FAR_TILE,
                        .scratch = 2 * TILE_NUMBERS * (int64_t)far_dtype_size(s->out->dtype),
                        .symmetric = symmetric,
                        .mirror = {symmetric && last ? s->out : NULL}};
    far_status st = far_gram_fill(c->ctx, &job);
    s->add = true;
    return st;
}

static far_status fill_long(call *c, source s, int64_t k, bool last)
{
    far_status st = FAR_OK;
    int64_t length = c->a.items[k].gradients.length, slice = slice_numbers(&c->a);
    s.from = k;
    s.to = k + 1;
    for (s.first = 0; s.first < length; s.first += slice) {
        s.some = far_least(slice, length - s.first);
        FAR_TRY(fill_tiles(c, &s, last && s.first + slice >= length));
    }
done:
    return st;
}

/* Factors [from, to): those that are short together, then the others one by one. */
static far_status fill(call *c, int64_t from, int64_t to, bool add, far_mat *out)
{
    far_status st = FAR_OK;
    bool trace = c->plan.opts->outputs == FAR_NTK_TRACE;
    int64_t left = 0;
    source s = {.engine = c->engine,
                .a = &c->a,
                .b = c->b,
                .from = from,
                .to = to,
                .add = add,
                .scale = trace ? 1.0 / (double)c->plan.net->info.outputs : 1,
                .out = out};
    for (int64_t k = from; k < to; k++) {
        left += is_long(&c->a, &c->a.items[k]);
    }
    if (left < to - from) {
        FAR_TRY(fill_tiles(c, &s, left == 0));
    }
    for (int64_t k = from; k < to; k++) {
        if (is_long(&c->a, &c->a.items[k])) {
            FAR_TRY(fill_long(c, s, k, --left == 0));
            s.add = true;
        }
    }
done:
    return st;
}

/* out: one matrix for all layers, or one for each. begun: the units whose matrix has numbers. */
static far_status fill_group(call *c, far_mat *const *out, bool each, bool *begun)
{
    far_status st = FAR_OK;
    for (int64_t k = 0; each && k < c->a.count; k++) {
        int64_t unit = c->a.items[k].unit;
        FAR_TRY(fill(c, k, k + 1, begun[unit], out[unit]));
        begun[unit] = true;
    }
    if (!each) {
        FAR_TRY(fill(c, 0, c->a.count, begun[0], out[0]));
        begun[0] = true;
    }
done:
    return st;
}

static far_status fill_all(call *c, const far_mat *x1, const far_mat *x2, far_mat *const *out,
                           bool each)
{
    far_status st = FAR_OK;
    int64_t n = x1->rows + (x2 ? x2->rows : 0), all = c->plan.net->info.outputs;
    int64_t places = far_factors_places(&c->plan), end;
    bool *begun = NULL;
    FAR_TRY(far_alloc(c->ctx, c->plan.net->info.layers, &begun));
    choose_outputs(c, n);
    c->plan.room = group_room(c, n);
    for (int64_t first = 0; first < all; first += c->plan.some) {
        c->plan.first = first;
        for (int64_t begin = 0; begin < places; begin = end) {
            end = group_end(c, begin, n);
            FAR_TRY(far_budget_check(c->ctx, "the layer factors", place_bytes(c, begin, end, n),
                                     c->plan.opts->memory));
            FAR_TRY(make_factors(c, x1, x2));
            FAR_TRY(fill_group(c, out, each, begun));
        }
    }
done:
    far_free(c->ctx, begun);
    return st;
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
    FAR_TRY(fill_all(&c, x, NULL, &out, false));
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
    FAR_TRY(fill_all(&c, x1, x2, &out, false));
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
    FAR_TRY(fill_all(&c, x1, x2, out, true));
done:
    call_close(&c);
    return st;
}
