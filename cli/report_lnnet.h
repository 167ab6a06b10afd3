/* The report of farfield lnnet build: what was built, its first fold, and the points on their way.
 */
#ifndef FAR_CLI_REPORT_LNNET_H
#define FAR_CLI_REPORT_LNNET_H

#include "lnnet.h"
#include "report.h"

#include <farfield/lnnet.h>

typedef struct report_built {
    const far_net *net;
    const far_lnnet_info *info;
    const labelled *points;
} report_built;

/* argc, argv: what was typed, from the verb on. */
void report_lnnet(report *r, const report_built *b, int argc, char **argv);

#endif
