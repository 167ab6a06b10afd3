/*
 * Rank and prior by the likelihood of validation rows.
 *
 * With the eigenvectors U and eigenvalues g of a rank's matrix, w' w = sum_k t_k' t_k / (g_k + 1 /
 * s0^2), t = U' z: one rotation serves all priors.
 */
#include "laplace_internal.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const double PRIORS[] = {1e-4, 3.1622776601683795e-4, 1e-3, 3.1622776601683795e-3,
                                1e-2, 3.1622776601683795e-2, 1e-1, 3.1622776601683795e-1,
                                1,    3.1622776601683795,    10,   31.622776601683793,
                                100};
enum { PRIOR_COUNT = sizeof PRIORS / sizeof PRIORS[0], RANKS_MOST = 64 };

/* Everything that does not depend on rank and prior. */
typedef struct search {
    far_ctx *ctx;
    const far_laplace *la;
    far_laplace_grid grid;
    int64_t ranks[RANKS_MOST];
    const int64_t *labels;
    const far_mat *x, *y;
    far_projection projection; /* not of a diagonal system, which is as long as all weights */
    double *mean, *covariance, *probability;
    double *spread;           /* covariances of a diagonal system, for each prior */
    double *values, *weights; /* eigenvalues of a rank's matrix, and 1 / (g + 1 / s0^2) */
    double *vectors, *turned; /* its eigenvectors by columns, and by rows */
    int64_t points;
} search;

static void search_clear(search *s)
{
    far_projection_clear(&s->projection);
    FAR_FREE_ALL(s->ctx, s->mean, s->covariance, s->probability, s->spread, s->values, s->weights,
                 s->vectors, s->turned);
}

/* ---- the grid ------------------------------------------------------------------------------ */

/* 5, 10, 20, 50, ... below the most, and the most. */
static void default_ranks(search *s, int64_t most)
{
    static const int64_t LEADS[] = {5, 10, 20};
    int64_t count = 0, decade = 1;
    for (int64_t k = 0; LEADS[k % 3] * decade < most && count < RANKS_MOST - 1; k++) {
        s->ranks[count++] = LEADS[k % 3] * decade;
        decade *= k % 3 == 2 ? 10 : 1;
    }
    s->ranks[count++] = most;
    s->grid.ranks = s->ranks;
    s->grid.rank_count = count;
}

static void complete_grid(search *s, const far_laplace_grid *grid)
{
    s->grid = grid ? *grid : (far_laplace_grid){.size = sizeof s->grid};
    s->grid.probability.size = sizeof s->grid.probability;
    if (!s->grid.priors) {
        s->grid.priors = PRIORS;
        s->grid.prior_count = PRIOR_COUNT;
    }
    if (s->la->info.system != FAR_LAPLACE_FEATURES) {
        s->ranks[0] = s->la->info.side;
        s->grid.ranks = s->ranks;
        s->grid.rank_count = 1;
    } else if (!s->grid.ranks) {
        default_ranks(s, s->la->info.rank_most);
    }
}

static far_status check_given(far_ctx *ctx, const far_laplace *la, const far_laplace_grid *g)
{
    bool ella = la->info.system == FAR_LAPLACE_FEATURES;
    if (g->size != sizeof *g) {
        return far_fail(ctx, FAR_ERR_ARG, "grid->size is not sizeof(far_laplace_grid)");
    }
    if (!ella && g->ranks) {
        return far_fail(ctx, FAR_ERR_ARG, "grid: only ELLA has ranks to choose");
    }
    if (g->nll && (!g->priors || (ella && !g->ranks))) {
        return far_fail(ctx, FAR_ERR_ARG, "grid: nll needs ranks and priors of your own");
    }
    if ((g->ranks && g->rank_count < 1) || (g->priors && g->prior_count < 1)) {
        return far_fail(ctx, FAR_ERR_ARG, "grid: there must be at least 1 rank and 1 prior");
    }
    return FAR_OK;
}

