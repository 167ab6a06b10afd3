/*
 * A diagonal map tuned by leave-one-out: the weights under which every row is predicted best from
 * all others, by quasi-Newton steps with derivatives in closed form.
 *
 * Gradient outer products tell which inputs the fit uses; this tells which weights predict. It sees
 * the targets of all rows, once each in its turn, so what it promises of them is too good: folds
 * judge it on rows that it has not seen (select_fold.c).
 *
 * With A = K + ridge, alpha = A^-1 y and D = diag(A^-1) a row left out is missed by e = alpha / D.
 * Half the log of the mean of e^2 has by K the derivative
 *
 *     W = A^-1 diag(t) A^-1 - (v alpha' + alpha v') / 2      u = e / (D sum e^2),  v = A^-1 u,
 *                                                            t = alpha u / D
 *
 * and by the points W times the slopes of the kernel. Inputs of a group share a weight: the steps
 * of a rank, the indicators of a category.
 */
#include "metric.h"

#include "../gram/gram.h"
#include "../solve/blas.h"
#include "../solve/solve_internal.h"
#include "regress_internal.h"

#include <math.h>
#include <nlopt.h>
#include <string.h>

enum { FEW_ROWS = 500, MOST_ROWS = 1000, LEAST_ROWS = 200 };
enum { FIRST_EVALS = 20, LAST_EVALS = 8, MOST_GROUPS = 2000 };
#define WORK 1e8  /* rows^2 inputs of one evaluation, about: of many inputs fewer rows are taken */
#define WORTH 1.3 /* times as many rows: fewer add nothing */
#define PULL 0.1  /* towards equal weights: what a squared log weight costs, over the rows */
#define LIGHTEST -7 /* log of a weight */
#define HEAVIEST 4
#define LEAST_RIDGE 1e-9
#define MOST_RIDGE 10.0
#define HOPELESS 1e30 /* a matrix that is singular */

typedef struct tuning {
    far_ctx *ctx;
    const far_kernel *kernel;
    far_kernel_kind kind;
    const int64_t *groups;
    int64_t n, d, p, group_count;
    bool free_ridge;
    double ridge;                           /* relative */
    double *x, *y;                          /* the rows taken */
    double *spread;                         /* d: mean squares of the inputs */
    double *z, *wide;                       /* n x d: behind the map; slopes */
    double *inverse, *scaled, *weights;     /* n x n */
    double *alpha, *pull, *back, *diagonal; /* n x p, but the last n */
    double *map;                            /* d */
    double *best, least;                    /* what was found: logs of weights, and of the ridge */
    unsigned count;
    nlopt_opt nlopt;
    far_status status;
} tuning;

static void tuning_clear(tuning *t)
{
    FAR_FREE_ALL(t->ctx, t->x, t->y, t->spread, t->z, t->wide, t->inverse, t->scaled, t->weights,
                 t->alpha, t->pull, t->back, t->diagonal, t->map, t->best);
    nlopt_destroy(t->nlopt);
}

/* ---- one evaluation ------------------------------------------------------------------------- */

/* map_k = c exp(w of its group), c such that the mean of |S x|^2 is that of |x|^2. */
static void take_weights(tuning *t, const double *w)
{
    double before = 0, after = 0;
    for (int64_t k = 0; k < t->d; k++) {
        t->map[k] = exp(w[t->groups[k]]);
        before += t->spread[k];
        after += t->map[k] * t->map[k] * t->spread[k];
    }
    double c = after > 0 ? sqrt(before / after) : 1;
    for (int64_t k = 0; k < t->d; k++) {
        t->map[k] *= c;
    }
}

static void put_behind(tuning *t)
{
    for (int64_t at = 0; at < t->n * t->d; at++) {
        t->z[at] = t->x[at] * t->map[at % t->d];
    }
}

/* out (n x p) = A^-1 b, row by row. */
static void solve(const tuning *t, const double *b, double *out)
{
    memset(out, 0, (size_t)(t->n * t->p) * sizeof *out);
    far_blas_scope scope = far_blas_enter(far_ctx_threads(t->ctx));
    far_gemm('N', 'N', t->p, t->n, t->n, 1, b, t->p, t->inverse, t->n, out, t->p);
    far_blas_leave(scope);
}

