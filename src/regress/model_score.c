/* How good a fit is on rows that it did not see, and what that makes of its probabilities and
 * intervals. */
#include "regress_internal.h"

#include <math.h>
#include <string.h>

enum { ALL_ROWS = 4000, SAMPLED_ROWS = 2000 }; /* of more rows than the former only the latter */

int64_t far_model_centred(const far_model *m)
{
    bool learnt = m->info.standardize || m->info.task == FAR_TASK_CLASSIFY;
    return learnt ? m->info.rows : 0;
}

void far_class_labels(const double *y, int64_t n, int64_t p, int64_t *out)
{
    for (int64_t i = 0; i < n; i++) {
        out[i] = 0;
        for (int64_t c = 1; c < p; c++) {
            out[i] = y[i * p + c] > y[i * p + out[i]] ? c : out[i];
        }
    }
}

/* Rows side by side: the truth and what was predicted, in target units. */
typedef struct scored {
    far_mat mean, y;
    int64_t *labels; /* classes */
} scored;

/* Rows of the model (NULL: all) that are missed by so much, in the units of the fit. */
typedef struct missed {
    const int64_t *rows;
    int64_t count;
    const double *miss;
} missed;

static far_status scored_make(far_ctx *ctx, const far_model *m, const missed *l, scored *out)
{
    far_status st;
    int64_t p = m->info.outputs;
    const double *centre = far_output_centre(m->columns), *scale = far_output_scale(m->columns);
    double *room = NULL;
    FAR_TRY(far_alloc(ctx, 2 * l->count * p, &room));
    out->mean = far_mat_view(room, l->count, p, FAR_F64);
    out->y = far_mat_view(room + l->count * p, l->count, p, FAR_F64);
    FAR_TRY(far_alloc(ctx, l->count, &out->labels));
    for (int64_t k = 0; k < l->count * p; k++) {
        int64_t i = l->rows ? l->rows[k / p] : k / p, j = k % p;
        double y = m->y[i * p + j];
        ((double *)out->mean.data)[k] = centre[j] + scale[j] * (y - l->miss[k]);
        ((double *)out->y.data)[k] = centre[j] + scale[j] * y;
    }
    far_class_labels(out->y.data, l->count, p, out->labels);
done:
    return st;
}

/* The fit at all its rows. */
static far_status scored_fit(far_ctx *ctx, const far_model *m, const far_left_out *l, scored *out)
{
    far_status st;
    int64_t count = m->info.rows * m->info.outputs;
    double *miss = NULL;
    FAR_TRY(far_alloc(ctx, count, &miss));
    for (int64_t k = 0; k < count; k++) {
        miss[k] = l->fitted ? l->fitted[k] : m->info.ridge * m->alpha[k];
    }
    FAR_TRY(scored_make(ctx, m, &(missed){NULL, m->info.rows, miss}, out));
done:
    far_free(ctx, miss);
    return st;
}

static void scored_free(far_ctx *ctx, scored *s)
{
    far_free(ctx, s->mean.data);
    far_free(ctx, s->labels);
}

/* Scores of classes become probabilities in place. */
static void soften_rows(const far_model *m, scored *s)
{
    int64_t p = m->info.outputs;
    double floor = far_class_floor(m->info.rows), *room = s->y.data; /* the truth is in labels */
    for (int64_t k = 0; k < s->mean.rows; k++) {
        double *row = far_mat_row(&s->mean, k);
        far_class_probability(m->link, floor, row, p, room);
        memcpy(row, room, (size_t)p * sizeof *row);
    }
}

static far_status score_classes(far_ctx *ctx, far_model *m, scored *left, scored *fitted)
{
    far_status st;
    far_class_score out, in;
    FAR_TRY(far_alloc(ctx, m->info.outputs + 1, &m->link));
    FAR_TRY(far_class_calibrate(ctx, &left->mean, left->labels, m->link));
    soften_rows(m, left);
    soften_rows(m, fitted);
    FAR_TRY(far_class_scores(ctx, &left->mean, left->labels, 0, &out));
    FAR_TRY(far_class_scores(ctx, &fitted->mean, fitted->labels, 0, &in));
    m->info.temperature = m->link[0];
    m->info.loo_accuracy = out.accuracy;
    m->info.loo_log_loss = out.nll;
    m->info.loo_brier = out.brier;
    m->info.loo_ece = out.ece;
    m->info.accuracy_train = in.accuracy;
    m->info.log_loss_train = in.nll;
done:
    return st;
}

