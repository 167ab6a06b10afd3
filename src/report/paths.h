/* Long lines and areas as short paths. */
#ifndef FAR_PATHS_H
#define FAR_PATHS_H

#include "sheet.h"

typedef struct far_place {
    double x, y;
} far_place;

/* Leaves out, in place, what cannot be seen of a line: of neighbours in the same half pixel column
 * the first, the highest, the lowest and the last stay, in their order; then what lies within 0.04
 * px of the straight way between others. Returns how many stay. */
int64_t far_simplify(far_place *line, int64_t count);
/* Appends the part of a line that lies in the box as path data. */
void far_put_line(far_text *t, const far_place *line, int64_t count, far_box box);
/* Appends the part of a polygon in the box. */
far_status far_put_polygon(far_text *t, const far_place *corner, int64_t count, far_box box);

#endif
