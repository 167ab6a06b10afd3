/*
 * Finite networks: values against plain loops in long double, derivatives against finite
 * differences and each other, in every layer of the language; limits along rays against evaluation
 * far out.
 */
#include "net/engine.h"

#include <farfield/farfield.h>

#define TEST_THREADS 0
#include "harness.h"

#define INPUTS 7
#define ROWS 29

static const char *const ARCHS[] = {
    "dense(3)",
    "dense(13) relu dense(1)",
    "dense(13) relu dense(37) relu dense(3)",
    "dense(128) ln relu dense(128) ln relu dense(1)",
    "dense(13, nobias) ln relu dense(2, nobias)",
    "dense(15, w=1.7, b=0.3) ln(groups=3, affine) relu dense(5)",
    "dense(18) ln(groups=6) tanh dense(3)",
    "dense(13) ln(eps=0.01, affine) gelu dense(3)",
    "dense(13) rms relu dense(3)",
    "dense(13) rms(eps=0.1, affine) silu dense(3)",
    "dense(13) batchnorm relu dense(3)",
    "dense(13) batchnorm(eps=0.01, affine) tanh dense(3)",
    "ln dense(13) relu dense(3)",
    "ln(affine) dense(13) relu dense(3)",
    "batchnorm(affine) dense(13) erf dense(3)",
    "rms(affine) relu dense(3)",
    "dense(13) relu(2) dense(3)",
    "dense(13) relu(1.5, gain=0.7) ln dense(3)",
    "dense(13) leaky_relu(0.1) dense(17) abs dense(3)",
    "dense(13) erf dense(3)",
    "dense(13) gelu(gain=1.3) dense(3)",
    "dense(13) silu dense(3)",
    "dense(13) tanh dense(3)",
    "dense(13) sin dense(3)",
    "dense(13) sin(w0=3) dense(11) sin(w0=2, gain=0.7) dense(3)",
    "dense(13) identity ln dense(3)",
    "dense(13) relu ln(affine) dense(11) ln(affine) dense(3)",
    "skip(dense(7) tanh dense(7)) dense(3)",
    "skip(ln(affine) tanh) relu dense(3)",
    "skip(tanh dense(5) | dense(5)) dense(3)",
    "skip(ln(affine) tanh | gelu) skip(dense(5) silu | skip(dense(7) | tanh) dense(5)) dense(3)",
    "dense(13) skip(ln relu dense(13)) dense(3)",
    "dense(13) ln skip(relu) skip(dense(5) gelu dense(13)) ln relu dense(3)",
    "dense(13) skip(tanh skip(ln dense(13) relu) dense(13) skip(silu)) rms dense(3)",
    "[dense(13) ln relu]x3 dense(3) ln",
    "dense(67) tanh dense(5)",
    "dense(37) ln relu dense(43) ln(affine) leaky_relu(0.2) dense(19) rms dense(6)",
    "tanh",
    "ln(affine)",
};

/* Random parameters of size about 1 (so that scales and shifts matter too), and statistics. */
static far_net *make_net(const char *arch, far_init init)
{
    far_net_opts opts;
    far_net *net;
    far_net_opts_init(&opts);
    opts.inputs = INPUTS;
    opts.init = (int32_t)init;
    opts.seed = 5;
    must_do(far_net_create(ctx, arch, &opts, &net), arch);
    for (int64_t i = 0; i < net->step_count; i++) {
        const far_step *s = &net->steps[i];
        for (int64_t j = 0; s->kind != FAR_STEP_DENSE && s->weight >= 0 && j < s->out; j++) {
            net->params[s->weight + j] += 0.3 * far_random_normal(7, (uint64_t)(i * 1000 + j));
            net->params[s->bias + j] += 0.3 * far_random_normal(8, (uint64_t)(i * 1000 + j));
        }
        for (int64_t j = 0; s->mean >= 0 && j < s->out; j++) {
            net->statistics[s->mean + j] = 0.4 * far_random_normal(9, (uint64_t)(i * 1000 + j));
            net->statistics[s->variance + j] = 0.5 + far_random_uniform(10, (uint64_t)j);
        }
    }
    return net;
}

