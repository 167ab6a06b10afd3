/* A sheet as SVG: axes, labels, legends, and the frame around all. */
#include "palette.h"
#include "svg.h"

#include <string.h>

#define LABEL_GAP 6.0

#define FONTS "'DejaVu Sans','Bitstream Vera Sans',Verdana,'Segoe UI',Helvetica,Arial,sans-serif"

/* ---- axes ---- */

/* Light lines behind the data; none under a heat map, none up from categories. */
static void draw_grid_lines(far_drawing *d, const far_panel *p)
{
    far_box b = p->plot;
    if (p->heat) {
        return;
    }
    for (int i = 0; i < p->x.ticks.count; i++) {
        double x = far_axis_place(&p->x, p->x.ticks.tick[i].value);
        far_put_segment(d->text, x, b.y, x, b.y + b.h, "far-grid", 1);
    }
    for (int i = 0; i < p->y.ticks.count; i++) {
        double y = far_axis_place(&p->y, p->y.ticks.tick[i].value);
        far_put_segment(d->text, b.x, y, b.x + b.w, y, "far-grid", 1);
    }
}

/* Bars go up and down from a line within the plot. */
static bool stands_on_zero(const far_panel *p)
{
    bool bars = false;
    for (int64_t k = 0; k < p->figure->layer_count; k++) {
        bars |= p->figure->layers[k].kind == FAR_MARK_BARS;
    }
    return bars && p->y.scale != FAR_SCALE_LOG && p->y.low < 0 && p->y.high > 0;
}

static void draw_spines(far_drawing *d, const far_panel *p)
{
    far_box b = p->plot;
    double right = b.x + b.w, bottom = b.y + b.h;
    far_put_segment(d->text, b.x, bottom, right, bottom, "far-axis", 1);
    far_put_segment(d->text, b.x, b.y, b.x, bottom, "far-axis", 1);
    if (p->heat) {
        far_put_segment(d->text, b.x, b.y, right, b.y, "far-axis", 1);
        far_put_segment(d->text, right, b.y, right, bottom, "far-axis", 1);
    }
    if (stands_on_zero(p)) {
        double zero = far_axis_place(&p->y, 0);
        far_put_segment(d->text, b.x, zero, right, zero, "far-axis", 1);
    }
}

static void draw_x_ticks(far_drawing *d, const far_panel *p)
{
    double bottom = p->plot.y + p->plot.h;
    far_put_text_opts look = {.size = p->small, .class = "far-ink"};
    for (int i = 0; i < p->x.ticks.count; i++) {
        const far_tick *tick = &p->x.ticks.tick[i];
        double x = far_axis_place(&p->x, tick->value);
        far_put_segment(d->text, x, bottom, x, bottom + FAR_TICK_LENGTH, "far-axis", 1);
        if (p->x_numbers) {
            far_put_lines(d->text, tick->label, x,
                          bottom + FAR_TICK_LENGTH + FAR_GAP + FAR_ASCENT * p->small, look);
        }
    }
    for (int i = 0; i < p->x.ticks.minor_count; i++) {
        double x = far_axis_place(&p->x, p->x.ticks.minor[i]);
        far_put_segment(d->text, x, bottom, x, bottom + FAR_TICK_LENGTH / 2, "far-axis", 0.8);
    }
}

static void draw_names(far_drawing *d, const far_panel *p)
{
    double top = p->plot.y + p->plot.h + FAR_TICK_LENGTH + FAR_GAP;
    for (int64_t i = 0; p->x_numbers && i < p->figure->opts.category_count; i++) {
        double x = far_axis_place(&p->x, (double)i);
        far_put_text_opts look = {.size = p->small, .class = "far-ink"};
        if (p->slanted) {
            look.anchor = 1;
            look.turned = -FAR_SLANT;
            x += 0.4 * p->small;
        }
        far_put_lines(d->text, p->names[i], x, top + FAR_ASCENT * p->small, look);
    }
}

static void draw_y_ticks(far_drawing *d, const far_panel *p)
{
    double left = p->plot.x;
    far_put_text_opts look = {.size = p->small, .anchor = 1, .class = "far-ink"};
    for (int i = 0; i < p->y.ticks.count; i++) {
        const far_tick *tick = &p->y.ticks.tick[i];
        double y = far_axis_place(&p->y, tick->value);
        far_put_segment(d->text, left - FAR_TICK_LENGTH, y, left, y, "far-axis", 1);
        if (p->y_numbers) {
            far_put_lines(d->text, tick->label, left - FAR_TICK_LENGTH - FAR_GAP,
                          y + 0.36 * p->small, look);
        }
    }
    for (int i = 0; i < p->y.ticks.minor_count; i++) {
        double y = far_axis_place(&p->y, p->y.ticks.minor[i]);
        far_put_segment(d->text, left - FAR_TICK_LENGTH / 2, y, left, y, "far-axis", 0.8);
    }
}

