/* Predictions: the kernel between new points and the training points, times alpha. */
#include "../gram/gram.h"
#include "regress_internal.h"

#include <math.h>
#include <string.h>

enum { BLOCK_POINTS = 256 };

void far_predict_opts_init(far_predict_opts *opts)
{
    *opts = (far_predict_opts){.size = sizeof *opts, .time = INFINITY};
}

/* ---- f at points and at infinity ----------------------------------------------------------- */

/* alpha and its low digits side by side, n x 2p. */
static far_status both_alphas(far_ctx *ctx, const far_model *m, double **out)
{
    int64_t n = m->info.rows, p = m->info.outputs;
    far_status st = far_alloc(ctx, n * 2 * p, out);
    for (int64_t i = 0; st == FAR_OK && i < n; i++) {
        memcpy(*out + i * 2 * p, m->alpha + i * p, (size_t)p * sizeof **out);
        memcpy(*out + i * 2 * p + p, m->alpha_low + i * p, (size_t)p * sizeof **out);
    }
    return st;
}

static void add_halves(const double *product, int64_t rows, int64_t p, int64_t first, far_mat *out)
{
    for (int64_t i = 0; i < rows; i++) {
        double *row = far_mat_row(out, first + i);
        for (int64_t j = 0; j < p; j++) {
            row[j] = product[i * 2 * p + j] + product[i * 2 * p + p + j];
        }
    }
}

static far_status fail_infinite(far_ctx *ctx, int64_t row)
{
    return far_fail(ctx, FAR_ERR_RANGE,
                    "row %lld: the prediction is too large for a double; this network's output "
                    "runs away there",
                    (long long)row + 1);
}

static far_status check_finite(far_ctx *ctx, const far_mat *out)
{
    for (int64_t i = 0; i < out->rows; i++) {
        const double *row = far_mat_row(out, i);
        for (int64_t j = 0; j < out->cols; j++) {
            if (!isfinite(row[j])) {
                return fail_infinite(ctx, i);
            }
        }
    }
    return FAR_OK;
}

/* The message of the kernel, which counts the rows of a block, as one about the first row that
 * cannot be predicted. */
static far_status fail_range(far_ctx *ctx, const far_model *m, const far_mat *block, int64_t first,
                             far_mat *k)
{
    far_mat x = far_model_points(m);
    for (int64_t i = 0; i < block->rows; i++) {
        far_mat row = *block, values = *k;
        row.data = far_mat_row(block, i);
        row.rows = values.rows = 1;
        if (far_kernel_eval_kind(ctx, m->kernel, m->info.kernel, &row, &x, &values) != FAR_OK) {
            return far_fail(ctx, FAR_ERR_RANGE,
                            "row %lld: the prediction is too large for a double, or too far away "
                            "to be told; without a norm this network's output runs away there",
                            (long long)(first + i) + 1);
        }
    }
    return FAR_ERR_RANGE;
}

/* out = K(points, X) alpha, in standardised units, without holding the whole of K. */
static far_status kernel_times(far_ctx *ctx, const far_model *m, const far_mat *points,
                               far_mat *out)
{
    far_status st;
    int64_t n = m->info.rows, p = m->info.outputs;
    double *kernel = NULL, *alphas = NULL, *product = NULL;
    far_mat x = far_model_points(m);
    FAR_TRY(both_alphas(ctx, m, &alphas));
    FAR_TRY(far_alloc(ctx, BLOCK_POINTS * n, &kernel));
    FAR_TRY(far_alloc(ctx, BLOCK_POINTS * 2 * p, &product));
    far_mat weights = far_mat_view(alphas, n, 2 * p, FAR_F64);
    for (int64_t i = 0; i < points->rows; i += BLOCK_POINTS) {
        far_mat block = *points;
        block.data = far_mat_row(points, i);
        block.rows = points->rows - i < BLOCK_POINTS ? points->rows - i : BLOCK_POINTS;
        far_mat k = far_mat_view(kernel, block.rows, n, FAR_F64);
        far_mat both = far_mat_view(product, block.rows, 2 * p, FAR_F64);
        FAR_TRY(far_progress(ctx, "predict", i, points->rows));
        far_progress_hold(ctx);
        st = far_kernel_eval_kind(ctx, m->kernel, m->info.kernel, &block, &x, &k);
        far_progress_release(ctx);
        FAR_TRY(st == FAR_ERR_RANGE ? fail_range(ctx, m, &block, i, &k) : st);
        FAR_TRY(far_multiply(ctx, &k, &weights, &both));
        add_halves(product, block.rows, p, i, out);
    }
done:
    FAR_FREE_ALL(ctx, kernel, alphas, product);
    return st;
}

