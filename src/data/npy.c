/* The npy format, versions 1 to 3: one array of numbers, either byte order, either layout. */
#include "data_internal.h"

#include <string.h>

#define MAGIC_BYTES 6
#define MAX_DIMS 32 /* numpy's own limit, long so */
#define TILE 32

typedef struct npy {
    far_input *in;
    const char *p, *end; /* the header text not yet read */
    char descr[64];      /* "<f8" */
    char shape[128];     /* "(3, 4)" as written */
    char kind;           /* f, i, u or b */
    int size;            /* bytes of an element */
    bool swapped, fortran, structured;
    bool has_descr, has_order, has_shape;
    int dims;
    int64_t dim[MAX_DIMS];
    int64_t rows, cols;
} npy;

bool far_npy_is(const far_input *in)
{
    return in->size >= MAGIC_BYTES && memcmp(in->data, "\x93NUMPY", MAGIC_BYTES) == 0;
}

/* ---- the header: a Python dict of three entries ---- */

static void skip_space(npy *n)
{
    while (n->p < n->end && (*n->p == ' ' || *n->p == '\n' || *n->p == '\t')) {
        n->p++;
    }
}

static bool take_char(npy *n, char wanted)
{
    skip_space(n);
    if (n->p == n->end || *n->p != wanted) {
        return false;
    }
    n->p++;
    return true;
}

static bool take_word(npy *n, const char *word)
{
    size_t length = strlen(word);
    skip_space(n);
    if ((size_t)(n->end - n->p) < length || memcmp(n->p, word, length) != 0) {
        return false;
    }
    n->p += length;
    return true;
}

/* A quoted string without escapes, cut to fit. */
static bool take_string(npy *n, char *out, size_t capacity)
{
    skip_space(n);
    if (n->p == n->end || (*n->p != '\'' && *n->p != '"')) {
        return false;
    }
    const char *close = memchr(n->p + 1, *n->p, (size_t)(n->end - n->p - 1));
    if (!close) {
        return false;
    }
    far_show(out, capacity, n->p + 1, close - n->p - 1);
    n->p = close + 1;
    return true;
}

static bool take_count(npy *n, int64_t *out)
{
    skip_space(n);
    const char *first = n->p;
    int64_t value = 0;
    for (; n->p < n->end && *n->p >= '0' && *n->p <= '9'; n->p++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *n->p - '0', &value)) {
            return false;
        }
    }
    bool any = n->p > first;
    take_char(n, 'L'); /* as Python 2 wrote long integers */
    *out = value;
    return any;
}

static bool take_shape(npy *n)
{
    skip_space(n);
    const char *first = n->p;
    bool more = take_char(n, '(');
    if (!more) {
        return false;
    }
    while (more && !take_char(n, ')')) {
        if (n->dims == MAX_DIMS || !take_count(n, &n->dim[n->dims++])) {
            return false;
        }
        more = take_char(n, ',');
    }
    if (!more && !take_char(n, ')')) {
        return false;
    }
    far_show(n->shape, sizeof n->shape, first, n->p - first);
    return true;
}

static bool take_descr(npy *n)
{
    n->structured = take_char(n, '[');
    return !n->structured && take_string(n, n->descr, sizeof n->descr);
}

static bool take_order(npy *n)
{
    n->fortran = take_word(n, "True");
    return n->fortran || take_word(n, "False");
}

static bool first_time(bool *seen)
{
    bool first = !*seen;
    *seen = true;
    return first;
}

/* Each key once. */
static bool take_entry(npy *n)
{
    char key[24];
    if (!take_string(n, key, sizeof key) || !take_char(n, ':')) {
        return false;
    }
    if (strcmp(key, "descr") == 0) {
        return first_time(&n->has_descr) && take_descr(n);
    }
    if (strcmp(key, "fortran_order") == 0) {
        return first_time(&n->has_order) && take_order(n);
    }
    return strcmp(key, "shape") == 0 && first_time(&n->has_shape) && take_shape(n);
}

static bool take_header(npy *n)
{
    bool more = take_char(n, '{');
    if (!more) {
        return false;
    }
    while (more && !take_char(n, '}')) {
        if (!take_entry(n)) {
            return false;
        }
        more = take_char(n, ',');
    }
    if (!more && !take_char(n, '}')) {
        return false;
    }
    skip_space(n);
    return n->p == n->end && n->has_descr && n->has_order && n->has_shape;
}

