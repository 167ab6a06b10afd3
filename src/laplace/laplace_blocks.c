/*
 * Curvature layer by layer: its diagonal, Kronecker factors (KFAC), the last layer alone.
 *
 * The derivative of output c by a layer's weights is a d_c', a its inputs and a constant for the
 * bias, d_c the gradient of the output by what the layer gives; a norm's gain and shift together
 * have the one input 1. So a coordinate of the system is a pair (p, q) of a layer, with the
 * projection z_(p,q),c = a_p d_cq, and what a layer adds to the curvature is
 *
 *     sum_i (a_i a_i') x (D_i' Lam_i D_i)  ~  1/N (sum_i a_i a_i') x (sum_i D_i' Lam_i D_i)
 *
 * The right-hand side is KFAC (Martens and Grosse 2015; Ritter, Botev and Barber 2018): diagonal in
 * the eigenvectors of both factors, which a and d are turned into. For a norm it is exact.
 *
 * A layer at R positions (convolutions, sequences) has the derivative G_c = sum_r a_r d_cr', a
 * whole matrix, with z_(p,q),c = (G_c)_pq. KFAC takes its positions for points of their own
 * (expand: Grosse and Martens 2016; Eschenhagen et al. 2023), 1/(N R) (sum_ir a a') x (sum_ir D'
 * Lam D), and G_c is turned from both sides; embed and position are matrices of one-hot inputs. The
 * diagonal has the one input 1 and all of its parameters for gradients.
 *
 * A layer with lora multiplies by W + s B A, W a constant, and has two blocks of KFAC: A with the
 * inputs a and the gradients s B' d, and B with the inputs s A a and the gradients d.
 */
#include "laplace_internal.h"

#include <math.h>
#include <string.h>

/* So many times the numbers of a projection: the factors' sums, which may be larger than what is
 * added to them, are then walked through less often. */
enum { FIT_CHUNKS = 4 };

static int64_t last_dense(const far_net *net)
{
    int64_t unit = -1;
    for (int64_t i = 0; i < net->step_count; i++) {
        const far_step *s = &net->steps[i];
        unit = s->kind == FAR_STEP_DENSE && s->unit >= 0 ? s->unit : unit;
    }
    return unit;
}

/* Of a layer at several positions. */
static void spread_sides(far_laplace_method method, const far_step *s, far_block *b)
{
    int64_t inputs = far_step_spread_inputs(s);
    b->whole = method == FAR_LAPLACE_KFAC && inputs > 0;
    b->inputs = b->whole ? inputs + (s->bias >= 0) : 1;
    b->gradients = b->whole ? s->out : far_step_parameters(s);
}

/* A comes first, as in the gradient by all parameters of the layer. */
static void lora_sides(const far_step *s, far_block *b)
{
    b[0] = (far_block){.inputs = far_step_weights(s).cols,
                       .gradients = s->rank,
                       .whole = true,
                       .part = FAR_LORA_A};
    b[1] = (far_block){.inputs = s->rank, .gradients = s->out, .whole = true, .part = FAR_LORA_B};
}

enum { BLOCKS_MOST = 2 };

/* How many blocks a step's layer has, and their inputs and gradients; the last layer has one step,
 * the others all. */
static int64_t block_sides(const far_net *net, far_laplace_method method, const far_step *s,
                           far_block b[BLOCKS_MOST])
{
    bool dense = s->kind == FAR_STEP_DENSE;
    if (s->unit < 0 || (method == FAR_LAPLACE_LAST_LAYER && s->unit != last_dense(net))) {
        return 0;
    }
    if (s->rank > 0 && method == FAR_LAPLACE_KFAC) {
        lora_sides(s, b);
        return 2;
    }
    b[0] = (far_block){0};
    if (far_step_is_spread(s)) {
        spread_sides(method, s, b);
        return 1;
    }
    b->inputs = dense ? s->in + (s->bias >= 0 && s->bias_scale != 0) : 1;
    b->gradients = dense ? s->out : 2 * s->out;
    return 1;
}

