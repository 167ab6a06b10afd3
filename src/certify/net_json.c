/* A network's certificate as text, and the check of such a text against a network. */
#include "certify_internal.h"
#include "net_certify.h"
#include "proof_json.h"

#include <string.h>

#define FORMAT "farfield network certificate"

enum { CLOSED = 3, METHODS = 4 };
static const char *const KEYS[METHODS] = {"norm_ball", "spectral", "relaxation", "branch"};
static const char *const NAMES[METHODS] = {"norm ball", "spectral", "relaxation",
                                           "branch and bound"};

static double method_bound(const far_net_bound *b, int i)
{
    const double bounds[METHODS] = {b->norm_ball, b->spectral, b->relaxation, b->branch};
    return bounds[i];
}

/* ---- writing ------------------------------------------------------------------------------- */

static void put_bound(far_proof_out *w, json_t *o, const far_net_certificate *c, int64_t j)
{
    const far_net_bound *b = &c->bounds[j];
    bool runs = b->verdict == FAR_UNBOUNDED;
    far_proof_put_word(w, o, "output", c->names[j]);
    far_proof_put_word(w, o, "verdict", far_verdict_text(b->verdict));
    far_proof_put_word(w, o, "theorem", b->theorem);
    for (int i = 0; i < METHODS; i++) {
        far_proof_put_above(w, o, KEYS[i], method_bound(b, i), method_bound(b, i));
    }
    far_proof_put_word(w, o, "method", b->method);
    far_proof_put_range(w, o, (far_proof_range){b->tightest, b->lowest, b->highest, b->sup_found});
    far_json_put(&w->json, o, "at", far_json_reals(&w->json, b->at, c->inputs));
    far_json_put(&w->json, o, "at_infinity", json_boolean(b->at_infinity));
    far_proof_put_above(w, o, "growth", b->growth, b->growth);
    far_proof_put_above(w, o, "offset", b->offset, b->offset);
    far_proof_put_witness(w, o,
                          (far_proof_witness){runs ? b->direction : NULL, b->slope, b->order,
                                              b->intercept, b->confirmed, b->level, b->beyond},
                          c->inputs);
}

/* The output that decides: unbounded, then undecided, then the largest bound. */
static int64_t worst_output(const far_net_certificate *c)
{
    int64_t worst = 0;
    for (int64_t j = 1; j < c->info.outputs; j++) {
        const far_net_bound *b = &c->bounds[j], *other = &c->bounds[worst];
        int own = far_verdict_badness(b->verdict), most = far_verdict_badness(other->verdict);
        if (own > most || (own == most && b->tightest > other->tightest)) {
            worst = j;
        }
    }
    return worst;
}

/* Of the run that made it. */
static json_t *unchecked(far_proof_out *w, const far_net_certificate *c)
{
    json_t *o = json_object();
    far_proof_put(w, o, "gap", c->info.gap);
    far_json_put(&w->json, o, "cells", json_integer(c->info.cells));
    far_json_put(&w->json, o, "finished", json_boolean(c->info.finished));
    far_proof_put(w, o, "seconds", c->info.seconds);
    return o;
}

static json_t *certificate(far_proof_out *w, const far_net_certificate *c)
{
    far_json_out *j = &w->json;
    json_t *o = json_object(), *outputs = json_array();
    far_proof_put_word(w, o, "format", FORMAT);
    far_json_put(j, o, "version", json_integer(FAR_PROOF_VERSION));
    far_proof_put_word(w, o, "arch", c->arch);
    far_proof_put_word(w, o, "hash", c->hash);
    far_json_put(j, o, "inputs", json_integer(c->inputs));
    put_bound(w, o, c, worst_output(c));
    far_json_put(j, o, "norms", json_boolean(c->info.norms));
    far_json_put(j, o, "batch_norm", json_boolean(c->info.batch));
    far_proof_put_word(w, o, "rounding", "outward");
    far_json_put(j, o, "unchecked", unchecked(w, c));
    for (int64_t k = 0; k < c->info.outputs; k++) {
        json_t *one = json_object();
        put_bound(w, one, c, k);
        far_json_append(j, outputs, one);
    }
    far_json_put(j, o, "outputs", outputs);
    return o;
}

