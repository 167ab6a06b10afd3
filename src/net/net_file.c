/* Networks from safetensors files, which may come from anywhere: ours, or a state_dict. */
#include "net_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const far_init_names[FAR_INIT_COUNT] = {
    "kaiming_normal", "kaiming_uniform", "lecun", "siren", "ntk", "torch"};

typedef struct loader {
    far_ctx *ctx;
    const far_safetensors *file;
    far_modules modules;
    const far_module **matches; /* one a step; NULL where it has no tensors */
    far_net *net;
} loader;

/* ---- what the metadata say ----------------------------------------------------------------- */

static const char *text_of(const loader *l, const char *key)
{
    return far_safetensors_text(l->file, key);
}

static far_status fail_text(const loader *l, const char *key, const char *wanted)
{
    char shown[64];
    const char *text = text_of(l, key);
    far_show(shown, sizeof shown, text, (int64_t)strlen(text));
    return far_input_fail(&l->file->in, FAR_ERR_FORMAT, "metadata: %s is '%s', not %s", key, shown,
                          wanted);
}

static far_status read_param(const loader *l, far_param *out)
{
    const char *text = text_of(l, "param");
    *out = text && strcmp(text, "ntk") == 0 ? FAR_PARAM_NTK : FAR_PARAM_STANDARD;
    if (text && *out == FAR_PARAM_STANDARD && strcmp(text, "standard") != 0) {
        return fail_text(l, "param", "ntk or standard");
    }
    return FAR_OK;
}

static far_status read_init(loader *l)
{
    const char *text = text_of(l, "init");
    for (int32_t i = 0; text && i < FAR_INIT_COUNT; i++) {
        if (strcmp(text, far_init_names[i]) == 0) {
            l->net->info.init = i;
            return FAR_OK;
        }
    }
    return text ? fail_text(l, "init", "a way to start that this version knows") : FAR_OK;
}

static far_status read_seed(loader *l)
{
    const char *text = text_of(l, "seed");
    char *end;
    if (!text) {
        return FAR_OK;
    }
    l->net->info.seed = strtoull(text, &end, 10);
    bool digits = *text >= '0' && *text <= '9' && !*end && strlen(text) <= 20;
    return digits ? FAR_OK : fail_text(l, "seed", "a whole number");
}

/* The text is count numbers with single blanks between them, and nothing else. */
static bool parse_numbers(const char *text, int64_t count, bool positive, double *out)
{
    for (int64_t i = 0; i < count; i++) {
        bool blank = i > 0 && *text == ' ';
        text = far_number_parse(text + blank, &out[i]);
        if (!text || blank != (i > 0) || !isfinite(out[i]) || (positive && out[i] <= 0)) {
            return false;
        }
    }
    return *text == 0;
}

static far_status read_w0(loader *l)
{
    const char *text = text_of(l, "w0");
    if (text && !parse_numbers(text, 1, true, &l->net->info.w0)) {
        return fail_text(l, "w0", "a number above 0");
    }
    return FAR_OK;
}

static far_status read_part_of_scaling(const loader *l, const char *key, bool positive,
                                       far_mat *out)
{
    char wanted[80];
    const char *text = text_of(l, key);
    if (!text || parse_numbers(text, out->cols, positive, out->data)) {
        return FAR_OK;
    }
    snprintf(wanted, sizeof wanted, "%lld number%s%s with single blanks between them",
             (long long)out->cols, far_plural(out->cols), positive ? " above 0" : "");
    return fail_text(l, key, wanted);
}