int64_t far_blocks_side(const far_net *net, far_laplace_method method, double *numbers)
{
    int64_t side = 0;
    *numbers = 0;
    for (int64_t i = 0; i < net->step_count; i++) {
        far_block b[BLOCKS_MOST];
        int64_t count = block_sides(net, method, &net->steps[i], b);
        for (int64_t k = 0; k < count; k++) {
            side += b[k].inputs * b[k].gradients;
            *numbers += (double)b[k].inputs * (double)b[k].inputs;
            *numbers += (double)b[k].gradients * (double)b[k].gradients;
        }
    }
    return side;
}

/* ---- blocks -------------------------------------------------------------------------------- */

void far_blocks_clear(far_laplace *la)
{
    for (int64_t l = 0; l < la->block_count; l++) {
        far_block *b = &la->blocks[l];
        FAR_FREE_ALL(la->ctx, b->left, b->right, b->other);
    }
    FAR_FREE_ALL(la->ctx, la->blocks, la->values, la->layers);
}

/* The other factor of a layer with lora, as far_net_pack has it: A inputs x rank, B rank x
 * outputs. */
static far_status take_other(far_laplace *la, const far_step *s, const double *packed, far_block *b)
{
    bool a = b->part == FAR_LORA_A;
    int64_t rows = a ? s->out : far_step_weights(s).cols;
    far_status st = far_alloc(la->ctx, rows * s->rank, &b->other);
    for (int64_t k = 0; st == FAR_OK && k < rows * s->rank; k++) {
        int64_t row = k / s->rank, col = k % s->rank;
        b->other[k] =
            s->lora_scale * (a ? packed[s->lora_b + col * s->out + row] : packed[s->lora_a + k]);
    }
    return st;
}

/* Tangents are those at the start of a linearised network. */
static far_status take_others(far_laplace *la)
{
    const far_net *net = la->net;
    double *packed = NULL;
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(la->ctx, net->info.parameters, &packed));
    far_net_pack(net, net->start ? net->start : net->params, FAR_F64, packed);
    for (int64_t i = 0, l = 0; i < net->step_count; i++) {
        far_block b[BLOCKS_MOST];
        int64_t count = block_sides(net, la->info.method, &net->steps[i], b);
        for (int64_t k = 0; k < count; k++, l++) {
            FAR_TRY(b[k].part == FAR_LORA_NONE
                        ? FAR_OK
                        : take_other(la, &net->steps[i], packed, &la->blocks[l]));
        }
    }
done:
    far_free(la->ctx, packed);
    return st;
}

static far_status make_blocks(far_laplace *la)
{
    const far_net *net = la->net;
    int64_t first = 0, item = 0;
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(la->ctx, BLOCKS_MOST * net->info.layers, &la->blocks));
    FAR_TRY(far_alloc(la->ctx, net->info.layers, &la->layers));
    for (int64_t i = 0; i < net->step_count; i++) {
        far_block *b = &la->blocks[la->block_count];
        int64_t count = block_sides(net, la->info.method, &net->steps[i], b);
        for (int64_t k = 0; k < count; k++) {
            b[k].item = item;
            b[k].first = first;
            first += b[k].inputs * b[k].gradients;
        }
        if (count > 0) {
            la->layers[net->steps[i].unit] = 1;
            la->block_count += count;
            item++;
        }
    }
    FAR_TRY(far_net_adapted(net) ? take_others(la) : FAR_OK);
done:
    return st;
}

/* ---- points layer by layer ----------------------------------------------------------------- */

/* What a layer sees of m points: a is (m R) x inputs, d is (m C R) x gradients; R positions are 1
 * but for KFAC's fit. A whole layer has the inputs 1 and all of G for gradients otherwise. */
typedef struct sight {
    int64_t points, positions, inputs, gradients;
    double *a, *turned_a, *turned_d; /* turned: owned, as a is; NULL: there is nothing to turn */
    double *of_lora;                 /* owned: d of A, or of one of A and B; NULL: not needed */
    double *d;                       /* the factor's own, of_lora or turned_d, to be written over */
} sight;

static void sight_clear(far_ctx *ctx, sight *s)
{
    FAR_FREE_ALL(ctx, s->a, s->turned_a, s->turned_d, s->of_lora);
}

/* out = v (rows x inner) times m (inner x cols) */
static far_status multiply(far_ctx *ctx, const double *v, int64_t rows, int64_t inner,
                           const double *m, int64_t cols, double *out)
{
    far_mat in = far_mat_view((void *)v, rows, inner, FAR_F64);
    far_mat by = far_mat_view((void *)m, inner, cols, FAR_F64);
    far_mat to = far_mat_view(out, rows, cols, FAR_F64);
    return far_multiply(ctx, &in, &by, &to);
}

