#include "verdict.h"
#include "json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_SHOWN = 10 };

static const char *output_name(const far_model *m, int64_t k)
{
    const char *label = far_model_class(m, k);
    return label ? label : far_model_target(m, k);
}

/* "0.218 t", "0.5 t^2" */
static void print_growth(double slope, double order)
{
    printf(order == 1 ? "%.6g t" : "%.6g t^%g", slope, order);
}

/* ---- points and directions ----------------------------------------------------------------- */

/* The largest component below limit; of equal ones the first behind after. -1 if there is none. */
static int64_t next_largest(const double *v, int64_t count, double limit, int64_t after)
{
    int64_t best = -1;
    for (int64_t i = 0; i < count; i++) {
        double size = fabs(v[i]);
        bool below = size < limit || (size == limit && i > after);
        if (below && size > 0 && (best < 0 || size > fabs(v[best]))) {
            best = i;
        }
    }
    return best;
}

/* "F3 = 0.93, F1 = -0.35, ...", the largest first, all of them times factor. */
static void print_largest(const far_model *m, const double *v, double factor)
{
    int64_t count = far_model_describe(m).inputs, i = -1;
    double limit = INFINITY;
    for (int shown = 0; (i = next_largest(v, count, limit, i)) >= 0; shown++) {
        if (shown == MOST_SHOWN) {
            printf(", ...");
            break;
        }
        printf("%s%s = %.4g", shown ? ", " : "", far_model_input(m, i), factor * v[i]);
        limit = fabs(v[i]);
    }
}

static void print_point(const far_model *m, const double *v)
{
    int64_t count = far_model_describe(m).inputs;
    for (int64_t i = 0; i < count && i < MOST_SHOWN; i++) {
        printf("%s%s = %.4g", i ? ", " : "", far_model_input(m, i), v[i]);
    }
    printf("%s", count > MOST_SHOWN ? ", ..." : "");
}

/* One component a line, the largest first. */
static void print_direction(const far_model *m, const double *v)
{
    int64_t count = far_model_describe(m).inputs, i = -1, shown = 0;
    double limit = INFINITY;
    int width = 0;
    for (int64_t k = 0; k < count; k++) {
        int length = (int)strlen(far_model_input(m, k));
        width = length > width && length <= 40 ? length : width;
    }
    for (; shown < MOST_SHOWN && (i = next_largest(v, count, limit, i)) >= 0; shown++) {
        printf("    %-*s %10.4g\n", width, far_model_input(m, i), v[i]);
        limit = fabs(v[i]);
    }
    if (shown == MOST_SHOWN && count > shown) {
        printf("    and %lld smaller ones\n", (long long)(count - shown));
    }
}

/* ---- verdicts ------------------------------------------------------------------------------ */

static void compare_bound(const far_bound *b, double level)
{
    if (b->tightest <= level) {
        printf("  |%s| is never above %g\n", b->output, level);
    } else if (b->sup_found > level) {
        printf("  |%s| is above %g there\n", b->output, level);
    } else if (!isnan(level)) {
        printf("  whether |%s| is ever above %g is not decided\n", b->output, level);
    }
}

static void print_bounded(const far_model *m, const far_bound *b, double level)
{
    printf("bounded: |%s| <= %.6g for every input", b->output, b->tightest);
    if (b->at) {
        printf("; the largest found is %.6g %s ", b->sup_found,
               b->at_infinity ? "far along" : "at");
        (b->at_infinity ? print_largest(m, b->at, 1) : print_point(m, b->at));
    }
    printf("\n");
    compare_bound(b, level);
}

static void print_level(const far_model *m, const far_bound *b, double level)
{
    if (isnan(level)) {
        return;
    }
    if (isnan(b->beyond)) {
        printf("  no point was found beyond which |%s| > %g\n", b->output, level);
        return;
    }
    printf("  |%s| > %g from t = %.6g on (by a scan), beyond the point ", b->output, level,
           b->beyond);
    print_largest(m, b->direction, b->beyond);
    printf("\n");
}

