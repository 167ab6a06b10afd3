/* The activations, one number at a time, and their gains. */
#include "net_internal.h"

#include <math.h>

#define SQRT_HALF 0.70710678118654752440
#define TWO_OVER_SQRT_PI 1.12837916709551257390
#define ONE_OVER_SQRT_2PI 0.39894228040143267794
#define SQRT_2_OVER_PI 0.79788456080286535588
#define GELU_CUBE 0.044715

static double logistic(double z)
{
    return z >= 0 ? 1 / (1 + exp(-z)) : exp(z) / (1 + exp(z));
}

/* tanh(log(1 + e^z)) = n / (n + 2) with n = e^z (e^z + 2); 1 to the last bit from 20 on. */
static double mish_factor(double z)
{
    double e = exp(fmin(z, 20)), n = e * (e + 2);
    return n / (n + 2);
}

/* Of the tanh that stands for erf(z / sqrt(2)) in gelu(tanh). */
static double gelu_argument(double z)
{
    return SQRT_2_OVER_PI * (z + GELU_CUBE * z * z * z);
}

static double gelu_argument_slope(double z)
{
    return SQRT_2_OVER_PI * (1 + 3 * GELU_CUBE * z * z);
}

static double phi(far_layer_kind kind, double power, double slope, double w0, double z)
{
    switch (kind) {
    case FAR_LAYER_RELU:
        return z > 0 ? (power == 1 ? z : pow(z, power)) : 0;
    case FAR_LAYER_LEAKY_RELU:
        return z > 0 ? z : slope * z;
    case FAR_LAYER_ABS:
        return fabs(z);
    case FAR_LAYER_ERF:
        return erf(z);
    case FAR_LAYER_GELU:
        return 0.5 * z * erfc(-z * SQRT_HALF);
    case FAR_LAYER_SILU:
        return z * logistic(z);
    case FAR_LAYER_TANH:
        return tanh(z);
    case FAR_LAYER_SIN:
        return sin(w0 * z);
    case FAR_LAYER_SIGMOID:
        return logistic(z);
    case FAR_LAYER_ELU:
        return z > 0 ? z : slope * expm1(z);
    case FAR_LAYER_SOFTPLUS:
        return fmax(z, 0) + log1p(exp(-fabs(z)));
    case FAR_LAYER_MISH:
        return z * mish_factor(z);
    case FAR_LAYER_GELU_TANH:
        return 0.5 * z * (1 + tanh(gelu_argument(z)));
    default:
        return z;
    }
}

double far_activation_value(const far_step *step, double z)
{
    return phi(step->layer, step->power, step->slope, step->w0, z);
}

double far_activation_slope(const far_step *step, double z)
{
    double t;
    switch (step->layer) {
    case FAR_LAYER_RELU:
        return z > 0 ? (step->power == 1 ? 1 : step->power * pow(z, step->power - 1)) : 0;
    case FAR_LAYER_LEAKY_RELU:
        return z > 0 ? 1 : step->slope;
    case FAR_LAYER_ABS:
        return (z > 0) - (z < 0);
    case FAR_LAYER_ERF:
        return TWO_OVER_SQRT_PI * exp(-z * z);
    case FAR_LAYER_GELU:
        return 0.5 * erfc(-z * SQRT_HALF) + z * ONE_OVER_SQRT_2PI * exp(-0.5 * z * z);
    case FAR_LAYER_SILU:
        t = logistic(z);
        return t + z * t * (1 - t);
    case FAR_LAYER_TANH:
        t = tanh(z);
        return 1 - t * t;
    case FAR_LAYER_SIN:
        return step->w0 * cos(step->w0 * z);
    case FAR_LAYER_SIGMOID:
        t = logistic(z);
        return t * logistic(-z);
    case FAR_LAYER_ELU:
        return z > 0 ? 1 : step->slope * exp(z);
    case FAR_LAYER_SOFTPLUS:
        return logistic(z);
    case FAR_LAYER_MISH:
        t = mish_factor(z);
        return t + z * (1 - t * t) * logistic(z);
    case FAR_LAYER_GELU_TANH:
        t = tanh(gelu_argument(z));
        return 0.5 * (1 + t) + 0.5 * z * (1 - t * t) * gelu_argument_slope(z);
    default:
        return 1;
    }
}

/* E phi(u)^2 of a smooth phi, by the trapezoidal rule: its error falls faster than any power. */
static double mean_square(const far_layer *layer)
{
    const double step = 1.0 / 64, end = 12;
    double sum = 0;
    for (double u = -end; u <= end; u += step) {
        double y = phi(layer->kind, layer->power, layer->slope, layer->w0, u);
        sum += y * y * exp(-0.5 * u * u);
    }
    return sum * step * ONE_OVER_SQRT_2PI;
}

double far_activation_unit_gain(const far_layer *layer)
{
    switch (layer->kind) {
    case FAR_LAYER_RELU: /* E max(u, 0)^2p = 2^(p - 1) Gamma(p + 1/2) / sqrt(pi) */
        return layer->power == 1 ? sqrt(2)
                                 : exp(-0.5 * (lgamma(layer->power + 0.5) - lgamma(0.5) +
                                               (layer->power - 1) * log(2)));
    case FAR_LAYER_LEAKY_RELU:
        return sqrt(2 / (1 + layer->slope * layer->slope));
    case FAR_LAYER_ABS:
    case FAR_LAYER_IDENTITY:
        return 1;
    case FAR_LAYER_SIN: /* E sin(w0 u)^2 = (1 - exp(-2 w0^2)) / 2; a fast one outruns the rule */
        return sqrt(-2 / expm1(-2 * layer->w0 * layer->w0));
    default:
        return 1 / sqrt(mean_square(layer));
    }
}
