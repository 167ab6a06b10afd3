/* Shared with src/certify: the supremum of either kernel's diagonal. */
#ifndef FAR_SUPREMUM_H
#define FAR_SUPREMUM_H

#include <farfield/kernel.h>
#include <stdbool.h>

/* far_kernel_supremum, of the diagonal of that kind. */
far_status far_supremum_of(far_ctx *ctx, const far_kernel *k, far_kernel_kind kind, int64_t d,
                           far_supremum *out);

#endif
