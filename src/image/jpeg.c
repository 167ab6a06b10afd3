/* JPEG through libjpeg-turbo: grey or red, green and blue, also progressive. */
#include "image_internal.h"

#include <turbojpeg.h>

/* Exact, so that a picture has the same values on every machine; what is cut off or damaged fails,
 * and so do more passes over the picture than are sane. */
#define FLAGS (TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS)

static far_status fail_jpeg(const far_input *in, tjhandle jpeg, const char *what)
{
    return far_input_fail(in, FAR_ERR_FORMAT, "is no %s: %s", what, tjGetErrorStr2(jpeg));
}

static far_status decode(const far_input *in, tjhandle jpeg, far_pixels *out)
{
    int cols = 0, rows = 0, subsampling, colours = TJCS_RGB;
    far_status st;
    unsigned long size = (unsigned long)in->size;
    if (tjDecompressHeader3(jpeg, in->data, size, &cols, &rows, &subsampling, &colours) != 0) {
        return fail_jpeg(in, jpeg, "JPEG");
    }
    if (rows == 0 || cols == 0) { /* tables may stand alone, for other files */
        return far_input_fail(in, FAR_ERR_FORMAT, "is no whole JPEG: it ends before its picture");
    }
    if (colours == TJCS_CMYK || colours == TJCS_YCCK) {
        return far_input_fail(in, FAR_ERR_FORMAT,
                              "has the colours of print (CMYK); convert it to RGB first");
    }
    bool grey = out->grey || colours == TJCS_GRAY;
    FAR_TRY(far_pixels_reserve(in, rows, cols, grey ? 1 : 3, out));
    if (tjDecompress2(jpeg, in->data, size, out->bytes, cols, 0, rows, grey ? TJPF_GRAY : TJPF_RGB,
                      FLAGS) != 0) {
        st = fail_jpeg(in, jpeg, "whole JPEG");
    }
done:
    return st;
}

far_status far_jpeg_parse(const far_input *in, far_pixels *out)
{
    tjhandle jpeg = tjInitDecompress();
    if (!jpeg) {
        return far_input_fail(in, FAR_ERR_MEMORY, "out of memory for a JPEG");
    }
    far_status st = decode(in, jpeg, out);
    tjDestroy(jpeg);
    return st;
}
