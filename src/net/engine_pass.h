/* Part of engine_impl.h: weights into panels, and the passes through all stages. */

/* ---- weights ------------------------------------------------------------------------------- */

static void NAME(set_panels)(const far_stage *s, const REAL *weight, int64_t i, REAL *panels)
{
    REAL scale = (REAL)s->dense->weight_scale;
    for (int64_t first = 0; first < s->out; first += PANEL) {
        int64_t cols = s->out - first < PANEL ? s->out - first : PANEL;
        const REAL *restrict from = weight + i * s->out + first;
        REAL *restrict to = panels + first * s->in + i * PANEL;
        for (int64_t j = 0; j < cols; j++) {
            to[j] = scale * from[j];
        }
    }
}

/* Some outputs at a time: the lines written to are then still in cache for the next row. */
#define TURN_OUTPUTS 64

static void NAME(set_turned)(const far_stage *s, const REAL *weight, int64_t begin, int64_t end,
                             REAL *turned)
{
    REAL scale = (REAL)s->dense->weight_scale;
    for (int64_t first = 0; first < s->out; first += TURN_OUTPUTS) {
        int64_t last = first + TURN_OUTPUTS < s->out ? first + TURN_OUTPUTS : s->out;
        for (int64_t i = begin; i < end; i++) {
            REAL *to = turned + i / PANEL * PANEL * s->out + i % PANEL;
            for (int64_t o = first; o < last; o++) {
                to[o * PANEL] = scale * weight[i * s->out + o];
            }
        }
    }
}

static void NAME(set_vector)(const REAL *packed, int64_t at, int64_t n, REAL scale, REAL *to)
{
    for (int64_t j = 0; at >= 0 && j < n; j++) {
        to[j] = scale * packed[at + j];
    }
}

static void NAME(set_dense)(far_weights *w, const far_stage *s, const REAL *packed, int64_t slice,
                            int64_t slices)
{
    REAL *data = w->data;
    const REAL *weight = packed + s->dense->weight;
    int64_t begin = s->in * slice / slices, end = s->in * (slice + 1) / slices;
    for (int64_t i = begin; !s->narrow && i < end; i++) {
        NAME(set_panels)(s, weight, i, data + s->panels);
    }
    if (s->turned >= 0) {
        NAME(set_turned)(s, weight, begin, end, data + s->turned);
    }
    if (slice == 0) {
        NAME(set_vector)
        (packed, s->dense->bias, s->out, (REAL)s->dense->bias_scale, data + s->shift);
    }
}

static void NAME(set)(far_weights *w, const void *packed, int64_t slice, int64_t slices)
{
    const far_engine *e = w->engine;
    REAL *data = w->data;
    for (int64_t k = 0; k < e->stage_count; k++) {
        const far_stage *s = &e->stages[k];
        if (s->kind == FAR_STAGE_DENSE) {
            NAME(set_dense)(w, s, packed, slice, slices);
        } else if (NAME(is_affine)(s) && slice == 0) {
            NAME(set_vector)(packed, s->norm->weight, s->out, 1, data + s->panels);
            NAME(set_vector)(packed, s->norm->bias, s->out, 1, data + s->shift);
        }
    }
}

#undef TURN_OUTPUTS

/* ---- strips -------------------------------------------------------------------------------- */

/* What every pass does, a few rows at a time: they go through all stages while they are in the
 * first-level cache. Statistics of the block need all rows at every stage, and weights beyond the
 * second-level cache should not come by too often. */
static int64_t NAME(strip_count)(const far_pass *p)
{
    bool whole = (p->needs & FAR_PASS_BATCH) ||
                 p->engine->weights * (int64_t)sizeof(REAL) > STRIP_WEIGHT_BYTES;
    return whole ? 1 : (p->rows + STRIP_ROWS - 1) / STRIP_ROWS;
}

static void NAME(set_strip)(NAME(strip) * t, int64_t k, int64_t count)
{
    t->first = t->p->rows * k / count;
    t->rows = t->p->rows * (k + 1) / count - t->first;
}

/* ---- forwards ------------------------------------------------------------------------------ */

/* c = in W (+ bias), or c += in W. */
static void NAME(dense_product)(const NAME(strip) * t, const far_weights *w, const far_stage *s,
                                NAME(rows) in, bool bias, bool add, REAL *c)
{
    const NAME(product) m = {.rows = t->rows,
                             .cols = s->out,
                             .depth = s->in,
                             .a = in.data,
                             .row_step = in.ld,
                             .depth_step = 1,
                             .b = NAME(weight_at)(w, s->narrow ? s->turned : s->panels),
                             .start = bias ? NAME(weight_at)(w, s->shift) : NULL,
                             .c = c,
                             .ldc = s->out,
                             .add = add,
                             .scale = 1};
    if (s->narrow) {
        NAME(multiply_narrow)(&m);
    } else {
        NAME(multiply)(&m);
    }
}

