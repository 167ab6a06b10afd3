#include "explain.h"
#include "files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    REPEATS = 3,
    LEAST_ROWS = 50,
    MOST_ROWS = 500,
    MOST_FEATURES = 20, /* in the table and the bars */
    LEADING = 3,        /* whose dependence is drawn */
    GRID = 61,
    MOST_LINES = 4, /* outputs that are drawn */
    MOST_LEVELS = 24,
    NEAR_POINTS = 5, /* predictions, and rows near each */
    NEAR_ROWS = 3
};
#define MOST_VALUES 2e8 /* of a kernel: some seconds */

/* Rows in raw units; y NULL: unknown. learnt: the predictor was fitted to them. */
typedef struct rows {
    double *x, *y;
    int64_t n;
    bool learnt;
} rows;

static void rows_free(rows *d)
{
    free(d->x);
    free(d->y);
}

static bool rows_alloc(const far_predictor *p, int64_t n, rows *d)
{
    d->x = calloc((size_t)(n * subject_inputs(p)) + 1, sizeof(double));
    d->y = calloc((size_t)(n * subject_outputs(p)) + 1, sizeof(double));
    d->n = n;
    return d->x && d->y;
}

/* Evenly chosen, so many that it does not take long. */
static void thin(const far_predictor *p, int64_t features, rows *d)
{
    int64_t inputs = subject_inputs(p), outputs = subject_outputs(p);
    double trained = fmax(1, (double)far_predictor_describe(p).rows);
    double most = MOST_VALUES / (trained * REPEATS * (double)features);
    int64_t keep = (int64_t)fmin(fmax(most, LEAST_ROWS), MOST_ROWS);
    int64_t step = (d->n + keep - 1) / keep, kept = 0;
    for (int64_t i = 0; i < d->n; i += step, kept++) {
        for (int64_t j = 0; j < inputs; j++) {
            d->x[kept * inputs + j] = d->x[i * inputs + j];
        }
        for (int64_t k = 0; d->y && k < outputs; k++) {
            d->y[kept * outputs + k] = d->y[i * outputs + k];
        }
    }
    d->n = kept;
}

static far_mat inputs_of(const far_predictor *p, const rows *d)
{
    return far_mat_view(d->x, d->n, subject_inputs(p), FAR_F64);
}

static far_feature_info feature_at(const far_predictor *p, int64_t i)
{
    far_feature_info f = far_columns_feature(far_predictor_describe(p).columns, i);
    bool unnamed =
        !far_columns_describe(far_predictor_describe(p).columns).named && i < subject_inputs(p);
    return unnamed ? (far_feature_info){subject_input(p, i),
                                        FAR_COLUMN_NUMBER,
                                        i,
                                        1,
                                        NULL,
                                        "",
                                        0,
                                        NAN,
                                        NAN}
                   : f;
}

static int64_t feature_count(const far_predictor *p)
{
    int64_t count = 0;
    while (feature_at(p, count).name) {
        count++;
    }
    return count;
}

/* ---- what counts --------------------------------------------------------------------------- */

/* Features in the order of what is lost without them. */
static void order_by(const double *lost, int64_t count, int64_t *order)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t k = i;
        for (; k > 0 && lost[i] > lost[order[k - 1]]; k--) {
            order[k] = order[k - 1];
        }
        order[k] = i;
    }
}

