/* The report of a certificate. */
#define _GNU_SOURCE
#include "json.h"
#include "report_far.h"
#include "report_verbs.h"
#include "verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PICTURES = 4, DIGITS = 6 };

static int64_t outputs(const report_proof *p)
{
    return far_certificate_describe(p->certificate).outputs;
}

/* ---- words --------------------------------------------------------------------------------- */

/* "time = 0.93, room = -0.2"; free it. NULL without memory. */
static char *place_text(const far_predictor *m, const double *v, bool direction)
{
    char *text = NULL;
    size_t length;
    FILE *out = v ? open_memstream(&text, &length) : NULL;
    if (out) {
        if (direction) {
            subject_print_largest(out, m, v, 1);
        } else {
            subject_print_point(out, m, v);
        }
        fclose(out);
    }
    return text;
}

static void growth_text(const far_bound *c, char out[64])
{
    snprintf(out, 64, c->order == 1 ? "%.4g t" : "%.4g t^{%g}", c->slope, c->order);
}

static void put_verdict(report *r, const far_predictor *m, const far_bound *c)
{
    char growth[64];
    bool firm = c->verdict == FAR_BOUNDED;
    char *place = place_text(m, firm ? c->at : c->direction, !firm || c->at_infinity);
    const char *where = place ? place : "";
    growth_text(c, growth);
    if (firm) {
        report_verdict(r, FAR_TONE_GOOD,
                       "Bounded: |%s| \xe2\x89\xa4 %.*g for every input, proven. The largest found "
                       "is %.*g, %s %s.",
                       c->output, DIGITS, far_round_up(c->tightest, DIGITS), DIGITS,
                       far_round_down(c->sup_found, DIGITS), c->at_infinity ? "far along" : "at",
                       where);
    } else if (c->verdict == FAR_UNBOUNDED) {
        report_verdict(r, FAR_TONE_BAD,
                       "Unbounded: %s grows like %s, t steps along %s. Far enough out it exceeds "
                       "any level.",
                       c->output, growth, where);
    } else {
        report_verdict(r, FAR_TONE_BAD,
                       "Undecided: it is not proven that %s is bounded, nor that it runs away.",
                       c->output);
    }
    free(place);
}

/* Each theorem once. */
static void put_theorems(report *r, const report_proof *p)
{
    const char *last = "";
    for (int64_t k = 0; k < outputs(p); k++) {
        const far_bound *c = far_certificate_bound(p->certificate, k);
        if (strcmp(c->theorem, last) != 0) {
            report_text(r, "Because: %s.", c->theorem);
        }
        last = c->theorem;
    }
}

/* ---- tables -------------------------------------------------------------------------------- */

static void put_bound_row(report *r, const far_bound *c)
{
    far_proof columns[VERDICT_COLUMNS];
    int count = verdict_columns(c, columns);
    report_cell(r, "%s", c->output);
    report_number(r, "%.5g", far_round_down(c->lowest, 5));
    report_number(r, "%.5g", far_round_up(c->highest, 5));
    report_number(r, "%.5g", far_round_down(c->sup_found, 5));
    for (int i = 0; i < count; i++) {
        report_number(r, "%.5g", far_round_up(columns[i].bound, 5));
    }
    report_cell(r, "%s", c->method ? c->method : "-");
}

static void put_bounds(report *r, const report_proof *p)
{
    enum { BEFORE = 4 };
    const char *heads[BEFORE + VERDICT_COLUMNS + 1] = {"output", "lowest", "highest", "found"};
    int64_t rows = 0, cols = 0;
    for (int64_t k = 0; k < outputs(p); k++) {
        const far_bound *c = far_certificate_bound(p->certificate, k);
        if (c->verdict == FAR_BOUNDED) {
            far_proof columns[VERDICT_COLUMNS];
            int count = verdict_columns(c, columns);
            for (int i = 0; i < count; i++) {
                heads[BEFORE + i] = columns[i].method;
            }
            cols = BEFORE + count + 1;
            heads[cols - 1] = "tightest by";
            put_bound_row(r, c);
            rows++;
        }
    }
    if (rows > 0) {
        report_table(r,
                     "Every value lies between lowest and highest, proven. Found: the largest size "
                     "a search met. Then what |f| is proven to be at most, by all that was tried "
                     "and by each method (B1: by the norm of f in its Hilbert space; B2, B3: the "
                     "looser forms of the paper).",
                     heads, cols);
    }
}

