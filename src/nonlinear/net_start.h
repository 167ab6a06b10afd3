/* Where jets start. */
#ifndef FAR_NET_START_H
#define FAR_NET_START_H

#include "jet.h"

/* Behind the first `first` steps there are `features` numbers; derivatives (features x features,
 * the first `directions` columns of it) are theirs along orthonormal directions of the input. All
 * other directions leave them as they are. */
typedef struct far_start {
    int64_t first, features, directions;
    double *derivatives;
} far_start;

/* raw: by raw inputs. reduced: may start behind a first dense layer. */
far_status far_start_create(far_ctx *ctx, const far_net *net, bool raw, bool reduced, far_start *s);
/* The jet of the point x, for second derivatives along directions from `from` on. */
void far_start_jet(const far_net *net, bool raw, const far_start *s, const double *x, int64_t from,
                   far_jet *jet);

#endif
