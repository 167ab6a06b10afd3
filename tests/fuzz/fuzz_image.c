/* Any bytes as a picture: either a table of places and greys in [-1, 1], or a message of one line
 * that starts with the name; and as one of many, of any size or of one that is wanted. */
#define _GNU_SOURCE
#include "../../src/image/image_internal.h"

#include "fuzz.h"

static void check_frame(const far_frame *f, int64_t side)
{
    int64_t rows = far_frame_rows(f);
    require(far_frame_cols(f) == 3 && rows >= 4, "there are places and greys");
    require(side == 0 || rows == side * side, "as many as asked for");
    for (int64_t i = 0; i < rows * 3; i++) {
        require(fabs(far_frame_column(f, i % 3).numbers[i / 3]) <= 1, "every number is at most 1");
    }
}

static void check_side(far_ctx *ctx, const uint8_t *data, size_t size, int64_t side)
{
    far_frame *f;
    if (far_image_parse_bytes(ctx, "fuzz", data, (int64_t)size, side, side, &f) == FAR_OK) {
        check_frame(f, side);
        far_frame_destroy(f);
    } else {
        require(!f, "there is no table after a failure");
        check_message(far_ctx_message(ctx));
    }
}

/* wanted: only pictures of 7 x 5 pixels. */
static void check_pixels(far_ctx *ctx, const uint8_t *data, size_t size, const char *wanted)
{
    far_input in = {.ctx = ctx};
    far_pixels p = {.most = FAR_PICTURE_MOST, .wanted = wanted, .rows = 7, .cols = 5};
    if (far_input_copy(ctx, "fuzz", data, (int64_t)size, &in) == FAR_OK &&
        far_pixels_parse(&in, &p) == FAR_OK) {
        unsigned sum = 0; /* every byte is there */
        for (int64_t i = 0; i < p.rows * p.cols * p.channels; i++) {
            sum += p.bytes[i];
        }
        require(sum <= 255u * (unsigned)(p.rows * p.cols * p.channels), "bytes are at most 255");
        require(!wanted || (p.rows == 7 && p.cols == 5), "it has the size that was asked for");
    } else {
        check_message(far_ctx_message(ctx));
    }
    far_input_clear(&in);
    far_free(ctx, p.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    far_ctx *ctx;
    if (far_ctx_create(NULL, &ctx) != FAR_OK) {
        return 0;
    }
    check_side(ctx, data, size, 0);
    check_side(ctx, data, size, 2);
    check_pixels(ctx, data, size, NULL);
    check_pixels(ctx, data, size, "image(3x7x5) takes");
    far_ctx_destroy(ctx);
    return 0;
}
