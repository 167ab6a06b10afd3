/* One panel: ticks that fit, labels that are wrapped, and the margins they need. */
#include "sheet.h"

#include <stdio.h>
#include <string.h>

#define LABEL_GAP 6.0 /* between numbers and the label of their axis */
#define KEY_GAP 14.0
#define NAME_LINES 5 /* at most, of a category that stands upright */
#define DEGREE 0.017453292519943295

static double tick_width(const far_panel *p, const far_tick *t)
{
    return far_text_width(t->label, (int64_t)strlen(t->label), p->small);
}

static double widest_tick(const far_panel *p, const far_axis *a)
{
    double most = 0;
    for (int i = 0; i < a->ticks.count; i++) {
        most = fmax(most, tick_width(p, &a->ticks.tick[i]));
    }
    return most;
}

/* ---- ticks ---- */

/* Whether neighbouring labels keep their distance. */
static bool ticks_fit(const far_panel *p, const far_axis *a, bool across)
{
    for (int i = 1; i < a->ticks.count; i++) {
        const far_tick *t = &a->ticks.tick[i - 1];
        double apart = fabs(far_axis_place(a, t[1].value) - far_axis_place(a, t[0].value));
        double need = across ? (tick_width(p, t) + tick_width(p, t + 1)) / 2 + 0.7 * p->small
                             : 1.25 * p->small;
        if (apart < need) {
            return false;
        }
    }
    return true;
}

static void choose_ticks(const far_panel *p, far_axis *a, bool across)
{
    double length = fabs(a->to - a->from);
    int most = (int)(length / (p->small * (across ? 5 : 2.1)));
    for (most = most < 3 ? 3 : most > 9 ? 9 : most; most >= 2; most--) {
        far_ticks_choose(a->scale, a->low, a->high, a->linear, most, &a->ticks);
        if (ticks_fit(p, a, across)) {
            return;
        }
    }
}

static void set_axes(far_panel *p)
{
    p->x.from = p->plot.x;
    p->x.to = p->plot.x + p->plot.w;
    p->y.from = p->z.from = p->plot.y + p->plot.h;
    p->y.to = p->z.to = p->plot.y;
    choose_ticks(p, &p->y, false);
    if (p->heat) {
        choose_ticks(p, &p->z, false);
    }
    if (p->figure->opts.category_count > 0) {
        p->x.ticks = (far_ticks){0};
    } else {
        choose_ticks(p, &p->x, true);
    }
}

/* ---- texts ---- */

/* The label with the factor of the ticks: "area (10^{5} m^{2})", "loss (x10^{5})". */
static void join_factor(far_text *t, const char *label, const char *factor)
{
    const char *unit = strrchr(label, '(');
    size_t length = strlen(label);
    bool has_unit = unit && length > 0 && label[length - 1] == ')';
    bool plain =
        strncmp(factor, FAR_TIMES "10", strlen(FAR_TIMES) + 2) == 0 && !strchr(factor, ' ');
    if (!*label || !*factor) {
        far_text_add(t, "%s%s", label, factor);
    } else if (has_unit && plain) {
        far_text_add(t, "%.*s%s %s", (int)(unit + 1 - label), label, factor + strlen(FAR_TIMES),
                     unit + 1);
    } else {
        far_text_add(t, "%s (%s)", label, factor);
    }
}

static far_status set_label(far_panel *p, const char *label, const char *factor, double width,
                            char **slot)
{
    far_status st = FAR_OK;
    far_text t = {.ctx = p->ctx};
    far_free(p->ctx, *slot);
    *slot = NULL;
    join_factor(&t, label ? label : "", factor);
    FAR_TRY(t.status);
    if (t.length > 0) {
        FAR_TRY(far_wrap(p->ctx, t.data, p->font, width, slot));
    }
done:
    far_free(p->ctx, t.data);
    return st;
}

static far_status set_labels(far_panel *p)
{
    far_status st;
    const far_figure_opts *o = &p->figure->opts;
    const char *title = p->figure->opts.title;
    FAR_TRY(set_label(p, title, "", p->plot.w, &p->title));
    FAR_TRY(set_label(p, p->x_titled ? o->x_label : NULL, p->x_numbers ? p->x.ticks.factor : "",
                      p->plot.w, &p->x_label));
    FAR_TRY(set_label(p, p->y_titled ? o->y_label : NULL, p->y_numbers ? p->y.ticks.factor : "",
                      p->plot.h, &p->y_label));
    if (p->heat) {
        FAR_TRY(set_label(p, p->heat->label, p->z.ticks.factor, p->plot.h, &p->z_label));
    }
done:
    return st;
}

/* ---- categories ---- */

static far_status wrap_names(far_panel *p, double width)
{
    far_status st = FAR_OK;
    const far_figure_opts *o = &p->figure->opts;
    for (int64_t i = 0; st == FAR_OK && i < o->category_count; i++) {
        far_free(p->ctx, p->names[i]);
        st = far_wrap(p->ctx, o->categories[i], p->small, width, &p->names[i]);
    }
    return st;
}

/* Upright if no word is too wide and no name too high. */
static bool names_fit(const far_panel *p, double width)
{
    const far_figure_opts *o = &p->figure->opts;
    for (int64_t i = 0; i < o->category_count; i++) {
        if (far_word_width(o->categories[i], p->small) > width ||
            far_line_count(p->names[i]) > NAME_LINES) {
            return false;
        }
    }
    return true;
}