/* What is not said stays as it is: nothing is moved or scaled. */
static far_status read_scaling(loader *l)
{
    far_status st;
    int64_t d = l->net->info.inputs, o = l->net->info.outputs;
    double *all = NULL;
    FAR_TRY(far_alloc(l->ctx, 2 * (d + o), &all));
    memcpy(all, l->net->columns->scaling, (size_t)(2 * (d + o)) * sizeof *all);
    far_scaling s = {.input_centre = far_mat_view(all, 1, d, FAR_F64),
                     .input_scale = far_mat_view(all + d, 1, d, FAR_F64),
                     .output_centre = far_mat_view(all + 2 * d, 1, o, FAR_F64),
                     .output_scale = far_mat_view(all + 2 * d + o, 1, o, FAR_F64)};
    FAR_TRY(read_part_of_scaling(l, "input_centre", false, &s.input_centre));
    FAR_TRY(read_part_of_scaling(l, "input_scale", true, &s.input_scale));
    FAR_TRY(read_part_of_scaling(l, "output_centre", false, &s.output_centre));
    FAR_TRY(read_part_of_scaling(l, "output_scale", true, &s.output_scale));
    FAR_TRY(far_net_set_scaling(l->ctx, l->net, &s));
done:
    far_free(l->ctx, all);
    return st;
}

/* The columns of the table it was trained on: theirs is the network's scaling. */
static far_status read_columns(loader *l)
{
    far_status st;
    far_net *net = l->net;
    far_columns *c = NULL;
    char label[FAR_LABEL_BYTES + 16];
    const char *text = text_of(l, FAR_COLUMNS_KEY);
    if (!text) {
        return FAR_OK;
    }
    FAR_TRY(far_columns_new(l->ctx, &c));
    c->info.inputs = net->info.inputs;
    c->info.outputs = net->info.outputs;
    snprintf(label, sizeof label, "%s: columns", l->file->in.label);
    FAR_TRY(far_columns_parse(l->ctx, label, text, false, c));
    memcpy(c->scaling, net->columns->scaling, (size_t)far_scaling_count(c) * sizeof *c->scaling);
    far_columns_destroy(net->columns);
    net->columns = c;
    c = NULL;
done:
    far_columns_destroy(c);
    return st;
}

static far_status read_other_texts(loader *l)
{
    far_status st = FAR_OK;
    const far_safetensors *f = l->file;
    FAR_TRY(far_alloc(l->ctx, f->metadata_count, &l->net->meta));
    for (int64_t i = 0; i < f->metadata_count; i++) {
        const far_pair *p = &f->metadata[i];
        if (!far_net_reserved(p->key)) {
            far_meta *m = &l->net->meta[l->net->meta_count++];
            *m = (far_meta){0};
            FAR_TRY(far_copy_text(l->ctx, p->key, (int64_t)strlen(p->key), &m->key));
            FAR_TRY(far_copy_text(l->ctx, p->value, (int64_t)strlen(p->value), &m->value));
        }
    }
done:
    return st;
}

/* Where a network comes from is believed of files that say they are ours. */
static far_status read_metadata(loader *l)
{
    far_status st;
    FAR_TRY(read_scaling(l));
    if (text_of(l, "farfield")) {
        FAR_TRY(read_init(l));
        FAR_TRY(read_seed(l));
        FAR_TRY(read_w0(l));
        FAR_TRY(read_columns(l));
    }
    FAR_TRY(read_other_texts(l));
done:
    return st;
}

/* ---- the architecture ---------------------------------------------------------------------- */

static far_status fail_no_arch(const loader *l)
{
    far_text t = {.ctx = l->ctx};
    far_modules_suggest(&l->modules, &t);
    far_status st = t.status;
    if (st == FAR_OK) {
        st = far_input_fail(&l->file->in, FAR_ERR_ARG,
                            "does not say its architecture; give it (`arch`), for example '%s'",
                            l->modules.count ? t.data : "dense(128) relu dense(1)");
    }
    far_free(l->ctx, t.data);
    return st;
}

/* A text from the file is the file's fault, and one line of what is wrong with it is enough; one
 * that the caller gave keeps its caret. */
static far_status blame(const loader *l, far_status status, bool from_file)
{
    char text[400];
    const char *message = far_ctx_message(l->ctx);
    if (!from_file || (status != FAR_ERR_PARSE && status != FAR_ERR_ARCH)) {
        return status;
    }
    far_show(text, sizeof text, message, (int64_t)strcspn(message, "\n"));
    return far_input_fail(&l->file->in, FAR_ERR_FORMAT, "metadata: arch: %s", text);
}

