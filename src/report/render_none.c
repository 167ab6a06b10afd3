/* In place of render_rsvg.c where there is no librsvg. */
#include "../data/data_internal.h"
#include "render.h"

far_status far_render_check(far_ctx *ctx, const char *path)
{
    char shown[FAR_LABEL_BYTES];
    far_show_path(shown, sizeof shown, path);
    return far_fail(ctx, FAR_ERR_ARG,
                    "%s: this farfield was built without librsvg and writes no .png; save it as "
                    ".svg, or install librsvg2-dev and build again",
                    shown);
}

far_status far_render_png(far_ctx *ctx, const char *svg, const char *path)
{
    (void)svg;
    return far_render_check(ctx, path);
}
