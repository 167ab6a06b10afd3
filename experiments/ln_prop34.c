/*
 * Proposition 3.4: no bound holds for all networks that fit the data, layer norm or not: there are
 * some with a norm that fit exactly and go as far as one likes. They are built here.
 *
 * u_j(x) = x - t_j, j = 1 .. n, are hinges at the data but the last. The dense layer gives the 2 n
 * + 2 values e u_j, -e u_j, 1, -1: their mean is 0 and their variance (1 + e^2 sum u^2) / (n + 1),
 * so that behind norm and relu
 *
 *     f(x) = c + sum_j a_j relu(u_j) / root(1 + e^2 sum_k u_k^2).
 *
 * With c = y_1 the a_j follow one after the other from f(x_i) = y_i. Near the data f is the broken
 * line through them as e -> 0, and beyond it goes on with the last slope up to about 1 / e.
 */
#include "ln_theorems.h"

#include <math.h>
#include <stdlib.h>

enum { DATA = 6, HINGES = DATA - 1, UNITS = 2 * HINGES + 2, EPSILONS = 4, CURVE = 121 };
static const double EPSILON[EPSILONS] = {1, 1e-3, 1e-5, 1e-7};
#define ARCH "dense(12) ln relu dense(1)"

static void fill_data(double *x, double *y)
{
    spread(-5, 5, x, DATA);
    for (int i = 0; i < DATA; i++) {
        y[i] = sin(x[i]);
    }
}

/* ---- the construction ---------------------------------------------------------------------- */

static double stretch(double x, const double *hinge, double e)
{
    double sum = 0;
    for (int j = 0; j < HINGES; j++) {
        sum += (x - hinge[j]) * (x - hinge[j]);
    }
    return sqrt(1 + e * e * sum);
}

/* Of x_i hinges 0 .. i - 1 are below: forward substitution. */
static void solve_slopes(const double *x, const double *y, double e, double *a)
{
    for (int i = 1; i < DATA; i++) {
        double rest = (y[i] - y[0]) * stretch(x[i], x, e);
        for (int j = 0; j < i - 1; j++) {
            rest -= a[j] * (x[i] - x[j]);
        }
        a[i - 1] = rest / (x[i] - x[i - 1]);
    }
}

static void write_weights(far_net *net, const double *x, const double *y, double e)
{
    double a[HINGES];
    double *w1 = far_net_tensor(net, 0).values.data, *b1 = far_net_tensor(net, 1).values.data;
    double *w2 = far_net_tensor(net, 2).values.data, *b2 = far_net_tensor(net, 3).values.data;
    solve_slopes(x, y, e, a);
    for (int j = 0; j < HINGES; j++) {
        w1[2 * j] = e;
        b1[2 * j] = -e * x[j];
        w1[2 * j + 1] = -w1[2 * j];
        b1[2 * j + 1] = -b1[2 * j];
        w2[2 * j] = a[j] / (e * sqrt(HINGES + 1));
        w2[2 * j + 1] = 0;
    }
    w1[UNITS - 2] = w1[UNITS - 1] = 0;
    b1[UNITS - 2] = 1;
    b1[UNITS - 1] = -1;
    w2[UNITS - 2] = w2[UNITS - 1] = 0;
    b2[0] = y[0];
}

static far_status build(reproduction *r, double e, far_net **out)
{
    double x[DATA], y[DATA];
    char *arch = arch_of(r, ARCH);
    far_status st = new_net(r, arch, 1, FAR_INIT_KAIMING_NORMAL, 0, out);
    free(arch);
    fill_data(x, y);
    if (st == FAR_OK) {
        write_weights(*out, x, y, e);
    }
    return st;
}

/* ---- what it does -------------------------------------------------------------------------- */

typedef struct built {
    double misfit;       /* the largest on the data */
    double found, bound; /* of |f| over all x */
    bool bounded;
} built;

