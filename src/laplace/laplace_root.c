/* A root of the likelihood's curvature: R R' = diag(p) - p p', p (1 - p), or I / noise. */
#include "laplace_internal.h"

#include <math.h>

int64_t far_laplace_classes(int32_t likelihood, int64_t outputs)
{
    return likelihood == FAR_LIKELIHOOD_BERNOULLI ? 2 : outputs;
}

/* sqrt(p), p the softmax. */
static void softmax_root(const double *logits, int64_t classes, double *q)
{
    for (int64_t c = 0; c < classes; c++) {
        q[c] = logits[c];
    }
    far_softmax(q, classes);
    for (int64_t c = 0; c < classes; c++) {
        q[c] = sqrt(q[c]);
    }
}

/* sqrt(p (1 - p)), without a difference that rounds to 0. */
static double bernoulli_root(double logit)
{
    double away = exp(-fabs(logit) / 2);
    return away / (1 + away * away);
}

far_status far_root_create(far_ctx *ctx, const far_laplace_info *info, const double *outputs,
                           int64_t points, far_root *root)
{
    int64_t classes = info->outputs;
    *root = (far_root){.outputs = classes,
                       .scale = 1 / sqrt(info->noise),
                       .coupled = info->likelihood == FAR_LIKELIHOOD_SOFTMAX};
    if (info->likelihood == FAR_LIKELIHOOD_GAUSSIAN) {
        return FAR_OK;
    }
    far_status st = far_alloc(ctx, points * classes, &root->q);
    for (int64_t i = 0; st == FAR_OK && i < points; i++) {
        if (root->coupled) {
            softmax_root(outputs + i * classes, classes, root->q + i * classes);
        } else {
            root->q[i] = bernoulli_root(outputs[i]);
        }
    }
    return st;
}

void far_root_clear(far_ctx *ctx, far_root *root)
{
    far_free(ctx, root->q);
    root->q = NULL;
}

double far_root_curvature(const far_root *root, int64_t i, int64_t a, int64_t b)
{
    const double *q = root->q ? root->q + i * root->outputs : NULL;
    double others = 0;
    if (!root->coupled) {
        double entry = q ? q[a] : root->scale;
        return a == b ? entry * entry : 0;
    }
    for (int64_t c = 0; a == b && c < root->outputs; c++) {
        others += c == a ? 0 : q[c] * q[c];
    }
    return a == b ? q[a] * q[a] * others : -(q[a] * q[a] * q[b] * q[b]);
}

void far_root_apply(const far_root *root, int64_t i, double *v, int64_t stride)
{
    const double *q = root->q ? root->q + i * root->outputs : NULL;
    double along = 0;
    for (int64_t c = 0; c < root->outputs; c++) {
        v[c * stride] *= q ? q[c] : root->scale;
        along += q ? q[c] * v[c * stride] : 0;
    }
    for (int64_t c = 0; root->coupled && c < root->outputs; c++) {
        v[c * stride] -= q[c] * along;
    }
}

void far_root_apply_rows(far_ctx *ctx, const far_root *root, int64_t points, double *rows,
                         int64_t cols)
{
#pragma omp parallel for num_threads(far_ctx_threads(ctx)) schedule(static)
    for (int64_t i = 0; i < points; i++) {
        for (int64_t j = 0; j < cols; j++) {
            far_root_apply(root, i, rows + i * root->outputs * cols + j, cols);
        }
    }
}
