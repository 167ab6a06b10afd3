/* Linearization explains fine-tuning: held near its start a network is its linearisation, and the
 * condition number of the tangent kernel of the trained layers says how training goes. */
#include "linearization.h"
#include "registry.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_SWEPT = 5 };

typedef struct plan {
    int64_t seeds, epochs;
    int64_t swept; /* lengths of pretraining, with so many seeds each */
    int64_t sweep[MOST_SWEPT], sweep_seeds;
} plan;

static plan plan_for(const reproduction *r)
{
    plan full = {seeds_of(r, 0, 10), epochs_of(r, 0, 10), 5, {2, 5, 10, 20, 40}, 5};
    plan quick = {seeds_of(r, 3, 0), epochs_of(r, 10, 0), 2, {5, 40}, 2};
    return r->quick ? quick : full;
}

/* ---- many seeds ---------------------------------------------------------------------------- */

typedef double (*of_tuned)(const tuned *t);

NUMBER_OF(gap_of, tuned, gap)
NUMBER_OF(distance_of, tuned, distance)
NUMBER_OF(bound_of, tuned, bound)
NUMBER_OF(accuracy_of, tuned, accuracy)
NUMBER_OF(linear_of, tuned, accuracy_linear)

static bool settled(const tuned *t)
{
    return t->slope <= TUNE_SETTLED;
}

/* Mean and half the 95% interval at each lambda. */
static far_status means(reproduction *r, const study *s, int64_t seeds, of_tuned of, double *mean,
                        double *half)
{
    double *values = ROOM(seeds, double);
    far_status st = FAR_OK;
    for (int i = 0; i < TUNE_RIDGES && st == FAR_OK; i++) {
        for (int64_t k = 0; k < seeds; k++) {
            values[k] = of(&s[k].tuned[i]);
        }
        st = far_mean_interval(r->ctx, values, seeds, &mean[i], &half[i]);
    }
    free(values);
    return st;
}

typedef struct range {
    double mean, least, most;
} range;

typedef double (*of_study)(const study *s);

NUMBER_OF(condition_all, study, condition.all)
NUMBER_OF(condition_with, study, condition.with_first)
NUMBER_OF(condition_without, study, condition.without_first)
NUMBER_OF(residual_all, study, residual.all)
NUMBER_OF(residual_with, study, residual.with_first)
NUMBER_OF(residual_without, study, residual.without_first)
NUMBER_OF(tests_all, study, condition_accuracy)
NUMBER_OF(pretrained_of, study, pretrained)
NUMBER_OF(start_of, study, start_accuracy)

static range range_of(const study *s, int64_t seeds, of_study of)
{
    range out = {0, INFINITY, -INFINITY};
    for (int64_t k = 0; k < seeds; k++) {
        double value = of(&s[k]);
        out.mean += value / (double)seeds;
        out.least = fmin(out.least, value);
        out.most = fmax(out.most, value);
    }
    return out;
}

/* ---- claims -------------------------------------------------------------------------------- */

enum { AT_100 = 4, AT_3000 = 7 }; /* in TUNE_LAMBDAS */

static far_status claim_gap(reproduction *r, const study *s, int64_t seeds)
{
    int64_t smaller = 0;
    double mean[TUNE_RIDGES], half[TUNE_RIDGES];
    far_status st = means(r, s, seeds, gap_of, mean, half);
    for (int64_t k = 0; k < seeds; k++) {
        smaller += s[k].tuned[AT_3000].gap < s[k].tuned[AT_100].gap;
    }
    return st != FAR_OK
               ? st
               : claim(r,
                       &(claim_of){.what = "gap to the linearised network, lambda 3000 against 100",
                                   .paper = "bounded by a function of lambda",
                                   .place = "Theorem 3; constants not known to us",
                                   .tested = "smaller on every seed",
                                   .seeds = seeds,
                                   .agrees = smaller == seeds},
                       "%.3f against %.3f, smaller on %lld of %lld seeds", mean[AT_3000],
                       mean[AT_100], (long long)smaller, (long long)seeds);
}

