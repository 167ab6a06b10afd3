/* Figures: their options, and their end. */
#include "figure_internal.h"

#include "axis.h"

#include <string.h>

static bool given(double limit)
{
    return !isnan(limit);
}

void far_figure_opts_init(far_figure_opts *opts)
{
    *opts = (far_figure_opts){.size = sizeof *opts,
                              .width = FAR_FIGURE_WIDTH,
                              .height = FAR_FIGURE_HEIGHT,
                              .font = FAR_FIGURE_FONT,
                              .x_min = NAN,
                              .x_max = NAN,
                              .y_min = NAN,
                              .y_max = NAN,
                              .x_linear = NAN,
                              .y_linear = NAN,
                              .frame_seconds = 1.5};
}

/* ---- checks ---- */

far_status far_figure_check(far_ctx *ctx, const far_figure *figure)
{
    return figure ? FAR_OK : far_fail(ctx, FAR_ERR_ARG, "figure is NULL");
}

static far_status check_limits(far_ctx *ctx, char axis, int scale, double low, double high,
                               double linear)
{
    if (scale < FAR_SCALE_LINEAR || scale > FAR_SCALE_SYMLOG) {
        return far_fail(ctx, FAR_ERR_ARG, "%c_scale is %d, which is no far_scale", axis, scale);
    }
    if ((given(low) && !far_scale_shows(scale, low)) ||
        (given(high) && !far_scale_shows(scale, high))) {
        return far_fail(ctx, FAR_ERR_ARG, "%c_min, %c_max: limits are finite%s", axis, axis,
                        scale == FAR_SCALE_LOG ? ", and above 0 on a log axis" : "");
    }
    if (given(low) && given(high) && !(high - low > 1e-10 * fmax(fabs(low), fabs(high)))) {
        return far_fail(ctx, FAR_ERR_ARG, "%c_min is %g and %c_max is %g: limits ascend", axis, low,
                        axis, high);
    }
    if (given(linear) && !(linear > 1e-300 && linear < FAR_VALUE_MOST)) {
        return far_fail(ctx, FAR_ERR_ARG, "%c_linear is %g; it is positive, or NAN", axis, linear);
    }
    return FAR_OK;
}

static bool within(double value, double low, double high)
{
    return value >= low && value <= high;
}

static far_status check_categories(far_ctx *ctx, const far_figure_opts *o)
{
    if (o->category_count < 0 || (o->category_count > 0 && !o->categories)) {
        return far_fail(ctx, FAR_ERR_ARG, "categories is NULL, or category_count negative");
    }
    if (o->category_count > 0 && o->x_scale != FAR_SCALE_LINEAR) {
        return far_fail(ctx, FAR_ERR_ARG, "categories stand on a linear x axis only");
    }
    for (int64_t i = 0; i < o->category_count; i++) {
        if (!o->categories[i]) {
            return far_fail(ctx, FAR_ERR_ARG, "categories[%lld] is NULL", (long long)i);
        }
    }
    return FAR_OK;
}

static far_status check_opts(far_ctx *ctx, const far_figure_opts *o)
{
    far_status st;
    if (o->size != sizeof *o) {
        return far_fail(ctx, FAR_ERR_ARG, "opts not initialised; call far_figure_opts_init first");
    }
    if (!within(o->width, 160, 10000) || !within(o->height, 120, 10000) ||
        !within(o->font, 6, 100)) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "a figure of %g x %g px with letters of %g px; width is 160 to 10000, "
                        "height 120 to 10000, font 6 to 100",
                        o->width, o->height, o->font);
    }
    if (o->frames < 0 || o->frames > 10000 || !within(o->frame_seconds, 0.05, 60)) {
        return far_fail(ctx, FAR_ERR_ARG, "frames are 0 to 10000, of 0.05 to 60 seconds");
    }
    if (o->legend < FAR_LEGEND_AUTO || o->legend > FAR_LEGEND_BELOW) {
        return far_fail(ctx, FAR_ERR_ARG, "legend is %d, which is no far_legend", o->legend);
    }
    FAR_TRY(check_limits(ctx, 'x', o->x_scale, o->x_min, o->x_max, o->x_linear));
    FAR_TRY(check_limits(ctx, 'y', o->y_scale, o->y_min, o->y_max, o->y_linear));
    FAR_TRY(check_categories(ctx, o));
