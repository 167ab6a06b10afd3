/*
 * farfield/image.h: a grey picture as a table of points.
 *
 * Networks that learn a picture map pixel coordinates to grey levels; far_net_train wants such
 * pairs as a table.
 */
#ifndef FARFIELD_IMAGE_H
#define FARFIELD_IMAGE_H

#include <farfield/frame.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A picture as rows x cols points with the columns x, y and grey. The points are a grid of [-1,
 * 1]^2, ends included: from the left (x = -1) to the right, row by row from the top (y = 1). grey
 * is -1 for black and 1 for white, the mean over the part of the picture that the point stands for.
 * rows and cols: at least 2 and no more than the picture has; 0: as many as it has.
 *
 * PNG of any kind (colours become their luminance, what is transparent is white) and PGM (P2, P5),
 * each also gzipped; "-" is standard input. FAR_ERR_IO, FAR_ERR_FORMAT: the file cannot be read,
 * or is something else; a PNG where the library was built without libpng. FAR_ERR_SHAPE: the
 * picture is smaller than the grid. */
FAR_API FAR_NODISCARD far_status far_image_read(far_ctx *ctx, const char *path, int64_t rows,
                                                int64_t cols, far_frame **out);

#ifdef __cplusplus
}
#endif
#endif