/* alpha, the inverse and its diagonal; mean: of the kernel's diagonal. */
static far_status invert(tuning *t, double ridge, double *mean)
{
    far_status st;
    far_mat z = far_mat_view(t->z, t->n, t->d, FAR_F64);
    far_mat k = far_mat_view(t->weights, t->n, t->n, FAR_F64); /* room that is free as yet */
    far_symmetric matrix = far_stored_matrix(&k);
    far_system *s = NULL;
    far_solve_opts o;
    far_solve_opts_init(&o);
    o.ridge = ridge;
    o.extremes = 0;
    o.storage = FAR_STORAGE_PACKED;
    FAR_TRY(far_kernel_eval_kind(t->ctx, t->kernel, t->kind, &z, NULL, &k));
    FAR_TRY(far_system_create(t->ctx, &matrix, &o, &s));
    FAR_TRY(far_system_inverse(t->ctx, s, t->inverse));
    *mean = s->info.mean_diagonal;
    solve(t, t->y, t->alpha);
    for (int64_t i = 0; i < t->n; i++) {
        t->diagonal[i] = t->inverse[i * t->n + i];
    }
done:
    far_system_destroy(s);
    return st;
}

/* Sum of squared misses. */
static double squared_misses(const tuning *t)
{
    long double sum = 0;
    for (int64_t at = 0; at < t->n * t->p; at++) {
        long double miss = t->alpha[at] / (long double)t->diagonal[at / t->p];
        sum += miss * miss;
    }
    return (double)sum;
}

/* W, and its trace. */
static far_status differentiate(tuning *t, double sum, double *trace)
{
    far_status st;
    far_blas_scope scope;
    int64_t n = t->n, p = t->p;
    for (int64_t i = 0; i < n; i++) {
        double d = t->diagonal[i], squares = 0;
        for (int64_t j = 0; j < p; j++) {
            double a = t->alpha[i * p + j];
            t->pull[i * p + j] = a / (d * d * sum);
            squares += a * a;
        }
        double root = sqrt(squares / (d * d * d * sum));
        for (int64_t j = 0; j < n; j++) {
            t->scaled[i * n + j] = root * t->inverse[i * n + j];
        }
    }
    far_mat scaled = far_mat_view(t->scaled, n, n, FAR_F64);
    far_mat weights = far_mat_view(t->weights, n, n, FAR_F64);
    memset(t->weights, 0, (size_t)(n * n) * sizeof *t->weights);
    FAR_TRY(far_add_square(t->ctx, &scaled, &weights));
    far_mirror_square(t->weights, n, n);
    solve(t, t->pull, t->back);
    scope = far_blas_enter(far_ctx_threads(t->ctx));
    far_gemm('T', 'N', n, n, p, -0.5, t->alpha, p, t->back, p, t->weights, n);
    far_gemm('T', 'N', n, n, p, -0.5, t->back, p, t->alpha, p, t->weights, n);
    far_blas_leave(scope);
    *trace = 0;
    for (int64_t i = 0; i < n; i++) {
        *trace += t->weights[i * n + i];
    }
done:
    return st;
}

/* From W to the derivatives by the logs of the weights. The ridge is relative to the mean of the
 * diagonal, and the size of the map is fixed: both have a part in every one. */
static far_status descend_to_weights(tuning *t, double ridge, double trace, double *grad)
{
    far_status st;
    int64_t n = t->n, d = t->d;
    double all = 0, size = 0;
    for (int64_t i = 0; i < n; i++) {
        t->weights[i * n + i] += ridge * trace / (double)n;
    }
    far_mat z = far_mat_view(t->z, n, d, FAR_F64), slopes = far_mat_view(t->wide, n, d, FAR_F64);
    far_mat weights = far_mat_view(t->weights, n, n, FAR_F64);
    FAR_TRY(far_kernel_slopes(t->ctx, t->kernel, t->kind, &z, NULL, &weights, &slopes));
    for (int64_t k = 0; k < d; k++) {
        double own = 0;
        for (int64_t i = 0; i < n; i++) {
            own += 2 * t->z[i * d + k] * t->wide[i * d + k];
        }
        grad[t->groups[k]] += own;
        all += own;
        size += t->map[k] * t->map[k] * t->spread[k];
    }
    for (int64_t k = 0; k < d && size > 0; k++) {
        grad[t->groups[k]] -= all * t->map[k] * t->map[k] * t->spread[k] / size;
    }
done:
    return st;
}

