/* Included once for float and once for double: REAL, SQRT, UPDATE and NAME(x) are defined. A tile
 * of the gradient is summed and used while it is in the first-level cache. */

/* The parts are cleared while they are at hand. */
static void NAME(sum_parts)(const far_update *u, int64_t at, int64_t count, REAL *restrict g)
{
    REAL *part = (REAL *)u->parts + at;
    size_t bytes = (size_t)count * sizeof *g;
    memcpy(g, part, bytes);
    memset(part, 0, bytes);
    for (int64_t k = 1; k < u->part_count; k++) {
        REAL *restrict more = part + k * u->part_stride;
        for (int64_t i = 0; i < count; i++) {
            g[i] += more[i];
        }
        memset(more, 0, bytes);
    }
}

static void NAME(add_pull)(const far_update *u, int64_t at, int64_t count, REAL *restrict g)
{
    const REAL *restrict p = (const REAL *)u->params + at, *restrict s =
                                                               (const REAL *)u->start + at;
    const REAL pull = (REAL)u->pull;
    for (int64_t i = 0; i < count; i++) {
        g[i] += pull * (p[i] - s[i]);
    }
}

static void NAME(add_decay)(const far_update *u, int64_t at, int64_t count, REAL *restrict g)
{
    const REAL *restrict p = (const REAL *)u->params + at;
    const REAL decay = (REAL)u->decay;
    for (int64_t i = 0; i < count; i++) {
        g[i] += decay * p[i];
    }
}

static void NAME(shrink)(const far_update *u, int64_t at, int64_t count)
{
    REAL *restrict p = (REAL *)u->params + at;
    const REAL left = (REAL)(1 - u->shrink);
    for (int64_t i = 0; i < count; i++) {
        p[i] *= left;
    }
}

/* The order of operations is PyTorch's. */
static void NAME(adam)(const far_update *u, int64_t at, int64_t count, const REAL *restrict g)
{
    REAL *restrict p = (REAL *)u->params + at;
    REAL *restrict m = (REAL *)u->mean + at, *restrict v = (REAL *)u->square + at;
    const REAL fresh1 = (REAL)(1 - u->beta1), beta2 = (REAL)u->beta2, fresh2 = (REAL)(1 - u->beta2);
    const REAL rate = (REAL)u->rate, unbias = (REAL)u->unbias, epsilon = (REAL)u->epsilon;
    for (int64_t i = 0; i < count; i++) {
        REAL mean = m[i] + fresh1 * (g[i] - m[i]);
        REAL square = beta2 * v[i] + fresh2 * g[i] * g[i];
        m[i] = mean;
        v[i] = square;
        p[i] -= rate * mean / (SQRT(square) * unbias + epsilon);
    }
}

static void NAME(descend)(const far_update *u, int64_t at, int64_t count, const REAL *restrict g)
{
    REAL *restrict p = (REAL *)u->params + at;
    const REAL rate = (REAL)u->rate;
    for (int64_t i = 0; i < count; i++) {
        p[i] -= rate * g[i];
    }
}

static void NAME(roll)(const far_update *u, int64_t at, int64_t count, const REAL *restrict g)
{
    REAL *restrict p = (REAL *)u->params + at, *restrict v = (REAL *)u->mean + at;
    const REAL rate = (REAL)u->rate, momentum = (REAL)u->momentum;
    for (int64_t i = 0; i < count; i++) {
        v[i] = momentum * v[i] + g[i];
        p[i] -= rate * v[i];
    }
}

static void NAME(set_moved)(const far_update *u, int64_t at, int64_t count)
{
    const REAL *restrict p = (const REAL *)u->params + at, *restrict s =
                                                               (const REAL *)u->start + at;
    REAL *restrict moved = (REAL *)u->moved + at;
    for (int64_t i = 0; i < count; i++) {
        moved[i] = p[i] - s[i];
    }
}

static void NAME(update_tile)(const far_update *u, int64_t at, int64_t count)
{
    REAL g[TILE] __attribute__((aligned(64)));
    NAME(sum_parts)(u, at, count, g);
    if (u->pull != 0) {
        NAME(add_pull)(u, at, count, g);
    }
    if (u->decay != 0) {
        NAME(add_decay)(u, at, count, g);
    }
    if (u->shrink != 0) {
        NAME(shrink)(u, at, count);
    }
    if (u->rule == FAR_OPTIMIZER_ADAM || u->rule == FAR_OPTIMIZER_ADAMW) {
        NAME(adam)(u, at, count, g);
    } else if (u->rule == FAR_OPTIMIZER_MOMENTUM) {
        NAME(roll)(u, at, count, g);
    } else {
        NAME(descend)(u, at, count, g);
    }
    if (u->moved) {
        NAME(set_moved)(u, at, count);
    }
}

void UPDATE(const far_update *u, int64_t from, int64_t to)
{
    for (int64_t at = from; at < to; at += TILE) {
        NAME(update_tile)(u, at, to - at < TILE ? to - at : TILE);
    }
}
