/* Gram matrices of infinite-width kernels: far_kernel_eval and far_kernel_limit. */
#include "gram.h"
#include "sides.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

/* Fitting costs about as much as this many pairs do. */
#define TAIL_FROM_PAIRS 32768

/* Matrices of more bytes than caches hold are written past them. */
#define STAGED_FROM 4e6
#define STAGE_LD                                                                                   \
    (FAR_TILE_SIDE + 8) /* no power of two: a column would have few lines of a cache               \
                         */

typedef struct source {
    far_tile tile; /* all but the position */
    far_tile_fn run;
    far_emit_fn emit; /* NULL: tiles are computed in their place */
    bool mirrored;    /* for emit */
    bool direct;      /* tiles off the diagonal stream their rows themselves */
    int64_t scratch;  /* bytes of a tile, behind which it is staged */
    atomic_bool unsound;
} source;

static int64_t stage_bytes(far_dtype dtype)
{
    return (int64_t)FAR_TILE_SIDE * STAGE_LD * (int64_t)far_dtype_size(dtype);
}

/* A matrix that has the tile's place at `stage`. */
static far_mat staged(const far_tile *tile, far_dtype dtype, void *stage)
{
    uintptr_t before = (uintptr_t)(tile->i0 * STAGE_LD + tile->j0) * far_dtype_size(dtype);
    return (far_mat){.data = (void *)((uintptr_t)stage - before), .ld = STAGE_LD, .dtype = dtype};
}

/* Writes outputs of the tile from where they were staged. */
static void emit(const source *s, const far_tile *tile, far_mat *const to[2], bool rows)
{
    const char *stage = (const char *)tile->scratch + s->scratch;
    for (int k = 0; k < 2; k++) {
        if (to[k]) {
            s->emit(&(far_emit){.from = stage + k * stage_bytes(to[k]->dtype),
                                .ld = STAGE_LD,
                                .i0 = tile->i0,
                                .i1 = tile->i1,
                                .j0 = tile->j0,
                                .j1 = tile->j1,
                                .lower = tile->lower,
                                .rows = rows,
                                .mirrored = s->mirrored,
                                .to = to[k]});
        }
    }
}

/* Computes the tile where it stays in cache, and writes it from there; or it writes its rows itself
 * while it is computed, and only what is mirrored comes from a copy. */
static void run_staged(const source *s, far_tile tile)
{
    far_mat *to[2] = {tile.nngp, tile.ntk}, place[2];
    far_dtype dtype = tile.rows->dtype;
    bool direct = s->direct && !(tile.lower && tile.i0 < tile.j1);
    for (int k = 0; k < 2; k++) {
        char *stage = (char *)tile.scratch + s->scratch + k * stage_bytes(dtype);
        place[k] = staged(&tile, dtype, stage);
    }
    tile.stream = direct;
    if (direct && s->mirrored) {
        tile.nngp_copy = &place[0];
        tile.ntk_copy = &place[1];
    } else if (!direct) {
        tile.nngp = to[0] ? &place[0] : NULL;
        tile.ntk = to[1] ? &place[1] : NULL;
    }
    s->run(&tile);
    if (!direct || s->mirrored) {
        emit(s, &tile, to, !direct);
    }
}

static bool is_aligned(const far_mat *m)
{
    return !m || ((uintptr_t)m->data % 64 == 0 && m->ld % 8 == 0);
}

static void run_tile(void *data, int64_t i0, int64_t i1, int64_t j0, int64_t j1, void *scratch)
{
    const source *s = data;
    far_tile tile = s->tile;
    tile.i0 = i0;
    tile.i1 = i1;
    tile.j0 = j0;
    tile.j1 = j1;
    tile.scratch = scratch;
    if (s->emit) {
        run_staged(s, tile);
    } else {
        s->run(&tile);
    }
}

void far_sides_clear(far_ctx *ctx, far_sides *s)
{
    far_points_clear(&s->a);
    far_points_clear(&s->own_b);
    far_layout_clear(ctx, &s->layout);
}

far_status far_sides_prepare(far_ctx *ctx, const far_plan *plan, far_sides *s)
{
    far_status st;
    bool two = s->b != &s->a;
    if (plan->mixtures) { /* how many terms they need depends on the points */
        FAR_TRY(far_points_survey(plan, &s->a));
        FAR_TRY(two ? far_points_survey(plan, s->b) : FAR_OK);
    }
    FAR_TRY(far_layout_create(ctx, plan, &s->a, two ? s->b : NULL, &s->layout));
    FAR_TRY(far_points_fill(plan, &s->layout, &s->a));
    if (two) {
        FAR_TRY(far_points_fill(plan, &s->layout, s->b));
    }
done:
    return st;
}

