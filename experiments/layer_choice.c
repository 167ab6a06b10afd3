#include "layer_choice.h"

#include <math.h>
#include <stdlib.h>

#define ROUNDING 1e-9 /* of the largest eigenvalue */

/* ---- one pair ------------------------------------------------------------------------------ */

static far_status check_weyl(reproduction *r, int64_t n, const double *without, const double *added,
                             const double *with, layer_bounds *out)
{
    double *low = ROOM(2 * n, double), *high = low + n, slack = ROUNDING * with[0];
    far_status st = far_weyl_intervals(r->ctx, without, n, added[n - 1], added[0], low, high);
    for (int64_t i = 0; i < n && st == FAR_OK; i++) {
        out->weyl_checked++;
        out->weyl_broken += !(with[i] >= low[i] - slack && with[i] <= high[i] + slack);
    }
    free(low);
    return st;
}

/* The least of ridge regression with the kernel of the choice and more times the identity. */
static double objective(const layer_choice *c, int64_t n, double more)
{
    double sum = 0, ridge = LAYER_CHOICE_RIDGE;
    for (int64_t i = 0; i < n; i++) {
        sum += ridge * c->share[i] / (fmax(c->spectrum[i], 0) + more + ridge);
    }
    return sum;
}

static void check_choice(int64_t n, const layer_choice *without, const layer_choice *added,
                         const layer_choice *with, layer_bounds *out)
{
    double found = objective(with, n, 0), high = objective(without, n, 0);
    double low = objective(without, n, added->spectrum[0]), ridge = LAYER_CONDITION_RIDGE;
    double most = without->spectrum[0] + added->spectrum[0] + ridge;
    double least = fmax(without->spectrum[n - 1], 0) + fmax(added->spectrum[n - 1], 0) + ridge;
    double slack = 1 + ROUNDING;
    /* rounding of the least eigenvalue counts against the ridge */
    double condition_slack = slack + ROUNDING * with->spectrum[0] / ridge;
    out->checked++;
    out->broken += !(found <= high * slack && found >= low / slack &&
                     with->condition <= most / least * condition_slack);
    out->above += high / found;
    out->below += found / low;
    out->condition += most / least / with->condition;
}

/* ---- all pairs ----------------------------------------------------------------------------- */

far_status check_layer_bounds(reproduction *r, int layers, int64_t n, const layer_choice *choices,
                              layer_bounds *out)
{
    far_status st = FAR_OK;
    for (unsigned mask = 1; mask < 1u << layers; mask++) {
        for (int l = 0; l < layers && st == FAR_OK; l++) {
            const layer_choice *without = &choices[mask - 1], *added = &choices[(1u << l) - 1];
            const layer_choice *with = &choices[(mask | 1u << l) - 1];
            if (!(mask >> l & 1)) {
                check_choice(n, without, added, with, out);
                st = check_weyl(r, n, without->spectrum, added->spectrum, with->spectrum, out);
            }
        }
    }
    return st;
}

void add_layer_bounds(layer_bounds *sum, const layer_bounds *more)
{
    sum->weyl_checked += more->weyl_checked;
    sum->weyl_broken += more->weyl_broken;
    sum->checked += more->checked;
    sum->broken += more->broken;
    sum->above += more->above;
    sum->below += more->below;
    sum->condition += more->condition;
}

/* ---- claims -------------------------------------------------------------------------------- */

far_status claim_weyl(reproduction *r, const char *what, const layer_bounds *b, int64_t seeds)
{
    return claim(r,
                 &(claim_of){.what = what,
                             .tested = "within Weyl's intervals, as those of any two matrices",
                             .seeds = seeds,
                             .by_construction = true,
                             .agrees = b->weyl_broken == 0},
                 "%lld of %lld are", (long long)(b->weyl_checked - b->weyl_broken),
                 (long long)b->weyl_checked);
}

far_status claim_choice(reproduction *r, const char *what, const layer_bounds *b, int64_t seeds)
{
    double n = (double)b->checked;
    return claim(
        r,
        &(claim_of){.what = what,
                    .tested = "the least of ridge regression (ridge 10) between E(K_S + "
                              "lambda_max(K_l)) and E(K_S), the condition number at most that of "
                              "the sums of extremes; bounds of ours",
                    .seeds = seeds,
                    .by_construction = true,
                    .agrees = b->broken == 0},
        "%lld of %lld hold; in the mean above by a factor of %.2f, below by %.2f, condition number "
        "by %.3g",
        (long long)(b->checked - b->broken), (long long)b->checked, b->above / n, b->below / n,
        b->condition / n);
}

far_status claim_distance(reproduction *r, const char *what, double worst, int64_t seeds)
{
    return claim(r,
                 &(claim_of){.what = what,
                             .paper = "bounded",
                             .place = "Theorem 2; constants not known to us",
                             .tested = "at most sqrt(2 R(start) / lambda), true of any descent",
                             .seeds = seeds,
                             .by_construction = true,
                             .agrees = worst <= 1},
                 "at most %.2f of it", worst);
}
