#include "proof_json.h"
#include "../data/data_internal.h"

#include <math.h>
#include <string.h>

/* ---- writing ------------------------------------------------------------------------------- */

void far_proof_put(far_proof_out *w, json_t *o, const char *key, double value)
{
    far_json_put(&w->json, o, key, isfinite(value) ? json_real(value) : json_null());
}

void far_proof_put_above(far_proof_out *w, json_t *o, const char *key, double value, double size)
{
    far_proof_put(w, o, key, isfinite(value) ? value + w->room * fabs(size) : value);
}

void far_proof_put_below(far_proof_out *w, json_t *o, const char *key, double value, double size)
{
    far_proof_put(w, o, key, isfinite(value) ? value - w->room * fabs(size) : value);
}

void far_proof_put_word(far_proof_out *w, json_t *o, const char *key, const char *text)
{
    far_json_put(&w->json, o, key, far_json_word(&w->json, text));
}

void far_proof_put_range(far_proof_out *w, json_t *o, far_proof_range r)
{
    double above = r.tightest * (1 + w->room), below = r.found * (1 - w->room);
    far_proof_put_above(w, o, "tightest", r.tightest, r.tightest);
    far_proof_put_below(w, o, "lowest", r.lowest, r.tightest);
    far_proof_put_above(w, o, "highest", r.highest, r.tightest);
    far_proof_put_below(w, o, "sup_found", r.found, r.found);
    far_proof_put(w, o, "ratio", r.found > 0 ? above / below : NAN);
}

void far_proof_put_witness(far_proof_out *w, json_t *o, far_proof_witness v, int64_t inputs)
{
    json_t *witness = v.direction ? json_object() : json_null();
    if (v.direction) {
        far_json_put(&w->json, witness, "direction", far_json_reals(&w->json, v.direction, inputs));
        far_proof_put(w, witness, "slope", v.slope);
        far_proof_put(w, witness, "order", v.order);
        far_proof_put(w, witness, "intercept", v.intercept);
        far_proof_put(w, witness, "confirmed", v.confirmed);
        far_proof_put(w, witness, "level", v.level);
        far_proof_put_above(w, witness, "beyond", v.beyond, v.beyond);
    }
    far_json_put(&w->json, o, "witness", witness);
}

far_status far_proof_write(far_proof_out *w, json_t *certificate, char **out)
{
    far_text text = {.ctx = w->json.ctx};
    far_status st = far_json_print(&w->json, certificate, JSON_INDENT(1), "the certificate", &text);
    *out = st == FAR_OK ? text.data : NULL;
    if (st != FAR_OK) {
        far_free(text.ctx, text.data);
    }
    return st;
}

/* ---- what is given ------------------------------------------------------------------------- */

far_status far_proof_parse(far_ctx *ctx, const char *json, json_t **out)
{
    far_json_mistake m;
    far_status st = far_json_parse(ctx, json, strlen(json), out, &m);
    if (st == FAR_ERR_FORMAT) {
        return far_fail(ctx, st, "the certificate is no JSON: line %d, column %d: %s", m.line,
                        m.column, m.text);
    }
    return st == FAR_OK && !json_is_object(*out) ? far_proof_malformed(ctx, "it is no object") : st;
}

far_status far_proof_malformed(far_ctx *ctx, const char *what)
{
    return far_fail(ctx, FAR_ERR_FORMAT, "this is no certificate of farfield: %s", what);
}

far_status far_proof_disagrees(far_ctx *ctx, const char *output, const char *what, double stated,
                               double found)
{
    return far_fail(ctx, FAR_ERR_VALUE, "%s: %s is stated as %.9g, but is %.9g", output, what,
                    stated, found);
}

far_status far_proof_check_format(far_ctx *ctx, const json_t *o, const char *format)
{
    const json_t *version = json_object_get(o, "version");
    json_int_t number = json_integer_value(version);
    if (!far_proof_says(o, "format", format)) {
        return far_fail(ctx, FAR_ERR_FORMAT,
                        "this is no certificate of farfield: its format is not \"%s\"", format);
    }
    if (!json_is_integer(version) || number < 1) {
        return far_proof_malformed(ctx, "its version is missing or no number");
    }
    if (number > FAR_PROOF_VERSION) {
        return far_fail(ctx, FAR_ERR_FORMAT,
                        "the certificate was written by a newer farfield; "
                        "update farfield to check it");
    }
    if (number < FAR_PROOF_VERSION) {
        return far_fail(ctx, FAR_ERR_FORMAT,
                        "the certificate is of version %lld, which states less than can be "
                        "checked; make it anew (farfield certify MODEL -o CERT)",
                        (long long)number);
    }
    return FAR_OK;
}

