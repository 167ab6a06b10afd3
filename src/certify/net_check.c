/* The check of a certificate against a network. */
#include "shape_certify.h"

#include <string.h>

/* ---- checking ------------------------------------------------------------------------------ */

typedef struct check {
    far_ctx *ctx;
    const far_net *net;
    far_net_plan *plan;
    far_certificate *own;    /* what we would state */
    far_proof_range *stated; /* of each output */
    const json_t *outputs;
    double seconds; /* of branch and bound */
} check;

static const json_t *output_at(const check *k, int64_t j)
{
    return json_array_get(k->outputs, (size_t)j);
}

/* ---- bounded ---- */

/* Whether what needs no search proves the stated range. */
static bool is_closed(const check *k, int64_t j)
{
    const far_bound *own = &k->own->bounds[j];
    return k->stated[j].lowest <= own->lowest && k->stated[j].highest >= own->highest;
}

/* The ends that are not proven yet; the others are open. */
static far_range open_ends(const check *k, int64_t j)
{
    const far_bound *own = &k->own->bounds[j];
    const far_proof_range *stated = &k->stated[j];
    return (far_range){stated->lowest > own->lowest ? stated->lowest : -INFINITY,
                       stated->highest < own->highest ? stated->highest : INFINITY};
}

/* A range that lies in its target was proven. */
static void take_range(far_range target, far_range proven, far_bound *own)
{
    if (proven.low >= target.low && proven.high <= target.high) {
        own->lowest = fmax(own->lowest, proven.low);
        own->highest = fmin(own->highest, proven.high);
        own->tightest = fmin(own->tightest, fmax(fabs(own->lowest), fabs(own->highest)));
    }
}

/* One search for all the ranges that need it; the others are proven already. */
static far_status prove_ranges(const check *k)
{
    far_status st;
    int64_t p = k->own->info.outputs, d = k->own->input_count;
    far_range *target = NULL;
    far_net_branch r = {0};
    bool needed = false;
    FAR_TRY(far_alloc(k->ctx, p, &target));
    FAR_TRY(far_alloc(k->ctx, p, &r.range));
    FAR_TRY(far_alloc(k->ctx, 2 * p, &r.found));
    FAR_TRY(far_alloc(k->ctx, 2 * p * (d + 1), &r.where));
    for (int64_t j = 0; j < p; j++) {
        r.found[2 * j] = INFINITY;
        r.found[2 * j + 1] = -INFINITY;
        target[j] = open_ends(k, j);
        needed |= !is_closed(k, j);
    }
    if (needed && far_net_branch_supported(k->plan)) {
        FAR_TRY(far_net_branch_run(k->plan, 1, target, k->seconds, &r));
        for (int64_t j = 0; j < p; j++) {
            take_range(target[j], r.range[j], &k->own->bounds[j]);
        }
    }
done:
    FAR_FREE_ALL(k->ctx, target, r.range, r.found, r.where);
    return st;
}

/* What branch and bound is said to prove is true where it is no less than what is proven. */
static far_status take_branch(const check *k, int64_t j)
{
    double stated;
    far_bound *own = &k->own->bounds[j];
    far_status st = far_proof_stated_bound(k->ctx, output_at(k, j), "branch and bound", &stated);
    bool known = stated >= own->tightest && far_net_branch_supported(k->plan);
    if (st == FAR_OK && known && isfinite(stated)) {
        own->proofs[FAR_BY_CELLS] = (far_proof){"branch and bound", stated};
    }
    return st;
}

/* The method is the one that we would name, or another that proves as much. */
static void take_method(const check *k, int64_t j)
{
    far_bound *own = &k->own->bounds[j];
    for (int i = 0; i < FAR_PROOFS; i++) {
        const far_proof *p = &own->proofs[i];
        bool proves = p->bound <= k->stated[j].tightest || i == FAR_BY_CELLS;
        if (proves && far_proof_says(output_at(k, j), "method", p->method)) {
            own->method = p->method;
        }
    }
}

