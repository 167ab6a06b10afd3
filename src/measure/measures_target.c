/* Measures of a kernel and targets. */
#include "../net/loss.h"
#include "registry.h"

#include <math.h>

static far_status alignment_of(far_ctx *ctx, far_work *w)
{
    far_status st = FAR_OK;
    if (!w->has_alignment) {
        FAR_TRY(far_view_align(ctx, w->in->view, w->in->targets, &w->alignment));
        w->has_alignment = true;
    }
done:
    return st;
}

far_status far_measure_of_alignment(far_ctx *ctx, far_work *w, const far_measure *m, double *out)
{
    far_status st = alignment_of(ctx, w);
    *out = far_measure_field(m, &w->alignment);
    return st;
}

far_status far_measure_cka(far_ctx *ctx, far_work *w, const far_measure *m, double *out)
{
    int64_t n = w->in->view->info.rows;
    double *numbers = NULL;
    far_status st;
    FAR_TRY(far_check_matrix(ctx, w->in->targets, "targets", n, -1));
    FAR_TRY(far_alloc(ctx, n * n, &numbers));
    far_mat kernel = far_mat_view(numbers, n, n, FAR_F64);
    FAR_TRY(far_target_kernel(ctx, w->in->targets, m->argument[0], &kernel));
    FAR_TRY(far_view_cka(ctx, w->in->view, &kernel, out));
done:
    far_free(ctx, numbers);
    return st;
}

far_status far_measure_align(far_ctx *ctx, far_work *w, const far_measure *m, double *out)
{
    int64_t count = far_least(m->values, w->in->view->info.rows);
    for (int64_t i = count; i < m->values; i++) {
        out[i] = NAN;
    }
    return far_view_cosines(ctx, w->in->view, w->in->targets, count, out, NULL);
}

far_status far_measure_cumulative(far_ctx *ctx, far_work *w, const far_measure *m, double *out)
{
    int64_t count = far_least((int64_t)m->argument[0], w->in->view->info.rows);
    double *sums = NULL;
    far_status st;
    FAR_TRY(far_alloc(ctx, count, &sums));
    FAR_TRY(far_view_cosines(ctx, w->in->view, w->in->targets, count, NULL, sums));
    *out = sums[count - 1];
done:
    far_free(ctx, sums);
    return st;
}

far_status far_measure_kappa(far_ctx *ctx, far_work *w, const far_measure *m, double *out)
{
    int64_t n = w->in->view->info.rows;
    double *tails = NULL;
    far_spectrum s;
    far_power p;
    far_status st;
    FAR_TRY(far_view_spectrum(ctx, w->in->view, 0, 1, &s));
    FAR_TRY(far_power_check(ctx, &s, (int64_t)m->argument[1]));
    FAR_TRY(far_alloc(ctx, n, &tails));
    FAR_TRY(far_view_coefficients(ctx, w->in->view, w->in->targets, NULL, tails));
    far_tail_sums(tails, n, tails);
    FAR_TRY(far_power_fit(ctx, NULL, tails, n, trunc(m->argument[0]), trunc(m->argument[1]), &p));
    *out = p.exponent;
done:
    far_free(ctx, tails);
    return st;
}

/* Through losses: sqrt of L at the end over L at the start. */
far_status far_measure_residual(far_ctx *ctx, far_work *w, const far_measure *m, double *out)
{
    double times[2] = {0, INFINITY}, losses[2];
    far_spectral s;
    far_status st;
    far_spectral_init(&s);
    s.ridge = m->argument[0];
    FAR_TRY(
        far_spectral_loss(ctx, w->in->view, &s, w->in->targets, w->in->values, times, 2, losses));
    *out = losses[0] > 0 ? sqrt(losses[1] / losses[0]) : NAN;
done:
    return st;
}

/* What pulls at the outputs, -dL/df, a point's one behind the other: y - f of squares, y - p of
 * classes. loss: L, or the mean cross-entropy that training names. */
static far_status residual_of(far_ctx *ctx, const far_work *w, double **out, double *loss)
{
    const far_measure_input *in = w->in;
    const far_mat *y = in->targets, *f = in->values;
    int64_t points = in->view->info.points, count = y->rows * y->cols, outputs = count / points;
    bool squares = in->loss == FAR_LOSS_MSE || in->loss == FAR_LOSS_NONE;
    double *targets = NULL, *values = NULL;
    far_status st;
    *out = NULL;
    FAR_TRY(far_view_pack(ctx, in->view, y, "targets", &targets));
    FAR_TRY(far_check_matrix(ctx, f, "values", y->rows, y->cols));
    if (in->loss == FAR_LOSS_CE && outputs < 2) {
        FAR_TRY(far_fail(ctx, FAR_ERR_ARG,
                         "cross-entropy is of all outputs, not of one: take `outputs` full"));
    }
    FAR_TRY(far_view_pack(ctx, in->view, f, "values", &values));
    FAR_TRY(far_alloc(ctx, count, out));
    far_loss_rule rule = {squares ? FAR_LOSS_MSE : in->loss, FAR_F64, 1, outputs, false};
    double sum = far_loss_rows(&rule, values, targets, points, squares ? -0.5 : -1, *out);
    *loss = sum / (squares ? 2 * (double)points : far_loss_terms(&rule, points));
done:
    far_free(ctx, targets);
    far_free(ctx, values);
    return st;
}

far_status far_measure_loss(far_ctx *ctx, far_work *w, const far_measure *m, double *out)
{
    double *r = NULL;
    (void)m;
    far_status st = residual_of(ctx, w, &r, out);
    far_free(ctx, r);
    return st;
}

/* |sum over outputs c of r_ic g_ic|^2. */
static double squared_gradient(const far_view *v, const double *r, int64_t point)
{
    int64_t outputs = v->info.outputs, first = point * outputs;
    double sum = 0;
    for (int64_t a = first; a < first + outputs; a++) {
        sum += r[a] * far_dot(far_view_row(v, a) + first, r + first, outputs);
    }
    return sum;
}

far_status far_measure_sigma(far_ctx *ctx, far_work *w, const far_measure *m, double *out)
{
    const far_view *v = w->in->view;
    double *r = NULL, *product = NULL, mean = 0, points = (double)v->info.points, loss;
    far_status st;
    (void)m;
    FAR_TRY(far_check_matrix(ctx, w->in->targets, "targets", v->info.rows, 1));
    FAR_TRY(residual_of(ctx, w, &r, &loss));
    FAR_TRY(far_alloc(ctx, v->info.rows, &product));
    FAR_TRY(far_view_multiply(ctx, v, r, product));
    for (int64_t i = 0; i < v->info.points; i++) {
        mean += squared_gradient(v, r, i) / points;
    }
    *out = mean - far_dot(r, product, v->info.rows) / points / points;
done:
    far_free(ctx, r);
    far_free(ctx, product);
    return st;
}
