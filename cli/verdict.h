/* A certificate in words. */
#ifndef FAR_CLI_VERDICT_H
#define FAR_CLI_VERDICT_H

#include "along.h"

#include <farfield/certify.h>

/* level: what |f| is to be compared with; NAN: nothing. */
void verdict_print(const far_model *m, const far_certificate *c, double level);

/* One line for each direction and output, or the JSON array of the same. */
void verdict_print_along(const far_model *m, const along *a);
void verdict_json_along(const along *a);

#endif
