/*
 * Prior variance, and noise of a regression, by the marginal likelihood of the training rows.
 *
 * A regression is, linearised at its weights p with the prior N(0, s0^2 I) on them, the Gaussian
 * model of the targets t = y - net(x) + J p,
 *
 *     t ~ N(0, s0^2 K + noise I),   K = J J',
 *
 * whose likelihood needs no optimum of the network: one that stopped early or went too far is
 * judged as it is. With the eigenpairs g, u of K, or of the features that stand for it, the
 * likelihood of every prior and noise is a sum over them; what the features leave of the kernel
 * counts as if it were the same for all rows. Of the last layer J and p are that layer's. For
 * classes, and where the curvature is taken to be diagonal (a regression then has its likelihood
 * for log p(y | p)), it is Laplace's approximation,
 *
 *     log p(y | p) - 1/2 sum log(1 + s0^2 g) - |p|^2 / (2 s0^2).
 *
 * J p of a deep network is larger than its outputs, and residuals are rarely normal, so the sizes
 * that make the targets likeliest need not be those of its errors. The Gaussian model also tells
 * what every row would be predicted as from the others, and how surely; prior and noise are then
 * scaled together until 95% of the rows are where their intervals say.
 */
#include "laplace_internal.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define LOG_TWO_PI 1.8378770664093453
#define WIDTH 14.0       /* the search begins with factors e^-14 .. e^14 about a guess */
#define FINEST 1e-4      /* of the logarithms, where it ends */
#define LEAST_PART 1e-12 /* of the targets' mean square: the least noise */
enum { STEPS = 24 };     /* of a grid to either side */

typedef struct evidence {
    far_ctx *ctx;
    far_laplace *la;
    int64_t side, rows;       /* of the system; N C */
    double *values;           /* its eigenvalues, of the kernel itself for a regression */
    double *vectors;          /* side x side, by columns */
    double *along;            /* u' t */
    double *targets;          /* t */
    double *gradient, *moved; /* J' t, and that in the system's coordinates */
    double rest;              /* |t|^2 outside the eigenvectors */
    double left;              /* mean of the kernel that is no feature */
    double *weights;          /* p, 0 outside the layers that count */
    double weight;            /* |p|^2 */
    bool laplace;             /* by Laplace's approximation: no eigenvectors */
    double least;             /* noise */
} evidence;

static void evidence_clear(evidence *e)
{
    double *owned[] = {e->values,   e->vectors, e->along,  e->targets,
                       e->gradient, e->moved,   e->weights};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) {
        far_free(e->ctx, owned[i]);
    }
}

/* ---- the targets of the linear model ------------------------------------------------------- */

static double mean_square(const double *v, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += v[i] * v[i] / (double)count;
    }
    return sum;
}

static void subtract_from(const far_mat *y, double *f)
{
    for (int64_t i = 0; i < y->rows; i++) {
        const double *row = far_mat_row(y, i);
        for (int64_t k = 0; k < y->cols; k++) {
            f[i * y->cols + k] = row[k] - f[i * y->cols + k];
        }
    }
}

/* t = y - net(x) + J p; the noise is at least what the network leaves. */
static far_status make_targets(evidence *e, const far_mat *x, const far_mat *y)
{
    const far_laplace *la = e->la;
    double *tangent = NULL;
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(e->ctx, e->rows, &e->targets));
    FAR_TRY(far_alloc(e->ctx, e->rows, &tangent));
    FAR_TRY(far_laplace_outputs(la, x, e->targets));
    subtract_from(y, e->targets);
    e->least = mean_square(e->targets, e->rows);
    far_mat p = far_mat_view(e->weights, 1, la->info.parameters, FAR_F64);
    far_mat out = far_mat_view(tangent, x->rows, la->info.outputs, FAR_F64);
    if (!e->laplace) {
        FAR_TRY(far_net_jvp(e->ctx, la->net, x, &p, NULL, &out));
    }
    for (int64_t i = 0; i < e->rows; i++) {
        e->targets[i] += tangent[i];
    }
    e->least = fmax(e->least, LEAST_PART * mean_square(e->targets, e->rows));
