#include "net_factors.h"

#include <omp.h>
#include <string.h>

far_status far_tangent_weights(far_ctx *ctx, const far_net *net, far_dtype dtype,
                               far_engine **engine, far_weights **weights)
{
    far_status st;
    void *packed = NULL;
    FAR_TRY(far_engine_create(ctx, net, dtype, engine));
    FAR_TRY(far_weights_create(ctx, *engine, weights));
    FAR_TRY(far_alloc_bytes(ctx, net->info.parameters, far_dtype_size(dtype), &packed));
    far_net_pack(net, net->start ? net->start : net->params, dtype, packed);
    far_weights_set(*weights, packed, 0, 1);
done:
    far_free(ctx, packed);
    return st;
}

/* ---- which layers -------------------------------------------------------------------------- */

static bool is_chosen(const far_factor_plan *plan, const far_step *step)
{
    return step->unit >= 0 && (!plan->opts->layers || plan->opts->layers[step->unit]);
}

static int64_t places_of(const far_factor_plan *plan, const far_step *s)
{
    bool channels = plan->by_channel && s->kind == FAR_STEP_CONV && s->rank == 0;
    return !is_chosen(plan, s) ? 0 : channels ? s->out : 1;
}

int64_t far_factors_places(const far_factor_plan *plan)
{
    int64_t places = 0;
    for (int64_t i = 0; i < plan->net->step_count; i++) {
        places += places_of(plan, &plan->net->steps[i]);
    }
    return places;
}

typedef struct span {
    int64_t first, count;
} span;

/* Places of a step that the plan takes. */
static span span_of(const far_factor_plan *plan, const far_step *step)
{
    int64_t all = places_of(plan, step), begin = plan->begin, end = plan->end;
    for (const far_step *s = plan->net->steps; s < step; s++) {
        begin -= places_of(plan, s);
        end -= places_of(plan, s);
    }
    if (plan->end == 0) {
        return (span){0, all};
    }
    begin = begin < 0 ? 0 : begin;
    end = end > all ? all : end;
    return (span){begin, end > begin ? end - begin : 0};
}

static bool wanted(const far_factor_plan *plan, const far_step *step)
{
    return span_of(plan, step).count > 0;
}

/* Gradient vectors of one point lie one behind the other in a trace, below each other if full. */
static int64_t outputs_behind(const far_factor_plan *plan)
{
    int64_t all = plan->some > 0 ? plan->some : plan->net->info.outputs;
    return plan->opts->outputs == FAR_NTK_TRACE ? all : 1;
}

static int64_t outputs_below(const far_factor_plan *plan)
{
    return plan->opts->outputs == FAR_NTK_FULL ? plan->net->info.outputs : 1;
}

/* A layer at several positions (a convolution too) has no such product, and one with lora would
 * have two: the gradient by all of its parameters is kept instead. */
bool far_step_is_spread(const far_step *s)
{
    return s->kind == FAR_STEP_CONV || s->kind == FAR_STEP_EMBED || s->kind == FAR_STEP_POSITION ||
           s->rank > 0 || far_positions(s->to) > 1;
}

int64_t far_step_spread_inputs(const far_step *s)
{
    far_weights_shape shape = far_step_weights(s);
    return far_step_is_linear(s)                                       ? shape.cols
           : s->kind == FAR_STEP_EMBED || s->kind == FAR_STEP_POSITION ? shape.rows
                                                                       : 0;
}

/* A norm keeps its whole gradient, which has no inputs. */
static far_factor apart_factor(const far_factor_plan *plan, const far_step *s)
{
    bool linear = far_step_is_linear(s);
    int64_t inputs = far_step_spread_inputs(s);
    if (inputs == 0) {
        return (far_factor){
            .unit = s->unit, .constant = 1, .gradients = {.length = far_step_parameters(s)}};
    }
    return (far_factor){.unit = s->unit,
                        .by_input = linear ? s->weight_scale * s->weight_scale : 1,
                        .constant = s->bias >= 0 ? s->bias_scale * s->bias_scale : 0,
                        .inputs = {.length = inputs},
                        .gradients = {.length = s->out},
                        .positions = far_engine_positions(plan->engine, s - plan->net->steps)};
}

