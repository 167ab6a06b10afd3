/*
 * The last layer alone, where it ends the network: the gradient of output c by the weights of
 * output c is the layer's inputs a, of every other output 0, so that J = a' x I and
 *
 *     matrix_(p,q),(r,s) = sum_i a_ip a_ir Lam_i,qs          L^-1 J' = sum_p a_p (L^-1)_.,(p,.)
 *
 * are products over all rows at once, with C times fewer operations than those of whole Jacobians;
 * and one pass through the network gives inputs and outputs. The first is symmetric in p and r and
 * in q and s, and half of L^-1 is zero: both are taken in parts that leave most of that out.
 */
#include "laplace_internal.h"

#include <math.h>
#include <omp.h>
#include <string.h>

enum {
    FIT_ROWS = 1024,          /* at a time: the products of two inputs of so many stay in cache, */
    SPREAD_POINTS = 112,      /* and so do L^-1 J' of so many points */
    SPREAD_NUMBERS = 1 << 16, /* as far as they are taken at once, */
    SLICES = 8,               /* an eighth of their rows at most */
};

bool far_last_ends(const far_net *net)
{
    const far_step *last = &net->steps[net->step_count - 1];
    return last->kind == FAR_STEP_DENSE && last->unit >= 0 && !far_step_is_spread(last);
}

static bool closed(const far_laplace *la)
{
    return la->info.method == FAR_LAPLACE_LAST_LAYER && far_last_ends(la->net);
}

bool far_last_spreads(const far_laplace *la, int64_t points)
{
    return closed(la) && points * la->info.outputs > la->info.side;
}

/* ---- what the layer sees ------------------------------------------------------------------- */

/* The network, and factors of points whose memory is used again. */
typedef struct sight {
    far_tangent t;
    far_factors f;
} sight;

static far_status sight_open(const far_laplace *la, sight *s)
{
    far_status st = far_tangent_open(la->ctx, la->net, FAR_NTK_ONE, &s->t);
    s->t.opts.layers = la->layers;
    return st;
}

static void sight_close(sight *s)
{
    far_factors_clear(&s->f);
    far_tangent_close(&s->t);
}

static void put_inputs(const far_factor *f, int64_t points, int64_t inputs, double *a)
{
    int64_t width = f->inputs.length;
    double scale = sqrt(f->by_input), constant = sqrt(f->constant);
    for (int64_t i = 0; i < points; i++) {
        const double *h = (const double *)f->inputs.rows + i * width;
        for (int64_t p = 0; p < inputs; p++) {
            a[i * inputs + p] = p < width ? scale * h[p] : constant;
        }
    }
}

/* A linearised network has its tangents at other weights than its outputs. */
static far_status find_outputs(const far_laplace *la, const far_mat *x, double *outputs)
{
    far_mat out = far_mat_view(outputs, x->rows, la->info.outputs, FAR_F64);
    return la->net->start ? far_laplace_outputs(la, x, outputs)
                          : far_check_finite(la->ctx, &out, "the network's outputs");
}

/* a (m x inputs), with the bias's constant, and outputs (m x C; NULL: not wanted). */
static far_status look(const far_laplace *la, sight *s, const far_mat *x, double *a,
                       double *outputs)
{
    far_status st = FAR_OK;
    s->t.plan.outputs = outputs;
    FAR_TRY(far_factors_create(la->ctx, &s->t.plan, x, &s->f));
    put_inputs(&s->f.items[0], x->rows, la->blocks[0].inputs, a);
    FAR_TRY(outputs ? find_outputs(la, x, outputs) : FAR_OK);
done:
    return st;
}

/* ---- fitting ------------------------------------------------------------------------------- */

/* Some rows: a and its transpose, the network's outputs, and Lam (pairs x rows) of the pairs (q, s)
 * of outputs with s <= q, those with s = q alone where others are 0. Of each thread: the products
 * of one input with those up to it (inputs x rows), and their sums weighed by Lam. */
typedef struct fitting {
    far_laplace *la;
    sight sight;
    bool coupled;
    int64_t pairs;
    double *a, *turned, *outputs, *curvature;
    double *products, *sums;
} fitting;

static void fitting_clear(far_ctx *ctx, fitting *f)
{
    FAR_FREE_ALL(ctx, f->a, f->turned, f->outputs, f->curvature, f->products, f->sums);
    sight_close(&f->sight);
}

static far_status fitting_make(far_laplace *la, int64_t rows, fitting *f)
{
    int64_t inputs = la->blocks[0].inputs, outputs = la->info.outputs;
    int64_t threads = far_ctx_threads(la->ctx);
    far_status st = FAR_OK;
    f->la = la;
    f->coupled = la->info.likelihood == FAR_LIKELIHOOD_SOFTMAX;
    f->pairs = f->coupled ? outputs * (outputs + 1) / 2 : outputs;
    FAR_TRY(sight_open(la, &f->sight));
    FAR_TRY(far_alloc(la->ctx, rows * inputs, &f->a));
    FAR_TRY(far_alloc(la->ctx, rows * inputs, &f->turned));
    FAR_TRY(far_alloc(la->ctx, rows * outputs, &f->outputs));
    FAR_TRY(far_alloc(la->ctx, rows * f->pairs, &f->curvature));
    FAR_TRY(far_alloc(la->ctx, threads * rows * inputs, &f->products));
    FAR_TRY(far_alloc(la->ctx, threads * f->pairs * inputs, &f->sums));
done:
    return st;
}

