/*
 * Every neuron's interval over the whole space. Behind a norm the rows of a dense layer are
 * maximised over the ball itself, also through an activation in between; further on intervals are
 * carried from layer to layer, with radii (by largest singular values) beside them where asked for.
 */
#include "net_certify.h"

static const far_range EVERYTHING = {-INFINITY, INFINITY};

static far_range box_before(const far_net_plan *plan, int64_t i, int64_t k)
{
    return i == 0 ? EVERYTHING : plan->layers[i - 1].box[k];
}

static double radius_before(const far_net_plan *plan, int64_t i, double *growth)
{
    *growth = i == 0 ? 1 : plan->layers[i - 1].growth;
    return i == 0 ? 0 : plan->layers[i - 1].radius;
}

/* ---- dense --------------------------------------------------------------------------------- */

static far_range row_interval(const far_net_plan *plan, int64_t i, int64_t o)
{
    const far_proof_layer *l = &plan->layers[i];
    int64_t n = l->step->in;
    const double *w = l->rows + o * n;
    double low = l->shift[o], high = low, size = l->shift_size[o];
    for (int64_t k = 0; k < n; k++) {
        far_range b = box_before(plan, i, k);
        if (w[k] != 0) {
            low += w[k] * (w[k] > 0 ? b.low : b.high);
            high += w[k] * (w[k] > 0 ? b.high : b.low);
            size += fabs(w[k]) * far_range_size(b);
        }
    }
    double slack = size * far_lost(n) + FAR_SPECK;
    return isfinite(size) ? (far_range){low - slack, high + slack} : EVERYTHING;
}

/* Dense behind a norm, or behind a norm and an activation: what is maximised, and room to do it. */
typedef struct ball_view {
    const far_proof_layer *norm;
    const far_step *activation; /* NULL: none */
    double *w;
} ball_view;

static ball_view view_of(const far_net_plan *plan, int64_t i)
{
    ball_view v = {0};
    int64_t k = far_net_source(plan, i);
    if (k >= 0 && plan->layers[k].step->kind == FAR_STEP_ACTIVATION) {
        v.activation = plan->layers[k].step;
        k = far_net_source(plan, k);
    }
    if (k >= 0 && plan->layers[k].step->kind == FAR_STEP_NORM) {
        v.norm = &plan->layers[k];
    }
    return v;
}

/* sign w . h over the ball, without the shift of the dense layer. */
static double view_max(const ball_view *v, const double *w, double sign, int64_t n)
{
    double fixed = 0;
    for (int64_t k = 0; k < n; k++) {
        v->w[k] = sign * w[k];
    }
    if (v->activation) {
        return far_norm_set_active_max(v->norm, v->activation, v->w);
    }
    for (int64_t k = 0; v->norm->scale && k < n; k++) {
        fixed += v->w[k] * v->norm->shift[k];
        v->w[k] *= v->norm->scale[k];
    }
    return fixed + far_norm_set_max(&v->norm->set, v->w);
}

static far_range row_over_ball(const far_net_plan *plan, int64_t i, int64_t o, const ball_view *v)
{
    const far_proof_layer *l = &plan->layers[i];
    int64_t n = l->step->in;
    const double *w = l->rows + o * n;
    double size = l->shift_size[o];
    for (int64_t k = 0; k < n; k++) {
        size += fabs(w[k]) * far_range_size(box_before(plan, i, k));
    }
    double slack = size * far_lost(n) + FAR_SPECK;
    return (far_range){l->shift[o] - view_max(v, w, -1, n) - slack,
                       l->shift[o] + view_max(v, w, 1, n) + slack};
}

static far_range row_by_radius(const far_proof_layer *l, int64_t o, double radius)
{
    double reach = far_up(l->row_norm[o] * radius);
    return (far_range){far_down(l->shift[o] - reach), far_up(l->shift[o] + reach)};
}

static void dense_row(const far_net_plan *plan, int64_t i, int64_t o, const ball_view *v,
                      bool radii)
{
    far_proof_layer *l = &plan->layers[i];
    double growth, radius = radius_before(plan, i, &growth);
    l->box[o] = row_interval(plan, i, o);
    if (v->norm) {
        l->box[o] = far_range_meet(l->box[o], row_over_ball(plan, i, o, v));
    }
    if (radii && growth == 0) {
        l->box[o] = far_range_meet(l->box[o], row_by_radius(l, o, radius));
    }
}

