/* Conditions on the rows of a frame: what the parser makes and the evaluator runs. */
#ifndef FAR_EXPR_H
#define FAR_EXPR_H

#include "frame_internal.h"

/* Limits that keep hostile texts harmless. */
#define FAR_EXPR_MAX_TEXT 65536
#define FAR_EXPR_MAX_NESTING 64

typedef enum far_compare {
    FAR_COMPARE_EQUAL,
    FAR_COMPARE_DIFFERENT,
    FAR_COMPARE_LESS,
    FAR_COMPARE_LESS_EQUAL,
    FAR_COMPARE_MORE,
    FAR_COMPARE_MORE_EQUAL
} far_compare;

/* A column, or a constant of either kind. */
typedef struct far_operand {
    far_column_kind kind;
    int64_t col;    /* -1: a constant */
    double number;  /* a constant number */
    bool date;      /* a number of days */
    int32_t word;   /* a constant word: its number in the expression's words, later its code */
    int place, end; /* in the text */
} far_operand;

typedef enum far_node_kind {
    FAR_NODE_COMPARE,
    FAR_NODE_MISSING, /* the left operand, a column */
    FAR_NODE_NOT,     /* one child */
    FAR_NODE_AND,
    FAR_NODE_OR /* two or more */
} far_node_kind;

typedef struct far_node {
    far_node_kind kind;
    int child, next; /* first child; next one of the same parent; -1: none */
    far_compare compare;
    far_operand left, right;
    int32_t *codes; /* two word columns: the left one's code of each level of the right one */
} far_node;

/* A word that the other column does not have; -1 is a missing value. */
#define FAR_CODE_FOREIGN (-2)

typedef struct far_expr {
    far_ctx *ctx;
    const far_frame *frame;
    far_node *nodes;
    int count, room, root;
    far_words words; /* in quotes in the text */
} far_expr;

/* Zero-initialise; clear also on failure. */
far_status far_expr_parse(far_ctx *ctx, const far_frame *frame, const char *text, far_expr *e);
/* holds[i] = 1 where the condition holds for row i, else 0. */
void far_expr_eval(const far_expr *e, unsigned char *holds);
void far_expr_clear(far_expr *e);

#endif
