/* Layers: what is drawn in a figure, checked and copied. */
#include "figure_internal.h"

#include "axis.h"

#include <string.h>

const char *far_mark_name(int kind)
{
    static const char *const NAMES[FAR_MARK_KINDS] = {"heat", "band",   "histogram", "bars",
                                                      "rule", "points", "line",      "text"};
    return NAMES[kind];
}

void far_mark_opts_init(far_mark_opts *mark)
{
    *mark = (far_mark_opts){
        .size = sizeof *mark, .colour = FAR_COLOUR_NEXT, .width = NAN, .opacity = NAN, .frame = -1};
}

void far_heat_opts_init(far_heat_opts *opts)
{
    *opts = (far_heat_opts){.size = sizeof *opts,
                            .x_min = NAN,
                            .x_max = NAN,
                            .y_min = NAN,
                            .y_max = NAN,
                            .linear = NAN,
                            .value_min = NAN,
                            .value_max = NAN};
}

/* ---- checks ---- */

static far_status check_target(far_ctx *ctx, const far_figure *f, const char *what)
{
    if (!f) {
        return far_fail(ctx, FAR_ERR_ARG, "%s: figure is NULL", what);
    }
    if (f->panels) {
        return far_fail(ctx, FAR_ERR_ARG, "%s: a grid has no layers; add it to one of its figures",
                        what);
    }
    return FAR_OK;
}

static far_status check_count(far_ctx *ctx, int64_t n, const char *what)
{
    return n > 0 ? FAR_OK
                 : far_fail(ctx, FAR_ERR_SHAPE, "%s: no values (n is %lld)", what, (long long)n);
}

static far_status check_mark(far_ctx *ctx, const far_mark_opts *m, const char *what)
{
    if (m->size != sizeof *m) {
        return far_fail(ctx, FAR_ERR_ARG, "%s: mark not initialised; call far_mark_opts_init first",
                        what);
    }
    if (m->colour < FAR_COLOUR_INK || m->colour > 10000) {
        return far_fail(ctx, FAR_ERR_ARG, "%s: colour is %d; it is 0 to %d, or a FAR_COLOUR_", what,
                        m->colour, FAR_COLOURS - 1);
    }
    if (m->dash < FAR_DASH_AUTO || m->dash > FAR_DASH_MIXED) {
        return far_fail(ctx, FAR_ERR_ARG, "%s: dash is %d, which is no far_dash", what, m->dash);
    }
    if ((!isnan(m->width) && !(m->width > 0 && m->width <= 1000)) ||
        (!isnan(m->opacity) && !(m->opacity >= 0 && m->opacity <= 1))) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "%s: width %g, opacity %g; they are above 0 and up to 1000, and 0 to 1",
                        what, m->width, m->opacity);
    }
    return FAR_OK;
}

static far_status check_frame(far_ctx *ctx, const far_figure *f, const far_mark_opts *m,
                              const char *what)
{
    int64_t frames = f->opts.frames > 1 ? f->opts.frames : 0;
    if (m->frame < -1 || m->frame >= (frames ? frames : 1)) {
        return far_fail(ctx, FAR_ERR_ARG, "%s: frame is %lld, but the figure has %lld frames", what,
                        (long long)m->frame, (long long)frames);
    }
    return FAR_OK;
}

/* ---- one layer being made ---- */

static int choose_colour(far_figure *f, int asked)
{
    if (asked == FAR_COLOUR_SAME && f->layer_count > 0) {
        return f->layers[f->layer_count - 1].colour;
    }
    if (asked == FAR_COLOUR_NEXT || asked == FAR_COLOUR_SAME) {
        return f->next_colour++;
    }
    return asked;
}

/* When colours come around again, dashes tell lines apart. */
static int choose_dash(int kind, int colour, int asked)
{
    if (asked != FAR_DASH_AUTO) {
        return asked;
    }
    if (kind == FAR_MARK_RULE) {
        return FAR_DASH_DASHED;
    }
    return kind == FAR_MARK_LINE && colour > 0
               ? FAR_DASH_SOLID + colour / FAR_COLOURS % FAR_DASH_MIXED
               : FAR_DASH_SOLID;
}

