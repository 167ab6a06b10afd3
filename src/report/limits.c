/* How far the axes go. */
#include "sheet.h"

#include <stdio.h>

#define PAD_POINTS 0.03 /* of the axis, along x: points must not stick to the border */
#define PAD_VALUES 0.05 /* along y */
#define LIMIT 1e305     /* no axis goes beyond it */

/* What the values of one axis span. */
typedef struct extent {
    int scale;
    double low, high;             /* low > high: no values */
    double given_low, given_high; /* NAN: not given */
    double given_linear;
    double logs, log_squares; /* sums of log10 |v| and its square, and of how many */
    int64_t log_count;
    bool grounded; /* bars stand on 0 */
    double pad;
} extent;

static void take(extent *e, double value)
{
    if (!far_scale_shows(e->scale, value)) {
        return;
    }
    e->low = fmin(e->low, value);
    e->high = fmax(e->high, value);
    if (value != 0) {
        double size = log10(fabs(value));
        e->logs += size;
        e->log_squares += size * size;
        e->log_count++;
    }
}

static void take_column(extent *e, const far_mark *layer, int column)
{
    for (int64_t i = 0; layer->column[column] && i < layer->count; i++) {
        take(e, layer->column[column][i]);
    }
}

static extent empty_extent(int scale, double low, double high, double linear)
{
    return (extent){.scale = scale,
                    .low = INFINITY,
                    .high = -INFINITY,
                    .given_low = low,
                    .given_high = high,
                    .given_linear = linear};
}

/* ---- x and y of a figure ---- */

static extent x_extent(const far_figure *f)
{
    const far_figure_opts *o = &f->opts;
    extent e = empty_extent(o->x_scale, o->x_min, o->x_max, o->x_linear);
    for (int64_t k = 0; k < f->layer_count; k++) {
        const far_mark *layer = &f->layers[k];
        if (layer->kind == FAR_MARK_HEAT) {
            take(&e, layer->heat.x_min);
            take(&e, layer->heat.x_max);
        } else if (layer->kind != FAR_MARK_TEXT) {
            take_column(&e, layer, FAR_COLUMN_X);
            take_column(&e, layer, FAR_COLUMN_X_TO);
            e.pad = layer->kind == FAR_MARK_POINTS ? PAD_POINTS : e.pad;
        }
    }
    if (o->category_count > 0) {
        take(&e, -0.5);
        take(&e, (double)o->category_count - 0.5);
        e.pad = 0;
    }
    return e;
}

/* Only what the given limits of x let see counts for y. */
static bool x_is_seen(const far_figure *f, const far_mark *layer, int64_t i)
{
    const double *x = layer->column[FAR_COLUMN_X], *to = layer->column[FAR_COLUMN_X_TO];
    if (!x) {
        return true;
    }
    double last = to ? to[i] : x[i];
    return far_scale_shows(f->opts.x_scale, x[i]) && !(last < f->opts.x_min) &&
           !(x[i] > f->opts.x_max);
}

static void take_y(extent *e, const far_figure *f, const far_mark *layer)
{
    static const int COLUMNS[] = {FAR_COLUMN_Y, FAR_COLUMN_LOW, FAR_COLUMN_HIGH};
    for (int k = 0; k < 3; k++) {
        const double *column = layer->column[COLUMNS[k]];
        for (int64_t i = 0; column && i < layer->count; i++) {
            if (x_is_seen(f, layer, i)) {
                take(e, column[i]);
            }
        }
    }
}

static extent y_extent(const far_figure *f)
{
    const far_figure_opts *o = &f->opts;
    extent e = empty_extent(o->y_scale, o->y_min, o->y_max, o->y_linear);
    e.pad = PAD_VALUES;
    for (int64_t k = 0; k < f->layer_count; k++) {
        const far_mark *layer = &f->layers[k];
        if (layer->kind == FAR_MARK_HEAT) {
            take(&e, layer->heat.y_min);
            take(&e, layer->heat.y_max);
            e.pad = 0;
        } else if (layer->kind != FAR_MARK_TEXT) {
            take_y(&e, f, layer);
        }
        if (layer->kind == FAR_MARK_HISTOGRAM || layer->kind == FAR_MARK_BARS) {
            take(&e, 0); /* a log axis does not */
            e.grounded = true;
        }
    }
    return e;
}

