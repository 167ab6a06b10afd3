/* From the tree of layers to the list of operations: widths, offsets, names. */
#include "program.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PARAMETERS_MOST ((int64_t)1 << 40) /* far beyond memory, far below overflow */

far_status far_walk_fail(const far_walk *w, const far_layer *layer, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    far_status st = far_fail_at_args(w->ctx, FAR_ERR_ARCH, w->text, (int)strlen(w->text),
                                     layer->column - 1, format, args);
    va_end(args);
    return st;
}

far_status far_walk_step(far_walk *w, const far_layer *layer, far_step_kind kind, int64_t index,
                         far_step **out)
{
    far_net *net = w->net;
    if (net->step_count == w->capacity) {
        int64_t more = 2 * w->capacity + 8;
        far_status st = far_grow(w->ctx, w->capacity, more, &net->steps);
        if (st != FAR_OK) {
            return st;
        }
        w->capacity = more;
    }
    far_step *step = &net->steps[net->step_count];
    *step = (far_step){.kind = kind,
                       .layer = layer->kind,
                       .in = w->width,
                       .out = w->width,
                       .from = w->grid,
                       .to = w->grid,
                       .weight_name = "weight",
                       .bias_name = "bias",
                       .w = layer->w,
                       .b = layer->b,
                       .weight_scale = 1,
                       .bias_scale = 1,
                       .gain = 1,
                       .power = layer->power,
                       .slope = layer->slope,
                       .w0 = layer->w0,
                       .eps = layer->eps,
                       .groups = layer->groups,
                       .weight = -1,
                       .bias = -1,
                       .lora_a = -1,
                       .lora_b = -1,
                       .frozen_weight = -1,
                       .frozen_bias = -1,
                       .mean = -1,
                       .variance = -1,
                       .mate = -1,
                       .end = -1,
                       .unit = -1,
                       .tensor = net->info.tensors,
                       .column = layer->column};
    char name[32] = "out_proj";
    if (index != FAR_OUT_PROJ) {
        snprintf(name, sizeof name, "%lld", (long long)index);
    }
    far_text full = {.ctx = w->ctx};
    far_text_add(&full, "%s%s", w->prefix.data ? w->prefix.data : "", name);
    if (full.status != FAR_OK) {
        far_free(w->ctx, full.data);
        return full.status;
    }
    step->name = full.data;
    net->step_count++;
    *out = step;
    return FAR_OK;
}

far_status far_walk_parameters(far_walk *w, const far_layer *layer, int64_t count, int64_t *offset)
{
    if (count > PARAMETERS_MOST - w->net->info.parameters) {
        return far_walk_fail(w, layer,
                             "the network would have more than 2^40 weights; narrow its layers");
    }
    *offset = w->net->info.parameters;
    w->net->info.parameters += count;
    w->net->info.tensors++;
    return FAR_OK;
}

static double or_default(double value, double fallback)
{
    return isnan(value) ? fallback : value;
}

static void set_dense_scales(const far_walk *w, const far_layer *layer, far_step *step)
{
    if (w->param == FAR_PARAM_NTK) {
        double fan = (double)far_step_weights(step).cols;
        step->weight_scale = or_default(layer->w, FAR_W_NTK_DEFAULT) / sqrt(fan);
        step->bias_scale = or_default(layer->b, FAR_B_DEFAULT);
    }
}

far_weights_shape far_step_weights(const far_step *s)
{
    switch (s->kind) {
    case FAR_STEP_DENSE:
        return (far_weights_shape){s->out, s->in, false};
    case FAR_STEP_CONV:
        return (far_weights_shape){s->out, s->in * far_positions(s->window), false};
    case FAR_STEP_EMBED:
        return (far_weights_shape){s->vocabulary, s->out, false};
    case FAR_STEP_POSITION:
        return (far_weights_shape){far_positions(s->to), s->out, false};
    default:
        return (far_weights_shape){1, s->out, true};
    }
}

int64_t far_step_weight_count(const far_step *s)
{
    far_weights_shape shape = far_step_weights(s);
    return shape.rows * shape.cols;
}

int64_t far_step_first(const far_step *s)
{
    return s->rank > 0 ? s->lora_a : s->weight;
}

int64_t far_step_parameters(const far_step *s)
{
    far_weights_shape shape = far_step_weights(s);
    if (s->rank > 0) {
        return s->rank * (shape.rows + shape.cols);
    }
    return (s->weight >= 0 ? shape.rows * shape.cols : 0) + (s->bias >= 0 ? s->out : 0);
}

