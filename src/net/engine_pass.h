/* Part of engine_impl.h: the passes through all stages. */

/* ---- strips -------------------------------------------------------------------------------- */

/* What every pass does, a few rows at a time: they go through all stages while they are in the
 * first-level cache. Statistics of the block need all rows at every stage, and weights beyond the
 * second-level cache should not come by too often. Images and sequences go one or a few at a time
 * up to the tail, whose layers then have all of them: a product with a single row would wait for
 * its weights. */
static int64_t NAME(strip_count)(const far_pass *p)
{
    const far_engine *e = p->engine;
    bool heavy = e->weights * (int64_t)sizeof(REAL) > STRIP_WEIGHT_BYTES && !e->shaped;
    int64_t rows = e->shaped ? (4 * STRIP_ROWS + e->positions - 1) / e->positions : STRIP_ROWS;
    return (p->needs & FAR_PASS_BATCH) || heavy ? 1 : (p->rows + rows - 1) / rows;
}

static void NAME(set_strip)(NAME(strip) * t, int64_t k, int64_t count)
{
    t->first = t->p->rows * k / count;
    t->rows = t->p->rows * (k + 1) / count - t->first;
}

static void NAME(set_whole)(NAME(strip) * t)
{
    t->first = 0;
    t->rows = t->p->rows;
}

/* ---- skips --------------------------------------------------------------------------------- */

/* out = a + b, rows of out ldo apart; a may be out */
static void NAME(add_rows)(int64_t rows, int64_t n, NAME(rows) a, NAME(rows) b, REAL *out,
                           int64_t ldo)
{
    for (int64_t r = 0; r < rows; r++) {
        const REAL *ar = a.data + r * a.ld, *restrict br = b.data + r * b.ld;
        REAL *to = out + r * ldo;
#pragma GCC ivdep
        for (int64_t j = 0; j < n; j++) {
            to[j] = ar[j] + br[j];
        }
    }
}

/* Of what goes past the layers of a skip, the positions that the sum has: all or the last. */
static NAME(rows) NAME(joined_rows)(const far_stage *s, NAME(rows) past)
{
    bool all = s->joined == s->before;
    return all ? past : (NAME(rows)){past.data + (s->before - 1) * s->out, s->before * s->out};
}

static void NAME(skip_forward)(const NAME(strip) * t, const far_stage *s)
{
    NAME(rows) in = NAME(rows_of)(t, s->input);
    NAME(rows) twin = NAME(joined_rows)(s, NAME(rows_of)(t, s->twin));
    NAME(add_rows)
    (NAME(lines_of)(t, s), s->out, in, twin, NAME(value_at)(t, s->output), s->out);
}

static void NAME(skip_in_backward)(const NAME(strip) * t, const far_stage *s)
{
    REAL *from = NAME(gradient_at)(t, s->from);
    NAME(rows) g = NAME(joined_rows)(s, (NAME(rows)){from, s->out});
    NAME(rows) twin = {NAME(gradient_at)(t, s->twin_gradient), s->out};
    NAME(add_rows)(t->rows * s->joined, s->out, g, twin, from + (g.data - from), g.ld);
}

/* What was added at the end has the gradient of the sum. */
static void NAME(skip_turn_backward)(const NAME(strip) * t, const far_stage *s)
{
    const REAL *sum = NAME(gradient_at)(t, s->twin_gradient);
    int64_t width = t->p->engine->gradients.width[s->twin_gradient];
    memcpy(NAME(gradient_at)(t, s->from), sum, (size_t)(t->rows * width) * sizeof *sum);
}

static void NAME(skip_turn_tangent)(const NAME(strip) * t, const far_stage *s)
{
    const REAL *in = NAME(tangent_at)(t, s->tangent_twin);
    REAL *to = NAME(tangent_at)(t, s->tangent_to);
    memcpy(to, in, (size_t)(NAME(lines_of)(t, s) * s->out) * sizeof *to);
}

static void NAME(skip_out_backward)(const NAME(strip) * t, const far_stage *s)
{
    REAL *to = NAME(gradient_at)(t, s->to), *from = NAME(gradient_at)(t, s->from);
    memcpy(from, to, (size_t)(NAME(lines_of)(t, s) * s->out) * sizeof *to);
}

static void NAME(skip_in_tangent)(const NAME(strip) * t, const far_stage *s)
{
    const REAL *in = NAME(tangent_at)(t, s->tangent_from);
    REAL *to = NAME(tangent_at)(t, s->tangent_to);
    memcpy(to, in, (size_t)(NAME(lines_of)(t, s) * s->out) * sizeof *to);
}