static double worst_distance(const study *s, int64_t seeds)
{
    double worst = 0;
    for (int64_t k = 0; k < seeds; k++) {
        for (int i = 0; i < TUNE_RIDGES; i++) {
            worst = fmax(worst, s[k].tuned[i].distance / s[k].tuned[i].bound);
        }
    }
    return worst;
}

static far_status claim_condition(reproduction *r, const study *s, int64_t seeds)
{
    range all = range_of(s, seeds, condition_all), with = range_of(s, seeds, condition_with);
    range without = range_of(s, seeds, condition_without);
    return claim(
        r,
        &(claim_of){.what = "correlation of log cond(K_S + 1e-4) and log training loss, "
                            "15 subsets",
                    .paper = "the condition number at the start predicts the training loss",
                    .place = UNPLACED,
                    .tested = "above 0.9 on every seed",
                    .seeds = seeds,
                    .agrees = all.least > 0.9},
        "%.3f to %.3f over seeds (with layer 1 alone %.2f to %.2f, without it %.2f to %.2f)",
        all.least, all.most, with.least, with.most, without.least, without.most);
}

static far_status claim_rule(reproduction *r, const study *s, int64_t seeds)
{
    double rise = 0;
    for (int64_t k = 0; k < seeds; k++) {
        rise = fmax(rise, s[k].rise);
    }
    return claim(r,
                 &(claim_of){.what = "training loss under the selective rule, lambda 10, 100, 1000",
                             .paper = "does not rise",
                             .place = "Theorem 1",
                             .seeds = seeds,
                             .agrees = rise <= 0},
                 rise <= 0 ? "never rises" : "rises by up to %.2g of the first", rise);
}

static far_status claim_all(reproduction *r, const study *s, int64_t seeds)
{
    layer_bounds bounds = {0};
    far_status st;
    for (int64_t k = 0; k < seeds; k++) {
        add_layer_bounds(&bounds, &s[k].bounds);
    }
    TRY(claim_gap(r, s, seeds));
    TRY(claim_distance(r, "|p - start|, for every lambda and seed", worst_distance(s, seeds),
                       seeds));
    TRY(claim_condition(r, s, seeds));
    TRY(claim_weyl(r, "eigenvalues when a layer is added, all subsets and layers", &bounds, seeds));
    TRY(claim_choice(r,
                     "a layer is added: bounds from its largest and least eigenvalue alone, all "
                     "subsets and layers",
                     &bounds, seeds));
    TRY(claim_rule(r, s, seeds));
done:
    return st;
}

/* ---- figures: lambda ----------------------------------------------------------------------- */

static far_status open_panel(reproduction *r, const char *title, const char *x, const char *y,
                             int x_scale, int y_scale, far_figure **out)
{
    far_figure_opts o = axes(title, x, y);
    o.x_scale = x_scale;
    o.y_scale = y_scale;
    return far_figure_create(r->ctx, &o, out);
}

static far_status draw_points(reproduction *r, far_figure *f, const double *x, const double *y,
                              int64_t n, int colour, double size, const char *label)
{
    far_mark_opts mark = mark_of(colour, label);
    mark.width = size;
    return n > 0 ? far_figure_points(r->ctx, f, x, y, n, &mark) : FAR_OK;
}

/* Every seed as a point; those that training has not brought to the minimum stand out. */
static far_status draw_seeds(reproduction *r, far_figure *f, const study *s, int64_t seeds,
                             of_tuned of, bool done_ones)
{
    double *x = ROOM(seeds * TUNE_RIDGES, double), *y = ROOM(seeds * TUNE_RIDGES, double);
    int64_t count = 0;
    for (int64_t k = 0; k < seeds; k++) {
        for (int i = 0; i < TUNE_RIDGES; i++) {
            if (settled(&s[k].tuned[i]) == done_ones) {
                x[count] = TUNE_LAMBDAS[i];
                y[count++] = of(&s[k].tuned[i]);
            }
        }
    }
    far_status st = draw_points(r, f, x, y, count, done_ones ? 0 : 3, done_ones ? 4 : 7,
                                done_ones ? "a seed" : "a seed, not converged");
    free(x);
    free(y);
    return st;
}

