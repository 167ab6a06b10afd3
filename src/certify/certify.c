/* The certificate: the verdict from the kernel's supremum, then bounds and search, or a witness. */
#include "../kernel/supremum.h"
#include "certify_internal.h"

#include <math.h>
#include <string.h>

#define CONSTANT_THEOREM "the fit is the same constant everywhere (its norm is 0)"
const char *far_verdict_text(int32_t verdict)
{
    return verdict == FAR_BOUNDED     ? "bounded"
           : verdict == FAR_UNBOUNDED ? "unbounded"
                                      : "undecided";
}

void far_certify_opts_init(far_certify_opts *opts)
{
    *opts = (far_certify_opts){
        .size = sizeof *opts, .exceeds = NAN, .starts = 64, .gap = 0.01, .seconds = 20};
}

void far_certificate_destroy(far_certificate *c)
{
    if (c) {
        far_ctx *ctx = c->ctx;
        for (int64_t j = 0; c->bounds && j < c->info.outputs; j++) {
            far_free(ctx, (char *)c->bounds[j].output);
        }
        far_texts_free(ctx, c->inputs, c->input_count);
        far_free(ctx, c->arch);
        far_free(ctx, c->bounds);
        far_free(ctx, c->vectors);
        far_free(ctx, c);
    }
}

far_certificate_info far_certificate_describe(const far_certificate *c)
{
    return c->info;
}

const far_bound *far_certificate_bound(const far_certificate *c, int64_t output)
{
    return output >= 0 && output < c->info.outputs ? &c->bounds[output] : NULL;
}

/* ---- making one ---------------------------------------------------------------------------- */

static far_status copy(far_ctx *ctx, const char *text, char **out)
{
    return far_copy_text(ctx, text, (int64_t)strlen(text), out);
}

static far_status name_outputs(far_ctx *ctx, const far_model *m, far_certificate *c)
{
    far_status st = FAR_OK;
    for (int64_t j = 0; st == FAR_OK && j < m->info.outputs; j++) {
        far_text t = {.ctx = ctx};
        if (m->columns->classes) {
            far_text_add(&t, "%s=%s", m->columns->targets[0], m->columns->classes[j]);
        } else {
            far_text_add(&t, "%s", m->columns->targets[j]);
        }
        c->bounds[j].output = t.data;
        st = t.status;
    }
    return st;
}

far_status far_certificate_blank(far_ctx *ctx, const far_model *m, far_certificate **out)
{
    far_status st;
    far_certificate *c;
    int64_t p = m->info.outputs, d = m->info.inputs;
    FAR_TRY(far_alloc(ctx, 1, out));
    c = *out;
    *c = (far_certificate){.ctx = ctx, .rows = m->info.rows};
    FAR_TRY(far_alloc(ctx, p, &c->bounds));
    memset(c->bounds, 0, (size_t)p * sizeof *c->bounds);
    c->info.outputs = p;
    FAR_TRY(far_alloc(ctx, p * d, &c->vectors));
    FAR_TRY(far_texts_alloc(ctx, d, &c->inputs));
    c->input_count = d;
    for (int64_t i = 0; i < d; i++) {
        FAR_TRY(copy(ctx, m->columns->inputs[i], &c->inputs[i]));
    }
    FAR_TRY(copy(ctx, m->arch, &c->arch));
    FAR_TRY(name_outputs(ctx, m, c));
    memcpy(c->data_hash, m->columns->hash, sizeof c->data_hash);
    c->info.lambda_min = m->info.lambda_min;
    c->info.condition = m->info.condition;
    c->info.ridge = m->info.ridge;
done:
    return st;
}

/* C is what is proven of the supremum; what a scan found beyond that proves nothing. */
static far_status supremum(far_ctx *ctx, const far_model *m, far_certificate *c)
{
    far_supremum sup;
    far_supremum_init(&sup);
    bool nngp = m->info.prior == FAR_PRIOR_NNGP;
    far_status st = far_supremum_of(ctx, m->kernel, nngp, m->info.inputs, &sup);
    if (st != FAR_OK) {
        return st;
    }
    bool proven = sup.bounded && isfinite(sup.proven);
    c->info.C = proven ? sup.proven : sup.value;
    c->info.radius = sup.radius;
    c->info.attained = sup.attained;
    c->info.verdict = proven ? FAR_BOUNDED : FAR_UNDECIDED;
    c->info.C_by = proven ? sup.proven_by : sup.bounded ? "search" : NULL;
    c->open = sup.bounded ? FAR_OPEN_SEARCH : sup.order < 0 ? FAR_OPEN_ZERO : FAR_OPEN_KERNEL;
    return FAR_OK;
}

