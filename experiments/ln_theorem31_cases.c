/*
 * Theorem 3.1 over depths, activations and dimensions: how predictions from one and two points run
 * away, against a recursion of this file's own, with its expectations by quadrature.
 */
#include "ln_theorems.h"

#include <math.h>
#include <stdlib.h>

/* phi(z) = up z^p for z > 0, down |z|^p for z < 0: every activation of the language that is
 * positively homogeneous, relu(p) by three powers. */
typedef struct homogeneous {
    const char *text;
    double p, up, down;
} homogeneous;

static const homogeneous ACTIVATIONS[] = {
    {"relu", 1, 1, 0},      {"leaky_relu(0.1)", 1, 1, -0.1}, {"abs", 1, 1, 1},
    {"identity", 1, 1, -1}, {"relu(0.75)", 0.75, 1, 0},      {"relu(1.5)", 1.5, 1, 0},
    {"relu(2)", 2, 1, 0},
};
enum {
    ACTIVATION_COUNT = sizeof ACTIVATIONS / sizeof ACTIVATIONS[0],
    DEEPEST = 6,
    POINTS = 2,
    MOST_INPUTS = 10
};
static const int INPUTS[] = {3, 1, MOST_INPUTS};
enum { INPUT_COUNT = sizeof INPUTS / sizeof INPUTS[0] };

/* ---- closed forms ---------------------------------------------------------------------------- */

/* E u_+^q v_+^q of standard normal u and v at an angle, q > -1/2: in polar coordinates
 * 2^q Gamma(q + 1) / (2 pi) times the integral of (sin s sin(s + angle))^q from 0 to pi - angle,
 * twice that of its first half, by double exponential quadrature. */
static double half_moment(double q, double angle)
{
    const double step = 0.0625, pi = acos(-1), half = (pi - angle) / 2;
    double sum = 0;
    for (int i = -72; i <= 72; i++) {
        double t = step * i, e = exp(-pi * sinh(t)), s = half / (1 + e);
        double weight = half * pi * cosh(t) * e / ((1 + e) * (1 + e));
        if (s > 0 && weight > 0) {
            sum += weight * pow(sin(s) * sin(s + angle), q);
        }
    }
    return pow(2, q) * tgamma(q + 1) / pi * step * sum;
}

/* E phi(u) phi(v), and E phi'(u) phi'(v). */
static double product(const homogeneous *h, double angle)
{
    double pi = acos(-1);
    return (h->up * h->up + h->down * h->down) * half_moment(h->p, angle) +
           2 * h->up * h->down * half_moment(h->p, pi - angle);
}

static double slopes(const homogeneous *h, double angle)
{
    double pi = acos(-1), q = h->p - 1;
    return h->p * h->p *
           ((h->up * h->up + h->down * h->down) * half_moment(q, angle) -
            2 * h->up * h->down * half_moment(q, pi - angle));
}

/* Theta(x, y) from xx = |x|^2 / d, xy = x.y / d and yy = |y|^2 / d; away: its coefficient of
 * t^(p^depth) as x is t x and t grows, where the biases on the side of x no longer count. */
static double tangent(const homogeneous *h, int depth, double xx, double xy, double yy, bool away)
{
    double bias = away ? 0 : BIAS_VARIANCE, unit = product(h, 0);
    bool same = !away && xx == xy && xy == yy; /* rounding would make an angle of 1e-8 */
    double q = xx + bias, k = xy + bias, s = yy + BIAS_VARIANCE, theta = k;
    for (int i = 0; i < depth; i++) {
        double angle = same ? 0 : acos(fmax(-1, fmin(1, k / sqrt(q * s))));
        k = pow(q * s, h->p / 2) * product(h, angle) / unit + bias;
        theta = k + theta * pow(q * s, (h->p - 1) / 2) * slopes(h, angle) / unit;
        q = pow(q, h->p) + bias;
        s = pow(s, h->p) + BIAS_VARIANCE;
    }
    return theta;
}

/* ---- one case -------------------------------------------------------------------------------- */

/* One or two training points, whose products are positive as in the paper's proof; the prediction
 * is followed along the first. */
typedef struct witness {
    const homogeneous *h;
    int depth, inputs, count;
    double x[POINTS * MOST_INPUTS], y[POINTS];
} witness;

static double dot(const double *a, const double *b, int d)
{
    double sum = 0;
    for (int j = 0; j < d; j++) {
        sum += a[j] * b[j] / d;
    }
    return sum;
}

