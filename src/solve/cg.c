/*
 * Conjugate gradients for (K + ridge) x = b, preconditioned by what landmarks know of K. Columns
 * are solved side by side, each with steps of its own: a sweep over K serves them all.
 *
 * The residual that the steps carry drifts from the true one by rounding. So when it is small
 * enough the true one is computed, and the steps begin anew from there if that is not.
 */
#include "solve_internal.h"

#include <math.h>
#include <string.h>

#define MARGIN 0.5      /* of the tolerance, for the residual that is carried */
#define LEAST_RATIO 0.7 /* a restart that gains less is the last */
#define PATIENCE 60     /* iterations without a gain of a tenth */
#define VECTORS 5       /* x and rest are the caller's */

typedef struct cg {
    far_ctx *ctx;
    const far_cg_job *job;
    int64_t n, p, m;
    double *x, *r;           /* the caller's; r is 0 in rows that are not active */
    double *z, *dir, *image; /* n x p: preconditioned residual, direction, (K + ridge) direction */
    double *inner;           /* 2 x m x p */
    double *size, *rz, *best, *dot, *step; /* p: |b|, r'z, least residual so far, room */
    double first;                          /* residual at the start, for progress */
    int64_t iterations;
} cg;

double far_cg_bytes(int64_t n, int64_t p)
{
    return (double)(sizeof(double) * VECTORS) * (double)n * (double)p;
}

static void cg_clear(cg *s)
{
    FAR_FREE_ALL(s->ctx, s->z, s->dir, s->image, s->inner, s->size);
}

/* out[c] = a_c . b_c over the rows that are active. */
static void dots(const cg *s, const double *a, const double *b, double *out)
{
    memset(out, 0, (size_t)s->p * sizeof *out);
    for (int64_t i = 0; i < s->job->active; i++) {
        for (int64_t c = 0; c < s->p; c++) {
            out[c] += a[i * s->p + c] * b[i * s->p + c];
        }
    }
}

static far_status cg_open(cg *s)
{
    far_status st;
    FAR_TRY(far_alloc(s->ctx, s->n * s->p, &s->z));
    FAR_TRY(far_alloc(s->ctx, s->n * s->p, &s->dir));
    FAR_TRY(far_alloc(s->ctx, s->n * s->p, &s->image));
    FAR_TRY(far_alloc(s->ctx, 2 * s->m * s->p, &s->inner));
    FAR_TRY(far_alloc(s->ctx, 5 * s->p, &s->size));
    s->rz = s->size + s->p;
    s->best = s->rz + s->p;
    s->dot = s->best + s->p;
    s->step = s->dot + s->p;
    dots(s, s->job->b, s->job->b, s->size);
    for (int64_t c = 0; c < s->p; c++) {
        s->size[c] = sqrt(s->size[c]);
    }
done:
    return st;
}

static far_status multiply(const cg *s, int64_t cols, bool transposed, const double *x, double *y)
{
    const far_stream *k = &s->job->k;
    far_progress_hold(s->ctx);
    far_status st = k->apply(s->ctx, k->user, cols, transposed, s->p, x, y);
    far_progress_release(s->ctx);
    return st;
}

static void clear_rest(const cg *s, double *v)
{
    int64_t from = s->job->active * s->p;
    memset(v + from, 0, (size_t)(s->n * s->p - from) * sizeof *v);
}

static void transpose(const double *from, int64_t rows, int64_t cols, double *to)
{
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++) {
            to[j * rows + i] = from[i * cols + j];
        }
    }
}

/* z = (B B' + ridge)^-1 r, but for a factor: (r - K_nm w) with w = L^-T (B'B + ridge)^-1 L^-1 K_mn
 * r. */
static far_status precondition(const cg *s)
{
    far_status st;
    double *rows = s->inner, *columns = s->inner + s->m * s->p;
    FAR_TRY(multiply(s, s->m, true, s->r, rows));
    transpose(rows, s->m, s->p, columns);
    far_nystrom_solve(s->ctx, s->job->landmarks, columns, s->p);
    transpose(columns, s->p, s->m, rows);
    FAR_TRY(multiply(s, s->m, false, rows, s->z));
    for (int64_t i = 0; i < s->n * s->p; i++) {
        s->z[i] = s->r[i] - s->z[i];
    }
    clear_rest(s, s->z);
done:
    return st;
}

/* r = b - (K + ridge) x */
static far_status true_residual(const cg *s)
{
    far_status st = multiply(s, s->n, false, s->x, s->r);
    for (int64_t i = 0; st == FAR_OK && i < s->n * s->p; i++) {
        s->r[i] = s->job->b[i] - s->r[i] - s->job->ridge * s->x[i];
    }
    return st;
}

