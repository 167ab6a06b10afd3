/* printf for people: whatever text %s brings, from files or the command line, a terminal prints it
 * and does nothing else. */
#define _GNU_SOURCE
#include "talk.h"

#include <farfield/base.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SPEC_BYTES = 64, SHOWN_BYTES = 2048 };

/* One conversion of a format. */
typedef struct spec {
    char text[SPEC_BYTES]; /* "%-*.3g" with the numbers for the stars */
    bool left;
    int width, precision; /* precision -1: none */
    int longs;            /* 1: l, 2: ll; 'z', 'j', 't' are as wide as l */
    char conversion;
} spec;

typedef struct arguments {
    va_list list;
} arguments;

static const char *library_message;

void talk_trust(const char *message)
{
    library_message = message;
}

/* ---- texts ---- */

/* What a terminal prints of text, in *block where here has no room: out of memory, it ends early.
 */
static const char *printable(const char *text, char here[SHOWN_BYTES], char **block)
{
    size_t capacity = 6 * strlen(text) + 4;
    *block = capacity > SHOWN_BYTES ? malloc(capacity) : NULL;
    return *block ? far_printable(text, *block, capacity) : far_printable(text, here, SHOWN_BYTES);
}

static void put_shown(FILE *out, const spec *s, const char *text)
{
    fprintf(out, s->left ? "%-*s" : "%*s", s->width, text);
}

/* Options as the library calls them, and the flags that set them. */
static const struct {
    const char *option, *flag;
} FLAGS[] = {
    {"arch", "--arch"},
    {"augment", "--augment"},
    {"categorical", "--categorical"},
    {"committee", "--committee"},
    {"criterion", "--criterion"},
    {"features", "--features"},
    {"keep", "--keep"},
    {"missing", "--na"},
    {"impute", "--impute"},
    {"kernel", "--kernel"},
    {"landmarks", "--landmarks"},
    {"linearized", "--linearized"},
    {"loss", "--loss"},
    {"memory", "--memory"},
    {"method", "--method"},
    {"metric", "--metric"},
    {"outputs", "--outputs"},
    {"packed", "--packed"},
    {"param", "--param"},
    {"ridge", "--ridge"},
    {"ranks", "--ranks"},
    {"rows", "--where"},
    {"seed", "--seed"},
    {"seeds", "--seeds"},
    {"standardize", "--standardize"},
    {"target", "--target"},
    {"task", "--task"},
};

static const char *flag_of(const char *option, size_t length)
{
    for (size_t i = 0; i < sizeof FLAGS / sizeof *FLAGS; i++) {
        if (strlen(FLAGS[i].option) == length && memcmp(FLAGS[i].option, option, length) == 0) {
            return FLAGS[i].flag;
        }
    }
    return NULL;
}

/* The library's own message has lines, and nothing in it that is not printable. It names options
 * in backquotes, as its API does: `impute` is --impute to those who call the command. */
static void put_message(FILE *out, const char *text)
{
    while (*text) {
        size_t plain = strcspn(text, "`");
        fwrite(text, 1, plain, out);
        text += plain;
        size_t length = *text ? strcspn(text + 1, "`") : 0;
        const char *flag = length && text[length + 1] ? flag_of(text + 1, length) : NULL;
        if (flag) {
            fputs(flag, out);
            text += length + 2;
        } else if (*text) {
            fputc(*text++, out);
        }
    }
}

char *talk_flags(const char *message)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (out) {
        put_message(out, message);
        fclose(out);
    }
    return text;
}

/* The library's message, or the end of it. */
static bool is_library(const char *text)
{
    uintptr_t at = (uintptr_t)text, message = (uintptr_t)library_message;
    return library_message && at >= message && at <= message + strlen(library_message);
}

static void put_text(FILE *out, const spec *s, const char *text)
{
    char here[SHOWN_BYTES], *block, *part = NULL;
    size_t length = strlen(text);
    if (s->precision >= 0 && (size_t)s->precision < length) {
        part = strndup(text, (size_t)s->precision);
        text = part ? part : "...";
    }
    if (is_library(text)) {
        put_message(out, text);
    } else {
        put_shown(out, s, printable(text, here, &block));
        free(block);
    }
    free(part);
}