static far_status draw_measured(reproduction *r, far_figure *f, const study *s, int64_t seeds,
                                of_tuned of)
{
    double mean[TUNE_RIDGES], half[TUNE_RIDGES];
    far_status st;
    TRY(means(r, s, seeds, of, mean, half));
    TRY(draw_curve(r, f, TUNE_LAMBDAS, mean, NULL, TUNE_RIDGES, 0, "network"));
    TRY(draw_seeds(r, f, s, seeds, of, true));
    TRY(draw_seeds(r, f, s, seeds, of, false));
done:
    return st;
}

static far_status draw_distances(reproduction *r, far_figure *f, const study *s, int64_t seeds)
{
    double mean[TUNE_RIDGES], half[TUNE_RIDGES];
    far_status st;
    TRY(draw_measured(r, f, s, seeds, distance_of));
    TRY(means(r, s, seeds, bound_of, mean, half));
    TRY(draw_dashed(r, f, TUNE_LAMBDAS, mean, TUNE_RIDGES, FAR_COLOUR_INK, "bound"));
done:
    return st;
}

static far_status draw_accuracies(reproduction *r, far_figure *f, const study *s, int64_t seeds)
{
    double mean[TUNE_RIDGES], half[TUNE_RIDGES];
    far_status st;
    TRY(means(r, s, seeds, accuracy_of, mean, half));
    TRY(draw_curve(r, f, TUNE_LAMBDAS, mean, half, TUNE_RIDGES, 0, "network"));
    TRY(means(r, s, seeds, linear_of, mean, half));
    TRY(draw_curve(r, f, TUNE_LAMBDAS, mean, half, TUNE_RIDGES, 1, "linearised"));
    TRY(draw_rule(r, f, FAR_HORIZONTAL, range_of(s, seeds, start_of).mean, "before"));
done:
    return st;
}

static far_status keep_lambdas(reproduction *r, const study *s, int64_t seeds)
{
    far_figure *panels[3] = {NULL};
    far_grid_opts o = grid_of(960, 380);
    far_status st;
    o.x_label = "lambda";
    TRY(open_panel(r, "|f - f_{lin}| / |f_{lin} - f_{start}|, tests", NULL, NULL, FAR_SCALE_LOG,
                   FAR_SCALE_LOG, &panels[0]));
    TRY(open_panel(r, "|p - start|", NULL, NULL, FAR_SCALE_LOG, FAR_SCALE_LOG, &panels[1]));
    TRY(open_panel(r, "accuracy, tests", NULL, NULL, FAR_SCALE_LOG, FAR_SCALE_LINEAR, &panels[2]));
    TRY(draw_measured(r, panels[0], s, seeds, gap_of));
    TRY(draw_distances(r, panels[1], s, seeds));
    TRY(draw_accuracies(r, panels[2], s, seeds));
done:
    return keep_grid(r, panels, 1, 3, &o, "linearization-gap",
                     "The stronger the pull to the start, the nearer the network is to its "
                     "linearisation, and the less it learns. Bands are 95% intervals over seeds.",
                     st);
}

/* ---- figures: layers ----------------------------------------------------------------------- */

typedef double (*of_subset)(const subset *s);

NUMBER_OF(subset_condition, subset, condition)
NUMBER_OF(subset_residual, subset, residual)

enum { LAST_ALONE = 1 << (TUNE_LAYERS - 1) };

/* 0: trains the first layer; 1: does not; 2: nothing but the last. */
static int group_of(const subset *s)
{
    return trains_first(s) ? 0 : s->mask == LAST_ALONE ? 2 : 1;
}

