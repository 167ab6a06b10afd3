#include "mp_program.h"

#include <math.h>
#include <stdlib.h>

struct mp_program {
    const far_net *net;
    mpfr_t **values; /* inputs, then the output of every step */
    mpfr_t *out;
    mpfr_t a, b, sum;
};

static int64_t width(const far_net *net, int64_t i)
{
    return i == 0 ? net->info.inputs : net->steps[i - 1].out;
}

static mpfr_t *numbers(int64_t n, long bits)
{
    mpfr_t *v = malloc((size_t)n * sizeof *v);
    for (int64_t i = 0; i < n; i++) {
        mpfr_init2(v[i], bits);
    }
    return v;
}

static void numbers_free(mpfr_t *v, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        mpfr_clear(v[i]);
    }
    free(v);
}

mp_program *mp_program_create(const far_net *net, long bits)
{
    mp_program *m = malloc(sizeof *m);
    m->net = net;
    m->values = malloc((size_t)(net->step_count + 1) * sizeof *m->values);
    for (int64_t i = 0; i <= net->step_count; i++) {
        m->values[i] = numbers(width(net, i), bits);
    }
    m->out = numbers(net->info.outputs, bits);
    mpfr_inits2(bits, m->a, m->b, m->sum, (mpfr_ptr)0);
    return m;
}

void mp_program_destroy(mp_program *m)
{
    for (int64_t i = 0; i <= m->net->step_count; i++) {
        numbers_free(m->values[i], width(m->net, i));
    }
    numbers_free(m->out, m->net->info.outputs);
    mpfr_clears(m->a, m->b, m->sum, (mpfr_ptr)0);
    free(m->values);
    free(m);
}

static void dense(mp_program *m, const far_step *s, mpfr_t *in, mpfr_t *out)
{
    const double *w = m->net->params + s->weight;
    for (int64_t o = 0; o < s->out; o++) {
        mpfr_set_zero(out[o], 1);
        for (int64_t i = 0; i < s->in; i++) {
            mpfr_mul_d(m->a, in[i], w[o * s->in + i], MPFR_RNDN);
            mpfr_add(out[o], out[o], m->a, MPFR_RNDN);
        }
        mpfr_mul_d(out[o], out[o], s->weight_scale, MPFR_RNDN);
        if (s->bias >= 0) {
            mpfr_set_d(m->a, m->net->params[s->bias + o], MPFR_RNDN);
            mpfr_mul_d(m->a, m->a, s->bias_scale, MPFR_RNDN);
            mpfr_add(out[o], out[o], m->a, MPFR_RNDN);
        }
    }
}

/* z / (1 + exp(-z)) */
static void silu(mp_program *m, mpfr_t z, mpfr_t y)
{
    mpfr_neg(m->a, z, MPFR_RNDN);
    mpfr_exp(m->a, m->a, MPFR_RNDN);
    mpfr_add_ui(m->a, m->a, 1, MPFR_RNDN);
    mpfr_div(y, z, m->a, MPFR_RNDN);
}

/* z erfc(-z / sqrt 2) / 2 */
static void gelu(mp_program *m, mpfr_t z, mpfr_t y)
{
    mpfr_set_ui(m->a, 2, MPFR_RNDN);
    mpfr_sqrt(m->a, m->a, MPFR_RNDN);
    mpfr_div(m->a, z, m->a, MPFR_RNDN);
    mpfr_neg(m->a, m->a, MPFR_RNDN);
    mpfr_erfc(m->a, m->a, MPFR_RNDN);
    mpfr_mul(y, z, m->a, MPFR_RNDN);
    mpfr_div_ui(y, y, 2, MPFR_RNDN);
}

/* log(1 + e^z), where e^z may be more than there is of it */
static void softplus(mp_program *m, mpfr_t z, mpfr_t y)
{
    mpfr_abs(m->a, z, MPFR_RNDN);
    mpfr_neg(m->a, m->a, MPFR_RNDN);
    mpfr_exp(m->a, m->a, MPFR_RNDN);
    mpfr_log1p(m->a, m->a, MPFR_RNDN);
    mpfr_sgn(z) > 0 ? mpfr_add(y, m->a, z, MPFR_RNDN) : mpfr_set(y, m->a, MPFR_RNDN);
}

