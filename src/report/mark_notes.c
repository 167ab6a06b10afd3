/* Reference lines and texts as SVG. */
#include "marks.h"

#include <stdio.h>
#include <string.h>

/* ---- rules and texts ---- */

far_status far_draw_rule(far_drawing *d, const far_panel *p, const far_mark *layer)
{
    far_text *t = d->text;
    far_box b = p->plot;
    far_series_open(d, layer, NULL);
    far_series_opened(d, layer, NULL);
    far_place a = {b.x, b.y}, c = {b.x + b.w, b.y + b.h};
    if (layer->column[FAR_COLUMN_X]) {
        a.x = c.x = far_axis_place(&p->x, layer->column[FAR_COLUMN_X][0]);
    } else {
        a.y = c.y = far_axis_place(&p->y, layer->column[FAR_COLUMN_Y][0]);
    }
    far_text_add(t, "<path");
    far_put_stroke(t, layer, far_mark_width(layer));
    far_text_add(t, " fill=\"none\" d=\"");
    far_put_line(t, (far_place[]){a, c}, 2, far_box_grown(b, 1));
    far_text_add(t, "\"/></g>");
    return t->status;
}

static far_put_text_opts text_look(const far_mark *layer, double size, char *class, size_t bytes)
{
    if (layer->colour == FAR_COLOUR_INK) {
        snprintf(class, bytes, "far-muted");
    } else {
        snprintf(class, bytes, "far-f%d", layer->colour % FAR_COLOURS);
    }
    return (far_put_text_opts){.size = size, .class = class, .halo = true};
}

far_status far_draw_text(far_drawing *d, const far_panel *p, const far_mark *layer)
{
    char class[32];
    far_put_text_opts look = text_look(layer, p->small, class, sizeof class);
    far_box b = far_text_box(p, layer);
    look.anchor = layer->align;
    double x = b.x + b.w * (layer->align + 1) / 2;
    far_series_open(d, layer, NULL);
    far_series_opened(d, layer, NULL);
    far_put_lines(d->text, layer->label, x, b.y + FAR_ASCENT * p->small + 0.1 * p->small, look);
    far_text_add(d->text, "</g>");
    return d->text->status;
}

/* ---- labels of rules ---- */

/* Where along a rule its label may start, the liked ones first: parts of what is left beside it. */
static const double ALONG[] = {1, 0, 0.5, 0.25, 0.75, 0.125, 0.375, 0.625, 0.875};
#define CHOICES (2 * (int)(sizeof ALONG / sizeof ALONG[0]))

static double rule_place(const far_panel *p, const far_mark *layer)
{
    return layer->column[FAR_COLUMN_X] ? far_axis_place(&p->x, layer->column[FAR_COLUMN_X][0])
                                       : far_axis_place(&p->y, layer->column[FAR_COLUMN_Y][0]);
}

/* Above a level rule, then below; right of an upright one, top first, then left. */
static far_box label_box(const far_panel *p, const far_mark *layer, int choice)
{
    double w = far_text_width(layer->label, (int64_t)strlen(layer->label), p->small);
    double h = FAR_LINE_HEIGHT * p->small, gap = 3, at = rule_place(p, layer);
    double along = ALONG[choice / 2];
    bool first = choice % 2 == 0;
    far_box b = p->plot;
    if (layer->column[FAR_COLUMN_X]) {
        return (far_box){first ? at + gap : at - gap - w,
                         b.y + gap + (1 - along) * (b.h - h - 2 * gap), w, h};
    }
    return (far_box){b.x + gap + along * (b.w - w - 2 * gap), first ? at - h - 1 : at + 1, w, h};
}

static bool inside(far_box a, far_box b)
{
    return a.x >= b.x && a.y >= b.y && a.x + a.w <= b.x + b.w && a.y + a.h <= b.y + b.h;
}

static bool label_is_free(const far_panel *p, far_box box)
{
    bool on_key = p->key.count > 0 && p->key_place == FAR_LEGEND_AUTO &&
                  far_boxes_meet(box, far_box_grown(p->key.box, FAR_GAP));
    return !on_key && inside(box, p->plot) && !far_panel_hits(p, box, false);
}

/* The first free place; else the first that lies in the plot, if any does. */
static far_box place_label(const far_panel *p, const far_mark *layer)
{
    for (int i = 0; i < CHOICES; i++) {
        far_box box = label_box(p, layer, i);
        if (label_is_free(p, box)) {
            return box;
        }
    }
    for (int i = 0; i < CHOICES; i++) {
        far_box box = label_box(p, layer, i);
        if (inside(box, p->plot)) {
            return box;
        }
    }
    return label_box(p, layer, 0);
}

void far_draw_rule_label(far_drawing *d, const far_panel *p, const far_mark *layer)
{
    char class[32];
    far_put_text_opts look = text_look(layer, p->small, class, sizeof class);
    far_box box = place_label(p, layer);
    if (!inside(box, p->plot)) {
        return; /* the rule is out of sight, or the label larger than the plot */
    }
    look.anchor = -1;
    far_put_lines(d->text, layer->label, box.x, box.y + (FAR_ASCENT + 0.12) * p->small, look);
}