static far_status draw_group(reproduction *r, far_figure *f, const study *s, int64_t seeds,
                             of_subset of, int group)
{
    static const char *const LABELS[] = {"layer 1 is trained", "it is not", "the last layer alone"};
    static const int COLOURS[] = {0, 1, 2};
    double *x = ROOM(seeds * TUNE_SUBSETS, double), *y = ROOM(seeds * TUNE_SUBSETS, double);
    int64_t count = 0;
    for (int64_t k = 0; k < seeds; k++) {
        for (int i = 0; i < TUNE_SUBSETS; i++) {
            if (group_of(&s[k].subsets[i]) == group) {
                x[count] = of(&s[k].subsets[i]);
                y[count++] = s[k].subsets[i].loss;
            }
        }
    }
    far_status st = draw_points(r, f, x, y, count, COLOURS[group], 6, LABELS[group]);
    free(x);
    free(y);
    return st;
}

static far_status keep_layers(reproduction *r, const study *s, int64_t seeds)
{
    static const of_subset OF[] = {subset_condition, subset_residual};
    static const char *const X[] = {"cond(K_{S} + 10^{-4})", "ridge residual, ridge 10^{-4}"};
    far_figure *panels[2] = {NULL};
    far_grid_opts o = grid_of(820, 400);
    far_status st = FAR_OK;
    o.y_label = "training loss";
    o.share_y = FAR_SHARE_LINE;
    for (int i = 0; i < 2; i++) {
        TRY(open_panel(r, NULL, X[i], NULL, FAR_SCALE_LOG, FAR_SCALE_LOG, &panels[i]));
        for (int group = 0; group < 3; group++) {
            TRY(draw_group(r, panels[i], s, seeds, OF[i], group));
        }
    }
done:
    return keep_grid(r, panels, 1, 2, &o, "linearization-layers",
                     "Loss after 300 steps of descent on a subset S of the layers, against what "
                     "the tangent kernel of these layers says before training. A point for each of "
                     "15 subsets and each seed.",
                     st);
}

/* ---- figures: spectra ---------------------------------------------------------------------- */

/* What is 0 to rounding is left out. */
static far_status draw_spectrum(reproduction *r, far_figure *f, const subset *s, int colour,
                                const char *label)
{
    double place[TUNE_ROWS], values[TUNE_ROWS];
    spread(1, TUNE_ROWS, place, TUNE_ROWS);
    for (int i = 0; i < TUNE_ROWS; i++) {
        values[i] = s->spectrum[i] > 1e-12 * s->spectrum[0] ? s->spectrum[i] : NAN;
    }
    return draw_curve(r, f, place, values, NULL, TUNE_ROWS, colour, label);
}

static far_status draw_layer_spectra(reproduction *r, far_figure *f, const study *s)
{
    static const char *const LABELS[] = {"layer 1", "layer 2", "layer 3", "layer 4"};
    far_status st = FAR_OK;
    for (int l = 0; l < TUNE_LAYERS && st == FAR_OK; l++) {
        st = draw_spectrum(r, f, &s->subsets[(1u << l) - 1], l, LABELS[l]);
    }
    return st == FAR_OK ? draw_spectrum(r, f, &s->subsets[TUNE_SUBSETS - 1], 4, "all layers") : st;
}

/* All layers between the bounds that those without one of them allow. */
static far_status draw_weyl(reproduction *r, far_figure *f, const study *s, int layer)
{
    const subset *all = &s->subsets[TUNE_SUBSETS - 1];
    const subset *without = &s->subsets[(TUNE_SUBSETS & ~(1u << layer)) - 1];
    const double *added = s->subsets[(1u << layer) - 1].spectrum;
    double place[TUNE_ROWS], low[TUNE_ROWS], high[TUNE_ROWS];
    far_mark_opts mark = mark_of(5, "Weyl's interval");
    far_status st;
    spread(1, TUNE_ROWS, place, TUNE_ROWS);
    TRY(far_weyl_intervals(r->ctx, without->spectrum, TUNE_ROWS, added[TUNE_ROWS - 1], added[0],
                           low, high));
    TRY(far_figure_band(r->ctx, f, place, low, high, TUNE_ROWS, &mark));
    TRY(draw_dashed(r, f, place, without->spectrum, TUNE_ROWS, 5, "without that layer"));
    TRY(draw_spectrum(r, f, all, 4, "all layers"));
done:
    return st;
}

