/* From the tensors of a file to the layers of a network, and what to say if they do not fit. */
#include "net_file.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MOST 8    /* listed in a message */
#define SUGGEST_MOST 16 /* modules */

/* ---- names in their natural order ---------------------------------------------------------- */

static int digits_at(const char *text, int length, int at)
{
    int count = 0;
    while (at + count < length && isdigit((unsigned char)text[at + count])) {
        count++;
    }
    return count;
}

static int zeros_at(const char *text, int at, int digits)
{
    int count = 0;
    while (count < digits - 1 && text[at + count] == '0') {
        count++;
    }
    return count;
}

/* Compares the numbers of a_digits and b_digits digits. */
static int compare_numbers(const char *a, int a_digits, const char *b, int b_digits)
{
    int a_zeros = zeros_at(a, 0, a_digits), b_zeros = zeros_at(b, 0, b_digits);
    int lengths = (a_digits - a_zeros) - (b_digits - b_zeros);
    return lengths ? lengths : memcmp(a + a_zeros, b + b_zeros, (size_t)(a_digits - a_zeros));
}

/* "2" before "10", "2.0" before "2.1" before "3". */
static int compare_names(const char *a, int a_length, const char *b, int b_length)
{
    int i = 0, j = 0;
    while (i < a_length && j < b_length) {
        int p = digits_at(a, a_length, i), q = digits_at(b, b_length, j);
        bool numbers = p > 0 && q > 0;
        int order = numbers ? compare_numbers(a + i, p, b + j, q)
                            : (unsigned char)a[i] - (unsigned char)b[j];
        if (order) {
            return order;
        }
        i += numbers ? p : 1;
        j += numbers ? q : 1;
    }
    return (a_length - i) - (b_length - j);
}

/* The first length bytes of name without tail, if they end with it. */
static int without(const char *name, int length, const char *tail)
{
    int bytes = (int)strlen(tail), rest = length - bytes;
    bool ends = rest >= 0 && memcmp(name + rest, tail, (size_t)bytes) == 0;
    return ends ? rest : length;
}

/* "0.lora_A.weight" as we write it, "0.lora_A.default.weight" and "0.base_layer.weight" as PEFT
 * keeps them in memory: all of them belong to "0". */
static int module_length(const char *tensor)
{
    static const char *const TAILS[] = {".lora_A", ".lora_B", ".lora_A.default", ".lora_B.default",
                                        ".base_layer"};
    const char *dot = strrchr(tensor, '.');
    int length = dot ? (int)(dot - tensor) : 0;
    for (size_t i = 0; i < sizeof TAILS / sizeof TAILS[0]; i++) {
        int less = without(tensor, length, TAILS[i]);
        if (less < length) {
            return less;
        }
    }
    return length;
}

static int by_module(const void *a, const void *b)
{
    const char *x = (*(const far_tensor *const *)a)->name;
    const char *y = (*(const far_tensor *const *)b)->name;
    int order = compare_names(x, module_length(x), y, module_length(y));
    return order ? order : strcmp(x, y); /* 01 is not 1, but both stay together */
}

/* ---- modules ------------------------------------------------------------------------------- */

static const char *part_text(const char *tensor)
{
    const char *dot = strrchr(tensor, '.');
    return dot ? dot + 1 : tensor;
}

static bool is_counter(const char *tensor)
{
    return strcmp(part_text(tensor), "num_batches_tracked") == 0;
}

static bool same_module(const far_module *m, const char *tensor)
{
    return m->length == module_length(tensor) && memcmp(m->name, tensor, (size_t)m->length) == 0;
}

#define IN_PROJ "in_proj_" /* of torch.nn.MultiheadAttention, in front of weight and bias */

static bool is_in_proj(const char *part)
{
    return strncmp(part, IN_PROJ, strlen(IN_PROJ)) == 0;
}

