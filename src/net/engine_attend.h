/* Part of engine_impl.h: attention. A row holds queries, keys and values of every position; each
 * head has its share of their channels. What comes out of the softmax is kept. */

/* One head of one row. */
typedef struct NAME(head) {
    int64_t asked, n, size; /* positions that ask: the last ones; all; channels of a head */
    int64_t ld;             /* between positions of q, k, v */
    const REAL *q, *k, *v;  /* asked x size, n x size, n x size */
    REAL *weights;          /* asked x n: what the softmax gives */
    REAL *panels;           /* scratch: an n x size matrix, or its transpose */
    REAL *scores;           /* scratch: asked x n */
    REAL scale;             /* 1 / sqrt(size) */
    bool causal;
} NAME(head);

static NAME(head) NAME(head_at)(const NAME(strip) * t, const far_stage *s, int64_t row, int64_t h)
{
    int64_t n = s->before, size = s->out / s->step->heads, across = (n + PANEL - 1) / PANEL * PANEL;
    const REAL *in = NAME(rows_of)(t, s->input).data + row * n * 3 * s->out + h * size;
    REAL *kept = NAME(value_at)(t, s->kept) + (row * s->step->heads + h) * s->after * n;
    REAL *scratch = t->p->scratch;
    return (NAME(head)){.asked = s->after,
                        .n = n,
                        .size = size,
                        .ld = 3 * s->out,
                        .q = in + (n - s->after) * 3 * s->out,
                        .k = in + s->out,
                        .v = in + 2 * s->out,
                        .weights = kept,
                        .scores = scratch,
                        .panels = scratch + n * across,
                        .scale = 1 / F(sqrt)((REAL)size),
                        .causal = s->step->causal};
}

/* The transpose of b (rows x size, ld apart) as the right side of a product. */
static void NAME(turned_panels)(const NAME(head) * h, int64_t rows, const REAL *b, int64_t ld)
{
    for (int64_t first = 0; first < rows; first += PANEL) {
        NAME(pack_panel)(rows - first, h->size, b + first * ld, ld, h->panels + first * h->size);
    }
}

/* The same of b itself. */
static void NAME(head_panels)(const NAME(head) * h, int64_t rows, const REAL *b, int64_t ld)
{
    int64_t across = (h->size + PANEL - 1) / PANEL * PANEL;
    if (across > h->size) {
        REAL *last = h->panels + (across - PANEL) * rows;
        memset(last, 0, (size_t)(PANEL * rows) * sizeof *last);
    }
    for (int64_t i = 0; i < rows; i++) {
        int64_t j = 0;
        for (; j + LANES <= h->size; j += LANES) {
            REAL *to = h->panels + j / PANEL * PANEL * rows + i * PANEL + j % PANEL;
            NAME(store)(to, NAME(load)(b + i * ld + j));
        }
        for (; j < h->size; j++) {
            h->panels[j / PANEL * PANEL * rows + i * PANEL + j % PANEL] = b[i * ld + j];
        }
    }
}

/* c (asked x n) (+)= a b': a is asked x size, b n x size. */
static void NAME(head_scores)(const NAME(head) * h, const REAL *a, int64_t lda, const REAL *b,
                              int64_t ldb, bool add, REAL *c)
{
    NAME(turned_panels)(h, h->n, b, ldb);
    const NAME(product) m = {.rows = h->asked,
                             .cols = h->n,
                             .depth = h->size,
                             .a = a,
                             .row_step = lda,
                             .depth_step = 1,
                             .b = h->panels,
                             .c = c,
                             .ldc = h->n,
                             .add = add,
                             .scale = 1};
    NAME(multiply)(&m);
}

/* c (size columns, ldc apart) (+)= a b, or a' b: a is asked x n, b has size columns. */
static void NAME(head_mix)(const NAME(head) * h, const REAL *a, bool turned, const REAL *b,
                           int64_t ldb, bool add, REAL *c, int64_t ldc)
{
    int64_t depth = turned ? h->asked : h->n;
    NAME(head_panels)(h, depth, b, ldb);
    const NAME(product) m = {.rows = turned ? h->n : h->asked,
                             .cols = h->size,
                             .depth = depth,
                             .a = a,
                             .row_step = turned ? 1 : h->n,
                             .depth_step = turned ? h->n : 1,
                             .b = h->panels,
                             .c = c,
                             .ldc = ldc,
                             .add = add,
                             .scale = 1};
    NAME(multiply)(&m);
}

/* In place; scores behind the position, if it is causal, count for nothing. */
static void NAME(softmax_row)(const NAME(head) * h, int64_t i, REAL *row)
{
    int64_t n = h->causal ? h->n - h->asked + i + 1 : h->n;
    REAL most = row[0];
    for (int64_t j = 1; j < n; j++) {
        most = row[j] > most ? row[j] : most;
    }
#pragma GCC ivdep
    for (int64_t j = 0; j < n; j++) {
        row[j] = F(exp)(h->scale * (row[j] - most));
    }
    REAL over = 1 / NAME(sum_shifted)(n, row, 0);
    for (int64_t j = 0; j < n; j++) {
        row[j] *= over;
    }
    memset(row + n, 0, (size_t)(h->n - n) * sizeof *row);
}

