/* Columns as JSON: in the manifest of a model, in the metadata of a network, or alone. */
#include "columns_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Goes up when older readers would misread; new keys alone do not need it. 2 has ranks, and is
 * written where there are some; 3 has them in steps. */
#define VERSION 3
#define WITHOUT_STEPS 2
#define WITHOUT_RANKS 1
#define HASH_DIGITS 64

static const far_choices tasks = {{"auto", "regress", "classify"}, 3};
static const far_choices losses = {{"mse", "bce", "ce"}, 3};
static const far_choices kinds = {{"number", "word"}, 2};
static const far_choices notations = {{"number", "comma", "thousands", "ymd", "dmy", "mdy"}, 6};

/* ---- writing ------------------------------------------------------------------------------- */

static json_t *write_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *write_numbers(far_json_out *w, const double *values, int64_t count)
{
    json_t *array = json_array();
    for (int64_t i = 0; i < count; i++) {
        far_json_append(w, array, write_number(values[i]));
    }
    return array;
}

static json_t *write_texts(far_json_out *w, char *const *texts, int64_t count)
{
    json_t *array = json_array();
    for (int64_t i = 0; i < count; i++) {
        far_json_append(w, array, far_json_bytes(w, texts[i]));
    }
    return array;
}

/* Files from before these keys do without; plain numbers, too, but for the range. */
static void write_number_column(far_json_out *w, json_t *object, const far_feature *f)
{
    if (f->notation != FAR_NOTATION_NUMBER) {
        far_json_put(w, object, "notation", json_string(notations.names[f->notation]));
    }
    if (f->mark) {
        far_json_put(w, object, "unit", json_string(far_marks[f->mark]));
    }
    if (f->ranged) {
        far_json_put(w, object, "low", write_number(f->low));
        far_json_put(w, object, "high", write_number(f->high));
        far_json_put(w, object, "spread", write_number(f->spread));
    }
    if (f->knots > 0) {
        far_json_put(w, object, "knots", write_numbers(w, f->knot, f->knots));
        far_json_put(w, object, "ranks", write_numbers(w, f->rank, f->knots));
    }
    if (f->steps > 0) {
        far_json_put(w, object, "edges", write_numbers(w, f->edge, f->steps + 1));
    }
}

static json_t *write_feature(far_json_out *w, const far_feature *f)
{
    json_t *object = json_object();
    far_json_put(w, object, "name", far_json_bytes(w, f->name));
    far_json_put(w, object, "kind", json_string(kinds.names[f->kind]));
    if (f->kind == FAR_COLUMN_NUMBER) {
        far_json_put(w, object, "fill", write_number(f->fill));
        write_number_column(w, object, f);
        return object;
    }
    bool known = f->fill_code >= 0 && f->fill_code < f->level_count;
    far_json_put(w, object, "levels", write_texts(w, f->levels, f->level_count));
    far_json_put(w, object, "fill",
                 known ? far_json_bytes(w, f->levels[f->fill_code]) : json_null());
    return object;
}

static json_t *write_features(far_json_out *w, const far_columns *c)
{
    json_t *array = json_array();
    for (int64_t j = 0; j < c->info.features; j++) {
        far_json_append(w, array, write_feature(w, &c->features[j]));
    }
    return array;
}

/* names NULL: they are those of targets and classes. */
static json_t *write_scaling(far_json_out *w, char *const *names, const double *centre,
                             const double *scale, int64_t count)
{
    json_t *object = json_object();
    if (names) {
        far_json_put(w, object, "names", write_texts(w, names, count));
    }
    far_json_put(w, object, "centre", write_numbers(w, centre, count));
    far_json_put(w, object, "scale", write_numbers(w, scale, count));
    return object;
}

