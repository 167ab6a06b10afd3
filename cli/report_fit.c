/* The report of a fit. */
#include "report_far.h"
#include "report_verbs.h"
#include "show.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BARS = 24, MOST_ROWS = 2000 };

/* ---- words --------------------------------------------------------------------------------- */

static void put_verdicts(report *r, const far_model *m, const far_model_info *i)
{
    int64_t count = far_model_candidate_count(m);
    report_verdict(r, FAR_TONE_PLAIN,
                   "%lld rows, %lld inputs: R^{2} %.4g on the rows it was fitted to; the system is "
                   "solved to a residual of %.1g.",
                   (long long)i->rows, (long long)i->inputs, i->r2_train, i->residual);
    for (int64_t k = 0; k < count; k++) {
        far_candidate c = far_model_candidate(m, k);
        if (c.chosen || count == 1) {
            report_verdict(r, c.bounded ? FAR_TONE_GOOD : FAR_TONE_BAD,
                           c.bounded ? "Its kernel is bounded: predictions cannot run away "
                                       "(farfield certify tells by how much)."
                                     : "Its kernel is not bounded: nothing keeps predictions from "
                                       "running away (farfield certify tells where to).");
        }
    }
    if (i->conflicts > 0) {
        report_verdict(r, FAR_TONE_BAD,
                       "%lld rows have the inputs of another row but other targets: no function "
                       "meets both.",
                       (long long)i->conflicts);
    }
}

/* ---- tables -------------------------------------------------------------------------------- */

static void put_line(report *r, const char *name, const char *format, double value)
{
    report_cell(r, "%s", name);
    report_number(r, format, value);
}

static void put_numbers(report *r, const far_model_info *i)
{
    static const char *const HEADS[] = {"of the fit", "value"};
    put_line(r, "rows", "%.0f", (double)i->rows);
    put_line(r, "inputs", "%.0f", (double)i->inputs);
    put_line(r, "R^{2} on the rows fitted", "%.6g", i->r2_train);
    put_line(r, "ridge", "%.6g", i->ridge);
    put_line(r, "ridge, relative to the mean diagonal", "%.6g", i->ridge_relative);
    put_line(r, "mean of the kernel's diagonal", "%.6g", i->mean_diagonal);
    put_line(r, "smallest eigenvalue", "%.4g", i->lambda_min);
    put_line(r, "largest eigenvalue", "%.4g", i->lambda_max);
    put_line(r, "condition number", "%.4g", i->condition);
    put_line(r, "residual of the solution", "%.2g", i->residual);
    put_line(r, "rows that repeat the inputs of another", "%.0f", (double)i->duplicates);
    put_line(r, "seconds", "%.2f", i->seconds_total);
    report_table(r, "How well it is determined.", HEADS, 2);
}

static const char *fate(const far_candidate *c)
{
    return c->chosen ? "chosen" : c->bounded ? "" : "unbounded";
}

static void put_candidates(report *r, const far_model *m)
{
    static const char *const HEADS[] = {
        "no.",        "architecture",   "ridge", "leave-one-out R^{2}",
        "edge R^{2}", "log lik. a row", "fate"};
    int64_t count = far_model_candidate_count(m);
    for (int64_t k = 0; k < count; k++) {
        far_candidate c = far_model_candidate(m, k);
        report_cell(r, "%lld", (long long)k + 1);
        report_cell(r, "%s", c.arch);
        report_number(r, "%.3g", c.ridge);
        report_number(r, "%.4f", c.loo_r2);
        report_number(r, "%.4f", c.edge_r2);
        report_number(r, "%.4f", c.log_likelihood);
        report_cell(r, "%s", fate(&c));
    }
    if (count > 0) {
        report_table(r,
                     "What it was chosen from. Leave-one-out: every row predicted from the others. "
                     "Edge: the outermost tenth predicted from the rest, where that could decide. "
                     "Unbounded ones are never chosen.",
                     HEADS, sizeof HEADS / sizeof HEADS[0]);
    }
}

/* ---- pictures ------------------------------------------------------------------------------ */

/* What is left unexplained, which tells good networks apart; NAN where nothing was asked. */
static double unexplained(double r2)
{
    return fmax(1 - r2, 1e-12) + (isnan(r2) ? NAN : 0);
}

