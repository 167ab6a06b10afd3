/* Part of chain_impl.h: the line of objects, and one layer on it, exactly as the network does it.
 */

/* ---- from a fold to weights ---------------------------------------------------------------- */

/* The plane h lies in the three neurons by h -> S Q h, Q's columns (1, -1, 0) / sqrt 2 and
 * (1, 1, -2) / sqrt 6. */
static void NAME(plane)(REAL h1, REAL h2, REAL *out)
{
    REAL p = DIV(h1, SQRT(NUM(2))), q = DIV(h2, SQRT(NUM(6)));
    SET(out[0], ADD(q, p));
    SET(out[1], SUB(q, p));
    SET(out[2], TIMES(q, -2));
}

#define SCALE_START 400 /* at most, and */
#define SCALE_MOST 500  /* in the end: the tensors are doubles */

/* The power of two that makes |h| so large, for every t, that eps is less than rounding. */
static REAL NAME(plane_scale)(REAL k, REAL mu)
{
    int64_t bits = BITS / 2 + 2 < SCALE_START ? BITS / 2 + 2 : SCALE_START;
    REAL least = NEW, one = NUM(1);
    SET(least, DIV(k, SQRT(ADD(MUL(k, k), MUL(mu, mu)))));
    for (; LESS(least, one) && bits < SCALE_MOST; bits++) {
        SET(least, TIMES(least, 2));
    }
    return POWER(bits);
}

static void NAME(layer_of)(const NAME(fold) * f, REAL *w)
{
    REAL scale = NAME(plane_scale)(f->k, f->mu), one = NUM(1);
    NAME(plane)(MUL(scale, f->k), MUL(scale, f->mu), w);
    NAME(plane)(MUL(MUL(NEG(scale), f->k), f->z), MUL(scale, SUB(one, MUL(f->mu, f->z))), w + 3);
}

/* ---- one layer on one point ---------------------------------------------------------------- */

static inline REAL NAME(third)(REAL z0, REAL z1, REAL z2)
{
    REAL mean = OVER(ADD(ADD(z0, z1), z2), 3);
    REAL d0 = SUB(z0, mean), d1 = SUB(z1, mean), d2 = SUB(z2, mean);
    REAL squares = ADD(ADD(MUL(d0, d0), MUL(d1, d1)), MUL(d2, d2));
    return DIV(d2, SQRT(OVER(squares, 3)));
}

static inline REAL NAME(through)(const REAL *w, REAL y)
{
    return NAME(third)(ADD(MUL(w[0], y), w[3]), ADD(MUL(w[1], y), w[4]), ADD(MUL(w[2], y), w[5]));
}

/* The first layer has its weights rounded one by one. */
static void NAME(first_rows)(const far_ln_chain *c, const REAL *w, REAL *rows)
{
    int64_t d = c->points->d;
    for (int64_t i = 0; i < 3; i++) {
        for (int64_t j = 0; j < d; j++) {
            SET(rows[i * d + j], MUL(w[i], NUM(c->direction[j])));
        }
    }
}

static REAL NAME(dot)(const REAL *v, const double *x, int64_t d)
{
    REAL sum = NEW;
    for (int64_t j = 0; j < d; j++) {
        SET(sum, ADD(sum, MUL(v[j], NUM(x[j]))));
    }
    return sum;
}

static REAL NAME(enter)(const far_ln_chain *c, const REAL *rows, const REAL *w, int64_t point)
{
    const double *x = far_ln_point(c->points, point);
    int64_t d = c->points->d;
    REAL z[3];
    for (int64_t i = 0; i < 3; i++) {
        z[i] = ADD(NAME(dot)(rows + i * d, x, d), w[3 + i]);
    }
    return NAME(third)(z[0], z[1], z[2]);
}

static void NAME(move_objects)(const far_ln_chain *c, NAME(state) * s, const REAL *w)
{
    const NAME(line) *line = &s->now;
    if (c->layers == 0) {
        NAME(first_rows)(c, w, s->row);
        for (int64_t i = 0; i < line->n; i++) {
            SET(s->ulo[i], NAME(enter)(c, s->row, w, line->first[i]));
            SET(s->uhi[i], line->last[i] == line->first[i]
                               ? s->ulo[i]
                               : NAME(enter)(c, s->row, w, line->last[i]));
        }
        return;
    }
    for (int64_t i = 0; i < line->n; i++) {
        SET(s->ulo[i], NAME(through)(w, line->lo[i]));
    }
    for (int64_t i = 0; i < line->n; i++) {
        bool point = !LESS(line->lo[i], line->hi[i]);
        SET(s->uhi[i], point ? s->ulo[i] : NAME(through)(w, line->hi[i]));
    }
}