static int64_t first_of(const fitting *f, int64_t q)
{
    return f->coupled ? 0 : q;
}

static void fill_curvature(const fitting *f, const far_root *root, int64_t rows)
{
    double *to = f->curvature;
    for (int64_t q = 0; q < root->outputs; q++) {
        for (int64_t s = first_of(f, q); s <= q; s++) {
            for (int64_t i = 0; i < rows; i++) {
                *to++ = far_root_curvature(root, i, q, s);
            }
        }
    }
}

/* The lower triangle of all pairs of coordinates that have the inputs p and r; those with q and s
 * exchanged are the same. */
static void add_sums(const fitting *f, int64_t p, const double *sums)
{
    int64_t outputs = f->la->info.outputs;
    for (int64_t q = 0; q < outputs; q++) {
        double *row = far_mat_row(&f->la->matrix, p * outputs + q);
        for (int64_t s = first_of(f, q); s <= q; s++, sums += p + 1) {
            double *across = far_mat_row(&f->la->matrix, p * outputs + s);
            for (int64_t r = 0; r <= p; r++) {
                row[r * outputs + s] += sums[r];
                if (r < p && s < q) {
                    across[r * outputs + q] += sums[r];
                }
            }
        }
    }
}

static void multiply_each(int64_t n, const double *restrict a, const double *restrict b,
                          double *restrict out)
{
    for (int64_t i = 0; i < n; i++) {
        out[i] = a[i] * b[i];
    }
}

/* All pairs of inputs, the rows of one p after another. */
static void add_pairs(const fitting *f, int64_t rows)
{
    int64_t inputs = f->la->blocks[0].inputs;
#pragma omp parallel for num_threads(far_ctx_threads(f->la->ctx)) schedule(dynamic)
    for (int64_t p = inputs - 1; p >= 0; p--) {
        int64_t me = omp_get_thread_num();
        double *products = f->products + me * rows * inputs,
               *sums = f->sums + me * f->pairs * inputs;
        for (int64_t r = 0; r <= p; r++) {
            multiply_each(rows, f->turned + p * rows, f->turned + r * rows, products + r * rows);
        }
        far_engine_multiply(f->sight.t.engine, f->pairs, p + 1, rows, f->curvature, products, rows,
                            sums, p + 1);
        add_sums(f, p, sums);
    }
}

static far_status add_rows(void *user, const far_mat *x, int64_t first)
{
    fitting *f = user;
    const far_laplace *la = f->la;
    far_root root = {0};
    far_mat a = far_mat_view(f->a, x->rows, la->blocks[0].inputs, FAR_F64);
    far_status st = FAR_OK;
    (void)first;
    FAR_TRY(look(la, &f->sight, x, f->a, f->outputs));
    FAR_TRY(far_root_create(la->ctx, &la->info, f->outputs, x->rows, &root));
    far_transpose(la->ctx, &a, f->turned);
    fill_curvature(f, &root, x->rows);
    add_pairs(f, x->rows);
done:
    far_root_clear(la->ctx, &root);
    return st;
}

far_status far_last_fit(far_laplace *la, const far_mat *x)
{
    fitting f = {0};
    int64_t shares = (2 + far_ctx_threads(la->ctx)) * la->blocks[0].inputs;
    int64_t chunk = far_least(FIT_ROWS, far_laplace_points(la, shares, x->rows));
    far_status st = fitting_make(la, chunk, &f);
    st = st == FAR_OK ? far_laplace_walk(la, "posterior", x, chunk, add_rows, &f) : st;
    fitting_clear(la->ctx, &f);
    return st;
}

/* ---- covariances --------------------------------------------------------------------------- */

/* L^-1 in slices of rows k, each with a line of inputs for every (q, k): (L^-1)_k,(p,q), p <
 * inputs. Of each thread: L^-1 J' of some points, one slice at a time, and what it adds to a
 * covariance. */
typedef struct spreading {
    const far_laplace *la;
    sight sight;
    int64_t slice, points; /* rows, and points, at once at most */
    double *lines;         /* (side C) x inputs */
    double *a;             /* points x inputs */
    double *w, *share;
    double *mean;
    far_mat *covariance;
} spreading;

static void spreading_clear(far_ctx *ctx, spreading *s)
{
    FAR_FREE_ALL(ctx, s->lines, s->a, s->w, s->share);
    sight_close(&s->sight);
}

static int64_t slice_rows(const far_laplace *la)
{
    int64_t part = (la->info.side + SLICES - 1) / SLICES;
    int64_t fit = SPREAD_NUMBERS / (SPREAD_POINTS * la->info.outputs);
    return fit < 1 ? 1 : far_least(fit, part);
}

