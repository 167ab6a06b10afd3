/* The certificate of a network of images or sequences: bounds by walking it, large values by
 * search, and the check of both. */
#include "shape_certify.h"
#include "shape_walk.h"

#include <string.h>

#define FAR_AWAY 1e6    /* sizes of the data, where a slope is confirmed */
#define MOST_WORK 2e10  /* multiplications that follow the outputs back */
#define FIRM_SLOPE 1e-7 /* relative width of what is proven of a slope that is stated */

static const char *const BOUNDED =
    "every path from the inputs to this output passes a norm, a bounded activation or a table of "
    "tokens: behind a norm each position lies in a ball, whatever goes in; attention is a convex "
    "combination of its values; and the other layers take bounded sets to bounded sets";
static const char *const IN_BOX =
    "for inputs in the box alone: every layer is enclosed, over all that the layers in front of it "
    "can give there";
static const char *const AWAY =
    "f(t direction) / t^order tends to slope, which is proven not to be 0, as t grows: slope is "
    "what the network takes at direction without biases and positions, with relu in place of gelu "
    "and its like, attention to the largest score alone, and without what is bounded or grows more "
    "slowly";
static const char *const OPEN =
    "a path from the inputs to this output passes no layer norm, no rms norm and no bounded "
    "activation; no direction was proven along which the output runs away";
static const char *const TOO_LARGE = "bounded in the box, but its bound is beyond the range of "
                                     "float64";

/* ---- units --------------------------------------------------------------------------------- */

static double input_centre(const far_net *net, int64_t i)
{
    return net->columns->scaling[i];
}

static double input_scale(const far_net *net, int64_t i)
{
    return net->columns->scaling[net->info.inputs + i];
}

/* Raw inputs between two numbers, in the network's units. */
static far_range own_range(const far_net *net, int64_t i, far_range raw)
{
    double centre = input_centre(net, i), scale = input_scale(net, i);
    if (centre == 0 && scale == 1) {
        return raw;
    }
    return (far_range){far_down((raw.low - centre) / scale), far_up((raw.high - centre) / scale)};
}

static far_range raw_range(const far_net *net, int64_t j, far_range r)
{
    double centre = far_output_centre(net->columns)[j], scale = far_output_scale(net->columns)[j];
    double slack = 4 * FAR_UNIT * (fabs(centre) + scale * far_range_size(r)) + FAR_SPECK;
    return (far_range){centre + scale * r.low - slack, centre + scale * r.high + slack};
}

static bool has_box(const far_certificate *c)
{
    return !isnan(c->info.box_low);
}

/* ---- bounds -------------------------------------------------------------------------------- */

static void narrow_bound(int by, const char *method, far_range r, far_bound *b)
{
    b->proofs[by] = (far_proof){method, far_range_size(r)};
    b->lowest = fmax(b->lowest, r.low);
    b->highest = fmin(b->highest, r.high);
    double most = fmax(fabs(b->lowest), fabs(b->highest));
    if (most < b->tightest) {
        b->tightest = most;
        b->method = method;
    }
}

/* first: by boxes; then: by forms followed back. */
static void set_bound(far_range first, far_range then, bool box, far_bound *b)
{
    bool bounded = isfinite(then.low) && isfinite(then.high);
    b->verdict = bounded ? FAR_BOUNDED : FAR_UNDECIDED;
    b->theorem = bounded ? (box ? IN_BOX : BOUNDED) : box ? TOO_LARGE : OPEN;
    if (bounded) {
        narrow_bound(FAR_BY_BALL, box ? "intervals" : "norm ball", first, b);
        narrow_bound(FAR_BY_RELAXATION, "relaxation", then, b);
    }
}

static void note_norms(const far_net *net, far_certificate *c)
{
    for (int64_t i = 0; i < net->step_count; i++) {
        c->info.norms |= net->steps[i].kind == FAR_STEP_NORM;
        c->info.batch |= net->steps[i].kind == FAR_STEP_BATCHNORM;
    }
}