static extent merged(extent a, extent b)
{
    a.low = fmin(a.low, b.low);
    a.high = fmax(a.high, b.high);
    a.given_low = fmin(a.given_low, b.given_low); /* NAN gives way */
    a.given_high = fmax(a.given_high, b.given_high);
    a.given_linear = fmin(a.given_linear, b.given_linear);
    a.logs += b.logs;
    a.log_squares += b.log_squares;
    a.log_count += b.log_count;
    a.grounded |= b.grounded;
    a.pad = fmax(a.pad, b.pad);
    return a;
}

/* ---- from what they span to limits ---- */

/* Somewhat below where most values are: the axis spreads them, and what is about 0 stays there. */
static double choose_linear(const extent *e, double low, double high)
{
    double size = fmax(fabs(low), fabs(high));
    if (!isnan(e->given_linear)) {
        return fmin(fmax(e->given_linear, size * 1e-200), size * 1e6); /* the ratio is a number */
    }
    if (e->log_count == 0 || size == 0) {
        return 1;
    }
    double n = (double)e->log_count, mean = e->logs / n;
    double spread = sqrt(fmax(0, e->log_squares / n - mean * mean));
    double usual = pow(10, floor(mean - spread / 2));
    return fmin(fmax(usual, size * 1e-8), size / 10);
}

static void widen_point(far_axis *a, bool move_low, bool move_high)
{
    double by = fabs(a->low) > 1e-290 ? fabs(a->low) / 10 : 1;
    bool log = a->scale == FAR_SCALE_LOG;
    if (move_low) {
        a->low = log ? a->low / 2 : a->low - by;
    }
    if (move_high) {
        a->high = log ? a->high * 2 : a->high + by;
    }
}

static void pad_axis(far_axis *a, const extent *e)
{
    double low = far_scale_warp(a->scale, a->linear, a->low);
    double high = far_scale_warp(a->scale, a->linear, a->high);
    double by = e->pad * (high - low), least = a->scale == FAR_SCALE_LOG ? 1 / LIMIT : -LIMIT;
    if (isnan(e->given_low) && !(e->grounded && a->low == 0)) {
        a->low = fmax(far_scale_unwarp(a->scale, a->linear, low - by), least);
    }
    if (isnan(e->given_high) && !(e->grounded && a->high == 0)) {
        a->high = fmin(far_scale_unwarp(a->scale, a->linear, high + by), LIMIT);
    }
}

static far_status set_axis(far_ctx *ctx, const char *where, const char *name, const extent *e,
                           far_axis *a)
{
    a->scale = e->scale;
    a->low = isnan(e->given_low) ? e->low : e->given_low;
    a->high = isnan(e->given_high) ? e->high : e->given_high;
    if (isinf(a->low) || isinf(a->high)) {
        return far_fail(ctx, FAR_ERR_VALUE, "nothing to draw: %sno value for the %s can be shown%s",
                        where, name,
                        e->scale == FAR_SCALE_LOG ? " (a log scale takes values above 0)" : "");
    }
    if (a->low > a->high) {
        return far_fail(ctx, FAR_ERR_ARG, "%s%s: the limit that was given lies beyond all values",
                        where, name);
    }
    bool point = a->high - a->low <= fmax(1e-10 * fmax(fabs(a->low), fabs(a->high)), 1e-290);
    if (point) {
        widen_point(a, isnan(e->given_low), isnan(e->given_high));
    }
    a->linear = choose_linear(e, a->low, a->high);
    if (!point) {
        pad_axis(a, e);
    }
    return FAR_OK;
}

/* ---- colours ---- */

