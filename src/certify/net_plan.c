/* The steps of a network with their numbers ready for proofs: scaled weights, batch norms as
 * affine maps, degrees. */
#include "net_certify.h"

#include <float.h>

double far_net_degree_before(const far_net_plan *plan, int64_t i)
{
    return i == 0 ? 1 : plan->layers[i - 1].degree;
}

int64_t far_net_source(const far_net_plan *plan, int64_t i)
{
    int64_t k = i - 1;
    while (k >= 0 && (plan->layers[k].step->kind == FAR_STEP_SKIP_IN ||
                      plan->layers[k].step->kind == FAR_STEP_SKIP_TURN)) {
        k = plan->layers[k].step->kind == FAR_STEP_SKIP_TURN ? plan->layers[k].step->mate : k;
        k--;
    }
    return k;
}

far_range far_net_raw_range(const far_net_plan *plan, int64_t j, far_range r)
{
    double centre = plan->centre[j], scale = plan->scale[j];
    double slack = 4 * FAR_UNIT * (fabs(centre) + scale * far_range_size(r)) + FAR_SPECK;
    return (far_range){centre + scale * r.low - slack, centre + scale * r.high + slack};
}

/* ---- degrees ------------------------------------------------------------------------------- */

static double degree_after(const far_net_plan *plan, int64_t i)
{
    const far_step *s = plan->layers[i].step;
    double before = far_net_degree_before(plan, i);
    switch (s->kind) {
    case FAR_STEP_NORM:
        return 0;
    case FAR_STEP_ACTIVATION:
        return far_activation_degree(s, before);
    case FAR_STEP_SKIP_TURN:
        return far_net_degree_before(plan, s->mate);
    case FAR_STEP_SKIP_OUT:
        return fmax(before, far_net_degree_before(plan, s->mate));
    default:
        return before;
    }
}

/* ---- numbers ------------------------------------------------------------------------------- */

double far_length_from(const double *v, int64_t n, double mean)
{
    double most = 0, square = 0;
    for (int64_t i = 0; i < n; i++) {
        most = fmax(most, fabs(v[i] - mean));
    }
    if (most == 0 || !isfinite(most)) {
        return most;
    }
    for (int64_t i = 0; i < n; i++) {
        double part = (v[i] - mean) / most;
        square += part * part;
    }
    return most * sqrt(square) * (1 + far_lost(n)) + FAR_SPECK;
}

double far_length(const double *v, int64_t n)
{
    return far_length_from(v, n, 0);
}

/* Not 0 unless a factor is: what is exactly 0 in front of a norm matters. */
static double product(double a, double b)
{
    double value = a * b;
    return value == 0 && a != 0 && b != 0 ? copysign(DBL_TRUE_MIN, a) * copysign(1, b) : value;
}

/* A product that underflows is off by more than any relative error, which large values magnify. */
static far_status check_scaled(far_net_plan *plan, const far_step *s, double value)
{
    double scale = fmin(s->weight_scale, s->bias >= 0 ? s->bias_scale : 1);
    if (value != 0 && scale != 0 && scale != 1 && fabs(value) < DBL_MIN) {
        return far_fail(plan->ctx, FAR_ERR_VALUE,
                        "layer %s: the weight %g times its scale underflows, and what is proven of "
                        "other numbers does not hold for it; set it to 0",
                        s->name, value / scale);
    }
    return FAR_OK;
}

static far_status set_dense(far_net_plan *plan, far_proof_layer *l)
{
    far_status st;
    const far_step *s = l->step;
    const double *w = plan->net->params + s->weight, *b = plan->net->params + s->bias;
    FAR_TRY(far_alloc(plan->ctx, s->out * s->in, &l->rows));
    FAR_TRY(far_alloc(plan->ctx, s->out * s->in, &l->columns));
    FAR_TRY(far_alloc(plan->ctx, s->out, &l->row_norm));
    FAR_TRY(far_alloc(plan->ctx, s->out, &l->shift));
    FAR_TRY(far_alloc(plan->ctx, s->out, &l->shift_size));
    for (int64_t o = 0; o < s->out; o++) {
        for (int64_t i = 0; i < s->in; i++) {
            double value = product(s->weight_scale, w[o * s->in + i]);
            FAR_TRY(check_scaled(plan, s, value));
            l->rows[o * s->in + i] = l->columns[i * s->out + o] = value;
        }
        l->row_norm[o] = far_length(l->rows + o * s->in, s->in);
        l->shift[o] = s->bias >= 0 ? product(s->bias_scale, b[o]) : 0;
        l->shift_size[o] = fabs(l->shift[o]);
    }
done:
    return st;
}

static far_status set_affine(far_net_plan *plan, far_proof_layer *l)
{
    far_status st = FAR_OK;
    const far_step *s = l->step;
    const double *params = plan->net->params;
    FAR_TRY(far_alloc(plan->ctx, s->out, &l->scale));
    FAR_TRY(far_alloc(plan->ctx, s->out, &l->shift));
    FAR_TRY(far_alloc(plan->ctx, s->out, &l->shift_size));
    for (int64_t i = 0; i < s->out; i++) {
        l->scale[i] = s->weight >= 0 ? params[s->weight + i] : 1;
        l->shift[i] = s->bias >= 0 ? params[s->bias + i] : 0;
        l->shift_size[i] = fabs(l->shift[i]);
    }
done:
    return st;
}

