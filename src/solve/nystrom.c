/*
 * A matrix as its first rows see it. With landmarks m, K_mm = L L' and B = K_nm L^-T:
 *
 *     (B B' + ridge)^-1 = (1 - B (B'B + ridge)^-1 B') / ridge
 *
 * preconditions K + ridge, and L^-T (B'B + ridge)^-1 B'y are the weights of the landmarks that fit
 * y best. B itself is not held: rows of K are asked for a strip at a time, and B' v = L^-1 (K_mn
 * v).
 */
#include "blas.h"
#include "solve_internal.h"

#include <string.h>

#define STRIP 1024
#define GRAM_COLUMNS 512
#define FIRST_JITTER 1e-12 /* relative: landmarks may be the same point */
#define LAST_JITTER 1e-4

void far_nystrom_destroy(far_nystrom *s)
{
    if (s) {
        far_ctx *ctx = s->ctx;
        FAR_FREE_ALL(ctx, s->root.data, s->inner.data, s->gram, s);
    }
}

double far_nystrom_bytes(int64_t m)
{
    far_lower l = far_lower_layout(m, false);
    double squares = 2 * (double)far_lower_count(&l) + (double)m * (double)m;
    return sizeof(double) * (squares + (double)far_cholesky_workspace(m) + STRIP * (double)m);
}

/* L of K_mm + jitter; FAR_ERR_SINGULAR: the jitter is too small. */
static far_status try_root(far_ctx *ctx, far_nystrom *s, double jitter, double *scale)
{
    far_status st;
    double mean = 0;
    FAR_TRY(far_lower_fill(ctx, &s->a, &s->root, false));
    for (int64_t i = 0; i < s->m; i++) {
        mean += *far_lower_at(&s->root, i, i) / (double)s->m;
    }
    for (int64_t i = 0; i < s->m; i++) {
        *far_lower_at(&s->root, i, i) += jitter * mean;
        scale[i] = *far_lower_at(&s->root, i, i);
    }
    FAR_TRY(far_cholesky(ctx, &s->root, scale));
done:
    return st;
}

static far_status find_root(far_ctx *ctx, far_nystrom *s)
{
    double *scale = NULL;
    far_status st = far_alloc(ctx, s->m, &scale);
    for (double jitter = FIRST_JITTER; st == FAR_OK; jitter *= 100) {
        st = try_root(ctx, s, jitter, scale);
        if (st != FAR_ERR_SINGULAR || jitter >= LAST_JITTER) {
            break;
        }
        st = FAR_OK;
    }
    far_free(ctx, scale);
    return st;
}

far_status far_nystrom_create(far_ctx *ctx, const far_symmetric *a, int64_t m, double ridge,
                              far_nystrom **out)
{
    far_status st;
    far_nystrom *s = NULL;
    FAR_TRY(far_alloc(ctx, 1, &s));
    *s = (far_nystrom){.ctx = ctx, .a = *a, .m = m, .ridge = ridge};
    s->root = s->inner = far_lower_layout(m, false);
    FAR_TRY(far_alloc(ctx, far_lower_count(&s->root), &s->root.data));
    FAR_TRY(far_alloc(ctx, far_lower_count(&s->inner), &s->inner.data));
    FAR_TRY(far_alloc(ctx, m * m, &s->gram));
    far_progress_hold(ctx);
    st = find_root(ctx, s);
    far_progress_release(ctx);
done:
    FAR_HAND_OVER(s, out, far_nystrom_destroy);
    return st;
}

/* strip: K between count rows and the landmarks becomes rows of B, and those part of B'B. */
static void add_strip(far_nystrom *s, double *strip, int64_t count)
{
    int64_t m = s->m;
    far_lower_forward(&s->root, 0, strip, count, m);
    for (int64_t j = 0; j < m; j += GRAM_COLUMNS) {
        int64_t cols = far_least(GRAM_COLUMNS, m - j);
        far_gemm('N', 'T', j + cols, cols, count, 1, strip, m, strip + j, m, s->gram + j * m, m);
    }
    s->captured += far_dot(strip, strip, count * m);
}

/* inner := the factor of gram + ridge */
static far_status factor_inner(far_ctx *ctx, far_nystrom *s)
{
    far_status st;
    double *scale = NULL;
    FAR_TRY(far_alloc(ctx, s->m, &scale));
    for (int64_t i = 0; i < s->m; i++) {
        memcpy(far_lower_at(&s->inner, i, 0), s->gram + i * s->m,
               (size_t)(i + 1) * sizeof *s->gram);
        *far_lower_at(&s->inner, i, i) += s->ridge;
        scale[i] = *far_lower_at(&s->inner, i, i);
    }
    FAR_TRY(far_cholesky(ctx, &s->inner, scale));
done:
    far_free(ctx, scale);
    return st;
}

far_status far_nystrom_add(far_ctx *ctx, far_nystrom *s, int64_t first, int64_t count)
{
    far_status st;
    double *strip = NULL;
    FAR_TRY(far_alloc(ctx, STRIP * s->m, &strip));
    for (int64_t i = 0; i < count; i += STRIP) {
        int64_t rows = far_least(STRIP, count - i);
        FAR_TRY(far_progress(ctx, "landmarks", i, count));
        FAR_TRY(far_block_get(ctx, &s->a, first + i, 0, rows, s->m, strip, s->m));
        if (first + i == 0 && rows == s->m) { /* asked for as a square, it may come as a triangle */
            far_mirror_square(strip, rows, s->m);
        }
        far_blas_scope scope = far_blas_enter(far_ctx_threads(ctx));
        add_strip(s, strip, rows);
        far_blas_leave(scope);
    }
    far_progress_hold(ctx);
    st = factor_inner(ctx, s);
    far_progress_release(ctx);
done:
    far_free(ctx, strip);
    return st;
}

void far_nystrom_solve(far_ctx *ctx, const far_nystrom *s, double *b, int64_t p)
{
    far_blas_scope scope = far_blas_enter(far_ctx_threads(ctx));
    far_lower_forward(&s->root, 0, b, p, s->m);
    far_lower_solve(&s->inner, b, p, s->m);
    far_lower_backward(&s->root, b, p, s->m);
    far_blas_leave(scope);
}
