/*
 * Networks of images and sequences: a box around every channel of every position, layer by layer.
 *
 * The boxes hold for every input, or for those in a given box, down to a single point. What makes
 * them finite for all inputs: behind a norm each position lies in a ball, whatever came in, and a
 * dense layer or a convolution behind it takes its exact maximum over that ball; attention is a
 * convex combination of its values, whatever queries and keys are. Rounding is added outwards as
 * for other networks.
 */
#include "shape_certify.h"

#include <string.h>

typedef struct walk {
    far_ctx *ctx;
    const far_net *net;
    far_range **boxes; /* of every step: positions x channels of its output */
    const far_range *inputs;
} walk;

static const far_range EVERYTHING = {-INFINITY, INFINITY};

/* ---- arithmetic ---------------------------------------------------------------------------- */

/* Where infinities met, there is no bound. */
static far_range honest(far_range r)
{
    return (far_range){isnan(r.low) ? -INFINITY : r.low, isnan(r.high) ? INFINITY : r.high};
}

static far_range add(far_range a, far_range b)
{
    return honest((far_range){far_down(a.low + b.low), far_up(a.high + b.high)});
}

/* w z; 0 times anything that is finite is 0. */
static far_range times(double w, far_range z)
{
    if (w == 0) {
        return (far_range){0, 0};
    }
    return w > 0 ? (far_range){w * z.low, w * z.high} : (far_range){w * z.high, w * z.low};
}

static far_range multiply(far_range a, far_range b)
{
    double c[4] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
    far_range r = {fmin(fmin(c[0], c[1]), fmin(c[2], c[3])),
                   fmax(fmax(c[0], c[1]), fmax(c[2], c[3]))};
    return (far_range){far_down(r.low), far_up(r.high)};
}

/* A sum of n products, each end rounded n times: what its rounding is relative to is kept. */
typedef struct total {
    double low, high, low_size, high_size;
} total;

static void total_add(total *t, far_range r)
{
    t->low += r.low;
    t->high += r.high;
    t->low_size += fabs(r.low);
    t->high_size += fabs(r.high);
}

static far_range total_range(const total *t, int64_t n)
{
    double lost = far_lost(n);
    return honest((far_range){t->low - lost * t->low_size - FAR_SPECK,
                              t->high + lost * t->high_size + FAR_SPECK});
}

static bool is_finite(far_range r)
{
    return isfinite(r.low) && isfinite(r.high);
}

/* ---- places -------------------------------------------------------------------------------- */

/* The step whose output step i reads; -1: the inputs. */
static const far_range *box_before(const walk *w, int64_t i)
{
    return i == 0 ? w->inputs : w->boxes[i - 1];
}

/* The norm behind which a layer stands, beginnings of skips aside; NULL: it stands behind none. */
static const far_step *norm_before(const walk *w, int64_t i)
{
    int64_t k = i - 1;
    while (k >= 0 && w->net->steps[k].kind == FAR_STEP_SKIP_IN) {
        k--;
    }
    const far_step *s = k >= 0 ? &w->net->steps[k] : NULL;
    return s && s->kind == FAR_STEP_NORM ? s : NULL;
}

/* ---- linear layers ------------------------------------------------------------------------- */

/* The largest |sum w z| over z in the set behind a norm: groups of size n, |z| <= sqrt(n), of sum 0
 * for ln; w already holds the norm's scale. */
static double ball_reach(const far_step *norm, const double *w)
{
    int64_t n = norm->out / norm->groups;
    double reach = 0;
    for (int64_t g = 0; g < norm->groups; g++) {
        double sum = 0;
        for (int64_t k = 0; k < n; k++) {
            sum += w[g * n + k];
        }
        double mean = norm->layer == FAR_LAYER_LN ? sum / (double)n : 0;
        reach = far_up(reach + far_up(far_length_from(w + g * n, n, mean) * sqrt((double)n)));
    }
    return reach;
}

