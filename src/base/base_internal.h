/* Shared by every room: failing, allocating, counting. */
#ifndef FAR_BASE_INTERNAL_H
#define FAR_BASE_INTERNAL_H

#include <farfield/base.h>
#include <stdarg.h>
#include <stdbool.h>

/* Exported for libfarfield-extras, which is built on the public API and these; not for others. */
#define FAR_SHARED FAR_API

/* Writes the message into the context and returns status. */
FAR_SHARED __attribute__((format(printf, 3, 4))) far_status
far_fail(far_ctx *ctx, far_status status, const char *format, ...);

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

/* How a constructor ends, behind `done`: the caller owns what was made, or st says why it is gone.
 * destroy takes NULL. */
#define FAR_HAND_OVER(made, out, destroy)                                                          \
    do {                                                                                           \
        if (st == FAR_OK) {                                                                        \
            *(out) = (made);                                                                       \
        } else {                                                                                   \
            destroy(made);                                                                         \
        }                                                                                          \
    } while (0)

/* count * size bytes, all zero, 64-byte aligned, through the context's allocator. *out is NULL
 * on failure. count * size may be 0: *out is then a valid pointer. */
FAR_SHARED far_status far_alloc_bytes(far_ctx *ctx, int64_t count, size_t size, void **out);
#define far_alloc(ctx, count, out) far_alloc_bytes(ctx, count, sizeof **(out), (void **)(out))
/* NULL is fine. Memory must come from far_alloc on the same context. */
FAR_SHARED void far_free(far_ctx *ctx, void *ptr);
/* The same for several: FAR_FREE_ALL(ctx, a, b, c). The context is read before any is freed. */
#define FAR_FREE_ALL(ctx, ...)                                                                     \
    far_free_each(ctx, (void *[]){__VA_ARGS__}, sizeof(void *[]){__VA_ARGS__} / sizeof(void *))
FAR_SHARED void far_free_each(far_ctx *ctx, void *const *pointers, size_t count);
/* Grows *ptr from old to new elements, keeping the contents. On failure *ptr stays valid. */
FAR_SHARED far_status far_grow_bytes(far_ctx *ctx, int64_t old_count, int64_t new_count,
                                     size_t size, void **ptr);
#define far_grow(ctx, old_count, new_count, ptr)                                                   \
    far_grow_bytes(ctx, old_count, new_count, sizeof **(ptr), (void **)(ptr))
/* A copy of the first length bytes of text, with a closing zero. */
FAR_SHARED far_status far_copy_text(far_ctx *ctx, const char *text, int64_t length, char **out);

/* count texts, each its own block, and the block of all; NULL is fine, for each and for all. */
void far_texts_free(far_ctx *ctx, char **texts, int64_t count);

/* Calls the context's progress function; FAR_ERR_CANCELLED if it asks to stop. */
FAR_SHARED far_status far_progress(far_ctx *ctx, const char *what, int64_t done, int64_t total);
/* Between the two, progress repeats what it said last: a step of a longer task has no progress of
 * its own, but can still be cancelled. May be nested. */
void far_progress_hold(far_ctx *ctx);
void far_progress_release(far_ctx *ctx);

enum { FAR_MESSAGE_BYTES = 2048 };
/* What the context was made with, the number of threads filled in. */
far_ctx_opts far_ctx_options(const far_ctx *ctx);

/* ---- crew.c: jobs side by side, each on one thread ---- */

typedef struct far_crew far_crew;
/* One of several jobs; ctx is its own, of one thread. */
typedef far_status far_job(far_ctx *ctx, void *data, int64_t index);
/* As many workers as the context has threads. Objects that jobs make (kernels, systems) borrow a
 * worker's context and must go before the crew does; memory may be freed with the caller's. */
far_status far_crew_create(far_ctx *ctx, far_crew **out);
/* Jobs 0 .. count - 1, at most `most` at a time. Answers for the first that fails. */
far_status far_crew_run(far_crew *c, int64_t count, int64_t most, far_job *job, void *data);
void far_crew_destroy(far_crew *c); /* NULL is fine */

/* A growing text. Zero-initialise; append until done; take or free the text. */
typedef struct far_text {
    far_ctx *ctx;
    char *data;
    int64_t length, capacity;
    far_status status; /* the first failure; later appends do nothing */
} far_text;
FAR_SHARED __attribute__((format(printf, 2, 3))) void far_text_add(far_text *t, const char *format,
                                                                   ...);
/* Any bytes, zeros too. */
void far_text_add_bytes(far_text *t, const void *bytes, int64_t size);
/* The fewest significant digits (at most 17) that read back to the same double; an exponent below
 * 1e-4 and from 1e5 on. */
FAR_SHARED void far_text_add_number(far_text *t, double value);
/* The same with an exponent from 1e15 on only. */
FAR_SHARED void far_text_add_exact(far_text *t, double value);
/* "s" unless n is 1. */
FAR_SHARED const char *far_plural(int64_t n);

