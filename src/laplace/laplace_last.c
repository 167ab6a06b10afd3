/*
 * The last layer alone, where it ends the network: the gradient of output c by the weights of
 * output c is the layer's inputs a, of every other output 0, so that J = a' x I and
 *
 *     matrix_(p,q),(r,s) = sum_i a_ip a_ir Lam_i,qs          L^-1 J' = sum_p a_p (L^-1)_.,(p,.)
 *
 * are products over all rows at once, with C times fewer operations than those of whole Jacobians;
 * and one pass through the network gives inputs and outputs.
 */
#include "laplace_internal.h"

#include <math.h>
#include <string.h>

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
static far_status look(const far_laplace *la, const far_mat *x, double *a, double *outputs)
{
    far_tangent t = {0};
    far_factors f = {0};
    far_status st = FAR_OK;
    FAR_TRY(far_tangent_open(la->ctx, la->net, FAR_NTK_ONE, &t));
    t.opts.layers = la->layers;
    t.plan.outputs = outputs;
    FAR_TRY(far_factors_create(la->ctx, &t.plan, x, &f));
    put_inputs(&f.items[0], x->rows, la->blocks[0].inputs, a);
    FAR_TRY(outputs ? find_outputs(la, x, outputs) : FAR_OK);
done:
    far_factors_clear(&f);
    far_tangent_close(&t);
    return st;
}

/* ---- fitting ------------------------------------------------------------------------------- */

/* Rows at a time; turned: a'; shares and product: Lam_.,qs a for the outputs s that go along with
 * one output q, and a' times them. */
typedef struct room {
    double *a, *turned, *outputs, *shares, *product;
} room;

static void room_clear(far_ctx *ctx, room *r)
{
    FAR_FREE_ALL(ctx, r->a, r->turned, r->outputs, r->shares, r->product);
}

static far_status room_make(const far_laplace *la, int64_t rows, room *r)
{
    int64_t inputs = la->blocks[0].inputs, outputs = la->info.outputs;
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(la->ctx, rows * inputs, &r->a));
    FAR_TRY(far_alloc(la->ctx, rows * inputs, &r->turned));
    FAR_TRY(far_alloc(la->ctx, rows * outputs, &r->outputs));
    FAR_TRY(far_alloc(la->ctx, rows * inputs * outputs, &r->shares));
    FAR_TRY(far_alloc(la->ctx, inputs * inputs * outputs, &r->product));
done:
    return st;
}

/* shares_i,(s,p) = Lam_i,qs a_ip, s from first to q */
static void weigh(const far_laplace *la, const far_root *root, int64_t rows, int64_t first,
                  int64_t q, room *r)
{
    int64_t inputs = la->blocks[0].inputs, count = q - first + 1;
#pragma omp parallel for num_threads(far_ctx_threads(la->ctx)) schedule(static)
    for (int64_t i = 0; i < rows; i++) {
        const double *a = r->a + i * inputs;
        for (int64_t k = 0; k < count; k++) {
            double *to = r->shares + (i * count + k) * inputs;
            double weight = far_root_curvature(root, i, q, first + k);
            for (int64_t p = 0; p < inputs; p++) {
                to[p] = weight * a[p];
            }
        }
    }
}

/* The lower triangle; the product with p and its other input exchanged is the same. */
static void add_product(far_laplace *la, int64_t first, int64_t q, const double *product)
{
    int64_t inputs = la->blocks[0].inputs, outputs = la->info.outputs, count = q - first + 1;
    for (int64_t p = 0; p < inputs; p++) {
        double *row = far_mat_row(&la->matrix, p * outputs + q);
        for (int64_t k = 0; k < count; k++) {
            int64_t s = first + k;
            double *across = far_mat_row(&la->matrix, p * outputs + s);
            const double *from = product + (p * count + k) * inputs;
            for (int64_t o = 0; o <= p; o++) {
                row[o * outputs + s] += from[o];
                if (o < p && s < q) {
                    across[o * outputs + q] += from[o];
                }
            }
        }
    }
}

static far_status add_output(far_laplace *la, const far_root *root, int64_t rows, int64_t q,
                             room *r)
{
    int64_t inputs = la->blocks[0].inputs, first = root->coupled ? 0 : q;
    int64_t cols = (q - first + 1) * inputs;
    far_mat left = far_mat_view(r->turned, inputs, rows, FAR_F64);
    far_mat right = far_mat_view(r->shares, rows, cols, FAR_F64);
    far_mat out = far_mat_view(r->product, inputs, cols, FAR_F64);
    weigh(la, root, rows, first, q, r);
    far_status st = far_multiply(la->ctx, &left, &right, &out);
    if (st == FAR_OK) {
        add_product(la, first, q, r->product);
    }
    return st;
}

static far_status add_rows(far_laplace *la, const far_mat *x, room *r)
{
    far_root root = {0};
    far_mat a = far_mat_view(r->a, x->rows, la->blocks[0].inputs, FAR_F64);
    far_status st = FAR_OK;
    FAR_TRY(look(la, x, r->a, r->outputs));
    FAR_TRY(far_root_create(la->ctx, &la->info, r->outputs, x->rows, &root));
    far_transpose(la->ctx, &a, r->turned);
    for (int64_t q = 0; q < la->info.outputs; q++) {
        FAR_TRY(add_output(la, &root, x->rows, q, r));
    }
done:
    far_root_clear(la->ctx, &root);
    return st;
}

