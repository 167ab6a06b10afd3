/* Training stopped early: gradient flow and gradient descent as filters of the spectrum. */
#include "regress_internal.h"

#include <math.h>

void far_filter_clear(far_filter *f)
{
    FAR_FREE_ALL(f->ctx, f->values, f->vectors, f->gain);
    *f = (far_filter){.ctx = f->ctx};
}

/* (1 - exp(-t rate)) / rate, also at rate 0. */
static double flow_gain(double rate, double time)
{
    double grown = rate * time;
    return grown < 1e-8 ? time * (1 - grown / 2) : -expm1(-grown) / rate;
}

/* (1 - (1 - eta rate)^steps) / rate, also at rate 0. */
static double descent_gain(double rate, double eta, int64_t steps)
{
    double shrink = eta * rate;
    if (shrink < 1) {
        return rate > 0 ? -expm1((double)steps * log1p(-shrink)) / rate : eta * (double)steps;
    }
    return (1 - pow(shrink - 1, (double)steps) * (steps % 2 ? -1 : 1)) / rate;
}

static far_status check_rate(far_ctx *ctx, const far_predict_opts *o, double largest)
{
    if (o->steps > 0 && !(o->rate * largest < 2)) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "gradient descent with rate %g diverges on this model; rates below %.6g "
                        "converge",
                        o->rate, 2 / largest);
    }
    return FAR_OK;
}

far_status far_filter_create(far_ctx *ctx, const far_model *m, const far_predict_opts *o,
                             far_filter *out)
{
    far_status st;
    int64_t n = m->info.rows;
    far_kernel_points points = {m->kernel, far_model_points(m), m->info.kernel, 0};
    far_symmetric matrix = far_kernel_points_matrix(&points);
    *out = (far_filter){.ctx = ctx, .n = n};
    FAR_TRY(far_alloc(ctx, n, &out->values));
    FAR_TRY(far_alloc(ctx, n, &out->gain));
    FAR_TRY(far_alloc(ctx, n * n, &out->vectors));
    far_mat values = far_mat_view(out->values, n, 1, FAR_F64);
    far_mat vectors = far_mat_view(out->vectors, n, n, FAR_F64);
    FAR_TRY(far_eigen(ctx, &matrix, FAR_EIGEN_SMALLEST, n, o->memory, &values, &vectors));
    FAR_TRY(check_rate(ctx, o, out->values[n - 1] + m->info.ridge));
    for (int64_t i = 0; i < n; i++) {
        double rate = fmax(out->values[i], 0) + m->info.ridge;
        out->gain[i] =
            o->steps > 0 ? descent_gain(rate, o->rate, o->steps) : flow_gain(rate, o->time);
    }
done:
    if (st != FAR_OK) {
        far_filter_clear(out);
    }
    return st;
}

static void transpose(const far_mat *a, double *out)
{
    for (int64_t i = 0; i < a->rows; i++) {
        const double *row = far_mat_row(a, i);
        for (int64_t j = 0; j < a->cols; j++) {
            out[j * a->rows + i] = row[j];
        }
    }
}

far_status far_filter_apply(const far_filter *f, const far_mat *b, far_mat *out)
{
    far_status st;
    int64_t n = f->n, p = b->cols;
    double *turned = NULL, *inner = NULL;
    FAR_TRY(far_alloc(f->ctx, n * p, &turned));
    FAR_TRY(far_alloc(f->ctx, n * p, &inner));
    far_mat vectors = far_mat_view(f->vectors, n, n, FAR_F64);
    far_mat flat = far_mat_view(turned, p, n, FAR_F64),
            product = far_mat_view(inner, p, n, FAR_F64);
    transpose(b, turned);
    FAR_TRY(far_multiply(f->ctx, &flat, &vectors, &product)); /* (V^T b)^T */
    for (int64_t i = 0; i < p * n; i++) {
        inner[i] *= f->gain[i % n];
    }
    transpose(&product, turned);
    far_mat filtered = far_mat_view(turned, n, p, FAR_F64);
    FAR_TRY(far_multiply(f->ctx, &vectors, &filtered, out));
done:
    far_free(f->ctx, turned);
    far_free(f->ctx, inner);
    return st;
}
