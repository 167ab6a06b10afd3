/* What stands between the inputs of a model and its kernel, and what follows from it. */
#include "../solve/solve_internal.h"
#include "regress_internal.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define NOT_MUCH 0.01  /* of the square of the longest: a tenth of its length */
#define NO_ENTRY 1e-14 /* of a null direction, beside 1: rounding */
enum { MOST_PAIRS = 512, LEAST_PAIRS = 64 };
#define PAIR_EVALUATIONS 6e7 /* of the kernel: a fit should not wait */

void far_metric_facts_clear(far_ctx *ctx, far_metric_facts *f)
{
    FAR_FREE_ALL(ctx, f->points, f->importance, f->axes, f->values, f->shares, f->null);
    *f = (far_metric_facts){0};
}

/* Entry (i, j) of S. */
static double entry(const far_metric *s, int64_t i, int64_t j)
{
    return s->kind == FAR_METRIC_FULL ? s->map[i * s->inputs + j] : i == j ? s->map[i] : 0;
}

/* ---- whether it is one --------------------------------------------------------------------- */

static const char *fault_of(const far_metric *s, int64_t d)
{
    bool full = s->kind == FAR_METRIC_FULL;
    if ((!full && s->kind != FAR_METRIC_DIAGONAL) || s->inputs != d || !s->map) {
        return "is not of these inputs";
    }
    int64_t count = full ? d * d : d;
    for (int64_t i = 0; i < count; i++) {
        if (!isfinite(s->map[i])) {
            return "has an entry that is not finite";
        }
        if (!full && s->map[i] < 0) {
            return "has a weight below 0";
        }
        if (full && s->map[i] != s->map[i % d * d + i / d]) {
            return "is not symmetric";
        }
    }
    return far_largest_size(s->map, count) > 0 ? NULL : "is 0: no input would count";
}

/* ---- spectra ------------------------------------------------------------------------------- */

/* Inputs that S does not map to 0, in order. */
static int64_t find_active(const far_metric *s, int64_t *active)
{
    int64_t count = 0;
    for (int64_t j = 0; j < s->inputs; j++) {
        bool any = false;
        for (int64_t i = 0; i < s->inputs && !any; i++) {
            any = entry(s, i, j) != 0;
        }
        if (any) {
            active[count++] = j;
        }
    }
    return count;
}

static void swap_rows(double *a, double *b, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        double kept = a[i];
        a[i] = b[i];
        b[i] = kept;
    }
}

static double column_square(const double *q, int64_t rows, int64_t cols, int64_t j)
{
    double square = 0;
    for (int64_t i = 0; i < rows; i++) {
        square += q[i * cols + j] * q[i * cols + j];
    }
    return square;
}

/* The earliest column not much shorter than the longest; what it shares with the others is taken
 * out of them. Lengths do not depend on which orthonormal rows span the same space. */
static int64_t pick_column(double *q, int64_t rows, int64_t cols)
{
    double most = 0;
    int64_t j = 0;
    for (int64_t k = 0; k < cols; k++) {
        most = fmax(most, column_square(q, rows, cols, k));
    }
    while (column_square(q, rows, cols, j) < NOT_MUCH * most) {
        j++;
    }
    double square = column_square(q, rows, cols, j);
    for (int64_t k = cols - 1; square > 0 && k >= 0; k--) {
        double dot = 0;
        for (int64_t i = 0; i < rows && k != j; i++) {
            dot += q[i * cols + j] * q[i * cols + k];
        }
        for (int64_t i = 0; i < rows && k != j; i++) {
            q[i * cols + k] -= dot / square * q[i * cols + j];
        }
    }
    for (int64_t i = 0; i < rows; i++) {
        q[i * cols + j] = 0;
    }
    return j;
}

/* Orthonormal rows become the basis of their span in which each has a 1 where all others have 0:
 * the same whatever basis they were. q: a copy of them. */
