/* What fuzz targets share: claims that end the process, a context with little memory, and messages
 * of one plain line. */
#ifndef FUZZ_H
#define FUZZ_H

#include <errno.h>
#include <farfield/base.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#ifndef FUZZ_BYTES
#define FUZZ_BYTES ((size_t)256 << 20) /* a file may ask for more: that must fail cleanly */
#endif

static inline void require(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "%s: not so: %s\n", program_invocation_short_name, what);
        abort();
    }
}

/* The same, of a text. */
static inline void require_of(int holds, const char *what, const char *text)
{
    if (!holds) {
        fprintf(stderr, "text: %s\n", text);
    }
    require(holds, what);
}

/* ---- a context with little memory ---------------------------------------------------------- */

static size_t live_bytes;

static inline void *limited_alloc(void *user, size_t bytes)
{
    (void)user;
    if (bytes > FUZZ_BYTES - live_bytes) {
        return NULL;
    }
    live_bytes += bytes;
    return aligned_alloc(64, bytes);
}

static inline void limited_free(void *user, void *ptr, size_t bytes)
{
    (void)user;
    live_bytes -= bytes;
    free(ptr);
}

static inline far_ctx *make_context(void)
{
    far_ctx_opts opts;
    far_ctx *ctx;
    opts = (far_ctx_opts){.size = sizeof opts};
    opts.threads = 1;
    opts.alloc = limited_alloc;
    opts.free = limited_free;
    require(far_ctx_create(&opts, &ctx) == FAR_OK, "a context opens");
    return ctx;
}

/* ---- messages ------------------------------------------------------------------------------ */

static inline void check_line(const char *message)
{
    for (const unsigned char *c = (const unsigned char *)message; *c; c++) {
        require(*c >= ' ' && *c != 127, "the message is one plain line");
    }
}

/* Of what was read by the name of fuzz. */
static inline void check_message(const char *message)
{
    require(strncmp(message, "fuzz: ", 6) == 0, "the message starts with the name");
    check_line(message);
}

/* Of a text that does not parse: the place, the text and a caret under it. */
static inline void check_caret(const char *message, const char *text)
{
    const char *second = strchr(message, '\n');
    const char *third = second ? strchr(second + 1, '\n') : NULL;
    require_of(third != NULL, "the message has three lines", text);
    size_t shown = (size_t)(third - second - 1), caret = strspn(third + 1, " ");
    require_of(strcmp(third + 1 + caret, "^") == 0, "the third line is a caret", text);
    require_of(caret <= shown, "the caret stands under the text", text);
    require_of(shown <= 76, "the shown text is short", text);
    require_of(strncmp(message, "column ", 7) == 0 && atoi(message + 7) >= 1, "a column", text);
    for (const unsigned char *c = (const unsigned char *)message; *c; c++) {
        require_of(*c == '\n' || (*c >= ' ' && *c != 127), "the message is plain", text);
    }
}

#endif
