/* Figure 1: predictions far outside the data, of finite and of infinitely wide networks. */
#include "ln_toy.h"
#include "registry.h"

#include <math.h>
#include <stdlib.h>

enum { NEAR_POINTS = 201, FAR_POINTS = 61, QUICK_EPOCHS = 500 };
static const double NEAR_END = 25, FAR_BEGIN = 5, FAR_END = 1e6;
static const double FIT_R2 = 0.95; /* "fits the data" */

/* One data set and one network: what both widths predict. */
typedef struct panel_data {
    family finite;
    far_predictor *infinite;
    double mean[NEAR_POINTS], half[NEAR_POINTS], limit[NEAR_POINTS];
    double far_finite[FAR_POINTS], far_infinite[FAR_POINTS];
} panel_data;

typedef struct study {
    double near[NEAR_POINTS], far[FAR_POINTS];
    panel_data panels[TOY_SETS][LN_NETS];
} study;

/* ---- computing ----------------------------------------------------------------------------- */

static far_status fit_finite(reproduction *r, const study *s, int set, int net, panel_data *p)
{
    double half[FAR_POINTS];
    char *arch = net_text(r, net, LN_FINITE, "relu");
    char *name = text_of("%s-%s", TOY_WORDS[set], LN_WORDS[net]);
    family_plan plan = {name, arch, set, QUICK_EPOCHS};
    far_status st;
    TRY(family_create(r, &plan, &p->finite));
    TRY(family_curve(r, &p->finite, s->near, NEAR_POINTS, p->mean, p->half));
    TRY(family_curve(r, &p->finite, s->far, FAR_POINTS, p->far_finite, half));
done:
    free(name);
    free(arch);
    return st;
}

static far_status fit_infinite(reproduction *r, const study *s, int set, int net, panel_data *p)
{
    double x[TOY_POINTS], y[TOY_POINTS];
    char *arch = net_text(r, net, LN_EXACT, "relu");
    far_status st;
    toy_fill(set, x, y);
    TRY(infinite_fit(r, arch, x, y, TOY_POINTS, &p->infinite));
    TRY(infinite_at(r, p->infinite, s->near, NEAR_POINTS, p->limit));
    TRY(infinite_at(r, p->infinite, s->far, FAR_POINTS, p->far_infinite));
done:
    free(arch);
    return st;
}

static far_status compute(reproduction *r, study *s, int set)
{
    far_status st = FAR_OK;
    for (int net = 0; net < LN_NETS; net++) {
        tell(r, "%s, %s", TOY_NAMES[set], LN_NAMES[net]);
        TRY(fit_finite(r, s, set, net, &s->panels[set][net]));
        TRY(fit_infinite(r, s, set, net, &s->panels[set][net]));
    }
done:
    return st;
}

static void study_free(study *s)
{
    for (int set = 0; set < TOY_SETS; set++) {
        for (int net = 0; net < LN_NETS; net++) {
            family_free(&s->panels[set][net].finite);
            far_predictor_destroy(s->panels[set][net].infinite);
        }
    }
    free(s);
}

/* ---- claims -------------------------------------------------------------------------------- */

static far_status claim_networks(reproduction *r, const study *s, int set)
{
    far_status st = FAR_OK;
    for (int net = 0; net < LN_NETS && st == FAR_OK; net++) {
        const char *what = words(r, "%s, %s", TOY_NAMES[set], LN_NAMES[net]);
        const family *f = &s->panels[set][net].finite;
        st = claim_proven(r, f, net != LN_NONE, what);
    }
    return st;
}

static far_status claim_fit(reproduction *r, const study *s, int set)
{
    double worst = 1;
    for (int net = 0; net < LN_NETS; net++) {
        worst = fmin(worst, s->panels[set][net].finite.r2);
    }
    const char *what = words(r, "%s, on the training points", TOY_NAMES[set]);
    const char *tested = words(r, "R2 at least %g of the worst network", FIT_R2);
    return claim(r,
                 &(claim_of){.what = what,
                             .paper = "every network fits them",
                             .place = "Figure 1",
                             .tested = tested,
                             .seeds = s->panels[set][0].finite.count,
                             .agrees = worst >= FIT_R2},
                 "R2 at least %.4f", worst);
}

