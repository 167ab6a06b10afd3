#include "points.h"
#include "hermite.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

/* ---- layout ---------------------------------------------------------------------------------- */
void far_layout_clear(far_ctx *ctx, far_layout *layout)
{
    far_free(ctx, layout->slot);
    far_free(ctx, layout->series);
    *layout = (far_layout){0};
}

static int layout_order(const far_plan *plan, const far_points *a, const far_points *b, int64_t i)
{
    if (plan->ops[i].kind != FAR_OP_ACTIVATE) {
        return 0;
    }
    double widest = b ? fmax(a->widest[i], b->widest[i]) : a->widest[i];
    return far_series_terms(plan->ops[i].activation, widest);
}

far_status far_layout_create(far_ctx *ctx, const far_plan *plan, const far_points *a,
                             const far_points *b, far_layout *out)
{
    far_status st;
    *out = (far_layout){0};
    FAR_TRY(far_alloc(ctx, plan->count, &out->slot));
    FAR_TRY(far_alloc(ctx, plan->count, &out->series));
    for (int64_t i = 0; i < plan->count; i++) {
        out->series[i] = layout_order(plan, a, b, i);
        out->slot[i] = out->slots;
        out->slots += far_op_slots(&plan->ops[i], out->series[i]);
    }
done:
    if (st != FAR_OK) {
        far_layout_clear(ctx, out);
    }
    return st;
}

/* ---- many points ----------------------------------------------------------------------------- */

static far_status check_finite(far_ctx *ctx, const far_mat *x, const char *name)
{
    for (int64_t i = 0; i < x->rows; i++) {
        const void *row = far_mat_row(x, i);
        for (int64_t j = 0; j < x->cols; j++) {
            double v = x->dtype == FAR_F32 ? ((const float *)row)[j] : ((const double *)row)[j];
            if (!isfinite(v)) {
                return far_fail(ctx, FAR_ERR_VALUE,
                                "%s: row %lld, column %lld is %s; remove or fill it first", name,
                                (long long)i + 1, (long long)j + 1, isnan(v) ? "nan" : "infinite");
            }
        }
    }
    return FAR_OK;
}

far_status far_check_groups(far_ctx *ctx, const far_plan *plan, int64_t d)
{
    for (int64_t i = 0; i < plan->input_count; i++) {
        if (plan->inputs[i].kind == FAR_LAYER_LN && d % plan->inputs[i].groups != 0) {
            return far_fail(ctx, FAR_ERR_SHAPE,
                            "ln(groups=%lld) on the input does not divide its %lld features",
                            (long long)plan->inputs[i].groups, (long long)d);
        }
    }
    return FAR_OK;
}

void far_workbench_clear(far_ctx *ctx, far_workbench *w)
{
    FAR_FREE_ALL(ctx, w->unit, w->stack, w->memo, w->coef, w->slope, w->rate, w->widest);
    *w = (far_workbench){0};
}

far_status far_workbench_create(far_ctx *ctx, const far_plan *plan, int64_t d, int slots,
                                bool moving, far_workbench *out)
{
    far_status st;
    *out = (far_workbench){0};
    FAR_TRY(far_alloc(ctx, d, &out->unit));
    FAR_TRY(far_alloc(ctx, plan->depth, &out->stack));
    FAR_TRY(far_alloc(ctx, plan->count, &out->memo));
    FAR_TRY(far_alloc(ctx, plan->count, &out->widest));
    FAR_TRY(far_alloc(ctx, plan->count, &out->rate));
    if (slots > 0) {
        FAR_TRY(far_alloc(ctx, slots, &out->coef));
    }
    if (moving) {
        FAR_TRY(far_alloc(ctx, slots, &out->slope));
    }
    for (int64_t i = 0; i < plan->count; i++) {
        out->memo[i].set = false;
        out->widest[i] = 0;
    }
done:
    if (st != FAR_OK) {
        far_workbench_clear(ctx, out);
    }
    return st;
}

