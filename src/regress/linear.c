/*
 * Ridge linear regression, the ridge by leave-one-out.
 *
 * With Z the standardised columns, t the standardised target and Z^T Z / n = V diag(s) V^T, ridge r
 * gives the fit p . w(r) of a row with scores p = V^T z, w_j(r) = (V^T Z^T t / n)_j / (s_j + r),
 * and the row's leverage is h(r) = 1/n + sum_j p_j^2 / (n (s_j + r)). The error of the fit without
 * that row is (t - p . w) / (1 - h), so one decomposition and one pass over the rows serve every
 * ridge. The columns are standardised once, by all rows.
 */
#include "../gram/gram.h"
#include "baseline_internal.h"

#include <farfield/solve.h>
#include <float.h>
#include <math.h>
#include <string.h>

#define RIDGES 25 /* 1e-8 to 1e4, two in a decade */
#define SIDE 64   /* of a tile of Z^T Z, and rows at a time */
#define STRIP 4   /* columns of a product at a time */

/* A score this close to the best is as good: then the larger ridge, which bends less. */
#define TIE 1e-6

static double ridge_at(int64_t k)
{
    return pow(10, -8 + (double)k / 2);
}

/* ---- columns --------------------------------------------------------------------------------- */

/* The standard value of v is ((v unit - first) - mean) scale. unit, a power of two, keeps squares
 * in range; taking the first value away first keeps the digits of columns that hardly vary, and
 * makes constant ones exactly 0. */
typedef struct column {
    int64_t at;
    double unit, first, mean, scale; /* scale is 0 for a constant column */
} column;

static double offset(const column *c, double v)
{
    return v * c->unit - c->first;
}

static double standard(const column *c, double v)
{
    return (offset(c, v) - c->mean) * c->scale;
}

static double original(const column *c, double z)
{
    double spread = c->scale > 0 ? z / c->scale : 0;
    return (spread + c->mean + c->first) / c->unit;
}

static double unit_of(double largest)
{
    int exponent = 0;
    frexp(largest, &exponent);
    return ldexp(1, exponent > -1000 ? -exponent : 1000);
}

/* Row by row, which is how the matrix lies in memory. */
static void measure_columns(const far_mat *m, column *columns)
{
    const double *first = far_mat_row(m, 0);
    for (int64_t j = 0; j < m->cols; j++) {
        columns[j] = (column){.at = j};
    }
    for (int64_t i = 0; i < m->rows; i++) {
        const double *row = far_mat_row(m, i);
        for (int64_t j = 0; j < m->cols; j++) {
            columns[j].unit = fmax(columns[j].unit, fabs(row[j]));
        }
    }
    for (int64_t j = 0; j < m->cols; j++) {
        columns[j].unit = unit_of(columns[j].unit);
        columns[j].first = first[j] * columns[j].unit;
    }
    double share = 1 / (double)m->rows;
    for (int64_t i = 0; i < m->rows; i++) {
        const double *row = far_mat_row(m, i);
        for (int64_t j = 0; j < m->cols; j++) {
            columns[j].mean += offset(&columns[j], row[j]) * share;
        }
    }
    for (int64_t i = 0; i < m->rows; i++) {
        const double *row = far_mat_row(m, i);
        for (int64_t j = 0; j < m->cols; j++) {
            double away = offset(&columns[j], row[j]) - columns[j].mean;
            columns[j].scale += away * away * share;
        }
    }
    for (int64_t j = 0; j < m->cols; j++) {
        columns[j].scale = columns[j].scale > 0 ? 1 / sqrt(columns[j].scale) : 0;
    }
}

static int64_t keep_varying(column *columns, int64_t count)
{
    int64_t kept = 0;
    for (int64_t j = 0; j < count; j++) {
        if (columns[j].scale > 0) {
            columns[kept++] = columns[j];
        }
    }
    return kept;
}

/* ---- products -------------------------------------------------------------------------------- */

/* Element (i, j) is at[i * down + j * across]. */
typedef struct panel {
    double *at;
    int64_t down, across;
} panel;

