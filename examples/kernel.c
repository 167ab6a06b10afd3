/*
 * The kernel of a network with one layer norm: at points, at infinity, and its supremum.
 *
 *     cc -std=c17 kernel.c -o kernel $(pkg-config --cflags --libs farfield)
 */
#include <farfield/farfield.h>
#include <stdio.h>

static far_status show(far_ctx *ctx, const far_kernel *kernel)
{
    double points[] = {-1, 0, 2}, direction[] = {1};
    double theta[9], limit[3], order[1];
    far_mat x = far_mat_view(points, 3, 1, FAR_F64);
    far_mat u = far_mat_view(direction, 1, 1, FAR_F64);
    far_mat theta_view = far_mat_view(theta, 3, 3, FAR_F64);
    far_mat limit_view = far_mat_view(limit, 1, 3, FAR_F64);
    far_mat order_view = far_mat_view(order, 1, 1, FAR_F64);

    far_status st = far_kernel_eval(ctx, kernel, &x, NULL, FAR_FILL_FULL, NULL, &theta_view);
    if (st != FAR_OK) {
        return st;
    }
    for (int i = 0; i < 3; i++) {
        printf("Theta(%2g, .) = %.6f %.6f %.6f\n", points[i], theta[3 * i], theta[3 * i + 1],
               theta[3 * i + 2]);
    }
    st = far_kernel_limit(ctx, kernel, &u, &x, NULL, NULL, &limit_view, &order_view);
    if (st != FAR_OK) {
        return st;
    }
    printf("Theta(inf, .) = %.6f %.6f %.6f (order %g)\n", limit[0], limit[1], limit[2], order[0]);

    far_supremum sup;
    st = far_kernel_supremum(ctx, kernel, 1, &sup);
    if (st == FAR_OK) {
        printf("sup of Theta(x, x) = %g\n", sup.value);
    }
    return st;
}

int main(void)
{
    far_ctx *ctx = NULL;
    far_kernel *kernel = NULL;
    far_status st = far_ctx_create(NULL, &ctx);
    if (st == FAR_OK) {
        st = far_kernel_create(ctx, "dense ln relu dense relu dense", NULL, &kernel);
    }
    if (st == FAR_OK) {
        st = show(ctx, kernel);
    }
    if (st != FAR_OK) {
        fprintf(stderr, "%s\n", ctx ? far_ctx_message(ctx) : far_status_text(st));
    }
    far_kernel_destroy(kernel);
    far_ctx_destroy(ctx);
    return st == FAR_OK ? 0 : 1;
}