static void put_importance(report *r, const far_predictor *p, const char *label, int64_t n,
                           double score, const double *lost, const int64_t *order, int64_t count)
{
    static const far_result_column COLUMNS[] = {{NULL, "feature", NULL},
                                                {NULL, "lost without it", "%.4g"}};
    const char *names[MOST_FEATURES];
    double values[MOST_FEATURES];
    bool classes = far_columns_describe(far_predictor_describe(p).columns).classes > 0;
    const char *what = classes ? "accuracy" : "R^{2}";
    char caption[500], axis[64];
    int64_t shown = count < MOST_FEATURES ? count : MOST_FEATURES;
    snprintf(caption, sizeof caption,
             "What counts: %s of %lld of %s is %.4g; so much of it is lost when a feature's values "
             "are handed to other rows (the mean of %d permutations). Features that tell the same "
             "stand in for each other, and then none of them seems to count.",
             what, (long long)n, label, score, REPEATS);
    far_result_table(r->result, NULL, caption, COLUMNS, 2);
    for (int64_t i = 0; i < shown; i++) {
        names[i] = feature_at(p, order[i]).name;
        values[i] = lost[order[i]];
        far_result_cell_text(r->result, "%s", names[i]);
        far_result_cell(r->result, values[i]);
    }
    snprintf(axis, sizeof axis, "%s lost", what);
    far_figure_opts o = report_axes(NULL, axis);
    o.categories = names;
    o.category_count = shown;
    o.height = 320;
    report_draw(r, &o);
    report_bars(r, report_mark(NULL, 0), values, NULL, shown);
    report_place(r, "importance", "Permutation importance of the features, the largest first.");
}

/* ---- what a feature does ------------------------------------------------------------------- */

static bool depend(report *r, const far_predictor *p, const rows *d, int64_t feature,
                   const double *at, int64_t count, double *out)
{
    far_mat x = inputs_of(p, d), f = far_mat_view(out, count, subject_outputs(p), FAR_F64);
    far_status st = far_predictor_dependence(r->s->ctx, p, &x, feature, at, count, &f);
    report_check(r, st);
    return st == FAR_OK;
}

/* What the marks of a dependence stand for: the data, or where the predictor does not tell their
 * range, the rows at hand. */
typedef struct range {
    double low, high;
    bool learnt;
} range;

static range range_of(const far_predictor *p, const rows *d, const far_feature_info *f)
{
    range g = {f->low, f->high, true};
    if (!(f->low <= f->high)) {
        g = (range){INFINITY, -INFINITY, d->learnt};
        for (int64_t i = 0; i < d->n; i++) {
            double value = d->x[i * subject_inputs(p) + f->first];
            g.low = fmin(g.low, value);
            g.high = fmax(g.high, value);
        }
    }
    return g;
}

static void place_dependence(report *r, const char *name, int64_t rank, const char *more)
{
    char file[32], caption[400];
    snprintf(file, sizeof file, "dependence-%lld", (long long)rank + 1);
    snprintf(caption, sizeof caption,
             "Partial dependence on %s: the mean prediction over the rows if all had that value, "
             "the other features as they are.%s",
             name, more);
    report_place(r, file, caption);
}

static void mark_range(report *r, const range *g, const char *name, int64_t rank)
{
    report_rule(r, FAR_VERTICAL, g->low, g->learnt ? "data from" : "rows from");
    report_rule(r, FAR_VERTICAL, g->high, "to");
    place_dependence(r, name, rank,
                     g->learnt
                         ? " The data it learnt from lie between the dashed lines; beyond them it "
                           "is extrapolation."
                         : " The rows predicted here lie between the dashed lines; the range of "
                           "the data it learnt from is not known.");
}

/* Half a range beyond the data on either side, with the range marked. */
static void put_number(report *r, const far_predictor *p, const rows *d, int64_t feature,
                       int64_t rank)
{
    far_feature_info info = feature_at(p, feature);
    int64_t outputs = subject_outputs(p), lines = outputs < MOST_LINES ? outputs : MOST_LINES;
    double at[GRID], line[GRID];
    double *f = calloc((size_t)(GRID * outputs), sizeof *f);
    range g = range_of(p, d, &info);
    for (int i = 0; i < GRID; i++) {
        at[i] = g.low + (g.high - g.low) * (2.0 * i / (GRID - 1) - 0.5);
    }
    if (f && g.high > g.low && depend(r, p, d, feature, at, GRID, f)) {
        far_figure_opts o = report_axes(info.name, lines > 1 ? "output" : subject_score(p, 0));
        o.height = 320;
        report_draw(r, &o);
        for (int64_t k = 0; k < lines; k++) {
            for (int i = 0; i < GRID; i++) {
                line[i] = f[i * outputs + k];
            }
            report_line(r, report_mark(lines > 1 ? subject_score(p, k) : NULL, FAR_COLOUR_NEXT), at,
                        line, GRID);
        }
        mark_range(r, &g, info.name, rank);
    }
    free(f);
}

