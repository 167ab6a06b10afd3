/* See mp_reference.h. Order: a pool of numbers, the reader, dual activations, layers. */
#include "mp_reference.h"

#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ---------------------------------------------------------------------------------
 * Every operation gives a new number out of a pool that one evaluation fills and the next one
 * overwrites, so that formulas read as formulas. */

typedef mpfr_srcptr num;

static struct {
    mpfr_ptr *slot;
    size_t used, made, room;
    mpfr_prec_t bits;
} pool;

static void pool_clear(void)
{
    for (size_t i = 0; i < pool.made; i++) {
        mpfr_clear(pool.slot[i]);
        free(pool.slot[i]);
    }
    pool.used = pool.made = 0;
}

static void nodes_clear(void);

void mp_release(void)
{
    pool_clear();
    nodes_clear();
    free(pool.slot);
    pool.slot = NULL;
    pool.room = 0;
    mpfr_free_cache();
}

static void pool_start(long bits)
{
    if (bits != pool.bits) {
        pool_clear();
        pool.bits = bits;
    }
    pool.used = 0;
}

static void *must(void *p)
{
    if (!p) {
        abort();
    }
    return p;
}

static mpfr_ptr fresh(void)
{
    if (pool.used == pool.room) {
        pool.room = pool.room ? 2 * pool.room : 1024;
        pool.slot = must(realloc(pool.slot, pool.room * sizeof *pool.slot));
    }
    if (pool.used == pool.made) {
        mpfr_ptr p = must(malloc(sizeof *p));
        mpfr_init2(p, pool.bits);
        pool.slot[pool.made++] = p;
    }
    return pool.slot[pool.used++];
}

static num val(double a)
{
    mpfr_ptr r = fresh();
    mpfr_set_d(r, a, MPFR_RNDN);
    return r;
}

#define UNARY(name, call)                                                                          \
    static num name(num a)                                                                         \
    {                                                                                              \
        mpfr_ptr r = fresh();                                                                      \
        call(r, a, MPFR_RNDN);                                                                     \
        return r;                                                                                  \
    }
#define BINARY(name, call)                                                                         \
    static num name(num a, num b)                                                                  \
    {                                                                                              \
        mpfr_ptr r = fresh();                                                                      \
        call(r, a, b, MPFR_RNDN);                                                                  \
        return r;                                                                                  \
    }

UNARY(neg, mpfr_neg)
UNARY(root, mpfr_sqrt)
UNARY(expo, mpfr_exp)
UNARY(sine, mpfr_sin)
UNARY(sinh_of, mpfr_sinh)
UNARY(cosh_of, mpfr_cosh)
UNARY(arcsine, mpfr_asin)
UNARY(erf_of, mpfr_erf)
UNARY(gamma_of, mpfr_gamma)
UNARY(tanh_of, mpfr_tanh)
BINARY(add, mpfr_add)
BINARY(sub, mpfr_sub)
BINARY(mul, mpfr_mul)
BINARY(quo, mpfr_div)
BINARY(power, mpfr_pow)
BINARY(angle, mpfr_atan2)

static num pi(void)
{
    mpfr_ptr r = fresh();
    mpfr_const_pi(r, MPFR_RNDN);
    return r;
}

static num square(num a)
{
    return mul(a, a);
}

static num scaled(double a, num b)
{
    return mul(val(a), b);
}

static num rise(num a, double e) /* a^e; whole and half exponents without a logarithm */
{
    mpfr_ptr r;
    if (2 * e != floor(2 * e)) {
        return power(a, val(e));
    }
    r = fresh();
    mpfr_pow_si(r, e == floor(e) ? a : root(a), (long)(e == floor(e) ? e : 2 * e), MPFR_RNDN);
    return r;
}

static num root_plus(num a) /* sqrt(max(a, 0)): what rounding made negative is zero */
{
    return mpfr_sgn(a) < 0 ? val(0) : root(a);
}

/* ---- the reader ------------------------------------------------------------------------------ */

typedef struct reader {
    const char *start, *at;
    mp_net *net;
} reader;

static const struct {
    const char *name;
    mp_kind kind;
} NAMES[] = {{"dense", MP_DENSE},
             {"relu", MP_RELU},
             {"leaky_relu", MP_LEAKY_RELU},
             {"abs", MP_ABS},
             {"erf", MP_ERF},
             {"gelu", MP_GELU},
             {"silu", MP_SILU},
             {"tanh", MP_TANH},
             {"sin", MP_SIN},
             {"identity", MP_IDENTITY},
             {"ln", MP_LN},
             {"rms", MP_RMS},
             {"batchnorm", MP_BATCHNORM},
             {"skip", MP_SKIP_BEGIN}};

static void blanks(reader *r)
{
    while (isspace((unsigned char)*r->at)) {
        r->at++;
    }
}

static int take(reader *r, char c)
{
    blanks(r);
    if (*r->at != c) {
        return 0;
    }
    r->at++;
    return 1;
}

static size_t word(reader *r, char *out, size_t room)
{
    size_t n = 0;
    blanks(r);
    while ((isalpha((unsigned char)*r->at) || *r->at == '_' || (n && *r->at == '0')) &&
           n + 1 < room) { /* w0 has the only digit of all names */
        out[n++] = *r->at++;
    }
    out[n] = 0;
    return n;
}

static int number(reader *r, double *out)
{
    char *end;
    blanks(r);
    *out = strtod(r->at, &end);
    if (end == r->at) {
        return 0;
    }
    r->at = end;
    return 1;
}