static far_status eval(reproduction *r, const far_net *net, const double *x, int64_t n, double *out)
{
    far_mat xs = far_mat_view((void *)x, n, 1, FAR_F64), ys = far_mat_view(out, n, 1, FAR_F64);
    return far_net_eval(r->ctx, net, &xs, &ys);
}

static far_status measure(reproduction *r, const far_net *net, built *out)
{
    double x[DATA], y[DATA], f[DATA];
    far_certificate *c = NULL;
    far_predictor *p = NULL;
    far_status st;
    *out = (built){0};
    fill_data(x, y);
    TRY(eval(r, net, x, DATA, f));
    for (int i = 0; i < DATA; i++) {
        out->misfit = fmax(out->misfit, fabs(f[i] - y[i]));
    }
    TRY(far_predictor_of_net(r->ctx, net, &p));
    TRY(certify_within(r, p, 1, &c));
    const far_bound *b = far_certificate_bound(c, 0);
    out->bounded = b->verdict == FAR_BOUNDED;
    out->found = b->sup_found;
    out->bound = b->tightest;
done:
    far_certificate_destroy(c);
    far_predictor_destroy(p);
    return st;
}

/* The bound of theorem 3.3 for the same data and architecture, trained at infinite width. */
static far_status fit_limit(reproduction *r, far_predictor **model, double *b1)
{
    double x[DATA], y[DATA];
    far_certificate *c = NULL;
    far_status st;
    fill_data(x, y);
    TRY(infinite_fit(r, ARCH, x, y, DATA, model));
    TRY(certify_within(r, *model, 0.2, &c));
    *b1 = far_certificate_bound(c, 0)->b1;
done:
    far_certificate_destroy(c);
    return st;
}

/* ---- pictures ------------------------------------------------------------------------------ */

typedef struct pictures {
    double near[CURVE], far[CURVE];
    far_figure *figures[2];
} pictures;

static far_status open_pictures(reproduction *r, pictures *p)
{
    far_figure_opts opts = axes("Near the data", "x", "f(x)");
    spread(-8, 8, p->near, CURVE);
    spread_log(1, 1e10, p->far, CURVE);
    opts.y_min = -4;
    opts.y_max = 4;
    far_status st = far_figure_create(r->ctx, &opts, &p->figures[0]);
    opts = log_axes("Far away", "x", "|f(x)|");
    opts.y_min = 0.1;
    opts.y_max = 1e8;
    return st == FAR_OK ? far_figure_create(r->ctx, &opts, &p->figures[1]) : st;
}

static far_status draw_built(reproduction *r, const far_net *net, int which, const pictures *p)
{
    double near[CURVE], far[CURVE];
    const char *label = words(r, "built, e = %g", EPSILON[which]);
    far_status st;
    TRY(eval(r, net, p->near, CURVE, near));
    TRY(eval(r, net, p->far, CURVE, far));
    for (int i = 0; i < CURVE; i++) {
        far[i] = fabs(far[i]);
    }
    TRY(draw_curve(r, p->figures[0], p->near, near, NULL, CURVE, which + 1, label));
    TRY(draw_curve(r, p->figures[1], p->far, far, NULL, CURVE, which + 1, label));
done:
    return st;
}

static far_status draw_limit(reproduction *r, const far_predictor *m, const pictures *p)
{
    static const char LABEL[] = "trained, infinitely wide";
    double near[CURVE], far[CURVE], x[DATA], y[DATA];
    far_mark_opts mark = mark_of(FAR_COLOUR_INK, "data");
    mark.width = 7;
    far_status st;
    fill_data(x, y);
    TRY(infinite_at(r, m, p->near, CURVE, near));
    TRY(infinite_at(r, m, p->far, CURVE, far));
    for (int i = 0; i < CURVE; i++) {
        far[i] = fabs(far[i]);
    }
    TRY(draw_dashed(r, p->figures[0], p->near, near, CURVE, 0, LABEL));
    TRY(draw_dashed(r, p->figures[1], p->far, far, CURVE, 0, LABEL));
    TRY(far_figure_points(r->ctx, p->figures[0], x, y, DATA, &mark));
done:
    return st;
}

