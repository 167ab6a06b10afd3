/* Digits: scores against the number of features, and digits against what is none. */
#include "ella.h"
#include "side_by_side.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OUTSIDE_TURNED, OUTSIDE_NOISE, OUTSIDES };

enum { AUROC_RANK = 20 };
/* What tells rows apart: entropies of the network and of both forms, and both variances. */
enum {
    BY_MAP,
    BY_ENTROPY,
    BY_VARIANCE = BY_ENTROPY + ELLA_FORMS,
    SIGNS = BY_VARIANCE + ELLA_FORMS
};

double ella_distance(const double *a, const double *b, int64_t count)
{
    double gap = 0, size = 0;
    for (int64_t i = 0; i < count; i++) {
        gap += (a[i] - b[i]) * (a[i] - b[i]);
        size += b[i] * b[i];
    }
    return sqrt(gap / size);
}

far_laplace_opts ella_options(far_laplace_method method)
{
    far_laplace_opts o;
    far_laplace_opts_init(&o);
    o.method = method;
    o.likelihood = FAR_LIKELIHOOD_SOFTMAX;
    return o;
}

ella_plan ella_plan_for(const reproduction *r)
{
    static const int64_t FULL[] = {5, 10, 20, 50, 100, 200, 400}, QUICK[] = {5, 20, 400};
    ella_plan p = {.seeds = seeds_of(r, 2, 6),
                   .samples = r->quick ? ELLA_CHOICE_SAMPLES : 512,
                   .epochs = epochs_of(r, 20000, 20000),
                   .rank_count = r->quick ? 3 : 7,
                   .priors = 13};
    memcpy(p.ranks, r->quick ? QUICK : FULL, (size_t)p.rank_count * sizeof *p.ranks);
    return p;
}

/* ---- the network --------------------------------------------------------------------------- */

static far_status train_net(reproduction *r, const ella_plan *p, uint64_t seed, ella_digits *d)
{
    far_train_opts o;
    far_train_result result;
    far_mat x = digits_points(&d->train, 0, ELLA_TRAIN);
    far_mat y = far_mat_view(d->train.digit, ELLA_TRAIN, 1, FAR_F64);
    far_status st;
    far_train_opts_init(&o);
    o.loss = FAR_LOSS_CE;
    o.lr = 0.01;
    o.epochs = p->epochs;
    o.stop_loss = r->sabotage ? 0.3 : 3e-4; /* sabotaged: too early to be too sure */
    TRY(new_net(r, ELLA_DIGITS_NET, DIGIT_PIXELS, FAR_INIT_KAIMING_NORMAL, seed, &d->net));
    TRY(far_net_train(r->ctx, d->net, &x, &y, &o, &result));
    d->loss = result.final_loss;
done:
    return st;
}

static digits first_digits(const digits *d, int64_t rows)
{
    digits out = {rows, ROOM(rows * DIGIT_PIXELS, double), ROOM(rows, double)};
    memcpy(out.x, d->x, (size_t)(rows * DIGIT_PIXELS) * sizeof *out.x);
    memcpy(out.digit, d->digit, (size_t)rows * sizeof *out.digit);
    return out;
}

far_status ella_digits_open(reproduction *r, const ella_plan *p, const digits *train,
                            const digits *test, uint64_t seed, ella_digits *out)
{
    *out = (ella_digits){.train = p->at_random ? digits_shuffled(train, seed)
                                               : first_digits(train, ELLA_TRAIN),
                         .test = digits_shuffled(test, seed),
                         .labels = ROOM(test->rows, int64_t)};
    for (int64_t i = 0; i < test->rows; i++) {
        out->labels[i] = (int64_t)out->test.digit[i];
    }
    return train_net(r, p, seed, out);
}

void ella_digits_close(ella_digits *d)
{
    digits_free(&d->train);
    digits_free(&d->test);
    free(d->labels);
    far_net_destroy(d->net);
}

/* ---- one seed ------------------------------------------------------------------------------ */

