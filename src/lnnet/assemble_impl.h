/* Part of precision_impl.h: the parameters of the whole network. */

#define VOTE 64 /* slope of a vote: it ends within 1 / (2 VOTE^2) of +1 or -1 */

typedef struct NAME(matrix) {
    REAL *weight, *bias;
    int64_t rows, cols;
} NAME(matrix);

/* The next layer of rows x cols; moves *at behind it. */
static NAME(matrix) NAME(next_matrix)(REAL **at, int64_t rows, int64_t cols)
{
    NAME(matrix) m = {*at, *at + rows * cols, rows, cols};
    for (int64_t i = 0; i < rows * cols + rows; i++) {
        SET_TO(m.weight[i], 0);
    }
    *at += rows * cols + rows;
    return m;
}

static REAL NAME(vote_scale)(void)
{
    return NAME(plane_scale)(NUM(1), NUM(0));
}

/* From the state: +1 for label 1, -1 for label 0. */
static void NAME(set_vote)(const far_ln_chain *c, REAL *w)
{
    const REAL *thresholds = c->thresholds, *ends = c->ends;
    bool up = c->run_label[c->runs - 1] == 1;
    REAL scale = NAME(vote_scale)();
    /* All of one label: stand below them. */
    REAL threshold = c->runs > 1 ? thresholds[0] : SUB(ends[0], NUM(1));
    REAL slope = c->runs > 1 ? DIV(NUM(2 * VOTE), NUM(c->final_gap)) : NUM(VOTE);
    slope = up ? slope : NEG(slope);
    NAME(plane)(MUL(scale, slope), NUM(0), w);
    NAME(plane)(MUL(MUL(NEG(scale), slope), threshold), scale, w + 3);
}

static void NAME(set_first)(const far_ln_plan *plan, int64_t group, NAME(matrix) * m)
{
    const far_ln_chain *c = &plan->chain[group];
    const REAL *w = c->weights;
    for (int64_t i = 0; i < 3; i++) {
        REAL *row = m->weight + (3 * group + i) * m->cols;
        for (int64_t j = 0; j < m->cols; j++) {
            SET(row[j], MUL(w[i], NUM(c->direction[j])));
        }
        SET(m->bias[3 * group + i], w[3 + i]);
    }
}

/* A vote is repeated until the longest chain has ended. */
static void NAME(set_repeat)(int64_t group, NAME(matrix) * m)
{
    REAL w[3] = {NEW, NEW, NEW}, scale = NAME(vote_scale)(), root = SQRT(NUM(6));
    NAME(plane)(TIMES(scale, VOTE), NUM(0), w);
    NAME(plane)(NUM(0), scale, m->bias + 3 * group);
    for (int64_t i = 0; i < 3; i++) {
        REAL *row = m->weight + (3 * group + i) * m->cols + 3 * group;
        SET(row[0], DIV(w[i], root));
        SET(row[1], NEG(row[0]));
    }
}

static void NAME(set_later)(const far_ln_plan *plan, int64_t group, int64_t layer, NAME(matrix) * m)
{
    const far_ln_chain *c = &plan->chain[group];
    REAL vote[FAR_LN_LAYER] = {NEW, NEW, NEW, NEW, NEW, NEW};
    const REAL *w = (const REAL *)c->weights + layer * FAR_LN_LAYER;
    if (layer > c->layers) {
        NAME(set_repeat)(group, m);
        return;
    }
    if (layer == c->layers) {
        NAME(set_vote)(c, vote);
        w = vote;
    }
    for (int64_t i = 0; i < 3; i++) {
        SET(m->weight[(3 * group + i) * m->cols + 3 * group + 2], w[i]);
        SET(m->bias[3 * group + i], w[3 + i]);
    }
}

/* Output of class k: the votes for it, 0 or 2 each. */
static void NAME(read_votes)(const far_ln_plan *plan, NAME(matrix) * m)
{
    REAL unit = DIV(NUM(1), SQRT(NUM(6)));
    for (int64_t k = 0; k < m->rows; k++) {
        SET_TO(m->bias[k], plan->offset[k]);
    }
    for (int64_t g = 0; g < plan->form.groups; g++) {
        REAL *row = m->weight + plan->voice[g] * m->cols + 3 * g;
        SET(row[0], unit);
        SET(row[1], NEG(unit));
    }
}

/* The r-th run from the left has output r (y - middle) / range less what makes neighbours equal at
 * the threshold between them; classes without a point lie below all of these. */
static void NAME(read_runs)(const far_ln_chain *c, NAME(matrix) * m)
{
    const REAL *thresholds = c->thresholds, *ends = c->ends;
    REAL range = SUB(ends[1], ends[0]), bias = NEW;
    REAL scale = DIV(NUM(1), IS_POSITIVE(range) ? range : NUM(1));
    for (int64_t k = 0; k < m->rows; k++) {
        SET_TO(m->bias[k], -1); /* a point's own output is at least 0 */
    }
    for (int32_t r = 0; r < c->runs; r++) {
        int32_t k = c->run_label[r];
        if (r > 0) {
            SET(bias, SUB(bias, MUL(SUB(thresholds[r - 1], ends[0]), scale)));
        }
        SET(m->weight[k * m->cols + 2], TIMES(scale, r));
        SET(m->bias[k], SUB(bias, MUL(TIMES(ends[0], r), scale)));
    }
}

/* Layer l of the chain of a group. */
static void NAME(set_layer)(const far_ln_plan *plan, int64_t group, int64_t l, NAME(matrix) * m)
{
    int64_t mark = MARK;
    if (l == 0) {
        NAME(set_first)(plan, group, m);
    } else {
        NAME(set_later)(plan, group, l, m);
    }
    RELEASE(mark);
}

static void NAME(assemble)(const far_ln_plan *plan, void *parameters)
{
    const NAME(state) *s = plan->chain[0].line; /* whose pad is free now */
    REAL *at = parameters;
    int64_t width = 3 * plan->form.groups;
    OPEN_PAD(s->pad, s->bits);
    START(parameters, s->bits, far_ln_parameters(&plan->form));
    for (int64_t l = 0; l < plan->form.layers; l++) {
        NAME(matrix) m = NAME(next_matrix)(&at, width, l == 0 ? plan->form.d : width);
        for (int64_t g = 0; g < plan->form.groups; g++) {
            NAME(set_layer)(plan, g, l, &m);
        }
    }
    NAME(matrix) last = NAME(next_matrix)(&at, plan->form.classes, width);
    if (plan->votes) {
        NAME(read_votes)(plan, &last);
    } else {
        NAME(read_runs)(&plan->chain[0], &last);
    }
}