static far_factor spread_factor(const far_factor_plan *plan, const far_step *s)
{
    int64_t place = far_step_parameters(s) / places_of(plan, s);
    int64_t length = outputs_behind(plan) * place * span_of(plan, s).count;
    return (far_factor){.unit = s->unit, .constant = 1, .gradients = {.length = length}};
}

static far_factor blank_factor(const far_factor_plan *plan, const far_step *s)
{
    if (far_step_is_spread(s)) {
        return plan->apart ? apart_factor(plan, s) : spread_factor(plan, s);
    }
    bool dense = s->kind == FAR_STEP_DENSE;
    return (far_factor){.unit = s->unit,
                        .by_input = dense ? s->weight_scale * s->weight_scale : 0,
                        .constant = !dense         ? 1
                                    : s->bias >= 0 ? s->bias_scale * s->bias_scale
                                                   : 0,
                        .inputs = {.length = dense ? s->in : 0},
                        .gradients = {.length = outputs_behind(plan) * s->out * (dense ? 1 : 2)}};
}

/* ---- memory -------------------------------------------------------------------------------- */

double far_factors_bytes(const far_factor_plan *plan, int64_t n)
{
    double numbers = 0;
    for (int64_t i = 0; i < plan->net->step_count; i++) {
        if (wanted(plan, &plan->net->steps[i])) {
            far_factor f = blank_factor(plan, &plan->net->steps[i]);
            double inputs = (double)f.inputs.length, gradients = (double)f.gradients.length;
            double below = (double)outputs_below(plan), positions = (double)f.positions;
            numbers += f.positions > 0 ? positions * (inputs + below * gradients)
                                       : below * (inputs + gradients);
        }
    }
    size_t bytes = far_dtype_size(far_engine_dtype(plan->engine));
    return numbers * (double)n * (double)bytes;
}

void far_factors_clear(far_factors *f)
{
    FAR_FREE_ALL(f->ctx, f->items, f->room);
    *f = (far_factors){0};
}

/* Room for so many vectors behind what is taken; they begin with a cache line. */
static void place_vectors(far_factors *f, int64_t rows, size_t *taken, far_vectors *v)
{
    v->rows = v->length > 0 ? (char *)f->room + *taken : NULL;
    *taken += ((size_t)(rows * v->length) * far_dtype_size(f->dtype) + 63) / 64 * 64;
}

/* Where the vectors of all items lie; returns the bytes they take. */
static size_t place_items(far_factors *f, int64_t points)
{
    size_t taken = 0;
    for (int64_t k = 0; k < f->count; k++) {
        far_factor *item = &f->items[k];
        int64_t places = item->positions;
        place_vectors(f, places > 0 ? points * places : f->n, &taken, &item->inputs);
        place_vectors(f, places > 0 ? f->n * places : f->n, &taken, &item->gradients);
    }
    return taken;
}

/* Items for the layers that are wanted, in the room there is where that will do. */
static far_status allocate(const far_factor_plan *plan, far_factors *f)
{
    far_status st = FAR_OK;
    if (!f->items) {
        FAR_TRY(far_alloc(f->ctx, plan->net->info.layers, &f->items));
    }
    f->count = 0;
    for (int64_t i = 0; i < plan->net->step_count; i++) {
        if (wanted(plan, &plan->net->steps[i])) {
            f->items[f->count++] = blank_factor(plan, &plan->net->steps[i]);
        }
    }
    int64_t points = f->n / outputs_below(plan);
    size_t bytes = place_items(f, points);
    if (bytes > f->bytes) {
        double later = plan->room * (double)points + 128.0 * (double)f->count;
        size_t room = later > (double)bytes ? (size_t)later : bytes;
        far_free(f->ctx, f->room);
        f->room = NULL;
        f->bytes = 0;
        FAR_TRY(far_alloc_bytes(f->ctx, (int64_t)room, 1, &f->room));
        f->bytes = room;
        place_items(f, points);
    }
done:
    return st;
}

