/* Part of engine_impl.h: a norm, scale and shift, an activation: one row after another. */

/* Some rows of a pass on their way through all stages, and what the call is about. */
typedef struct NAME(strip) {
    far_pass *p;
    const far_weights *w, *v; /* v: the direction of tangents, or NULL */
    int64_t first, rows;
    bool shared;         /* all rows are gradients of the first row of values */
    REAL *gradient, *dx; /* of parameters, and of inputs; NULL: not wanted */
    bool live;           /* tangents: the inputs, or a norm on them, move */
} NAME(strip);

/* Numbers that are read, row by row; the inputs have a stride of their own. */
typedef struct NAME(rows) {
    const REAL *data;
    int64_t ld;
} NAME(rows);

INLINE const REAL *NAME(weight_at)(const far_weights *w, int64_t at)
{
    return (const REAL *)w->data + at;
}

/* The first row of the strip in a buffer. */
INLINE REAL *NAME(buffer_at)(const NAME(strip) * t, const far_buffers *b, void *data, int64_t i)
{
    return (REAL *)data + b->offset[i] * t->p->capacity + t->first * b->width[i];
}

/* The row of values that belongs to it. */
INLINE int64_t NAME(value_row)(const NAME(strip) * t)
{
    return t->shared ? 0 : t->first;
}

static REAL *NAME(value_at)(const NAME(strip) * t, int64_t i)
{
    const far_buffers *b = &t->p->engine->values;
    return (REAL *)t->p->values + b->offset[i] * t->p->capacity + NAME(value_row)(t) * b->width[i];
}

static REAL *NAME(gradient_at)(const NAME(strip) * t, int64_t i)
{
    if (i == 0 && t->dx) {
        return t->dx + t->first * t->p->engine->net->info.inputs;
    }
    return NAME(buffer_at)(t, &t->p->engine->gradients, t->p->gradients, i);
}

static REAL *NAME(tangent_at)(const NAME(strip) * t, int64_t i)
{
    return NAME(buffer_at)(t, &t->p->engine->tangents, t->p->tangents, i);
}

static REAL *NAME(inverse_at)(const NAME(strip) * t, const far_stage *s)
{
    return (REAL *)t->p->inverses + s->inverse * t->p->capacity +
           NAME(value_row)(t) * s->after * s->norm->groups;
}

static NAME(rows) NAME(rows_of)(const NAME(strip) * t, int64_t value)
{
    if (value == 0) {
        return (NAME(rows)){(const REAL *)t->p->x + NAME(value_row)(t) * t->p->ldx, t->p->ldx};
    }
    return (NAME(rows)){NAME(value_at)(t, value), t->p->engine->values.channels[value]};
}

/* Rows of the strip at every position: each is a vector of channels. */
INLINE int64_t NAME(lines_of)(const NAME(strip) * t, const far_stage *s)
{
    return t->rows * s->after;
}

static bool NAME(is_affine)(const far_stage *s)
{
    return s->norm && s->norm->weight >= 0;
}

/* ---- batch norm ---------------------------------------------------------------------------- */

static bool NAME(by_block)(const NAME(strip) * t, const far_stage *s)
{
    return s->norm && s->norm->kind == FAR_STEP_BATCHNORM && (t->p->needs & FAR_PASS_BATCH);
}

static REAL *NAME(columns_of)(const NAME(strip) * t, const far_stage *s)
{
    return (REAL *)t->p->columns + s->column;
}

/* Mean and 1 / sd a batch norm divides by. */
typedef struct NAME(spread) {
    const REAL *mean, *sd;
} NAME(spread);

static NAME(spread) NAME(spread_of)(const NAME(strip) * t, const far_stage *s)
{
    if (NAME(by_block)(t, s)) {
        const REAL *columns = NAME(columns_of)(t, s);
        return (NAME(spread)){columns, columns + 2 * s->out};
    }
    return (NAME(spread)){NAME(weight_at)(t->w, s->mean), NAME(weight_at)(t->w, s->sd)};
}

/* Sums over columns read packed rows: where the inputs have another stride, a copy does. */
static void NAME(block_statistics)(const NAME(strip) * t, const far_stage *s)
{
    int64_t lines = NAME(lines_of)(t, s);
    NAME(rows) in = NAME(rows_of)(t, s->input);
    REAL *kept = NAME(value_at)(t, s->kept);
    for (int64_t r = 0; kept != in.data && r < lines; r++) {
        memcpy(kept + r * s->out, in.data + r * in.ld, (size_t)s->out * sizeof *kept);
    }
    REAL eps = (REAL)s->norm->eps;
    NAME(column_statistics)(lines, s->out, eps, kept, NAME(columns_of)(t, s));
}

