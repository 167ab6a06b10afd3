#define _GNU_SOURCE
#include "verdict.h"
#include "files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-truncation" /* a power has few digits */
const char *verdict_growth(double slope, double order, int digits, bool markup,
                           char out[GROWTH_BYTES])
{
    int used = snprintf(out, GROWTH_BYTES, "%.*g t", digits, slope);
    if (order != 1) {
        snprintf(out + used, GROWTH_BYTES - (size_t)used, markup ? "^{%g}" : "^%g", order);
    }
    return out;
}
#pragma GCC diagnostic pop

/* ---- one output ---------------------------------------------------------------------------- */

/* A level that is never passed may be printed higher, one that is passed lower. */
static void put_bounded_level(FILE *out, const far_bound *b, double level)
{
    if (b->tightest <= level) {
        fprintf(out, "|%s| is never above %g", b->output, far_round_up(level, 6));
    } else if (b->sup_found > level) {
        fprintf(out, "|%s| is above %g there", b->output, far_round_down(level, 6));
    } else {
        fprintf(out, "whether |%s| is ever above %g is not decided", b->output, level);
    }
}

/* Inputs that proofs take for any real numbers, and rows of a table do not have so. */
static const char *taken_as_real(const far_predictor *m)
{
    bool categories = subject_has_categories(m), ranks = subject_has_ranks(m);
    return categories && ranks ? "categories and ranks"
           : categories        ? "categories"
           : ranks             ? "ranks"
                               : NULL;
}

static void put_beyond(FILE *out, const far_predictor *m, const far_bound *b, double level)
{
    char *place = subject_place(m, b->direction, true, b->beyond);
    char *row = subject_place(m, b->row, false, 1);
    fprintf(out,
            b->beyond_proven ? "|%s| > %g for every t above %.6g, beyond the point %s"
                             : "|%s| > %g from t = %.6g on (by a scan), beyond the point %s",
            b->output, far_round_down(level, 6), far_round_up(b->beyond, 6), place ? place : "");
    if (taken_as_real(m)) {
        bool rows = far_columns_is_row(far_predictor_describe(m).columns, b->direction, true);
        fputs(!rows                       ? ", where no row of a table is"
              : subject_has_categories(m) ? " and 0 in every category"
                                          : "",
              out);
    }
    if (row) {
        fprintf(out, "; it is at the row %s", row);
    }
    free(place);
    free(row);
}

static void put_level(FILE *out, const far_predictor *m, const far_bound *b, double level)
{
    if (b->verdict == FAR_BOUNDED) {
        put_bounded_level(out, b, level);
    } else if (b->verdict == FAR_UNDECIDED) {
        fprintf(out, "whether |%s| is ever above %g is not decided", b->output, level);
    } else if (isnan(b->beyond)) {
        fprintf(out, "no point was found beyond which |%s| > %g", b->output, level);
    } else {
        put_beyond(out, m, b, level);
    }
}

char *verdict_level(const far_predictor *m, const far_bound *b, double level)
{
    char *text = NULL;
    size_t length;
    FILE *out = isnan(level) ? NULL : open_memstream(&text, &length);
    if (out) {
        put_level(out, m, b, level);
        fclose(out);
    }
    return text;
}

const char *verdict_domain(const far_predictor *m, const far_bound *b, char out[DOMAIN_BYTES])
{
    const double *v = b->verdict == FAR_BOUNDED ? b->at : b->direction;
    const char *what = taken_as_real(m);
    bool row = v && far_columns_is_row(far_predictor_describe(m).columns, v,
                                       b->verdict != FAR_BOUNDED || b->at_infinity);
    if (!what || !v) {
        return NULL;
    }
    if (b->verdict != FAR_BOUNDED && row) {
        snprintf(out, DOMAIN_BYTES, "rows of a table can go there%s",
                 subject_has_categories(m) ? ", whatever their categories" : "");
    } else {
        snprintf(out, DOMAIN_BYTES,
                 b->verdict != FAR_BOUNDED
                     ? "the direction takes %s for any real numbers: no row of a table goes there"
                 : row ? "the bound takes %s for any real numbers; what was found is a row that a "
                         "table can hold"
                       : "bound and what was found take %s for any real numbers: no row of a table "
                         "is there",
                 what);
    }
    return out;
}

const char *verdict_scope(const far_certificate *c, char out[SCOPE_BYTES])
{
    far_certificate_info i = far_certificate_describe(c);
    if (isnan(i.box_low)) {
        return "for every input";
    }
    snprintf(out, SCOPE_BYTES, "for inputs between %.9g and %.9g", i.box_low, i.box_high);
    return out;
}