static double *numbers(int64_t count, uint64_t seed)
{
    double *v = malloc((size_t)(count > 0 ? count : 1) * sizeof *v);
    for (int64_t i = 0; i < count; i++) {
        v[i] = far_random_normal(seed, (uint64_t)i);
    }
    return v;
}

static far_mat view(double *data, int64_t rows, int64_t cols)
{
    return far_mat_view(data, rows, cols, FAR_F64);
}

/* ---- the reference: one row, plain loops, long double --------------------------------------- */

typedef long double wide;

static wide phi(const far_step *s, wide z)
{
    switch (s->layer) {
    case FAR_LAYER_RELU:
        return z > 0 ? powl(z, (wide)s->power) : 0;
    case FAR_LAYER_LEAKY_RELU:
        return z > 0 ? z : (wide)s->slope * z;
    case FAR_LAYER_ABS:
        return fabsl(z);
    case FAR_LAYER_ERF:
        return erfl(z);
    case FAR_LAYER_GELU:
        return z * erfcl(-z / sqrtl(2)) / 2;
    case FAR_LAYER_SILU:
        return z / (1 + expl(-z));
    case FAR_LAYER_TANH:
        return tanhl(z);
    case FAR_LAYER_SIN:
        return sinl((wide)s->w0 * z);
    default:
        return z;
    }
}

static void reference_dense(const far_net *net, const far_step *s, const wide *h, wide *z)
{
    for (int64_t o = 0; o < s->out; o++) {
        wide sum = 0;
        for (int64_t i = 0; i < s->in; i++) {
            sum += (wide)net->params[s->weight + o * s->in + i] * h[i];
        }
        z[o] = (wide)s->weight_scale * sum;
        z[o] += s->bias >= 0 ? (wide)s->bias_scale * (wide)net->params[s->bias + o] : 0;
    }
}

static void reference_group(int64_t n, bool centre, double eps, wide *z)
{
    wide mean = 0, square = 0;
    for (int64_t j = 0; centre && j < n; j++) {
        mean += z[j] / (wide)n;
    }
    for (int64_t j = 0; j < n; j++) {
        z[j] -= mean;
        square += z[j] * z[j] / (wide)n;
    }
    for (int64_t j = 0; j < n; j++) {
        z[j] /= sqrtl(square + (wide)eps);
    }
}

static void reference_norm(const far_net *net, const far_step *s, wide *z)
{
    int64_t n = s->out / s->groups;
    for (int64_t j = 0; s->kind == FAR_STEP_BATCHNORM && j < s->out; j++) {
        z[j] -= (wide)net->statistics[s->mean + j];
        z[j] /= sqrtl((wide)net->statistics[s->variance + j] + (wide)s->eps);
    }
    for (int64_t k = 0; s->kind == FAR_STEP_NORM && k < s->groups; k++) {
        reference_group(n, s->layer == FAR_LAYER_LN, s->eps, z + k * n);
    }
    for (int64_t j = 0; s->weight >= 0 && j < s->out; j++) {
        z[j] = z[j] * (wide)net->params[s->weight + j] + (wide)net->params[s->bias + j];
    }
}

static void reference_step(const far_net *net, int64_t i, wide (*values)[256])
{
    const far_step *s = &net->steps[i];
    const wide *in = values[s->kind == FAR_STEP_SKIP_TURN ? s->mate : i];
    wide *out = values[i + 1];
    if (s->kind == FAR_STEP_DENSE) {
        reference_dense(net, s, in, out);
        return;
    }
    for (int64_t j = 0; j < s->out; j++) {
        out[j] = in[j];
        if (s->kind == FAR_STEP_ACTIVATION) {
            out[j] = (wide)s->gain * phi(s, in[j]);
        } else if (s->kind == FAR_STEP_SKIP_OUT) {
            out[j] += values[s->mate][j];
        }
    }
    if (s->kind == FAR_STEP_NORM || s->kind == FAR_STEP_BATCHNORM) {
        reference_norm(net, s, out);
    }
}

