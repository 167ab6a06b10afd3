/* All that depends on the type of numbers. Define REAL, NAME(x), SQRT, BITS; PRINT and PARSE. */
#include "precision.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "chain_impl.h"
/* then */
#include "assemble_impl.h"
#include "pass_impl.h"

static void NAME(round)(const void *parameters, int64_t count, double *out)
{
    const REAL *from = parameters;
    for (int64_t i = 0; i < count; i++) {
        out[i] = (double)from[i];
    }
}

static void NAME(widen)(const far_ln_ops *o, const double *values, int64_t count, void *parameters)
{
    (void)o;
    REAL *to = parameters;
    for (int64_t i = 0; i < count; i++) {
        to[i] = (REAL)values[i];
    }
}

static void NAME(print)(const void *parameters, int64_t count, far_text *out)
{
    const REAL *from = parameters;
    for (int64_t i = 0; i < count; i++) {
        char text[64] = "0";
        if (from[i] != 0) {
            PRINT(text, sizeof text, from[i]);
        }
        far_text_add(out, "%s%s", i > 0 ? " " : "", text);
    }
}

static bool NAME(parse)(const far_ln_ops *o, const char *text, int64_t count, void *parameters)
{
    (void)o;
    REAL *to = parameters;
    for (int64_t i = 0; i < count; i++) {
        char *end;
        if (i > 0 && *text++ != ' ') {
            return false;
        }
        to[i] = PARSE(text, &end);
        if (end == text || *text == ' ' || to[i] - to[i] != 0) {
            return false;
        }
        text = end;
    }
    return *text == 0;
}

const far_ln_ops OPS = {.precision = PRECISION,
                        .bits = BITS,
                        .size = sizeof(REAL),
                        .chain_allocate = NAME(chain_allocate),
                        .chain_run = NAME(chain_run),
                        .assemble = NAME(assemble),
                        .round = NAME(round),
                        .widen = NAME(widen),
                        .print = NAME(print),
                        .parse = NAME(parse),
                        .pass = NAME(pass),
                        .judge = NAME(judge),
                        .margin = NAME(margin)};
