/*
 * Part of precision_impl.h: a plain forward pass. Rows of weights are mostly zeros, so those that
 * are not are listed once; then a few points at a time go through all layers.
 */

#define PASS_ROWS 32

typedef struct NAME(entries) {
    int64_t *start; /* of each row of all layers; one more than there are */
    int64_t *col;
    REAL *value;
    REAL *bias; /* of each row */
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
                if (at[r * cols + j] != 0) {
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
        used += parameters[i] != 0;
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
            to[p] = 0;
        }
        for (int64_t i = e->start[first + r]; i < e->start[first + r + 1]; i++) {
            const REAL *from = in + e->col[i] * PASS_ROWS;
            REAL value = e->value[i];
            for (int p = 0; p < PASS_ROWS; p++) {
                to[p] += value * from[p];
            }
        }
        for (int p = 0; p < PASS_ROWS; p++) {
            to[p] += bias;
        }
    }
}

static void NAME(normalize)(REAL *z, int64_t groups, REAL eps)
{
    for (int64_t g = 0; g < groups; g++) {
        REAL *a = z + 3 * g * PASS_ROWS, *b = a + PASS_ROWS, *c = b + PASS_ROWS;
        for (int p = 0; p < PASS_ROWS; p++) {
            REAL mean = (a[p] + b[p] + c[p]) / 3;
            REAL da = a[p] - mean, db = b[p] - mean, dc = c[p] - mean;
            REAL square = (da * da + db * db + dc * dc) / 3 + eps;
            REAL sigma = SQRT(square > 0 ? square : 1);
            a[p] = da / sigma;
            b[p] = db / sigma;
            c[p] = dc / sigma;
        }
    }
}

/* Half of all numbers up and half down by some last bits, by dice. */
static void NAME(shake)(REAL *z, int64_t count, uint64_t seed)
{
    REAL by = NAME(fraction)(BITS - FAR_LN_SHAKE_BITS);
    for (int64_t i = 0; i < count; i++) {
        z[i] *= far_random_bits(seed, (uint64_t)i) & 1 ? 1 + by : 1 - by;
    }
}

/* ---- a chain, for figures ------------------------------------------------------------------ */

/* The state that row `row` of the next layer reads, as a number on the circle. */
static REAL NAME(read_state)(const REAL *v, REAL a, REAL b, REAL c)
{
    REAL mean = (v[0] + v[1] + v[2]) / 3;
    REAL p = v[0] - mean, q = v[1] - mean, r = v[2] - mean;
    REAL length = SQRT(3 * (p * p + q * q + r * r));
    bool flat = p + q - 2 * r == 0; /* it reads the abscissa */
    bool down = flat ? p < q : p + q - 2 * r < 0;
    return (down ? -1 : 1) * (p * a + q * b + r * c) / length;
}

/* What the next layer reads of a chain: its first row that is not 0; else the ordinate. */
static void NAME(find_reader)(const far_ln_form *f, const NAME(entries) * e, int64_t layer,
                              int64_t chain, REAL *v)
{
    int64_t first = (layer + 1) * 3 * f->groups, rows = NAME(layer_rows)(f, layer + 1);
    v[0] = v[1] = v[2] = 0;
    for (int64_t r = first; r < first + rows && v[0] == 0 && v[1] == 0 && v[2] == 0; r++) {
        for (int64_t i = e->start[r]; i < e->start[r + 1]; i++) {
            if (e->col[i] / 3 == chain) {
                v[e->col[i] % 3] = e->value[i];
            }
        }
    }
    if (v[0] == v[1] && v[1] == v[2]) {
        v[2] = v[0] - 1;
    }
}

static void NAME(tap_layer)(const far_ln_form *f, const NAME(entries) * e, const far_ln_tap *tap,
                            int64_t layer, const REAL *z, int64_t first, int64_t rows)
{
    const REAL *a = z + 3 * tap->chain * PASS_ROWS, *b = a + PASS_ROWS, *c = b + PASS_ROWS;
    REAL v[3];
    NAME(find_reader)(f, e, layer, tap->chain, v);
    for (int64_t p = 0; p < rows; p++) {
        if (tap->states) {
            ((double *)far_mat_row(tap->states, first + p))[layer + 1] =
                (double)NAME(read_state)(v, a[p], b[p], c[p]);
        }
        if (tap->circle) {
            double *row = far_mat_row(tap->circle, first + p);
            row[2 * layer] = (double)((a[p] - b[p]) / SQRT((REAL)6));
            row[2 * layer + 1] = (double)(-c[p] / SQRT((REAL)2));
        }
    }
}