static void to_target_units(const far_model *m, const far_mat *order, far_mat *mean)
{
    const double *centre = far_output_centre(m->columns), *scale = far_output_scale(m->columns);
    for (int64_t i = 0; i < mean->rows; i++) {
        double *row = far_mat_row(mean, i);
        bool limit = !order || *(const double *)far_mat_row(order, i) == 0;
        for (int64_t j = 0; j < mean->cols; j++) {
            row[j] = scale[j] * row[j] + (limit ? centre[j] : 0);
        }
    }
}

static far_status check_points(far_ctx *ctx, const far_model *m, const far_mat *points,
                               const far_mat *mean)
{
    far_status st;
    if (!m) {
        return far_fail(ctx, FAR_ERR_ARG, "the model is NULL");
    }
    FAR_TRY(far_mat_check(ctx, points, "points"));
    FAR_TRY(far_mat_check(ctx, mean, "mean"));
    if (points->cols != m->info.inputs || mean->cols != m->info.outputs ||
        mean->rows != points->rows || points->dtype != FAR_F64 || mean->dtype != FAR_F64) {
        st = far_fail(ctx, FAR_ERR_SHAPE,
                      "points are %lld x %lld and mean is %lld x %lld; float64 m x %lld and "
                      "m x %lld are needed",
                      (long long)points->rows, (long long)points->cols, (long long)mean->rows,
                      (long long)mean->cols, (long long)m->info.inputs, (long long)m->info.outputs);
    }
done:
    return st;
}

far_status far_model_eval(far_ctx *ctx, const far_model *m, const far_mat *points, far_mat *mean)
{
    far_status st;
    double *room = NULL;
    far_mat z;
    FAR_TRY(check_points(ctx, m, points, mean));
    FAR_TRY(far_model_map(ctx, m, points, &room, &z));
    FAR_TRY(kernel_times(ctx, m, &z, mean));
    to_target_units(m, NULL, mean);
    FAR_TRY(check_finite(ctx, mean));
done:
    far_free(ctx, room);
    return st;
}

/* ---- gradients ----------------------------------------------------------------------------- */

enum { SLOPE_POINTS = 1024 };

/* The sum of what alpha and its low digits give, in target units. */
static void join_slopes(const far_model *m, const double *both, int64_t rows, int64_t first,
                        far_mat *out)
{
    int64_t d = m->info.inputs, half = m->info.outputs * d;
    for (int64_t i = 0; i < rows; i++) {
        double *row = far_mat_row(out, first + i);
        for (int64_t k = 0; k < half; k++) {
            double sum = both[i * 2 * half + k] + both[i * 2 * half + half + k];
            row[k] = far_output_scale(m->columns)[k / d] * sum;
        }
    }
}

/* Of alpha and its low digits at a block of points, by the inputs in front of the metric S, which
 * is symmetric: S times the gradient by S x. */
