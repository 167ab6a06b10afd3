/*
 * Boxes, step by step. What makes them finite for all inputs: behind a norm each position lies in
 * a ball, whatever came in, and a dense layer or a convolution behind it takes its exact maximum
 * over that ball; attention is a convex combination of its values, whatever queries and keys are.
 * Rounding is added outwards as for other networks.
 */
#include "shape_walk.h"

#include <float.h>
#include <string.h>

#define MOST_WORK 4e9  /* multiplications that narrow the boxes of one step, */
#define LIMIT_WORK 1e8 /* and in the limit, where there may be many directions */

static const far_range EVERYTHING = {-INFINITY, INFINITY};

/* ---- numbers ------------------------------------------------------------------------------- */

/* Where infinities met, there is no bound. */
static far_range honest(far_range r)
{
    return (far_range){isnan(r.low) ? -INFINITY : r.low, isnan(r.high) ? INFINITY : r.high};
}

far_range far_range_add(far_range a, far_range b)
{
    return honest((far_range){far_down(a.low + b.low), far_up(a.high + b.high)});
}

far_range far_range_times(double w, far_range z)
{
    if (w == 0) {
        return (far_range){0, 0};
    }
    return w > 0 ? (far_range){w * z.low, w * z.high} : (far_range){w * z.high, w * z.low};
}

static far_range multiply(far_range a, far_range b)
{
    double c[4] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
    return (far_range){fmin(fmin(c[0], c[1]), fmin(c[2], c[3])),
                       fmax(fmax(c[0], c[1]), fmax(c[2], c[3]))};
}

void far_total_add(far_total *t, far_range r)
{
    t->low += r.low;
    t->high += r.high;
    t->low_size += fabs(r.low);
    t->high_size += fabs(r.high);
    t->count++;
}

far_range far_total_range(const far_total *t)
{
    double lost = far_lost(t->count);
    return honest((far_range){t->low - lost * t->low_size - FAR_SPECK,
                              t->high + lost * t->high_size + FAR_SPECK});
}

static bool is_finite(far_range r)
{
    return isfinite(r.low) && isfinite(r.high);
}

/* Not 0 unless a factor is. */
static double product(double a, double b)
{
    double value = a * b;
    return value == 0 && a != 0 && b != 0 ? copysign(DBL_TRUE_MIN, a) * copysign(1, b) : value;
}

/* ---- places -------------------------------------------------------------------------------- */

const far_range *far_boxes_before(const far_walk_boxes *w, int64_t i)
{
    return i == 0 ? w->inputs : w->boxes[i - 1];
}

double far_boxes_degree_before(const far_walk_boxes *w, int64_t i)
{
    return i == 0 ? w->start : w->degree[i - 1];
}

int64_t far_norm_before(const far_net *net, int64_t i)
{
    int64_t k = i - 1;
    while (k >= 0 &&
           (net->steps[k].kind == FAR_STEP_SKIP_IN || net->steps[k].kind == FAR_STEP_SKIP_TURN)) {
        k = net->steps[k].kind == FAR_STEP_SKIP_TURN ? net->steps[k].mate : k;
        k--;
    }
    return k >= 0 && net->steps[k].kind == FAR_STEP_NORM ? k : -1;
}

static double degree_after(const far_walk_boxes *w, int64_t i)
{
    const far_step *s = &w->net->steps[i];
    double before = far_boxes_degree_before(w, i);
    switch (s->kind) {
    case FAR_STEP_NORM:
    case FAR_STEP_EMBED:
        return 0;
    case FAR_STEP_ACTIVATION:
        return far_activation_degree(s, before);
    case FAR_STEP_SKIP_TURN:
        return far_boxes_degree_before(w, s->mate);
    case FAR_STEP_SKIP_OUT:
        return fmax(before, far_boxes_degree_before(w, s->mate));
    default:
        return before;
    }
}

/* ---- linear steps -------------------------------------------------------------------------- */

bool far_step_is_affine(const far_step *s)
{
    switch (s->kind) {
    case FAR_STEP_DENSE:
    case FAR_STEP_CONV:
    case FAR_STEP_BATCHNORM:
    case FAR_STEP_INPUT:
    case FAR_STEP_POSITION:
    case FAR_STEP_AVGPOOL:
    case FAR_STEP_GAP:
    case FAR_STEP_FLATTEN:
    case FAR_STEP_LAST:
        return true;
    default:
        return false;
    }
}

