/* farfield fit --model: what a network has to beat, as a file like any other. */
#include "fit_baseline.h"
#include "columns_show.h"
#include "dataset.h"
#include "explain.h"
#include "files.h"
#include "predict_score.h"

#include <math.h>
#include <string.h>

static far_columns_opts columns_of(const fit_args *a, const dataset *d)
{
    far_columns_opts o;
    far_columns_opts_init(&o);
    o.target = a->target;
    o.features = a->features;
    o.rows = d->rows;
    o.task = (far_task)a->task;
    o.standardize = a->raw ? FAR_STANDARDIZE_NONE : FAR_STANDARDIZE_BOTH;
    o.impute = a->impute;
    o.careful = 1;
    o.keep = a->keep;
    return o;
}

static far_status fit(session *s, const fit_args *a, const dataset *d, baseline_model model,
                      far_predictor **out)
{
    far_columns_opts o = columns_of(a, d);
    return model == MODEL_TREES
               ? far_predictor_fit_trees(s->ctx, d->frame, &o, BASELINE_ROUNDS, (uint64_t)a->seed,
                                         out)
               : far_predictor_fit_linear(s->ctx, d->frame, &o,
                                          model == MODEL_MEAN ? INFINITY : NAN, out);
}

/* Of the rows it was fitted to, as predict --score has it. */
static int judge(session *s, const far_predictor *p, const dataset *d, prediction_score *out)
{
    far_prediction *rows = NULL;
    far_predict_opts o;
    far_predict_opts_init(&o);
    o.rows = d->rows;
    far_status st = far_predictor_predict(s->ctx, p, d->frame, &o, &rows);
    int code = st == FAR_OK ? prediction_judge(s, p, d, rows, out) : session_failure(s, d->label);
    far_prediction_destroy(rows);
    return code;
}

/* First what is known of rows that it has not seen. */
static void tell_scores(far_result *r, const far_predictor_info *i, const prediction_score *train)
{
    if (train->classes) {
        far_result_number(r, "accuracy_train", train->c.accuracy, "train accuracy",
                          "%.4g (log loss %.4g)", train->c.accuracy, train->c.nll);
        far_result_number(r, "log_loss_train", train->c.nll, NULL, NULL);
        return;
    }
    if (isfinite(i->loo_rmse)) {
        far_result_number(r, "loo_r2", i->loo_r2, "LOO R2", "%.4g (RMSE %.4g)", i->loo_r2,
                          i->loo_rmse);
        far_result_number(r, "loo_rmse", i->loo_rmse, NULL, NULL);
    }
    double r2 = isinf(i->ridge) ? 0 : train->n.r2; /* the mean explains nothing, but for rounding */
    far_result_number(r, "r2_train", r2, "train R2", "%.4g (RMSE %.4g)", r2, train->n.rmse);
    far_result_number(r, "rmse_train", train->n.rmse, NULL, NULL);
}

static void tell_model(far_result *r, const far_predictor_info *i, const dataset *d,
                       const prediction_score *train, const char *output)
{
    tell_scores(r, i, train);
    far_result_count(r, "n", d->count, "rows", NULL);
    far_result_count(r, "inputs", i->inputs, "inputs", NULL);
    columns_tell(r, i->columns);
    columns_tell_outputs(r, i->columns);
    far_result_text(r, "kind", i->name, "kind", NULL);
    if (isfinite(i->ridge)) {
        far_result_number(r, "ridge_relative", i->ridge, "ridge", "%.4g", i->ridge);
    }
    if (output) {
        far_result_text(r, "model", output, "model", NULL);
    } else {
        far_result_missing(r, "model", "not saved; -o FILE keeps it", "model");
    }
}

static int tell(session *s, const common_args *c, const far_predictor *p, const dataset *d,
                const char *output)
{
    report r;
    prediction_score train = {0};
    far_predictor_info i = far_predictor_describe(p);
    int code = judge(s, p, d, &train);
    if (code == EXIT_DONE) {
        code = report_begin(s, c, "A baseline", &r);
        tell_model(r.result, &i, d, &train, output);
        explain_table(&r, p, d, "the rows it was fitted to");
        code = report_end(&r, code);
    }
    return code;
}

int fit_baseline(session *s, const fit_args *a, const common_args *c, baseline_model model,
                 const char *data, const char *output)
{
    dataset d = {0};
    far_predictor *p = NULL;
    if (strcmp(a->ridge, "auto") != 0) {
        return usage_error(s->verb, "--ridge does not go with --model, which chooses its own");
    }
    int code = dataset_read(s->verb, s->ctx, data, &a->table, a->where, &d);
    interrupts_hold();
    far_status st = code == EXIT_DONE ? fit(s, a, &d, model, &p) : FAR_OK;
    bool about_data = st == FAR_ERR_VALUE || st == FAR_ERR_FORMAT;
    st = st == FAR_OK && p && output ? far_predictor_save(s->ctx, p, output) : st;
    session_idle(s); /* does not come back after Ctrl-C */
    code = st == FAR_OK ? code : session_failure(s, about_data ? d.label : NULL);
    if (code == EXIT_DONE) {
        columns_say(s, far_predictor_describe(p).columns);
        code = tell(s, c, p, &d, output);
    }
    far_predictor_destroy(p);
    dataset_free(&d);
    return code;
}
