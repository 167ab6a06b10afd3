/* The view: a kernel that was checked, and norms of it. */
#include "../gram/gram.h"
#include "measure_internal.h"

#include <math.h>
#include <string.h>

/* ---- symmetry ---- */

enum { TILE = 64 };

typedef struct worst_pair {
    int64_t i, j;
    double gap, largest;
} worst_pair;

static void compare_tile(const far_mat *k, int64_t i0, int64_t j0, worst_pair *w)
{
    int64_t i1 = far_least(i0 + TILE, k->rows), j1 = far_least(j0 + TILE, k->rows);
    for (int64_t i = i0; i < i1; i++) {
        for (int64_t j = j0; j < far_least(j1, i + 1); j++) {
            double a = far_at(k, i, j), b = far_at(k, j, i), gap = fabs(a - b);
            double size = fabs(a) > fabs(b) ? fabs(a) : fabs(b);
            w->largest = size > w->largest ? size : w->largest;
            if (gap > w->gap) {
                *w = (worst_pair){i, j, gap, w->largest};
            }
        }
    }
}

/* The first of the worst pairs, for any number of threads. */
static worst_pair compare_triangles(const far_mat *k, int threads)
{
    worst_pair worst = {0};
#pragma omp parallel for num_threads(threads) schedule(static, 1) ordered
    for (int64_t i = 0; i < k->rows; i += TILE) {
        worst_pair w = {0};
        for (int64_t j = 0; j <= i; j += TILE) {
            compare_tile(k, i, j, &w);
        }
#pragma omp ordered
        {
            double largest = fmax(worst.largest, w.largest);
            worst = w.gap > worst.gap ? w : worst;
            worst.largest = largest;
        }
    }
    return worst;
}

static far_status check_symmetry(far_ctx *ctx, const far_mat *k, double *asymmetry, double *largest)
{
    worst_pair w = compare_triangles(k, far_ctx_threads(ctx));
    *largest = w.largest;
    *asymmetry = w.largest > 0 ? w.gap / w.largest : 0;
    if (*asymmetry <= FAR_VIEW_SYMMETRY) {
        return FAR_OK;
    }
    return far_fail(ctx, FAR_ERR_VALUE,
                    "kernel: not symmetric; row %lld, column %lld is %.9g, but row %lld, column "
                    "%lld is %.9g; a kernel between two sets of points has no spectrum",
                    (long long)w.i + 1, (long long)w.j + 1, far_at(k, w.i, w.j), (long long)w.j + 1,
                    (long long)w.i + 1, far_at(k, w.j, w.i));
}

enum { LANES = 8 }; /* sums side by side: one alone would wait for itself */

static double sum_of(const double lanes[LANES])
{
    double sum = 0;
    for (int k = 0; k < LANES; k++) {
        sum += lanes[k];
    }
    return sum;
}

/* The largest |number| of a row; NAN if one is not finite. */
static double largest_of(const double *row, int64_t n)
{
    double most[LANES] = {0}, nothing[LANES] = {0}, largest = 0;
    int64_t j = 0;
    for (; j + LANES <= n; j += LANES) {
        for (int k = 0; k < LANES; k++) {
            double size = fabs(row[j + k]);
            most[k] = size > most[k] ? size : most[k];
            nothing[k] += size - size;
        }
    }
    for (; j < n; j++) {
        largest = fmax(largest, fabs(row[j]));
        nothing[0] += row[j] - row[j];
    }
    for (int k = 0; k < LANES; k++) {
        largest = fmax(largest, most[k]);
    }
    return largest + sum_of(nothing);
}

/* The same for a kernel that was mirrored: symmetric as it is. room: a number a row. */
static far_status check_mirrored(far_ctx *ctx, const far_mat *k, double *room, double *largest)
{
#pragma omp parallel for num_threads(far_ctx_threads(ctx)) schedule(static)
    for (int64_t i = 0; i < k->rows; i++) {
        room[i] = largest_of(far_mat_row(k, i), k->cols);
    }
    for (int64_t i = 0; i < k->rows; i++) {
        if (isnan(room[i])) {
            return far_check_finite(ctx, k, "kernel");
        }
        *largest = fmax(*largest, room[i]);
    }
    return FAR_OK;
}

static far_status check_kernel(far_ctx *ctx, const far_mat *k, int64_t points)
{
    far_status st;
    FAR_TRY(far_check_matrix(ctx, k, "kernel", -1, -1));
    if (k->rows != k->cols || k->rows < 1) {
        return far_fail(ctx, FAR_ERR_SHAPE, "kernel: %lld x %lld is not square", (long long)k->rows,
                        (long long)k->cols);
    }
    if (points < 0 || points > k->rows || (points > 0 && k->rows % points != 0)) {
        return far_fail(ctx, FAR_ERR_SHAPE, "kernel: its %lld rows are no multiple of %lld points",
                        (long long)k->rows, (long long)points);
    }
done:
    return st;
}

/* ---- norms ---- */