/* What is found for one seed. */
typedef struct finding {
    double loss;
    far_class_score map, score[ELLA_FORMS][ELLA_MOST_RANKS];
    double prior[ELLA_FORMS][ELLA_MOST_RANKS];
    int64_t chosen[ELLA_FORMS]; /* the K with the least NLL on the half that chooses */
    int64_t ends;               /* priors at an end of the grid */
    double excess; /* largest relative one of a variance without the residual prior over that with
                      it, at the same K and s0^2 */
    double auroc[SIGNS][OUTSIDES];
} finding;

/* A seed at work. */
typedef struct bench {
    reproduction *r;
    const ella_plan *plan;
    ella_digits d;
    far_laplace *la;
    far_mat choose, score, outside[OUTSIDES]; /* points */
    double *mean, *covariance, *other, *probability;
    far_probability_opts rule;
    finding *found;
} bench;

static double *outside_points(const bench *b, int kind, uint64_t seed)
{
    int64_t rows = b->score.rows;
    const double *x = b->score.data;
    double *out = ROOM(rows * DIGIT_PIXELS, double);
    uint64_t state = seed + 77;
    for (int64_t k = 0; k < rows * DIGIT_PIXELS; k++) {
        int64_t turned = k / DIGIT_PIXELS * DIGIT_PIXELS + (DIGIT_PIXELS - 1 - k % DIGIT_PIXELS);
        out[k] = kind == OUTSIDE_TURNED ? x[turned] : uniform(&state);
    }
    return out;
}

static void make_room(bench *b, uint64_t seed)
{
    int64_t half = b->d.test.rows / 2, rest = b->d.test.rows - half, c = ELLA_CLASSES;
    b->choose = digits_points(&b->d.test, 0, half);
    b->score = digits_points(&b->d.test, half, rest);
    b->mean = ROOM(rest * c, double);
    b->covariance = ROOM(rest * c * c, double);
    b->other = ROOM(rest * c * c, double);
    b->probability = ROOM(rest * c, double);
    for (int kind = 0; kind < OUTSIDES; kind++) {
        b->outside[kind] = far_mat_view(outside_points(b, kind, seed), rest, DIGIT_PIXELS, FAR_F64);
    }
    b->rule = (far_probability_opts){.size = sizeof b->rule};
    b->rule.rule = FAR_PROBABILITY_SAMPLES;
    b->rule.samples = b->plan->samples;
    b->rule.seed = seed;
}

static void bench_close(bench *b)
{
    for (int kind = 0; kind < OUTSIDES; kind++) {
        free(b->outside[kind].data);
    }
    FREE(b->mean, b->covariance, b->other, b->probability);
    far_laplace_destroy(b->la);
    ella_digits_close(&b->d);
}

/* probability of points, by the posterior or (map) by the network as it is. */
static far_status say(bench *b, const far_mat *x, bool map, far_mat *covariance,
                      far_mat *probability)
{
    far_probability_opts o = b->rule;
    far_mat mean = far_mat_view(b->mean, x->rows, ELLA_CLASSES, FAR_F64);
    far_status st;
    o.rule = map ? FAR_PROBABILITY_MEAN : o.rule;
    *covariance = far_mat_view(b->covariance, x->rows * ELLA_CLASSES, ELLA_CLASSES, FAR_F64);
    *probability = far_mat_view(b->probability, x->rows, ELLA_CLASSES, FAR_F64);
    TRY(far_laplace_predict(b->r->ctx, b->la, x, &mean, map ? NULL : covariance));
    TRY(far_laplace_probability(b->r->ctx, &mean, map ? NULL : covariance, &o, probability));
done:
    return st;
}

static far_status score_half(bench *b, bool map, far_class_score *out)
{
    far_mat covariance, probability;
    far_status st = say(b, &b->score, map, &covariance, &probability);
    const int64_t *labels = b->d.labels + b->choose.rows;
    return st == FAR_OK ? far_class_scores(b->r->ctx, &probability, labels, 0, out) : st;
}

/* ---- choosing ------------------------------------------------------------------------------ */

static int64_t least_of(const double *v, int64_t count)
{
    int64_t best = 0;
    for (int64_t k = 1; k < count; k++) {
        best = v[k] < v[best] ? k : best;
    }
    return best;
}