static far_mark_opts mark_or_default(const far_mark_opts *mark, int kind)
{
    far_mark_opts m;
    far_mark_opts_init(&m);
    if (mark) {
        m = *mark;
    }
    bool plain = kind == FAR_MARK_RULE || kind == FAR_MARK_TEXT;
    if (plain && m.colour == FAR_COLOUR_NEXT) {
        m.colour = FAR_COLOUR_INK;
    }
    return m;
}

static far_status copy_column(far_ctx *ctx, const double *values, int64_t n, double **out)
{
    far_status st = far_alloc(ctx, n, out);
    if (st == FAR_OK) {
        memcpy(*out, values, (size_t)n * sizeof *values);
    }
    return st;
}

static far_status fill_layer(far_figure *f, far_mark *layer, const far_mark_opts *m,
                             const double *const *columns)
{
    far_status st = FAR_OK;
    const char *label = NULL;
    for (int i = 0; i < FAR_COLUMNS; i++) {
        if (columns[i]) {
            FAR_TRY(copy_column(f->ctx, columns[i], layer->count, &layer->column[i]));
        }
    }
    FAR_TRY(far_keep_text(f->ctx, m->label, &label));
    layer->label = (char *)label;
    layer->width = m->width;
    layer->opacity = m->opacity;
    layer->frame = m->frame;
    layer->colour = choose_colour(f, m->colour);
    layer->dash = choose_dash(layer->kind, layer->colour, m->dash);
done:
    return st;
}

static far_status make_room(far_figure *f)
{
    if (f->layer_count < f->layer_capacity) {
        return FAR_OK;
    }
    int64_t capacity = 2 * f->layer_capacity + 4;
    far_status st = far_grow(f->ctx, f->layer_count, capacity, &f->layers);
    if (st == FAR_OK) {
        f->layer_capacity = capacity;
    }
    return st;
}

/* Appends the layer with copies of the columns that are not NULL. */
static far_status add_layer(far_ctx *ctx, far_figure *f, far_mark layer, const far_mark_opts *mark,
                            const double *const *columns)
{
    far_status st;
    const char *what = far_mark_name(layer.kind);
    far_mark_opts m = mark_or_default(mark, layer.kind);
    FAR_TRY(check_count(ctx, layer.count, what));
    FAR_TRY(check_mark(ctx, &m, what));
    FAR_TRY(check_frame(ctx, f, &m, what));
    FAR_TRY(make_room(f));
    FAR_TRY(fill_layer(f, &layer, &m, columns));
    f->layers[f->layer_count++] = layer;
    return FAR_OK;
done:
    far_mark_clear(f->ctx, &layer);
    return st;
}

/* ---- the kinds ---- */

static far_status check_arrays(far_ctx *ctx, const far_figure *f, const char *what, const void *a,
                               const void *b, const void *c)
{
    far_status st = check_target(ctx, f, what);
    if (st == FAR_OK && (!a || !b || !c)) {
        st = far_fail(ctx, FAR_ERR_ARG, "%s: an array is NULL", what);
    }
    return st;
}

static far_status add_xy(far_ctx *ctx, far_figure *figure, const char *what, far_mark_kind kind,
                         const double *x, const double *y, int64_t n, const far_mark_opts *mark)
{
    far_status st = check_arrays(ctx, figure, what, x, y, y);
    const double *columns[FAR_COLUMNS] = {[FAR_COLUMN_X] = x, [FAR_COLUMN_Y] = y};
    far_mark layer = {.kind = kind, .count = n};
    return st == FAR_OK ? add_layer(ctx, figure, layer, mark, columns) : st;
}

far_status far_figure_line(far_ctx *ctx, far_figure *figure, const double *x, const double *y,
                           int64_t n, const far_mark_opts *mark)
{
    return add_xy(ctx, figure, "line", FAR_MARK_LINE, x, y, n, mark);
}

