/* Fields on grids whose points come in any order. */
#include "measure_internal.h"

#include <math.h>
#include <stdlib.h>

#define SAME 1e-9 /* of the range of an axis: coordinates that close are one line of the grid */

typedef struct grid {
    int64_t points, axes;
    double *lines;    /* axis k: counts[k] places, at lines + k points */
    int64_t *counts;  /* lines of each axis */
    int64_t *strides; /* from one line of an axis to the next, in cells */
    int64_t *cells;   /* the point in each cell; -1: none yet */
    int64_t *places;  /* the cell of each point */
} grid;

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts the coordinates of one axis and keeps one of each kind. */
static int64_t find_lines(const far_mat *x, int64_t axis, double *lines)
{
    int64_t n = x->rows, count = 0;
    for (int64_t i = 0; i < n; i++) {
        lines[i] = far_at(x, i, axis);
    }
    qsort(lines, (size_t)n, sizeof *lines, by_size);
    double gap = SAME * (lines[n - 1] - lines[0]);
    for (int64_t i = 0; i < n; i++) {
        if (count == 0 || lines[i] - lines[count - 1] > gap) {
            lines[count++] = lines[i];
        }
    }
    return count;
}

static int64_t nearest_line(const double *lines, int64_t count, double value)
{
    int64_t low = 0, high = count - 1;
    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        *(lines[middle] <= value ? &low : &high) = middle;
    }
    return value - lines[low] <= lines[high] - value ? low : high;
}

static far_status refuse(far_ctx *ctx, const grid *g)
{
    return far_fail(ctx, FAR_ERR_VALUE,
                    "coordinates: the %lld points are no full grid (every combination of the "
                    "coordinates of %lld axes, once)",
                    (long long)g->points, (long long)g->axes);
}

static far_status place_points(far_ctx *ctx, const far_mat *x, grid *g)
{
    for (int64_t i = 0; i < g->points; i++) {
        g->cells[i] = -1;
    }
    for (int64_t i = 0; i < g->points; i++) {
        int64_t cell = 0;
        for (int64_t k = 0; k < g->axes; k++) {
            const double *lines = g->lines + k * g->points;
            cell += g->strides[k] * nearest_line(lines, g->counts[k], far_at(x, i, k));
        }
        if (g->cells[cell] >= 0) {
            return refuse(ctx, g);
        }
        g->cells[cell] = i;
        g->places[i] = cell;
    }
    return FAR_OK;
}

static far_status allocate_grid(far_ctx *ctx, const far_mat *x, grid *g)
{
    far_status st;
    *g = (grid){.points = x->rows, .axes = x->cols};
    FAR_TRY(far_alloc(ctx, x->rows * x->cols, &g->lines));
    FAR_TRY(far_alloc(ctx, 2 * x->cols, &g->counts));
    FAR_TRY(far_alloc(ctx, 2 * x->rows, &g->cells));
    g->strides = g->counts + x->cols;
    g->places = g->cells + x->rows;
done:
    return st;
}

static far_status find_grid(far_ctx *ctx, const far_mat *x, grid *g)
{
    int64_t cells = 1;
    far_status st;
    FAR_TRY(allocate_grid(ctx, x, g));
    for (int64_t k = 0; k < g->axes; k++) {
        g->counts[k] = find_lines(x, k, g->lines + k * g->points);
        g->strides[k] = cells;
        if (cells > g->points / g->counts[k]) {
            return refuse(ctx, g);
        }
        cells *= g->counts[k];
    }
    if (cells != g->points) {
        return refuse(ctx, g);
    }
    FAR_TRY(place_points(ctx, x, g));
done:
    return st;
}

static void clear_grid(far_ctx *ctx, grid *g)
{
    FAR_FREE_ALL(ctx, g->lines, g->counts, g->cells);
}

/* Along one axis, from the line before to the line behind. */
static double slope(const grid *g, const double *field, int64_t i, int64_t k)
{
    const double *lines = g->lines + k * g->points;
    int64_t stride = g->strides[k], count = g->counts[k], cell = g->places[i];
    int64_t line = cell / stride % count;
    int64_t back = line > 0, ahead = line + 1 < count;
    if (count < 2) {
        return 0;
    }
    double rise = field[g->cells[cell + ahead * stride]] - field[g->cells[cell - back * stride]];
    return rise / (lines[line + ahead] - lines[line - back]);
}

far_status far_grid_gradient(far_ctx *ctx, const far_mat *coordinates, const double *field,
                             far_mat *out)
{
    grid g = {0};
    far_status st;
    FAR_TRY(far_check_coordinates(ctx, coordinates, coordinates ? coordinates->rows : 0));
    FAR_TRY(far_check_matrix(ctx, out, "out", coordinates->rows, coordinates->cols));
    FAR_TRY(far_check_numbers(ctx, field, coordinates->rows, "field"));
    FAR_TRY(find_grid(ctx, coordinates, &g));
    for (int64_t i = 0; i < g.points; i++) {
        for (int64_t k = 0; k < g.axes; k++) {
            far_put(out, i, k, slope(&g, field, i, k));
        }
    }
done:
    clear_grid(ctx, &g);
    return st;
}