static far_status dense_radius(const far_net_plan *plan, int64_t i)
{
    far_proof_layer *l = &plan->layers[i];
    double norm, growth, radius = radius_before(plan, i, &growth);
    l->growth = l->radius = INFINITY;
    if (!isfinite(growth) || !isfinite(radius)) {
        return FAR_OK;
    }
    far_status st = far_spectral_norm(plan->ctx, l->rows, l->step->out, l->step->in, &norm);
    if (st == FAR_OK) {
        l->growth = growth == 0 ? 0 : far_up(norm * growth);
        l->radius = far_up(far_up(norm * radius) + far_length(l->shift_size, l->step->out));
    }
    return st;
}

static far_status dense_boxes(far_net_plan *plan, int64_t i, bool radii)
{
    far_status st;
    ball_view shared = view_of(plan, i);
    const far_step *s = plan->layers[i].step;
    double *rooms = NULL;
    FAR_TRY(far_alloc(plan->ctx, s->out * s->in, &rooms));
#pragma omp parallel for num_threads(far_ctx_threads(plan->ctx)) schedule(dynamic, 4)
    for (int64_t o = 0; o < s->out; o++) {
        ball_view v = shared;
        v.w = rooms + o * s->in;
        dense_row(plan, i, o, &v, radii);
    }
    if (radii) {
        FAR_TRY(far_active_rows(plan, i));
        FAR_TRY(dense_radius(plan, i));
    }
done:
    far_free(plan->ctx, rooms);
    return st;
}

/* ---- the other steps ----------------------------------------------------------------------- */

static far_range scaled(const far_proof_layer *l, int64_t k, far_range z)
{
    double a = l->scale[k] == 0 ? 0 : l->scale[k] * z.low;
    double b = l->scale[k] == 0 ? 0 : l->scale[k] * z.high;
    double slack = far_lost(1) * (fmax(fabs(a), fabs(b)) + l->shift_size[k]) + FAR_SPECK;
    return isfinite(slack)
               ? (far_range){fmin(a, b) + l->shift[k] - slack, fmax(a, b) + l->shift[k] + slack}
               : EVERYTHING;
}

static void scale_radius(far_proof_layer *l, double growth, double radius)
{
    double most = far_largest_size(l->scale, l->step->out) * (1 + far_lost(1));
    l->growth = growth == 0 ? 0 : far_up(most * growth);
    l->radius = far_up(far_up(most * radius) + far_length(l->shift_size, l->step->out));
}

static void norm_boxes(far_proof_layer *l)
{
    const far_norm_set *set = &l->set;
    for (int64_t k = 0; k < l->step->out; k++) {
        far_range z = {-set->entry, set->entry};
        l->box[k] = l->scale ? scaled(l, k, z) : z;
    }
    l->growth = 0;
    l->radius = far_up(sqrt((double)l->step->out));
    if (l->scale) {
        scale_radius(l, 0, l->radius);
    }
}

static void batch_boxes(const far_net_plan *plan, int64_t i)
{
    far_proof_layer *l = &plan->layers[i];
    double growth, radius = radius_before(plan, i, &growth);
    for (int64_t k = 0; k < l->step->out; k++) {
        l->box[k] = scaled(l, k, box_before(plan, i, k));
    }
    scale_radius(l, growth, radius);
}

/* relu leaves at most |z|^2 - 1 of a centred group of norm |z|^2 = m. */
static bool is_relu_of_ball(const far_net_plan *plan, int64_t i)
{
    const far_step *s = plan->layers[i].step;
    int64_t k = far_net_source(plan, i);
    return s->layer == FAR_LAYER_RELU && s->power == 1 && k >= 0 &&
           plan->layers[k].step->layer == FAR_LAYER_LN && !plan->layers[k].scale;
}

static double box_radius(const far_proof_layer *l)
{
    double length = 0;
    for (int64_t k = 0; k < l->step->out; k++) {
        length = hypot(length, far_range_size(l->box[k]));
    }
    return length * (1 + 4 * far_lost(l->step->out)) + FAR_SPECK;
}

