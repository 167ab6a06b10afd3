/* One model on one split: fit, predict, certify. Only the fit depends on what the model is. */
#include "../predictor/predictor_internal.h"
#include "compare_internal.h"

#include <farfield/train.h>
#include <math.h>
#include <string.h>

typedef struct bout {
    far_ctx *ctx;
    const far_arena *arena;
    const far_split *split;
    const far_rival *rival;
    far_compare_run *run;
} bout;

void far_run_clear(far_ctx *ctx, far_compare_run *run)
{
    FAR_FREE_ALL(ctx, (char *)run->message, (char *)run->arch, (double *)run->prediction);
    *run = (far_compare_run){0};
}

void far_judgement_clear(far_ctx *ctx, far_judgement *j)
{
    far_certificate_destroy(j->certificate);
    far_free(ctx, j->reason);
    *j = (far_judgement){0};
}

const far_bound *far_judgement_bound(const far_judgement *j)
{
    return j->certificate ? &j->certificate->bounds[j->output] : NULL;
}

bool far_bound_is_worse(const far_bound *b, const far_bound *than)
{
    int badness = far_verdict_badness(b ? b->verdict : FAR_UNDECIDED);
    int least = far_verdict_badness(than ? than->verdict : FAR_UNDECIDED);
    return badness > least || (badness == least && b && than && b->tightest > than->tightest);
}

static far_status copy(far_ctx *ctx, const char *text, char **out)
{
    return far_copy_text(ctx, text, (int64_t)strlen(text), out);
}

/* ---- fitting ------------------------------------------------------------------------------- */

static far_status fit_infinite(const bout *b, far_predictor **out)
{
    far_fit_opts opts = *b->arena->opts->fit;
    opts.arch = b->rival->arch;
    opts.features = b->arena->features;
    opts.rows = b->split->train;
    opts.task = b->arena->classes > 0 ? FAR_TASK_CLASSIFY : FAR_TASK_REGRESS;
    opts.seed = b->split->seed;
    opts.extremes = 0; /* no bound that is reported needs them */
    return far_predictor_fit(b->ctx, b->arena->frame, &opts, out);
}

static far_status train(const bout *b, const far_examples *e, far_net *net)
{
    far_train_opts opts;
    far_train_opts_init(&opts);
    opts.seed = b->split->seed;
    opts.epochs = b->arena->opts->epochs;
    opts.loss = e->columns->info.loss;
    far_mat x = e->inputs, y = e->targets;
    return far_net_train(b->ctx, net, &x, &y, &opts, NULL);
}

static far_status fit_finite(const bout *b, far_predictor **out)
{
    far_status st;
    far_net *net = NULL;
    far_net_opts how;
    far_examples *e = NULL;
    far_columns_opts columns = far_arena_columns(b->arena, b->split->train);
    columns.loss = b->arena->classes > 0 ? FAR_LOSS_CE : FAR_LOSS_MSE;
    columns.arch = b->rival->arch;
    FAR_TRY(far_examples_learn(b->ctx, b->arena->frame, &columns, &e));
    far_net_opts_init(&how);
    how.inputs = e->columns->info.inputs;
    how.outputs = e->columns->info.outputs;
    how.seed = b->split->seed;
    FAR_TRY(far_net_create(b->ctx, b->rival->arch, &how, &net));
    FAR_TRY(far_net_set_columns(b->ctx, net, e->columns));
    FAR_TRY(train(b, e, net));
done:
    far_examples_destroy(e);
    return far_predictor_own(b->ctx, &far_finite_ops, st, net, out);
}

static far_status fit(const bout *b, far_predictor **out)
{
    const far_frame *frame = b->arena->frame;
    far_columns_opts columns = far_arena_columns(b->arena, b->split->train);
    switch (b->rival->kind) {
    case FAR_RIVAL_NETWORK:
        return fit_infinite(b, out);
    case FAR_RIVAL_FINITE:
        return fit_finite(b, out);
    case FAR_RIVAL_XGBOOST:
        return far_predictor_fit_trees(b->ctx, frame, &columns, b->arena->opts->rounds,
                                       b->split->seed, out);
    case FAR_RIVAL_LINEAR:
        return far_predictor_fit_linear(b->ctx, frame, &columns, NAN, out);
    case FAR_RIVAL_MEAN:
        return far_predictor_fit_linear(b->ctx, frame, &columns, INFINITY, out);
    case FAR_RIVAL_FILE:
        *out = NULL; /* it was fitted elsewhere */
        return FAR_OK;
    }
    return far_fail(b->ctx, FAR_ERR_ARG, "unknown kind of model");
}

/* ---- asking -------------------------------------------------------------------------------- */

/* Whether what it predicts is what is compared. */
static far_status check_outputs(const bout *b, const far_predictor *p)
{
    const far_columns *c = far_predictor_columns(p), *own = b->arena->columns;
    bool same =
        c->info.classes == b->arena->classes && (c->info.classes > 0 || c->info.outputs == 1);
    for (int64_t k = 0; same && k < c->info.classes; k++) {
        same = strcmp(c->classes[k], own->classes[k]) == 0;
    }
    return same ? FAR_OK
                : far_fail(b->ctx, FAR_ERR_SHAPE, "it has %lld outputs%s; %s compared",
                           (long long)c->info.outputs, c->info.classes > 0 ? " for classes" : "",
                           b->arena->classes > 0 ? "classes with the names of the table's are"
                                                 : "one number for each row is");
}

