/* Figures as files: a library that fails to draw is quoted, and nothing half-written is left. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <farfield/extras.h>

#include "harness.h"

#include "faults.h"

static far_figure *line_figure(void)
{
    static const double x[] = {0, 1, 2}, y[] = {1, 3, 2};
    far_figure *f;
    must(far_figure_create(ctx, NULL, &f));
    must(far_figure_line(ctx, f, x, y, 3, NULL));
    return f;
}

static int live_objects(void)
{
    void *file = dlopen(FAKE_LIBRSVG_FILE, RTLD_NOW);
    assert_non_null(file);
    int live = ((int (*)(void))dlsym(file, "fake_live"))();
    dlclose(file);
    return live;
}

static void what_fails_in_the_library_is_quoted(void **state)
{
    (void)state;
    static const char *const cases[][2] = {{"handle", "the file is broken"},
                                           {"render", "librsvg gave no reason"},
                                           {"surface", "no memory for the surface"},
                                           {"write", "no memory for the picture"}};
    far_figure *f = line_figure();
    setenv("FARFIELD_LIBRSVG", FAKE_LIBRSVG_FILE, 1);
    for (int i = 0; i < COUNT(cases); i++) {
        char wanted[128];
        snprintf(wanted, sizeof wanted, "the figure could not be drawn: %s; save it as .svg",
                 cases[i][1]);
        setenv("FAKE_LIBRSVG", cases[i][0], 1);
        assert_int_equal(far_figure_save(ctx, f, "f.png"), FAR_ERR_BACKEND);
        assert_string_equal(far_ctx_message(ctx), wanted);
        assert_int_equal(count_files(), 0);
        assert_int_equal(live_objects(), 0);
    }
    unsetenv("FAKE_LIBRSVG");
    must(far_figure_save(ctx, f, "f.png"));
    char text[8] = "";
    FILE *file = fopen("f.png", "rb");
    assert_non_null(file);
    assert_int_equal(fread(text, 1, sizeof text, file), 7);
    fclose(file);
    assert_memory_equal(text, "picture", 7);
    unlink("f.png");
    far_figure_destroy(f);
}

static void a_full_disk_leaves_no_figure(void **state)
{
    (void)state;
    static const char *const names[] = {"f.svg", "f.csv", "f.png"};
    far_figure *f = line_figure();
    setenv("FARFIELD_LIBRSVG", FAKE_LIBRSVG_FILE, 1);
    for (int i = 0; i < COUNT(names); i++) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "%s: cannot write: no space left on device", names[i]);
        next_fault = (fault){"write", 0, ENOSPC};
        assert_int_equal(far_figure_save(ctx, f, names[i]), FAR_ERR_IO);
        assert_string_equal(far_ctx_message(ctx), wanted);
        assert_int_equal(count_files(), 0);
    }
    assert_int_equal(far_figure_save(ctx, f, ".svg"), FAR_ERR_ARG); /* an ending is no name */
    far_figure_destroy(f);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    static const char *const names[] = {"f.svg", "f.csv", "f.png"};
    far_figure *f = line_figure();
    setenv("FARFIELD_LIBRSVG", FAKE_LIBRSVG_FILE, 1);
    for (int i = 0; i < COUNT(names); i++) {
        far_status st = FAR_ERR_MEMORY;
        for (int64_t k = 0; st != FAR_OK; k++) {
            int64_t blocks = test_heap.live_blocks;
            test_heap.fail_at = test_heap.calls + k;
            st = far_figure_save(ctx, f, names[i]);
            test_heap.fail_at = -1;
            assert_true((st == FAR_OK || st == FAR_ERR_MEMORY) && k < 1000);
            assert_int_equal(test_heap.live_blocks, blocks);
            assert_int_equal(count_files(), st == FAR_OK);
            assert_int_equal(live_objects(), 0);
        }
        unlink(names[i]);
    }
    far_figure_destroy(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_fails_in_the_library_is_quoted),
        TEST(a_full_disk_leaves_no_figure),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
