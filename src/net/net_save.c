/* Networks into safetensors files, with the names of PyTorch's Sequential. */
#include "net_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OWN_TEXTS 13 /* keys that are the library's own */

typedef struct saver {
    far_ctx *ctx;
    const far_net *net;
    far_tensor_out *tensors;
    int64_t tensor_count;
    char **names; /* of starts; tensor_count of them at most */
    int64_t name_count;
    far_pair *texts;
    int64_t text_count;
    far_text values[OWN_TEXTS]; /* what some of the texts lie in */
    int value_count;
} saver;

/* ---- tensors ------------------------------------------------------------------------------- */

static far_status check_finite(far_ctx *ctx, const far_tensor_out *t, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        if (!isfinite(t->values[i])) {
            return far_fail(ctx, FAR_ERR_VALUE,
                            "tensor '%s': value %lld is %g, so nothing was written; did training "
                            "diverge?",
                            t->name, (long long)i + 1, t->values[i]);
        }
    }
    return FAR_OK;
}

/* torch.nn.RMSNorm has no shift, and would not know what to do with one. */
static bool left_out(const far_step *step, far_part part, const double *values)
{
    bool zero =
        part == FAR_PART_BIAS && step->kind == FAR_STEP_NORM && step->layer == FAR_LAYER_RMS;
    for (int64_t i = 0; zero && i < step->out; i++) {
        zero = values[i] == 0 && !signbit(values[i]);
    }
    return zero;
}

static far_status add_tensor(saver *s, const char *name, const far_step *step, far_part part,
                             const double *values)
{
    far_weights_shape shape = far_part_matrix(step, part);
    far_tensor_out t = {.name = name, .values = values};
    t.dims = far_part_shape(step, part, t.shape);
    s->tensors[s->tensor_count++] = t;
    return check_finite(s->ctx, &t, shape.rows * shape.cols);
}

static far_status add_start(saver *s, const char *name, const far_step *step, far_part part)
{
    far_text t = {.ctx = s->ctx};
    far_text_add(&t, FAR_START_PREFIX "%s", name);
    s->names[s->name_count++] = t.data;
    return t.status == FAR_OK
               ? add_tensor(s, t.data, step, part, s->net->start + far_step_parameter(step, part))
               : t.status;
}

static far_status add_step(saver *s, const far_step *step, int64_t *next, bool start)
{
    far_status st = FAR_OK;
    for (int p = 0; p < FAR_PARTS; p++) {
        const double *values = far_net_part(s->net, step, (far_part)p);
        if (!far_step_has(step, (far_part)p)) {
            continue;
        }
        const char *name = s->net->tensor_names[(*next)++];
        if (start && far_step_parameter(step, (far_part)p) >= 0) {
            FAR_TRY(add_start(s, name, step, (far_part)p));
        } else if (!start && !left_out(step, (far_part)p, values)) {
            FAR_TRY(add_tensor(s, name, step, (far_part)p, values));
        }
    }
done:
    return st;
}

static far_status add_steps(saver *s, bool start)
{
    far_status st = FAR_OK;
    int64_t next = 0;
    for (int64_t i = 0; i < s->net->step_count; i++) {
        FAR_TRY(add_step(s, &s->net->steps[i], &next, start));
    }
done:
    return st;
}

static far_status collect_tensors(saver *s)
{
    far_status st;
    int64_t most = s->net->info.tensors;
    FAR_TRY(far_alloc(s->ctx, 2 * most, &s->tensors));
    FAR_TRY(far_alloc(s->ctx, most, &s->names));
    FAR_TRY(add_steps(s, false));
    if (s->net->start) {
        FAR_TRY(add_steps(s, true));
    }
done:
    return st;
}

/* ---- texts --------------------------------------------------------------------------------- */

static void add_text(saver *s, const char *key, const char *value)
{
    s->texts[s->text_count++] = (far_pair){key, value};
}

/* A text of numbers with single blanks between them. */
static far_status add_numbers(saver *s, const char *key, const double *values, int64_t count)
{
    far_text *t = &s->values[s->value_count++];
    t->ctx = s->ctx;
    for (int64_t i = 0; i < count; i++) {
        far_text_add(t, "%s", i ? " " : "");
        far_text_add_number(t, values[i]);
    }
    add_text(s, key, t->data);
    return t->status;
}

static far_status add_scaling(saver *s)
{
    far_status st;
    far_scaling c = far_columns_describe(s->net->columns).scaling;
    FAR_TRY(add_numbers(s, "input_centre", c.input_centre.data, c.input_centre.cols));
    FAR_TRY(add_numbers(s, "input_scale", c.input_scale.data, c.input_scale.cols));
    FAR_TRY(add_numbers(s, "output_centre", c.output_centre.data, c.output_centre.cols));
    FAR_TRY(add_numbers(s, "output_scale", c.output_scale.data, c.output_scale.cols));
done:
    return st;
}

