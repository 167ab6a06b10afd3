/* A line: one slope an input, in standardised units. */
#include "../regress/baseline_internal.h"
#include "predictor_internal.h"

#include <farfield/score.h>
#include <math.h>
#include <string.h>

#define LEAST_LENGTH 1e-290 /* of slopes; below it what underflows would count */

typedef struct line {
    far_ctx *ctx;
    far_columns *columns;
    double *slopes;     /* outputs x inputs, standardised */
    double *intercepts; /* outputs, standardised */
    double *link; /* classes: far_class_probability's; NULL: means, and older files, have none */
    double ridge;
    int64_t rows;            /* fitted to; -1: unknown */
    double loo_r2, loo_rmse; /* NAN: unknown */
} line;

static void destroy(void *self)
{
    line *l = self;
    far_columns_destroy(l->columns);
    FAR_FREE_ALL(l->ctx, l->slopes, l->intercepts, l->link, l);
}

static far_status line_new(far_ctx *ctx, line **out)
{
    far_status st = far_alloc(ctx, 1, out);
    if (st == FAR_OK) {
        **out = (line){.ctx = ctx, .ridge = NAN, .rows = -1, .loo_r2 = NAN, .loo_rmse = NAN};
    }
    return st;
}

static const far_columns *columns(const void *self)
{
    return ((const line *)self)->columns;
}

static void describe(const void *self, far_predictor_info *out)
{
    out->ridge = ((const line *)self)->ridge;
    out->rows = ((const line *)self)->rows;
    out->loo_r2 = ((const line *)self)->loo_r2;
    out->loo_rmse = ((const line *)self)->loo_rmse;
}

/* ---- fitting ------------------------------------------------------------------------------- */

/* left: rows, what it misses of each without that row. */
static far_status fit_output(far_ctx *ctx, const far_examples *e, int64_t k, double *ridge, line *l,
                             double *left)
{
    far_mat x = e->inputs, y = e->targets;
    y.data = (double *)y.data + k;
    y.cols = 1;
    return far_linear_solve(ctx, &x, &y, l->slopes + k * x.cols, &l->intercepts[k], ridge, left);
}

/* The mean of the targets: nothing of the inputs. */
static void fit_mean(const far_examples *e, line *l)
{
    int64_t p = e->columns->info.outputs;
    memset(l->slopes, 0, (size_t)(p * e->columns->info.inputs) * sizeof *l->slopes);
    for (int64_t k = 0; k < p; k++) {
        long double sum = 0;
        for (int64_t i = 0; i < e->inputs.rows; i++) {
            sum += ((const double *)e->targets.data)[i * p + k];
        }
        l->intercepts[k] = (double)(sum / (long double)e->inputs.rows);
    }
}

/* Targets as they are in the table. */
static void raw_targets(const far_examples *e, double *out)
{
    int64_t p = e->columns->info.outputs;
    const double *centre = far_output_centre(e->columns), *scale = far_output_scale(e->columns);
    for (int64_t i = 0; i < e->inputs.rows * p; i++) {
        out[i] = centre[i % p] + scale[i % p] * ((const double *)e->targets.data)[i];
    }
}

/* From the targets to what rows were given without themselves. left: outputs x rows. */
static void leave_out(const far_examples *e, const double *left, double *out)
{
    int64_t p = e->columns->info.outputs, n = e->inputs.rows;
    const double *scale = far_output_scale(e->columns);
    for (int64_t i = 0; i < n * p; i++) {
        out[i] -= scale[i % p] * left[i % p * n + i / p];
    }
}

