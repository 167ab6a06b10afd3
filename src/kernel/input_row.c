/* Layers on the raw input: an exact map of the feature vector, done before anything else. */
#include "points.h"

#include <math.h>

/* The vector is v[0..d) times scale, which may be at infinity; max |v| is from 1/2 to 1 unless v =
 * 0. */
typedef struct features {
    long double *v;
    int64_t d;
    far_big scale;
} features;

/* By a power of two: nothing is rounded, and a product costs a tenth of a quotient. */
static void rescale(features *f)
{
    long double most = 0;
    int exponent;
    for (int64_t j = 0; j < f->d; j++) {
        long double size = fabsl(f->v[j]);
        most = size > most ? size : most; /* fmaxl is a call */
    }
    frexpl(most, &exponent);
    long double factor = ldexpl(1, -exponent);
    for (int64_t j = 0; j < f->d && factor != 1; j++) {
        f->v[j] *= factor;
    }
    f->scale = far_big_scale(f->scale, most > 0 ? ldexpl(1, exponent) : 0);
}

static long double mean_of(const long double *v, int64_t n)
{
    long double sum = 0;
    for (int64_t j = 0; j < n; j++) {
        sum += v[j];
    }
    return sum / n;
}

static long double mean_square(const long double *v, int64_t n)
{
    long double sum = 0;
    for (int64_t j = 0; j < n; j++) {
        sum += v[j] * v[j];
    }
    return sum / n;
}

/* A constant vector whose mean rounds is still constant: differences at the level of rounding of
 * the values they come from count as none. */
static void subtract_mean(long double *v, int64_t n)
{
    bool constant = true;
    for (int64_t j = 1; j < n; j++) {
        constant = constant && v[j] == v[0];
    }
    long double mean = mean_of(v, n);
    for (int64_t j = 0; j < n; j++) {
        v[j] = constant ? 0 : v[j] - mean;
    }
}

static void normalise(features *f, const far_input_op *op)
{
    int64_t groups = op->kind == FAR_LAYER_LN ? op->groups : 1, size = f->d / groups;
    long double eps = far_big_limit(far_big_div(far_big_from(op->eps), far_big_square(f->scale)));
    for (int64_t g = 0; g < groups; g++) {
        long double *v = f->v + g * size;
        if (op->kind == FAR_LAYER_LN) {
            subtract_mean(v, size);
        }
        long double root = sqrtl(mean_square(v, size) + eps);
        for (int64_t j = 0; j < size; j++) {
            v[j] = root > 0 ? v[j] / root : 0;
        }
    }
    f->scale = far_big_from(1);
}

static long double homogeneous(const far_input_op *op, long double z)
{
    switch (op->kind) {
    case FAR_LAYER_RELU:
        return z > 0 ? powl(z, op->power) : 0;
    case FAR_LAYER_LEAKY_RELU:
        return z > 0 ? z : op->slope * z;
    case FAR_LAYER_ABS:
        return fabsl(z);
    case FAR_LAYER_GELU:
    case FAR_LAYER_SILU:
        return z > 0 ? z : 0; /* at infinity */
    case FAR_LAYER_ERF:
    case FAR_LAYER_TANH:
        return z > 0 ? 1 : z < 0 ? -1 : 0; /* at infinity */
    default:
        return z;
    }
}

static long double smooth(far_layer_kind kind, long double z)
{
    switch (kind) {
    case FAR_LAYER_GELU:
        return z / 2 * erfcl(-z / sqrtl(2));
    case FAR_LAYER_SILU:
        return z / (1 + expl(-z));
    case FAR_LAYER_ERF:
        return erfl(z);
    case FAR_LAYER_TANH:
        return tanhl(z);
    default:
        return sinl(z);
    }
}

static bool is_smooth(far_layer_kind kind)
{
    return kind == FAR_LAYER_GELU || kind == FAR_LAYER_SILU || kind == FAR_LAYER_ERF ||
           kind == FAR_LAYER_TANH || kind == FAR_LAYER_SIN;
}

static void activate(features *f, const far_input_op *op)
{
    bool finite = f->scale.k == 0, smooth_here = is_smooth(op->kind) && finite;
    long double scale = far_big_coef(f->scale) * op->w0;
    for (int64_t j = 0; j < f->d; j++) {
        f->v[j] = smooth_here ? smooth(op->kind, f->v[j] * scale) : homogeneous(op, f->v[j]);
    }
    if (smooth_here || op->kind == FAR_LAYER_ERF || op->kind == FAR_LAYER_TANH) {
        f->scale = far_big_from(1);
    } else if (op->kind == FAR_LAYER_RELU) {
        f->scale = far_big_pow(f->scale, op->power);
    }
    f->scale = far_big_scale(f->scale, op->gain);
}

