/* Layers of images and sequences: what each does to the shape. */
#include "program.h"

#include <stdio.h>

#define VALUES_MOST ((int64_t)1 << 31) /* of one layer, for one row */

/* ---- shapes -------------------------------------------------------------------------------- */

far_shape_text far_walk_shape(const far_walk *w)
{
    far_shape_text out;
    long long c = w->width, h = w->grid.height, x = w->grid.width;
    if (w->grid.kind == FAR_GRID_IMAGE) {
        snprintf(out.text, sizeof out.text, "%lldx%lldx%lld", c, h, x);
    } else if (w->grid.kind == FAR_GRID_SEQUENCE) {
        snprintf(out.text, sizeof out.text, "%lldx%lld", h, c);
    } else {
        snprintf(out.text, sizeof out.text, "a vector of %lld", c);
    }
    return out;
}

int64_t far_layer_inputs(const far_layer *layer)
{
    const int64_t *part = layer->size.part;
    switch (layer->kind) {
    case FAR_LAYER_IMAGE:
        return part[0] * part[1] * part[2]; /* below 2^48 */
    case FAR_LAYER_SEQUENCE:
        return part[0] * part[1];
    case FAR_LAYER_TOKENS:
        return layer->positions;
    default:
        return 0;
    }
}

bool far_net_shaped(const far_net *net)
{
    return net->step_count > 0 && net->steps[0].kind == FAR_STEP_INPUT;
}

far_status far_net_refuse_shaped(far_ctx *ctx, const far_net *net, const char *what)
{
    return far_net_shaped(net)
               ? far_fail(ctx, FAR_ERR_ARCH,
                          "%s: not for networks of images or sequences yet; it is for those that "
                          "start with a plain vector",
                          what)
               : FAR_OK;
}

far_status far_walk_fits(const far_walk *w, const far_layer *layer)
{
    return far_positions(w->grid) > VALUES_MOST / w->width
               ? far_walk_fail(w, layer,
                               "this layer gives %s, more than 2^31 numbers; make it smaller",
                               far_walk_shape(w).text)
               : FAR_OK;
}

/* ---- what a layer needs -------------------------------------------------------------------- */

static far_status need_kind(const far_walk *w, const far_layer *layer, far_grid_kind kind,
                            const char *start)
{
    if (w->grid.kind != kind) {
        return far_walk_fail(w, layer, "%s needs %s: start with %s; here the input is %s",
                             far_layer_name(layer->kind),
                             kind == FAR_GRID_IMAGE ? "an image" : "a sequence", start,
                             far_walk_shape(w).text);
    }
    return FAR_OK;
}

static far_status need_image(const far_walk *w, const far_layer *layer)
{
    return need_kind(w, layer, FAR_GRID_IMAGE, "image(3x32x32)");
}

static far_status need_sequence(const far_walk *w, const far_layer *layer)
{
    return need_kind(w, layer, FAR_GRID_SEQUENCE, "sequence(30x1) or tokens(64, 256)");
}

static far_status need_positions(const far_walk *w, const far_layer *layer)
{
    return w->grid.kind == FAR_GRID_VECTOR
               ? far_walk_fail(w, layer,
                               "%s needs positions, but here the input is %s; start the network "
                               "with image(..), sequence(..) or tokens(..)",
                               far_layer_name(layer->kind), far_walk_shape(w).text)
               : FAR_OK;
}

/* ---- the input ----------------------------------------------------------------------------- */

static far_status add_input(far_walk *w, const far_layer *layer, int64_t index)
{
    static const char *const EXAMPLES[] = {"image(3x32x32)", "sequence(30x1)", "tokens(64, 256)"};
    const int64_t *part = layer->size.part;
    far_step *step;
    far_status st;
    if (w->net->step_count > 0) {
        return far_walk_fail(w, layer, "%s is the shape of the inputs: it can only stand first",
                             far_layer_name(layer->kind));
    }
    if (far_layer_inputs(layer) == 0 ||
        (layer->kind == FAR_LAYER_TOKENS && layer->vocabulary == 0)) {
        return far_walk_fail(w, layer, "the shape is missing: write for example %s",
                             EXAMPLES[layer->kind - FAR_LAYER_IMAGE]);
    }
    if (w->width != far_layer_inputs(layer)) {
        return far_walk_fail(w, layer, "this network takes %lld inputs, not %lld",
                             (long long)far_layer_inputs(layer), (long long)w->width);
    }
    FAR_TRY(far_walk_step(w, layer, FAR_STEP_INPUT, index, &step));
    if (layer->kind == FAR_LAYER_IMAGE) {
        step->to = (far_grid){FAR_GRID_IMAGE, part[1], part[2]};
        step->out = part[0];
    } else if (layer->kind == FAR_LAYER_SEQUENCE) {
        step->to = (far_grid){FAR_GRID_SEQUENCE, part[0], 1};
        step->out = part[1];
    } else {
        step->to = (far_grid){FAR_GRID_SEQUENCE, layer->positions, 1};
        step->out = 1;
        step->vocabulary = layer->vocabulary;
    }
done:
    return st;
}

