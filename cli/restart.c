#include "restart.h"

#include <farfield/solve.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

/* What the user has not set, now is. */
static bool set(const char *variable, const char *value)
{
    return value && !getenv(variable) && setenv(variable, value, 1) == 0;
}

/* With its default policy OpenMP spins while it waits, which a busy machine pays for dearly; and
 * OpenBLAS gives a processor that it does not know its slowest kernels. Both read their variables
 * before main starts, so the program starts itself once more; the variables then being set is what
 * ends this. */
void start_again(char **argv)
{
    far_blas_info blas = far_blas_describe();
    bool waits = set("OMP_WAIT_POLICY", "passive"), core = set(CORE_TYPE, blas.better);
    if (core) {
        set(CORE_BEFORE, blas.core);
    }
    if (waits || core) {
        execv("/proc/self/exe", argv); /* comes back only if it failed: then go on as we are */
    }
}