void far_columns_put(far_json_out *w, json_t *object, const far_columns *c, bool scaling)
{
    const far_columns_info *info = &c->info;
    far_json_put(w, object, "task", json_string(tasks.names[info->task]));
    if (info->loss != FAR_LOSS_NONE) {
        far_json_put(w, object, "loss", json_string(losses.names[info->loss]));
    }
    far_json_put(w, object, "impute", json_boolean(info->impute));
    far_json_put(w, object, "features", info->named ? write_features(w, c) : json_null());
    if (scaling) {
        far_json_put(
            w, object, "inputs",
            write_scaling(w, c->inputs, far_input_centre(c), far_input_scale(c), info->inputs));
    }
    far_json_put(w, object, "targets", write_texts(w, c->targets, info->targets));
    far_json_put(w, object, "classes",
                 c->classes ? write_texts(w, c->classes, info->classes) : json_null());
    if (scaling) {
        far_json_put(
            w, object, "outputs",
            write_scaling(w, NULL, far_output_centre(c), far_output_scale(c), info->outputs));
    }
    far_json_put(w, object, "data_hash", c->hash[0] ? json_string(c->hash) : json_null());
}

static int version_of(const far_columns *c)
{
    return far_columns_stepped(c) ? VERSION : far_columns_ranked(c) ? WITHOUT_STEPS : WITHOUT_RANKS;
}

far_status far_columns_print(const far_columns *c, bool scaling, far_text *out)
{
    far_json_out w = {.ctx = out->ctx};
    json_t *object = json_object();
    far_json_put(&w, object, "version", json_integer(version_of(c)));
    far_columns_put(&w, object, c, scaling);
    return far_json_print(&w, object, JSON_COMPACT, "the columns", out);
}

far_status far_columns_write(far_ctx *ctx, const far_columns *c, char **out)
{
    far_text text = {.ctx = ctx};
    far_status st = c && out ? far_columns_print(c, true, &text)
                             : far_fail(ctx, FAR_ERR_ARG, "the columns or out is NULL");
    if (st == FAR_OK) {
        *out = text.data;
    } else {
        far_free(ctx, text.data);
    }
    return st;
}

/* ---- reading: features --------------------------------------------------------------------- */

/* Encoding matches levels in one pass over both lists. */
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

static far_status read_mark(const far_json *j, far_feature *f)
{
    const char *unit = json_string_value(json_object_get(j->object, "unit"));
    for (int k = 0; unit && k < FAR_MARKS; k++) {
        if (strcmp(unit, far_marks[k]) == 0) {
            f->mark = k;
            return FAR_OK;
        }
    }
    return far_json_fail(j, "\"unit\" is none that numbers have");
}

static far_status read_range(const far_json *j, far_feature *f)
{
    far_status st;
    FAR_TRY(far_json_number(j, "low", &f->low));
    FAR_TRY(far_json_number(j, "high", &f->high));
    FAR_TRY(far_json_number(j, "spread", &f->spread));
    f->ranged = f->low <= f->high && f->spread >= 0;
    if (!f->ranged) {
        st = far_json_fail(j, "\"low\", \"high\" and \"spread\" are no range");
    }
done:
    return st;
}

/* Ascending both, and ranks no larger than any can be. */
static far_status read_ranks(const far_json *j, far_feature *f)
{
    far_status st;
    const json_t *list;
    int64_t count;
    FAR_TRY(far_json_list(j, "knots", &list, &count));
    FAR_TRY(far_json_numbers(j, "knots", count, false, &f->knot));
    FAR_TRY(far_json_numbers(j, "ranks", count, false, &f->rank));
    bool fine = count > 0;
    for (int64_t k = 0; k < count; k++) {
        fine = fine && fabs(f->rank[k]) <= 2 &&
               (k == 0 || (f->knot[k] > f->knot[k - 1] && f->rank[k] > f->rank[k - 1]));
    }
    if (!fine) {
        FAR_TRY(
            far_json_fail(j, "\"knots\" and \"ranks\" are no ranks: both ascend, from -2 to 2"));
    }
    f->knots = count;
    f->width = 2;
done:
    return st;
}