/* FAR_PARTS: no layer has such a part. */
static int part_of(const char *tensor)
{
    const char *part = part_text(tensor), *behind = tensor + module_length(tensor);
    if (strncmp(behind, ".lora_", strlen(".lora_")) == 0) {
        bool weight = strcmp(part, far_part_names[FAR_PART_WEIGHT]) == 0;
        return !weight                           ? FAR_PARTS
               : behind[strlen(".lora_")] == 'A' ? FAR_PART_LORA_A
                                                 : FAR_PART_LORA_B;
    }
    part += is_in_proj(part) ? strlen(IN_PROJ) : 0;
    for (int p = 0; p < FAR_PARTS; p++) {
        if (strcmp(part, far_part_names[p]) == 0) {
            return p;
        }
    }
    return FAR_PARTS;
}

static far_status add_part(const far_input *in, far_module *m, const far_tensor *t)
{
    int p = part_of(t->name);
    if (p == FAR_PARTS) {
        return far_tensor_fail(in, FAR_ERR_FORMAT, t->name,
                               "no layer of the language has such a part (they have weight, bias, "
                               "running_mean, running_var); take it out of the file");
    }
    bool lora = p == FAR_PART_LORA_A || p == FAR_PART_LORA_B;
    bool matrix = (p == FAR_PART_WEIGHT || lora) && (t->dims == 2 || t->dims == 4);
    char shape[FAR_SHAPE_BYTES];
    far_tensor_shape(t, shape);
    if (!matrix && (t->dims != 1 || lora)) {
        return far_tensor_fail(in, FAR_ERR_FORMAT, t->name,
                               "is %s; only layers with a matrix (dense), four dimensions "
                               "(conv) or a vector (norms) of weights can be read",
                               shape);
    }
    if (m->parts[p]) {
        char other[96];
        far_show(other, sizeof other, m->parts[p]->name, (int64_t)strlen(m->parts[p]->name));
        return far_tensor_fail(in, FAR_ERR_FORMAT, t->name,
                               "is one too many: tensor '%s' is the same part of the layer", other);
    }
    m->parts[p] = t;
    return FAR_OK;
}

static far_status fail_missing(const far_input *in, const far_module *m, far_part part,
                               const char *what)
{
    char shown[96];
    far_show(shown, sizeof shown, m->name, m->length);
    return far_input_fail(in, FAR_ERR_FORMAT, "tensor '%s%s%s' is missing%s", shown,
                          m->length ? "." : "", far_part_names[part], what);
}

static bool ends_in(const far_module *m, const char *tail)
{
    int length = (int)strlen(tail);
    return m->length >= length && memcmp(m->name + m->length - length, tail, (size_t)length) == 0;
}

static far_status decide_kind(const far_input *in, far_module *m)
{
    const far_tensor *weight = m->parts[FAR_PART_WEIGHT];
    bool mean = m->parts[FAR_PART_MEAN], variance = m->parts[FAR_PART_VARIANCE];
    if (mean != variance) {
        return fail_missing(in, m, mean ? FAR_PART_VARIANCE : FAR_PART_MEAN, "");
    }
    if (!weight && (!mean || m->parts[FAR_PART_BIAS])) {
        bool lora = m->parts[FAR_PART_LORA_A] || m->parts[FAR_PART_LORA_B];
        return fail_missing(in, m, FAR_PART_WEIGHT,
                            lora ? ": a file of adapters alone is no network; save the base with "
                                   "them"
                                 : ", but its bias is there");
    }
    if (!m->parts[FAR_PART_LORA_A] != !m->parts[FAR_PART_LORA_B]) {
        bool a = m->parts[FAR_PART_LORA_A];
        return fail_missing(in, m, a ? FAR_PART_LORA_B : FAR_PART_LORA_A,
                            a ? ", but lora_A is there" : ", but lora_B is there");
    }
    if (mean && weight && weight->dims != 1) {
        return far_tensor_fail(in, FAR_ERR_FORMAT, weight->name,
                               "a layer with running statistics has a vector of weights");
    }
    m->kind = mean                                  ? FAR_MODULE_BATCHNORM
              : weight->dims == 4                   ? FAR_MODULE_CONV
              : weight->dims == 1                   ? FAR_MODULE_NORM
              : is_in_proj(part_text(weight->name)) ? FAR_MODULE_IN_PROJ
              : ends_in(m, ".out_proj")             ? FAR_MODULE_OUT_PROJ
                                                    : FAR_MODULE_DENSE;
    return FAR_OK;
}