static void narrow(far_interval with, far_bound *b)
{
    if (!with.method) {
        return;
    }
    double most = fmax(fabs(with.low), fabs(with.high));
    b->lowest = fmax(b->lowest, with.low);
    b->highest = fmin(b->highest, with.high);
    if (most < b->tightest) {
        b->tightest = most;
        b->method = with.method;
    }
}

static far_status check_range(const far_predictor *p, const far_bound *b)
{
    if (isfinite(b->tightest) && isfinite(b->b1)) {
        return FAR_OK;
    }
    return far_fail(p->ctx, FAR_ERR_VALUE,
                    "%s: the bound is too large for a double; scale the target down", b->output);
}

static far_status closed_bounds(const far_predictor *p, const char *theorem, far_bound *b)
{
    far_interval quadratic;
    far_status st = far_quadratic_interval(p, &quadratic);
    if (st != FAR_OK) {
        return st;
    }
    b->verdict = FAR_BOUNDED;
    b->theorem = theorem;
    b->lowest = -INFINITY;
    b->highest = INFINITY;
    b->tightest = INFINITY;
    far_loose_bounds(p, b);
    narrow(far_norm_interval(p), b);
    narrow(far_bias_interval(p), b);
    narrow(quadratic, b);
    /* the ends of intervals from different proofs may be nearer together than either */
    b->tightest = fmin(b->tightest, fmax(fabs(b->lowest), fabs(b->highest)));
    return check_range(p, b);
}

static void constant_bound(const far_predictor *p, far_bound *b)
{
    double value = fabs(p->centre);
    b->verdict = FAR_BOUNDED;
    b->theorem = CONSTANT_THEOREM;
    b->method = "norm";
    b->b1 = b->b2 = b->b3 = b->tightest = b->sup_found = value;
    b->lowest = b->highest = p->centre;
}

static void leave_open(const char *reason, far_bound *b)
{
    b->verdict = FAR_UNDECIDED;
    b->theorem = reason;
    b->b1 = b->b2 = b->b3 = b->tightest = b->highest = INFINITY;
    b->lowest = -INFINITY;
}

/* Unbounded is worse than undecided, and that than bounded. */
int far_verdict_badness(int32_t verdict)
{
    return verdict == FAR_UNBOUNDED ? 2 : verdict == FAR_UNDECIDED ? 1 : 0;
}

static int32_t worst_verdict(const far_certificate *c)
{
    int32_t worst = FAR_BOUNDED;
    for (int64_t j = 0; j < c->info.outputs; j++) {
        int32_t own = c->bounds[j].verdict;
        worst = far_verdict_badness(own) > far_verdict_badness(worst) ? own : worst;
    }
    return worst;
}

far_status far_bounds_fill(far_ctx *ctx, const far_model *m, far_certificate *c,
                           far_predictor *predictors)
{
    far_status st;
    FAR_TRY(supremum(ctx, m, c));
    bool bounded = c->info.verdict == FAR_BOUNDED;
    FAR_TRY(far_predictors_fill(ctx, m, c->info.C, predictors));
    for (int64_t j = 0; j < m->info.outputs; j++) {
        far_bound *b = &c->bounds[j];
        b->slope = b->order = b->intercept = b->level = b->beyond = b->confirmed = NAN;
        if (predictors[j].norm_1 == 0) {
            constant_bound(&predictors[j], b);
        } else if (bounded) {
            FAR_TRY(closed_bounds(&predictors[j], far_reason_bounded(m, c->info.C_by), b));
        } else {
            leave_open(far_reason_open(c->open), b);
        }
    }
    c->info.verdict = worst_verdict(c);
done:
    return st;
}

/* ---- how much of the bound is used --------------------------------------------------------- */

/* What was found is stated of the point as it is written down, in raw units. */
static far_status place_found(far_ctx *ctx, const far_model *m, int64_t j, const double *s,
                              double *raw, far_bound *b)
{
    int64_t d = m->info.inputs;
    long double square = 0;
    double value;
    far_sphere_to_point(s, d, far_sphere_unit(m), raw);
    b->at_infinity = s[d] <= FAR_HEIGHT_OF_INFINITY;
    for (int64_t i = 0; i < d; i++) {
        raw[i] = raw[i] * far_input_scale(m->columns)[i] +
                 (b->at_infinity ? 0 : far_input_centre(m->columns)[i]);
        square += (long double)raw[i] * raw[i];
    }
    for (int64_t i = 0; b->at_infinity && i < d; i++) {
        raw[i] = (double)(raw[i] / sqrtl(square));
    }
    far_status st = far_raw_value(ctx, m, j, raw, b->at_infinity, &value);
    if (st == FAR_OK) {
        b->sup_found = fabs(value);
        b->at = raw;
    }
    return st;
}

