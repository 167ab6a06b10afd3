/* A network's certificate as text, and the check of such a text against a network. */
#include "net_certify.h"
#include "proof_json.h"

#include <farfield/netdata.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT "farfield network certificate"
#define VERSION 1

static const char *const METHODS[] = {"norm_ball", "spectral", "relaxation", "branch"};
enum { METHOD_COUNT = 4 };

static double method_bound(const far_net_bound *b, int i)
{
    const double bounds[METHOD_COUNT] = {b->norm_ball, b->spectral, b->relaxation, b->branch};
    return bounds[i];
}

static const char *verdict_name(int32_t verdict)
{
    return verdict == FAR_BOUNDED     ? "bounded"
           : verdict == FAR_UNBOUNDED ? "unbounded"
                                      : "undecided";
}

/* ---- writing ------------------------------------------------------------------------------- */

static json_t *text_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

static json_t *witness(const far_net_bound *b, int64_t d)
{
    if (b->verdict != FAR_UNBOUNDED) {
        return json_null();
    }
    json_t *w = json_object();
    json_object_set_new(w, "direction", far_proof_numbers(b->direction, d));
    json_object_set_new(w, "slope", far_proof_number(b->slope));
    json_object_set_new(w, "order", far_proof_number(b->order));
    json_object_set_new(w, "intercept", far_proof_number(b->intercept));
    json_object_set_new(w, "confirmed", far_proof_number(b->confirmed));
    json_object_set_new(w, "level", far_proof_number(b->level));
    json_object_set_new(w, "beyond", far_proof_number(b->beyond));
    return w;
}

static void put_bound(json_t *o, const far_net_certificate *c, int64_t j)
{
    const far_net_bound *b = &c->bounds[j];
    bool found = b->sup_found > 0;
    json_object_set_new(o, "output", json_string(c->names[j]));
    json_object_set_new(o, "verdict", json_string(verdict_name(b->verdict)));
    json_object_set_new(o, "theorem", json_string(b->theorem));
    for (int i = 0; i < METHOD_COUNT; i++) {
        json_object_set_new(o, METHODS[i], far_proof_number(method_bound(b, i)));
    }
    json_object_set_new(o, "tightest", far_proof_number(b->tightest));
    json_object_set_new(o, "method", text_or_null(b->method));
    json_object_set_new(o, "lowest", far_proof_number(b->lowest));
    json_object_set_new(o, "highest", far_proof_number(b->highest));
    json_object_set_new(o, "sup_found", far_proof_number(b->sup_found));
    json_object_set_new(o, "ratio",
                        found ? far_proof_number(b->tightest / b->sup_found) : json_null());
    json_object_set_new(o, "at", far_proof_numbers(b->at, c->inputs));
    json_object_set_new(o, "at_infinity", json_boolean(b->at_infinity));
    json_object_set_new(o, "growth", far_proof_number(b->growth));
    json_object_set_new(o, "offset", far_proof_number(b->offset));
    json_object_set_new(o, "witness", witness(b, c->inputs));
}

/* The output that decides: unbounded, then undecided, then the largest bound. */
static int badness(int32_t verdict)
{
    return verdict == FAR_UNBOUNDED ? 2 : verdict == FAR_UNDECIDED ? 1 : 0;
}

static int64_t worst_output(const far_net_certificate *c)
{
    int64_t worst = 0;
    for (int64_t j = 1; j < c->info.outputs; j++) {
        int a = badness(c->bounds[j].verdict), b = badness(c->bounds[worst].verdict);
        if (a > b || (a == b && c->bounds[j].tightest > c->bounds[worst].tightest)) {
            worst = j;
        }
    }
    return worst;
}

