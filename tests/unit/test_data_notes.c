/* Notes beside the array of an npz, and arrays of more than two dimensions. */
#define _GNU_SOURCE
#include "../../src/data/data_internal.h"

#include <farfield/frame.h>
#include <zip.h>

#include "harness.h"

#define TEXT "a \xce\xbb, \xe2\x82\xac and \xf0\x9d\x95\x82"

static const far_note NOTES[] = {{.name = "points", .number = 3},
                                 {.name = "arch", .text = TEXT},
                                 {.name = "empty", .number = 0},
                                 {.name = "kind", .text = "ntk"}};

static far_status write_array(const far_mat *m, const int64_t *shape, int dims, const char *name,
                              const far_note *notes, int64_t count, const char *path)
{
    return far_mat_write(ctx, m, &(far_write_opts){name, shape, dims, notes, count, 0, NULL}, path);
}

static const char *text_of(const far_array *a, const char *name)
{
    const far_note *n = far_array_note(a, name);
    return n ? n->text : NULL;
}

static int64_t number_of(const far_array *a, const char *name)
{
    const far_note *n = far_array_note(a, name);
    return n ? n->number : -1;
}

static far_status write_noted(const char *path)
{
    double values[30];
    int64_t shape[3] = {2, 3, 5};
    for (int i = 0; i < 30; i++) {
        values[i] = i;
    }
    far_mat m = far_mat_view(values, 6, 5, FAR_F64);
    return write_array(&m, shape, 3, "K", NOTES, 4, path);
}

static void notes_come_back(void **state)
{
    (void)state;
    far_array *t;
    must(write_noted("x.npz"));
    must(far_array_read(ctx, "x.npz", NULL, FAR_ARRAY_DIMS, &t));
    far_array_info info = far_array_describe(t);
    assert_int_equal(info.dims, 3);
    assert_true(info.shape[0] == 2 && info.shape[1] == 3 && info.shape[2] == 5);
    far_mat m = far_array_describe(t).values;
    assert_true(m.rows == 6 && m.cols == 5 && ((double *)m.data)[29] == 29);
    assert_int_equal(number_of(t, "points"), 3);
    assert_int_equal(number_of(t, "empty"), 0);
    assert_string_equal(text_of(t, "arch"), TEXT);
    assert_string_equal(text_of(t, "kind"), "ntk");
    assert_null(text_of(t, "points"));
    assert_null(text_of(t, "none"));
    assert_int_equal(number_of(t, "kind"), -1);
    assert_int_equal(number_of(t, "none"), -1);
    far_array_destroy(t);
    assert_int_equal(unlink("x.npz"), 0);
}

/* A file with notes is one with one array: for tables, frames, and by name. */
static void notes_are_no_arrays(void **state)
{
    (void)state;
    double values[] = {1, 2, 3, 5, 7, 11};
    int64_t shape[2] = {3, 2};
    far_mat m = far_mat_view(values, 3, 2, FAR_F64);
    far_array *t;
    far_frame *f;
    must(write_array(&m, shape, 2, "K", NOTES, 4, "x.npz"));
    must(far_array_read(ctx, "x.npz", NULL, 2, &t));
    assert_int_equal(far_array_describe(t).values.cols, 2);
    far_array_destroy(t);
    assert_int_equal(far_array_read(ctx, "x.npz", "farfield.points", 2, &t), FAR_ERR_FORMAT);
    assert_int_equal(far_array_read(ctx, "x.npz", "none", 2, &t), FAR_ERR_ARG);
    assert_string_equal(far_ctx_message(ctx), "x.npz: has no array 'none'; it holds K");
    must(far_frame_read(ctx, "x.npz", NULL, NULL, &f));
    assert_int_equal(far_frame_cols(f), 2);
    far_frame_destroy(f);
    assert_int_equal(unlink("x.npz"), 0);
}

static void other_formats_leave_notes_out(void **state)
{
    (void)state;
    far_array *t;
    must(write_noted("x.npy"));
    assert_int_equal(far_array_read(ctx, "x.npy", NULL, 2, &t), FAR_ERR_FORMAT); /* 3 dimensions */
    must(far_array_read(ctx, "x.npy", NULL, FAR_ARRAY_DIMS, &t));
    assert_int_equal(number_of(t, "points"), -1);
    far_array_destroy(t);
    assert_int_equal(unlink("x.npy"), 0);
}

static void bad_notes_are_refused(void **state)
{
    (void)state;
    double value = 1;
    int64_t shape[2] = {1, 1};
    far_mat m = far_mat_view(&value, 1, 1, FAR_F64);
    far_note bad[] = {{.name = "", .number = 1},
                      {.name = "a", .text = ""},
                      {.name = "0123456789012345678901234567890123", .number = 1},
                      {.name = NULL, .number = 1}};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(write_array(&m, shape, 2, "K", bad + i, 1, "x.npz"), FAR_ERR_ARG);
    }
    assert_int_equal(write_array(&m, shape, 2, "K", NOTES, FAR_NOTES + 1, "x.npz"), FAR_ERR_ARG);
    assert_int_equal(write_array(&m, shape, 2, "K", NOTES, -1, "x.npz"), FAR_ERR_ARG);
    assert_int_equal(write_array(&m, shape, 2, "K", NULL, 1, "x.npz"), FAR_ERR_ARG);
    char *text = malloc(70000);
    memset(text, 'a', 69999);
    text[69999] = 0;
    far_note large = {.name = "large", .text = text};
    assert_int_equal(write_array(&m, shape, 2, "K", &large, 1, "x.npz"), FAR_ERR_ARG);
    free(text);
    assert_int_equal(count_files(), 0);
}

