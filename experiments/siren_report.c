/* Claims, tables and figures of the sine networks. */
#include "curves.h"
#include "siren.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers over seeds ---------------------------------------------------------------------- */

typedef struct summary {
    double mean, least, most;
    int64_t count;
} summary;

static void add_number(summary *s, double value)
{
    s->least = s->count ? fmin(s->least, value) : value;
    s->most = s->count ? fmax(s->most, value) : value;
    s->mean += (value - s->mean) / (double)++s->count;
}

typedef double (*of_run)(const siren_run *run);

static summary over_runs(const siren_study *s, int start, int frequency, of_run f)
{
    summary sum = {0};
    const siren_run *run;
    for (int64_t k = 0; (run = siren_run_at(s, start, frequency, k)); k++) {
        add_number(&sum, f(run));
    }
    return sum;
}

static int64_t count_above(const siren_study *s, int start, int frequency, of_run f, double least)
{
    const siren_run *run;
    int64_t count = 0;
    for (int64_t k = 0; (run = siren_run_at(s, start, frequency, k)); k++) {
        count += f(run) >= least;
    }
    return count;
}

static double last_v0cos(const siren_run *run)
{
    return siren_last(run, COL_V0COS);
}

static double mean_xi(const siren_run *run)
{
    double sum = 0;
    for (int64_t i = 0; i < run->moments; i++) {
        sum += siren_at(run, i, COL_XI) / (double)run->moments;
    }
    return sum;
}

static summary start_xi(const siren_study *s, int start, int frequency)
{
    summary sum = {0};
    for (int64_t k = 0; k < s->seeds; k++) {
        add_number(&sum, siren_curve_at(s, start, frequency, k)->local.xi);
    }
    return sum;
}

static summary start_fine(const siren_study *s, int start, int frequency)
{
    summary sum = {0};
    for (int64_t k = 0; k < s->seeds; k++) {
        add_number(&sum, siren_curve_at(s, start, frequency, k)->fine);
    }
    return sum;
}

/* ---- claims ---------------------------------------------------------------------------------- */

static const char XI_PAPER[] = "0.15, 0.09, 0.05 for w0 = 15, 30, 60, means over training";
static const char NETS_PAPER[] = "numbers for 5 layers, 30 images of 64 x 64; table not recorded";

static far_status claim_xi(reproduction *r, const siren_study *s, int frequency, double low,
                           double high, const char *tested)
{
    summary xi = start_xi(s, SMALL, frequency), published = start_xi(s, PUBLISHED, frequency);
    const char *what = words(r, "xi at the start, w0 = %g, small biases", SIREN_W0[frequency]);
    far_status st = claim(r,
                          &(claim_of){.what = what,
                                      .paper = XI_PAPER,
                                      .place = NETS_PAPER,
                                      .tested = tested,
                                      .seeds = s->seeds,
                                      .agrees = xi.least >= low && xi.most <= high},
                          "%.4f, %.4f to %.4f; with published biases %.4f, %.4f to %.4f", xi.mean,
                          xi.least, xi.most, published.mean, published.least, published.most);
    return st;
}

static far_status claim_order(reproduction *r, const siren_study *s, int start)
{
    bool falls = true;
    for (int64_t k = 0; k < s->seeds; k++) {
        double a = siren_curve_at(s, start, W15, k)->local.xi;
        double b = siren_curve_at(s, start, W30, k)->local.xi;
        double c = siren_curve_at(s, start, W60, k)->local.xi;
        falls = falls && a > b && b > c;
    }
    const char *what = words(r, "xi at the start falls with w0, %s", SIREN_START[start]);
    far_status st = claim(r,
                          &(claim_of){.what = what,
                                      .paper = XI_PAPER,
                                      .place = NETS_PAPER,
                                      .tested = "the order alone, on every seed; the numbers are "
                                                "smaller here",
                                      .seeds = s->seeds,
                                      .agrees = falls},
                          "%.4f, %.4f, %.4f", start_xi(s, start, W15).mean,
                          start_xi(s, start, W30).mean, start_xi(s, start, W60).mean);
    return st;
}

