/* The npy format, versions 1 to 3: one array of numbers or texts, either byte order or layout. */
#include "data_internal.h"

#include <string.h>

#define MAGIC_BYTES 6
#define MAX_DIMS 32 /* numpy's own limit, long so */
#define TILE 32
#define UTF32_BYTES 4

typedef struct npy {
    far_input *in;
    const char *p, *end; /* the header text not yet read */
    char descr[64];      /* "<f8" */
    bool structured;
    bool has_descr, has_order, has_shape;
    int64_t dim[MAX_DIMS];
    far_stored *array; /* what the header says */
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
        int *dims = &n->array->dims;
        if (*dims == MAX_DIMS || !take_count(n, &n->dim[(*dims)++])) {
            return false;
        }
        more = take_char(n, ',');
    }
    if (!more && !take_char(n, ')')) {
        return false;
    }
    far_show(n->array->shape, sizeof n->array->shape, first, n->p - first);
    return true;
}

static bool take_descr(npy *n)
{
    n->structured = take_char(n, '[');
    return !n->structured && take_string(n, n->descr, sizeof n->descr);
}

static bool take_order(npy *n)
{
    n->array->fortran = take_word(n, "True");
    return n->array->fortran || take_word(n, "False");
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

static bool known_type(char kind, int64_t size, bool words)
{
    switch (kind) {
    case 'f':
        return size == 2 || size == 4 || size == 8;
    case 'i':
    case 'u':
        return size == 1 || size == 2 || size == 4 || size == 8;
    case 'S':
    case 'U':
        return words && size > 0;
    default:
        return kind == 'b' && size == 1;
    }
}

/* The count at the end of a dtype; 0 if it is not one, or larger than any text. */
static int64_t type_size(const char *digits)
{
    int64_t size = 0;
    for (; *digits >= '0' && *digits <= '9' && size < INT32_MAX / 40; digits++) {
        size = 10 * size + (*digits - '0');
    }
    return *digits ? 0 : size;
}

static far_status read_type(npy *n, bool words)
{
    far_stored *a = n->array;
    const char *d = n->descr;
    char order = '=';
    if (*d && strchr("<>=|", *d)) {
        order = *d++;
    }
    bool native_little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    a->swapped = (order == '<' && !native_little) || (order == '>' && native_little);
    a->kind = *d;
    a->size = *d ? type_size(d + 1) : 0;
    if (known_type(a->kind, a->size, words)) {
        a->size *= a->kind == 'U' ? UTF32_BYTES : 1;
        return FAR_OK;
    }
    return far_input_fail(n->in, FAR_ERR_FORMAT, "dtype %s ('%s') cannot be read; save it as %s",
                          kind_name(a->kind), n->descr, words ? "numbers or texts" : "float64");
}

/* Arrays of other dimensions have no rows and columns. */
static void read_dims(npy *n)
{
    far_stored *a = n->array;
    for (int i = 0; i < a->dims && i < FAR_ARRAY_DIMS; i++) {
        a->dim[i] = n->dim[i];
    }
    if (a->dims == 1 || a->dims == 2) {
        a->rows = n->dim[0];
        a->cols = a->dims == 2 ? n->dim[1] : 1;
    }
}

/* Rows and columns together are all values; their number may be too large for a file. */
static bool multiply_dims(far_stored *a)
{
    int64_t bytes;
    a->rows = 1;
    a->cols = a->dim[a->dims - 1];
    for (int i = 0; i + 1 < a->dims; i++) {
        if (__builtin_mul_overflow(a->rows, a->dim[i], &a->rows)) {
            return false;
        }
    }
    return !__builtin_mul_overflow(a->rows, a->cols, &bytes) &&
           !__builtin_mul_overflow(bytes, a->size, &bytes);
}

far_status far_stored_flatten(const far_input *in, far_stored *a)
{
    if (a->fortran) {
        return far_input_fail(in, FAR_ERR_FORMAT,
                              "shape %s in Fortran order cannot be read; save it in C order",
                              a->shape);
    }
    int64_t follow = in->data + in->size - a->data;
    if (!multiply_dims(a) || a->rows * a->cols * a->size != follow) {
        return far_input_fail(in, FAR_ERR_FORMAT,
                              "shape %s does not agree with the %lld byte%s "
                              "that follow",
                              a->shape, (long long)follow, far_plural(follow));
    }
    a->dims = 2;
    return FAR_OK;
}

far_status far_stored_check(const far_input *in, const far_stored *a)
{
    if (a->dims != 1 && a->dims != 2) {
        return far_input_fail(in, FAR_ERR_FORMAT,
                              "shape %s has %d dimension%s; only 1 or 2 can be read", a->shape,
                              a->dims, far_plural(a->dims));
    }
    if (a->rows == 0 || a->cols == 0) {
        return far_input_fail(in, FAR_ERR_FORMAT, "shape %s holds no values", a->shape);
    }
    return FAR_OK;
}

/* "float64", "bool", "string5" */
static void name_type(const far_stored *a, char *out, size_t capacity)
{
    if (a->kind == 'b') {
        snprintf(out, capacity, "bool");
        return;
    }
    int64_t size = a->kind == 'U' ? a->size / UTF32_BYTES : a->kind == 'S' ? a->size : 8 * a->size;
    snprintf(out, capacity, "%s%lld", kind_name(a->kind), (long long)size);
}

/* Nothing is allocated before the declared size has been found in the file. */
static far_status check_size(const npy *n, int64_t follow)
{
    const far_stored *a = n->array;
    int64_t bytes;
    if (__builtin_mul_overflow(a->rows, a->cols, &bytes) ||
        __builtin_mul_overflow(bytes, a->size, &bytes)) {
        return far_input_fail(n->in, FAR_ERR_FORMAT, "shape %s is too large for a file", a->shape);
    }
    if (bytes == follow) {
        return FAR_OK;
    }
    char type[32];
    name_type(a, type, sizeof type);
    return far_input_fail(
        n->in, FAR_ERR_FORMAT, "header says %lld x %lld %s (%lld byte%s) but %s%lld follow%s",
        (long long)a->rows, (long long)a->cols, type, (long long)bytes, far_plural(bytes),
        follow < bytes ? "only " : "", (long long)follow, follow == 1 ? "s" : "");
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

static double load_value(const far_stored *a, const unsigned char *p)
{
    bool native_little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    int size = (int)a->size;
    uint64_t bits = load_bits(p, size, native_little != a->swapped);
    int unused = 64 - 8 * size;
    switch (a->kind) {
    case 'f':
        return float_value(bits, size);
    case 'B': /* the upper half of a float32 */
        return float_value(bits << 16, sizeof(float));
    case 'i':
        return (double)((int64_t)(bits << unused) >> unused); /* extends the sign */
    case 'u':
        return (double)bits;
    default:
        return bits != 0;
    }
}

/* By tiles, so that a transposing copy stays in cache. */
static void convert_tile(const far_stored *a, int64_t i0, int64_t j0, double *out, int64_t out_down,
                         int64_t out_right)
{
    int64_t down = a->fortran ? a->size : a->size * a->cols;
    int64_t right = a->fortran ? a->size * a->rows : a->size;
    for (int64_t i = i0; i < a->rows && i < i0 + TILE; i++) {
        for (int64_t j = j0; j < a->cols && j < j0 + TILE; j++) {
            out[i * out_down + j * out_right] = load_value(a, a->data + i * down + j * right);
        }
    }
}

void far_stored_numbers(const far_stored *a, double *out, int64_t down, int64_t right)
{
    for (int64_t i = 0; i < a->rows; i += TILE) {
        for (int64_t j = 0; j < a->cols; j += TILE) {
            convert_tile(a, i, j, out, down, right);
        }
    }
}

/* ---- texts ---- */

/* UTF-8 of a code point; NULL if it is none, or zero. */
static char *put_utf8(char *out, uint32_t c)
{
    if (c == 0 || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) {
        return NULL;
    }
    int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char lead[] = {0, 0xC0, 0xE0, 0xF0};
    *out++ = (char)(lead[more] | c >> (6 * more));
    while (more-- > 0) {
        *out++ = (char)(0x80 | (c >> (6 * more) & 0x3F));
    }
    return out;
}

int64_t far_stored_text(const far_stored *a, int64_t i, int64_t j, char *out)
{
    bool little = (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) != a->swapped;
    int unit = a->kind == 'U' ? UTF32_BYTES : 1;
    int64_t at = a->fortran ? j * a->rows + i : i * a->cols + j;
    const unsigned char *p = a->data + at * a->size, *end = p + a->size;
    char *q = out;
    while (end > p && load_bits(end - unit, unit, little) == 0) { /* texts are filled up with 0 */
        end -= unit;
    }
    for (; p < end && q; p += unit) {
        uint64_t c = load_bits(p, unit, little);
        if (unit == 1) {
            *q = (char)c;
            q = c ? q + 1 : NULL;
        } else {
            q = put_utf8(q, (uint32_t)c);
        }
    }
    return q ? q - out : -1;
}

/* ---- the file ---- */

far_status far_npy_open(far_input *in, bool words, far_stored *out)
{
    far_status st;
    npy n = {.in = in, .array = out};
    *out = (far_stored){0};
    FAR_TRY(find_header(&n));
    out->data = (const unsigned char *)n.end;
    FAR_TRY(parse_header(&n));
    FAR_TRY(read_type(&n, words));
    read_dims(&n);
    if (out->dims == 1 || out->dims == 2) {
        FAR_TRY(check_size(&n, in->data + in->size - out->data));
    }
done:
    return st;
}

/* Our own layout already: the input's memory becomes the array's. */
static void adopt(far_input *in, int64_t offset, far_array *a)
{
    a->block = in->data;
    a->values = (double *)(void *)(in->data + offset);
    in->data = NULL;
    in->size = in->capacity = 0;
}

static bool is_our_layout(const far_stored *s)
{
    bool row_major = !s->fortran || s->rows == 1 || s->cols == 1;
    return s->kind == 'f' && s->size == 8 && !s->swapped && row_major &&
           (uintptr_t)s->data % sizeof(double) == 0;
}

far_status far_npy_parse(far_input *in, int dims, far_array *a)
{
    far_status st;
    far_stored s;
    FAR_TRY(far_npy_open(in, false, &s));
    a->dims = s.dims;
    memcpy(a->shape, s.dim, sizeof a->shape);
    if (s.dims > 2 && s.dims <= dims) {
        FAR_TRY(far_stored_flatten(in, &s));
    }
    FAR_TRY(far_stored_check(in, &s));
    if (is_our_layout(&s)) {
        adopt(in, s.data - in->data, a);
    } else {
        FAR_TRY(far_alloc(a->ctx, s.rows * s.cols, &a->values));
        a->block = a->values;
        far_stored_numbers(&s, a->values, s.cols, 1);
    }
    a->rows = s.rows;
    a->cols = s.cols;
done:
    return st;
}
