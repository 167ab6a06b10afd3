/* The safetensors format: what the published package writes is read, what we write is checked byte
 * by byte, and whatever else comes fails with a message that names the place. */
#define _GNU_SOURCE
#include "../../src/data/safetensors.h"

#include <float.h>

#include "harness.h"

#include "seal.h"

#define DATA TEST_DATA_DIR "/unit/data/"

typedef struct bytes {
    char *data;
    size_t size;
} bytes;

/* A header of that text, as long as it is, and so many bytes of data; the caller frees. */
static bytes make_file(const char *header, size_t data)
{
    uint64_t length = strlen(header);
    bytes b = {.size = 8 + length + data};
    b.data = calloc(b.size, 1);
    memcpy(b.data, &length, 8);
    memcpy(b.data + 8, header, length);
    return b;
}

static void expect_failure(const void *data, size_t size, far_status status, const char *message)
{
    far_safetensors f = {0};
    assert_int_equal(far_safetensors_parse_bytes(ctx, "net.st", data, (int64_t)size, &f), status);
    if (message) {
        assert_string_equal(far_ctx_message(ctx), message);
    }
    assert_int_equal(strncmp(far_ctx_message(ctx), "net.st: ", 8), 0);
    far_safetensors_clear(&f);
}

static const far_tensor *find(const far_safetensors *f, const char *name)
{
    for (int64_t i = 0; i < f->tensor_count; i++) {
        if (strcmp(f->tensors[i].name, name) == 0) {
            return &f->tensors[i];
        }
    }
    fail_msg("there is no tensor %s", name);
    return NULL;
}

static void expect_values(const far_safetensors *f, const char *name, int dims,
                          const int64_t *shape, const double *values)
{
    double found[64];
    const far_tensor *t = find(f, name);
    int64_t count = t->values.rows * t->values.cols;
    assert_int_equal(t->dims, dims);
    for (int i = 0; i < dims; i++) {
        assert_int_equal(t->shape[i], shape[i]);
    }
    assert_in_range(count, 0, COUNT(found));
    far_stored_numbers(&t->values, found, t->values.cols, 1);
    assert_memory_equal(found, values, (size_t)count * sizeof *found);
}

#define SHAPE(...)                                                                                 \
    COUNT(((const int64_t[]){__VA_ARGS__})), (const int64_t[])                                     \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define VALUES(...)                                                                                \
    (const double[])                                                                               \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* ---- files of the published package ---- */

static void every_type_of_the_published_package_is_read(void **state)
{
    (void)state;
    far_safetensors f = {0};
    if (far_safetensors_load(ctx, DATA "types.safetensors", &f) != FAR_OK) {
        fail_msg("%s", far_ctx_message(ctx));
    }
    assert_int_equal(f.tensor_count, 13);
    expect_values(&f, "f64", SHAPE(1, 3), VALUES(0.1, -2.5e300, DBL_TRUE_MIN));
    expect_values(&f, "f32", SHAPE(3, 1), VALUES(0.1f, -3.4e38f, FLT_TRUE_MIN));
    expect_values(&f, "f16", SHAPE(5),
                  VALUES(0x1.998p-4, -65504, 0x1p-24, (double)INFINITY, -(double)INFINITY));
    expect_values(&f, "bf16", SHAPE(4), VALUES(0x1.9ap-4, -0x1.fp127, 0x1p-133, 1));
    expect_values(&f, "i64", SHAPE(2), VALUES(-0x1p53, 7));
    expect_values(&f, "i32", SHAPE(2), VALUES(-0x1p31, 0x1p31 - 1));
    expect_values(&f, "i16", SHAPE(2), VALUES(-0x1p15, 0x1p15 - 1));
    expect_values(&f, "i8", SHAPE(2), VALUES(-128, 127));
    expect_values(&f, "u8", SHAPE(2), VALUES(0, 255));
    expect_values(&f, "bool", SHAPE(3), VALUES(1, 0, 1));
    expect_values(&f, "scalar", 0, NULL, VALUES(11));
    expect_values(&f, "empty", SHAPE(0, 3), VALUES(0));
    double cube[30];
    for (int i = 0; i < 30; i++) {
        cube[i] = i;
    }
    expect_values(&f, "cube", SHAPE(2, 3, 5), cube);
    assert_string_equal(far_safetensors_text(&f, "note"), "all types");
    assert_string_equal(far_safetensors_text(&f, "format"), "pt");
    assert_null(far_safetensors_text(&f, "arch"));
    assert_int_equal(f.metadata_count, 2);
    far_safetensors_clear(&f);
}

