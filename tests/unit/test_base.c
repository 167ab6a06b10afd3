/* Contexts, status codes, memory, matrices, growing texts, progress. */
#include "../../src/base/base_internal.h"

#include <float.h>
#include <omp.h>

#include "harness.h"

static far_ctx_opts heap_opts(void)
{
    far_ctx_opts opts;
    opts = (far_ctx_opts){.size = sizeof opts};
    test_heap = (heap){.fail_at = -1};
    opts.alloc = heap_alloc;
    opts.free = heap_free;
    opts.alloc_user = &test_heap;
    return opts;
}

static void fail_next_allocation(void)
{
    test_heap.fail_at = test_heap.calls;
}

/* ---- status ---- */

static void statuses_have_their_frozen_values_names_and_texts(void **state)
{
    (void)state;
    static const struct {
        far_status status;
        int value;
        const char *name, *text;
    } cases[] = {
        {FAR_OK, 0, "FAR_OK", "success"},
        {FAR_ERR_ARG, 1, "FAR_ERR_ARG", "an argument is not valid"},
        {FAR_ERR_SHAPE, 2, "FAR_ERR_SHAPE", "dimensions do not agree"},
        {FAR_ERR_MEMORY, 3, "FAR_ERR_MEMORY", "out of memory"},
        {FAR_ERR_PARSE, 4, "FAR_ERR_PARSE", "the text does not parse"},
        {FAR_ERR_ARCH, 5, "FAR_ERR_ARCH", "the architecture has no such reading"},
        {FAR_ERR_IO, 6, "FAR_ERR_IO", "a file could not be read or written"},
        {FAR_ERR_FORMAT, 7, "FAR_ERR_FORMAT", "a file's content is not valid"},
        {FAR_ERR_VALUE, 8, "FAR_ERR_VALUE", "the data hold a value that is not finite"},
        {FAR_ERR_CANCELLED, 9, "FAR_ERR_CANCELLED", "cancelled by the caller"},
        {FAR_ERR_BACKEND, 10, "FAR_ERR_BACKEND", "an internal computation failed"},
        {FAR_ERR_SINGULAR, 11, "FAR_ERR_SINGULAR", "the matrix is singular to working precision"},
        {FAR_ERR_BUDGET, 12, "FAR_ERR_BUDGET", "more memory than the budget allows"},
        {FAR_ERR_RANGE, 13, "FAR_ERR_RANGE", "a result is too large for its type"},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        assert_int_equal(cases[i].status, cases[i].value);
        assert_string_equal(far_status_name(cases[i].status), cases[i].name);
        assert_string_equal(far_status_text(cases[i].status), cases[i].text);
    }
}

static void unknown_statuses_still_have_a_name_and_a_text(void **state)
{
    (void)state;
    static const int unknown[] = {-1, 14, 12345};
    for (int i = 0; i < COUNT(unknown); i++) {
        assert_string_equal(far_status_name((far_status)unknown[i]), "FAR_ERR_UNKNOWN");
        assert_string_equal(far_status_text((far_status)unknown[i]), "unknown status");
    }
}

static void version_is_three_numbers(void **state)
{
    (void)state;
    int major, minor, patch, end = 0;
    assert_int_equal(sscanf(far_version(), "%d.%d.%d%n", &major, &minor, &patch, &end), 3);
    assert_int_equal(far_version()[end], 0);
}

/* ---- contexts ---- */

static void options_start_with_their_size_and_zeros(void **state)
{
    (void)state;
    far_ctx_opts opts;
    memset(&opts, 0xff, sizeof opts);
    opts = (far_ctx_opts){.size = sizeof opts};
    assert_int_equal(opts.size, sizeof opts);
    assert_int_equal(opts.threads, 0);
    assert_true(!opts.progress && !opts.alloc && !opts.free);
    assert_null(opts.progress_user);
    assert_null(opts.alloc_user);
}

static void a_context_needs_no_options(void **state)
{
    (void)state;
    far_ctx *made = NULL;
    assert_int_equal(far_ctx_create(NULL, &made), FAR_OK);
    assert_non_null(made);
    assert_string_equal(far_ctx_message(made), "");
    assert_true(far_ctx_threads(made) >= 1);
    far_ctx_destroy(made);
    far_ctx_destroy(NULL);
}

