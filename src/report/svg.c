#include "svg.h"

#include <stdio.h>
#include <string.h>

/* ---- numbers ---- */

void far_put_fixed(far_text *t, double value, int decimals)
{
    static const int64_t ONE[] = {1, 10, 100, 1000, 10000};
    int64_t one = ONE[decimals], units = llround(fmin(fmax(value, -1e9), 1e9) * (double)one);
    int64_t size = units < 0 ? -units : units, rest = size % one;
    char digits[16] = "";
    if (rest != 0) {
        int length = snprintf(digits, sizeof digits, ".%0*lld", decimals, (long long)rest);
        while (digits[length - 1] == '0') {
            digits[--length] = 0;
        }
    }
    far_text_add(t, "%s%lld%s", units < 0 ? "-" : "", (long long)(size / one), digits);
}

void far_put_px(far_text *t, double value)
{
    far_put_fixed(t, value, 2);
}

void far_put_value(far_text *t, double value)
{
    char digits[40];
    if (!(fabs(value) < INFINITY)) {
        far_text_add(t, "null");
        return;
    }
    snprintf(digits, sizeof digits, "%.5g", value);
    for (char *c = digits; *c; c++) {
        *c = *c == ',' ? '.' : *c; /* of the locale */
    }
    far_text_add(t, "%s", digits);
}

/* ---- texts ---- */

static void put_code(far_text *t, int code, const char *bytes, int length)
{
    if (code == '&') {
        far_text_add(t, "&amp;");
    } else if (code == '<') {
        far_text_add(t, "&lt;");
    } else if (code == '>') {
        far_text_add(t, "&gt;");
    } else if (code == '"') {
        far_text_add(t, "&quot;");
    } else if (code < 0x20) {
        far_text_add(t, " ");
    } else if (code == 0xfffd || code == 0xfffe || code == 0xffff) {
        far_text_add(t, "\xef\xbf\xbd");
    } else {
        far_text_add(t, "%.*s", length, bytes);
    }
}

void far_put_escaped_part(far_text *t, const char *text, int64_t length)
{
    for (const char *s = text; s < text + length;) {
        const char *start = s;
        int code = far_utf8_next(&s);
        put_code(t, code, start, (int)(s - start));
    }
}

void far_put_plain(far_text *t, const char *text)
{
    far_run run;
    for (const char *s = text, *end = text + strlen(text); far_run_next(&s, end, &run);) {
        far_put_escaped_part(t, run.text, run.length);
    }
}

void far_put_number(far_text *t, const char *name, double value)
{
    far_text_add(t, " %s=\"", name);
    far_put_px(t, value);
    far_text_add(t, "\"");
}

void far_put_extent(far_text *t, far_box b)
{
    far_put_number(t, "x", b.x);
    far_put_number(t, "y", b.y);
    far_put_number(t, "width", b.w);
    far_put_number(t, "height", b.h);
}

void far_put_attribute(far_text *t, const char *name, const char *value)
{
    far_text_add(t, " %s=\"", name);
    far_put_plain(t, value);
    far_text_add(t, "\"");
}

/* Raised pieces move the pen, and the next piece moves it back. */
static void put_runs(far_text *t, const char *line, int64_t length, double size)
{
    far_run run;
    double shift = 0;
    for (const char *s = line; far_run_next(&s, line + length, &run);) {
        double want = run.level > 0 ? -0.36 * size : run.level < 0 ? 0.2 * size : 0;
        bool plain = want == shift && run.level == 0;
        if (!plain) {
            far_text_add(t, "<tspan");
            far_put_number(t, "dy", want - shift);
            if (run.level) {
                far_put_number(t, "font-size", FAR_SMALL * size);
            }
            far_text_add(t, ">");
        }
        far_put_escaped_part(t, run.text, run.length);
        far_text_add(t, "%s", plain ? "" : "</tspan>");
        shift = want;
    }
}