static void NAME(standardise_row)(int64_t n, NAME(spread) by, const REAL *z, REAL *out)
{
#pragma GCC ivdep
    for (int64_t j = 0; j < n; j++) {
        out[j] = (z[j] - by.mean[j]) * by.sd[j];
    }
}

/* ---- forwards ------------------------------------------------------------------------------ */

static void NAME(affine_row)(const NAME(strip) * t, const far_stage *s, const REAL *restrict unit,
                             REAL *restrict out)
{
    const REAL *restrict scale = NAME(weight_at)(t->w, s->panels);
    const REAL *restrict shift = NAME(weight_at)(t->w, s->shift);
    for (int64_t j = 0; j < s->out; j++) {
        out[j] = unit[j] * scale[j] + shift[j];
    }
}

/* Whether the activation, if there is one, runs together with the norm. */
static bool NAME(is_fused)(const far_stage *s)
{
    return s->norm && s->norm->kind == FAR_STEP_NORM && !NAME(is_affine)(s) &&
           (!s->activation || NAME(is_bent)(s->activation));
}

static void NAME(fused_forward)(const NAME(strip) * t, const far_stage *s)
{
    int64_t lines = NAME(lines_of)(t, s);
    NAME(rows) in = NAME(rows_of)(t, s->input);
    NAME(rule) rule = NAME(rule_of)(s->norm, s->activation);
    REAL *unit = NAME(value_at)(t, s->kept), *bent = NAME(value_at)(t, s->output);
    NAME(normalise_rows)(&rule, lines, in.data, in.ld, NAME(inverse_at)(t, s), unit, bent);
}

static void NAME(norm_forward)(const NAME(strip) * t, const far_stage *s)
{
    int64_t lines = NAME(lines_of)(t, s);
    NAME(rows) in = NAME(rows_of)(t, s->input);
    REAL *unit = NAME(value_at)(t, s->kept);
    if (s->norm->kind == FAR_STEP_NORM) {
        NAME(rule) rule = NAME(rule_of)(s->norm, NULL);
        NAME(normalise_rows)(&rule, lines, in.data, in.ld, NAME(inverse_at)(t, s), unit, NULL);
        return;
    }
    if (NAME(by_block)(t, s)) {
        NAME(block_statistics)(t, s);
    }
    for (int64_t r = 0; r < lines; r++) {
        NAME(standardise_row)
        (s->out, NAME(spread_of)(t, s), in.data + r * in.ld, unit + r * s->out);
    }
}

static void NAME(point_forward)(const NAME(strip) * t, const far_stage *s)
{
    int64_t lines = NAME(lines_of)(t, s);
    if (NAME(is_fused)(s)) {
        NAME(fused_forward)(t, s);
        return;
    }
    if (s->norm) {
        NAME(norm_forward)(t, s);
    }
    NAME(rows) in = NAME(rows_of)(t, s->norm ? s->kept : s->input);
    REAL *out = NAME(value_at)(t, s->output);
    for (int64_t r = 0; r < lines; r++) {
        const REAL *z = in.data + r * in.ld;
        REAL *to = out + r * s->out;
        if (NAME(is_affine)(s)) {
            NAME(affine_row)(t, s, z, to);
            z = to;
        }
        if (s->activation) {
            NAME(activate_row)(s->activation, s->out, z, to);
        }
    }
}

/* ---- derivatives --------------------------------------------------------------------------- */

/* What the activation was given in row r: kept, or worked out again in line. */
static const REAL *NAME(before_activation)(const NAME(strip) * t, const far_stage *s, int64_t r)
{
    NAME(rows) in = NAME(rows_of)(t, s->norm ? s->kept : s->input);
    const REAL *row = in.data + r * in.ld;
    if (NAME(is_affine)(s)) {
        NAME(affine_row)(t, s, row, t->p->line);
        return t->p->line;
    }
    return row;
}

