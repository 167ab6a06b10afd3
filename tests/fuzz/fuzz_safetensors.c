/* Any bytes as a safetensors file: it either fails with a message of one line that starts with the
 * name, or its tensors lie one behind the other in the file, all values can be read, and what is
 * written from them reads again as the same. */
#define _GNU_SOURCE
#include "../../src/data/safetensors.h"

#include "fuzz.h"

static int64_t value_count(const far_tensor *t)
{
    return t->values.rows * t->values.cols;
}

/* The caller frees. */
static double *values_of(const far_tensor *t)
{
    double *out = malloc((size_t)value_count(t) * sizeof *out + 1);
    far_stored_numbers(&t->values, out, t->values.cols, 1);
    return out;
}

static void check_places(const far_safetensors *f)
{
    int64_t bytes = 0;
    for (int64_t i = 0; i < f->tensor_count; i++) {
        const far_tensor *t = &f->tensors[i];
        int64_t count = 1;
        for (int k = 0; k < t->dims; k++) {
            require(t->shape[k] >= 0, "a dimension is a count");
            count *= t->shape[k];
        }
        require(count == value_count(t), "values are as many as the shape says");
        bytes += count * t->values.size;
    }
    require(bytes <= f->in.size - 8, "tensors lie in the file");
}

typedef struct file {
    char *data;
    size_t size;
} file;

/* The checksum of a file is not among the texts of the next: the writer adds its own. */
static bool is_own(const far_pair *text)
{
    return strcmp(text->key, FAR_SEAL_ANNOUNCED) != 0 && strcmp(text->key, FAR_SEAL_KEY) != 0;
}

static int64_t own_texts(const far_safetensors *f, far_pair *out)
{
    int64_t count = 0;
    for (int64_t i = 0; i < f->metadata_count; i++) {
        if (is_own(&f->metadata[i])) {
            out[count++] = f->metadata[i];
        }
    }
    return count;
}

/* Tensors of more than two dimensions are written as one row. */
static file write_again(far_ctx *ctx, const far_safetensors *f)
{
    file out;
    far_output o;
    far_tensor_out *tensors = calloc((size_t)f->tensor_count + 1, sizeof *tensors);
    far_pair *texts = calloc((size_t)f->metadata_count + 1, sizeof *texts);
    FILE *stream = open_memstream(&out.data, &out.size);
    require(stream && tensors && texts && far_output_open_stream(ctx, stream, &o) == FAR_OK,
            "it opens");
    for (int64_t i = 0; i < f->tensor_count; i++) {
        const far_tensor *t = &f->tensors[i];
        bool matrix = t->dims == 2;
        tensors[i] = (far_tensor_out){
            .name = t->name,
            .values = values_of(t),
            .dims = t->dims > 2 ? 1 : t->dims,
            .shape = {matrix ? t->shape[0] : value_count(t), matrix ? t->shape[1] : 0}};
    }
    require(far_safetensors_write(&o, tensors, f->tensor_count, texts, own_texts(f, texts)) ==
                FAR_OK,
            "what was read can be written");
    require(far_output_commit(&o) == FAR_OK, "to the end");
    far_output_close(&o);
    fclose(stream);
    for (int64_t i = 0; i < f->tensor_count; i++) {
        free((double *)tensors[i].values);
    }
    free(tensors);
    free(texts);
    return out;
}

static const far_tensor *find(const far_safetensors *f, const char *name)
{
    for (int64_t i = 0; i < f->tensor_count; i++) {
        if (strcmp(f->tensors[i].name, name) == 0) {
            return &f->tensors[i];
        }
    }
    return NULL;
}

static bool same_number(double a, double b)
{
    return (a != a && b != b) || memcmp(&a, &b, sizeof a) == 0;
}

static void check_same(const far_safetensors *a, const far_safetensors *b)
{
    require(a->tensor_count == b->tensor_count, "as many tensors again");
    far_pair *texts = calloc((size_t)(a->metadata_count + b->metadata_count) + 1, sizeof *texts);
    require(own_texts(a, texts) == own_texts(b, texts), "as many texts again");
    free(texts);
    for (int64_t i = 0; i < a->metadata_count; i++) {
        const char *again = far_safetensors_text(b, a->metadata[i].key);
        require(!is_own(&a->metadata[i]) || (again && strcmp(again, a->metadata[i].value) == 0),
                "texts come back");
    }
    for (int64_t i = 0; i < a->tensor_count; i++) {
        const far_tensor *t = &a->tensors[i], *again = find(b, t->name);
        require(again && value_count(again) == value_count(t), "tensors come back");
        double *x = values_of(t), *y = values_of(again);
        for (int64_t k = 0; k < value_count(t); k++) {
            require(same_number(x[k], y[k]), "values come back bit by bit");
        }
        free(x);
        free(y);
    }
}

static void check_again(far_ctx *ctx, const far_safetensors *f)
{
    far_safetensors again = {0};
    file first = write_again(ctx, f);
    require(far_safetensors_parse_bytes(ctx, "again", first.data, (int64_t)first.size, &again) ==
                FAR_OK,
            "what was written reads again");
    check_same(f, &again);
    file second = write_again(ctx, &again);
    require(first.size == second.size && memcmp(first.data, second.data, first.size) == 0,
            "and is written the same");
    far_safetensors_clear(&again);
    free(first.data);
    free(second.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    far_ctx *ctx = make_context();
    far_safetensors f = {0};
    far_status st = far_safetensors_parse_bytes(ctx, "fuzz", data, (int64_t)size, &f);
    if (st == FAR_OK) {
        check_places(&f);
        check_again(ctx, &f);
    } else {
        require(st == FAR_ERR_FORMAT || st == FAR_ERR_MEMORY, "it is the file's fault");
        check_message(far_ctx_message(ctx));
    }
    far_safetensors_clear(&f);
    far_ctx_destroy(ctx);
    require(live_bytes == 0, "all memory is given back");
    return 0;
}