/* How scores become probabilities, by what rows were given without themselves. */
static far_status learn_link(far_ctx *ctx, const far_examples *e, const double *left, line *l)
{
    far_status st;
    int64_t p = e->columns->info.outputs, n = e->inputs.rows, *labels = NULL;
    double *scores = NULL;
    FAR_TRY(far_alloc(ctx, n, &labels));
    FAR_TRY(far_alloc(ctx, n * p, &scores));
    FAR_TRY(far_alloc(ctx, p + 1, &l->link));
    raw_targets(e, scores);
    far_class_labels(scores, n, p, labels);
    leave_out(e, left, scores);
    far_mat view = far_mat_view(scores, n, p, FAR_F64);
    FAR_TRY(far_class_calibrate(ctx, &view, labels, l->link));
done:
    far_free(ctx, labels);
    far_free(ctx, scores);
    return st;
}

static far_status score_left_out(far_ctx *ctx, const far_examples *e, const double *left, line *l)
{
    far_status st;
    int64_t p = e->columns->info.outputs, n = e->inputs.rows;
    double *y = NULL, *f = NULL;
    far_regression_score score;
    FAR_TRY(far_alloc(ctx, n * p, &y));
    FAR_TRY(far_alloc(ctx, n * p, &f));
    raw_targets(e, y);
    memcpy(f, y, (size_t)(n * p) * sizeof *f);
    leave_out(e, left, f);
    far_mat truth = far_mat_view(y, n, p, FAR_F64), mean = far_mat_view(f, n, p, FAR_F64);
    FAR_TRY(far_regression_scores(ctx, &mean, NULL, &truth, &score));
    l->loo_r2 = score.r2;
    l->loo_rmse = score.rmse;
done:
    far_free(ctx, y);
    far_free(ctx, f);
    return st;
}

static far_status fit(far_ctx *ctx, const far_frame *frame, const far_columns_opts *opts,
                      double ridge, line *l)
{
    far_status st;
    far_examples *e = NULL;
    double *left = NULL;
    FAR_TRY(far_examples_learn(ctx, frame, opts, &e));
    int64_t p = e->columns->info.outputs, d = e->columns->info.inputs;
    FAR_TRY(far_alloc(ctx, p * d, &l->slopes));
    FAR_TRY(far_alloc(ctx, p, &l->intercepts));
    bool classes = e->columns->info.classes > 0 && e->columns->info.loss == FAR_LOSS_NONE;
    bool leaves = !isinf(ridge); /* means are frequencies already */
    FAR_TRY(leaves ? far_alloc(ctx, p * e->inputs.rows, &left) : FAR_OK);
    l->ridge = ridge;
    if (isinf(ridge)) {
        fit_mean(e, l);
    }
    for (int64_t k = 0; leaves && k < p; k++) {
        double chosen = ridge;
        FAR_TRY(fit_output(ctx, e, k, &chosen, l, left + k * e->inputs.rows));
        l->ridge = k == 0 ? chosen : fmax(l->ridge, chosen);
    }
    if (leaves && e->columns->info.classes == 0) {
        FAR_TRY(score_left_out(ctx, e, left, l));
    } else if (leaves && classes) {
        FAR_TRY(learn_link(ctx, e, left, l));
    }
    l->rows = e->inputs.rows;
    l->columns = e->columns;
    e->columns = NULL;
done:
    far_examples_destroy(e);
    far_free(ctx, left);
    return st;
}

far_status far_predictor_fit_linear(far_ctx *ctx, const far_frame *frame,
                                    const far_columns_opts *opts, double ridge, far_predictor **out)
{
    far_status st;
    line *l = NULL;
    if (!out || !opts || !opts->target || !(isnan(ridge) || isinf(ridge))) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "out is NULL, no target was named, or the ridge is neither NAN nor "
                        "INFINITY");
    }
    *out = NULL;
    FAR_TRY(line_new(ctx, &l));
    FAR_TRY(fit(ctx, frame, opts, ridge, l));
done:
    return far_predictor_own(ctx, &far_linear_ops, st, l, out);
}

/* ---- values -------------------------------------------------------------------------------- */

