/* farfield fit --model: what a network has to beat, as a file like any other. */
#include "fit_baseline.h"
#include "columns_show.h"
#include "dataset.h"
#include "explain.h"
#include "files.h"

#include <math.h>

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

static int tell(session *s, const common_args *c, const far_predictor *p, const dataset *d,
                const char *output)
{
    report r;
    int code = report_begin(s, c, "A baseline", &r);
    far_predictor_info i = far_predictor_describe(p);
    far_result_text(r.result, "kind", i.name, "model", NULL);
    far_result_count(r.result, "n", d->count, "rows", NULL);
    far_result_count(r.result, "inputs", i.inputs, "inputs", NULL);
    columns_tell(r.result, far_predictor_describe(p).columns);
    far_result_count(r.result, "outputs", i.outputs, "outputs", NULL);
    if (isfinite(i.ridge)) {
        far_result_number(r.result, "ridge_relative", i.ridge, "ridge", "%.4g", i.ridge);
    }
    explain_table(&r, p, d, "the rows it was fitted to");
    report_written(&r, "written", "file", output);
    return report_end(&r, code);
}

int fit_baseline(session *s, const fit_args *a, const common_args *c, baseline_model model,
                 const char *data, const char *output)
{
    dataset d = {0};
    far_predictor *p = NULL;
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
