#include "proof_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing ------------------------------------------------------------------------------- */

json_t *far_proof_number(double value)
{
    if (isnan(value)) {
        return json_null();
    }
    return isinf(value) ? json_string(value > 0 ? "inf" : "-inf") : json_real(value);
}

json_t *far_proof_numbers(const double *values, int64_t count)
{
    json_t *list = values ? json_array() : json_null();
    for (int64_t i = 0; values && list && i < count; i++) {
        json_array_append_new(list, far_proof_number(values[i]));
    }
    return list;
}

far_status far_proof_write(far_ctx *ctx, json_t *certificate, char **out)
{
    char *text =
        certificate ? json_dumps(certificate, JSON_INDENT(1) | JSON_REAL_PRECISION(17)) : NULL;
    far_status st = text ? far_copy_text(ctx, text, (int64_t)strlen(text), out)
                         : far_fail(ctx, FAR_ERR_MEMORY, "out of memory writing the certificate");
    free(text);
    json_decref(certificate);
    return st;
}

/* ---- checking ------------------------------------------------------------------------------ */

json_t *far_proof_parse(far_ctx *ctx, const char *json)
{
    json_error_t error;
    json_t *o = json_loads(json, JSON_REJECT_DUPLICATES, &error);
    if (!o) {
        (void)far_fail(ctx, FAR_ERR_FORMAT, "the certificate is no JSON: line %d: %.80s",
                       error.line, error.text);
    }
    return o;
}

far_status far_proof_malformed(far_ctx *ctx, const char *what)
{
    return far_fail(ctx, FAR_ERR_FORMAT, "this is no certificate of farfield: %s", what);
}

bool far_proof_read(const json_t *o, const char *key, double *out)
{
    const json_t *v = json_object_get(o, key);
    const char *text = json_string_value(v);
    *out = json_is_number(v)                   ? json_number_value(v)
           : text && strcmp(text, "inf") == 0  ? INFINITY
           : text && strcmp(text, "-inf") == 0 ? -INFINITY
                                               : NAN;
    return !isnan(*out);
}

far_status far_proof_stated(far_ctx *ctx, const json_t *o, const char *key, double *out)
{
    return far_proof_read(o, key, out)
               ? FAR_OK
               : far_fail(ctx, FAR_ERR_FORMAT, "the certificate's %s is missing or no number", key);
}

bool far_proof_near(double a, double b)
{
    return a == b ||
           (isfinite(a) && isfinite(b) && fabs(a - b) <= FAR_PROOF_AGREES * fmax(fabs(a), fabs(b)));
}

far_status far_proof_disagrees(far_ctx *ctx, const char *output, const char *what, double stated,
                               double found)
{
    return far_fail(ctx, FAR_ERR_VALUE, "%s: %s is stated as %.9g, but is %.9g", output, what,
                    stated, found);
}

far_status far_proof_check(far_ctx *ctx, const json_t *o, const char *output, const char *key,
                           double own)
{
    double stated;
    if (isnan(own) && json_is_null(json_object_get(o, key))) {
        return FAR_OK;
    }
    far_status st = far_proof_stated(ctx, o, key, &stated);
    return st != FAR_OK || far_proof_near(stated, own)
               ? st
               : far_proof_disagrees(ctx, output, key, stated, own);
}

far_status far_proof_vector(far_ctx *ctx, const json_t *list, int64_t count, bool direction,
                            double *out)
{
    double square = 0;
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
        square += out[i] * out[i];
    }
    return direction && !far_proof_near(square, 1)
               ? far_proof_malformed(ctx, "a direction is not of norm 1")
               : FAR_OK;
}

far_status far_proof_summary(far_ctx *ctx, const json_t *o, const json_t *outputs,
                             bool (*is_worse)(const json_t *a, const json_t *than))
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
            return far_fail(ctx, FAR_ERR_VALUE,
                            "%.60s on top is not that of the output that decides", key);
        }
    }
    return FAR_OK;
}
