/* Pictures as tables: formats, means over boxes, places, and what is refused. */
#include "measure_fixture.h"

#include "../../src/image/image_internal.h"

#include <zlib.h>

static far_frame *read_bytes(const void *data, int64_t size, int64_t rows, int64_t cols)
{
    far_frame *t;
    OK(far_image_parse_bytes(ctx, "picture", data, size, rows, cols, &t));
    return t;
}

static far_frame *read_text(const char *text, int64_t rows, int64_t cols)
{
    return read_bytes(text, (int64_t)strlen(text), rows, cols);
}

static double at(const far_frame *t, int64_t i, int64_t j)
{
    return far_frame_column(t, j).numbers[i];
}

#define STEPS "P2\n# a comment\n3 2\n4\n0 1 2\n# one more\n3 4 0\n"

static void points_go_from_the_top_left(void **state)
{
    static const double wanted[6][3] = {{-1, 1, -1},   {0, 1, -0.5}, {1, 1, 0},
                                        {-1, -1, 0.5}, {0, -1, 1},   {1, -1, -1}};
    far_frame *t = read_text(STEPS, 0, 0);
    (void)state;
    assert_int_equal(far_frame_rows(t), 6);
    assert_string_equal(far_frame_column(t, 0).name, "x");
    assert_string_equal(far_frame_column(t, 1).name, "y");
    assert_string_equal(far_frame_column(t, 2).name, "grey");
    for (int i = 0; i < 6; i++) {
        for (int j = 0; j < 3; j++) {
            assert_near(at(t, i, j), wanted[i][j], 1e-7);
        }
    }
    far_frame_destroy(t);
}

/* 3 pixels in 2 boxes: the one in the middle counts half in each. */
static void boxes_share_the_pixels_between_them(void **state)
{
    far_frame *t = read_text(STEPS, 2, 2);
    (void)state;
    assert_near(at(t, 0, 2), 2 * (0 + 0.25 / 2) / 1.5 - 1, 1e-7);
    assert_near(at(t, 1, 2), 2 * (0.25 / 2 + 0.5) / 1.5 - 1, 1e-7);
    assert_near(at(t, 3, 2), 2 * (1.0 / 2 + 0) / 1.5 - 1, 1e-7);
    far_frame_destroy(t);
}

static void the_mean_of_the_picture_is_kept(void **state)
{
    enum { COLS = 7, ROWS = 5 };
    unsigned char picture[16 + COLS * ROWS];
    int head = snprintf((char *)picture, 16, "P5 %d %d 255\n", COLS, ROWS);
    double wanted = 0, mean = 0;
    (void)state;
    for (int i = 0; i < COLS * ROWS; i++) {
        picture[head + i] = (unsigned char)(i * i % 256);
        wanted += (2 * picture[head + i] / 255.0 - 1) / (COLS * ROWS);
    }
    far_frame *t = read_bytes(picture, head + COLS * ROWS, 3, 4);
    assert_int_equal(far_frame_rows(t), 12);
    for (int i = 0; i < 12; i++) {
        mean += at(t, i, 2) / 12;
    }
    assert_near(mean, wanted, 1e-7);
    far_frame_destroy(t);
}

static void two_bytes_have_the_larger_first(void **state)
{
    static const unsigned char picture[] = "P5\n2 2\n1000\n\x03\xe8\0\0\x01\xf4\0\0";
    far_frame *t = read_bytes(picture, (int64_t)sizeof picture - 1, 0, 0);
    (void)state;
    assert_near(at(t, 0, 2), 1, 1e-7);
    assert_near(at(t, 1, 2), -1, 1e-7);
    assert_near(at(t, 2, 2), 0, 1e-7);
    far_frame_destroy(t);
}

/* 2 x 2 pixels of 8 bits: red, transparent black, half grey (128), white. */
static const unsigned char COLOURS[] = {
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52,
    0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x02, 0x08, 0x06, 0x00, 0x00, 0x00, 0x72, 0xb6, 0x0d,
    0x24, 0x00, 0x00, 0x00, 0x14, 0x49, 0x44, 0x41, 0x54, 0x78, 0xda, 0x63, 0xf8, 0xcf, 0xc0, 0x00,
    0x44, 0x40, 0xd0, 0xd0, 0xd0, 0xf0, 0x1f, 0x04, 0x00, 0x38, 0x64, 0x08, 0x7a, 0xfb, 0x24, 0x8d,
    0xa2, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};

