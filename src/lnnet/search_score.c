/*
 * How good a fold leaves the gaps.
 *
 * J = sum over neighbours of different labels of (T_j / gap_j)^2, j their rank from the front. T is
 * a profile 1 / (1 + j / length)^power. Folding keeps gaps that fall like 1 / j^2; weights that
 * fall faster keep wide runs at the front apart, weights that do not keep many labels there apart.
 * The front is worked out gap by gap. Behind it the fold only stretches: whole blocks of gaps are
 * weighed with its derivative.
 */
#include "search.h"

#include <math.h>

/* 1 / f'(x)^2 */
static inline double inverse_slope(const far_ln_fold *f, double x)
{
    double t = x - f->z, h1 = f->k * t, h2 = 1 + f->mu * t;
    double square = h1 * h1 + h2 * h2, top = f->k * h1;
    return square * square * square / (top * top);
}

#define BLOCK_LEAST 8

static void set_weights(double *weight, int64_t n, int64_t turned, double length, double power)
{
    for (int64_t j = 0; j < n; j++) {
        double back = j > turned ? (j - turned) : 0;
        double t = pow(1 + back / length, -power) / (turned + length);
        weight[j] = t * t;
    }
}

/* Blocks of the objects from `from` on, longer backwards. A gap belongs to the object behind it. */
static void set_blocks(far_ln_search *s, int64_t from)
{
    const far_ln_search *line = s;
    int64_t at = from;
    s->blocks = 0;
    s->block_start[0] = from;
    while (at < line->n) {
        int64_t size = at / 8 > BLOCK_LEAST ? at / 8 : BLOCK_LEAST;
        int64_t end = at + size < line->n ? at + size : line->n;
        double cost = 0;
        for (int64_t i = at; i < end; i++) {
            double gap = line->lo[i] - line->hi[i - 1];
            cost += line->label[i] != line->label[i - 1] ? 1 / (gap * gap) : 0;
        }
        s->block_cost[s->blocks] = cost;
        s->place[s->blocks] = line->lo[at];
        s->block_start[++s->blocks] = end;
        at = end;
    }
    s->place[s->blocks] = line->hi[line->n - 1];
}

void far_ln_search_prepare(far_ln_search *s, int64_t turned, double length, double power)
{
    int64_t from = turned + FAR_LN_EXACT < s->n ? turned + FAR_LN_EXACT : s->n;
    set_weights(s->weight, s->n + 2, turned > 2 ? turned - 2 : 0, length * s->profile, power);
    set_blocks(s, from);
}

static double score_blocks(const far_ln_search *s, const far_ln_fold *f, int64_t shift, double sum,
                           double best)
{
    double here = s->blocks > 0 ? inverse_slope(f, s->place[0]) : 0;
    for (int64_t b = 0; b < s->blocks && sum < best; b++) {
        double there = inverse_slope(f, s->place[b + 1]);
        int64_t rank = (s->block_start[b] + s->block_start[b + 1]) / 2 + shift;
        rank = rank < 0 ? 0 : rank;
        sum += s->weight[rank] * s->block_cost[b] * (here + there) / 2;
        here = there;
    }
    return sum;
}

/* The front as it is put together. */
typedef struct front {
    double edge, sum;
    int32_t label;
    int64_t rank;
} front;

static inline bool put(const far_ln_search *s, front *q, double near, double far, int32_t label)
{
    if (label == q->label) {
        q->edge = far > q->edge ? far : q->edge;
        return true;
    }
    double gap = near - q->edge;
    if (q->label >= 0) {
        if (!(gap > 0)) {
            return false;
        }
        q->sum += s->weight[q->rank++] / (gap * gap);
    }
    q->edge = far;
    q->label = label;
    return true;
}

/* The score of a fold: the sum, over neighbours that must stay apart after it, of their weight over
 * the square of their gap; INFINITY where the fold merges two labels or cannot beat best. The line
 * folds at f->z, so its two halves are merged in the order of their images, as two sorted lists
 * are; what lies behind the front is taken block by block. */
double far_ln_score(const far_ln_search *s, const far_ln_fold *f, int64_t turned, bool wide,
                    double best)
{
    const far_ln_search *line = s;
    int64_t r = turned, from = s->block_start[0], n = line->n;
    front q = {.label = -1};
    while (r > 0 && line->lo[r - 1] >= f->z) {
        r--;
    }
    int64_t l = r - 1;
    if (wide && l >= 0 && line->hi[l] > f->z) {
        double a = far_ln_image(f, line->lo[l]), b = far_ln_image(f, line->hi[l]);
        q = (front){.edge = a > b ? a : b, .label = line->label[l]};
        l--;
    }
    double left = 0, right = 0;
    if (l >= 0) {
        left = far_ln_image(f, line->hi[l]);
    }
    if (r < n) {
        right = far_ln_image(f, line->lo[r]);
    }
    while (l >= 0 || r < from) {
        bool good;
        if (r >= n || (l >= 0 && left <= right)) {
            double far = wide ? far_ln_image(f, line->lo[l]) : left;
            good = put(s, &q, left, far, line->label[l]);
            if (--l >= 0) {
                left = far_ln_image(f, line->hi[l]);
            }
        } else {
            double far = wide ? far_ln_image(f, line->hi[r]) : right;
            good = put(s, &q, right, far, line->label[r]);
            if (++r < n) {
                right = far_ln_image(f, line->lo[r]);
            }
        }
        if (!good || !(q.sum < best)) {
            return INFINITY;
        }
    }
    if (r > from) { /* something was put far behind: no blocks, all one by one */
        for (; r < n && q.sum < best; r++) {
            double near = far_ln_image(f, line->lo[r]);
            if (!put(s, &q, near, wide ? far_ln_image(f, line->hi[r]) : near, line->label[r])) {
                return INFINITY;
            }
        }
        return q.sum;
    }
    double sum = score_blocks(s, f, q.rank - from, q.sum, best);
    return sum == sum ? sum : INFINITY;
}

#define ROUNDS 3
#define ROUND_TRIES 30

void far_ln_refine(const far_ln_search *s, const far_ln_choice *best,
                   void (*attempt)(void *user, double zeta, double omega), void *user)
{
    double step = 0.5;
    for (uint64_t i = 0; i < ROUNDS * ROUND_TRIES; i++) {
        uint64_t at = 2 * (s->layer * ROUNDS * ROUND_TRIES + i);
        step /= i > 0 && i % ROUND_TRIES == 0 ? 3 : 1;
        double u = far_random_normal(s->seed, at), v = far_random_normal(s->seed, at + 1);
        double odds = best->zeta / (1 - best->zeta) * exp(step * u);
        attempt(user, odds / (1 + odds), best->omega * exp(step * v));
    }
}
