/* Linearization explains fine-tuning, on text: a transformer that was pretrained on the fortunes is
 * tuned with LoRA, beside kernel regression with the tangent kernel of A and B. */
#include "registry.h"
#include "tuning.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static tuning_plan plan_for(const reproduction *r)
{
    tuning_plan full = {.places = 48,
                        .tokens = 256,
                        .channels = 48,
                        .heads = 4,
                        .rank = 4,
                        .alpha = 16,
                        .batch = 32,
                        .classes = 5,
                        .rows = 20,
                        .tests = 100,
                        .choice_steps = 200,
                        .pull_steps = 400,
                        .shortest = 32};
    tuning_plan quick = {.places = 12,
                         .tokens = 9,
                         .channels = 16,
                         .heads = 2,
                         .rank = 2,
                         .alpha = 8,
                         .batch = 16,
                         .classes = 3,
                         .rows = 12,
                         .tests = 30,
                         .choice_steps = 100,
                         .pull_steps = 300,
                         .shortest = 12};
    tuning_plan p = r->quick ? quick : full;
    p.seeds = seeds_of(r, 3, 5);
    p.epochs = epochs_of(r, 6, 3);
    return p;
}

/* ---- many seeds ---------------------------------------------------------------------------- */

typedef struct spread_of {
    double mean, half, least, most;
} spread_of;

typedef double (*of_tuning)(const tuning *t, int i);

static double gap_of(const tuning *t, int i)
{
    return t->pulled[i].gap;
}

static double distance_of(const tuning *t, int i)
{
    return t->pulled[i].distance;
}

static double bound_of(const tuning *t, int i)
{
    return t->pulled[i].bound;
}

static double accuracy_of(const tuning *t, int i)
{
    return t->pulled[i].accuracy;
}

static double linear_of(const tuning *t, int i)
{
    return t->pulled[i].linear;
}

static double slope_of(const tuning *t, int i)
{
    return t->pulled[i].slope;
}

static double gained_of(const tuning *t, int i)
{
    return t->pulled[i].accuracy - t->start;
}

static double with_condition(const tuning *t, int i)
{
    (void)i;
    return t->with_condition;
}

static double with_residual(const tuning *t, int i)
{
    (void)i;
    return t->with_residual;
}

static double with_accuracy(const tuning *t, int i)
{
    (void)i;
    return t->with_accuracy;
}

static double bits_of(const tuning *t, int i)
{
    (void)i;
    return t->bits;
}

static double start_of(const tuning *t, int i)
{
    (void)i;
    return t->start;
}

static double condition_of(const tuning *t, int i)
{
    return log10(t->choices[i].condition);
}

static double loss_of(const tuning *t, int i)
{
    return t->choices[i].loss;
}

static double choice_accuracy(const tuning *t, int i)
{
    return t->choices[i].accuracy;
}

static far_status over_seeds(reproduction *r, const tuning *t, int64_t seeds, of_tuning of, int i,
                             spread_of *out)
{
    double *values = ROOM(seeds, double);
    *out = (spread_of){0, 0, INFINITY, -INFINITY};
    for (int64_t k = 0; k < seeds; k++) {
        values[k] = of(&t[k], i);
        out->least = fmin(out->least, values[k]);
        out->most = fmax(out->most, values[k]);
    }
    far_status st = far_mean_interval(r->ctx, values, seeds, &out->mean, &out->half);
    free(values);
    return st;
}

/* ---- claims -------------------------------------------------------------------------------- */

enum { WEAKEST = 0, WEAK = 1, STRONGEST = TUNING_PULLS - 1 }; /* in TUNING_PULL */

