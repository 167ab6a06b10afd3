/* Two objects of one label a layer, chosen near the front. */
#include "search.h"

#include <math.h>

/* A search for the best fold of a and b. */
typedef struct merge {
    const far_ln_search *s;
    int64_t turned;
    double a, b;
    double best;
    far_ln_choice at;
} merge;

static void try_merge(void *search, double zeta, double omega)
{
    merge *m = search;
    double z = m->a + zeta * (m->b - m->a);
    if (!(z > m->a && z < m->b)) {
        return;
    }
    far_ln_fold f = far_ln_merging(m->a, m->b, z, omega);
    double j = far_ln_score(m->s, &f, m->turned, false, m->best);
    if (j < m->best) {
        m->best = j;
        m->at = (far_ln_choice){.zeta = zeta, .omega = omega};
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

bool far_ln_search_merge(far_ln_search *s, int64_t a, int64_t b, int32_t classes,
                         far_ln_choice *out)
{
    merge m = {.s = s, .turned = b + 1, .best = INFINITY, .at = {.zeta = 0.5, .omega = 1}};
    m.a = centre(s, a);
    m.b = centre(s, b);
    far_ln_search_prepare(s, b + 1, classes <= FEW_CLASSES ? 8 : 20, 2);
    try_grid(&m, a, b);
    far_ln_refine(s, &m.at, try_merge, &m);
    *out = m.at;
    return m.best < INFINITY;
}
