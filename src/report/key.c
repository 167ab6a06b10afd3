/* Legends: what is in them, how large they are, where they go. */
#include "sheet.h"

#include <string.h>

#define ROW_GAP 3.0
#define COLUMN_GAP 18.0
#define TEXT_GAP 7.0 /* between a sample and its text */

static bool has_entry(const far_mark *layer)
{
    return layer->label && layer->kind != FAR_MARK_RULE && layer->kind != FAR_MARK_TEXT &&
           layer->kind != FAR_MARK_HEAT;
}

/* Whether a line comes with a layer of its colour that has no label of its own. */
static bool has_company(const far_figure *f, const far_mark *line, int kind)
{
    for (int64_t k = 0; line->kind == FAR_MARK_LINE && k < f->layer_count; k++) {
        const far_mark *layer = &f->layers[k];
        if (layer->kind == kind && layer->colour == line->colour && !layer->label) {
            return true;
        }
    }
    return false;
}

static bool same_look(const far_mark *a, const far_mark *b)
{
    return a->kind == b->kind && a->colour == b->colour && a->dash == b->dash &&
           strcmp(a->label, b->label) == 0;
}

static far_entry *find_entry(far_key *key, const far_mark *layer)
{
    for (int64_t i = 0; i < key->count; i++) {
        if (same_look(key->entries[i].layer, layer)) {
            return &key->entries[i];
        }
    }
    return NULL;
}

static far_status add_entry(far_ctx *ctx, far_key *key, far_entry entry)
{
    far_entry *old = find_entry(key, entry.layer);
    if (old) {
        old->banded |= entry.banded;
        old->dotted |= entry.dotted;
        return FAR_OK;
    }
    if (key->count == key->capacity) {
        int64_t capacity = 2 * key->capacity + 8;
        far_status st = far_grow(ctx, key->count, capacity, &key->entries);
        if (st != FAR_OK) {
            return st;
        }
        key->capacity = capacity;
    }
    key->entries[key->count++] = entry;
    return FAR_OK;
}

far_status far_key_gather(far_ctx *ctx, const far_figure *figure, far_key *key)
{
    far_status st = FAR_OK;
    for (int64_t k = 0; st == FAR_OK && k < figure->layer_count; k++) {
        const far_mark *layer = &figure->layers[k];
        if (has_entry(layer)) {
            far_entry entry = {.layer = layer,
                               .dotted = has_company(figure, layer, FAR_MARK_POINTS),
                               .banded = has_company(figure, layer, FAR_MARK_BAND)};
            st = add_entry(ctx, key, entry);
        }
    }
    return st;
}

static far_status measure_entry(far_ctx *ctx, far_entry *e, double font, double width)
{
    far_free(ctx, e->text);
    far_status st = far_wrap(ctx, e->layer->label, font, width - FAR_SAMPLE - TEXT_GAP, &e->text);
    e->w = FAR_SAMPLE + TEXT_GAP + far_lines_width(e->text, font);
    e->h = far_lines_height(e->text, font);
    return st;
}

static void put_in_column(far_key *key)
{
    double y = 0, width = 0;
    for (int64_t i = 0; i < key->count; i++) {
        key->entries[i].x = 0;
        key->entries[i].y = y;
        y += key->entries[i].h + ROW_GAP;
        width = fmax(width, key->entries[i].w);
    }
    key->box.w = width;
    key->box.h = y - ROW_GAP;
}

static void put_in_rows(far_key *key, double most)
{
    double x = 0, y = 0, height = 0, width = 0;
    for (int64_t i = 0; i < key->count; i++) {
        far_entry *e = &key->entries[i];
        if (x > 0 && x + e->w > most) {
            x = 0;
            y += height + ROW_GAP;
            height = 0;
        }
        e->x = x;
        e->y = y;
        width = fmax(width, x + e->w);
        height = fmax(height, e->h);
        x += e->w + COLUMN_GAP;
    }
    key->box.w = width;
    key->box.h = y + height;
}

far_status far_key_arrange(far_ctx *ctx, far_key *key, double font, double width, bool in_rows)
{
    far_status st = FAR_OK;
    for (int64_t i = 0; st == FAR_OK && i < key->count; i++) {
        st = measure_entry(ctx, &key->entries[i], font, width);
    }
    if (st == FAR_OK && key->count > 0) {
        if (in_rows) {
            put_in_rows(key, width);
        } else {
            put_in_column(key);
        }
    }
    return st;
}

void far_key_clear(far_ctx *ctx, far_key *key)
{
    for (int64_t i = 0; i < key->count; i++) {
        far_free(ctx, key->entries[i].text);
    }
    far_free(ctx, key->entries);
}

/* ---- where ---- */

/* Corners first, then the middles of the sides: parts of what is left beside the box. */
static const double SPOT[][2] = {{1, 0},   {0, 0},   {1, 1},   {0, 1},
                                 {0.5, 0}, {0.5, 1}, {1, 0.5}, {0, 0.5}};

static far_box box_at(const far_panel *p, int spot)
{
    double w = p->key.box.w, h = p->key.box.h;
    return (far_box){
        p->plot.x + FAR_KEY_INSET + SPOT[spot][0] * (p->plot.w - 2 * FAR_KEY_INSET - w),
        p->plot.y + FAR_KEY_INSET + SPOT[spot][1] * (p->plot.h - 2 * FAR_KEY_INSET - h), w, h};
}

/* The first spot with much room around it, else one with a little. */
static bool find_spot(far_panel *p)
{
    static const double ROOM[] = {14, 4};
    if (p->key.box.w > 0.6 * p->plot.w || p->key.box.h > 0.6 * p->plot.h) {
        return false;
    }
    for (int r = 0; r < 2; r++) {
        for (int i = 0; i < (int)(sizeof SPOT / sizeof SPOT[0]); i++) {
            far_box box = box_at(p, i);
            if (!far_panel_hits(p, far_box_grown(box, ROOM[r]), true)) {
                p->key.box = box;
                return true;
            }
        }
    }
    return false;
}

far_status far_panel_place_key(far_panel *p)
{
    far_status st = far_key_arrange(p->ctx, &p->key, p->small, 0.6 * p->plot.w, false);
    if (st != FAR_OK || p->key_place != FAR_LEGEND_AUTO || find_spot(p)) {
        return st;
    }
    bool narrow = p->key.box.w > 0.3 * p->plot.w || p->plot.w < 300;
    p->key_place = narrow ? FAR_LEGEND_BELOW : FAR_LEGEND_RIGHT;
    return FAR_OK;
}
