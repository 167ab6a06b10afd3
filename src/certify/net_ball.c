/*
 * Maxima over what a norm can give.
 *
 * A linear form w over the ball of a centred group of m entries: sqrt(m) |w - mean w|. If a dense
 * layer is all in front of the norm, its values lie in the span of the centred columns A of its
 * weights and biases as well, which are few: with B = A X, X close to the inverse of the triangle
 * of a QR decomposition, B'B = 1 + F with |F| < 1 is computed, so every value of norm 1 is B c with
 * |c|^2 <= 1 / (1 - |F|).
 *
 * A form over activations, sum w_i phi(z_i): for every lambda > 0 and mu it is at most
 * lambda m + sum_i max_z (w_i phi(z) - mu z - lambda z^2), since z lies in the ball and sums to 0.
 * The right side is minimised, roughly: it holds for any lambda and mu.
 */
#include "net_certify.h"

#include <string.h>

enum { ROUNDS = 40 };
#define LEAST_LAMBDA 1e-290

void far_norm_set_clear(far_ctx *ctx, far_norm_set *set)
{
    FAR_FREE_ALL(ctx, set->basis, set->stretch, set->defect);
    set->basis = set->stretch = set->defect = NULL;
}

/* ---- the span in front of a norm ----------------------------------------------------------- */

/* A dense layer and nothing else in front of the norm. */
static const far_proof_layer *only_dense_before(const far_net_plan *plan, int64_t layer)
{
    bool only = layer == 1 && plan->layers[0].step->kind == FAR_STEP_DENSE;
    return only ? &plan->layers[0] : NULL;
}

/* The group's rows of (W, b), columns centred, m x k. */
static void copy_columns(const far_proof_layer *dense, const far_norm_set *set, int64_t g,
                         double *a)
{
    int64_t m = set->size, k = set->dim, d = k - 1;
    for (int64_t j = 0; j < k; j++) {
        double mean = 0;
        for (int64_t i = 0; i < m; i++) {
            int64_t o = g * m + i;
            a[i * k + j] = j < d ? dense->rows[o * d + j] : dense->shift[o];
            mean += a[i * k + j];
        }
        for (int64_t i = 0; set->centred && i < m; i++) {
            a[i * k + j] -= mean / (double)m;
        }
    }
}

static double column_dot(const double *a, int64_t m, int64_t k, int64_t p, int64_t q)
{
    double sum = 0;
    for (int64_t i = 0; i < m; i++) {
        sum += a[i * k + p] * a[i * k + q];
    }
    return sum;
}

/* Columns made orthonormal in place by Gram-Schmidt, twice; X (k x k) so that they are A X. */
static bool orthonormalise(double *a, int64_t m, int64_t k, double *x)
{
    memset(x, 0, (size_t)(k * k) * sizeof *x);
    for (int64_t j = 0; j < k; j++) {
        x[j * k + j] = 1;
        for (int64_t turn = 0; turn < 2; turn++) {
            for (int64_t p = 0; p < j; p++) {
                double dot = column_dot(a, m, k, p, j);
                for (int64_t i = 0; i < m; i++) {
                    a[i * k + j] -= dot * a[i * k + p];
                }
                for (int64_t i = 0; i <= p; i++) {
                    x[i * k + j] -= dot * x[i * k + p];
                }
            }
        }
        double length = sqrt(column_dot(a, m, k, j, j));
        if (!(length > 1e-280)) {
            return false;
        }
        for (int64_t i = 0; i < m; i++) {
            a[i * k + j] /= length;
        }
        for (int64_t i = 0; i <= j; i++) {
            x[i * k + j] /= length;
        }
    }
    return true;
}

/* Rows of B = A X anew from A, and how far in all (Frobenius) they can be from the exact product
 * with the exact A. */
static double multiply(const double *a, const double *sizes, const double *x, int64_t m, int64_t k,
                       double *b)
{
    double square = 0;
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < k; j++) {
            double sum = 0, size = 0;
            for (int64_t p = 0; p <= j; p++) {
                sum += a[i * k + p] * x[p * k + j];
                size += (fabs(a[i * k + p]) + sizes[p]) * fabs(x[p * k + j]);
            }
            b[i * k + j] = sum;
            double off = size * far_lost(m + k);
            square += off * off;
        }
    }
    return sqrt(square) * (1 + far_lost(m * k)) + FAR_SPECK;
}

