/* A root of the likelihood's curvature: R R' = diag(p) - p p', or I / noise. */
#include "laplace_internal.h"

#include <math.h>

void far_softmax(double *v, int64_t count)
{
    double most = v[0], sum = 0;
    for (int64_t c = 1; c < count; c++) {
        most = fmax(most, v[c]);
    }
    for (int64_t c = 0; c < count; c++) {
        v[c] = exp(v[c] - most);
        sum += v[c];
    }
    for (int64_t c = 0; c < count; c++) {
        v[c] /= sum;
    }
}

far_status far_root_create(far_ctx *ctx, const far_laplace_info *info, const double *outputs,
                           int64_t points, far_root *root)
{
    int64_t classes = info->outputs;
    *root = (far_root){.outputs = classes, .scale = 1 / sqrt(info->noise)};
    if (info->likelihood == FAR_LIKELIHOOD_GAUSSIAN) {
        return FAR_OK;
    }
    far_status st = far_alloc(ctx, points * classes, &root->q);
    for (int64_t i = 0; st == FAR_OK && i < points; i++) {
        double *q = root->q + i * classes;
        for (int64_t c = 0; c < classes; c++) {
            q[c] = outputs[i * classes + c];
        }
        far_softmax(q, classes);
        for (int64_t c = 0; c < classes; c++) {
            q[c] = sqrt(q[c]);
        }
    }
    return st;
}

void far_root_clear(far_ctx *ctx, far_root *root)
{
    far_free(ctx, root->q);
    root->q = NULL;
}

void far_root_apply(const far_root *root, int64_t i, double *v, int64_t stride)
{
    const double *q = root->q ? root->q + i * root->outputs : NULL;
    double along = 0;
    for (int64_t c = 0; c < root->outputs; c++) {
        v[c * stride] *= q ? q[c] : root->scale;
        along += q ? q[c] * v[c * stride] : 0;
    }
    for (int64_t c = 0; q && c < root->outputs; c++) {
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
