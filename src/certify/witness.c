/* A direction along which f runs away: its exact leading term, and a look at f itself. */
#include "certify_internal.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define FAR_AWAY 1e6  /* sizes of the data, where the leading term is confirmed */
#define ROOM 1e3      /* past the level by this factor of the leading term, nothing can come back */
#define FURTHEST 1e90 /* sizes of the data: where looking ends */
#define LARGEST 1e300 /* that f may become */
#define MAPPED 8      /* times what rounding turns a direction by, a limit along it may move */
enum { STEPS_PER_DECADE = 100, BISECTIONS = 60 };

/* f(t direction) for count values of t; direction and t in raw units. Ranks that the direction does
 * not move are those of the numbers. */
static far_status along(far_ctx *ctx, const far_model *m, int64_t j, const double *direction,
                        const double *t, int64_t count, double *out)
{
    far_status st;
    int64_t d = m->info.inputs, p = m->info.outputs;
    double *x = NULL, *y = NULL;
    FAR_TRY(far_alloc(ctx, count * d, &x));
    FAR_TRY(far_alloc(ctx, count * p, &y));
    for (int64_t i = 0; i < count * d; i++) {
        x[i] = t[i / d] * direction[i % d];
    }
    for (int64_t i = 0; i < count; i++) {
        far_columns_follow(m->columns, direction, x + i * d);
    }
    for (int64_t i = 0; i < count * d; i++) {
        x[i] = (x[i] - far_input_centre(m->columns)[i % d]) / far_input_scale(m->columns)[i % d];
    }
    far_mat points = far_mat_view(x, count, d, FAR_F64), mean = far_mat_view(y, count, p, FAR_F64);
    FAR_TRY(far_model_eval(ctx, m, &points, &mean));
    for (int64_t i = 0; i < count; i++) {
        out[i] = y[i * p + j];
    }
done:
    far_free(ctx, x);
    far_free(ctx, y);
    return st;
}

static far_status leading_term(far_ctx *ctx, const far_model *m, int64_t j, far_bound *b)
{
    far_status st;
    int64_t d = m->info.inputs, p = m->info.outputs;
    double *u = NULL, *values = NULL;
    FAR_TRY(far_alloc(ctx, d, &u));
    FAR_TRY(far_alloc(ctx, p, &values));
    for (int64_t i = 0; i < d; i++) {
        u[i] = b->direction[i] / far_input_scale(m->columns)[i];
    }
    far_mat direction = far_mat_view(u, 1, d, FAR_F64), mean = far_mat_view(values, 1, p, FAR_F64);
    far_mat order = far_mat_view(&b->order, 1, 1, FAR_F64);
    FAR_TRY(far_model_limit(ctx, m, &direction, &mean, &order));
    b->slope = values[j];
done:
    far_free(ctx, u);
    far_free(ctx, values);
    return st;
}

/* How much of the slope, sum alpha_i lim k(t u, x_i) t^-order, may be rounding. */
static far_status slope_doubt(const far_single *p, const far_bound *b, double *out)
{
    far_status st;
    const far_model *m = p->model;
    int64_t d = m->info.inputs, n = m->info.rows;
    bool nngp = m->info.kernel == FAR_KERNEL_NNGP;
    double *u = NULL, *z = NULL, *k = NULL, order, mapping;
    long double sum = 0, most = 0;
    int growth;
    FAR_TRY(far_alloc(p->ctx, d, &u));
    FAR_TRY(far_alloc(p->ctx, d, &z));
    FAR_TRY(far_alloc(p->ctx, n, &k));
    for (int64_t i = 0; i < d; i++) {
        u[i] = b->direction[i] / far_input_scale(m->columns)[i];
    }
    *out = INFINITY;
    if (!far_model_direction(m, u, z, &growth, &mapping)) {
        goto done;
    }
    far_mat direction = far_mat_view(z, 1, d, FAR_F64), values = far_mat_view(k, 1, n, FAR_F64);
    far_mat x = far_model_points(m), orders = far_mat_view(&order, 1, 1, FAR_F64);
    FAR_TRY(far_kernel_limit(p->ctx, m->kernel, &direction, &x, nngp ? &values : NULL,
                             nngp ? &orders : NULL, nngp ? NULL : &values, nngp ? NULL : &orders));
    for (int64_t i = 0; i < n; i++) {
        sum += fabsl(far_alpha_at(p, i));
        most = fmaxl(most, fabs(k[i]));
    }
    double doubt = far_kernel_doubt(m) + (double)n * DBL_EPSILON + order * MAPPED * mapping;
    *out = (double)(p->scale * doubt * sum * most * exp2l(growth * (long double)order));
done:
    FAR_FREE_ALL(p->ctx, u, z, k);
    return st;
}

