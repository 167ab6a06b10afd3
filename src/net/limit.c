/*
 * Networks along rays t u, t -> infinity. Every number is carried as
 *
 *     power t^exponent + slope t + constant        (exponent neither 0 nor 1)
 *
 * and exact says that all other terms vanish. Layers act on these forms without approximation: an
 * activation meets an argument that is far out, or one that stands still.
 */
#include "net_internal.h"

#include <math.h>
#include <omp.h>
#include <string.h>

/* A leading vector whose deviations from its mean are this small against it is constant: what is
 * left of them is rounding. */
#define CONSTANT_BELOW 1e-13

typedef struct form {
    double power, exponent, slope, constant;
    bool exact;
} form;

static form form_of_constant(double value)
{
    return (form){.constant = value, .exact = true};
}

/* How a form grows. A form that is not exact says nothing about orders below its own. */
typedef struct lead {
    double value, order;
} lead;

static lead lead_of(const form *f)
{
    if (f->power != 0 && (f->exponent > 1 || f->slope == 0)) {
        return (lead){f->power, f->exponent};
    }
    if (f->slope != 0) {
        return (lead){f->slope, 1};
    }
    return (lead){f->exact ? f->constant : NAN, 0};
}

static form scaled(form f, double factor)
{
    if (factor == 0) {
        return form_of_constant(0);
    }
    f.power *= factor;
    f.slope *= factor;
    f.constant *= factor;
    return f;
}

static void add_power(form *sum, double power, double exponent)
{
    if (power == 0) {
        return;
    }
    if (sum->power == 0 || exponent > sum->exponent) {
        sum->exact = sum->exact && sum->power == 0;
        sum->power = power;
        sum->exponent = exponent;
    } else if (exponent == sum->exponent) {
        sum->power += power;
    } else {
        sum->exact = false;
    }
}

static void add_scaled(form *sum, double factor, const form *f)
{
    if (factor == 0) {
        return;
    }
    sum->exact = sum->exact && f->exact;
    add_power(sum, factor * f->power, f->exponent);
    sum->slope += factor * f->slope;
    sum->constant += factor * f->constant;
}

/* ---- layers -------------------------------------------------------------------------------- */

static void limit_dense(const far_net *net, const far_step *s, const form *in, form *out)
{
    for (int64_t o = 0; o < s->out; o++) {
        const double *w = net->params + s->weight + o * s->in;
        form sum = form_of_constant(0);
        for (int64_t i = 0; i < s->in; i++) {
            add_scaled(&sum, s->weight_scale * w[i], &in[i]);
        }
        sum.constant += s->bias >= 0 ? s->bias_scale * net->params[s->bias + o] : 0;
        out[o] = sum;
    }
}

static form rectified_power(const far_step *s, lead l)
{
    double value = s->gain * pow(l.value, s->power), order = l.order * s->power;
    if (order == 1) {
        return (form){.slope = value};
    }
    return (form){.power = value, .exponent = order};
}

/* Of an argument that grows. Corrections to gelu, silu, tanh and erf vanish. */
static form activate_far(const far_step *s, const form *f, lead l)
{
    bool up = l.value > 0;
    switch (s->layer) {
    case FAR_LAYER_RELU:
        return !up             ? form_of_constant(0)
               : s->power == 1 ? scaled(*f, s->gain)
                               : rectified_power(s, l);
    case FAR_LAYER_GELU:
    case FAR_LAYER_SILU:
    case FAR_LAYER_SOFTPLUS:
    case FAR_LAYER_MISH:
    case FAR_LAYER_GELU_TANH:
        return scaled(*f, up ? s->gain : 0);
    case FAR_LAYER_ELU:
        return up ? scaled(*f, s->gain) : form_of_constant(-s->gain * s->slope);
    case FAR_LAYER_SIGMOID:
        return form_of_constant(up ? s->gain : 0);
    case FAR_LAYER_LEAKY_RELU:
        return scaled(*f, s->gain * (up ? 1 : s->slope));
    case FAR_LAYER_ABS:
        return scaled(*f, up ? s->gain : -s->gain);
    case FAR_LAYER_ERF:
    case FAR_LAYER_TANH:
        return form_of_constant(up ? s->gain : -s->gain);
    case FAR_LAYER_SIN:
        return form_of_constant(NAN);
    default:
        return scaled(*f, s->gain);
    }
}

/* false: a sin of something that grows. */
static bool limit_activation(const far_step *s, const form *in, form *out)
{
    bool exists = true;
    for (int64_t j = 0; j < s->out; j++) {
        lead l = lead_of(&in[j]);
        if (isnan(l.value)) {
            out[j] = form_of_constant(NAN);
        } else if (l.order == 0) {
            out[j] = form_of_constant(s->gain * far_activation_value(s, l.value));
        } else {
            exists = exists && s->layer != FAR_LAYER_SIN;
            out[j] = activate_far(s, &in[j], l);
        }
    }
    return exists;
}