done:
    far_free(e->ctx, tangent);
    return st;
}

/* ---- in the coordinates of the system ------------------------------------------------------ */

/* moved = Z t, of blocks. */
static far_status pull_blocks(evidence *e, const far_mat *x)
{
    const far_laplace *la = e->la;
    int64_t outputs = la->info.outputs, chunk = far_laplace_chunk(la, e->side, x->rows);
    double *z = NULL, *part = NULL;
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(e->ctx, e->side * chunk * outputs, &z));
    FAR_TRY(far_alloc(e->ctx, e->side, &part));
    for (int64_t first = 0; first < x->rows; first += chunk) {
        far_mat points = far_mat_part(x, first, far_least(chunk, x->rows - first));
        int64_t cols = points.rows * outputs;
        far_mat a = far_mat_view(z, e->side, cols, FAR_F64);
        far_mat t = far_mat_view(e->targets + first * outputs, cols, 1, FAR_F64);
        far_mat out = far_mat_view(part, e->side, 1, FAR_F64);
        FAR_TRY(far_blocks_project(la, &points, z));
        FAR_TRY(far_multiply(e->ctx, &a, &t, &out));
        for (int64_t k = 0; k < e->side; k++) {
            e->moved[k] += part[k];
        }
    }
done:
    FAR_FREE_ALL(e->ctx, z, part);
    return st;
}

/* moved = J' t, or the features of it. */
static far_status pull_back(evidence *e, const far_mat *x)
{
    const far_laplace *la = e->la;
    int64_t parameters = la->info.parameters;
    far_mat u = far_mat_view(e->targets, x->rows, la->info.outputs, FAR_F64);
    double *packed = NULL;
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(e->ctx, parameters, &e->gradient));
    FAR_TRY(far_alloc(e->ctx, parameters, &packed));
    far_mat g = far_mat_view(e->gradient, 1, parameters, FAR_F64);
    FAR_TRY(far_net_vjp(e->ctx, la->net, x, &u, &g, NULL));
    if (la->basis) {
        far_mat basis = far_mat_view(la->basis, e->side, parameters, FAR_F64);
        far_mat column = far_mat_view(packed, parameters, 1, FAR_F64);
        far_mat out = far_mat_view(e->moved, e->side, 1, FAR_F64);
        far_net_pack(la->net, e->gradient, FAR_F64, packed);
        FAR_TRY(far_multiply(e->ctx, &basis, &column, &out));
    } else {
        memcpy(e->moved, e->gradient, (size_t)parameters * sizeof *e->moved);
    }
done:
    far_free(e->ctx, packed);
    return st;
}

/* What rounding leaves of a kernel that is 0 says nothing. */
static bool is_nothing(const evidence *e, int64_t k)
{
    return !(e->values[k] > (double)e->side * 1e-15 * e->values[e->side - 1]);
}

/* u_k' t of every eigenvector u_k of the kernel: of rows it is that of the system; else it is J
 * v_k / sqrt(g_k). */
static void project(evidence *e)
{
    bool of_rows = e->la->info.system == FAR_LAPLACE_ROWS;
    double all = (double)e->rows * mean_square(e->targets, e->rows), found = 0;
    for (int64_t k = 0; k < e->side; k++) {
        double sum = 0;
        for (int64_t i = 0; i < e->side; i++) {
            sum += e->vectors[i * e->side + k] * e->moved[i];
        }
        e->along[k] = of_rows ? sum : is_nothing(e, k) ? 0 : sum / sqrt(e->values[k]);
        found += e->along[k] * e->along[k];
    }
    e->rest = fmax(all - found, 0);
}