/* One output of a linear layer: weights at the pixels of its window that are inside. */
typedef struct patch {
    const double *weights; /* channel by channel, each window height x width */
    int64_t top, left;     /* of the window in the input */
    far_grid window;
} patch;

static double weight_at(const far_step *s, const patch *p, int64_t channel, int64_t y, int64_t x)
{
    return s->weight_scale * p->weights[(channel * p->window.height + y) * p->window.width + x];
}

static bool inside(const far_step *s, const patch *p, int64_t y, int64_t x)
{
    return p->top + y >= 0 && p->top + y < s->from.height && p->left + x >= 0 &&
           p->left + x < s->from.width;
}

static far_range patch_box(const far_step *s, const patch *p, const far_range *in)
{
    total t = {0};
    for (int64_t y = 0; y < p->window.height; y++) {
        for (int64_t x = 0; x < p->window.width; x++) {
            if (!inside(s, p, y, x)) {
                continue;
            }
            const far_range *pixel = in + ((p->top + y) * s->from.width + p->left + x) * s->in;
            for (int64_t c = 0; c < s->in; c++) {
                total_add(&t, times(weight_at(s, p, c, y, x), pixel[c]));
            }
        }
    }
    return total_range(&t, s->in * far_positions(p->window));
}

/* Every pixel of the window lies in the ball of its own. room: as many numbers as channels. */
static far_range patch_ball(const walk *w, const far_step *s, const patch *p, const far_step *norm,
                            double *room)
{
    const double *params = w->net->params;
    double reach = 0;
    total shift = {0};
    for (int64_t y = 0; y < p->window.height; y++) {
        for (int64_t x = 0; x < p->window.width; x++) {
            for (int64_t c = 0; c < s->in && inside(s, p, y, x); c++) {
                double weight = weight_at(s, p, c, y, x);
                double moved = norm->bias >= 0 ? weight * params[norm->bias + c] : 0;
                room[c] = norm->weight >= 0 ? weight * params[norm->weight + c] : weight;
                total_add(&shift, (far_range){moved, moved});
            }
            reach = inside(s, p, y, x) ? far_up(reach + ball_reach(norm, room)) : reach;
        }
    }
    far_range middle = total_range(&shift, s->in * far_positions(p->window));
    return (far_range){far_down(middle.low - reach), far_up(middle.high + reach)};
}

static void linear_boxes(walk *w, int64_t i, double *room)
{
    const far_step *s = &w->net->steps[i], *norm = norm_before(w, i);
    const double *params = w->net->params;
    const far_range *in = box_before(w, i);
    far_weights_shape shape = far_step_weights(s);
    far_grid one = {FAR_GRID_IMAGE, 1, 1};
    bool conv = s->kind == FAR_STEP_CONV;
    for (int64_t k = 0; k < far_positions(s->to); k++) {
        int64_t y = k / s->to.width, x = k % s->to.width;
        patch p = {.window = conv ? s->window : one,
                   .top = conv ? y * s->stride - s->pad : y,
                   .left = conv ? x * s->stride - s->pad : x};
        for (int64_t o = 0; o < s->out; o++) {
            p.weights = params + s->weight + o * shape.cols;
            far_range r = patch_box(s, &p, in);
            r = norm ? far_range_meet(r, patch_ball(w, s, &p, norm, room)) : r;
            double bias = s->bias >= 0 ? s->bias_scale * params[s->bias + o] : 0;
            w->boxes[i][k * s->out + o] = add(r, (far_range){bias, bias});
        }
    }
}

/* ---- norms --------------------------------------------------------------------------------- */

/* z_k less the mean of n of them: its own share counts once. */
static far_range centred(const far_range *z, int64_t n, int64_t k)
{
    total t = {0};
    for (int64_t j = 0; j < n; j++) {
        double w = (j == k ? 1.0 : 0.0) - 1.0 / (double)n;
        total_add(&t, times(w, z[j]));
    }
    return total_range(&t, n);
}

