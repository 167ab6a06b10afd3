/*
 * farfield/plot.h: figures, and the statistics that figures need.
 *
 * A figure is made once, gets layers (lines, bands, points, ...), and is then written as SVG, PNG
 * or csv. Arrays are copied. Layers are drawn by kind, not in the order of the calls: heat map,
 * bands, histograms, bars, rules, points, lines, texts.
 *
 * Values that are not finite (and those beyond 1e300) are gaps in lines, bands and histograms and
 * are left out of points and bars. On a log axis the same holds for values <= 0 (and below 1e-300);
 * a note under the figure then tells how many are not shown. The lower edge of a band may be <= 0
 * there: the band goes down to the axis.
 *
 * Texts are UTF-8. ^{...} and _{...} raise and lower: "10^{-3}", "x_{1}". Long ones are wrapped.
 *
 * The SVG is for files and for pages. Its parts that a page may rely on:
 *   <svg class="far-figure far-light|far-dark|far-auto" role="img"> with <title> and <desc>
 *   <g class="far-panel" data-x-label data-y-label data-frame="left top width height">; with
 *       categories also data-categories, a JSON array of their names
 *   <g class="far-series" data-kind data-label data-fields data-points><title>label</title>...
 * data-kind is line, band, points, histogram, bars, rule, text or heat. data-points is a flat JSON
 * array of numbers (null: missing), as many for each point as data-fields has names, at most
 * FAR_HOVER_POINTS points, of lines and bands at most one a px. The first two fields, px and py,
 * are the place in units of the viewBox; the others are what there is to say about it:
 *   line, points px,py,x,y     band px,py,x,low,high     histogram px,py,from,to,y
 *   bars px,py,x,y,low,high (x counts the categories)    heat px,py,x,y,value
 * Colours are classes only (far-s0 ... strokes, far-f0 ... fills, far-ink, far-muted, far-paper,
 * far-axis, far-grid), so a page may give them others; those of a heat map are its own. The names
 * of ids hang on the content: figures that differ can stand in one page.
 */
#ifndef FARFIELD_PLOT_H
#define FARFIELD_PLOT_H

#include <farfield/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct far_figure far_figure; /* opaque */

typedef enum far_scale {
    FAR_SCALE_LINEAR = 0,
    FAR_SCALE_LOG = 1,
    FAR_SCALE_SYMLOG = 2 /* asinh(v / c): linear about 0, logarithmic to both sides far from it */
} far_scale;

typedef enum far_legend {
    FAR_LEGEND_AUTO = 0, /* where it covers nothing: inside, else to the right, else below */
    FAR_LEGEND_NONE = 1,
    FAR_LEGEND_RIGHT = 2,
    FAR_LEGEND_BELOW = 3
} far_legend;

#define FAR_FIGURE_WIDTH 640.0
#define FAR_FIGURE_HEIGHT 400.0
#define FAR_FIGURE_FONT 13.0
#define FAR_HOVER_POINTS 2000
#define FAR_DRAWN_POINTS 20000 /* of one layer of points; more are thinned, with a note */

typedef struct far_figure_opts {
    size_t size;                   /* set by far_figure_opts_init */
    const char *title;             /* NULL: none; so are the other texts */
    const char *x_label, *y_label; /* with units */
    double width, height;          /* of the whole picture in px, 160 to 10000 (height from 120) */
    double font;                   /* of labels, in px, 6 to 100; ticks are a little smaller */
    far_scale x_scale, y_scale;
    double x_min, x_max;           /* NAN (default): from the data */
    double y_min, y_max;           /* the same, of what is within x_min and x_max */
    double x_linear, y_linear;     /* symlog: c, up to where it is about linear; NAN: from the
                                      data */
    const char *const *categories; /* names for x = 0, 1, ... */
    int64_t category_count;        /* 0: x is a number */
    const char *description;       /* alt text; NULL: made from labels */
    const char *note;              /* small, under the figure */
    far_legend legend;
    int64_t frames;       /* of a film, see far_figure_motion; 0 or 1 (default): none */
    double frame_seconds; /* 0.05 to 60; default 1.5 */
} far_figure_opts;

FAR_API void far_figure_opts_init(far_figure_opts *opts);

/* An empty figure. opts may be NULL. FAR_ERR_ARG: limits that do not ascend, are not finite or, on
 * a log axis, not positive; sizes out of range; categories on an axis that is not linear. */
FAR_API FAR_NODISCARD far_status far_figure_create(far_ctx *ctx, const far_figure_opts *opts,
                                                   far_figure **out);
FAR_API void far_figure_destroy(far_figure *figure); /* NULL is fine */

/* ---- layers: all but heat take a mark, which may be NULL for the defaults ---- */

/* Colours 0 to FAR_COLOURS - 1 are told apart by colour-blind eyes, on light and on dark. Beyond
 * them the next colour starts again, and lines are dashed. */
#define FAR_COLOURS 8
#define FAR_COLOUR_NEXT (-1) /* the next of the palette that this figure has not used */
#define FAR_COLOUR_SAME (-2) /* that of the layer before; bands of a line */
#define FAR_COLOUR_INK (-3)  /* that of the axes */