/* STRIP columns from j on, one row behind the other, with zeros past the last column. */
static void pack_strip(panel b, int64_t depth, int64_t j, int64_t width, double *strip)
{
    for (int64_t t = 0; t < depth; t++) {
        for (int64_t q = 0; q < STRIP; q++) {
            strip[t * STRIP + q] = q < width ? b.at[t * b.down + (j + q) * b.across] : 0;
        }
    }
}

/* Four rows at a time keep their sums in registers. */
static void add_four(int64_t depth, panel a, const double *strip, double *sums)
{
    double s[4][STRIP] = {{0}};
    for (int64_t t = 0; t < depth; t++) {
        for (int r = 0; r < 4; r++) {
            for (int q = 0; q < STRIP; q++) {
                s[r][q] += a.at[r * a.down + t * a.across] * strip[t * STRIP + q];
            }
        }
    }
    memcpy(sums, s, sizeof s);
}

static void add_one(int64_t depth, panel a, const double *strip, double *sums)
{
    double s[STRIP] = {0};
    for (int64_t t = 0; t < depth; t++) {
        for (int q = 0; q < STRIP; q++) {
            s[q] += a.at[t * a.across] * strip[t * STRIP + q];
        }
    }
    memcpy(sums, s, sizeof s);
}

/* c += a b for a rows x depth, b depth x cols; strip has room for depth * STRIP. */
static void add_product(int64_t rows, int64_t depth, int64_t cols, panel a, panel b, panel c,
                        double *strip)
{
    double sums[4 * STRIP];
    for (int64_t j = 0; j < cols; j += STRIP) {
        int64_t width = cols - j < STRIP ? cols - j : STRIP;
        pack_strip(b, depth, j, width, strip);
        for (int64_t i = 0, step; i < rows; i += step) {
            panel here = {a.at + i * a.down, a.down, a.across};
            step = rows - i >= 4 ? 4 : 1;
            (step == 4 ? add_four : add_one)(depth, here, strip, sums);
            for (int64_t r = 0; r < step; r++) {
                for (int64_t q = 0; q < width; q++) {
                    c.at[(i + r) * c.down + (j + q) * c.across] += sums[r * STRIP + q];
                }
            }
        }
    }
}

/* ---- the problem ----------------------------------------------------------------------------- */

typedef struct linear {
    const far_mat *x, *y;
    int64_t n, k;      /* rows; columns that vary */
    column *columns;   /* k of them, then the target */
    double *products;  /* (k + 1)^2: Z^T Z / n, and behind it in the last row Z^T t / n */
    double *values;    /* k: s */
    double *vectors;   /* k x k: V */
    double *weights;   /* k x RIDGES: w_j(r) */
    double *leverages; /* k x RIDGES: 1 / (n (s_j + r)) */
    double *errors;    /* a block of rows each: RIDGES sums of squares */
    double *slopes;    /* k: the fit of a row z is z . slopes */
    int64_t chosen;    /* the ridge whose errors are wanted row by row, */
    double *left;      /* n, standardised; NULL: none is */
} linear;

static void linear_clear(far_ctx *ctx, linear *l)
{
    FAR_FREE_ALL(ctx, l->columns, l->products, l->values, l->vectors, l->weights, l->leverages,
                 l->errors, l->slopes);
}

static far_status standardise(far_ctx *ctx, linear *l)
{
    far_status st = far_alloc(ctx, l->x->cols + 1, &l->columns);
    if (st == FAR_OK) {
        measure_columns(l->x, l->columns);
        l->k = keep_varying(l->columns, l->x->cols);
        measure_columns(l->y, &l->columns[l->k]);
    }
    return st;
}

static const column *target(const linear *l)
{
    return &l->columns[l->k];
}

/* z[j - j0] for columns j0 <= j < j1 of row i; column k is the target. */
static void standard_row(const linear *l, int64_t i, int64_t j0, int64_t j1, double *z)
{
    const double *row = far_mat_row(l->x, i);
    for (int64_t j = j0; j < j1; j++) {
        const column *c = &l->columns[j];
        z[j - j0] = standard(c, j == l->k ? *(const double *)far_mat_row(l->y, i) : row[c->at]);
    }
}

