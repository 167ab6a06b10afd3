/* From the list of steps to stages: what runs as one, and where everything lies. */
#include "engine_plan.h"

/* ---- scratch ------------------------------------------------------------------------------- */

int64_t far_conv_padded(const far_step *s)
{
    return (s->from.height + 2 * s->pad) * (s->from.width + 2 * s->pad) * s->in;
}

int64_t far_conv_spread(const far_step *s)
{
    return (s->from.height + s->window.height - 1) * (s->from.width + s->window.width - 1) * s->out;
}

static int64_t conv_scratch(const far_step *s)
{
    int64_t padded = far_conv_padded(s), spread = far_conv_spread(s);
    return padded > spread ? padded : spread;
}

/* A matrix of scores, and one of positions and the size of a head in panels. */
static int64_t attend_scratch(const far_step *s, int64_t panel)
{
    int64_t n = far_positions(s->to), size = s->out / s->heads;
    int64_t across = (n + panel - 1) / panel * panel, head = (size + panel - 1) / panel * panel;
    int64_t most = across * size > head * n ? across * size : head * n;
    return most + n * across;
}

/* ---- stages -------------------------------------------------------------------------------- */

/* Layers with at most this many outputs run forwards as dot products. */
#define NARROW 4
/* Weights on the inputs are seldom needed turned; up to this many it costs nothing. */
#define SMALL_WEIGHTS 8192

typedef struct planner {
    far_engine *e;
    int64_t value, gradient, tangent; /* of what the steps so far give */
    bool parameters;                  /* one of them has some */
    int64_t cut, last; /* steps between these can run for the last position alone, since step `last`
                          drops the others; -1: there is none */
    bool alone;        /* and so they do from here on */
} planner;

static far_status buffers_create(far_ctx *ctx, int64_t most, far_buffers *b)
{
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(ctx, most, &b->offset));
    FAR_TRY(far_alloc(ctx, most, &b->width));
    FAR_TRY(far_alloc(ctx, most, &b->channels));
done:
    return st;
}

static int64_t add_buffer(far_buffers *b, int64_t positions, int64_t channels)
{
    b->offset[b->count] = b->total;
    b->width[b->count] = positions * channels;
    b->channels[b->count] = channels;
    b->total += (positions * channels + b->unit - 1) / b->unit * b->unit;
    return b->count++;
}

static int64_t whole_panels(const far_engine *e, int64_t width)
{
    return (width + e->ops->panel - 1) / e->ops->panel * e->ops->panel;
}

/* Room in far_weights; whole panels, so that everything is aligned. */
static int64_t take_weights(far_engine *e, int64_t rows, int64_t width)
{
    int64_t at = e->weights;
    e->weights += rows * whole_panels(e, width);
    return at;
}

/* Steps that do at every position what they would do there alone. */
static bool is_by_position(const far_step *s)
{
    return s->kind == FAR_STEP_DENSE || s->kind == FAR_STEP_ACTIVATION ||
           s->kind == FAR_STEP_NORM || s->kind == FAR_STEP_SKIP_IN || s->kind == FAR_STEP_SKIP_OUT;
}

static void find_cut(planner *p)
{
    const far_net *net = p->e->net;
    p->cut = p->last = -1;
    for (int64_t i = 0; i < net->step_count; i++) {
        p->last = net->steps[i].kind == FAR_STEP_LAST ? i : p->last;
    }
    for (int64_t i = p->last - 1; i >= 0 && p->cut < 0; i--) {
        p->cut = is_by_position(&net->steps[i]) ? -1 : i;
    }
    for (int64_t i = 0; i < p->last; i++) { /* the two ways of a skip would need a cut each */
        if (net->steps[i].kind == FAR_STEP_SKIP_TURN && net->steps[i].end > p->cut) {
            p->cut = p->last = -1;
        }
    }
}

static bool is_attention(const far_step *s)
{
    return s->kind == FAR_STEP_ATTEND;
}

/* Positions of what a step reads, or of what it gives. */
static int64_t positions_at(const planner *p, const far_step *step, bool given)
{
    int64_t i = step - p->e->net->steps;
    bool chosen = given && i == p->cut && is_attention(step);
    return chosen || (p->alone && i < p->last) ? 1 : far_positions(given ? step->to : step->from);
}

