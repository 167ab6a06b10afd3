/* Packing, engines, weights and passes; what runs over rows is in engine_impl.h. */
#include "engine_plan.h"

#include <math.h>
#include <string.h>

/* ---- packed parameters --------------------------------------------------------------------- */

static void put(void *packed, far_dtype dtype, int64_t i, double value)
{
    if (dtype == FAR_F64) {
        ((double *)packed)[i] = value;
    } else {
        ((float *)packed)[i] = (float)value;
    }
}

static double get(const void *packed, far_dtype dtype, int64_t i)
{
    return dtype == FAR_F64 ? ((const double *)packed)[i] : (double)((const float *)packed)[i];
}

/* Where weight (row, col) of far_net lies when packed: matrices of linear layers are turned, and
 * those of convolutions have the channels of a pixel next to each other. */
static int64_t packed_place(const far_step *s, far_weights_shape shape, int64_t row, int64_t col)
{
    if (!far_step_is_linear(s)) {
        return row * shape.cols + col;
    }
    int64_t window = s->kind == FAR_STEP_CONV ? far_positions(s->window) : 1;
    int64_t channel = col / window, pixel = col % window;
    return (pixel * s->in + channel) * shape.rows + row;
}

/* Every number of a tensor that starts at first: into packed, or back. pixels: its columns are
 * those of the weights (B's are not). */
typedef struct packing {
    double *params;
    far_dtype dtype;
    void *packed;
    bool back;
} packing;

static void copy_tensor(const packing *p, const far_step *s, int64_t first, far_weights_shape shape,
                        bool pixels)
{
    for (int64_t row = 0; row < shape.rows; row++) {
        for (int64_t col = 0; col < shape.cols; col++) {
            double *value = &p->params[first + row * shape.cols + col];
            int64_t place =
                first + (pixels ? packed_place(s, shape, row, col) : col * shape.rows + row);
            if (p->back) {
                *value = get(p->packed, p->dtype, place);
            } else {
                put(p->packed, p->dtype, place, *value);
            }
        }
    }
}

static void copy_bias(const packing *p, int64_t first, int64_t count)
{
    for (int64_t j = first; j < first + count; j++) {
        if (p->back) {
            p->params[j] = get(p->packed, p->dtype, j);
        } else {
            put(p->packed, p->dtype, j, p->params[j]);
        }
    }
}

static void copy_tensors(const far_net *net, const packing *p)
{
    for (int64_t k = 0; k < net->step_count; k++) {
        const far_step *s = &net->steps[k];
        if (s->weight >= 0) {
            copy_tensor(p, s, s->weight, far_step_weights(s), true);
        }
        if (s->bias >= 0) {
            copy_bias(p, s->bias, s->out);
        }
        if (s->rank > 0) {
            copy_tensor(p, s, s->lora_a, far_part_matrix(s, FAR_PART_LORA_A), true);
            copy_tensor(p, s, s->lora_b, far_part_matrix(s, FAR_PART_LORA_B), false);
        }
    }
}

void far_net_pack(const far_net *net, const double *params, far_dtype dtype, void *packed)
{
    packing p = {(double *)params, dtype, packed, false}; /* read only */
    copy_tensors(net, &p);
}

void far_net_unpack(const far_net *net, far_dtype dtype, const void *packed, double *params)
{
    packing p = {params, dtype, (void *)packed, true}; /* read only */
    copy_tensors(net, &p);
}

/* What does not train, in the same way. */
static far_status pack_frozen(far_engine *e)
{
    const far_net *net = e->net;
    size_t size = far_dtype_size(e->dtype);
    far_status st = FAR_OK;
    if (net->info.frozen > 0) {
        st = far_alloc_bytes(e->ctx, net->info.frozen, size, &e->frozen);
    }
    packing p = {net->frozen, e->dtype, e->frozen, false};
    for (int64_t k = 0; st == FAR_OK && k < net->step_count; k++) {
        const far_step *s = &net->steps[k];
        if (s->rank > 0) {
            copy_tensor(&p, s, s->frozen_weight, far_step_weights(s), true);
        }
        if (s->frozen_bias >= 0) {
            copy_bias(&p, s->frozen_bias, s->out);
        }
    }
    return st;
}

/* ---- the instruction set ------------------------------------------------------------------- */

static const far_engine_ops *choose_ops(far_dtype dtype)
{
    static const far_engine_ops *const table[][2] = {
        {&far_engine_f64_baseline, &far_engine_f32_baseline},
        {&far_engine_f64_avx2, &far_engine_f32_avx2},
        {&far_engine_f64_avx512, &far_engine_f32_avx512},
    };
    return table[far_isa_chosen()][dtype == FAR_F32];
}