static void values_may_be_taken_transposed(void **state)
{
    (void)state;
    far_safetensors f = {0};
    double turned[6];
    bytes b = make_file("{\"w\":{\"dtype\":\"U8\",\"shape\":[2,3],\"data_offsets\":[0,6]}}", 6);
    memcpy(b.data + b.size - 6, "\1\2\3\4\5\6", 6);
    assert_int_equal(far_safetensors_parse_bytes(ctx, "f", b.data, (int64_t)b.size, &f), FAR_OK);
    far_stored_numbers(&f.tensors[0].values, turned, 1, 2);
    assert_memory_equal(turned, VALUES(1, 4, 2, 5, 3, 6), sizeof turned);
    far_safetensors_clear(&f);
    free(b.data);
}

static void tensors_come_in_the_order_of_their_bytes(void **state)
{
    (void)state;
    far_safetensors f = {0};
    bytes b = make_file("{\"c\":{\"dtype\":\"I8\",\"shape\":[2],\"data_offsets\":[3,5]},"
                        "\"e\":{\"dtype\":\"F64\",\"shape\":[0],\"data_offsets\":[3,3]},"
                        "\"a\":{\"dtype\":\"U16\",\"shape\":[],\"data_offsets\":[1,3]},"
                        "\"b\":{\"dtype\":\"U8\",\"shape\":[1,1],\"data_offsets\":[0,1]}}   ",
                        5);
    assert_int_equal(far_safetensors_parse_bytes(ctx, "f", b.data, (int64_t)b.size, &f), FAR_OK);
    assert_string_equal(f.tensors[0].name, "b");
    assert_string_equal(f.tensors[1].name, "a");
    assert_string_equal(f.tensors[2].name, "e");
    assert_string_equal(f.tensors[3].name, "c");
    far_safetensors_clear(&f);
    free(b.data);
}

static void shapes_are_shown_as_people_write_them(void **state)
{
    (void)state;
    char text[FAR_SHAPE_BYTES];
    far_tensor t = {.dims = 2, .shape = {128, 9}};
    far_tensor_shape(&t, text);
    assert_string_equal(text, "128 x 9");
    t.dims = 0;
    far_tensor_shape(&t, text);
    assert_string_equal(text, "a single number");
    t.dims = FAR_TENSOR_DIMS;
    for (int i = 0; i < t.dims; i++) {
        t.shape[i] = INT64_MAX;
    }
    far_tensor_shape(&t, text); /* fits */
    assert_int_equal(strlen(text), 8 * 19 + 7 * 3);
}

/* ---- headers that are wrong ---- */

#define TENSOR(name, dtype, shape, offsets)                                                        \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":[" shape "],\"data_offsets\":[" offsets "]}"

typedef struct header_case {
    const char *header;
    size_t data;
    const char *message; /* ends in *: the rest are jansson's words */
} header_case;