static void assert_options_refused(far_ctx_opts opts)
{
    far_ctx *made = (far_ctx *)&test_heap;
    assert_int_equal(far_ctx_create(&opts, &made), FAR_ERR_ARG);
    assert_null(made);
    assert_int_equal(test_heap.live_blocks, 0);
}

static void options_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    far_ctx_opts opts = heap_opts();
    opts.size = 0;
    assert_options_refused(opts);
    opts.size = sizeof opts - 8;
    assert_options_refused(opts);
    opts.size = sizeof opts + 8;
    assert_options_refused(opts);
    opts = heap_opts();
    opts.threads = -1;
    assert_options_refused(opts);
    opts = heap_opts();
    opts.free = NULL;
    assert_options_refused(opts);
    opts = heap_opts();
    opts.alloc = NULL;
    assert_options_refused(opts);
    assert_int_equal(far_ctx_create(NULL, NULL), FAR_ERR_ARG);
}

static void threads_are_those_asked_for(void **state)
{
    (void)state;
    static const int asked[] = {1, 2, 3, 7, 64};
    for (int i = 0; i < COUNT(asked); i++) {
        far_ctx_opts opts = heap_opts();
        far_ctx *made;
        opts.threads = asked[i];
        assert_int_equal(far_ctx_create(&opts, &made), FAR_OK);
        assert_int_equal(far_ctx_threads(made), asked[i]);
        far_ctx_destroy(made);
    }
}

static void a_missing_context_has_no_message_and_one_thread(void **state)
{
    (void)state;
    assert_string_equal(far_ctx_message(NULL), "");
    assert_int_equal(far_ctx_threads(NULL), 1);
    assert_int_equal(far_fail(NULL, FAR_ERR_SHAPE, "nobody reads %d", 1), FAR_ERR_SHAPE);
}

static void a_context_lives_in_the_callers_memory(void **state)
{
    (void)state;
    far_ctx_opts opts = heap_opts();
    far_ctx *made = (far_ctx *)&test_heap;
    fail_next_allocation();
    assert_int_equal(far_ctx_create(&opts, &made), FAR_ERR_MEMORY);
    assert_null(made);
    assert_int_equal(far_ctx_create(&opts, &made), FAR_OK);
    assert_int_equal(test_heap.live_blocks, 1);
    assert_int_equal(test_heap.last_bytes % 64, 0);
    assert_string_equal(far_ctx_message(made), "");
    far_ctx_destroy(made);
    assert_int_equal(test_heap.live_blocks, 0);
    assert_int_equal(test_heap.live_bytes, 0);
}

static void failing_keeps_status_and_message(void **state)
{
    (void)state;
    assert_string_equal(far_ctx_message(ctx), "");
    assert_int_equal(far_fail(ctx, FAR_ERR_SHAPE, "%d rows but %s", 3, "five"), FAR_ERR_SHAPE);
    assert_string_equal(far_ctx_message(ctx), "3 rows but five");
    assert_int_equal(far_fail(ctx, FAR_ERR_IO, "other"), FAR_ERR_IO);
    assert_string_equal(far_ctx_message(ctx), "other");
}

static void success_leaves_the_last_message(void **state)
{
    (void)state;
    char *copy;
    assert_int_equal(far_fail(ctx, FAR_ERR_IO, "before"), FAR_ERR_IO);
    assert_int_equal(far_copy_text(ctx, "fine", 4, &copy), FAR_OK);
    far_free(ctx, copy);
    assert_string_equal(far_ctx_message(ctx), "before");
}

static void long_messages_are_cut_not_overrun(void **state)
{
    (void)state;
    static char text[10001];
    memset(text, 'x', sizeof text - 1);
    assert_int_equal(far_fail(ctx, FAR_ERR_ARG, "%s", text), FAR_ERR_ARG);
    size_t length = strlen(far_ctx_message(ctx));
    assert_true(length >= 1000 && length < sizeof text - 1);
    assert_memory_equal(far_ctx_message(ctx), text, length);
}

static void contexts_do_not_share_messages(void **state)
{
    (void)state;
    far_ctx *other;
    assert_int_equal(far_ctx_create(NULL, &other), FAR_OK);
    assert_int_equal(far_fail(ctx, FAR_ERR_ARG, "mine"), FAR_ERR_ARG);
    assert_string_equal(far_ctx_message(other), "");
    far_ctx_destroy(other);
}

/* ---- memory ---- */

