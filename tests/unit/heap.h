/* An allocator for contexts under test: it counts, and fails when told. Fill with garbage: nothing
 * may count on zeros beyond what far_alloc promises, nor on what was freed. */
#ifndef TEST_HEAP_H
#define TEST_HEAP_H

#include <farfield/base.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct heap {
    int64_t calls, fail_at; /* the call counted from 0 that fails; -1: none */
    int64_t live_blocks, live_bytes, peak_bytes;
    size_t last_bytes;
} heap;

static void *heap_alloc(void *user, size_t bytes)
{
    heap *h = user;
    void *block = h->calls++ == h->fail_at ? NULL : aligned_alloc(64, bytes);
    if (block) {
        memset(block, 0xa5, bytes);
        h->live_blocks++;
        h->live_bytes += (int64_t)bytes;
        h->peak_bytes = h->live_bytes > h->peak_bytes ? h->live_bytes : h->peak_bytes;
        h->last_bytes = bytes;
    }
    return block;
}

static void heap_free(void *user, void *ptr, size_t bytes)
{
    heap *h = user;
    h->live_blocks--;
    h->live_bytes -= (int64_t)bytes;
    memset(ptr, 0x5a, bytes);
    free(ptr);
}

/* NULL: it could not be made. */
static inline far_ctx *heap_context(heap *h, int threads, far_progress_fn progress, void *user)
{
    far_ctx_opts opts;
    far_ctx *made = NULL;
    far_ctx_opts_init(&opts);
    opts.threads = threads;
    opts.alloc = heap_alloc;
    opts.free = heap_free;
    opts.alloc_user = h;
    opts.progress = progress;
    opts.progress_user = user;
    return far_ctx_create(&opts, &made) == FAR_OK ? made : NULL;
}

#endif
