/*
 * The largest singular value of a matrix, never too small: with G = A'A (or A A', the smaller one),
 * |G|^(2^k) <= |G^(2^k)| in the Frobenius norm, which overestimates by n^(1/2^(k+1)) at most. Every
 * squaring adds what it can have rounded away.
 */
#include "net_certify.h"

#include <string.h>

enum { SQUARINGS = 9, FEWER_SQUARINGS = 5, LARGE = 700 };

/* out (n x n) = A A' for rows of a. */
static void gram(const double *a, int64_t n, int64_t length, int threads, double *out)
{
#pragma omp parallel for num_threads(threads) schedule(dynamic, 8)
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j <= i; j++) {
            double sums[4] = {0}, sum;
            const double *p = a + i * length, *q = a + j * length;
            int64_t k = 0;
            for (; k + 4 <= length; k += 4) {
                for (int64_t part = 0; part < 4; part++) {
                    sums[part] += p[k + part] * q[k + part];
                }
            }
            sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
            for (; k < length; k++) {
                sum += p[k] * q[k];
            }
            out[i * n + j] = sum;
        }
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = i + 1; j < n; j++) {
            out[i * n + j] = out[j * n + i];
        }
    }
}

/* An upper bound on the norm of a symmetric matrix of n x n, which is used up. Norms of powers of
 * matrices scaled to about 1: |G|^2 <= |fl(G G)| + lost |G|_F^2. */
static double symmetric_norm(double *g, double *room, int64_t n, int threads)
{
    double lost[SQUARINGS], scale[SQUARINGS];
    int count = n > LARGE ? FEWER_SQUARINGS : SQUARINGS, made = 0;
    double size = far_length(g, n * n);
    for (; made < count && size > 0 && isfinite(size); made++) {
        int exponent;
        frexp(size, &exponent);
        scale[made] = ldexp(1, exponent); /* exact to divide by */
        for (int64_t i = 0; i < n * n; i++) {
            g[i] /= scale[made];
        }
        double own = size / scale[made];
        lost[made] = own * own * far_lost(n) + FAR_SPECK;
        gram(g, n, n, threads, room);
        double *swap = g;
        g = room;
        room = swap;
        size = far_length(g, n * n);
    }
    while (made-- > 0) {
        size = far_up(far_up(sqrt(far_up(size + lost[made]))) * scale[made]);
    }
    return size;
}

static void transpose(const double *a, int64_t rows, int64_t cols, double *out)
{
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++) {
            out[j * rows + i] = a[i * cols + j];
        }
    }
}

far_status far_spectral_norm(far_ctx *ctx, const double *a, int64_t rows, int64_t cols, double *out)
{
    far_status st;
    int64_t n = rows < cols ? rows : cols, length = rows < cols ? cols : rows;
    double *turned = NULL, *g = NULL, *room = NULL, whole = far_length(a, rows * cols);
    FAR_TRY(far_alloc(ctx, rows * cols, &turned));
    FAR_TRY(far_alloc(ctx, n * n, &g));
    FAR_TRY(far_alloc(ctx, n * n, &room));
    if (rows <= cols) {
        memcpy(turned, a, (size_t)(rows * cols) * sizeof *a);
    } else {
        transpose(a, rows, cols, turned);
    }
    gram(turned, n, length, far_ctx_threads(ctx), g);
    double square = symmetric_norm(g, room, n, far_ctx_threads(ctx));
    square = far_up(square + whole * whole * far_lost(length));
    *out = fmin(far_up(sqrt(square)), whole) * (1 + far_lost(1));
done:
    FAR_FREE_ALL(ctx, turned, g, room);
    return st;
}
