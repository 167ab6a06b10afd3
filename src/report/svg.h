/* Pieces of SVG, appended to a text. */
#ifndef FAR_SVG_H
#define FAR_SVG_H

#include "sheet.h"

/* A number with at most so many decimals, without trailing zeros, whatever the locale. */
void far_put_fixed(far_text *t, double value, int decimals);
/* A place in px. */
void far_put_px(far_text *t, double value);
/* A value for people and scripts: 5 digits that count, JSON; null if not finite. */
void far_put_value(far_text *t, double value);
/* Text for content and attributes of XML: valid whatever the bytes. */
void far_put_escaped_part(far_text *t, const char *text, int64_t length);
/* The same without ^{} and _{}. */
void far_put_plain(far_text *t, const char *text);
/* name="value" with a space before. */
void far_put_number(far_text *t, const char *name, double value);
void far_put_extent(far_text *t, far_box b); /* x, y, width and height */
void far_put_attribute(far_text *t, const char *name, const char *value);

/* How a text stands: anchor -1 starts at x, 0 is centred, 1 ends there; turned by so many degrees
 * about (x, y), which is on the base line of the first line. */
typedef struct far_put_text_opts {
    double size;
    int anchor;
    double turned;
    const char *class;
    bool halo; /* a border in the colour of the paper, to be read over lines */
} far_put_text_opts;
void far_put_lines(far_text *t, const char *text, double x, double y, far_put_text_opts o);

void far_put_segment(far_text *t, double x1, double y1, double x2, double y2, const char *class,
                     double width);
void far_put_box(far_text *t, far_box b, const char *class, double opacity);

/* " class=..." of a mark's stroke or fill. */
void far_put_colour(far_text *t, const far_mark *layer, bool stroke);
/* The same with the opacity of the fill, or the width and dashes of the stroke. */
void far_put_fill(far_text *t, const far_mark *layer, double opacity);
void far_put_stroke(far_text *t, const far_mark *layer, double width);
void far_put_dash(far_text *t, int dash);
double far_mark_width(const far_mark *layer);

/* What ids start with: it hangs on all that the figure holds. */
uint64_t far_figure_hash(const far_figure *figure);

/* ---- parts ---- */

/* One sheet being written. */
typedef struct far_drawing {
    far_text *text;
    const far_sheet *sheet;
    uint64_t hash;
} far_drawing;

/* All layers of a panel. */
far_status far_draw_marks(far_drawing *d, const far_panel *p);
void far_draw_bar(far_drawing *d, const far_panel *p, int64_t index);
void far_draw_key(far_drawing *d, const far_key *key, double font, bool inside);

/* A picture of palette indices as PNG, in base64. 255 colours; index 255 is transparent. */
far_status far_put_png(far_text *t, const unsigned char *pixels, int64_t width, int64_t height,
                       const unsigned char *palette);

/* The whole. theme may not be FAR_THEME_PAGE's sheet: see far_figure_svg. */
far_status far_draw_sheet(far_text *t, const far_sheet *sheet, far_theme theme);

#endif