static void activation_boxes(const far_net_plan *plan, int64_t i)
{
    far_proof_layer *l = &plan->layers[i];
    double growth, radius = radius_before(plan, i, &growth);
    double factor = far_activation_lipschitz(l->step);
    for (int64_t k = 0; k < l->step->out; k++) {
        l->box[k] = far_activation_range(l->step, box_before(plan, i, k));
    }
    double zero = far_up(far_activation_at_zero(l->step) * sqrt((double)l->step->out));
    zero = far_activation_at_zero(l->step) == 0 ? 0 : zero;
    l->growth = growth == 0 ? 0 : far_up(factor * growth);
    l->radius = radius == 0 ? zero : far_up(factor * radius + zero);
    if (is_relu_of_ball(plan, i)) {
        const far_norm_set *set = &plan->layers[far_net_source(plan, i)].set;
        double left = (double)(set->groups * (set->size - 1));
        l->radius = fmin(l->radius, far_up(fabs(l->step->gain) * far_up(sqrt(left))));
    }
    if (l->degree == 0) {
        double of_box = box_radius(l);
        l->radius = growth == 0 ? fmin(l->radius, of_box) : of_box;
        l->growth = 0;
    }
}

static void skip_boxes(const far_net_plan *plan, int64_t i)
{
    far_proof_layer *l = &plan->layers[i];
    double growth, kept, radius = radius_before(plan, i, &growth);
    radius += radius_before(plan, l->step->mate, &kept);
    for (int64_t k = 0; k < l->step->out; k++) {
        far_range a = box_before(plan, i, k), b = box_before(plan, l->step->mate, k);
        l->box[k] = (far_range){far_down(a.low + b.low), far_up(a.high + b.high)};
    }
    l->growth = far_up(growth + kept);
    l->growth = growth + kept == 0 ? 0 : l->growth;
    l->radius = far_up(radius);
}

/* Layer i gives what layer `from` reads. */
static void pass_on(const far_net_plan *plan, int64_t i, int64_t from)
{
    far_proof_layer *l = &plan->layers[i];
    for (int64_t k = 0; k < l->step->out; k++) {
        l->box[k] = box_before(plan, from, k);
    }
    l->radius = radius_before(plan, from, &l->growth);
}

static far_status layer_boxes(far_net_plan *plan, int64_t i, bool radii)
{
    switch (plan->layers[i].step->kind) {
    case FAR_STEP_DENSE:
        return dense_boxes(plan, i, radii);
    case FAR_STEP_NORM:
        norm_boxes(&plan->layers[i]);
        break;
    case FAR_STEP_BATCHNORM:
        batch_boxes(plan, i);
        break;
    case FAR_STEP_ACTIVATION:
        activation_boxes(plan, i);
        break;
    case FAR_STEP_SKIP_OUT:
        skip_boxes(plan, i);
        break;
    case FAR_STEP_SKIP_TURN:
        pass_on(plan, i, plan->layers[i].step->mate);
        break;
    default:
        pass_on(plan, i, i);
    }
    return FAR_OK;
}

/* Where a bound is no number, because infinities met, there is no bound. */
static void drop_nan(far_proof_layer *l)
{
    for (int64_t k = 0; k < l->step->out; k++) {
        l->box[k].low = l->box[k].low == l->box[k].low ? l->box[k].low : -INFINITY;
        l->box[k].high = l->box[k].high == l->box[k].high ? l->box[k].high : INFINITY;
    }
    l->growth = isnan(l->growth) ? INFINITY : l->growth;
    l->radius = isnan(l->radius) ? INFINITY : l->radius;
}

far_status far_net_boxes(far_net_plan *plan, bool radii)
{
    far_status st = FAR_OK;
    for (int64_t i = 0; st == FAR_OK && i < plan->count; i++) {
        plan->layers[i].growth = plan->layers[i].radius = INFINITY;
        st = layer_boxes(plan, i, radii);
        drop_nan(&plan->layers[i]);
    }
    return st;
}

far_range far_net_output_box(const far_net_plan *plan, int64_t j)
{
    return far_net_raw_range(plan, j, plan->layers[plan->count - 1].box[j]);
}