static far_status slope_block(far_ctx *ctx, const far_model *m, const far_mat *block,
                              const far_mat *weights, double *both)
{
    far_status st;
    double *room = NULL;
    int64_t d = m->info.inputs, count = weights->cols;
    far_mat z, x = far_model_points(m), each = far_mat_view(both, block->rows * count, d, FAR_F64);
    far_mat slopes = far_mat_view(both, block->rows, count * d, FAR_F64);
    FAR_TRY(far_model_map(ctx, m, block, &room, &z));
    FAR_TRY(far_kernel_gradient(ctx, m->kernel, m->info.kernel, &z, &x, weights, &slopes));
    FAR_TRY(far_metric_apply(ctx, &m->metric, &each, &each));
done:
    far_free(ctx, room);
    return st;
}

far_status far_model_slopes(far_ctx *ctx, const far_model *m, const far_mat *points, far_mat *out)
{
    far_status st;
    int64_t n = m->info.rows, p = m->info.outputs, d = m->info.inputs;
    int64_t most = far_least(SLOPE_POINTS, points->rows);
    double *alphas = NULL, *both = NULL;
    FAR_TRY(both_alphas(ctx, m, &alphas));
    FAR_TRY(far_alloc(ctx, most * 2 * p * d, &both));
    far_mat weights = far_mat_view(alphas, n, 2 * p, FAR_F64);
    for (int64_t i = 0; i < points->rows; i += most) {
        far_mat block = *points;
        block.data = far_mat_row(points, i);
        block.rows = far_least(most, points->rows - i);
        FAR_TRY(far_progress(ctx, "gradient", i, points->rows));
        far_progress_hold(ctx);
        st = slope_block(ctx, m, &block, &weights, both);
        far_progress_release(ctx);
        FAR_TRY(st);
        join_slopes(m, both, block.rows, i, out);
    }
done:
    FAR_FREE_ALL(ctx, alphas, both);
    return st;
}

static far_status check_order(far_ctx *ctx, const far_mat *u, const far_mat *order)
{
    far_status st = far_mat_check(ctx, order, "order");
    if (st == FAR_OK && (order->rows != u->rows || order->cols != 1 || order->dtype != FAR_F64)) {
        st = far_fail(ctx, FAR_ERR_SHAPE, "order is %lld x %lld where float64 %lld x 1 is needed",
                      (long long)order->rows, (long long)order->cols, (long long)u->rows);
    }
    return st;
}

static far_status limit_block(far_ctx *ctx, const far_model *m, const far_mat *u,
                              const far_mat *weights, double *kernel, double *product,
                              far_mat *order)
{
    bool nngp = m->info.kernel == FAR_KERNEL_NNGP;
    far_mat x = far_model_points(m), k = far_mat_view(kernel, u->rows, x.rows, FAR_F64);
    far_mat both = far_mat_view(product, u->rows, weights->cols, FAR_F64);
    far_status st = far_kernel_limit(ctx, m->kernel, u, &x, nngp ? &k : NULL, nngp ? order : NULL,
                                     nngp ? NULL : &k, nngp ? NULL : order);
    return st == FAR_OK ? far_multiply(ctx, &k, weights, &both) : st;
}

/* Of directions as the kernel gets them, without the target's units. */
static far_status kernel_limits(far_ctx *ctx, const far_model *m, const far_mat *u, far_mat *mean,
                                far_mat *order)
{
    far_status st;
    double *kernel = NULL, *alphas = NULL, *product = NULL;
    int64_t n = m->info.rows, p = m->info.outputs;
    FAR_TRY(both_alphas(ctx, m, &alphas));
    FAR_TRY(far_alloc(ctx, BLOCK_POINTS * n, &kernel));
    FAR_TRY(far_alloc(ctx, BLOCK_POINTS * 2 * p, &product));
    far_mat weights = far_mat_view(alphas, n, 2 * p, FAR_F64);
    for (int64_t i = 0; i < u->rows; i += BLOCK_POINTS) {
        far_mat block = *u, orders = *order;
        block.data = far_mat_row(u, i);
        block.rows = u->rows - i < BLOCK_POINTS ? u->rows - i : BLOCK_POINTS;
        orders.data = far_mat_row(order, i);
        orders.rows = block.rows;
        FAR_TRY(limit_block(ctx, m, &block, &weights, kernel, product, &orders));
        add_halves(product, block.rows, p, i, mean);
    }
done:
    FAR_FREE_ALL(ctx, kernel, alphas, product);
    return st;
}