static far_status keep_spectra(reproduction *r, const study *s)
{
    static const char *const TITLES[] = {"layer by layer", "adding layer 1 to 2, 3, 4",
                                         "adding layer 4 to 1, 2, 3"};
    far_figure *panels[3] = {NULL};
    far_grid_opts o = grid_of(960, 400);
    far_figure_opts f = axes(NULL, NULL, NULL);
    far_status st = FAR_OK;
    o.x_label = "number of the eigenvalue";
    o.y_label = "eigenvalue of K";
    o.share_y = FAR_SHARE_LINE;
    f.y_scale = FAR_SCALE_LOG;
    f.y_min = 1e-4;
    f.y_max = 1e4;
    for (int i = 0; i < 3; i++) {
        f.title = TITLES[i];
        TRY(far_figure_create(r->ctx, &f, &panels[i]));
    }
    TRY(draw_layer_spectra(r, panels[0], s));
    TRY(draw_weyl(r, panels[1], s, 0));
    TRY(draw_weyl(r, panels[2], s, TUNE_LAYERS - 1));
done:
    return keep_grid(r, panels, 1, 3, &o, "linearization-spectra",
                     "Tangent kernels of the layers at the start, 100 points, one seed. The last "
                     "layer's has rank 33: its width and the bias.",
                     st);
}

/* ---- how long it was pretrained ------------------------------------------------------------ */

static far_status draw_sweep(reproduction *r, const plan *p, const study *s, far_figure *f)
{
    double *x = ROOM(p->sweep_seeds, double), *y = ROOM(p->sweep_seeds, double);
    double place[MOST_SWEPT], mean[MOST_SWEPT];
    far_status st = FAR_OK;
    for (int64_t i = 0; i < p->swept && st == FAR_OK; i++) {
        const study *mine = s + i * p->sweep_seeds;
        for (int64_t k = 0; k < p->sweep_seeds; k++) {
            x[k] = (double)p->sweep[i];
            y[k] = mine[k].condition.all;
        }
        place[i] = (double)p->sweep[i];
        mean[i] = range_of(mine, p->sweep_seeds, condition_all).mean;
        st = draw_points(r, f, x, y, p->sweep_seeds, 0, 5, i == 0 ? "a seed" : NULL);
    }
    free(x);
    free(y);
    return st == FAR_OK ? draw_curve(r, f, place, mean, NULL, p->swept, 0, "mean") : st;
}

static far_status run_sweep(reproduction *r, const plan *p, study *s)
{
    int64_t count = p->swept * p->sweep_seeds;
    tune_order *orders = ROOM(count, tune_order);
    for (int64_t i = 0; i < count; i++) {
        orders[i] = (tune_order){.seed = (uint64_t)(i % p->sweep_seeds),
                                 .epochs = p->sweep[i / p->sweep_seeds],
                                 .layers_only = true};
    }
    far_status st = tune_studies(r, orders, s, count);
    free(orders);
    return st;
}

static far_status keep_sweep(reproduction *r, const plan *p)
{
    study *s = ROOM(p->swept * p->sweep_seeds, study);
    far_figure *f = NULL;
    far_status st;
    TRY(open_panel(r, NULL, "epochs of pretraining",
                   "correlation of log cond(K_{S} + 10^{-4}) and log loss", FAR_SCALE_LOG,
                   FAR_SCALE_LINEAR, &f));
    TRY(run_sweep(r, p, s));
    TRY(draw_sweep(r, p, s, f));
done:
    free(s);
    return keep_drawn(r, f, "linearization-pretraining",
                      "The same correlation over all 15 subsets, for networks pretrained for "
                      "longer or shorter.",
                      st);
}

/* ---- tables and words ---------------------------------------------------------------------- */

enum { TUNED_MEANS = 5, TUNED_COLS = 12 };

