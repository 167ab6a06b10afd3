/* Several figures as one. */
#include "figure_internal.h"

#include <math.h>

#define PANELS_MOST 400

void far_grid_opts_init(far_grid_opts *opts)
{
    *opts = (far_grid_opts){.size = sizeof *opts,
                            .width = NAN,
                            .height = NAN,
                            .font = FAR_FIGURE_FONT,
                            .shared_legend = 1};
}

static bool is_share(int share)
{
    return share >= FAR_SHARE_NONE && share <= FAR_SHARE_ALL;
}

static far_status check_panels(far_ctx *ctx, far_figure *const *figures, int64_t count)
{
    int64_t there = 0;
    for (int64_t i = 0; i < count; i++) {
        if (figures[i] && figures[i]->panels) {
            return far_fail(ctx, FAR_ERR_ARG, "figures[%lld] is a grid itself", (long long)i);
        }
        there += figures[i] != NULL;
    }
    return there > 0 ? FAR_OK : far_fail(ctx, FAR_ERR_ARG, "a grid of no figures");
}

static far_status check_grid(far_ctx *ctx, far_figure *const *figures, int64_t rows, int64_t cols,
                             const far_grid_opts *o)
{
    if (!figures || o->size != sizeof *o) {
        return far_fail(ctx, FAR_ERR_ARG, "figures is NULL or opts not initialised");
    }
    if (rows < 1 || cols < 1 || rows > PANELS_MOST || cols > PANELS_MOST ||
        rows * cols > PANELS_MOST) {
        return far_fail(ctx, FAR_ERR_SHAPE, "a grid of %lld x %lld; it has 1 to %d panels",
                        (long long)rows, (long long)cols, PANELS_MOST);
    }
    if (!is_share(o->share_x) || !is_share(o->share_y)) {
        return far_fail(ctx, FAR_ERR_ARG, "share_x or share_y is no far_share");
    }
    return check_panels(ctx, figures, rows * cols);
}

static far_figure_opts outer_opts(const far_grid_opts *o, int64_t rows, int64_t cols)
{
    far_figure_opts outer;
    far_figure_opts_init(&outer);
    outer.title = o->title;
    outer.x_label = o->x_label;
    outer.y_label = o->y_label;
    outer.description = o->description;
    outer.note = o->note;
    outer.width = isnan(o->width) ? 60 + 230 * (double)cols : o->width;
    outer.height = isnan(o->height) ? 70 + 190 * (double)rows : o->height;
    outer.font = o->font;
    return outer;
}

/* The panels are shared, not copied: a figure lives until neither its owner nor a grid holds it. */
far_status far_figure_grid(far_ctx *ctx, far_figure *const *figures, int64_t rows, int64_t cols,
                           const far_grid_opts *opts, far_figure **out)
{
    far_status st;
    far_figure *f = NULL;
    far_grid_opts chosen;
    if (!out) {
        return far_fail(ctx, FAR_ERR_ARG, "out is NULL");
    }
    *out = NULL;
    far_grid_opts_init(&chosen);
    if (opts) {
        chosen = *opts;
    }
    FAR_TRY(check_grid(ctx, figures, rows, cols, &chosen));
    far_figure_opts outer = outer_opts(&chosen, rows, cols);
    FAR_TRY(far_figure_create(ctx, &outer, &f));
    FAR_TRY(far_alloc(ctx, rows * cols, &f->panels));
    f->rows = rows;
    f->cols = cols;
    f->grid = chosen;
    for (int64_t i = 0; i < rows * cols; i++) {
        f->panels[i] = figures[i];
        if (figures[i]) {
            figures[i]->holders++;
        }
    }
done:
    FAR_HAND_OVER(f, out, far_figure_destroy);
    return st;
}
