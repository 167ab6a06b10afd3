/* A model from its manifest, which may come from anywhere. */
#include "manifest.h"

#include <farfield/train.h>
#include <math.h>
#include <string.h>

#define HASH_DIGITS 64

/* ---- features and inputs ---- */

/* Predicting matches levels in one pass over both lists. */
static far_status check_order(const far_json *j, const far_feature *f)
{
    for (int64_t l = 1; l < f->level_count; l++) {
        if (strcmp(f->levels[l - 1], f->levels[l]) >= 0) {
            return far_json_fail(j,
                                 "\"levels\"[%lld] is not behind the level before it in byte order",
                                 (long long)l);
        }
    }
    return FAR_OK;
}

/* null (nothing was there to fill with, or nothing is filled) stands for the first. */
static far_status read_fill_word(const far_json *j, bool impute, far_feature *f)
{
    far_status st;
    const json_t *value;
    char *word = NULL;
    FAR_TRY(far_json_get(j, "fill", &value));
    if (json_is_null(value) && !(impute && f->level_count > 0)) {
        return FAR_OK;
    }
    FAR_TRY(far_json_text(j, "fill", &word));
    while (f->fill_code < f->level_count && strcmp(f->levels[f->fill_code], word) != 0) {
        f->fill_code++;
    }
    if (f->fill_code == f->level_count) {
        st = far_json_fail(j, "\"fill\" is not one of the levels");
    }
done:
    far_free(j->in->ctx, word);
    return st;
}

static far_status read_words(const far_json *j, bool impute, far_feature *f)
{
    far_status st;
    FAR_TRY(far_json_texts(j, "levels", &f->levels, &f->level_count));
    FAR_TRY(check_order(j, f));
    FAR_TRY(read_fill_word(j, impute, f));
    f->width = f->level_count;
done:
    return st;
}

static far_status read_fill_number(const far_json *j, bool impute, far_feature *f)
{
    far_status st = far_json_number(j, "fill", &f->fill);
    f->width = 1;
    return st == FAR_OK && impute && isnan(f->fill) ? far_json_fail(j, "\"fill\" is not a number")
                                                    : st;
}

static far_status read_feature(const far_json *j, bool impute, far_feature *f)
{
    far_status st;
    int32_t kind;
    FAR_TRY(far_json_text(j, "name", &f->name));
    FAR_TRY(far_json_choice(j, "kind", &kinds, &kind));
    f->kind = (far_column_kind)kind;
    FAR_TRY(f->kind == FAR_COLUMN_NUMBER ? read_fill_number(j, impute, f)
                                         : read_words(j, impute, f));
done:
    return st;
}

static far_status read_each_feature(const far_json *j, const json_t *list, far_encoder *e)
{
    far_status st = FAR_OK;
    for (int64_t i = 0; i < e->feature_count; i++) {
        far_json element;
        FAR_TRY(far_json_element(j, "features", list, i, &element));
        FAR_TRY(read_feature(&element, e->impute, &e->features[i]));
        e->features[i].first = e->width;
        e->width += e->features[i].width;
    }
done:
    return st;
}

static far_status check_feature_names(const far_json *j, const far_encoder *e)
{
    const char **names = NULL;
    far_status st = far_alloc(j->in->ctx, e->feature_count, &names);
    for (int64_t i = 0; st == FAR_OK && i < e->feature_count; i++) {
        names[i] = e->features[i].name;
    }
    if (st == FAR_OK) {
        st = far_json_distinct(j, "features", names, e->feature_count);
    }
    far_free(j->in->ctx, names);
    return st;
}

static far_status read_features(const far_json *j, far_encoder *e)
{
    far_status st;
    const json_t *list;
    FAR_TRY(far_json_list(j, "features", &list));
    int64_t count = (int64_t)json_array_size(list);
    FAR_TRY(far_alloc(j->in->ctx, count, &e->features));
    memset(e->features, 0, (size_t)count * sizeof *e->features);
    e->feature_count = count;
    FAR_TRY(read_each_feature(j, list, e));
    FAR_TRY(check_feature_names(j, e));
done:
    return st;
}

/* Two inputs may share a name: a column "a=b" and the word b of a column a. */
static far_status read_inputs(const far_json *whole, far_encoder *e)
{
    far_status st;
    far_json j;
    char **names = NULL;
    int64_t count = 0;
    FAR_TRY(far_json_enter(whole, "inputs", &j));
    FAR_TRY(far_json_texts(&j, "names", &names, &count));
    if (count != e->width) {
        st = far_json_fail(&j, "\"names\" has %lld entries where %lld were announced",
                           (long long)count, (long long)e->width);
        goto done;
    }
    e->input_names = names;
    names = NULL;
    FAR_TRY(far_json_numbers(&j, "centre", e->width, false, &e->centre));
    FAR_TRY(far_json_numbers(&j, "scale", e->width, true, &e->scale));
done:
    far_texts_free(whole->in->ctx, names, count);
    return st;
}

