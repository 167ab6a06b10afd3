/* Part of engine_impl.h: normalising one row. Sums run over whole vectors side by side; the last
 * one overlaps, and rows shorter than a vector go number by number. */

INLINE REAL NAME(sum_shifted)(int64_t n, const REAL *z, REAL pivot)
{
    NAME(vec) s0 = {0}, s1 = {0};
    REAL few = 0;
    int64_t j = 0, rest = n % LANES;
    for (; j + PANEL <= n; j += PANEL) {
        s0 += NAME(load)(z + j) - pivot;
        s1 += NAME(load)(z + j + LANES) - pivot;
    }
    if (j + LANES <= n) {
        s0 += NAME(load)(z + j) - pivot;
    }
    if (n >= LANES && rest > 0) {
        s1 += NAME(rest_of)(NAME(load)(z + n - LANES) - pivot, rest);
    }
    if (n >= LANES) {
        return NAME(total)(s0 + s1);
    }
    for (; j < n; j++) {
        few += z[j] - pivot;
    }
    return few;
}

INLINE REAL NAME(sum_squares)(int64_t n, const REAL *z, REAL mean)
{
    NAME(vec) s0 = {0}, s1 = {0};
    REAL few = 0;
    int64_t j = 0, rest = n % LANES;
    for (; j + PANEL <= n; j += PANEL) {
        NAME(vec) d0 = NAME(load)(z + j) - mean, d1 = NAME(load)(z + j + LANES) - mean;
        s0 += d0 * d0;
        s1 += d1 * d1;
    }
    if (j + LANES <= n) {
        NAME(vec) d = NAME(load)(z + j) - mean;
        s0 += d * d;
    }
    if (n >= LANES && rest > 0) {
        NAME(vec) d = NAME(rest_of)(NAME(load)(z + n - LANES) - mean, rest);
        s1 += d * d;
    }
    if (n >= LANES) {
        return NAME(total)(s0 + s1);
    }
    for (; j < n; j++) {
        few += (z[j] - mean) * (z[j] - mean);
    }
    return few;
}

/* ---- forwards ------------------------------------------------------------------------------ */

/* What is done to every group of n numbers: less their mean (not for rms), over sigma; then, if
 * bent, times up where positive and times down where not. */
typedef struct NAME(rule) {
    int64_t n, groups;
    bool centre, bent;
    REAL eps, up, down;
} NAME(rule);

static bool NAME(is_bent)(const far_step *s)
{
    return s && ((s->layer == FAR_LAYER_RELU && s->power == 1) ||
                 s->layer == FAR_LAYER_LEAKY_RELU || s->layer == FAR_LAYER_IDENTITY);
}

/* activation: NULL, or one that is bent. */
static NAME(rule) NAME(rule_of)(const far_step *norm, const far_step *activation)
{
    struct NAME(rule) rule = {.n = norm->out / norm->groups,
                              .groups = norm->groups,
                              .centre = norm->layer == FAR_LAYER_LN,
                              .bent = activation != NULL,
                              .eps = (REAL)norm->eps};
    if (activation) {
        double slope = activation->layer == FAR_LAYER_RELU         ? 0
                       : activation->layer == FAR_LAYER_LEAKY_RELU ? activation->slope
                                                                   : 1;
        rule.up = (REAL)activation->gain;
        rule.down = (REAL)(activation->gain * slope);
    }
    return rule;
}

/* up or down, for each of the numbers in v. */
INLINE NAME(vec) NAME(bend)(const NAME(rule) * rule, NAME(vec) v)
{
    NAME(vec) none = {0}, up = none + rule->up, down = none + rule->down;
    NAME(lanes) positive = v > 0;
    return (NAME(vec))(((NAME(lanes))up & positive) | ((NAME(lanes))down & ~positive));
}