/* d / sigma, for the deviations of a group: they fill the group's part of d. */
static void divide_group(const far_step *s, const far_range *d, int64_t n, far_range *out)
{
    double low = 0, high = 0, ball = sqrt((double)(s->layer == FAR_LAYER_LN ? n - 1 : n));
    for (int64_t k = 0; k < n; k++) {
        bool through = d[k].low <= 0 && d[k].high >= 0;
        double least = through ? 0 : fmin(fabs(d[k].low), fabs(d[k].high));
        low += least * least;
        high += far_range_size(d[k]) * far_range_size(d[k]);
    }
    double lost = far_lost(n);
    double least = sqrt(fmax(0, low * (1 - lost) / (double)n + s->eps)) * (1 - lost);
    double most = sqrt(high * (1 + lost) / (double)n + s->eps) * (1 + lost);
    far_range entry = {far_down(-ball), far_up(ball)};
    for (int64_t k = 0; k < n; k++) {
        bool open = !(least > 0) || !isfinite(most) || !is_finite(d[k]);
        far_range r = {d[k].low / (d[k].low < 0 ? least : most),
                       d[k].high / (d[k].high > 0 ? least : most)};
        r = (far_range){far_down(r.low), far_up(r.high)};
        out[k] = open ? entry : far_range_meet(honest(r), entry);
    }
}

static void norm_boxes(walk *w, int64_t i, far_range *room)
{
    const far_step *s = &w->net->steps[i];
    const far_range *in = box_before(w, i);
    const double *params = w->net->params;
    int64_t n = s->out / s->groups;
    for (int64_t g = 0; g < far_positions(s->to) * s->groups; g++) {
        far_range *out = w->boxes[i] + g * n;
        for (int64_t k = 0; k < n; k++) {
            room[k] = s->layer == FAR_LAYER_LN ? centred(in + g * n, n, k) : in[g * n + k];
        }
        divide_group(s, room, n, out);
        for (int64_t k = 0; s->weight >= 0 && k < n; k++) {
            int64_t c = g % s->groups * n + k;
            double shift = params[s->bias + c];
            far_range scaled = times(params[s->weight + c], out[k]);
            out[k] = add((far_range){far_down(scaled.low), far_up(scaled.high)},
                         (far_range){shift, shift});
        }
    }
}

static void batch_boxes(walk *w, int64_t i)
{
    const far_step *s = &w->net->steps[i];
    const far_range *in = box_before(w, i);
    const double *mean = w->net->statistics + s->mean, *params = w->net->params;
    const double *variance = w->net->statistics + s->variance;
    for (int64_t k = 0; k < far_step_width(s); k++) {
        int64_t c = k % s->out;
        double scale = (s->weight >= 0 ? params[s->weight + c] : 1) / sqrt(variance[c] + s->eps);
        double shift = s->bias >= 0 ? params[s->bias + c] : 0;
        far_range moved = add(in[k], (far_range){-mean[c], -mean[c]}), r = times(scale, moved);
        double slack = 8 * FAR_UNIT;
        r = (far_range){r.low - slack * fabs(r.low), r.high + slack * fabs(r.high)};
        bool open = !isfinite(scale); /* it divides by nothing: the engine gives 0 */
        w->boxes[i][k] = open ? EVERYTHING : add(honest(r), (far_range){shift, shift});
    }
}

/* ---- attention ----------------------------------------------------------------------------- */

/* One head; q, k, v: boxes at its first channel, positions apart by ld. */
typedef struct head {
    const far_range *q, *k, *v;
    int64_t n, size, ld;
    bool causal;
} head;

static far_range score(const head *h, int64_t i, int64_t j)
{
    total t = {0};
    for (int64_t c = 0; c < h->size; c++) {
        far_range a = h->q[i * h->ld + c], b = h->k[j * h->ld + c];
        if (!is_finite(a) || !is_finite(b)) {
            return EVERYTHING;
        }
        total_add(&t, multiply(a, b));
    }
    far_range r = total_range(&t, h->size);
    double scale = sqrt((double)h->size);
    return (far_range){far_down(r.low / scale), far_up(r.high / scale)};
}