/* count numbers more that do not train. */
static far_status add_frozen(far_walk *w, const far_layer *layer, int64_t count, int64_t *offset)
{
    if (count > PARAMETERS_MOST - w->net->info.frozen) {
        return far_walk_fail(w, layer,
                             "the network would have more than 2^40 weights; narrow its layers");
    }
    *offset = w->net->info.frozen;
    w->net->info.frozen += count;
    w->net->info.tensors++;
    return FAR_OK;
}

/* Weights and bias that stay, and two thin matrices that train. */
static far_status add_adapter(far_walk *w, const far_layer *layer, far_step *step)
{
    far_status st = FAR_OK;
    far_weights_shape shape = far_step_weights(step);
    step->rank = layer->lora;
    step->lora_scale = isnan(layer->alpha) ? 1 : layer->alpha / (double)layer->lora;
    if (shape.rows + shape.cols > PARAMETERS_MOST / step->rank) {
        return far_walk_fail(w, layer, "lora=%lld is too large for this layer",
                             (long long)step->rank);
    }
    FAR_TRY(add_frozen(w, layer, shape.rows * shape.cols, &step->frozen_weight));
    if (!layer->no_bias) {
        FAR_TRY(add_frozen(w, layer, step->out, &step->frozen_bias));
    }
    FAR_TRY(far_walk_parameters(w, layer, step->rank * shape.cols, &step->lora_a));
    FAR_TRY(far_walk_parameters(w, layer, shape.rows * step->rank, &step->lora_b));
done:
    return st;
}

far_status far_walk_linear(far_walk *w, const far_layer *layer, far_step *step)
{
    far_status st = FAR_OK;
    far_weights_shape shape = far_step_weights(step);
    if (shape.cols > PARAMETERS_MOST / shape.rows) {
        return far_walk_fail(w, layer, "a layer of %lld x %lld weights is too large; narrow it",
                             (long long)shape.rows, (long long)shape.cols);
    }
    if (layer->lora > 0) {
        FAR_TRY(add_adapter(w, layer, step));
    } else {
        FAR_TRY(far_walk_parameters(w, layer, shape.rows * shape.cols, &step->weight));
    }
    if (layer->lora == 0 && !layer->no_bias) {
        FAR_TRY(far_walk_parameters(w, layer, step->out, &step->bias));
    }
    set_dense_scales(w, layer, step);
    step->unit = w->net->info.layers++;
done:
    return st;
}

static far_status add_dense(far_walk *w, const far_layer *layer, int64_t index)
{
    far_step *step;
    far_status st = FAR_OK;
    if (layer->width == 0) {
        return far_walk_fail(w, layer,
                             "a finite network needs the width of this layer: dense(128)");
    }
    FAR_TRY(far_walk_step(w, layer, FAR_STEP_DENSE, index, &step));
    step->out = layer->width;
    FAR_TRY(far_walk_linear(w, layer, step));
    w->width = step->out;
done:
    return st;
}

static far_status add_activation(far_walk *w, const far_layer *layer, int64_t index)
{
    far_step *step;
    far_status st = far_walk_step(w, layer, FAR_STEP_ACTIVATION, index, &step);
    if (st == FAR_OK) {
        double unit = w->param == FAR_PARAM_NTK ? far_activation_unit_gain(layer) : 1;
        step->gain = or_default(layer->gain, unit);
    }
    return st;
}

static far_status add_statistics(far_walk *w, far_step *step)
{
    far_net *net = w->net;
    step->mean = net->statistic_count;
    step->variance = step->mean + step->out;
    net->statistic_count += 2 * step->out;
    net->info.tensors += 2;
    return FAR_OK;
}

static far_status add_norm(far_walk *w, const far_layer *layer, int64_t index)
{
    far_step *step;
    far_status st = FAR_OK;
    bool batch = layer->kind == FAR_LAYER_BATCHNORM;
    if (layer->kind == FAR_LAYER_LN && w->width % layer->groups != 0) {
        return far_walk_fail(w, layer,
                             "%lld groups do not divide the %lld neurons in front of this layer",
                             (long long)layer->groups, (long long)w->width);
    }
    FAR_TRY(far_walk_step(w, layer, batch ? FAR_STEP_BATCHNORM : FAR_STEP_NORM, index, &step));
    if (layer->affine) {
        FAR_TRY(far_walk_parameters(w, layer, step->out, &step->weight));
        FAR_TRY(far_walk_parameters(w, layer, step->out, &step->bias));
        step->unit = w->net->info.layers++;
    }
    if (batch) {
        FAR_TRY(add_statistics(w, step));
    }
done:
    return st;
}

