/* A model from its manifest, which may come from anywhere. */
#include "manifest.h"

#include <math.h>
#include <string.h>

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
    opts = (far_kernel_opts){.size = sizeof opts};
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
    int32_t param, kernel;
    FAR_TRY(far_json_choice(j, "param", &params, &param));
    FAR_TRY(far_json_choice(j, "prior", &kernels, &kernel));
    m->info.param = param;
    m->info.kernel = kernel;
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
    int32_t storage;
    FAR_TRY(far_json_choice(&j, "storage", &storages, &storage));
    info->storage = storage;
done:
    return st;
}

/* Absent: the fit is exact. */
static far_status read_method(const far_json *whole, far_model_info *i)
{
    far_status st = FAR_OK;
    far_json j;
    int64_t seed;
    int32_t method;
    i->method = FAR_METHOD_EXACT;
    i->trained_rows = i->rows;
    i->converged = 1;
    if (!json_object_get(whole->object, "method")) {
        return FAR_OK;
    }
    FAR_TRY(far_json_enter(whole, "method", &j));
    FAR_TRY(far_json_choice(&j, "name", &methods, &method));
    FAR_TRY(far_json_count(&j, "trained_rows", &i->trained_rows));
    FAR_TRY(far_json_count(&j, "landmarks", &i->landmarks));
    FAR_TRY(far_json_number(&j, "landmarks_miss", &i->landmarks_miss));
    FAR_TRY(far_json_count(&j, "iterations", &i->iterations));
    FAR_TRY(far_json_number(&j, "tolerance", &i->tolerance));
    FAR_TRY(far_json_flag(&j, "converged", &i->converged));
    if (json_object_get(j.object, "ridge_raised")) { /* not in older files */
        FAR_TRY(far_json_number(&j, "ridge_raised", &i->ridge_raised));
    }
    FAR_TRY(far_json_count(&j, "held_out", &i->held_out));
    FAR_TRY(far_json_count(&j, "seed", &seed));
    i->method = method;
    i->seed = (uint64_t)seed;
    bool all = method == FAR_METHOD_CG && i->trained_rows == i->rows && i->landmarks < i->rows;
    bool few = method == FAR_METHOD_NYSTROM && i->trained_rows > i->rows && i->landmarks == i->rows;
    if (!(all || few) || i->landmarks == 0 || i->held_out == 0 || i->held_out >= i->trained_rows ||
        !(i->landmarks_miss >= 0 && i->landmarks_miss <= 1) ||
        !(i->tolerance > 0 && i->tolerance < 1)) {
        st = far_json_fail(&j, "no fit has these numbers");
    }
done:
    return st;
}

static far_status check_scores(const far_json *j, const far_model_info *i)
{
    const double shares[] = {i->loo_accuracy, i->accuracy_train, i->loo_ece};
    const double sizes[] = {i->loo_rmse, i->rmse_train, i->loo_log_loss, i->log_loss_train,
                            i->loo_brier};
    bool fine = i->loo_rows > 0 && i->loo_rows <= i->trained_rows;
    for (int k = 0; k < COUNT(shares); k++) {
        fine = fine && !(shares[k] < 0 || shares[k] > 1); /* NAN: of the other task */
    }
    for (int k = 0; k < COUNT(sizes); k++) {
        fine = fine && !(sizes[k] < 0);
    }
    return fine ? FAR_OK : far_json_fail(j, "these scores cannot be");
}

static far_status read_scores(const far_json *whole, far_model_info *info)
{
    far_status st;
    far_json j;
    FAR_TRY(far_json_enter(whole, "scores", &j));
    FAR_TRY(far_json_count(&j, "loo_rows", &info->loo_rows));
    FAR_TRY(far_json_flag(&j, "noise_free", &info->noise_free));
    FAR_TRY(read_fields(&j, scores, COUNT(scores), info));
    FAR_TRY(check_scores(&j, info));
done:
    return st;
}