far_status far_figure_points(far_ctx *ctx, far_figure *figure, const double *x, const double *y,
                             int64_t n, const far_mark_opts *mark)
{
    return add_xy(ctx, figure, "points", FAR_MARK_POINTS, x, y, n, mark);
}

far_status far_figure_band(far_ctx *ctx, far_figure *figure, const double *x, const double *low,
                           const double *high, int64_t n, const far_mark_opts *mark)
{
    far_status st = check_arrays(ctx, figure, "band", x, low, high);
    const double *columns[FAR_COLUMNS] = {
        [FAR_COLUMN_X] = x, [FAR_COLUMN_LOW] = low, [FAR_COLUMN_HIGH] = high};
    far_mark layer = {.kind = FAR_MARK_BAND, .count = n};
    return st == FAR_OK ? add_layer(ctx, figure, layer, mark, columns) : st;
}

far_status far_figure_motion(far_ctx *ctx, far_figure *figure, const double *x, const double *y,
                             int64_t n, const far_mark_opts *mark)
{
    double *frame = NULL;
    far_status st;
    FAR_TRY(check_arrays(ctx, figure, "motion", x, y, y));
    FAR_TRY(check_count(ctx, n, "motion"));
    int64_t frames = figure->opts.frames;
    if (frames < 2) {
        return far_fail(ctx, FAR_ERR_ARG, "motion: the figure has no frames; set them in its opts");
    }
    FAR_TRY(far_alloc(ctx, frames * n, &frame));
    for (int64_t i = 0; i < frames * n; i++) {
        frame[i] = (double)(i / n);
    }
    const double *columns[FAR_COLUMNS] = {
        [FAR_COLUMN_X] = x, [FAR_COLUMN_Y] = y, [FAR_COLUMN_Z] = frame};
    far_mark layer = {.kind = FAR_MARK_POINTS, .count = frames * n, .moves = true};
    FAR_TRY(add_layer(ctx, figure, layer, mark, columns));
done:
    far_free(ctx, frame);
    return st;
}

static far_status check_histogram(far_ctx *ctx, const double *edges, const double *counts,
                                  int64_t bins)
{
    for (int64_t i = 0; i < bins; i++) {
        if (!(edges[i] < edges[i + 1]) || !far_scale_shows(FAR_SCALE_LINEAR, edges[i]) ||
            !far_scale_shows(FAR_SCALE_LINEAR, edges[i + 1])) {
            return far_fail(ctx, FAR_ERR_ARG,
                            "histogram: edges[%lld] is %g and the next %g; they are finite and "
                            "ascend",
                            (long long)i, edges[i], edges[i + 1]);
        }
        if (counts[i] < 0) {
            return far_fail(ctx, FAR_ERR_ARG, "histogram: counts[%lld] is %g, below 0",
                            (long long)i, counts[i]);
        }
    }
    return FAR_OK;
}

far_status far_figure_histogram(far_ctx *ctx, far_figure *figure, const double *edges,
                                const double *counts, int64_t bins, const far_mark_opts *mark)
{
    far_status st = check_arrays(ctx, figure, "histogram", edges, counts, counts);
    if (st == FAR_OK) {
        st = check_histogram(ctx, edges, counts, bins);
    }
    const double *columns[FAR_COLUMNS] = {
        [FAR_COLUMN_X] = edges, [FAR_COLUMN_X_TO] = edges + (bins > 0), [FAR_COLUMN_Y] = counts};
    far_mark layer = {.kind = FAR_MARK_HISTOGRAM, .count = bins};
    return st == FAR_OK ? add_layer(ctx, figure, layer, mark, columns) : st;
}