/* Also where memory is used again: each size twice. */
static void check_blocks(far_ctx *c)
{
    static const int64_t counts[] = {0, 1, 7, 64, 101, 4099, 131000, 131072, 300007, 700001};
    for (int i = 0; i < 2 * COUNT(counts); i++) {
        int64_t *block, count = counts[i / 2];
        assert_int_equal(far_alloc(c, count, &block), FAR_OK);
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % 64, 0);
        for (int64_t j = 0; j < count; j++) {
            assert_int_equal(block[j], 0);
        }
        memset(block, 1, (size_t)count * sizeof *block);
        far_free(c, block);
    }
    far_free(c, NULL);
}

static void blocks_are_aligned_and_zeroed(void **state)
{
    (void)state;
    far_ctx *plain;
    assert_int_equal(far_ctx_create(NULL, &plain), FAR_OK);
    check_blocks(plain);
    check_blocks(ctx); /* whose allocator fills them */
    far_ctx_destroy(plain);
}

/* Printed to so many digits a rounded number reads as it is, on the right side and no further than
 * a unit of the last digit. */
static void rounding_is_outward_as_printed(void **state)
{
    (void)state;
    static const double VALUES[] = {784.06217,     0,       1,     -1,      9.9999999, 0.1,
                                    1e-300,        5e-324,  1e300, DBL_MAX, 1.0 / 3,   -2.0 / 3,
                                    0.99999999999, 123456.5};
    char text[64];
    for (uint64_t i = 0; i < 20000; i++) {
        double value =
            i < 14 ? VALUES[i] : far_random_normal(3, i) * pow(10, (double)(i % 600) - 300);
        int digits = (int)(i % 7) + 2;
        double up = far_round_up(value, digits), down = far_round_down(value, digits);
        assert_true(up >= value && down <= value);
        snprintf(text, sizeof text, "%.*g", digits, up);
        assert_true(strtod(text, NULL) == up);
        assert_true(fabs(value) < 1e-290 || isinf(up) || isinf(down) ||
                    up - down <= 1.1 * fabs(value) * pow(10, 1 - digits));
    }
    assert_true(far_round_up(784.06217, 5) == 784.07 && far_round_down(784.06217, 5) == 784.06);
    assert_true(isnan(far_round_up(NAN, 4)) && isinf(far_round_up(INFINITY, 4)));
    assert_true(far_round_down(-INFINITY, 4) == -INFINITY);
}

static void sizes_that_overflow_are_out_of_memory(void **state)
{
    (void)state;
    static const struct {
        int64_t count;
        size_t size;
    } cases[] = {
        {-1, 1},        {INT64_MIN, 8},        {INT64_MAX, 1},    {INT64_MAX, 2},
        {INT64_MAX, 8}, {(int64_t)1 << 61, 8}, {3, SIZE_MAX / 2}, {1, SIZE_MAX - 64},
    };
    int64_t calls = test_heap.calls;
    for (int i = 0; i < COUNT(cases); i++) {
        void *block = &test_heap;
        assert_int_equal(far_alloc_bytes(ctx, cases[i].count, cases[i].size, &block),
                         FAR_ERR_MEMORY);
        assert_null(block);
        assert_holds(far_ctx_message(ctx), "do not fit in memory");
    }
    assert_int_equal(test_heap.calls, calls);
}

static void a_refused_block_says_how_much_was_wanted(void **state)
{
    (void)state;
    double *block = (double *)&test_heap;
    fail_next_allocation();
    assert_int_equal(far_alloc(ctx, (int64_t)3 << 27, &block), FAR_ERR_MEMORY);
    assert_null(block);
    assert_holds(far_ctx_message(ctx), "out of memory");
    assert_holds(far_ctx_message(ctx), "3 GiB");
}

static void growing_keeps_the_contents(void **state)
{
    (void)state;
    int *numbers = NULL;
    int64_t have = 0;
    for (int64_t want = 1; want < 5000; want = 2 * want + 1) {
        assert_int_equal(far_grow(ctx, have, want, &numbers), FAR_OK);
        for (int64_t i = 0; i < have; i++) {
            assert_int_equal(numbers[i], 7 * i + 1);
        }
        for (int64_t i = have; i < want; i++) {
            numbers[i] = 7 * (int)i + 1;
        }
        have = want;
    }
    far_free(ctx, numbers);
}

