/* A certificate as text, and the check of such a text against a model. */
#include "certify_internal.h"
#include "proof_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT "farfield certificate"
#define VERSION 1

/* ---- writing ------------------------------------------------------------------------------- */

/* Names are bytes, JSON is UTF-8: in a name that is not, bytes beyond ASCII become question marks.
 */
static json_t *name(const char *text)
{
    json_t *made = json_string(text);
    char *plain = made ? NULL : strdup(text);
    for (char *c = plain; c && *c; c++) {
        *c = *c & '\x80' ? '?' : *c;
    }
    made = plain ? json_string(plain) : made;
    free(plain);
    return made;
}

static json_t *names(char *const *values, int64_t count)
{
    json_t *list = json_array();
    for (int64_t i = 0; list && i < count; i++) {
        json_array_append_new(list, name(values[i]));
    }
    return list;
}

static json_t *witness(const far_bound *b, int64_t d)
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

static void put_bound(json_t *o, const far_certificate *c, const far_bound *b)
{
    int64_t d = c->input_count;
    json_object_set_new(o, "output", name(b->output));
    json_object_set_new(o, "verdict", json_string(far_verdict_text(b->verdict)));
    json_object_set_new(o, "theorem", json_string(b->theorem));
    json_object_set_new(o, "C", far_proof_number(c->info.C));
    json_object_set_new(o, "B1", far_proof_number(b->b1));
    json_object_set_new(o, "B2", far_proof_number(b->b2));
    json_object_set_new(o, "B3", far_proof_number(b->b3));
    json_object_set_new(o, "tightest", far_proof_number(b->tightest));
    json_object_set_new(o, "method", b->method ? json_string(b->method) : json_null());
    json_object_set_new(o, "lowest", far_proof_number(b->lowest));
    json_object_set_new(o, "highest", far_proof_number(b->highest));
    bool bounded = b->verdict == FAR_BOUNDED;
    json_object_set_new(o, "sup_found", bounded ? far_proof_number(b->sup_found) : json_null());
    json_object_set_new(o, "ratio",
                        bounded && b->sup_found > 0 ? far_proof_number(b->tightest / b->sup_found)
                                                    : json_null());
    json_object_set_new(o, "at", b->at ? far_proof_numbers(b->at, d) : json_null());
    json_object_set_new(o, "at_infinity", json_boolean(b->at_infinity));
    json_object_set_new(o, "witness", witness(b, d));
}

/* The output that decides: unbounded, then undecided, then the largest bound. */
static const far_bound *worst_bound(const far_certificate *c)
{
    const far_bound *worst = &c->bounds[0];
    for (int64_t j = 1; j < c->info.outputs; j++) {
        const far_bound *b = &c->bounds[j];
        int own = far_verdict_badness(b->verdict), most = far_verdict_badness(worst->verdict);
        if (own > most || (own == most && b->tightest > worst->tightest)) {
            worst = b;
        }
    }
    return worst;
}

static json_t *certificate(const far_certificate *c)
{
    json_t *o = json_object(), *outputs = json_array();
    json_object_set_new(o, "format", json_string(FORMAT));
    json_object_set_new(o, "version", json_integer(VERSION));
    json_object_set_new(o, "arch", json_string(c->arch));
    json_object_set_new(o, "data_hash", json_string(c->data_hash));
    json_object_set_new(o, "n", json_integer(c->rows));
    json_object_set_new(o, "inputs", names(c->inputs, c->input_count));
    put_bound(o, c, worst_bound(c));
    json_object_set_new(o, "C_by", c->info.C_by ? json_string(c->info.C_by) : json_null());
    json_object_set_new(o, "C_radius", far_proof_number(c->info.radius));
    json_object_set_new(o, "C_attained", json_boolean(c->info.attained));
    json_object_set_new(o, "lambda_min", far_proof_number(c->info.lambda_min));
    json_object_set_new(o, "condition", far_proof_number(c->info.condition));
    json_object_set_new(o, "ridge", far_proof_number(c->info.ridge));
    json_object_set_new(o, "gap", far_proof_number(c->gap));
    json_object_set_new(o, "seconds", far_proof_number(c->info.seconds));
    for (int64_t j = 0; j < c->info.outputs; j++) {
        json_t *one = json_object();
        put_bound(one, c, &c->bounds[j]);
        json_array_append_new(outputs, one);
    }
    json_object_set_new(o, "outputs", outputs);
    return o;
}

far_status far_certificate_json(far_ctx *ctx, const far_certificate *c, char **out)
{
    if (!c || !out) {
        return far_fail(ctx, FAR_ERR_ARG, "the certificate or out is NULL");
    }
    *out = NULL;
    return far_proof_write(ctx, certificate(c), out);
}

void far_text_free(far_ctx *ctx, char *text)
{
    far_free(ctx, text);
}

/* ---- checking ------------------------------------------------------------------------------ */

typedef struct check {
    far_ctx *ctx;
    const far_model *m;
    far_certificate *own; /* recomputed */
    const far_predictor *predictors;
} check;