static far_status draw_bound(reproduction *r, double b1, const pictures *p)
{
    const char *label = words(r, "B1 = %.3g", far_round_up(b1, 3));
    return draw_rule(r, p->figures[1], FAR_HORIZONTAL, b1, label);
}

static far_status keep_pictures(reproduction *r, pictures *p, far_status st)
{
    far_grid_opts opts = grid_of(900, 420);
    opts.title = "Networks with a layer norm that fit exactly";
    return keep_grid(r, p->figures, 1, 2, &opts, "ln-proposition-34",
                     "Proposition 3.4: all of these networks have a layer norm and fit the data "
                     "exactly; how far they go has no bound. Training does not find them.",
                     st);
}

/* ---- claims -------------------------------------------------------------------------------- */

static const double EXACT = 1e-9;

static far_status add_built(reproduction *r, int which, const pictures *p, sheet *table, built *out)
{
    far_net *net = NULL;
    far_status st;
    TRY(build(r, EPSILON[which], &net));
    TRY(measure(r, net, out));
    TRY(draw_built(r, net, which, p));
    add_cell(table, "%g", EPSILON[which]);
    add_cell(table, "%.1e", out->misfit);
    add_cell(table, "%.5g", far_round_down(out->found, 5));
    add_cell(table, "%.5g", far_round_up(out->bound, 5));
done:
    far_net_destroy(net);
    return st;
}

static far_status claim_built(reproduction *r, const built *b, double b1)
{
    bool fits = true, bounded = true, grows = true;
    double misfit = 0;
    for (int i = 0; i < EPSILONS; i++) {
        misfit = fmax(misfit, b[i].misfit);
        fits &= b[i].misfit < EXACT;
        bounded &= b[i].bounded;
        grows &= i < 2 || b[i].found > 50 * b[i - 1].found; /* like 1 / e */
    }
    far_status st;
    TRY(claim(r,
              &(claim_of){.what = "proposition 3.4: networks with a norm, built by hand",
                          .paper = "some fit the data exactly",
                          .place = "Proposition 3.4",
                          .tested = "to 1e-10, and each certified as bounded",
                          .agrees = fits && bounded},
              "%d networks, largest misfit %.1e, each proven bounded", EPSILONS, misfit));
    TRY(claim(r,
              &(claim_of){.what = "proposition 3.4: how far they go",
                          .paper = "no bound holds for all of them",
                          .place = "Proposition 3.4",
                          .tested = "50 times farther with each hundredth of e, and beyond 1000 B1",
                          .agrees = grows && b[EPSILONS - 1].found > 1e3 * b1},
              "sup |f| from %.3g to %.3g, like 1 / e; trained at infinite width B1 = %.3g",
              b[0].found, b[EPSILONS - 1].found, b1));
done:
    return st;
}

far_status check_proposition_34(reproduction *r)
{
    static const char *const HEADS[] = {"e", "largest misfit", "sup |f| found", "|f| at most"};
    sheet table = {.heads = HEADS, .cols = 4};
    pictures p = {0};
    built b[EPSILONS];
    far_predictor *limit = NULL;
    double b1 = 0;
    far_status st;
    TRY(open_pictures(r, &p));
    TRY(fit_limit(r, &limit, &b1));
    for (int i = 0; i < EPSILONS; i++) {
        TRY(add_built(r, i, &p, &table, &b[i]));
    }
    TRY(claim_built(r, b, b1));
    TRY(draw_limit(r, limit, &p));
    TRY(draw_bound(r, b1, &p));
done:
    far_predictor_destroy(limit);
    st = keep_pictures(r, &p, st);
    return keep_sheet(r, &table, "ln-proposition-34-networks",
                      "Networks dense(12) ln relu dense(1) with weights set by hand.", st);
}
