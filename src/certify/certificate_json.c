/* A certificate as text, and the check of such a text against a model. */
#include "certify_internal.h"
#include "proof_json.h"

#include <math.h>
#include <string.h>

#define FORMAT "farfield certificate"

/* ---- writing ------------------------------------------------------------------------------- */

static void put_bound(far_proof_out *w, json_t *o, const far_certificate *c, const far_bound *b)
{
    bool runs = b->verdict == FAR_UNBOUNDED, firm = b->verdict == FAR_BOUNDED;
    far_proof_put_word(w, o, "output", b->output);
    far_proof_put_word(w, o, "verdict", far_verdict_text(b->verdict));
    far_proof_put_word(w, o, "theorem", b->theorem);
    far_proof_put(w, o, "C", c->info.C);
    far_proof_put_above(w, o, "B1", b->b1, b->b1);
    far_proof_put_above(w, o, "B2", b->b2, b->b2);
    far_proof_put_above(w, o, "B3", b->b3, b->b3);
    far_proof_put_word(w, o, "method", b->method);
    far_proof_put_range(
        w, o, (far_proof_range){b->tightest, b->lowest, b->highest, firm ? b->sup_found : NAN});
    far_json_put(&w->json, o, "at", far_json_reals(&w->json, b->at, c->input_count));
    far_json_put(&w->json, o, "at_infinity", json_boolean(b->at_infinity));
    far_proof_put_witness(w, o,
                          (far_proof_witness){runs ? b->direction : NULL, b->slope, b->order,
                                              b->intercept, b->confirmed, b->level, b->beyond},
                          c->input_count);
}

/* The output that decides: unbounded, then undecided, then the largest bound. */
static int64_t worst_output(const far_certificate *c)
{
    int64_t worst = 0;
    for (int64_t j = 1; j < c->info.outputs; j++) {
        const far_bound *b = &c->bounds[j], *other = &c->bounds[worst];
        int own = far_verdict_badness(b->verdict), most = far_verdict_badness(other->verdict);
        if (own > most || (own == most && b->tightest > other->tightest)) {
            worst = j;
        }
    }
    return worst;
}

/* Of the run that made it. */
static json_t *unchecked(far_proof_out *w, const far_certificate *c)
{
    json_t *o = json_object();
    far_proof_put(w, o, "gap", c->gap);
    far_proof_put(w, o, "seconds", c->info.seconds);
    return o;
}

static json_t *certificate(far_proof_out *w, const far_certificate *c)
{
    far_json_out *j = &w->json;
    json_t *o = json_object(), *outputs = json_array();
    far_proof_put_word(w, o, "format", FORMAT);
    far_json_put(j, o, "version", json_integer(FAR_PROOF_VERSION));
    far_proof_put_word(w, o, "arch", c->arch);
    far_proof_put_word(w, o, "data_hash", c->data_hash);
    far_json_put(j, o, "n", json_integer(c->rows));
    far_json_put(j, o, "inputs", far_json_words(j, c->inputs, c->input_count));
    put_bound(w, o, c, &c->bounds[worst_output(c)]);
    far_proof_put_word(w, o, "C_by", c->info.C_by);
    far_proof_put(w, o, "C_radius", c->info.radius);
    far_json_put(j, o, "C_attained", json_boolean(c->info.attained));
    far_proof_put(w, o, "lambda_min", c->info.lambda_min);
    far_proof_put(w, o, "condition", c->info.condition);
    far_proof_put(w, o, "ridge", c->info.ridge);
    far_json_put(j, o, "unchecked", unchecked(w, c));
    for (int64_t k = 0; k < c->info.outputs; k++) {
        json_t *one = json_object();
        put_bound(w, one, c, &c->bounds[k]);
        far_json_append(j, outputs, one);
    }
    far_json_put(j, o, "outputs", outputs);
    return o;
}

far_status far_certificate_json(far_ctx *ctx, const far_certificate *c, char **out)
{
    if (!c || !out) {
        return far_fail(ctx, FAR_ERR_ARG, "the certificate or out is NULL");
    }
    far_proof_out w = {.json = {.ctx = ctx}, .room = FAR_PROOF_ROOM};
    return far_proof_write(&w, certificate(&w, c), out);
}

