/* How far the kernel of each point reaches. */
#include "measure_internal.h"

#include <math.h>

/* One point's row of the cosine kernel, in bins of distance. */
typedef struct row_job {
    const far_view *view;
    const far_mat *x;
    int64_t bins;
    double width;                       /* of a bin */
    double *sums, *distances, *members; /* of each bin */
} row_job;

/* Fills the bins; the least value. */
static double bin_row(row_job *r, int64_t i)
{
    const double *row = far_view_row(r->view, i);
    double least = 1;
    for (int64_t b = 0; b < r->bins; b++) {
        r->sums[b] = r->distances[b] = r->members[b] = 0;
    }
    for (int64_t j = 0; j < r->x->rows; j++) {
        if (j != i) {
            double c = row[j] / sqrt(row[i]) / sqrt(far_view_row(r->view, j)[j]);
            double distance = far_distance(r->x, i, j);
            int64_t b = far_least((int64_t)(distance / r->width), r->bins - 1);
            r->sums[b] += c;
            r->distances[b] += distance;
            r->members[b]++;
            least = fmin(least, c);
        }
    }
    return least;
}

/* Along straight lines from (0, 1) through the means of the bins. */
static double first_fall(const row_job *r, double level)
{
    double x = 0, c = 1;
    for (int64_t b = 0; b < r->bins; b++) {
        if (r->members[b] > 0) {
            double next_x = r->distances[b] / r->members[b], next = r->sums[b] / r->members[b];
            if (next <= level) {
                return x + (c - level) / (c - next) * (next_x - x);
            }
            x = next_x;
            c = next;
        }
    }
    return NAN;
}

static far_status check_reach(far_ctx *ctx, const far_view *view, const far_mat *coordinates,
                              int64_t bins, double level)
{
    far_status st;
    FAR_TRY(far_view_needs_matrix(ctx, view, "the reach of a kernel"));
    FAR_TRY(far_view_needs_one_output(ctx, view, "the reach of a kernel"));
    FAR_TRY(far_check_coordinates(ctx, coordinates, view->info.points));
    FAR_TRY(far_check_diagonal(ctx, view));
    if (bins < 2 || !(level < 1)) {
        return far_fail(ctx, FAR_ERR_ARG, "%lld bin%s and level %g: 2 or more, and below 1",
                        (long long)bins, far_plural(bins), level);
    }
done:
    return st;
}

/* One row of the kernel at a time, with bins as wide for every point: the largest distance of all
 * decides their width. */
far_status far_local_reach(far_ctx *ctx, const far_view *view, const far_mat *coordinates,
                           int64_t bins, double level, double *reach, double *least)
{
    row_job r = {.view = view, .x = coordinates, .bins = bins};
    double *numbers = NULL;
    far_status st;
    FAR_TRY(check_reach(ctx, view, coordinates, bins, level));
    FAR_TRY(far_alloc(ctx, 3 * bins, &numbers));
    r.sums = numbers;
    r.distances = numbers + bins;
    r.members = numbers + 2 * bins;
    r.width = far_largest_distance(coordinates) / (double)bins;
    if (!(r.width > 0)) {
        st = far_fail(ctx, FAR_ERR_VALUE, "coordinates: all points coincide");
        goto done;
    }
    for (int64_t i = 0; i < view->info.points; i++) {
        double lowest = bin_row(&r, i);
        if (least) {
            least[i] = lowest;
        }
        if (reach) {
            reach[i] = first_fall(&r, level);
        }
    }
done:
    far_free(ctx, numbers);
    return st;
}