static far_status read_link(const far_json *j, far_model *m)
{
    far_status st;
    double *offsets = NULL;
    int64_t classes = m->info.outputs;
    FAR_TRY(far_json_number(j, "temperature", &m->info.temperature));
    if (!(m->info.temperature >= 0)) {
        return far_json_fail(j, "\"temperature\" is not 0 or more");
    }
    FAR_TRY(far_json_numbers(j, "offsets", classes, false, &offsets));
    FAR_TRY(far_alloc(j->in->ctx, classes + 1, &m->link));
    m->link[0] = m->info.temperature;
    memcpy(m->link + 1, offsets, (size_t)classes * sizeof *offsets);
done:
    far_free(j->in->ctx, offsets);
    return st;
}

static far_status read_intervals(const far_json *j, far_model *m)
{
    far_status st;
    double *sizes = NULL, *noises = NULL;
    int64_t outputs = m->info.outputs;
    FAR_TRY(far_json_numbers(j, "interval_size", outputs, false, &sizes));
    FAR_TRY(far_json_numbers(j, "interval_noise", outputs, false, &noises));
    FAR_TRY(far_alloc(j->in->ctx, outputs, &m->interval));
    for (int64_t k = 0; k < outputs; k++) {
        if (!(sizes[k] >= 0 && noises[k] >= 0)) {
            st = far_json_fail(j, "an interval is of size 0 or more, with a noise of 0 or more");
            goto done;
        }
        m->interval[k] = (far_band){sizes[k], noises[k]};
    }
done:
    far_free(j->in->ctx, sizes);
    far_free(j->in->ctx, noises);
    return st;
}

static far_status read_calibration(const far_json *whole, far_model *m)
{
    far_status st;
    far_json j;
    FAR_TRY(far_json_enter(whole, "calibration", &j));
    FAR_TRY(m->info.task == FAR_TASK_CLASSIFY ? read_link(&j, m) : FAR_OK);
    FAR_TRY(read_intervals(&j, m));
done:
    return st;
}

