/* PNG files through librsvg. */
#ifndef FAR_RENDER_H
#define FAR_RENDER_H

#include "../base/base_internal.h"

/* A picture of width x height px as a file, two pixels for each px. FAR_ERR_ARG where there is no
 * librsvg. */
far_status far_render_png(far_ctx *ctx, const char *svg, double width, double height,
                          const char *path);

#endif
