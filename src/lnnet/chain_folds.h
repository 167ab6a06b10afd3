/* Part of chain_impl.h: from what the search chose to a fold in the chain's own numbers. */

static inline REAL NAME(image)(const NAME(fold) * f, REAL x)
{
    REAL t = SUB(x, f->z), h1 = MUL(f->k, t), h2 = ADD(NUM(1), MUL(f->mu, t));
    return DIV(NEG(h2), SQRT(ADD(MUL(h1, h1), MUL(h2, h2))));
}

static REAL NAME(centre)(const NAME(line) * line, int64_t i)
{
    return ADD(line->lo[i], OVER(SUB(line->hi[i], line->lo[i]), 2));
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
        out->lo[i] = DIFFERENCE(line->lo[i], origin);
        out->hi[i] = DIFFERENCE(line->hi[i], origin);
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

/* The object of the label of `of` among those before it; -1: none. */
static int64_t NAME(find_label)(const NAME(line) * line, int64_t of)
{
    int64_t a = of - 1;
    while (a >= 0 && line->label[a] != line->label[of]) {
        a--;
    }
    return a;
}

/* The first label that comes twice, from the front. There is one: the line is not finished. */
static void NAME(first_pair)(const NAME(line) * line, int64_t *a, int64_t *b)
{
    *b = 0;
    do {
        ++*b;
        assert(*b < line->n);
        *a = NAME(find_label)(line, *b);
    } while (*a < 0);
}

/* The fold with f(a) = f(b) = 1 / sqrt(1 + omega^2), hinge at z. */
static NAME(fold) NAME(merging)(REAL a, REAL b, REAL z, REAL omega)
{
    REAL left = DIV(NUM(1), SUB(z, a)), right = DIV(NUM(1), SUB(b, z));
    return (NAME(fold)){
        .z = z, .k = OVER(MUL(omega, ADD(left, right)), 2), .mu = OVER(SUB(left, right), 2)};
}

static far_ln_outcome NAME(next_merge)(far_ln_chain *c, NAME(state) * s, NAME(fold) * out)
{
    int64_t a, b;
    far_ln_choice choice;
    NAME(first_pair)(&s->now, &a, &b);
    NAME(show_line)(c, s);
    if (!far_ln_search_merge(&s->search, a, b, c->classes, &choice)) {
        return FAR_LN_STUCK;
    }
    REAL low = NAME(centre)(&s->now, a), high = NAME(centre)(&s->now, b);
    REAL z = ADD(low, MUL(NUM(choice.zeta), SUB(high, low)));
    *out = NAME(merging)(low, high, z, NUM(choice.omega));
    out->a = a;
    out->b = b;
    return FAR_LN_DONE;
}

/* ---- gathering ----------------------------------------------------------------------------- */

static far_ln_outcome NAME(next_gather)(far_ln_chain *c, NAME(state) * s, NAME(fold) * out)
{
    const NAME(line) *line = &s->now;
    int64_t b = s->gathered, a = NAME(find_label)(line, b);
    far_ln_choice choice;
    NAME(show_line)(c, s);
    if (!far_ln_search_gather(&s->search, b, a, &choice)) {
        return FAR_LN_STUCK;
    }
    REAL low = NAME(centre)(line, a >= 0 ? a : 0), high = NAME(centre)(line, b);
    REAL before = line->hi[b - 1];
    low = a >= 0 ? low : SUB(low, MUL(NUM(choice.eta), SUB(high, low)));
    REAL z = ADD(before, MUL(NUM(choice.zeta), SUB(line->lo[b], before)));
    *out = NAME(merging)(low, high, z, NUM(choice.omega));
    out->a = a;
    out->b = a >= 0 ? b : -1;
    s->gathered += a < 0;
    return FAR_LN_DONE;
}

/* ---- runs ---------------------------------------------------------------------------------- */

/* The hinge: zeta counts the gap before the second run, the run and the gap behind it as 1 each. */
static REAL NAME(hinge)(const NAME(line) * line, double zeta)
{
    REAL corner[4] = {line->hi[0], line->lo[1], line->hi[1], line->lo[2]};
    int part = zeta < 1 ? 0 : zeta < 2 ? 1 : 2;
    REAL share = SUB(NUM(zeta), NUM(part));
    return ADD(corner[part], MUL(share, SUB(corner[part + 1], corner[part])));
}

/* As in search_runs.c, where it is explained. */
static NAME(fold) NAME(bringing)(const NAME(line) * line, const far_ln_choice *choice)
{
    const REAL *lo = line->lo, *hi = line->hi;
    REAL z = NAME(hinge)(line, choice->zeta), one = NUM(1);
    REAL left = DIV(one, SUB(z, lo[0])), back = DIV(one, SUB(lo[2], z));
    REAL upper = SUB(left, line->n > 3 ? DIV(one, SUB(lo[3], z)) : NUM(0));
    REAL eta = NUM(choice->eta);
    REAL down = OVER(MUL(DIV(eta, SUB(one, eta)), ADD(left, back)), 2);
    if (LESS(lo[1], z)) {
        REAL bound = SUB(DIV(one, SUB(z, lo[1])), back);
        upper = LESS(bound, upper) ? bound : upper;
    }
    if (LESS(z, hi[1])) {
        REAL lower = SUB(DIV(one, SUB(z, hi[0])), DIV(one, SUB(hi[1], z)));
        down = MUL(eta, SUB(upper, lower));
    }
    REAL mu = OVER(SUB(upper, down), 2);
    REAL k = MUL(NUM(choice->omega), SUB(left, mu));
    return (NAME(fold)){.z = z, .k = k, .mu = mu, .a = 0, .b = 2};
}

static far_ln_outcome NAME(next_runs)(far_ln_chain *c, NAME(state) * s, NAME(fold) * out)
{
    far_ln_choice choice;
    assert(s->now.n >= 3); /* a line of two runs is finished */
    NAME(show_line)(c, s);
    if (!far_ln_search_runs(&s->search, &choice)) {
        return FAR_LN_STUCK;
    }
    *out = NAME(bringing)(&s->now, &choice);
    return FAR_LN_DONE;
}
