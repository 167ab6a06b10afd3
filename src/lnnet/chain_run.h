/* Part of chain_impl.h: a whole chain. */

/* ---- memory -------------------------------------------------------------------------------- */

static char *NAME(take)(char **at, int64_t count, size_t size)
{
    char *here = *at;
    *at += ((size_t)count * size + 63) / 64 * 64;
    return here;
}

static void NAME(lay_line)(char **at, int64_t n, NAME(line) * line)
{
    line->lo = (REAL *)NAME(take)(at, n, sizeof(REAL));
    line->hi = (REAL *)NAME(take)(at, n, sizeof(REAL));
    line->label = (int32_t *)NAME(take)(at, n, sizeof(int32_t));
    line->first = (int64_t *)NAME(take)(at, n, sizeof(int64_t));
    line->last = (int64_t *)NAME(take)(at, n, sizeof(int64_t));
}

/* Lays out everything from `base` on (which may be NULL, to count); returns the bytes. */
static int64_t NAME(lay_out)(far_ln_chain *c, char *base)
{
    char *at = base;
    int64_t n = c->points->count;
    NAME(state) *s = (NAME(state) *)NAME(take)(&at, 1, sizeof *s);
    NAME(state) t = {0};
    NAME(lay_line)(&at, n, &t.now);
    NAME(lay_line)(&at, n, &t.next);
    t.ulo = (REAL *)NAME(take)(&at, n, sizeof(REAL));
    t.uhi = (REAL *)NAME(take)(&at, n, sizeof(REAL));
    t.search.lo = (double *)NAME(take)(&at, n, sizeof(double));
    t.search.hi = (double *)NAME(take)(&at, n, sizeof(double));
    t.search.place = (double *)NAME(take)(&at, n + 1, sizeof(double));
    t.search.block_cost = (double *)NAME(take)(&at, n + 1, sizeof(double));
    t.search.block_start = (int64_t *)NAME(take)(&at, n + 2, sizeof(int64_t));
    t.search.weight = (double *)NAME(take)(&at, n + 3, sizeof(double));
    t.gaps = (double *)NAME(take)(&at, n + 2, sizeof(double));
    for (int i = 0; i < FAR_LN_KEPT; i++) {
        NAME(lay_line)(&at, n, &t.kept[i]);
    }
    t.row = (REAL *)NAME(take)(&at, 3 * c->points->d, sizeof(REAL));
    c->weights = NAME(take)(&at, (n + 1) * FAR_LN_LAYER, sizeof(REAL));
    c->thresholds = NAME(take)(&at, c->classes + 1, sizeof(REAL));
    c->ends = NAME(take)(&at, 2, sizeof(REAL));
    c->run_label = (int32_t *)NAME(take)(&at, c->classes + 1, sizeof(int32_t));
    if (base) {
        *s = t;
        c->line = s;
    }
    return at - base;
}

static far_status NAME(chain_allocate)(const far_ln_ops *o, far_ctx *ctx, far_ln_chain *c)
{
    (void)o;
    char *memory = NULL;
    far_status st = far_alloc(ctx, NAME(lay_out)(c, NULL), &memory);
    c->memory = memory;
    if (st == FAR_OK) {
        NAME(lay_out)(c, memory);
    }
    return st;
}

/* ---- the projection ------------------------------------------------------------------------ */

typedef struct NAME(entry) {
    REAL place;
    int64_t point;
    int32_t label;
} NAME(entry);

static int NAME(by_place)(const void *a, const void *b)
{
    const NAME(entry) *x = a, *y = b;
    int order = (x->place > y->place) - (x->place < y->place);
    return order ? order : (x->point > y->point) - (x->point < y->point);
}

/* *size: the largest sum of |v_j x_j|, which rounding is measured by. */
static int64_t NAME(project)(const far_ln_chain *c, NAME(entry) * entries, REAL *size)
{
    const far_ln_points *p = c->points;
    int64_t n = 0;
    *size = 0;
    for (int64_t i = 0; i < p->count; i++) {
        const double *x = far_ln_point(p, i);
        REAL sum = 0, sizes = 0;
        for (int64_t j = 0; j < p->d; j++) {
            REAL term = (REAL)c->direction[j] * (REAL)x[j];
            sum += term;
            sizes += term < 0 ? -term : term;
        }
        *size = sizes > *size ? sizes : *size;
        if (c->labels[i] >= 0) {
            entries[n++] = (NAME(entry)){sum, i, c->labels[i]};
        }
    }
    qsort(entries, (size_t)n, sizeof *entries, NAME(by_place));
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
        bool equal = last >= 0 && !(e[i].place > line->hi[last]);
        if (equal && !same) {
            return FAR_LN_COLLIDED;
        }
        if (same && (equal || c->mode == FAR_LNNET_RUNS)) {
            line->hi[last] = e[i].place;
            line->last[last] = e[i].point;
            continue;
        }
        line->lo[line->n] = line->hi[line->n] = e[i].place;
        line->first[line->n] = line->last[line->n] = e[i].point;
        line->label[line->n++] = e[i].label;
    }
    return FAR_LN_DONE;
}