/* ---- what the header means ---- */

static const char *kind_name(char kind)
{
    static const struct {
        char kind;
        const char *name;
    } names[] = {{'f', "float"},  {'i', "int"},       {'u', "uint"},      {'b', "bool"},
                 {'O', "object"}, {'c', "complex"},   {'S', "bytes"},     {'a', "bytes"},
                 {'U', "string"}, {'V', "structure"}, {'M', "date-time"}, {'m', "time-difference"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].kind == kind) {
            return names[i].name;
        }
    }
    return "unknown";
}

static bool known_type(char kind, int size)
{
    switch (kind) {
    case 'f':
        return size == 2 || size == 4 || size == 8;
    case 'i':
    case 'u':
        return size == 1 || size == 2 || size == 4 || size == 8;
    default:
        return kind == 'b' && size == 1;
    }
}

static far_status read_type(npy *n)
{
    const char *d = n->descr;
    char order = '=';
    if (*d && strchr("<>=|", *d)) {
        order = *d++;
    }
    bool native_little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    n->swapped = (order == '<' && !native_little) || (order == '>' && native_little);
    n->kind = *d;
    n->size = *d && d[1] >= '0' && d[1] <= '9' && d[2] == 0 ? d[1] - '0' : 0;
    if (known_type(n->kind, n->size)) {
        return FAR_OK;
    }
    return far_input_fail(n->in, FAR_ERR_FORMAT,
                          "dtype %s ('%s') cannot be read; save it as float64", kind_name(n->kind),
                          n->descr);
}

static far_status read_dims(npy *n)
{
    if (n->dims != 1 && n->dims != 2) {
        return far_input_fail(n->in, FAR_ERR_FORMAT,
                              "shape %s has %d dimension%s; only 1 or 2 can be read", n->shape,
                              n->dims, far_plural(n->dims));
    }
    n->rows = n->dim[0];
    n->cols = n->dims == 2 ? n->dim[1] : 1;
    if (n->rows == 0 || n->cols == 0) {
        return far_input_fail(n->in, FAR_ERR_FORMAT, "shape %s holds no values", n->shape);
    }
    return FAR_OK;
}

/* Nothing is allocated before the declared size has been found in the file. */
static far_status check_size(const npy *n, int64_t follow)
{
    int64_t bytes;
    if (__builtin_mul_overflow(n->rows, n->cols, &bytes) ||
        __builtin_mul_overflow(bytes, n->size, &bytes)) {
        return far_input_fail(n->in, FAR_ERR_FORMAT, "shape %s is too large for a file", n->shape);
    }
    if (bytes == follow) {
        return FAR_OK;
    }
    char bits[8] = "";
    if (n->kind != 'b') {
        snprintf(bits, sizeof bits, "%d", 8 * n->size);
    }
    return far_input_fail(n->in, FAR_ERR_FORMAT,
                          "header says %lld x %lld %s%s (%lld byte%s) but %s%lld follow%s",
                          (long long)n->rows, (long long)n->cols, kind_name(n->kind), bits,
                          (long long)bytes, far_plural(bytes), follow < bytes ? "only " : "",
                          (long long)follow, follow == 1 ? "s" : "");
}

/* Finds the header text between n->p and n->end. */
static far_status find_header(npy *n)
{
    const unsigned char *d = n->in->data;
    int64_t left = n->in->size - MAGIC_BYTES - 2;
    int width = left >= 0 && d[6] == 1 ? 2 : 4; /* bytes of the header's length */
    if (left >= 0 && (d[6] < 1 || d[6] > 3 || d[7] != 0)) {
        return far_input_fail(n->in, FAR_ERR_FORMAT,
                              "npy version %d.%d is not known (1.0 to 3.0 are)", d[6], d[7]);
    }
    int64_t length = 0;
    for (int i = 0; i < width && left >= width; i++) {
        length |= (int64_t)d[MAGIC_BYTES + 2 + i] << (8 * i);
    }
    if (left < width || length > left - width) {
        return far_input_fail(n->in, FAR_ERR_FORMAT, "the npy header is cut short (truncated?)");
    }
    n->p = (const char *)d + MAGIC_BYTES + 2 + width;
    n->end = n->p + length;
    return FAR_OK;
}

