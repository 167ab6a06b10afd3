/* Random weights: value i of a tensor depends on the seed, the tensor and i alone. */
#include "net_internal.h"

#include <math.h>
#include <string.h>

typedef enum shape { NORMAL, UNIFORM } shape;

/* count numbers of standard deviation scale (normal) or within +-scale (uniform). */
static void draw(double *out, int64_t count, shape s, double scale, uint64_t seed, int64_t first)
{
    for (int64_t i = 0; i < count; i++) {
        uint64_t counter = (uint64_t)(first + i);
        double unit = s == NORMAL ? far_random_normal(seed, counter)
                                  : 2 * far_random_uniform(seed, counter) - 1;
        out[i] = scale * unit;
    }
}

typedef struct recipe {
    shape shape;
    double weight, bias; /* standard deviations, or half the width of the interval */
} recipe;

static double or_default(double value, double fallback)
{
    return isnan(value) ? fallback : value;
}

static bool is_sin(const far_step *s)
{
    return s->kind == FAR_STEP_ACTIVATION && s->layer == FAR_LAYER_SIN;
}

static bool has_frequencies(const far_net *net)
{
    bool found = false;
    for (int64_t i = 0; i < net->step_count; i++) {
        found |= is_sin(&net->steps[i]) && net->steps[i].w0 != FAR_W0_DEFAULT;
    }
    return found;
}

/* Of the sin that a layer feeds, or behind the last one of that. */
static double frequency_of(const far_net *net, const far_step *layer)
{
    double w0 = FAR_W0_DEFAULT;
    for (const far_step *s = net->steps; s < net->steps + net->step_count; s++) {
        if (is_sin(s)) {
            w0 = s->w0;
            if (s > layer) {
                break;
            }
        }
    }
    return w0;
}

/* Frequencies in the text stay there; else w0 is multiplied into the first layer. */
static recipe siren(const far_net *net, const far_step *s, double w0, bool first)
{
    double n = (double)far_step_weights(s).cols;
    if (has_frequencies(net)) {
        return (recipe){UNIFORM, first ? 1 / n : sqrt(6 / n) / frequency_of(net, s), 1 / sqrt(n)};
    }
    return (recipe){UNIFORM, first ? w0 / n : sqrt(6 / n), (first ? w0 : 1) / sqrt(n)};
}

static recipe of_variance(shape s, double w, double b, double n)
{
    double widen = s == UNIFORM ? sqrt(3) : 1;
    return (recipe){s, widen * w / sqrt(n), widen * b};
}

static recipe choose(const far_net *net, const far_step *s, far_init init, double w0, bool first)
{
    double n = (double)far_step_weights(s).cols, w = s->w, b = or_default(s->b, FAR_B_DEFAULT);
    switch (init) {
    case FAR_INIT_KAIMING_UNIFORM:
        return of_variance(UNIFORM, or_default(w, FAR_W_STANDARD_DEFAULT), b, n);
    case FAR_INIT_LECUN:
        return of_variance(NORMAL, or_default(w, 1), b, n);
    case FAR_INIT_SIREN:
        return siren(net, s, w0, first);
    case FAR_INIT_NTK: /* the scales are in the steps */
        return (recipe){NORMAL, 1, 1};
    case FAR_INIT_TORCH:
        return (recipe){UNIFORM, 1 / sqrt(n), 1 / sqrt(n)};
    default:
        return of_variance(NORMAL, or_default(w, FAR_W_STANDARD_DEFAULT), b, n);
    }
}

/* Frozen weights are those of the same text without lora: place counts as if there were none. */
static void draw_linear(far_net *net, const far_step *s, far_init init, double w0, uint64_t seed,
                        bool first, int64_t place)
{
    recipe r = choose(net, s, init, w0, first);
    int64_t count = far_step_weight_count(s);
    draw(far_net_part(net, s, FAR_PART_WEIGHT), count, r.shape, r.weight, seed, place);
    if (far_step_has(s, FAR_PART_BIAS)) {
        draw(far_net_part(net, s, FAR_PART_BIAS), s->out, r.shape, r.bias, seed, place + count);
    }
}

/* As torch.nn.Embedding; positions start small, as transformers have them. */
static void draw_table(far_net *net, const far_step *s, uint64_t seed, int64_t place)
{
    double scale = s->kind == FAR_STEP_EMBED ? 1 : 0.02;
    if (s->weight >= 0) {
        draw(net->params + s->weight, far_step_weight_count(s), NORMAL, scale, seed, place);
    }
}

static void set_affine(far_net *net, const far_step *s)
{
    for (int64_t j = 0; j < s->out; j++) {
        net->params[s->weight + j] = 1;
        net->params[s->bias + j] = 0;
    }
}

#define ADAPTER_PLACE ((int64_t)1 << 42) /* beyond that of any weight */

/* A as in PEFT, uniform with variance 1 / (3 n); with the ntk parametrisation as its weights. */
void far_step_draw_adapter(far_net *net, const far_step *s, uint64_t seed)
{
    bool ntk = net->info.param == FAR_PARAM_NTK;
    far_weights_shape w = far_step_weights(s);
    draw(net->params + s->lora_a, s->rank * w.cols, ntk ? NORMAL : UNIFORM,
         ntk ? 1 : 1 / sqrt((double)w.cols), seed, ADAPTER_PLACE + s->lora_a);
    memset(net->params + s->lora_b, 0, (size_t)(w.rows * s->rank) * sizeof *net->params);
}

/* How many numbers the layer has in the text without lora. */
static int64_t plain_count(const far_step *s)
{
    bool has = s->unit >= 0;
    return has ? far_step_weight_count(s) + (far_step_has(s, FAR_PART_BIAS) ? s->out : 0) : 0;
}

void far_net_draw(far_net *net, far_init init, double w0, uint64_t seed)
{
    bool first = true;
    int64_t place = 0;
    for (int64_t i = 0; i < net->step_count; i++) {
        const far_step *s = &net->steps[i];
        if (far_step_is_linear(s)) {
            draw_linear(net, s, init, w0, seed, first, place);
            first = false;
        } else if (s->kind == FAR_STEP_EMBED || s->kind == FAR_STEP_POSITION) {
            draw_table(net, s, seed, place);
        } else if (s->weight >= 0) {
            set_affine(net, s);
        }
        if (s->rank > 0) {
            far_step_draw_adapter(net, s, seed);
        }
        place += plain_count(s);
    }
    net->info.init = (int32_t)init;
    net->info.w0 = init == FAR_INIT_SIREN && !has_frequencies(net) ? w0 : NAN;
    net->info.seed = seed;
}