static far_status score_numbers(far_ctx *ctx, far_model *m, const scored *left,
                                const scored *fitted)
{
    far_status st;
    far_regression_score out, in;
    FAR_TRY(far_regression_scores(ctx, &left->mean, NULL, &left->y, &out));
    FAR_TRY(far_regression_scores(ctx, &fitted->mean, NULL, &fitted->y, &in));
    m->info.loo_r2 = out.r2;
    m->info.loo_rmse = out.rmse;
    m->info.rmse_train = in.rmse;
done:
    return st;
}

static far_status fit_intervals(far_ctx *ctx, const far_left_out *l, far_model *m)
{
    far_status st = far_alloc(ctx, m->info.outputs, &m->interval);
    for (int64_t j = 0; st == FAR_OK && j < m->info.outputs; j++) {
        far_errors e = {l->miss + j, l->variance, l->count, l->outputs};
        st = far_band_fit(ctx, &e, m->info.ridge, m->info.mean_diagonal, &m->interval[j]);
    }
    return st;
}

static far_status keep_predictions(far_ctx *ctx, const far_left_out *l, const scored *left,
                                   far_model *m)
{
    int64_t p = m->info.outputs;
    far_status st = far_alloc(ctx, m->info.rows * p, &m->loo);
    for (int64_t k = 0; st == FAR_OK && k < m->info.rows * p; k++) {
        m->loo[k] = NAN;
    }
    for (int64_t k = 0; st == FAR_OK && k < l->count; k++) {
        memcpy(m->loo + l->rows[k] * p, far_mat_row(&left->mean, k), (size_t)p * sizeof *m->loo);
    }
    return st;
}

/* With how sure each of these predictions is, as spread.c says of new rows. */
static far_status keep_tested(far_ctx *ctx, const far_left_out *l, const scored *left, far_model *m)
{
    far_status st;
    int64_t p = m->info.outputs;
    const double *centre = far_output_centre(m->columns), *scale = far_output_scale(m->columns);
    far_tested *t = &m->tested;
    FAR_TRY(far_alloc(ctx, l->count, &t->rows));
    FAR_TRY(far_alloc(ctx, l->count * p, &t->mean));
    FAR_TRY(far_alloc(ctx, l->count * p, &t->std));
    FAR_TRY(far_alloc(ctx, l->count * p, &t->y));
    memcpy(t->rows, l->rows, (size_t)l->count * sizeof *t->rows);
    for (int64_t k = 0; k < l->count; k++) {
        double v = fmax(l->variance[k] - m->info.ridge, 0);
        for (int64_t j = 0; j < p; j++) {
            far_band band = m->interval[j];
            t->std[k * p + j] = scale[j] * (band.size * sqrt(v + band.noise));
            t->y[k * p + j] = centre[j] + scale[j] * m->y[l->rows[k] * p + j];
        }
        memcpy(t->mean + k * p, far_mat_row(&left->mean, k), (size_t)p * sizeof *t->mean);
    }
    t->count = l->count;
done:
    return st;
}

far_status far_model_score_rows(far_ctx *ctx, far_left_out *l, far_model *m)
{
    far_status st;
    scored left = {0}, fitted = {0};
    for (int64_t k = 0; m->optimism > 1 && k < l->count * l->outputs; k++) {
        l->miss[k] *= sqrt(m->optimism); /* rows had their say in the metric */
    }
    FAR_TRY(scored_make(ctx, m, &(missed){l->rows, l->count, l->miss}, &left));
    FAR_TRY(scored_fit(ctx, m, l, &fitted));
    m->info.loo_rows = l->count;
    FAR_TRY(m->info.task == FAR_TASK_CLASSIFY ? score_classes(ctx, m, &left, &fitted)
                                              : score_numbers(ctx, m, &left, &fitted));
    FAR_TRY(fit_intervals(ctx, l, m));
    FAR_TRY(keep_predictions(ctx, l, &left, m));
    FAR_TRY(keep_tested(ctx, l, &left, m));
done:
    scored_free(ctx, &left);
    scored_free(ctx, &fitted);
    return st;
}

far_status far_model_score(far_ctx *ctx, const far_system *s, far_model *m)
{
    far_left_out l = {0};
    int64_t most = m->info.rows <= ALL_ROWS ? ALL_ROWS : SAMPLED_ROWS;
    far_mat y = far_model_targets(m), alpha = far_model_alpha(m);
    far_status st = far_left_out_find(ctx, s, &y, &alpha, far_model_centred(m), most, &l);
    st = st == FAR_OK ? far_model_score_rows(ctx, &l, m) : st;
    far_left_out_clear(ctx, &l);
    return st;
}
