/* The certificate: the verdict from the kernel's supremum, then bounds and search, or a witness. */
#include "../data/frame_internal.h"
#include "../kernel/supremum.h"
#include "certify_internal.h"

#include <math.h>
#include <string.h>

#define CONSTANT_THEOREM "the fit is the same constant everywhere (its norm is 0)"
/* ---- bounds in closed form ----------------------------------------------------------------- */

static void hash_model(const far_model *m, char out[65])
{
    far_sha256 h;
    size_t np = (size_t)(m->info.rows * m->info.outputs) * sizeof *m->alpha;
    int32_t choices[] = {m->info.param, m->info.kernel};
    far_sha256_init(&h);
    far_sha256_add(&h, m->arch, strlen(m->arch) + 1);
    far_sha256_add(&h, choices, sizeof choices);
    far_sha256_add(&h, m->x, (size_t)(m->info.rows * m->info.inputs) * sizeof *m->x);
    far_sha256_add(&h, m->alpha, np);
    far_sha256_add(&h, m->alpha_low, np);
    far_sha256_add(&h, m->columns->scaling,
                   (size_t)far_scaling_count(m->columns) * sizeof *m->columns->scaling);
    far_sha256_finish(&h, out);
}

static far_status name_model(far_ctx *ctx, const far_model *m, far_certificate **out)
{
    far_status st = far_certificate_blank(ctx, "infinite", m->arch, m->columns, out);
    if (st == FAR_OK) {
        far_certificate *c = *out;
        c->rows = m->info.rows;
        c->info.lambda_min = m->info.lambda_min;
        c->info.condition = m->info.condition;
        c->info.ridge = m->info.ridge;
        hash_model(m, c->hash);
    }
    return st;
}

/* C is what is proven of the supremum; what a scan found beyond that proves nothing. */
static far_status supremum(far_ctx *ctx, const far_model *m, far_open *open, far_certificate *c)
{
    far_supremum sup;
    far_status st = far_supremum_of(ctx, m->kernel, m->info.kernel, m->info.inputs, &sup);
    if (st != FAR_OK) {
        return st;
    }
    bool proven = sup.bounded && isfinite(sup.proven);
    c->info.C = proven ? sup.proven : sup.value;
    c->info.radius = sup.radius;
    c->info.attained = sup.attained;
    c->info.verdict = proven ? FAR_BOUNDED : FAR_UNDECIDED;
    c->info.C_by = proven ? sup.proven_by : sup.bounded ? "search" : NULL;
    *open = sup.bounded ? FAR_OPEN_SEARCH : sup.order < 0 ? FAR_OPEN_ZERO : FAR_OPEN_KERNEL;
    return FAR_OK;
}

static void narrow(int by, far_interval with, far_bound *b)
{
    if (!with.method) {
        return;
    }
    double most = fmax(fabs(with.low), fabs(with.high));
    b->proofs[by] = (far_proof){with.method, most};
    b->lowest = fmax(b->lowest, with.low);
    b->highest = fmin(b->highest, with.high);
    if (most < b->tightest) {
        b->tightest = most;
        b->method = with.method;
    }
}

static far_status check_range(const far_single *p, const far_bound *b)
{
    if (isfinite(b->tightest) && isfinite(b->b1)) {
        return FAR_OK;
    }
    return far_fail(p->ctx, FAR_ERR_VALUE,
                    "%s: the bound is too large for a double; scale the target down", b->output);
}

static far_status closed_bounds(const far_single *p, const char *theorem, far_bound *b)
{
    far_interval quadratic;
    far_status st = far_quadratic_interval(p, &quadratic);
    if (st != FAR_OK) {
        return st;
    }
    b->verdict = FAR_BOUNDED;
    b->theorem = theorem;
    far_loose_bounds(p, b);
    narrow(FAR_BY_NORM, far_norm_interval(p), b);
    narrow(FAR_BY_BIAS, far_bias_interval(p), b);
    narrow(FAR_BY_QUADRATIC, quadratic, b);
    /* the ends of intervals from different proofs may be nearer together than either */
    b->tightest = fmin(b->tightest, fmax(fabs(b->lowest), fabs(b->highest)));
    return check_range(p, b);
}

