/* Figure 3: what is predicted for proteins larger than those of the training rows. */
#include "ln_protein.h"
#include "registry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEEDS = 10, QUICK_SEEDS = 1 };
enum { GRID = 161, INFINITE = 3, MOST_CURVES = LN_NETS + 1 + INFINITE, ACROSS = 4 };
static const double FRACTION = 0.2; /* of the rows, for each line of LOWESS */
static const int64_t ITERATIONS = 3;

/* One model: what it predicts for the test rows of all its seeds, the first seed first, and that
 * as a curve over the surface. */
typedef struct curve {
    const char *name, *label; /* label: where it is clear how wide it is */
    int colour;
    int64_t count; /* of f */
    double *f;
    double smooth[GRID], half[GRID];
} curve;

typedef struct study {
    ln_trial trial;
    curve truth, curves[MOST_CURVES];
    int count, trained; /* the first ones are trained networks and boosted trees */
    double *surface;    /* of the test rows, as the truth has them */
    unsigned char *out; /* whether they are out of the domain */
    double grid[GRID];
} study;

/* ---- predictions --------------------------------------------------------------------------- */

static void name_curve(curve *c, const char *name, int colour)
{
    c->name = c->label = name;
    c->colour = colour;
}

/* Behind what is there, for the test rows of the present split. */
static void add_rows(const study *s, curve *c, const double *f)
{
    int64_t n = s->trial.points.count;
    c->f = room_for_more(c->f, c->count, n, sizeof *c->f);
    memcpy(c->f + c->count, f, (size_t)n * sizeof *f);
    c->count += n;
}

static far_status add_model(study *s, int where, bool infinite, curve *c)
{
    far_prediction *prediction = NULL;
    far_status st = ln_predict_by(&s->trial, where, infinite, &prediction);
    if (st == FAR_OK) {
        add_rows(s, c, prediction->mean.data);
    }
    far_prediction_destroy(prediction);
    return st;
}

/* Where the library of XGBoost is not there, nor is its curve. */
static void add_boosted(study *s)
{
    const far_compare_run *run =
        &far_comparison_row(s->trial.baselines, LN_PROTEIN_BOOSTED)->runs[s->trial.seed];
    if (run && run->prediction) {
        add_rows(s, &s->curves[LN_NETS], run->prediction);
    }
}

static far_status add_truth(study *s)
{
    int64_t col, before = s->truth.count;
    const far_compare_points *p = &s->trial.points;
    far_status st = far_frame_find(s->trial.r->ctx, s->trial.frame, "F1", &col);
    s->surface = room_for_more(s->surface, before, p->count, sizeof *s->surface);
    s->out = room_for_more(s->out, before, p->count, sizeof *s->out);
    for (int64_t i = 0; st == FAR_OK && i < p->count; i++) {
        s->surface[before + i] = far_frame_column(s->trial.frame, col).numbers[p->rows[i]];
        s->out[before + i] = p->out[i];
    }
    add_rows(s, &s->truth, p->truth);
    return st;
}

static far_status predict_seed(study *s)
{
    far_status st;
    TRY(add_truth(s));
    for (int k = 0; k < LN_NETS; k++) {
        TRY(add_model(s, k, false, &s->curves[k]));
    }
    add_boosted(s);
done:
    return st;
}

static void name_curves(study *s)
{
    static const char *const NAMES[INFINITE] = {
        "infinite width, no norm", "infinite width, LN first", "infinite width, LN second"};
    name_curve(&s->truth, "truth", FAR_COLOUR_INK);
    for (int k = 0; k < LN_NETS; k++) {
        name_curve(&s->curves[k], LN_NAMES[k], k);
    }
    s->trained = LN_NETS + (s->curves[LN_NETS].count > 0);
    if (s->trained > LN_NETS) {
        name_curve(&s->curves[LN_NETS], "XGBoost", LN_NETS);
    }
    s->count = s->trained + INFINITE;
    for (int k = 0; k < INFINITE; k++) {
        name_curve(&s->curves[s->trained + k], NAMES[k], k);
        s->curves[s->trained + k].label = LN_NAMES[k];
    }
}