/* Infinite width, from closed forms with 40 digits: the slope without a norm, limits with one, and
 * f(25); NAN where it was not tabulated. */
typedef struct theory {
    double limit[LN_NETS], at_25[LN_NETS];
} theory;

static const theory THEORY[TOY_SETS] = {
    {{-0.217539, -0.981644, -0.983021, -0.981644}, {-5.3112, -0.97717, -0.97833, NAN}},
    {{0.986431, 5.052325, 5.048445, 5.052325}, {24.7285, 5.04216, 5.03930, NAN}},
    {{5.096837, 25.366089, 25.507287, 25.366100}, {126.9395, 25.29472, 25.40826, NAN}},
};
static const double THEORY_TOLERANCE = 1e-5;

/* Both numbers of one network as ours, and whether they are the theory's. */
static far_status compare_theory(reproduction *r, const study *s, int set, int net, double *limit,
                                 bool *agrees)
{
    const far_predictor *m = s->panels[set][net].infinite;
    double order, at, x = 25;
    far_status st;
    TRY(infinite_limit(r, m, 1, limit, &order));
    TRY(infinite_at(r, m, &x, 1, &at));
    const theory *t = &THEORY[set];
    *agrees &= order == (net == LN_NONE ? 1 : 0);
    *agrees &= same_to(*limit, t->limit[net], THEORY_TOLERANCE);
    *agrees &= isnan(t->at_25[net]) || same_to(at, t->at_25[net], THEORY_TOLERANCE);
done:
    return st;
}

static char *limits_text(const char *head, const double *limit)
{
    return text_of("%sslope %.6f, limits %.6f, %.6f, %.6f", head, limit[LN_NONE], limit[LN_FIRST],
                   limit[LN_SECOND], limit[LN_EVERY]);
}

static far_status claim_theory(reproduction *r, const study *s, int set)
{
    double limit[LN_NETS];
    bool agrees = true;
    far_status st = FAR_OK;
    for (int net = 0; net < LN_NETS && st == FAR_OK; net++) {
        st = compare_theory(r, s, set, net, &limit[net], &agrees);
    }
    if (st != FAR_OK) {
        return st;
    }
    const char *what = words(r, "%s, infinite width", TOY_NAMES[set]);
    char *tested = limits_text("closed forms, six digits: ", THEORY[set].limit);
    char *ours = limits_text("", limit);
    st = claim(r, &(claim_of){.what = what, .tested = tested, .agrees = agrees}, "%s", ours);
    free(tested);
    free(ours);
    return st;
}

/* ---- figures ------------------------------------------------------------------------------- */

static far_status draw_near(reproduction *r, const study *s, int set, int net, far_figure **out)
{
    const panel_data *p = &s->panels[set][net];
    far_figure_opts opts =
        axes(set == 0 ? LN_NAMES[net] : NULL, NULL, net == 0 ? TOY_LABELS[set] : NULL);
    far_status st;
    TRY(far_figure_create(r->ctx, &opts, out));
    TRY(draw_curve(r, *out, s->near, p->mean, p->half, NEAR_POINTS, 0,
                   "128 wide, mean over seeds and its 95% interval"));
    TRY(draw_dashed(r, *out, s->near, p->limit, NEAR_POINTS, 1, "infinitely wide"));
    TRY(draw_toy(r, *out, set));
done:
    return st;
}

static far_status keep_near(reproduction *r, const study *s)
{
    far_figure *figures[TOY_SETS * LN_NETS] = {0};
    far_grid_opts opts = grid_of(NAN, NAN);
    opts.title = "Trained on [-5, 5], asked on [-25, 25]";
    opts.x_label = "x";
    opts.share_x = FAR_SHARE_LINE;
    opts.share_y = FAR_SHARE_LINE;
    far_status st = FAR_OK;
    for (int i = 0; i < TOY_SETS * LN_NETS && st == FAR_OK; i++) {
        st = draw_near(r, s, i / LN_NETS, i % LN_NETS, &figures[i]);
    }
    return keep_grid(r, figures, TOY_SETS, LN_NETS, &opts, "ln-fig1",
                     "Figure 1 of the paper: without a layer norm predictions leave with a slope, "
                     "with one anywhere they level off.",
                     st);
}

