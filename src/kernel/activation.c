#include "activation.h"

#include <math.h>
#include <string.h>

#define PI 3.141592653589793238462643383279502884L

/* ---- mixtures --------------------------------------------------------------------------------
 * The logistic function is a scale mixture of Gaussian distribution functions whose scale has
 * twice the Kolmogorov distribution (Andrews and Mallows 1974):
 *
 *     1 / (1 + exp(-z)) = integral Phi(z / (2 s)) f(s) ds
 *
 * In x = log s the integrand is analytic in a strip of half-width pi/4, so the trapezoidal rule
 * converges like exp(-pi^2 / (2 h)): h = 0.13 leaves 3e-15 in the function, 1e-14 in its
 * derivative. That makes tanh a sum of erfs and silu a sum of gelus, whose duals are known in
 * closed form, at every scale of the input and at infinity. */
#define MIXTURE_STEP 0.13L
#define MIXTURE_FIRST (-16) /* s = exp(-2.08) = 0.125 */
#define MIXTURE_LAST 13     /* s = exp(1.69) = 5.4 */
#define MIXTURE_LEAST 1e-17L

static long double kolmogorov_small(long double s)
{
    long double sum = 0;
    for (int k = 1; k <= 6; k++) {
        long double a = (2 * k - 1) * (2 * k - 1) * PI * PI / 8;
        sum += expl(-a / (s * s)) * (2 * a / (s * s) - 1);
    }
    return sqrtl(2 * PI) / (s * s) * sum;
}

static long double kolmogorov_large(long double s)
{
    long double sum = 0;
    for (int k = 1; k <= 12; k++) {
        sum += (k % 2 ? 1 : -1) * (long double)(k * k) * expl(-2 * k * k * s * s);
    }
    return 8 * s * sum;
}

static void fill_mixture(far_activation *a, long double rate_factor)
{
    long double total = 0;
    for (int i = MIXTURE_FIRST; i <= MIXTURE_LAST; i++) {
        long double s = expl(i * MIXTURE_STEP);
        long double density = s < 0.7L ? kolmogorov_small(s) : kolmogorov_large(s);
        long double weight = MIXTURE_STEP * s * density;
        if (weight > MIXTURE_LEAST) {
            a->weight[a->terms] = weight;
            a->rate[a->terms] = rate_factor / (2 * s);
            a->terms++;
            total += weight;
        }
    }
    for (int m = 0; m < a->terms; m++) {
        a->weight[m] /= total;
    }
}

static void single_term(far_activation *a)
{
    a->terms = 1;
    a->weight[0] = 1;
    a->rate[0] = 1;
}

/* ---- arc-cosine kernels of integer order -----------------------------------------------------
 * J_n = s P_n(c) + (pi - theta) Q_n(c), and dJ_n/dc = n^2 J_{n-1} gives, power by power,
 * Q_n' = n^2 Q_{n-1} and (1 - c^2) P_n' - c P_n + Q_n = n^2 (1 - c^2) P_{n-1}. */

static long double odd_factorial_squared(int n) /* ((n - 1)!!)^2 */
{
    long double f = 1;
    for (int k = n - 1; k > 1; k -= 2) {
        f *= k;
    }
    return f * f;
}

static void next_order(int n, const long double *p0, const long double *q0, long double *p,
                       long double *q)
{
    long double n2 = (long double)n * n;
    q[0] = n % 2 ? 0 : odd_factorial_squared(n);
    p[0] = n % 2 ? odd_factorial_squared(n) : 0;
    for (int k = 0; k < n; k++) {
        q[k + 1] = n2 * q0[k] / (k + 1);
    }
    for (int k = 0; k < n - 1; k++) {
        long double below = k >= 2 ? p0[k - 2] : 0, back = k >= 1 ? k * p[k - 1] : 0;
        p[k + 1] = (n2 * (p0[k] - below) - q[k] + back) / (k + 1);
    }
}