/* low and high instead of half widths: as they are drawn, and in the csv. */
static void set_errors(far_mark *layer, const double *half_widths)
{
    double *x = layer->column[FAR_COLUMN_X], *y = layer->column[FAR_COLUMN_Y];
    for (int64_t i = 0; i < layer->count; i++) {
        x[i] = (double)i;
        if (half_widths) {
            layer->column[FAR_COLUMN_LOW][i] = y[i] - half_widths[i];
            layer->column[FAR_COLUMN_HIGH][i] = y[i] + half_widths[i];
        }
    }
}

far_status far_figure_bars(far_ctx *ctx, far_figure *figure, const double *values,
                           const double *half_widths, int64_t n, const far_mark_opts *mark)
{
    far_status st = check_arrays(ctx, figure, "bars", values, values, values);
    if (st != FAR_OK) {
        return st;
    }
    if (n != figure->opts.category_count) {
        return far_fail(ctx, FAR_ERR_SHAPE, "%lld bars, but the figure has %lld categories",
                        (long long)n, (long long)figure->opts.category_count);
    }
    const double *columns[FAR_COLUMNS] = {[FAR_COLUMN_X] = values,
                                          [FAR_COLUMN_Y] = values,
                                          [FAR_COLUMN_LOW] = half_widths,
                                          [FAR_COLUMN_HIGH] = half_widths};
    far_mark layer = {.kind = FAR_MARK_BARS, .count = n};
    st = add_layer(ctx, figure, layer, mark, columns);
    if (st == FAR_OK) {
        set_errors(&figure->layers[figure->layer_count - 1], half_widths);
    }
    return st;
}

far_status far_figure_rule(far_ctx *ctx, far_figure *figure, int32_t direction, double value,
                           const far_mark_opts *mark)
{
    far_status st = check_target(ctx, figure, "rule");
    if (st != FAR_OK) {
        return st;
    }
    if (direction != FAR_HORIZONTAL && direction != FAR_VERTICAL) {
        return far_fail(ctx, FAR_ERR_ARG, "rule: direction is %d, which is no far_direction",
                        direction);
    }
    bool vertical = direction == FAR_VERTICAL;
    int scale = vertical ? figure->opts.x_scale : figure->opts.y_scale;
    if (!far_scale_shows(scale, value)) {
        return far_fail(ctx, FAR_ERR_VALUE, "rule: its value is %g; it is finite%s", value,
                        scale == FAR_SCALE_LOG ? ", and above 0 on a log axis" : "");
    }
    const double *columns[FAR_COLUMNS] = {
        [FAR_COLUMN_X] = vertical ? &value : NULL, [FAR_COLUMN_Y] = vertical ? NULL : &value};
    far_mark layer = {.kind = FAR_MARK_RULE, .count = 1};
    return add_layer(ctx, figure, layer, mark, columns);
}

far_status far_figure_text(far_ctx *ctx, far_figure *figure, double x, double y, const char *text,
                           int32_t align, const far_mark_opts *mark)
{
    far_status st = check_target(ctx, figure, "text");
    if (st != FAR_OK) {
        return st;
    }
    if (!text || align < -1 || align > 1) {
        return far_fail(ctx, FAR_ERR_ARG, "text: it is NULL, or align not -1, 0 or 1");
    }
    if (!far_scale_shows(figure->opts.x_scale, x) || !far_scale_shows(figure->opts.y_scale, y)) {
        return far_fail(ctx, FAR_ERR_VALUE, "text: (%g, %g) is no place on these axes", x, y);
    }
    const double *columns[FAR_COLUMNS] = {[FAR_COLUMN_X] = &x, [FAR_COLUMN_Y] = &y};
    far_mark layer = {.kind = FAR_MARK_TEXT, .count = 1, .align = align};
    far_mark_opts m = mark_or_default(mark, FAR_MARK_TEXT);
    m.label = text;
    return add_layer(ctx, figure, layer, &m, columns);
}

/* ---- heat maps ---- */

