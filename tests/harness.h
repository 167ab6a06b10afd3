/*
 * What tests share: cmocka, a context with an allocator that counts and fails when told, a listener
 * to its progress, what a call must answer, folders and files, chance. Define before including it
 * TEST_THREADS for contexts of more than one thread, TEST_OPEN and TEST_CLOSE for more around a
 * test than a context.
 */
#ifndef TEST_HARNESS_H
#define TEST_HARNESS_H

#include <dirent.h>
#include <farfield/base.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "chance.h"

#ifndef TEST_THREADS
#define TEST_THREADS 1
#endif
#ifndef TEST_OPEN
#define TEST_OPEN open_context
#endif
#ifndef TEST_CLOSE
#define TEST_CLOSE close_context
#endif

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define TEST(name) cmocka_unit_test_setup_teardown(name, TEST_OPEN, TEST_CLOSE)

/* ---- memory -------------------------------------------------------------------------------- */

/* An allocator that counts, and fails when told. It fills with garbage: nothing may count on zeros
 * beyond what far_alloc promises, nor on what was freed. */
typedef struct heap {
    int64_t calls, fail_at; /* the call counted from 0 that fails; -1: none */
    int64_t live_blocks, live_bytes, peak_bytes;
    size_t last_bytes;
} heap;

static inline void *heap_alloc(void *user, size_t bytes)
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

static inline void heap_free(void *user, void *ptr, size_t bytes)
{
    heap *h = user;
    h->live_blocks--;
    h->live_bytes -= (int64_t)bytes;
    memset(ptr, 0x5a, bytes);
    free(ptr);
}

/* ---- progress ------------------------------------------------------------------------------ */

typedef struct listener {
    int64_t calls, stop_at; /* reports so far; the one, counted from 1, that cancels (0: none) */
    int64_t stop_done;      /* or when so much is done (0: never) */
    const char *only;       /* how the phases begin that are listened to; NULL: all */
    int64_t last, total;
    bool unruly;  /* a report out of 0..total */
    bool falling; /* or below the one before it, of the same phase */
    char what[64];
    char seen[4096]; /* the phases, a blank behind each */
} listener;

/* A phase is named by what stands before a comma. */
static inline void hear_phase(listener *l, const char *what)
{
    size_t length = strcspn(what, ","), used = strlen(l->seen);
    if (strcspn(l->what, ",") != length || strncmp(l->what, what, length) != 0) {
        snprintf(l->seen + used, sizeof l->seen - used, "%.*s ", (int)length, what);
        l->last = 0;
    }
    snprintf(l->what, sizeof l->what, "%s", what);
}

static inline int hear(void *user, const char *what, int64_t done, int64_t total)
{
    listener *l = user;
    if (l->only && strncmp(what, l->only, strlen(l->only)) != 0) {
        return 0;
    }
    hear_phase(l, what);
    l->unruly = l->unruly || done < 0 || done > total;
    l->falling = l->falling || done < l->last;
    l->last = done;
    l->total = total;
    return ++l->calls == l->stop_at || (l->stop_done && done >= l->stop_done);
}

/* ---- a context for each test --------------------------------------------------------------- */

static heap test_heap;
static listener ear;
static far_ctx *ctx;

/* NULL: it could not be made. */
static inline far_ctx *heap_context(heap *h, int threads, far_progress_fn progress, void *user)
{
    far_ctx_opts opts;
    far_ctx *made = NULL;
    opts = (far_ctx_opts){.size = sizeof opts};
    opts.threads = threads;
    opts.alloc = heap_alloc;
    opts.free = heap_free;
    opts.alloc_user = h;
    opts.progress = progress;
    opts.progress_user = user;
    return far_ctx_create(&opts, &made) == FAR_OK ? made : NULL;
}

static inline far_ctx *context_with(int threads)
{
    return heap_context(&test_heap, threads, hear, &ear);
}

static inline int open_context(void **state)
{
    (void)state;
    test_heap = (heap){.fail_at = -1};
    ear = (listener){0};
    ctx = context_with(TEST_THREADS);
    return !ctx;
}

/* Every test must give back all it took. */
static inline int close_context(void **state)
{
    (void)state;
    far_ctx_destroy(ctx);
    ctx = NULL;
    return test_heap.live_blocks != 0 || test_heap.live_bytes != 0 || ear.unruly;
}