static far_stage *add_stage(planner *p, far_stage_kind kind, const far_step *step)
{
    far_stage *s = &p->e->stages[p->e->stage_count++];
    *s = (far_stage){.kind = kind,
                     .step = step,
                     .in = step->in,
                     .out = step->out,
                     .before = positions_at(p, step, false),
                     .after = positions_at(p, step, true),
                     .idle = p->e->shaped && !p->parameters,
                     .input = p->value,
                     .output = p->value,
                     .kept = -1,
                     .twin = -1,
                     .from = p->gradient,
                     .to = p->gradient,
                     .twin_gradient = -1,
                     .delta = -1,
                     .tangent_from = p->tangent,
                     .tangent_to = p->tangent,
                     .tangent_twin = -1,
                     .turned = -1,
                     .shift = -1};
    int64_t most = s->before > s->after ? s->before : s->after;
    p->e->widest = step->out > p->e->widest ? step->out : p->e->widest;
    p->e->positions = most > p->e->positions ? most : p->e->positions;
    p->parameters |= far_step_first(step) >= 0;
    return s;
}

/* What follows starts from a value, a gradient and a tangent of its own. */
static void start_chain(planner *p, far_stage *s)
{
    far_engine *e = p->e;
    s->output = p->value = add_buffer(&e->values, s->after, s->out);
    s->to = p->gradient = add_buffer(&e->gradients, s->after, s->out);
    s->tangent_to = p->tangent = add_buffer(&e->tangents, s->after, s->out);
}

static void need_scratch(far_engine *e, int64_t numbers)
{
    e->scratch = numbers > e->scratch ? numbers : e->scratch;
}

static void need_lists(far_engine *e, const far_stage *s)
{
    int64_t entries = s->after * s->out, seen = far_positions(s->linear->window) * s->out;
    int64_t picks = entries > seen ? entries : seen;
    e->entries = entries > e->entries ? entries : e->entries;
    e->picks = picks > e->picks ? picks : e->picks;
}

static void plan_lora(far_engine *e, far_stage *s)
{
    int64_t rank = s->linear->rank, numbers = s->depth * s->out;
    s->merged = take_weights(e, s->depth, s->out);
    s->lora_a = take_weights(e, s->depth, rank);
    s->lora_b = take_weights(e, rank, s->out);
    s->lora_turned = take_weights(e, s->out, rank);
    e->adapter = numbers > e->adapter ? numbers : e->adapter;
    e->deepest = s->depth > e->deepest ? s->depth : e->deepest;
}

static void plan_linear(planner *p, int64_t i)
{
    far_engine *e = p->e;
    const far_step *step = &e->net->steps[i];
    far_stage *s = add_stage(p, FAR_STAGE_LINEAR, step);
    bool conv = step->kind == FAR_STEP_CONV;
    s->linear = step;
    s->depth = far_step_weights(step).cols;
    s->narrow = step->out <= NARROW && !conv;
    start_chain(p, s);
    if (!s->narrow) {
        s->panels = take_weights(e, s->depth, step->out);
    }
    bool small = s->depth * step->out <= SMALL_WEIGHTS;
    if (conv) {
        s->turned = take_weights(e, step->out * far_positions(step->window), step->in);
        need_scratch(e, conv_scratch(step) + e->ops->panel); /* whole panels are read */
        need_lists(e, s);
    } else if (s->narrow || small || s->from > 0 || e->input_parameters) {
        s->turned = take_weights(e, step->out, step->in);
    }
    s->shift = take_weights(e, 1, step->out);
    if (step->rank > 0) {
        plan_lora(e, s);
    }
    e->step_value[i] = s->output;
    e->step_delta[i] = s->to;
}

static void plan_norm(planner *p, far_stage *s, int64_t i)
{
    far_engine *e = p->e;
    const far_step *step = &e->net->steps[i];
    bool after_linear = i > 0 && far_step_is_linear(step - 1);
    s->norm = step;
    s->kept = after_linear ? s->input : add_buffer(&e->values, s->after, s->out);
    s->output = p->value = s->kept;
    if (after_linear) { /* written over */
        e->step_value[i - 1] = -1;
    }
    if (step->kind == FAR_STEP_BATCHNORM) {
        s->column = e->columns;
        e->columns += FAR_COLUMN_VECTORS * s->out;
        s->mean = take_weights(e, 1, s->out);
        s->sd = take_weights(e, 1, s->out);
    } else {
        s->inverse = e->inverses;
        e->inverses += step->groups * s->after;
    }
    e->step_kept[i] = s->kept;
}