static far_status make_modules(const far_tensor *const *sorted, int64_t count, far_modules *out)
{
    far_status st = FAR_OK;
    const far_input *in = &out->file->in;
    for (int64_t i = 0; i < count; i++) {
        const char *name = sorted[i]->name;
        if (out->count == 0 || !same_module(&out->items[out->count - 1], name)) {
            out->items[out->count++] = (far_module){.name = name, .length = module_length(name)};
        }
        FAR_TRY(add_part(in, &out->items[out->count - 1], sorted[i]));
    }
    for (int64_t i = 0; i < out->count; i++) {
        FAR_TRY(decide_kind(in, &out->items[i]));
    }
done:
    return st;
}

static bool is_start(const char *tensor)
{
    return strncmp(tensor, FAR_START_PREFIX, strlen(FAR_START_PREFIX)) == 0;
}

/* In the checkpoint of a training run: not the network's own. */
static bool is_state(const far_safetensors *file, const char *tensor)
{
    return strncmp(tensor, FAR_STATE_PREFIX, strlen(FAR_STATE_PREFIX)) == 0 &&
           far_safetensors_text(file, FAR_TRAIN_PREFIX "version");
}

far_status far_modules_read(const far_safetensors *file, bool without_start, far_modules *out)
{
    far_status st;
    far_ctx *ctx = file->in.ctx;
    const far_tensor **sorted = NULL;
    int64_t count = 0;
    *out = (far_modules){.file = file};
    FAR_TRY(far_alloc(ctx, file->tensor_count, &sorted));
    FAR_TRY(far_alloc(ctx, file->tensor_count, &out->items));
    for (int64_t i = 0; i < file->tensor_count; i++) {
        const far_tensor *t = &file->tensors[i];
        if (!is_counter(t->name) && !is_state(file, t->name) &&
            !(without_start && is_start(t->name))) {
            sorted[count++] = t;
        }
    }
    qsort(sorted, (size_t)count, sizeof *sorted, by_module);
    FAR_TRY(make_modules(sorted, count, out));
done:
    far_free(ctx, sorted);
    return st;
}

void far_modules_clear(far_modules *m)
{
    if (m->file) {
        far_free(m->file->in.ctx, m->items);
    }
    *m = (far_modules){0};
}

/* ---- the ends of the network --------------------------------------------------------------- */

/* The first layer that has tensors, and the last two dense ones. */
typedef struct ends {
    const far_layer *first, *last, *before_last;
} ends;

static void scan_layers(const far_layer *layers, int64_t count, ends *e)
{
    for (int64_t i = 0; i < count; i++) {
        const far_layer *l = &layers[i];
        for (int64_t k = 0; l->body && k < l->count; k++) {
            scan_layers(l->body, l->body_count, e);
        }
        bool dense = l->kind == FAR_LAYER_DENSE;
        if (!e->first && (dense || l->affine || l->kind == FAR_LAYER_BATCHNORM)) {
            e->first = l;
        }
        if (dense) {
            e->before_last = e->last;
            e->last = l;
        }
    }
}

static far_module_kind kind_of_layer(const far_layer *l)
{
    return l->kind == FAR_LAYER_DENSE       ? FAR_MODULE_DENSE
           : l->kind == FAR_LAYER_BATCHNORM ? FAR_MODULE_BATCHNORM
                                            : FAR_MODULE_NORM;
}

static const far_module *find_kind(const far_modules *m, far_module_kind kind, bool last)
{
    for (int64_t i = 0; i < m->count; i++) {
        const far_module *found = &m->items[last ? m->count - 1 - i : i];
        if (found->kind == kind) {
            return found;
        }
    }
    return NULL;
}

