/* Part of engine_impl.h: between rows of numbers and positions with channels: the input, pools, and
 * what makes one vector of all positions. Gradients and tangents are linear in the same way. */

/* ---- the input ----------------------------------------------------------------------------- */

/* PyTorch has the channels of an image one after another, here they lie next to each other. */
static void NAME(interleave)(int64_t positions, int64_t channels, const REAL *from, REAL *to)
{
    for (int64_t c = 0; c < channels; c++) {
        for (int64_t i = 0; i < positions; i++) {
            to[i * channels + c] = from[c * positions + i];
        }
    }
}

static void NAME(separate)(int64_t positions, int64_t channels, const REAL *from, REAL *to)
{
    for (int64_t i = 0; i < positions; i++) {
        for (int64_t c = 0; c < channels; c++) {
            to[c * positions + i] = from[i * channels + c];
        }
    }
}

static void NAME(take_input)(const NAME(strip) * t, const far_stage *s, NAME(rows) in, REAL *out)
{
    int64_t width = s->after * s->out;
    for (int64_t r = 0; r < t->rows; r++) {
        if (s->step->to.kind == FAR_GRID_IMAGE) {
            NAME(interleave)(s->after, s->out, in.data + r * in.ld, out + r * width);
        } else {
            memcpy(out + r * width, in.data + r * in.ld, (size_t)width * sizeof *out);
        }
    }
}

static void NAME(input_forward)(const NAME(strip) * t, const far_stage *s)
{
    NAME(take_input)(t, s, NAME(rows_of)(t, s->input), NAME(value_at)(t, s->output));
}

static void NAME(input_backward)(const NAME(strip) * t, const far_stage *s)
{
    int64_t width = s->after * s->out;
    const REAL *d = NAME(gradient_at)(t, s->to);
    REAL *to = NAME(gradient_at)(t, s->from);
    for (int64_t r = 0; r < t->rows; r++) {
        if (s->step->to.kind == FAR_GRID_IMAGE) {
            NAME(separate)(s->after, s->out, d + r * width, to + r * width);
        } else {
            memcpy(to + r * width, d + r * width, (size_t)width * sizeof *to);
        }
    }
}

static void NAME(input_tangent)(const NAME(strip) * t, const far_stage *s)
{
    NAME(rows) in = {NAME(tangent_at)(t, s->tangent_from), s->after * s->out};
    NAME(take_input)(t, s, in, NAME(tangent_at)(t, s->tangent_to));
}

/* ---- pools --------------------------------------------------------------------------------- */

/* Pixels of the window at one place of the output, the ones in the padding aside. */
typedef struct NAME(window) {
    int64_t top, bottom, left, right;
} NAME(window);

static NAME(window) NAME(window_at)(const far_step *c, int64_t y, int64_t x)
{
    NAME(window)
    w = {y * c->stride - c->pad, y * c->stride - c->pad + c->window.height, x * c->stride - c->pad,
         x * c->stride - c->pad + c->window.width};
    w.top = w.top < 0 ? 0 : w.top;
    w.left = w.left < 0 ? 0 : w.left;
    w.bottom = w.bottom > c->from.height ? c->from.height : w.bottom;
    w.right = w.right > c->from.width ? c->from.width : w.right;
    return w;
}

/* What a pool does with values, gradients and tangents at one place of the output; room: three
 * numbers a channel. */
typedef void (*NAME(pool_fn))(const far_step *c, NAME(window) w, const REAL *image,
                              const REAL *from, REAL *to, REAL *room);

/* Forwards from whole images to places, backwards from places to whole images. */
static void NAME(pool_images)(const NAME(strip) * t, const far_stage *s, NAME(pool_fn) run,
                              bool back, const REAL *from, REAL *to)
{
    const far_step *c = s->step;
    const REAL *in = NAME(rows_of)(t, s->input).data;
    for (int64_t i = 0; i < t->rows * s->after; i++) {
        int64_t place = i % s->after, whole = i / s->after * s->before * s->in, one = i * s->in;
        NAME(window) w = NAME(window_at)(c, place / c->to.width, place % c->to.width);
        run(c, w, in + whole, from + (back ? one : whole), to + (back ? whole : one),
            t->p->scratch);
    }
}

/* The larger one, and a NAN where there is one. */
INLINE NAME(vec) NAME(larger)(NAME(vec) most, NAME(vec) pixel)
{
    NAME(lanes) keep = (most >= pixel) | (most != most);
    return (NAME(vec))(((NAME(lanes))most & keep) | ((NAME(lanes))pixel & ~keep));
}