static void normalise_order(int n, const long double *p, const long double *q, far_arccos *out)
{
    long double at_one = 0, tail = 0;
    for (int k = 0; k <= n; k++) {
        at_one += q[k];
    }
    memset(out, 0, sizeof *out);
    out->order = n;
    for (int k = n; k >= 0; k--) {
        out->p[k] = (double)(p[k] / at_one);
        out->q[k] = (double)(q[k] / at_one);
        out->gap[k] = (double)(tail / at_one); /* (1 - q(c)) / (1 - c) has the tail sums of q */
        tail += q[k];
    }
}

static void fill_arccos(int order, far_arccos out[3])
{
    long double p[2][FAR_POWER_MAX + 2] = {{0}}, q[2][FAR_POWER_MAX + 2] = {{1}};
    for (int n = 0; n <= order; n++) {
        if (n > 0) {
            memset(p[n % 2], 0, sizeof p[0]);
            memset(q[n % 2], 0, sizeof q[0]);
            next_order(n, p[(n + 1) % 2], q[(n + 1) % 2], p[n % 2], q[n % 2]);
        }
        if (order - n < 3) {
            normalise_order(n, p[n % 2], q[n % 2], &out[order - n]);
        }
    }
}

/* ---- moments of one point -------------------------------------------------------------------- */

far_unit far_unit_of(far_big s)
{
    far_big length = far_big_hypot(far_big_from(1), s);
    return (far_unit){far_big_limit(far_big_div(s, length)), far_big_div(far_big_from(1), length)};
}

far_big far_mixture_scale(const far_activation *a, int m, far_big r)
{
    long double root = a->family == FAR_FAMILY_SOFT_SIGN ? sqrtl(2) : 1;
    return far_big_scale(r, a->rate[m] * root);
}

/* Two terms of a mixture at one point: y = c c' (rho is 1), a = e^2, b = e'^2, d = 1 - y^2. */
typedef struct mixture_pair {
    long double y, angle, a, b, d, root; /* angle = asin y, root = sqrt d */
} mixture_pair;

typedef struct plain_unit {
    long double c, e;
} plain_unit;

/* 1 - c c' = (e^2 + e'^2) / 2 + (c - c')^2 / 2 without cancellation, as c^2 + e^2 = 1. */
static mixture_pair pair_up(plain_unit u, plain_unit v)
{
    long double a = u.e * u.e, b = v.e * v.e, sum = u.c + v.c, y = u.c * v.c;
    long double apart = sum > 0 ? (b - a) / sum : 0;
    long double gap = (a + b + apart * apart) / 2, d = gap * (1 + y);
    return (mixture_pair){.y = y,
                          .angle = y < 0.5L ? asinl(y) : PI / 2 - 2 * asinl(sqrtl(gap / 2)),
                          .a = a,
                          .b = b,
                          .d = d,
                          .root = sqrtl(d)};
}

/* Plain sums over the pairs of a mixture, in the units of the family. */
typedef struct mixture_sums {
    long double square, slope, scaled, mean;
} mixture_sums;

static void soft_sign_pair(mixture_pair q, long double weight, long double rates, mixture_sums *sum)
{
    long double ee = sqrtl(q.a * q.b);
    sum->square += weight * 2 / PI * q.angle;
    sum->slope += weight * 4 / PI * rates * ee / q.root;
    sum->scaled += weight * 2 / PI * q.y * q.a * q.b / (q.d * q.root);
}

/* See "scaled" in docs/explanation/kernels.md; on the diagonal c c' = y and rho = 1. */
static long double scaled_soft_relu(mixture_pair q)
{
    long double d = q.d, aa = q.a * q.b, ab = q.a + q.b;
    long double k = (aa * (4 * d * d - 2 * d - 1) + ab * d * (2 * d - 1) + d * d) / (d * q.root);
    long double rho = aa * aa * (3 + 2 * d + 4 * d * d) - aa * ab * d * (1 + 2 * d) +
                      aa * d * (1 + d) + ab * d * d;
    return q.y * (k + rho / (d * d * q.root));
}

static void soft_relu_pair(mixture_pair q, long double weight, mixture_sums *sum)
{
    long double aa = q.a * q.b, half = 0.25L + q.angle / (2 * PI);
    long double bend = q.y * (q.root + aa / q.root);
    long double kink = q.y / q.root * (aa / q.d + aa + q.d);
    sum->square += weight * (half + bend / (2 * PI));
    sum->slope += weight * (half + kink / (2 * PI));
    sum->scaled += weight * (half + scaled_soft_relu(q) / (2 * PI));
}

