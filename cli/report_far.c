#include "report_far.h"
#include "along.h"
#include "files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double FARTHEST = 1e6; /* in sizes of the data */
enum { SPREAD_ROWS = 3000 };        /* beyond, the band would take as long as the fit */

/* ---- rays ---------------------------------------------------------------------------------- */

double view_data_size(const far_predictor *m)
{
    far_scaling s = subject_scaling(m);
    const double *centre = s.input_centre.data, *scale = s.input_scale.data;
    double sum = 0;
    for (int64_t i = 0; i < subject_inputs(m); i++) {
        double reach = fabs(centre[i]) + scale[i];
        sum += reach * reach;
    }
    return sqrt(sum);
}

void view_spread(double size, double t[FAR_VIEW_POINTS])
{
    int half = FAR_VIEW_POINTS / 2;
    for (int i = 0; i < FAR_VIEW_POINTS; i++) {
        double part = (double)(i - half) / half;
        t[i] = size * sinh(part * asinh(FARTHEST));
    }
}

/* Failures of evaluation are the report's. */
static bool eval_into(report *r, const far_predictor *m, double *x, int64_t rows, double *out)
{
    far_status st = subject_eval(r->s, m, x, rows, out);
    far_result_check(r->result, st);
    return st == FAR_OK;
}

bool view_along(report *r, const far_predictor *m, const view_line *line,
                const double t[FAR_VIEW_POINTS], int64_t k, double out[FAR_VIEW_POINTS])
{
    int64_t inputs = subject_inputs(m), outputs = subject_outputs(m);
    double *x = calloc((size_t)(FAR_VIEW_POINTS * inputs), sizeof *x);
    double *f = calloc((size_t)(FAR_VIEW_POINTS * outputs), sizeof *f);
    bool done = r->folder && x && f;
    for (int64_t i = 0; done && i < FAR_VIEW_POINTS * inputs; i++) {
        x[i] = line->still[i % inputs] + t[i / inputs] * line->direction[i % inputs];
    }
    for (int64_t i = 0; done && line->follow && i < FAR_VIEW_POINTS; i++) {
        far_columns_set_ranks(far_predictor_describe(m).columns, x + i * inputs);
    }
    done = done && eval_into(r, m, x, FAR_VIEW_POINTS, f);
    for (int64_t i = 0; done && i < FAR_VIEW_POINTS; i++) {
        out[i] = f[i * outputs + k];
    }
    free(x);
    free(f);
    return done;
}

/* ---- functions of one input ----------------------------------------------------------------- */

/* Values of all subjects at the same points. */
typedef struct curve {
    double x[FAR_VIEW_POINTS], mean[FAR_VIEW_POINTS], low[FAR_VIEW_POINTS], high[FAR_VIEW_POINTS];
} curve;

bool view_possible(const one_input *v)
{
    return v->count > 0 && subject_inputs(v->subjects[0]) == 1 &&
           subject_outputs(v->subjects[0]) == 1;
}

static bool curve_eval(report *r, const one_input *v, curve *c)
{
    double f[FAR_VIEW_POINTS];
    for (int i = 0; i < FAR_VIEW_POINTS; i++) {
        c->mean[i] = 0;
        c->low[i] = INFINITY;
        c->high[i] = -INFINITY;
    }
    for (int64_t k = 0; k < v->count; k++) {
        if (!eval_into(r, v->subjects[k], c->x, FAR_VIEW_POINTS, f)) {
            return false;
        }
        for (int i = 0; i < FAR_VIEW_POINTS; i++) {
            c->mean[i] += f[i] / (double)v->count;
            c->low[i] = fmin(c->low[i], f[i]);
            c->high[i] = fmax(c->high[i], f[i]);
        }
    }
    return true;
}

/* The spread of a new observation instead of the range over seeds: mean +- 2 of them. */
static bool curve_spread(report *r, const far_predictor *m, curve *c)
{
    far_frame *frame = NULL;
    far_prediction *p = NULL;
    far_predict_opts opts;
    const char *name = subject_input(m, 0);
    far_mat x = far_mat_view(c->x, FAR_VIEW_POINTS, 1, FAR_F64);
    far_predict_opts_init(&opts);
    opts.spread = FAR_SPREAD_CALIBRATED;
    far_status st = far_frame_from_mat(r->s->ctx, &x, &name, &frame);
    if (st == FAR_OK) {
        st = far_predictor_predict(r->s->ctx, m, frame, &opts, &p);
    }
    if (st == FAR_OK) {
        far_mat spread = p->std;
        for (int i = 0; i < FAR_VIEW_POINTS; i++) {
            double twice = 2 * mat_get(&spread, i, 0);
            c->low[i] = c->mean[i] - twice;
            c->high[i] = c->mean[i] + twice;
        }
    }
    far_prediction_destroy(p);
    far_frame_destroy(frame);
    return st == FAR_OK;
}

