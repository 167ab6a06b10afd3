/* Reading safetensors files: nothing is believed before it is checked. */
#define _GNU_SOURCE
#include "safetensors.h"
#include "json_text.h"

#include <stdlib.h>
#include <string.h>

#define LENGTH_BYTES 8
#define HEADER_MOST 100000000 /* as in the published package */
#define SHOWN_BYTES 96
#define METADATA "__metadata__"

far_status far_tensor_fail(const far_input *in, far_status status, const char *name,
                           const char *format, ...)
{
    char text[1024], shown[SHOWN_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    far_show(shown, sizeof shown, name, (int64_t)strlen(name));
    return far_input_fail(in, status, "tensor '%s': %s", shown, text);
}

/* ---- files of other formats ---------------------------------------------------------------- */

#define IN_PYTHON "in Python: safetensors.torch.save_file(model.state_dict(), 'net.safetensors')"

typedef struct magic {
    const char *bytes;
    size_t length;
    const char *message;
} magic;

static const magic OTHERS[] = {
    {"\x80\2", 2, "is a torch.save file; " IN_PYTHON},
    {"\x80\3", 2, "is a pickle; " IN_PYTHON},
    {"\x80\4", 2, "is a pickle; " IN_PYTHON},
    {"\x80\5", 2, "is a pickle; " IN_PYTHON},
    {"\x93NUMPY", 6, "is one NumPy array (npy); a network has several, in a safetensors file"},
    {"\x89HDF\r\n\x1A\n", 8,
     "is an HDF5 file (Keras writes those); in Python: "
     "safetensors.numpy.save_file({'0.weight': array, ...}, 'net.safetensors')"},
    {"\x1F\x8B", 2, "is gzipped; unpack it first (gunzip)"},
    {"GGUF", 4, "is a GGUF file; networks are read from safetensors files"},
};

static bool holds(const far_input *in, const char *text)
{
    return memmem(in->data, (size_t)in->size, text, strlen(text)) != NULL;
}

/* Names of members stand in a zip as they are. */
static const char *name_zip(const far_input *in)
{
    if (holds(in, "/data.pkl")) {
        return "is a torch.save file; " IN_PYTHON;
    }
    if (holds(in, "manifest.json")) {
        return "is a farfield model, made by farfield fit; a finite network is made by farfield "
               "train and kept in a safetensors file";
    }
    if (holds(in, ".npy")) {
        return "is an npz of NumPy arrays; in Python: "
               "safetensors.numpy.save_file(dict(numpy.load('net.npz')), 'net.safetensors')";
    }
    return "is a zip file, not a safetensors file";
}

static const char *name_format(const far_input *in)
{
    if (far_npz_is(in)) {
        return name_zip(in);
    }
    for (size_t i = 0; i < sizeof OTHERS / sizeof OTHERS[0]; i++) {
        if ((size_t)in->size >= OTHERS[i].length &&
            memcmp(in->data, OTHERS[i].bytes, OTHERS[i].length) == 0) {
            return OTHERS[i].message;
        }
    }
    return NULL;
}

/* ---- where the header is ------------------------------------------------------------------- */

static uint64_t header_length(const far_input *in)
{
    uint64_t length = 0;
    for (int i = 0; i < LENGTH_BYTES; i++) {
        length |= (uint64_t)in->data[i] << (8 * i);
    }
    return length;
}

static far_status check_start(const far_input *in)
{
    const char *other = name_format(in);
    bool opens = in->size > LENGTH_BYTES && in->data[LENGTH_BYTES] == '{';
    if (in->size == 0) {
        return far_input_fail(in, FAR_ERR_FORMAT, "is empty");
    }
    if (!opens && other) {
        return far_input_fail(in, FAR_ERR_FORMAT, "%s", other);
    }
    if (in->size <= LENGTH_BYTES) {
        return far_input_fail(in, FAR_ERR_FORMAT,
                              "is truncated, or no safetensors file: it has %lld byte%s only",
                              (long long)in->size, far_plural(in->size));
    }
    if (!opens) {
        return far_input_fail(in, FAR_ERR_FORMAT,
                              "is not a safetensors file (those start with eight bytes and a {)");
    }
    return FAR_OK;
}

static far_status find_header(const far_input *in, int64_t *length)
{
    far_status st = check_start(in);
    if (st != FAR_OK) {
        return st;
    }
    uint64_t says = header_length(in), there = (uint64_t)in->size - LENGTH_BYTES;
    if (says > HEADER_MOST) {
        return far_input_fail(in, FAR_ERR_FORMAT,
                              "is damaged: its header would take %llu bytes, and %d are the most",
                              (unsigned long long)says, HEADER_MOST);
    }
    if (says > there) {
        return far_input_fail(in, FAR_ERR_FORMAT,
                              "is truncated: its header takes %llu bytes, but only %llu follow",
                              (unsigned long long)says, (unsigned long long)there);
    }
    *length = (int64_t)says;
    return FAR_OK;
}

static far_status load_json(const far_input *in, int64_t length, json_t **out)
{
    far_json_mistake m;
    const char *text = (const char *)in->data + LENGTH_BYTES;
    far_status st = far_json_parse(in->ctx, text, (size_t)length, out, &m);
    if (st == FAR_ERR_FORMAT) {
        return far_input_fail(in, st, "header: byte %lld: %s", (long long)m.position, m.text);
    }
    return st == FAR_OK ? st : far_label_failure(in->ctx, st, in->label);
}

/* ---- metadata ------------------------------------------------------------------------------ */

static far_status read_metadata(far_safetensors *f, json_t *object)
{
    const char *key;
    json_t *value;
    if (!json_is_object(object)) {
        return far_input_fail(&f->in, FAR_ERR_FORMAT, "header: " METADATA " is not an object");
    }
    far_status st = far_alloc(f->in.ctx, (int64_t)json_object_size(object), &f->metadata);
    if (st != FAR_OK) {
        return st;
    }
    json_object_foreach(object, key, value)
    {
        char shown[SHOWN_BYTES];
        if (!json_is_string(value)) {
            far_show(shown, sizeof shown, key, (int64_t)strlen(key));
            return far_input_fail(&f->in, FAR_ERR_FORMAT,
                                  "header: " METADATA ": '%s' is not a text", shown);
        }
        f->metadata[f->metadata_count++] = (far_pair){key, json_string_value(value)};
    }
    return FAR_OK;
}

const char *far_safetensors_text(const far_safetensors *f, const char *key)
{
    for (int64_t i = 0; i < f->metadata_count; i++) {
        if (strcmp(f->metadata[i].key, key) == 0) {
            return f->metadata[i].value;
        }
    }
    return NULL;
}

/* ---- one tensor ---------------------------------------------------------------------------- */

typedef struct dtype {
    const char *name;
    char kind; /* as in far_stored */
    int size;
} dtype;

static const dtype DTYPES[] = {{"F64", 'f', 8}, {"F32", 'f', 4}, {"F16", 'f', 2}, {"BF16", 'B', 2},
                               {"I64", 'i', 8}, {"I32", 'i', 4}, {"I16", 'i', 2}, {"I8", 'i', 1},
                               {"U64", 'u', 8}, {"U32", 'u', 4}, {"U16", 'u', 2}, {"U8", 'u', 1},
                               {"BOOL", 'b', 1}};

static const json_t *get(const json_t *object, const char *key)
{
    return json_object_get(object, key);
}

static far_status read_dtype(const far_input *in, const json_t *object, far_tensor *t)
{
    char shown[32];
    const char *name = json_string_value(get(object, "dtype"));
    if (!name) {
        return far_tensor_fail(in, FAR_ERR_FORMAT, t->name, "its dtype is missing, or not a text");
    }
    for (size_t i = 0; i < sizeof DTYPES / sizeof DTYPES[0]; i++) {
        if (strcmp(DTYPES[i].name, name) == 0) {
            t->values.kind = DTYPES[i].kind;
            t->values.size = DTYPES[i].size;
            return FAR_OK;
        }
    }
    far_show(shown, sizeof shown, name, (int64_t)strlen(name));
    return far_tensor_fail(in, FAR_ERR_FORMAT, t->name,
                           "values of type %s cannot be read; save it as F32 (model.float())",
                           shown);
}

/* An integer from 0 on; -1 for anything else. */
static int64_t read_count(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0 ? json_integer_value(value)
                                                                    : -1;
}

static far_status read_shape(const far_input *in, const json_t *object, far_tensor *t)
{
    const json_t *list = get(object, "shape");
    size_t dims = json_array_size(list);
    if (!json_is_array(list)) {
        return far_tensor_fail(in, FAR_ERR_FORMAT, t->name, "its shape is missing, or not a list");
    }
    if (dims > FAR_TENSOR_DIMS) {
        return far_tensor_fail(in, FAR_ERR_FORMAT, t->name,
                               "has %zu dimensions; at most %d can be read", dims, FAR_TENSOR_DIMS);
    }
    for (size_t i = 0; i < dims; i++) {
        t->shape[i] = read_count(json_array_get(list, i));
        if (t->shape[i] < 0) {
            return far_tensor_fail(in, FAR_ERR_FORMAT, t->name,
                                   "its shape holds something that is not a count");
        }
    }
    t->dims = (int)dims;
    return FAR_OK;
}

void far_tensor_shape(const far_tensor *t, char out[FAR_SHAPE_BYTES])
{
    size_t used = 0;
    snprintf(out, FAR_SHAPE_BYTES, "a single number");
    for (int i = 0; i < t->dims; i++) {
        used += (size_t)snprintf(out + used, FAR_SHAPE_BYTES - used, "%s%lld", i ? " x " : "",
                                 (long long)t->shape[i]);
    }
}

static bool tensor_bytes(const far_tensor *t, int64_t *bytes)
{
    *bytes = t->values.size;
    for (int i = 0; i < t->dims; i++) {
        if (__builtin_mul_overflow(*bytes, t->shape[i], bytes)) {
            return false;
        }
    }
    return true;
}

static far_status read_offsets(const far_input *in, const json_t *object, int64_t data_bytes,
                               const far_tensor *t, int64_t offsets[2])
{
    const json_t *list = get(object, "data_offsets");
    offsets[0] = read_count(json_array_get(list, 0));
    offsets[1] = read_count(json_array_get(list, 1));
    if (json_array_size(list) != 2 || offsets[0] < 0 || offsets[1] < offsets[0]) {
        return far_tensor_fail(in, FAR_ERR_FORMAT, t->name,
                               "its data_offsets are not two counts, the second at least the "
                               "first");
    }
    if (offsets[1] > data_bytes) {
        return far_tensor_fail(in, FAR_ERR_FORMAT, t->name,
                               "ends at byte %lld of the data, but there are %lld: the file is "
                               "truncated",
                               (long long)offsets[1], (long long)data_bytes);
    }
    return FAR_OK;
}

static far_status check_bytes(const far_input *in, const far_tensor *t, int64_t there)
{
    int64_t bytes = 0;
    char shape[FAR_SHAPE_BYTES];
    far_tensor_shape(t, shape);
    if (!tensor_bytes(t, &bytes)) {
        return far_tensor_fail(in, FAR_ERR_FORMAT, t->name, "a shape of %s is too large for a file",
                               shape);
    }
    if (bytes != there) {
        return far_tensor_fail(in, FAR_ERR_FORMAT, t->name,
                               "%s values of %lld byte%s take %lld, but it has %lld",
                               t->dims ? shape : "1", (long long)t->values.size,
                               far_plural(t->values.size), (long long)bytes, (long long)there);
    }
    return FAR_OK;
}

static void place_values(far_tensor *t, const unsigned char *data, int64_t bytes)
{
    bool matrix = t->dims == 2;
    t->values.data = data;
    t->values.dims = 2;
    t->values.rows = matrix ? t->shape[0] : 1;
    t->values.cols = matrix ? t->shape[1] : bytes / t->values.size;
    t->values.swapped = __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__;
}

static far_status read_tensor(const far_input *in, const json_t *object, int64_t data_start,
                              far_tensor *t)
{
    far_status st;
    int64_t offsets[2];
    if (!json_is_object(object)) {
        return far_tensor_fail(in, FAR_ERR_FORMAT, t->name, "its entry is not an object");
    }
    FAR_TRY(read_dtype(in, object, t));
    FAR_TRY(read_shape(in, object, t));
    FAR_TRY(read_offsets(in, object, in->size - data_start, t, offsets));
    FAR_TRY(check_bytes(in, t, offsets[1] - offsets[0]));
    place_values(t, in->data + data_start + offsets[0], offsets[1] - offsets[0]);
done:
    return st;
}

/* ---- all tensors --------------------------------------------------------------------------- */

static const unsigned char *end_of(const far_tensor *t)
{
    return t->values.data + t->values.rows * t->values.cols * t->values.size;
}

static int by_place(const void *a, const void *b)
{
    const far_tensor *x = a, *y = b;
    int starts = (x->values.data > y->values.data) - (x->values.data < y->values.data);
    return starts ? starts : (end_of(x) > end_of(y)) - (end_of(x) < end_of(y));
}

/* One after the other, from the first byte to the last. */
static far_status check_places(const far_safetensors *f, int64_t data_start)
{
    const unsigned char *start = f->in.data + data_start, *next = start;
    for (int64_t i = 0; i < f->tensor_count; i++) {
        const far_tensor *t = &f->tensors[i];
        if (t->values.data != next) {
            return far_tensor_fail(
                &f->in, FAR_ERR_FORMAT, t->name,
                "starts at byte %lld of the data, but byte %lld is next: they %s",
                (long long)(t->values.data - start), (long long)(next - start),
                t->values.data < next ? "overlap" : "leave a hole");
        }
        next = end_of(t);
    }
    int64_t left = f->in.size - (next - f->in.data);
    if (left > 0) {
        return far_input_fail(&f->in, FAR_ERR_FORMAT, "has %lld byte%s behind its last tensor",
                              (long long)left, far_plural(left));
    }
    return FAR_OK;
}

static far_status read_tensors(far_safetensors *f, int64_t data_start)
{
    far_status st;
    const char *key;
    json_t *value;
    FAR_TRY(far_alloc(f->in.ctx, (int64_t)json_object_size(f->header), &f->tensors));
    json_object_foreach(f->header, key, value)
    {
        if (strcmp(key, METADATA) != 0) {
            far_tensor *t = &f->tensors[f->tensor_count++];
            *t = (far_tensor){.name = key};
            FAR_TRY(read_tensor(&f->in, value, data_start, t));
        }
    }
    qsort(f->tensors, (size_t)f->tensor_count, sizeof *f->tensors, by_place);
    FAR_TRY(check_places(f, data_start));
done:
    return st;
}

/* ---- the whole ----------------------------------------------------------------------------- */

static far_status parse(far_safetensors *f)
{
    far_status st;
    int64_t length = 0;
    FAR_TRY(find_header(&f->in, &length));
    FAR_TRY(load_json(&f->in, length, &f->header));
    json_t *metadata = json_object_get(f->header, METADATA);
    if (metadata) {
        FAR_TRY(read_metadata(f, metadata));
        FAR_TRY(far_safetensors_check_seal(f));
    }
    FAR_TRY(read_tensors(f, LENGTH_BYTES + length));
done:
    return st;
}

far_status far_safetensors_load(far_ctx *ctx, const char *path, far_safetensors *out)
{
    far_status st = far_input_load(ctx, path, &out->in);
    if (st == FAR_OK) {
        st = parse(out);
    }
    return far_label_failure(ctx, st, out->in.label);
}

far_status far_safetensors_parse_bytes(far_ctx *ctx, const char *label, const void *data,
                                       int64_t size, far_safetensors *out)
{
    far_status st = far_input_copy(ctx, label, data, size, &out->in);
    if (st == FAR_OK) {
        st = parse(out);
    }
    return far_label_failure(ctx, st, out->in.label);
}

void far_safetensors_clear(far_safetensors *f)
{
    if (!f->in.ctx) {
        return;
    }
    json_decref(f->header);
    far_free(f->in.ctx, f->tensors);
    far_free(f->in.ctx, f->metadata);
    far_input_clear(&f->in);
    *f = (far_safetensors){0};
}
