/*
 * Fits of more rows than a factor has room for: conjugate gradients, and landmarks alone.
 *
 * Rows are put into a random order: the first are the landmarks, the last are held out. Both
 * methods first fit the other rows, which predicts those held out as new rows are; what that shows
 * becomes the scores, the probabilities and the intervals of the model. Then all rows are fitted,
 * from there on.
 */
#include "fit_iterative.h"
#include "../gram/gram.h"
#include "../solve/solve_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CG_LANDMARKS = 2048, NYSTROM_LANDMARKS = 4096, MOST_LANDMARKS = 8192, HELD_OUT = 2000 };
#define GROWS_FROM 50000 /* rows: a sweep costs their square, landmarks are worth more */
enum { MOST_ITERATIONS = 1000 };
/* A ridge that was chosen, not given, gives way: by a factor of 10 where steps do not converge, so
 * often at most. A choice is made with a factor, which no ridge is too small for. */
enum { ITERATIONS_OF_A_CHOICE = 300, MOST_RAISES = 10 };
#define RAISE 10.0
#define NEAR_ROUNDING 1e-8   /* a residual that no larger ridge makes smaller */
#define PAIRS_PER_SECOND 3e8 /* a thread, as a rough estimate */
#define USUAL_ITERATIONS 60
#define TILES_SHARE 0.95  /* of the budget: the table and the libraries have theirs */
#define HELD_OUT_SHARE 10 /* at most a tenth of the rows */
#define HELD_OUT_TOLERANCE                                                                         \
    1e-3                  /* of predictions that are scored, beside errors that are larger         \
                           */
#define LEAST_RIDGE 1e-12 /* of the preconditioner, beside the trace: rounding hides less */

typedef struct iterative {
    far_ctx *ctx;
    far_model *m;
    const far_fit_opts *o;
    int64_t n, p, landmarks, held;
    double ridge, mean_diagonal, tiles; /* absolute; bytes for tiles */
    int64_t *order;                     /* n: which row comes i-th */
    double *x, *y, *diagonal;           /* in that order: n x d behind the metric, n x p, n */
    double *alpha, *rest;               /* n x p: the solution, what it leaves of y */
    far_kernel_points points;
    far_nystrom *known;
    far_product *product;
    far_left_out left; /* the rows that were held out */
} iterative;

