/* Files when the system fails: what was there stays, nothing half-written is left, and the message
 * says what happened. */
#define _GNU_SOURCE
#include "../../src/data/data_internal.h"

#include <signal.h>
#include <sys/resource.h>

#include "harness.h"

#include "faults.h"

/* Not by the library, which would know it as an input from then on. */
static void expect_file(const char *path, const char *text)
{
    char got[64];
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    got[fread(got, 1, sizeof got - 1, f)] = 0;
    fclose(f);
    assert_string_equal(got, text);
}

static void expect_read(const char *path, const char *text)
{
    char *got;
    int64_t size;
    must(far_file_read(ctx, path, &got, &size));
    assert_int_equal(size, strlen(text));
    assert_string_equal(got, text);
    far_text_free(ctx, got);
}

static far_status commit_text(const char *path, const char *text)
{
    far_file *file = NULL;
    far_status st = far_file_create(ctx, path, &file);
    st = st == FAR_OK ? far_file_put(file, text, strlen(text)) : st;
    far_status closed = far_file_close(file, st == FAR_OK);
    return st == FAR_OK ? closed : st;
}

/* Each time over a file that is there, and to a name that is not. */
static void a_failed_write_leaves_what_was_there(void **state)
{
    (void)state;
    static const struct {
        fault f;
        const char *why;
        bool old_only; /* the call is made for a file that is there, and for no other */
    } cases[] = {{{"write", 0, ENOSPC}, "no space left on device", false},
                 {{"write", 0, EIO}, "input/output error", false},
                 {{"fsync", 0, EIO}, "input/output error", false},
                 {{"open", 0, EACCES}, "permission denied", false},
                 {{"open", 0, ENOENT}, "no such directory", false},
                 {{"rename", 0, EXDEV}, "invalid cross-device link", false},
                 {{"fchmod", 0, EPERM}, "operation not permitted", true}};
    for (int i = 0; i < COUNT(cases); i++) {
        char wanted[128];
        snprintf(wanted, sizeof wanted, "f: cannot write: %s", cases[i].why);
        write_file("f", "old", 3);
        next_fault = cases[i].f;
        assert_int_equal(commit_text("f", "new"), FAR_ERR_IO);
        assert_string_equal(far_ctx_message(ctx), wanted);
        assert_null(next_fault.call);
        expect_file("f", "old");
        assert_int_equal(count_files(), 1);
        assert_int_equal(unlink("f"), 0);
        if (!cases[i].old_only) {
            next_fault = cases[i].f;
            assert_int_equal(commit_text("f", "new"), FAR_ERR_IO);
            assert_int_equal(count_files(), 0);
        }
    }
}

static void what_does_not_matter_does_not_fail(void **state)
{
    (void)state;
    static const fault cases[] = {
        {"write", 0, EINTR}, {"fsync", 0, EINVAL}, {"fsync", 0, ENOTSUP},
        {"fsync", 0, EROFS}, {"fsync", 1, EINVAL}, {"open", 0, EEXIST},
        {"open", 1, EACCES}, {"flock", 0, ENOLCK}, {"opendir", 0, EACCES}};
    for (int i = 0; i < COUNT(cases); i++) {
        write_file("f", "old", 3);
        next_fault = cases[i];
        must(commit_text("f", "new"));
        assert_null(next_fault.call);
        expect_file("f", "new");
        assert_int_equal(count_files(), 1);
    }
    unlink("f");
}

/* The file has its name by then, and may lose it in a power cut. */
static void a_folder_that_is_not_on_disk_is_told(void **state)
{
    (void)state;
    next_fault = (fault){"fsync", 1, EIO};
    assert_int_equal(commit_text("f", "new"), FAR_ERR_IO);
    assert_string_equal(far_ctx_message(ctx), "f: cannot write: input/output error");
    expect_file("f", "new");
    unlink("f");
}

/* A temporary file that another process takes for abandoned is given up, and the next one taken. */
static void a_temporary_file_may_be_taken_away(void **state)
{
    (void)state;
    static const fault cases[] = {{"flock", 0, EWOULDBLOCK}, {"fstat", 0, EIO}};
    for (int i = 0; i < COUNT(cases); i++) {
        next_fault = cases[i];
        must(commit_text("f", "new"));
        expect_file("f", "new");
        assert_int_equal(count_files(), 2);
        must(commit_text("f", "newer")); /* which finds it abandoned indeed */
        expect_file("f", "newer");
        assert_int_equal(count_files(), 1);
    }
    unlink("f");
    next_fault = (fault){"flock", ALWAYS, EWOULDBLOCK};
    assert_int_equal(commit_text("f", "new"), FAR_ERR_IO);
    assert_string_equal(far_ctx_message(ctx), "f: cannot write: resource temporarily unavailable");
    next_fault = (fault){0};
    must(commit_text("f", "new"));
    assert_int_equal(count_files(), 1);
    unlink("f");
}

