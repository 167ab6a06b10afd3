/* Images drawn anew for every step: what they become, how often, and that training with them
 * repeats itself to the bit. */
#define _GNU_SOURCE
#include "measure_fixture.h"

#include "../../src/net/train_internal.h"

#include <farfield/columns.h>

/* 2 channels of 3 x 5 pixels. */
enum { CHANNELS = 2, ROWS = 3, COLS = 5, PIXELS = CHANNELS * ROWS * COLS, IMAGES = 13 };
#define ARCH "image(2x3x5) conv(3, 3, pad=1) relu flatten dense(1)"

static void pixels_go_where_they_should(void **state)
{
    const far_augment a = {.channels = CHANNELS, .rows = ROWS, .cols = COLS};
    double image[PIXELS], black[PIXELS], seen[PIXELS];
    (void)state;
    for (int i = 0; i < PIXELS; i++) {
        image[i] = i + 1;
        black[i] = -i - 1;
    }
    far_augment_apply(&a, (far_view){.flip = true}, black, image, sizeof *image, seen);
    for (int i = 0; i < PIXELS; i++) {
        assert_true(seen[i] == image[i / COLS * COLS + COLS - 1 - i % COLS]);
    }
    far_augment_apply(&a, (far_view){.flip = true, .down = -1, .right = 2}, black, image,
                      sizeof *image, seen);
    for (int i = 0; i < PIXELS; i++) { /* cut out first, mirrored then */
        int y = i / COLS % ROWS - 1, x = COLS - 1 - i % COLS + 2;
        bool inside = y >= 0 && x < COLS;
        assert_true(seen[i] ==
                    (inside ? image[i / COLS / ROWS * ROWS * COLS + y * COLS + x] : black[i]));
    }
}

/* Every place of a crop, and either side, equally often: within 5 standard deviations. */
static void draws_are_even(void **state)
{
    enum { PAD = 4, PLACES = 2 * PAD + 1, DRAWS = 40500 };
    const far_augment a = {.flip = true, .pad = PAD};
    int counts[2][PLACES][PLACES] = {0}, same = 0;
    (void)state;
    for (int i = 0; i < DRAWS; i++) {
        far_view v = far_augment_draw(&a, 7, i / 500, i % 500);
        far_view other = far_augment_draw(&a, 7, i / 500 + 1, i % 500);
        assert_true(v.down >= -PAD && v.down <= PAD && v.right >= -PAD && v.right <= PAD);
        counts[v.flip][v.down + PAD][v.right + PAD]++;
        same += v.flip == other.flip && v.down == other.down && v.right == other.right;
    }
    double mean = DRAWS / (2.0 * PLACES * PLACES);
    for (int i = 0; i < 2 * PLACES * PLACES; i++) {
        assert_near((&counts[0][0][0])[i], mean, 5 * sqrt(mean));
    }
    assert_near(same, mean, 5 * sqrt(mean)); /* epochs do not repeat each other */
}

/* ---- training ---- */

static double images[IMAGES * PIXELS], targets[IMAGES];

static void make_images(void)
{
    fill_noise(images, IMAGES * PIXELS, 3);
    fill_noise(targets, IMAGES, 4);
}

static far_net *draw_net(void)
{
    far_net *net;
    far_net_opts o;
    far_net_opts_init(&o);
    o.inputs = PIXELS;
    OK(far_net_create(ctx, ARCH, &o, &net));
    return net;
}

static far_train_opts options(const char *augment, int64_t epochs, int64_t batch)
{
    far_train_opts o;
    far_train_opts_init(&o);
    o.epochs = epochs;
    o.batch = batch;
    o.augment = augment;
    o.seed = 5;
    return o;
}

static far_status train(far_net *net, const far_train_opts *o, far_train_result *r)
{
    far_mat x = mat(images, IMAGES, PIXELS), y = mat(targets, IMAGES, 1);
    return far_net_train(ctx, net, &x, &y, o, r);
}

static bool same_params(const far_net *a, const far_net *b)
{
    return memcmp(a->params, b->params, (size_t)a->info.parameters * sizeof *a->params) == 0;
}

/* Also where all rows are one batch; the losses of the end are over the images as they are. */
static void steps_see_other_images(void **state)
{
    (void)state;
    make_images();
    for (int64_t batch = 0; batch < 8; batch += 4) {
        far_train_opts o = options("flip, crop(2)", 3, batch), plain = options(NULL, 3, batch);
        far_train_opts look = options(NULL, 0, batch);
        far_train_result r, seen;
        far_net *a = draw_net(), *b = draw_net();
        OK(train(a, &o, &r));
        OK(train(b, &plain, NULL));
        assert_false(same_params(a, b));
        OK(train(a, &look, &seen));
        assert_true(r.final_loss == seen.final_loss);
        far_net_destroy(a);
        far_net_destroy(b);
    }
}