static void set(void *array, far_dtype dtype, int64_t index, long double value)
{
    if (dtype == FAR_F32) {
        ((float *)array)[index] = (float)value;
    } else {
        ((double *)array)[index] = (double)value;
    }
}

static void store_coefficients(far_points *points, const double *coef, int slots, int64_t i)
{
    for (int s = 0; s < slots; s++) {
        set(points->coef, points->dtype, s * points->ld + i, coef[s]);
    }
    set(points->coef, points->dtype, slots * points->ld + i, far_big_coef(points->r[i]));
    set(points->coef, points->dtype, (slots + 1) * points->ld + i, far_big_coef(points->p[i]));
}

static void store_point(far_points *points, const far_point *x, const long double *unit, int64_t i)
{
    points->r[i] = x->r;
    points->p[i] = x->p;
    points->theta[i] = x->theta;
    for (int64_t j = 0; j < points->d; j++) {
        set(points->unit, points->dtype, i * points->d + j, unit[j]);
        if (points->unit_rest) {
            points->unit_rest[i * points->d + j] = (double)(unit[j] - (double)unit[j]);
        }
    }
}

static void store_slopes(const far_plan *plan, far_points *points, const far_point *x,
                         const far_workbench *w, int slots, int64_t i)
{
    double *slope = points->slope + i;
    for (int s = 0; s < slots; s++) {
        slope[s * points->ld] = w->slope[s];
    }
    slope[slots * points->ld] = (double)x->r_rate;
    slope[(slots + 1) * points->ld] = (double)(x->r_rate + x->p_excess);
    for (int64_t k = 0; k < plan->count; k++) {
        points->rate[k * points->ld + i] = w->rate[k];
    }
}

/* A row of zeros has no ln |x|, but in front of a bias it has a gradient: that of a row so short
 * that only its inner products with others matter, to first order. */
#define SHORT_ROW 1e-150L

static far_big moving_scale(const far_plan *plan, far_big r)
{
    int64_t first = 0;
    while (plan->ops[first].kind != FAR_OP_DENSE) {
        first++;
    }
    return far_big_is_zero(r) && plan->ops[first].b > 0 ? far_big_from(SHORT_ROW) : r;
}

static void run_one(const far_plan *plan, const far_layout *layout, far_points *points, int64_t i,
                    far_workbench *w)
{
    far_point x = {.r = far_input_row(plan, &points->x, i, points->at_infinity, w->unit),
                   .r_rate = 1};
    if (points->slope) {
        x.r = moving_scale(plan, x.r);
        points->norm[i] = far_big_scale(x.r, sqrtl(points->d));
    }
    far_point_run(plan, layout, points->d, &x, w);
    store_point(points, &x, w->unit, i);
    if (layout) {
        store_coefficients(points, w->coef, layout->slots, i);
    }
    if (points->slope) {
        store_slopes(plan, points, &x, w, layout->slots, i);
    }
}

static void note_blind(const far_op *op, int64_t row, far_blind *first)
{
    if (op && !first->op) {
        *first = (far_blind){row, op};
    }
}

far_status far_check_blind(const far_points *points, bool ntk)
{
    far_blind found = points->nngp_blind.op || !ntk ? points->nngp_blind : points->ntk_blind;
    if (!found.op) {
        return FAR_OK;
    }
    return far_fail(points->ctx, FAR_ERR_RANGE,
                    "%s: row %lld: in front of layer %lld (%s) values are so large that it would "
                    "tell angles below 1e-140; scale the points down, or put a norm there",
                    points->name, (long long)found.row + 1, (long long)found.op->place,
                    far_layer_name(found.op->layer));
}

/* Rows [begin, end); stops at the first that is lost, and returns it (end: none). */
static int64_t run_span(const far_plan *plan, const far_layout *layout, far_points *points,
                        int64_t begin, int64_t end, far_workbench *w, far_blind blind[2])
{
    int64_t i = begin;
    while (i < end) {
        run_one(plan, layout, points, i, w);
        if (w->lost) {
            break;
        }
        note_blind(w->blind_nngp, i, &blind[0]);
        note_blind(w->blind_ntk, i, &blind[1]);
        i++;
    }
    return i;
}