static void reference(const far_net *net, const double *x, wide *out)
{
    static wide values[64][256];
    for (int64_t j = 0; j < net->info.inputs; j++) {
        values[0][j] = (wide)x[j];
    }
    for (int64_t i = 0; i < net->step_count; i++) {
        reference_step(net, i, values);
    }
    for (int64_t k = 0; k < net->info.outputs; k++) {
        out[k] = values[net->step_count][k];
    }
}

/* ---- comparing ------------------------------------------------------------------------------ */

static double norm(const double *a, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += a[i] * a[i];
    }
    return sqrt(sum);
}

/* |a - b| / |b| over all numbers */
static double difference(const double *a, const double *b, int64_t n)
{
    double sum = 0, size = norm(b, n);
    for (int64_t i = 0; i < n; i++) {
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    }
    return size > 0 ? sqrt(sum) / size : sqrt(sum);
}

static void assert_close(const char *arch, const char *what, const double *a, const double *b,
                         int64_t n, double tolerance)
{
    double d = difference(a, b, n);
    if (!(d <= tolerance)) {
        fail_msg("%s: %s: %.3g apart, more than %.3g", arch, what, d, tolerance);
    }
}

typedef void (*net_check)(const char *arch, far_net *net, double *x);

static void for_all(net_check check)
{
    for (int i = 0; i < COUNT(ARCHS); i++) {
        for (int k = 0; k < 2; k++) {
            far_net *net = make_net(ARCHS[i], k ? FAR_INIT_NTK : FAR_INIT_KAIMING_NORMAL);
            double *x = numbers(ROWS * INPUTS, 31);
            check(ARCHS[i], net, x);
            free(x);
            far_net_destroy(net);
        }
    }
}

static void eval(const char *arch, const far_net *net, double *x, int64_t rows, double *out)
{
    far_mat xm = view(x, rows, net->info.inputs), om = view(out, rows, net->info.outputs);
    must_do(far_net_eval(ctx, net, &xm, &om), arch);
}

/* ---- values --------------------------------------------------------------------------------- */

static void check_values(const char *arch, far_net *net, double *x)
{
    int64_t o = net->info.outputs;
    double *out = numbers(ROWS * o, 1), *expected = numbers(ROWS * o, 2);
    eval(arch, net, x, ROWS, out);
    for (int64_t i = 0; i < ROWS; i++) {
        wide row[256];
        reference(net, x + i * INPUTS, row);
        for (int64_t k = 0; k < o; k++) {
            expected[i * o + k] = (double)row[k];
        }
    }
    assert_close(arch, "values", out, expected, ROWS * o, 1e-14);
    free(out);
    free(expected);
}

static void values_equal_plain_loops(void **state)
{
    (void)state;
    for_all(check_values);
}

/* ---- activations, number by number ---------------------------------------------------------- */

static wide phi_slope(const far_step *s, wide z)
{
    wide t;
    switch (s->layer) {
    case FAR_LAYER_ERF:
        return 2 / sqrtl(acosl(-1)) * expl(-z * z);
    case FAR_LAYER_GELU:
        return erfcl(-z / sqrtl(2)) / 2 + z * expl(-z * z / 2) / sqrtl(2 * acosl(-1));
    case FAR_LAYER_SILU:
        t = 1 / (1 + expl(-z));
        return t + z * t / (1 + expl(z));
    case FAR_LAYER_TANH:
        return 1 / (coshl(z) * coshl(z));
    case FAR_LAYER_SIN:
        return (wide)s->w0 * cosl((wide)s->w0 * z);
    default:
        return z > 0 ? (wide)s->power * powl(z, (wide)s->power - 1) : 0;
    }
}

#define POINTS 4001

/* z from -10 to 10; the tails of gelu and silu keep their digits, slopes do but where they vanish.
 */
