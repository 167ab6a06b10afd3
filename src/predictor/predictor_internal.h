/* What a kind of predictor provides. */
#ifndef FAR_PREDICTOR_INTERNAL_H
#define FAR_PREDICTOR_INTERNAL_H

#include "../certify/certificate.h"
#include "../data/data_internal.h"
#include "../regress/regress_internal.h"

#include <farfield/predictor.h>

/* Its functions. Points z and directions u are in the units of the
 * columns (standardised); values are raw. NULL: the general way will do, or there is none. */
typedef struct far_predictor_ops {
    far_predictor_kind kind;
    const char *name;
    void (*destroy)(void *self);
    void (*describe)(const void *self, far_predictor_info *out);
    const far_columns *(*columns)(const void *self);
    far_status (*eval)(far_ctx *ctx, const void *self, const far_mat *z, far_mat *out);
    far_status (*limit)(far_ctx *ctx, const void *self, const far_mat *u, far_mat *value,
                        far_mat *order);
    /* Raw outputs by z; as far_model_gradient lays them out. */
    far_status (*gradient)(far_ctx *ctx, const void *self, const far_mat *z, far_mat *out);
    far_status (*predict)(far_ctx *ctx, const void *self, const far_frame *frame,
                          const far_predict_opts *opts, far_prediction **out);
    far_certify_fn certify;
    /* What a certificate with these bounds states of output k at a raw point, or far along it. */
    far_status (*found)(far_ctx *ctx, const void *self, int64_t k, const double *raw, bool infinite,
                        const far_bound *b, double *out);
    far_status (*check)(far_ctx *ctx, const void *self, const char *json, double seconds);
    far_write_fn write;
    /* What predict tells of each class for a row of raw scores; NULL: it is not told from them. */
    void (*share)(const void *self, const double *scores, double *out);
} far_predictor_ops;

/* The table of a kind whose file gives what every kind has these names; then what it has beside. */
#define FAR_PREDICTOR_OPS(of, called, ...)                                                         \
    {                                                                                              \
        .kind = (of), .name = (called), .destroy = destroy, .describe = describe,                  \
        .columns = columns, .eval = eval, .limit = limit, .certify = certify, .check = check,      \
        .write = save, __VA_ARGS__                                                                 \
    }

struct far_predictor {
    far_ctx *ctx;
    const far_predictor_ops *ops;
    void *self;
    bool borrowed;        /* self belongs to someone else */
    far_model_info model; /* infinite width */
};

extern const far_predictor_ops far_infinite_ops, far_finite_ops, far_linear_ops, far_trees_ops,
    far_committee_ops;

/* A model as a predictor: it must live as long as that does. */
far_status far_predictor_of_model(far_ctx *ctx, const far_model *m, far_predictor **out);
const far_columns *far_predictor_columns(const far_predictor *p);
/* Ends what makes a predictor with the status st: it owns self now, or after a failure, also one
 * of this call, self is destroyed (NULL is fine). */
far_status far_predictor_own(far_ctx *ctx, const far_predictor_ops *ops, far_status st, void *self,
                             far_predictor **out);
/* A file's content from memory; label stands for the path in messages. A member of a committee is
 * none itself: files do not nest. */
far_status far_predictor_parse(far_ctx *ctx, const char *label, const void *data, int64_t size,
                               bool committees, const char *arch, far_predictor **out);
/* far_certificate_check with so much time for branch and bound. */
far_status far_predictor_check_within(far_ctx *ctx, const far_predictor *p, const char *json,
                                      double seconds);

/* Rows of a table by eval or limit: what a kind without a way of its own does. link, floor: of
 * far_prediction_scores. */
far_status far_predict_plain(far_ctx *ctx, const far_predictor *p, const far_frame *frame,
                             const far_predict_opts *o, const double *link, double floor,
                             far_prediction **out);

/* ---- of committees ---- */

/* Nothing known of it. */
far_committee_info far_committee_unknown(void);
/* What is known from its fit; width (outputs) belongs to it from then on. */
void far_committee_take(far_predictor *committee, const far_committee_info *info, double *width);
/* The members of a committee; none of other kinds. */
far_predictor *const *far_predictor_members(const far_predictor *p, int64_t *count);

/* ---- predictor_rows.c ---- */

/* With categorical columns: points that were met become points that a row of a table can be at, and
 * a row is found beyond a level. */
far_status far_certificate_of_rows(far_ctx *ctx, const far_predictor *p, const far_certify_opts *o,
                                   far_certificate *c);

/* ---- predictor_file.c: kinds that are kept in a zip with a manifest ---- */

/* Sealed; put writes what is beside the columns (NULL: there are none) into the manifest. */
typedef struct far_parcel {
    const char *kind;
    const far_columns *columns;
    void (*put)(far_json_out *w, json_t *manifest, const void *self);
    const void *self;
    const far_text *blob; /* bytes beside the manifest; NULL: none */
} far_parcel;
far_status far_parcel_write(const far_parcel *p, far_output *out);

/* A parcel that is read: its manifest, which is checked to be one of ours. */
typedef struct far_parcel_in {
    const far_input *in;
    far_input manifest;
    json_t *json;
    far_json whole;
} far_parcel_in;
/* *kind: NULL for a zip of another format (a model). Clear also on failure. */
far_status far_parcel_open(const far_input *in, far_parcel_in *out, const char **kind);
far_status far_parcel_blob(const far_parcel_in *p, far_input *out);
void far_parcel_clear(far_parcel_in *p);

/* The columns of the manifest. */
far_status far_parcel_columns(const far_parcel_in *p, far_columns **out);

/* The kinds: *out, also after a failure, is what the caller destroys. */
far_status far_linear_read(const far_parcel_in *p, void **out);
far_status far_trees_read(const far_parcel_in *p, void **out);
far_status far_committee_read(const far_parcel_in *p, void **out);

/* ---- predictor_check.c: certificates that are made whole again to be checked ---- */

/* Makes the verdict on output k unbounded, with all that goes with it, if it runs away along
 * direction (raw, of norm 1), which b then keeps; else undecided. */
typedef far_status (*far_witness_fn)(far_ctx *ctx, const void *self, int64_t k,
                                     const double *direction, far_bound *b);
/* Output k at a raw point, or its limit along a raw direction. */
far_status far_predictor_value(far_ctx *ctx, const far_predictor *p, int64_t k, const double *at,
                               bool infinite, double *out);
/* What was found is that of the stated points, and directions are those stated (witness NULL: those
 * of the certificate made anew); all else is proven again, with so much time. */
far_status far_predictor_recheck(far_ctx *ctx, const far_predictor_ops *ops, const void *self,
                                 far_witness_fn witness, const char *json, double seconds);

#endif