static far_status dense_inputs(const far_modules *m, const far_module *found, int64_t width,
                               int64_t *inputs)
{
    const far_tensor *w = found->parts[FAR_PART_WEIGHT];
    if (width == 0 || w->shape[0] == width) {
        *inputs = w->shape[1];
    } else if (w->shape[1] == width) {
        *inputs = w->shape[0];
    } else {
        return far_tensor_fail(&m->file->in, FAR_ERR_FORMAT, w->name,
                               "is %lld x %lld, but the architecture begins with dense(%lld)",
                               (long long)w->shape[0], (long long)w->shape[1], (long long)width);
    }
    return FAR_OK;
}

static far_status find_inputs(const far_modules *m, const far_layer *first, int64_t *inputs)
{
    far_module_kind kind = kind_of_layer(first);
    const far_module *found = find_kind(m, kind, false);
    if (!found) {
        return far_input_fail(&m->file->in, FAR_ERR_FORMAT,
                              "has no weights of a %s layer, which the architecture begins with",
                              far_layer_name(first->kind));
    }
    if (kind == FAR_MODULE_DENSE) {
        return dense_inputs(m, found, first->width, inputs);
    }
    *inputs = found->parts[kind == FAR_MODULE_NORM ? FAR_PART_WEIGHT : FAR_PART_MEAN]->shape[0];
    return FAR_OK;
}

/* Width of a last layer dense without one: whatever is not the width in front of it. */
static int64_t find_outputs(const far_modules *m, const ends *e, int64_t inputs)
{
    const far_module *found = find_kind(m, FAR_MODULE_DENSE, true);
    int64_t in = e->before_last ? e->before_last->width : inputs;
    const far_tensor *w = found ? found->parts[FAR_PART_WEIGHT] : NULL;
    return !w ? 0 : w->shape[1] == in || w->shape[0] != in ? w->shape[0] : w->shape[1];
}

far_status far_modules_ends(const far_modules *m, const far_arch *arch, int64_t *inputs,
                            int64_t *outputs)
{
    int64_t count;
    ends e = {0};
    const far_layer *layers = far_arch_layers(arch, &count);
    scan_layers(layers, count, &e);
    *inputs = -1;
    *outputs = 0;
    int64_t told = count > 0 ? far_layer_inputs(&layers[0]) : 0; /* by an image or a sequence */
    far_status st = e.first && !told ? find_inputs(m, e.first, inputs) : FAR_OK;
    *inputs = told ? told : *inputs;
    if (st == FAR_OK && e.last && e.last == &layers[count - 1] && e.last->width == 0) {
        *outputs = find_outputs(m, &e, *inputs);
    }
    return st;
}

/* ---- pairing ------------------------------------------------------------------------------- */

static bool step_kind(const far_step *s, far_module_kind *out)
{
    bool table = s->kind == FAR_STEP_EMBED || s->kind == FAR_STEP_POSITION;
    bool dense = s->kind == FAR_STEP_DENSE, attention = s->layer == FAR_LAYER_ATTENTION;
    *out = s->kind == FAR_STEP_CONV        ? FAR_MODULE_CONV
           : s->kind == FAR_STEP_BATCHNORM ? FAR_MODULE_BATCHNORM
           : table                         ? FAR_MODULE_TABLE
           : dense && attention
               ? (is_in_proj(s->weight_name) ? FAR_MODULE_IN_PROJ : FAR_MODULE_OUT_PROJ)
           : dense ? FAR_MODULE_DENSE
                   : FAR_MODULE_NORM;
    return far_step_has(s, FAR_PART_WEIGHT) || s->mean >= 0;
}

static int64_t count_steps(const far_net *net, far_module_kind kind)
{
    int64_t count = 0;
    for (int64_t i = 0; i < net->step_count; i++) {
        far_module_kind k;
        count += step_kind(&net->steps[i], &k) && k == kind;
    }
    return count;
}

static int64_t count_modules(const far_modules *m, far_module_kind kind)
{
    int64_t count = 0;
    for (int64_t i = 0; i < m->count; i++) {
        count += m->items[i].kind == kind;
    }
    return count;
}

