/* PNG through libpng, whatever its depth and colours: 8 bits of grey. */
#include "image_internal.h"

#include <png.h>
#include <string.h>

/* libpng's own memory, a few rows, is not the context's. */
static far_status read_pixels(const far_input *in, png_image *image, unsigned char *bytes)
{
    const png_color white = {255, 255, 255};
    if (!png_image_finish_read(image, &white, bytes, 0, NULL)) {
        return far_input_fail(in, FAR_ERR_FORMAT, "is no whole PNG: %s", image->message);
    }
    return FAR_OK;
}

far_status far_png_parse(const far_input *in, far_grey *out)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    unsigned char *bytes = NULL;
    far_status st;
    if (!png_image_begin_read_from_memory(&image, in->data, (size_t)in->size)) {
        return far_input_fail(in, FAR_ERR_FORMAT, "is no PNG: %s", image.message);
    }
    image.format = PNG_FORMAT_GRAY;
    FAR_TRY(far_grey_reserve(in, image.height, image.width, out));
    FAR_TRY(far_alloc(in->ctx, out->rows * out->cols, &bytes));
    FAR_TRY(read_pixels(in, &image, bytes));
    for (int64_t i = 0; i < out->rows * out->cols; i++) {
        out->values[i] = (float)bytes[i] / 255;
    }
done:
    png_image_free(&image);
    far_free(in->ctx, bytes);
    return st;
}

bool far_png_is(const far_input *in)
{
    return in->size >= 8 && png_sig_cmp(in->data, 0, 8) == 0;
}
