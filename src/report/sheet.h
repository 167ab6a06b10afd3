/* A figure laid out: where everything goes, before anything is drawn. One figure is a sheet with
 * one panel, a grid a sheet with several. Places are in px from the upper left corner. */
#ifndef FAR_SHEET_H
#define FAR_SHEET_H

#include "axis.h"
#include "figure_internal.h"
#include "lettering.h"

typedef struct far_box {
    double x, y, w, h;
} far_box;

/* ---- sizes in px that do not follow the font ---- */

#define FAR_TICK_LENGTH 4.0
#define FAR_GAP 4.0        /* between a tick and its label */
#define FAR_BORDER 8.0     /* around everything */
#define FAR_BAR_WIDTH 13.0 /* of a colour bar */
#define FAR_BAR_GAP 12.0   /* between plot and colour bar */
#define FAR_SAMPLE 24.0    /* of a line in a legend */
#define FAR_LINE_WIDTH 1.8 /* of data */
#define FAR_SLANT 38.0     /* of category names that do not fit, in degrees */

/* ---- legends ---- */

#define FAR_KEY_INSET 8.0 /* from the border of the plot */

typedef struct far_entry {
    const far_mark *layer;
    bool dotted;       /* a line with points of its colour */
    bool banded;       /* a line with a band of its colour */
    char *text;        /* the label, wrapped */
    double x, y, w, h; /* within the legend */
} far_entry;

typedef struct far_key {
    far_entry *entries;
    int64_t count, capacity;
    far_box box; /* without a place where there are no entries */
    bool inside;
} far_key;

/* Adds the labelled layers of a figure that are not there yet. */
far_status far_key_gather(far_ctx *ctx, const far_figure *figure, far_key *key);
/* Sets the size of the box: in a column, or in rows up to width wide. */
far_status far_key_arrange(far_ctx *ctx, far_key *key, double font, double width, bool in_rows);
void far_key_clear(far_ctx *ctx, far_key *key);

/* ---- panels ---- */

typedef struct far_margins {
    double left, right, top, bottom;
} far_margins;

typedef struct far_panel {
    far_ctx *ctx;
    const far_figure *figure; /* NULL: the place stays empty */
    double font, small;       /* of labels, of ticks */
    far_axis x, y, z;         /* z: of colours */
    const far_mark *heat;     /* NULL: none */
    bool diverging;
    bool x_numbers, y_numbers;                 /* whether ticks have labels */
    bool x_titled, y_titled;                   /* whether the axes have theirs */
    char *title, *x_label, *y_label, *z_label; /* wrapped; NULL: none */
    char **names;                              /* categories, wrapped */
    bool slanted;
    double x_tick_height, y_tick_width, z_tick_width; /* of the labels */
    far_margins margin;
    far_box plot, bar; /* bar: of the colours */
    far_key key;
    int key_place; /* a far_legend; AUTO: inside */
} far_panel;

typedef struct far_sheet {
    far_ctx *ctx;
    const far_figure *figure;
    int64_t rows, cols;
    far_panel *panels; /* rows * cols */
    double font;
    char *title, *x_label, *y_label, *note; /* wrapped; NULL: none */
    far_box inner;                          /* what is left for panels */
    far_key key;                            /* the shared one */
} far_sheet;

/* Zero-initialise; clear also on failure. */
far_status far_sheet_layout(far_ctx *ctx, const far_figure *figure, far_sheet *sheet);
void far_sheet_clear(far_sheet *sheet);

/* Low and high of all axes. */
far_status far_sheet_limits(far_sheet *sheet);
/* Values of a figure that its log axes cannot show. */
int64_t far_hidden_values(const far_figure *figure);

/* Ticks, labels and margins of a panel for the plot it has now. */
far_status far_panel_measure(far_panel *p);
/* The least width of a plot that the panel can do with. */
#define FAR_PLOT_LEAST 50.0
/* Finds a place for the legend in the plot; if there is none, decides on another. */
far_status far_panel_place_key(far_panel *p);

/* ---- where marks are ---- */

double far_point_diameter(const far_mark *layer);
/* Bars of a layer stand side by side with those of others: the i-th one, from 0 to its value. */
far_box far_bar_box(const far_panel *p, const far_mark *layer, int64_t i);
far_box far_bin_box(const far_panel *p, const far_mark *layer, int64_t i);
far_box far_text_box(const far_panel *p, const far_mark *layer);
/* The i-th point of a line or layer of points; false: it is not shown. */
bool far_point_place(const far_panel *p, const far_mark *layer, int64_t i, double *x, double *y);
/* Of a band: y of its lower and upper edge. */
bool far_band_place(const far_panel *p, const far_mark *layer, int64_t i, double *x, double *low,
                    double *high);
bool far_boxes_meet(far_box a, far_box b);
far_box far_box_grown(far_box b, double by);
/* The part of a segment in a box, in place; false: there is none. */
bool far_clip_segment(far_box b, double *x1, double *y1, double *x2, double *y2);
/* Whether anything of the data lies in the box. rules: also reference lines. */
bool far_panel_hits(const far_panel *p, far_box box, bool rules);

#endif