static const header_case header_cases[] = {
    /* JSON */
    {"{", 0, "header: byte *"},
    {"{\"a\":1,}", 0, "header: byte *"},
    {"{} {}", 0, "header: byte *"},
    {"{\"a\":{},\"a\":{}}", 0, "header: byte *"},
    {"{\"\xFF\":1}", 0, "header: byte *"},
    {"{" TENSOR("a", "F32", "99999999999999999999", "0,4") "}", 4, "header: byte *"},
    /* metadata */
    {"{\"__metadata__\":[]}", 0, "header: __metadata__ is not an object"},
    {"{\"__metadata__\":{\"a\":\"b\",\"n\":3}}", 0, "header: __metadata__: 'n' is not a text"},
    /* entries */
    {"{\"a\":3}", 0, "tensor 'a': its entry is not an object"},
    {"{\"a\":{}}", 0, "tensor 'a': its dtype is missing, or not a text"},
    {"{\"a\":{\"dtype\":7}}", 0, "tensor 'a': its dtype is missing, or not a text"},
    {"{" TENSOR("a", "F8_E4M3", "1", "0,1") "}", 1,
     "tensor 'a': values of type F8_E4M3 cannot be read; save it as F32 (model.float())"},
    {"{" TENSOR("a", "f32", "1", "0,4") "}", 4,
     "tensor 'a': values of type f32 cannot be read; save it as F32 (model.float())"},
    {"{\"a\":{\"dtype\":\"F32\"}}", 0, "tensor 'a': its shape is missing, or not a list"},
    {"{" TENSOR("a", "F32", "2,-1", "0,4") "}", 4,
     "tensor 'a': its shape holds something that is not a count"},
    {"{" TENSOR("a", "F32", "1.0", "0,4") "}", 4,
     "tensor 'a': its shape holds something that is not a count"},
    {"{" TENSOR("a", "F32", "1,1,1,1,1,1,1,1,1", "0,4") "}", 4,
     "tensor 'a': has 9 dimensions; at most 8 can be read"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[]}}", 0,
     "tensor 'a': its data_offsets are not two counts, the second at least the first"},
    {"{" TENSOR("a", "F32", "1", "0,4,8") "}", 4,
     "tensor 'a': its data_offsets are not two counts, the second at least the first"},
    {"{" TENSOR("a", "F32", "1", "4,0") "}", 4,
     "tensor 'a': its data_offsets are not two counts, the second at least the first"},
    {"{" TENSOR("a", "F32", "1", "-4,0") "}", 4,
     "tensor 'a': its data_offsets are not two counts, the second at least the first"},
    {"{" TENSOR("a\\n\\u0007b", "F32", "2,3", "0,24") "}", 23,
     "tensor 'a\\n\\ab': ends at byte 24 of the data, but there are 23: the file is truncated"},
    {"{" TENSOR("a", "F32", "2,3", "0,20") "}", 20,
     "tensor 'a': 2 x 3 values of 4 bytes take 24, but it has 20"},
    {"{" TENSOR("a", "U8", "", "0,2") "}", 2,
     "tensor 'a': 1 values of 1 byte take 1, but it has 2"},
    {"{" TENSOR("a", "F64", "9223372036854775807,3", "0,8") "}", 8,
     "tensor 'a': a shape of 9223372036854775807 x 3 is too large for a file"},
    {"{" TENSOR("a", "F64", "4294967296,4294967296", "0,0") "}", 0,
     "tensor 'a': a shape of 4294967296 x 4294967296 is too large for a file"},
    /* together */
    {"{" TENSOR("a", "U8", "3", "0,3") "," TENSOR("b", "U8", "3", "2,5") "}", 5,
     "tensor 'b': starts at byte 2 of the data, but byte 3 is next: they overlap"},
    {"{" TENSOR("a", "U8", "3", "0,3") "," TENSOR("b", "U8", "3", "4,7") "}", 7,
     "tensor 'b': starts at byte 4 of the data, but byte 3 is next: they leave a hole"},
    {"{" TENSOR("a", "U8", "3", "1,4") "}", 4,
     "tensor 'a': starts at byte 1 of the data, but byte 0 is next: they leave a hole"},
    {"{" TENSOR("a", "U8", "3", "0,3") "," TENSOR("b", "U8", "3", "0,3") "}", 3,
     "tensor 'b': starts at byte 0 of the data, but byte 3 is next: they overlap"},
    {"{" TENSOR("a", "U8", "3", "0,3") "}", 5, "has 2 bytes behind its last tensor"},
    {"{}", 1, "has 1 byte behind its last tensor"},
    /* a checksum that is not written as we write it, or ends with the file */
    {"{\"__metadata__\":{\"farfield.checksum\":\"sha256\",\"farfield.sha256\": \"0\"}}", 0,
     "does not match its checksum*"},
    {"{\"__metadata__\":{\"farfield.checksum\":\"sha256\",\"farfield.sha256\":\"0\"}}", 0,
     "does not match its checksum*"},
};

