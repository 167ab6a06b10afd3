/* Both sides of a Gram matrix of a kernel, ready for tiles. */
#ifndef FAR_SIDES_H
#define FAR_SIDES_H

#include "../kernel/tile.h"

typedef struct far_sides {
    far_points a, own_b, *b; /* b is a itself when there is one set of points */
    far_layout layout;
} far_sides;

/* The points of both have been created. */
far_status far_sides_prepare(far_ctx *ctx, const far_plan *plan, far_sides *s);
void far_sides_clear(far_ctx *ctx, far_sides *s);

#endif
