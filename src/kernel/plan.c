#include "plan.h"

#include <math.h>
#include <string.h>

/* What is known while walking through the layers. */
typedef struct walk {
    far_ctx *ctx;
    const char *text; /* as the user wrote it */
    far_plan *plan;
    far_param param;
    bool input;    /* still on the raw input: no dense yet */
    bool gaussian; /* values are Gaussian given the layers below */
    bool mean;     /* values may have a mean */
    far_sign sign;
    int gamma;       /* trainable scales that have not met a dense or an activation yet */
    bool tied;       /* such scales went through a skip sum: they no longer equal the values */
    bool affine;     /* trainable norms so far */
    bool level;      /* p = r */
    int64_t width;   /* of the dense last seen; 0: none or not given */
    bool dense_seen; /* in the body of the innermost skip */
    int depth;
    far_layer_kind layer; /* at hand */
    int64_t place;
} walk;

static far_status refuse(walk *w, const far_layer *layer, const char *why)
{
    return far_arch_fail_at(w->ctx, FAR_ERR_ARCH, w->text, (int)strlen(w->text), layer->column - 1,
                            "%s %s", far_layer_name(layer->kind), why);
}

static far_status emit(walk *w, far_op op)
{
    far_plan *plan = w->plan;
    if (plan->count == plan->capacity) {
        int64_t bigger = plan->capacity ? 2 * plan->capacity : 16;
        far_status st = far_grow(w->ctx, plan->count, bigger, &plan->ops);
        if (st != FAR_OK) {
            return st;
        }
        plan->capacity = bigger;
    }
    op.sign = w->sign;
    op.layer = w->layer;
    op.place = w->place;
    plan->ops[plan->count++] = op;
    return FAR_OK;
}

/* Trainable scales act coordinate by coordinate. Where no activation follows, all they add to
 * Theta is K itself. */
static far_status settle_scales(walk *w)
{
    if (w->gamma == 0) {
        return FAR_OK;
    }
    far_op op = {.kind = FAR_OP_SHIFT, .gamma = w->gamma};
    w->gamma = 0;
    return emit(w, op);
}

/* A dense makes every following input Gaussian again, whatever came before: it clears what the
 * other layers have to keep track of. In the standard parametrisation Theta grows with the fan-in,
 * which must then be known. */
static far_status walk_dense(walk *w, const far_layer *layer)
{
    bool standard = w->param == FAR_PARAM_STANDARD;
    double w_default = standard ? FAR_W_STANDARD_DEFAULT : FAR_W_NTK_DEFAULT;
    far_status st = settle_scales(w);
    if (st != FAR_OK) {
        return st;
    }
    if (layer->lora > 0) {
        return refuse(w, layer,
                      "with lora is a trained network that is tuned: it has no infinite-width "
                      "kernel; give a network with weights, or leave lora out");
    }
    if (standard && !w->input && w->width == 0) {
        return refuse(w, layer,
                      "needs the width of the dense before it in the standard parametrisation, "
                      "where Theta grows with the width: write dense(128)");
    }
    far_op op = {.kind = FAR_OP_DENSE,
                 .w = isnan(layer->w) ? w_default : layer->w,
                 .b = layer->no_bias    ? 0
                      : isnan(layer->b) ? FAR_B_DEFAULT
                                        : layer->b,
                 .standard = standard,
                 .level = !standard && !w->affine,
                 .plain = !standard && !w->affine && (w->input || w->level),
                 .bias = !layer->no_bias,
                 .fan_in = w->input ? 0 : w->width};
    st = emit(w, op);
    w->input = false;
    w->level = op.level;
    w->tied = false;
    w->gaussian = true;
    w->mean = false;
    w->width = layer->width;
    w->dense_seen = true;
    return st;
}

static far_status keep_input_layer(walk *w, const far_layer *layer)
{
    far_plan *plan = w->plan;
    far_status st = far_grow(w->ctx, plan->input_count, plan->input_count + 1, &plan->inputs);
    if (st == FAR_OK) {
        plan->inputs[plan->input_count++] = (far_input_op){.kind = layer->kind,
                                                           .groups = layer->groups,
                                                           .eps = layer->eps,
                                                           .power = layer->power,
                                                           .slope = layer->slope,
                                                           .w0 = layer->w0,
                                                           .gain = layer->gain};
    }
    return st;
}

/* At infinite width a norm divides by a number that is the same for all neurons: a scale. A layer
 * norm also takes the mean off, where the input has one. */
