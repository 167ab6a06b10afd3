/* Results as JSON. */
#include "../data/data_internal.h"
#include "result_internal.h"

#include <math.h>
#include <string.h>

#define NOT_UTF8 0xFFFDu /* what stands for bytes that JSON has no way to write */

/* Also what a terminal would act on is escaped, which changes nothing for readers of JSON. */
static void add_escaped(far_text *t, const char *text)
{
    for (int bytes; *text; text += bytes) {
        int32_t code = far_text_decode(text, &bytes);
        if (code == '"' || code == '\\') {
            far_text_add(t, "\\%c", (int)code);
        } else if (!far_text_prints(code)) {
            far_text_add(t, "\\u%04x", code < 0 ? NOT_UTF8 : (unsigned)code);
        } else {
            far_text_add(t, "%.*s", bytes, text);
        }
    }
}

static void add_quoted(far_text *t, const char *text)
{
    far_text_add(t, "\"");
    add_escaped(t, text);
    far_text_add(t, "\"");
}

static void add_number(far_text *t, double value, int digits)
{
    char text[FAR_NUMBER_BYTES];
    if (!isfinite(value)) {
        far_text_add(t, "null");
    } else if (digits > 0) {
        far_text_add(t, "%.*s", far_number_print(text, value, digits), text);
    } else {
        far_text_add_exact(t, value);
    }
}

/* The numbers of one more dimension; *at counts those that are written. */
static void add_array(far_text *t, const far_value *v, int32_t level, int64_t *at)
{
    bool inner = level + 1 == v->dims;
    far_text_add(t, "[");
    for (int64_t i = 0; i < v->shape[level]; i++) {
        if (inner) {
            far_text_add(t, i ? ", " : "");
            add_number(t, v->numbers[(*at)++], v->digits);
        } else {
            far_text_add(t, i ? ",\n " : "\n ");
            add_array(t, v, level + 1, at);
        }
    }
    far_text_add(t, "]");
}

static void add_texts(far_text *t, const far_value *v)
{
    far_text_add(t, "[");
    for (int64_t i = 0; i < v->total; i++) {
        far_text_add(t, i ? ", " : "");
        add_quoted(t, v->texts[i] ? v->texts[i] : "");
    }
    far_text_add(t, "]");
}

static void add_value(far_text *t, const far_value *v)
{
    int64_t at = 0;
    switch (v->kind) {
    case FAR_VALUE_NUMBER:
        add_number(t, v->number, 0);
        break;
    case FAR_VALUE_COUNT:
        far_text_add(t, "%lld", (long long)v->count);
        break;
    case FAR_VALUE_TEXT:
        add_quoted(t, v->text);
        break;
    case FAR_VALUE_FLAG:
        far_text_add(t, v->count ? "true" : "false");
        break;
    case FAR_VALUE_ARRAY:
        add_array(t, v, 0, &at);
        break;
    case FAR_VALUE_TEXTS:
        add_texts(t, v);
        break;
    default:
        far_text_add(t, "null");
    }
}

/* Of a list: what its nulls are. */
static const char *reason_of_nulls(const far_value *v)
{
    bool infinite = false, missing = false;
    int64_t total = 1;
    for (int32_t i = 0; i < v->dims; i++) {
        total *= v->shape[i];
    }
    for (int64_t i = 0; i < total; i++) {
        infinite |= isinf(v->numbers[i]) != 0;
        missing |= isnan(v->numbers[i]) != 0;
    }
    return infinite && missing ? "null: infinite or not defined"
           : infinite          ? "null: infinite"
           : missing           ? "null: not defined"
                               : NULL;
}

static void add_key(far_text *t, bool *first, const char *key, const char *ending)
{
    far_text_add(t, *first ? "\"" : ", \"");
    *first = false;
    add_escaped(t, key);
    far_text_add(t, "%s\": ", ending);
}

/* "key": value and, where there is none, "key_reason": why. */
static void add_field(far_text *t, bool *first, const char *key, const far_value *v)
{
    const char *reason = v->kind == FAR_VALUE_ARRAY ? reason_of_nulls(v) : far_value_reason(v);
    add_key(t, first, key, "");
    add_value(t, v);
    if (reason) {
        add_key(t, first, key, "_reason");
        add_quoted(t, reason);
    }
}

static void add_rows(far_text *t, const far_piece *p)
{
    far_text_add(t, "[");
    for (int64_t i = 0; i < p->cell_count / p->cols; i++) {
        bool first = true;
        far_text_add(t, i ? ",\n {" : "\n {");
        for (int64_t j = 0; j < p->cols; j++) {
            if (p->keys[j]) {
                add_field(t, &first, p->keys[j], &p->cells[i * p->cols + j]);
            }
        }
        far_text_add(t, "}");
    }
    far_text_add(t, "]");
}

/* What stands between the outer braces. */
static void add_fields(far_text *t, bool *first, const char *object)
{
    const char *start = strchr(object, '{') + 1, *end = strrchr(object, '}');
    if (start + strspn(start, " \t\r\n") < end) {
        far_text_add(t, "%s%.*s", *first ? "" : ", ", (int)(end - start), start);
        *first = false;
    }
}

/* What is open: objects and lists, and whether anything stands in them. */
typedef struct nest {
    bool list[FAR_RESULT_DEPTH + 1], first[FAR_RESULT_DEPTH + 1];
    int64_t depth;
} nest;

static void open_group(far_text *t, nest *n, const far_piece *p)
{
    bool *first = &n->first[n->depth];
    if (n->list[n->depth]) {
        far_text_add(t, *first ? "\n " : ",\n ");
        *first = false;
    } else {
        add_key(t, first, p->key ? p->key : "", "");
    }
    n->depth++;
    n->first[n->depth] = true;
    n->list[n->depth] = p->kind == FAR_PIECE_OPEN_LIST;
    far_text_add(t, n->list[n->depth] ? "[" : "{");
}

static void add_piece(far_text *t, nest *n, const far_piece *p)
{
    bool *first = &n->first[n->depth];
    switch (p->kind) {
    case FAR_PIECE_FACT:
        add_field(t, first, p->key, &p->value);
        break;
    case FAR_PIECE_TABLE:
        add_key(t, first, p->key, "");
        add_rows(t, p);
        break;
    case FAR_PIECE_FIELDS:
        add_fields(t, first, p->text);
        break;
    case FAR_PIECE_OPEN:
    case FAR_PIECE_OPEN_LIST:
        open_group(t, n, p);
        break;
    case FAR_PIECE_CLOSE:
        far_text_add(t, n->list[n->depth] ? "]" : "}");
        n->depth--;
        break;
    default:
        break;
    }
}

void far_result_put_json(const far_result *r, far_text *t)
{
    nest n = {.first = {true}};
    far_text_add(t, "{");
    for (int64_t i = 0; i < r->count; i++) {
        if (far_piece_seen(&r->pieces[i], FAR_FOR_JSON)) {
            add_piece(t, &n, &r->pieces[i]);
        }
    }
    far_text_add(t, "}\n");
}
