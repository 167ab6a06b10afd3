#include "arch_tree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXAMPLE "[dense(128) ln relu]x3 dense(1)"
#define FIRST_CAPACITY 4

/* Recursive descent; FAR_ARCH_MAX_NESTING bounds the stack. Every layer hangs in the tree before
 * its arguments or body are read, so a failure anywhere is cleaned up from the root. */
typedef struct parser {
    far_ctx *ctx;
    const char *text;
    int length;
    int at; /* the next byte to read */
    int nesting;
} parser;

static far_status parse_body(parser *p, far_layer *owner, int open, char close, int64_t *depth);

/* The message of a failure at a place. */
#define FAIL_AT(p, place, ...)                                                                     \
    far_arch_fail_at((p)->ctx, FAR_ERR_PARSE, (p)->text, (p)->length, place, __VA_ARGS__)

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_word(char c)
{
    return is_letter(c) || is_digit(c);
}

static bool starts_number(char c)
{
    return is_digit(c) || c == '.' || c == '+' || c == '-';
}

/* The byte at the reading place; 0 at the end, as the text is closed by a zero. */
static char next(const parser *p)
{
    return p->text[p->at];
}

static void skip_blanks(parser *p)
{
    while (is_blank(next(p))) {
        p->at++;
    }
}

static bool take(parser *p, char c)
{
    skip_blanks(p);
    if (next(p) != c) {
        return false;
    }
    p->at++;
    return true;
}

static int word_end(const parser *p, int at)
{
    while (is_word(p->text[at])) {
        at++;
    }
    return at;
}

/* A piece of the text for a message: 'relu', '1e999', the end of the text. */
typedef struct quote {
    char text[40];
} quote;

static quote quote_at(const parser *p, int at)
{
    quote q;
    unsigned char c = (unsigned char)p->text[at];
    int end = at;
    while (is_word(p->text[end]) || starts_number(p->text[end])) {
        end++;
    }
    if (end - at > 24) {
        snprintf(q.text, sizeof q.text, "'%.24s...'", p->text + at);
    } else if (end > at) {
        snprintf(q.text, sizeof q.text, "'%.*s'", end - at, p->text + at);
    } else if (c == 0) {
        snprintf(q.text, sizeof q.text, "the end of the text");
    } else if (c > ' ' && c < 0x7f) {
        snprintf(q.text, sizeof q.text, "'%c'", c);
    } else {
        snprintf(q.text, sizeof q.text, "byte 0x%02x", c);
    }
    return q;
}

static far_status fail_expected(const parser *p, const char *what)
{
    return FAIL_AT(p, p->at, "expected %s, found %s", what, quote_at(p, p->at).text);
}

static int digits_end(const parser *p, int at)
{
    while (is_digit(p->text[at])) {
        at++;
    }
    return at;
}

/* Where the number that starts at a place ends; the place itself if there is none. Our own rule,
 * because strtod also reads hexadecimal, inf and nan. */
static int number_end(const parser *p, int at)
{
    int start = at;
    at += p->text[at] == '+' || p->text[at] == '-';
    int whole = at;
    at = digits_end(p, at);
    int digits = at - whole;
    if (p->text[at] == '.') {
        int fraction = at + 1;
        at = digits_end(p, fraction);
        digits += at - fraction;
    }
    if (digits == 0) {
        return start;
    }
    if (p->text[at] == 'e' || p->text[at] == 'E') {
        int exponent = at + 1;
        exponent += p->text[exponent] == '+' || p->text[exponent] == '-';
        int end = digits_end(p, exponent);
        at = end > exponent ? end : at;
    }
    return at;
}

static far_status read_number(parser *p, double *value)
{
    int end = number_end(p, p->at);
    bool whole_token = end > p->at && !is_word(p->text[end]) && p->text[end] != '.';
    char *stop;
    if (!whole_token) {
        return fail_expected(p, "a number");
    }
    *value = strtod(p->text + p->at, &stop);
    if (stop != p->text + end) { /* the program around us set a locale with a decimal comma */
        return FAIL_AT(p, p->at, "this program's LC_NUMERIC locale does not read %s as a number",
                       quote_at(p, p->at).text);
    }
    if (!isfinite(*value)) {
        return FAIL_AT(p, p->at, "%s is too large for a number", quote_at(p, p->at).text);
    }
    p->at = end;
    return FAR_OK;
}

static bool only_digits(const parser *p, int start, int end)
{
    return digits_end(p, start) == end;
}