/* Ascending ranks. */
static far_status read_edges(const far_json *j, far_feature *f)
{
    far_status st;
    const json_t *list;
    int64_t count;
    FAR_TRY(far_json_list(j, "edges", &list, &count));
    FAR_TRY(far_json_numbers(j, "edges", count, false, &f->edge));
    bool fine = f->knots > 0 && count > 1 && count <= FAR_MOST_STEPS + 1;
    for (int64_t k = 0; fine && k < count; k++) {
        fine = fabs(f->edge[k]) <= 2 && (k == 0 || f->edge[k] > f->edge[k - 1]);
    }
    if (!fine) {
        FAR_TRY(far_json_fail(j,
                              "\"edges\" cut no ranks in steps: 2 to %d of them ascend, from -2 to "
                              "2, beside \"knots\"",
                              FAR_MOST_STEPS + 1));
    }
    f->steps = count - 1;
    f->width = 1 + f->steps;
done:
    return st;
}

/* What is written of newer files alone. */
static far_status read_number_column(const far_json *j, far_feature *f)
{
    far_status st = FAR_OK;
    int32_t notation = FAR_NOTATION_NUMBER;
    if (json_object_get(j->object, "notation")) {
        FAR_TRY(far_json_choice(j, "notation", &notations, &notation));
    }
    f->notation = (far_notation)notation;
    FAR_TRY(json_object_get(j->object, "unit") ? read_mark(j, f) : FAR_OK);
    FAR_TRY(json_object_get(j->object, "low") ? read_range(j, f) : FAR_OK);
    FAR_TRY(json_object_get(j->object, "knots") ? read_ranks(j, f) : FAR_OK);
    FAR_TRY(json_object_get(j->object, "edges") ? read_edges(j, f) : FAR_OK);
done:
    return st;
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
    FAR_TRY(f->kind == FAR_COLUMN_NUMBER ? read_number_column(j, f) : FAR_OK);
done:
    return st;
}

static far_status check_feature_names(const far_json *j, const far_columns *c)
{
    const char **names = NULL;
    far_status st = far_alloc(j->in->ctx, c->info.features, &names);
    for (int64_t i = 0; st == FAR_OK && i < c->info.features; i++) {
        names[i] = c->features[i].name;
    }
    if (st == FAR_OK) {
        st = far_json_distinct(j, "features", names, c->info.features);
    }
    far_free(j->in->ctx, names);
    return st;
}

/* *width: the inputs they make. */
static far_status read_features(const far_json *j, far_columns *c, int64_t *width)
{
    far_status st;
    const json_t *list;
    int64_t count;
    *width = 0;
    FAR_TRY(far_json_list(j, "features", &list, &count));
    FAR_TRY(far_alloc(j->in->ctx, count, &c->features));
    c->info.features = count;
    for (int64_t i = 0; i < count; i++) {
        far_json element;
        FAR_TRY(far_json_element(j, "features", list, i, &element));
        FAR_TRY(read_feature(&element, c->info.impute, &c->features[i]));
        c->features[i].first = *width;
        *width += c->features[i].width;
    }
    FAR_TRY(check_feature_names(j, c));
done:
    return st;
}

static far_status check_inputs(const far_json *j, int64_t width, far_columns *c)
{
    if (c->info.inputs >= 0 && c->info.inputs != width) {
        return far_json_fail(j, "\"features\" make %lld inputs where %lld were announced",
                             (long long)width, (long long)c->info.inputs);
    }
    c->info.inputs = width;
    return FAR_OK;
}

/* Two inputs may share a name: a column "a=b" and the category b of a column a. */
static far_status read_input_names(const far_json *whole, int64_t width, far_columns *c)
{
    far_status st;
    far_json j;
    char **names = NULL;
    int64_t count = 0;
    FAR_TRY(far_json_enter(whole, "inputs", &j));
    FAR_TRY(far_json_texts(&j, "names", &names, &count));
    if (width >= 0 && count != width) {
        st = far_json_fail(&j, "\"names\" has %lld entries where %lld were announced",
                           (long long)count, (long long)width);
        goto done;
    }
    c->info.inputs = count;
    c->inputs = names;
    names = NULL;
done:
    far_texts_free(whole->in->ctx, names, count);
    return st;
}

