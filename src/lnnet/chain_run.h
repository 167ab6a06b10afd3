/* Part of chain_impl.h: a whole chain. */

/* ---- memory -------------------------------------------------------------------------------- */

/* What is laid out, or counted where there is no base. */
typedef struct NAME(layout) {
    char *base, *at;
    int64_t bits;
} NAME(layout);

static void *NAME(take)(NAME(layout) * a, int64_t count, size_t size)
{
    char *here = a->at;
    a->at += ((size_t)count * size + 63) / 64 * 64;
    return here;
}

static REAL *NAME(take_numbers)(NAME(layout) * a, int64_t count)
{
    REAL *here = NAME(take)(a, count, NUMBER_SIZE(a->bits));
    if (a->base) {
        START(here, a->bits, count);
    }
    return here;
}

static void NAME(lay_line)(NAME(layout) * a, int64_t n, NAME(line) * line)
{
    line->lo = NAME(take_numbers)(a, n);
    line->hi = NAME(take_numbers)(a, n);
    line->label = NAME(take)(a, n, sizeof *line->label);
    line->first = NAME(take)(a, n, sizeof *line->first);
    line->last = NAME(take)(a, n, sizeof *line->last);
}

static void NAME(lay_search)(NAME(layout) * a, int64_t n, far_ln_search *search)
{
    search->lo = NAME(take)(a, n, sizeof *search->lo);
    search->hi = NAME(take)(a, n, sizeof *search->hi);
    search->place = NAME(take)(a, n + 1, sizeof *search->place);
    search->block_cost = NAME(take)(a, n + 1, sizeof *search->block_cost);
    search->block_start = NAME(take)(a, n + 2, sizeof *search->block_start);
    search->weight = NAME(take)(a, n + 3, sizeof *search->weight);
}

/* Lays out everything from `base` on (which may be NULL, to count); returns the bytes. */
static int64_t NAME(lay_out)(far_ln_chain *c, int64_t bits, char *base)
{
    NAME(layout) a = {.base = base, .at = base, .bits = bits};
    int64_t n = c->points->count;
    NAME(state) *s = NAME(take)(&a, 1, sizeof *s);
    NAME(state) t = {.bits = bits, .pad = NAME(take)(&a, 1, PAD_SIZE(bits))};
    NAME(lay_line)(&a, n, &t.now);
    NAME(lay_line)(&a, n, &t.next);
    t.ulo = NAME(take_numbers)(&a, n);
    t.uhi = NAME(take_numbers)(&a, n);
    NAME(lay_search)(&a, n, &t.search);
    t.gaps = NAME(take)(&a, n + 2, sizeof *t.gaps);
    for (int i = 0; i < FAR_LN_KEPT; i++) {
        NAME(lay_line)(&a, n, &t.kept[i]);
    }
    t.row = NAME(take_numbers)(&a, 3 * c->points->d);
    t.entries = NAME(take)(&a, n, sizeof *t.entries);
    c->weights = NAME(take_numbers)(&a, (n + 1) * FAR_LN_LAYER);
    c->thresholds = NAME(take_numbers)(&a, c->classes + 1);
    c->ends = NAME(take_numbers)(&a, 2);
    c->run_label = NAME(take)(&a, c->classes + 1, sizeof *c->run_label);
    if (base) {
        *s = t;
        c->line = s;
    }
    return a.at - base;
}

static far_status NAME(chain_allocate)(const far_ln_ops *o, far_ctx *ctx, far_ln_chain *c)
{
    char *memory = NULL;
    far_status st = far_alloc(ctx, NAME(lay_out)(c, o->bits, NULL), &memory);
    c->memory = memory;
    if (st == FAR_OK) {
        NAME(lay_out)(c, o->bits, memory);
    }
    return st;
}

/* ---- the projection ------------------------------------------------------------------------ */

static int NAME(by_place)(const void *a, const void *b)
{
    const NAME(entry) *x = a, *y = b;
    int order = LESS(y->place, x->place) - LESS(x->place, y->place);
    return order ? order : (x->point > y->point) - (x->point < y->point);
}

/* The projection of a point; *size grows to the sum of |v_j x_j|, which rounding is measured by. */
static REAL NAME(project_point)(const far_ln_chain *c, const double *x, REAL *size)
{
    REAL sum = NEW, sizes = NEW, term = NEW;
    for (int64_t j = 0; j < c->points->d; j++) {
        SET(term, MUL(NUM(c->direction[j]), NUM(x[j])));
        SET(sum, ADD(sum, term));
        SET(sizes, ADD(sizes, ABS(term)));
    }
    if (LESS(*size, sizes)) {
        SET(*size, sizes);
    }
    return sum;
}