static void NAME(max_out)(const far_step *c, NAME(window) w, const REAL *image, const REAL *from,
                          REAL *to, REAL *room)
{
    int64_t n = c->in, line = c->from.width * n, k = 0;
    const REAL *corner = from + w.top * line + w.left * n, *end = from + w.bottom * line;
    int64_t across = (w.right - w.left) * n;
    (void)image;
    (void)room;
    for (; k + LANES <= n; k += LANES) {
        NAME(vec) most = NAME(load)(corner + k);
        for (const REAL *row = corner + k; row < end; row += line) {
            for (int64_t x = 0; x < across; x += n) {
                most = NAME(larger)(most, NAME(load)(row + x));
            }
        }
        NAME(store)(to + k, most);
    }
    for (; k < n; k++) {
        REAL most = corner[k];
        for (const REAL *row = corner + k; row < end; row += line) {
            for (int64_t x = 0; x < across; x += n) {
                most = most >= row[x] || isnan(most) ? most : row[x];
            }
        }
        to[k] = most;
    }
}

/* Which pixel of a window is the largest, channel by channel: the first of them, and a NAN counts
 * as largest. hit: 1 where it is the pixel looked at. open: 1 as long as it was not met. */
typedef struct NAME(marks) {
    REAL *most, *open, *hit;
} NAME(marks);

/* Before the first pixel. */
static NAME(marks)
    NAME(start_marks)(const far_step *c, NAME(window) w, const REAL *image, REAL *room)
{
    NAME(marks) m = {room, room + c->in, room + 2 * c->in};
    NAME(max_out)(c, w, image, image, m.most, NULL);
    for (int64_t k = 0; k < c->in; k++) {
        m.open[k] = 1;
    }
    return m;
}

static void NAME(mark_largest)(int64_t n, const REAL *restrict pixel, NAME(marks) m)
{
    const REAL *restrict most = m.most;
    REAL *restrict open = m.open, *restrict hit = m.hit;
    for (int64_t k = 0; k < n; k++) {
        bool same = pixel[k] == most[k] || (isnan(most[k]) && isnan(pixel[k]));
        hit[k] = same ? open[k] : 0;
        open[k] -= hit[k];
    }
}

/* Every pixel of the window with its marks: the gradient goes to the largest one, the tangent comes
 * from it. */
static void NAME(max_change)(const far_step *c, NAME(window) w, const REAL *image, bool back,
                             const REAL *from, REAL *to, REAL *room)
{
    int64_t n = c->in;
    NAME(marks) m = NAME(start_marks)(c, w, image, room);
    for (int64_t y = w.top; y < w.bottom; y++) {
        for (int64_t x = w.left; x < w.right; x++) {
            int64_t at = (y * c->from.width + x) * n;
            NAME(mark_largest)(n, image + at, m);
            const REAL *restrict source = back ? from : from + at, *restrict marks = m.hit;
            REAL *restrict out = back ? to + at : to;
            for (int64_t k = 0; k < n; k++) {
                out[k] += marks[k] != 0 ? source[k] : 0;
            }
        }
    }
}

static void NAME(max_back)(const far_step *c, NAME(window) w, const REAL *image, const REAL *from,
                           REAL *to, REAL *room)
{
    NAME(max_change)(c, w, image, true, from, to, room);
}

static void NAME(max_along)(const far_step *c, NAME(window) w, const REAL *image, const REAL *from,
                            REAL *to, REAL *room)
{
    memset(to, 0, (size_t)c->in * sizeof *to);
    NAME(max_change)(c, w, image, false, from, to, room);
}

static void NAME(mean_out)(const far_step *c, NAME(window) w, const REAL *image, const REAL *from,
                           REAL *to, REAL *room)
{
    REAL share = 1 / (REAL)far_positions(c->window);
    (void)image;
    (void)room;
    memset(to, 0, (size_t)c->in * sizeof *to);
    for (int64_t y = w.top; y < w.bottom; y++) {
        for (int64_t x = w.left; x < w.right; x++) {
            for (int64_t k = 0; k < c->in; k++) {
                to[k] += share * from[(y * c->from.width + x) * c->in + k];
            }
        }
    }
}

static void NAME(mean_back)(const far_step *c, NAME(window) w, const REAL *image, const REAL *from,
                            REAL *to, REAL *room)
{
    REAL share = 1 / (REAL)far_positions(c->window);
    (void)image;
    (void)room;
    for (int64_t y = w.top; y < w.bottom; y++) {
        for (int64_t x = w.left; x < w.right; x++) {
            for (int64_t k = 0; k < c->in; k++) {
                to[(y * c->from.width + x) * c->in + k] += share * from[k];
            }
        }
    }
}