static void draw_labels(far_drawing *d, const far_panel *p)
{
    far_box b = p->plot;
    far_put_text_opts look = {.size = p->font, .class = "far-ink"};
    if (p->x_label) {
        double y = b.y + b.h + FAR_TICK_LENGTH + (p->x_numbers ? FAR_GAP + p->x_tick_height : 0) +
                   LABEL_GAP;
        far_put_lines(d->text, p->x_label, b.x + b.w / 2, y + FAR_ASCENT * p->font, look);
    }
    if (p->y_label) {
        double x = b.x - FAR_TICK_LENGTH - (p->y_numbers ? FAR_GAP + p->y_tick_width : 0) -
                   LABEL_GAP - far_lines_height(p->y_label, p->font);
        look.turned = -90;
        far_put_lines(d->text, p->y_label, x + FAR_ASCENT * p->font + 0.1 * p->font, b.y + b.h / 2,
                      look);
    }
}

static void draw_title(far_drawing *d, const far_panel *p)
{
    if (p->title) {
        double y = p->plot.y - LABEL_GAP - far_lines_height(p->title, p->font);
        far_put_lines(d->text, p->title, p->plot.x + p->plot.w / 2, y + 0.95 * p->font,
                      (far_put_text_opts){.size = p->font, .class = "far-ink"});
    }
}

/* ---- legends ---- */

static void draw_swatch(far_text *t, const far_mark *layer, far_box b, double opacity)
{
    far_text_add(t, "<rect");
    far_put_colour(t, layer, false);
    far_put_extent(t, b);
    far_put_number(t, "fill-opacity", opacity);
    far_text_add(t, "/>");
    if (layer->kind == FAR_MARK_HISTOGRAM) {
        far_text_add(t, "<path fill=\"none\" stroke-width=\"1.6\"");
        far_put_colour(t, layer, true);
        far_text_add(t, " d=\"M");
        far_put_px(t, b.x);
        far_text_add(t, " ");
        far_put_px(t, b.y);
        far_text_add(t, "h14v10h-14z\"/>");
    }
}

static void draw_stroke(far_text *t, const far_mark *layer, double x, double y, bool dot)
{
    double dot_width = fmin(fmax(far_point_diameter(layer), 5), 9);
    far_text_add(t, "<path fill=\"none\"");
    far_put_colour(t, layer, true);
    far_put_number(t, "stroke-width", dot ? dot_width : far_mark_width(layer));
    far_put_dash(t, dot ? FAR_DASH_SOLID : layer->dash);
    far_text_add(t, dot ? " stroke-linecap=\"round\" d=\"M" : " d=\"M");
    far_put_px(t, dot ? x + FAR_SAMPLE / 2 : x);
    far_text_add(t, " ");
    far_put_px(t, y);
    far_text_add(t, dot ? "h0\"/>" : "h24\"/>");
}

static void draw_sample(far_drawing *d, const far_entry *e, double x, double y)
{
    const far_mark *layer = e->layer;
    far_box wide = {x, y - 5, FAR_SAMPLE, 10}, square = {x + 5, y - 5, 14, 10};
    switch (layer->kind) {
    case FAR_MARK_LINE:
        if (e->banded) {
            draw_swatch(d->text, layer, wide, 0.22);
        }
        draw_stroke(d->text, layer, x, y, false);
        if (e->dotted) {
            draw_stroke(d->text, layer, x, y, true);
        }
        break;
    case FAR_MARK_POINTS:
        draw_stroke(d->text, layer, x, y, true);
        break;
    default:
        draw_swatch(d->text, layer, layer->kind == FAR_MARK_BAND ? wide : square,
                    layer->kind == FAR_MARK_BARS ? 0.88 : 0.22);
    }
}

void far_draw_key(far_drawing *d, const far_key *key, double font, bool inside)
{
    if (key->count == 0) {
        return;
    }
    far_text_add(d->text, "<g class=\"far-legend\">");
    if (inside) {
        far_put_box(d->text, far_box_grown(key->box, FAR_KEY_INSET - 0.5), "far-paper", 0.85);
    }
    for (int64_t i = 0; i < key->count; i++) {
        const far_entry *e = &key->entries[i];
        double x = key->box.x + e->x, y = key->box.y + e->y;
        draw_sample(d, e, x, y + FAR_LINE_HEIGHT * font / 2);
        far_put_lines(d->text, e->text, x + FAR_SAMPLE + 7,
                      y + FAR_LINE_HEIGHT * font / 2 + 0.36 * font,
                      (far_put_text_opts){.size = font, .anchor = -1, .class = "far-ink"});
    }
    far_text_add(d->text, "</g>");
}