static far_status read_inputs(const far_json *j, bool scaling, far_columns *c)
{
    far_status st;
    int64_t width = -1, announced = c->info.inputs;
    const json_t *features;
    FAR_TRY(far_json_get(j, "features", &features));
    c->info.named = !json_is_null(features);
    if (c->info.named) {
        FAR_TRY(read_features(j, c, &width));
        FAR_TRY(check_inputs(j, width, c));
    } else if (!scaling) {
        return far_json_fail(j, "\"features\" is null, and nothing else names the inputs");
    }
    c->info.inputs = 0; /* names free so many */
    if (scaling) {
        FAR_TRY(read_input_names(j, c->info.named ? width : announced, c));
    } else {
        c->info.inputs = width;
        FAR_TRY(far_columns_name(c));
    }
done:
    return st;
}

/* ---- reading: targets ---------------------------------------------------------------------- */

/* Of two classes bce has one output. */
static int64_t outputs_of_classes(const far_columns *c, int64_t classes)
{
    return c->info.loss == FAR_LOSS_BCE && classes == 2 ? 1 : classes;
}

static far_status check_classes(const far_json *j, const far_columns *c, int64_t classes)
{
    int64_t announced = c->info.outputs;
    if (announced >= 0 && announced != outputs_of_classes(c, classes) && announced != classes) {
        return far_json_fail(j, "\"classes\" has %lld entries where %lld outputs were announced",
                             (long long)classes, (long long)announced);
    }
    if (c->info.targets != 1) {
        return far_json_fail(j, "\"targets\" has %lld entries; classes have one target",
                             (long long)c->info.targets);
    }
    return FAR_OK;
}

static far_status read_classes(const far_json *j, far_columns *c)
{
    char **names = NULL;
    int64_t count = 0;
    far_status st = far_json_names(j, "classes", &names, &count);
    if (st == FAR_OK) {
        st = check_classes(j, c, count);
    }
    if (st != FAR_OK) {
        far_texts_free(j->in->ctx, names, count);
        return st;
    }
    c->classes = names;
    c->info.classes = count;
    c->info.outputs = c->info.outputs >= 0 ? c->info.outputs : outputs_of_classes(c, count);
    return FAR_OK;
}

static far_status check_no_classes(const far_json *j, far_columns *c)
{
    const json_t *classes;
    far_status st = far_json_get(j, "classes", &classes);
    if (st == FAR_OK && !json_is_null(classes)) {
        return far_json_fail(j, "\"classes\" is not null, but the task is to regress");
    }
    if (st == FAR_OK && c->info.outputs >= 0 && c->info.targets != c->info.outputs) {
        return far_json_fail(j, "\"targets\" has %lld entries where %lld outputs were announced",
                             (long long)c->info.targets, (long long)c->info.outputs);
    }
    c->info.outputs = c->info.targets;
    return st;
}

static far_status read_targets(const far_json *j, far_columns *c)
{
    far_status st;
    FAR_TRY(far_json_names(j, "targets", &c->targets, &c->info.targets));
    FAR_TRY(c->info.task == FAR_TASK_CLASSIFY ? read_classes(j, c) : check_no_classes(j, c));
done:
    return st;
}

/* ---- reading: the rest --------------------------------------------------------------------- */

static far_status read_part(const far_json *whole, const char *key, int64_t count, double *centre,
                            double *scale)
{
    far_status st;
    far_json j;
    double *values[2] = {NULL, NULL};
    FAR_TRY(far_json_enter(whole, key, &j));
    FAR_TRY(far_json_numbers(&j, "centre", count, false, &values[0]));
    FAR_TRY(far_json_numbers(&j, "scale", count, true, &values[1]));
    memcpy(centre, values[0], (size_t)count * sizeof *centre);
    memcpy(scale, values[1], (size_t)count * sizeof *scale);
done:
    far_free(whole->in->ctx, values[0]);
    far_free(whole->in->ctx, values[1]);
    return st;
}