static far_status claim_gap(reproduction *r, const tuning *t, int64_t seeds)
{
    spread_of strong, weak;
    int64_t smaller = 0;
    far_status st;
    TRY(over_seeds(r, t, seeds, gap_of, STRONGEST, &strong));
    TRY(over_seeds(r, t, seeds, gap_of, WEAK, &weak));
    for (int64_t k = 0; k < seeds; k++) {
        smaller += gap_of(&t[k], STRONGEST) < gap_of(&t[k], WEAK);
    }
    st = claim(r,
               &(claim_of){.what = "gap to kernel regression with LoRA's tangent kernel, lambda "
                                   "of 10 against 0.1 times its largest eigenvalue",
                           .paper = "bounded by a function of lambda",
                           .place = "Theorem 3; constants not known to us",
                           .tested = "smaller on every seed",
                           .seeds = seeds,
                           .agrees = smaller == seeds},
               "%.3f +- %.3f against %.3f +- %.3f, smaller on %lld of %lld seeds", strong.mean,
               strong.half, weak.mean, weak.half, (long long)smaller, (long long)seeds);
done:
    return st;
}

static far_status claim_learnt(reproduction *r, const tuning *t, int64_t seeds)
{
    spread_of gained, after;
    far_status st;
    TRY(over_seeds(r, t, seeds, gained_of, WEAKEST, &gained));
    TRY(over_seeds(r, t, seeds, accuracy_of, WEAKEST, &after));
    st = claim(r,
               &(claim_of){.what = "what tuning with LoRA learns, under the weakest pull",
                           .tested = "accuracy on the tests above that before: the 95% interval "
                                     "over seeds of what is gained lies above 0",
                           .seeds = seeds,
                           .agrees = gained.mean - gained.half > 0},
               "%.3f +- %.3f, gained %+.3f +- %.3f", after.mean, after.half, gained.mean,
               gained.half);
done:
    return st;
}

static double worst_distance(const tuning *t, int64_t seeds)
{
    double worst = 0;
    for (int64_t k = 0; k < seeds; k++) {
        for (int i = 0; i < TUNING_PULLS; i++) {
            worst = fmax(worst, t[k].pulled[i].distance / t[k].pulled[i].bound);
        }
    }
    return worst;
}

static far_status claim_condition(reproduction *r, const tuning *t, int64_t seeds)
{
    spread_of loss, accuracy;
    far_status st;
    TRY(over_seeds(r, t, seeds, with_condition, 0, &loss));
    TRY(over_seeds(r, t, seeds, with_accuracy, 0, &accuracy));
    st = claim(r,
               &(claim_of){.what = "correlation of log cond(K_S + 1e-4) and log training loss, 15 "
                                   "choices of layers with LoRA",
                           .paper = "the condition number at the start predicts the training loss",
                           .place = UNPLACED,
                           .tested = "above 0.5 on every seed",
                           .seeds = seeds,
                           .agrees = loss.least > 0.5},
               "%.3f to %.3f over seeds (with accuracy on the tests %.2f to %.2f)", loss.least,
               loss.most, accuracy.least, accuracy.most);
done:
    return st;
}

static far_status claim_all(reproduction *r, const tuning *t, int64_t seeds)
{
    layer_bounds bounds = {0};
    far_status st;
    for (int64_t k = 0; k < seeds; k++) {
        add_layer_bounds(&bounds, &t[k].bounds);
    }
    TRY(claim_gap(r, t, seeds));
    TRY(claim_learnt(r, t, seeds));
    TRY(claim_distance(r, "|p - start| of A and B, for every lambda and seed",
                       worst_distance(t, seeds), seeds));
    if (!r->quick) { /* made letters are no language to be tuned */
        TRY(claim_condition(r, t, seeds));
    }
    TRY(claim_weyl(r, "eigenvalues when layers with LoRA are added", &bounds, seeds));
    TRY(claim_choice(r,
                     "layers are added: bounds from the largest and least eigenvalue of their "
                     "kernel alone",
                     &bounds, seeds));
done:
    return st;
}

/* ---- figures ------------------------------------------------------------------------------- */