/* Infinite width: of the first split alone. */
static far_status predict_all(study *s)
{
    far_status st;
    TRY(ln_trial_train(&s->trial));
    for (int64_t seed = 0; seed < s->trial.recipe.seeds; seed++) {
        TRY(ln_trial_split(&s->trial, seed));
        TRY(predict_seed(s));
    }
    name_curves(s);
    TRY(ln_trial_split(&s->trial, 0));
    for (int k = 0; k < INFINITE; k++) {
        TRY(add_model(s, k, true, &s->curves[s->trained + k]));
    }
done:
    return st;
}

/* ---- curves -------------------------------------------------------------------------------- */

static far_status smooth(study *s, curve *c)
{
    return far_lowess(s->trial.r->ctx, s->surface, c->f, c->count, FRACTION, ITERATIONS, s->grid,
                      GRID, c->smooth, c->half);
}

static far_status smooth_all(study *s)
{
    far_status st;
    TRY(spread_within(s->trial.r, s->surface, s->trial.points.count, 10, s->grid, GRID));
    TRY(smooth(s, &s->truth));
    for (int i = 0; i < s->count; i++) {
        TRY(smooth(s, &s->curves[i]));
    }
done:
    return st;
}

/* ---- histograms ---------------------------------------------------------------------------- */

/* The predictions out of the domain, packed; returns how many. */
static int64_t outside(const study *s, const curve *c, double *out)
{
    int64_t count = 0;
    for (int64_t i = 0; i < c->count; i++) {
        if (s->out[i]) {
            out[count++] = c->f[i];
        }
    }
    return count;
}

/* Bins of one unit of RMSD over all that is predicted. */
enum { MOST_BINS = 200 };

typedef struct bins {
    double edges[MOST_BINS + 1];
    int64_t count;
} bins;

static bins choose_bins(const study *s)
{
    bins b = {.count = 0};
    double low = 0, high = 0;
    for (int k = 0; k < s->count; k++) {
        for (int64_t i = 0; i < s->curves[k].count; i++) {
            low = s->out[i] ? fmin(low, s->curves[k].f[i]) : low;
            high = s->out[i] ? fmax(high, s->curves[k].f[i]) : high;
        }
    }
    low = fmax(floor(low), -50);
    b.count = (int64_t)fmin(ceil(high) - low, MOST_BINS);
    spread(low, low + (double)b.count, b.edges, b.count + 1);
    return b;
}

/* The last bin has its upper border; values beyond the borders are not counted. */
static void count_in_bins(const double *values, int64_t n, const bins *b, double *counts)
{
    for (int64_t k = 0; k < b->count; k++) {
        bool last = k == b->count - 1;
        counts[k] = 0;
        for (int64_t i = 0; i < n; i++) {
            double v = values[i];
            counts[k] +=
                v >= b->edges[k] && (v < b->edges[k + 1] || (last && v == b->edges[k + 1]));
        }
    }
}

static far_status draw_histogram(study *s, far_figure *figure, const bins *b, const curve *c)
{
    far_ctx *ctx = s->trial.r->ctx;
    double counts[MOST_BINS], *f = ROOM(c->count, double);
    far_mark_opts mark = mark_of(c->colour, NULL);
    if (c == &s->truth) {
        mark.label = c->name;
        mark.opacity = 0.25;
    }
    int64_t n = outside(s, c, f);
    double seeds = (double)c->count / (double)s->trial.points.count;
    count_in_bins(f, n, b, counts);
    for (int64_t i = 0; i < b->count; i++) {
        counts[i] /= seeds;
    }
    far_status st = far_figure_histogram(ctx, figure, b->edges, counts, b->count, &mark);
    free(f);
    return st;
}

static far_status histogram_panel(study *s, const bins *b, const curve *c, far_figure **out)
{
    far_status st;
    far_figure_opts opts = axes(c->name, NULL, NULL);
    TRY(far_figure_create(s->trial.r->ctx, &opts, out));
    TRY(draw_histogram(s, *out, b, &s->truth));
    TRY(draw_histogram(s, *out, b, c));
done:
    return st;
}