static void wrong_headers_are_refused(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(header_cases); i++) {
        const header_case *c = &header_cases[i];
        bytes b = make_file(c->header, c->data);
        size_t length = strlen(c->message);
        expect_failure(b.data, b.size, FAR_ERR_FORMAT, NULL);
        const char *found = far_ctx_message(ctx) + strlen("net.st: ");
        if (c->message[length - 1] == '*' ? strncmp(found, c->message, length - 1) != 0
                                          : strcmp(found, c->message) != 0) {
            fail_msg("'%s' is not '%s'", found, c->message);
        }
        free(b.data);
    }
}

static void no_tensors_are_fine(void **state)
{
    (void)state;
    far_safetensors f = {0};
    bytes b = make_file("{}", 0);
    assert_int_equal(far_safetensors_parse_bytes(ctx, "f", b.data, (int64_t)b.size, &f), FAR_OK);
    assert_int_equal(f.tensor_count + f.metadata_count, 0);
    far_safetensors_clear(&f);
    far_safetensors_clear(&f); /* and a cleared one can be cleared */
    free(b.data);
}

static void lengths_that_cannot_be_are_refused_before_anything_is_allocated(void **state)
{
    (void)state;
    struct {
        uint64_t length;
        const char *message;
    } cases[] = {
        {100000001,
         "net.st: is damaged: its header would take 100000001 bytes, and 100000000 are the most"},
        {UINT64_MAX, "net.st: is damaged: its header would take 18446744073709551615 bytes, and "
                     "100000000 are the most"},
        {100000000, "net.st: is truncated: its header takes 100000000 bytes, but only 4 follow"},
        {5, "net.st: is truncated: its header takes 5 bytes, but only 4 follow"},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        bytes b = make_file("{}  ", 0);
        memcpy(b.data, &cases[i].length, 8);
        test_heap.peak_bytes = 0;
        expect_failure(b.data, b.size, FAR_ERR_FORMAT, cases[i].message);
        assert_in_range(test_heap.peak_bytes, 0, 8192);
        free(b.data);
    }
}

/* ---- files of other formats ---- */

#define TORCH                                                                                      \
    "is a torch.save file; in Python: safetensors.torch.save_file(model.state_dict(), "            \
    "'net.safetensors')"
#define PICKLE                                                                                     \
    "is a pickle; in Python: safetensors.torch.save_file(model.state_dict(), 'net.safetensors')"