void far_text_free(far_ctx *ctx, char *text)
{
    far_free(ctx, text);
}

/* ---- checking ------------------------------------------------------------------------------ */

typedef struct check {
    far_ctx *ctx;
    const far_model *m;
    far_certificate *own; /* what we would state */
    const far_predictor *predictors;
    double seconds; /* of branch and bound */
} check;

#define BRANCH "branch and bound"

/* Branch and bound, where a stated range is narrower than what closed forms prove, or said to come
 * from there. */
static far_status prove_range(const check *k, const json_t *o, int64_t j, far_proof_range stated)
{
    far_bound *own = &k->own->bounds[j];
    double target = far_proof_says(o, "method", BRANCH) ? stated.tightest : INFINITY;
    target = stated.tightest < own->tightest ? fmin(target, stated.tightest) : target;
    target = stated.lowest > own->lowest ? fmin(target, -stated.lowest) : target;
    target = stated.highest < own->highest ? fmin(target, stated.highest) : target;
    far_branch_result r;
    if (!(target < INFINITY) || !(target >= 0)) {
        return FAR_OK; /* nothing to prove, or what cannot be */
    }
    far_status st = far_progress(k->ctx, "bound", 0, 1);
    if (st == FAR_OK) {
        st = far_branch_bound(&k->predictors[j], 1e-9, target, k->seconds, 0, &r);
    }
    if (st == FAR_OK && r.bound <= target) {
        own->method = far_proof_says(o, "method", BRANCH) ? BRANCH : own->method;
        own->tightest = fmin(own->tightest, r.bound);
        own->lowest = fmax(own->lowest, -r.bound);
        own->highest = fmin(own->highest, r.bound);
    }
    return st;
}

static double reach(far_interval i)
{
    return i.method ? fmax(fabs(i.low), fabs(i.high)) : INFINITY;
}

/* The method is the one that we would name, or another that proves as much. */
static far_status take_method(const check *k, const json_t *o, int64_t j, double tightest)
{
    far_bound *own = &k->own->bounds[j];
    const far_predictor *p = &k->predictors[j];
    far_interval closed[] = {far_norm_interval(p), far_bias_interval(p), {.method = NULL}};
    far_status st = p->norm_1 > 0 ? far_quadratic_interval(p, &closed[2]) : FAR_OK;
    for (int i = 0; st == FAR_OK && p->norm_1 > 0 && i < 3; i++) {
        if (far_proof_says(o, "method", closed[i].method) && reach(closed[i]) <= tightest) {
            own->method = closed[i].method;
        }
    }
    return st;
}

/* What is stated is taken over where it holds; the comparison refuses the rest. */
static far_status complete_bounded(const check *k, const json_t *o, int64_t j)
{
    far_status st;
    far_bound *own = &k->own->bounds[j];
    far_proof_range stated;
    double *at = k->own->vectors + j * k->m->info.inputs, value;
    FAR_TRY(far_proof_stated_range(k->ctx, o, &stated));
    FAR_TRY(far_proof_stated_flag(k->ctx, o, "at_infinity", &own->at_infinity));
    FAR_TRY(far_proof_vector(k->ctx, o, "at", k->m->info.inputs, own->at_infinity, at));
    FAR_TRY(far_raw_value(k->ctx, k->m, j, at, own->at_infinity, &value));
    own->at = at;
    FAR_TRY(far_proof_check_range(k->ctx, own->output, stated, value));
    FAR_TRY(far_proof_check_found(k->ctx, own->output, stated.found, value));
    FAR_TRY(prove_range(k, o, j, stated));
    FAR_TRY(far_proof_check_proven(
        k->ctx, own->output, stated,
        (far_proof_range){own->tightest, own->lowest, own->highest, own->sup_found}));
    FAR_TRY(take_method(k, o, j, stated.tightest));
    own->tightest = stated.tightest;
    own->sup_found = stated.found;
done:
    return st;
}