/* The mean over rows of the kernel's diagonal that features leave out. */
static far_status find_left(evidence *e, const far_mat *x)
{
    const far_laplace *la = e->la;
    int64_t outputs = la->info.outputs, chunk = far_laplace_factor_chunk(la, e->side, x->rows);
    double *blocks = NULL, sum = 0;
    far_tangent t = {0};
    far_status st = FAR_OK;
    FAR_TRY(far_tangent_open(e->ctx, la->net, FAR_NTK_FULL, &t));
    FAR_TRY(far_alloc(e->ctx, chunk * outputs * outputs, &blocks));
    for (int64_t first = 0; first < x->rows; first += chunk) {
        far_mat part = far_mat_part(x, first, far_least(chunk, x->rows - first));
        FAR_TRY(far_tangent_blocks(&t, &part, blocks));
        for (int64_t i = 0; i < part.rows * outputs; i++) {
            sum += blocks[i * outputs + i % outputs];
        }
    }
    for (int64_t k = 0; k < e->side; k++) {
        sum -= e->values[k];
    }
    e->left = fmax(sum, 0) / (double)e->rows;
done:
    far_tangent_close(&t);
    far_free(e->ctx, blocks);
    return st;
}

static far_status decompose(evidence *e)
{
    far_mat matrix = e->la->matrix, values, vectors;
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(e->ctx, e->side, &e->values));
    FAR_TRY(far_alloc(e->ctx, e->side, &e->along));
    FAR_TRY(far_alloc(e->ctx, e->side, &e->moved));
    for (int64_t k = 0; e->laplace && k < e->side; k++) {
        e->values[k] = e->la->values[k] * e->la->info.noise;
    }
    if (e->laplace) {
        return FAR_OK;
    }
    FAR_TRY(far_alloc(e->ctx, e->side * e->side, &e->vectors));
    values = far_mat_view(e->values, e->side, 1, FAR_F64);
    vectors = far_mat_view(e->vectors, e->side, e->side, FAR_F64);
    matrix.rows = matrix.cols = e->side;
    far_symmetric a = far_symmetric_of(&matrix);
    FAR_TRY(far_eigen(e->ctx, &a, FAR_EIGEN_LARGEST, e->side, e->la->memory, &values, &vectors));
    for (int64_t k = 0; k < e->side; k++) {
        e->values[k] = fmax(e->values[k], 0) * e->la->info.noise;
    }
done:
    return st;
}

static far_status take_weights(evidence *e)
{
    far_net *net = e->la->net;
    const double *all = far_net_parameters(net).data;
    far_status st = far_alloc(e->ctx, e->la->info.parameters, &e->weights);
    for (int64_t i = 0; st == FAR_OK && i < far_net_describe(net).tensors; i++) {
        far_net_tensor_info t = far_net_tensor(net, i);
        bool counts = t.parameter >= 0 && (!e->la->layers || e->la->layers[t.layer]);
        for (int64_t k = 0; counts && k < t.values.rows * t.values.cols; k++) {
            e->weights[t.parameter + k] = all[t.parameter + k];
        }
    }
    int64_t count = e->la->info.parameters;
    e->weight = st == FAR_OK ? (double)count * mean_square(e->weights, count) : 0;
    return st;
}

static far_status prepare(evidence *e, const far_mat *x, const far_mat *y)
{
    far_status st = FAR_OK;
    FAR_TRY(take_weights(e));
    FAR_TRY(decompose(e));
    if (!y) {
        return FAR_OK;
    }
    FAR_TRY(make_targets(e, x, y));
    if (e->laplace) {
        return FAR_OK;
    }
    if (e->la->info.system == FAR_LAPLACE_ROWS) {
        memcpy(e->moved, e->targets, (size_t)e->side * sizeof *e->moved);
    } else {
        FAR_TRY(e->la->blocks ? pull_blocks(e, x) : pull_back(e, x));
    }
    project(e);
    if (e->la->info.residual_prior) {
        FAR_TRY(find_left(e, x));
    }
done:
    return st;
}

/* ---- the likelihood ------------------------------------------------------------------------ */