static void standard_rows(const linear *l, int64_t i0, int64_t i1, int64_t j0, int64_t j1,
                          int64_t stride, double *z)
{
    for (int64_t i = i0; i < i1; i++) {
        standard_row(l, i, j0, j1, z + (i - i0) * stride);
    }
}

/* ---- Z^T Z / n ------------------------------------------------------------------------------- */

typedef struct product_scratch {
    double a[SIDE * SIDE], b[SIDE * SIDE], sum[SIDE * SIDE], strip[SIDE * STRIP];
} product_scratch;

static void products_tile(void *source, int64_t i0, int64_t i1, int64_t j0, int64_t j1,
                          void *scratch)
{
    linear *l = source;
    product_scratch *s = scratch;
    memset(s->sum, 0, sizeof s->sum);
    for (int64_t row = 0; row < l->n; row += SIDE) {
        int64_t end = row + SIDE < l->n ? row + SIDE : l->n;
        standard_rows(l, row, end, i0, i1, SIDE, s->a);
        standard_rows(l, row, end, j0, j1, SIDE, s->b);
        add_product(i1 - i0, end - row, j1 - j0, (panel){s->a, 1, SIDE}, (panel){s->b, SIDE, 1},
                    (panel){s->sum, SIDE, 1}, s->strip);
    }
    for (int64_t i = i0; i < i1; i++) {
        for (int64_t j = j0; j < j1; j++) {
            l->products[i * (l->k + 1) + j] = s->sum[(i - i0) * SIDE + j - j0] / (double)l->n;
        }
    }
}

static far_status multiply(far_ctx *ctx, linear *l)
{
    far_status st = far_alloc(ctx, (l->k + 1) * (l->k + 1), &l->products);
    if (st != FAR_OK) {
        return st;
    }
    far_gram_job job = {.tile = products_tile,
                        .source = l,
                        .rows = l->k + 1,
                        .cols = l->k + 1,
                        .side = SIDE,
                        .scratch = sizeof(product_scratch),
                        .symmetric = true};
    return far_gram_fill(ctx, &job);
}

static far_status decompose(far_ctx *ctx, linear *l)
{
    far_status st;
    FAR_TRY(far_alloc(ctx, l->k, &l->values));
    FAR_TRY(far_alloc(ctx, l->k * l->k, &l->vectors));
    if (l->k > 0) {
        far_mat products = far_mat_view(l->products, l->k, l->k, FAR_F64);
        products.ld = l->k + 1;
        far_mat values = far_mat_view(l->values, l->k, 1, FAR_F64);
        far_mat vectors = far_mat_view(l->vectors, l->k, l->k, FAR_F64);
        far_symmetric a = far_symmetric_of(&products);
        FAR_TRY(far_eigen(ctx, &a, FAR_EIGEN_LARGEST, l->k, 0, &values, &vectors));
    }
done:
    return st;
}

/* ---- leave-one-out --------------------------------------------------------------------------- */

/* V^T Z^T t / n, entry j */
static double moment(const linear *l, int64_t j)
{
    const double *zt = l->products + l->k * (l->k + 1);
    double sum = 0;
    for (int64_t a = 0; a < l->k; a++) {
        sum += l->vectors[a * l->k + j] * zt[a];
    }
    return sum;
}

static far_status weigh(far_ctx *ctx, linear *l)
{
    far_status st;
    FAR_TRY(far_alloc(ctx, l->k * RIDGES, &l->weights));
    FAR_TRY(far_alloc(ctx, l->k * RIDGES, &l->leverages));
    for (int64_t j = 0; j < l->k; j++) {
        double m = moment(l, j);
        for (int64_t r = 0; r < RIDGES; r++) {
            double shrunk = 1 / (l->values[j] + ridge_at(r));
            l->weights[j * RIDGES + r] = m * shrunk;
            l->leverages[j * RIDGES + r] = shrunk / (double)l->n;
        }
    }
done:
    return st;
}