static far_status add_layers(far_walk *w, const far_layer *layers, int64_t count, int64_t *index);

/* Layers inside a skip, or inside its shortcut: their names begin with prefix. */
static far_status add_inside(far_walk *w, const far_layer *layers, int64_t count,
                             const char *prefix, const char *more)
{
    far_text outer = w->prefix;
    int64_t inner = 0;
    w->prefix = (far_text){.ctx = w->ctx};
    far_text_add(&w->prefix, "%s.%s", prefix, more);
    far_status st = w->prefix.status;
    if (st == FAR_OK) {
        st = add_layers(w, layers, count, &inner);
    }
    far_free(w->ctx, w->prefix.data);
    w->prefix = outer;
    return st;
}

/* What stands at a place of the walk. */
typedef struct place {
    int64_t width;
    far_grid grid;
    far_shape_text shape;
} place;

static place here(const far_walk *w)
{
    return (place){w->width, w->grid, far_walk_shape(w)};
}

static bool same_grid(far_grid a, far_grid b)
{
    return a.kind == b.kind && a.height == b.height && a.width == b.width;
}

/* The second way from the input of a skip to its end. at: its first step. */
static far_status add_shortcut(far_walk *w, const far_layer *layer, int64_t index, int64_t at,
                               const place *before)
{
    far_step *turn;
    far_status st;
    place main = here(w);
    int64_t first = layer->main_count;
    w->width = before->width;
    w->grid = before->grid;
    FAR_TRY(far_walk_step(w, layer, FAR_STEP_SKIP_TURN, index, &turn));
    turn->mate = at;
    w->net->steps[at].end = w->net->step_count - 1;
    FAR_TRY(add_inside(w, layer->body + first, layer->body_count - first, turn->name, "shortcut."));
    if (w->width != main.width || !same_grid(w->grid, main.grid)) {
        return far_walk_fail(w, layer,
                             "this skip adds %s behind its bar to %s: let both have one "
                             "shape",
                             far_walk_shape(w).text, main.shape.text);
    }
done:
    return st;
}

static far_status check_sum(const far_walk *w, const far_layer *layer, const place *before)
{
    if (!same_grid(w->grid, before->grid)) {
        return far_walk_fail(w, layer,
                             "this skip adds its input, %s, to %s: let it keep the shape, or put a "
                             "shortcut behind a bar, as in skip(.. | conv(%lld, 1x1, stride=2))",
                             before->shape.text, far_walk_shape(w).text, (long long)w->width);
    }
    if (w->width != before->width) {
        return far_walk_fail(
            w, layer, "this skip adds %lld inputs to %lld outputs; end it with dense(%lld)",
            (long long)before->width, (long long)w->width, (long long)before->width);
    }
    return FAR_OK;
}

static far_status add_skip(far_walk *w, const far_layer *layer, int64_t index)
{
    far_step *in, *out;
    far_status st = FAR_OK;
    int64_t at = w->net->step_count;
    int64_t main = layer->main_count ? layer->main_count : layer->body_count;
    place before = here(w);
    FAR_TRY(far_walk_step(w, layer, FAR_STEP_SKIP_IN, index, &in));
    FAR_TRY(add_inside(w, layer->body, main, in->name, ""));
    if (layer->main_count) {
        FAR_TRY(add_shortcut(w, layer, index, at, &before));
    } else {
        FAR_TRY(check_sum(w, layer, &before));
    }
    int64_t kept = layer->main_count ? w->net->steps[at].end : at;
    FAR_TRY(far_walk_step(w, layer, FAR_STEP_SKIP_OUT, index, &out));
    out->mate = kept;
    w->net->steps[kept].end = w->net->step_count - 1;
done:
    return st;
}

static far_status add_repeat(far_walk *w, const far_layer *layer, int64_t *index)
{
    far_status st = FAR_OK;
    for (int64_t i = 0; i < layer->count && st == FAR_OK; i++) {
        st = add_layers(w, layer->body, layer->body_count, index);
    }
    return st;
}

