#include "arch_tree.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define FIELD(member) .field = offsetof(far_layer, member)
#define AT_LEAST_0 .least = 0, .most = DBL_MAX
#define ABOVE_0 AT_LEAST_0, .above_least = true
#define COUNTING .type = FAR_ARG_INTEGER, .least = 1, .most = FAR_INTEGER_MOST
#define FLAG .type = FAR_ARG_FLAG
#define LORA .name = "lora", FIELD(lora), .type = FAR_ARG_INTEGER, .least = 1, .most = FAR_SIZE_MOST
#define ALPHA .name = "alpha", FIELD(alpha), ABOVE_0, .needs = "lora"

#define GAIN .name = "gain", FIELD(gain), ABOVE_0
#define EPS .name = "eps", FIELD(eps), AT_LEAST_0
#define AFFINE .name = "affine", FIELD(affine), FLAG
#define POWER_RANGE .least = FAR_POWER_ABOVE, .above_least = true, .most = FAR_POWER_MOST
#define SLOPE_RANGE .least = -FAR_SLOPE_MOST, .most = FAR_SLOPE_MOST

static const far_arg dense_args[] = {
    {.name = "width", FIELD(width), COUNTING, .positional = true},
    {.name = "w", FIELD(w), AT_LEAST_0},
    {.name = "b", FIELD(b), AT_LEAST_0, .excludes = "nobias"},
    {.name = "nobias", FIELD(no_bias), FLAG, .excludes = "b"},
    {LORA},
    {ALPHA},
};
static const far_arg relu_args[] = {
    {.name = "power", FIELD(power), POWER_RANGE, .positional = true},
    {GAIN},
};
static const far_arg leaky_relu_args[] = {
    {.name = "slope", FIELD(slope), SLOPE_RANGE, .positional = true},
    {GAIN},
};
static const far_arg elu_args[] = {
    {.name = "alpha", FIELD(slope), .least = 0, .most = FAR_SLOPE_MOST, .positional = true},
    {GAIN},
};
static const far_arg sin_args[] = {{.name = "w0", FIELD(w0), ABOVE_0}, {GAIN}};
static const far_arg gelu_args[] = {{.name = "tanh", FIELD(by_tanh), FLAG}, {GAIN}};
static const far_arg activation_args[] = {{GAIN}};
static const far_arg ln_args[] = {{.name = "groups", FIELD(groups), COUNTING}, {EPS}, {AFFINE}};
static const far_arg norm_args[] = {{EPS}, {AFFINE}};

#define POSITIONAL .positional = true
#define SIZE(fewest, parts)                                                                        \
    .type = FAR_ARG_SIZE, FIELD(size), .least = 1, .most = FAR_SIZE_MOST, .parts_least = (fewest), \
    .parts_most = (parts)
#define WINDOW .name = "size", SIZE(1, 2), POSITIONAL
#define STRIDE                                                                                     \
    .name = "stride", FIELD(stride), .type = FAR_ARG_INTEGER, .least = 1, .most = FAR_SIZE_MOST
#define PAD .name = "pad", FIELD(pad), .type = FAR_ARG_INTEGER, .least = 0, .most = FAR_PAD_MOST

static const far_arg image_args[] = {{.name = "size", SIZE(3, 3), POSITIONAL}};
static const far_arg sequence_args[] = {{.name = "size", SIZE(2, 2), POSITIONAL}};
static const far_arg tokens_args[] = {
    {.name = "positions", FIELD(positions), COUNTING, POSITIONAL},
    {.name = "vocabulary", FIELD(vocabulary), COUNTING, POSITIONAL},
};
static const far_arg conv_args[] = {
    {.name = "channels", FIELD(width), COUNTING, POSITIONAL},
    {WINDOW},
    {STRIDE},
    {PAD},
    {.name = "w", FIELD(w), AT_LEAST_0},
    {.name = "b", FIELD(b), AT_LEAST_0, .excludes = "nobias"},
    {.name = "nobias", FIELD(no_bias), FLAG, .excludes = "b"},
    {LORA},
    {ALPHA},
};
static const far_arg maxpool_args[] = {{WINDOW}, {STRIDE}, {PAD}};
static const far_arg avgpool_args[] = {{WINDOW}, {STRIDE}};
static const far_arg attention_args[] = {
    {.name = "heads", FIELD(heads), COUNTING, POSITIONAL},
    {.name = "causal", FIELD(causal), FLAG},
    {LORA},
    {ALPHA},
};
static const far_arg position_args[] = {{.name = "sines", FIELD(sines), FLAG}};
static const far_arg embed_args[] = {{.name = "channels", FIELD(width), COUNTING, POSITIONAL}};
static const far_arg dropout_args[] = {
    {.name = "rate", FIELD(rate), .least = 0, .most = 1, POSITIONAL}};