static far_status set_colours(far_panel *p, const char *where)
{
    const far_heat_opts *o = &p->heat->heat;
    extent e = empty_extent(o->scale, o->value_min, o->value_max, o->linear);
    take_column(&e, p->heat, FAR_COLUMN_Z);
    far_status st = set_axis(p->ctx, where, "colours", &e, &p->z);
    p->diverging =
        o->map == FAR_MAP_DIVERGING || (o->map == FAR_MAP_AUTO && p->z.low < 0 && p->z.high > 0);
    if (p->diverging && o->scale != FAR_SCALE_LOG && isnan(o->value_min) && isnan(o->value_max)) {
        p->z.high = fmax(fabs(p->z.low), fabs(p->z.high));
        p->z.low = -p->z.high;
    }
    return st;
}

/* ---- sheets ---- */

static bool shares(int share, bool same_line)
{
    return share == FAR_SHARE_ALL || (share == FAR_SHARE_LINE && same_line);
}

static extent shared_x(const far_sheet *sheet, int64_t k)
{
    extent e = x_extent(sheet->panels[k].figure);
    for (int64_t i = 0; i < sheet->rows * sheet->cols; i++) {
        bool with = shares(sheet->figure->grid.share_x, i % sheet->cols == k % sheet->cols);
        if (i != k && sheet->panels[i].figure && with) {
            e = merged(e, x_extent(sheet->panels[i].figure));
        }
    }
    return e;
}

static extent shared_y(const far_sheet *sheet, int64_t k)
{
    extent e = y_extent(sheet->panels[k].figure);
    for (int64_t i = 0; i < sheet->rows * sheet->cols; i++) {
        bool with = shares(sheet->figure->grid.share_y, i / sheet->cols == k / sheet->cols);
        if (i != k && sheet->panels[i].figure && with) {
            e = merged(e, y_extent(sheet->panels[i].figure));
        }
    }
    return e;
}

far_status far_sheet_limits(far_sheet *sheet)
{
    far_status st = FAR_OK;
    for (int64_t k = 0; k < sheet->rows * sheet->cols; k++) {
        far_panel *p = &sheet->panels[k];
        if (!p->figure) {
            continue;
        }
        char where[32] = "";
        if (sheet->figure->panels) {
            snprintf(where, sizeof where, "panel %d, ", (int)k + 1);
        }
        extent x = shared_x(sheet, k), y = shared_y(sheet, k);
        FAR_TRY(set_axis(sheet->ctx, where, "x axis", &x, &p->x));
        FAR_TRY(set_axis(sheet->ctx, where, "y axis", &y, &p->y));
        if (p->heat) {
            FAR_TRY(set_colours(p, where));
        }
    }
done:
    return st;
}

/* ---- what a log axis leaves out ---- */

static bool is_hidden(int scale, const double *column, int64_t i)
{
    return scale == FAR_SCALE_LOG && column && column[i] < 1 / FAR_VALUE_MOST;
}

static bool point_is_hidden(const far_figure *f, const far_mark *layer, int64_t i)
{
    if (layer->kind == FAR_MARK_HEAT) {
        return is_hidden(layer->heat.scale, layer->column[FAR_COLUMN_Z], i);
    }
    bool empty_bin = layer->kind == FAR_MARK_HISTOGRAM && layer->column[FAR_COLUMN_Y][i] == 0;
    return is_hidden(f->opts.x_scale, layer->column[FAR_COLUMN_X], i) ||
           (!empty_bin && is_hidden(f->opts.y_scale, layer->column[FAR_COLUMN_Y], i)) ||
           is_hidden(f->opts.y_scale, layer->column[FAR_COLUMN_HIGH], i);
}

int64_t far_hidden_values(const far_figure *f)
{
    int64_t count = 0;
    for (int64_t k = 0; k < f->layer_count; k++) {
        for (int64_t i = 0; i < f->layers[k].count; i++) {
            count += point_is_hidden(f, &f->layers[k], i);
        }
    }
    return count;
}
