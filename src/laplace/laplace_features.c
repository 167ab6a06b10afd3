/*
 * Features phi(x) = J(x) V of points.
 *
 * From layer factors: a dense layer at one position has the derivative a d_c' of output c, so that
 * feature k is d_c' (V_k' a), V_k its part of the basis, in x out; a layer whose whole gradients
 * are kept has a product with them. That is C ways back and a product a layer, and the kernel of a
 * point with itself comes from the same factors. Or by K Jacobian-vector products, where outputs
 * are more than features.
 */
#include "laplace_internal.h"

#include <string.h>

enum { GROUP = 16 }; /* features at a time, side by side over threads */

/* Points on their way: their factors, and where their features go. */
typedef struct part {
    const far_laplace *la;
    int64_t points, side;
    double *z;  /* side rows of C numbers a point, */
    int64_t ld; /* so far apart */
} part;

static const far_step *step_of(const far_net *net, int64_t unit)
{
    const far_step *s = net->steps;
    while (s->unit != unit) {
        s++;
    }
    return s;
}

/* ---- layers -------------------------------------------------------------------------------- */

/* columns (count x side) = what is behind `first` in every row of the basis */
static void turn_basis(const part *p, int64_t first, int64_t count, double *columns)
{
    int64_t parameters = p->la->info.parameters;
#pragma omp parallel for num_threads(far_ctx_threads(p->la->ctx)) schedule(static)
    for (int64_t i = 0; i < count; i++) {
        for (int64_t k = 0; k < p->side; k++) {
            columns[i * p->side + k] = p->la->basis[k * parameters + first + i];
        }
    }
}

static void add_turned(const part *p, const double *product)
{
    int64_t cols = p->points * p->la->info.outputs;
#pragma omp parallel for num_threads(far_ctx_threads(p->la->ctx)) schedule(static)
    for (int64_t k = 0; k < p->side; k++) {
        for (int64_t i = 0; i < cols; i++) {
            p->z[k * p->ld + i] += product[i * p->side + k];
        }
    }
}

/* Of a layer whose whole gradients are there. */
static far_status add_whole(const part *p, const far_factor *f, const far_step *s)
{
    far_ctx *ctx = p->la->ctx;
    int64_t length = f->gradients.length, cols = p->points * p->la->info.outputs;
    double *columns = NULL, *numbers = NULL;
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(ctx, length * p->side, &columns));
    FAR_TRY(far_alloc(ctx, cols * p->side, &numbers));
    turn_basis(p, far_step_first(s), length, columns);
    far_mat gradients = far_mat_view(f->gradients.rows, cols, length, FAR_F64);
    far_mat basis = far_mat_view(columns, length, p->side, FAR_F64);
    far_mat product = far_mat_view(numbers, cols, p->side, FAR_F64);
    FAR_TRY(far_multiply(ctx, &gradients, &basis, &product));
    add_turned(p, numbers);
done:
    FAR_FREE_ALL(ctx, columns, numbers);
    return st;
}

/* z_k of point i, output c += d_ic' t, t = weight_scale t_i + bias_scale bias */
static void add_dots(const part *p, const far_factor *f, const far_step *s, const double *bias,
                     double *t, double *z)
{
    int64_t outputs = p->la->info.outputs, out = s->out;
#pragma omp parallel for num_threads(far_ctx_threads(p->la->ctx)) schedule(static)
    for (int64_t i = 0; i < p->points; i++) {
        const double *d = (const double *)f->gradients.rows + i * outputs * out;
        double *row = t + i * out;
        for (int64_t q = 0; q < out; q++) {
            row[q] = s->weight_scale * row[q] + (bias ? s->bias_scale * bias[q] : 0);
        }
        for (int64_t c = 0; c < outputs; c++) {
            z[i * outputs + c] += far_dot(d + c * out, row, out);
        }
    }
}