/* The largest over columns of |r| / |b|. */
static double relative(const cg *s)
{
    double most = 0;
    dots(s, s->r, s->r, s->dot);
    for (int64_t c = 0; c < s->p; c++) {
        double own = s->size[c] > 0 ? sqrt(s->dot[c]) / s->size[c] : sqrt(s->dot[c]);
        most = fmax(most, isfinite(own) ? own : INFINITY);
    }
    return most;
}

static far_status report(const cg *s, double residual)
{
    double all = log(s->first / s->job->tolerance), done = log(s->first / residual);
    double share = all > 0 ? fmin(fmax(done / all, 0), 1) : 1;
    return far_progress(s->ctx, s->job->what, (int64_t)(1000 * share), 1000);
}

/* a += step b, column by column. */
static void add(const cg *s, double sign, const double *b, double *a)
{
    for (int64_t i = 0; i < s->n; i++) {
        for (int64_t c = 0; c < s->p; c++) {
            a[i * s->p + c] += sign * s->step[c] * b[i * s->p + c];
        }
    }
}

/* A column whose residual is 0, or that rounding has made end, stands still. */
static bool ratios(int64_t p, const double *above, const double *below, double *out)
{
    bool any = false;
    for (int64_t c = 0; c < p; c++) {
        bool moves = above[c] > 0 && below[c] > 0 && isfinite(above[c] / below[c]);
        out[c] = moves ? above[c] / below[c] : 0;
        any = any || moves;
    }
    return any;
}

/* x and r one step on; false: there is none. */
static far_status advance(cg *s, bool *moves)
{
    far_status st;
    FAR_TRY(multiply(s, s->n, false, s->dir, s->image));
    for (int64_t i = 0; i < s->n * s->p; i++) {
        s->image[i] += s->job->ridge * s->dir[i];
    }
    clear_rest(s, s->image);
    dots(s, s->dir, s->image, s->dot);
    *moves = ratios(s->p, s->rz, s->dot, s->step);
    add(s, 1, s->dir, s->x);
    add(s, -1, s->image, s->r);
    s->iterations++;
done:
    return st;
}

/* dir = z + beta dir */
static far_status turn(cg *s, bool *moves)
{
    far_status st;
    FAR_TRY(precondition(s));
    dots(s, s->r, s->z, s->dot);
    *moves = ratios(s->p, s->dot, s->rz, s->step);
    memcpy(s->rz, s->dot, (size_t)s->p * sizeof *s->rz);
    for (int64_t i = 0; i < s->n; i++) {
        for (int64_t c = 0; c < s->p; c++) {
            double *d = &s->dir[i * s->p + c];
            *d = s->z[i * s->p + c] + s->step[c] * *d;
        }
    }
done:
    return st;
}

/* Steps from the true residual in r until the carried one is small enough or does not fall. */
static far_status run(cg *s)
{
    far_status st;
    bool moves = true;
    double least = relative(s);
    int64_t since = 0;
    clear_rest(s, s->r);
    FAR_TRY(precondition(s));
    memcpy(s->dir, s->z, (size_t)(s->n * s->p) * sizeof *s->dir);
    dots(s, s->r, s->z, s->rz);
    while (moves && s->iterations < s->job->most && since < PATIENCE) {
        FAR_TRY(advance(s, &moves));
        double now = relative(s);
        FAR_TRY(report(s, now));
        if (now <= MARGIN * s->job->tolerance) {
            break;
        }
        since = now < 0.9 * least ? 0 : since + 1;
        least = since == 0 ? now : least;
        if (moves) {
            FAR_TRY(turn(s, &moves));
        }
    }
done:
    return st;
}

static far_status solve(cg *s, far_cg_end *end)
{
    far_status st;
    double before = INFINITY;
    FAR_TRY(true_residual(s));
    end->residual = s->first = relative(s);
    while (end->residual > s->job->tolerance && end->residual <= LEAST_RATIO * before &&
           s->iterations < s->job->most) {
        before = end->residual;
        FAR_TRY(run(s));
        FAR_TRY(true_residual(s));
        end->residual = relative(s);
    }
    end->iterations = s->iterations;
    end->converged = end->residual <= s->job->tolerance;
done:
    return st;
}

far_status far_cg(far_ctx *ctx, const far_cg_job *job, double *x, double *rest, far_cg_end *end)
{
    cg s = {.ctx = ctx, .job = job, .n = job->k.n, .p = job->p, .m = job->landmarks->m};
    s.x = x;
    s.r = rest;
    far_status st;
    *end = (far_cg_end){0};
    FAR_TRY(cg_open(&s));
    FAR_TRY(solve(&s, end));
    if (!isfinite(end->residual)) {
        st = far_fail(ctx, FAR_ERR_SINGULAR,
                      "conjugate gradients gave no finite numbers; use a larger ridge");
    }
done:
    cg_clear(&s);
    return st;
}