far_status far_net_certificate_json(far_ctx *ctx, const far_net_certificate *c, char **out)
{
    if (!c || !out) {
        return far_fail(ctx, FAR_ERR_ARG, "the certificate or out is NULL");
    }
    far_proof_out w = {.json = {.ctx = ctx}, .room = FAR_PROOF_ROOM};
    return far_proof_write(&w, certificate(&w, c), out);
}

/* ---- checking ------------------------------------------------------------------------------ */

typedef struct check {
    far_ctx *ctx;
    far_net_plan *plan;
    far_net_certificate *own; /* what we would state */
    far_proof_range *stated;  /* of each output */
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
    const far_net_bound *own = &k->own->bounds[j];
    return k->stated[j].lowest <= own->lowest && k->stated[j].highest >= own->highest;
}

/* The ends that are not proven yet; the others are open. */
static far_range open_ends(const check *k, int64_t j)
{
    const far_net_bound *own = &k->own->bounds[j];
    const far_proof_range *stated = &k->stated[j];
    return (far_range){stated->lowest > own->lowest ? stated->lowest : -INFINITY,
                       stated->highest < own->highest ? stated->highest : INFINITY};
}

/* A range that lies in its target was proven. */
static void take_range(far_range target, far_range proven, far_net_bound *own)
{
    if (proven.low >= target.low && proven.high <= target.high) {
        own->lowest = fmax(own->lowest, proven.low);
        own->highest = fmin(own->highest, proven.high);
        own->branch = fmax(fabs(own->lowest), fabs(own->highest));
        own->tightest = fmin(own->tightest, own->branch);
    }
}

/* One search for all the ranges that need it; the others are proven already. */
static far_status prove_ranges(const check *k)
{
    far_status st;
    int64_t p = k->own->info.outputs, d = k->own->inputs;
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
    far_free(k->ctx, target);
    far_free(k->ctx, r.range);
    far_free(k->ctx, r.found);
    far_free(k->ctx, r.where);
    return st;
}

/* What branch and bound is said to prove is no news where it is no less than what is proven
 * without; its name stands beside a bound of its own. */
static far_status take_branch(const check *k, int64_t j)
{
    double stated;
    far_net_bound *own = &k->own->bounds[j];
    far_status st = far_proof_stated(k->ctx, output_at(k, j), "branch", &stated);
    bool known = stated >= own->tightest && far_net_branch_supported(k->plan);
    own->branch = known || stated == INFINITY ? stated : own->branch;
    if (stated == INFINITY && !is_closed(k, j)) {
        return far_proof_disagrees(k->ctx, k->own->names[j], "the tightest bound",
                                   k->stated[j].tightest, INFINITY);
    }
    return st;
}

/* The method is the one that we would name, or another that proves as much. */
static void take_method(const check *k, int64_t j)
{
    far_net_bound *own = &k->own->bounds[j];
    for (int i = 0; i < METHODS; i++) {
        bool proves =
            i < CLOSED ? method_bound(own, i) <= k->stated[j].tightest : isfinite(own->branch);
        if (proves && far_proof_says(output_at(k, j), "method", NAMES[i])) {
            own->method = NAMES[i];
        }
    }
}

