/* Appendix M: a decoder-only transformer learns straight lines. A layer norm behind its embedding
 * holds what it says of lines that go on; without it nothing does. */
#include "parts.h"
#include "registry.h"
#include "run_grid.h"

#include <math.h>
#include <string.h>

/* A window has the values of one training sequence but the last: each predicts the next one. */
enum { LENGTH = 30, PLACES = LENGTH - 1, FIRST = 20, LAST = 100, CURVE = LAST - FIRST + 1 };
enum { BATCH = 10, FAR_PLACES = 2 };
static const double FAR_AT[FAR_PLACES] = {1e3, 1e5};
static const double GROWS = 10, STAYS = 1.1; /* from one to the other, by what factor */

/* ---- networks ------------------------------------------------------------------------------ */

/* Eight of them: what the paper compares, and what it leaves open. */
enum { SINES = 1, BLOCK_NORMS = 2, EMBEDDING_NORM = 4, VARIANTS = 8 };
#define NORM "ln(eps=1e-5, affine) "

static int64_t channels_of(const reproduction *r)
{
    return r->quick ? 16 : 64;
}

/* end: "" gives all positions, "last " that of the last one. Free it. */
static char *arch_of_variant(const reproduction *r, int variant, const char *end)
{
    bool first = (variant & EMBEDDING_NORM) != 0;
    const char *norm = variant & BLOCK_NORMS ? NORM : "";
    long long c = channels_of(r);
    return text_of("sequence(%dx1) dense(%lld) %sposition%s [skip(%sattention(4, causal)) "
                   "skip(%sdense(%lld) gelu dense(%lld))]x2 %sdense(1)",
                   PLACES, c, first != r->sabotage ? NORM : "", variant & SINES ? "(sines)" : "",
                   norm, norm, 4 * c, c, end);
}

static const char *name_of(reproduction *r, int variant)
{
    return words(r, "%s the embedding's norm, blocks %s norms, positions %s",
                 variant & EMBEDDING_NORM ? "with" : "without",
                 variant & BLOCK_NORMS ? "with" : "without",
                 variant & SINES ? "as sines" : "learnt");
}

/* ---- lines --------------------------------------------------------------------------------- */

typedef struct line {
    double a, b;
} line;

typedef struct plan {
    int64_t seeds, sequences, epochs, tests;
    const line *lines; /* tests of them, the same for every network; the first is f(i) = i */
} plan;

/* What a network of one variant and seed has come to: numbers alone, as run_grid keeps them. */
typedef struct run {
    double near, far;    /* root of the mean squared error at i = 20..30 and 31..100 */
    double most;         /* the largest |prediction| at i = 20..100 over that of a training value */
    double growth;       /* of |prediction|, the median over lines */
    double curve[CURVE]; /* of the first line */
    double verdict;      /* a far_verdict */
    double bound;
} run;

static double value_at(const line *l, double i)
{
    return l->a + l->b * i;
}

static line draw_line(uint64_t *state)
{
    line l = {.a = normal(state)};
    l.b = normal(state);
    return l;
}

/* n x LENGTH, in units of their standard deviation, which is *scale; *most is the largest. */
static double *training_lines(int64_t n, uint64_t seed, double *scale, double *most)
{
    double *x = ROOM(n * LENGTH, double), sum = 0, square = 0, count = (double)(n * LENGTH);
    uint64_t state = seed * 7919 + 11;
    *most = 0;
    for (int64_t k = 0; k < n; k++) {
        line l = draw_line(&state);
        for (int i = 0; i < LENGTH; i++) {
            double value = x[k * LENGTH + i] = value_at(&l, i + 1);
            sum += value;
            square += value * value;
            *most = fmax(*most, fabs(value));
        }
    }
    *scale = sqrt(square / count - sum * sum / count / count);
    for (int64_t i = 0; i < n * LENGTH; i++) {
        x[i] /= *scale;
    }
    return x;
}

static far_status train(reproduction *r, const plan *p, int64_t seed, far_net *net, double *x)
{
    far_mat rows = far_mat_view(x, p->sequences, LENGTH, FAR_F64);
    far_train_opts o;
    far_train_opts_init(&o);
    o.next = 1;
    o.epochs = p->epochs;
    o.batch = BATCH;
    o.schedule.kind = FAR_SCHEDULE_COSINE;
    o.seed = (uint64_t)seed;
    return far_net_train(r->ctx, net, &rows, NULL, &o, NULL);
}