far_status far_proof_outputs(far_ctx *ctx, const json_t *o, int64_t count, const json_t **out)
{
    *out = json_object_get(o, "outputs");
    if (!json_is_array(*out) || (int64_t)json_array_size(*out) != count) {
        return far_proof_malformed(ctx, "the number of outputs is another");
    }
    for (int64_t j = 0; j < count; j++) {
        if (!json_is_object(json_array_get(*out, (size_t)j))) {
            return far_proof_malformed(ctx, "an output is no object");
        }
    }
    return FAR_OK;
}

/* null is NAN; false: something else. */
static bool read_number(const json_t *v, double *out)
{
    *out = json_is_number(v) ? json_number_value(v) : NAN;
    return json_is_number(v) || json_is_null(v);
}

far_status far_proof_stated(far_ctx *ctx, const json_t *o, const char *key, double *out)
{
    return read_number(json_object_get(o, key), out)
               ? FAR_OK
               : far_fail(ctx, FAR_ERR_FORMAT, "the certificate's %s is missing or no number", key);
}

far_status far_proof_stated_range(far_ctx *ctx, const json_t *o, far_proof_range *out)
{
    far_status st;
    FAR_TRY(far_proof_stated(ctx, o, "tightest", &out->tightest));
    FAR_TRY(far_proof_stated(ctx, o, "lowest", &out->lowest));
    FAR_TRY(far_proof_stated(ctx, o, "highest", &out->highest));
    FAR_TRY(far_proof_stated(ctx, o, "sup_found", &out->found));
    if (isnan(out->tightest) || isnan(out->lowest) || isnan(out->highest)) {
        FAR_TRY(far_proof_malformed(ctx, "tightest, lowest or highest is null"));
    }
done:
    return st;
}

far_status far_proof_stated_bound(far_ctx *ctx, const json_t *o, const char *method, double *out)
{
    const json_t *list = json_object_get(o, "proofs");
    *out = INFINITY;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        if (far_proof_says(one, "method", method)) {
            return far_proof_stated(ctx, one, "bound", out);
        }
    }
    return FAR_OK;
}

far_status far_proof_stated_flag(far_ctx *ctx, const json_t *o, const char *key, int32_t *out)
{
    const json_t *flag = json_object_get(o, key);
    *out = json_is_true(flag);
    return json_is_boolean(flag) ? FAR_OK
                                 : far_fail(ctx, FAR_ERR_FORMAT,
                                            "the certificate's %s is neither true nor false", key);
}

bool far_proof_says(const json_t *o, const char *key, const char *text)
{
    const char *stated = json_string_value(json_object_get(o, key));
    return stated && text && strcmp(stated, text) == 0;
}

bool far_proof_near(double a, double b)
{
    return a == b ||
           (isfinite(a) && isfinite(b) && fabs(a - b) <= FAR_PROOF_AGREES * fmax(fabs(a), fabs(b)));
}

/* Squares in long double: those of a double may leave its range. */
far_status far_proof_vector(far_ctx *ctx, const json_t *o, const char *key, int64_t count,
                            bool direction, double *out)
{
    long double square = 0;
    const json_t *list = json_object_get(o, key);
    if (!json_is_array(list) || (int64_t)json_array_size(list) != count) {
        return far_proof_malformed(ctx, "a point or direction has the wrong number of inputs");
    }
    for (int64_t i = 0; i < count; i++) {
        const json_t *v = json_array_get(list, (size_t)i);
        if (!json_is_number(v)) {
            return far_proof_malformed(ctx,
                                       "a point or direction holds something that is no number");
        }
        out[i] = json_number_value(v);
        square += (long double)out[i] * out[i];
    }
    return direction && !(fabsl(square - 1) <= 1e-9L)
               ? far_proof_malformed(ctx, "a direction is not of norm 1")
               : FAR_OK;
}

/* ---- what must fit ------------------------------------------------------------------------- */