static void apply(features *f, const far_input_op *op)
{
    if (op->kind == FAR_LAYER_BATCHNORM) {
        f->scale = far_big_scale(f->scale, 1 / sqrtl(1 + op->eps));
    } else if (far_layer_is_norm(op->kind)) {
        normalise(f, op);
    } else {
        activate(f, op);
    }
    rescale(f);
}

static void load(const far_mat *x, int64_t i, long double *v)
{
    const void *row = far_mat_row(x, i);
    for (int64_t j = 0; j < x->cols; j++) {
        v[j] = x->dtype == FAR_F32 ? ((const float *)row)[j] : ((const double *)row)[j];
    }
}

far_big far_input_row(const far_plan *plan, const far_mat *x, int64_t i, bool at_infinity,
                      long double *unit)
{
    features f = {.v = unit, .d = x->cols, .scale = far_big_make(1, 0, at_infinity ? 1 : 0)};
    load(x, i, unit);
    rescale(&f);
    for (int64_t k = 0; k < plan->input_count; k++) {
        apply(&f, &plan->inputs[k]);
    }
    long double length = sqrtl(mean_square(unit, f.d) * f.d), inverse = length > 0 ? 1 / length : 0;
    for (int64_t j = 0; j < f.d; j++) {
        unit[j] *= inverse;
    }
    return far_big_scale(f.scale, length / sqrtl(f.d));
}

/* ---- gradients through them ------------------------------------------------------------------ */

/* z loses its means. */
static void pull_norm(const far_input_op *op, int64_t d, long double *z, long double *grad)
{
    bool centred = op->kind == FAR_LAYER_LN;
    int64_t groups = centred ? op->groups : 1, size = d / groups;
    for (int64_t at = 0; at < d; at += size) {
        if (centred) {
            subtract_mean(z + at, size);
        }
        long double root = sqrtl(mean_square(z + at, size) + op->eps), along = 0;
        long double shift = centred ? mean_of(grad + at, size) : 0;
        for (int64_t j = at; j < at + size; j++) {
            along += z[j] / root * grad[j] / size;
        }
        for (int64_t j = at; j < at + size; j++) {
            grad[j] = root > 0 ? (grad[j] - shift - z[j] / root * along) / root : 0;
        }
    }
}

/* phi' of a smooth activation */
static long double smooth_slope(far_layer_kind kind, long double z)
{
    const long double root_pi = sqrtl(acosl(-1));
    long double s;
    switch (kind) {
    case FAR_LAYER_GELU:
        return erfcl(-z / sqrtl(2)) / 2 + z * expl(-z * z / 2) / (sqrtl(2) * root_pi);
    case FAR_LAYER_SILU:
        s = 1 / (1 + expl(-z));
        return s + z * s * (1 / (1 + expl(z)));
    case FAR_LAYER_ERF:
        return 2 / root_pi * expl(-z * z);
    case FAR_LAYER_TANH:
        s = 1 / coshl(z);
        return s * s;
    default:
        return cosl(z);
    }
}

/* At a kink the mean of both sides. */
static long double kinked_slope(const far_input_op *op, long double z)
{
    bool linear = op->kind != FAR_LAYER_RELU || op->power == 1;
    if (!linear) {
        return z > 0 ? op->power * powl(z, op->power - 1) : 0;
    }
    long double left = op->kind == FAR_LAYER_IDENTITY     ? 1
                       : op->kind == FAR_LAYER_ABS        ? -1
                       : op->kind == FAR_LAYER_LEAKY_RELU ? op->slope
                                                          : 0;
    return z > 0 ? 1 : z < 0 ? left : (1 + left) / 2;
}

static void pull(const far_input_op *op, int64_t d, long double *z, long double *grad)
{
    if (op->kind == FAR_LAYER_BATCHNORM) {
        for (int64_t j = 0; j < d; j++) {
            grad[j] /= sqrtl(1 + op->eps);
        }
    } else if (far_layer_is_norm(op->kind)) {
        pull_norm(op, d, z, grad);
    } else {
        for (int64_t j = 0; j < d; j++) {
            long double slope = is_smooth(op->kind) ? op->w0 * smooth_slope(op->kind, op->w0 * z[j])
                                                    : kinked_slope(op, z[j]);
            grad[j] *= op->gain * slope;
        }
    }
}

void far_input_pull(const far_plan *plan, const far_mat *x, int64_t i, long double *grad,
                    long double *work)
{
    int64_t d = x->cols;
    features f = {.v = work + plan->input_count * d, .d = d, .scale = far_big_from(1)};
    load(x, i, f.v);
    rescale(&f);
    for (int64_t k = 0; k < plan->input_count; k++) { /* what every layer gets */
        for (int64_t j = 0; j < d; j++) {
            work[k * d + j] = f.v[j] * far_big_coef(f.scale);
        }
        apply(&f, &plan->inputs[k]);
    }
    for (int64_t k = plan->input_count - 1; k >= 0; k--) {
        pull(&plan->inputs[k], d, work + k * d, grad);
    }
}
