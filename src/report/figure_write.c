/* Figures as texts and files. */
#define _GNU_SOURCE
#include "../data/data_internal.h"
#include "render.h"
#include "svg.h"

#include <string.h>
#include <strings.h>

far_status far_figure_svg(far_ctx *ctx, const far_figure *figure, far_theme theme, char **out)
{
    far_status st;
    far_sheet sheet = {0};
    far_text t = {.ctx = ctx};
    if (!out) {
        return far_fail(ctx, FAR_ERR_ARG, "out is NULL");
    }
    *out = NULL;
    FAR_TRY(far_figure_check(ctx, figure));
    if (theme < FAR_THEME_LIGHT || theme > FAR_THEME_PAGE) {
        return far_fail(ctx, FAR_ERR_ARG, "theme is %d, which is no far_theme", (int)theme);
    }
    sheet.ctx = ctx;
    FAR_TRY(far_sheet_layout(ctx, figure, &sheet));
    FAR_TRY(far_draw_sheet(&t, &sheet, theme));
    *out = t.data;
    t.data = NULL;
done:
    far_free(ctx, t.data);
    if (sheet.ctx) {
        far_sheet_clear(&sheet);
    }
    return st;
}

static bool ends_in(const char *path, const char *ending)
{
    size_t length = strlen(path), tail = strlen(ending);
    return length > tail && strcasecmp(path + length - tail, ending) == 0;
}

far_status far_figure_save(far_ctx *ctx, const far_figure *figure, const char *path)
{
    far_status st;
    char *text = NULL;
    FAR_TRY(far_figure_check(ctx, figure));
    if (!path) {
        return far_fail(ctx, FAR_ERR_ARG, "path is NULL");
    }
    if (ends_in(path, ".csv")) {
        FAR_TRY(far_figure_csv(ctx, figure, &text));
        FAR_TRY(far_output_save_text(ctx, path, text));
    } else if (ends_in(path, ".svg")) {
        FAR_TRY(far_figure_svg(ctx, figure, FAR_THEME_AUTO, &text));
        FAR_TRY(far_output_save_text(ctx, path, text));
    } else if (ends_in(path, ".png")) {
        FAR_TRY(far_figure_svg(ctx, figure, FAR_THEME_LIGHT, &text));
        FAR_TRY(far_render_png(ctx, text, figure->opts.width, figure->opts.height, path));
    } else {
        char shown[FAR_LABEL_BYTES];
        far_show_path(shown, sizeof shown, path);
        st = far_fail(ctx, FAR_ERR_ARG, "%s: figures are written as .svg, .png or .csv", shown);
    }
done:
    far_free(ctx, text);
    return st;
}