#define TAKES(args) args, sizeof(args) / sizeof(args)[0]

const far_layer_spec far_layer_specs[FAR_LAYER_KINDS] = {
    [FAR_LAYER_DENSE] = {"dense", FAR_FAMILY_AFFINE, TAKES(dense_args)},
    [FAR_LAYER_RELU] = {"relu", FAR_FAMILY_ACTIVATION, TAKES(relu_args)},
    [FAR_LAYER_LEAKY_RELU] = {"leaky_relu", FAR_FAMILY_ACTIVATION, TAKES(leaky_relu_args)},
    [FAR_LAYER_ABS] = {"abs", FAR_FAMILY_ACTIVATION, TAKES(activation_args)},
    [FAR_LAYER_ERF] = {"erf", FAR_FAMILY_ACTIVATION, TAKES(activation_args)},
    [FAR_LAYER_GELU] = {"gelu", FAR_FAMILY_ACTIVATION, TAKES(gelu_args)},
    [FAR_LAYER_SILU] = {"silu", FAR_FAMILY_ACTIVATION, TAKES(activation_args)},
    [FAR_LAYER_TANH] = {"tanh", FAR_FAMILY_ACTIVATION, TAKES(activation_args)},
    [FAR_LAYER_SIN] = {"sin", FAR_FAMILY_ACTIVATION, TAKES(sin_args)},
    [FAR_LAYER_IDENTITY] = {"identity", FAR_FAMILY_ACTIVATION, TAKES(activation_args)},
    [FAR_LAYER_SIGMOID] = {"sigmoid", FAR_FAMILY_ACTIVATION, TAKES(activation_args)},
    [FAR_LAYER_ELU] = {"elu", FAR_FAMILY_ACTIVATION, TAKES(elu_args)},
    [FAR_LAYER_SOFTPLUS] = {"softplus", FAR_FAMILY_ACTIVATION, TAKES(activation_args)},
    [FAR_LAYER_MISH] = {"mish", FAR_FAMILY_ACTIVATION, TAKES(activation_args)},
    [FAR_LAYER_GELU_TANH] = {"gelu", FAR_FAMILY_ACTIVATION, TAKES(gelu_args)},
    [FAR_LAYER_LN] = {"ln", FAR_FAMILY_NORM, TAKES(ln_args)},
    [FAR_LAYER_RMS] = {"rms", FAR_FAMILY_NORM, TAKES(norm_args)},
    [FAR_LAYER_BATCHNORM] = {"batchnorm", FAR_FAMILY_NORM, TAKES(norm_args)},
    [FAR_LAYER_IMAGE] = {"image", FAR_FAMILY_SHAPED, TAKES(image_args)},
    [FAR_LAYER_SEQUENCE] = {"sequence", FAR_FAMILY_SHAPED, TAKES(sequence_args)},
    [FAR_LAYER_TOKENS] = {"tokens", FAR_FAMILY_SHAPED, TAKES(tokens_args)},
    [FAR_LAYER_CONV] = {"conv", FAR_FAMILY_SHAPED, TAKES(conv_args)},
    [FAR_LAYER_MAXPOOL] = {"maxpool", FAR_FAMILY_SHAPED, TAKES(maxpool_args)},
    [FAR_LAYER_AVGPOOL] = {"avgpool", FAR_FAMILY_SHAPED, TAKES(avgpool_args)},
    [FAR_LAYER_ATTENTION] = {"attention", FAR_FAMILY_SHAPED, TAKES(attention_args)},
    [FAR_LAYER_POSITION] = {"position", FAR_FAMILY_SHAPED, TAKES(position_args)},
    [FAR_LAYER_EMBED] = {"embed", FAR_FAMILY_SHAPED, TAKES(embed_args)},
    [FAR_LAYER_GAP] = {"gap", FAR_FAMILY_SHAPED, NULL, 0},
    [FAR_LAYER_FLATTEN] = {"flatten", FAR_FAMILY_SHAPED, NULL, 0},
    [FAR_LAYER_LAST] = {"last", FAR_FAMILY_SHAPED, NULL, 0},
    [FAR_LAYER_DROPOUT] = {"dropout", FAR_FAMILY_SHAPED, TAKES(dropout_args)},
    [FAR_LAYER_SKIP] = {"skip", FAR_FAMILY_BLOCK, NULL, 0},
    [FAR_LAYER_REPEAT] = {"repeat", FAR_FAMILY_BLOCK, NULL, 0},
};