static void put_category(report *r, const far_predictor *p, const rows *d, int64_t feature,
                         int64_t rank)
{
    far_feature_info info = feature_at(p, feature);
    int64_t outputs = subject_outputs(p),
            count = info.width < MOST_LEVELS ? info.width : MOST_LEVELS;
    const char *names[MOST_LEVELS];
    double at[MOST_LEVELS], bar[MOST_LEVELS];
    double *f = calloc((size_t)(MOST_LEVELS * outputs), sizeof *f);
    for (int64_t k = 0; k < count; k++) {
        at[k] = (double)k;
        names[k] = info.levels[k];
    }
    if (f && depend(r, p, d, feature, at, count, f)) {
        for (int64_t k = 0; k < count; k++) {
            bar[k] = f[k * outputs];
        }
        far_figure_opts o = report_axes(info.name, subject_score(p, 0));
        o.categories = names;
        o.category_count = count;
        o.height = 320;
        report_draw(r, &o);
        report_bars(r, report_mark(NULL, 0), bar, NULL, count);
        place_dependence(r, info.name, rank, "");
    }
    free(f);
}

/* ---- the whole ----------------------------------------------------------------------------- */

static void explain(report *r, const far_predictor *p, rows *d, const char *label)
{
    int64_t count = feature_count(p);
    int64_t *order = calloc((size_t)count + 1, sizeof *order);
    double *lost = calloc((size_t)count + 1, sizeof *lost), score = NAN;
    if (!order || !lost || d->n < 2 || count < 2) { /* one feature is all that counts */
        goto done;
    }
    thin(p, count, d);
    far_result_for(r->result, FAR_FOR_PAGE);
    far_mat x = inputs_of(p, d), y = far_mat_view(d->y, d->n, subject_outputs(p), FAR_F64);
    far_status st =
        d->y ? far_predictor_importance(r->s->ctx, p, &x, &y, REPEATS, 0, &score, lost) : FAR_OK;
    report_check(r, st);
    order_by(lost, count, order);
    if (d->y && st == FAR_OK && isfinite(score)) {
        put_importance(r, p, label, d->n, score, lost, order, count);
    }
    for (int64_t k = 0; st == FAR_OK && k < count && k < LEADING; k++) {
        bool word = feature_at(p, order[k]).kind == FAR_COLUMN_WORD;
        (word ? put_category : put_number)(r, p, d, order[k], k);
    }
    far_result_for(r->result, FAR_FOR_ALL);
done:
    free(order);
    free(lost);
}

static bool training_rows(report *r, const far_predictor *p, rows *d)
{
    int64_t n = far_predictor_model(p) ? far_predictor_describe(p).rows : 0;
    bool there = n > 0 && rows_alloc(p, n, d);
    if (there) {
        far_mat x = inputs_of(p, d), y = far_mat_view(d->y, n, subject_outputs(p), FAR_F64);
        far_status st = far_predictor_rows(r->s->ctx, p, &x, &y);
        report_check(r, st);
        there = st == FAR_OK;
    }
    return there;
}

void explain_fit(report *r, const far_predictor *p)
{
    rows d = {.learnt = true};
    if (r->folder && training_rows(r, p, &d)) {
        explain(r, p, &d, "the rows it was fitted to");
    }
    rows_free(&d);
}