static void colours_become_luminance(void **state)
{
    far_frame *t;
    far_status st = far_image_parse_bytes(ctx, "picture", COLOURS, sizeof COLOURS, 0, 0, &t);
    (void)state;
    if (st != FAR_OK && strstr(far_ctx_message(ctx), "without libpng")) {
        skip();
    }
    assert_int_equal(st, FAR_OK);
    double red = at(t, 0, 2);
    assert_true(red > -0.5 && red < 0.2); /* 0.2126 of linear light */
    assert_near(at(t, 1, 2), 1, 1e-7);    /* what is transparent is white */
    assert_near(at(t, 2, 2), 2 * 128 / 255.0 - 1, 0.01);
    assert_near(at(t, 3, 2), 1, 1e-7);
    far_frame_destroy(t);
}

static const struct {
    const char *text;
    int64_t rows, cols;
    far_status status;
    const char *message;
} REFUSED[] = {
    {"P6\n2 2\n255\nabcdabcdabcd", 0, 0, FAR_ERR_FORMAT, "neither a PNG nor a JPEG nor a PGM"},
    {"", 0, 0, FAR_ERR_FORMAT, "neither a PNG nor a JPEG nor a PGM"},
    {"P2\n", 0, 0, FAR_ERR_FORMAT, "its width is no number"},
    {"P2\n2 x", 0, 0, FAR_ERR_FORMAT, "its height is no number"},
    {"P2 2 2 70000 1 2 3 4", 0, 0, FAR_ERR_FORMAT, "its largest value is no number up to 65535"},
    {"P2 2 2 0 0 0 0 0", 0, 0, FAR_ERR_FORMAT, "its largest value is 0"},
    {"P2 2 2 9 1 2 3", 0, 0, FAR_ERR_FORMAT, "a pixel is no number"},
    {"P2 2 2 9 1 2 3 10", 0, 0, FAR_ERR_FORMAT, "a pixel is no number up to 9"},
    {"P5 2 2 255\nabc", 0, 0, FAR_ERR_FORMAT, "ends in its pixels"},
    {"P5 99999 99999 255\nabc", 0, 0, FAR_ERR_FORMAT, "ends in its pixels"},
    {"P5 999999999999 2 255\nabc", 0, 0, FAR_ERR_FORMAT, "its width is no number"},
    {"P5 0 2 255\nabc", 0, 0, FAR_ERR_FORMAT, "has no pixels"},
    {STEPS, 2, 4, FAR_ERR_SHAPE, "fewer than a grid of 4 x 2"},
    {STEPS, 3, 2, FAR_ERR_SHAPE, "has 3 x 2 pixels, fewer than a grid of 2 x 3"},
    {STEPS, 1, 3, FAR_ERR_SHAPE, "at least 2 x 2 points"},
    {"\x89PNG\r\n\x1a\n broken", 0, 0, FAR_ERR_FORMAT, "PNG"},
};

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(REFUSED); i++) {
        far_frame *t;
        far_status st =
            far_image_parse_bytes(ctx, "picture", REFUSED[i].text, (int64_t)strlen(REFUSED[i].text),
                                  REFUSED[i].rows, REFUSED[i].cols, &t);
        assert_int_equal(st, REFUSED[i].status);
        assert_null(t);
        assert_true(strncmp(far_ctx_message(ctx), "picture: ", 9) == 0);
        if (!strstr(far_ctx_message(ctx), REFUSED[i].message)) {
            fail_msg("%s: %s", REFUSED[i].text, far_ctx_message(ctx));
        }
    }
}

