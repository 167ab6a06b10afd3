/* Checked values out of JSON. */
#include "json_value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

far_status far_json_fail(const far_json *j, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return far_input_fail(j->in, FAR_ERR_FORMAT, "%s%s", j->place, text);
}

far_status far_json_get(const far_json *j, const char *key, const json_t **out)
{
    *out = json_object_get(j->object, key);
    return *out ? FAR_OK : far_json_fail(j, "\"%s\" is missing", key);
}

far_status far_json_list(const far_json *j, const char *key, const json_t **out, int64_t *count)
{
    far_status st = far_json_get(j, key, out);
    *count = st == FAR_OK ? (int64_t)json_array_size(*out) : 0;
    return st == FAR_OK && !json_is_array(*out) ? far_json_fail(j, "\"%s\" is not a list", key)
                                                : st;
}

far_status far_json_enter(const far_json *j, const char *key, far_json *out)
{
    const json_t *object;
    far_status st = far_json_get(j, key, &object);
    if (st == FAR_OK && !json_is_object(object)) {
        return far_json_fail(j, "\"%s\" is not an object", key);
    }
    *out = (far_json){.in = j->in, .object = object};
    snprintf(out->place, sizeof out->place, "%.32s%.24s: ", j->place, key);
    return st;
}

far_status far_json_element(const far_json *j, const char *key, const json_t *list, int64_t i,
                            far_json *out)
{
    const json_t *object = json_array_get(list, (size_t)i);
    if (!json_is_object(object)) {
        return far_json_fail(j, "\"%s\"[%lld] is not an object", key, (long long)i);
    }
    *out = (far_json){.in = j->in, .object = object};
    snprintf(out->place, sizeof out->place, "%.16s%.20s[%lld]: ", j->place, key, (long long)i);
    return FAR_OK;
}

/* ---- numbers ---- */

far_status far_json_flag(const far_json *j, const char *key, int32_t *out)
{
    const json_t *value;
    far_status st = far_json_get(j, key, &value);
    if (st == FAR_OK && !json_is_boolean(value)) {
        return far_json_fail(j, "\"%s\" is neither true nor false", key);
    }
    *out = json_is_true(value);
    return st;
}

far_status far_json_count(const far_json *j, const char *key, int64_t *out)
{
    const json_t *value;
    far_status st = far_json_get(j, key, &value);
    *out = json_integer_value(value);
    if (st == FAR_OK && (!json_is_integer(value) || *out < 0)) {
        return far_json_fail(j, "\"%s\" is not a count", key);
    }
    return st;
}

far_status far_json_number(const far_json *j, const char *key, double *out)
{
    const json_t *value;
    far_status st = far_json_get(j, key, &value);
    if (st == FAR_OK && !json_is_number(value) && !json_is_null(value)) {
        return far_json_fail(j, "\"%s\" is not a number", key);
    }
    *out = json_is_number(value) ? json_number_value(value) : NAN;
    return st;
}

static far_status copy_numbers(const far_json *j, const char *key, const json_t *list,
                               bool positive, double *out)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *value = json_array_get(list, i);
        out[i] = json_number_value(value);
        if (!json_is_number(value)) {
            return far_json_fail(j, "\"%s\"[%zu] is not a number", key, i);
        }
        if (positive && !(out[i] > 0)) {
            return far_json_fail(j, "\"%s\"[%zu] is %g, not above 0", key, i, out[i]);
        }
    }
    return FAR_OK;
}

/* The length is compared before anything is allocated: count may be anything. */
far_status far_json_numbers(const far_json *j, const char *key, int64_t count, bool positive,
                            double **out)
{
    far_status st;
    const json_t *list;
    int64_t there;
    FAR_TRY(far_json_list(j, key, &list, &there));
    if (there != count) {
        return far_json_fail(j, "\"%s\" has %lld entries where %lld were announced", key,
                             (long long)there, (long long)count);
    }
    FAR_TRY(far_alloc(j->in->ctx, count, out));
    FAR_TRY(copy_numbers(j, key, list, positive, *out));
done:
    return st;
}

/* ---- choices ---- */

/* "is not ntk or standard" */
static far_status fail_choice(const far_json *j, const char *key, const far_choices *c)
{
    char text[64];
    size_t used = 0;
    for (int i = 0; i < c->count; i++) {
        if (c->names[i]) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used ? " or " : "",
                                     c->names[i]);
        }
    }
    return far_json_fail(j, "\"%s\" is not %s", key, text);
}