far_status far_factors_like(far_ctx *ctx, const far_factors *some, int64_t n, far_factors *out)
{
    far_status st = FAR_OK;
    *out = (far_factors){.ctx = ctx, .dtype = some->dtype, .n = n};
    FAR_TRY(far_alloc(ctx, some->count, &out->items));
    for (; out->count < some->count; out->count++) {
        out->items[out->count] = some->items[out->count];
    }
    out->bytes = place_items(out, n);
    FAR_TRY(far_alloc_bytes(ctx, (int64_t)out->bytes, 1, &out->room));
    place_items(out, n);
done:
    return st;
}

/* ---- values -------------------------------------------------------------------------------- */

/* Points [first, first + count) on the way through the network. */
typedef struct block {
    const far_factor_plan *plan;
    far_factors *f;
    far_pass *pass;
    int64_t first, count;
    void *dout;          /* count x outputs */
    int64_t each;        /* by channel: so many outputs at a time, of one point; else 0 */
    void *gradient;      /* scratch, by all parameters, packed: where a layer is spread and not
                            taken apart */
    far_jacobian *parts; /* the same, by step */
} block;

static void *at(void *base, int64_t index, size_t bytes)
{
    return (char *)base + (size_t)index * bytes;
}

/* What a convolution sees around one pixel of its output; image: one of the input. */
static void keep_patch(const far_step *s, int64_t place, size_t bytes, const char *image, char *out)
{
    int64_t top = place / s->to.width * s->stride - s->pad;
    int64_t left = place % s->to.width * s->stride - s->pad;
    size_t pixel = (size_t)s->in * bytes;
    for (int64_t k = 0; k < far_positions(s->window); k++, out += pixel) {
        int64_t y = top + k / s->window.width, x = left + k % s->window.width;
        if (y < 0 || x < 0 || y >= s->from.height || x >= s->from.width) {
            memset(out, 0, pixel);
        } else {
            memcpy(out, image + (size_t)(y * s->from.width + x) * pixel, pixel);
        }
    }
}

static void set_number(far_dtype dtype, void *out, int64_t i, double value)
{
    if (dtype == FAR_F64) {
        ((double *)out)[i] = value;
    } else {
        ((float *)out)[i] = (float)value;
    }
}

static void keep_one_hot(far_dtype dtype, int64_t which, int64_t length, void *out)
{
    memset(out, 0, (size_t)length * far_dtype_size(dtype));
    set_number(dtype, out, which, 1);
}

static int64_t token_at(far_dtype dtype, const void *tokens, int64_t place)
{
    return dtype == FAR_F64 ? (int64_t)((const double *)tokens)[place]
                            : (int64_t)((const float *)tokens)[place];
}

/* The input of a layer taken apart at one position; from: that of its point. */
static void keep_input_at(const block *b, const far_step *s, int64_t place, const char *from,
                          const far_factor *item, void *out)
{
    size_t bytes = far_dtype_size(b->f->dtype);
    switch (s->kind) {
    case FAR_STEP_CONV:
        keep_patch(s, place, bytes, from, out);
        break;
    case FAR_STEP_EMBED:
        keep_one_hot(b->f->dtype, token_at(b->f->dtype, from, place), item->inputs.length, out);
        break;
    case FAR_STEP_POSITION:
        keep_one_hot(b->f->dtype, place, item->inputs.length, out);
        break;
    default:
        memcpy(out, from + (size_t)(place * s->in) * bytes, (size_t)s->in * bytes);
    }
}