/* ---- engines ------------------------------------------------------------------------------- */

far_status far_engine_create(far_ctx *ctx, const far_net *net, far_dtype dtype, far_engine **out)
{
    far_engine *e = NULL;
    far_status st = FAR_OK;
    *out = NULL;
    FAR_TRY(far_alloc(ctx, 1, &e));
    *e = (far_engine){.ctx = ctx, .net = net, .dtype = dtype, .ops = choose_ops(dtype)};
    FAR_TRY(far_engine_plan(e));
    FAR_TRY(pack_frozen(e));
    *out = e;
    e = NULL;
done:
    far_engine_destroy(e);
    return st;
}

static void free_buffers(far_ctx *ctx, far_buffers *b)
{
    far_free(ctx, b->offset);
    far_free(ctx, b->width);
    far_free(ctx, b->channels);
}

void far_engine_destroy(far_engine *e)
{
    if (!e) {
        return;
    }
    far_ctx *ctx = e->ctx;
    free_buffers(ctx, &e->values);
    free_buffers(ctx, &e->gradients);
    free_buffers(ctx, &e->tangents);
    FAR_FREE_ALL(ctx, e->stages, e->step_value, e->step_kept, e->step_delta, e->frozen, e);
}

#define CACHE_BYTES (640 << 10) /* of a second-level cache of a megabyte */
#define ROWS_LEAST 96
#define ROWS_MOST 256
#define ROWS_SHAPED 16 /* of images and sequences: enough for the layers behind them, */
#define PASS_BYTES ((int64_t)64 << 20) /* but no more than so many bytes, or a single row */

int64_t far_engine_rows(const far_engine *e)
{
    int64_t size = (int64_t)far_dtype_size(e->dtype);
    int64_t row = size * (e->net->info.inputs + e->values.total + e->gradients.total);
    int64_t rows = (CACHE_BYTES - 2 * size * e->weights) / row / 16 * 16;
    int64_t fit = PASS_BYTES / row > 0 ? PASS_BYTES / row : 1;
    int64_t least = !e->shaped ? ROWS_LEAST : fit < ROWS_SHAPED ? fit : ROWS_SHAPED;
    return rows < least ? least : rows > ROWS_MOST ? ROWS_MOST : rows;
}

#define EACH_MOST 14 /* rows of the largest tile */

int64_t far_engine_each(const far_engine *e, int64_t outputs)
{
    int64_t size = (int64_t)far_dtype_size(e->dtype),
            row = size * (e->gradients.total + e->entries);
    int64_t fit = PASS_BYTES / (row > 0 ? row : 1);
    int64_t most = fit < 1 ? 1 : fit < EACH_MOST ? fit : EACH_MOST;
    int64_t turns = (outputs + most - 1) / most;
    return (outputs + turns - 1) / turns;
}

double far_engine_flops(const far_engine *e)
{
    double products = 0;
    for (int64_t i = 0; i < e->stage_count; i++) {
        const far_stage *s = &e->stages[i];
        if (s->kind == FAR_STAGE_LINEAR) {
            double positions = (double)s->after;
            products +=
                positions * (double)s->depth * (double)s->out * (s->from > 0 && !s->idle ? 3 : 2);
        }
    }
    return 2 * products;
}

/* ---- weights ------------------------------------------------------------------------------- */

far_status far_weights_create(far_ctx *ctx, const far_engine *e, far_weights **out)
{
    far_weights *w = NULL;
    far_status st = FAR_OK;
    size_t size = far_dtype_size(e->dtype);
    *out = NULL;
    FAR_TRY(far_alloc(ctx, 1, &w));
    *w = (far_weights){.ctx = ctx, .engine = e};
    FAR_TRY(far_alloc_bytes(ctx, e->weights, size, &w->data)); /* zeros: they pad the panels */
    far_weights_set_statistics(w, e->net->statistics);
    *out = w;
    w = NULL;
done:
    far_weights_destroy(w);
    return st;
}

far_status far_direction_create(far_ctx *ctx, const far_engine *e, const far_weights *point,
                                far_weights **out)
{
    far_status st = far_weights_create(ctx, e, out);
    if (st == FAR_OK) {
        (*out)->point = point;
    }
    return st;
}

void far_weights_destroy(far_weights *w)
{
    if (w) {
        far_free(w->ctx, w->data);
        far_free(w->ctx, w);
    }
}

void far_weights_set(far_weights *w, const void *packed, int64_t slice, int64_t slices)
{
    w->engine->ops->set(w, packed, slice, slices);
}

