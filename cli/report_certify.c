/* The report of a certificate. */
#define _GNU_SOURCE
#include "json.h"
#include "report_far.h"
#include "report_verbs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_METHODS = 4, MOST_PICTURES = 4, DIGITS = 6 };

/* One output's bound, of a model or of a network. */
typedef struct claim {
    const char *name, *theorem, *method;
    int verdict;
    double tightest, lowest, highest, found;
    const double *at, *direction;
    bool at_infinity;
    double slope, order, intercept, confirmed;
    const char *const *methods;
    double bounds[MOST_METHODS];
} claim;

static const char *const MODEL_METHODS[MOST_METHODS] = {"tightest", "B1", "B2", "B3"};
static const char *const NET_METHODS[MOST_METHODS] = {"branch and bound", "relaxation", "spectral",
                                                      "norm ball"};

static claim model_claim(const far_bound *b)
{
    return (claim){.name = b->output,
                   .theorem = b->theorem,
                   .method = b->method,
                   .verdict = b->verdict,
                   .tightest = b->tightest,
                   .lowest = b->lowest,
                   .highest = b->highest,
                   .found = b->sup_found,
                   .at = b->at,
                   .direction = b->direction,
                   .at_infinity = b->at_infinity,
                   .slope = b->slope,
                   .order = b->order,
                   .intercept = b->intercept,
                   .confirmed = b->confirmed,
                   .methods = MODEL_METHODS,
                   .bounds = {b->tightest, b->b1, b->b2, b->b3}};
}

static claim net_claim(const subject *m, const far_net_bound *b, int64_t k)
{
    return (claim){.name = subject_score(m, k),
                   .theorem = b->theorem,
                   .method = b->method,
                   .verdict = b->verdict,
                   .tightest = b->tightest,
                   .lowest = b->lowest,
                   .highest = b->highest,
                   .found = b->sup_found,
                   .at = b->at,
                   .direction = b->direction,
                   .at_infinity = b->at_infinity,
                   .slope = b->slope,
                   .order = b->order,
                   .intercept = b->intercept,
                   .confirmed = b->confirmed,
                   .methods = NET_METHODS,
                   .bounds = {b->branch, b->relaxation, b->spectral, b->norm_ball}};
}

static int64_t claim_count(const report_proof *p)
{
    return p->net ? far_net_certificate_describe(p->net).outputs
                  : far_certificate_describe(p->model).outputs;
}

static claim claim_of(const report_proof *p, int64_t k)
{
    return p->net ? net_claim(p->subject, far_net_certificate_bound(p->net, k), k)
                  : model_claim(far_certificate_bound(p->model, k));
}

/* ---- words --------------------------------------------------------------------------------- */

/* "time = 0.93, room = -0.2"; free it. NULL without memory. */
static char *place_text(const subject *m, const double *v, bool direction)
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

static void growth_text(const claim *c, char out[64])
{
    snprintf(out, 64, c->order == 1 ? "%.4g t" : "%.4g t^{%g}", c->slope, c->order);
}

static void put_verdict(report *r, const subject *m, const claim *c)
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
                       c->name, DIGITS, far_round_up(c->tightest, DIGITS), DIGITS,
                       far_round_down(c->found, DIGITS), c->at_infinity ? "far along" : "at",
                       where);
    } else if (c->verdict == FAR_UNBOUNDED) {
        report_verdict(r, FAR_TONE_BAD,
                       "Unbounded: %s grows like %s, t steps along %s. Far enough out it exceeds "
                       "any level.",
                       c->name, growth, where);
    } else {
        report_verdict(r, FAR_TONE_BAD,
                       "Undecided: it is not proven that %s is bounded, nor that it runs away.",
                       c->name);
    }
    free(place);
}

/* Each theorem once. */
static void put_theorems(report *r, const report_proof *p)
{
    const char *last = "";
    for (int64_t k = 0; k < claim_count(p); k++) {
        claim c = claim_of(p, k);
        if (strcmp(c.theorem, last) != 0) {
            report_text(r, "Because: %s.", c.theorem);
        }
        last = c.theorem;
    }
}