static far_status parse_header(npy *n)
{
    if (take_header(n)) {
        return FAR_OK;
    }
    if (n->structured) {
        return far_input_fail(n->in, FAR_ERR_FORMAT,
                              "dtype structure (named fields) cannot be read; save it as float64");
    }
    return far_input_fail(n->in, FAR_ERR_FORMAT, "the npy header is damaged at byte %lld",
                          (long long)(n->p - (const char *)n->in->data));
}

/* ---- values ---- */

static double half_value(uint64_t bits)
{
    uint64_t sign = bits >> 15 << 63, exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value;
    if (exponent == 0) {
        value = (double)fraction * 0x1p-24; /* subnormal */
        return sign ? -value : value;
    }
    exponent = exponent == 31 ? 2047 : exponent + 1008;
    bits = sign | exponent << 52 | fraction << 42;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double float_value(uint64_t bits, int size)
{
    float narrow;
    double value;
    uint32_t bits32 = (uint32_t)bits;
    switch (size) {
    case 2:
        return half_value(bits);
    case 4:
        memcpy(&narrow, &bits32, sizeof narrow);
        return (double)narrow;
    default:
        memcpy(&value, &bits, sizeof value);
        return value;
    }
}

static uint64_t load_bits(const unsigned char *p, int size, bool little)
{
    uint64_t bits = 0;
    for (int i = 0; i < size; i++) {
        bits |= (uint64_t)p[little ? i : size - 1 - i] << (8 * i);
    }
    return bits;
}

static double load_value(const npy *n, const unsigned char *p)
{
    bool native_little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    uint64_t bits = load_bits(p, n->size, native_little != n->swapped);
    int unused = 64 - 8 * n->size;
    switch (n->kind) {
    case 'f':
        return float_value(bits, n->size);
    case 'i':
        return (double)((int64_t)(bits << unused) >> unused); /* extends the sign */
    case 'u':
        return (double)bits;
    default:
        return bits != 0;
    }
}

static void convert_tile(const npy *n, const unsigned char *data, int64_t i0, int64_t j0,
                         double *out)
{
    int64_t down = n->fortran ? n->size : n->size * n->cols;
    int64_t right = n->fortran ? n->size * n->rows : n->size;
    for (int64_t i = i0; i < n->rows && i < i0 + TILE; i++) {
        for (int64_t j = j0; j < n->cols && j < j0 + TILE; j++) {
            out[i * n->cols + j] = load_value(n, data + i * down + j * right);
        }
    }
}

/* By tiles, so that a transposing copy stays in cache. */
static far_status convert(const npy *n, const unsigned char *data, far_table *t)
{
    far_status st = far_alloc(t->ctx, n->rows * n->cols, &t->values);
    if (st != FAR_OK) {
        return st;
    }
    t->block = t->values;
    for (int64_t i = 0; i < n->rows; i += TILE) {
        for (int64_t j = 0; j < n->cols; j += TILE) {
            convert_tile(n, data, i, j, t->values);
        }
    }
    return FAR_OK;
}

/* Our own layout already: the input's memory becomes the table's. */
static void adopt(far_input *in, int64_t offset, far_table *t)
{
    t->block = in->data;
    t->values = (double *)(void *)(in->data + offset);
    in->data = NULL;
    in->size = in->capacity = 0;
}

static bool is_our_layout(const npy *n, const unsigned char *data)
{
    bool row_major = !n->fortran || n->rows == 1 || n->cols == 1;
    return n->kind == 'f' && n->size == 8 && !n->swapped && row_major &&
           (uintptr_t)data % sizeof(double) == 0;
}

far_status far_npy_parse(far_input *in, far_table *t)
{
    far_status st;
    npy n = {.in = in};
    FAR_TRY(find_header(&n));
    const unsigned char *data = (const unsigned char *)n.end;
    FAR_TRY(parse_header(&n));
    FAR_TRY(read_type(&n));
    FAR_TRY(read_dims(&n));
    FAR_TRY(check_size(&n, in->data + in->size - data));
    if (is_our_layout(&n, data)) {
        adopt(in, data - in->data, t);
    } else {
        FAR_TRY(convert(&n, data, t));
    }
    t->rows = n.rows;
    t->cols = n.cols;
done:
    return st;
}
