/* A toy regression: exact, by features with the residual prior, by features as in the paper. */
#include "ella.h"

#include <math.h>
#include <stdlib.h>

enum { POINTS = 16, GRID = 241, TOY_RANK = 5 };
#define TOY_NET "dense(32) tanh dense(32) tanh dense(1)"
#define TOY_NOISE 0.01
#define TOY_PRIOR 1.0

enum { PANEL_EXACT, PANEL_RESIDUAL, PANEL_PAPER, PANELS };
static const char *const PANEL_TITLES[PANELS] = {"exact", "ELLA, residual prior, K = 5",
                                                 "ELLA (paper), K = 5"};

/* ---- points -------------------------------------------------------------------------------- */

typedef struct toy {
    double x[POINTS], y[POINTS];
    far_net *net;
    double grid[GRID], mean[GRID], sd[PANELS][GRID];
} toy;

/* sin 2x with noise, on both sides of a gap. */
static void draw_points(toy *t)
{
    uint64_t state = 2022;
    for (int i = 0; i < POINTS; i++) {
        double side = i < POINTS / 2 ? -1 : 1;
        t->x[i] = side * (0.6 + 0.9 * uniform(&state));
        t->y[i] = sin(2 * t->x[i]) + 0.2 * normal(&state);
    }
    spread(-3, 3, t->grid, GRID);
}

/* The maximum of the posterior whose prior is about the start: ridge = noise / s0^2. */
static far_status train_map(reproduction *r, const char *arch, double *x, int64_t inputs, double *y,
                            int64_t n, uint64_t seed, far_net **net)
{
    far_train_opts t;
    far_mat points = far_mat_view(x, n, inputs, FAR_F64), targets = far_mat_view(y, n, 1, FAR_F64);
    far_status st;
    far_train_opts_init(&t);
    t.lr = 0.01;
    t.epochs = 3000;
    t.l2_to_init = TOY_NOISE / TOY_PRIOR;
    t.dtype = FAR_F64;
    TRY(new_net(r, arch, inputs, FAR_INIT_LECUN, seed, net));
    TRY(far_net_train(r->ctx, *net, &points, &targets, &t, NULL));
done:
    return st;
}

/* ---- the three posteriors ------------------------------------------------------------------ */

static far_laplace_opts options(int panel, int64_t rank)
{
    far_laplace_opts o;
    far_laplace_opts_init(&o);
    o.method = panel == PANEL_EXACT ? FAR_LAPLACE_EXACT : FAR_LAPLACE_ELLA;
    o.residual_prior = panel == PANEL_RESIDUAL;
    o.noise = TOY_NOISE;
    o.prior = TOY_PRIOR;
    o.landmarks = INT32_MAX; /* all rows */
    o.rank = rank;
    return o;
}

/* variance: one number a row of x2. */
static far_status variances(reproduction *r, const far_net *net, const far_mat *x,
                            const far_laplace_opts *o, const far_mat *x2, double *mean,
                            double *variance)
{
    far_laplace *la = NULL;
    far_mat m = far_mat_view(mean, x2->rows, 1, FAR_F64);
    far_mat v = far_mat_view(variance, x2->rows, 1, FAR_F64);
    far_status st;
    TRY(far_laplace_fit(r->ctx, net, x, o, &la));
    TRY(far_laplace_predict(r->ctx, la, x2, mean ? &m : NULL, &v));
done:
    far_laplace_destroy(la);
    return st;
}

static far_status solve_toy(reproduction *r, toy *t)
{
    far_mat x = far_mat_view(t->x, POINTS, 1, FAR_F64),
            x2 = far_mat_view(t->grid, GRID, 1, FAR_F64);
    far_status st;
    draw_points(t);
    TRY(train_map(r, TOY_NET, t->x, 1, t->y, POINTS, 0, &t->net));
    for (int panel = 0; panel < PANELS; panel++) {
        far_laplace_opts o = options(panel, TOY_RANK);
        TRY(variances(r, t->net, &x, &o, &x2, t->mean, t->sd[panel]));
        for (int i = 0; i < GRID; i++) {
            t->sd[panel][i] = sqrt(fmax(t->sd[panel][i], 0));
        }
    }
done:
    return st;
}

/* ---- the figure ---------------------------------------------------------------------------- */

static far_status draw_panel(reproduction *r, const toy *t, int panel, far_figure **out)
{
    double truth[GRID], half[GRID];
    far_status st;
    for (int i = 0; i < GRID; i++) {
        truth[i] = sin(2 * t->grid[i]);
        half[i] = 2 * t->sd[panel][i];
    }
    far_figure_opts o = axes(PANEL_TITLES[panel], NULL, NULL);
    o.y_min = -4;
    o.y_max = 4;
    far_mark_opts mark = mark_of(FAR_COLOUR_INK, "training points");
    TRY(far_figure_create(r->ctx, &o, out));
    TRY(draw_curve(r, *out, t->grid, t->mean, half, GRID, 0, "mean, +- 2 standard deviations"));
    TRY(draw_dashed(r, *out, t->grid, truth, GRID, 7, "sin 2x"));
    TRY(far_figure_points(r->ctx, *out, t->x, t->y, POINTS, &mark));
done:
    return st;
}