static json_t *certificate(const far_net_certificate *c)
{
    json_t *o = json_object(), *outputs = json_array();
    json_object_set_new(o, "format", json_string(FORMAT));
    json_object_set_new(o, "version", json_integer(VERSION));
    json_object_set_new(o, "arch", json_string(c->arch));
    json_object_set_new(o, "hash", json_string(c->hash));
    json_object_set_new(o, "inputs", json_integer(c->inputs));
    put_bound(o, c, worst_output(c));
    json_object_set_new(o, "norms", json_boolean(c->info.norms));
    json_object_set_new(o, "batch_norm", json_boolean(c->info.batch));
    json_object_set_new(o, "rounding", json_string("outward"));
    json_object_set_new(o, "gap", far_proof_number(c->info.gap));
    json_object_set_new(o, "cells", json_integer(c->info.cells));
    json_object_set_new(o, "finished", json_boolean(c->info.finished));
    json_object_set_new(o, "seconds", far_proof_number(c->info.seconds));
    for (int64_t j = 0; j < c->info.outputs; j++) {
        json_t *one = json_object();
        put_bound(one, c, j);
        json_array_append_new(outputs, one);
    }
    json_object_set_new(o, "outputs", outputs);
    return o;
}

far_status far_net_certificate_json(far_ctx *ctx, const far_net_certificate *c, char **out)
{
    if (!c || !out) {
        return far_fail(ctx, FAR_ERR_ARG, "the certificate or out is NULL");
    }
    *out = NULL;
    return far_proof_write(ctx, certificate(c), out);
}

/* ---- checking ------------------------------------------------------------------------------ */

typedef struct check {
    far_ctx *ctx;
    const far_net *net;
    far_net_plan *plan;
    far_net_certificate *own; /* recomputed */
    far_range *stated;        /* of each output: between these f is said to lie, with some slack */
} check;

/* A bound may be stated larger than it is. */
static far_status check_at_least(const check *k, const json_t *o, int64_t j, const char *key,
                                 double own)
{
    double stated;
    far_status st = far_proof_stated(k->ctx, o, key, &stated);
    bool holds = st == FAR_OK && stated >= own - FAR_PROOF_AGREES * fabs(own);
    return st != FAR_OK || holds ? st
                                 : far_proof_disagrees(k->ctx, k->own->names[j], key, stated, own);
}

/* |f| at the stated point is what is stated, and lies in the stated range. */
static far_status check_found(const check *k, const json_t *o, int64_t j, double tightest)
{
    far_status st;
    double *raw = k->own->vectors + j * k->own->inputs, value;
    far_net_value found = {0};
    const json_t *infinite = json_object_get(o, "at_infinity");
    if (!json_is_boolean(infinite)) {
        return far_proof_malformed(k->ctx, "at_infinity is neither true nor false");
    }
    if (json_is_true(infinite) && k->plan->endless) {
        return far_proof_malformed(k->ctx, "this network has no limits at infinity");
    }
    if (json_is_null(json_object_get(o, "at"))) {
        return far_proof_check(k->ctx, o, k->own->names[j], "sup_found", NAN);
    }
    FAR_TRY(far_proof_vector(k->ctx, json_object_get(o, "at"), k->own->inputs,
                             json_is_true(infinite), raw));
    FAR_TRY(far_net_found(k->plan, j, raw, json_is_true(infinite), k->stated[j], &found));
    value = found.value;
    FAR_TRY(far_proof_check(k->ctx, o, k->own->names[j], "sup_found", fabs(value)));
    if (!found.possible && value < k->stated[j].low) {
        FAR_TRY(far_proof_disagrees(k->ctx, k->own->names[j], "lowest", k->stated[j].low, value));
    }
    if (!found.possible && value > k->stated[j].high) {
        FAR_TRY(far_proof_disagrees(k->ctx, k->own->names[j], "highest", k->stated[j].high, value));
    }
    if (value != 0) {
        FAR_TRY(far_proof_check(k->ctx, o, k->own->names[j], "ratio", tightest / fabs(value)));
    }
done:
    return st;
}