static far_status draw_far(reproduction *r, const study *s, int set, far_figure **out)
{
    far_figure_opts opts = log_axes(TOY_LABELS[set], NULL, NULL);
    far_status st = far_figure_create(r->ctx, &opts, out);
    for (int net = 0; net < LN_NETS && st == FAR_OK; net++) {
        double finite[FAR_POINTS], infinite[FAR_POINTS];
        for (int i = 0; i < FAR_POINTS; i++) {
            finite[i] = fabs(s->panels[set][net].far_finite[i]);
            infinite[i] = fabs(s->panels[set][net].far_infinite[i]);
        }
        TRY(draw_curve(r, *out, s->far, finite, NULL, FAR_POINTS, net, LN_NAMES[net]));
        TRY(draw_dashed(r, *out, s->far, infinite, FAR_POINTS, net, NULL));
    }
done:
    return st;
}

static far_status keep_far(reproduction *r, const study *s)
{
    far_figure *figures[TOY_SETS] = {0};
    far_grid_opts opts = grid_of(NAN, 320);
    opts.title = "Out to a million";
    opts.x_label = "x";
    opts.y_label = "|f(x)|";
    opts.share_y = FAR_SHARE_ALL;
    opts.note = "Solid: 128 wide, the mean over seeds; dashed: infinitely wide";
    far_status st = FAR_OK;
    for (int set = 0; set < TOY_SETS && st == FAR_OK; set++) {
        st = draw_far(r, s, set, &figures[set]);
    }
    return keep_grid(r, figures, 1, TOY_SETS, &opts, "ln-fig1-far",
                     "The size of predictions out to a million.", st);
}

/* ---- the table ----------------------------------------------------------------------------- */

static far_status add_row(reproduction *r, const family *f, const char *set, const char *net,
                          sheet *table)
{
    static const double X[] = {10, 25, 100, 1e6};
    double mean[4], half[4];
    far_status st = family_curve(r, f, X, 4, mean, half);
    add_cell(table, "%s", set);
    add_cell(table, "%s", net);
    add_cell(table, "%.4f", f->r2);
    for (int i = 0; i < 4; i++) {
        add_cell(table, "%.4g", mean[i]);
    }
    bool bounded = f->bounded == f->count;
    add_cell(table, bounded ? "bounded" : "unbounded");
    add_cell(table, "%.4g", bounded ? far_round_up(f->bound, 4) : INFINITY);
    return st;
}

static far_status keep_numbers(reproduction *r, const study *s)
{
    static const char *const HEADS[] = {"data",   "network", "least R2 in range",
                                        "f(10)",  "f(25)",   "f(100)",
                                        "f(1e6)", "proven",  "|f| at most, for every x"};
    sheet table = {.heads = HEADS, .cols = sizeof HEADS / sizeof HEADS[0]};
    far_status st = FAR_OK;
    for (int i = 0; i < TOY_SETS * LN_NETS && st == FAR_OK; i++) {
        int set = i / LN_NETS, net = i % LN_NETS;
        st = add_row(r, &s->panels[set][net].finite, TOY_NAMES[set], LN_NAMES[net], &table);
    }
    return keep_sheet(r, &table, "ln-fig1-networks",
                      "Trained networks, 128 wide: means over seeds, and what is proven of all.",
                      st);
}

far_status run_ln_fig1(reproduction *r)
{
    study *s = ROOM(1, study);
    far_status st;
    spread(-NEAR_END, NEAR_END, s->near, NEAR_POINTS);
    spread_log(FAR_BEGIN, FAR_END, s->far, FAR_POINTS);
    TRY(keep_toy_protocol(r, QUICK_EPOCHS));
    for (int set = 0; set < TOY_SETS; set++) {
        TRY(compute(r, s, set));
        TRY(claim_fit(r, s, set));
        TRY(claim_networks(r, s, set));
        TRY(claim_theory(r, s, set));
    }
    TRY(keep_near(r, s));
    TRY(keep_far(r, s));
    TRY(keep_numbers(r, s));
done:
    study_free(s);
    return st;
}