static far_status add_origin(saver *s)
{
    const far_net_info *info = &s->net->info;
    if (info->init < 0) {
        return FAR_OK;
    }
    far_text *seed = &s->values[s->value_count++];
    seed->ctx = s->ctx;
    far_text_add(seed, "%llu", (unsigned long long)info->seed);
    add_text(s, "init", far_init_names[info->init]);
    add_text(s, "seed", seed->data);
    if (seed->status != FAR_OK || isnan(info->w0)) {
        return seed->status;
    }
    return add_numbers(s, "w0", &info->w0, 1);
}

static far_status add_columns(saver *s)
{
    far_text *t = &s->values[s->value_count++];
    t->ctx = s->ctx;
    far_status st = far_columns_print(s->net->columns, false, t);
    add_text(s, FAR_COLUMNS_KEY, t->data);
    return st;
}

/* format: what transformers and other readers of PyTorch's weights ask for. Without any tensor the
 * scaling tells how many inputs there are. */
static far_status add_own_texts(saver *s)
{
    far_status st;
    const far_net_info *info = &s->net->info;
    add_text(s, "format", "pt");
    add_text(s, "farfield", far_version());
    add_text(s, "arch", s->net->text);
    add_text(s, "param", info->param == FAR_PARAM_NTK ? "ntk" : "standard");
    FAR_TRY(add_origin(s));
    if (info->linearized) {
        add_text(s, "linearized", "1");
    }
    if (info->scaled || info->tensors == 0) {
        FAR_TRY(add_scaling(s));
    }
    if (s->net->columns->info.named) {
        FAR_TRY(add_columns(s));
    }
done:
    return st;
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const far_pair *)a)->key, ((const far_pair *)b)->key);
}

static far_status collect_texts(saver *s)
{
    const far_net *net = s->net;
    far_status st;
    FAR_TRY(far_alloc(s->ctx, OWN_TEXTS + net->meta_count, &s->texts));
    FAR_TRY(add_own_texts(s));
    far_pair *others = s->texts + s->text_count;
    for (int64_t i = 0; i < net->meta_count; i++) {
        add_text(s, net->meta[i].key, net->meta[i].value);
    }
    qsort(others, (size_t)net->meta_count, sizeof *others, by_key);
done:
    return st;
}

/* ---- the whole ----------------------------------------------------------------------------- */

static void clear(saver *s)
{
    for (int64_t i = 0; i < s->name_count; i++) {
        far_free(s->ctx, s->names[i]);
    }
    for (int i = 0; i < s->value_count; i++) {
        far_free(s->ctx, s->values[i].data);
    }
    FAR_FREE_ALL(s->ctx, s->names, s->tensors, s->texts);
}

static far_status append(saver *s, const far_tensor_out *tensors, int64_t tensor_count,
                         const far_pair *texts, int64_t text_count)
{
    far_status st;
    FAR_TRY(far_grow(s->ctx, s->tensor_count, s->tensor_count + tensor_count, &s->tensors));
    FAR_TRY(far_grow(s->ctx, s->text_count, s->text_count + text_count, &s->texts));
    for (int64_t i = 0; i < tensor_count; i++) {
        s->tensors[s->tensor_count++] = tensors[i];
    }
    for (int64_t i = 0; i < text_count; i++) {
        s->texts[s->text_count++] = texts[i];
    }
done:
    return st;
}

far_status far_net_write_with(const far_net *net, const far_tensor_out *tensors,
                              int64_t tensor_count, const far_pair *texts, int64_t text_count,
                              far_output *o)
{
    far_status st;
    saver s = {.ctx = o->ctx, .net = net};
    FAR_TRY(collect_tensors(&s));
    FAR_TRY(collect_texts(&s));
    FAR_TRY(append(&s, tensors, tensor_count, texts, text_count));
    FAR_TRY(far_safetensors_write(o, s.tensors, s.tensor_count, s.texts, s.text_count));
done:
    clear(&s);
    return st;
}

far_status far_net_write(const far_net *net, far_output *o)
{
    return far_net_write_with(net, NULL, 0, NULL, 0, o);
}

static far_status write_net(const void *net, far_output *o)
{
    return far_net_write(net, o);
}

far_status far_net_save(far_ctx *ctx, const far_net *net, const char *path)
{
    return ctx && net ? far_output_save(ctx, path, net, write_net)
                      : far_fail(ctx, FAR_ERR_ARG, "the network is NULL");
}