/* The mean over the grid of a variance over the exact one. */
static double share(const toy *t, int panel, bool gap)
{
    double sum = 0, count = 0;
    for (int i = 0; i < GRID; i++) {
        bool inside = fabs(t->grid[i])<0.6, beyond = fabs(t->grid[i])> 1.5;
        if (gap ? inside : beyond) {
            double ratio = t->sd[panel][i] / t->sd[PANEL_EXACT][i];
            sum += ratio * ratio;
            count++;
        }
    }
    return sum / count;
}

static far_status report_toy(reproduction *r, const toy *t)
{
    far_figure *panels[PANELS] = {NULL};
    far_grid_opts o = grid_of(860, 330);
    far_status st;
    TRY(keep_section(r, "A toy regression",
                     "%d points on both sides of a gap, y = sin 2x + N(0, 0.2^2), the network '%s' "
                     "trained to the maximum of the posterior (prior variance 1 about the start, "
                     "noise variance 0.01). All %d rows are landmarks. The paper's file gives the "
                     "network as [2, 32, 512], which we read as two layers of 32.",
                     POINTS, TOY_NET, POINTS));
    for (int panel = 0; panel < PANELS; panel++) {
        TRY(draw_panel(r, t, panel, &panels[panel]));
    }
done:
    o.x_label = "x";
    o.share_y = FAR_SHARE_ALL;
    st = keep_grid(r, panels, 1, PANELS, &o, "ella-toy",
                   "The same network, three posteriors: without the residual prior little "
                   "uncertainty is left away from the points.",
                   st);
    return st == FAR_OK
               ? keep_text(r,
                           "Variance over the exact one, in the gap and beyond the points: %.3f "
                           "and %.3f with the residual prior, %.3f and %.3f without.",
                           share(t, PANEL_RESIDUAL, true), share(t, PANEL_RESIDUAL, false),
                           share(t, PANEL_PAPER, true), share(t, PANEL_PAPER, false))
               : st;
}

far_status ella_study_toy(reproduction *r)
{
    toy *t = ROOM(1, toy);
    far_status st;
    tell(r, "a toy regression");
    TRY(solve_toy(r, t));
    TRY(report_toy(r, t));
done:
    far_net_destroy(t->net);
    free(t);
    return st;
}

/* ---- the identity -------------------------------------------------------------------------- */

enum { ROWS = 100, TEST_ROWS = 50, INPUTS = 3 };

typedef struct gap {
    double identity;    /* largest relative distance of variances, all features against exact */
    double paper_share; /* mean of the paper's variance over the exact one */
} gap;

static void draw_regression(uint64_t seed, double *x, double *y, double *test)
{
    uint64_t state = seed + 11;
    for (int i = 0; i < ROWS; i++) {
        for (int k = 0; k < INPUTS; k++) {
            x[i * INPUTS + k] = normal(&state);
        }
        y[i] = sin(x[i * INPUTS] + 2 * x[i * INPUTS + 1]) + 0.1 * normal(&state);
    }
    for (int i = 0; i < TEST_ROWS * INPUTS; i++) {
        test[i] = normal(&state);
    }
}

static far_status measure_gap(reproduction *r, uint64_t seed, gap *out)
{
    double x[ROWS * INPUTS], y[ROWS], test[TEST_ROWS * INPUTS], v[PANELS][TEST_ROWS];
    far_mat points = far_mat_view(x, ROWS, INPUTS, FAR_F64);
    far_mat x2 = far_mat_view(test, TEST_ROWS, INPUTS, FAR_F64);
    far_net *net = NULL;
    far_status st;
    draw_regression(seed, x, y, test);
    TRY(train_map(r, "dense(20) tanh dense(20) tanh dense(1)", x, INPUTS, y, ROWS, seed, &net));
    for (int panel = 0; panel < PANELS; panel++) {
        far_laplace_opts o = options(panel, 0);
        TRY(variances(r, net, &points, &o, &x2, NULL, v[panel]));
    }
    *out = (gap){0};
    for (int i = 0; i < TEST_ROWS; i++) {
        double exact = v[PANEL_EXACT][i];
        out->identity = fmax(out->identity, fabs(v[PANEL_RESIDUAL][i] - exact) / exact);
        out->paper_share += v[PANEL_PAPER][i] / exact / TEST_ROWS;
    }
done:
    far_net_destroy(net);
    return st;
}

far_status ella_study_identity(reproduction *r)
{
    int64_t seeds = seeds_of(r, 2, 5);
    double worst = 0, low = INFINITY, high = 0;
    far_status st;
    tell(r, "the identity");
    for (int64_t seed = 0; seed < seeds; seed++) {
        gap g;
        TRY(measure_gap(r, (uint64_t)seed, &g));
        worst = fmax(worst, g.identity);
        low = fmin(low, g.paper_share);
        high = fmax(high, g.paper_share);
    }
    TRY(claim(r,
              &(claim_of){.what = "all features and the residual prior, against the exact variance",
                          .tested = "the same, to 1e-9",
                          .seeds = seeds,
                          .by_construction = true,
                          .agrees = worst < 1e-9},
              "to %.1e, relative", worst));
    st = keep_text(r,
                   "That is a regression of %d rows and one output, all of them landmarks, %lld "
                   "seeds. Without the residual prior the same features have %.1f%% to %.1f%% of "
                   "the exact variance on new points.",
                   ROWS, (long long)seeds, 100 * low, 100 * high);
done:
    return st;
}