/* All outputs share the time. */
static far_status branch_output(const far_predictor *p, const far_certify_opts *o, far_bound *b)
{
    far_branch_result r;
    double seconds = o->seconds / (double)p->model->info.outputs;
    far_status st = far_branch_bound(p, o->gap, NAN, seconds, b->sup_found, &r);
    if (st == FAR_OK && r.bound < b->tightest) {
        narrow((far_interval){-r.bound, r.bound, "branch and bound"}, b);
    }
    return st;
}

/* A value beyond its bound would be a proof that is false: ours, not the caller's, to mend. */
static far_status confront(far_ctx *ctx, const far_bound *b)
{
    if (b->sup_found <= b->tightest && b->lowest <= b->highest) {
        return FAR_OK;
    }
    return far_fail(ctx, FAR_ERR_BACKEND,
                    "internal error: |%s| <= %.17g was derived, but %.17g was found; please report "
                    "this model",
                    b->output, b->tightest, b->sup_found);
}

static far_status search_all(far_ctx *ctx, const far_model *m, const far_certify_opts *o,
                             const far_predictor *predictors, far_certificate *c)
{
    far_status st;
    int64_t p = m->info.outputs, d = m->info.inputs;
    double *found = NULL, *where = NULL;
    FAR_TRY(far_alloc(ctx, p, &found));
    FAR_TRY(far_alloc(ctx, p * (d + 1), &where));
    FAR_TRY(far_search_supremum(ctx, m, o, found, where));
    for (int64_t j = 0; j < p; j++) {
        FAR_TRY(place_found(ctx, m, j, where + j * (d + 1), c->vectors + j * d, &c->bounds[j]));
        if (predictors[j].norm_1 > 0) {
            FAR_TRY(branch_output(&predictors[j], o, &c->bounds[j]));
        }
        FAR_TRY(confront(ctx, &c->bounds[j]));
        FAR_TRY(far_progress(ctx, "bound", j + 1, p));
    }
done:
    far_free(ctx, found);
    far_free(ctx, where);
    return st;
}

static far_status certify(far_ctx *ctx, const far_model *m, const far_certify_opts *o,
                          far_certificate *c)
{
    far_status st;
    far_predictor *predictors = NULL;
    double start = far_seconds();
    c->gap = o->gap;
    c->seed = o->seed;
    FAR_TRY(far_alloc(ctx, m->info.outputs, &predictors));
    FAR_TRY(far_bounds_fill(ctx, m, c, predictors));
    if (c->info.verdict == FAR_BOUNDED) {
        FAR_TRY(search_all(ctx, m, o, predictors, c));
    } else if (c->open == FAR_OPEN_KERNEL) {
        FAR_TRY(far_witness_fill(ctx, m, o, predictors, c));
    }
    c->info.verdict = worst_verdict(c);
    c->info.seconds = far_seconds() - start;
done:
    far_free(ctx, predictors);
    return st;
}

static far_status check_opts(far_ctx *ctx, const far_model *m, const far_certify_opts *o)
{
    if (!m || !o || o->size != sizeof *o) {
        return far_fail(ctx, FAR_ERR_ARG, "the model is NULL or opts not initialised");
    }
    if (o->starts < 1 || !(o->gap > 0) || !(o->seconds >= 0) || o->exceeds < 0 ||
        isinf(o->exceeds)) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "starts, gap and seconds must be above 0, the level to "
                        "exceed finite and 0 or more");
    }
    return FAR_OK;
}

far_status far_certify(far_ctx *ctx, const far_model *m, const far_certify_opts *opts,
                       far_certificate **out)
{
    far_status st;
    far_certificate *c = NULL;
    if (!out) {
        return far_fail(ctx, FAR_ERR_ARG, "out is NULL");
    }
    *out = NULL;
    FAR_TRY(check_opts(ctx, m, opts));
    FAR_TRY(far_certificate_blank(ctx, m, &c));
    FAR_TRY(certify(ctx, m, opts, c));
    *out = c;
    c = NULL;
done:
    far_certificate_destroy(c);
    return st;
}
