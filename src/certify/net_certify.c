/* The certificate of a finite network: the verdict from its degree, then bounds and search, or a
 * witness. */
#include "net_certify.h"

#include "../data/frame_internal.h"

#include <farfield/netdata.h>
#include <fenv.h>
#include <string.h>

#define SLOPE_ROUNDS 1e-9

/* ---- objects ------------------------------------------------------------------------------- */

void far_net_certificate_destroy(far_net_certificate *c)
{
    if (c) {
        far_ctx *ctx = c->ctx;
        far_free(ctx, c->bounds);
        far_free(ctx, c->vectors);
        far_texts_free(ctx, c->names, c->info.outputs);
        far_free(ctx, c->arch);
        for (int i = 0; i < FAR_VERDICTS; i++) {
            far_free(ctx, c->reasons[i]);
        }
        far_free(ctx, c);
    }
}

far_net_certificate_info far_net_certificate_describe(const far_net_certificate *c)
{
    return c->info;
}

const far_net_bound *far_net_certificate_bound(const far_net_certificate *c, int64_t output)
{
    return output >= 0 && output < c->info.outputs ? &c->bounds[output] : NULL;
}

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

/* The columns' names may be any bytes, JSON is UTF-8: what is not ASCII becomes a question mark. */
static far_status name_outputs(far_ctx *ctx, const far_net *net, far_net_certificate *c)
{
    far_status st;
    FAR_TRY(far_texts_alloc(ctx, net->info.outputs, &c->names));
    for (int64_t j = 0; j < net->info.outputs; j++) {
        far_text t = {.ctx = ctx};
        far_text_add(&t, "%s", far_columns_output(net->columns, j));
        c->names[j] = t.data;
        FAR_TRY(t.status);
        for (char *at = t.data; *at; at++) {
            *at = *at & '\x80' ? '?' : *at;
        }
    }
done:
    return st;
}

static const far_net_bound NOTHING_KNOWN = {.verdict = FAR_UNDECIDED,
                                            .norm_ball = INFINITY,
                                            .spectral = INFINITY,
                                            .relaxation = INFINITY,
                                            .branch = INFINITY,
                                            .tightest = INFINITY,
                                            .lowest = -INFINITY,
                                            .highest = INFINITY,
                                            .sup_found = NAN,
                                            .slope = NAN,
                                            .order = NAN,
                                            .intercept = NAN,
                                            .confirmed = NAN,
                                            .level = NAN,
                                            .beyond = NAN,
                                            .growth = INFINITY,
                                            .offset = INFINITY};

static far_status check_network(far_ctx *ctx, const far_net *net)
{
    if (net->start) {
        return far_fail(ctx, FAR_ERR_ARCH,
                        "no certificate for a linearised network: its Jacobian has no bound here; "
                        "train it without --linearized");
    }
    if (fegetround() != FE_TONEAREST) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "the processor does not round to nearest; set it back with fesetround");
    }
    return far_library_check(ctx);
}

far_status far_net_certificate_blank(far_ctx *ctx, const far_net *net, far_net_certificate **out)
{
    far_status st;
    far_net_certificate *c;
    int64_t p = net->info.outputs, d = net->info.inputs;
    FAR_TRY(check_network(ctx, net));
    FAR_TRY(far_alloc(ctx, 1, out));
    c = *out;
    *c = (far_net_certificate){.ctx = ctx, .inputs = d};
    c->info.outputs = p;
    c->info.hash = c->hash;
    FAR_TRY(far_alloc(ctx, p, &c->bounds));
    FAR_TRY(far_alloc(ctx, p * d, &c->vectors));
    FAR_TRY(far_copy_text(ctx, net->text, (int64_t)strlen(net->text), &c->arch));
    FAR_TRY(name_outputs(ctx, net, c));
    hash_network(net, c->hash);
    for (int64_t j = 0; j < p; j++) {
        c->bounds[j] = NOTHING_KNOWN;
    }
done:
    return st;
}

/* ---- bounds without search ----------------------------------------------------------------- */

static void narrow(far_range with, const char *method, double *own, far_net_bound *b)
{
    *own = far_range_size(with);
    b->lowest = fmax(b->lowest, with.low);
    b->highest = fmin(b->highest, with.high);
    double most = fmax(fabs(b->lowest), fabs(b->highest));
    if (most < b->tightest) {
        b->tightest = most;
        b->method = method;
    }
}

/* Raw inputs are standardised first: |z| <= |x| / least scale + |centre / scale|. */
static void set_growth(const far_net_plan *plan, int64_t j, far_net_bound *b)
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

far_status far_net_closed_bounds(far_net_plan *plan, far_net_certificate *c)
{
    far_status st;
    bool bounded = plan->degree == 0;
    int64_t p = c->info.outputs;
    FAR_TRY(far_net_boxes(plan, false));
    for (int64_t j = 0; bounded && j < p; j++) {
        narrow(far_net_output_box(plan, j), "norm ball", &c->bounds[j].norm_ball, &c->bounds[j]);
    }
    FAR_TRY(far_net_boxes(plan, true));
    FAR_TRY(far_net_set_reasons(plan));
    for (int64_t j = 0; j < p; j++) {
        far_net_bound *b = &c->bounds[j];
        b->verdict = bounded ? FAR_BOUNDED : FAR_UNDECIDED;
        b->theorem = far_net_theorem(plan, b->verdict);
        if (bounded) {
            narrow(far_net_output_box(plan, j), "spectral", &b->spectral, b);
        } else {
            set_growth(plan, j, b);
        }
    }
    if (bounded) {
        FAR_TRY(far_net_relax(plan));
    }
    for (int64_t j = 0; bounded && j < p; j++) {
        narrow(far_net_output_box(plan, j), "relaxation", &c->bounds[j].relaxation, &c->bounds[j]);
        if (!isfinite(c->bounds[j].tightest)) {
            FAR_TRY(far_fail(plan->ctx, FAR_ERR_VALUE,
                             "%s is bounded, but its bound is beyond the range of float64; its "
                             "weights are too large",
                             c->names[j]));
        }
    }
    c->info.verdict = bounded ? FAR_BOUNDED : FAR_UNDECIDED;
    c->info.norms = plan->norms;
    c->info.batch = plan->batch;
done:
    return st;
}