static void put_bars(report *r, const far_model *m)
{
    char numbers[MOST_BARS][8];
    const char *names[MOST_BARS];
    double loo[MOST_BARS], edge[MOST_BARS];
    int64_t all = far_model_candidate_count(m), count = all < MOST_BARS ? all : MOST_BARS;
    for (int64_t k = 0; k < count; k++) {
        far_candidate c = far_model_candidate(m, k);
        snprintf(numbers[k], sizeof numbers[k], "%d%s", (int)k + 1, c.chosen ? " *" : "");
        names[k] = numbers[k];
        loo[k] = unexplained(c.loo_r2);
        edge[k] = unexplained(c.edge_r2);
    }
    if (count < 2) {
        return;
    }
    far_figure_opts o = report_axes("network, as numbered in the table", "1 \xe2\x88\x92 R^{2}");
    o.categories = names;
    o.category_count = count;
    o.y_scale = FAR_SCALE_LOG;
    report_draw(r, &o);
    report_bars(r, report_mark("leave-one-out", FAR_COLOUR_NEXT), loo, NULL, count);
    report_bars(r, report_mark("edge", FAR_COLOUR_NEXT), edge, NULL, count);
    report_place(
        r, "candidates",
        "The networks it was chosen from (* the one): the part of the variance that each "
        "leaves unexplained in rows it was not fitted to, one at a time and at the edge of "
        "the data. Lower is better.");
}

/* The training rows in raw units, evenly chosen; column k of the targets. */
typedef struct rows {
    int64_t count;
    double *x, *y, *f;
} rows;

static bool rows_make(report *r, const far_model *m, int64_t k, rows *out)
{
    far_mat x = far_model_points(m), y = far_model_targets(m);
    double centre =
        ((const double *)far_columns_scaling(far_model_columns(m)).output_centre.data)[k];
    double scale = ((const double *)far_columns_scaling(far_model_columns(m)).output_scale.data)[k];
    double x_centre = *(const double *)far_columns_scaling(far_model_columns(m)).input_centre.data;
    double x_scale = *(const double *)far_columns_scaling(far_model_columns(m)).input_scale.data;
    int64_t step = x.rows / MOST_ROWS + 1, places = x.rows / step + 1;
    double *f = calloc((size_t)(x.rows * y.cols) + 1, sizeof *f);
    far_mat mean = far_mat_view(f, x.rows, y.cols, FAR_F64);
    *out = (rows){0, calloc((size_t)places, sizeof(double)), calloc((size_t)places, sizeof(double)),
                  calloc((size_t)places, sizeof(double))};
    bool done =
        f && out->x && out->y && out->f && far_model_eval(r->s->ctx, m, &x, &mean) == FAR_OK;
    for (int64_t i = 0; done && i < x.rows; i += step) {
        out->x[out->count] = x_centre + x_scale * ((const double *)x.data)[i * x.ld];
        out->y[out->count] = centre + scale * ((const double *)y.data)[i * y.ld + k];
        out->f[out->count++] = f[i * y.cols + k];
    }
    free(f);
    return done;
}

static void rows_free(rows *d)
{
    free(d->x);
    free(d->y);
    free(d->f);
}

static void put_agreement(report *r, const far_model *m, const rows *d)
{
    double ends[] = {INFINITY, -INFINITY};
    for (int64_t i = 0; i < d->count; i++) {
        ends[0] = fmin(ends[0], d->y[i]);
        ends[1] = fmax(ends[1], d->y[i]);
    }
    if (!(ends[1] > ends[0])) {
        return;
    }
    char x[200], y[200];
    snprintf(x, sizeof x, "%s, as in the table", far_columns_target(far_model_columns(m), 0));
    snprintf(y, sizeof y, "%s, fitted", far_columns_target(far_model_columns(m), 0));
    far_figure_opts o = report_axes(x, y);
    o.width = 560;
    o.height = 480;
    report_draw(r, &o);
    report_points(r, report_mark(NULL, 0), d->y, d->f, d->count);
    report_line(r, report_mark(NULL, FAR_COLOUR_INK), ends, ends, 2);
    report_place(r, "fitted",
                 "The rows it was fitted to: how far the fit is from each. On the line they agree; "
                 "a larger ridge lets more of the noise be.");
}

static void put_pictures(report *r, const far_model *m, const far_model_info *i)
{
    rows d;
    put_bars(r, m);
    if (i->task == FAR_TASK_REGRESS && rows_make(r, m, 0, &d)) {
        far_predictor *p = NULL;
        report_check(r, far_predictor_of_model(r->s->ctx, m, &p));
        one_input v = {(const far_predictor *const *)&p, 1, d.x, d.y, d.count};
        view_put(r, &v);
        far_predictor_destroy(p);
        put_agreement(r, m, &d);
        rows_free(&d);
    }
}

/* ---- the whole ----------------------------------------------------------------------------- */

void report_fit(report *r, const far_model *m, const char *name, int argc, char **argv)
{
    char title[512];
    far_model_info i = far_model_describe(m);
    snprintf(title, sizeof title, "An infinitely wide network for %s",
             far_columns_target(far_model_columns(m), 0));
    report_title(r, title);
    put_verdicts(r, m, &i);
    put_numbers(r, &i);
    put_candidates(r, m);
    put_pictures(r, m, &i);
    report_command(r, argc, argv);
    report_fact(r, "architecture", "%s", far_model_arch(m));
    report_fact(r, "data", "%s, SHA-256 of what was used %s", name,
                far_columns_hash(far_model_columns(m)));
}