bool far_walk_holds_tokens(const far_walk *w)
{
    return w->net->step_count == 1 && w->net->steps[0].vocabulary > 0;
}

static far_status add_embed(far_walk *w, const far_layer *layer, int64_t index)
{
    far_step *step;
    far_status st;
    if (!far_walk_holds_tokens(w)) {
        return far_walk_fail(w, layer, "embed stands behind tokens(..) alone; here the input is %s",
                             far_walk_shape(w).text);
    }
    if (layer->width == 0) {
        return far_walk_fail(w, layer, "embed needs the number of its channels: embed(64)");
    }
    FAR_TRY(far_walk_step(w, layer, FAR_STEP_EMBED, index, &step));
    step->out = layer->width;
    step->vocabulary = w->net->steps[0].vocabulary;
    FAR_TRY(far_walk_parameters(w, layer, step->vocabulary * step->out, &step->weight));
    step->unit = w->net->info.layers++;
done:
    return st;
}

static far_status add_position(far_walk *w, const far_layer *layer, int64_t index)
{
    far_step *step;
    far_status st;
    FAR_TRY(need_sequence(w, layer));
    FAR_TRY(far_walk_step(w, layer, FAR_STEP_POSITION, index, &step));
    if (!layer->sines) {
        FAR_TRY(far_walk_parameters(w, layer, far_step_width(step), &step->weight));
        step->unit = w->net->info.layers++;
    }
done:
    return st;
}

/* ---- windows ------------------------------------------------------------------------------- */

/* Sets window, stride and the grid behind it. */
static far_status set_window(const far_walk *w, const far_layer *layer, far_step *step)
{
    int64_t height = layer->size.part[0],
            width = layer->size.part[1] ? layer->size.part[1] : height;
    bool pool = step->kind != FAR_STEP_CONV;
    step->window = (far_grid){FAR_GRID_IMAGE, height, width};
    step->stride = layer->stride ? layer->stride : pool ? height : 1;
    step->pad = layer->pad;
    int64_t down = step->from.height + 2 * step->pad - height;
    int64_t across = step->from.width + 2 * step->pad - width;
    if (pool && !layer->stride && height != width) {
        return far_walk_fail(w, layer, "a window that is not square needs its stride=");
    }
    if (down < 0 || across < 0) {
        return far_walk_fail(w, layer, "the window of %lldx%lld does not fit: here the input is %s",
                             (long long)height, (long long)width, far_walk_shape(w).text);
    }
    if (pool && (step->pad >= height || step->pad >= width)) {
        return far_walk_fail(w, layer, "pad must be smaller than the window");
    }
    step->to = (far_grid){FAR_GRID_IMAGE, down / step->stride + 1, across / step->stride + 1};
    return FAR_OK;
}

static far_status add_conv(far_walk *w, const far_layer *layer, int64_t index)
{
    far_step *step;
    far_status st;
    FAR_TRY(need_image(w, layer));
    if (layer->width == 0 || layer->size.part[0] == 0) {
        return far_walk_fail(w, layer, "conv needs channels and a window: conv(16, 3x3)");
    }
    FAR_TRY(far_walk_step(w, layer, FAR_STEP_CONV, index, &step));
    step->out = layer->width;
    FAR_TRY(set_window(w, layer, step));
    FAR_TRY(far_walk_linear(w, layer, step));
done:
    return st;
}