/* Reads what is claimed; whether it can be proven comes later, for all outputs together. */
static far_status check_bounded(const check *k, const json_t *o, int64_t j)
{
    far_status st;
    double low, high, tightest;
    FAR_TRY(far_proof_stated(k->ctx, o, "lowest", &low));
    FAR_TRY(far_proof_stated(k->ctx, o, "highest", &high));
    FAR_TRY(far_proof_stated(k->ctx, o, "tightest", &tightest));
    FAR_TRY(check_at_least(k, o, j, "tightest", fmax(fabs(low), fabs(high))));
    for (int i = 0; i < METHOD_COUNT; i++) {
        FAR_TRY(check_at_least(k, o, j, METHODS[i], tightest));
    }
    double slack = FAR_PROOF_AGREES * fmax(fabs(low), fabs(high));
    k->stated[j] = (far_range){low - slack, high + slack};
    FAR_TRY(check_found(k, o, j, tightest));
done:
    return st;
}

static far_status check_growth(const check *k, const json_t *o, int64_t j)
{
    far_status st;
    FAR_TRY(far_proof_check(k->ctx, o, k->own->names[j], "tightest", INFINITY));
    FAR_TRY(check_at_least(k, o, j, "growth", k->own->bounds[j].growth));
    FAR_TRY(check_at_least(k, o, j, "offset", k->own->bounds[j].offset));
done:
    return st;
}

static far_status check_unbounded(const check *k, const json_t *o, int64_t j)
{
    far_status st;
    far_net_bound *own = &k->own->bounds[j];
    const json_t *w = json_object_get(o, "witness");
    double *direction = k->own->vectors + j * k->own->inputs;
    FAR_TRY(check_growth(k, o, j));
    FAR_TRY(
        far_proof_vector(k->ctx, json_object_get(w, "direction"), k->own->inputs, true, direction));
    own->direction = direction;
    far_proof_read(w, "level", &own->level);
    FAR_TRY(far_net_witness_measure(k->plan, j, own));
    if (own->slope == 0) {
        FAR_TRY(
            far_proof_disagrees(k->ctx, k->own->names[j], "a slope that runs away", own->slope, 0));
    }
    FAR_TRY(far_proof_check(k->ctx, w, k->own->names[j], "slope", own->slope));
    FAR_TRY(far_proof_check(k->ctx, w, k->own->names[j], "order", own->order));
    FAR_TRY(far_proof_check(k->ctx, w, k->own->names[j], "intercept", own->intercept));
    FAR_TRY(far_proof_check(k->ctx, w, k->own->names[j], "confirmed", own->confirmed));
    FAR_TRY(isnan(own->beyond) ? far_proof_check(k->ctx, w, k->own->names[j], "beyond", own->beyond)
                               : check_at_least(k, w, j, "beyond", own->beyond));
done:
    return st;
}

static far_status check_output(const check *k, const json_t *o, int64_t j)
{
    bool bounded = k->own->bounds[j].verdict == FAR_BOUNDED;
    const char *verdict = json_string_value(json_object_get(o, "verdict"));
    const char *name = json_string_value(json_object_get(o, "output"));
    if (!verdict || !name) {
        return far_proof_malformed(k->ctx, "an output has no name or no verdict");
    }
    if (strcmp(name, k->own->names[j]) != 0) {
        return far_fail(k->ctx, FAR_ERR_FORMAT, "the certificate does not name %s",
                        k->own->names[j]);
    }
    if (bounded != (strcmp(verdict, "bounded") == 0)) {
        return far_fail(k->ctx, FAR_ERR_VALUE, "%s: the verdict is stated as %.20s, but is %s",
                        k->own->names[j], verdict, bounded ? "bounded" : "not bounded");
    }
    if (bounded) {
        return check_bounded(k, o, j);
    }
    return strcmp(verdict, "unbounded") == 0 ? check_unbounded(k, o, j) : check_growth(k, o, j);
}