static far_status set_names(far_panel *p)
{
    far_status st = FAR_OK;
    int64_t count = p->figure->opts.category_count;
    if (count == 0) {
        return FAR_OK;
    }
    if (!p->names) {
        FAR_TRY(far_alloc(p->ctx, count, &p->names));
    }
    double slot = p->plot.w / (double)count - 0.5 * p->small;
    FAR_TRY(wrap_names(p, slot));
    p->slanted = !names_fit(p, slot);
    if (p->slanted) {
        FAR_TRY(wrap_names(p, fmax(12 * p->small, 0.5 * p->plot.h)));
    }
done:
    return st;
}

/* ---- margins ---- */

static double names_height(const far_panel *p)
{
    double most = 0, slant = p->slanted ? FAR_SLANT * DEGREE : 0;
    for (int64_t i = 0; i < p->figure->opts.category_count; i++) {
        double w = far_lines_width(p->names[i], p->small);
        double h = far_lines_height(p->names[i], p->small);
        most = fmax(most, (p->slanted ? w * sin(slant) : 0) + h * cos(slant));
    }
    return most;
}

/* How far the labels of x stick out of the plot to the left and right. */
static void names_overhang(const far_panel *p, double *left, double *right)
{
    int64_t count = p->figure->opts.category_count;
    for (int64_t i = 0; i < count; i++) {
        double w = far_lines_width(p->names[i], p->small);
        double at = far_axis_place(&p->x, (double)i), half = w / 2;
        double reach = p->slanted ? w * cos(FAR_SLANT * DEGREE) + p->small : half;
        *left = fmax(*left, p->plot.x - (at - reach));
        *right = fmax(*right, at + (p->slanted ? p->small : half) - (p->plot.x + p->plot.w));
    }
}

static void ticks_overhang(const far_panel *p, double *left, double *right)
{
    for (int i = 0; i < p->x.ticks.count; i++) {
        const far_tick *t = &p->x.ticks.tick[i];
        double at = far_axis_place(&p->x, t->value), half = tick_width(p, t) / 2;
        *left = fmax(*left, p->plot.x - (at - half));
        *right = fmax(*right, at + half - (p->plot.x + p->plot.w));
    }
}

static double with_label(const char *label, double font)
{
    return label ? LABEL_GAP + far_lines_height(label, font) : 0;
}

/* Room for numbers, labels and the colour bar around the plot. Numbers may hang over the ends of
 * the x axis, which counts at the sides, too. */
static void set_margins(far_panel *p)
{
    far_margins m = {0};
    p->y_tick_width = p->y_numbers ? widest_tick(p, &p->y) : 0;
    p->x_tick_height = FAR_LINE_HEIGHT * p->small;
    if (p->figure->opts.category_count > 0) {
        p->x_tick_height = names_height(p);
    }
    if (!p->x_numbers) {
        p->x_tick_height = 0;
    } else if (p->figure->opts.category_count > 0) {
        names_overhang(p, &m.left, &m.right);
    } else {
        ticks_overhang(p, &m.left, &m.right);
    }
    m.left = fmax(m.left, FAR_TICK_LENGTH + (p->y_numbers ? FAR_GAP + p->y_tick_width : 0) +
                              with_label(p->y_label, p->font));
    m.bottom = FAR_TICK_LENGTH + (p->x_numbers ? FAR_GAP + p->x_tick_height : 0) +
               with_label(p->x_label, p->font);
    m.top = fmax(p->y_numbers ? p->small / 2 : 0,
                 p->title ? LABEL_GAP + far_lines_height(p->title, p->font) : 0);
    if (p->heat) {
        p->z_tick_width = widest_tick(p, &p->z);
        m.right = FAR_BAR_GAP + FAR_BAR_WIDTH + FAR_TICK_LENGTH + FAR_GAP + p->z_tick_width +
                  with_label(p->z_label, p->font);
        p->bar =
            (far_box){p->plot.x + p->plot.w + FAR_BAR_GAP, p->plot.y, FAR_BAR_WIDTH, p->plot.h};
    }
    p->margin = m;
}

/* Legends beside the plot take their part of the margins. */
static far_status set_key_margin(far_panel *p)
{
    far_status st = FAR_OK;
    far_key *key = &p->key;
    if (key->count == 0 || p->key_place == FAR_LEGEND_NONE || p->key_place == FAR_LEGEND_AUTO) {
        return st;
    }
    if (p->key_place == FAR_LEGEND_RIGHT) {
        double width = p->plot.w + p->margin.right;
        FAR_TRY(far_key_arrange(p->ctx, key, p->small, fmax(0.5 * width, 120), false));
        key->box.x = p->plot.x + p->plot.w + p->margin.right + KEY_GAP;
        key->box.y = p->plot.y + FAR_GAP;
        p->margin.right += KEY_GAP + key->box.w;
    } else {
        FAR_TRY(far_key_arrange(p->ctx, key, p->small, p->plot.w, true));
        key->box.x = p->plot.x + (p->plot.w - key->box.w) / 2;
        key->box.y = p->plot.y + p->plot.h + p->margin.bottom + LABEL_GAP;
        p->margin.bottom += LABEL_GAP + key->box.h;
    }
done:
    return st;
}

far_status far_panel_measure(far_panel *p)
{
    far_status st;
    set_axes(p);
    FAR_TRY(set_labels(p));
    FAR_TRY(set_names(p));
    set_margins(p);
    FAR_TRY(set_key_margin(p));
done:
    return st;
}
