/* What a metric says of the inputs, in words, JSON and a picture. */
#ifndef FAR_CLI_METRIC_SHOW_H
#define FAR_CLI_METRIC_SHOW_H

#include "report.h"

#include <farfield/model.h>

/* Its kind, how much each input counts, the leading directions; without one its kind in JSON. */
void metric_tell(far_result *r, const far_model_info *i);
/* The same as a picture and a table, on the page. */
void metric_draw(report *r, const far_model_info *i);
/* "f does not depend on: a, 0.5 b - c"; nothing where null has no rows. */
void metric_tell_null(far_result *r, const far_mat *null, const far_columns_info *c);

#endif
