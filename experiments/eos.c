/* Edge of stability: the larger the rate, the more the tangent kernel turns towards the targets. */
#include "eos.h"
#include "parts.h"
#include "registry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AT_EDGE 0.3 /* rates from here on reach the edge before the loss is at the level */
#define EDGE_LOW 0.85
#define EDGE_HIGH 1.15
#define GAIN 0.15 /* of KTA, from the least rate to the largest */

static const double GRID[] = {0.02, 0.3, 0.4, 0.6, 0.8}; /* over which KTA of tanh must rise */
enum { GRID_COUNT = sizeof GRID / sizeof GRID[0] };

static eos_plan plan_for(const reproduction *r)
{
    eos_plan p = {.shapes = EOS_SHAPE,
                  .shape_count = EOS_SHAPES,
                  .rows = 200,
                  .seeds = seeds_of(r, 2, 5),
                  .steps_most = 20000,
                  .linear_steps = r->quick ? 6000 : 20000,
                  .linear_rows = r->quick ? 40 : 200,
                  .level = 0.01,
                  .apart = r->quick ? 2 : 1,
                  .rates = r->quick ? GRID_COUNT : 8,
                  .rate = {0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8}};
    if (r->quick) {
        memcpy(p.rate, GRID, sizeof GRID);
    }
    return p;
}

/* ---- claims --------------------------------------------------------------------------------- */

static const char LARGER_RATES[] = "a larger rate ends with a better aligned kernel, at equal loss";

static far_status claim_level(reproduction *r, const eos_study *s)
{
    int64_t reached = 0, all = 0;
    for (int64_t i = 0; i < s->count; i++) {
        if (!EOS_SHAPE[s->runs[i].shape].has_floor) {
            all++;
            reached += s->runs[i].reached;
        }
    }
    return claim(r,
                 &(claim_of){.what = "tanh and relu, all rates: runs that come to the same loss",
                             .tested = "all come to L = 0.01, where they are compared",
                             .seeds = s->plan.seeds,
                             .agrees = reached == all},
                 "%lld of %lld", (long long)reached, (long long)all);
}

static far_status claim_edge(reproduction *r, const eos_study *s, int shape)
{
    double low = INFINITY, high = -INFINITY;
    for (int64_t seed = 0; seed < s->plan.seeds; seed++) {
        for (int i = 0; i < s->plan.rates; i++) {
            const eos_run *run = eos_run_of(s, shape, seed, i);
            double edge = eos_last(run, run->sharpness);
            if (s->plan.rate[i] >= AT_EDGE) {
                low = fmin(low, edge);
                high = fmax(high, edge);
            }
        }
    }
    const char *what = words(r, "%s, rates from 0.3 on: rate lambda_max / 2 at the end, all seeds",
                             EOS_SHAPE[shape].name);
    return claim(r,
                 &(claim_of){.what = what,
                             .paper = "hovers about 1, the edge of stability",
                             .place = UNPLACED,
                             .tested = "0.85 to 1.15 for every rate and seed",
                             .seeds = s->plan.seeds,
                             .agrees = low > EDGE_LOW && high < EDGE_HIGH},
                 "%.3f to %.3f", low, high);
}

static double kta_at(const eos_study *s, int shape, int64_t seed, double rate)
{
    const eos_run *run = eos_run_of(s, shape, seed, eos_rate(&s->plan, rate));
    return eos_last(run, run->kta);
}

static bool rises(const eos_study *s, int shape, int64_t seed)
{
    for (int i = 1; i < GRID_COUNT; i++) {
        if (kta_at(s, shape, seed, GRID[i]) <= kta_at(s, shape, seed, GRID[i - 1])) {
            return false;
        }
    }
    return true;
}

static int64_t rising_seeds(const eos_study *s, int shape)
{
    int64_t count = 0;
    for (int64_t seed = 0; seed < s->plan.seeds; seed++) {
        count += rises(s, shape, seed);
    }
    return count;
}