/* Reads a value for an argument and checks its type and range. */
static far_status read_value(parser *p, const far_arg *arg, double *value)
{
    int start = p->at;
    far_status st = read_number(p, value);
    if (st != FAR_OK) {
        return st;
    }
    bool type_fits = arg->type == FAR_ARG_NUMBER || only_digits(p, start, p->at);
    if (!type_fits || !far_arg_in_range(arg, *value)) {
        char range[96];
        far_arg_describe_range(arg, range, sizeof range);
        return FAIL_AT(p, start, "%s must be %s, found %s", arg->name, range,
                       quote_at(p, start).text);
    }
    return FAR_OK;
}

static far_status fail_size(const parser *p, const far_arg *arg, int start)
{
    const char *form = arg->parts_most == 3    ? "3x32x32"
                       : arg->parts_least == 2 ? "30x1"
                                               : "3 or 3x3";
    return FAIL_AT(p, start, "%s is written %s, each part from 1 to %d; found %s", arg->name, form,
                   FAR_SIZE_MOST, quote_at(p, start).text);
}

/* Reads '3', '3x3', '3x32x32': as many parts as the argument may have. */
static far_status read_size(parser *p, const far_arg *arg, far_size *size)
{
    int start = p->at, count = 0;
    bool more = true;
    *size = (far_size){{0}};
    while (more) {
        int end = digits_end(p, p->at);
        double value = end > p->at ? strtod(p->text + p->at, NULL) : 0;
        if (count == arg->parts_most || !far_arg_in_range(arg, value)) {
            return fail_size(p, arg, start);
        }
        size->part[count++] = (int64_t)value;
        more = p->text[end] == 'x';
        p->at = end + more;
    }
    if (count < arg->parts_least || is_word(next(p)) || next(p) == '.') {
        return fail_size(p, arg, start);
    }
    return FAR_OK;
}

/* The arguments of one layer while they are read. */
typedef struct arg_reader {
    far_layer *layer;
    const far_layer_spec *spec;
    unsigned given; /* bit i: spec->args[i] was given */
    bool named;     /* one of them with its name */
} arg_reader;

static int arg_index(const far_layer_spec *spec, const char *word, int length)
{
    for (int i = 0; i < spec->arg_count; i++) {
        const char *name = spec->args[i].name;
        if ((int)strlen(name) == length && memcmp(name, word, (size_t)length) == 0) {
            return i;
        }
    }
    return -1;
}

static void add_name(char *names, size_t size, const char *name)
{
    size_t used = strlen(names);
    snprintf(names + used, size - used, "%s%s", used ? ", " : "", name);
}

static far_status fail_unknown_arg(const parser *p, const far_layer_spec *spec)
{
    char names[96] = "";
    for (int i = 0; i < spec->arg_count; i++) {
        add_name(names, sizeof names, spec->args[i].name);
    }
    return FAIL_AT(p, p->at, "%s has no argument %s; it takes %s", spec->name,
                   quote_at(p, p->at).text, names);
}

static far_status find_positional(const parser *p, const arg_reader *r, int *index)
{
    int at = 0;
    while (at < r->spec->arg_count && r->spec->args[at].positional && (r->given >> at & 1)) {
        at++;
    }
    bool there = at < r->spec->arg_count && r->spec->args[at].positional;
    if (at == 0 && !there) {
        return fail_unknown_arg(p, r->spec);
    }
    if (!there || r->given >> at != 0 || r->named) {
        return FAIL_AT(p, p->at, "a number without a name must come first; write %s=...",
                       r->spec->args[there ? at : 0].name);
    }
    *index = at;
    return FAR_OK;
}

static far_status check_new(const parser *p, const arg_reader *r, int index, int place)
{
    const far_arg *arg = &r->spec->args[index];
    if (r->given >> index & 1) {
        return FAIL_AT(p, place, "%s is given twice", arg->name);
    }
    if (arg->excludes) {
        int other = arg_index(r->spec, arg->excludes, (int)strlen(arg->excludes));
        if (r->given >> other & 1) {
            return FAIL_AT(p, place, "%s and %s cannot stand together", arg->excludes, arg->name);
        }
    }
    return FAR_OK;
}

