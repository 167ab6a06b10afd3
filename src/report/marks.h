/* Shared by the files that draw layers. */
#ifndef FAR_MARKS_H
#define FAR_MARKS_H

#include "paths.h"
#include "svg.h"

#define FAR_BEYOND 20.0 /* px that paths go on beyond the plot, where they are clipped */

/* <g class="far-series" ...> of a layer: opened, then the points for scripts, then the rest of its
 * start. fields: what data-points holds; NULL: there are none. */
void far_series_open(far_drawing *d, const far_mark *layer, const char *fields);
void far_series_opened(far_drawing *d, const far_mark *layer, const char *fields);
/* One point for scripts: its place with a decimal, then its values. */
void far_put_hover(far_text *t, bool first, double px, double py, const double *values, int count);
/* Every how many points such a point is written. */
int64_t far_hover_stride(const far_panel *p, const far_mark *layer);

/* Points that travel through the frames of a film. */
far_status far_draw_motion(far_drawing *d, const far_panel *p, const far_mark *layer);
/* A group that is shown in the layer's frame alone. Nothing, if it is shown in all. */
void far_frame_open(far_drawing *d, const far_panel *p, const far_mark *layer);
void far_frame_close(far_drawing *d, const far_mark *layer);

far_status far_draw_heat(far_drawing *d, const far_panel *p, const far_mark *layer);
far_status far_draw_histogram(far_drawing *d, const far_panel *p, const far_mark *layer);
far_status far_draw_bars(far_drawing *d, const far_panel *p, const far_mark *layer);
far_status far_draw_rule(far_drawing *d, const far_panel *p, const far_mark *layer);
void far_draw_rule_label(far_drawing *d, const far_panel *p, const far_mark *layer);
far_status far_draw_text(far_drawing *d, const far_panel *p, const far_mark *layer);

#endif
