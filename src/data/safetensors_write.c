/* Writing safetensors files: metadata first, wide tensors before narrow ones, no hole. */
#include "json_text.h"
#include "safetensors.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define ALIGNMENT 8
#define CHUNK 4096

/* ---- which type ---------------------------------------------------------------------------- */

static int64_t value_count(const far_tensor_out *t)
{
    int64_t count = 1;
    for (int i = 0; i < t->dims; i++) {
        count *= t->shape[i];
    }
    return count;
}

static bool is_narrow(double value)
{
    return !isfinite(value) || (fabs(value) <= FLT_MAX && (double)(float)value == value);
}

/* Bytes of a value. */
static size_t width_of(const far_tensor_out *t)
{
    for (int64_t i = 0; i < value_count(t); i++) {
        if (!is_narrow(t->values[i])) {
            return sizeof(double);
        }
    }
    return sizeof(float);
}

/* ---- the header ---------------------------------------------------------------------------- */

static far_status put_metadata(far_json_out *w, json_t *header, const far_pair *pairs,
                               int64_t count)
{
    json_t *object = json_object();
    far_pair seal[FAR_SEAL_PAIRS];
    far_seal_pairs(seal);
    far_json_put(w, header, "__metadata__", object);
    for (int64_t i = 0; i < count; i++) {
        if (!far_is_utf8(pairs[i].key) || !far_is_utf8(pairs[i].value)) {
            char shown[64];
            far_show(shown, sizeof shown, pairs[i].key, (int64_t)strlen(pairs[i].key));
            return far_fail(w->ctx, FAR_ERR_ARG, "metadata: '%s' and its text must be UTF-8",
                            shown);
        }
        far_json_put(w, w->failed ? NULL : object, pairs[i].key, json_string(pairs[i].value));
    }
    for (int i = 0; i < FAR_SEAL_PAIRS; i++) {
        far_json_put(w, w->failed ? NULL : object, seal[i].key, json_string(seal[i].value));
    }
    return FAR_OK;
}

static json_t *write_entry(far_json_out *w, const far_tensor_out *t, size_t width, int64_t start)
{
    json_t *entry = json_object(), *shape = json_array(), *offsets = json_array();
    for (int i = 0; i < t->dims; i++) {
        far_json_append(w, shape, json_integer(t->shape[i]));
    }
    far_json_append(w, offsets, json_integer(start));
    far_json_append(w, offsets, json_integer(start + value_count(t) * (int64_t)width));
    far_json_put(w, entry, "dtype", json_string(width == sizeof(double) ? "F64" : "F32"));
    far_json_put(w, entry, "shape", shape);
    far_json_put(w, entry, "data_offsets", offsets);
    return entry;
}

static void put_entries(far_json_out *w, json_t *header, const far_tensor_out *tensors,
                        const size_t *widths, int64_t count, size_t width, int64_t *at)
{
    for (int64_t i = 0; i < count; i++) {
        if (widths[i] == width) {
            far_json_put(w, header, tensors[i].name, write_entry(w, &tensors[i], width, *at));
            *at += value_count(&tensors[i]) * (int64_t)width;
        }
    }
}

static far_status print_header(const far_json_out *w, json_t *header, far_text *out)
{
    far_status st = far_json_print(w, header, JSON_COMPACT, "the header", out);
    far_text_add(out, "%*s", (int)(-out->length & (ALIGNMENT - 1)), "");
    return st == FAR_OK ? out->status : st;
}

static far_status make_header(const far_tensor_out *tensors, const size_t *widths, int64_t count,
                              const far_pair *metadata, int64_t metadata_count, far_text *out)
{
    int64_t at = 0;
    far_json_out w = {.ctx = out->ctx};
    json_t *header = json_object();
    far_status st = put_metadata(&w, header, metadata, metadata_count);
    if (st != FAR_OK) {
        json_decref(header);
        return st;
    }
    put_entries(&w, header, tensors, widths, count, sizeof(double), &at);
    put_entries(&w, header, tensors, widths, count, sizeof(float), &at);
    return print_header(&w, header, out);
}

/* ---- the bytes ----------------------------------------------------------------------------- */

/* Where bytes go: into the checksum first, then into the file. */
typedef struct target {
    far_sha256 *sum; /* NULL: the file */
    far_output *o;
} target;

static void put_bytes(const target *to, const void *data, size_t bytes)
{
    if (to->sum) {
        far_sha256_add(to->sum, data, bytes);
    } else {
        far_output_put(to->o, data, bytes);
    }
}

static void put_header(const target *to, const far_text *header)
{
    unsigned char length[8];
    for (size_t i = 0; i < sizeof length; i++) {
        length[i] = (unsigned char)((uint64_t)header->length >> (8 * i));
    }
    put_bytes(to, length, sizeof length);
    put_bytes(to, header->data, (size_t)header->length);
}

static void put_narrow(const target *to, const double *values, int64_t count)
{
    float chunk[CHUNK];
    for (int64_t i = 0; i < count; i += CHUNK) {
        int64_t here = count - i < CHUNK ? count - i : CHUNK;
        for (int64_t j = 0; j < here; j++) {
            chunk[j] = (float)values[i + j];
        }
        put_bytes(to, chunk, (size_t)here * sizeof *chunk);
    }
}

static void put_values(const target *to, const far_tensor_out *tensors, const size_t *widths,
                       int64_t count, size_t width)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t values = value_count(&tensors[i]);
        if (widths[i] != width) {
            continue;
        }
        if (width == sizeof(double)) {
            put_bytes(to, tensors[i].values, (size_t)values * sizeof(double));
        } else {
            put_narrow(to, tensors[i].values, values);
        }
    }
}

static void put_all(const target *to, const far_text *header, const far_tensor_out *tensors,
                    const size_t *widths, int64_t count)
{
    put_header(to, header);
    put_values(to, tensors, widths, count, sizeof(double));
    put_values(to, tensors, widths, count, sizeof(float));
}

/* The checksum stands in front of what it is of: one pass over memory is cheap. */
static void seal(far_text *header, const far_tensor_out *tensors, const size_t *widths,
                 int64_t count)
{
    far_sha256 h;
    char digits[FAR_HASH_TEXT];
    target to = {.sum = &h};
    far_sha256_init(&h);
    put_all(&to, header, tensors, widths, count);
    far_sha256_finish(&h, digits);
    far_seal_put(header->data, header->length, digits);
}

far_status far_safetensors_write(far_output *o, const far_tensor_out *tensors, int64_t count,
                                 const far_pair *metadata, int64_t metadata_count)
{
    far_status st;
    size_t *widths = NULL;
    far_text header = {.ctx = o->ctx};
    FAR_TRY(far_alloc(o->ctx, count, &widths));
    for (int64_t i = 0; i < count; i++) {
        widths[i] = width_of(&tensors[i]);
    }
    FAR_TRY(make_header(tensors, widths, count, metadata, metadata_count, &header));
    seal(&header, tensors, widths, count);
    target to = {.o = o};
    put_all(&to, &header, tensors, widths, count);
done:
    far_free(o->ctx, widths);
    far_free(o->ctx, header.data);
    return st;
}