/* z (1 + tanh(sqrt(2 / pi) (z + 0.044715 z^3))) / 2 */
static void gelu_tanh(mp_program *m, mpfr_t z, mpfr_t y)
{
    mpfr_sqr(m->a, z, MPFR_RNDN);
    mpfr_mul_ui(m->a, m->a, 44715, MPFR_RNDN);
    mpfr_div_ui(m->a, m->a, 1000000, MPFR_RNDN);
    mpfr_add_ui(m->a, m->a, 1, MPFR_RNDN);
    mpfr_mul(m->a, m->a, z, MPFR_RNDN);
    mpfr_const_pi(m->b, MPFR_RNDN);
    mpfr_ui_div(m->b, 2, m->b, MPFR_RNDN);
    mpfr_sqrt(m->b, m->b, MPFR_RNDN);
    mpfr_mul(m->a, m->a, m->b, MPFR_RNDN);
    mpfr_tanh(m->a, m->a, MPFR_RNDN);
    mpfr_add_ui(m->a, m->a, 1, MPFR_RNDN);
    mpfr_mul(y, z, m->a, MPFR_RNDN);
    mpfr_div_ui(y, y, 2, MPFR_RNDN);
}

static void activate(mp_program *m, const far_step *s, mpfr_t z, mpfr_t y)
{
    bool positive = mpfr_sgn(z) > 0;
    switch (s->layer) {
    case FAR_LAYER_RELU:
        mpfr_set_d(m->a, s->power, MPFR_RNDN);
        positive ? mpfr_pow(y, z, m->a, MPFR_RNDN) : mpfr_set_ui(y, 0, MPFR_RNDN);
        break;
    case FAR_LAYER_LEAKY_RELU:
        positive ? mpfr_set(y, z, MPFR_RNDN) : mpfr_mul_d(y, z, s->slope, MPFR_RNDN);
        break;
    case FAR_LAYER_ABS:
        mpfr_abs(y, z, MPFR_RNDN);
        break;
    case FAR_LAYER_ERF:
        mpfr_erf(y, z, MPFR_RNDN);
        break;
    case FAR_LAYER_GELU:
        gelu(m, z, y);
        break;
    case FAR_LAYER_SILU:
        silu(m, z, y);
        break;
    case FAR_LAYER_TANH:
        mpfr_tanh(y, z, MPFR_RNDN);
        break;
    case FAR_LAYER_SIN:
        mpfr_mul_d(m->a, z, s->w0, MPFR_RNDN);
        mpfr_sin(y, m->a, MPFR_RNDN);
        break;
    case FAR_LAYER_SIGMOID:
        mpfr_neg(m->a, z, MPFR_RNDN);
        mpfr_exp(m->a, m->a, MPFR_RNDN);
        mpfr_add_ui(m->a, m->a, 1, MPFR_RNDN);
        mpfr_ui_div(y, 1, m->a, MPFR_RNDN);
        break;
    case FAR_LAYER_ELU:
        mpfr_expm1(m->a, z, MPFR_RNDN);
        positive ? mpfr_set(y, z, MPFR_RNDN) : mpfr_mul_d(y, m->a, s->slope, MPFR_RNDN);
        break;
    case FAR_LAYER_SOFTPLUS:
        softplus(m, z, y);
        break;
    case FAR_LAYER_MISH:
        softplus(m, z, m->b);
        mpfr_tanh(m->b, m->b, MPFR_RNDN);
        mpfr_mul(y, z, m->b, MPFR_RNDN);
        break;
    case FAR_LAYER_GELU_TANH:
        gelu_tanh(m, z, y);
        break;
    default:
        mpfr_set(y, z, MPFR_RNDN);
    }
    mpfr_mul_d(y, y, s->gain, MPFR_RNDN);
}

/* (z - mean) / sqrt(var + eps), 0 / 0 = 0. */
static void normalise(mp_program *m, const far_step *s, int64_t n, mpfr_t *z, mpfr_t *y)
{
    mpfr_set_zero(m->sum, 1);
    mpfr_set_zero(m->b, 1);
    for (int64_t i = 0; s->layer == FAR_LAYER_LN && i < n; i++) {
        mpfr_add(m->b, m->b, z[i], MPFR_RNDN);
    }
    mpfr_div_si(m->b, m->b, (long)n, MPFR_RNDN);
    for (int64_t i = 0; i < n; i++) {
        mpfr_sub(y[i], z[i], m->b, MPFR_RNDN);
        mpfr_sqr(m->a, y[i], MPFR_RNDN);
        mpfr_add(m->sum, m->sum, m->a, MPFR_RNDN);
    }
    mpfr_div_si(m->sum, m->sum, (long)n, MPFR_RNDN);
    mpfr_add_d(m->sum, m->sum, s->eps, MPFR_RNDN);
    mpfr_sqrt(m->sum, m->sum, MPFR_RNDN);
    for (int64_t i = 0; mpfr_sgn(m->sum) > 0 && i < n; i++) {
        mpfr_div(y[i], y[i], m->sum, MPFR_RNDN);
    }
}

