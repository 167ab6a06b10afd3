/* Where marks are on a panel, and what they cover. */
#include "sheet.h"

#include <farfield/plot.h>

#define BAR_SHARE 0.78 /* of the place of a category that its bars take */

bool far_boxes_meet(far_box a, far_box b)
{
    return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

far_box far_box_grown(far_box b, double by)
{
    return (far_box){b.x - by, b.y - by, b.w + 2 * by, b.h + 2 * by};
}

/* ---- segments ---- */

/* Keeps of [*from, *to] where start + t * along >= 0. */
static bool clip_side(double start, double along, double *from, double *to)
{
    if (along == 0) {
        return start >= 0;
    }
    double t = -start / along;
    if (along > 0) {
        *from = fmax(*from, t);
    } else {
        *to = fmin(*to, t);
    }
    return *from <= *to;
}

bool far_clip_segment(far_box b, double *x1, double *y1, double *x2, double *y2)
{
    double dx = *x2 - *x1, dy = *y2 - *y1, from = 0, to = 1, x = *x1, y = *y1;
    if (!clip_side(x - b.x, dx, &from, &to) || !clip_side(b.x + b.w - x, -dx, &from, &to) ||
        !clip_side(y - b.y, dy, &from, &to) || !clip_side(b.y + b.h - y, -dy, &from, &to)) {
        return false;
    }
    if (to < 1) { /* ends that are inside stay as they are, to the last bit */
        *x2 = x + to * dx;
        *y2 = y + to * dy;
    }
    if (from > 0) {
        *x1 = x + from * dx;
        *y1 = y + from * dy;
    }
    return true;
}

/* ---- marks ---- */

/* Many points are small, so that a crowd shows its density. */
double far_point_diameter(const far_mark *layer)
{
    if (!isnan(layer->width)) {
        return layer->width;
    }
    double n = (double)layer->count;
    return fmin(7, fmax(2, 13 * pow(n, -0.2)));
}

bool far_point_place(const far_panel *p, const far_mark *layer, int64_t i, double *x, double *y)
{
    double vx = layer->column[FAR_COLUMN_X][i], vy = layer->column[FAR_COLUMN_Y][i];
    if (!far_scale_shows(p->x.scale, vx) || !far_scale_shows(p->y.scale, vy)) {
        return false;
    }
    *x = far_axis_place(&p->x, vx);
    *y = far_axis_place(&p->y, vy);
    return true;
}

bool far_band_place(const far_panel *p, const far_mark *layer, int64_t i, double *x, double *low,
                    double *high)
{
    double vx = layer->column[FAR_COLUMN_X][i], vl = layer->column[FAR_COLUMN_LOW][i];
    double vh = layer->column[FAR_COLUMN_HIGH][i];
    bool down = p->y.scale == FAR_SCALE_LOG && vl < 1 / FAR_VALUE_MOST; /* beyond the axis */
    if (!far_scale_shows(p->x.scale, vx) || !far_scale_shows(p->y.scale, vh) ||
        !(down || far_scale_shows(p->y.scale, vl))) {
        return false;
    }
    *x = far_axis_place(&p->x, vx);
    *low = down ? p->plot.y + p->plot.h + 20 : far_axis_place(&p->y, vl);
    *high = far_axis_place(&p->y, vh);
    return true;
}

/* From the value down (or up) to 0, or to the axis where 0 has no place. */
static far_box standing(const far_panel *p, double left, double right, double value)
{
    double bottom = p->plot.y + p->plot.h, ground = bottom;
    if (p->y.scale != FAR_SCALE_LOG) {
        ground = far_axis_place(&p->y, 0);
    }
    double at = far_scale_shows(p->y.scale, value) ? far_axis_place(&p->y, value) : ground;
    return (far_box){left, fmin(at, ground), right - left, fabs(at - ground)};
}

far_box far_bin_box(const far_panel *p, const far_mark *layer, int64_t i)
{
    double from = layer->column[FAR_COLUMN_X][i], to = layer->column[FAR_COLUMN_X_TO][i];
    double left = far_scale_shows(p->x.scale, from) ? far_axis_place(&p->x, from) : p->plot.x;
    double right = far_scale_shows(p->x.scale, to) ? far_axis_place(&p->x, to) : left;
    return standing(p, left, right, layer->column[FAR_COLUMN_Y][i]);
}

far_box far_bar_box(const far_panel *p, const far_mark *layer, int64_t i)
{
    int64_t layers = 0, before = 0;
    const far_figure *f = p->figure;
    for (int64_t k = 0; k < f->layer_count; k++) {
        before += f->layers[k].kind == FAR_MARK_BARS && &f->layers[k] < layer;
        layers += f->layers[k].kind == FAR_MARK_BARS;
    }
    double slot = far_axis_place(&p->x, 1) - far_axis_place(&p->x, 0);
    double width = slot * BAR_SHARE / (double)layers;
    double left = far_axis_place(&p->x, (double)i) - slot * BAR_SHARE / 2 + (double)before * width;
    double inset = layers > 1 ? fmin(1, width / 8) : 0;
    return standing(p, left + inset / 2, left + width - inset / 2, layer->column[FAR_COLUMN_Y][i]);
}

/* Moved so that the whole lies in the plot where there is room. */
far_box far_text_box(const far_panel *p, const far_mark *layer)
{
    double x = 0, y = 0, w = far_lines_width(layer->label, p->small);
    double h = far_lines_height(layer->label, p->small);
    far_point_place(p, layer, 0, &x, &y);
    double left = x - w * (layer->align + 1) / 2 - layer->align * FAR_GAP, top = y - h / 2;
    left = fmax(p->plot.x, fmin(left, p->plot.x + p->plot.w - w));
    top = fmax(p->plot.y, fmin(top, p->plot.y + p->plot.h - h));
    return (far_box){left, top, w, h};
}

/* ---- what lies in a box ---- */

static bool line_hits(const far_panel *p, const far_mark *layer, far_box box)
{
    double x1 = 0, y1 = 0, x2, y2;
    bool open = false;
    box = far_box_grown(box, FAR_LINE_WIDTH / 2);
    for (int64_t i = 0; i < layer->count; i++) {
        bool shown = far_point_place(p, layer, i, &x2, &y2);
        if (shown) {
            double a = open ? x1 : x2, b = open ? y1 : y2, c = x2, d = y2;
            if (far_clip_segment(box, &a, &b, &c, &d)) {
                return true;
            }
            x1 = x2;
            y1 = y2;
        }
        open = shown;
    }
    return false;
}

typedef struct edge_pair {
    double x, low, high;
} edge_pair;

static double between(edge_pair a, edge_pair b, double x, bool low)
{
    double from = low ? a.low : a.high, to = low ? b.low : b.high;
    return a.x == b.x ? from : from + (x - a.x) / (b.x - a.x) * (to - from);
}

/* The piece of a band between two points: rather too much than too little. */
static bool piece_hits(edge_pair a, edge_pair b, far_box box)
{
    if (a.x > b.x) {
        edge_pair c = a;
        a = b;
        b = c;
    }
    double from = fmax(a.x, box.x), to = fmin(b.x, box.x + box.w);
    if (from > to) {
        return false;
    }
    double top = fmin(between(a, b, from, false), between(a, b, to, false));
    double bottom = fmax(between(a, b, from, true), between(a, b, to, true));
    return fmin(top, bottom) < box.y + box.h && fmax(top, bottom) > box.y;
}

static bool band_hits(const far_panel *p, const far_mark *layer, far_box box)
{
    edge_pair last = {0}, next = {0};
    bool open = false;
    for (int64_t i = 0; i < layer->count; i++) {
        bool shown = far_band_place(p, layer, i, &next.x, &next.low, &next.high);
        if (shown && open && piece_hits(last, next, box)) {
            return true;
        }
        last = next;
        open = shown;
    }
    return false;
}

static bool points_hit(const far_panel *p, const far_mark *layer, far_box box)
{
    double x, y;
    far_box wide = far_box_grown(box, far_point_diameter(layer) / 2);
    for (int64_t i = 0; i < layer->count; i++) {
        if (far_point_place(p, layer, i, &x, &y) && x > wide.x && x < wide.x + wide.w &&
            y > wide.y && y < wide.y + wide.h) {
            return true;
        }
    }
    return false;
}

static far_box error_box(const far_panel *p, const far_mark *layer, int64_t i, far_box bar)
{
    double low = layer->column[FAR_COLUMN_LOW] ? layer->column[FAR_COLUMN_LOW][i] : NAN;
    double high = layer->column[FAR_COLUMN_HIGH] ? layer->column[FAR_COLUMN_HIGH][i] : NAN;
    if (!far_scale_shows(p->y.scale, low) || !far_scale_shows(p->y.scale, high)) {
        return bar;
    }
    double top = far_axis_place(&p->y, high), bottom = far_axis_place(&p->y, low);
    return (far_box){bar.x, top, bar.w, bottom - top};
}

static bool boxes_hit(const far_panel *p, const far_mark *layer, far_box box)
{
    for (int64_t i = 0; i < layer->count; i++) {
        bool bars = layer->kind == FAR_MARK_BARS;
        far_box b = bars ? far_bar_box(p, layer, i) : far_bin_box(p, layer, i);
        far_box grown = far_box_grown(b, 1);
        if (far_boxes_meet(grown, box) ||
            (bars && far_boxes_meet(far_box_grown(error_box(p, layer, i, b), 1), box))) {
            return true;
        }
    }
    return false;
}

static bool rule_hits(const far_panel *p, const far_mark *layer, far_box box)
{
    if (layer->column[FAR_COLUMN_X]) {
        double x = far_axis_place(&p->x, layer->column[FAR_COLUMN_X][0]);
        return x > box.x - 1 && x < box.x + box.w + 1;
    }
    double y = far_axis_place(&p->y, layer->column[FAR_COLUMN_Y][0]);
    return y > box.y - 1 && y < box.y + box.h + 1;
}

static bool heat_hits(const far_panel *p, const far_mark *layer, far_box box)
{
    double left = far_axis_place(&p->x, layer->heat.x_min);
    double right = far_axis_place(&p->x, layer->heat.x_max);
    double top = far_axis_place(&p->y, layer->heat.y_max);
    double bottom = far_axis_place(&p->y, layer->heat.y_min);
    return far_boxes_meet((far_box){left, top, right - left, bottom - top}, box);
}

static bool text_hits(const far_panel *p, const far_mark *layer, far_box box)
{
    return far_boxes_meet(far_text_box(p, layer), box);
}

static bool layer_hits(const far_panel *p, const far_mark *layer, far_box box)
{
    static bool (*const HITS[FAR_MARK_KINDS])(const far_panel *, const far_mark *, far_box) = {
        [FAR_MARK_HEAT] = heat_hits, [FAR_MARK_BAND] = band_hits, [FAR_MARK_HISTOGRAM] = boxes_hit,
        [FAR_MARK_BARS] = boxes_hit, [FAR_MARK_RULE] = rule_hits, [FAR_MARK_POINTS] = points_hit,
        [FAR_MARK_LINE] = line_hits, [FAR_MARK_TEXT] = text_hits,
    };
    return HITS[layer->kind](p, layer, box);
}

bool far_panel_hits(const far_panel *p, far_box box, bool rules)
{
    for (int64_t k = 0; k < p->figure->layer_count; k++) {
        const far_mark *layer = &p->figure->layers[k];
        if ((rules || layer->kind != FAR_MARK_RULE) && layer_hits(p, layer, box)) {
            return true;
        }
    }
    return false;
}
