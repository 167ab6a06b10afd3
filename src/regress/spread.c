/* How sure a prediction is: Gaussian process posteriors, and the spread of trained networks. */
#include "../solve/solve_internal.h"
#include "fit_iterative.h"

#include <math.h>
#include <string.h>

enum { BLOCK_POINTS = 128 };

typedef struct spread {
    far_ctx *ctx;
    const far_model *m;
    far_mat x; /* the rows that were seen: those of the model, or its landmarks */
    const far_filter *filter;
    far_system *system; /* NULL with a filter */
    double *cross;      /* K(X, block) */
    double *weights;    /* ensemble: what training makes of it */
    double *start;      /* ensemble: the NNGP kernel K0(X, block) */
    double *carried;    /* ensemble: K0(X, X) weights */
    double *diagonal;   /* K(x, x) over the block */
} spread;

static void spread_clear(spread *s)
{
    double *owned[] = {s->cross, s->weights, s->start, s->carried, s->diagonal};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) {
        far_free(s->ctx, owned[i]);
    }
    far_system_destroy(s->system);
}

static far_status factor_again(spread *s, far_kernel_points *points, double memory)
{
    *points = (far_kernel_points){s->m->kernel, s->x, s->m->info.kernel, 0};
    far_symmetric matrix = far_kernel_points_matrix(points);
    far_solve_opts o;
    far_solve_opts_init(&o);
    o.ridge = s->m->info.ridge;
    o.ridge_kind = FAR_RIDGE_ABSOLUTE;
    o.extremes = 0;
    o.memory = memory;
    return far_system_create(s->ctx, &matrix, &o, &s->system);
}

static far_status diagonal(spread *s, far_kernel_kind kind, const far_mat *block)
{
    bool nngp = kind == FAR_KERNEL_NNGP;
    far_mat d = far_mat_view(s->diagonal, block->rows, 1, FAR_F64);
    return far_kernel_diag(s->ctx, s->m->kernel, block, nngp ? &d : NULL, nngp ? NULL : &d);
}

static double column_dot(const double *a, const double *b, int64_t n, int64_t cols, int64_t j)
{
    long double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += (long double)a[i * cols + j] * b[i * cols + j];
    }
    return (double)sum;
}

/* variance[j] = K(x, x) - k (K + ridge)^-1 k, never below 0: less is rounding. */
static far_status posterior(spread *s, const far_mat *block, double *variance)
{
    far_status st;
    int64_t n = s->x.rows, b = block->rows;
    far_mat cross = far_mat_view(s->cross, n, b, FAR_F64);
    FAR_TRY(far_kernel_eval_kind(s->ctx, s->m->kernel, s->m->info.kernel, &s->x, block, &cross));
    FAR_TRY(far_system_whiten(s->ctx, s->system, &cross));
    FAR_TRY(diagonal(s, s->m->info.kernel, block));
    for (int64_t j = 0; j < b; j++) {
        double explained = column_dot(s->cross, s->cross, n, b, j);
        variance[j] = fmax(s->diagonal[j] - explained, 0);
    }
done:
    return st;
}

static far_status train_on(spread *s, const far_mat *cross, far_mat *weights)
{
    return s->filter ? far_filter_apply(s->filter, cross, weights)
                     : far_system_solve(s->ctx, s->system, cross, weights, NULL, NULL);
}

/* f = f0 + w (y - f0(X)) with w = k(x, X) A^-1, so Var f = K0(x,x) + w K0(X,X) w - 2 w K0(X,x). */
static far_status ensemble(spread *s, const far_mat *block, double *variance)
{
    far_status st;
    int64_t n = s->m->info.rows, b = block->rows;
    far_mat x = far_model_points(s->m), cross = far_mat_view(s->cross, n, b, FAR_F64);
    far_mat weights = far_mat_view(s->weights, n, b, FAR_F64);
    far_mat start = far_mat_view(s->start, n, b, FAR_F64);
    far_mat carried = far_mat_view(s->carried, n, b, FAR_F64);
    far_kernel_points points = {s->m->kernel, x, FAR_KERNEL_NNGP, 0};
    far_symmetric matrix = far_kernel_points_matrix(&points);
    FAR_TRY(far_kernel_eval_kind(s->ctx, s->m->kernel, s->m->info.kernel, &x, block, &cross));
    FAR_TRY(train_on(s, &cross, &weights));
    FAR_TRY(far_kernel_eval_kind(s->ctx, s->m->kernel, FAR_KERNEL_NNGP, &x, block, &start));
    FAR_TRY(far_symmetric_multiply(s->ctx, &matrix, &weights, &carried));
    FAR_TRY(diagonal(s, FAR_KERNEL_NNGP, block));
    for (int64_t j = 0; j < b; j++) {
        double own = column_dot(s->weights, s->carried, n, b, j);
        double shared = column_dot(s->weights, s->start, n, b, j);
        variance[j] = fmax(s->diagonal[j] + own - 2 * shared, 0);
    }
done:
    return st;
}

/* The root of the amplitude of output j that makes the data likeliest: the amplitude itself is of
 * the size of targets squared, which a double may not hold. */
static double amplitude_root(const far_model *m, int64_t j)
{
    int64_t n = m->info.rows, p = m->info.outputs;
    long double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += (long double)m->y[i * p + j] * m->alpha[i * p + j];
    }
    return (double)sqrtl(fmaxl(sum / (long double)n, 0));
}