/* Numbers that differ in the last of their bits only are equal before rounding: two doubles, or
 * sums of their products, differ in much earlier ones. */
static bool is_constant(mp_program *m, const far_step *s, int64_t n, mpfr_t *z)
{
    bool same = true;
    for (int64_t i = 0; i < n; i++) {
        if (s->layer != FAR_LAYER_LN) {
            same &= mpfr_zero_p(z[i]);
        } else if (!mpfr_equal_p(z[i], z[0])) {
            mpfr_sub(m->a, z[i], z[0], MPFR_RNDN);
            same &= mpfr_get_exp(m->a) < mpfr_get_exp(mpfr_zero_p(z[0]) ? z[i] : z[0]) -
                                             (mpfr_get_prec(m->a) - MP_PROGRAM_ROUNDED);
        }
    }
    return same;
}

static void norm(mp_program *m, const far_step *s, mpfr_t *in, mpfr_t *out)
{
    int64_t n = s->out / s->groups;
    for (int64_t g = 0; g < s->groups; g++) {
        if (is_constant(m, s, n, in + g * n)) {
            for (int64_t i = 0; i < n; i++) {
                mpfr_set_zero(out[g * n + i], 1);
            }
        } else {
            normalise(m, s, n, in + g * n, out + g * n);
        }
    }
}

static void batch_norm(mp_program *m, const far_step *s, mpfr_t *in, mpfr_t *out)
{
    for (int64_t i = 0; i < s->out; i++) {
        mpfr_set_d(m->a, m->net->statistics[s->variance + i], MPFR_RNDN);
        mpfr_add_d(m->a, m->a, s->eps, MPFR_RNDN);
        mpfr_sqrt(m->a, m->a, MPFR_RNDN);
        mpfr_sub_d(out[i], in[i], m->net->statistics[s->mean + i], MPFR_RNDN);
        mpfr_div(out[i], out[i], m->a, MPFR_RNDN);
    }
}

static void step(mp_program *m, int64_t i)
{
    const far_step *s = &m->net->steps[i];
    mpfr_t *in = m->values[i], *out = m->values[i + 1];
    if (s->kind == FAR_STEP_DENSE) {
        dense(m, s, in, out);
        return;
    }
    if (s->kind == FAR_STEP_NORM) {
        norm(m, s, in, out);
    } else if (s->kind == FAR_STEP_BATCHNORM) {
        batch_norm(m, s, in, out);
    }
    for (int64_t k = 0; k < s->out; k++) {
        if (s->kind == FAR_STEP_ACTIVATION) {
            activate(m, s, in[k], out[k]);
        } else if (s->kind == FAR_STEP_SKIP_IN) {
            mpfr_set(out[k], in[k], MPFR_RNDN);
        } else if (s->kind == FAR_STEP_SKIP_TURN) {
            mpfr_set(out[k], m->values[s->mate][k], MPFR_RNDN);
        } else if (s->kind == FAR_STEP_SKIP_OUT) {
            mpfr_add(out[k], in[k], m->values[s->mate][k], MPFR_RNDN);
        } else if (s->weight >= 0) {
            mpfr_mul_d(out[k], out[k], m->net->params[s->weight + k], MPFR_RNDN);
            if (s->bias >= 0) {
                mpfr_add_d(out[k], out[k], m->net->params[s->bias + k], MPFR_RNDN);
            }
        }
    }
}

mpfr_t *mp_program_eval(mp_program *m, const double *raw)
{
    const far_net *net = m->net;
    int64_t d = net->info.inputs, p = net->info.outputs;
    const double *centre = net->columns->scaling, *scale = centre + d, *out = scale + d;
    for (int64_t i = 0; i < d; i++) {
        mpfr_set_d(m->values[0][i], raw[i], MPFR_RNDN);
        mpfr_sub_d(m->values[0][i], m->values[0][i], centre[i], MPFR_RNDN);
        mpfr_div_d(m->values[0][i], m->values[0][i], scale[i], MPFR_RNDN);
    }
    for (int64_t i = 0; i < net->step_count; i++) {
        step(m, i);
    }
    for (int64_t j = 0; j < p; j++) {
        mpfr_mul_d(m->out[j], m->values[net->step_count][j], out[p + j], MPFR_RNDN);
        mpfr_add_d(m->out[j], m->out[j], out[j], MPFR_RNDN);
    }
    return m->out;
}

mpfr_t *mp_program_outputs(mp_program *m)
{
    return m->out;
}