far_status far_last_fit(far_laplace *la, const far_mat *x)
{
    int64_t chunk = far_laplace_points(la, la->blocks[0].inputs, x->rows);
    room r = {0};
    far_status st = FAR_OK;
    FAR_TRY(room_make(la, chunk, &r));
    for (int64_t first = 0; first < x->rows; first += chunk) {
        FAR_TRY(far_progress(la->ctx, "posterior", first, x->rows));
        far_mat part = far_mat_part(x, first, far_least(chunk, x->rows - first));
        far_progress_hold(la->ctx);
        st = add_rows(la, &part, &r);
        far_progress_release(la->ctx);
        FAR_TRY(st);
    }
done:
    room_clear(la->ctx, &r);
    return st;
}

/* ---- covariances --------------------------------------------------------------------------- */

/* out_p,(k,q) = (L^-1)_k,(p,q): inputs x (side C) */
static void turn_inverse(const far_laplace *la, const double *inverse, double *out)
{
    int64_t side = la->info.side, inputs = la->blocks[0].inputs, outputs = la->info.outputs;
#pragma omp parallel for num_threads(far_ctx_threads(la->ctx)) schedule(static)
    for (int64_t p = 0; p < inputs; p++) {
        for (int64_t k = 0; k < side; k++) {
            memcpy(out + (p * side + k) * outputs, inverse + k * side + p * outputs,
                   (size_t)outputs * sizeof *out);
        }
    }
}

static far_status make_inverse(const far_laplace *la, const far_posterior *posterior, double *out)
{
    int64_t side = la->info.side;
    double *inverse = NULL;
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(la->ctx, side * side, &inverse));
    for (int64_t k = 0; k < side; k++) {
        inverse[k * side + k] = 1;
    }
    far_mat all = far_mat_view(inverse, side, side, FAR_F64);
    FAR_TRY(far_posterior_whiten(la->ctx, posterior, &all));
    turn_inverse(la, inverse, out);
done:
    far_free(la->ctx, inverse);
    return st;
}

/* out (C x C, its rows ld apart) = w' w, w side x C */
static void square(const double *w, int64_t side, int64_t outputs, double *out, int64_t ld)
{
    for (int64_t c = 0; c < outputs; c++) {
        memset(out + c * ld, 0, (size_t)outputs * sizeof *out);
    }
    for (int64_t k = 0; k < side; k++, w += outputs) {
        for (int64_t c = 0; c < outputs; c++) {
            for (int64_t o = 0; o < outputs; o++) {
                out[c * ld + o] += w[c] * w[o];
            }
        }
    }
}

/* Rows [first, ..) of mean and covariance; w: room for m x (side C). */
static far_status spread_rows(const far_laplace *la, const double *inverse, const far_mat *x,
                              double *a, double *w, double *mean, far_mat *covariance,
                              int64_t first)
{
    int64_t side = la->info.side, inputs = la->blocks[0].inputs, outputs = la->info.outputs;
    far_mat left = far_mat_view(a, x->rows, inputs, FAR_F64);
    far_mat right = far_mat_view((void *)inverse, inputs, side * outputs, FAR_F64);
    far_mat out = far_mat_view(w, x->rows, side * outputs, FAR_F64);
    far_status st = look(la, x, a, mean);
    st = st == FAR_OK ? far_multiply(la->ctx, &left, &right, &out) : st;
#pragma omp parallel for num_threads(far_ctx_threads(la->ctx)) schedule(static)
    for (int64_t i = 0; i < (st == FAR_OK ? x->rows : 0); i++) {
        square(w + i * side * outputs, side, outputs,
               far_mat_row(covariance, (first + i) * outputs), covariance->ld);
    }
    return st;
}

far_status far_last_covariance(const far_laplace *la, const far_posterior *posterior,
                               const far_mat *x, double *mean, far_mat *covariance)
{
    int64_t side = la->info.side, outputs = la->info.outputs, inputs = la->blocks[0].inputs;
    int64_t chunk = far_laplace_points(la, side, x->rows);
    double *inverse = NULL, *a = NULL, *w = NULL;
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(la->ctx, side * side, &inverse));
    FAR_TRY(far_alloc(la->ctx, chunk * inputs, &a));
    FAR_TRY(far_alloc(la->ctx, chunk * side * outputs, &w));
    FAR_TRY(make_inverse(la, posterior, inverse));
    for (int64_t first = 0; first < x->rows; first += chunk) {
        FAR_TRY(far_progress(la->ctx, "laplace", first, x->rows));
        far_mat part = far_mat_part(x, first, far_least(chunk, x->rows - first));
        far_progress_hold(la->ctx);
        st = spread_rows(la, inverse, &part, a, w, mean ? mean + first * outputs : NULL, covariance,
                         first);
        far_progress_release(la->ctx);
        FAR_TRY(st);
    }
    FAR_TRY(far_progress(la->ctx, "laplace", x->rows, x->rows));
done:
    FAR_FREE_ALL(la->ctx, inverse, a, w);
    return st;
}