/* Reads 'name' of a flag or 'name =' of a value. */
static far_status read_arg_name(parser *p, const arg_reader *r, int *index)
{
    int end = word_end(p, p->at);
    *index = arg_index(r->spec, p->text + p->at, end - p->at);
    if (*index < 0) {
        return fail_unknown_arg(p, r->spec);
    }
    const far_arg *arg = &r->spec->args[*index];
    p->at = end;
    bool has_value = take(p, '=');
    if (has_value && arg->type == FAR_ARG_FLAG) {
        return FAIL_AT(p, p->at - 1, "%s takes no value", arg->name);
    }
    if (!has_value && arg->type != FAR_ARG_FLAG) {
        char what[64];
        snprintf(what, sizeof what, "'=' and a number after %s", arg->name);
        return fail_expected(p, what);
    }
    skip_blanks(p);
    return FAR_OK;
}

/* Finds out which argument comes next and reads up to its value. */
static far_status read_arg_start(parser *p, arg_reader *r, int *index)
{
    if (starts_number(next(p))) {
        return find_positional(p, r, index);
    }
    if (is_letter(next(p))) {
        r->named = true;
        return read_arg_name(p, r, index);
    }
    return fail_expected(p, "an argument");
}

static far_status parse_arg(parser *p, arg_reader *r)
{
    far_status st;
    int index = 0;
    double value = 1; /* of a flag */
    skip_blanks(p);
    int place = p->at;
    FAR_TRY(read_arg_start(p, r, &index));
    FAR_TRY(check_new(p, r, index, place));
    const far_arg *arg = &r->spec->args[index];
    if (arg->type == FAR_ARG_SIZE) {
        FAR_TRY(read_size(p, arg, far_size_of(arg, r->layer)));
    } else {
        if (arg->type != FAR_ARG_FLAG) {
            FAR_TRY(read_value(p, arg, &value));
        }
        far_arg_set(arg, value, r->layer);
    }
    r->given |= 1u << index;
done:
    return st;
}

/* An argument that says something about another one, which was not given. */
static far_status check_needs(const parser *p, const arg_reader *r, int place)
{
    for (int i = 0; i < r->spec->arg_count; i++) {
        const far_arg *arg = &r->spec->args[i];
        if (arg->needs && r->given >> i & 1) {
            int other = arg_index(r->spec, arg->needs, (int)strlen(arg->needs));
            if (!(r->given >> other & 1)) {
                return FAIL_AT(p, place, "%s needs %s beside it", arg->name, arg->needs);
            }
        }
    }
    return FAR_OK;
}

/* Reads what stands after the '(' of a layer. */
static far_status parse_args(parser *p, far_layer *layer)
{
    arg_reader r = {.layer = layer, .spec = &far_layer_specs[layer->kind]};
    far_status st = FAR_OK;
    if (take(p, ')')) {
        return FAR_OK;
    }
    if (r.spec->arg_count == 0) {
        return FAIL_AT(p, p->at, "%s takes no arguments", r.spec->name);
    }
    do {
        FAR_TRY(parse_arg(p, &r));
    } while (take(p, ','));
    if (!take(p, ')')) {
        FAR_TRY(fail_expected(p, "',' or ')'"));
    }
    FAR_TRY(check_needs(p, &r, layer->column - 1));
done:
    return st;
}

static far_status fail_unknown_layer(const parser *p, int end)
{
    const char *nearest = far_layer_nearest(p->text + p->at, end - p->at);
    quote word = quote_at(p, p->at);
    if (nearest) {
        return FAIL_AT(p, p->at, "there is no layer %s; did you mean %s?", word.text, nearest);
    }
    char names[512] = "";
    for (int kind = 0; kind < FAR_LAYER_WORDS; kind++) {
        if (kind != FAR_LAYER_GELU_TANH) {
            add_name(names, sizeof names, far_layer_specs[kind].name);
        }
    }
    return FAIL_AT(p, p->at, "there is no layer %s; there are %s", word.text, names);
}

static far_status parse_skip(parser *p, far_layer *layer, int64_t *depth)
{
    if (!take(p, '(')) {
        return fail_expected(p, "'(' after skip");
    }
    return parse_body(p, layer, p->at - 1, ')', depth);
}

static far_status parse_named(parser *p, far_layer *layer, int64_t *depth)
{
    int end = word_end(p, p->at);
    far_layer_kind kind;
    if (!is_letter(next(p))) {
        return fail_expected(p, "a layer name");
    }
    if (!far_layer_find(p->text + p->at, end - p->at, &kind)) {
        return fail_unknown_layer(p, end);
    }
    *layer = far_layer_blank(kind);
    layer->column = p->at + 1;
    p->at = end;
    if (kind == FAR_LAYER_SKIP) {
        return parse_skip(p, layer, depth);
    }
    *depth = 1;
    if (take(p, '(')) {
        far_status st = parse_args(p, layer);
        layer->kind = layer->by_tanh ? FAR_LAYER_GELU_TANH : kind;
        return st;
    }
    p->at = end; /* the blanks belong between the layers */
    return FAR_OK;
}

