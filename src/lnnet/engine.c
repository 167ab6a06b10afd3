#include "engine.h"

#include "../net/net_internal.h"

#include <string.h>

far_status far_ln_engine_open(far_ctx *ctx, int64_t d, int64_t most, far_ln_engine *out)
{
    far_status st = FAR_OK;
    *out = (far_ln_engine){.ctx = ctx};
    FAR_TRY(far_net_compile(ctx, "dense(3) ln", d, 3, FAR_PARAM_STANDARD, &out->first));
    FAR_TRY(far_net_compile(ctx, "dense(3) ln", 3, 3, FAR_PARAM_STANDARD, &out->next));
    FAR_TRY(far_alloc(ctx, most * (d > 3 ? d : 3), &out->in));
    FAR_TRY(far_alloc(ctx, most * 3, &out->out));
done:
    if (st != FAR_OK) {
        far_ln_engine_close(out);
    }
    return st;
}

void far_ln_engine_close(far_ln_engine *e)
{
    far_net_destroy(e->first);
    far_net_destroy(e->next);
    far_free(e->ctx, e->in);
    far_free(e->ctx, e->out);
    *e = (far_ln_engine){.ctx = e->ctx};
}

static void run(far_ln_engine *e, const far_net *net, int64_t d, double *y, int64_t n)
{
    far_mat in = far_mat_view(e->in, n, d, FAR_F64), out = far_mat_view(e->out, n, 3, FAR_F64);
    far_progress_hold(e->ctx);
    if (e->status == FAR_OK) {
        e->status = far_net_eval(e->ctx, net, &in, &out);
    }
    far_progress_release(e->ctx);
    for (int64_t i = 0; i < n; i++) {
        y[i] = e->out[3 * i + 2];
    }
}

void far_ln_engine_first(far_ln_engine *e, const double *rows, const double *shifts,
                         const far_ln_points *p, const int64_t *index, int64_t n, double *y)
{
    size_t row = (size_t)p->d * sizeof *rows;
    memcpy(e->first->params, rows, 3 * row);
    memcpy(e->first->params + 3 * p->d, shifts, 3 * sizeof *shifts);
    for (int64_t i = 0; i < n; i++) {
        memcpy(e->in + i * p->d, far_ln_point(p, index[i]), row);
    }
    run(e, e->first, p->d, y, n);
}

void far_ln_engine_next(far_ln_engine *e, const double *w, double *y, int64_t n)
{
    double *to = e->next->params;
    memset(to, 0, 9 * sizeof *to);
    for (int i = 0; i < 3; i++) {
        to[3 * i + 2] = w[i];
        to[9 + i] = w[3 + i];
    }
    memset(e->in, 0, (size_t)(3 * n) * sizeof *e->in);
    for (int64_t i = 0; i < n; i++) {
        e->in[3 * i + 2] = y[i];
    }
    run(e, e->next, 3, y, n);
}