static void put_growths(report *r, const report_proof *p)
{
    static const char *const HEADS[] = {"output", "grows like", "intercept",
                                        "f / growth, a million data sizes out"};
    int64_t rows = 0;
    for (int64_t k = 0; k < outputs(p); k++) {
        const far_bound *c = far_certificate_bound(p->certificate, k);
        char growth[64];
        if (c->verdict == FAR_UNBOUNDED) {
            growth_text(c, growth);
            report_cell(r, "%s", c->output);
            report_cell(r, "%s", growth);
            report_number(r, "%.6g", c->intercept);
            report_number(r, "%.9g", c->confirmed);
            rows++;
        }
    }
    if (rows > 0) {
        report_table(r, "Outputs that run away, t steps of length 1 along their direction.", HEADS,
                     4);
    }
}

static void put_along(report *r, const far_predictor *m, const along *a)
{
    static const char *const HEADS[] = {"direction", "output", "limit", "grows like"};
    for (int64_t i = 0; i < a->direction.rows; i++) {
        char *place = place_text(m, (const double *)a->direction.data + i * a->direction.ld, true);
        for (int64_t k = 0; k < a->mean.cols; k++) {
            double order = along_order(a, i, k), value = mat_get(&a->mean, i, k);
            report_cell(r, "%s", place ? place : "");
            report_cell(r, "%s", subject_score(m, k));
            report_number(r, "%.6g", order == 0 ? value : NAN);
            if (order == 0) {
                report_cell(r, "-");
            } else {
                report_cell(r, order == 1 ? "%.6g t" : "%.6g t^{%g}", value, order);
            }
        }
        free(place);
    }
    if (a->direction.rows > 0) {
        report_table(r, "Along the directions that were asked for.", HEADS, 4);
    }
}

/* ---- pictures ------------------------------------------------------------------------------ */

/* A direction to draw along: that of the witness, or through the point where |f| was largest. */
static bool draw_direction(const far_predictor *m, const far_bound *c, double *u)
{
    const double *v = c->verdict == FAR_BOUNDED ? c->at : c->direction;
    double sum = 0;
    for (int64_t i = 0; v && i < subject_inputs(m); i++) {
        sum += v[i] * v[i];
    }
    for (int64_t i = 0; sum > 0 && i < subject_inputs(m); i++) {
        u[i] = v[i] / sqrt(sum);
    }
    return sum > 0 && isfinite(sum);
}

static void draw_growth(report *r, const far_bound *c, const double *t)
{
    double line[FAR_VIEW_POINTS];
    char label[64];
    int half = FAR_VIEW_POINTS / 2;
    far_mark_opts mark;
    for (int i = 0; i < FAR_VIEW_POINTS; i++) {
        line[i] = i > half ? c->slope * pow(t[i], c->order) : NAN;
    }
    growth_text(c, label);
    mark = report_mark(label, 1);
    mark.dash = FAR_DASH_DASHED;
    report_line(r, mark, t + half, line + half, FAR_VIEW_POINTS - half);
}

static void draw_bounds(report *r, const far_bound *c)
{
    char label[64];
    snprintf(label, sizeof label, "bound %.4g", far_round_up(c->tightest, 4));
    report_rule(r, FAR_HORIZONTAL, c->tightest, label);
    report_rule(r, FAR_HORIZONTAL, -c->tightest, NULL);
}