/* Features [first, first + count), at most GROUP; numbers: room for V_k' a of all points. */
static far_status add_group(const part *p, const far_factor *f, const far_step *s, int64_t first,
                            int64_t count, double *numbers)
{
    const far_laplace *la = p->la;
    far_mat in[GROUP], weights[GROUP], out[GROUP];
    const double *basis = la->basis + first * la->info.parameters;
    for (int64_t k = 0; k < count; k++) {
        const double *of_layer = basis + k * la->info.parameters + s->weight;
        in[k] = far_mat_view(f->inputs.rows, p->points, s->in, FAR_F64);
        in[k].ld = la->info.outputs * s->in; /* a row of inputs for each output, all the same */
        weights[k] = far_mat_view((void *)of_layer, s->in, s->out, FAR_F64);
        out[k] = far_mat_view(numbers + k * p->points * s->out, p->points, s->out, FAR_F64);
    }
    far_status st = far_multiply_all(la->ctx, in, weights, out, count);
    for (int64_t k = 0; st == FAR_OK && k < count; k++) {
        const double *bias = s->bias >= 0 ? basis + k * la->info.parameters + s->bias : NULL;
        add_dots(p, f, s, bias, out[k].data, p->z + (first + k) * p->ld);
    }
    return st;
}

static far_status add_dense(const part *p, const far_factor *f, const far_step *s)
{
    int64_t group = far_least(GROUP, p->side);
    double *numbers = NULL;
    far_status st = far_alloc(p->la->ctx, group * p->points * s->out, &numbers);
    for (int64_t k = 0; st == FAR_OK && k < p->side; k += group) {
        st = add_group(p, f, s, k, far_least(group, p->side - k), numbers);
    }
    far_free(p->la->ctx, numbers);
    return st;
}

static far_status add_layers(const part *p, const far_factors *f)
{
    int64_t cols = p->points * p->la->info.outputs;
    far_status st = FAR_OK;
    for (int64_t k = 0; k < p->side; k++) {
        memset(p->z + k * p->ld, 0, (size_t)cols * sizeof *p->z);
    }
    for (int64_t l = 0; st == FAR_OK && l < f->count; l++) {
        const far_step *s = step_of(p->la->net, f->items[l].unit);
        st = f->items[l].inputs.length > 0 ? add_dense(p, &f->items[l], s)
                                           : add_whole(p, &f->items[l], s);
    }
    return st;
}

/* ---- points -------------------------------------------------------------------------------- */

static far_status by_factors(const far_laplace *la, const far_mat *x, int64_t side, double *z,
                             double *kernel)
{
    int64_t outputs = la->info.outputs, chunk = far_laplace_factor_chunk(la, side, x->rows);
    far_tangent t = {0};
    far_factors f = {0};
    far_status st = FAR_OK;
    FAR_TRY(far_tangent_open(la->ctx, la->net, FAR_NTK_FULL, &t));
    for (int64_t first = 0; first < x->rows; first += chunk) {
        far_mat some = far_mat_part(x, first, far_least(chunk, x->rows - first));
        part p = {la, some.rows, side, z + first * outputs, x->rows * outputs};
        FAR_TRY(far_factors_create(la->ctx, &t.plan, &some, &f));
        FAR_TRY(add_layers(&p, &f));
        if (kernel) {
            far_factors_blocks(&f, outputs, kernel + first * outputs * outputs);
        }
    }
done:
    far_factors_clear(&f);
    far_tangent_close(&t);
    return st;
}

static far_status by_products(const far_laplace *la, const far_mat *x, int64_t side, double *z)
{
    int64_t outputs = la->info.outputs, parameters = la->info.parameters;
    double *direction = NULL;
    far_status st = far_alloc(la->ctx, parameters, &direction);
    far_mat v = far_mat_view(direction, 1, parameters, FAR_F64);
    for (int64_t k = 0; st == FAR_OK && k < side; k++) {
        far_mat out = far_mat_view(z + k * x->rows * outputs, x->rows, outputs, FAR_F64);
        far_net_unpack(la->net, FAR_F64, la->basis + k * parameters, direction);
        st = far_net_jvp(la->ctx, la->net, x, &v, NULL, &out);
    }
    far_free(la->ctx, direction);
    return st;
}

far_status far_features_project(const far_laplace *la, const far_mat *x, int64_t side, double *z,
                                double *kernel)
{
    return kernel || la->info.outputs <= side ? by_factors(la, x, side, z, kernel)
                                              : by_products(la, x, side, z);
}
