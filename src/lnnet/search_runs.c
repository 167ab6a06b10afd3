/*
 * Two labels, objects are runs and alternate: I, O, U, V, ... from the front.
 * A fold turns O inside and brings I and U together, between O and V: one run less.
 */
#include "search.h"

#include <math.h>
#include <stddef.h>

typedef struct runs {
    const far_ln_search *s;
    double best;
    far_ln_choice at;
} runs;

/* Where 2 mu may lie for a hinge at z: below upper, above lower (-INFINITY: no bound). */
static void skew_range(const far_ln_search *line, double z, double *lower, double *upper)
{
    const double *lo = line->lo, *hi = line->hi;
    *upper = 1 / (z - lo[0]) - (line->n > 3 ? 1 / (lo[3] - z) : 0);
    *lower = -INFINITY;
    if (z > lo[1]) {
        double bound = 1 / (z - lo[1]) - 1 / (lo[2] - z);
        *upper = bound < *upper ? bound : *upper;
    }
    if (z < hi[1]) {
        *lower = 1 / (z - hi[0]) - 1 / (hi[1] - z);
    }
}

/* The hinge: zeta in (0, 3), a third for each of the gap before O, O, and the gap behind it. */
static double hinge_at(const far_ln_search *line, double zeta)
{
    double corner[4] = {line->hi[0], line->lo[1], line->hi[1], line->lo[2]};
    int part = zeta < 1 ? 0 : zeta < 2 ? 1 : 2;
    return corner[part] + (zeta - part) * (corner[part + 1] - corner[part]);
}

/* eta in (0, 1): from the upper bound down to the lower, or to minus infinity. */
static void try_runs(runs *m, double zeta, double eta, double omega)
{
    const far_ln_search *line = m->s;
    double z = hinge_at(line, zeta), lower, upper;
    if (!(z > line->hi[0] && z < line->lo[2])) {
        return;
    }
    skew_range(line, z, &lower, &upper);
    double left = 1 / (z - line->lo[0]), unit = left + 1 / (line->lo[2] - z);
    double down = lower > -INFINITY ? eta * (upper - lower) : eta / (1 - eta) * unit / 2;
    double mu = (upper - down) / 2;
    far_ln_fold f = {.z = z, .k = omega * (left - mu), .mu = mu};
    double j = f.k > 0 ? far_ln_score(m->s, &f, 3, true, m->best) : INFINITY;
    if (j < m->best) {
        *m = (runs){m->s, j, {zeta, eta, omega}};
    }
}

static void try_runs_grid(runs *m)
{
    static const double ZETAS[] = {2.5, 2.1, 2.9, 1.5, 0.5, 2.02, 2.98, 1.1, 1.9, 0.1, 0.9};
    static const double ETAS[] = {0.5, 0.2, 0.8, 0.05, 0.95};
    static const double OMEGAS[] = {1, 0.5, 2, 0.25, 4, 0.1};
    for (size_t i = 0; i < sizeof ZETAS / sizeof ZETAS[0]; i++) {
        for (size_t j = 0; j < sizeof ETAS / sizeof ETAS[0]; j++) {
            for (size_t k = 0; k < sizeof OMEGAS / sizeof OMEGAS[0]; k++) {
                try_runs(m, ZETAS[i], ETAS[j], OMEGAS[k]);
            }
        }
    }
}

/* x in (low, low + 1), moved in its odds. */
static double jitter(double x, double low, double by)
{
    double odds = (x - low) / (1 - (x - low)) * exp(by);
    return low + odds / (1 + odds);
}

/* With 8 and 2 rounding mixes labels from about 4000 points on, with these at 20000 not yet. */
#define PROFILE_LENGTH 1
#define PROFILE_POWER 4
#define RUN_TRIES 150

static void refine_runs(runs *m, uint64_t seed, uint64_t layer)
{
    double step = 0.6;
    for (uint64_t i = 0; i < RUN_TRIES; i++) {
        uint64_t at = 3 * (layer * RUN_TRIES + i);
        double part = m->at.zeta < 1 ? 0 : m->at.zeta < 2 ? 1 : 2;
        try_runs(m, jitter(m->at.zeta, part, step * far_random_normal(seed, at)),
                 jitter(m->at.eta, 0, step * far_random_normal(seed, at + 1)),
                 m->at.omega * exp(step * far_random_normal(seed, at + 2)));
        step *= 0.98;
    }
}

bool far_ln_search_runs(far_ln_search *s, far_ln_choice *out)
{
    runs m = {.s = s, .best = INFINITY, .at = {.zeta = 2.5, .eta = 0.5, .omega = 1}};
    far_ln_search_prepare(s, 3, PROFILE_LENGTH, PROFILE_POWER);
    if (s->warmed) {
        try_runs(&m, s->warm.zeta, s->warm.eta, s->warm.omega);
    }
    try_runs_grid(&m);
    refine_runs(&m, s->seed, s->layer);
    s->warm = *out = m.at;
    s->warmed = true;
    return m.best < INFINITY;
}
