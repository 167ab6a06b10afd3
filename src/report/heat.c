/* Heat maps: the matrix as a picture, and the bar that tells what its colours mean. */
#include "marks.h"
#include "palette.h"

#define CELLS_MOST 1024 /* along each side */
#define COLOURS 255
#define EMPTY 255
#define PIXELS_PER_PX 2
#define STOPS 16

/* Where row or column i of `shown` starts among `all`. */
static int64_t part_start(int64_t i, int64_t shown, int64_t all)
{
    return i * all / shown;
}

/* The colour of the mean over a block of cells, on the scale of colours. */
static unsigned char block_colour(const far_panel *p, int64_t row, int64_t row_end, int64_t col,
                                  int64_t col_end)
{
    const far_mark *heat = p->heat;
    double sum = 0, n = 0;
    for (int64_t i = row; i < row_end; i++) {
        for (int64_t j = col; j < col_end; j++) {
            double value = heat->column[FAR_COLUMN_Z][i * heat->cols + j];
            if (far_scale_shows(p->z.scale, value)) {
                sum += far_scale_warp(p->z.scale, p->z.linear, value);
                n++;
            }
        }
    }
    if (n == 0) {
        return EMPTY;
    }
    double low = far_scale_warp(p->z.scale, p->z.linear, p->z.low);
    double high = far_scale_warp(p->z.scale, p->z.linear, p->z.high);
    double share = fmin(fmax((sum / n - low) / (high - low), 0), 1);
    return (unsigned char)lround(share * (COLOURS - 1));
}

typedef struct picture {
    unsigned char *pixels;
    int64_t rows, cols;     /* of cells shown */
    int64_t zoom_y, zoom_x; /* pixels of each: sharp borders, whatever scales the picture */
} picture;

static void paint_cell(picture *pic, int64_t row, int64_t col, unsigned char colour)
{
    int64_t width = pic->cols * pic->zoom_x;
    int64_t top = (pic->rows - 1 - row) * pic->zoom_y; /* row 0 is at the bottom */
    for (int64_t y = top; y < top + pic->zoom_y; y++) {
        for (int64_t x = col * pic->zoom_x; x < (col + 1) * pic->zoom_x; x++) {
            pic->pixels[y * width + x] = colour;
        }
    }
}

static int64_t zoom_for(double px, int64_t cells)
{
    return (int64_t)fmin(512, fmax(1, ceil(PIXELS_PER_PX * px / (double)cells)));
}

static far_status paint(far_ctx *ctx, const far_panel *p, far_box box, picture *pic)
{
    const far_mark *heat = p->heat;
    pic->rows = heat->rows < CELLS_MOST ? heat->rows : CELLS_MOST;
    pic->cols = heat->cols < CELLS_MOST ? heat->cols : CELLS_MOST;
    pic->zoom_x = zoom_for(box.w, pic->cols);
    pic->zoom_y = zoom_for(box.h, pic->rows);
    far_status st = far_alloc(ctx, pic->rows * pic->zoom_y * pic->cols * pic->zoom_x, &pic->pixels);
    for (int64_t i = 0; st == FAR_OK && i < pic->rows; i++) {
        int64_t row = part_start(i, pic->rows, heat->rows);
        int64_t row_end = part_start(i + 1, pic->rows, heat->rows);
        for (int64_t j = 0; j < pic->cols; j++) {
            paint_cell(pic, i, j,
                       block_colour(p, row, row_end, part_start(j, pic->cols, heat->cols),
                                    part_start(j + 1, pic->cols, heat->cols)));
        }
    }
    return st;
}

static void fill_palette(const far_panel *p, unsigned char *palette)
{
    for (int i = 0; i < COLOURS; i++) {
        far_rgb c = far_map_colour(p->diverging, i / (COLOURS - 1.0));
        palette[3 * i] = c.r;
        palette[3 * i + 1] = c.g;
        palette[3 * i + 2] = c.b;
    }
}

/* Where the map lies; huge when the limits show a small part of it. */
static far_box heat_box(const far_panel *p)
{
    const far_heat_opts *o = &p->heat->heat;
    double left = far_axis_place(&p->x, o->x_min), right = far_axis_place(&p->x, o->x_max);
    double top = far_axis_place(&p->y, o->y_max), bottom = far_axis_place(&p->y, o->y_min);
    return (far_box){left, top, right - left, bottom - top};
}