#define GROWTH 4
#define GAIN 0.1

static far_status claim_growth(reproduction *r, const siren_study *s, int frequency)
{
    summary growth = over_runs(s, SMALL, frequency, siren_growth);
    const char *what = words(r, "lambda_0 by the end, w0 = %g, small biases", SIREN_W0[frequency]);
    far_status st =
        claim(r,
              &(claim_of){.what = what,
                          .paper = "grows at the transition",
                          .place = UNPLACED,
                          .tested = "at least 4 times, mean over seeds",
                          .seeds = s->seeds,
                          .agrees = growth.mean >= GROWTH},
              "%.1f times, %.1f to %.1f; %lld of %lld seeds; with published biases %.1f times",
              growth.mean, growth.least, growth.most,
              (long long)count_above(s, SMALL, frequency, siren_growth, GROWTH),
              (long long)growth.count, over_runs(s, PUBLISHED, frequency, siren_growth).mean);
    return st;
}

static far_status claim_edges(reproduction *r, const siren_study *s, int start, int frequency)
{
    summary gain = over_runs(s, start, frequency, siren_auc_gain);
    const char *what =
        words(r, "|v0| learns the edges, w0 = %g, %s", SIREN_W0[frequency], SIREN_START[start]);
    return claim(r,
                 &(claim_of){.what = what,
                             .paper = "AUC ends at 0.72, 0.73, 0.71 for w0 = 15, 30, 60",
                             .place = NETS_PAPER,
                             .tested = "rises by at least 0.1, mean over seeds",
                             .seeds = s->seeds,
                             .late = start == PUBLISHED,
                             .agrees = gain.mean >= GAIN},
                 "by %.3f, %.3f to %.3f, to %.3f; %lld of %lld seeds", gain.mean, gain.least,
                 gain.most, over_runs(s, start, frequency, siren_last_auc).mean,
                 (long long)count_above(s, start, frequency, siren_auc_gain, GAIN),
                 (long long)gain.count);
}

static far_status claim_crossing(reproduction *r, const siren_study *s)
{
    summary first = {0}, last = {0};
    for (int f = 0; f < FREQUENCIES; f++) {
        const siren_run *run;
        for (int64_t k = 0; (run = siren_run_at(s, PUBLISHED, f, k)); k++) {
            add_number(&first, siren_first_min_c(run));
            add_number(&last, siren_last_min_c(run));
        }
    }
    return claim(r,
                 &(claim_of){.what = "min C crosses zero, published biases",
                             .paper = "crosses zero at the transition",
                             .place = UNPLACED,
                             .tested = "above 0 at the start and below at the end of every run",
                             .seeds = s->seeds,
                             .late = true,
                             .agrees = first.least > 0 && last.most < 0},
                 "from %.3f to %.3f at the start, %.3f to %.3f at the end, %lld run%s", first.least,
                 first.most, last.least, last.most, (long long)first.count,
                 first.count == 1 ? "" : "s");
}

/* Of all moments of all runs. */
static far_status claim_first_vector(reproduction *r, const siren_study *s)
{
    int64_t count = 0;
    double *all = NULL, median;
    for (int64_t i = 0; i < s->run_count; i++) {
        const siren_run *run = &s->runs[i];
        for (int64_t k = 0; run->start == PUBLISHED && k < run->moments; k++) {
            all = room_for_one_more(all, count, sizeof *all);
            all[count++] = siren_at(run, k, COL_V0COS);
        }
    }
    far_status st = far_quantile(r->ctx, all, count, 0.5, &median);
    free(all);
    return st == FAR_OK ? claim(r,
                                &(claim_of){.what = "v0 is the row sums of K, published biases",
                                            .paper = "cos(v0, K 1) = 0.99995, median",
                                            .place = UNPLACED,
                                            .tested = "median above 0.999",
                                            .seeds = s->seeds,
                                            .late = true,
                                            .agrees = median > 0.999},
                                "%.5f, median over runs and times", median)
                        : st;
}