static void keep_inputs_apart(const block *b, int64_t step, far_factor *item)
{
    size_t bytes = far_dtype_size(b->f->dtype);
    int64_t ld;
    const char *from = far_pass_input(b->pass, step, &ld);
    for (int64_t k = 0; k < b->count * item->positions; k++) {
        int64_t i = k / item->positions, row = b->first * item->positions + k;
        keep_input_at(b, &b->plan->net->steps[step], k % item->positions,
                      from + (size_t)(i * ld) * bytes, item,
                      at(item->inputs.rows, row * item->inputs.length, bytes));
    }
}

static void keep_inputs(const block *b, int64_t step, far_factor *item)
{
    size_t bytes = far_dtype_size(b->f->dtype);
    int64_t ld, below = outputs_below(b->plan), length = item->inputs.length;
    const char *from = far_pass_value(b->pass, step - 1, &ld);
    for (int64_t i = 0; i < b->count; i++) {
        for (int64_t a = 0; a < below; a++) {
            int64_t row = (b->first + i) * below + a;
            memcpy(at(item->inputs.rows, row * length, bytes), from + (size_t)(i * ld) * bytes,
                   (size_t)length * bytes);
        }
    }
}

/* Where the gradients of point i (of the block) for output a go. */
static void *gradient_place(const block *b, const far_factor *item, int64_t i, int64_t a)
{
    int64_t behind = outputs_behind(b->plan), below = outputs_below(b->plan);
    int64_t row = (b->first + i) * below + (below > 1 ? a : 0);
    int64_t part = item->gradients.length / behind;
    int64_t offset = row * item->gradients.length + (behind > 1 ? (a - b->plan->first) * part : 0);
    return at(item->gradients.rows, offset, far_dtype_size(b->f->dtype));
}

/* scale's gradient is delta times the normalised value, shift's is delta. */
static void keep_affine(far_dtype dtype, const void *delta, const void *value, int64_t width,
                        void *out)
{
    if (dtype == FAR_F64) {
        const double *d = delta, *z = value;
        for (int64_t k = 0; k < width; k++) {
            ((double *)out)[k] = d[k] * z[k];
            ((double *)out)[width + k] = d[k];
        }
    } else {
        const float *d = delta, *z = value;
        for (int64_t k = 0; k < width; k++) {
            ((float *)out)[k] = d[k] * z[k];
            ((float *)out)[width + k] = d[k];
        }
    }
}

/* The sum of keep_affine over positions. */
static void keep_affine_sum(far_dtype dtype, const void *delta, const void *value, int64_t places,
                            int64_t width, void *out)
{
    memset(out, 0, (size_t)(2 * width) * far_dtype_size(dtype));
    for (int64_t i = 0; i < places * width; i++) {
        int64_t k = i % width;
        if (dtype == FAR_F64) {
            ((double *)out)[k] += ((const double *)delta)[i] * ((const double *)value)[i];
            ((double *)out)[width + k] += ((const double *)delta)[i];
        } else {
            ((float *)out)[k] += ((const float *)delta)[i] * ((const float *)value)[i];
            ((float *)out)[width + k] += ((const float *)delta)[i];
        }
    }
}

/* Of a norm at several positions: its whole gradient. */
static void keep_norm(const block *b, int64_t step, far_factor *item, int64_t a)
{
    const far_step *s = &b->plan->net->steps[step];
    int64_t places = far_engine_positions(b->plan->engine, step);
    size_t row = (size_t)(places * s->out) * far_dtype_size(b->f->dtype);
    const char *delta = far_pass_delta(b->pass, step), *normal = far_pass_normalized(b->pass, step);
    for (int64_t i = 0; i < b->count; i++) {
        keep_affine_sum(b->f->dtype, delta + (size_t)i * row, normal + (size_t)i * row, places,
                        s->out, gradient_place(b, item, i, a));
    }
}

/* Of a layer taken apart: a row a position. */
static void keep_positions(const block *b, int64_t step, far_factor *item, int64_t a)
{
    const far_step *s = &b->plan->net->steps[step];
    int64_t below = outputs_below(b->plan);
    size_t row = (size_t)(item->positions * s->out) * far_dtype_size(b->f->dtype);
    const char *delta = far_pass_delta(b->pass, step);
    for (int64_t i = 0; i < b->count; i++) {
        memcpy(at(item->gradients.rows, (b->first + i) * below + a, row), delta + (size_t)i * row,
               row);
    }
}