/* Between many pairs of ordinary points the layers behind the first norm are replaced by fitted
 * curves (tail), which costs a probe of the network first; zero points and extreme scales take
 * every layer. */
far_status far_sides_tile(far_ctx *ctx, const far_plan *plan, far_sides *s, bool ntk, far_tile *out)
{
    far_status st;
    bool wide = far_points_are_wide(&s->a) || far_points_are_wide(s->b);
    FAR_TRY(far_check_blind(&s->a, ntk));
    FAR_TRY(far_check_blind(s->b, ntk));
    if (!wide && !s->a.zeros && !s->b->zeros && s->a.n * s->b->n >= TAIL_FROM_PAIRS) {
        FAR_TRY(far_tail_build(ctx, plan, &s->layout, &s->a, s->b, &s->tail));
    }
    if (s->tail.used && s->tail.theta_in == FAR_THETA_RHO) {
        FAR_TRY(far_points_augment(&s->a));
        FAR_TRY(s->b != &s->a ? far_points_augment(s->b) : FAR_OK);
    }
    *out = (far_tile){.plan = plan,
                      .layout = &s->layout,
                      .rows = &s->a,
                      .cols = s->b,
                      .wide = wide,
                      .zeros = s->a.zeros || s->b->zeros,
                      .tail = s->tail.used ? &s->tail : NULL};
done:
    return st;
}

/* ---- results that are no numbers ------------------------------------------------------------- */

/* The first entry that is not finite; false: there is none. */
static bool find_unsound(const far_mat *m, bool lower, int64_t *row, int64_t *col)
{
    for (int64_t i = 0; m && i < m->rows; i++) {
        const void *at = far_mat_row(m, i);
        for (int64_t j = 0; j < (lower ? i + 1 : m->cols); j++) {
            if (!isfinite(m->dtype == FAR_F32 ? ((const float *)at)[j] : ((const double *)at)[j])) {
                *row = i;
                *col = j;
                return true;
            }
        }
    }
    return false;
}

static far_status fail_unsound(far_ctx *ctx, const far_points *a, int64_t i, const far_points *b,
                               int64_t j, const char *kernel, far_big bound)
{
    far_big size = far_big_normalised(bound);
    long double digits = (size.e + log2l(size.m)) * M_LN2 / M_LN10;
    bool single = a->dtype == FAR_F32;
    char pair[128];
    snprintf(pair, sizeof pair, "%s: row %lld: %s with row %lld%s%s", a->name, (long long)i + 1,
             kernel, (long long)j + 1, a == b ? "" : " of ", a == b ? "" : b->name);
    if (digits >= log10(single ? FLT_MAX : DBL_MAX) - 1) {
        return far_fail(ctx, FAR_ERR_RANGE,
                        "%s is about 1e%.0Lf, too large for float%d; scale the points down, or put "
                        "a norm in the network",
                        pair, roundl(digits), single ? 32 : 64);
    }
    return far_fail(ctx, FAR_ERR_BACKEND,
                    "%s came out as no number; this is a defect: please report the network and "
                    "these two rows",
                    pair);
}

static far_status check_sound(far_ctx *ctx, const far_sides *s, bool lower, const far_mat *nngp,
                              const far_mat *ntk)
{
    int64_t i, j;
    if (find_unsound(nngp, lower, &i, &j)) {
        return fail_unsound(ctx, &s->a, i, s->b, j, "K", far_big_mul(s->a.r[i], s->b->r[j]));
    }
    if (find_unsound(ntk, lower, &i, &j)) {
        far_big bound = far_big_sqrt(far_big_mul(s->a.theta[i], s->b->theta[j]));
        return fail_unsound(ctx, &s->a, i, s->b, j, "Theta", bound);
    }
    return far_fail(ctx, FAR_ERR_BACKEND, "a result was no number when it was computed");
}

/* All tiles of the matrix. One that met a value that is no number only raises a flag: the pair to
 * blame is looked for afterwards. */
