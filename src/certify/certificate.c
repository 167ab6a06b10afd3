/* A certificate: what it holds, its text, and the check of such a text. */
#include "certificate.h"
#include "proof.h"

#include <math.h>
#include <string.h>

#define FORMAT "farfield certificate"
#define SLOPE_ROUNDS 1e-9 /* relative: a slope has a rounding or two in it */

const char *far_verdict_text(far_verdict verdict)
{
    return verdict == FAR_BOUNDED     ? "bounded"
           : verdict == FAR_UNBOUNDED ? "unbounded"
                                      : "undecided";
}

void far_certify_opts_init(far_certify_opts *opts)
{
    *opts = (far_certify_opts){.size = sizeof *opts,
                               .exceeds = NAN,
                               .starts = 64,
                               .gap = 0.01,
                               .seconds = 20,
                               .box_low = NAN,
                               .box_high = NAN};
}

static far_status check_opts(far_ctx *ctx, const far_certify_opts *o)
{
    if (!o || o->size != sizeof *o) {
        return far_fail(ctx, FAR_ERR_ARG, "opts: call far_certify_opts_init first");
    }
    if (o->starts < 1 || !(o->gap > 0) || !(o->seconds >= 0) || o->exceeds < 0 ||
        isinf(o->exceeds)) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "starts, gap and seconds must be above 0, the level to exceed finite and "
                        "0 or more");
    }
    bool none = isnan(o->box_low) && isnan(o->box_high);
    if (!none && !(isfinite(o->box_low) && isfinite(o->box_high) && o->box_low <= o->box_high)) {
        return far_fail(ctx, FAR_ERR_ARG, "a box has two finite ends, the lower one first");
    }
    return FAR_OK;
}

/* ---- objects ------------------------------------------------------------------------------- */

void far_certificate_destroy(far_certificate *c)
{
    if (c) {
        far_texts_free(c->ctx, c->inputs, c->input_count);
        far_texts_free(c->ctx, c->outputs, c->info.outputs);
        FAR_FREE_ALL(c->ctx, c->arch, c->bounds, c->vectors, c->null, c->reasons[0], c->reasons[1],
                     c->reasons[2], c);
    }
}

far_certificate_info far_certificate_describe(const far_certificate *c)
{
    far_certificate_info info = c->info;
    info.input_names = (const char *const *)c->inputs;
    return info;
}

const far_bound *far_certificate_bound(const far_certificate *c, int64_t output)
{
    return output >= 0 && output < c->info.outputs ? &c->bounds[output] : NULL;
}

static const far_bound NOTHING_KNOWN = {
    .verdict = FAR_UNDECIDED,
    .lowest = -INFINITY,
    .highest = INFINITY,
    .tightest = INFINITY,
    .proofs = {{NULL, INFINITY}, {NULL, INFINITY}, {NULL, INFINITY}, {NULL, INFINITY}},
    .b1 = NAN,
    .b2 = NAN,
    .b3 = NAN,
    .sup_found = NAN,
    .slope = NAN,
    .order = NAN,
    .intercept = NAN,
    .confirmed = NAN,
    .level = NAN,
    .beyond = NAN,
    .growth = INFINITY,
    .offset = INFINITY};

static far_status name_outputs(const far_columns *columns, far_certificate *c)
{
    far_status st = far_alloc(c->ctx, columns->info.outputs, &c->outputs);
    c->info.outputs = st == FAR_OK ? columns->info.outputs : 0;
    for (int64_t j = 0; st == FAR_OK && j < c->info.outputs; j++) {
        bool class = columns->info.classes > 0;
        far_text t = {.ctx = c->ctx};
        far_text_add(&t, "%s%s%s", class ? columns->targets[0] : "", class ? "=" : "",
                     far_columns_outputs(columns)[j]);
        c->outputs[j] = t.data;
        st = t.status;
    }
    return st;
}

static far_status name_inputs(const far_columns *columns, far_certificate *c)
{
    far_status st = far_alloc(c->ctx, columns->info.inputs, &c->inputs);
    c->input_count = st == FAR_OK ? columns->info.inputs : 0;
    for (int64_t i = 0; st == FAR_OK && i < c->input_count; i++) {
        const char *name = columns->inputs[i];
        st = far_copy_text(c->ctx, name, (int64_t)strlen(name), &c->inputs[i]);
    }
    return st;
}