/* The gradient by all parameters of a layer, point by point. */
static void keep_whole(const block *b, int64_t step, far_factor *item, int64_t a)
{
    const far_step *s = &b->plan->net->steps[step];
    size_t bytes = far_dtype_size(b->f->dtype), all = (size_t)far_step_parameters(s) * bytes;
    void *gradient = at(b->gradient, far_step_first(s), bytes);
    for (int64_t i = 0; i < b->count; i++) {
        memset(gradient, 0, all);
        far_pass_layer_gradient(b->pass, b->plan->weights, step, i, b->gradient);
        memcpy(gradient_place(b, item, i, a), gradient, all);
    }
}

static void keep_spread(const block *b, int64_t step, far_factor *item, int64_t a)
{
    if (far_step_spread_inputs(&b->plan->net->steps[step]) == 0) {
        keep_norm(b, step, item, a);
    } else if (b->plan->apart) {
        keep_positions(b, step, item, a);
    } else {
        keep_whole(b, step, item, a);
    }
}

/* The next rows of gradients are those of all points for output a, or of one point for output a and
 * the ones behind it. */
static void keep_gradients(const block *b, int64_t step, far_factor *item, int64_t a, int64_t rows)
{
    const far_step *s = &b->plan->net->steps[step];
    size_t bytes = far_dtype_size(b->f->dtype), row = (size_t)s->out * bytes;
    if (far_step_is_spread(s)) {
        if (b->each == 0) {
            keep_spread(b, step, item, a);
        }
        return;
    }
    const char *delta = far_pass_delta(b->pass, step);
    const char *normal = s->kind == FAR_STEP_DENSE ? NULL : far_pass_normalized(b->pass, step);
    for (int64_t i = 0; i < rows; i++) {
        void *to = b->each ? gradient_place(b, item, 0, a + i) : gradient_place(b, item, i, a);
        size_t value = b->each ? 0 : (size_t)i * row;
        if (normal) {
            keep_affine(b->f->dtype, delta + (size_t)i * row, normal + value, s->out, to);
        } else {
            memcpy(to, delta + (size_t)i * row, row);
        }
    }
}

static void keep_all_gradients(const block *b, int64_t a, int64_t rows)
{
    int64_t next = 0;
    for (int64_t step = 0; step < b->plan->net->step_count; step++) {
        if (wanted(b->plan, &b->plan->net->steps[step])) {
            keep_gradients(b, step, &b->f->items[next++], a, rows);
        }
    }
}

/* ---- several outputs of one point ---------------------------------------------------------- */

/* Where the whole gradients for output a and those behind it go. */
static far_jacobian part_of(const block *b, const far_step *s, const far_factor *item, int64_t a)
{
    span some = span_of(b->plan, s);
    return (far_jacobian){gradient_place(b, item, 0, a),
                          item->gradients.length / outputs_behind(b->plan), some.first, some.count};
}

/* Outputs [a, a + rows) of the one point of the block. lowest: the first step of those wanted. */
static void keep_each(const block *b, int64_t a, int64_t rows)
{
    const far_net *net = b->plan->net;
    int64_t outputs = net->info.outputs, next = 0, lowest = -1;
    for (int64_t i = 0; i < rows * outputs; i++) {
        set_number(b->f->dtype, b->dout, i, i % outputs == a + i / outputs);
    }
    for (int64_t i = 0; i < net->step_count; i++) {
        const far_step *s = &net->steps[i];
        bool here = wanted(b->plan, s);
        lowest = here && lowest < 0 ? i : lowest;
        b->parts[i] = here && far_step_is_spread(s) ? part_of(b, s, &b->f->items[next], a)
                                                    : (far_jacobian){0};
        next += here;
    }
    far_pass_backward_each(b->pass, b->plan->weights, b->dout, rows, lowest, b->parts, b->gradient);
    keep_all_gradients(b, a, rows);
}

