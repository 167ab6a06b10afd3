/*
 * Cholesky, right-looking: factor a diagonal block, solve for the panel under it, subtract the
 * panel's products from what remains. A step is short enough to report progress and to be
 * cancelled, which LAPACK's dpotrf is not; and dpotrf (OpenBLAS 0.3.21, AVX-512) spends a third of
 * its time in dtrsm, which far_trsm avoids.
 */
#include "blas.h"
#include "solve_internal.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define WIDTH 256 /* of a panel; divides FAR_LOWER_SIDE */
#define PANEL_LD (WIDTH + 8)
#define SPAN 1536 /* columns of a job: some tiles of a product */

_Static_assert(FAR_LOWER_SIDE % WIDTH == 0, "a panel's diagonal block lies in one block row");

typedef struct panel {
    const far_lower *l;
    int threads;
    int64_t begin, width, below; /* first column; first row under the diagonal block */
    double *data;                /* rows [below, n) of the panel, PANEL_LD apart */
} panel;

int64_t far_cholesky_workspace(int64_t n)
{
    return n * PANEL_LD;
}

double far_ridge_advice(int64_t n)
{
    return 1e-13 *
           (double)n; /* condition numbers up to 1e13, if the largest eigenvalue is the trace */
}

static far_status fail_pivot(far_ctx *ctx, const far_lower *l, int64_t row)
{
    return far_fail(ctx, FAR_ERR_SINGULAR,
                    "the matrix is not positive definite to working precision, which showed at row "
                    "%lld of %lld; a repeated row does that; use a larger ridge, %.1g relative to "
                    "the mean diagonal is safe",
                    (long long)row + 1, (long long)l->n, far_ridge_advice(l->n));
}

/* What is left of a diagonal entry when its pivot is no larger than rounding. */
static double pivot_noise(int64_t n)
{
    return (4 + sqrt((double)n)) * DBL_EPSILON;
}

static far_status check_pivots(far_ctx *ctx, const panel *p, const double *scale)
{
    double noise = pivot_noise(p->l->n);
    for (int64_t i = p->begin; i < p->below; i++) {
        double root = *far_lower_at(p->l, i, i);
        if (!(root * root > noise * scale[i])) {
            return fail_pivot(ctx, p->l, i);
        }
    }
    return FAR_OK;
}

static far_status factor_diagonal(far_ctx *ctx, const panel *p, const double *scale)
{
    int64_t ld = far_lower_ld(p->l, p->begin);
    int bad = far_potrf(p->width, far_lower_at(p->l, p->begin, p->begin), ld);
    return bad > 0 ? fail_pivot(ctx, p->l, p->begin + bad - 1) : check_pivots(ctx, p, scale);
}

static void load_panel(const panel *p)
{
#pragma omp parallel for num_threads(p->threads)
    for (int64_t i = p->below; i < p->l->n; i++) {
        memcpy(p->data + (i - p->below) * PANEL_LD, far_lower_at(p->l, i, p->begin),
               (size_t)p->width * sizeof(double));
    }
}

static void store_panel(const panel *p)
{
#pragma omp parallel for num_threads(p->threads)
    for (int64_t i = p->below; i < p->l->n; i++) {
        memcpy(far_lower_at(p->l, i, p->begin), p->data + (i - p->below) * PANEL_LD,
               (size_t)p->width * sizeof(double));
    }
}

/* Columns [span SPAN, (span + 1) SPAN) of rows [begin, end), or the square at their end. */
static void update_span(const panel *p, int64_t begin, int64_t end, int64_t span)
{
    int64_t ld = far_lower_ld(p->l, begin), before = begin - p->below, first = span * SPAN;
    const double *own = p->data + before * PANEL_LD;
    double *rows = far_lower_at(p->l, begin, p->below);
    if (first < before) {
        far_gemm('T', 'N', far_least(SPAN, before - first), end - begin, p->width, -1,
                 p->data + first * PANEL_LD, PANEL_LD, own, PANEL_LD, rows + first, ld);
    } else if (first - before < SPAN) {
        far_syrk(end - begin, p->width, own, PANEL_LD, rows + before, ld);
    }
}

/* One array is one call. Block rows are not: threads share out their parts, the longest first. */
static void update_rest(const panel *p)
{
    int64_t n = p->l->n, side = p->l->side, above = p->below / side;
    int64_t rows = (n + side - 1) / side - above, spans = (n - p->below) / SPAN + 2;
    if (!p->l->packed) {
        far_syrk(n - p->below, p->width, p->data, PANEL_LD, far_lower_at(p->l, p->below, p->below),
                 far_lower_ld(p->l, p->below));
        return;
    }
#pragma omp parallel for num_threads(p->threads) schedule(dynamic)
    for (int64_t job = 0; job < rows * spans; job++) {
        int64_t row = above + rows - 1 - job / spans;
        int64_t begin = row == above ? p->below : row * side;
        update_span(p, begin, far_lower_next(p->l, begin), job % spans);
    }
}

static far_status factor_panel(far_ctx *ctx, const panel *p, const double *scale)
{
    far_status st = factor_diagonal(ctx, p, scale);
    int64_t rows = p->l->n - p->below;
    if (st == FAR_OK && rows > 0) {
        load_panel(p);
        far_trsm('T', p->width, rows, far_lower_at(p->l, p->begin, p->begin),
                 far_lower_ld(p->l, p->begin), p->data, PANEL_LD);
        store_panel(p);
        update_rest(p);
    }
    return st;
}

/* Progress in operations, but for a factor of 3: what n - rest columns have cost, of n^3. */
static far_status report(far_ctx *ctx, int64_t n, int64_t rest)
{
    double all = (double)n * (double)n * (double)n;
    double left = (double)rest * (double)rest * (double)rest;
    return far_progress(ctx, "factor", (int64_t)(all - left), (int64_t)all);
}

far_status far_cholesky(far_ctx *ctx, const far_lower *l, const double *scale)
{
    panel p = {.l = l, .threads = far_ctx_threads(ctx)};
    far_blas_scope scope = far_blas_enter(p.threads);
    far_status st;
    FAR_TRY(far_alloc(ctx, far_cholesky_workspace(l->n), &p.data));
    FAR_TRY(report(ctx, l->n, l->n));
    for (; p.begin < l->n; p.begin = p.below) {
        p.width = far_least(WIDTH, l->n - p.begin);
        p.below = p.begin + p.width;
        FAR_TRY(factor_panel(ctx, &p, scale));
        FAR_TRY(report(ctx, l->n, l->n - p.below));
    }
done:
    far_free(ctx, p.data);
    far_blas_leave(scope);
    return st;
}
