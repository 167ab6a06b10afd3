/* What the texts of both kinds of certificates share: numbers, vectors, statements held against
 * what was computed again. */
#ifndef FAR_PROOF_JSON_H
#define FAR_PROOF_JSON_H

#include "../base/base_internal.h"

#include <jansson.h>

#define FAR_PROOF_AGREES 1e-6         /* relative, between a statement and its recomputation */
#define FAR_PROOF_CHECK_SECONDS 600.0 /* of branch and bound, to confirm a bound found so */

/* JSON has no infinities and no NaN: "inf", "-inf" and null. */
json_t *far_proof_number(double value);
/* null where values is NULL. */
json_t *far_proof_numbers(const double *values, int64_t count);
/* The text of a certificate, which it takes. Free it with far_text_free. */
far_status far_proof_write(far_ctx *ctx, json_t *certificate, char **out);

/* NULL with a message if it is no JSON. */
json_t *far_proof_parse(far_ctx *ctx, const char *json);
/* "this is no certificate of farfield: WHAT" */
far_status far_proof_malformed(far_ctx *ctx, const char *what);
bool far_proof_read(const json_t *o, const char *key, double *out);
/* The same, where it must be there. */
far_status far_proof_stated(far_ctx *ctx, const json_t *o, const char *key, double *out);
bool far_proof_near(double a, double b);
/* "OUTPUT: WHAT is stated as 1, but is 2" */
far_status far_proof_disagrees(far_ctx *ctx, const char *output, const char *what, double stated,
                               double found);
/* That o[key] is own; what is not known (NAN) is stated as null. */
far_status far_proof_check(far_ctx *ctx, const json_t *o, const char *output, const char *key,
                           double own);
/* count numbers; a direction has norm 1. */
far_status far_proof_vector(far_ctx *ctx, const json_t *list, int64_t count, bool direction,
                            double *out);
/* That the statement on top is the one of the output that decides, by is_worse. */
far_status far_proof_summary(far_ctx *ctx, const json_t *o, const json_t *outputs,
                             bool (*is_worse)(const json_t *a, const json_t *than));

#endif
