/* Sheets: panels in rows and columns, their plots in line, and what stands around them. */
#include "sheet.h"

#define PANEL_GAP 14.0
#define AROUND_GAP 6.0 /* between panels and what belongs to all of them */
#define ROUNDS 16      /* ticks and margins depend on each other; they settle sooner */

/* ---- the sheet before its panels ---- */

static bool figure_follows(const far_sheet *sheet, int64_t k, int64_t step, int64_t stop)
{
    for (int64_t i = k + step; i != stop && i >= 0 && i < sheet->rows * sheet->cols; i += step) {
        if (sheet->panels[i].figure) {
            return true;
        }
    }
    return false;
}

/* Numbers and labels of shared axes stand at the outermost panels only. */
static void set_border_roles(far_sheet *sheet, int64_t k)
{
    far_panel *p = &sheet->panels[k];
    const far_grid_opts *g = &sheet->figure->grid;
    bool grid = sheet->figure->panels != NULL;
    int64_t row_start = k / sheet->cols * sheet->cols;
    bool lowest = !figure_follows(sheet, k, sheet->cols, -1);
    bool leftmost = !figure_follows(sheet, k, -1, row_start - 1);
    p->x_numbers = !grid || g->share_x == FAR_SHARE_NONE || lowest;
    p->y_numbers = !grid || g->share_y == FAR_SHARE_NONE || leftmost;
    p->x_titled = p->x_numbers && !(grid && sheet->figure->opts.x_label);
    p->y_titled = p->y_numbers && !(grid && sheet->figure->opts.y_label);
}

static const far_mark *find_heat(const far_figure *f)
{
    for (int64_t k = 0; k < f->layer_count; k++) {
        if (f->layers[k].kind == FAR_MARK_HEAT) {
            return &f->layers[k];
        }
    }
    return NULL;
}

static far_status start_panel(far_sheet *sheet, int64_t k)
{
    far_panel *p = &sheet->panels[k];
    far_status st = FAR_OK;
    bool shared = sheet->figure->panels && sheet->figure->grid.shared_legend;
    if (!p->figure) {
        return FAR_OK;
    }
    p->heat = find_heat(p->figure);
    p->font = sheet->font;
    p->small = sheet->font * 0.92;
    p->key_place = p->figure->opts.legend;
    set_border_roles(sheet, k);
    if (p->key_place != FAR_LEGEND_NONE) {
        st = far_key_gather(sheet->ctx, p->figure, shared ? &sheet->key : &p->key);
    }
    return st;
}

static far_status start_panels(far_sheet *sheet)
{
    far_status st;
    int64_t count = sheet->rows * sheet->cols, layers = 0;
    FAR_TRY(far_alloc(sheet->ctx, count, &sheet->panels));
    for (int64_t k = 0; k < count; k++) {
        sheet->panels[k].ctx = sheet->ctx;
        sheet->panels[k].figure = far_figure_panel(sheet->figure, k);
        layers += sheet->panels[k].figure ? sheet->panels[k].figure->layer_count : 0;
    }
    for (int64_t k = 0; k < count; k++) {
        FAR_TRY(start_panel(sheet, k));
    }
    if (layers == 0) {
        st = far_fail(sheet->ctx, FAR_ERR_VALUE, "nothing to draw: the figure has no layers");
    }
done:
    return st;
}

/* ---- what stands around the panels ---- */

static void add_note(far_text *t, const char *note)
{
    if (note && *note) {
        far_text_add(t, "%s%s", t->length > 0 ? "\n" : "", note);
    }
}

static void add_thinned(far_text *t, const far_figure *f)
{
    for (int64_t k = 0; k < f->layer_count; k++) {
        const far_mark *layer = &f->layers[k];
        if (layer->kind == FAR_MARK_POINTS && layer->count > FAR_DRAWN_POINTS) {
            const char *label = layer->label ? layer->label : "";
            far_text_add(t, "%s%s%sabout %d of %lld points are drawn.", t->length > 0 ? "\n" : "",
                         label, *label ? ": " : "", FAR_DRAWN_POINTS, (long long)layer->count);
        }
    }
}

static far_status write_note(far_sheet *sheet, double width)
{
    far_text t = {.ctx = sheet->ctx};
    far_status st;
    int64_t hidden = 0;
    add_note(&t, sheet->figure->opts.note);
    for (int64_t k = 0; k < sheet->rows * sheet->cols; k++) {
        const far_figure *f = sheet->panels[k].figure;
        if (f) {
            add_note(&t, sheet->figure->panels ? f->opts.note : NULL);
            add_thinned(&t, f);
            hidden += far_hidden_values(f);
        }
    }
    if (hidden > 0) {
        far_text_add(&t, "%s%lld value%s not above 0 cannot be shown on a log scale.",
                     t.length > 0 ? "\n" : "", (long long)hidden, hidden == 1 ? "" : "s");
    }
    FAR_TRY(t.status);
    if (t.data) {
        FAR_TRY(far_wrap(sheet->ctx, t.data, 0.92 * sheet->font, width, &sheet->note));
    }
done:
    far_free(sheet->ctx, t.data);
    return st;
}

