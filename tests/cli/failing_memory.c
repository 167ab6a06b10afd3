/* Preloaded into the command: its allocation FAIL_FROM and, with FAIL_ON, all that follow fail.
 * With FAIL_COUNT their number is printed at the end. What runs before main does not count. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);

static _Atomic long calls;
static long fail_from = -1;
static int fail_on;

__attribute__((constructor)) static void begin(void)
{
    const char *from = getenv("FAIL_FROM");
    fail_from = from ? atol(from) : -1;
    fail_on = getenv("FAIL_ON") != NULL;
    calls = 0;
}

__attribute__((destructor)) static void end(void)
{
    if (getenv("FAIL_COUNT")) {
        fprintf(stderr, "%ld\n", calls);
    }
}

static int fails(void)
{
    long call = calls++;
    int now = fail_from >= 0 && (fail_on ? call >= fail_from : call == fail_from);
    errno = now ? ENOMEM : errno;
    return now;
}

void *malloc(size_t bytes)
{
    return fails() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
    return fails() ? NULL : __libc_realloc(old, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return fails() ? NULL : __libc_memalign(alignment, bytes);
}

int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    *out = aligned_alloc(alignment, bytes);
    return *out ? 0 : ENOMEM;
}
