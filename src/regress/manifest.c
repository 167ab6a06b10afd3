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

/* JSON texts are UTF-8; other bytes become {"hex": "6bf6"}. */
static json_t *write_bytes(far_json_out *w, const char *bytes)
{
    json_t *object = json_object();
    far_text t = {.ctx = w->ctx};
    for (const char *c = bytes; *c; c++) {
        far_text_add(&t, "%02x", (unsigned char)*c);
    }
    far_json_put(w, object, "hex", t.status == FAR_OK ? json_string(t.data) : NULL);
    far_free(w->ctx, t.data);
    return object;
}

static json_t *write_text(far_json_out *w, const char *text)
{
    return far_is_utf8(text) ? json_string(text) : write_bytes(w, text);
}

static json_t *write_texts(far_json_out *w, char *const *texts, int64_t count)
{
    json_t *array = json_array();
    for (int64_t i = 0; i < count; i++) {
        far_json_append(w, array, write_text(w, texts[i]));
    }
    return array;
}

static json_t *write_numbers(far_json_out *w, const double *values, int64_t count)
{
    json_t *array = json_array();
    for (int64_t i = 0; i < count; i++) {
        far_json_append(w, array, write_number(values[i]));
    }
    return array;
}

static json_t *write_feature(far_json_out *w, const far_feature *f)
{
    json_t *object = json_object();
    far_json_put(w, object, "name", write_text(w, f->name));
    far_json_put(w, object, "kind", write_choice(&kinds, f->kind));
    if (f->kind == FAR_COLUMN_NUMBER) {
        far_json_put(w, object, "fill", write_number(f->fill));
        return object;
    }
    bool known = f->fill_code >= 0 && f->fill_code < f->level_count;
    far_json_put(w, object, "levels", write_texts(w, f->levels, f->level_count));
    far_json_put(w, object, "fill", known ? write_text(w, f->levels[f->fill_code]) : json_null());
    return object;
}

static json_t *write_features(far_json_out *w, const far_encoder *e)
{
    json_t *array = json_array();
    for (int64_t j = 0; j < e->feature_count; j++) {
        far_json_append(w, array, write_feature(w, &e->features[j]));
    }
    return array;
}

static json_t *write_inputs(far_json_out *w, const far_encoder *e)
{
    json_t *object = json_object();
    far_json_put(w, object, "names", write_texts(w, e->input_names, e->width));
    far_json_put(w, object, "centre", write_numbers(w, e->centre, e->width));
    far_json_put(w, object, "scale", write_numbers(w, e->scale, e->width));
    return object;
}

static json_t *write_outputs(far_json_out *w, const far_model *m)
{
    json_t *object = json_object();
    far_json_put(w, object, "centre", write_numbers(w, m->out_centre, m->info.outputs));
    far_json_put(w, object, "scale", write_numbers(w, m->out_scale, m->info.outputs));
    return object;
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

static json_t *write_candidates(far_json_out *w, const far_model *m)
{
    json_t *array = json_array();
    for (int64_t i = 0; i < m->candidate_count; i++) {
        const far_candidate *c = &m->candidates[i];
        json_t *object = json_object();
        far_json_put(w, object, "arch", write_text(w, c->arch));
        far_json_put(w, object, "ridge", write_number(c->ridge));
        far_json_put(w, object, "loo_r2", write_number(c->loo_r2));
        far_json_put(w, object, "edge_r2", write_number(c->edge_r2));
        far_json_put(w, object, "log_likelihood", write_number(c->log_likelihood));
        far_json_put(w, object, "bounded", json_boolean(c->bounded));
        far_json_put(w, object, "chosen", json_boolean(c->chosen));
        far_json_append(w, array, object);
    }
    return array;
}

static json_t *write_model(far_json_out *w, const far_model *m)
{
    const far_model_info *info = &m->info;
    json_t *object = json_object();
    far_json_put(w, object, "format", json_string(FORMAT));
    far_json_put(w, object, "version", json_integer(VERSION));
    far_json_put(w, object, "written_by", json_string(far_version()));
    far_json_put(w, object, "arch", write_text(w, m->arch));
    far_json_put(w, object, "param", write_choice(&params, info->param));
    far_json_put(w, object, "prior", write_choice(&priors, info->prior));
    far_json_put(w, object, "task", write_choice(&tasks, info->task));
    far_json_put(w, object, "standardize", json_boolean(info->standardize));
    far_json_put(w, object, "impute", json_boolean(info->impute));
    far_json_put(w, object, "features", write_features(w, &m->encoder));
    far_json_put(w, object, "inputs", write_inputs(w, &m->encoder));
    far_json_put(w, object, "targets", write_texts(w, m->targets, info->targets));
    far_json_put(w, object, "classes",
                 m->classes ? write_texts(w, m->classes, info->outputs) : json_null());
    far_json_put(w, object, "outputs", write_outputs(w, m));
    far_json_put(w, object, "ridge", write_ridge(w, info));
    far_json_put(w, object, "diagnostics", write_diagnostics(w, info));
    far_json_put(w, object, "data_hash", json_string(m->data_hash));
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

static json_t *write_columns(far_json_out *w, const far_model *m, int32_t loss)
{
    const far_model_info *info = &m->info;
    json_t *object = json_object();
    far_json_put(w, object, "version", json_integer(COLUMNS_VERSION));
    far_json_put(w, object, "task", write_choice(&tasks, info->task));
    far_json_put(w, object, "loss", write_choice(&losses, loss));
    far_json_put(w, object, "impute", json_boolean(m->encoder.impute));
    far_json_put(w, object, "features", write_features(w, &m->encoder));
    far_json_put(w, object, "targets", write_texts(w, m->targets, info->targets));
    far_json_put(w, object, "classes",
                 m->classes ? write_texts(w, m->classes, info->outputs) : json_null());
    far_json_put(w, object, "data_hash", json_string(m->data_hash));
    return object;
}

far_status far_columns_write(const far_model *m, int32_t loss, far_text *out)
{
    far_json_out w = {.ctx = out->ctx};
    return far_json_print(&w, write_columns(&w, m, loss), JSON_COMPACT, "the manifest", out);
}