static far_status draw_over(reproduction *r, far_figure *f, const tuning *t, int64_t seeds,
                            of_tuning of, int colour, const char *label)
{
    double mean[TUNING_PULLS], half[TUNING_PULLS];
    far_status st = FAR_OK;
    for (int i = 0; i < TUNING_PULLS && st == FAR_OK; i++) {
        spread_of found;
        st = over_seeds(r, t, seeds, of, i, &found);
        mean[i] = found.mean;
        half[i] = found.half;
    }
    return st == FAR_OK ? draw_curve(r, f, TUNING_PULL, mean, half, TUNING_PULLS, colour, label)
                        : st;
}

static far_status keep_pulls(reproduction *r, const tuning *t, int64_t seeds)
{
    static const char *const TITLES[] = {"gap to the linearised network", "|p - start|",
                                         "accuracy on the tests"};
    far_figure *panels[3] = {NULL};
    far_grid_opts o = grid_of(960, 360);
    far_figure_opts f = axes(NULL, NULL, NULL);
    spread_of before;
    far_status st;
    o.x_label = "pull: lambda over the largest eigenvalue";
    f.x_scale = FAR_SCALE_LOG;
    for (int i = 0; i < 3; i++) {
        f.title = TITLES[i];
        f.y_scale = i < 2 ? FAR_SCALE_LOG : FAR_SCALE_LINEAR;
        TRY(far_figure_create(r->ctx, &f, &panels[i]));
    }
    TRY(draw_over(r, panels[0], t, seeds, gap_of, 0, "network"));
    TRY(draw_over(r, panels[1], t, seeds, distance_of, 0, "network"));
    TRY(draw_over(r, panels[1], t, seeds, bound_of, 5, "bound"));
    TRY(draw_over(r, panels[2], t, seeds, accuracy_of, 0, "network"));
    TRY(draw_over(r, panels[2], t, seeds, linear_of, 1, "linearised"));
    TRY(over_seeds(r, t, seeds, start_of, 0, &before));
    TRY(draw_rule(r, panels[2], FAR_HORIZONTAL, before.mean, "before"));
done:
    return keep_grid(r, panels, 1, 3, &o, "linearization-text-pull",
                     "Tuning with LoRA under a pull towards the start: means over seeds and 95% "
                     "intervals.",
                     st);
}

static far_status keep_conditions(reproduction *r, const tuning *t, int64_t seeds)
{
    far_figure_opts o = log_axes(NULL, "cond(K_{S} + 10^{-4})", "training loss");
    far_figure *f = NULL;
    far_status st;
    TRY(far_figure_create(r->ctx, &o, &f));
    for (int64_t k = 0; k < seeds; k++) {
        double x[TUNING_CHOICES], y[TUNING_CHOICES];
        far_mark_opts mark = mark_of((int)(k % 6), words(r, "seed %lld", (long long)k));
        for (int i = 0; i < TUNING_CHOICES; i++) {
            x[i] = t[k].choices[i].condition;
            y[i] = t[k].choices[i].loss;
        }
        TRY(far_figure_points(r->ctx, f, x, y, TUNING_CHOICES, &mark));
    }
done:
    return keep_drawn(r, f, "linearization-text-layers",
                      "15 choices of layers, each trained for the same number of steps.", st);
}

/* ---- tables -------------------------------------------------------------------------------- */

static void add_mean(sheet *t, const char *form, const char *half, const spread_of *s)
{
    add_cell(t, form, s->mean);
    add_cell(t, half, s->half);
}

