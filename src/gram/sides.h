/* Both sides of a Gram matrix of a kernel, ready for tiles. */
#ifndef FAR_SIDES_H
#define FAR_SIDES_H

#include "../kernel/tile.h"

typedef struct far_sides {
    far_points a, own_b, *b; /* b is a itself when there is one set of points */
    far_layout layout;
    far_tail tail;
} far_sides;

/* The points of both have been created. */
far_status far_sides_prepare(far_ctx *ctx, const far_plan *plan, far_sides *s);
/* A tile but for its place, its outputs and what becomes of them. ntk: Theta is wanted. It reads s,
 * which must stay where it is. */
far_status far_sides_tile(far_ctx *ctx, const far_plan *plan, far_sides *s, bool ntk,
                          far_tile *out);
void far_sides_clear(far_ctx *ctx, far_sides *s);

#endif