static double row_sum(const double *row, int64_t n)
{
    double lanes[LANES] = {0};
    int64_t j = 0;
    for (; j + LANES <= n; j += LANES) {
        for (int k = 0; k < LANES; k++) {
            lanes[k] += row[j + k];
        }
    }
    for (; j < n; j++) {
        lanes[0] += row[j];
    }
    return sum_of(lanes);
}

/* Of scale times what is left of row less means less shift; means NULL: of the row itself. */
static double row_squares(const double *row, const double *means, double shift, double scale,
                          int64_t n)
{
    double lanes[LANES] = {0};
    int64_t j = 0;
    for (; j + LANES <= n; j += LANES) {
        for (int k = 0; k < LANES; k++) {
            double value = scale * (row[j + k] - (means ? means[j + k] : 0) - shift);
            lanes[k] += value * value;
        }
    }
    for (; j < n; j++) {
        double value = scale * (row[j] - (means ? means[j] : 0) - shift);
        lanes[0] += value * value;
    }
    return sum_of(lanes);
}

enum { SCALE_MOST = 1000 }; /* 2 to that is a number, and so is its inverse */

/* The power of 2 that brings numbers up to largest near 1: it costs no digits. */
static double scale_of(double largest)
{
    int exponent = largest > 0 ? -ilogb(largest) : 0;
    return ldexp(1, exponent > SCALE_MOST ? SCALE_MOST : exponent);
}

void far_scale_to_one(double *values, int64_t n)
{
    double largest = 0;
    for (int64_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(values[i]));
    }
    double scale = scale_of(largest);
    for (int64_t i = 0; i < n; i++) {
        values[i] *= scale;
    }
}

/* squares: room for a number a row, so that sums do not hang on the number of threads. */
static void measure_rows(far_view *v, double scale, double *squares)
{
    int64_t n = v->info.rows;
#pragma omp parallel for num_threads(far_ctx_threads(v->ctx)) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        const double *row = far_view_row(v, i);
        v->row_means[i] = row_sum(row, n) / (double)n;
        squares[i] = row_squares(row, NULL, 0, scale, n);
    }
    for (int64_t i = 0; i < n; i++) {
        v->mean += v->row_means[i] / (double)n;
        v->info.trace += far_view_row(v, i)[i];
    }
    v->info.frobenius = sqrt(row_sum(squares, n)) / scale;
}

static void measure_centred(far_view *v, double scale, double *squares)
{
    int64_t n = v->info.rows;
#pragma omp parallel for num_threads(far_ctx_threads(v->ctx)) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        squares[i] =
            row_squares(far_view_row(v, i), v->row_means, v->row_means[i] - v->mean, scale, n);
    }
    v->info.centred_frobenius = sqrt(row_sum(squares, n)) / scale;
}

/* ---- making one ---- */

/* Norms and row means are taken once, here, of entries scaled by the largest: later measures only
 * look them up. */
static far_status make_view(far_ctx *ctx, const far_mat *kernel, int64_t points, bool mirrored,
                            far_view **out)
{
    far_view *v = NULL;
    far_status st;
    double asymmetry = 0, largest = 0, *squares = NULL;
    *out = NULL;
    FAR_TRY(check_kernel(ctx, kernel, points));
    FAR_TRY(far_alloc(ctx, kernel->rows, &squares));
    if (mirrored) {
        FAR_TRY(check_mirrored(ctx, kernel, squares, &largest));
    } else {
        FAR_TRY(far_check_finite(ctx, kernel, "kernel"));
        FAR_TRY(check_symmetry(ctx, kernel, &asymmetry, &largest));
    }
    FAR_TRY(far_alloc(ctx, 1, &v));
    *v = (far_view){.ctx = ctx, .kernel = *kernel};
    int64_t n = kernel->rows, count = points > 0 ? points : n;
    v->info =
        (far_view_info){.rows = n, .points = count, .outputs = n / count, .asymmetry = asymmetry};
    FAR_TRY(far_alloc(ctx, n, &v->row_means));
    measure_rows(v, scale_of(largest), squares);
    measure_centred(v, scale_of(largest), squares);
done:
    far_free(ctx, squares);
    FAR_HAND_OVER(v, out, far_view_destroy);
    return st;
}

far_status far_view_create(far_ctx *ctx, const far_mat *kernel, int64_t points, far_view **out)
{
    return make_view(ctx, kernel, points, false, out);
}

far_status far_view_of_mirrored(far_ctx *ctx, const far_mat *kernel, int64_t points, far_view **out)
{
    return make_view(ctx, kernel, points, true, out);
}

far_status far_check_net_rows(far_ctx *ctx, const far_net *net, const far_mat *x,
                              const far_ntk_opts *opts)
{
    if (!net) {
        return far_fail(ctx, FAR_ERR_ARG, "the network is NULL");
    }
    if (!opts || opts->size != sizeof *opts) {
        return far_fail(ctx, FAR_ERR_ARG, "opts->size is not sizeof(far_ntk_opts)");
    }
    return far_check_matrix(ctx, x, "x", -1, far_net_describe(net).inputs);
}