/* Weights of position i: e^s_j / sum e^s_k is least where s_j is and the others are most. scores
 * in, weights out. */
static void softmax_boxes(far_range *s, int64_t n)
{
    double most = -INFINITY, lows = 0, highs = 0, lost = far_lost(n) + 4 * FAR_LIBRARY_ERROR;
    for (int64_t j = 0; j < n; j++) {
        most = fmax(most, s[j].high);
    }
    if (!isfinite(most)) {
        for (int64_t j = 0; j < n; j++) {
            s[j] = (far_range){0, 1};
        }
        return;
    }
    for (int64_t j = 0; j < n; j++) {
        lows += exp(s[j].low - most);
        highs += exp(s[j].high - most);
    }
    /* Of the sum without e^s_j itself: the difference may lose digits, so it is widened by what
     * the whole can be off. */
    for (int64_t j = 0; j < n; j++) {
        double low = exp(s[j].low - most), high = fmax(exp(s[j].high - most), FAR_SPECK);
        double others_high = fmax(0, highs - high) + lost * highs + FAR_SPECK;
        double others_low = fmax(0, lows - low - lost * lows);
        double least = low * (1 - lost) / (low * (1 + lost) + others_high);
        double largest = high * (1 + lost) / (high * (1 - lost) + others_low);
        s[j] = (far_range){fmax(0, least * (1 - 4 * FAR_UNIT)),
                           fmin(1, largest * (1 + 4 * FAR_UNIT) + FAR_SPECK)};
    }
}

/* sum_j a_j v_j with weights that sum to 1: v_0 + sum_j a_j (v_j - v_0), and within the hull. */
static far_range mixed(const head *h, const far_range *weights, int64_t n, int64_t c)
{
    far_range first = h->v[c], hull = first;
    total plain = {0};
    for (int64_t j = 0; j < n; j++) {
        far_range v = h->v[j * h->ld + c];
        hull = (far_range){fmin(hull.low, v.low), fmax(hull.high, v.high)};
        total_add(&plain, multiply(weights[j], v));
    }
    return is_finite(hull) ? far_range_meet(hull, total_range(&plain, n)) : hull;
}

static void attend_boxes(walk *w, int64_t i, far_range *room)
{
    const far_step *s = &w->net->steps[i];
    const far_range *in = box_before(w, i);
    int64_t positions = far_positions(s->to), size = s->out / s->heads;
    for (int64_t k = 0; k < s->heads; k++) {
        const far_range *q = in + k * size;
        head h = {.q = q,
                  .k = q + s->out,
                  .v = q + 2 * s->out,
                  .n = positions,
                  .size = size,
                  .ld = 3 * s->out,
                  .causal = s->causal};
        for (int64_t p = 0; p < positions; p++) {
            int64_t n = s->causal ? p + 1 : positions;
            for (int64_t j = 0; j < n; j++) {
                room[j] = score(&h, p, j);
            }
            softmax_boxes(room, n);
            for (int64_t c = 0; c < size; c++) {
                w->boxes[i][p * s->out + k * size + c] = mixed(&h, room, n, c);
            }
        }
    }
}

/* ---- the others ---------------------------------------------------------------------------- */

static void input_boxes(walk *w, int64_t i)
{
    const far_step *s = &w->net->steps[i];
    int64_t positions = far_positions(s->to);
    for (int64_t k = 0; k < far_step_width(s); k++) {
        bool image = s->to.kind == FAR_GRID_IMAGE;
        int64_t from = image ? k % s->out * positions + k / s->out : k;
        w->boxes[i][k] = w->inputs[from];
    }
}