static far_status take_found(const check *k, int64_t j)
{
    far_status st;
    far_net_bound *own = &k->own->bounds[j];
    double *at = k->own->vectors + j * k->own->inputs, value = NAN;
    const json_t *o = output_at(k, j);
    far_range range = {k->stated[j].lowest, k->stated[j].highest};
    far_net_value found;
    FAR_TRY(far_proof_stated_flag(k->ctx, o, "at_infinity", &own->at_infinity));
    if (own->at_infinity && k->plan->endless) {
        FAR_TRY(far_proof_malformed(k->ctx, "this network has no limits at infinity"));
    }
    if (!json_is_null(json_object_get(o, "at"))) {
        FAR_TRY(far_proof_vector(k->ctx, o, "at", k->own->inputs, own->at_infinity, at));
        FAR_TRY(far_net_found(k->plan, j, at, own->at_infinity, range, &found));
        value = found.value;
        FAR_TRY(far_proof_check_found(k->ctx, k->own->names[j], k->stated[j].found, value));
        own->at = at;
        own->sup_found = k->stated[j].found;
    }
    FAR_TRY(far_proof_check_range(k->ctx, k->own->names[j], k->stated[j], value));
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
    for (int64_t j = 0; j < k->own->info.outputs; j++) {
        FAR_TRY(take_branch(k, j));
    }
    FAR_TRY(prove_ranges(k));
    for (int64_t j = 0; j < k->own->info.outputs; j++) {
        far_net_bound *own = &k->own->bounds[j];
        far_proof_range proven = {own->tightest, own->lowest, own->highest, own->sup_found};
        FAR_TRY(far_proof_check_proven(k->ctx, k->own->names[j], k->stated[j], proven));
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
    double *direction = k->own->vectors + j * k->own->inputs, level;
    FAR_TRY(far_proof_vector(k->ctx, w, "direction", k->own->inputs, true, direction));
    FAR_TRY(far_proof_stated(k->ctx, w, "level", &level));
    if (level < 0 || isinf(level)) {
        FAR_TRY(far_proof_malformed(k->ctx, "a level is finite and 0 or more"));
    }
    FAR_TRY(far_net_witness_output(k->plan, level, j, direction, &k->own->bounds[j]));
done:
    return st;
}

static far_status complete(const check *k)
{
    far_status st = FAR_OK;
    if (k->plan->degree == 0) {
        return complete_bounded(k);
    }
    for (int64_t j = 0; st == FAR_OK && j < k->own->info.outputs; j++) {
        if (far_proof_says(output_at(k, j), "verdict", "unbounded")) {
            st = complete_unbounded(k, j);
        }
    }
    return st;
}

/* ---- the whole ---- */

static far_status check_network(const check *k, const json_t *o)
{
    bool arch = far_proof_says(o, "arch", k->own->arch);
    if (!arch || !far_proof_says(o, "hash", k->own->hash)) {
        return far_fail(k->ctx, FAR_ERR_FORMAT, "the certificate is of another network (%s)",
                        arch ? "other weights" : "another architecture");
    }
    return FAR_OK;
}

static far_status check_all(check *k, const json_t *o)
{
    far_status st;
    far_proof_out w = {.json = {.ctx = k->ctx}};
    json_t *expected = NULL;
    FAR_TRY(far_proof_check_format(k->ctx, o, FORMAT));
    FAR_TRY(check_network(k, o));
    FAR_TRY(far_proof_outputs(k->ctx, o, k->own->info.outputs, &k->outputs));
    FAR_TRY(complete(k));
    expected = certificate(&w, k->own);
    FAR_TRY(w.json.failed || !expected ? far_fail(k->ctx, FAR_ERR_MEMORY, "out of memory")
                                       : FAR_OK);
    FAR_TRY(far_proof_compare(k->ctx, o, expected, worst_output(k->own)));
done:
    json_decref(expected);
    return st;
}

far_status far_net_certificate_check_within(far_ctx *ctx, const far_net *net, const char *json,
                                            double seconds)
{
    far_status st;
    check k = {.ctx = ctx, .seconds = seconds};
    json_t *o = NULL;
    FAR_TRY(far_proof_parse(ctx, json, &o));
    FAR_TRY(far_net_certificate_blank(ctx, net, &k.own));
    FAR_TRY(far_net_plan_create(ctx, net, &k.plan));
    FAR_TRY(far_net_closed_bounds(k.plan, k.own));
    FAR_TRY(far_alloc(ctx, k.own->info.outputs, &k.stated));
    FAR_TRY(check_all(&k, o));
done:
    far_free(ctx, k.stated);
    far_net_plan_destroy(k.plan);
    far_net_certificate_destroy(k.own);
    json_decref(o);
    return st;
}

far_status far_net_certificate_check(far_ctx *ctx, const far_net *net, const char *json)
{
    if (!net || !json) {
        return far_fail(ctx, FAR_ERR_ARG, "the network or the certificate is NULL");
    }
    return far_net_certificate_check_within(ctx, net, json, FAR_PROOF_CHECK_SECONDS);
}