/* Whether progress was told in order. */
static inline bool orderly(void)
{
    return !ear.unruly && !ear.falling;
}

/* The next report cancels. */
static inline void cancel_next(void)
{
    ear.stop_at = ear.calls + 1;
}

/* ---- what a call must answer --------------------------------------------------------------- */

static inline void must(far_status st)
{
    if (st != FAR_OK) {
        fail_msg("%s: %s", far_status_name(st), far_ctx_message(ctx));
    }
}

/* The same, with what it is about. */
static inline void must_do(far_status st, const char *what)
{
    if (st != FAR_OK) {
        fail_msg("%s: %s: %s", what, far_status_name(st), far_ctx_message(ctx));
    }
}

static inline void assert_holds(const char *text, const char *piece)
{
    if (!text || !strstr(text, piece)) {
        fail_msg("no '%s' in '%s'", piece, text ? text : "nothing");
    }
}

static inline void assert_message(const char *piece)
{
    assert_holds(far_ctx_message(ctx), piece);
}

static inline void refused(far_status st, far_status wanted, const char *piece)
{
    if (st != wanted) {
        fail_msg("%s, not %s: '%s'", far_status_name(st), far_status_name(wanted),
                 far_ctx_message(ctx));
    }
    assert_message(piece);
}

/* Under sanitizers, which make a call many times as slow, numbers that other cases compute along
 * the same lines are left to the optimised build and to make test-long. */
static inline bool only_watched(void)
{
#ifdef __SANITIZE_ADDRESS__
    return !long_tests();
#else
    return false;
#endif
}

/* There later allocations (mostly those of a loop again) are sampled. */
static inline int64_t next_to_fail(int64_t k)
{
    return k + (only_watched() ? 1 + k / 64 : 1);
}

/* Makes every allocation of a call fail in turn: each is told, and nothing is left behind. */
static inline void fail_every_allocation(far_status (*call)(void))
{
    bool reached = true;
    for (int64_t k = 0; reached; k = next_to_fail(k)) {
        int64_t live = test_heap.live_blocks;
        test_heap.fail_at = test_heap.calls + k;
        far_status st = call();
        reached = test_heap.calls > test_heap.fail_at;
        if (st != (reached ? FAR_ERR_MEMORY : FAR_OK)) {
            fail_msg("allocation %d%s: %s, %s", (int)k, reached ? "" : " (not reached)",
                     far_status_name(st), far_ctx_message(ctx));
        }
        assert_int_equal(test_heap.live_blocks, live);
    }
    test_heap.fail_at = -1;
}

/* In double: assert_float_equal of cmocka rounds to float. */
#define assert_near(a, b, tolerance)                                                               \
    do {                                                                                           \
        double near_a = (a), near_b = (b), near_tolerance = (tolerance);                           \
        if (!(fabs(near_a - near_b) <= near_tolerance) && near_a != near_b) {                      \
            fail_msg("%.17g is not %.17g to %g", near_a, near_b, near_tolerance);                  \
        }                                                                                          \
    } while (0)

/* ---- files --------------------------------------------------------------------------------- */

/* A folder of its own for a test program, with nothing left in it at the end. */
static char folder[64];

static inline int enter_folder(void **state)
{
    (void)state;
    const char *parent = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.40s/farfield-XXXXXX", parent ? parent : "/tmp");
    return !mkdtemp(folder) || chdir(folder) != 0;
}

static inline int leave_folder(void **state)
{
    (void)state;
    return chdir("/") != 0 || rmdir(folder) != 0; /* rmdir: only if tests cleaned up */
}

static inline int count_files(void)
{
    int count = 0;
    DIR *d = opendir(".");
    assert_non_null(d);
    while (readdir(d)) {
        count++;
    }
    closedir(d);
    return count - 2;
}

static inline void write_file(const char *path, const void *data, size_t size)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

static inline void write_text(const char *path, const char *text)
{
    write_file(path, text, strlen(text));
}

/* The bytes, with a zero behind them; free it. */
static inline char *read_whole(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    char *data = calloc(*size + 1, 1);
    assert_int_equal(fread(data, 1, *size, f), *size);
    fclose(f);
    return data;
}

/* ---- chance: the same numbers in every run ------------------------------------------------- */

#endif