static bool has_spread(const one_input *v)
{
    return v->count == 1 && far_predictor_model(v->subjects[0]) &&
           far_predictor_model(v->subjects[0])->rows <= SPREAD_ROWS;
}

/* Where the data lie; about the centre where there are none. */
static void data_range(const one_input *v, double *least, double *most)
{
    far_scaling s = subject_scaling(v->subjects[0]);
    double centre = *(const double *)s.input_centre.data,
           scale = *(const double *)s.input_scale.data;
    *least = centre - 2 * scale;
    *most = centre + 2 * scale;
    for (int64_t i = 0; i < v->n; i++) {
        *least = i == 0 ? v->x[i] : fmin(*least, v->x[i]);
        *most = i == 0 ? v->x[i] : fmax(*most, v->x[i]);
    }
}

static void draw_curve(report *r, const one_input *v, const curve *c, bool banded)
{
    const char *label = v->count > 1 ? "mean over seeds" : "prediction";
    report_line(r, report_mark(label, 0), c->x, c->mean, FAR_VIEW_POINTS);
    if (banded) {
        report_band(r, report_mark(NULL, 0), c->x, c->low, c->high, FAR_VIEW_POINTS);
    }
    if (v->n > 0) {
        report_points(r, report_mark("data", FAR_COLOUR_INK), v->x, v->y, v->n);
    }
}

static void put_near(report *r, const one_input *v)
{
    double least, most;
    curve c;
    data_range(v, &least, &most);
    for (int i = 0; i < FAR_VIEW_POINTS; i++) {
        c.x[i] = least + (most - least) * (3.0 * i / (FAR_VIEW_POINTS - 1) - 1);
    }
    if (!curve_eval(r, v, &c)) {
        return;
    }
    bool spread = has_spread(v) && curve_spread(r, v->subjects[0], &c);
    far_figure_opts o =
        report_axes(subject_input(v->subjects[0], 0), subject_output(v->subjects[0], 0));
    report_draw(r, &o);
    draw_curve(r, v, &c, spread || v->count > 1);
    report_place(r, "near",
                 spread ? "The function over its data and as far again to both sides. Shaded: two "
                          "standard deviations of a new observation."
                 : v->count > 1
                     ? "The function over its data and as far again to both sides. Shaded: the "
                       "range over seeds."
                     : "The function over its data and as far again to both sides.");
}

/* "limit 4.99" to the side of each end that has one. */
static void rule_limits(report *r, const far_predictor *m)
{
    static const char *const ENDS[] = {"1", "-1"}, *const NAMES[] = {"limit at +\xe2\x88\x9e",
                                                                     "limit at \xe2\x88\x92\xe2"
                                                                     "\x88\x9e"};
    for (int i = 0; i < 2; i++) {
        along a = {0};
        if (along_eval(r->s, m, ENDS[i], &a) == EXIT_DONE && along_order(&a, 0, 0) == 0) {
            char label[64];
            double limit = mat_get(&a.mean, 0, 0);
            snprintf(label, sizeof label, "%s: %.4g", NAMES[i], limit);
            report_rule(r, FAR_HORIZONTAL, limit, label);
        }
        along_free(&a);
    }
}

static bool runs_away(const curve *c, double reach)
{
    double least = fmin(c->low[0], c->low[FAR_VIEW_POINTS - 1]);
    double most = fmax(c->high[0], c->high[FAR_VIEW_POINTS - 1]);
    return fmax(fabs(least), fabs(most)) > 1000 * reach;
}

static void put_far(report *r, const one_input *v)
{
    const far_predictor *m = v->subjects[0];
    far_scaling s = subject_scaling(m);
    double size = view_data_size(m);
    double reach =
        fabs(*(const double *)s.output_centre.data) + *(const double *)s.output_scale.data;
    curve c;
    view_spread(size, c.x);
    if (!curve_eval(r, v, &c)) {
        return;
    }
    far_figure_opts o = report_axes(subject_input(m, 0), subject_output(m, 0));
    o.x_scale = FAR_SCALE_SYMLOG;
    o.x_linear = size;
    if (runs_away(&c, reach)) {
        o.y_scale = FAR_SCALE_SYMLOG;
        o.y_linear = reach;
    }
    report_draw(r, &o);
    draw_curve(r, v, &c, v->count > 1);
    const far_net *net = far_predictor_net(m);
    if (v->count == 1 && !(net && far_net_describe(net).linearized)) {
        rule_limits(r, m);
    }
    report_place(r, "far",
                 "The same to a million times the size of the data, on an axis that is logarithmic "
                 "far from 0. What is bounded is flat there.");
}

void view_put(report *r, const one_input *v)
{
    if (r->folder && view_possible(v)) {
        put_near(r, v);
        put_far(r, v);
    }
}
