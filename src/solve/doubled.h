/*
 * Products in doubled precision: every product and every sum is split into what a double holds
 * and what it drops, and the dropped parts are summed beside. An output is a pair y + y_low.
 */
#ifndef FAR_DOUBLED_H
#define FAR_DOUBLED_H

#include <stdint.h>

typedef struct far_doubled_block {
    const double *data; /* row-major, ld apart */
    int64_t rows, cols, ld;
} far_doubled_block;

/* Adds to outputs y: the block times x + x_low, a value a row (rows), or its transpose times them,
 * a value a column (cols). The bits of the result do not depend on the instruction set. */
typedef void (*far_doubled_fn)(const far_doubled_block *block, const double *x, const double *x_low,
                               double *y, double *y_low);

#define FAR_DOUBLED_DECLARE(isa)                                                                   \
    void far_doubled_rows_##isa(const far_doubled_block *block, const double *x,                   \
                                const double *x_low, double *y, double *y_low);                    \
    void far_doubled_cols_##isa(const far_doubled_block *block, const double *x,                   \
                                const double *x_low, double *y, double *y_low);
FAR_DOUBLED_DECLARE(baseline)
FAR_DOUBLED_DECLARE(avx2)
FAR_DOUBLED_DECLARE(avx512)

/* What this machine runs fastest. */
far_doubled_fn far_doubled_rows(void);
far_doubled_fn far_doubled_cols(void);

typedef struct far_pair {
    double high, low;
} far_pair;

double far_doubled_rest(double b, far_pair y, double a, far_pair x); /* b - y - a x */
far_pair far_pair_add(far_pair x, double d); /* high is then the sum, rounded */

#endif