/* What has the name of a temporary file, and is locked or cannot be opened, is not ours. */
static void another_process_keeps_its_file(void **state)
{
    (void)state;
    far_file *first;
    must(far_file_create(ctx, "f", &first));
    must(far_file_put(first, "first", 5));
    must(commit_text("f", "second"));
    expect_file("f", "second");
    assert_int_equal(count_files(), 2);
    must(far_file_close(first, 1));
    expect_file("f", "first");
    unlink("f");
}

static void fill(char *text, int64_t bytes)
{
    uint64_t seed = 1;
    for (int64_t i = 0; i < bytes; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        text[i] = (char)('0' + (seed >> 33) % 10);
    }
}

/* A disk that fills up after any number of writes, plain and packed. */
static void a_disk_may_fill_up_anywhere(void **state)
{
    (void)state;
    enum { BYTES = 3 << 20 };
    static const char *const names[] = {"f", "f.gz"};
    static char text[BYTES + 1];
    fill(text, BYTES);
    for (int i = 0; i < COUNT(names); i++) {
        far_status st = FAR_ERR_IO;
        int at = 0;
        for (; st != FAR_OK; at++) {
            next_fault = (fault){"write", at, ENOSPC};
            st = commit_text(names[i], text);
            assert_int_equal(count_files(), st == FAR_OK);
            assert_true(st == FAR_OK ||
                        strstr(far_ctx_message(ctx), "cannot write: no space left on device"));
        }
        assert_true(at > 5);
        next_fault = (fault){0};
        unlink(names[i]);
    }
}

/* Values of every format, by a limit on the size of files. */
static void matrices_are_whole_or_not_there(void **state)
{
    (void)state;
    enum { ROWS = 400, COLS = 300 };
    static const char *const names[] = {"m.npy", "m.npz", "m.csv", "m.csv.gz"};
    static double values[ROWS * COLS];
    struct rlimit old, small;
    far_note note = {.name = "who", .text = "me"};
    int64_t shape[] = {ROWS, COLS};
    for (int i = 0; i < ROWS * COLS; i++) {
        values[i] = 1.0 / (i + 1);
    }
    far_mat m = far_mat_view(values, ROWS, COLS, FAR_F64);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    for (int i = 0; i < COUNT(names); i++) {
        for (rlim_t most = 0; most < 900000; most += 256 << 10) {
            small.rlim_cur = most;
            assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
            far_status st = far_mat_write(
                ctx, &m,
                &(far_write_opts){
                    .name = "m", .shape = shape, .dims = 2, .notes = &note, .note_count = 1},
                names[i]);
            assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
            assert_int_equal(st, FAR_ERR_IO);
            assert_non_null(strstr(far_ctx_message(ctx), "cannot write: file too large"));
            assert_int_equal(count_files(), 0);
        }
    }
    signal(SIGXFSZ, before);
}

/* ---- before the work ---- */

#define refused(call, expected, message)                                                           \
    do {                                                                                           \
        assert_int_equal(call, expected);                                                          \
        assert_string_equal(far_ctx_message(ctx), message);                                        \
    } while (0)

static void outputs_are_claimed_before_the_work(void **state)
{
    (void)state;
    refused(far_file_claim(ctx, ""), FAR_ERR_ARG, "the path is empty");
    assert_int_equal(far_file_claim(NULL, "f"), FAR_ERR_ARG);
    refused(far_file_claim(ctx, "."), FAR_ERR_IO, ".: cannot write: is a directory");
    refused(far_file_claim(ctx, "no/f"), FAR_ERR_IO, "no/f: cannot write: no such directory");
    next_fault = (fault){"access", 0, EACCES};
    refused(far_file_claim(ctx, "f"), FAR_ERR_IO, "f: cannot write: permission denied");
    next_fault = (fault){"access", 0, EACCES};
    refused(far_file_claim(ctx, "/dev/null"), FAR_ERR_IO,
            "/dev/null: cannot write: permission denied");
    must(far_file_claim(ctx, "/dev/null"));
    must(far_file_claim(ctx, "/dev/null")); /* which two may share */
    must(far_file_claim(ctx, "f"));
    must(far_file_claim(ctx, "f"));  /* where inputs are not protected */
    must(far_file_claim(ctx, NULL)); /* standard output */
}

