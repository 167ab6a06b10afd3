/*
 * Part of precision_impl.h: a plain forward pass. Rows of weights are mostly zeros, so those that
 * are not are listed once; then a few points at a time go through all layers.
 */

typedef struct NAME(entries) {
    int64_t *start; /* of each row of all layers; one more than there are */
    int64_t *col;
    REAL *value; /* those of the parameters, by another name */
    REAL *bias;  /* of each row */
} NAME(entries);

static int64_t NAME(layer_rows)(const far_ln_form *f, int64_t l)
{
    return l < f->layers ? 3 * f->groups : f->classes;
}

static int64_t NAME(layer_cols)(const far_ln_form *f, int64_t l)
{
    return l == 0 ? f->d : 3 * f->groups;
}

static void NAME(list_entries)(const far_ln_form *f, const REAL *at, NAME(entries) * e)
{
    int64_t row = 0, used = 0;
    for (int64_t l = 0; l <= f->layers; l++) {
        int64_t rows = NAME(layer_rows)(f, l), cols = NAME(layer_cols)(f, l);
        const REAL *bias = at + rows * cols;
        for (int64_t r = 0; r < rows; r++, row++) {
            e->start[row] = used;
            e->bias[row] = bias[r];
            for (int64_t j = 0; j < cols; j++) {
                if (!IS_ZERO(at[r * cols + j])) {
                    e->col[used] = j;
                    e->value[used++] = at[r * cols + j];
                }
            }
        }
        at = bias + rows;
    }
    e->start[row] = used;
}

static int64_t NAME(count_entries)(const REAL *parameters, int64_t count)
{
    int64_t used = 0;
    for (int64_t i = 0; i < count; i++) {
        used += !IS_ZERO(parameters[i]);
    }
    return used;
}

static void NAME(entries_clear)(far_ctx *ctx, NAME(entries) * e)
{
    far_free(ctx, e->start);
    far_free(ctx, e->col);
    far_free(ctx, e->value);
    far_free(ctx, e->bias);
}

static far_status NAME(entries_make)(far_ctx *ctx, const far_ln_form *f, const REAL *parameters,
                                     NAME(entries) * e)
{
    far_status st = FAR_OK;
    int64_t rows = f->layers * 3 * f->groups + f->classes;
    int64_t most = NAME(count_entries)(parameters, far_ln_parameters(f));
    FAR_TRY(far_alloc(ctx, rows + 1, &e->start));
    FAR_TRY(far_alloc(ctx, rows, &e->bias));
    FAR_TRY(far_alloc(ctx, most, &e->col));
    FAR_TRY(far_alloc(ctx, most, &e->value));
    NAME(list_entries)(f, parameters, e);
done:
    return st;
}

/* ---- some rows ----------------------------------------------------------------------------- */

/* Values of PASS_ROWS points, neuron by neuron. */
static void NAME(multiply)(const NAME(entries) * e, int64_t first, int64_t rows, const REAL *in,
                           REAL *out)
{
    for (int64_t r = 0; r < rows; r++) {
        REAL *to = out + r * PASS_ROWS, bias = e->bias[first + r];
        for (int p = 0; p < PASS_ROWS; p++) {
            SET_TO(to[p], 0);
        }
        for (int64_t i = e->start[first + r]; i < e->start[first + r + 1]; i++) {
            const REAL *from = in + e->col[i] * PASS_ROWS;
            REAL value = e->value[i];
            for (int p = 0; p < PASS_ROWS; p++) {
                SET(to[p], ADD(to[p], MUL(value, from[p])));
            }
        }
        for (int p = 0; p < PASS_ROWS; p++) {
            SET(to[p], ADD(to[p], bias));
        }
    }
}