/* The least and the largest over seeds of KTA at one rate less that at another. */
static void gains(const eos_study *s, int shape, double from, double to, double *low, double *high)
{
    *low = INFINITY;
    *high = -INFINITY;
    for (int64_t seed = 0; seed < s->plan.seeds; seed++) {
        double gain = kta_at(s, shape, seed, to) - kta_at(s, shape, seed, from);
        *low = fmin(*low, gain);
        *high = fmax(*high, gain);
    }
}

/* The part of the targets in the first five eigenvectors: seeds on which it is larger at a rate
 * than at each smaller one of the grid (tanh), or than at the least (relu). */
static far_status claim_leading(reproduction *r, const eos_study *s, int shape, double to)
{
    int64_t more = 0, seeds = s->plan.seeds;
    double from_mean = 0, to_mean = 0;
    bool whole = shape == EOS_TANH;
    for (int64_t seed = 0; seed < seeds; seed++) {
        bool all = true;
        double last = -1;
        for (int i = 0; i < GRID_COUNT; i++) {
            double top = eos_run_of(s, shape, seed, eos_rate(&s->plan, GRID[i]))->top5;
            if (whole || i == 0 || GRID[i] == to) {
                all &= top > last;
                last = top;
            }
            from_mean += i == 0 ? top / (double)seeds : 0;
            to_mean += GRID[i] == to ? top / (double)seeds : 0;
        }
        more += all;
    }
    char *what =
        text_of("%s: the part of the targets in the first 5 eigenvectors, rates 0.02 to %g",
                EOS_SHAPE[shape].name, to);
    far_status st =
        claim(r,
              &(claim_of){
                  .what = what,
                  .paper = "with larger rates the leading eigenvectors agree more with the targets",
                  .place = "abstract",
                  .tested = whole ? "rises along 0.02, 0.3, 0.4, 0.6, 0.8 on every seed, at "
                                    "equal loss"
                                  : "more at 0.6 than at 0.02 on every seed, at equal loss",
                  .seeds = seeds,
                  .agrees = more == seeds},
              "on %lld of %lld seeds; in the mean from %.3f to %.3f", (long long)more,
              (long long)seeds, from_mean, to_mean);
    free(what);
    return st;
}

static far_status claim_alignment(reproduction *r, const eos_study *s)
{
    double low, high;
    int64_t rising = rising_seeds(s, EOS_TANH), seeds = s->plan.seeds;
    far_status st;
    TRY(claim(r,
              &(claim_of){.what = "tanh: KTA at equal loss over the rates 0.02, 0.3, 0.4, 0.6, 0.8",
                          .paper = LARGER_RATES,
                          .place = UNPLACED,
                          .tested = "rises from rate to rate on every seed",
                          .seeds = seeds,
                          .agrees = rising == seeds},
              "on %lld of %lld seeds", (long long)rising, (long long)seeds));
    gains(s, EOS_TANH, 0.02, 0.8, &low, &high);
    TRY(claim(r,
              &(claim_of){.what = "tanh: KTA at rate 0.8 less KTA at 0.02",
                          .paper = LARGER_RATES,
                          .place = UNPLACED,
                          .tested = "above 0.15 on every seed",
                          .seeds = seeds,
                          .agrees = low > GAIN},
              "%.3f to %.3f", low, high));
    gains(s, EOS_RELU, 0.02, 0.6, &low, &high);
    TRY(claim(r,
              &(claim_of){.what = "relu: KTA at rate 0.6 less KTA at 0.02",
                          .paper = LARGER_RATES,
                          .place = UNPLACED,
                          .tested = "above 0 on every seed",
                          .seeds = seeds,
                          .agrees = low > 0},
              "%.3f to %.3f", low, high));
    TRY(claim_leading(r, s, EOS_TANH, 0.8));
    TRY(claim_leading(r, s, EOS_RELU, 0.6));
done:
    return st;
}