far_status far_proof_check_proven(far_ctx *ctx, const char *output, far_proof_range stated,
                                  far_proof_range proven)
{
    if (!(stated.lowest <= proven.lowest)) {
        return far_proof_disagrees(ctx, output, "lowest", stated.lowest, proven.lowest);
    }
    if (!(stated.highest >= proven.highest)) {
        return far_proof_disagrees(ctx, output, "highest", stated.highest, proven.highest);
    }
    return stated.tightest >= proven.tightest
               ? FAR_OK
               : far_proof_disagrees(ctx, output, "the tightest bound", stated.tightest,
                                     proven.tightest);
}

far_status far_proof_check_range(far_ctx *ctx, const char *output, far_proof_range r, double value)
{
    double reach = fmax(fabs(r.lowest), fabs(r.highest));
    if (!(fabs(value) <= r.tightest || isnan(value)) || !(reach <= r.tightest)) {
        return far_proof_disagrees(ctx, output, "the tightest bound", r.tightest,
                                   fabs(value) > r.tightest ? fabs(value) : reach);
    }
    if (!(r.lowest <= value || isnan(value)) || !(r.lowest <= r.highest)) {
        return far_proof_disagrees(ctx, output, "lowest", r.lowest, fmin(value, r.highest));
    }
    return value > r.highest ? far_proof_disagrees(ctx, output, "highest", r.highest, value)
                             : FAR_OK;
}

far_status far_proof_check_found(far_ctx *ctx, const char *output, double stated, double value)
{
    double least = fabs(value) * (1 - 4 * FAR_PROOF_ROOM);
    return stated >= least && stated <= fabs(value)
               ? FAR_OK
               : far_proof_disagrees(ctx, output, "sup_found", stated, fabs(value));
}

/* ---- the comparison ------------------------------------------------------------------------ */

#define CLOSE_BY 1e-9

typedef enum rule {
    EXACT,   /* as any machine has it */
    CLOSE,   /* to what machines may round otherwise */
    SAME,    /* to FAR_PROOF_AGREES; what is no number exactly */
    UPPER,   /* an upper bound: not below what was proven again */
    FORMULA, /* an upper bound that has one value: not above it either, but for the room */
    LOWER,   /* a lower bound */
    TOLD     /* of the run that made it: not proven, and not below 0 */
} rule;

static const struct {
    const char *key;
    rule rule;
} RULES[] = {
    {"order", EXACT},  {"ridge", EXACT},  {"tightest", UPPER}, {"highest", UPPER},
    {"lowest", LOWER}, {"B1", FORMULA},   {"B2", FORMULA},     {"B3", FORMULA},
    {"bound", UPPER},  {"growth", UPPER}, {"offset", UPPER},   {"beyond", UPPER},
    {"gap", TOLD},     {"cells", TOLD},   {"finished", TOLD},  {"seconds", TOLD},
    {"null", CLOSE},   {"rank", EXACT},
};

static rule rule_of(const char *key)
{
    for (size_t i = 0; i < sizeof RULES / sizeof RULES[0]; i++) {
        if (strcmp(key, RULES[i].key) == 0) {
            return RULES[i].rule;
        }
    }
    return SAME;
}

typedef struct comparison {
    far_ctx *ctx;
    const char *output; /* whose fields these are */
    const char *key;
} comparison;

static far_status compare_values(comparison c, const json_t *stated, const json_t *own);

static bool holds(rule by, double stated, double own)
{
    switch (by) {
    case EXACT:
        return stated == own;
    case CLOSE:
        return fabs(stated - own) <= CLOSE_BY * fabs(own);
    case UPPER:
        return stated >= own;
    case FORMULA:
        return stated >= own && stated <= own * (1 + 4 * FAR_PROOF_ROOM);
    case LOWER:
        return stated <= own;
    case TOLD:
        return stated >= 0 && isfinite(stated);
    case SAME:
        break;
    }
    return far_proof_near(stated, own);
}

static bool same_kind(const json_t *a, const json_t *b)
{
    return json_is_boolean(a) ? json_is_boolean(b) : json_typeof(a) == json_typeof(b);
}

