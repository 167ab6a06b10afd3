#include "verdict.h"
#include "json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "0.218 t", "0.5 t^2" */
static void print_growth(double slope, double order)
{
    print(order == 1 ? "%.6g t" : "%.6g t^%g", slope, order);
}

/* ---- verdicts ------------------------------------------------------------------------------ */

/* A level that is never passed may be printed higher, one that is passed lower. */
static void print_bounded_level(const char *name, double tightest, double found, double level)
{
    if (tightest <= level) {
        print("  |%s| is never above %g\n", name, far_round_up(level, 6));
    } else if (found > level) {
        print("  |%s| is above %g there\n", name, far_round_down(level, 6));
    } else if (!isnan(level)) {
        print("  whether |%s| is ever above %g is not decided\n", name, level);
    }
}

static void print_bounded(const far_predictor *m, const far_bound *b, double level)
{
    print("bounded: |%s| <= %.6g for every input", b->output, far_round_up(b->tightest, 6));
    if (b->at) {
        print("; the largest found is %.6g %s ", far_round_down(b->sup_found, 6),
              b->at_infinity ? "far along" : "at");
        (b->at_infinity ? subject_print_largest(stdout, m, b->at, 1)
                        : subject_print_point(stdout, m, b->at));
    }
    if (b->at && b->sup_found > 0) {
        print(" (bound / found %.4g)", far_round_up(b->tightest / b->sup_found, 4));
    }
    print("\n");
    print_bounded_level(b->output, b->tightest, b->sup_found, level);
}

static void print_level(const far_predictor *m, const far_bound *b, double level)
{
    if (isnan(level)) {
        return;
    }
    if (isnan(b->beyond)) {
        print("  no point was found beyond which |%s| > %g\n", b->output, level);
        return;
    }
    print(b->beyond_proven ? "  |%s| > %g for every t above %.6g, beyond the point "
                           : "  |%s| > %g from t = %.6g on (by a scan), beyond the point ",
          b->output, far_round_down(level, 6), far_round_up(b->beyond, 6));
    subject_print_largest(stdout, m, b->direction, b->beyond);
    print("\n");
}

static void print_unbounded(const far_predictor *m, const far_bound *b, double level)
{
    print("unbounded: along this direction %s grows like ", b->output);
    print_growth(b->slope, b->order);
    if (!isnan(b->intercept)) {
        print(" %c %.6g", b->intercept < 0 ? '-' : '+', fabs(b->intercept));
    }
    print(":\n");
    subject_print_direction(m, b->direction);
    if (!isnan(b->confirmed)) {
        print("  a million times the size of the data away, or further, %s is %.9g of ", b->output,
              b->confirmed);
        print_growth(b->slope, b->order);
        print("\n");
    }
    print_level(m, b, level);
}

static void print_open(const far_bound *b, double level)
{
    print("undecided: whether %s is bounded is not proven\n", b->output);
    if (!isnan(level)) {
        print("  whether |%s| is ever above %g is not decided\n", b->output, level);
    }
}

static void print_output(const far_predictor *m, const far_bound *b, double level)
{
    if (b->verdict == FAR_BOUNDED) {
        print_bounded(m, b, level);
    } else if (b->verdict == FAR_UNBOUNDED) {
        print_unbounded(m, b, level);
    } else {
        print_open(b, level);
    }
    if (b->verdict != FAR_BOUNDED && isfinite(b->growth)) {
        print("  |%s| <= %.6g |x| + %.6g for every input x, proven\n", b->output,
              far_round_up(b->growth, 6), far_round_up(b->offset, 6));
    }
}

/* ---- the table ----------------------------------------------------------------------------- */

enum { TABLE_DIGITS = 5 };

static int widest_output(const far_certificate *c, int64_t outputs)
{
    int widest = (int)strlen("output");
    for (int64_t k = 0; k < outputs; k++) {
        int length = (int)strlen(far_certificate_bound(c, k)->output);
        widest = length > widest ? length : widest;
    }
    return widest;
}

int verdict_columns(const far_bound *b, far_proof out[VERDICT_COLUMNS])
{
    int count = 0;
    out[count++] = (far_proof){"tightest", b->tightest};
    for (int i = 0; isnan(b->b1) && i < FAR_PROOFS && b->proofs[i].method; i++) {
        out[count++] = b->proofs[i];
    }
    if (!isnan(b->b1)) {
        out[count++] = (far_proof){"B1", b->b1};
        out[count++] = (far_proof){"B2", b->b2};
        out[count++] = (far_proof){"B3", b->b3};
    }
    return count;
}

static void print_number(double value)
{
    if (isfinite(value)) {
        print(" %11.*g", TABLE_DIGITS, value);
    } else {
        print(" %11s", "-");
    }
}