/* A certificate that says nothing yet: names, room for bounds and directions, every verdict
 * undecided. After a failure *out is to be destroyed as far as it got. */
far_status far_certificate_blank(far_ctx *ctx, const char *kind, const char *arch,
                                 const far_columns *columns, far_certificate **out)
{
    far_status st;
    far_certificate *c;
    FAR_TRY(far_alloc(ctx, 1, out));
    c = *out;
    *c = (far_certificate){.ctx = ctx, .kind = kind, .rows = -1};
    c->info = (far_certificate_info){.hash = c->hash,
                                     .C = NAN,
                                     .radius = NAN,
                                     .lambda_min = NAN,
                                     .condition = NAN,
                                     .ridge = NAN,
                                     .box_low = NAN,
                                     .box_high = NAN};
    FAR_TRY(name_inputs(columns, c));
    FAR_TRY(name_outputs(columns, c));
    FAR_TRY(far_alloc(ctx, c->info.outputs, &c->bounds));
    FAR_TRY(far_alloc(ctx, 2 * c->info.outputs * c->input_count, &c->vectors));
    if (arch) {
        FAR_TRY(far_copy_text(ctx, arch, (int64_t)strlen(arch), &c->arch));
    }
    memcpy(c->data_hash, columns->hash, sizeof c->data_hash);
    c->info.inputs = c->input_count;
    c->info.kind = kind;
    c->info.arch = c->arch;
    for (int64_t j = 0; j < c->info.outputs; j++) {
        c->bounds[j] = NOTHING_KNOWN;
        c->bounds[j].output = c->outputs[j];
    }
done:
    return st;
}

/* ---- verdicts ------------------------------------------------------------------------------ */

int far_verdict_badness(far_verdict verdict)
{
    return verdict == FAR_UNBOUNDED ? 2 : verdict == FAR_UNDECIDED ? 1 : 0;
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

far_verdict far_certificate_worst(const far_certificate *c)
{
    return c->bounds[worst_output(c)].verdict;
}

/* FAR_ERR_BACKEND where a value that was met, or a slope, lies beyond what was proven. */
static far_status confront(const far_certificate *c)
{
    far_status st = FAR_OK;
    for (int64_t j = 0; st == FAR_OK && j < c->info.outputs; j++) {
        const far_bound *b = &c->bounds[j];
        bool away = b->verdict == FAR_UNBOUNDED;
        double found = away ? fabs(b->slope) * (1 - SLOPE_ROUNDS) : b->sup_found;
        st = far_proof_consistent(c->ctx, b->output, found, away ? b->growth : b->tightest);
        if (st == FAR_OK) {
            st = far_proof_consistent(c->ctx, b->output, b->lowest, b->highest);
        }
    }
    return st;
}

far_status far_certificate_make(far_ctx *ctx, const char *what, const void *subject,
                                far_certify_fn fill, const far_certify_opts *opts,
                                far_certificate **out)
{
    far_status st;
    far_certificate *c = NULL;
    if (!subject || !out) {
        return far_fail(ctx, FAR_ERR_ARG, "the %s or out is NULL", what);
    }
    *out = NULL;
    FAR_TRY(check_opts(ctx, opts));
    FAR_TRY(fill(ctx, subject, opts, &c));
    FAR_TRY(confront(c));
done:
    FAR_HAND_OVER(c, out, far_certificate_destroy);
    return st;
}

/* ---- writing ------------------------------------------------------------------------------- */

static json_t *write_proofs(far_proof_out *w, const far_bound *b)
{
    json_t *list = json_array();
    for (int i = 0; i < FAR_PROOFS; i++) {
        if (b->proofs[i].method && isfinite(b->proofs[i].bound)) {
            json_t *one = json_object();
            far_proof_put_word(w, one, "method", b->proofs[i].method);
            far_proof_put_above(w, one, "bound", b->proofs[i].bound, b->proofs[i].bound);
            far_json_append(&w->json, list, one);
        }
    }
    return list;
}

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
    far_json_put(&w->json, o, "proofs", write_proofs(w, b));
    far_proof_put_word(w, o, "method", b->method);
    far_proof_put_range(
        w, o, (far_proof_range){b->tightest, b->lowest, b->highest, firm ? b->sup_found : NAN});
    far_json_put(&w->json, o, "at", far_json_reals(&w->json, b->at, c->input_count));
    far_json_put(&w->json, o, "at_infinity", json_boolean(b->at_infinity));
    far_proof_put_above(w, o, "growth", b->growth, b->growth);
    far_proof_put_above(w, o, "offset", b->offset, b->offset);
    far_proof_put_witness(w, o,
                          (far_proof_witness){runs ? b->direction : NULL, b->slope, b->order,
                                              b->intercept, b->confirmed, b->level, b->beyond},
                          c->input_count);
}