static void draw_witness(uint64_t *state, witness *w)
{
    int d = w->inputs;
    for (int i = 0; i < w->count; i++) {
        double *x = w->x + i * d;
        for (int j = 0; j < d; j++) {
            x[j] = normal(state);
        }
        double size = sqrt((i == 0 ? 1 : 0.5) / dot(x, x, d)), sign = dot(w->x, x, d) < 0 ? -1 : 1;
        for (int j = 0; j < d; j++) {
            x[j] *= sign * size;
        }
        w->y[i] = i == 0 ? 1 : -0.4;
    }
}

/* f(t x_1) ~ this times t^(p^depth): sum_i alpha_i g_i with K alpha = y. */
static double closed_form(const witness *w)
{
    double k[POINTS][POINTS], g[POINTS];
    int d = w->inputs;
    for (int i = 0; i < w->count; i++) {
        const double *x = w->x + i * d;
        g[i] = tangent(w->h, w->depth, dot(w->x, w->x, d), dot(w->x, x, d), dot(x, x, d), true);
        for (int j = 0; j < w->count; j++) {
            const double *y = w->x + j * d;
            k[i][j] = tangent(w->h, w->depth, dot(x, x, d), dot(x, y, d), dot(y, y, d), false);
        }
    }
    if (w->count == 1) {
        return w->y[0] * g[0] / k[0][0];
    }
    double det = k[0][0] * k[1][1] - k[0][1] * k[1][0];
    return (g[0] * (k[1][1] * w->y[0] - k[0][1] * w->y[1]) +
            g[1] * (k[0][0] * w->y[1] - k[1][0] * w->y[0])) /
           det;
}

/* "dense relu dense ln relu dense", a norm behind dense layer norm_at (0: none). */
static char *deep_net(const reproduction *r, const witness *w, int norm_at)
{
    char *text = text_of("%s", "");
    for (int i = 1; i <= w->depth; i++) {
        char *longer = text_of("%sdense %s%s ", text, i == norm_at ? "ln " : "", w->h->text);
        free(text);
        text = longer;
    }
    char *whole = text_of("%sdense", text), *arch = arch_of(r, whole);
    free(text);
    free(whole);
    return arch;
}

/* What the library says: order and coefficient along x_1, and f(t x_1) / (coefficient t^order) far
 * out, with t^order 1e12 at least. */
typedef struct flight {
    double order, coefficient, ratio;
} flight;

static far_status follow(reproduction *r, const witness *w, int norm_at, flight *out)
{
    double there[MOST_INPUTS], f = 0, t = fmax(1e4, pow(10, 12 / pow(w->h->p, w->depth)));
    far_mat x = far_mat_view((double *)w->x, w->count, w->inputs, FAR_F64);
    far_mat u = far_mat_view((double *)w->x, 1, w->inputs, FAR_F64);
    far_mat value = far_mat_view(&out->coefficient, 1, 1, FAR_F64);
    far_mat order = far_mat_view(&out->order, 1, 1, FAR_F64), at, y;
    char *arch = deep_net(r, w, norm_at);
    far_predictor *m = NULL;
    far_status st;
    for (int j = 0; j < w->inputs; j++) {
        there[j] = t * w->x[j];
    }
    at = far_mat_view(there, 1, w->inputs, FAR_F64);
    y = far_mat_view(&f, 1, 1, FAR_F64);
    TRY(infinite_fit_rows(r, arch, &x, w->y, &m));
    TRY(far_predictor_limit(r->ctx, m, &u, &value, &order));
    TRY(far_predictor_eval(r->ctx, m, &at, &y));
    out->ratio = f / (out->coefficient * pow(t, out->order));
done:
    far_predictor_destroy(m);
    free(arch);
    return st;
}

/* ---- all of one activation ------------------------------------------------------------------- */

/* Over cases: how far coefficients are off, and the values far out; how many have the order that
 * is theory's. */
typedef struct tally {
    int64_t cases, right, normed, calm; /* with a norm: cases, and those with a limit */
    double deviation, far_off, least, most;
} tally;

static far_status try_norms(reproduction *r, const witness *w, tally *t)
{
    for (int at = 1; at <= w->depth; at++) {
        flight f;
        far_status st = follow(r, w, at, &f);
        if (st != FAR_OK) {
            return st;
        }
        t->normed++;
        t->calm += f.order == 0 && fabs(f.ratio - 1) < 1e-3;
    }
    return FAR_OK;
}