static const far_tensor *main_part(const far_module *m)
{
    return m->parts[FAR_PART_WEIGHT] ? m->parts[FAR_PART_WEIGHT] : m->parts[FAR_PART_MEAN];
}

/* "0.weight 5 x 3, 2.weight 2 x 5" */
static void list_modules(const far_modules *m, far_module_kind kind, char *out, size_t capacity)
{
    size_t used = 0;
    int64_t listed = 0, all = count_modules(m, kind);
    for (int64_t i = 0; i < m->count && listed < NAMES_MOST; i++) {
        char name[64], shape[FAR_SHAPE_BYTES];
        const far_tensor *t = main_part(&m->items[i]);
        if (m->items[i].kind == kind) {
            far_show(name, sizeof name, t->name, (int64_t)strlen(t->name));
            far_tensor_shape(t, shape);
            used += (size_t)snprintf(out + used, capacity - used, "%s%s %s", listed ? ", " : "",
                                     name, shape);
            listed++;
        }
    }
    if (listed < all) {
        snprintf(out + used, capacity - used, " and %lld more", (long long)(all - listed));
    }
}

/* "no dense layer", "1 dense layer", "2 dense layers" */
static void count_text(far_module_kind kind, int64_t count, char *out, size_t capacity)
{
    static const char *const ONE[] = {"dense layer", "norm with a scale", "batchnorm layer",
                                      "convolution", "attention",         "output of attention",
                                      "table"};
    static const char *const MANY[] = {"dense layers", "norms with a scale", "batchnorm layers",
                                       "convolutions", "attentions",         "outputs of attention",
                                       "tables"};
    if (count == 0) {
        snprintf(out, capacity, "no %s", ONE[kind]);
    } else {
        snprintf(out, capacity, "%lld %s", (long long)count, (count == 1 ? ONE : MANY)[kind]);
    }
}

static const far_step *plain_norm(const far_net *net)
{
    for (int64_t i = 0; i < net->step_count; i++) {
        if (net->steps[i].kind == FAR_STEP_NORM && net->steps[i].weight < 0) {
            return &net->steps[i];
        }
    }
    return NULL;
}

/* The usual reason: a norm with or without its scale. */
static void hint_at_norms(const far_net *net, int64_t modules, int64_t layers, char *out,
                          size_t capacity)
{
    const far_step *plain = plain_norm(net);
    if (modules > layers) {
        snprintf(out, capacity, "; write %s(affine)%s", plain ? far_layer_name(plain->layer) : "ln",
                 plain ? "" : " where they stand");
    } else {
        snprintf(out, capacity, "; write ln for ln(affine) where there is no scale");
    }
}

static far_status fail_count(const far_modules *m, const far_net *net, far_module_kind kind,
                             int64_t layers)
{
    char list[NAMES_MOST * 128] = "", arch[300], there[64], wanted[24] = "none", hint[80] = "";
    int64_t modules = count_modules(m, kind);
    if (kind == FAR_MODULE_NORM) {
        hint_at_norms(net, modules, layers, hint, sizeof hint);
    }
    if (layers > 0) {
        snprintf(wanted, sizeof wanted, "%lld", (long long)layers);
    }
    list_modules(m, kind, list, sizeof list);
    far_show(arch, sizeof arch, net->text, (int64_t)strlen(net->text));
    count_text(kind, modules, there, sizeof there);
    return far_input_fail(&m->file->in, FAR_ERR_FORMAT, "has %s%s%s%s, but '%s' has %s%s", there,
                          modules ? " (" : "", list, modules ? ")" : "", arch, wanted, hint);
}

static far_status pair_kind(far_modules *m, const far_net *net, far_module_kind kind,
                            const far_module **out)
{
    int64_t layers = count_steps(net, kind), next = 0;
    if (layers != count_modules(m, kind)) {
        return fail_count(m, net, kind, layers);
    }
    for (int64_t i = 0; i < net->step_count; i++) {
        far_module_kind k;
        if (step_kind(&net->steps[i], &k) && k == kind) {
            while (m->items[next].kind != kind) {
                next++;
            }
            out[i] = &m->items[next++];
        }
    }
    return FAR_OK;
}