static far_status check_values(const search *s)
{
    const far_laplace_grid *g = &s->grid;
    bool ella = s->la->info.system == FAR_LAPLACE_FEATURES;
    for (int64_t k = 0; ella && k < g->rank_count; k++) {
        if (g->ranks[k] < 1 || g->ranks[k] > s->la->info.rank_most) {
            return far_fail(s->ctx, FAR_ERR_ARG, "grid: rank %lld is not in 1 to %lld",
                            (long long)g->ranks[k], (long long)s->la->info.rank_most);
        }
    }
    for (int64_t k = 0; k < g->prior_count; k++) {
        if (!(g->priors[k] > 0) || !isfinite(g->priors[k]) || !isfinite(1 / g->priors[k])) {
            return far_fail(s->ctx, FAR_ERR_ARG, "grid: the prior variance %g is not positive",
                            g->priors[k]);
        }
    }
    return far_check_probability_opts(s->ctx, &g->probability);
}

static far_status check_targets(const search *s, const far_mat *x)
{
    far_status st = FAR_OK;
    int32_t likelihood = s->la->info.likelihood;
    bool classes = likelihood != FAR_LIKELIHOOD_GAUSSIAN;
    if (x->rows < 1) {
        return far_fail(s->ctx, FAR_ERR_SHAPE, "there are no validation rows");
    }
    if (classes ? s->y != NULL : s->labels != NULL) {
        return far_fail(s->ctx, FAR_ERR_ARG, "%s",
                        classes ? "classes are scored by labels; y must be NULL"
                                : "a regression is scored by y; labels must be NULL");
    }
    if (classes) {
        return far_check_labels(s->ctx, s->labels, x->rows,
                                far_laplace_classes(likelihood, s->la->info.outputs));
    }
    FAR_TRY(far_check_matrix(s->ctx, s->y, "y", x->rows, s->la->info.outputs));
    FAR_TRY(far_check_finite(s->ctx, s->y, "y"));
done:
    return st;
}

/* ---- scores -------------------------------------------------------------------------------- */

static far_status check_memory(const search *s, const far_mat *x, int64_t side)
{
    double cols = (double)x->rows * (double)s->la->info.outputs;
    double numbers = cols * (3 * (double)side + 2 * (double)s->la->info.outputs + 2);
    numbers += 4 * (double)side * (double)side;
    double priors = (double)s->grid.prior_count;
    numbers = s->la->values ? (2 + priors) * cols * (double)s->la->info.outputs +
                                  priors * (double)s->la->info.side
                            : numbers;
    return far_budget_check(s->ctx, "the features of the validation rows", 8 * numbers,
                            s->la->memory);
}

static int64_t largest_rank(const far_laplace_grid *g)
{
    int64_t most = 0;
    for (int64_t k = 0; k < g->rank_count; k++) {
        most = g->ranks[k] > most ? g->ranks[k] : most;
    }
    return most;
}

static far_status spread_points(search *s, far_posterior *const *posteriors)
{
    int64_t square = s->la->info.outputs * s->la->info.outputs;
    int64_t chunk = far_laplace_chunk(s->la, 1, s->points);
    far_status st = FAR_OK;
    for (int64_t first = 0; st == FAR_OK && first < s->points; first += chunk) {
        far_mat part = far_mat_part(s->x, first, far_least(chunk, s->points - first));
        st = far_blocks_covariance(s->la, (const far_posterior *const *)posteriors,
                                   s->grid.prior_count, &part, s->spread + first * square,
                                   s->points * square);
    }
    return st;
}

/* Of a diagonal system: the covariances for every prior, of a few points at a time. */
static far_status spread_diagonal(search *s)
{
    int64_t count = s->grid.prior_count, side = s->la->info.side;
    far_posterior **posteriors = NULL;
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(s->ctx, count, &posteriors));
    for (int64_t k = 0; k < count; k++) {
        FAR_TRY(far_posterior_create(s->la, side, s->grid.priors[k], &posteriors[k]));
    }
    FAR_TRY(spread_points(s, posteriors));
