#include "json_text.h"

#include <math.h>
#include <string.h>

void far_json_put(far_json_out *w, json_t *object, const char *key, json_t *value)
{
    w->failed |= json_object_set_new(object, key, value) != 0;
}

void far_json_append(far_json_out *w, json_t *array, json_t *value)
{
    w->failed |= json_array_append_new(array, value) != 0;
}

json_t *far_json_real(double value)
{
    if (isnan(value)) {
        return json_null();
    }
    return isinf(value) ? json_string(value > 0 ? "inf" : "-inf") : json_real(value);
}

json_t *far_json_reals(far_json_out *w, const double *values, int64_t count)
{
    json_t *list = values ? json_array() : json_null();
    for (int64_t i = 0; values && i < count; i++) {
        far_json_append(w, list, far_json_real(values[i]));
    }
    return list;
}

json_t *far_json_word(far_json_out *w, const char *text)
{
    char *plain = NULL;
    if (!text || far_is_utf8(text)) {
        return text ? json_string(text) : json_null();
    }
    if (far_copy_text(w->ctx, text, (int64_t)strlen(text), &plain) != FAR_OK) {
        return NULL;
    }
    for (char *c = plain; *c; c++) {
        *c = *c & '\x80' ? '?' : *c;
    }
    json_t *made = json_string(plain);
    far_free(w->ctx, plain);
    return made;
}

json_t *far_json_bytes(far_json_out *w, const char *text)
{
    if (far_is_utf8(text)) {
        return json_string(text);
    }
    json_t *object = json_object();
    far_text t = {.ctx = w->ctx};
    for (const char *c = text; *c; c++) {
        far_text_add(&t, "%02x", (unsigned char)*c);
    }
    far_json_put(w, object, "hex", t.status == FAR_OK ? json_string(t.data) : NULL);
    far_free(w->ctx, t.data);
    return object;
}

json_t *far_json_words(far_json_out *w, char *const *texts, int64_t count)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < count; i++) {
        far_json_append(w, list, far_json_word(w, texts[i]));
    }
    return list;
}

static int add_piece(const char *bytes, size_t size, void *text)
{
    far_text *t = text;
    far_text_add(t, "%.*s", (int)size, bytes);
    return t->status == FAR_OK ? 0 : -1;
}

far_status far_json_print(const far_json_out *w, json_t *value, size_t layout, const char *what,
                          far_text *out)
{
    const size_t digits_that_keep_every_bit = JSON_REAL_PRECISION(17);
    bool done = value && !w->failed &&
                json_dump_callback(value, add_piece, out, layout | digits_that_keep_every_bit) == 0;
    json_decref(value);
    if (done || out->status != FAR_OK) {
        return out->status;
    }
    return far_fail(out->ctx, FAR_ERR_MEMORY, "out of memory writing %s", what);
}