/* ---- panels ---- */

/* The names as a JSON array in an attribute. */
static void put_categories(far_text *t, const far_figure_opts *o)
{
    far_text_add(t, " data-categories=\"[");
    for (int64_t i = 0; i < o->category_count; i++) {
        far_text_add(t, i > 0 ? ",&quot;" : "&quot;");
        for (const char *s = o->categories[i]; *s;) {
            const char *letter = s;
            int code = far_utf8_next(&s);
            far_text_add(t, code == '"' || code == '\\' ? "\\" : "");
            far_put_escaped_part(t, letter, s - letter);
        }
        far_text_add(t, "&quot;");
    }
    far_text_add(t, "]\"");
}

static void open_panel(far_drawing *d, const far_panel *p)
{
    far_text *t = d->text;
    const far_figure_opts *o = &p->figure->opts, *all = &d->sheet->figure->opts;
    const char *x = all->x_label ? all->x_label : o->x_label;
    const char *y = all->y_label ? all->y_label : o->y_label;
    far_text_add(t, "<g class=\"far-panel\"");
    far_put_attribute(t, "data-x-label", x ? x : "");
    far_put_attribute(t, "data-y-label", y ? y : "");
    const double frame[] = {p->plot.x, p->plot.y, p->plot.w, p->plot.h};
    far_text_add(t, " data-frame=\"");
    for (int i = 0; i < 4; i++) {
        far_text_add(t, i > 0 ? " " : "");
        far_put_px(t, frame[i]);
    }
    far_text_add(t, "\"");
    if (o->category_count > 0) {
        put_categories(t, o);
    }
    far_text_add(t, ">");
}

static void put_clip(far_drawing *d, const far_panel *p, int64_t index)
{
    far_text_add(d->text, "<clipPath id=\"far-%016llx-p%d\">", (unsigned long long)d->hash,
                 (int)index);
    far_put_box(d->text, p->plot, "far-paper", 1);
    far_text_add(d->text, "</clipPath>");
}

static far_status draw_panel(far_drawing *d, const far_panel *p, int64_t index)
{
    far_text *t = d->text;
    open_panel(d, p);
    put_clip(d, p, index);
    draw_grid_lines(d, p);
    far_text_add(t, "<g clip-path=\"url(#far-%016llx-p%d)\">", (unsigned long long)d->hash,
                 (int)index);
    far_status st = far_draw_marks(d, p);
    far_text_add(t, "</g>");
    if (p->key_place != FAR_LEGEND_NONE) {
        far_draw_key(d, &p->key, p->small, p->key_place == FAR_LEGEND_AUTO);
    }
    draw_spines(d, p);
    draw_x_ticks(d, p);
    draw_names(d, p);
    draw_y_ticks(d, p);
    draw_labels(d, p);
    draw_title(d, p);
    if (p->heat) {
        far_draw_bar(d, p, index);
    }
    far_text_add(t, "</g>\n");
    return st;
}

/* ---- what stands around the panels ---- */

/* From the first plot to the last, without the numbers around them. */
static far_box plots_extent(const far_sheet *sheet)
{
    far_box first = sheet->panels[0].plot, last = sheet->panels[sheet->rows * sheet->cols - 1].plot;
    return (far_box){first.x, first.y, last.x + last.w - first.x, last.y + last.h - first.y};
}

/* Half of a text of that length stays within [from, to]. */
static double centred_within(double centre, double length, double from, double to)
{
    return fmin(fmax(centre, from + length / 2), fmax(from + length / 2, to - length / 2));
}

/* What stands around the panels: the labels that they share, the title, the note. Labels are
 * centred on the plots, but moved to stay on the sheet. */
