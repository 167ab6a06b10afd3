/* Histograms and bars as SVG. */
#include "marks.h"

#define BAR_OPACITY 0.88
#define BIN_OPACITY 0.16
#define CAP 4.0 /* half the width of an error bar's cap, at most */

/* ---- histograms ---- */

static void put_bin_hover(far_drawing *d, const far_panel *p, const far_mark *layer)
{
    bool first = true;
    for (int64_t i = 0; i < layer->count; i += far_hover_stride(p, layer)) {
        far_box b = far_bin_box(p, layer, i);
        const double values[] = {layer->column[FAR_COLUMN_X][i], layer->column[FAR_COLUMN_X_TO][i],
                                 layer->column[FAR_COLUMN_Y][i]};
        far_put_hover(d->text, first, b.x + b.w / 2, b.y, values, 3);
        first = false;
    }
}

static far_place *put_step(far_place *at, double x, double y)
{
    *at = (far_place){x, y};
    return at + 1;
}

/* The outline of bins from..to-1, on the ground at both ends. Returns how many places. */
static int64_t outline(const far_panel *p, const far_mark *layer, int64_t from, int64_t to,
                       far_place *out)
{
    far_box bin = far_bin_box(p, layer, from);
    far_place *end = put_step(out, bin.x, bin.y + bin.h);
    for (int64_t i = from; i < to; i++) {
        bin = far_bin_box(p, layer, i);
        end = put_step(put_step(end, bin.x, bin.y), bin.x + bin.w, bin.y);
    }
    end = put_step(end, bin.x + bin.w, bin.y + bin.h);
    return end - out;
}

/* The next run of bins that stand above the ground. */
static bool next_run(const far_panel *p, const far_mark *layer, int64_t *from, int64_t *to)
{
    for (*from = *to; *from < layer->count && far_bin_box(p, layer, *from).h == 0; (*from)++) {
    }
    for (*to = *from; *to < layer->count && far_bin_box(p, layer, *to).h > 0; (*to)++) {
    }
    return *from < *to;
}

static far_status put_outlines(far_text *t, const far_panel *p, const far_mark *layer, bool filled)
{
    far_status st;
    far_place *steps = NULL;
    far_box seen = far_box_grown(p->plot, FAR_BEYOND);
    FAR_TRY(far_alloc(t->ctx, 2 * layer->count + 2, &steps));
    for (int64_t from = 0, to = 0; next_run(p, layer, &from, &to);) {
        int64_t count = outline(p, layer, from, to, steps);
        if (filled) {
            FAR_TRY(far_put_polygon(t, steps, count, seen));
        } else {
            far_put_line(t, steps, count, seen);
        }
    }
done:
    far_free(t->ctx, steps);
    return st;
}

far_status far_draw_histogram(far_drawing *d, const far_panel *p, const far_mark *layer)
{
    far_text *t = d->text;
    far_status st;
    far_series_open(d, layer, "px,py,from,to,y");
    put_bin_hover(d, p, layer);
    far_series_opened(d, layer, "");
    far_text_add(t, "<path");
    far_put_fill(t, layer, BIN_OPACITY);
    far_text_add(t, " d=\"");
    FAR_TRY(put_outlines(t, p, layer, true));
    far_text_add(t, "\"/><path");
    far_put_stroke(t, layer, isnan(layer->width) ? 1.6 : layer->width);
    far_text_add(t, " fill=\"none\" stroke-linejoin=\"miter\" d=\"");
    FAR_TRY(put_outlines(t, p, layer, false));
    far_text_add(t, "\"/></g>");
done:
    return st;
}

/* ---- bars ---- */

static bool error_places(const far_panel *p, const far_mark *layer, int64_t i, double *low,
                         double *high)
{
    if (!layer->column[FAR_COLUMN_LOW]) {
        return false;
    }
    double from = layer->column[FAR_COLUMN_LOW][i], to = layer->column[FAR_COLUMN_HIGH][i];
    bool down = p->y.scale == FAR_SCALE_LOG && from < 1 / FAR_VALUE_MOST;
    if (!far_scale_shows(p->y.scale, to) || !(down || far_scale_shows(p->y.scale, from))) {
        return false;
    }
    *low = down ? p->plot.y + p->plot.h + FAR_BEYOND : far_axis_place(&p->y, from);
    *high = far_axis_place(&p->y, to);
    return true;
}

/* Across a bar that leaves the plot an error bar would be a line from nowhere to nowhere. */
static bool ends_in_plot(const far_panel *p, const far_mark *layer, int64_t i)
{
    double value = layer->column[FAR_COLUMN_Y][i];
    return value >= p->y.low && value <= p->y.high;
}