/* ---- all points of a block ----------------------------------------------------------------- */

/* dout: 1 for output a of every point. */
static void choose_output(const block *b, int64_t a)
{
    int64_t outputs = b->plan->net->info.outputs;
    for (int64_t i = 0; i < b->count * outputs; i++) {
        set_number(b->f->dtype, b->dout, i, i % outputs == a);
    }
}

static void keep_all_inputs(const block *b)
{
    int64_t next = 0;
    for (int64_t step = 0; step < b->plan->net->step_count; step++) {
        if (wanted(b->plan, &b->plan->net->steps[step])) {
            far_factor *item = &b->f->items[next++];
            if (item->positions > 0) {
                keep_inputs_apart(b, step, item);
            } else if (item->inputs.length > 0) {
                keep_inputs(b, step, item);
            }
        }
    }
}

/* Whether the one layer that is wanted is dense and ends the network: its gradient is that of the
 * output, and nothing has to be taken back. */
static bool ends_with_all(const far_factor_plan *plan)
{
    const far_step *last = &plan->net->steps[plan->net->step_count - 1];
    bool all = last->kind == FAR_STEP_DENSE && !far_step_is_spread(last);
    for (const far_step *s = plan->net->steps; s <= last; s++) {
        all &= wanted(plan, s) == (s == last);
    }
    return all;
}

static void keep_last(const block *b, int64_t a)
{
    size_t row = (size_t)b->plan->net->info.outputs * far_dtype_size(b->f->dtype);
    for (int64_t i = 0; i < b->count; i++) {
        memcpy(gradient_place(b, &b->f->items[0], i, a), (char *)b->dout + (size_t)i * row, row);
    }
}

static void keep_output(const block *b, int64_t a)
{
    choose_output(b, a);
    if (ends_with_all(b->plan)) {
        keep_last(b, a);
        return;
    }
    far_pass_backward(b->pass, b->plan->weights, b->dout, NULL, NULL);
    keep_all_gradients(b, a, b->count);
}

static int64_t outputs_wanted(const far_factor_plan *plan)
{
    return plan->opts->outputs == FAR_NTK_ONE ? 1 : outputs_behind(plan) * outputs_below(plan);
}

static void keep_values(const block *b)
{
    size_t row = (size_t)b->plan->net->info.outputs * far_dtype_size(b->f->dtype);
    if (b->plan->outputs) {
        memcpy(at(b->plan->outputs, b->first, row), far_pass_output(b->pass),
               (size_t)b->count * row);
    }
}

static void run_block(const block *b, const far_mat *x)
{
    bool one = b->plan->opts->outputs == FAR_NTK_ONE;
    int64_t from = one ? b->plan->opts->output : b->plan->first;
    int64_t to = from + outputs_wanted(b->plan);
    far_pass_forward(b->pass, b->plan->weights, far_mat_row(x, b->first),
                     x->rows > 1 ? x->ld : x->cols, b->count);
    keep_all_inputs(b);
    keep_values(b);
    for (int64_t a = from; a < to && b->each == 0; a++) {
        keep_output(b, a);
    }
    for (int64_t a = from; a < to && b->each > 0; a += b->each) {
        keep_each(b, a, far_least(b->each, to - a));
    }
}

/* ---- the whole ----------------------------------------------------------------------------- */

enum { ROWS_SPREAD = 4 };

/* What a thread works with. */
typedef struct worker {
    far_pass *pass;
    void *dout, *gradient;
    far_jacobian *parts;
} worker;

typedef struct crew {
    worker *workers;
    int count;
    int64_t rows; /* of a block */
    int64_t each; /* as in a block */
} crew;

static void crew_free(far_ctx *ctx, crew *c)
{
    for (int i = 0; c->workers && i < c->count; i++) {
        worker *w = &c->workers[i];
        far_pass_destroy(w->pass);
        FAR_FREE_ALL(ctx, w->dout, w->gradient, w->parts);
    }
    far_free(ctx, c->workers);
}