static void check_activation(const char *arch)
{
    far_net_opts opts;
    far_net *net;
    double *z = numbers(POINTS, 1), *value = numbers(POINTS, 1), *slope = numbers(POINTS, 1);
    double *ones = numbers(POINTS, 1);
    far_mat zm = view(z, 1, POINTS), om = view(ones, 1, POINTS);
    far_mat vm = view(value, 1, POINTS), sm = view(slope, 1, POINTS);
    far_net_opts_init(&opts);
    opts.inputs = POINTS;
    must_do(far_net_create(ctx, arch, &opts, &net), arch);
    for (int64_t i = 0; i < POINTS; i++) {
        z[i] = (double)(i - POINTS / 2) / (POINTS / 20.0);
        ones[i] = 1;
    }
    must_do(far_net_eval(ctx, net, &zm, &vm), arch);
    must_do(far_net_jvp(ctx, net, &zm, NULL, &om, &sm), arch);
    for (int64_t i = 0; i < POINTS; i++) {
        wide v = phi(net->steps, (wide)z[i]), d = phi_slope(net->steps, (wide)z[i]);
        double off = (double)fabsl((wide)value[i] - v) / (double)fabsl(v ? v : 1);
        double slope_off = (double)fabsl((wide)slope[i] - d);
        if (!(off <= 2e-14) || !(slope_off <= 2e-15 * fmax(1, fabs(slope[i])))) {
            fail_msg("%s(%.17g): value %.3g off, slope %.3g", arch, z[i], off, slope_off);
        }
    }
    far_net_destroy(net);
    free(z);
    free(value);
    free(slope);
    free(ones);
}

static void activations_are_accurate(void **state)
{
    (void)state;
    static const char *const SMOOTH[] = {"erf",     "gelu",    "silu",       "tanh",       "sin",
                                         "relu(2)", "relu(3)", "relu(1.75)", "relu(0.625)"};
    for (int i = 0; i < COUNT(SMOOTH); i++) {
        check_activation(SMOOTH[i]);
    }
}

/* ---- derivatives ---------------------------------------------------------------------------- */

/* f at parameters + h v and inputs + h dx */
static void eval_moved(const char *arch, far_net *net, const double *x, const double *v,
                       const double *dx, double h, double *out)
{
    int64_t count = net->info.parameters;
    double *kept = numbers(count, 1), *moved = numbers(ROWS * INPUTS, 1);
    memcpy(kept, net->params, (size_t)count * sizeof *kept);
    for (int64_t i = 0; i < count; i++) {
        net->params[i] += h * v[i];
    }
    for (int64_t i = 0; i < ROWS * INPUTS; i++) {
        moved[i] = x[i] + h * dx[i];
    }
    eval(arch, net, moved, ROWS, out);
    memcpy(net->params, kept, (size_t)count * sizeof *kept);
    free(kept);
    free(moved);
}

/* Central differences; the step is small, so that no kink lies within it. */
static void difference_quotient(const char *arch, far_net *net, const double *x, const double *v,
                                const double *dx, double *out)
{
    int64_t n = ROWS * net->info.outputs;
    double *down = numbers(n, 1);
    const double h = 1e-6;
    eval_moved(arch, net, x, v, dx, h, out);
    eval_moved(arch, net, x, v, dx, -h, down);
    for (int64_t i = 0; i < n; i++) {
        out[i] = (out[i] - down[i]) / (2 * h);
    }
    free(down);
}

static void jvp(const char *arch, const far_net *net, double *x, double *v, double *dx, double *out)
{
    far_mat xm = view(x, ROWS, INPUTS), vm = view(v, 1, net->info.parameters);
    far_mat dm = view(dx, ROWS, INPUTS), om = view(out, ROWS, net->info.outputs);
    must_do(far_net_jvp(ctx, net, &xm, v ? &vm : NULL, dx ? &dm : NULL, &om), arch);
}

