/* farfield demo --kernels: the seven networks of the layer-norm paper, near and far. */
#include "demo.h"
#include "json.h"

#include <stdio.h>

#define VERB "demo"

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
    far_supremum_init(&r->sup);
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

static void print_head(void)
{
    print("%-34s", "network");
    for (int i = 0; i < PAIR_COUNT; i++) {
        print("%10s", PAIRS[i].title);
    }
    print("  %-10s%s\n", "inf,1", "sup of Theta(x,x)");
}

static void print_limit(const row *r)
{
    char text[48];
    if (r->order == 0) {
        snprintf(text, sizeof text, "%.4f", r->limit);
    } else if (r->order == 1) {
        snprintf(text, sizeof text, "%.4f x", r->limit);
    } else {
        snprintf(text, sizeof text, "%.4f x^%g", r->limit, r->order);
    }
    print("  %-10s", text);
}

static void print_supremum(const far_supremum *sup)
{
    if (!sup->bounded) {
        print("unbounded, %.4g x^%g\n", sup->slope, sup->order);
    } else if (sup->constant) {
        print("%.6f everywhere\n", sup->value);
    } else if (sup->attained) {
        print("%.6f at |x| = %.4g\n", sup->value, sup->radius);
    } else {
        print("%.6f at infinity\n", sup->value);
    }
}

static void print_row(const row *r)
{
    print("%-34s", r->arch);
    for (int i = 0; i < PAIR_COUNT; i++) {
        print(r->theta[i] < 1e5 ? "%10.4f" : "%10.4g", r->theta[i]);
    }
    print_limit(r);
    print_supremum(&r->sup);
}

static void print_table(const row *rows, bool quiet)
{
    if (!quiet) {
        print("The neural tangent kernel Theta(x,x') of infinitely wide networks of one input, at "
              "pairs x,x' near and far:\n\n");
    }
    print_head();
    for (int i = 0; i < NETWORK_COUNT; i++) {
        print_row(&rows[i]);
    }
    if (!quiet) {
        print("\nWithout a norm Theta runs away with x, and so can every prediction; one layer "
              "norm, anywhere in such\na network, bounds both for all x.\n");
    }
}

static void print_json(const row *rows)
{
    putchar('[');
    for (int i = 0; i < NETWORK_COUNT; i++) {
        const row *r = &rows[i];
        fputs(i ? "," : "", stdout);
        json_begin(stdout);
        json_text_field(stdout, "arch", r->arch);
        for (int j = 0; j < PAIR_COUNT; j++) {
            json_number_field(stdout, PAIRS[j].title, r->theta[j]);
        }
        json_number_field(stdout, "limit", r->limit);
        json_number_field(stdout, "order", r->order);
        json_text_field(stdout, "verdict", r->sup.bounded ? "bounded" : "unbounded");
        json_number_field(stdout, "C", r->sup.value);
        json_end(stdout);
    }
    puts("]");
}

static int run_kernels(far_ctx *ctx, const demo_args *args)
{
    row rows[NETWORK_COUNT];
    for (int i = 0; i < NETWORK_COUNT; i++) {
        if (fill_row(ctx, NETWORKS[i], &rows[i]) != FAR_OK) {
            return failure(VERB, "%s: %s", NETWORKS[i], far_ctx_message(ctx));
        }
    }
    if (args->json) {
        print_json(rows);
    } else {
        print_table(rows, args->quiet);
    }
    return EXIT_DONE;
}

int demo_kernels(const demo_args *args)
{
    far_ctx *ctx;
    if (far_ctx_create(NULL, &ctx) != FAR_OK) {
        return failure(VERB, "out of memory");
    }
    int code = run_kernels(ctx, args);
    far_ctx_destroy(ctx);
    return code;
}
