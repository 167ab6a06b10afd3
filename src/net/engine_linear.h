/* Part of engine_impl.h: dense layers and convolutions. A convolution is a product too: at each
 * line of its window the channels of neighbouring pixels lie next to each other. */

static bool NAME(is_conv)(const far_stage *s)
{
    return s->linear->kind == FAR_STEP_CONV;
}

/* ---- weights ------------------------------------------------------------------------------- */

static void NAME(set_panels)(const far_stage *s, const REAL *weight, int64_t i, REAL *panels)
{
    REAL scale = (REAL)s->linear->weight_scale;
    for (int64_t first = 0; first < s->out; first += PANEL) {
        int64_t cols = s->out - first < PANEL ? s->out - first : PANEL;
        const REAL *restrict from = weight + i * s->out + first;
        REAL *restrict to = panels + first * s->depth + i * PANEL;
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
    REAL scale = (REAL)s->linear->weight_scale;
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

#undef TURN_OUTPUTS

/* The window turned about its middle, and in by out: gradients go through it as values through the
 * window itself. */
static void NAME(set_turned_window)(const far_stage *s, const REAL *weight, int64_t begin,
                                    int64_t end, REAL *turned)
{
    REAL scale = (REAL)s->linear->weight_scale;
    int64_t window = far_positions(s->linear->window);
    for (int64_t i = begin; i < end; i++) {
        int64_t pixel = window - 1 - i / s->in, channel = i % s->in;
        REAL *to = turned + channel / PANEL * PANEL * window * s->out + channel % PANEL;
        for (int64_t o = 0; o < s->out; o++) {
            to[(pixel * s->out + o) * PANEL] = scale * weight[i * s->out + o];
        }
    }
}

static void NAME(linear_set)(far_weights *w, const far_stage *s, const REAL *packed, int64_t slice,
                             int64_t slices)
{
    REAL *data = w->data;
    int64_t begin = s->depth * slice / slices, end = s->depth * (slice + 1) / slices;
    const REAL *weight = NAME(linear_weight)(w, s, packed, begin, end, slice == 0);
    for (int64_t i = begin; !s->narrow && i < end; i++) {
        NAME(set_panels)(s, weight, i, data + s->panels);
    }
    if (NAME(is_conv)(s)) {
        NAME(set_turned_window)(s, weight, begin, end, data + s->turned);
    } else if (s->turned >= 0) {
        NAME(set_turned)(s, weight, begin, end, data + s->turned);
    }
    if (slice == 0 && s->linear->rank > 0) {
        NAME(lora_shift)(w, s);
    } else if (slice == 0) {
        NAME(set_vector)
        (packed, s->linear->bias, s->out, (REAL)s->linear->bias_scale, data + s->shift);
    }
}

/* ---- dense --------------------------------------------------------------------------------- */

/* c = in W (+ bias), or c += in W. */
static void NAME(dense_product)(const NAME(strip) * t, const far_weights *w, const far_stage *s,
                                NAME(rows) in, bool bias, bool add, REAL *c)
{
    const NAME(product) m = {.rows = NAME(lines_of)(t, s),
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

static void NAME(dense_input_gradient)(const NAME(strip) * t, const far_stage *s)
{
    const NAME(product) m = {.rows = NAME(lines_of)(t, s),
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

/* All rows of the strip at once. */
static void NAME(dense_gradient)(const NAME(strip) * t, const far_stage *s)
{
    const REAL *d = NAME(gradient_at)(t, s->to);
    NAME(rows) in = NAME(rows_of)(t, s->input);
    REAL *bias, *weight = NAME(gradient_place)(t, s, &bias);
    const NAME(product) m = {.rows = s->in,
                             .cols = s->out,
                             .depth = NAME(lines_of)(t, s),
                             .a = in.data,
                             .row_step = 1,
                             .depth_step = in.ld,
                             .c = weight,
                             .ldc = s->out,
                             .add = true,
                             .scale = (REAL)s->linear->weight_scale};
    REAL bias_scale = (REAL)s->linear->bias_scale;
    if (s->narrow) {
        NAME(add_outer_narrow)(&m, d, t->p->line, bias, bias_scale);
    } else {
        NAME(add_outer)(&m, d, t->p->panel, bias, bias_scale);
    }
}

/* ---- convolutions -------------------------------------------------------------------------- */

/* One image with `pad` pixels of zeros around it; the image itself where there are none. */
static const REAL *NAME(pad_image)(const NAME(strip) * t, const far_step *c, const REAL *image)
{
    if (c->pad == 0) {
        return image;
    }
    int64_t line = c->from.width * c->in, across = line + 2 * c->pad * c->in;
    REAL *out = t->p->scratch;
    memset(out, 0, (size_t)far_conv_padded(c) * sizeof *out);
    for (int64_t y = 0; y < c->from.height; y++) {
        memcpy(out + (y + c->pad) * across + c->pad * c->in, image + y * line,
               (size_t)line * sizeof *out);
    }
    return out;
}

/* One line of an image's output: c = image * W (+ bias), or c += image * W. */
static NAME(product) NAME(conv_line)(const far_weights *w, const far_stage *s, const REAL *image,
                                     int64_t y, bool bias, bool add, REAL *out)
{
    const far_step *c = s->linear;
    int64_t across = (c->from.width + 2 * c->pad) * s->in;
    return (NAME(product)){.rows = c->to.width,
                           .cols = s->out,
                           .depth = c->window.width * s->in,
                           .a = image + y * c->stride * across,
                           .row_step = c->stride * s->in,
                           .depth_step = 1,
                           .segments = c->window.height,
                           .segment_step = across,
                           .b = NAME(weight_at)(w, s->panels),
                           .start = bias ? NAME(weight_at)(w, s->shift) : NULL,
                           .c = out + y * c->to.width * s->out,
                           .ldc = s->out,
                           .add = add,
                           .scale = 1};
}

/* One image. Weights beyond the second-level cache come by once, panel by panel, others once a
 * line: the same sums in the same order. */
static void NAME(conv_image)(const far_weights *w, const far_stage *s, const REAL *image, bool bias,
                             bool add, REAL *out)
{
    int64_t lines = s->linear->to.height;
    bool heavy = s->depth * s->out * (int64_t)sizeof(REAL) > STRIP_WEIGHT_BYTES;
    for (int64_t y = 0; y < lines && !heavy; y++) {
        const NAME(product) m = NAME(conv_line)(w, s, image, y, bias, add, out);
        NAME(multiply)(&m);
    }
    for (int64_t first = 0; first < s->out && heavy; first += PANEL) {
        for (int64_t y = 0; y < lines; y++) {
            const NAME(product) m = NAME(conv_line)(w, s, image, y, bias, add, out);
            NAME(multiply_panel)(&m, m.b + first * s->depth, first);
        }
    }
}

/* in: packed rows of images. */
static void NAME(conv_product)(const NAME(strip) * t, const far_weights *w, const far_stage *s,
                               const REAL *in, bool bias, bool add, REAL *out)
{
    for (int64_t r = 0; r < t->rows; r++) {
        const REAL *image = NAME(pad_image)(t, s->linear, in + r * s->before * s->in);
        NAME(conv_image)(w, s, image, bias, add, out + r * s->after * s->out);
    }
}

/* Gradients of one image, a stride apart, with zeros between and around them: the gradient of pixel
 * (y, x) of the input is what the turned window gives at (y, x). */
static const REAL *NAME(spread_gradient)(const NAME(strip) * t, const far_stage *s, const REAL *d)
{
    const far_step *c = s->linear;
    int64_t height = c->from.height + c->window.height - 1;
    int64_t width = c->from.width + c->window.width - 1;
    int64_t down = c->window.height - 1 - c->pad, right = c->window.width - 1 - c->pad;
    REAL *out = t->p->scratch;
    memset(out, 0, (size_t)far_conv_spread(c) * sizeof *out);
    for (int64_t y = 0; y < c->to.height; y++) {
        for (int64_t x = 0; x < c->to.width; x++) {
            int64_t row = y * c->stride + down, col = x * c->stride + right;
            if (row >= 0 && row < height && col >= 0 && col < width) {
                memcpy(out + (row * width + col) * s->out, d + (y * c->to.width + x) * s->out,
                       (size_t)s->out * sizeof *out);
            }
        }
    }
    return out;
}

static void NAME(conv_input_gradient)(const NAME(strip) * t, const far_stage *s)
{
    const far_step *c = s->linear;
    int64_t across = (c->from.width + c->window.width - 1) * s->out;
    const REAL *d = NAME(gradient_at)(t, s->to);
    REAL *to = NAME(gradient_at)(t, s->from);
    for (int64_t r = 0; r < t->rows; r++) {
        const REAL *spread = NAME(spread_gradient)(t, s, d + r * s->after * s->out);
        for (int64_t y = 0; y < c->from.height; y++) {
            const NAME(product) m = {.rows = c->from.width,
                                     .cols = s->in,
                                     .depth = c->window.width * s->out,
                                     .a = spread + y * across,
                                     .row_step = s->out,
                                     .depth_step = 1,
                                     .segments = c->window.height,
                                     .segment_step = across,
                                     .b = NAME(weight_at)(t->w, s->turned),
                                     .c = to + (r * s->before + y * c->from.width) * s->in,
                                     .ldc = s->in};
            NAME(multiply)(&m);
        }
    }
}

/* One image: gradient (window line by line) += patches' d, a panel of outputs at a time. */
static void NAME(conv_gradient_image)(const NAME(strip) * t, const far_stage *s, const REAL *image,
                                      const REAL *d)
{
    const far_step *c = s->linear;
    int64_t across = (c->from.width + 2 * c->pad) * s->in, line = c->window.width * s->in;
    REAL *bias, *weight = NAME(gradient_place)(t, s, &bias);
    for (int64_t first = 0; first < s->out; first += PANEL) {
        REAL sums[PANEL] = {0};
        NAME(copy_panel)(s->after, s->out, d, first, t->p->panel, sums);
        for (int64_t k = 0; k < c->window.height; k++) {
            const NAME(product) m = {.rows = line,
                                     .cols = s->out,
                                     .depth = c->to.width,
                                     .a = image + k * across,
                                     .row_step = 1,
                                     .depth_step = c->stride * s->in,
                                     .segments = c->to.height,
                                     .segment_step = c->stride * across,
                                     .c = weight + k * line * s->out,
                                     .ldc = s->out,
                                     .add = true,
                                     .scale = (REAL)c->weight_scale};
            NAME(multiply_panel)(&m, t->p->panel, first);
        }
        for (int64_t j = 0; bias && j < PANEL && first + j < s->out; j++) {
            bias[first + j] += (REAL)c->bias_scale * sums[j];
        }
    }
}

static void NAME(conv_gradient)(const NAME(strip) * t, const far_stage *s)
{
    const REAL *d = NAME(gradient_at)(t, s->to), *in = NAME(rows_of)(t, s->input).data;
    for (int64_t r = 0; r < t->rows; r++) {
        const REAL *image = NAME(pad_image)(t, s->linear, in + r * s->before * s->in);
        NAME(conv_gradient_image)(t, s, image, d + r * s->after * s->out);
    }
}

/* ---- both ---------------------------------------------------------------------------------- */

static void NAME(linear_product)(const NAME(strip) * t, const far_weights *w, const far_stage *s,
                                 NAME(rows) in, bool bias, bool add, REAL *out)
{
    if (NAME(is_conv)(s)) {
        NAME(conv_product)(t, w, s, in.data, bias, add, out);
    } else {
        NAME(dense_product)(t, w, s, in, bias, add, out);
    }
}

static void NAME(linear_forward)(const NAME(strip) * t, const far_stage *s)
{
    REAL *out = NAME(value_at)(t, s->output);
    NAME(linear_product)(t, t->w, s, NAME(rows_of)(t, s->input), true, false, out);
}

static void NAME(linear_backward)(const NAME(strip) * t, const far_stage *s)
{
    if (NAME(is_conv)(s)) {
        NAME(conv_input_gradient)(t, s);
    } else {
        NAME(dense_input_gradient)(t, s);
    }
}

static void NAME(linear_gradient)(const NAME(strip) * t, const far_stage *s)
{
    bool lora = s->linear->rank > 0;
    if (lora) {
        NAME(lora_clear)(t, s);
    }
    if (NAME(is_conv)(s)) {
        NAME(conv_gradient)(t, s);
    } else {
        NAME(dense_gradient)(t, s);
    }
    if (lora) {
        NAME(lora_gradient)(t, s);
    }
}

static void NAME(linear_tangent)(const NAME(strip) * t, const far_stage *s)
{
    bool live = t->live || (s->tangent_from > 0 && !s->idle); /* tangents of its input are not 0 */
    REAL *to = NAME(tangent_at)(t, s->tangent_to);
    NAME(rows) in = {NAME(tangent_at)(t, s->tangent_from), s->in};
    if (t->v) {
        NAME(linear_product)(t, t->v, s, NAME(rows_of)(t, s->input), true, false, to);
    }
    if (live) {
        NAME(linear_product)(t, t->w, s, in, false, t->v != NULL, to);
    } else if (!t->v) {
        memset(to, 0, (size_t)(NAME(lines_of)(t, s) * s->out) * sizeof *to);
    }
}
