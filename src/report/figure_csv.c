/* The data of a figure as csv. */
#define _GNU_SOURCE
#include "figure_internal.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const NAMES[FAR_COLUMNS] = {"x", "x_to", "y", "low", "high", "z"};

/* Which columns any layer has. */
typedef struct columns {
    bool panel, label, used[FAR_COLUMNS];
} columns;

static void note_columns(const far_figure *f, columns *c)
{
    for (int64_t k = 0; k < f->layer_count; k++) {
        const far_mark *layer = &f->layers[k];
        c->label |= layer->label != NULL;
        for (int i = 0; i < FAR_COLUMNS; i++) {
            c->used[i] |= layer->column[i] != NULL;
        }
        if (layer->kind == FAR_MARK_HEAT) {
            c->used[FAR_COLUMN_X] = c->used[FAR_COLUMN_Y] = true;
        }
    }
}

/* Few digits where few will do; the locale is C here. */
static void put_exactly(far_text *t, double value)
{
    char digits[40] = "";
    for (int precision = 15; precision <= 17 && fabs(value) < INFINITY; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value) {
            break;
        }
    }
    far_text_add(t, "%s", digits);
}

static void put_quoted(far_text *t, const char *text)
{
    if (!strpbrk(text, ",\"\r\n") && text[0] != ' ') {
        far_text_add(t, "%s", text);
        return;
    }
    far_text_add(t, "\"");
    for (const char *s = text; *s; s++) {
        far_text_add(t, *s == '"' ? "\"\"" : "%c", *s);
    }
    far_text_add(t, "\"");
}

static double heat_centre(const far_mark *layer, int column, int64_t i)
{
    const far_heat_opts *o = &layer->heat;
    if (column == FAR_COLUMN_X) {
        double at = ((double)(i % layer->cols) + 0.5) / (double)layer->cols;
        return o->x_min + at * (o->x_max - o->x_min);
    }
    double at = ((double)(i / layer->cols) + 0.5) / (double)layer->rows;
    return o->y_min + at * (o->y_max - o->y_min);
}

static void put_cell(far_text *t, const far_figure *f, const far_mark *layer, int column, int64_t i)
{
    bool centre = column == FAR_COLUMN_X || column == FAR_COLUMN_Y;
    if (layer->kind == FAR_MARK_BARS && column == FAR_COLUMN_X) {
        put_quoted(t, f->opts.categories[i]);
    } else if (layer->column[column]) {
        put_exactly(t, layer->column[column][i]);
    } else if (layer->kind == FAR_MARK_HEAT && centre) {
        put_exactly(t, heat_centre(layer, column, i));
    }
}

static void put_row(far_text *t, const far_figure *f, const far_mark *layer, const columns *c,
                    int64_t panel, int64_t i)
{
    if (c->panel) {
        far_text_add(t, "%lld,", (long long)panel + 1);
    }
    far_text_add(t, "%s", far_mark_name(layer->kind));
    if (c->label) {
        far_text_add(t, ",");
        put_quoted(t, layer->label ? layer->label : "");
    }
    for (int k = 0; k < FAR_COLUMNS; k++) {
        if (c->used[k]) {
            far_text_add(t, ",");
            put_cell(t, f, layer, k, i);
        }
    }
    far_text_add(t, "\n");
}

static void put_head(far_text *t, const columns *c)
{
    far_text_add(t, "%slayer%s", c->panel ? "panel," : "", c->label ? ",label" : "");
    for (int k = 0; k < FAR_COLUMNS; k++) {
        if (c->used[k]) {
            far_text_add(t, ",%s", NAMES[k]);
        }
    }
    far_text_add(t, "\n");
}

static void put_figure(far_text *t, const far_figure *f, const columns *c, int64_t panel)
{
    for (int64_t k = 0; k < f->layer_count; k++) {
        for (int64_t i = 0; t->status == FAR_OK && i < f->layers[k].count; i++) {
            put_row(t, f, &f->layers[k], c, panel, i);
        }
    }
}

far_status far_figure_csv(far_ctx *ctx, const far_figure *figure, char **out)
{
    if (!out) {
        return far_fail(ctx, FAR_ERR_ARG, "out is NULL");
    }
    *out = NULL;
    far_status st = far_figure_check(ctx, figure);
    if (st != FAR_OK) {
        return st;
    }
    far_text t = {.ctx = ctx};
    columns c = {.panel = figure->panels != NULL};
    int64_t count = figure->rows * figure->cols;
    locale_t old = uselocale(newlocale(LC_ALL_MASK, "C", 0)); /* the C locale is static */
    for (int64_t k = 0; k < count; k++) {
        const far_figure *panel = far_figure_panel(figure, k);
        if (panel) {
            note_columns(panel, &c);
        }
    }
    put_head(&t, &c);
    for (int64_t k = 0; k < count; k++) {
        const far_figure *panel = far_figure_panel(figure, k);
        if (panel) {
            put_figure(&t, panel, &c, k);
        }
    }
    uselocale(old);
    if (t.status != FAR_OK) {
        far_free(ctx, t.data);
        return t.status;
    }
    *out = t.data;
    return FAR_OK;
}
