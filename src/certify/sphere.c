/* R^d closed at infinity, as half of a sphere. */
#include "../kernel/plan.h"
#include "certify_internal.h"

#include <math.h>
#include <string.h>

#define LARGEST_UNIT 1e150L /* points of 1e12 units, and their squares, are in range */

/* 0: there is none. */
static double unit_of(const far_model *m)
{
    const far_plan *plan = m->kernel->plan;
    const far_op *first = plan->input_count == 0 && plan->count > 0 ? &plan->ops[0] : NULL;
    if (!first || first->kind != FAR_OP_DENSE || !(first->b > 0) || !(first->w > 0)) {
        return 0;
    }
    long double unit = first->b / first->w;
    return unit < LARGEST_UNIT && unit > 1 / LARGEST_UNIT ? (double)unit : 0;
}

double far_sphere_unit(const far_model *m)
{
    double unit = unit_of(m);
    return unit > 0 ? unit : 1;
}

bool far_sphere_is_ours(const far_model *m)
{
    return unit_of(m) > 0;
}

static void normalise(double *s, int64_t count)
{
    double largest = 0, square = 0;
    for (int64_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs(s[i]));
    }
    for (int64_t i = 0; i < count; i++) {
        s[i] /= largest;
        square += s[i] * s[i];
    }
    for (int64_t i = 0; i < count; i++) {
        s[i] /= sqrt(square);
    }
}

void far_sphere_from_point(const double *x, int64_t d, double unit, double *s)
{
    for (int64_t j = 0; j < d; j++) {
        s[j] = x[j] / (sqrt((double)d) * unit);
    }
    s[d] = 1;
    normalise(s, d + 1);
}

void far_sphere_to_point(const double *s, int64_t d, double unit, double *x)
{
    for (int64_t j = 0; j < d; j++) {
        x[j] = s[d] > FAR_HEIGHT_OF_INFINITY ? sqrt((double)d) * unit * s[j] / s[d] : s[j];
    }
}

static far_status eval_part(far_ctx *ctx, const far_model *m, double unit, const double *s,
                            int64_t count, bool infinite, double *points, double *values,
                            double *out)
{
    far_status st;
    int64_t d = m->info.inputs, p = m->info.outputs, used = 0;
    double *orders = NULL;
    for (int64_t i = 0; i < count; i++) {
        if ((s[i * (d + 1) + d] <= FAR_HEIGHT_OF_INFINITY) == infinite) {
            far_sphere_to_point(s + i * (d + 1), d, unit, points + used++ * d);
        }
    }
    FAR_TRY(far_alloc(ctx, count, &orders));
    far_mat x = far_mat_view(points, used, d, FAR_F64), y = far_mat_view(values, used, p, FAR_F64);
    far_mat order = far_mat_view(orders, used, 1, FAR_F64);
    if (used > 0) {
        FAR_TRY(infinite ? far_model_limit(ctx, m, &x, &y, &order)
                         : far_model_eval(ctx, m, &x, &y));
    }
    used = 0;
    for (int64_t i = 0; i < count; i++) {
        if ((s[i * (d + 1) + d] <= FAR_HEIGHT_OF_INFINITY) == infinite) {
            memcpy(out + i * p, values + used++ * p, (size_t)p * sizeof *out);
        }
    }
done:
    far_free(ctx, orders);
    return st;
}

far_status far_sphere_eval(far_ctx *ctx, const far_model *m, double unit, const double *s,
                           int64_t count, double *out)
{
    far_status st;
    double *points = NULL, *values = NULL;
    FAR_TRY(far_alloc(ctx, count * m->info.inputs, &points));
    FAR_TRY(far_alloc(ctx, count * m->info.outputs, &values));
    FAR_TRY(eval_part(ctx, m, unit, s, count, false, points, values, out));
    FAR_TRY(eval_part(ctx, m, unit, s, count, true, points, values, out));
done:
    far_free(ctx, points);
    far_free(ctx, values);
    return st;
}

far_status far_raw_value(far_ctx *ctx, const far_model *m, int64_t j, const double *raw,
                         bool infinite, double *out)
{
    far_status st;
    int64_t d = m->info.inputs, p = m->info.outputs;
    double *x = NULL, *values = NULL, order_value;
    FAR_TRY(far_alloc(ctx, d, &x));
    FAR_TRY(far_alloc(ctx, p, &values));
    for (int64_t i = 0; i < d; i++) {
        x[i] = (raw[i] - (infinite ? 0 : far_input_centre(m->columns)[i])) /
               far_input_scale(m->columns)[i];
    }
    far_mat point = far_mat_view(x, 1, d, FAR_F64), mean = far_mat_view(values, 1, p, FAR_F64);
    far_mat order = far_mat_view(&order_value, 1, 1, FAR_F64);
    FAR_TRY(infinite ? far_model_limit(ctx, m, &point, &mean, &order)
                     : far_model_eval(ctx, m, &point, &mean));
    *out = values[j];
done:
    far_free(ctx, x);
    far_free(ctx, values);
    return st;
}