static void plan_affine(planner *p, far_stage *s, int64_t i)
{
    far_engine *e = p->e;
    s->panels = take_weights(e, 1, s->out);
    s->shift = take_weights(e, 1, s->out);
    s->delta = e->step_delta[i] = add_buffer(&e->gradients, s->after, s->out);
    s->output = p->value = add_buffer(&e->values, s->after, s->out);
    e->input_parameters |= s->from == 0;
    s->idle = false; /* scale and shift get their gradients on the way back */
}

/* A norm, if step i is one, and an activation, if the next one is. Returns the last step taken. */
static int64_t plan_point(planner *p, int64_t i)
{
    far_engine *e = p->e;
    const far_step *step = &e->net->steps[i];
    far_stage *s = add_stage(p, FAR_STAGE_POINT, step);
    bool norm = step->kind != FAR_STEP_ACTIVATION;
    if (norm) {
        plan_norm(p, s, i);
        if (step->weight >= 0) {
            plan_affine(p, s, i);
        }
        e->step_value[i] = s->output;
    }
    int64_t next = norm ? i + 1 : i;
    if (next < e->net->step_count && e->net->steps[next].kind == FAR_STEP_ACTIVATION) {
        s->activation = &e->net->steps[next];
        bool place = norm && step->weight >= 0; /* scale and shift are worked out again */
        s->output = p->value = place ? s->output : add_buffer(&e->values, s->after, s->out);
        e->step_value[i] = norm ? -1 : e->step_value[i];
        e->step_value[next] = s->output;
        i = next;
    }
    return i;
}

static void plan_skip_in(planner *p, int64_t i)
{
    far_engine *e = p->e;
    far_stage *s = add_stage(p, FAR_STAGE_SKIP_IN, &e->net->steps[i]);
    s->tangent_to = p->tangent = add_buffer(&e->tangents, s->after, s->out);
    e->step_value[i] = s->output;
}

/* The beginning of the skip that the last stage belongs to, or its turn if that came since. */
static far_stage *mate_of(far_engine *e)
{
    int64_t open = 0;
    far_stage *s = &e->stages[e->stage_count - 1];
    do {
        s--;
        if (s->kind == FAR_STAGE_SKIP_TURN && open == 0) {
            return s;
        }
        open += s->kind == FAR_STAGE_SKIP_OUT;
        open -= s->kind == FAR_STAGE_SKIP_IN;
    } while (open >= 0);
    return s;
}

/* The shortcut starts from the value that the skip began with; its gradient and tangent are its
 * own, since stages change those in place. */
static void plan_skip_turn(planner *p, int64_t i)
{
    far_engine *e = p->e;
    far_stage *s = add_stage(p, FAR_STAGE_SKIP_TURN, &e->net->steps[i]), *mate = mate_of(e);
    s->tangent_twin = mate->tangent_from;
    s->output = p->value = mate->input;
    s->to = p->gradient = add_buffer(&e->gradients, s->after, s->out);
    s->tangent_to = p->tangent = add_buffer(&e->tangents, s->after, s->out);
    mate->twin_gradient = s->to;
    mate->joined = mate->before;
    e->step_value[i] = s->output;
}

static void plan_skip_out(planner *p, int64_t i)
{
    far_engine *e = p->e;
    far_stage *s = add_stage(p, FAR_STAGE_SKIP_OUT, &e->net->steps[i]), *mate = mate_of(e);
    bool turned = mate->kind == FAR_STAGE_SKIP_TURN;
    start_chain(p, s);
    s->twin = mate->input;
    s->tangent_twin = mate->tangent_from;
    s->before = turned ? s->after : mate->before;
    s->joined = s->after;
    mate->joined = turned ? mate->joined : s->after;
    mate->twin_gradient = s->to;
    e->step_value[i] = s->output;
}

/* Layers that read one value and write another. */
static void plan_other(planner *p, int64_t i, far_stage_kind kind)
{
    far_engine *e = p->e;
    const far_step *step = &e->net->steps[i];
    far_stage *s = add_stage(p, kind, step);
    start_chain(p, s);
    if (kind == FAR_STAGE_ATTEND) {
        s->kept = add_buffer(&e->values, s->after, step->heads * s->before);
        need_scratch(e, attend_scratch(step, e->ops->panel));
    }
    if (kind == FAR_STAGE_POOL) {
        need_scratch(e, 3 * step->in);
    }
    if (kind == FAR_STAGE_TABLE) {
        s->panels = take_weights(e, far_step_weights(step).rows, step->out);
        e->step_delta[i] = s->to;
    }
    e->step_value[i] = s->output;
}

