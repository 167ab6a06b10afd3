/*
 * Train a finite network with and without a layer norm, look far away, and certify both.
 *
 *     cc -std=c17 network.c -o network $(pkg-config --cflags --libs farfield) -lm
 */
#include <farfield/farfield.h>
#include <math.h>
#include <stdio.h>

enum { ROWS = 50 };

static far_status train(far_ctx *ctx, far_net *net)
{
    double x[ROWS], y[ROWS];
    far_train_opts opts;
    for (int i = 0; i < ROWS; i++) {
        x[i] = i / 10.0 - 2.5;
        y[i] = sin(2 * x[i]);
    }
    far_mat inputs = far_mat_view(x, ROWS, 1, FAR_F64), targets = far_mat_view(y, ROWS, 1, FAR_F64);
    far_train_opts_init(&opts);
    opts.epochs = 500;
    return far_net_train(ctx, net, &inputs, &targets, &opts, NULL);
}

static far_status show_values(far_ctx *ctx, const far_net *net)
{
    double far_away[] = {2, 100, 10000}, f[3];
    far_mat x = far_mat_view(far_away, 3, 1, FAR_F64), y = far_mat_view(f, 3, 1, FAR_F64);
    far_status st = far_net_eval(ctx, net, &x, &y);
    if (st == FAR_OK) {
        printf("%-40s f(2) = %.2f  f(100) = %.2f  f(10000) = %.2f\n", far_net_describe(net).arch,
               f[0], f[1], f[2]);
    }
    return st;
}

static far_status show_certificate(far_ctx *ctx, const far_net *net)
{
    far_certify_opts opts;
    far_certificate *certificate;
    far_certify_opts_init(&opts);
    far_predictor *predictor;
    far_status st = far_predictor_of_net(ctx, net, &predictor);
    if (st == FAR_OK) {
        st = far_predictor_certify(ctx, predictor, &opts, &certificate);
        far_predictor_destroy(predictor);
    }
    if (st == FAR_OK) {
        const far_bound *b = far_certificate_bound(certificate, 0);
        if (b->verdict == FAR_BOUNDED) {
            printf("  bounded: |f| <= %.4f everywhere; %.4f is reached\n", b->tightest,
                   b->sup_found);
        } else {
            printf("  unbounded: f(t %+g) ~ %.4f t\n", b->direction[0], b->slope);
        }
        far_certificate_destroy(certificate);
    }
    return st;
}

static far_status train_and_show(far_ctx *ctx, const char *arch)
{
    far_net_opts opts;
    far_net *net;
    far_net_opts_init(&opts);
    opts.inputs = 1;
    far_status st = far_net_create(ctx, arch, &opts, &net);
    if (st == FAR_OK) {
        st = train(ctx, net);
    }
    if (st == FAR_OK) {
        st = show_values(ctx, net);
    }
    if (st == FAR_OK) {
        st = show_certificate(ctx, net);
    }
    far_net_destroy(net);
    return st;
}

int main(void)
{
    far_ctx *ctx;
    if (far_ctx_create(NULL, &ctx) != FAR_OK) {
        return 1;
    }
    far_status st = train_and_show(ctx, "dense(64) relu dense(64) relu dense(1)");
    if (st == FAR_OK) {
        st = train_and_show(ctx, "dense(64) ln relu dense(64) relu dense(1)");
    }
    if (st != FAR_OK) {
        fprintf(stderr, "network: %s\n", far_ctx_message(ctx));
    }
    far_ctx_destroy(ctx);
    return st != FAR_OK;
}
