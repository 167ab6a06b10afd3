/* How a network scores on a subset of the rows: closed forms from one factor. */
#include "../solve/solve_internal.h"
#include "select.h"

#include <math.h>

far_score far_score_worst(void)
{
    return (far_score){INFINITY, -INFINITY, 0, INFINITY};
}

double far_target_variance(const double *y, int64_t m, int64_t p)
{
    long double about_mean = 0, about_zero = 0;
    for (int64_t j = 0; j < p; j++) {
        long double mean = 0;
        for (int64_t i = 0; i < m; i++) {
            mean += y[i * p + j] / (long double)m;
        }
        for (int64_t i = 0; i < m; i++) {
            about_mean += (y[i * p + j] - mean) * (y[i * p + j] - mean);
            about_zero += (long double)y[i * p + j] * y[i * p + j];
        }
    }
    return (double)((about_mean > 1e-24L * about_zero ? about_mean : about_zero) /
                    (long double)(m * p));
}

static far_score make_score(const double *y, const double *alpha, const double *inverse, int64_t m,
                            int64_t p, double log_det)
{
    long double error = 0, square = 0, fit = 0;
    for (int64_t i = 0; i < m; i++) {
        long double row = 0;
        for (int64_t j = 0; j < p; j++) {
            long double miss = alpha[i * p + j] / inverse[i];
            row += miss * miss / (long double)p;
            fit += (long double)y[i * p + j] * alpha[i * p + j];
        }
        error += row / (long double)m;
        square += row * row / (long double)m;
    }
    double spread = far_target_variance(y, m, p), amplitude = (double)(fit / (long double)(m * p));
    far_score s = {.likelihood = INFINITY, .edge = INFINITY};
    if (spread > 0) {
        s.loo = (double)error / spread;
        s.doubt = (double)sqrtl(fmaxl(square - error * error, 0) / (long double)m) / spread;
    }
    if (amplitude > 0) {
        s.likelihood = -0.5 * (log(amplitude) + log_det / (double)m + 1 + log(2 * M_PI));
    }
    return s;
}

static far_status score_system(far_ctx *ctx, const far_system *system, const double *y, int64_t m,
                               int64_t p, far_score *out)
{
    far_status st;
    double *alpha = NULL, *inverse = NULL;
    FAR_TRY(far_alloc(ctx, m * p, &alpha));
    FAR_TRY(far_alloc(ctx, m, &inverse));
    far_mat b = far_mat_view((void *)y, m, p, FAR_F64), a = far_mat_view(alpha, m, p, FAR_F64);
    far_mat diagonal = far_mat_view(inverse, m, 1, FAR_F64);
    FAR_TRY(far_system_solve(ctx, system, &b, &a, NULL, NULL));
    FAR_TRY(far_system_inverse_diagonal(ctx, system, &diagonal));
    *out = make_score(y, alpha, inverse, m, p, far_system_diagnostics(system).log_det);
done:
    far_free(ctx, alpha);
    far_free(ctx, inverse);
    return st;
}

far_status far_score_evaluate(far_search *s, const far_kernel *k, double ridge, int64_t rows,
                              far_score *out)
{
    far_status st;
    far_system *system = NULL;
    far_kernel_points points = {k, far_mat_view(s->x, rows, s->model->info.inputs, FAR_F64),
                                s->model->info.kernel, 0};
    far_symmetric matrix = far_kernel_points_matrix(&points);
    far_solve_opts o;
    far_solve_opts_init(&o);
    o.ridge = ridge;
    o.extremes = 0;
    o.memory = s->opts->memory;
    *out = far_score_worst();
    int64_t expected = s->evals < s->least_evals ? s->least_evals : s->evals + 1;
    st = far_progress(s->ctx, "choose", s->evals++, expected);
    if (st != FAR_OK) {
        return st;
    }
    far_progress_hold(s->ctx);
    FAR_TRY(far_system_create(s->ctx, &matrix, &o, &system));
    FAR_TRY(score_system(s->ctx, system, s->y, rows, s->model->info.outputs, out));
done:
    far_progress_release(s->ctx);
    far_system_destroy(system);
    return st == FAR_ERR_SINGULAR ? FAR_OK : st;
}