static far_status eval(far_ctx *ctx, const void *self, const far_mat *z, far_mat *out)
{
    const line *l = self;
    const double *centre = far_output_centre(l->columns), *scale = far_output_scale(l->columns);
    for (int64_t i = 0; i < z->rows; i++) {
        for (int64_t k = 0; k < out->cols; k++) {
            const double *row = far_mat_row(z, i);
            double f = l->intercepts[k] + far_dot(l->slopes + k * z->cols, row, z->cols);
            f = centre[k] + scale[k] * f;
            if (!isfinite(f)) {
                return far_fail(ctx, FAR_ERR_RANGE,
                                "row %lld: the prediction is too large for a double; this line "
                                "runs away there",
                                (long long)i + 1);
            }
            ((double *)far_mat_row(out, i))[k] = f;
        }
    }
    return FAR_OK;
}

static far_status limit(far_ctx *ctx, const void *self, const far_mat *u, far_mat *value,
                        far_mat *order)
{
    const line *l = self;
    const double *centre = far_output_centre(l->columns), *scale = far_output_scale(l->columns);
    for (int64_t i = 0; i < u->rows; i++) {
        double *v = far_mat_row(value, i), *o = far_mat_row(order, i);
        for (int64_t k = 0; k < value->cols; k++) {
            double slope = scale[k] * far_dot(l->slopes + k * u->cols, far_mat_row(u, i), u->cols);
            if (!isfinite(slope)) {
                return far_fail(ctx, FAR_ERR_RANGE,
                                "row %lld: the slope along it is too large for a double; take a "
                                "shorter direction",
                                (long long)i + 1);
            }
            o[k] = slope != 0;
            v[k] = slope != 0 ? slope : centre[k] + scale[k] * l->intercepts[k];
        }
    }
    return FAR_OK;
}

static far_status gradient(far_ctx *ctx, const void *self, const far_mat *z, far_mat *out)
{
    const line *l = self;
    const double *scale = far_output_scale(l->columns);
    (void)ctx;
    for (int64_t i = 0; i < out->rows; i++) {
        for (int64_t k = 0; k < out->cols; k++) {
            ((double *)far_mat_row(out, i))[k] = scale[k / z->cols] * l->slopes[k];
        }
    }
    return FAR_OK;
}

static far_status predict(far_ctx *ctx, const void *self, const far_frame *frame,
                          const far_predict_opts *o, far_prediction **out)
{
    const line *l = self;
    far_predictor whole = {.ctx = ctx, .ops = &far_linear_ops, .self = (void *)self};
    return far_predict_plain(ctx, &whole, frame, o, l->link, far_class_floor(l->rows), out);
}

/* ---- the certificate ----------------------------------------------------------------------- */

/* The slopes of output k in raw units; returns their length. */
static double raw_slopes(const line *l, int64_t k, double *out)
{
    long double square = 0;
    int64_t d = l->columns->info.inputs;
    for (int64_t i = 0; i < d; i++) {
        out[i] =
            far_output_scale(l->columns)[k] * l->slopes[k * d + i] / far_input_scale(l->columns)[i];
        square += (long double)out[i] * out[i];
    }
    return (double)sqrtl(square);
}

static bool is_flat(const line *l, int64_t k)
{
    int64_t d = l->columns->info.inputs, i = 0;
    while (i < d && l->slopes[k * d + i] == 0) {
        i++;
    }
    return i == d;
}

/* f(0) and what rounding may hide of it. */
static double value_at_zero(const line *l, int64_t k, double *doubt)
{
    int64_t d = l->columns->info.inputs;
    const double *centre = far_input_centre(l->columns), *scale = far_input_scale(l->columns);
    long double sum = l->intercepts[k], size = fabs(l->intercepts[k]);
    for (int64_t i = 0; i < d; i++) {
        long double part = (long double)l->slopes[k * d + i] * (centre[i] / scale[i]);
        sum -= part;
        size += fabsl(part);
    }
    double unit = far_output_scale(l->columns)[k], middle = far_output_centre(l->columns)[k];
    *doubt = (double)((size * unit + fabs(middle)) * 1e-14L);
    return (double)(middle + unit * sum);
}