static far_status fill(far_ctx *ctx, const far_plan *plan, far_sides *s, bool symmetric, bool whole,
                       far_mat *nngp, far_mat *ntk)
{
    far_status st;
    source src = {.run = far_tile_select(s->a.dtype)};
    FAR_TRY(far_sides_tile(ctx, plan, s, ntk, &src.tile));
    src.tile.lower = symmetric;
    src.tile.nngp = nngp;
    src.tile.ntk = ntk;
    src.tile.unsound = &src.unsound;
    src.scratch = (far_tile_scratch(plan, &s->layout, s->a.d) + 63) / 64 * 64;
    far_gram_job job = {.tile = run_tile,
                        .source = &src,
                        .rows = s->a.n,
                        .cols = s->b->n,
                        .side = FAR_TILE_SIDE,
                        .scratch = src.scratch,
                        .symmetric = symmetric};
    if ((double)s->a.n * (double)s->b->n * (double)far_dtype_size(s->a.dtype) >= STAGED_FROM) {
        src.emit = far_emit_select(s->a.dtype);
        src.mirrored = whole;
        src.direct = far_tile_fuses(&src.tile) && is_aligned(nngp) && is_aligned(ntk);
        job.scratch += 2 * stage_bytes(s->a.dtype);
    } else {
        job.mirror[0] = whole ? nngp : NULL;
        job.mirror[1] = whole ? ntk : NULL;
    }
    FAR_TRY(far_gram_fill(ctx, &job));
    if (atomic_load(&src.unsound)) {
        FAR_TRY(check_sound(ctx, s, symmetric, nngp, ntk));
    }
done:
    return st;
}

static far_status check_output(far_ctx *ctx, const far_mat *m, const char *name, int64_t rows,
                               int64_t cols, far_dtype dtype)
{
    if (!m) {
        return FAR_OK;
    }
    far_status st = far_mat_check(ctx, m, name);
    if (st == FAR_OK && (m->rows != rows || m->cols != cols)) {
        st = far_fail(ctx, FAR_ERR_SHAPE, "%s is %lld x %lld but must be %lld x %lld", name,
                      (long long)m->rows, (long long)m->cols, (long long)rows, (long long)cols);
    }
    if (st == FAR_OK && m->dtype != dtype) {
        st = far_fail(ctx, FAR_ERR_ARG, "%s must have the dtype of the points", name);
    }
    return st;
}

static far_status check_points(far_ctx *ctx, const far_mat *a, const char *a_name, const far_mat *b,
                               const char *b_name)
{
    far_status st;
    FAR_TRY(far_mat_check(ctx, a, a_name));
    if (b) {
        FAR_TRY(far_mat_check(ctx, b, b_name));
        if (a->cols != b->cols) {
            st = far_fail(ctx, FAR_ERR_SHAPE, "%s has %lld columns but %s has %lld", a_name,
                          (long long)a->cols, b_name, (long long)b->cols);
        } else if (a->dtype != b->dtype) {
            st = far_fail(ctx, FAR_ERR_ARG, "%s and %s must have one dtype", a_name, b_name);
        }
    }
done:
    return st;
}

static far_status check_eval(far_ctx *ctx, const far_kernel *k, const far_mat *x1,
                             const far_mat *x2, far_fill fill, const far_mat *nngp,
                             const far_mat *ntk)
{
    far_status st;
    if (!ctx || !k) {
        return far_fail(ctx, FAR_ERR_ARG, "the context and the kernel must not be NULL");
    }
    if ((fill != FAR_FILL_FULL && fill != FAR_FILL_LOWER) || (x2 && fill != FAR_FILL_FULL)) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "fill must be FAR_FILL_FULL, or FAR_FILL_LOWER without x2");
    }
    FAR_TRY(check_points(ctx, x1, "x1", x2, "x2"));
    int64_t cols = x2 ? x2->rows : x1->rows;
    FAR_TRY(check_output(ctx, nngp, "nngp", x1->rows, cols, x1->dtype));
    FAR_TRY(check_output(ctx, ntk, "ntk", x1->rows, cols, x1->dtype));
done:
    return st;
}

far_status far_kernel_eval(far_ctx *ctx, const far_kernel *k, const far_mat *x1, const far_mat *x2,
                           far_fill which, far_mat *nngp, far_mat *ntk)
{
    far_status st = check_eval(ctx, k, x1, x2, which, nngp, ntk);
    if (st != FAR_OK) {
        return st;
    }
    far_sides s = {.b = x2 ? &s.own_b : &s.a};
    FAR_TRY(far_points_create(ctx, k->plan, x1, "x1", false, &s.a));
    if (x2) {
        FAR_TRY(far_points_create(ctx, k->plan, x2, "x2", false, &s.own_b));
    }
    FAR_TRY(far_sides_prepare(ctx, k->plan, &s));
    FAR_TRY(fill(ctx, k->plan, &s, !x2, !x2 && which == FAR_FILL_FULL, nngp, ntk));
done:
    far_sides_clear(ctx, &s);
    return st;
}

