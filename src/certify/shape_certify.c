/* The certificate of a network of images or sequences: bounds by walking it, large values by
 * search, and the check of both. */
#include "shape_certify.h"

#include <string.h>

#define METHOD "norm ball"

static const char *const BOUNDED =
    "every path from the inputs to this output passes a norm, a bounded activation or a table of "
    "tokens: behind a norm each position lies in a ball, whatever goes in; attention is a convex "
    "combination of its values; and the other layers take bounded sets to bounded sets";
static const char *const OPEN =
    "a path from the inputs to this output passes no layer norm, no rms norm and no bounded "
    "activation; whether the output runs away along it is not decided for images and sequences";

/* ---- units --------------------------------------------------------------------------------- */

static double input_centre(const far_net *net, int64_t i)
{
    return net->columns->scaling[i];
}

static double input_scale(const far_net *net, int64_t i)
{
    return net->columns->scaling[net->info.inputs + i];
}

static far_range raw_range(const far_net *net, int64_t j, far_range r)
{
    double centre = far_output_centre(net->columns)[j], scale = far_output_scale(net->columns)[j];
    double slack = 4 * FAR_UNIT * (fabs(centre) + scale * far_range_size(r)) + FAR_SPECK;
    return (far_range){centre + scale * r.low - slack, centre + scale * r.high + slack};
}

/* ---- bounds -------------------------------------------------------------------------------- */

static void set_bound(far_range r, far_bound *b)
{
    bool bounded = isfinite(r.low) && isfinite(r.high);
    b->verdict = bounded ? FAR_BOUNDED : FAR_UNDECIDED;
    b->theorem = bounded ? BOUNDED : OPEN;
    if (bounded) {
        b->lowest = r.low;
        b->highest = r.high;
        b->tightest = far_range_size(r);
        b->method = METHOD;
        b->proofs[FAR_BY_BALL] = (far_proof){METHOD, b->tightest};
    }
}

static void note_norms(const far_net *net, far_certificate *c)
{
    for (int64_t i = 0; i < net->step_count; i++) {
        c->info.norms |= net->steps[i].kind == FAR_STEP_NORM;
        c->info.batch |= net->steps[i].kind == FAR_STEP_BATCHNORM;
    }
}

far_status far_shape_bounds(far_ctx *ctx, const far_net *net, far_certificate *c)
{
    far_status st;
    far_range *in = NULL, *out = NULL;
    FAR_TRY(far_alloc(ctx, net->info.inputs, &in));
    FAR_TRY(far_alloc(ctx, net->info.outputs, &out));
    for (int64_t i = 0; i < net->info.inputs; i++) {
        in[i] = (far_range){-INFINITY, INFINITY};
    }
    FAR_TRY(far_shape_walk(ctx, net, in, out));
    for (int64_t j = 0; j < net->info.outputs; j++) {
        set_bound(raw_range(net, j, out[j]), &c->bounds[j]);
    }
    note_norms(net, c);
    c->info.verdict = far_certificate_worst(c);
done:
    far_free(ctx, in);
    far_free(ctx, out);
    return st;
}

/* ---- values at points ---------------------------------------------------------------------- */

#define DISAGREES 4.0 /* widths of the enclosure that the engine's rounding stays within, */
#define SURELY 1e-12  /* and part of its value */

/* The real values of all outputs at a raw point, in raw units. */
static far_status enclose(far_ctx *ctx, const far_net *net, const double *raw, far_range *out)
{
    far_range *in = NULL;
    far_status st;
    FAR_TRY(far_alloc(ctx, net->info.inputs, &in));
    for (int64_t i = 0; i < net->info.inputs; i++) {
        double z = (raw[i] - input_centre(net, i)) / input_scale(net, i);
        bool exact = input_centre(net, i) == 0 && input_scale(net, i) == 1;
        double slack = exact ? 0 : 4 * FAR_UNIT * fabs(z) + FAR_SPECK;
        in[i] = (far_range){z - slack, z + slack};
    }
    FAR_TRY(far_shape_walk(ctx, net, in, out));
    for (int64_t j = 0; j < net->info.outputs; j++) {
        out[j] = raw_range(net, j, out[j]);
    }
done:
    far_free(ctx, in);
    return st;
}

static double nearest(far_range r, double x)
{
    return fmin(fmax(x, r.low), r.high);
}