/* Insertions, deletions, replacements and swaps of neighbours that turn a into b; case does not
 * count. Texts of more than FAR_EDIT_MOST bytes are as far apart as can be: INT_MAX. */
#define FAR_EDIT_MOST 48
int far_edit_distance(const char *a, int a_length, const char *b, int b_length);

/* ---- text for messages ---- */

/* A printable, bounded, one-line copy of any bytes: what a terminal would act on is written as \n,
 * \x1b or \u202e; "..." ends it if it had to be cut. capacity is at least 4. */
FAR_SHARED void far_show(char *out, size_t capacity, const char *text, int64_t length);
/* The same of the character at text alone: returns the bytes it takes of text, and *used of out. */
#define FAR_SHOW_NEXT 12
FAR_SHARED int far_show_next(const char *text, int64_t left, char out[FAR_SHOW_NEXT], int *used);
/* The Unicode character at text, which is not empty, and the bytes it takes; -1 and 1 where they
 * are not UTF-8. Whether a terminal prints it and does nothing else. */
FAR_SHARED int32_t far_text_decode(const char *text, int *bytes);
FAR_SHARED int far_text_prints(int32_t code);

/* ---- files that are read and written (far_ctx_opts.protect_inputs) ---- */

typedef enum far_file_role { FAR_FILE_FREE, FAR_FILE_INPUT, FAR_FILE_OUTPUT } far_file_role;
/* A file; or, with a hash of its name, one that is not there yet in the folder inode. */
typedef struct far_file_id {
    uint64_t device, inode, name;
} far_file_id;
/* The role the file was marked with first. Always FAR_FILE_FREE, and marks are not kept, where the
 * context does not protect inputs and between the two calls below. */
far_file_role far_file_find(const far_ctx *ctx, far_file_id id);
far_status far_file_mark(far_ctx *ctx, far_file_id id, far_file_role role);
/* Between them files are read to be updated: checkpoints, tracks, downloads. May be nested. */
FAR_SHARED void far_files_hold(far_ctx *ctx);
FAR_SHARED void far_files_release(far_ctx *ctx);

/* The list behind them. */
typedef struct far_ledger far_ledger;
far_file_role far_ledger_find(const far_ledger *ledger, far_file_id id);
far_status far_ledger_mark(far_ctx *ctx, far_ledger **ledger, far_file_id id, far_file_role role);
void far_ledger_free(far_ctx *ctx, far_ledger *ledger);

/* Checks a caller's matrix: not NULL, data not NULL unless empty, ld >= cols, known dtype. */
FAR_SHARED far_status far_mat_check(far_ctx *ctx, const far_mat *m, const char *name);
/* The same, and of that shape (-1: any) and type. */
far_status far_mat_expect(far_ctx *ctx, const far_mat *m, const char *name, int64_t rows,
                          int64_t cols, far_dtype dtype);
/* FAR_ERR_VALUE: a row of u, float64, is zero, which is no direction. */
far_status far_directions_check(far_ctx *ctx, const far_mat *u, const char *name);
/* Byte address of row i. */
FAR_SHARED void *far_mat_row(const far_mat *m, int64_t i);
size_t far_dtype_size(far_dtype dtype);

double far_memory_available(void); /* bytes this process could still get */
/* FAR_ERR_BUDGET if bytes are more than memory (0: what is available). */
FAR_SHARED far_status far_budget_check(far_ctx *ctx, const char *what, double bytes, double memory);
double far_budget(double memory);

/* The instruction set of inner loops: the best this machine has, or a lower one that FARFIELD_ISA
 * in the environment asks for by name. */
typedef enum far_isa { FAR_ISA_BASELINE, FAR_ISA_AVX2, FAR_ISA_AVX512 } far_isa;
far_isa far_isa_chosen(void);
far_isa far_isa_best(void); /* whatever is asked for */
bool far_is_amd(void);
const char *far_isa_name(far_isa isa); /* "avx2" */

/* Of a clock that only goes forward. */
double far_seconds(void);

/* Random numbers of a seed, each by its counter: uniform in (0, 1), standard normal, and a
 * permutation in place. */
uint64_t far_random_bits(uint64_t seed, uint64_t counter);
double far_random_uniform(uint64_t seed, uint64_t counter);
double far_random_normal(uint64_t seed, uint64_t counter);
void far_random_shuffle(uint64_t seed, int64_t *items, int64_t count);

/* ---- numbers.c ---- */

double far_dot(const double *a, const double *b, int64_t n);
double far_largest_size(const double *v, int64_t n);      /* of |v|; 0 of none */
int64_t far_place_of_largest(const double *v, int64_t n); /* of equal ones the first */
/* v becomes softmax(v); returns log of the sum of exp(v). */
double far_softmax(double *v, int64_t n);

static inline int64_t far_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- student.c ---- */

/* The two-sided 95% point of Student's t; NAN without a degree of freedom. */
double far_student_95(int64_t freedom);

#endif