static void iterative_clear(iterative *s)
{
    far_nystrom_destroy(s->known);
    far_product_destroy(s->product);
    FAR_FREE_ALL(s->ctx, s->order, s->x, s->y, s->diagonal, s->alpha, s->rest);
    far_left_out_clear(s->ctx, &s->left);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static int64_t held_out(int64_t n)
{
    return far_least(HELD_OUT, n / HELD_OUT_SHARE);
}

int64_t far_landmark_count(const far_fit_opts *o, far_method method, int64_t n)
{
    double grown = CG_LANDMARKS * sqrt((double)n / GROWS_FROM);
    int64_t cg = (int64_t)fmin(fmax(grown, CG_LANDMARKS), MOST_LANDMARKS);
    int64_t usual = method == FAR_METHOD_CG ? cg : NYSTROM_LANDMARKS;
    int64_t most = n - held_out(n) - 1, wanted = o->landmarks > 0 ? o->landmarks : usual;
    if (o->landmarks == 0 && wanted > n / 4) {
        wanted = n / 4 + 1;
    }
    return wanted < most ? wanted : most;
}

/* Without tiles that are kept. */
double far_iterative_bytes(int64_t n, int64_t d, int64_t p, int64_t landmarks)
{
    double rows = (double)n * (double)(2 * d + 4 * p + 4) * sizeof(double);
    return rows + far_cg_bytes(n, p) + far_product_bytes(n, p) + far_nystrom_bytes(landmarks);
}

far_estimate far_iterative_estimate(far_ctx *ctx, const far_fit_opts *o, far_method method,
                                    int64_t n)
{
    int64_t landmarks = far_landmark_count(o, method, n);
    double sweep = (double)n * (double)n / 2 / (PAIRS_PER_SECOND * far_ctx_threads(ctx));
    double share = 4 * (double)landmarks / (double)n; /* of a sweep: two products with landmarks */
    double need = far_iterative_bytes(n, 1, 1, landmarks);
    return (far_estimate){
        .bytes = need,
        .seconds = sweep * (method == FAR_METHOD_CG ? USUAL_ITERATIONS * (1 + share) : 2 * share),
        .fits = need <= far_budget(o->memory)};
}

/* ---- rows in order --------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static far_status take_rows(iterative *s)
{
    far_status st;
    int64_t n = s->n, d = s->m->info.inputs, p = s->p;
    far_mat x = far_model_points(s->m);
    FAR_TRY(far_alloc(s->ctx, n, &s->order));
    FAR_TRY(far_alloc(s->ctx, n * d, &s->x));
    FAR_TRY(far_alloc(s->ctx, n * p, &s->y));
    FAR_TRY(far_alloc(s->ctx, n, &s->diagonal));
    FAR_TRY(far_alloc(s->ctx, n * p, &s->alpha));
    FAR_TRY(far_alloc(s->ctx, n * p, &s->rest));
    far_landmark_order(s->m->info.seed, n, s->order);
    qsort(s->order + n - s->held, (size_t)s->held, sizeof *s->order, by_number);
    for (int64_t i = 0; i < n; i++) {
        memcpy(s->x + i * d, far_mat_row(&x, s->order[i]), (size_t)d * sizeof *s->x);
        memcpy(s->y + i * p, s->m->y + s->order[i] * p, (size_t)p * sizeof *s->y);
    }
    s->points =
        (far_kernel_points){s->m->kernel, far_mat_view(s->x, n, d, FAR_F64), s->m->info.kernel, 0};
done:
    return st;
}

void far_landmark_order(uint64_t seed, int64_t n, int64_t *order)
{
    for (int64_t i = 0; i < n; i++) {
        order[i] = i;
    }
    far_random_shuffle(seed, order, n);
}

static far_status set_ridge(iterative *s, double ridge, far_ridge_kind kind)
{
    far_status st;
    long double sum = 0;
    far_mat out = far_mat_view(s->diagonal, s->n, 1, FAR_F64);
    bool nngp = s->m->info.kernel == FAR_KERNEL_NNGP;
    FAR_TRY(far_kernel_diag(s->ctx, s->m->kernel, &s->points.x, nngp ? &out : NULL,
                            nngp ? NULL : &out));
    for (int64_t i = 0; i < s->n; i++) {
        sum += s->diagonal[i];
    }
    s->mean_diagonal = (double)(sum / (long double)s->n);
    s->ridge = kind == FAR_RIDGE_RELATIVE ? ridge * s->mean_diagonal : ridge;
    if (!(s->ridge > 0) || isinf(s->ridge)) {
        st = far_fail(s->ctx, FAR_ERR_ARG,
                      "a ridge of %g cannot be fitted by iterations or landmarks, which need one "
                      "above 0; use `ridge` auto, or `method` exact",
                      ridge);
    }
done:
    return st;
}

/* ---- products -------------------------------------------------------------------------------- */

static far_status apply(far_ctx *ctx, void *user, int64_t cols, bool transposed, int64_t p,
                        const double *x, double *y)
{
    return far_product_apply(ctx, user, cols, transposed, p, x, y);
}

static far_status prepare(iterative *s)
{
    far_status st;
    far_symmetric matrix = far_kernel_points_matrix(&s->points);
    double trace = s->mean_diagonal * (double)s->n;
    bool cg = s->m->info.method == FAR_METHOD_CG;
    double ridge = cg ? fmax(s->ridge, LEAST_RIDGE * trace) : s->ridge;
    double need = far_iterative_bytes(s->n, s->m->info.inputs, s->p, s->landmarks);
    if (far_budget_check(s->ctx, "a fit without a factor", need, s->o->memory) != FAR_OK) {
        char why[256];
        snprintf(why, sizeof why, "%s", far_ctx_message(s->ctx));
        return far_fail(s->ctx, FAR_ERR_BUDGET, "%s; allow more (`memory`) or fewer `landmarks`",
                        why);
    }
    s->tiles = cg ? TILES_SHARE * far_budget(s->o->memory) - need : 0;
    FAR_TRY(far_nystrom_create(s->ctx, &matrix, s->landmarks, ridge, &s->known));
    FAR_TRY(far_product_create(s->ctx, s->m->kernel, s->m->info.kernel == FAR_KERNEL_NNGP,
                               &s->points.x, s->tiles, &s->product));
done:
    return st;
}

/* ---- fits of the first rows ------------------------------------------------------------------ */

static far_status run_cg(iterative *s, int64_t active, double tolerance, const char *what)
{
    far_cg_end end;
    far_cg_job job = {.k = {s->n, apply, s->product},
                      .landmarks = s->known,
                      .p = s->p,
                      .b = s->y,
                      .active = active,
                      .ridge = s->ridge,
                      .tolerance = tolerance,
                      .most = isnan(s->o->ridge) ? ITERATIONS_OF_A_CHOICE : MOST_ITERATIONS,
                      .what = what};
    far_status st = far_cg(s->ctx, &job, s->alpha, s->rest, &end);
    s->m->info.iterations += end.iterations;
    s->m->info.residual = end.residual;
    s->m->info.converged = end.converged;
    return st;
}

/* alpha = L^-T (B'B + ridge)^-1 L^-1 K_mn y, of the landmarks; rest = y - K_nm alpha. */
static far_status run_landmarks(iterative *s, int64_t active)
{
    far_status st;
    int64_t p = s->p, m = s->landmarks, from = active * p;
    double *targets = NULL, *weights = NULL;
    FAR_TRY(far_alloc(s->ctx, s->n * p, &targets));
    FAR_TRY(far_alloc(s->ctx, m * p, &weights));
    memcpy(targets, s->y, (size_t)from * sizeof *targets);
    FAR_TRY(far_progress(s->ctx, "solve", 0, 2));
    FAR_TRY(far_product_apply(s->ctx, s->product, m, true, p, targets, s->alpha));
    for (int64_t k = 0; k < m * p; k++) {
        weights[k % p * m + k / p] = s->alpha[k];
    }
    far_nystrom_solve(s->ctx, s->known, weights, p);
    memset(s->alpha, 0, (size_t)(s->n * p) * sizeof *s->alpha);
    for (int64_t k = 0; k < m * p; k++) {
        s->alpha[k] = weights[k % p * m + k / p];
    }
    FAR_TRY(far_product_apply(s->ctx, s->product, m, false, p, s->alpha, s->rest));
    for (int64_t k = 0; k < s->n * p; k++) {
        s->rest[k] = s->y[k] - s->rest[k];
    }
    s->m->info.converged = 1;
done:
    far_free(s->ctx, targets);
    far_free(s->ctx, weights);
    return st;
}

/* All but the last rows if some are to be held out. */
static far_status run(iterative *s, bool all)
{
    int64_t before = s->n - s->held, active = all ? s->n : before;
    double tolerance = s->m->info.tolerance;
    far_status st = far_nystrom_add(s->ctx, s->known, all ? before : 0, all ? s->held : before);
    if (st != FAR_OK || s->m->info.method == FAR_METHOD_NYSTROM) {
        return st == FAR_OK ? run_landmarks(s, active) : st;
    }
    return run_cg(s, active, all ? tolerance : fmax(tolerance, HELD_OUT_TOLERANCE),
                  all ? "solve" : "held out");
}

/* ---- what the rows that were held out show --------------------------------------------------- */

/* Of the rows that were held out, noise included. */
static far_status find_variances(iterative *s)
{
    int64_t d = s->m->info.inputs, first = s->n - s->held;
    far_mat landmarks = far_mat_view(s->x, s->landmarks, d, FAR_F64);
    far_mat rows = far_mat_view(s->x + first * d, s->held, d, FAR_F64);
    s->m->info.ridge = s->ridge;
    far_status st =
        far_posterior_variance(s->ctx, s->m, &landmarks, s->o->memory, &rows, s->left.variance);
    for (int64_t i = 0; st == FAR_OK && i < s->held; i++) {
        s->left.variance[i] += s->ridge;
    }
    return st;
}

static far_status keep_misses(iterative *s)
{
    far_status st;
    int64_t first = s->n - s->held, count = s->held * s->p;
    s->left = (far_left_out){.count = s->held, .outputs = s->p};
    FAR_TRY(far_alloc(s->ctx, s->held, &s->left.rows));
    FAR_TRY(far_alloc(s->ctx, count, &s->left.miss));
    FAR_TRY(far_alloc(s->ctx, s->n * s->p, &s->left.fitted));
    FAR_TRY(far_alloc(s->ctx, s->held, &s->left.variance));
    memcpy(s->left.rows, s->order + first, (size_t)s->held * sizeof *s->order);
    memcpy(s->left.miss, s->rest + first * s->p, (size_t)count * sizeof *s->rest);
    FAR_TRY(find_variances(s));
done:
    return st;
}

/* rest := y - f, with what the ridge takes back: of landmarks it is that already. */
static void fitted_misses(iterative *s)
{
    bool cg = s->m->info.method == FAR_METHOD_CG;
    for (int64_t k = 0; cg && k < s->n * s->p; k++) {
        s->rest[k] += s->ridge * s->alpha[k];
    }
    for (int64_t i = 0; i < s->n; i++) {
        memcpy(s->left.fitted + s->order[i] * s->p, s->rest + i * s->p,
               (size_t)s->p * sizeof *s->rest);
    }
    s->m->info.r2_train = far_fitted_r2(s->y, s->rest, 1, s->n, s->p);
}

/* ---- the model ------------------------------------------------------------------------------- */

static void keep_numbers(iterative *s)
{
    far_model_info *i = &s->m->info;
    double trace = s->mean_diagonal * (double)s->n;
    i->ridge = s->ridge;
    i->mean_diagonal = s->mean_diagonal;
    i->ridge_relative = s->ridge / s->mean_diagonal;
    i->lambda_min = i->lambda_max = i->condition = i->log_det = NAN;
    i->landmarks = s->landmarks;
    i->landmarks_miss = trace > 0 ? fmax(1 - s->known->captured / trace, 0) : 0;
    i->bytes =
        far_iterative_bytes(s->n, i->inputs, s->p, s->landmarks) + far_product_kept(s->product);
}

static far_status keep_solution(iterative *s)
{
    far_status st;
    FAR_TRY(far_alloc(s->ctx, s->n * s->p, &s->m->alpha));
    FAR_TRY(far_alloc(s->ctx, s->n * s->p, &s->m->alpha_low));
    for (int64_t i = 0; i < s->n; i++) {
        memcpy(s->m->alpha + s->order[i] * s->p, s->alpha + i * s->p,
               (size_t)s->p * sizeof *s->alpha);
    }
done:
    return st;
}

/* A fit by landmarks is the exact fit of other targets, (K_mm + ridge) alpha, at the landmarks
 * alone: as that it is kept, and all that is proven of a fit holds of it. */
static far_status keep_landmarks(iterative *s)
{
    far_status st;
    far_model *m = s->m;
    far_duplicates twins;
    int64_t count = s->landmarks, p = s->p, d = m->info.inputs;
    double mean = 0, *x = NULL;
    FAR_TRY(far_alloc(s->ctx, count * d, &x));
    for (int64_t i = 0; i < count; i++) {
        memcpy(x + i * d, m->x + s->order[i] * d, (size_t)d * sizeof *x);
    }
    far_free(s->ctx, m->x);
    m->x = x;
    FAR_TRY(far_alloc(s->ctx, count * p, &m->alpha));
    FAR_TRY(far_alloc(s->ctx, count * p, &m->alpha_low));
    memcpy(m->alpha, s->alpha, (size_t)(count * p) * sizeof *s->alpha);
    for (int64_t k = 0; k < count * p; k++) {
        m->y[k] = s->y[k] - s->rest[k] + s->ridge * s->alpha[k];
    }
    for (int64_t i = 0; i < count; i++) {
        mean += s->diagonal[i] / (double)count;
    }
    m->info.rows = count;
    m->info.mean_diagonal = mean;
    m->info.ridge_relative = s->ridge / mean;
    far_metric_facts_clear(s->ctx, &m->facts);
    FAR_TRY(far_model_take_metric(s->ctx, m));
    FAR_TRY(far_duplicates_find(s->ctx, m->x, count, d, m->y, p, NULL, &twins));
    m->info.duplicates = twins.rows;
    m->info.conflicts = twins.conflicts;
    far_free(s->ctx, m->loo); /* of rows that it does not have */
    m->loo = NULL;
done:
    return st;
}

/* What depends on the ridge, to be made anew. */
static void forget(iterative *s)
{
    far_nystrom_destroy(s->known);
    far_product_destroy(s->product);
    far_left_out_clear(s->ctx, &s->left);
    s->known = NULL;
    s->product = NULL;
    s->left = (far_left_out){0};
    memset(s->alpha, 0, (size_t)(s->n * s->p) * sizeof *s->alpha);
    memset(s->rest, 0, (size_t)(s->n * s->p) * sizeof *s->rest);
}

/* The rows that are held out from the others, then all of them; neither where the first did not
 * converge and another ridge will be tried. */
static far_status solve(iterative *s, double ridge, far_ridge_kind kind, bool last)
{
    far_status st;
    FAR_TRY(set_ridge(s, ridge, kind));
    FAR_TRY(prepare(s));
    FAR_TRY(run(s, false));
    if (s->m->info.converged || last) {
        FAR_TRY(keep_misses(s));
        FAR_TRY(run(s, true));
    }
done:
    return st;
}

static far_status fit(iterative *s, double ridge, far_ridge_kind kind)
{
    far_status st;
    far_model_info *i = &s->m->info;
    double start = far_seconds();
    int raises = isnan(s->o->ridge) ? MOST_RAISES : 0;
    FAR_TRY(take_rows(s));
    i->ridge_raised = 1;
    FAR_TRY(solve(s, ridge, kind, raises == 0));
    for (int k = 1; !i->converged && i->residual > NEAR_ROUNDING && k <= raises; k++) {
        forget(s);
        i->ridge_raised *= RAISE;
        FAR_TRY(solve(s, ridge * i->ridge_raised, kind, k == raises));
    }
    fitted_misses(s);
    keep_numbers(s);
    i->seconds_solve = far_seconds() - start;
    FAR_TRY(far_model_score_rows(s->ctx, &s->left, s->m));
    FAR_TRY(i->method == FAR_METHOD_NYSTROM ? keep_landmarks(s) : keep_solution(s));
done:
    return st;
}

far_status far_fit_iterative(far_ctx *ctx, const far_fit_opts *o, double ridge, far_ridge_kind kind,
                             far_model *m)
{
    int64_t n = m->info.rows;
    if (n < FAR_LEAST_ITERATIVE) {
        return far_fail(ctx, FAR_ERR_SHAPE,
                        "%lld rows are too few for landmarks and rows that are held out; use "
                        "`method` exact",
                        (long long)n);
    }
    iterative s = {.ctx = ctx,
                   .m = m,
                   .o = o,
                   .n = n,
                   .p = m->info.outputs,
                   .held = held_out(n),
                   .landmarks = far_landmark_count(o, m->info.method, n)};
    m->info.held_out = s.held;
    m->info.trained_rows = n;
    m->info.tolerance = o->tolerance;
    m->info.seed = o->seed & INT64_MAX; /* as a file can hold it */
    far_status st = fit(&s, ridge, kind);
    iterative_clear(&s);
    return st;
}