static far_status wrap_around(far_sheet *sheet, const char *text, double size, double width,
                              char **out)
{
    return text && *text ? far_wrap(sheet->ctx, text, size, width, out) : FAR_OK;
}

static double height_around(const char *text, double size)
{
    return text ? far_lines_height(text, size) + AROUND_GAP : 0;
}

static far_status surround(far_sheet *sheet)
{
    far_status st;
    const far_figure_opts *o = &sheet->figure->opts;
    double w = o->width - 2 * FAR_BORDER, h = o->height - 2 * FAR_BORDER, f = sheet->font;
    if (sheet->figure->panels) {
        FAR_TRY(wrap_around(sheet, o->title, 1.08 * f, w, &sheet->title));
        FAR_TRY(wrap_around(sheet, o->x_label, f, w, &sheet->x_label));
        FAR_TRY(wrap_around(sheet, o->y_label, f, h, &sheet->y_label));
    }
    FAR_TRY(write_note(sheet, w));
    FAR_TRY(far_key_arrange(sheet->ctx, &sheet->key, 0.92 * f, w, true));
    double left = height_around(sheet->y_label, f), top = height_around(sheet->title, 1.08 * f);
    double below = height_around(sheet->x_label, f) + height_around(sheet->note, 0.92 * f) +
                   (sheet->key.count > 0 ? sheet->key.box.h + 2 * AROUND_GAP : 0);
    sheet->inner = (far_box){FAR_BORDER + left, FAR_BORDER + top, w - left, h - top - below};
    sheet->key.box.x = FAR_BORDER + (w - sheet->key.box.w) / 2;
    sheet->key.box.y =
        sheet->inner.y + sheet->inner.h + height_around(sheet->x_label, f) + 2 * AROUND_GAP;
done:
    return st;
}

/* ---- plots in line ---- */

static double side_of(const far_margins *m, int side)
{
    return side == 0 ? m->left : side == 1 ? m->right : side == 2 ? m->top : m->bottom;
}

/* The largest margin in a column (sides 0 and 1) or row (2 and 3). */
static double margin_of(const far_sheet *sheet, int64_t line, int side)
{
    double most = 0;
    for (int64_t k = 0; k < sheet->rows * sheet->cols; k++) {
        bool in = side < 2 ? k % sheet->cols == line : k / sheet->cols == line;
        if (in && sheet->panels[k].figure) {
            most = fmax(most, side_of(&sheet->panels[k].margin, side));
        }
    }
    return most;
}

static double margins_before(const far_sheet *sheet, int64_t line, int side)
{
    double sum = margin_of(sheet, line, side);
    for (int64_t i = 0; i < line; i++) {
        sum += margin_of(sheet, i, side) + margin_of(sheet, i, side + 1) + PANEL_GAP;
    }
    return sum;
}

static double plot_size(const far_sheet *sheet, bool across)
{
    int64_t lines = across ? sheet->cols : sheet->rows;
    int side = across ? 0 : 2;
    double all = margins_before(sheet, lines - 1, side) + margin_of(sheet, lines - 1, side + 1);
    return ((across ? sheet->inner.w : sheet->inner.h) - all) / (double)lines;
}

static void place_plots(far_sheet *sheet)
{
    double w = fmax(plot_size(sheet, true), FAR_PLOT_LEAST);
    double h = fmax(plot_size(sheet, false), FAR_PLOT_LEAST);
    for (int64_t k = 0; k < sheet->rows * sheet->cols; k++) {
        int64_t row = k / sheet->cols, col = k % sheet->cols;
        sheet->panels[k].plot =
            (far_box){sheet->inner.x + margins_before(sheet, col, 0) + (double)col * w,
                      sheet->inner.y + margins_before(sheet, row, 2) + (double)row * h, w, h};
    }
}

static far_margins larger(far_margins a, far_margins b)
{
    return (far_margins){fmax(a.left, b.left), fmax(a.right, b.right), fmax(a.top, b.top),
                         fmax(a.bottom, b.bottom)};
}

static bool same_margins(far_margins a, far_margins b)
{
    return a.left == b.left && a.right == b.right && a.top == b.top && a.bottom == b.bottom;
}

/* Margins that go back and forth only grow after a while. */
static far_status measure_again(far_panel *p, bool only_grow, bool *changed)
{
    far_margins old = p->margin;
    far_status st = far_panel_measure(p);
    if (only_grow) {
        p->margin = larger(old, p->margin);
    }
    *changed |= !same_margins(old, p->margin);
    return st;
}