static far_status keep_pull_table(reproduction *r, const tuning *t, int64_t seeds)
{
    static const char *const HEADS[] = {"lambda / largest eigenvalue",
                                        "gap",
                                        "+-",
                                        "|p - start|",
                                        "+-",
                                        "bound",
                                        "accuracy",
                                        "+-",
                                        "linearised",
                                        "+-",
                                        "converged",
                                        "largest gradient over that at the start"};
    sheet table = {.heads = HEADS, .cols = sizeof HEADS / sizeof HEADS[0]};
    spread_of gap, moved, bound, ours, linear, slope;
    far_status st = FAR_OK;
    for (int i = 0; i < TUNING_PULLS; i++) {
        int64_t settled = 0;
        TRY(over_seeds(r, t, seeds, gap_of, i, &gap));
        TRY(over_seeds(r, t, seeds, distance_of, i, &moved));
        TRY(over_seeds(r, t, seeds, bound_of, i, &bound));
        TRY(over_seeds(r, t, seeds, accuracy_of, i, &ours));
        TRY(over_seeds(r, t, seeds, linear_of, i, &linear));
        TRY(over_seeds(r, t, seeds, slope_of, i, &slope));
        for (int64_t k = 0; k < seeds; k++) {
            settled += slope_of(&t[k], i) <= TUNING_SETTLED;
        }
        add_cell(&table, "%g", TUNING_PULL[i]);
        add_mean(&table, "%.3f", "%.3f", &gap);
        add_mean(&table, "%.3f", "%.3f", &moved);
        add_cell(&table, "%.3f", bound.mean);
        add_mean(&table, "%.3f", "%.3f", &ours);
        add_mean(&table, "%.3f", "%.3f", &linear);
        add_cell(&table, "%lld of %lld", (long long)settled, (long long)seeds);
        add_cell(&table, "%.1e", slope.most);
    }
done:
    return keep_sheet(r, &table, "linearization-text-pull-table",
                      "Means over seeds and half their 95% intervals.", st);
}

static const char *choice_name(reproduction *r, int i)
{
    const char *name = "";
    for (int part = 0; part < TUNING_PARTS; part++) {
        if ((i + 1) >> part & 1) {
            name = words(r, "%s%s%s", name, *name ? ", " : "", TUNING_PART_NAMES[part]);
        }
    }
    return name;
}

static far_status keep_choice_table(reproduction *r, const tuning *t, int64_t seeds)
{
    static const char *const HEADS[] = {"layers with LoRA",
                                        "log10 cond(K_S + 1e-4)",
                                        "+-",
                                        "training loss",
                                        "+-",
                                        "accuracy",
                                        "+-"};
    sheet table = {.heads = HEADS, .cols = sizeof HEADS / sizeof HEADS[0]};
    spread_of condition, loss, accuracy;
    far_status st = FAR_OK;
    for (int i = 0; i < TUNING_CHOICES; i++) {
        TRY(over_seeds(r, t, seeds, condition_of, i, &condition));
        TRY(over_seeds(r, t, seeds, loss_of, i, &loss));
        TRY(over_seeds(r, t, seeds, choice_accuracy, i, &accuracy));
        add_cell(&table, "%s", choice_name(r, i));
        add_mean(&table, "%.2f", "%.2f", &condition);
        add_mean(&table, "%.4g", "%.2g", &loss);
        add_mean(&table, "%.3f", "%.3f", &accuracy);
    }
done:
    return keep_sheet(r, &table, "linearization-text-choices",
                      "The 15 choices: means over seeds and half their 95% intervals.", st);
}

static far_status keep_relations(reproduction *r, const tuning *t, int64_t seeds)
{
    static const char *const HEADS[] = {"log of", "with", "mean", "least", "most"};
    static const struct {
        const char *of, *with;
        of_tuning value;
    } ROWS[] = {{"cond(K_S + 1e-4)", "log training loss", with_condition},
                {"ridge residual", "log training loss", with_residual},
                {"cond(K_S + 1e-4)", "accuracy on tests", with_accuracy}};
    sheet table = {.heads = HEADS, .cols = sizeof HEADS / sizeof HEADS[0]};
    spread_of found;
    far_status st = FAR_OK;
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        TRY(over_seeds(r, t, seeds, ROWS[i].value, 0, &found));
        add_cell(&table, "%s", ROWS[i].of);
        add_cell(&table, "%s", ROWS[i].with);
        add_cell(&table, "%.3f", found.mean);
        add_cell(&table, "%.3f", found.least);
        add_cell(&table, "%.3f", found.most);
    }