static int named_argument(reader *r, mp_op *op)
{
    char name[16];
    double v;
    word(r, name, sizeof name);
    if (!strcmp(name, "nobias")) {
        op->no_bias = 1;
        return 1;
    }
    if (!strcmp(name, "affine")) {
        op->affine = 1;
        return 1;
    }
    if (!take(r, '=') || !number(r, &v)) {
        return 0;
    }
    static const struct {
        const char *name;
        size_t field;
    } FIELDS[] = {{"w", offsetof(mp_op, w)},       {"b", offsetof(mp_op, b)},
                  {"w0", offsetof(mp_op, w0)},     {"eps", offsetof(mp_op, eps)},
                  {"gain", offsetof(mp_op, gain)}, {"power", offsetof(mp_op, arg)},
                  {"slope", offsetof(mp_op, arg)}};
    for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS; i++) {
        if (!strcmp(name, FIELDS[i].name)) {
            *(double *)((char *)op + FIELDS[i].field) = v;
            return 1;
        }
    }
    if (!strcmp(name, "groups") || !strcmp(name, "width")) {
        *(name[0] == 'g' ? &op->groups : &op->width) = (long)v;
        return 1;
    }
    return 0;
}

static int argument(reader *r, mp_op *op)
{
    double v;
    blanks(r);
    if (isalpha((unsigned char)*r->at)) {
        return named_argument(r, op);
    }
    if (!number(r, &v)) {
        return 0;
    }
    if (op->kind == MP_DENSE) {
        op->width = (long)v;
    } else {
        op->arg = v;
    }
    return 1;
}

static int arguments(reader *r, mp_op *op)
{
    if (*r->at != '(') {
        return 1;
    }
    r->at++;
    do {
        if (!argument(r, op)) {
            return 0;
        }
    } while (take(r, ','));
    return take(r, ')');
}

static mp_op *push(reader *r, mp_kind kind)
{
    static const mp_op EMPTY = {.w = NAN, .b = NAN, .gain = NAN, .groups = 1, .w0 = 1};
    mp_op *op = &r->net->op[r->net->count];
    if (r->net->count == MP_MAX_OPS) {
        return NULL;
    }
    r->net->count++;
    *op = EMPTY;
    op->kind = kind;
    op->arg = kind == MP_RELU ? 1 : kind == MP_LEAKY_RELU ? 0.01 : kind == MP_ABS ? -1 : 0;
    return op;
}

static int sequence(reader *r);

static int layer(reader *r)
{
    char name[16];
    word(r, name, sizeof name);
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        if (strcmp(name, NAMES[i].name) != 0) {
            continue;
        }
        mp_op *op = push(r, NAMES[i].kind);
        if (!op) {
            return 0;
        }
        if (op->kind != MP_SKIP_BEGIN) {
            return arguments(r, op);
        }
        return take(r, '(') && sequence(r) && take(r, ')') && push(r, MP_SKIP_END);
    }
    return 0;
}

static int repetition(reader *r)
{
    int first = r->net->count;
    if (!sequence(r) || !take(r, ']') || !take(r, 'x')) {
        return 0;
    }
    long times = strtol(r->at, (char **)&r->at, 10);
    int n = r->net->count - first;
    if (times < 1 || first + n * times > MP_MAX_OPS) {
        return 0;
    }
    for (long i = 1; i < times; i++) {
        memcpy(&r->net->op[first + i * n], &r->net->op[first], (size_t)n * sizeof(mp_op));
    }
    r->net->count = (int)(first + n * times);
    return 1;
}

static int sequence(reader *r)
{
    for (blanks(r); *r->at && *r->at != ')' && *r->at != ']'; blanks(r)) {
        if (!(take(r, '[') ? repetition(r) : layer(r))) {
            return 0;
        }
    }
    return 1;
}

int mp_net_parse(const char *text, mp_net *net)
{
    reader r = {text, text, net};
    net->count = 0;
    return sequence(&r) && !*r.at ? 0 : (int)(r.at - text) + 1;
}

/* ---- dual activations ------------------------------------------------------------------------
 * (z, z') Gaussian, mean 0, variances q and r, covariance k. For an activation phi:
 *     e = E[phi(z) phi(z')]     s = E[phi'(z) phi'(z')]     g = E[z phi'(z) z' phi'(z')]
 */
typedef struct dual {
    num e, s, g;
} dual;

/* What an angle theta between z and z' is made of. */
typedef struct corner {
    num theta, cosine, sine;
    num size; /* sqrt(q r) */
} corner;

static num over(num a, num b) /* 0 where b is 0: a variance is */
{
    return mpfr_zero_p(b) ? val(0) : quo(a, b);
}

static corner corner_of(num k, num q, num r)
{
    num size = root(mul(q, r)), wing = root_plus(sub(mul(q, r), square(k)));
    return (corner){angle(wing, k), over(k, size), over(wing, size), size};
}

/* E[u_+^n v_+^n] of unit Gaussians at angle theta for an integer n, Cho and Saul's J_n / (2 pi),
 * by J_n = (2n - 1) cos J_(n-1) + (n - 1)^2 sin^2 J_(n-2). */
static num arc_cosine_integer(int n, const corner *c)
{
    num rest = sub(pi(), c->theta);
    num before = rest;
    num j = n == 0 ? rest : add(c->sine, mul(rest, c->cosine));
    for (int i = 2; i <= n; i++) {
        num a = scaled(2 * i - 1, mul(c->cosine, j));
        num b = scaled((double)(i - 1) * (i - 1), mul(square(c->sine), before));
        before = j;
        j = add(a, b);
    }
    return quo(j, scaled(2, pi()));
}