/* Column 0 of the states: along the first row of the chain, made a unit vector. */
static void NAME(tap_projection)(const NAME(entries) * e, const far_ln_tap *tap, const REAL *in,
                                 int64_t first, int64_t rows)
{
    int64_t begin = e->start[3 * tap->chain], end = e->start[3 * tap->chain + 1];
    REAL largest = 0, square = 0;
    for (int64_t i = begin; i < end; i++) {
        REAL size = e->value[i] < 0 ? -e->value[i] : e->value[i];
        largest = size > largest ? size : largest;
    }
    for (int64_t i = begin; i < end; i++) {
        square += e->value[i] / largest * (e->value[i] / largest);
    }
    for (int64_t p = 0; tap->states && p < rows; p++) {
        REAL sum = 0;
        for (int64_t i = begin; i < end; i++) {
            sum += e->value[i] / largest / SQRT(square) * in[e->col[i] * PASS_ROWS + p];
        }
        ((double *)far_mat_row(tap->states, first + p))[0] = (double)sum;
    }
}

/* ---- all rows ------------------------------------------------------------------------------ */

static void NAME(take_rows)(const far_mat *x, int64_t first, int64_t rows, REAL *in)
{
    for (int64_t p = 0; p < PASS_ROWS; p++) {
        const void *row = far_mat_row(x, first + (p < rows ? p : 0));
        for (int64_t j = 0; j < x->cols; j++) {
            in[j * PASS_ROWS + p] = x->dtype == FAR_F64 ? (REAL)((const double *)row)[j]
                                                        : (REAL)((const float *)row)[j];
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
        NAME(multiply)(e, l * width, width, in, out);
        NAME(normalize)(out, f->groups, (REAL)job->eps);
        if (job->jitter) {
            NAME(shake)(out, width * PASS_ROWS, (uint64_t)(first * f->layers + l));
        }
        if (job->tap) {
            NAME(tap_layer)(f, e, job->tap, l, out, first, rows);
        }
        REAL *kept = in;
        in = out;
        out = kept;
    }
    NAME(multiply)(e, f->layers * width, f->classes, in, out);
    for (int64_t p = 0; outputs && p < rows; p++) {
        for (int64_t k = 0; k < f->classes; k++) {
            outputs[(first + p) * f->classes + k] = out[k * PASS_ROWS + p];
        }
    }
}

static int64_t NAME(widest)(const far_ln_form *f)
{
    int64_t widest = f->d > 3 * f->groups ? f->d : 3 * f->groups;
    return widest > f->classes ? widest : f->classes;
}

static far_status NAME(pass)(const far_ln_ops *o, far_ctx *ctx, const far_ln_form *f,
                             const void *parameters, const far_ln_rows *job, void *outputs)
{
    (void)o;
    far_status st = FAR_OK;
    NAME(entries) e = {0};
    REAL *room = NULL;
    int threads = far_ctx_threads(ctx);
    int64_t strip = NAME(widest)(f) * PASS_ROWS,
            strips = (job->x->rows + PASS_ROWS - 1) / PASS_ROWS;
    far_ln_watch watch = {.ctx = ctx, .total = strips, .what = "lnnet check", .every = 1};
    FAR_TRY(NAME(entries_make)(ctx, f, parameters, &e));
    FAR_TRY(far_alloc(ctx, 2 * strip * threads, &room));
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (int64_t i = 0; i < strips; i++) {
        REAL *mine = room + 2 * strip * omp_get_thread_num();
        if (far_ln_watch_layer(&watch)) {
            NAME(pass_strip)(f, &e, job, i * PASS_ROWS, mine, mine + strip, outputs);
        }
    }
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
    REAL other = -INFINITY;
    for (int64_t k = 0; k < f->classes; k++) {
        if (k != job->labels[row] && !(all[k] <= other)) {
            other = all[k];
        }
    }
    return (double)(all[job->labels[row]] - other);
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
