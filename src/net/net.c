/* Making, copying and asking a network. */
#include "../data/safetensors.h"
#include "net_internal.h"

#include <math.h>
#include <string.h>

void far_net_opts_init(far_net_opts *opts)
{
    *opts = (far_net_opts){.size = sizeof *opts, .init = FAR_INIT_KAIMING_NORMAL, .w0 = 30};
}

static far_status check_opts(far_ctx *ctx, const far_net_opts *o)
{
    if (!o || o->size != sizeof *o) {
        return far_fail(ctx, FAR_ERR_ARG, "opts: call far_net_opts_init first");
    }
    if (o->init < FAR_INIT_KAIMING_NORMAL || o->init > FAR_INIT_TORCH) {
        return far_fail(ctx, FAR_ERR_ARG, "opts: init %d is no far_init", (int)o->init);
    }
    if (!(o->w0 > 0) || isinf(o->w0)) {
        return far_fail(ctx, FAR_ERR_ARG, "opts: w0 is %g; it must be positive", o->w0);
    }
    if (o->outputs < 0) {
        return far_fail(ctx, FAR_ERR_ARG, "opts: %lld outputs", (long long)o->outputs);
    }
    return FAR_OK;
}

far_status far_net_create(far_ctx *ctx, const char *arch, const far_net_opts *opts, far_net **out)
{
    far_status st = FAR_OK;
    *out = NULL;
    FAR_TRY(check_opts(ctx, opts));
    far_param param = opts->init == FAR_INIT_NTK ? FAR_PARAM_NTK : FAR_PARAM_STANDARD;
    FAR_TRY(far_net_compile(ctx, arch, opts->inputs, opts->outputs, param, out));
    far_net_draw(*out, (far_init)opts->init, opts->w0, opts->seed);
done:
    return st;
}

static void free_meta(far_net *net)
{
    for (int64_t i = 0; i < net->meta_count; i++) {
        far_free(net->ctx, net->meta[i].key);
        far_free(net->ctx, net->meta[i].value);
    }
    far_free(net->ctx, net->meta);
}

void far_net_destroy(far_net *net)
{
    if (!net) {
        return;
    }
    far_ctx *ctx = net->ctx;
    far_columns_destroy(net->columns);
    for (int64_t i = 0; i < net->step_count; i++) {
        far_free(ctx, net->steps[i].name);
    }
    far_texts_free(ctx, net->tensor_names, net->info.tensors);
    free_meta(net);
    FAR_FREE_ALL(ctx, net->text, net->steps, net->params, net->start, net->frozen, net->statistics,
                 net);
}

static far_status copy_meta(far_ctx *ctx, const far_net *from, far_net *to)
{
    far_status st = FAR_OK;
    for (int64_t i = 0; i < from->meta_count && st == FAR_OK; i++) {
        st = far_net_set_metadata(ctx, to, from->meta[i].key, from->meta[i].value);
    }
    return st;
}

static void copy_numbers(double *to, const double *from, int64_t count)
{
    memcpy(to, from, (size_t)count * sizeof *to);
}

static far_status copy_values(far_ctx *ctx, const far_net *from, far_net *to)
{
    far_status st = FAR_OK;
    copy_numbers(to->params, from->params, from->info.parameters);
    copy_numbers(to->frozen, from->frozen, from->info.frozen);
    copy_numbers(to->statistics, from->statistics, from->statistic_count);
    far_columns_destroy(to->columns);
    to->columns = NULL;
    FAR_TRY(far_columns_copy(ctx, from->columns, &to->columns));
    if (from->start) {
        FAR_TRY(far_alloc(ctx, from->info.parameters, &to->start));
        copy_numbers(to->start, from->start, from->info.parameters);
    }
    FAR_TRY(copy_meta(ctx, from, to));
    to->info = from->info;
done:
    return st;
}

far_status far_net_copy(far_ctx *ctx, const far_net *net, far_net **out)
{
    far_net *copy = NULL;
    far_status st = FAR_OK;
    *out = NULL;
    FAR_TRY(far_net_compile(ctx, net->text, net->info.inputs, net->info.outputs,
                            (far_param)net->info.param, &copy));
    FAR_TRY(copy_values(ctx, net, copy));
    *out = copy;
    copy = NULL;
done:
    far_net_destroy(copy);
    return st;
}

/* ---- asking -------------------------------------------------------------------------------- */

far_net_info far_net_describe(const far_net *net)
{
    far_net_info info = net->info;
    info.arch = net->text;
    info.columns = net->columns;
    info.untuned = far_net_is_untuned(net);
    return info;
}

/* A tensor of a step: which is the how-manieth it has. */
static far_net_tensor_info step_tensor(far_net *net, const far_step *s, int64_t which)
{
    int part = 0;
    while (!far_step_has(s, (far_part)part) || which-- > 0) {
        part++;
    }
    far_weights_shape shape = far_part_matrix(s, (far_part)part);
    double *values = far_net_part(net, s, (far_part)part);
    int64_t parameter = far_step_parameter(s, (far_part)part);
    far_net_tensor_info t = {.layer = parameter >= 0 ? s->unit : -1,
                             .parameter = parameter,
                             .vector = shape.vector,
                             .values = far_mat_view(values, shape.rows, shape.cols, FAR_F64)};
    t.dims = far_part_shape(s, (far_part)part, t.shape);
    return t;
}

