/* The certificate of a finite network: the verdict from its degree, then bounds and search, or a
 * witness. */
#include "shape_certify.h"

#include "../data/frame_internal.h"

#include <fenv.h>
#include <string.h>

/* ---- what is certified --------------------------------------------------------------------- */

static void hash_network(const far_net *net, char out[65])
{
    far_sha256 h;
    far_sha256_init(&h);
    far_sha256_add(&h, net->text, strlen(net->text) + 1);
    for (int64_t i = 0; i < net->step_count; i++) { /* the parametrisation shows in these */
        double scales[] = {net->steps[i].weight_scale, net->steps[i].bias_scale,
                           net->steps[i].gain};
        far_sha256_add(&h, scales, sizeof scales);
    }
    far_sha256_add(&h, net->params, (size_t)net->info.parameters * sizeof *net->params);
    far_sha256_add(&h, net->statistics, (size_t)net->statistic_count * sizeof *net->statistics);
    far_sha256_add(&h, net->columns->scaling,
                   (size_t)far_scaling_count(net->columns) * sizeof *net->columns->scaling);
    far_sha256_finish(&h, out);
}

static far_status check_network(far_ctx *ctx, const far_net *net)
{
    if (net->start) {
        return far_fail(ctx, FAR_ERR_ARCH,
                        "no certificate for a linearised network: its Jacobian has no bound here; "
                        "train it without `linearized`");
    }
    if (fegetround() != FE_TONEAREST) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "the processor does not round to nearest; set it back with fesetround");
    }
    for (int64_t i = 0; i < net->info.parameters; i++) {
        if (!isfinite(net->params[i])) {
            return far_fail(ctx, FAR_ERR_VALUE, "parameter %lld is not finite", (long long)i + 1);
        }
    }
    for (int64_t i = 0; i < net->statistic_count; i++) {
        if (!isfinite(net->statistics[i])) {
            return far_fail(ctx, FAR_ERR_VALUE, "running statistic %lld is not finite",
                            (long long)i + 1);
        }
    }
    return far_library_check(ctx);
}

/* ---- bounds without search ----------------------------------------------------------------- */

static void narrow(int by, far_range with, far_bound *b)
{
    static const char *const METHODS[] = {"norm ball", "spectral", "relaxation",
                                          "branch and bound"};
    b->proofs[by] = (far_proof){METHODS[by], far_range_size(with)};
    b->lowest = fmax(b->lowest, with.low);
    b->highest = fmin(b->highest, with.high);
    double most = fmax(fabs(b->lowest), fabs(b->highest));
    if (most < b->tightest) {
        b->tightest = most;
        b->method = METHODS[by];
    }
}

/* Raw inputs are standardised first: |z| <= |x| / least scale + |centre / scale|. */
static void set_growth(const far_net_plan *plan, int64_t j, far_bound *b)
{
    const far_proof_layer *last = &plan->layers[plan->count - 1];
    double least = INFINITY, square = 0;
    for (int64_t i = 0; i < plan->net->info.inputs; i++) {
        double z = plan->input_centre[i] / plan->input_scale[i];
        least = fmin(least, plan->input_scale[i]);
        square += z * z;
    }
    double shift = sqrt(square) * (1 + far_lost(plan->net->info.inputs)) + FAR_SPECK;
    double reach = far_up(far_up(last->growth * shift) + last->radius);
    b->growth = far_up(far_up(plan->scale[j] * last->growth) / least);
    b->offset = far_up(fabs(plan->centre[j]) + far_up(plan->scale[j] * reach));
}

/* Of a network of degree 0: every method without search, cheapest first. */
static far_status bound_all(far_net_plan *plan, far_certificate *c)
{
    far_status st;
    int64_t p = c->info.outputs;
    FAR_TRY(far_net_boxes(plan, false));
    for (int64_t j = 0; j < p; j++) {
        narrow(FAR_BY_BALL, far_net_output_box(plan, j), &c->bounds[j]);
    }
    FAR_TRY(far_net_boxes(plan, true));
    for (int64_t j = 0; j < p; j++) {
        narrow(FAR_BY_SPECTRAL, far_net_output_box(plan, j), &c->bounds[j]);
    }
    FAR_TRY(far_net_relax(plan));
    for (int64_t j = 0; j < p; j++) {
        narrow(FAR_BY_RELAXATION, far_net_output_box(plan, j), &c->bounds[j]);
        if (!isfinite(c->bounds[j].tightest)) {
            FAR_TRY(far_fail(plan->ctx, FAR_ERR_VALUE,
                             "%s is bounded, but its bound is beyond the range of float64; its "
                             "weights are too large",
                             c->bounds[j].output));
        }
    }
done:
    return st;
}

