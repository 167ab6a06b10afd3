/* Films: SVG that animates itself. What stands in the attributes is the last frame, for viewers
 * that do not animate. */
#include "marks.h"

#include <math.h>

#define HELD 0.45 /* part of a frame's time that points rest before they travel on */

/* ---- times ---- */

static void put_duration(far_text *t, const far_figure *f)
{
    far_text_add(t, " dur=\"");
    far_put_fixed(t, (double)f->opts.frames * f->opts.frame_seconds, 2);
    far_text_add(t, "s\" repeatCount=\"indefinite\"/>");
}

/* Each frame's place is held for a while; the last one to the end. */
static void put_key_times(far_text *t, int64_t frames)
{
    far_text_add(t, " keyTimes=\"0");
    for (int64_t i = 0; i < frames; i++) {
        double held = i + 1 < frames ? ((double)i + HELD) / (double)frames : 1;
        if (i > 0) {
            far_text_add(t, ";");
            far_put_fixed(t, (double)i / (double)frames, 4);
        }
        far_text_add(t, ";");
        far_put_fixed(t, held, 4);
    }
    far_text_add(t, "\"");
}

/* ---- points ---- */

typedef struct traveller {
    const far_panel *panel;
    const far_mark *layer;
    int64_t index, count; /* the point, and how many there are */
} traveller;

static bool place_in(const traveller *w, int64_t frame, double at[2])
{
    return far_point_place(w->panel, w->layer, frame * w->count + w->index, &at[0], &at[1]);
}

static bool always_shown(const traveller *w)
{
    double at[2];
    for (int64_t f = 0; f < w->panel->figure->opts.frames; f++) {
        if (!place_in(w, f, at)) {
            return false;
        }
    }
    return true;
}

static bool stands_still(const traveller *w, int axis)
{
    double first[2], at[2];
    place_in(w, 0, first);
    for (int64_t f = 1; f < w->panel->figure->opts.frames; f++) {
        place_in(w, f, at);
        if (fabs(at[axis] - first[axis]) > 0.05) {
            return false;
        }
    }
    return true;
}

static void put_travel(far_text *t, const traveller *w, int axis)
{
    const far_figure *figure = w->panel->figure;
    double at[2];
    if (stands_still(w, axis)) {
        return;
    }
    far_text_add(t, "<animate attributeName=\"%s\" values=\"", axis ? "cy" : "cx");
    for (int64_t f = 0; f < figure->opts.frames; f++) {
        place_in(w, f, at);
        for (int twice = 0; twice < 2; twice++) {
            far_text_add(t, f + twice ? ";" : "");
            far_put_fixed(t, at[axis], 1);
        }
    }
    far_text_add(t, "\"");
    put_key_times(t, figure->opts.frames);
    put_duration(t, figure);
}

static void put_traveller(far_text *t, const traveller *w, double radius)
{
    double at[2];
    if (!always_shown(w)) {
        return;
    }
    place_in(w, w->panel->figure->opts.frames - 1, at);
    far_text_add(t, "<circle");
    far_put_number(t, "cx", at[0]);
    far_put_number(t, "cy", at[1]);
    far_put_number(t, "r", radius);
    far_text_add(t, ">");
    put_travel(t, w, 0);
    put_travel(t, w, 1);
    far_text_add(t, "</circle>");
}

static double radius_of(const far_mark *layer, int64_t count)
{
    return isnan(layer->width) ? fmin(5, fmax(2, 9 * pow((double)count, -0.2))) : layer->width / 2;
}

far_status far_draw_motion(far_drawing *d, const far_panel *p, const far_mark *layer)
{
    int64_t count = layer->count / p->figure->opts.frames;
    far_series_open(d, layer, NULL);
    far_series_opened(d, layer, NULL);
    far_text_add(d->text, "<g");
    far_put_fill(d->text, layer, 0.85);
    far_text_add(d->text, ">");
    for (int64_t i = 0; i < count; i++) {
        traveller w = {p, layer, i, count};
        put_traveller(d->text, &w, radius_of(layer, count));
    }
    far_text_add(d->text, "</g></g>");
    return d->text->status;
}

/* ---- layers of one frame ---- */

void far_frame_open(far_drawing *d, const far_panel *p, const far_mark *layer)
{
    far_text *t = d->text;
    double frames = (double)p->figure->opts.frames, from = (double)layer->frame / frames;
    if (layer->frame < 0 || frames < 2) {
        return;
    }
    bool first = layer->frame == 0, last = layer->frame == p->figure->opts.frames - 1;
    far_text_add(t, "<g class=\"far-frame\" visibility=\"%s\">", last ? "visible" : "hidden");
    far_text_add(t, "<animate attributeName=\"visibility\" calcMode=\"discrete\" values=\"%s%s\"",
                 first ? "visible" : "hidden;visible", last ? "" : ";hidden");
    far_text_add(t, " keyTimes=\"0");
    if (!first) {
        far_text_add(t, ";");
        far_put_fixed(t, from, 4);
    }
    if (!last) {
        far_text_add(t, ";");
        far_put_fixed(t, from + 1 / frames, 4);
    }
    far_text_add(t, "\"");
    put_duration(t, p->figure);
}

void far_frame_close(far_drawing *d, const far_mark *layer)
{
    far_text_add(d->text, layer->frame < 0 ? "" : "</g>");
}
