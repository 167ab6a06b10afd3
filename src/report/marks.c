/* Layers as SVG: series, lines, bands, points; and all kinds in their order. */
#include "marks.h"

#define BAND_OPACITY 0.22
#define POINT_SHEETS 24 /* points on one sheet do not darken each other; those of several do */

/* ---- series ---- */

void far_series_open(far_drawing *d, const far_mark *layer, const char *fields)
{
    far_text *t = d->text;
    far_text_add(t, "<g class=\"far-series\" data-kind=\"%s\"", far_mark_name(layer->kind));
    if (layer->label) {
        far_put_attribute(t, "data-label", layer->label);
    }
    if (fields) {
        far_text_add(t, " data-fields=\"%s\" data-points=\"[", fields);
    }
}

void far_series_opened(far_drawing *d, const far_mark *layer, const char *fields)
{
    far_text_add(d->text, fields ? "]\">" : ">");
    if (layer->label) {
        far_text_add(d->text, "<title>");
        far_put_plain(d->text, layer->label);
        far_text_add(d->text, "</title>");
    }
}

/* One point for scripts: its place with a decimal, then its values. */
void far_put_hover(far_text *t, bool first, double px, double py, const double *values, int count)
{
    far_text_add(t, first ? "" : ",");
    far_put_fixed(t, px, 1);
    far_text_add(t, ",");
    far_put_fixed(t, py, 1);
    for (int i = 0; i < count; i++) {
        far_text_add(t, ",");
        far_put_value(t, values[i]);
    }
}

/* Of lines and bands one a px will do. */
int64_t far_hover_stride(const far_panel *p, const far_mark *layer)
{
    bool along = layer->kind == FAR_MARK_LINE || layer->kind == FAR_MARK_BAND;
    int64_t most = along ? (int64_t)fmin(p->plot.w, FAR_HOVER_POINTS) : FAR_HOVER_POINTS;
    return (layer->count + most - 1) / most;
}

static bool in_plot(const far_panel *p, double x, double y)
{
    return x >= p->plot.x - 1 && x <= p->plot.x + p->plot.w + 1 && y >= p->plot.y - 1 &&
           y <= p->plot.y + p->plot.h + 1;
}

static void put_xy_hover(far_drawing *d, const far_panel *p, const far_mark *layer)
{
    double x, y;
    bool first = true;
    for (int64_t i = 0; i < layer->count; i += far_hover_stride(p, layer)) {
        if (far_point_place(p, layer, i, &x, &y) && in_plot(p, x, y)) {
            const double values[] = {layer->column[FAR_COLUMN_X][i],
                                     layer->column[FAR_COLUMN_Y][i]};
            far_put_hover(d->text, first, x, y, values, 2);
            first = false;
        }
    }
}

/* ---- lines ---- */

static far_status draw_line(far_drawing *d, const far_panel *p, const far_mark *layer)
{
    far_text *t = d->text;
    far_place *line = NULL;
    far_box box = far_box_grown(p->plot, FAR_BEYOND);
    far_status st = far_alloc(t->ctx, layer->count, &line);
    far_series_open(d, layer, "px,py,x,y");
    put_xy_hover(d, p, layer);
    far_series_opened(d, layer, "");
    far_text_add(t, "<path");
    far_put_stroke(t, layer, far_mark_width(layer));
    far_text_add(t, " fill=\"none\" stroke-linejoin=\"round\" stroke-linecap=\"%s\" d=\"",
                 layer->dash == FAR_DASH_SOLID ? "round" : "butt");
    for (int64_t i = 0, n = 0; st == FAR_OK && i <= layer->count; i++) {
        if (i < layer->count && far_point_place(p, layer, i, &line[n].x, &line[n].y)) {
            n++;
        } else if (n > 0) {
            far_put_line(t, line, far_simplify(line, n), box);
            n = 0;
        }
    }
    far_text_add(t, "\"/></g>");
    far_free(t->ctx, line);
    return st;
}

/* ---- bands ---- */

static void put_band_hover(far_drawing *d, const far_panel *p, const far_mark *layer)
{
    double x, low, high;
    bool first = true;
    for (int64_t i = 0; i < layer->count; i += far_hover_stride(p, layer)) {
        if (far_band_place(p, layer, i, &x, &low, &high) && in_plot(p, x, p->plot.y)) {
            const double values[] = {layer->column[FAR_COLUMN_X][i],
                                     layer->column[FAR_COLUMN_LOW][i],
                                     layer->column[FAR_COLUMN_HIGH][i]};
            far_put_hover(d->text, first, x, (low + high) / 2, values, 3);
            first = false;
        }
    }
}

/* The upper edge there and the lower edge back. */
static far_status put_band_piece(far_text *t, far_place *upper, far_place *lower, int64_t count,
                                 far_box box)
{
    int64_t up = far_simplify(upper, count), low = far_simplify(lower, count);
    for (int64_t i = 0; i < low; i++) {
        upper[up + i] = lower[low - 1 - i];
    }
    return far_put_polygon(t, upper, up + low, box);
}

