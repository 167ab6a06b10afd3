/* Spectra of sums of kernels, and of a network's layers. */
#include "measure_internal.h"

#include <math.h>
#include <string.h>

static bool descends(const double *values, int64_t n)
{
    bool ordered = isfinite(values[0]);
    for (int64_t i = 1; i < n; i++) {
        ordered = ordered && values[i] <= values[i - 1] && isfinite(values[i]);
    }
    return ordered;
}

far_status far_weyl_intervals(far_ctx *ctx, const double *values, int64_t n, double least,
                              double largest, double *low, double *high)
{
    if (n < 1 || !descends(values, n)) {
        return far_fail(ctx, FAR_ERR_VALUE,
                        "values: eigenvalues must be finite and the largest first");
    }
    if (!(least <= largest) || !isfinite(least) || !isfinite(largest)) {
        return far_fail(ctx, FAR_ERR_VALUE, "the least eigenvalue is %g and the largest %g", least,
                        largest);
    }
    for (int64_t i = 0; i < n; i++) {
        low[i] = values[i] + least;
        high[i] = values[i] + largest;
    }
    return FAR_OK;
}

/* ---- layers ---- */

static void write_row(far_mat *to, int64_t l, const far_spectrum *s)
{
    memcpy(far_mat_row(to, l), s->values, (size_t)s->count * sizeof(double));
}

static far_status layer_spectrum(far_ctx *ctx, const far_net *net, const far_mat *x,
                                 const far_ntk_opts *opts, int64_t layer, far_mat *kernel,
                                 far_mat *values)
{
    far_view *view = NULL;
    far_spectrum s;
    far_status st;
    FAR_TRY(far_net_ntk(ctx, net, x, NULL, opts, kernel));
    FAR_TRY(far_view_create(ctx, kernel, x->rows, &view));
    FAR_TRY(far_view_spectrum(ctx, view, 0, 0, &s));
    write_row(values, layer, &s);
done:
    far_view_destroy(view);
    return st;
}

static far_status check_layers(far_ctx *ctx, const far_net *net, const far_mat *x,
                               const far_ntk_opts *opts, const far_mat *values, int64_t *rows)
{
    far_status st;
    FAR_TRY(far_check_net_rows(ctx, net, x, opts));
    far_net_info info = far_net_describe(net);
    *rows = x->rows * (opts->outputs == FAR_NTK_FULL ? info.outputs : 1);
    FAR_TRY(far_check_matrix(ctx, values, "values", info.layers, *rows));
done:
    return st;
}

/* Layer by layer through one matrix, so that the memory does not grow with the depth. */
far_status far_layer_spectra(far_ctx *ctx, const far_net *net, const far_mat *x,
                             const far_ntk_opts *opts, far_mat *values)
{
    double *numbers = NULL;
    unsigned char *one = NULL;
    int64_t rows = 0;
    far_status st;
    FAR_TRY(check_layers(ctx, net, x, opts, values, &rows));
    FAR_TRY(far_alloc(ctx, rows * rows, &numbers));
    FAR_TRY(far_alloc(ctx, values->rows, &one));
    far_mat kernel = far_mat_view(numbers, rows, rows, FAR_F64);
    far_ntk_opts single = *opts;
    single.layers = one;
    for (int64_t l = 0; l < values->rows; l++) {
        memset(far_mat_row(values, l), 0, (size_t)rows * sizeof(double));
        one[l] = !opts->layers || opts->layers[l];
        if (one[l]) {
            FAR_TRY(layer_spectrum(ctx, net, x, &single, l, &kernel, values));
        }
        one[l] = 0;
    }
done:
    far_free(ctx, numbers);
    far_free(ctx, one);
    return st;
}