static far_status grow_all(far_net_plan *plan, far_certificate *c)
{
    far_status st;
    FAR_TRY(far_net_boxes(plan, false));
    FAR_TRY(far_net_boxes(plan, true));
    for (int64_t j = 0; j < c->info.outputs; j++) {
        set_growth(plan, j, &c->bounds[j]);
    }
done:
    return st;
}

far_status far_net_certificate_blank(far_ctx *ctx, const far_net *net, far_certificate **out)
{
    far_status st = check_network(ctx, net);
    st = st == FAR_OK ? far_certificate_blank(ctx, "finite", net->text, net->columns, out) : st;
    if (st == FAR_OK) {
        hash_network(net, (*out)->hash);
    }
    return st;
}

far_status far_net_closed_bounds(far_ctx *ctx, const far_net *net, far_net_plan **plan,
                                 far_certificate **out)
{
    far_status st;
    FAR_TRY(far_net_certificate_blank(ctx, net, out));
    FAR_TRY(far_net_plan_create(ctx, net, plan));
    far_certificate *c = *out;
    bool bounded = (*plan)->degree == 0;
    FAR_TRY(bounded ? bound_all(*plan, c) : grow_all(*plan, c));
    FAR_TRY(far_net_set_reasons(*plan));
    for (int64_t j = 0; j < c->info.outputs; j++) {
        c->bounds[j].verdict = bounded ? FAR_BOUNDED : FAR_UNDECIDED;
        c->bounds[j].theorem = far_net_theorem(*plan, c->bounds[j].verdict);
    }
    c->info.verdict = far_certificate_worst(c);
    c->info.norms = (*plan)->norms;
    c->info.batch = (*plan)->batch;
done:
    return st;
}

/* ---- how much of the bound is used --------------------------------------------------------- */

static far_status branch_all(const far_net_plan *plan, const far_certify_opts *o,
                             far_certificate *c, far_net_branch *r)
{
    if (!far_net_branch_supported(plan) || o->seconds == 0) {
        return FAR_OK;
    }
    far_status st = far_net_branch_run(plan, o->gap, NULL, o->seconds, r);
    for (int64_t j = 0; st == FAR_OK && j < c->info.outputs; j++) {
        narrow(FAR_BY_CELLS, r->range[j], &c->bounds[j]);
    }
    c->info.cells = r->cells;
    c->info.finished = r->finished;
    return st;
}

static far_status search_all(const far_net_plan *plan, const far_certify_opts *o,
                             far_certificate *c)
{
    far_status st;
    int64_t p = c->info.outputs, d = c->input_count;
    far_net_branch r = {0};
    FAR_TRY(far_alloc(plan->ctx, p, &r.range));
    FAR_TRY(far_alloc(plan->ctx, 2 * p, &r.found));
    FAR_TRY(far_alloc(plan->ctx, 2 * p * (d + 1), &r.where));
    FAR_TRY(far_net_climb(plan, o, r.found, r.where));
    FAR_TRY(branch_all(plan, o, c, &r));
    for (int64_t j = 0; j < p; j++) {
        FAR_TRY(far_net_place_found(plan, j, &r, c->vectors + j * d, &c->bounds[j]));
    }
done:
    FAR_FREE_ALL(plan->ctx, r.range, r.found, r.where);
    return st;
}

/* ---- running away -------------------------------------------------------------------------- */

far_status far_net_witness_output(const far_net_plan *plan, double level, int64_t j,
                                  const double *direction, far_bound *b)
{
    b->direction = direction;
    b->level = level;
    far_status st = far_net_witness_measure(plan, j, b);
    if (st == FAR_OK && b->slope != 0 && fabs(b->confirmed - 1) < 0.01) {
        b->verdict = FAR_UNBOUNDED;
        b->theorem = far_net_theorem(plan, FAR_UNBOUNDED);
    }
    return st;
}

