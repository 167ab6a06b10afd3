/* One model on one split: fit, predict, and what is known of it far away. */
#include "compare_internal.h"

#include <farfield/baseline.h>
#include <farfield/certify.h>
#include <math.h>
#include <string.h>

typedef struct bout {
    far_ctx *ctx;
    const far_arena *arena;
    const far_split *split;
    const far_rival *rival;
    far_compare_run *run;
    far_compare_verdict *verdict; /* NULL: none is wanted */
    double *prediction;           /* run->prediction */
} bout;

void far_run_clear(far_ctx *ctx, far_compare_run *run)
{
    far_free(ctx, (char *)run->message);
    far_free(ctx, (char *)run->arch);
    far_free(ctx, (double *)run->prediction);
    *run = (far_compare_run){0};
}

void far_verdict_clear(far_ctx *ctx, far_compare_verdict *v)
{
    far_texts_free(ctx, (char **)v->input, v->input_count);
    far_free(ctx, (char *)v->reason);
    far_free(ctx, (double *)v->direction);
    *v = (far_compare_verdict){0};
}

static far_status copy(far_ctx *ctx, const char *text, const char **out)
{
    return far_copy_text(ctx, text, (int64_t)strlen(text), (char **)out);
}

/* ---- verdicts ------------------------------------------------------------------------------ */

static far_status decide(const bout *b, int32_t bounded, double tightest, const char *reason)
{
    far_compare_verdict *v = b->verdict;
    v->known = 1;
    v->bounded = bounded;
    v->tightest = tightest;
    return copy(b->ctx, reason, &v->reason);
}

/* The direction and the names of its inputs. */
static far_status point_away(const bout *b, const double *direction, int64_t count,
                             char *const *names)
{
    far_status st;
    far_compare_verdict *v = b->verdict;
    double *values = NULL;
    const char **texts = NULL;
    FAR_TRY(far_alloc(b->ctx, count, &values));
    v->direction = values;
    memcpy(values, direction, (size_t)count * sizeof *values);
    FAR_TRY(far_alloc(b->ctx, count, &texts));
    v->input = texts;
    for (; v->input_count < count; v->input_count++) {
        FAR_TRY(copy(b->ctx, names[v->input_count], &texts[v->input_count]));
    }
done:
    return st;
}

static far_status keep_bound(const bout *b, const far_model *m, const far_bound *bound)
{
    bool bounded = bound->verdict == FAR_BOUNDED;
    if (bound->verdict == FAR_UNDECIDED) {
        return copy(b->ctx, bound->theorem, &b->verdict->reason);
    }
    far_status st = decide(b, bounded, bound->tightest, bound->theorem);
    if (st != FAR_OK || bounded) {
        b->verdict->sup_found = bound->sup_found;
        return st;
    }
    b->verdict->slope = bound->slope;
    b->verdict->order = bound->order;
    return point_away(b, bound->direction, m->info.inputs, m->columns->inputs);
}

/* A certificate that fails leaves the predictions as they are. */
static far_status certify(const bout *b, const far_model *m)
{
    far_certificate *c = NULL;
    far_certify_opts opts;
    far_certify_opts_init(&opts);
    opts.seed = b->split->seed;
    opts.seconds = b->arena->opts->certify_seconds / (double)b->arena->seeds;
    far_status st = far_certify(b->ctx, m, &opts, &c);
    if (st == FAR_OK) {
        st = keep_bound(b, m, far_certificate_bound(c, 0));
    } else if (st != FAR_ERR_CANCELLED) {
        st = copy(b->ctx, far_ctx_message(b->ctx), &b->verdict->reason);
    }
    far_certificate_destroy(c);
    return st;
}

/* ---- networks ------------------------------------------------------------------------------ */

static far_status fit_network(const bout *b, far_model **out)
{
    far_fit_opts opts = *b->arena->opts->fit;
    opts.arch = b->rival->arch;
    opts.rows = b->split->train;
    opts.task = FAR_TASK_REGRESS;
    opts.seed = b->split->seed;
    opts.extremes = 0; /* no bound that is reported needs them */
    return far_model_fit(b->ctx, b->arena->frame, &opts, out);
}