int64_t far_run_count(const far_net *net)
{
    int64_t most = 1;
    for (int64_t i = 0; i < net->step_count; i++) {
        const far_step *s = &net->steps[i];
        int64_t n = s->kind == FAR_STEP_GAP ? far_positions(s->from) : far_positions(s->window);
        most = n > most ? n : most;
    }
    return most;
}

double far_run_weight(const far_run *r, int64_t k)
{
    return r->w ? product(r->scale, r->w[k * r->stride]) : r->scale;
}

double far_run_speck(const far_run *r, double weight)
{
    return r->scale != 1 && fabs(weight) < 2 * DBL_MIN && weight != 0 ? DBL_TRUE_MIN : 0;
}

/* Of a window: one run for each of its pixels that lie inside. */
static int64_t window_runs(const far_net *net, int64_t i, int64_t k, far_run *runs)
{
    const far_step *s = &net->steps[i];
    bool conv = s->kind == FAR_STEP_CONV;
    int64_t place = k / s->out, o = k % s->out, n = far_positions(s->window), count = 0;
    int64_t top = place / s->to.width * s->stride - s->pad;
    int64_t left = place % s->to.width * s->stride - s->pad;
    for (int64_t q = 0; q < n; q++) {
        int64_t y = top + q / s->window.width, x = left + q % s->window.width;
        if (y < 0 || y >= s->from.height || x < 0 || x >= s->from.width) {
            continue;
        }
        int64_t pixel = (y * s->from.width + x) * s->in;
        runs[count++] = conv ? (far_run){net->params + s->weight + o * s->in * n + q, n,
                                         s->weight_scale, pixel, s->in}
                             : (far_run){NULL, 0, 1 / (double)n, pixel + o, 1};
    }
    return count;
}

static double batch_scale(const far_net *net, const far_step *s, int64_t c)
{
    double weight = s->weight >= 0 ? net->params[s->weight + c] : 1;
    return product(weight, 1 / sqrt(net->statistics[s->variance + c] + s->eps));
}

/* The number that a copy takes. */
static int64_t copied(const far_step *s, int64_t k)
{
    int64_t positions = far_positions(s->kind == FAR_STEP_INPUT ? s->to : s->from);
    bool image = (s->kind == FAR_STEP_INPUT ? s->to.kind : s->from.kind) == FAR_GRID_IMAGE;
    switch (s->kind) {
    case FAR_STEP_INPUT:
        return image ? k % s->out * positions + k / s->out : k;
    case FAR_STEP_FLATTEN:
        return image ? k % positions * s->in + k / positions : k;
    case FAR_STEP_LAST:
        return (positions - 1) * s->in + k;
    default:
        return k;
    }
}

int64_t far_step_runs(const far_net *net, int64_t i, int64_t k, far_run *runs)
{
    const far_step *s = &net->steps[i];
    int64_t positions = far_positions(s->from);
    switch (s->kind) {
    case FAR_STEP_DENSE:
        runs[0] = (far_run){net->params + s->weight + k % s->out * s->in, 1, s->weight_scale,
                            k / s->out * s->in, s->in};
        return 1;
    case FAR_STEP_CONV:
    case FAR_STEP_AVGPOOL:
    case FAR_STEP_MAXPOOL:
        return window_runs(net, i, k, runs);
    case FAR_STEP_GAP:
        for (int64_t p = 0; p < positions; p++) {
            runs[p] = (far_run){NULL, 0, 1 / (double)positions, p * s->in + k, 1};
        }
        return positions;
    case FAR_STEP_BATCHNORM:
        runs[0] = (far_run){NULL, 0, batch_scale(net, s, k % s->out), k, 1};
        return 1;
    default:
        runs[0] = (far_run){NULL, 0, 1, copied(s, k), 1};
        return 1;
    }
}

static far_range batch_shift(const far_net *net, const far_step *s, int64_t c)
{
    double bias = s->bias >= 0 ? net->params[s->bias + c] : 0;
    double moved = net->statistics[s->mean + c] * batch_scale(net, s, c);
    double slack = far_lost(0) * (fabs(bias) + fabs(moved)) + FAR_SPECK;
    return moved == 0 ? (far_range){bias, bias}
                      : (far_range){bias - moved - slack, bias - moved + slack};
}

