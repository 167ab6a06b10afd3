#define _GNU_SOURCE
#include "base_internal.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGNMENT 64
#define HUGE_PAGES_FROM ((size_t)4 << 20)

/* To MemorySanitizer a new block holds nothing, though it is zero: what nobody wrote must show. */
#ifdef MEMORY_ONLY
#include <sanitizer/msan_interface.h>
#define FORGET(block, bytes) __msan_poison(block, bytes)
#else
#define FORGET(block, bytes) ((void)0)
#endif

/* What progress last said. */
typedef struct report {
    const char *what;
    int64_t done, total;
} report;

struct far_ctx {
    far_ctx_opts opts;
    char message[FAR_MESSAGE_BYTES];
    report last;
    int held; /* depth of far_progress_hold */
    far_ledger *files;
    int files_held; /* depth of far_files_hold */
};

#define PAGE 4096

/* Stands in front of every block so that far_free knows the size. */
typedef struct block_head {
    size_t bytes;
} block_head;

/* From calloc, which knows that pages fresh from the system are zero and leaves them alone: a large
 * block costs its pages when they are used, not now. The pointer to free stands before the block.
 */
static void *default_alloc(void *user, size_t bytes)
{
    (void)user;
    char *raw = calloc(1, bytes + ALIGNMENT);
    if (!raw) {
        return NULL;
    }
    char *p = raw + ALIGNMENT - (uintptr_t)raw % ALIGNMENT; /* at least malloc's 16 bytes on */
    memcpy(p - sizeof raw, &raw, sizeof raw);
    if (bytes >= HUGE_PAGES_FROM) {
        size_t skipped = (PAGE - (uintptr_t)p % PAGE) % PAGE; /* it takes whole pages only */
        madvise(p + skipped, bytes - skipped, MADV_HUGEPAGE); /* a hint: fewer faults */
    }
    return p;
}

static void default_free(void *user, void *ptr, size_t bytes)
{
    char *raw;
    (void)user;
    (void)bytes;
    memcpy(&raw, (char *)ptr - sizeof raw, sizeof raw);
    free(raw);
}

static int available_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        return CPU_COUNT(&set);
    }
    return 1;
}

static bool opts_valid(const far_ctx_opts *opts)
{
    return opts->size == sizeof *opts && opts->threads >= 0 && !opts->alloc == !opts->free &&
           (opts->protect_inputs == 0 || opts->protect_inputs == 1);
}

far_status far_ctx_create(const far_ctx_opts *opts, far_ctx **out)
{
    if (!out) {
        return FAR_ERR_ARG;
    }
    *out = NULL;
    far_ctx_opts chosen;
    chosen = (far_ctx_opts){.size = sizeof chosen};
    if (opts) {
        if (!opts_valid(opts)) {
            return FAR_ERR_ARG;
        }
        chosen = *opts;
    }
    if (!chosen.alloc) {
        chosen.alloc = default_alloc;
        chosen.free = default_free;
    }
    if (chosen.threads == 0) {
        chosen.threads = available_cores();
    }
    far_ctx *ctx =
        chosen.alloc(chosen.alloc_user, (sizeof *ctx + ALIGNMENT - 1) & -(size_t)ALIGNMENT);
    if (!ctx) {
        return FAR_ERR_MEMORY;
    }
    *ctx = (far_ctx){.opts = chosen};
    ctx->message[0] = 0;
    *out = ctx;
    return FAR_OK;
}

void far_ctx_destroy(far_ctx *ctx)
{
    if (ctx) {
        far_ctx_opts o = ctx->opts;
        far_ledger_free(ctx, ctx->files);
        o.free(o.alloc_user, ctx, (sizeof *ctx + ALIGNMENT - 1) & -(size_t)ALIGNMENT);
    }
}

const char *far_ctx_message(const far_ctx *ctx)
{
    return ctx ? ctx->message : "";
}

int far_ctx_threads(const far_ctx *ctx)
{
    return ctx ? ctx->opts.threads : 1;
}

far_ctx_opts far_ctx_options(const far_ctx *ctx)
{
    far_ctx_opts opts = ctx->opts;
    if (opts.alloc == default_alloc) {
        opts.alloc = NULL;
        opts.free = NULL;
    }
    return opts;
}

/* A second fence behind far_show: whatever text a message was given, a terminal can print it. It
 * keeps line ends, which messages of more than one line have. */