/* ---- what it says of lines that go on ------------------------------------------------------ */

/* The window that ends before i, and which of its positions predicts the value at i. */
static int64_t set_window(const line *l, double i, double scale, double *window)
{
    double first = i > LENGTH ? i - PLACES : 1;
    for (int k = 0; k < PLACES; k++) {
        window[k] = value_at(l, first + k) / scale;
    }
    return (int64_t)(i - first) - 1;
}

/* out: the predictions at count places, ascending whole numbers from FIRST on. */
static far_status predict(reproduction *r, const far_net *net, const line *l, const double *where,
                          int64_t count, double scale, double *out)
{
    double *x = ROOM(count * PLACES, double), *f = ROOM(count * PLACES, double);
    far_mat rows = far_mat_view(x, count, PLACES, FAR_F64),
            values = far_mat_view(f, count, PLACES, FAR_F64);
    for (int64_t k = 0; k < count; k++) {
        set_window(l, where[k], scale, x + k * PLACES);
    }
    far_status st = far_net_eval(r->ctx, net, &rows, &values);
    for (int64_t k = 0; k < count && st == FAR_OK; k++) {
        out[k] = scale * f[k * PLACES + set_window(l, where[k], scale, x)];
    }
    FREE(x, f);
    return st;
}

typedef struct errors {
    double near, far; /* sums of squares */
} errors;

static void count_errors(const line *l, const double *f, errors *e)
{
    for (int k = 0; k < CURVE; k++) {
        double off = f[k] - value_at(l, FIRST + k);
        *(FIRST + k <= LENGTH ? &e->near : &e->far) += off * off;
    }
}

static far_status judge(reproduction *r, const plan *p, const far_net *net, double scale,
                        double most, run *job)
{
    double at[CURVE], f[CURVE], away[FAR_PLACES], *growth = ROOM(p->tests, double);
    double near = (double)(p->tests * (LENGTH - FIRST + 1)),
           far = (double)(p->tests * (LAST - LENGTH));
    errors e = {0};
    far_status st;
    spread(FIRST, LAST, at, CURVE);
    for (int k = 0; k < CURVE; k++) {
        at[k] = round(at[k]);
    }
    for (int64_t i = 0; i < p->tests; i++) {
        TRY(predict(r, net, &p->lines[i], at, CURVE, scale, f));
        TRY(predict(r, net, &p->lines[i], FAR_AT, FAR_PLACES, scale, away));
        growth[i] = fabs(away[1] / away[0]);
        count_errors(&p->lines[i], f, &e);
        for (int k = 0; k < CURVE; k++) {
            job->most = fmax(job->most, fabs(f[k]) / most);
            job->curve[k] = i == 0 ? f[k] : job->curve[k];
        }
    }
    job->near = sqrt(e.near / near);
    job->far = sqrt(e.far / far);
    TRY(far_quantile(r->ctx, growth, p->tests, 0.5, &job->growth));
done:
    free(growth);
    return st;
}

/* Of the prediction at the last position, in the units of the lines. */
static far_status certify(reproduction *r, int variant, const far_net *net, double scale, run *job)
{
    char *arch = arch_of_variant(r, variant, "last ");
    far_net *last = NULL;
    far_predictor *p = NULL;
    far_certificate *c = NULL;
    far_status st;
    TRY(same_weights(r, net, arch, &last));
    TRY(far_predictor_of_net(r->ctx, last, &p));
    TRY(certify_within(r, p, r->quick ? 0.5 : 10, &c));
    job->verdict = far_certificate_describe(c).verdict;
    job->bound = scale * far_certificate_bound(c, 0)->tightest;
done:
    far_certificate_destroy(c);
    far_predictor_destroy(p);
    far_net_destroy(last);
    free(arch);
    return st;
}

static far_status one_run(reproduction *r, int64_t variant, int64_t seed, double *found, void *user)
{
    const plan *p = user;
    run *job = (run *)found;
    char *arch = arch_of_variant(r, (int)variant, "");
    double scale, most, *x = training_lines(p->sequences, (uint64_t)seed, &scale, &most);
    far_net *net = NULL;
    far_status st;
    TRY(new_net(r, arch, 0, FAR_INIT_TORCH, (uint64_t)seed, &net));
    TRY(train(r, p, seed, net, x));
    TRY(judge(r, p, net, scale, most, job));
    TRY(certify(r, (int)variant, net, scale, job));
done:
    far_net_destroy(net);
    FREE(arch, x);
    return st;
}

