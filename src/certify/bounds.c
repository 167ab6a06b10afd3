/* Bounds on f over all of R^d in closed form. */
#include "../kernel/plan.h"
#include "certify_internal.h"

#include <math.h>

static far_interval around(const far_single *p, double middle, double radius, const char *method)
{
    return (far_interval){p->centre + p->scale * (middle - radius) - p->rounding,
                          p->centre + p->scale * (middle + radius) + p->rounding, method};
}

far_interval far_norm_interval(const far_single *p)
{
    return around(p, 0, sqrt(p->C) * p->norm, "norm");
}

long double far_alpha_at(const far_single *p, int64_t i)
{
    int64_t at = i * p->model->info.outputs + p->output;
    return (long double)p->model->alpha[at] + p->model->alpha_low[at];
}

static long double alpha_sum(const far_single *p)
{
    long double sum = 0;
    for (int64_t i = 0; i < p->model->info.rows; i++) {
        sum += far_alpha_at(p, i);
    }
    return sum;
}

/* What the bias of a last dense adds to every value of k: b^2, but in the standard parametrisation
 * to Theta the 1 of its own gradient. */
static long double bias_part(const far_model *m)
{
    const far_plan *plan = m->kernel->plan;
    const far_op *last = plan->count > 0 ? &plan->ops[plan->count - 1] : NULL;
    if (!last || last->kind != FAR_OP_DENSE) {
        return 0;
    }
    bool gradient = last->standard && m->info.kernel == FAR_KERNEL_NTK;
    return gradient ? (last->bias ? 1 : 0) : last->b * last->b;
}

/* k = b^2 + k', both kernels. In long double: squares of what a double holds may leave its range.
 */
far_interval far_bias_interval(const far_single *p)
{
    long double b2 = bias_part(p->model), sum = alpha_sum(p);
    if (!(b2 > 0)) {
        return (far_interval){0};
    }
    long double rest = (long double)p->norm * p->norm - b2 * sum * sum;
    long double radius = sqrtl(fmaxl(p->C - b2, 0) * fmaxl(rest, 0));
    return around(p, (double)(b2 * sum), (double)radius, "bias");
}

/* In a model that agrees with itself both are above b1, which is proven; lambda_min is the file's.
 */
void far_loose_bounds(const far_single *p, far_bound *b)
{
    const far_model_info *i = &p->model->info;
    double n = (double)i->rows, shift = fabs(p->centre);
    b->b1 = shift + p->scale * sqrt(p->C) * p->norm + p->rounding;
    b->b2 = b->b3 = NAN;
    if (i->lambda_min > 0) {
        b->b2 = fmax(b->b1, shift + p->scale * p->largest * sqrt(p->C * n / i->lambda_min));
        b->b3 = fmax(b->b1, shift + p->scale * p->C * n * p->largest / i->lambda_min);
    }
}