far_layer far_layer_blank(far_layer_kind kind)
{
    return (far_layer){.kind = kind,
                       .w = NAN,
                       .b = NAN,
                       .alpha = NAN,
                       .power = FAR_POWER_DEFAULT,
                       .slope =
                           kind == FAR_LAYER_ELU ? FAR_ELU_ALPHA_DEFAULT : FAR_LEAKY_SLOPE_DEFAULT,
                       .w0 = FAR_W0_DEFAULT,
                       .gain = NAN,
                       .groups = FAR_GROUPS_DEFAULT,
                       .eps = FAR_EPS_DEFAULT,
                       .rate = NAN,
                       .count = 1};
}

static bool known_kind(far_layer_kind kind)
{
    return (unsigned)kind < FAR_LAYER_KINDS;
}

const char *far_layer_name(far_layer_kind kind)
{
    return kind == FAR_LAYER_GELU_TANH ? "gelu(tanh)"
           : known_kind(kind)          ? far_layer_specs[kind].name
                                       : "unknown";
}

bool far_layer_is_activation(far_layer_kind kind)
{
    return known_kind(kind) && far_layer_specs[kind].family == FAR_FAMILY_ACTIVATION;
}

bool far_layer_is_finite_only(far_layer_kind kind)
{
    return kind >= FAR_LAYER_SIGMOID && kind <= FAR_LAYER_GELU_TANH;
}

bool far_layer_is_norm(far_layer_kind kind)
{
    return known_kind(kind) && far_layer_specs[kind].family == FAR_FAMILY_NORM;
}

bool far_layer_is_shaped(far_layer_kind kind)
{
    return known_kind(kind) && far_layer_specs[kind].family == FAR_FAMILY_SHAPED;
}

bool far_layer_find(const char *word, int length, far_layer_kind *out)
{
    for (int kind = 0; kind < FAR_LAYER_WORDS; kind++) {
        const char *name = far_layer_specs[kind].name;
        if ((int)strlen(name) == length && memcmp(name, word, (size_t)length) == 0) {
            *out = (far_layer_kind)kind;
            return true;
        }
    }
    return false;
}

/* Words longer than this are close to no name. */
#define WORD_MOST 16

const char *far_layer_nearest(const char *word, int length)
{
    const char *nearest = NULL;
    int allowed = 1 + length / 4; /* a short word is close to everything */
    if (length < 2 || length > WORD_MOST) {
        return NULL;
    }
    for (int kind = 0; kind < FAR_LAYER_WORDS; kind++) {
        const char *name = far_layer_specs[kind].name;
        int distance = far_edit_distance(word, length, name, (int)strlen(name));
        if (distance <= allowed) {
            nearest = name;
            allowed = distance - 1;
        }
    }
    return nearest;
}

double far_arg_get(const far_arg *arg, const far_layer *layer)
{
    const char *field = (const char *)layer + arg->field;
    switch (arg->type) {
    case FAR_ARG_FLAG:
        return *(const bool *)field;
    case FAR_ARG_INTEGER:
        return (double)*(const int64_t *)field;
    case FAR_ARG_NUMBER:
    case FAR_ARG_SIZE:
        break;
    }
    return *(const double *)field;
}

void far_arg_set(const far_arg *arg, double value, far_layer *layer)
{
    char *field = (char *)layer + arg->field;
    switch (arg->type) {
    case FAR_ARG_FLAG:
        *(bool *)field = value != 0;
        return;
    case FAR_ARG_INTEGER:
        *(int64_t *)field = (int64_t)value;
        return;
    case FAR_ARG_NUMBER:
    case FAR_ARG_SIZE:
        break;
    }
    *(double *)field = value + 0.0; /* -0 becomes 0: they are one network, so one text */
}

far_size *far_size_of(const far_arg *arg, far_layer *layer)
{
    return (far_size *)((char *)layer + arg->field);
}

bool far_arg_same(const far_arg *arg, const far_layer *a, const far_layer *b)
{
    if (arg->type == FAR_ARG_SIZE) {
        return memcmp((const char *)a + arg->field, (const char *)b + arg->field,
                      sizeof(far_size)) == 0;
    }
    double x = far_arg_get(arg, a), y = far_arg_get(arg, b);
    return x == y || (isnan(x) && isnan(y));
}

bool far_arg_in_range(const far_arg *arg, double value)
{
    bool high_enough = arg->above_least ? value > arg->least : value >= arg->least;
    return high_enough && value <= arg->most;
}

void far_arg_describe_range(const far_arg *arg, char *out, size_t size)
{
    bool whole = arg->type == FAR_ARG_INTEGER || arg->type == FAR_ARG_SIZE;
    const char *what = whole ? "a whole number" : "a number";
    const char *from = arg->above_least ? "above" : "at least";
    if (arg->most == DBL_MAX) {
        snprintf(out, size, "%s %s %g", what, from, arg->least);
    } else {
        snprintf(out, size, "%s %s %.10g and at most %.10g", what, from, arg->least, arg->most);
    }
}
