/*
 * The next point of the line is brought to those in front of it, which lie close together, one for
 * each label met so far.
 *
 * A fold never turns its hinge among them, so they only change sides: in units of the gaps behind
 * them their distances stay what they are, and errors do not grow. They should fit into the least
 * gap that will come, yet lie apart farther than errors: what is weighed is how wide they are
 * beside the next gap and beside the gaps that follow, and how wide those are (as 1 / j^3 for the
 * j-th).
 */
#include "search.h"

#include <math.h>

#define NEXT_GAPS 20     /* whose mean the width is measured by, */
#define WIDTH 0.03       /* which it should be */
#define WIDTH_COST 4     /* of a factor e, squared */
#define NEXT_WIDTH 0.1   /* in the next gap: at most */
#define PROFILE_LENGTH 2 /* as in search_score.c */
#define PROFILE_POWER 3

/* A search for the fold that brings b to a. */
typedef struct gather {
    const far_ln_search *s;
    int64_t b;
    double a;
    double best;
    far_ln_choice at;
} gather;

/* Blocks of the points behind b, longer backwards, and their weights. */
static void set_blocks(far_ln_search *s, int64_t b)
{
    s->blocks = 0;
    s->block_start[0] = b + 1;
    for (int64_t at = b + 1; at < s->n - 1; s->blocks++) {
        int64_t end = at + (at - b) / 8 + 4;
        end = end < s->n - 1 ? end : s->n - 1;
        double t = pow(1 + (double)(at - b - 1) / PROFILE_LENGTH, -PROFILE_POWER);
        s->weight[s->blocks] = (double)(end - at) * t * t;
        s->block_start[s->blocks + 1] = at = end;
    }
}

static double bulk_cost(const far_ln_search *s, const far_ln_fold *f, double next)
{
    double sum = 0, here = far_ln_image(f, s->lo[s->block_start[0]]);
    for (int64_t i = 0; i < s->blocks; i++) {
        double there = far_ln_image(f, s->lo[s->block_start[i + 1]]);
        double gap = (there - here) / (double)(s->block_start[i + 1] - s->block_start[i]);
        if (!(gap > 0)) {
            return INFINITY;
        }
        sum += s->weight[i] / (gap * gap);
        here = there;
    }
    return s->blocks > 0 ? sum : 1 / (next * next);
}

static double cost_of(const gather *g, const far_ln_fold *f)
{
    const far_ln_search *s = g->s;
    double outer = far_ln_image(f, g->a < s->lo[0] ? g->a : s->lo[0]);
    double width = outer - far_ln_image(f, s->hi[g->b - 1]);
    double next = far_ln_image(f, s->lo[g->b + 1]) - outer;
    int64_t last = g->b + NEXT_GAPS < s->n - 1 ? g->b + NEXT_GAPS : s->n - 1;
    double mean = (far_ln_image(f, s->lo[last]) - outer) / (double)(last - g->b);
    double cost = next > 0 ? log(bulk_cost(s, f, next)) : INFINITY;
    if (width > 0 && cost < INFINITY) {
        double wide = log(width / (WIDTH * mean)), over = log(width / (NEXT_WIDTH * next));
        cost += WIDTH_COST * (wide * wide + (over > 0 ? over * over : 0));
    }
    return cost;
}

static void try_gather(void *search, double zeta, double omega)
{
    gather *g = search;
    double before = g->s->hi[g->b - 1], b = g->s->lo[g->b], z = before + zeta * (b - before);
    if (!(z > before && z > g->a && z < b)) {
        return;
    }
    far_ln_fold f = far_ln_merging(g->a, b, z, omega);
    double cost = cost_of(g, &f);
    if (cost < g->best) {
        g->best = cost;
        g->at.zeta = zeta;
        g->at.omega = omega;
    }
}

static void try_gather_grid(gather *g)
{
    static const double ZETAS[] = {0.5,  0.3,  0.7,   0.15,  0.85,   0.06,   0.94,
                                   0.02, 0.98, 0.995, 0.999, 0.9999, 0.99999};
    static const double OMEGAS[] = {0.7, 1, 0.4, 1.5, 0.2, 2.5, 0.1, 5, 10, 0.05, 0.02};
    for (size_t i = 0; i < sizeof ZETAS / sizeof ZETAS[0]; i++) {
        for (size_t j = 0; j < sizeof OMEGAS / sizeof OMEGAS[0]; j++) {
            try_gather(g, ZETAS[i], OMEGAS[j]);
        }
    }
}

/* How far in front of the first a point of a new label goes: as far as they lie apart. */
static double free_place(const far_ln_search *s, int64_t gathered)
{
    double span = s->lo[gathered] - s->lo[0], width = s->hi[gathered - 1] - s->lo[0];
    return gathered > 1 ? width / (double)(gathered - 1) / span : WIDTH;
}

bool far_ln_search_gather(far_ln_search *s, int64_t gathered, int64_t a, far_ln_choice *out)
{
    gather g = {.s = s, .b = gathered, .best = INFINITY, .at = {.zeta = 0.5, .omega = 0.7}};
    g.at.eta = free_place(s, gathered);
    g.a = a >= 0 ? s->lo[a] + (s->hi[a] - s->lo[a]) / 2
                 : s->lo[0] - g.at.eta * (s->lo[gathered] - s->lo[0]);
    if (gathered + 1 < s->n) { /* of the last point nothing depends any more */
        set_blocks(s, gathered);
        try_gather_grid(&g);
        far_ln_refine(s, &g.at, try_gather, &g);
    }
    *out = g.at;
    return gathered + 1 >= s->n || g.best < INFINITY;
}