/* t at which the leading term is as large as value. */
static double leading_reaches(const far_bound *b, double value)
{
    return pow(value / fabs(b->slope), 1 / b->order);
}

double far_ray_extent(const far_model *m, const double *direction)
{
    far_ray ray = far_model_ray(m, direction);
    return fmax(ray.size, fabs(ray.place));
}

/* Far enough for the leading term to stand out from the target's centre and spread as well. */
static double confirming_distance(const far_model *m, int64_t j, const far_bound *b)
{
    double extent = far_ray_extent(m, b->direction);
    double rest = fabs(far_output_centre(m->columns)[j]) + far_output_scale(m->columns)[j];
    double t = fmax(FAR_AWAY * extent, leading_reaches(b, FAR_AWAY * rest));
    return fmin(fmin(t, leading_reaches(b, LARGEST)), FURTHEST * extent);
}

/* slope, order, intercept and confirmed along b->direction. */
static far_status measure(far_ctx *ctx, const far_model *m, int64_t j, far_bound *b)
{
    far_status st;
    double extent = far_ray_extent(m, b->direction), t[2], f[2];
    b->confirmed = b->intercept = b->beyond = NAN;
    FAR_TRY(leading_term(ctx, m, j, b));
    if (!(b->order > 0) || b->slope == 0) {
        goto done; /* no witness */
    }
    t[0] = confirming_distance(m, j, b);
    st = along(ctx, m, j, b->direction, t, 1, f);
    if (st == FAR_ERR_RANGE) { /* no double holds what would confirm it */
        return FAR_OK;
    }
    FAR_TRY(st);
    b->confirmed = f[0] / (b->slope * pow(t[0], b->order));
    if (b->order == 1) { /* f = slope t + intercept + O(1 / t) */
        t[0] = 1e4 * extent;
        t[1] = 2e4 * extent;
        FAR_TRY(along(ctx, m, j, b->direction, t, 2, f));
        b->intercept = 2 * (f[1] - b->slope * t[1]) - (f[0] - b->slope * t[0]);
    }
done:
    return st;
}

/* ---- beyond a level ------------------------------------------------------------------------ */

static far_status last_crossing(far_ctx *ctx, const far_model *m, int64_t j, far_bound *b,
                                const double *t, const double *f, int64_t count)
{
    int64_t last = -1;
    for (int64_t i = 0; i < count; i++) {
        last = fabs(f[i]) <= b->level ? i : last;
    }
    b->beyond = last < 0 ? 0 : t[last];
    if (last < 0 || last + 1 == count) {
        return FAR_OK;
    }
    double low = t[last], high = t[last + 1];
    for (int i = 0; i < BISECTIONS; i++) {
        double middle = (low + high) / 2, value;
        far_status st = along(ctx, m, j, b->direction, &middle, 1, &value);
        if (st != FAR_OK) {
            return st;
        }
        *(fabs(value) <= b->level ? &low : &high) = middle;
    }
    b->beyond = high;
    return FAR_OK;
}

/* Ascending t >= 0, dense around the data and ever coarser away from it, up to reach beyond it. */
static int64_t spread_steps(double place, double size, double reach, double *t)
{
    int64_t decades = (int64_t)ceil(fmax(log10(fmax(reach, fabs(place)) / size), 3)) + 3;
    int64_t steps = decades * STEPS_PER_DECADE, count = 0;
    for (int64_t i = -steps; i <= steps; i++) {
        double away = size * pow(10, fabs((double)i) / STEPS_PER_DECADE - 3);
        double at = place + (i < 0 ? -away : i > 0 ? away : 0);
        if (t && at >= 0) {
            t[count + 1] = at;
        }
        count += at >= 0;
    }
    if (t) {
        t[0] = 0;
    }
    return count + 1;
}