static far_status check_heat_opts(far_ctx *ctx, const far_heat_opts *o)
{
    if (o->scale < FAR_SCALE_LINEAR || o->scale > FAR_SCALE_SYMLOG || o->map < FAR_MAP_AUTO ||
        o->map > FAR_MAP_DIVERGING) {
        return far_fail(ctx, FAR_ERR_ARG, "heat: scale is no far_scale, or map no far_map");
    }
    if (!(o->x_min < o->x_max) || !(o->y_min < o->y_max) ||
        !far_scale_shows(FAR_SCALE_LINEAR, o->x_max - o->x_min) ||
        !far_scale_shows(FAR_SCALE_LINEAR, o->y_max - o->y_min)) {
        return far_fail(ctx, FAR_ERR_ARG, "heat: x_min, x_max, y_min, y_max are finite and ascend");
    }
    if (o->value_min >= o->value_max || isinf(o->value_min) || isinf(o->value_max) ||
        (o->scale == FAR_SCALE_LOG && (o->value_min <= 0 || o->value_max <= 0))) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "heat: value_min is %g and value_max %g; they ascend, and are above 0 on a "
                        "log scale",
                        o->value_min, o->value_max);
    }
    if (!isnan(o->linear) && !(o->linear > 0)) {
        return far_fail(ctx, FAR_ERR_ARG, "heat: linear is %g; it is positive, or NAN", o->linear);
    }
    return FAR_OK;
}

static far_status check_heat(far_ctx *ctx, const far_figure *f, int64_t rows, int64_t cols)
{
    if (rows < 1 || cols < 1 || rows > INT32_MAX || cols > INT32_MAX) {
        return far_fail(ctx, FAR_ERR_SHAPE, "heat: a matrix of %lld x %lld", (long long)rows,
                        (long long)cols);
    }
    if (f->opts.x_scale != FAR_SCALE_LINEAR || f->opts.y_scale != FAR_SCALE_LINEAR ||
        f->opts.category_count > 0) {
        return far_fail(ctx, FAR_ERR_ARG, "heat: the axes must be linear, without categories");
    }
    for (int64_t i = 0; i < f->layer_count; i++) {
        if (f->layers[i].kind == FAR_MARK_HEAT) {
            return far_fail(ctx, FAR_ERR_ARG, "heat: the figure has one already");
        }
    }
    return FAR_OK;
}

static far_heat_opts heat_or_default(const far_heat_opts *opts, int64_t rows, int64_t cols)
{
    far_heat_opts o = *opts;
    o.x_min = isnan(o.x_min) ? -0.5 : o.x_min;
    o.x_max = isnan(o.x_max) ? (double)cols - 0.5 : o.x_max;
    o.y_min = isnan(o.y_min) ? -0.5 : o.y_min;
    o.y_max = isnan(o.y_max) ? (double)rows - 0.5 : o.y_max;
    return o;
}

far_status far_figure_heat(far_ctx *ctx, far_figure *figure, const double *values, int64_t rows,
                           int64_t cols, const far_heat_opts *opts)
{
    far_status st = FAR_OK;
    far_heat_opts chosen;
    far_mark_opts mark;
    FAR_TRY(check_arrays(ctx, figure, "heat", values, values, values));
    far_heat_opts_init(&chosen);
    if (opts && opts->size != sizeof *opts) {
        return far_fail(ctx, FAR_ERR_ARG, "heat: opts not initialised");
    }
    FAR_TRY(check_heat(ctx, figure, rows, cols));
    chosen = heat_or_default(opts ? opts : &chosen, rows, cols);
    FAR_TRY(check_heat_opts(ctx, &chosen));
    far_mark_opts_init(&mark);
    mark.label = chosen.label;
    mark.colour = FAR_COLOUR_INK;
    chosen.label = NULL;
    const double *columns[FAR_COLUMNS] = {[FAR_COLUMN_Z] = values};
    far_mark layer = {
        .kind = FAR_MARK_HEAT, .count = rows * cols, .rows = rows, .cols = cols, .heat = chosen};
    FAR_TRY(add_layer(ctx, figure, layer, &mark, columns));
done:
    return st;
}