/* ---- tables -------------------------------------------------------------------------------- */

static void put_bound_row(report *r, const claim *c)
{
    report_cell(r, "%s", c->name);
    report_number(r, "%.5g", far_round_down(c->lowest, 5));
    report_number(r, "%.5g", far_round_up(c->highest, 5));
    report_number(r, "%.5g", far_round_down(c->found, 5));
    for (int i = 0; i < MOST_METHODS; i++) {
        report_number(r, "%.5g", far_round_up(c->bounds[i], 5));
    }
    report_cell(r, "%s", c->method ? c->method : "-");
}

static void put_bounds(report *r, const report_proof *p)
{
    const char *heads[] = {"output", "lowest", "highest", "found",      NULL,
                           NULL,     NULL,     NULL,      "tightest by"};
    int64_t rows = 0;
    for (int64_t k = 0; k < claim_count(p); k++) {
        claim c = claim_of(p, k);
        for (int i = 0; i < MOST_METHODS; i++) {
            heads[4 + i] = c.methods[i];
        }
        if (c.verdict == FAR_BOUNDED) {
            put_bound_row(r, &c);
            rows++;
        }
    }
    if (rows > 0) {
        report_table(r,
                     p->net ? "Every value lies between lowest and highest, proven. Found: the "
                              "largest size a search met. Then what each method proves |f| to be "
                              "at most."
                            : "Every value lies between lowest and highest, proven. Found: the "
                              "largest size a search met. B1: by the norm of f in its Hilbert "
                              "space; B2, B3: the looser forms of the paper.",
                     heads, sizeof heads / sizeof heads[0]);
    }
}

static void put_growths(report *r, const report_proof *p)
{
    static const char *const HEADS[] = {"output", "grows like", "intercept",
                                        "f / growth, a million data sizes out"};
    int64_t rows = 0;
    for (int64_t k = 0; k < claim_count(p); k++) {
        claim c = claim_of(p, k);
        char growth[64];
        if (c.verdict == FAR_UNBOUNDED) {
            growth_text(&c, growth);
            report_cell(r, "%s", c.name);
            report_cell(r, "%s", growth);
            report_number(r, "%.6g", c.intercept);
            report_number(r, "%.9g", c.confirmed);
            rows++;
        }
    }
    if (rows > 0) {
        report_table(r, "Outputs that run away, t steps of length 1 along their direction.", HEADS,
                     4);
    }
}

static void put_along(report *r, const subject *m, const along *a)
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
static bool draw_direction(const subject *m, const claim *c, double *u)
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

static void draw_growth(report *r, const claim *c, const double *t)
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

static void draw_bounds(report *r, const claim *c)
{
    char label[64];
    snprintf(label, sizeof label, "bound %.4g", far_round_up(c->tightest, 4));
    report_rule(r, FAR_HORIZONTAL, c->tightest, label);
    report_rule(r, FAR_HORIZONTAL, -c->tightest, NULL);
}

static void put_ray(report *r, const subject *m, const claim *c, int64_t k)
{
    double t[FAR_VIEW_POINTS], f[FAR_VIEW_POINTS], size = view_data_size(m);
    double *u = calloc((size_t)subject_inputs(m), sizeof *u);
    char caption[400], name[32];
    bool one = subject_inputs(m) == 1;
    if (u && draw_direction(m, c, u)) {
        bool firm = c->verdict == FAR_BOUNDED;
        view_spread(size, t);
        far_figure_opts o = report_axes(
            one ? subject_input(m, 0) : "t, steps of length 1 along the direction", c->name);
        o.x_scale = FAR_SCALE_SYMLOG;
        o.x_linear = size;
        o.y_scale = firm ? FAR_SCALE_LINEAR : FAR_SCALE_SYMLOG;
        o.legend = firm ? FAR_LEGEND_NONE : FAR_LEGEND_AUTO;
        report_draw(r, &o);
        if (view_along(r, m, u, t, k, f)) {
            report_line(r, report_mark(c->name, 0), t, f, FAR_VIEW_POINTS);
        }
        (firm ? draw_bounds(r, c) : draw_growth(r, c, t));
        snprintf(caption, sizeof caption,
                 firm ? "%s along the line through 0 and where its size was largest, to a million "
                        "times the size of the data: between the dashed lines for ever."
                      : "%s along the direction in which it runs away, to a million times the size "
                        "of the data, and the power of t that it follows.",
                 c->name);
        snprintf(name, sizeof name, "ray-%lld", (long long)k + 1);
        report_place(r, name, caption);
    }
    free(u);
}