/* out = v times vectors */
static far_status turn(far_ctx *ctx, const double *vectors, int64_t rows, int64_t cols, double *v,
                       double *out)
{
    return multiply(ctx, v, rows, cols, vectors, cols, out);
}

/* out: the transposes of so many matrices rows x cols */
static void transpose_all(far_ctx *ctx, int64_t count, int64_t rows, int64_t cols, const double *v,
                          double *out)
{
#pragma omp parallel for num_threads(far_ctx_threads(ctx)) schedule(static)
    for (int64_t k = 0; k < count; k++) {
        const double *from = v + k * rows * cols;
        double *to = out + k * rows * cols;
        for (int64_t i = 0; i < rows; i++) {
            for (int64_t j = 0; j < cols; j++) {
                to[j * rows + i] = from[i * cols + j];
            }
        }
    }
}

/* G := left' G right, of every row. */
static far_status turn_whole(const far_laplace *la, const far_block *b, sight *s)
{
    int64_t rows = s->points * la->info.outputs;
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(la->ctx, rows * s->gradients, &s->turned_d));
    FAR_TRY(turn(la->ctx, b->right, rows * b->inputs, b->gradients, s->d, s->turned_d));
    transpose_all(la->ctx, rows, b->inputs, b->gradients, s->turned_d, s->d);
    FAR_TRY(turn(la->ctx, b->left, rows * b->gradients, b->inputs, s->d, s->turned_d));
    transpose_all(la->ctx, rows, b->gradients, b->inputs, s->turned_d, s->d);
done:
    return st;
}

static far_status turn_both(const far_laplace *la, const far_block *b, sight *s)
{
    int64_t rows = s->points * la->info.outputs;
    double *given = s->a;
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(la->ctx, s->points * b->inputs, &s->turned_a));
    FAR_TRY(far_alloc(la->ctx, rows * b->gradients, &s->turned_d));
    FAR_TRY(turn(la->ctx, b->left, s->points, b->inputs, s->a, s->turned_a));
    FAR_TRY(turn(la->ctx, b->right, rows, b->gradients, s->d, s->turned_d));
    s->a = s->turned_a;
    s->turned_a = given;
    s->d = s->turned_d;
done:
    return st;
}

/* stride: rows from one point (or position) to the next. */
static void fill_inputs(int threads, const far_factor *f, int64_t stride, sight *s)
{
    int64_t width = f->inputs.length;
    double scale = sqrt(f->by_input), constant = sqrt(f->constant);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < s->points * s->positions; i++) {
        const double *h = width > 0 ? (double *)f->inputs.rows + i * stride * width : NULL;
        for (int64_t p = 0; p < s->inputs; p++) {
            s->a[i * s->inputs + p] = p < width ? scale * h[p] : constant;
        }
    }
}

/* ---- layers with lora ---------------------------------------------------------------------- */

/* d: of the gradient by A and B, one after the other, the one that is this block's. */
static far_status take_part(const far_laplace *la, const far_factor *f, const far_block *b,
                            sight *s)
{
    int64_t rows = s->points * la->info.outputs, length = f->gradients.length;
    int64_t first = b->part == FAR_LORA_A ? 0 : length - s->gradients;
    far_status st = far_alloc(la->ctx, rows * s->gradients, &s->of_lora);
    for (int64_t i = 0; st == FAR_OK && i < rows; i++) {
        memcpy(s->of_lora + i * s->gradients, s->d + i * length + first,
               (size_t)s->gradients * sizeof *s->d);
    }
    s->d = s->of_lora;
    return st;
}

/* A's gradients s B' d from those of the layer. */
static far_status see_gradients(const far_laplace *la, const far_factor *f, const far_block *b,
                                sight *s)
{
    int64_t rows = s->points * s->positions * la->info.outputs;
    far_status st = far_alloc(la->ctx, rows * s->gradients, &s->of_lora);
    st = st == FAR_OK ? multiply(la->ctx, s->d, rows, f->gradients.length, b->other, s->gradients,
                                 s->of_lora)
                      : st;
    s->d = s->of_lora;
    return st;
}

