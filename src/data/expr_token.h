/* The tokens of a condition on rows. */
#ifndef FAR_EXPR_TOKEN_H
#define FAR_EXPR_TOKEN_H

#include "expr.h"

typedef enum far_token_kind {
    FAR_TOKEN_END,
    FAR_TOKEN_NUMBER,
    FAR_TOKEN_DATE, /* 2020-01-31, 2020-01-31T12:00 */
    FAR_TOKEN_WORD, /* in quotes */
    FAR_TOKEN_NAME, /* bare, or in backquotes */
    FAR_TOKEN_COMPARE,
    FAR_TOKEN_AND,
    FAR_TOKEN_OR,
    FAR_TOKEN_NOT,
    FAR_TOKEN_OPEN,
    FAR_TOKEN_CLOSE
} far_token_kind;

typedef struct far_token {
    far_token_kind kind;
    int place, end;
    far_compare compare;
    double number;
} far_token;

typedef struct far_lexer {
    far_ctx *ctx;
    const char *text;
    int length;
    far_token token; /* the next one; zero at first */
} far_lexer;

/* Moves to the next token. */
far_status far_lexer_advance(far_lexer *l);
/* The text of a name or word without its quotes, in the room of a set of words. */
far_status far_lexer_text(const far_lexer *l, const far_token *t, far_words *room, char **out,
                          int64_t *length);

/* A piece of text for a message. */
typedef struct far_shown {
    char text[48];
} far_shown;
far_shown far_lexer_show(const far_lexer *l, const far_token *t); /* 'F1', or the end */

/* The message of a failure at a place. */
#define FAR_EXPR_FAIL(l, place, ...)                                                               \
    far_fail_at((l)->ctx, FAR_ERR_PARSE, (l)->text, (l)->length, place, __VA_ARGS__)

#endif
