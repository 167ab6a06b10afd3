#define _GNU_SOURCE
#include "base_internal.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

far_status far_copy_text(far_ctx *ctx, const char *text, int64_t length, char **out)
{
    far_status st = far_alloc(ctx, length + 1, out);
    if (st == FAR_OK) {
        memcpy(*out, text, (size_t)length);
        (*out)[length] = 0;
    }
    return st;
}

static bool make_room(far_text *t, int64_t extra)
{
    int64_t need = t->length + extra + 1;
    if (need > t->capacity) {
        int64_t capacity = need < 128 ? 128 : 2 * need;
        t->status = far_grow(t->ctx, t->length, capacity, &t->data);
        if (t->status == FAR_OK) {
            t->capacity = capacity;
        }
    }
    return t->status == FAR_OK;
}

void far_text_add(far_text *t, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int need = t->status == FAR_OK ? vsnprintf(NULL, 0, format, args) : -1;
    if (need >= 0 && make_room(t, need)) {
        vsnprintf(t->data + t->length, (size_t)need + 1, format, again);
        t->length += need;
    }
    va_end(again);
    va_end(args);
}

void far_text_add_bytes(far_text *t, const void *bytes, int64_t size)
{
    if (t->status == FAR_OK && make_room(t, size)) {
        memcpy(t->data + t->length, bytes, (size_t)size);
        t->length += size;
        t->data[t->length] = 0;
    }
}

/* Whatever the caller's locale: what is written must be read anywhere. */
static void add_digits(far_text *t, double value, int fewest)
{
    char digits[40];
    locale_t old = uselocale(newlocale(LC_ALL_MASK, "C", 0)); /* the C locale is static */
    for (int precision = fewest; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value) {
            break;
        }
    }
    uselocale(old);
    far_text_add(t, "%s", digits);
}

void far_text_add_number(far_text *t, double value)
{
    bool plain = fabs(value) >= 10 && fabs(value) < 1e5; /* 30 rather than 3e+01 */
    add_digits(t, value, plain ? 5 : 1);
}

void far_text_add_exact(far_text *t, double value)
{
    add_digits(t, value, 15); /* %g drops closing zeros by itself */
}

const char *far_plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

void far_text_free(far_ctx *ctx, char *text)
{
    far_free(ctx, text);
}