static far_status check_box(far_ctx *ctx, const far_net *net, const far_certificate *c)
{
    const char *what = !has_box(c)                   ? NULL
                       : far_net_vocabulary(net) > 0 ? "tokens have no box; leave it out"
                       : far_columns_categories(net->columns) > 0 ? "categories have no box"
                                                                  : NULL;
    return what ? far_fail(ctx, FAR_ERR_ARG, "%s", what) : FAR_OK;
}

far_status far_shape_bounds(far_ctx *ctx, const far_net *net, far_certificate *c)
{
    far_status st;
    int64_t last = net->step_count - 1, p = net->info.outputs;
    far_range *in = NULL, *first = NULL;
    far_walk_boxes w = {.ctx = ctx, .net = net};
    FAR_TRY(check_box(ctx, net, c));
    FAR_TRY(far_alloc(ctx, net->info.inputs, &in));
    FAR_TRY(far_alloc(ctx, p, &first));
    for (int64_t i = 0; i < net->info.inputs; i++) {
        in[i] = has_box(c) ? own_range(net, i, (far_range){c->info.box_low, c->info.box_high})
                           : (far_range){-INFINITY, INFINITY};
    }
    w.inputs = in;
    FAR_TRY(far_walk_open(&w, true));
    memcpy(first, w.boxes[last], (size_t)p * sizeof *first);
    if (far_walk_work(net, last) * (double)p < MOST_WORK) {
        FAR_TRY(far_walk_narrow(&w, last, -1));
    }
    for (int64_t j = 0; j < p; j++) {
        set_bound(raw_range(net, j, first[j]), raw_range(net, j, w.boxes[last][j]), has_box(c),
                  &c->bounds[j]);
    }
    note_norms(net, c);
    c->info.verdict = far_certificate_worst(c);
done:
    far_walk_close(&w);
    far_free(ctx, in);
    far_free(ctx, first);
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
    far_walk_boxes w = {.ctx = ctx, .net = net};
    FAR_TRY(far_alloc(ctx, net->info.inputs, &in));
    for (int64_t i = 0; i < net->info.inputs; i++) {
        in[i] = own_range(net, i, (far_range){raw[i], raw[i]});
    }
    w.inputs = in;
    FAR_TRY(far_walk_open(&w, false));
    for (int64_t j = 0; j < net->info.outputs; j++) {
        out[j] = raw_range(net, j, w.boxes[net->step_count - 1][j]);
    }
done:
    far_walk_close(&w);
    far_free(ctx, in);
    return st;
}

static double nearest(far_range r, double x)
{
    return fmin(fmax(x, r.low), r.high);
}

/* All outputs at raw points, and what encloses them. Outputs that were found at one point (tokens
 * are drawn once for all) share it: a network of text has thousands. */
enum { SEEN = 32 };
typedef struct seen {
    far_ctx *ctx;
    const far_net *net;
    int64_t count; /* SEEN at most stay */
    double *raw, *f;
    far_range *own;
} seen;

static void seen_free(seen *s)
{
    FAR_FREE_ALL(s->ctx, s->raw, s->f, s->own);
}

static far_status see(seen *s, const double *raw, int64_t slot)
{
    far_status st = FAR_OK;
    int64_t d = s->net->info.inputs, p = s->net->info.outputs;
    if (!s->raw) {
        FAR_TRY(far_alloc(s->ctx, SEEN * d, &s->raw));
        FAR_TRY(far_alloc(s->ctx, SEEN * p, &s->f));
        FAR_TRY(far_alloc(s->ctx, SEEN * p, &s->own));
    }
    far_mat x = far_mat_view((void *)raw, 1, d, FAR_F64);
    far_mat values = far_mat_view(s->f + slot * p, 1, p, FAR_F64);
    FAR_TRY(far_net_eval_raw(s->ctx, s->net, &x, &values));
    FAR_TRY(enclose(s->ctx, s->net, raw, s->own + slot * p));
    memcpy(s->raw + slot * d, raw, (size_t)d * sizeof *raw);
    s->count++;
done:
    return st;
}

