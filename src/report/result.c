/* Results: pieces are kept in the order of the calls; the renderers walk over them. */
#define _GNU_SOURCE
#include "result_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- life ---- */

static bool idle(const far_result *r)
{
    return !r || r->status != FAR_OK;
}

static void note(far_result *r, far_status st)
{
    r->status = r->status == FAR_OK ? st : r->status;
}

void far_result_check(far_result *r, far_status st)
{
    if (r) {
        note(r, st);
    }
}

/* NULL stays NULL. */
static char *copy(far_result *r, const char *text)
{
    char *out = NULL;
    if (text && !idle(r)) {
        note(r, far_copy_text(r->ctx, text, (int64_t)strlen(text), &out));
    }
    return out;
}

far_status far_result_create(far_ctx *ctx, const char *title, far_result **out)
{
    far_result *r = NULL;
    if (!out || !title) {
        return far_fail(ctx, FAR_ERR_ARG, "%s is NULL", out ? "title" : "out");
    }
    *out = NULL;
    far_status st = far_alloc(ctx, 1, &r);
    if (st == FAR_OK) {
        *r = (far_result){.ctx = ctx, .readers = FAR_FOR_ALL};
        r->title = copy(r, title);
        st = r->status;
    }
    if (st != FAR_OK) {
        far_result_destroy(r);
        return st;
    }
    *out = r;
    return FAR_OK;
}

static void free_texts(far_ctx *ctx, char **texts, int64_t count)
{
    for (int64_t i = 0; texts && i < count; i++) {
        far_free(ctx, texts[i]);
    }
    far_free(ctx, texts);
}

static void free_value(far_ctx *ctx, far_value *v)
{
    FAR_FREE_ALL(ctx, v->text, v->words, v->numbers);
    free_texts(ctx, v->texts, v->total);
}

static void free_piece(far_ctx *ctx, far_piece *p)
{
    FAR_FREE_ALL(ctx, p->key, p->label, p->text);
    free_value(ctx, &p->value);
    far_figure_destroy(p->figure);
    free_texts(ctx, p->keys, p->cols);
    free_texts(ctx, p->heads, p->cols);
    free_texts(ctx, p->formats, p->cols);
    for (int64_t i = 0; i < p->cell_count; i++) {
        free_value(ctx, &p->cells[i]);
    }
    far_free(ctx, p->cells);
}

void far_result_destroy(far_result *r)
{
    if (!r) {
        return;
    }
    for (int64_t i = 0; i < r->count; i++) {
        free_piece(r->ctx, &r->pieces[i]);
    }
    FAR_FREE_ALL(r->ctx, r->pieces, r->title, r);
}

far_status far_result_ready(far_ctx *ctx, const far_result *r)
{
    if (!r) {
        return far_fail(ctx, FAR_ERR_ARG, "result is NULL");
    }
    if (r->status == FAR_OK && r->depth > 0) {
        return far_fail(ctx, FAR_ERR_ARG, "a group of the result was opened and not closed");
    }
    return r->status;
}

void far_result_for(far_result *r, int32_t readers)
{
    if (!idle(r)) {
        r->readers = readers & FAR_FOR_ALL;
    }
}

/* ---- pieces ---- */

/* The next piece, empty; NULL where there is none to be had. */
static far_piece *add_piece(far_result *r, far_piece_kind kind)
{
    if (idle(r)) {
        return NULL;
    }
    if (r->count == r->room) {
        int64_t room = r->room > 0 ? 2 * r->room : 32;
        note(r, far_grow(r->ctx, r->room, room, &r->pieces));
        if (r->status != FAR_OK) {
            return NULL;
        }
        r->room = room;
    }
    far_piece *p = &r->pieces[r->count++];
    *p = (far_piece){.kind = kind, .readers = r->readers};
    return p;
}

static bool ends_word(char c)
{
    return !c || strchr(" ,;:()", c);
}

