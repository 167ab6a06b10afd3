/* Part of engine_impl.h: activations of one row, and their slopes. */

#define SQRT_HALF ((REAL)0.70710678118654752440)
#define TWO_OVER_SQRT_PI ((REAL)1.12837916709551257390)
#define ONE_OVER_SQRT_2PI ((REAL)0.39894228040143267794)
#define SQRT_2_OVER_PI ((REAL)0.79788456080286535588)
#define GELU_CUBE ((REAL)0.044715)

/* Phi(z). float32 takes erf, whose error is small against 1 only: erfc costs three times as much.
 */
#define NORMAL_BELOW(z)                                                                            \
    ((REAL)0.5 * (sizeof(REAL) == 4 ? 1 + F(erf)((z)*SQRT_HALF) : F(erfc)((z) * -SQRT_HALF)))

/* h = gain (expression in z); h may be t. A NAN stays one. */
#define EACH(kind, expression)                                                                     \
    case kind:                                                                                     \
        _Pragma("GCC ivdep") for (int64_t j = 0; j < n; j++)                                       \
        {                                                                                          \
            REAL z = t[j];                                                                         \
            h[j] = gain * (expression);                                                            \
        }                                                                                          \
        return;

/* A factor instead of a branch, so that pow stays vectors; and pow(0) would be slow. */
#define UP(z) ((z) > 0 ? (REAL)1 : (REAL)0)

/* gain max(z, 0)^power */
static void NAME(power_row)(REAL power, REAL gain, int64_t n, const REAL *t, REAL *h)
{
    if (power == 2) {
#pragma GCC ivdep
        for (int64_t j = 0; j < n; j++) {
            REAL z = t[j] < 0 ? 0 : t[j];
            h[j] = gain * z * z;
        }
        return;
    }
#pragma GCC ivdep
    for (int64_t j = 0; j < n; j++) {
        h[j] = UP(t[j]) * gain * F(pow)(t[j] <= 0 ? 1 : t[j], power);
    }
}

/* tanh(log(1 + e^z)), which is 1 to the last bit from 20 on. */
INLINE REAL NAME(mish_factor)(REAL z)
{
    REAL e = F(exp)(z > 20 ? (REAL)20 : z), n = e * (e + 2);
    return n / (n + 2);
}

/* Of the tanh in gelu(tanh); further out than 30 it is 1 in any case, and the cube would overflow.
 */
INLINE REAL NAME(gelu_argument)(REAL z)
{
    REAL x = z > 30 ? (REAL)30 : z < -30 ? (REAL)-30 : z;
    return SQRT_2_OVER_PI * (x + GELU_CUBE * x * x * x);
}

static void NAME(activate_row)(const far_step *s, int64_t n, const REAL *t, REAL *h)
{
    REAL gain = (REAL)s->gain, slope = (REAL)s->slope, w0 = (REAL)s->w0;
    if (s->layer == FAR_LAYER_RELU && s->power != 1) {
        NAME(power_row)((REAL)s->power, gain, n, t, h);
        return;
    }
    switch (s->layer) {
        EACH(FAR_LAYER_RELU, z < 0 ? 0 : z)
        EACH(FAR_LAYER_LEAKY_RELU, z < 0 ? slope * z : z)
        EACH(FAR_LAYER_ABS, F(fabs)(z))
        EACH(FAR_LAYER_ERF, F(erf)(z))
        EACH(FAR_LAYER_GELU, z * NORMAL_BELOW(z))
        EACH(FAR_LAYER_SILU, z / (1 + F(exp)(-z)))
        EACH(FAR_LAYER_TANH, F(tanh)(z))
        EACH(FAR_LAYER_SIN, F(sin)(w0 * z))
        EACH(FAR_LAYER_SIGMOID, 1 / (1 + F(exp)(-z)))
        EACH(FAR_LAYER_ELU, z > 0 ? z : slope * F(expm1)(z > 0 ? 0 : z))
        EACH(FAR_LAYER_SOFTPLUS, (z < 0 ? 0 : z) + F(log1p)(F(exp)(-F(fabs)(z))))
        EACH(FAR_LAYER_MISH, z * NAME(mish_factor)(z))
        EACH(FAR_LAYER_GELU_TANH, (REAL)0.5 * z * (1 + F(tanh)(NAME(gelu_argument)(z))))
    default:
        EACH(FAR_LAYER_IDENTITY, z)
    }
}