/* The best prior of every rank, and the best rank. */
static far_status choose(bench *b, ella_form form)
{
    const ella_plan *p = b->plan;
    double priors[16], nll[ELLA_MOST_RANKS * 16], best[ELLA_MOST_RANKS];
    far_laplace_grid g;
    far_status st;
    spread_log(1e-4, 1e2, priors, p->priors);
    g = (far_laplace_grid){.size = sizeof g};
    g.ranks = p->ranks;
    g.rank_count = p->rank_count;
    g.priors = priors;
    g.prior_count = p->priors;
    g.nll = nll;
    g.probability = b->rule;
    g.probability.samples = ELLA_CHOICE_SAMPLES;
    TRY(far_laplace_set(b->r->ctx, b->la, 0, NAN, form == ELLA_RESIDUAL));
    TRY(far_laplace_choose(b->r->ctx, b->la, &b->choose, b->d.labels, NULL, &g, NULL));
    for (int64_t k = 0; k < p->rank_count; k++) {
        int64_t at = least_of(nll + k * p->priors, p->priors);
        best[k] = nll[k * p->priors + at];
        b->found->prior[form][k] = priors[at];
        b->found->ends += at == 0 || at == p->priors - 1;
    }
    b->found->chosen[form] = least_of(best, p->rank_count);
done:
    return st;
}

/* ---- variances with and without ------------------------------------------------------------ */

/* The paper's variances stand in b->other. */
static double largest_excess(const bench *b)
{
    double most = -INFINITY;
    int64_t c = ELLA_CLASSES;
    for (int64_t i = 0; i < b->score.rows * c; i++) {
        double with = b->covariance[i * c + i % c], without = b->other[i * c + i % c];
        most = fmax(most, (without - with) / with);
    }
    return most;
}

static far_status compare_variances(bench *b)
{
    int64_t rows = b->score.rows * ELLA_CLASSES;
    far_mat with = far_mat_view(b->covariance, rows, ELLA_CLASSES, FAR_F64);
    far_mat without = far_mat_view(b->other, rows, ELLA_CLASSES, FAR_F64);
    far_status st;
    TRY(far_laplace_set(b->r->ctx, b->la, 0, NAN, 0));
    TRY(far_laplace_predict(b->r->ctx, b->la, &b->score, NULL, &without));
    TRY(far_laplace_set(b->r->ctx, b->la, 0, NAN, 1));
    TRY(far_laplace_predict(b->r->ctx, b->la, &b->score, NULL, &with));
    b->found->excess = fmax(b->found->excess, largest_excess(b));
done:
    return st;
}

/* ---- what is no digit ---------------------------------------------------------------------- */

/* Entropies and variances of points, as many numbers each as there are points. */
static far_status signs_of(bench *b, const far_mat *x, bool map, double *entropy, double *variance)
{
    far_mat covariance, probability;
    far_status st;
    TRY(say(b, x, map, &covariance, &probability));
    TRY(far_class_entropy(b->r->ctx, &probability, entropy));
    TRY(map ? FAR_OK : far_laplace_variance(b->r->ctx, &covariance, variance));
done:
    return st;
}

static far_status tell_apart(bench *b, bool map, double *by_entropy, double *by_variance)
{
    int64_t n = b->score.rows;
    double *in = ROOM(4 * n, double), *out = in + 2 * n;
    far_status st;
    TRY(signs_of(b, &b->score, map, in, in + n));
    for (int kind = 0; kind < OUTSIDES; kind++) {
        TRY(signs_of(b, &b->outside[kind], map, out, out + n));
        TRY(far_domain_auroc(b->r->ctx, in, n, out, n, &by_entropy[kind]));
        TRY(map ? FAR_OK : far_domain_auroc(b->r->ctx, in + n, n, out + n, n, &by_variance[kind]));
    }
done:
    free(in);
    return st;
}

/* ---- all of a seed ------------------------------------------------------------------------- */

static far_status fit(bench *b, uint64_t seed)
{
    far_laplace_opts o = ella_options(FAR_LAPLACE_ELLA);
    far_mat x = digits_points(&b->d.train, 0, ELLA_TRAIN);
    o.landmarks = ELLA_LANDMARKS;
    o.rank = b->plan->ranks[b->plan->rank_count - 1];
    o.seed = seed;
    return far_laplace_fit(b->r->ctx, b->d.net, &x, &o, &b->la);
}

