/*
 * far_system_solve: iterative refinement. The factor's error limits how much of x one solve gets
 * right, a fraction that shrinks with the condition number; solving again for the residual gets
 * the same fraction of what is left. So residuals fall by a constant factor a step, as long as
 * they are computed more precisely than x is.
 */
#include "blas.h"
#include "doubled.h"
#include "solve_internal.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define TARGET 1e-15   /* relative residual at which refinement ends */
#define ACCEPTED 1e-12 /* the largest that is returned */
#define SLOWEST 0.7    /* a step that gains less is the last */
#define BATCH 128      /* columns solved in one sweep over K */

typedef struct refinement {
    far_ctx *ctx;
    const far_system *s;
    int64_t n, p;
    double *b, *x, *x_low, *d, *work; /* n x p by columns; d: residual, then step; work: two */
    double relative[BATCH], before[BATCH];
    int exponent[BATCH]; /* b is scaled by powers of two: no norm overflows */
    bool active[BATCH];
} refinement;

static double norm(const double *x, int64_t n)
{
    return sqrt(far_dot(x, x, n));
}

static int largest_exponent(const double *x, int64_t n)
{
    double largest = 0;
    int exponent;
    for (int64_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(x[i]));
    }
    frexp(largest, &exponent);
    return exponent;
}

static void load(refinement *f, const far_mat *b, int64_t first)
{
    for (int64_t c = 0; c < f->p; c++) {
        double *column = f->b + c * f->n;
        for (int64_t i = 0; i < f->n; i++) {
            column[i] = ((const double *)far_mat_row(b, i))[first + c];
        }
        f->exponent[c] = largest_exponent(column, f->n);
        for (int64_t i = 0; i < f->n; i++) {
            column[i] = ldexp(column[i], -f->exponent[c]);
        }
        f->before[c] = INFINITY;
        f->active[c] = true;
    }
}

/* d := A^-1 d, as well as the factor can. */
static void solve_step(refinement *f)
{
    far_blas_scope scope = far_blas_enter(far_ctx_threads(f->ctx));
    far_lower_solve(&f->s->factor, f->d, f->p, f->n);
    far_blas_leave(scope);
}

static void add_step(refinement *f, int64_t c)
{
    for (int64_t i = c * f->n; i < (c + 1) * f->n; i++) {
        far_pair sum = far_pair_add((far_pair){f->x[i], f->x_low[i]}, f->d[i]);
        f->x[i] = sum.high;
        f->x_low[i] = sum.low;
    }
}

/* Measures every column; true while one is worth another step. */
static bool judge(refinement *f)
{
    bool any = false;
    for (int64_t c = 0; c < f->p; c++) {
        double size = norm(f->b + c * f->n, f->n);
        f->relative[c] = size > 0 ? norm(f->d + c * f->n, f->n) / size : 0;
        f->active[c] =
            f->active[c] && f->relative[c] > TARGET && f->relative[c] <= SLOWEST * f->before[c];
        f->before[c] = f->relative[c];
        any = any || f->active[c];
    }
    return any;
}

/* From x = 0, so that the first step is the plain solution. */
static far_status iterate(refinement *f)
{
    far_status st;
    size_t bytes = (size_t)(f->n * f->p) * sizeof(double);
    memset(f->x, 0, bytes);
    memset(f->x_low, 0, bytes);
    memcpy(f->d, f->b, bytes);
    do {
        solve_step(f);
        for (int64_t c = 0; c < f->p; c++) {
            if (f->active[c]) {
                add_step(f, c);
            }
        }
        FAR_TRY(far_residual(f->ctx, f->s, f->p, f->b, f->x, f->x_low, f->work, f->d));
    } while (judge(f));
done:
    return st;
}

/* What is known of the condition number: at least the ratio of the extreme pivots. */
static double condition_estimate(const far_system *s)
{
    double least = INFINITY, most = 0;
    for (int64_t i = 0; i < s->info.n; i++) {
        double root = *far_lower_at(&s->factor, i, i);
        least = fmin(least, root * root);
        most = fmax(most, root * root);
    }
    return fmax(most / least, isnan(s->info.condition) ? 0 : s->info.condition);
}