typedef enum far_dash {
    FAR_DASH_AUTO = 0, /* solid; for rules dashed; see FAR_COLOURS */
    FAR_DASH_SOLID = 1,
    FAR_DASH_DASHED = 2,
    FAR_DASH_DOTTED = 3,
    FAR_DASH_MIXED = 4
} far_dash;

typedef struct far_mark_opts {
    size_t size;       /* set by far_mark_opts_init */
    const char *label; /* for the legend, but of a rule beside it; NULL: none */
    int32_t colour;    /* default FAR_COLOUR_NEXT; of rules and texts FAR_COLOUR_INK */
    far_dash dash;
    double width;   /* of lines, in px; the diameter of points; NAN (default): by their number */
    double opacity; /* 0 to 1, of points and areas; NAN (default): by their number */
    int64_t frame;  /* of a film: the only one that shows this layer; -1 (default): all */
} far_mark_opts;

FAR_API void far_mark_opts_init(far_mark_opts *mark);

/* All layers. FAR_ERR_ARG: something is NULL, a mark that makes no sense, or the figure is a grid.
 * FAR_ERR_SHAPE: no values. */

/* Lines with many points are drawn with those that show. x need not ascend. */
FAR_API FAR_NODISCARD far_status far_figure_line(far_ctx *ctx, far_figure *figure, const double *x,
                                                 const double *y, int64_t n,
                                                 const far_mark_opts *mark);
FAR_API FAR_NODISCARD far_status far_figure_band(far_ctx *ctx, far_figure *figure, const double *x,
                                                 const double *low, const double *high, int64_t n,
                                                 const far_mark_opts *mark);
FAR_API FAR_NODISCARD far_status far_figure_points(far_ctx *ctx, far_figure *figure,
                                                   const double *x, const double *y, int64_t n,
                                                   const far_mark_opts *mark);
/* edges: bins + 1 finite ascending values; counts: bins values >= 0 (or densities). */
FAR_API FAR_NODISCARD far_status far_figure_histogram(far_ctx *ctx, far_figure *figure,
                                                      const double *edges, const double *counts,
                                                      int64_t bins, const far_mark_opts *mark);
/* One bar for each of the figure's categories; several such layers stand side by side. half_widths
 * are those of error bars: NULL for none, NAN for none there. FAR_ERR_SHAPE: n is not the number of
 * categories. */
FAR_API FAR_NODISCARD far_status far_figure_bars(far_ctx *ctx, far_figure *figure,
                                                 const double *values, const double *half_widths,
                                                 int64_t n, const far_mark_opts *mark);

typedef enum far_direction { FAR_HORIZONTAL = 0, FAR_VERTICAL = 1 } far_direction;
/* A line across the figure at y = value (horizontal) or x = value. On a log axis value > 0. */
FAR_API FAR_NODISCARD far_status far_figure_rule(far_ctx *ctx, far_figure *figure,
                                                 int32_t direction, double value,
                                                 const far_mark_opts *mark);
/* A text beside (x, y): align -1 starts there, 0 is centred, 1 ends there. It is moved into the
 * plot where it would leave it. The mark's label does not count. */
FAR_API FAR_NODISCARD far_status far_figure_text(far_ctx *ctx, far_figure *figure, double x,
                                                 double y, const char *text, int32_t align,
                                                 const far_mark_opts *mark);

/* Points of a film: x and y are frames x n, row f the places in frame f, and the points travel from
 * one to the next. A film runs over and over where SVG is shown by a browser; anywhere else (PNG)
 * its last frame is seen, which is also what readers see who prefer reduced motion. The csv has the
 * frame (from 0) as z. FAR_ERR_ARG: the figure has no frames. */
FAR_API FAR_NODISCARD far_status far_figure_motion(far_ctx *ctx, far_figure *figure,
                                                   const double *x, const double *y, int64_t n,
                                                   const far_mark_opts *mark);

typedef enum far_map {
    FAR_MAP_AUTO = 0,       /* diverging where values of both signs are in the limits */
    FAR_MAP_SEQUENTIAL = 1, /* dark blue to yellow; equal steps look equal */
    FAR_MAP_DIVERGING = 2   /* blue, light, brown; unless limits are given, 0 is in the middle */
} far_map;

typedef struct far_heat_opts {
    size_t size;                       /* set by far_heat_opts_init */
    const char *label;                 /* of the colour bar */
    double x_min, x_max, y_min, y_max; /* outer borders of the outer cells; default -0.5, cols -
                                          0.5, -0.5, rows - 0.5 */
    far_scale scale;                   /* of the colours */
    double linear;                     /* symlog: as x_linear */
    double value_min, value_max;       /* NAN: from the values; beyond: the last colour */
    far_map map;
} far_heat_opts;

FAR_API void far_heat_opts_init(far_heat_opts *opts);

