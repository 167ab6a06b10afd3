/* Pictures of functions near their data and far from it. */
#ifndef FAR_CLI_REPORT_FAR_H
#define FAR_CLI_REPORT_FAR_H

#include "report.h"
#include "subject.h"

enum { FAR_VIEW_POINTS = 321 };

/* How far from 0 the data lie, in raw units: as centre and scale have it. */
double view_data_size(const far_predictor *m);
/* t from -1e6 size to 1e6 size, dense about 0. */
void view_spread(double size, double t[FAR_VIEW_POINTS]);
/* Points still + t direction; follow: with the ranks of their numbers. */
typedef struct view_line {
    const double *direction, *still;
    bool follow;
} view_line;
/* out[i] = output k at t[i], raw units; false after a failure, which the report has. */
bool view_along(report *r, const far_predictor *m, const view_line *line,
                const double t[FAR_VIEW_POINTS], int64_t k, double out[FAR_VIEW_POINTS]);

/* Two pictures of functions of one input, which are one mean line with the range of all if there
 * are several: over the data with their surroundings, and far out. x, y: data (n may be 0). */
typedef struct one_input {
    const far_predictor *const *subjects;
    int64_t count;
    const double *x, *y;
    int64_t n;
} one_input;
/* Whether all it takes is there: one input and one output. */
bool view_possible(const one_input *v);
void view_put(report *r, const one_input *v);

#endif
