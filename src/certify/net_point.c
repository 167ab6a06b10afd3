/* A network at one point in homogeneous coordinates, and its gradient there: for searching, where
 * nothing needs to be proven. */
#include "net_certify.h"

#include <string.h>

struct far_net_point {
    const far_net_plan *plan;
    double **value, **slope; /* of every layer's output */
    double *block;           /* that they lie in */
    double *inputs, *input_slope, *out;
    double s, s_slope;
};

static int64_t widths(const far_net_plan *plan)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < plan->count; i++) {
        sum += plan->layers[i].step->out;
    }
    return sum;
}

far_status far_net_point_create(const far_net_plan *plan, far_net_point **out)
{
    far_status st;
    far_net_point *p = NULL;
    int64_t d = plan->net->info.inputs, outputs = plan->net->info.outputs, total = widths(plan);
    *out = NULL;
    FAR_TRY(far_alloc(plan->ctx, 1, &p));
    *p = (far_net_point){.plan = plan};
    FAR_TRY(far_alloc(plan->ctx, 2 * total + 2 * d + outputs, &p->block));
    FAR_TRY(far_alloc(plan->ctx, plan->count, &p->value));
    FAR_TRY(far_alloc(plan->ctx, plan->count, &p->slope));
    double *at = p->block;
    for (int64_t i = 0; i < plan->count; i++) {
        p->value[i] = at;
        p->slope[i] = at + total;
        at += plan->layers[i].step->out;
    }
    p->inputs = p->block + 2 * total;
    p->input_slope = p->inputs + d;
    p->out = p->input_slope + d;
done:
    FAR_HAND_OVER(p, out, far_net_point_destroy);
    return st;
}

void far_net_point_destroy(far_net_point *p)
{
    if (p) {
        far_ctx *ctx = p->plan->ctx;
        FAR_FREE_ALL(ctx, p->value, p->slope, p->block, p);
    }
}

static double *value_before(const far_net_point *p, int64_t i)
{
    return i == 0 ? p->inputs : p->value[i - 1];
}

static double *slope_before(const far_net_point *p, int64_t i)
{
    return i == 0 ? p->input_slope : p->slope[i - 1];
}

static double power(double s, double degree)
{
    return degree == 0 ? 1 : degree == 1 ? s : pow(s, degree);
}

static double power_slope(double s, double degree)
{
    return degree == 0 ? 0 : degree == 1 ? 1 : s == 0 ? 0 : degree * pow(s, degree - 1);
}

/* ---- forwards ------------------------------------------------------------------------------ */

static void dense(const far_proof_layer *l, const double *in, double S, double *out)
{
    int64_t n = l->step->out;
    for (int64_t o = 0; o < n; o++) {
        out[o] = l->shift[o] * S;
    }
    for (int64_t i = 0; i < l->step->in; i++) {
        const double *w = l->columns + i * n;
        double x = in[i];
        for (int64_t o = 0; x != 0 && o < n; o++) {
            out[o] += x * w[o];
        }
    }
}

/* phi, times S where that keeps it finite, of z times S. */
static double activate(const far_step *s, double z, double S)
{
    if (S == 1 || far_activation_is_homogeneous(s)) {
        return s->gain * far_activation_value(s, z);
    }
    if (far_activation_is_bounded(s)) {
        bool infinite = S == 0 && s->layer != FAR_LAYER_SIN;
        double sign = (z > 0) - (z < 0);
        return s->gain * (infinite ? (s->layer == FAR_LAYER_SIGMOID ? (1 + sign) / 2 : sign)
                          : S == 0 ? 0
                                   : far_activation_value(s, z / S));
    }
    return s->gain *
           (S == 0 || fabs(z / S) > 1e10 ? fmax(z, 0) : S * far_activation_value(s, z / S));
}

static void spread(const double *z, int64_t m, bool centred, double *mean, double *variance)
{
    double sum = 0, square = 0;
    for (int64_t i = 0; i < m; i++) {
        sum += z[i];
    }
    *mean = centred ? sum / (double)m : 0;
    for (int64_t i = 0; i < m; i++) {
        square += (z[i] - *mean) * (z[i] - *mean);
    }
    *variance = square / (double)m;
}