static void set_stage_statistics(far_weights *w, const far_stage *s, const double *statistics)
{
    far_dtype dtype = w->engine->dtype;
    for (int64_t j = 0; j < s->out; j++) {
        double square = statistics[s->norm->variance + j] + s->norm->eps;
        put(w->data, dtype, s->mean + j, statistics[s->norm->mean + j]);
        put(w->data, dtype, s->sd + j, square > 0 ? 1 / sqrt(square) : 0);
    }
}

void far_weights_set_statistics(far_weights *w, const double *statistics)
{
    const far_engine *e = w->engine;
    for (int64_t i = 0; i < e->stage_count; i++) {
        const far_stage *s = &e->stages[i];
        if (s->norm && s->norm->kind == FAR_STEP_BATCHNORM) {
            set_stage_statistics(w, s, statistics);
        }
    }
}

static const far_stage *stage_of(const far_engine *e, int64_t step)
{
    const far_stage *s = e->stages;
    while (s->step != &e->net->steps[step]) {
        s++;
    }
    return s;
}

/* ---- passes -------------------------------------------------------------------------------- */

/* Of a convolution's gradients; one more channel is written behind the last. */
static far_status allocate_lists(far_pass *p)
{
    const far_engine *e = p->engine;
    far_active *l = &p->active;
    far_status st = FAR_OK;
    size_t size = far_dtype_size(e->dtype);
    FAR_TRY(far_alloc(p->ctx, e->positions + 2, &l->start));
    FAR_TRY(far_alloc(p->ctx, e->entries + 1, &l->channel));
    FAR_TRY(far_alloc_bytes(p->ctx, e->entries * p->capacity, size, &l->value));
    FAR_TRY(far_alloc(p->ctx, e->widest + 2, &l->by_channel));
    FAR_TRY(far_alloc(p->ctx, e->picks, &l->picks));
    FAR_TRY(far_alloc(p->ctx, e->entries, &l->where));
    FAR_TRY(far_alloc_bytes(p->ctx, e->entries, size, &l->slope));
done:
    return st;
}

static far_status allocate_pass(far_pass *p)
{
    const far_engine *e = p->engine;
    size_t size = far_dtype_size(e->dtype);
    int64_t lines = e->shaped ? far_engine_lines(e) : p->capacity;
    int64_t rows = p->capacity, deep = lines > e->widest ? lines : e->widest;
    deep = e->deepest > deep ? e->deepest : deep;
    bool back = p->needs & FAR_PASS_BACKWARD, tangent = p->needs & FAR_PASS_TANGENT;
    far_status st = FAR_OK;
    int64_t values = rows * e->values.total + e->ops->panel; /* a whole panel is read at the end */
    FAR_TRY(far_alloc_bytes(p->ctx, values, size, &p->values));
    FAR_TRY(far_alloc_bytes(p->ctx, back ? rows * e->gradients.total : 0, size, &p->gradients));
    FAR_TRY(far_alloc_bytes(p->ctx, tangent ? rows * e->tangents.total : 0, size, &p->tangents));
    FAR_TRY(far_alloc_bytes(p->ctx, rows * e->inverses, size, &p->inverses));
    FAR_TRY(far_alloc_bytes(p->ctx, e->columns, size, &p->columns));
    FAR_TRY(far_alloc_bytes(p->ctx, deep * e->ops->panel, size, &p->panel));
    FAR_TRY(far_alloc_bytes(p->ctx, e->widest, size, &p->line));
    FAR_TRY(far_alloc_bytes(p->ctx, e->scratch, size, &p->scratch));
    FAR_TRY(far_alloc_bytes(p->ctx, back ? e->adapter : 0, size, &p->adapter));
    if (p->needs & FAR_PASS_EACH) {
        FAR_TRY(allocate_lists(p));
    }
done:
    return st;
}

far_status far_pass_create(far_ctx *ctx, const far_engine *e, int64_t rows, int needs,
                           far_pass **out)
{
    far_pass *p = NULL;
    far_status st = FAR_OK;
    *out = NULL;
    FAR_TRY(far_alloc(ctx, 1, &p));
    *p = (far_pass){.ctx = ctx, .engine = e, .needs = needs, .capacity = rows};
    if (!e->shaped) {
        p->capacity = (rows + FAR_BUFFER_UNIT - 1) / FAR_BUFFER_UNIT * FAR_BUFFER_UNIT;
    }
    FAR_TRY(allocate_pass(p));
    *out = p;
    p = NULL;
done:
    far_pass_destroy(p);
    return st;
}

void far_pass_destroy(far_pass *p)
{
    if (!p) {
        return;
    }
    const far_active *l = &p->active;
    FAR_FREE_ALL(p->ctx, l->start, l->channel, l->value, l->by_channel, l->picks, l->where,
                 l->slope);
    FAR_FREE_ALL(p->ctx, p->values, p->gradients, p->tangents, p->inverses, p->columns, p->panel,
                 p->line, p->scratch, p->adapter, p);
}

