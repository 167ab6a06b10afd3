/* Colours of marks, themes and heat maps. */
#ifndef FAR_PALETTE_H
#define FAR_PALETTE_H

#include "../base/base_internal.h"

#include <farfield/plot.h>

typedef struct far_rgb {
    unsigned char r, g, b;
} far_rgb;

/* One of FAR_COLOURS, on light or dark. */
const char *far_series_colour(bool dark, int index);
const char *far_paper_colour(bool dark);
/* The colour at 0 <= t <= 1 of a map. */
far_rgb far_map_colour(bool diverging, double t);

/* The style sheet of FAR_THEME_LIGHT, FAR_THEME_DARK or FAR_THEME_AUTO. */
void far_put_css(far_text *t, far_theme theme);
const char *far_theme_class(far_theme theme);

#endif