static far_status predict_network(const bout *b, const far_model *m)
{
    far_prediction *p = NULL;
    far_predict_opts opts;
    far_predict_opts_init(&opts);
    opts.rows = b->split->test;
    opts.memory = b->arena->opts->fit->memory;
    far_status st = far_model_predict(b->ctx, m, b->arena->frame, &opts, &p);
    if (st == FAR_OK) {
        far_mat mean = far_prediction_mean(p);
        memcpy(b->prediction, mean.data, (size_t)b->split->m * sizeof *b->prediction);
    }
    far_prediction_destroy(p);
    return st;
}

static far_status run_network(const bout *b)
{
    far_status st;
    far_model *m = NULL;
    double start = far_seconds();
    FAR_TRY(fit_network(b, &m));
    double fitted = far_seconds();
    b->run->seconds_fit = fitted - start;
    b->run->ridge = m->info.ridge_relative;
    FAR_TRY(copy(b->ctx, m->arch, &b->run->arch));
    FAR_TRY(predict_network(b, m));
    b->run->seconds_predict = far_seconds() - fitted;
    if (b->verdict) {
        FAR_TRY(certify(b, m));
    }
done:
    far_model_destroy(m);
    return st;
}

/* ---- trees --------------------------------------------------------------------------------- */

static far_status run_xgboost(const bout *b)
{
    const far_split *s = b->split;
    far_mat x = far_mat_view(s->x, s->n, s->columns->info.inputs, FAR_F64);
    far_mat y = far_mat_view(s->y, s->n, 1, FAR_F64);
    far_mat xt = far_mat_view(s->xt, s->m, s->columns->info.inputs, FAR_F64);
    far_mat out = far_mat_view(b->prediction, s->m, 1, FAR_F64);
    double start = far_seconds();
    far_status st = far_xgboost_predict(b->ctx, &x, &y, &xt, b->arena->opts->rounds, s->seed, &out);
    b->run->seconds_fit = far_seconds() - start;
    return st == FAR_OK && b->verdict
               ? decide(b, 1, NAN, "a sum of trees is constant in each of finitely many boxes")
               : st;
}

/* ---- the linear model ---------------------------------------------------------------------- */

/* Two points for each input, one standard deviation to either side of the training rows' mean. */
static void place_probes(const far_split *s, double *step, double *probes)
{
    int64_t w = s->columns->info.inputs;
    for (int64_t j = 0; j < w; j++) {
        long double mean = 0, square = 0;
        for (int64_t i = 0; i < s->n; i++) {
            mean += s->x[i * w + j] / (long double)s->n;
        }
        for (int64_t i = 0; i < s->n; i++) {
            long double off = s->x[i * w + j] - mean;
            square += off * off / (long double)s->n;
        }
        step[j] = square > 0 ? (double)sqrtl(square) : 1;
        for (int64_t i = 0; i < 2 * w; i++) {
            probes[i * w + j] = (double)mean + (i == 2 * j       ? step[j]
                                                : i == 2 * j + 1 ? -step[j]
                                                                 : 0);
        }
    }
}

/* It runs away along every input with a coefficient; the one that counts most is shown. */
static far_status decide_linear(const bout *b, const double *step, const double *at_probes,
                                double *direction)
{
    const far_columns *c = b->split->columns;
    int64_t steepest = 0;
    double most = 0;
    for (int64_t j = 0; j < c->info.inputs; j++) {
        double rise = fabs(at_probes[2 * j] - at_probes[2 * j + 1]);
        direction[j] = 0;
        steepest = rise > most ? j : steepest;
        most = fmax(most, rise);
    }
    if (most == 0) {
        return decide(b, 1, fabs(at_probes[0]), "every coefficient is 0");
    }
    far_status st = decide(b, 0, INFINITY, "a coefficient is not 0");
    direction[steepest] = 1;
    b->verdict->order = 1;
    b->verdict->slope =
        (at_probes[2 * steepest] - at_probes[2 * steepest + 1]) / (2 * step[steepest]);
    return st == FAR_OK ? point_away(b, direction, c->info.inputs, c->inputs) : st;
}