/* Directions behind the metric. Those that are left are put one behind the other into z, with how
 * their leading coefficients grow; which: their rows. */
static int64_t map_directions(const far_model *m, const far_mat *u, double *z, int *growth,
                              int64_t *which)
{
    int64_t left = 0;
    double doubt;
    for (int64_t i = 0; i < u->rows; i++) {
        if (far_model_direction(m, far_mat_row(u, i), z + left * u->cols, &growth[left], &doubt)) {
            which[left++] = i;
        }
    }
    return left;
}

/* The ranks of a raw point far out along u: those at either end. */
static void set_far_ranks(const far_columns *c, const double *u, double *raw)
{
    for (int64_t j = 0; c->features && j < c->info.features; j++) {
        const far_feature *f = &c->features[j];
        double way = u[f->first];
        if (f->knots > 0) {
            far_feature_set_copies(f,
                                   way > 0   ? INFINITY
                                   : way < 0 ? -INFINITY
                                             : 0,
                                   raw + f->first + 1);
        }
    }
}

/* Where f does not depend on u, f(t u) is what it is at the origin of the table's columns; ranks
 * stand where they end. */
static far_status value_at_origin(far_ctx *ctx, const far_model *m, const double *u, double *out)
{
    far_status st;
    double *x = NULL;
    int64_t d = m->info.inputs;
    FAR_TRY(far_alloc(ctx, d, &x));
    set_far_ranks(m->columns, u, x);
    for (int64_t j = 0; j < d; j++) {
        x[j] = (x[j] - far_input_centre(m->columns)[j]) / far_input_scale(m->columns)[j];
    }
    far_mat point = far_mat_view(x, 1, d, FAR_F64);
    far_mat mean = far_mat_view(out, 1, m->info.outputs, FAR_F64);
    FAR_TRY(far_model_eval(ctx, m, &point, &mean));
done:
    far_free(ctx, x);
    return st;
}

/* Limits of those that are left, handed to the rows that they are of; the others are constant. */
static far_status limits_behind(far_ctx *ctx, const far_model *m, const far_mat *u, far_mat *mean,
                                far_mat *order)
{
    far_status st;
    int64_t d = u->cols, p = mean->cols, *which = NULL;
    int *growth = NULL;
    double *z = NULL, *values = NULL, *orders = NULL, *origin = NULL;
    FAR_TRY(far_directions_check(ctx, u, "u"));
    FAR_TRY(far_alloc(ctx, (u->rows + 1) * d, &z));
    FAR_TRY(far_alloc(ctx, u->rows + 1, &growth));
    FAR_TRY(far_alloc(ctx, u->rows, &which));
    FAR_TRY(far_alloc(ctx, u->rows * p, &values));
    FAR_TRY(far_alloc(ctx, u->rows, &orders));
    FAR_TRY(far_alloc(ctx, p, &origin));
    int64_t left = map_directions(m, u, z, growth, which);
    far_mat ways = far_mat_view(z, left, d, FAR_F64), v = far_mat_view(values, left, p, FAR_F64);
    far_mat powers = far_mat_view(orders, left, 1, FAR_F64);
    FAR_TRY(left > 0 ? kernel_limits(ctx, m, &ways, &v, &powers) : FAR_OK);
    to_target_units(m, &powers, &v);
    for (int64_t i = 0, k = 0; i < u->rows; i++) {
        bool kept = k < left && which[k] == i;
        FAR_TRY(kept ? FAR_OK : value_at_origin(ctx, m, far_mat_row(u, i), origin));
        double *row = far_mat_row(mean, i);
        double grown = kept ? exp2(growth[k] * orders[k]) : 1;
        *(double *)far_mat_row(order, i) = kept ? orders[k] : 0;
        for (int64_t j = 0; j < p; j++) {
            row[j] = kept ? grown * values[k * p + j] : origin[j];
        }
        k += kept;
    }
done:
    FAR_FREE_ALL(ctx, z, growth, which, values, orders, origin);
    return st;
}