static far_status emit_norm(walk *w, const far_layer *layer)
{
    if (w->input && w->gamma > 0) {
        return refuse(w, layer,
                      "after affine terms on the raw input has no closed kernel: "
                      "put a dense between them");
    }
    if (w->input) {
        return keep_input_layer(w, layer);
    }
    far_op op = {
        .kind = FAR_OP_SCALE, .eps = layer->eps, .fixed = layer->kind == FAR_LAYER_BATCHNORM};
    if (layer->kind == FAR_LAYER_LN && w->mean) {
        far_status st = settle_scales(w);
        if (st != FAR_OK) {
            return st;
        }
        op.kind = FAR_OP_CENTER;
    }
    far_status st = emit(w, op);
    if (op.kind == FAR_OP_CENTER) {
        w->level = false;
        w->mean = false;
        w->sign = w->sign == FAR_SIGN_POSITIVE ? FAR_SIGN_MILD : w->sign;
    }
    return st;
}

static far_status walk_norm(walk *w, const far_layer *layer)
{
    far_status st = emit_norm(w, layer);
    if (st == FAR_OK && layer->affine) {
        far_op shift = {.kind = FAR_OP_SHIFT, .beta = 1};
        w->gamma++;
        w->affine = true;
        st = emit(w, shift);
    }
    return st;
}

static bool same_activation(const far_activation *a, const far_layer *layer)
{
    return a->kind == layer->kind && a->power == layer->power && a->slope == layer->slope &&
           a->w0 == layer->w0 &&
           (isnan(layer->gain) ? isnan(a->asked_gain) : a->asked_gain == layer->gain);
}

/* Repeated layers share one activation, whose tables are made once. Room for all was made before:
 * operations keep pointers into the array. */
static far_status find_activation(walk *w, const far_layer *layer, const far_activation **out)
{
    far_plan *plan = w->plan;
    for (int64_t i = 0; i < plan->activation_count; i++) {
        if (same_activation(&plan->activations[i], layer)) {
            *out = &plan->activations[i];
            return FAR_OK;
        }
    }
    far_activation *made = &plan->activations[plan->activation_count];
    far_status st = far_activation_init(w->ctx, layer, w->param == FAR_PARAM_NTK, made);
    plan->activation_count++; /* also after failure, so that it is cleared */
    *out = made;
    return st;
}

static far_sign sign_after(const far_activation *a, far_sign before)
{
    bool rectified = a->family == FAR_FAMILY_POWER || a->family == FAR_FAMILY_TABLE ||
                     (a->family == FAR_FAMILY_FOLD && fabsl(a->folded) >= fabsl(a->linear));
    return rectified ? FAR_SIGN_POSITIVE : before == FAR_SIGN_POSITIVE ? before : FAR_SIGN_ANY;
}

static far_status walk_input_activation(walk *w, const far_layer *layer)
{
    if (w->gamma > 0) {
        return refuse(w, layer,
                      "after affine terms on the raw input has no closed kernel: "
                      "put a dense between them");
    }
    const far_activation *a;
    far_status st = find_activation(w, layer, &a);
    if (st == FAR_OK) {
        st = keep_input_layer(w, layer);
    }
    if (st == FAR_OK) {
        w->plan->inputs[w->plan->input_count - 1].gain = a->gain;
    }
    return st;
}

/* An exact kernel needs a Gaussian input: without a dense since the last activation, or with terms
 * of a norm's affine that went through a skip, there is none, and the network is refused here. */
static far_status walk_activation(walk *w, const far_layer *layer)
{
    if (w->input) {
        return walk_input_activation(w, layer);
    }
    if (layer->kind != FAR_LAYER_IDENTITY && !w->gaussian) {
        return refuse(w, layer,
                      "gets an input that is not Gaussian at infinite width: "
                      "put a dense before it");
    }
    if (layer->kind != FAR_LAYER_IDENTITY && w->tied) {
        return refuse(w, layer,
                      "after affine terms that went through a skip has no closed kernel: "
                      "put a dense between them");
    }
    const far_activation *a;
    far_status st = find_activation(w, layer, &a);
    if (st != FAR_OK) {
        return st;
    }
    if (layer->kind == FAR_LAYER_IDENTITY) { /* a plain factor: scales pass through unchanged */
        return emit(w, (far_op){.kind = FAR_OP_ACTIVATE, .activation = a});
    }
    st = emit(w, (far_op){.kind = FAR_OP_ACTIVATE, .activation = a, .gamma = w->gamma});
    w->gamma = 0;
    w->level = w->level && a->family == FAR_FAMILY_FOLD;
    w->gaussian = false;
    w->mean = !far_activation_is_odd(a);
    w->sign = sign_after(a, w->sign);
    return st;
}

