/* A certificate in words. */
#ifndef FAR_CLI_VERDICT_H
#define FAR_CLI_VERDICT_H

#include "along.h"

#include <farfield/certify.h>
#include <farfield/netcert.h>

/* level: what |f| is to be compared with; NAN: nothing. */
void verdict_print(const subject *m, const far_certificate *c, double level);

/* The same for a finite network. */
void verdict_print_net(const subject *m, const far_net_certificate *c, double level);

/* One line for each direction and output, or the JSON array of the same. */
void verdict_print_along(const subject *m, const along *a);
void verdict_json_along(const along *a);

#endif
