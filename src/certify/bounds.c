/* Bounds on f over all of R^d in closed form. */
#include "../kernel/plan.h"
#include "certify_internal.h"

#include <math.h>

/* Kernel values carry a few units of the last digit relative to sqrt(k(x, x) k(x', x')). */
#define KERNEL_ROUNDING 1e-14

far_predictor far_predictor_of(far_ctx *ctx, const far_model *m, int64_t output, double C)
{
    int64_t n = m->info.rows, p = m->info.outputs;
    far_predictor f = {.ctx = ctx,
                       .model = m,
                       .output = output,
                       .centre = m->out_centre[output],
                       .scale = m->out_scale[output],
                       .C = C};
    long double square = 0, y2 = 0, a2 = 0, sum = 0;
    for (int64_t i = 0; i < n; i++) {
        long double y = m->y[i * p + output];
        long double a = (long double)m->alpha[i * p + output] + m->alpha_low[i * p + output];
        square += a * (y - m->info.ridge * a); /* K alpha = y - ridge alpha */
        y2 += y * y;
        a2 += a * a;
        sum += fabsl(a);
        f.largest = fmax(f.largest, fabs((double)y));
    }
    double size = isfinite(C) ? C : m->info.mean_diagonal;
    long double doubt = m->info.residual * sqrtl(y2 * a2) +
                        (KERNEL_ROUNDING + far_kernel_tolerance(m->kernel)) * size * sum * sum;
    f.norm_1 = (double)sum;
    f.norm = (double)sqrtl(fmaxl(square, 0) + doubt);
    return f;
}

static far_interval around(const far_predictor *p, double middle, double radius, const char *method)
{
    return (far_interval){p->centre + p->scale * (middle - radius),
                          p->centre + p->scale * (middle + radius), method};
}

far_interval far_norm_interval(const far_predictor *p)
{
    return around(p, 0, sqrt(p->C) * p->norm, "norm");
}

static long double alpha_at(const far_predictor *p, int64_t i)
{
    int64_t at = i * p->model->info.outputs + p->output;
    return (long double)p->model->alpha[at] + p->model->alpha_low[at];
}

static long double alpha_sum(const far_predictor *p)
{
    long double sum = 0;
    for (int64_t i = 0; i < p->model->info.rows; i++) {
        sum += alpha_at(p, i);
    }
    return sum;
}

/* k = b^2 + k', both kernels: the last bias adds b^2 to every value. In long double: squares of
 * what a double holds may leave its range. */
far_interval far_bias_interval(const far_predictor *p)
{
    const far_plan *plan = p->model->kernel->plan;
    const far_op *last = plan->count > 0 ? &plan->ops[plan->count - 1] : NULL;
    if (!last || last->kind != FAR_OP_DENSE || last->standard || !(last->b > 0)) {
        return (far_interval){0};
    }
    long double b2 = last->b * last->b, sum = alpha_sum(p);
    long double rest = (long double)p->norm * p->norm - b2 * sum * sum;
    long double radius = sqrtl(fmaxl(p->C - b2, 0) * fmaxl(rest, 0));
    return around(p, (double)(b2 * sum), (double)radius, "bias");
}

void far_loose_bounds(const far_predictor *p, far_bound *b)
{
    const far_model_info *i = &p->model->info;
    double n = (double)i->rows, shift = fabs(p->centre);
    b->b1 = shift + p->scale * sqrt(p->C) * p->norm;
    b->b2 = shift + p->scale * p->largest * sqrt(p->C * n / i->lambda_min);
    b->b3 = shift + p->scale * p->C * n * p->largest / i->lambda_min;
}