/* A number that does not exist reads "-", also inside a sentence. */
static void hide_nan(char *text)
{
    for (char *at = text; (at = strstr(at, "nan")); at += at[0] ? 1 : 0) {
        char *start = at > text && at[-1] == '-' ? at - 1 : at;
        if ((start == text || ends_word(start[-1])) && ends_word(at[3])) {
            *start = '-';
            memmove(start + 1, at + 3, strlen(at + 3) + 1);
            at = start;
        }
    }
}

/* format as printf has it; NULL stays NULL. */
static char *print_words(far_result *r, const char *format, va_list args)
{
    char *out = NULL, *printed = NULL;
    if (idle(r) || !format) {
        return NULL;
    }
    if (vasprintf(&printed, format, args) < 0) {
        note(r, far_fail(r->ctx, FAR_ERR_MEMORY, "out of memory"));
        return NULL;
    }
    if (strpbrk(format, "efg")) {
        hide_nan(printed);
    }
    out = copy(r, printed);
    free(printed);
    return out;
}

FAR_WORDS(2, 3) static char *words_of(far_result *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *out = print_words(r, format, args);
    va_end(args);
    return out;
}

const char *far_value_reason(const far_value *v)
{
    if (v->kind == FAR_VALUE_NULL) {
        return v->text;
    }
    if (v->kind != FAR_VALUE_NUMBER || isfinite(v->number)) {
        return NULL;
    }
    return isnan(v->number) ? "not defined" : v->number > 0 ? "infinite" : "minus infinite";
}

bool far_piece_seen(const far_piece *p, int32_t reader)
{
    bool json = reader == FAR_FOR_JSON;
    bool there = p->kind == FAR_PIECE_TABLE  ? !json || p->key
                 : p->kind == FAR_PIECE_FACT ? (json ? p->key != NULL : p->value.words != NULL)
                                             : true;
    return there && (p->readers & reader);
}

/* ---- facts ---- */

static void drop_fact(far_result *r, far_value *value, char *words, char *plain)
{
    if (r) {
        free_value(r->ctx, value);
        far_free(r->ctx, words);
        far_free(r->ctx, plain);
    }
}

/* A fact with its words; plain is what they are where the caller has none. Takes all three. */
static far_piece *add_fact(far_result *r, const char *key, const char *label, far_value value,
                           char *words, char *plain)
{
    far_piece *p = add_piece(r, FAR_PIECE_FACT);
    const char *reason = far_value_reason(&value);
    bool given = words && !reason;
    if (!p) {
        drop_fact(r, &value, words, plain);
        return NULL;
    }
    p->key = copy(r, key);
    p->label = copy(r, label);
    p->value = value;
    p->value.words = !label ? NULL : reason ? copy(r, reason) : given ? words : plain;
    if (p->value.words != words) {
        far_free(r->ctx, words);
    }
    if (p->value.words != plain) {
        far_free(r->ctx, plain);
    }
    return p;
}

#define TAKE_WORDS(out)                                                                            \
    do {                                                                                           \
        va_list args;                                                                              \
        va_start(args, words);                                                                     \
        (out) = print_words(r, words, args);                                                       \
        va_end(args);                                                                              \
    } while (0)

void far_result_number(far_result *r, const char *key, double value, const char *label,
                       const char *words, ...)
{
    char *said;
    TAKE_WORDS(said);
    add_fact(r, key, label, (far_value){.kind = FAR_VALUE_NUMBER, .number = value}, said,
             words_of(r, "%.6g", value));
}

void far_result_count(far_result *r, const char *key, int64_t value, const char *label,
                      const char *words, ...)
{
    char *said;
    TAKE_WORDS(said);
    add_fact(r, key, label, (far_value){.kind = FAR_VALUE_COUNT, .count = value}, said,
             words_of(r, "%lld", (long long)value));
}

void far_result_flag(far_result *r, const char *key, int value, const char *label,
                     const char *words, ...)
{
    char *said;
    TAKE_WORDS(said);
    add_fact(r, key, label, (far_value){.kind = FAR_VALUE_FLAG, .count = value != 0}, said,
             words_of(r, value ? "yes" : "no"));
}