static inline void NAME(normalize_three)(REAL *a, REAL *b, REAL *c, REAL eps)
{
    int64_t mark = MARK;
    REAL mean = OVER(ADD(ADD(*a, *b), *c), 3);
    REAL da = SUB(*a, mean), db = SUB(*b, mean), dc = SUB(*c, mean);
    REAL squares = ADD(ADD(MUL(da, da), MUL(db, db)), MUL(dc, dc));
    REAL square = ADD(OVER(squares, 3), eps);
    REAL sigma = SQRT(IS_POSITIVE(square) ? square : NUM(1));
    SET(*a, DIV(da, sigma));
    SET(*b, DIV(db, sigma));
    SET(*c, DIV(dc, sigma));
    RELEASE(mark);
}

static void NAME(normalize)(REAL *z, int64_t groups, double eps)
{
    REAL least = NUM(eps);
    for (int64_t g = 0; g < groups; g++) {
        REAL *a = z + 3 * g * PASS_ROWS, *b = a + PASS_ROWS, *c = b + PASS_ROWS;
        for (int p = 0; p < PASS_ROWS; p++) {
            NAME(normalize_three)(&a[p], &b[p], &c[p], least);
        }
    }
}

/* Half of all numbers up and half down by some last bits, by dice. */
static void NAME(shake)(REAL *z, int64_t count, uint64_t seed)
{
    REAL by = POWER(FAR_LN_SHAKE_BITS - BITS), up = ADD(NUM(1), by), down = SUB(NUM(1), by);
    for (int64_t i = 0; i < count; i++) {
        SET(z[i], MUL(z[i], far_random_bits(seed, (uint64_t)i) & 1 ? up : down));
    }
}

/* ---- a chain, for figures ------------------------------------------------------------------ */

/* The state that row `row` of the next layer reads, as a number on the circle. */
static REAL NAME(read_state)(const REAL *v, REAL a, REAL b, REAL c)
{
    REAL mean = OVER(ADD(ADD(v[0], v[1]), v[2]), 3);
    REAL p = SUB(v[0], mean), q = SUB(v[1], mean), r = SUB(v[2], mean);
    REAL square = ADD(ADD(MUL(p, p), MUL(q, q)), MUL(r, r)), length = SQRT(TIMES(square, 3));
    REAL rise = SUB(ADD(p, q), TIMES(r, 2)); /* 0: it reads the abscissa */
    bool down = IS_ZERO(rise) ? LESS(p, q) : LESS(rise, NUM(0));
    REAL state = ADD(ADD(MUL(p, a), MUL(q, b)), MUL(r, c));
    return DIV(down ? NEG(state) : state, length);
}

static bool NAME(are_zero)(const REAL *v)
{
    return IS_ZERO(v[0]) && IS_ZERO(v[1]) && IS_ZERO(v[2]);
}

/* What the next layer reads of a chain: its first row that is not 0; else the ordinate. */
static void NAME(find_reader)(const far_ln_form *f, const NAME(entries) * e, int64_t layer,
                              int64_t chain, REAL *v)
{
    int64_t first = (layer + 1) * 3 * f->groups, rows = NAME(layer_rows)(f, layer + 1);
    v[0] = v[1] = v[2] = NUM(0);
    for (int64_t r = first; r < first + rows && NAME(are_zero)(v); r++) {
        for (int64_t i = e->start[r]; i < e->start[r + 1]; i++) {
            if (e->col[i] / 3 == chain) {
                v[e->col[i] % 3] = e->value[i];
            }
        }
    }
    if (NAME(are_zero)(v)) {
        v[2] = NUM(-1);
    }
}

static void NAME(tap_point)(const far_ln_tap *tap, const REAL *v, int64_t layer, int64_t row,
                            REAL a, REAL b, REAL c)
{
    int64_t mark = MARK;
    if (tap->states) {
        double *states = far_mat_row(tap->states, row);
        states[layer + 1] = NEAR(NAME(read_state)(v, a, b, c));
    }
    if (tap->circle) {
        double *circle = far_mat_row(tap->circle, row);
        circle[2 * layer] = NEAR(DIV(SUB(a, b), SQRT(NUM(6))));
        circle[2 * layer + 1] = NEAR(DIV(NEG(c), SQRT(NUM(2))));
    }
    RELEASE(mark);
}

