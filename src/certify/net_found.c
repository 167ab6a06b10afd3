/*
 * How much of a bound is used: the largest values met, at points that can be looked at again.
 *
 * Bounds are about real arithmetic; a value of the engine has rounding in it, which a norm without
 * eps makes as large as anything where its inputs hardly vary. So the network is enclosed at the
 * point as well (forms on a cell that is this one point): what is stated is the engine's value,
 * moved into the enclosure and the proven range where rounding has carried it out.
 */
#include "net_certify.h"

#include <string.h>

#define DISAGREES 4.0  /* widths of the enclosure that the engine's rounding stays within, */
#define SURELY 1e-12   /* and part of its value */
#define FURTHEST 1e-12 /* s below which a point is a direction */

/* ---- the network at a raw point ------------------------------------------------------------ */

far_status far_net_raw_value(const far_net_plan *plan, int64_t j, const double *raw, bool infinite,
                             double *out)
{
    far_status st;
    const far_net *net = plan->net;
    int64_t d = net->info.inputs, p = net->info.outputs;
    double *x = NULL, *f = NULL;
    FAR_TRY(far_alloc(plan->ctx, d, &x));
    FAR_TRY(far_alloc(plan->ctx, p, &f));
    for (int64_t i = 0; i < d; i++) {
        x[i] = infinite ? raw[i] / plan->input_scale[i] : raw[i];
    }
    far_mat in = far_mat_view(x, 1, d, FAR_F64), values = far_mat_view(f, 1, p, FAR_F64);
    FAR_TRY(infinite ? far_net_limit(plan->ctx, net, &in, &values, NULL, NULL)
                     : far_net_eval_raw(plan->ctx, net, &in, &values));
    *out = infinite ? plan->centre[j] + plan->scale[j] * f[j] : f[j];
done:
    far_free(plan->ctx, x);
    far_free(plan->ctx, f);
    return st;
}

/* (u, s) of a raw point or direction, s a power of 2 so that |u| is about 1; a raw point at the
 * centre of an input is exactly 0 there. */
static void point_forms(const far_net_plan *plan, const double *raw, bool infinite, far_form *u,
                        far_form *s)
{
    int64_t d = plan->net->info.inputs;
    double most = 0;
    int exponent = 0;
    for (int64_t i = 0; i < d; i++) {
        double z = (infinite ? raw[i] : raw[i] - plan->input_centre[i]) / plan->input_scale[i];
        u[i] = far_form_constant(z / plan->unit, 0); /* exact: unit is a power of 2 */
        most = fmax(most, fabs(u[i].c));
    }
    if (most > 1 && isfinite(most)) {
        frexp(most, &exponent);
    }
    for (int64_t i = 0; i < d; i++) {
        u[i].c = ldexp(u[i].c, -exponent);
        u[i].r = raw[i] == (infinite ? 0 : plan->input_centre[i])
                     ? 0
                     : fabs(u[i].c) * (8 * FAR_UNIT) + FAR_SPECK;
    }
    *s = far_form_constant(infinite ? 0 : ldexp(1, -exponent), 0);
}

far_status far_net_enclose(const far_net_plan *plan, const double *raw, bool infinite, bool rounded,
                           far_range *out)
{
    far_status st;
    int64_t p = plan->net->info.outputs;
    far_cell *cell = NULL;
    far_form *u = NULL, s;
    FAR_TRY(far_cell_create(plan, 1, &cell));
    FAR_TRY(far_alloc(plan->ctx, plan->net->info.inputs, &u));
    point_forms(plan, raw, infinite, u, &s);
    far_cell_set_rounded(cell, rounded);
    const far_form *f = far_cell_run(cell, u, &s);
    for (int64_t j = 0; j < p; j++) {
        far_range r = far_form_range(&f[j], 1);
        out[j] = isnan(r.low) || isnan(r.high) ? (far_range){-INFINITY, INFINITY} : r;
    }
done:
    far_cell_destroy(cell);
    far_free(plan->ctx, u);
    return st;
}