/* A file without tensors always has the scaling, which has as many numbers as there are inputs. */
static far_status count_inputs(const loader *l, int64_t *inputs)
{
    const char *text = text_of(l, "input_centre");
    if (l->modules.count > 0) {
        return far_input_fail(&l->file->in, FAR_ERR_FORMAT,
                              "has weights, but no layer of its architecture has any");
    }
    if (!text) {
        return far_input_fail(&l->file->in, FAR_ERR_FORMAT,
                              "has no weights, so nothing says how many inputs there are");
    }
    *inputs = 1;
    for (; *text; text++) {
        *inputs += *text == ' ';
    }
    return FAR_OK;
}

static far_status check_inputs(const loader *l, int64_t *inputs)
{
    if (*inputs < 0) {
        return count_inputs(l, inputs);
    }
    return *inputs > 0 ? FAR_OK
                       : far_input_fail(&l->file->in, FAR_ERR_FORMAT,
                                        "its first layer has no inputs (a tensor without values)");
}

static far_status outline(loader *l, const char *text, bool from_file)
{
    far_status st;
    far_arch *arch = NULL;
    far_param param;
    int64_t inputs, outputs;
    FAR_TRY(read_param(l, &param));
    FAR_TRY(blame(l, far_arch_parse(l->ctx, text, &arch), from_file));
    FAR_TRY(far_modules_ends(&l->modules, arch, &inputs, &outputs));
    FAR_TRY(check_inputs(l, &inputs));
    FAR_TRY(blame(l, far_net_outline(l->ctx, text, inputs, outputs, param, &l->net), from_file));
done:
    far_arch_destroy(arch);
    return st;
}

/* The caller's text beside the file's own: the same, or the same with lora, by which the network
 * of the file is to be tuned. */
static far_status check_same(loader *l, const char *arch)
{
    far_net *other = NULL;
    char *plain = NULL;
    far_status st;
    const far_net_info *info = &l->net->info;
    FAR_TRY(
        far_net_outline(l->ctx, arch, info->inputs, info->outputs, (far_param)info->param, &other));
    FAR_TRY(far_arch_plain_text(l->ctx, other->text, &plain));
    bool same = strcmp(other->text, l->net->text) == 0;
    if (!same && strcmp(plain, l->net->text) != 0) {
        FAR_TRY(far_input_fail(&l->file->in, FAR_ERR_ARG,
                               "was saved with the architecture '%.400s', not '%.400s'; leave "
                               "`arch` out",
                               l->net->text, other->text));
    }
    if (!same) {
        far_net_destroy(l->net);
        l->net = other;
        other = NULL;
    }
done:
    far_net_destroy(other);
    far_free(l->ctx, plain);
    return st;
}

static far_status make_outline(loader *l, const char *arch)
{
    far_status st;
    const char *text = text_of(l, "arch");
    far_text known = {.ctx = l->ctx};
    if (!text && !arch && far_modules_are_residual(&l->modules)) {
        FAR_TRY(far_modules_residual(&l->modules, &known));
        arch = known.data;
    }
    if (!text && !arch) {
        return fail_no_arch(l);
    }
    FAR_TRY(outline(l, text ? text : arch, text != NULL));
    if (text && arch) {
        FAR_TRY(check_same(l, arch));
    }
done:
    far_free(l->ctx, known.data);
    return st;
}

/* ---- values -------------------------------------------------------------------------------- */

static far_status fail_value(const far_input *in, const far_tensor *t, int64_t index, double value,
                             const char *why)
{
    int64_t cols = t->values.cols;
    char place[80];
    if (t->dims == 2) {
        snprintf(place, sizeof place, "row %lld, column %lld", (long long)(index / cols) + 1,
                 (long long)(index % cols) + 1);
    } else {
        snprintf(place, sizeof place, "value %lld", (long long)index + 1);
    }
    return far_tensor_fail(in, FAR_ERR_VALUE, t->name, "%s is %g; %s", place, value, why);
}