static void check_jvp(const char *arch, far_net *net, double *x)
{
    int64_t n = ROWS * net->info.outputs, count = net->info.parameters;
    double *v = numbers(count, 41), *dx = numbers(ROWS * INPUTS, 42);
    double *zero = calloc((size_t)(count + ROWS * INPUTS), sizeof *zero);
    double *exact = numbers(n, 1), *quotient = numbers(n, 1), *part = numbers(n, 1);
    for (int64_t i = 0; i < count; i++) {
        v[i] *= 0.1;
    }
    jvp(arch, net, x, v, dx, exact);
    difference_quotient(arch, net, x, v, dx, quotient);
    assert_close(arch, "jvp", exact, quotient, n, 1e-8);
    jvp(arch, net, x, v, NULL, part);
    difference_quotient(arch, net, x, v, zero, quotient);
    assert_close(arch, "jvp of parameters", part, quotient, n, 1e-8);
    jvp(arch, net, x, NULL, dx, quotient);
    for (int64_t i = 0; i < n; i++) {
        part[i] += quotient[i];
    }
    assert_close(arch, "parts of jvp", part, exact, n, 1e-13);
    free(v);
    free(dx);
    free(zero);
    free(exact);
    free(quotient);
    free(part);
}

static void jvp_equals_finite_differences(void **state)
{
    (void)state;
    for_all(check_jvp);
}

static double inner(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

static void vjp(const char *arch, const far_net *net, double *x, double *u, double *grad,
                double *grad_x)
{
    far_mat xm = view(x, ROWS, INPUTS), um = view(u, ROWS, net->info.outputs);
    far_mat gm = view(grad, 1, net->info.parameters), gx = view(grad_x, ROWS, INPUTS);
    must_do(far_net_vjp(ctx, net, &xm, &um, grad ? &gm : NULL, grad_x ? &gx : NULL), arch);
}

/* <J v, u> = <v, J' u> */
static void check_adjoint(const char *arch, far_net *net, double *x)
{
    int64_t n = ROWS * net->info.outputs, count = net->info.parameters;
    double *v = numbers(count, 41), *dx = numbers(ROWS * INPUTS, 42), *u = numbers(n, 43);
    double *out = numbers(n, 1), *grad = numbers(count, 1), *grad_x = numbers(ROWS * INPUTS, 1);
    jvp(arch, net, x, v, dx, out);
    vjp(arch, net, x, u, grad, grad_x);
    double left = inner(out, u, n),
           right = inner(v, grad, count) + inner(dx, grad_x, ROWS * INPUTS);
    double size = norm(out, n) * norm(u, n);
    if (!(fabs(left - right) <= 1e-14 * size)) {
        fail_msg("%s: <Jv, u> - <v, J'u> = %.3g of %.3g", arch, left - right, size);
    }
    double *alone = numbers(count, 1), *alone_x = numbers(ROWS * INPUTS, 1);
    vjp(arch, net, x, u, alone, NULL);
    vjp(arch, net, x, u, NULL, alone_x);
    assert_memory_equal(alone, grad, (size_t)count * sizeof *grad);
    assert_memory_equal(alone_x, grad_x, (size_t)(ROWS * INPUTS) * sizeof *grad_x);
    free(alone);
    free(alone_x);
    free(v);
    free(dx);
    free(u);
    free(out);
    free(grad);
    free(grad_x);
}

static void vjp_is_the_adjoint_of_jvp(void **state)
{
    (void)state;
    for_all(check_adjoint);
}

/* ---- the Jacobian, and float32 -------------------------------------------------------------- */

static void check_jacobian(const char *arch, far_net *net, double *x)
{
    int64_t o = net->info.outputs, n = ROWS * o, count = net->info.parameters;
    double *jacobian = numbers(n * count, 1), *u = numbers(n, 43);
    double *grad = numbers(count, 1), *sum = calloc((size_t)count + 1, sizeof *sum);
    far_mat xm = view(x, ROWS, INPUTS), jm = view(jacobian, n, count);
    must_do(far_net_jacobian(ctx, net, &xm, &jm), arch);
    vjp(arch, net, x, u, grad, NULL);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < count; k++) {
            sum[k] += u[i] * jacobian[i * count + k];
        }
    }
    assert_close(arch, "rows of the Jacobian", sum, grad, count, 1e-13);
    for (int64_t i = 0; i < n; i++) { /* each row on its own */
        memset(u, 0, (size_t)n * sizeof *u);
        u[i] = 1;
        vjp(arch, net, x, u, grad, NULL);
        assert_close(arch, "a row of the Jacobian", jacobian + i * count, grad, count, 1e-13);
    }
    free(jacobian);
    free(u);
    free(grad);
    free(sum);
}

