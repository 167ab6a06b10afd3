/* UCI's table of protein structures under a shift: proteins with a large surface (F1, in square
 * angstroms) are out of the domain. Section 4.2 of the layer-norm paper. */
#ifndef FAR_EXPERIMENTS_LN_PROTEIN_H
#define FAR_EXPERIMENTS_LN_PROTEIN_H

#include "ln_score.h"

extern const ln_published LN_PROTEIN_PAPER[LN_NETS], LN_PROTEIN_XGBOOST; /* Table 1 */
extern const double LN_PROTEIN_EDGE;                                     /* of the domain, in F1 */
enum { LN_PROTEIN_BOOSTED, LN_PROTEIN_LINEAR }; /* baselines, by their number */

far_status ln_protein_open(reproduction *r, int64_t seeds, ln_trial *out);
/* What is done, and what may differ from the paper's, in the report. */
far_status ln_protein_explain(const ln_trial *t);

#endif
