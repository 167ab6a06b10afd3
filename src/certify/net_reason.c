/*
 * What a verdict rests on, in words, read from the network itself: the layers that bound it, or a
 * way from the inputs to the outputs that none bounds.
 *
 * A layer whose output has degree 0 lies in a ball or a box. A degree above 0 comes from the inputs
 * through layers that all keep it above 0: dense, batch norm, activations that are not bounded, and
 * at the end of a skip the side that has the higher degree. So there is such a way if and only if
 * the network's own degree is above 0.
 */
#include "net_certify.h"

#include <string.h>

static const char *word_of(const far_step *s)
{
    switch (s->kind) {
    case FAR_STEP_DENSE:
        return "dense";
    case FAR_STEP_BATCHNORM:
        return "batchnorm";
    default: /* norms and activations */
        return far_layer_name(s->layer);
    }
}

/* ---- bounded ------------------------------------------------------------------------------- */

/* Behind the last degree above 0. A skip without a shortcut that begins above 0 ends above 0: so
 * this layer lies in none that it does not bound, and all ways pass it. With one it may lie in the
 * shortcut, and the other way has a layer of its own: then this is the outermost such skip. */
static const far_step *gate_of(const far_net_plan *plan)
{
    int64_t i = plan->count;
    while (i > 0 && plan->layers[i - 1].degree == 0) {
        i--;
    }
    for (int64_t k = 0; k < i; k++) {
        const far_step *s = plan->layers[k].step;
        if (s->kind == FAR_STEP_SKIP_TURN && s->end > i) {
            return s;
        }
    }
    return plan->layers[i].step;
}

static void say_bounded(const far_net_plan *plan, far_text *t)
{
    const far_step *s = gate_of(plan);
    if (s->kind == FAR_STEP_SKIP_TURN) {
        far_text_add(t,
                     "both ways through layer %s (skip) pass a norm or a bounded activation: "
                     "whatever goes in, what comes out of these lies in a ball or a box, and the "
                     "layers behind them take bounded sets to bounded sets",
                     s->name);
        return;
    }
    far_text_add(
        t,
        "every path from the inputs to this output passes through layer %s (%s): whatever goes in, "
        "what comes out lies in a %s, and the layers behind it take bounded sets to "
        "bounded sets",
        s->name, word_of(s), s->kind == FAR_STEP_NORM ? "ball" : "box");
}

/* ---- not bounded --------------------------------------------------------------------------- */

typedef struct way {
    const char **words; /* from the outputs backwards */
    int64_t count;
    bool batch;
} way;

/* From the outputs back to the inputs, where degrees stay above 0. */
static void walk(const far_net_plan *plan, way *w)
{
    for (int64_t i = plan->count - 1; i >= 0; i--) {
        const far_step *s = plan->layers[i].step;
        bool around =
            s->kind == FAR_STEP_SKIP_OUT && far_net_degree_before(plan, i) < plan->layers[i].degree;
        bool turned = around && plan->layers[s->mate].step->kind == FAR_STEP_SKIP_TURN;
        if (around && !turned) {
            w->words[w->count++] = "around a skip";
        }
        if (around || s->kind == FAR_STEP_SKIP_TURN) {
            i = s->mate;
        } else if (s->kind != FAR_STEP_SKIP_IN && s->kind != FAR_STEP_SKIP_OUT) {
            w->words[w->count++] = word_of(s);
            w->batch |= s->kind == FAR_STEP_BATCHNORM;
        }
    }
}

static far_status say_way(const far_net_plan *plan, far_text *t, bool *batch)
{
    way w = {0};
    far_status st = far_alloc(plan->ctx, plan->count, &w.words);
    if (st == FAR_OK) {
        walk(plan, &w);
        far_text_add(t, "the way ");
        for (int64_t i = w.count - 1; i >= 0; i--) {
            far_text_add(t, "%s%s", w.words[i], i > 0 ? ", " : "");
        }
        far_text_add(t, " passes no layer norm, no rms norm and no bounded activation");
        *batch = w.batch;
    }
    far_free(plan->ctx, w.words);
    return st;
}

/* What is said of the activations that are near relu; "": there are none. */
static const char *tails_of(const far_net_plan *plan)
{
    bool any = false, more = false;
    for (int64_t i = 0; i < plan->count; i++) {
        const far_step *s = plan->layers[i].step;
        any |= s->kind == FAR_STEP_ACTIVATION && plan->layers[i].degree > 0 &&
               !far_activation_is_homogeneous(s);
        more |= far_layer_is_finite_only(s->layer) && s->layer != FAR_LAYER_SIGMOID;
    }
    return !any   ? ""
           : more ? ", with relu in place of gelu, silu, elu, softplus and mish"
                  : ", with relu in place of gelu and silu";
}

static bool has_lower_ways(const far_net_plan *plan)
{
    bool any = false;
    for (int64_t i = 0; i < plan->count; i++) {
        const far_step *s = plan->layers[i].step;
        any |= s->kind == FAR_STEP_SKIP_OUT &&
               far_net_degree_before(plan, i) != far_net_degree_before(plan, s->mate);
    }
    return any;
}

static far_status say_open(const far_net_plan *plan, bool away, far_text *t)
{
    bool batch = false;
    far_text_add(t, away ? "f(t direction) / t^order tends to slope, which is proven not to be 0, "
                           "as t grows: "
                         : "");
    far_status st = say_way(plan, t, &batch);
    far_text_add(t, batch ? " (batch norm at evaluation is a fixed affine map and bounds nothing)"
                          : "");
    if (away) {
        far_text_add(t, ", and slope is what the network takes at direction without its biases%s%s",
                     tails_of(plan),
                     has_lower_ways(plan) ? ", without what is bounded or grows more slowly" : "");
    } else {
        bool grows = isfinite(plan->layers[plan->count - 1].growth);
        far_text_add(t, ", but no direction was proven along which f grows; %s",
                     grows ? "|f(x)| <= growth |x| + offset is what is proven"
                           : "nothing is proven of its size");
    }
    return st == FAR_OK ? t->status : st;
}

static far_status reason(const far_net_plan *plan, int32_t verdict, char **out)
{
    far_text t = {.ctx = plan->ctx};
    far_status st = FAR_OK;
    if (verdict == FAR_BOUNDED) {
        say_bounded(plan, &t);
        st = t.status;
    } else {
        st = say_open(plan, verdict == FAR_UNBOUNDED, &t);
    }
    if (st != FAR_OK) {
        far_free(plan->ctx, t.data);
        t.data = NULL;
    }
    *out = t.data;
    return st;
}

static int place_of(int32_t verdict)
{
    return verdict - FAR_UNDECIDED;
}

far_status far_net_set_reasons(far_net_plan *plan)
{
    far_status st = FAR_OK;
    bool bounded = plan->degree == 0;
    for (int i = 0; i < FAR_VERDICTS; i++) {
        far_free(plan->ctx, plan->reasons[i]);
        plan->reasons[i] = NULL;
    }
    if (bounded) {
        return reason(plan, FAR_BOUNDED, &plan->reasons[place_of(FAR_BOUNDED)]);
    }
    FAR_TRY(reason(plan, FAR_UNBOUNDED, &plan->reasons[place_of(FAR_UNBOUNDED)]));
    FAR_TRY(reason(plan, FAR_UNDECIDED, &plan->reasons[place_of(FAR_UNDECIDED)]));
done:
    return st;
}

const char *far_net_theorem(const far_net_plan *plan, int32_t verdict)
{
    return plan->reasons[place_of(verdict)];
}