static far_range position_shift(const far_net *net, const far_step *s, int64_t k)
{
    int64_t c = k % s->out, p = k / s->out;
    if (s->weight >= 0) {
        double value = net->params[s->weight + k];
        return (far_range){value, value};
    }
    double angle = (double)p * pow(10000, -(double)(c / 2 * 2) / (double)s->out);
    double slack = (angle + 1) * (2 * FAR_LIBRARY_ERROR), value = c % 2 ? cos(angle) : sin(angle);
    return (far_range){value - slack, value + slack};
}

far_range far_step_shift(const far_walk_boxes *w, int64_t i, int64_t k)
{
    const far_step *s = &w->net->steps[i];
    far_range none = {0, 0};
    if (far_boxes_degree_before(w, i) > 0) { /* it is outgrown */
        return none;
    }
    if (s->kind == FAR_STEP_BATCHNORM) {
        return batch_shift(w->net, s, k % s->out);
    }
    if (s->kind == FAR_STEP_POSITION) {
        return position_shift(w->net, s, k);
    }
    bool biased = (s->kind == FAR_STEP_DENSE || s->kind == FAR_STEP_CONV) && s->bias >= 0;
    double bias = biased ? product(s->bias_scale, w->net->params[s->bias + k % s->out]) : 0;
    bool exact = bias == 0 || s->bias_scale == 1;
    return exact ? (far_range){bias, bias} : (far_range){far_down(bias), far_up(bias)};
}

/* ---- behind norms -------------------------------------------------------------------------- */

/* The largest |sum w z| over one group, |z| <= sqrt(n), of sum 0 for ln. w may have a rounding or
 * two in it, which its mean takes nothing from. */
static double ball_reach(const far_step *norm, const double *w, int64_t n)
{
    double sum = 0;
    for (int64_t k = 0; k < n; k++) {
        sum += w[k];
    }
    double mean = norm->layer == FAR_LAYER_LN ? sum / (double)n : 0;
    double length = far_up(far_length_from(w, n, mean) + 4 * FAR_UNIT * far_length(w, n));
    return far_up(length * far_up(sqrt((double)n)));
}

far_range far_norm_reach(const far_walk_boxes *w, int64_t i, int64_t p, const double *weights,
                         double *room)
{
    const far_step *s = &w->net->steps[i];
    const double *params = w->net->params;
    const far_range *box = w->boxes[i] + p * s->out;
    int64_t n = s->out / s->groups;
    far_total sum = {0};
    for (int64_t g = 0; g < s->groups; g++) {
        far_total shift = {0}, plain = {0};
        for (int64_t c = g * n; c < (g + 1) * n; c++) {
            double moved = s->bias >= 0 ? weights[c] * params[s->bias + c] : 0;
            room[c] = s->weight >= 0 ? weights[c] * params[s->weight + c] : weights[c];
            far_total_add(&shift, (far_range){moved, moved});
            far_total_add(&plain, far_range_times(weights[c], box[c]));
        }
        double reach = ball_reach(s, room + g * n, n);
        far_range ball = far_range_add(far_total_range(&shift), (far_range){-reach, reach});
        far_total_add(&sum, far_range_meet(ball, far_total_range(&plain)));
    }
    return far_total_range(&sum);
}

/* ---- linear boxes -------------------------------------------------------------------------- */

typedef struct rooms {
    far_run *runs;
    double *weights, *more; /* as many as channels or positions */
    far_range *ranges;
} rooms;

static void add_run(const far_range *in, const far_run *r, far_total *t)
{
    for (int64_t c = 0; c < r->count; c++) {
        double weight = far_run_weight(r, c), speck = far_run_speck(r, weight);
        far_range z = in[r->from + c], part = far_range_times(weight, z);
        if (speck > 0) {
            part.low -= speck * far_range_size(z);
            part.high += speck * far_range_size(z);
        }
        far_total_add(t, part);
    }
}