static far_status read_all_features(const far_json *j, far_model *m)
{
    far_encoder *e = &m->encoder;
    e->impute = m->info.impute;
    far_status st = read_features(j, e);
    if (st == FAR_OK && e->width != m->info.inputs) {
        return far_json_fail(j, "\"features\" make %lld inputs where %lld were announced",
                             (long long)e->width, (long long)m->info.inputs);
    }
    return st;
}

static far_status read_encoder(const far_json *j, far_model *m)
{
    far_status st = read_all_features(j, m);
    return st == FAR_OK ? read_inputs(j, &m->encoder) : st;
}

/* ---- targets and outputs ---- */

static far_status read_classes(const far_json *j, far_model *m)
{
    far_ctx *ctx = j->in->ctx;
    char **names = NULL;
    int64_t count = 0;
    far_status st = far_json_names(j, "classes", &names, &count);
    if (st == FAR_OK && count != m->info.outputs) {
        st = far_json_fail(j, "\"classes\" has %lld entries where %lld outputs were announced",
                           (long long)count, (long long)m->info.outputs);
    }
    if (st == FAR_OK && m->info.targets != 1) {
        st = far_json_fail(j, "\"targets\" has %lld entries; classes have one target",
                           (long long)m->info.targets);
    }
    if (st != FAR_OK) {
        far_texts_free(ctx, names, count);
        return st;
    }
    m->classes = names;
    return FAR_OK;
}

static far_status check_no_classes(const far_json *j, const far_model *m)
{
    const json_t *classes;
    far_status st = far_json_get(j, "classes", &classes);
    if (st == FAR_OK && !json_is_null(classes)) {
        return far_json_fail(j, "\"classes\" is not null, but the task is to regress");
    }
    if (st == FAR_OK && m->info.targets != m->info.outputs) {
        return far_json_fail(j, "\"targets\" has %lld entries where %lld outputs were announced",
                             (long long)m->info.targets, (long long)m->info.outputs);
    }
    return st;
}

static far_status read_targets(const far_json *j, far_model *m)
{
    far_status st;
    FAR_TRY(far_json_names(j, "targets", &m->targets, &m->info.targets));
    FAR_TRY(m->info.task == FAR_TASK_CLASSIFY ? read_classes(j, m) : check_no_classes(j, m));
done:
    return st;
}

static far_status read_outputs(const far_json *whole, far_model *m)
{
    far_status st;
    far_json j;
    FAR_TRY(read_targets(whole, m));
    FAR_TRY(far_json_enter(whole, "outputs", &j));
    FAR_TRY(far_json_numbers(&j, "centre", m->info.outputs, false, &m->out_centre));
    FAR_TRY(far_json_numbers(&j, "scale", m->info.outputs, true, &m->out_scale));
done:
    return st;
}

/* ---- the network and the numbers about the fit ---- */

/* The message of a kernel has a caret below the text; its first line is enough here. */
static far_status fail_arch(const far_json *j)
{
    char text[256];
    const char *message = far_ctx_message(j->in->ctx);
    far_show(text, sizeof text, message, (int64_t)strcspn(message, "\n"));
    return far_json_fail(j, "\"arch\" is not a network with a kernel: %s", text);
}

static far_status compile(const far_json *j, const char *arch, far_model *m)
{
    far_kernel_opts opts;
    far_kernel_opts_init(&opts);
    opts.param = m->info.param;
    far_status st = far_kernel_create(j->in->ctx, arch, &opts, &m->kernel);
    if (st == FAR_ERR_PARSE || st == FAR_ERR_ARCH) {
        return fail_arch(j);
    }
    return st;
}

static far_status read_network(const far_json *j, far_model *m)
{
    far_status st;
    char *arch = NULL;
    FAR_TRY(far_json_choice(j, "param", &params, &m->info.param));
    FAR_TRY(far_json_choice(j, "prior", &priors, &m->info.prior));
    FAR_TRY(far_json_text(j, "arch", &arch));
    FAR_TRY(compile(j, arch, m));
    const char *text = far_kernel_text(m->kernel);
    FAR_TRY(far_copy_text(j->in->ctx, text, (int64_t)strlen(text), &m->arch));
done:
    far_free(j->in->ctx, arch);
    return st;
}