static far_status fail_too_many_layers(const parser *p, int place)
{
    return FAIL_AT(p, place, "more than %d layers once repetitions are written out",
                   FAR_ARCH_MAX_LAYERS);
}

/* Reads 'x3' and multiplies depth by it. */
static far_status parse_count(parser *p, far_layer *layer, int64_t *depth)
{
    static const far_arg count = {.name = "a repeat count",
                                  .type = FAR_ARG_INTEGER,
                                  .field = offsetof(far_layer, count),
                                  .least = 1,
                                  .most = FAR_ARCH_MAX_LAYERS};
    double value;
    if (!take(p, 'x')) {
        return fail_expected(p, "'x' and a repeat count after ']', as in [dense relu]x3");
    }
    skip_blanks(p);
    int place = p->at;
    far_status st = read_value(p, &count, &value);
    if (st != FAR_OK) {
        return st;
    }
    far_arg_set(&count, value, layer);
    if (layer->count > FAR_ARCH_MAX_LAYERS / *depth) {
        return fail_too_many_layers(p, place);
    }
    *depth *= layer->count;
    return FAR_OK;
}

static far_status parse_repeat(parser *p, far_layer *layer, int64_t *depth)
{
    *layer = far_layer_blank(FAR_LAYER_REPEAT);
    layer->column = p->at + 1;
    int open = p->at++;
    far_status st = parse_body(p, layer, open, ']', depth);
    return st == FAR_OK ? parse_count(p, layer, depth) : st;
}

static bool ends_item(char c)
{
    return is_blank(c) || c == ']' || c == ')' || c == '|' || c == 0;
}

static far_status parse_item(parser *p, far_layer *layer, int64_t *depth)
{
    far_status st = next(p) == '[' ? parse_repeat(p, layer, depth) : parse_named(p, layer, depth);
    if (st == FAR_OK && !ends_item(next(p))) {
        st = fail_expected(p, "a blank before the next layer");
    }
    return st;
}

static bool is_power_of_two(int64_t n)
{
    return (n & (n - 1)) == 0;
}

/* A new last layer in the body of owner. Full exactly at 0, 4, 8, 16, ... layers, so the capacity
 * need not be kept. */
static far_status append(parser *p, far_layer *owner, far_layer **out)
{
    int64_t count = owner->body_count;
    far_status st = FAR_OK;
    if (count == 0 || (count >= FIRST_CAPACITY && is_power_of_two(count))) {
        st = far_grow(p->ctx, count, count ? 2 * count : FIRST_CAPACITY, &owner->body);
    }
    if (st == FAR_OK) {
        *out = &owner->body[owner->body_count++];
        **out = far_layer_blank(FAR_LAYER_IDENTITY); /* until it is read */
    }
    return st;
}

/* Reads items up to a closing bracket or the end. *depth: their layers, written out. */
static far_status parse_network(parser *p, far_layer *owner, int64_t *depth)
{
    far_status st;
    *depth = 0;
    do {
        far_layer *item;
        int64_t item_depth = 0;
        skip_blanks(p);
        int place = p->at;
        FAR_TRY(append(p, owner, &item));
        FAR_TRY(parse_item(p, item, &item_depth));
        if (item_depth > FAR_ARCH_MAX_LAYERS - *depth) {
            FAR_TRY(fail_too_many_layers(p, place));
        }
        *depth += item_depth;
        skip_blanks(p);
    } while (next(p) != 0 && next(p) != ']' && next(p) != ')' && next(p) != '|');
done:
    return st;
}

/* Reads what stands behind the bar of a skip, as more layers of its body. */
static far_status parse_shortcut(parser *p, far_layer *skip, int64_t *depth)
{
    int64_t more = 0;
    int place = p->at;
    skip->main_count = skip->body_count;
    far_status st = parse_network(p, skip, &more);
    if (st == FAR_OK && more > FAR_ARCH_MAX_LAYERS - *depth) {
        st = fail_too_many_layers(p, place);
    }
    *depth += more;
    return st;
}