/* ---- phases of the sharpness ---------------------------------------------------------------- */

/* Of runs that come to the edge from below: how it rose until then, where it hovered over the last
 * half of the time, and how much KTA changed while the sharpness rose and while it fell. */
typedef struct phases {
    int64_t runs, rising; /* from below, and of these without a fall on the way */
    double low, high;     /* means over the last halves */
    double up, down;      /* changes of KTA behind the edge, summed over runs */
    int64_t ahead;        /* runs with more of it in falling phases */
    double *lead;         /* by how much, run by run */
} phases;

static void add_phases(const eos_run *run, phases *p)
{
    int64_t at = 1, half = 1;
    double mean = 0, up = 0, down = 0;
    if (run->sharpness[1] >= 1) {
        return; /* begins beyond the edge: nothing sharpens */
    }
    bool rises = true;
    for (; at < run->rows && run->sharpness[at] < 1; at++) {
        rises &= at == 1 || run->sharpness[at] > run->sharpness[at - 1];
    }
    while (run->time[half] < run->time[run->rows - 1] / 2) {
        half++;
    }
    for (int64_t i = half; i < run->rows; i++) {
        mean += run->sharpness[i] / (double)(run->rows - half);
    }
    for (int64_t i = at + 1; i < run->rows; i++) {
        double change = run->kta[i] - run->kta[i - 1];
        *(run->sharpness[i] > run->sharpness[i - 1] ? &up : &down) += change;
    }
    p->lead[p->runs++] = down - up;
    p->rising += rises && at < run->rows;
    p->low = fmin(p->low, mean);
    p->high = fmax(p->high, mean);
    p->up += up;
    p->down += down;
    p->ahead += down > up;
}

static far_status claim_phases(reproduction *r, const eos_study *s)
{
    phases p = {.low = INFINITY, .high = -INFINITY, .lead = ROOM(s->count, double)};
    double mean = NAN, half = NAN;
    far_status st = FAR_OK;
    for (int64_t i = 0; i < s->count; i++) {
        const eos_run *run = &s->runs[i];
        if (run->shape == EOS_TANH && s->plan.rate[run->rate] >= AT_EDGE) {
            add_phases(run, &p);
        }
    }
    TRY(claim(
        r,
        &(claim_of){
            .what = "tanh, rates from 0.3 on that begin below the edge: phases",
            .paper = "at the edge the largest eigenvalue swings about a value that the rate sets",
            .place = "abstract",
            .tested = "rises from row to row until the edge, and over the last half of "
                      "the time rate lambda_max / 2 is 0.95 to 1.05 in the mean",
            .seeds = s->plan.seeds,
            .agrees = p.runs > 0 && p.rising == p.runs && p.low > 0.95 && p.high < 1.05},
        "%lld of %lld rise without a fall, then %.3f to %.3f in the mean", (long long)p.rising,
        (long long)p.runs, p.low, p.high));
    if (p.runs > 0) {
        TRY(far_mean_interval(r->ctx, p.lead, p.runs, &mean, &half));
    }
    TRY(claim(
        r,
        &(claim_of){.what = "tanh, the same runs: where KTA grows at the edge",
                    .paper = "while the sharpness falls",
                    .place = UNPLACED,
                    .tested = "more in rows of falling sharpness than in rows of rising: the 95% "
                              "interval of the difference over runs is above 0",
                    .seeds = s->plan.seeds,
                    .late = true,
                    .agrees = mean - half > 0},
        "in %lld of %lld runs, by %.3f +- %.3f; in the mean %+.3f while it falls, %+.3f while it "
        "rises",
        (long long)p.ahead, (long long)p.runs, mean, half, p.down / (double)p.runs,
        p.up / (double)p.runs));
done:
    free(p.lead);
    return st;
}

/* ---- figures -------------------------------------------------------------------------------- */

typedef enum picture { EDGE, KTA_BY_LOSS, SHARES } picture;