/* x.npz with an array and these bytes as farfield.bad. */
static void make_npz(const void *note, size_t size)
{
    double value = 2;
    int64_t shape[2] = {1, 1};
    far_mat m = far_mat_view(&value, 1, 1, FAR_F64);
    must(write_array(&m, shape, 2, "K", NULL, 0, "x.npz"));
    zip_t *zip = zip_open("x.npz", 0, NULL);
    zip_source_t *source = zip_source_buffer(zip, note, size, 0);
    assert_true(zip_file_add(zip, "farfield.bad.npy", source, 0) >= 0);
    assert_int_equal(zip_close(zip), 0);
}

static size_t make_npy(const char *descr, const char *shape, size_t follow, char *out)
{
    memset(out, ' ', 128 + follow);
    memcpy(out, "\x93NUMPY\1\0\x76\0", 10);
    int used = snprintf(out + 10, 118, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
                        descr, shape);
    out[10 + used] = ' ';
    out[127] = '\n';
    memset(out + 128, 1, follow);
    return 128 + follow;
}

static void shapes_that_are_not_the_matrix_are_refused(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{3, 3, 1}, {6, 1, 2}, {0, 6, 1}, {3, 1, 1}, {3, 2, 4}};
    double values[6] = {0};
    far_mat m = far_mat_view(values, 3, 2, FAR_F64);
    for (int i = 0; i < 5; i++) {
        far_status st = write_array(&m, shapes[i], 3, "K", NOTES, 1, "x.npz");
        assert_int_equal(st, FAR_ERR_SHAPE);
        assert_non_null(strstr(far_ctx_message(ctx), "the matrix is 3 x 2, not ("));
    }
    int64_t line[] = {6}, many[80];
    assert_int_equal(write_array(&m, line, 1, "K", NOTES, 1, "x.npz"), FAR_ERR_SHAPE);
    for (int i = 0; i < 80; i++) {
        many[i] = 1;
    }
    assert_int_equal(write_array(&m, many, 80, "K", NOTES, 1, "x.npz"), FAR_ERR_SHAPE);
    m.data = NULL;
    assert_int_equal(write_array(&m, shapes[0], 2, "K", NOTES, 1, "x.npz"), FAR_ERR_ARG);
    assert_int_equal(count_files(), 0);
}

static void damaged_notes_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *descr, *shape;
        size_t follow;
    } CASES[] = {{"<f8", "()", 8}, {"<i8", "(2,)", 16}, {"<i8", "()", 4},    {"<i8", "()", 16},
                 {"<i8", "()", 8}, {"<U1", "()", 4},    {"<i8", "(1, 1)", 8}};
    char npy[256];
    far_array *t;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        make_npz(npy, make_npy(CASES[i].descr, CASES[i].shape, CASES[i].follow, npy));
        assert_int_equal(far_array_read(ctx, "x.npz", NULL, 2, &t), FAR_ERR_FORMAT);
        assert_non_null(strstr(far_ctx_message(ctx), "must hold one text"));
        assert_null(t);
        assert_int_equal(unlink("x.npz"), 0);
    }
}

static void notes_too_large_are_not_unpacked(void **state)
{
    (void)state;
    size_t size = 70000;
    char *npy = malloc(128 + size);
    far_array *t;
    make_npz(npy, make_npy("<U17500", "()", size, npy));
    assert_int_equal(far_array_read(ctx, "x.npz", NULL, 2, &t), FAR_ERR_FORMAT);
    assert_non_null(strstr(far_ctx_message(ctx), "more than are plausible"));
    free(npy);
    assert_int_equal(unlink("x.npz"), 0);
}

static void arrays_that_are_not_whole_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *shape;
        size_t follow;
    } CASES[] = {{"(2, 1, 3)", 40},
                 {"(9223372036854775807, 3, 2)", 48},
                 {"(1, 1, 1, 1, 1, 1)", 8},
                 {"(0, 1, 1)", 0},
                 {"()", 8}};
    char npy[256];
    far_array *t;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        write_file("x.npy", npy, make_npy("<f8", CASES[i].shape, CASES[i].follow, npy));
        assert_int_equal(far_array_read(ctx, "x.npy", NULL, FAR_ARRAY_DIMS, &t), FAR_ERR_FORMAT);
        assert_null(t);
        assert_int_equal(unlink("x.npy"), 0);
    }
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    far_status st = FAR_ERR_MEMORY;
    far_array *t = NULL;
    for (int64_t k = 0; st == FAR_ERR_MEMORY; k++) {
        test_heap.calls = 0;
        test_heap.fail_at = k;
        st = write_noted("x.npz");
        assert_int_equal(count_files(), st == FAR_OK);
    }
    assert_int_equal(st, FAR_OK);
    st = FAR_ERR_MEMORY;
    for (int64_t k = 0; st == FAR_ERR_MEMORY; k++) {
        test_heap.calls = 0;
        test_heap.fail_at = k;
        st = far_array_read(ctx, "x.npz", NULL, FAR_ARRAY_DIMS, &t);
        assert_true((t != NULL) == (st == FAR_OK));
    }
    test_heap.fail_at = -1;
    assert_int_equal(st, FAR_OK);
    far_array_destroy(t);
    assert_int_equal(unlink("x.npz"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(notes_come_back),
        TEST(notes_are_no_arrays),
        TEST(other_formats_leave_notes_out),
        TEST(bad_notes_are_refused),
        TEST(shapes_that_are_not_the_matrix_are_refused),
        TEST(damaged_notes_are_refused),
        TEST(notes_too_large_are_not_unpacked),
        TEST(arrays_that_are_not_whole_are_refused),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