static far_status spreading_make(const far_laplace *la, int64_t points, spreading *s)
{
    int64_t outputs = la->info.outputs, threads = far_ctx_threads(la->ctx);
    far_status st = FAR_OK;
    s->la = la;
    s->slice = slice_rows(la);
    s->points = far_least(points, SPREAD_POINTS);
    FAR_TRY(sight_open(la, &s->sight));
    FAR_TRY(far_alloc(la->ctx, la->info.side * la->info.side, &s->lines));
    FAR_TRY(far_alloc(la->ctx, points * la->blocks[0].inputs, &s->a));
    FAR_TRY(far_alloc(la->ctx, threads * s->points * s->slice * outputs, &s->w));
    FAR_TRY(far_alloc(la->ctx, threads * outputs * outputs, &s->share));
done:
    return st;
}

static void fill_lines(const spreading *s, const double *inverse)
{
    const far_laplace *la = s->la;
    int64_t side = la->info.side, inputs = la->blocks[0].inputs, outputs = la->info.outputs;
#pragma omp parallel for num_threads(far_ctx_threads(la->ctx)) schedule(static)
    for (int64_t k = 0; k < side; k++) {
        int64_t first = k / s->slice * s->slice, rows = far_least(s->slice, side - first);
        for (int64_t q = 0; q < outputs; q++) {
            double *line = s->lines + (first * outputs + q * rows + k - first) * inputs;
            for (int64_t p = 0; p < inputs; p++) {
                line[p] = inverse[k * side + p * outputs + q];
            }
        }
    }
}

static far_status take_inverse(const spreading *s, const far_posterior *posterior)
{
    int64_t side = s->la->info.side;
    double *inverse = NULL;
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(s->la->ctx, side * side, &inverse));
    FAR_TRY(far_system_inverse_factor(s->la->ctx, posterior->system, inverse));
    fill_lines(s, inverse);
done:
    far_free(s->la->ctx, inverse);
    return st;
}

/* covariance += w w' of some points, w C x rows each; the first slice sets it. */
static void add_slice(const spreading *s, int64_t first, int64_t points, int64_t rows, bool set,
                      const double *w, double *share)
{
    int64_t outputs = s->la->info.outputs;
    for (int64_t i = 0; i < points; i++, w += outputs * rows) {
        far_engine_multiply(s->sight.t.engine, outputs, outputs, rows, w, w, rows, share, outputs);
        for (int64_t c = 0; c < outputs; c++) {
            double *to = far_mat_row(s->covariance, (first + i) * outputs + c);
            for (int64_t o = 0; o < outputs; o++) {
                to[o] = share[c * outputs + o] + (set ? 0 : to[o]);
            }
        }
    }
}

/* The covariances from the first one on of so many points, a their inputs. Row k of L^-1 ends with
 * input k / C. */
static void spread_points(const spreading *s, const double *a, int64_t first, int64_t points)
{
    const far_laplace *la = s->la;
    int64_t side = la->info.side, inputs = la->blocks[0].inputs, outputs = la->info.outputs;
    int64_t me = omp_get_thread_num();
    double *w = s->w + me * s->points * s->slice * outputs;
    double *share = s->share + me * outputs * outputs;
    for (int64_t k = 0; k < side; k += s->slice) {
        int64_t rows = far_least(s->slice, side - k), depth = (k + rows - 1) / outputs + 1;
        far_engine_multiply(s->sight.t.engine, points, rows * outputs, depth, a,
                            s->lines + k * outputs * inputs, inputs, w, rows * outputs);
        add_slice(s, first, points, rows, k == 0, w, share);
    }
}

static far_status spread_rows(void *user, const far_mat *x, int64_t first)
{
    spreading *s = user;
    int64_t inputs = s->la->blocks[0].inputs;
    double *mean = s->mean ? s->mean + first * s->la->info.outputs : NULL;
    far_status st = look(s->la, &s->sight, x, s->a, mean);
#pragma omp parallel for num_threads(far_ctx_threads(s->la->ctx)) schedule(dynamic)
    for (int64_t i = 0; i < (st == FAR_OK ? x->rows : 0); i += s->points) {
        spread_points(s, s->a + i * inputs, first + i, far_least(s->points, x->rows - i));
    }
    return st;
}

far_status far_last_covariance(const far_laplace *la, const far_posterior *posterior,
                               const far_mat *x, double *mean, far_mat *covariance)
{
    spreading s = {.mean = mean, .covariance = covariance};
    int64_t chunk = far_laplace_points(la, la->blocks[0].inputs, x->rows);
    far_status st = FAR_OK;
    FAR_TRY(spreading_make(la, chunk, &s));
    FAR_TRY(take_inverse(&s, posterior));
    FAR_TRY(far_laplace_walk(la, "laplace", x, chunk, spread_rows, &s));
    FAR_TRY(far_progress(la->ctx, "laplace", x->rows, x->rows));
done:
    spreading_clear(la->ctx, &s);
    return st;
}