static far_status fail_large(far_ctx *ctx, int64_t row)
{
    return far_fail(
        ctx, FAR_ERR_RANGE,
        "row %lld: the standard deviation is too large for a double; scale the targets, "
        "or leave out inputs so far away",
        (long long)row + 1);
}

/* The standard deviation of output j is size sqrt(variance + noise). */
static far_band interval_of(const far_model *m, far_spread kind, int64_t j)
{
    if (kind == FAR_SPREAD_CALIBRATED && m->interval) {
        return m->interval[j];
    }
    bool observed = kind == FAR_SPREAD_CALIBRATED || kind == FAR_SPREAD_LIKELIHOOD;
    return observed ? (far_band){amplitude_root(m, j), m->info.ridge} : (far_band){1, 0};
}

static far_status put_std(far_ctx *ctx, const far_model *m, far_spread kind, const double *variance,
                          int64_t rows, int64_t first, far_mat *std)
{
    for (int64_t j = 0; j < m->info.outputs; j++) {
        far_band v = interval_of(m, kind, j);
        for (int64_t i = 0; i < rows; i++) {
            double *row = far_mat_row(std, first + i);
            row[j] = far_output_scale(m->columns)[j] * (v.size * sqrt(variance[i] + v.noise));
            if (!isfinite(row[j])) {
                return fail_large(ctx, first + i);
            }
        }
    }
    return FAR_OK;
}

static far_status make_room(spread *s, bool networks)
{
    far_status st;
    int64_t count = s->x.rows * BLOCK_POINTS;
    FAR_TRY(far_alloc(s->ctx, count, &s->cross));
    FAR_TRY(far_alloc(s->ctx, BLOCK_POINTS, &s->diagonal));
    if (networks) {
        FAR_TRY(far_alloc(s->ctx, count, &s->weights));
        FAR_TRY(far_alloc(s->ctx, count, &s->start));
        FAR_TRY(far_alloc(s->ctx, count, &s->carried));
    }
done:
    return st;
}

static far_mat block_of(const far_mat *points, int64_t first)
{
    far_mat block = *points;
    block.data = far_mat_row(points, first);
    block.rows = far_least(BLOCK_POINTS, points->rows - first);
    return block;
}

far_status far_posterior_variance(far_ctx *ctx, const far_model *m, const far_mat *x, double memory,
                                  const far_mat *points, double *variance)
{
    far_status st;
    spread s = {.ctx = ctx, .m = m, .x = *x};
    far_kernel_points own;
    far_progress_hold(ctx);
    FAR_TRY(factor_again(&s, &own, memory));
    FAR_TRY(make_room(&s, false));
    for (int64_t i = 0; i < points->rows; i += BLOCK_POINTS) {
        far_mat block = block_of(points, i);
        FAR_TRY(posterior(&s, &block, variance + i));
    }
done:
    far_progress_release(ctx);
    spread_clear(&s);
    return st;
}

/* The intervals of a fit by conjugate gradients were calibrated with what its landmarks know. */
static far_status take_landmarks(spread *s, double **landmarks)
{
    far_status st;
    int64_t d = s->m->info.inputs, count = s->m->info.landmarks, *order = NULL;
    FAR_TRY(far_alloc(s->ctx, s->m->info.rows, &order));
    FAR_TRY(far_alloc(s->ctx, count * d, landmarks));
    const double *x = s->x.data;
    far_landmark_order(s->m->info.seed, s->m->info.rows, order);
    for (int64_t i = 0; i < count; i++) {
        memcpy(*landmarks + i * d, x + order[i] * d, (size_t)d * sizeof **landmarks);
    }
    s->x = far_mat_view(*landmarks, count, d, FAR_F64);
done:
    far_free(s->ctx, order);
    return st;
}

far_status far_spread_eval(far_ctx *ctx, const far_model *m, const far_predict_opts *o,
                           const far_filter *filter, const far_mat *points, far_mat *std)
{
    far_status st = FAR_OK;
    spread s = {.ctx = ctx, .m = m, .x = far_model_points(m), .filter = filter};
    bool networks = o->spread == FAR_SPREAD_ENSEMBLE;
    far_kernel_points own;
    double variance[BLOCK_POINTS], *landmarks = NULL, *room = NULL;
    far_mat z;
    if (m->info.method == FAR_METHOD_CG && o->spread == FAR_SPREAD_CALIBRATED) {
        FAR_TRY(take_landmarks(&s, &landmarks));
    }
    if (!filter) {
        FAR_TRY(factor_again(&s, &own, o->memory));
    }
    FAR_TRY(make_room(&s, networks));
    FAR_TRY(far_model_map(ctx, m, points, &room, &z));
    for (int64_t i = 0; i < points->rows; i += BLOCK_POINTS) {
        far_mat block = block_of(&z, i);
        FAR_TRY(far_progress(ctx, "spread", i, points->rows));
        far_progress_hold(ctx);
        st = networks ? ensemble(&s, &block, variance) : posterior(&s, &block, variance);
        far_progress_release(ctx);
        FAR_TRY(st);
        FAR_TRY(put_std(ctx, m, o->spread, variance, block.rows, i, std));
    }
done:
    spread_clear(&s);
    far_free(ctx, room);
    far_free(ctx, landmarks);
    return st;
}
