/*
 * The pieces of a certificate's text, and the comparison of two.
 *
 * Bounds may be stated looser than they are, never tighter; to keep that strict also where another
 * processor rounds otherwise, what is written leaves some room.
 */
#ifndef FAR_PROOF_JSON_H
#define FAR_PROOF_JSON_H

#include "../data/json_text.h"

#define FAR_PROOF_VERSION 3
#define FAR_PROOF_AGREES 1e-6 /* relative, between a statement and its recomputation */
#define FAR_PROOF_ROOM 1e-6   /* relative, that bounds are written looser, and found lower */
#define FAR_PROOF_CHECK_SECONDS 600.0 /* of branch and bound, to confirm a bound found so */

/* ---- writing ---- */

typedef struct far_proof_out {
    far_json_out json;
    double room; /* FAR_PROOF_ROOM, or 0 for what a statement is held against */
} far_proof_out;

/* A number, null unless it is finite; an upper bound and a lower one, with room relative to size.
 */
void far_proof_put(far_proof_out *w, json_t *o, const char *key, double value);
void far_proof_put_above(far_proof_out *w, json_t *o, const char *key, double value, double size);
void far_proof_put_below(far_proof_out *w, json_t *o, const char *key, double value, double size);
void far_proof_put_word(far_proof_out *w, json_t *o, const char *key, const char *text);
/* tightest, lowest, highest, sup_found (NAN: none) and ratio. */
typedef struct far_proof_range {
    double tightest, lowest, highest, found;
} far_proof_range;
void far_proof_put_range(far_proof_out *w, json_t *o, far_proof_range r);
/* A direction and what f does along it. */
typedef struct far_proof_witness {
    const double *direction; /* NULL: there is none */
    double slope, order, intercept, confirmed, level, beyond;
} far_proof_witness;
void far_proof_put_witness(far_proof_out *w, json_t *o, far_proof_witness v, int64_t inputs);
/* The text of a certificate, which it takes. Free it with far_text_free. */
far_status far_proof_write(far_proof_out *w, json_t *certificate, char **out);

/* ---- checking: what a statement gives ---- */

far_status far_proof_parse(far_ctx *ctx, const char *json, json_t **out);
/* That it is a certificate of this format, and of a version that can be checked. */
far_status far_proof_check_format(far_ctx *ctx, const json_t *o, const char *format);
/* The outputs it speaks of; FAR_ERR_FORMAT unless there are count. */
far_status far_proof_outputs(far_ctx *ctx, const json_t *o, int64_t count, const json_t **out);
/* "this is no certificate of farfield: WHAT" */
far_status far_proof_malformed(far_ctx *ctx, const char *what);
/* "OUTPUT: WHAT is stated as 1, but is 2" */
far_status far_proof_disagrees(far_ctx *ctx, const char *output, const char *what, double stated,
                               double found);
bool far_proof_near(double a, double b);
/* A number; null is NAN. */
far_status far_proof_stated(far_ctx *ctx, const json_t *o, const char *key, double *out);
far_status far_proof_stated_range(far_ctx *ctx, const json_t *o, far_proof_range *out);
/* Of the list "proofs": the bound of that method; INFINITY: it is not there. */
far_status far_proof_stated_bound(far_ctx *ctx, const json_t *o, const char *method, double *out);
far_status far_proof_stated_flag(far_ctx *ctx, const json_t *o, const char *key, int32_t *out);
/* The text under key is that; false too if it is none. */
bool far_proof_says(const json_t *o, const char *key, const char *text);
/* count finite numbers; a direction has norm 1. */
far_status far_proof_vector(far_ctx *ctx, const json_t *o, const char *key, int64_t count,
                            bool direction, double *out);

/* That a stated range is no narrower than the one that was proven. */
far_status far_proof_check_proven(far_ctx *ctx, const char *output, far_proof_range stated,
                                  far_proof_range proven);
/* The bounds of an output fit each other: every f in [lowest, highest] has |f| <= tightest, which
 * is no more than needed; value is in there. */
far_status far_proof_check_range(far_ctx *ctx, const char *output, far_proof_range r, double value);
/* |f| was said to be found at a point where it is value: reached, and as large as it is there. */
far_status far_proof_check_found(far_ctx *ctx, const char *output, double stated, double value);

/* ---- checking: the comparison ---- */

/* That stated says what own does, which was written without room, and of the output that decides
 * (from 0) once more on top. */
far_status far_proof_compare(far_ctx *ctx, const json_t *stated, const json_t *own,
                             int64_t deciding);

#endif