/* |B'B - 1| at most, for the exact B, which is within off of b. */
static double gram_defect(const double *b, int64_t m, int64_t k, double off)
{
    double square = 0, size = 0;
    for (int64_t p = 0; p < k; p++) {
        for (int64_t q = 0; q < k; q++) {
            double f = fabs(column_dot(b, m, k, p, q) - (p == q));
            square += f * f;
        }
        size += column_dot(b, m, k, p, p);
    }
    size = sqrt(size);
    return (sqrt(square) + size * size * far_lost(m) + off * (2 * size + off)) * (1 + 1e-10);
}

static void column_sizes(const double *a, int64_t m, int64_t k, double *sizes)
{
    for (int64_t j = 0; j < k; j++) { /* what centring rounds is relative to the largest entry */
        sizes[j] = 0;
        for (int64_t i = 0; i < m; i++) {
            sizes[j] = fmax(sizes[j], fabs(a[i * k + j]));
        }
    }
}

static double raw_size(const far_proof_layer *dense, const far_norm_set *set, int64_t g, int64_t j)
{
    double most = 0;
    for (int64_t i = 0; i < set->size; i++) {
        int64_t o = g * set->size + i;
        most = fmax(most,
                    fabs(j < set->dim - 1 ? dense->rows[o * (set->dim - 1) + j] : dense->shift[o]));
    }
    return most;
}

static far_status span_group(far_ctx *ctx, const far_proof_layer *dense, far_norm_set *set,
                             int64_t g)
{
    far_status st;
    int64_t m = set->size, k = set->dim;
    double *a = NULL, *q = NULL, *x = NULL, *sizes = NULL, *b = set->basis + g * m * k;
    FAR_TRY(far_alloc(ctx, m * k, &a));
    FAR_TRY(far_alloc(ctx, m * k, &q));
    FAR_TRY(far_alloc(ctx, k * k, &x));
    FAR_TRY(far_alloc(ctx, k, &sizes));
    copy_columns(dense, set, g, a);
    memcpy(q, a, (size_t)(m * k) * sizeof *q);
    column_sizes(a, m, k, sizes);
    for (int64_t j = 0; j < k; j++) {
        sizes[j] = fmax(sizes[j], raw_size(dense, set, g, j));
    }
    set->stretch[g] = INFINITY;
    set->defect[g] = 0;
    if (orthonormalise(q, m, k, x)) {
        double off = multiply(a, sizes, x, m, k, b), defect = gram_defect(b, m, k, off);
        if (defect < 0.5) {
            set->stretch[g] = far_up(1 / sqrt(1 - defect)) * (1 + far_lost(m));
            set->defect[g] = far_up(set->stretch[g] * (off + far_lost(m)));
        }
    }
done:
    FAR_FREE_ALL(ctx, a, q, x, sizes);
    return st;
}

static far_status span(far_net_plan *plan, int64_t layer, far_norm_set *set)
{
    far_status st = FAR_OK;
    const far_proof_layer *dense = only_dense_before(plan, layer);
    if (!dense || dense->step->in + 1 >= set->size) {
        return FAR_OK;
    }
    set->dim = dense->step->in + 1;
    FAR_TRY(far_alloc(plan->ctx, set->groups * set->size * set->dim, &set->basis));
    FAR_TRY(far_alloc(plan->ctx, set->groups, &set->stretch));
    FAR_TRY(far_alloc(plan->ctx, set->groups, &set->defect));
    for (int64_t g = 0; g < set->groups; g++) {
        FAR_TRY(span_group(plan->ctx, dense, set, g));
    }
done:
    return st;
}

far_status far_norm_set_create(far_net_plan *plan, int64_t layer)
{
    const far_step *s = plan->layers[layer].step;
    far_norm_set *set = &plan->layers[layer].set;
    bool ln = s->layer == FAR_LAYER_LN;
    set->groups = ln ? s->groups : 1;
    set->size = s->out / set->groups;
    set->centred = ln;
    set->length = far_up(sqrt((double)set->size));
    set->entry = ln ? (set->size == 1 ? 0 : far_up(sqrt((double)(set->size - 1)))) : set->length;
    return span(plan, layer, set);
}

