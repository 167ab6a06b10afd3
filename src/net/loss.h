/* Losses of rows of outputs, and how they change with these. */
#ifndef FAR_NET_LOSS_H
#define FAR_NET_LOSS_H

#include <farfield/train.h>
#include <stdbool.h>

/* What outputs are held against, and how. */
typedef struct far_loss_rule {
    int32_t loss; /* far_loss */
    far_dtype dtype;
    int64_t positions, channels; /* of the outputs; ce takes a softmax at each position */
    bool classes;                /* ce: y has the class of each position, not probabilities */
} far_loss_rule;

/* Numbers of y in a row. */
int64_t far_loss_targets(const far_loss_rule *rule);
/* The sum over rows and positions (mse and bce: and channels) of the loss of f against y, both
 * packed. slope (NULL: not wanted; may not be f or y) = scale d/df of that. */
double far_loss_rows(const far_loss_rule *rule, const void *f, const void *y, int64_t rows,
                     double scale, void *slope);
/* How many terms the mean over so many rows has. */
double far_loss_terms(const far_loss_rule *rule, int64_t rows);

#endif