/* The places lie where images will. */
static int64_t NAME(project)(const far_ln_chain *c, NAME(state) * s, REAL *size)
{
    int64_t n = 0;
    for (int64_t i = 0; i < c->points->count; i++) {
        SET(s->ulo[n], NAME(project_point)(c, far_ln_point(c->points, i), size));
        if (c->labels[i] >= 0) {
            s->entries[n] = (NAME(entry)){s->ulo[n], i, c->labels[i]};
            n++;
        }
    }
    qsort(s->entries, (size_t)n, sizeof *s->entries, NAME(by_place));
    return n;
}

/* Objects from the sorted points: runs, or points (equal ones of one label together). */
static far_ln_outcome NAME(first_line)(const far_ln_chain *c, const NAME(entry) * e, int64_t n,
                                       NAME(line) * line)
{
    line->n = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t last = line->n - 1;
        bool same = last >= 0 && line->label[last] == e[i].label;
        bool equal = last >= 0 && !LESS(line->hi[last], e[i].place);
        if (equal && !same) {
            return FAR_LN_COLLIDED;
        }
        if (same && (equal || c->mode == FAR_LNNET_RUNS)) {
            SET(line->hi[last], e[i].place);
            line->last[last] = e[i].point;
            continue;
        }
        SET(line->lo[line->n], e[i].place);
        SET(line->hi[line->n], e[i].place);
        line->first[line->n] = line->last[line->n] = e[i].point;
        line->label[line->n++] = e[i].label;
    }
    return FAR_LN_DONE;
}

#define PROJECTION_BITS 4 /* that another order of summation may change */

static far_ln_outcome NAME(start)(far_ln_chain *c, NAME(state) * s)
{
    REAL size = NEW, gap = NEW;
    int64_t n = NAME(project)(c, s, &size);
    far_ln_outcome o = NAME(first_line)(c, s->entries, n, &s->now);
    if (o == FAR_LN_DONE) {
        REAL range = SUB(s->now.hi[s->now.n - 1], s->now.lo[0]);
        o = NAME(inspect)(c, &s->now, &gap);
        s->gaps[0] = NEAR(IS_POSITIVE(range) ? DIV(gap, range) : gap);
        o = LESS(gap, MUL(size, POWER(PROJECTION_BITS - BITS))) ? FAR_LN_COLLIDED : o;
    }
    return o;
}

/* ---- layers -------------------------------------------------------------------------------- */

/* Every label is one interval: as many runs as labels. */
static bool NAME(is_finished)(const far_ln_chain *c, const NAME(line) * line)
{
    int64_t runs = NAME(count_runs)(line);
    if (runs > c->classes) {
        return false;
    }
    for (int64_t i = 1; i < line->n; i++) {
        int64_t before = i - 1;
        while (before >= 0 && line->label[i] != line->label[i - 1] &&
               line->label[before] != line->label[i]) {
            before--;
        }
        if (before >= 0 && line->label[i] != line->label[i - 1]) {
            return false;
        }
    }
    return true;
}

/* A layer that keeps the order: the hinge left of everything. */
static NAME(fold) NAME(unfolded)(const NAME(line) * line)
{
    REAL range = SUB(line->hi[line->n - 1], line->lo[0]);
    range = IS_POSITIVE(range) ? range : NUM(1);
    return (NAME(fold)){.z = SUB(line->lo[0], OVER(range, 2)),
                        .k = DIV(NUM(1), range),
                        .mu = NUM(0),
                        .a = -1,
                        .b = -1};
}

static far_ln_outcome NAME(layer)(far_ln_chain *c, NAME(state) * s, const NAME(fold) * f)
{
    REAL *w = (REAL *)c->weights + c->layers * FAR_LN_LAYER, gap = NEW;
    int64_t before = s->now.n;
    NAME(layer_of)(f, w);
    NAME(move_objects)(c, s, w);
    if (!NAME(restack)(s, f)) {
        return FAR_LN_MIXED;
    }
    far_ln_outcome o = NAME(inspect)(c, &s->now, &gap);
    s->gaps[++c->layers] = NEAR(gap);
    if (o == FAR_LN_DONE && LESS(gap, POWER(GAP_BITS - BITS))) {
        return FAR_LN_NARROW;
    }
    return o == FAR_LN_DONE && f->a >= 0 && s->now.n >= before ? FAR_LN_STUCK : o;
}

static far_ln_outcome NAME(next_fold)(far_ln_chain *c, NAME(state) * s, NAME(fold) * f)
{
    switch (c->mode) {
    case FAR_LNNET_PAPER:
        return NAME(next_paper)(c, s, f);
    case FAR_LNNET_RUNS:
        return NAME(next_runs)(c, s, f);
    case FAR_LN_GATHER:
        return NAME(next_gather)(c, s, f);
    default:
        return NAME(next_merge)(c, s, f);
    }
}

/* ---- going back ---------------------------------------------------------------------------- */

#define KEEP_LAYERS 24 /* between states that are kept */
#define RETURNS_EACH 4 /* to one of them, before the one in front of it is taken */