/* ---- the new order ------------------------------------------------------------------------- */

typedef struct NAME(object) {
    REAL lo, hi;
    int32_t label;
} NAME(object);

static NAME(object) NAME(moved)(const NAME(state) * s, int64_t i, const NAME(fold) * f)
{
    const NAME(line) *line = &s->now;
    REAL a = s->ulo[i], b = s->uhi[i], z = f->z;
    NAME(object) o = {LESS(a, b) ? a : b, LESS(a, b) ? b : a, line->label[i]};
    if (LESS(line->lo[i], z) && LESS(z, line->hi[i])) { /* the hinge itself lies inside */
        REAL end = NEG(SQRT(NUM(2)));
        o.lo = LESS(end, a) && LESS(end, b) ? end : o.lo;
    }
    return o;
}

/* Appends an object; one of the same label that overlaps the last, or is its pair, is joined to it.
 * False: labels mix. */
static bool NAME(stack)(NAME(line) * out, NAME(object) o, bool pair)
{
    int64_t last = out->n - 1;
    if (last >= 0 && out->label[last] == o.label && (pair || !LESS(out->hi[last], o.lo))) {
        if (LESS(out->hi[last], o.hi)) {
            SET(out->hi[last], o.hi);
        }
        return true;
    }
    if (last >= 0 && !LESS(out->hi[last], o.lo)) {
        return false;
    }
    SET(out->lo[out->n], o.lo);
    SET(out->hi[out->n], o.hi);
    out->label[out->n++] = o.label;
    return true;
}

static int64_t NAME(count_left)(const NAME(line) * line, REAL z)
{
    int64_t low = 0, high = line->n;
    while (low < high) {
        int64_t mid = (low + high) / 2;
        if (LESS(line->lo[mid], z)) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

/* Left of the hinge backwards and right of it forwards, merged; a and b become one. */
static bool NAME(restack)(NAME(state) * s, const NAME(fold) * f)
{
    NAME(line) *line = &s->now, *out = &s->next;
    REAL z = f->z;
    int64_t r = NAME(count_left)(line, z), l = r - 1;
    bool good = true, met = false;
    out->n = 0;
    NAME(object) left = {0}, right = {0};
    if (l >= 0) {
        left = NAME(moved)(s, l, f);
    }
    if (r < line->n) {
        right = NAME(moved)(s, r, f);
    }
    while (good && (l >= 0 || r < line->n)) {
        if (r >= line->n || (l >= 0 && AT_MOST(left.lo, right.lo))) {
            good = NAME(stack)(out, left, met && (l == f->a || l == f->b));
            met = l == f->a || l == f->b;
            if (--l >= 0) {
                left = NAME(moved)(s, l, f);
            }
        } else {
            good = NAME(stack)(out, right, met && (r == f->a || r == f->b));
            met = r == f->a || r == f->b;
            if (++r < line->n) {
                right = NAME(moved)(s, r, f);
            }
        }
    }
    NAME(line) kept = *line;
    *line = *out;
    *out = kept;
    return good;
}

/* ---- how it stands ------------------------------------------------------------------------- */

/* Beyond these a chain goes back and tries another way. */
#define SPREAD_MOST 0.02
#define GAP_BITS 5 /* of the significand that are left beside the least gap */

static int64_t NAME(count_runs)(const NAME(line) * line)
{
    int64_t runs = line->n > 0;
    for (int64_t i = 1; i < line->n; i++) {
        runs += line->label[i] != line->label[i - 1];
    }
    return runs;
}

static bool NAME(is_spread)(const NAME(line) * line, int64_t i, REAL room)
{
    int64_t mark = MARK;
    bool spread = LESS(room, SUB(line->hi[i], line->lo[i]));
    RELEASE(mark);
    return spread;
}

/* The least gap between different labels, and whether merged points are close beside it. */
static far_ln_outcome NAME(inspect)(const far_ln_chain *c, const NAME(line) * line, REAL *least)
{
    bool spread = false, runs = c->mode == FAR_LNNET_RUNS;
    REAL gap = NEW, room = NEW;
    SET_TO(*least, INFINITY);
    for (int64_t i = 1; i < line->n; i++) {
        if (line->label[i] != line->label[i - 1]) {
            SET(gap, SUB(line->lo[i], line->hi[i - 1]));
            SET(room, MUL(NUM(SPREAD_MOST), gap));
            if (LESS(gap, *least)) {
                SET(*least, gap);
            }
            spread |=
                !runs && (NAME(is_spread)(line, i, room) || NAME(is_spread)(line, i - 1, room));
        }
    }
    if (!IS_POSITIVE(*least)) {
        return FAR_LN_MIXED;
    }
    return spread ? FAR_LN_SPREAD : FAR_LN_DONE;
}
