/* What certificates of models and of networks have in common. */
#ifndef FAR_PROOF_H
#define FAR_PROOF_H

#include "../base/base_internal.h"

/* How a message begins that only a mistake in this library can cause. */
#define FAR_PLEASE_REPORT                                                                          \
    "internal error, nothing of this certificate can be trusted; please report it with the file: "

/* FAR_ERR_BACKEND unless found, the size of a value that was met, is at most the bound. Every
 * certificate is held against this before anyone sees it. */
far_status far_proof_consistent(far_ctx *ctx, const char *output, double found, double bound);

#endif