/* Nodes of the double-exponential rule on (0, 1): at u / (1 + u), u = exp(pi sinh(t)), with
 * d/dt of that for weight. */
enum { NODES = 148 }; /* t = -4.6 + i / 16 <= 4.6 */
static struct {
    mpfr_t at[NODES], weight[NODES];
    mpfr_prec_t bits; /* 0: none yet */
} nodes;

static void nodes_clear(void)
{
    for (int i = 0; i < NODES && nodes.bits; i++) {
        mpfr_clears(nodes.at[i], nodes.weight[i], (mpfr_ptr)NULL);
    }
    nodes.bits = 0;
}

static void nodes_make(void)
{
    if (nodes.bits == pool.bits) {
        return;
    }
    nodes_clear();
    nodes.bits = pool.bits;
    for (int i = 0; i < NODES; i++) {
        size_t mark = pool.used;
        num t = val(-4.6 + i / 16.0), u = expo(mul(sinh_of(t), pi())), one = add(val(1), u);
        num slope = mul(mul(cosh_of(t), pi()), quo(u, square(one)));
        mpfr_inits2(pool.bits, nodes.at[i], nodes.weight[i], (mpfr_ptr)NULL);
        mpfr_div(nodes.at[i], u, one, MPFR_RNDN);
        mpfr_div_ui(nodes.weight[i], slope, 16, MPFR_RNDN);
        pool.used = mark;
    }
}

/* Adds the integrals of (sin s sin(s + theta))^p from a to b to sum[0], and with p + 1 to sum[1].
 */
static void panel(mpfr_ptr sum[2], num a, num b, num theta, num p)
{
    size_t mark = pool.used;
    num width = sub(b, a);
    for (int i = 0; i < NODES; i++) {
        size_t inner = pool.used;
        num s = add(a, mul(width, nodes.at[i])), base = mul(sine(s), sine(add(s, theta)));
        num f = mul(mul(width, nodes.weight[i]), power(base, p));
        mpfr_add(sum[0], sum[0], f, MPFR_RNDN);
        mpfr_fma(sum[1], f, base, sum[1], MPFR_RNDN);
        pool.used = inner;
    }
    pool.used = mark;
}

static num arc_cosine_scaled(num sum, double p) /* the radius of arc_cosine */
{
    num radial = mul(power(val(2), val(p)), gamma_of(add(val(p), val(1))));
    return quo(mul(radial, sum), pi());
}

/* The same for p and p + 1, any p > -1/2: in polar coordinates the radius gives
 * 2^p Gamma(p + 1) / (2 pi) and the angle 2 int_0^((pi - theta)/2) (sin s sin(s + theta))^p ds.
 * Branch points lie at 0 and -theta, so panels grow by 4 from theta on. */
static void arc_cosine(double p, num theta, num out[2])
{
    mpfr_ptr sum[2] = {fresh(), fresh()};
    mpfr_ptr a = fresh(), b = fresh();
    num end = scaled(0.5, sub(pi(), theta));
    nodes_make();
    mpfr_set_zero(sum[0], 1);
    mpfr_set_zero(sum[1], 1);
    mpfr_set_zero(a, 1);
    mpfr_set(b, theta, MPFR_RNDN);
    while (mpfr_less_p(a, end)) {
        if (mpfr_zero_p(theta) || mpfr_greater_p(b, end)) {
            mpfr_set(b, end, MPFR_RNDN);
        }
        panel(sum, a, b, theta, val(p));
        mpfr_set(a, b, MPFR_RNDN);
        mpfr_mul_ui(b, b, 4, MPFR_RNDN);
    }
    out[0] = arc_cosine_scaled(sum[0], p);
    out[1] = arc_cosine_scaled(sum[1], p + 1);
}

/* E[u_+^(p-1) v_+^(p-1)] and E[u_+^p v_+^p]. */
static void rectified(double p, const corner *c, num out[2])
{
    if (p != floor(p)) {
        arc_cosine(p - 1, c->theta, out);
        return;
    }
    out[0] = arc_cosine_integer((int)p - 1, c);
    out[1] = arc_cosine_integer((int)p, c);
}

static dual dual_relu_at(double p, const corner *c)
{
    num j[2];
    dual f;
    rectified(p, c, j);
    f.e = mul(rise(c->size, p), j[1]);
    f.s = scaled(p * p, mul(rise(c->size, p - 1), j[0]));
    f.g = scaled(p * p, f.e);
    return f;
}

static dual dual_relu(double p, num k, num q, num r)
{
    corner c = corner_of(k, q, r);
    return dual_relu_at(p, &c);
}

/* relu(z) - slope relu(-z): products of equal signs see k, of different signs -k. */
static dual dual_leaky(double slope, num k, num q, num r)
{
    corner c = corner_of(k, q, r), turned = {sub(pi(), c.theta), neg(c.cosine), c.sine, c.size};
    dual same = dual_relu_at(1, &c), other = dual_relu_at(1, &turned);
    num both = add(val(1), square(val(slope)));
    dual f;
    f.e = sub(mul(both, same.e), scaled(2 * slope, other.e));
    f.s = add(mul(both, same.s), scaled(2 * slope, other.s));
    f.g = f.e;
    return f;
}

static dual dual_identity(num k)
{
    dual f = {k, val(1), k};
    return f;
}