static void put_heat_hover(far_drawing *d, const far_panel *p)
{
    const far_mark *heat = p->heat;
    const far_heat_opts *o = &heat->heat;
    bool first = true;
    int64_t step = (int64_t)ceil(sqrt((double)heat->count / FAR_HOVER_POINTS));
    int64_t down = heat->rows < step ? 1 : step, right = heat->cols < step ? 1 : step;
    for (int64_t i = down / 2; i < heat->rows; i += down) {
        for (int64_t j = right / 2; j < heat->cols; j += right) {
            double x = o->x_min + ((double)j + 0.5) / (double)heat->cols * (o->x_max - o->x_min);
            double y = o->y_min + ((double)i + 0.5) / (double)heat->rows * (o->y_max - o->y_min);
            const double values[] = {x, y, heat->column[FAR_COLUMN_Z][i * heat->cols + j]};
            far_put_hover(d->text, first, far_axis_place(&p->x, x), far_axis_place(&p->y, y),
                          values, 3);
            first = false;
        }
    }
}

far_status far_draw_heat(far_drawing *d, const far_panel *p, const far_mark *layer)
{
    far_text *t = d->text;
    far_box box = heat_box(p);
    picture pic = {0};
    unsigned char palette[768] = {0};
    far_status st;
    FAR_TRY(paint(t->ctx, p, box, &pic));
    fill_palette(p, palette);
    far_series_open(d, layer, "px,py,x,y,value");
    put_heat_hover(d, p);
    far_series_opened(d, layer, "");
    far_text_add(t, "<image preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\"");
    far_put_extent(t, box);
    far_text_add(t, " href=\"data:image/png;base64,");
    FAR_TRY(far_put_png(t, pic.pixels, pic.cols * pic.zoom_x, pic.rows * pic.zoom_y, palette));
    far_text_add(t, "\"/></g>");
done:
    far_free(t->ctx, pic.pixels);
    return st;
}

/* ---- the bar ---- */

static void put_gradient(far_drawing *d, const far_panel *p, int64_t index)
{
    far_text_add(d->text,
                 "<linearGradient id=\"far-%016llx-c%d\" x1=\"0\" y1=\"1\" x2=\"0\" y2=\"0\">",
                 (unsigned long long)d->hash, (int)index);
    for (int i = 0; i <= STOPS; i++) {
        far_rgb c = far_map_colour(p->diverging, i / (double)STOPS);
        far_text_add(d->text, "<stop offset=\"");
        far_put_fixed(d->text, i / (double)STOPS, 4);
        far_text_add(d->text, "\" stop-color=\"#%02x%02x%02x\"/>", c.r, c.g, c.b);
    }
    far_text_add(d->text, "</linearGradient>");
}

static void put_bar_ticks(far_drawing *d, const far_panel *p)
{
    far_text *t = d->text;
    double right = p->bar.x + p->bar.w;
    const far_ticks *ticks = &p->z.ticks;
    far_put_text_opts look = {.size = p->small, .anchor = -1, .class = "far-ink"};
    for (int i = 0; i < ticks->count; i++) {
        double y = far_axis_place(&p->z, ticks->tick[i].value);
        far_put_segment(t, right, y, right + FAR_TICK_LENGTH, y, "far-axis", 1);
        far_put_lines(t, ticks->tick[i].label, right + FAR_TICK_LENGTH + FAR_GAP,
                      y + 0.36 * p->small, look);
    }
    for (int i = 0; i < ticks->minor_count; i++) {
        double y = far_axis_place(&p->z, ticks->minor[i]);
        far_put_segment(t, right, y, right + FAR_TICK_LENGTH / 2, y, "far-axis", 0.8);
    }
}

void far_draw_bar(far_drawing *d, const far_panel *p, int64_t index)
{
    far_text *t = d->text;
    put_gradient(d, p, index);
    far_text_add(t, "<rect class=\"far-axis\"");
    far_put_extent(t, p->bar);
    far_text_add(t, " stroke-width=\"0.8\" fill=\"url(#far-%016llx-c%d)\"/>",
                 (unsigned long long)d->hash, (int)index);
    put_bar_ticks(d, p);
    if (p->z_label) {
        double x = p->bar.x + p->bar.w + FAR_TICK_LENGTH + FAR_GAP + p->z_tick_width + 6 +
                   FAR_ASCENT * p->font;
        far_put_lines(t, p->z_label, x, p->plot.y + p->plot.h / 2,
                      (far_put_text_opts){.size = p->font, .turned = -90, .class = "far-ink"});
    }
}
