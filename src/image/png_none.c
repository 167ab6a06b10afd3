/* In place of png.c, where there is no libpng to build with. */
#include "image_internal.h"

#include <string.h>

far_status far_png_parse(const far_input *in, far_pixels *out)
{
    (void)out;
    return far_input_fail(in, FAR_ERR_FORMAT,
                          "is a PNG, but this farfield was built without libpng; give it as PGM");
}

bool far_png_is(const far_input *in)
{
    return in->size >= 8 && memcmp(in->data, "\x89PNG\r\n\x1a\n", 8) == 0;
}