static far_status walk_layers(walk *w, const far_layer *layers, int64_t count);

/* x + body(x): the state is pushed, the body runs, the two are added. Their sum has an exact kernel
 * only if the two sides are independent, which takes a dense in the body. */
static far_status walk_skip(walk *w, const far_layer *layer)
{
    if (w->input) {
        return refuse(w, layer,
                      "stands on the raw input, which keeps its features while the body "
                      "grows wide: put a dense before it");
    }
    if (layer->main_count) {
        return refuse(w, layer,
                      "with a shortcut behind a bar has no kernel here; train the finite network "
                      "instead, whose tangent kernel `gram --net` computes");
    }
    walk before = *w;
    w->dense_seen = false;
    w->depth++;
    w->plan->depth = w->depth > w->plan->depth ? w->depth : w->plan->depth;
    far_status st;
    FAR_TRY(emit(w, (far_op){.kind = FAR_OP_PUSH}));
    FAR_TRY(walk_layers(w, layer->body, layer->body_count));
    if (!w->dense_seen) {
        st = refuse(w, layer,
                    "needs a dense in its body, outside further skips, at infinite width: "
                    "without one both sides of the sum are the same neurons");
        goto done;
    }
    if (before.width != w->width && before.width > 0 && w->width > 0) {
        st = far_arch_fail_at(w->ctx, FAR_ERR_ARCH, w->text, (int)strlen(w->text),
                              layer->column - 1, "skip adds %lld neurons to %lld",
                              (long long)w->width, (long long)before.width);
        goto done;
    }
    w->tied = w->tied || before.tied || w->gamma > 0 || before.gamma > 0;
    FAR_TRY(settle_scales(w)); /* of the body; ADD settles those of the other side */
    bool means = before.mean || w->mean;
    FAR_TRY(emit(w, (far_op){.kind = FAR_OP_ADD, .gaussian = !means, .gamma = before.gamma}));
    w->sign = before.sign < w->sign ? before.sign : w->sign;
    w->gaussian = w->gaussian && before.gaussian;
    w->mean = means;
    w->level = false;
    w->depth--;
    w->dense_seen = before.dense_seen; /* the sum still holds what went in */
done:
    return st;
}

static far_status walk_layer(walk *w, const far_layer *layer)
{
    if (layer->kind == FAR_LAYER_SKIP) {
        return walk_skip(w, layer);
    }
    if (layer->kind == FAR_LAYER_REPEAT) {
        far_status st = FAR_OK;
        for (int64_t i = 0; i < layer->count && st == FAR_OK; i++) {
            st = walk_layers(w, layer->body, layer->body_count);
        }
        return st;
    }
    if (far_layer_is_finite_only(layer->kind)) {
        return refuse(w, layer,
                      "has no kernel here; gelu, silu, tanh and erf have theirs, and finite "
                      "networks take it");
    }
    if (far_layer_is_shaped(layer->kind)) {
        return refuse(w, layer,
                      "has no kernel here: at infinite width networks take plain vectors; train "
                      "the finite network instead");
    }
    w->layer = layer->kind;
    w->place++;
    if (layer->kind == FAR_LAYER_DENSE) {
        return walk_dense(w, layer);
    }
    return far_layer_is_norm(layer->kind) ? walk_norm(w, layer) : walk_activation(w, layer);
}

static far_status walk_layers(walk *w, const far_layer *layers, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        far_status st = walk_layer(w, &layers[i]);
        if (st != FAR_OK) {
            return st;
        }
    }
    return FAR_OK;
}

static int64_t count_activations(const far_layer *layers, int64_t count)
{
    int64_t total = 0;
    for (int64_t i = 0; i < count; i++) {
        total += far_layer_is_activation(layers[i].kind);
        total += count_activations(layers[i].body, layers[i].body_count);
    }
    return total;
}

#define EXPANSION_TOLERANCE 1e-12

static void note_expansions(far_plan *plan)
{
    for (int64_t i = 0; i < plan->activation_count; i++) {
        const far_activation *a = &plan->activations[i];
        plan->mixtures = plan->mixtures || a->terms > 1;
        if (a->terms > 1 || a->table) {
            plan->tolerance = EXPANSION_TOLERANCE;
        }
    }
}

