/*
 * Leave-one-out in closed form, from one factor of A = K + ridge: the rows but i, solved and
 * evaluated at x_i, miss y_i by alpha_i / (A^-1)_ii, with variance 1 / (A^-1)_ii at amplitude one.
 *
 * The centre of the targets (a mean, or the frequencies of classes) was learnt from row i too. It
 * would be y_i / (N - 1) less without it, and since a fit is linear in its targets, the miss is
 * then (alpha_i + beta_i y_i / (N - 1)) / (A^-1)_ii with beta = A^-1 1: no row vouches for itself.
 */
#include "../solve/solve_internal.h"
#include "regress_internal.h"

#include <stdlib.h>
#include <string.h>

void far_left_out_clear(far_ctx *ctx, far_left_out *l)
{
    FAR_FREE_ALL(ctx, l->rows, l->miss, l->variance, l->fitted);
    *l = (far_left_out){0};
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* All rows, or a random sample of them in their order. */
static far_status take_rows(far_ctx *ctx, int64_t n, int64_t count, int64_t **out)
{
    far_status st = far_alloc(ctx, n, out);
    for (int64_t i = 0; st == FAR_OK && i < n; i++) {
        (*out)[i] = i;
    }
    if (st == FAR_OK && count < n) {
        far_random_shuffle(0, *out, n);
        qsort(*out, (size_t)count, sizeof **out, by_number);
    }
    return st;
}

static far_status inverse_diagonal(far_ctx *ctx, const far_system *s, int64_t n,
                                   const far_left_out *l, double *out)
{
    far_mat all = far_mat_view(out, n, 1, FAR_F64);
    return l->count == n ? far_system_inverse_diagonal(ctx, s, &all)
                         : far_system_inverse_some(ctx, s, l->rows, l->count, out);
}

/* beta = A^-1 1 */
static far_status solve_ones(far_ctx *ctx, const far_system *s, int64_t n, double *beta)
{
    double *ones = NULL;
    far_status st = far_alloc(ctx, n, &ones);
    for (int64_t i = 0; st == FAR_OK && i < n; i++) {
        ones[i] = 1;
    }
    far_mat b = far_mat_view(ones, n, 1, FAR_F64), x = far_mat_view(beta, n, 1, FAR_F64);
    st = st == FAR_OK ? far_system_solve(ctx, s, &b, &x, NULL, NULL) : st;
    far_free(ctx, ones);
    return st;
}

far_status far_left_out_from(far_ctx *ctx, const far_system *s, const far_mat *y,
                             const far_mat *alpha, const double *beta, int64_t centred,
                             int64_t most, far_left_out *out)
{
    far_status st;
    int64_t n = y->rows, p = y->cols;
    *out = (far_left_out){.count = n < most ? n : most, .outputs = p};
    FAR_TRY(take_rows(ctx, n, out->count, &out->rows));
    FAR_TRY(far_alloc(ctx, out->count * p, &out->miss));
    FAR_TRY(far_alloc(ctx, out->count, &out->variance));
    FAR_TRY(inverse_diagonal(ctx, s, n, out, out->variance));
    for (int64_t k = 0; k < out->count; k++) {
        int64_t i = out->rows[k];
        const double *a = far_mat_row(alpha, i), *target = far_mat_row(y, i);
        double without = centred > 1 ? beta[i] / (double)(centred - 1) : 0;
        out->variance[k] = 1 / out->variance[k];
        for (int64_t j = 0; j < p; j++) {
            out->miss[k * p + j] = (a[j] + without * target[j]) * out->variance[k];
        }
    }
done:
    if (st != FAR_OK) {
        far_left_out_clear(ctx, out);
    }
    return st;
}

far_status far_left_out_find(far_ctx *ctx, const far_system *s, const far_mat *y,
                             const far_mat *alpha, int64_t centred, int64_t most, far_left_out *out)
{
    far_status st;
    double *beta = NULL;
    FAR_TRY(far_alloc(ctx, y->rows, &beta));
    FAR_TRY(centred > 1 ? solve_ones(ctx, s, y->rows, beta) : FAR_OK);
    FAR_TRY(far_left_out_from(ctx, s, y, alpha, beta, centred, most, out));
done:
    far_free(ctx, beta);
    return st;
}
