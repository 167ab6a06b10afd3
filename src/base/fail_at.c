/* A failure at a place in a text the caller wrote: what, where, and a caret under it. */
#include "base_internal.h"

#include <stdio.h>

/* How much of a long text stands above the caret. */
#define WINDOW 70
#define ELLIPSIS "..."

/* One byte of the text in one column of the terminal. */
static char shown(char c)
{
    if ((unsigned char)c >= 0x80) {
        return '?';
    }
    return c < ' ' || c == 0x7f ? ' ' : c;
}

static int window_start(int length, int place)
{
    int start = place - WINDOW / 2;
    int last = length - WINDOW;
    start = start > last ? last : start;
    return start < 0 ? 0 : start;
}

far_status far_fail_at_args(far_ctx *ctx, far_status status, const char *text, int length,
                            int place, const char *format, va_list args)
{
    char what[1024], window[WINDOW + 1];
    vsnprintf(what, sizeof what, format, args);
    int start = window_start(length, place);
    int end = length < start + WINDOW ? length : start + WINDOW;
    for (int i = start; i < end; i++) {
        window[i - start] = shown(text[i]);
    }
    window[end - start] = 0;
    const char *before = start > 0 ? ELLIPSIS : "";
    const char *after = end < length ? ELLIPSIS : "";
    int indent = place - start + (start > 0 ? (int)sizeof ELLIPSIS - 1 : 0);
    return far_fail(ctx, status, "column %d: %s\n%s%s%s\n%*s^", place + 1, what, before, window,
                    after, indent, "");
}

far_status far_fail_at(far_ctx *ctx, far_status status, const char *text, int length, int place,
                       const char *format, ...)
{
    va_list args;
    va_start(args, format);
    status = far_fail_at_args(ctx, status, text, length, place, format, args);
    va_end(args);
    return status;
}