/* out = a + b; a may be out */
static void NAME(add_rows)(int64_t rows, int64_t n, NAME(rows) a, NAME(rows) b, REAL *out)
{
    for (int64_t r = 0; r < rows; r++) {
        const REAL *ar = a.data + r * a.ld, *restrict br = b.data + r * b.ld;
        REAL *to = out + r * n;
#pragma GCC ivdep
        for (int64_t j = 0; j < n; j++) {
            to[j] = ar[j] + br[j];
        }
    }
}

static void NAME(stage_forward)(const NAME(strip) * t, const far_stage *s)
{
    NAME(rows) in = NAME(rows_of)(t, s->input);
    if (s->kind == FAR_STAGE_DENSE) {
        NAME(dense_product)(t, t->w, s, in, true, false, NAME(value_at)(t, s->output));
    } else if (s->kind == FAR_STAGE_POINT) {
        NAME(point_forward)(t, s);
    } else if (s->kind == FAR_STAGE_SKIP_OUT) {
        NAME(rows) twin = NAME(rows_of)(t, s->twin);
        NAME(add_rows)(t->rows, s->out, in, twin, NAME(value_at)(t, s->output));
    }
}

static void NAME(forward)(far_pass *p, const far_weights *w)
{
    const far_engine *e = p->engine;
    int64_t strips = NAME(strip_count)(p);
    NAME(strip) t = {.p = p, .w = w};
    for (int64_t i = 0; i < strips; i++) {
        NAME(set_strip)(&t, i, strips);
        for (int64_t k = 0; k < e->stage_count; k++) {
            NAME(stage_forward)(&t, &e->stages[k]);
        }
    }
}

/* ---- backwards ----------------------------------------------------------------------------- */

/* One panel of turned weights, from those in x out. */
static void NAME(turn_panel)(const far_weights *w, const far_stage *s, int64_t first, REAL *panel)
{
    const REAL *panels = NAME(weight_at)(w, s->panels);
    int64_t cols = s->in - first < PANEL ? s->in - first : PANEL;
    memset(panel, 0, (size_t)(s->out * PANEL) * sizeof *panel);
    for (int64_t j = 0; j < cols; j++) {
        for (int64_t o = 0; o < s->out; o++) {
            int64_t at = o / PANEL * PANEL * s->in + (first + j) * PANEL + o % PANEL;
            panel[o * PANEL + j] = panels[at];
        }
    }
}

static void NAME(input_gradient)(const NAME(strip) * t, const far_stage *s)
{
    const NAME(product) m = {.rows = t->rows,
                             .cols = s->in,
                             .depth = s->out,
                             .a = NAME(gradient_at)(t, s->to),
                             .row_step = s->out,
                             .depth_step = 1,
                             .b = s->turned >= 0 ? NAME(weight_at)(t->w, s->turned) : NULL,
                             .c = NAME(gradient_at)(t, s->from),
                             .ldc = s->in};
    if (m.b) {
        NAME(multiply)(&m);
        return;
    }
    for (int64_t first = 0; first < s->in; first += PANEL) {
        NAME(turn_panel)(t->w, s, first, t->p->panel);
        NAME(multiply_panel)(&m, t->p->panel, first);
    }
}

static void NAME(stage_backward)(const NAME(strip) * t, const far_stage *s)
{
    REAL *to = NAME(gradient_at)(t, s->to), *from = NAME(gradient_at)(t, s->from);
    if (s->from == 0 && !t->dx && !t->p->engine->input_parameters) {
        return; /* nobody asks for gradients of the inputs */
    }
    if (s->kind == FAR_STAGE_DENSE) {
        NAME(input_gradient)(t, s);
    } else if (s->kind == FAR_STAGE_POINT) {
        NAME(point_backward)(t, s, to);
    } else if (s->kind == FAR_STAGE_SKIP_OUT) {
        memcpy(from, to, (size_t)(t->rows * s->out) * sizeof *to);
    } else {
        NAME(rows) g = {from, s->out}, twin = {NAME(gradient_at)(t, s->twin_gradient), s->out};
        NAME(add_rows)(t->rows, s->out, g, twin, from);
    }
}