static dual dual_erf(num k, num q, num r)
{
    num ab = mul(add(val(1), scaled(2, q)), add(val(1), scaled(2, r)));
    num det = sub(ab, scaled(4, square(k)));
    dual f;
    f.e = mul(quo(val(2), pi()), arcsine(quo(scaled(2, k), root(ab))));
    f.s = quo(quo(val(4), pi()), root(det));
    f.g = quo(mul(f.s, k), det);
    return f;
}

/* phi = z P(z), P and n the normal distribution and density. Stein's lemma reduces all to
 * E[P P'] and E[n n']; a, b, c are the covariances of (z, z') under the density times n n'. */
static dual dual_gelu(num k, num q, num r)
{
    num q1 = add(val(1), q), r1 = add(val(1), r);
    num det = sub(mul(q1, r1), square(k));
    num tail = angle(k, root(det));
    num pp = add(val(0.25), quo(tail, scaled(2, pi())));
    num nn = quo(val(1), mul(scaled(2, pi()), root(det)));
    num a = sub(val(1), quo(r1, det)), b = sub(val(1), quo(q1, det)), c = quo(k, det);
    num zn = quo(mul(k, nn), q1), nz = quo(mul(k, nn), r1);             /* E[z n P'], E[P z' n'] */
    num zzz = quo(add(scaled(2, mul(q, zn)), mul(k, mul(nn, a))), q1);  /* E[z^3 n P'] */
    num zzz2 = quo(add(scaled(2, mul(r, nz)), mul(k, mul(nn, b))), r1); /* E[P z'^3 n'] */
    num left = add(mul(k, sub(scaled(2, zn), zzz)), mul(r, mul(nn, a)));
    num right = add(mul(k, sub(scaled(2, nz), zzz2)), mul(q, mul(nn, b)));
    num four = mul(nn, add(mul(a, b), scaled(2, square(c)))); /* E[z^2 n z'^2 n'] */
    num cross = sub(mul(q, r), square(k));
    dual f;
    f.e = add(mul(k, pp), add(mul(nn, cross), mul(k, add(zn, nz))));
    f.s = add(add(pp, mul(nn, c)), add(zn, nz));
    f.g = add(add(f.e, four), add(left, right));
    return f;
}

/* sin(w0 z): w0 z has the covariances times w0^2. */
static dual dual_sin(double w0, num k, num q, num r)
{
    num w2 = square(val(w0));
    k = mul(w2, k);
    q = mul(w2, q);
    r = mul(w2, r);
    num mean = scaled(-0.5, add(q, r));
    num plus = expo(add(mean, k)), minus = expo(sub(mean, k)); /* of cos(z - z'), cos(z + z') */
    num apart = mul(sub(k, mul(sub(q, k), sub(k, r))), plus);
    num along = mul(sub(k, mul(add(q, k), add(k, r))), minus);
    dual f;
    f.e = scaled(0.5, sub(plus, minus));
    f.s = scaled(0.5, mul(w2, add(plus, minus)));
    f.g = scaled(0.5, add(apart, along));
    return f;
}

/* ---- tanh and silu: quadrature ---------------------------------------------------------------
 * z = a u and z' = c u + s v with u, v independent unit Gaussians. The trapezoidal rule converges
 * like exp(-2 pi y / h) in the half-width y of the strip where the integrand is analytic (tanh has
 * poles at i pi / 2, silu at i pi), times the exp(y^2 / 2) by which the Gaussian grows there. */
#define QUADRATURE_MOST 300000 /* nodes */

static double quadrature_digits; /* natural: exp(-76) is 1e-33 */
static int quadrature_too_long;

typedef struct rule {
    int n; /* nodes -n .. n */
    double h;
} rule;

/* For factors phi(rate x) with poles of phi at i pole. */
static rule rule_of(double pole, double rate)
{
    double y = rate > 0 ? pole / rate : INFINITY;
    double h = sqrt(2 * 9.8696 / quadrature_digits); /* y = 2 pi / h, the best there is */
    if (y < 6.2831 / h) {
        h = 6.2831 * y / (quadrature_digits + y * y / 2);
    }
    double n = ceil(sqrt(2 * quadrature_digits) / h) + 1;
    return rate == 0 ? (rule){0, 1} : (rule){n < QUADRATURE_MOST ? (int)n : QUADRATURE_MOST, h};
}

static num node_weight(rule w, int i) /* h exp(-x^2 / 2) / sqrt(2 pi) at x = i h */
{
    if (w.n == 0) {
        return val(1);
    }
    num x = scaled(i, val(w.h));
    return quo(mul(val(w.h), expo(scaled(-0.5, square(x)))), root(scaled(2, pi())));
}

/* phi, phi' and z phi' of z, given e = exp(-2 z) (tanh) or exp(-z) (silu). */
typedef struct point_value {
    mpfr_t phi, slope, scale;
} point_value;

static void point_value_at(mp_kind kind, num z, num e, mpfr_ptr one_plus, point_value *out)
{
    mpfr_add_ui(one_plus, e, 1, MPFR_RNDN);
    if (kind == MP_TANH) { /* (1 - e) / (1 + e), 4 e / (1 + e)^2 */
        mpfr_ui_sub(out->phi, 1, e, MPFR_RNDN);
        mpfr_div(out->phi, out->phi, one_plus, MPFR_RNDN);
        mpfr_sqr(one_plus, one_plus, MPFR_RNDN);
        mpfr_div(out->slope, e, one_plus, MPFR_RNDN);
        mpfr_mul_2ui(out->slope, out->slope, 2, MPFR_RNDN);
    } else { /* z / (1 + e), (1 + z e / (1 + e)) / (1 + e) */
        mpfr_div(out->phi, z, one_plus, MPFR_RNDN);
        mpfr_mul(out->slope, out->phi, e, MPFR_RNDN);
        mpfr_add_ui(out->slope, out->slope, 1, MPFR_RNDN);
        mpfr_div(out->slope, out->slope, one_plus, MPFR_RNDN);
    }
    mpfr_mul(out->scale, z, out->slope, MPFR_RNDN);
}