/* Pieces of a thread's scratch: z and scores SIDE x k, fits and leverages SIDE x RIDGES, a strip.
 */
static int64_t row_scratch(const linear *l)
{
    return (int64_t)sizeof(double) * (2 * SIDE * l->k + 2 * SIDE * RIDGES + STRIP * l->k);
}

static void add_errors(const linear *l, int64_t i, const double *fits, const double *leverages,
                       double *errors)
{
    double t;
    standard_row(l, i, l->k, l->k + 1, &t);
    for (int64_t r = 0; r < RIDGES; r++) {
        double left = 1 - 1 / (double)l->n - leverages[r];
        double e = (t - fits[r]) / fmax(left, DBL_EPSILON); /* one row: 0 / epsilon */
        errors[r] += e * e;
        if (l->left && r == l->chosen) {
            l->left[i] = e;
        }
    }
}

static void errors_tile(void *source, int64_t i0, int64_t i1, int64_t j0, int64_t j1, void *scratch)
{
    (void)j0;
    (void)j1;
    linear *l = source;
    int64_t rows = i1 - i0, k = l->k;
    double *z = scratch, *scores = z + SIDE * k, *fits = scores + SIDE * k;
    double *leverages = fits + SIDE * RIDGES, *strip = leverages + SIDE * RIDGES;
    double *errors = l->errors + i0 / SIDE * RIDGES;
    memset(scores, 0, sizeof(double) * (size_t)(SIDE * k + 2 * SIDE * RIDGES));
    memset(errors, 0, sizeof(double) * RIDGES);
    standard_rows(l, i0, i1, 0, k, k, z);
    add_product(rows, k, k, (panel){z, k, 1}, (panel){l->vectors, k, 1}, (panel){scores, k, 1},
                strip);
    add_product(rows, k, RIDGES, (panel){scores, k, 1}, (panel){l->weights, RIDGES, 1},
                (panel){fits, RIDGES, 1}, strip);
    for (int64_t i = 0; i < rows * k; i++) {
        scores[i] *= scores[i];
    }
    add_product(rows, k, RIDGES, (panel){scores, k, 1}, (panel){l->leverages, RIDGES, 1},
                (panel){leverages, RIDGES, 1}, strip);
    for (int64_t i = 0; i < rows; i++) {
        add_errors(l, i0 + i, fits + i * RIDGES, leverages + i * RIDGES, errors);
    }
}

static int64_t best_ridge(const linear *l)
{
    double sums[RIDGES] = {0}, least = INFINITY;
    for (int64_t b = 0; b * SIDE < l->n; b++) {
        for (int64_t r = 0; r < RIDGES; r++) {
            sums[r] += l->errors[b * RIDGES + r];
        }
    }
    for (int64_t r = 0; r < RIDGES; r++) {
        least = fmin(least, sums[r]);
    }
    int64_t best = RIDGES - 1;
    while (best > 0 && !(sums[best] <= least * (1 + TIE))) {
        best--;
    }
    return best;
}

static far_status find_errors(far_ctx *ctx, linear *l)
{
    far_gram_job job = {.tile = errors_tile,
                        .source = l,
                        .rows = l->n,
                        .cols = 1,
                        .side = SIDE,
                        .scratch = row_scratch(l)};
    return far_gram_fill(ctx, &job);
}

static far_status choose(far_ctx *ctx, linear *l, int64_t *best)
{
    far_status st;
    FAR_TRY(far_alloc(ctx, (l->n + SIDE - 1) / SIDE * RIDGES, &l->errors));
    FAR_TRY(find_errors(ctx, l));
    *best = best_ridge(l);
done:
    return st;
}

/* ---- prediction ------------------------------------------------------------------------------ */

static far_status take_slopes(far_ctx *ctx, linear *l, int64_t ridge)
{
    far_status st = far_alloc(ctx, l->k, &l->slopes);
    for (int64_t a = 0; st == FAR_OK && a < l->k; a++) {
        double sum = 0;
        for (int64_t j = 0; j < l->k; j++) {
            sum += l->vectors[a * l->k + j] * l->weights[j * RIDGES + ridge];
        }
        l->slopes[a] = sum;
    }
    return st;
}