/* at: any point, such as 0. */
static void bound_constant(double value, double doubt, const double *at, far_bound *b)
{
    b->verdict = FAR_BOUNDED;
    b->theorem = "every slope is 0: the prediction is the same everywhere";
    b->method = "constant";
    b->lowest = value - doubt;
    b->highest = value + doubt;
    b->tightest = fabs(value) + doubt;
    b->proofs[0] = (far_proof){"constant", b->tightest};
    b->sup_found = fabs(value);
    b->at = at;
}

/* The output along a direction of norm 1, which b keeps; length: of all its slopes. */
static void bound_line(const line *l, int64_t k, double length, double slope,
                       const double *direction, far_bound *b)
{
    double doubt, start = value_at_zero(l, k, &doubt), level = b->level;
    bool all = slope >= length * (1 - 1e-9);
    b->verdict = FAR_UNBOUNDED;
    b->theorem = all ? "f(x) = intercept + slope (direction . x), and slope is not 0"
                     : "f(t direction) = intercept + slope t, and slope is not 0";
    b->direction = direction;
    b->slope = slope;
    b->order = b->confirmed = 1;
    b->intercept = start;
    b->beyond = isnan(level) ? NAN : fmax(0, (level - start + doubt) / slope * (1 + 1e-12));
    b->beyond_proven = 1;
    b->growth = length * (1 + 1e-12);
    b->offset = fabs(start) + doubt;
}

/* Along any direction that is stated, if the slope there is more than rounding makes. */
static far_status witness_output(far_ctx *ctx, const void *self, int64_t k, const double *direction,
                                 far_bound *b)
{
    const line *l = self;
    int64_t d = l->columns->info.inputs;
    double *slopes = NULL;
    long double slope = 0, size = 0;
    far_status st = far_alloc(ctx, d, &slopes);
    if (st == FAR_OK) {
        double length = raw_slopes(l, k, slopes);
        for (int64_t i = 0; i < d; i++) {
            slope += (long double)slopes[i] * direction[i];
            size += fabsl((long double)slopes[i] * direction[i]);
        }
        b->verdict = FAR_UNDECIDED;
        b->direction = NULL;
        if (slope > 1e-12L * size) {
            bound_line(l, k, length, (double)slope, direction, b);
        }
    }
    far_free(ctx, slopes);
    return st;
}

/* The direction of the slopes of numbers, along which rows of a table can go; where those are 0,
 * that of all. In place; returns the slope along it. */
static double steepest(const line *l, double length, double *slopes)
{
    long double square = 0;
    int64_t d = l->columns->info.inputs;
    for (int64_t i = 0; i < d; i++) {
        bool still = far_columns_is_still(l->columns, i);
        square += still ? 0 : (long double)slopes[i] * slopes[i];
    }
    bool rows = sqrtl(square) >= LEAST_LENGTH;
    double slope = rows ? (double)sqrtl(square) : length;
    for (int64_t i = 0; i < d; i++) {
        slopes[i] = rows && far_columns_is_still(l->columns, i) ? 0 : slopes[i] / slope;
    }
    return slope;
}

static void hash_line(const line *l, char out[65])
{
    far_sha256 h;
    int64_t p = l->columns->info.outputs, d = l->columns->info.inputs;
    far_sha256_init(&h);
    far_sha256_add(&h, l->slopes, (size_t)(p * d) * sizeof *l->slopes);
    far_sha256_add(&h, l->intercepts, (size_t)p * sizeof *l->intercepts);
    far_sha256_add(&h, l->columns->scaling,
                   (size_t)far_scaling_count(l->columns) * sizeof *l->columns->scaling);
    far_sha256_finish(&h, out);
}

/* A line with a slope runs away, and the direction of its slopes proves it; without one it is a
 * constant, known up to the rounding of its sum. */