#define PROJECTION_BITS 4 /* that another order of summation may change */

/* The entries lie where the weights will: as many numbers as six a point are enough. */
static far_ln_outcome NAME(start)(far_ln_chain *c, NAME(state) * s)
{
    _Static_assert(sizeof(NAME(entry)) <= FAR_LN_LAYER * sizeof(REAL), "entries fit");
    NAME(entry) *entries = c->weights;
    REAL size;
    int64_t n = NAME(project)(c, entries, &size);
    far_ln_outcome o = NAME(first_line)(c, entries, n, &s->now);
    if (o == FAR_LN_DONE) {
        REAL range = s->now.hi[s->now.n - 1] - s->now.lo[0], gap;
        o = NAME(inspect)(c, &s->now, &gap);
        s->gaps[0] = (double)(range > 0 ? gap / range : gap);
        o = gap < size * NAME(fraction)(BITS - PROJECTION_BITS) ? FAR_LN_COLLIDED : o;
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
    REAL range = line->hi[line->n - 1] - line->lo[0];
    range = range > 0 ? range : 1;
    return (NAME(fold)){.z = line->lo[0] - range / 2, .k = 1 / range, .a = -1, .b = -1};
}

static far_ln_outcome NAME(layer)(far_ln_chain *c, NAME(state) * s, const NAME(fold) * f)
{
    REAL *w = (REAL *)c->weights + c->layers * FAR_LN_LAYER, gap;
    int64_t before = s->now.n;
    NAME(layer_of)(f, w);
    NAME(move_objects)(c, s, w);
    if (!NAME(restack)(s, f)) {
        return FAR_LN_MIXED;
    }
    far_ln_outcome o = NAME(inspect)(c, &s->now, &gap);
    s->gaps[++c->layers] = (double)gap;
    if (o == FAR_LN_DONE && gap < NAME(fraction)(BITS - GAP_BITS)) {
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
    memcpy(to->lo, from->lo, n * sizeof *to->lo);
    memcpy(to->hi, from->hi, n * sizeof *to->hi);
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
    bool due = s->kept_count == 0 ||
               c->layers >= s->kept_layer[(s->kept_count - 1) % FAR_LN_KEPT] + KEEP_LAYERS;
    if (due && c->mode != FAR_LNNET_PAPER) {
        NAME(keep)(c, s);
    }
    far_ln_outcome o = NAME(next_fold)(c, s, &f);
    if (o == FAR_LN_DONE) {
        o = NAME(layer)(c, s, &f);
    }
    if (!far_ln_watch_layer(c->watch)) {
        return FAR_LN_CANCELLED;
    }
    return o != FAR_LN_DONE && c->mode != FAR_LNNET_PAPER && NAME(go_back)(c, s) ? FAR_LN_DONE : o;
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
            thresholds[c->runs - 1] = line->hi[i - 1] + (line->lo[i] - line->hi[i - 1]) / 2;
        }
        if (i == 0 || line->label[i] != line->label[i - 1]) {
            c->run_label[c->runs++] = line->label[i];
        }
    }
    ends[0] = line->lo[0];
    ends[1] = line->hi[line->n - 1];
    c->range = (double)(ends[1] - ends[0]);
}

static void NAME(chain_run)(far_ln_chain *c)
{
    NAME(state) *s = c->line;
    c->layers = c->confusions = 0;
    s->search.warmed = false;
    s->kept_count = s->returns = 0;
    s->trouble = -1;
    c->outcome = NAME(start)(c, s);
    if (c->outcome == FAR_LN_DONE) {
        c->outcome = NAME(fold_all)(c, s);
    }
    if (c->outcome == FAR_LN_DONE) {
        NAME(finish)(c, &s->now);
        NAME(note_gaps)(c, s->gaps);
    }
}