/* Runs of dense layers and convolutions are the channels of one position. */
static void add_run_of_norm(const far_walk_boxes *w, int64_t norm, const far_run *r, rooms *room,
                            far_total *t)
{
    double lost = 0;
    for (int64_t c = 0; c < r->count; c++) {
        room->weights[c] = far_run_weight(r, c);
        lost += far_run_speck(r, room->weights[c]) * far_range_size(w->boxes[norm][r->from + c]);
    }
    far_range sum = far_norm_reach(w, norm, r->from / r->count, room->weights, room->more);
    far_total_add(t, (far_range){sum.low - lost, sum.high + lost});
}

static void affine_boxes(far_walk_boxes *w, int64_t i, rooms *room)
{
    const far_step *s = &w->net->steps[i];
    const far_range *in = far_boxes_before(w, i);
    bool weighted = s->kind == FAR_STEP_DENSE || s->kind == FAR_STEP_CONV;
    int64_t norm = weighted ? far_norm_before(w->net, i) : -1;
    for (int64_t k = 0; k < far_step_width(s); k++) {
        int64_t count = far_step_runs(w->net, i, k, room->runs);
        far_range shift = far_step_shift(w, i, k);
        far_total t = {0};
        for (int64_t q = 0; q < count; q++) {
            if (norm >= 0) {
                add_run_of_norm(w, norm, &room->runs[q], room, &t);
            } else {
                add_run(in, &room->runs[q], &t);
            }
        }
        bool copy = !weighted && count == 1 && room->runs[0].scale == 1;
        far_total_add(&t, shift);
        w->boxes[i][k] = !copy                               ? far_total_range(&t)
                         : shift.low == 0 && shift.high == 0 ? in[room->runs[0].from]
                                                             : far_range_add(in[k], shift);
    }
}

/* ---- norms --------------------------------------------------------------------------------- */

/* z_k less the mean of n of them: its own share counts once. */
static far_range centred(const far_range *z, int64_t n, int64_t k)
{
    far_total t = {0};
    for (int64_t j = 0; j < n; j++) {
        double w = (j == k ? 1.0 : 0.0) - 1.0 / (double)n;
        far_total_add(&t, far_range_times(w, z[j]));
    }
    return far_total_range(&t);
}

/* Least and largest sqrt(mean d^2 + eps); the largest part is 1, so that no square is lost. */
static far_range spread(const far_range *d, int64_t n, double eps)
{
    double unit = sqrt(eps), low = 0, high = 0, lost = far_lost(n);
    for (int64_t k = 0; k < n; k++) {
        unit = fmax(unit, far_range_size(d[k]));
    }
    if (!(unit > 0x1p-1000) || !isfinite(unit)) {
        return (far_range){0, INFINITY};
    }
    unit = ldexp(1, ilogb(unit));
    for (int64_t k = 0; k < n; k++) {
        bool through = d[k].low <= 0 && d[k].high >= 0;
        double least = through ? 0 : fmin(fabs(d[k].low), fabs(d[k].high)) / unit;
        double most = far_range_size(d[k]) / unit;
        low += least * least;
        high += most * most;
    }
    double more = eps / unit / unit;
    low = low * (1 - lost) / (double)n + more * (1 - lost) - FAR_SPECK;
    high = high * (1 + lost) / (double)n + more * (1 + lost) + FAR_SPECK;
    return (far_range){sqrt(fmax(0, low)) * (1 - lost) * unit, sqrt(high) * (1 + lost) * unit};
}

/* d / sigma, for the deviations of a group. */
static void divide_group(const far_step *s, double eps, const far_range *d, int64_t n,
                         far_range *out)
{
    double ball = far_up(sqrt((double)(s->layer == FAR_LAYER_LN ? n - 1 : n)));
    far_range sigma = spread(d, n, eps);
    for (int64_t k = 0; k < n; k++) {
        bool open = !(sigma.low > 0) || !isfinite(sigma.high) || !is_finite(d[k]);
        far_range r = {d[k].low / (d[k].low < 0 ? sigma.low : sigma.high),
                       d[k].high / (d[k].high > 0 ? sigma.low : sigma.high)};
        r = (far_range){far_down(r.low), far_up(r.high)};
        out[k] = far_range_meet(open ? EVERYTHING : honest(r), (far_range){-ball, ball});
    }
}