/* ---- linear forms -------------------------------------------------------------------------- */

static double sum_of(const double *w, int64_t m)
{
    double sum = 0;
    for (int64_t i = 0; i < m; i++) {
        sum += w[i];
    }
    return sum;
}

/* |w| and |w - mean w|, not less than they are. */
static void norms_of(const double *w, int64_t m, double *whole, double *centred)
{
    double mean = sum_of(w, m) / (double)m;
    *whole = far_length(w, m);
    /* an error of the mean only adds: it is what makes the sum least */
    *centred = fmin(*whole, far_length_from(w, m, mean) + *whole * (4 * FAR_UNIT));
}

static double spanned_norm(const far_norm_set *set, int64_t g, const double *w)
{
    double length = 0; /* hypot is good to an ulp or two, where squares may vanish */
    const double *b = set->basis + g * set->size * set->dim;
    for (int64_t j = 0; j < set->dim; j++) {
        double dot = 0;
        for (int64_t i = 0; i < set->size; i++) {
            dot += b[i * set->dim + j] * w[i];
        }
        length = hypot(length, dot);
    }
    return length * (1 + 4 * far_lost(set->dim));
}

double far_norm_set_max(const far_norm_set *set, const double *w)
{
    double sum = 0;
    for (int64_t g = 0; g < set->groups; g++) {
        double whole, centred;
        const double *part = w + g * set->size;
        norms_of(part, set->size, &whole, &centred);
        double length = set->centred ? centred : whole;
        if (set->dim > 0 && isfinite(set->stretch[g])) {
            /* rounding of the dot products: at most |b| |w| lost, |b| <= sqrt(dim) (1 + ...) */
            double round = 2 * sqrt((double)set->dim) * far_lost(set->size);
            length = fmin(length, spanned_norm(set, g, part) * set->stretch[g] +
                                      whole * (set->defect[g] + round));
        }
        sum += set->size == 1 && set->centred ? 0 : set->length * length;
    }
    return sum * (1 + far_lost(set->groups)) + FAR_SPECK;
}

/* ---- forms over activations ---------------------------------------------------------------- */

/* w phi(scale z + shift) as two lines in z, which meet at turn. */
typedef struct bend {
    double left, right; /* slopes */
    double at_left, at_right;
    double turn;
} bend;

typedef struct dual {
    const far_proof_layer *norm;
    const double *w;
    int64_t first, size;
    double gain, up, down; /* slopes of phi above and below 0 */
    double extra_low;      /* phi lies in two lines + [extra_low, 0] */
} dual;

static bend bend_of(const dual *d, int64_t i)
{
    int64_t at = d->first + i;
    double w = d->w[at] * d->gain, a = d->norm->scale ? d->norm->scale[at] : 1;
    double b = d->norm->shift ? d->norm->shift[at] : 0;
    double above = w * d->up, below = w * d->down;
    if (a == 0) {
        double value = b > 0 ? above * b : below * b;
        return (bend){0, 0, value, value, 0};
    }
    if (a > 0) {
        return (bend){below * a, above * a, below * b, above * b, -b / a};
    }
    return (bend){above * a, below * a, above * b, below * b, -b / a};
}

/* max of slope z + at - mu z - lambda z^2 over [low, high], and where. */
static double peak(double slope, double at, double mu, double lambda, double low, double high,
                   double *where)
{
    double pull = slope - mu, z = pull / (2 * lambda);
    if (low > high) {
        return -INFINITY;
    }
    *where = z <= low ? low : z >= high ? high : z;
    return *where == z ? at + pull * (z / 2) : at + *where * (pull - lambda * *where);
}

typedef struct tally {
    double value, size, sum, square;
    int64_t inside;
} tally;