/* All tokens, or the one that it is. */
static void embed_boxes(walk *w, int64_t i)
{
    const far_step *s = &w->net->steps[i];
    const far_range *in = box_before(w, i);
    const double *table = w->net->params + s->weight;
    for (int64_t p = 0; p < far_positions(s->to); p++) {
        bool one = in[p].low == in[p].high;
        int64_t first = one ? (int64_t)in[p].low : 0, last = one ? first : s->vocabulary - 1;
        for (int64_t c = 0; c < s->out; c++) {
            far_range r = {INFINITY, -INFINITY};
            for (int64_t t = first; t <= last; t++) {
                r.low = fmin(r.low, table[t * s->out + c]);
                r.high = fmax(r.high, table[t * s->out + c]);
            }
            w->boxes[i][p * s->out + c] = r;
        }
    }
}

static void position_boxes(walk *w, int64_t i)
{
    const far_step *s = &w->net->steps[i];
    const far_range *in = box_before(w, i);
    for (int64_t k = 0; k < far_step_width(s); k++) {
        int64_t c = k % s->out, p = k / s->out;
        double angle = (double)p * pow(10000, -(double)(c / 2 * 2) / (double)s->out);
        double slack = s->weight >= 0 ? 0 : (angle + 1) * (2 * FAR_LIBRARY_ERROR);
        double value = s->weight >= 0 ? w->net->params[s->weight + k]
                       : c % 2        ? cos(angle)
                                      : sin(angle);
        w->boxes[i][k] = add(in[k], (far_range){value - slack, value + slack});
    }
}

static far_range pooled(const walk *w, int64_t i, int64_t place, int64_t channel)
{
    const far_step *s = &w->net->steps[i];
    const far_range *in = box_before(w, i);
    int64_t y0 = place / s->to.width * s->stride - s->pad;
    int64_t x0 = place % s->to.width * s->stride - s->pad;
    far_range most = {-INFINITY, -INFINITY};
    total sum = {0};
    for (int64_t k = 0; k < far_positions(s->window); k++) {
        int64_t y = y0 + k / s->window.width, x = x0 + k % s->window.width;
        if (y >= 0 && y < s->from.height && x >= 0 && x < s->from.width) {
            far_range r = in[(y * s->from.width + x) * s->in + channel];
            most = (far_range){fmax(most.low, r.low), fmax(most.high, r.high)};
            total_add(&sum, times(1 / (double)far_positions(s->window), r));
        }
    }
    return s->kind == FAR_STEP_MAXPOOL ? most : total_range(&sum, far_positions(s->window));
}

static void pool_boxes(walk *w, int64_t i)
{
    const far_step *s = &w->net->steps[i];
    for (int64_t k = 0; k < far_step_width(s); k++) {
        w->boxes[i][k] = pooled(w, i, k / s->out, k % s->out);
    }
}

static far_range gathered(const walk *w, int64_t i, int64_t k)
{
    const far_step *s = &w->net->steps[i];
    const far_range *in = box_before(w, i);
    int64_t positions = far_positions(s->from);
    if (s->kind == FAR_STEP_GAP) {
        total t = {0};
        for (int64_t p = 0; p < positions; p++) {
            total_add(&t, times(1 / (double)positions, in[p * s->in + k]));
        }
        return total_range(&t, positions);
    }
    bool image = s->from.kind == FAR_GRID_IMAGE;
    int64_t from = s->kind == FAR_STEP_LAST ? (positions - 1) * s->in + k
                   : image                  ? k % positions * s->in + k / positions
                                            : k;
    return in[from];
}

#define MISH_LEAST -0.308841 /* rounded outwards */
#define GELU_TANH_LEAST -0.17005

/* Of activations that the bounds of other networks do not know: all rise from 0 on, and all but
 * mish and gelu(tanh) everywhere. */
static far_range finite_only_range(const far_step *s, far_range z)
{
    double slack = 1 + 8 * FAR_LIBRARY_ERROR;
    double low = isfinite(z.low)             ? far_activation_value(s, z.low)
                 : s->layer == FAR_LAYER_ELU ? -s->slope
                                             : 0;
    double high = isfinite(z.high)                ? far_activation_value(s, z.high)
                  : s->layer == FAR_LAYER_SIGMOID ? 1
                                                  : INFINITY;
    bool mish = s->layer == FAR_LAYER_MISH;
    if ((mish || s->layer == FAR_LAYER_GELU_TANH) && z.low < 0) {
        low = mish ? MISH_LEAST : GELU_TANH_LEAST;
        high = fmax(high, 0);
    }
    far_range r = {low - (slack - 1) * fabs(low), high + (slack - 1) * fabs(high)};
    r = (far_range){r.low * s->gain, r.high * s->gain}; /* which is above 0 */
    return (far_range){far_down(r.low), far_up(r.high)};
}

