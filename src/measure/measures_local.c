/* Measures of a kernel over places. */
#include "registry.h"

#include <math.h>
#include <stdlib.h>

static far_status local_of(far_ctx *ctx, far_work *w)
{
    far_status st = FAR_OK;
    if (!w->has_local) {
        FAR_TRY(far_local_correlation(ctx, w->in->view, w->in->coordinates, FAR_LOCAL_BINS, NULL,
                                      NULL, NULL, &w->local));
        w->has_local = true;
    }
done:
    return st;
}

far_status far_measure_of_local(far_ctx *ctx, far_work *w, const far_measure *m, double *out)
{
    far_status st = local_of(ctx, w);
    *out = far_measure_field(m, &w->local);
    return st;
}

far_status far_measure_first(far_ctx *ctx, far_work *w, const far_measure *m, double *out)
{
    (void)m;
    return far_view_first(ctx, w->in->view, NULL, out);
}

/* ---- gradients over the grid ---- */

/* The squared length of the gradient of a column of the targets, added up over columns. */
static void add_squares(const far_mat *gradient, double *squares)
{
    for (int64_t i = 0; i < gradient->rows; i++) {
        for (int64_t k = 0; k < gradient->cols; k++) {
            squares[i] += far_at(gradient, i, k) * far_at(gradient, i, k);
        }
    }
}

static far_status check_places(far_ctx *ctx, const far_work *w)
{
    const far_measure_input *in = w->in;
    far_status st;
    FAR_TRY(far_view_needs_one_output(ctx, in->view, "places"));
    FAR_TRY(far_check_coordinates(ctx, in->coordinates, in->view->info.points));
done:
    return st;
}

/* slopes[i] = |grad y| at point i. */
static far_status target_slopes(far_ctx *ctx, const far_work *w, double *slopes)
{
    const far_mat *x = w->in->coordinates;
    int64_t n = w->in->view->info.points;
    double *y = NULL, *numbers = NULL;
    far_status st;
    FAR_TRY(check_places(ctx, w));
    FAR_TRY(far_view_take(ctx, w->in->view, w->in->targets, NULL, "targets", &y));
    FAR_TRY(far_alloc(ctx, n * x->cols, &numbers));
    far_mat gradient = far_mat_view(numbers, n, x->cols, FAR_F64);
    for (int64_t i = 0; i < n; i++) {
        slopes[i] = 0;
    }
    for (int64_t c = 0; c < w->in->targets->cols; c++) {
        FAR_TRY(far_grid_gradient(ctx, x, y + c * n, &gradient));
        add_squares(&gradient, slopes);
    }
    for (int64_t i = 0; i < n; i++) {
        slopes[i] = sqrt(slopes[i]);
    }
done:
    far_free(ctx, y);
    far_free(ctx, numbers);
    return st;
}

static int downwards(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* Points above the largest slope that is not among the PART largest, and above 0. */
static int64_t mark_edges(const double *slopes, double *sorted, int64_t n, double part,
                          unsigned char *edges)
{
    int64_t count = 0, last = (int64_t)(part * (double)n);
    for (int64_t i = 0; i < n; i++) {
        sorted[i] = slopes[i];
    }
    qsort(sorted, (size_t)n, sizeof *sorted, downwards);
    double level = sorted[far_least(last, n - 1)];
    for (int64_t i = 0; i < n; i++) {
        edges[i] = slopes[i] > level;
        count += edges[i];
    }
    return count;
}

far_status far_measure_auc(far_ctx *ctx, far_work *w, const far_measure *m, double *out)
{
    int64_t n = w->in->view->info.points;
    double *slopes = NULL;
    unsigned char *edges = NULL;
    far_spectrum s;
    far_status st;
    FAR_TRY(far_alloc(ctx, 2 * n, &slopes));
    FAR_TRY(far_alloc(ctx, n, &edges));
    FAR_TRY(target_slopes(ctx, w, slopes));
    FAR_TRY(far_view_spectrum(ctx, w->in->view, 1, 1, &s));
    *out = NAN;
    if (mark_edges(slopes, slopes + n, n, m->argument[0], edges) > 0) {
        for (int64_t i = 0; i < n; i++) {
            slopes[i] = fabs(s.vectors[i]);
        }
        FAR_TRY(far_roc_auc(ctx, slopes, edges, n, out));
    }
done:
    far_free(ctx, slopes);
    far_free(ctx, edges);
    return st;
}

/* log |g| = log K(x, x) / 2. */
static far_status log_lengths(far_ctx *ctx, const far_view *v, double *out)
{
    for (int64_t i = 0; i < v->info.rows; i++) {
        double square = far_view_row(v, i)[i];
        if (!(square > 0)) {
            return far_fail(ctx, FAR_ERR_VALUE, "the diagonal of the kernel is %g in row %lld",
                            square, (long long)i + 1);
        }
        out[i] = log(square) / 2;
    }
    return FAR_OK;
}

far_status far_measure_edges(far_ctx *ctx, far_work *w, const far_measure *m, double *out)
{
    int64_t n = w->in->view->info.points;
    double *slopes = NULL;
    far_status st;
    (void)m;
    FAR_TRY(far_alloc(ctx, 2 * n, &slopes));
    FAR_TRY(target_slopes(ctx, w, slopes));
    FAR_TRY(log_lengths(ctx, w->in->view, slopes + n));
    FAR_TRY(far_correlation(ctx, FAR_PEARSON, slopes, slopes + n, n, out));
done:
    far_free(ctx, slopes);
    return st;
}

far_status far_measure_magma(far_ctx *ctx, far_work *w, const far_measure *m, double *out)
{
    const far_mat *x = w->in->coordinates;
    int64_t n = w->in->view->info.points;
    double *lengths = NULL, *numbers = NULL, squares = 0;
    far_status st;
    (void)m;
    FAR_TRY(check_places(ctx, w));
    FAR_TRY(far_alloc(ctx, n, &lengths));
    FAR_TRY(far_alloc(ctx, n * x->cols, &numbers));
    far_mat gradient = far_mat_view(numbers, n, x->cols, FAR_F64);
    FAR_TRY(log_lengths(ctx, w->in->view, lengths));
    FAR_TRY(far_grid_gradient(ctx, x, lengths, &gradient));
    for (int64_t k = 0; k < x->cols; k++) {
        double mean = 0;
        for (int64_t i = 0; i < n; i++) {
            mean += far_at(&gradient, i, k) / (double)n;
        }
        squares += mean * mean;
    }
    *out = sqrt(squares);
done:
    far_free(ctx, lengths);
    far_free(ctx, numbers);
    return st;
}
