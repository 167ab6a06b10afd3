/* Any bytes either parse, and then print to a text that means the same, or fail with a message of
 * three lines whose caret stands inside the shown text. */
#include <farfield/arch.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds, const char *what, const char *text)
{
    if (!holds) {
        fprintf(stderr, "fuzz_arch: not so: %s\ntext: %s\n", what, text);
        abort();
    }
}

static void check_parsed(far_ctx *ctx, const far_arch *arch)
{
    const char *text = far_arch_text(arch);
    far_arch *again;
    require(far_arch_parse(ctx, text, &again) == FAR_OK, "the canonical text parses", text);
    require(far_arch_equal(arch, again), "printing what was printed changes nothing", text);
    require(far_arch_depth(arch) == far_arch_depth(again), "the depth stays", text);
    require(far_arch_depth(arch) >= 1, "there is a layer", text);
    far_arch_destroy(again);
}

static void check_message(const char *message, const char *text)
{
    const char *second = strchr(message, '\n');
    const char *third = second ? strchr(second + 1, '\n') : NULL;
    require(third != NULL, "the message has three lines", text);
    size_t shown = (size_t)(third - second - 1);
    size_t caret = strspn(third + 1, " ");
    require(strcmp(third + 1 + caret, "^") == 0, "the third line is a caret", text);
    require(caret <= shown, "the caret stands under the text", text);
    require(shown <= 76, "the shown text is short", text);
    require(strncmp(message, "column ", 7) == 0 && atoi(message + 7) >= 1, "a column", text);
    for (const char *c = message; *c; c++) {
        require(*c == '\n' || (*c >= ' ' && *c <= '~'), "the message is plain", text);
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
        require(st == FAR_ERR_PARSE && arch == NULL, "a failure is a parse error", text);
        check_message(far_ctx_message(ctx), text);
    }
    far_arch_destroy(arch);
    far_ctx_destroy(ctx);
    free(text);
    return 0;
}
