/* What a model holds, and how to ask it. */
#include "regress_internal.h"

#include <math.h>

far_status far_model_new(far_ctx *ctx, far_model **out)
{
    far_status st = far_alloc(ctx, 1, out);
    if (st == FAR_OK) {
        **out = (far_model){.ctx = ctx,
                            .fold_loss = INFINITY,
                            .info = {.sealed = 1,
                                     .loo_r2 = NAN,
                                     .loo_rmse = NAN,
                                     .loo_accuracy = NAN,
                                     .loo_log_loss = NAN,
                                     .loo_brier = NAN,
                                     .loo_ece = NAN,
                                     .rmse_train = NAN,
                                     .accuracy_train = NAN,
                                     .log_loss_train = NAN,
                                     .temperature = NAN}};
    }
    return st;
}

void far_model_destroy(far_model *m)
{
    if (!m) {
        return;
    }
    far_ctx *ctx = m->ctx;
    far_kernel_destroy(m->kernel);
    far_columns_destroy(m->columns);
    far_metric_clear(ctx, &m->metric);
    far_metric_facts_clear(ctx, &m->facts);
    for (int64_t i = 0; i < m->candidate_count; i++) {
        far_free(ctx, (char *)m->candidates[i].arch);
    }
    FAR_FREE_ALL(ctx, m->tested.rows, m->tested.mean, m->tested.std, m->tested.y);
    void *owned[] = {m->arch, m->x,        m->y,   m->alpha,     m->alpha_low,
                     m->link, m->interval, m->loo, m->candidates};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) {
        far_free(ctx, owned[i]);
    }
    far_free(ctx, m);
}

static far_mat view(const double *data, int64_t rows, int64_t cols)
{
    return far_mat_view((void *)data, rows, cols, FAR_F64);
}

far_model_info far_model_describe(const far_model *m)
{
    far_model_info info = m->info;
    info.arch = m->arch;
    info.columns = m->columns;
    info.x = view(m->x, m->info.rows, m->info.inputs);
    info.metric = far_model_metric(m);
    info.y = far_model_targets(m);
    info.interval = far_mat_view(m->interval, m->interval ? m->info.outputs : 0, 2, FAR_F64);
    info.loo = far_mat_view(m->loo, m->loo ? m->info.rows : 0, m->info.outputs, FAR_F64);
    info.candidates = m->candidates;
    info.candidate_count = m->candidate_count;
    return info;
}

void far_model_summarize(far_model *m)
{
    const far_columns_info *c = &m->columns->info;
    m->info.inputs = c->inputs;
    m->info.outputs = c->outputs;
    m->info.targets = c->targets;
    m->info.task = c->task;
    m->info.impute = c->impute;
}

far_mat far_model_points(const far_model *m)
{
    return view(m->facts.points ? m->facts.points : m->x, m->info.rows, m->info.inputs);
}

far_mat far_model_targets(const far_model *m)
{
    return view(m->y, m->info.rows, m->info.outputs);
}

far_mat far_model_alpha(const far_model *m)
{
    return view(m->alpha, m->info.rows, m->info.outputs);
}
