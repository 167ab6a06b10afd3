/* The check of a certificate against a model. */
#include "certify_internal.h"

#include <math.h>
#include <string.h>

/* ---- checking ------------------------------------------------------------------------------ */

typedef struct check {
    far_ctx *ctx;
    const far_model *m;
    far_certificate *own; /* what we would state */
    const far_single *singles;
    double seconds; /* of branch and bound */
} check;

/* Branch and bound, where a stated range is narrower than what closed forms prove, or said to come
 * from there. */
static far_status prove_range(const check *k, const json_t *o, int64_t j, far_proof_range stated)
{
    far_bound *own = &k->own->bounds[j];
    double target = far_proof_says(o, "method", FAR_BRANCH) ? stated.tightest : INFINITY;
    target = stated.tightest < own->tightest ? fmin(target, stated.tightest) : target;
    target = stated.lowest > own->lowest ? fmin(target, -stated.lowest) : target;
    target = stated.highest < own->highest ? fmin(target, stated.highest) : target;
    far_branch_result r;
    if (!(target < INFINITY) || !(target >= 0)) {
        return FAR_OK; /* nothing to prove, or what cannot be */
    }
    far_status st = far_progress(k->ctx, "bound", 0, 1);
    if (st == FAR_OK) {
        st = far_branch_bound(&k->singles[j], 1e-9, target, k->seconds, 0, &r);
    }
    if (st == FAR_OK && r.bound <= target) {
        own->tightest = fmin(own->tightest, r.bound);
        own->lowest = fmax(own->lowest, -r.bound);
        own->highest = fmin(own->highest, r.bound);
    }
    return st;
}

/* What branch and bound is said to prove is true where it is no less than what is proven. */
static far_status take_branch(const check *k, const json_t *o, int64_t j)
{
    double stated;
    far_bound *own = &k->own->bounds[j];
    far_status st = far_proof_stated_bound(k->ctx, o, FAR_BRANCH, &stated);
    if (st == FAR_OK && stated >= own->tightest && isfinite(stated)) {
        own->proofs[FAR_BY_BRANCH] = (far_proof){FAR_BRANCH, stated};
    }
    return st;
}

/* The method is the one that we would name, or another that proves as much. */
static void take_method(const json_t *o, double tightest, far_bound *own)
{
    for (int i = 0; i < FAR_PROOFS; i++) {
        const far_proof *p = &own->proofs[i];
        if (far_proof_says(o, "method", p->method) && p->bound <= tightest) {
            own->method = p->method;
        }
    }
}

/* What is stated is taken over where it holds; the comparison refuses the rest. */
static far_status complete_bounded(const check *k, const json_t *o, int64_t j)
{
    far_status st;
    far_bound *own = &k->own->bounds[j];
    far_proof_range stated;
    double *at = k->own->vectors + j * k->m->info.inputs, value;
    FAR_TRY(far_proof_stated_range(k->ctx, o, &stated));
    FAR_TRY(far_proof_stated_flag(k->ctx, o, "at_infinity", &own->at_infinity));
    FAR_TRY(far_proof_vector(k->ctx, o, "at", k->m->info.inputs, own->at_infinity, at));
    FAR_TRY(far_raw_value(k->ctx, k->m, j, at, own->at_infinity, &value));
    own->at = at;
    FAR_TRY(far_proof_check_range(k->ctx, own->output, stated, value));
    FAR_TRY(far_proof_check_found(k->ctx, own->output, stated.found, value));
    FAR_TRY(prove_range(k, o, j, stated));
    FAR_TRY(far_proof_check_proven(
        k->ctx, own->output, stated,
        (far_proof_range){own->tightest, own->lowest, own->highest, own->sup_found}));
    FAR_TRY(take_branch(k, o, j));
    take_method(o, stated.tightest, own);
    own->tightest = stated.tightest;
    own->sup_found = stated.found;
done:
    return st;
}

/* The intercept is extrapolated from far away, where few of its digits are left. */
static void take_intercept(const check *k, double stated, far_bound *own)
{
    double extent = far_ray_extent(k->m, own->direction);
    double size = fabs(own->intercept) + fabs(own->slope) * extent;
    own->intercept = fabs(stated - own->intercept) <= 1e-4 * size ? stated : own->intercept;
}

static far_status complete_unbounded(const check *k, const json_t *o, int64_t j)
{
    far_status st;
    far_bound *own = &k->own->bounds[j];
    const json_t *w = json_object_get(o, "witness");
    double *direction = k->own->vectors + j * k->m->info.inputs, level, intercept;
    FAR_TRY(far_proof_vector(k->ctx, w, "direction", k->m->info.inputs, true, direction));
    FAR_TRY(far_proof_stated(k->ctx, w, "level", &level));
    FAR_TRY(far_proof_stated(k->ctx, w, "intercept", &intercept));
    if (level < 0 || isinf(level)) {
        FAR_TRY(far_proof_malformed(k->ctx, "a level is finite and 0 or more"));
    }
    FAR_TRY(far_witness_output(&k->singles[j], level, direction, own));
    if (own->verdict == FAR_UNBOUNDED) {
        take_intercept(k, intercept, own);
    }
done:
    return st;
}

static far_status complete_output(const check *k, const json_t *o, int64_t j)
{
    if (k->own->bounds[j].verdict == FAR_BOUNDED) {
        return complete_bounded(k, o, j);
    }
    return far_proof_says(o, "verdict", "unbounded") ? complete_unbounded(k, o, j) : FAR_OK;
}

static far_status complete(void *user, const json_t *outputs, far_certificate *own)
{
    far_status st = FAR_OK;
    const check *k = user;
    for (int64_t j = 0; st == FAR_OK && j < own->info.outputs; j++) {
        st = complete_output(k, json_array_get(outputs, (size_t)j), j);
    }
    return st;
}

static far_status certify_again(void *user, const far_certify_opts *opts, far_certificate **out)
{
    const check *k = user;
    return far_model_certify(k->ctx, k->m, opts, out);
}

far_status far_model_certificate_check(far_ctx *ctx, const far_model *m, const char *json,
                                       double seconds)
{
    far_status st;
    far_open open;
    far_single *singles = NULL;
    far_certificate *own = NULL;
    FAR_TRY(far_certificate_legible(ctx, json));
    FAR_TRY(far_alloc(ctx, m->info.outputs, &singles));
    FAR_TRY(far_bounds_fill(ctx, m, singles, &open, &own));
    check k = {ctx, m, own, singles, seconds};
    FAR_TRY(far_certificate_compare(ctx, json, (far_checker){&k, complete, certify_again}, own));
done:
    far_free(ctx, singles);
    far_certificate_destroy(own);
    return st;
}
