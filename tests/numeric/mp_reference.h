/*
 * mp_reference.h: the kernels once more, in arbitrary precision, for the tests.
 *
 * Shares nothing with the library: its own reader of the architecture text, its own formulas (plain
 * cosines instead of gaps, enough bits instead of care), MPFR instead of doubles. One thread only.
 */
#ifndef MP_REFERENCE_H
#define MP_REFERENCE_H

#include <mpfr.h>

typedef enum mp_kind {
    MP_DENSE,
    MP_RELU,       /* arg: the power */
    MP_LEAKY_RELU, /* arg: the slope */
    MP_ABS,
    MP_ERF,
    MP_GELU,
    MP_SILU, /* silu and tanh: by quadrature, to 1e-30, at moderate scales only */
    MP_TANH,
    MP_SIN,
    MP_IDENTITY,
    MP_LN,
    MP_RMS,
    MP_BATCHNORM,
    MP_SKIP_BEGIN,
    MP_SKIP_END
} mp_kind;

/* What the text does not give is NAN (w, b, gain: the defaults of the parametrisation) or 0. */
typedef struct mp_op {
    mp_kind kind;
    long width;
    double w, b;
    int no_bias;
    double arg;
    double gain;
    double w0; /* sin */
    long groups;
    double eps;
    int affine;
} mp_op;

#define MP_MAX_OPS 256

/* Repetitions are written out and a skip is its body between two marks. */
typedef struct mp_net {
    int count;
    mp_op op[MP_MAX_OPS];
} mp_net;

/* 0, or the 1-based column that could not be read. */
int mp_net_parse(const char *text, mp_net *net);

/* The largest width that gives a relative precision far below a double's for norms from 1e-200 to
 * 1e200 and twenty layers: 1 - cos can be 1e-420 there. */
#define MP_BITS 2048
/* For moderate inputs, and for relu(p) with a fractional p, which is slow. */
#define MP_BITS_LOW 256

/* K(x, y) and Theta(x, y) into k and t (initialised by the caller, any precision).
 * standard: 0 ntk, 1 standard parametrisation. Returns 0, or a text that says why there is no
 * reference value (tanh at a large scale, an activation of something that is not Gaussian, ...). */
const char *mp_net_eval(const mp_net *net, int standard, long bits, int d, const double *x,
                        const double *y, mpfr_t k, mpfr_t t);

/* Their derivatives by x[axis]: the difference over 2 step of both sides at a distance of step. */
const char *mp_net_slope(const mp_net *net, int standard, long bits, int d, const double *x,
                         const double *y, int axis, double step, mpfr_t k, mpfr_t t);

/* How steep the network is at x: the largest product of slopes d rho_out / d rho_in, at rho = 1, of
 * the layers behind any one of them, so what an error in a cosine may be multiplied by. NAN where
 * there is no reference. */
double mp_net_steepness(const mp_net *net, int standard, int d, const double *x);

/* gain, from the text or by default, as a double. */
double mp_op_gain(const mp_op *op, int standard);

/* Frees what the evaluations keep between calls. */
void mp_release(void);

#endif