void far_result_text(far_result *r, const char *key, const char *value, const char *label,
                     const char *words, ...)
{
    char *said;
    if (!value) {
        far_result_missing(r, key, "none", label);
        return;
    }
    TAKE_WORDS(said);
    add_fact(r, key, label, (far_value){.kind = FAR_VALUE_TEXT, .text = copy(r, value)}, said,
             words_of(r, "%s", value));
}

void far_result_missing(far_result *r, const char *key, const char *reason, const char *label)
{
    const char *why = reason ? reason : "not defined";
    add_fact(r, key, label, (far_value){.kind = FAR_VALUE_NULL, .text = copy(r, why)}, NULL, NULL);
}

void far_result_say(far_result *r, const char *label, const char *words, ...)
{
    char *said;
    TAKE_WORDS(said);
    far_piece *p = add_fact(r, NULL, label ? label : "", (far_value){0}, said, NULL);
    if (p && !label) {
        far_free(r->ctx, p->label);
        p->label = NULL;
    }
}

/* ---- lists ---- */

static void fail_argument(far_result *r, const char *what)
{
    if (!idle(r)) {
        note(r, far_fail(r->ctx, FAR_ERR_ARG, "%s", what));
    }
}

static double *copy_mat(far_result *r, const far_mat *m)
{
    double *out = NULL;
    note(r, far_alloc(r->ctx, m->rows * m->cols, &out));
    for (int64_t i = 0; out && i < m->rows * m->cols; i++) {
        const void *row = far_mat_row(m, i / m->cols);
        int64_t j = i % m->cols;
        out[i] = m->dtype == FAR_F32 ? (double)((const float *)row)[j] : ((const double *)row)[j];
    }
    return out;
}

void far_result_array(far_result *r, const char *key, const far_mat *m, const int64_t *shape,
                      int32_t dims)
{
    far_value v = {.kind = FAR_VALUE_ARRAY, .dims = dims, .total = 1};
    if (idle(r)) {
        return;
    }
    note(r, far_mat_check(r->ctx, m, key ? key : "array"));
    if (r->status == FAR_OK && (!shape || dims < 1 || dims > FAR_RESULT_DIMS)) {
        fail_argument(r, "an array has 1 to 8 dimensions");
    }
    for (int32_t i = 0; r->status == FAR_OK && i < dims; i++) {
        v.shape[i] = shape[i];
        v.total *= shape[i];
    }
    if (r->status == FAR_OK && v.total != m->rows * m->cols) {
        fail_argument(r, "the shape is not that of the matrix");
    }
    if (r->status == FAR_OK) {
        v.digits = dims == 1 ? 0 : m->dtype == FAR_F32 ? 9 : 17;
        v.numbers = copy_mat(r, m);
        v.total = 0; /* of texts */
        add_fact(r, key, NULL, v, NULL, NULL);
    }
}

void far_result_list(far_result *r, const char *key, const double *values, int64_t count)
{
    far_mat column = far_mat_view((void *)(uintptr_t)values, count, 1, FAR_F64);
    far_result_array(r, key, &column, &count, 1);
}

static char **copy_texts(far_result *r, const char *const *texts, int64_t count)
{
    char **out = NULL;
    if (!idle(r)) {
        note(r, far_alloc(r->ctx, count, &out));
    }
    for (int64_t i = 0; out && i < count; i++) {
        out[i] = copy(r, texts[i]);
    }
    return out;
}

void far_result_texts(far_result *r, const char *key, const char *const *texts, int64_t count)
{
    if (count < 0 || (!texts && count > 0)) {
        fail_argument(r, "texts is NULL");
        return;
    }
    far_value v = {.kind = FAR_VALUE_TEXTS, .texts = copy_texts(r, texts, count), .total = count};
    add_fact(r, key, NULL, v, NULL, NULL);
}