static far_status open_panel(reproduction *r, picture what, int shape, far_figure **out)
{
    static const char *const X[] = {"time, rate times steps", "loss L; training goes to the left",
                                    "eigenvectors, the first ones"};
    static const char *const Y[] = {"rate \u03bb_{max} / 2", "KTA", "part of the targets"};
    far_figure_opts o = axes(EOS_SHAPE[shape].name, X[what], Y[what]);
    o.x_scale = what == SHARES ? FAR_SCALE_LINEAR : FAR_SCALE_LOG;
    o.y_min = 0;
    if (what == SHARES) {
        o.y_max = 1;
    }
    return far_figure_create(r->ctx, &o, out);
}

/* What lies behind the first row, at time 0. */
static far_status draw_run(reproduction *r, const eos_plan *p, picture what, const eos_run *run,
                           const char *label, far_figure *f)
{
    double index[EOS_TOP], levels[EOS_LEVELS];
    eos_levels(p, levels);
    for (int i = 0; i < EOS_TOP; i++) {
        index[i] = i + 1;
    }
    switch (what) {
    case EDGE:
        return draw_curve(r, f, run->time + 1, run->sharpness + 1, NULL, run->rows - 1, run->rate,
                          label);
    case KTA_BY_LOSS:
        return draw_curve(r, f, levels, run->by_loss, NULL, EOS_LEVELS, run->rate, label);
    default:
        return draw_curve(r, f, index, run->share, NULL, EOS_TOP, run->rate, label);
    }
}

static far_status draw_panel(reproduction *r, const eos_study *s, picture what, int shape,
                             far_figure *f)
{
    far_status st = FAR_OK;
    for (int i = 0; i < s->plan.rates && st == FAR_OK; i++) {
        const char *label = words(r, "rate %g", s->plan.rate[i]);
        st = draw_run(r, &s->plan, what, eos_run_of(s, shape, 0, i), label, f);
    }
    if (st == FAR_OK && what == EDGE) {
        st = far_figure_rule(r->ctx, f, FAR_HORIZONTAL, 1, NULL);
    }
    return st;
}

/* By the loss: without the linear networks, which are at their floor at once. */
static far_status keep_panels(reproduction *r, const eos_study *s, picture what, const char *name,
                              const char *caption)
{
    int count = what == KTA_BY_LOSS ? EOS_LINEAR : EOS_SHAPES;
    far_figure *panels[EOS_SHAPES] = {NULL};
    far_status st = FAR_OK;
    for (int shape = 0; shape < count && st == FAR_OK; shape++) {
        st = open_panel(r, what, shape, &panels[shape]);
        if (st == FAR_OK) {
            st = draw_panel(r, s, what, shape, panels[shape]);
        }
    }
    far_grid_opts o = grid_of(60 + 280 * count, 340);
    return keep_grid(r, panels, 1, count, &o, name, caption, st);
}

static far_status draw_by_rate(reproduction *r, const eos_study *s, int shape, far_figure *f)
{
    double mean[EOS_RATES_MOST], half[EOS_RATES_MOST];
    far_status st = FAR_OK;
    for (int i = 0; i < s->plan.rates; i++) {
        eos_over_seeds v;
        TRY(eos_mean_at(r, s, shape, i, eos_last_kta, &v));
        mean[i] = v.mean;
        half[i] = v.half;
    }
    TRY(draw_curve(r, f, s->plan.rate, mean, half, s->plan.rates, shape, EOS_SHAPE[shape].name));
done:
    return st;
}

static far_status keep_by_rate(reproduction *r, const eos_study *s)
{
    far_figure *f = NULL;
    far_figure_opts o = axes(NULL, "rate", "KTA at equal loss");
    far_status st;
    o.y_min = 0;
    TRY(far_figure_create(r->ctx, &o, &f));
    for (int shape = 0; shape < EOS_SHAPES; shape++) {
        TRY(draw_by_rate(r, s, shape, f));
    }
done:
    return keep_drawn(r, f, "eos-kta-by-rate",
                      "KTA at the same loss against the rate it was reached with: means over seeds "
                      "with 95% intervals. tanh and relu at L = 0.01; linear, whose loss has a "
                      "floor, after the same number of steps.",
                      st);
}