/* ---- what is stated of it ------------------------------------------------------------------ */

static double nearest(far_range r, double value)
{
    return fmin(fmax(value, r.low), r.high);
}

/* Between the engine and the proof there is rounding, and nothing else. Limits are computed in
 * another way, which takes what hardly varies as constant. */
static far_status check_engine(const far_net_plan *plan, int64_t j, const double *raw, double f,
                               far_range *room)
{
    far_status st = far_net_enclose(plan, raw, false, true, room);
    double off = fabs(f - nearest(room[j], f)), width = room[j].high - room[j].low;
    if (st == FAR_OK && off > DISAGREES * width + SURELY * far_range_size(room[j]) + FAR_SPECK) {
        st = far_fail(plan->ctx, FAR_ERR_BACKEND,
                      FAR_PLEASE_REPORT "the network evaluates to %.17g where it must lie between "
                                        "%.17g and %.17g",
                      f, room[j].low, room[j].high);
    }
    return st;
}

far_status far_net_found(const far_net_plan *plan, int64_t j, const double *raw, bool infinite,
                         far_range range, far_net_value *out)
{
    far_status st;
    double f;
    far_range *enclosures = NULL;
    FAR_TRY(far_alloc(plan->ctx, plan->net->info.outputs, &enclosures));
    FAR_TRY(far_net_raw_value(plan, j, raw, infinite, &f));
    if (isfinite(f) && !infinite) {
        FAR_TRY(check_engine(plan, j, raw, f, enclosures));
    }
    FAR_TRY(far_net_enclose(plan, raw, infinite, false, enclosures));
    far_range own = enclosures[j], both = far_range_meet(own, range);
    out->possible = both.low <= both.high;
    out->value = nearest(out->possible ? both : own, isfinite(f) ? f : 0);
done:
    far_free(plan->ctx, enclosures);
    return st;
}

/* ---- the search's places ------------------------------------------------------------------- */

static bool is_zero(const double *values, int64_t n)
{
    bool zero = true;
    for (int64_t i = 0; i < n; i++) {
        zero &= values[i] == 0;
    }
    return zero;
}

/* (u, s) in raw units: a point, or (further out than numbers say anything) a direction. (0, 0)
 * stands for the network's own 0. */
static void to_raw(const far_net_plan *plan, const double *where, double *raw, int32_t *infinite)
{
    int64_t d = plan->net->info.inputs;
    bool zero = is_zero(where, d);
    double square = 0, s = where[d];
    *infinite = s <= FURTHEST && !plan->endless && !zero;
    for (int64_t i = 0; i < d; i++) {
        double z = zero ? 0 : *infinite ? where[i] : plan->unit * where[i] / s;
        raw[i] = z * plan->input_scale[i] + (*infinite ? 0 : plan->input_centre[i]);
        square += raw[i] * raw[i];
    }
    for (int64_t i = 0; *infinite && i < d; i++) {
        raw[i] /= sqrt(square);
    }
}

far_status far_net_place_found(const far_net_plan *plan, int64_t j, const far_net_branch *found,
                               double *raw, far_bound *b)
{
    int64_t dim = plan->net->info.inputs + 1;
    int end = fabs(found->found[2 * j + 1]) >= fabs(found->found[2 * j]);
    far_net_value value = {0};
    far_range range = {b->lowest, b->highest};
    to_raw(plan, found->where + (2 * j + end) * dim, raw, &b->at_infinity);
    far_status st = far_net_found(plan, j, raw, b->at_infinity, range, &value);
    b->at = raw;
    b->sup_found = fabs(value.value);
    if (st == FAR_OK && !value.possible) {
        bool above = value.value > b->highest;
        st = far_proof_consistent(plan->ctx, above ? "an output" : "the negative of an output",
                                  above ? value.value : -value.value,
                                  above ? b->highest : -b->lowest);
    }
    return st;
}