static void growing_in_vain_keeps_the_old_block(void **state)
{
    (void)state;
    int *numbers = NULL;
    assert_int_equal(far_grow(ctx, 0, 2, &numbers), FAR_OK);
    numbers[0] = 11;
    numbers[1] = 13;
    int *before = numbers;
    fail_next_allocation();
    assert_int_equal(far_grow(ctx, 2, 100, &numbers), FAR_ERR_MEMORY);
    assert_ptr_equal(numbers, before);
    assert_int_equal(numbers[0], 11);
    assert_int_equal(numbers[1], 13);
    far_free(ctx, numbers);
}

static void copies_of_text_are_closed(void **state)
{
    (void)state;
    char *copy;
    assert_int_equal(far_copy_text(ctx, "farfield", 3, &copy), FAR_OK);
    assert_string_equal(copy, "far");
    far_free(ctx, copy);
    assert_int_equal(far_copy_text(ctx, "", 0, &copy), FAR_OK);
    assert_string_equal(copy, "");
    far_free(ctx, copy);
    fail_next_allocation();
    assert_int_equal(far_copy_text(ctx, "far", 3, &copy), FAR_ERR_MEMORY);
    assert_null(copy);
}

/* ---- growing texts ---- */

static void texts_grow_piece_by_piece(void **state)
{
    (void)state;
    far_text t = {.ctx = ctx};
    char expected[8000] = "", *at = expected;
    for (int i = 0; i < 1000; i++) {
        far_text_add(&t, "%d,%s", i, i % 3 ? "" : "ab");
        at += sprintf(at, "%d,%s", i, i % 3 ? "" : "ab");
    }
    assert_int_equal(t.status, FAR_OK);
    assert_string_equal(t.data, expected);
    assert_int_equal(t.length, strlen(expected));
    far_free(ctx, t.data);
}

static void one_piece_may_be_long(void **state)
{
    (void)state;
    far_text t = {.ctx = ctx};
    far_text_add(&t, "%s", "");
    assert_string_equal(t.data, "");
    far_text_add(&t, "%*d", 5003, 17);
    assert_int_equal(t.status, FAR_OK);
    assert_int_equal(t.length, 5003);
    assert_int_equal(strlen(t.data), 5003);
    assert_string_equal(t.data + 5001, "17");
    far_free(ctx, t.data);
}

static void a_text_remembers_its_first_failure(void **state)
{
    (void)state;
    far_text t = {.ctx = ctx};
    far_text_add(&t, "kept");
    fail_next_allocation();
    far_text_add(&t, "%*d", 1000, 1);
    assert_int_equal(t.status, FAR_ERR_MEMORY);
    far_text_add(&t, "not added");
    far_text_add_number(&t, 0.5);
    assert_int_equal(t.status, FAR_ERR_MEMORY);
    assert_string_equal(t.data, "kept");
    assert_int_equal(t.length, 4);
    far_free(ctx, t.data);
}

static void a_text_whose_first_piece_fails_is_empty(void **state)
{
    (void)state;
    far_text t = {.ctx = ctx};
    fail_next_allocation();
    far_text_add(&t, "lost");
    assert_int_equal(t.status, FAR_ERR_MEMORY);
    assert_null(t.data);
    assert_int_equal(t.length, 0);
}

static void numbers_are_written_in_the_fewest_digits(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0"},
        {-0.0, "-0"},
        {1, "1"},
        {-2.5, "-2.5"},
        {0.1, "0.1"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1.0 / 3, "0.3333333333333333"},
        {30, "30"},
        {-400, "-400"},
        {99990, "99990"},
        {10.25, "10.25"},
        {1e5, "1e+05"},
        {123456, "123456"},
        {1e22, "1e+22"},
        {5e-324, "5e-324"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {INFINITY, "inf"},
        {-INFINITY, "-inf"},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        far_text t = {.ctx = ctx};
        far_text_add_number(&t, cases[i].value);
        assert_string_equal(t.data, cases[i].text);
        far_free(ctx, t.data);
    }
}

static void numbers_read_back_to_the_same_double(void **state)
{
    (void)state;
    uint64_t bits = 20250612;
    for (int i = 0; i < 2000; i++) {
        double value;
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value)) {
            far_text t = {.ctx = ctx};
            far_text_add_number(&t, value);
            assert_true(strtod(t.data, NULL) == value);
            far_free(ctx, t.data);
        }
    }
}

/* ---- matrices ---- */