static far_range activated(const far_step *s, far_range z)
{
    return far_layer_is_finite_only(s->layer) ? finite_only_range(s, z)
                                              : far_activation_range(s, z);
}

static void elementwise_boxes(walk *w, int64_t i)
{
    const far_step *s = &w->net->steps[i];
    const far_range *in = box_before(w, i);
    for (int64_t k = 0; k < far_step_width(s); k++) {
        w->boxes[i][k] = s->kind == FAR_STEP_ACTIVATION ? activated(s, in[k])
                         : s->kind == FAR_STEP_SKIP_OUT ? add(in[k], box_before(w, s->mate)[k])
                         : s->kind == FAR_STEP_SKIP_IN  ? in[k]
                                                        : gathered(w, i, k);
    }
}

/* ---- the walk ------------------------------------------------------------------------------ */

static void step_boxes(walk *w, int64_t i, double *numbers, far_range *ranges)
{
    switch (w->net->steps[i].kind) {
    case FAR_STEP_INPUT:
        input_boxes(w, i);
        break;
    case FAR_STEP_DENSE:
    case FAR_STEP_CONV:
        linear_boxes(w, i, numbers);
        break;
    case FAR_STEP_NORM:
        norm_boxes(w, i, ranges);
        break;
    case FAR_STEP_BATCHNORM:
        batch_boxes(w, i);
        break;
    case FAR_STEP_ATTEND:
        attend_boxes(w, i, ranges);
        break;
    case FAR_STEP_EMBED:
        embed_boxes(w, i);
        break;
    case FAR_STEP_POSITION:
        position_boxes(w, i);
        break;
    case FAR_STEP_MAXPOOL:
    case FAR_STEP_AVGPOOL:
        pool_boxes(w, i);
        break;
    default:
        elementwise_boxes(w, i);
    }
}

static int64_t widest(const far_net *net)
{
    int64_t most = net->info.inputs;
    for (int64_t i = 0; i < net->step_count; i++) {
        int64_t channels = net->steps[i].out, positions = far_positions(net->steps[i].to);
        most = channels > most ? channels : most;
        most = positions > most ? positions : most;
    }
    return most;
}

static far_status run(walk *w, far_range *out)
{
    far_status st;
    const far_net *net = w->net;
    double *numbers = NULL;
    far_range *ranges = NULL;
    FAR_TRY(far_alloc(w->ctx, widest(net), &numbers));
    FAR_TRY(far_alloc(w->ctx, widest(net), &ranges));
    FAR_TRY(far_alloc(w->ctx, net->step_count, &w->boxes));
    for (int64_t i = 0; i < net->step_count; i++) {
        FAR_TRY(far_alloc(w->ctx, far_step_width(&net->steps[i]), &w->boxes[i]));
        step_boxes(w, i, numbers, ranges);
        FAR_TRY(far_progress(w->ctx, "bounds", i + 1, net->step_count));
    }
    memcpy(out, w->boxes[net->step_count - 1], (size_t)net->info.outputs * sizeof *out);
done:
    for (int64_t i = 0; w->boxes && i < net->step_count; i++) {
        far_free(w->ctx, w->boxes[i]);
    }
    FAR_FREE_ALL(w->ctx, numbers, ranges, w->boxes);
    return st;
}

far_status far_shape_walk(far_ctx *ctx, const far_net *net, const far_range *inputs, far_range *out)
{
    walk w = {.ctx = ctx, .net = net, .inputs = inputs};
    return run(&w, out);
}