/* All rows at once: t is the whole block. */
static void NAME(add_weight_gradient)(const NAME(strip) * t, const far_stage *s)
{
    const REAL *d = NAME(gradient_at)(t, s->to);
    NAME(rows) in = NAME(rows_of)(t, s->input);
    const NAME(product) m = {.rows = s->in,
                             .cols = s->out,
                             .depth = t->rows,
                             .a = in.data,
                             .row_step = 1,
                             .depth_step = in.ld,
                             .c = t->gradient + s->dense->weight,
                             .ldc = s->out,
                             .add = true,
                             .scale = (REAL)s->dense->weight_scale};
    REAL *bias = s->dense->bias >= 0 ? t->gradient + s->dense->bias : NULL;
    REAL bias_scale = (REAL)s->dense->bias_scale;
    if (s->narrow) {
        NAME(add_outer_narrow)(&m, d, t->p->line, bias, bias_scale);
    } else {
        NAME(add_outer)(&m, d, t->p->panel, bias, bias_scale);
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
    for (int64_t i = 0; i < strips; i++) {
        NAME(set_strip)(&t, i, strips);
        for (int64_t k = e->stage_count - 1; k >= 0; k--) {
            NAME(stage_backward)(&t, &e->stages[k]);
        }
    }
    NAME(set_strip)(&t, 0, 1);
    for (int64_t k = 0; gradient && k < e->stage_count; k++) {
        if (e->stages[k].kind == FAR_STAGE_DENSE) {
            NAME(add_weight_gradient)(&t, &e->stages[k]);
        }
    }
}

/* ---- along a tangent ----------------------------------------------------------------------- */

/* live: the tangents of its input are not all 0. */
static void NAME(dense_tangent)(const NAME(strip) * t, const far_stage *s, bool live)
{
    REAL *to = NAME(tangent_at)(t, s->tangent_to);
    NAME(rows) in = {NAME(tangent_at)(t, s->tangent_from), s->in};
    if (t->v) {
        NAME(dense_product)(t, t->v, s, NAME(rows_of)(t, s->input), true, false, to);
    }
    if (live) {
        NAME(dense_product)(t, t->w, s, in, false, t->v != NULL, to);
    } else if (!t->v) {
        memset(to, 0, (size_t)(t->rows * s->out) * sizeof *to);
    }
}

static void NAME(stage_tangent)(const NAME(strip) * t, const far_stage *s, bool live)
{
    REAL *to = NAME(tangent_at)(t, s->tangent_to);
    NAME(rows) in = {NAME(tangent_at)(t, s->tangent_from), s->in};
    if (s->kind == FAR_STAGE_DENSE) {
        NAME(dense_tangent)(t, s, live || s->tangent_from > 0);
    } else if (s->kind == FAR_STAGE_POINT) {
        NAME(point_tangent)(t, s, to);
    } else if (s->kind == FAR_STAGE_SKIP_IN) {
        memcpy(to, in.data, (size_t)(t->rows * s->out) * sizeof *to);
    } else {
        NAME(rows) twin = {NAME(tangent_at)(t, s->tangent_twin), s->out};
        NAME(add_rows)(t->rows, s->out, in, twin, to);
    }
}

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

static void NAME(tangent)(far_pass *p, const far_weights *w, const far_weights *v, const void *dx,
                          int64_t ldx, void *out)
{
    const far_engine *e = p->engine;
    int64_t strips = NAME(strip_count)(p), outputs = e->net->info.outputs;
    bool live = dx || (v && e->input_parameters); /* the inputs, or a norm on them, move */
    NAME(strip) t = {.p = p, .w = w, .v = v};
    for (int64_t i = 0; i < strips; i++) {
        NAME(set_strip)(&t, i, strips);
        NAME(start_tangent)(&t, dx, ldx);
        for (int64_t k = 0; k < e->stage_count; k++) {
            NAME(stage_tangent)(&t, &e->stages[k], live);
        }
        const REAL *last = NAME(tangent_at)(&t, e->stages[e->stage_count - 1].tangent_to);
        memcpy((REAL *)out + t.first * outputs, last, (size_t)(t.rows * outputs) * sizeof *last);
    }
}

/* ---- for others ---------------------------------------------------------------------------- */

static void NAME(multiply_packed)(int64_t rows, int64_t cols, int64_t inner, const void *a,
                                  const void *b, void *out, int64_t ldo)
{
    const NAME(product) m = {.rows = rows,
                             .cols = cols,
                             .depth = inner,
                             .a = a,
                             .row_step = inner,
                             .depth_step = 1,
                             .b = b,
                             .c = out,
                             .ldc = ldo};
    NAME(multiply)(&m);
}

const far_engine_ops OPS = {.panel = PANEL,
                            .set = NAME(set),
                            .forward = NAME(forward),
                            .backward = NAME(backward),
                            .tangent = NAME(tangent),
                            .multiply = NAME(multiply_packed)};
