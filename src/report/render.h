/* PNG files through librsvg. */
#ifndef FAR_RENDER_H
#define FAR_RENDER_H

#include "../base/base_internal.h"

/* FAR_ERR_ARG where there is no librsvg in this build. */
far_status far_render_check(far_ctx *ctx, const char *path);
/* Two pixels for each px. */
far_status far_render_png(far_ctx *ctx, const char *svg, const char *path);

#endif
