/* Parts of figures and tables that several experiments draw, and points to draw. */
#ifndef FAR_EXPERIMENTS_PARTS_H
#define FAR_EXPERIMENTS_PARTS_H

#include "reproduce.h"

/* count equispaced values from first to last; spread_log: their logarithms are. */
void spread(double first, double last, double *out, int64_t count);
void spread_log(double first, double last, double *out, int64_t count);

/* A plain generator: what is drawn hangs on nothing but the seed. In (0, 1), and normal. */
double uniform(uint64_t *state);
double normal(uint64_t *state);

/* A function that gives one number of a struct, for means over many of them. */
#define NUMBER_OF(name, type, number)                                                              \
    static double name(const type *of)                                                             \
    {                                                                                              \
        return of->number;                                                                         \
    }

/* A network of that text whose tensors are the first ones of net: what it is without its norms. */
far_status same_weights(reproduction *r, const far_net *net, const char *arch, far_net **out);

/* ---- figures and tables ---- */

/* A line with a band of mean +- half about it (none where half is NULL or NAN). colour: of the
 * palette. */
far_status draw_curve(reproduction *r, far_figure *figure, const double *x, const double *mean,
                      const double *half, int64_t n, int colour, const char *label);
/* Dashed, without a band. */
far_status draw_dashed(reproduction *r, far_figure *figure, const double *x, const double *y,
                       int64_t n, int colour, const char *label);
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