/* The largest |z - pivot|; NAN if one is. */
static REAL NAME(largest)(int64_t n, const REAL *z, REAL pivot)
{
    REAL size = 0;
    for (int64_t j = 0; j < n; j++) {
        REAL d = F(fabs)(z[j] - pivot);
        size = d > size || isnan(d) ? d : size;
    }
    return size;
}

/* Where squares would leave the range of numbers: first divided by a power of 2, in two halves,
 * since that may be out of range too. */
static __attribute__((noinline)) REAL NAME(normalise_far)(const NAME(rule) * rule, const REAL *z,
                                                          REAL *unit, REAL *bent)
{
    int64_t n = rule->n;
    REAL pivot = rule->centre ? z[0] : 0, size = NAME(largest)(n, z, pivot), sum = 0, squares = 0;
    REAL half = size > 0 && isfinite(size) ? F(scalbn)(1, -ilogb((double)size) / 2) : 1;
    for (int64_t j = 0; j < n; j++) {
        unit[j] = (z[j] - pivot) * half * half;
        sum += unit[j];
    }
    REAL mean = rule->centre ? sum / (REAL)n : 0;
    for (int64_t j = 0; j < n; j++) {
        unit[j] -= mean;
        squares += unit[j] * unit[j];
    }
    REAL square = squares / (REAL)n + rule->eps * half * half * half * half;
    REAL inverse = square == 0 ? 0 : 1 / F(sqrt)(square);
    for (int64_t j = 0; j < n; j++) {
        unit[j] *= inverse;
        if (rule->bent) {
            bent[j] = unit[j] * (unit[j] > 0 ? rule->up : rule->down);
        }
    }
    return inverse * half * half;
}

INLINE void NAME(write_units)(const NAME(rule) * rule, bool bends, NAME(vec) u, REAL *unit,
                              REAL *bent)
{
    NAME(store)(unit, u);
    if (bends) {
        NAME(store)(bent, u * NAME(bend)(rule, u));
    }
}

/* unit = (z - mean) inverse, and bent; unit may be z. */
INLINE void NAME(write_unit)(const NAME(rule) * rule, bool bends, REAL mean, REAL inverse,
                             const REAL *z, REAL *unit, REAL *bent)
{
    int64_t n = rule->n, end = n - LANES, j = 0;
    if (end >= 0) {
        NAME(vec) last = (NAME(load)(z + end) - mean) * inverse; /* before z is written over */
        for (; j + LANES <= n; j += LANES) {
            NAME(vec) u = (NAME(load)(z + j) - mean) * inverse;
            NAME(write_units)(rule, bends, u, unit + j, bends ? bent + j : NULL);
        }
        if (j < n) {
            NAME(write_units)(rule, bends, last, unit + end, bends ? bent + end : NULL);
        }
        return;
    }
    for (; j < n; j++) {
        unit[j] = (z[j] - mean) * inverse;
        if (bends) {
            bent[j] = unit[j] * (unit[j] > 0 ? rule->up : rule->down);
        }
    }
}

/* Vectors that are normalised side by side, step by step: the long way from a sum to what depends
 * on it is then walked for all of them at once. */
#define BUNCH 16
typedef struct NAME(bunch) {
    int64_t count;
    const REAL *z[BUNCH];
    REAL mean[BUNCH], square[BUNCH], inverse[BUNCH];
} NAME(bunch);

/* The mean is that of differences from the first number: a constant vector becomes exactly 0. */
static void NAME(measure)(const NAME(rule) * rule, NAME(bunch) * b)
{
    REAL over = 1 / (REAL)rule->n;
    for (int64_t i = 0; i < b->count; i++) {
        REAL first = b->z[i][0];
        b->mean[i] = rule->centre ? first + NAME(sum_shifted)(rule->n, b->z[i], first) * over : 0;
    }
    for (int64_t i = 0; i < b->count; i++) {
        b->square[i] = NAME(sum_squares)(rule->n, b->z[i], b->mean[i]) * over + rule->eps;
    }
    for (int64_t i = 0; i < BUNCH; i++) {
        b->inverse[i] = 1 / F(sqrt)(b->square[i]);
    }
}