/* The sum of a chunk of a PNG: over its name and its bytes. */
static void set_png_sum(unsigned char *name, size_t bytes)
{
    uint32_t sum = (uint32_t)crc32(0, name, (uInt)(4 + bytes));
    for (int i = 0; i < 4; i++) {
        name[4 + bytes + (size_t)i] = (unsigned char)(sum >> (24 - 8 * i));
    }
}

static void damaged_pngs_are_refused(void **state)
{
    unsigned char png[sizeof COLOURS];
    far_frame *t;
    (void)state;
    far_status st = far_image_parse_bytes(ctx, "picture", COLOURS, sizeof COLOURS, 0, 0, &t);
    if (st != FAR_OK) {
        skip(); /* without libpng */
    }
    far_frame_destroy(t);
    memcpy(png, COLOURS, sizeof png);
    png[45] ^= 0xff; /* in the packed pixels */
    set_png_sum(png + 37, 20);
    st = far_image_parse_bytes(ctx, "picture", png, sizeof png, 0, 0, &t);
    assert_int_equal(st, FAR_ERR_FORMAT);
    assert_null(t);
    assert_non_null(strstr(far_ctx_message(ctx), "picture: is no whole PNG: "));
    memcpy(png, COLOURS, sizeof png);
    png[17] = png[21] = 1; /* 65538 x 65538 pixels */
    set_png_sum(png + 12, 13);
    st = far_image_parse_bytes(ctx, "picture", png, sizeof png, 0, 0, &t);
    assert_int_equal(st, FAR_ERR_FORMAT);
    assert_string_equal(far_ctx_message(ctx),
                        "picture: has 65538 x 65538 pixels; at most 268435456 are read");
}

static void arguments_are_checked(void **state)
{
    far_frame *t;
    (void)state;
    assert_int_equal(
        far_image_read(ctx, "", &(far_image_opts){sizeof(far_image_opts), 2, 2, NULL}, &t),
        FAR_ERR_ARG);
    assert_int_equal(
        far_image_read(ctx, NULL, &(far_image_opts){sizeof(far_image_opts), 2, 2, NULL}, &t),
        FAR_ERR_ARG);
    assert_int_equal(
        far_image_read(ctx, "x.pgm", &(far_image_opts){sizeof(far_image_opts), -1, 2, NULL}, &t),
        FAR_ERR_ARG);
    assert_int_equal(
        far_image_read(ctx, "x.pgm", &(far_image_opts){sizeof(far_image_opts), 2, -1, NULL}, &t),
        FAR_ERR_ARG);
    assert_int_equal(
        far_image_read(ctx, "x.pgm", &(far_image_opts){sizeof(far_image_opts), 2, 2, NULL}, NULL),
        FAR_ERR_ARG);
    assert_int_equal(far_image_read(ctx, "no/such.pgm",
                                    &(far_image_opts){sizeof(far_image_opts), 2, 2, NULL}, &t),
                     FAR_ERR_IO);
    assert_null(t);
}

static void every_allocation_may_fail(void **state)
{
    const void *const pictures[] = {STEPS, COLOURS};
    const int64_t sizes[] = {sizeof STEPS - 1, sizeof COLOURS};
    (void)state;
    for (int i = 0; i < 2; i++) {
        far_status st = FAR_ERR_MEMORY;
        far_frame *t = NULL;
        for (int64_t k = 0; st == FAR_ERR_MEMORY; k++) {
            int64_t before = test_heap.live_blocks;
            test_heap.calls = 0;
            test_heap.fail_at = k;
            st = far_image_parse_bytes(ctx, "picture", pictures[i], sizes[i], 2, 2, &t);
            test_heap.fail_at = -1;
            assert_true(st == FAR_OK || (!t && test_heap.live_blocks == before));
        }
        assert_true(st == FAR_OK || strstr(far_ctx_message(ctx), "without libpng"));
        far_frame_destroy(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(points_go_from_the_top_left),     TEST(boxes_share_the_pixels_between_them),
        TEST(the_mean_of_the_picture_is_kept), TEST(two_bytes_have_the_larger_first),
        TEST(colours_become_luminance),        TEST(what_is_wrong_is_named),
        TEST(arguments_are_checked),           TEST(every_allocation_may_fail),
        TEST(damaged_pngs_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