static int64_t tensor_count(const far_step *s)
{
    int64_t count = 0;
    for (int part = 0; part < FAR_PARTS; part++) {
        count += far_step_has(s, (far_part)part);
    }
    return count;
}

far_net_tensor_info far_net_tensor(far_net *net, int64_t i)
{
    int64_t low = 0, high = net->step_count; /* the last step with at most i in front of it */
    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        if (net->steps[middle].tensor <= i) {
            low = middle;
        } else {
            high = middle;
        }
    }
    const far_step *s = &net->steps[low];
    if (i < s->tensor || i >= s->tensor + tensor_count(s)) {
        return (far_net_tensor_info){.layer = -1, .parameter = -1};
    }
    far_net_tensor_info t = step_tensor(net, s, i - s->tensor);
    t.name = net->tensor_names[i];
    return t;
}

far_mat far_net_parameters(far_net *net)
{
    return far_mat_view(net->params, 1, net->info.parameters, FAR_F64);
}

far_mat far_net_start(far_net *net)
{
    return far_mat_view(net->start, net->start ? 1 : 0, net->start ? net->info.parameters : 0,
                        FAR_F64);
}

const char *far_net_layer(const far_net *net, int64_t layer)
{
    for (int64_t i = 0; i < net->step_count; i++) {
        if (layer >= 0 && net->steps[i].unit == layer) {
            return net->steps[i].name;
        }
    }
    return NULL;
}

far_status far_net_linearize(far_ctx *ctx, far_net *net)
{
    if (net->start) {
        return far_fail(ctx, FAR_ERR_ARG, "the network is linearised already");
    }
    far_status st = far_alloc(ctx, net->info.parameters, &net->start);
    if (st == FAR_OK) {
        copy_numbers(net->start, net->params, net->info.parameters);
        net->info.linearized = 1;
    }
    return st;
}

/* ---- columns and their scaling
 * ------------------------------------------------------------------------------- */

static void note_scaling(far_net *net)
{
    int64_t d = net->info.inputs, o = net->info.outputs;
    net->info.scaled = 0;
    for (int64_t i = 0; i < 2 * (d + o); i++) {
        bool scale = (i >= d && i < 2 * d) || i >= 2 * d + o;
        net->info.scaled |= net->columns->scaling[i] != (scale ? 1 : 0);
    }
}

/* The copy is made before the old columns go: on failure the network is as it was. */
far_status far_net_set_columns(far_ctx *ctx, far_net *net, const far_columns *columns)
{
    if (!net || !columns) {
        return far_fail(ctx, FAR_ERR_ARG, "the network or the columns are NULL");
    }
    const far_columns_info *c = &columns->info;
    if (net->info.inputs != c->inputs) {
        return far_fail(ctx, FAR_ERR_SHAPE,
                        "the columns make %lld input%s, but the network takes %lld",
                        (long long)c->inputs, far_plural(c->inputs), (long long)net->info.inputs);
    }
    if (net->info.outputs != c->outputs) {
        return far_fail(
            ctx, FAR_ERR_SHAPE, "the targets make %lld output%s, but the network has %lld",
            (long long)c->outputs, far_plural(c->outputs), (long long)net->info.outputs);
    }
    far_columns *copy = NULL;
    far_status st = far_columns_copy(net->ctx, columns, &copy);
    if (st == FAR_OK) {
        far_columns_destroy(net->columns);
        net->columns = copy;
        note_scaling(net);
    }
    return st;
}

static far_status check_scales(far_ctx *ctx, const far_mat *m, const char *name, bool positive)
{
    const double *values = m->data;
    for (int64_t i = 0; i < m->cols; i++) {
        if (!isfinite(values[i]) || (positive && values[i] <= 0)) {
            return far_fail(ctx, FAR_ERR_VALUE, "%s: value %lld is %g; it must be finite%s", name,
                            (long long)i + 1, values[i], positive ? " and above 0" : "");
        }
    }
    return FAR_OK;
}

far_status far_net_set_scaling(far_ctx *ctx, far_net *net, const far_scaling *s)
{
    far_status st = FAR_OK;
    int64_t d = net->info.inputs, o = net->info.outputs;
    const far_mat *parts[4] = {&s->input_centre, &s->input_scale, &s->output_centre,
                               &s->output_scale};
    static const char *const NAMES[4] = {"input_centre", "input_scale", "output_centre",
                                         "output_scale"};
    for (int k = 0; k < 4; k++) {
        FAR_TRY(far_mat_expect(ctx, parts[k], NAMES[k], 1, k < 2 ? d : o, FAR_F64));
        FAR_TRY(check_scales(ctx, parts[k], NAMES[k], k % 2 == 1));
    }
    double *at = net->columns->scaling;
    for (int k = 0; k < 4; k++) {
        copy_numbers(at, parts[k]->data, parts[k]->cols);
        at += parts[k]->cols;
    }
    note_scaling(net);
done:
    return st;
}