static void print_head(const far_bound *b, int width)
{
    far_proof columns[VERDICT_COLUMNS];
    int count = verdict_columns(b, columns);
    print("\n%-*s %11s %11s %11s", width, "output", "lowest", "highest", "found");
    for (int i = 0; i < count; i++) {
        print(" %11s",
              strcmp(columns[i].method, "branch and bound") ? columns[i].method : "branch");
    }
    print("  %s\n", "tightest by");
}

static void print_row(const far_bound *b, int width)
{
    far_proof columns[VERDICT_COLUMNS];
    int count = verdict_columns(b, columns);
    print("%-*s", width, b->output);
    print_number(far_round_down(b->lowest, TABLE_DIGITS));
    print_number(far_round_up(b->highest, TABLE_DIGITS));
    print_number(far_round_down(b->sup_found, TABLE_DIGITS));
    for (int i = 0; i < count; i++) {
        print_number(far_round_up(columns[i].bound, TABLE_DIGITS));
    }
    print("  %s\n", b->method);
}

static void print_table(const far_certificate *c, int64_t outputs)
{
    int width = widest_output(c, outputs);
    bool head = false;
    for (int64_t k = 0; k < outputs; k++) {
        const far_bound *b = far_certificate_bound(c, k);
        if (b->verdict == FAR_BOUNDED && !head) {
            print_head(b, width);
            head = true;
        }
        if (b->verdict == FAR_BOUNDED) {
            print_row(b, width);
        }
    }
}

/* Each theorem once. */
static void print_theorems(const far_certificate *c, int64_t outputs)
{
    const char *last = "";
    print("\n");
    for (int64_t k = 0; k < outputs; k++) {
        const char *theorem = far_certificate_bound(c, k)->theorem;
        if (strcmp(theorem, last) != 0) {
            print("because: %s\n", theorem);
        }
        last = theorem;
    }
}

static void print_constants(const far_certificate_info *i)
{
    if (i->cells > 0) {
        print("branch and bound: %lld cells, %s a gap of %g%%\n", (long long)i->cells,
              i->finished ? "reached" : "did not reach", 100 * i->gap);
    }
    if (isfinite(i->C)) {
        print("C = sup of the kernel's diagonal = %.6g, ", far_round_up(i->C, 6));
    }
    if (isfinite(i->condition)) {
        print("lambda_min %.4g, condition %.4g, ridge %.4g, ", far_round_down(i->lambda_min, 4),
              i->condition, i->ridge);
    } else {
        print("in real arithmetic: what rounding may hide is in the bounds; ");
    }
    print("%.2f s\n", i->seconds);
}

void verdict_print(const far_predictor *m, const far_certificate *c, double level)
{
    far_certificate_info info = far_certificate_describe(c);
    for (int64_t k = 0; k < info.outputs; k++) {
        print_output(m, far_certificate_bound(c, k), level);
    }
    print_table(c, info.outputs);
    print_theorems(c, info.outputs);
    print_constants(&info);
}

/* ---- along directions ---------------------------------------------------------------------- */

static void print_limit(const char *name, double mean, double order)
{
    if (order == 0) {
        print("%s -> %.6g", name, mean);
    } else {
        print("%s ~ ", name);
        print_growth(mean, order);
    }
}

void verdict_print_along(const far_predictor *m, const along *a)
{
    for (int64_t i = 0; i < a->direction.rows; i++) {
        if (a->inlined) {
            print("along %s: ", a->label);
        } else {
            print("along row %lld of %s: ", (long long)i + 1, a->label);
        }
        for (int64_t k = 0; k < a->mean.cols; k++) {
            print("%s", k ? ", " : "");
            print_limit(subject_score(m, k), mat_get(&a->mean, i, k), along_order(a, i, k));
        }
        print("\n");
    }
}

static void json_values(const char *key, const far_mat *values, int64_t row)
{
    json_key(stdout, key);
    json_numbers(stdout, (const double *)values->data + row * values->ld, values->cols);
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
static void json_orders(const along *a, int64_t i)
{
    if (one_order(a, i)) {
        json_number_field(stdout, "order", along_order(a, i, 0));
        json_values(along_order(a, i, 0) == 0 ? "limit" : "slope", &a->mean, i);
    } else {
        json_values("orders", &a->order, i);
        json_values("values", &a->mean, i);
    }
}

void verdict_json_along(const along *a)
{
    print("[");
    for (int64_t i = 0; i < a->direction.rows; i++) {
        print(i ? ",\n " : "\n ");
        json_begin(stdout);
        json_values("direction", &a->direction, i);
        json_orders(a, i);
        json_close(stdout);
    }
    print("]");
}