/* Directions for the outputs that have none yet. */
static far_status look_for_directions(const far_net_plan *plan, const far_certify_opts *o,
                                      bool rows, far_certificate *c)
{
    far_status st;
    int64_t p = c->info.outputs, d = c->input_count;
    double *slope = NULL, *found = NULL;
    FAR_TRY(far_alloc(plan->ctx, p, &slope));
    FAR_TRY(far_alloc(plan->ctx, p * d, &found));
    FAR_TRY(far_net_climb_rays(plan, o, rows, slope, found));
    for (int64_t j = 0; j < p; j++) {
        double *vector = c->vectors + j * d;
        if (slope[j] > 0 && c->bounds[j].verdict == FAR_UNDECIDED) {
            memcpy(vector, found + j * d, (size_t)d * sizeof *vector);
            FAR_TRY(far_net_witness_output(plan, o->exceeds, j, vector, &c->bounds[j]));
        }
    }
done:
    far_free(plan->ctx, slope);
    far_free(plan->ctx, found);
    return st;
}

/* Along rows of a table if there is such a direction; else categories and ranks count as real
 * numbers. */
static far_status witness_all(const far_net_plan *plan, const far_certify_opts *o,
                              far_certificate *c)
{
    far_status st = FAR_OK;
    int64_t still = far_columns_still(plan->net->columns), open = 0;
    if (still > 0 && still < c->input_count) {
        st = look_for_directions(plan, o, true, c);
    }
    for (int64_t j = 0; j < c->info.outputs; j++) {
        open += c->bounds[j].verdict == FAR_UNDECIDED;
    }
    return st == FAR_OK && open > 0 ? look_for_directions(plan, o, false, c) : st;
}

/* ---- the whole ----------------------------------------------------------------------------- */

/* Images and sequences; a box. */
static far_status certify_shaped(far_ctx *ctx, const far_net *net, const far_certify_opts *o,
                                 far_certificate **out)
{
    far_status st;
    double start = far_seconds();
    FAR_TRY(far_net_certificate_blank(ctx, net, out));
    FAR_TRY(far_shape_certify(ctx, net, o, *out));
    (*out)->info.gap = o->gap;
    (*out)->info.seconds = far_seconds() - start;
done:
    return st;
}

static far_status certify_plain(far_ctx *ctx, const far_net *net, const far_certify_opts *o,
                                far_certificate **out)
{
    far_status st;
    far_net_plan *plan = NULL;
    double start = far_seconds();
    FAR_TRY(far_net_closed_bounds(ctx, net, &plan, out));
    far_certificate *c = *out;
    c->info.gap = o->gap;
    FAR_TRY(plan->degree == 0 ? search_all(plan, o, c) : witness_all(plan, o, c));
    c->info.verdict = far_certificate_worst(c);
    c->info.seconds = far_seconds() - start;
    memcpy(c->reasons, plan->reasons, sizeof c->reasons); /* which bounds point to */
    memset(plan->reasons, 0, sizeof plan->reasons);
done:
    far_net_plan_destroy(plan);
    return st;
}

static far_status certify(far_ctx *ctx, const void *net, const far_certify_opts *o,
                          far_certificate **out)
{
    bool walks = far_net_shaped(net) || !isnan(o->box_low);
    return (walks ? certify_shaped : certify_plain)(ctx, net, o, out);
}

/* A network with lora is certified, and hashed, as the one it is merged into: its weights are then
 * off by a rounding, as those of any layer here may be (far_lost). */
far_status far_net_certify(far_ctx *ctx, const far_net *net, const far_certify_opts *opts,
                           far_certificate **out)
{
    const far_net *plain = NULL;
    far_net *own = NULL;
    far_status st = net ? far_net_plain(ctx, net, &own, &plain) : FAR_OK;
    st = st == FAR_OK ? far_certificate_make(ctx, "network", plain, certify, opts, out) : st;
    far_net_destroy(own);
    return st;
}