static far_status add_layer(far_walk *w, const far_layer *layer, int64_t *index)
{
    if (layer->kind == FAR_LAYER_REPEAT) {
        return add_repeat(w, layer, index);
    }
    int64_t i = (*index)++;
    if (far_walk_holds_tokens(w) && layer->kind != FAR_LAYER_EMBED) {
        return far_walk_fail(w, layer, "tokens are numbers of words: put embed(64) behind them");
    }
    if (layer->kind == FAR_LAYER_SKIP) {
        return add_skip(w, layer, i);
    }
    if (far_layer_is_shaped(layer->kind)) {
        return far_walk_shaped(w, layer, i);
    }
    if (layer->kind == FAR_LAYER_DENSE) {
        return add_dense(w, layer, i);
    }
    return far_layer_is_norm(layer->kind) ? add_norm(w, layer, i) : add_activation(w, layer, i);
}

static far_status add_layers(far_walk *w, const far_layer *layers, int64_t count, int64_t *index)
{
    far_status st = FAR_OK;
    for (int64_t i = 0; i < count && st == FAR_OK; i++) {
        st = add_layer(w, &layers[i], index);
        st = st == FAR_OK ? far_walk_fits(w, &layers[i]) : st;
    }
    return st;
}

/* ---- the text with the width of the last layer filled in ----------------------------------- */

static const far_layer *last_layer(const far_arch *arch)
{
    int64_t count;
    const far_layer *layers = far_arch_layers(arch, &count);
    return count > 0 ? &layers[count - 1] : NULL;
}

/* Inserts the width behind the word "dense" that starts at column. */
static far_status insert_width(far_ctx *ctx, const char *text, int column, int64_t width,
                               char **out)
{
    int word = column - 1 + (int)strlen("dense");
    bool arguments = text[word] == '(';
    far_text t = {.ctx = ctx};
    far_text_add(&t, "%.*s(%lld%s%s", word, text, (long long)width, arguments ? ", " : ")",
                 text + word + (arguments ? 1 : 0));
    if (t.status != FAR_OK) {
        far_free(ctx, t.data);
        t.data = NULL;
    }
    *out = t.data;
    return t.status;
}

/* Parses text; a last dense layer without a width gets outputs. The canonical text has columns of
 * its own, so it is what messages show from here on. */
static far_status parse_whole(far_ctx *ctx, const char *text, int64_t outputs, far_arch **out)
{
    far_arch *arch = NULL;
    char *whole = NULL;
    far_status st = far_arch_parse(ctx, text, &arch);
    const far_layer *last = st == FAR_OK ? last_layer(arch) : NULL;
    if (last && last->kind == FAR_LAYER_DENSE && last->width == 0 && outputs > 0) {
        st = insert_width(ctx, text, last->column, outputs, &whole);
        far_arch_destroy(arch);
        arch = NULL;
        if (st == FAR_OK) {
            st = far_arch_parse(ctx, whole, &arch);
        }
    }
    far_free(ctx, whole);
    *out = arch;
    return st;
}

/* ---- names of tensors ---------------------------------------------------------------------- */

static far_status name_tensor(far_net *net, int64_t *next, const far_step *step, const char *part)
{
    far_text t = {.ctx = net->ctx};
    far_text_add(&t, "%s.%s", step->name, part);
    net->tensor_names[(*next)++] = t.data;
    return t.status;
}

static far_status name_step(far_net *net, int64_t *next, const far_step *step)
{
    far_status st = FAR_OK;
    if (step->weight >= 0 || step->frozen_weight >= 0) {
        FAR_TRY(name_tensor(net, next, step, step->weight_name));
    }
    if (step->bias >= 0 || step->frozen_bias >= 0) {
        FAR_TRY(name_tensor(net, next, step, step->bias_name));
    }
    if (step->rank > 0) {
        FAR_TRY(name_tensor(net, next, step, "lora_A.weight"));
        FAR_TRY(name_tensor(net, next, step, "lora_B.weight"));
    }
    if (step->mean >= 0) {
        FAR_TRY(name_tensor(net, next, step, "running_mean"));
        FAR_TRY(name_tensor(net, next, step, "running_var"));
    }
done:
    return st;
}

static far_status name_tensors(far_net *net)
{
    int64_t next = 0;
    far_status st = far_alloc(net->ctx, net->info.tensors, &net->tensor_names);
    for (int64_t i = 0; i < net->info.tensors && st == FAR_OK; i++) {
        net->tensor_names[i] = NULL;
    }
    for (int64_t i = 0; i < net->step_count && st == FAR_OK; i++) {
        st = name_step(net, &next, &net->steps[i]);
    }
    return st;
}

