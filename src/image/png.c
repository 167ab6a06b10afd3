/* PNG through libpng, whatever its depth and colours: 8 bits of grey or of red, green and blue. */
#include "image_internal.h"

#include <png.h>
#include <string.h>

#define MAX_DEFLATE_RATIO 1032 /* deflate cannot do better */

/* libpng's own memory, a few rows, is not the context's. */
static far_status read_pixels(const far_input *in, png_image *image, unsigned char *bytes)
{
    const png_color white = {255, 255, 255};
    if (!png_image_finish_read(image, &white, bytes, 0, NULL)) {
        return far_input_fail(in, FAR_ERR_FORMAT, "is no whole PNG: %s", image->message);
    }
    return FAR_OK;
}

/* A pixel takes a bit at least. */
static far_status check_size(const far_input *in, const png_image *image)
{
    double pixels = (double)image->width * image->height;
    if (pixels / 8 > (double)MAX_DEFLATE_RATIO * (double)in->size) {
        return far_input_fail(
            in, FAR_ERR_FORMAT,
            "is no whole PNG: claims %lld x %lld pixels, more than its %lld bytes "
            "can hold",
            (long long)image->width, (long long)image->height, (long long)in->size);
    }
    return FAR_OK;
}

far_status far_png_parse(const far_input *in, far_pixels *out)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    far_status st;
    if (!png_image_begin_read_from_memory(&image, in->data, (size_t)in->size)) {
        return far_input_fail(in, FAR_ERR_FORMAT, "is no PNG: %s", image.message);
    }
    bool grey = out->grey || !(image.format & PNG_FORMAT_FLAG_COLOR);
    image.format = grey ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
    image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB; /* else 16 bits would be taken for linear light */
    FAR_TRY(far_pixels_reserve(in, image.height, image.width, grey ? 1 : 3, out));
    FAR_TRY(check_size(in, &image));
    FAR_TRY(read_pixels(in, &image, out->bytes));
done:
    png_image_free(&image);
    return st;
}

bool far_png_is(const far_input *in)
{
    return in->size >= 8 && png_sig_cmp(in->data, 0, 8) == 0;
}
