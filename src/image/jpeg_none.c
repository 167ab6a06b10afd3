/* In place of jpeg.c, where there is no libjpeg-turbo to build with. */
#include "image_internal.h"

far_status far_jpeg_parse(const far_input *in, far_pixels *out)
{
    (void)out;
    return far_input_fail(
        in, FAR_ERR_FORMAT,
        "is a JPEG, but this farfield was built without libturbojpeg; give it as PNG");
}