far_status far_model_limit(far_ctx *ctx, const far_model *m, const far_mat *u, far_mat *mean,
                           far_mat *order)
{
    far_status st;
    FAR_TRY(check_points(ctx, m, u, mean));
    FAR_TRY(check_order(ctx, u, order));
    if (m->metric.kind == FAR_METRIC_NONE) {
        FAR_TRY(kernel_limits(ctx, m, u, mean, order));
        to_target_units(m, order, mean);
    } else {
        FAR_TRY(limits_behind(ctx, m, u, mean, order));
    }
    FAR_TRY(check_finite(ctx, mean));
done:
    return st;
}

/* ---- rows of a table ----------------------------------------------------------------------- */

static far_status encode_rows(far_ctx *ctx, const far_model *m, const far_frame *frame,
                              const unsigned char *rows, bool directions, double **out,
                              int64_t *count)
{
    far_status st;
    int64_t *index = NULL;
    *out = NULL;
    FAR_TRY(far_row_index(ctx, frame, rows, &index, count));
    FAR_TRY(far_alloc(ctx, *count * m->info.inputs, out));
    FAR_TRY(far_columns_apply(ctx, m->columns, frame, index, *count, directions, *out));
done:
    far_free(ctx, index);
    return st;
}

/* ---- classes ------------------------------------------------------------------------------- */

/* The nearest point of the probability simplex: max(score - shift, 0) with the shift that makes
 * the sum one. Scores that run away count by their distance to the largest. */
static void project_to_simplex(const double *scores, int64_t count, double *out)
{
    double low = -1, high = 0, largest = -INFINITY;
    for (int64_t c = 0; c < count; c++) {
        largest = fmax(largest, scores[c]);
    }
    for (int step = 0; step < 100; step++) {
        double shift = (low + high) / 2, sum = 0;
        for (int64_t c = 0; c < count; c++) {
            sum += fmax(scores[c] - largest - shift, 0);
        }
        *(sum > 1 ? &low : &high) = shift;
    }
    double sum = 0;
    for (int64_t c = 0; c < count; c++) {
        out[c] = fmax(scores[c] - largest - low, 0);
        sum += out[c];
    }
    for (int64_t c = 0; c < count; c++) {
        out[c] /= sum;
    }
}

/* Where scores grow without end the steepest takes all. */
static void share_among_largest(const double *scores, int64_t count, double *out)
{
    double largest = -INFINITY, sharing = 0;
    for (int64_t c = 0; c < count; c++) {
        largest = fmax(largest, scores[c]);
    }
    for (int64_t c = 0; c < count; c++) {
        sharing += scores[c] == largest;
    }
    for (int64_t c = 0; c < count; c++) {
        out[c] = scores[c] == largest ? 1 / sharing : 0;
    }
}

/* Limits of probabilities: those of the classes whose scores grow fastest. */
static void growing_probability(const double *link, double floor, const double *scores,
                                int64_t count, double *out)
{
    share_among_largest(scores, count, out);
    for (int64_t c = 0; link && c < count; c++) {
        out[c] = (1 - floor) * out[c] + floor / (double)count;
    }
}

void far_scores_share(const double *link, double floor, const double *scores, int64_t classes,
                      double *out)
{
    if (link) {
        far_class_probability(link, floor, scores, classes, out);
    } else {
        project_to_simplex(scores, classes, out);
    }
}

