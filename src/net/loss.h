/* Losses of rows of outputs, and how they change with these. */
#ifndef FAR_NET_LOSS_H
#define FAR_NET_LOSS_H

#include <farfield/train.h>

/* The sum over rows (mse and bce: and outputs) of the loss of f against y, both rows x outputs and
 * packed. slope (NULL: not wanted; may not be f or y) = scale d/df of that. */
double far_loss_rows(int32_t loss, far_dtype dtype, const void *f, const void *y, int64_t rows,
                     int64_t outputs, double scale, void *slope);
/* How many terms the mean over so many rows has. */
double far_loss_terms(int32_t loss, int64_t rows, int64_t outputs);

#endif