static void NAME(attend_forward)(const NAME(strip) * t, const far_stage *s)
{
    REAL *out = NAME(value_at)(t, s->output);
    for (int64_t i = 0; i < t->rows * s->step->heads; i++) {
        int64_t row = i / s->step->heads, which = i % s->step->heads;
        NAME(head) h = NAME(head_at)(t, s, row, which);
        NAME(head_scores)(&h, h.q, h.ld, h.k, h.ld, false, h.weights);
        for (int64_t k = 0; k < h.asked; k++) {
            NAME(softmax_row)(&h, k, h.weights + k * h.n);
        }
        REAL *to = out + row * h.asked * s->out + which * h.size;
        NAME(head_mix)(&h, h.weights, false, h.v, h.ld, false, to, s->out);
    }
}

/* sum of a_j b_j */
INLINE REAL NAME(sum_of_products)(int64_t n, const REAL *a, const REAL *b)
{
    NAME(vec) sum = {0};
    REAL few = 0;
    int64_t j = 0;
    for (; j + LANES <= n; j += LANES) {
        sum += NAME(load)(a + j) * NAME(load)(b + j);
    }
    if (n >= LANES) {
        NAME(vec) last = NAME(load)(a + n - LANES) * NAME(load)(b + n - LANES);
        return NAME(total)(sum + NAME(rest_of)(last, n - j));
    }
    for (; j < n; j++) {
        few += a[j] * b[j];
    }
    return few;
}

/* Scores' changes from weights' changes, or the other way round: the derivative of a softmax is
 * symmetric. In place: d_j = scale w_j (d_j - sum_k w_k d_k). */
static void NAME(softmax_change)(const NAME(head) * h, REAL *d)
{
    for (int64_t i = 0; i < h->asked; i++) {
        const REAL *w = h->weights + i * h->n;
        REAL *row = d + i * h->n, mean = NAME(sum_of_products)(h->n, w, row);
        for (int64_t j = 0; j < h->n; j++) {
            row[j] = h->scale * w[j] * (row[j] - mean);
        }
    }
}

static void NAME(clear_lines)(int64_t lines, int64_t n, REAL *to, int64_t ld)
{
    for (int64_t i = 0; i < lines; i++) {
        memset(to + i * ld, 0, (size_t)n * sizeof *to);
    }
}

static void NAME(attend_backward)(const NAME(strip) * t, const far_stage *s)
{
    const REAL *d = NAME(gradient_at)(t, s->to);
    REAL *from = NAME(gradient_at)(t, s->from);
    for (int64_t i = 0; i < t->rows * s->step->heads; i++) {
        int64_t row = i / s->step->heads, which = i % s->step->heads;
        NAME(head) h = NAME(head_at)(t, s, row, which);
        const REAL *g = d + row * h.asked * s->out + which * h.size;
        REAL *to = from + row * h.n * h.ld + which * h.size;
        REAL *asked = to + (h.n - h.asked) * h.ld;
        NAME(clear_lines)(h.n - h.asked, h.size, to, h.ld);
        NAME(head_mix)(&h, h.weights, true, g, s->out, false, to + 2 * s->out, h.ld);
        NAME(head_scores)(&h, g, s->out, h.v, h.ld, false, h.scores);
        NAME(softmax_change)(&h, h.scores);
        NAME(head_mix)(&h, h.scores, false, h.k, h.ld, false, asked, h.ld);
        NAME(head_mix)(&h, h.scores, true, h.q, h.ld, false, to + s->out, h.ld);
    }
}

static void NAME(attend_tangent)(const NAME(strip) * t, const far_stage *s)
{
    const REAL *along = NAME(tangent_at)(t, s->tangent_from);
    REAL *out = NAME(tangent_at)(t, s->tangent_to);
    for (int64_t i = 0; i < t->rows * s->step->heads; i++) {
        int64_t row = i / s->step->heads, which = i % s->step->heads;
        NAME(head) h = NAME(head_at)(t, s, row, which);
        const REAL *first = along + row * h.n * h.ld + which * h.size;
        const REAL *dq = first + (h.n - h.asked) * h.ld, *dk = first + s->out;
        const REAL *dv = first + 2 * s->out;
        REAL *to = out + row * h.asked * s->out + which * h.size;
        NAME(head_scores)(&h, dq, h.ld, h.k, h.ld, false, h.scores);
        NAME(head_scores)(&h, h.q, h.ld, dk, h.ld, true, h.scores);
        NAME(softmax_change)(&h, h.scores);
        NAME(head_mix)(&h, h.scores, false, h.v, h.ld, false, to, s->out);
        NAME(head_mix)(&h, h.weights, false, dv, h.ld, true, to, s->out);
    }
}
