/* Figure 3: what is predicted for proteins larger than those of the training rows. */
#include "ln_protein.h"
#include "registry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GRID = 161, INFINITE = 3, MOST_CURVES = LN_NETS + 1 + INFINITE, ACROSS = 4 };
static const double FRACTION = 0.2; /* of the rows, for each line of LOWESS */
static const int64_t ITERATIONS = 3;

/* One model: what it predicts for the test rows, and that as a curve over the surface. */
typedef struct curve {
    const char *name, *label; /* label: where it is clear how wide it is */
    int colour;
    double *f;
    double smooth[GRID], half[GRID];
} curve;

typedef struct study {
    ln_trial trial;
    curve truth, curves[MOST_CURVES];
    int count, trained; /* the first ones are trained networks and boosted trees */
    double *surface;    /* of the test rows */
    double grid[GRID];
} study;

/* ---- predictions --------------------------------------------------------------------------- */

static curve curve_of(const study *s, const char *name, int colour, const double *f)
{
    int64_t n = s->trial.points.count;
    curve c = {.name = name, .label = name, .colour = colour, .f = ROOM(n, double)};
    memcpy(c.f, f, (size_t)n * sizeof *f);
    return c;
}

static curve *add_curve(study *s, const char *name, int colour, const double *f)
{
    curve *c = &s->curves[s->count++];
    *c = curve_of(s, name, colour, f);
    return c;
}

static far_status add_network(study *s, int where)
{
    far_prediction *prediction = NULL;
    far_status st = ln_predict_by(&s->trial, where, false, &prediction);
    if (st == FAR_OK) {
        add_curve(s, LN_NAMES[where], where, far_prediction_mean(prediction).data);
    }
    far_prediction_destroy(prediction);
    return st;
}

static far_status add_infinite(study *s, int where)
{
    static const char *const NAMES[INFINITE] = {
        "infinite width, no norm", "infinite width, LN first", "infinite width, LN second"};
    far_prediction *prediction = NULL;
    far_status st = ln_predict_by(&s->trial, where, true, &prediction);
    if (st == FAR_OK) {
        add_curve(s, NAMES[where], where, far_prediction_mean(prediction).data)->label =
            LN_NAMES[where];
    }
    far_prediction_destroy(prediction);
    return st;
}

/* Where the library of XGBoost is not there, nor is its curve. */
static void add_boosted(study *s)
{
    const far_compare_run *run = far_comparison_run(s->trial.baselines, LN_PROTEIN_BOOSTED, 0);
    if (run && run->prediction) {
        add_curve(s, "XGBoost", LN_NETS, run->prediction);
    }
}

static far_status predict_all(study *s)
{
    far_status st;
    TRY(ln_trial_train(&s->trial));
    for (int k = 0; k < LN_NETS; k++) {
        TRY(add_network(s, k));
    }
    add_boosted(s);
    s->trained = s->count;
    for (int k = 0; k < INFINITE; k++) {
        TRY(add_infinite(s, k));
    }
done:
    return st;
}

/* ---- curves -------------------------------------------------------------------------------- */

static far_status take_surface(study *s)
{
    int64_t col;
    const far_compare_points *p = &s->trial.points;
    far_status st = far_frame_find(s->trial.r->ctx, s->trial.frame, "F1", &col);
    s->surface = ROOM(p->count, double);
    for (int64_t i = 0; st == FAR_OK && i < p->count; i++) {
        s->surface[i] = far_frame_numbers(s->trial.frame, col)[p->rows[i]];
    }
    return st;
}

/* Between the quantiles that leave ten rows at either end, where a curve is but a guess. */
static far_status make_grid(study *s)
{
    far_status st;
    double low, high, n = (double)s->trial.points.count;
    TRY(far_quantile(s->trial.r->ctx, s->surface, s->trial.points.count, 10 / n, &low));
    TRY(far_quantile(s->trial.r->ctx, s->surface, s->trial.points.count, 1 - 10 / n, &high));
    spread(low, high, s->grid, GRID);
done:
    return st;
}

static far_status smooth(study *s, curve *c)
{
    return far_lowess(s->trial.r->ctx, s->surface, c->f, s->trial.points.count, FRACTION,
                      ITERATIONS, s->grid, GRID, c->smooth, c->half);
}

static far_status smooth_all(study *s)
{
    far_status st;
    TRY(take_surface(s));
    TRY(make_grid(s));
    s->truth = curve_of(s, "truth", FAR_COLOUR_INK, s->trial.points.truth);
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
    const far_compare_points *p = &s->trial.points;
    int64_t count = 0;
    for (int64_t i = 0; i < p->count; i++) {
        if (p->out[i]) {
            out[count++] = c->f[i];
        }
    }
    return count;
}

/* Bins of one unit of RMSD over all that is predicted. */
enum { MOST_BINS = FAR_BINS_MOST };

typedef struct bins {
    double edges[MOST_BINS + 1];
    int64_t count;
} bins;