#undef EACH
/* g *= gain (expression in z) */
#define EACH(kind, expression)                                                                     \
    case kind:                                                                                     \
        _Pragma("GCC ivdep") for (int64_t j = 0; j < n; j++)                                       \
        {                                                                                          \
            REAL z = t[j];                                                                         \
            (void)z;                                                                               \
            g[j] *= gain * (expression);                                                           \
        }                                                                                          \
        return;

static void NAME(power_slope_row)(REAL power, REAL gain, int64_t n, const REAL *t, REAL *g)
{
    if (power == 2) {
#pragma GCC ivdep
        for (int64_t j = 0; j < n; j++) {
            g[j] *= 2 * gain * (t[j] < 0 ? 0 : t[j]);
        }
        return;
    }
#pragma GCC ivdep
    for (int64_t j = 0; j < n; j++) {
        g[j] *= UP(t[j]) * gain * power * F(pow)(t[j] <= 0 ? 1 : t[j], power - 1);
    }
}

INLINE REAL NAME(silu_slope)(REAL z)
{
    REAL s = 1 / (1 + F(exp)(-z));
    return s * (1 + z * (1 - s));
}

INLINE REAL NAME(tanh_slope)(REAL z)
{
    REAL e = F(exp)(-2 * F(fabs)(z));
    return 4 * e / ((1 + e) * (1 + e));
}

INLINE REAL NAME(gelu_slope)(REAL z)
{
    return NORMAL_BELOW(z) + z * ONE_OVER_SQRT_2PI * F(exp)((REAL)-0.5 * z * z);
}

INLINE REAL NAME(mish_slope)(REAL z)
{
    REAL t = NAME(mish_factor)(z);
    return t + z * (1 - t * t) / (1 + F(exp)(-z));
}

INLINE REAL NAME(gelu_tanh_slope)(REAL z)
{
    REAL u = NAME(gelu_argument)(z), x = z > 30 ? (REAL)30 : z < -30 ? (REAL)-30 : z;
    REAL turn = SQRT_2_OVER_PI * (1 + 3 * GELU_CUBE * x * x);
    return (REAL)0.5 * (1 + F(tanh)(u)) + (REAL)0.5 * x * NAME(tanh_slope)(u) * turn;
}

/* At a kink 0, or the slope on the left. */
static void NAME(slope_row)(const far_step *s, int64_t n, const REAL *t, REAL *g)
{
    REAL gain = (REAL)s->gain, slope = (REAL)s->slope, w0 = (REAL)s->w0;
    if (s->layer == FAR_LAYER_RELU && s->power != 1) {
        NAME(power_slope_row)((REAL)s->power, gain, n, t, g);
        return;
    }
    switch (s->layer) {
        EACH(FAR_LAYER_RELU, z > 0 ? (REAL)1 : (REAL)0)
        EACH(FAR_LAYER_LEAKY_RELU, z > 0 ? (REAL)1 : slope)
        EACH(FAR_LAYER_ABS, z > 0 ? (REAL)1 : z < 0 ? (REAL)-1 : (REAL)0)
        EACH(FAR_LAYER_ERF, TWO_OVER_SQRT_PI * F(exp)(-z * z))
        EACH(FAR_LAYER_GELU, NAME(gelu_slope)(z))
        EACH(FAR_LAYER_SILU, NAME(silu_slope)(z))
        EACH(FAR_LAYER_TANH, NAME(tanh_slope)(z))
        EACH(FAR_LAYER_SIN, w0 * F(cos)(w0 * z))
        EACH(FAR_LAYER_SIGMOID, (REAL)0.25 * NAME(tanh_slope)((REAL)0.5 * z))
        EACH(FAR_LAYER_ELU, z > 0 ? (REAL)1 : slope * F(exp)(z > 0 ? 0 : z))
        EACH(FAR_LAYER_SOFTPLUS, 1 / (1 + F(exp)(-z)))
        EACH(FAR_LAYER_MISH, NAME(mish_slope)(z))
        EACH(FAR_LAYER_GELU_TANH, NAME(gelu_tanh_slope)(z))
    default:
        EACH(FAR_LAYER_IDENTITY, 1)
    }
}

#undef EACH
#undef UP
#undef NORMAL_BELOW
#undef SQRT_HALF
#undef TWO_OVER_SQRT_PI
#undef ONE_OVER_SQRT_2PI
#undef SQRT_2_OVER_PI
#undef GELU_CUBE