static double predict_row(const linear *l, const double *row)
{
    double sum = 0;
    for (int64_t j = 0; j < l->k; j++) {
        sum += standard(&l->columns[j], row[l->columns[j].at]) * l->slopes[j];
    }
    return original(target(l), sum);
}

static far_status predict(far_ctx *ctx, const linear *l, const far_mat *xt, far_mat *out)
{
    far_status st;
    double *values = NULL;
    FAR_TRY(far_alloc(ctx, xt->rows, &values));
    for (int64_t i = 0; i < xt->rows; i++) {
        values[i] = predict_row(l, far_mat_row(xt, i));
        if (!isfinite(values[i])) {
            st = far_fail(ctx, FAR_ERR_VALUE,
                          "xt: row %lld is so far from x that its prediction is no finite number; "
                          "look for a value in wrong units",
                          (long long)i + 1);
            goto done;
        }
    }
    for (int64_t i = 0; i < xt->rows; i++) {
        *(double *)far_mat_row(out, i) = values[i];
    }
done:
    far_free(ctx, values);
    return st;
}

/* The slopes of a fit on raw inputs, where columns are not far from 0 compared with their spread.
 */
static void raw_line(const linear *l, int64_t cols, double *slopes, double *intercept)
{
    const column *t = target(l);
    double unit = t->scale > 0 ? 1 / (t->scale * t->unit) : 0;
    memset(slopes, 0, (size_t)cols * sizeof *slopes);
    *intercept = (t->mean + t->first) / t->unit;
    for (int64_t j = 0; j < l->k; j++) {
        const column *c = &l->columns[j];
        double slope = l->slopes[j] * c->scale * unit;
        slopes[c->at] = slope * c->unit;
        *intercept -= slope * (c->first + c->mean);
    }
}

/* The errors of all rows, each without itself, with the ridge that was chosen; in units of y. */
static far_status leave_out(far_ctx *ctx, linear *l, int64_t ridge, double *out)
{
    const column *t = target(l);
    double unit = t->scale > 0 ? 1 / (t->scale * t->unit) : 0;
    l->chosen = ridge;
    l->left = out;
    far_status st = find_errors(ctx, l);
    for (int64_t i = 0; st == FAR_OK && i < l->n; i++) {
        out[i] *= unit;
    }
    return st;
}

static far_status solve(far_ctx *ctx, linear *l, double *ridge, double *left)
{
    far_status st;
    int64_t best = 0;
    FAR_TRY(standardise(ctx, l));
    FAR_TRY(multiply(ctx, l));
    FAR_TRY(decompose(ctx, l));
    FAR_TRY(weigh(ctx, l));
    FAR_TRY(choose(ctx, l, &best));
    FAR_TRY(take_slopes(ctx, l, best));
    *ridge = ridge_at(best);
    FAR_TRY(left ? leave_out(ctx, l, best, left) : FAR_OK);
done:
    return st;
}

far_status far_linear_solve(far_ctx *ctx, const far_mat *x, const far_mat *y, double *slopes,
                            double *intercept, double *ridge, double *left)
{
    linear l = {.x = x, .y = y, .n = x->rows};
    far_status st = solve(ctx, &l, ridge, left);
    if (st == FAR_OK) {
        raw_line(&l, x->cols, slopes, intercept);
    }
    linear_clear(ctx, &l);
    return st;
}

far_status far_linear_predict(far_ctx *ctx, const far_mat *x, const far_mat *y, const far_mat *xt,
                              double *ridge, far_mat *out)
{
    far_status st;
    double chosen;
    linear l = {.x = x, .y = y};
    FAR_TRY(far_baseline_check(ctx, x, y, xt, out));
    l.n = x->rows;
    FAR_TRY(solve(ctx, &l, &chosen, NULL));
    FAR_TRY(predict(ctx, &l, xt, out));
    if (ridge) {
        *ridge = chosen;
    }
done:
    linear_clear(ctx, &l);
    return st;
}