/* Folds ask for intervals, which models of infinite width have. */
static bool has_spread(const bout *b, const far_predictor *p)
{
    return b->arena->folds && b->arena->classes == 0 &&
           far_predictor_describe(p).kind == FAR_PREDICTOR_INFINITE;
}

static void keep_prediction(const bout *b, const far_prediction *made)
{
    far_mat mean = made->mean;
    double *to = (double *)b->run->prediction;
    for (int64_t i = 0; i < b->split->m; i++) {
        to[i] = b->arena->classes > 0 ? (double)made->classes[i]
                                      : *(const double *)far_mat_row(&mean, i);
    }
}

static far_status predict(const bout *b, const far_predictor *p)
{
    far_status st;
    far_prediction *made = NULL;
    far_predict_opts opts;
    far_predict_opts_init(&opts);
    opts.rows = b->split->test;
    opts.memory = b->arena->opts->fit->memory;
    opts.spread = has_spread(b, p) ? FAR_SPREAD_CALIBRATED : FAR_SPREAD_NONE;
    FAR_TRY(check_outputs(b, p));
    FAR_TRY(far_predictor_predict(b->ctx, p, b->arena->frame, &opts, &made));
    keep_prediction(b, made);
    far_mat probability = made->probability, std = made->std;
    FAR_TRY(far_run_score(b->ctx, b->split, probability.rows > 0 ? &probability : NULL,
                          std.rows > 0 ? &std : NULL, b->run));
done:
    far_prediction_destroy(made);
    return st;
}

/* A certificate that fails leaves the predictions as they are. */
static far_status certify(const bout *b, const far_predictor *p, far_judgement *out)
{
    far_certify_opts opts;
    far_certify_opts_init(&opts);
    opts.seed = b->split->seed;
    opts.seconds = b->arena->opts->certify_seconds / (double)b->arena->seeds;
    out->seed = b->split->seed;
    far_status st = far_predictor_certify(b->ctx, p, &opts, &out->certificate);
    if (st == FAR_ERR_CANCELLED || st == FAR_ERR_MEMORY) {
        return st;
    }
    for (int64_t k = 1; st == FAR_OK && k < out->certificate->info.outputs; k++) {
        bool worse = far_bound_is_worse(&out->certificate->bounds[k], far_judgement_bound(out));
        out->output = worse ? k : out->output;
    }
    return copy(b->ctx, st == FAR_OK ? far_judgement_bound(out)->theorem : far_ctx_message(b->ctx),
                &out->reason);
}

static far_metric_kind metric_of(const far_predictor *p)
{
    const far_predictor *first = far_predictor_member(p, 0);
    const far_model_info *model = far_predictor_model(first ? first : p);
    return model ? model->metric.kind : FAR_METRIC_NONE;
}

static far_status run_rival(const bout *b, far_judgement *judgement)
{
    far_status st;
    far_predictor *fitted = NULL;
    double start = far_seconds();
    FAR_TRY(fit(b, &fitted));
    const far_predictor *p = fitted ? fitted : b->rival->file;
    far_predictor_info info = far_predictor_describe(p);
    double asked = far_seconds();
    b->run->seconds_fit = asked - start;
    b->run->ridge = isfinite(info.ridge) ? info.ridge : NAN;
    b->run->metric = metric_of(p);
    if (info.arch) {
        FAR_TRY(copy(b->ctx, info.arch, (char **)&b->run->arch));
    }
    FAR_TRY(predict(b, p));
    b->run->seconds_predict = far_seconds() - asked;
    if (judgement) {
        FAR_TRY(certify(b, p, judgement));
    }
done:
    far_predictor_destroy(fitted);
    return st;
}

/* ---- the whole ----------------------------------------------------------------------------- */

static void blank_run(uint64_t seed, far_compare_run *run)
{
    *run = (far_compare_run){.seed = seed,
                             .ridge = NAN,
                             .r2_in = NAN,
                             .r2_out = NAN,
                             .rmse_in = NAN,
                             .rmse_out = NAN,
                             .max_in = NAN,
                             .max_out = NAN,
                             .seconds_fit = NAN,
                             .seconds_predict = NAN};
    for (int i = 0; i < FAR_COMPARE_SCORES; i++) {
        run->in[i] = run->out[i] = NAN;
    }
}

static far_status keep_failure(const bout *b, far_status status, far_judgement *judgement)
{
    uint64_t seed = b->run->seed;
    far_run_clear(b->ctx, b->run);
    blank_run(seed, b->run);
    if (judgement) {
        far_judgement_clear(b->ctx, judgement);
    }
    b->run->status = status;
    return copy(b->ctx, far_ctx_message(b->ctx), (char **)&b->run->message);
}

far_status far_rival_fit(const far_arena *a, const far_split *s, const far_rival *r,
                         far_compare_run *run, far_judgement *judgement)
{
    bout b = {a->ctx, a, s, r, run};
    blank_run(s->seed, run);
    far_status st = far_alloc(a->ctx, s->m, (double **)&run->prediction);
    st = st == FAR_OK ? run_rival(&b, judgement) : st;
    return st == FAR_OK || st == FAR_ERR_CANCELLED ? st : keep_failure(&b, st, judgement);
}