/* (z - mean) / sqrt(variance + eps) scale + shift, as scale z + shift. */
static far_status set_batch(far_net_plan *plan, far_proof_layer *l)
{
    const far_step *s = l->step;
    const double *mean = plan->net->statistics + s->mean;
    const double *variance = plan->net->statistics + s->variance;
    far_status st = set_affine(plan, l);
    for (int64_t i = 0; st == FAR_OK && i < s->out; i++) {
        l->scale[i] /= sqrt(variance[i] + s->eps);
        l->shift[i] -= mean[i] * l->scale[i];
        l->shift_size[i] += fabs(product(mean[i], l->scale[i]));
        if (!isfinite(l->scale[i])) {
            st = far_fail(plan->ctx, FAR_ERR_VALUE,
                          "layer %s: batch norm divides by nothing at neuron %lld; train it, or "
                          "give it eps",
                          s->name, (long long)i + 1);
        }
    }
    return st;
}

static far_status set_layer(far_net_plan *plan, int64_t i)
{
    far_proof_layer *l = &plan->layers[i];
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(plan->ctx, l->step->out, &l->box));
    if (l->step->kind == FAR_STEP_DENSE) {
        FAR_TRY(set_dense(plan, l));
    } else if (l->step->kind == FAR_STEP_BATCHNORM) {
        plan->batch = true;
        FAR_TRY(set_batch(plan, l));
    } else if (l->step->kind == FAR_STEP_NORM) {
        plan->norms = true;
        if (l->step->weight >= 0) {
            FAR_TRY(set_affine(plan, l));
        }
        FAR_TRY(far_norm_set_create(plan, i));
    }
    l->degree = degree_after(plan, i);
    plan->endless |= l->step->kind == FAR_STEP_ACTIVATION && l->step->layer == FAR_LAYER_SIN &&
                     far_net_degree_before(plan, i) > 0;
    plan->widest = l->step->out > plan->widest ? l->step->out : plan->widest;
done:
    return st;
}

/* ---- the plan ------------------------------------------------------------------------------ */

static void layer_clear(far_ctx *ctx, far_proof_layer *l)
{
    FAR_FREE_ALL(ctx, l->rows, l->columns, l->row_norm, l->scale, l->shift, l->shift_size, l->box);
    far_norm_set_clear(ctx, &l->set);
}

void far_net_plan_destroy(far_net_plan *plan)
{
    if (plan) {
        for (int64_t i = 0; plan->layers && i < plan->count; i++) {
            layer_clear(plan->ctx, &plan->layers[i]);
        }
        for (int i = 0; i < FAR_VERDICTS; i++) {
            far_free(plan->ctx, plan->reasons[i]);
        }
        far_free(plan->ctx, plan->layers);
        far_free(plan->ctx, plan);
    }
}

static double balanced_unit(const far_net_plan *plan)
{
    const far_proof_layer *l = &plan->layers[0];
    if (l->step->kind != FAR_STEP_DENSE) {
        return 1;
    }
    double ratio =
        far_length(l->shift, l->step->out) / far_length(l->rows, l->step->out * l->step->in);
    ratio = isfinite(ratio) ? fmin(fmax(ratio, 1), 0x1p60) : 1;
    return ldexp(1, (int)round(log2(ratio)));
}

static bool has_shift(const far_proof_layer *l)
{
    bool any = false;
    for (int64_t i = 0; l->shift && i < l->step->out; i++) {
        any |= l->shift_size[i] != 0; /* a shift of 0 may be the rounding of another */
    }
    return any;
}

/* Whether all that still grows with x is the same for x and 2 x but for a factor. */
static bool is_conic(const far_net_plan *plan)
{
    for (int64_t i = 0; i < plan->count; i++) {
        const far_proof_layer *l = &plan->layers[i];
        far_step_kind kind = l->step->kind;
        bool linear = kind == FAR_STEP_DENSE || kind == FAR_STEP_BATCHNORM;
        if (far_net_degree_before(plan, i) == 0) {
            continue;
        }
        if ((linear && has_shift(l)) || (kind == FAR_STEP_NORM && l->step->eps > 0) ||
            (kind == FAR_STEP_ACTIVATION && !far_activation_is_homogeneous(l->step)) ||
            (kind == FAR_STEP_SKIP_OUT &&
             far_net_degree_before(plan, l->step->mate) != far_net_degree_before(plan, i))) {
            return false;
        }
    }
    return plan->degree == 0;
}

static far_status fill(far_net_plan *plan)
{
    far_status st;
    const far_net *net = plan->net;
    int64_t d = net->info.inputs;
    FAR_TRY(far_alloc(plan->ctx, net->step_count, &plan->layers));
    plan->count = net->step_count;
    for (int64_t i = 0; i < plan->count; i++) {
        plan->layers[i].step = &net->steps[i];
        FAR_TRY(set_layer(plan, i));
    }
    plan->degree = plan->layers[plan->count - 1].degree;
    plan->unit = balanced_unit(plan);
    plan->conic = is_conic(plan);
    plan->input_centre = net->columns->scaling;
    plan->input_scale = net->columns->scaling + d;
    plan->centre = net->columns->scaling + 2 * d;
    plan->scale = plan->centre + net->info.outputs;
done:
    return st;
}

far_status far_net_plan_create(far_ctx *ctx, const far_net *net, far_net_plan **out)
{
    far_status st;
    far_net_plan *plan = NULL;
    *out = NULL;
    FAR_TRY(far_net_refuse_shaped(ctx, net, "certificates"));
    FAR_TRY(far_alloc(ctx, 1, &plan));
    *plan = (far_net_plan){.ctx = ctx, .net = net, .widest = net->info.inputs};
    FAR_TRY(fill(plan));
done:
    FAR_HAND_OVER(plan, out, far_net_plan_destroy);
    return st;
}