static far_status check_values(const far_input *in, const far_tensor *t, const double *values,
                               bool transposed, far_part part)
{
    int64_t rows = t->values.rows, cols = t->values.cols;
    for (int64_t i = 0; i < rows * cols; i++) {
        double value = values[transposed ? i % cols * rows + i / cols : i];
        if (!isfinite(value)) {
            return fail_value(in, t, i, value, "the network is of no use (did training diverge?)");
        }
        if (part == FAR_PART_VARIANCE && value < 0) {
            return fail_value(in, t, i, value, "a variance is 0 or more");
        }
    }
    return FAR_OK;
}

static far_status copy_tensor(const far_input *in, const far_tensor *t, bool transposed,
                              far_part part, double *out)
{
    int64_t down = transposed ? 1 : t->values.cols, right = transposed ? t->values.rows : 1;
    far_stored_numbers(&t->values, out, down, right);
    return check_values(in, t, out, transposed, part);
}

static far_status copy_step(loader *l, const far_step *s, const far_module *m)
{
    far_status st = FAR_OK;
    for (int p = 0; p < FAR_PARTS; p++) {
        bool transposed = p == FAR_PART_WEIGHT && m->transposed;
        if (m->parts[p]) {
            FAR_TRY(copy_tensor(&l->file->in, m->parts[p], transposed, (far_part)p,
                                far_net_part(l->net, s, (far_part)p)));
        }
    }
done:
    return st;
}

static far_status copy_all(loader *l)
{
    far_status st = FAR_OK;
    for (int64_t i = 0; i < l->net->step_count; i++) {
        if (l->matches[i]) {
            FAR_TRY(copy_step(l, &l->net->steps[i], l->matches[i]));
        }
    }
done:
    return st;
}

/* Adapters that the file does not have. */
static void draw_missing(loader *l)
{
    for (int64_t i = 0; i < l->net->step_count; i++) {
        const far_step *s = &l->net->steps[i];
        if (s->rank > 0 && !l->matches[i]->parts[FAR_PART_LORA_A]) {
            far_step_draw_adapter(l->net, s, l->net->info.seed);
        }
    }
}

/* ---- where a linearised network starts ----------------------------------------------------- */

static bool is_linearized(const loader *l)
{
    const char *text = text_of(l, "linearized");
    return text && text_of(l, "farfield") && strcmp(text, "1") == 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const far_tensor *const *)a)->name, (*(const far_tensor *const *)b)->name);
}

/* The starts of the file, sorted by name. */
static far_status list_starts(const loader *l, const far_tensor ***out, int64_t *count)
{
    far_status st = far_alloc(l->ctx, l->file->tensor_count, out);
    *count = 0;
    for (int64_t i = 0; st == FAR_OK && i < l->file->tensor_count; i++) {
        const far_tensor *t = &l->file->tensors[i];
        if (strncmp(t->name, FAR_START_PREFIX, strlen(FAR_START_PREFIX)) == 0) {
            (*out)[(*count)++] = t;
        }
    }
    if (st == FAR_OK) {
        qsort(*out, (size_t)*count, sizeof **out, by_name);
    }
    return st;
}

static far_status fail_start(const loader *l, const far_tensor *found, const char *name,
                             const far_net_tensor_info *t)
{
    char shape[FAR_SHAPE_BYTES], wanted[FAR_SHAPE_BYTES];
    far_tensor like = {.dims = t->dims};
    memcpy(like.shape, t->shape, sizeof t->shape);
    if (!found) {
        return far_tensor_fail(&l->file->in, FAR_ERR_FORMAT, name,
                               "is missing; a linearised network has a start for every weight");
    }
    far_tensor_shape(found, shape);
    far_tensor_shape(&like, wanted);
    return far_tensor_fail(&l->file->in, FAR_ERR_FORMAT, name, "is %s, but %s is %s", shape,
                           t->name, wanted);
}

