/* What a figure holds. */
#ifndef FAR_FIGURE_INTERNAL_H
#define FAR_FIGURE_INTERNAL_H

#include "../base/base_internal.h"

#include <farfield/plot.h>

/* In the order in which they are drawn. */
typedef enum far_mark_kind {
    FAR_MARK_HEAT,
    FAR_MARK_BAND,
    FAR_MARK_HISTOGRAM,
    FAR_MARK_BARS,
    FAR_MARK_RULE,
    FAR_MARK_POINTS,
    FAR_MARK_LINE,
    FAR_MARK_TEXT,
    FAR_MARK_KINDS
} far_mark_kind;
const char *far_mark_name(int kind);

typedef enum far_mark_column {
    FAR_COLUMN_X,
    FAR_COLUMN_X_TO,
    FAR_COLUMN_Y,
    FAR_COLUMN_LOW,
    FAR_COLUMN_HIGH,
    FAR_COLUMN_Z,
    FAR_COLUMNS
} far_mark_column;

typedef struct far_mark {
    int kind;
    char *label;           /* of a heat map the colour bar's, of a text the text; NULL: none */
    int colour;            /* 0, 1, ... without end, or FAR_COLOUR_INK */
    int dash;              /* never FAR_DASH_AUTO */
    double width, opacity; /* NAN: chosen when drawn */
    int64_t count;         /* values in each column */
    double *column[FAR_COLUMNS]; /* NULL: it has none. A horizontal rule has y alone */
    int align;                   /* of a text */
    int64_t frame;               /* of a film, that shows it; -1: all */
    bool moves;                  /* points of a film: count is frames * those of one */
    int64_t rows, cols;          /* of a heat map */
    far_heat_opts heat;
} far_mark;
/* Frees what it holds. */
void far_mark_clear(far_ctx *ctx, far_mark *layer);

struct far_figure {
    far_ctx *ctx;
    int64_t holders;      /* the caller, and grids */
    far_figure_opts opts; /* its texts are the figure's */
    far_mark *layers;
    int64_t layer_count, layer_capacity;
    int next_colour;
    far_figure **panels; /* of a grid: rows * cols, some NULL; else NULL */
    int64_t rows, cols;  /* 1, 1 without a grid */
    far_grid_opts grid;  /* its texts are in opts */
};

/* "figure is NULL", "options not initialised": what every function checks. */
far_status far_figure_check(far_ctx *ctx, const far_figure *figure);
/* *slot becomes a copy of text; NULL stays NULL. */
far_status far_keep_text(far_ctx *ctx, const char *text, const char **slot);
/* The i-th panel: the figure itself if it is no grid. May be NULL. */
const far_figure *far_figure_panel(const far_figure *figure, int64_t i);

/* The rules for svg.far-light, .far-dark and .far-auto. A page can switch by changing that class.
 */
FAR_NODISCARD far_status far_figure_css(far_ctx *ctx, char **out);
/* The data of all layers, as they were given: a row for each point, with the columns that are in
 * use among panel (from 1, of a grid), layer (its kind), label, x, x_to, y, low, high, z. Numbers
 * read back to the same double; values that are not finite are empty. far_text_free the text. */
FAR_NODISCARD far_status far_figure_csv(far_ctx *ctx, const far_figure *figure, char **out);

#endif