/* But for the likelihood of the labels, which depends on neither. */
static double of_classes(const evidence *e, double prior, double noise)
{
    double sum = e->weight / prior;
    for (int64_t k = 0; k < e->side; k++) {
        sum += log1p(prior * e->values[k] / noise);
    }
    return -sum / 2;
}

static double of_targets(const evidence *e, double prior, double noise)
{
    if (e->laplace) {
        double fit = (double)e->rows * mean_square(e->targets, e->rows) / noise;
        return of_classes(e, prior, noise) -
               (fit + (double)e->rows * (log(noise) + LOG_TWO_PI)) / 2;
    }
    double flat = noise + prior * e->left, sum = e->rest / flat;
    sum += (double)(e->rows - e->side) * log(flat) + (double)e->rows * LOG_TWO_PI;
    for (int64_t k = 0; k < e->side; k++) {
        double variance = prior * e->values[k] + flat;
        sum += e->along[k] * e->along[k] / variance + log(variance);
    }
    return -sum / 2;
}

/* ---- the largest --------------------------------------------------------------------------- */

typedef struct place {
    double prior, noise; /* logarithms */
    double value;
} place;

static void try(const evidence *e, bool classes, place at, double least, place *best)
{
    at.noise = fmax(at.noise, least);
    at.value =
        classes ? of_classes(e, exp(at.prior), 1) : of_targets(e, exp(at.prior), exp(at.noise));
    if (at.value > best->value) {
        *best = at;
    }
}

/* Grids about the best place so far, each finer than the one before. A noise that is given stays.
 */
static place climb(const evidence *e, bool classes, bool keep_noise, place start)
{
    place best = start;
    double least = classes ? -INFINITY : keep_noise ? start.noise : log(e->least);
    best.value = -INFINITY;
    for (double step = WIDTH / STEPS; step > FINEST; step /= STEPS / 4) {
        place centre = best;
        for (int i = -STEPS; i <= STEPS; i++) {
            for (int k = classes || keep_noise ? 0 : -STEPS;
                 k <= (classes || keep_noise ? 0 : STEPS); k++) {
                place at = {centre.prior + i * step, centre.noise + k * step, 0};
                try(e, classes, at, least, &best);
            }
        }
    }
    return best;
}

static place guess(const evidence *e, bool classes, double noise)
{
    double sum = 0;
    for (int64_t k = 0; k < e->side; k++) {
        sum += e->values[k];
    }
    if (classes || e->laplace) {
        double size = e->weight / (double)e->la->info.parameters;
        return (place){.prior = log(size > 0 ? size : 1),
                       .noise = isnan(noise) ? log(e->least) : log(noise)};
    }
    double square = mean_square(e->targets, e->rows), kernel = sum / (double)e->rows + e->left;
    double prior = square > 0 && kernel > 0 ? log(square / kernel) : 0;
    return (place){.prior = prior, .noise = log(isnan(noise) ? fmax(square, e->least) : noise)};
}

/* ---- rows left out ------------------------------------------------------------------------- */

enum { JUDGED = 2000 }; /* rows at most, spread evenly */

/* A few of them at a time. */
typedef struct jury {
    int64_t first, count, most; /* most: of all */
    double *points, *z, *zt;
    double *u; /* count C x side */
} jury;

static int64_t juror(const evidence *e, const jury *j, int64_t i)
{
    return (j->first + i) * e->la->info.rows / j->most;
}

static far_status jury_create(const evidence *e, int64_t inputs, jury *j)
{
    far_status st = FAR_OK;
    j->most = far_least(e->la->info.rows, JUDGED);
    j->count = far_laplace_chunk(e->la, e->side, j->most);
    int64_t numbers = j->count * e->la->info.outputs * e->side;
    FAR_TRY(far_alloc(e->ctx, j->count * inputs, &j->points));
    FAR_TRY(far_alloc(e->ctx, numbers, &j->z));
    FAR_TRY(far_alloc(e->ctx, numbers, &j->zt));
    FAR_TRY(far_alloc(e->ctx, numbers, &j->u));
done:
    return st;
}