/* B's inputs s A a from those of the layer. */
static far_status see_inputs(const far_laplace *la, const far_block *b, sight *s)
{
    int64_t rows = s->points * s->positions;
    double *given = s->a;
    far_status st = FAR_OK;
    s->a = NULL;
    FAR_TRY(far_alloc(la->ctx, rows * b->inputs, &s->a));
    FAR_TRY(multiply(la->ctx, given, rows, s->inputs, b->other, b->inputs, s->a));
    s->inputs = b->inputs;
done:
    far_free(la->ctx, given);
    return st;
}

/* ---- what a block sees --------------------------------------------------------------------- */

/* In the block's coordinates, if it has any of its own. */
static far_status look(const far_laplace *la, const far_factor *f, const far_block *b,
                       int64_t points, sight *s)
{
    bool whole = b->whole && f->positions == 0, lora_b = b->part == FAR_LORA_B;
    far_status st = FAR_OK;
    *s = (sight){.points = points,
                 .positions = f->positions > 0 ? f->positions : 1,
                 .inputs = whole    ? 1
                           : lora_b ? f->inputs.length
                                    : b->inputs,
                 .gradients = whole ? b->inputs * b->gradients : b->gradients,
                 .d = f->gradients.rows};
    FAR_TRY(far_alloc(la->ctx, points * s->positions * s->inputs, &s->a));
    fill_inputs(far_ctx_threads(la->ctx), f, f->positions > 0 ? 1 : la->info.outputs, s);
    if (b->part != FAR_LORA_NONE) {
        FAR_TRY(whole    ? take_part(la, f, b, s)
                : lora_b ? see_inputs(la, b, s)
                         : see_gradients(la, f, b, s));
    }
    if (b->left) {
        FAR_TRY(whole ? turn_whole(la, b, s) : turn_both(la, b, s));
    }
done:
    return st;
}

typedef far_status (*visit_fn)(const far_laplace *la, int64_t layer, sight *s, void *user);

/* What points are seen with, again and again. */
typedef struct viewer {
    far_tangent t;
    far_factors f;
} viewer;

/* apart: of each position. */
static far_status viewer_open(const far_laplace *la, bool apart, viewer *v)
{
    far_status st = far_tangent_open(la->ctx, la->net, FAR_NTK_FULL, &v->t);
    v->t.opts.layers = la->layers;
    v->t.plan.apart = apart;
    return st;
}

static void viewer_close(viewer *v)
{
    far_factors_clear(&v->f);
    far_tangent_close(&v->t);
}

/* Every layer's sight of x. A comes before B, which may write over the gradients of both. */
static far_status visit(const far_laplace *la, viewer *v, const far_mat *x, visit_fn see,
                        void *user)
{
    far_status st = FAR_OK;
    FAR_TRY(far_factors_create(la->ctx, &v->t.plan, x, &v->f));
    for (int64_t l = 0; l < la->block_count; l++) {
        sight s = {0};
        st = look(la, &v->f.items[la->blocks[l].item], &la->blocks[l], x->rows, &s);
        st = st == FAR_OK ? see(la, l, &s, user) : st;
        sight_clear(la->ctx, &s);
        FAR_TRY(st);
    }
done:
    return st;
}

static far_status visit_once(const far_laplace *la, const far_mat *x, visit_fn see, void *user)
{
    viewer v = {0};
    far_status st = viewer_open(la, false, &v);
    st = st == FAR_OK ? visit(la, &v, x, see, user) : st;
    viewer_close(&v);
    return st;
}

static far_status put_projection(const far_laplace *la, int64_t layer, sight *s, void *user)
{
    int64_t outputs = la->info.outputs, cols = s->points * outputs;
    double *z = (double *)user + la->blocks[layer].first * cols;
#pragma omp parallel for num_threads(far_ctx_threads(la->ctx)) schedule(static)
    for (int64_t k = 0; k < s->inputs * s->gradients; k++) {
        int64_t p = k / s->gradients, q = k % s->gradients;
        for (int64_t i = 0; i < cols; i++) {
            z[k * cols + i] = s->a[i / outputs * s->inputs + p] * s->d[i * s->gradients + q];
        }
    }
    return FAR_OK;
}

