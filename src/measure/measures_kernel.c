/* Measures of a kernel alone. */
#include "registry.h"

#include <math.h>

static double points_of(const far_work *w)
{
    return (double)w->in->view->info.points;
}

far_status far_measure_top(far_ctx *ctx, far_work *w, const far_measure *m, double *out)
{
    far_spectrum s;
    int64_t count = far_least(m->values, w->in->view->info.rows);
    far_status st = far_view_spectrum(ctx, w->in->view, count, 0, &s);
    for (int64_t i = 0; st == FAR_OK && i < m->values; i++) {
        out[i] = i < count ? s.values[i] / points_of(w) : NAN;
    }
    return st;
}

far_status far_measure_stability(far_ctx *ctx, far_work *w, const far_measure *m, double *out)
{
    far_status st = far_measure_top(ctx, w, m, out);
    if (st == FAR_OK) {
        *out *= m->argument[0] / 2;
    }
    return st;
}

far_status far_measure_ratio(far_ctx *ctx, far_work *w, const far_measure *m, double *out)
{
    far_spectrum s;
    far_status st = FAR_OK;
    (void)m;
    *out = NAN;
    if (w->in->view->info.rows > 1) {
        FAR_TRY(far_view_spectrum(ctx, w->in->view, 2, 0, &s));
        *out = s.values[0] > 0 ? s.values[1] / s.values[0] : NAN;
    }
done:
    return st;
}

far_status far_measure_trace(far_ctx *ctx, far_work *w, const far_measure *m, double *out)
{
    (void)ctx;
    (void)m;
    *out = w->in->view->info.trace / points_of(w);
    return FAR_OK;
}

far_status far_measure_norm(far_ctx *ctx, far_work *w, const far_measure *m, double *out)
{
    (void)ctx;
    (void)m;
    *out = w->in->view->info.frobenius / points_of(w);
    return FAR_OK;
}

far_status far_measure_lmin(far_ctx *ctx, far_work *w, const far_measure *m, double *out)
{
    far_status st = far_measure_of_condition(ctx, w, m, out);
    if (st == FAR_OK) {
        *out /= points_of(w);
    }
    return st;
}

far_status far_measure_of_condition(far_ctx *ctx, far_work *w, const far_measure *m, double *out)
{
    far_condition c;
    double ridge = far_measure_entry_of(m)->argument == FAR_ARGUMENT_RIDGE ? m->argument[0] : 0;
    far_status st = far_view_condition(ctx, w->in->view, ridge, &c);
    if (st == FAR_OK) {
        *out = far_measure_field(m, &c);
    }
    return st;
}

far_status far_measure_nu(far_ctx *ctx, far_work *w, const far_measure *m, double *out)
{
    far_spectrum s;
    far_power p;
    far_status st;
    FAR_TRY(far_view_spectrum(ctx, w->in->view, 0, 0, &s));
    FAR_TRY(far_power_check(ctx, &s, (int64_t)m->argument[1]));
    FAR_TRY(far_power_fit(ctx, NULL, s.values, s.count, trunc(m->argument[0]),
                          trunc(m->argument[1]), &p));
    *out = p.exponent;
done:
    return st;
}
