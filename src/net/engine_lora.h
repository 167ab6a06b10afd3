/* Part of engine_impl.h: layers with lora. What they multiply by, W + s B A, is worked out whenever
 * A or B change; then they run as any other layer, forwards, backwards and along a tangent. On the
 * way back the gradient G by W + s B A gives those by A and B: s B' G and s G A'. */

/* Rows [begin, end) of in x out, into the weights of w. With a point beside it w is a direction:
 * s (dB A + B dA). Rows of B are needed whole: they are taken from packed. */
static const REAL *NAME(lora_merge)(const far_weights *w, const far_stage *s, const REAL *packed,
                                    int64_t begin, int64_t end)
{
    const far_step *l = s->linear;
    const REAL *frozen = (const REAL *)w->engine->frozen + l->frozen_weight;
    const REAL *a = packed + l->lora_a, *b = packed + l->lora_b, scale = (REAL)l->lora_scale;
    const REAL *at = w->point ? (const REAL *)w->point->data : NULL;
    REAL *merged = (REAL *)w->data + s->merged;
    for (int64_t i = begin; i < end; i++) {
        REAL *restrict to = merged + i * s->out;
        memset(to, 0, (size_t)s->out * sizeof *to);
        for (int64_t k = 0; k < l->rank; k++) {
            const REAL *restrict row = (at ? at + s->lora_b : b) + k * s->out;
            REAL x = scale * a[i * l->rank + k];
            for (int64_t o = 0; o < s->out; o++) {
                to[o] += x * row[o];
            }
        }
        for (int64_t k = 0; at && k < l->rank; k++) {
            const REAL *restrict row = b + k * s->out;
            REAL x = scale * at[s->lora_a + i * l->rank + k];
            for (int64_t o = 0; o < s->out; o++) {
                to[o] += x * row[o];
            }
        }
        for (int64_t o = 0; !at && o < s->out; o++) {
            to[o] += frozen[i * s->out + o];
        }
    }
    return merged;
}

/* A and B as the way back and directions want them: rows of A, and with the first slice B, also
 * turned. */
static void NAME(lora_keep)(far_weights *w, const far_stage *s, const REAL *packed, int64_t begin,
                            int64_t end, bool first)
{
    const far_step *l = s->linear;
    const REAL *b = packed + l->lora_b;
    REAL *data = w->data, *turned = data + s->lora_turned;
    memcpy(data + s->lora_a + begin * l->rank, packed + l->lora_a + begin * l->rank,
           (size_t)((end - begin) * l->rank) * sizeof *data);
    if (first) {
        memcpy(data + s->lora_b, b, (size_t)(l->rank * s->out) * sizeof *data);
        for (int64_t k = 0; k < l->rank; k++) {
            REAL *to = turned + k / PANEL * PANEL * s->out + k % PANEL;
            for (int64_t o = 0; o < s->out; o++) {
                to[o * PANEL] = b[k * s->out + o];
            }
        }
    }
}

/* Weights in x out of a linear stage, rows [begin, end) at least. */
static const REAL *NAME(linear_weight)(far_weights *w, const far_stage *s, const REAL *packed,
                                       int64_t begin, int64_t end, bool first)
{
    if (s->linear->rank == 0) {
        return packed + s->linear->weight;
    }
    NAME(lora_keep)(w, s, packed, begin, end, first);
    return NAME(lora_merge)(w, s, packed, begin, end);
}

/* The bias does not train: a direction has none. */
static void NAME(lora_shift)(far_weights *w, const far_stage *s)
{
    const far_step *l = s->linear;
    NAME(set_vector)
    (w->engine->frozen, w->point ? -1 : l->frozen_bias, s->out, (REAL)l->bias_scale,
     (REAL *)w->data + s->shift);
}

/* Where the gradient by the weights is added up, and that by the bias, which may be NULL. */
static REAL *NAME(gradient_place)(const NAME(strip) * t, const far_stage *s, REAL **bias)
{
    const far_step *l = s->linear;
    *bias = l->bias >= 0 ? t->gradient + l->bias : NULL;
    return l->rank > 0 ? t->p->adapter : t->gradient + l->weight;
}

static void NAME(lora_clear)(const NAME(strip) * t, const far_stage *s)
{
    memset(t->p->adapter, 0, (size_t)(s->depth * s->out) * sizeof(REAL));
}

/* From G, in x out, to the gradients by A (in x rank) and B (rank x out). */
static void NAME(lora_gradient)(const NAME(strip) * t, const far_stage *s)
{
    const far_step *l = s->linear;
    const REAL *data = t->w->data, *g = t->p->adapter;
    const NAME(product) a = {.rows = s->depth,
                             .cols = l->rank,
                             .depth = s->out,
                             .a = g,
                             .row_step = s->out,
                             .depth_step = 1,
                             .b = data + s->lora_turned,
                             .c = t->gradient + l->lora_a,
                             .ldc = l->rank,
                             .add = true,
                             .scale = (REAL)l->lora_scale};
    const NAME(product) b = {.rows = l->rank,
                             .cols = s->out,
                             .depth = s->depth,
                             .a = data + s->lora_a,
                             .row_step = 1,
                             .depth_step = l->rank,
                             .c = t->gradient + l->lora_b,
                             .ldc = s->out,
                             .add = true,
                             .scale = (REAL)l->lora_scale};
    NAME(multiply)(&a);
    NAME(add_outer)(&b, g, t->p->panel, NULL, 0);
}