/* Whether a layer is wanted whose whole gradient is kept. */
static bool keeps_whole(const far_factor_plan *plan)
{
    bool whole = false;
    for (int64_t i = 0; i < plan->net->step_count; i++) {
        const far_step *s = &plan->net->steps[i];
        whole |= !plan->apart && wanted(plan, s) && far_step_is_spread(s);
    }
    return whole;
}

/* Work for every thread, and of images and sequences few: what a pass holds of them is large, and
 * made anew for every call. A row's values do not depend on the rows beside it. */
static int64_t rows_at_once(const far_factor_plan *plan, int64_t n, int threads)
{
    int64_t most = far_engine_rows(plan->engine), share = (n + threads - 1) / threads;
    bool last = ends_with_all(plan) && far_net_shaped(plan->net);
    most = keeps_whole(plan) || plan->apart || last ? far_least(most, ROWS_SPREAD) : most;
    return share < 1 ? 1 : far_least(most, share);
}

static far_status worker_make(far_ctx *ctx, const far_factor_plan *plan, far_dtype dtype,
                              const crew *c, worker *w)
{
    far_status st = FAR_OK;
    size_t bytes = far_dtype_size(dtype);
    int64_t rows = c->each > 0 ? c->each : c->rows;
    int needs = FAR_PASS_BACKWARD | (c->each > 0 ? FAR_PASS_EACH : 0);
    FAR_TRY(far_pass_create(ctx, plan->engine, rows, needs, &w->pass));
    FAR_TRY(far_alloc_bytes(ctx, rows * plan->net->info.outputs, bytes, &w->dout));
    if (keeps_whole(plan)) {
        FAR_TRY(far_alloc_bytes(ctx, plan->net->info.parameters, bytes, &w->gradient));
        FAR_TRY(far_alloc(ctx, plan->net->step_count, &w->parts));
    }
done:
    return st;
}

/* By channel, one point at a time and several outputs. */
static far_status crew_make(far_ctx *ctx, const far_factor_plan *plan, const far_mat *x, crew *c)
{
    far_status st = FAR_OK;
    bool each = plan->by_channel && keeps_whole(plan);
    int threads = far_ctx_threads(ctx);
    c->rows = each ? 1 : rows_at_once(plan, x->rows, threads);
    c->each = each ? far_engine_each(plan->engine, outputs_wanted(plan)) : 0;
    c->count = threads;
    FAR_TRY(far_alloc(ctx, threads, &c->workers));
    for (int i = 0; i < threads; i++) {
        FAR_TRY(worker_make(ctx, plan, x->dtype, c, &c->workers[i]));
    }
done:
    return st;
}

static void run_blocks(const far_factor_plan *plan, const crew *c, const far_mat *x, far_factors *f)
{
    int64_t rows = c->rows, blocks = (x->rows + rows - 1) / rows;
#pragma omp parallel for num_threads(c->count) schedule(dynamic)
    for (int64_t k = 0; k < blocks; k++) {
        const worker *w = &c->workers[omp_get_thread_num()];
        int64_t first = k * rows, count = x->rows - first < rows ? x->rows - first : rows;
        block b = {.plan = plan,
                   .f = f,
                   .pass = w->pass,
                   .first = first,
                   .count = count,
                   .dout = w->dout,
                   .each = c->each,
                   .gradient = w->gradient,
                   .parts = w->parts};
        run_block(&b, x);
    }
}

far_status far_factors_create(far_ctx *ctx, const far_factor_plan *plan, const far_mat *x,
                              far_factors *out)
{
    far_status st = FAR_OK;
    crew c = {0};
    out->ctx = ctx;
    out->dtype = x->dtype;
    out->n = x->rows * outputs_below(plan);
    FAR_TRY(allocate(plan, out));
    FAR_TRY(crew_make(ctx, plan, x, &c));
    run_blocks(plan, &c, x, out);
done:
    crew_free(ctx, &c);
    return st;
}