static far_status try_case(reproduction *r, const witness *w, tally *t)
{
    flight f;
    double closed = closed_form(w);
    far_status st = follow(r, w, 0, &f);
    if (st != FAR_OK) {
        return st;
    }
    t->cases++;
    t->right += fabs(f.order - pow(w->h->p, w->depth)) < 1e-9 * f.order && closed != 0;
    t->deviation = fmax(t->deviation, fabs(f.coefficient / closed - 1));
    t->far_off = fmax(t->far_off, fabs(f.ratio - 1));
    t->least = fmin(t->least, fabs(closed));
    t->most = fmax(t->most, fabs(closed));
    return w->count == 1 ? try_norms(r, w, t) : FAR_OK;
}

/* Kernels of powers that are not whole take their time: fewer of them in the quick form. */
typedef struct range {
    int deepest, inputs; /* of INPUTS, the first ones */
    int64_t draws;
} range;

static range range_of(const reproduction *r, const homogeneous *h)
{
    bool few = r->quick && h->p != floor(h->p);
    return (range){few ? 2 : DEEPEST, few ? 1 : INPUT_COUNT, seeds_of(r, 1, 3)};
}

static far_status try_all(reproduction *r, const homogeneous *h, const range *g, tally *t)
{
    uint64_t state = 31;
    *t = (tally){.least = INFINITY};
    for (int64_t i = 0; i < g->draws * g->deepest * g->inputs * POINTS; i++) {
        witness w = {.h = h,
                     .depth = 1 + (int)(i % g->deepest),
                     .inputs = INPUTS[i / g->deepest % g->inputs],
                     .count = 1 + (int)(i / (g->deepest * g->inputs) % POINTS)};
        draw_witness(&state, &w);
        far_status st = try_case(r, &w, t);
        if (st != FAR_OK) {
            return st;
        }
    }
    return FAR_OK;
}

static far_status claim_activation(reproduction *r, const homogeneous *h, sheet *table)
{
    tally t;
    far_status st;
    range g = range_of(r, h);
    const char *what = words(r, "theorem 3.1: %s, 1 to %d hidden layers, d = %s", h->text,
                             g.deepest, g.inputs == INPUT_COUNT ? "1, 3, 10" : "3");
    const char *with =
        words(r, "the same points, %s, with one norm behind each dense layer", h->text);
    TRY(try_all(r, h, &g, &t));
    TRY(claim(
        r,
        &(claim_of){.what = what,
                    .paper = "some training data make the prediction run away",
                    .place = "Theorem 3.1",
                    .tested = "one point, and two with a positive product: f(t x_1) / t^(n^L) "
                              "by our recursion to 1e-8, and by f itself far out to 1e-3",
                    .seeds = g.draws,
                    .agrees = t.right == t.cases && t.deviation < 1e-8 && t.far_off < 1e-3},
        "%lld of %lld run away like t^(n^L), n = %g; coefficients %.3g to %.3g, off by %.1e "
        "at most; f far out by %.1e",
        (long long)t.right, (long long)t.cases, h->p, t.least, t.most, t.deviation, t.far_off));
    TRY(claim(r,
              &(claim_of){.what = with,
                          .paper = "bounded",
                          .place = "Theorem 3.3",
                          .tested = "a limit along x_1, and f itself far out within 1e-3 of it",
                          .seeds = g.draws,
                          .agrees = t.calm == t.normed},
              "%lld of %lld have a limit", (long long)t.calm, (long long)t.normed));
    add_cell(table, "%s", h->text);
    add_cell(table, "%.4g to %.4g", h->p, pow(h->p, g.deepest));
    add_cell(table, "%lld of %lld", (long long)t.right, (long long)t.cases);
    add_cell(table, "%.3g to %.3g", t.least, t.most);
    add_cell(table, "%.1e", t.deviation);
    add_cell(table, "%.1e", t.far_off);
    add_cell(table, "%lld of %lld", (long long)t.calm, (long long)t.normed);
done:
    return st;
}

far_status check_theorem_31_cases(reproduction *r)
{
    static const char *const HEADS[] = {"activation",   "order by depth", "run away",
                                        "coefficients", "off by at most", "f far out, off by",
                                        "with a norm"};
    sheet table = {.heads = HEADS, .cols = sizeof HEADS / sizeof HEADS[0]};
    far_status st = FAR_OK;
    for (int i = 0; i < ACTIVATION_COUNT && st == FAR_OK; i++) {
        st = claim_activation(r, &ACTIVATIONS[i], &table);
    }
    return keep_sheet(
        r, &table, "ln-theorem-31-cases",
        "Theorem 3.1 for every homogeneous activation of the language: 1 to 6 hidden "
        "layers, 1, 3 and 10 inputs (in the quick form 1 and 2 layers and 3 inputs for "
        "powers that are not whole), one and two training points drawn at random.",
        st);
}