static mixture_sums sum_mixture(const far_activation *a, const plain_unit *unit)
{
    mixture_sums sum = {0};
    for (int m = 0; m < a->terms; m++) {
        for (int n = 0; n <= m; n++) {
            long double weight = a->weight[m] * a->weight[n] * (n < m ? 2 : 1);
            mixture_pair q = pair_up(unit[m], unit[n]);
            if (a->family == FAR_FAMILY_SOFT_SIGN) {
                soft_sign_pair(q, weight, a->rate[m] * a->rate[n], &sum);
            } else {
                soft_relu_pair(q, weight, &sum);
            }
        }
        sum.mean += a->weight[m] * unit[m].c / sqrtl(2 * PI);
    }
    return sum;
}

/* A soft sign at infinity: e = 1 / s, and 1 - y^2 = e^2 + e'^2, so slopes fall like 1 / r. */
static far_moments sign_at_infinity(const far_activation *a, far_big r)
{
    long double slope = 0, scaled = 0;
    for (int m = 0; m < a->terms; m++) {
        for (int n = 0; n < a->terms; n++) {
            long double e = 1 / (sqrtl(2) * a->rate[m]), f = 1 / (sqrtl(2) * a->rate[n]);
            long double weight = a->weight[m] * a->weight[n], root = sqrtl(e * e + f * f);
            slope += weight * 4 / PI * a->rate[m] * a->rate[n] * e * f / root;
            scaled += weight * 2 / PI * (e * e * f * f) / (root * root * root);
        }
    }
    far_big inverse = far_big_div(far_big_from(1), r);
    return (far_moments){.square = far_big_from(1),
                         .slope = far_big_scale(inverse, slope),
                         .scaled = far_big_scale(inverse, scaled)};
}

static far_moments relu_at_infinity(far_big r)
{
    far_big half = far_big_scale(far_big_square(r), 0.5L);
    return (far_moments){.square = half,
                         .slope = far_big_from(0.5L),
                         .scaled = half,
                         .mean = far_big_scale(r, 1 / sqrtl(2 * PI))};
}

#define INFINITE_FROM 0x1p1500L /* past here e^8 would underflow */

static far_moments mixture_moments(const far_activation *a, far_big r)
{
    bool sign = a->family == FAR_FAMILY_SOFT_SIGN;
    if (r.k > 0 || far_big_coef(r) > INFINITE_FROM) {
        return sign ? sign_at_infinity(a, r) : relu_at_infinity(r);
    }
    plain_unit unit[FAR_MIXTURE_MAX];
    for (int m = 0; m < a->terms; m++) {
        far_unit u = far_unit_of(far_mixture_scale(a, m, r));
        unit[m] = (plain_unit){u.c, far_big_coef(u.e)};
    }
    mixture_sums sum = sum_mixture(a, unit);
    far_big q = sign ? far_big_from(1) : far_big_square(r);
    return (far_moments){.square = far_big_scale(q, sum.square),
                         .slope = far_big_from(sum.slope),
                         .scaled = far_big_scale(q, sum.scaled),
                         .mean = far_big_scale(r, sign ? 0 : sum.mean)};
}

static far_moments fold_moments(const far_activation *a, far_big r)
{
    long double size = a->linear * a->linear + a->folded * a->folded;
    far_big square = far_big_scale(far_big_square(r), size);
    return (far_moments){.square = square,
                         .slope = far_big_from(size),
                         .scaled = square,
                         .mean = far_big_scale(r, a->folded * sqrtl(2 / PI))};
}

static long double half_moment(long double power) /* E[max(u, 0)^power], u ~ N(0, 1) */
{
    return exp2l(power / 2) * tgammal((power + 1) / 2) / (2 * sqrtl(PI));
}

static far_moments power_moments(const far_activation *a, far_big r)
{
    long double p = a->power;
    long double moment = half_moment(2 * p), chi = p * p * half_moment(2 * p - 2) / moment;
    far_big square = far_big_scale(far_big_pow(r, 2 * p), moment);
    far_big ratio = far_big_div(square, far_big_square(r)); /* in step with square at every scale */
    return (far_moments){.square = square,
                         .slope = far_big_scale(ratio, chi),
                         .scaled = far_big_scale(square, p * p),
                         .mean =
                             far_big_scale(far_big_sqrt(square), half_moment(p) / sqrtl(moment))};
}