far_status far_blocks_project(const far_laplace *la, const far_mat *x, double *z)
{
    return visit_once(la, x, put_projection, z);
}

/* ---- covariances --------------------------------------------------------------------------- */

/* Of a diagonal system: what a layer adds to kappa(x_i, x_i) is D_i diag(t_i) D_i' with
 * t_iq = sum_p a_ip^2 roots_pq^2, so that the projections themselves, which are as long as all
 * weights, are not needed. */
typedef struct spread {
    const far_posterior *const *posteriors;
    int64_t count;
    double *covariance; /* of each, m C x C, stride apart */
    int64_t stride;
} spread;

static void add_spread(const double *t, const double *d, int64_t outputs, int64_t gradients,
                       double *row, double *out)
{
    for (int64_t a = 0; a < outputs; a++) {
        for (int64_t q = 0; q < gradients; q++) {
            row[q] = t[q] * d[a * gradients + q];
        }
        for (int64_t b = 0; b <= a; b++) {
            double share = far_dot(row, d + b * gradients, gradients);
            out[a * outputs + b] += share;
            out[b * outputs + a] += a == b ? 0 : share;
        }
    }
}

static void square(double *v, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        v[k] *= v[k];
    }
}

/* Of one posterior; a: squares. */
static far_status add_posterior(const far_laplace *la, const double *roots, const far_mat *a,
                                const sight *s, double *weights, double *t, double *covariance)
{
    int64_t in = s->inputs, out = s->gradients, outputs = la->info.outputs;
    far_mat w = far_mat_view(weights, in, out, FAR_F64);
    far_mat product = far_mat_view(t, s->points, out, FAR_F64);
    double *rows = t + s->points * out;
    memcpy(weights, roots, (size_t)(in * out) * sizeof *weights);
    square(weights, in * out);
    far_status st = far_multiply(la->ctx, a, &w, &product);
#pragma omp parallel for num_threads(far_ctx_threads(la->ctx)) schedule(static)
    for (int64_t i = 0; i < s->points; i++) {
        add_spread(t + i * out, s->d + i * outputs * out, outputs, out, rows + i * out,
                   covariance + i * outputs * outputs);
    }
    return st;
}

static far_status add_covariance(const far_laplace *la, int64_t layer, sight *s, void *user)
{
    const spread *u = user;
    double *weights = NULL, *t = NULL;
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(la->ctx, s->inputs * s->gradients, &weights));
    FAR_TRY(far_alloc(la->ctx, 2 * s->points * s->gradients, &t));
    square(s->a, s->points * s->inputs);
    far_mat a = far_mat_view(s->a, s->points, s->inputs, FAR_F64);
    for (int64_t k = 0; k < u->count; k++) {
        FAR_TRY(add_posterior(la, u->posteriors[k]->roots + la->blocks[layer].first, &a, s, weights,
                              t, u->covariance + k * u->stride));
    }
done:
    FAR_FREE_ALL(la->ctx, weights, t);
    return st;
}

far_status far_blocks_covariance(const far_laplace *la, const far_posterior *const *posteriors,
                                 int64_t count, const far_mat *x, double *covariance,
                                 int64_t stride)
{
    spread u = {posteriors, count, covariance, stride};
    int64_t numbers = x->rows * la->info.outputs * la->info.outputs;
    for (int64_t k = 0; k < count; k++) {
        memset(covariance + k * stride, 0, (size_t)numbers * sizeof *covariance);
    }
    return visit_once(la, x, add_covariance, &u);
}

/* ---- fitting ------------------------------------------------------------------------------- */

/* A pass over the training points. */
typedef struct pass {
    far_laplace *la;
    viewer view;
    far_root root;    /* at the points of a chunk */
    double *z, *zt;   /* the last layer's projection, side x m C, and its transpose */
    double **factors; /* of KFAC: a layer's two */
} pass;

/* d of the first output := the sum over outputs of d^2. */
static void sum_squares(far_ctx *ctx, sight *s, int64_t outputs)
{
#pragma omp parallel for num_threads(far_ctx_threads(ctx)) schedule(static)
    for (int64_t i = 0; i < s->points; i++) {
        double *d = s->d + i * outputs * s->gradients;
        square(d, outputs * s->gradients);
        for (int64_t c = 1; c < outputs; c++) {
            for (int64_t q = 0; q < s->gradients; q++) {
                d[q] += d[c * s->gradients + q];
            }
        }
    }
}