static far_status study_form(bench *b, ella_form form)
{
    finding *f = b->found;
    far_status st;
    TRY(choose(b, form));
    for (int64_t k = 0; k < b->plan->rank_count; k++) {
        int64_t rank = b->plan->ranks[k];
        TRY(far_laplace_set(b->r->ctx, b->la, rank, f->prior[form][k], -1));
        TRY(score_half(b, false, &f->score[form][k]));
        if (rank == AUROC_RANK) {
            TRY(tell_apart(b, false, f->auroc[BY_ENTROPY + form], f->auroc[BY_VARIANCE + form]));
        }
        if (form == ELLA_RESIDUAL) {
            TRY(compare_variances(b));
        }
    }
done:
    return st;
}

typedef struct study {
    ella_plan plan;
    const digits *train, *test;
    finding *found;       /* one a seed */
    ella_method *methods; /* ELLA_METHODS a seed; NULL: not wanted */
} study;

static far_status study_methods(bench *b, uint64_t seed, ella_method *out)
{
    ella_method_rows m = {.net = b->d.net,
                          .train = digits_points(&b->d.train, 0, ELLA_TRAIN),
                          .choose = b->choose,
                          .score = b->score,
                          .labels = b->d.labels,
                          .rule = b->rule,
                          .seed = seed};
    int64_t last = b->plan->rank_count - 1;
    return ella_methods_of(b->r, b->plan, &m, b->found->prior[ELLA_RESIDUAL][last], out);
}

static far_status run_seed(reproduction *r, int64_t job, void *user)
{
    study *s = user;
    bench b = {.r = r, .plan = &s->plan, .found = &s->found[job]};
    uint64_t seed = (uint64_t)job;
    far_status st;
    s->found[job] = (finding){.excess = -INFINITY};
    TRY(ella_digits_open(r, &s->plan, s->train, s->test, seed, &b.d));
    s->found[job].loss = b.d.loss;
    make_room(&b, seed);
    TRY(fit(&b, seed));
    TRY(score_half(&b, true, &s->found[job].map));
    TRY(tell_apart(&b, true, s->found[job].auroc[BY_MAP], NULL));
    for (int form = 0; form < ELLA_FORMS; form++) {
        TRY(study_form(&b, (ella_form)form));
    }
    TRY(s->methods ? study_methods(&b, seed, s->methods + job * ELLA_METHODS) : FAR_OK);
done:
    bench_close(&b);
    return st;
}

/* ---- over seeds ---------------------------------------------------------------------------- */

typedef double (*pick_fn)(const far_class_score *s);

NUMBER_OF(pick_nll, far_class_score, nll)
NUMBER_OF(pick_ece, far_class_score, ece)
NUMBER_OF(pick_accuracy, far_class_score, accuracy)

/* Over seeds: form ELLA_FORMS is the network as it is. */
static far_status mean_of(reproduction *r, const study *s, int form, int64_t rank, pick_fn pick,
                          double *mean, double *half)
{
    double *values = ROOM(s->plan.seeds, double);
    for (int64_t i = 0; i < s->plan.seeds; i++) {
        const finding *f = &s->found[i];
        values[i] = pick(form == ELLA_FORMS ? &f->map : &f->score[form][rank]);
    }
    far_status st = far_mean_interval(r->ctx, values, s->plan.seeds, mean, half);
    free(values);
    return st;
}

static far_status draw_form(reproduction *r, const study *s, int form, pick_fn pick,
                            far_figure *figure)
{
    double x[ELLA_MOST_RANKS], mean[ELLA_MOST_RANKS], half[ELLA_MOST_RANKS];
    int64_t n = s->plan.rank_count;
    far_status st;
    for (int64_t k = 0; k < n; k++) {
        x[k] = (double)s->plan.ranks[k];
        TRY(mean_of(r, s, form, k, pick, &mean[k], &half[k]));
    }
    st = draw_curve(r, figure, x, mean, half, n, form == ELLA_FORMS ? 7 : form,
                    form == ELLA_FORMS ? "MAP" : ELLA_NAMES[form]);
done:
    return st;
}

static far_status draw_panel(reproduction *r, const study *s, const char *label, pick_fn pick,
                             far_figure **out)
{
    far_figure_opts o = axes(NULL, "features K", label);
    far_status st;
    o.x_scale = FAR_SCALE_LOG;
    o.y_min = 0;
    TRY(far_figure_create(r->ctx, &o, out));
    for (int form = ELLA_FORMS; form >= 0; form--) {
        TRY(draw_form(r, s, form, pick, *out));
    }
done:
    return st;
}

