/* Pictures in memory, before they become tables. */
#ifndef FAR_IMAGE_INTERNAL_H
#define FAR_IMAGE_INTERNAL_H

#include "../data/data_internal.h"

#include <farfield/image.h>

/* A picture with more pixels is a mistake or a trap. */
#define FAR_GREY_MOST ((int64_t)1 << 28)

/* Zero-initialise; free values. */
typedef struct far_grey {
    int64_t rows, cols;
    float *values; /* 0 is black, 1 is white; row 0 is the top */
} far_grey;

/* Room for rows x cols pixels; refuses none, and more than FAR_GREY_MOST. */
far_status far_grey_reserve(const far_input *in, int64_t rows, int64_t cols, far_grey *out);

bool far_png_is(const far_input *in);
far_status far_png_parse(const far_input *in, far_grey *out);
bool far_pgm_is(const far_input *in);
far_status far_pgm_parse(const far_input *in, far_grey *out);

/* Reads a file's content from memory; label stands for the path in messages. */
far_status far_image_parse_bytes(far_ctx *ctx, const char *label, const void *data, int64_t size,
                                 int64_t rows, int64_t cols, far_frame **out);

#endif