static void NAME(finish)(const NAME(rule) * rule, const NAME(bunch) * b, REAL *inverse, REAL *unit,
                         REAL *bent)
{
    for (int64_t i = 0; i < b->count; i++) {
        REAL *to = unit + i * rule->n, *to_bent = rule->bent ? bent + i * rule->n : NULL;
        inverse[i] = b->inverse[i];
        if (!(b->square[i] > SAFE_LEAST && b->square[i] < SAFE_MOST)) {
            inverse[i] = NAME(normalise_far)(rule, b->z[i], to, to_bent);
        } else if (rule->bent) {
            NAME(write_unit)(rule, true, b->mean[i], b->inverse[i], b->z[i], to, to_bent);
        } else {
            NAME(write_unit)(rule, false, b->mean[i], b->inverse[i], b->z[i], to, NULL);
        }
    }
}

/* inverse: 1 / sigma of every vector. */
static void NAME(normalise_rows)(const NAME(rule) * rule, int64_t rows, const REAL *z, int64_t ld,
                                 REAL *inverse, REAL *unit, REAL *bent)
{
    NAME(bunch) b = {0};
    int64_t groups = rule->groups, all = rows * groups;
    for (int64_t first = 0; first < all; first += BUNCH) {
        b.count = all - first < BUNCH ? all - first : BUNCH;
        for (int64_t i = 0; i < b.count; i++) {
            int64_t item = first + i;
            b.z[i] = z + item / groups * ld + item % groups * rule->n;
        }
        NAME(measure)(rule, &b);
        int64_t at = first * rule->n;
        NAME(finish)(rule, &b, inverse + first, unit + at, rule->bent ? bent + at : NULL);
    }
}

/* ---- derivatives --------------------------------------------------------------------------- */

typedef struct NAME(pair) {
    REAL first, second;
} NAME(pair);

INLINE NAME(vec) NAME(bent_gradient)(const NAME(rule) * rule, bool bends, NAME(vec) u, NAME(vec) g)
{
    return bends ? g * NAME(bend)(rule, u) : g;
}

/* sum g and sum g unit, of g bent first */
INLINE NAME(pair)
    NAME(sum_products)(const NAME(rule) * rule, bool bends, const REAL *unit, const REAL *g)
{
    NAME(vec) sum = {0}, along = {0};
    NAME(pair) few = {0, 0};
    int64_t n = rule->n, j = 0;
    for (; j + LANES <= n; j += LANES) {
        NAME(vec) u = NAME(load)(unit + j);
        NAME(vec) x = NAME(bent_gradient)(rule, bends, u, NAME(load)(g + j));
        sum += x;
        along += x * u;
    }
    if (n >= LANES && j < n) {
        NAME(vec) u = NAME(load)(unit + n - LANES);
        NAME(vec) x = NAME(bent_gradient)(rule, bends, u, NAME(load)(g + n - LANES));
        x = NAME(rest_of)(x, n - j);
        sum += x;
        along += x * u;
    }
    if (n >= LANES) {
        return (NAME(pair)){NAME(total)(sum), NAME(total)(along)};
    }
    for (; j < n; j++) {
        REAL x = bends ? g[j] * (unit[j] > 0 ? rule->up : rule->down) : g[j];
        few.first += x;
        few.second += x * unit[j];
    }
    return few;
}

INLINE NAME(vec) NAME(changed)(const NAME(rule) * rule, bool bends, NAME(pair) means, REAL inverse,
                               const REAL *unit, const REAL *g)
{
    NAME(vec) u = NAME(load)(unit);
    NAME(vec) x = NAME(bent_gradient)(rule, bends, u, NAME(load)(g));
    return (x - means.first - u * means.second) * inverse;
}

