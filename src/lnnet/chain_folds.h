/* Part of chain_impl.h: from what the search chose to a fold in the chain's own numbers. */

static inline REAL NAME(image)(const NAME(fold) * f, REAL x)
{
    REAL t = x - f->z, h1 = f->k * t, h2 = 1 + f->mu * t;
    return -h2 / SQRT(h1 * h1 + h2 * h2);
}

static REAL NAME(centre)(const NAME(line) * line, int64_t i)
{
    return line->lo[i] + (line->hi[i] - line->lo[i]) / 2;
}

/* ---- for the search ------------------------------------------------------------------------ */

/* The line in double. What is one number there is kept apart by a last bit. */
static void NAME(show_line)(const far_ln_chain *c, NAME(state) * s)
{
    static const double PROFILES[] = {1, 0.5, 2, 1, 0.25, 4};
    far_ln_search *out = &s->search;
    const NAME(line) *line = &s->now;
    REAL origin = line->lo[0];
    out->n = line->n;
    out->label = line->label;
    for (int64_t i = 0; i < line->n; i++) {
        out->lo[i] = (double)(line->lo[i] - origin);
        out->hi[i] = (double)(line->hi[i] - origin);
        if (i > 0 && out->lo[i] <= out->hi[i - 1]) {
            out->lo[i] = nextafter(out->hi[i - 1], INFINITY);
            out->hi[i] = out->hi[i] < out->lo[i] ? out->lo[i] : out->hi[i];
        }
    }
    /* After a return: a flatter or a steeper profile, and other dice. */
    out->profile = PROFILES[s->returns % 6];
    out->seed = far_random_bits(c->seed, (uint64_t)s->returns);
    out->layer = (uint64_t)c->layers;
}

/* ---- merging ------------------------------------------------------------------------------- */

/* The first label that comes twice, from the front. */
static bool NAME(first_pair)(const far_ln_chain *c, const NAME(line) * line, int64_t *a, int64_t *b)
{
    for (*b = 1; *b < line->n; ++*b) {
        for (*a = *b - 1; *a >= 0 && *a >= *b - c->classes; --*a) {
            if (line->label[*a] == line->label[*b]) {
                return true;
            }
        }
    }
    return false;
}

/* The fold with f(a) = f(b) = 1 / sqrt(1 + omega^2), hinge at z. */
static NAME(fold) NAME(merging)(REAL a, REAL b, REAL z, REAL omega)
{
    REAL left = 1 / (z - a), right = 1 / (b - z);
    return (NAME(fold)){.z = z, .k = omega * (left + right) / 2, .mu = (left - right) / 2};
}

static far_ln_outcome NAME(next_merge)(far_ln_chain *c, NAME(state) * s, NAME(fold) * out)
{
    int64_t a, b;
    far_ln_choice choice;
    if (!NAME(first_pair)(c, &s->now, &a, &b)) {
        return FAR_LN_STUCK;
    }
    NAME(show_line)(c, s);
    if (!far_ln_search_merge(&s->search, a, b, c->classes, &choice)) {
        return FAR_LN_STUCK;
    }
    REAL low = NAME(centre)(&s->now, a), high = NAME(centre)(&s->now, b);
    *out = NAME(merging)(low, high, low + (REAL)choice.zeta * (high - low), (REAL)choice.omega);
    out->a = a;
    out->b = b;
    return FAR_LN_DONE;
}

/* ---- runs ---------------------------------------------------------------------------------- */

/* As in search_runs.c, where it is explained. */
static NAME(fold) NAME(bringing)(const NAME(line) * line, const far_ln_choice *choice)
{
    const REAL *lo = line->lo, *hi = line->hi;
    REAL corner[4] = {hi[0], lo[1], hi[1], lo[2]}, lower = 0;
    int part = choice->zeta < 1 ? 0 : choice->zeta < 2 ? 1 : 2;
    REAL z = corner[part] + ((REAL)choice->zeta - part) * (corner[part + 1] - corner[part]);
    REAL left = 1 / (z - lo[0]), upper = left - (line->n > 3 ? 1 / (lo[3] - z) : 0);
    REAL eta = (REAL)choice->eta, down = eta / (1 - eta) * (left + 1 / (lo[2] - z)) / 2;
    if (z > lo[1]) {
        REAL bound = 1 / (z - lo[1]) - 1 / (lo[2] - z);
        upper = bound < upper ? bound : upper;
    }
    if (z < hi[1]) {
        lower = 1 / (z - hi[0]) - 1 / (hi[1] - z);
        down = eta * (upper - lower);
    }
    REAL mu = (upper - down) / 2;
    return (NAME(fold)){.z = z, .k = (REAL)choice->omega * (left - mu), .mu = mu, .a = 0, .b = 2};
}

static far_ln_outcome NAME(next_runs)(far_ln_chain *c, NAME(state) * s, NAME(fold) * out)
{
    far_ln_choice choice;
    if (s->now.n < 3) {
        return FAR_LN_STUCK;
    }
    NAME(show_line)(c, s);
    if (!far_ln_search_runs(&s->search, &choice)) {
        return FAR_LN_STUCK;
    }
    *out = NAME(bringing)(&s->now, &choice);
    return FAR_LN_DONE;
}