static void norm(const far_proof_layer *l, const double *in, double S, double *out)
{
    int64_t m = l->set.size;
    for (int64_t g = 0; g < l->set.groups; g++) {
        double mean, variance;
        spread(in + g * m, m, l->set.centred, &mean, &variance);
        double sigma = sqrt(variance + l->step->eps * S * S);
        for (int64_t i = g * m; i < (g + 1) * m; i++) {
            double z = sigma > 0 ? (in[i] - mean) / sigma : 0;
            out[i] = l->scale ? l->scale[i] * z + l->shift[i] : z;
        }
    }
}

/* Both ends of a skip times s as often as the higher degree asks for. */
static double lift(const far_net_point *p, int64_t i, int64_t from)
{
    double before = far_net_degree_before(p->plan, from);
    return power(p->s, p->plan->layers[i].degree - before);
}

/* Layer i at the point. All values are homogeneous: p->s is the inverse of the radius, and a layer
 * of degree q is kept times s^q, so that infinity (s = 0) is a point like any other. */
static void forward(far_net_point *p, int64_t i)
{
    const far_proof_layer *l = &p->plan->layers[i];
    const double *in = value_before(p, i), *kept;
    double S = power(p->s, far_net_degree_before(p->plan, i)), *out = p->value[i], a, b;
    int64_t n = l->step->out;
    switch (l->step->kind) {
    case FAR_STEP_DENSE:
        dense(l, in, S, out);
        break;
    case FAR_STEP_ACTIVATION:
        for (int64_t k = 0; k < n; k++) {
            out[k] = activate(l->step, in[k], S);
        }
        break;
    case FAR_STEP_NORM:
        norm(l, in, S, out);
        break;
    case FAR_STEP_BATCHNORM:
        for (int64_t k = 0; k < n; k++) {
            out[k] = l->scale[k] * in[k] + l->shift[k] * S;
        }
        break;
    case FAR_STEP_SKIP_IN:
        memcpy(out, in, (size_t)n * sizeof *out);
        break;
    case FAR_STEP_SKIP_TURN:
        memcpy(out, value_before(p, l->step->mate), (size_t)n * sizeof *out);
        break;
    case FAR_STEP_SKIP_OUT:
        kept = value_before(p, l->step->mate);
        a = lift(p, i, i);
        b = lift(p, i, l->step->mate);
        for (int64_t k = 0; k < n; k++) {
            out[k] = a * in[k] + b * kept[k];
        }
        break;
    default: /* images and sequences do not come here */
        break;
    }
}

const double *far_net_point_value(far_net_point *p, const double *u, double s)
{
    const far_net_plan *plan = p->plan;
    p->s = s;
    for (int64_t i = 0; i < plan->net->info.inputs; i++) {
        p->inputs[i] = plan->unit * u[i];
    }
    for (int64_t i = 0; i < plan->count; i++) {
        forward(p, i);
    }
    for (int64_t j = 0; j < plan->net->info.outputs; j++) {
        double centre = plan->degree == 0 ? plan->centre[j] : 0;
        p->out[j] = centre + plan->scale[j] * p->value[plan->count - 1][j];
    }
    return p->out;
}

/* ---- backwards ----------------------------------------------------------------------------- */

static void dense_back(const far_proof_layer *l, const double *slope, double *back, double *S_slope)
{
    int64_t n = l->step->in;
    for (int64_t o = 0; o < l->step->out; o++) {
        const double *w = l->rows + o * n;
        double x = slope[o];
        *S_slope += x * l->shift[o];
        for (int64_t i = 0; x != 0 && i < n; i++) {
            back[i] += x * w[i];
        }
    }
}

static double activate_back(const far_step *s, double z, double S, double slope, double *S_slope)
{
    if (S == 1 || far_activation_is_homogeneous(s)) {
        return slope * s->gain * far_activation_slope(s, z);
    }
    bool bounded = far_activation_is_bounded(s);
    if (S == 0 || fabs(z / S) > 1e10) {
        return bounded || z < 0 ? 0 : slope * s->gain;
    }
    double w = z / S, d = slope * s->gain * far_activation_slope(s, w);
    *S_slope += bounded ? -d * w / S : slope * s->gain * far_activation_value(s, w) - d * w;
    return bounded ? d / S : d;
}