static far_status add_pool(far_walk *w, const far_layer *layer, int64_t index)
{
    far_step *step;
    far_status st;
    bool most = layer->kind == FAR_LAYER_MAXPOOL;
    FAR_TRY(need_image(w, layer));
    if (layer->size.part[0] == 0) {
        return far_walk_fail(w, layer, "%s needs a window: %s(2)", far_layer_name(layer->kind),
                             far_layer_name(layer->kind));
    }
    FAR_TRY(far_walk_step(w, layer, most ? FAR_STEP_MAXPOOL : FAR_STEP_AVGPOOL, index, &step));
    FAR_TRY(set_window(w, layer, step));
done:
    return st;
}

/* ---- attention ----------------------------------------------------------------------------- */

/* Three steps: a dense layer to queries, keys and values, what they do, and a dense layer. */
static far_status add_attention(far_walk *w, const far_layer *layer, int64_t index)
{
    far_step *step;
    far_status st;
    int64_t width = w->width;
    far_text outer = w->prefix, inner = {.ctx = w->ctx};
    FAR_TRY(need_sequence(w, layer));
    if (layer->heads == 0 || width % layer->heads != 0) {
        return far_walk_fail(w, layer,
                             "attention needs a number of heads that divides the %lld channels in "
                             "front of it, as in attention(%d)",
                             (long long)width, width % 4 ? 1 : 4);
    }
    if (w->grid.height > VALUES_MOST / w->grid.height / layer->heads) { /* a score for every pair */
        return far_walk_fail(w, layer, "attention over %lld positions is too large; take fewer",
                             (long long)w->grid.height);
    }
    FAR_TRY(far_walk_step(w, layer, FAR_STEP_DENSE, index, &step));
    step->out = 3 * width;
    step->weight_name = "in_proj_weight";
    step->bias_name = "in_proj_bias";
    FAR_TRY(far_walk_linear(w, layer, step));
    w->width = 3 * width;
    FAR_TRY(far_walk_step(w, layer, FAR_STEP_ATTEND, index, &step));
    step->out = width;
    step->heads = layer->heads;
    step->causal = layer->causal;
    w->width = width;
    far_text_add(&inner, "%s%lld.", outer.data ? outer.data : "", (long long)index);
    FAR_TRY(inner.status);
    w->prefix = inner;
    st = far_walk_step(w, layer, FAR_STEP_DENSE, FAR_OUT_PROJ, &step);
    w->prefix = outer;
    FAR_TRY(st);
    FAR_TRY(far_walk_linear(w, layer, step));
done:
    far_free(w->ctx, inner.data);
    return st;
}

/* ---- back to a vector ---------------------------------------------------------------------- */

static far_status add_end(far_walk *w, const far_layer *layer, int64_t index)
{
    far_step_kind kind = layer->kind == FAR_LAYER_GAP       ? FAR_STEP_GAP
                         : layer->kind == FAR_LAYER_FLATTEN ? FAR_STEP_FLATTEN
                                                            : FAR_STEP_LAST;
    far_step *step;
    far_status st;
    FAR_TRY(need_positions(w, layer));
    FAR_TRY(far_walk_step(w, layer, kind, index, &step));
    step->out = kind == FAR_STEP_FLATTEN ? far_positions(w->grid) * w->width : w->width;
    step->to = (far_grid){FAR_GRID_VECTOR, 1, 1};
done:
    return st;
}

static far_status add_layer(far_walk *w, const far_layer *layer, int64_t index)
{
    switch (layer->kind) {
    case FAR_LAYER_IMAGE:
    case FAR_LAYER_SEQUENCE:
    case FAR_LAYER_TOKENS:
        return add_input(w, layer, index);
    case FAR_LAYER_EMBED:
        return add_embed(w, layer, index);
    case FAR_LAYER_POSITION:
        return add_position(w, layer, index);
    case FAR_LAYER_CONV:
        return add_conv(w, layer, index);
    case FAR_LAYER_MAXPOOL:
    case FAR_LAYER_AVGPOOL:
        return add_pool(w, layer, index);
    case FAR_LAYER_ATTENTION:
        return add_attention(w, layer, index);
    case FAR_LAYER_DROPOUT:
        return far_walk_fail(w, layer,
                             "there is no dropout: a network must be one function of its inputs "
                             "for its certificate to hold; take weight decay or fewer epochs");
    default:
        return add_end(w, layer, index);
    }
}

far_status far_walk_shaped(far_walk *w, const far_layer *layer, int64_t index)
{
    far_status st = add_layer(w, layer, index);
    if (st == FAR_OK) {
        const far_step *last = &w->net->steps[w->net->step_count - 1];
        w->width = last->out;
        w->grid = last->to;
    }
    return st;
}
