/* Part of engine_impl.h: tables of vectors: one for each token, or one for each position. */

static bool NAME(is_embed)(const far_stage *s)
{
    return s->step->kind == FAR_STEP_EMBED;
}

/* sin and cos of the position over 10000^(2k / channels), as transformers have them. */
static REAL NAME(sine_at)(int64_t position, int64_t channel, int64_t channels)
{
    double rate = pow(10000, -(double)(channel / 2 * 2) / (double)channels);
    double angle = (double)position * rate;
    return (REAL)(channel % 2 ? cos(angle) : sin(angle));
}

static void NAME(table_set)(far_weights *w, const far_stage *s, const REAL *packed, int64_t slice,
                            int64_t slices)
{
    far_weights_shape shape = far_step_weights(s->step);
    REAL *to = (REAL *)w->data + s->panels;
    int64_t begin = shape.rows * slice / slices, end = shape.rows * (slice + 1) / slices;
    for (int64_t i = begin * shape.cols; i < end * shape.cols; i++) {
        bool learnt = s->step->weight >= 0;
        to[i] = learnt ? packed[s->step->weight + i]
                       : NAME(sine_at)(i / shape.cols, i % shape.cols, shape.cols);
    }
}

/* The row of the table for line i of the strip: its token's, or its position's. */
static int64_t NAME(table_row)(const NAME(strip) * t, const far_stage *s, int64_t i)
{
    return NAME(is_embed)(s) ? (int64_t)NAME(rows_of)(t, s->input).data[i] : i % s->after;
}

/* out = in (position) + the table's rows; in: NULL, or what is added to. */
static void NAME(add_table)(const NAME(strip) * t, const far_stage *s, const REAL *table,
                            const REAL *in, REAL *out)
{
    int64_t lines = NAME(lines_of)(t, s);
    for (int64_t i = 0; i < lines; i++) {
        const REAL *restrict row = table + NAME(table_row)(t, s, i) * s->out;
        for (int64_t c = 0; c < s->out; c++) {
            out[i * s->out + c] = row[c] + (in ? in[i * s->out + c] : 0);
        }
    }
}

static void NAME(table_forward)(const NAME(strip) * t, const far_stage *s)
{
    const REAL *in = NAME(is_embed)(s) ? NULL : NAME(rows_of)(t, s->input).data;
    const REAL *table = NAME(weight_at)(t->w, s->panels);
    NAME(add_table)(t, s, table, in, NAME(value_at)(t, s->output));
}

/* Tokens have no gradient. */
static void NAME(table_backward)(const NAME(strip) * t, const far_stage *s)
{
    const REAL *d = NAME(gradient_at)(t, s->to);
    REAL *to = NAME(gradient_at)(t, s->from);
    size_t size = (size_t)(t->rows * s->before * s->in) * sizeof *to;
    if (NAME(is_embed)(s)) {
        memset(to, 0, size);
    } else {
        memcpy(to, d, size);
    }
}

static void NAME(table_gradient)(const NAME(strip) * t, const far_stage *s)
{
    const REAL *d = NAME(gradient_at)(t, s->to);
    int64_t lines = NAME(lines_of)(t, s);
    for (int64_t i = 0; s->step->weight >= 0 && i < lines; i++) {
        REAL *restrict to = t->gradient + s->step->weight + NAME(table_row)(t, s, i) * s->out;
        for (int64_t c = 0; c < s->out; c++) {
            to[c] += d[i * s->out + c];
        }
    }
}

static void NAME(table_tangent)(const NAME(strip) * t, const far_stage *s)
{
    const REAL *in = NAME(is_embed)(s) ? NULL : NAME(tangent_at)(t, s->tangent_from);
    REAL *to = NAME(tangent_at)(t, s->tangent_to);
    size_t size = (size_t)(NAME(lines_of)(t, s) * s->out) * sizeof *to;
    if (t->v && s->step->weight >= 0) {
        NAME(add_table)(t, s, NAME(weight_at)(t->v, s->panels), in, to);
    } else if (in) {
        memcpy(to, in, size);
    } else {
        memset(to, 0, size);
    }
}