/* u = Z V / sqrt(g); of rows the eigenvectors are there. */
static far_status turn(const evidence *e, const far_mat *x, const jury *j)
{
    int64_t cols = j->count * e->la->info.outputs;
    far_mat rows = far_mat_view(j->points, j->count, x->cols, FAR_F64);
    far_mat z = far_mat_view(j->z, e->side, cols, FAR_F64);
    far_mat zt = far_mat_view(j->zt, cols, e->side, FAR_F64);
    far_mat vectors = far_mat_view(e->vectors, e->side, e->side, FAR_F64);
    far_mat u = far_mat_view(j->u, cols, e->side, FAR_F64);
    far_status st = FAR_OK;
    for (int64_t i = 0; i < j->count; i++) {
        memcpy(j->points + i * x->cols, far_mat_row(x, juror(e, j, i)),
               (size_t)x->cols * sizeof *j->points);
    }
    FAR_TRY(far_laplace_project(e->la, &rows, e->side, j->z));
    far_transpose(e->ctx, &z, j->zt);
    FAR_TRY(far_multiply(e->ctx, &zt, &vectors, &u));
    for (int64_t i = 0; i < cols * e->side; i++) {
        j->u[i] /= is_nothing(e, i % e->side) ? INFINITY : sqrt(e->values[i % e->side]);
    }
done:
    return st;
}

/* With A = s0^2 K + flat: target i is missed by (A^-1 t)_i / (A^-1)_ii when it is left out, and the
 * variance of that is 1 / (A^-1)_ii. Returns the miss in its own standard deviations. */
static double size_of_miss(const evidence *e, const double *u, double target, double prior,
                           double flat)
{
    bool whole = e->la->info.system == FAR_LAPLACE_ROWS; /* u is all there is */
    double inverse = whole ? 0 : 1 / flat, solved = whole ? 0 : target / flat;
    for (int64_t k = 0; k < e->side; k++) {
        double variance = prior * e->values[k] + flat;
        double weight = whole ? 1 / variance : -prior * e->values[k] / (variance * flat);
        inverse += weight * u[k] * u[k];
        solved += weight * u[k] * e->along[k];
    }
    return fabs(solved) / sqrt(fmax(inverse, DBL_EPSILON / flat));
}

static far_status size_rows(const evidence *e, const far_mat *x, const far_laplace_evidence *at,
                            jury *j, double *sizes)
{
    bool of_rows = e->la->info.system == FAR_LAPLACE_ROWS;
    int64_t outputs = e->la->info.outputs;
    far_status st = FAR_OK;
    FAR_TRY(of_rows ? FAR_OK : turn(e, x, j));
    for (int64_t i = 0; i < j->count * outputs; i++) {
        int64_t row = juror(e, j, i / outputs) * outputs + i % outputs;
        const double *u = of_rows ? e->vectors + row * e->side : j->u + i * e->side;
        sizes[j->first * outputs + i] =
            size_of_miss(e, u, e->targets[row], at->prior, at->noise + at->prior * e->left);
    }
done:
    return st;
}

static far_status scale(const evidence *e, const far_mat *x, far_laplace_evidence *out)
{
    jury j = {0};
    double *sizes = NULL;
    far_status st = FAR_OK;
    FAR_TRY(jury_create(e, x->cols, &j));
    FAR_TRY(far_alloc(e->ctx, j.most * e->la->info.outputs, &sizes));
    for (; j.first < j.most; j.first += j.count) {
        j.count = far_least(j.count, j.most - j.first);
        FAR_TRY(size_rows(e, x, out, &j, sizes));
    }
    double wider = far_widening(sizes, j.most * e->la->info.outputs);
    if (isfinite(wider * wider * out->prior) && wider * wider * out->prior > 0) {
        out->scale = wider * wider;
        out->prior *= out->scale;
        out->noise = fmax(out->noise * out->scale, e->least);
    }
done:
    FAR_FREE_ALL(e->ctx, j.points, j.z, j.zt, j.u, sizes);
    return st;
}

