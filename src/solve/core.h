/* Which of OpenBLAS's kernels would suit the processor. */
#ifndef FAR_CORE_H
#define FAR_CORE_H

#include "../base/base_internal.h"

/* The OPENBLAS_CORETYPE for a library of that configuration (openblas_get_config) that runs the
 * kernels of core on a processor with those instructions; NULL: core is right as far as one can
 * tell, or the library has no others. */
const char *far_core_better(const char *config, const char *core, far_isa processor, bool amd);

#endif