static bins choose_bins(const study *s)
{
    bins b = {.count = 0};
    double low = 0, high = 0;
    for (int64_t i = 0; i < s->trial.points.count; i++) {
        for (int k = 0; k < s->count && s->trial.points.out[i]; k++) {
            low = fmin(low, s->curves[k].f[i]);
            high = fmax(high, s->curves[k].f[i]);
        }
    }
    low = fmax(floor(low), -50);
    b.count = (int64_t)fmin(ceil(high) - low, MOST_BINS);
    spread(low, low + (double)b.count, b.edges, b.count + 1);
    return b;
}

static far_status draw_histogram(study *s, far_figure *figure, const bins *b, const curve *c)
{
    far_ctx *ctx = s->trial.r->ctx;
    double counts[MOST_BINS], *f = ROOM(s->trial.points.count, double);
    far_mark_opts mark;
    far_mark_opts_init(&mark);
    mark.colour = c->colour;
    if (c == &s->truth) {
        mark.label = c->name;
        mark.opacity = 0.25;
    }
    int64_t n = outside(s, c, f);
    far_status st = far_histogram_count(ctx, f, n, b->edges, b->count, counts);
    if (st == FAR_OK) {
        st = far_figure_histogram(ctx, figure, b->edges, counts, b->count, &mark);
    }
    free(f);
    return st;
}

static far_status histogram_panel(study *s, const bins *b, const curve *c, far_figure **out)
{
    far_status st;
    far_figure_opts opts;
    far_figure_opts_init(&opts);
    opts.title = c->name;
    TRY(far_figure_create(s->trial.r->ctx, &opts, out));
    TRY(draw_histogram(s, *out, b, &s->truth));
    TRY(draw_histogram(s, *out, b, c));
done:
    return st;
}

static far_status keep_histograms(study *s)
{
    far_status st;
    reproduction *r = s->trial.r;
    bins b = choose_bins(s);
    far_figure *panels[MOST_CURVES] = {NULL}, *grid = NULL;
    far_grid_opts opts;
    for (int i = 0; i < s->count; i++) {
        TRY(histogram_panel(s, &b, &s->curves[i], &panels[i]));
    }
    far_grid_opts_init(&opts);
    opts.x_label = "prediction of RMSD (angstrom)";
    opts.y_label = "proteins";
    opts.share_x = opts.share_y = FAR_SHARE_ALL;
    TRY(far_figure_grid(r->ctx, panels, (s->count + ACROSS - 1) / ACROSS, ACROSS, &opts, &grid));
    TRY(keep_figure(r, grid, "ln-fig3-histograms",
                    "Predictions for the proteins out of the domain, whose surface is larger than "
                    "20000 square angstroms; behind them the truth."));
done:
    for (int i = 0; i < MOST_CURVES; i++) {
        far_figure_destroy(panels[i]);
    }
    return st;
}

/* ---- LOWESS -------------------------------------------------------------------------------- */

static far_status draw_edge(study *s, far_figure *figure)
{
    far_mark_opts mark;
    far_mark_opts_init(&mark);
    mark.colour = FAR_COLOUR_INK;
    mark.label = "end of the domain";
    return far_figure_rule(s->trial.r->ctx, figure, FAR_VERTICAL, LN_PROTEIN_EDGE, &mark);
}

static far_status curves_panel(study *s, const char *title, int from, int to, far_figure **out)
{
    far_status st;
    reproduction *r = s->trial.r;
    far_figure_opts opts;
    far_figure_opts_init(&opts);
    opts.title = title;
    TRY(far_figure_create(r->ctx, &opts, out));
    TRY(draw_edge(s, *out));
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
                        "Predictions along the surface: LOWESS over a fifth of the test "
                        "rows at a time, with its 95% band.");
}

/* ---- claims -------------------------------------------------------------------------------- */

static double largest(const study *s, const curve *c)
{
    double most;
    ln_r2(&s->trial.points, c->f, true, &most);
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
    return claim(s->trial.r, what, "more without a layer norm", without > with,
                 "%.1f without, at most %.1f with", without, with);
}

static far_status claim_all(study *s)
{
    far_status st;
    TRY(claim_more(s, "largest |prediction| out of domain (angstrom)", largest));
    TRY(claim_more(s, "distance of LOWESS from the truth's, out of domain (angstrom)", distance));
done:
    return st;
}

far_status run_ln_fig3(reproduction *r)
{
    far_status st;
    study *s = ROOM(1, study);
    TRY(ln_protein_open(r, 1, &s->trial));
    s->trial.lender = "ln-table1";
    TRY(ln_trial_split(&s->trial, 0));
    TRY(predict_all(s));
    TRY(smooth_all(s));
    TRY(keep_histograms(s));
    TRY(keep_curves(s));
    TRY(claim_all(s));
    TRY(ln_protein_explain(&s->trial));
done:
    for (int i = 0; i < s->count; i++) {
        free(s->curves[i].f);
    }
    free(s->truth.f);
    free(s->surface);
    ln_trial_close(&s->trial);
    free(s);
    return st;
}