static bool NAME(is_max)(const far_stage *s)
{
    return s->step->kind == FAR_STEP_MAXPOOL;
}

static void NAME(pool_forward)(const NAME(strip) * t, const far_stage *s)
{
    const REAL *in = NAME(rows_of)(t, s->input).data;
    NAME(pool_fn) run = NAME(is_max)(s) ? NAME(max_out) : NAME(mean_out);
    NAME(pool_images)(t, s, run, false, in, NAME(value_at)(t, s->output));
}

static void NAME(pool_backward)(const NAME(strip) * t, const far_stage *s)
{
    REAL *to = NAME(gradient_at)(t, s->from);
    NAME(pool_fn) run = NAME(is_max)(s) ? NAME(max_back) : NAME(mean_back);
    memset(to, 0, (size_t)(t->rows * s->before * s->in) * sizeof *to);
    NAME(pool_images)(t, s, run, true, NAME(gradient_at)(t, s->to), to);
}

static void NAME(pool_tangent)(const NAME(strip) * t, const far_stage *s)
{
    const REAL *from = NAME(tangent_at)(t, s->tangent_from);
    NAME(pool_fn) run = NAME(is_max)(s) ? NAME(max_along) : NAME(mean_out);
    NAME(pool_images)(t, s, run, false, from, NAME(tangent_at)(t, s->tangent_to));
}

/* ---- one vector ---------------------------------------------------------------------------- */

static void NAME(mean_row)(int64_t positions, int64_t channels, const REAL *from, REAL *to)
{
    memset(to, 0, (size_t)channels * sizeof *to);
    for (int64_t i = 0; i < positions; i++) {
        for (int64_t c = 0; c < channels; c++) {
            to[c] += from[i * channels + c];
        }
    }
    for (int64_t c = 0; c < channels; c++) {
        to[c] /= (REAL)positions;
    }
}

static void NAME(gather_rows)(const NAME(strip) * t, const far_stage *s, const REAL *from, REAL *to)
{
    int64_t width = s->before * s->in;
    for (int64_t r = 0; r < t->rows; r++) {
        const REAL *row = from + r * width;
        REAL *out = to + r * s->out;
        if (s->step->kind == FAR_STEP_GAP) {
            NAME(mean_row)(s->before, s->in, row, out);
        } else if (s->step->kind == FAR_STEP_LAST) {
            memcpy(out, row + width - s->in, (size_t)s->in * sizeof *out);
        } else if (s->step->from.kind == FAR_GRID_IMAGE) {
            NAME(separate)(s->before, s->in, row, out);
        } else {
            memcpy(out, row, (size_t)width * sizeof *out);
        }
    }
}

static void NAME(gather_forward)(const NAME(strip) * t, const far_stage *s)
{
    NAME(gather_rows)(t, s, NAME(rows_of)(t, s->input).data, NAME(value_at)(t, s->output));
}

static void NAME(gather_tangent)(const NAME(strip) * t, const far_stage *s)
{
    const REAL *from = NAME(tangent_at)(t, s->tangent_from);
    NAME(gather_rows)(t, s, from, NAME(tangent_at)(t, s->tangent_to));
}

static void NAME(spread_row)(const far_stage *s, const REAL *d, REAL *to)
{
    int64_t width = s->before * s->in;
    if (s->step->kind == FAR_STEP_LAST) {
        memset(to, 0, (size_t)(width - s->in) * sizeof *to);
        memcpy(to + width - s->in, d, (size_t)s->in * sizeof *to);
    } else if (s->step->kind == FAR_STEP_GAP) {
        for (int64_t i = 0; i < s->before; i++) {
            for (int64_t c = 0; c < s->in; c++) {
                to[i * s->in + c] = d[c] / (REAL)s->before;
            }
        }
    } else if (s->step->from.kind == FAR_GRID_IMAGE) {
        NAME(interleave)(s->before, s->in, d, to);
    } else {
        memcpy(to, d, (size_t)width * sizeof *to);
    }
}

static void NAME(gather_backward)(const NAME(strip) * t, const far_stage *s)
{
    const REAL *d = NAME(gradient_at)(t, s->to);
    REAL *to = NAME(gradient_at)(t, s->from);
    for (int64_t r = 0; r < t->rows; r++) {
        NAME(spread_row)(s, d + r * s->out, to + r * s->before * s->in);
    }
}