static far_status take_found(const check *k, int64_t j)
{
    far_status st;
    far_bound *own = &k->own->bounds[j];
    double *at = k->own->vectors + j * k->own->input_count, value = NAN;
    const json_t *o = output_at(k, j);
    far_range range = {k->stated[j].lowest, k->stated[j].highest};
    far_net_value found;
    FAR_TRY(far_proof_stated_flag(k->ctx, o, "at_infinity", &own->at_infinity));
    if (own->at_infinity && k->plan->endless) {
        FAR_TRY(far_proof_malformed(k->ctx, "this network has no limits at infinity"));
    }
    if (!json_is_null(json_object_get(o, "at"))) {
        FAR_TRY(far_proof_vector(k->ctx, o, "at", k->own->input_count, own->at_infinity, at));
        FAR_TRY(far_net_found(k->plan, j, at, own->at_infinity, range, &found));
        value = found.value;
        FAR_TRY(far_proof_check_found(k->ctx, k->own->bounds[j].output, k->stated[j].found, value));
        own->at = at;
        own->sup_found = k->stated[j].found;
    }
    FAR_TRY(far_proof_check_range(k->ctx, k->own->bounds[j].output, k->stated[j], value));
done:
    return st;
}

/* What is stated is taken over where it holds; the comparison refuses the rest. */
static far_status complete_bounded(const check *k)
{
    far_status st = FAR_OK;
    for (int64_t j = 0; j < k->own->info.outputs; j++) {
        FAR_TRY(far_proof_stated_range(k->ctx, output_at(k, j), &k->stated[j]));
        FAR_TRY(take_found(k, j)); /* first: cheaper than proofs */
    }
    FAR_TRY(prove_ranges(k));
    for (int64_t j = 0; j < k->own->info.outputs; j++) {
        far_bound *own = &k->own->bounds[j];
        far_proof_range proven = {own->tightest, own->lowest, own->highest, own->sup_found};
        FAR_TRY(far_proof_check_proven(k->ctx, k->own->bounds[j].output, k->stated[j], proven));
        FAR_TRY(take_branch(k, j));
        take_method(k, j);
        own->tightest = k->stated[j].tightest;
    }
done:
    return st;
}

/* ---- running away ---- */

static far_status complete_unbounded(const check *k, int64_t j)
{
    far_status st;
    const json_t *w = json_object_get(output_at(k, j), "witness");
    double *direction = k->own->vectors + j * k->own->input_count, level;
    FAR_TRY(far_proof_vector(k->ctx, w, "direction", k->own->input_count, true, direction));
    FAR_TRY(far_proof_stated(k->ctx, w, "level", &level));
    if (level < 0 || isinf(level)) {
        FAR_TRY(far_proof_malformed(k->ctx, "a level is finite and 0 or more"));
    }
    FAR_TRY(far_net_witness_output(k->plan, level, j, direction, &k->own->bounds[j]));
done:
    return st;
}

static far_status complete(void *user, const json_t *outputs, far_certificate *own)
{
    check *k = user;
    far_status st = FAR_OK;
    k->outputs = outputs;
    if (!k->plan) {
        return far_shape_complete(k->ctx, k->net, outputs, own);
    }
    if (k->plan->degree == 0) {
        return complete_bounded(k);
    }
    for (int64_t j = 0; st == FAR_OK && j < own->info.outputs; j++) {
        if (far_proof_says(output_at(k, j), "verdict", "unbounded")) {
            st = complete_unbounded(k, j);
        }
    }
    return st;
}

static far_status certify_again(void *user, const far_certify_opts *opts, far_certificate **out)
{
    const check *k = user;
    far_certify_opts o = *opts;
    o.box_low = k->own->info.box_low;
    o.box_high = k->own->info.box_high;
    return far_net_certify(k->ctx, k->net, &o, out);
}

far_status far_net_certificate_check(far_ctx *ctx, const far_net *net, const char *json,
                                     double seconds)
{
    far_status st;
    check k = {.ctx = ctx, .seconds = seconds};
    far_certify_opts box;
    far_net *own = NULL;
    FAR_TRY(far_certificate_legible(ctx, json));
    FAR_TRY(far_net_plain(ctx, net, &own, &k.net));
    net = k.net;
    FAR_TRY(far_shape_stated_box(ctx, json, &box));
    if (far_net_shaped(net) || !isnan(box.box_low)) {
        FAR_TRY(far_net_certificate_blank(ctx, net, &k.own));
        k.own->info.box_low = box.box_low;
        k.own->info.box_high = box.box_high;
        FAR_TRY(far_shape_bounds(ctx, net, k.own));
    } else {
        FAR_TRY(far_net_closed_bounds(ctx, net, &k.plan, &k.own));
    }
    FAR_TRY(far_alloc(ctx, k.own->info.outputs, &k.stated));
    FAR_TRY(far_certificate_compare(ctx, json, (far_checker){&k, complete, certify_again}, k.own));
done:
    far_free(ctx, k.stated);
    far_net_plan_destroy(k.plan);
    far_certificate_destroy(k.own);
    far_net_destroy(own);
    return st;
}