static void jacobian_holds_the_rows_of_vjp(void **state)
{
    (void)state;
    for_all(check_jacobian);
}

static float *rounded(const double *v, int64_t n)
{
    float *out = malloc((size_t)(n > 0 ? n : 1) * sizeof *out);
    for (int64_t i = 0; i < n; i++) {
        out[i] = (float)v[i];
    }
    return out;
}

static void widen(const float *v, int64_t n, double *out)
{
    for (int64_t i = 0; i < n; i++) {
        out[i] = v[i];
    }
}

/* All functions in float32 against float64, at numbers that float32 holds. */
static void check_float32(const char *arch, far_net *net, double *x)
{
    int64_t n = ROWS * net->info.outputs, count = net->info.parameters, d = ROWS * INPUTS;
    double *v = numbers(count, 41), *dx = numbers(d, 42), *u = numbers(n, 43);
    float *xf = rounded(x, d), *vf = rounded(v, count), *df = rounded(dx, d), *uf = rounded(u, n);
    float *of = rounded(u, n), *gf = rounded(v, count), *hf = rounded(dx, d);
    double *out = numbers(n, 1), *grad = numbers(count, 1), *grad_x = numbers(d, 1);
    double *wide_out = numbers(n, 1), *wide_grad = numbers(count, 1), *wide_x = numbers(d, 1);
    far_mat xm = far_mat_view(xf, ROWS, INPUTS, FAR_F32), vm = far_mat_view(vf, 1, count, FAR_F32);
    far_mat dm = far_mat_view(df, ROWS, INPUTS, FAR_F32);
    far_mat um = far_mat_view(uf, ROWS, net->info.outputs, FAR_F32), om = um, gm = vm, hm = dm;
    om.data = of;
    gm.data = gf;
    hm.data = hf;
    widen(xf, d, x);
    widen(vf, count, v);
    widen(df, d, dx);
    widen(uf, n, u);
    for (int64_t i = 0; i < count; i++) {
        net->params[i] = (float)net->params[i];
    }
    must_do(far_net_eval(ctx, net, &xm, &om), arch);
    eval(arch, net, x, ROWS, out);
    widen(of, n, wide_out);
    assert_close(arch, "float32 values", wide_out, out, n, 4e-6);
    must_do(far_net_jvp(ctx, net, &xm, &vm, &dm, &om), arch);
    jvp(arch, net, x, v, dx, out);
    widen(of, n, wide_out);
    assert_close(arch, "float32 jvp", wide_out, out, n, 2e-5);
    must_do(far_net_vjp(ctx, net, &xm, &um, &gm, &hm), arch);
    vjp(arch, net, x, u, grad, grad_x);
    widen(gf, count, wide_grad);
    widen(hf, d, wide_x);
    assert_close(arch, "float32 gradient", wide_grad, grad, count, 2e-5);
    assert_close(arch, "float32 gradient of inputs", wide_x, grad_x, d, 2e-5);
    float *const floats[] = {xf, vf, df, uf, of, gf, hf};
    double *const doubles[] = {v, dx, u, out, grad, grad_x, wide_out, wide_grad, wide_x};
    for (int i = 0; i < COUNT(floats); i++) {
        free(floats[i]);
    }
    for (int i = 0; i < COUNT(doubles); i++) {
        free(doubles[i]);
    }
}

static void float32_is_near_float64(void **state)
{
    (void)state;
    for_all(check_float32);
}

/* ---- batch norm by the rows of the block ---------------------------------------------------- */

static const char *const BATCHED[] = {
    "batchnorm dense(3)",
    "dense(13) batchnorm relu dense(3)",
    "dense(13) batchnorm(eps=0.1, affine) tanh dense(3)",
    "batchnorm(affine) dense(13) skip(batchnorm gelu dense(13)) batchnorm(eps=1e-3) dense(3)",
};

/* An engine in the mode of training, and packed vectors for it. */
typedef struct bench {
    far_engine *engine;
    far_weights *weights, *direction;
    far_pass *pass;
    double *packed;
} bench;

