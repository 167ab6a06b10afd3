/* How a network scores on a subset of the rows: closed forms from one factor. */
#include "../solve/solve_internal.h"
#include "select.h"

#include <math.h>
#include <string.h>

far_score far_score_worst(void)
{
    return (far_score){
        .loo = INFINITY, .log_loss = INFINITY, .likelihood = -INFINITY, .edge = INFINITY};
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

/* What is minimised, row by row: squared errors over the variance. */
void far_squared_losses(const double *miss, int64_t count, int64_t p, double spread, double *losses)
{
    for (int64_t i = 0; i < count; i++) {
        long double row = 0;
        for (int64_t j = i * p; j < (i + 1) * p; j++) {
            row += (long double)miss[j] * miss[j] / (long double)p;
        }
        losses[i] = spread > 0 ? (double)row / spread : 0;
    }
}

/* The same for classes: log losses of the rows of y, which the fit misses by so much. */
static far_status class_losses(const far_search *s, const double *y, const double *miss,
                               int64_t count, const double *link, double *losses)
{
    int64_t p = s->model->info.outputs;
    const double *centre = far_output_centre(s->model->columns);
    double *scores = NULL, floor = far_class_floor(s->rows);
    far_status st = far_alloc(s->ctx, 2 * p, &scores);
    for (int64_t i = 0; st == FAR_OK && i < count; i++) {
        int64_t label;
        double *probability = scores + p;
        for (int64_t c = 0; c < p; c++) {
            scores[c] = centre[c] + y[i * p + c] - miss[i * p + c];
        }
        far_class_labels(y + i * p, 1, p, &label);
        far_class_probability(link, floor, scores, p, probability);
        losses[i] = -log(probability[label]);
    }
    far_free(s->ctx, scores);
    return st;
}

/* How scores become probabilities, by the rows that were left out. */
static far_status learn_link(const far_search *s, const double *y, const far_left_out *l,
                             double *link)
{
    far_status st;
    int64_t p = l->outputs, *labels = NULL;
    const double *centre = far_output_centre(s->model->columns);
    double *scores = NULL;
    FAR_TRY(far_alloc(s->ctx, l->count, &labels));
    FAR_TRY(far_alloc(s->ctx, l->count * p, &scores));
    far_class_labels(y, l->count, p, labels);
    for (int64_t k = 0; k < l->count * p; k++) {
        scores[k] = centre[k % p] + y[k] - l->miss[k];
    }
    far_mat view = far_mat_view(scores, l->count, p, FAR_F64);
    FAR_TRY(far_class_calibrate(s->ctx, &view, labels, link));
done:
    far_free(s->ctx, labels);
    far_free(s->ctx, scores);
    return st;
}

far_status far_log_losses(const far_search *s, const double *y, const far_left_out *l,
                          const double *new_y, const double *new_miss, int64_t count,
                          double *losses)
{
    far_status st;
    double *link = NULL;
    FAR_TRY(far_alloc(s->ctx, l->outputs + 1, &link));
    FAR_TRY(learn_link(s, y, l, link));
    FAR_TRY(class_losses(s, new_y, new_miss, count, link, losses));
done:
    far_free(s->ctx, link);
    return st;
}

double far_mean(const double *values, int64_t count)
{
    long double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += values[i];
    }
    return (double)(sum / (long double)count);
}

/* Each output has the amplitude that makes it likeliest; those that are 0 everywhere have none. */
static double log_likelihood(const double *y, const double *alpha, int64_t m, int64_t p,
                             double log_det)
{
    double logs = 0;
    int64_t outputs = 0;
    for (int64_t j = 0; j < p; j++) {
        long double fit = 0;
        for (int64_t i = 0; i < m; i++) {
            fit += (long double)y[i * p + j] * alpha[i * p + j];
        }
        if (fit > 0) {
            logs += log((double)(fit / (long double)m));
            outputs++;
        }
    }
    return outputs == 0 ? INFINITY
                        : -0.5 * (logs / (double)outputs + log_det / (double)m + 1 + log(2 * M_PI));
}

/* alpha = A^-1 y, n x p, and beta = A^-1 1. */
static far_status solve_roughly(far_ctx *ctx, const far_system *system, const far_mat *y,
                                double *alpha, double *beta)
{
    int64_t n = y->rows, p = y->cols;
    double *room = NULL;
    far_status st;
    FAR_TRY(far_alloc(ctx, n * (p + 1), &room));
    for (int64_t i = 0; i < n; i++) {
        memcpy(room + i * (p + 1), far_mat_row(y, i), (size_t)p * sizeof *room);
        room[i * (p + 1) + p] = 1;
    }
    far_mat both = far_mat_view(room, n, p + 1, FAR_F64);
    FAR_TRY(far_system_solve_once(ctx, system, &both));
    for (int64_t i = 0; i < n; i++) {
        memcpy(alpha + i * p, room + i * (p + 1), (size_t)p * sizeof *room);
        beta[i] = room[i * (p + 1) + p];
    }
done:
    far_free(ctx, room);
    return st;
}