/* The intercept is extrapolated from far away, where few of its digits are left. */
static void take_intercept(const check *k, double stated, far_bound *own)
{
    long double square = 0, middle = 0, d = (long double)k->m->info.inputs;
    for (int64_t i = 0; i < k->m->info.inputs; i++) {
        long double z = (long double)own->direction[i] / far_input_scale(k->m->columns)[i];
        square += z * z;
        middle += z * (far_input_centre(k->m->columns)[i] / far_input_scale(k->m->columns)[i]);
    }
    double extent = (double)fmaxl(sqrtl(d / square), fabsl(middle / square));
    double size = fabs(own->intercept) + fabs(own->slope) * extent;
    own->intercept = fabs(stated - own->intercept) <= 1e-4 * size ? stated : own->intercept;
}

static far_status complete_unbounded(const check *k, const json_t *o, int64_t j)
{
    far_status st;
    far_bound *own = &k->own->bounds[j];
    const json_t *w = json_object_get(o, "witness");
    double *direction = k->own->vectors + j * k->m->info.inputs, level, intercept;
    FAR_TRY(far_proof_vector(k->ctx, w, "direction", k->m->info.inputs, true, direction));
    FAR_TRY(far_proof_stated(k->ctx, w, "level", &level));
    FAR_TRY(far_proof_stated(k->ctx, w, "intercept", &intercept));
    if (level < 0 || isinf(level)) {
        FAR_TRY(far_proof_malformed(k->ctx, "a level is finite and 0 or more"));
    }
    FAR_TRY(far_witness_output(&k->predictors[j], level, direction, own));
    if (own->verdict == FAR_UNBOUNDED) {
        take_intercept(k, intercept, own);
    }
done:
    return st;
}

static far_status complete_output(const check *k, const json_t *o, int64_t j)
{
    if (k->own->bounds[j].verdict == FAR_BOUNDED) {
        return complete_bounded(k, o, j);
    }
    return far_proof_says(o, "verdict", "unbounded") ? complete_unbounded(k, o, j) : FAR_OK;
}

static far_status check_model(const check *k, const json_t *o)
{
    bool arch = far_proof_says(o, "arch", k->m->arch);
    if (!arch || !far_proof_says(o, "data_hash", k->m->columns->hash)) {
        return far_fail(k->ctx, FAR_ERR_FORMAT, "the certificate is of another model (%s)",
                        arch ? "other training data" : "another architecture");
    }
    return FAR_OK;
}

static far_status check_all(const check *k, const json_t *o)
{
    far_status st;
    far_proof_out w = {.json = {.ctx = k->ctx}};
    json_t *expected = NULL;
    const json_t *outputs;
    FAR_TRY(far_proof_check_format(k->ctx, o, FORMAT));
    FAR_TRY(check_model(k, o));
    FAR_TRY(far_proof_outputs(k->ctx, o, k->m->info.outputs, &outputs));
    for (int64_t j = 0; j < k->m->info.outputs; j++) {
        FAR_TRY(complete_output(k, json_array_get(outputs, (size_t)j), j));
    }
    expected = certificate(&w, k->own);
    FAR_TRY(w.json.failed || !expected ? far_fail(k->ctx, FAR_ERR_MEMORY, "out of memory")
                                       : FAR_OK);
    FAR_TRY(far_proof_compare(k->ctx, o, expected, worst_output(k->own)));
done:
    json_decref(expected);
    return st;
}

far_status far_certificate_check_within(far_ctx *ctx, const far_model *m, const char *json,
                                        double seconds)
{
    far_status st;
    far_predictor *predictors = NULL;
    far_certificate *own = NULL;
    json_t *o = NULL;
    FAR_TRY(far_proof_parse(ctx, json, &o));
    FAR_TRY(far_certificate_blank(ctx, m, &own));
    FAR_TRY(far_alloc(ctx, m->info.outputs, &predictors));
    FAR_TRY(far_bounds_fill(ctx, m, own, predictors));
    check k = {ctx, m, own, predictors, seconds};
    FAR_TRY(check_all(&k, o));
done:
    far_free(ctx, predictors);
    far_certificate_destroy(own);
    json_decref(o);
    return st;
}

far_status far_certificate_check(far_ctx *ctx, const far_model *m, const char *json)
{
    if (!m || !json) {
        return far_fail(ctx, FAR_ERR_ARG, "the model or the certificate is NULL");
    }
    return far_certificate_check_within(ctx, m, json, FAR_PROOF_CHECK_SECONDS);
}