static far_status evaluate(tuning *t, const double *w, double *value, double *grad)
{
    far_status st;
    double ridge = t->free_ridge ? exp(w[t->group_count]) : t->ridge, mean, trace, sum;
    *value = HOPELESS;
    take_weights(t, w);
    put_behind(t);
    FAR_TRY(invert(t, ridge, &mean));
    sum = squared_misses(t);
    if (!isfinite(sum) || !(sum > 0)) {
        goto done; /* nothing is left to be gained */
    }
    *value = 0.5 * log(sum / (double)(t->n * t->p));
    for (int64_t g = 0; g < t->group_count; g++) {
        *value += PULL * w[g] * w[g] / (double)t->n;
    }
    if (grad) {
        FAR_TRY(differentiate(t, sum, &trace));
        FAR_TRY(descend_to_weights(t, ridge, trace, grad));
        for (int64_t g = 0; g < t->group_count; g++) {
            grad[g] += 2 * PULL * w[g] / (double)t->n;
        }
        if (t->free_ridge) {
            grad[t->group_count] = ridge * mean * trace;
        }
    }
done:
    return st;
}

/* ---- descent -------------------------------------------------------------------------------- */

static double objective(unsigned count, const double *w, double *grad, void *data)
{
    tuning *t = data;
    double value = HOPELESS;
    if (grad) {
        memset(grad, 0, count * sizeof *grad);
    }
    far_status st = evaluate(t, w, &value, grad);
    if (st != FAR_OK && st != FAR_ERR_SINGULAR && st != FAR_ERR_RANGE) {
        t->status = st;
        nlopt_force_stop(t->nlopt);
    }
    if (value < t->least) {
        t->least = value;
        memcpy(t->best, w, count * sizeof *w);
    }
    return value;
}