/* How far training came: seeds that have converged, least and largest gradient. */
static void add_convergence(sheet *t, const study *s, int64_t seeds, int i)
{
    double least = INFINITY, most = 0;
    int64_t converged = 0;
    for (int64_t k = 0; k < seeds; k++) {
        least = fmin(least, s[k].tuned[i].slope);
        most = fmax(most, s[k].tuned[i].slope);
        converged += settled(&s[k].tuned[i]);
    }
    add_cell(t, "%lld of %lld", (long long)converged, (long long)seeds);
    add_cell(t, "%.1e", least);
    add_cell(t, "%.1e", most);
}

static far_status keep_tuned(reproduction *r, const study *s, int64_t seeds)
{
    static const char *const HEADS[TUNED_COLS] = {"lambda",
                                                  "gap",
                                                  "+-",
                                                  "|p - start|",
                                                  "bound",
                                                  "accuracy",
                                                  "+-",
                                                  "linearised",
                                                  "+-",
                                                  "converged",
                                                  "least gradient over that at the start",
                                                  "largest"};
    static const of_tuned OF[TUNED_MEANS] = {gap_of, distance_of, bound_of, accuracy_of, linear_of};
    static const bool SPREAD[TUNED_MEANS] = {true, false, false, true, true};
    double mean[TUNED_MEANS][TUNE_RIDGES], half[TUNED_MEANS][TUNE_RIDGES];
    sheet t = {.heads = HEADS, .cols = TUNED_COLS};
    far_status st = FAR_OK;
    for (int k = 0; k < TUNED_MEANS; k++) {
        TRY(means(r, s, seeds, OF[k], mean[k], half[k]));
    }
    for (int i = 0; i < TUNE_RIDGES; i++) {
        add_cell(&t, "%g", TUNE_LAMBDAS[i]);
        for (int k = 0; k < TUNED_MEANS; k++) {
            add_cell(&t, "%.3f", mean[k][i]);
            if (SPREAD[k]) {
                add_cell(&t, "%.3f", half[k][i]);
            }
        }
        add_convergence(&t, s, seeds, i);
    }
done:
    return keep_sheet(r, &t, "linearization-gap-table",
                      "Means over seeds and half their 95% intervals.", st);
}

static far_status keep_relations(reproduction *r, const study *s, int64_t seeds)
{
    static const char *const HEADS[] = {"log of", "with", "subsets", "mean", "least", "most"};
    static const struct {
        const char *of, *with, *subsets;
        of_study value;
    } ROWS[] = {{"cond(K_S + 1e-4)", "log training loss", "all 15", condition_all},
                {"cond(K_S + 1e-4)", "log training loss", "8 with layer 1", condition_with},
                {"cond(K_S + 1e-4)", "log training loss", "7 without it", condition_without},
                {"ridge residual", "log training loss", "all 15", residual_all},
                {"ridge residual", "log training loss", "8 with layer 1", residual_with},
                {"ridge residual", "log training loss", "7 without it", residual_without},
                {"cond(K_S + 1e-4)", "accuracy on tests", "all 15", tests_all}};
    sheet t = {.heads = HEADS, .cols = 6};
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        range value = range_of(s, seeds, ROWS[i].value);
        add_cell(&t, "%s", ROWS[i].of);
        add_cell(&t, "%s", ROWS[i].with);
        add_cell(&t, "%s", ROWS[i].subsets);
        add_cell(&t, "%.3f", value.mean);
        add_cell(&t, "%.3f", value.least);
        add_cell(&t, "%.3f", value.most);
    }
    return keep_sheet(r, &t, "linearization-correlations",
                      "Correlations over subsets of the layers, by seed. Subsets share layers and "
                      "are no independent draws, so there are no p-values.",
                      FAR_OK);
}