static void to_raw(double *v, int64_t n, const far_mat *centre, const far_mat *scale)
{
    int64_t cols = centre->cols;
    for (int64_t i = 0; i < n * cols; i++) {
        v[i] = ((const double *)centre->data)[i % cols] +
               ((const double *)scale->data)[i % cols] * v[i];
    }
}

/* The rows that count, with targets if they are there. */
static bool table_rows(report *r, const far_predictor *p, const dataset *t, rows *d)
{
    const far_columns *c = far_predictor_describe(p).columns;
    far_scaling s = subject_scaling(p);
    bool there = rows_alloc(p, t->count, d);
    far_mat x = inputs_of(p, d), y = far_mat_view(d->y, d->n, subject_outputs(p), FAR_F64);
    there = there && far_columns_encode(r->s->ctx, c, t->frame, t->rows, &x) == FAR_OK;
    bool known = there && far_columns_describe(c).named &&
                 far_columns_encode_targets(r->s->ctx, c, t->frame, t->rows, NULL, &y) == FAR_OK;
    if (there) {
        to_raw(d->x, d->n, &s.input_centre, &s.input_scale);
    }
    if (known) {
        to_raw(d->y, d->n, &s.output_centre, &s.output_scale);
    } else {
        free(d->y);
        d->y = NULL;
    }
    return there;
}

void explain_table(report *r, const far_predictor *p, const dataset *t, const char *label)
{
    rows d = {0};
    if (r->folder && table_rows(r, p, t, &d)) {
        explain(r, p, &d, label);
    }
    rows_free(&d);
}

/* ---- rows that are near -------------------------------------------------------------------- */

static void put_near(report *r, const far_predictor *p, const rows *training, const rows *d)
{
    static const far_result_column COLUMNS[] = {{NULL, "row", "%.0f"},
                                                {NULL, "training row", "%.0f"},
                                                {NULL, "distance", "%.4g"},
                                                {NULL, "its target", "%.6g"},
                                                {NULL, "it is", NULL}};
    int64_t points = d->n < NEAR_POINTS ? d->n : NEAR_POINTS, row[NEAR_POINTS * NEAR_ROWS];
    int64_t near = training->n < NEAR_ROWS ? training->n : NEAR_ROWS;
    double away[NEAR_POINTS * NEAR_ROWS];
    far_mat x = inputs_of(p, training), at = inputs_of(p, d);
    at.rows = points;
    far_status st = far_predictor_nearest(r->s->ctx, p, &x, &at, near, row, away);
    report_check(r, st);
    far_result_table(r->result, NULL,
                     "The training rows (numbered among those it was fitted to) that are nearest "
                     "to the first predictions: distance in standardised inputs, where the data "
                     "have spread 1 in each.",
                     COLUMNS, 5);
    for (int64_t k = 0; st == FAR_OK && k < points * near; k++) {
        char *place = subject_place(p, training->x + row[k] * subject_inputs(p), false, 1);
        far_result_cell(r->result, (double)(k / near + 1));
        far_result_cell(r->result, (double)row[k] + 1);
        far_result_cell(r->result, away[k]);
        far_result_cell(r->result, training->y[row[k] * subject_outputs(p)]);
        far_result_cell_text(r->result, "%s", place ? place : "");
        free(place);
    }
}

void explain_nearest(report *r, const far_predictor *p, const dataset *t)
{
    rows training = {0}, d = {0};
    if (r->folder) {
        far_result_for(r->result, FAR_FOR_PAGE);
        if (!far_predictor_model(p)) {
            far_result_line(r->result,
                            "The training rows nearest to a prediction are not shown: a file of "
                            "this kind (%s) does not keep them; those of infinite width do.",
                            far_predictor_describe(p).name);
        } else if (training_rows(r, p, &training) && table_rows(r, p, t, &d)) {
            put_near(r, p, &training, &d);
        }
        far_result_for(r->result, FAR_FOR_ALL);
    }
    rows_free(&training);
    rows_free(&d);
}
