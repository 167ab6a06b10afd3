/*
 * farfield/base.h: status codes, the context, matrices.
 *
 * Every fallible function returns a far_status and takes the context first and its outputs last.
 * On failure an output pointer is NULL (a caller's array is untouched, but for a cancelled call,
 * which leaves it half written) and far_ctx_message(ctx) says in one line what was wrong and what
 * to do about it.
 *
 * A context serves one thread at a time; make one per thread. Objects made with a context borrow
 * it: it must outlive them. The library never prints, exits or aborts.
 */
#ifndef FARFIELD_BASE_H
#define FARFIELD_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FAR_API __attribute__((visibility("default")))
#define FAR_NODISCARD __attribute__((warn_unused_result))

/* Values are frozen: new ones are added at the end. */
#define FAR_STATUS_LIST(X)                                                                         \
    X(FAR_OK, 0, "success")                                                                        \
    X(FAR_ERR_ARG, 1, "an argument is not valid")                                                  \
    X(FAR_ERR_SHAPE, 2, "dimensions do not agree")                                                 \
    X(FAR_ERR_MEMORY, 3, "out of memory")                                                          \
    X(FAR_ERR_PARSE, 4, "the text does not parse")                                                 \
    X(FAR_ERR_ARCH, 5, "the architecture has no such reading")                                     \
    X(FAR_ERR_IO, 6, "a file could not be read or written")                                        \
    X(FAR_ERR_FORMAT, 7, "a file's content is not valid")                                          \
    X(FAR_ERR_VALUE, 8, "the data hold a value that is not finite")                                \
    X(FAR_ERR_CANCELLED, 9, "cancelled by the caller")                                             \
    X(FAR_ERR_BACKEND, 10, "an internal computation failed")                                       \
    X(FAR_ERR_SINGULAR, 11, "the matrix is singular to working precision")                         \
    X(FAR_ERR_BUDGET, 12, "more memory than the budget allows")                                    \
    X(FAR_ERR_RANGE, 13, "a result is too large for its type")

typedef enum far_status {
#define FAR_STATUS_ENUM(name, value, text) name = value,
    FAR_STATUS_LIST(FAR_STATUS_ENUM)
#undef FAR_STATUS_ENUM
} far_status;

/* "FAR_ERR_SHAPE" and "dimensions do not agree"; never NULL, also for unknown codes. */
FAR_API const char *far_status_name(far_status status);
FAR_API const char *far_status_text(far_status status);

/* "0.1.0" */
FAR_API const char *far_version(void);

/* value to so many significant digits (1 to 17), and not below or above it: a bound stays proven as
 * it is printed with %.*g, and a value that was met is not printed larger than it was. */
FAR_API double far_round_up(double value, int digits);
FAR_API double far_round_down(double value, int digits);

/* A copy of text, in out, that a terminal only prints: control characters (also those of C1), line
 * separators, marks of direction and bytes that are not UTF-8 become \n, \x1b, \u202e. A text that
 * does not fit ends in "...". Returns out. For names from files; messages of the library are
 * already so. */
FAR_API const char *far_printable(const char *text, char *out, size_t capacity);

/* The name that a misspelt word is closest to, whatever the case, or NULL if none is close. Names
 * and words of any length; those over 48 bytes are close to nothing. */
FAR_API const char *far_nearest_name(const char *word, const char *const *names, int64_t count);

typedef struct far_ctx far_ctx;

/* Called now and then from the calling thread with done in [0, total]. Return nonzero to cancel:
 * the running call then returns FAR_ERR_CANCELLED. */
typedef int (*far_progress_fn)(void *user, const char *what, int64_t done, int64_t total);

/* All three or none. realloc is not needed. Must return 64-byte aligned memory or NULL. */
typedef void *(*far_alloc_fn)(void *user, size_t bytes);
typedef void (*far_free_fn)(void *user, void *ptr, size_t bytes);

typedef struct far_ctx_opts {
    size_t size;              /* sizeof(far_ctx_opts); all other defaults are 0 */
    int threads;              /* 0: one per core available to the process */
    far_progress_fn progress; /* NULL: no progress calls */
    void *progress_user;
    far_alloc_fn alloc; /* NULL: the C library */
    far_free_fn free;
    void *alloc_user;
    /* 1: a file that was read with this context is not written with it, under whatever name, and
     * one named to far_file_claim is not read: FAR_ERR_ARG. Checkpoints and tracks of a run, which
     * are there to be updated, are. 0: files may be read and then replaced. */
    int protect_inputs;
} far_ctx_opts;

/* opts may be NULL for the defaults. */
FAR_API FAR_NODISCARD far_status far_ctx_create(const far_ctx_opts *opts, far_ctx **out);
FAR_API void far_ctx_destroy(far_ctx *ctx); /* NULL is fine */

/* What went wrong in the last call that failed on this context; "" if none did. */
FAR_API const char *far_ctx_message(const far_ctx *ctx);
FAR_API int far_ctx_threads(const far_ctx *ctx);

/* Frees a text that the library made: JSON, a figure, the content of a file. NULL is fine. */
FAR_API void far_text_free(far_ctx *ctx, char *text);

typedef enum far_dtype { FAR_F64 = 0, FAR_F32 = 1 } far_dtype;

/* A borrowed row-major view: element (i, j) is data[i * ld + j]. Never freed or kept by the
 * library. ld >= cols, except that it is ignored when rows <= 1. device is 0 (host memory). */
typedef struct far_mat {
    void *data;
    int64_t rows, cols, ld;
    far_dtype dtype;
    int32_t device;
} far_mat;

/* A packed host view: far_mat_view(p, 3, 2, FAR_F64). */
FAR_API far_mat far_mat_view(void *data, int64_t rows, int64_t cols, far_dtype dtype);

#ifdef __cplusplus
}
#endif
#endif