static bench bench_of(const far_net *net)
{
    bench b;
    must_do(far_engine_create(ctx, net, FAR_F64, &b.engine), "engine");
    must_do(far_weights_create(ctx, b.engine, &b.weights), "weights");
    must_do(far_weights_create(ctx, b.engine, &b.direction), "direction");
    must_do(far_pass_create(ctx, b.engine, ROWS,
                            FAR_PASS_BACKWARD | FAR_PASS_TANGENT | FAR_PASS_BATCH, &b.pass),
            "pass");
    b.packed = numbers(net->info.parameters, 1);
    return b;
}

static void bench_free(bench *b)
{
    far_pass_destroy(b->pass);
    far_weights_destroy(b->weights);
    far_weights_destroy(b->direction);
    far_engine_destroy(b->engine);
    free(b->packed);
}

static void set_weights(bench *b, far_weights *w, const far_net *net, const double *params)
{
    far_net_pack(net, params, FAR_F64, b->packed);
    far_weights_set(w, b->packed, 0, 1);
}

static void batch_forward(bench *b, const far_net *net, const double *x, double *out)
{
    set_weights(b, b->weights, net, net->params);
    far_pass_forward(b->pass, b->weights, x, INPUTS, ROWS);
    memcpy(out, far_pass_output(b->pass), (size_t)(ROWS * net->info.outputs) * sizeof *out);
}

/* The block's own statistics, used as running ones, give the same values. */
static void check_statistics(const char *arch, far_net *net, bench *b, double *x)
{
    int64_t n = ROWS * net->info.outputs;
    double *out = numbers(n, 1), *again = numbers(n, 1);
    const far_step *s = net->steps;
    batch_forward(b, net, x, out);
    far_pass_statistics(b->pass, net->statistics);
    eval(arch, net, x, ROWS, again);
    assert_close(arch, "values by statistics of the block", out, again, n, 1e-14);
    for (int64_t j = 0; s->kind == FAR_STEP_BATCHNORM && j < INPUTS; j++) {
        double mean = 0, square = 0;
        for (int64_t r = 0; r < ROWS; r++) {
            mean += x[r * INPUTS + j] / ROWS;
            square += x[r * INPUTS + j] * x[r * INPUTS + j] / ROWS;
        }
        double variance = square - mean * mean;
        assert_close(arch, "mean", net->statistics + s->mean + j, &mean, 1, 1e-13);
        assert_close(arch, "variance", net->statistics + s->variance + j, &variance, 1, 1e-13);
    }
    free(out);
    free(again);
}

static void move(double *to, const double *from, const double *along, double h, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        to[i] = from[i] + h * along[i];
    }
}

static void check_batch_derivatives(const char *arch, far_net *net, bench *b, double *x)
{
    int64_t n = ROWS * net->info.outputs, count = net->info.parameters, d = ROWS * INPUTS;
    const double h = 1e-6;
    double *v = numbers(count, 41), *dx = numbers(d, 42), *u = numbers(n, 43);
    double *moved = numbers(d, 1), *kept = numbers(count, 1), *up = numbers(n, 1);
    double *down = numbers(n, 1), *out = numbers(n, 1), *grad_x = numbers(d, 1);
    double *packed = calloc((size_t)count + 1, sizeof *packed), *grad = numbers(count, 1);
    memcpy(kept, net->params, (size_t)count * sizeof *kept);
    for (int side = -1; side <= 1; side += 2) {
        move(moved, x, dx, side * h, d);
        move(net->params, kept, v, side * h, count);
        batch_forward(b, net, moved, side < 0 ? down : up);
    }
    memcpy(net->params, kept, (size_t)count * sizeof *kept);
    move(up, up, down, -1, n);
    for (int64_t i = 0; i < n; i++) {
        up[i] /= 2 * h;
    }
    batch_forward(b, net, x, out);
    set_weights(b, b->direction, net, v);
    far_pass_tangent(b->pass, b->weights, b->direction, dx, INPUTS, out);
    assert_close(arch, "tangent of a batch", out, up, n, 1e-8);
    far_pass_backward(b->pass, b->weights, u, packed, grad_x);
    far_net_unpack(net, FAR_F64, packed, grad);
    double left = inner(out, u, n), right = inner(v, grad, count) + inner(dx, grad_x, d);
    if (!(fabs(left - right) <= 1e-13 * norm(out, n) * norm(u, n))) {
        fail_msg("%s: <Jv, u> = %.15g, <v, J'u> = %.15g", arch, left, right);
    }
    double *const all[] = {v, dx, u, moved, kept, up, down, out, grad_x, packed, grad};
    for (int i = 0; i < COUNT(all); i++) {
        free(all[i]);
    }
}