static far_status draw(reproduction *r, const study *s)
{
    far_figure *panels[2] = {NULL};
    far_grid_opts o = grid_of(760, 360);
    far_status st;
    TRY(draw_panel(r, s, "NLL", pick_nll, &panels[0]));
    TRY(draw_panel(r, s, "ECE", pick_ece, &panels[1]));
done:
    return keep_grid(r, panels, 1, 2, &o, "ella-digits",
                     "Scores on digits that chose nothing, against the number of features; s0^2 "
                     "chosen for each K. Mean over seeds and its 95% interval.",
                     st);
}

/* ---- tables -------------------------------------------------------------------------------- */

static far_status add_score(reproduction *r, const study *s, int form, int64_t k, pick_fn pick,
                            sheet *t)
{
    double mean, half;
    far_status st = mean_of(r, s, form, k, pick, &mean, &half);
    if (isnan(half)) {
        add_cell(t, "%.4f", mean);
    } else {
        add_cell(t, "%.4f +- %.4f", mean, half);
    }
    return st;
}

static double middle_prior(const study *s, int form, int64_t k)
{
    double sum = 0;
    for (int64_t i = 0; i < s->plan.seeds; i++) {
        sum += log(s->found[i].prior[form][k]) / (double)s->plan.seeds;
    }
    return exp(sum);
}

static far_status keep_scores(reproduction *r, const study *s, const char *name,
                              const char *caption)
{
    static const char *const HEADS[] = {"predictive", "K",        "NLL",
                                        "ECE",        "accuracy", "s0^2, geometric mean"};
    sheet t = {.heads = HEADS, .cols = 6};
    far_status st = FAR_OK;
    for (int form = ELLA_FORMS; form >= 0 && st == FAR_OK; form--) {
        int64_t count = form == ELLA_FORMS ? 1 : s->plan.rank_count;
        for (int64_t k = 0; k < count; k++) {
            add_cell(&t, "%s", form == ELLA_FORMS ? "MAP" : ELLA_NAMES[form]);
            add_cell(&t, form == ELLA_FORMS ? "" : "%lld", (long long)s->plan.ranks[k]);
            TRY(add_score(r, s, form, k, pick_nll, &t));
            TRY(add_score(r, s, form, k, pick_ece, &t));
            TRY(add_score(r, s, form, k, pick_accuracy, &t));
            add_cell(&t, form == ELLA_FORMS ? "" : "%.3g",
                     form == ELLA_FORMS ? 0 : middle_prior(s, form, k));
        }
    }
done:
    return keep_sheet(r, &t, name, caption, st);
}

static far_status add_auroc(reproduction *r, const study *s, int sign, int kind, sheet *t)
{
    double *values = ROOM(s->plan.seeds, double), mean, half;
    for (int64_t i = 0; i < s->plan.seeds; i++) {
        values[i] = s->found[i].auroc[sign][kind];
    }
    far_status st = far_mean_interval(r->ctx, values, s->plan.seeds, &mean, &half);
    add_cell(t, isnan(half) ? "%.3f" : "%.3f +- %.3f", mean, half);
    free(values);
    return st;
}

static far_status keep_auroc(reproduction *r, const study *s)
{
    static const char *const HEADS[] = {"told apart by", "digits upside down", "noise"};
    static const char *const NAMES[SIGNS] = {
        "entropy, MAP", "entropy, ELLA (paper)", "entropy, ELLA with residual prior",
        "variance, ELLA (paper)", "variance, ELLA with residual prior"};
    sheet t = {.heads = HEADS, .cols = 1 + OUTSIDES};
    far_status st = FAR_OK;
    for (int sign = 0; sign < SIGNS; sign++) {
        add_cell(&t, "%s", NAMES[sign]);
        for (int kind = 0; kind < OUTSIDES; kind++) {
            TRY(add_auroc(r, s, sign, kind, &t));
        }
    }
done:
    return keep_sheet(r, &t, "ella-auroc",
                      "AUROC of digits against what is none, for 20 features (1: told apart, 0.5: "
                      "not at all).",
                      st);
}

