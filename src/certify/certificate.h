/*
 * A certificate, its text and its check, whatever it is of.
 *
 * A certificate is checked by writing one more: of the same predictor, at the points and along the
 * directions that are stated, with every number computed again. Both texts must then have the same
 * fields, and field by field say the same; so nothing can be written that is not checked.
 */
#ifndef FAR_CERTIFICATE_H
#define FAR_CERTIFICATE_H

#include "../columns/columns_internal.h"
#include "proof_json.h"

#include <farfield/certify.h>

enum { FAR_VERDICTS = 3 };

struct far_certificate {
    far_ctx *ctx;
    far_certificate_info info;
    const char *kind; /* "infinite", "finite", ...: of the predictor */
    far_bound *bounds;
    double *vectors; /* at or direction of every output, then the row of every output */
    char *arch;      /* NULL: it has none */
    char hash[65], data_hash[65];
    char **inputs, **outputs; /* names */
    int64_t input_count;
    int64_t rows;                /* trained on; -1: unknown */
    double *null;                /* of info.null */
    char *reasons[FAR_VERDICTS]; /* theorems that were made up for this one */
};

/* A certificate that says nothing yet of a predictor with these columns. */
far_status far_certificate_blank(far_ctx *ctx, const char *kind, const char *arch,
                                 const far_columns *columns, far_certificate **out);
/* 0: bounded, 1: undecided, 2: unbounded. */
int far_verdict_badness(far_verdict verdict);
far_verdict far_certificate_worst(const far_certificate *c);
/* How every certificate is made: refuses NULL (what: "model", for the message) and options out of
 * range; fill makes one; confronted, it is the caller's, or after a failure nobody's. */
typedef far_status (*far_certify_fn)(far_ctx *ctx, const void *subject, const far_certify_opts *o,
                                     far_certificate **out);
far_status far_certificate_make(far_ctx *ctx, const char *what, const void *subject,
                                far_certify_fn fill, const far_certify_opts *opts,
                                far_certificate **out);

/* What a kind of predictor adds to the check. */
typedef struct far_checker {
    void *user;
    /* Completes own, which holds all that needs no search, by what the outputs state and can be
     * confirmed. */
    far_status (*complete)(void *user, const json_t *outputs, far_certificate *own);
    /* A certificate from the beginning, to name what is wrong; NULL: own is one. */
    far_status (*certify)(void *user, const far_certify_opts *opts, far_certificate **out);
} far_checker;
/* Refuses a text that is no certificate, before anything is computed for it. */
far_status far_certificate_legible(far_ctx *ctx, const char *json);
far_status far_certificate_compare(far_ctx *ctx, const char *json, far_checker checker,
                                   far_certificate *own);

#endif
