/* The area under the ROC curve, also for those who score classifiers. */
#ifndef FAR_RANK_H
#define FAR_RANK_H

#include <farfield/base.h>

/* The chance that a score of class 1 is above one of class 0, ties count half. classes: 0 or 1.
 * FAR_ERR_VALUE: one class only. */
far_status far_roc_auc(far_ctx *ctx, const double *scores, const unsigned char *classes, int64_t n,
                       double *auc);

#endif