static far_status check_counts(const far_json *j, const far_model_info *info)
{
    if (info->rows == 0 || info->inputs == 0 || info->outputs == 0) {
        return far_json_fail(j, "a model needs a row, an input and an output");
    }
    if (info->conflicts > info->duplicates || info->duplicates >= info->rows) {
        return far_json_fail(j, "%lld conflicts, %lld duplicates and %lld rows cannot be",
                             (long long)info->conflicts, (long long)info->duplicates,
                             (long long)info->rows);
    }
    return FAR_OK;
}

static far_status read_fields(const far_json *j, const field *fields, int count,
                              far_model_info *info)
{
    far_status st = FAR_OK;
    for (int i = 0; i < count; i++) {
        FAR_TRY(far_json_number(j, fields[i].key, field_of(info, &fields[i])));
    }
done:
    return st;
}

static far_status read_diagnostics(const far_json *whole, far_model_info *info)
{
    far_status st;
    far_json j, times;
    FAR_TRY(far_json_enter(whole, "diagnostics", &j));
    for (int i = 0; i < COUNT(counts); i++) {
        FAR_TRY(far_json_count(&j, counts[i].key, field_of(info, &counts[i])));
    }
    FAR_TRY(check_counts(&j, info));
    FAR_TRY(read_fields(&j, numbers, COUNT(numbers), info));
    FAR_TRY(far_json_enter(&j, "seconds", &times));
    FAR_TRY(read_fields(&times, seconds, COUNT(seconds), info));
    FAR_TRY(far_json_choice(&j, "storage", &storages, &info->storage));
done:
    return st;
}

static far_status read_ridge(const far_json *whole, far_model_info *info)
{
    far_status st;
    far_json j;
    FAR_TRY(far_json_enter(whole, "ridge", &j));
    FAR_TRY(far_json_number(&j, "absolute", &info->ridge));
    FAR_TRY(far_json_number(&j, "relative", &info->ridge_relative));
    if (!(info->ridge >= 0 && info->ridge_relative >= 0)) {
        st = far_json_fail(&j, "a ridge is 0 or more");
    }
done:
    return st;
}

/* What no fit can leave, by name. Proofs rest on none of these. */
static far_status check_diagnostics(const far_json *whole, const far_model_info *i)
{
    far_json j;
    far_status st = far_json_enter(whole, "diagnostics", &j);
    if (st != FAR_OK) {
        return st;
    }
    if (!(i->residual >= 0)) {
        return far_json_fail(&j, "\"residual\" is not 0 or more");
    }
    if (!(i->mean_diagonal >= 0)) {
        return far_json_fail(&j, "\"mean_diagonal\" is not 0 or more");
    }
    if (i->lambda_min > (i->mean_diagonal + i->ridge) * (1 + 1e-6)) {
        return far_json_fail(&j, "\"lambda_min\" is above the mean of all eigenvalues");
    }
    if (i->lambda_min > i->lambda_max * (1 + 1e-6)) { /* of one row both are the same, rounded */
        return far_json_fail(&j, "\"lambda_min\" is above \"lambda_max\"");
    }
    if (i->lambda_min > 0 && i->condition < 1 - 1e-6) {
        return far_json_fail(&j, "\"condition\" is below 1");
    }
    return FAR_OK;
}

static far_status read_hash(const far_json *j, far_model *m)
{
    const json_t *value;
    far_status st = far_json_get(j, "data_hash", &value);
    const char *text = json_string_value(value);
    if (st == FAR_OK && (!text || json_string_length(value) != HASH_DIGITS ||
                         strspn(text, "0123456789abcdef") != HASH_DIGITS)) {
        return far_json_fail(j, "\"data_hash\" is not %d hexadecimal digits", HASH_DIGITS);
    }
    if (st == FAR_OK) {
        memcpy(m->data_hash, text, HASH_DIGITS + 1);
    }
    return st;
}

static far_status read_candidate(const far_json *j, far_candidate *c)
{
    far_status st;
    FAR_TRY(far_json_text(j, "arch", (char **)&c->arch));
    FAR_TRY(far_json_number(j, "ridge", &c->ridge));
    FAR_TRY(far_json_number(j, "loo_r2", &c->loo_r2));
    FAR_TRY(far_json_number(j, "edge_r2", &c->edge_r2));
    FAR_TRY(far_json_number(j, "log_likelihood", &c->log_likelihood));
    FAR_TRY(far_json_flag(j, "bounded", &c->bounded));
    FAR_TRY(far_json_flag(j, "chosen", &c->chosen));
done:
    return st;
}

static far_status read_candidates(const far_json *j, far_model *m)
{
    far_status st;
    const json_t *list;
    FAR_TRY(far_json_list(j, "candidates", &list));
    int64_t count = (int64_t)json_array_size(list);
    FAR_TRY(far_alloc(j->in->ctx, count, &m->candidates));
    memset(m->candidates, 0, (size_t)count * sizeof *m->candidates);
    m->candidate_count = count;
    for (int64_t i = 0; i < count; i++) {
        far_json element;
        FAR_TRY(far_json_element(j, "candidates", list, i, &element));
        FAR_TRY(read_candidate(&element, &m->candidates[i]));
    }
done:
    return st;
}

