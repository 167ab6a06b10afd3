/* Figure 4: errors out of the domain, by how much a face resembles those of the training rows. */
#include "ln_utkface.h"
#include "registry.h"

#include <math.h>
#include <stdlib.h>

enum { SEEDS = 20, QUICK_SEEDS = 4, GRID = 121, INFINITE = 3, CURVES = LN_NETS + INFINITE };
/* Of LOWESS. The sizes of errors are skewed, and large ones count: none is given less weight. */
static const double FRACTION = 2.0 / 3;
static const int64_t ITERATIONS = 0;

/* One model: the size of its error for each face out of the domain, mean over seeds, and that as a
 * curve over similarity. */
typedef struct curve {
    int where; /* the norm is */
    double *error, smooth[GRID], half[GRID];
} curve;

typedef struct study {
    ln_trial trial;
    int64_t faces; /* out of the domain */
    curve curves[CURVES];
    double *similarity, grid[GRID];
} study;

/* ---- errors -------------------------------------------------------------------------------- */

static void add_errors(const study *s, const far_prediction *prediction, double weight, curve *c)
{
    const far_compare_points *p = &s->trial.points;
    const double *f = prediction->mean.data;
    for (int64_t i = 0, k = 0; i < p->count; i++) {
        if (p->out[i]) {
            c->error[k++] += weight * fabs(f[i] - p->truth[i]);
        }
    }
}

static far_status add_model(study *s, bool infinite, double weight, curve *c)
{
    far_prediction *prediction = NULL;
    far_status st = ln_predict_by(&s->trial, c->where, infinite, &prediction);
    if (st == FAR_OK) {
        add_errors(s, prediction, weight, c);
    }
    far_prediction_destroy(prediction);
    return st;
}

static void make_curves(study *s)
{
    for (int k = 0; k < CURVES; k++) {
        s->curves[k].where = k < LN_NETS ? k : k - LN_NETS;
        s->curves[k].error = ROOM(s->faces, double);
    }
}

static far_status find_errors(study *s)
{
    far_status st;
    TRY(ln_trial_train(&s->trial));
    for (int64_t seed = 0; seed < s->trial.recipe.seeds; seed++) {
        TRY(ln_trial_split(&s->trial, seed));
        for (int k = 0; k < LN_NETS; k++) {
            TRY(add_model(s, false, 1 / (double)s->trial.recipe.seeds, &s->curves[k]));
        }
    }
    TRY(ln_trial_split(&s->trial, 0));
    for (int k = LN_NETS; k < CURVES; k++) {
        TRY(add_model(s, true, 1, &s->curves[k]));
    }
    TRY(ln_utkface_similarity(&s->trial, s->similarity));
done:
    return st;
}

/* ---- curves -------------------------------------------------------------------------------- */

static far_status smooth_all(study *s)
{
    far_status st = spread_within(s->trial.r, s->similarity, s->faces, 5, s->grid, GRID);
    for (int k = 0; k < CURVES && st == FAR_OK; k++) {
        curve *c = &s->curves[k];
        st = far_lowess(s->trial.r->ctx, s->similarity, c->error, s->faces, FRACTION, ITERATIONS,
                        s->grid, GRID, c->smooth, c->half);
    }
    return st;
}

static far_status curves_panel(study *s, const char *title, int from, int to, far_figure **out)
{
    far_status st;
    reproduction *r = s->trial.r;
    far_figure_opts opts = axes(title, NULL, NULL);
    opts.y_min = 0;
    TRY(far_figure_create(r->ctx, &opts, out));
    for (int k = from; k < to; k++) {
        const curve *c = &s->curves[k];
        TRY(draw_curve(r, *out, s->grid, c->smooth, c->half, GRID, c->where, LN_NAMES[c->where]));
    }
done:
    return st;
}

static far_status keep_curves(study *s)
{
    far_figure *panels[2] = {NULL};
    far_status st = curves_panel(s, "Trained networks", 0, LN_NETS, &panels[0]);
    st = st == FAR_OK ? curves_panel(s, "Infinite width", LN_NETS, CURVES, &panels[1]) : st;
    return ln_keep_pair(
        s->trial.r, st, panels, "mean cosine of a face's features with those of the training rows",
        "|error| of the age (years)", "ln-fig4",
        "Errors out of the domain by similarity to the training rows: LOWESS over two thirds of "
        "the faces at a time, with its 95% band. Where curves rise to the right, faces that "
        "resemble the training rows more have larger errors: cosines of these features tell little "
        "of how far a face is from the domain.");
}

/* ---- claims -------------------------------------------------------------------------------- */

/* Over all of the curve; its ends are where faces resemble the training rows least and most. */
static double mean_error(const curve *c)
{
    double sum = 0;
    for (int i = 0; i < GRID; i++) {
        sum += c->smooth[i] / GRID;
    }
    return sum;
}

static far_status claim_errors(study *s)
{
    double without = mean_error(&s->curves[LN_NONE]), with = 0;
    for (int k = LN_FIRST; k < LN_NETS; k++) {
        with = fmax(with, mean_error(&s->curves[k]));
    }
    return claim(s->trial.r,
                 &(claim_of){.what = "|error| out of domain (years)",
                             .paper = "more without a layer norm",
                             .place = "Figure 4",
                             .tested = "the mean of the curve is above those of three placements",
                             .seeds = s->trial.recipe.seeds,
                             .agrees = without > with},
                 "%.2f without, at most %.2f with", without, with);
}

/* As in Figure 3, over faces: their errors are means over seeds. */
static far_status claim_trend(study *s)
{
    double without;
    const curve *c = &s->curves[LN_NONE];
    far_status st =
        far_correlation(s->trial.r->ctx, FAR_SPEARMAN, s->similarity, c->error, s->faces, &without);
    return st == FAR_OK
               ? claim(s->trial.r,
                       &(claim_of){.what = "|error| of the standard network along the similarity",
                                   .paper = "grows as the similarity falls",
                                   .place = "Figure 4",
                                   .tested = "Spearman's correlation -2 / sqrt(faces) or less",
                                   .seeds = s->trial.recipe.seeds,
                                   .agrees = without < -2 / sqrt((double)s->faces)},
                       "%.3f, %lld faces", without, (long long)s->faces)
               : st;
}

static void study_free(study *s)
{
    for (int k = 0; k < CURVES; k++) {
        free(s->curves[k].error);
    }
    free(s->similarity);
    ln_trial_close(&s->trial);
    free(s);
}

far_status run_ln_fig4(reproduction *r)
{
    far_status st;
    study *s = ROOM(1, study);
    TRY(ln_utkface_open(r, seeds_of(r, QUICK_SEEDS, SEEDS), &s->trial));
    s->trial.lender = "ln-table2";
    s->faces = far_comparison_describe(s->trial.baselines).rows_out;
    s->similarity = ROOM(s->faces, double);
    make_curves(s);
    TRY(find_errors(s));
    TRY(smooth_all(s));
    TRY(keep_curves(s));
    TRY(claim_errors(s));
    TRY(claim_trend(s));
    TRY(ln_utkface_explain(&s->trial));
done:
    study_free(s);
    return st;
}
