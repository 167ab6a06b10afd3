/* Parts of figures and tables that several experiments draw, and points to draw. */
#ifndef FAR_EXPERIMENTS_PARTS_H
#define FAR_EXPERIMENTS_PARTS_H

#include "reproduce.h"

#include <math.h>

/* count equispaced values from first to last; spread_log: their logarithms are. */
void spread(double first, double last, double *out, int64_t count);
void spread_log(double first, double last, double *out, int64_t count);

/* Between the quantiles that leave that many of n values at either end, where a curve through them
 * is but a guess. */
far_status spread_within(reproduction *r, const double *values, int64_t n, double left, double *out,
                         int64_t count);

/* A plain generator: what is drawn hangs on nothing but the seed. In (0, 1), and normal. */
double uniform(uint64_t *state);
double normal(uint64_t *state);

/* Where the largest of n values stands; the first of several. */
int64_t largest_of(const double *values, int64_t n);

/* A function that gives one number of a struct, for means over many of them. */
#define NUMBER_OF(name, type, number)                                                              \
    static double name(const type *of)                                                             \
    {                                                                                              \
        return of->number;                                                                         \
    }

/* A network of that text, the other options as they are by themselves. */
far_status new_net(reproduction *r, const char *arch, int64_t inputs, far_init init, uint64_t seed,
                   far_net **out);
/* A network of that text whose tensors are the first ones of net: what it is without its norms. */
far_status same_weights(reproduction *r, const far_net *net, const char *arch, far_net **out);

/* A certificate of what took at most so many seconds. */
far_status certify_within(reproduction *r, const far_predictor *p, double seconds,
                          far_certificate **out);

/* ---- figures and tables ---- */

/* Options: these, and the rest as the library has them. log_axes: both axes are. width and height
 * NAN: by the number of panels. */
far_figure_opts axes(const char *title, const char *x_label, const char *y_label);
far_figure_opts log_axes(const char *title, const char *x_label, const char *y_label);
far_grid_opts grid_of(double width, double height);
far_mark_opts mark_of(int colour, const char *label);

/* A line with a band of mean +- half about it (none where half is NULL or NAN). colour: of the
 * palette. */
far_status draw_curve(reproduction *r, far_figure *figure, const double *x, const double *mean,
                      const double *half, int64_t n, int colour, const char *label);
/* Dashed, without a band. */
far_status draw_dashed(reproduction *r, far_figure *figure, const double *x, const double *y,
                       int64_t n, int colour, const char *label);
/* Across the whole figure, in ink, with the label (or NULL) beside it. */
far_status draw_rule(reproduction *r, far_figure *figure, far_direction direction, double at,
                     const char *label);
/* Keeps the figure if st is FAR_OK, else destroys it; st, or what went wrong now. */
far_status keep_drawn(reproduction *r, far_figure *figure, const char *name, const char *caption,
                      far_status st);
/* Keeps the figures as one if st is FAR_OK, and destroys them; st, or what went wrong now. */
far_status keep_grid(reproduction *r, far_figure **figures, int64_t rows, int64_t cols,
                     const far_grid_opts *opts, const char *name, const char *caption,
                     far_status st);

/* A table in the making: cells row by row. Zero-initialise but for heads and cols; keep_sheet
 * frees it. */
typedef struct sheet {
    const char *const *heads;
    int64_t cols;
    char **cells;
    int64_t count;
} sheet;
__attribute__((format(printf, 2, 3))) void add_cell(sheet *s, const char *format, ...);
/* Keeps the table if st is FAR_OK, and frees it; st, or what went wrong now. */
far_status keep_sheet(reproduction *r, sheet *s, const char *name, const char *caption,
                      far_status st);

/* Whether ours is theirs to the digits that they give. */
bool same_to(double ours, double theirs, double tolerance);

#endif