static void NAME(copy_line)(const NAME(line) * from, NAME(line) * to)
{
    size_t n = (size_t)from->n;
    to->n = from->n;
    for (int64_t i = 0; i < from->n; i++) {
        SET(to->lo[i], from->lo[i]);
        SET(to->hi[i], from->hi[i]);
    }
    memcpy(to->label, from->label, n * sizeof *to->label);
    memcpy(to->first, from->first, n * sizeof *to->first);
    memcpy(to->last, from->last, n * sizeof *to->last);
}

static void NAME(keep)(const far_ln_chain *c, NAME(state) * s)
{
    int64_t slot = s->kept_count++ % FAR_LN_KEPT;
    NAME(copy_line)(&s->now, &s->kept[slot]);
    s->kept_layer[slot] = c->layers;
    if (c->layers > s->trouble) { /* past what made it return */
        s->returns = 0;
    }
}

/* Back to a kept state, an older one every few times. False: no more. */
static bool NAME(go_back)(far_ln_chain *c, NAME(state) * s)
{
    s->trouble = c->layers > s->trouble ? c->layers : s->trouble;
    s->returns++;
    if (s->returns % RETURNS_EACH == 0 && s->kept_count > 1) {
        s->kept_count--;
    }
    int64_t slot = (s->kept_count - 1) % FAR_LN_KEPT;
    if (s->returns >= RETURNS_EACH * FAR_LN_KEPT || s->kept_count < 1) {
        return false;
    }
    NAME(copy_line)(&s->kept[slot], &s->now);
    c->layers = s->kept_layer[slot];
    s->search.warmed = false;
    return true;
}

static far_ln_outcome NAME(step)(far_ln_chain *c, NAME(state) * s)
{
    NAME(fold) f;
    int64_t mark = MARK;
    bool due = s->kept_count == 0 ||
               c->layers >= s->kept_layer[(s->kept_count - 1) % FAR_LN_KEPT] + KEEP_LAYERS;
    bool returns = c->mode == FAR_LNNET_MERGE || c->mode == FAR_LNNET_RUNS;
    if (due && returns) {
        NAME(keep)(c, s);
    }
    far_ln_outcome o = NAME(next_fold)(c, s, &f);
    if (o == FAR_LN_DONE) {
        o = NAME(layer)(c, s, &f);
    }
    RELEASE(mark);
    if (!far_ln_watch_layer(c->watch)) {
        return FAR_LN_CANCELLED;
    }
    return o != FAR_LN_DONE && returns && NAME(go_back)(c, s) ? FAR_LN_DONE : o;
}

static far_ln_outcome NAME(fold_all)(far_ln_chain *c, NAME(state) * s)
{
    far_ln_outcome o = FAR_LN_DONE;
    while (o == FAR_LN_DONE && !NAME(is_finished)(c, &s->now)) {
        o = NAME(step)(c, s);
    }
    if (o == FAR_LN_DONE && c->layers == 0) {
        NAME(fold) f = NAME(unfolded)(&s->now);
        o = NAME(layer)(c, s, &f);
    }
    return o;
}

static void NAME(note_gaps)(far_ln_chain *c, const double *gaps)
{
    c->gap = INFINITY;
    c->final_gap = gaps[c->layers];
    for (int64_t l = 0; l <= c->layers; l++) {
        if (gaps[l] < c->gap) {
            c->gap = gaps[l];
            c->gap_layer = l;
        }
    }
}

static void NAME(finish)(far_ln_chain *c, const NAME(line) * line)
{
    REAL *thresholds = c->thresholds, *ends = c->ends;
    c->runs = 0;
    for (int64_t i = 0; i < line->n; i++) {
        if (i > 0 && line->label[i] != line->label[i - 1]) {
            SET(thresholds[c->runs - 1],
                ADD(line->hi[i - 1], OVER(SUB(line->lo[i], line->hi[i - 1]), 2)));
        }
        if (i == 0 || line->label[i] != line->label[i - 1]) {
            c->run_label[c->runs++] = line->label[i];
        }
    }
    SET(ends[0], line->lo[0]);
    SET(ends[1], line->hi[line->n - 1]);
}

static void NAME(chain_run)(far_ln_chain *c)
{
    NAME(state) *s = c->line;
    OPEN_PAD(s->pad, s->bits);
    c->layers = c->confusions = 0;
    s->search.warmed = false;
    s->kept_count = s->returns = 0;
    s->trouble = -1;
    s->gathered = 1;
    c->outcome = NAME(start)(c, s);
    if (c->outcome == FAR_LN_DONE) {
        c->outcome = NAME(fold_all)(c, s);
    }
    if (c->outcome == FAR_LN_DONE) {
        NAME(finish)(c, &s->now);
        NAME(note_gaps)(c, s->gaps);
    }
}
