/* The power laws of a kernel and a target: spectrum, tails, loss. */
#include "measure_internal.h"

#include <math.h>

enum { TIMES = 60 }; /* of the loss curve within its window */

far_status far_power_check(far_ctx *ctx, const far_spectrum *s, int64_t to)
{
    double least = (double)s->rows * 1e-16 * s->values[0];
    if (to >= 1 && to <= s->count && s->values[to - 1] <= least) {
        return far_fail(ctx, FAR_ERR_VALUE,
                        "eigenvalue %lld is %.3g, beside a largest one of %.3g no more than "
                        "rounding: the kernel is of low rank, or smooth (then there is no power "
                        "law), or has zeros (a relu network without biases: odd frequencies)",
                        (long long)to, s->values[to - 1], s->values[0]);
    }
    return FAR_OK;
}

static void fill_times(const far_power *spectrum, int64_t from, int64_t to, double *times)
{
    double first = pow((double)from, spectrum->exponent) / (2 * spectrum->prefactor);
    double last = pow((double)to, spectrum->exponent) / (2 * spectrum->prefactor);
    for (int i = 0; i < TIMES; i++) {
        times[i] = first * pow(last / first, (double)i / (TIMES - 1));
    }
}

/* L(t) in the window that the spectrum gives, and its ratio to the formula in the middle. */
static far_status fit_loss(far_ctx *ctx, far_view *view, const far_mat *targets,
                           const far_mat *start, int64_t from, int64_t to, far_power_law *law)
{
    double times[TIMES], losses[TIMES];
    far_spectral flow;
    far_status st;
    far_spectral_init(&flow);
    if (!(law->spectrum.exponent > 0)) {
        return far_fail(ctx, FAR_ERR_VALUE,
                        "the eigenvalues of this window do not fall (exponent %g)",
                        law->spectrum.exponent);
    }
    fill_times(&law->spectrum, from, to, times);
    FAR_TRY(far_spectral_loss(ctx, view, &flow, targets, start, times, TIMES, losses));
    FAR_TRY(
        far_power_fit(ctx, times, losses, TIMES, times[0] / 2, 2 * times[TIMES - 1], &law->loss));
    law->loss.warning = law->spectrum.warning;
    law->ratio = losses[TIMES / 2] / far_power_loss(law->spectrum.prefactor, law->spectrum.exponent,
                                                    law->tail.prefactor, law->tail.exponent,
                                                    times[TIMES / 2]);
done:
    return st;
}

far_status far_view_power_law(far_ctx *ctx, far_view *view, const far_mat *targets,
                              const far_mat *start, int64_t from, int64_t to, far_power_law *out)
{
    double *series = NULL;
    far_spectrum s;
    far_power_law law;
    far_status st;
    FAR_TRY(far_view_spectrum(ctx, view, 0, 1, &s));
    FAR_TRY(far_power_check(ctx, &s, to));
    FAR_TRY(far_alloc(ctx, s.rows, &series));
    for (int64_t i = 0; i < s.rows; i++) {
        series[i] = s.values[i] / (double)view->info.points;
    }
    FAR_TRY(far_power_fit_series(ctx, series, s.rows, from, to, &law.spectrum));
    FAR_TRY(far_view_coefficients(ctx, view, targets, start, series));
    far_tail_sums(series, s.rows, series);
    FAR_TRY(far_power_fit_series(ctx, series, s.rows, from, to, &law.tail));
    FAR_TRY(fit_loss(ctx, view, targets, start, from, to, &law));
    *out = law;
done:
    far_free(ctx, series);
    return st;
}