/* Every stated range that is narrower than what needs no search is proven by branch and bound. */
static far_status prove(const check *k)
{
    far_status st = FAR_OK;
    far_ctx *ctx = k->ctx;
    int64_t p = k->own->info.outputs, d = k->own->inputs;
    bool needed = false;
    far_net_branch r = {0};
    FAR_TRY(far_alloc(ctx, p, &r.range));
    FAR_TRY(far_alloc(ctx, 2 * p, &r.found));
    FAR_TRY(far_alloc(ctx, 2 * p * (d + 1), &r.where));
    for (int64_t j = 0; j < p; j++) {
        const far_net_bound *own = &k->own->bounds[j];
        r.found[2 * j] = INFINITY;
        r.found[2 * j + 1] = -INFINITY;
        r.range[j] = (far_range){own->lowest, own->highest};
        needed |= k->stated[j].low > own->lowest || k->stated[j].high < own->highest;
    }
    if (needed && far_net_branch_supported(k->plan)) {
        FAR_TRY(far_net_branch_run(k->plan, 1, k->stated, FAR_PROOF_CHECK_SECONDS, &r));
    }
    for (int64_t j = 0; j < p; j++) {
        if (r.range[j].low < k->stated[j].low) {
            FAR_TRY(far_proof_disagrees(k->ctx, k->own->names[j], "lowest", k->stated[j].low,
                                        r.range[j].low));
        }
        if (r.range[j].high > k->stated[j].high) {
            FAR_TRY(far_proof_disagrees(k->ctx, k->own->names[j], "highest", k->stated[j].high,
                                        r.range[j].high));
        }
    }
done:
    far_free(ctx, r.range);
    far_free(ctx, r.found);
    far_free(ctx, r.where);
    return st;
}

static far_status check_network(const check *k, const json_t *o)
{
    const char *format = json_string_value(json_object_get(o, "format"));
    const char *hash = json_string_value(json_object_get(o, "hash"));
    const char *arch = json_string_value(json_object_get(o, "arch"));
    if (!format || strcmp(format, FORMAT) != 0) {
        return far_proof_malformed(k->ctx, "its format is not \"" FORMAT "\"");
    }
    if (json_integer_value(json_object_get(o, "version")) < 1) {
        return far_proof_malformed(k->ctx, "its version is missing or no number");
    }
    if (json_integer_value(json_object_get(o, "version")) > VERSION) {
        return far_fail(k->ctx, FAR_ERR_FORMAT,
                        "the certificate was written by a newer farfield; "
                        "update farfield to check it");
    }
    bool same = arch && strcmp(arch, k->own->arch) == 0;
    if (!hash || !same || strcmp(hash, k->own->hash) != 0) {
        return far_fail(k->ctx, FAR_ERR_FORMAT, "the certificate is of another network (%s)",
                        same ? "other weights" : "another architecture");
    }
    return FAR_OK;
}

static int stated_badness(const json_t *o)
{
    const char *verdict = json_string_value(json_object_get(o, "verdict"));
    return strcmp(verdict, "unbounded") == 0 ? 2 : strcmp(verdict, "undecided") == 0 ? 1 : 0;
}

static bool is_worse(const json_t *a, const json_t *than)
{
    double mine, other;
    int bad = stated_badness(a), other_bad = stated_badness(than);
    far_proof_read(a, "tightest", &mine);
    far_proof_read(than, "tightest", &other);
    return bad > other_bad || (bad == other_bad && mine > other);
}

static far_status check_all(const check *k, const json_t *o)
{
    far_status st;
    const json_t *outputs = json_object_get(o, "outputs");
    FAR_TRY(check_network(k, o));
    if ((int64_t)json_array_size(outputs) != k->own->info.outputs) {
        FAR_TRY(far_proof_malformed(k->ctx, "the number of outputs is another"));
    }
    for (int64_t j = 0; j < k->own->info.outputs; j++) {
        FAR_TRY(check_output(k, json_array_get(outputs, (size_t)j), j));
    }
    FAR_TRY(far_proof_summary(k->ctx, o, outputs, is_worse));
    if (k->plan->degree == 0) {
        FAR_TRY(prove(k));
    }
done:
    return st;
}

far_status far_net_certificate_check(far_ctx *ctx, const far_net *net, const char *json)
{
    far_status st;
    check k = {.ctx = ctx, .net = net};
    if (!net || !json) {
        return far_fail(ctx, FAR_ERR_ARG, "the network or the certificate is NULL");
    }
    json_t *o = far_proof_parse(ctx, json);
    if (!o) {
        return FAR_ERR_FORMAT;
    }
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
