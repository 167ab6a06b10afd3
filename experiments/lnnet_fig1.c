/* Figure 1: XOR, which no linear map separates, by one layer norm of three neurons. */
#include "lnnet_film.h"
#include "parts.h"
#include "registry.h"

#include <math.h>
#include <stdlib.h>

enum { POINTS = 4, STEPS = 5 };
static double XOR[POINTS][2] = {{0, 0}, {1, 1}, {0, 1}, {1, 0}};
static const int64_t LABELS[POINTS] = {0, 0, 1, 1};
static const char *const NAMES[] = {"equal", "different"};
static const char *const STEP_NAMES[STEPS] = {
    "1. the points", "2. rotated by 45 degrees", "3. projected onto y = 1/2",
    "4. layer norm: to the circle", "5. the ordinate is read"};
static const double TINY = 1e-12;

static lnnet_points points_of(void)
{
    return (lnnet_points){far_mat_view(XOR, POINTS, 2, FAR_F64), LABELS, 2, NAMES};
}

/* ---- the steps ----------------------------------------------------------------------------- */

/* Linear, linear, then the norm: (x, y) in each step. */
static void take_step(int step, double *x, double *y)
{
    double a = *x, b = *y, root = sqrt(2);
    switch (step) {
    case 1:
        *x = (a - b) / root;
        *y = (a + b) / root;
        break;
    case 2:
        *y = 0.5;
        break;
    case 3:
        *x = a / hypot(a, b);
        *y = b / hypot(a, b);
        break;
    case 4:
        *x = 0;
        break;
    default:
        break;
    }
}

static void walk(lnnet_scene *s)
{
    for (int i = 0; i < POINTS; i++) {
        double x = XOR[i][0], y = XOR[i][1];
        for (int step = 0; step < STEPS; step++) {
            take_step(step, &x, &y);
            s->x[step * POINTS + i] = x;
            s->y[step * POINTS + i] = y;
        }
    }
}

/* ---- pictures ------------------------------------------------------------------------------ */

static far_figure_opts plane(const char *title)
{
    far_figure_opts o = axes(title, NULL, NULL);
    o.x_min = -1.2;
    o.x_max = 1.2;
    o.y_min = -0.25;
    o.y_max = 1.6;
    return o;
}

static far_status draw_step(reproduction *r, const lnnet_scene *s, int step, far_figure **out)
{
    far_status st;
    far_figure_opts o = plane(STEP_NAMES[step]);
    lnnet_points p = points_of();
    TRY(far_figure_create(r->ctx, &o, out));
    if (step >= 3) {
        TRY(lnnet_draw_circle(r->ctx, *out));
    }
    TRY(lnnet_draw_classes(r->ctx, *out, s->x + step * POINTS, s->y + step * POINTS, &p, 11));
done:
    return st;
}

static far_status keep_steps(reproduction *r, const lnnet_scene *s)
{
    far_figure *panels[6] = {NULL};
    far_grid_opts o = grid_of(760, 500);
    far_status st = FAR_OK;
    o.share_x = FAR_SHARE_ALL;
    o.share_y = FAR_SHARE_ALL;
    for (int step = 0; step < STEPS && st == FAR_OK; step++) {
        st = draw_step(r, s, step, &panels[step]);
    }
    return keep_grid(r, panels, 2, 3, &o, "lnnet-fig1",
                     "XOR step by step. Steps 2 and 3 are linear, 4 is a layer norm of three "
                     "neurons seen in its plane, 5 is linear.",
                     st);
}

static far_status keep_film(reproduction *r, const lnnet_scene *s)
{
    far_figure *film = NULL;
    far_figure_opts o = plane(NULL);
    lnnet_points p = points_of();
    o.width = 520;
    o.height = 420;
    o.frame_seconds = 2;
    o.legend = FAR_LEGEND_BELOW;
    o.description = "A film of the five steps in which one layer norm solves XOR.";
    far_status st = lnnet_scene_film(r->ctx, s, &p, o, &film);
    return keep_drawn(r, film, "lnnet-fig1-film", "The same, moving.", st);
}

static far_status keep_pictures(reproduction *r, const lnnet_scene *s)
{
    far_status st = keep_steps(r, s);
    return st == FAR_OK ? keep_film(r, s) : st;
}

