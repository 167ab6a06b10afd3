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

/* What a fit gave: printed, and in the report. data: name of the table. path: where the model is
 * kept; NULL: nowhere. An exit code. */
int fit_tell(session *s, const common_args *a, const far_model *m, const char *data,
             const char *path);

/* The same of networks that were trained. */
int training_tell(training *t);

#endif