static void reduce_rows(double *b, double *q, int64_t rows, int64_t cols)
{
    for (int64_t done = 0; done < rows; done++) {
        int64_t j = pick_column(q, rows, cols), best = done;
        for (int64_t i = done; i < rows; i++) {
            best = fabs(b[i * cols + j]) > fabs(b[best * cols + j]) ? i : best;
        }
        double pivot = b[best * cols + j];
        swap_rows(b + best * cols, b + done * cols, cols);
        for (int64_t k = 0; k < cols; k++) {
            b[done * cols + k] = k == j ? 1 : b[done * cols + k] / pivot;
        }
        for (int64_t i = 0; i < rows; i++) {
            double factor = i == done ? 0 : b[i * cols + j];
            for (int64_t k = 0; k < cols; k++) {
                b[i * cols + k] -= factor * b[done * cols + k];
            }
        }
    }
    for (int64_t i = 0; i < rows * cols; i++) {
        b[i] = fabs(b[i]) <= NO_ENTRY ? 0 : b[i];
    }
}

/* A null direction of standardised inputs, over those that are active, in raw units: the entry that
 * is 1 stays 1. Where units are too far apart for doubles, it is all 0. */
static void put_null(const far_model *m, const double *v, const int64_t *active, int64_t count,
                     double *out)
{
    const double *scale = far_input_scale(m->columns);
    int64_t one = 0;
    bool fits = true;
    while (one < count - 1 && v[one] != 1) {
        one++;
    }
    for (int64_t k = 0; k < count; k++) {
        out[active[k]] = v[k] == 0 ? 0 : v[k] * (scale[active[k]] / scale[active[one]]);
        fits = fits && isfinite(out[active[k]]) && (out[active[k]] != 0) == (v[k] != 0);
    }
    for (int64_t k = 0; !fits && k < count; k++) {
        out[active[k]] = 0;
    }
}

static far_status make_null(far_ctx *ctx, far_model *m, const int64_t *active, int64_t count,
                            const double *rows)
{
    far_metric_facts *f = &m->facts;
    int64_t d = m->info.inputs, at = 0;
    far_status st = far_alloc(ctx, (d - f->rank) * d, &f->null);
    for (int64_t j = 0, k = 0; st == FAR_OK && j < d; j++) {
        if (k < count && active[k] == j) {
            k++;
        } else {
            f->null[at++ * d + j] = 1;
        }
    }
    for (int64_t i = 0; st == FAR_OK && i < count - f->rank; i++) {
        put_null(m, rows + i * count, active, count, f->null + at++ * d);
    }
    return st;
}

/* Eigenpairs of S over the active inputs: ascending values, vectors by columns. */
static far_status decompose(far_ctx *ctx, const far_metric *s, const int64_t *active, int64_t count,
                            double *values, double *vectors)
{
    far_status st;
    double *part = NULL;
    FAR_TRY(far_alloc(ctx, count * count, &part));
    for (int64_t i = 0; i < count * count; i++) {
        part[i] = entry(s, active[i / count], active[i % count]);
    }
    far_mat a = far_mat_view(part, count, count, FAR_F64), w, v;
    w = far_mat_view(values, count, 1, FAR_F64);
    v = far_mat_view(vectors, count, count, FAR_F64);
    far_symmetric matrix = far_symmetric_of(&a);
    far_progress_hold(ctx);
    st = far_eigen(ctx, &matrix, FAR_EIGEN_SMALLEST, count, 0, &w, &v);
    far_progress_release(ctx);
done:
    far_free(ctx, part);
    return st;
}

/* axes, values and shares of a full map. */
static far_status keep_axes(far_ctx *ctx, far_model *m, const int64_t *active, int64_t count,
                            const double *values, const double *vectors)
{
    far_status st;
    far_metric_facts *f = &m->facts;
    int64_t d = m->info.inputs;
    double most = values[count - 1], total = 0;
    FAR_TRY(far_alloc(ctx, f->rank * d, &f->axes));
    FAR_TRY(far_alloc(ctx, f->rank, &f->values));
    FAR_TRY(far_alloc(ctx, f->rank, &f->shares));
    for (int64_t k = 0; k < f->rank; k++) {
        int64_t from = count - 1 - k;
        f->values[k] = values[from];
        f->shares[k] = values[from] / most * (values[from] / most);
        total += f->shares[k];
        for (int64_t j = 0; j < count; j++) {
            f->axes[k * d + active[j]] = vectors[j * count + from];
        }
    }
    for (int64_t k = 0; k < f->rank; k++) {
        f->shares[k] /= total;
    }
done:
    return st;
}