static far_status keep_figures(reproduction *r, const eos_study *s)
{
    far_status st;
    TRY(keep_panels(r, s, EDGE, "eos-sharpness",
                    "Rate times the largest eigenvalue of K / N, halved, while networks train: 1 "
                    "is the edge of stability. First seed."));
    TRY(keep_panels(r, s, KTA_BY_LOSS, "eos-kta-by-loss",
                    "Kernel-target alignment where the loss first falls to a level: rates compared "
                    "at equal loss. First seed."));
    TRY(keep_panels(r, s, SHARES, "eos-alignment",
                    "The part of the targets in the span of the first eigenvectors, at the end, "
                    "where losses are equal: with the rate it moves to the leading ones. First "
                    "seed."));
    TRY(keep_by_rate(r, s));
done:
    return st;
}

/* ---- words ---------------------------------------------------------------- */

static far_status explain(reproduction *r, const eos_study *s)
{
    const eos_plan *p = &s->plan;
    far_status st;
    TRY(keep_section(
        r, "Protocol",
        "The first %lld digits of optdigits (8 x 8 pixels over 16, less their means), "
        "odd against even as +1 and -1; networks 64-50-50-1 (tanh), 64-100-100-1 (relu) "
        "and 64-50-1 (linear), weights of LeCun (of He for relu), biases from 0; full "
        "gradient descent on L = 1/(2N) sum (f - y)^2 in float32, %lld seed%s. tanh and "
        "relu stop at the step where L is at most %g; linear networks, whose loss has a "
        "floor near 0.086, after %lld steps.",
        (long long)p->rows, (long long)p->seeds, p->seeds == 1 ? "" : "s", p->level,
        (long long)p->linear_steps));
    TRY(keep_text(r,
                  "Every row of a track is the tangent kernel of all %lld digits: the edge of "
                  "stability is rate lambda_max(K / N) / 2 = 1, KTA is y'Ky / (|K|_F |y|^2).",
                  (long long)p->rows));
    TRY(keep_section(
        r, "What differs from the paper",
        "The paper trains larger networks on CIFAR-10 and other sets. What the claims "
        "ask for was fixed before these runs; the scale of the pixels, the weights to "
        "start from and the steps of the linear networks were settled after a look at "
        "single runs: with pixels of variance 1 rate 0.8 diverges with such weights."));
    TRY(keep_text(r,
                  "For relu the rise of KTA with the rate need not be monotone: along the grid of "
                  "the claims it rises on %lld of %lld seeds. The table has means and spreads.",
                  (long long)rising_seeds(s, EOS_RELU), (long long)p->seeds));
done:
    return st;
}

far_status run_edge_of_stability(reproduction *r)
{
    eos_plan p = plan_for(r);
    eos_study s = {0};
    far_status st;
    TRY(eos_train(r, &p, &s));
    TRY(claim_level(r, &s));
    for (int shape = 0; shape < EOS_SHAPES; shape++) {
        TRY(claim_edge(r, &s, shape));
    }
    TRY(claim_alignment(r, &s));
    TRY(claim_phases(r, &s));
    TRY(eos_linear(r, &s));
    if (!r->sabotage) { /* whose runs reach no loss to compare at */
        TRY(keep_figures(r, &s));
    }
    TRY(eos_keep_table(r, &s, "eos-table",
                       "At the end of training. Means over seeds with 95% intervals; of the "
                       "sharpness the least and the largest."));
    TRY(explain(r, &s));
    TRY(eos_architectures(r));
done:
    eos_free(&s);
    return st;
}