static far_status check_net(far_ctx *ctx, const far_net *net, const far_mat *x,
                            const far_ntk_opts *opts)
{
    far_status st;
    FAR_TRY(far_check_net_rows(ctx, net, x, opts));
    far_net_info info = far_net_describe(net);
    if (x->rows < 1) {
        return far_fail(ctx, FAR_ERR_SHAPE, "x has no rows");
    }
    if (opts->outputs == FAR_NTK_TRACE && info.outputs > 1) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "the trace over %lld outputs is no product of Jacobians; choose one output "
                        "or all pairs, or compute the matrix",
                        (long long)info.outputs);
    }
    FAR_TRY(far_check_finite(ctx, x, "x"));
done:
    return st;
}

far_status far_view_of_net(far_ctx *ctx, const far_net *net, const far_mat *x,
                           const far_ntk_opts *opts, far_view **out)
{
    far_view *v = NULL;
    far_status st;
    *out = NULL;
    FAR_TRY(check_net(ctx, net, x, opts));
    FAR_TRY(far_alloc(ctx, 1, &v));
    int64_t outputs = opts->outputs == FAR_NTK_FULL ? far_net_describe(net).outputs : 1;
    *v = (far_view){.ctx = ctx, .net = net, .x = x, .opts = opts};
    v->info = (far_view_info){.rows = x->rows * outputs,
                              .points = x->rows,
                              .outputs = outputs,
                              .trace = NAN,
                              .frobenius = NAN,
                              .centred_frobenius = NAN};
    *out = v;
done:
    return st;
}

void far_view_destroy(far_view *view)
{
    if (view) {
        far_ctx *ctx = view->ctx;
        FAR_FREE_ALL(ctx, view->row_means, view->all, view->top.values, view->top.vectors, view);
    }
}

far_view_info far_view_describe(const far_view *view)
{
    return view->info;
}

/* ---- for the other files ---- */

far_status far_view_needs_matrix(far_ctx *ctx, const far_view *v, const char *what)
{
    return v->kernel.data
               ? FAR_OK
               : far_fail(ctx, FAR_ERR_ARG,
                          "%s: needs the matrix, and this view of a network has none; compute it "
                          "with far_net_ntk",
                          what);
}

far_status far_view_needs_one_output(far_ctx *ctx, const far_view *v, const char *what)
{
    return v->info.outputs == 1
               ? FAR_OK
               : far_fail(ctx, FAR_ERR_SHAPE,
                          "%s: takes a kernel of one output a point, and this one has %lld; choose "
                          "one output or the trace",
                          what, (long long)v->info.outputs);
}

far_status far_view_multiply(far_ctx *ctx, const far_view *v, const double *b, double *out)
{
    far_mat in = far_mat_view((void *)b, v->info.rows, 1, FAR_F64);
    far_mat to = far_mat_view(out, v->info.rows, 1, FAR_F64);
    return v->kernel.data ? far_multiply(ctx, &v->kernel, &in, &to)
                          : far_net_ntk_multiply(ctx, v->net, v->x, v->opts, &in, &to);
}

static far_status check_targets(far_ctx *ctx, const far_view *v, const far_mat *m, const char *name)
{
    far_status st;
    FAR_TRY(far_check_matrix(ctx, m, name, -1, -1));
    if (m->rows != v->info.rows || m->cols < 1) {
        bool by_point = m->rows == v->info.points && m->cols == v->info.outputs;
        return far_fail(ctx, FAR_ERR_SHAPE, "%s: %lld x %lld, but the kernel has %lld rows%s", name,
                        (long long)m->rows, (long long)m->cols, (long long)v->info.rows,
                        by_point ? ", one for each output of a point; give them as one column"
                                 : "");
    }
    FAR_TRY(far_check_finite(ctx, m, name));
done:
    return st;
}

far_status far_view_take(far_ctx *ctx, const far_view *v, const far_mat *targets,
                         const far_mat *start, const char *name, double **out)
{
    far_status st;
    *out = NULL;
    FAR_TRY(check_targets(ctx, v, targets, name));
    if (start) {
        FAR_TRY(check_targets(ctx, v, start, "start"));
        FAR_TRY(far_check_matrix(ctx, start, "start", targets->rows, targets->cols));
    }
    FAR_TRY(far_alloc(ctx, targets->rows * targets->cols, out));
    for (int64_t c = 0; c < targets->cols; c++) {
        double *column = *out + c * targets->rows;
        for (int64_t i = 0; i < targets->rows; i++) {
            column[i] = far_at(targets, i, c) - (start ? far_at(start, i, c) : 0);
        }
    }
done:
    return st;
}

far_status far_view_pack(far_ctx *ctx, const far_view *v, const far_mat *m, const char *name,
                         double **out)
{
    far_status st;
    *out = NULL;
    FAR_TRY(check_targets(ctx, v, m, name));
    FAR_TRY(far_alloc(ctx, m->rows * m->cols, out));
    for (int64_t i = 0; i < m->rows; i++) {
        memcpy(*out + i * m->cols, far_mat_row(m, i), (size_t)m->cols * sizeof **out);
    }
done:
    return st;
}
