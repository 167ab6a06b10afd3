/* Part of engine_impl.h: gradients of several outputs for one row of inputs. Behind relu and pools
 * most gradients of a convolution's output are 0 for every output of the network: those that are
 * not are listed once, and both its products run over the list, one row an output. */

/* ---- products over a list ------------------------------------------------------------------ */

/* c (rows, ldc apart) = scale times the sum over the picks of a[pick.a + row] b[pick.b + column].
 */
typedef struct NAME(picked) {
    int64_t rows, cols; /* PANEL columns at most */
    const far_pick *picks;
    int64_t count;
    const REAL *a, *b;
    REAL *c;
    int64_t ldc;
    REAL scale;
} NAME(picked);

static __attribute__((noinline)) void NAME(write_picked)(const NAME(picked) * m, int count,
                                                         const REAL *sums, REAL *c)
{
    for (int r = 0; r < count; r++) {
        memcpy(c + r * m->ldc, sums + r * PANEL, (size_t)m->cols * sizeof *c);
    }
}

/* count and vectors are constants where this is inlined. */
INLINE void NAME(picked_tile)(int count, int vectors, const NAME(picked) * m, int64_t row)
{
    NAME(vec) sum[TILE_ROWS][2] = {{{0}}};
    const REAL *a = m->a + row, *b = m->b;
    for (int64_t i = 0; i < m->count; i++) {
        const REAL *x = a + m->picks[i].a, *y = b + m->picks[i].b;
        NAME(vec) b0 = NAME(load)(y), b1 = vectors > 1 ? NAME(load)(y + LANES) : b0;
#pragma GCC unroll 16
        for (int r = 0; r < count; r++) {
            sum[r][0] += x[r] * b0;
            if (vectors > 1) {
                sum[r][1] += x[r] * b1;
            }
        }
    }
    REAL part[TILE_ROWS * PANEL];
    bool whole = m->cols == vectors * LANES;
    REAL *c = m->c + row * m->ldc, *to = whole ? c : part;
    int64_t ld = whole ? m->ldc : PANEL;
#pragma GCC unroll 16
    for (int r = 0; r < count; r++) {
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) {
            NAME(store)(to + r * ld + v * LANES, m->scale * sum[r][v]);
        }
    }
    if (!whole) {
        NAME(write_picked)(m, count, part, c);
    }
}

typedef void (*NAME(picked_fn))(const NAME(picked) * m, int64_t row);