static void set_message(far_ctx *ctx, const char *text)
{
    size_t used = 0, length = strlen(text);
    for (size_t i = 0; i < length && used + FAR_SHOW_NEXT < sizeof ctx->message;) {
        int wide;
        i += (size_t)far_show_next(text + i, (int64_t)(length - i), ctx->message + used, &wide);
        if (text[i - 1] == '\n') {
            ctx->message[used] = '\n';
            wide = 1;
        }
        used += (size_t)wide;
    }
    ctx->message[used] = 0;
}

far_status far_fail(far_ctx *ctx, far_status status, const char *format, ...)
{
    if (ctx) {
        char text[sizeof ctx->message]; /* the old message may be among the arguments */
        va_list args;
        va_start(args, format);
        vsnprintf(text, sizeof text, format, args);
        va_end(args);
        set_message(ctx, text);
    }
    return status;
}

/* ---- files ---- */

static bool minds_files(const far_ctx *ctx)
{
    return ctx->opts.protect_inputs && ctx->files_held == 0;
}

far_file_role far_file_find(const far_ctx *ctx, far_file_id id)
{
    return minds_files(ctx) ? far_ledger_find(ctx->files, id) : FAR_FILE_FREE;
}

far_status far_file_mark(far_ctx *ctx, far_file_id id, far_file_role role)
{
    return minds_files(ctx) ? far_ledger_mark(ctx, &ctx->files, id, role) : FAR_OK;
}

void far_files_hold(far_ctx *ctx)
{
    ctx->files_held++;
}

void far_files_release(far_ctx *ctx)
{
    ctx->files_held--;
}

/* ---- progress ---- */

far_status far_progress(far_ctx *ctx, const char *what, int64_t done, int64_t total)
{
    if (ctx->held == 0) {
        ctx->last = (report){what, done, total};
    }
    report r = ctx->last;
    if (ctx->opts.progress && r.what &&
        ctx->opts.progress(ctx->opts.progress_user, r.what, r.done, r.total)) {
        return far_fail(ctx, FAR_ERR_CANCELLED, "%s cancelled", r.what);
    }
    return FAR_OK;
}

void far_progress_hold(far_ctx *ctx)
{
    ctx->held++;
}

void far_progress_release(far_ctx *ctx)
{
    ctx->held--;
}

static bool block_bytes(int64_t count, size_t size, size_t *out)
{
    size_t bytes;
    if (count < 0 || __builtin_mul_overflow((size_t)count, size, &bytes) ||
        __builtin_add_overflow(bytes, (size_t)2 * ALIGNMENT, &bytes) || bytes > PTRDIFF_MAX) {
        return false;
    }
    *out = bytes & -(size_t)ALIGNMENT;
    return true;
}

far_status far_alloc_bytes(far_ctx *ctx, int64_t count, size_t size, void **out)
{
    size_t bytes;
    *out = NULL;
    if (!block_bytes(count, size, &bytes)) {
        return far_fail(ctx, FAR_ERR_MEMORY, "%lld x %zu bytes do not fit in memory",
                        (long long)count, size);
    }
    char *block = ctx->opts.alloc(ctx->opts.alloc_user, bytes);
    if (!block) {
        return far_fail(ctx, FAR_ERR_MEMORY, "out of memory asking for %.3g GiB",
                        (double)bytes / (1 << 30));
    }
    ((block_head *)block)->bytes = bytes;
    if (ctx->opts.alloc != default_alloc) {
        memset(block + ALIGNMENT, 0, bytes - ALIGNMENT);
    }
    FORGET(block + ALIGNMENT, bytes - ALIGNMENT);
    *out = block + ALIGNMENT;
    return FAR_OK;
}

void far_free(far_ctx *ctx, void *ptr)
{
    if (ptr) {
        char *block = (char *)ptr - ALIGNMENT;
        ctx->opts.free(ctx->opts.alloc_user, block, ((block_head *)block)->bytes);
    }
}

far_status far_grow_bytes(far_ctx *ctx, int64_t old_count, int64_t new_count, size_t size,
                          void **ptr)
{
    void *bigger;
    far_status st = far_alloc_bytes(ctx, new_count, size, &bigger);
    if (st == FAR_OK) {
        if (*ptr && old_count > 0) {
            memcpy(bigger, *ptr, (size_t)old_count * size);
        }
        far_free(ctx, *ptr);
        *ptr = bigger;
    }
    return st;
}
