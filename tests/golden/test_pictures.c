/* A folder of pictures as a table: the pixels of every kind are those that Pillow reads, labels and
 * names are those of the files, and what is wrong is refused by name. */
#define _GNU_SOURCE
#include "../unit/measure_fixture.h"

#include "../../src/image/image_internal.h"

#include <sys/stat.h>

enum { MOST = 4096 };

/* One line of pictures.txt. */
typedef struct sample {
    char name[32];
    int channels, rows, cols;
    unsigned char data[MOST];
    size_t size;
    double pixels[256];
} sample;

static bool next_sample(FILE *file, sample *s)
{
    static char digits[2 * MOST + 1];
    if (fscanf(file, "%31s %d %d %d %8192s", s->name, &s->channels, &s->rows, &s->cols, digits) !=
        5) {
        return false;
    }
    s->size = strlen(digits) / 2;
    for (size_t i = 0; i < s->size; i++) {
        unsigned byte;
        assert_int_equal(sscanf(digits + 2 * i, "%2x", &byte), 1);
        s->data[i] = (unsigned char)byte;
    }
    for (int i = 0; i < s->channels * s->rows * s->cols; i++) {
        assert_int_equal(fscanf(file, "%lf", &s->pixels[i]), 1);
    }
    return true;
}

static sample find_sample(const char *name)
{
    static sample s;
    FILE *file = fopen(TEST_DATA_DIR "/golden/pictures.txt", "r");
    assert_non_null(file);
    do {
        assert_true(next_sample(file, &s));
    } while (strcmp(s.name, name) != 0 || s.channels != 3);
    fclose(file);
    return s;
}

static void put(const char *path, const char *name)
{
    sample s = find_sample(name);
    write_file(path, s.data, s.size);
}

static far_status read_folder(const char *path, const char *arch, far_frame **out)
{
    far_image_opts o = {.size = sizeof o, .arch = arch};
    return far_image_read(ctx, path, &o, out);
}

/* "without libpng", "without libturbojpeg" */
static bool cannot(far_status st)
{
    return st != FAR_OK && strstr(far_ctx_message(ctx), "was built without lib");
}

static void pixels_are_those_of_pillow(void **state)
{
    static sample s;
    FILE *file = fopen(TEST_DATA_DIR "/golden/pictures.txt", "r");
    int count = 0;
    (void)state;
    assert_non_null(file);
    for (; next_sample(file, &s); count++) {
        char path[64], arch[64];
        far_frame *t = NULL;
        mkdir("one", 0777);
        snprintf(path, sizeof path, "one/%s", s.name);
        write_file(path, s.data, s.size);
        snprintf(arch, sizeof arch, "image(%dx%dx%d) flatten dense(1)", s.channels, s.rows, s.cols);
        far_status st = read_folder("one", arch, &t);
        unlink(path);
        rmdir("one");
        if (cannot(st)) {
            continue;
        }
        must(st);
        int pixels = s.channels * s.rows * s.cols;
        assert_int_equal(far_frame_cols(t), pixels + 1);
        for (int j = 0; j < pixels; j++) {
            if (far_frame_column(t, j).numbers[0] != s.pixels[j]) {
                fail_msg("%s, %d channels: p%d is %g, not %g", s.name, s.channels, j + 1,
                         far_frame_column(t, j).numbers[0], s.pixels[j]);
            }
        }
        assert_string_equal(far_frame_column(t, pixels).levels[0], s.name);
        far_frame_destroy(t);
    }
    fclose(file);
    assert_int_equal(count, 20);
}

/* The byte that an input was, with the means and deviations that are the default. */
static double byte_of(const far_picture_opts *o, double value, int colour)
{
    return 255 * (value * o->sd[colour] + o->mean[colour]);
}

/* Shrunk, as large as it is and enlarged; PNG and JPEG; the same bytes. */
static void photographs_are_those_of_torchvision(void **state)
{
    FILE *file = fopen(TEST_DATA_DIR "/golden/photographs.txt", "r");
    char name[32];
    int shorter, side, count = 0;
    (void)state;
    assert_non_null(file);
    for (; fscanf(file, "%31s %d %d", name, &shorter, &side) == 3; count++) {
        double values[256];
        far_picture_opts o;
        far_picture_opts_init(&o);
        o.shorter = shorter;
        o.side = side;
        far_mat out = far_mat_view(values, 1, 3 * side * side, FAR_F64);
        put(name, name);
        far_status st = far_picture_read(ctx, name, &o, &out);
        unlink(name);
        bool skipped = cannot(st);
        assert_true(skipped || st == FAR_OK);
        for (int k = 0; k < 3 * side * side; k++) {
            double wanted, got = byte_of(&o, values[k], k / (side * side));
            assert_int_equal(fscanf(file, "%lf", &wanted), 1);
            if (!skipped && !(fabs(got - wanted) < 1e-9)) {
                fail_msg("%s, %d to %d: number %d is %g, not %g", name, shorter, side, k, got,
                         wanted);
            }
        }
    }
    fclose(file);
    assert_int_equal(count, 12);
}