static void constant_bound(const far_single *p, far_bound *b)
{
    double value = fabs(p->centre);
    b->verdict = FAR_BOUNDED;
    b->theorem = CONSTANT_THEOREM;
    b->method = "norm";
    b->proofs[FAR_BY_NORM] = (far_proof){"norm", value};
    b->b1 = b->b2 = b->b3 = b->tightest = b->sup_found = value;
    b->lowest = b->highest = p->centre;
}

static void leave_open(const char *reason, far_bound *b)
{
    b->theorem = reason;
    b->b1 = b->b2 = b->b3 = INFINITY;
}

far_status far_bounds_fill(far_ctx *ctx, const far_model *m, far_single *singles, far_open *open,
                           far_certificate **out)
{
    far_status st;
    FAR_TRY(name_model(ctx, m, out));
    FAR_TRY(supremum(ctx, m, open, *out));
    bool bounded = (*out)->info.verdict == FAR_BOUNDED;
    FAR_TRY(far_singles_fill(ctx, m, (*out)->info.C, singles));
    for (int64_t j = 0; j < m->info.outputs; j++) {
        far_bound *b = &(*out)->bounds[j];
        if (singles[j].norm_1 == 0) {
            constant_bound(&singles[j], b);
        } else if (bounded) {
            FAR_TRY(closed_bounds(&singles[j], far_reason_bounded(m, (*out)->info.C_by), b));
        } else {
            leave_open(far_reason_open(*open), b);
        }
    }
    (*out)->info.verdict = far_certificate_worst(*out);
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
static far_status branch_output(const far_single *p, const far_certify_opts *o, far_bound *b)
{
    far_branch_result r;
    double seconds = o->seconds / (double)p->model->info.outputs;
    far_status st = far_branch_bound(p, o->gap, NAN, seconds, b->sup_found, &r);
    if (st == FAR_OK && r.bound < b->tightest) {
        narrow(FAR_BY_BRANCH, (far_interval){-r.bound, r.bound, FAR_BRANCH}, b);
    }
    return st;
}

static far_status search_all(far_ctx *ctx, const far_model *m, const far_certify_opts *o,
                             const far_single *singles, far_certificate *c)
{
    far_status st;
    int64_t p = m->info.outputs, d = m->info.inputs;
    double *found = NULL, *where = NULL;
    FAR_TRY(far_alloc(ctx, p, &found));
    FAR_TRY(far_alloc(ctx, p * (d + 1), &where));
    FAR_TRY(far_search_supremum(ctx, m, o, found, where));
    for (int64_t j = 0; j < p; j++) {
        FAR_TRY(place_found(ctx, m, j, where + j * (d + 1), c->vectors + j * d, &c->bounds[j]));
        if (singles[j].norm_1 > 0) {
            FAR_TRY(branch_output(&singles[j], o, &c->bounds[j]));
        }
        FAR_TRY(far_progress(ctx, "bound", j + 1, p));
    }
done:
    far_free(ctx, found);
    far_free(ctx, where);
    return st;
}

static far_status certify(far_ctx *ctx, const void *model, const far_certify_opts *o,
                          far_certificate **out)
{
    far_status st;
    const far_model *m = model;
    far_open open;
    far_single *singles = NULL;
    double start = far_seconds();
    FAR_TRY(far_alloc(ctx, m->info.outputs, &singles));
    FAR_TRY(far_bounds_fill(ctx, m, singles, &open, out));
    (*out)->info.gap = o->gap;
    if ((*out)->info.verdict == FAR_BOUNDED) {
        FAR_TRY(search_all(ctx, m, o, singles, *out));
    } else if (open == FAR_OPEN_KERNEL) {
        FAR_TRY(far_witness_fill(ctx, m, o, singles, *out));
    }
    (*out)->info.verdict = far_certificate_worst(*out);
    (*out)->info.seconds = far_seconds() - start;
done:
    far_free(ctx, singles);
    return st;
}

far_status far_model_certify(far_ctx *ctx, const far_model *m, const far_certify_opts *opts,
                             far_certificate **out)
{
    return far_certificate_make(ctx, "model", m, certify, opts, out);
}