static far_status fail_convergence(const refinement *f, double relative)
{
    return far_fail(f->ctx, FAR_ERR_SINGULAR,
                    "the solution does not converge (relative residual %.1e): the condition number "
                    "is about %.0e or more; use a larger ridge, %.1g relative to the mean diagonal "
                    "is safe",
                    relative, condition_estimate(f->s), far_ridge_advice(f->n));
}

static far_status finish_column(const refinement *f, int64_t c, int64_t number)
{
    if (!(f->relative[c] <= ACCEPTED)) {
        return fail_convergence(f, f->relative[c]);
    }
    for (int64_t i = c * f->n; i < (c + 1) * f->n; i++) {
        f->x[i] = ldexp(f->x[i], f->exponent[c]);
        f->x_low[i] = ldexp(f->x_low[i], f->exponent[c]);
        if (!isfinite(f->x[i])) {
            return far_fail(f->ctx, FAR_ERR_VALUE,
                            "the solution for column %lld is too large for a double; scale b",
                            (long long)number + 1);
        }
    }
    return FAR_OK;
}

/* Columns [first, first + p) of the results, which begin at x, x_low and relative. */
static far_status solve_batch(refinement *f, const far_mat *b, int64_t first, double *relative)
{
    far_status st;
    load(f, b, first);
    FAR_TRY(iterate(f));
    for (int64_t c = 0; c < f->p; c++) {
        FAR_TRY(finish_column(f, c, first + c));
        relative[c] = f->relative[c];
    }
done:
    return st;
}

static void store(const double *columns, far_mat *to)
{
    for (int64_t i = 0; to && i < to->rows; i++) {
        double *row = far_mat_row(to, i);
        for (int64_t c = 0; c < to->cols; c++) {
            row[c] = columns[c * to->rows + i];
        }
    }
}

static far_status check_solve(far_ctx *ctx, const far_system *s, const far_mat *b, const far_mat *x,
                              const far_mat *x_low)
{
    far_status st;
    if (!ctx || !s) {
        return far_fail(ctx, FAR_ERR_ARG, "the context and the system must not be NULL");
    }
    FAR_TRY(far_check_matrix(ctx, b, "b", s->info.n, -1));
    FAR_TRY(far_check_matrix(ctx, x, "x", s->info.n, b->cols));
    if (x_low) {
        FAR_TRY(far_check_matrix(ctx, x_low, "x_low", s->info.n, b->cols));
    }
    FAR_TRY(far_check_finite(ctx, b, "b"));
done:
    return st;
}

/* Right-hand sides go a batch at a time, which bounds the memory in doubled precision. Results stay
 * apart until all of them are there: on failure the caller's arrays are untouched. */
far_status far_system_solve(far_ctx *ctx, const far_system *s, const far_mat *b, far_mat *x,
                            far_mat *x_low, double *residuals)
{
    far_status st = check_solve(ctx, s, b, x, x_low);
    if (st != FAR_OK) {
        return st;
    }
    int64_t n = s->info.n, p = b->cols, batch = n * far_least(p, BATCH);
    refinement f = {.ctx = ctx, .s = s, .n = n};
    double *work = NULL, *results = NULL; /* kept apart: the caller's arrays are written last */
    FAR_TRY(far_alloc(ctx, 4 * batch, &work));
    FAR_TRY(far_alloc(ctx, (2 * n + 1) * p, &results));
    f.b = work;
    f.d = work + batch;
    f.work = work + 2 * batch;
    for (int64_t first = 0; first < p; first += BATCH) {
        f.p = far_least(BATCH, p - first);
        f.x = results + n * first;
        f.x_low = f.x + n * p;
        FAR_TRY(solve_batch(&f, b, first, results + 2 * n * p + first));
    }
    store(results, x);
    store(results + n * p, x_low);
    if (residuals) {
        memcpy(residuals, results + 2 * n * p, (size_t)p * sizeof *residuals);
    }
done:
    far_free(ctx, work);
    far_free(ctx, results);
    return st;
}
