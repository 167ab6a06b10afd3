/*
 * Fitting a committee: the networks that were found to predict best together, and how good
 * and how sure their mean is.
 *
 * A row left out of every member is left out of their mean, so scores and intervals of the mean are
 * leave-one-out as those of its members are. Its standard deviation is the mean of the members'
 * times a width for each output: errors of a mean are at most as large as the members' on average,
 * and where members err in different places smaller.
 */
#include "predictor_internal.h"

#include <math.h>
#include <string.h>

/* The rows that all members left out: what their mean predicts, with what it is compared. */
typedef struct left_out {
    int64_t count;
    double *mean, *std, *y; /* count x outputs */
    int64_t *labels;        /* classes */
} left_out;

static void left_clear(far_ctx *ctx, left_out *l)
{
    FAR_FREE_ALL(ctx, l->mean, l->std, l->y, l->labels);
}

/* Members are fitted to the same rows of one table by one method, which leaves the same out. */
static bool is_left_out(far_model *const *models, int64_t count, int64_t k)
{
    bool all = true;
    for (int64_t m = 0; m < count; m++) {
        const far_tested *t = &models[m]->tested;
        all = all && t->count > k && t->rows[k] == models[0]->tested.rows[k];
    }
    return all;
}

static far_status left_make(far_ctx *ctx, far_model *const *models, int64_t count, left_out *out)
{
    far_status st;
    const far_tested *first = &models[0]->tested;
    int64_t n = first->count, p = models[0]->info.outputs;
    FAR_TRY(far_alloc(ctx, n * p, &out->mean));
    FAR_TRY(far_alloc(ctx, n * p, &out->std));
    FAR_TRY(far_alloc(ctx, n * p, &out->y));
    FAR_TRY(far_alloc(ctx, n, &out->labels));
    for (int64_t i = 0; i < n; i++) {
        if (!is_left_out(models, count, i)) {
            continue;
        }
        for (int64_t j = 0; j < p; j++) {
            int64_t to = out->count * p + j, from = i * p + j;
            for (int64_t m = 0; m < count; m++) {
                out->mean[to] += models[m]->tested.mean[from] / (double)count;
                out->std[to] += models[m]->tested.std[from] / (double)count;
            }
            out->y[to] = first->y[from];
        }
        out->count++;
    }
    far_class_labels(out->y, out->count, p, out->labels);
done:
    return st;
}

static far_status score(far_ctx *ctx, const left_out *l, int64_t p, bool classes,
                        far_committee_info *out)
{
    far_class_score c;
    far_regression_score r;
    far_mat mean = far_mat_view(l->mean, l->count, p, FAR_F64);
    far_mat y = far_mat_view(l->y, l->count, p, FAR_F64);
    far_status st = classes ? far_class_scores(ctx, &mean, l->labels, 0, &c)
                            : far_regression_scores(ctx, &mean, NULL, &y, &r);
    if (st == FAR_OK && classes) {
        out->loo_accuracy = c.accuracy;
        out->loo_log_loss = c.nll;
        out->loo_brier = c.brier;
        out->loo_ece = c.ece;
    } else if (st == FAR_OK) {
        out->loo_r2 = r.r2;
        out->loo_rmse = r.rmse;
    }
    out->loo_rows = l->count;
    return st;
}

/* By how much the mean of the members' standard deviations is to be multiplied: the conformal rule,
 * as for one model. sizes: room for a number a row. */
static double width_of(const left_out *l, int64_t p, int64_t j, double *sizes)
{
    double square = 0;
    for (int64_t i = 0; i < l->count; i++) {
        double std = l->std[i * p + j];
        sizes[i] = std > 0 ? fabs(l->y[i * p + j] - l->mean[i * p + j]) / std : 0;
        square += sizes[i] * sizes[i] / (double)l->count;
    }
    for (int64_t i = 0; square > 0 && i < l->count; i++) {
        sizes[i] /= sqrt(square);
    }
    double width = square > 0 ? sqrt(square) * far_widening(sizes, l->count) : 1;
    return width > 0 && isfinite(width) ? width : 1;
}

/* Of classes the members' own widths stand: what is left out of them are probabilities. */
static far_status measure(far_ctx *ctx, far_model *const *models, int64_t count,
                          far_predictor *committee)
{
    far_status st;
    left_out l = {0};
    double *sizes = NULL, *width = NULL;
    int64_t p = models[0]->info.outputs;
    bool classes = models[0]->info.task == FAR_TASK_CLASSIFY;
    far_committee_info info = far_committee_unknown();
    FAR_TRY(left_make(ctx, models, count, &l));
    FAR_TRY(far_alloc(ctx, l.count + 1, &sizes));
    FAR_TRY(far_alloc(ctx, p, &width));
    if (l.count > 0) {
        FAR_TRY(score(ctx, &l, p, classes, &info));
    }
    for (int64_t j = 0; j < p; j++) {
        width[j] = classes || l.count == 0 ? 1 : width_of(&l, p, j, sizes);
    }
    far_committee_take(committee, &info, width);
    width = NULL;
done:
    left_clear(ctx, &l);
    FAR_FREE_ALL(ctx, sizes, width);
    return st;
}

/* Models become predictors, which own them; those that have not when it fails stay. */
static far_status wrap_models(far_ctx *ctx, far_model **models, int64_t count,
                              far_predictor **members)
{
    far_status st = FAR_OK;
    for (int64_t i = 0; st == FAR_OK && i < count; i++) {
        far_model *m = models[i];
        models[i] = NULL;
        st = far_predictor_own(ctx, &far_infinite_ops, FAR_OK, m, &members[i]);
    }
    return st;
}

static far_status join(far_ctx *ctx, far_model **models, int64_t count, far_predictor **out)
{
    far_status st;
    far_predictor *members[FAR_MOST_MEMBERS] = {NULL}, *p = NULL;
    far_model *views[FAR_MOST_MEMBERS];
    memcpy(views, models, (size_t)count * sizeof *views);
    FAR_TRY(wrap_models(ctx, models, count, members));
    if (count > 1) {
        FAR_TRY(far_predictor_committee(ctx, members, count, &p));
        FAR_TRY(measure(ctx, views, count, p));
    }
done:
    for (int64_t i = p || (st == FAR_OK && count == 1) ? count : 0; i < count; i++) {
        far_predictor_destroy(members[i]);
    }
    *out = st != FAR_OK ? NULL : count > 1 ? p : members[0];
    if (st != FAR_OK) {
        far_predictor_destroy(p);
    }
    return st;
}

far_status far_predictor_fit(far_ctx *ctx, const far_frame *frame, const far_fit_opts *opts,
                             far_predictor **out)
{
    far_model **models = NULL;
    int64_t count = 0;
    if (!out) {
        return far_fail(ctx, FAR_ERR_ARG, "out is NULL");
    }
    *out = NULL;
    far_status st = far_models_fit(ctx, frame, opts, &models, &count);
    st = st == FAR_OK ? join(ctx, models, count, out) : st;
    for (int64_t i = 0; i < count; i++) {
        far_model_destroy(models[i]);
    }
    far_free(ctx, models);
    return st;
}