static void norm_back(const far_proof_layer *l, const double *in, double S, const double *slope,
                      double *back, double *S_slope)
{
    int64_t m = l->set.size;
    for (int64_t g = 0; g < l->set.groups; g++) {
        double mean, variance, sum = 0, dot = 0;
        spread(in + g * m, m, l->set.centred, &mean, &variance);
        double sigma = sqrt(variance + l->step->eps * S * S);
        for (int64_t i = g * m; sigma > 0 && i < (g + 1) * m; i++) {
            double c = slope[i] * (l->scale ? l->scale[i] : 1);
            sum += l->set.centred ? c : 0;
            dot += c * (in[i] - mean) / sigma;
        }
        *S_slope -= sigma > 0 ? dot * l->step->eps * S / (sigma * sigma) : 0;
        for (int64_t i = g * m; sigma > 0 && i < (g + 1) * m; i++) {
            double c = slope[i] * (l->scale ? l->scale[i] : 1), z = (in[i] - mean) / sigma;
            back[i] += (c - sum / (double)m - z * dot / (double)m) / sigma;
        }
    }
}

static void skip_back(far_net_point *p, int64_t i)
{
    const far_proof_layer *l = &p->plan->layers[i];
    int64_t ends[2] = {i, l->step->mate};
    for (int end = 0; end < 2; end++) {
        double factor = lift(p, i, ends[end]);
        double rest = l->degree - far_net_degree_before(p->plan, ends[end]);
        const double *value = value_before(p, ends[end]);
        double *back = slope_before(p, ends[end]);
        for (int64_t k = 0; k < l->step->out; k++) {
            back[k] += factor * p->slope[i][k];
            p->s_slope += power_slope(p->s, rest) * value[k] * p->slope[i][k];
        }
    }
}

/* The derivative of layer i, backwards: adds to the slopes of what it was computed from, and to
 * that of s, through which shifts and eps enter. */
static void backward(far_net_point *p, int64_t i)
{
    const far_proof_layer *l = &p->plan->layers[i];
    const double *in = value_before(p, i), *slope = p->slope[i];
    double degree = far_net_degree_before(p->plan, i), S = power(p->s, degree), S_slope = 0;
    double *back = slope_before(p, i);
    int64_t n = l->step->out;
    switch (l->step->kind) {
    case FAR_STEP_DENSE:
        dense_back(l, slope, back, &S_slope);
        break;
    case FAR_STEP_ACTIVATION:
        for (int64_t k = 0; k < n; k++) {
            back[k] += activate_back(l->step, in[k], S, slope[k], &S_slope);
        }
        break;
    case FAR_STEP_NORM:
        norm_back(l, in, S, slope, back, &S_slope);
        break;
    case FAR_STEP_BATCHNORM:
        for (int64_t k = 0; k < n; k++) {
            back[k] += l->scale[k] * slope[k];
            S_slope += l->shift[k] * slope[k];
        }
        break;
    case FAR_STEP_SKIP_TURN:
        back = slope_before(p, l->step->mate); /* fall through */
    case FAR_STEP_SKIP_IN:
        for (int64_t k = 0; k < n; k++) {
            back[k] += slope[k];
        }
        break;
    case FAR_STEP_SKIP_OUT:
        skip_back(p, i);
        break;
    default: /* images and sequences do not come here */
        break;
    }
    p->s_slope += S_slope * power_slope(p->s, degree);
}

void far_net_point_gradient(far_net_point *p, int64_t j, double *gradient)
{
    const far_net_plan *plan = p->plan;
    int64_t d = plan->net->info.inputs;
    for (int64_t i = 0; i < plan->count; i++) {
        memset(p->slope[i], 0, (size_t)plan->layers[i].step->out * sizeof(double));
    }
    memset(p->input_slope, 0, (size_t)d * sizeof(double));
    p->slope[plan->count - 1][j] = plan->scale[j];
    p->s_slope = 0;
    for (int64_t i = plan->count - 1; i >= 0; i--) {
        backward(p, i);
    }
    for (int64_t i = 0; i < d; i++) {
        gradient[i] = plan->unit * p->input_slope[i];
    }
    gradient[d] = p->s_slope;
}
