/* A certificate as text, and the check of such a text against a model. */
#include "certify_internal.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT "farfield certificate"
#define VERSION 1
#define AGREES 1e-6         /* relative, between a statement and its recomputation */
#define CHECK_SECONDS 600.0 /* of branch and bound, to confirm a bound that was found so */

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
    json_t *list = json_array();
    for (int64_t i = 0; list && i < count; i++) {
        json_array_append_new(list, number(values[i]));
    }
    return list;
}

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
    if (b->bounded) {
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

static void put_bound(json_t *o, const far_certificate *c, const far_bound *b)
{
    int64_t d = c->input_count;
    json_object_set_new(o, "output", name(b->output));
    json_object_set_new(o, "verdict", json_string(b->bounded ? "bounded" : "unbounded"));
    json_object_set_new(o, "theorem", json_string(b->theorem));
    json_object_set_new(o, "C", number(c->info.C));
    json_object_set_new(o, "B1", number(b->b1));
    json_object_set_new(o, "B2", number(b->b2));
    json_object_set_new(o, "B3", number(b->b3));
    json_object_set_new(o, "tightest", number(b->tightest));
    json_object_set_new(o, "method", b->method ? json_string(b->method) : json_null());
    json_object_set_new(o, "lowest", number(b->lowest));
    json_object_set_new(o, "highest", number(b->highest));
    json_object_set_new(o, "sup_found", b->bounded ? number(b->sup_found) : json_null());
    json_object_set_new(o, "ratio",
                        b->bounded && b->sup_found > 0 ? number(b->tightest / b->sup_found)
                                                       : json_null());
    json_object_set_new(o, "at", b->at ? numbers(b->at, d) : json_null());
    json_object_set_new(o, "at_infinity", json_boolean(b->at_infinity));
    json_object_set_new(o, "witness", witness(b, d));
}

/* The output that decides: unbounded before bounded, then the largest bound. */
static const far_bound *worst_bound(const far_certificate *c)
{
    const far_bound *worst = &c->bounds[0];
    for (int64_t j = 1; j < c->info.outputs; j++) {
        const far_bound *b = &c->bounds[j];
        if ((worst->bounded && !b->bounded) ||
            (worst->bounded == b->bounded && b->tightest > worst->tightest)) {
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
    json_object_set_new(o, "C_radius", number(c->info.radius));
    json_object_set_new(o, "C_attained", json_boolean(c->info.attained));
    json_object_set_new(o, "lambda_min", number(c->info.lambda_min));
    json_object_set_new(o, "condition", number(c->info.condition));
    json_object_set_new(o, "ridge", number(c->info.ridge));
    json_object_set_new(o, "gap", number(c->gap));
    json_object_set_new(o, "seconds", number(c->info.seconds));
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
    json_t *o = certificate(c);
    char *text = o ? json_dumps(o, JSON_INDENT(1) | JSON_REAL_PRECISION(17)) : NULL;
    far_status st = text ? far_copy_text(ctx, text, (int64_t)strlen(text), out)
                         : far_fail(ctx, FAR_ERR_MEMORY, "out of memory writing the certificate");
    free(text);
    json_decref(o);
    return st;
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

static far_status fail_format(far_ctx *ctx, const char *what)
{
    return far_fail(ctx, FAR_ERR_FORMAT, "this is no certificate of farfield: %s", what);
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

static far_status disagrees(const check *k, const char *output, const char *what, double stated,
                            double found)
{
    return far_fail(k->ctx, FAR_ERR_VALUE, "%s: %s is stated as %.9g, but is %.9g", output, what,
                    stated, found);
}

/* What is not known (NAN) is stated as null. */
static far_status check_number(const check *k, const json_t *o, const char *output, const char *key,
                               double own)
{
    double stated;
    if (isnan(own) && json_is_null(json_object_get(o, key))) {
        return FAR_OK;
    }
    if (!read_number(o, key, &stated)) {
        return far_fail(k->ctx, FAR_ERR_FORMAT, "the certificate's %s is missing or no number",
                        key);
    }
    return near(stated, own) ? FAR_OK : disagrees(k, output, key, stated, own);
}

static far_status read_vector(const check *k, const json_t *list, bool direction, double *out)
{
    int64_t d = k->m->info.inputs;
    double square = 0;
    if (!json_is_array(list) || (int64_t)json_array_size(list) != d) {
        return fail_format(k->ctx, "a point or direction has the wrong number of inputs");
    }
    for (int64_t i = 0; i < d; i++) {
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

/* f lies between the stated bounds; value is one that it takes. */
static far_status check_range(const check *k, const json_t *o, int64_t j, double tightest,
                              double value)
{
    const far_bound *own = &k->own->bounds[j];
    double low, high, slack = AGREES * tightest;
    if (!read_number(o, "lowest", &low) || !read_number(o, "highest", &high)) {
        return fail_format(k->ctx, "lowest or highest is missing");
    }
    if (low > fmax(own->lowest, -tightest) + slack || low > value + slack) {
        return disagrees(k, own->output, "lowest", low, fmin(value, own->lowest));
    }
    if (high < fmin(own->highest, tightest) - slack || high < value - slack) {
        return disagrees(k, own->output, "highest", high, fmax(value, own->highest));
    }
    if (fabs(value) > tightest + slack) {
        return disagrees(k, own->output, "the tightest bound", tightest, fabs(value));
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
        return fail_format(k->ctx, "at_infinity is neither true nor false");
    }
    FAR_TRY(far_alloc(k->ctx, k->m->info.inputs, &raw));
    FAR_TRY(read_vector(k, json_object_get(o, "at"), json_is_true(infinite), raw));
    FAR_TRY(far_raw_value(k->ctx, k->m, j, raw, json_is_true(infinite), &value));
    FAR_TRY(check_number(k, o, output, "sup_found", fabs(value)));
    FAR_TRY(check_range(k, o, j, tightest, value));
    if (value != 0) {
        FAR_TRY(check_number(k, o, output, "ratio", tightest / fabs(value)));
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
    if (!read_number(o, "tightest", tightest)) {
        return fail_format(k->ctx, "tightest is missing");
    }
    if (*tightest >= own->tightest * (1 - AGREES)) {
        return FAR_OK;
    }
    far_status st = far_progress(k->ctx, "bound", 0, 1);
    if (st == FAR_OK) {
        st = far_branch_bound(&k->predictors[j], 1e-9, *tightest, CHECK_SECONDS, 0, &r);
    }
    if (st == FAR_OK && !(r.bound <= *tightest * (1 + AGREES))) {
        st = disagrees(k, own->output, "the tightest bound", *tightest,
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
    FAR_TRY(check_number(k, o, own->output, "tightest", own->tightest));
    FAR_TRY(read_vector(k, json_object_get(w, "direction"), true, direction));
    own->direction = direction;
    read_number(w, "level", &own->level);
    FAR_TRY(far_witness_measure(k->ctx, k->m, j, own));
    FAR_TRY(check_number(k, w, own->output, "slope", own->slope));
    FAR_TRY(check_number(k, w, own->output, "order", own->order));
    FAR_TRY(check_number(k, w, own->output, "beyond", own->beyond));
    if (!(own->order > 0) || own->slope == 0) {
        FAR_TRY(disagrees(k, own->output, "a slope that runs away", own->slope, 0));
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
    const char *expected = own->bounded ? "bounded" : "unbounded";
    if (!verdict) {
        return fail_format(k->ctx, "an output has no verdict");
    }
    if (strcmp(verdict, expected) != 0) {
        return far_fail(k->ctx, FAR_ERR_VALUE, "%s: the verdict is stated as %.20s, but is %s",
                        own->output, verdict, expected);
    }
    far_status st;
    FAR_TRY(check_name(k, json_object_get(o, "output"), own->output));
    FAR_TRY(check_number(k, o, own->output, "C", k->own->info.C));
    FAR_TRY(check_number(k, o, own->output, "B1", own->b1));
    FAR_TRY(check_number(k, o, own->output, "B2", own->b2));
    FAR_TRY(check_number(k, o, own->output, "B3", own->b3));
    FAR_TRY(own->bounded ? check_bounded(k, o, j) : check_unbounded(k, o, j));
done:
    return st;
}

static far_status check_model(const check *k, const json_t *o)
{
    const char *format = json_string_value(json_object_get(o, "format"));
    const char *hash = json_string_value(json_object_get(o, "data_hash"));
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
    FAR_TRY(check_number(k, o, "model", "C", k->own->info.C));
    FAR_TRY(check_number(k, o, "model", "n", (double)k->m->info.rows));
    FAR_TRY(check_number(k, o, "model", "ridge", k->m->info.ridge));
    FAR_TRY(check_number(k, o, "model", "lambda_min", k->m->info.lambda_min));
    FAR_TRY(check_number(k, o, "model", "condition", k->m->info.condition));
    if ((int64_t)json_array_size(inputs) != k->m->info.inputs) {
        FAR_TRY(fail_format(k->ctx, "the number of inputs is another"));
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
    read_number(a, "tightest", &mine);
    read_number(than, "tightest", &other);
    return mine > other;
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
                            "%.60s on top is not that of the output with the largest bound", key);
        }
    }
    return FAR_OK;
}

static far_status check_all(const check *k, const json_t *o)
{
    far_status st;
    const json_t *outputs = json_object_get(o, "outputs");
    FAR_TRY(check_model(k, o));
    FAR_TRY(check_sizes(k, o));
    if ((int64_t)json_array_size(outputs) != k->m->info.outputs) {
        FAR_TRY(fail_format(k->ctx, "the number of outputs is another"));
    }
    for (int64_t j = 0; j < k->m->info.outputs; j++) {
        FAR_TRY(check_output(k, json_array_get(outputs, (size_t)j), j));
    }
    FAR_TRY(check_summary(k, o, outputs));
done:
    return st;
}

far_status far_certificate_check(far_ctx *ctx, const far_model *m, const char *json)
{
    far_status st;
    far_predictor *predictors = NULL;
    far_certificate *own = NULL;
    json_error_t error;
    if (!m || !json) {
        return far_fail(ctx, FAR_ERR_ARG, "the model or the certificate is NULL");
    }
    json_t *o = json_loads(json, JSON_REJECT_DUPLICATES, &error);
    if (!o) {
        return far_fail(ctx, FAR_ERR_FORMAT, "the certificate is no JSON: line %d: %.80s",
                        error.line, error.text);
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