static void other_formats_are_recognised(void **state)
{
    (void)state;
    struct {
        const char *start;
        size_t size;
        const char *message;
    } cases[] = {
        {"", 0, "net.st: is empty"},
        {"\3", 1, "net.st: is truncated, or no safetensors file: it has 1 byte only"},
        {"\2\0\0\0\0\0\0\0", 8,
         "net.st: is truncated, or no safetensors file: it has 8 bytes only"},
        {"PK\3\4....................\0\0archive/data.pkl", 42, "net.st: " TORCH},
        {"\x80\2\x8a\nl\xfc\x9c"
         "F\xf9 j\xa8P\x19.",
         14, "net.st: " TORCH},
        {"\x80\4\x95.....", 8, "net.st: " PICKLE},
        {"\x80\3}", 3, "net.st: " PICKLE},
        {"\x80\5}", 3, "net.st: " PICKLE},
        {"PK\3\4......x.npy....", 20,
         "net.st: is an npz of NumPy arrays; in Python: "
         "safetensors.numpy.save_file(dict(numpy.load('net.npz')), 'net.safetensors')"},
        {"PK\3\4....manifest.json...x.npy", 30,
         "net.st: is a farfield model, made by farfield fit; a finite network is made by farfield "
         "train and kept in a safetensors file"},
        {"PK\3\4...............", 18, "net.st: is a zip file, not a safetensors file"},
        {"\x93NUMPY\1\0v\0{'descr'", 18,
         "net.st: is one NumPy array (npy); a network has several, in a safetensors file"},
        {"\x89HDF\r\n\x1a\n\0", 9,
         "net.st: is an HDF5 file (Keras writes those); in Python: "
         "safetensors.numpy.save_file({'0.weight': array, ...}, 'net.safetensors')"},
        {"\x1f\x8b\x08......", 9, "net.st: is gzipped; unpack it first (gunzip)"},
        {"GGUF\3\0\0\0\0", 9, "net.st: is a GGUF file; networks are read from safetensors files"},
        {"a,b,c\n1,2,3\n", 12,
         "net.st: is not a safetensors file (those start with eight bytes and a {)"},
        {"\2\0\0\0\0\0\0\0[]", 10,
         "net.st: is not a safetensors file (those start with eight bytes and a {)"},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        expect_failure(cases[i].start, cases[i].size, FAR_ERR_FORMAT, cases[i].message);
    }
    far_safetensors f = {0};
    assert_int_equal(far_safetensors_load(ctx, "/no/such.file", &f), FAR_ERR_IO);
    assert_string_equal(far_ctx_message(ctx), "/no/such.file: no such file");
    far_safetensors_clear(&f);
}

/* A length that begins like a zip is a length all the same. */
static void a_header_that_begins_like_another_format_is_a_header(void **state)
{
    (void)state;
    far_safetensors f = {0};
    uint64_t length = 0x8b1f; /* gzip's first bytes */
    bytes b = {.data = malloc(8 + length), .size = 8 + length};
    memset(b.data, ' ', b.size);
    memcpy(b.data, &length, 8);
    memcpy(b.data + 8, "{}", 2);
    assert_int_equal(far_safetensors_parse_bytes(ctx, "f", b.data, (int64_t)b.size, &f), FAR_OK);
    far_safetensors_clear(&f);
    free(b.data);
}

/* ---- writing ---- */

static const double narrow[] = {1, -0.0, 0.5, 0x1p-149, FLT_MAX, -3}, wide[] = {0.1, 1e300, 2};
static const far_tensor_out tensors[] = {{"0.weight", narrow, 2, {2, 3}},
                                         {"0.bias", wide, 1, {3, 0}},
                                         {"2.weight", wide + 2, 1, {1, 0}},
                                         {"2.bias", wide + 1, 1, {1, 0}}};
static const far_pair texts[] = {{"format", "pt"}, {"arch", "dense(\"\\)"}, {"\xC3\xBC", ""}};

static bytes written(const far_tensor_out *list, int64_t count, const far_pair *pairs,
                     int64_t pair_count, far_status expected)
{
    bytes b = {0};
    far_output o;
    FILE *stream = open_memstream(&b.data, &b.size);
    assert_int_equal(far_output_open_stream(ctx, stream, &o), FAR_OK);
    assert_int_equal(far_safetensors_write(&o, list, count, pairs, pair_count), expected);
    assert_int_equal(far_output_commit(&o), FAR_OK);
    far_output_close(&o);
    fclose(stream);
    return b;
}

#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"