/* values_(p,q) += a_p^2 |R' d_q|^2 */
static far_status add_diagonal(const far_laplace *la, int64_t layer, sight *s, void *user)
{
    const pass *run = user;
    far_root_apply_rows(la->ctx, &run->root, s->points, s->d, s->gradients);
    sum_squares(la->ctx, s, la->info.outputs);
    int64_t apart = la->info.outputs * s->gradients;
#pragma omp parallel for num_threads(far_ctx_threads(la->ctx)) schedule(static)
    for (int64_t p = 0; p < s->inputs; p++) {
        double *to = la->values + la->blocks[layer].first + p * s->gradients;
        for (int64_t i = 0; i < s->points; i++) {
            double a = s->a[i * s->inputs + p];
            for (int64_t q = 0; a != 0 && q < s->gradients; q++) {
                to[q] += a * a * s->d[i * apart + q];
            }
        }
    }
    return FAR_OK;
}

/* to (cols x cols, the lower triangle) += v' v */
static far_status add_square(far_ctx *ctx, double *v, int64_t rows, int64_t cols, double *to)
{
    far_mat from = far_mat_view(v, rows, cols, FAR_F64);
    far_mat sum = far_mat_view(to, cols, cols, FAR_F64);
    return far_add_square(ctx, &from, &sum);
}

static far_status add_factors(const far_laplace *la, int64_t layer, sight *s, void *user)
{
    const pass *run = user;
    int64_t rows = s->points * s->positions;
    far_root_apply_rows(la->ctx, &run->root, s->points, s->d, s->positions * s->gradients);
    run->la->blocks[layer].positions = s->positions;
    far_status st = add_square(la->ctx, s->a, rows, s->inputs, run->factors[2 * layer]);
    return st == FAR_OK ? add_square(la->ctx, s->d, rows * la->info.outputs, s->gradients,
                                     run->factors[2 * layer + 1])
                        : st;
}

/* matrix += Z Lam Z' of the one block. */
static far_status add_layer(const pass *run, const far_mat *x)
{
    far_laplace *la = run->la;
    int64_t side = la->info.side, cols = x->rows * la->info.outputs;
    far_mat z = far_mat_view(run->z, side, cols, FAR_F64);
    far_mat zt = far_mat_view(run->zt, cols, side, FAR_F64);
    far_status st = far_blocks_project(la, x, run->z);
    if (st == FAR_OK) {
        far_transpose(la->ctx, &z, run->zt);
        far_root_apply_rows(la->ctx, &run->root, x->rows, run->zt, side);
        far_transpose(la->ctx, &zt, run->z);
        st = far_add_outer(la->ctx, &z, &zt, &la->matrix);
    }
    return st;
}

static far_status add_points(void *user, const far_mat *x, int64_t first)
{
    pass *run = user;
    far_laplace *la = run->la;
    double *outputs = NULL;
    far_status st = FAR_OK;
    (void)first;
    FAR_TRY(far_alloc(la->ctx, x->rows * la->info.outputs, &outputs));
    FAR_TRY(far_laplace_outputs(la, x, outputs));
    FAR_TRY(far_root_create(la->ctx, &la->info, outputs, x->rows, &run->root));
    FAR_TRY(la->info.method == FAR_LAPLACE_LAST_LAYER
                ? add_layer(run, x)
                : visit(la, &run->view, x,
                        la->info.method == FAR_LAPLACE_KFAC ? add_factors : add_diagonal, run));
done:
    far_root_clear(la->ctx, &run->root);
    far_free(la->ctx, outputs);
    return st;
}

/* vectors, by columns, and values (not negative) of a sum of squares, whose memory this takes. */
static far_status decompose(const far_laplace *la, double *sum, int64_t n, double *values,
                            double **vectors)
{
    far_mat matrix = far_mat_view(sum, n, n, FAR_F64), to = far_mat_view(values, n, 1, FAR_F64);
    far_symmetric a = far_symmetric_of(&matrix);
    far_status st = far_alloc(la->ctx, n * n, vectors);
    far_mat by = far_mat_view(*vectors, n, n, FAR_F64);
    st = st == FAR_OK ? far_eigen(la->ctx, &a, FAR_EIGEN_LARGEST, n, la->memory, &to, &by) : st;
    for (int64_t k = 0; st == FAR_OK && k < n; k++) {
        values[k] = fmax(values[k], 0);
    }
    return st;
}

