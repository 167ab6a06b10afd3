/* Networks of the form that far_lnnet_build makes, read back. */
#ifndef FAR_LNNET_NETWORK_H
#define FAR_LNNET_NETWORK_H

#include "precision.h"

/* A network's parameters in a precision, ready for a pass. */
typedef struct far_ln_network {
    far_ctx *ctx;
    far_ln_form form;
    far_ln_ops ops;
    double eps;
    void *parameters;
} far_ln_network;

far_status far_ln_form_read(far_ctx *ctx, const far_net *net, far_ln_form *form, double *eps);
/* What the file names; FAR_LNNET_DOUBLE if it names none. */
far_status far_ln_stored_precision(far_ctx *ctx, const far_net *net, far_lnnet_precision *precision,
                                   int64_t *bits);
/* precision and bits as in far_lnnet_check, but not auto. */
far_status far_ln_network_read(far_ctx *ctx, const far_net *net, far_lnnet_precision precision,
                               int64_t bits, far_ln_network *out);
void far_ln_network_clear(far_ln_network *n);

#endif