/* Starts are ours: they have our names and lie as in PyTorch. */
static far_status copy_start(loader *l, const far_net_tensor_info *t, const far_tensor *const *all,
                             int64_t count, int64_t *used)
{
    far_text name = {.ctx = l->ctx};
    far_text_add(&name, FAR_START_PREFIX "%s", t->name);
    far_status st = name.status;
    if (st == FAR_OK) {
        const far_tensor key = {.name = name.data}, *wanted = &key;
        const far_tensor *const *found = bsearch(&wanted, all, (size_t)count, sizeof *all, by_name);
        bool fits = found && (*found)->dims == t->dims &&
                    memcmp((*found)->shape, t->shape, (size_t)t->dims * sizeof *t->shape) == 0;
        if (!fits) {
            st = fail_start(l, found ? *found : NULL, name.data, t);
        } else {
            st = copy_tensor(&l->file->in, *found, false, FAR_PART_WEIGHT,
                             l->net->start + t->parameter);
            ++*used;
        }
    }
    far_free(l->ctx, name.data);
    return st;
}

static far_status read_start(loader *l)
{
    far_status st;
    const far_tensor **all = NULL;
    int64_t count, used = 0;
    FAR_TRY(far_net_linearize(l->ctx, l->net));
    FAR_TRY(list_starts(l, &all, &count));
    for (int64_t i = 0; i < l->net->info.tensors; i++) {
        far_net_tensor_info t = far_net_tensor(l->net, i);
        if (t.parameter >= 0) {
            FAR_TRY(copy_start(l, &t, all, count, &used));
        }
    }
    if (used != count) {
        st = far_input_fail(&l->file->in, FAR_ERR_FORMAT,
                            "has %lld tensors named start...., but its architecture has %lld",
                            (long long)count, (long long)used);
    }
done:
    far_free(l->ctx, all);
    return st;
}

/* ---- the whole ----------------------------------------------------------------------------- */

static far_status read_all(loader *l, const char *arch)
{
    far_status st;
    FAR_TRY(far_modules_read(l->file, is_linearized(l), &l->modules));
    FAR_TRY(make_outline(l, arch));
    FAR_TRY(far_alloc(l->ctx, l->net->step_count, &l->matches));
    FAR_TRY(far_modules_match(&l->modules, l->net, l->matches));
    FAR_TRY(far_net_allocate(l->net));
    FAR_TRY(copy_all(l));
    FAR_TRY(read_metadata(l));
    draw_missing(l);
    l->net->info.sealed = l->file->sealed;
    if (is_linearized(l)) {
        FAR_TRY(read_start(l));
    }
done:
    return st;
}

static far_status make_net(const far_safetensors *file, const char *arch, far_net **out)
{
    loader l = {.ctx = file->in.ctx, .file = file};
    far_status st = read_all(&l, arch);
    if (st == FAR_OK) {
        *out = l.net;
        l.net = NULL;
    }
    far_net_destroy(l.net);
    far_modules_clear(&l.modules);
    far_free(l.ctx, l.matches);
    return far_label_failure(file->in.ctx, st, file->in.label);
}

far_status far_net_load(far_ctx *ctx, const char *path, const char *arch, far_net **out)
{
    far_status st;
    far_safetensors file = {0};
    if (!ctx || !out) {
        return far_fail(ctx, FAR_ERR_ARG, "out is NULL");
    }
    *out = NULL;
    FAR_TRY(far_safetensors_load(ctx, path, &file));
    FAR_TRY(make_net(&file, arch, out));
done:
    far_safetensors_clear(&file);
    return st;
}

far_status far_net_parse_bytes(far_ctx *ctx, const char *label, const void *data, int64_t size,
                               const char *arch, far_net **out)
{
    far_status st;
    far_safetensors file = {0};
    *out = NULL;
    FAR_TRY(far_safetensors_parse_bytes(ctx, label, data, size, &file));
    FAR_TRY(make_net(&file, arch, out));
done:
    far_safetensors_clear(&file);
    return st;
}
