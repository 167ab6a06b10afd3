/* A direction along which f runs away: its exact leading term, and a look at f itself. */
#include "certify_internal.h"

#include <math.h>
#include <string.h>

#define FAR_AWAY 1e6 /* sizes of the data, where the leading term is confirmed */
#define ROOM 1e3     /* past the level by this factor of the leading term, nothing can come back */
enum { STEPS_PER_DECADE = 20, BISECTIONS = 60 };

/* f(t direction) for count values of t; direction and t in raw units. */
static far_status along(far_ctx *ctx, const far_model *m, int64_t j, const double *direction,
                        const double *t, int64_t count, double *out)
{
    far_status st;
    int64_t d = m->info.inputs, p = m->info.outputs;
    double *x = NULL, *y = NULL;
    FAR_TRY(far_alloc(ctx, count * d, &x));
    FAR_TRY(far_alloc(ctx, count * p, &y));
    for (int64_t i = 0; i < count * d; i++) {
        x[i] = (t[i / d] * direction[i % d] - m->encoder.centre[i % d]) / m->encoder.scale[i % d];
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

/* t at which t direction is as far out as a typical training point. */
static double data_size(const far_model *m, const double *direction)
{
    double square = 0;
    for (int64_t i = 0; i < m->info.inputs; i++) {
        double z = direction[i] / m->encoder.scale[i];
        square += z * z;
    }
    return sqrt((double)m->info.inputs / square);
}

static far_status leading_term(far_ctx *ctx, const far_model *m, int64_t j, far_bound *b)
{
    far_status st;
    int64_t d = m->info.inputs, p = m->info.outputs;
    double *u = NULL, *values = NULL;
    FAR_TRY(far_alloc(ctx, d, &u));
    FAR_TRY(far_alloc(ctx, p, &values));
    for (int64_t i = 0; i < d; i++) {
        u[i] = b->direction[i] / m->encoder.scale[i];
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

far_status far_witness_measure(far_ctx *ctx, const far_model *m, int64_t j, far_bound *b)
{
    far_status st;
    double size = data_size(m, b->direction), t[2] = {FAR_AWAY * size, 2 * FAR_AWAY * size}, f[2];
    FAR_TRY(leading_term(ctx, m, j, b));
    FAR_TRY(along(ctx, m, j, b->direction, t, 1, f));
    b->confirmed = f[0] / (b->slope * pow(t[0], b->order));
    b->intercept = NAN;
    if (b->order == 1) { /* f = slope t + intercept + O(1 / t) */
        t[0] = 1e4 * size;
        t[1] = 2e4 * size;
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

static far_status find_beyond(far_ctx *ctx, const far_model *m, int64_t j, double level,
                              far_bound *b)
{
    far_status st;
    double size = data_size(m, b->direction), *t = NULL, *f = NULL;
    double reach = pow(ROOM * (level + fabs(m->out_centre[j]) + m->out_scale[j]) / fabs(b->slope),
                       1 / b->order);
    double decades = fmax(log10(reach / size), 3) + 3;
    int64_t count = (int64_t)(decades * STEPS_PER_DECADE) + 1;
    b->level = level;
    FAR_TRY(far_alloc(ctx, count, &t));
    FAR_TRY(far_alloc(ctx, count, &f));
    for (int64_t i = 0; i < count; i++) {
        t[i] = size * pow(10, (double)i / STEPS_PER_DECADE - 3);
    }
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
    double square = 0;
    for (int64_t i = 0; i < m->info.inputs; i++) {
        out[i] = u[i] * m->encoder.scale[i];
        square += out[i] * out[i];
    }
    for (int64_t i = 0; i < m->info.inputs; i++) {
        out[i] /= sqrt(square);
    }
}

static far_status witness_output(far_ctx *ctx, const far_model *m, const far_certify_opts *o,
                                 int64_t j, far_bound *b)
{
    far_status st;
    FAR_TRY(far_witness_measure(ctx, m, j, b));
    if (!(b->order > 0) || b->slope == 0 || !(fabs(b->confirmed - 1) < 0.01)) {
        FAR_TRY(far_fail(ctx, FAR_ERR_BACKEND,
                         "%s: the kernel is unbounded, but no direction was found along which this "
                         "fit runs away (steepest: %g t^%g)",
                         b->output, b->slope, b->order));
    }
    b->beyond = b->level = NAN;
    if (!isnan(o->exceeds)) {
        FAR_TRY(find_beyond(ctx, m, j, o->exceeds, b));
    }
done:
    return st;
}

far_status far_witness_fill(far_ctx *ctx, const far_model *m, const far_certify_opts *o,
                            far_certificate *c)
{
    far_status st;
    int64_t d = m->info.inputs, p = m->info.outputs;
    double *slope = NULL, *direction = NULL, order;
    FAR_TRY(far_alloc(ctx, p, &slope));
    FAR_TRY(far_alloc(ctx, p * d, &direction));
    FAR_TRY(far_search_direction(ctx, m, o, slope, &order, direction));
    for (int64_t j = 0; j < p; j++) {
        far_bound *b = &c->bounds[j];
        if (b->bounded) {
            continue; /* a constant */
        }
        double *raw = c->vectors + j * d;
        to_raw_direction(m, direction + j * d, raw);
        b->direction = raw;
        FAR_TRY(witness_output(ctx, m, o, j, b));
    }
done:
    far_free(ctx, slope);
    far_free(ctx, direction);
    return st;
}