static far_status keep_histograms(study *s)
{
    far_status st = FAR_OK;
    bins b = choose_bins(s);
    far_figure *panels[MOST_CURVES] = {NULL};
    far_grid_opts opts = grid_of(NAN, NAN);
    opts.x_label = "prediction of RMSD (angstrom)";
    opts.y_label = "proteins, mean over seeds";
    opts.share_x = opts.share_y = FAR_SHARE_ALL;
    for (int i = 0; i < s->count && st == FAR_OK; i++) {
        st = histogram_panel(s, &b, &s->curves[i], &panels[i]);
    }
    return keep_grid(s->trial.r, panels, (s->count + ACROSS - 1) / ACROSS, ACROSS, &opts,
                     "ln-fig3-histograms",
                     "Predictions for the proteins out of the domain, whose surface is larger than "
                     "20000 square angstroms; behind them the truth.",
                     st);
}

/* ---- LOWESS -------------------------------------------------------------------------------- */

static far_status curves_panel(study *s, const char *title, int from, int to, far_figure **out)
{
    far_status st;
    reproduction *r = s->trial.r;
    far_figure_opts opts = axes(title, NULL, NULL);
    TRY(far_figure_create(r->ctx, &opts, out));
    TRY(draw_rule(r, *out, FAR_VERTICAL, LN_PROTEIN_EDGE, "end of the domain"));
    TRY(draw_curve(r, *out, s->grid, s->truth.smooth, s->truth.half, GRID, FAR_COLOUR_INK,
                   s->truth.name));
    for (int i = from; i < to; i++) {
        const curve *c = &s->curves[i];
        TRY(draw_curve(r, *out, s->grid, c->smooth, c->half, GRID, c->colour, c->label));
    }
done:
    return st;
}

static far_status keep_curves(study *s)
{
    far_figure *panels[2] = {NULL};
    far_status st = curves_panel(s, "Trained networks and trees", 0, s->trained, &panels[0]);
    st = st == FAR_OK ? curves_panel(s, "Infinite width", s->trained, s->count, &panels[1]) : st;
    return ln_keep_pair(s->trial.r, st, panels, "surface of the protein, F1 (square angstrom)",
                        "RMSD (angstrom)", "ln-fig3-lowess",
                        "Predictions along the surface: LOWESS over a fifth of the test rows of "
                        "all seeds at a time, with its 95% band (of the pooled rows, as if they "
                        "were independent); infinite width is of one split. Curves may hide "
                        "each other. Just beyond the domain the standard network may track the "
                        "truth better than they do: it is farther on that it runs away, and the "
                        "claims are of all that lies beyond.");
}

/* The part of what lies beyond the domain where the standard network's curve is nearer to the
 * truth's than every curve with a norm is, and the last surface at which it is. */
static double part_nearer(const study *s, double *last)
{
    double count = 0, nearer = 0;
    *last = LN_PROTEIN_EDGE;
    for (int i = 0; i < GRID; i++) {
        if (s->grid[i] < LN_PROTEIN_EDGE) {
            continue;
        }
        double with = INFINITY;
        for (int k = LN_FIRST; k < LN_NETS; k++) {
            with = fmin(with, fabs(s->curves[k].smooth[i] - s->truth.smooth[i]));
        }
        bool better = fabs(s->curves[LN_NONE].smooth[i] - s->truth.smooth[i]) < with;
        count++;
        nearer += better;
        *last = better ? s->grid[i] : *last;
    }
    return nearer / count;
}

static far_status keep_nearer(study *s)
{
    double last, part = part_nearer(s, &last);
    return keep_text(
        s->trial.r,
        "The standard network's curve is nearer to the truth's than those of all "
        "networks with a norm over %.0f%% of the surfaces drawn beyond the domain, the "
        "last of them at %.0f; the claims are of all that lies beyond.",
        100 * part, last);
}

/* ---- claims -------------------------------------------------------------------------------- */

static double largest(const study *s, const curve *c)
{
    double most = 0;
    for (int64_t i = 0; i < c->count; i++) {
        most = s->out[i] ? fmax(most, fabs(c->f[i])) : most;
    }
    return most;
}

/* Root mean square of what lies between a curve and that of the truth, out of the domain. */
static double distance(const study *s, const curve *c)
{
    double sum = 0, count = 0;
    for (int i = 0; i < GRID; i++) {
        if (s->grid[i] >= LN_PROTEIN_EDGE) {
            sum += pow(c->smooth[i] - s->truth.smooth[i], 2);
            count++;
        }
    }
    return sqrt(sum / count);
}