/* Files from before there were scores load without. */
static far_status read_quality(const far_json *whole, far_model *m)
{
    far_status st = FAR_OK;
    bool scored = json_object_get(whole->object, "scores");
    bool calibrated = json_object_get(whole->object, "calibration");
    if (scored != calibrated) {
        return far_json_fail(whole, "\"scores\" and \"calibration\" come together");
    }
    if (scored) {
        FAR_TRY(read_scores(whole, &m->info));
        FAR_TRY(read_calibration(whole, m));
    }
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

static far_status read_candidate(const far_json *j, far_candidate *c)
{
    far_status st;
    FAR_TRY(far_json_text(j, "arch", (char **)&c->arch));
    FAR_TRY(far_json_number(j, "ridge", &c->ridge));
    FAR_TRY(far_json_number(j, "loo_r2", &c->loo_r2));
    FAR_TRY(far_json_number(j, "edge_r2", &c->edge_r2));
    c->loo_log_loss = c->edge_log_loss = c->edge_doubt = NAN; /* older files have none of them */
    if (json_object_get(j->object, "loo_log_loss")) {
        FAR_TRY(far_json_number(j, "loo_log_loss", &c->loo_log_loss));
        FAR_TRY(far_json_number(j, "edge_log_loss", &c->edge_log_loss));
        FAR_TRY(far_json_number(j, "edge_doubt", &c->edge_doubt));
    }
    FAR_TRY(far_json_number(j, "log_likelihood", &c->log_likelihood));
    FAR_TRY(far_json_flag(j, "bounded", &c->bounded));
    FAR_TRY(far_json_flag(j, "chosen", &c->chosen));
    c->fold_r2 = c->fold_log_loss = c->fold_doubt = NAN;
    if (json_object_get(j->object, "metric")) {
        int32_t kind;
        int64_t rounds;
        FAR_TRY(far_json_choice(j, "metric", &metrics, &kind));
        FAR_TRY(far_json_count(j, "metric_rounds", &rounds));
        FAR_TRY(far_json_number(j, "metric_power", &c->metric_power));
        FAR_TRY(far_json_number(j, "fold_r2", &c->fold_r2));
        FAR_TRY(far_json_number(j, "fold_log_loss", &c->fold_log_loss));
        FAR_TRY(far_json_number(j, "fold_doubt", &c->fold_doubt));
        c->metric = (far_metric_kind)kind;
        c->metric_rounds = (int32_t)rounds;
    }
done:
    return st;
}

static far_status read_candidates(const far_json *j, far_model *m)
{
    far_status st;
    const json_t *list;
    int64_t count;
    FAR_TRY(far_json_list(j, "candidates", &list, &count));
    FAR_TRY(far_alloc(j->in->ctx, count, &m->candidates));
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

static far_status read_version(const far_json *j, bool sealed, int64_t *out)
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
    *out = version;
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

/* A file under a number whose readers would pass over part of what it holds, or misread it. */
static far_status check_contents(const far_json *j, const far_model *m, int64_t version)
{
    int needed = far_manifest_version(m);
    if (needed == WITHOUT_METRIC || version >= needed) { /* version 1 lacks the checksum alone */
        return FAR_OK;
    }
    return far_json_fail(j, "\"version\" is %lld, but %s came with version %d; fit again",
                         (long long)version,
                         needed == WITHOUT_RANKS   ? "a metric"
                         : needed == WITHOUT_STEPS ? "ranks"
                                                   : "ranks in steps",
                         needed);
}

static far_status read_columns(const far_json *j, far_model *m)
{
    far_status st;
    FAR_TRY(far_columns_new(j->in->ctx, &m->columns));
    m->columns->info.inputs = m->info.inputs;
    m->columns->info.outputs = m->info.outputs;
    FAR_TRY(far_columns_take(j, true, m->columns));
    if (m->columns->info.task == FAR_TASK_AUTO || !m->columns->info.named) {
        return far_json_fail(j, "\"task\" is not regress or classify");
    }
    if (m->columns->info.loss != FAR_LOSS_NONE) {
        return far_json_fail(j, "\"loss\" is of trained networks, and this is a fit");
    }
    far_model_summarize(m);
done:
    return st;
}

/* From version 3 on, where there is one. */
static far_status read_metric(const far_json *j, far_model *m)
{
    far_status st = FAR_OK;
    int32_t kind = FAR_METRIC_NONE;
    if (json_object_get(j->object, "metric")) {
        FAR_TRY(far_json_choice(j, "metric", &metrics, &kind));
    }
    m->metric.kind = kind;
done:
    return st;
}

static far_status read_all(const far_json *j, far_model *m)
{
    far_status st;
    int64_t version = 0;
    FAR_TRY(read_version(j, m->info.sealed, &version));
    FAR_TRY(far_json_flag(j, "standardize", &m->info.standardize));
    FAR_TRY(read_diagnostics(j, &m->info));
    FAR_TRY(read_columns(j, m));
    FAR_TRY(read_ridge(j, &m->info));
    FAR_TRY(check_diagnostics(j, &m->info));
    FAR_TRY(read_method(j, &m->info));
    FAR_TRY(read_quality(j, m));
    FAR_TRY(read_candidates(j, m));
    FAR_TRY(read_metric(j, m));
    FAR_TRY(check_contents(j, m, version));
    FAR_TRY(read_network(j, m));
done:
    return st;
}

far_status far_manifest_read(const far_input *in, far_model *m)
{
    json_t *json;
    far_json whole = {.in = in, .place = "manifest: "};
    far_status st = far_json_load(&whole, &json);
    if (st == FAR_OK) {
        st = read_all(&whole, m);
    }
    json_decref(json);
    return st;
}