/* Directions closer than this are one. */
#define PARALLEL 1e-14

/* ---- at infinity ----------------------------------------------------------------------------- */

static far_status check_limit_exists(far_ctx *ctx, const far_plan *plan)
{
    for (int64_t i = 0; i < plan->input_count; i++) {
        far_layer_kind kind = plan->inputs[i].kind;
        if (kind == FAR_LAYER_LN || kind == FAR_LAYER_RMS || kind == FAR_LAYER_ERF ||
            kind == FAR_LAYER_TANH) { /* finite from here on */
            break;
        }
        if (kind == FAR_LAYER_SIN) {
            return far_fail(ctx, FAR_ERR_ARCH,
                            "sin of the raw input has no limit at infinity; put a dense before it");
        }
    }
    return FAR_OK;
}

static far_status check_limit(far_ctx *ctx, const far_kernel *k, const far_mat *u, const far_mat *x,
                              const far_mat *const out[4])
{
    static const char *const names[] = {"nngp", "nngp_order", "ntk", "ntk_order"};
    far_status st;
    if (!ctx || !k) {
        return far_fail(ctx, FAR_ERR_ARG, "the context and the kernel must not be NULL");
    }
    FAR_TRY(check_points(ctx, u, "u", x, "x"));
    if (u->dtype != FAR_F64) {
        st = far_fail(ctx, FAR_ERR_ARG, "limits are computed in float64 only");
        goto done;
    }
    int64_t cols = x ? x->rows : u->rows;
    for (int i = 0; i < 4; i++) {
        FAR_TRY(check_output(ctx, out[i], names[i], u->rows, i % 2 ? 1 : cols, FAR_F64));
    }
    FAR_TRY(check_limit_exists(ctx, k->plan));
done:
    return st;
}

static void write_orders(const far_big *scale, far_mat *out)
{
    for (int64_t i = 0; out && i < out->rows; i++) {
        *(double *)far_mat_row(out, i) = scale[i].k;
    }
}

/* A soft sign that no norm precedes turns into a step: its slope has no scale left at infinity. */
static bool meets_step(const far_plan *plan, const far_points *u)
{
    for (int64_t i = 0; i < plan->count; i++) {
        const far_op *op = &plan->ops[i];
        if (op->kind == FAR_OP_ACTIVATE && op->activation->family == FAR_FAMILY_SOFT_SIGN &&
            isinf(u->widest[i])) {
            return true;
        }
    }
    return false;
}

static bool are_parallel(const far_points *u, int64_t i, int64_t j)
{
    const double *a = (const double *)u->unit + i * u->d, *b = (const double *)u->unit + j * u->d;
    double same = 0, opposite = 0;
    for (int64_t k = 0; k < u->d; k++) {
        same += (a[k] - b[k]) * (a[k] - b[k]);
        opposite += (a[k] + b[k]) * (a[k] + b[k]);
    }
    return fmin(same, opposite) < PARALLEL * PARALLEL;
}

static void mark_parallel(const far_plan *plan, const far_points *u, far_mat *ntk)
{
    for (int64_t i = 0; ntk && meets_step(plan, u) && i < u->n; i++) {
        double *row = far_mat_row(ntk, i);
        for (int64_t j = 0; u->theta[i].k > 2 * u->p[i].k && j < u->n; j++) {
            row[j] = are_parallel(u, i, j) ? copysign(INFINITY, row[j]) : row[j];
        }
    }
}

far_status far_kernel_limit(far_ctx *ctx, const far_kernel *k, const far_mat *u, const far_mat *x,
                            far_mat *nngp, far_mat *nngp_order, far_mat *ntk, far_mat *ntk_order)
{
    const far_mat *const out[4] = {nngp, nngp_order, ntk, ntk_order};
    far_status st = check_limit(ctx, k, u, x, out);
    if (st != FAR_OK) {
        return st;
    }
    far_sides s = {.b = &s.own_b};
    FAR_TRY(far_points_create(ctx, k->plan, u, "u", true, &s.a));
    FAR_TRY(far_points_create(ctx, k->plan, x ? x : u, x ? "x" : "u", !x, &s.own_b));
    s.own_b.second = true;
    FAR_TRY(far_sides_prepare(ctx, k->plan, &s));
    FAR_TRY(fill(ctx, k->plan, &s, false, false, nngp, ntk));
    if (!x) {
        mark_parallel(k->plan, &s.a, ntk);
    }
    write_orders(s.a.r, nngp_order);
    write_orders(s.a.p, ntk_order);
done:
    far_sides_clear(ctx, &s);
    return st;
}