done:
    for (int64_t k = 0; posteriors && k < count; k++) {
        far_posterior_destroy(s->ctx, posteriors[k]);
    }
    far_free(s->ctx, posteriors);
    return st;
}

static far_status prepare(search *s, const far_mat *x)
{
    int64_t outputs = s->la->info.outputs, side = largest_rank(&s->grid);
    int64_t classes = far_laplace_classes(s->la->info.likelihood, outputs);
    far_status st = FAR_OK;
    s->points = x->rows;
    FAR_TRY(check_memory(s, x, side));
    FAR_TRY(far_alloc(s->ctx, x->rows * outputs, &s->mean));
    FAR_TRY(far_alloc(s->ctx, x->rows * classes, &s->probability));
    FAR_TRY(far_alloc(s->ctx, x->rows * outputs * outputs, &s->covariance));
    FAR_TRY(far_laplace_outputs(s->la, x, s->mean));
    if (s->la->values) {
        FAR_TRY(far_alloc(s->ctx, s->grid.prior_count * x->rows * outputs * outputs, &s->spread));
        return spread_diagonal(s);
    }
    FAR_TRY(far_alloc(s->ctx, side, &s->values));
    FAR_TRY(far_alloc(s->ctx, side, &s->weights));
    FAR_TRY(far_alloc(s->ctx, side * side, &s->vectors));
    FAR_TRY(far_alloc(s->ctx, side * side, &s->turned));
    FAR_TRY(far_projection_create(s->la, x, side, &s->projection));
done:
    return st;
}

static far_status score_prediction(const search *s, double *nll)
{
    int64_t outputs = s->la->info.outputs;
    int64_t classes = far_laplace_classes(s->la->info.likelihood, outputs);
    far_mat mean = far_mat_view(s->mean, s->points, outputs, FAR_F64);
    far_mat covariance = far_mat_view(s->covariance, s->points * outputs, outputs, FAR_F64);
    far_mat probability = far_mat_view(s->probability, s->points, classes, FAR_F64);
    far_class_score by_class = {0};
    far_gauss_score gauss = {0};
    far_status st = FAR_OK;
    if (s->y) {
        FAR_TRY(far_gauss_scores(s->ctx, &mean, &covariance, s->y, s->la->info.noise, &gauss));
    } else {
        FAR_TRY(far_laplace_probability(s->ctx, &mean, &covariance, &s->grid.probability,
                                        &probability));
        FAR_TRY(far_class_scores(s->ctx, &probability, s->labels, 0, &by_class));
    }
    *nll = s->y ? gauss.nll : by_class.nll;
done:
    return st;
}

/* w = U' z of the first `rank` coordinates. */
static far_status rotate(search *s, int64_t rank)
{
    int64_t cols = s->points * s->la->info.outputs;
    far_mat matrix = s->la->matrix, values = far_mat_view(s->values, rank, 1, FAR_F64);
    far_mat vectors = far_mat_view(s->vectors, rank, rank, FAR_F64);
    far_mat turned = far_mat_view(s->turned, rank, rank, FAR_F64);
    far_mat z = far_mat_view(s->projection.z, rank, cols, FAR_F64);
    far_mat w = far_mat_view(s->projection.w, rank, cols, FAR_F64);
    far_status st = FAR_OK;
    matrix.rows = matrix.cols = rank;
    far_symmetric a = far_symmetric_of(&matrix);
    FAR_TRY(far_eigen(s->ctx, &a, FAR_EIGEN_LARGEST, rank, s->la->memory, &values, &vectors));
    far_transpose(s->ctx, &vectors, s->turned);
    FAR_TRY(far_multiply(s->ctx, &turned, &z, &w));
done:
    return st;
}