static void norm_boxes(far_walk_boxes *w, int64_t i, rooms *room)
{
    const far_step *s = &w->net->steps[i];
    const far_range *in = far_boxes_before(w, i);
    const double *params = w->net->params;
    double eps = far_boxes_degree_before(w, i) > 0 ? 0 : s->eps;
    int64_t n = s->out / s->groups;
    for (int64_t g = 0; g < far_positions(s->to) * s->groups; g++) {
        far_range *out = w->boxes[i] + g * n, *d = room->ranges;
        for (int64_t k = 0; k < n; k++) {
            d[k] = s->layer == FAR_LAYER_LN ? centred(in + g * n, n, k) : in[g * n + k];
        }
        divide_group(s, eps, d, n, out);
        for (int64_t k = 0; s->weight >= 0 && k < n; k++) {
            int64_t c = g % s->groups * n + k;
            double shift = s->bias >= 0 ? params[s->bias + c] : 0;
            far_range scaled = far_range_times(params[s->weight + c], out[k]);
            out[k] = far_range_add((far_range){far_down(scaled.low), far_up(scaled.high)},
                                   (far_range){shift, shift});
        }
    }
}

/* ---- attention ----------------------------------------------------------------------------- */

int64_t far_attention_reach(const far_step *s, int64_t query)
{
    return s->causal ? query + 1 : far_positions(s->to);
}

static far_range score(const far_step *s, const far_range *q, const far_range *k)
{
    far_total t = {0};
    int64_t size = s->out / s->heads;
    for (int64_t c = 0; c < size; c++) {
        if (!is_finite(q[c]) || !is_finite(k[c])) {
            return EVERYTHING;
        }
        far_total_add(&t, multiply(q[c], k[c]));
    }
    far_range r = far_total_range(&t);
    double scale = sqrt((double)size);
    return (far_range){far_down(r.low / scale), far_up(r.high / scale)};
}

/* e^s_j / sum e^s_k is least where s_j is and the others are most. */
static void least_weights(const far_range *scores, int64_t n, double *weight)
{
    double most = -INFINITY, sum = 0, lost = far_lost(n);
    for (int64_t j = 0; j < n; j++) {
        most = fmax(most, scores[j].high);
    }
    for (int64_t j = 0; j < n; j++) { /* a difference is rounded, and what exp gives */
        weight[j] = exp(far_up(scores[j].high - most)) * (1 + 2 * FAR_LIBRARY_ERROR) + FAR_SPECK;
        sum += weight[j];
    }
    for (int64_t j = 0; j < n; j++) {
        double others = fmax(0, sum - weight[j]) + lost * sum;
        double own = exp(far_down(scores[j].low - most)) * (1 - 2 * FAR_LIBRARY_ERROR) - FAR_SPECK;
        double least = own / (own + others) * (1 - 8 * FAR_UNIT);
        weight[j] = isfinite(most) && own > 0 ? least : 0;
    }
}

/* Queries and keys that grow: all but the largest scores are outgrown. */
static void limit_weights(const far_range *scores, int64_t n, double *weight)
{
    double most = -INFINITY;
    int64_t left = 0;
    for (int64_t j = 0; j < n; j++) {
        most = fmax(most, scores[j].low);
    }
    for (int64_t j = 0; j < n; j++) {
        left += scores[j].high >= most;
    }
    for (int64_t j = 0; j < n; j++) {
        weight[j] = scores[j].high < most ? -1 : left == 1 ? 1 : 0;
    }
}

void far_attention_weights(const far_walk_boxes *w, int64_t i, int64_t head, int64_t query,
                           far_range *scores, double *weight)
{
    const far_step *s = &w->net->steps[i];
    int64_t n = far_attention_reach(s, query), ld = 3 * s->out, size = s->out / s->heads;
    const far_range *q = far_boxes_before(w, i) + query * ld + head * size;
    const far_range *k = far_boxes_before(w, i) + s->out + head * size;
    bool grows = far_boxes_degree_before(w, i) > 0;
    for (int64_t j = 0; j < n; j++) {
        scores[j] = score(s, q, k + j * ld);
    }
    (grows ? limit_weights : least_weights)(scores, n, weight);
}