/* What we would write as an integer is one. */
static far_status compare_numbers(comparison c, const json_t *stated, const json_t *own)
{
    double said, is;
    (void)read_number(own, &is);
    bool number = read_number(stated, &said) && !isnan(said);
    if (!number || (json_is_integer(own) && !json_is_integer(stated))) {
        return far_fail(c.ctx, FAR_ERR_FORMAT, "%s: %s is not stated as a number", c.output, c.key);
    }
    return holds(rule_of(c.key), said, is) ? FAR_OK
                                           : far_proof_disagrees(c.ctx, c.output, c.key, said, is);
}

static far_status compare_others(comparison c, const json_t *stated, const json_t *own)
{
    bool told = rule_of(c.key) == TOLD && same_kind(stated, own);
    if (told || json_equal(stated, own)) {
        return FAR_OK;
    }
    if (json_is_string(stated) && json_is_string(own)) {
        char said[64];
        far_show(said, sizeof said, json_string_value(stated), (int64_t)json_string_length(stated));
        return far_fail(c.ctx, FAR_ERR_VALUE, "%s: the %s is stated as \"%s\", but is \"%.60s\"",
                        c.output, c.key, said, json_string_value(own));
    }
    return far_fail(c.ctx, FAR_ERR_VALUE, "%s: %s is not as stated", c.output, c.key);
}

static far_status compare_lists(comparison c, const json_t *stated, const json_t *own)
{
    if (!json_is_array(stated) || json_array_size(stated) != json_array_size(own)) {
        return far_fail(c.ctx, FAR_ERR_FORMAT, "%s: %s is no list of %zu", c.output, c.key,
                        json_array_size(own));
    }
    far_status st = FAR_OK;
    for (size_t i = 0; st == FAR_OK && i < json_array_size(own); i++) {
        st = compare_values(c, json_array_get(stated, i), json_array_get(own, i));
    }
    return st;
}

/* A field that we would not write, by name. */
static far_status refuse_others(comparison c, const json_t *stated, const json_t *own)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)stated, key, value)
    {
        if (!json_object_get(own, key)) {
            char shown[64];
            far_show(shown, sizeof shown, key, (int64_t)strlen(key));
            return far_fail(c.ctx, FAR_ERR_FORMAT,
                            "%s: the certificate has a field that is none of ours: \"%s\"",
                            c.output, shown);
        }
    }
    return FAR_OK;
}

static far_status compare_objects(comparison c, const json_t *stated, const json_t *own)
{
    const char *key, *output = json_string_value(json_object_get(own, "output"));
    json_t *value;
    far_status st = FAR_OK;
    c.output = output ? output : c.output;
    if (!json_is_object(stated)) {
        return far_fail(c.ctx, FAR_ERR_VALUE, "%s: there is no %s", c.output, c.key);
    }
    json_object_foreach((json_t *)own, key, value)
    {
        const json_t *said = json_object_get(stated, key);
        c.key = key;
        FAR_TRY(said ? compare_values(c, said, value)
                     : far_fail(c.ctx, FAR_ERR_FORMAT, "%s: %s is missing", c.output, key));
    }
    FAR_TRY(refuse_others(c, stated, own));
done:
    return st;
}

/* By the kind of what we would have written. */
static far_status compare_values(comparison c, const json_t *stated, const json_t *own)
{
    double number;
    if (json_is_object(own)) {
        return compare_objects(c, stated, own);
    }
    if (json_is_array(own)) {
        return compare_lists(c, stated, own);
    }
    bool is_number = read_number(own, &number) && !isnan(number);
    return is_number ? compare_numbers(c, stated, own) : compare_others(c, stated, own);
}

/* Word for word. */
static far_status compare_summary(far_ctx *ctx, const json_t *stated, const json_t *output)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)output, key, value)
    {
        if (!json_equal(json_object_get(stated, key), value)) {
            return far_fail(ctx, FAR_ERR_VALUE, "%s on top is not that of the output that decides",
                            key);
        }
    }
    return FAR_OK;
}

far_status far_proof_compare(far_ctx *ctx, const json_t *stated, const json_t *own,
                             int64_t deciding)
{
    comparison c = {.ctx = ctx, .output = "the certificate", .key = "certificate"};
    far_status st = compare_objects(c, stated, own);
    const json_t *outputs = json_object_get(stated, "outputs");
    return st == FAR_OK ? compare_summary(ctx, stated, json_array_get(outputs, (size_t)deciding))
                        : st;
}