static far_status seen_at(seen *s, const double *raw, int64_t *slot)
{
    int64_t d = s->net->info.inputs, here = s->count < SEEN ? s->count : SEEN;
    for (*slot = 0; *slot < here; (*slot)++) {
        if (memcmp(s->raw + *slot * d, raw, (size_t)d * sizeof *raw) == 0) {
            return FAR_OK;
        }
    }
    *slot = s->count % SEEN;
    return see(s, raw, *slot);
}

static far_status found_at(seen *s, int64_t j, const double *raw, far_range range,
                           far_net_value *out)
{
    far_ctx *ctx = s->ctx;
    int64_t slot;
    far_status st = FAR_OK;
    FAR_TRY(seen_at(s, raw, &slot));
    const double *f = s->f + slot * s->net->info.outputs;
    const far_range *own = s->own + slot * s->net->info.outputs;
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
    return st;
}

far_status far_shape_found(far_ctx *ctx, const far_net *net, int64_t j, const double *raw,
                           far_range range, far_net_value *out)
{
    seen s = {.ctx = ctx, .net = net};
    far_status st = found_at(&s, j, raw, range, out);
    seen_free(&s);
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
    far_range *box;    /* of each input; NULL: there is none */
    seen seen;
    bool drawn; /* tokens: x and f are there, for all outputs */
    bool rays;  /* far out, where |f| is the slope of a direction */
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
    seen_free(&c->seen);
    FAR_FREE_ALL(c->ctx, c->x.data, c->f.data, c->u.data, c->slope.data, c->pace, c->best,
                 c->best_rows, c->box);
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

#define RAY 1e6 /* how far out */

static void cast_row(const climb *c, double *x)
{
    double length = far_length(x, c->x.cols);
    for (int64_t i = 0; i < c->x.cols; i++) {
        x[i] = c->box    ? fmin(fmax(x[i], c->box[i].low), c->box[i].high)
               : c->rays ? x[i] * (RAY / (length > 0 ? length : 1))
                         : x[i];
    }
}

/* From a hundredth to ten thousand; anywhere in a box, and in its corners; tokens: any. */
static double first_value(const climb *c, int64_t at, uint64_t seed)
{
    static const double SIZES[] = {1, 0.1, 10, 100, 1e4, 0.01};
    int64_t row = at / c->x.cols, vocabulary = far_net_vocabulary(c->net);
    double part = far_random_uniform(seed, (uint64_t)at);
    if (vocabulary > 0) {
        return floor(part * (double)vocabulary);
    }
    if (c->box) {
        far_range r = c->box[at % c->x.cols];
        return r.low + (r.high - r.low) * (row % 2 ? part : part < 0.5 ? 0 : 1);
    }
    return SIZES[row % (int64_t)(sizeof SIZES / sizeof SIZES[0])] *
           far_random_normal(seed, (uint64_t)at);
}

static void start_rows(climb *c, uint64_t seed)
{
    double *x = c->x.data;
    for (int64_t i = 0; i < c->rows * c->x.cols; i++) {
        x[i] = first_value(c, i, seed);
    }
    for (int64_t r = 0; r < c->rows; r++) {
        c->pace[r] = 0.3;
        c->best[r] = -1;
        cast_row(c, far_mat_row(&c->x, r));
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
            double own = c->box ? c->pace[r] * (c->box[i].high - c->box[i].low) : 0;
            double move = c->box ? copysign(slope[i] == 0 ? 0 : own, slope[i]) : step * slope[i];
            x[i] += isfinite(move) ? move : 0;
        }
        cast_row(c, x);
    }
}

/* Tokens have no slope: the best of what was drawn. */
static far_status draw_output(climb *c, int64_t j, uint64_t seed)
{
    far_status st = FAR_OK;
    if (!c->drawn) {
        start_rows(c, seed);
        FAR_TRY(far_net_eval(c->ctx, c->net, &c->x, &c->f));
        memcpy(c->best_rows, c->x.data, (size_t)(c->rows * c->x.cols) * sizeof *c->best_rows);
        c->drawn = true;
    }
    for (int64_t r = 0; r < c->rows; r++) {
        c->best[r] = fabs(((double *)far_mat_row(&c->f, r))[j]);
    }
done:
    return st;
}