static double coefficient(const form *f, double order)
{
    if (order == 0) {
        return f->constant;
    }
    return order == 1 ? f->slope : f->exponent == order ? f->power : 0;
}

/* The largest order that is below limit; NAN: not known, since some form is not exact. */
static double next_order(int64_t n, const form *in, double limit)
{
    double order = 0;
    bool exact = true;
    for (int64_t j = 0; j < n; j++) {
        exact = exact && in[j].exact;
        order = in[j].power != 0 && in[j].exponent < limit ? fmax(order, in[j].exponent) : order;
        order = in[j].slope != 0 && 1 < limit ? fmax(order, 1) : order;
    }
    return exact || (order > 0 && isinf(limit)) ? order : NAN;
}

/* v less its mean; false if hardly anything is left. */
static bool centre(int64_t n, double *v)
{
    double size = far_largest_size(v, n), pivot = v[0], mean = 0;
    for (int64_t j = 0; j < n; j++) {
        v[j] -= pivot;
        mean += v[j] / (double)n;
    }
    for (int64_t j = 0; j < n; j++) {
        v[j] -= mean;
    }
    return far_largest_size(v, n) > CONSTANT_BELOW * size;
}

/* v / sqrt(mean v^2 + eps), whatever its size. */
static void divide_by_size(int64_t n, double eps, double *v)
{
    double size = far_largest_size(v, n), square = 0;
    size = size > 0 ? size : 1;
    for (int64_t j = 0; j < n; j++) {
        v[j] /= size;
        square += v[j] * v[j] / (double)n;
    }
    double root = sqrt(square + eps / size / size);
    for (int64_t j = 0; j < n; j++) {
        v[j] = root == 0 ? 0 : v[j] / root;
    }
}

/* The highest order at which the vector is not constant decides. line: n numbers. */
static void limit_group(const far_step *s, int64_t n, const form *in, double *line, form *out)
{
    bool varies = false, ln = s->layer == FAR_LAYER_LN;
    double order = next_order(n, in, INFINITY);
    while (!varies) {
        for (int64_t j = 0; j < n; j++) {
            line[j] = isnan(order) ? NAN : coefficient(&in[j], order);
        }
        varies = (!ln || centre(n, line)) || !(order > 0);
        order = varies ? order : next_order(n, in, order);
    }
    divide_by_size(n, order > 0 ? 0 : s->eps, line);
    for (int64_t j = 0; j < n; j++) {
        out[j] = form_of_constant(ln && n == 1 ? 0 : line[j]);
    }
}

static form shifted(form f, double factor, double offset)
{
    f = scaled(f, factor);
    f.constant += offset;
    return f;
}

static void limit_norm(const far_net *net, const far_step *s, const form *in, double *line,
                       form *out)
{
    int64_t n = s->out / s->groups;
    for (int64_t k = 0; s->kind == FAR_STEP_NORM && k < s->groups; k++) {
        limit_group(s, n, in + k * n, line, out + k * n);
    }
    for (int64_t j = 0; s->kind == FAR_STEP_BATCHNORM && j < s->out; j++) {
        double square = net->statistics[s->variance + j] + s->eps;
        double inverse = square > 0 ? 1 / sqrt(square) : 0;
        out[j] = shifted(in[j], inverse, -net->statistics[s->mean + j] * inverse);
    }
    for (int64_t j = 0; s->weight >= 0 && j < s->out; j++) {
        out[j] = shifted(out[j], net->params[s->weight + j], net->params[s->bias + j]);
    }
}

/* ---- rays ---------------------------------------------------------------------------------- */

/* One thread's forms: rows of `widest` of them, one a step. */
typedef struct ray {
    form *forms;
    double *line;
    int64_t widest;
} ray;

static bool limit_step(const far_net *net, const ray *r, int64_t i)
{
    const far_step *s = &net->steps[i];
    const form *in = r->forms + i * r->widest;
    form *out = r->forms + (i + 1) * r->widest;
    switch (s->kind) {
    case FAR_STEP_DENSE:
        limit_dense(net, s, in, out);
        return true;
    case FAR_STEP_ACTIVATION:
        return limit_activation(s, in, out);
    case FAR_STEP_NORM:
    case FAR_STEP_BATCHNORM:
        limit_norm(net, s, in, r->line, out);
        return true;
    case FAR_STEP_SKIP_TURN:
        memcpy(out, r->forms + s->mate * r->widest, (size_t)s->out * sizeof *out);
        return true;
    default:
        memcpy(out, in, (size_t)s->out * sizeof *out);
        for (int64_t j = 0; s->kind == FAR_STEP_SKIP_OUT && j < s->out; j++) {
            add_scaled(&out[j], 1, &r->forms[s->mate * r->widest + j]);
        }
        return true;
    }
}