far_status far_fail_lost(far_ctx *ctx, const far_op *lost, const char *where)
{
    return far_fail(
        ctx, FAR_ERR_RANGE,
        "%s: behind layer %lld (%s) values have a size past 2^(2^%d), either way; put a "
        "norm in front of that layer",
        where, (long long)lost->place, far_layer_name(lost->layer), FAR_BIG_EXPONENT_BITS);
}

/* Of the first row that is lost, whichever thread had it. */
static far_status check_lost(const far_points *points, const far_workbench *benches,
                             const int64_t *stopped, int threads)
{
    char where[128];
    for (int t = 0; t < threads; t++) {
        if (benches[t].lost) {
            snprintf(where, sizeof where, "%s: row %lld", points->name, (long long)stopped[t] + 1);
            return far_fail_lost(points->ctx, benches[t].lost, where);
        }
    }
    return FAR_OK;
}

static void collect(const far_plan *plan, far_points *points, const far_workbench *w)
{
    for (int64_t i = 0; i < plan->count; i++) {
        points->widest[i] = fmax(points->widest[i], w->widest[i]);
    }
    points->zeros = points->zeros || w->zeros;
}

/* Points that take about as long as a thread to wake. */
enum { POINTS_A_THREAD = 8 };

/* Every point once, in as many spans as there are threads, each with a bench of its own. What they
 * found is joined in the order of rows, so that the message about the first bad row does not depend
 * on the number of threads. */
static far_status run_all(const far_plan *plan, const far_layout *layout, far_points *points)
{
    far_ctx *ctx = points->ctx;
    int threads = (int)far_least(far_ctx_threads(ctx), 1 + points->n / POINTS_A_THREAD);
    int slots = layout ? layout->slots : 0;
    far_workbench *benches = NULL;
    int64_t *stopped = NULL;
    far_blind *blind = NULL;
    far_status st;
    FAR_TRY(far_alloc(ctx, 2 * threads, &blind));
    __builtin_memset(blind, 0, 2 * (size_t)threads * sizeof *blind);
    FAR_TRY(far_alloc(ctx, threads, &stopped));
    FAR_TRY(far_alloc(ctx, threads, &benches));
    __builtin_memset(benches, 0, (size_t)threads * sizeof *benches);
    for (int t = 0; t < threads; t++) {
        bool moving = points->slope != NULL;
        FAR_TRY(far_workbench_create(ctx, plan, points->d, slots, moving, &benches[t]));
        benches[t].second = points->second;
    }
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int t = 0; t < threads; t++) {
        stopped[t] = run_span(plan, layout, points, points->n * t / threads,
                              points->n * (t + 1) / threads, &benches[t], blind + 2 * t);
    }
    for (int t = 0; t < threads; t++) {
        collect(plan, points, &benches[t]);
        note_blind(blind[2 * t].op, blind[2 * t].row, &points->nngp_blind);
        note_blind(blind[2 * t + 1].op, blind[2 * t + 1].row, &points->ntk_blind);
    }
    FAR_TRY(check_lost(points, benches, stopped, threads));
done:
    for (int t = 0; benches && t < threads; t++) {
        far_workbench_clear(ctx, &benches[t]);
    }
    FAR_FREE_ALL(ctx, benches, stopped, blind);
    return st;
}

static bool is_wide(far_big a, far_dtype dtype)
{
    long double size = fabsl(far_big_coef(a)), most = dtype == FAR_F32 ? 0x1p120L : 0x1p1000L;
    return size > most || (size < 1 / most && !far_big_is_zero(a));
}

bool far_points_are_wide(const far_points *points)
{
    for (int64_t i = 0; i < points->n; i++) {
        if (is_wide(points->r[i], points->dtype) || is_wide(points->p[i], points->dtype)) {
            return true;
        }
    }
    return false;
}

static int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

/* Checks the rows and makes room. Rows are padded, so that tiles may load
 * whole vectors past the last point. */