/* f lies between the stated bounds; value is one that it takes. */
static far_status check_range(const check *k, const json_t *o, int64_t j, double tightest,
                              double value)
{
    const far_bound *own = &k->own->bounds[j];
    double low, high, slack = FAR_PROOF_AGREES * tightest;
    if (!far_proof_read(o, "lowest", &low) || !far_proof_read(o, "highest", &high)) {
        return far_proof_malformed(k->ctx, "lowest or highest is missing");
    }
    if (low > fmax(own->lowest, -tightest) + slack || low > value + slack) {
        return far_proof_disagrees(k->ctx, own->output, "lowest", low, fmin(value, own->lowest));
    }
    if (high < fmin(own->highest, tightest) - slack || high < value - slack) {
        return far_proof_disagrees(k->ctx, own->output, "highest", high, fmax(value, own->highest));
    }
    if (fabs(value) > tightest + slack) {
        return far_proof_disagrees(k->ctx, own->output, "the tightest bound", tightest,
                                   fabs(value));
    }
    return FAR_OK;
}

/* |f| at the stated point is what is stated, and within the bounds. */
static far_status check_found(const check *k, const json_t *o, int64_t j, double tightest)
{
    far_status st;
    double *raw = NULL, value;
    const json_t *infinite = json_object_get(o, "at_infinity");
    const char *output = k->own->bounds[j].output;
    if (!json_is_boolean(infinite)) {
        return far_proof_malformed(k->ctx, "at_infinity is neither true nor false");
    }
    FAR_TRY(far_alloc(k->ctx, k->m->info.inputs, &raw));
    FAR_TRY(far_proof_vector(k->ctx, json_object_get(o, "at"), k->m->info.inputs,
                             json_is_true(infinite), raw));
    FAR_TRY(far_raw_value(k->ctx, k->m, j, raw, json_is_true(infinite), &value));
    FAR_TRY(far_proof_check(k->ctx, o, output, "sup_found", fabs(value)));
    FAR_TRY(check_range(k, o, j, tightest, value));
    if (value != 0) {
        FAR_TRY(far_proof_check(k->ctx, o, output, "ratio", tightest / fabs(value)));
    }
done:
    far_free(k->ctx, raw);
    return st;
}

/* A bound holds if a closed form is as good, or if branch and bound confirms it. */
static far_status check_tightest(const check *k, const json_t *o, int64_t j, double *tightest)
{
    const far_bound *own = &k->own->bounds[j];
    far_branch_result r;
    if (!far_proof_read(o, "tightest", tightest)) {
        return far_proof_malformed(k->ctx, "tightest is missing");
    }
    if (*tightest >= own->tightest * (1 - FAR_PROOF_AGREES)) {
        return FAR_OK;
    }
    far_status st = far_progress(k->ctx, "bound", 0, 1);
    if (st == FAR_OK) {
        st = far_branch_bound(&k->predictors[j], 1e-9, *tightest, FAR_PROOF_CHECK_SECONDS, 0, &r);
    }
    if (st == FAR_OK && !(r.bound <= *tightest * (1 + FAR_PROOF_AGREES))) {
        st = far_proof_disagrees(k->ctx, own->output, "the tightest bound", *tightest,
                                 fmin(r.bound, own->tightest));
    }
    return st;
}

static far_status check_bounded(const check *k, const json_t *o, int64_t j)
{
    far_status st;
    double tightest;
    FAR_TRY(check_tightest(k, o, j, &tightest));
    FAR_TRY(check_found(k, o, j, tightest));
done:
    return st;
}

static far_status check_unbounded(const check *k, const json_t *o, int64_t j)
{
    far_status st;
    far_bound *own = &k->own->bounds[j];
    const json_t *w = json_object_get(o, "witness");
    double *direction = k->own->vectors + j * k->m->info.inputs;
    FAR_TRY(far_proof_check(k->ctx, o, own->output, "tightest", own->tightest));
    FAR_TRY(far_proof_vector(k->ctx, json_object_get(w, "direction"), k->m->info.inputs, true,
                             direction));
    own->direction = direction;
    far_proof_read(w, "level", &own->level);
    FAR_TRY(far_witness_measure(k->ctx, k->m, j, own));
    FAR_TRY(far_proof_check(k->ctx, w, own->output, "slope", own->slope));
    FAR_TRY(far_proof_check(k->ctx, w, own->output, "order", own->order));
    FAR_TRY(far_proof_check(k->ctx, w, own->output, "beyond", own->beyond));
    if (!(own->order > 0) || own->slope == 0) {
        FAR_TRY(far_proof_disagrees(k->ctx, own->output, "a slope that runs away", own->slope, 0));
    }
done:
    return st;
}

static far_status check_name(const check *k, const json_t *stated, const char *own)
{
    json_t *expected = name(own);
    bool same = json_equal(stated, expected);
    json_decref(expected);
    return same ? FAR_OK
                : far_fail(k->ctx, FAR_ERR_FORMAT, "the certificate does not name %s", own);
}

