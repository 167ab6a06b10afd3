/* Preloaded into the command: an OpenBLAS that does not know the processor. Every process that
 * asks leaves a line in the file ASKED. */
#include <stdio.h>
#include <stdlib.h>

__attribute__((visibility("default"))) char *openblas_get_corename(void);
char *openblas_get_corename(void)
{
    static char chosen[32] = "Prescott";
    const char *type = getenv("OPENBLAS_CORETYPE"), *asked = getenv("ASKED");
    FILE *file = asked ? fopen(asked, "a") : NULL;
    if (file) {
        fprintf(file, "%s\n", type ? type : "-");
        fclose(file);
    }
    if (type && *type && !getenv("STAYS")) {
        snprintf(chosen, sizeof chosen, "%s", type);
    }
    return chosen;
}