void far_pass_forward(far_pass *p, const far_weights *w, const void *x, int64_t ld, int64_t rows)
{
    p->x = x;
    p->ldx = ld;
    p->rows = rows;
    p->engine->ops->forward(p, w);
}

void far_pass_backward(far_pass *p, const far_weights *w, const void *dout, void *gradient,
                       void *dx)
{
    p->engine->ops->backward(p, w, dout, gradient, dx);
}

void far_step_clear(const far_step *s, void *gradient, size_t size)
{
    memset((char *)gradient + (size_t)far_step_first(s) * size, 0,
           (size_t)far_step_parameters(s) * size);
}

void far_step_copy(const far_step *s, const void *gradient, size_t size, void *out)
{
    memcpy(out, (const char *)gradient + (size_t)far_step_first(s) * size,
           (size_t)far_step_parameters(s) * size);
}

void far_pass_backward_each(far_pass *p, const far_weights *w, const void *douts, int64_t count,
                            int64_t lowest, const far_jacobian *parts, void *gradient)
{
    const far_engine *e = p->engine;
    e->ops->backward_each(p, w, douts, count, stage_of(e, lowest) - e->stages, parts, gradient);
}

void far_pass_tangent(far_pass *p, const far_weights *w, const far_weights *v, const void *dx,
                      int64_t ldx, void *out)
{
    p->engine->ops->tangent(p, w, v, dx, ldx, out);
}

/* ---- asking a pass ------------------------------------------------------------------------- */

static const void *buffer_at(const far_pass *p, const far_buffers *b, const void *data, int64_t i)
{
    size_t size = far_dtype_size(p->engine->dtype);
    return i < 0 ? NULL : (const char *)data + size * (size_t)(b->offset[i] * p->capacity);
}

static const void *value_at(const far_pass *p, int64_t value, int64_t *ld)
{
    const far_buffers *b = &p->engine->values;
    if (value == 0) {
        *ld = p->ldx;
        return p->x;
    }
    *ld = value < 0 ? 0 : b->width[value];
    return buffer_at(p, b, p->values, value);
}

const void *far_pass_value(const far_pass *p, int64_t step, int64_t *ld)
{
    return value_at(p, step < 0 ? 0 : p->engine->step_value[step], ld);
}

const void *far_pass_output(const far_pass *p)
{
    int64_t ld;
    return far_pass_value(p, p->engine->net->step_count - 1, &ld);
}

int32_t far_engine_dtype(const far_engine *e)
{
    return e->dtype;
}

int64_t far_engine_panel(const far_engine *e)
{
    return e->ops->panel;
}

void far_engine_multiply(const far_engine *e, int64_t rows, int64_t cols, int64_t inner,
                         const void *a, const void *b, int64_t ld, void *out, int64_t ldo)
{
    e->ops->multiply(rows, cols, inner, a, b, ld, out, ldo);
}

const void *far_pass_normalized(const far_pass *p, int64_t step)
{
    int64_t ld;
    return value_at(p, p->engine->step_kept[step], &ld);
}

const void *far_pass_delta(const far_pass *p, int64_t step)
{
    return buffer_at(p, &p->engine->gradients, p->gradients, p->engine->step_delta[step]);
}

void far_pass_layer_gradient(far_pass *p, const far_weights *w, int64_t step, int64_t row,
                             void *gradient)
{
    p->engine->ops->layer_gradient(p, w, stage_of(p->engine, step), row, gradient);
}

int64_t far_engine_positions(const far_engine *e, int64_t step)
{
    return stage_of(e, step)->after;
}

const void *far_pass_input(const far_pass *p, int64_t step, int64_t *ld)
{
    return value_at(p, stage_of(p->engine, step)->input, ld);
}

static void stage_statistics(const far_pass *p, const far_stage *s, double *statistics)
{
    far_dtype dtype = p->engine->dtype;
    for (int64_t j = 0; j < s->out; j++) {
        statistics[s->norm->mean + j] = get(p->columns, dtype, s->column + j);
        statistics[s->norm->variance + j] = get(p->columns, dtype, s->column + s->out + j);
    }
}

void far_pass_statistics(const far_pass *p, double *statistics)
{
    const far_engine *e = p->engine;
    for (int64_t i = 0; i < e->stage_count; i++) {
        const far_stage *s = &e->stages[i];
        if (s->norm && s->norm->kind == FAR_STEP_BATCHNORM) {
            stage_statistics(p, s, statistics);
        }
    }
}