/* Step number of the first layer that has no limit; -1: none. */
static int64_t run_ray(const far_net *net, const ray *r, const double *u)
{
    for (int64_t j = 0; j < net->info.inputs; j++) {
        r->forms[j] = (form){.slope = u[j], .exact = true};
    }
    for (int64_t i = 0; i < net->step_count; i++) {
        if (!limit_step(net, r, i)) {
            return i;
        }
    }
    return -1;
}

static void write_at(const far_mat *m, int64_t i, int64_t k, double value)
{
    if (m) {
        ((double *)far_mat_row(m, i))[k] = value;
    }
}

static void write_limits(const far_net *net, const ray *r, int64_t i, const far_mat *const out[3])
{
    const form *f = r->forms + net->step_count * r->widest;
    for (int64_t k = 0; k < net->info.outputs; k++) {
        lead l = lead_of(&f[k]);
        bool intercept = l.order == 1 && f[k].exact && f[k].power == 0;
        write_at(out[0], i, k, l.value);
        write_at(out[1], i, k, l.order);
        write_at(out[2], i, k, l.order == 0 ? 0 : intercept ? f[k].constant : NAN);
    }
}

static int64_t widest_of(const far_net *net)
{
    int64_t widest = net->info.inputs;
    for (int64_t i = 0; i < net->step_count; i++) {
        widest = net->steps[i].out > widest ? net->steps[i].out : widest;
    }
    return widest;
}

static far_status check_limit(far_ctx *ctx, const far_net *net, const far_mat *u,
                              const far_mat *const out[3])
{
    static const char *const names[3] = {"value", "order", "rest"};
    far_status st = FAR_OK;
    if (!net) {
        return far_fail(ctx, FAR_ERR_ARG, "the network must not be NULL");
    }
    if (net->start) {
        return far_fail(ctx, FAR_ERR_ARG, "limits of a linearised network are not available");
    }
    FAR_TRY(far_mat_expect(ctx, u, "u", -1, net->info.inputs, FAR_F64));
    FAR_TRY(far_net_check_inputs(ctx, net, u));
    FAR_TRY(far_directions_check(ctx, u, "u"));
    for (int k = 0; k < 3; k++) {
        if (k == 0 || out[k]) {
            FAR_TRY(far_mat_expect(ctx, out[k], names[k], u->rows, net->info.outputs, FAR_F64));
        }
    }
done:
    return st;
}

static bool has_sin(const far_net *net)
{
    for (int64_t i = 0; i < net->step_count; i++) {
        if (net->steps[i].layer == FAR_LAYER_SIN) {
            return true;
        }
    }
    return false;
}

/* All rays, over threads; out NULL: only to see whether there are limits. */
static far_status run_rays(far_ctx *ctx, const far_net *net, const far_mat *u,
                           const far_mat *const *out)
{
    form *forms = NULL;
    double *lines = NULL;
    far_status st = FAR_OK;
    int64_t failed = -1;
    int threads = far_ctx_threads(ctx);
    int64_t widest = widest_of(net), each = (net->step_count + 1) * widest;
    FAR_TRY(far_alloc(ctx, threads * each, &forms));
    FAR_TRY(far_alloc(ctx, threads * widest, &lines));
#pragma omp parallel for num_threads(threads) schedule(static) reduction(max : failed)
    for (int64_t i = 0; i < u->rows; i++) {
        int t = omp_get_thread_num();
        ray r = {forms + t * each, lines + t * widest, widest};
        int64_t step = run_ray(net, &r, far_mat_row(u, i));
        failed = step > failed ? step : failed;
        if (out) {
            write_limits(net, &r, i, out);
        }
    }
    if (failed >= 0) {
        st = far_fail(ctx, FAR_ERR_ARCH,
                      "layer %s is a sin of something that grows along a ray: it has no limit; put "
                      "a norm before it",
                      net->steps[failed].name);
    }
done:
    far_free(ctx, forms);
    far_free(ctx, lines);
    return st;
}

far_status far_net_limit(far_ctx *ctx, const far_net *net, const far_mat *u, far_mat *value,
                         far_mat *order, far_mat *rest)
{
    const far_mat *const out[3] = {value, order, rest};
    const far_net *plain;
    far_net *own = NULL;
    far_status st = FAR_OK;
    FAR_TRY(check_limit(ctx, net, u, out));
    FAR_TRY(far_net_refuse_shaped(ctx, net, "limits along rays"));
    FAR_TRY(far_net_plain(ctx, net, &own, &plain));
    FAR_TRY(has_sin(plain) ? run_rays(ctx, plain, u, NULL) : FAR_OK); /* all of them, or none */
    FAR_TRY(run_rays(ctx, plain, u, out));
done:
    far_net_destroy(own);
    return st;
}