static far_status read_scaling(const far_json *j, far_columns *c)
{
    far_status st = read_part(j, "inputs", c->info.inputs, far_input_centre(c), far_input_scale(c));
    return st == FAR_OK
               ? read_part(j, "outputs", c->info.outputs, far_output_centre(c), far_output_scale(c))
               : st;
}

static far_status read_hash(const far_json *j, far_columns *c)
{
    const json_t *value;
    far_status st = far_json_get(j, "data_hash", &value);
    const char *text = json_string_value(value);
    if (st != FAR_OK || (json_is_null(value) && !c->info.named)) {
        return st;
    }
    if (!text || json_string_length(value) != HASH_DIGITS ||
        strspn(text, "0123456789abcdef") != HASH_DIGITS) {
        return far_json_fail(j, "\"data_hash\" is not %d hexadecimal digits", HASH_DIGITS);
    }
    memcpy(c->hash, text, HASH_DIGITS + 1);
    return FAR_OK;
}

far_status far_columns_take(const far_json *j, bool scaling, far_columns *c)
{
    far_status st;
    int32_t task, loss = FAR_LOSS_NONE;
    FAR_TRY(far_json_choice(j, "task", &tasks, &task));
    c->info.task = (far_task)task;
    if (json_object_get(j->object, "loss")) {
        FAR_TRY(far_json_choice(j, "loss", &losses, &loss));
    }
    c->info.loss = (far_loss)loss;
    FAR_TRY(far_json_flag(j, "impute", &c->info.impute));
    FAR_TRY(read_inputs(j, scaling, c));
    FAR_TRY(read_targets(j, c));
    FAR_TRY(far_columns_unscaled(c));
    if (scaling) {
        FAR_TRY(read_scaling(j, c));
    }
    FAR_TRY(read_hash(j, c));
done:
    return st;
}

static far_status read_version(const far_json *j, int64_t *version)
{
    far_status st = far_json_count(j, "version", version);
    if (st == FAR_OK && *version > VERSION) {
        return far_json_fail(j, "were written by a newer farfield; update farfield");
    }
    return st;
}

/* What they hold must be of the version that they claim. */
static far_status check_contents(const far_json *j, const far_columns *c, int64_t version)
{
    int needed = version_of(c);
    if (needed == WITHOUT_RANKS || version >= needed) {
        return FAR_OK;
    }
    return far_json_fail(j, "\"version\" is %lld, but %s came with version %d", (long long)version,
                         needed == VERSION ? "ranks in steps" : "ranks", needed);
}

far_status far_columns_parse(far_ctx *ctx, const char *label, const char *text, bool scaling,
                             far_columns *c)
{
    far_input in = {.ctx = ctx, .data = (unsigned char *)text, .size = (int64_t)strlen(text)};
    snprintf(in.label, sizeof in.label, "%s", label);
    far_json whole = {.in = &in};
    json_t *json = NULL;
    int64_t version = 0;
    far_status st = far_json_load(&whole, &json);
    st = st == FAR_OK ? read_version(&whole, &version) : st;
    st = st == FAR_OK ? far_columns_take(&whole, scaling, c) : st;
    st = st == FAR_OK ? check_contents(&whole, c, version) : st;
    json_decref(json);
    return st;
}

far_status far_columns_read(far_ctx *ctx, const char *text, far_columns **out)
{
    far_status st;
    far_columns *c = NULL;
    if (!text || !out) {
        return far_fail(ctx, FAR_ERR_ARG, "the text or out is NULL");
    }
    *out = NULL;
    FAR_TRY(far_columns_new(ctx, &c));
    c->info.inputs = c->info.outputs = -1;
    FAR_TRY(far_columns_parse(ctx, "columns", text, true, c));
done:
    FAR_HAND_OVER(c, out, far_columns_destroy);
    return st;
}
