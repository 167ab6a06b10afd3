/*
 * Linear relaxation: the row of a dense layer is followed back as a linear form, through
 * activations by the line above or below them that the sign of its coefficient asks for, to the
 * norm in front, whose ball maximises it exactly. (Zhang et al. 2018, Singh et al. 2019.)
 */
#include "net_certify.h"

#include <string.h>

#define MOST_WORK 2e11 /* multiplications; beyond that only the last layer is followed back */

typedef struct layer_lines {
    far_line *below, *above; /* of activations */
    double *size;            /* dense: sum_i |W_oi| |h_i| + |shift|; what rounding is relative to */
} layer_lines;

typedef struct relaxation {
    const far_net_plan *plan;
    layer_lines *lines;
} relaxation;

/* One row on its way back. */
typedef struct row {
    double *form, *next; /* coefficients of the present layer's output */
    double *kept;        /* layers x widest: of skips */
    int64_t last;        /* the layer it began at */
    double constant, lost;
} row;

/* ---- preparation --------------------------------------------------------------------------- */

static double size_before(const far_net_plan *plan, int64_t i, int64_t k)
{
    return i == 0 ? INFINITY : far_range_size(plan->layers[i - 1].box[k]);
}

static void dense_sizes(const far_net_plan *plan, int64_t i, double *size)
{
    const far_proof_layer *l = &plan->layers[i];
    for (int64_t o = 0; o < l->step->out; o++) {
        size[o] = l->shift_size[o];
        for (int64_t k = 0; k < l->step->in; k++) {
            double w = fabs(l->rows[o * l->step->in + k]);
            size[o] += w == 0 ? 0 : w * size_before(plan, i, k);
        }
        size[o] *= 1 + far_lost(l->step->in);
    }
}

static void activation_lines(const far_net_plan *plan, int64_t i, layer_lines *lines)
{
    static const far_range EVERYTHING = {-INFINITY, INFINITY};
    const far_step *s = plan->layers[i].step;
    for (int64_t k = 0; k < s->out; k++) {
        far_range z = i == 0 ? EVERYTHING : plan->layers[i - 1].box[k];
        far_activation_lines(s, z, &lines->below[k], &lines->above[k]);
    }
}

/* Of all layers before `end`, from their present boxes. */
static far_status set_lines(relaxation *r, int64_t i)
{
    far_status st = FAR_OK;
    far_ctx *ctx = r->plan->ctx;
    layer_lines *lines = &r->lines[i];
    const far_step *s = r->plan->layers[i].step;
    if (s->kind == FAR_STEP_ACTIVATION) {
        FAR_TRY(far_alloc(ctx, s->out, &lines->below));
        FAR_TRY(far_alloc(ctx, s->out, &lines->above));
        activation_lines(r->plan, i, lines);
    } else if (s->kind == FAR_STEP_DENSE) {
        FAR_TRY(far_alloc(ctx, s->out, &lines->size));
        dense_sizes(r->plan, i, lines->size);
    }
done:
    return st;
}

static void lines_clear(relaxation *r)
{
    for (int64_t i = 0; r->lines && i < r->plan->count; i++) {
        FAR_FREE_ALL(r->plan->ctx, r->lines[i].below, r->lines[i].above, r->lines[i].size);
    }
    far_free(r->plan->ctx, r->lines);
}

/* ---- the way back -------------------------------------------------------------------------- */

static void back_dense(const relaxation *r, int64_t i, row *w)
{
    const far_proof_layer *l = &r->plan->layers[i];
    int64_t n = l->step->in;
    double sum = 0, lost = 0;
    memset(w->next, 0, (size_t)n * sizeof *w->next);
    for (int64_t o = 0; o < l->step->out; o++) {
        double c = w->form[o];
        const double *weights = l->rows + o * n;
        if (c != 0) {
            sum += c * l->shift[o];
            lost += fabs(c) * r->lines[i].size[o];
            for (int64_t k = 0; k < n; k++) {
                w->next[k] += c * weights[k];
            }
        }
    }
    w->constant += sum;
    w->lost += lost * far_lost(l->step->out) + fabs(w->constant) * FAR_UNIT;
    double *swap = w->form;
    w->form = w->next;
    w->next = swap;
}