static far_status draw_band(far_drawing *d, const far_panel *p, const far_mark *layer)
{
    far_text *t = d->text;
    far_place *upper = NULL, *lower = NULL;
    far_status st;
    far_series_open(d, layer, "px,py,x,low,high");
    put_band_hover(d, p, layer);
    far_series_opened(d, layer, "");
    far_text_add(t, "<path");
    far_put_fill(t, layer, BAND_OPACITY);
    far_text_add(t, " d=\"");
    FAR_TRY(far_alloc(t->ctx, 2 * layer->count, &upper));
    FAR_TRY(far_alloc(t->ctx, layer->count, &lower));
    for (int64_t i = 0, n = 0; i <= layer->count; i++) {
        if (i < layer->count &&
            far_band_place(p, layer, i, &upper[n].x, &lower[n].y, &upper[n].y)) {
            lower[n].x = upper[n].x;
            n++;
        } else if (n > 0) {
            FAR_TRY(put_band_piece(t, upper, lower, n, far_box_grown(p->plot, FAR_BEYOND)));
            n = 0;
        }
    }
    far_text_add(t, "\"/></g>");
done:
    far_free(t->ctx, upper);
    far_free(t->ctx, lower);
    return st;
}

/* ---- points ---- */

static double point_opacity(const far_mark *layer)
{
    if (!isnan(layer->opacity)) {
        return layer->opacity;
    }
    return fmin(0.9, fmax(0.18, 3.2 * pow((double)layer->count, -0.28)));
}

/* Every step-th point from first on: dots are the round ends of lines of no length. */
static void put_sheet(far_drawing *d, const far_panel *p, const far_mark *layer, int64_t first,
                      int64_t step)
{
    double x, y;
    bool open = false;
    far_box box = far_box_grown(p->plot, far_point_diameter(layer));
    for (int64_t i = first; i < layer->count; i += step) {
        if (!far_point_place(p, layer, i, &x, &y) || x < box.x || x > box.x + box.w || y < box.y ||
            y > box.y + box.h) {
            continue;
        }
        far_text_add(d->text, open ? "M" : "<path d=\"M");
        far_put_fixed(d->text, x, 1);
        far_text_add(d->text, " ");
        far_put_fixed(d->text, y, 1);
        far_text_add(d->text, "h0");
        open = true;
    }
    far_text_add(d->text, open ? "\"/>" : "");
}

static far_status draw_points(far_drawing *d, const far_panel *p, const far_mark *layer)
{
    far_text *t = d->text;
    int64_t stride = (layer->count + FAR_DRAWN_POINTS - 1) / FAR_DRAWN_POINTS;
    far_series_open(d, layer, "px,py,x,y");
    put_xy_hover(d, p, layer);
    far_series_opened(d, layer, "");
    far_text_add(t, "<g");
    far_put_colour(t, layer, true);
    far_put_number(t, "stroke-width", far_point_diameter(layer));
    far_put_number(t, "stroke-opacity", point_opacity(layer));
    far_text_add(t, " fill=\"none\" stroke-linecap=\"round\">");
    for (int64_t sheet = 0; sheet < POINT_SHEETS; sheet++) {
        put_sheet(d, p, layer, sheet * stride, POINT_SHEETS * stride);
    }
    far_text_add(t, "</g></g>");
    return t->status;
}

static far_status draw_either(far_drawing *d, const far_panel *p, const far_mark *layer)
{
    return (layer->moves ? far_draw_motion : draw_points)(d, p, layer);
}

/* ---- all ---- */

static far_status draw_layer(far_drawing *d, const far_panel *p, const far_mark *layer)
{
    static far_status (*const DRAW[FAR_MARK_KINDS])(far_drawing *, const far_panel *,
                                                    const far_mark *) = {
        [FAR_MARK_HEAT] = far_draw_heat,
        [FAR_MARK_BAND] = draw_band,
        [FAR_MARK_HISTOGRAM] = far_draw_histogram,
        [FAR_MARK_BARS] = far_draw_bars,
        [FAR_MARK_RULE] = far_draw_rule,
        [FAR_MARK_POINTS] = draw_either,
        [FAR_MARK_LINE] = draw_line,
        [FAR_MARK_TEXT] = far_draw_text,
    };
    return DRAW[layer->kind](d, p, layer);
}

far_status far_draw_marks(far_drawing *d, const far_panel *p)
{
    far_status st = FAR_OK;
    const far_figure *f = p->figure;
    for (int kind = 0; kind < FAR_MARK_KINDS; kind++) {
        for (int64_t k = 0; k < f->layer_count; k++) {
            if (f->layers[k].kind == kind) {
                far_frame_open(d, p, &f->layers[k]);
                FAR_TRY(draw_layer(d, p, &f->layers[k]));
                far_frame_close(d, &f->layers[k]);
            }
        }
    }
    for (int64_t k = 0; k < f->layer_count; k++) {
        if (f->layers[k].kind == FAR_MARK_RULE && f->layers[k].label) {
            far_draw_rule_label(d, p, &f->layers[k]);
        }
    }
done:
    return st;
}