static void a_view_is_packed_and_on_the_host(void **state)
{
    (void)state;
    double numbers[15];
    far_mat m = far_mat_view(numbers, 3, 5, FAR_F64);
    assert_ptr_equal(m.data, numbers);
    assert_int_equal(m.rows, 3);
    assert_int_equal(m.cols, 5);
    assert_int_equal(m.ld, 5);
    assert_int_equal(m.dtype, FAR_F64);
    assert_int_equal(m.device, 0);
    assert_int_equal(far_mat_view(numbers, 3, 5, FAR_F32).dtype, FAR_F32);
}

static void rows_are_ld_elements_apart(void **state)
{
    (void)state;
    double numbers[21];
    float small[21];
    far_mat m = far_mat_view(numbers, 3, 5, FAR_F64), s = far_mat_view(small, 3, 5, FAR_F32);
    m.ld = s.ld = 7;
    assert_ptr_equal(far_mat_row(&m, 0), numbers);
    assert_ptr_equal(far_mat_row(&m, 2), numbers + 14);
    assert_ptr_equal(far_mat_row(&s, 2), small + 14);
    assert_int_equal(far_dtype_size(FAR_F64), 8);
    assert_int_equal(far_dtype_size(FAR_F32), 4);
}

static double some_numbers[35];

static const struct {
    far_mat m;
    far_status status;
    const char *message;
} bad_matrices[] = {
    {{some_numbers, -3, 5, 5, FAR_F64, 0}, FAR_ERR_SHAPE, "weights is -3 x 5"},
    {{some_numbers, 3, -5, 5, FAR_F64, 0}, FAR_ERR_SHAPE, "weights is 3 x -5"},
    {{some_numbers, 3, 5, 4, FAR_F64, 0}, FAR_ERR_SHAPE, "weights has ld 4 but 5 columns"},
    {{some_numbers, 2, 5, 0, FAR_F64, 0}, FAR_ERR_SHAPE, "weights has ld 0 but 5 columns"},
    {{some_numbers, 3, 5, -7, FAR_F32, 0}, FAR_ERR_SHAPE, "weights has ld -7 but 5 columns"},
    {{some_numbers, 3, 5, 5, 2, 0}, FAR_ERR_ARG, "weights has unknown dtype 2"},
    {{some_numbers, 3, 5, 5, -1, 0}, FAR_ERR_ARG, "weights has unknown dtype -1"},
    {{some_numbers, 3, 5, 5, FAR_F64, 1}, FAR_ERR_ARG, "weights is on device 1"},
    {{some_numbers, 3, 5, 5, FAR_F64, -1}, FAR_ERR_ARG, "weights is on device -1"},
    {{NULL, 3, 5, 5, FAR_F64, 0}, FAR_ERR_ARG, "weights has no data"},
};

static void every_fault_of_a_matrix_is_named(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(bad_matrices); i++) {
        assert_int_equal(far_mat_check(ctx, &bad_matrices[i].m, "weights"), bad_matrices[i].status);
        assert_holds(far_ctx_message(ctx), bad_matrices[i].message);
    }
    assert_int_equal(far_mat_check(ctx, NULL, "weights"), FAR_ERR_ARG);
    assert_string_equal(far_ctx_message(ctx), "weights is NULL");
}

static void good_matrices_pass(void **state)
{
    (void)state;
    static const far_mat good[] = {
        {some_numbers, 3, 5, 5, FAR_F64, 0},  {some_numbers, 3, 5, 7, FAR_F32, 0},
        {some_numbers, 1, 5, 0, FAR_F64, 0},  {some_numbers, 1, 5, -5, FAR_F64, 0},
        {NULL, 0, 5, 5, FAR_F64, 0},          {NULL, 0, 5, -1, FAR_F64, 0},
        {NULL, 3, 0, 0, FAR_F64, 0},          {NULL, 0, 0, 0, FAR_F32, 0},
        {some_numbers, 3, 0, 11, FAR_F64, 0},
    };
    for (int i = 0; i < COUNT(good); i++) {
        assert_int_equal(far_mat_check(ctx, &good[i], "weights"), FAR_OK);
    }
    assert_string_equal(far_ctx_message(ctx), "");
}

/* ---- progress ---- */

typedef struct hearer {
    int calls, answer;
    char what[32];
    int64_t done, total;
} hearer;

static int listen(void *user, const char *what, int64_t done, int64_t total)
{
    hearer *l = user;
    l->calls++;
    snprintf(l->what, sizeof l->what, "%s", what);
    l->done = done;
    l->total = total;
    return l->answer;
}

