/*
 * A reader of our own: that of jansson 2.14 does not tell a text it has no memory for from one that
 * is wrong, and writes behind its buffer when that cannot grow.
 */
#include "data_internal.h"
#include "json_text.h"

#include <math.h>
#include <string.h>

enum { DEEPEST = 64 };

typedef struct reader {
    far_ctx *ctx;
    const char *text, *at, *end;
    int depth;
    far_json_mistake *mistake;
} reader;

static far_status read_value(reader *r, json_t **out);

/* ---- failing ------------------------------------------------------------------------------- */

static far_status mistake_at(reader *r, const char *at, const char *what)
{
    far_json_mistake *m = r->mistake;
    *m = (far_json_mistake){.position = at - r->text, .line = 1, .column = 1};
    for (const char *c = r->text; c < at; c++) {
        m->column = *c == '\n' ? 1 : m->column + 1;
        m->line += *c == '\n';
    }
    snprintf(m->text, sizeof m->text, "%s", what);
    return FAR_ERR_FORMAT;
}

/* "':' expected" with what stands there instead. */
static far_status expected(reader *r, const char *what)
{
    char text[80], shown[16];
    int here = r->at < r->end ? 1 : 0;
    far_show(shown, sizeof shown, r->at, here);
    snprintf(text, sizeof text, here ? "%s expected, not '%s'" : "%s expected, not the end", what,
             shown);
    return mistake_at(r, r->at, text);
}

static far_status no_memory(const reader *r)
{
    return far_fail(r->ctx, FAR_ERR_MEMORY, "out of memory reading JSON");
}

/* ---- texts --------------------------------------------------------------------------------- */

static bool is_next(const reader *r, char c)
{
    return r->at < r->end && *r->at == c;
}

static bool take(reader *r, char c)
{
    bool there = is_next(r, c);
    r->at += there;
    return there;
}

static void skip_blanks(reader *r)
{
    while (r->at < r->end && memchr(" \t\n\r", *r->at, 4)) {
        r->at++;
    }
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'                 ? c - '0'
           : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                : -1;
}

/* The four digits of \u; -1 if they are not there. */
static int32_t take_code_unit(reader *r)
{
    int32_t code = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        int digit = r->at < r->end ? hex_digit(*r->at) : -1;
        if (digit < 0) {
            return -1;
        }
        code = code << 4 | digit;
    }
    return code;
}

/* Behind "\u": a code point, of a pair of surrogates too; -1: none, or 0. */
static int32_t take_code_point(reader *r)
{
    int32_t code = take_code_unit(r);
    if (code < 0xD800 || code > 0xDFFF) {
        return code > 0 ? code : -1;
    }
    if (code > 0xDBFF || !take(r, '\\') || !take(r, 'u')) {
        return -1;
    }
    int32_t low = take_code_unit(r);
    return low < 0xDC00 || low > 0xDFFF ? -1 : 0x10000 + ((code - 0xD800) << 10) + low - 0xDC00;
}

static char *put_code_point(int32_t code, char *out)
{
    int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char FIRST[] = {0, 0xC0, 0xE0, 0xF0};
    *out++ = (char)(FIRST[more] | code >> (6 * more));
    while (more-- > 0) {
        *out++ = (char)(0x80 | (code >> (6 * more) & 0x3F));
    }
    return out;
}