void far_result_fields(far_result *r, const char *json)
{
    const char *open = json ? strchr(json, '{') : NULL, *close = json ? strrchr(json, '}') : NULL;
    if (!open || !close) {
        fail_argument(r, "the fields to add are no JSON object");
    }
    far_piece *p = add_piece(r, FAR_PIECE_FIELDS);
    if (p) {
        p->text = copy(r, json);
    }
}

/* ---- groups ---- */

static void open_group(far_result *r, const char *key, far_piece_kind kind)
{
    if (!idle(r) && r->depth == FAR_RESULT_DEPTH) {
        fail_argument(r, "groups are nested too deeply");
    }
    far_piece *p = add_piece(r, kind);
    if (p) {
        p->key = copy(r, key);
        r->depth++;
    }
}

void far_result_open(far_result *r, const char *key)
{
    open_group(r, key, FAR_PIECE_OPEN);
}

void far_result_open_list(far_result *r, const char *key)
{
    open_group(r, key, FAR_PIECE_OPEN_LIST);
}

void far_result_close(far_result *r)
{
    if (!idle(r) && r->depth == 0) {
        fail_argument(r, "a group is closed that was not opened");
    }
    if (add_piece(r, FAR_PIECE_CLOSE)) {
        r->depth--;
    }
}

/* ---- sentences ---- */

/* A piece that is a text, which it takes. */
static far_piece *add_sentence(far_result *r, far_piece_kind kind, char *text)
{
    far_piece *p = add_piece(r, kind);
    if (p) {
        p->text = text;
    } else if (text) {
        far_free(r->ctx, text);
    }
    return p;
}

void far_result_verdict(far_result *r, far_tone tone, const char *words, ...)
{
    char *said;
    TAKE_WORDS(said);
    far_piece *p = add_sentence(r, FAR_PIECE_VERDICT, said);
    if (p) {
        p->tone = tone;
    }
}

void far_result_heading(far_result *r, const char *text)
{
    add_sentence(r, FAR_PIECE_HEADING, copy(r, text));
}

void far_result_line(far_result *r, const char *words, ...)
{
    char *said;
    TAKE_WORDS(said);
    add_sentence(r, FAR_PIECE_LINE, said);
}

void far_result_origin(far_result *r, const char *label, const char *words, ...)
{
    char *said;
    TAKE_WORDS(said);
    far_piece *p = add_sentence(r, FAR_PIECE_ORIGIN, said);
    if (p) {
        p->label = copy(r, label);
    }
}

/* ---- tables ---- */

void far_result_table(far_result *r, const char *key, const char *caption,
                      const far_result_column *columns, int64_t cols)
{
    if (!idle(r) && (!columns || cols < 1)) {
        fail_argument(r, "a table has one column or more");
    }
    far_piece *p = add_piece(r, FAR_PIECE_TABLE);
    if (!p) {
        return;
    }
    p->key = copy(r, key);
    p->text = copy(r, caption);
    note(r, far_alloc(r->ctx, cols, &p->keys));
    note(r, r->status == FAR_OK ? far_alloc(r->ctx, cols, &p->heads) : r->status);
    note(r, r->status == FAR_OK ? far_alloc(r->ctx, cols, &p->formats) : r->status);
    for (int64_t j = 0; r->status == FAR_OK && j < cols; j++) {
        p->cols = j + 1;
        p->keys[j] = copy(r, columns[j].key);
        p->heads[j] = copy(r, columns[j].head);
        p->formats[j] = copy(r, columns[j].format);
    }
}

