#include "proof.h"

far_status far_proof_consistent(far_ctx *ctx, const char *output, double found, double bound)
{
    if (!(found > bound)) {
        return FAR_OK;
    }
    return far_fail(ctx, FAR_ERR_BACKEND,
                    FAR_PLEASE_REPORT "%s reaches %.17g and is proven to be at most %.17g", output,
                    found, bound);
}