static far_status settle(far_sheet *sheet)
{
    far_status st = FAR_OK;
    bool changed = true;
    for (int round = 0; changed && round < ROUNDS; round++) {
        changed = false;
        place_plots(sheet);
        for (int64_t k = 0; k < sheet->rows * sheet->cols; k++) {
            if (sheet->panels[k].figure) {
                FAR_TRY(measure_again(&sheet->panels[k], round > ROUNDS / 4, &changed));
            }
        }
    }
done:
    return st;
}

/* Legends that find no place inside take one outside, and all plots give way. */
static far_status place_keys(far_sheet *sheet, bool *moved)
{
    *moved = false;
    for (int64_t k = 0; k < sheet->rows * sheet->cols; k++) {
        far_panel *p = &sheet->panels[k];
        if (p->figure && p->key.count > 0 && p->key_place == FAR_LEGEND_AUTO) {
            far_status st = far_panel_place_key(p);
            if (st != FAR_OK) {
                return st;
            }
            *moved |= p->key_place != FAR_LEGEND_AUTO;
        }
    }
    return FAR_OK;
}

static far_status check_room(const far_sheet *sheet)
{
    double w = plot_size(sheet, true), h = plot_size(sheet, false);
    const far_figure_opts *o = &sheet->figure->opts;
    if (w >= FAR_PLOT_LEAST && h >= FAR_PLOT_LEAST) {
        return FAR_OK;
    }
    double more_w = fmax(0, (FAR_PLOT_LEAST - w) * (double)sheet->cols);
    double more_h = fmax(0, (FAR_PLOT_LEAST - h) * (double)sheet->rows);
    return far_fail(sheet->ctx, FAR_ERR_ARG,
                    "a figure of %g x %g px has no room for its plots beside the labels; make it "
                    "about %.0f x %.0f, or shorten them",
                    o->width, o->height, ceil(o->width + more_w), ceil(o->height + more_h));
}

/* The widest numbers among labelled y axes in the column of panel k; for rows the highest. */
static double largest_ticks(const far_sheet *sheet, int64_t k, bool across)
{
    double most = 0;
    for (int64_t i = 0; i < sheet->rows * sheet->cols; i++) {
        const far_panel *p = &sheet->panels[i];
        bool with = across ? p->y_label && i % sheet->cols == k % sheet->cols
                           : p->x_label && i / sheet->cols == k / sheet->cols;
        most = with ? fmax(most, across ? p->y_tick_width : p->x_tick_height) : most;
    }
    return most;
}

/* Labels of axes stand in line where the margins allow it, whatever the numbers beside them. */
static void align_labels(far_sheet *sheet)
{
    for (int64_t k = 0; k < sheet->rows * sheet->cols; k++) {
        far_panel *p = &sheet->panels[k];
        if (!p->figure) {
            continue;
        }
        double left = margin_of(sheet, k % sheet->cols, 0) - p->margin.left;
        double below = margin_of(sheet, k / sheet->cols, 3) - p->margin.bottom;
        p->y_tick_width = fmin(largest_ticks(sheet, k, true), p->y_tick_width + left);
        if (p->key.count == 0 || p->key_place != FAR_LEGEND_BELOW) {
            p->x_tick_height = fmin(largest_ticks(sheet, k, false), p->x_tick_height + below);
        }
    }
}

far_status far_sheet_layout(far_ctx *ctx, const far_figure *figure, far_sheet *sheet)
{
    far_status st;
    bool moved;
    sheet->ctx = ctx;
    sheet->figure = figure;
    sheet->rows = figure->rows;
    sheet->cols = figure->cols;
    sheet->font = figure->opts.font;
    FAR_TRY(start_panels(sheet));
    FAR_TRY(far_sheet_limits(sheet));
    FAR_TRY(surround(sheet));
    do {
        FAR_TRY(settle(sheet));
        FAR_TRY(place_keys(sheet, &moved));
    } while (moved);
    FAR_TRY(check_room(sheet));
    align_labels(sheet);
done:
    return st;
}

static void clear_panel(far_panel *p)
{
    for (int64_t i = 0; p->names && i < p->figure->opts.category_count; i++) {
        far_free(p->ctx, p->names[i]);
    }
    FAR_FREE_ALL(p->ctx, p->names, p->title, p->x_label, p->y_label, p->z_label);
    far_key_clear(p->ctx, &p->key);
}

void far_sheet_clear(far_sheet *sheet)
{
    for (int64_t k = 0; sheet->panels && k < sheet->rows * sheet->cols; k++) {
        clear_panel(&sheet->panels[k]);
    }
    FAR_FREE_ALL(sheet->ctx, sheet->panels, sheet->title, sheet->x_label, sheet->y_label,
                 sheet->note);
    far_key_clear(sheet->ctx, &sheet->key);
}
