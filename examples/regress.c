/*
 * Fit ten points with and without a layer norm, predict far away, and certify both.
 *
 *     cc -std=c17 regress.c -o regress $(pkg-config --cflags --libs farfield) -lm
 */
#include <farfield/farfield.h>
#include <math.h>
#include <stdio.h>

enum { ROWS = 10 };

static far_status show_prediction(far_ctx *ctx, const far_predictor *model)
{
    double far_away[] = {2, 100, 10000}, mean[3];
    far_mat x = far_mat_view(far_away, 3, 1, FAR_F64), y = far_mat_view(mean, 3, 1, FAR_F64);
    far_status st = far_predictor_eval(ctx, model, &x, &y);
    if (st == FAR_OK) {
        printf("%-32s f(2) = %.4f  f(100) = %.4f  f(10000) = %.4f\n", far_predictor_describe(model).arch,
               mean[0], mean[1], mean[2]);
    }
    return st;
}

static far_status show_certificate(far_ctx *ctx, const far_predictor *model)
{
    far_certify_opts opts;
    far_certificate *certificate;
    far_certify_opts_init(&opts);
    far_status st = far_predictor_certify(ctx, model, &opts, &certificate);
    if (st == FAR_OK) {
        const far_bound *b = far_certificate_bound(certificate, 0);
        if (b->verdict == FAR_BOUNDED) {
            printf("  bounded: |f| <= %.4f everywhere; %.4f is reached\n", b->tightest,
                   b->sup_found);
        } else if (b->verdict == FAR_UNBOUNDED) {
            printf("  unbounded: f(t %+g) ~ %.4f t\n", b->direction[0], b->slope);
        } else {
            printf("  undecided: %s\n", b->theorem);
        }
        far_certificate_destroy(certificate);
    }
    return st;
}

static far_status fit_and_show(far_ctx *ctx, const far_frame *table, const char *arch)
{
    far_fit_opts opts;
    far_predictor *model;
    far_fit_opts_init(&opts);
    opts.target = "y";
    opts.arch = arch;
    opts.ridge = 1e-6;
    opts.standardize = 0;
    far_status st = far_predictor_fit(ctx, table, &opts, &model);
    if (st == FAR_OK) {
        st = show_prediction(ctx, model);
    }
    if (st == FAR_OK) {
        st = show_certificate(ctx, model);
    }
    far_predictor_destroy(model);
    return st;
}

static far_status run(far_ctx *ctx)
{
    static const char *const NAMES[] = {"x", "y"};
    double values[2 * ROWS];
    far_frame *table;
    for (int i = 0; i < ROWS; i++) {
        values[2 * i] = i / 4.0 - 1;
        values[2 * i + 1] = sin(2 * values[2 * i]);
    }
    far_mat m = far_mat_view(values, ROWS, 2, FAR_F64);
    far_status st = far_frame_from_mat(ctx, &m, NAMES, &table);
    if (st == FAR_OK) {
        st = fit_and_show(ctx, table, "dense relu dense relu dense");
    }
    if (st == FAR_OK) {
        st = fit_and_show(ctx, table, "dense ln relu dense relu dense");
    }
    far_frame_destroy(table);
    return st;
}

int main(void)
{
    far_ctx *ctx;
    if (far_ctx_create(NULL, &ctx) != FAR_OK) {
        return 1;
    }
    far_status st = run(ctx);
    if (st != FAR_OK) {
        fprintf(stderr, "%s\n", far_ctx_message(ctx));
    }
    far_ctx_destroy(ctx);
    return st != FAR_OK;
}
