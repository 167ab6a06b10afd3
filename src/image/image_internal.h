/* Pictures in memory, before they become tables. */
#ifndef FAR_IMAGE_INTERNAL_H
#define FAR_IMAGE_INTERNAL_H

#include "../data/data_internal.h"

#include <farfield/image.h>

/* A picture with more pixels is a mistake or a trap. */
#define FAR_GREY_MOST ((int64_t)1 << 28)
/* One of many that a network takes whole: as many inputs, for each of its channels. */
#define FAR_PICTURE_MOST ((int64_t)1 << 24)

/* Zero-initialise; free values. */
typedef struct far_grey {
    int64_t rows, cols;
    float *values; /* 0 is black, 1 is white; row 0 is the top */
} far_grey;

/* 8 bits for each channel of a pixel, channels next to each other. What is transparent is white.
 * Zero-initialise, fill what is asked for, free bytes. */
typedef struct far_pixels {
    bool grey;          /* asked for: colours become their luminance */
    int64_t most;       /* asked for: no more pixels */
    const char *wanted; /* "image(3x32x32) takes"; NULL: any size will do, else rows x cols */
    int64_t rows, cols;
    int channels; /* 1 or 3 */
    unsigned char *bytes;
    int64_t room; /* bytes that are there, from one picture to the next */
} far_pixels;

/* Refuses pictures without pixels, with too many, and of another size than is wanted, before a byte
 * is decoded; then there is room. */
far_status far_grey_reserve(const far_input *in, int64_t rows, int64_t cols, far_grey *out);
far_status far_pixels_reserve(const far_input *in, int64_t rows, int64_t cols, int channels,
                              far_pixels *out);

bool far_png_is(const far_input *in);
far_status far_png_parse(const far_input *in, far_pixels *out);
bool far_jpeg_is(const far_input *in);
far_status far_jpeg_parse(const far_input *in, far_pixels *out);
bool far_pgm_is(const far_input *in);
far_status far_pgm_parse(const far_input *in, far_grey *out);
/* PNG or JPEG, by its first bytes. */
far_status far_pixels_parse(const far_input *in, far_pixels *out);

/* A folder of pictures, one row each. */
far_status far_pictures_read(far_ctx *ctx, const char *folder, const char *arch, far_frame **out);

/* Reads a file's content from memory; label stands for the path in messages. */
far_status far_image_parse_bytes(far_ctx *ctx, const char *label, const void *data, int64_t size,
                                 int64_t rows, int64_t cols, far_frame **out);

#endif