static void put_ray(report *r, const far_predictor *m, const far_bound *c, int64_t k)
{
    double t[FAR_VIEW_POINTS], f[FAR_VIEW_POINTS], size = view_data_size(m);
    double *u = calloc((size_t)subject_inputs(m), sizeof *u);
    char caption[400], name[32];
    bool one = subject_inputs(m) == 1;
    if (u && draw_direction(m, c, u)) {
        bool firm = c->verdict == FAR_BOUNDED;
        view_spread(size, t);
        far_figure_opts o = report_axes(
            one ? subject_input(m, 0) : "t, steps of length 1 along the direction", c->output);
        o.x_scale = FAR_SCALE_SYMLOG;
        o.x_linear = size;
        o.y_scale = firm ? FAR_SCALE_LINEAR : FAR_SCALE_SYMLOG;
        o.legend = firm ? FAR_LEGEND_NONE : FAR_LEGEND_AUTO;
        report_draw(r, &o);
        if (view_along(r, m, u, t, k, f)) {
            report_line(r, report_mark(c->output, 0), t, f, FAR_VIEW_POINTS);
        }
        (firm ? draw_bounds(r, c) : draw_growth(r, c, t));
        snprintf(caption, sizeof caption,
                 firm ? "%s along the line through 0 and where its size was largest, to a million "
                        "times the size of the data: between the dashed lines for ever."
                      : "%s along the direction in which it runs away, to a million times the size "
                        "of the data, and the power of t that it follows.",
                 c->output);
        snprintf(name, sizeof name, "ray-%lld", (long long)k + 1);
        report_place(r, name, caption);
    }
    free(u);
}

static void put_methods(report *r, const far_bound *c, int64_t k)
{
    far_proof columns[VERDICT_COLUMNS];
    const char *names[VERDICT_COLUMNS + 1] = {"found"};
    double values[VERDICT_COLUMNS + 1] = {c->sup_found};
    int64_t count = 1;
    char name[32], label[200];
    int all = verdict_columns(c, columns);
    for (int i = 0; i < all; i++) {
        if (isfinite(columns[i].bound)) {
            names[count] = columns[i].method;
            values[count++] = columns[i].bound;
        }
    }
    if (!(c->sup_found > 0) || count < 2) {
        return;
    }
    snprintf(label, sizeof label, "bound on |%s|", c->output);
    far_figure_opts o = report_axes(NULL, label);
    o.categories = names;
    o.category_count = count;
    o.y_scale = FAR_SCALE_LOG;
    o.height = 340;
    report_draw(r, &o);
    report_bars(r, report_mark(NULL, 0), values, NULL, count);
    snprintf(name, sizeof name, "bounds-%lld", (long long)k + 1);
    report_place(r, name,
                 "What is proven, beside the largest value that was found: the gap between the "
                 "first bar and the lowest of the others is what is not known.");
}

/* ---- the whole ----------------------------------------------------------------------------- */

static void put_facts(report *r, const report_proof *p)
{
    far_certificate_info i = far_certificate_describe(p->certificate);
    const char *data = far_columns_hash(far_predictor_columns(p->subject));
    if (i.arch) {
        report_fact(r, "architecture", "%s", i.arch);
    }
    report_fact(r, "predictor", "%s, SHA-256 %s", i.kind, i.hash);
    if (i.cells > 0) {
        report_fact(r, "branch and bound", "%lld cells, %s a gap of %g%%", (long long)i.cells,
                    i.finished ? "reached" : "did not reach", 100 * i.gap);
    }
    if (isfinite(i.C)) {
        report_fact(r, "C", "%.6g, the supremum of the kernel's diagonal", far_round_up(i.C, 6));
    }
    if (isfinite(i.lambda_min)) {
        report_fact(r, "ridge", "%.6g", i.ridge);
        report_fact(r, "lambda_min", "%.6g", far_round_down(i.lambda_min, 6));
    }
    if (data) {
        report_fact(r, "data", "SHA-256 %s", data);
    }
}

void report_certificate(report *r, const report_proof *p, int argc, char **argv)
{
    char title[512];
    snprintf(title, sizeof title, "Can %s run away?", p->name);
    report_title(r, title);
    for (int64_t k = 0; k < outputs(p); k++) {
        put_verdict(r, p->subject, far_certificate_bound(p->certificate, k));
    }
    put_theorems(r, p);
    put_bounds(r, p);
    put_growths(r, p);
    put_along(r, p->subject, p->along);
    for (int64_t k = 0; k < outputs(p) && k < MOST_PICTURES; k++) {
        const far_bound *c = far_certificate_bound(p->certificate, k);
        if (c->verdict != FAR_UNDECIDED) {
            put_ray(r, p->subject, c, k);
        }
        if (c->verdict == FAR_BOUNDED) {
            put_methods(r, c, k);
        }
    }
    report_command(r, argc, argv);
    put_facts(r, p);
}
