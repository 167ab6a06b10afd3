/* The manifest of a model file: what is not an array, as JSON. */
#include "manifest.h"

#include <assert.h>
#include <math.h>

/* What fails here has run out of memory. After that the rest does not matter: put and append take
 * NULL, from a failure before them, as one more. */
typedef struct writer {
    far_ctx *ctx;
    bool failed;
} writer;

static void put(writer *w, json_t *object, const char *key, json_t *value)
{
    w->failed |= json_object_set_new(object, key, value) != 0;
}

static void append(writer *w, json_t *array, json_t *value)
{
    w->failed |= json_array_append_new(array, value) != 0;
}

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
static json_t *write_bytes(writer *w, const char *bytes)
{
    json_t *object = json_object();
    far_text t = {.ctx = w->ctx};
    for (const char *c = bytes; *c; c++) {
        far_text_add(&t, "%02x", (unsigned char)*c);
    }
    put(w, object, "hex", t.status == FAR_OK ? json_string(t.data) : NULL);
    far_free(w->ctx, t.data);
    return object;
}

static json_t *write_text(writer *w, const char *text)
{
    json_t *value = json_string(text); /* NULL also if it is not UTF-8 */
    return value ? value : write_bytes(w, text);
}

static json_t *write_texts(writer *w, char *const *texts, int64_t count)
{
    json_t *array = json_array();
    for (int64_t i = 0; i < count; i++) {
        append(w, array, write_text(w, texts[i]));
    }
    return array;
}

static json_t *write_numbers(writer *w, const double *values, int64_t count)
{
    json_t *array = json_array();
    for (int64_t i = 0; i < count; i++) {
        append(w, array, write_number(values[i]));
    }
    return array;
}

static json_t *write_feature(writer *w, const far_feature *f)
{
    json_t *object = json_object();
    put(w, object, "name", write_text(w, f->name));
    put(w, object, "kind", write_choice(&kinds, f->kind));
    if (f->kind == FAR_COLUMN_NUMBER) {
        put(w, object, "fill", write_number(f->fill));
        return object;
    }
    bool known = f->fill_code >= 0 && f->fill_code < f->level_count;
    put(w, object, "levels", write_texts(w, f->levels, f->level_count));
    put(w, object, "fill", known ? write_text(w, f->levels[f->fill_code]) : json_null());
    return object;
}

static json_t *write_features(writer *w, const far_encoder *e)
{
    json_t *array = json_array();
    for (int64_t j = 0; j < e->feature_count; j++) {
        append(w, array, write_feature(w, &e->features[j]));
    }
    return array;
}

static json_t *write_inputs(writer *w, const far_encoder *e)
{
    json_t *object = json_object();
    put(w, object, "names", write_texts(w, e->input_names, e->width));
    put(w, object, "centre", write_numbers(w, e->centre, e->width));
    put(w, object, "scale", write_numbers(w, e->scale, e->width));
    return object;
}

static json_t *write_outputs(writer *w, const far_model *m)
{
    json_t *object = json_object();
    put(w, object, "centre", write_numbers(w, m->out_centre, m->info.outputs));
    put(w, object, "scale", write_numbers(w, m->out_scale, m->info.outputs));
    return object;
}

static json_t *write_ridge(writer *w, const far_model_info *info)
{
    json_t *object = json_object();
    put(w, object, "absolute", write_number(info->ridge));
    put(w, object, "relative", write_number(info->ridge_relative));
    return object;
}

static void put_fields(writer *w, json_t *object, const far_model_info *info, const field *fields,
                       int count)
{
    for (int i = 0; i < count; i++) {
        put(w, object, fields[i].key, write_number(*(double *)field_of(info, &fields[i])));
    }
}

static json_t *write_diagnostics(writer *w, const far_model_info *info)
{
    json_t *object = json_object(), *times = json_object();
    for (int i = 0; i < COUNT(counts); i++) {
        put(w, object, counts[i].key, json_integer(*(int64_t *)field_of(info, &counts[i])));
    }
    put_fields(w, object, info, numbers, COUNT(numbers));
    put_fields(w, times, info, seconds, COUNT(seconds));
    put(w, object, "seconds", times);
    put(w, object, "storage", write_choice(&storages, info->storage));
    return object;
}