/* ---- metadata ------------------------------------------------------------------------------ */

int64_t far_net_vocabulary(const far_net *net)
{
    return far_net_shaped(net) ? net->steps[0].vocabulary : 0;
}

bool far_net_reserved(const char *key)
{
    static const char *const OURS[] = {"arch",
                                       "param",
                                       "init",
                                       "seed",
                                       "w0",
                                       "linearized",
                                       "input_centre",
                                       "input_scale",
                                       "output_centre",
                                       "output_scale",
                                       FAR_COLUMNS_KEY,
                                       "format",
                                       "farfield",
                                       FAR_SEAL_ANNOUNCED,
                                       FAR_SEAL_KEY};
    for (size_t i = 0; i < sizeof OURS / sizeof OURS[0]; i++) {
        if (strcmp(OURS[i], key) == 0) {
            return true;
        }
    }
    return strncmp(key, FAR_TRAIN_PREFIX, strlen(FAR_TRAIN_PREFIX)) == 0;
}

static far_meta *find_meta(const far_net *net, const char *key)
{
    for (int64_t i = 0; i < net->meta_count; i++) {
        if (strcmp(net->meta[i].key, key) == 0) {
            return &net->meta[i];
        }
    }
    return NULL;
}

const char *far_net_metadata(const far_net *net, const char *key)
{
    if (strcmp(key, "arch") == 0) {
        return net->text;
    }
    const far_meta *m = find_meta(net, key);
    return m ? m->value : NULL;
}

static void remove_meta(far_net *net, const char *key)
{
    far_meta *m = find_meta(net, key);
    if (m) {
        far_free(net->ctx, m->key);
        far_free(net->ctx, m->value);
        *m = net->meta[--net->meta_count];
    }
}

static far_status append_meta(far_ctx *ctx, far_net *net, far_meta item)
{
    far_status st = far_grow(ctx, net->meta_count, net->meta_count + 1, &net->meta);
    if (st == FAR_OK) {
        net->meta[net->meta_count++] = item;
    }
    return st;
}

far_status far_net_set_metadata(far_ctx *ctx, far_net *net, const char *key, const char *value)
{
    far_meta item = {0};
    far_status st = FAR_OK;
    if (far_net_reserved(key)) {
        return far_fail(ctx, FAR_ERR_ARG, "the key '%s' is the library's own; choose another", key);
    }
    if (!value) {
        remove_meta(net, key);
        return FAR_OK;
    }
    FAR_TRY(far_copy_text(ctx, key, (int64_t)strlen(key), &item.key));
    FAR_TRY(far_copy_text(ctx, value, (int64_t)strlen(value), &item.value));
    remove_meta(net, key);
    FAR_TRY(append_meta(ctx, net, item));
    item = (far_meta){0};
done:
    far_free(ctx, item.key);
    far_free(ctx, item.value);
    return st;
}

/* ---- checks -------------------------------------------------------------------------------- */

static double element(const far_mat *m, int64_t i, int64_t j)
{
    const void *row = far_mat_row(m, i);
    return m->dtype == FAR_F64 ? ((const double *)row)[j] : (double)((const float *)row)[j];
}

far_status far_net_check_tokens(far_ctx *ctx, const far_net *net, const far_mat *x)
{
    int64_t vocabulary = far_net_vocabulary(net);
    for (int64_t i = 0; vocabulary > 0 && i < x->rows; i++) {
        for (int64_t j = 0; j < x->cols; j++) {
            double token = element(x, i, j);
            if (token < 0 || token >= (double)vocabulary || token != floor(token)) {
                return far_fail(ctx, FAR_ERR_VALUE,
                                "x: row %lld, column %lld is %g; a token is a whole number from 0 "
                                "to %lld",
                                (long long)i + 1, (long long)j + 1, token,
                                (long long)vocabulary - 1);
            }
        }
    }
    return FAR_OK;
}

far_status far_net_check_inputs(far_ctx *ctx, const far_net *net, const far_mat *x)
{
    far_status st = far_mat_check(ctx, x, "x");
    if (st != FAR_OK) {
        return st;
    }
    if (x->cols != net->info.inputs) {
        return far_fail(ctx, FAR_ERR_SHAPE,
                        "x has %lld column%s, but the network takes %lld input%s",
                        (long long)x->cols, far_plural(x->cols), (long long)net->info.inputs,
                        far_plural(net->info.inputs));
    }
    for (int64_t i = 0; i < x->rows; i++) {
        for (int64_t j = 0; j < x->cols; j++) {
            if (!isfinite(element(x, i, j))) {
                return far_fail(ctx, FAR_ERR_VALUE, "x: row %lld, column %lld is %g; remove it",
                                (long long)i + 1, (long long)j + 1, element(x, i, j));
            }
        }
    }
    return far_net_check_tokens(ctx, net, x);
}
