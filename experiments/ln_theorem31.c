/* Theorem 3.1: without a norm there are data that make the prediction run away. One point will do.
 */
#include "ln_theorems.h"

#include <math.h>
#include <stdlib.h>

/* One point x = y = 1: Theta(t, 1) / Theta(1, 1), so without a norm the slope is g(1, 1) / Theta(1,
 * 1), every term of which is positive. Closed forms with 40 digits. */
static const double WITNESS[LN_NETS] = {0.941576, 0.964479, 0.954216, 0.964480};
static const double WITNESS_BACK = 0.099908; /* lim f(-t) / t without a norm */

static far_status fit_witness(reproduction *r, int net, far_predictor **out)
{
    double one = 1;
    char *arch = net_text(r, net, LN_EXACT, "relu");
    far_status st = infinite_fit(r, arch, &one, &one, 1, out);
    free(arch);
    return st;
}

static far_status claim_slope(reproduction *r, const far_predictor *m)
{
    double slope, back, order, order_back;
    far_status st;
    TRY(infinite_limit(r, m, 1, &slope, &order));
    TRY(infinite_limit(r, m, -1, &back, &order_back));
    st = claim(r,
               &(claim_of){.what = "theorem 3.1: without a norm one point (1, 1) makes the "
                                   "prediction run away",
                           .paper = "some training data do",
                           .place = "Theorem 3.1",
                           .tested = "slopes by closed form: 0.941576, to the other side 0.099908",
                           .agrees = order == 1 && order_back == 1 &&
                                     fabs(slope - WITNESS[LN_NONE]) < SIX_DIGITS &&
                                     fabs(back - WITNESS_BACK) < SIX_DIGITS},
               "f(t) / t tends to %.6f, f(-t) / t to %.6f", slope, back);
done:
    return st;
}

static far_status claim_limit(reproduction *r, const far_predictor *m, int net)
{
    double limit, order;
    far_status st = infinite_limit(r, m, 1, &limit, &order);
    if (st != FAR_OK) {
        return st;
    }
    const char *what = words(r, "the same point, %s", LN_NAMES[net]);
    const char *tested = words(r, "limit by closed form: %.6f", WITNESS[net]);
    st = claim(r,
               &(claim_of){.what = what,
                           .paper = "bounded",
                           .place = "Theorem 3.3",
                           .tested = tested,
                           .agrees = order == 0 && fabs(limit - WITNESS[net]) < SIX_DIGITS},
               "f(t) tends to %.6f", limit);
    return st;
}

static far_status add_witness(reproduction *r, int net, const double *t, far_figure *figure)
{
    double f[RAY];
    far_predictor *m = NULL;
    far_status st;
    TRY(fit_witness(r, net, &m));
    TRY(net == LN_NONE ? claim_slope(r, m) : claim_limit(r, m, net));
    TRY(infinite_at(r, m, t, RAY, f));
    TRY(draw_curve(r, figure, t, f, NULL, RAY, net, LN_NAMES[net]));
done:
    far_predictor_destroy(m);
    return st;
}

far_status check_theorem_31(reproduction *r)
{
    double t[RAY];
    far_figure *figure = NULL;
    far_figure_opts opts = log_axes("One training point, (1, 1), infinite width", "x", "f(x)");
    spread_log(1e-1, 1e5, t, RAY);
    far_status st = far_figure_create(r->ctx, &opts, &figure);
    for (int net = 0; net < LN_NETS && st == FAR_OK; net++) {
        st = add_witness(r, net, t, figure);
    }
    st = keep_drawn(r, figure, "ln-theorem-31",
                    "Theorem 3.1: without a norm a single training point makes the prediction "
                    "grow without bound; with one, anywhere, it has a limit.",
                    st);
    return st == FAR_OK ? check_theorem_31_cases(r) : st;
}