static far_ctx *listening_context(hearer *l)
{
    far_ctx_opts opts = heap_opts();
    far_ctx *made;
    opts.progress = listen;
    opts.progress_user = l;
    assert_int_equal(far_ctx_create(&opts, &made), FAR_OK);
    return made;
}

static void progress_reaches_the_caller(void **state)
{
    (void)state;
    hearer l = {0};
    far_ctx *told = listening_context(&l);
    assert_int_equal(far_progress(told, "kernel", 3, 7), FAR_OK);
    assert_int_equal(l.calls, 1);
    assert_string_equal(l.what, "kernel");
    assert_int_equal(l.done, 3);
    assert_int_equal(l.total, 7);
    assert_string_equal(far_ctx_message(told), "");
    far_ctx_destroy(told);
}

static void any_answer_but_zero_cancels(void **state)
{
    (void)state;
    static const int answers[] = {1, -1, 77};
    for (int i = 0; i < COUNT(answers); i++) {
        hearer l = {.answer = answers[i]};
        far_ctx *told = listening_context(&l);
        assert_int_equal(far_progress(told, "reading", 0, 5), FAR_ERR_CANCELLED);
        assert_string_equal(far_ctx_message(told), "reading cancelled");
        far_ctx_destroy(told);
    }
}

static void progress_without_a_listener_goes_on(void **state)
{
    (void)state;
    assert_int_equal(far_progress(ctx, "kernel", 1, 2), FAR_OK);
}

static void what_does_not_fit_is_told_in_bytes(void **state)
{
    (void)state;
    assert_int_equal(far_budget_check(ctx, "the matrix", 4096, 4096), FAR_OK);
    assert_int_equal(far_budget_check(ctx, "the matrix", 6.5 * 1024, 512), FAR_ERR_BUDGET);
    assert_holds(far_ctx_message(ctx), "the matrix needs 6.5 KiB but 512 bytes are allowed");
    assert_int_equal(far_budget_check(ctx, "the matrix", 0x1p70, 0), FAR_ERR_BUDGET);
    assert_holds(far_ctx_message(ctx), "the matrix needs 1.05e+06 PiB but ");
    assert_holds(far_ctx_message(ctx), " are available");
}