/* ---- numbers ------------------------------------------------------------------------------- */

static far_status claim_linear(reproduction *r)
{
    far_mat x = points_of().x;
    far_ssr ssr;
    far_status st = far_ssr_measure(r->ctx, &x, LABELS, 2, &ssr, NULL);
    return st == FAR_OK
               ? claim(r,
                       &(claim_of){.what = "XOR, SSR after any linear map",
                                   .paper = "linear maps cannot lower it",
                                   .place = LNNET_NOT_READ "Figure 1",
                                   .tested = "1: the means of the classes coincide",
                                   .by_construction = true,
                                   .agrees = fabs(ssr.lssr - 1) < TINY && fabs(ssr.ssr - 1) < TINY},
                       "SSR %.6g, least of all linear maps %.6g", ssr.ssr, ssr.lssr)
               : st;
}

static far_status claim_steps(reproduction *r, const lnnet_scene *s)
{
    const double *y = s->y + (STEPS - 1) * POINTS;
    double far = sqrt(1.0 / 3), off = fmax(fabs(y[0] - 1), fabs(y[1] - 1));
    off = fmax(off, fmax(fabs(y[2] - far), fabs(y[3] - far)));
    return claim(r,
                 &(claim_of){.what = "XOR, ordinates behind the five steps",
                             .tested = "1 and 1, 0.5774 and 0.5774, by arithmetic",
                             .by_construction = true,
                             .agrees = off < TINY},
                 "%.6g and %.6g, %.6g and %.6g", y[0], y[1], y[2], y[3]);
}

static far_status claim_layer(reproduction *r)
{
    far_mat x = points_of().x;
    far_ln_layer_info info;
    far_status st = far_ln_layer_search(r->ctx, &x, LABELS, 2, NULL, NULL, &info);
    double lssr = r->sabotage ? info.before.lssr : info.lssr; /* without a norm */
    return st == FAR_OK
               ? claim(r,
                       &(claim_of){.what = "XOR, SSR behind the best layer norm of three neurons",
                                   .paper = "layer norm takes it to 0",
                                   .place = LNNET_NOT_READ "Figure 1",
                                   .tested = "below 1e-6",
                                   .agrees = lssr < 1e-6},
                       "%.3g, found among %lld layers", lssr, (long long)info.candidates)
               : st;
}

static far_status claim_built(reproduction *r)
{
    far_mat x = points_of().x;
    far_net *net = NULL, *plain = NULL;
    far_lnnet_opts opts;
    far_lnnet_info info;
    far_lnnet_checked checked;
    far_status st;
    opts = (far_lnnet_opts){.size = sizeof opts};
    TRY(far_lnnet_build(r->ctx, &x, LABELS, 2, &opts, &net, &info));
    TRY(same_weights(r, net, "dense(3) dense(2)", &plain)); /* without its norm */
    TRY(far_lnnet_check(r->ctx, r->sabotage ? plain : net, &x, LABELS, FAR_LNNET_DOUBLE, 0,
                        &checked));
    TRY(claim(r,
              &(claim_of){.what = "XOR, a network of linear layers and one layer norm",
                          .paper = "classifies all four",
                          .place = LNNET_NOT_READ "Figure 1",
                          .agrees = checked.wrong == 0 && info.layers == 1},
              "%lld of 4 with %lld layer, margin %.3g", (long long)(POINTS - checked.wrong),
              (long long)info.layers, checked.margin));
done:
    far_net_destroy(net);
    far_net_destroy(plain);
    return st;
}

static far_status claim_all(reproduction *r, const lnnet_scene *s)
{
    far_status st;
    TRY(claim_linear(r));
    TRY(claim_steps(r, s));
    TRY(claim_layer(r));
    TRY(claim_built(r));
done:
    return st;
}

far_status run_lnnet_fig1(reproduction *r)
{
    lnnet_scene s = {0};
    far_status st;
    TRY(lnnet_scene_create(r->ctx, STEPS, POINTS, &s));
    walk(&s);
    for (int step = 0; step < STEPS; step++) {
        s.captions[step] = text_of("%s", STEP_NAMES[step]);
    }
    TRY(claim_all(r, &s));
    TRY(keep_pictures(r, &s));
done:
    lnnet_scene_free(&s);
    return st;
}