static void point_values_init(point_value *v)
{
    mpfr_inits2(pool.bits, v->phi, v->slope, v->scale, (mpfr_ptr)NULL);
}

static void point_values_clear(point_value *v)
{
    mpfr_clears(v->phi, v->slope, v->scale, (mpfr_ptr)NULL);
}

typedef struct plane {
    mp_kind kind;
    double rate; /* e = exp(-rate z) */
    num c, s;
    rule u, v;
    num *v_at, *v_exp, *v_weight; /* s v, exp(-rate s v), weight; 2 v.n + 1 of each */
} plane;

static void plane_fill(plane *p)
{
    int count = 2 * p->v.n + 1;
    p->v_at = must(malloc(3 * (size_t)count * sizeof(num)));
    p->v_exp = p->v_at + count;
    p->v_weight = p->v_exp + count;
    for (int j = 0; j < count; j++) {
        p->v_at[j] = mul(p->s, scaled(j - p->v.n, val(p->v.h)));
        p->v_exp[j] = expo(scaled(-p->rate, p->v_at[j]));
        p->v_weight[j] = node_weight(p->v, j - p->v.n);
    }
}

/* Sums over v at z' = c u + s v. */
static void plane_row(const plane *p, num cu, point_value *at, point_value *sum)
{
    size_t mark = pool.used;
    mpfr_ptr z = fresh(), e = fresh(), one_plus = fresh();
    num here = expo(scaled(-p->rate, cu));
    mpfr_set_zero(sum->phi, 1);
    mpfr_set_zero(sum->slope, 1);
    mpfr_set_zero(sum->scale, 1);
    for (int j = 0; j < 2 * p->v.n + 1; j++) {
        mpfr_add(z, cu, p->v_at[j], MPFR_RNDN);
        mpfr_mul(e, here, p->v_exp[j], MPFR_RNDN);
        point_value_at(p->kind, z, e, one_plus, at);
        mpfr_fma(sum->phi, at->phi, p->v_weight[j], sum->phi, MPFR_RNDN);
        mpfr_fma(sum->slope, at->slope, p->v_weight[j], sum->slope, MPFR_RNDN);
        mpfr_fma(sum->scale, at->scale, p->v_weight[j], sum->scale, MPFR_RNDN);
    }
    pool.used = mark;
}

static dual plane_sum(const plane *p, num a)
{
    mpfr_ptr e = fresh(), s = fresh(), g = fresh(), one_plus = fresh();
    point_value at, sum;
    point_values_init(&at);
    point_values_init(&sum);
    mpfr_set_zero(e, 1);
    mpfr_set_zero(s, 1);
    mpfr_set_zero(g, 1);
    for (int i = -p->u.n; i <= p->u.n; i++) {
        size_t mark = pool.used;
        num u = scaled(i, val(p->u.h)), z = mul(a, u), weight = node_weight(p->u, i);
        plane_row(p, mul(p->c, u), &at, &sum);
        point_value_at(p->kind, z, expo(scaled(-p->rate, z)), one_plus, &at);
        mpfr_fma(e, mul(weight, at.phi), sum.phi, e, MPFR_RNDN);
        mpfr_fma(s, mul(weight, at.slope), sum.slope, s, MPFR_RNDN);
        mpfr_fma(g, mul(weight, at.scale), sum.scale, g, MPFR_RNDN);
        pool.used = mark;
    }
    point_values_clear(&at);
    point_values_clear(&sum);
    return (dual){e, s, g};
}

static dual dual_by_quadrature(mp_kind kind, num k, num q, num r)
{
    if (mpfr_zero_p(q)) { /* the point at zero comes second */
        num swap = q;
        q = r;
        r = swap;
    }
    num a = root(q), c = mpfr_zero_p(q) ? val(0) : quo(k, a);
    int same = mpfr_equal_p(k, q) && mpfr_equal_p(k, r);
    num s = same ? val(0) : root_plus(sub(r, square(c)));
    double pole = kind == MP_TANH ? 1.5707 : 3.1415;
    double rate_u = fmax(mpfr_get_d(a, MPFR_RNDU), fabs(mpfr_get_d(c, MPFR_RNDU)));
    plane p = {.kind = kind, .rate = kind == MP_TANH ? 2 : 1, .c = c, .s = s};
    p.u = rule_of(pole, rate_u);
    p.v = rule_of(pole, mpfr_get_d(s, MPFR_RNDU));
    if (!((2.0 * p.u.n + 1) * (2.0 * p.v.n + 1) <= QUADRATURE_MOST)) {
        quadrature_too_long = 1;
        return (dual){val(0), val(0), val(0)};
    }
    plane_fill(&p);
    dual f = plane_sum(&p, a);
    free(p.v_at);
    return f;
}