/* ---- the whole ----------------------------------------------------------------------------- */

static far_status check(far_ctx *ctx, const far_laplace *la, const far_mat *x, const far_mat *y)
{
    far_status st = FAR_OK;
    FAR_TRY(far_laplace_check(ctx, la, x));
    if (x->rows != la->info.rows) {
        return far_fail(ctx, FAR_ERR_SHAPE, "x has %lld rows; the approximation was fitted to %lld",
                        (long long)x->rows, (long long)la->info.rows);
    }
    if ((la->info.likelihood == FAR_LIKELIHOOD_GAUSSIAN) != (y != NULL)) {
        return far_fail(ctx, FAR_ERR_ARG, "%s",
                        y ? "classes need no targets here; y must be NULL"
                          : "a regression needs its targets, y");
    }
    if (y) {
        FAR_TRY(far_check_matrix(ctx, y, "y", x->rows, la->info.outputs));
        FAR_TRY(far_check_finite(ctx, y, "y"));
    }
done:
    return st;
}

/* The system of another noise variance; on failure it is as it was. */
static far_status set_noise(far_laplace *la, double noise, double prior)
{
    double factor = la->info.noise / noise, was = la->info.noise;
    double *numbers = la->values ? la->values : la->matrix.data;
    int64_t count = la->values ? la->info.side : la->matrix.rows * la->matrix.cols;
    for (int64_t i = 0; i < count; i++) {
        numbers[i] *= factor;
    }
    la->root.scale = 1 / sqrt(noise);
    la->info.noise = noise;
    far_status st = far_laplace_set(la->ctx, la, 0, prior, -1);
    for (int64_t i = 0; st != FAR_OK && i < count; i++) {
        numbers[i] /= factor;
    }
    if (st != FAR_OK) {
        la->root.scale = 1 / sqrt(was);
        la->info.noise = was;
    }
    return st;
}

static far_status tune(evidence *e, const far_mat *x, const far_mat *y, int32_t keep_noise,
                       far_laplace_evidence *out)
{
    far_laplace *la = e->la;
    far_status st = FAR_OK;
    FAR_TRY(prepare(e, x, y));
    place start = guess(e, !y, keep_noise ? la->info.noise : NAN);
    place best = climb(e, !y, keep_noise, start);
    *out = (far_laplace_evidence){.prior = exp(best.prior),
                                  .noise = y ? exp(best.noise) : 1,
                                  .log_evidence = best.value,
                                  .scale = 1,
                                  .edge = fabs(best.prior - start.prior) >= WIDTH};
    if (!isfinite(best.value)) {
        return far_fail(
            e->ctx, FAR_ERR_VALUE,
            "the marginal likelihood is not finite; are targets or weights very large?");
    }
    if (y && !keep_noise && !e->laplace && x->rows >= FAR_LEAST_FOR_QUANTILE) {
        FAR_TRY(scale(e, x, out));
    }
    FAR_TRY(set_noise(la, out->noise, out->prior));
done:
    return st;
}

far_status far_laplace_tune(far_ctx *ctx, far_laplace *la, const far_mat *x, const far_mat *y,
                            int32_t keep_noise, far_laplace_evidence *out)
{
    far_laplace_evidence unused;
    far_status st = check(ctx, la, x, y);
    if (st != FAR_OK) {
        return st;
    }
    evidence e = {.ctx = ctx,
                  .la = la,
                  .side = la->info.side,
                  .rows = x->rows * la->info.outputs,
                  .laplace = la->values != NULL};
    st = far_progress(ctx, "evidence", 0, 1);
    far_progress_hold(ctx);
    st = st == FAR_OK ? tune(&e, x, y, keep_noise, out ? out : &unused) : st;
    far_progress_release(ctx);
    evidence_clear(&e);
    return st;
}
