/* A network's certificate as text, and the check of such a text against a network. */
#include "net_certify.h"

#include <farfield/netdata.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT "farfield network certificate"
#define VERSION 1
#define AGREES 1e-6         /* relative, between a statement and its recomputation */
#define CHECK_SECONDS 600.0 /* of branch and bound, to confirm a bound that was found so */

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

/* JSON has no infinities and no NaN: "inf", "-inf" and null. */
static json_t *number(double value)
{
    if (isnan(value)) {
        return json_null();
    }
    return isinf(value) ? json_string(value > 0 ? "inf" : "-inf") : json_real(value);
}

static json_t *numbers(const double *values, int64_t count)
{
    json_t *list = values ? json_array() : json_null();
    for (int64_t i = 0; values && list && i < count; i++) {
        json_array_append_new(list, number(values[i]));
    }
    return list;
}

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
    json_object_set_new(w, "direction", numbers(b->direction, d));
    json_object_set_new(w, "slope", number(b->slope));
    json_object_set_new(w, "order", number(b->order));
    json_object_set_new(w, "intercept", number(b->intercept));
    json_object_set_new(w, "confirmed", number(b->confirmed));
    json_object_set_new(w, "level", number(b->level));
    json_object_set_new(w, "beyond", number(b->beyond));
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
        json_object_set_new(o, METHODS[i], number(method_bound(b, i)));
    }
    json_object_set_new(o, "tightest", number(b->tightest));
    json_object_set_new(o, "method", text_or_null(b->method));
    json_object_set_new(o, "lowest", number(b->lowest));
    json_object_set_new(o, "highest", number(b->highest));
    json_object_set_new(o, "sup_found", number(b->sup_found));
    json_object_set_new(o, "ratio", found ? number(b->tightest / b->sup_found) : json_null());
    json_object_set_new(o, "at", numbers(b->at, c->inputs));
    json_object_set_new(o, "at_infinity", json_boolean(b->at_infinity));
    json_object_set_new(o, "growth", number(b->growth));
    json_object_set_new(o, "offset", number(b->offset));
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
    json_object_set_new(o, "gap", number(c->info.gap));
    json_object_set_new(o, "cells", json_integer(c->info.cells));
    json_object_set_new(o, "finished", json_boolean(c->info.finished));
    json_object_set_new(o, "seconds", number(c->info.seconds));
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
    json_t *o = certificate(c);
    char *text = o ? json_dumps(o, JSON_INDENT(1) | JSON_REAL_PRECISION(17)) : NULL;
    far_status st = text ? far_copy_text(ctx, text, (int64_t)strlen(text), out)
                         : far_fail(ctx, FAR_ERR_MEMORY, "out of memory writing the certificate");
    free(text);
    json_decref(o);
    return st;
}

/* ---- checking ------------------------------------------------------------------------------ */

typedef struct check {
    far_ctx *ctx;
    const far_net *net;
    far_net_plan *plan;
    far_net_certificate *own; /* recomputed */
    far_range *stated;        /* of each output: between these f is said to lie, with some slack */
} check;

static far_status fail_format(far_ctx *ctx, const char *what)
{
    return far_fail(ctx, FAR_ERR_FORMAT, "this is no certificate of a network: %s", what);
}

static bool read_number(const json_t *o, const char *key, double *out)
{
    const json_t *v = json_object_get(o, key);
    const char *text = json_string_value(v);
    *out = json_is_number(v)                   ? json_number_value(v)
           : text && strcmp(text, "inf") == 0  ? INFINITY
           : text && strcmp(text, "-inf") == 0 ? -INFINITY
                                               : NAN;
    return !isnan(*out);
}

static bool near(double a, double b)
{
    return a == b || (isfinite(a) && isfinite(b) && fabs(a - b) <= AGREES * fmax(fabs(a), fabs(b)));
}