static far_status find_beyond(far_ctx *ctx, const far_model *m, int64_t j, far_bound *b)
{
    far_status st;
    far_ray ray = far_model_ray(m, b->direction);
    double size = ray.size, place = ray.place;
    double most =
        b->level + fabs(far_output_centre(m->columns)[j]) + far_output_scale(m->columns)[j];
    double reach = leading_reaches(b, ROOM * most), *t = NULL, *f = NULL;
    if (!(reach < FURTHEST * size) || ROOM * most > LARGEST) {
        return far_fail(ctx, FAR_ERR_VALUE,
                        "%s passes %g only beyond %g sizes of the data; ask for a lower level",
                        b->output, b->level, reach / size / ROOM);
    }
    int64_t count = spread_steps(place, size, reach, NULL);
    FAR_TRY(far_alloc(ctx, count, &t));
    FAR_TRY(far_alloc(ctx, count, &f));
    spread_steps(place, size, reach, t);
    FAR_TRY(along(ctx, m, j, b->direction, t, count, f));
    FAR_TRY(last_crossing(ctx, m, j, b, t, f, count));
done:
    far_free(ctx, t);
    far_free(ctx, f);
    return st;
}

/* ---- all outputs --------------------------------------------------------------------------- */

/* A direction of standardised inputs in raw units, of norm 1 there. */
static void to_raw_direction(const far_model *m, const double *u, double *out)
{
    long double square = 0;
    for (int64_t i = 0; i < m->info.inputs; i++) {
        out[i] = u[i] * far_input_scale(m->columns)[i];
        square += (long double)out[i] * out[i];
    }
    for (int64_t i = 0; i < m->info.inputs; i++) {
        out[i] = (double)(out[i] / sqrtl(square));
    }
}

/* A slope that rounding may have made, or that f itself does not confirm, decides nothing. */
far_status far_witness_output(const far_single *p, double level, const double *direction,
                              far_bound *b)
{
    far_status st;
    int64_t j = p->output;
    double doubt = INFINITY;
    b->direction = direction;
    FAR_TRY(measure(p->ctx, p->model, j, b));
    if (b->order > 0) {
        FAR_TRY(slope_doubt(p, b, &doubt));
    }
    if (!(fabs(b->slope) > doubt) || !(fabs(b->confirmed - 1) < 0.01)) {
        b->direction = NULL;
        b->slope = b->order = b->intercept = b->confirmed = NAN;
        return FAR_OK;
    }
    b->verdict = FAR_UNBOUNDED;
    b->theorem = far_reason_unbounded(p->model);
    b->level = level;
    if (!isnan(b->level)) {
        FAR_TRY(find_beyond(p->ctx, p->model, j, b));
    }
done:
    return st;
}

/* Directions for the outputs that have none yet. */
static far_status look_for_directions(far_ctx *ctx, const far_model *m, const far_certify_opts *o,
                                      const far_single *singles, bool rows, far_certificate *c)
{
    far_status st;
    int64_t d = m->info.inputs, p = m->info.outputs;
    double *slope = NULL, *direction = NULL, order;
    FAR_TRY(far_alloc(ctx, p, &slope));
    FAR_TRY(far_alloc(ctx, p * d, &direction));
    FAR_TRY(far_search_direction(ctx, m, o, rows, slope, &order, direction));
    for (int64_t j = 0; j < p; j++) {
        far_bound *b = &c->bounds[j];
        if (b->verdict == FAR_UNDECIDED && slope[j] > 0) {
            to_raw_direction(m, direction + j * d, c->vectors + j * d);
            FAR_TRY(far_witness_output(&singles[j], o->exceeds, c->vectors + j * d, b));
        }
    }
done:
    far_free(ctx, slope);
    far_free(ctx, direction);
    return st;
}

/* Along rows of a table if there is such a direction; else categories and ranks count as real
 * numbers. */
far_status far_witness_fill(far_ctx *ctx, const far_model *m, const far_certify_opts *o,
                            const far_single *singles, far_certificate *c)
{
    far_status st = FAR_OK;
    int64_t d = m->info.inputs, still = far_columns_still(m->columns), open = 0;
    for (int64_t j = 0; j < m->info.outputs; j++) {
        double *raw = c->vectors + j * d;
        if (c->bounds[j].verdict == FAR_BOUNDED) { /* a constant: any point will do */
            memset(raw, 0, (size_t)d * sizeof *raw);
            c->bounds[j].at = raw;
        }
    }
    if (still > 0 && still < d) {
        FAR_TRY(look_for_directions(ctx, m, o, singles, true, c));
    }
    for (int64_t j = 0; j < m->info.outputs; j++) {
        open += c->bounds[j].verdict == FAR_UNDECIDED;
    }
    if (open > 0) {
        FAR_TRY(look_for_directions(ctx, m, o, singles, false, c));
    }
done:
    return st;
}