far_status far_prediction_scores(far_prediction *p, const double *link, double floor)
{
    int64_t classes = p->mean.cols;
    far_status st = far_prediction_room(p, classes, &p->probability);
    const double *order = p->order.data;
    for (int64_t i = 0; st == FAR_OK && i < p->mean.rows; i++) {
        const double *scores = far_mat_row(&p->mean, i);
        double *out = far_mat_row(&p->probability, i);
        bool deaf = link && link[0] == 0; /* scores have no say */
        if (order && order[i] > 0 && !deaf) {
            growing_probability(link, floor, scores, classes, out);
        } else {
            far_scores_share(link, floor, scores, classes, out);
        }
    }
    return st == FAR_OK ? far_prediction_classes(p) : st;
}

/* ---- predictions --------------------------------------------------------------------------- */

static far_status check_opts(far_ctx *ctx, const far_model *m, const far_frame *frame,
                             const far_predict_opts *o)
{
    if (!m || !frame || !o || o->size != sizeof *o) {
        return far_fail(ctx, FAR_ERR_ARG, "model or frame is NULL, or opts not initialised");
    }
    if (!(o->time >= 0)) {
        return far_fail(ctx, FAR_ERR_ARG, "the time is %g; it must be 0 or more", o->time);
    }
    if (o->steps < 0 || (o->steps > 0 && !(o->rate > 0 && isfinite(o->rate)))) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "gradient descent needs a rate above 0 and a number of "
                        "steps");
    }
    if (o->steps > 0 && isfinite(o->time)) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "a time is for gradient flow, steps are for gradient "
                        "descent: give one of them");
    }
    if (o->spread < FAR_SPREAD_NONE || o->spread > FAR_SPREAD_LIKELIHOOD) {
        return far_fail(ctx, FAR_ERR_ARG, "there is no spread of kind %d", o->spread);
    }
    bool early = o->steps > 0 || isfinite(o->time);
    if (early && o->spread != FAR_SPREAD_NONE && o->spread != FAR_SPREAD_ENSEMBLE) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "a posterior belongs to the end of training; before it, "
                        "ask for the spread of the ensemble");
    }
    if (m->info.method == FAR_METHOD_NYSTROM &&
        (early || o->spread == FAR_SPREAD_ENSEMBLE || o->spread == FAR_SPREAD_LIKELIHOOD)) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "a fit by landmarks has neither a course of training nor a likelihood: the "
                        "targets are not in it; fit with `method` exact or cg");
    }
    if (o->at_infinity && (early || o->spread != FAR_SPREAD_NONE)) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "limits at infinity are given for the end of training "
                        "and without a spread");
    }
    return FAR_OK;
}

static bool stops_early(const far_predict_opts *o)
{
    return o->steps > 0 || isfinite(o->time);
}

/* A shallow copy of the model with what training has reached by then in place of alpha. */
static far_status stopped_alpha(far_ctx *ctx, const far_model *m, const far_filter *filter,
                                far_model *out)
{
    far_status st;
    int64_t n = m->info.rows, p = m->info.outputs;
    *out = *m;
    out->alpha = out->alpha_low = NULL;
    FAR_TRY(far_alloc(ctx, n * p, &out->alpha));
    FAR_TRY(far_alloc(ctx, n * p, &out->alpha_low));
    far_mat y = far_model_targets(m), alpha = far_model_alpha(out);
    FAR_TRY(far_filter_apply(filter, &y, &alpha));
done:
    return st;
}

static far_status predict_mean(far_ctx *ctx, const far_model *m, const far_filter *filter,
                               const far_mat *points, far_mat *mean)
{
    if (!filter) {
        return far_model_eval(ctx, m, points, mean);
    }
    far_model stopped;
    far_status st = stopped_alpha(ctx, m, filter, &stopped);
    if (st == FAR_OK) {
        st = far_model_eval(ctx, &stopped, points, mean);
    }
    far_free(ctx, stopped.alpha);
    far_free(ctx, stopped.alpha_low);
    return st;
}

