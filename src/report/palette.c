#include "palette.h"
#include "figure_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Found by search, starting from the hues of Okabe and Ito: in OKLab, as seen with normal eyes,
 * protanopia, deuteranopia and tritanopia, the least distance between two is as large as can be,
 * the first ones the farthest apart; contrast against the paper is 3 (light) and 4.4 (dark) or
 * more. An index has the same hue on both. */
static const char *const SERIES[2][FAR_COLOURS] = {
    {"#2f5c99", "#ba4c0a", "#0d8b7a", "#d45fba", "#aa903a", "#1496f2", "#404040", "#785451"},
    {"#3aa5fe", "#ee4208", "#18946f", "#e666b9", "#e9ad27", "#97cdfa", "#e1e1d3", "#baa782"}};

/* What is not data. Text has a contrast of 7 or more, muted text of 4.5 or more. */
typedef struct plain {
    const char *paper, *ink, *muted, *axis, *grid;
} plain;

static const plain PLAIN[2] = {{"#ffffff", "#1c1c1c", "#595959", "#6b6b6b", "#e7e7e7"},
                               {"#16191d", "#ececec", "#a9afb6", "#858b92", "#2e3339"}};

/* Equal steps are equally far apart in OKLab, and lightness only rises: from dark blue to yellow,
 * and from both ends to the middle. */
#define MAP_STOPS 17
static const char MAPS[2][MAP_STOPS][7] = {
    {"1b1630", "221e4a", "222866", "143482", "034586", "055886", "076a8c", "0a7d92", "0d9097",
     "10a299", "12b495", "15c58a", "50d17a", "86da69", "b3e259", "dde74b", "feeb53"},
    {"043e72", "065294", "0a67b8", "357fcb", "5e96d4", "83addd", "a8c4e4", "ccdbeb", "f1f1f2",
     "ead5cb", "e0b8a4", "d59b7d", "c97e56", "bc6029", "a34909", "823906", "632a03"}};

const char *far_series_colour(bool dark, int index)
{
    return SERIES[dark][index % FAR_COLOURS];
}

const char *far_paper_colour(bool dark)
{
    return PLAIN[dark].paper;
}

static double stop_part(bool diverging, int stop, int part)
{
    char digits[3] = {0};
    memcpy(digits, MAPS[diverging][stop] + 2 * part, 2);
    return (double)strtol(digits, NULL, 16);
}

static unsigned char blend(bool diverging, int stop, double share, int part)
{
    double from = stop_part(diverging, stop, part), to = stop_part(diverging, stop + 1, part);
    return (unsigned char)lround(from + share * (to - from));
}

far_rgb far_map_colour(bool diverging, double t)
{
    double at = fmin(fmax(t, 0), 1) * (MAP_STOPS - 1);
    int stop = at >= MAP_STOPS - 1 ? MAP_STOPS - 2 : (int)at;
    double share = at - stop;
    return (far_rgb){blend(diverging, stop, share, 0), blend(diverging, stop, share, 1),
                     blend(diverging, stop, share, 2)};
}

/* ---- style sheets ---- */

const char *far_theme_class(far_theme theme)
{
    return theme == FAR_THEME_LIGHT  ? "far-light"
           : theme == FAR_THEME_DARK ? "far-dark"
                                     : "far-auto";
}

static void put_rule(far_text *t, const char *root, const char *name, const char *property,
                     const char *colour)
{
    far_text_add(t, ".%s .far-%s{%s:%s}", root, name, property, colour);
}

static void put_rules(far_text *t, const char *root, bool dark)
{
    const plain *p = &PLAIN[dark];
    put_rule(t, root, "paper", "fill", p->paper);
    put_rule(t, root, "halo", "stroke", p->paper);
    put_rule(t, root, "ink", "fill", p->ink);
    put_rule(t, root, "muted", "fill", p->muted);
    put_rule(t, root, "axis", "stroke", p->axis);
    put_rule(t, root, "grid", "stroke", p->grid);
    put_rule(t, root, "error", "stroke", p->ink);
    put_rule(t, root, "sink", "stroke", p->muted);
    put_rule(t, root, "fink", "fill", p->muted);
    for (int i = 0; i < FAR_COLOURS; i++) {
        far_text_add(t, ".%s .far-s%d{stroke:%s}.%s .far-f%d{fill:%s}", root, i, SERIES[dark][i],
                     root, i, SERIES[dark][i]);
    }
}

void far_put_css(far_text *t, far_theme theme)
{
    const char *root = far_theme_class(theme);
    put_rules(t, root, theme == FAR_THEME_DARK);
    if (theme == FAR_THEME_AUTO) {
        far_text_add(t, "@media (prefers-color-scheme:dark){");
        put_rules(t, root, true);
        far_text_add(t, "}");
    }
}

far_status far_figure_css(far_ctx *ctx, char **out)
{
    if (!out) {
        return far_fail(ctx, FAR_ERR_ARG, "out is NULL");
    }
    far_text t = {.ctx = ctx};
    far_put_css(&t, FAR_THEME_LIGHT);
    far_put_css(&t, FAR_THEME_DARK);
    far_put_css(&t, FAR_THEME_AUTO);
    *out = t.status == FAR_OK ? t.data : NULL;
    if (t.status != FAR_OK) {
        far_free(ctx, t.data);
    }
    return t.status;
}