/* ---- formats ---- */

static int read_number(const char **at, arguments *args)
{
    int number = 0;
    if (**at == '*') {
        ++*at;
        return va_arg(args->list, int);
    }
    for (; **at >= '0' && **at <= '9'; ++*at) {
        number = 10 * number + (**at - '0');
    }
    return number;
}

/* What stands behind a %. */
static const char *read_spec(const char *at, arguments *args, spec *s)
{
    char flags[8] = "", more[24] = "", size[4] = "";
    size_t used = strspn(at, "-+ #0'");
    *s = (spec){.precision = -1};
    snprintf(flags, sizeof flags, "%.*s", (int)used, at);
    at += used;
    s->width = read_number(&at, args);
    s->left = strchr(flags, '-') || s->width < 0;
    s->width = abs(s->width);
    if (*at == '.') {
        at++;
        s->precision = read_number(&at, args);
        snprintf(more, sizeof more, s->precision < 0 ? "" : ".%d", s->precision);
    }
    used = strspn(at, "hlzjt");
    snprintf(size, sizeof size, "%.*s", (int)used, at);
    s->longs = size[0] == 'l' || strchr("zjt", size[0] ? size[0] : 'h') ? (int)used : 0;
    at += used;
    s->conversion = *at;
    char width[16] = "";
    snprintf(width, sizeof width, s->width ? "%d" : "", s->width);
    snprintf(s->text, sizeof s->text, "%%%s%s%s%s%s%c", s->left && !strchr(flags, '-') ? "-" : "",
             flags, width, more, size, s->conversion);
    return *at ? at + 1 : at;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* a conversion of a format that was checked  \
                                                      */

static void put_whole(FILE *out, const spec *s, arguments *args)
{
    if (s->longs == 2) {
        fprintf(out, s->text, va_arg(args->list, long long));
    } else if (s->longs == 1) {
        fprintf(out, s->text, va_arg(args->list, long));
    } else {
        fprintf(out, s->text, va_arg(args->list, int));
    }
}

/* A number that does not exist is a dash, in the place of its width. */
static void put_real(FILE *out, const spec *s, double value)
{
    if (isnan(value)) {
        fprintf(out, s->left ? "%-*s" : "%*s", s->width, "-");
    } else {
        fprintf(out, s->text, value);
    }
}

static void put_spec(FILE *out, const spec *s, arguments *args)
{
    char letter[2] = "";
    switch (s->conversion) {
    case '%':
        fputc('%', out);
        break;
    case 's':
        put_text(out, s, va_arg(args->list, const char *));
        break;
    case 'c':
        letter[0] = (char)va_arg(args->list, int);
        put_text(out, s, letter);
        break;
    case 'e':
    case 'f':
    case 'g':
        put_real(out, s, va_arg(args->list, double));
        break;
    default:
        put_whole(out, s, args);
    }
}

#pragma GCC diagnostic pop

static void put_all(FILE *out, const char *format, arguments *args)
{
    while (*format) {
        size_t plain = strcspn(format, "%");
        fwrite(format, 1, plain, out);
        format += plain;
        if (*format) {
            spec s;
            format = read_spec(format + 1, args, &s);
            put_spec(out, &s, args);
        }
    }
}

/* In one piece, so that lines of several processes do not mix. */
void talk_args(FILE *out, const char *format, va_list list)
{
    char *text = NULL;
    size_t length = 0;
    FILE *whole = open_memstream(&text, &length);
    arguments args;
    va_copy(args.list, list);
    put_all(whole ? whole : out, format, &args);
    va_end(args.list);
    if (whole && fclose(whole) == 0) {
        fwrite(text, 1, length, out);
    }
    free(text);
}

void talk(FILE *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    talk_args(out, format, args);
    va_end(args);
}

void print(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    talk_args(stdout, format, args);
    va_end(args);
}