/* A table of vectors (embed, position) looks like a dense layer without biases: for each that the
 * network has, the first module of its very shape is it. */
static void find_tables(far_modules *m, const far_net *net)
{
    for (int64_t i = 0; i < net->step_count; i++) {
        far_module_kind kind;
        far_weights_shape shape = far_step_weights(&net->steps[i]);
        bool open = step_kind(&net->steps[i], &kind) && kind == FAR_MODULE_TABLE;
        for (int64_t k = 0; open && k < m->count; k++) {
            far_module *found = &m->items[k];
            const far_tensor *w = found->parts[FAR_PART_WEIGHT];
            if (found->kind == FAR_MODULE_DENSE && !found->parts[FAR_PART_BIAS] &&
                w->shape[0] == shape.rows && w->shape[1] == shape.cols) {
                found->kind = FAR_MODULE_TABLE;
                open = false;
            }
        }
    }
}

/* ---- shapes -------------------------------------------------------------------------------- */

static far_status fail_shape(const far_input *in, const far_step *s, const far_tensor *t,
                             const char *part, const char *needed)
{
    char shape[FAR_SHAPE_BYTES], layer[64];
    far_tensor_shape(t, shape);
    if (s->layer == FAR_LAYER_DENSE) {
        snprintf(layer, sizeof layer, "dense(%lld)", (long long)s->out);
    } else {
        snprintf(layer, sizeof layer, "%s", far_layer_name(s->layer));
    }
    return far_tensor_fail(in, FAR_ERR_FORMAT, t->name,
                           "is %s, but %s.%s of the architecture, a %s, is %s", shape, s->name,
                           part, layer, needed);
}

/* Which way round: 1 as in PyTorch (out x in), -1 in x out, 0 either way. */
static far_status orientation(const far_input *in, const far_step *s, const far_tensor *w, int *way)
{
    bool straight = w->shape[0] == s->out && w->shape[1] == s->in;
    bool turned = w->shape[0] == s->in && w->shape[1] == s->out;
    *way = straight - turned;
    if (!straight && !turned) {
        char needed[64];
        snprintf(needed, sizeof needed, "%lld x %lld", (long long)s->out, (long long)s->in);
        return fail_shape(in, s, w, far_part_names[FAR_PART_WEIGHT], needed);
    }
    return FAR_OK;
}

static far_status fail_orientation(const far_input *in, const far_tensor *straight,
                                   const far_tensor *turned)
{
    char shown[96];
    far_show(shown, sizeof shown, straight->name, (int64_t)strlen(straight->name));
    return far_tensor_fail(in, FAR_ERR_FORMAT, turned->name,
                           "fits the architecture only if it is in x out, but tensor '%s' only if "
                           "it is out x in; is the order of the layers another?",
                           shown);
}

/* Square weights lie as the others do: a file is not of two minds. */
static far_status orient(far_modules *m, const far_net *net, const far_module **modules)
{
    const far_input *in = &m->file->in;
    const far_tensor *straight = NULL, *turned = NULL;
    for (int64_t i = 0; i < net->step_count; i++) {
        if (net->steps[i].kind == FAR_STEP_DENSE) {
            int way;
            const far_tensor *w = modules[i]->parts[FAR_PART_WEIGHT];
            far_status st = orientation(in, &net->steps[i], w, &way);
            if (st != FAR_OK) {
                return st;
            }
            straight = way > 0 ? w : straight;
            turned = way < 0 ? w : turned;
        }
    }
    if (straight && turned) {
        return fail_orientation(in, straight, turned);
    }
    for (int64_t i = 0; turned && i < m->count; i++) {
        far_module_kind kind = m->items[i].kind;
        m->items[i].transposed =
            kind == FAR_MODULE_DENSE || kind == FAR_MODULE_IN_PROJ || kind == FAR_MODULE_OUT_PROJ;
    }
    return FAR_OK;
}