/* E[silu(z)], z of variance q. */
static num mean_of_silu(num q)
{
    num a = root(q);
    rule u = rule_of(3.1415, mpfr_get_d(a, MPFR_RNDU));
    mpfr_ptr sum = fresh();
    mpfr_set_zero(sum, 1);
    quadrature_too_long |= u.n == QUADRATURE_MOST;
    for (int i = -u.n; i <= u.n && u.n < QUADRATURE_MOST; i++) {
        size_t mark = pool.used;
        num z = mul(a, scaled(i, val(u.h)));
        num phi = quo(z, add(val(1), expo(neg(z))));
        mpfr_fma(sum, node_weight(u, i), phi, sum, MPFR_RNDN);
        pool.used = mark;
    }
    return sum;
}

static int is_activation(mp_kind kind)
{
    return kind >= MP_RELU && kind <= MP_IDENTITY;
}

static dual dual_of(const mp_op *op, num k, num q, num r)
{
    switch (op->kind) {
    case MP_RELU:
        return dual_relu(op->arg, k, q, r);
    case MP_LEAKY_RELU:
    case MP_ABS:
        return dual_leaky(op->arg, k, q, r);
    case MP_ERF:
        return dual_erf(k, q, r);
    case MP_GELU:
        return dual_gelu(k, q, r);
    case MP_SIN:
        return dual_sin(op->w0, k, q, r);
    case MP_SILU:
    case MP_TANH:
        return dual_by_quadrature(op->kind, k, q, r);
    default:
        return dual_identity(k);
    }
}

/* E[u_+^p] = 2^(p/2) Gamma((p + 1)/2) / (2 sqrt(pi)); (p - 1) E[u_+^(p - 2)] for a whole p. */
static num half_moment(double p)
{
    if (p != floor(p)) {
        num g = mul(power(val(2), val(p / 2)), gamma_of(val((p + 1) / 2)));
        return quo(g, scaled(2, root(pi())));
    }
    int odd = fmod(p, 2) == 1;
    num m = odd ? quo(val(1), root(scaled(2, pi()))) : val(0.5);
    for (double i = odd ? 3 : 2; i <= p; i += 2) {
        m = scaled(i - 1, m);
    }
    return m;
}

/* E[phi(z)], z of variance q. */
static num mean_of(const mp_op *op, num q)
{
    switch (op->kind) {
    case MP_RELU:
        return mul(rise(q, op->arg / 2), half_moment(op->arg));
    case MP_LEAKY_RELU:
    case MP_ABS:
        return mul(root(q), mul(sub(val(1), val(op->arg)), half_moment(1)));
    case MP_GELU:
        return quo(q, root(mul(scaled(2, pi()), add(val(1), q))));
    case MP_SILU:
        return mean_of_silu(q);
    default:
        return val(0);
    }
}

/* E[phi(z)^2]: closed forms where the angle would be 0. */
static num second_moment(const mp_op *op, num q)
{
    if (op->kind == MP_RELU) {
        return mul(rise(q, op->arg), half_moment(2 * op->arg));
    }
    if (op->kind == MP_LEAKY_RELU || op->kind == MP_ABS) {
        return scaled(0.5, mul(q, add(val(1), square(val(op->arg)))));
    }
    return dual_of(op, q, q, q).e;
}

static num gain_of(const mp_op *op, int standard)
{
    if (!isnan(op->gain)) {
        return val(op->gain);
    }
    if (standard) {
        return val(1);
    }
    return quo(val(1), root(second_moment(op, val(1))));
}

double mp_op_gain(const mp_op *op, int standard)
{
    pool_start(MP_BITS_LOW);
    quadrature_digits = 76;
    return mpfr_get_d(gain_of(op, standard), MPFR_RNDN);
}

/* ---- layers ---------------------------------------------------------------------------------- */

/* The state of a pair. Before the first dense layer the vectors themselves, x and y, are it. Where
 * trainable scales stand unresolved, Theta is t + scales * k; what comes next decides (see act). */
typedef struct state {
    num k, q, r, t, m, n;
    num steep; /* see mp_net_steepness; NULL: not wanted */
    num *x, *y;
    int raw;
    int gaussian;
    int scales;
    int mixed; /* scales were resolved at the end of a skip: an activation may not follow */
    double fan_in;
} state;

typedef struct run {
    const mp_net *net;
    int standard, d;
    int at;
    int dense_count;
    const char *error;
} run;

static num dot(int d, num *x, num *y)
{
    mpfr_ptr sum = fresh();
    mpfr_set_zero(sum, 1);
    for (int i = 0; i < d; i++) {
        mpfr_fma(sum, x[i], y[i], sum, MPFR_RNDN);
    }
    mpfr_div_si(sum, sum, d, MPFR_RNDN);
    return sum;
}

static void read_off(const run *c, state *s)
{
    s->k = dot(c->d, s->x, s->y);
    s->q = dot(c->d, s->x, s->x);
    s->r = dot(c->d, s->y, s->y);
    s->m = s->n = val(0);
}

static void resolve(state *s)
{
    s->t = add(s->t, scaled(s->scales, s->k));
    s->scales = 0;
}

/* A layer with slope over/under at rho = 1. */
static void steepen(state *s, num over, num under)
{
    if (s->steep) {
        num slope = mpfr_zero_p(under) ? val(0) : quo(over, under);
        s->steep = mul(slope, mpfr_cmp_ui(s->steep, 1) > 0 ? s->steep : val(1));
    }
}