static far_status analyse_full(far_ctx *ctx, far_model *m, const int64_t *active, int64_t count)
{
    far_status st;
    double *values = NULL, *vectors = NULL, *rows = NULL;
    FAR_TRY(far_alloc(ctx, count, &values));
    FAR_TRY(far_alloc(ctx, count * count, &vectors));
    FAR_TRY(far_alloc(ctx, count * count, &rows));
    FAR_TRY(decompose(ctx, &m->metric, active, count, values, vectors));
    double noise = 4 * (double)count * DBL_EPSILON * fmax(values[count - 1], -values[0]);
    if (values[0] < -1e3 * noise) {
        FAR_TRY(far_fail(ctx, FAR_ERR_FORMAT, "the metric is not positive semidefinite"));
    }
    while (m->facts.rank < count && values[count - 1 - m->facts.rank] > noise) {
        m->facts.rank++;
    }
    FAR_TRY(keep_axes(ctx, m, active, count, values, vectors));
    int64_t lost = count - m->facts.rank;
    for (int64_t i = 0; i < lost * count; i++) {
        rows[i] = vectors[i % count * count + i / count];
    }
    memcpy(vectors, rows, (size_t)(lost * count) * sizeof *rows);
    reduce_rows(rows, vectors, lost, count);
    FAR_TRY(make_null(ctx, m, active, count, rows));
done:
    FAR_FREE_ALL(ctx, values, vectors, rows);
    return st;
}

static far_status analyse(far_ctx *ctx, far_model *m)
{
    far_status st;
    int64_t *active = NULL;
    FAR_TRY(far_alloc(ctx, m->info.inputs, &active));
    int64_t count = find_active(&m->metric, active);
    if (m->metric.kind == FAR_METRIC_FULL) {
        FAR_TRY(analyse_full(ctx, m, active, count));
    } else {
        m->facts.rank = count;
        FAR_TRY(make_null(ctx, m, active, count, NULL));
    }
done:
    far_free(ctx, active);
    return st;
}

/* ---- which inputs count -------------------------------------------------------------------- */

/* Pairs of rows: of a shuffle p those at i and i + 1, then at i and i + 2, ..., all if they are
 * few. */
typedef struct pairing {
    int64_t *order, count;
} pairing;

static far_status draw_pairs(far_ctx *ctx, const far_model *m, int64_t groups, pairing *out)
{
    int64_t n = m->info.rows;
    double most = PAIR_EVALUATIONS / ((double)n * (double)(groups + 1));
    double all = (double)n * (double)(n - 1);
    far_status st = far_alloc(ctx, n, &out->order);
    for (int64_t i = 0; st == FAR_OK && i < n; i++) {
        out->order[i] = i;
    }
    if (st == FAR_OK) {
        far_random_shuffle(0, out->order, n);
        out->count = (int64_t)fmin(fmin(fmax(most, LEAST_PAIRS), MOST_PAIRS), all);
    }
    return st;
}

/* Points of the pairs: the first row of each, with the inputs of one group from the second. */
static void set_points(const far_model *m, const pairing *p, const int64_t *groups, int64_t group,
                       double *points)
{
    int64_t n = m->info.rows, d = m->info.inputs;
    for (int64_t k = 0; k < p->count; k++) {
        const double *own = m->x + p->order[k % n] * d;
        const double *other = m->x + p->order[(k + 1 + k / n) % n] * d;
        for (int64_t j = 0; j < d; j++) {
            points[k * d + j] = groups[j] == group ? other[j] : own[j];
        }
    }
}

/* Standard deviations of the targets, in their units; 1 where they are constant. */
static void target_sizes(const far_model *m, double *size)
{
    int64_t n = m->info.rows, p = m->info.outputs;
    for (int64_t k = 0; k < p; k++) {
        long double mean = 0, square = 0;
        for (int64_t i = 0; i < n; i++) {
            mean += m->y[i * p + k] / (long double)n;
        }
        for (int64_t i = 0; i < n; i++) {
            square += (m->y[i * p + k] - mean) * (m->y[i * p + k] - mean) / (long double)n;
        }
        size[k] = far_output_scale(m->columns)[k] * (square > 0 ? (double)sqrtl(square) : 1);
    }
}