static void tell_bounded(far_result *r, const far_predictor *m, const far_bound *b,
                         const char *scope)
{
    char found[64] = "", ratio[64] = "";
    char *place = subject_place(m, b->at, b->at_infinity, 1);
    if (b->at) {
        snprintf(found, sizeof found, "; the largest found is %.6g %s ",
                 far_round_down(b->sup_found, 6), b->at_infinity ? "far along" : "at");
    }
    if (b->at && b->sup_found > 0) {
        snprintf(ratio, sizeof ratio, " (bound / found %.4g)",
                 far_round_up(b->tightest / b->sup_found, 4));
    }
    far_result_line(r, "bounded: |%s| <= %.6g %s%s%s%s", b->output, far_round_up(b->tightest, 6),
                    scope, found, place ? place : "", ratio);
    free(place);
}

static void tell_unbounded(far_result *r, const far_predictor *m, const far_bound *b)
{
    char growth[GROWTH_BYTES], intercept[64] = "";
    verdict_growth(b->slope, b->order, 6, false, growth);
    if (!isnan(b->intercept)) {
        snprintf(intercept, sizeof intercept, " %c %.6g", b->intercept < 0 ? '-' : '+',
                 fabs(b->intercept));
    }
    far_result_line(r, "unbounded: along this direction %s grows like %s%s:", b->output, growth,
                    intercept);
    subject_tell_direction(r, m, b->direction);
    if (!isnan(b->confirmed)) {
        far_result_line(r,
                        "  a million times the size of the data away, or further, %s is %.9g of %s",
                        b->output, b->confirmed, growth);
    }
}

void verdict_tell(far_result *r, const far_predictor *m, const far_bound *b, double level,
                  const char *scope)
{
    char *answer = verdict_level(m, b, level);
    char about[DOMAIN_BYTES];
    const char *domain = verdict_domain(m, b, about);
    if (b->verdict == FAR_BOUNDED) {
        tell_bounded(r, m, b, scope);
    } else if (b->verdict == FAR_UNBOUNDED) {
        tell_unbounded(r, m, b);
    } else {
        far_result_line(r, "undecided: whether %s is bounded is not proven", b->output);
    }
    if (domain) {
        far_result_line(r, "  %s", domain);
    }
    if (answer) {
        far_result_line(r, "  %s", answer);
    }
    free(answer);
    if (b->verdict != FAR_BOUNDED && isfinite(b->growth)) {
        far_result_line(r, "  |%s| <= %.6g |x| + %.6g for every input x, proven", b->output,
                        far_round_up(b->growth, 6), far_round_up(b->offset, 6));
    }
}

/* ---- the table ----------------------------------------------------------------------------- */

int verdict_columns(const far_bound *b, far_proof out[VERDICT_COLUMNS])
{
    int count = 0;
    out[count++] = (far_proof){"tightest", b->tightest};
    for (int i = 0; isnan(b->b1) && i < FAR_PROOFS; i++) {
        if (b->proofs[i].method) {
            out[count++] = b->proofs[i];
        }
    }
    if (!isnan(b->b1)) {
        out[count++] = (far_proof){"B1", b->b1};
        out[count++] = (far_proof){"B2", b->b2};
        out[count++] = (far_proof){"B3", b->b3};
    }
    return count;
}

/* The heads are those of its first bounded output: methods are the same for all. */
static void begin_table(far_result *r, const far_bound *b)
{
    static const char FORMAT[] = "%10.5g";
    far_result_column columns[5 + VERDICT_COLUMNS] = {{NULL, "output", NULL},
                                                      {NULL, "lowest", FORMAT},
                                                      {NULL, "highest", FORMAT},
                                                      {NULL, "found", FORMAT}};
    far_proof proofs[VERDICT_COLUMNS];
    int count = verdict_columns(b, proofs), cols = 4;
    for (int i = 0; i < count; i++) {
        bool branch = strcmp(proofs[i].method, "branch and bound") == 0;
        columns[cols++] = (far_result_column){NULL, branch ? "branch" : proofs[i].method, FORMAT};
    }
    columns[cols++] = (far_result_column){NULL, "tightest by", NULL};
    far_result_table(r, NULL,
                     "Every value lies between lowest and highest, proven. Found: the largest size "
                     "a search met. Then what |f| is proven to be at most, by all that was tried "
                     "and by each method (B1: by the norm of f in its Hilbert space; B2, B3: the "
                     "looser forms of the paper).",
                     columns, cols);
}

