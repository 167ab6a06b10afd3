/* Points in the coordinates of a system, and the covariance there. */
#include "laplace_internal.h"

#include <math.h>
#include <string.h>

#define CHUNK_NUMBERS ((double)(1 << 22))
#define CHUNK_SHARE (1.0 / 8)   /* of a budget */
enum { FEATURE_POINTS = 1024 }; /* few enough for progress to be seen */

/* Results may depend on a budget the caller gives, not on what happens to be available. */
double far_laplace_chunk_numbers(double memory)
{
    return memory > 0 ? fmin(CHUNK_NUMBERS, CHUNK_SHARE * memory / sizeof(double)) : CHUNK_NUMBERS;
}

int64_t far_laplace_points(const far_laplace *la, int64_t side, int64_t most)
{
    double numbers = (double)la->info.outputs * (double)side;
    int64_t chunk = (int64_t)(far_laplace_chunk_numbers(la->memory) / fmax(numbers, 1));
    chunk = far_least(chunk, most);
    return chunk > 0 ? chunk : 1;
}

int64_t far_laplace_factor_chunk(const far_laplace *la, int64_t side, int64_t points)
{
    int64_t factors = far_net_factor_numbers(la->net);
    return far_laplace_points(la, side > factors ? side : factors, points);
}

int64_t far_laplace_chunk(const far_laplace *la, int64_t side, int64_t points)
{
    int64_t outputs = la->info.outputs;
    return la->info.system == FAR_LAPLACE_FEATURES
               ? far_laplace_points(la, side > outputs ? side : outputs,
                                    far_least(points, FEATURE_POINTS))
               : far_laplace_factor_chunk(la, side, points);
}

far_status far_laplace_walk(const far_laplace *la, const char *progress, const far_mat *x,
                            int64_t chunk, far_points_fn run, void *user)
{
    far_status st = FAR_OK;
    for (int64_t first = 0; st == FAR_OK && first < x->rows; first += chunk) {
        far_mat part = far_mat_part(x, first, far_least(chunk, x->rows - first));
        st = far_progress(la->ctx, progress, first, x->rows);
        far_progress_hold(la->ctx);
        st = st == FAR_OK ? run(user, &part, first) : st;
        far_progress_release(la->ctx);
    }
    return st;
}

/* ---- projections --------------------------------------------------------------------------- */

static far_status project_parameters(const far_laplace *la, const far_mat *x, double *z)
{
    int64_t rows = x->rows * la->info.outputs, parameters = la->info.parameters;
    double *numbers = NULL;
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(la->ctx, rows * parameters, &numbers));
    far_mat jacobian = far_mat_view(numbers, rows, parameters, FAR_F64);
    FAR_TRY(far_net_jacobian(la->ctx, la->net, x, &jacobian));
    far_transpose(la->ctx, &jacobian, z);
done:
    far_free(la->ctx, numbers);
    return st;
}

static far_status project_rows(const far_laplace *la, const far_mat *x, double *z)
{
    int64_t cols = x->rows * la->info.outputs;
    far_mat trained = far_mat_view(la->x, la->info.rows, x->cols, FAR_F64);
    far_mat out = far_mat_view(z, la->info.side, cols, FAR_F64);
    far_ntk_opts opts;
    opts = (far_ntk_opts){.size = sizeof opts};
    opts.outputs = FAR_NTK_FULL;
    opts.memory = la->memory;
    far_status st = far_net_ntk(la->ctx, la->net, &trained, x, &opts, &out);
    if (st == FAR_OK) {
        far_root_apply_rows(la->ctx, &la->root, la->info.rows, z, cols);
    }
    return st;
}

far_status far_laplace_project(const far_laplace *la, const far_mat *x, int64_t side, double *z)
{
    switch (la->info.system) {
    case FAR_LAPLACE_PARAMETERS:
        return project_parameters(la, x, z);
    case FAR_LAPLACE_ROWS:
        return project_rows(la, x, z);
    case FAR_LAPLACE_BLOCKS:
        return far_blocks_project(la, x, z);
    default:
        return far_features_project(la, x, side, z, NULL);
    }
}

far_blend far_laplace_blend(const far_laplace *la, double prior)
{
    double residual = la->info.residual_prior ? prior : 0;
    switch (la->info.system) {
    case FAR_LAPLACE_PARAMETERS:
    case FAR_LAPLACE_BLOCKS:
        return (far_blend){.whitened = 1};
    case FAR_LAPLACE_ROWS:
        return (far_blend){.whitened = -prior, .kernel = prior};
    default:
        return (far_blend){.whitened = 1, .kernel = residual, .projected = -residual};
    }
}

bool far_laplace_needs_kernel(const far_laplace *la)
{
    return far_laplace_blend(la, 1).kernel != 0;
}

