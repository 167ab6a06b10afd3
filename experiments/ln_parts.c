/* Parts of figures and tables that several experiments draw. */
#include "ln_toy.h"

#include <math.h>
#include <stdlib.h>

static far_status draw_band(reproduction *r, far_figure *figure, const double *x,
                            const double *mean, const double *half, int64_t n,
                            const far_mark_opts *mark)
{
    double *low = ROOM(n, double), *high = ROOM(n, double);
    for (int64_t i = 0; i < n; i++) {
        low[i] = mean[i] - half[i];
        high[i] = mean[i] + half[i];
    }
    far_status st = far_figure_band(r->ctx, figure, x, low, high, n, mark);
    free(low);
    free(high);
    return st;
}

far_status draw_curve(reproduction *r, far_figure *figure, const double *x, const double *mean,
                      const double *half, int64_t n, int colour, const char *label)
{
    far_mark_opts mark;
    far_mark_opts_init(&mark);
    mark.colour = colour;
    far_status st = FAR_OK;
    if (half && !isnan(half[0])) {
        st = draw_band(r, figure, x, mean, half, n, &mark);
    }
    mark.label = label;
    return st == FAR_OK ? far_figure_line(r->ctx, figure, x, mean, n, &mark) : st;
}

far_status draw_dashed(reproduction *r, far_figure *figure, const double *x, const double *y,
                       int64_t n, int colour, const char *label)
{
    far_mark_opts mark;
    far_mark_opts_init(&mark);
    mark.colour = colour;
    mark.label = label;
    mark.dash = FAR_DASH_DASHED;
    return far_figure_line(r->ctx, figure, x, y, n, &mark);
}

far_status draw_toy(reproduction *r, far_figure *figure, int set)
{
    double x[TOY_POINTS], y[TOY_POINTS];
    far_mark_opts mark;
    far_mark_opts_init(&mark);
    mark.label = "training data";
    mark.colour = FAR_COLOUR_INK;
    mark.width = 7; /* to be seen behind the lines */
    mark.opacity = 0.08;
    toy_fill(set, x, y);
    return far_figure_points(r->ctx, figure, x, y, TOY_POINTS, &mark);
}

far_status keep_drawn(reproduction *r, far_figure *figure, const char *name, const char *caption,
                      far_status st)
{
    if (st != FAR_OK) {
        far_figure_destroy(figure);
        return st;
    }
    return keep_figure(r, figure, name, caption);
}

far_status keep_grid(reproduction *r, far_figure **figures, int64_t rows, int64_t cols,
                     const far_grid_opts *opts, const char *name, const char *caption,
                     far_status st)
{
    far_figure *grid = NULL;
    if (st == FAR_OK) {
        st = far_figure_grid(r->ctx, figures, rows, cols, opts, &grid);
    }
    for (int64_t i = 0; i < rows * cols; i++) {
        far_figure_destroy(figures[i]);
    }
    return keep_drawn(r, grid, name, caption, st);
}

void add_cell(sheet *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    s->cells = room_for_one_more(s->cells, s->count, sizeof *s->cells);
    s->cells[s->count++] = text_of_args(format, args);
    va_end(args);
}

far_status keep_sheet(reproduction *r, sheet *s, const char *name, const char *caption,
                      far_status st)
{
    if (st == FAR_OK) {
        st = keep_table(r, name, caption, s->heads, s->cols, (const char *const *)s->cells,
                        s->count / s->cols);
    }
    for (int64_t i = 0; i < s->count; i++) {
        free(s->cells[i]);
    }
    free(s->cells);
    return st;
}