static far_moments sine_moments(far_big r)
{
    if (r.k > 0) {
        return (far_moments){.square = far_big_from(0.5L),
                             .slope = far_big_from(0.5L),
                             .scaled = far_big_scale(far_big_square(r), 0.5L)};
    }
    long double q = far_big_limit(far_big_square(r)), decay = expl(-2 * q);
    long double wave = decay > 0 ? (q - 4 * q * q) * decay : 0;
    return (far_moments){.square = far_big_from(-0.5L * expm1l(-2 * q)),
                         .slope = far_big_from(0.5L * (1 + decay)),
                         .scaled = far_big_from(0.5L * (q + wave))};
}

far_moments far_activation_moments(const far_activation *a, far_big r)
{
    switch (a->family) {
    case FAR_FAMILY_FOLD:
        return fold_moments(a, r);
    case FAR_FAMILY_POWER:
    case FAR_FAMILY_TABLE:
        return power_moments(a, r);
    case FAR_FAMILY_SINE:
        return sine_moments(r);
    case FAR_FAMILY_SOFT_SIGN:
    case FAR_FAMILY_SOFT_RELU:
        break;
    }
    return mixture_moments(a, r);
}

/* ---- how they grow with r -------------------------------------------------------------------- */

/* By ln r, c of a unit (c, e) grows by c e^2 and e by -c^2 e. */
static long double soft_sign_growth(mixture_pair q, long double weight)
{
    return weight * 2 / PI * q.y * (q.a + q.b) / q.root;
}

static long double soft_relu_growth(mixture_pair q, long double weight)
{
    long double aa = q.a * q.b, ab = q.a + q.b, root = -q.y * q.y * ab / q.root;
    long double bend = ab * (q.root + aa / q.root) + root - 2 * aa * (2 - ab) / q.root;
    return weight * q.y / (2 * PI) * (ab / q.root + bend - aa * root / q.d);
}

static far_growth mixture_growth(const far_activation *a, far_big r)
{
    bool sign = a->family == FAR_FAMILY_SOFT_SIGN;
    if (far_big_coef(r) > INFINITE_FROM) {
        return sign ? (far_growth){.slope = -1} : (far_growth){.value = 1, .mean = 1};
    }
    plain_unit unit[FAR_MIXTURE_MAX];
    long double grown = 0, slope = 0, slope_grown = 0, mean = 0, mean_grown = 0;
    for (int m = 0; m < a->terms; m++) {
        far_unit u = far_unit_of(far_mixture_scale(a, m, r));
        unit[m] = (plain_unit){u.c, far_big_coef(u.e)};
        for (int n = 0; n <= m; n++) {
            long double weight = a->weight[m] * a->weight[n] * (n < m ? 2 : 1);
            mixture_pair q = pair_up(unit[m], unit[n]);
            grown += sign ? soft_sign_growth(q, weight) : soft_relu_growth(q, weight);
        }
        long double e = unit[m].e, c = unit[m].c;
        slope += a->weight[m] * a->rate[m] * e;
        slope_grown -= a->weight[m] * a->rate[m] * e * c * c;
        mean += a->weight[m] * c;
        mean_grown += a->weight[m] * c * e * e;
    }
    long double square = sum_mixture(a, unit).square, half = square > 0 ? grown / square / 2 : 1;
    far_growth g = {.value = sign ? half : 1 + half};
    g.slope = sign ? slope_grown / slope : 0;
    g.mean = sign || mean == 0 ? 0 : 1 + mean_grown / mean;
    g.excess = 1 + g.slope - g.value;
    return g;
}

static far_growth sine_growth(far_big r)
{
    long double q = far_big_limit(far_big_square(r)), grown = expm1l(2 * q);
    far_growth g = {.value = q > 0 ? 2 * q / grown : 1, .slope = -q / (1 + q)};
    g.excess = 1 + g.slope - g.value;
    return g;
}