static far_status climb_output(climb *c, int64_t j, uint64_t seed)
{
    far_status st = FAR_OK;
    if (far_net_vocabulary(c->net) > 0) {
        return draw_output(c, j, seed);
    }
    start_rows(c, seed + (uint64_t)j * 0x9e3779b97f4a7c15u);
    for (int64_t k = 0; k < STEPS; k++) {
        FAR_TRY(far_net_eval(c->ctx, c->net, &c->x, &c->f));
        judge_rows(c, j);
        if (k + 1 < STEPS) {
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

/* In raw units, and where rounding leads out of the box, back into it. */
static void raw_row(const climb *c, const far_certificate *k, double *raw)
{
    const double *x = c->best_rows + best_row(c) * c->x.cols;
    for (int64_t i = 0; i < c->x.cols; i++) {
        raw[i] = x[i] * input_scale(c->net, i) + (c->rays ? 0 : input_centre(c->net, i));
        raw[i] = has_box(k) ? fmin(fmax(raw[i], k->info.box_low), k->info.box_high) : raw[i];
    }
}

static far_status place_found(climb *c, int64_t j, double *raw, far_bound *b)
{
    far_net_value value;
    far_range range = {b->lowest, b->highest};
    far_status st = found_at(&c->seen, j, raw, range, &value);
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

static far_status search_output(climb *c, int64_t j, uint64_t seed, far_certificate *k)
{
    far_status st;
    double *raw = k->vectors + j * k->input_count;
    FAR_TRY(climb_output(c, j, seed));
    raw_row(c, k, raw);
    FAR_TRY(place_found(c, j, raw, &k->bounds[j]));
done:
    return st;
}

/* ---- running away -------------------------------------------------------------------------- */

/* Between which numbers f_j(t direction) / t^order ends, in raw units. */
static far_status enclose_slope(far_ctx *ctx, const far_net *net, int64_t j,
                                const double *direction, bool tight, double *order, far_range *out)
{
    far_status st;
    int64_t last = net->step_count - 1;
    far_range *in = NULL;
    far_walk_boxes w = {.ctx = ctx, .net = net, .start = 1};
    FAR_TRY(far_alloc(ctx, net->info.inputs, &in));
    for (int64_t i = 0; i < net->info.inputs; i++) {
        double u = direction[i] / input_scale(net, i);
        in[i] = input_scale(net, i) == 1 || u == 0 ? (far_range){u, u}
                                                   : (far_range){far_down(u), far_up(u)};
        in[i] = direction[i] != 0 && u == 0 ? (far_range){-FAR_SPECK, FAR_SPECK} : in[i];
    }
    w.inputs = in;
    FAR_TRY(far_walk_open(&w, tight));
    FAR_TRY(far_walk_narrow(&w, last, j));
    double scale = far_output_scale(net->columns)[j];
    far_range r = w.boxes[last][j];
    *order = w.degree[last];
    *out = (far_range){far_down(scale * r.low), far_up(scale * r.high)};
done:
    far_walk_close(&w);
    far_free(ctx, in);
    return st;
}

/* t at which t direction is as far out as a typical training point, or as the data's middle. */
static double data_extent(const far_net *net, const double *direction)
{
    double square = 0, dot = 0;
    for (int64_t i = 0; i < net->info.inputs; i++) {
        double z = direction[i] / input_scale(net, i);
        dot += z * (input_centre(net, i) / input_scale(net, i));
        square += z * z;
    }
    return fmax(sqrt((double)net->info.inputs / square), fabs(dot) / square);
}

#define AGREES 0.01 /* of f over its leading term with 1 */
enum { FURTHER = 4 };

/* f itself, far out. */
static far_status confirm(far_ctx *ctx, const far_net *net, int64_t j, far_bound *b)
{
    far_status st;
    int64_t d = net->info.inputs, p = net->info.outputs;
    double *x = NULL, *f = NULL;
    FAR_TRY(far_alloc(ctx, d, &x));
    FAR_TRY(far_alloc(ctx, p, &f));
    far_mat in = far_mat_view(x, 1, d, FAR_F64), out = far_mat_view(f, 1, p, FAR_F64);
    double rest = fabs(far_output_centre(net->columns)[j]) + far_output_scale(net->columns)[j];
    double t = fmax(FAR_AWAY * data_extent(net, b->direction),
                    pow(FAR_AWAY * rest / fabs(b->slope), 1 / b->order));
    for (int k = 0; k < FURTHER && !(fabs(b->confirmed - 1) < AGREES) && isfinite(t); k++) {
        for (int64_t i = 0; i < d; i++) {
            x[i] = t * b->direction[i];
        }
        FAR_TRY(far_net_eval_raw(ctx, net, &in, &out));
        b->confirmed = f[j] / (b->slope * pow(t, b->order));
        t *= FAR_AWAY; /* scores that differ little are told apart late */
    }
done:
    far_free(ctx, x);
    far_free(ctx, f);
    return st;
}

static bool is_firm(far_range r)
{
    return (r.low > 0 || r.high < 0) &&
           r.high - r.low <= FIRM_SLOPE * fmin(fabs(r.low), fabs(r.high));
}

/* Makes the verdict unbounded if it runs away along the direction, which b keeps. */
static far_status witness(far_ctx *ctx, const far_net *net, int64_t j, const double *direction,
                          double level, far_bound *b)
{
    far_status st;
    far_range r;
    double order;
    FAR_TRY(enclose_slope(ctx, net, j, direction, false, &order, &r));
    if (order > 0 && !is_firm(r)) {
        FAR_TRY(enclose_slope(ctx, net, j, direction, true, &order, &r));
    }
    if (!(order > 0) || !is_firm(r)) {
        return FAR_OK;
    }
    b->direction = direction;
    b->level = level;
    b->slope = r.low + (r.high - r.low) / 2;
    b->order = order;
    FAR_TRY(confirm(ctx, net, j, b));
    if (fabs(b->confirmed - 1) < AGREES) {
        b->verdict = FAR_UNBOUNDED;
        b->theorem = AWAY;
    }
done:
    return st;
}

static far_status look_for_slope(climb *c, int64_t j, const far_certify_opts *o, far_certificate *k)
{
    far_status st;
    double *direction = k->vectors + j * k->input_count;
    FAR_TRY(climb_output(c, j, o->seed));
    raw_row(c, k, direction);
    double length = far_length(direction, k->input_count);
    for (int64_t i = 0; i < k->input_count; i++) {
        direction[i] /= length;
    }
    FAR_TRY(witness(c->ctx, c->net, j, direction, o->exceeds, &k->bounds[j]));
done:
    return st;
}

/* The box as the search keeps to it. */
static far_status open_box(climb *c, const far_certificate *k)
{
    far_status st = FAR_OK;
    if (has_box(k)) {
        st = far_alloc(c->ctx, k->input_count, &c->box);
        for (int64_t i = 0; st == FAR_OK && i < k->input_count; i++) {
            c->box[i] = own_range(c->net, i, (far_range){k->info.box_low, k->info.box_high});
        }
    }
    return st;
}

far_status far_shape_certify(far_ctx *ctx, const far_net *net, const far_certify_opts *o,
                             far_certificate *c)
{
    far_status st;
    climb k = {.ctx = ctx,
               .net = net,
               .rows = o->starts > 0 ? o->starts : 1,
               .seen = {.ctx = ctx, .net = net}};
    c->info.box_low = o->box_low;
    c->info.box_high = o->box_high;
    FAR_TRY(far_shape_bounds(ctx, net, c));
    FAR_TRY(climb_open(&k));
    FAR_TRY(open_box(&k, c));
    for (int64_t j = 0; j < c->info.outputs; j++) {
        k.rays = c->bounds[j].verdict != FAR_BOUNDED;
        if (!k.rays) {
            FAR_TRY(search_output(&k, j, o->seed, c));
        } else if (!has_box(c)) {
            FAR_TRY(look_for_slope(&k, j, o, c));
        }
    }
    c->info.verdict = far_certificate_worst(c);
done:
    climb_free(&k);
    return st;
}

/* ---- the check ----------------------------------------------------------------------------- */

static far_status stated_point(far_ctx *ctx, const json_t *o, const far_certificate *own,
                               double *at)
{
    far_status st = far_proof_vector(ctx, o, "at", own->input_count, false, at);
    for (int64_t i = 0; st == FAR_OK && has_box(own) && i < own->input_count; i++) {
        if (!(at[i] >= own->info.box_low && at[i] <= own->info.box_high)) {
            st = far_proof_malformed(ctx, "a point lies outside the box");
        }
    }
    return st;
}

/* The relaxation may be missing, as in the first certificates of such networks; the method is ours,
 * or another that proves as much. */
static far_status take_proofs(far_ctx *ctx, const json_t *o, far_proof_range stated, far_bound *b)
{
    far_status st = FAR_OK;
    for (int i = 0; i < FAR_PROOFS; i++) {
        far_proof *p = &b->proofs[i];
        double said = INFINITY;
        if (!p->method) {
            continue;
        }
        FAR_TRY(far_proof_stated_bound(ctx, o, p->method, &said));
        if (p->bound <= stated.tightest && far_proof_says(o, "method", p->method)) {
            b->method = p->method;
        }
        p->method = i != FAR_BY_RELAXATION || isfinite(said) ? p->method : NULL;
    }
done:
    return st;
}

static far_status complete_output(far_ctx *ctx, seen *s, const json_t *o, int64_t j,
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
        FAR_TRY(stated_point(ctx, o, own, at));
        FAR_TRY(found_at(s, j, at, range, &found));
        value = found.value;
        FAR_TRY(far_proof_check_found(ctx, b->output, stated.found, value));
        b->at = at;
        b->sup_found = proven.found = stated.found;
    }
    FAR_TRY(far_proof_check_range(ctx, b->output, stated, value));
    FAR_TRY(far_proof_check_proven(ctx, b->output, stated, proven));
    FAR_TRY(take_proofs(ctx, o, stated, b));
    b->tightest = stated.tightest;
done:
    return st;
}

static far_status complete_away(far_ctx *ctx, const far_net *net, const json_t *o, int64_t j,
                                far_certificate *own)
{
    far_status st;
    double *direction = own->vectors + j * own->input_count, level;
    const json_t *w = json_object_get(o, "witness");
    FAR_TRY(far_proof_vector(ctx, w, "direction", own->input_count, true, direction));
    FAR_TRY(far_proof_stated(ctx, w, "level", &level));
    if (level < 0 || isinf(level)) {
        FAR_TRY(far_proof_malformed(ctx, "a level is finite and 0 or more"));
    }
    FAR_TRY(witness(ctx, net, j, direction, level, &own->bounds[j]));
done:
    return st;
}

far_status far_shape_complete(far_ctx *ctx, const far_net *net, const json_t *outputs,
                              far_certificate *own)
{
    far_status st = FAR_OK;
    seen s = {.ctx = ctx, .net = net};
    for (int64_t j = 0; st == FAR_OK && j < own->info.outputs; j++) {
        const json_t *o = json_array_get(outputs, (size_t)j);
        bool away = !has_box(own) && far_proof_says(o, "verdict", "unbounded");
        if (own->bounds[j].verdict == FAR_BOUNDED) {
            st = complete_output(ctx, &s, o, j, own);
        } else if (away && far_net_vocabulary(net) == 0) {
            st = complete_away(ctx, net, o, j, own);
        }
    }
    seen_free(&s);
    return st;
}

far_status far_shape_stated_box(far_ctx *ctx, const char *json, far_certify_opts *out)
{
    far_status st;
    json_t *o = NULL;
    double box[2];
    out->box_low = out->box_high = NAN;
    FAR_TRY(far_proof_parse(ctx, json, &o));
    if (json_object_get(o, "box")) {
        FAR_TRY(far_proof_vector(ctx, o, "box", 2, false, box));
        if (!(isfinite(box[0]) && isfinite(box[1]) && box[0] <= box[1])) {
            FAR_TRY(far_proof_malformed(ctx, "a box has two finite ends, the lower one first"));
        }
        out->box_low = box[0];
        out->box_high = box[1];
    }
done:
    json_decref(o);
    return st;
}