/* Half the mean square of what f changes by when a group of inputs is taken from another row,
 * outputs in their own standard deviations: of a sum of functions of one group each their
 * variances. */
static far_status find_effects(far_ctx *ctx, const far_model *m, const int64_t *groups,
                               int64_t count, long double *effect)
{
    far_status st;
    int64_t d = m->info.inputs, p = m->info.outputs;
    double *points = NULL, *values = NULL, *size = NULL;
    pairing pairs = {0};
    FAR_TRY(draw_pairs(ctx, m, count, &pairs));
    FAR_TRY(far_alloc(ctx, pairs.count * d, &points));
    FAR_TRY(far_alloc(ctx, 2 * pairs.count * p, &values));
    far_mat x = far_mat_view(points, pairs.count, d, FAR_F64);
    far_mat before = far_mat_view(values, pairs.count, p, FAR_F64);
    far_mat after = far_mat_view(values + pairs.count * p, pairs.count, p, FAR_F64);
    set_points(m, &pairs, groups, -1, points);
    FAR_TRY(far_model_eval(ctx, m, &x, &before));
    FAR_TRY(far_alloc(ctx, p, &size));
    target_sizes(m, size);
    for (int64_t g = 0; g < count; g++) {
        set_points(m, &pairs, groups, g, points);
        FAR_TRY(far_model_eval(ctx, m, &x, &after));
        for (int64_t k = 0; k < pairs.count * p; k++) {
            long double change = (long double)values[pairs.count * p + k] - values[k];
            change /= size[k % p];
            effect[g] += change * change / (long double)(2 * pairs.count * p);
        }
    }
done:
    FAR_FREE_ALL(ctx, points, values, size, pairs.order);
    return st;
}

/* |S e_j|^2 var x_j, by which the inputs of one column share its effect. */
static long double spread_behind(const far_model *m, int64_t j)
{
    int64_t n = m->info.rows, d = m->info.inputs;
    long double mean = 0, square = 0, first = m->x[j], longest = 0;
    for (int64_t i = 0; i < n; i++) {
        mean += (m->x[i * d + j] - first) / (long double)n;
    }
    for (int64_t i = 0; i < n; i++) {
        long double off = m->x[i * d + j] - first - mean;
        square += off * off / (long double)n;
    }
    for (int64_t i = 0; i < d; i++) {
        long double s = entry(&m->metric, i, j);
        longest += s * s;
    }
    return longest * square;
}

/* The column that each input comes from; one that comes from none is its own. */
static void group_by_column(const far_model *m, int64_t *groups, int64_t *count)
{
    int64_t d = m->info.inputs, columns = far_columns_describe(m->columns).features;
    *count = 0;
    for (int64_t j = 0; j < d; j++) {
        groups[j] = -1;
    }
    for (int64_t f = 0; f < columns; f++) {
        far_feature_info e = far_columns_feature(m->columns, f);
        for (int64_t k = 0; k < e.width && e.first + k < d; k++) {
            groups[e.first + k] = *count;
        }
        ++*count;
    }
    for (int64_t j = 0; j < d; j++) {
        groups[j] = groups[j] < 0 ? (*count)++ : groups[j];
    }
}

far_status far_model_weigh_inputs(far_ctx *ctx, far_model *m)
{
    int64_t d = m->info.inputs, count, *groups = NULL;
    long double total = 0, *effect = NULL, *whole = NULL, *part = NULL;
    far_status st;
    if (m->metric.kind == FAR_METRIC_NONE) {
        return FAR_OK;
    }
    FAR_TRY(far_alloc(ctx, d, &m->facts.importance));
    FAR_TRY(far_alloc(ctx, d, &groups));
    group_by_column(m, groups, &count);
    FAR_TRY(far_alloc(ctx, count, &effect));
    FAR_TRY(far_alloc(ctx, count, &whole));
    FAR_TRY(far_alloc(ctx, d, &part));
    FAR_TRY(m->info.rows > 1 ? find_effects(ctx, m, groups, count, effect) : FAR_OK);
    for (int64_t j = 0; j < d; j++) {
        part[j] = spread_behind(m, j);
        whole[groups[j]] += part[j];
    }
    for (int64_t g = 0; g < count; g++) {
        total += whole[g] > 0 ? effect[g] : 0;
    }
    for (int64_t j = 0; total > 0 && isfinite(total) && j < d; j++) {
        int64_t g = groups[j];
        m->facts.importance[j] =
            whole[g] > 0 ? (double)(effect[g] / total * part[j] / whole[g]) : 0;
    }
done:
    FAR_FREE_ALL(ctx, groups, effect, whole, part);
    return st;
}

