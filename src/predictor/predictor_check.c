/* The check of certificates that are made again as a whole. */
#include "predictor_internal.h"

#include <math.h>

#define LEAST_GAP 1e-6 /* that a check goes down to */

typedef struct recheck {
    far_ctx *ctx;
    far_predictor p; /* whose certificate it is */
    far_witness_fn witness;
} recheck;

far_status far_predictor_value(far_ctx *ctx, const far_predictor *p, int64_t k, const double *at,
                               bool infinite, double *out)
{
    far_status st;
    far_columns_info info = far_predictor_columns(p)->info;
    double *values = NULL;
    FAR_TRY(far_alloc(ctx, 2 * info.outputs, &values));
    far_mat x = far_mat_view((double *)at, 1, info.inputs, FAR_F64);
    far_mat f = far_mat_view(values, 1, info.outputs, FAR_F64);
    far_mat order = far_mat_view(values + info.outputs, 1, info.outputs, FAR_F64);
    FAR_TRY(infinite ? far_predictor_limit(ctx, p, &x, &f, &order)
                     : far_predictor_eval(ctx, p, &x, &f));
    *out = values[k];
done:
    far_free(ctx, values);
    return st;
}

/* What is stated as found must be reached where it is stated. */
static far_status take_found(const recheck *r, const json_t *o, int64_t k, far_certificate *own)
{
    far_status st;
    far_bound *b = &own->bounds[k];
    far_proof_range stated;
    double *at = own->vectors + k * own->input_count, value = NAN;
    FAR_TRY(far_proof_stated_range(r->ctx, o, &stated));
    FAR_TRY(far_proof_stated_flag(r->ctx, o, "at_infinity", &b->at_infinity));
    b->at = NULL;
    if (json_is_array(json_object_get(o, "at"))) {
        FAR_TRY(far_proof_vector(r->ctx, o, "at", own->input_count, b->at_infinity, at));
        FAR_TRY(far_predictor_value(r->ctx, &r->p, k, at, b->at_infinity, &value));
        FAR_TRY(far_proof_check_found(r->ctx, b->output, stated.found, value));
        b->at = at;
        b->sup_found = stated.found;
    }
    FAR_TRY(far_proof_check_range(r->ctx, b->output, stated, value));
    FAR_TRY(far_proof_check_proven(r->ctx, b->output, stated,
                                   (far_proof_range){b->tightest, b->lowest, b->highest, 0}));
    b->tightest = stated.tightest; /* of which the ratio is */
done:
    return st;
}

/* Other searches find other directions: what is stated of one is measured along it. */
static far_status take_witness(const recheck *r, const json_t *o, int64_t k, far_certificate *own)
{
    double *vector = own->vectors + k * own->input_count;
    far_status st = far_proof_vector(r->ctx, json_object_get(o, "witness"), "direction",
                                     own->input_count, true, vector);
    return st == FAR_OK ? r->witness(r->ctx, r->p.self, k, vector, &own->bounds[k]) : st;
}

static far_status complete(void *user, const json_t *outputs, far_certificate *own)
{
    far_status st = FAR_OK;
    const recheck *r = user;
    for (int64_t k = 0; st == FAR_OK && k < own->info.outputs; k++) {
        const json_t *o = json_array_get(outputs, (size_t)k);
        if (own->bounds[k].verdict == FAR_BOUNDED) {
            st = take_found(r, o, k, own);
        } else if (r->witness && far_proof_says(o, "verdict", "unbounded")) {
            st = take_witness(r, o, k, own);
        }
    }
    return st;
}

static double number_in(const json_t *o, const char *key)
{
    const json_t *value = json_object_get(o, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* What was asked for: the level, of the first output that has one, and the gap. Points and
 * directions are taken from the certificate: where no cells were needed for its bounds, there is
 * nothing to look for. */
static far_status stated_options(far_ctx *ctx, const char *json, far_certify_opts *out)
{
    json_t *o = NULL;
    far_status st = far_proof_parse(ctx, json, &o);
    const json_t *outputs = st == FAR_OK ? json_object_get(o, "outputs") : NULL;
    const json_t *effort = st == FAR_OK ? json_object_get(o, "unchecked") : NULL;
    double gap = number_in(effort, "gap");
    out->seconds = number_in(effort, "cells") == 0 ? fmin(out->seconds, 1) : out->seconds;
    out->gap = gap >= LEAST_GAP && gap < out->gap ? gap : out->gap;
    for (size_t k = 0; isnan(out->exceeds) && k < json_array_size(outputs); k++) {
        out->exceeds = number_in(json_object_get(json_array_get(outputs, k), "witness"), "level");
    }
    json_decref(o);
    return st == FAR_OK && out->exceeds < 0
               ? far_proof_malformed(ctx, "a level is finite and 0 or more")
               : st;
}

far_status far_predictor_recheck(far_ctx *ctx, const far_predictor_ops *ops, const void *self,
                                 far_witness_fn witness, const char *json, double seconds)
{
    far_status st;
    recheck r = {ctx, {.ctx = ctx, .ops = ops, .self = (void *)self, .borrowed = true}, witness};
    far_certificate *own = NULL;
    far_certify_opts opts;
    far_certify_opts_init(&opts);
    opts.seconds = seconds;
    FAR_TRY(stated_options(ctx, json, &opts));
    FAR_TRY(ops->certify(ctx, self, &opts, &own));
    FAR_TRY(far_certificate_compare(ctx, json, (far_checker){&r, complete, NULL}, own));
done:
    far_certificate_destroy(own);
    return st;
}
