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
    if (m->metric.kind != FAR_METRIC_NONE) {
        size_t d = (size_t)m->info.inputs, full = m->metric.kind == FAR_METRIC_FULL;
        far_sha256_add(&h, m->metric.map, (full ? d * d : d) * sizeof *m->metric.map);
    }
    far_sha256_add(&h, m->alpha, np);
    far_sha256_add(&h, m->alpha_low, np);
    far_sha256_add(&h, m->columns->scaling,
                   (size_t)far_scaling_count(m->columns) * sizeof *m->columns->scaling);
    far_sha256_finish(&h, out);
}

static far_status name_metric(far_ctx *ctx, const far_model *m, far_certificate *c)
{
    far_metric_info metric = far_model_metric(m);
    int64_t count = metric.null.rows * metric.null.cols;
    if (metric.kind == FAR_METRIC_NONE) {
        return FAR_OK;
    }
    far_status st = far_alloc(ctx, count, &c->null);
    if (st == FAR_OK && count > 0) {
        memcpy(c->null, metric.null.data, (size_t)count * sizeof *c->null);
    }
    c->info.metric = metric.kind;
    c->info.rank = metric.rank;
    c->info.null =
        far_mat_view(c->null, st == FAR_OK ? metric.null.rows : 0, m->info.inputs, FAR_F64);
    return st;
}

static far_status name_model(far_ctx *ctx, const far_model *m, far_certificate **out)
{
    far_status st;
    FAR_TRY(far_certificate_blank(ctx, "infinite", m->arch, m->columns, out));
    far_certificate *c = *out;
    c->rows = m->info.rows;
    c->info.lambda_min = m->info.lambda_min;
    c->info.condition = m->info.condition;
    c->info.ridge = m->info.ridge;
    hash_model(m, c->hash);
    FAR_TRY(name_metric(ctx, m, c));
done:
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

/* A point of standardised inputs in raw units, or a direction, of norm 1 there. What does not fit a
 * double there becomes the middle of the data. */
static void to_raw(const far_model *m, bool infinite, double *x)
{
    int64_t d = m->info.inputs;
    long double square = 0;
    int size = infinite ? ilogb(far_largest_size(x, d)) : 0;
    for (int64_t i = 0; i < d; i++) {
        x[i] = ldexp(x[i], -size) * far_input_scale(m->columns)[i] +
               (infinite ? 0 : far_input_centre(m->columns)[i]);
        square += (long double)x[i] * x[i];
    }
    bool fits = isfinite(far_largest_size(x, d));
    for (int64_t i = 0; i < d; i++) {
        x[i] = !fits      ? far_input_centre(m->columns)[i]
               : infinite ? (double)(x[i] / sqrtl(square))
                          : x[i];
    }
}

/* What was found is stated of the point as it is written down, in raw units. */
static far_status place_found(far_ctx *ctx, const far_model *m, int64_t j, const double *s,
                              double *raw, far_bound *b)
{
    int64_t d = m->info.inputs;
    double value, *z = NULL;
    far_status st;
    FAR_TRY(far_alloc(ctx, d, &z));
    far_sphere_to_point(s, d, far_sphere_unit(m), z);
    far_model_unmap(m, z, raw);
    b->at_infinity = s[d] <= FAR_HEIGHT_OF_INFINITY;
    to_raw(m, b->at_infinity, raw);
    FAR_TRY(far_raw_value(ctx, m, j, raw, b->at_infinity, &value));
    b->sup_found = fabs(value);
    b->at = raw;
done:
    far_free(ctx, z);
    return st;
}

/* All outputs share the time. */
static far_status branch_output(const far_single *p, const far_certify_opts *o,
                                far_certificate_info *info, far_bound *b)
{
    far_branch_result r;
    double seconds = o->seconds / (double)p->model->info.outputs;
    far_status st = far_branch_bound(p, o->gap, NAN, seconds, b->sup_found, &r);
    if (st == FAR_OK) {
        info->cells += r.cells;
        info->finished &= r.finished;
    }
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
    c->info.finished = 1;
    for (int64_t j = 0; j < p; j++) {
        FAR_TRY(place_found(ctx, m, j, where + j * (d + 1), c->vectors + j * d, &c->bounds[j]));
        if (singles[j].norm_1 > 0) {
            FAR_TRY(branch_output(&singles[j], o, &c->info, &c->bounds[j]));
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