static far_status check_output(const check *k, const json_t *o, int64_t j)
{
    const far_bound *own = &k->own->bounds[j];
    const char *verdict = json_string_value(json_object_get(o, "verdict"));
    if (!verdict) {
        return far_proof_malformed(k->ctx, "an output has no verdict");
    }
    bool runs = own->verdict != FAR_BOUNDED && strcmp(verdict, "unbounded") == 0;
    if (!runs && strcmp(verdict, far_verdict_text(own->verdict)) != 0) {
        return far_fail(k->ctx, FAR_ERR_VALUE, "%s: the verdict is stated as %.20s, but is %s",
                        own->output, verdict, far_verdict_text(own->verdict));
    }
    far_status st;
    FAR_TRY(check_name(k, json_object_get(o, "output"), own->output));
    FAR_TRY(far_proof_check(k->ctx, o, own->output, "C", k->own->info.C));
    FAR_TRY(far_proof_check(k->ctx, o, own->output, "B1", own->b1));
    FAR_TRY(far_proof_check(k->ctx, o, own->output, "B2", own->b2));
    FAR_TRY(far_proof_check(k->ctx, o, own->output, "B3", own->b3));
    if (own->verdict == FAR_BOUNDED) {
        FAR_TRY(check_bounded(k, o, j));
    } else if (runs) {
        FAR_TRY(check_unbounded(k, o, j));
    }
done:
    return st;
}

static far_status check_model(const check *k, const json_t *o)
{
    const char *format = json_string_value(json_object_get(o, "format"));
    const char *hash = json_string_value(json_object_get(o, "data_hash"));
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
    if (!hash || !arch || strcmp(hash, k->m->data_hash) != 0 || strcmp(arch, k->m->arch) != 0) {
        return far_fail(k->ctx, FAR_ERR_FORMAT, "the certificate is of another model (%s)",
                        hash && arch && strcmp(arch, k->m->arch) != 0 ? "another architecture"
                                                                      : "other training data");
    }
    return FAR_OK;
}

static far_status check_sizes(const check *k, const json_t *o)
{
    far_status st;
    const json_t *inputs = json_object_get(o, "inputs");
    FAR_TRY(far_proof_check(k->ctx, o, "model", "C", k->own->info.C));
    FAR_TRY(far_proof_check(k->ctx, o, "model", "n", (double)k->m->info.rows));
    FAR_TRY(far_proof_check(k->ctx, o, "model", "ridge", k->m->info.ridge));
    FAR_TRY(far_proof_check(k->ctx, o, "model", "lambda_min", k->m->info.lambda_min));
    FAR_TRY(far_proof_check(k->ctx, o, "model", "condition", k->m->info.condition));
    if ((int64_t)json_array_size(inputs) != k->m->info.inputs) {
        FAR_TRY(far_proof_malformed(k->ctx, "the number of inputs is another"));
    }
    for (int64_t i = 0; i < k->m->info.inputs; i++) {
        FAR_TRY(check_name(k, json_array_get(inputs, (size_t)i), k->own->inputs[i]));
    }
done:
    return st;
}

/* Which of two outputs decides, as worst_bound has it; both were checked. */
static bool is_worse(const json_t *a, const json_t *than)
{
    double mine, other;
    far_proof_read(a, "tightest", &mine);
    far_proof_read(than, "tightest", &other);
    return mine > other;
}

static far_status check_all(const check *k, const json_t *o)
{
    far_status st;
    const json_t *outputs = json_object_get(o, "outputs");
    FAR_TRY(check_model(k, o));
    FAR_TRY(check_sizes(k, o));
    if ((int64_t)json_array_size(outputs) != k->m->info.outputs) {
        FAR_TRY(far_proof_malformed(k->ctx, "the number of outputs is another"));
    }
    for (int64_t j = 0; j < k->m->info.outputs; j++) {
        FAR_TRY(check_output(k, json_array_get(outputs, (size_t)j), j));
    }
    FAR_TRY(far_proof_summary(k->ctx, o, outputs, is_worse));
done:
    return st;
}

far_status far_certificate_check(far_ctx *ctx, const far_model *m, const char *json)
{
    far_status st;
    far_predictor *predictors = NULL;
    far_certificate *own = NULL;
    if (!m || !json) {
        return far_fail(ctx, FAR_ERR_ARG, "the model or the certificate is NULL");
    }
    json_t *o = far_proof_parse(ctx, json);
    if (!o) {
        return FAR_ERR_FORMAT;
    }
    FAR_TRY(far_certificate_blank(ctx, m, &own));
    FAR_TRY(far_alloc(ctx, m->info.outputs, &predictors));
    FAR_TRY(far_bounds_fill(ctx, m, own, predictors));
    check k = {ctx, m, own, predictors};
    FAR_TRY(check_all(&k, o));
done:
    far_free(ctx, predictors);
    far_certificate_destroy(own);
    json_decref(o);
    return st;
}