static far_status certify(far_ctx *ctx, const void *self, const far_certify_opts *opts,
                          far_certificate **out)
{
    const line *l = self;
    double start = far_seconds();
    far_status st = far_certificate_blank(ctx, "linear", NULL, l->columns, out);
    if (st != FAR_OK) {
        return st;
    }
    far_certificate *c = *out;
    c->rows = l->rows;
    c->info.ridge = l->ridge;
    hash_line(l, c->hash);
    for (int64_t k = 0; k < c->info.outputs; k++) {
        double *vector = c->vectors + k * c->input_count, length = raw_slopes(l, k, vector), doubt;
        if (is_flat(l, k)) {
            double value = value_at_zero(l, k, &doubt);
            bound_constant(value, doubt, vector, &c->bounds[k]);
        } else if (isfinite(length) && length >= LEAST_LENGTH) {
            c->bounds[k].level = opts->exceeds;
            bound_line(l, k, length, steepest(l, length, vector), vector, &c->bounds[k]);
        } else {
            return far_fail(ctx, FAR_ERR_VALUE, "%s: its slopes are too %s for a double",
                            c->outputs[k], length < LEAST_LENGTH ? "small" : "large");
        }
    }
    c->info.verdict = far_certificate_worst(c);
    c->info.seconds = far_seconds() - start;
    return FAR_OK;
}

static far_status check(far_ctx *ctx, const void *self, const char *json, double seconds)
{
    (void)seconds;
    return far_predictor_recheck(ctx, &far_linear_ops, self, witness_output, json, 0);
}

/* ---- files --------------------------------------------------------------------------------- */

static void put(far_json_out *w, json_t *manifest, const void *self)
{
    const line *l = self;
    int64_t p = l->columns->info.outputs, d = l->columns->info.inputs;
    far_json_put(w, manifest, "slopes", far_json_reals(w, l->slopes, p * d));
    far_json_put(w, manifest, "intercepts", far_json_reals(w, l->intercepts, p));
    if (l->link) {
        far_json_put(w, manifest, "link", far_json_reals(w, l->link, p + 1));
    }
    far_json_put(w, manifest, "rows", json_integer(l->rows));
    far_json_put(w, manifest, "ridge", isfinite(l->ridge) ? json_real(l->ridge) : json_null());
}

static far_status save(const void *self, far_output *out)
{
    far_parcel parcel = {.kind = "linear", .columns = columns(self), .put = put, .self = self};
    return far_parcel_write(&parcel, out);
}

far_status far_linear_read(const far_parcel_in *p, void **out)
{
    far_status st;
    line *l = NULL;
    FAR_TRY(line_new(p->in->ctx, &l));
    *out = l;
    FAR_TRY(far_parcel_columns(p, &l->columns));
    const far_columns_info *info = &l->columns->info;
    FAR_TRY(far_json_numbers(&p->whole, "slopes", info->outputs * info->inputs, false, &l->slopes));
    FAR_TRY(far_json_numbers(&p->whole, "intercepts", info->outputs, false, &l->intercepts));
    if (json_object_get(p->json, "link")) {
        FAR_TRY(far_json_numbers(&p->whole, "link", info->outputs + 1, false, &l->link));
        FAR_TRY(l->link[0] >= 0 && info->classes > 0 && info->loss == FAR_LOSS_NONE
                    ? FAR_OK
                    : far_json_fail(&p->whole, "\"link\" is not one of classes"));
    }
    FAR_TRY(far_json_count(&p->whole, "rows", &l->rows));
    FAR_TRY(far_json_number(&p->whole, "ridge", &l->ridge));
done:
    return st;
}

static void share(const void *self, const double *scores, double *out)
{
    const line *l = self;
    far_scores_share(l->link, far_class_floor(l->rows), scores, l->columns->info.outputs, out);
}

const far_predictor_ops far_linear_ops = FAR_PREDICTOR_OPS(
    FAR_PREDICTOR_LINEAR, "linear", .gradient = gradient, .predict = predict, .share = share);