/* ---- the whole ---- */

static far_status check_version(const far_json *j, bool sealed)
{
    far_status st;
    int64_t version;
    const char *format = json_string_value(json_object_get(j->object, "format"));
    if (!format || strcmp(format, FORMAT) != 0) {
        return far_input_fail(j->in, FAR_ERR_FORMAT,
                              "is not a farfield model (the manifest's \"format\" is not \"" FORMAT
                              "\")");
    }
    FAR_TRY(far_json_count(j, "version", &version));
    if (version == 0) {
        return far_json_fail(j, "\"version\" is 0; the first was 1");
    }
    if (version > VERSION) {
        st = far_input_fail(j->in, FAR_ERR_FORMAT,
                            "was written by a newer farfield (model version %lld, this one reads "
                            "up to %d); update farfield",
                            (long long)version, VERSION);
    } else if (version >= FIRST_SEALED && !sealed) {
        st = far_input_fail(j->in, FAR_ERR_FORMAT,
                            "has lost the checksum at its end: the file is damaged, or another "
                            "program wrote it; take another copy, or fit again");
    }
done:
    return st;
}

static far_status read_all(const far_json *j, far_model *m)
{
    far_status st;
    FAR_TRY(check_version(j, m->info.sealed));
    FAR_TRY(far_json_choice(j, "task", &tasks, &m->info.task));
    FAR_TRY(far_json_flag(j, "standardize", &m->info.standardize));
    FAR_TRY(far_json_flag(j, "impute", &m->info.impute));
    FAR_TRY(read_diagnostics(j, &m->info));
    FAR_TRY(read_encoder(j, m));
    FAR_TRY(read_outputs(j, m));
    FAR_TRY(read_ridge(j, &m->info));
    FAR_TRY(check_diagnostics(j, &m->info));
    FAR_TRY(read_hash(j, m));
    FAR_TRY(read_candidates(j, m));
    FAR_TRY(read_network(j, m));
done:
    return st;
}

/* The JSON of whole->in; the caller gives it back. */
static far_status load_json(far_json *whole, json_t **out)
{
    far_json_mistake m;
    const far_input *in = whole->in;
    far_status st = far_json_parse(in->ctx, (const char *)in->data, (size_t)in->size, out, &m);
    if (st != FAR_OK) {
        return st == FAR_ERR_FORMAT
                   ? far_json_fail(whole, "line %d, column %d: %s", m.line, m.column, m.text)
                   : far_label_failure(in->ctx, st, in->label);
    }
    whole->object = *out;
    return json_is_object(*out) ? FAR_OK : far_json_fail(whole, "is not an object");
}

far_status far_manifest_read(const far_input *in, far_model *m)
{
    json_t *json;
    far_json whole = {.in = in, .place = "manifest: "};
    far_status st = load_json(&whole, &json);
    if (st == FAR_OK) {
        st = read_all(&whole, m);
    }
    json_decref(json);
    return st;
}

/* ---- the columns of a finite network ---- */

static far_status check_columns_version(const far_json *j)
{
    int64_t version;
    far_status st = far_json_count(j, "version", &version);
    if (st == FAR_OK && version > COLUMNS_VERSION) {
        return far_json_fail(j, "were written by a newer farfield; update farfield");
    }
    return st;
}

/* bce has one output for two classes. */
static far_status read_columns(const far_json *j, far_model *m, int32_t *loss)
{
    far_status st;
    FAR_TRY(check_columns_version(j));
    FAR_TRY(far_json_choice(j, "task", &tasks, &m->info.task));
    FAR_TRY(far_json_choice(j, "loss", &losses, loss));
    FAR_TRY(far_json_flag(j, "impute", &m->info.impute));
    FAR_TRY(read_all_features(j, m));
    FAR_TRY(far_encoder_name(j->in->ctx, &m->encoder));
    if (m->info.task == FAR_TASK_CLASSIFY && *loss == FAR_LOSS_BCE && m->info.outputs == 1) {
        m->info.outputs = 2;
    }
    FAR_TRY(read_targets(j, m));
    FAR_TRY(read_hash(j, m));
done:
    return st;
}

far_status far_columns_read(const far_input *in, far_model *m, int32_t *loss)
{
    json_t *json;
    far_json whole = {.in = in};
    far_status st = load_json(&whole, &json);
    if (st == FAR_OK) {
        st = read_columns(&whole, m, loss);
    }
    json_decref(json);
    return st;
}
