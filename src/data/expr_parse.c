/* Reads conditions such as "F1 >= 20000 and not (kind == 'a b' or F2 < -1.5e3)". Recursive descent;
 * FAR_EXPR_MAX_NESTING bounds the stack. */
#include "expr_token.h"

#include <math.h>
#include <string.h>

#define FIRST_NODES 8
#define COMPARISONS "==, !=, <, <=, > or >="

typedef struct parser {
    far_lexer lexer;
    int nesting;
    far_expr *expr;
} parser;

static far_status parse_any(parser *p, far_token_kind joint, int *out);

#define FAIL(p, place, ...) FAR_EXPR_FAIL(&(p)->lexer, place, __VA_ARGS__)

static far_status advance(parser *p)
{
    return far_lexer_advance(&p->lexer);
}

static const far_token *next(const parser *p)
{
    return &p->lexer.token;
}

static bool next_is(const parser *p, far_token_kind kind)
{
    return p->lexer.token.kind == kind;
}

static far_shown show(const char *text)
{
    far_shown s;
    far_show(s.text, sizeof s.text, text, (int64_t)strlen(text));
    return s;
}

static far_shown show_column(const parser *p, int64_t col)
{
    return show(p->expr->frame->name[col]);
}

static far_shown show_next(const parser *p)
{
    return far_lexer_show(&p->lexer, next(p));
}

/* ---- operands ---- */