/* ---- what is kept -------------------------------------------------------------------------- */

/* Of the seeds of one variant. */
typedef struct summary {
    int64_t bounded, unbounded, undecided;
    double bound, near, far, most;    /* the largest; means of the errors */
    double least_growth, most_growth; /* over seeds */
} summary;

static summary sum_up(const run *runs, int64_t seeds)
{
    summary s = {.least_growth = INFINITY};
    for (int64_t k = 0; k < seeds; k++) {
        const run *one = &runs[k];
        s.bounded += one->verdict == FAR_BOUNDED;
        s.unbounded += one->verdict == FAR_UNBOUNDED;
        s.undecided += one->verdict == FAR_UNDECIDED;
        s.bound = fmax(s.bound, one->bound);
        s.near += one->near / (double)seeds;
        s.far += one->far / (double)seeds;
        s.most = fmax(s.most, one->most);
        s.least_growth = fmin(s.least_growth, one->growth);
        s.most_growth = fmax(s.most_growth, one->growth);
    }
    return s;
}

static far_status claim_held(reproduction *r, int variant, const summary *s, int64_t seeds)
{
    return claim(r,
                 &(claim_of){.what = name_of(r, variant),
                             .paper = "predictions stay bounded",
                             .place = "Appendix M",
                             .tested = "in every seed: a certificate, and |prediction| at i = "
                                       "100000 less than 1.1 times that at i = 1000",
                             .seeds = seeds,
                             .agrees = s->bounded == seeds && s->most_growth < STAYS},
                 "%lld of %lld proven bounded, |f| <= %.3g; grows by %.3g", (long long)s->bounded,
                 (long long)seeds, far_round_up(s->bound, 3), s->most_growth);
}

static far_status claim_away(reproduction *r, int variant, const summary *s, int64_t seeds)
{
    return claim(r,
                 &(claim_of){.what = name_of(r, variant),
                             .paper = "predictions run away",
                             .place = "Appendix M",
                             .tested = "in every seed: none is proven bounded, and |prediction| at "
                                       "i = 100000 is at least 10 times that at i = 1000",
                             .seeds = seeds,
                             .agrees = s->bounded == 0 && s->least_growth >= GROWS},
                 "%lld of %lld proven bounded, %lld proven unbounded; grows by %.3g at least",
                 (long long)s->bounded, (long long)seeds, (long long)s->unbounded, s->least_growth);
}

static void add_row(reproduction *r, sheet *table, int variant, const summary *s)
{
    add_cell(table, "%s", name_of(r, variant));
    add_cell(table, "%lld bounded, %lld unbounded, %lld undecided", (long long)s->bounded,
             (long long)s->unbounded, (long long)s->undecided);
    add_cell(table, "%.4g", far_round_up(s->bound, 4));
    add_cell(table, "%.3g", s->near);
    add_cell(table, "%.3g", s->far);
    add_cell(table, "%.2f", s->most);
    add_cell(table, "%.3g to %.3g", s->least_growth, s->most_growth);
}

static far_status draw_variant(reproduction *r, int variant, const run *runs, int64_t seeds,
                               far_figure *panel)
{
    double at[CURVE], mean[CURVE], half[CURVE], *values = ROOM(seeds, double);
    int sines = variant & SINES;
    far_status st = FAR_OK;
    spread(FIRST, LAST, at, CURVE);
    for (int k = 0; k < CURVE && st == FAR_OK; k++) {
        for (int64_t i = 0; i < seeds; i++) {
            values[i] = runs[i].curve[k];
        }
        st = far_mean_interval(r->ctx, values, seeds, &mean[k], &half[k]);
    }
    free(values);
    return st == FAR_OK ? draw_curve(r, panel, at, mean, half, CURVE, sines ? 1 : 0,
                                     sines ? "positions as sines" : "positions learnt")
                        : st;
}

static far_status open_panel(reproduction *r, int variant, far_figure **out)
{
    double ends[] = {FIRST, LAST};
    far_figure_opts o = axes(words(r, "%s behind the embedding, %s in the blocks",
                                   variant & EMBEDDING_NORM ? "norm" : "no norm",
                                   variant & BLOCK_NORMS ? "norms" : "none"),
                             NULL, NULL);
    far_status st = far_figure_create(r->ctx, &o, out);
    return st == FAR_OK ? draw_dashed(r, *out, ends, ends, 2, FAR_COLOUR_INK, "f(i) = i") : st;
}