/* values: rows x cols, packed, row 0 at the bottom. Beyond 1024 rows or columns neighbours are
 * averaged (on the scale of the colours). Cells that are not finite stay empty; for a log scale
 * also those <= 0, with a note. One for each figure, whose axes must be linear, without
 * categories. */
FAR_API FAR_NODISCARD far_status far_figure_heat(far_ctx *ctx, far_figure *figure,
                                                 const double *values, int64_t rows, int64_t cols,
                                                 const far_heat_opts *opts);

/* ---- several figures as one ---- */

typedef enum far_share {
    FAR_SHARE_NONE = 0,
    FAR_SHARE_LINE = 1, /* x: down each column; y: along each row */
    FAR_SHARE_ALL = 2
} far_share;

typedef struct far_grid_opts {
    size_t size;          /* set by far_grid_opts_init */
    const char *title;    /* of the whole; NULL: none */
    const char *x_label;  /* for all panels, instead of theirs */
    const char *y_label;  /* the same */
    double width, height; /* default NAN: 60 + 230 a column, 70 + 190 a row */
    double font;          /* instead of the figures' own */
    far_share share_x;    /* the same limits, and numbers at the border only */
    far_share share_y;
    int32_t shared_legend; /* 1 (default): one below, entries of the same look and label once */
    const char *description, *note; /* as in far_figure_opts */
} far_grid_opts;

FAR_API void far_grid_opts_init(far_grid_opts *opts);

/* figures: rows * cols of them, row by row; NULL leaves the place empty. Their width, height, font
 * and description do not count. The grid holds on to the figures: destroy them when you like;
 * layers that they get later show up in it. FAR_ERR_ARG: one is a grid itself, or all are NULL. */
FAR_API FAR_NODISCARD far_status far_figure_grid(far_ctx *ctx, far_figure *const *figures,
                                                 int64_t rows, int64_t cols,
                                                 const far_grid_opts *opts, far_figure **out);

/* ---- writing ---- */

typedef enum far_theme {
    FAR_THEME_LIGHT = 0,
    FAR_THEME_DARK = 1,
    FAR_THEME_AUTO = 2, /* as the viewer prefers (prefers-color-scheme); light where it does not
                           say */
    FAR_THEME_PAGE = 3  /* auto without a style sheet: the page has it once */
} far_theme;

/* The same bytes for the same figure. far_text_free the text. FAR_ERR_VALUE: nothing to draw: no
 * layers, or no value that can be shown. FAR_ERR_ARG: labels leave no room for the plot (the
 * message says which size would do). */
FAR_API FAR_NODISCARD far_status far_figure_svg(far_ctx *ctx, const far_figure *figure,
                                                far_theme theme, char **out);

/* By the ending: .svg (auto theme), .png (light theme, two pixels for each px; memory of the
 * renderer is its own), .csv. The file is whole or not there. FAR_ERR_ARG: another ending, or .png
 * where there is no librsvg (FARFIELD_LIBRSVG chooses the file, "librsvg-2.so.2" by default). */
FAR_API FAR_NODISCARD far_status far_figure_save(far_ctx *ctx, const far_figure *figure,
                                                 const char *path);

/* ---- statistics ----
 * Values that are not finite are left out (of pairs, the pair). */

/*
 * Robust locally weighted regression (Cleveland 1979): at each of m grid points a straight line by
 * weighted least squares through the nearest k = fraction n points (at least 2), tricube weights of
 * the distance over that of the k-th nearest; then iterations more times, with bisquare weights of
 * the residuals over 6 times their median. Up to 2000 points residuals are exact; beyond, they come
 * from 1000 fits along the sorted x, joined by straight lines. Where all x that count are the same
 * it is their weighted mean.
 *
 * half_width, if not NULL, gets half the 95% confidence interval of the fit at each grid point:
 * 1.96 times the local standard error sqrt(sum l_i^2 e_i^2), l_i the weight of y_i in the fit and
 * e_i its residual over 1 - l_ii, so the spread may differ along x (a sandwich with HC3's
 * correction). It knows nothing of the bias of smoothing. NAN where fewer than 3 points count.
 *
 * 0 < fraction <= 1; usual are 2/3 and 3 iterations. FAR_ERR_VALUE: fewer than 2 points are
 * finite.  O((n + m) k).
 */
FAR_API FAR_NODISCARD far_status far_lowess(far_ctx *ctx, const double *x, const double *y,
                                            int64_t n, double fraction, int64_t iterations,
                                            const double *grid, int64_t m, double *fitted,
                                            double *half_width);

/* The mean, and half its 95% interval by Student's t (NAN for one value). FAR_ERR_VALUE: no finite
 * value. */
FAR_API FAR_NODISCARD far_status far_mean_interval(far_ctx *ctx, const double *values, int64_t n,
                                                   double *mean, double *half_width);

/* Between order statistics by straight lines: p = 0 is the least, 1 the largest, 0.5 the median.
 * FAR_ERR_VALUE: no finite value. */
FAR_API FAR_NODISCARD far_status far_quantile(far_ctx *ctx, const double *values, int64_t n,
                                              double p, double *out);

#ifdef __cplusplus
}
#endif
#endif