/* max u - sum a_j (max u - u_j), of which every term is at least as much with the least weight. */
double far_attention_mean(const double *weight, const double *u, int64_t n)
{
    double most = -INFINITY, less = 0;
    for (int64_t j = 0; j < n; j++) {
        most = weight[j] < 0 ? most : fmax(most, u[j]);
    }
    for (int64_t j = 0; j < n; j++) {
        less += weight[j] > 0 ? weight[j] * fmax(0, far_down(most - u[j])) : 0;
    }
    return isfinite(most) && isfinite(less) ? far_up(most - less * (1 - far_lost(n))) : most;
}

static far_range mixed(const far_range *v, int64_t ld, const double *weight, int64_t n, double *u)
{
    far_range r;
    for (int64_t j = 0; j < n; j++) {
        u[j] = v[j * ld].high;
    }
    r.high = far_attention_mean(weight, u, n);
    for (int64_t j = 0; j < n; j++) {
        u[j] = -v[j * ld].low;
    }
    r.low = -far_attention_mean(weight, u, n);
    return r;
}

static void attend_boxes(far_walk_boxes *w, int64_t i, rooms *room)
{
    const far_step *s = &w->net->steps[i];
    int64_t size = s->out / s->heads, ld = 3 * s->out;
    const far_range *values = far_boxes_before(w, i) + 2 * s->out;
    for (int64_t at = 0; at < far_positions(s->to) * s->heads; at++) {
        int64_t p = at / s->heads, head = at % s->heads, n = far_attention_reach(s, p);
        far_attention_weights(w, i, head, p, room->ranges, room->weights);
        for (int64_t c = head * size; c < (head + 1) * size; c++) {
            w->boxes[i][p * s->out + c] = mixed(values + c, ld, room->weights, n, room->more);
        }
    }
}

/* ---- the others ---------------------------------------------------------------------------- */