static json_t *write_candidates(writer *w, const far_model *m)
{
    json_t *array = json_array();
    for (int64_t i = 0; i < m->candidate_count; i++) {
        const far_candidate *c = &m->candidates[i];
        json_t *object = json_object();
        put(w, object, "arch", write_text(w, c->arch));
        put(w, object, "ridge", write_number(c->ridge));
        put(w, object, "loo_r2", write_number(c->loo_r2));
        put(w, object, "edge_r2", write_number(c->edge_r2));
        put(w, object, "log_likelihood", write_number(c->log_likelihood));
        put(w, object, "bounded", json_boolean(c->bounded));
        put(w, object, "chosen", json_boolean(c->chosen));
        append(w, array, object);
    }
    return array;
}

static json_t *write_model(writer *w, const far_model *m)
{
    const far_model_info *info = &m->info;
    json_t *object = json_object();
    put(w, object, "format", json_string(FORMAT));
    put(w, object, "version", json_integer(VERSION));
    put(w, object, "written_by", json_string(far_version()));
    put(w, object, "arch", write_text(w, m->arch));
    put(w, object, "param", write_choice(&params, info->param));
    put(w, object, "prior", write_choice(&priors, info->prior));
    put(w, object, "task", write_choice(&tasks, info->task));
    put(w, object, "standardize", json_boolean(info->standardize));
    put(w, object, "impute", json_boolean(info->impute));
    put(w, object, "features", write_features(w, &m->encoder));
    put(w, object, "inputs", write_inputs(w, &m->encoder));
    put(w, object, "targets", write_texts(w, m->targets, info->targets));
    put(w, object, "classes", m->classes ? write_texts(w, m->classes, info->outputs) : json_null());
    put(w, object, "outputs", write_outputs(w, m));
    put(w, object, "ridge", write_ridge(w, info));
    put(w, object, "diagnostics", write_diagnostics(w, info));
    put(w, object, "data_hash", json_string(m->data_hash));
    put(w, object, "candidates", write_candidates(w, m));
    return object;
}

static int add_piece(const char *bytes, size_t size, void *text)
{
    far_text *t = text;
    far_text_add(t, "%.*s", (int)size, bytes);
    return t->status == FAR_OK ? 0 : -1;
}

/* Takes json. */
static far_status print(const writer *w, json_t *json, size_t layout, far_text *out)
{
    const size_t digits_that_keep_every_bit = JSON_REAL_PRECISION(17);
    bool done = json && !w->failed &&
                json_dump_callback(json, add_piece, out, layout | digits_that_keep_every_bit) == 0;
    json_decref(json);
    if (done || out->status != FAR_OK) {
        return out->status;
    }
    return far_fail(out->ctx, FAR_ERR_MEMORY, "out of memory writing the manifest");
}

far_status far_manifest_write(const far_model *m, far_text *out)
{
    writer w = {.ctx = out->ctx};
    far_status st = print(&w, write_model(&w, m), JSON_INDENT(2), out);
    far_text_add(out, "\n");
    return st == FAR_OK ? out->status : st;
}

static json_t *write_columns(writer *w, const far_model *m, int32_t loss)
{
    const far_model_info *info = &m->info;
    json_t *object = json_object();
    put(w, object, "version", json_integer(COLUMNS_VERSION));
    put(w, object, "task", write_choice(&tasks, info->task));
    put(w, object, "loss", write_choice(&losses, loss));
    put(w, object, "impute", json_boolean(m->encoder.impute));
    put(w, object, "features", write_features(w, &m->encoder));
    put(w, object, "targets", write_texts(w, m->targets, info->targets));
    put(w, object, "classes", m->classes ? write_texts(w, m->classes, info->outputs) : json_null());
    put(w, object, "data_hash", json_string(m->data_hash));
    return object;
}

far_status far_columns_write(const far_model *m, int32_t loss, far_text *out)
{
    writer w = {.ctx = out->ctx};
    return print(&w, write_columns(&w, m, loss), JSON_COMPACT, out);
}