far_status far_score_left_out(const far_search *s, const far_system *system, const far_mat *y,
                              double *alpha, far_left_out *out)
{
    far_status st;
    double *beta = NULL;
    far_mat a = far_mat_view(alpha, y->rows, y->cols, FAR_F64);
    FAR_TRY(far_alloc(s->ctx, y->rows, &beta));
    FAR_TRY(solve_roughly(s->ctx, system, y, alpha, beta));
    FAR_TRY(
        far_left_out_from(s->ctx, system, y, &a, beta, far_model_centred(s->model), y->rows, out));
done:
    far_free(s->ctx, beta);
    return st;
}

static far_status score_system(const far_search *s, const far_system *system, int64_t m,
                               far_score *out)
{
    far_status st;
    far_left_out l = {0};
    int64_t p = s->model->info.outputs;
    double *alpha = NULL, *losses = NULL;
    far_score v = far_score_worst();
    FAR_TRY(far_alloc(s->ctx, m * p, &alpha));
    FAR_TRY(far_alloc(s->ctx, m, &losses));
    far_mat y = far_mat_view(s->y, m, p, FAR_F64);
    FAR_TRY(far_score_left_out(s, system, &y, alpha, &l));
    far_squared_losses(l.miss, m, p, far_target_variance(s->y, m, p), losses);
    v.loo = far_mean(losses + s->seen, m - s->seen);
    v.log_loss = NAN;
    if (s->model->info.task == FAR_TASK_CLASSIFY) {
        FAR_TRY(far_log_losses(s, s->y, &l, s->y, l.miss, m, losses));
        v.log_loss = far_mean(losses + s->seen, m - s->seen);
    }
    far_paired_gain(losses + s->seen, NULL, m - s->seen, &v.doubt);
    v.likelihood = log_likelihood(s->y, alpha, m, p, far_system_diagnostics(system).log_det);
    *out = v;
done:
    far_free(s->ctx, alpha);
    far_free(s->ctx, losses);
    far_left_out_clear(s->ctx, &l);
    return st;
}

far_solve_opts far_score_opts(const far_search *s, double ridge)
{
    far_solve_opts o;
    far_solve_opts_init(&o);
    o.ridge = ridge;
    o.extremes = 0;
    o.memory = s->memory;
    o.storage = FAR_STORAGE_PACKED; /* no residuals are asked for, so K itself is not kept */
    return o;
}

far_status far_search_progress(far_search *s)
{
    int64_t done = (*s->evals)++, expected = done < s->least_evals ? s->least_evals : done + 1;
    return far_progress(s->ctx, "choose", done, expected);
}

/* A matrix that is singular at this ridge scores worst. */
static far_status score_matrix(const far_search *s, const far_symmetric *matrix, double ridge,
                               far_score *out)
{
    far_status st;
    far_system *system = NULL;
    far_solve_opts o = far_score_opts(s, ridge);
    *out = far_score_worst();
    far_progress_hold(s->ctx);
    FAR_TRY(far_system_create(s->ctx, matrix, &o, &system));
    FAR_TRY(score_system(s, system, matrix->n, out));
done:
    far_progress_release(s->ctx);
    far_system_destroy(system);
    return st == FAR_ERR_SINGULAR ? FAR_OK : st;
}

far_status far_score_evaluate(far_search *s, const far_kernel *k, double ridge, int64_t rows,
                              far_score *out)
{
    far_kernel_points points = {k, far_mat_view(s->x, rows, s->model->info.inputs, FAR_F64),
                                s->model->info.kernel, 0};
    far_symmetric matrix = far_kernel_points_matrix(&points);
    *out = far_score_worst();
    far_status st = far_search_progress(s);
    return st == FAR_OK ? score_matrix(s, &matrix, ridge, out) : st;
}

far_status far_score_gram(far_search *s, const far_kernel *k, int64_t rows, double **out)
{
    far_mat x = far_mat_view(s->x, rows, s->model->info.inputs, FAR_F64);
    far_status st;
    FAR_TRY(far_search_progress(s));
    FAR_TRY(far_alloc(s->ctx, rows * rows, out));
    far_mat square = far_mat_view(*out, rows, rows, FAR_F64);
    far_progress_hold(s->ctx);
    st = far_kernel_eval_kind(s->ctx, k, s->model->info.kernel, &x, NULL, &square);
    far_progress_release(s->ctx);
done:
    return st;
}

far_status far_score_ridges(far_search *s, const far_kernel *k, const double *ridges, int64_t count,
                            int64_t rows, far_score *out)
{
    double *room = NULL;
    far_status st = far_score_gram(s, k, rows, &room);
    far_mat square = far_mat_view(room, rows, rows, FAR_F64);
    far_symmetric matrix = far_stored_matrix(&square);
    for (int64_t i = 0; st == FAR_OK && i < count; i++) {
        st = i == 0 ? FAR_OK : far_search_progress(s);
        st = st == FAR_OK ? score_matrix(s, &matrix, ridges[i], &out[i]) : st;
    }
    far_free(s->ctx, room);
    return st;
}
