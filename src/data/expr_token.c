/* The tokens of a condition on rows: numbers, words, names and signs. */
#include "expr_token.h"

#include <math.h>
#include <string.h>

/* Words and odd names have their quotes already. */
far_shown far_lexer_show(const far_lexer *l, const far_token *t)
{
    far_shown s = {"the end"};
    char text[sizeof s.text - 2];
    if (t->kind != FAR_TOKEN_END) {
        const char *first = l->text + t->place;
        const char *quote = *first == '`' || *first == '\'' || *first == '"' ? "" : "'";
        far_show(text, sizeof text, first, t->end - t->place);
        snprintf(s.text, sizeof s.text, "%s%s%s", quote, text, quote);
    }
    return s;
}

/* ---- reading ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Letters of any language stand in names. */
static bool starts_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

static bool in_name(char c)
{
    return starts_name(c) || is_digit(c) || c == '.';
}

static bool starts_number(const char *s)
{
    s += *s == '-' || *s == '+';
    return is_digit(*s) || (*s == '.' && is_digit(s[1]));
}

/* 2020-01 or 2020/1; other dates stand in quotes. */
static bool starts_date(const char *s)
{
    size_t digits = strspn(s, "0123456789");
    return digits == 4 && (s[4] == '-' || s[4] == '/') && is_digit(s[5]);
}

static int name_end(const char *text, int at)
{
    while (in_name(text[at])) {
        at++;
    }
    return at;
}

static far_status take_date(const far_lexer *l, far_token *t)
{
    char text[64];
    size_t length = strspn(l->text + t->place, "0123456789-/:.+TZ");
    t->kind = FAR_TOKEN_DATE;
    t->end = t->place + (int)length;
    snprintf(text, sizeof text, "%.*s", (int)length, l->text + t->place);
    t->number = length < sizeof text ? far_date_parse(text, FAR_NOTATION_YMD) : NAN;
    return isnan(t->number) ? FAR_EXPR_FAIL(l, t->place, "%s is no date; write it as 2020-01-31",
                                            far_lexer_show(l, t).text)
                            : FAR_OK;
}

static far_status take_number(const far_lexer *l, far_token *t)
{
    const char *first = l->text + t->place;
    t->kind = FAR_TOKEN_NUMBER;
    t->end = (int)(far_number_parse(first, &t->number) - l->text);
    int end = name_end(l->text, t->end);
    if (end > t->end) {
        return FAR_EXPR_FAIL(
            l, t->place,
            "%s is no number; a column's name that starts with a digit goes in "
            "backquotes",
            far_lexer_show(l, &(far_token){FAR_TOKEN_NAME, t->place, end, 0, 0}).text);
    }
    return isinf(t->number) ? FAR_EXPR_FAIL(l, t->place, "the number is too large") : FAR_OK;
}

/* In quotes of either kind or in backquotes; doubled inside they stand for one. */
static far_status take_quoted(const far_lexer *l, far_token *t)
{
    char quote = l->text[t->place];
    const char *q = l->text + t->place + 1;
    for (; q[0] != quote || q[1] == quote; q++) {
        if (*q == 0) {
            return FAR_EXPR_FAIL(l, t->place, "this %c is not closed", quote);
        }
        q += *q == quote;
    }
    t->kind = quote == '`' ? FAR_TOKEN_NAME : FAR_TOKEN_WORD;
    t->end = (int)(q + 1 - l->text);
    return FAR_OK;
}

static void take_name(const far_lexer *l, far_token *t)
{
    static const struct {
        const char *word;
        far_token_kind kind;
    } words[] = {{"and", FAR_TOKEN_AND}, {"or", FAR_TOKEN_OR}, {"not", FAR_TOKEN_NOT}};
    t->kind = FAR_TOKEN_NAME;
    t->end = name_end(l->text, t->place);
    size_t length = (size_t)(t->end - t->place);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strlen(words[i].word) == length &&
            memcmp(l->text + t->place, words[i].word, length) == 0) {
            t->kind = words[i].kind;
        }
    }
}

static far_status take_sign(const far_lexer *l, far_token *t)
{
    static const struct {
        const char *sign;
        far_token_kind kind;
        far_compare compare;
    } signs[] = {{"==", FAR_TOKEN_COMPARE, FAR_COMPARE_EQUAL},
                 {"!=", FAR_TOKEN_COMPARE, FAR_COMPARE_DIFFERENT},
                 {"<=", FAR_TOKEN_COMPARE, FAR_COMPARE_LESS_EQUAL},
                 {">=", FAR_TOKEN_COMPARE, FAR_COMPARE_MORE_EQUAL},
                 {"&&", FAR_TOKEN_AND, 0},
                 {"||", FAR_TOKEN_OR, 0},
                 {"=", FAR_TOKEN_COMPARE, FAR_COMPARE_EQUAL},
                 {"<", FAR_TOKEN_COMPARE, FAR_COMPARE_LESS},
                 {">", FAR_TOKEN_COMPARE, FAR_COMPARE_MORE},
                 {"!", FAR_TOKEN_NOT, 0},
                 {"(", FAR_TOKEN_OPEN, 0},
                 {")", FAR_TOKEN_CLOSE, 0}};
    const char *at = l->text + t->place;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        size_t length = strlen(signs[i].sign);
        if (strncmp(at, signs[i].sign, length) == 0) {
            t->kind = signs[i].kind;
            t->compare = signs[i].compare;
            t->end = t->place + (int)length;
            return FAR_OK;
        }
    }
    if (*at == '&' || *at == '|') {
        return FAR_EXPR_FAIL(l, t->place, "expected '%s', found '%c'", *at == '&' ? "and" : "or",
                             *at);
    }
    return FAR_EXPR_FAIL(
        l, t->place, "%s has no meaning here; odd names of columns go in backquotes",
        far_lexer_show(l, &(far_token){FAR_TOKEN_NAME, t->place, t->place + 1, 0, 0}).text);
}

far_status far_lexer_advance(far_lexer *l)
{
    far_token t = {.place = l->token.end};
    t.place += (int)strspn(l->text + t.place, " \t\r\n");
    t.end = t.place;
    far_status st = FAR_OK;
    char c = l->text[t.place];
    if (starts_date(l->text + t.place)) {
        st = take_date(l, &t);
    } else if (starts_number(l->text + t.place)) {
        st = take_number(l, &t);
    } else if (starts_name(c)) {
        take_name(l, &t);
    } else if (c == '\'' || c == '"' || c == '`') {
        st = take_quoted(l, &t);
    } else if (c) {
        st = take_sign(l, &t);
    }
    l->token = t;
    return st;
}

far_status far_lexer_text(const far_lexer *l, const far_token *t, far_words *room, char **out,
                          int64_t *length)
{
    far_status st = far_words_room(room, t->end - t->place, out);
    if (st != FAR_OK) {
        return st;
    }
    char quote = l->text[t->place], *q = *out;
    bool quoted = quote == '`' || t->kind == FAR_TOKEN_WORD;
    for (int i = t->place + quoted; i < t->end - quoted; i++) {
        *q++ = l->text[i];
        i += quoted && l->text[i] == quote;
    }
    *q = 0;
    *length = q - *out;
    return FAR_OK;
}