#define PICKED(count)                                                                              \
    static void NAME(picked_##count##_1)(const NAME(picked) * m, int64_t row)                      \
    {                                                                                              \
        NAME(picked_tile)(count, 1, m, row);                                                       \
    }                                                                                              \
    static void NAME(picked_##count##_2)(const NAME(picked) * m, int64_t row)                      \
    {                                                                                              \
        NAME(picked_tile)(count, 2, m, row);                                                       \
    }
#define PICKED_4 PICKED(1) PICKED(2) PICKED(3) PICKED(4)
#define PICKED_6 PICKED_4 PICKED(5) PICKED(6)
#define PICKED_14                                                                                  \
    PICKED_6 PICKED(7) PICKED(8) PICKED(9) PICKED(10) PICKED(11) PICKED(12) PICKED(13) PICKED(14)
#define BOTH(count) {NAME(picked_##count##_1), NAME(picked_##count##_2)},
#define BOTH_4 BOTH(1) BOTH(2) BOTH(3) BOTH(4)
#define BOTH_6 BOTH_4 BOTH(5) BOTH(6)
#define BOTH_14 BOTH_6 BOTH(7) BOTH(8) BOTH(9) BOTH(10) BOTH(11) BOTH(12) BOTH(13) BOTH(14)

EXPAND(PICKED_, TILE_ROWS)
static const NAME(picked_fn) NAME(picked_tiles)[TILE_ROWS][2] = {EXPAND(BOTH_, TILE_ROWS)};

static void NAME(multiply_picked)(const NAME(picked) * m)
{
    int64_t tiles = (m->rows + TILE_ROWS - 1) / TILE_ROWS;
    for (int64_t t = 0; t < tiles; t++) {
        int64_t row = m->rows * t / tiles, next = m->rows * (t + 1) / tiles;
        NAME(picked_tiles)[next - row - 1][m->cols > LANES](m, row);
    }
}

/* ---- the list ------------------------------------------------------------------------------ */

/* Channels that are not 0 in one of the rows of d, size apart, behind those found so far. */
static int32_t NAME(active_channels)(int64_t rows, int64_t size, int64_t channels, const REAL *d,
                                     int32_t found, int32_t *channel)
{
    int64_t c = 0;
    for (; c + LANES <= channels; c += LANES) {
        NAME(lanes) any = {0};
        for (int64_t r = 0; r < rows; r++) {
            any |= NAME(load)(d + r * size + c) != 0;
        }
        for (int i = 0; i < LANES; i++) {
            channel[found] = (int32_t)c + i;
            found += any[i] != 0;
        }
    }
    for (; c < channels; c++) {
        bool any = false;
        for (int64_t r = 0; r < rows; r++) {
            any |= d[r * size + c] != 0;
        }
        channel[found] = (int32_t)c;
        found += any;
    }
    return found;
}

/* Of the gradients of a convolution's outputs, one row for each output of the network. */
static void NAME(find_active)(const NAME(strip) * t, const far_stage *s)
{
    const REAL *d = NAME(gradient_at)(t, s->to);
    far_active *l = &t->p->active;
    int64_t rows = t->rows, size = s->after * s->out;
    REAL *value = l->value;
    int32_t found = 0;
    for (int64_t p = 0; p < s->after; p++, d += s->out) {
        l->start[p] = found;
        found = NAME(active_channels)(rows, size, s->out, d, found, l->channel);
        for (int64_t r = 0; r < rows; r++) {
            for (int32_t e = l->start[p]; e < found; e++) {
                value[e * rows + r] = d[r * size + l->channel[e]];
            }
        }
    }
    l->start[s->after] = found;
}

/* Behind the convolution at most an activation, then a pool that takes the largest pixel of windows
 * that do not overlap: a pixel of each window and channel has a gradient. */
typedef struct NAME(pooled) {
    const far_stage *conv, *point, *pool; /* point: NULL, or the activation */
} NAME(pooled);

/* The first largest pixel of a window, channel by channel. */
static void NAME(find_largest)(const far_step *c, NAME(window) w, const REAL *image, REAL *room,
                               int32_t *where)
{
    int64_t n = c->in;
    NAME(marks) m = NAME(start_marks)(c, w, image, room);
    for (int64_t y = w.top; y < w.bottom; y++) {
        for (int64_t x = w.left; x < w.right; x++) {
            int32_t at = (int32_t)(y * c->from.width + x);
            NAME(mark_largest)(n, image + at * n, m);
            for (int64_t k = 0; k < n; k++) {
                where[k] = m.hit[k] != 0 ? at : where[k];
            }
        }
    }
}

/* At one position of the pool: its pixels, and the slopes there. */
static void NAME(look_through_pool)(const NAME(strip) * t, const NAME(pooled) * s, int64_t p,
                                    int32_t *where, REAL *slope)
{
    const far_step *c = s->pool->step;
    int64_t n = s->pool->in;
    REAL *line = t->p->line;
    NAME(window) w = NAME(window_at)(c, p / c->to.width, p % c->to.width);
    NAME(find_largest)(c, w, NAME(rows_of)(t, s->pool->input).data, t->p->scratch, where);
    for (int64_t k = 0; k < n; k++) {
        slope[k] = 1;
    }
    if (s->point) {
        const REAL *z = NAME(rows_of)(t, s->point->input).data;
        for (int64_t k = 0; k < n; k++) {
            line[k] = z[where[k] * n + k];
        }
        NAME(slope_row)(s->point->activation, n, line, slope);
    }
}

/* As find_active, from the gradients behind the pool. */
static void NAME(find_active_pooled)(const NAME(strip) * t, const NAME(pooled) * s)
{
    const REAL *d = NAME(gradient_at)(t, s->pool->to);
    far_active *l = &t->p->active;
    int64_t rows = t->rows, n = s->pool->in, size = s->pool->after * n;
    REAL *value = l->value, *slope = l->slope;
    int32_t *end = l->start + 1;
    memset(l->start, 0, (size_t)(s->conv->after + 2) * sizeof *end);
    for (int64_t p = 0; p < s->pool->after; p++) {
        NAME(look_through_pool)(t, s, p, l->where + p * n, slope + p * n);
    }
    for (int64_t i = 0; i < size; i++) {
        end[l->where[i] + 1] += slope[i] != 0;
    }
    for (int64_t p = 1; p < s->conv->after; p++) { /* where a position begins; filled: ends */
        end[p] += end[p - 1];
    }
    for (int64_t i = 0; i < size; i++) {
        if (slope[i] != 0) {
            int32_t e = end[l->where[i]]++;
            l->channel[e] = (int32_t)(i % n);
            for (int64_t r = 0; r < rows; r++) {
                value[e * rows + r] = slope[i] * d[r * size + i];
            }
        }
    }
}

/* The list by channel: where the gradients lie, and where the window of the input begins. */
static void NAME(sort_active)(const NAME(strip) * t, const far_stage *s)
{
    const far_step *c = s->linear;
    far_active *l = &t->p->active;
    int64_t across = c->from.width + 2 * c->pad;
    int32_t *end = l->by_channel + 1;
    memset(l->by_channel, 0, (size_t)(s->out + 2) * sizeof *end);
    for (int32_t e = 0; e < l->start[s->after]; e++) {
        end[l->channel[e] + 1]++;
    }
    for (int64_t k = 1; k < s->out; k++) { /* where each channel begins; filled, where it ends */
        end[k] += end[k - 1];
    }
    for (int64_t p = 0; p < s->after; p++) {
        int64_t y = p / c->to.width * c->stride, x = p % c->to.width * c->stride;
        for (int32_t e = l->start[p]; e < l->start[p + 1]; e++) {
            l->picks[end[l->channel[e]]++] =
                (far_pick){e * (int32_t)t->rows, (int32_t)((y * across + x) * s->in)};
        }
    }
}

/* ---- convolutions -------------------------------------------------------------------------- */

/* The gradients by weights and bias of one channel. */
static void NAME(conv_channel_each)(const NAME(strip) * t, const far_stage *s, const REAL *image,
                                    int64_t channel, REAL *out, int64_t ld)
{
    const far_step *c = s->linear;
    const far_active *l = &t->p->active;
    int64_t across = (c->from.width + 2 * c->pad) * s->in, line = c->window.width * s->in;
    NAME(picked)
    m = {.rows = t->rows,
         .picks = l->picks + l->by_channel[channel],
         .count = l->by_channel[channel + 1] - l->by_channel[channel],
         .a = l->value,
         .ldc = ld,
         .scale = (REAL)c->weight_scale};
    for (int64_t k = 0; k < c->window.height; k++) {
        for (int64_t j = 0; j < line; j += PANEL) {
            m.cols = line - j < PANEL ? line - j : PANEL;
            m.b = image + k * across + j;
            m.c = out + k * line + j;
            NAME(multiply_picked)(&m);
        }
    }
    for (int64_t r = 0; c->bias >= 0 && r < t->rows; r++) {
        REAL sum = 0;
        for (int64_t i = 0; i < m.count; i++) {
            sum += m.a[m.picks[i].a + r];
        }
        out[r * ld + s->depth] = (REAL)c->bias_scale * sum;
    }
}

/* Pixels that see the position an offset away: -1 where there is none. */
INLINE int64_t NAME(seen_at)(int64_t offset, int64_t stride, int64_t count)
{
    int64_t at = offset / stride;
    return offset >= 0 && offset % stride == 0 && at < count ? at : -1;
}

/* What the turned window meets at pixel (y, x) of the input. */
static int64_t NAME(list_window)(const NAME(strip) * t, const far_stage *s, int64_t y, int64_t x)
{
    const far_step *c = s->linear;
    const far_active *l = &t->p->active;
    int64_t down = c->window.height - 1 - c->pad, right = c->window.width - 1 - c->pad, n = 0;
    for (int64_t k = 0; k < far_positions(c->window); k++) {
        int64_t row = NAME(seen_at)(y + k / c->window.width - down, c->stride, c->to.height);
        int64_t col = NAME(seen_at)(x + k % c->window.width - right, c->stride, c->to.width);
        if (row < 0 || col < 0) {
            continue;
        }
        int64_t p = row * c->to.width + col;
        for (int32_t e = l->start[p]; e < l->start[p + 1]; e++) {
            l->picks[n++] =
                (far_pick){e * (int32_t)t->rows, (int32_t)((k * s->out + l->channel[e]) * PANEL)};
        }
    }
    return n;
}

static void NAME(conv_input_gradient_each)(const NAME(strip) * t, const far_stage *s)
{
    const far_step *c = s->linear;
    int64_t window = far_positions(c->window);
    REAL *to = NAME(gradient_at)(t, s->from);
    NAME(picked)
    m = {.rows = t->rows,
         .picks = t->p->active.picks,
         .a = t->p->active.value,
         .ldc = s->before * s->in,
         .scale = 1};
    for (int64_t i = 0; i < s->before; i++, to += s->in) {
        m.count = NAME(list_window)(t, s, i / c->from.width, i % c->from.width);
        for (int64_t first = 0; first < s->in; first += PANEL) {
            m.cols = s->in - first < PANEL ? s->in - first : PANEL;
            m.b = NAME(weight_at)(t->w, s->turned) + first * window * s->out;
            m.c = to + first;
            NAME(multiply_picked)(&m);
        }
    }
}

/* By weights and bias, channel by channel. */
static void NAME(conv_gradient_each)(const NAME(strip) * t, const far_stage *s,
                                     const far_jacobian *j)
{
    const REAL *in = NAME(rows_of)(t, s->input).data;
    int64_t length = s->depth + (s->linear->bias >= 0);
    const REAL *image = NAME(pad_image)(t, s->linear, in);
    NAME(sort_active)(t, s);
    for (int64_t c = 0; c < j->channels; c++) {
        NAME(conv_channel_each)(t, s, image, j->first + c, (REAL *)j->out + c * length, j->ld);
    }
}

/* ---- one after another --------------------------------------------------------------------- */

/* Too few for a product: the gradient of one output, in x out, by channel. */
static void NAME(turn_gradient)(const far_stage *s, const REAL *gradient, const far_jacobian *j,
                                REAL *out)
{
    const far_step *c = s->linear;
    for (int64_t k = 0; k < j->channels; k++) {
        for (int64_t i = 0; i < s->depth; i++) {
            *out++ = gradient[c->weight + i * s->out + j->first + k];
        }
        if (c->bias >= 0) {
            *out++ = gradient[c->bias + j->first + k];
        }
    }
}