static void NAME(affine_backward)(const NAME(strip) * t, const far_stage *s, int64_t r, REAL *g)
{
    const REAL *restrict unit = NAME(value_at)(t, s->kept) + r * s->out;
    const REAL *restrict scale = NAME(weight_at)(t->w, s->panels);
    REAL *restrict delta = NAME(gradient_at)(t, s->delta) + r * s->out;
    memcpy(delta, g, (size_t)s->out * sizeof *g);
    if (t->gradient) {
        REAL *restrict to_scale = t->gradient + s->norm->weight;
        REAL *restrict to_shift = t->gradient + s->norm->bias;
        for (int64_t j = 0; j < s->out; j++) {
            to_scale[j] += delta[j] * unit[j];
            to_shift[j] += delta[j];
        }
    }
    for (int64_t j = 0; j < s->out; j++) {
        g[j] *= scale[j];
    }
}

/* The norm itself. Its derivative is symmetric: this serves gradients and tangents. */
static void NAME(norm_change)(const NAME(strip) * t, const far_stage *s, REAL *g)
{
    int64_t lines = NAME(lines_of)(t, s);
    const REAL *unit = NAME(value_at)(t, s->kept);
    if (s->norm->kind == FAR_STEP_NORM) {
        NAME(rule) rule = NAME(rule_of)(s->norm, NULL);
        NAME(normalise_rows_change)(&rule, lines, NAME(inverse_at)(t, s), unit, g);
    } else if (NAME(by_block)(t, s)) {
        NAME(column_change)(lines, s->out, unit, NAME(columns_of)(t, s), g);
    } else {
        const REAL *restrict sd = NAME(weight_at)(t->w, s->sd);
        for (int64_t r = 0; r < lines; r++) {
            for (int64_t j = 0; j < s->out; j++) {
                g[r * s->out + j] *= sd[j];
            }
        }
    }
}

/* In place: from behind the stage to in front of it. */
static void NAME(point_backward)(const NAME(strip) * t, const far_stage *s)
{
    REAL *g = NAME(gradient_at)(t, s->to);
    int64_t lines = NAME(lines_of)(t, s);
    if (NAME(is_fused)(s)) {
        NAME(rule) rule = NAME(rule_of)(s->norm, s->activation);
        const REAL *unit = NAME(value_at)(t, s->kept);
        NAME(normalise_rows_change)(&rule, lines, NAME(inverse_at)(t, s), unit, g);
        return;
    }
    for (int64_t r = 0; r < lines; r++) {
        REAL *row = g + r * s->out;
        if (s->activation) {
            NAME(slope_row)(s->activation, s->out, NAME(before_activation)(t, s, r), row);
        }
        if (NAME(is_affine)(s)) {
            NAME(affine_backward)(t, s, r, row);
        }
    }
    if (s->norm) {
        NAME(norm_change)(t, s, g);
    }
}

/* g = g scale + v's scale unit + v's shift */
static void NAME(affine_tangent)(const NAME(strip) * t, const far_stage *s, int64_t r, REAL *g)
{
    const REAL *unit = NAME(value_at)(t, s->kept) + r * s->out;
    const REAL *scale = NAME(weight_at)(t->w, s->panels);
    for (int64_t j = 0; j < s->out; j++) {
        g[j] *= scale[j];
    }
    for (int64_t j = 0; t->v && j < s->out; j++) {
        g[j] += NAME(weight_at)(t->v, s->panels)[j] * unit[j] + NAME(weight_at)(t->v, s->shift)[j];
    }
}

static void NAME(point_tangent)(const NAME(strip) * t, const far_stage *s)
{
    REAL *g = NAME(tangent_at)(t, s->tangent_to);
    int64_t lines = NAME(lines_of)(t, s);
    if (s->norm) {
        NAME(norm_change)(t, s, g);
    }
    for (int64_t r = 0; r < lines; r++) {
        REAL *row = g + r * s->out;
        if (NAME(is_affine)(s)) {
            NAME(affine_tangent)(t, s, r, row);
        }
        if (s->activation) {
            NAME(slope_row)(s->activation, s->out, NAME(before_activation)(t, s, r), row);
        }
    }
}

/* ---- weights ------------------------------------------------------------------------------- */

static void NAME(set_vector)(const REAL *packed, int64_t at, int64_t n, REAL scale, REAL *to)
{
    for (int64_t j = 0; at >= 0 && j < n; j++) {
        to[j] = scale * packed[at + j];
    }
}

static void NAME(point_set)(far_weights *w, const far_stage *s, const REAL *packed, int64_t slice,
                            int64_t slices)
{
    REAL *data = w->data;
    (void)slices;
    if (NAME(is_affine)(s) && slice == 0) {
        NAME(set_vector)(packed, s->norm->weight, s->out, 1, data + s->panels);
        NAME(set_vector)(packed, s->norm->bias, s->out, 1, data + s->shift);
    }
}