/* Reads the network between two brackets; the opening one stands at open and is read already. */
static far_status parse_body(parser *p, far_layer *owner, int open, char close, int64_t *depth)
{
    if (p->nesting == FAR_ARCH_MAX_NESTING) {
        return FAIL_AT(p, open, "brackets nest more than %d deep", FAR_ARCH_MAX_NESTING);
    }
    p->nesting++;
    far_status st = parse_network(p, owner, depth);
    if (st == FAR_OK && owner->kind == FAR_LAYER_SKIP && take(p, '|')) {
        st = parse_shortcut(p, owner, depth);
    }
    p->nesting--;
    if (st == FAR_OK && !take(p, close)) {
        char what[64];
        snprintf(what, sizeof what, "'%c' to close the '%c' of column %d", close, p->text[open],
                 open + 1);
        st = fail_expected(p, what);
    }
    return st;
}

static far_status check_text(const parser *p)
{
    if (p->length > FAR_ARCH_MAX_TEXT) {
        return FAIL_AT(p, FAR_ARCH_MAX_TEXT, "the text is longer than %d characters",
                       FAR_ARCH_MAX_TEXT);
    }
    int blanks = 0;
    while (is_blank(p->text[blanks])) {
        blanks++;
    }
    if (blanks == p->length) {
        return FAIL_AT(p, 0, "the text is empty; write layers, for example %s", EXAMPLE);
    }
    return FAR_OK;
}

static far_status check_all_read(const parser *p)
{
    if (next(p) != 0) {
        return fail_expected(p, "a layer name or the end of the text");
    }
    return FAR_OK;
}

/* The canonical text can be longer than the one given, and must parse again. */
static far_status keep_text(const parser *p, far_arch *arch)
{
    int64_t length;
    far_status st = far_arch_print(p->ctx, &arch->root, &arch->text, &length);
    if (st == FAR_OK && length > FAR_ARCH_MAX_TEXT) {
        st = FAIL_AT(p, p->length, "the text is longer than %d characters in canonical form",
                     FAR_ARCH_MAX_TEXT);
    }
    return st;
}

far_status far_arch_parse(far_ctx *ctx, const char *text, far_arch **out)
{
    far_arch *arch = NULL;
    far_status st;
    if (out) {
        *out = NULL;
    }
    if (!ctx || !text || !out) {
        return far_fail(ctx, FAR_ERR_ARG, "far_arch_parse needs a context, a text and an output");
    }
    parser p = {.ctx = ctx, .text = text};
    p.length = (int)strnlen(text, FAR_ARCH_MAX_TEXT + 1);
    FAR_TRY(check_text(&p));
    FAR_TRY(far_alloc(ctx, 1, &arch));
    arch->ctx = ctx;
    arch->root = far_layer_blank(FAR_LAYER_REPEAT);
    FAR_TRY(parse_network(&p, &arch->root, &arch->depth));
    FAR_TRY(check_all_read(&p));
    FAR_TRY(keep_text(&p, arch));
    *out = arch;
    arch = NULL; /* the caller owns it now */
done:
    far_arch_destroy(arch);
    return st;
}

far_status far_arch_canonical(far_ctx *ctx, const char *text, char **out, int64_t *layers)
{
    far_arch *arch = NULL;
    far_status st;
    FAR_TRY(far_arch_parse(ctx, text, &arch));
    if (out) {
        FAR_TRY(far_copy_text(ctx, arch->text, (int64_t)strlen(arch->text), out));
    }
    if (layers) {
        *layers = arch->depth;
    }
done:
    far_arch_destroy(arch);
    return st;
}

static void free_body(far_ctx *ctx, far_layer *owner)
{
    for (int64_t i = 0; i < owner->body_count; i++) {
        free_body(ctx, &owner->body[i]);
    }
    far_free(ctx, owner->body);
}

void far_arch_destroy(far_arch *arch)
{
    if (arch) {
        far_ctx *ctx = arch->ctx;
        free_body(ctx, &arch->root);
        far_free(ctx, arch->text);
        far_free(ctx, arch);
    }
}

const char *far_arch_text(const far_arch *arch)
{
    return arch ? arch->text : "";
}

int far_arch_equal(const far_arch *a, const far_arch *b)
{
    return strcmp(far_arch_text(a), far_arch_text(b)) == 0;
}

int64_t far_arch_depth(const far_arch *arch)
{
    return arch ? arch->depth : 0;
}

const far_layer *far_arch_layers(const far_arch *arch, int64_t *count)
{
    *count = arch->root.body_count;
    return arch->root.body;
}