done:
    return keep_sheet(r, &table, "linearization-text-correlations",
                      "Correlations over the choices, by seed. Choices share layers and are no "
                      "independent draws, so there are no p-values.",
                      st);
}

/* ---- words --------------------------------------------------------------------------------- */

static const char *names_of_books(reproduction *r, const tuning_plan *p)
{
    const char *names = "";
    for (int64_t k = 0; k < p->classes; k++) {
        names = words(r, "%s%s%s", names, *names ? ", " : "", p->shelf.books[p->books[k]].name);
    }
    return names;
}

static far_status explain(reproduction *r, const tuning_plan *p, const tuning *t)
{
    spread_of bits;
    far_status st;
    TRY(over_seeds(r, t, p->seeds, bits_of, 0, &bits));
    TRY(keep_section(
        r, "Protocol",
        "The paper tunes RoBERTa with LoRA on tasks of GLUE. Here a transformer with %lld "
        "positions, %lld channels, %lld heads and %d blocks learns to predict the next byte of %s "
        "(%lld bytes), for %lld epochs of Adam: %.2f bits per byte on text kept aside. It is then "
        "tuned to say which of %lld files (%s) a line is from: %lld lines of each to tune, %lld to "
        "test, none of which pretraining has seen; %lld seeds, each with weights, lines and A of "
        "its own.",
        (long long)p->places, (long long)p->channels, (long long)p->heads, TUNING_BLOCKS,
        r->quick ? "letters made for this quick form" : p->shelf.from, (long long)p->shelf.length,
        (long long)p->epochs, bits.mean, (long long)p->classes, names_of_books(r, p),
        (long long)p->rows, (long long)p->tests, (long long)p->seeds));
    TRY(keep_text(r,
                  "LoRA of rank %lld (alpha %lld) is in the layer to queries, keys and values, the "
                  "one behind "
                  "attention and both dense layers of each block. The last layer is drawn at "
                  "random and stays; so do embedding, positions and norms: A and B alone are "
                  "trained. Tuning minimises R(p) + lambda / 2 |p - start|^2, R half the sum of "
                  "squares over rows and classes (1 or 0, less the mean), by %lld steps with "
                  "momentum 0.9 in float64 over all rows, rate 0.1 / (lambda_max(K) + lambda). The "
                  "linearised network is not trained: "
                  "its minimum is f_start + k (K + lambda I)^-1 (y - f_start), K with all pairs "
                  "of classes. At the start B is 0, so that A has no part in K.",
                  (long long)p->rank, (long long)p->alpha, (long long)p->pull_steps));
    TRY(keep_text(r,
                  "Choices of layers are trained without a pull by %lld such steps with rate 0.1 / "
                  "lambda_max(K_S). Their condition numbers have the ridge 1e-4, "
                  "the paper's. Its bound on the risk of a choice of layers (theorem 7) is not "
                  "checked: it has a counterexample (see the experiment without --text).",
                  (long long)p->choice_steps));
done:
    return st;
}

far_status run_linearization_text(reproduction *r)
{
    tuning_plan p = plan_for(r);
    tuning *t = ROOM(p.seeds, tuning);
    far_status st;
    if (p.seeds < 2) {
        TRY(fail(r, FAR_ERR_ARG, "claims are about intervals over seeds: at least 2 are needed"));
    }
    TRY(tuning_open(r, &p));
    TRY(tuning_studies(r, &p, t));
    TRY(claim_all(r, t, p.seeds));
    TRY(explain(r, &p, t));
    TRY(keep_heading(r, "Held near the start"));
    TRY(keep_pulls(r, t, p.seeds));
    TRY(keep_pull_table(r, t, p.seeds));
    TRY(keep_heading(r, "Which layers are trained"));
    TRY(keep_conditions(r, t, p.seeds));
    TRY(keep_choice_table(r, t, p.seeds));
    TRY(keep_relations(r, t, p.seeds));
done:
    for (int64_t k = 0; k < p.seeds; k++) {
        tuning_free(&t[k]);
    }
    free(t);
    tuning_close(&p);
    return st;
}