static void NAME(skip_out_tangent)(const NAME(strip) * t, const far_stage *s)
{
    NAME(rows) in = {NAME(tangent_at)(t, s->tangent_from), s->out};
    NAME(rows) past = {NAME(tangent_at)(t, s->tangent_twin), s->out};
    NAME(add_rows)
    (NAME(lines_of)(t, s), s->out, in, NAME(joined_rows)(s, past),
     NAME(tangent_at)(t, s->tangent_to), s->out);
}

/* ---- what each kind of stage does ---------------------------------------------------------- */

/* NULL: nothing. gradient: of its parameters, where backward does not add them already. */
typedef struct NAME(stage_ops) {
    void (*set)(far_weights *w, const far_stage *s, const REAL *packed, int64_t slice,
                int64_t slices);
    void (*forward)(const NAME(strip) * t, const far_stage *s);
    void (*backward)(const NAME(strip) * t, const far_stage *s);
    void (*gradient)(const NAME(strip) * t, const far_stage *s);
    void (*tangent)(const NAME(strip) * t, const far_stage *s);
} NAME(stage_ops);

#define STAGE(word)                                                                                \
    .forward = NAME(word##_forward), .backward = NAME(word##_backward),                            \
    .tangent = NAME(word##_tangent)
static const NAME(stage_ops) NAME(stages)[FAR_STAGE_KINDS] = {
    [FAR_STAGE_LINEAR] = {NAME(linear_set), STAGE(linear), .gradient = NAME(linear_gradient)},
    [FAR_STAGE_POINT] = {NAME(point_set), STAGE(point)},
    [FAR_STAGE_SKIP_IN] = {.backward = NAME(skip_in_backward), .tangent = NAME(skip_in_tangent)},
    [FAR_STAGE_SKIP_TURN] = {.backward = NAME(skip_turn_backward),
                             .tangent = NAME(skip_turn_tangent)},
    [FAR_STAGE_SKIP_OUT] = {.forward = NAME(skip_forward),
                            .backward = NAME(skip_out_backward),
                            .tangent = NAME(skip_out_tangent)},
    [FAR_STAGE_INPUT] = {STAGE(input)},
    [FAR_STAGE_TABLE] = {NAME(table_set), STAGE(table), .gradient = NAME(table_gradient)},
    [FAR_STAGE_POOL] = {STAGE(pool)},
    [FAR_STAGE_ATTEND] = {STAGE(attend)},
    [FAR_STAGE_GATHER] = {STAGE(gather)},
};
#undef STAGE

static void NAME(set)(far_weights *w, const void *packed, int64_t slice, int64_t slices)
{
    const far_engine *e = w->engine;
    for (int64_t k = 0; k < e->stage_count; k++) {
        const far_stage *s = &e->stages[k];
        if (NAME(stages)[s->kind].set) {
            NAME(stages)[s->kind].set(w, s, packed, slice, slices);
        }
    }
}

/* ---- forwards ------------------------------------------------------------------------------ */

static void NAME(strip_forward)(const NAME(strip) * t, int64_t begin, int64_t end)
{
    for (const far_stage *s = t->p->engine->stages + begin; s < t->p->engine->stages + end; s++) {
        if (NAME(stages)[s->kind].forward) {
            NAME(stages)[s->kind].forward(t, s);
        }
    }
}

static void NAME(forward)(far_pass *p, const far_weights *w)
{
    const far_engine *e = p->engine;
    int64_t strips = NAME(strip_count)(p);
    NAME(strip) t = {.p = p, .w = w};
    for (int64_t i = 0; i < strips; i++) {
        NAME(set_strip)(&t, i, strips);
        NAME(strip_forward)(&t, 0, e->tail);
    }
    NAME(set_whole)(&t);
    NAME(strip_forward)(&t, e->tail, e->stage_count);
}

/* ---- backwards ----------------------------------------------------------------------------- */

static bool NAME(wants_backward)(const NAME(strip) * t, const far_stage *s)
{
    bool needed = (s->from > 0 || t->p->engine->input_parameters) && !s->idle;
    return needed || t->dx; /* else nobody asks for gradients of the inputs */
}

static void NAME(strip_backward)(const NAME(strip) * t, int64_t begin, int64_t end)
{
    const far_engine *e = t->p->engine;
    for (int64_t k = end - 1; k >= begin; k--) {
        if (NAME(wants_backward)(t, &e->stages[k])) {
            NAME(stages)[e->stages[k].kind].backward(t, &e->stages[k]);
        }
    }
}

/* Weights' gradients; networks with positions: some rows at a time. */
static void NAME(stage_gradient)(NAME(strip) * t, const far_stage *s)
{
    const far_pass *p = t->p;
    int64_t few = p->engine->shaped ? far_engine_lines(p->engine) / s->after : p->rows;
    for (int64_t first = 0; first < p->rows; first += few) {
        t->first = first;
        t->rows = p->rows - first < few ? p->rows - first : few;
        NAME(stages)[s->kind].gradient(t, s);
    }
}

static void NAME(backward)(far_pass *p, const far_weights *w, const void *dout, void *gradient,
                           void *dx)
{
    const far_engine *e = p->engine;
    int64_t outputs = e->net->info.outputs;
    int64_t strips = dx ? 1 : NAME(strip_count)(p); /* weights may have to be turned */
    NAME(strip) t = {.p = p, .w = w, .gradient = gradient, .dx = dx, .rows = p->rows};
    REAL *last = NAME(gradient_at)(&t, e->stages[e->stage_count - 1].to);
    memcpy(last, dout, (size_t)(p->rows * outputs) * sizeof *last);
    NAME(strip_backward)(&t, e->tail, e->stage_count);
    for (int64_t i = 0; i < strips; i++) {
        NAME(set_strip)(&t, i, strips);
        NAME(strip_backward)(&t, 0, e->tail);
    }
    for (int64_t k = 0; gradient && k < e->stage_count; k++) {
        if (NAME(stages)[e->stages[k].kind].gradient) {
            NAME(stage_gradient)(&t, &e->stages[k]);
        }
    }
}

static void NAME(layer_gradient)(far_pass *p, const far_weights *w, const far_stage *s, int64_t row,
                                 void *gradient)
{
    const NAME(strip) t = {.p = p, .w = w, .gradient = gradient, .first = row, .rows = 1};
    NAME(stages)[s->kind].gradient(&t, s);
}

/* Fewer outputs than this are taken one by one. */
#define EACH_LEAST 4

/* A convolution whose gradients are listed. */
static void NAME(conv_listed)(const NAME(strip) * t, const far_stage *s, bool back,
                              const far_jacobian *j)
{
    if (j->out) {
        NAME(conv_gradient_each)(t, s, j);
    }
    if (back) {
        NAME(conv_input_gradient_each)(t, s);
    }
}

static void NAME(conv_each)(NAME(strip) * t, const far_stage *s, bool back, const far_jacobian *j)
{
    int64_t rows = t->rows;
    if (rows >= EACH_LEAST) {
        NAME(find_active)(t, s);
        NAME(conv_listed)(t, s, back, j);
        return;
    }
    if (back) {
        NAME(conv_input_gradient)(t, s);
    }
    for (t->rows = 1; j->out && t->first < rows; t->first++) {
        far_step_clear(s->step, t->gradient, sizeof(REAL));
        NAME(conv_gradient)(t, s);
        NAME(turn_gradient)(s, t->gradient, j, (REAL *)j->out + t->first * j->ld);
    }
}

static bool NAME(is_listed)(const far_stage *s)
{
    return s->kind == FAR_STAGE_LINEAR && NAME(is_conv)(s) && s->linear->rank == 0;
}

/* The stages that end with stage k, if they are of that kind; else conv is NULL. */
static NAME(pooled) NAME(pooled_at)(const far_engine *e, int64_t k)
{
    NAME(pooled) found = {.pool = &e->stages[k]};
    const far_stage *before = found.pool - 1;
    const far_grid *w = &found.pool->step->window;
    int64_t stride = found.pool->step->stride;
    bool apart = found.pool->kind == FAR_STAGE_POOL && NAME(is_max)(found.pool) &&
                 w->height <= stride && w->width <= stride;
    if (apart && before->kind == FAR_STAGE_POINT && !before->norm) {
        found.point = before--;
    }
    found.conv = apart && NAME(is_listed)(before) ? before : NULL;
    return found;
}

/* Any other stage, one output after another; layers that see gradients alone take them all. */
static void NAME(stage_each)(NAME(strip) * t, const far_stage *s, bool back, const far_jacobian *j)
{
    const NAME(stage_ops) *ops = &NAME(stages)[s->kind];
    int64_t rows = t->rows;
    bool linear = s->kind == FAR_STAGE_LINEAR;
    REAL *gradient = t->gradient;
    t->gradient = j->out ? gradient : NULL;
    if (back && linear) {
        ops->backward(t, s);
    }
    for (t->rows = 1; t->first < rows; t->first++) {
        if (j->out) {
            far_step_clear(s->step, gradient, sizeof(REAL));
        }
        if (back && !linear) {
            ops->backward(t, s);
        }
        if (j->out && ops->gradient) {
            ops->gradient(t, s);
        }
        if (j->out) {
            far_step_copy(s->step, gradient, sizeof(REAL), (REAL *)j->out + t->first * j->ld);
        }
    }
}

static void NAME(backward_each)(far_pass *p, const far_weights *w, const void *douts, int64_t count,
                                int64_t lowest, const far_jacobian *parts, void *gradient)
{
    const far_engine *e = p->engine;
    NAME(strip) t = {.p = p, .w = w, .shared = true};
    REAL *last = NAME(gradient_at)(&t, e->stages[e->stage_count - 1].to);
    memcpy(last, douts, (size_t)(count * e->net->info.outputs) * sizeof *last);
    for (int64_t k = e->stage_count - 1; k >= lowest; k--) {
        NAME(pooled) pooled = NAME(pooled_at)(e, k);
        bool listed = pooled.conv && count >= EACH_LEAST;
        k = listed ? pooled.conv - e->stages : k;
        const far_stage *s = &e->stages[k];
        const far_jacobian *j = &parts[s->step - e->net->steps];
        /* Norms get their gradients on the way. */
        bool back = (k > lowest || s->kind == FAR_STAGE_POINT) && NAME(wants_backward)(&t, s);
        t.first = 0;
        t.rows = count;
        t.gradient = gradient;
        if (listed) {
            NAME(find_active_pooled)(&t, &pooled);
            NAME(conv_listed)(&t, s, back, j);
        } else if (NAME(is_listed)(s)) {
            NAME(conv_each)(&t, s, back, j);
        } else {
            NAME(stage_each)(&t, s, back, j);
        }
    }
}

/* ---- along a tangent ----------------------------------------------------------------------- */

/* Tangents of the inputs: dx, or 0. */
static void NAME(start_tangent)(const NAME(strip) * t, const REAL *dx, int64_t ldx)
{
    int64_t d = t->p->engine->net->info.inputs;
    REAL *first = NAME(tangent_at)(t, 0);
    for (int64_t r = 0; r < t->rows; r++) {
        if (dx) {
            memcpy(first + r * d, dx + (t->first + r) * ldx, (size_t)d * sizeof *first);
        } else {
            memset(first + r * d, 0, (size_t)d * sizeof *first);
        }
    }
}

static void NAME(strip_tangent)(const NAME(strip) * t, int64_t begin, int64_t end)
{
    for (const far_stage *s = t->p->engine->stages + begin; s < t->p->engine->stages + end; s++) {
        NAME(stages)[s->kind].tangent(t, s);
    }
}

static void NAME(tangent)(far_pass *p, const far_weights *w, const far_weights *v, const void *dx,
                          int64_t ldx, void *out)
{
    const far_engine *e = p->engine;
    int64_t strips = NAME(strip_count)(p), outputs = e->net->info.outputs;
    NAME(strip) t = {.p = p, .w = w, .v = v};
    t.live = dx || (v && e->input_parameters);
    for (int64_t i = 0; i < strips; i++) {
        NAME(set_strip)(&t, i, strips);
        NAME(start_tangent)(&t, dx, ldx);
        NAME(strip_tangent)(&t, 0, e->tail);
    }
    NAME(set_whole)(&t);
    NAME(strip_tangent)(&t, e->tail, e->stage_count);
    const REAL *last = NAME(tangent_at)(&t, e->stages[e->stage_count - 1].tangent_to);
    memcpy(out, last, (size_t)(p->rows * outputs) * sizeof *last);
}

/* ---- for others ---------------------------------------------------------------------------- */

/* Part of the depth at a time, so that a panel stays in the first-level cache and the rows of a in
 * the second. */
static void NAME(multiply_rows)(int64_t rows, int64_t cols, int64_t inner, const void *a,
                                const void *b, int64_t ld, void *out, int64_t ldo)
{
    REAL panel[PRODUCT_DEPTH * PANEL] __attribute__((aligned(64)));
    NAME(product)
    m = {.rows = rows,
         .cols = cols,
         .a = a,
         .row_step = ld,
         .depth_step = 1,
         .c = out,
         .ldc = ldo,
         .scale = 1};
    for (int64_t k = 0; k < inner; k += PRODUCT_DEPTH, m.a += PRODUCT_DEPTH) {
        m.depth = inner - k < PRODUCT_DEPTH ? inner - k : PRODUCT_DEPTH;
        m.add = k > 0;
        for (int64_t j = 0; j < cols; j += PANEL) {
            int64_t some = cols - j < PANEL ? cols - j : PANEL;
            NAME(pack_panel)(some, m.depth, (const REAL *)b + j * ld + k, ld, panel);
            NAME(multiply_panel)(&m, panel, j);
        }
    }
}

const far_engine_ops OPS = {.panel = PANEL,
                            .set = NAME(set),
                            .forward = NAME(forward),
                            .backward = NAME(backward),
                            .layer_gradient = NAME(layer_gradient),
                            .backward_each = NAME(backward_each),
                            .tangent = NAME(tangent),
                            .multiply = NAME(multiply_rows)};