/* ---- the whole ----------------------------------------------------------------------------- */

static far_status map_points(far_ctx *ctx, const far_metric *s, const far_mat *x, far_mat *out)
{
    far_status st = far_metric_apply(ctx, s, x, out);
    for (int64_t i = 0; st == FAR_OK && i < out->rows; i++) {
        if (!isfinite(far_largest_size(far_mat_row(out, i), out->cols))) {
            return far_fail(ctx, FAR_ERR_RANGE,
                            "row %lld: the inputs are too far away for the model's metric: what it "
                            "makes of them does not fit a double",
                            (long long)i + 1);
        }
    }
    return st;
}

static double root_mean_square(const double *z, int64_t n, int64_t d)
{
    long double square = 0;
    for (int64_t i = 0; i < n * d; i++) {
        square += (long double)z[i] * z[i];
    }
    return (double)sqrtl(square / (long double)n);
}

far_status far_model_take_metric(far_ctx *ctx, far_model *m)
{
    far_status st;
    int64_t n = m->info.rows, d = m->info.inputs;
    if (m->metric.kind == FAR_METRIC_NONE) {
        return FAR_OK;
    }
    const char *fault = fault_of(&m->metric, d);
    if (fault) {
        return far_fail(ctx, FAR_ERR_FORMAT, "the metric %s", fault);
    }
    FAR_TRY(far_alloc(ctx, n * d, &m->facts.points));
    far_mat x = far_mat_view(m->x, n, d, FAR_F64), z = far_mat_view(m->facts.points, n, d, FAR_F64);
    FAR_TRY(map_points(ctx, &m->metric, &x, &z));
    m->facts.size = root_mean_square(m->facts.points, n, d);
    FAR_TRY(analyse(ctx, m));
done:
    return st;
}

far_model far_model_behind(const far_model *m)
{
    far_model inner = *m;
    if (m->metric.kind != FAR_METRIC_NONE) {
        inner.x = m->facts.points;
        inner.metric = (far_metric){0};
        inner.facts = (far_metric_facts){0};
    }
    return inner;
}

far_status far_model_map(far_ctx *ctx, const far_model *m, const far_mat *x, double **room,
                         far_mat *out)
{
    *out = *x;
    *room = NULL;
    if (m->metric.kind == FAR_METRIC_NONE) {
        return FAR_OK;
    }
    far_status st = far_alloc(ctx, x->rows * x->cols, room);
    *out = far_mat_view(*room, x->rows, x->cols, FAR_F64);
    return st == FAR_OK ? map_points(ctx, &m->metric, x, out) : st;
}

/* ---- directions and points ----------------------------------------------------------------- */

/* Entry i of S u. */
static long double mapped(const far_metric *s, const double *u, int64_t i)
{
    if (s->kind != FAR_METRIC_FULL) {
        return s->kind == FAR_METRIC_NONE ? u[i] : (long double)s->map[i] * u[i];
    }
    long double sum = 0;
    for (int64_t j = 0; j < s->inputs; j++) {
        sum += (long double)s->map[i * s->inputs + j] * u[j];
    }
    return sum;
}

/* What rounding leaves of S u where a full map has no part of u: no less than that of its
 * eigenvalues, below which analyse_full counts them as 0. */
static long double noise_of(const far_model *m, const double *u)
{
    long double square = 0;
    for (int64_t j = 0; j < m->info.inputs; j++) {
        square += (long double)u[j] * u[j];
    }
    bool full = m->metric.kind == FAR_METRIC_FULL;
    return full ? 16 * m->info.inputs * DBL_EPSILON * m->facts.values[0] * sqrtl(square) : 0;
}

