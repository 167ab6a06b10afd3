#define _GNU_SOURCE
#include "lnnet_film.h"
#include "parts.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- parts --------------------------------------------------------------------------------- */

far_status lnnet_draw_circle(far_ctx *ctx, far_figure *figure)
{
    enum { ARCS = 180 };
    double x[ARCS + 1], y[ARCS + 1];
    far_mark_opts mark = mark_of(FAR_COLOUR_INK, NULL);
    mark.width = 0.8;
    for (int i = 0; i <= ARCS; i++) {
        x[i] = cos(2 * acos(-1) * i / ARCS);
        y[i] = sin(2 * acos(-1) * i / ARCS);
    }
    return far_figure_line(ctx, figure, x, y, ARCS + 1, &mark);
}

static const char *class_name(const lnnet_points *p, int64_t k, char buffer[32])
{
    snprintf(buffer, 32, "class %lld", (long long)k);
    return p->names ? p->names[k] : buffer;
}

/* Those of class k, frame by frame; returns how many there are in one. */
static int64_t pick_class(const double *from, int64_t frames, const lnnet_points *p, int64_t k,
                          double *to)
{
    int64_t n = p->x.rows, count = 0;
    for (int64_t i = 0; i < frames * n; i++) {
        if (p->labels[i % n] == k) {
            to[count++] = from[i];
        }
    }
    return count / frames;
}

/* Points of each class that has any: moving if there are frames. */
static far_status draw_classes(far_ctx *ctx, far_figure *figure, const double *x, const double *y,
                               int64_t frames, const lnnet_points *p, double width)
{
    int64_t n = p->x.rows;
    far_status st = FAR_OK;
    double *own_x = malloc((size_t)(2 * frames * n) * sizeof *own_x + 1);
    if (!own_x) {
        return FAR_ERR_MEMORY;
    }
    double *own_y = own_x + frames * n;
    for (int64_t k = 0; k < p->classes && st == FAR_OK; k++) {
        char buffer[32];
        far_mark_opts mark =
            mark_of((int)(k % FAR_COLOURS),
                    p->classes <= LNNET_FILM_CLASSES ? class_name(p, k, buffer) : NULL);
        int64_t count = pick_class(x, frames, p, k, own_x);
        pick_class(y, frames, p, k, own_y);
        mark.width = width;
        mark.opacity = 0.8;
        if (count > 0) {
            st = frames > 1 ? far_figure_motion(ctx, figure, own_x, own_y, count, &mark)
                            : far_figure_points(ctx, figure, own_x, own_y, count, &mark);
        }
    }
    free(own_x);
    return st;
}

far_status lnnet_draw_classes(far_ctx *ctx, far_figure *figure, const double *x, const double *y,
                              const lnnet_points *p, double width)
{
    return draw_classes(ctx, figure, x, y, 1, p, width);
}

/* ---- scenes -------------------------------------------------------------------------------- */

far_status lnnet_scene_create(far_ctx *ctx, int64_t frames, int64_t n, lnnet_scene *out)
{
    (void)ctx;
    *out = (lnnet_scene){.frames = frames,
                         .n = n,
                         .x = calloc((size_t)(frames * n), sizeof(double)),
                         .y = calloc((size_t)(frames * n), sizeof(double)),
                         .captions = calloc((size_t)frames, sizeof(char *))};
    return out->x && out->y && out->captions ? FAR_OK : FAR_ERR_MEMORY;
}

void lnnet_scene_free(lnnet_scene *s)
{
    for (int64_t i = 0; s->captions && i < s->frames; i++) {
        free(s->captions[i]);
    }
    FREE(s->captions, s->x, s->y);
    *s = (lnnet_scene){0};
}

static far_status draw_captions(far_ctx *ctx, far_figure *figure, const lnnet_scene *s, double top)
{
    far_status st = FAR_OK;
    for (int64_t i = 0; i < s->frames && st == FAR_OK; i++) {
        far_mark_opts mark = mark_of(FAR_COLOUR_NEXT, NULL);
        mark.frame = i;
        if (s->captions[i]) {
            st = far_figure_text(ctx, figure, 0, top, s->captions[i], 0, &mark);
        }
    }
    return st;
}

far_status lnnet_scene_film(far_ctx *ctx, const lnnet_scene *s, const lnnet_points *p,
                            far_figure_opts opts, far_figure **out)
{
    far_status st;
    opts.frames = s->frames;
    TRY(far_figure_create(ctx, &opts, out));
    TRY(lnnet_draw_circle(ctx, *out));
    TRY(draw_classes(ctx, *out, s->x, s->y, s->frames, p, NAN));
    TRY(draw_captions(ctx, *out, s, opts.y_max));
done:
    if (st != FAR_OK) {
        far_figure_destroy(*out);
        *out = NULL;
    }
    return st;
}

/* ---- networks ------------------------------------------------------------------------------ */

/* Rows that are shown: all, or some of them spread over the table. */
typedef struct cast {
    lnnet_points points;
    double *x;
    int64_t *labels;
} cast;

static void cast_free(cast *c)
{
    free(c->x);
    free(c->labels);
}

