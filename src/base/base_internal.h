/* Shared by every room: failing, allocating, counting. */
#ifndef FAR_BASE_INTERNAL_H
#define FAR_BASE_INTERNAL_H

#include <farfield/base.h>
#include <stdarg.h>
#include <stdbool.h>

/* Writes the message into the context and returns status. */
__attribute__((format(printf, 3, 4))) far_status far_fail(far_ctx *ctx, far_status status,
                                                          const char *format, ...);

/* Fails with three lines: "column N: ...", the text (or a window of it), a caret under place, which
 * is 0-based and at most length. */
__attribute__((format(printf, 6, 7))) far_status far_fail_at(far_ctx *ctx, far_status status,
                                                             const char *text, int length,
                                                             int place, const char *format, ...);
__attribute__((format(printf, 6, 0))) far_status far_fail_at_args(far_ctx *ctx, far_status status,
                                                                  const char *text, int length,
                                                                  int place, const char *format,
                                                                  va_list args);

/* The one control-flow macro of the tree: needs `far_status st` and a label `done`. */
#define FAR_TRY(call)                                                                              \
    do {                                                                                           \
        st = (call);                                                                               \
        if (st != FAR_OK) {                                                                        \
            goto done;                                                                             \
        }                                                                                          \
    } while (0)

/* count * size bytes, zeroed when small (under 1 MiB), 64-byte aligned, through the context's
 * allocator. *out is NULL on failure. count * size may be 0: *out is then a valid pointer. */
far_status far_alloc_bytes(far_ctx *ctx, int64_t count, size_t size, void **out);
#define far_alloc(ctx, count, out) far_alloc_bytes(ctx, count, sizeof **(out), (void **)(out))
/* NULL is fine. Memory must come from far_alloc on the same context. */
void far_free(far_ctx *ctx, void *ptr);
/* Grows *ptr from old to new elements, keeping the contents. On failure *ptr stays valid. */
far_status far_grow_bytes(far_ctx *ctx, int64_t old_count, int64_t new_count, size_t size,
                          void **ptr);
#define far_grow(ctx, old_count, new_count, ptr)                                                   \
    far_grow_bytes(ctx, old_count, new_count, sizeof **(ptr), (void **)(ptr))
/* A copy of the first length bytes of text, with a closing zero. */
far_status far_copy_text(far_ctx *ctx, const char *text, int64_t length, char **out);

/* Calls the context's progress function; FAR_ERR_CANCELLED if it asks to stop. */
far_status far_progress(far_ctx *ctx, const char *what, int64_t done, int64_t total);
/* Between the two, progress repeats what it said last: a step of a longer task has no progress of
 * its own, but can still be cancelled. May be nested. */
void far_progress_hold(far_ctx *ctx);
void far_progress_release(far_ctx *ctx);

/* A growing text. Zero-initialise; append until done; take or free the text. */
typedef struct far_text {
    far_ctx *ctx;
    char *data;
    int64_t length, capacity;
    far_status status; /* the first failure; later appends do nothing */
} far_text;
__attribute__((format(printf, 2, 3))) void far_text_add(far_text *t, const char *format, ...);
/* The fewest significant digits (at most 17) that read back to the same double; an exponent below
 * 1e-4 and from 1e5 on. */
void far_text_add_number(far_text *t, double value);
/* "s" unless n is 1. */
const char *far_plural(int64_t n);

/* Insertions, deletions, replacements and swaps of neighbours that turn a into b; case does not
 * count. Neither is longer than FAR_EDIT_MOST bytes. */
#define FAR_EDIT_MOST 48
int far_edit_distance(const char *a, int a_length, const char *b, int b_length);
/* The name a misspelt word is closest to, whatever the case, or NULL if none is close. */
const char *far_nearest_name(const char *word, const char *const *names, int64_t count);

/* Checks a caller's matrix: not NULL, data not NULL unless empty, ld >= cols, known dtype. */
far_status far_mat_check(far_ctx *ctx, const far_mat *m, const char *name);
/* Byte address of row i. */
void *far_mat_row(const far_mat *m, int64_t i);
size_t far_dtype_size(int32_t dtype);

double far_memory_available(void); /* bytes this process could still get */
/* FAR_ERR_BUDGET if bytes are more than memory (0: what is available). */
far_status far_budget_check(far_ctx *ctx, const char *what, double bytes, double memory);
double far_budget(double memory);

/* Of a clock that only goes forward. */
double far_seconds(void);

/* Random numbers of a seed, each by its counter: uniform in (0, 1), standard normal, and a
 * permutation in place. */
uint64_t far_random_bits(uint64_t seed, uint64_t counter);
double far_random_uniform(uint64_t seed, uint64_t counter);
double far_random_normal(uint64_t seed, uint64_t counter);
void far_random_shuffle(uint64_t seed, int64_t *items, int64_t count);

#endif