static void put_error_bar(far_drawing *d, const far_panel *p, const far_mark *layer, int64_t i,
                          far_box bar)
{
    double low, high, x = bar.x + bar.w / 2, cap = fmin(CAP, bar.w / 4);
    if (!ends_in_plot(p, layer, i) || !error_places(p, layer, i, &low, &high)) {
        return;
    }
    far_box seen = far_box_grown(p->plot, FAR_BEYOND);
    low = fmin(fmax(low, seen.y), seen.y + seen.h);
    high = fmin(fmax(high, seen.y), seen.y + seen.h);
    far_text_add(d->text, "<path class=\"far-error\" d=\"");
    far_put_line(d->text, (far_place[]){{x, low}, {x, high}}, 2, seen);
    far_put_line(d->text, (far_place[]){{x - cap, low}, {x + cap, low}}, 2, seen);
    far_put_line(d->text, (far_place[]){{x - cap, high}, {x + cap, high}}, 2, seen);
    far_text_add(d->text, "\" stroke-width=\"1.3\" fill=\"none\"/>");
}

static double value_or_nan(const far_mark *layer, int column, int64_t i)
{
    return layer->column[column] ? layer->column[column][i] : NAN;
}

static void put_bar_hover(far_drawing *d, const far_panel *p, const far_mark *layer)
{
    bool first = true;
    for (int64_t i = 0; i < layer->count; i += far_hover_stride(p, layer)) {
        if (far_scale_shows(p->y.scale, layer->column[FAR_COLUMN_Y][i])) {
            far_box b = far_bar_box(p, layer, i);
            const double values[] = {(double)i, layer->column[FAR_COLUMN_Y][i],
                                     value_or_nan(layer, FAR_COLUMN_LOW, i),
                                     value_or_nan(layer, FAR_COLUMN_HIGH, i)};
            double top = far_axis_place(&p->y, values[1]);
            far_put_hover(d->text, first, b.x + b.w / 2, top, values, 4);
            first = false;
        }
    }
}

/* "LN first: 0.5 (0.48 to 0.52)" for viewers without scripts. */
static void put_bar_title(far_text *t, const far_panel *p, const far_mark *layer, int64_t i)
{
    far_text_add(t, "<title>");
    if (layer->label) {
        far_put_plain(t, layer->label);
        far_text_add(t, ", ");
    }
    far_put_plain(t, p->figure->opts.categories[i]);
    far_text_add(t, ": ");
    far_put_value(t, layer->column[FAR_COLUMN_Y][i]);
    if (!isnan(value_or_nan(layer, FAR_COLUMN_LOW, i))) {
        far_text_add(t, " (");
        far_put_value(t, layer->column[FAR_COLUMN_LOW][i]);
        far_text_add(t, " to ");
        far_put_value(t, layer->column[FAR_COLUMN_HIGH][i]);
        far_text_add(t, ")");
    }
    far_text_add(t, "</title>");
}

/* What of a box the paths may hold: renderers dislike huge numbers. */
static far_box seen_part(const far_panel *p, far_box b)
{
    far_box seen = far_box_grown(p->plot, FAR_BEYOND);
    double left = fmax(b.x, seen.x), right = fmin(b.x + b.w, seen.x + seen.w);
    double top = fmin(fmax(b.y, seen.y), seen.y + seen.h);
    double bottom = fmin(fmax(b.y + b.h, seen.y), seen.y + seen.h);
    return (far_box){left, top, fmax(0, right - left), bottom - top};
}

far_status far_draw_bars(far_drawing *d, const far_panel *p, const far_mark *layer)
{
    far_text *t = d->text;
    far_series_open(d, layer, "px,py,x,y,low,high");
    put_bar_hover(d, p, layer);
    far_series_opened(d, layer, "");
    for (int64_t i = 0; i < layer->count; i++) {
        if (!far_scale_shows(p->y.scale, layer->column[FAR_COLUMN_Y][i])) {
            continue;
        }
        far_box bar = far_bar_box(p, layer, i), seen = seen_part(p, bar);
        far_text_add(t, "<g>");
        put_bar_title(t, p, layer, i);
        far_text_add(t, "<rect");
        far_put_colour(t, layer, false);
        far_put_extent(t, seen);
        far_put_number(t, "fill-opacity", isnan(layer->opacity) ? BAR_OPACITY : layer->opacity);
        far_text_add(t, "/>");
        put_error_bar(d, p, layer, i, bar);
        far_text_add(t, "</g>");
    }
    far_text_add(t, "</g>");
    return t->status;
}