static void put_line(far_text *t, const char *line, int64_t length, double x, double y,
                     far_put_text_opts o)
{
    static const char *const ANCHOR[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
    far_text_add(t, "<text class=\"%s%s\"", o.class, o.halo ? " far-halo" : "");
    far_put_number(t, "x", x);
    far_put_number(t, "y", y);
    far_put_number(t, "font-size", o.size);
    far_text_add(t, "%s%s%s>", ANCHOR[o.anchor + 1],
                 memchr(line, '{', (size_t)length) ? " xml:space=\"preserve\"" : "", /* at pieces */
                 o.halo ? " paint-order=\"stroke\" stroke-width=\"3\" stroke-linejoin=\"round\""
                        : "");
    put_runs(t, line, length, o.size);
    far_text_add(t, "</text>");
}

void far_put_lines(far_text *t, const char *text, double x, double y, far_put_text_opts o)
{
    const char *line;
    int64_t length;
    if (o.turned != 0) {
        far_text_add(t, "<g transform=\"translate(");
        far_put_px(t, x);
        far_text_add(t, " ");
        far_put_px(t, y);
        far_text_add(t, ") rotate(");
        far_put_px(t, o.turned);
        far_text_add(t, ")\">");
        x = y = 0;
    }
    for (double at = y; far_line_next(&text, &line, &length); at += FAR_LINE_HEIGHT * o.size) {
        put_line(t, line, length, x, at, o);
    }
    far_text_add(t, "%s", o.turned != 0 ? "</g>" : "");
}

/* ---- shapes ---- */

void far_put_segment(far_text *t, double x1, double y1, double x2, double y2, const char *class,
                     double width)
{
    far_text_add(t, "<path class=\"%s\" d=\"M", class);
    far_put_px(t, x1);
    far_text_add(t, " ");
    far_put_px(t, y1);
    bool level = y1 == y2, upright = x1 == x2;
    far_text_add(t, level ? "H" : upright ? "V" : "L");
    if (!upright || level) {
        far_put_px(t, x2);
    }
    far_text_add(t, level || upright ? "" : " ");
    if (!level) {
        far_put_px(t, y2);
    }
    far_text_add(t, "\"");
    far_put_number(t, "stroke-width", width);
    far_text_add(t, "/>");
}

void far_put_box(far_text *t, far_box b, const char *class, double opacity)
{
    far_text_add(t, "<rect class=\"%s\"", class);
    far_put_extent(t, b);
    if (opacity < 1) {
        far_put_number(t, "fill-opacity", opacity);
    }
    far_text_add(t, "/>");
}

/* ---- marks ---- */

void far_put_colour(far_text *t, const far_mark *layer, bool stroke)
{
    if (layer->colour == FAR_COLOUR_INK) {
        far_text_add(t, " class=\"far-%sink\"", stroke ? "s" : "f");
    } else {
        far_text_add(t, " class=\"far-%s%d\"", stroke ? "s" : "f", layer->colour % FAR_COLOURS);
    }
}

void far_put_fill(far_text *t, const far_mark *layer, double opacity)
{
    far_put_colour(t, layer, false);
    far_put_number(t, "fill-opacity", isnan(layer->opacity) ? opacity : layer->opacity);
}

void far_put_stroke(far_text *t, const far_mark *layer, double width)
{
    far_put_colour(t, layer, true);
    far_put_number(t, "stroke-width", width);
    far_put_dash(t, layer->dash);
}

void far_put_dash(far_text *t, int dash)
{
    static const char *const DASH[] = {"", "", "6 4", "1.5 3.5", "8 3.5 1.5 3.5"};
    if (*DASH[dash]) {
        far_text_add(t, " stroke-dasharray=\"%s\"", DASH[dash]);
    }
}

double far_mark_width(const far_mark *layer)
{
    if (!isnan(layer->width)) {
        return layer->width;
    }
    return layer->kind == FAR_MARK_RULE ? 1.2 : FAR_LINE_WIDTH;
}

/* ---- a name for the content ---- */

static void hash_bytes(uint64_t *h, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < bytes; i++) {
        *h = (*h ^ p[i]) * 0x100000001b3u; /* FNV-1a */
    }
}

static void hash_text(uint64_t *h, const char *text)
{
    hash_bytes(h, text ? text : "", text ? strlen(text) + 1 : 1);
}

static void hash_layer(uint64_t *h, const far_mark *layer)
{
    hash_bytes(h, &layer->kind, sizeof layer->kind);
    hash_bytes(h, &layer->colour, sizeof layer->colour);
    hash_text(h, layer->label);
    const far_heat_opts *o = &layer->heat;
    const double numbers[] = {o->x_min,     o->x_max,  o->y_min, o->y_max, o->value_min,
                              o->value_max, o->linear, o->scale, o->map};
    hash_bytes(h, numbers, sizeof numbers);
    for (int i = 0; i < FAR_COLUMNS; i++) {
        if (layer->column[i]) {
            hash_bytes(h, layer->column[i], (size_t)layer->count * sizeof(double));
        }
    }
}

uint64_t far_figure_hash(const far_figure *f)
{
    uint64_t h = 0xcbf29ce484222325u;
    const far_figure_opts *o = &f->opts;
    hash_text(&h, o->title);
    hash_text(&h, o->x_label);
    hash_text(&h, o->y_label);
    hash_text(&h, o->note);
    const double numbers[] = {
        o->width,    o->height, o->font,         o->x_min,        o->x_max,
        o->y_min,    o->y_max,  o->x_scale,      o->y_scale,      o->x_linear,
        o->y_linear, o->legend, f->grid.share_x, f->grid.share_y, f->grid.shared_legend};
    hash_bytes(&h, numbers, sizeof numbers);
    for (int64_t i = 0; i < o->category_count; i++) {
        hash_text(&h, o->categories[i]);
    }
    for (int64_t k = 0; k < f->layer_count; k++) {
        hash_layer(&h, &f->layers[k]);
    }
    for (int64_t k = 0; f->panels && k < f->rows * f->cols; k++) {
        uint64_t inner = f->panels[k] ? far_figure_hash(f->panels[k]) : 0;
        hash_bytes(&h, &inner, sizeof inner);
    }
    return h;
}