static void a_resumed_run_goes_on_with_them(void **state)
{
    far_net *whole = draw_net(), *parts = draw_net();
    far_train_opts o = options("flip,crop(1)", 6, 4);
    (void)state;
    make_images();
    OK(train(whole, &o, NULL));
    o.checkpoint = "run.checkpoint";
    o.epochs = 2;
    o.keep_checkpoint = 1;
    OK(train(parts, &o, NULL));
    o.epochs = 6;
    o.resume = 1;
    o.augment = "flip";
    refused(train(parts, &o, NULL), FAR_ERR_FORMAT, "augment was flip,crop(1), and is flip now");
    o.augment = " flip ,crop(1)";
    o.keep_checkpoint = 0;
    OK(train(parts, &o, NULL));
    assert_true(same_params(whole, parts));
    far_net_destroy(whole);
    far_net_destroy(parts);
}

/* A border around a black image changes nothing, wherever scaling has put black. */
static void the_border_is_black_before_scaling(void **state)
{
    enum { WIDE = PIXELS + 1 }; /* the last is the target */
    double raw[3 * WIDE] = {0}, x[PIXELS], y = 1;
    far_frame *frame;
    far_examples *e;
    far_columns_opts c;
    (void)state;
    for (int i = WIDE; i < 3 * WIDE; i++) {
        raw[i] = 90 + i;
    }
    far_mat table = mat(raw, 3, WIDE), one = mat(x, 1, PIXELS), target = mat(&y, 1, 1);
    OK(far_frame_from_mat(ctx, &table, NULL, &frame));
    far_columns_opts_init(&c);
    c.arch = ARCH;
    c.target = "c31";
    OK(far_examples_learn(ctx, frame, &c, &e));
    OK(far_columns_encode(ctx, e->columns, frame, (const unsigned char[]){1, 0, 0}, &one));
    assert_true(x[0] < -1 && x[0] == x[PIXELS - 1]);
    far_net *a = draw_net(), *b = draw_net();
    OK(far_net_set_columns(ctx, a, e->columns));
    OK(far_net_set_columns(ctx, b, e->columns));
    far_train_opts o = options("crop(3)", 5, 0), plain = options(NULL, 5, 0);
    OK(far_net_train(ctx, a, &one, &target, &o, NULL));
    OK(far_net_train(ctx, b, &one, &target, &plain, NULL));
    assert_true(same_params(a, b));
    far_net_destroy(a);
    far_net_destroy(b);
    far_examples_destroy(e);
    far_frame_destroy(frame);
}

static void what_is_wrong_is_named(void **state)
{
    static const char *const WRONG[][2] = {
        {"", "`augment` is a list of flip and crop(4), each once at most, not ''"},
        {"flip,", "not ''"},
        {"rotate", "not 'rotate'"},
        {"crop", "not 'crop'"},
        {"crop(0)", "not 'crop(0)'"},
        {"crop(1", "not 'crop(1'"},
        {"crop(1)x", "not 'crop(1)x'"},
        {"flip,flip", "names flip twice"},
        {"crop(1),crop(2)", "names crop twice"},
        {"crop(4)", "crop(4) is wider than the images, which have 5 x 3 pixels"},
    };
    far_net *net = draw_net(), *dense;
    far_net_opts how;
    (void)state;
    make_images();
    for (int i = 0; i < COUNT(WRONG); i++) {
        far_train_opts o = options(WRONG[i][0], 1, 0);
        refused(train(net, &o, NULL), FAR_ERR_ARG, WRONG[i][1]);
    }
    far_net_opts_init(&how);
    how.inputs = PIXELS;
    OK(far_net_create(ctx, "dense(1)", &how, &dense));
    far_train_opts o = options("crop(1)", 1, 0);
    refused(train(dense, &o, NULL), FAR_ERR_ARG, "crop is for images, but the network begins with");
    far_net_destroy(net);
    far_net_destroy(dense);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pixels_go_where_they_should),
        TEST(draws_are_even),
        TEST(steps_see_other_images),
        TEST(a_resumed_run_goes_on_with_them),
        TEST(the_border_is_black_before_scaling),
        TEST(what_is_wrong_is_named),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