/* The digits are those of the file with zeros in their place, which they are on return. */
static void expect_sealed(bytes *b)
{
    static const char key[] = "\"farfield.sha256\":\"";
    char *at = memmem(b->data, b->size, key, sizeof key - 1), wanted[FAR_HASH_TEXT];
    assert_non_null(at);
    char found[FAR_HASH_TEXT] = "";
    at += sizeof key - 1;
    memcpy(found, at, FAR_HASH_DIGITS);
    memset(at, '0', FAR_HASH_DIGITS);
    seal_digits(b->data, b->size, wanted);
    assert_string_equal(found, wanted);
}

static void the_bytes_written_are_these(void **state)
{
    (void)state;
    const char *header =
        "{\"__metadata__\":{\"format\":\"pt\",\"arch\":\"dense(\\\"\\\\)\",\"\xC3\xBC\":\"\","
        "\"farfield.checksum\":\"sha256\",\"farfield.sha256\":"
        "\"" ZEROS "\"},"
        "\"0.bias\":{\"dtype\":\"F64\",\"shape\":[3],\"data_offsets\":[0,24]},"
        "\"2.bias\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[24,32]},"
        "\"0.weight\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[32,56]},"
        "\"2.weight\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[56,60]}}";
    size_t length = (strlen(header) + 7) / 8 * 8;
    bytes b = written(tensors, 4, texts, 3, FAR_OK);
    expect_sealed(&b);
    assert_int_equal(b.size, 8 + length + 60);
    uint64_t says;
    memcpy(&says, b.data, 8);
    assert_int_equal(says, length);
    assert_memory_equal(b.data + 8, header, strlen(header));
    for (size_t i = strlen(header); i < length; i++) {
        assert_int_equal(b.data[8 + i], ' ');
    }
    const char *data = b.data + 8 + length;
    float shrunk[7] = {1, -0.0f, 0.5f, 0x1p-149f, FLT_MAX, -3, 2};
    assert_memory_equal(data, wide, 24);
    assert_memory_equal(data + 24, wide + 1, 8);
    assert_memory_equal(data + 32, shrunk, 28);
    free(b.data);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    far_safetensors f = {0};
    bytes b = written(tensors, 4, texts, 3, FAR_OK);
    assert_int_equal(far_safetensors_parse_bytes(ctx, "f", b.data, (int64_t)b.size, &f), FAR_OK);
    expect_values(&f, "0.weight", SHAPE(2, 3), narrow);
    expect_values(&f, "0.bias", SHAPE(3), wide);
    expect_values(&f, "2.bias", SHAPE(1), wide + 1);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(far_safetensors_text(&f, texts[i].key), texts[i].value);
        assert_string_equal(f.metadata[i].key, texts[i].key); /* in the order given */
    }
    far_safetensors_clear(&f);
    free(b.data);
}

static void large_tensors_are_written_in_pieces(void **state)
{
    (void)state;
    enum { MANY = 10007 };
    double *values = malloc(MANY * sizeof *values), *again = malloc(MANY * sizeof *again);
    for (int i = 0; i < MANY; i++) {
        values[i] = i / 8.0 - 100;
    }
    far_safetensors f = {0};
    far_tensor_out t = {"w", values, 1, {MANY, 0}};
    bytes b = written(&t, 1, NULL, 0, FAR_OK);
    assert_in_range(b.size, 4 * MANY, 4 * MANY + 300);
    assert_int_equal(far_safetensors_parse_bytes(ctx, "f", b.data, (int64_t)b.size, &f), FAR_OK);
    far_stored_numbers(&f.tensors[0].values, again, MANY, 1);
    assert_memory_equal(values, again, MANY * sizeof *values);
    far_safetensors_clear(&f);
    free(b.data);
    free(values);
    free(again);
}

static void texts_that_are_not_utf8_are_refused(void **state)
{
    (void)state;
    const far_pair bad[] = {{"note", "k\xF6ln"}, {"k\xF6ln", "note"}};
    free(written(NULL, 0, &bad[0], 1, FAR_ERR_ARG).data);
    assert_string_equal(far_ctx_message(ctx), "metadata: 'note' and its text must be UTF-8");
    free(written(NULL, 0, &bad[1], 1, FAR_ERR_ARG).data);
    assert_string_equal(far_ctx_message(ctx), "metadata: 'k\\xf6ln' and its text must be UTF-8");
}

