/* What a certificate says: for a terminal, as JSON, and as a page. */
#include "files.h"
#include "metric_show.h"
#include "report_far.h"
#include "report_verbs.h"
#include "verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PICTURES = 4, DIGITS = 6 };

static const far_bound *bound(const report_proof *p, int64_t k)
{
    return far_certificate_bound(p->certificate, k);
}

/* ---- words --------------------------------------------------------------------------------- */

static const char *page_growth(const far_bound *c, char out[GROWTH_BYTES])
{
    return verdict_growth(c->slope, c->order, 4, true, out);
}

/* For a page. */
static void put_verdict(far_result *r, const far_predictor *m, const far_bound *c,
                        const char *scope)
{
    char growth[GROWTH_BYTES];
    bool firm = c->verdict == FAR_BOUNDED;
    char *place = subject_place(m, firm ? c->at : c->direction, !firm || c->at_infinity, 1);
    const char *where = place ? place : "";
    if (firm) {
        far_result_verdict(r, FAR_TONE_GOOD,
                           "Bounded: |%s| \xe2\x89\xa4 %.*g %s, proven. The largest "
                           "found is %.*g, %s %s.",
                           c->output, DIGITS, far_round_up(c->tightest, DIGITS), scope, DIGITS,
                           far_round_down(c->sup_found, DIGITS),
                           c->at_infinity ? "far along" : "at", where);
    } else if (c->verdict == FAR_UNBOUNDED) {
        far_result_verdict(r, FAR_TONE_BAD,
                           "Unbounded: %s grows like %s, t steps along %s. Far enough out it "
                           "exceeds any level.",
                           c->output, page_growth(c, growth), where);
    } else {
        far_result_verdict(r, FAR_TONE_BAD,
                           "Undecided: it is not proven that %s is bounded, nor that it runs away.",
                           c->output);
    }
    free(place);
}

/* What was asked for stands on the page like the verdict. */
static void put_answer(far_result *r, const report_proof *p, const far_bound *b)
{
    char *answer = verdict_level(p->subject, b, p->level);
    char about[DOMAIN_BYTES];
    const char *domain = verdict_domain(p->subject, b, about);
    bool never = b->verdict == FAR_BOUNDED && b->tightest <= p->level;
    if (answer) {
        far_result_verdict(r, never ? FAR_TONE_GOOD : FAR_TONE_BAD, "Above %g? %s.", p->level,
                           answer);
    }
    if (domain) {
        far_result_line(r, "%s: %s.", b->output, domain);
    }
    free(answer);
}

/* Each theorem once. */
static void put_theorems(far_result *r, const report_proof *p)
{
    const char *last = "";
    const far_bound *c;
    far_result_line(r, "%s", "");
    for (int64_t k = 0; (c = bound(p, k)); k++) {
        if (strcmp(c->theorem, last) != 0) {
            far_result_line(r, "because: %s", c->theorem);
        }
        last = c->theorem;
    }
}

/* A proof is about these bytes; whether they are those that were written, only a checksum tells. */
void certificate_unsealed(far_result *r, const char *name, const far_predictor *m)
{
    if (!far_predictor_describe(m).sealed) {
        far_result_line(r, "%s carries no checksum: nothing tells whether it is as it was written",
                        name);
    }
}

static void put_constants(far_result *r, const far_certificate_info *i)
{
    char supremum[64] = "";
    if (i->cells > 0) {
        far_result_line(r, "branch and bound: %lld cells, %s a gap of %g%%", (long long)i->cells,
                        i->finished ? "reached" : "did not reach", 100 * i->gap);
    }
    if (isfinite(i->C)) {
        snprintf(supremum, sizeof supremum, "C = sup of the kernel's diagonal = %.6g, ",
                 far_round_up(i->C, 6));
    }
    if (isfinite(i->condition)) {
        far_result_line(r, "%slambda_min %.4g, condition %.4g, ridge %.4g, %.2f s", supremum,
                        far_round_down(i->lambda_min, 4), i->condition, i->ridge, i->seconds);
    } else {
        far_result_line(r, "%sin real arithmetic: what rounding may hide is in the bounds; %.2f s",
                        supremum, i->seconds);
    }
}

/* ---- tables -------------------------------------------------------------------------------- */