/* ---- claims -------------------------------------------------------------------------------- */

static claim_of better_than_map(const study *s, const char *what, const char *tested, bool agrees)
{
    return (claim_of){.what = what,
                      .paper = "CIFAR-10, ResNet-20: NLL .2815 to .2331, ECE .0390 to .0092",
                      .place = "the authors' log, not the paper's text",
                      .tested = tested,
                      .seeds = s->plan.seeds,
                      .agrees = agrees};
}

/* The least over K of the drop of the mean NLL; and the least of any K and seed. */
static far_status claim_nll(reproduction *r, const study *s, ella_form form)
{
    double map, mean, half, least = INFINITY, worst = INFINITY;
    far_status st;
    TRY(mean_of(r, s, ELLA_FORMS, 0, pick_nll, &map, &half));
    for (int64_t k = 0; k < s->plan.rank_count; k++) {
        TRY(mean_of(r, s, form, k, pick_nll, &mean, &half));
        least = fmin(least, 1 - mean / map);
        for (int64_t i = 0; i < s->plan.seeds; i++) {
            worst = fmin(worst, 1 - s->found[i].score[form][k].nll / s->found[i].map.nll);
        }
    }
    const char *what = words(r, "%s, NLL against MAP, every K from 5 to 400", ELLA_NAMES[form]);
    claim_of c =
        better_than_map(s, what, "drops by more than 20% in the mean over seeds", least > 0.2);
    st = claim(r, &c, "by %.1f%% or more (%.1f%% for the worst seed)", 100 * least, 100 * worst);
done:
    return st;
}

static far_status claim_ece(reproduction *r, const study *s, ella_form form)
{
    double map, mean, half, worst = 0;
    far_status st;
    TRY(mean_of(r, s, ELLA_FORMS, 0, pick_ece, &map, &half));
    TRY(mean_of(r, s, form, 0, pick_ece, &mean, &half));
    for (int64_t i = 0; i < s->plan.seeds; i++) {
        worst = fmax(worst, s->found[i].score[form][0].ece / s->found[i].map.ece);
    }
    const char *what =
        words(r, "%s, ECE for K = %lld", ELLA_NAMES[form], (long long)s->plan.ranks[0]);
    claim_of c = better_than_map(s, what, "less than 0.7 times that of MAP in the mean over seeds",
                                 mean < 0.7 * map);
    st = claim(r, &c, "%.4f against %.4f, %.2f times (%.2f for the worst seed)", mean, map,
               mean / map, worst);
done:
    return st;
}

static far_status claim_variances(reproduction *r, const study *s)
{
    double most = -INFINITY;
    for (int64_t i = 0; i < s->plan.seeds; i++) {
        most = fmax(most, s->found[i].excess);
    }
    return claim(r,
                 &(claim_of){.what = "variances without the residual prior, every K, digit and "
                                     "class",
                             .tested = "at most those with it, to 1e-9",
                             .by_construction = true,
                             .agrees = most <= 1e-9},
                 "at most %.3g times them", 1 + most);
}

/* "5, 20, 5": the K that each seed chooses; free it. */
static char *chosen_ranks(const study *s, int form)
{
    char *list = text_of("%lld", (long long)s->plan.ranks[s->found[0].chosen[form]]);
    for (int64_t i = 1; i < s->plan.seeds; i++) {
        char *longer =
            text_of("%s, %lld", list, (long long)s->plan.ranks[s->found[i].chosen[form]]);
        free(list);
        list = longer;
    }
    return list;
}

static int64_t choices_at_ends(const study *s)
{
    int64_t ends = 0;
    for (int64_t i = 0; i < s->plan.seeds; i++) {
        ends += s->found[i].ends;
    }
    return ends;
}

/* K chosen as s0^2 is: said, without a claim. */
static far_status say_chosen(reproduction *r, const study *s, int form)
{
    double nll = 0, ece = 0, n = (double)s->plan.seeds;
    for (int64_t i = 0; i < s->plan.seeds; i++) {
        const finding *f = &s->found[i];
        nll += f->score[form][f->chosen[form]].nll / n;
        ece += f->score[form][f->chosen[form]].ece / n;
    }
    char *list = chosen_ranks(s, form);
    far_status st =
        keep_text(r, "%s with K chosen by NLL too: %s for the seeds; NLL %.4f, ECE %.4f.",
                  ELLA_NAMES[form], list, nll, ece);
    free(list);
    return st;
}