/* which: of the grid's priors. */
static far_status score(search *s, int64_t rank, int64_t which, double *nll)
{
    double prior = s->grid.priors[which];
    if (s->la->values) {
        int64_t numbers = s->points * s->la->info.outputs * s->la->info.outputs;
        memcpy(s->covariance, s->spread + which * numbers, (size_t)numbers * sizeof *s->spread);
        return score_prediction(s, nll);
    }
    double rounding = (double)rank * DBL_EPSILON * s->values[rank - 1];
    *nll = INFINITY;
    if (1 / prior < rounding) {
        return FAR_OK; /* singular */
    }
    for (int64_t k = 0; k < rank; k++) {
        s->weights[k] = 1 / (fmax(s->values[k], 0) + 1 / prior);
    }
    far_projection_blend(s->la, &s->projection, rank, s->weights, prior, s->covariance);
    return score_prediction(s, nll);
}

/* Of a grid in any order. */
static bool at_end(const far_laplace_grid *g, double prior)
{
    double least = prior, most = prior;
    for (int64_t k = 0; k < g->prior_count; k++) {
        least = fmin(least, g->priors[k]);
        most = fmax(most, g->priors[k]);
    }
    return g->prior_count > 1 && (prior == least || prior == most);
}

static far_status search_priors(search *s, int64_t row, far_laplace_choice *best)
{
    const far_laplace_grid *g = &s->grid;
    int64_t rank = g->ranks[row];
    far_status st = FAR_OK;
    FAR_TRY(s->la->values ? FAR_OK : rotate(s, rank));
    for (int64_t k = 0; k < g->prior_count; k++) {
        double prior = g->priors[k], nll;
        FAR_TRY(score(s, rank, k, &nll));
        if (g->nll) {
            g->nll[row * g->prior_count + k] = nll;
        }
        if (nll < best->nll) {
            *best = (far_laplace_choice){rank, prior, nll, at_end(g, prior)};
        }
    }
done:
    return st;
}

static far_status search_grid(search *s, far_laplace_choice *best)
{
    int64_t count = s->grid.rank_count;
    far_status st = FAR_OK;
    *best = (far_laplace_choice){.nll = INFINITY};
    for (int64_t row = 0; st == FAR_OK && row < count; row++) {
        st = far_progress(s->ctx, "choose", row, count);
        far_progress_hold(s->ctx);
        st = st == FAR_OK ? search_priors(s, row, best) : st;
        far_progress_release(s->ctx);
    }
    if (st == FAR_OK && !isfinite(best->nll)) {
        st = far_fail(s->ctx, FAR_ERR_SINGULAR,
                      "no rank and prior of the grid has a finite score; try smaller priors");
    }
    return st;
}

static far_status check(far_ctx *ctx, const far_laplace *la, const far_mat *x,
                        const far_laplace_grid *grid)
{
    far_status st = FAR_OK;
    FAR_TRY(far_laplace_check(ctx, la, x));
    FAR_TRY(grid ? check_given(ctx, la, grid) : FAR_OK);
done:
    return st;
}

far_status far_laplace_choose(far_ctx *ctx, far_laplace *la, const far_mat *x,
                              const int64_t *labels, const far_mat *y, const far_laplace_grid *grid,
                              far_laplace_choice *out)
{
    search s = {.ctx = ctx, .la = la, .labels = labels, .x = x, .y = y};
    far_laplace_choice best;
    far_status st = FAR_OK;
    FAR_TRY(check(ctx, la, x, grid));
    complete_grid(&s, grid);
    FAR_TRY(check_values(&s));
    FAR_TRY(check_targets(&s, x));
    FAR_TRY(far_progress(ctx, "choose", 0, s.grid.rank_count));
    far_progress_hold(ctx);
    st = prepare(&s, x);
    far_progress_release(ctx);
    FAR_TRY(st);
    FAR_TRY(search_grid(&s, &best));
    best.rank = la->info.system == FAR_LAPLACE_FEATURES ? best.rank : 0;
    FAR_TRY(far_laplace_set(ctx, la, best.rank, best.prior, -1));
    if (out) {
        *out = best;
    }
done:
    search_clear(&s);
    return st;
}