far_status far_points_create(far_ctx *ctx, const far_plan *plan, const far_mat *x, const char *name,
                             bool at_infinity, far_points *out)
{
    far_status st;
    *out = (far_points){.ctx = ctx,
                        .name = name,
                        .n = x->rows,
                        .ld = round_up(x->rows, FAR_PAD) + FAR_PAD,
                        .d = x->cols,
                        .dtype = x->dtype,
                        .at_infinity = at_infinity,
                        .x = *x};
    if (x->cols < 1) {
        return far_fail(ctx, FAR_ERR_SHAPE, "%s has no columns", name);
    }
    FAR_TRY(check_finite(ctx, x, name));
    FAR_TRY(far_check_groups(ctx, plan, x->cols));
    if (at_infinity) {
        FAR_TRY(far_directions_check(ctx, x, name));
    }
    FAR_TRY(far_alloc(ctx, out->n, &out->r));
    FAR_TRY(far_alloc(ctx, out->n, &out->p));
    FAR_TRY(far_alloc(ctx, out->n, &out->theta));
    FAR_TRY(far_alloc(ctx, plan->count, &out->widest));
    for (int64_t i = 0; i < plan->count; i++) {
        out->widest[i] = 0;
    }
    FAR_TRY(far_alloc_bytes(ctx, out->n * out->d, far_dtype_size(x->dtype), &out->unit));
    if (plan->fine && x->dtype == FAR_F64) {
        FAR_TRY(far_alloc(ctx, out->n * out->d, &out->unit_rest));
    }
done:
    if (st != FAR_OK) {
        far_points_clear(out);
    }
    return st;
}

far_status far_points_survey(const far_plan *plan, far_points *points)
{
    return run_all(plan, NULL, points);
}

static far_status make_slopes(const far_plan *plan, int64_t slots, far_points *points)
{
    far_status st;
    FAR_TRY(far_alloc(points->ctx, points->ld * slots, &points->slope));
    FAR_TRY(far_alloc(points->ctx, points->ld * plan->count, &points->rate));
    FAR_TRY(far_alloc(points->ctx, points->n, &points->norm));
done:
    return st;
}

far_status far_points_fill(const far_plan *plan, const far_layout *layout, far_points *points)
{
    size_t size = far_dtype_size(points->dtype);
    int64_t slots = layout->slots + 2, count = points->ld * slots; /* two for r and p */
    far_status st = far_alloc_bytes(points->ctx, count, size, &points->coef);
    if (st == FAR_OK && points->moving) {
        st = make_slopes(plan, slots, points);
    }
    if (st == FAR_OK) {
        for (int64_t s = 0; s < slots; s++) { /* padding is read, so it must be numbers */
            char *row = (char *)points->coef + (size_t)(s * points->ld) * size;
            __builtin_memset(row + (size_t)points->n * size, 0,
                             (size_t)(points->ld - points->n) * size);
        }
        st = run_all(plan, layout, points);
    }
    return st;
}

far_status far_points_augment(far_points *points)
{
    int64_t n = points->n, d = points->d;
    const double *unit = points->unit, *al = points->coef, *be = al + points->ld;
    double *wider;
    far_status st = far_alloc(points->ctx, n * (d + 1), &wider);
    for (int64_t i = 0; st == FAR_OK && i < n; i++) {
        double *to = wider + i * (d + 1);
        for (int64_t j = 0; j < d; j++) {
            to[j] = M_SQRT2 * al[i] * unit[i * d + j];
        }
        to[d] = M_SQRT2 * be[i];
    }
    if (st == FAR_OK) {
        far_free(points->ctx, points->unit);
        far_free(points->ctx, points->unit_rest); /* curves are smooth: no need for finer chords */
        points->unit = wider;
        points->unit_rest = NULL;
        points->d = d + 1;
    }
    return st;
}

void far_points_clear(far_points *points)
{
    if (points->ctx) {
        FAR_FREE_ALL(points->ctx, points->unit, points->unit_rest, points->coef, points->slope,
                     points->rate, points->norm, points->r, points->p, points->theta,
                     points->widest);
        *points = (far_points){0};
    }
}