far_status far_json_choice(const far_json *j, const char *key, const far_choices *c, int32_t *out)
{
    const json_t *value;
    far_status st = far_json_get(j, key, &value);
    const char *text = json_string_value(value);
    for (int32_t i = 0; text && i < c->count; i++) {
        if (c->names[i] && strcmp(text, c->names[i]) == 0) {
            *out = i;
            return FAR_OK;
        }
    }
    return st == FAR_OK ? fail_choice(j, key, c) : st;
}

/* ---- texts ---- */

static int hex_value(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Replaces pairs of digits by the bytes they stand for; false if there are others, or a zero. */
static bool unhex(char *text, size_t length)
{
    if (length % 2 != 0) {
        return false;
    }
    for (size_t i = 0; i < length; i += 2) {
        int high = hex_value(text[i]), low = hex_value(text[i + 1]);
        if (high < 0 || low < 0 || (high | low) == 0) {
            return false;
        }
        text[i / 2] = (char)(high << 4 | low);
    }
    text[length / 2] = 0;
    return true;
}

/* false: value is neither a text nor hexadecimal, or *st says what failed. */
static bool copy_text(far_ctx *ctx, const json_t *value, char **out, far_status *st)
{
    const json_t *hex = json_object_get(value, "hex"); /* NULL if value is no object */
    const json_t *text = hex ? hex : value;
    if (!json_is_string(text)) {
        return false;
    }
    size_t length = json_string_length(text);
    *st = far_copy_text(ctx, json_string_value(text), (int64_t)length, out);
    return *st == FAR_OK && (!hex || unhex(*out, length));
}

far_status far_json_text(const far_json *j, const char *key, char **out)
{
    const json_t *value;
    far_status st = far_json_get(j, key, &value);
    if (st == FAR_OK && !copy_text(j->in->ctx, value, out, &st) && st == FAR_OK) {
        st = far_json_fail(j, "\"%s\" is not a text", key);
    }
    return st;
}

/* *out and *count belong together from the start, so that whoever owns them can free. */
far_status far_json_texts(const far_json *j, const char *key, char ***out, int64_t *count)
{
    far_status st;
    const json_t *list;
    int64_t size;
    FAR_TRY(far_json_list(j, key, &list, &size));
    FAR_TRY(far_alloc(j->in->ctx, size, out));
    *count = size;
    for (size_t i = 0; i < (size_t)size; i++) {
        if (!copy_text(j->in->ctx, json_array_get(list, i), &(*out)[i], &st)) {
            return st == FAR_OK ? far_json_fail(j, "\"%s\"[%zu] is not a text", key, i) : st;
        }
    }
done:
    return st;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

far_status far_json_distinct(const far_json *j, const char *key, const char **texts, int64_t count)
{
    qsort(texts, (size_t)count, sizeof *texts, by_text);
    for (int64_t i = 1; i < count; i++) {
        if (strcmp(texts[i - 1], texts[i]) == 0) {
            char shown[64];
            far_show(shown, sizeof shown, texts[i], (int64_t)strlen(texts[i]));
            return far_json_fail(j, "\"%s\" has '%s' twice", key, shown);
        }
    }
    return FAR_OK;
}

far_status far_json_names(const far_json *j, const char *key, char ***out, int64_t *count)
{
    far_status st;
    const char **sorted = NULL;
    FAR_TRY(far_json_texts(j, key, out, count));
    FAR_TRY(far_alloc(j->in->ctx, *count, &sorted));
    memcpy(sorted, *out, (size_t)*count * sizeof *sorted);
    FAR_TRY(far_json_distinct(j, key, sorted, *count));
done:
    far_free(j->in->ctx, sorted);
    return st;
}

far_status far_json_load(far_json *j, json_t **out)
{
    far_json_mistake m;
    const far_input *in = j->in;
    far_status st = far_json_parse(in->ctx, (const char *)in->data, (size_t)in->size, out, &m);
    if (st != FAR_OK) {
        return st == FAR_ERR_FORMAT
                   ? far_json_fail(j, "line %d, column %d: %s", m.line, m.column, m.text)
                   : far_label_failure(in->ctx, st, in->label);
    }
    j->object = *out;
    return json_is_object(*out) ? FAR_OK : far_json_fail(j, "is not an object");
}