static far_status check_vector(const far_input *in, const far_step *s, const far_module *m,
                               far_part part)
{
    char needed[32];
    const far_tensor *t = m->parts[part];
    snprintf(needed, sizeof needed, "%lld", (long long)s->out);
    return t->dims == 1 && t->shape[0] == s->out
               ? FAR_OK
               : fail_shape(in, s, t, far_part_names[part], needed);
}

/* Dense weights may lie either way and were seen by orient. */
static far_status check_matrix(const far_input *in, const far_step *s, const far_module *m,
                               far_part part)
{
    const far_tensor *t = m->parts[part];
    far_tensor like = {0};
    char needed[FAR_SHAPE_BYTES];
    like.dims = far_part_shape(s, part, like.shape);
    bool same = t->dims == like.dims &&
                memcmp(t->shape, like.shape, (size_t)like.dims * sizeof *t->shape) == 0;
    far_tensor_shape(&like, needed);
    return same || (part == FAR_PART_WEIGHT && s->kind == FAR_STEP_DENSE)
               ? FAR_OK
               : fail_shape(in, s, t, far_part_names[part], needed);
}

/* What to write so that the layer has this part, or has it not. */
static far_status fail_part(const far_input *in, const far_step *s, const far_module *m,
                            far_part part)
{
    char plain[96];
    bool there = m->parts[part] != NULL, dense = s->kind == FAR_STEP_DENSE;
    if (there && (part == FAR_PART_LORA_A || part == FAR_PART_LORA_B)) {
        int64_t rank = m->parts[part]->shape[part == FAR_PART_LORA_A ? 0 : 1];
        return far_tensor_fail(in, FAR_ERR_FORMAT, m->parts[part]->name,
                               "layer %s of the architecture has no lora; write lora=%lld (and the "
                               "alpha it was trained with), or merge the file",
                               s->name, (long long)rank);
    }
    if (dense) {
        snprintf(plain, sizeof plain, "dense(%lld%s)", (long long)s->out, there ? "" : ", nobias");
    } else {
        snprintf(plain, sizeof plain, "%s%s", far_layer_name(s->layer), there ? "(affine)" : "");
    }
    if (!there) {
        char what[160];
        snprintf(what, sizeof what, "; if layer %s of the architecture has none, write %s", s->name,
                 plain);
        return fail_missing(in, m, part, what);
    }
    return far_tensor_fail(in, FAR_ERR_FORMAT, m->parts[part]->name,
                           "layer %s of the architecture has no %s; write %s", s->name,
                           far_part_names[part], plain);
}

/* A norm without a shift (RMSNorm, LayerNorm with bias=False) has one of 0; a network that is about
 * to be tuned has no adapters yet. */
static bool may_lack(const far_step *s, far_part part)
{
    bool adapter = part == FAR_PART_LORA_A || part == FAR_PART_LORA_B;
    return adapter || (part == FAR_PART_BIAS && s->kind == FAR_STEP_NORM);
}

static far_status check_parts(const far_input *in, const far_step *s, const far_module *m)
{
    far_status st = FAR_OK;
    for (int p = 0; p < FAR_PARTS; p++) {
        bool wanted = far_step_has(s, (far_part)p), there = m->parts[p] != NULL;
        if (wanted != there && !(wanted && may_lack(s, (far_part)p))) {
            return fail_part(in, s, m, (far_part)p);
        }
        if (there && !far_part_matrix(s, (far_part)p).vector) {
            FAR_TRY(check_matrix(in, s, m, (far_part)p));
        } else if (there) {
            FAR_TRY(check_vector(in, s, m, (far_part)p));
        }
    }
done:
    return st;
}

far_status far_modules_match(far_modules *m, const far_net *net, const far_module **out)
{
    far_status st = FAR_OK;
    memset(out, 0, (size_t)net->step_count * sizeof *out);
    find_tables(m, net);
    for (int kind = 0; kind < FAR_MODULE_KINDS; kind++) {
        FAR_TRY(pair_kind(m, net, (far_module_kind)kind, out));
    }
    FAR_TRY(orient(m, net, out));
    for (int64_t i = 0; i < net->step_count; i++) {
        if (out[i]) {
            FAR_TRY(check_parts(&m->file->in, &net->steps[i], out[i]));
        }
    }
done:
    return st;
}