static void dense(run *c, const mp_op *op, state *s)
{
    double w = !isnan(op->w) ? op->w : c->standard ? 1.4142135623730951 : 1;
    double b = op->no_bias ? 0 : !isnan(op->b) ? op->b : 0.1;
    num w2 = square(val(w)), b2 = square(val(b));
    resolve(s);
    num old = s->k;
    steepen(s, mul(w2, s->q), add(mul(w2, s->q), b2));
    s->k = add(mul(w2, s->k), b2);
    s->q = add(mul(w2, s->q), b2);
    s->r = add(mul(w2, s->r), b2);
    num own = s->k;
    if (c->standard) {
        own = add(scaled(s->fan_in, old), val(op->no_bias ? 0 : 1));
    }
    s->t = add(own, mul(w2, s->t));
    s->m = s->n = val(0);
    s->raw = s->mixed = 0;
    c->dense_count++;
    s->gaussian = 1;
    s->fan_in = (double)op->width;
}

/* phi(z) itself, for activations of the input. */
static num value_of(const mp_op *op, num z)
{
    int positive = mpfr_sgn(z) > 0;
    switch (op->kind) {
    case MP_RELU:
        return positive ? rise(z, op->arg) : val(0);
    case MP_LEAKY_RELU:
    case MP_ABS:
        return positive ? z : scaled(op->arg, z);
    case MP_ERF:
        return erf_of(z);
    case MP_GELU:
        return scaled(0.5, mul(z, add(val(1), erf_of(quo(z, root(val(2)))))));
    case MP_SIN:
        return sine(scaled(op->w0, z));
    case MP_SILU:
        return quo(z, add(val(1), expo(neg(z))));
    case MP_TANH:
        return tanh_of(z);
    default:
        return z;
    }
}

static void act_on_input(run *c, const mp_op *op, state *s)
{
    num gain = gain_of(op, c->standard);
    if (s->scales) {
        c->error = "an activation of the input behind trainable scales";
        return;
    }
    for (int i = 0; i < c->d; i++) {
        s->x[i] = mul(gain, value_of(op, s->x[i]));
        s->y[i] = mul(gain, value_of(op, s->y[i]));
    }
    read_off(c, s);
}

static void act(run *c, const mp_op *op, state *s)
{
    if (s->raw) {
        act_on_input(c, op, s);
        return;
    }
    num gain = gain_of(op, c->standard);
    num gain2 = square(gain);
    int linear = op->kind == MP_IDENTITY;
    if (!linear && (!s->gaussian || s->mixed)) {
        c->error = s->mixed ? "an activation over a skip with trainable scales"
                            : "an activation of something not Gaussian";
        return;
    }
    dual f = dual_of(op, s->k, s->q, s->r);
    steepen(s, mul(f.s, s->q), f.e);
    s->t = mul(gain2, mul(f.s, s->t));
    if (linear) {
        s->m = mul(gain, s->m);
        s->n = mul(gain, s->n);
    } else {
        s->t = add(s->t, mul(gain2, scaled(s->scales, f.g)));
        s->scales = 0;
        s->m = mul(gain, mean_of(op, s->q));
        s->n = mul(gain, mean_of(op, s->r));
    }
    s->k = mul(gain2, f.e);
    s->q = mul(gain2, linear ? s->q : second_moment(op, s->q));
    s->r = mul(gain2, linear ? s->r : second_moment(op, s->r));
    s->gaussian &= linear;
}

static num inverse_root(num v) /* 1 / sqrt(v); 0 for the zero vector */
{
    return mpfr_sgn(v) > 0 ? quo(val(1), root(v)) : val(0);
}

static void normalise(const mp_op *op, state *s)
{
    num eps = val(op->eps), f, g;
    if (op->kind == MP_LN) {
        if (!s->gaussian) { /* a scale carries the value itself, with its mean: settle it here */
            resolve(s);
        }
        steepen(s, s->q, sub(s->q, square(s->m)));
        s->k = sub(s->k, mul(s->m, s->n));
        s->q = sub(s->q, square(s->m));
        s->r = sub(s->r, square(s->n));
        s->m = s->n = val(0);
    }
    f = inverse_root(op->kind == MP_BATCHNORM ? add(val(1), eps) : add(s->q, eps));
    g = inverse_root(op->kind == MP_BATCHNORM ? add(val(1), eps) : add(s->r, eps));
    s->k = mul(s->k, mul(f, g));
    s->t = mul(s->t, mul(f, g));
    s->q = mul(s->q, square(f));
    s->r = mul(s->r, square(g));
    s->m = mul(s->m, f);
    s->n = mul(s->n, g);
}

static void normalise_group(const mp_op *op, int d, num *x)
{
    mpfr_ptr mean = fresh(), second = fresh();
    mpfr_set_zero(mean, 1);
    mpfr_set_zero(second, 1);
    for (int i = 0; i < d && op->kind == MP_LN; i++) {
        mpfr_add(mean, mean, x[i], MPFR_RNDN);
    }
    mpfr_div_si(mean, mean, d, MPFR_RNDN);
    for (int i = 0; i < d; i++) {
        x[i] = sub(x[i], mean);
        mpfr_fma(second, x[i], x[i], second, MPFR_RNDN);
    }
    mpfr_div_si(second, second, d, MPFR_RNDN);
    num f = op->kind == MP_BATCHNORM ? val(1) : second;
    f = inverse_root(add(f, val(op->eps)));
    for (int i = 0; i < d; i++) {
        x[i] = mul(x[i], f);
    }
}

static void normalise_input(run *c, const mp_op *op, state *s)
{
    int size = (int)(c->d / op->groups);
    if (size * op->groups != c->d || (s->scales && op->kind != MP_BATCHNORM)) {
        c->error = "a norm of the input that is not defined";
        return;
    }
    for (int i = 0; i < c->d; i += size) {
        normalise_group(op, size, s->x + i);
        normalise_group(op, size, s->y + i);
    }
    read_off(c, s);
    if (op->kind == MP_BATCHNORM) {
        s->t = quo(s->t, add(val(1), val(op->eps)));
    }
}

