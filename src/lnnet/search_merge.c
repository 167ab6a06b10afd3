/* Two objects of one label a layer, chosen near the front. */
#include "search.h"

#include <math.h>

/* A search for the best fold of a and b. */
typedef struct merge {
    const far_ln_search *s;
    int64_t turned;
    double a, b;
    double best, zeta, omega;
} merge;

static void try_merge(merge *m, double zeta, double omega)
{
    double z = m->a + zeta * (m->b - m->a);
    if (!(z > m->a && z < m->b)) {
        return;
    }
    far_ln_fold f = far_ln_merging(m->a, m->b, z, omega);
    double j = far_ln_score(m->s, &f, m->turned, false, m->best);
    if (j < m->best) {
        m->best = j;
        m->zeta = zeta;
        m->omega = omega;
    }
}

static void try_omegas(merge *m, double z)
{
    static const double OMEGAS[] = {0.7, 1, 0.4, 1.5, 0.2, 2.5, 0.1, 5};
    for (size_t i = 0; i < sizeof OMEGAS / sizeof OMEGAS[0]; i++) {
        try_merge(m, (z - m->a) / (m->b - m->a), OMEGAS[i]);
    }
}

static double centre(const far_ln_search *line, int64_t i)
{
    return line->lo[i] + (line->hi[i] - line->lo[i]) / 2;
}

static void try_grid(merge *m, int64_t a, int64_t b)
{
    static const double NEAR[] = {0.5, 0.3, 0.7, 0.15, 0.85, 0.06, 0.94, 0.02, 0.98, 0.995};
    static const double WIDE[] = {0.5, 0.35, 0.65, 0.2, 0.8, 0.1, 0.9, 0.03, 0.97};
    const far_ln_search *line = m->s;
    double before = centre(line, b - 1), span = m->b - m->a;
    for (size_t i = 0; i < sizeof NEAR / sizeof NEAR[0]; i++) {
        try_omegas(m, before + NEAR[i] * (m->b - before));
    }
    for (size_t i = 0; a < b - 1 && i < sizeof WIDE / sizeof WIDE[0]; i++) {
        try_omegas(m, m->a + WIDE[i] * span);
    }
    for (int64_t i = a; i < b - 1; i++) {
        double here = centre(line, i), next = centre(line, i + 1);
        try_omegas(m, here + (next - here) / 2);
    }
}

#define FEW_CLASSES 3 /* weights then fall faster */
#define ROUNDS 3
#define ROUND_TRIES 30

/* Random steps around the best, smaller each round. */
static void refine_merge(merge *m, uint64_t seed, uint64_t layer)
{
    double step = 0.5;
    for (uint64_t i = 0; i < ROUNDS * ROUND_TRIES; i++) {
        uint64_t at = 2 * (layer * ROUNDS * ROUND_TRIES + i);
        if (i > 0 && i % ROUND_TRIES == 0) {
            step /= 3;
        }
        double u = far_random_normal(seed, at), v = far_random_normal(seed, at + 1);
        double odds = m->zeta / (1 - m->zeta) * exp(step * u);
        try_merge(m, odds / (1 + odds), m->omega * exp(step * v));
    }
}

bool far_ln_search_merge(far_ln_search *s, int64_t a, int64_t b, int32_t classes,
                         far_ln_choice *out)
{
    merge m = {.s = s, .turned = b + 1, .best = INFINITY, .zeta = 0.5, .omega = 1};
    m.a = centre(s, a);
    m.b = centre(s, b);
    far_ln_search_prepare(s, b + 1, classes <= FEW_CLASSES ? 8 : 20, 2);
    try_grid(&m, a, b);
    refine_merge(&m, s->seed, s->layer);
    *out = (far_ln_choice){.zeta = m.zeta, .omega = m.omega};
    return m.best < INFINITY;
}