static void back_activation(const relaxation *r, int64_t i, row *w)
{
    const layer_lines *lines = &r->lines[i];
    double sum = 0, lost = 0;
    for (int64_t k = 0; k < r->plan->layers[i].step->out; k++) {
        double c = w->form[k];
        if (c == 0) {
            continue;
        }
        far_line line = c > 0 ? lines->above[k] : lines->below[k];
        w->form[k] = c * line.slope;
        sum += c * line.at_zero;
        lost += fabs(c * line.at_zero);
        lost += line.slope == 0 ? 0 : fabs(w->form[k]) * size_before(r->plan, i, k);
    }
    w->constant += sum;
    w->lost += lost * far_lost(r->plan->layers[i].step->out) + fabs(w->constant) * FAR_UNIT;
}

/* Adds the shift and scales the form; what rounding loses is relative to the values' sizes, which
 * are at most entry where that is 0 or more. */
static void back_affine(const far_net_plan *plan, int64_t i, double entry, row *w)
{
    const far_proof_layer *l = &plan->layers[i];
    double sum = 0, lost = 0;
    for (int64_t k = 0; l->scale && k < l->step->out; k++) {
        double c = w->form[k], size = entry >= 0 ? entry : size_before(plan, i, k);
        if (c != 0) {
            sum += c * l->shift[k];
            w->form[k] = c * l->scale[k];
            lost += fabs(c) * l->shift_size[k] + (l->scale[k] == 0 ? 0 : fabs(w->form[k]) * size);
        }
    }
    w->constant += sum;
    w->lost += lost * far_lost(l->step->out) + fabs(w->constant) * FAR_UNIT;
}

static void back_norm(const relaxation *r, int64_t i, row *w)
{
    const far_proof_layer *l = &r->plan->layers[i];
    back_affine(r->plan, i, l->set.entry, w);
    w->constant = far_up(w->constant + far_norm_set_max(&l->set, w->form));
    memset(w->form, 0, (size_t)l->step->out * sizeof *w->form);
}

static void back_batch(const relaxation *r, int64_t i, row *w)
{
    back_affine(r->plan, i, -1, w);
}

static void back_skip_out(const relaxation *r, int64_t i, row *w)
{
    const far_step *s = r->plan->layers[i].step;
    memcpy(w->kept + s->mate * r->plan->widest, w->form, (size_t)s->out * sizeof *w->form);
}

static void back_skip_in(const relaxation *r, int64_t i, row *w)
{
    const far_step *s = r->plan->layers[i].step;
    const double *kept = w->kept + i * r->plan->widest;
    for (int64_t k = 0; s->end <= w->last && k < s->out; k++) {
        double size = size_before(r->plan, i, k), c = w->form[k] + kept[k];
        w->lost += c == w->form[k] || c == kept[k] ? 0 : fabs(c) * size * (2 * FAR_UNIT);
        w->form[k] = c;
    }
}

/* The form of the shortcut waits for the beginning, and that of the end goes on through the body.
 */
static void back_skip_turn(const relaxation *r, int64_t i, row *w)
{
    const far_step *s = r->plan->layers[i].step;
    int64_t n = r->plan->layers[i - 1].step->out, widest = r->plan->widest;
    memcpy(w->kept + s->mate * widest, w->form, (size_t)s->out * sizeof *w->form);
    if (s->end <= w->last) {
        memcpy(w->form, w->kept + i * widest, (size_t)n * sizeof *w->form);
    } else { /* it began inside the shortcut */
        memset(w->form, 0, (size_t)n * sizeof *w->form);
    }
}

/* Takes an upper bound, a linear form in the outputs of layer i, back to one in its inputs. lost
 * gathers what rounding may have taken from it. */