static far_status class_probabilities(const far_model *m, far_prediction *p)
{
    return m->columns->classes
               ? far_prediction_scores(p, m->link, far_class_floor(m->info.trained_rows))
               : FAR_OK;
}

static far_status predict_points(far_ctx *ctx, const far_model *m, const far_predict_opts *o,
                                 const far_mat *points, far_prediction *p)
{
    far_status st;
    far_filter filter = {.ctx = ctx}, *early = NULL;
    if (stops_early(o)) {
        FAR_TRY(far_filter_create(ctx, m, o, &filter));
        early = &filter;
    }
    FAR_TRY(predict_mean(ctx, m, early, points, &p->mean));
    FAR_TRY(class_probabilities(m, p));
    if (o->spread != FAR_SPREAD_NONE) {
        FAR_TRY(far_prediction_room(p, p->mean.cols, &p->std));
        FAR_TRY(far_spread_eval(ctx, m, o, early, points, &p->std));
    }
done:
    far_filter_clear(&filter);
    return st;
}

static far_status predict_limits(far_ctx *ctx, const far_model *m, far_mat *points,
                                 far_prediction *p)
{
    far_status st;
    FAR_TRY(far_prediction_room(p, 1, &p->order));
    FAR_TRY(far_model_limit(ctx, m, points, &p->mean, &p->order));
    FAR_TRY(class_probabilities(m, p));
done:
    return st;
}

far_status far_model_predict(far_ctx *ctx, const far_model *m, const far_frame *frame,
                             const far_predict_opts *opts, far_prediction **out)
{
    far_status st;
    far_prediction *p = NULL;
    double *points = NULL;
    int64_t rows;
    if (!out) {
        return far_fail(ctx, FAR_ERR_ARG, "out is NULL");
    }
    *out = NULL;
    FAR_TRY(check_opts(ctx, m, frame, opts));
    FAR_TRY(encode_rows(ctx, m, frame, opts->rows, opts->at_infinity, &points, &rows));
    FAR_TRY(far_prediction_create(ctx, rows, m->info.outputs, &p));
    far_mat x = far_mat_view(points, rows, m->info.inputs, FAR_F64);
    FAR_TRY(opts->at_infinity ? predict_limits(ctx, m, &x, p)
                              : predict_points(ctx, m, opts, &x, p));
done:
    FAR_HAND_OVER(p, out, far_prediction_destroy);
    far_free(ctx, points);
    return st;
}

far_status far_prediction_room(far_prediction *p, int64_t cols, far_mat *out)
{
    double *data = NULL;
    far_status st = far_alloc(p->ctx, p->mean.rows * cols, &data);
    *out = far_mat_view(data, data ? p->mean.rows : 0, cols, FAR_F64);
    return st;
}

far_status far_prediction_create(far_ctx *ctx, int64_t rows, int64_t outputs, far_prediction **out)
{
    far_prediction *p = NULL;
    far_status st = far_alloc(ctx, 1, &p);
    if (st == FAR_OK) {
        *p = (far_prediction){.ctx = ctx, .mean.rows = rows};
        st = far_prediction_room(p, outputs, &p->mean);
    }
    if (st != FAR_OK) {
        far_prediction_destroy(p);
        p = NULL;
    }
    *out = p;
    return st;
}

far_status far_prediction_classes(far_prediction *p)
{
    far_status st = p->classes ? FAR_OK : far_alloc(p->ctx, p->mean.rows, &p->classes);
    for (int64_t i = 0; st == FAR_OK && i < p->mean.rows; i++) {
        p->classes[i] = far_place_of_largest(far_mat_row(&p->probability, i), p->probability.cols);
    }
    return st;
}

void far_prediction_destroy(far_prediction *p)
{
    if (p) {
        FAR_FREE_ALL(p->ctx, p->mean.data, p->std.data, p->probability.data, p->order.data,
                     p->classes, p);
    }
}