/* Where it stands in the text nothing is left to do if the cut was in front. */
static void plan_last(planner *p, int64_t i)
{
    if (p->alone) {
        p->e->step_value[i] = p->value;
    } else {
        plan_other(p, i, FAR_STAGE_GATHER);
    }
}

/* Behind the step of the cut, and what runs with it: the last position alone. */
static void plan_cut(planner *p, int64_t next)
{
    const far_step *steps = p->e->net->steps;
    if (next < p->last && !is_attention(&steps[p->cut])) {
        far_stage *s = add_stage(p, FAR_STAGE_GATHER, &steps[p->last]);
        s->in = s->out = steps[next - 1].out;
        start_chain(p, s);
    }
    p->alone = next < p->last;
}

static int64_t plan_step(planner *p, int64_t i)
{
    switch (p->e->net->steps[i].kind) {
    case FAR_STEP_DENSE:
    case FAR_STEP_CONV:
        plan_linear(p, i);
        return i;
    case FAR_STEP_INPUT:
        plan_other(p, i, FAR_STAGE_INPUT);
        return i;
    case FAR_STEP_EMBED:
    case FAR_STEP_POSITION:
        plan_other(p, i, FAR_STAGE_TABLE);
        return i;
    case FAR_STEP_MAXPOOL:
    case FAR_STEP_AVGPOOL:
        plan_other(p, i, FAR_STAGE_POOL);
        return i;
    case FAR_STEP_ATTEND:
        plan_other(p, i, FAR_STAGE_ATTEND);
        return i;
    case FAR_STEP_GAP:
    case FAR_STEP_FLATTEN:
        plan_other(p, i, FAR_STAGE_GATHER);
        return i;
    case FAR_STEP_LAST:
        plan_last(p, i);
        return i;
    case FAR_STEP_SKIP_IN:
        plan_skip_in(p, i);
        return i;
    case FAR_STEP_SKIP_TURN:
        plan_skip_turn(p, i);
        return i;
    case FAR_STEP_SKIP_OUT:
        plan_skip_out(p, i);
        return i;
    default:
        return plan_point(p, i);
    }
}

static far_status allocate(far_engine *e)
{
    far_ctx *ctx = e->ctx;
    int64_t steps = e->net->step_count, most = 2 * steps + 2;
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(ctx, steps, &e->stages));
    FAR_TRY(far_alloc(ctx, steps, &e->step_value));
    FAR_TRY(far_alloc(ctx, steps, &e->step_kept));
    FAR_TRY(far_alloc(ctx, steps, &e->step_delta));
    FAR_TRY(buffers_create(ctx, most, &e->values));
    FAR_TRY(buffers_create(ctx, most, &e->gradients));
    FAR_TRY(buffers_create(ctx, most, &e->tangents));
    for (int64_t i = 0; i < steps; i++) {
        e->step_value[i] = e->step_kept[i] = e->step_delta[i] = -1;
    }
done:
    return st;
}

/* Others have no tail: their strips are of many rows anyway. */
static int64_t find_tail(const far_engine *e)
{
    int64_t k = e->stage_count;
    while (e->shaped && k > 0 && e->stages[k - 1].before == 1 && e->stages[k - 1].after == 1) {
        k--;
    }
    return k;
}

far_status far_engine_plan(far_engine *e)
{
    planner p = {.e = e};
    far_status st = allocate(e);
    if (st != FAR_OK) {
        return st;
    }
    e->shaped = far_net_shaped(e->net);
    e->values.unit = e->gradients.unit = e->tangents.unit = e->shaped ? FAR_BUFFER_UNIT : 1;
    add_buffer(&e->values, 1, 0); /* the caller's */
    add_buffer(&e->gradients, 1, e->net->info.inputs);
    add_buffer(&e->tangents, 1, e->net->info.inputs);
    e->widest = e->net->info.inputs;
    find_cut(&p);
    for (int64_t i = 0; i < e->net->step_count; i++) {
        bool cut = i == p.cut;
        i = plan_step(&p, i);
        if (cut) {
            plan_cut(&p, i + 1);
        }
    }
    e->tail = find_tail(e);
    return FAR_OK;
}