static far_status say_losses(reproduction *r, const study *s)
{
    double least = INFINITY, most = 0;
    for (int64_t i = 0; i < s->plan.seeds; i++) {
        least = fmin(least, s->found[i].loss);
        most = fmax(most, s->found[i].loss);
    }
    return keep_text(r,
                     "The networks end with training losses from %.3g to %.3g. Of all choices of "
                     "s0^2 (both forms) %lld of %lld lie at an end of the grid.",
                     least, most, (long long)choices_at_ends(s),
                     (long long)(s->plan.seeds * s->plan.rank_count * ELLA_FORMS));
}

static far_status report(reproduction *r, const study *s)
{
    double map, half;
    far_status st;
    TRY(keep_heading(r, "Digits"));
    for (int form = 0; form < ELLA_FORMS; form++) {
        TRY(claim_nll(r, s, (ella_form)form));
        TRY(claim_ece(r, s, (ella_form)form));
    }
    TRY(claim_variances(r, s));
    TRY(draw(r, s));
    TRY(keep_scores(r, s, "ella-digits-table", "Digits, by the number of features."));
    TRY(say_losses(r, s));
    for (int form = 0; form < ELLA_FORMS; form++) {
        TRY(say_chosen(r, s, form));
    }
    TRY(mean_of(r, s, ELLA_FORMS, 0, pick_nll, &map, &half));
    TRY(ella_report_methods(r, s->methods, s->plan.seeds, map));
    TRY(keep_heading(r, "Out of domain"));
    TRY(keep_auroc(r, s));
    TRY(keep_text(r,
                  "Nothing is claimed here: the paper's domains are other data. Noise is a pixel "
                  "drawn from 0 to 1 each; a digit upside down may still be one (0, 1, 8, or 6 "
                  "and 9)."));
done:
    return st;
}

static int64_t index_of_rank(const ella_plan *p, int64_t rank)
{
    int64_t at = 0;
    while (at + 1 < p->rank_count && p->ranks[at] != rank) {
        at++;
    }
    return at;
}

/* Without a claim: the trial that the claims come from had the first digits of the file. */
static far_status report_random(reproduction *r, study *s)
{
    double map, mean, half, least = INFINITY, most = -INFINITY;
    far_status st;
    s->plan.at_random = true;
    free(s->methods);
    s->methods = NULL;
    TRY(side_by_side(r, "digits at random", s->plan.seeds, run_seed, s));
    TRY(mean_of(r, s, ELLA_FORMS, 0, pick_nll, &map, &half));
    for (int64_t k = 0; k < ELLA_FORMS * s->plan.rank_count; k++) {
        TRY(mean_of(r, s, (int)(k % ELLA_FORMS), k / ELLA_FORMS, pick_nll, &mean, &half));
        least = fmin(least, 1 - mean / map);
        most = fmax(most, 1 - mean / map);
    }
    TRY(keep_section(
        r, "Training digits at random",
        "The same with %d digits of the whole training file at random, others for each "
        "seed, without a claim: NLL drops by %.1f%% to %.1f%% over K and both forms.",
        ELLA_TRAIN, 100 * least, 100 * most));
    TRY(keep_scores(r, s, "ella-random-table", "Training digits at random."));
done:
    return st;
}

far_status ella_study_digits(reproduction *r, const digits *train, const digits *test,
                             double *prior)
{
    study s = {.plan = ella_plan_for(r), .train = train, .test = test};
    far_status st;
    s.found = ROOM(s.plan.seeds, finding);
    s.methods = ROOM(s.plan.seeds * ELLA_METHODS, ella_method);
    TRY(side_by_side(r, "digits", s.plan.seeds, run_seed, &s));
    TRY(report(r, &s));
    *prior = s.found[0].prior[ELLA_RESIDUAL][index_of_rank(&s.plan, AUROC_RANK)];
    TRY(r->quick ? FAR_OK : report_random(r, &s));
done:
    free(s.found);
    free(s.methods);
    return st;
}
