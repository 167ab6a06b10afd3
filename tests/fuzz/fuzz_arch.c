/* Any bytes either parse, and then print to a text that means the same, or fail with a message of
 * three lines whose caret stands inside the shown text. */
#define _GNU_SOURCE
#include <farfield/arch.h>

#include "arch/arch_internal.h"
#include "fuzz.h"

static void check_parsed(far_ctx *ctx, const far_arch *arch)
{
    const char *text = far_arch_text(arch);
    far_arch *again;
    require_of(far_arch_parse(ctx, text, &again) == FAR_OK, "the canonical text parses", text);
    require_of(far_arch_equal(arch, again), "printing what was printed changes nothing", text);
    require_of(far_arch_depth(arch) == far_arch_depth(again), "the depth stays", text);
    require_of(far_arch_depth(arch) >= 1, "there is a layer", text);
    far_arch_destroy(again);
}

static void check_ascii(const char *message, const char *text)
{
    for (const char *c = message; *c; c++) {
        require_of(*c == '\n' || (*c >= ' ' && *c <= '~'), "the message is ASCII", text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    far_ctx *ctx;
    far_arch *arch;
    char *text = malloc(size + 1); /* its own block, so that reading past the end is seen */
    if (!text || far_ctx_create(NULL, &ctx) != FAR_OK) {
        abort();
    }
    memcpy(text, data, size);
    text[size] = 0;
    far_status st = far_arch_parse(ctx, text, &arch);
    if (st == FAR_OK) {
        check_parsed(ctx, arch);
    } else {
        require_of(st == FAR_ERR_PARSE && arch == NULL, "a failure is a parse error", text);
        check_caret(far_ctx_message(ctx), text);
        check_ascii(far_ctx_message(ctx), text);
    }
    far_arch_destroy(arch);
    far_ctx_destroy(ctx);
    free(text);
    return 0;
}