static far_status keep_subsets(reproduction *r, const study *s)
{
    static const char *const HEADS[] = {"layers",   "cond(K_S + 1e-4)", "largest eigenvalue",
                                        "residual", "training loss",    "accuracy on tests"};
    sheet t = {.heads = HEADS, .cols = 6};
    for (int i = 0; i < TUNE_SUBSETS; i++) {
        const subset *one = &s->subsets[i];
        char layers[2 * TUNE_LAYERS + 1] = "";
        int length = 0;
        for (int l = 0; l < TUNE_LAYERS; l++) {
            if (one->mask >> l & 1) {
                layers[length++] = (char)('1' + l);
                layers[length++] = ' ';
            }
        }
        layers[length - 1] = 0;
        add_cell(&t, "%s", layers);
        add_cell(&t, "%.3g", one->condition);
        add_cell(&t, "%.4g", one->spectrum[0]);
        add_cell(&t, "%.3g", one->residual);
        add_cell(&t, "%.4g", one->loss);
        add_cell(&t, "%.3f", one->accuracy);
    }
    return keep_sheet(r, &t, "linearization-subsets", "The 15 subsets of one seed.", FAR_OK);
}

static far_status explain(reproduction *r, const plan *p, const study *s)
{
    range pretrained = range_of(s, p->seeds, pretrained_of);
    far_status st;
    TRY(keep_section(
        r, "Protocol",
        "The paper fine-tunes RoBERTa with LoRA. Here a tanh network 64-32-32-32-1 is "
        "pretrained on whether a digit (optdigits, standardised pixels) is odd, for %lld "
        "epochs of Adam on 3223 rows (accuracy %.3f on the tests), and then tuned on "
        "whether it is at least 5, with 100 rows and 500 tests; %lld seeds, each with "
        "weights and rows of its own.",
        (long long)p->epochs, pretrained.mean, (long long)p->seeds));
    TRY(keep_text(r, "Tuning minimises R(p) + lambda / 2 |p - start|^2, R half the sum of squares, "
                     "by momentum in float64 over all rows. The linearised network is not trained: "
                     "its minimum is f_start + k (K + lambda I)^-1 (y - f_start). A point counts "
                     "as converged where the gradient of the objective has fallen to 1e-4 of what "
                     "it was; others stand out in the figure. At a small lambda the network is not "
                     "convex, and some seeds do not get there."));
    TRY(keep_text(r, "Subsets of the layers are trained by 300 steps of gradient descent with rate "
                     "1 / lambda_max(K_S). Their condition numbers have the ridge 1e-4, the "
                     "paper's; without one that of the last layer alone is infinite. Beside them "
                     "stands the exact residual of ridge regression, which costs the same."));
    TRY(keep_text(r, "Scaling of the pixels, initial weights (PyTorch's) and the length of "
                     "pretraining were settled with results in view. The correlation hangs on "
                     "them: the last figure has it for other lengths."));
    TRY(keep_text(r, "The paper's bound on the risk of a choice of layers (theorem 7) is not "
                     "checked: for K = 1, S = 3, ridge 1, y = 1 the ratio of residuals is 0.4, and "
                     "the bound from below says 10."));
done:
    return st;
}

static far_status study_all(reproduction *r, const plan *p, study *s)
{
    tune_order *orders = ROOM(p->seeds, tune_order);
    for (int64_t k = 0; k < p->seeds; k++) {
        orders[k] = (tune_order){.seed = (uint64_t)k, .epochs = p->epochs};
    }
    far_status st = tune_studies(r, orders, s, p->seeds);
    free(orders);
    return st;
}

far_status run_linearization(reproduction *r)
{
    plan p = plan_for(r);
    study *s = ROOM(p.seeds, study);
    far_status st;
    TRY(study_all(r, &p, s));
    TRY(claim_all(r, s, p.seeds));
    TRY(explain(r, &p, s));
    TRY(keep_heading(r, "Held near the start"));
    TRY(keep_lambdas(r, s, p.seeds));
    TRY(keep_tuned(r, s, p.seeds));
    TRY(keep_heading(r, "Which layers are trained"));
    TRY(keep_layers(r, s, p.seeds));
    TRY(keep_relations(r, s, p.seeds));
    TRY(keep_subsets(r, s));
    TRY(keep_spectra(r, s));
    TRY(keep_sweep(r, &p));
done:
    free(s);
    return st;
}
