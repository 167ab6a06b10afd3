/* What the reports of the verbs show: the verdict, the table, pictures, facts. argc, argv: what was
 * typed, from the verb on. */
#ifndef FAR_CLI_REPORT_VERBS_H
#define FAR_CLI_REPORT_VERBS_H

#include "along.h"
#include "dataset.h"
#include "report.h"
#include "training.h"

#include <farfield/certify.h>
#include <farfield/compare.h>

void report_comparison(report *r, const far_comparison *c, const dataset *data, int argc,
                       char **argv);

typedef struct report_proof {
    const char *name; /* of the file */
    const far_predictor *subject;
    const far_certificate *certificate;
    const along *along; /* directions that were asked for, perhaps none */
} report_proof;
void report_certificate(report *r, const report_proof *p, int argc, char **argv);

/* name: of the table. */
void report_fit(report *r, const far_model *m, const char *name, int argc, char **argv);

/* Of networks that were trained. */
void report_training(report *r, const training *t);

#endif