static void put_finite(far_result *r, double value)
{
    far_result_cell(r, isfinite(value) ? value : NAN);
}

static void put_row(far_result *r, const far_bound *b)
{
    far_proof proofs[VERDICT_COLUMNS];
    int count = verdict_columns(b, proofs);
    far_result_cell_text(r, "%s", b->output);
    put_finite(r, far_round_down(b->lowest, 5));
    put_finite(r, far_round_up(b->highest, 5));
    put_finite(r, far_round_down(b->sup_found, 5));
    for (int i = 0; i < count; i++) {
        put_finite(r, far_round_up(proofs[i].bound, 5));
    }
    far_result_cell_text(r, "%s", b->method ? b->method : "-");
}

enum { MOST_TOLD = 50, WORST_TOLD = 10 };

static double badness(const far_bound *b)
{
    return b->verdict == FAR_BOUNDED ? b->tightest : INFINITY;
}

bool verdict_is_told(const far_certificate *c, int64_t k)
{
    int64_t outputs = far_certificate_describe(c).outputs, worse = 0;
    double own = badness(far_certificate_bound(c, k));
    for (int64_t i = 0; outputs > MOST_TOLD && i < outputs && worse < WORST_TOLD; i++) {
        double other = badness(far_certificate_bound(c, i));
        worse += other > own || (other == own && i < k);
    }
    return worse < WORST_TOLD;
}

void verdict_table(far_result *r, const far_certificate *c)
{
    bool begun = false;
    const far_bound *b;
    for (int64_t k = 0; (b = far_certificate_bound(c, k)); k++) {
        if (b->verdict == FAR_BOUNDED && verdict_is_told(c, k)) {
            begun ? (void)0 : begin_table(r, b);
            begun = true;
            put_row(r, b);
        }
    }
}

/* ---- along directions ---------------------------------------------------------------------- */

static const double *row_of(const far_mat *m, int64_t i)
{
    return (const double *)m->data + i * m->ld;
}

/* "y1 -> 5.5, y2 ~ 3 t" */
static char *limits_text(const far_predictor *m, const along *a, int64_t i)
{
    char *text = NULL, growth[GROWTH_BYTES];
    size_t length;
    FILE *out = open_memstream(&text, &length);
    for (int64_t k = 0; out && k < a->mean.cols; k++) {
        double order = along_order(a, i, k), mean = mat_get(&a->mean, i, k);
        fprintf(out, "%s%s ", k ? ", " : "", subject_score(m, k));
        if (order == 0) {
            fprintf(out, "-> %.6g", mean);
        } else {
            fprintf(out, "~ %s", verdict_growth(mean, order, 6, false, growth));
        }
    }
    if (out) {
        fclose(out);
    }
    return text;
}

static void tell_along(far_result *r, const far_predictor *m, const along *a, int64_t i)
{
    char *limits = limits_text(m, a, i);
    const char *text = limits ? limits : "";
    if (a->inlined) {
        far_result_line(r, "along %s: %s", a->label, text);
    } else {
        far_result_line(r, "along row %lld of %s: %s", (long long)i + 1, a->label, text);
    }
    free(limits);
}

static bool one_order(const along *a, int64_t i)
{
    for (int64_t k = 1; k < a->order.cols; k++) {
        if (along_order(a, i, k) != along_order(a, i, 0)) {
            return false;
        }
    }
    return true;
}

/* Outputs of a network may differ in order: then there are as many. */
static void list_along(far_result *r, const along *a, int64_t i)
{
    double order = along_order(a, i, 0);
    far_result_open(r, NULL);
    far_result_list(r, "direction", row_of(&a->direction, i), a->direction.cols);
    if (one_order(a, i)) {
        far_result_number(r, "order", order, NULL, NULL);
        far_result_list(r, order == 0 ? "limit" : "slope", row_of(&a->mean, i), a->mean.cols);
    } else {
        far_result_list(r, "orders", row_of(&a->order, i), a->order.cols);
        far_result_list(r, "values", row_of(&a->mean, i), a->mean.cols);
    }
    far_result_close(r);
}

void verdict_along(far_result *r, const far_predictor *m, const along *a)
{
    far_result_for(r, FAR_FOR_TEXT);
    for (int64_t i = 0; i < a->direction.rows; i++) {
        tell_along(r, m, a, i);
    }
    far_result_for(r, FAR_FOR_JSON);
    if (a->label) {
        far_result_open_list(r, "along");
        for (int64_t i = 0; i < a->direction.rows; i++) {
            list_along(r, a, i);
        }
        far_result_close(r);
    }
}