static far_status choose_cast(const lnnet_points *p, cast *out)
{
    int64_t n = p->x.rows < LNNET_FILM_POINTS ? p->x.rows : LNNET_FILM_POINTS, d = p->x.cols;
    out->points = *p;
    out->x = malloc((size_t)(n * d) * sizeof *out->x + 1);
    out->labels = malloc((size_t)n * sizeof *out->labels + 1);
    if (!out->x || !out->labels) {
        return FAR_ERR_MEMORY;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t row = i * p->x.rows / n;
        memcpy(out->x + i * d, (const double *)p->x.data + row * p->x.ld,
               (size_t)d * sizeof(double));
        out->labels[i] = p->labels[row];
    }
    out->points.x = far_mat_view(out->x, n, d, FAR_F64);
    out->points.labels = out->labels;
    return FAR_OK;
}

/* The layer (from 0) that the k-th of shown ones is. */
static int64_t shown_layer(int64_t k, int64_t shown, int64_t layers)
{
    return shown < 2 ? 0 : k * (layers - 1) / (shown - 1);
}

/* The projection, brought to the diameter. */
static void set_first(lnnet_scene *s, const double *states, int64_t stride)
{
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < s->n; i++) {
        low = fmin(low, states[i * stride]);
        high = fmax(high, states[i * stride]);
    }
    for (int64_t i = 0; i < s->n; i++) {
        s->x[i] = high > low ? 2 * (states[i * stride] - low) / (high - low) - 1 : 0;
    }
}

/* Beside the axis, classes side by side, so that none hides another. */
static double beside(const lnnet_points *p, int64_t i)
{
    return 0.5 * (((double)p->labels[i] + 0.5) / (double)p->classes - 0.5);
}

/* Two frames a layer: on the circle, and its ordinate (or what else is read) by itself. */
static void set_layer(lnnet_scene *s, int64_t frame, const lnnet_points *p, const double *circle,
                      const double *states, int64_t layers, int64_t layer)
{
    for (int64_t i = 0; i < s->n; i++) {
        const double *at = circle + 2 * (i * layers + layer);
        bool ordinate = fabs(states[i * (layers + 1) + layer + 1] - at[1]) < 1e-9;
        s->x[frame * s->n + i] = at[0];
        s->y[frame * s->n + i] = at[1];
        s->x[(frame + 1) * s->n + i] = ordinate ? beside(p, i) : at[0];
        s->y[(frame + 1) * s->n + i] = ordinate ? at[1] : beside(p, i);
    }
}

static far_status name_layer(lnnet_scene *s, int64_t frame, int64_t layer, int64_t layers)
{
    const char *last = layer + 1 == layers ? "; each is one interval" : "";
    if (asprintf(&s->captions[frame], "layer %lld of %lld: folded onto the circle",
                 (long long)layer + 1, (long long)layers) < 0 ||
        asprintf(&s->captions[frame + 1], "layer %lld: the ordinate, classes side by side%s",
                 (long long)layer + 1, last) < 0) {
        return FAR_ERR_MEMORY;
    }
    return FAR_OK;
}

static far_status fill_scene(far_ctx *ctx, const far_net *net, const lnnet_points *p,
                             int64_t layers, lnnet_scene *s)
{
    far_status st;
    int64_t n = p->x.rows, shown = (s->frames - 1) / 2;
    double *states = malloc((size_t)(n * (layers + 1)) * sizeof *states + 1);
    double *circle = malloc((size_t)(n * 2 * layers) * sizeof *circle + 1);
    far_mat state_mat = far_mat_view(states, n, layers + 1, FAR_F64);
    far_mat circle_mat = far_mat_view(circle, n, 2 * layers, FAR_F64);
    TRY(states && circle ? FAR_OK : FAR_ERR_MEMORY);
    TRY(far_lnnet_trace(ctx, net, &p->x, 0, &state_mat, &circle_mat));
    set_first(s, states, layers + 1);
    s->captions[0] = strdup("the data, projected to a line");
    for (int64_t k = 0; k < shown; k++) {
        int64_t layer = shown_layer(k, shown, layers);
        set_layer(s, 1 + 2 * k, p, circle, states, layers, layer);
        TRY(name_layer(s, 1 + 2 * k, layer, layers));
    }
done:
    free(states);
    free(circle);
    return st;
}

static far_figure_opts film_opts(void)
{
    far_figure_opts o = axes(NULL, "abscissa", "ordinate");
    o.width = 520;
    o.height = 515;
    o.x_min = -1.25;
    o.x_max = 1.25;
    o.y_min = -1.15;
    o.y_max = 1.25;
    o.legend = FAR_LEGEND_BELOW;
    o.description = "A film: points of several classes are folded onto the unit circle and read "
                    "off again, layer by layer, until each class is one interval.";
    return o;
}

far_status lnnet_film(far_ctx *ctx, const far_net *net, const lnnet_points *p, far_figure **out)
{
    far_status st;
    cast c = {.x = NULL};
    lnnet_scene s = {0};
    far_lnnet_shape shape;
    *out = NULL;
    TRY(far_lnnet_describe(ctx, net, &shape));
    int64_t shown = shape.layers < LNNET_FILM_FRAMES / 2 ? shape.layers : LNNET_FILM_FRAMES / 2;
    TRY(choose_cast(p, &c));
    TRY(lnnet_scene_create(ctx, 1 + 2 * shown, c.points.x.rows, &s));
    TRY(fill_scene(ctx, net, &c.points, shape.layers, &s));
    TRY(lnnet_scene_film(ctx, &s, &c.points, film_opts(), out));
done:
    cast_free(&c);
    lnnet_scene_free(&s);
    return st;
}