typedef double (*measure_fn)(const study *s, const curve *c);

/* That the standard network has more of it than any with a norm. */
static far_status claim_more(study *s, const char *what, measure_fn measure)
{
    double without = measure(s, &s->curves[LN_NONE]), with = 0;
    for (int k = LN_FIRST; k < LN_NETS; k++) {
        with = fmax(with, measure(s, &s->curves[k]));
    }
    return claim(s->trial.r,
                 &(claim_of){.what = what,
                             .paper = "more without a layer norm",
                             .place = "Figure 3",
                             .tested = "above the largest of three placements",
                             .seeds = s->trial.recipe.seeds,
                             .agrees = without > with},
                 "%.1f without, at most %.1f with", without, with);
}

/* Spearman's correlation of surface and |error| over the rows out of the domain. */
static far_status trend_of_rows(const study *s, const curve *c, double *out)
{
    double *surface = ROOM(c->count, double), *error = ROOM(c->count, double);
    int64_t n = 0;
    for (int64_t i = 0; i < c->count; i++) {
        if (s->out[i]) {
            surface[n] = s->surface[i];
            error[n++] = fabs(c->f[i] - s->truth.f[i]);
        }
    }
    far_status st = far_correlation(s->trial.r->ctx, FAR_SPEARMAN, surface, error, n, out);
    free(surface);
    free(error);
    return st;
}

/* What a curve adds to its distance from the truth's, for each 10000 of the surface out of the
 * domain: the slope of least squares. */
static double slope_of_distance(const study *s, const curve *c)
{
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (int i = 0; i < GRID; i++) {
        if (s->grid[i] >= LN_PROTEIN_EDGE) {
            double at = s->grid[i] / 1e4, off = fabs(c->smooth[i] - s->truth.smooth[i]);
            n++;
            x += at;
            y += off;
            xx += at * at;
            xy += at * off;
        }
    }
    return (n * xy - x * y) / (n * xx - x * x);
}

/* Of curves, as the figure has them: single proteins scatter too much to show it. */
static far_status claim_trend(study *s)
{
    double rows, without = slope_of_distance(s, &s->curves[LN_NONE]), with = -INFINITY;
    far_status st = trend_of_rows(s, &s->curves[LN_NONE], &rows);
    for (int k = LN_FIRST; k < LN_NETS; k++) {
        with = fmax(with, slope_of_distance(s, &s->curves[k]));
    }
    return st == FAR_OK
               ? claim(s->trial.r,
                       &(claim_of){.what = "error of the standard network along the surface, out "
                                           "of domain",
                                   .paper = "grows with the surface",
                                   .place = "Figure 3",
                                   .tested = "the distance of LOWESS from the truth's grows, and "
                                             "faster than that of any network with a norm",
                                   .seeds = s->trial.recipe.seeds,
                                   .late = true,
                                   .agrees = without > 0 && without > with},
                       "%+.2f angstrom for each 10000 of surface, at most %+.2f with a norm; over "
                       "single proteins Spearman's correlation is %.3f",
                       without, with, rows)
               : st;
}

static far_status claim_all(study *s)
{
    far_status st;
    TRY(claim_more(s, "largest |prediction| out of domain (angstrom)", largest));
    TRY(claim_more(s, "distance of LOWESS from the truth's, out of domain (angstrom)", distance));
    TRY(claim_trend(s));
done:
    return st;
}

far_status run_ln_fig3(reproduction *r)
{
    far_status st;
    study *s = ROOM(1, study);
    TRY(ln_protein_open(r, seeds_of(r, QUICK_SEEDS, SEEDS), &s->trial));
    s->trial.lender = "ln-table1";
    TRY(predict_all(s));
    TRY(smooth_all(s));
    TRY(keep_histograms(s));
    TRY(keep_curves(s));
    TRY(keep_nearer(s));
    TRY(claim_all(s));
    TRY(ln_protein_explain(&s->trial));
done:
    for (int i = 0; i < MOST_CURVES; i++) {
        free(s->curves[i].f);
    }
    FREE(s->truth.f, s->surface, s->out);
    ln_trial_close(&s->trial);
    free(s);
    return st;
}