far_status far_shape_found(far_ctx *ctx, const far_net *net, int64_t j, const double *raw,
                           far_range range, far_net_value *out)
{
    far_status st;
    far_range *own = NULL;
    double *f = NULL;
    FAR_TRY(far_alloc(ctx, net->info.outputs, &own));
    FAR_TRY(far_alloc(ctx, net->info.outputs, &f));
    far_mat x = far_mat_view((void *)raw, 1, net->info.inputs, FAR_F64);
    far_mat values = far_mat_view(f, 1, net->info.outputs, FAR_F64);
    FAR_TRY(far_net_eval_raw(ctx, net, &x, &values));
    FAR_TRY(enclose(ctx, net, raw, own));
    double off = fabs(f[j] - nearest(own[j], f[j])), width = own[j].high - own[j].low;
    if (off > DISAGREES * width + SURELY * far_range_size(own[j]) + FAR_SPECK) {
        FAR_TRY(far_fail(ctx, FAR_ERR_BACKEND,
                         FAR_PLEASE_REPORT "the network evaluates to %.17g where it must lie "
                                           "between %.17g and %.17g",
                         f[j], own[j].low, own[j].high));
    }
    far_range both = far_range_meet(own[j], range);
    out->possible = both.low <= both.high;
    out->value = nearest(out->possible ? both : own[j], f[j]);
done:
    far_free(ctx, own);
    far_free(ctx, f);
    return st;
}

/* ---- the search ---------------------------------------------------------------------------- */

enum { STEPS = 30 };

/* Points, in the network's units, that climb to large |f_j| together. */
typedef struct climb {
    far_ctx *ctx;
    const far_net *net;
    int64_t rows;
    far_mat x, f, u, slope;
    double *pace;      /* of each row: part of its norm that a step is */
    double *best;      /* of each row */
    double *best_rows; /* rows x inputs */
} climb;

static far_status matrix(far_ctx *ctx, int64_t rows, int64_t cols, far_mat *out)
{
    double *data = NULL;
    far_status st = far_alloc(ctx, rows * cols, &data);
    *out = far_mat_view(data, rows, cols, FAR_F64);
    return st;
}

static void climb_free(climb *c)
{
    FAR_FREE_ALL(c->ctx, c->x.data, c->f.data, c->u.data, c->slope.data, c->pace, c->best,
                 c->best_rows);
}

static far_status climb_open(climb *c)
{
    far_status st;
    int64_t d = c->net->info.inputs, p = c->net->info.outputs;
    FAR_TRY(matrix(c->ctx, c->rows, d, &c->x));
    FAR_TRY(matrix(c->ctx, c->rows, p, &c->f));
    FAR_TRY(matrix(c->ctx, c->rows, p, &c->u));
    FAR_TRY(matrix(c->ctx, c->rows, d, &c->slope));
    FAR_TRY(far_alloc(c->ctx, c->rows, &c->pace));
    FAR_TRY(far_alloc(c->ctx, c->rows, &c->best));
    FAR_TRY(far_alloc(c->ctx, c->rows * d, &c->best_rows));
done:
    return st;
}

/* From a hundredth to ten thousand; tokens: any. */
static void start_rows(climb *c, uint64_t seed)
{
    static const double SIZES[] = {1, 0.1, 10, 100, 1e4, 0.01};
    int64_t d = c->net->info.inputs, vocabulary = far_net_vocabulary(c->net);
    double *x = c->x.data;
    for (int64_t i = 0; i < c->rows * d; i++) {
        double size = SIZES[i / d % (int64_t)(sizeof SIZES / sizeof SIZES[0])];
        x[i] = vocabulary > 0 ? floor(far_random_uniform(seed, (uint64_t)i) * (double)vocabulary)
                              : size * far_random_normal(seed, (uint64_t)i);
    }
    for (int64_t r = 0; r < c->rows; r++) {
        c->pace[r] = 0.3;
        c->best[r] = -1;
    }
}

/* Keeps what is larger than before, and goes back with half the pace from what is not. */
static void judge_rows(climb *c, int64_t j)
{
    int64_t d = c->x.cols;
    for (int64_t r = 0; r < c->rows; r++) {
        double *x = far_mat_row(&c->x, r), *u = far_mat_row(&c->u, r), *kept = c->best_rows + r * d;
        double f = ((double *)far_mat_row(&c->f, r))[j];
        bool better = fabs(f) > c->best[r];
        if (better) {
            memcpy(kept, x, (size_t)d * sizeof *x);
            c->best[r] = fabs(f);
        } else {
            memcpy(x, kept, (size_t)d * sizeof *x);
        }
        c->pace[r] *= better ? 1.3 : 0.4;
        memset(u, 0, (size_t)c->u.cols * sizeof *u);
        u[j] = f < 0 ? -1 : 1;
    }
}

static void move_rows(climb *c)
{
    int64_t d = c->x.cols;
    for (int64_t r = 0; r < c->rows; r++) {
        double *x = far_mat_row(&c->x, r), *slope = far_mat_row(&c->slope, r);
        double length = far_length(slope, d), size = far_length(x, d);
        double step = c->pace[r] * (size > 0 ? size : 1) / (length > 0 ? length : 1);
        for (int64_t i = 0; i < d; i++) {
            x[i] += isfinite(step) ? step * slope[i] : 0;
        }
    }
}

