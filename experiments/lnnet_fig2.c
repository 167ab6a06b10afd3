/* Figure 2: one merge, geometrically, and a whole network as a film. */
#include "lnnet_film.h"
#include "lnnet_line.h"
#include "parts.h"
#include "registry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 8, CLASSES = 3, FILM_POINTS = 24 };

/* For the picture: the first point and the fifth are of one class. */
static const double SHOWN_X[SHOWN] = {-1.6, -1, -0.5, 0.35, 0.9, 1.2, 1.5, 1.7};
static const int64_t SHOWN_LABELS[SHOWN] = {0, 1, 2, 1, 0, 2, 1, 2};

/* Points of a line and their classes. */
typedef struct line {
    int64_t n;
    double *x;
    int64_t *labels;
} line;

static line line_new(int64_t n)
{
    return (line){n, ROOM(n, double), ROOM(n, int64_t)};
}

static void line_free(line *l)
{
    free(l->x);
    free(l->labels);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Normal points in d dimensions with labels at random, projected to a random direction. */
static line draw_line(uint64_t seed, int64_t n, int64_t d, int64_t classes)
{
    line l = line_new(n);
    uint64_t state = seed * 7919 + 17;
    double *w = ROOM(d, double);
    for (int64_t k = 0; k < d; k++) {
        w[k] = normal(&state) / sqrt((double)d);
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < d; k++) {
            l.x[i] += w[k] * normal(&state);
        }
        l.labels[i] = (int64_t)(uniform(&state) * (double)classes);
    }
    qsort(l.x, (size_t)n, sizeof *l.x, by_value);
    free(w);
    return l;
}

/* ---- the picture --------------------------------------------------------------------------- */

/* On the line, lifted, on the circle, read. */
enum { STEPS = 4 };
static const char *const STEP_NAMES[STEPS] = {
    "the state: points of a line", "linear: about the hinge, at height 1",
    "layer norm: to the circle", "the ordinate is the next state"};

static void take_steps(const line *l, const lnnet_fold *fold, lnnet_scene *s)
{
    for (int64_t i = 0; i < l->n; i++) {
        lnnet_place p = lnnet_fold_at(fold, l->x[i]);
        double x[STEPS] = {p.abscissa, p.abscissa, p.circle_x, 0};
        double y[STEPS] = {0, p.height, p.circle_y, p.circle_y};
        for (int step = 0; step < STEPS; step++) {
            s->x[step * l->n + i] = x[step];
            s->y[step * l->n + i] = y[step];
        }
    }
}

static far_figure_opts plane(const char *title, const lnnet_scene *s)
{
    double most = 1.2;
    far_figure_opts o = axes(title, NULL, NULL);
    for (int64_t i = 0; i < s->n; i++) {
        most = fmax(most, 1.1 * fabs(s->x[i]));
    }
    o.x_min = -most;
    o.x_max = most;
    o.y_min = -0.4;
    o.y_max = 1.5;
    return o;
}

/* From a point to where the norm sends it. */
static far_status draw_rays(reproduction *r, const lnnet_scene *s, far_figure *figure)
{
    far_mark_opts mark = mark_of(FAR_COLOUR_INK, NULL);
    far_status st = FAR_OK;
    mark.width = 0.5;
    mark.dash = FAR_DASH_DOTTED;
    for (int64_t i = 0; i < s->n && st == FAR_OK; i++) {
        double x[] = {0, s->x[s->n + i]}, y[] = {0, s->y[s->n + i]};
        st = far_figure_line(r->ctx, figure, x, y, 2, &mark);
    }
    return st;
}

static far_status mark_merged(reproduction *r, const lnnet_scene *s, int step,
                              const lnnet_step *fold, far_figure *figure)
{
    int64_t pair[] = {fold->a, fold->b};
    far_status st = FAR_OK;
    for (int i = 0; i < 2 && st == FAR_OK; i++) {
        int64_t at = step * s->n + pair[i];
        st = step < 3 ? far_figure_text(r->ctx, figure, s->x[at], s->y[at] - 0.17, i ? "b" : "a", 0,
                                        NULL)
                      : far_figure_text(r->ctx, figure, -0.08, s->y[at], "a and b", 1, NULL);
    }
    return st;
}

static far_status draw_step(reproduction *r, const lnnet_scene *s, const lnnet_points *p, int step,
                            const lnnet_step *fold, far_figure **out)
{
    far_status st;
    far_figure_opts o = plane(STEP_NAMES[step], s);
    TRY(far_figure_create(r->ctx, &o, out));
    TRY(lnnet_draw_circle(r->ctx, *out));
    if (step == 2) {
        TRY(draw_rays(r, s, *out));
    }
    TRY(lnnet_draw_classes(r->ctx, *out, s->x + step * s->n, s->y + step * s->n, p, 9));
    TRY(mark_merged(r, s, step, fold, *out));
done:
    return st;
}

static far_status keep_merge(reproduction *r, const line *l, const lnnet_step *fold)
{
    far_figure *panels[STEPS] = {NULL};
    lnnet_points p = {far_mat_view(l->x, l->n, 1, FAR_F64), l->labels, CLASSES, NULL};
    lnnet_scene s = {0};
    far_grid_opts o = grid_of(760, 480);
    far_status st;
    o.share_x = FAR_SHARE_ALL;
    o.share_y = FAR_SHARE_ALL;
    TRY(lnnet_scene_create(r->ctx, STEPS, l->n, &s));
    take_steps(l, &fold->fold, &s);
    for (int step = 0; step < STEPS; step++) {
        TRY(draw_step(r, &s, &p, step, fold, &panels[step]));
    }
done:
    lnnet_scene_free(&s);
    return keep_grid(r, panels, 2, 2, &o, "lnnet-fig2",
                     "One layer merges a and b, two points of one class, and no two of different "
                     "classes.",
                     st);
}