static void batches_are_differentiated_through_their_statistics(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(BATCHED); i++) {
        far_net *net = make_net(BATCHED[i], FAR_INIT_NTK);
        double *x = numbers(ROWS * INPUTS, 31);
        bench b = bench_of(net);
        check_statistics(BATCHED[i], net, &b, x);
        check_batch_derivatives(BATCHED[i], net, &b, x);
        bench_free(&b);
        free(x);
        far_net_destroy(net);
    }
}

/* ---- far out -------------------------------------------------------------------------------- */

typedef struct limits {
    double *value, *order, *rest;
} limits;

static limits limits_of(const char *arch, const far_net *net, double *u)
{
    int64_t n = ROWS * net->info.outputs;
    limits l = {numbers(n, 1), numbers(n, 1), numbers(n, 1)};
    far_mat um = view(u, ROWS, INPUTS), vm = view(l.value, ROWS, net->info.outputs);
    far_mat om = view(l.order, ROWS, net->info.outputs);
    far_mat rm = view(l.rest, ROWS, net->info.outputs);
    must_do(far_net_limit(ctx, net, &um, &vm, &om, &rm), arch);
    return l;
}

static void limits_free(limits l)
{
    free(l.value);
    free(l.order);
    free(l.rest);
}

/* f(t u) = value t^order + rest + O(1 / t), relative to the leading term where rest is not known.
 */
static void check_limit_at(const char *arch, const limits *l, int64_t i, double t, wide out)
{
    wide lead = (wide)l->value[i] * powl(t, (wide)l->order[i]);
    bool known = !isnan(l->rest[i]);
    wide off = out - lead - (known ? (wide)l->rest[i] : 0);
    double tolerance = (known ? 1e-6 : 1e-3 * (double)fabsl(lead)) + 1e-15 * (double)fabsl(lead);
    assert_true(l->order[i] != 0 || l->rest[i] == 0);
    assert_true(l->order[i] == 0 || l->order[i] == 1 || !known);
    if (!(fabsl(off) <= (wide)tolerance)) {
        fail_msg("%s: f(t u) is %.18Lg, not %.15g t^%g + %.15g", arch, out, l->value[i],
                 l->order[i], l->rest[i]);
    }
}

static void check_limit(const char *arch, far_net *net, double *x)
{
    const double t = 0x1p27;
    if (strstr(arch, "sin")) {
        return;
    }
    limits l = limits_of(arch, net, x);
    for (int64_t i = 0; i < ROWS; i++) {
        double far_x[INPUTS];
        wide out[256];
        for (int64_t j = 0; j < INPUTS; j++) {
            far_x[j] = t * x[i * INPUTS + j];
        }
        reference(net, far_x, out);
        for (int64_t k = 0; k < net->info.outputs; k++) {
            check_limit_at(arch, &l, i * net->info.outputs + k, t, out[k]);
        }
    }
    limits_free(l);
}

static void limits_equal_values_far_out(void **state)
{
    (void)state;
    for_all(check_limit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_equal_plain_loops),
        cmocka_unit_test(activations_are_accurate),
        cmocka_unit_test(jvp_equals_finite_differences),
        cmocka_unit_test(vjp_is_the_adjoint_of_jvp),
        cmocka_unit_test(jacobian_holds_the_rows_of_vjp),
        cmocka_unit_test(float32_is_near_float64),
        cmocka_unit_test(batches_are_differentiated_through_their_statistics),
        cmocka_unit_test(limits_equal_values_far_out),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