static far_status claim_all(reproduction *r, const siren_study *s)
{
    far_status st;
    TRY(claim_xi(r, s, W15, 0.14, 0.17, "0.14 to 0.17 at the start of every seed"));
    TRY(claim_xi(r, s, W30, 0.07, 0.09, "0.07 to 0.09 at the start of every seed"));
    TRY(claim_order(r, s, SMALL));
    TRY(claim_order(r, s, PUBLISHED));
    for (int f = 0; f < FREQUENCIES; f++) {
        if (s->trained[f]) {
            TRY(claim_growth(r, s, f));
            TRY(claim_edges(r, s, SMALL, f));
            TRY(claim_edges(r, s, PUBLISHED, f));
        }
    }
    TRY(claim_crossing(r, s));
    TRY(claim_first_vector(r, s));
done:
    return st;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void add_summary(sheet *t, summary s, int digits)
{
    if (s.count == 0) {
        add_cell(t, "-");
    } else if (s.count == 1) {
        add_cell(t, "%.*f", digits, s.mean);
    } else {
        add_cell(t, "%.*f (%.*f to %.*f)", digits, s.mean, digits, s.least, digits, s.most);
    }
}

static far_status keep_ends(reproduction *r, const siren_study *s)
{
    static const char *const HEADS[] = {
        "start",        "w0",           "xi(0)",
        "xi(0), fine",  "xi over time", "lambda_0 grows",
        "AUC, end",     "AUC gain",     "corr(log |g|, |grad I|), end",
        "min C, start", "min C, end",   "cos(v0, K 1), end"};
    sheet t = {.heads = HEADS, .cols = 12};
    for (int i = 0; i < STARTS * FREQUENCIES; i++) {
        int start = i / FREQUENCIES, f = i % FREQUENCIES;
        add_cell(&t, "%s", SIREN_START[start]);
        add_cell(&t, "%g", SIREN_W0[f]);
        add_summary(&t, start_xi(s, start, f), 4);
        add_summary(&t, start_fine(s, start, f), 4);
        add_summary(&t, start == PUBLISHED ? over_runs(s, start, f, mean_xi) : (summary){0}, 4);
        add_summary(&t, over_runs(s, start, f, siren_growth), 1);
        add_summary(&t, over_runs(s, start, f, siren_last_auc), 3);
        add_summary(&t, over_runs(s, start, f, siren_auc_gain), 3);
        add_summary(&t, over_runs(s, start, f, siren_last_gradcorr), 3);
        add_summary(&t, over_runs(s, start, f, siren_first_min_c), 3);
        add_summary(&t, over_runs(s, start, f, siren_last_min_c), 3);
        add_summary(&t, over_runs(s, start, f, last_v0cos), 5);
    }
    return keep_sheet(r, &t, "ends",
                      "The kernel before and after training, mean and range over the seeds. The "
                      "paper has, for w0 = 15, 30, 60: xi over training 0.15, 0.09, 0.05; AUC "
                      "0.72, 0.73, 0.71; correlation with the slope 0.52, 0.39, 0.30.",
                      FAR_OK);
}

/* When an order parameter changes, as log10 of the step; NAN: it has no such moment. */
enum {
    CHANGE_LOSS,
    CHANGE_MIN_C,
    CHANGE_LAMBDA,
    CHANGE_C_INF,
    CHANGE_AUC,
    CHANGE_GRADCORR,
    CHANGES
};

static void column_over_log(const siren_run *run, int column, double *x, double *y)
{
    for (int64_t i = 1; i < run->moments; i++) {
        x[i - 1] = log10(siren_at(run, i, COL_STEP));
        y[i - 1] = siren_at(run, i, column);
    }
}

static double change_of(const siren_run *run, int change)
{
    static const int COLUMN[CHANGES] = {COL_LOSS,  COL_MIN_C, COL_LAMBDA,
                                        COL_C_INF, COL_AUC,   COL_GRADCORR};
    int64_t n = run->moments - 1, moment;
    double *x = ROOM(n, double), *y = ROOM(n, double), at;
    column_over_log(run, COLUMN[change], x, y);
    if (change == CHANGE_LOSS) {
        siren_peak(run, &at, &moment);
        at = log10(at);
    } else if (change == CHANGE_MIN_C) {
        at = curve_crossing(x, y, n, 0);
    } else {
        curve_sigmoid sigmoid = curve_fit_sigmoid(x, y, n);
        at = sigmoid.settled ? sigmoid.middle : NAN;
    }
    free(x);
    free(y);
    return at;
}

static void add_change(const siren_study *s, int frequency, int change, sheet *t)
{
    summary sum = {0};
    const siren_run *run;
    for (int64_t k = 0; (run = siren_run_at(s, PUBLISHED, frequency, k)); k++) {
        double at = change_of(run, change);
        if (!isnan(at)) {
            add_number(&sum, at);
        }
    }
    add_summary(t, sum, 2);
}

static far_status keep_changes(reproduction *r, const siren_study *s)
{
    static const char *const HEADS[] = {
        "w0",  "loss falls fastest",      "min C = 0", "lambda_0", "c_inf",
        "AUC", "corr(log |g|, |grad I|)", "paper"};
    static const char *const PAPER[FREQUENCIES] = {"1.85", "2.15", "2.42"};
    sheet t = {.heads = HEADS, .cols = 8};
    for (int f = 0; f < FREQUENCIES; f++) {
        if (s->trained[f]) {
            add_cell(&t, "%g", SIREN_W0[f]);
            for (int change = 0; change < CHANGES; change++) {
                add_change(s, f, change, &t);
            }
            add_cell(&t, "%s", PAPER[f]);
        }
    }
    return keep_sheet(r, &t, "changes",
                      "When they change, as log10 of the step, published biases: the peak of the "
                      "loss rate, the zero of min C, the middles of sigmoids for the others.",
                      FAR_OK);
}

/* ---- order parameters over time -------------------------------------------------------------- */

enum { RATE = COLS }; /* the loss rate, which is no column */

static const struct {
    int column;
    const char *title;
    bool log;
} PANELS[] = {
    {RATE, "loss rate", false},
    {COL_LAMBDA, "lambda_0", true},
    {COL_MIN_C, "min C", false},
    {COL_C_INF, "c_inf", false},
    {COL_XI, "xi", false},
    {COL_AUC, "AUC of |v0|", false},
    {COL_GRADCORR, "corr(log |g|, |grad I|)", false},
    {COL_MAGMA, "MAG-Ma", false},
    {COL_V0COS, "cos(v0, K 1)", false},
};
enum { DOWN = 3, ACROSS = 3 };

/* -dL / dlog t at a moment, from its neighbours. */
static double rate_at(const siren_run *run, int64_t i)
{
    int64_t a = i > 1 ? i - 1 : i, b = i + 1 < run->moments ? i + 1 : i;
    return (siren_at(run, a, COL_LOSS) - siren_at(run, b, COL_LOSS)) /
           log(siren_at(run, b, COL_STEP) / siren_at(run, a, COL_STEP));
}

/* Over the seeds, the mean of logarithms. */
static double mean_peak(const siren_study *s, int frequency)
{
    summary sum = {0};
    const siren_run *run;
    for (int64_t k = 0; (run = siren_run_at(s, PUBLISHED, frequency, k)); k++) {
        int64_t moment;
        double step;
        siren_peak(run, &step, &moment);
        add_number(&sum, log10(step));
    }
    return pow(10, sum.mean);
}

static far_status draw_frequency(reproduction *r, const siren_study *s, int frequency, int column,
                                 far_figure *figure)
{
    const siren_run *run = siren_run_at(s, PUBLISHED, frequency, 0);
    int64_t n = run->moments - 1;
    double *numbers = ROOM(3 * n, double), *mean = numbers + n, *half = numbers + 2 * n;
    const char *label = words(r, "w0 = %g", SIREN_W0[frequency]);
    far_mark_opts mark = mark_of(frequency, NULL);
    far_status st;
    for (int64_t i = 0; i < n; i++) {
        summary sum = {0};
        const siren_run *each;
        for (int64_t k = 0; (each = siren_run_at(s, PUBLISHED, frequency, k)); k++) {
            add_number(&sum, column == RATE ? rate_at(each, i + 1) : siren_at(each, i + 1, column));
        }
        numbers[i] = siren_at(run, i + 1, COL_STEP);
        mean[i] = sum.mean;
        half[i] = s->seeds > 1 ? (sum.most - sum.least) / 2 : NAN;
    }
    TRY(draw_curve(r, figure, numbers, mean, half, n, frequency, label));
    double peak = mean_peak(s, frequency);
    if (isfinite(peak)) { /* else they were trained too briefly to have one */
        TRY(far_figure_rule(r->ctx, figure, FAR_VERTICAL, peak, &mark));
    }
done:
    free(numbers);
    return st;
}

static far_status draw_panel(reproduction *r, const siren_study *s, int panel, far_figure **out)
{
    far_figure_opts opts = axes(PANELS[panel].title, NULL, NULL);
    far_status st;
    opts.x_scale = FAR_SCALE_LOG;
    opts.y_scale = PANELS[panel].log ? FAR_SCALE_LOG : FAR_SCALE_LINEAR;
    TRY(far_figure_create(r->ctx, &opts, out));
    for (int f = 0; f < FREQUENCIES; f++) {
        if (s->trained[f]) {
            TRY(draw_frequency(r, s, f, PANELS[panel].column, *out));
        }
    }
    if (PANELS[panel].column == COL_MIN_C) {
        TRY(far_figure_rule(r->ctx, *out, FAR_HORIZONTAL, 0, NULL));
    }
done:
    return st;
}

static far_status keep_times(reproduction *r, const siren_study *s)
{
    far_figure *figures[DOWN * ACROSS] = {0};
    far_grid_opts opts = grid_of(NAN, NAN);
    far_status st = FAR_OK;
    opts.title = "Order parameters while a sine network learns a picture";
    opts.x_label = "step";
    opts.share_x = FAR_SHARE_ALL;
    opts.note = "Dashed: where the loss falls fastest.";
    for (int i = 0; i < DOWN * ACROSS && st == FAR_OK; i++) {
        st = draw_panel(r, s, i, &figures[i]);
    }
    return keep_grid(r, figures, DOWN, ACROSS, &opts, "siren-times",
                     "What the tangent kernel does over the logarithm of time, published biases; "
                     "mean and half the range over the seeds. They change together, about where "
                     "the loss falls fastest.",
                     st);
}

/* ---- maps ------------------------------------------------------------------------------------ */

enum { MAP_VALUES, MAP_LENGTH, MAP_FIRST, MAP_REACH, MAPS };
enum { AT_START, AT_PEAK, AT_END, TIMES };

/* The rows of a picture go down, those of a figure up. */
far_status siren_draw_map(reproduction *r, const siren_image *image, const double *map,
                          const char *title, const char *label, bool sequential, far_figure **out)
{
    int64_t side = image->side;
    double edge = 1 + 1 / (double)(side - 1), *cells = ROOM(side * side, double);
    far_figure_opts opts = axes(title, NULL, label);
    far_heat_opts heat;
    far_heat_opts_init(&heat);
    heat.x_min = heat.y_min = -edge;
    heat.x_max = heat.y_max = edge;
    heat.map = sequential ? FAR_MAP_SEQUENTIAL : FAR_MAP_AUTO;
    for (int64_t i = 0; i < side * side; i++) {
        cells[(side - 1 - i / side) * side + i % side] = map[i];
    }
    far_status st = far_figure_create(r->ctx, &opts, out);
    st = st == FAR_OK ? far_figure_heat(r->ctx, *out, cells, side, side, &heat) : st;
    free(cells);
    return st;
}

static far_status draw_time(reproduction *r, const siren_study *s, int time, const siren_maps *m,
                            const char *label, far_figure **figures)
{
    static const char *const TITLES[MAPS] = {"f", "|g|", "v0", "xi(x)"};
    const double *maps[MAPS] = {time == AT_START ? s->image.grey.data : m->values, m->length,
                                m->first, m->reach};
    far_status st = FAR_OK;
    for (int i = 0; i < MAPS && st == FAR_OK; i++) {
        const char *title = i > MAP_VALUES && time > AT_START     ? NULL
                            : time == AT_START && i == MAP_VALUES ? "the picture"
                                                                  : TITLES[i];
        st = siren_draw_map(r, &s->image, maps[i], title, i == 0 ? label : NULL, i != MAP_FIRST,
                            &figures[time * MAPS + i]);
    }
    return st;
}

static far_status draw_moment(reproduction *r, const siren_study *s, int time, int64_t moment,
                              double *model, far_figure **figures)
{
    static const char *const WORDS[TIMES] = {"start", "peak", "end"};
    const siren_run *run = siren_run_at(s, PUBLISHED, W30, 0);
    const char *label = words(r, "%s, step %.0f", WORDS[time], siren_at(run, moment, COL_STEP));
    far_net *net = NULL;
    siren_maps maps = {0};
    far_status st;
    TRY(siren_run_net(r, run, moment, &net));
    TRY(siren_maps_of(r, net, &s->image, &maps));
    TRY(draw_time(r, s, time, &maps, label, figures));
    *model = maps.model;
done:
    siren_maps_clear(&maps);
    far_net_destroy(net);
    return st;
}

static far_status keep_maps(reproduction *r, const siren_study *s)
{
    const siren_run *run = siren_run_at(s, PUBLISHED, W30, 0);
    far_figure *figures[TIMES * MAPS] = {0};
    int64_t moments[TIMES] = {0, 0, run->moments - 1};
    double step, model[TIMES];
    far_status st = FAR_OK;
    siren_peak(run, &step, &moments[AT_PEAK]);
    far_grid_opts opts = grid_of(1180, 830);
    opts.title = "Around each point, w0 = 30";
    opts.share_x = opts.share_y = FAR_SHARE_ALL;
    for (int time = 0; time < TIMES && st == FAR_OK; time++) {
        st = draw_moment(r, s, time, moments[time], &model[time], figures);
    }
    st = keep_grid(r, figures, TIMES, MAPS, &opts, "siren-maps",
                   "The picture, what the network says, the length of its gradient, the first "
                   "eigenvector of its kernel, and how far the kernel of each point reaches: the "
                   "distance at which C has fallen half way to c_inf.",
                   st);
    return st == FAR_OK
               ? keep_text(r,
                           "The reach that the Cauchy model makes of the kernel's derivatives "
                           "correlates with the measured one over the points: %.2f at the start, "
                           "%.2f at the peak, %.2f at the end. The paper's 0.92 to 0.98 is a "
                           "correlation over time, another question.",
                           model[AT_START], model[AT_PEAK], model[AT_END])
               : st;
}

/* ---- c(eps) ---------------------------------------------------------------------------------- */

static far_status draw_start(reproduction *r, const siren_study *s, int start, far_figure **out)
{
    far_figure_opts opts = axes(SIREN_START[start], "distance eps", "c(eps)");
    far_status st;
    TRY(far_figure_create(r->ctx, &opts, out));
    for (int f = 0; f < FREQUENCIES && st == FAR_OK; f++) {
        const siren_curve *curve = siren_curve_at(s, start, f, 0);
        const char *label = words(r, "w0 = %g", SIREN_W0[f]);
        st = draw_curve(r, *out, curve->eps, curve->c, NULL, SIREN_BINS, f, label);
    }
done:
    return st;
}

static far_status keep_curves(reproduction *r, const siren_study *s)
{
    far_figure *figures[STARTS] = {0};
    far_grid_opts opts = grid_of(760, 330);
    far_status st = FAR_OK;
    opts.title = "The cosine kernel at the start, by distance";
    opts.share_y = FAR_SHARE_ALL;
    for (int start = 0; start < STARTS && st == FAR_OK; start++) {
        st = draw_start(r, s, start, &figures[start]);
    }
    return keep_grid(r, figures, 1, STARTS, &opts, "siren-correlation",
                     "Mean cosine of the gradients of two points at a distance, first seed. Biases "
                     "decide where it ends: c_inf, and with it whether min C is above zero.",
                     st);
}

/* ---- words ----------------------------------------------------------------------------------- */

static far_status tell_protocol(reproduction *r, const siren_study *s)
{
    int64_t side = s->image.side;
    return keep_text(
        r,
        "The picture is %s, %lld x %lld points of [-1, 1]^2, greys from -1 to 1. The networks are "
        "[dense(%d) sin(w0)] four times and a dense layer (the paper's depth 5), weights as "
        "published, %lld step%s of gradient descent on L = 1/2 mean r^2 with rate %g, %lld seed%s. "
        "The paper has 30 pictures of 64 x 64 points and 10000 steps, and finds edges with Canny's "
        "filter; here the steepest 12%% of the points are edges. c(eps) is a mean over 50 bins of "
        "distance.",
        s->image.photograph ? "the photograph images/camera.png"
                            : "drawn (images/camera.png is not among the data)",
        (long long)side, (long long)side, SIREN_WIDTH, (long long)s->steps,
        s->steps == 1 ? "" : "s", SIREN_RATE, (long long)s->seeds, s->seeds == 1 ? "" : "s");
}

static far_status tell_biases(reproduction *r)
{
    return keep_text(
        r, "Biases start in two ways. The published network has those of torch.nn.Linear, U(-1, 1) "
           "/ sqrt(n); times w0 they are phases over several turns. Small biases lie within the "
           "bounds of the weights, sqrt(6 / n) / w0. The ranges for xi, and that lambda_0 grows "
           "four times, were set for small biases before this was run. That min C crosses zero and "
           "v0 is the row sums of K was not seen there; it is with the published biases, which "
           "were tried after that.");
}

static double last_lambda(const siren_run *run)
{
    return siren_last(run, COL_LAMBDA);
}

static far_status tell_lambda(reproduction *r, const siren_study *s)
{
    if (!s->trained[W15] || !s->trained[W60]) {
        return FAR_OK;
    }
    return keep_text(r,
                     "With published biases lambda_0 starts several times larger and grows less: "
                     "%.1f times at w0 = 15, less than four. At w0 = 60 it ends at %.0f, where "
                     "gradient descent with this rate ceases to be stable, 2 / %g.",
                     over_runs(s, PUBLISHED, W15, siren_growth).mean,
                     over_runs(s, PUBLISHED, W60, last_lambda).mean, SIREN_RATE);
}

static far_status tell_grid(reproduction *r, const siren_study *s)
{
    double step = 2 / (double)(s->start_side - 1);
    return keep_text(r,
                     "At w0 = 60 the correlation length on the grid is less than its spacing of "
                     "%.3f: it measures the grid. On points four times as near, in the middle of "
                     "the picture, xi is %.3f, %.3f and %.3f for w0 = 15, 30 and 60 with published "
                     "biases, %.3f, %.3f and %.3f with small ones.",
                     step, start_fine(s, PUBLISHED, W15).mean, start_fine(s, PUBLISHED, W30).mean,
                     start_fine(s, PUBLISHED, W60).mean, start_fine(s, SMALL, W15).mean,
                     start_fine(s, SMALL, W30).mean, start_fine(s, SMALL, W60).mean);
}

far_status siren_report(reproduction *r, const siren_study *s)
{
    far_status st;
    TRY(claim_all(r, s));
    TRY(keep_heading(r, "Protocol"));
    TRY(tell_protocol(r, s));
    TRY(tell_biases(r));
    TRY(keep_heading(r, "Over time"));
    TRY(keep_times(r, s));
    TRY(keep_changes(r, s));
    TRY(siren_report_waves(r, s));
    TRY(r->quick ? FAR_OK : siren_study_pictures(r, s->steps));
    TRY(keep_heading(r, "Over the picture"));
    TRY(keep_maps(r, s));
    TRY(keep_heading(r, "Over distance"));
    TRY(keep_curves(r, s));
    TRY(tell_grid(r, s));
    TRY(keep_ends(r, s));
    TRY(tell_lambda(r, s));
done:
    return st;
}