far_growth far_activation_growth(const far_activation *a, far_big r)
{
    switch (a->family) {
    case FAR_FAMILY_FOLD:
        return (far_growth){.value = 1, .mean = 1};
    case FAR_FAMILY_POWER:
    case FAR_FAMILY_TABLE:
        return (far_growth){.value = a->power, .mean = a->power, .slope = a->power - 1};
    case FAR_FAMILY_SINE:
        return sine_growth(r);
    case FAR_FAMILY_SOFT_SIGN:
    case FAR_FAMILY_SOFT_RELU:
        break;
    }
    return mixture_growth(a, r);
}

/* ---- making one ------------------------------------------------------------------------------ */

static far_status init_fold(far_activation *a, long double slope)
{
    a->family = FAR_FAMILY_FOLD;
    a->linear = (1 + slope) / 2;
    a->folded = (1 - slope) / 2;
    return FAR_OK;
}

static far_status init_power(far_ctx *ctx, far_activation *a)
{
    if (a->power == 1) {
        return init_fold(a, 0);
    }
    far_status st;
    if (a->power == floorl(a->power)) {
        a->family = FAR_FAMILY_POWER;
        st = far_alloc(ctx, 3, &a->arccos);
        if (st == FAR_OK) {
            fill_arccos((int)a->power, a->arccos);
        }
    } else {
        a->family = FAR_FAMILY_TABLE;
        st = far_alloc(ctx, 2, &a->table);
        if (st == FAR_OK) {
            far_power_table_fill(a->power, far_ctx_threads(ctx), &a->table[0]);
            far_power_table_fill(a->power - 1, far_ctx_threads(ctx), &a->table[1]);
        }
    }
    return st;
}

/* Families share formulas: folds (piecewise linear) and powers are closed forms or tables, soft
 * signs and soft relus mixtures of erfs, the sine its own. */
static far_status init_family(far_ctx *ctx, far_activation *a)
{
    switch (a->kind) {
    case FAR_LAYER_RELU:
        return init_power(ctx, a);
    case FAR_LAYER_LEAKY_RELU:
        return init_fold(a, a->slope);
    case FAR_LAYER_ABS:
        return init_fold(a, -1);
    case FAR_LAYER_IDENTITY:
        return init_fold(a, 1);
    case FAR_LAYER_ERF:
    case FAR_LAYER_GELU:
        a->family = a->kind == FAR_LAYER_ERF ? FAR_FAMILY_SOFT_SIGN : FAR_FAMILY_SOFT_RELU;
        single_term(a);
        return FAR_OK;
    case FAR_LAYER_TANH: /* tanh z = 2 logistic(2 z) - 1 */
        a->family = FAR_FAMILY_SOFT_SIGN;
        fill_mixture(a, sqrtl(2));
        return FAR_OK;
    case FAR_LAYER_SILU:
        a->family = FAR_FAMILY_SOFT_RELU;
        fill_mixture(a, 1);
        return FAR_OK;
    case FAR_LAYER_SIN:
        a->family = FAR_FAMILY_SINE;
        return FAR_OK;
    default:
        return far_fail(ctx, FAR_ERR_ARCH, "%s is not an activation", far_layer_name(a->kind));
    }
}

far_status far_activation_init(far_ctx *ctx, const far_layer *layer, bool unit, far_activation *out)
{
    *out = (far_activation){.kind = layer->kind,
                            .power = layer->power,
                            .slope = layer->slope,
                            .w0 = layer->w0,
                            .asked_gain = layer->gain,
                            .gain = layer->gain};
    far_status st = init_family(ctx, out);
    if (st == FAR_OK && isnan(layer->gain)) {
        far_moments at_one = far_activation_moments(out, far_big_from(out->w0));
        out->gain = unit ? 1 / sqrtl(far_big_coef(at_one.square)) : 1;
    }
    return st;
}

void far_activation_clear(far_ctx *ctx, far_activation *a)
{
    far_free(ctx, a->arccos);
    far_free(ctx, a->table);
}

bool far_activation_is_odd(const far_activation *a)
{
    return a->family == FAR_FAMILY_SOFT_SIGN || a->family == FAR_FAMILY_SINE ||
           (a->family == FAR_FAMILY_FOLD && a->folded == 0);
}