/* Bytes of the UTF-8 sequence at r->at; 0: it is none. */
static int sequence_length(const reader *r)
{
    const unsigned char *p = (const unsigned char *)r->at;
    int length = *p < 0x80 ? 1 : *p < 0xC2 ? 0 : *p < 0xE0 ? 2 : *p < 0xF0 ? 3 : *p < 0xF5 ? 4 : 0;
    if (length > r->end - r->at) {
        return 0;
    }
    for (int i = 1; i < length; i++) {
        if ((p[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    bool wrong = (*p == 0xE0 && p[1] < 0xA0) || (*p == 0xED && p[1] > 0x9F) ||
                 (*p == 0xF0 && p[1] < 0x90) || (*p == 0xF4 && p[1] > 0x8F);
    return wrong ? 0 : length;
}

bool far_is_utf8(const char *text)
{
    reader r = {.at = text, .end = text + strlen(text)};
    for (int length = 1; r.at < r.end && length > 0; r.at += length) {
        length = sequence_length(&r);
        if (length == 0) {
            return false;
        }
    }
    return true;
}

/* Behind a backslash. */
static far_status read_escape(reader *r, char **out)
{
    static const char LETTERS[] = "\"\\/bfnrt", BYTES[] = "\"\\/\b\f\n\r\t";
    const char *start = r->at - 1;
    if (take(r, 'u')) {
        int32_t code = take_code_point(r);
        if (code < 0) {
            return mistake_at(r, start, "an escape of no character that a text may have");
        }
        *out = put_code_point(code, *out);
        return FAR_OK;
    }
    const char *letter = r->at < r->end && *r->at ? strchr(LETTERS, *r->at) : NULL;
    if (!letter) {
        return mistake_at(r, start, "an escape that JSON does not have");
    }
    r->at++;
    *(*out)++ = BYTES[letter - LETTERS];
    return FAR_OK;
}

static far_status read_characters(reader *r, char **out)
{
    far_status st = FAR_OK;
    while (st == FAR_OK && !take(r, '"')) {
        int length = r->at < r->end ? sequence_length(r) : 0;
        if (r->at == r->end) {
            return mistake_at(r, r->at, "a text has no end");
        }
        if (length == 0 || (unsigned char)*r->at < 0x20) {
            return mistake_at(r, r->at,
                              length == 0 ? "a byte that is not UTF-8"
                                          : "a control character in a text");
        }
        if (take(r, '\\')) {
            st = read_escape(r, out);
            continue;
        }
        memcpy(*out, r->at, (size_t)length);
        *out += length;
        r->at += length;
    }
    return st;
}

/* Bytes up to the closing quote, escapes not yet read: no less than they become. */
static int64_t raw_length(const reader *r)
{
    const char *p = r->at;
    while (p < r->end && *p != '"') {
        p += *p == '\\' && p + 1 < r->end ? 2 : 1;
    }
    return p - r->at;
}

/* r->at is behind the opening quote. far_free it. */
static far_status read_text(reader *r, char **out)
{
    far_status st = far_alloc(r->ctx, raw_length(r) + 1, out);
    char *end = *out;
    if (st == FAR_OK) {
        st = read_characters(r, &end);
    }
    if (st == FAR_OK) {
        *end = 0;
    }
    return st;
}

static far_status read_string(reader *r, json_t **out)
{
    char *text = NULL;
    far_status st = read_text(r, &text);
    if (st == FAR_OK) {
        *out = json_string_nocheck(text);
        st = *out ? FAR_OK : no_memory(r);
    }
    far_free(r->ctx, text);
    return st;
}

/* ---- numbers ------------------------------------------------------------------------------- */

static bool take_digits(reader *r)
{
    const char *start = r->at;
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9') {
        r->at++;
    }
    return r->at > start;
}

/* *real: it has a point or an exponent. */
static bool take_number(reader *r, bool *real)
{
    (void)take(r, '-');
    bool sound = take(r, '0') || take_digits(r);
    *real = false;
    if (sound && take(r, '.')) {
        *real = true;
        sound = take_digits(r);
    }
    if (sound && (take(r, 'e') || take(r, 'E'))) {
        *real = true;
        (void)(take(r, '+') || take(r, '-'));
        sound = take_digits(r);
    }
    return sound;
}

static bool integer_of(const char *at, const char *end, json_int_t *out)
{
    bool negative = *at == '-';
    json_int_t value = 0;
    for (at += negative; at < end; at++) {
        json_int_t digit = *at - '0';
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, negative ? -digit : digit, &value)) {
            return false;
        }
    }
    *out = value;
    return true;
}

static far_status read_number(reader *r, json_t **out)
{
    const char *start = r->at;
    bool real;
    json_int_t integer;
    double value = 0;
    if (!take_number(r, &real)) {
        return expected(r, "a digit");
    }
    if (real ? far_number_parse(start, &value) != r->at || !isfinite(value)
             : !integer_of(start, r->at, &integer)) {
        return mistake_at(
            r, start, real ? "a number beyond the range of float64" : "an integer beyond 64 bits");
    }
    *out = real ? json_real(value) : json_integer(integer);
    return *out ? FAR_OK : no_memory(r);
}

/* ---- values -------------------------------------------------------------------------------- */

static far_status append_element(reader *r, json_t *list)
{
    json_t *value = NULL;
    far_status st = read_value(r, &value);
    if (st == FAR_OK && json_array_append_new(list, value) != 0) {
        return no_memory(r);
    }
    return st;
}

static far_status put_member(reader *r, json_t *object)
{
    far_status st;
    char *key = NULL;
    json_t *value = NULL;
    const char *start = r->at;
    if (!take(r, '"')) {
        return expected(r, "a key");
    }
    FAR_TRY(read_text(r, &key));
    if (json_object_get(object, key)) {
        FAR_TRY(mistake_at(r, start, "a key that was there before"));
    }
    skip_blanks(r);
    FAR_TRY(take(r, ':') ? read_value(r, &value) : expected(r, "':'"));
    FAR_TRY(json_object_set_new_nocheck(object, key, value) == 0 ? FAR_OK : no_memory(r));
done:
    far_free(r->ctx, key);
    return st;
}

/* The members of an object or the elements of a list, up to the closing mark. */
static far_status read_members(reader *r, char close, far_status (*one)(reader *r, json_t *whole),
                               json_t *whole)
{
    far_status st = FAR_OK;
    skip_blanks(r);
    if (!whole) {
        return no_memory(r);
    }
    if (take(r, close)) {
        return FAR_OK;
    }
    do {
        skip_blanks(r);
        FAR_TRY(one(r, whole));
        skip_blanks(r);
    } while (take(r, ','));
    FAR_TRY(take(r, close) ? FAR_OK : expected(r, close == '}' ? "',' or '}'" : "',' or ']'"));
done:
    return st;
}

static far_status read_whole(reader *r, json_t **out)
{
    if (++r->depth > DEEPEST) {
        return mistake_at(r, r->at, "nested too deeply");
    }
    bool object = take(r, '{');
    r->at += !object;
    *out = object ? json_object() : json_array();
    far_status st = object ? read_members(r, '}', put_member, *out)
                           : read_members(r, ']', append_element, *out);
    r->depth--;
    return st;
}

static far_status read_word(reader *r, json_t **out)
{
    static const char *const WORDS[] = {"null", "true", "false"};
    for (int i = 0; i < 3; i++) {
        size_t length = strlen(WORDS[i]);
        if ((size_t)(r->end - r->at) >= length && memcmp(r->at, WORDS[i], length) == 0) {
            r->at += length;
            *out = i == 0 ? json_null() : json_boolean(i == 1);
            return FAR_OK;
        }
    }
    return expected(r, "a value");
}

/* *out is NULL on failure. */
static far_status read_value(reader *r, json_t **out)
{
    far_status st;
    *out = NULL;
    skip_blanks(r);
    if (is_next(r, '{') || is_next(r, '[')) {
        st = read_whole(r, out);
    } else if (take(r, '"')) {
        st = read_string(r, out);
    } else if (r->at < r->end && strchr("-0123456789", *r->at) && *r->at) {
        st = read_number(r, out);
    } else {
        st = read_word(r, out);
    }
    if (st != FAR_OK) {
        json_decref(*out);
        *out = NULL;
    }
    return st;
}

far_status far_json_parse(far_ctx *ctx, const char *text, size_t length, json_t **out,
                          far_json_mistake *mistake)
{
    reader r = {.ctx = ctx, .text = text, .at = text, .end = text + length, .mistake = mistake};
    *out = NULL;
    skip_blanks(&r);
    if (!is_next(&r, '{') && !is_next(&r, '[')) {
        return expected(&r, "'{' or '['");
    }
    far_status st = read_value(&r, out);
    skip_blanks(&r);
    if (st == FAR_OK && r.at != r.end) {
        st = mistake_at(&r, r.at, "more behind the end");
    }
    if (st != FAR_OK) {
        json_decref(*out);
        *out = NULL;
    }
    return st;
}