INLINE void NAME(write_change)(const NAME(rule) * rule, bool bends, NAME(pair) means, REAL inverse,
                               const REAL *unit, REAL *g)
{
    int64_t n = rule->n, end = n - LANES, j = 0;
    if (end >= 0) {
        NAME(vec) last = NAME(changed)(rule, bends, means, inverse, unit + end, g + end);
        for (; j + LANES <= n; j += LANES) {
            NAME(store)(g + j, NAME(changed)(rule, bends, means, inverse, unit + j, g + j));
        }
        if (j < n) {
            NAME(store)(g + end, last);
        }
        return;
    }
    for (; j < n; j++) {
        REAL x = bends ? g[j] * (unit[j] > 0 ? rule->up : rule->down) : g[j];
        g[j] = (x - means.first - unit[j] * means.second) * inverse;
    }
}

/* count vectors of g, bent, become inverse (g - mean g - unit mean(g unit)). */
INLINE void NAME(change_bunch)(const NAME(rule) * rule, bool bends, int64_t count,
                               const REAL *inverse, const REAL *unit, REAL *g)
{
    NAME(pair) means[BUNCH];
    int64_t n = rule->n;
    REAL over = 1 / (REAL)n;
    for (int64_t i = 0; i < count; i++) {
        NAME(pair) sums = NAME(sum_products)(rule, bends, unit + i * n, g + i * n);
        means[i] = (NAME(pair)){rule->centre ? sums.first * over : 0, sums.second * over};
    }
    for (int64_t i = 0; i < count; i++) {
        NAME(write_change)(rule, bends, means[i], inverse[i], unit + i * n, g + i * n);
    }
}

static void NAME(normalise_rows_change)(const NAME(rule) * rule, int64_t rows, const REAL *inverse,
                                        const REAL *unit, REAL *g)
{
    int64_t all = rows * rule->groups;
    for (int64_t first = 0; first < all; first += BUNCH) {
        int64_t count = all - first < BUNCH ? all - first : BUNCH, at = first * rule->n;
        if (rule->bent) {
            NAME(change_bunch)(rule, true, count, inverse + first, unit + at, g + at);
        } else {
            NAME(change_bunch)(rule, false, count, inverse + first, unit + at, g + at);
        }
    }
}

#undef BUNCH

/* ---- batch norm by the statistics of the block ---------------------------------------------- */

/* mean, variance (biased), 1 / sd: columns of z (rows x n), each sum in the order of the rows. */
static void NAME(column_statistics)(int64_t rows, int64_t n, REAL eps, const REAL *z, REAL *columns)
{
    REAL *restrict mean = columns, *restrict variance = columns + n, *restrict sd = columns + 2 * n;
    memset(columns, 0, (size_t)(2 * n) * sizeof *columns);
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t j = 0; j < n; j++) {
            mean[j] += z[r * n + j] - z[j];
        }
    }
    for (int64_t j = 0; j < n; j++) {
        mean[j] = z[j] + mean[j] / (REAL)rows;
    }
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t j = 0; j < n; j++) {
            REAL d = z[r * n + j] - mean[j];
            variance[j] += d * d;
        }
    }
    for (int64_t j = 0; j < n; j++) {
        variance[j] /= (REAL)rows;
        REAL square = variance[j] + eps;
        sd[j] = square == 0 ? 0 : 1 / F(sqrt)(square);
    }
}

/* As normalise_change, over columns. */
static void NAME(column_change)(int64_t rows, int64_t n, const REAL *unit, REAL *columns, REAL *g)
{
    REAL *restrict sd = columns + 2 * n, *restrict mean = columns + 3 * n,
                   *restrict along = mean + n;
    memset(mean, 0, (size_t)(2 * n) * sizeof *mean);
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t j = 0; j < n; j++) {
            mean[j] += g[r * n + j];
            along[j] += g[r * n + j] * unit[r * n + j];
        }
    }
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t j = 0; j < n; j++) {
            REAL rest = g[r * n + j] - mean[j] / (REAL)rows;
            g[r * n + j] = (rest - unit[r * n + j] * along[j] / (REAL)rows) * sd[j];
        }
    }
}