/* ---- how much of the bound is used --------------------------------------------------------- */

static far_status branch_all(const far_net_plan *plan, const far_certify_opts *o,
                             far_net_certificate *c, far_net_branch *r)
{
    if (!far_net_branch_supported(plan) || o->seconds == 0) {
        return FAR_OK;
    }
    far_status st = far_net_branch_run(plan, o->gap, NULL, o->seconds, r);
    for (int64_t j = 0; st == FAR_OK && j < c->info.outputs; j++) {
        far_net_bound *b = &c->bounds[j];
        narrow(r->range[j], "branch and bound", &b->branch, b);
    }
    c->info.cells = r->cells;
    c->info.finished = r->finished;
    return st;
}

static far_status search_all(const far_net_plan *plan, const far_certify_opts *o,
                             far_net_certificate *c)
{
    far_status st;
    int64_t p = c->info.outputs, d = c->inputs;
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
    far_free(plan->ctx, r.range);
    far_free(plan->ctx, r.found);
    far_free(plan->ctx, r.where);
    return st;
}

/* ---- running away -------------------------------------------------------------------------- */

far_status far_net_witness_output(const far_net_plan *plan, double level, int64_t j,
                                  const double *direction, far_net_bound *b)
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

static far_status witness_all(const far_net_plan *plan, const far_certify_opts *o,
                              far_net_certificate *c)
{
    far_status st;
    int64_t p = c->info.outputs, d = c->inputs;
    double *slope = NULL;
    FAR_TRY(far_alloc(plan->ctx, p, &slope));
    FAR_TRY(far_net_climb_rays(plan, o, slope, c->vectors));
    c->info.verdict = FAR_UNDECIDED;
    for (int64_t j = 0; j < p; j++) {
        far_net_bound *b = &c->bounds[j];
        if (slope[j] > 0) {
            FAR_TRY(far_net_witness_output(plan, o->exceeds, j, c->vectors + j * d, b));
            c->info.verdict = b->verdict == FAR_UNBOUNDED ? FAR_UNBOUNDED : c->info.verdict;
        }
    }
done:
    far_free(plan->ctx, slope);
    return st;
}

/* ---- the whole ----------------------------------------------------------------------------- */

/* Every certificate passes here before anyone sees it. */
static far_status complete(const far_net_plan *plan, const far_net_certificate *c)
{
    far_status st = FAR_OK;
    for (int64_t j = 0; st == FAR_OK && j < c->info.outputs; j++) {
        const far_net_bound *b = &c->bounds[j];
        bool away = b->verdict == FAR_UNBOUNDED; /* its slope has a rounding or two in it */
        double found = away ? fabs(b->slope) * (1 - SLOPE_ROUNDS) : b->sup_found;
        st = far_proof_consistent(plan->ctx, c->names[j], found, away ? b->growth : b->tightest);
        if (st == FAR_OK) {
            st = far_proof_consistent(plan->ctx, c->names[j], b->lowest, b->highest);
        }
    }
    return st;
}

static far_status certify(far_ctx *ctx, const far_net *net, const far_certify_opts *o,
                          far_net_certificate *c)
{
    far_status st;
    far_net_plan *plan = NULL;
    double start = far_seconds();
    c->info.gap = o->gap;
    FAR_TRY(far_net_plan_create(ctx, net, &plan));
    FAR_TRY(far_net_closed_bounds(plan, c));
    FAR_TRY(plan->degree == 0 ? search_all(plan, o, c) : witness_all(plan, o, c));
    FAR_TRY(complete(plan, c));
    c->info.seconds = far_seconds() - start;
    memcpy(c->reasons, plan->reasons, sizeof c->reasons); /* which bounds point to */
    memset(plan->reasons, 0, sizeof plan->reasons);
done:
    far_net_plan_destroy(plan);
    return st;
}

static far_status check_opts(far_ctx *ctx, const far_net *net, const far_certify_opts *o)
{
    if (!net || !o || o->size != sizeof *o) {
        return far_fail(ctx, FAR_ERR_ARG, "the network is NULL or opts not initialised");
    }
    if (o->starts < 1 || !(o->gap > 0) || !(o->seconds >= 0) || o->exceeds < 0 ||
        isinf(o->exceeds)) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "starts, gap and seconds must be above 0, the level to exceed finite and "
                        "0 or more");
    }
    return FAR_OK;
}

far_status far_net_certify(far_ctx *ctx, const far_net *net, const far_certify_opts *opts,
                           far_net_certificate **out)
{
    far_status st;
    far_net_certificate *c = NULL;
    if (!out) {
        return far_fail(ctx, FAR_ERR_ARG, "out is NULL");
    }
    *out = NULL;
    FAR_TRY(check_opts(ctx, net, opts));
    FAR_TRY(far_net_certificate_blank(ctx, net, &c));
    FAR_TRY(certify(ctx, net, opts, c));
    *out = c;
    c = NULL;
done:
    far_net_certificate_destroy(c);
    return st;
}
