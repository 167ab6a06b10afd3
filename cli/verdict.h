/* A certificate in words. */
#ifndef FAR_CLI_VERDICT_H
#define FAR_CLI_VERDICT_H

#include "along.h"

#include <farfield/predictor.h>

/* level: what |f| is to be compared with; NAN: nothing. */
void verdict_print(const far_predictor *m, const far_certificate *c, double level);

/* The bounds that a table of it shows, by their names: tightest first, then the paper's, or what
 * each method proves. How many. */
enum { VERDICT_COLUMNS = 5 };
int verdict_columns(const far_bound *b, far_proof out[VERDICT_COLUMNS]);

/* One line for each direction and output, or the JSON array of the same. */
void verdict_print_along(const far_predictor *m, const along *a);
void verdict_json_along(const along *a);

#endif
