/* Evaluates conditions, a block of rows at a time. */
#include "expr.h"

#include <math.h>
#include <string.h>

#define BLOCK 256 /* rows; what a comparison works on stays in the first-level cache */

typedef struct block {
    const far_expr *e;
    int64_t first; /* row */
    int count;
} block;

/* ---- operands ---- */

static const double *load_numbers(const block *b, const far_operand *o, double *room)
{
    if (o->col >= 0) {
        return b->e->frame->columns[o->col].numbers + b->first;
    }
    for (int i = 0; i < b->count; i++) {
        room[i] = o->number;
    }
    return room;
}

/* codes: of each level in another column, NULL for the column's own. */
static const int32_t *load_codes(const block *b, const far_operand *o, const int32_t *codes,
                                 int32_t *room)
{
    if (o->col >= 0 && !codes) {
        return b->e->frame->columns[o->col].codes + b->first;
    }
    for (int i = 0; i < b->count; i++) {
        int32_t own = codes ? b->e->frame->columns[o->col].codes[b->first + i] : o->word;
        room[i] = codes && own >= 0 ? codes[own] : own;
    }
    return room;
}

/* ---- comparisons; NAN compares false with everything, and so does -1 ---- */

#define COMPARE_ALL(condition)                                                                     \
    for (int i = 0; i < count; i++) {                                                              \
        out[i] = (condition);                                                                      \
    }                                                                                              \
    break

static void compare_numbers(far_compare how, const double *x, const double *y, int count,
                            unsigned char *out)
{
    switch (how) {
    case FAR_COMPARE_EQUAL:
        COMPARE_ALL(x[i] == y[i]);
    case FAR_COMPARE_DIFFERENT:
        COMPARE_ALL((x[i] < y[i]) | (x[i] > y[i]));
    case FAR_COMPARE_LESS:
        COMPARE_ALL(x[i] < y[i]);
    case FAR_COMPARE_LESS_EQUAL:
        COMPARE_ALL(x[i] <= y[i]);
    case FAR_COMPARE_MORE:
        COMPARE_ALL(x[i] > y[i]);
    case FAR_COMPARE_MORE_EQUAL:
        COMPARE_ALL(x[i] >= y[i]);
    }
}

static void compare_codes(far_compare how, const int32_t *x, const int32_t *y, int count,
                          unsigned char *out)
{
    bool wanted = how == FAR_COMPARE_EQUAL;
    for (int i = 0; i < count; i++) {
        out[i] = (x[i] != -1) & (y[i] != -1) & ((x[i] == y[i]) == wanted);
    }
}

static void eval_compare(const block *b, const far_node *n, unsigned char *out)
{
    if (n->left.kind == FAR_COLUMN_NUMBER) {
        double x[BLOCK], y[BLOCK];
        compare_numbers(n->compare, load_numbers(b, &n->left, x), load_numbers(b, &n->right, y),
                        b->count, out);
    } else {
        int32_t x[BLOCK], y[BLOCK];
        compare_codes(n->compare, load_codes(b, &n->left, NULL, x),
                      load_codes(b, &n->right, n->codes, y), b->count, out);
    }
}

static void eval_missing(const block *b, const far_node *n, unsigned char *out)
{
    const far_column *c = &b->e->frame->columns[n->left.col];
    for (int i = 0; i < b->count; i++) {
        out[i] = c->numbers ? isnan(c->numbers[b->first + i]) : c->codes[b->first + i] < 0;
    }
}

/* ---- the tree, no deeper than its nesting ---- */

static void eval_node(const block *b, int node, unsigned char *out)
{
    const far_node *n = &b->e->nodes[node];
    if (n->kind == FAR_NODE_COMPARE || n->kind == FAR_NODE_MISSING) {
        (n->kind == FAR_NODE_COMPARE ? eval_compare : eval_missing)(b, n, out);
        return;
    }
    eval_node(b, n->child, out);
    if (n->kind == FAR_NODE_NOT) {
        for (int i = 0; i < b->count; i++) {
            out[i] = !out[i];
        }
        return;
    }
    for (int next = b->e->nodes[n->child].next; next >= 0; next = b->e->nodes[next].next) {
        unsigned char other[BLOCK];
        eval_node(b, next, other);
        for (int i = 0; i < b->count; i++) {
            out[i] = n->kind == FAR_NODE_AND ? out[i] & other[i] : out[i] | other[i];
        }
    }
}

void far_expr_eval(const far_expr *e, unsigned char *holds)
{
    int64_t rows = e->frame->rows;
    for (int64_t i = 0; i < rows; i += BLOCK) {
        block b = {e, i, rows - i < BLOCK ? (int)(rows - i) : BLOCK};
        eval_node(&b, e->root, holds + i);
    }
}

/* ---- the call ---- */

void far_expr_clear(far_expr *e)
{
    for (int i = 0; i < e->count; i++) {
        far_free(e->ctx, e->nodes[i].codes);
    }
    far_free(e->ctx, e->nodes);
    far_words_clear(&e->words);
}

far_status far_frame_where(far_ctx *ctx, const far_frame *frame, const char *expr,
                           unsigned char *rows)
{
    if (!ctx || !frame || !expr || !rows) {
        return far_fail(ctx, FAR_ERR_ARG, "frame, expr or rows is NULL");
    }
    far_expr e = {0};
    far_status st = far_expr_parse(ctx, frame, expr, &e);
    if (st == FAR_OK) {
        far_expr_eval(&e, rows);
    }
    far_expr_clear(&e);
    return st;
}
