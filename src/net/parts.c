/* The tensors of a layer: where their numbers are, and their shapes as PyTorch has them. */
#include "net_internal.h"

const char *const far_part_names[FAR_PARTS] = {"weight",        "bias",         "lora_A.weight",
                                               "lora_B.weight", "running_mean", "running_var"};

/* Among what trains, what does not, and the running statistics. */
typedef struct place {
    int64_t trained, frozen, statistic;
} place;

static place place_of(const far_step *s, far_part part)
{
    static const place NONE = {-1, -1, -1};
    place p = NONE;
    switch (part) {
    case FAR_PART_WEIGHT:
        p.trained = s->weight;
        p.frozen = s->frozen_weight;
        break;
    case FAR_PART_BIAS:
        p.trained = s->bias;
        p.frozen = s->frozen_bias;
        break;
    case FAR_PART_LORA_A:
        p.trained = s->lora_a;
        break;
    case FAR_PART_LORA_B:
        p.trained = s->lora_b;
        break;
    case FAR_PART_MEAN:
        p.statistic = s->mean;
        break;
    default:
        p.statistic = s->variance;
    }
    return p;
}

bool far_step_has(const far_step *s, far_part part)
{
    place p = place_of(s, part);
    return p.trained >= 0 || p.frozen >= 0 || p.statistic >= 0;
}

int64_t far_step_parameter(const far_step *s, far_part part)
{
    return place_of(s, part).trained;
}

double *far_net_part(const far_net *net, const far_step *s, far_part part)
{
    place p = place_of(s, part);
    return p.trained >= 0     ? net->params + p.trained
           : p.frozen >= 0    ? net->frozen + p.frozen
           : p.statistic >= 0 ? net->statistics + p.statistic
                              : NULL;
}

far_weights_shape far_part_matrix(const far_step *s, far_part part)
{
    far_weights_shape w = far_step_weights(s);
    switch (part) {
    case FAR_PART_WEIGHT:
        return w;
    case FAR_PART_LORA_A:
        return (far_weights_shape){s->rank, w.cols, false};
    case FAR_PART_LORA_B:
        return (far_weights_shape){w.rows, s->rank, false};
    default:
        return (far_weights_shape){1, s->out, true};
    }
}

/* Beside a convolution A is one with `rank` outputs, and B one of 1 x 1 windows. */
int far_part_shape(const far_step *s, far_part part, int64_t shape[4])
{
    far_weights_shape w = far_part_matrix(s, part);
    bool b = part == FAR_PART_LORA_B;
    shape[0] = w.vector ? w.cols : w.rows;
    shape[1] = w.vector ? 0 : w.cols;
    if (s->kind == FAR_STEP_CONV && !w.vector) {
        shape[1] = b ? s->rank : s->in;
        shape[2] = b ? 1 : s->window.height;
        shape[3] = b ? 1 : s->window.width;
        return 4;
    }
    return w.vector ? 1 : 2;
}
