/*
 * farfield/image.h: a grey picture as a table of points, or a folder of pictures as a table of
 * their pixels.
 *
 * Networks that learn a picture map pixel coordinates to grey levels, networks of images take them
 * whole; far_net_train wants either as a table.
 */
#ifndef FARFIELD_IMAGE_H
#define FARFIELD_IMAGE_H

#include <farfield/frame.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct far_image_opts {
    size_t size;        /* sizeof(far_image_opts); all other defaults are 0 */
    int64_t rows, cols; /* of a picture: the grid, at least 2 and no more than it has; 0: as many */
    const char *arch;   /* of a folder: the network that is to take the pictures; NULL: any */
} far_image_opts;

/* A picture as rows x cols points with the columns x, y and grey. The points are a grid of [-1,
 * 1]^2, ends included: from the left (x = -1) to the right, row by row from the top (y = 1). grey
 * is -1 for black and 1 for white, the mean over the part of the picture that the point stands for.
 * PNG of any kind (colours become their luminance, what is transparent is white), JPEG and PGM (P2,
 * P5), each also gzipped; "-" is standard input.
 *
 * A folder of PNG and JPEG pictures as a table of one row each, in the order of their names. Its
 * folders are classes, and the column label has their names; pictures in no such folder have no
 * label. file is where a picture lies in the folder ("cats/a.png"), and p1, p2, ... are its pixels
 * from 0 to 255: all of one colour, row by row from the top, then those of the next. Only they are
 * features where none are named. arch that begins with image(CxHxW) decides how many colours there
 * are (grey is 0.299 R + 0.587 G + 0.114 B) and which size; without, there
 * are colours where a picture has some, and all have the size of the first. 16
 * bits are rounded to 8. Names that begin with a dot do not count, nor do files beside the folders
 * of classes whose names are no pictures'.
 *
 * FAR_ERR_IO, FAR_ERR_FORMAT: a file cannot be read, is damaged, or is something else; a PNG or
 * JPEG where the library was built without libpng or libturbojpeg; JPEG with the colours of print
 * (CMYK); more than 2^28 pixels, of one in a folder more than 2^24. FAR_ERR_SHAPE: a picture is
 * smaller than the grid, or of another size than the others or the network. opts NULL: the
 * defaults. */
FAR_API FAR_NODISCARD far_status far_image_read(far_ctx *ctx, const char *path,
                                                const far_image_opts *opts, far_frame **out);

/* How one photograph becomes the inputs of a network that was trained on such. */
typedef struct far_picture_opts {
    size_t size;           /* set by far_picture_opts_init */
    int64_t shorter;       /* pixels that the shorter side is scaled to; default 256 */
    int64_t side;          /* of the square cut out of the middle, at most shorter; default 224 */
    double mean[3], sd[3]; /* of red, green and blue from 0 to 1; defaults: those of ImageNet */
} far_picture_opts;

FAR_API void far_picture_opts_init(far_picture_opts *opts);

/* A PNG or JPEG as a row of 3 side side numbers: all reds row by row from the top, then greens and
 * blues (three equal ones where it is grey), (v / 255 - mean) / sd each. These are torchvision's
 * Resize(shorter), CenterCrop(side), ToTensor() and Normalize(mean, sd) of a Pillow image: bilinear
 * with antialiasing, the same bytes before they are normalised. out: 1 x (3 side side), float64 or
 * float32. Errors as of far_image_read, and FAR_ERR_SHAPE: one side is more than 100 times the
 * other. */
FAR_API FAR_NODISCARD far_status far_picture_read(far_ctx *ctx, const char *path,
                                                  const far_picture_opts *opts, far_mat *out);

#ifdef __cplusplus
}
#endif
#endif