static far_status take_factors(far_laplace *la, const pass *run, int64_t layer)
{
    far_block *b = &la->blocks[layer];
    double *alpha = NULL, *beta = NULL;
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(la->ctx, b->inputs, &alpha));
    FAR_TRY(far_alloc(la->ctx, b->gradients, &beta));
    FAR_TRY(decompose(la, run->factors[2 * layer], b->inputs, alpha, &b->left));
    FAR_TRY(decompose(la, run->factors[2 * layer + 1], b->gradients, beta, &b->right));
    double rows = (double)la->info.rows * (double)b->positions;
    for (int64_t k = 0; k < b->inputs * b->gradients; k++) {
        la->values[b->first + k] = alpha[k / b->gradients] / rows * beta[k % b->gradients];
    }
done:
    FAR_FREE_ALL(la->ctx, alpha, beta);
    return st;
}

static far_status make_room(pass *run, int64_t chunk)
{
    far_laplace *la = run->la;
    int64_t side = la->info.side, cols = chunk * la->info.outputs;
    double *matrix = NULL;
    far_status st = FAR_OK;
    if (la->info.method == FAR_LAPLACE_LAST_LAYER) {
        FAR_TRY(far_alloc(la->ctx, side * side, &matrix));
        la->matrix = far_mat_view(matrix, side, side, FAR_F64);
        if (far_last_ends(la->net)) {
            return FAR_OK;
        }
        FAR_TRY(far_alloc(la->ctx, side * cols, &run->z));
        FAR_TRY(far_alloc(la->ctx, side * cols, &run->zt));
        return FAR_OK;
    }
    FAR_TRY(far_alloc(la->ctx, side, &la->values));
    if (la->info.method == FAR_LAPLACE_KFAC) {
        FAR_TRY(far_alloc(la->ctx, 2 * la->block_count, &run->factors));
        for (int64_t l = 0; l < la->block_count; l++) {
            const far_block *b = &la->blocks[l];
            FAR_TRY(far_alloc(la->ctx, b->inputs * b->inputs, &run->factors[2 * l]));
            FAR_TRY(far_alloc(la->ctx, b->gradients * b->gradients, &run->factors[2 * l + 1]));
        }
    }
done:
    return st;
}

static void pass_clear(pass *run)
{
    far_laplace *la = run->la;
    for (int64_t k = 0; run->factors && k < 2 * la->block_count; k++) {
        far_free(la->ctx, run->factors[k]);
    }
    FAR_FREE_ALL(la->ctx, run->factors, run->z, run->zt);
    viewer_close(&run->view);
}

/* Only the last layer has projections in its fit; the others have what layers see. */
static int64_t points_at_once(const far_laplace *la, const viewer *v, int64_t points)
{
    double numbers = far_factors_bytes(&v->t.plan, 1) / sizeof(double);
    double room = FIT_CHUNKS * far_laplace_chunk_numbers(la->memory);
    return la->info.method == FAR_LAPLACE_LAST_LAYER
               ? far_laplace_chunk(la, la->info.side, points)
               : (int64_t)fmax(1, fmin((double)points, room / numbers));
}

far_status far_laplace_fit_blocks(far_laplace *la, const far_mat *x)
{
    pass run = {.la = la};
    far_status st = FAR_OK;
    FAR_TRY(make_blocks(la));
    FAR_TRY(viewer_open(la, la->info.method == FAR_LAPLACE_KFAC, &run.view));
    int64_t chunk = points_at_once(la, &run.view, x->rows);
    FAR_TRY(make_room(&run, chunk));
    if (la->info.method == FAR_LAPLACE_LAST_LAYER && far_last_ends(la->net)) {
        FAR_TRY(far_last_fit(la, x));
        goto done;
    }
    FAR_TRY(far_laplace_walk(la, "posterior", x, chunk, add_points, &run));
    for (int64_t l = 0; run.factors && l < la->block_count; l++) {
        FAR_TRY(take_factors(la, &run, l));
    }
done:
    pass_clear(&run);
    return st;
}
