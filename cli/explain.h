/* Why a predictor says what it says, on the page of any verb. */
#ifndef FAR_CLI_EXPLAIN_H
#define FAR_CLI_EXPLAIN_H

#include "report.h"
#include "subject.h"

/* What counts, and what its leading features do: of the rows it was fitted to, if it keeps them. */
void explain_fit(report *r, const far_predictor *p);
/* The same of the rows of a table; without the targets, dependence alone. label: of the rows. */
void explain_table(report *r, const far_predictor *p, const dataset *d, const char *label);
/* The training rows that are nearest to the first rows of a table. */
void explain_nearest(report *r, const far_predictor *p, const dataset *d);

#endif