static far_status disagrees(const check *k, int64_t j, const char *what, double stated,
                            double found)
{
    return far_fail(k->ctx, FAR_ERR_VALUE, "%s: %s is stated as %.9g, but is %.9g",
                    k->own->names[j], what, stated, found);
}

static far_status read_stated(const check *k, const json_t *o, const char *key, double *out)
{
    return read_number(o, key, out) ? FAR_OK
                                    : far_fail(k->ctx, FAR_ERR_FORMAT,
                                               "the certificate's %s is missing or no number", key);
}

/* What is not known (NAN) is stated as null. */
static far_status check_number(const check *k, const json_t *o, int64_t j, const char *key,
                               double own)
{
    double stated;
    if (isnan(own) && json_is_null(json_object_get(o, key))) {
        return FAR_OK;
    }
    far_status st = read_stated(k, o, key, &stated);
    return st != FAR_OK || near(stated, own) ? st : disagrees(k, j, key, stated, own);
}

/* A bound may be stated larger than it is. */
static far_status check_at_least(const check *k, const json_t *o, int64_t j, const char *key,
                                 double own)
{
    double stated;
    far_status st = read_stated(k, o, key, &stated);
    bool holds = st == FAR_OK && stated >= own - AGREES * fabs(own);
    return st != FAR_OK || holds ? st : disagrees(k, j, key, stated, own);
}

static far_status read_vector(const check *k, const json_t *list, bool direction, double *out)
{
    double square = 0;
    if (!json_is_array(list) || (int64_t)json_array_size(list) != k->own->inputs) {
        return fail_format(k->ctx, "a point or direction has the wrong number of inputs");
    }
    for (int64_t i = 0; i < k->own->inputs; i++) {
        const json_t *v = json_array_get(list, (size_t)i);
        if (!json_is_number(v)) {
            return fail_format(k->ctx, "a point or direction holds something that is no number");
        }
        out[i] = json_number_value(v);
        square += out[i] * out[i];
    }
    return direction && !near(square, 1) ? fail_format(k->ctx, "a direction is not of norm 1")
                                         : FAR_OK;
}

/* |f| at the stated point is what is stated, and lies in the stated range. */
static far_status check_found(const check *k, const json_t *o, int64_t j, double tightest)
{
    far_status st;
    double *raw = k->own->vectors + j * k->own->inputs, value;
    const json_t *infinite = json_object_get(o, "at_infinity");
    if (!json_is_boolean(infinite)) {
        return fail_format(k->ctx, "at_infinity is neither true nor false");
    }
    if (json_is_true(infinite) && k->plan->endless) {
        return fail_format(k->ctx, "this network has no limits at infinity");
    }
    if (json_is_null(json_object_get(o, "at"))) {
        return check_number(k, o, j, "sup_found", NAN);
    }
    FAR_TRY(read_vector(k, json_object_get(o, "at"), json_is_true(infinite), raw));
    FAR_TRY(far_net_raw_value(k->plan, j, raw, json_is_true(infinite), &value));
    FAR_TRY(check_number(k, o, j, "sup_found", fabs(value)));
    if (value < k->stated[j].low) {
        FAR_TRY(disagrees(k, j, "lowest", k->stated[j].low, value));
    }
    if (value > k->stated[j].high) {
        FAR_TRY(disagrees(k, j, "highest", k->stated[j].high, value));
    }
    if (value != 0) {
        FAR_TRY(check_number(k, o, j, "ratio", tightest / fabs(value)));
    }
done:
    return st;
}

/* Reads what is claimed; whether it can be proven comes later, for all outputs together. */
static far_status check_bounded(const check *k, const json_t *o, int64_t j)
{
    far_status st;
    double low, high, tightest;
    FAR_TRY(read_stated(k, o, "lowest", &low));
    FAR_TRY(read_stated(k, o, "highest", &high));
    FAR_TRY(read_stated(k, o, "tightest", &tightest));
    FAR_TRY(check_at_least(k, o, j, "tightest", fmax(fabs(low), fabs(high))));
    for (int i = 0; i < METHOD_COUNT; i++) {
        FAR_TRY(check_at_least(k, o, j, METHODS[i], tightest));
    }
    double slack = AGREES * fmax(fabs(low), fabs(high));
    k->stated[j] = (far_range){low - slack, high + slack};
    FAR_TRY(check_found(k, o, j, tightest));
done:
    return st;
}