static void put_growths(far_result *r, const report_proof *p)
{
    static const far_result_column COLUMNS[] = {
        {NULL, "output", NULL},
        {NULL, "grows like", NULL},
        {NULL, "intercept", "%.6g"},
        {NULL, "f / growth, a million data sizes out", "%.9g"}};
    const far_bound *c;
    char growth[GROWTH_BYTES];
    bool begun = false;
    for (int64_t k = 0; (c = bound(p, k)); k++) {
        if (c->verdict == FAR_UNBOUNDED) {
            if (!begun) {
                far_result_table(r, NULL,
                                 "Outputs that run away, t steps of length 1 along their "
                                 "direction.",
                                 COLUMNS, 4);
            }
            begun = true;
            far_result_cell_text(r, "%s", c->output);
            far_result_cell_text(r, "%s", page_growth(c, growth));
            far_result_cell(r, c->intercept);
            far_result_cell(r, c->confirmed);
        }
    }
}

static void put_along(far_result *r, const far_predictor *m, const along *a)
{
    static const far_result_column COLUMNS[] = {{NULL, "direction", NULL},
                                                {NULL, "output", NULL},
                                                {NULL, "limit", "%.6g"},
                                                {NULL, "grows like", NULL}};
    char growth[GROWTH_BYTES];
    if (a->direction.rows > 0) {
        far_result_table(r, NULL, "Along the directions that were asked for.", COLUMNS, 4);
    }
    for (int64_t i = 0; i < a->direction.rows; i++) {
        const double *u = (const double *)a->direction.data + i * a->direction.ld;
        char *place = subject_place(m, u, true, 1);
        for (int64_t k = 0; k < a->mean.cols; k++) {
            double order = along_order(a, i, k), value = mat_get(&a->mean, i, k);
            far_result_cell_text(r, "%s", place ? place : "");
            far_result_cell_text(r, "%s", subject_score(m, k));
            far_result_cell(r, order == 0 ? value : NAN);
            far_result_cell_text(r, "%s",
                                 order == 0 ? "-" : verdict_growth(value, order, 6, true, growth));
        }
        free(place);
    }
}

/* ---- pictures ------------------------------------------------------------------------------ */

/* What is drawn: points still + t u, with the ranks of their numbers if they follow. Categories
 * stand still, so that the line keeps to rows of a table. */
typedef struct ray {
    double *u, *still;
    bool follow;
    double found; /* t where the size was largest; NAN: nowhere on the line */
} ray;

static void hold_categories(const far_predictor *m, const double *at, ray *y)
{
    const far_columns *c = far_predictor_describe(m).columns;
    far_feature_info f;
    for (int64_t j = 0; (f = far_columns_feature(c, j)).name; j++) {
        for (int64_t i = f.first; f.levels && i < f.first + f.width; i++) {
            y->still[i] = at ? at[i] : i == f.first;
            y->u[i] = 0;
        }
        for (int64_t i = f.first + 1; f.ranked && y->follow && i < f.first + f.width; i++) {
            y->u[i] = 0;
        }
    }
}

/* Along the direction of the witness, or through the point where |f| was largest. */
static bool take_ray(const far_predictor *m, const far_bound *c, ray *y)
{
    bool firm = c->verdict == FAR_BOUNDED, point = firm && !c->at_infinity;
    const double *v = firm ? c->at : c->direction;
    double sum = 0;
    for (int64_t i = 0; v && i < subject_inputs(m); i++) {
        y->u[i] = v[i];
    }
    y->follow = v && far_columns_is_row(far_predictor_describe(m).columns, v, !point);
    if (y->follow) {
        hold_categories(m, point ? v : c->row, y);
    }
    for (int64_t i = 0; i < subject_inputs(m); i++) {
        sum += y->u[i] * y->u[i];
    }
    for (int64_t i = 0; sum > 0 && i < subject_inputs(m); i++) {
        y->u[i] /= sqrt(sum);
    }
    y->found = point ? sqrt(sum) : NAN;
    return sum > 0 && isfinite(sum);
}

/* The point that was found is one of those drawn. Its place; -1: it is not on the line. */
static int take_found(const ray *y, double t[FAR_VIEW_POINTS])
{
    int best = -1;
    for (int i = 0; isfinite(y->found) && i < FAR_VIEW_POINTS; i++) {
        best = best < 0 || fabs(t[i] - y->found) < fabs(t[best] - y->found) ? i : best;
    }
    if (best >= 0) {
        t[best] = y->found;
    }
    return best;
}

