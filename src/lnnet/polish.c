/*
 * A direction turned a little, so that the points that must be told apart and lie nearest to each
 * other on the line move apart. The order hardly changes; gaps are linear in the direction, and
 * the least of them is raised step by step. In d dimensions the 2 d tightest pairs or so can be
 * opened together.
 */
#include "points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PAIRS_MOST 1024 /* the tightest, that are watched */
#define ROUNDS 8        /* after each the order is looked at again */
#define STEPS 400

typedef struct spot {
    double at;
    int64_t point;
} spot;

typedef struct pair {
    double gap;
    int64_t low, high; /* points */
} pair;

/* What polishing works with. */
typedef struct polisher {
    const far_ln_points *p;
    const int32_t *labels;
    spot *spots;
    int64_t spot_count;
    pair *pairs;
    int64_t pair_count, watched;
    double *differences; /* watched x d, in units of the scales */
    double *v, *best;    /* in these units */
} polisher;

static int by_spot(const void *a, const void *b)
{
    const spot *x = a, *y = b;
    int order = (x->at > y->at) - (x->at < y->at);
    return order ? order : (x->point > y->point) - (x->point < y->point);
}

static int by_gap(const void *a, const void *b)
{
    const pair *x = a, *y = b;
    int order = (x->gap > y->gap) - (x->gap < y->gap);
    return order ? order : (x->low > y->low) - (x->low < y->low);
}

static double unit_value(const far_ln_points *p, int64_t i, int64_t j)
{
    return p->scale[j] > 0 ? (far_ln_point(p, i)[j] - p->centre[j]) / p->scale[j] : 0;
}

/* Scales v to a range of 1 and lists the pairs of neighbours with different labels, tightest first.
 * Returns the least gap. */
static double look(polisher *w)
{
    const far_ln_points *p = w->p;
    for (int64_t i = 0, n = 0; i < p->count; i++) {
        if (w->labels[i] >= 0) {
            double sum = 0;
            for (int64_t j = 0; j < p->d; j++) {
                sum += w->v[j] * unit_value(p, i, j);
            }
            w->spots[n++] = (spot){sum, i};
        }
    }
    qsort(w->spots, (size_t)w->spot_count, sizeof *w->spots, by_spot);
    double range = w->spots[w->spot_count - 1].at - w->spots[0].at;
    range = range > 0 ? range : 1;
    for (int64_t j = 0; j < p->d; j++) {
        w->v[j] /= range;
    }
    w->pair_count = 0;
    for (int64_t i = 1; i < w->spot_count; i++) {
        const spot *a = &w->spots[i - 1], *b = &w->spots[i];
        if (w->labels[a->point] != w->labels[b->point]) {
            w->pairs[w->pair_count++] = (pair){(b->at - a->at) / range, a->point, b->point};
        }
    }
    qsort(w->pairs, (size_t)w->pair_count, sizeof *w->pairs, by_gap);
    w->watched = w->pair_count < PAIRS_MOST ? w->pair_count : PAIRS_MOST;
    return w->pair_count > 0 ? w->pairs[0].gap : INFINITY;
}

static void take_differences(polisher *w)
{
    int64_t d = w->p->d;
    for (int64_t k = 0; k < w->watched; k++) {
        for (int64_t j = 0; j < d; j++) {
            w->differences[k * d + j] =
                unit_value(w->p, w->pairs[k].high, j) - unit_value(w->p, w->pairs[k].low, j);
        }
    }
}

/* Opens the tightest pair again and again, less each time. */
static void open_pairs(polisher *w)
{
    int64_t d = w->p->d, reach = 2 * d < w->watched ? 2 * d : w->watched - 1;
    double step = w->pairs[reach].gap;
    for (int t = 0; t < STEPS; t++) {
        int64_t tightest = 0;
        for (int64_t k = 1; k < w->watched; k++) {
            tightest = w->pairs[k].gap < w->pairs[tightest].gap ? k : tightest;
        }
        const double *away = w->differences + tightest * d;
        double square = far_dot(away, away, d), by = step / (1 + t / 20.0);
        for (int64_t j = 0; square > 0 && j < d; j++) {
            w->v[j] += by * away[j] / square;
        }
        for (int64_t k = 0; square > 0 && k < w->watched; k++) {
            w->pairs[k].gap += by * far_dot(w->differences + k * d, away, d) / square;
        }
    }
}

static void polish(polisher *w)
{
    size_t bytes = (size_t)w->p->d * sizeof *w->v;
    double widest = look(w);
    memcpy(w->best, w->v, bytes);
    for (int round = 0; round < ROUNDS && w->watched > 1; round++) {
        take_differences(w);
        open_pairs(w);
        double gap = look(w);
        if (gap > widest) {
            widest = gap;
            memcpy(w->best, w->v, bytes);
        }
    }
}

static void count_spots(polisher *w)
{
    for (int64_t i = 0; i < w->p->count; i++) {
        w->spot_count += w->labels[i] >= 0;
    }
}

far_status far_ln_polish(const far_ln_points *p, const int32_t *labels, double *direction)
{
    far_status st = FAR_OK;
    far_ctx *ctx = p->ctx;
    polisher w = {.p = p, .labels = labels};
    count_spots(&w);
    FAR_TRY(far_alloc(ctx, p->count, &w.spots));
    FAR_TRY(far_alloc(ctx, p->count, &w.pairs));
    FAR_TRY(far_alloc(ctx, PAIRS_MOST * p->d, &w.differences));
    FAR_TRY(far_alloc(ctx, p->d, &w.v));
    FAR_TRY(far_alloc(ctx, p->d, &w.best));
    for (int64_t j = 0; j < p->d; j++) {
        w.v[j] = direction[j] * p->scale[j];
    }
    polish(&w);
    for (int64_t j = 0; j < p->d; j++) {
        direction[j] = p->scale[j] > 0 ? w.best[j] / p->scale[j] : 0;
    }
done:
    FAR_FREE_ALL(ctx, w.spots, w.pairs, w.differences, w.v, w.best);
    return st;
}
