/* Ages of faces from the features of a residual network, under a shift: one of five groups of
 * people is out of the domain. Section 4.3 of the layer-norm paper. */
#ifndef FAR_EXPERIMENTS_LN_UTKFACE_H
#define FAR_EXPERIMENTS_LN_UTKFACE_H

#include "ln_score.h"

extern const ln_published LN_UTKFACE_PAPER[LN_NETS]; /* Table 2 */

far_status ln_utkface_open(reproduction *r, int64_t seeds, ln_trial *out);
far_status ln_utkface_explain(const ln_trial *t);

/* For each of the points out of the domain: the mean of the cosines between its features and those
 * of the training rows. out: as many as there are such points. */
far_status ln_utkface_similarity(const ln_trial *t, double *out);

#endif