static far_status check_growth(const check *k, const json_t *o, int64_t j)
{
    far_status st;
    FAR_TRY(check_number(k, o, j, "tightest", INFINITY));
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
    FAR_TRY(read_vector(k, json_object_get(w, "direction"), true, direction));
    own->direction = direction;
    read_number(w, "level", &own->level);
    FAR_TRY(far_net_witness_measure(k->plan, j, own));
    if (own->slope == 0) {
        FAR_TRY(disagrees(k, j, "a slope that runs away", own->slope, 0));
    }
    FAR_TRY(check_number(k, w, j, "slope", own->slope));
    FAR_TRY(check_number(k, w, j, "order", own->order));
    FAR_TRY(check_number(k, w, j, "intercept", own->intercept));
    FAR_TRY(check_number(k, w, j, "confirmed", own->confirmed));
    FAR_TRY(isnan(own->beyond) ? check_number(k, w, j, "beyond", own->beyond)
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
        return fail_format(k->ctx, "an output has no name or no verdict");
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
        FAR_TRY(far_net_branch_run(k->plan, 1, k->stated, CHECK_SECONDS, &r));
    }
    for (int64_t j = 0; j < p; j++) {
        if (r.range[j].low < k->stated[j].low) {
            FAR_TRY(disagrees(k, j, "lowest", k->stated[j].low, r.range[j].low));
        }
        if (r.range[j].high > k->stated[j].high) {
            FAR_TRY(disagrees(k, j, "highest", k->stated[j].high, r.range[j].high));
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
        return fail_format(k->ctx, "its format field is missing or another");
    }
    if (json_integer_value(json_object_get(o, "version")) < 1) {
        return fail_format(k->ctx, "its version is missing or no number");
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
    read_number(a, "tightest", &mine);
    read_number(than, "tightest", &other);
    return bad > other_bad || (bad == other_bad && mine > other);
}

/* The statement on top is that of the output that decides. */
static far_status check_summary(const check *k, const json_t *o, const json_t *outputs)
{
    const json_t *worst = json_array_get(outputs, 0), *value;
    const char *key;
    for (size_t j = 1; j < json_array_size(outputs); j++) {
        const json_t *one = json_array_get(outputs, j);
        worst = is_worse(one, worst) ? one : worst;
    }
    json_object_foreach((json_t *)worst, key, value)
    {
        if (!json_equal(json_object_get(o, key), value)) {
            return far_fail(k->ctx, FAR_ERR_VALUE,
                            "%.60s on top is not that of the output that decides", key);
        }
    }
    return FAR_OK;
}

static far_status check_all(const check *k, const json_t *o)
{
    far_status st;
    const json_t *outputs = json_object_get(o, "outputs");
    FAR_TRY(check_network(k, o));
    if ((int64_t)json_array_size(outputs) != k->own->info.outputs) {
        FAR_TRY(fail_format(k->ctx, "the number of outputs is another"));
    }
    for (int64_t j = 0; j < k->own->info.outputs; j++) {
        FAR_TRY(check_output(k, json_array_get(outputs, (size_t)j), j));
    }
    FAR_TRY(check_summary(k, o, outputs));
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
    json_error_t error;
    if (!net || !json) {
        return far_fail(ctx, FAR_ERR_ARG, "the network or the certificate is NULL");
    }
    json_t *o = json_loads(json, JSON_REJECT_DUPLICATES, &error);
    if (!o) {
        return far_fail(ctx, FAR_ERR_FORMAT, "the certificate is no JSON: line %d: %.80s",
                        error.line, error.text);
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
