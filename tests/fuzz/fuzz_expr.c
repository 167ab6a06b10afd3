/* Any bytes, as a condition on rows, either choose rows, and then their negation chooses the
 * others, or fail with a message of three lines whose caret stands inside the shown text. */
#define _GNU_SOURCE
#include "../../src/data/frame_internal.h"

#include "fuzz.h"

#define ROWS 7

static const char table[] = "n,m,kind,other,and,odd name,2019,gr\xC3\xB6\xC3\x9F"
                            "e\n"
                            "1,1,a,a,1,0,7,1\n2,1.5,b,a,2,0,8,2\n,3,a b,,3,1,9,3\n"
                            "-3,NA,,b,4,1,7,4\n5,-6,a,c,5,1,8,5\n1e300,0,it's,b,6,1,8,6\n"
                            "-0,1e-300,\"say \"\"hi\"\"\",,7,1,8,7\n";

/* The condition inside others, unless that makes it too deep or too long. */
static void check_inside(far_ctx *ctx, const far_frame *f, const char *format, const char *text,
                         const unsigned char *rows, int negated)
{
    unsigned char got[ROWS];
    size_t capacity = 2 * strlen(text) + 64;
    char *outer = malloc(capacity);
    require_of(outer != NULL, "memory", text);
    snprintf(outer, capacity, format, text, text);
    far_status st = far_frame_where(ctx, f, outer, got);
    if (st != FAR_OK) {
        const char *message = far_ctx_message(ctx);
        require_of(strstr(message, "inside each other") || strstr(message, "longer than"),
                   "what parses also parses inside", text);
    }
    for (int i = 0; st == FAR_OK && i < ROWS; i++) {
        require_of(got[i] == (rows[i] ^ negated), "the rows follow", text);
    }
    free(outer);
}

static void check_text(far_ctx *ctx, const far_frame *f, const char *text)
{
    unsigned char rows[ROWS];
    memset(rows, 9, sizeof rows);
    far_status st = far_frame_where(ctx, f, text, rows);
    for (int i = 0; i < ROWS; i++) {
        require_of(st == FAR_OK ? rows[i] <= 1 : rows[i] == 9, "rows exactly on success", text);
    }
    if (st != FAR_OK) {
        require_of(st == FAR_ERR_PARSE, "a failure is a parse error", text);
        check_caret(far_ctx_message(ctx), text);
        return;
    }
    check_inside(ctx, f, "not (%s)", text, rows, 1);
    check_inside(ctx, f, "(%s) and (%s)", text, rows, 0);
    check_inside(ctx, f, "n == n and n != n or (%s)", text, rows, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    far_ctx *ctx;
    far_frame *f;
    char *text = malloc(size + 1); /* its own block, so that reading past the end is seen */
    require_of(text && far_ctx_create(NULL, &ctx) == FAR_OK, "a context opens", "");
    memcpy(text, data, size);
    text[size] = 0;
    require_of(far_frame_parse_bytes(ctx, "table", table, sizeof table - 1, NULL, &f) == FAR_OK,
               "the table reads", "");
    require_of(far_frame_rows(f) == ROWS, "the table has its rows", "");
    check_text(ctx, f, text);
    far_frame_destroy(f);
    far_ctx_destroy(ctx);
    free(text);
    return 0;
}