static void put_methods(report *r, const claim *c, int64_t k)
{
    const char *names[MOST_METHODS + 1] = {"found"};
    double values[MOST_METHODS + 1] = {c->found};
    int64_t count = 1;
    char name[32];
    for (int i = 0; i < MOST_METHODS; i++) {
        if (isfinite(c->bounds[i])) {
            names[count] = c->methods[i];
            values[count++] = c->bounds[i];
        }
    }
    if (!(c->found > 0) || count < 2) {
        return;
    }
    char label[200];
    snprintf(label, sizeof label, "bound on |%s|", c->name);
    far_figure_opts o = report_axes(NULL, label);
    o.categories = names;
    o.category_count = count;
    o.y_scale = FAR_SCALE_LOG;
    o.height = 340;
    report_draw(r, &o);
    report_bars(r, report_mark(NULL, 0), values, NULL, count);
    snprintf(name, sizeof name, "bounds-%lld", (long long)k + 1);
    report_place(r, name,
                 "What each method proves, beside the largest value that was found: the gap "
                 "between the first bar and the lowest of the others is what is not known.");
}

/* ---- the whole ----------------------------------------------------------------------------- */

static void put_facts(report *r, const report_proof *p)
{
    const subject *m = p->subject;
    report_fact(r, "architecture", "%s", m->net ? far_net_text(m->net) : far_model_arch(m->model));
    if (p->net) {
        far_net_certificate_info i = far_net_certificate_describe(p->net);
        report_fact(r, "network", "SHA-256 %s", i.hash);
        report_fact(r, "arithmetic", "real: what rounding may hide is in the bounds");
        if (i.cells > 0) {
            report_fact(r, "branch and bound", "%lld cells, %s a gap of %g%%", (long long)i.cells,
                        i.finished ? "reached" : "did not reach", 100 * i.gap);
        }
        return;
    }
    far_certificate_info i = far_certificate_describe(p->model);
    if (isfinite(i.C)) {
        report_fact(r, "C", "%.6g, the supremum of the kernel's diagonal", far_round_up(i.C, 6));
    }
    report_fact(r, "ridge", "%.6g", i.ridge);
    report_fact(r, "lambda_min", "%.6g", far_round_down(i.lambda_min, 6));
    report_fact(r, "data", "SHA-256 %s", far_columns_hash(far_model_columns(m->model)));
}

void report_certificate(report *r, const report_proof *p, int argc, char **argv)
{
    char title[512];
    snprintf(title, sizeof title, "Can %s run away?", p->name);
    report_title(r, title);
    for (int64_t k = 0; k < claim_count(p); k++) {
        claim c = claim_of(p, k);
        put_verdict(r, p->subject, &c);
    }
    put_theorems(r, p);
    put_bounds(r, p);
    put_growths(r, p);
    put_along(r, p->subject, p->along);
    for (int64_t k = 0; k < claim_count(p) && k < MOST_PICTURES; k++) {
        claim c = claim_of(p, k);
        put_ray(r, p->subject, &c, k);
        if (c.verdict == FAR_BOUNDED) {
            put_methods(r, &c, k);
        }
    }
    report_command(r, argc, argv);
    put_facts(r, p);
}