/* Of a system of rows: k(x_i, x_i). */
static far_status add_kernel(const far_laplace *la, const far_mat *x, double *kernel)
{
    far_tangent t = {0};
    int64_t classes = la->info.outputs, chunk = far_laplace_chunk(la, 1, x->rows);
    far_status st = FAR_OK;
    FAR_TRY(far_tangent_open(la->ctx, la->net, FAR_NTK_FULL, &t));
    for (int64_t first = 0; first < x->rows; first += chunk) {
        far_mat part = far_mat_part(x, first, far_least(chunk, x->rows - first));
        FAR_TRY(far_tangent_blocks(&t, &part, kernel + first * classes * classes));
    }
done:
    far_tangent_close(&t);
    return st;
}

far_status far_projection_create(const far_laplace *la, const far_mat *x, int64_t side,
                                 far_projection *p)
{
    int64_t classes = la->info.outputs, numbers = side * x->rows * classes;
    bool kernel = far_laplace_needs_kernel(la);
    far_status st = FAR_OK;
    *p = (far_projection){.ctx = la->ctx, .points = x->rows, .side = side};
    FAR_TRY(far_alloc(la->ctx, numbers, &p->z));
    FAR_TRY(far_alloc(la->ctx, numbers, &p->w));
    FAR_TRY(kernel ? far_alloc(la->ctx, x->rows * classes * classes, &p->kernel) : FAR_OK);
    if (la->info.system == FAR_LAPLACE_FEATURES) {
        return far_features_project(la, x, side, p->z, p->kernel);
    }
    FAR_TRY(far_laplace_project(la, x, side, p->z));
    FAR_TRY(kernel ? add_kernel(la, x, p->kernel) : FAR_OK);
done:
    return st;
}

void far_projection_clear(far_projection *p)
{
    FAR_FREE_ALL(p->ctx, p->z, p->w, p->kernel);
    *p = (far_projection){0};
}

/* ---- covariances --------------------------------------------------------------------------- */

/* Points [first, first + count), few enough for their blocks to stay in cache. */
typedef struct group {
    int64_t first, count, classes;
    double *out; /* count blocks of C x C */
} group;

enum { GROUP = 16 };

/* Blocks += factor sum over rows k of weights_k v_k' v_k, v_k the C numbers of a point in row k. */
static void add_blocks(const group *g, const double *v, int64_t ld, int64_t side,
                       const double *weights, double factor)
{
    int64_t classes = g->classes;
    for (int64_t k = 0; k < side; k++) {
        const double *row = v + k * ld + g->first * classes;
        double weight = weights ? factor * weights[k] : factor, *out = g->out;
        for (int64_t i = 0; i < g->count; i++, row += classes, out += classes * classes) {
            for (int64_t a = 0; a < classes; a++) {
                double left = weight * row[a];
                for (int64_t b = 0; b < classes; b++) {
                    out[a * classes + b] += left * row[b];
                }
            }
        }
    }
}

/* The difference of nearly equal numbers may fall below 0. */
static void lift_diagonals(const group *g)
{
    int64_t classes = g->classes;
    for (int64_t r = 0; r < g->count * classes; r++) {
        double *variance = g->out + r * classes + r % classes;
        *variance = fmax(*variance, 0);
    }
}

static void blend_group(const far_projection *p, const far_blend *blend, int64_t side,
                        const double *weights, const group *g)
{
    int64_t ld = p->points * g->classes, square = g->classes * g->classes;
    for (int64_t k = 0; k < g->count * square; k++) {
        g->out[k] = p->kernel ? blend->kernel * p->kernel[g->first * square + k] : 0;
    }
    add_blocks(g, p->w, ld, side, weights, blend->whitened);
    if (blend->projected != 0) {
        add_blocks(g, p->z, ld, side, NULL, blend->projected);
    }
    lift_diagonals(g);
}

void far_projection_blend(const far_laplace *la, const far_projection *p, int64_t side,
                          const double *weights, double prior, double *covariance)
{
    int64_t classes = la->info.outputs;
    far_blend blend = far_laplace_blend(la, prior);
#pragma omp parallel for num_threads(far_ctx_threads(la->ctx)) schedule(static)
    for (int64_t first = 0; first < p->points; first += GROUP) {
        group g = {first, far_least(GROUP, p->points - first), classes,
                   covariance + first * classes * classes};
        blend_group(p, &blend, side, weights, &g);
    }
}

far_status far_projection_spread(const far_laplace *la, const far_posterior *posterior,
                                 far_projection *p, double *covariance)
{
    int64_t side = posterior->matrix.rows, cols = p->points * la->info.outputs;
    far_mat w = far_mat_view(p->w, side, cols, FAR_F64);
    memcpy(p->w, p->z, (size_t)(side * cols) * sizeof *p->w);
    far_status st = far_posterior_whiten(la->ctx, posterior, &w);
    if (st == FAR_OK) {
        far_projection_blend(la, p, side, NULL, posterior->prior, covariance);
    }
    return st;
}