/* The level of that text, or FAR_CODE_FOREIGN. */
static int32_t find_level(const far_frame *f, int64_t col, const char *text)
{
    int64_t low = 0, high = f->columns[col].level_count;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        int order = strcmp(far_frame_level(f, col, middle), text);
        if (order == 0) {
            return (int32_t)middle;
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return FAR_CODE_FOREIGN;
}

static bool is_level(const far_frame *f, const far_operand *o, const char *text)
{
    return o && o->col >= 0 && o->kind == FAR_COLUMN_WORD &&
           find_level(f, o->col, text) != FAR_CODE_FOREIGN;
}

static far_status fail_name(const parser *p, const far_operand *other, const char *name)
{
    const far_frame *f = p->expr->frame;
    char hint[900];
    far_shown s = show(name);
    int64_t group = far_words_find(&f->group_names, name);
    if (is_level(f, other, name)) {
        return FAIL(p, next(p)->place, "there is no column '%s'; words stand in quotes", s.text);
    }
    if (group >= 0) {
        return FAIL(p, next(p)->place, "'%s' is %lld columns; name one of them, as in %s", s.text,
                    (long long)f->groups[group].count, show_column(p, f->groups[group].first).text);
    }
    far_frame_hint(f, name, hint, sizeof hint);
    return FAIL(p, next(p)->place, "there is no column '%s'%s", s.text, hint);
}

static far_status resolve_name(parser *p, const far_operand *other, far_operand *out)
{
    char *text;
    int64_t length;
    far_status st = far_lexer_text(&p->lexer, next(p), &p->expr->words, &text, &length);
    if (st != FAR_OK) {
        return st;
    }
    out->col = far_words_find(&p->expr->frame->names, text);
    if (out->col < 0) {
        return fail_name(p, other, text);
    }
    const far_column *c = &p->expr->frame->columns[out->col];
    out->kind = c->kind;
    out->date = c->numbers && far_notation_is_date(c->notation);
    return FAR_OK;
}

static far_status resolve_word(parser *p, far_operand *out)
{
    char *text;
    int64_t length;
    far_status st = far_lexer_text(&p->lexer, next(p), &p->expr->words, &text, &length);
    out->kind = FAR_COLUMN_WORD;
    return st == FAR_OK ? far_words_add_room(&p->expr->words, length, &out->word) : st;
}

/* other: what it will be compared with, NULL if that is not known yet. */
static far_status parse_operand(parser *p, const far_operand *other, far_operand *out)
{
    far_status st = FAR_OK;
    const far_token *t = next(p);
    *out = (far_operand){.col = -1, .number = t->number, .place = t->place, .end = t->end};
    switch (t->kind) {
    case FAR_TOKEN_NUMBER:
    case FAR_TOKEN_DATE:
        out->date = t->kind == FAR_TOKEN_DATE;
        break;
    case FAR_TOKEN_NAME:
        FAR_TRY(resolve_name(p, other, out));
        break;
    case FAR_TOKEN_WORD:
        FAR_TRY(resolve_word(p, out));
        break;
    default:
        return FAIL(p, t->place, "expected a column, a number or a word in quotes, found %s",
                    show_next(p).text);
    }
    FAR_TRY(advance(p));
done:
    return st;
}

/* ---- comparisons ---- */

/* Whether a constant, as it stands in the text or between its quotes, is a column's name. */
static bool is_name(const parser *p, const far_operand *o)
{
    const far_words *names = &p->expr->frame->names;
    if (o->kind == FAR_COLUMN_WORD) {
        return far_words_find(names, far_words_text(&p->expr->words, o->word)) >= 0;
    }
    char text[64];
    snprintf(text, sizeof text, "%.*s", o->end - o->place, p->lexer.text + o->place);
    return o->end - o->place < (int)sizeof text && far_words_find(names, text) >= 0;
}

static far_status fail_constants(const parser *p, const far_operand *left, const far_operand *right)
{
    const far_operand *name = is_name(p, left) ? left : is_name(p, right) ? right : NULL;
    if (!name) {
        return FAIL(p, left->place, "there is no column in this comparison");
    }
    const char *what = name->kind == FAR_COLUMN_WORD ? "word" : "number";
    return FAIL(p, name->place, "this is a %s; the column of that name goes in backquotes", what);
}

/* "words, such as 'a' in row 1": a slip in one row makes a column of words. */
static void describe_column(const parser *p, int64_t col, char *out, size_t capacity)
{
    const far_frame *f = p->expr->frame;
    bool words = f->columns[col].kind == FAR_COLUMN_WORD;
    int64_t row = words ? far_frame_first_word(f, col) : -1;
    if (row < 0) {
        snprintf(out, capacity, "'%s' holds %s", show_column(p, col).text,
                 words                                            ? "words"
                 : far_notation_is_date(f->columns[col].notation) ? "dates"
                                                                  : "numbers");
    } else {
        const char *word = far_frame_level(f, col, f->columns[col].codes[row]);
        snprintf(out, capacity, "'%s' holds words, such as '%s' in row %lld",
                 show_column(p, col).text, show(word).text, (long long)row + 1);
    }
}

/* A text beside a column of dates is one of them, written as that column does. */
static void read_date(const parser *p, const far_operand *column, far_operand *text)
{
    if (column->col < 0 || !column->date || text->col >= 0 || text->kind != FAR_COLUMN_WORD) {
        return;
    }
    const far_column *c = &p->expr->frame->columns[column->col];
    double date = far_date_parse(far_words_text(&p->expr->words, text->word), c->notation);
    if (!isnan(date)) {
        text->kind = FAR_COLUMN_NUMBER;
        text->date = true;
        text->number = date;
    }
}

static far_status fail_kinds(const parser *p, const far_operand *left, const far_operand *right)
{
    const far_operand *column = left->col >= 0 ? left : right;
    const far_operand *other = column == left ? right : left;
    char what[200], what_other[200];
    describe_column(p, column->col, what, sizeof what);
    if (other->col >= 0) {
        describe_column(p, other->col, what_other, sizeof what_other);
        return FAIL(p, other->place, "%s, but %s", what, what_other);
    }
    return FAIL(p, other->place, "%s; compare it with a %s", what,
                column->kind == FAR_COLUMN_WORD ? "word in quotes"
                : column->date                  ? "date such as 2020-01-31"
                                                : "number");
}

static far_status check_kinds(const parser *p, const far_operand *left, const far_token *sign,
                              const far_operand *right)
{
    if (left->col < 0 && right->col < 0) {
        return fail_constants(p, left, right);
    }
    if (left->kind != right->kind || left->date != right->date) {
        return fail_kinds(p, left, right);
    }
    if (left->kind == FAR_COLUMN_WORD && sign->compare > FAR_COMPARE_DIFFERENT) {
        return FAIL(p, sign->place, "words compare by == and != only");
    }
    return FAR_OK;
}

/* The left column's codes of the right column's levels. */
static far_status translate_levels(parser *p, far_node *n)
{
    const far_frame *f = p->expr->frame;
    int64_t count = far_frame_column(f, n->right.col).level_count;
    far_status st = far_alloc(p->lexer.ctx, count, &n->codes);
    for (int64_t i = 0; st == FAR_OK && i < count; i++) {
        n->codes[i] = find_level(f, n->left.col, far_frame_level(f, n->right.col, i));
    }
    return st;
}

/* Puts a column on the left, and the right side into its codes. */
static far_status resolve_words(parser *p, far_node *n)
{
    if (n->left.col < 0) {
        far_operand left = n->left;
        n->left = n->right; /* == and != do not care */
        n->right = left;
    }
    if (n->right.col < 0) {
        const char *word = far_words_text(&p->expr->words, n->right.word);
        n->right.word = find_level(p->expr->frame, n->left.col, word);
        return FAR_OK;
    }
    return n->right.col == n->left.col ? FAR_OK : translate_levels(p, n);
}

static far_status add_node(parser *p, far_node_kind kind, int child, int *out)
{
    far_expr *e = p->expr;
    if (e->count == e->room) {
        int room = e->room ? 2 * e->room : FIRST_NODES;
        far_status st = far_grow(p->lexer.ctx, e->count, room, &e->nodes);
        if (st != FAR_OK) {
            return st;
        }
        e->room = room;
    }
    e->nodes[e->count] = (far_node){.kind = kind, .child = child, .next = -1};
    *out = e->count++;
    return FAR_OK;
}

static far_status add_compare(parser *p, far_operand *left, const far_token *sign,
                              far_operand *right, int *out)
{
    far_status st;
    read_date(p, left, right);
    read_date(p, right, left);
    FAR_TRY(check_kinds(p, left, sign, right));
    FAR_TRY(add_node(p, FAR_NODE_COMPARE, -1, out));
    far_node *n = &p->expr->nodes[*out];
    n->compare = sign->compare;
    n->left = *left;
    n->right = *right;
    if (left->kind == FAR_COLUMN_WORD) {
        FAR_TRY(resolve_words(p, n));
    }
done:
    return st;
}

static far_status fail_alone(const parser *p, const far_operand *o)
{
    far_token alone = {.kind = FAR_TOKEN_NAME, .place = o->place, .end = o->end};
    if (next_is(p, FAR_TOKEN_END) || next_is(p, FAR_TOKEN_CLOSE) || next_is(p, FAR_TOKEN_AND) ||
        next_is(p, FAR_TOKEN_OR)) {
        return FAIL(p, o->place, "%s alone is no condition; compare it by " COMPARISONS,
                    far_lexer_show(&p->lexer, &alone).text);
    }
    return FAIL(p, next(p)->place, "expected " COMPARISONS " after %s, found %s",
                far_lexer_show(&p->lexer, &alone).text, show_next(p).text);
}

/* A bare word; the column of that name stands in backquotes. */
static bool next_is_word(const parser *p, const char *word)
{
    const far_token *t = next(p);
    size_t length = strlen(word);
    return t->kind == FAR_TOKEN_NAME && (size_t)(t->end - t->place) == length &&
           memcmp(p->lexer.text + t->place, word, length) == 0;
}

/* "is missing" or "is not missing" behind a column. */
static far_status parse_missing(parser *p, const far_operand *column, int *out)
{
    far_status st;
    if (column->col < 0) {
        return FAIL(p, column->place, "only a column can be missing");
    }
    FAR_TRY(advance(p));
    bool negated = next_is(p, FAR_TOKEN_NOT);
    FAR_TRY(negated ? advance(p) : FAR_OK);
    if (!next_is_word(p, "missing")) {
        return FAIL(p, next(p)->place, "expected 'missing' after 'is', found %s",
                    show_next(p).text);
    }
    FAR_TRY(advance(p));
    FAR_TRY(add_node(p, FAR_NODE_MISSING, -1, out));
    p->expr->nodes[*out].left = *column;
    if (negated) {
        FAR_TRY(add_node(p, FAR_NODE_NOT, *out, out));
    }
done:
    return st;
}

/* a < b <= c holds where a < b and b <= c do. */
static far_status parse_chain(parser *p, int *out)
{
    far_status st;
    far_operand left, right;
    int last = -1, pair;
    FAR_TRY(parse_operand(p, NULL, &left));
    if (next_is_word(p, "is")) {
        return parse_missing(p, &left, out);
    }
    if (!next_is(p, FAR_TOKEN_COMPARE)) {
        return fail_alone(p, &left);
    }
    while (next_is(p, FAR_TOKEN_COMPARE)) {
        far_token sign = *next(p);
        FAR_TRY(advance(p));
        FAR_TRY(parse_operand(p, &left, &right));
        FAR_TRY(add_compare(p, &left, &sign, &right, &pair));
        if (last < 0) {
            *out = pair;
        } else if (last == *out) { /* the second pair */
            FAR_TRY(add_node(p, FAR_NODE_AND, last, out));
        }
        if (last >= 0) {
            p->expr->nodes[last].next = pair;
        }
        last = pair;
        left = right;
    }
done:
    return st;
}

/* ---- conditions ---- */

static far_status enter(parser *p)
{
    if (p->nesting == FAR_EXPR_MAX_NESTING) {
        return FAIL(p, next(p)->place, "more than %d parentheses and nots inside each other",
                    FAR_EXPR_MAX_NESTING);
    }
    p->nesting++;
    return advance(p);
}

static far_status parse_parentheses(parser *p, int *out)
{
    far_status st;
    int open = next(p)->place;
    FAR_TRY(enter(p));
    FAR_TRY(parse_any(p, FAR_TOKEN_OR, out));
    if (!next_is(p, FAR_TOKEN_CLOSE)) {
        return next_is(p, FAR_TOKEN_END)
                   ? FAIL(p, open, "this parenthesis is not closed")
                   : FAIL(p, next(p)->place, "expected 'and', 'or' or ')', found %s",
                          show_next(p).text);
    }
    p->nesting--;
    FAR_TRY(advance(p));
done:
    return st;
}

static far_status parse_one(parser *p, int *out)
{
    far_status st;
    int child;
    if (next_is(p, FAR_TOKEN_OPEN)) {
        return parse_parentheses(p, out);
    }
    if (!next_is(p, FAR_TOKEN_NOT)) {
        return parse_chain(p, out);
    }
    FAR_TRY(enter(p));
    FAR_TRY(parse_one(p, &child));
    FAR_TRY(add_node(p, FAR_NODE_NOT, child, out));
    p->nesting--;
done:
    return st;
}

/* Conditions joined by or, or, one step closer, by and. */
static far_status parse_any(parser *p, far_token_kind joint, int *out)
{
    far_status st;
    int last, child;
    bool of_all = joint == FAR_TOKEN_AND;
    FAR_TRY(of_all ? parse_one(p, &last) : parse_any(p, FAR_TOKEN_AND, &last));
    *out = last;
    if (next_is(p, joint)) {
        FAR_TRY(add_node(p, of_all ? FAR_NODE_AND : FAR_NODE_OR, last, out));
    }
    while (next_is(p, joint)) {
        FAR_TRY(advance(p));
        FAR_TRY(of_all ? parse_one(p, &child) : parse_any(p, FAR_TOKEN_AND, &child));
        p->expr->nodes[last].next = child;
        last = child;
    }
done:
    return st;
}

static far_status parse_all(parser *p)
{
    far_status st;
    FAR_TRY(advance(p));
    if (next_is(p, FAR_TOKEN_END)) {
        return FAIL(p, next(p)->place, "expected a condition such as F1 > 0, found nothing");
    }
    FAR_TRY(parse_any(p, FAR_TOKEN_OR, &p->expr->root));
    if (next_is(p, FAR_TOKEN_CLOSE)) {
        return FAIL(p, next(p)->place, "this parenthesis was not opened");
    }
    if (!next_is(p, FAR_TOKEN_END)) {
        return FAIL(p, next(p)->place, "expected 'and', 'or' or the end, found %s",
                    show_next(p).text);
    }
done:
    return st;
}

far_status far_expr_parse(far_ctx *ctx, const far_frame *frame, const char *text, far_expr *e)
{
    size_t length = strnlen(text, FAR_EXPR_MAX_TEXT + 1);
    parser p = {.lexer = {.ctx = ctx, .text = text, .length = (int)length}, .expr = e};
    *e = (far_expr){.ctx = ctx, .frame = frame, .words = {.ctx = ctx}};
    if (length > FAR_EXPR_MAX_TEXT) {
        return FAIL(&p, FAR_EXPR_MAX_TEXT, "the text is longer than %d bytes", FAR_EXPR_MAX_TEXT);
    }
    return parse_all(&p);
}
