/*
 * Any file of a predictor: what it says at 0, and whether it can run away.
 *
 *     cc -std=c17 predictor.c -o predictor $(pkg-config --cflags --libs farfield)
 *     ./predictor model.far
 */
#include <farfield/farfield.h>
#include <stdio.h>
#include <stdlib.h>

static void print(const far_predictor *p, const double *f, const far_certificate *certificate)
{
    far_predictor_info i = far_predictor_describe(p);
    printf("%s: f(0) =", i.name);
    for (int64_t k = 0; k < i.outputs; k++) {
        printf(" %.4g", f[k]);
    }
    /* of all outputs: the worst */
    printf(", %s\n", far_verdict_text(far_certificate_describe(certificate).verdict));
}

static far_status show(far_ctx *ctx, const far_predictor *p)
{
    far_predictor_info i = far_predictor_describe(p);
    double *values = calloc((size_t)(i.inputs + i.outputs), sizeof *values); /* x, then f(x) */
    far_mat x = far_mat_view(values, 1, i.inputs, FAR_F64);
    far_mat f = far_mat_view(values ? values + i.inputs : NULL, 1, i.outputs, FAR_F64);
    far_certificate *certificate = NULL;
    far_certify_opts opts;
    far_certify_opts_init(&opts);
    opts.seconds = 1; /* the verdict takes none of it; more makes a bound tighter */
    far_status st = values ? far_predictor_eval(ctx, p, &x, &f) : FAR_ERR_MEMORY;
    if (st == FAR_OK) {
        st = far_predictor_certify(ctx, p, &opts, &certificate);
    }
    if (st == FAR_OK) {
        print(p, values + i.inputs, certificate);
    }
    far_certificate_destroy(certificate);
    free(values);
    return st;
}

int main(int argc, char **argv)
{
    far_ctx *ctx = NULL;
    far_predictor *p = NULL;
    if (argc != 2) {
        fprintf(stderr, "usage: %s FILE\n", argc > 0 ? argv[0] : "predictor");
        return 2;
    }
    far_status st = far_ctx_create(NULL, &ctx);
    if (st == FAR_OK) {
        st = far_predictor_load(ctx, argv[1], NULL, &p);
    }
    if (st == FAR_OK) {
        st = show(ctx, p);
    }
    if (st != FAR_OK) { /* the context has the reason, unless there is none */
        const char *message = ctx ? far_ctx_message(ctx) : "";
        fprintf(stderr, "%s\n", *message ? message : far_status_text(st));
    }
    far_predictor_destroy(p); /* NULL is fine, so this is also the error path */
    far_ctx_destroy(ctx);
    return st != FAR_OK;
}