done:
    return st;
}

/* ---- texts ---- */

far_status far_keep_text(far_ctx *ctx, const char *text, const char **slot)
{
    char *copy = NULL;
    far_status st = text ? far_copy_text(ctx, text, (int64_t)strlen(text), &copy) : FAR_OK;
    *slot = copy;
    return st;
}

static far_status keep_categories(far_figure *f, const far_figure_opts *o)
{
    const char **names = NULL;
    if (o->category_count == 0) {
        return FAR_OK;
    }
    far_status st = far_alloc(f->ctx, o->category_count, &names);
    f->opts.categories = names;
    for (int64_t i = 0; st == FAR_OK && i < o->category_count; i++) {
        st = far_keep_text(f->ctx, o->categories[i], &names[i]);
        f->opts.category_count = i + 1;
    }
    return st;
}

static far_status keep_opts(far_figure *f, const far_figure_opts *o)
{
    far_status st;
    f->opts = *o;
    f->opts.title = f->opts.x_label = f->opts.y_label = f->opts.description = f->opts.note = NULL;
    f->opts.categories = NULL;
    f->opts.category_count = 0;
    FAR_TRY(far_keep_text(f->ctx, o->title, &f->opts.title));
    FAR_TRY(far_keep_text(f->ctx, o->x_label, &f->opts.x_label));
    FAR_TRY(far_keep_text(f->ctx, o->y_label, &f->opts.y_label));
    FAR_TRY(far_keep_text(f->ctx, o->description, &f->opts.description));
    FAR_TRY(far_keep_text(f->ctx, o->note, &f->opts.note));
    FAR_TRY(keep_categories(f, o));
done:
    return st;
}

/* ---- life ---- */

far_status far_figure_create(far_ctx *ctx, const far_figure_opts *opts, far_figure **out)
{
    far_status st;
    far_figure *f = NULL;
    far_figure_opts chosen;
    if (!out) {
        return far_fail(ctx, FAR_ERR_ARG, "out is NULL");
    }
    *out = NULL;
    far_figure_opts_init(&chosen);
    if (opts) {
        chosen = *opts;
    }
    FAR_TRY(check_opts(ctx, &chosen));
    FAR_TRY(far_alloc(ctx, 1, &f));
    *f = (far_figure){.ctx = ctx, .holders = 1, .rows = 1, .cols = 1};
    FAR_TRY(keep_opts(f, &chosen));
done:
    FAR_HAND_OVER(f, out, far_figure_destroy);
    return st;
}

static void free_opts(far_ctx *ctx, far_figure_opts *o)
{
    for (int64_t i = 0; i < o->category_count; i++) {
        far_free(ctx, (void *)o->categories[i]);
    }
    FAR_FREE_ALL(ctx, (void *)o->categories, (void *)o->title, (void *)o->x_label,
                 (void *)o->y_label, (void *)o->description, (void *)o->note);
}

void far_mark_clear(far_ctx *ctx, far_mark *layer)
{
    far_free(ctx, layer->label);
    for (int i = 0; i < FAR_COLUMNS; i++) {
        far_free(ctx, layer->column[i]);
    }
}

void far_figure_destroy(far_figure *f)
{
    if (!f || --f->holders > 0) {
        return;
    }
    for (int64_t i = 0; f->panels && i < f->rows * f->cols; i++) {
        far_figure_destroy(f->panels[i]);
    }
    far_free(f->ctx, f->panels);
    for (int64_t i = 0; i < f->layer_count; i++) {
        far_mark_clear(f->ctx, &f->layers[i]);
    }
    far_free(f->ctx, f->layers);
    free_opts(f->ctx, &f->opts);
    far_free(f->ctx, f);
}

const far_figure *far_figure_panel(const far_figure *f, int64_t i)
{
    return f->panels ? f->panels[i] : f;
}