static void draw_around(far_drawing *d)
{
    const far_sheet *sheet = d->sheet;
    far_box in = sheet->inner, plots = plots_extent(sheet);
    double middle = sheet->figure->opts.width / 2, small = 0.92 * sheet->font;
    far_put_text_opts look = {.size = sheet->font, .class = "far-ink"};
    if (sheet->x_label) {
        double x =
            centred_within(plots.x + plots.w / 2, far_lines_width(sheet->x_label, sheet->font),
                           FAR_BORDER, sheet->figure->opts.width - FAR_BORDER);
        far_put_lines(d->text, sheet->x_label, x, in.y + in.h + 6 + FAR_ASCENT * sheet->font, look);
    }
    if (sheet->title) {
        look.size = 1.08 * sheet->font;
        far_put_lines(d->text, sheet->title, middle, FAR_BORDER + FAR_ASCENT * look.size, look);
    }
    if (sheet->y_label) {
        look.size = sheet->font;
        look.turned = -90;
        double y =
            centred_within(plots.y + plots.h / 2, far_lines_width(sheet->y_label, sheet->font),
                           FAR_BORDER, sheet->figure->opts.height - FAR_BORDER);
        far_put_lines(d->text, sheet->y_label, FAR_BORDER + FAR_ASCENT * sheet->font, y, look);
    }
    far_draw_key(d, &sheet->key, small, false);
    if (sheet->note) {
        double y = sheet->figure->opts.height - FAR_BORDER - far_lines_height(sheet->note, small);
        far_put_lines(d->text, sheet->note, FAR_BORDER, y + FAR_ASCENT * small,
                      (far_put_text_opts){.size = small, .anchor = -1, .class = "far-muted"});
    }
}

/* ---- alt text ---- */

static void describe_series(far_text *t, const far_figure *f)
{
    bool first = true;
    for (int64_t k = 0; k < f->layer_count; k++) {
        const far_mark *layer = &f->layers[k];
        if (layer->label && layer->kind != FAR_MARK_TEXT) {
            far_text_add(t, first ? ": " : ", ");
            far_put_plain(t, layer->label);
            first = false;
        }
    }
}

static void describe_panel(far_text *t, const far_figure *f)
{
    static const char *const WORDS[FAR_MARK_KINDS] = {
        "heat map", "bands", "histogram", "bars", "reference line", "points", "lines", "text"};
    bool first = true;
    for (int kind = 0; kind < FAR_MARK_KINDS; kind++) {
        for (int64_t k = 0; k < f->layer_count; k++) {
            if (f->layers[k].kind == kind && kind != FAR_MARK_TEXT) {
                far_text_add(t, first ? "Plot of %s" : ", %s", WORDS[kind]);
                first = false;
                break;
            }
        }
    }
    if (f->opts.y_label) {
        far_text_add(t, "; ");
        far_put_plain(t, f->opts.y_label);
    }
    if (f->opts.x_label) {
        far_text_add(t, " against ");
        far_put_plain(t, f->opts.x_label);
    }
    describe_series(t, f);
    far_text_add(t, ". ");
}

static void describe(far_drawing *d)
{
    const far_figure *f = d->sheet->figure;
    if (f->opts.description) {
        far_put_plain(d->text, f->opts.description);
        return;
    }
    for (int64_t k = 0; k < f->rows * f->cols; k++) {
        const far_figure *panel = far_figure_panel(f, k);
        if (panel && f->panels && panel->opts.title) {
            far_put_plain(d->text, panel->opts.title);
            far_text_add(d->text, ": ");
        }
        if (panel) {
            describe_panel(d->text, panel);
        }
    }
}

/* ---- the whole ---- */

static void open_svg(far_drawing *d, far_theme theme)
{
    far_text *t = d->text;
    const far_figure_opts *o = &d->sheet->figure->opts;
    unsigned long long id = d->hash;
    far_text_add(t,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"far-figure %s\" role=\"img\" "
                 "aria-labelledby=\"far-%016llx-t far-%016llx-d\"",
                 far_theme_class(theme), id, id);
    far_put_number(t, "width", o->width);
    far_put_number(t, "height", o->height);
    far_text_add(t, " viewBox=\"0 0 ");
    far_put_px(t, o->width);
    far_text_add(t, " ");
    far_put_px(t, o->height);
    far_text_add(t, "\" font-family=\"" FONTS "\"><title id=\"far-%016llx-t\">", id);
    far_put_plain(t, o->title ? o->title : o->y_label ? o->y_label : "figure");
    far_text_add(t, "</title><desc id=\"far-%016llx-d\">", id);
    describe(d);
    far_text_add(t, "</desc>");
    if (theme != FAR_THEME_PAGE) {
        far_text_add(t, "<style>");
        far_put_css(t, theme);
        far_text_add(t, "</style>");
    }
    far_put_box(t, (far_box){0, 0, o->width, o->height}, "far-paper", 1);
    far_text_add(t, "\n");
}

far_status far_draw_sheet(far_text *t, const far_sheet *sheet, far_theme theme)
{
    far_status st = FAR_OK;
    far_drawing d = {t, sheet, far_figure_hash(sheet->figure)};
    open_svg(&d, theme);
    for (int64_t k = 0; k < sheet->rows * sheet->cols; k++) {
        if (sheet->panels[k].figure) {
            FAR_TRY(draw_panel(&d, &sheet->panels[k], k));
        }
    }
    draw_around(&d);
    far_text_add(t, "</svg>\n");
    st = t->status;
done:
    return st;
}