static far_status descend(tuning *t, int evals)
{
    far_status st;
    double *low = NULL, *high = NULL, *w = NULL, least;
    nlopt_destroy(t->nlopt);
    t->nlopt = nlopt_create(NLOPT_LD_LBFGS, t->count);
    if (!t->nlopt) {
        return far_fail(t->ctx, FAR_ERR_MEMORY, "out of memory tuning a metric");
    }
    FAR_TRY(far_alloc(t->ctx, t->count, &low));
    FAR_TRY(far_alloc(t->ctx, t->count, &high));
    FAR_TRY(far_alloc(t->ctx, t->count, &w));
    for (unsigned g = 0; g < t->count; g++) {
        bool of_input = g < t->group_count;
        low[g] = of_input ? LIGHTEST : log(LEAST_RIDGE);
        high[g] = of_input ? HEAVIEST : log(MOST_RIDGE);
        w[g] = fmin(fmax(t->best[g], low[g]), high[g]);
    }
    t->least = INFINITY;
    nlopt_set_min_objective(t->nlopt, objective, t);
    nlopt_set_lower_bounds(t->nlopt, low);
    nlopt_set_upper_bounds(t->nlopt, high);
    nlopt_set_maxeval(t->nlopt, evals);
    nlopt_set_ftol_abs(t->nlopt, 1e-3);
    nlopt_optimize(t->nlopt, w, &least); /* the best point is kept by the objective */
    st = t->status;
done:
    FAR_FREE_ALL(t->ctx, low, high, w);
    return st;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static void measure_spread(tuning *t, const far_mat *x)
{
    memset(t->spread, 0, (size_t)t->d * sizeof *t->spread);
    for (int64_t i = 0; i < x->rows; i++) {
        const double *row = far_mat_row(x, i);
        for (int64_t k = 0; k < t->d; k++) {
            t->spread[k] += row[k] * row[k] / (double)x->rows;
        }
    }
}

/* Evenly spread rows of x and y. */
static void take_rows(tuning *t, const far_mat *x, const far_mat *y, int64_t n)
{
    t->n = n;
    for (int64_t i = 0; i < n; i++) {
        int64_t from = i * x->rows / n;
        memcpy(t->x + i * t->d, far_mat_row(x, from), (size_t)t->d * sizeof *t->x);
        memcpy(t->y + i * t->p, far_mat_row(y, from), (size_t)t->p * sizeof *t->y);
    }
    far_mat taken = far_mat_view(t->x, n, t->d, FAR_F64);
    measure_spread(t, &taken);
}

static far_status make_room(tuning *t, int64_t n)
{
    far_status st;
    FAR_TRY(far_alloc(t->ctx, n * t->d, &t->x));
    FAR_TRY(far_alloc(t->ctx, n * t->p, &t->y));
    FAR_TRY(far_alloc(t->ctx, t->d, &t->spread));
    FAR_TRY(far_alloc(t->ctx, n * t->d, &t->z));
    FAR_TRY(far_alloc(t->ctx, n * t->d, &t->wide));
    FAR_TRY(far_alloc(t->ctx, n * n, &t->inverse));
    FAR_TRY(far_alloc(t->ctx, n * n, &t->scaled));
    FAR_TRY(far_alloc(t->ctx, n * n, &t->weights));
    FAR_TRY(far_alloc(t->ctx, n * t->p, &t->alpha));
    FAR_TRY(far_alloc(t->ctx, n * t->p, &t->pull));
    FAR_TRY(far_alloc(t->ctx, n * t->p, &t->back));
    FAR_TRY(far_alloc(t->ctx, n, &t->diagonal));
    FAR_TRY(far_alloc(t->ctx, t->d, &t->map));
    FAR_TRY(far_alloc(t->ctx, t->count, &t->best));
done:
    return st;
}

/* How many rows teach: of many inputs fewer. */
static int64_t rows_for(int64_t rows, int64_t inputs)
{
    double most = fmin(sqrt(WORK / (double)inputs), MOST_ROWS);
    return far_least(rows, (int64_t)fmax(most, LEAST_ROWS));
}

static far_status hand_map_over(tuning *t, const far_mat *x, far_metric *out)
{
    far_status st;
    FAR_TRY(far_alloc(t->ctx, t->d, &out->map));
    measure_spread(t, x); /* the size is that of all rows */
    take_weights(t, t->best);
    memcpy(out->map, t->map, (size_t)t->d * sizeof *out->map);
    out->kind = FAR_METRIC_DIAGONAL;
    out->inputs = t->d;
done:
    return st;
}

far_status far_metric_tune(far_ctx *ctx, const far_kernel *k, far_kernel_kind kind,
                           const far_tuning_opts *o, const far_mat *x, const far_mat *y,
                           far_metric *out)
{
    tuning t = {.ctx = ctx,
                .kernel = k,
                .kind = kind,
                .groups = o->groups,
                .group_count = o->group_count,
                .free_ridge = o->free_ridge,
                .ridge = o->ridge,
                .d = x->cols,
                .p = y->cols};
    int64_t rows = rows_for(x->rows, x->cols), few = far_least(rows, FEW_ROWS);
    far_status st;
    *out = (far_metric){0};
    if (t.group_count > MOST_GROUPS) {
        return far_fail(ctx, FAR_ERR_SINGULAR, "too many weights to tune: %lld",
                        (long long)t.group_count);
    }
    t.count = (unsigned)(t.group_count + t.free_ridge);
    FAR_TRY(make_room(&t, rows));
    if (t.free_ridge) {
        t.best[t.group_count] = log(o->ridge);
    }
    take_rows(&t, x, y, few);
    FAR_TRY(descend(&t, FIRST_EVALS));
    if ((double)rows > WORTH * (double)few) {
        take_rows(&t, x, y, rows);
        FAR_TRY(descend(&t, LAST_EVALS));
    }
    FAR_TRY(t.least < HOPELESS ? hand_map_over(&t, x, out)
                               : far_fail(ctx, FAR_ERR_SINGULAR, "no weights could be tuned"));
done:
    tuning_clear(&t);
    return st;
}
