#include "base_internal.h"

far_mat far_mat_view(void *data, int64_t rows, int64_t cols, far_dtype dtype)
{
    return (far_mat){.data = data, .rows = rows, .cols = cols, .ld = cols, .dtype = (int32_t)dtype};
}

size_t far_dtype_size(far_dtype dtype)
{
    return dtype == FAR_F32 ? sizeof(float) : sizeof(double);
}

void *far_mat_row(const far_mat *m, int64_t i)
{
    return (char *)m->data + (size_t)i * (size_t)m->ld * far_dtype_size(m->dtype);
}

far_status far_mat_check(far_ctx *ctx, const far_mat *m, const char *name)
{
    if (!m) {
        return far_fail(ctx, FAR_ERR_ARG, "%s is NULL", name);
    }
    if (m->rows < 0 || m->cols < 0) {
        return far_fail(ctx, FAR_ERR_SHAPE, "%s is %lld x %lld", name, (long long)m->rows,
                        (long long)m->cols);
    }
    if (m->rows > 1 && m->ld < m->cols) {
        return far_fail(ctx, FAR_ERR_SHAPE, "%s has ld %lld but %lld columns", name,
                        (long long)m->ld, (long long)m->cols);
    }
    if (m->dtype != FAR_F64 && m->dtype != FAR_F32) {
        return far_fail(ctx, FAR_ERR_ARG, "%s has unknown dtype %d", name, m->dtype);
    }
    if (m->device != 0) {
        return far_fail(ctx, FAR_ERR_ARG, "%s is on device %d, but only host memory (0) is known",
                        name, m->device);
    }
    if (!m->data && m->rows > 0 && m->cols > 0) {
        return far_fail(ctx, FAR_ERR_ARG, "%s has no data", name);
    }
    return FAR_OK;
}

far_status far_mat_expect(far_ctx *ctx, const far_mat *m, const char *name, int64_t rows,
                          int64_t cols, far_dtype dtype)
{
    far_status st = far_mat_check(ctx, m, name);
    if (st != FAR_OK) {
        return st;
    }
    if ((rows >= 0 && m->rows != rows) || (cols >= 0 && m->cols != cols)) {
        return far_fail(ctx, FAR_ERR_SHAPE, "%s is %lld x %lld, not %lld x %lld", name,
                        (long long)m->rows, (long long)m->cols,
                        (long long)(rows >= 0 ? rows : m->rows),
                        (long long)(cols >= 0 ? cols : m->cols));
    }
    if (m->dtype != dtype) {
        return far_fail(ctx, FAR_ERR_ARG, "%s is not of type %s", name,
                        dtype == FAR_F64 ? "float64" : "float32");
    }
    return FAR_OK;
}

far_status far_directions_check(far_ctx *ctx, const far_mat *u, const char *name)
{
    for (int64_t i = 0; i < u->rows; i++) {
        const double *row = far_mat_row(u, i);
        bool zero = true;
        for (int64_t j = 0; j < u->cols; j++) {
            zero = zero && row[j] == 0;
        }
        if (zero) {
            return far_fail(ctx, FAR_ERR_VALUE, "%s: row %lld is zero, which is no direction", name,
                            (long long)i + 1);
        }
    }
    return FAR_OK;
}