/* All tokens, or the one that it is. */
static void embed_boxes(far_walk_boxes *w, int64_t i)
{
    const far_step *s = &w->net->steps[i];
    const far_range *in = far_boxes_before(w, i);
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

static void maxpool_boxes(far_walk_boxes *w, int64_t i, rooms *room)
{
    const far_step *s = &w->net->steps[i];
    const far_range *in = far_boxes_before(w, i);
    for (int64_t k = 0; k < far_step_width(s); k++) {
        int64_t count = far_step_runs(w->net, i, k, room->runs);
        far_range most = {-INFINITY, -INFINITY};
        for (int64_t q = 0; q < count; q++) {
            far_range r = in[room->runs[q].from];
            most = (far_range){fmax(most.low, r.low), fmax(most.high, r.high)};
        }
        w->boxes[i][k] = most;
    }
}

/* An argument that grows: bounded ones end at an end, the others are relu but for what is outgrown.
 */
static far_range limit_of(const far_step *s, far_range z)
{
    far_step relu = {.layer = FAR_LAYER_RELU, .power = 1, .gain = s->gain};
    if (far_activation_is_bounded(s)) {
        bool ends = s->layer != FAR_LAYER_SIN;
        far_range at = {ends && z.low > 0 ? INFINITY : -INFINITY,
                        ends && z.high < 0 ? -INFINITY : INFINITY};
        return far_activation_range(s, at);
    }
    return far_activation_range(far_activation_is_homogeneous(s) ? s : &relu, z);
}

static void activation_boxes(far_walk_boxes *w, int64_t i)
{
    const far_step *s = &w->net->steps[i];
    const far_range *in = far_boxes_before(w, i);
    bool grows = far_boxes_degree_before(w, i) > 0;
    for (int64_t k = 0; k < far_step_width(s); k++) {
        w->boxes[i][k] = grows ? limit_of(s, in[k]) : far_activation_range(s, in[k]);
    }
}

/* Where one side grows faster the other is outgrown. */
static void skip_boxes(far_walk_boxes *w, int64_t i)
{
    const far_step *s = &w->net->steps[i];
    const far_range *in = far_boxes_before(w, i), *kept = far_boxes_before(w, s->mate);
    double own = far_boxes_degree_before(w, i), other = far_boxes_degree_before(w, s->mate);
    for (int64_t k = 0; k < far_step_width(s); k++) {
        w->boxes[i][k] = own > other   ? in[k]
                         : own < other ? kept[k]
                                       : far_range_add(in[k], kept[k]);
    }
}

/* ---- the walk ------------------------------------------------------------------------------ */

static void step_boxes(far_walk_boxes *w, int64_t i, rooms *room)
{
    const far_step *s = &w->net->steps[i];
    switch (s->kind) {
    case FAR_STEP_NORM:
        norm_boxes(w, i, room);
        break;
    case FAR_STEP_ATTEND:
        attend_boxes(w, i, room);
        break;
    case FAR_STEP_EMBED:
        embed_boxes(w, i);
        break;
    case FAR_STEP_MAXPOOL:
        maxpool_boxes(w, i, room);
        break;
    case FAR_STEP_ACTIVATION:
        activation_boxes(w, i);
        break;
    case FAR_STEP_SKIP_OUT:
        skip_boxes(w, i);
        break;
    case FAR_STEP_SKIP_TURN:
        memcpy(w->boxes[i], far_boxes_before(w, s->mate),
               (size_t)far_step_width(s) * sizeof **w->boxes);
        break;
    case FAR_STEP_SKIP_IN:
        memcpy(w->boxes[i], far_boxes_before(w, i), (size_t)far_step_width(s) * sizeof **w->boxes);
        break;
    default:
        affine_boxes(w, i, room);
    }
}

int64_t far_walk_widest(const far_net *net)
{
    int64_t most = net->info.inputs;
    for (int64_t i = 0; i < net->step_count; i++) {
        const far_step *s = &net->steps[i];
        most = s->in > most ? s->in : most;
        most = s->out > most ? s->out : most;
        most = far_positions(s->to) > most ? far_positions(s->to) : most;
    }
    return most;
}

/* Whether narrower boxes of step i are worth their cost: an activation, a pool or, in the limit,
 * attention reads them, and something bent lies in front. */
static bool is_worth(const far_walk_boxes *w, int64_t i)
{
    const far_net *net = w->net;
    bool bent = false, limit = w->start > 0;
    for (int64_t k = 0; k < i; k++) {
        bent |= !far_step_is_affine(&net->steps[k]) && net->steps[k].kind != FAR_STEP_SKIP_IN &&
                net->steps[k].kind != FAR_STEP_SKIP_TURN && net->steps[k].kind != FAR_STEP_SKIP_OUT;
    }
    far_step_kind next = i + 1 < net->step_count ? net->steps[i + 1].kind : FAR_STEP_DENSE;
    return bent && far_step_is_affine(&net->steps[i]) &&
           (next == FAR_STEP_ACTIVATION || next == FAR_STEP_MAXPOOL ||
            (limit && next == FAR_STEP_ATTEND)) &&
           far_walk_work(net, i) * (double)far_step_width(&net->steps[i]) <
               (limit ? LIMIT_WORK : MOST_WORK);
}

far_status far_walk_open(far_walk_boxes *w, bool tight)
{
    far_status st;
    const far_net *net = w->net;
    rooms room = {0};
    int64_t widest = far_walk_widest(net);
    FAR_TRY(far_alloc(w->ctx, far_run_count(net), &room.runs));
    FAR_TRY(far_alloc(w->ctx, widest, &room.weights));
    FAR_TRY(far_alloc(w->ctx, widest, &room.more));
    FAR_TRY(far_alloc(w->ctx, widest, &room.ranges));
    FAR_TRY(far_alloc(w->ctx, net->step_count, &w->boxes));
    FAR_TRY(far_alloc(w->ctx, net->step_count, &w->degree));
    for (int64_t i = 0; i < net->step_count; i++) {
        FAR_TRY(far_alloc(w->ctx, far_step_width(&net->steps[i]), &w->boxes[i]));
        w->degree[i] = degree_after(w, i);
        step_boxes(w, i, &room);
        if (tight && is_worth(w, i)) {
            FAR_TRY(far_walk_narrow(w, i, -1));
        }
        FAR_TRY(far_progress(w->ctx, "bounds", i + 1, net->step_count));
    }
done:
    FAR_FREE_ALL(w->ctx, room.runs, room.weights, room.more, room.ranges);
    return st;
}

void far_walk_close(far_walk_boxes *w)
{
    for (int64_t i = 0; w->boxes && i < w->net->step_count; i++) {
        far_free(w->ctx, w->boxes[i]);
    }
    far_free(w->ctx, w->boxes);
    far_free(w->ctx, w->degree);
}