/* ---- hostile bytes, and no memory ---- */

static void every_truncation_is_refused(void **state)
{
    (void)state;
    bytes b = written(tensors, 4, texts, 3, FAR_OK);
    for (size_t size = 0; size < b.size; size++) {
        char *cut = malloc(size + 1); /* its own block, so that reading past the end is seen */
        memcpy(cut, b.data, size);
        expect_failure(cut, size, FAR_ERR_FORMAT, NULL);
        free(cut);
    }
    free(b.data);
}

static void a_changed_byte_is_refused_or_read(void **state)
{
    (void)state;
    bytes b = written(tensors, 4, texts, 3, FAR_OK);
    for (size_t i = 0; i < b.size; i++) {
        char old = b.data[i], changes[] = {1, (char)0x80, (char)0xFF};
        for (int k = 0; k < 3; k++) {
            far_safetensors f = {0};
            b.data[i] = (char)(old ^ changes[k]);
            far_status st = far_safetensors_parse_bytes(ctx, "f", b.data, (int64_t)b.size, &f);
            assert_true(st == FAR_OK || st == FAR_ERR_FORMAT);
            far_safetensors_clear(&f);
        }
        b.data[i] = old;
    }
    free(b.data);
}

static void reading_survives_every_failing_allocation(void **state)
{
    (void)state;
    bytes b = written(tensors, 4, texts, 3, FAR_OK);
    far_status st = FAR_ERR_MEMORY;
    for (int64_t k = 0; st == FAR_ERR_MEMORY; k++) {
        far_safetensors f = {0};
        test_heap.calls = 0;
        test_heap.fail_at = k;
        st = far_safetensors_parse_bytes(ctx, "net.st", b.data, (int64_t)b.size, &f);
        test_heap.fail_at = -1;
        assert_true(st == FAR_OK || strncmp(far_ctx_message(ctx), "net.st: ", 8) == 0);
        far_safetensors_clear(&f);
        assert_in_range(k, 0, 100);
    }
    assert_int_equal(st, FAR_OK);
    free(b.data);
}

static void writing_survives_every_failing_allocation(void **state)
{
    (void)state;
    far_status st = FAR_ERR_MEMORY;
    for (int64_t k = 0; st == FAR_ERR_MEMORY; k++) {
        far_output o;
        FILE *stream = fopen("/dev/null", "wb");
        assert_int_equal(far_output_open_stream(ctx, stream, &o), FAR_OK);
        test_heap.calls = 0;
        test_heap.fail_at = k;
        st = far_safetensors_write(&o, tensors, 4, texts, 3);
        test_heap.fail_at = -1;
        far_output_close(&o);
        fclose(stream);
        assert_in_range(k, 0, 20);
    }
    assert_int_equal(st, FAR_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_type_of_the_published_package_is_read),
        TEST(values_may_be_taken_transposed),
        TEST(tensors_come_in_the_order_of_their_bytes),
        TEST(shapes_are_shown_as_people_write_them),
        TEST(wrong_headers_are_refused),
        TEST(no_tensors_are_fine),
        TEST(lengths_that_cannot_be_are_refused_before_anything_is_allocated),
        TEST(other_formats_are_recognised),
        TEST(a_header_that_begins_like_another_format_is_a_header),
        TEST(the_bytes_written_are_these),
        TEST(what_is_written_is_read),
        TEST(large_tensors_are_written_in_pieces),
        TEST(texts_that_are_not_utf8_are_refused),
        TEST(every_truncation_is_refused),
        TEST(a_changed_byte_is_refused_or_read),
        TEST(reading_survives_every_failing_allocation),
        TEST(writing_survives_every_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
