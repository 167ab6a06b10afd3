/* farfield demo --kernels: the seven networks of the layer-norm paper, near and far. */
#include "demo.h"

#include <stdio.h>

static const char *const NETWORKS[] = {
    "dense relu dense relu dense",       "dense ln relu dense relu dense",
    "dense relu dense ln relu dense",    "dense ln relu dense ln relu dense",
    "dense relu ln dense relu dense",    "dense relu dense relu ln dense",
    "dense relu ln dense relu ln dense",
};
enum { NETWORK_COUNT = sizeof NETWORKS / sizeof NETWORKS[0] };

typedef struct pair {
    const char *title;
    double x[2];
} pair;

static const pair PAIRS[] = {{"1,2", {1, 2}},
                             {"1,-1", {1, -1}},
                             {"25,25", {25, 25}},
                             {"25,-25", {25, -25}},
                             {"1e6,1e6", {1e6, 1e6}}};
enum { PAIR_COUNT = sizeof PAIRS / sizeof PAIRS[0] };

typedef struct row {
    const char *arch;
    double theta[PAIR_COUNT];
    double limit, order; /* Theta(lambda, 1) ~ limit lambda^order */
    far_supremum sup;
} row;

static far_status fill_pairs(far_ctx *ctx, const far_kernel *k, row *r)
{
    for (int i = 0; i < PAIR_COUNT; i++) {
        double a = PAIRS[i].x[0], b = PAIRS[i].x[1];
        far_mat x = far_mat_view(&a, 1, 1, FAR_F64), x2 = far_mat_view(&b, 1, 1, FAR_F64);
        far_mat theta = far_mat_view(&r->theta[i], 1, 1, FAR_F64);
        far_status st = far_kernel_eval(ctx, k, &x, &x2, FAR_FILL_FULL, NULL, &theta);
        if (st != FAR_OK) {
            return st;
        }
    }
    return FAR_OK;
}

static far_status fill_far(far_ctx *ctx, const far_kernel *k, row *r)
{
    double one = 1, direction = 1;
    far_mat u = far_mat_view(&direction, 1, 1, FAR_F64), x = far_mat_view(&one, 1, 1, FAR_F64);
    far_mat limit = far_mat_view(&r->limit, 1, 1, FAR_F64);
    far_mat order = far_mat_view(&r->order, 1, 1, FAR_F64);
    far_status st = far_kernel_limit(ctx, k, &u, &x, NULL, NULL, &limit, &order);
    if (st != FAR_OK) {
        return st;
    }
    return far_kernel_supremum(ctx, k, 1, &r->sup);
}

static far_status fill_row(far_ctx *ctx, const char *arch, row *r)
{
    far_kernel *k;
    r->arch = arch;
    far_status st = far_kernel_create(ctx, arch, NULL, &k);
    if (st == FAR_OK) {
        st = fill_pairs(ctx, k, r);
    }
    if (st == FAR_OK) {
        st = fill_far(ctx, k, r);
    }
    far_kernel_destroy(k);
    return st;
}

/* ---- the table ----------------------------------------------------------------------------- */

static void put_limit(far_result *r, const row *w)
{
    if (w->order == 0) {
        far_result_cell_words(r, w->limit, "%.4f", w->limit);
    } else if (w->order == 1) {
        far_result_cell_words(r, w->limit, "%.4f x", w->limit);
    } else {
        far_result_cell_words(r, w->limit, "%.4f x^%g", w->limit, w->order);
    }
    far_result_cell(r, w->order);
}

static void put_supremum(far_result *r, const far_supremum *sup)
{
    far_result_cell_text(r, sup->bounded ? "bounded" : "unbounded");
    if (!sup->bounded) {
        far_result_cell_words(r, sup->value, "unbounded, %.4g x^%g", sup->slope, sup->order);
    } else if (sup->constant) {
        far_result_cell_words(r, sup->value, "%.6f everywhere", sup->value);
    } else if (sup->attained) {
        far_result_cell_words(r, sup->value, "%.6f at |x| = %.4g", sup->value, sup->radius);
    } else {
        far_result_cell_words(r, sup->value, "%.6f at infinity", sup->value);
    }
}

static void put_table(far_result *r, const row *rows)
{
    far_result_column columns[PAIR_COUNT + 5] = {{"arch", "network", NULL}};
    int cols = 1;
    for (int i = 0; i < PAIR_COUNT; i++) {
        columns[cols++] = (far_result_column){PAIRS[i].title, PAIRS[i].title, "%8.4f"};
    }
    columns[cols++] = (far_result_column){"limit", "inf,1", NULL};
    columns[cols++] = (far_result_column){"order", NULL, "%g"};
    columns[cols++] = (far_result_column){"verdict", NULL, NULL};
    columns[cols++] = (far_result_column){"C", "sup of Theta(x,x)", NULL};
    far_result_table(r, "rows", NULL, columns, cols);
    for (int i = 0; i < NETWORK_COUNT; i++) {
        far_result_cell_text(r, "%s", rows[i].arch);
        for (int j = 0; j < PAIR_COUNT; j++) {
            double theta = rows[i].theta[j];
            far_result_cell_words(r, theta, theta < 1e5 ? "%.4f" : "%.4g", theta);
        }
        put_limit(r, &rows[i]);
        put_supremum(r, &rows[i].sup);
    }
}

static int tell(session *s, const demo_args *args, const row *rows)
{
    report r;
    int code = report_begin(s, &(common_args){.json = args->common.json}, "Kernels", &r);
    if (!args->common.quiet) {
        far_result_say(r.result, NULL,
                       "The neural tangent kernel Theta(x,x') of infinitely wide networks of one "
                       "input, at pairs x,x' near and far:");
    }
    put_table(r.result, rows);
    if (!args->common.quiet) {
        far_result_say(r.result, NULL,
                       "Without a norm Theta runs away with x, and so can every prediction; one "
                       "layer norm, anywhere in such a network, bounds both for all x.");
    }
    return report_end(&r, code);
}

int demo_kernels(session *s, const demo_args *args)
{
    row rows[NETWORK_COUNT];
    for (int i = 0; i < NETWORK_COUNT; i++) {
        if (fill_row(s->ctx, NETWORKS[i], &rows[i]) != FAR_OK) {
            return session_failure(s, NETWORKS[i]);
        }
    }
    return tell(s, args, rows);
}