/* "district = north, kind = red", "" without categories. */
static char *levels_of(const far_predictor *m, const ray *y)
{
    enum { MOST = 6 };
    const far_columns *c = far_predictor_describe(m).columns;
    far_feature_info f;
    char *text = NULL;
    size_t length;
    int64_t shown = 0;
    FILE *out = open_memstream(&text, &length);
    for (int64_t j = 0; out && y->follow && (f = far_columns_feature(c, j)).name; j++) {
        for (int64_t k = 0; f.levels && k < f.width; k++) {
            if (y->still[f.first + k] == 1 && shown++ < MOST) {
                fprintf(out, "%s%s = %s", shown > 1 ? ", " : "", f.name, f.levels[k]);
            }
        }
    }
    if (out) {
        fputs(shown > MOST ? ", ..." : "", out);
        fclose(out);
    }
    return text;
}

static void draw_growth(report *r, const far_bound *c, const double *t)
{
    double line[FAR_VIEW_POINTS];
    char label[GROWTH_BYTES];
    int half = FAR_VIEW_POINTS / 2;
    far_mark_opts mark;
    for (int i = 0; i < FAR_VIEW_POINTS; i++) {
        line[i] = i > half ? c->slope * pow(t[i], c->order) : NAN;
    }
    mark = report_mark(page_growth(c, label), 1);
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

static void place_ray(report *r, const far_predictor *m, const far_bound *c, const ray *y,
                      int64_t k)
{
    char name[32], *caption = NULL, *levels = levels_of(m, y);
    bool firm = c->verdict == FAR_BOUNDED, held = levels && *levels;
    size_t length;
    FILE *out = open_memstream(&caption, &length);
    if (out) {
        fprintf(out, "%s along the %s", c->output,
                !firm            ? "direction in which it runs away"
                : c->at_infinity ? "direction far along which its size was largest"
                : held ? "line on which every number is the same multiple of what it is where the "
                         "largest size was found, which is marked"
                       : "line through 0 and where the largest size was found, which is marked");
        fprintf(out, "%s%s%s, to a million times the size of the data%s", held ? ", with " : "",
                held ? levels : "", held ? " all along" : "",
                firm ? ": between the dashed lines for ever."
                     : ", and the power of t that it follows.");
        fclose(out);
    }
    snprintf(name, sizeof name, "ray-%lld", (long long)k + 1);
    report_place(r, name, caption ? caption : c->output);
    free(caption);
    free(levels);
}

static void draw_ray(report *r, const far_predictor *m, const far_bound *c, const ray *y, int64_t k)
{
    double t[FAR_VIEW_POINTS], f[FAR_VIEW_POINTS], size = view_data_size(m);
    bool one = subject_inputs(m) == 1 && y->u[0] > 0, firm = c->verdict == FAR_BOUNDED;
    view_spread(size, t);
    int found = take_found(y, t);
    far_figure_opts o = report_axes(
        one ? subject_input(m, 0) : "t, steps of length 1 along the direction", c->output);
    o.x_scale = FAR_SCALE_SYMLOG;
    o.x_linear = size;
    o.y_scale = firm ? FAR_SCALE_LINEAR : FAR_SCALE_SYMLOG;
    o.legend = firm ? FAR_LEGEND_NONE : FAR_LEGEND_AUTO;
    report_draw(r, &o);
    if (view_along(r, m, &(view_line){y->u, y->still, y->follow}, t, k, f)) {
        report_line(r, report_mark(c->output, 0), t, f, FAR_VIEW_POINTS);
        if (found >= 0) {
            report_points(r, report_mark("largest found", FAR_COLOUR_INK), t + found, f + found, 1);
        }
    }
    (firm ? draw_bounds(r, c) : draw_growth(r, c, t));
}

static void put_ray(report *r, const far_predictor *m, const far_bound *c, int64_t k)
{
    int64_t inputs = subject_inputs(m);
    ray y = {calloc((size_t)inputs, sizeof *y.u), calloc((size_t)inputs, sizeof *y.still), false,
             NAN};
    if (y.u && y.still && take_ray(m, c, &y)) {
        draw_ray(r, m, c, &y, k);
        place_ray(r, m, c, &y, k);
    }
    free(y.u);
    free(y.still);
}

static void put_methods(report *r, const far_bound *c, int64_t k)
{
    far_proof columns[VERDICT_COLUMNS];
    const char *names[VERDICT_COLUMNS + 1] = {"found"};
    double values[VERDICT_COLUMNS + 1] = {c->sup_found}, places[VERDICT_COLUMNS + 1] = {0};
    int64_t count = 1;
    char name[32], label[200];
    int all = verdict_columns(c, columns);
    for (int i = 0; i < all; i++) {
        if (isfinite(columns[i].bound)) {
            names[count] = columns[i].method;
            places[count] = (double)count;
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
    report_points(r, report_mark(NULL, 0), places, values, count); /* the axis has no 0 for bars */
    snprintf(name, sizeof name, "bounds-%lld", (long long)k + 1);
    report_place(r, name,
                 "What is proven, beside the largest value that was found: the gap between the "
                 "first point and the lowest of the others is what is not known.");
}

/* ---- the whole ----------------------------------------------------------------------------- */

static void put_facts(report *r, const report_proof *p)
{
    far_certificate_info i = far_certificate_describe(p->certificate);
    const char *data = far_columns_describe(far_predictor_describe(p->subject).columns).hash;
    if (i.arch) {
        report_fact(r, "architecture", "%s", i.arch);
    }
    report_fact(r, "predictor", "%s, SHA-256 %s", i.kind, i.hash);
    if (data) {
        report_fact(r, "data", "SHA-256 %s", data);
    }
}

static void put_pictures(report *r, const report_proof *p)
{
    const far_bound *c;
    for (int64_t k = 0; k < MOST_PICTURES && (c = bound(p, k)); k++) {
        bool everywhere = isnan(far_certificate_describe(p->certificate).box_low);
        if (c->verdict != FAR_UNDECIDED && everywhere) { /* a ray leaves any box */
            put_ray(r, p->subject, c, k);
        }
        if (c->verdict == FAR_BOUNDED) {
            put_methods(r, c, k);
        }
    }
}

/* Lines for a terminal, verdicts for a page, and what both of them show. */
static void put_words(far_result *r, const report_proof *p)
{
    char room[SCOPE_BYTES];
    const char *scope = verdict_scope(p->certificate, room);
    far_certificate_info info = far_certificate_describe(p->certificate);
    int64_t told = 0;
    for (int64_t k = 0; k < info.outputs; k++) {
        if (!verdict_is_told(p->certificate, k)) {
            continue;
        }
        told++;
        far_result_for(r, FAR_FOR_TEXT);
        verdict_tell(r, p->subject, bound(p, k), p->level, scope);
        far_result_for(r, FAR_FOR_PAGE);
        put_verdict(r, p->subject, bound(p, k), scope);
        put_answer(r, p, bound(p, k));
    }
    far_result_for(r, FAR_FOR_PEOPLE);
    if (told < info.outputs) {
        far_result_line(r, "%lld of %lld outputs, those with the largest bounds; --json has all",
                        (long long)told, (long long)info.outputs);
    }
    verdict_table(r, p->certificate);
    put_theorems(r, p);
    if (info.metric != FAR_METRIC_NONE) {
        far_columns_info c = far_columns_describe(far_predictor_describe(p->subject).columns);
        metric_tell_null(r, &info.null, &c);
    }
    put_constants(r, &info);
    far_result_for(r, FAR_FOR_PAGE);
    put_growths(r, p);
    put_along(r, p->subject, p->along);
    verdict_along(r, p->subject, p->along);
    far_result_for(r, FAR_FOR_PEOPLE);
    certificate_unsealed(r, p->name, p->subject);
}

int certificate_tell(session *s, const common_args *a, const report_proof *p, const char *json)
{
    char title[512];
    report r;
    snprintf(title, sizeof title, "Can %s run away?", p->name);
    int code = report_begin(s, a, title, &r);
    far_result_fields(r.result, json);
    put_words(r.result, p);
    put_pictures(&r, p);
    far_result_for(r.result, FAR_FOR_ALL);
    put_facts(&r, p);
    return report_end(&r, code);
}