static void add_entry(const dual *d, int64_t i, double mu, double lambda, tally *t)
{
    bend b = bend_of(d, i);
    double e = d->norm->set.entry, za = 0, zb = 0;
    double left = peak(b.left, b.at_left, mu, lambda, -e, fmin(b.turn, e), &za);
    double right = peak(b.right, b.at_right, mu, lambda, fmax(b.turn, -e), e, &zb);
    double z = left > right ? za : zb, best = fmax(left, right);
    t->value += best;
    double slope = fmax(fabs(b.left), fabs(b.right)) + fabs(mu);
    t->size += fabs(best) + slope * e + fabs(b.at_left) + fabs(b.at_right) + lambda * z * z;
    t->sum += z;
    t->square += z * z;
    t->inside += fabs(z) < e && z != b.turn;
}

static tally total(const dual *d, double mu, double lambda)
{
    double m = (double)d->size;
    tally t = {.value = lambda * m, .size = lambda * m};
    for (int64_t i = 0; i < d->size; i++) {
        add_entry(d, i, mu, lambda, &t);
    }
    t.value += 2 * far_lost(d->size) * t.size + FAR_SPECK;
    return t;
}

static double first_lambda(const dual *d)
{
    double length = 0;
    for (int64_t i = 0; i < d->size; i++) {
        bend b = bend_of(d, i);
        length = hypot(length, fmax(fabs(b.left), fabs(b.right)));
    }
    return fmax(length / sqrt((double)d->size) / 2, LEAST_LAMBDA);
}

/* Newton's step for mu on sum z = 0, and lambda so that |z|^2 = m if all scales with it. */
static double least_dual(const dual *d)
{
    double mu = 0, lambda = first_lambda(d), best = INFINITY, damping = 1;
    for (int round = 0; round < ROUNDS; round++) {
        tally t = total(d, mu, lambda);
        damping = t.value > best ? damping * 0.7 : damping;
        best = fmin(best, t.value);
        double factor = sqrt(t.square / (double)d->size);
        lambda = fmax(lambda * (1 + damping * (fmin(fmax(factor, 0.3), 3) - 1)), LEAST_LAMBDA);
        if (d->norm->set.centred) {
            mu += damping * 2 * lambda * t.sum / (double)(t.inside > 0 ? t.inside : d->size);
        }
    }
    return best;
}

/* What gelu and silu lack of relu, where their weight is below 0. */
static double extra(const dual *d)
{
    double sum = 0;
    for (int64_t i = 0; d->extra_low < 0 && i < d->size; i++) {
        sum += fmax(0, d->w[d->first + i] * d->gain * d->extra_low);
    }
    return sum * (1 + far_lost(d->size));
}

static bool set_slopes(const far_step *s, dual *d)
{
    d->gain = s->gain;
    d->up = 1;
    d->extra_low = 0;
    switch (s->layer) {
    case FAR_LAYER_RELU:
        d->down = 0;
        return s->power == 1;
    case FAR_LAYER_LEAKY_RELU:
        d->down = s->slope;
        return true;
    case FAR_LAYER_ABS:
        d->down = -1;
        return true;
    case FAR_LAYER_IDENTITY:
        d->down = 1;
        return true;
    case FAR_LAYER_GELU:
    case FAR_LAYER_SILU:
    case FAR_LAYER_MISH:
    case FAR_LAYER_GELU_TANH:
        d->down = 0;
        d->extra_low = s->layer == FAR_LAYER_GELU        ? -FAR_GELU_TAIL
                       : s->layer == FAR_LAYER_GELU_TANH ? -FAR_GELU_TANH_TAIL
                       : s->layer == FAR_LAYER_MISH      ? -FAR_MISH_TAIL
                                                         : -FAR_SILU_TAIL;
        return true;
    default:
        return false;
    }
}

double far_norm_set_active_max(const far_proof_layer *norm, const far_step *s, const double *w)
{
    dual d = {.norm = norm, .w = w, .size = norm->set.size};
    double sum = 0;
    if (!set_slopes(s, &d)) {
        return INFINITY;
    }
    for (int64_t g = 0; g < norm->set.groups; g++) {
        d.first = g * d.size;
        sum += least_dual(&d) + extra(&d);
    }
    return sum + fabs(sum) * far_lost(2 * norm->set.groups) + FAR_SPECK;
}
