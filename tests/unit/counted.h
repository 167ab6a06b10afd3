/* A context whose allocator counts, opened and closed for each test. Include it behind cmocka.h. */
#ifndef TEST_COUNTED_H
#define TEST_COUNTED_H

#include "heap.h"

static heap test_heap;
static far_ctx *ctx;

static int open_context(void **state)
{
    (void)state;
    test_heap = (heap){.fail_at = -1};
    ctx = heap_context(&test_heap, 1, NULL, NULL);
    return !ctx;
}

/* Every test must give back all it took. */
static int close_context(void **state)
{
    (void)state;
    far_ctx_destroy(ctx);
    return test_heap.live_blocks != 0 || test_heap.live_bytes != 0;
}

static inline void must(far_status st)
{
    if (st != FAR_OK) {
        fail_msg("%s: %s", far_status_name(st), far_ctx_message(ctx));
    }
}

#endif