static void make_classes(void)
{
    mkdir("set", 0777);
    mkdir("set/b", 0777);
    mkdir("set/a c", 0777);
    mkdir("set/.hidden", 0777);
    write_text("set/LICENCE.txt", "free");
    put("set/b/2.png", "grey.png");
    put("set/b/10.png", "rgb.png");
    put("set/a c/x.PNG", "interlaced.png");
}

static void clear_classes(void)
{
    static const char *const FILES[] = {"set/LICENCE.txt", "set/b/2.png", "set/b/10.png",
                                        "set/a c/x.PNG",   "set/bad.png", "set/b/bad.png"};
    for (int i = 0; i < COUNT(FILES); i++) {
        unlink(FILES[i]);
    }
    rmdir("set/b/deep");
    rmdir("set/b");
    rmdir("set/a c");
    rmdir("set/empty");
    rmdir("set/.hidden");
    rmdir("set");
}

static const char *word(const far_frame *t, int64_t row, const char *name)
{
    int64_t col;
    must(far_frame_find(ctx, t, name, &col));
    far_column_info c = far_frame_column(t, col);
    return c.levels[c.codes[row]];
}

/* A grey picture among coloured ones has three equal colours. */
static void folders_are_classes(void **state)
{
    far_frame *t = NULL;
    (void)state;
    make_classes();
    far_status st = read_folder("set", NULL, &t);
    clear_classes();
    if (cannot(st)) {
        skip();
    }
    must(st);
    assert_int_equal(far_frame_rows(t), 3);
    assert_int_equal(far_frame_cols(t), 3 * 35 + 2);
    assert_string_equal(word(t, 0, "file"), "a c/x.PNG");
    assert_string_equal(word(t, 0, "label"), "a c");
    assert_string_equal(word(t, 1, "file"), "b/10.png");
    assert_string_equal(word(t, 2, "file"), "b/2.png");
    assert_string_equal(word(t, 2, "label"), "b");
    for (int j = 0; j < 35; j++) {
        double red = far_frame_column(t, j).numbers[2];
        assert_true(red == far_frame_column(t, 35 + j).numbers[2]);
        assert_true(red == far_frame_column(t, j).numbers[0]); /* it was the red of the others */
    }
    far_frame_destroy(t);
}

static void refuses(const char *path, const char *sample_name, size_t size, const char *arch,
                    const char *message)
{
    far_frame *t;
    make_classes();
    if (sample_name) {
        sample s = find_sample(sample_name);
        write_file(path, s.data, size && size < s.size ? size : s.size);
    } else {
        write_text(path, "text");
    }
    far_status st = read_folder("set", arch, &t);
    clear_classes();
    assert_true(st != FAR_OK);
    assert_null(t);
    if (!cannot(st)) {
        assert_message(message);
    }
}

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    refuses("set/b/bad.png", NULL, 0, NULL,
            "set/b/bad.png: is neither a PNG nor a JPEG picture, whatever its name says");
    refuses("set/b/bad.png", "rgb.png", 99, NULL, "set/b/bad.png: is no whole PNG: ");
    refuses("set/b/bad.png", "half.JPEG", 660, NULL, "set/b/bad.png: is no whole JPEG: ");
    refuses("set/b/bad.png", "half.JPEG", 20, NULL, "set/b/bad.png: is no whole JPEG: it ends");
    refuses("set/bad.png", "rgb.png", 0, NULL, "set/bad.png: lies beside the folders of the");
    refuses("set/b/bad.png", "rgb.png", 0, "image(3x5x7) dense(1)",
            "x.PNG: has 5 x 7 pixels, but image(3x5x7) takes 7 x 5; scale the pictures");
    refuses("set/b/bad.png", "rgb.png", 0, "image(2x7x5) dense(1)",
            "image(2x7x5) has 2 channels; pictures have 1 or 3");
    make_classes();
    mkdir("set/empty", 0777);
    far_frame *t;
    refused(read_folder("set", NULL, &t), FAR_ERR_FORMAT, "set/empty: holds no pictures of its");
    rmdir("set/empty");
    mkdir("set/b/deep", 0777);
    refused(read_folder("set", NULL, &t), FAR_ERR_FORMAT, "set/b/deep: is a folder inside the");
    clear_classes();
    mkdir("set", 0777);
    refused(read_folder("set", NULL, &t), FAR_ERR_FORMAT, "set: holds no pictures");
    clear_classes();
}

static far_status read_classes(void)
{
    far_frame *t = NULL;
    far_status st = read_folder("set", NULL, &t);
    far_frame_destroy(t);
    return st;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    make_classes();
    if (!cannot(read_classes())) {
        fail_every_allocation(read_classes);
    }
    clear_classes();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pixels_are_those_of_pillow), TEST(photographs_are_those_of_torchvision),
        TEST(folders_are_classes),        TEST(what_is_wrong_is_named),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