static far_status climb_output(climb *c, int64_t j, uint64_t seed)
{
    far_status st = FAR_OK;
    int64_t steps = far_net_vocabulary(c->net) > 0 ? 1 : STEPS; /* tokens have no slope */
    start_rows(c, seed + (uint64_t)j * 0x9e3779b97f4a7c15u);
    for (int64_t k = 0; k < steps; k++) {
        FAR_TRY(far_net_eval(c->ctx, c->net, &c->x, &c->f));
        judge_rows(c, j);
        if (k + 1 < steps) {
            FAR_TRY(far_net_vjp(c->ctx, c->net, &c->x, &c->u, NULL, &c->slope));
            move_rows(c);
        }
    }
done:
    return st;
}

static int64_t best_row(const climb *c)
{
    int64_t best = 0;
    for (int64_t r = 1; r < c->rows; r++) {
        best = c->best[r] > c->best[best] ? r : best;
    }
    return best;
}

static far_status place_found(climb *c, int64_t j, double *raw, far_bound *b)
{
    const double *x = c->best_rows + best_row(c) * c->x.cols;
    far_net_value value;
    far_range range = {b->lowest, b->highest};
    for (int64_t i = 0; i < c->x.cols; i++) {
        raw[i] = x[i] * input_scale(c->net, i) + input_centre(c->net, i);
    }
    far_status st = far_shape_found(c->ctx, c->net, j, raw, range, &value);
    if (st == FAR_OK) {
        b->at = raw;
        b->sup_found = fabs(value.value);
        bool above = value.value > b->highest;
        st = value.possible
                 ? FAR_OK
                 : far_proof_consistent(c->ctx, above ? "an output" : "the negative of an output",
                                        above ? value.value : -value.value,
                                        above ? b->highest : -b->lowest);
    }
    return st;
}

far_status far_shape_certify(far_ctx *ctx, const far_net *net, const far_certify_opts *o,
                             far_certificate *c)
{
    far_status st;
    climb k = {.ctx = ctx, .net = net, .rows = o->starts > 0 ? o->starts : 1};
    FAR_TRY(far_shape_bounds(ctx, net, c));
    FAR_TRY(climb_open(&k));
    for (int64_t j = 0; j < c->info.outputs; j++) {
        if (c->bounds[j].verdict == FAR_BOUNDED) {
            FAR_TRY(climb_output(&k, j, o->seed));
            FAR_TRY(place_found(&k, j, c->vectors + j * c->input_count, &c->bounds[j]));
        }
    }
done:
    climb_free(&k);
    return st;
}

/* ---- the check ----------------------------------------------------------------------------- */

static far_status complete_output(far_ctx *ctx, const far_net *net, const json_t *o, int64_t j,
                                  far_certificate *own)
{
    far_status st;
    far_bound *b = &own->bounds[j];
    far_proof_range stated, proven = {b->tightest, b->lowest, b->highest, NAN};
    double *at = own->vectors + j * own->input_count, value = NAN;
    FAR_TRY(far_proof_stated_range(ctx, o, &stated));
    FAR_TRY(far_proof_stated_flag(ctx, o, "at_infinity", &b->at_infinity));
    if (b->at_infinity) {
        FAR_TRY(far_proof_malformed(ctx, "of images and sequences no limit at infinity is stated"));
    }
    if (!json_is_null(json_object_get(o, "at"))) {
        far_net_value found;
        far_range range = {stated.lowest, stated.highest};
        FAR_TRY(far_proof_vector(ctx, o, "at", own->input_count, false, at));
        FAR_TRY(far_shape_found(ctx, net, j, at, range, &found));
        value = found.value;
        FAR_TRY(far_proof_check_found(ctx, b->output, stated.found, value));
        b->at = at;
        b->sup_found = proven.found = stated.found;
    }
    FAR_TRY(far_proof_check_range(ctx, b->output, stated, value));
    FAR_TRY(far_proof_check_proven(ctx, b->output, stated, proven));
    b->tightest = stated.tightest;
done:
    return st;
}

far_status far_shape_complete(far_ctx *ctx, const far_net *net, const json_t *outputs,
                              far_certificate *own)
{
    far_status st = FAR_OK;
    for (int64_t j = 0; st == FAR_OK && j < own->info.outputs; j++) {
        if (own->bounds[j].verdict == FAR_BOUNDED) {
            st = complete_output(ctx, net, json_array_get(outputs, (size_t)j), j, own);
        }
    }
    return st;
}