static void NAME(tap_layer)(const far_ln_form *f, const NAME(entries) * e, const far_ln_tap *tap,
                            int64_t layer, const REAL *z, int64_t first, int64_t rows)
{
    const REAL *a = z + 3 * tap->chain * PASS_ROWS, *b = a + PASS_ROWS, *c = b + PASS_ROWS;
    REAL v[3];
    NAME(find_reader)(f, e, layer, tap->chain, v);
    for (int64_t p = 0; p < rows; p++) {
        NAME(tap_point)(tap, v, layer, first + p, a[p], b[p], c[p]);
    }
}

/* The largest entry, in size. */
static REAL NAME(largest)(const REAL *v, int64_t count)
{
    REAL largest = NEW;
    for (int64_t i = 0; i < count; i++) {
        SET(largest, LESS(largest, ABS(v[i])) ? ABS(v[i]) : largest);
    }
    return largest;
}

/* Column 0 of the states: along the first row of the chain, made a unit vector. */
static void NAME(tap_projection)(const NAME(entries) * e, const far_ln_tap *tap, const REAL *in,
                                 int64_t first, int64_t rows)
{
    int64_t begin = e->start[3 * tap->chain], count = e->start[3 * tap->chain + 1] - begin;
    const REAL *v = e->value + begin;
    REAL most = NAME(largest)(v, count), square = NEW, part = NEW, sum = NEW;
    for (int64_t i = 0; i < count; i++) {
        SET(part, DIV(v[i], most));
        SET(square, ADD(square, MUL(part, part)));
    }
    REAL length = SQRT(square);
    for (int64_t p = 0; tap->states && p < rows; p++) {
        SET_TO(sum, 0);
        for (int64_t i = 0; i < count; i++) {
            SET(part, DIV(DIV(v[i], most), length));
            SET(sum, ADD(sum, MUL(part, in[e->col[begin + i] * PASS_ROWS + p])));
        }
        ((double *)far_mat_row(tap->states, first + p))[0] = NEAR(sum);
    }
}

/* ---- all rows ------------------------------------------------------------------------------ */

static void NAME(take_rows)(const far_mat *x, int64_t first, int64_t rows, REAL *in)
{
    for (int64_t p = 0; p < PASS_ROWS; p++) {
        const void *row = far_mat_row(x, first + (p < rows ? p : 0));
        for (int64_t j = 0; j < x->cols; j++) {
            SET_TO(in[j * PASS_ROWS + p], x->dtype == FAR_F64 ? ((const double *)row)[j]
                                                              : (double)((const float *)row)[j]);
        }
    }
}

static void NAME(pass_strip)(const far_ln_form *f, const NAME(entries) * e, const far_ln_rows *job,
                             int64_t first, REAL *in, REAL *out, REAL *outputs)
{
    int64_t rows = job->x->rows - first < PASS_ROWS ? job->x->rows - first : PASS_ROWS;
    int64_t width = 3 * f->groups;
    NAME(take_rows)(job->x, first, rows, in);
    if (job->tap) {
        NAME(tap_projection)(e, job->tap, in, first, rows);
    }
    for (int64_t l = 0; l < f->layers; l++) {
        int64_t mark = MARK;
        NAME(multiply)(e, l * width, width, in, out);
        NAME(normalize)(out, f->groups, job->eps);
        if (job->shake) {
            NAME(shake)
            (out, width * PASS_ROWS,
             far_random_bits(job->shake, (uint64_t)(first * f->layers + l)));
        }
        if (job->tap) {
            NAME(tap_layer)(f, e, job->tap, l, out, first, rows);
        }
        RELEASE(mark);
        REAL *kept = in;
        in = out;
        out = kept;
    }
    NAME(multiply)(e, f->layers * width, f->classes, in, out);
    for (int64_t p = 0; outputs && p < rows; p++) {
        for (int64_t k = 0; k < f->classes; k++) {
            SET(outputs[(first + p) * f->classes + k], out[k * PASS_ROWS + p]);
        }
    }
}