static void back_step(const relaxation *r, int64_t i, row *w)
{
    /* images and sequences do not come here: shape_certify.c */
    static void (*const BACK[FAR_STEP_LAST + 1])(const relaxation *, int64_t, row *) = {
        [FAR_STEP_DENSE] = back_dense,       [FAR_STEP_ACTIVATION] = back_activation,
        [FAR_STEP_NORM] = back_norm,         [FAR_STEP_BATCHNORM] = back_batch,
        [FAR_STEP_SKIP_IN] = back_skip_in,   [FAR_STEP_SKIP_TURN] = back_skip_turn,
        [FAR_STEP_SKIP_OUT] = back_skip_out,
    };
    BACK[r->plan->layers[i].step->kind](r, i, w);
}

/* At least the largest value of the form over the outputs of layer `last`. */
static double row_max(const relaxation *r, int64_t last, row *w)
{
    w->constant = w->lost = 0;
    w->last = last;
    for (int64_t i = last; i >= 0; i--) {
        back_step(r, i, w);
    }
    for (int64_t k = 0; k < r->plan->net->info.inputs; k++) {
        if (w->form[k] != 0) {
            return INFINITY;
        }
    }
    double value = far_up(w->constant + w->lost * (1 + 1e-9));
    return isnan(value) ? INFINITY : value;
}

/* Neuron o of dense layer i, up to sign. */
static double neuron_max(const relaxation *r, int64_t i, int64_t o, double sign, row *w)
{
    memset(w->form, 0, (size_t)r->plan->layers[i].step->out * sizeof *w->form);
    w->form[o] = sign;
    return row_max(r, i, w);
}

/* ---- all rows ------------------------------------------------------------------------------ */

static far_status relax_layer(const relaxation *r, int64_t i)
{
    far_status st;
    const far_net_plan *plan = r->plan;
    far_proof_layer *l = &plan->layers[i];
    int threads = far_ctx_threads(plan->ctx);
    int64_t room = (plan->count + 2) * plan->widest;
    double *rooms = NULL;
    FAR_TRY(far_alloc(plan->ctx, threads * room, &rooms));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t t = 0; t < threads; t++) {
        double *own = rooms + t * room;
        row w = {.form = own, .next = own + plan->widest, .kept = own + 2 * plan->widest};
        for (int64_t o = t; o < l->step->out; o += threads) {
            far_range z = {-neuron_max(r, i, o, -1, &w), neuron_max(r, i, o, 1, &w)};
            l->box[o] = far_range_meet(l->box[o], z);
        }
    }
done:
    far_free(plan->ctx, rooms);
    return st;
}

static double work_of(const far_net_plan *plan, int64_t i)
{
    double sum = 0;
    for (int64_t k = 0; k <= i; k++) {
        const far_step *s = plan->layers[k].step;
        sum += s->kind == FAR_STEP_DENSE ? (double)s->in * (double)s->out : 0;
    }
    return 2 * sum * (double)plan->layers[i].step->out;
}

/* The boxes behind a narrowed one, by what stands in between. */
static void narrow_after(const far_net_plan *plan, int64_t i)
{
    far_proof_layer *l = &plan->layers[i];
    for (int64_t k = 0; l->step->kind == FAR_STEP_ACTIVATION && k < l->step->out; k++) {
        far_range z = far_activation_range(l->step, plan->layers[i - 1].box[k]);
        l->box[k] = far_range_meet(l->box[k], z);
    }
}

far_status far_net_relax(far_net_plan *plan)
{
    far_status st;
    relaxation r = {.plan = plan};
    FAR_TRY(far_alloc(plan->ctx, plan->count, &r.lines));
    for (int64_t i = 0; i < plan->count; i++) {
        const far_proof_layer *l = &plan->layers[i];
        if (i > 0) {
            narrow_after(plan, i);
        }
        FAR_TRY(set_lines(&r, i));
        bool dense = l->step->kind == FAR_STEP_DENSE && l->degree == 0;
        bool last = i == plan->count - 1;
        if ((dense || last) && (last || work_of(plan, i) < MOST_WORK)) {
            FAR_TRY(relax_layer(&r, i));
        }
        FAR_TRY(far_progress(plan->ctx, "bound", i, plan->count));
    }
done:
    lines_clear(&r);
    return st;
}