/* Behind a norm a smooth activation stays smooth; at large scales erf is a step and gelu a relu. */
static bool is_kinked(const far_plan *plan, int64_t index)
{
    const far_activation *a = plan->ops[index].activation;
    if (a->terms == 0) {
        return a->family != FAR_FAMILY_SINE && a->kind != FAR_LAYER_IDENTITY;
    }
    int64_t i = index - 1;
    while (i > 0 && plan->ops[i].kind != FAR_OP_DENSE &&
           (plan->ops[i].kind != FAR_OP_SCALE || plan->ops[i].fixed)) {
        i--;
    }
    return plan->ops[i].kind != FAR_OP_SCALE;
}

/* The slope at rho = 1 of a sine at the scale that the dense in front gives it: what it multiplies
 * errors of a gap by. */
static double steepness(const far_plan *plan, int64_t index)
{
    const far_activation *a = plan->ops[index].activation;
    if (a->family != FAR_FAMILY_SINE) {
        return 1;
    }
    int64_t i = index;
    while (i > 0 && plan->ops[i].kind != FAR_OP_DENSE) {
        i--;
    }
    double factor = (double)(a->w0 * plan->ops[i].w);
    return fmax(1, factor * factor);
}

#define STEEP 1e5 /* from where on roundings of a direction, 1e-16, show as 1e-13 */

static double total_steepness(const far_plan *plan)
{
    double total = 1;
    for (int64_t i = 0; i < plan->count; i++) {
        total *= plan->ops[i].kind == FAR_OP_ACTIVATE ? steepness(plan, i) : 1;
    }
    return total;
}

/* relu^p with p < 1 has a slope kernel like angle^(2p - 1), steps one like 1 / angle. */
static bool needs_fine_chords(const far_plan *plan, int64_t index)
{
    const far_activation *a = plan->ops[index].activation;
    return (a->table && a->power < 1) || (a->terms > 0 && is_kinked(plan, index));
}

static void mark_fine(far_plan *plan)
{
    plan->steepness = total_steepness(plan);
    plan->fine = plan->steepness > STEEP;
    for (int64_t i = 0; i < plan->count; i++) {
        plan->fine =
            plan->fine || (plan->ops[i].kind == FAR_OP_ACTIVATE && needs_fine_chords(plan, i));
    }
    for (int64_t i = 0; i < plan->count; i++) {
        plan->ops[i].fine = plan->fine && plan->ops[i].kind == FAR_OP_DENSE;
    }
}

static void mark_sharp(far_plan *plan)
{
    bool kinks = false;
    for (int64_t i = plan->count - 1; i >= 0; i--) {
        if (plan->ops[i].kind == FAR_OP_ACTIVATE) {
            plan->ops[i].sharp = kinks;
            kinks = kinks || is_kinked(plan, i) || steepness(plan, i) > 4;
        }
    }
}

/* The network as a list of operations on scales and gaps; refuses what has no exact kernel, at the
 * layer that is to blame. */
far_status far_plan_create(far_ctx *ctx, const far_arch *arch, const char *text, far_param param,
                           far_plan **out)
{
    far_status st;
    far_plan *plan = NULL;
    int64_t count;
    const far_layer *layers = far_arch_layers(arch, &count);
    *out = NULL;
    FAR_TRY(far_alloc(ctx, 1, &plan));
    *plan = (far_plan){0};
    FAR_TRY(far_alloc(ctx, count_activations(layers, count), &plan->activations));
    walk w = {.ctx = ctx, .text = text, .plan = plan, .param = param, .input = true, .mean = true};
    FAR_TRY(walk_layers(&w, layers, count));
    if (w.input) {
        st = far_fail(ctx, FAR_ERR_ARCH, "the network has no dense layer, so nothing to train");
        goto done;
    }
    FAR_TRY(settle_scales(&w));
    plan->positive = w.sign == FAR_SIGN_POSITIVE;
    note_expansions(plan);
    mark_sharp(plan);
    mark_fine(plan);
    *out = plan;
    plan = NULL;
done:
    far_plan_destroy(ctx, plan);
    return st;
}

void far_plan_destroy(far_ctx *ctx, far_plan *plan)
{
    if (plan) {
        for (int64_t i = 0; i < plan->activation_count; i++) {
            far_activation_clear(ctx, &plan->activations[i]);
        }
        FAR_FREE_ALL(ctx, plan->activations, plan->inputs, plan->ops, plan);
    }
}
