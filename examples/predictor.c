/* Any file of a predictor: what it says at 0, and whether it can run away. */
#include <farfield/farfield.h>
#include <stdio.h>

enum { MOST = 100 }; /* inputs or outputs */

int main(int argc, char **argv)
{
    far_ctx *ctx = NULL;
    far_predictor *p = NULL;
    far_certificate *c = NULL;
    far_certify_opts how;
    double x[MOST] = {0}, f[MOST];
    far_certify_opts_init(&how);
    how.seconds = 1; /* the verdict takes none of it; more makes a bound tighter */
    far_status st = argc == 2 ? far_ctx_create(NULL, &ctx) : FAR_ERR_ARG;
    st = st == FAR_OK ? far_predictor_load(ctx, argv[1], NULL, &p) : st;
    far_predictor_info i = p ? far_predictor_describe(p) : (far_predictor_info){0};
    st = i.inputs > MOST || i.outputs > MOST ? FAR_ERR_SHAPE : st;
    far_mat in = far_mat_view(x, 1, i.inputs, FAR_F64),
            out = far_mat_view(f, 1, i.outputs, FAR_F64);
    st = st == FAR_OK ? far_predictor_eval(ctx, p, &in, &out) : st;
    st = st == FAR_OK ? far_predictor_certify(ctx, p, &how, &c) : st;
    printf("%s: f(0) = %.4g, %s\n", p ? i.name : "no predictor", f[0],
           c ? far_verdict_text(far_certificate_bound(c, 0)->verdict) : far_ctx_message(ctx));
    far_certificate_destroy(c);
    far_predictor_destroy(p);
    far_ctx_destroy(ctx);
    return st != FAR_OK;
}