/* ---- any data ------------------------------------------------------------------------------ */

typedef struct merges {
    int64_t tried, exact, clean;
    double worst; /* |f(a) - f(b)| */
    double gap;   /* the least between points of different classes, over the range */
} merges;

/* Behind the norm; sabotaged: before it. */
static double state_of(const reproduction *r, const lnnet_fold *f, double x)
{
    lnnet_place at = lnnet_fold_at(f, x);
    return r->sabotage ? at.abscissa : at.circle_y;
}

static void judge_fold(const reproduction *r, const line *l, const lnnet_step *s, merges *m)
{
    double apart = fabs(state_of(r, &s->fold, l->x[s->a]) - state_of(r, &s->fold, l->x[s->b]));
    double gap = INFINITY;
    for (int64_t i = 0; i < l->n; i++) {
        for (int64_t k = 0; k < i; k++) {
            if (l->labels[i] != l->labels[k]) {
                gap = fmin(gap,
                           fabs(state_of(r, &s->fold, l->x[i]) - state_of(r, &s->fold, l->x[k])));
            }
        }
    }
    m->tried++;
    m->exact += apart < 1e-12;
    m->clean += gap > 1e3 * apart && gap > 1e-12;
    m->worst = fmax(m->worst, apart);
    m->gap = fmin(m->gap, gap);
}

static far_status try_lines(const reproduction *r, int64_t count, merges *m)
{
    static const int64_t DIMENSIONS[] = {1, 2, 10, 100};
    far_status st = FAR_OK;
    *m = (merges){.gap = INFINITY};
    for (int64_t i = 0; i < count && st == FAR_OK; i++) {
        line l = draw_line((uint64_t)i, 12 + i % 20, DIMENSIONS[i % 4], 2 + i % 4);
        lnnet_step s;
        st = lnnet_paper_step(l.x, l.labels, l.n, &s);
        if (st == FAR_OK) {
            judge_fold(r, &l, &s, m);
        }
        line_free(&l);
    }
    return st;
}

static far_status claim_merges(reproduction *r)
{
    merges m;
    far_status st = try_lines(r, r->quick ? 100 : 1000, &m);
    return st == FAR_OK
               ? claim(r,
                       &(claim_of){.what = "one layer norm merges two points of one class and no "
                                           "two of different classes",
                                   .paper = "one step of its algorithm",
                                   .place = LNNET_NOT_READ "Figure 2",
                                   .tested = "on every random set",
                                   .agrees = m.exact == m.tried && m.clean == m.tried},
                       "%lld of %lld sets (1 to 100 dimensions, 2 to 5 classes); merged to %.1g, "
                       "others at least %.1g apart",
                       (long long)m.clean, (long long)m.tried, m.worst, m.gap)
               : st;
}

/* ---- a whole network ----------------------------------------------------------------------- */

static far_status keep_film(reproduction *r)
{
    far_status st;
    far_net *net = NULL, *plain = NULL;
    far_figure *film = NULL;
    far_lnnet_opts opts;
    far_lnnet_info info;
    far_lnnet_checked checked;
    char *linear = NULL;
    uint64_t state = 3;
    double x[FILM_POINTS][2];
    int64_t labels[FILM_POINTS];
    for (int i = 0; i < FILM_POINTS; i++) {
        x[i][0] = normal(&state);
        x[i][1] = normal(&state);
        labels[i] = uniform(&state) < 0.5;
    }
    lnnet_points p = {far_mat_view(x, FILM_POINTS, 2, FAR_F64), labels, 2, NULL};
    opts = (far_lnnet_opts){.size = sizeof opts};
    TRY(far_lnnet_build(r->ctx, &p.x, labels, 2, &opts, &net, &info));
    linear = text_of("[dense(3)]x%lld dense(2)", (long long)info.layers);
    TRY(same_weights(r, net, linear, &plain)); /* without its norms */
    TRY(far_lnnet_check(r->ctx, r->sabotage ? plain : net, &p.x, labels, FAR_LNNET_DOUBLE, 0,
                        &checked));
    TRY(claim(r,
              &(claim_of){.what = "24 points of the plane with labels at random",
                          .paper = "3 neurons a layer and O(m) layers classify m points",
                          .place = "abstract",
                          .tested = "all of them, at most m - 2 layers",
                          .seeds = 1,
                          .agrees = checked.wrong == 0 && info.layers <= FILM_POINTS - 2},
              "%lld of them by %lld layers of three neurons",
              (long long)(FILM_POINTS - checked.wrong), (long long)info.layers));
    st = lnnet_film(r->ctx, net, &p, &film);
    st = keep_drawn(r, film, "lnnet-fig2-film",
                    "A whole network: 24 points of the plane with labels at random, through all of "
                    "its layers.",
                    st);
done:
    far_net_destroy(net);
    far_net_destroy(plain);
    free(linear);
    return st;
}

far_status run_lnnet_fig2(reproduction *r)
{
    line l = line_new(SHOWN);
    lnnet_step step;
    far_status st;
    memcpy(l.x, SHOWN_X, sizeof SHOWN_X);
    memcpy(l.labels, SHOWN_LABELS, sizeof SHOWN_LABELS);
    TRY(lnnet_paper_step(l.x, l.labels, l.n, &step));
    TRY(keep_merge(r, &l, &step));
    TRY(claim_merges(r));
    TRY(keep_film(r));
done:
    line_free(&l);
    return st;
}
