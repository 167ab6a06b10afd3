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
    memset(m.weight, 0, (size_t)(rows * cols + rows) * sizeof *m.weight);
    *at += rows * cols + rows;
    return m;
}

static REAL NAME(vote_scale)(void)
{
    return NAME(plane_scale)(1, 0);
}

/* From the state: +1 for label 1, -1 for label 0. */
static void NAME(set_vote)(const far_ln_chain *c, REAL *w)
{
    const REAL *thresholds = c->thresholds, *ends = c->ends;
    REAL scale = NAME(vote_scale)(), slope, threshold;
    bool up = c->run_label[c->runs - 1] == 1;
    if (c->runs > 1) {
        threshold = thresholds[0];
        slope = 2 * VOTE / (REAL)c->final_gap;
    } else { /* all of one label: stand below them */
        threshold = ends[0] - 1;
        slope = VOTE;
    }
    slope = up ? slope : -slope;
    NAME(plane)(scale * slope, 0, w);
    NAME(plane)(-scale * slope * threshold, scale, w + 3);
}

static void NAME(set_first)(const far_ln_plan *plan, int64_t group, NAME(matrix) * m)
{
    const far_ln_chain *c = &plan->chain[group];
    const REAL *w = c->weights;
    for (int64_t i = 0; i < 3; i++) {
        REAL *row = m->weight + (3 * group + i) * m->cols;
        for (int64_t j = 0; j < m->cols; j++) {
            row[j] = w[i] * (REAL)c->direction[j];
        }
        m->bias[3 * group + i] = w[3 + i];
    }
}

/* A vote is repeated until the longest chain has ended. */
static void NAME(set_repeat)(int64_t group, NAME(matrix) * m)
{
    REAL w[3], scale = NAME(vote_scale)();
    NAME(plane)(scale * VOTE, 0, w);
    NAME(plane)(0, scale, m->bias + 3 * group);
    for (int64_t i = 0; i < 3; i++) {
        REAL *row = m->weight + (3 * group + i) * m->cols + 3 * group;
        row[0] = w[i] / SQRT((REAL)6);
        row[1] = -row[0];
    }
}

static void NAME(set_later)(const far_ln_plan *plan, int64_t group, int64_t layer, NAME(matrix) * m)
{
    const far_ln_chain *c = &plan->chain[group];
    REAL vote[FAR_LN_LAYER];
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
        m->weight[(3 * group + i) * m->cols + 3 * group + 2] = w[i];
        m->bias[3 * group + i] = w[3 + i];
    }
}

/* Output of class k: the votes for it, 0 or 2 each. */
static void NAME(read_votes)(const far_ln_plan *plan, NAME(matrix) * m)
{
    REAL unit = 1 / SQRT((REAL)6);
    for (int64_t k = 0; k < m->rows; k++) {
        m->bias[k] = (REAL)plan->offset[k];
    }
    for (int64_t g = 0; g < plan->form.groups; g++) {
        REAL *row = m->weight + plan->voice[g] * m->cols + 3 * g;
        row[0] = unit;
        row[1] = -unit;
    }
}

/* The r-th run from the left has output r (y - middle) / range less what makes neighbours equal at
 * the threshold between them; classes without a point lie below all of these. */
static void NAME(read_runs)(const far_ln_chain *c, NAME(matrix) * m)
{
    const REAL *thresholds = c->thresholds, *ends = c->ends;
    REAL range = ends[1] - ends[0], scale = 1 / (range > 0 ? range : 1), bias = 0;
    for (int64_t k = 0; k < m->rows; k++) {
        m->bias[k] = -1; /* a point's own output is at least 0 */
    }
    for (int32_t r = 0; r < c->runs; r++) {
        int32_t k = c->run_label[r];
        if (r > 0) {
            bias -= (thresholds[r - 1] - ends[0]) * scale;
        }
        m->weight[k * m->cols + 2] = (REAL)r * scale;
        m->bias[k] = bias - (REAL)r * ends[0] * scale;
    }
}

static far_status NAME(assemble)(const far_ln_ops *o, far_ctx *ctx, const far_ln_plan *plan,
                                 void *parameters)
{
    (void)o;
    (void)ctx;
    REAL *at = parameters;
    int64_t width = 3 * plan->form.groups;
    for (int64_t l = 0; l < plan->form.layers; l++) {
        NAME(matrix) m = NAME(next_matrix)(&at, width, l == 0 ? plan->form.d : width);
        for (int64_t g = 0; g < plan->form.groups; g++) {
            if (l == 0) {
                NAME(set_first)(plan, g, &m);
            } else {
                NAME(set_later)(plan, g, l, &m);
            }
        }
    }
    NAME(matrix) last = NAME(next_matrix)(&at, plan->form.classes, width);
    if (plan->votes) {
        NAME(read_votes)(plan, &last);
    } else {
        NAME(read_runs)(&plan->chain[0], &last);
    }
    return FAR_OK;
}
