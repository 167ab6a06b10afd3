/*
 * All that depends on the type of numbers: a template, written with the operations that its
 * instances define before they include it. C has no operators for numbers of any length; ADD(a, b)
 * is a + b where there are some (precision_plain.h), and a function elsewhere (precision_mpfr.c).
 *
 *   REAL, NAME(x), BITS       a number, a name of this instance, the length of a significand
 *   ADD SUB MUL DIV (a, b)    of two numbers; TIMES and OVER (a, n) of a number and a whole one
 *   NEG ABS SQRT (a)          of one
 *   NUM(d), POWER(n)          a double as a number; 2^n
 *   NEAR(a), DIFFERENCE(a, b) the nearest doubles to a, and to a - b
 *   LESS AT_MOST (a, b), IS_POSITIVE IS_ZERO IS_FINITE (a)
 *   APPEND(text, a)           all digits; PARSE(text, &end, &x) reads them, as strtod does
 *
 * A number that is computed has its digits on a pad, until what was computed since MARK is
 * released. `b = a` gives a's digits another name; SET(x, a) copies them into a number that has its
 * own, one of an array or a NEW one, and releases whatever it took to compute a. Loops over points
 * or columns must therefore SET, or release. SET_TO(x, d) sets a number to a double, without a pad.
 *
 *   NUMBER_SIZE(bits)         bytes of a number of an array; START(array, bits, count) makes it one
 *   PAD_SIZE(bits)            bytes of a pad; OPEN_PAD(pad, bits) makes it this thread's
 *   PASS_ROWS                 points that go through a network together
 */
#include "precision.h"

#include <assert.h>
#include <ctype.h>
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
        out[i] = NEAR(from[i]);
    }
}

static void NAME(widen)(const far_ln_ops *o, const double *values, int64_t count, void *parameters)
{
    REAL *to = parameters;
    START(parameters, o->bits, count);
    for (int64_t i = 0; i < count; i++) {
        SET_TO(to[i], values[i]);
    }
}

static void NAME(print)(const void *parameters, int64_t count, far_text *out)
{
    const REAL *from = parameters;
    for (int64_t i = 0; i < count; i++) {
        far_text_add(out, "%s", i > 0 ? " " : "");
        if (IS_ZERO(from[i])) {
            far_text_add(out, "0");
        } else {
            APPEND(out, from[i]);
        }
    }
}

static bool NAME(parse)(const far_ln_ops *o, const char *text, int64_t count, void *parameters)
{
    REAL *to = parameters;
    START(parameters, o->bits, count);
    for (int64_t i = 0; i < count; i++) {
        char *end;
        if ((i > 0 && *text++ != ' ') || isspace((unsigned char)*text)) {
            return false;
        }
        PARSE(text, &end, &to[i]);
        if (end == text || !IS_FINITE(to[i])) {
            return false;
        }
        text = end;
    }
    return *text == 0;
}

#define OPERATIONS(name, length)                                                                   \
    {                                                                                              \
        .precision = (name), .bits = (length), .size = NUMBER_SIZE(length),                        \
        .chain_allocate = NAME(chain_allocate), .chain_run = NAME(chain_run),                      \
        .assemble = NAME(assemble), .round = NAME(round), .widen = NAME(widen),                    \
        .print = NAME(print), .parse = NAME(parse), .pass = NAME(pass), .judge = NAME(judge),      \
        .margin = NAME(margin)                                                                     \
    }