static int64_t NAME(widest)(const far_ln_form *f)
{
    int64_t widest = f->d > 3 * f->groups ? f->d : 3 * f->groups;
    return widest > f->classes ? widest : f->classes;
}

/* Bytes of the two strips that a thread works with. */
static int64_t NAME(strips_size)(const far_ln_form *f, int64_t bits)
{
    (void)bits;
    return 2 * NAME(widest)(f) * PASS_ROWS * (int64_t)NUMBER_SIZE(bits);
}

/* Each thread has its strips in the room, and a pad behind them. */
static void NAME(pass_all)(const far_ln_form *f, const NAME(entries) * e, const far_ln_rows *job,
                           int64_t bits, char *room, far_ln_watch *watch, REAL *outputs)
{
    int64_t strip = NAME(widest)(f) * PASS_ROWS, size = NAME(strips_size)(f, bits);
#pragma omp parallel num_threads(far_ctx_threads(watch->ctx))
    {
        char *mine = room + omp_get_thread_num() * (size + (int64_t)PAD_SIZE(bits));
        REAL *in = (void *)mine;
        START(in, bits, 2 * strip);
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < watch->total; i++) {
            OPEN_PAD(mine + size, bits);
            if (far_ln_watch_layer(watch)) {
                NAME(pass_strip)(f, e, job, i * PASS_ROWS, in, in + strip, outputs);
            }
        }
    }
}

static far_status NAME(pass)(const far_ln_ops *o, far_ctx *ctx, const far_ln_form *f,
                             const void *parameters, const far_ln_rows *job, void *outputs)
{
    far_status st = FAR_OK;
    NAME(entries) e = {0};
    char *room = NULL;
    int64_t rows = job->x->rows, strips = (rows + PASS_ROWS - 1) / PASS_ROWS;
    int64_t each = NAME(strips_size)(f, o->bits) + (int64_t)PAD_SIZE(o->bits);
    far_ln_watch watch = {.ctx = ctx, .total = strips, .what = "lnnet check", .every = 1};
    FAR_TRY(NAME(entries_make)(ctx, f, parameters, &e));
    FAR_TRY(far_alloc(ctx, each * far_ctx_threads(ctx), &room));
    if (outputs) {
        START(outputs, o->bits, rows * f->classes);
    }
    NAME(pass_all)(f, &e, job, o->bits, room, &watch, outputs);
    st = (far_status)atomic_load(&watch.stop);
done:
    NAME(entries_clear)(ctx, &e);
    far_free(ctx, room);
    return st;
}

/* ---- what the outputs say ------------------------------------------------------------------ */

static double NAME(margin)(const void *outputs, const far_ln_form *f, const far_ln_rows *job,
                           int64_t row)
{
    const REAL *all = (const REAL *)outputs + row * f->classes;
    int64_t own = job->labels[row], other = -1;
    for (int64_t k = 0; k < f->classes; k++) {
        if (k != own && (other < 0 || !AT_MOST(all[k], all[other]))) {
            other = k;
        }
    }
    return other < 0 ? NEAR(all[own]) + INFINITY : DIFFERENCE(all[own], all[other]);
}

static void NAME(judge)(const void *outputs, const far_ln_form *f, const far_ln_rows *job,
                        far_lnnet_checked *out)
{
    out->wrong = 0;
    out->first_wrong = -1;
    out->margin = INFINITY;
    for (int64_t i = 0; i < job->x->rows; i++) {
        double margin = NAME(margin)(outputs, f, job, i);
        if (!(margin > 0)) {
            out->first_wrong = out->wrong++ == 0 ? i : out->first_wrong;
        }
        out->margin = margin < out->margin || isnan(margin) ? margin : out->margin;
    }
}