/* Of the run that made it. */
static json_t *write_unchecked(far_proof_out *w, const far_certificate *c)
{
    json_t *o = json_object();
    far_proof_put(w, o, "gap", c->info.gap);
    far_json_put(&w->json, o, "cells", json_integer(c->info.cells));
    far_json_put(&w->json, o, "finished", json_boolean(c->info.finished));
    far_proof_put(w, o, "seconds", c->info.seconds);
    return o;
}

/* What only some kinds have is null for the others. */
static void put_kernel(far_proof_out *w, json_t *o, const far_certificate *c)
{
    bool kernel = strcmp(c->kind, "infinite") == 0;
    far_proof_put_word(w, o, "C_by", c->info.C_by);
    far_proof_put(w, o, "C_radius", c->info.radius);
    far_json_put(&w->json, o, "C_attained", kernel ? json_boolean(c->info.attained) : json_null());
    far_proof_put(w, o, "lambda_min", c->info.lambda_min);
    far_proof_put(w, o, "condition", c->info.condition);
    far_proof_put(w, o, "ridge", c->info.ridge);
}

static void put_network(far_proof_out *w, json_t *o, const far_certificate *c)
{
    bool finite = strcmp(c->kind, "finite") == 0;
    far_json_put(&w->json, o, "norms", finite ? json_boolean(c->info.norms) : json_null());
    far_json_put(&w->json, o, "batch_norm", finite ? json_boolean(c->info.batch) : json_null());
    far_proof_put_word(w, o, "rounding", finite ? "outward" : NULL);
}

/* The names of the inputs that f does not depend on, and other directions along which it does not
 * change: beside a 1 they have further entries. */
static void put_null(far_json_out *j, json_t *o, const far_certificate *c)
{
    json_t *ignored = json_array(), *directions = json_array();
    for (int64_t k = 0; k < c->info.null.rows; k++) {
        const double *v = far_mat_row(&c->info.null, k);
        int64_t first = far_place_of_largest(v, c->input_count), others = 0;
        for (int64_t i = 0; i < c->input_count; i++) {
            others += v[i] != 0 && i != first;
        }
        if (others == 0 && v[first] != 0) {
            far_json_append(j, ignored, far_json_bytes(j, c->inputs[first]));
        } else if (others > 0) {
            far_json_append(j, directions, far_json_reals(j, v, c->input_count));
        }
    }
    far_json_put(j, o, "ignored", ignored);
    far_json_put(j, o, "null", directions);
}

static json_t *write_metric(far_proof_out *w, const far_certificate *c)
{
    json_t *o = json_object();
    far_proof_put_word(w, o, "kind", c->info.metric == FAR_METRIC_FULL ? "full" : "diagonal");
    far_json_put(&w->json, o, "rank", json_integer(c->info.rank));
    put_null(&w->json, o, c);
    return o;
}