static void print_unbounded(const far_model *m, const far_bound *b, double level)
{
    printf("unbounded: along this direction %s grows like ", b->output);
    print_growth(b->slope, b->order);
    printf(":\n");
    print_direction(m, b->direction);
    if (!isnan(b->confirmed)) {
        printf("  a million times the size of the data away %s is %.9g of that\n", b->output,
               b->confirmed);
    }
    print_level(m, b, level);
}

/* ---- the table ----------------------------------------------------------------------------- */

static int widest_output(const far_certificate *c, int64_t outputs)
{
    int widest = (int)strlen("output");
    for (int64_t k = 0; k < outputs; k++) {
        int length = (int)strlen(far_certificate_bound(c, k)->output);
        widest = length > widest ? length : widest;
    }
    return widest;
}

static void print_row(const far_bound *b, int width)
{
    printf("%-*s %10.5g %10.5g %10.5g %10.5g %10.4g %10.4g %10.4g  %s\n", width, b->output,
           b->lowest, b->highest, b->sup_found, b->tightest, b->b1, b->b2, b->b3, b->method);
}

static void print_table(const far_certificate *c, int64_t outputs)
{
    int width = widest_output(c, outputs);
    bool head = false;
    for (int64_t k = 0; k < outputs; k++) {
        const far_bound *b = far_certificate_bound(c, k);
        if (b->bounded && !head) {
            printf("\n%-*s %10s %10s %10s %10s %10s %10s %10s  %s\n", width, "output", "lowest",
                   "highest", "found", "tightest", "B1", "B2", "B3", "tightest by");
            head = true;
        }
        if (b->bounded) {
            print_row(b, width);
        }
    }
}

/* Each theorem once. */
static void print_theorems(const far_certificate *c, int64_t outputs)
{
    const char *last = "";
    printf("\n");
    for (int64_t k = 0; k < outputs; k++) {
        const char *theorem = far_certificate_bound(c, k)->theorem;
        if (strcmp(theorem, last) != 0) {
            printf("theorem: %s\n", theorem);
        }
        last = theorem;
    }
}

static void print_constants(const far_certificate_info *i)
{
    if (isfinite(i->C)) {
        printf("C = sup of the kernel's diagonal = %.6g, ", i->C);
    }
    printf("lambda_min %.4g, condition %.4g, ridge %.4g, %.2f s\n", i->lambda_min, i->condition,
           i->ridge, i->seconds);
}

void verdict_print(const far_model *m, const far_certificate *c, double level)
{
    far_certificate_info info = far_certificate_describe(c);
    for (int64_t k = 0; k < info.outputs; k++) {
        const far_bound *b = far_certificate_bound(c, k);
        (b->bounded ? print_bounded : print_unbounded)(m, b, level);
    }
    print_table(c, info.outputs);
    print_theorems(c, info.outputs);
    print_constants(&info);
}

/* ---- along directions ---------------------------------------------------------------------- */

static void print_limit(const char *name, double mean, double order)
{
    if (order == 0) {
        printf("%s -> %.6g", name, mean);
    } else {
        printf("%s ~ ", name);
        print_growth(mean, order);
    }
}

void verdict_print_along(const far_model *m, const along *a)
{
    for (int64_t i = 0; i < a->direction.rows; i++) {
        if (a->inlined) {
            printf("along %s: ", a->label);
        } else {
            printf("along row %lld of %s: ", (long long)i + 1, a->label);
        }
        for (int64_t k = 0; k < a->mean.cols; k++) {
            printf("%s", k ? ", " : "");
            print_limit(output_name(m, k), mat_get(&a->mean, i, k), mat_get(&a->order, i, 0));
        }
        printf("\n");
    }
}

static void json_values(const char *key, const far_mat *values, int64_t row)
{
    json_key(stdout, key);
    json_numbers(stdout, (const double *)values->data + row * values->ld, values->cols);
}

void verdict_json_along(const along *a)
{
    printf("[");
    for (int64_t i = 0; i < a->direction.rows; i++) {
        double order = mat_get(&a->order, i, 0);
        printf(i ? ",\n " : "\n ");
        json_begin(stdout);
        json_values("direction", &a->direction, i);
        json_number_field(stdout, "order", order);
        json_values(order == 0 ? "limit" : "slope", &a->mean, i);
        json_close(stdout);
    }
    printf("]");
}
