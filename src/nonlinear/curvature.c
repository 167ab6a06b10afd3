/* Second derivatives of the activations. */
#include "jet.h"

#include <math.h>

#define TWO_OVER_SQRT_PI 1.12837916709551257390
#define ONE_OVER_SQRT_2PI 0.39894228040143267794

static double rectified(double power, double z)
{
    return z > 0 && power != 1 ? power * (power - 1) * pow(z, power - 2) : 0;
}

static double gelu(double z)
{
    double density = ONE_OVER_SQRT_2PI * exp(-0.5 * z * z);
    return density > 0 ? density * (2 - z * z) : 0;
}

/* z s(z) with s the logistic function, even in z. */
static double silu(double z)
{
    double e = exp(-fabs(z)), s = 1 / (1 + e), slope = e * s * s;
    return slope * (2 + fabs(z) * (1 - 2 * s));
}

static double hyperbolic(double z)
{
    double e = exp(-2 * fabs(z)), slope = 4 * e / ((1 + e) * (1 + e));
    return -2 * tanh(z) * slope;
}

static double logistic(double z)
{
    double e = exp(-fabs(z));
    return z >= 0 ? 1 / (1 + e) : e / (1 + e);
}

/* z t(z), t = tanh(softplus(z)): 2 t' + z t''. */
static double mish(double z)
{
    double s = logistic(z), t = tanh(fmax(z, 0) + log1p(exp(-fabs(z)))), rest = 1 - t * t;
    double first = rest * s, second = rest * s * (1 - s) - 2 * t * first * s;
    return 2 * first + z * second;
}

/* z (1 + t(z)) / 2, t = tanh(u): t' + z t'' / 2. */
static double gelu_tanh(double z)
{
    double c = 0.79788456080286535588, a = 0.044715, x = fmax(-30, fmin(30, z));
    double u = c * (x + a * x * x * x), turn = c * (1 + 3 * a * x * x), bend = 6 * a * c * x;
    double t = tanh(u), e = exp(-2 * fabs(u)), rest = 4 * e / ((1 + e) * (1 + e));
    double first = rest * turn, second = rest * bend - 2 * t * first * turn;
    return first + 0.5 * x * second;
}

double far_activation_second(const far_step *step, double z)
{
    switch (step->layer) {
    case FAR_LAYER_RELU:
        return rectified(step->power, z);
    case FAR_LAYER_ERF:
        return -2 * z * TWO_OVER_SQRT_PI * exp(-z * z);
    case FAR_LAYER_GELU:
        return gelu(z);
    case FAR_LAYER_SILU:
        return silu(z);
    case FAR_LAYER_TANH:
        return hyperbolic(z);
    case FAR_LAYER_SIN:
        return -step->w0 * step->w0 * sin(step->w0 * z);
    case FAR_LAYER_SIGMOID:
        return logistic(z) * logistic(-z) * (1 - 2 * logistic(z));
    case FAR_LAYER_ELU:
        return z > 0 ? 0 : step->slope * exp(z);
    case FAR_LAYER_SOFTPLUS:
        return logistic(z) * logistic(-z);
    case FAR_LAYER_MISH:
        return mish(z);
    case FAR_LAYER_GELU_TANH:
        return gelu_tanh(z);
    default: /* identity, and those with kinks */
        return 0;
    }
}
