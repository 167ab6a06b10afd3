/* The manifest of a model file: what is not an array, as JSON. */
#include "manifest.h"

#include <assert.h>
#include <math.h>

static json_t *write_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *write_choice(const far_choices *c, int64_t value)
{
    assert(value >= 0 && value < c->count && c->names[value]);
    return json_string(c->names[value]);
}

static json_t *write_ridge(far_json_out *w, const far_model_info *info)
{
    json_t *object = json_object();
    far_json_put(w, object, "absolute", write_number(info->ridge));
    far_json_put(w, object, "relative", write_number(info->ridge_relative));
    return object;
}

static void put_fields(far_json_out *w, json_t *object, const far_model_info *info,
                       const field *fields, int count)
{
    for (int i = 0; i < count; i++) {
        far_json_put(w, object, fields[i].key, write_number(*(double *)field_of(info, &fields[i])));
    }
}

static json_t *write_diagnostics(far_json_out *w, const far_model_info *info)
{
    json_t *object = json_object(), *times = json_object();
    for (int i = 0; i < COUNT(counts); i++) {
        far_json_put(w, object, counts[i].key,
                     json_integer(*(int64_t *)field_of(info, &counts[i])));
    }
    put_fields(w, object, info, numbers, COUNT(numbers));
    put_fields(w, times, info, seconds, COUNT(seconds));
    far_json_put(w, object, "seconds", times);
    far_json_put(w, object, "storage", write_choice(&storages, info->storage));
    return object;
}

/* Of a fit that is not exact. */
static json_t *write_method(far_json_out *w, const far_model_info *info)
{
    json_t *object = json_object();
    far_json_put(w, object, "name", write_choice(&methods, info->method));
    far_json_put(w, object, "trained_rows", json_integer(info->trained_rows));
    far_json_put(w, object, "landmarks", json_integer(info->landmarks));
    far_json_put(w, object, "landmarks_miss", write_number(info->landmarks_miss));
    far_json_put(w, object, "iterations", json_integer(info->iterations));
    far_json_put(w, object, "tolerance", write_number(info->tolerance));
    far_json_put(w, object, "converged", json_boolean(info->converged));
    far_json_put(w, object, "ridge_raised", write_number(info->ridge_raised));
    far_json_put(w, object, "held_out", json_integer(info->held_out));
    far_json_put(w, object, "seed", json_integer((json_int_t)info->seed));
    return object;
}

static json_t *write_scores(far_json_out *w, const far_model_info *info)
{
    json_t *object = json_object();
    far_json_put(w, object, "loo_rows", json_integer(info->loo_rows));
    far_json_put(w, object, "noise_free", json_boolean(info->noise_free));
    put_fields(w, object, info, scores, COUNT(scores));
    return object;
}

/* How scores become probabilities, and posterior variances intervals. */
static json_t *write_calibration(far_json_out *w, const far_model *m)
{
    json_t *object = json_object(), *offsets = json_array();
    json_t *sizes = json_array(), *noises = json_array();
    for (int64_t j = 0; j < m->info.outputs; j++) {
        far_json_append(w, sizes, json_real(m->interval[j].size));
        far_json_append(w, noises, json_real(m->interval[j].noise));
        far_json_append(w, offsets, json_real(m->link ? m->link[1 + j] : 0));
    }
    far_json_put(w, object, "temperature", write_number(m->info.temperature));
    far_json_put(w, object, "offsets", offsets);
    far_json_put(w, object, "interval_size", sizes);
    far_json_put(w, object, "interval_noise", noises);
    return object;
}

static json_t *write_candidates(far_json_out *w, const far_model *m)
{
    json_t *array = json_array();
    for (int64_t i = 0; i < m->candidate_count; i++) {
        const far_candidate *c = &m->candidates[i];
        json_t *object = json_object();
        far_json_put(w, object, "arch", far_json_bytes(w, c->arch));
        far_json_put(w, object, "ridge", write_number(c->ridge));
        far_json_put(w, object, "loo_r2", write_number(c->loo_r2));
        far_json_put(w, object, "loo_log_loss", write_number(c->loo_log_loss));
        far_json_put(w, object, "edge_r2", write_number(c->edge_r2));
        far_json_put(w, object, "edge_log_loss", write_number(c->edge_log_loss));
        far_json_put(w, object, "edge_doubt", write_number(c->edge_doubt));
        far_json_put(w, object, "log_likelihood", write_number(c->log_likelihood));
        far_json_put(w, object, "bounded", json_boolean(c->bounded));
        far_json_put(w, object, "chosen", json_boolean(c->chosen));
        far_json_put(w, object, "metric", write_choice(&metrics, c->metric));
        far_json_put(w, object, "metric_power", write_number(c->metric_power));
        far_json_put(w, object, "metric_rounds", json_integer(c->metric_rounds));
        far_json_put(w, object, "fold_r2", write_number(c->fold_r2));
        far_json_put(w, object, "fold_log_loss", write_number(c->fold_log_loss));
        far_json_put(w, object, "fold_doubt", write_number(c->fold_doubt));
        far_json_append(w, array, object);
    }
    return array;
}

int far_manifest_version(const far_model *m)
{
    return far_columns_stepped(m->columns)     ? VERSION
           : far_columns_ranked(m->columns)    ? WITHOUT_STEPS
           : m->metric.kind != FAR_METRIC_NONE ? WITHOUT_RANKS
                                               : WITHOUT_METRIC;
}

static json_t *write_model(far_json_out *w, const far_model *m)
{
    const far_model_info *info = &m->info;
    json_t *object = json_object();
    far_json_put(w, object, "format", json_string(FORMAT));
    far_json_put(w, object, "version", json_integer(far_manifest_version(m)));
    far_json_put(w, object, "written_by", json_string(far_version()));
    far_json_put(w, object, "arch", far_json_bytes(w, m->arch));
    far_json_put(w, object, "param", write_choice(&params, info->param));
    far_json_put(w, object, "prior", write_choice(&kernels, info->kernel));
    if (m->metric.kind != FAR_METRIC_NONE) {
        far_json_put(w, object, "metric", write_choice(&metrics, m->metric.kind));
    }
    far_json_put(w, object, "standardize", json_boolean(info->standardize));
    far_columns_put(w, object, m->columns, true);
    far_json_put(w, object, "ridge", write_ridge(w, info));
    far_json_put(w, object, "diagnostics", write_diagnostics(w, info));
    if (info->method != FAR_METHOD_EXACT) {
        far_json_put(w, object, "method", write_method(w, info));
    }
    if (m->interval) { /* not of a model from an older file */
        far_json_put(w, object, "scores", write_scores(w, info));
        far_json_put(w, object, "calibration", write_calibration(w, m));
    }
    far_json_put(w, object, "candidates", write_candidates(w, m));
    return object;
}

far_status far_manifest_write(const far_model *m, far_text *out)
{
    far_json_out w = {.ctx = out->ctx};
    far_status st = far_json_print(&w, write_model(&w, m), JSON_INDENT(2), "the manifest", out);
    far_text_add(out, "\n");
    return st == FAR_OK ? out->status : st;
}