static void norm(run *c, const mp_op *op, state *s)
{
    if (s->raw) {
        normalise_input(c, op, s);
    } else {
        normalise(op, s);
    }
    if (op->affine) {
        s->t = add(s->t, val(1));
        s->scales++;
    }
}

static void layers(run *c, state *s);

static void skip(run *c, state *s)
{
    state a = *s, b = *s;
    int before = c->dense_count;
    layers(c, &b);
    if (c->error) {
        return;
    }
    if (s->raw || before == c->dense_count) {
        c->error = "a skip over the input or without a dense layer";
        return;
    }
    if (s->steep) {
        s->steep = quo(add(mul(a.q, a.steep), mul(b.q, b.steep)), add(a.q, b.q));
    }
    s->mixed = a.scales || b.scales || a.mixed || b.mixed;
    resolve(&a);
    resolve(&b);
    s->k = add(add(a.k, b.k), add(mul(a.m, b.n), mul(b.m, a.n)));
    s->q = add(add(a.q, b.q), scaled(2, mul(a.m, b.m)));
    s->r = add(add(a.r, b.r), scaled(2, mul(a.n, b.n)));
    s->m = add(a.m, b.m);
    s->n = add(a.n, b.n);
    s->t = add(a.t, b.t);
    s->scales = 0;
    s->gaussian = a.gaussian && b.gaussian;
    s->fan_in = b.fan_in;
}

static void layers(run *c, state *s)
{
    while (c->at < c->net->count && !c->error) {
        const mp_op *op = &c->net->op[c->at++];
        if (op->kind == MP_DENSE) {
            dense(c, op, s);
        } else if (is_activation(op->kind)) {
            act(c, op, s);
        } else if (op->kind == MP_SKIP_BEGIN) {
            skip(c, s);
        } else if (op->kind == MP_SKIP_END) {
            return;
        } else {
            norm(c, op, s);
        }
    }
}

static num *vector(int d, const double *x)
{
    num *v = must(malloc((size_t)d * sizeof *v));
    for (int i = 0; i < d; i++) {
        v[i] = val(x[i]);
    }
    return v;
}

/* relu(p) with p < 1 tells gaps of 1e-50 from none. */
static int has_steep_power(const mp_net *net)
{
    for (int i = 0; i < net->count; i++) {
        if (net->op[i].kind == MP_RELU && net->op[i].arg < 1) {
            return 1;
        }
    }
    return 0;
}

/* x is moved by `by` along that axis, unless by is NULL. */
static const char *run_net(const mp_net *net, int standard, long bits, int d, const double *x,
                           const double *y, int steep, int axis, mpfr_srcptr by, state *out)
{
    run c = {.net = net, .standard = standard, .d = d};
    state s = {.raw = 1, .fan_in = d};
    pool_start(bits);
    quadrature_too_long = 0;
    quadrature_digits = has_steep_power(net) ? 140 : 76;
    s.x = vector(d, x);
    s.y = vector(d, y);
    s.x[axis] = by ? add(s.x[axis], by) : s.x[axis];
    s.t = val(0);
    s.steep = steep ? val(1) : NULL;
    read_off(&c, &s);
    layers(&c, &s);
    if (quadrature_too_long && !c.error) {
        c.error = "tanh or silu at a scale where the quadrature takes too long";
    }
    resolve(&s);
    free(s.x);
    free(s.y);
    *out = s;
    return c.error;
}

const char *mp_net_eval(const mp_net *net, int standard, long bits, int d, const double *x,
                        const double *y, mpfr_t k, mpfr_t t)
{
    state s;
    const char *error = run_net(net, standard, bits, d, x, y, 0, 0, NULL, &s);
    if (!error) {
        mpfr_set(k, s.k, MPFR_RNDN);
        mpfr_set(t, s.t, MPFR_RNDN);
    }
    return error;
}

const char *mp_net_slope(const mp_net *net, int standard, long bits, int d, const double *x,
                         const double *y, int axis, double step, mpfr_t k, mpfr_t t)
{
    const char *error = NULL;
    mpfr_t by, value[2][2];
    mpfr_inits2(bits, by, value[0][0], value[0][1], value[1][0], value[1][1], (mpfr_ptr)NULL);
    for (int side = 0; side < 2 && !error; side++) {
        state s;
        mpfr_set_d(by, side ? -step : step, MPFR_RNDN);
        error = run_net(net, standard, bits, d, x, y, 0, axis, by, &s);
        if (!error) {
            mpfr_set(value[side][0], s.k, MPFR_RNDN);
            mpfr_set(value[side][1], s.t, MPFR_RNDN);
        }
    }
    for (int what = 0; what < 2 && !error; what++) {
        mpfr_sub(value[0][what], value[0][what], value[1][what], MPFR_RNDN);
        mpfr_div_d(what ? t : k, value[0][what], 2 * step, MPFR_RNDN);
    }
    mpfr_clears(by, value[0][0], value[0][1], value[1][0], value[1][1], (mpfr_ptr)NULL);
    return error;
}

double mp_net_steepness(const mp_net *net, int standard, int d, const double *x)
{
    state s;
    const char *error = run_net(net, standard, MP_BITS_LOW, d, x, x, 1, 0, NULL, &s);
    return error ? NAN : fmax(1, mpfr_get_d(s.steep, MPFR_RNDU));
}