/* Whatever a name holds, a terminal prints it and does nothing else. */
static void texts_are_shown_without_their_controls(void **state)
{
    (void)state;
    static const struct {
        const char *text, *shown;
    } CASES[] = {
        {"plain", "plain"},
        {"a\tb\n", "a\\tb\\n"},
        {"\x1b[31m", "\\x1b[31m"},
        {"\x7f", "\\x7f"},
        {"caf\xc3\xa9", "caf\xc3\xa9"},
        {"\xe2\x82\xac", "\xe2\x82\xac"},
        {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
        {"\xc2\x85", "\\u0085"}, /* a control of the second set */
        {"\xd8\x9c", "\\u061c"}, /* directions */
        {"\xe2\x80\x8e", "\\u200e"},
        {"\xe2\x80\x8f", "\\u200f"},
        {"\xe2\x80\xae", "\\u202e"},
        {"\xe2\x81\xa7", "\\u2067"},
        {"\xe2\x81\xaa", "\xe2\x81\xaa"}, /* just behind them */
        {"\xef\xbb\xbf", "\\ufeff"},
        {"\xc1\xbf", "\\xc1\\xbf"}, /* not UTF-8: too long, */
        {"\xe0\x80\x80", "\\xe0\\x80\\x80"},
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"},          /* half a pair, */
        {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}, /* too large, */
        {"\xf5", "\\xf5"},
        {"\xe2\x82", "\\xe2\\x82"}, /* cut, */
        {"\xc3z", "\\xc3z"},        /* broken */
    };
    char out[64];
    for (int i = 0; i < COUNT(CASES); i++) {
        assert_string_equal(far_printable(CASES[i].text, out, sizeof out), CASES[i].shown);
    }
    assert_string_equal(far_printable("abcdefgh", out, 6), "ab...");
    assert_string_equal(far_printable("abcdefgh", out, 3), "");
    assert_ptr_equal(far_printable("abcdefgh", out, 0), out);
}

/* A lower set is what it is asked for, a higher one or none stays the best. */
static void the_environment_chooses_a_lower_instruction_set(void **state)
{
    (void)state;
    unsetenv("FARFIELD_ISA");
    far_isa best = far_isa_chosen();
    for (int i = FAR_ISA_BASELINE; i <= FAR_ISA_AVX512; i++) {
        setenv("FARFIELD_ISA", far_isa_name((far_isa)i), 1);
        assert_int_equal(far_isa_chosen(), i < (int)best ? i : (int)best);
    }
    setenv("FARFIELD_ISA", "sse9", 1);
    assert_int_equal(far_isa_chosen(), best);
    unsetenv("FARFIELD_ISA");
    assert_string_equal(far_isa_name(FAR_ISA_AVX2), "avx2");
}

/* More files than the first block of memory holds; the first role of each stays. */
static void a_ledger_remembers_first_roles(void **state)
{
    (void)state;
    far_ledger *ledger = NULL;
    far_file_id id = {.device = 1, .inode = 2};
    assert_int_equal(far_ledger_find(NULL, id), FAR_FILE_FREE);
    for (int failing = 0; failing < 2; failing++) {
        test_heap.fail_at = test_heap.calls + failing;
        assert_int_equal(far_ledger_mark(ctx, &ledger, id, FAR_FILE_INPUT), FAR_ERR_MEMORY);
        assert_int_equal(far_ledger_find(ledger, id), FAR_FILE_FREE);
        test_heap.fail_at = -1;
        far_ledger_free(ctx, ledger);
        ledger = NULL;
    }
    for (uint64_t i = 0; i < 60; i++) {
        far_file_id file = {.device = i % 3, .inode = i / 3 % 5, .name = i / 15};
        far_file_role role = i % 2 ? FAR_FILE_INPUT : FAR_FILE_OUTPUT;
        assert_int_equal(far_ledger_find(ledger, file), FAR_FILE_FREE);
        assert_int_equal(far_ledger_mark(ctx, &ledger, file, role), FAR_OK);
        assert_int_equal(far_ledger_mark(ctx, &ledger, file, FAR_FILE_INPUT), FAR_OK);
        assert_int_equal(far_ledger_find(ledger, file), role);
    }
    far_ledger_free(ctx, ledger);
    far_ledger_free(ctx, NULL);
}

/* ---- a crew ---- */

enum { CREW = 3, JOBS = 29 };

typedef struct shift {
    int64_t fails[2]; /* jobs that fail; -1: none */
    bool patient;     /* others leave a job to the calling thread, which alone is heard */
    int64_t done[JOBS];
    double *made[JOBS];
} shift;

static far_status work_once(far_ctx *own, void *data, int64_t i)
{
    shift *s = data;
    for (int k = 0; s->patient && omp_get_thread_num() > 0 && k < 10000 &&
                    __atomic_load_n(&ear.calls, __ATOMIC_RELAXED) == 0;
         k++) {
        usleep(1000);
    }
    far_status st = far_progress(own, "work", i, JOBS);
    st = st == FAR_OK ? far_alloc(own, 7, &s->made[i]) : st;
    if (st != FAR_OK) {
        return st;
    }
    assert_int_equal(far_ctx_threads(own), 1);
    s->done[i]++;
    bool fails = i == s->fails[0] || i == s->fails[1];
    return fails ? far_fail(own, FAR_ERR_VALUE, "job %lld", (long long)i) : FAR_OK;
}

static void free_work(far_ctx *own, shift *s)
{
    for (int i = 0; i < JOBS; i++) {
        far_free(own, s->made[i]); /* what workers made, by the caller's context */
    }
}

/* Of one thread and of several: every job is done once; the first that fails is answered for. */
static void jobs_run_side_by_side(void **state)
{
    (void)state;
    for (int threads = 1; threads <= CREW; threads++) {
        test_heap = (heap){.fail_at = -1};
        far_ctx *own = heap_context(&test_heap, threads, hear, &ear);
        far_crew *crew;
        shift good = {.fails = {-1, -1}}, bad = {.fails = {5, 20}};
        must(far_crew_create(own, &crew));
        must(far_crew_run(crew, JOBS, JOBS, work_once, &good));
        for (int i = 0; i < JOBS; i++) {
            assert_int_equal(good.done[i], 1);
        }
        assert_int_equal(far_crew_run(crew, JOBS, JOBS, work_once, &bad), FAR_ERR_VALUE);
        assert_string_equal(far_ctx_message(own), "job 5");
        for (int i = 0; i < 5; i++) {
            assert_int_equal(bad.done[i], 1);
        }
        free_work(own, &good);
        free_work(own, &bad);
        far_crew_destroy(crew);
        far_ctx_destroy(own);
        assert_int_equal(test_heap.live_blocks, 0);
    }
    far_crew_destroy(NULL);
}

static void a_crew_can_be_stopped(void **state)
{
    (void)state;
    for (int threads = 1; threads <= CREW; threads++) {
        test_heap = (heap){.fail_at = -1};
        ear = (listener){.stop_at = 1};
        far_ctx *own = heap_context(&test_heap, threads, hear, &ear);
        far_crew *crew;
        shift s = {.fails = {-1, -1}, .patient = true};
        must(far_crew_create(own, &crew));
        assert_int_equal(far_crew_run(crew, JOBS, JOBS, work_once, &s), FAR_ERR_CANCELLED);
        assert_string_equal(far_ctx_message(own), "work cancelled");
        free_work(own, &s);
        far_crew_destroy(crew);
        far_ctx_destroy(own);
        assert_int_equal(test_heap.live_blocks, 0);
    }
}

static void a_crew_without_memory_is_told(void **state)
{
    (void)state;
    far_status st = FAR_ERR_MEMORY;
    for (int64_t i = 0; st == FAR_ERR_MEMORY; i++) {
        test_heap = (heap){.fail_at = -1};
        far_ctx *own = heap_context(&test_heap, CREW, NULL, NULL);
        far_crew *crew;
        shift s = {.fails = {-1, -1}};
        test_heap.fail_at = test_heap.calls + i;
        st = far_crew_create(own, &crew);
        assert_true((st == FAR_OK) == (crew != NULL));
        st = st == FAR_OK ? far_crew_run(crew, JOBS, 2, work_once, &s) : st;
        test_heap.fail_at = -1;
        free_work(own, &s);
        far_crew_destroy(crew);
        far_ctx_destroy(own);
        assert_int_equal(test_heap.live_blocks, 0);
    }
    assert_int_equal(st, FAR_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_shown_without_their_controls),
        cmocka_unit_test_setup_teardown(a_ledger_remembers_first_roles, open_context,
                                        close_context),
        cmocka_unit_test(the_environment_chooses_a_lower_instruction_set),
        cmocka_unit_test(statuses_have_their_frozen_values_names_and_texts),
        cmocka_unit_test(unknown_statuses_still_have_a_name_and_a_text),
        cmocka_unit_test(version_is_three_numbers),
        cmocka_unit_test(options_start_with_their_size_and_zeros),
        cmocka_unit_test(a_context_needs_no_options),
        cmocka_unit_test(options_that_make_no_sense_are_refused),
        cmocka_unit_test(threads_are_those_asked_for),
        cmocka_unit_test(a_missing_context_has_no_message_and_one_thread),
        cmocka_unit_test(a_context_lives_in_the_callers_memory),
        TEST(failing_keeps_status_and_message),
        TEST(success_leaves_the_last_message),
        TEST(long_messages_are_cut_not_overrun),
        TEST(contexts_do_not_share_messages),
        TEST(blocks_are_aligned_and_zeroed),
        TEST(rounding_is_outward_as_printed),
        TEST(sizes_that_overflow_are_out_of_memory),
        TEST(what_does_not_fit_is_told_in_bytes),
        TEST(a_refused_block_says_how_much_was_wanted),
        TEST(growing_keeps_the_contents),
        TEST(growing_in_vain_keeps_the_old_block),
        TEST(copies_of_text_are_closed),
        TEST(texts_grow_piece_by_piece),
        TEST(one_piece_may_be_long),
        TEST(a_text_remembers_its_first_failure),
        TEST(a_text_whose_first_piece_fails_is_empty),
        TEST(numbers_are_written_in_the_fewest_digits),
        TEST(numbers_read_back_to_the_same_double),
        TEST(a_view_is_packed_and_on_the_host),
        TEST(rows_are_ld_elements_apart),
        TEST(every_fault_of_a_matrix_is_named),
        TEST(good_matrices_pass),
        cmocka_unit_test(progress_reaches_the_caller),
        cmocka_unit_test(any_answer_but_zero_cancels),
        TEST(progress_without_a_listener_goes_on),
        cmocka_unit_test(jobs_run_side_by_side),
        cmocka_unit_test(a_crew_can_be_stopped),
        cmocka_unit_test(a_crew_without_memory_is_told),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