/* ---- the network --------------------------------------------------------------------------- */

static void set_statistics(far_net *net)
{
    for (int64_t i = 0; i < net->step_count; i++) {
        const far_step *step = &net->steps[i];
        for (int64_t j = 0; step->mean >= 0 && j < step->out; j++) {
            net->statistics[step->mean + j] = 0;
            net->statistics[step->variance + j] = 1;
        }
    }
}

far_status far_net_allocate(far_net *net)
{
    far_status st = FAR_OK;
    double numbers = (double)net->info.parameters + (double)net->info.frozen;
    double bytes = numbers * sizeof *net->params;
    FAR_TRY(far_budget_check(net->ctx, "a network of this size", bytes, 0));
    FAR_TRY(far_alloc(net->ctx, net->info.parameters, &net->params));
    FAR_TRY(far_alloc(net->ctx, net->info.frozen, &net->frozen));
    FAR_TRY(far_alloc(net->ctx, net->statistic_count, &net->statistics));
    FAR_TRY(far_columns_unnamed(net->ctx, net->info.inputs, net->info.outputs, &net->columns));
    set_statistics(net);
done:
    return st;
}

static far_status walk_layers(far_walk *w, const far_arch *arch, int64_t outputs)
{
    int64_t count, index = 0;
    const far_layer *layers = far_arch_layers(arch, &count);
    far_status st = add_layers(w, layers, count, &index);
    int64_t ends = far_positions(w->grid) * w->width;
    if (st == FAR_OK && outputs > 0 && ends != outputs) {
        st = far_walk_fail(w, &layers[count - 1],
                           "the network ends with %lld outputs, not with the %lld it needs",
                           (long long)ends, (long long)outputs);
    }
    w->net->info.outputs = ends;
    w->net->info.output_positions = far_positions(w->grid);
    return st;
}

static far_status compile(far_net *net, const char *text, int64_t inputs, int64_t outputs,
                          far_param param)
{
    far_ctx *ctx = net->ctx;
    far_arch *arch = NULL;
    far_status st = FAR_OK;
    far_walk w = {.ctx = ctx,
                  .net = net,
                  .width = inputs,
                  .grid = {FAR_GRID_VECTOR, 1, 1},
                  .param = param,
                  .text = text};
    FAR_TRY(parse_whole(ctx, text, outputs, &arch));
    if (inputs == 0) { /* an image or a sequence says it */
        int64_t count;
        inputs = w.width = far_layer_inputs(&far_arch_layers(arch, &count)[0]);
    }
    if (inputs < 1) {
        FAR_TRY(far_fail(ctx, FAR_ERR_ARG, "a network needs at least one input, not %lld",
                         (long long)inputs));
    }
    net->info = (far_net_info){
        .inputs = inputs, .param = (int32_t)param, .init = -1, .w0 = NAN, .sealed = 1};
    FAR_TRY(
        far_copy_text(ctx, far_arch_text(arch), (int64_t)strlen(far_arch_text(arch)), &net->text));
    FAR_TRY(walk_layers(&w, arch, outputs));
    net->info.positions = far_net_shaped(net) ? far_positions(net->steps[0].to) : 1;
    net->info.vocabulary = far_net_vocabulary(net);
    FAR_TRY(name_tensors(net));
done:
    far_arch_destroy(arch);
    return st;
}

far_status far_net_outline(far_ctx *ctx, const char *arch, int64_t inputs, int64_t outputs,
                           far_param param, far_net **out)
{
    far_net *net = NULL;
    far_status st = FAR_OK;
    *out = NULL;
    FAR_TRY(far_alloc(ctx, 1, &net));
    *net = (far_net){.ctx = ctx};
    FAR_TRY(compile(net, arch, inputs, outputs, param));
    *out = net;
    net = NULL;
done:
    far_net_destroy(net);
    return st;
}

far_status far_net_compile(far_ctx *ctx, const char *arch, int64_t inputs, int64_t outputs,
                           far_param param, far_net **out)
{
    far_status st = far_net_outline(ctx, arch, inputs, outputs, param, out);
    st = st == FAR_OK ? far_net_allocate(*out) : st;
    if (st != FAR_OK) {
        far_net_destroy(*out);
        *out = NULL;
    }
    return st;
}