/* The next cell of the table that was begun last, and the format of its column. */
static far_value *add_cell(far_result *r, const char **format)
{
    if (idle(r)) {
        return NULL;
    }
    far_piece *p = r->count > 0 ? &r->pieces[r->count - 1] : NULL;
    if (!p || p->kind != FAR_PIECE_TABLE) {
        fail_argument(r, "a cell without a table");
        return NULL;
    }
    if (p->cell_count == p->cell_room) {
        int64_t room = p->cell_room > 0 ? 2 * p->cell_room : 32;
        note(r, far_grow(r->ctx, p->cell_room, room, &p->cells));
        p->cell_room = r->status == FAR_OK ? room : p->cell_room;
    }
    if (r->status != FAR_OK) {
        return NULL;
    }
    *format = p->formats[p->cell_count % p->cols];
    p->cells[p->cell_count] = (far_value){0};
    return &p->cells[p->cell_count++];
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
static char *number_words(far_result *r, const char *format, double value)
{
    return words_of(r, format ? format : "%.6g", value);
}
#pragma GCC diagnostic pop

void far_result_cell(far_result *r, double value)
{
    const char *format;
    far_value *v = add_cell(r, &format);
    if (v) {
        v->kind = FAR_VALUE_NUMBER;
        v->number = value;
        v->words = isnan(value) ? NULL : number_words(r, format, value);
    }
}

void far_result_cell_flag(far_result *r, int value)
{
    const char *format;
    far_value *v = add_cell(r, &format);
    if (v) {
        v->kind = FAR_VALUE_FLAG;
        v->count = value != 0;
        v->words = copy(r, value ? "yes" : "no");
    }
}

void far_result_cell_text(far_result *r, const char *words, ...)
{
    const char *format;
    far_value *v = add_cell(r, &format);
    if (v) {
        TAKE_WORDS(v->text);
        v->kind = v->text ? FAR_VALUE_TEXT : FAR_VALUE_NULL;
        v->text = v->text ? v->text : copy(r, "none");
        v->words = v->kind == FAR_VALUE_TEXT ? copy(r, v->text) : NULL;
    }
}

void far_result_cell_words(far_result *r, double value, const char *words, ...)
{
    const char *format;
    far_value *v = add_cell(r, &format);
    if (v) {
        v->kind = FAR_VALUE_NUMBER;
        v->number = value;
        TAKE_WORDS(v->words);
    }
}

const char *far_cell_words(const far_value *v)
{
    return v->words ? v->words : v->kind == FAR_VALUE_NUMBER ? "-" : "";
}

/* ---- figures ---- */

void far_result_figure(far_result *r, far_figure *figure, const char *name, const char *caption)
{
    if (!idle(r) && (!figure || !name)) {
        fail_argument(r, figure ? "name is NULL" : "figure is NULL");
    }
    far_piece *p = add_piece(r, FAR_PIECE_FIGURE);
    if (!p) {
        far_figure_destroy(figure);
        return;
    }
    p->figure = figure;
    p->label = copy(r, name);
    p->text = copy(r, caption);
}

/* ---- several results ---- */

void far_result_append(far_result *r, far_result *from)
{
    if (!from) {
        return;
    }
    far_result_check(r, from->status);
    if (!idle(r) && (from->ctx != r->ctx || from->depth > 0)) {
        fail_argument(r, "the result to append has another context, or an open group");
    }
    if (!idle(r) && from->count > 0) {
        note(r, far_grow(r->ctx, r->count, r->count + from->count, &r->pieces));
    }
    if (!idle(r) && from->count > 0) {
        memcpy(r->pieces + r->count, from->pieces, (size_t)from->count * sizeof *from->pieces);
        r->count += from->count;
        r->room = r->count;
        from->count = 0;
    }
    far_result_destroy(from);
}

/* ---- rendering ---- */

far_status far_result_render(far_ctx *ctx, const far_result *r, far_format format, char **out)
{
    far_text t = {.ctx = ctx};
    if (!out) {
        return far_fail(ctx, FAR_ERR_ARG, "out is NULL");
    }
    *out = NULL;
    far_status st = far_result_ready(ctx, r);
    if (st == FAR_OK && format == FAR_FORMAT_HTML) {
        return far_result_page(ctx, r, out);
    }
    if (st == FAR_OK) {
        (format == FAR_FORMAT_JSON ? far_result_put_json : far_result_put_text)(r, &t);
        st = t.status;
    }
    if (st != FAR_OK) {
        far_free(ctx, t.data);
        return st;
    }
    *out = t.data;
    return FAR_OK;
}