static far_status keep_figures(reproduction *r, const plan *p, const run *runs)
{
    far_figure *panels[VARIANTS / 2] = {NULL};
    far_grid_opts o = grid_of(820, 560);
    far_status st;
    o.x_label = "i";
    o.y_label = "prediction";
    o.share_x = o.share_y = FAR_SHARE_ALL;
    for (int i = 0; i < VARIANTS; i++) {
        if (i % 2 == 0) {
            TRY(open_panel(r, i, &panels[i / 2]));
        }
        TRY(draw_variant(r, i, runs + i * p->seeds, p->seeds, panels[i / 2]));
    }
done:
    return keep_grid(
        r, panels, 2, 2, &o, "ln-appendix-m",
        "The line f(i) = i, which no network was trained on; training sequences end at "
        "i = 30. Mean over seeds and its 95% interval.",
        st);
}

static far_status explain(reproduction *r, const plan *p)
{
    far_status st;
    TRY(keep_section(
        r, "Protocol",
        "Decoder-only transformers of 2 layers, 4 heads and %lld channels%s. %lld sequences f(i) = "
        "a + "
        "b i, i = 1..30, with a and b from N(0, 1): each value is predicted from those before it "
        "(squared error, mean over positions), %lld seed%s, drawn anew for each. %lld other lines "
        "are continued to i = 100, and to i = 1000 and 100000.",
        (long long)channels_of(r), r->quick ? " (64 in full)" : "", (long long)p->sequences,
        (long long)p->seeds, p->seeds == 1 ? "" : "s", (long long)p->tests));
    TRY(keep_text(
        r,
        "Not stated in the paper, and our choice: dense layers four times as wide with gelu inside "
        "the "
        "blocks; "
        "positions as sines, and learnt; blocks with a norm in front of attention and of the dense "
        "layers, and without; no norm in front of the last layer; %lld sequences; Adam, rate 0.001 "
        "along half a cosine, %lld epochs of batches of %d; weights as PyTorch's Linear starts; "
        "values in units of the standard deviation of all training values.",
        (long long)p->sequences, (long long)p->epochs, BATCH));
    TRY(keep_text(
        r,
        "A transformer with %d learnt positions has no position 31. Beyond i = 30 it sees the "
        "last %d values before i in a window with the positions 1 to %d: what is new to it is "
        "the size of the values alone. Certificates are about all windows of %d numbers.",
        PLACES, PLACES, PLACES, PLACES));
done:
    return st;
}

static far_status report(reproduction *r, const plan *p, const run *runs)
{
    static const char *const HEADS[] = {"network",
                                        "certificates",
                                        "bound",
                                        "error at 20..30",
                                        "error at 31..100",
                                        "largest, over training",
                                        "growth from 10^3 to 10^5"};
    sheet table = {.heads = HEADS, .cols = sizeof HEADS / sizeof HEADS[0]};
    far_status st = FAR_OK;
    for (int i = VARIANTS - 1; i >= 0 && st == FAR_OK; i--) {
        summary s = sum_up(runs + i * p->seeds, p->seeds);
        add_row(r, &table, i, &s);
        st = i & EMBEDDING_NORM ? claim_held(r, i, &s, p->seeds) : claim_away(r, i, &s, p->seeds);
    }
    st = keep_sheet(r, &table, "ln-appendix-m-table",
                    "Over all seeds. Errors: root of the mean square.", st);
    return st == FAR_OK ? keep_figures(r, p, runs) : st;
}

far_status run_ln_appendix_m(reproduction *r)
{
    plan p = {.seeds = seeds_of(r, 1, 5),
              .sequences = r->quick ? 60 : 300,
              .epochs = epochs_of(r, 5, 15),
              .tests = r->quick ? 4 : 10};
    run_grid grid = {.name = "ln-appendix-m",
                     .variants = VARIANTS,
                     .seeds = p.seeds,
                     .epochs = p.epochs,
                     .numbers = sizeof(run) / sizeof(double)};
    line *lines = ROOM(p.tests, line);
    run *runs = ROOM(VARIANTS * p.seeds, run);
    uint64_t state = 20250514;
    far_status st;
    for (int64_t i = 0; i < p.tests; i++) {
        lines[i] = i == 0 ? (line){0, 1} : draw_line(&state);
    }
    p.lines = lines;
    grid.found = (double *)runs;
    TRY(explain(r, &p));
    TRY(run_grid_all(r, "networks", &grid, one_run, &p));
    TRY(report(r, &p, runs));
done:
    FREE(lines, runs);
    return st;
}