static void inputs_are_protected_on_request(void **state)
{
    (void)state;
    far_ctx *plain = ctx;
    far_ctx_opts opts;
    char *text;
    opts = (far_ctx_opts){.size = sizeof opts};
    opts.protect_inputs = 1;
    must(far_ctx_create(&opts, &ctx));
    must(far_file_claim(ctx, "f"));
    refused(far_file_claim(ctx, "f"), FAR_ERR_ARG,
            "f: is the output of two options; name two files");
    write_file("in", "x", 1);
    must(far_file_read(ctx, "in", &text, NULL));
    far_text_free(ctx, text);
    refused(far_file_claim(ctx, "in"), FAR_ERR_ARG,
            "in: is an input, and the output would replace it; give the output another name");
    refused(commit_text("in", "y"), FAR_ERR_ARG,
            "in: is an input, and the output would replace it; give the output another name");
    expect_file("in", "x");
    write_file("out", "x", 1);
    must(far_file_claim(ctx, "out"));
    refused(far_file_read(ctx, "out", &text, NULL), FAR_ERR_ARG,
            "out: is both input and output, and would be replaced; give the output another name");
    unlink("in");
    unlink("out");
    far_ctx_destroy(ctx);
    ctx = plain;
}

static void a_file_needs_a_path_and_a_place(void **state)
{
    (void)state;
    far_file *file;
    char *text;
    refused(far_file_create(ctx, "", &file), FAR_ERR_ARG, "the path is empty");
    refused(far_file_create(ctx, NULL, &file), FAR_ERR_ARG, "the path is empty");
    refused(far_file_create(ctx, "f", NULL), FAR_ERR_ARG, "out is NULL");
    assert_int_equal(far_file_create(NULL, "f", &file), FAR_ERR_ARG);
    refused(far_file_create(ctx, "no/f", &file), FAR_ERR_IO,
            "no/f: cannot write: no such directory");
    assert_null(file);
    next_fault = (fault){"open", 0, EBUSY};
    refused(far_file_create(ctx, "/dev/null", &file), FAR_ERR_IO,
            "/dev/null: cannot write: device or resource busy");
    refused(far_file_read(ctx, "", &text, NULL), FAR_ERR_ARG, "the path is empty");
    refused(far_file_read(ctx, NULL, &text, NULL), FAR_ERR_ARG, "the path is empty");
    refused(far_file_read(ctx, "f", NULL, NULL), FAR_ERR_ARG, "out is NULL");
    assert_int_equal(far_file_read(NULL, "f", &text, NULL), FAR_ERR_ARG);
}

/* ---- reading ---- */

static void what_cannot_be_read_is_told(void **state)
{
    (void)state;
    char *text = NULL;
    write_file("f", "text", 4);
    next_fault = (fault){"read", 0, EIO};
    refused(far_file_read(ctx, "f", &text, NULL), FAR_ERR_IO, "f: input/output error");
    next_fault = (fault){"fstat", 0, EOVERFLOW};
    refused(far_file_read(ctx, "f", &text, NULL), FAR_ERR_IO,
            "f: value too large for defined data type");
    next_fault = (fault){"sysconf", ALWAYS, ENOMEM};
    static char page[8192];
    write_file("long", page, sizeof page);
    refused(far_file_read(ctx, "long", &text, NULL), FAR_ERR_MEMORY,
            "long: needs more than this machine's 3.81e-06 GiB of memory");
    next_fault = (fault){0};
    assert_null(text);
    next_fault = (fault){"read", 0, EINTR};
    expect_read("f", "text");
    next_fault = (fault){"sysconf", ALWAYS, EINVAL}; /* unknown memory limits nothing */
    expect_read("f", "text");
    next_fault = (fault){0};
    unlink("f");
    unlink("long");
}

static far_status copy_file(void)
{
    char *text = NULL;
    far_status st = far_file_read(ctx, "in", &text, NULL);
    st = st == FAR_OK ? commit_text("out.gz", text) : st;
    far_text_free(ctx, text);
    return st;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    far_status st = FAR_ERR_MEMORY;
    write_file("in", "text", 4);
    for (int64_t k = 0; st != FAR_OK; k++) {
        int64_t blocks = test_heap.live_blocks;
        test_heap.fail_at = test_heap.calls + k;
        st = copy_file();
        test_heap.fail_at = -1;
        assert_true(st == FAR_OK || st == FAR_ERR_MEMORY);
        assert_int_equal(count_files(), st == FAR_OK ? 2 : 1);
        /* the list of inputs may have grown */
        assert_true(test_heap.live_blocks <= blocks + 1 && k < 100);
    }
    unlink("in");
    unlink("out.gz");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_failed_write_leaves_what_was_there), TEST(what_does_not_matter_does_not_fail),
        TEST(a_folder_that_is_not_on_disk_is_told), TEST(a_temporary_file_may_be_taken_away),
        TEST(another_process_keeps_its_file),       TEST(a_disk_may_fill_up_anywhere),
        TEST(matrices_are_whole_or_not_there),      TEST(outputs_are_claimed_before_the_work),
        TEST(inputs_are_protected_on_request),      TEST(a_file_needs_a_path_and_a_place),
        TEST(what_cannot_be_read_is_told),          TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