/* The probes stand behind the rows to predict. */
static far_status run_linear(const bout *b)
{
    far_status st;
    const far_split *s = b->split;
    int64_t w = s->columns->info.inputs, probes = b->verdict ? 2 * w : 0, rows = s->m + probes;
    double *points = NULL, *values = NULL, *step = NULL;
    FAR_TRY(far_alloc(b->ctx, rows * w, &points));
    FAR_TRY(far_alloc(b->ctx, rows, &values));
    FAR_TRY(far_alloc(b->ctx, 2 * w, &step));
    memcpy(points, s->xt, (size_t)(s->m * w) * sizeof *points);
    if (b->verdict) {
        place_probes(s, step, points + s->m * w);
    }
    far_mat x = far_mat_view(s->x, s->n, w, FAR_F64), y = far_mat_view(s->y, s->n, 1, FAR_F64);
    far_mat xt = far_mat_view(points, rows, w, FAR_F64);
    far_mat out = far_mat_view(values, rows, 1, FAR_F64);
    double start = far_seconds();
    FAR_TRY(far_linear_predict(b->ctx, &x, &y, &xt, &b->run->ridge, &out));
    b->run->seconds_fit = far_seconds() - start;
    memcpy(b->prediction, values, (size_t)s->m * sizeof *values);
    if (b->verdict) {
        FAR_TRY(decide_linear(b, step, values + s->m, step + w));
    }
done:
    far_free(b->ctx, points);
    far_free(b->ctx, values);
    far_free(b->ctx, step);
    return st;
}

/* ---- the mean ------------------------------------------------------------------------------ */

static far_status run_mean(const bout *b)
{
    const far_split *s = b->split;
    long double sum = 0;
    double start = far_seconds();
    for (int64_t i = 0; i < s->n; i++) {
        sum += s->y[i];
    }
    double mean = (double)(sum / (long double)s->n);
    for (int64_t i = 0; i < s->m; i++) {
        b->prediction[i] = mean;
    }
    b->run->seconds_fit = far_seconds() - start;
    return b->verdict ? decide(b, 1, fabs(mean), "the prediction is the same everywhere") : FAR_OK;
}

/* ---- any ----------------------------------------------------------------------------------- */

static far_status run_rival(const bout *b)
{
    switch (b->rival->kind) {
    case FAR_RIVAL_NETWORK:
        return run_network(b);
    case FAR_RIVAL_XGBOOST:
        return run_xgboost(b);
    case FAR_RIVAL_LINEAR:
        return run_linear(b);
    case FAR_RIVAL_MEAN:
        return run_mean(b);
    }
    return far_fail(b->ctx, FAR_ERR_ARG, "unknown kind of model");
}

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
}

static void blank_verdict(uint64_t seed, far_compare_verdict *v)
{
    *v = (far_compare_verdict){
        .seed = seed, .tightest = NAN, .sup_found = NAN, .slope = NAN, .order = NAN};
}

static far_status keep_failure(const bout *b, far_status status)
{
    uint64_t seed = b->run->seed;
    far_run_clear(b->ctx, b->run);
    blank_run(seed, b->run);
    if (b->verdict) {
        far_verdict_clear(b->ctx, b->verdict);
        blank_verdict(seed, b->verdict);
    }
    b->run->status = status;
    return copy(b->ctx, far_ctx_message(b->ctx), &b->run->message);
}

far_status far_rival_fit(const far_arena *a, const far_split *s, const far_rival *r,
                         far_compare_run *run, far_compare_verdict *verdict)
{
    bout b = {a->ctx, a, s, r, run, verdict, NULL};
    blank_run(s->seed, run);
    if (verdict) {
        blank_verdict(s->seed, verdict);
    }
    far_status st = far_alloc(a->ctx, s->m, &b.prediction);
    run->prediction = b.prediction;
    st = st == FAR_OK ? run_rival(&b) : st;
    if (st == FAR_OK) {
        far_run_score(s, run);
        return FAR_OK;
    }
    return st == FAR_ERR_CANCELLED ? st : keep_failure(&b, st);
}
