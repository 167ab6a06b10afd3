/* What a finite network knows about the table it was trained on. */
#ifndef FAR_NET_COLUMNS_H
#define FAR_NET_COLUMNS_H

#include "../net/net_internal.h"
#include "regress_internal.h"

#include <farfield/netdata.h>

#define FAR_COLUMNS_KEY "columns" /* of the metadata */

typedef struct far_columns {
    far_model *model; /* its encoder (without centre and scale), targets, classes, and of its info
                         task, inputs, targets, outputs (as many as there are classes) */
    int32_t loss;
} far_columns;

/* NULL if the network knows none. They live as long as the network, or until its metadata change.
 * FAR_ERR_FORMAT: the text in the metadata is not what we wrote. */
far_status far_net_columns(far_ctx *ctx, const far_net *net, const far_columns **out);

/* The chosen rows (count of them, in index) as inputs in the network's own units, count x inputs.
 * Directions have no origin: nothing is taken away from them. */
far_status far_net_encode_rows(far_ctx *ctx, const far_net *net, const far_frame *frame,
                               const int64_t *index, int64_t count, bool directions, double *out);

#endif