static json_t *certificate(far_proof_out *w, const far_certificate *c)
{
    far_json_out *j = &w->json;
    json_t *o = json_object(), *outputs = json_array();
    far_proof_put_word(w, o, "format", FORMAT);
    far_json_put(j, o, "version", json_integer(FAR_PROOF_VERSION));
    far_proof_put_word(w, o, "kind", c->kind);
    far_proof_put_word(w, o, "arch", c->arch);
    far_proof_put_word(w, o, "hash", c->hash);
    far_proof_put_word(w, o, "data_hash", c->data_hash[0] ? c->data_hash : NULL);
    far_json_put(j, o, "n", c->rows >= 0 ? json_integer(c->rows) : json_null());
    far_json_put(j, o, "inputs", far_json_words(j, c->inputs, c->input_count));
    if (!isnan(c->info.box_low)) { /* of all inputs a certificate says nothing here */
        const double box[2] = {c->info.box_low, c->info.box_high};
        far_json_put(j, o, "box", far_json_reals(j, box, 2));
    }
    if (c->info.metric != FAR_METRIC_NONE) { /* nor of one that is not there */
        far_json_put(j, o, "metric", write_metric(w, c));
    }
    put_bound(w, o, c, &c->bounds[worst_output(c)]);
    put_kernel(w, o, c);
    put_network(w, o, c);
    far_json_put(j, o, "unchecked", write_unchecked(w, c));
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

/* ---- checking ------------------------------------------------------------------------------ */

static far_status check_identity(far_ctx *ctx, const json_t *o, const far_certificate *own)
{
    const char *data = own->data_hash[0] ? own->data_hash : NULL;
    const char *other = !far_proof_says(o, "kind", own->kind) ? "another kind"
                        : own->arch && !far_proof_says(o, "arch", own->arch)
                            ? "another architecture"
                        : data && !far_proof_says(o, "data_hash", data) ? "other training data"
                        : !far_proof_says(o, "hash", own->hash)         ? "other weights"
                                                                        : NULL;
    return other ? far_fail(ctx, FAR_ERR_FORMAT, "the certificate is of another predictor (%s)",
                            other)
                 : FAR_OK;
}

/* Whether an output is said to be bounded that is not known to be. */
static bool is_overstated(const json_t *outputs, const far_certificate *own, int64_t j)
{
    return own->bounds[j].verdict == FAR_UNDECIDED &&
           far_proof_says(json_array_get(outputs, (size_t)j), "verdict", "bounded");
}

/* Such a statement is refused in any case. A search of our own tells what to say instead: it may
 * find a direction along which the output runs away. */
static far_status name_verdicts(far_checker checker, const json_t *outputs, far_certificate *own)
{
    far_status st = FAR_OK;
    far_certificate *again = NULL;
    far_certify_opts opts;
    far_certify_opts_init(&opts);
    opts.seconds = 0;
    opts.starts = 8;
    for (int64_t j = 0; st == FAR_OK && checker.certify && j < own->info.outputs; j++) {
        if (is_overstated(outputs, own, j)) {
            st = again ? FAR_OK : checker.certify(checker.user, &opts, &again);
            bool away = again && again->bounds[j].verdict == FAR_UNBOUNDED;
            own->bounds[j].verdict = away ? FAR_UNBOUNDED : FAR_UNDECIDED;
        }
    }
    far_certificate_destroy(again);
    return st;
}

far_status far_certificate_legible(far_ctx *ctx, const char *json)
{
    json_t *o = NULL;
    far_status st = far_proof_parse(ctx, json, &o);
    st = st == FAR_OK ? far_proof_check_format(ctx, o, FORMAT) : st;
    json_decref(o);
    return st;
}

far_status far_certificate_compare(far_ctx *ctx, const char *json, far_checker checker,
                                   far_certificate *own)
{
    far_status st;
    far_proof_out w = {.json = {.ctx = ctx}};
    json_t *o = NULL, *expected = NULL;
    const json_t *outputs;
    FAR_TRY(far_proof_parse(ctx, json, &o));
    FAR_TRY(far_proof_check_format(ctx, o, FORMAT));
    FAR_TRY(check_identity(ctx, o, own));
    FAR_TRY(far_proof_outputs(ctx, o, own->info.outputs, &outputs));
    FAR_TRY(checker.complete(checker.user, outputs, own));
    FAR_TRY(name_verdicts(checker, outputs, own));
    expected = certificate(&w, own);
    FAR_TRY(w.json.failed || !expected ? far_fail(ctx, FAR_ERR_MEMORY, "out of memory") : FAR_OK);
    FAR_TRY(far_proof_compare(ctx, o, expected, worst_output(own)));
done:
    json_decref(expected);
    json_decref(o);
    return st;
}
