/* What the verbs tell: the verdict, the table and, in a report, pictures and facts. */
#ifndef FAR_CLI_REPORT_VERBS_H
#define FAR_CLI_REPORT_VERBS_H

#include "along.h"
#include "dataset.h"
#include "report.h"
#include "training.h"

#include <farfield/certify.h>
#include <farfield/compare.h>

/* What a comparison gave: printed, and in the report. An exit code. */
int comparison_show(session *s, const common_args *a, const far_comparison *c, const dataset *data);

typedef struct report_proof {
    const char *name; /* of the file */
    const far_predictor *subject;
    const far_certificate *certificate;
    const along *along; /* directions that were asked for, perhaps none */
    double level;       /* that |f| is compared with; NAN: none */
} report_proof;
/* json: the certificate's text. An exit code. */
int certificate_tell(session *s, const common_args *a, const report_proof *p, const char *json);
void certificate_unsealed(far_result *r, const char *name, const far_predictor *m);

/* What a fit gave: printed, and in the report. data: name of the table. path: where the model is
 * kept; NULL: nowhere. An exit code. */
int fit_tell(session *s, const common_args *a, const far_predictor *p, const char *data,
             const char *path);

/* The same of networks that were trained. */
int training_tell(training *t);

#endif
