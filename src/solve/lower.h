/*
 * A lower triangle by block rows, in one of two layouts.
 *
 *     full      one n x n array; the strict upper triangle is free for something else
 *     packed    block rows of `side` rows one behind the other, each as wide as its last row:
 *               half the memory
 *
 * Within a block row both are row-major with one leading dimension, which is all that the
 * algorithms need. Rows are padded so that their addresses do not share a few cache sets.
 */
#ifndef FAR_LOWER_H
#define FAR_LOWER_H

#include <stdbool.h>
#include <stdint.h>

#define FAR_LOWER_SIDE 512

typedef struct far_lower {
    int64_t n, side;
    bool packed;
    double *data;
} far_lower;

far_lower far_lower_layout(int64_t n, bool packed);
int64_t far_lower_count(const far_lower *l); /* doubles */
int64_t far_lower_ld(const far_lower *l, int64_t i);
double *far_lower_at(const far_lower *l, int64_t i, int64_t j);
int64_t far_lower_next(const far_lower *l, int64_t i); /* the first row behind i's block row */

#endif