bool far_model_direction(const far_model *m, const double *u, double *z, int *exponent,
                         double *doubt)
{
    int64_t d = m->info.inputs;
    long double most = 0, noise = noise_of(m, u);
    *exponent = 0;
    *doubt = 0;
    if (m->metric.kind == FAR_METRIC_NONE) {
        memcpy(z, u, (size_t)d * sizeof *z);
        return true;
    }
    for (int64_t i = 0; i < d; i++) {
        most = fmaxl(most, fabsl(mapped(&m->metric, u, i)));
    }
    if (most <= noise) {
        return false;
    }
    *exponent = ilogbl(most);
    *doubt = (double)(noise / most) + DBL_EPSILON;
    for (int64_t i = 0; i < d; i++) {
        z[i] = (double)ldexpl(mapped(&m->metric, u, i), -*exponent);
    }
    return true;
}

far_ray far_model_ray(const far_model *m, const double *direction)
{
    const double *scale = far_input_scale(m->columns), *centre = far_input_centre(m->columns);
    int64_t d = m->info.inputs;
    long double dot = 0, square = 0;
    for (int64_t i = 0; i < d; i++) {
        long double z = 0, c = 0;
        for (int64_t j = 0; j < d; j++) {
            if (m->metric.kind == FAR_METRIC_FULL || i == j) {
                long double s = m->metric.kind == FAR_METRIC_NONE ? 1 : entry(&m->metric, i, j);
                z += s * ((long double)direction[j] / scale[j]);
                c += s * (centre[j] / scale[j]);
            }
        }
        dot += z * c;
        square += z * z;
    }
    long double size = m->facts.size, typical = size > 0 ? size * size : (long double)d;
    return (far_ray){(double)sqrtl(typical / square), (double)(dot / square)};
}

void far_model_project(const far_model *m, double *room, double *z)
{
    const far_metric_facts *f = &m->facts;
    int64_t d = m->info.inputs;
    if (m->metric.kind == FAR_METRIC_NONE || f->rank == d) {
        return;
    }
    memset(room, 0, (size_t)d * sizeof *room);
    for (int64_t k = 0; f->axes && k < f->rank; k++) {
        double part = far_dot(f->axes + k * d, z, d);
        for (int64_t j = 0; j < d; j++) {
            room[j] += part * f->axes[k * d + j];
        }
    }
    for (int64_t j = 0; j < d; j++) {
        z[j] = f->axes ? room[j] : m->metric.map[j] > 0 ? z[j] : 0;
    }
}

void far_model_unmap(const far_model *m, const double *z, double *x)
{
    const far_metric_facts *f = &m->facts;
    int64_t d = m->info.inputs;
    for (int64_t j = 0; j < d; j++) {
        x[j] = m->metric.kind == FAR_METRIC_NONE ? z[j] : 0;
        if (m->metric.kind == FAR_METRIC_DIAGONAL && m->metric.map[j] > 0) {
            x[j] = z[j] / m->metric.map[j];
        }
    }
    for (int64_t k = 0; m->metric.kind == FAR_METRIC_FULL && k < f->rank; k++) {
        double part = far_dot(f->axes + k * d, z, d) / f->values[k];
        for (int64_t j = 0; j < d; j++) {
            x[j] += part * f->axes[k * d + j];
        }
    }
}

/* ---- what is told of it -------------------------------------------------------------------- */

far_metric_info far_model_metric(const far_model *m)
{
    const far_metric_facts *f = &m->facts;
    int64_t d = m->info.inputs;
    if (m->metric.kind == FAR_METRIC_NONE) {
        return (far_metric_info){.rank = d};
    }
    bool full = m->metric.kind == FAR_METRIC_FULL;
    return (far_metric_info){
        .kind = m->metric.kind,
        .rank = f->rank,
        .map = far_mat_view(m->metric.map, d, full ? d : 1, FAR_F64),
        .importance = far_mat_view(f->importance, d, 1, FAR_F64),
        .directions = far_mat_view(f->axes, full ? f->rank : 0, d, FAR_F64),
        .shares = far_mat_view(f->shares, full ? f->rank : 0, 1, FAR_F64),
        .null = far_mat_view(f->null, d - f->rank, d, FAR_F64),
    };
}