/* ---- a suggestion -------------------------------------------------------------------------- */

/* PyTorch's norms have an eps, and a file without an architecture is likely to be PyTorch's. */
static void suggest_layer(const far_module *m, bool first, far_text *out)
{
    bool bias = m->parts[FAR_PART_BIAS] != NULL;
    if (m->kind == FAR_MODULE_DENSE) {
        far_text_add(out, "%sdense(%lld%s) ", first ? "" : "relu ",
                     (long long)main_part(m)->shape[0], bias ? "" : ", nobias");
    } else if (m->kind == FAR_MODULE_CONV) {
        const int64_t *shape = main_part(m)->shape;
        if (first) {
            far_text_add(out, "image(%lldx32x32) ", (long long)shape[1]);
        }
        far_text_add(out, "%sconv(%lld, %lldx%lld%s) ", first ? "" : "relu ", (long long)shape[0],
                     (long long)shape[2], (long long)shape[3], bias ? "" : ", nobias");
    } else if (m->kind == FAR_MODULE_NORM) {
        far_text_add(out, "%s(eps=1e-5, affine) ", bias ? "ln" : "rms");
    } else {
        far_text_add(out, "batchnorm(eps=1e-5%s) ", bias ? ", affine" : "");
    }
}

static bool has_matrix(const far_module *m)
{
    return m->kind != FAR_MODULE_NORM && m->kind != FAR_MODULE_BATCHNORM;
}

static int64_t next_of(const far_modules *m, bool dense, int64_t from)
{
    while (from < m->count && has_matrix(&m->items[from]) != dense) {
        from++;
    }
    return from;
}

/* Blocks as torch.nn.TransformerEncoderLayer has them, norms in front; how many positions and heads
 * there are, no tensor says. */
static void suggest_blocks(const far_modules *m, far_text *out)
{
    int64_t blocks = count_modules(m, FAR_MODULE_IN_PROJ), dense = next_of(m, true, 0);
    long long width = find_kind(m, FAR_MODULE_IN_PROJ, false)->parts[FAR_PART_WEIGHT]->shape[1];
    while (dense < m->count && m->items[dense].kind != FAR_MODULE_DENSE) {
        dense = next_of(m, true, dense + 1);
    }
    far_text_add(out, "sequence(30x%lld) [skip(ln(eps=1e-5, affine) attention(1))", width);
    if (dense < m->count) {
        far_text_add(out, " skip(ln(eps=1e-5, affine) dense(%lld) gelu dense(%lld))",
                     (long long)main_part(&m->items[dense])->shape[0], width);
    }
    far_text_add(out, "]x%lld last", (long long)blocks);
}

/* A norm stands where its name does, or where the width is its own: fc1, fc2, ln1. */
void far_modules_suggest(const far_modules *m, far_text *out)
{
    int64_t norm = next_of(m, false, 0), dense = next_of(m, true, 0), shown = 0;
    bool first = true, flat = count_modules(m, FAR_MODULE_CONV) == 0;
    if (count_modules(m, FAR_MODULE_IN_PROJ) > 0) {
        suggest_blocks(m, out);
        return;
    }
    for (; (norm < m->count || dense < m->count) && shown < SUGGEST_MOST; shown++) {
        bool fits = norm < m->count && dense < m->count && !first &&
                    main_part(&m->items[norm])->shape[0] == main_part(&m->items[dense])->shape[1];
        int64_t *next = norm < dense || fits ? &norm : &dense;
        if (!flat && m->items[*next].kind == FAR_MODULE_DENSE) {
            far_text_add(out, "flatten ");
            flat = true;
        }
        suggest_layer(&m->items[*next], first, out);
        first = first && next == &norm;
        *next = next_of(m, next == &dense, *next + 1);
    }
    far_text_add(out, "%s", shown < m->count ? "..." : "");
    if (out->status == FAR_OK && out->length > 0 && out->data[out->length - 1] == ' ') {
        out->data[--out->length] = 0;
    }
}
